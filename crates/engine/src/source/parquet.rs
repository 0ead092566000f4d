//! Parquet files.

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

use super::convert::{StoredType, type_name};
use super::decoders::{Bytes, guard};
use super::normalise::read_as;
use super::sink::{ProgressSink, Sink, misfits};
use super::stored::{ColumnPick, Source, StoredColumn, planned_otherwise};
use super::{BATCH_ROWS, ReadProgress, SourceError, SourceIdentity};

/// How the format is named in errors.
const FORMAT: &str = "Parquet";

/// A Parquet file and what its footer says.
#[derive(Debug)]
pub(super) struct ParquetFile<B = PathBuf> {
    bytes: B,
    identity: SourceIdentity,
    /// The columns in the file's order, nested ones included.
    columns: Vec<StoredColumn>,
    /// With a schema that reads text and decimals as bytes.
    metadata: ArrowReaderMetadata,
}

impl<B: Bytes> ParquetFile<B> {
    /// Reads the footer, and of that nothing about values.
    pub(super) fn open(bytes: B) -> Result<Self, SourceError> {
        let path = bytes.path().to_owned();
        guard(&path, FORMAT, || {
            let file = bytes.open()?;
            // Statistics hold values, so broken ones would be an error that a value makes.
            let options = ArrowReaderOptions::new()
                .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
                .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
                .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll);
            let metadata = ArrowReaderMetadata::load(&file, options)?;
            let (columns, metadata) = as_bytes(&metadata)?;
            Ok(Self { identity: bytes.identity()?, bytes, columns, metadata })
        })
    }
}

impl<B: Bytes> Source for ParquetFile<B> {
    fn identity(&self) -> SourceIdentity {
        self.identity.clone()
    }

    fn is_unchanged(&self) -> bool {
        self.bytes.are_still(&self.identity)
    }

    fn path(&self) -> &Path {
        self.bytes.path()
    }

    fn columns(&self) -> &[StoredColumn] {
        &self.columns
    }

    /// Its row groups.
    fn chunks(&self) -> Vec<u64> {
        let groups = self.metadata.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.total_byte_size()).unwrap_or(0)).collect()
    }

    fn read(
        &self,
        chunk: usize,
        picks: &[ColumnPick],
        progress: &Arc<ReadProgress>,
        sink: &mut dyn Sink,
    ) -> Result<(), SourceError> {
        let metadata = self.metadata.metadata();
        let group = metadata.row_groups().get(chunk).ok_or_else(planned_otherwise)?;
        let number = |n: i64| u64::try_from(n).unwrap_or(0);
        let (bytes, all) = (number(group.total_byte_size()), number(group.num_rows()).max(1));
        let mut sink = ProgressSink { sink, progress, bytes, all };
        let mut roots: Vec<usize> = picks.iter().map(|pick| pick.index).collect();
        roots.sort_unstable();
        roots.dedup();
        let mut reader = guard(self.path(), FORMAT, || {
            let mask = ProjectionMask::roots(self.metadata.parquet_schema(), roots.clone());
            let file = self.bytes.open()?;
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_projection(mask)
                .with_row_groups(vec![chunk])
                .with_batch_size(BATCH_ROWS)
                .build()
        })?;
        let mut next =
            || guard(self.path(), FORMAT, || reader.next().transpose().map_err(Into::into));
        while let Some(batch) = next()? {
            let array = |(column, pick): (usize, &ColumnPick)| {
                let found = batch.columns().get(roots.binary_search(&pick.index).ok()?)?;
                let values = read_as(found, pick.stored, pick.to).ok()?;
                misfits((column, pick.stored), found, &values, &mut sink);
                Some(values)
            };
            let arrays: Option<Vec<_>> = picks.iter().enumerate().map(array).collect();
            if !sink.batch(arrays.ok_or_else(planned_otherwise)?, batch.num_rows()) {
                break;
            }
        }
        Ok(())
    }
}

/// The columns, and the metadata changed so that text and decimals of bytes are read as bytes:
/// the decoder fails on text that is not UTF-8, and panics on decimals of more than 16 bytes.
fn as_bytes(
    found: &ArrowReaderMetadata,
) -> ParquetResult<(Vec<StoredColumn>, ArrowReaderMetadata)> {
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
        columns.push(StoredColumn {
            name: field.name().clone(),
            stored,
            file_type: if stored == StoredType::Text {
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
fn column(parquet: &TypePtr, arrow: &DataType) -> ParquetResult<(TypePtr, StoredType, DataType)> {
    let same = |stored, arrow: &DataType| Ok((Arc::clone(parquet), stored, arrow.clone()));
    let info = parquet.get_basic_info();
    if !parquet.is_primitive() || info.repetition() == Repetition::REPEATED {
        return same(StoredType::of(arrow), arrow);
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
    let stored = StoredType::of(arrow);
    match (parquet.as_ref(), stored) {
        (Type::PrimitiveType { physical_type: Physical::BYTE_ARRAY, .. }, _) if text => {
            plain(StoredType::Text, -1, DataType::BinaryView)
        }
        (
            Type::PrimitiveType { physical_type: Physical::BYTE_ARRAY, .. },
            StoredType::Decimal { .. },
        ) => plain(stored, -1, DataType::BinaryView),
        (
            Type::PrimitiveType {
                physical_type: Physical::FIXED_LEN_BYTE_ARRAY, type_length, ..
            },
            StoredType::Decimal { .. },
        ) => plain(stored, *type_length, DataType::FixedSizeBinary(*type_length)),
        // The old 12-byte timestamps span more years than 64 bits of nanoseconds can.
        (Type::PrimitiveType { physical_type: Physical::INT96, .. }, _) => {
            let stored = StoredType::Timestamp { finer: true };
            same(stored, &DataType::Timestamp(TimeUnit::Microsecond, None))
        }
        _ => same(stored, arrow),
    }
}
