//! Columns in the names of folders: `year=2024/country=PT/part-0.parquet`, as Hive and Spark write
//! them.

use std::path::{Component, Path};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::error::ArrowError;
use serde::{Deserialize, Serialize};

use super::DataFile;
use super::convert::ReadType;
use super::from_text::TextColumn;
use super::parse::ParsedField;

/// The text that Hive writes for NULL.
const NULL: &[u8] = b"__HIVE_DEFAULT_PARTITION__";

/// A value in the name of a folder: as secret as all values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderValue {
    /// The column.
    pub column: String,
    /// The text of the value; `None` for NULL.
    pub(super) text: Option<Vec<u8>>,
}

impl FolderValue {
    /// The value in `rows` rows; NULL in all of them where it does not convert, and its text then.
    pub(super) fn array(
        &self,
        to: ReadType,
        rows: usize,
    ) -> Result<(ArrayRef, Option<Vec<u8>>), ArrowError> {
        let mut column = TextColumn::new(to, &Arc::default(), 1);
        let unfit = column.push(self.text.as_deref()) == ParsedField::Unfit;
        let values = take(&column.finish()?, &UInt32Array::from_value(0, rows), None)?;
        Ok((values, self.text.clone().filter(|_| unfit)))
    }
}

/// The column in the name of a folder.
pub(super) fn folder_column(name: &str) -> Option<&str> {
    name.split_once('=').map(|(column, _)| column).filter(|column| !column.is_empty())
}

/// The values in the names of a file's folders below `named`.
pub(super) fn folder_values(path: &Path, named: &Path) -> Vec<FolderValue> {
    let depth =
        |path: &Path| path.components().filter(|component| *component != Component::CurDir).count();
    // Neither what is named nor the file itself.
    let folders = depth(path).saturating_sub(1);
    let below = path.components().filter(|component| *component != Component::CurDir).take(folders);
    let value = |component: Component<'_>| {
        let name = component.as_os_str().as_encoded_bytes();
        let equals = name.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
        let text = percent_decoded(&name[equals + 1..]);
        let text = (!text.is_empty() && text != NULL).then_some(text);
        let column = String::from_utf8_lossy(&percent_decoded(&name[..equals])).into_owned();
        Some(FolderValue { column, text })
    };
    below.skip(depth(named)).filter_map(value).collect()
}

/// The columns in the names of a file's folders, outermost first.
pub(super) fn columns_of(file: &DataFile) -> Vec<&str> {
    file.folders.iter().map(|value| value.column.as_str()).collect()
}

/// Bytes with `%2F` and the like replaced; a `%` without two digits after it stands for itself.
fn percent_decoded(mut bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    while let [first, rest @ ..] = bytes {
        let hex = |offset: usize| char::from(*rest.get(offset)?).to_digit(16);
        let coded = if *first == b'%' { hex(0).zip(hex(1)) } else { None };
        let coded = coded.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        decoded.push(coded.unwrap_or(*first));
        bytes = if coded.is_some() { &rest[2..] } else { rest };
    }
    decoded
}
