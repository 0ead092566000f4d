//! Window functions within units.

use hushtable_lang::aggregate_names::is_aggregate;
use hushtable_lang::bind_expr::{Binder, Resolve, RowScope, bind_row_expression};
use hushtable_lang::{Call, Expr, ExprKind, Refusal, Value};
use sqlparser::ast;

use super::rowset::RowSet;
use super::unit_aggregate::unit_aggregate;
use super::window_frame::frame_of;
use crate::relation::{Operator, Relation, WindowFunction, WindowOrder, WindowedColumn};

/// Most windows of one SELECT.
const MAX_WINDOWS: usize = 32;
/// Furthest row that LAG and LEAD look at.
const MAX_OFFSET: i64 = 1_000_000;

/// Most buckets of NTILE, and the furthest row of NTH_VALUE.
const MAX_NUMBER: i64 = 10_000;

const FUNCTIONS: &str = "use ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, \
                         LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE, COUNT, SUM, AVG, MIN or MAX, \
                         each OVER (PARTITION BY the unit, … ORDER BY …)";

/// Binds expressions with windows in them; their values are columns after the rows' own.
pub(super) struct Windows<'a> {
    scope: &'a RowScope,
    width: usize,
    windows: Vec<WindowedColumn>,
}

impl<'a> Windows<'a> {
    pub(super) fn new(scope: &'a RowScope, relation: &Relation) -> Self {
        Self { scope, width: relation.fields().len(), windows: Vec::new() }
    }

    pub(super) fn bind(&mut self, node: &ast::Expr) -> Result<Expr, Refusal> {
        Binder::new(self).bind(node)
    }

    /// The rows with the windows' columns behind their own.
    pub(super) fn applied(self, rows: RowSet) -> Result<RowSet, Refusal> {
        if self.windows.is_empty() {
            return Ok(rows);
        }
        let relation =
            Relation::new(Operator::Window { input: rows.relation, columns: self.windows })?;
        Ok(RowSet::named(relation, rows.columns))
    }

    fn window(&mut self, function: &ast::Function) -> Result<Expr, Refusal> {
        let odd = |hint: &str| Err(Refusal::new(format!("`{function}` is not supported"), hint));
        let Some(ast::WindowType::WindowSpec(window)) = &function.over else {
            return odd("write OVER (PARTITION BY …) where it is used");
        };
        let ast::WindowSpec { window_name: None, partition_by, order_by, window_frame } = window
        else {
            return odd("OVER (PARTITION BY … ORDER BY …)");
        };
        let row = |node: &ast::Expr| bind_row_expression(node, self.scope);
        let partition_by = partition_by.iter().map(row).collect::<Result<Vec<_>, _>>()?;
        let order = |item: &ast::OrderByExpr| {
            let descending = item.options.asc == Some(false);
            Ok(WindowOrder {
                expr: row(&item.expr)?,
                descending,
                // GoogleSQL: NULL is the least value.
                nulls_first: item.options.nulls_first.unwrap_or(!descending),
            })
        };
        let order_by = order_by.iter().map(order).collect::<Result<Vec<_>, Refusal>>()?;
        let frame = window_frame.as_ref().map(|frame| frame_of(frame, &order_by, self.scope));
        let frame = frame.transpose()?.flatten();
        let kind = self.function(function)?;
        let ordered = !matches!(kind, WindowFunction::Aggregate(_));
        if ordered && order_by.is_empty() {
            return odd("add ORDER BY to its OVER: rows have no order of their own");
        }
        let column_type = kind.column_type();
        let column = WindowedColumn {
            name: format!("window_{}", self.windows.len()),
            function: kind,
            partition_by,
            order_by,
            frame,
        };
        self.windows.push(column);
        if self.windows.len() > MAX_WINDOWS {
            return odd("use fewer window functions in one SELECT");
        }
        Ok(Expr::column(self.width + self.windows.len() - 1, column_type))
    }

    fn function(&self, function: &ast::Function) -> Result<WindowFunction, Refusal> {
        let odd = || Refusal::new(format!("`{function}` is not supported"), FUNCTIONS);
        if is_aggregate(function) {
            return unit_aggregate(function, self.scope).map(WindowFunction::Aggregate);
        }
        // The caller handles OVER.
        let call = Call::of(function).ok_or_else(odd)?;
        let Call { arguments, duplicates, filter, nulls, over: _, within } = call;
        let plain =
            duplicates.is_none() && filter.is_none() && nulls.is_none() && within.is_empty();
        let argument = |argument: &ast::FunctionArg| match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(node)) => {
                bind_row_expression(node, self.scope)
            }
            _ => Err(odd()),
        };
        let arguments = arguments.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
        let offset = |expr: Option<&Expr>| match expr.map(|e| &e.kind) {
            None => Ok(1),
            Some(ExprKind::Literal(Value::Int(n))) if (0..=MAX_OFFSET).contains(n) => {
                u32::try_from(*n).map_err(|_| odd())
            }
            Some(_) => Err(Refusal::new(
                format!("`{function}`: the offset is not a number from 0 to {MAX_OFFSET}"),
                "LAG(x, 1)",
            )),
        };
        let from_one = |expr: &Expr| match expr.kind {
            ExprKind::Literal(Value::Int(n)) if (1..=MAX_NUMBER).contains(&n) => {
                u32::try_from(n).map_err(|_| odd())
            }
            _ => Err(Refusal::new(
                format!("`{function}`: its number is not from 1 to {MAX_NUMBER}"),
                "NTILE(4), NTH_VALUE(x, 2)",
            )),
        };
        let name = function.name.to_string().to_uppercase();
        match (name.as_str(), arguments.as_slice()) {
            _ if !plain => Err(odd()),
            ("ROW_NUMBER", []) => Ok(WindowFunction::RowNumber),
            ("RANK", []) => Ok(WindowFunction::Rank),
            ("DENSE_RANK", []) => Ok(WindowFunction::DenseRank),
            ("PERCENT_RANK", []) => Ok(WindowFunction::PercentRank),
            ("CUME_DIST", []) => Ok(WindowFunction::CumulativeShare),
            ("NTILE", [buckets]) => Ok(WindowFunction::Ntile(from_one(buckets)?)),
            ("LAG", [x, by @ ..]) if by.len() < 2 => {
                Ok(WindowFunction::Lag(x.clone(), offset(by.first())?))
            }
            ("LEAD", [x, by @ ..]) if by.len() < 2 => {
                Ok(WindowFunction::Lead(x.clone(), offset(by.first())?))
            }
            ("FIRST_VALUE", [x]) => Ok(WindowFunction::FirstValue(x.clone())),
            ("LAST_VALUE", [x]) => Ok(WindowFunction::LastValue(x.clone())),
            ("NTH_VALUE", [x, n]) => Ok(WindowFunction::NthValue(x.clone(), from_one(n)?)),
            _ => Err(odd()),
        }
    }
}

impl Resolve for Windows<'_> {
    fn names(&self, name: &str) -> bool {
        self.scope.knows(name)
    }

    fn resolve(&mut self, node: &ast::Expr) -> Option<Result<Expr, Refusal>> {
        if let ast::Expr::Function(function) = node
            && function.over.is_some()
        {
            return Some(self.window(function));
        }
        let mut scope = self.scope;
        scope.resolve(node)
    }
}
