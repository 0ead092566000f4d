//! Parquet and Arrow from bytes that are in no file.

use bytes::Bytes as Memory;

use super::super::convert::{ReadType, StoredType};
use super::super::decoders::Bytes;
use super::super::ipc::ArrowFile;
use super::super::parquet::ParquetFile;
use super::super::stored::{ColumnPick, Source};
use super::super::{ReadProgress, SourceIdentity};
use super::arrow::{as_file, as_stream};
use super::*;

#[derive(Debug)]
struct InMemory(Memory);

impl Bytes for InMemory {
    type Reader = Memory;

    fn open(&self) -> std::io::Result<Memory> {
        Ok(self.0.clone())
    }

    fn identity(&self) -> std::io::Result<SourceIdentity> {
        Ok(identity())
    }

    fn path(&self) -> &Path {
        Path::new("memory")
    }
}

fn identity() -> SourceIdentity {
    SourceIdentity::File { path: "memory".into(), bytes: 1, modified_ns: 2 }
}

#[test]
fn sources_need_no_file() {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20_000));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(7_000)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let parquet = InMemory(writer.into_inner().unwrap().into());
    let halves = [batch.slice(0, 9_000), batch.slice(9_000, 11_000)];
    let sources: [(Box<dyn Source>, usize); 3] = [
        (Box::new(ParquetFile::open(parquet).unwrap()), 3),
        (Box::new(ArrowFile::open(InMemory(as_file(&halves).into())).unwrap()), 2),
        (Box::new(ArrowFile::open(InMemory(as_stream(&halves).into())).unwrap()), 1),
    ];
    for (source, chunks) in sources {
        assert_eq!((source.identity(), source.chunks().len()), (identity(), chunks));
        assert_eq!(source.columns()[0].name, "n");
        let pick = ColumnPick {
            index: 0,
            stored: StoredType::Int { unsigned_64: false },
            to: ReadType::Wide,
        };
        let picks = [ColumnPick { to: ReadType::Value(ColumnType::Int), ..pick }, pick];
        let (mut found, progress) = (Vec::new(), Arc::new(ReadProgress::default()));
        let expected: u64 = source.chunks().iter().sum();
        progress.expect(expected);
        for chunk in (0..chunks).rev() {
            let mut sink = |columns: Vec<ArrayRef>, rows: usize| {
                assert!(rows <= 8192 && columns.len() == 2);
                found.extend(ints(&columns[0]));
                true
            };
            source.read(chunk, &picks, &progress, &mut sink).unwrap();
        }
        found.sort();
        assert!(found.into_iter().eq((0..20_000).map(Some)));
        assert!(progress.permille() > 900, "{}", progress.permille());
        let mut nobody = |_: Vec<ArrayRef>, _: usize| panic!("there is no such part");
        assert!(source.read(chunks, &picks, &progress, &mut nobody).is_err());
    }
}
