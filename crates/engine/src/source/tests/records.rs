//! Rows of CSV text, however it comes, and fields in quotes that do not end.

use std::io::Read;

use proptest::prelude::*;

use super::super::csv_rows::{CsvRecords, Limits};
use super::*;

/// Rows, each with its fields, how many there were, and the place of a field that had to end.
type FoundRecords = Vec<(Vec<Vec<u8>>, usize, Option<usize>)>;

/// Bytes that come in pieces of these sizes, again and again.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.sizes.next().unwrap();
        let (now, later) = self.bytes.split_at((*size).min(self.bytes.len()).min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.bytes = later;
        Ok(now.len())
    }
}

fn limits(columns: &[usize], others: usize) -> Limits {
    let names: Vec<String> = (0..columns.len()).map(|index| index.to_string()).collect();
    let texts: Vec<(String, usize)> = names.iter().cloned().zip(columns.iter().copied()).collect();
    let settings = CsvSettings::default().with_max_bytes(others).unwrap();
    Limits::of_rows(names.iter().map(String::as_str), &texts, &settings)
}

fn records(bytes: &[u8], sizes: &[usize], limits: &Limits, most: usize) -> FoundRecords {
    let input = Pieces { bytes, sizes: sizes.iter().cycle() };
    let mut records = CsvRecords::new(input, &CsvSettings::default(), limits, most);
    let mut found = Vec::new();
    while let Some(record) = records.next().unwrap() {
        let kept = record.fields().min(most);
        let fields = (0..kept).map(|at| record.field(at).unwrap_or_default().to_vec());
        found.push((fields.collect(), record.fields(), record.unclosed()));
    }
    found
}

/// The rows of a text, byte by byte.
fn model(bytes: &[u8], columns: &[usize], others: usize) -> FoundRecords {
    let mut found: FoundRecords = Vec::new();
    let (mut row, mut field): (Vec<Vec<u8>>, Vec<u8>) = Default::default();
    // Before a field, in one, in quotes, and behind a quote within these.
    let mut state = 's';
    for &byte in bytes {
        let line_end = byte == b'\n' || byte == b'\r';
        let most = columns.get(row.len()).copied().unwrap_or(others);
        match (state, byte) {
            ('s', _) if line_end && row.is_empty() => {}
            ('s', b'"') => state = 'q',
            ('q', b'"') => state = 'b',
            ('b', b'"') => {
                field.push(b'"');
                state = 'q';
            }
            ('q', _) if line_end && field.len() >= most => {
                field.extend([byte, 0xff]);
                row.push(std::mem::take(&mut field));
                let (fields, unclosed) = (row.len(), row.len() - 1);
                found.push((std::mem::take(&mut row), fields, Some(unclosed)));
                state = 's';
            }
            ('q', _) => field.push(byte),
            (_, b',') => {
                row.push(std::mem::take(&mut field));
                state = 's';
            }
            _ if line_end => {
                row.push(std::mem::take(&mut field));
                let fields = row.len();
                found.push((std::mem::take(&mut row), fields, None));
                state = 's';
            }
            _ => {
                field.push(byte);
                state = 'f';
            }
        }
    }
    if state != 's' || !row.is_empty() {
        row.push(field);
        let fields = row.len();
        found.push((row, fields, None));
    }
    found
}

/// Bytes of which most have a meaning in CSV.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::sample::select(&b"\"\"\"\n\n\r,,,ab\xff\xef\xbb\xbf"[..]);
    prop::collection::vec(bytes, 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The rows follow from the text and the limits, not from how the text comes.
    #[test]
    fn rows_are_the_same_in_all_pieces(
        bytes in text(),
        columns in prop::collection::vec(1usize..8, 0..4),
        others in prop::sample::select(&[1, 2, 5, 64, 1024][..]),
        sizes in prop::collection::vec(1usize..9, 1..6),
    ) {
        let expected = model(&bytes, &columns, others);
        let limits = limits(&columns, others);
        prop_assert_eq!(&records(&bytes, &sizes, &limits, usize::MAX), &expected);
        prop_assert_eq!(&records(&bytes, &[1], &limits, usize::MAX), &expected);
        prop_assert_eq!(&records(&bytes, &[1000], &limits, usize::MAX), &expected);
        // Fields that nobody asks for are counted, and change nothing.
        let fewer = expected.into_iter().map(|(mut fields, all, unclosed)| {
            fields.truncate(2);
            (fields, all, unclosed)
        });
        prop_assert_eq!(records(&bytes, &sizes, &limits, 2), fewer.collect::<FoundRecords>());
    }

    /// Where no field is too long, rows are what the `csv` crate says.
    #[test]
    fn short_fields_are_read_as_everywhere(
        bytes in text(),
        sizes in prop::collection::vec(1usize..9, 1..6),
    ) {
        let mut marked = b"x\n".to_vec();
        marked.extend(bytes);
        let mut builder = ::csv::ReaderBuilder::new();
        let reader = builder.has_headers(false).flexible(true).from_reader(&marked[..]);
        let expected: Vec<Vec<Vec<u8>>> = reader
            .into_byte_records()
            .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
            .collect();
        let found = records(&marked, &sizes, &limits(&[], 1024), usize::MAX);
        prop_assert_eq!(found.into_iter().map(|row| row.0).collect::<Vec<_>>(), expected);
    }
}

/// Every way to cut a small file in two or three.
#[test]
fn rows_are_the_same_wherever_the_text_is_cut() {
    let bytes = b"id,note\n1,\"ab\"\"c\r\nd\",\"x\n2,y\n3,z\n\"\n4,\"\n5,\"\"\r6,\"lo\nng\nlong\"";
    let limits = limits(&[4, 6], 4);
    let expected = model(bytes, &[4, 6], 4);
    assert!(expected.iter().any(|row| row.2.is_some()));
    for first in 1..bytes.len() {
        for second in 1..=bytes.len() - first {
            let found = records(bytes, &[first, second, bytes.len()], &limits, usize::MAX);
            assert_eq!(found, expected, "cut after {first} and {second} bytes");
        }
    }
}

/// Memory follows from the limits: not from how long a field or a row is.
#[test]
fn long_fields_and_rows_are_not_kept_whole() {
    let long = MAX_STRING_BYTES;
    let text = format!(
        "\"{}\",{}\n{},\"{}\n{}\n2,{}\n",
        "x".repeat(10 * long),
        "y".repeat(long),
        "z".repeat(long + 1),
        "\"\"".repeat(long),
        ",".repeat(1_000_000),
        ",".repeat(1_000_000),
    );
    let found = records(text.as_bytes(), &[70_001], &limits(&[long, 64], 64), 2);
    let lengths: Vec<Vec<usize>> =
        found.iter().map(|row| row.0.iter().map(Vec::len).collect()).collect();
    // The longest that is kept is too long for a text by a byte, or by two where a quote ends it.
    let most = long + 1;
    assert_eq!(lengths, [vec![most, long], vec![most, most + 1], vec![0, 0], vec![1, 0]]);
    assert_eq!(found.iter().map(|row| row.1).collect::<Vec<_>>(), [2, 2, 1_000_001, 1_000_002]);
    assert_eq!(found.iter().map(|row| row.2).collect::<Vec<_>>(), [None, Some(1), None, None]);
}
