//! The batches in which exact groups leave their operator.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeBinaryArray, LargeListArray,
    PrimitiveArray, RecordBatch, new_empty_array, new_null_array,
};
use datafusion::arrow::buffer::{Buffer, OffsetBuffer};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Int64Type, Schema, SchemaRef, UInt32Type, UInt64Type,
};
use datafusion::error::Result;

use crate::bound::{GroupTotals, Partial, Tallies};
use crate::bounding::Bounding;
use crate::contributions::Accumulation;
use crate::flat::{Flat, flat, read_all};
use crate::intern::inconsistent;
use crate::members::PartialMembers;
use crate::source::convert::arrow_type;
use crate::survey::{ScanOptions, Survey};
use crate::value_lists::ValueList;

/// The contents of the batches' columns.
#[derive(Clone)]
pub(super) struct BatchLayout {
    keys: usize,
    kept: Vec<Accumulation>,
    with_members: bool,
    finds_more: bool,
    pub(super) schema: SchemaRef,
}

/// Readings of a partition for owners, beside its exact groups. Secret: no Debug, Display or
/// Serialize.
struct OwnerReadings {
    survey: Option<Survey>,
    tallies: Option<Tallies>,
}

flat!(OwnerReadings { survey, tallies });

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

impl BatchLayout {
    pub(super) fn new(bounding: &Bounding, options: ScanOptions) -> Self {
        let (mut fields, kept) = (Vec::new(), bounding.accumulations());
        for (index, key) in bounding.keys.iter().enumerate() {
            fields.push(Field::new(format!("key{index}"), arrow_type(key.column_type), true));
        }
        fields.push(Field::new("units", DataType::Int64, true));
        for (index, kept) in kept.iter().enumerate() {
            if is_listed(kept) {
                fields.push(list(format!("groups{index}"), DataType::UInt32));
                fields.push(list(format!("values{index}"), DataType::Int64));
            } else {
                fields.push(Field::new(format!("sum{index}"), SUM, true));
            }
        }
        if bounding.with_members {
            fields.push(list("ends".to_owned(), DataType::UInt64));
            fields.push(list("members".to_owned(), DataType::UInt32));
            fields.push(list("places".to_owned(), PLACE));
        }
        let finds_more = options.finds_more();
        if finds_more {
            fields.push(list("findings".to_owned(), DataType::UInt64));
        }
        let (keys, with_members) = (bounding.keys.len(), bounding.with_members);
        Self { keys, kept, with_members, finds_more, schema: Arc::new(Schema::new(fields)) }
    }

    /// The batches of some exact groups.
    pub(super) fn batches(&self, partial: Partial) -> Result<Vec<RecordBatch>> {
        let Partial { keys, units, totals, members, survey, tallies } = partial;
        let groups = units.len();
        if groups == 0 && !self.finds_more {
            return Ok(Vec::new());
        }
        // A partition without rows does not know the types of its keys.
        let empty = || self.schema.fields().iter().map(|field| new_empty_array(field.data_type()));
        let keys = if groups == 0 { empty().take(self.keys).collect() } else { keys };
        let (mut first, mut second) = (keys, Vec::new());
        first.push(Arc::new(PrimitiveArray::<Int64Type>::new(units, None)));
        // Keys, units and sums have no row beside the lists.
        second.resize(first.len(), None);
        let mut lists = false;
        for total in totals {
            match total {
                GroupTotals::Sums(sums) => {
                    let sums = PrimitiveArray::<Decimal128Type>::new(sums, None);
                    first.push(Arc::new(sums.with_data_type(SUM)));
                    second.push(None);
                }
                GroupTotals::Values(ValueList { groups: of, values }) => {
                    lists = true;
                    first.extend(nulls(groups, &[DataType::UInt32, DataType::Int64]));
                    second.push(Some(in_one_row::<UInt32Type>(of)?));
                    second.push(Some(in_one_row::<Int64Type>(values)?));
                }
            }
        }
        if self.with_members {
            lists = true;
            let PartialMembers { ends, groups: of, ranks } =
                members.ok_or_else(|| inconsistent("the groups of each unit were not recorded"))?;
            first.extend(nulls(groups, &[DataType::UInt64, DataType::UInt32, PLACE]));
            second.push(Some(in_one_row::<UInt64Type>(ends)?));
            second.push(Some(in_one_row::<UInt32Type>(of)?));
            let ranks = FixedSizeBinaryArray::try_new(16, Buffer::from_vec(ranks), None)?;
            second.push(Some(one_row(Arc::new(ranks))?));
        }
        if self.finds_more {
            lists = true;
            let mut numbers = Vec::new();
            OwnerReadings { survey, tallies }.write(&mut numbers);
            first.extend(nulls(groups, &[DataType::UInt64]));
            second.push(Some(in_one_row::<UInt64Type>(numbers)?));
        }
        let schema = || Arc::clone(&self.schema);
        let mut batches = vec![RecordBatch::try_new(schema(), first)?];
        if lists {
            let fields = self.schema.fields().iter().zip(second);
            let columns = fields.map(|(field, known)| match known {
                Some(known) => known,
                None => new_null_array(field.data_type(), 1),
            });
            batches.push(RecordBatch::try_new(schema(), columns.collect())?);
        }
        Ok(batches)
    }

    /// The exact groups in batches; `None` where there are none.
    pub(super) fn partial(&self, batches: Vec<RecordBatch>) -> Result<Option<Partial>> {
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
                totals.push(GroupTotals::Values(ValueList { groups, values }));
            } else {
                let sums = numbers::<Decimal128Type>(next()?, rows)?;
                skip(1)?;
                totals.push(GroupTotals::Sums(sums.values().clone()));
            }
        }
        let members = match self.with_members {
            false => None,
            true => {
                let three = <[_; 3]>::try_from(skip(3)?);
                let Ok([Some(ends), Some(groups), Some(ranks)]) = three else {
                    return Err(inconsistent(
                        "a batch of exact groups lacks the groups of each unit",
                    ));
                };
                let ranks = values_of(ranks)?;
                let ranks = ranks
                    .as_fixed_size_binary_opt()
                    .ok_or_else(|| inconsistent("the hashes of units are not of 16 bytes"))?;
                let index = |bytes: Option<&[u8]>| {
                    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
                    bytes
                        .map(i128::from_ne_bytes)
                        .ok_or_else(|| inconsistent("the hashes of units are not of 16 bytes"))
                };
                let ranks = ranks.iter().map(index).collect::<Result<Vec<_>>>()?;
                let (ends, groups) = (vector::<UInt64Type>(ends)?, vector::<UInt32Type>(groups)?);
                if ends.len() != ranks.len() {
                    return Err(inconsistent(
                        "the groups of each unit are of another number of units than their hashes",
                    ));
                }
                Some(PartialMembers { ends, groups, ranks })
            }
        };
        let OwnerReadings { survey, tallies } = match self.finds_more {
            false => OwnerReadings { survey: None, tallies: None },
            true => {
                let Ok([Some(findings)]) = <[_; 1]>::try_from(skip(1)?) else {
                    return Err(inconsistent(
                        "a batch of exact groups lacks what its owner reads beside them",
                    ));
                };
                read_all(&vector::<UInt64Type>(findings)?)?
            }
        };
        Ok(Some(Partial { keys, units, totals, members, survey, tallies }))
    }
}

/// Whether an accumulator has lists, and not sums.
fn is_listed(kept: &Accumulation) -> bool {
    matches!(kept, Accumulation::Values(listing) if listing.sum.is_none())
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
