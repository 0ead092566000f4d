//! Tables in memory, and others that a program provides.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::*;
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::arrow::{batch, columns};
use super::*;

/// The rows that are read of a table, as text, in some order.
fn rows_of(data: &TableData, wanted: &[(&str, ColumnType)]) -> Vec<String> {
    let found = read_data(data, wanted, 2).unwrap();
    let mut rows: Vec<String> =
        (0..found.num_rows()).map(|row| format!("{:?}", found.slice(row, 1))).collect();
    rows.sort();
    rows
}

fn provided(table: impl Provider + 'static) -> TableData {
    TableData::Provided(ProviderSource::new("t", Arc::new(table)).unwrap())
}

fn table(batches: &[RecordBatch]) -> MemoryTable {
    MemoryTable::new(batches[0].schema(), batches.to_vec()).unwrap()
}

#[test]
fn memory_holds_what_parquet_holds() {
    let folder = tempfile::tempdir().unwrap();
    let arrays: Vec<(&str, ArrayRef)> = columns().iter().map(|c| (c.0, c.1.clone())).collect();
    let wanted: Vec<(&str, ColumnType)> = columns().iter().map(|c| (c.0, c.2)).collect();
    let parquet = folder.path().join("t.parquet");
    write_parquet(&parquet, &arrays, None);
    let files = list_files(parquet.to_str().unwrap(), Path::new("")).unwrap();
    let expected = rows_of(&TableData::Files(files), &wanted);
    let all = batch(&arrays);
    let memory = table(&[all.slice(0, 2), all.slice(2, 3)]);
    assert_eq!(memory.rows(), 5);
    assert_eq!(rows_of(&provided(memory), &wanted), expected);
}

#[test]
fn every_type_that_can_be_declared_can_be_read_from_memory() {
    let mut tried = 0;
    for (name, array, declared) in columns() {
        let mut forms = vec![array.clone()];
        if declared == ColumnType::String && name != "nothing" {
            let texts = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
            forms.extend(texts.map(|data_type| cast(&array, &data_type).unwrap()));
        }
        if !matches!(array.data_type(), DataType::Dictionary(..)) {
            let keyed = |values: &ArrayRef| -> ArrayRef {
                let keys = Int16Array::from(vec![4, 3, 2, 1, 0]);
                Arc::new(DictionaryArray::try_new(keys, values.clone()).unwrap())
            };
            forms.extend(forms.iter().map(keyed).collect::<Vec<_>>());
        }
        let rows = |array: ArrayRef| {
            rows_of(&provided(table(&[batch(&[("c", array)])])), &[("c", declared)])
        };
        let expected = rows(array);
        for form in forms {
            tried += 1;
            let data_type = form.data_type().clone();
            assert_eq!(rows(form), expected, "{name}: {data_type}");
        }
    }
    assert_eq!(tried, 44);
}

/// A dictionary can have NULL among its values, which is none of its texts.
#[test]
fn null_in_a_dictionary_is_null() {
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
    let keys = Int16Array::from(vec![Some(0), Some(1), Some(2), None]);
    let keyed: ArrayRef = Arc::new(DictionaryArray::try_new(keys, values).unwrap());
    let batches = [batch(&[("c", keyed)])];
    let wanted = [("c", ColumnType::String)];
    let expected = [Some("a"), None, Some(""), None];
    let found = read_data(&provided(table(&batches)), &wanted, 1).unwrap();
    assert_eq!(strings(found.column(0)), expected);
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t.arrow", super::arrow::as_file(&batches));
    assert_eq!(strings(read(&path, &wanted).unwrap().column(0)), expected);
}

/// Memory is counted by what a batch has, and not by the whole table that it is a part of.
#[test]
fn large_batches_are_counted_in_pieces() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..300_000));
    let long = "x".repeat(100);
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..300_000).map(|n| format!("{long} {n}"))));
    let data = provided(table(&[batch(&[("n", numbers), ("t", texts)])]));
    let wanted = ReadRequest::columns(&named(&[("n", ColumnType::Int), ("t", ColumnType::String)]));
    let plan = block_on(async { scan_data(&data, &wanted, 1, &Arc::default()).await.unwrap() });
    let batches = block_on(async { collect(plan, Arc::default()).await.unwrap() });
    let largest = batches.iter().map(RecordBatch::get_array_memory_size).max().unwrap();
    assert!(largest < 4_000_000, "{largest}");
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 300_000);
}

/// Equal rows are the same table, however they are cut; any other value is another table.
#[test]
fn the_identity_is_that_of_the_values() {
    let arrays: Vec<(&str, ArrayRef)> = columns().iter().map(|c| (c.0, c.1.clone())).collect();
    let all = batch(&arrays);
    let identity = |batches: &[RecordBatch]| table(batches).identity();
    let whole = identity(std::slice::from_ref(&all));
    assert!(matches!(whole, RowsIdentity::Content(_)));
    for cut in 1..5 {
        assert_eq!(identity(&[all.slice(0, cut), all.slice(cut, 5 - cut)]), whole, "{cut}");
    }
    let empty = all.slice(0, 0);
    assert_eq!(identity(&[empty.clone(), all.clone(), empty.clone()]), whole);
    let mut others = vec![whole.clone(), identity(&[empty]), identity(&[all.slice(0, 4)])];
    let doubled = concat_batches(&all.schema(), [&all, &all]).unwrap();
    others.push(identity(&[doubled]));
    let reversed = UInt32Array::from(vec![4, 3, 2, 1, 0]);
    for column in 0..arrays.len() {
        // The rows of one column in another order; a NULL more; another name.
        let mut changed = arrays.clone();
        changed[column].1 = take(&arrays[column].1, &reversed);
        if arrays[column].0 != "nothing" {
            others.push(identity(&[batch(&changed)]));
        }
        let mut renamed = arrays.clone();
        renamed[column].0 = "other";
        others.push(identity(&[batch(&renamed)]));
    }
    for one in 0..others.len() {
        assert!(!others[one + 1..].contains(&others[one]), "{one}");
    }
    // One NULL more, and NULL elsewhere.
    let nulls = |values: [Option<i64>; 2]| {
        let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        identity(&[batch(&[("n", column)])])
    };
    let some = [[Some(1), Some(0)], [Some(1), None], [None, Some(1)], [None, None]].map(nulls);
    for one in 0..some.len() {
        assert!(!some[one + 1..].contains(&some[one]), "{one}");
    }
    // Equal bits of three types.
    let same_bits: [ArrayRef; 3] = [
        Arc::new(Int64Array::from(vec![1])),
        Arc::new(UInt64Array::from(vec![1])),
        Arc::new(TimestampMicrosecondArray::from(vec![1])),
    ];
    let [one, other, third] = same_bits.map(|column| identity(&[batch(&[("n", column)])]));
    assert!(one != other && other != third && third != one);
    // The bytes under a NULL are no value.
    let under = |value: i64| {
        let nulls = Some(vec![true, false].into());
        let column: ArrayRef = Arc::new(Int64Array::new(vec![1, value].into(), nulls));
        identity(&[batch(&[("n", column)])])
    };
    assert_eq!(under(7), under(8));
    // Neighbours that would join to the same bytes.
    let texts = |texts: [&str; 2]| {
        let column: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        identity(&[batch(&[("t", column)])])
    };
    assert_ne!(texts(["ab", "c"]), texts(["a", "bc"]));
    let large = "x".repeat(200_000);
    assert_ne!(texts([&large, "a"]), texts([&large, "b"]));
}

fn take(array: &ArrayRef, rows: &UInt32Array) -> ArrayRef {
    datafusion::arrow::compute::take(array, rows, None).unwrap()
}

#[test]
fn batches_of_other_columns_are_refused() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    let one = batch(&[("n", numbers.clone())]);
    for other in [batch(&[("n", texts)]), batch(&[("m", numbers)])] {
        let error = MemoryTable::new(one.schema(), [one.clone(), other]).unwrap_err();
        assert!(matches!(error, SourceError::OtherColumns { batch: 2 }), "{error}");
    }
}

/// Reads numbers that it makes, or does what a provider should not do.
#[derive(Debug, Default)]
struct Numbers {
    fault: Option<Fault>,
    /// Raised when the rows change.
    version: Arc<AtomicU64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    OtherType,
    MoreColumns,
    MovesWhileRead,
    Fails,
}

impl Provider for Numbers {
    fn identity(&self) -> RowsIdentity {
        RowsIdentity::Version(self.version.load(Ordering::Relaxed).to_string())
    }

    fn schema(&self) -> SchemaRef {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        // Each version has the columns in another order.
        Arc::new(Schema::new(match self.version.load(Ordering::Relaxed) % 2 {
            0 => vec![field("n"), field("square")],
            _ => vec![field("square"), field("n")],
        }))
    }

    fn chunks(&self) -> Vec<u64> {
        vec![100, 100]
    }

    fn read(
        &self,
        chunk: usize,
        columns: &[usize],
        each: &mut dyn FnMut(RecordBatch) -> bool,
    ) -> io::Result<()> {
        let schema = self.schema();
        let column = |name: &str| -> ArrayRef {
            let power = if name == "square" { 2 } else { 1 };
            let from = 10 * i64::try_from(chunk).unwrap();
            match self.fault {
                Some(Fault::OtherType) => Arc::new(StringArray::from(vec!["1"])),
                _ => {
                    Arc::new(Int64Array::from_iter_values((from..from + 10).map(|n| n.pow(power))))
                }
            }
        };
        let names = columns.iter().map(|&index| schema.field(index).name().clone());
        let mut arrays: Vec<(String, ArrayRef)> =
            names.map(|name| (name.clone(), column(&name))).collect();
        if self.fault == Some(Fault::MoreColumns) {
            arrays.push(("more".to_owned(), column("n")));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(10));
        let fields =
            arrays.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = arrays.iter().map(|(_, array)| array.clone()).collect();
        match self.fault {
            Some(Fault::OtherType) => {
                each(RecordBatch::try_new(schema, arrays).unwrap());
            }
            _ => {
                each(RecordBatch::try_new_with_options(schema, arrays, &options).unwrap());
            }
        }
        match self.fault {
            Some(Fault::Fails) => Err(io::Error::other("row 17 of Ada Lovelace is damaged")),
            Some(Fault::MovesWhileRead) => {
                self.version.fetch_add(2, Ordering::Relaxed);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn numbers(fault: Option<Fault>) -> TableData {
    provided(Numbers { fault, ..Numbers::default() })
}

const BOTH: [(&str, ColumnType); 2] = [("square", ColumnType::Int), ("n", ColumnType::String)];

#[test]
fn a_provider_of_a_program_is_read_like_a_file() {
    let found = read_data(&numbers(None), &BOTH, 3).unwrap();
    let mut squares = ints(found.column(0));
    squares.sort_unstable();
    assert!(squares.into_iter().eq((0..20).map(|n| Some(n * n))));
    assert!(strings(found.column(1)).contains(&Some("19")));
    // Rows count where no column is read.
    assert_eq!(rows_in(&numbers(None)), 20);
}

#[test]
fn a_provider_that_breaks_its_rules_is_an_error() {
    for (fault, expected) in [
        (Fault::OtherType, "the table `t` breaks its rules"),
        (Fault::MoreColumns, "the table `t` breaks its rules"),
        (Fault::MovesWhileRead, "changed while the query was at work"),
        (Fault::Fails, "other error"),
    ] {
        let error = read_data(&numbers(Some(fault)), &BOTH, 1).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("Ada"), "{fault:?}: {error}");
    }
    let missing = read_data(&numbers(None), &[("cube", ColumnType::Int)], 1);
    let error = missing.unwrap_err().to_string();
    assert!(error.contains("cube") && error.contains("table t"), "{error}");
}

/// Looked at again, a provider has its new rows and columns; read as it was, it is an error.
#[test]
fn a_provider_whose_rows_change_is_looked_at_anew() {
    let version = Arc::new(AtomicU64::new(0));
    let numbers = Numbers { fault: None, version: Arc::clone(&version) };
    let before = ProviderSource::new("t", Arc::new(numbers)).unwrap();
    version.store(1, Ordering::Relaxed);
    let after = TableData::Provided(before.renewed().unwrap());
    let before = TableData::Provided(before);
    assert!(!after.is_same(&before) && after.shares_rows_with(&before));
    let error = read_data(&before, &BOTH, 1).unwrap_err();
    assert!(error.contains("changed while"), "{error}");
    let squares = ints(read_data(&after, &BOTH, 1).unwrap().column(0));
    assert!(squares.contains(&Some(361)), "{squares:?}");
}
