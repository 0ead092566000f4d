//! Tests of reading. Files are made in a temporary folder.

mod arrow;
mod csv;
mod encodings;
mod files;
mod folders;
mod json_lines;
mod memory;
mod parquet;
mod parquet_raw;
mod random_access;
mod reach;
mod records;
mod schema;
mod settings;
mod units;
mod values;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::collect;
use hushtable_contract::{CsvSettings, DateOrder, NumberFormat, TextFormat};
use hushtable_lang::{ColumnType, MAX_STRING_BYTES};

use super::provided::{Provider, RowsIdentity};
use super::{
    DataFile, MemoryTable, ProviderSource, ReadRequest, SourceError, TableData, list_files, scan,
    scan_data,
};

/// A decimal of that scale.
fn decimal(scale: u8) -> ColumnType {
    ColumnType::Decimal { scale }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(future)
}

/// All rows, with the files and partitions one after the other.
fn read_files(
    files: &[DataFile],
    columns: &[(&str, ColumnType)],
    partitions: usize,
) -> Result<RecordBatch, String> {
    read_wanted(files, &ReadRequest::columns(&named(columns)), partitions)
}

fn read_data(
    data: &TableData,
    columns: &[(&str, ColumnType)],
    partitions: usize,
) -> Result<RecordBatch, String> {
    read_wanted_of(data, &ReadRequest::columns(&named(columns)), partitions)
}

fn named(columns: &[(&str, ColumnType)]) -> Vec<(String, ColumnType)> {
    columns.iter().map(|(n, t)| ((*n).to_owned(), *t)).collect()
}

fn read_wanted(
    files: &[DataFile],
    wanted: &ReadRequest,
    partitions: usize,
) -> Result<RecordBatch, String> {
    read_wanted_of(&TableData::Files(files.to_vec()), wanted, partitions)
}

fn read_wanted_of(
    data: &TableData,
    wanted: &ReadRequest,
    partitions: usize,
) -> Result<RecordBatch, String> {
    block_on(async {
        let plan = scan_data(data, wanted, partitions, &Arc::default()).await;
        let plan = plan.map_err(|e| e.to_string())?;
        let schema = plan.schema();
        for (field, (name, _)) in schema.fields().iter().zip(&wanted.columns) {
            assert_eq!(field.name(), name);
        }
        let batches = collect(plan, Arc::default()).await.map_err(|e| e.to_string())?;
        Ok(concat_batches(&schema, &batches).unwrap())
    })
}

/// How many rows a scan of no columns gives.
fn rows(files: &[DataFile]) -> usize {
    rows_in(&TableData::Files(files.to_vec()))
}

fn rows_in(data: &TableData) -> usize {
    block_on(async {
        let plan = scan_data(data, &ReadRequest::default(), 2, &Arc::default()).await.unwrap();
        let batches = collect(plan, Arc::default()).await.unwrap();
        batches.iter().map(RecordBatch::num_rows).sum()
    })
}

fn read(path: &Path, columns: &[(&str, ColumnType)]) -> Result<RecordBatch, String> {
    let files = list_files(path.to_str().unwrap(), Path::new("")).map_err(|e| e.to_string())?;
    read_files(&files, columns, 1)
}

/// The only column of a file, as that type.
fn read_as(path: &Path, column: &str, to: ColumnType) -> ArrayRef {
    Arc::clone(read(path, &[(column, to)]).unwrap().column(0))
}

fn refused(path: &Path, column: &str, to: ColumnType) -> String {
    let text = read(path, &[(column, to)]).unwrap_err();
    assert!(text.contains("\n  hint: "), "{text}");
    assert!(text.contains(&format!("`{column}`")), "{text}");
    text
}

fn bools(array: &ArrayRef) -> Vec<Option<bool>> {
    let array: &BooleanArray = array.as_boolean();
    array.iter().collect()
}

fn ints(array: &ArrayRef) -> Vec<Option<i64>> {
    array.as_any().downcast_ref::<Int64Array>().unwrap().iter().collect()
}

fn digits(array: &ArrayRef) -> Vec<Option<i128>> {
    array.as_any().downcast_ref::<Decimal128Array>().unwrap().iter().collect()
}

/// The bits of floats, to tell −0 and NaN.
fn floats(array: &ArrayRef) -> Vec<Option<u64>> {
    let array = array.as_any().downcast_ref::<Float64Array>().unwrap();
    array.iter().map(|v| v.map(f64::to_bits)).collect()
}

fn strings(array: &ArrayRef) -> Vec<Option<&str>> {
    array.as_any().downcast_ref::<StringViewArray>().unwrap().iter().collect()
}

fn days(array: &ArrayRef) -> Vec<Option<i32>> {
    array.as_any().downcast_ref::<Date32Array>().unwrap().iter().collect()
}

fn micros(array: &ArrayRef) -> Vec<Option<i64>> {
    array.as_any().downcast_ref::<TimestampMicrosecondArray>().unwrap().iter().collect()
}

fn write_parquet(path: &Path, columns: &[(&str, ArrayRef)], properties: Option<WriterProperties>) {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(n, a)| (n, a.clone(), true)))
            .unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), properties).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A Parquet file with one column `x`.
fn one_column(folder: &tempfile::TempDir, array: impl Array + 'static) -> PathBuf {
    let path = folder.path().join("one.parquet");
    write_parquet(&path, &[("x", Arc::new(array))], None);
    path
}

fn write(folder: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    hushtable_testkit::write(folder.path(), name, bytes)
}

fn list(location: &str, base: &Path) -> Result<Vec<String>, SourceError> {
    let name = |f: DataFile| f.path.strip_prefix(base).unwrap().to_str().unwrap().to_owned();
    Ok(list_files(location, base)?.into_iter().map(name).collect())
}
