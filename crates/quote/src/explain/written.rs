//! Expressions over rows as SQL, as they were understood.

use hushtable_lang::{
    BinaryOp, ColumnType, EarlierRows, Expr, ExprKind, Function, MatchUse, Value, text_as_sql,
};

/// An expression as SQL over columns of these names.
pub(super) fn expression_sql(expr: &Expr, columns: &[(String, ColumnType)]) -> String {
    let sql = |e: &Expr| expression_sql(e, columns);
    let inner = |e: &Expr| match &e.kind {
        ExprKind::Binary(..) | ExprKind::Not(_) | ExprKind::InList(..) | ExprKind::Like { .. } => {
            format!("({})", sql(e))
        }
        _ => sql(e),
    };
    let list = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExprKind::Column(index) => columns.get(*index).map_or("?", |(name, _)| name).to_owned(),
        ExprKind::Literal(value) => value.as_sql(),
        ExprKind::Released(_) => "a released value".to_owned(),
        ExprKind::Not(e) => match &e.kind {
            ExprKind::IsNull(e) => format!("{} IS NOT NULL", inner(e)),
            _ => format!("NOT {}", inner(e)),
        },
        ExprKind::IsNull(e) => format!("{} IS NULL", inner(e)),
        ExprKind::Binary(op, left, right) => {
            // Chains of one operator need no brackets.
            let side = |e: &Expr| match &e.kind {
                ExprKind::Binary(inner_op, ..)
                    if inner_op == op && matches!(op, BinaryOp::And | BinaryOp::Or) =>
                {
                    sql(e)
                }
                ExprKind::Binary(inner_op, ..) if *op == BinaryOp::And && compares(*inner_op) => {
                    sql(e)
                }
                ExprKind::InList(..) | ExprKind::Like { .. } if *op == BinaryOp::And => sql(e),
                _ => inner(e),
            };
            format!("{} {} {}", side(left), op.symbol(), side(right))
        }
        ExprKind::InList(e, values) => {
            format!("{} IN ({})", inner(e), list(&mut shortened(values)))
        }
        ExprKind::Like { value, pattern, any_case } => {
            let like = if *any_case { "ILIKE" } else { "LIKE" };
            format!("{} {like} {}", inner(value), text_as_sql(pattern))
        }
        ExprKind::Match { value, pattern, wanted: usage } => {
            let name = match usage {
                MatchUse::Contains => "REGEXP_CONTAINS",
                MatchUse::Count => "REGEXP_COUNT",
                MatchUse::Extract => "REGEXP_EXTRACT",
                MatchUse::Replace(_) => "REGEXP_REPLACE",
            };
            format!("{name}({}, {})", sql(value), text_as_sql(pattern.text()))
        }
        ExprKind::Case(branches, otherwise) => {
            let mut out = "CASE".to_owned();
            for (test, result) in branches {
                out += &format!(" WHEN {} THEN {}", sql(test), sql(result));
            }
            if let Some(e) = otherwise {
                out += &format!(" ELSE {}", sql(e));
            }
            out + " END"
        }
        ExprKind::Cast(e) => match (e.column_type, expr.column_type) {
            // A wider number is the same number.
            (from, to) if from.is_numeric() && to.is_numeric() => sql(e),
            (_, to) => format!("CAST({} AS {to})", sql(e)),
        },
        ExprKind::Among(_, EarlierRows::Empty(_)) => "no value is released".to_owned(),
        ExprKind::Among(_, EarlierRows::AnyNull(_)) => "a released value is NULL".to_owned(),
        ExprKind::Among(of, _) => {
            format!("({}) IN (released values)", list(&mut of.iter().map(sql)))
        }
        ExprKind::ValueAt(of, _) => {
            format!("the released value at ({})", list(&mut of.iter().map(sql)))
        }
        ExprKind::Call(Function::ToInt, of) => list(&mut of.iter().map(sql)),
        ExprKind::Call(Function::DatePart(date_part), of) => {
            let date_part = format!("{date_part:?}").to_uppercase();
            format!("EXTRACT({date_part} FROM {})", list(&mut of.iter().map(sql)))
        }
        ExprKind::Call(function, of) => {
            format!("{}({})", function.name(), list(&mut of.iter().map(sql)))
        }
    }
}

fn compares(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
    )
}

/// Most constants of a list that are written.
const MOST: usize = 6;

fn shortened(values: &[Value]) -> impl Iterator<Item = String> {
    let more = (values.len() > MOST).then(|| format!("… {} in all", values.len()));
    values.iter().take(MOST).map(Value::as_sql).chain(more)
}
