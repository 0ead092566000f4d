//! Every error of the engine, word for word.

use std::path::PathBuf;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use hushtable_lang::ColumnType;

use crate::error::EngineError;
use crate::source::{LogKind, SourceError};

#[test]
fn errors_read_as_expected() {
    let path = || PathBuf::from("data/a.parquet");
    let table = || "visits".to_owned();
    let column = || "town".to_owned();
    let location = || "data/*".to_owned();
    let not_found = || std::io::Error::from_raw_os_error(2);
    let errors: Vec<EngineError> = vec![
        EngineError::ContractFile { path: "hushtable.toml".into(), error: not_found() },
        EngineError::NoAnalyst { table: table(), analysts: "ana, bo".to_owned() },
        EngineError::UnknownAnalyst {
            analyst: "eve".to_owned(),
            table: table(),
            analysts: "ana, bo".to_owned(),
        },
        EngineError::SharedFile { table: table(), other: "claims".to_owned(), path: path() },
        EngineError::Memory { limit: None },
        EngineError::Memory { limit: Some("4GiB".parse().unwrap()) },
        EngineError::ForeignPlan,
        EngineError::ForeignPartial,
        EngineError::RowsInProcess { table: table() },
        EngineError::DeepPlan,
        EngineError::of_backend(&std::io::ErrorKind::ConnectionReset.into()),
        EngineError::BrokenBackend { what: "it is one of a test" },
        EngineError::Interrupted,
        EngineError::Record,
        EngineError::inconsistent("a test has no result"),
        SourceError::NothingFound { location: location(), looked: "data/*".into() }.into(),
        SourceError::UnknownExtension { path: "a.txt".into() }.into(),
        SourceError::MixedFormats {
            location: location(),
            one: ("Parquet", path()),
            other: ("CSV", "b.csv".into()),
        }
        .into(),
        SourceError::BadPattern { location: "[".to_owned(), reason: "no end".to_owned() }.into(),
        SourceError::Unreadable { path: path(), reason: "Permission denied".to_owned() }.into(),
        SourceError::Damaged { path: path(), format: "Parquet" }.into(),
        SourceError::Changed { path: path() }.into(),
        SourceError::NoFiles.into(),
        SourceError::OtherColumns { batch: 2 }.into(),
        EngineError::SharedRows { table: "visits".to_owned(), other: "calls".to_owned() },
        EngineError::NoSuchTable {
            table: "visit".to_owned(),
            tables: vec!["calls".to_owned(), "visits".to_owned()],
        },
        SourceError::NoHeader { path: "a.csv".into() }.into(),
        SourceError::NoObjects { path: "a.jsonl".into() }.into(),
        SourceError::HeaderNotText { path: "a.csv".into(), encoding: "UTF-8" }.into(),
        SourceError::CsvSettingsForOther { path: path(), format: "Parquet" }.into(),
        SourceError::TableLog {
            location: location(),
            kind: LogKind::Iceberg,
            log: "data/metadata".into(),
        }
        .into(),
        SourceError::TableLog { location: location(), kind: LogKind::Hudi, log: ".hoodie".into() }
            .into(),
        SourceError::FolderColumn { path: "sex=f/a.csv".into(), column: column() }.into(),
        SourceError::DuplicateColumn { path: path(), column: column() }.into(),
        SourceError::DifferentColumns {
            without: path(),
            with: "b.parquet".into(),
            column: column(),
        }
        .into(),
        SourceError::MissingColumn { path: path(), column: column(), similar: None }.into(),
        SourceError::MissingColumn {
            path: path(),
            column: column(),
            similar: Some("Town".to_owned()),
        }
        .into(),
        SourceError::CannotBecome {
            path: path(),
            column: column(),
            file_type: "list".to_owned(),
            declared: ColumnType::Int,
            hint: "declare it as `string`".to_owned(),
        }
        .into(),
        SourceError::Internal { what: "planning a scan was interrupted" }.into(),
    ];
    let text = |error: &EngineError| match error {
        // The line in this file is no part of the wording.
        EngineError::Inconsistent(invariant) => {
            error.to_string().replace(&format!(":{})", invariant.noticed.line()), ":LINE)")
        }
        _ => error.to_string(),
    };
    let texts: Vec<String> = errors.iter().map(text).collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

/// A library's message about a value does not get out.
#[test]
fn library_messages_are_not_passed_on() {
    let secret = || "Ada Lovelace".to_owned();
    let errors: Vec<EngineError> = vec![
        DataFusionError::Execution(secret()).into(),
        DataFusionError::Context(secret(), Box::new(DataFusionError::Internal(secret()))).into(),
        DataFusionError::External(secret().into()).into(),
        DataFusionError::ResourcesExhausted(secret()).into(),
        DataFusionError::ArrowError(Box::new(ArrowError::CastError(secret())), Some(secret()))
            .into(),
        DataFusionError::Shared(std::sync::Arc::new(DataFusionError::Execution(secret()))).into(),
        ArrowError::ParseError(secret()).into(),
        ArrowError::ExternalError(secret().into()).into(),
        ArrowError::MemoryError(secret()).into(),
    ];
    for error in errors {
        assert!(!format!("{error}").contains("Ada"), "{error}");
    }
    // A reader's own error does, also where several partitions share it: it names files only.
    let shared = std::sync::Arc::new(DataFusionError::External(Box::new(SourceError::Damaged {
        path: "a.csv.gz".into(),
        format: "gzip",
    })));
    let keep = std::sync::Arc::clone(&shared);
    let error: EngineError = DataFusionError::Shared(shared).into();
    assert!(error.to_string().starts_with("`a.csv.gz` is damaged"), "{error}");
    drop(keep);
}
