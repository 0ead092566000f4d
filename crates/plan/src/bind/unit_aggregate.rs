//! Aggregates within units: in sub-queries and windows.

use hushtable_lang::bind_expr::{RowScope, bind_row_expression, cast, condition, where_true};
use hushtable_lang::{Call, ColumnType, Expr, Refusal};
use sqlparser::ast;

use crate::relation::{SortedAggregate, UnitAggregate};

const AGGREGATES: &str = "use COUNT(*), COUNTIF(condition), COUNT(x), SUM(x), AVG(x), each of \
                          DISTINCT values, too, COUNT(DISTINCT x, y), MIN(x), MAX(x), \
                          ANY_VALUE(x), MEDIAN(x), STDDEV(x), VARIANCE(x), ARG_MIN(x, y), \
                          ARG_MAX(x, y), LOGICAL_OR(condition) or LOGICAL_AND(condition), also \
                          with FILTER (WHERE condition)";

/// An aggregate within units.
pub(super) fn unit_aggregate(
    function: &ast::Function,
    scope: &RowScope,
) -> Result<UnitAggregate, Refusal> {
    let odd = || Refusal::new(format!("`{function}` in a sub-query is not supported"), AGGREGATES);
    // The caller handles OVER.
    let call = Call::of(function).ok_or_else(odd)?;
    let Call { arguments, duplicates, filter, nulls: None, over: _, within: [] } = call else {
        return Err(odd());
    };
    let distinct = duplicates == Some(ast::DuplicateTreatment::Distinct);
    let name = function.name.to_string().to_uppercase();
    let filter = filter.map(|node| condition(bind_row_expression(node, scope)?, node, "FILTER"));
    let filter = filter.transpose()?;
    let whole = |argument: &ast::FunctionArg| {
        matches!(argument, ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard))
    };
    if let ([all], "COUNT", false) = (arguments, name.as_str(), distinct)
        && whole(all)
    {
        let Some(filter) = filter else { return Ok(UnitAggregate::Rows) };
        return Ok(UnitAggregate::Count(where_true(filter, None)));
    }
    let operand = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Tuple(_))) => {
            Err(counts_rows(function))
        }
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(node)) => {
            bind_row_expression(node, scope)
        }
        _ => Err(odd()),
    };
    let mut operands = arguments.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
    let written = arguments.first().map(ToString::to_string).unwrap_or_default();
    if let [operand] = operands.as_mut_slice() {
        match name.as_str() {
            "COUNTIF" => {
                *operand = where_true(condition(operand.clone(), &written, "COUNTIF")?, None);
            }
            // The sum of a condition is the number of rows on which it holds.
            "SUM" if operand.column_type == ColumnType::Bool && !distinct => {
                let counted = where_true(operand.clone(), None);
                return Ok(UnitAggregate::Count(match filter {
                    Some(filter) => where_true(filter, Some(counted)),
                    None => counted,
                }));
            }
            "AVG" if operand.column_type == ColumnType::Bool && !distinct => {
                *operand = cast(operand.clone(), ColumnType::Int);
            }
            "LOGICAL_OR" | "LOGICAL_AND" | "BOOL_OR" | "BOOL_AND" | "EVERY" => {
                *operand = condition(operand.clone(), &written, &name)?;
            }
            _ => {}
        }
    }
    // A row on which the condition does not hold has no first value.
    if let (Some(filter), Some(first)) = (filter, operands.first_mut()) {
        *first = where_true(filter, Some(first.clone()));
    }
    if let [operand] = operands.as_slice()
        && of_numbers(&name)
        && !operand.column_type.is_numeric()
    {
        return Err(Refusal::new(
            format!("`{function}` needs numbers, not values of type {}", operand.column_type),
            match operand.column_type {
                ColumnType::Date | ColumnType::Timestamp => {
                    format!("{name}(DATE_DIFF({written}, DATE '2000-01-01', DAY))")
                }
                _ => format!("{name}(CAST({written} AS INT64))"),
            },
        ));
    }
    match <[Expr; 1]>::try_from(operands) {
        Ok([operand]) => of_one(&name, distinct, operand),
        Err(operands) => of_several(&name, distinct, operands),
    }
    .ok_or_else(odd)
}

/// Refuses an aggregate of row values.
pub(super) fn counts_rows(function: &ast::Function) -> Refusal {
    let rows = Call::of(function).map_or(&[][..], |call| call.arguments);
    let values: Vec<String> = match rows {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Tuple(values)))] => {
            values.iter().map(ToString::to_string).collect()
        }
        _ => vec!["x".to_owned(), "y".to_owned()],
    };
    Refusal::new(
        format!("`{function}` counts row values, which are not supported"),
        format!(
            "COUNT(DISTINCT {}), which leaves out rows in which one of them is NULL",
            values.join(", ")
        ),
    )
}

/// Whether the aggregate of that name is of numbers.
fn of_numbers(name: &str) -> bool {
    matches!(name, "SUM" | "AVG" | "MEDIAN") || name.starts_with("STD") || name.starts_with("VAR")
}

/// The aggregate of one value of each row.
fn of_one(name: &str, distinct: bool, operand: Expr) -> Option<UnitAggregate> {
    use SortedAggregate as S;
    use UnitAggregate as A;
    let sorted = |sorted: S, operand: Expr| A::Sorted(sorted, vec![operand]);
    Some(match (name, distinct) {
        ("COUNT" | "COUNTIF", false) => A::Count(operand),
        ("COUNT", true) | ("APPROX_COUNT_DISTINCT", false) => A::CountDistinct(operand),
        ("SUM", false) => A::Sum(operand),
        ("SUM", true) => sorted(S::SumDistinct, operand),
        ("AVG", false) => A::Average(operand),
        ("AVG", true) => sorted(S::AverageDistinct, operand),
        // ANY_VALUE is the least value, which is the same in every order of the rows.
        ("MIN", _) | ("ANY_VALUE", false) => A::Min(operand),
        ("MAX", _) => A::Max(operand),
        ("LOGICAL_OR" | "BOOL_OR", false) => A::Max(operand),
        ("LOGICAL_AND" | "BOOL_AND" | "EVERY", false) => A::Min(operand),
        ("MEDIAN", false) => sorted(S::Median, operand),
        ("VARIANCE" | "VAR_SAMP", false) => sorted(S::SampleVariance, operand),
        ("VAR_POP", false) => sorted(S::PopulationVariance, operand),
        ("STDDEV" | "STDDEV_SAMP", false) => sorted(S::SampleDeviation, operand),
        ("STDDEV_POP", false) => sorted(S::PopulationDeviation, operand),
        _ => return None,
    })
}

/// The aggregate of several values of each row.
fn of_several(name: &str, distinct: bool, operands: Vec<Expr>) -> Option<UnitAggregate> {
    let sorted = match (name, distinct, operands.len()) {
        ("COUNT", true, 2..) => SortedAggregate::CountDistinct,
        ("ARG_MIN" | "MIN_BY", false, 2) => SortedAggregate::ArgMin,
        ("ARG_MAX" | "MAX_BY", false, 2) => SortedAggregate::ArgMax,
        _ => return None,
    };
    Some(UnitAggregate::Sorted(sorted, operands))
}
