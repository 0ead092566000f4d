//! The class of each row or group, by the column that tells it.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, StringViewArray};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Int64Type, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use hashbrown::HashMap;
use hushtable_lang::{ColumnType, Value};
use hushtable_plan::Classes;

use crate::eval::constant;
use crate::invariant::Invariant;

/// Texts up to so long are in a view itself, so that equal texts have equal views.
const INLINE: usize = 12;

/// The classes that are listed.
pub(crate) struct ClassLookup {
    listed: usize,
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
    /// Of the classes that have a threshold of their own.
    ///
    /// # Errors
    /// Only for expressions that binding cannot have made.
    pub(crate) fn of(classes: &Classes) -> Result<Self, ArrowError> {
        Self::new(classes.values.iter().map(|(value, _)| value), classes.expr.column_type)
    }

    /// Of values of a column of that type, each once.
    ///
    /// # Errors
    /// Only for values that the column cannot have.
    pub(crate) fn new<'a>(
        values: impl Iterator<Item = &'a Value>,
        column_type: ColumnType,
    ) -> Result<Self, ArrowError> {
        let mut lookup = Self { listed: 0, short: HashMap::default(), long: HashMap::default() };
        for (index, value) in values.enumerate() {
            lookup.listed += 1;
            each(&constant(value, column_type)?, |code| {
                match code {
                    Some(Code::Short(code)) => drop(lookup.short.insert(code, index)),
                    Some(Code::Long(text)) => drop(lookup.long.insert(text.to_vec(), index)),
                    None => {}
                };
            })?;
        }
        Ok(lookup)
    }

    /// The place of each class among those that are listed; their number for all others, and for
    /// NULL.
    ///
    /// # Errors
    /// Only for an array of a type that no class has.
    pub(crate) fn indices(&self, classes: &ArrayRef) -> Result<Vec<usize>, ArrowError> {
        let mut indices = Vec::with_capacity(classes.len());
        each(classes, |code| {
            indices.push(code.and_then(|code| self.index(code)).unwrap_or(self.listed));
        })?;
        Ok(indices)
    }

    #[inline]
    fn index(&self, code: Code<'_>) -> Option<usize> {
        match code {
            Code::Short(code) => self.short.get(&code).copied(),
            Code::Long(text) => self.long.get(text).copied(),
        }
    }
}

/// Hands over the class of every row, if it has one.
fn each<'a>(
    classes: &'a ArrayRef,
    mut work: impl FnMut(Option<Code<'a>>),
) -> Result<(), ArrowError> {
    match classes.data_type() {
        DataType::Utf8View => texts(classes.as_string_view(), work),
        DataType::Boolean => {
            classes.as_boolean().iter().for_each(|b| work(b.map(|b| Code::Short(b.into()))));
        }
        DataType::Int64 => numbers::<Int64Type>(classes, |n| n as u128, work),
        DataType::Decimal128(..) => numbers::<Decimal128Type>(classes, |n| n as u128, work),
        DataType::Date32 => numbers::<Date32Type>(classes, |n| n as u128, work),
        DataType::Timestamp(..) => {
            numbers::<TimestampMicrosecondType>(classes, |n| n as u128, work);
        }
        _ => return Err(Invariant::new("a class is of a type that no class has").into()),
    }
    Ok(())
}

fn numbers<'a, T: ArrowPrimitiveType>(
    classes: &'a ArrayRef,
    code: impl Fn(T::Native) -> u128,
    mut work: impl FnMut(Option<Code<'a>>),
) {
    let numbers: &PrimitiveArray<T> = classes.as_primitive();
    numbers.iter().for_each(|number| work(number.map(|n| Code::Short(code(n)))));
}

fn texts<'a>(texts: &'a StringViewArray, mut work: impl FnMut(Option<Code<'a>>)) {
    let nulls = texts.nulls();
    for (row, &view) in texts.views().iter().enumerate() {
        work(if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            None
        } else if view as u32 as usize <= INLINE {
            // The length comes first in a view.
            Some(Code::Short(view))
        } else {
            Some(Code::Long(texts.value(row).as_bytes()))
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn every_type_of_class_is_found() {
        use hushtable_lang::{ColumnType as T, Value as V};
        let long = |text: &str| V::String(format!("a text of more than twelve bytes{text}"));
        for (column_type, found, absent, other) in [
            (T::Int, V::Int(-5), V::Int(77), V::Int(5)),
            (T::Date, V::Date(18_263), V::Date(77), V::Date(18_264)),
            (T::String, V::String(String::new()), V::String("y".into()), V::String("x".into())),
            (T::String, V::String("abc".into()), long(""), V::String("abd".into())),
            (T::String, long(""), V::String("abc".into()), long("s")),
            (
                T::Decimal { scale: 2 },
                V::Decimal { digits: 150, scale: 2 },
                V::Decimal { digits: 77, scale: 2 },
                V::Decimal { digits: 15, scale: 2 },
            ),
            (
                T::Timestamp,
                V::Timestamp(1_577_923_201_000_000),
                V::Timestamp(77),
                V::Timestamp(1_577_923_201),
            ),
        ] {
            let lookup = ClassLookup::new([absent, found.clone()].iter(), column_type).unwrap();
            for (value, want) in [(&found, 1), (&other, 2), (&V::Null, 2)] {
                let array = constant(value, column_type).unwrap();
                assert_eq!(lookup.indices(&array).unwrap(), [want], "{value}");
            }
        }
        let lookup = ClassLookup::new([V::Bool(true)].iter(), T::Bool).unwrap();
        for (value, want) in [(true, 0), (false, 1)] {
            let array = constant(&V::Bool(value), T::Bool).unwrap();
            assert_eq!(lookup.indices(&array).unwrap(), [want]);
        }
        let floats: ArrayRef = Arc::new(datafusion::arrow::array::Float64Array::from(vec![1.0]));
        assert!(lookup.indices(&floats).is_err());
    }
}
