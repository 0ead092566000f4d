//! Quotes and records of statements of several parts.

mod clipped_shares;

use hushtable_ledger::Account;
use hushtable_privacy::Loss;
use hushtable_query::{
    AutomaticLimit, ConsistentPrecision, Explanation, LimitExplained, MechanismsExplained,
};
use serde::{Deserialize, Serialize};

pub use self::clipped_shares::{ClippedShare, ClippingReport};
use crate::answer::Standing;
use crate::record::{ACCOUNTANT, ENGINE, RANDOMNESS, Statement};

/// The cost of a statement, and the accounts that would pay.
#[derive(Clone, Debug)]
pub struct StatementQuoted {
    /// The analyst who would pay.
    pub analyst: String,
    /// The private parts, each after those that it reads.
    pub parts: Vec<StatementPartQuoted>,
    /// The SQL that is computed from their releases, at no cost.
    pub around: Option<String>,
    /// The precision of levels that are adjusted to each other.
    pub consistent: Vec<ConsistentPrecision>,
    /// The accounts that would pay.
    pub accounts: Vec<AccountQuoted>,
}

/// One private part of a statement that is not asked yet.
#[derive(Clone, Debug)]
pub struct StatementPartQuoted {
    /// The name of its released table.
    pub name: String,
    /// Its SQL.
    pub sql: String,
    /// Its share of the statement's budget, relative to the others'; `None` where it has its own.
    pub weight: Option<u32>,
    /// The released values that it reads, each as `part.column`.
    pub reads: Vec<String>,
    /// The parts whose clipping report it is; none where it asks what the statement asks.
    pub report_of: Vec<String>,
    /// The parts from which its limits are chosen.
    pub limits_from: Vec<String>,
    /// Whether limits of another part are chosen from it.
    pub is_histogram: bool,
    /// The part whose release it shows in another way, at no cost.
    pub same_as: Option<String>,
    /// The limits that are chosen, and the examples of them that the explanation has.
    pub automatic: Vec<AutomaticLimit>,
    /// Its promise by itself.
    pub explanation: Explanation,
    /// The mechanisms that there are for sums that are not clamped, side by side.
    pub mechanisms: Vec<MechanismsExplained>,
    /// The price of other limits on the groups of a unit.
    pub limits: Vec<LimitExplained>,
    /// Whether it is paid for.
    pub standing: Standing,
}

/// The analyst's budget on a population, and what a statement takes of it.
#[derive(Clone, Debug)]
pub struct AccountQuoted {
    /// The population.
    pub population: String,
    /// The cost of the statement's parts there together.
    pub total: Loss,
    /// The account, as it stands.
    pub account: Account,
    /// The charge, in its currency: for the parts that are not paid for.
    pub charge: Loss,
}

/// A charge to an account.
#[derive(Clone, Debug)]
pub struct AccountCharge {
    /// The population.
    pub population: String,
    /// The charge; `None` where all was paid for before.
    pub charged: Option<Loss>,
    /// The account after that.
    pub account: Account,
}

/// The machine-readable record of what all releases of a statement promise. It follows from the
/// statement and those alone, so that it is the same however often it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementOfParts {
    /// Format of the record.
    #[serde(rename = "statement_of_parts")]
    pub format: u32,
    /// The version of the engine that made it.
    pub engine: String,
    /// The analyst who asked.
    pub analyst: String,
    /// The statement as it was asked.
    pub sql: String,
    /// The accountant of the totals.
    pub accountant: String,
    /// Where the noise comes from.
    pub randomness: String,
    /// The cost of all parts together, by population.
    pub totals: Vec<PopulationTotal>,
    /// The private parts.
    pub parts: Vec<PartStated>,
    /// The SQL that is computed from their releases.
    pub around: Option<String>,
    /// The released shares that limits cut off, where the statement asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clipping_reports: Vec<ClippingReport>,
}

/// The cost of the parts of one population together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopulationTotal {
    /// The population.
    pub population: String,
    /// The most that its units lose.
    pub total: Loss,
}

/// One part with its statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartStated {
    /// The name of its released table.
    pub name: String,
    /// Its share of the statement's budget, relative to the others'; `None` where it has its own.
    pub weight: Option<u32>,
    /// The released values that it reads, each as `part.column`.
    pub reads: Vec<String>,
    /// The parts whose clipping report it is; none where it asks what the statement asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report_of: Vec<String>,
    /// The parts from which its limits were chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits_from: Vec<String>,
    /// Whether limits of another part were chosen from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_histogram: bool,
    /// The part whose release it shows in another way, at no cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// Its promise by itself.
    pub statement: Statement,
}

pub(crate) fn statement(
    analyst: String,
    sql: String,
    totals: Vec<PopulationTotal>,
    parts: Vec<PartStated>,
    around: Option<String>,
) -> StatementOfParts {
    StatementOfParts {
        format: 1,
        engine: ENGINE.to_owned(),
        analyst,
        sql,
        accountant: ACCOUNTANT.to_owned(),
        randomness: RANDOMNESS.to_owned(),
        totals,
        parts,
        around,
        clipping_reports: Vec::new(),
    }
}
