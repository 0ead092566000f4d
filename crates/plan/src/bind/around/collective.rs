//! Functions of several rows, in SQL around private parts.

use sqlparser::ast;

use super::tree::{AggregateFunction as A, WindowCall as W};

/// The aggregate over released values of that name.
pub(super) fn aggregate(name: &str) -> Option<A> {
    Some(match name {
        "COUNT" | "COUNTIF" => A::Count,
        "SUM" => A::Sum,
        "AVG" => A::Mean,
        "MIN" => A::Min,
        "MAX" => A::Max,
        "MEDIAN" => A::Median,
        "STDDEV" | "STDDEV_SAMP" => A::Stddev,
        "STDDEV_POP" => A::StddevPop,
        "VARIANCE" | "VAR_SAMP" => A::Variance,
        "VAR_POP" => A::VariancePop,
        "CORR" => A::Correlation,
        "COVAR_POP" => A::CovariancePop,
        "COVAR_SAMP" => A::Covariance,
        "GROUPING" => A::Grouping(0),
        "LOGICAL_AND" => A::All,
        "LOGICAL_OR" => A::Any,
        _ => return None,
    })
}

/// The window function of that name, with its least and most operands.
pub(super) fn window(name: &str) -> Option<(W, usize, usize)> {
    Some(match name {
        "ROW_NUMBER" => (W::RowNumber, 0, 0),
        "RANK" => (W::Rank, 0, 0),
        "DENSE_RANK" => (W::DenseRank, 0, 0),
        "PERCENT_RANK" => (W::PercentRank, 0, 0),
        "CUME_DIST" => (W::CumeDist, 0, 0),
        "NTILE" => (W::Ntile, 1, 1),
        "FIRST_VALUE" => (W::FirstValue, 1, 1),
        "LAST_VALUE" => (W::LastValue, 1, 1),
        "LAG" => (W::Lag, 1, 3),
        "LEAD" => (W::Lead, 1, 3),
        "NTH_VALUE" => (W::NthValue, 2, 2),
        _ => return None,
    })
}

/// The name of a function in capitals, without quotes.
pub(super) fn name_of(function: &ast::Function) -> String {
    function.name.to_string().to_uppercase()
}

/// A function of several rows.
pub(super) fn is_collective(function: &ast::Function) -> bool {
    function.over.is_some() || aggregate(&name_of(function)).is_some()
}

/// Whether an expression is an aggregate of several rows, and no window.
pub(super) fn aggregates(node: &ast::Expr) -> bool {
    let ast::Expr::Function(function) = node else { return false };
    function.over.is_none() && aggregate(&name_of(function)).is_some()
}
