//! The different rows of published files, each with how often it is there.

use datafusion::arrow::array::{Array, RecordBatch};
use hushtable_lang::{ColumnType, MAX_KEY_BYTES, Refusal};

use crate::batches::{each_batch, files_at};
use crate::error::EngineError;
use crate::eval::at_most;
use crate::progress::Progress;
use crate::row_counts::RowCounts;
use crate::runtime::heavy;

/// Different rows that are kept in memory, at most.
const MOST_ROWS: usize = 1_000_000;

/// The different rows of some columns of files.
#[derive(Clone, Debug)]
pub struct DistinctRows {
    /// All columns that the files have.
    pub columns: Vec<String>,
    /// The different rows, in the columns that were wanted and that the files have.
    pub rows: RecordBatch,
    /// How often each row is there.
    pub counts: Vec<u64>,
}

/// Reads some files, and counts the different rows of the columns `wanted`. Columns that the files
/// do not have are left out.
///
/// For published files: an error may be about their values.
///
/// # Errors
/// When a file cannot be read, has too many different rows, or has a very long text.
pub async fn distinct_rows(
    location: &str,
    wanted: &[String],
    progress: &Progress,
) -> Result<DistinctRows, EngineError> {
    let (files, columns) = heavy(|| files_at(location))?;
    let stored: Vec<(String, ColumnType)> = wanted
        .iter()
        .filter_map(|name| columns.iter().find(|(column, _)| column == name))
        .cloned()
        .collect();
    let mut counts = RowCounts::default();
    each_batch(&files, &stored, progress, |batch| {
        for (column, (name, _)) in batch.columns().iter().zip(&stored) {
            if at_most(column, MAX_KEY_BYTES)?.null_count() > column.null_count() {
                let what = format!(
                    "a value of `{name}` in `{location}` has more than {MAX_KEY_BYTES} bytes"
                );
                return Err(Refusal::new(what, "leave the column out, or shorten it").into());
            }
        }
        counts.add(batch.columns(), batch.num_rows())?;
        if counts.len() > MOST_ROWS {
            let what = format!("`{location}` has more than {MOST_ROWS} different rows");
            let hint = "give fewer columns, or a part of the rows at a time";
            return Err(Refusal::new(what, hint).into());
        }
        Ok(())
    })
    .await?;
    let (rows, counts) = counts.finish(stored.iter().map(|(name, _)| name.as_str()))?;
    let columns = columns.into_iter().map(|(name, _)| name).collect();
    Ok(DistinctRows { columns, rows, counts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Wait;

    fn read(text: &str, wanted: &[&str]) -> Result<DistinctRows, EngineError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("published.csv");
        std::fs::write(&path, text).unwrap();
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        distinct_rows(path.to_str().unwrap(), &wanted, &Progress::default()).wait()
    }

    #[test]
    fn equal_rows_are_counted_together() {
        let text = "age,zip,note\n<30,130**,a\n<30,130**,b\n3*,,c\n<30,130**,a\n";
        let found = read(text, &["zip", "town", "age"]).unwrap();
        assert_eq!(found.columns, ["age", "zip", "note"]);
        let show = datafusion::arrow::util::display::array_value_to_string;
        let mut rows: Vec<(String, String, u64)> = (0..found.counts.len())
            .map(|row| {
                let value = |column: usize| show(found.rows.column(column), row).unwrap();
                (value(0), value(1), found.counts[row])
            })
            .collect();
        rows.sort();
        let want = [("", "3*", 1), ("130**", "<30", 3)];
        assert_eq!(rows, want.map(|(zip, age, n)| (zip.to_owned(), age.to_owned(), n)));
        // None of the columns, and no row.
        let found = read(text, &["town"]).unwrap();
        assert_eq!((found.rows.num_columns(), found.counts), (0, vec![4]));
        assert!(read("age,zip\n", &["age"]).unwrap().counts.is_empty());
    }

    #[test]
    fn reading_is_bounded() {
        let long = format!("age\n{}\n", "9".repeat(MAX_KEY_BYTES + 1));
        let error = read(&long, &["age"]).unwrap_err().to_string();
        assert!(error.starts_with("a value of `age` in `"), "{error}");
        let mut many = "age\n".to_owned();
        (0..=MOST_ROWS).for_each(|row| many += &format!("{row}\n"));
        let error = read(&many, &["age"]).unwrap_err().to_string();
        assert!(error.contains("has more than 1000000 different rows"), "{error}");
    }
}
