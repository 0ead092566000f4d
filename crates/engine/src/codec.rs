//! Plans as bytes, for another process or machine.
//!
//! DataFusion's operators have a codec of their own; here is that of ours. A plan is as secret as
//! the rows: its sampling key says which of a unit's groups are kept. It is for workers of the same
//! build only, over a channel that nobody else reads.
//!
//! Whatever the bytes are, reading them ends in an error or in a plan that this program could have
//! written: of [allowed nodes](allowed_nodes), and with the same bytes when it is written again.

mod allowed_nodes;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Int64Array, StringViewArray,
};
use datafusion::common::hash_utils::create_hashes;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion::physical_plan::repartition::REPARTITION_RANDOM_STATE;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use allowed_nodes::AllowedNodes;

use crate::bound_exec::BoundExec;
use crate::bounding::Bounding;
use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::invariant::Invariant;
use crate::limit_rows::{LimitRowsExec, RowLimit};
use crate::lower::{EncodedExpr, ExtraRowExec, NeverEmptyExec, unit_function};
use crate::sealed::{opened, sealed};
use crate::source::{DataFile, ReadProgress, ReadRequest, SourceExec, SourceTable, TableData};
use crate::survey::ScanOptions;

/// The first bytes of a plan.
const MAGIC: &[u8; 8] = b"hushplan";

/// The partitions of a plan that one process runs, and the run that they are of.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Share {
    pub(crate) run: [u8; 16],
    pub(crate) partitions: Range<usize>,
}

/// The header of a plan's bytes.
#[derive(Serialize, Deserialize)]
struct PlanHeader {
    share: Share,
    /// Where a shuffle takes some values, in the build that wrote it.
    shuffled: Vec<u64>,
}

/// The hashes by which a shuffle takes rows to their partitions, for some values of each kind. With
/// others, a process would bound other units than those of its share.
fn shuffled() -> Result<Vec<u64>> {
    let texts =
        StringViewArray::from(vec![Some("1"), Some("a text of more bytes than a view"), None]);
    let numbers = Int64Array::from(vec![Some(1), Some(i64::MIN), None]);
    let digits = Decimal128Array::from(vec![Some(1), Some(i128::MAX), None]);
    let days = Date32Array::from(vec![Some(1), Some(i32::MIN), None]);
    let columns: [ArrayRef; 4] =
        [Arc::new(texts), Arc::new(numbers), Arc::new(digits), Arc::new(days)];
    let mut all = Vec::new();
    for column in &columns {
        let mut hashes = vec![0; column.len()];
        let column = std::slice::from_ref(column);
        create_hashes(column, REPARTITION_RANDOM_STATE.random_state(), &mut hashes)?;
        all.extend(hashes);
    }
    Ok(all)
}

impl Share {
    /// All of that many partitions, of a run that no other process knows.
    pub(crate) fn whole(partitions: usize) -> Self {
        Self { run: [0; 16], partitions: 0..partitions }
    }
}

/// Plans as bytes, and back.
#[derive(Debug, Default)]
pub(crate) struct PlanCodec {
    /// The progress of what decoded plans read.
    progress: Arc<ReadProgress>,
}

/// An operator of ours.
#[derive(Serialize, Deserialize)]
enum EncodedNode {
    /// The files, the columns, and how many partitions read them.
    Source(Vec<DataFile>, ReadRequest, usize),
    Bound(Box<Bounding>, ScanOptions, Option<[u8; 16]>),
    LimitRows(RowLimit, Option<[u8; 16]>),
    NeverEmpty,
    ExtraRow,
}

#[track_caller]
fn foreign() -> DataFusionError {
    Invariant::new("a plan has a part that is none of ours").into()
}

impl PlanCodec {
    /// A plan as bytes, for a process that runs that share of it. They carry its sampling key: they
    /// are for that process alone.
    ///
    /// # Errors
    /// When something in it cannot be read back as it is.
    pub(crate) fn encode(
        plan: &Arc<dyn ExecutionPlan>,
        share: &Share,
    ) -> Result<Vec<u8>, EngineError> {
        let head = PlanHeader { share: share.clone(), shuffled: shuffled()? };
        let head = serde_json::to_vec(&head).map_err(|_| foreign())?;
        let plan = physical_plan_to_bytes_with_proto_converter(
            Arc::clone(plan),
            &Self::default(),
            &AllowedNodes,
        )?;
        let mut body = (head.len() as u64).to_le_bytes().to_vec();
        body.extend(head);
        body.extend(plan);
        Ok(sealed(MAGIC, &body))
    }

    /// A plan and a share of it, from bytes that a process of the same build has made. Opens its
    /// files, which must be as they were, and reads no value. Reading advances `progress`.
    ///
    /// # Errors
    /// For all other bytes, and when a file was written since.
    pub(crate) fn decode(
        bytes: &[u8],
        tasks: &TaskContext,
        progress: &Arc<ReadProgress>,
    ) -> Result<(Arc<dyn ExecutionPlan>, Share), EngineError> {
        let (share, body) =
            opened(MAGIC, bytes).and_then(divided).ok_or(EngineError::ForeignPlan)?;
        let codec = Self { progress: Arc::clone(progress) };
        // DataFusion's readers believe some of what they read, and may panic where it is wrong.
        let read =
            || physical_plan_from_bytes_with_proto_converter(body, tasks, &codec, &AllowedNodes);
        let plan = catch_unwind(AssertUnwindSafe(read)).map_err(|_| EngineError::ForeignPlan)?;
        let plan = plan.map_err(|error| match EngineError::from(error) {
            error @ EngineError::Source(_) => error,
            _ => EngineError::ForeignPlan,
        })?;
        // Readers pass over what they do not know.
        match Self::encode(&plan, &share) {
            Ok(same) if same == bytes => Ok((plan, share)),
            _ => Err(EngineError::ForeignPlan),
        }
    }
}

/// The share at the front of bytes, and the plan after it.
fn divided(body: &[u8]) -> Option<(Share, &[u8])> {
    let (length, rest) = body.split_first_chunk()?;
    let (head, plan) = rest.split_at_checked(u64::from_le_bytes(*length).try_into().ok()?)?;
    let head: PlanHeader = serde_json::from_slice(head).ok()?;
    (head.shuffled == shuffled().ok()?).then_some((head.share, plan))
}

/// Writes a piece of a plan that can be read back as it is.
fn write<T>(piece: &T, buffer: &mut Vec<u8>, same: impl Fn(&T, &T) -> bool) -> Result<()>
where
    T: Serialize + DeserializeOwned,
{
    let text = serde_json::to_vec(piece).map_err(|_| foreign())?;
    // A float of many digits may come back as its neighbour.
    if !same(piece, &read(&text)?) {
        return Err(foreign());
    }
    buffer.extend(text);
    Ok(())
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|_| foreign())
}

impl PhysicalExtensionCodec for PlanCodec {
    fn try_decode(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let node = read(buffer)?;
        if let (EncodedNode::Source(files, wanted, partitions), []) = (&node, inputs) {
            let table = SourceTable::open(&TableData::Files(files.clone()), wanted)?;
            return Ok(Arc::new(SourceExec::of_all(table, *partitions, &self.progress)?));
        }
        let [input] = inputs else { return Err(foreign()) };
        let input = Arc::clone(input);
        Ok(match node {
            EncodedNode::Source(..) => return Err(foreign()),
            EncodedNode::Bound(bounding, options, key) => {
                let bound = BoundExec::new(input, Arc::from(bounding))?.with_options(options);
                Arc::new(bound.with_key(key.map(SamplingKey)))
            }
            EncodedNode::LimitRows(limit, key) => {
                let limited = LimitRowsExec::new(input, limit)?;
                Arc::new(limited.with_key(key.map(SamplingKey)))
            }
            EncodedNode::NeverEmpty => Arc::new(NeverEmptyExec::new(input)),
            EncodedNode::ExtraRow => Arc::new(ExtraRowExec::new(input)?),
        })
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let node = if let Some(source) = node.downcast_ref::<SourceExec>() {
            // Only files can be opened elsewhere.
            let (TableData::Files(files), wanted) = source.table().of() else {
                return Err(foreign());
            };
            let partitions = source.properties().output_partitioning().partition_count();
            EncodedNode::Source(files.clone(), wanted.clone(), partitions)
        } else if let Some(bound) = node.downcast_ref::<BoundExec>() {
            let key = bound.key().map(|key| key.0);
            EncodedNode::Bound(Box::new(Bounding::clone(bound.bounding())), bound.options(), key)
        } else if let Some(limited) = node.downcast_ref::<LimitRowsExec>() {
            EncodedNode::LimitRows(limited.limit(), limited.key().map(|key| key.0))
        } else if node.downcast_ref::<NeverEmptyExec>().is_some() {
            EncodedNode::NeverEmpty
        } else if node.downcast_ref::<ExtraRowExec>().is_some() {
            EncodedNode::ExtraRow
        } else {
            return Err(foreign());
        };
        let same = |one: &EncodedNode, other: &EncodedNode| match (one, other) {
            (
                EncodedNode::Source(files, wanted, number),
                EncodedNode::Source(other, other_wanted, other_number),
            ) => (files, wanted, number) == (other, other_wanted, other_number),
            (
                EncodedNode::Bound(bounding, options, key),
                EncodedNode::Bound(other, other_options, other_key),
            ) => bounding == other && options == other_options && key == other_key,
            (EncodedNode::LimitRows(limit, key), EncodedNode::LimitRows(other, other_key)) => {
                limit == other && key == other_key
            }
            (EncodedNode::NeverEmpty, EncodedNode::NeverEmpty)
            | (EncodedNode::ExtraRow, EncodedNode::ExtraRow) => true,
            _ => false,
        };
        write(&node, buffer, same)
    }

    fn try_decode_expr(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        _: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        read::<EncodedExpr>(buffer)?.decoded(inputs)
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        buffer: &mut Vec<u8>,
        _: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        let encoded = EncodedExpr::of(node).ok_or_else(|| foreign())?;
        write(&encoded, buffer, PartialEq::eq)
    }

    /// Functions travel by their names; DataFusion's are known to every task.
    fn try_decode_udaf(&self, name: &str, _: &[u8]) -> Result<Arc<AggregateUDF>> {
        unit_function(name).ok_or_else(|| foreign())
    }
}
