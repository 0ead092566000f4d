//! A part with limits that are chosen privately: its rows are bound once, and its clauses are bound
//! with the limits that were chosen in the place of the examples.

use hushtable_lang::{Expr, PreparedPatterns, Refusal};
use sqlparser::ast;

use crate::bind::options::Options;
use crate::bind::view::View;
use crate::bind::{ChosenLimits, PrivateQuery, clauses};

/// A part whose limits are open.
#[derive(Debug)]
pub(super) struct OpenLimits {
    query: ast::Query,
    view: View,
    conditions: Vec<Expr>,
    options: Options,
    /// The query with examples of its limits, before its budget is known.
    example: PrivateQuery,
}

impl OpenLimits {
    /// The limits of the query that `bound` is with examples of them.
    pub(super) fn new(
        query: &ast::Query,
        (view, conditions): (View, Vec<Expr>),
        options: Options,
        bound: &PrivateQuery,
    ) -> Self {
        let (query, example) = (query.clone(), bound.clone());
        Self { query, view, conditions, options, example }
    }

    /// The query with these limits, at the price of its example.
    ///
    /// # Errors
    /// When it is refused with them.
    pub(super) fn query(&self, limits: &ChosenLimits) -> Result<PrivateQuery, Refusal> {
        let options = Options { chosen: limits.clone(), ..self.options.clone() };
        let bind = || {
            let select = clauses::check(&self.query)?;
            clauses::bind(&self.query, select, &self.view, self.conditions.clone(), &options)
        };
        let (query, _) = PreparedPatterns::default().within(bind)?.numbered()?;
        if query.automatic.is_none() { Ok(query) } else { Err(unchosen()) }
    }

    /// The clipping report of the query with these limits, in the columns of its example's.
    ///
    /// # Errors
    /// When the query or its report is refused with them.
    pub(super) fn report(&self, limits: &ChosenLimits) -> Result<PrivateQuery, Refusal> {
        self.query(limits)?.report_of_chosen(&self.example)?.ok_or_else(unchosen)
    }
}

fn unchosen() -> Refusal {
    Refusal::fault("a part has limits that are still to be chosen")
}
