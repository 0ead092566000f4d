//! Exact sizes of groups, for the owner of the data alone: what `assess table` looks at.

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::filter;
use hushtable_lang::{ColumnType, MAX_KEY_BYTES};
use hushtable_plan::{CountRelease, bind_count_release};

use crate::batches::{each_batch, files_at};
use crate::error::EngineError;
use crate::eval::{Program, at_most, known};
use crate::progress::Progress;
use crate::row_counts::RowCounts;
use crate::rows::spread;
use crate::runtime::heavy;

/// How many records count in each group: exact, and so confidential.
#[derive(Clone, Debug)]
pub struct GroupSizes {
    /// The checked release.
    pub release: CountRelease,
    /// The groups' keys, a column for each; no columns without GROUP BY.
    pub keys: RecordBatch,
    /// By group: how many records count in it, 1 or more; without GROUP BY perhaps 0.
    pub sizes: Vec<u64>,
}

impl GroupSizes {
    /// All records that count in any group.
    pub fn records(&self) -> u64 {
        self.sizes.iter().sum()
    }
}

/// Reads some files, and counts the records of each group of a release
/// `SELECT keys, COUNT(*) FROM t …`.
///
/// No contract, no charge and no noise: what comes back is what the release is to hide.
///
/// # Errors
/// When a file cannot be read, or the query is no release of counts over its columns.
pub async fn group_sizes(
    location: &str,
    release: &str,
    progress: &Progress,
) -> Result<GroupSizes, EngineError> {
    let (files, columns) = heavy(|| files_at(location))?;
    let release = bind_count_release(release, &columns)?;
    let read = columns_read(&release);
    let stored: Vec<(String, ColumnType)> =
        read.iter().filter_map(|&index| columns.get(index)).cloned().collect();
    let condition = release.filter.as_ref().map(Program::new).transpose()?;
    let keys: Vec<Program> =
        release.keys.iter().map(|(_, key)| Program::new(key)).collect::<Result<_, _>>()?;
    let mut counter = RowCounts::default();
    each_batch(&files, &stored, progress, |batch| {
        let batch_columns = spread(batch, &read, columns.len())?;
        let rows = batch.num_rows();
        let keep = condition.as_ref().map(|p| p.condition(&batch_columns, rows));
        let keep = keep.transpose()?.map(|c| known(&c));
        let count = keep.as_ref().map_or(rows, |keep| keep.true_count());
        let mut values: Vec<ArrayRef> = Vec::with_capacity(keys.len());
        for key in &keys {
            let all = at_most(&key.evaluate(&batch_columns, rows)?, MAX_KEY_BYTES)?;
            values.push(match &keep {
                Some(keep) if count < rows => filter(&all, keep)?,
                _ => all,
            });
        }
        counter.add(&values, count)
    })
    .await?;
    let (keys, sizes) = counter.finish(release.keys.iter().map(|(name, _)| name.as_str()))?;
    Ok(GroupSizes { release, keys, sizes })
}

/// The columns of the file that a release reads, by their position.
fn columns_read(release: &CountRelease) -> Vec<usize> {
    let mut used = Vec::new();
    let expressions = release.filter.iter().chain(release.keys.iter().map(|(_, key)| key));
    expressions.for_each(|e| e.visit_columns(&mut |column| used.push(column)));
    used.sort_unstable();
    used.dedup();
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Wait;

    #[test]
    fn sizes_are_those_of_a_plain_group_by() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.csv");
        let mut text = "region,age,note\n".to_owned();
        // More than one batch.
        for row in 0..20_000u32 {
            text +=
                &format!("{},{},x\n", ["north", "south", "", "east"][row as usize % 4], row % 90);
        }
        std::fs::write(&path, text).unwrap();
        let sizes = |sql: &str| {
            group_sizes(path.to_str().unwrap(), sql, &Progress::default()).wait().unwrap()
        };
        let result = sizes(
            "SELECT region, COUNT(*) AS n FROM anything WHERE CAST(age AS INT64) < 45 \
             GROUP BY region HAVING n >= 10",
        );
        assert_eq!(result.release.above, Some(9));
        assert_eq!((result.records(), result.sizes.len()), (10_010, 4));
        let names = result.keys.column(0);
        let rows = datafusion::arrow::util::display::array_value_to_string;
        let mut groups: Vec<(String, u64)> =
            (0..4).map(|i| (rows(names, i).unwrap(), result.sizes[i])).collect();
        groups.sort();
        let brute = |remainder: u32| {
            (0..20_000u32).filter(|row| row % 4 == remainder && row % 90 < 45).count() as u64
        };
        // An empty field is NULL.
        let want = [(2, ""), (3, "east"), (0, "north"), (1, "south")];
        assert_eq!(groups, want.map(|(i, name)| (name.to_owned(), brute(i))));

        assert_eq!(sizes("SELECT COUNT(*) FROM t").sizes, [20_000]);
        assert_eq!(sizes("SELECT COUNT(*) FROM t WHERE age = 'x'").sizes, [0]);
        let none = sizes("SELECT region, COUNT(*) FROM t WHERE age = 'x' GROUP BY region");
        assert!(none.sizes.is_empty() && none.keys.num_rows() == 0);
    }
}
