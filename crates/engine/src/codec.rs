//! Plans as bytes, for another process or machine.
//!
//! DataFusion's operators have a codec of their own; here is that of ours. A plan is as secret as
//! the rows: its sampling key says which of a unit's groups are kept. It is for workers of the same
//! build only, over a channel that nobody else reads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bound_exec::BoundExec;
use crate::bounding::Bounding;
use crate::contributions::SamplingKey;
use crate::error::EngineError;
use crate::invariant::Invariant;
use crate::limit_rows::{LimitRowsExec, RowLimit};
use crate::lower::{EncodedExpr, NeverEmptyExec, total_function};
use crate::record::ENGINE;
use crate::source::{DataFile, SourceExec, Table, TableData, Wanted};

/// The first bytes of a plan.
const MAGIC: &[u8] = b"hushplan";

/// The length of a hash.
const HASH: usize = 32;

/// Plans as bytes, and back.
#[derive(Debug)]
pub struct PlanCodec;

/// An operator of ours.
#[derive(Serialize, Deserialize)]
enum Node {
    Source(Vec<DataFile>, Wanted),
    Bound(Box<Bounding>, Option<[u8; 16]>),
    LimitRows(RowLimit, Option<[u8; 16]>),
    NeverEmpty,
}

#[track_caller]
fn foreign() -> DataFusionError {
    Invariant::new("a plan has a part that is none of ours").into()
}

impl PlanCodec {
    /// A plan as bytes. They carry its sampling key: they are for a worker alone.
    ///
    /// # Errors
    /// When something in it cannot be read back as it is.
    pub fn encode(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<u8>, EngineError> {
        let body = physical_plan_to_bytes_with_extension_codec(Arc::clone(plan), &Self)?;
        Ok(hashed(&body))
    }

    /// A plan from bytes that a process of the same build has made. Opens its files, which must be
    /// as they were, and reads no value.
    ///
    /// # Errors
    /// For all other bytes, and when a file was written since.
    pub fn decode(
        bytes: &[u8],
        tasks: &TaskContext,
    ) -> Result<Arc<dyn ExecutionPlan>, EngineError> {
        let after = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_at_checked(HASH));
        let (own, body) = after.ok_or(EngineError::ForeignPlan)?;
        if own != hash(body) {
            return Err(EngineError::ForeignPlan);
        }
        // DataFusion reads lists as Arrow streams, whose decoder may panic.
        let read = || physical_plan_from_bytes_with_extension_codec(body, tasks, &Self);
        let plan = catch_unwind(AssertUnwindSafe(read)).map_err(|_| EngineError::ForeignPlan)?;
        plan.map_err(|error| match EngineError::from(error) {
            error @ EngineError::Source(_) => error,
            _ => EngineError::ForeignPlan,
        })
    }
}

/// The bytes of a plan, behind their hash.
pub(crate) fn hashed(body: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(hash(body));
    bytes.extend(body);
    bytes
}

/// A hash of a plan and of who made it: another build may mean something else by the same bytes.
fn hash(body: &[u8]) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(ENGINE.as_bytes());
    hasher.update(body);
    *hasher.finalize().as_bytes()
}

/// Writes a part of a plan that can be read back as it is.
fn write<T>(part: &T, buffer: &mut Vec<u8>, same: impl Fn(&T, &T) -> bool) -> Result<()>
where
    T: Serialize + DeserializeOwned,
{
    let text = serde_json::to_vec(part).map_err(|_| foreign())?;
    // A float of many digits may come back as its neighbour.
    if !same(part, &read(&text)?) {
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
        let [input] = inputs else { return Err(foreign()) };
        let input = Arc::clone(input);
        Ok(match read(buffer)? {
            Node::Source(files, wanted) => {
                let table = Arc::new(Table::open(&TableData::Files(files), &wanted)?);
                Arc::new(SourceExec::new(input, table, Arc::default())?)
            }
            Node::Bound(bounding, key) => {
                let bound = BoundExec::new(input, Arc::from(bounding))?;
                Arc::new(bound.with_key(key.map(SamplingKey)))
            }
            Node::LimitRows(limit, key) => {
                let limited = LimitRowsExec::new(input, limit)?;
                Arc::new(limited.with_key(key.map(SamplingKey)))
            }
            Node::NeverEmpty => Arc::new(NeverEmptyExec::new(input)),
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
            Node::Source(files.clone(), wanted.clone())
        } else if let Some(bound) = node.downcast_ref::<BoundExec>() {
            let key = bound.key().map(|key| key.0);
            Node::Bound(Box::new(Bounding::clone(bound.bounding())), key)
        } else if let Some(limited) = node.downcast_ref::<LimitRowsExec>() {
            Node::LimitRows(limited.limit(), limited.key().map(|key| key.0))
        } else if node.downcast_ref::<NeverEmptyExec>().is_some() {
            Node::NeverEmpty
        } else {
            return Err(foreign());
        };
        let same = |one: &Node, other: &Node| match (one, other) {
            (Node::Source(files, wanted), Node::Source(own, own_wanted)) => {
                files == own && wanted == own_wanted
            }
            (Node::Bound(bounding, key), Node::Bound(own, own_key)) => {
                bounding == own && key == own_key
            }
            (Node::LimitRows(limit, key), Node::LimitRows(own, own_key)) => {
                limit == own && key == own_key
            }
            (Node::NeverEmpty, Node::NeverEmpty) => true,
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
        total_function(name).ok_or_else(|| foreign())
    }
}
