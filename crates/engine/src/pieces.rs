//! How many pieces a record would be split into (PR Algorithm 1), without splitting it: what is counted
//! where groups are chosen after the split.

use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::error::ArrowError;
use hushtable_query::{Classes, PrivateQuery};

use crate::classes::ClassLookup;
use crate::eval::Program;

/// The sums that split a record.
pub(crate) struct Pieces {
    sums: Vec<Splitting>,
}

/// A sum that is not clamped.
struct Splitting {
    /// Its place among the measures.
    place: usize,
    /// The threshold in steps, of the classes that have none of their own.
    default: i64,
    classes: Option<(Program, ClassLookup)>,
}

impl Pieces {
    /// For the sums of a query that are not clamped; measures are those of its measurements that add up, in
    /// their order.
    ///
    /// # Errors
    /// Only for expressions that binding cannot have made.
    pub(crate) fn new(query: &PrivateQuery) -> Result<Self, ArrowError> {
        let measures = query.measurements.iter().filter(|m| m.measure.adds_up());
        let splitting = measures.enumerate().filter_map(|(place, m)| {
            let thresholds = m.split.as_ref()?;
            let lookup = |c: &Classes| Ok((Program::new(&c.expr)?, ClassLookup::new(c)?));
            let classes: Result<_, ArrowError> =
                thresholds.classes.as_ref().map(lookup).transpose();
            let default = thresholds.default;
            Some(classes.map(|classes| Splitting { place, default, classes }))
        });
        Ok(Self { sums: splitting.collect::<Result<_, _>>()? })
    }

    /// The number of pieces of each row: the least m with m T >= |value| for all sums, at least 1.
    ///
    /// # Errors
    /// Only for arrays of other types than the query was checked for.
    pub(crate) fn of(
        &self,
        measures: &[Int64Array],
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<Int64Array, ArrowError> {
        let mut most = vec![1i64; rows];
        for Splitting { place, default, classes } in &self.sums {
            let Some(values) = measures.get(*place) else { continue };
            let own = match classes {
                Some((class, lookup)) => {
                    Some(lookup.of_classes(&class.evaluate(columns, rows)?, *default)?)
                }
                None => None,
            };
            for (row, (most, value)) in most.iter_mut().zip(values).enumerate() {
                let threshold = own.as_ref().and_then(|t| t.get(row)).unwrap_or(default);
                let (size, threshold) =
                    (value.unwrap_or(0).unsigned_abs(), threshold.unsigned_abs());
                // Most records are of one piece, and need no division.
                if size > threshold {
                    // At most 2^62, as the value is.
                    *most = (*most).max(size.div_ceil(threshold.max(1)) as i64);
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
    use hushtable_query::{Contract, bind};

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
             b = { type = \"int\", split = { by = \"s\", default = 5, values = { x = 7, y = 1 } } }\n\
             [tables.t.budgets]\nana = { rho = 1, delta = 1e-6 }\n",
            "t.toml",
        )
        .unwrap();
        let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6, group_selection_by = PIECES) \
                   s, COUNT(*), SUM(a), SUM(b) FROM t GROUP BY s";
        let query = bind(sql, &contract).unwrap();
        let pieces = Pieces::new(&query).unwrap();
        let a = [Some(0), Some(3), Some(-4), None, Some(100), Some(9), Some(1), None];
        let b = [Some(0), Some(14), Some(3), Some(-29), Some(5), None, Some(6), None];
        let s = [None, Some("x"), Some("y"), Some("z"), Some("x"), Some("y"), None, Some("x")];
        let column = |name: &str| query.columns.iter().position(|(own, _)| own == name).unwrap();
        let measures = [a, b].map(|values| Int64Array::from(values.to_vec()));
        let unused: ArrayRef = Arc::new(measures[0].clone());
        let mut columns: Vec<ArrayRef> = (0..3).map(|_| Arc::clone(&unused)).collect();
        columns[column("s")] = Arc::new(StringViewArray::from(s.to_vec()));
        let got = pieces.of(&measures, &columns, a.len()).unwrap();
        assert_eq!(got.null_count(), 0);
        for (row, got) in got.values().iter().enumerate() {
            let own = match s[row] {
                Some("x") => 7,
                Some("y") => 1,
                _ => 5,
            };
            let values = vec![a[row].unwrap_or(0), b[row].unwrap_or(0)];
            assert_eq!(*got, split(values, &[3, own]), "row {row}");
        }
    }
}
