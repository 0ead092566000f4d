//! Functions of several rows, in SQL around private parts.

use sqlparser::ast;

/// How an aggregate over released values is run: its name, and how many operands it has.
pub(super) fn aggregate(name: &str) -> Option<(&'static str, usize)> {
    Some(match name {
        "COUNT" => ("count", 1),
        "COUNTIF" => ("count", 1),
        "SUM" => ("sum", 1),
        "AVG" => ("avg", 1),
        "MIN" => ("min", 1),
        "MAX" => ("max", 1),
        "MEDIAN" => ("median", 1),
        "STDDEV" | "STDDEV_SAMP" => ("stddev", 1),
        "STDDEV_POP" => ("stddev_pop", 1),
        "VARIANCE" | "VAR_SAMP" => ("var", 1),
        "VAR_POP" => ("var_pop", 1),
        "CORR" => ("corr", 2),
        "COVAR_POP" => ("covar_pop", 2),
        "COVAR_SAMP" => ("covar_samp", 2),
        "GROUPING" => ("grouping", 1),
        "LOGICAL_AND" => ("bool_and", 1),
        "LOGICAL_OR" => ("bool_or", 1),
        _ => return None,
    })
}

/// Least and most operands of a window function.
pub(super) fn window(name: &str) -> Option<(usize, usize)> {
    Some(match name {
        "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "PERCENT_RANK" | "CUME_DIST" => (0, 0),
        "NTILE" | "FIRST_VALUE" | "LAST_VALUE" => (1, 1),
        "LAG" | "LEAD" => (1, 3),
        "NTH_VALUE" => (2, 2),
        _ => return None,
    })
}

/// A function of several rows.
pub(super) fn is_collective(function: &ast::Function) -> bool {
    function.over.is_some() || aggregate(&function.name.to_string().to_uppercase()).is_some()
}

/// Whether an expression is an aggregate of several rows, and no window.
pub(super) fn aggregates(node: &ast::Expr) -> bool {
    let ast::Expr::Function(function) = node else { return false };
    function.over.is_none() && aggregate(&function.name.to_string().to_uppercase()).is_some()
}
