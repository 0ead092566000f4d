//! Rows of public tables that agree in what a join compares: anybody may count them.

use std::future::ready;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::physical_plan::execute_stream_partitioned;
use futures::TryStreamExt;
use hushtable_plan::{AddedCost, PrivateQuery, PublicRows};
use tokio::task::JoinSet;

use crate::backend::{Backend, Embedded};
use crate::error::EngineError;
use crate::lower::Lowering;
use crate::progress::Progress;
use crate::record::fingerprint;
use crate::session::Session;
use crate::source::Data;

/// Most counts that are remembered.
const REMEMBERED: usize = 10_000;

impl Session {
    /// The most that one row can add to a query, by the rows of public tables that it can meet.
    /// Reads these tables, and nothing of protected ones.
    ///
    /// # Errors
    /// When one row adds more than it may, or public tables cannot be read.
    pub(crate) async fn check_row(
        &self,
        query: &PrivateQuery,
        data: &Data,
    ) -> Result<AddedCost, EngineError> {
        let mut joins = Vec::new();
        for join in query.public_joins(self.contract()) {
            let mut tables: Vec<&PublicRows> = Vec::new();
            join.most.each(&mut |rows| {
                if !tables.contains(&rows) {
                    tables.push(rows);
                }
            });
            let mut counted = Vec::with_capacity(tables.len());
            for rows in tables {
                counted.push((rows, self.most_alike(rows, data).await?));
            }
            let of = |rows: &PublicRows| {
                let found = counted.iter().find(|(found, _)| *found == rows);
                found.map_or(u64::MAX, |(_, most)| *most)
            };
            joins.push((join.name, join.most.value(&of)));
        }
        let most = self.population(query)?.max_matches_per_row;
        Ok(query.check_row(&joins, most)?)
    }

    /// Most rows of a public table that agree. Counted once for the same files.
    async fn most_alike(&self, rows: &PublicRows, data: &Data) -> Result<u64, EngineError> {
        let relation = rows.counts()?;
        let tables = relation.tables();
        let mut read = data.clone();
        read.retain(|table, _| tables.contains(table.as_str()));
        let asked = serde_json::to_string(&relation)
            .map_err(|_| EngineError::inconsistent("a relation cannot be written as JSON"))?;
        let identity = fingerprint("", &asked, &read)?;
        if let Some(most) = self.counted(&identity) {
            return Ok(most);
        }
        let progress = Progress::default();
        // They are counted here, wherever plans run.
        let partitions = Embedded.partitions();
        let reading = progress.reading();
        let lowering = Lowering::of(&relation, &read, partitions, &reading);
        let last =
            relation.fields().len().checked_sub(1).ok_or(EngineError::inconsistent(
                "a relation that counts public rows has no column",
            ))?;
        let plan = lowering.plan(&relation, &[last]).await?;
        let explained = |error| self.memory().explained(error);
        let streams = execute_stream_partitioned(plan, self.memory().tasks()).map_err(explained)?;
        let mut partitions = JoinSet::new();
        for stream in streams {
            partitions.spawn(async move {
                let most = |most: u64, batch: RecordBatch| ready(Ok(most.max(greatest(&batch))));
                stream.try_fold(0, most).await
            });
        }
        let mut most = 0;
        while let Some(partition) = partitions.join_next().await {
            let partition = partition.map_err(|_| EngineError::Interrupted)?;
            most = most.max(partition.map_err(explained)?);
        }
        self.remember(identity, most, REMEMBERED);
        Ok(most)
    }
}

/// The greatest of the counts in the only column; the most there is for what is no count.
fn greatest(batch: &RecordBatch) -> u64 {
    let counts = batch.columns().first().and_then(|c| c.as_primitive_opt::<Int64Type>());
    let Some(counts) = counts else { return u64::MAX };
    let each = counts.iter().map(|n| n.and_then(|n| u64::try_from(n).ok()).unwrap_or(u64::MAX));
    each.max().unwrap_or(0)
}
