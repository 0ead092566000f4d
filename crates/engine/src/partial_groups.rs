//! Exact groups of one partition, and their way from process to process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;

use crate::error::EngineError;
use crate::sealed::{opened, sealed};

/// The first bytes of partial groups.
const MAGIC: &[u8; 8] = b"hushpart";

/// The exact groups of one partition of a plan, for the process that merges them. They have no
/// Debug, Display or Serialize: [`encode`](Self::encode) is their one way out of the process, to
/// the one that opened the plan, and nobody else may read those bytes.
pub struct PartialGroups {
    /// The run of a plan that they are of.
    pub(crate) run: [u8; 16],
    pub(crate) partition: usize,
    /// As the operator that bounds contributions emits them.
    pub(crate) batches: Vec<RecordBatch>,
}

impl PartialGroups {
    /// The groups as bytes. Exact, and not encrypted: for the process that opened the plan alone.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub fn encode(&self) -> Result<Vec<u8>, EngineError> {
        // The run and the partition go along, so that a stale or doubled answer is found before the
        // draw.
        let mut body = self.run.to_vec();
        body.extend((self.partition as u64).to_le_bytes());
        if let Some(first) = self.batches.first() {
            let mut writer = StreamWriter::try_new(&mut body, &first.schema())?;
            self.batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.finish()?;
        }
        Ok(sealed(MAGIC, &body))
    }

    /// The groups from bytes that [`encode`](Self::encode) has made in a process of the same build.
    ///
    /// # Errors
    /// For all other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, EngineError> {
        let body = opened(MAGIC, bytes).ok_or(EngineError::ForeignPartial)?;
        let (run, body) = body.split_first_chunk().ok_or(EngineError::ForeignPartial)?;
        let (partition, body) = body.split_first_chunk().ok_or(EngineError::ForeignPartial)?;
        // The decoder of Arrow streams may panic.
        let batches = || -> Option<Vec<RecordBatch>> {
            if body.is_empty() {
                return Some(Vec::new());
            }
            StreamReader::try_new(body, None).ok()?.collect::<Result<_, _>>().ok()
        };
        let batches = catch_unwind(AssertUnwindSafe(batches)).ok().flatten();
        Ok(Self {
            run: *run,
            partition: usize::try_from(u64::from_le_bytes(*partition))
                .map_err(|_| EngineError::ForeignPartial)?,
            batches: batches.ok_or(EngineError::ForeignPartial)?,
        })
    }
}
