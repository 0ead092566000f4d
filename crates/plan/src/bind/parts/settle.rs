//! Puts a statement into the form in which it is walked.

use hushtable_lang::Refusal;
use hushtable_lang::bind_expr::{paired, too_deep};
use hushtable_lang::sql::select_at;
use sqlparser::ast::{self, BinaryOperator as Operator};
use sqlparser::tokenizer::Location;

use super::named_windows::NamedWindows;
use crate::bind::walk::{on_mut, operands_mut, ordered_mut, select_list_mut, table_name};

/// Deepest nesting of an expression, and most sides of a chain of set operations.
const MAX_NESTING: usize = 100;
/// Deepest nesting of a whole statement: walks over it recurse as deep.
const MAX_DEPTH: usize = 400;
/// Most SELECTs, tables and set operations of a statement when the queries of WITH are written out
/// wherever they are named.
const MAX_OPERATORS: u64 = 500;
/// Most nodes of its expressions, written out in the same way.
const MAX_NODES: u64 = 30_000;

/// The depth of a walk: in its expression or chain, and in the whole statement.
#[derive(Clone, Copy, Default)]
struct Depth {
    local: usize,
    whole: usize,
}

impl Depth {
    fn deeper(self) -> Result<Self, Refusal> {
        let next = Self { local: self.local + 1, whole: self.whole + 1 };
        if next.local > MAX_NESTING || next.whole > MAX_DEPTH {
            return Err(too_deep(MAX_NESTING));
        }
        Ok(next)
    }

    /// Within a query of its own.
    fn within(self) -> Result<Self, Refusal> {
        Self { local: 0, whole: self.whole }.deeper()
    }
}

/// Refuses a statement that is nested too deep to be walked. Chains of AND and OR, which the parser
/// nests, are balanced: the same terms in the same order, in a shallow tree. Windows are written
/// where they are used. Common table expressions that nothing reads are left out and returned.
///
/// A query of WITH costs as much as if it were written out wherever it is named, and so do those
/// that it names: 25 of them that each name the one before twice are 33 million. The size of the
/// statement is counted here, before anything is bound.
pub(super) fn settle(query: &mut ast::Query) -> Result<Unread, Refusal> {
    let mut settling = Settling { times: 1, ..Settling::default() };
    settling.query(query, Depth::default())?;
    Ok(settling.unread)
}

/// Common table expressions that nothing reads.
#[derive(Default)]
pub(super) struct Unread {
    pub(super) names: Vec<String>,
    /// Where their SELECTs stand.
    pub(super) selects: Vec<Location>,
}

#[derive(Default)]
struct Settling {
    /// The names of tables that were met, and how often each is read there when all is written out.
    tables: Vec<(String, u64)>,
    /// How often the query at hand is there when all is written out.
    times: u64,
    /// SELECTs, tables and set operations, written out.
    operators: u64,
    /// Nodes of expressions, written out.
    nodes: u64,
    /// The windows that the SELECT names.
    windows: NamedWindows,
    /// Characters of named windows that were written where they are used.
    written: usize,
    /// The common table expressions that are left out.
    unread: Unread,
}

impl Settling {
    fn query(&mut self, query: &mut ast::Query, depth: Depth) -> Result<(), Refusal> {
        let depth = depth.within()?;
        let before = self.tables.len();
        let windows = match query.body.as_mut() {
            ast::SetExpr::Select(select) => NamedWindows::take(select)?,
            _ => NamedWindows::default(),
        };
        let around = std::mem::replace(&mut self.windows, windows);
        for node in ordered_mut(query.order_by.as_mut()) {
            self.expression(node, depth)?;
        }
        match query.body.as_mut() {
            ast::SetExpr::Select(select) => self.select(select, depth)?,
            body => self.body(body, depth)?,
        }
        self.windows = around;
        let Some(with) = &mut query.with else { return Ok(()) };
        // Each may be read by those after it.
        for mut cte in std::mem::take(&mut with.cte_tables).into_iter().rev() {
            let name = &cte.alias.name.value;
            let read = self.tables.iter().skip(before);
            let read = read.filter(|(table, _)| table.eq_ignore_ascii_case(name));
            let times = read.fold(0u64, |sum, (_, times)| sum.saturating_add(*times));
            if with.recursive || times > 0 {
                let around = std::mem::replace(&mut self.times, times.max(1));
                self.query(&mut cte.query, depth).map_err(|refusal| refusal.at(&cte.alias.name))?;
                self.times = around;
                with.cte_tables.push(cte);
            } else {
                self.leave_out(cte, depth)?;
            }
        }
        with.cte_tables.reverse();
        if with.cte_tables.is_empty() {
            query.with = None;
        }
        Ok(())
    }

    /// Leaves out what nothing reads; it counts for nothing.
    fn leave_out(&mut self, mut cte: ast::Cte, depth: Depth) -> Result<(), Refusal> {
        if self.times > 0 {
            self.unread.names.push(cte.alias.name.value);
        }
        let around = std::mem::replace(&mut self.times, 0);
        self.query(&mut cte.query, depth)?;
        self.times = around;
        Ok(())
    }

    /// Counts an operator as often as it is there.
    fn operator(&mut self) -> Result<(), Refusal> {
        self.operators = self.operators.saturating_add(self.times);
        if self.operators <= MAX_OPERATORS {
            return Ok(());
        }
        Err(Refusal::new(
            format!(
                "the statement has more than {MAX_OPERATORS} SELECTs, tables and set operations \
                 when the queries of WITH are written out wherever they are named"
            ),
            "name each query of WITH once or twice; GROUP BY what several sides of a UNION ALL \
             have in common, or write several statements",
        ))
    }

    fn body(&mut self, body: &mut ast::SetExpr, depth: Depth) -> Result<(), Refusal> {
        match body {
            ast::SetExpr::Select(select) => {
                let windows = NamedWindows::take(select)?;
                let around = std::mem::replace(&mut self.windows, windows);
                self.select(select, depth)?;
                self.windows = around;
                Ok(())
            }
            ast::SetExpr::Query(query) => self.query(query, depth),
            ast::SetExpr::SetOperation { left, op: _, set_quantifier: _, right } => {
                let chain = |_| {
                    let what =
                        format!("a chain of set operations has more than {MAX_NESTING} sides");
                    Refusal::new(what, "write several statements")
                };
                let depth = depth.deeper().map_err(chain)?;
                self.operator()?;
                self.body(left, depth)?;
                self.body(right, depth)
            }
            // Not supported: refused by name where they are bound.
            ast::SetExpr::Values(_)
            | ast::SetExpr::Insert(_)
            | ast::SetExpr::Update(_)
            | ast::SetExpr::Delete(_)
            | ast::SetExpr::Merge(_)
            | ast::SetExpr::Table(_) => Ok(()),
        }
    }

    fn select(&mut self, select: &mut ast::Select, depth: Depth) -> Result<(), Refusal> {
        let location = select_at(select);
        // The SELECT's list follows below, named windows are taken out, and the rest is refused by
        // name.
        let ast::Select {
            select_token: _,
            optimizer_hints: _,
            distinct: _,
            select_modifiers: _,
            top: _,
            top_before_distinct: _,
            projection: _,
            exclude: _,
            into: _,
            from,
            lateral_views: _,
            prewhere: _,
            selection,
            connect_by: _,
            group_by,
            cluster_by: _,
            distribute_by: _,
            sort_by: _,
            having,
            named_window: _,
            qualify,
            window_before_qualify: _,
            value_table_mode: _,
            flavor: _,
        } = select;
        if self.times == 0 {
            self.unread.selects.push(location);
        }
        self.operator()?;
        for from in from {
            self.from(from, depth)?;
        }
        let (keys, modifiers) = match group_by {
            ast::GroupByExpr::Expressions(keys, modifiers) => (keys.as_mut_slice(), modifiers),
            ast::GroupByExpr::All(modifiers) => (&mut [][..], modifiers),
        };
        let sets = modifiers.iter_mut().filter_map(|modifier| match modifier {
            ast::GroupByWithModifier::GroupingSets(sets) => Some(sets),
            ast::GroupByWithModifier::Rollup
            | ast::GroupByWithModifier::Cube
            | ast::GroupByWithModifier::Totals => None,
        });
        let clauses = selection.iter_mut().chain(having).chain(qualify).chain(keys);
        for node in clauses.chain(sets) {
            self.expression(node, depth)?;
        }
        for node in select_list_mut(select) {
            self.expression(node, depth)?;
        }
        Ok(())
    }

    fn from(&mut self, from: &mut ast::TableWithJoins, depth: Depth) -> Result<(), Refusal> {
        self.factor(&mut from.relation, depth)?;
        for join in &mut from.joins {
            self.factor(&mut join.relation, depth)?;
        }
        for node in on_mut(&mut from.joins) {
            self.expression(node, depth)?;
        }
        Ok(())
    }

    fn factor(&mut self, factor: &mut ast::TableFactor, depth: Depth) -> Result<(), Refusal> {
        match factor {
            ast::TableFactor::Derived { lateral: _, subquery, alias: _, sample: _ } => {
                self.query(subquery, depth)
            }
            ast::TableFactor::NestedJoin { table_with_joins, alias: _ } => {
                self.from(table_with_joins, depth.within()?)
            }
            ast::TableFactor::Table {
                name,
                alias: _,
                with_hints: _,
                version: _,
                with_ordinality: _,
                partitions: _,
                json_path: _,
                sample: _,
                index_hints: _,
                args: _,
            } => {
                self.operator().map_err(|refusal| refusal.at(&*name))?;
                self.tables.push((table_name(name), self.times));
                Ok(())
            }
            ast::TableFactor::Pivot {
                table,
                aggregate_functions,
                value_column: _,
                value_source,
                default_on_null: _,
                alias: _,
            } => {
                self.operator()?;
                self.factor(table, depth.within()?)?;
                if let ast::PivotValueSource::List(values) = value_source {
                    // Each aggregate is written for each value.
                    for _ in values {
                        for aggregate in &mut *aggregate_functions {
                            self.expression(&mut aggregate.expr, depth)?;
                        }
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn expression(&mut self, node: &mut ast::Expr, depth: Depth) -> Result<(), Refusal> {
        let depth = depth.deeper()?;
        self.nodes = self.nodes.saturating_add(self.times);
        if self.nodes > MAX_NODES {
            return Err(Refusal::new(
                format!(
                    "the statement's expressions have more than {MAX_NODES} parts when the \
                     queries of WITH are written out wherever they are named"
                ),
                "use fewer or shorter expressions, or several statements; long lists of values \
                 can be a public table that is joined",
            ));
        }
        self.windows.write(node, &mut self.written)?;
        if let ast::Expr::BinaryOp { left: _, op: op @ (Operator::And | Operator::Or), right: _ } =
            node
        {
            let op = op.clone();
            let null = || ast::Expr::value(ast::Value::Null);
            let mut terms = chain(std::mem::replace(node, null()), &op);
            for term in &mut terms {
                self.expression(term, depth)?;
            }
            let joined = |left, right| ast::Expr::BinaryOp {
                left: Box::new(left),
                op: op.clone(),
                right: Box::new(right),
            };
            *node = paired(terms, &joined).unwrap_or_else(null);
            return Ok(());
        }
        if let ast::Expr::Subquery(query)
        | ast::Expr::Exists { subquery: query, negated: _ }
        | ast::Expr::InSubquery { expr: _, subquery: query, negated: _ } = node
        {
            self.query(query, depth)?;
        }
        for operand in operands_mut(node).into_iter().flatten() {
            self.expression(operand, depth)?;
        }
        Ok(())
    }
}

/// The terms of a chain of one operator, from left to right.
fn chain(node: ast::Expr, op: &Operator) -> Vec<ast::Expr> {
    let (mut terms, mut rest) = (Vec::new(), node);
    loop {
        match rest {
            ast::Expr::BinaryOp { left, op: inner_op, right } if inner_op == *op => {
                terms.push(*right);
                rest = *left;
            }
            last => {
                terms.push(last);
                terms.reverse();
                return terms;
            }
        }
    }
}
