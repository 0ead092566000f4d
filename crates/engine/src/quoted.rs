//! The price of a question, and what it promises.

use hushtable_ledger::Account;
use hushtable_plan::AutomaticLimit;
use hushtable_privacy::Loss;
use hushtable_quote::{
    ConsistentPrecision, Explanation, JointExplanation, LimitExplanation, MechanismsExplanation,
};

use crate::answer::Standing;

/// The price of a question, what it promises, and the accounts that would pay.
#[derive(Clone, Debug)]
pub struct QuestionQuote {
    /// The analyst who would pay.
    pub analyst: String,
    /// The private parts, each after those that it reads: one for a plain query, and one for each
    /// query of a workload.
    pub parts: Vec<PartQuote>,
    /// The SQL that is computed from their releases, at no cost; `None` where the answer is a
    /// release as it is.
    pub around: Option<String>,
    /// The precision of levels that are adjusted to each other.
    pub consistent: Vec<ConsistentPrecision>,
    /// The joint promise of all queries of a workload that one population pays for.
    pub together: Option<JointExplanation>,
    /// The accounts that would pay; the one of the population that the first part bounds is first.
    pub accounts: Vec<AccountQuote>,
    /// For a plain query that is to be charged, when its text was charged last and answered: about
    /// other data, or under another contract.
    pub answered_before: Option<String>,
}

/// One private part that is not charged yet.
#[derive(Clone, Debug)]
pub struct PartQuote {
    /// Its name: that of a workload's query, or of the released table in the SQL around.
    pub name: String,
    /// Its SQL.
    pub sql: String,
    /// Its share of the budget, relative to the others'; `None` where it has its own.
    pub weight: Option<u32>,
    /// The released values that it reads, each as `part.column`.
    pub reads: Vec<String>,
    /// The parts whose clipping report it is; none where it asks what the question asks.
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
    pub mechanisms: Vec<MechanismsExplanation>,
    /// The price of other limits on the groups of a unit.
    pub limits: Vec<LimitExplanation>,
    /// How it stands with the ledger: what is paid or on record is free.
    pub standing: Standing,
}

/// The analyst's budget on a population, and what a question takes of it.
#[derive(Clone, Debug)]
pub struct AccountQuote {
    /// The population.
    pub population: String,
    /// The loss of its units by all parts together.
    pub total: Loss,
    /// The account, as it stands.
    pub account: Account,
    /// The charge, in the account's currency: for the parts that are not paid for.
    pub charge: Loss,
}

impl QuestionQuote {
    /// The only part of a question that is one private query of one population, with the account
    /// that pays for it.
    pub fn plain(&self) -> Option<(&PartQuote, &AccountQuote)> {
        match (self.parts.as_slice(), self.accounts.as_slice()) {
            ([part], [account])
                if self.around.is_none() && self.together.is_none() && !part.is_histogram =>
            {
                Some((part, account))
            }
            _ => None,
        }
    }

    /// Whether nothing would be charged.
    pub fn is_free(&self) -> bool {
        self.accounts.iter().all(|account| account.charge == account.charge.nothing())
    }

    /// Whether every account has enough for it.
    pub fn is_affordable(&self) -> bool {
        self.accounts.iter().all(|account| account.left_after().is_some())
    }
}

impl AccountQuote {
    /// The rest of the budget after the charge; `None` where it does not suffice.
    pub fn left_after(&self) -> Option<Loss> {
        self.account.left.minus(self.charge)
    }
}
