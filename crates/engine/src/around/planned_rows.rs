//! Rows of a plan: where the columns of a node of the tree are in it, and what stands beside them.

use datafusion::common::{Column, Result};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr as Planned, LogicalPlan};
use hushtable_plan::around_tree::Operand;

use crate::invariant::Invariant;

/// A plan, and where the columns of its node are in it.
#[derive(Clone)]
pub(super) struct PlannedRows {
    pub(super) plan: LogicalPlan,
    pub(super) columns: Vec<Column>,
    /// The column with the cells of each column, if there is one.
    pub(super) cells: Vec<Option<Column>>,
    /// The columns with the cells of the operands of each column, if it is an expression over
    /// released values.
    pub(super) operands: Vec<Option<Vec<Column>>>,
    /// In a sub-query, the columns with the row of its [`Domain`] that each row is for.
    pub(super) domain: Vec<Column>,
    /// The sub-queries of expressions over these rows, and what each comes to.
    pub(super) attached: Vec<(Operand, Planned)>,
}

/// The hidden columns that a plan has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenColumns {
    /// None: its values are compared, or stand in an expression.
    Without,
    /// The cells of its columns.
    Cells,
    /// The cells of operands, too: its columns are those of the result.
    Operands,
}

pub(super) fn broken(what: &'static str) -> DataFusionError {
    Invariant::new(what).into()
}

impl PlannedRows {
    pub(super) fn column(&self, index: usize) -> Result<&Column> {
        self.columns.get(index).ok_or_else(|| broken("SQL around parts reads a column it lacks"))
    }

    /// These columns in a plan that hands them on.
    pub(super) fn within(self, plan: LogicalPlan) -> Self {
        Self { plan, ..self }
    }

    /// The columns of a plan that are not followed back.
    pub(super) fn new(plan: LogicalPlan, columns: Vec<Column>) -> Self {
        let (cells, operands) = (vec![None; columns.len()], vec![None; columns.len()]);
        Self { plan, columns, cells, operands, domain: Vec::new(), attached: Vec::new() }
    }
}

/// The different values of the columns from outside that a sub-query reads.
pub(super) struct Domain {
    pub(super) plan: LogicalPlan,
    /// The level and the column of each, as the sub-query names them.
    pub(super) keys: Vec<(usize, usize)>,
    pub(super) columns: Vec<Column>,
}

impl Domain {
    /// The column of rows over it that has the value of a column from outside.
    pub(super) fn find<'r>(
        &self,
        rows: &'r PlannedRows,
        level: usize,
        column: usize,
    ) -> Result<&'r Column> {
        let index = self.keys.iter().position(|key| *key == (level, column));
        let found = index.and_then(|index| rows.domain.get(index));
        found.ok_or_else(|| broken("a sub-query has nothing around it"))
    }
}
