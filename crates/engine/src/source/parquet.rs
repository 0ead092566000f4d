//! Parquet files.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, TimeUnit};
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use datafusion::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetStatisticsPolicy};
use datafusion::parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::convert::{Stored, Target, type_name};
use super::normalise::read_as;
use super::sink::{Sink, misfits};
use super::{SourceError, plan};

/// A Parquet file and what its footer says.
#[derive(Debug)]
pub(super) struct ParquetFile {
    pub(super) path: PathBuf,
    /// The columns in the file's order, nested ones included.
    pub(super) columns: Vec<ParquetColumn>,
    /// With a schema that reads text and decimals as bytes.
    metadata: ArrowReaderMetadata,
}

/// A column as its file stores it.
#[derive(Clone, Debug)]
pub(super) struct ParquetColumn {
    pub(super) name: String,
    pub(super) stored: Stored,
    pub(super) file_type: String,
}

/// A column to read: its place in the file, how it is stored, and the type it gets.
pub(super) type ParquetPick = (usize, Stored, Target);

impl ParquetFile {
    /// Reads the footer, and of that nothing about values.
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        guard(path, || {
            let file = File::open(path).map_err(ParquetError::from)?;
            // Statistics hold values, so broken ones would be an error that a value makes.
            let options = ArrowReaderOptions::new()
                .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
                .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
                .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll);
            let metadata = ArrowReaderMetadata::load(&file, options)?;
            let (columns, metadata) = as_bytes(&metadata)?;
            Ok(Self { path: path.to_owned(), columns, metadata })
        })
    }

    /// The size of each row group, to share them out.
    pub(super) fn row_groups(&self) -> impl Iterator<Item = u64> {
        let groups = self.metadata.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.total_byte_size()).unwrap_or(0))
    }

    /// The number of rows of a row group, to tell how much of it has been read.
    pub(super) fn rows(&self, group: usize) -> u64 {
        let found = self.metadata.metadata().row_groups().get(group);
        found.map_or(0, |group| u64::try_from(group.num_rows()).unwrap_or(0))
    }

    /// Hands the rows of some row groups to `sink`, in batches, until it wants no more.
    pub(super) fn read(
        &self,
        row_groups: &[usize],
        picks: &[ParquetPick],
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        let mut roots: Vec<usize> = picks.iter().map(|(root, ..)| *root).collect();
        roots.sort_unstable();
        roots.dedup();
        let mut reader = guard(&self.path, || {
            let file = File::open(&self.path).map_err(ParquetError::from)?;
            let mask = ProjectionMask::roots(self.metadata.parquet_schema(), roots.clone());
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_projection(mask)
                .with_row_groups(row_groups.to_vec())
                .with_batch_size(plan::BATCH_ROWS)
                .build()
        })?;
        let mut next = || guard(&self.path, || reader.next().transpose().map_err(Into::into));
        while let Some(batch) = next()? {
            let array = |(column, (root, stored, to)): (usize, &ParquetPick)| {
                let found = batch.columns().get(roots.binary_search(root).ok()?)?;
                let values = read_as(found, *stored, *to).ok()?;
                misfits((column, *stored), found, &values, sink);
                Some(values)
            };
            let arrays: Option<Vec<_>> = picks.iter().enumerate().map(array).collect();
            if !sink.batch(arrays.ok_or_else(plan::planned_otherwise)?, batch.num_rows()) {
                break;
            }
        }
        Ok(())
    }
}

/// Runs the decoder, which may panic on a damaged file. Its errors are not passed on, as they may
/// quote the file.
fn guard<T>(path: &Path, run: impl FnOnce() -> ParquetResult<T>) -> Result<T, SourceError> {
    let damaged = || SourceError::Damaged { path: path.to_owned(), format: "Parquet" };
    let error = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error,
        Err(_) => return Err(damaged()),
    };
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Err(SourceError::from_io(path, io, "Parquet"));
        }
        cause = match error.downcast_ref() {
            Some(ParquetError::External(inner)) => Some(&**inner),
            _ => error.source(),
        };
    }
    Err(damaged())
}

/// The columns, and the metadata changed so that text and decimals of bytes are read as bytes:
/// the decoder fails on text that is not UTF-8, and panics on decimals of more than 16 bytes.
fn as_bytes(
    found: &ArrowReaderMetadata,
) -> ParquetResult<(Vec<ParquetColumn>, ArrowReaderMetadata)> {
    let file = found.metadata().file_metadata();
    let root = file.schema_descr().root_schema();
    if root.get_fields().len() != found.schema().fields().len() {
        return Err(ParquetError::General("columns without a type".to_owned()));
    }
    let mut types: Vec<TypePtr> = Vec::new();
    let mut fields: Vec<FieldRef> = Vec::new();
    let mut columns = Vec::new();
    for (parquet, field) in root.get_fields().iter().zip(found.schema().fields()) {
        let file_type = field.data_type();
        let (parquet, stored, read_as) = column(parquet, file_type)?;
        types.push(parquet);
        fields.push(Arc::new(Field::clone(field).with_data_type(read_as)));
        columns.push(ParquetColumn {
            name: field.name().clone(),
            stored,
            file_type: if stored == Stored::Text {
                "string".to_owned()
            } else {
                type_name(file_type)
            },
        });
    }
    let root = Type::group_type_builder(root.name()).with_fields(types).build()?;
    let schema = SchemaDescriptor::new(Arc::new(root));
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        None,
        Arc::new(schema),
        None,
    );
    let metadata = ParquetMetaData::new(file, found.metadata().row_groups().to_vec());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    Ok((columns, ArrowReaderMetadata::try_new(Arc::new(metadata), options)?))
}

/// How to read a column: the Parquet type to give it, how that stores it, and the Arrow type to
/// ask for.
fn column(parquet: &TypePtr, arrow: &DataType) -> ParquetResult<(TypePtr, Stored, DataType)> {
    let same = |stored, arrow: &DataType| Ok((Arc::clone(parquet), stored, arrow.clone()));
    let info = parquet.get_basic_info();
    if !parquet.is_primitive() || info.repetition() == Repetition::REPEATED {
        return same(Stored::of(arrow), arrow);
    }
    // Without its annotation, a type is plain bytes.
    let plain = |stored, length, read_as| {
        let bytes = Type::primitive_type_builder(parquet.name(), parquet.get_physical_type())
            .with_repetition(info.repetition())
            .with_length(length)
            .with_id(info.has_id().then(|| info.id()))
            .build()?;
        Ok((Arc::new(bytes), stored, read_as))
    };
    let text = match info.logical_type_ref() {
        Some(logical) => {
            matches!(logical, LogicalType::String | LogicalType::Json | LogicalType::Enum)
        }
        None => matches!(
            info.converted_type(),
            ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM
        ),
    };
    let arrow = match arrow {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    let stored = Stored::of(arrow);
    match (parquet.as_ref(), stored) {
        (Type::PrimitiveType { physical_type: Physical::BYTE_ARRAY, .. }, _) if text => {
            plain(Stored::Text, -1, DataType::BinaryView)
        }
        (
            Type::PrimitiveType { physical_type: Physical::BYTE_ARRAY, .. },
            Stored::Decimal { .. },
        ) => plain(stored, -1, DataType::BinaryView),
        (
            Type::PrimitiveType {
                physical_type: Physical::FIXED_LEN_BYTE_ARRAY, type_length, ..
            },
            Stored::Decimal { .. },
        ) => plain(stored, *type_length, DataType::FixedSizeBinary(*type_length)),
        // The old 12-byte timestamps span more years than 64 bits of nanoseconds can.
        (Type::PrimitiveType { physical_type: Physical::INT96, .. }, _) => {
            same(Stored::Timestamp, &DataType::Timestamp(TimeUnit::Microsecond, None))
        }
        _ => same(stored, arrow),
    }
}
