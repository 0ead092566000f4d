//! Aggregates within units: in sub-queries and windows.

use hushtable_lang::bind_expr::{RowScope, bind_row_expression, condition, where_true};
use hushtable_lang::{Call, ColumnType, Refusal};
use sqlparser::ast;

use crate::relation::UnitAggregate;

const AGGREGATES: &str = "use COUNT(*), COUNTIF(condition), COUNT(x), COUNT(DISTINCT x), \
                          SUM(x), AVG(x), MIN(x), MAX(x), ANY_VALUE(x), LOGICAL_OR(condition) or \
                          LOGICAL_AND(condition), also with FILTER (WHERE condition)";

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
    let [ast::FunctionArg::Unnamed(argument)] = arguments else { return Err(odd()) };
    let distinct = duplicates == Some(ast::DuplicateTreatment::Distinct);
    let name = function.name.to_string().to_uppercase();
    let filter = filter.map(|node| condition(bind_row_expression(node, scope)?, "FILTER"));
    let filter = filter.transpose()?;
    let operand = match (argument, filter) {
        (ast::FunctionArgExpr::Wildcard, filter) if name == "COUNT" && !distinct => {
            let Some(filter) = filter else { return Ok(UnitAggregate::Rows) };
            return Ok(UnitAggregate::Count(where_true(filter, None)));
        }
        (ast::FunctionArgExpr::Expr(node), filter) => {
            let operand = bind_row_expression(node, scope)?;
            let operand = match name.as_str() {
                "COUNTIF" => where_true(condition(operand, "COUNTIF")?, None),
                // The sum of a condition is the number of rows on which it holds.
                "SUM" if operand.column_type == ColumnType::Bool && !distinct => {
                    let counted = where_true(operand, None);
                    return Ok(UnitAggregate::Count(match filter {
                        Some(filter) => where_true(filter, Some(counted)),
                        None => counted,
                    }));
                }
                "LOGICAL_OR" | "LOGICAL_AND" | "BOOL_OR" | "BOOL_AND" | "EVERY" => {
                    condition(operand, &name)?
                }
                _ => operand,
            };
            match filter {
                Some(filter) => where_true(filter, Some(operand)),
                None => operand,
            }
        }
        _ => return Err(odd()),
    };
    if matches!(name.as_str(), "SUM" | "AVG") && !operand.column_type.is_numeric() {
        return Err(Refusal::new(
            format!("`{function}` needs numbers, not values of type {}", operand.column_type),
            "CAST(… AS INT64)",
        ));
    }
    match (name.as_str(), distinct) {
        ("COUNT" | "COUNTIF", false) => Ok(UnitAggregate::Count(operand)),
        ("COUNT", true) => Ok(UnitAggregate::CountDistinct(operand)),
        ("SUM", false) => Ok(UnitAggregate::Sum(operand)),
        ("AVG", false) => Ok(UnitAggregate::Average(operand)),
        // ANY_VALUE is the least value, which is the same in every order of the rows.
        ("MIN", _) | ("ANY_VALUE", false) => Ok(UnitAggregate::Min(operand)),
        ("MAX", _) => Ok(UnitAggregate::Max(operand)),
        ("LOGICAL_OR" | "BOOL_OR", false) => Ok(UnitAggregate::Max(operand)),
        ("LOGICAL_AND" | "BOOL_AND" | "EVERY", false) => Ok(UnitAggregate::Min(operand)),
        _ => Err(odd()),
    }
}
