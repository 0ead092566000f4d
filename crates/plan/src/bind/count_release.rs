//! A release of exact counts by group: not answered, but assessed.

use hushtable_lang::aggregate_names::aggregate_name;
use hushtable_lang::bind_expr::{RowScope, bind_row_expression, condition};
use hushtable_lang::{Call, ColumnType, Expr, Refusal, sql};
use sqlparser::ast;

use super::clauses::check;
use super::group_by::bound_keys;
use super::select::default_name;
use super::syntax::plain_table;

const FORM: &str = "SELECT region, age_band, COUNT(*) FROM t GROUP BY region, age_band \
                    HAVING COUNT(*) > 10";

/// Largest threshold.
const MOST: u64 = 1_000_000_000;

/// `SELECT keys, COUNT(*) FROM t WHERE … GROUP BY keys HAVING COUNT(*) > T`, checked: a table of
/// exact counts that somebody thinks of publishing.
#[derive(Clone, Debug)]
pub struct CountRelease {
    /// Columns of the file that [`Expr`]s count.
    pub columns: Vec<(String, ColumnType)>,
    /// Condition on rows.
    pub filter: Option<Expr>,
    /// Group keys with their headings; empty without GROUP BY.
    pub keys: Vec<(String, Expr)>,
    /// A count is published if it is above this; `None` without HAVING, where every group is.
    pub above: Option<u64>,
}

/// Checks a release of exact counts from a file of these `columns`. The name of its table may be
/// any, as there is one file only.
///
/// # Errors
/// Whatever is not SQL, not over these columns, or not a `COUNT(*)` by group with at most a
/// threshold.
pub fn bind_count_release(
    text: &str,
    columns: &[(String, ColumnType)],
) -> Result<CountRelease, Refusal> {
    let with_form = |refusal: Refusal| Refusal::new(refusal.what, FORM);
    let parsed = sql::parse(text, false, sql::today().as_deref()).map_err(with_form)?;
    if !parsed.clauses.is_empty() {
        return Err(Refusal::new(
            "WITH DIFFERENTIAL_PRIVACY does not release exact counts",
            "leave it out here; `hushtable explain` says what it promises, whatever attackers \
             know",
        ));
    }
    let select = check(&parsed.query).map_err(with_form)?;
    one_table(select)?;
    if parsed.query.order_by.is_some() || parsed.query.limit_clause.is_some() {
        return Err(Refusal::new("ORDER BY and LIMIT are not supported here", FORM));
    }
    let rows = RowScope::of_columns(columns);
    let filter = select.selection.as_ref();
    let filter = filter.map(|node| condition(bind_row_expression(node, &rows)?, node, "WHERE"));
    let filter = filter.transpose()?;
    let mut keys: Vec<(String, Expr)> = Vec::new();
    for (node, expr) in bound_keys(select, &rows)? {
        keys.push((unique(default_name(node, keys.len()), &keys), expr));
    }
    let aliases = outputs(select, &mut keys, &rows)?;
    let above = select.having.as_ref().map(|node| threshold(node, &aliases)).transpose()?.flatten();
    Ok(CountRelease { columns: columns.to_vec(), filter, keys, above })
}

fn one_table(select: &ast::Select) -> Result<(), Refusal> {
    match select.from.as_slice() {
        [from] if from.joins.is_empty() => match &from.relation {
            table if plain_table(table).is_some() => Ok(()),
            other => Err(Refusal::new(format!("`{other}` in FROM is not supported"), FORM)),
        },
        [] => Err(Refusal::new("the query has no FROM", FORM)),
        _ => Err(Refusal::new("more than one table in FROM is not supported", FORM)),
    }
}

/// Gives keys the headings that SELECT has for them, and lists the names by which HAVING may call
/// the count.
fn outputs(
    select: &ast::Select,
    keys: &mut [(String, Expr)],
    rows: &RowScope,
) -> Result<Vec<String>, Refusal> {
    let mut counts = 0;
    let mut aliases = Vec::new();
    for item in &select.projection {
        let (node, alias) = match item {
            ast::SelectItem::UnnamedExpr(node) => (node, None),
            ast::SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value.clone())),
            _ => return Err(Refusal::new(format!("`{item}` in SELECT is not supported"), FORM)),
        };
        if let Some((function, name)) = aggregate_name(node) {
            count_of_rows(function, &name)?;
            counts += 1;
            aliases.extend(alias);
            continue;
        }
        let bound = bind_row_expression(node, rows)?;
        let Some(index) = keys.iter().position(|(_, key)| *key == bound) else {
            return Err(Refusal::new(
                format!("`{node}` is neither COUNT(*) nor in GROUP BY"),
                FORM,
            ));
        };
        if let Some(alias) = alias {
            let others: Vec<_> = keys.iter().filter(|(_, key)| *key != bound).cloned().collect();
            keys[index].0 = unique(alias, &others);
        }
    }
    if counts == 1 {
        // In HAVING, a column goes before an alias of its name.
        aliases.retain(|alias| !rows.has(alias));
        return Ok(aliases);
    }
    let what = if counts == 0 { "SELECT has no COUNT(*)" } else { "COUNT(*) appears twice" };
    Err(Refusal::new(what, FORM))
}

/// Makes a name unique, as two columns of one name would be one key in JSON.
fn unique(name: String, others: &[(String, Expr)]) -> String {
    let taken = |name: &str| others.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let mut copies = (2..).map(|copy: u32| format!("{name}_{copy}"));
    if taken(&name) { copies.find(|copy| !taken(copy)).unwrap_or(name) } else { name }
}

fn count_of_rows(function: &ast::Function, name: &str) -> Result<(), Refusal> {
    if name != "COUNT" {
        return Err(Refusal::new(
            format!("`{function}` is not supported: only counts of records are assessed"),
            FORM,
        ));
    }
    let call = Call::of(function)
        .ok_or_else(|| Refusal::new(format!("`{function}` is not supported"), FORM))?;
    let Call { arguments, duplicates, filter, nulls, over, within } = call;
    if duplicates == Some(ast::DuplicateTreatment::Distinct) {
        return Err(Refusal::new(
            format!(
                "`{function}` is not supported: each record is protected, and not whoever has \
                 several"
            ),
            "make a file with one record for each of them, and ask for COUNT(*)",
        ));
    }
    let star = matches!(arguments, [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)]);
    if star && filter.is_none() && nulls.is_none() && over.is_none() && within.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(
        format!("`{function}` is not supported: only counts of records are assessed"),
        "COUNT(*), with conditions in WHERE",
    ))
}

/// `COUNT(*) > T` or `COUNT(*) >= k`, either way round; `None` if every count passes.
fn threshold(node: &ast::Expr, aliases: &[String]) -> Result<Option<u64>, Refusal> {
    use ast::BinaryOperator as Op;
    let odd = || {
        Refusal::new(
            format!("HAVING {node} is not a threshold of COUNT(*)"),
            "HAVING COUNT(*) > 10, or HAVING COUNT(*) >= 11",
        )
    };
    let mut inner = node;
    while let ast::Expr::Nested(nested) = inner {
        inner = nested;
    }
    let ast::Expr::BinaryOp { left, op, right } = inner else { return Err(odd()) };
    let (number, strictly) = match op {
        Op::Gt | Op::GtEq if is_count(left, aliases)? => (right, *op == Op::Gt),
        Op::Lt | Op::LtEq if is_count(right, aliases)? => (left, *op == Op::Lt),
        _ => return Err(odd()),
    };
    let ast::Expr::Value(value) = number.as_ref() else { return Err(odd()) };
    let ast::Value::Number(text, _) = &value.value else { return Err(odd()) };
    let number: u64 = text.parse().map_err(|_| odd())?;
    if number > MOST {
        return Err(Refusal::new(
            format!("HAVING {node} has a threshold above {MOST}"),
            "HAVING COUNT(*) > 10",
        ));
    }
    Ok(if strictly { Some(number) } else { number.checked_sub(1) })
}

fn is_count(node: &ast::Expr, aliases: &[String]) -> Result<bool, Refusal> {
    if let Some((function, name)) = aggregate_name(node) {
        return count_of_rows(function, &name).map(|()| true);
    }
    Ok(matches!(node, ast::Expr::Identifier(name)
        if aliases.iter().any(|alias| alias.eq_ignore_ascii_case(&name.value))))
}
