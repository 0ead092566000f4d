//! Contents of the record: the question's identity, the released table, the statement.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use hushtable_lang::{ColumnType, MAX_KEY_BYTES, Refusal};
use hushtable_ledger::{Fingerprint, Release};
use hushtable_plan::PrivateQuery;
use hushtable_quote::{Explanation, GroupsExplanation, Quote};
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::release::NoisyGroups;
pub(crate) use crate::sealed::ENGINE;
use crate::source::Data;

/// The machine-readable record of what a release promises: enough for an outsider to check every
/// number in it, and nothing of the data but the release itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseStatement {
    /// Format of the statement.
    #[serde(rename = "release_statement")]
    pub format: u32,
    /// The version of the engine that made it.
    pub engine: String,
    /// The analyst who asked.
    pub analyst: String,
    /// The query as it was asked.
    pub sql: String,
    /// Hash of the checked query and its mechanisms; of nothing that the data's files have.
    pub question: String,
    /// Seconds since 1970-01-01 UTC.
    pub released_at: u64,
    /// The method that accounts for the total.
    pub accountant: String,
    /// Where the noise comes from.
    pub randomness: String,
    /// The promise, mechanism by mechanism.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The checked query, as it was run.
    pub query: PrivateQuery,
}

/// The part of a statement about the query that was asked.
#[derive(Deserialize)]
#[allow(dead_code, reason = "only whether it can be read is asked")]
struct Promise(PrivateQuery, Explanation);

/// The method that accounts for totals, in the words of statements.
pub(crate) const ACCOUNTANT: &str = "exact sums of epsilon, or of rho, and of delta";
/// Where noise comes from, as statements say it.
pub(crate) const RANDOMNESS: &str = "ChaCha20, seeded from the operating system";

/// Names the question in the statement: a hash of [`Quote::identity`].
///
/// # Errors
/// A refusal where a statement of it could not be read back: it is written after the charge, and
/// its release would be lost.
pub(crate) fn question(quote: &Quote, explanation: &Explanation) -> Result<String, EngineError> {
    let stated = serde_json::to_vec(&(quote.query(), explanation));
    let stated = stated.map_err(|_| {
        EngineError::inconsistent("a query and its explanation cannot be written as JSON")
    })?;
    if serde_json::from_slice::<serde_json::Value>(&stated).is_err() {
        return Err(EngineError::Refused(Refusal::new(
            "the query's expressions are nested too deep to be put on record",
            "nest CASE and functions less, or use computed columns in the contract",
        )));
    }
    serde_json::from_slice::<Promise>(&stated).map_err(|_| {
        EngineError::inconsistent("what a statement promises cannot be read back from its JSON")
    })?;
    let identity = quote
        .identity()
        .map_err(|_| EngineError::inconsistent("a quote's identity cannot be written as JSON"))?;
    Ok(blake3::hash(&identity).to_hex().to_string())
}

/// Names the family of a question: a hash of its leaf without its measurements.
///
/// # Errors
/// Only by a fault of this program.
pub(crate) fn family(query: &PrivateQuery) -> Result<String, EngineError> {
    let bytes = query
        .family_bytes()
        .map_err(|_| EngineError::inconsistent("the leaf of a query cannot be written as JSON"))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// Raised with every change of what a fingerprint is a hash of.
const FINGERPRINT_FORMAT: u32 = 1;

/// Identity of a question, kept in the ledger and nowhere else: sizes of files are as secret as the
/// number of their rows, and a hash of them can be guessed. The same question is the same query
/// with the same mechanisms, from the same analyst, on the same files: the same paths, sizes and
/// times of last change. A file that was written again counts as other data, whatever is in it.
/// Links in paths are resolved, so that it is the same question from every folder. Values in the
/// names of folders are those that the table has, as a link can have another name than its target.
pub(crate) fn fingerprint(
    analyst: &str,
    question: &str,
    data: &Data,
) -> Result<Fingerprint, EngineError> {
    let mut identities = Vec::with_capacity(data.len());
    for (table, data) in data {
        // Files are identified by their sizes and times: to hash them would read all of their
        // values before the charge.
        identities.push((table, data.identities()?));
    }
    let text =
        serde_json::to_vec(&(FINGERPRINT_FORMAT, analyst, question, identities)).map_err(|_| {
            EngineError::inconsistent("the identities of files cannot be written as JSON")
        })?;
    Ok(Fingerprint::new(*blake3::hash(&text).as_bytes()))
}

/// Contents of the statement beside the explanation.
pub(crate) struct AnalystQuestion<'a> {
    pub(crate) analyst: &'a str,
    pub(crate) sql: &'a str,
    pub(crate) question: String,
}

impl AnalystQuestion<'_> {
    /// The text of the statement, which follows from the question alone.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn stated(
        self,
        explanation: &Explanation,
        query: &PrivateQuery,
    ) -> Result<String, EngineError> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let statement = ReleaseStatement {
            format: 1,
            engine: ENGINE.to_owned(),
            analyst: self.analyst.to_owned(),
            sql: self.sql.to_owned(),
            question: self.question,
            released_at: now.map_or(0, |d| d.as_secs()),
            accountant: ACCOUNTANT.to_owned(),
            randomness: RANDOMNESS.to_owned(),
            explanation: explanation.clone(),
            query: query.clone(),
        };
        serde_json::to_string_pretty(&statement)
            .map_err(|_| EngineError::inconsistent("a statement cannot be written as JSON"))
    }
}

/// Most bytes for which room is made before a draw.
const MOST_ROOM: u64 = 64 << 20;

/// The bytes that a release takes in the ledger, by the query alone: those of its statement, and of
/// its rows where the query bounds their number.
pub(crate) fn room(statement: &str, explanation: &Explanation, query: &PrivateQuery) -> u64 {
    let rows = match explanation.groups {
        GroupsExplanation::Single => 1,
        GroupsExplanation::Public { groups, .. } => groups as u64,
        // The number of private groups follows from the data, and what is written before the draw
        // must not.
        GroupsExplanation::Private(_) => 0,
    };
    let width = |column_type| match column_type {
        ColumnType::String => MAX_KEY_BYTES as u64 + 8,
        _ => 24,
    };
    let columns = query.keys().iter().map(|key| width(key.expr.column_type));
    let columns: Vec<u64> =
        columns.chain(query.measurements().iter().map(|_| width(ColumnType::Int))).collect();
    let row: u64 = columns.iter().sum();
    let table = rows.saturating_mul(row) + 512 * columns.len() as u64 + 4096;
    // Pages are not filled to the end.
    let bytes = table.saturating_add(statement.len() as u64);
    bytes.saturating_add(bytes / 8).min(MOST_ROOM)
}

/// The release as the ledger keeps it: the keys of all groups and, after them, their measurements.
pub(crate) fn encode(released: &NoisyGroups, statement: String) -> Result<Release, EngineError> {
    let NoisyGroups { columns, groups } = released;
    let field = |(index, column): (usize, &ArrayRef)| {
        Field::new(format!("released {index}"), column.data_type().clone(), true)
    };
    let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
    let schema = Arc::new(Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(*groups));
    let whole = RecordBatch::try_new_with_options(schema, columns.clone(), &options)?;
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, whole.schema_ref())?;
    writer.write(&whole)?;
    writer.finish()?;
    drop(writer);
    Ok(Release { table: bytes, statement })
}

/// A release on record.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRelease {
    pub(crate) groups: NoisyGroups,
    /// The statement for whoever asked first.
    pub(crate) statement: ReleaseStatement,
}

/// The groups and statement of a release on record.
pub(crate) fn decode(release: &Release) -> Result<RecordedRelease, EngineError> {
    let unreadable = |_| EngineError::Record;
    let mut reader = StreamReader::try_new(release.table.as_slice(), None).map_err(unreadable)?;
    let batch = reader.next().ok_or(EngineError::Record)?.map_err(unreadable)?;
    let statement: ReleaseStatement =
        serde_json::from_str(&release.statement).map_err(|_| EngineError::Record)?;
    let groups = NoisyGroups { columns: batch.columns().to_vec(), groups: batch.num_rows() };
    Ok(RecordedRelease { groups, statement })
}
