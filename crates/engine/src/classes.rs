//! The class of each row or group, and its splitting threshold, by the column that tells it.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, StringViewArray};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Int64Type, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use hashbrown::HashMap;
use hushtable_query::Classes;

use crate::eval::constant;

/// Texts up to so long are in a view itself, so that equal texts have equal views.
const INLINE: usize = 12;

/// The classes that have a threshold of their own.
pub(crate) struct ClassLookup {
    thresholds: Vec<i64>,
    /// The places of those that fit 128 bits.
    short: HashMap<u128, usize, foldhash::fast::RandomState>,
    /// Of longer texts.
    long: HashMap<Vec<u8>, usize, foldhash::fast::RandomState>,
}

/// A class as something that is quickly compared.
enum Code<'a> {
    Short(u128),
    Long(&'a [u8]),
}

impl ClassLookup {
    pub(crate) fn new(classes: &Classes) -> Result<Self, ArrowError> {
        let thresholds = classes.values.iter().map(|(_, threshold)| *threshold).collect();
        let mut lookup = Self { thresholds, short: HashMap::default(), long: HashMap::default() };
        for (place, (value, _)) in classes.values.iter().enumerate() {
            each(&constant(value, classes.expr.column_type)?, |_, code| {
                match code {
                    Code::Short(code) => lookup.short.insert(code, place),
                    Code::Long(text) => lookup.long.insert(text.to_vec(), place),
                };
            })?;
        }
        Ok(lookup)
    }

    /// The threshold of each row by its class: `default` for those that are not listed, and for NULL.
    ///
    /// # Errors
    /// Only for an array of a type that no class has.
    pub(crate) fn of_classes(
        &self,
        classes: &ArrayRef,
        default: i64,
    ) -> Result<Vec<i64>, ArrowError> {
        let mut thresholds = vec![default; classes.len()];
        each(classes, |row, code| {
            let own = self.place(code).and_then(|place| self.thresholds.get(place));
            if let (Some(own), Some(threshold)) = (own, thresholds.get_mut(row)) {
                *threshold = *own;
            }
        })?;
        Ok(thresholds)
    }

    /// The place of each class among those that are listed; their number for all others, and for NULL.
    ///
    /// # Errors
    /// Only for an array of a type that no class has.
    pub(crate) fn places(&self, classes: &ArrayRef) -> Result<Vec<usize>, ArrowError> {
        let mut places = vec![self.thresholds.len(); classes.len()];
        each(classes, |row, code| {
            if let (Some(own), Some(place)) = (self.place(code), places.get_mut(row)) {
                *place = own;
            }
        })?;
        Ok(places)
    }

    fn place(&self, code: Code<'_>) -> Option<usize> {
        match code {
            Code::Short(code) => self.short.get(&code).copied(),
            Code::Long(text) => self.long.get(text).copied(),
        }
    }
}

/// Hands over the class of every row that has one.
fn each<'a>(classes: &'a ArrayRef, work: impl FnMut(usize, Code<'a>)) -> Result<(), ArrowError> {
    match classes.data_type() {
        DataType::Utf8View => texts(classes.as_string_view(), work),
        DataType::Boolean => {
            let mut work = work;
            let rows = classes.as_boolean().iter().enumerate();
            rows.for_each(|(row, b)| b.into_iter().for_each(|b| work(row, Code::Short(b.into()))));
        }
        DataType::Int64 => numbers::<Int64Type>(classes, |n| n as u128, work),
        DataType::Decimal128(..) => numbers::<Decimal128Type>(classes, |n| n as u128, work),
        DataType::Date32 => numbers::<Date32Type>(classes, |n| n as u128, work),
        DataType::Timestamp(..) => {
            numbers::<TimestampMicrosecondType>(classes, |n| n as u128, work);
        }
        _ => return Err(ArrowError::ComputeError("a class met an unexpected type".to_owned())),
    }
    Ok(())
}

fn numbers<'a, T: ArrowPrimitiveType>(
    classes: &'a ArrayRef,
    code: impl Fn(T::Native) -> u128,
    mut work: impl FnMut(usize, Code<'a>),
) {
    let numbers: &PrimitiveArray<T> = classes.as_primitive();
    for (row, number) in numbers.iter().enumerate() {
        if let Some(number) = number {
            work(row, Code::Short(code(number)));
        }
    }
}

fn texts<'a>(texts: &'a StringViewArray, mut work: impl FnMut(usize, Code<'a>)) {
    for (row, &view) in texts.views().iter().enumerate() {
        if texts.is_null(row) {
            continue;
        }
        // The length comes first in a view.
        if view as u32 as usize <= INLINE {
            work(row, Code::Short(view));
        } else {
            work(row, Code::Long(texts.value(row).as_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hushtable_query::{Contract, bind};

    use super::*;

    /// Thresholds of a column of that type by the classes listed.
    fn lookup(column_type: &str, values: &str) -> ClassLookup {
        let contract = format!(
            "[tables.t]\npath = \"t.csv\"\nprivacy_unit = \"row\"\n[tables.t.columns]\n\
             c = {{ type = \"{column_type}\" }}\n\
             a = {{ type = \"int\", split = {{ by = \"c\", default = 1, values = {{ {values} }} }} }}\n\
             [tables.t.budgets]\nana = {{ rho = 1, delta = 1e-6 }}\n"
        );
        let contract = Contract::parse(&contract, "t.toml").unwrap();
        let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) SUM(a) FROM t";
        let query = bind(sql, &contract).unwrap();
        ClassLookup::new(query.measurements[0].split.as_ref().unwrap().classes.as_ref().unwrap())
            .unwrap()
    }

    #[test]
    fn every_type_of_class_is_found() {
        use hushtable_query::{ColumnType as T, Value as V};
        let long = "a text of more than twelve bytes";
        for (name, column_type, values, found, other) in [
            ("int", T::Int, "-5 = 7", V::Int(-5), V::Int(5)),
            ("bool", T::Bool, "true = 7", V::Bool(true), V::Bool(false)),
            ("date", T::Date, "2020-01-02 = 7", V::Date(18_263), V::Date(18_264)),
            ("string", T::String, "\"\" = 7", V::String(String::new()), V::String("x".into())),
            ("string", T::String, "abc = 7", V::String("abc".into()), V::String("abd".into())),
            (
                "string",
                T::String,
                "\"a text of more than twelve bytes\" = 7",
                V::String(long.into()),
                V::String(format!("{long}s")),
            ),
            (
                "decimal(2)",
                T::Decimal { scale: 2 },
                "\"1.5\" = 7",
                V::Decimal { digits: 150, scale: 2 },
                V::Decimal { digits: 15, scale: 2 },
            ),
            (
                "timestamp",
                T::Timestamp,
                "\"2020-01-02 00:00:01\" = 7",
                V::Timestamp(1_577_923_201_000_000),
                V::Timestamp(1_577_923_201),
            ),
        ] {
            let lookup = lookup(name, values);
            for (value, want) in [(&found, 7), (&other, 1), (&V::Null, 1)] {
                let array = constant(value, column_type).unwrap();
                assert_eq!(lookup.of_classes(&array, 1).unwrap(), [want], "{name} {value}");
            }
        }
        let floats: ArrayRef = Arc::new(datafusion::arrow::array::Float64Array::from(vec![1.0]));
        assert!(lookup("int", "1 = 7").of_classes(&floats, 1).is_err());
    }
}
