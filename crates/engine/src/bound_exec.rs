//! Contribution bounding as an operator.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeBinaryArray, LargeListArray,
    PrimitiveArray, RecordBatch, new_null_array,
};
use datafusion::arrow::buffer::{Buffer, OffsetBuffer};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Int64Type, Schema, SchemaRef, UInt32Type, UInt64Type,
};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use hushtable_ledger::OpenedCharge;

use crate::bound::{Bounder, Partial, Total};
use crate::bounding::Bounding;
use crate::contributions::{Kept, SamplingKey};
use crate::feed::{RowsOf, bounded};
use crate::intern::inconsistent;
use crate::kept_values::List;
use crate::members::PartialMembers;
use crate::source::convert::arrow_type;

/// Bounds what units contribute, and emits the exact groups of each partition.
///
/// A batch has the groups, with their keys, numbers of units and sums; and where values are kept
/// one by one or each unit's groups are recorded, a second one has these, in one row of lists that
/// number groups by their rows in the first. Exact: running this without adding noise to what comes
/// out breaks every promise. It runs only with a sampling key, which an opened charge gives.
pub(crate) struct BoundExec {
    input: Arc<dyn ExecutionPlan>,
    bounding: Arc<Bounding>,
    rows: Arc<RowsOf>,
    /// Secret.
    key: Option<SamplingKey>,
    layout: Arc<Layout>,
    properties: Arc<PlanProperties>,
}

/// The contents of the batches' columns.
#[derive(Clone)]
struct Layout {
    keys: usize,
    kept: Vec<Kept>,
    with_members: bool,
    schema: SchemaRef,
}

impl BoundExec {
    /// Bounds the rows of a plan, all rows of a unit in one partition.
    ///
    /// # Errors
    /// When the plan's columns are not those that are read, or rows of a unit may be in several
    /// partitions: it would be bounded once in each.
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, bounding: Arc<Bounding>) -> Result<Self> {
        let schema = input.schema();
        let (read, has_unit) = (&bounding.read, bounding.unit_bytes.is_some());
        let types = schema.fields().iter().zip(read);
        let same = types.clone().all(|(field, (_, of))| *field.data_type() == arrow_type(*of));
        if !bounding.holds_together()
            || schema.fields().len() != read.len() + usize::from(has_unit)
            || !same
            || (has_unit && !by_column(input.output_partitioning(), read.len()))
        {
            return Err(inconsistent(
                "contribution bounding does not get the columns or partitions that it needs",
            ));
        }
        let rows = Arc::new(RowsOf::new(&bounding)?);
        let layout = Arc::new(Layout::new(&bounding));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&layout.schema)),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Ok(Self { input, bounding, rows, key: None, layout, properties: Arc::new(properties) })
    }

    /// The rows that are bounded.
    pub(crate) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// The way from rows to exact groups.
    pub(crate) fn bounding(&self) -> &Arc<Bounding> {
        &self.bounding
    }

    /// From batches of the input to rows that count.
    pub(crate) fn rows(&self) -> &Arc<RowsOf> {
        &self.rows
    }

    /// Makes it run: a release pays for what comes out.
    pub(crate) fn opened(self, _: &OpenedCharge, key: SamplingKey) -> Self {
        self.with_key(Some(key))
    }

    /// Sets the sampling key of the process that opened the charge.
    pub(crate) fn with_key(self, key: Option<SamplingKey>) -> Self {
        Self { key, ..self }
    }

    /// The sampling key, for workers alone.
    pub(crate) fn key(&self) -> Option<SamplingKey> {
        self.key
    }

    /// A bounder for a partition.
    pub(crate) fn bounder(&self, key: SamplingKey) -> Bounder {
        bounder(&self.bounding, key)
    }

    /// The exact groups in the batches of one partition.
    ///
    /// # Errors
    /// For batches that are of no such operator.
    pub(crate) fn partial(&self, batches: Vec<RecordBatch>) -> Result<Option<Partial>> {
        self.layout.partial(batches)
    }
}

fn bounder(bounding: &Bounding, key: SamplingKey) -> Bounder {
    let (kept, keyed) = (bounding.kept(), !bounding.keys.is_empty());
    let bounder = match bounding.unit_bytes {
        Some(_) => Bounder::of_units(kept, keyed, key, bounding.most_groups),
        None => Bounder::of_rows(kept, keyed),
    };
    if bounding.with_members { bounder.with_members() } else { bounder }
}

/// Whether rows that agree in a column are in one partition.
fn by_column(partitioning: &Partitioning, place: usize) -> bool {
    let Partitioning::Hash(by, _) = partitioning else { return false };
    let [by] = by.as_slice() else { return false };
    by.downcast_ref::<Column>().is_some_and(|column| column.index() == place)
}

/// A column of lists in one row.
fn list(name: String, of: DataType) -> Field {
    Field::new(name, DataType::LargeList(item(of)), true)
}

fn item(of: DataType) -> FieldRef {
    Arc::new(Field::new_list_field(of, false))
}

/// The type of sums: below 2^125 in size, as values are at most 2^62.
const SUM: DataType = DataType::Decimal128(38, 0);

/// The type of units' keyed hashes.
const PLACE: DataType = DataType::FixedSizeBinary(16);

impl Layout {
    fn new(bounding: &Bounding) -> Self {
        let (mut fields, kept) = (Vec::new(), bounding.kept());
        for (place, key) in bounding.keys.iter().enumerate() {
            fields.push(Field::new(format!("key{place}"), arrow_type(key.column_type), true));
        }
        fields.push(Field::new("units", DataType::Int64, true));
        for (place, kept) in kept.iter().enumerate() {
            if is_listed(kept) {
                fields.push(list(format!("groups{place}"), DataType::UInt32));
                fields.push(list(format!("values{place}"), DataType::Int64));
            } else {
                fields.push(Field::new(format!("sum{place}"), SUM, true));
            }
        }
        if bounding.with_members {
            fields.push(list("ends".to_owned(), DataType::UInt64));
            fields.push(list("members".to_owned(), DataType::UInt32));
            fields.push(list("places".to_owned(), PLACE));
        }
        let (keys, with_members) = (bounding.keys.len(), bounding.with_members);
        Self { keys, kept, with_members, schema: Arc::new(Schema::new(fields)) }
    }

    /// The batches of some exact groups.
    fn batches(&self, partial: Partial) -> Result<Vec<RecordBatch>> {
        let Partial { keys, units, totals, members, .. } = partial;
        let groups = units.len();
        if groups == 0 {
            return Ok(Vec::new());
        }
        let (mut first, mut second) = (keys, Vec::new());
        first.push(Arc::new(PrimitiveArray::<Int64Type>::new(units, None)));
        // Keys, units and sums have no row beside the lists.
        second.resize(first.len(), None);
        let mut lists = false;
        for total in totals {
            match total {
                Total::Sums(sums) => {
                    let sums = PrimitiveArray::<Decimal128Type>::new(sums, None);
                    first.push(Arc::new(sums.with_data_type(SUM)));
                    second.push(None);
                }
                Total::Values(List { groups: of, values }) => {
                    lists = true;
                    first.extend(nulls(groups, &[DataType::UInt32, DataType::Int64]));
                    second.push(Some(in_one_row::<UInt32Type>(of)?));
                    second.push(Some(in_one_row::<Int64Type>(values)?));
                }
            }
        }
        if self.with_members {
            lists = true;
            let PartialMembers { ends, groups: of, places } =
                members.ok_or_else(|| inconsistent("the groups of each unit were not recorded"))?;
            first.extend(nulls(groups, &[DataType::UInt64, DataType::UInt32, PLACE]));
            second.push(Some(in_one_row::<UInt64Type>(ends)?));
            second.push(Some(in_one_row::<UInt32Type>(of)?));
            let places = FixedSizeBinaryArray::try_new(16, Buffer::from_vec(places), None)?;
            second.push(Some(one_row(Arc::new(places))?));
        }
        let schema = || Arc::clone(&self.schema);
        let mut batches = vec![RecordBatch::try_new(schema(), first)?];
        if lists {
            let fields = self.schema.fields().iter().zip(second);
            let columns = fields.map(|(field, own)| match own {
                Some(own) => own,
                None => new_null_array(field.data_type(), 1),
            });
            batches.push(RecordBatch::try_new(schema(), columns.collect())?);
        }
        Ok(batches)
    }

    /// The exact groups in batches; `None` where there are none.
    fn partial(&self, batches: Vec<RecordBatch>) -> Result<Option<Partial>> {
        if batches.iter().any(|batch| batch.schema() != self.schema) {
            return Err(inconsistent(
                "a batch of exact groups has other columns than its operator",
            ));
        }
        let mut batches = batches.into_iter();
        let Some(first) = batches.next() else { return Ok(None) };
        let rows = first.num_rows();
        let second = batches.next();
        if batches.next().is_some() || second.as_ref().is_some_and(|batch| batch.num_rows() != 1) {
            return Err(inconsistent(
                "exact groups come in other batches than one of groups and one of lists",
            ));
        }
        let mut first = first.columns().to_vec().into_iter();
        let mut second = second.map(|batch| batch.columns().to_vec().into_iter());
        // The columns of both batches go along with each other.
        let mut skip = |columns: usize| -> Result<Vec<Option<ArrayRef>>> {
            (0..columns)
                .map(|_| match &mut second {
                    Some(second) => second
                        .next()
                        .map(Some)
                        .ok_or_else(|| inconsistent("a batch of exact groups has too few columns")),
                    None => Ok(None),
                })
                .collect()
        };
        let mut next = || {
            first.next().ok_or_else(|| inconsistent("a batch of exact groups has too few columns"))
        };
        let keys = (0..self.keys).map(|_| next()).collect::<Result<Vec<_>>>()?;
        let units = numbers::<Int64Type>(next()?, rows)?.values().clone();
        skip(self.keys + 1)?;
        let mut totals = Vec::with_capacity(self.kept.len());
        for kept in &self.kept {
            if is_listed(kept) {
                next()?;
                next()?;
                let Ok([Some(groups), Some(values)]) = <[_; 2]>::try_from(skip(2)?) else {
                    return Err(inconsistent("a batch of exact groups lacks a list of values"));
                };
                let groups = vector::<UInt32Type>(groups)?;
                let values = vector::<Int64Type>(values)?;
                if groups.len() != values.len() {
                    return Err(inconsistent(
                        "a list of values has another length than the list of their groups",
                    ));
                }
                totals.push(Total::Values(List { groups, values }));
            } else {
                let sums = numbers::<Decimal128Type>(next()?, rows)?;
                skip(1)?;
                totals.push(Total::Sums(sums.values().clone()));
            }
        }
        let members = match self.with_members {
            false => None,
            true => {
                let own = <[_; 3]>::try_from(skip(3)?);
                let Ok([Some(ends), Some(groups), Some(places)]) = own else {
                    return Err(inconsistent(
                        "a batch of exact groups lacks the groups of each unit",
                    ));
                };
                let places = values_of(places)?;
                let places = places
                    .as_fixed_size_binary_opt()
                    .ok_or_else(|| inconsistent("the hashes of units are not of 16 bytes"))?;
                let place = |bytes: Option<&[u8]>| {
                    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
                    bytes
                        .map(i128::from_ne_bytes)
                        .ok_or_else(|| inconsistent("the hashes of units are not of 16 bytes"))
                };
                let places = places.iter().map(place).collect::<Result<Vec<_>>>()?;
                let (ends, groups) = (vector::<UInt64Type>(ends)?, vector::<UInt32Type>(groups)?);
                if ends.len() != places.len() {
                    return Err(inconsistent(
                        "the groups of each unit are of another number of units than their hashes",
                    ));
                }
                Some(PartialMembers { ends, groups, places })
            }
        };
        Ok(Some(Partial { keys, units, totals, members, survey: None, tally: None }))
    }
}

/// Whether an accumulator has lists, and not sums.
fn is_listed(kept: &Kept) -> bool {
    matches!(kept, Kept::Values(listing) if listing.sum.is_none())
}

fn nulls(rows: usize, of: &[DataType]) -> impl Iterator<Item = ArrayRef> {
    of.iter().map(move |of| new_null_array(&DataType::LargeList(item(of.clone())), rows))
}

fn in_one_row<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> Result<ArrayRef> {
    one_row(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
}

fn one_row(values: ArrayRef) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::from_lengths([values.len()]);
    Ok(Arc::new(LargeListArray::try_new(item(values.data_type().clone()), offsets, values, None)?))
}

/// The list in a column's only row.
fn values_of(column: ArrayRef) -> Result<ArrayRef> {
    let lists = column.as_list_opt::<i64>().filter(|lists| lists.len() == 1 && lists.is_valid(0));
    let lists = lists
        .ok_or_else(|| inconsistent("a column of lists has more or less than one list"))?
        .clone();
    drop(column);
    let (_, offsets, values, _) = lists.into_parts();
    let whole = offsets.first() == Some(&0) && offsets.last() == Some(&(values.len() as i64));
    if whole {
        Ok(values)
    } else {
        Err(inconsistent("a list does not have all values of its column"))
    }
}

/// The numbers of the list in a column's only row, without copying them: nobody else has them.
fn vector<T: ArrowPrimitiveType>(column: ArrayRef) -> Result<Vec<T::Native>> {
    let values = values_of(column)?;
    let rows = values.len();
    let (_, values, _) = numbers::<T>(values, rows)?.into_parts();
    Ok(values.into())
}

/// A column of numbers without NULLs.
fn numbers<T: ArrowPrimitiveType>(column: ArrayRef, rows: usize) -> Result<PrimitiveArray<T>> {
    let numbers = column.as_primitive_opt::<T>();
    let numbers = numbers.filter(|numbers| numbers.null_count() == 0 && numbers.len() == rows);
    numbers.cloned().ok_or_else(|| {
        inconsistent("a column of exact numbers has NULLs, or another type or length")
    })
}

impl DisplayAs for BoundExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bounding { keys, accumulators, most_groups, .. } = &*self.bounding;
        write!(f, "BoundExec: keys={}, accumulators={}", keys.len(), accumulators.len())?;
        match self.bounding.unit_bytes {
            Some(_) => write!(f, ", most_groups={most_groups}"),
            None => f.write_str(", rows are units"),
        }
    }
}

impl fmt::Debug for BoundExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl ExecutionPlan for BoundExec {
    fn name(&self) -> &str {
        "BoundExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        let place = self.bounding.read.len();
        let schema = self.input.schema();
        match (self.bounding.unit_bytes, schema.fields().get(place)) {
            (Some(_), Some(unit)) => {
                let unit: Arc<dyn PhysicalExpr> = Arc::new(Column::new(unit.name(), place));
                vec![Distribution::KeyPartitioned(vec![unit])]
            }
            _ => vec![Distribution::UnspecifiedDistribution],
        }
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = <[_; 1]>::try_from(children)
            .map_err(|_| inconsistent("an operator of one input was given others"))?;
        let new = Self::new(input, Arc::clone(&self.bounding))?;
        Ok(Arc::new(Self { key: self.key, ..new }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let key = self
            .key
            .ok_or_else(|| inconsistent("contributions are bounded without the key of a charge"))?;
        let consumer = MemoryConsumer::new(format!("BoundExec[{partition}]"));
        let held = consumer.register(context.memory_pool());
        let input = self.input.execute(partition, context)?;
        let (rows, layout) = (Arc::clone(&self.rows), Arc::clone(&self.layout));
        let bounders = vec![self.bounder(key)];
        let schema = Arc::clone(&layout.schema);
        let batches = async move {
            let mut partials = bounded(input, &rows, bounders, None, &held).await?;
            let batches = layout.batches(
                partials.pop().ok_or_else(|| inconsistent("a partition has no exact groups"))?,
            )?;
            // Held until all have been taken.
            Ok::<_, DataFusionError>(stream::iter(batches).map(move |batch| {
                let _held = &held;
                Ok(batch)
            }))
        };
        let batches = stream::once(batches).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
