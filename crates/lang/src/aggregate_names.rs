//! Names of aggregates, and calls of them.

use sqlparser::ast;

/// The aggregates over protected rows but APPROX_QUANTILES, which is a list.
pub const AGGREGATES: [&str; 21] = [
    "COUNT",
    "COUNTIF",
    "APPROX_COUNT_DISTINCT",
    "SUM",
    "AVG",
    "MEDIAN",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "QUANTILE_CONT",
    "QUANTILE_DISC",
    "APPROX_PERCENTILE",
    "APPROX_QUANTILE",
    "VARIANCE",
    "VAR_SAMP",
    "VAR_POP",
    "STDDEV",
    "STDDEV_SAMP",
    "STDDEV_POP",
    "COVAR_SAMP",
    "COVAR_POP",
    "CORR",
];

/// The name of an aggregate function, if the node calls one.
pub fn aggregate_name(node: &ast::Expr) -> Option<(&ast::Function, String)> {
    let ast::Expr::Function(function) = node else { return None };
    let name = function.name.to_string().to_uppercase();
    AGGREGATES.contains(&name.as_str()).then_some((function, name))
}

/// Whether the aggregate of that name is a quantile with its share of the values.
pub fn is_percentile(name: &str) -> bool {
    name.contains("PERCENTILE") || name.contains("QUANTILE")
}

/// Whether the aggregate of that name takes two columns.
pub fn is_of_two(name: &str) -> bool {
    name.starts_with("COVAR") || name == "CORR"
}

/// The call, if the node is APPROX_QUANTILES(…).
pub fn quantiles(node: &ast::Expr) -> Option<&ast::Function> {
    let ast::Expr::Function(function) = node else { return None };
    function.name.to_string().eq_ignore_ascii_case("APPROX_QUANTILES").then_some(function)
}

/// The call and the index into its list, if the node is APPROX_QUANTILES(…)[…].
pub fn quantile_at(node: &ast::Expr) -> Option<(&ast::Function, &ast::Expr)> {
    let ast::Expr::CompoundFieldAccess { root, access_chain } = node else { return None };
    match access_chain.as_slice() {
        [ast::AccessExpr::Subscript(ast::Subscript::Index { index })] => {
            Some((quantiles(root)?, index))
        }
        _ => None,
    }
}

/// The aggregates of a unit's rows, in sub-queries and windows.
const OF_UNITS: [&str; 16] = [
    "COUNT",
    "COUNTIF",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "ANY_VALUE",
    "LOGICAL_OR",
    "LOGICAL_AND",
    "BOOL_OR",
    "BOOL_AND",
    "EVERY",
    "ARG_MIN",
    "ARG_MAX",
    "MIN_BY",
    "MAX_BY",
];

/// Whether a function aggregates rows in a sub-query.
pub fn is_aggregate(function: &ast::Function) -> bool {
    let name = function.name.to_string();
    OF_UNITS.iter().any(|aggregate| name.eq_ignore_ascii_case(aggregate))
}

/// Whether an expression is an aggregate, over rows or over released values, and not a window.
pub fn calls_aggregate(node: &ast::Expr) -> bool {
    match node {
        ast::Expr::Function(function) => {
            let name = function.name.to_string();
            function.over.is_none()
                && (is_aggregate(function)
                    || AGGREGATES.iter().any(|aggregate| name.eq_ignore_ascii_case(aggregate)))
        }
        _ => false,
    }
}
