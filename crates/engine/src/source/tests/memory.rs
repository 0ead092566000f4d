//! Tables in memory, and others that a program provides.

use std::io;

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
    TableData::Provided(Provided::new("t", Arc::new(table)))
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
    let keyed = |values: DataType| DataType::Dictionary(Box::new(DataType::Int16), values.into());
    for (name, array, declared) in columns() {
        let mut types = vec![array.data_type().clone(), keyed(array.data_type().clone())];
        if declared == ColumnType::String && name != "nothing" {
            types.extend([DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View]);
            types.extend([keyed(DataType::LargeUtf8), keyed(DataType::Utf8View)]);
        }
        for data_type in types {
            let Ok(array) = cast(&array, &data_type) else { continue };
            let data = provided(table(&[batch(&[("c", array)])]));
            assert_eq!(rows_of(&data, &[("c", declared)]).len(), 5, "{name}: {data_type}");
        }
    }
}

/// Equal rows are the same table, however they are cut; any other value is another table.
#[test]
fn the_identity_is_that_of_the_values() {
    let arrays: Vec<(&str, ArrayRef)> = columns().iter().map(|c| (c.0, c.1.clone())).collect();
    let all = batch(&arrays);
    let identity = |batches: &[RecordBatch]| table(batches).identity();
    let whole = identity(std::slice::from_ref(&all));
    assert!(matches!(whole, Identity::Content(_)));
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
    // What lies under a NULL is no value.
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
#[derive(Debug)]
struct Numbers {
    fault: Option<Fault>,
    asked: std::sync::atomic::AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    OtherType,
    FewerColumns,
    Moves,
    Fails,
}

impl Provider for Numbers {
    fn identity(&self) -> Identity {
        let asked = self.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let moves = self.fault == Some(Fault::Moves);
        Identity::Version(format!("snapshot {}", if moves { asked } else { 0 }))
    }

    fn schema(&self) -> SchemaRef {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        Arc::new(Schema::new(vec![field("n"), field("square")]))
    }

    fn parts(&self) -> Vec<u64> {
        vec![100, 100]
    }

    fn read(
        &self,
        part: usize,
        columns: &[usize],
        each: &mut dyn FnMut(RecordBatch) -> bool,
    ) -> io::Result<()> {
        let column = |power: u32| -> ArrayRef {
            let of = |n: i64| n.pow(power);
            let from = 10 * i64::try_from(part).unwrap();
            match self.fault {
                Some(Fault::OtherType) => Arc::new(StringArray::from(vec!["1"])),
                _ => Arc::new(Int64Array::from_iter_values((from..from + 10).map(of))),
            }
        };
        let powers = columns.iter().map(|&place| u32::try_from(place).unwrap() + 1);
        let mut arrays: Vec<(String, ArrayRef)> =
            powers.map(|power| (format!("c{power}"), column(power))).collect();
        if self.fault == Some(Fault::FewerColumns) {
            arrays.push(("more".to_owned(), column(1)));
        }
        each(RecordBatch::try_from_iter(arrays).unwrap());
        match self.fault {
            Some(Fault::Fails) => Err(io::Error::other("the connection was lost")),
            _ => Ok(()),
        }
    }
}

fn numbers(fault: Option<Fault>) -> TableData {
    provided(Numbers { fault, asked: 0.into() })
}

#[test]
fn a_provider_of_a_program_is_read_like_a_file() {
    let wanted = [("square", ColumnType::Int), ("n", ColumnType::String)];
    let found = read_data(&numbers(None), &wanted, 3).unwrap();
    let mut squares = ints(found.column(0));
    squares.sort_unstable();
    assert!(squares.into_iter().eq((0..20).map(|n| Some(n * n))));
    assert!(strings(found.column(1)).contains(&Some("19")));
}

#[test]
fn a_provider_that_breaks_its_rules_is_an_error() {
    let wanted = [("square", ColumnType::Int), ("n", ColumnType::String)];
    for (fault, expected) in [
        (Fault::OtherType, "another type than planned"),
        (Fault::FewerColumns, "another type than planned"),
        (Fault::Moves, "was written while"),
        (Fault::Fails, "the connection was lost"),
    ] {
        let error = read_data(&numbers(Some(fault)), &wanted, 1).unwrap_err().to_string();
        assert!(error.contains(expected), "{fault:?}: {error}");
    }
    let missing = read_data(&numbers(None), &[("cube", ColumnType::Int)], 1);
    let error = missing.unwrap_err().to_string();
    assert!(error.contains("cube") && error.contains("table t"), "{error}");
}
