//! Tables of several files, their schemas, and files of the world.

use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Int8Type};
use futures::StreamExt;
use hushtable_testkit::real;

use super::super::{FileColumn, file_schema};
use super::*;
use ColumnType::{Bool, Date, Float, Int, String as Text, Timestamp};

fn schema(folder: &Path) -> Result<Vec<FileColumn>, SourceError> {
    file_schema(&list_files(folder.to_str().unwrap(), Path::new("")).unwrap(), None)
}

fn column(name: &str, column_type: Option<ColumnType>, file_type: &str) -> FileColumn {
    FileColumn { name: name.to_owned(), column_type, file_type: file_type.to_owned() }
}

/// Columns of every kind, in `rows` rows.
fn every_kind(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let list = |data| Arc::new(Field::new_list_field(data, true));
    let fields = Fields::from(vec![Field::new("x", DataType::Int32, true)]);
    let money = Decimal128Array::new_null(rows).with_precision_and_scale(12, 2).unwrap();
    let stamp = TimestampMillisecondArray::new_null(rows).with_timezone("UTC");
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    (0..rows).for_each(|_| map.append(false).unwrap());
    vec![
        ("list", new_null_array(&DataType::List(list(DataType::Utf8)), rows)),
        ("struct", new_null_array(&DataType::Struct(fields), rows)),
        ("map", Arc::new(map.finish())),
        ("flag", Arc::new(BooleanArray::new_null(rows))),
        ("count", Arc::new(UInt16Array::new_null(rows))),
        ("money", Arc::new(money)),
        (
            "tiny",
            Arc::new(Decimal128Array::new_null(rows).with_precision_and_scale(30, 20).unwrap()),
        ),
        ("real", Arc::new(Float32Array::new_null(rows))),
        ("text", Arc::new(StringArray::new_null(rows))),
        (
            "code",
            new_null_array(
                &DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
                rows,
            ),
        ),
        ("raw", Arc::new(BinaryArray::new_null(rows))),
        ("day", Arc::new(Date32Array::new_null(rows))),
        ("at", Arc::new(stamp)),
        ("clock", Arc::new(Time64MicrosecondArray::new_null(rows))),
        ("nothing", Arc::new(NullArray::new(rows))),
    ]
}

#[test]
fn every_kind_of_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_parquet(&path, &every_kind(3), None);
    let expected = [
        column("list", None, "list"),
        column("struct", None, "struct"),
        column("map", None, "map"),
        column("flag", Some(Bool), "boolean"),
        column("count", Some(Int), "uint16"),
        column("money", Some(decimal(2)), "decimal(12, 2)"),
        column("tiny", Some(Float), "decimal(30, 20)"),
        column("real", Some(Float), "float32"),
        column("text", Some(Text), "string"),
        column("code", Some(Text), "string"),
        column("raw", None, "binary"),
        column("day", Some(Date), "date"),
        column("at", Some(Timestamp), "timestamp(ms, UTC)"),
        column("clock", None, "time"),
        column("nothing", Some(Text), "null"),
    ];
    assert_eq!(schema(folder.path()).unwrap(), expected);
    // Values, their number and statistics make no difference.
    write_parquet(&path, &every_kind(0), None);
    assert_eq!(schema(folder.path()).unwrap(), expected);

    write_parquet(&path, &every_kind(3), None);
    for found in &expected {
        match found.column_type {
            Some(to) => assert_eq!(read_as(&path, &found.name, to).null_count(), 3),
            None => {
                let text = refused(&path, &found.name, Text);
                assert!(text.contains(&found.file_type), "{text}");
            }
        }
    }
    assert!(refused(&path, "tiny", decimal(18)).contains("`float`"));
    assert_eq!(read_as(&path, "tiny", Float).len(), 3);
}

#[test]
fn csv_schemas_do_not_look_at_values() {
    let folder = tempfile::tempdir().unwrap();
    let expected = [column("a", Some(Text), "text"), column(" b", Some(Text), "text")];
    for rows in ["", "1,2\n", "x,\"y\n", "\u{0}"] {
        write(&folder, "t.csv", format!("a, b,,\n{rows}"));
        assert_eq!(schema(folder.path()).unwrap(), expected);
    }
    let path = folder.path().join("t.csv");
    assert!(refused(&path, "b", Text).contains("it has ` b`"));
    assert!(refused(&path, "A", Text).contains("it has `a`"));
    assert!(!refused(&path, "c", Text).contains("it has"));
    write(&folder, "t.csv", "a,b,a\n");
    assert!(matches!(schema(folder.path()), Err(SourceError::DuplicateColumn { .. })));
}

#[test]
fn awkward_column_names() {
    let names = ["a.b", "A B", "a", "A", "\"q\"", "`t`", "x,y", "select", "é", "a[0]", "'s'"];
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<(&str, ArrayRef)> = names
        .iter()
        .enumerate()
        .map(|(i, name)| (*name, Arc::new(Int32Array::from(vec![i as i32])) as ArrayRef))
        .collect();
    let path = folder.path().join("t.parquet");
    write_parquet(&path, &values, None);
    let header = names.map(|name| format!("\"{}\"", name.replace('"', "\"\""))).join(",");
    let numbers = (0..names.len()).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let csv = write(&folder, "t.csv", format!("{header}\n{numbers}\n"));
    let mut asked: Vec<_> = names.iter().map(|name| (*name, Int)).collect();
    asked.reverse();
    for path in [path, csv] {
        let batch = read(&path, &asked).unwrap();
        for (index, array) in batch.columns().iter().rev().enumerate() {
            assert_eq!(ints(array), [Some(index as i64)]);
        }
    }
}

#[test]
fn files_that_differ() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, columns: &[(&str, ArrayRef)]| {
        write_parquet(&folder.path().join(name), columns, None);
    };
    let number = |v: i32| Arc::new(Int32Array::from(vec![v])) as ArrayRef;
    let coded = vec![Some("2")].into_iter().collect::<DictionaryArray<Int8Type>>();
    let money = Decimal128Array::from(vec![350]).with_precision_and_scale(9, 2).unwrap();
    file("1.parquet", &[("x", number(1)), ("y", number(10))]);
    file("2.parquet", &[("y", Arc::new(Int64Array::from(vec![20]))), ("x", Arc::new(coded))]);
    let types = schema(folder.path()).unwrap();
    assert_eq!(types[0], column("x", Some(Text), "int32 / string"));
    assert_eq!(types[1], column("y", Some(Int), "int32 / int64"));
    file("3.parquet", &[("x", Arc::new(money)), ("y", Arc::new(NullArray::new(1)))]);
    let files = list_files(".", folder.path()).unwrap();
    assert_eq!(file_schema(&files, None).unwrap()[0].column_type, None);
    for partitions in [1, 2, 7] {
        let batch = read_files(&files, &[("x", decimal(2)), ("y", Int)], partitions).unwrap();
        let mut rows: Vec<_> =
            digits(batch.column(0)).into_iter().zip(ints(batch.column(1))).collect();
        rows.sort_unstable();
        assert_eq!(rows, [(Some(100), Some(10)), (Some(200), Some(20)), (Some(350), None)]);
    }
    let text = read_files(&files, &[("x", Int)], 2).unwrap_err();
    assert!(text.contains("3.parquet") && text.contains("declare it as `decimal(2)`"), "{text}");

    for extra in
        [vec![("x", number(1))], vec![("x", number(1)), ("y", number(1)), ("z", number(1))]]
    {
        file("4.parquet", &extra);
        let text = schema(folder.path()).unwrap_err().to_string();
        assert!(text.contains("4.parquet") && text.contains("1.parquet"), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "1.csv", "a,b\n1,2\n");
    write(&folder, "2.csv", "b,a\n2,1\n");
    let files = list_files("*.csv", folder.path()).unwrap();
    let batch = read_files(&files, &[("b", Int), ("a", Int)], 4).unwrap();
    assert_eq!(ints(batch.column(0)), [Some(2), Some(2)]);
    write(&folder, "3.csv", "b,c\n");
    assert!(matches!(schema(folder.path()), Err(SourceError::DifferentColumns { .. })));
}

/// Row groups, batches, files and partitions make no difference, and a table can be read twice.
#[test]
fn however_it_is_cut() {
    let rows = 30_000;
    let text = (0..rows).map(|i| (i % 7 != 0).then(|| format!("value {}", i % 1000)));
    let text: ArrayRef = Arc::new(StringArray::from_iter(text));
    let number: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    let mut expected: Option<Vec<_>> = None;
    for (group, partitions) in [(100_000, 1), (100_000, 4), (1000, 1), (1000, 3), (7001, 64)] {
        let folder = tempfile::tempdir().unwrap();
        for (name, start, end) in
            [("a", 0, 12_345), ("b b", 12_345, 12_345), ("c.pq", 12_345, rows)]
        {
            let slice = |array: &ArrayRef| array.slice(start as usize, (end - start) as usize);
            let properties =
                WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
            write_parquet(
                &folder.path().join(format!("{name}.parquet")),
                &[("t", slice(&text)), ("n", slice(&number))],
                Some(properties),
            );
        }
        let files = list_files(".", folder.path()).unwrap();
        let batch = read_files(&files, &[("n", Int), ("t", Text)], partitions).unwrap();
        let strings = strings(batch.column(1)).into_iter().map(|s| s.map(str::to_owned));
        let mut found: Vec<_> = ints(batch.column(0)).into_iter().zip(strings).collect();
        found.sort();
        assert_eq!(found.len(), rows as usize);
        assert!(*expected.get_or_insert_with(|| found.clone()) == found);

        assert_eq!(super::rows(&files), rows as usize);
        block_on(async {
            let wanted = ReadRequest::columns(&named(&[("n", Int)]));
            let plan = scan(&files, &wanted, partitions, &Arc::default()).await.unwrap();
            // A plan runs as often as it is asked to, and stops when nobody listens.
            for _ in 0..2 {
                let all = collect(Arc::clone(&plan), Arc::default()).await.unwrap();
                let seen: usize = all.iter().map(RecordBatch::num_rows).sum();
                assert_eq!(seen, rows as usize);
                let mut first = plan.execute(0, Arc::default()).unwrap();
                assert!(first.next().await.unwrap().unwrap().num_rows() > 0);
            }
        });
    }
}

#[test]
fn files_of_the_world() {
    let Some(file) = real("ppp2020_georgia_partial.csv.gz") else { return };
    let folder = file.parent().unwrap();
    let files = list_files("ppp2020_georgia_partial.csv.gz", folder).unwrap();
    let names: Vec<_> = file_schema(&files, None).unwrap().into_iter().map(|c| c.name).collect();
    assert_eq!(names[..4], ["Date", "BusinessType", "NonProfit", "NAICS"]);
    let asked = [("Date", Date), ("NAICS", Int), ("Jobs", Int), ("Amount", decimal(2))];
    let batch = read_files(&files, &asked, 2).unwrap();
    assert_eq!(batch.num_rows(), 79_760);
    assert_eq!(batch.column(0).null_count(), 0);
    assert_eq!(batch.column(3).null_count(), 0);

    let files = list_files("reddit_posts_domains.parquet", folder).unwrap();
    let columns = file_schema(&files, None).unwrap();
    println!("{columns:?}");
    let asked: Vec<_> =
        columns.iter().filter_map(|c| Some((c.name.as_str(), c.column_type?))).collect();
    let batch = read_files(&files, &asked, 2).unwrap();
    assert_eq!(batch.num_rows(), 2_260_510);
    for array in batch.columns() {
        assert!(array.null_count() < 2_260_510);
    }
}
