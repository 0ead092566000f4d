//! Expressions of SQL around private parts.

use hushtable_lang::{
    Call, ColumnType, Expr, Prepared, Refusal, bind_expr::RowScope, bind_expr::Visible,
    bind_expr::bind_row_expression,
};
use sqlparser::ast;

use super::collective::{aggregate, is_collective, window};
use super::column_names::{OutputColumn, Scope};
use super::trace::Hidden;
use super::{PER_WINDOW, Tables, Walk, unsupported};
use crate::bind::syntax::{call, ordered, unnamed};
use crate::bind::walk::{self, operands_mut};

/// A scalar expression over released values, which is computed as in private queries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Computed {
    /// The function that stands for it in the SQL.
    pub name: String,
    /// Its syntax; its operands are named `a1`, `a2`, …
    node: ast::Expr,
    /// Its operands as they are written.
    operands: Vec<String>,
    /// The statement's patterns: it is bound to types again and again.
    prepared: Prepared,
}

impl Computed {
    /// The expression over operands of these types, which are its columns.
    ///
    /// # Errors
    /// When it does not fit them.
    pub fn bind(&self, types: &[ColumnType]) -> Result<Expr, Refusal> {
        let operand = |(index, column_type): (usize, &ColumnType)| {
            Visible::new(None, &operand_name(index), Expr::column(index, *column_type))
        };
        let scope = RowScope::new(types.iter().enumerate().map(operand).collect());
        let bound = self.prepared.within(|| bind_row_expression(&self.node, &scope));
        bound.map_err(|mut refusal| {
            let named = |what: String, (index, written): (usize, &String)| {
                what.replace(&format!("`{}`", operand_name(index)), &format!("`{written}`"))
            };
            let what = std::mem::take(&mut refusal.what);
            refusal.what = self.operands.iter().enumerate().fold(what, named);
            refusal
        })
    }

    /// How many operands it has.
    pub fn operands(&self) -> usize {
        self.operands.len()
    }
}

fn operand_name(index: usize) -> String {
    format!("a{}", index + 1)
}

const AGGREGATES: &str = "use COUNT, COUNTIF, SUM, AVG, MIN, MAX, MEDIAN, STDDEV, STDDEV_POP, \
                          STDDEV_SAMP, VARIANCE, VAR_POP, VAR_SAMP, CORR, COVAR_POP, \
                          COVAR_SAMP, LOGICAL_AND or LOGICAL_OR";
const WINDOWS: &str = "use ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, \
                       LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE or aggregates, OVER (PARTITION \
                       BY … ORDER BY …)";

/// Most scalar expressions of SQL around private parts.
const MAX_COMPUTED: usize = 300;
/// Most columns, aggregates, windows and sub-queries of one of them.
const MAX_OPERANDS: usize = 100;

fn cast(expr: ast::Expr, data_type: ast::DataType) -> ast::Expr {
    ast::Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(expr),
        data_type,
        array: false,
        format: None,
    }
}

impl Walk<'_> {
    /// An expression as it is run.
    pub(super) fn expression(
        &mut self,
        node: &ast::Expr,
        scope: &Scope<'_>,
        tables: &Tables,
    ) -> Result<ast::Expr, Refusal> {
        self.run(node, scope, tables).map_err(|refusal| refusal.at(node))
    }

    fn run(
        &mut self,
        node: &ast::Expr,
        scope: &Scope<'_>,
        tables: &Tables,
    ) -> Result<ast::Expr, Refusal> {
        use ast::{BinaryOperator as B, Expr as E};
        if let Some((_, key)) = scope.keys.iter().find(|(written, _)| written == node) {
            return Ok(key.clone());
        }
        let mut boxed = |node: &E| self.expression(node, scope, tables).map(Box::new);
        Ok(match node {
            E::Nested(inner) => E::Nested(boxed(inner)?),
            E::Identifier(name) => scope.column(std::slice::from_ref(name))?,
            E::CompoundIdentifier(path) => scope.column(path)?,
            E::Value(value) => match &value.value {
                ast::Value::Null | ast::Value::Boolean(_) | ast::Value::SingleQuotedString(_) => {
                    node.clone()
                }
                ast::Value::Number(text, false) if text.parse::<i64>().is_ok() => node.clone(),
                _ => self.computed(node, scope, tables)?,
            },
            E::BinaryOp {
                left,
                op: op @ (B::And | B::Or | B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq),
                right,
            } => E::BinaryOp { left: boxed(left)?, op: op.clone(), right: boxed(right)? },
            E::UnaryOp { op: ast::UnaryOperator::Not, expr } => {
                E::UnaryOp { op: ast::UnaryOperator::Not, expr: boxed(expr)? }
            }
            E::IsNull(inner) => E::IsNull(boxed(inner)?),
            E::IsNotNull(inner) => E::IsNotNull(boxed(inner)?),
            E::Between { expr, negated, low, high } => E::Between {
                expr: boxed(expr)?,
                negated: *negated,
                low: boxed(low)?,
                high: boxed(high)?,
            },
            E::InList { expr, list, negated } => E::InList {
                expr: boxed(expr)?,
                list: list.iter().map(|e| boxed(e).map(|e| *e)).collect::<Result<_, _>>()?,
                negated: *negated,
            },
            E::Subquery(query) => {
                let (query, outputs) = self.query(query, tables, Some(scope), Hidden::Without)?;
                one_column(&outputs)?;
                E::Subquery(Box::new(query))
            }
            E::Exists { subquery, negated } => {
                let (query, _) = self.query(subquery, tables, Some(scope), Hidden::Without)?;
                E::Exists { subquery: Box::new(query), negated: *negated }
            }
            E::InSubquery { expr, subquery, negated } => {
                let expr = boxed(expr)?;
                let (query, outputs) =
                    self.query(subquery, tables, Some(scope), Hidden::Without)?;
                one_column(&outputs)?;
                E::InSubquery { expr, subquery: Box::new(query), negated: *negated }
            }
            E::Function(function) if is_collective(function) => {
                self.collective(function, scope, tables)?
            }
            other => self.computed(other, scope, tables)?,
        })
    }

    /// A scalar expression, as a call with what it is computed from.
    fn computed(
        &mut self,
        node: &ast::Expr,
        scope: &Scope<'_>,
        tables: &Tables,
    ) -> Result<ast::Expr, Refusal> {
        let (mut node, mut operands) = (node.clone(), Vec::new());
        self.take_operands(&mut node, &mut operands, scope, tables)?;
        if operands.len() > MAX_OPERANDS || self.computed.len() > MAX_COMPUTED {
            return Err(Refusal::new(
                format!(
                    "the SQL around private parts has more than {MAX_COMPUTED} expressions, \
                     or one of more than {MAX_OPERANDS} columns"
                ),
                "use fewer or shorter expressions",
            ));
        }
        let (operands, written): (Vec<ast::Expr>, Vec<String>) = operands.into_iter().unzip();
        let same =
            |computed: &Computed| computed.node == node && computed.operands.len() == written.len();
        let index = self.computed.iter().position(same).unwrap_or_else(|| {
            let name = format!("expression_{}", self.computed.len() + 1);
            let prepared = Prepared::current();
            self.computed.push(Computed { name, node, operands: written, prepared });
            self.computed.len() - 1
        });
        Ok(call(&self.computed[index].name, operands))
    }

    /// Takes the columns, aggregates, windows and sub-queries out of an expression, each with the
    /// text that it was written as.
    fn take_operands(
        &mut self,
        node: &mut ast::Expr,
        operands: &mut Vec<(ast::Expr, String)>,
        scope: &Scope<'_>,
        tables: &Tables,
    ) -> Result<(), Refusal> {
        use ast::Expr as E;
        let is_operand = match node {
            E::Identifier(_)
            | E::CompoundIdentifier(_)
            | E::Subquery(_)
            | E::Exists { subquery: _, negated: _ }
            | E::InSubquery { expr: _, subquery: _, negated: _ } => true,
            E::Function(function) => is_collective(function),
            _ => scope.keys.iter().any(|(written, _)| written == node),
        };
        if is_operand {
            let value = self.expression(node, scope, tables)?;
            let index =
                operands.iter().position(|(operand, _)| *operand == value).unwrap_or_else(|| {
                    operands.push((value, node.to_string()));
                    operands.len() - 1
                });
            *node = E::Identifier(ast::Ident::new(operand_name(index)));
            return Ok(());
        }
        if walk::operands(node).is_none() {
            return Err(unsupported(node, "use comparisons, arithmetic, CASE, CAST and functions"));
        }
        for operand in operands_mut(node).into_iter().flatten() {
            self.take_operands(operand, operands, scope, tables)?;
        }
        Ok(())
    }

    /// An aggregate or a window function.
    fn collective(
        &mut self,
        function: &ast::Function,
        scope: &Scope<'_>,
        tables: &Tables,
    ) -> Result<ast::Expr, Refusal> {
        let name = function.name.to_string().to_uppercase();
        let over = function.over.is_some();
        let aggregate = aggregate(&name);
        let hint = if over { WINDOWS } else { AGGREGATES };
        let odd = || unsupported(function, hint);
        let (run, (least, most)) = match (aggregate, window(&name)) {
            (Some((run, operands)), _) => (run.to_owned(), (operands, operands)),
            (None, Some(range)) if over => (name.to_lowercase(), range),
            _ => return Err(odd()),
        };
        let call = Call::of(function).ok_or_else(odd)?;
        let plain = call.within.is_empty()
            && (call.filter.is_none() || (aggregate.is_some() && !over))
            && (call.nulls.is_none() || aggregate.is_none());
        let distinct = call.duplicates == Some(ast::DuplicateTreatment::Distinct);
        if !plain || (distinct && (over || aggregate.is_none())) {
            return Err(odd());
        }
        let mut operands = Vec::new();
        for argument in call.arguments {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)
                    if name == "COUNT" && !distinct =>
                {
                    operands.push(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard));
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(node)) => {
                    let value = self.expression(node, scope, tables)?;
                    operands.push(unnamed(match name.as_str() {
                        "AVG" => cast(value, ast::DataType::Double(ast::ExactNumberInfo::None)),
                        "COUNTIF" => when(value),
                        _ => value,
                    }));
                }
                _ => {
                    return Err(Refusal::new(
                        format!("`{function}` aggregates released values, which need no bounds"),
                        hint,
                    ));
                }
            }
        }
        if operands.len() < least || operands.len() > most {
            return Err(odd());
        }
        let ranked = matches!(name.as_str(), "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "NTILE");
        let filter = function.filter.as_deref();
        let filter = filter.map(|node| self.expression(node, scope, tables)).transpose()?;
        let called = ast::Function {
            filter: filter.map(Box::new),
            name: ast::ObjectName::from(vec![ast::Ident::new(run)]),
            args: ast::FunctionArguments::List(ast::FunctionArgumentList {
                duplicate_treatment: distinct.then_some(ast::DuplicateTreatment::Distinct),
                args: operands,
                clauses: Vec::new(),
            }),
            over: match &function.over {
                None => None,
                Some(ast::WindowType::WindowSpec(window)) => {
                    let spec = self.window(window, scope, tables)?;
                    Some(ast::WindowType::WindowSpec(spec))
                }
                Some(ast::WindowType::NamedWindow(_)) => {
                    return Err(unsupported(function, "write OVER (…) where it is used"));
                }
            },
            ..function.clone()
        };
        let called = ast::Expr::Function(called);
        Ok(if ranked { cast(called, ast::DataType::BigInt(None)) } else { called })
    }

    fn window(
        &mut self,
        window: &ast::WindowSpec,
        scope: &Scope<'_>,
        tables: &Tables,
    ) -> Result<ast::WindowSpec, Refusal> {
        self.has(PER_WINDOW)?;
        let ast::WindowSpec { window_name, partition_by, order_by, window_frame } = window;
        if window_name.is_some() {
            return Err(unsupported(window, "OVER (PARTITION BY … ORDER BY …)"));
        }
        let bounds = window_frame.iter().flat_map(|f| [Some(&f.start_bound), f.end_bound.as_ref()]);
        for bound in bounds.flatten() {
            let (ast::WindowFrameBound::Preceding(Some(by))
            | ast::WindowFrameBound::Following(Some(by))) = bound
            else {
                continue;
            };
            if by.to_string().parse::<u32>().is_err() {
                return Err(unsupported(window, "ROWS BETWEEN 6 PRECEDING AND CURRENT ROW"));
            }
        }
        let partition_by = partition_by.iter().map(|node| self.expression(node, scope, tables));
        let partition_by = partition_by.collect::<Result<_, _>>()?;
        let order_by = order_by
            .iter()
            .map(|item| Ok(ordered(self.expression(&item.expr, scope, tables)?, item.options)));
        Ok(ast::WindowSpec {
            window_name: None,
            order_by: order_by.collect::<Result<_, Refusal>>()?,
            partition_by,
            window_frame: window_frame.clone(),
        })
    }
}

/// One where the condition holds, else NULL.
fn when(condition: ast::Expr) -> ast::Expr {
    use sqlparser::ast::helpers::attached_token::AttachedToken;
    let one = ast::Expr::Value(ast::Value::Number("1".to_owned(), false).into());
    ast::Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![ast::CaseWhen { condition, result: one }],
        else_result: None,
    }
}

fn one_column(outputs: &[OutputColumn]) -> Result<(), Refusal> {
    if outputs.len() == 1 {
        return Ok(());
    }
    Err(Refusal::new(
        format!("a sub-query in an expression shows {} columns", outputs.len()),
        "(SELECT MAX(n) FROM …), one column",
    ))
}
