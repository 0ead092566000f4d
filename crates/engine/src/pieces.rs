//! How many pieces a record would be split into (PR Algorithm 1), without splitting it: what is
//! counted where groups are chosen after the split.

use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{Expr, Value};
use hushtable_plan::Thresholds;

use crate::classes::ClassLookup;
use crate::eval::Program;
use crate::invariant::Invariant;

/// The sums that split a record.
pub(crate) struct Pieces {
    /// The columns that tell classes, each once: it is looked up once in a row, for all sums.
    classes: Vec<(Program, ClassLookup)>,
    sums: Vec<SumSplitting>,
}

/// A sum that is not clamped.
struct SumSplitting {
    /// Its place among the accumulators.
    index: usize,
    /// The column that tells the class, if one does.
    by: Option<usize>,
    /// The thresholds in steps, above zero, of the classes that are listed for the column; and
    /// after them that of all others.
    thresholds: Vec<u64>,
}

impl Pieces {
    /// For sums that are not clamped, by their places among the accumulators. `program` makes
    /// expressions ready.
    ///
    /// # Errors
    /// Only for expressions that binding cannot have made.
    pub(crate) fn new(
        split: &[(usize, Thresholds)],
        program: &impl Fn(&Expr) -> Result<Program, ArrowError>,
    ) -> Result<Self, ArrowError> {
        let mut columns: Vec<(&Expr, Vec<&Value>)> = Vec::new();
        for classes in split.iter().filter_map(|(_, thresholds)| thresholds.classes.as_ref()) {
            let listed = classes.values.iter().map(|(value, _)| value);
            match columns.iter_mut().find(|(expr, _)| **expr == classes.expr) {
                Some((_, values)) => {
                    let new: Vec<_> = listed.filter(|value| !values.contains(value)).collect();
                    values.extend(new);
                }
                None => columns.push((&classes.expr, listed.collect())),
            }
        }
        let splitting = |(index, all): &(usize, Thresholds)| {
            let unlisted = || Invariant::new("a sum that is split has classes of no column");
            let by = all.classes.as_ref();
            let by = by.map(|c| columns.iter().position(|(expr, _)| **expr == c.expr));
            let by = by.map(|by| by.ok_or_else(unlisted)).transpose()?;
            let listed = by.and_then(|by| columns.get(by)).map_or(&[][..], |(_, values)| values);
            let listed_thresholds = listed.iter().map(|value| all.of(value)).chain([all.default]);
            let thresholds =
                listed_thresholds.map(|threshold| threshold.unsigned_abs().max(1)).collect();
            Ok::<_, ArrowError>(SumSplitting { index: *index, by, thresholds })
        };
        let sums = split.iter().map(splitting).collect::<Result<_, ArrowError>>()?;
        let lookup = |(expr, values): &(&Expr, Vec<&Value>)| {
            let lookup = ClassLookup::new(values.iter().copied(), expr.column_type)?;
            Ok((program(expr)?, lookup))
        };
        Ok(Self { sums, classes: columns.iter().map(lookup).collect::<Result<_, ArrowError>>()? })
    }

    /// The number of pieces of each row: the least m with m T >= |value| for all sums, at least 1.
    ///
    /// # Errors
    /// Only for arrays of other types than the query was checked for.
    pub(crate) fn of(
        &self,
        values: &[Int64Array],
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<Int64Array, ArrowError> {
        let indices = self.classes.iter();
        let indices =
            indices.map(|(class, lookup)| lookup.indices(&class.evaluate(columns, rows)?));
        let indices = indices.collect::<Result<Vec<_>, ArrowError>>()?;
        let mut most = vec![1i64; rows];
        for SumSplitting { index, by, thresholds } in &self.sums {
            let unplaced = || Invariant::new("a sum that is split has no place");
            let unclassed = || Invariant::new("a sum that is split has no classes of rows");
            // With a larger threshold a record would count as fewer pieces than it is.
            let above = || Invariant::new("a class of a sum that is split has no threshold");
            let values = values.get(*index).ok_or_else(unplaced)?;
            let indices = by.map(|by| indices.get(by).ok_or_else(unclassed)).transpose()?;
            let others = *thresholds.last().ok_or_else(above)?;
            let count = |most: &mut i64, value: i64, threshold: u64| {
                let size = value.unsigned_abs();
                // Most records are of one piece, and need no division.
                if size > threshold {
                    // At most 2^62, as the value is.
                    *most = (*most).max(size.div_ceil(threshold) as i64);
                }
            };
            let values = values.iter().map(|value| value.unwrap_or(0));
            match indices {
                None => most.iter_mut().zip(values).for_each(|(m, v)| count(m, v, others)),
                Some(indices) => {
                    for ((most, value), &index) in most.iter_mut().zip(values).zip(indices) {
                        count(most, value, *thresholds.get(index).ok_or_else(above)?);
                    }
                }
            }
        }
        Ok(Int64Array::from(most))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{Array, StringViewArray};
    use hushtable_contract::Contract;
    use hushtable_plan::bind;

    use crate::bounding::{Bounding, RowValue};

    use super::*;

    /// The record split into pieces, one by one, as PR Algorithm 1 does it.
    fn split(mut values: Vec<i64>, thresholds: &[i64]) -> i64 {
        let mut pieces = 0;
        loop {
            for (value, &threshold) in values.iter_mut().zip(thresholds) {
                *value -= (*value).clamp(-threshold, threshold);
            }
            pieces += 1;
            if values.iter().all(|&value| value == 0) {
                return pieces;
            }
        }
    }

    #[test]
    fn pieces_are_those_of_the_split() {
        let contract = Contract::parse(
            "[tables.t]\npath = \"t.csv\"\nprivacy_unit = \"row\"\n\
             group_selection_by_pieces = true\n[tables.t.columns]\n\
             a = { type = \"int\", split = 3 }\ns = { type = \"string\" }\n\
             c = { type = \"int\", split = { by = \"s\", \
             default = 4, values = { z = 2, x = 9 } } }\n\
             b = { type = \"int\", split = { by = \"s\", \
             default = 5, values = { x = 7, y = 1 } } }\n\
             [tables.t.budgets]\nana = { rho = 1, delta = 1e-6 }\n",
            "t.toml",
        )
        .unwrap();
        let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6, \
                   group_selection_by = PIECES) s, COUNT(*), SUM(a), SUM(b), SUM(c) \
                   FROM t GROUP BY s";
        let query = bind(sql, &contract).unwrap();
        let bounding = Bounding::new(&query, false).unwrap();
        let RowValue::Pieces(sums) = &bounding.accumulators[bounding.pieces().unwrap()].value
        else {
            panic!("no pieces")
        };
        let pieces = Pieces::new(sums, &Program::new).unwrap();
        let a = [Some(0), Some(3), Some(-4), None, Some(100), Some(9), Some(1), None];
        let b = [Some(0), Some(14), Some(3), Some(-29), Some(5), None, Some(6), None];
        let c = [Some(0), Some(30), Some(1), Some(9), Some(-9), Some(99), Some(4), Some(-91)];
        let s = [None, Some("x"), Some("y"), Some("z"), Some("x"), Some("y"), None, Some("x")];
        let column = |name: &str| {
            query.columns().iter().position(|(column_name, _)| column_name == name).unwrap()
        };
        let measures = [a, b, c].map(|values| Int64Array::from(values.to_vec()));
        let unused: ArrayRef = Arc::new(measures[0].clone());
        let mut columns: Vec<ArrayRef> = (0..4).map(|_| Arc::clone(&unused)).collect();
        columns[column("s")] = Arc::new(StringViewArray::from(s.to_vec()));
        let got = pieces.of(&measures, &columns, a.len()).unwrap();
        assert_eq!(got.null_count(), 0);
        for (row, got) in got.values().iter().enumerate() {
            let threshold = match s[row] {
                Some("x") => [3, 7, 9],
                Some("y") => [3, 1, 4],
                Some("z") => [3, 5, 2],
                _ => [3, 5, 4],
            };
            let values = [a[row], b[row], c[row]].map(|value| value.unwrap_or(0));
            assert_eq!(*got, split(values.to_vec(), &threshold), "row {row}");
        }
    }
}
