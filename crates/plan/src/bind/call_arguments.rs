//! The arguments of aggregates.

use hushtable_lang::aggregate_names::{is_of_two, is_percentile};
use hushtable_lang::bind_expr::condition;
use hushtable_lang::{Call, ColumnType, Expr, ExprKind, Refusal, Value};
use hushtable_mechanisms::RecordMechanism;
use hushtable_numbers::Number;
use sqlparser::ast;

use super::collected::Aggregates;
use super::options::MAX_WEIGHT;
use super::unit_aggregate::counts_rows;

/// The arguments of an aggregate.
pub(super) struct Arguments {
    pub(super) distinct: bool,
    /// `None` for `*`.
    pub(super) operand: Option<ast::Expr>,
    /// The values behind the first in COUNT(DISTINCT x, y).
    pub(super) others: Vec<ast::Expr>,
    /// The condition of FILTER, on rows.
    pub(super) filter: Option<Expr>,
    /// The share of values below a quantile.
    pub(super) percentile: Option<ast::Expr>,
    /// The second of two columns.
    pub(super) second: Option<ast::Expr>,
    /// Of what a unit adds to a group.
    pub(super) bounds: Option<(Number, Number)>,
    /// Of what a row has.
    pub(super) row_bounds: Option<(Number, Number)>,
    /// Of what a row has in the second column.
    pub(super) second_bounds: Option<(Number, Number)>,
    pub(super) mechanism: Option<RecordMechanism>,
    pub(super) offset: Option<Number>,
    pub(super) weight: u32,
}

/// Refuses the values of a call that are no numbers.
pub(super) fn needs_numbers(function: &ast::Function, column_type: ColumnType) -> Refusal {
    let name = function.name.to_string();
    let share = if is_percentile(&name.to_uppercase()) { ", y" } else { "" };
    let hint = match column_type {
        ColumnType::Date | ColumnType::Timestamp => format!(
            "{name}(DATE_DIFF(x, DATE '2000-01-01', DAY){share}, contribution_bounds_per_row => \
             (-40000, 40000)), in days since then"
        ),
        ColumnType::Bool => "COUNTIF(x), or AVG(IF(x, 1, 0))".to_owned(),
        _ => format!(
            "{name}(CAST(x AS INT64){share}, contribution_bounds_per_row => (0, 100)), or COUNT(x) \
             for how many there are"
        ),
    };
    Refusal::new(format!("`{function}` needs numbers, not values of type {column_type}"), hint)
}

/// The form of an aggregate.
fn form(name: &str) -> String {
    let call = match name {
        "COUNT" | "APPROX_COUNT_DISTINCT" => {
            "COUNT(*), COUNT(x) or COUNT(DISTINCT x), with contribution_bounds_per_group => (0, 5)"
                .to_owned()
        }
        "COUNTIF" => "COUNTIF(x > 0), with contribution_bounds_per_group => (0, 5)".to_owned(),
        "SUM" | "AVG" => format!(
            "COUNT(*) for the number of rows, or {name}(x), with contribution_bounds_per_row => \
             (0, 100) or contribution_bounds_per_group"
        ),
        _ if is_percentile(name) => {
            format!("{name}(x, 0.9), with contribution_bounds_per_row => (0, 100)")
        }
        _ if is_of_two(name) => {
            format!("{name}(x, y), with contribution_bounds_per_row => ((0, 100), (0, 1))")
        }
        _ => format!("{name}(x), with contribution_bounds_per_row => (0, 100)"),
    };
    format!("{call} and weight => 2 where wanted")
}

impl Aggregates<'_> {
    /// Reads the arguments of a call.
    pub(super) fn arguments(
        &self,
        function: &ast::Function,
        name: &str,
    ) -> Result<Arguments, Refusal> {
        let odd = || Refusal::new(format!("`{function}` is not supported"), form(name));
        if function.over.is_some() {
            return Err(Refusal::new(
                format!("`{function}`: window functions are not supported"),
                "GROUP BY the columns that the window partitions by",
            ));
        }
        // A new field of a call is refused until it is known here.
        let call = Call::of(function).ok_or_else(odd)?;
        let Call { arguments: given, duplicates, filter, nulls: None, over: _, within } = call
        else {
            return Err(odd());
        };
        let filter = filter.map(|node| condition(self.row(node)?, node, "FILTER")).transpose()?;
        let mut arguments = Arguments {
            distinct: duplicates == Some(ast::DuplicateTreatment::Distinct)
                || name == "APPROX_COUNT_DISTINCT",
            operand: None,
            others: Vec::new(),
            filter,
            percentile: None,
            second: None,
            bounds: None,
            row_bounds: None,
            second_bounds: None,
            mechanism: None,
            offset: None,
            weight: 1,
        };
        let mut operands = 0;
        for argument in given {
            use ast::{FunctionArg as A, FunctionArgExpr as X};
            match argument {
                A::Unnamed(X::Wildcard) if name == "COUNT" => operands += 1,
                A::Unnamed(X::Expr(ast::Expr::Tuple(_))) if arguments.distinct => {
                    return Err(counts_rows(function));
                }
                A::Unnamed(X::Expr(e)) if operands > 0 && name == "COUNT" && arguments.distinct => {
                    arguments.others.push(e.clone());
                }
                A::Unnamed(X::Expr(e)) => {
                    operands += 1;
                    let operand = match operands {
                        2 if is_percentile(name) => &mut arguments.percentile,
                        2 if is_of_two(name) => &mut arguments.second,
                        _ => &mut arguments.operand,
                    };
                    *operand = Some(e.clone());
                }
                A::Named { name, arg: X::Expr(value), operator: _ } => {
                    self.named(&name.value, value, &mut arguments)?;
                }
                A::ExprNamed { name, arg: X::Expr(value), operator: _ } => {
                    self.named(&name.to_string(), value, &mut arguments)?;
                }
                _ => return Err(odd()),
            }
        }
        // PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
        if is_percentile(name) && operands == 1 {
            arguments.percentile = arguments.operand.take();
        }
        match within {
            [] => {}
            [ordered] if is_percentile(name) && operands == 1 && is_ascending(ordered) => {
                arguments.operand = Some(ordered.expr.clone());
                operands = 2;
            }
            _ => return Err(odd()),
        }
        let quantile = name == "MEDIAN" || is_percentile(name);
        if let (false, Some(mechanism)) = (matches!(name, "SUM" | "AVG"), arguments.mechanism) {
            return Err(Refusal::new(
                format!("`{function}`: mechanism => '{mechanism}' is for SUM and AVG"),
                format!(
                    "write {name} without mechanism: a record counts as one, whatever its size"
                ),
            ));
        }
        if !matches!(name, "SUM" | "AVG") && arguments.offset.is_some() {
            return Err(Refusal::new(
                format!("`{function}` has no offset"),
                "leave offset out: it is for SUM and AVG with mechanism => 'LOG' and 'SQRT'",
            ));
        }
        if quantile && arguments.bounds.is_some() {
            return Err(Refusal::new(
                format!(
                    "`{function}`: contribution_bounds_per_group does not bound the values of a \
                     quantile"
                ),
                "contribution_bounds_per_row => (0, 100): the range of values that it lies in",
            ));
        }
        let counts = matches!(name, "COUNT" | "COUNTIF" | "APPROX_COUNT_DISTINCT");
        if !counts && !quantile && !matches!(name, "SUM" | "AVG") && arguments.bounds.is_some() {
            return Err(Refusal::new(
                format!(
                    "`{function}`: contribution_bounds_per_group does not bound the values of \
                     {name}"
                ),
                "contribution_bounds_per_row => (0, 100): every value is clamped to it",
            ));
        }
        if arguments.second_bounds.is_some() && !is_of_two(name) {
            return Err(Refusal::new(
                format!("`{function}` has one operand, but bounds of two"),
                "contribution_bounds_per_row => (0, 100)",
            ));
        }
        if counts && arguments.row_bounds.is_some() {
            return Err(Refusal::new(
                format!("`{function}` takes no contribution_bounds_per_row: a row counts as one"),
                "contribution_bounds_per_group => (0, 5): how many rows of a unit count in a group",
            ));
        }
        if arguments.bounds.is_some() && arguments.row_bounds.is_some() {
            return Err(Refusal::new(
                format!("`{function}` has bounds per group and bounds per row"),
                "contribution_bounds_per_row clamps every row, contribution_bounds_per_group the \
                 sum of a unit's rows in a group: keep one of them",
            ));
        }
        let required = if is_percentile(name) || is_of_two(name) { 2 } else { 1 };
        if operands == required { Ok(arguments) } else { Err(odd()) }
    }

    fn named(
        &self,
        name: &str,
        value: &ast::Expr,
        arguments: &mut Arguments,
    ) -> Result<(), Refusal> {
        match name.to_lowercase().as_str() {
            "contribution_bounds_per_group" => {
                arguments.bounds = Some(self.pair("contribution_bounds_per_group", value)?);
            }
            "contribution_bounds_per_row" => {
                let name = "contribution_bounds_per_row";
                // ((0, 100), (0, 1)) is of two columns.
                if let ast::Expr::Tuple(pairs) = value
                    && let [first @ ast::Expr::Tuple(_), second @ ast::Expr::Tuple(_)] =
                        pairs.as_slice()
                {
                    arguments.row_bounds = Some(self.pair(name, first)?);
                    arguments.second_bounds = Some(self.pair(name, second)?);
                } else {
                    arguments.row_bounds = Some(self.pair(name, value)?);
                }
            }
            "weight" => {
                let weight = self.constant(value, "weight => 2")?;
                let (digits, scale) = weight.digits_and_scale();
                match u32::try_from(digits) {
                    Ok(n) if scale == 0 && (1..=MAX_WEIGHT).contains(&n) => arguments.weight = n,
                    _ => {
                        return Err(Refusal::new(
                            format!(
                                "weight => {weight} is not a whole number from 1 to {MAX_WEIGHT}"
                            ),
                            "a weight of 2 gives an aggregate twice the budget of one \
                             with weight 1",
                        ));
                    }
                }
            }
            "mechanism" => arguments.mechanism = Some(mechanism(value)?),
            "offset" => {
                let form = "offset => 1000, in the unit of the column";
                let offset = self.constant(value, form)?;
                if offset <= Number::whole(0) {
                    return Err(Refusal::new(format!("offset => {offset} is not above 0"), form));
                }
                arguments.offset = Some(offset);
            }
            "report_format" => {
                return Err(Refusal::new(
                    "`report_format` of one aggregate is not supported",
                    "write it for the whole query: OPTIONS (report_format = INTERVALS)",
                ));
            }
            other => {
                return Err(Refusal::new(
                    format!("there is no argument `{other}` of an aggregate"),
                    "the arguments are contribution_bounds_per_group or \
                     contribution_bounds_per_row, and weight; and mechanism and offset for sums of \
                     columns with `split`",
                ));
            }
        }
        Ok(())
    }

    /// Bounds, low and high.
    fn pair(&self, name: &str, value: &ast::Expr) -> Result<(Number, Number), Refusal> {
        let form = &format!("{name} => (0, 100)");
        let ast::Expr::Tuple(ends) = value else {
            return Err(Refusal::new(format!("{name} => {value} is not a pair of numbers"), form));
        };
        let [low, high] = ends.as_slice() else {
            return Err(Refusal::new("bounds must be a pair of numbers", form));
        };
        let (low, high) = (self.constant(low, form)?, self.constant(high, form)?);
        if low > high {
            return Err(Refusal::new(
                format!("the bounds ({low}, {high}) have their low end above their high end"),
                form,
            ));
        }
        Ok((low, high))
    }

    pub(super) fn constant(&self, node: &ast::Expr, form: &str) -> Result<Number, Refusal> {
        match self.row(node)?.kind {
            ExprKind::Literal(Value::Int(n)) => Ok(Number::whole(n)),
            ExprKind::Literal(Value::Decimal { .. }) => {
                let text = node.to_string().replace(' ', "");
                let text = text.trim_start_matches('(').trim_end_matches(')');
                Number::parse(text)
                    .ok_or_else(|| Refusal::new(format!("`{node}` is not a number"), form))
            }
            _ => Err(Refusal::new(format!("`{node}` is not a constant number"), form)),
        }
    }
}

/// Whether an order is ascending, which is the default.
fn is_ascending(ordered: &ast::OrderByExpr) -> bool {
    ordered.options.asc != Some(false) && ordered.with_fill.is_none()
}

/// The mechanism that a query names.
fn mechanism(value: &ast::Expr) -> Result<RecordMechanism, Refusal> {
    let text = match value {
        ast::Expr::Value(value) => value.value.clone().into_string(),
        ast::Expr::Identifier(name) => Some(name.value.clone()),
        _ => None,
    };
    text.and_then(|text| RecordMechanism::from_name(&text)).ok_or_else(|| {
        Refusal::new(
            format!("mechanism => {value} is not a mechanism"),
            format!("use {}, as in mechanism => 'SQRT'", RecordMechanism::NAMES),
        )
    })
}
