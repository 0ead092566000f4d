//! Where the parts of a statement come from: a text in SQL, the queries of a workload, or columns
//! whose bounds are to be learnt.

use hushtable_contract::{ContractError, Population};
use hushtable_lang::Refusal;
use hushtable_plan::{Learning, SqlStatement, Workload};
use hushtable_privacy::Loss;

use crate::error::EngineError;
use crate::session::payer;

/// A question as it was asked.
pub(crate) enum QuestionOrigin {
    /// A statement.
    Sql(String),
    /// A workload, each query of which is a part.
    Workload(Box<Workload>),
    /// Columns whose bounds are to be learnt, each of which is a part.
    Learning(Box<Learning>),
}

impl QuestionOrigin {
    /// The text of the statement; of a workload none.
    pub(crate) fn sql(&self) -> Option<&str> {
        match self {
            Self::Sql(sql) => Some(sql),
            Self::Workload(_) | Self::Learning(_) => None,
        }
    }

    /// The number of parts that the precision of each part's values is to hold for together.
    pub(crate) fn parts_together(&self, statement: &SqlStatement) -> usize {
        match self {
            Self::Sql(_) => statement.parts.len(),
            // Each table is for readers of its own.
            Self::Workload(_) | Self::Learning(_) => 1,
        }
    }

    /// Whether each part is an answer by itself.
    pub(crate) fn has_answer_for_each(&self) -> bool {
        matches!(self, Self::Workload(_) | Self::Learning(_))
    }

    /// How the tables of a workload are adjusted to each other, in the words of its file.
    pub(crate) fn consistent(&self) -> Option<&'static str> {
        let Self::Workload(workload) = self else { return None };
        workload
            .consistent
            .map(|fitting| if fitting.non_negative { "non_negative" } else { "true" })
    }

    /// The analyst whose budget on a population pays, and that budget.
    pub(crate) fn payer(
        &self,
        population: &Population,
        analyst: Option<&str>,
    ) -> Result<(String, Loss), EngineError> {
        let Self::Workload(workload) = self else { return payer(population, analyst) };
        let analyst = analyst.or(workload.analyst.as_deref());
        let (analyst, limit) =
            payer(population, analyst).map_err(|error| no_analyst(workload, error))?;
        if let (Loss::Concentrated { .. }, Loss::Approximate { .. }) = (workload.loss, limit) {
            return Err(EngineError::Contract(in_rho(workload, &analyst, population, limit)));
        }
        Ok((analyst, limit))
    }

    /// An error about a query of a workload, with its place in the file.
    pub(crate) fn error_of(&self, query: usize, error: EngineError) -> EngineError {
        let Self::Workload(workload) = self else { return error };
        match workload.queries.get(query) {
            Some(query) => EngineError::InWorkload {
                file: workload.file.clone(),
                line: query.line,
                query: query.name.clone(),
                error: Box::new(error),
            },
            None => error,
        }
    }

    /// A refusal that is about all parts together.
    pub(crate) fn refused(&self, refusal: Refusal) -> EngineError {
        match self {
            Self::Sql(sql) => refusal.within(sql).into(),
            Self::Workload(_) | Self::Learning(_) => self.error_of(0, refusal.into()),
        }
    }
}

/// The error of a workload in rho whose budget is in epsilon.
fn in_rho(
    workload: &Workload,
    analyst: &str,
    population: &Population,
    limit: Loss,
) -> ContractError {
    ContractError {
        file: workload.file.clone(),
        line: 1,
        what: format!(
            "the workload's budget is in rho, but the budget of analyst `{analyst}` on `{}` is \
             in epsilon ({limit}), and a loss in rho cannot be paid from it",
            population.name
        ),
        hint: "give epsilon in place of rho at the top, or ask the owner of the data for a \
               budget in rho"
            .to_owned(),
    }
}

/// Where no analyst is given who could pay, the workload is the place to name one.
fn no_analyst(workload: &Workload, error: EngineError) -> EngineError {
    match error {
        EngineError::NoAnalyst { table, analysts } => EngineError::Contract(ContractError {
            file: workload.file.clone(),
            line: 1,
            what: format!("no analyst given: `{table}` has budgets of {analysts}"),
            hint: "give analyst = \"NAME\" at the top of the workload".to_owned(),
        }),
        error => error,
    }
}
