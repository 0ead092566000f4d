//! Functions.

use sqlparser::ast;

use super::literals::date_part;
use super::types::{case_of, cast, compare, concat, unify_all};
use super::{Binder, Resolve};
use crate::bind::AGGREGATES;
use crate::error::Refusal;
use crate::expr::{BinaryOp, DatePart, Expr, ExprKind, Function};
use crate::types::{ColumnType, Value};

impl<R: Resolve> Binder<'_, R> {
    pub(super) fn extract(&mut self, part: DatePart, node: &ast::Expr) -> Result<Expr, Refusal> {
        if part == DatePart::IsoWeek {
            return Err(Refusal::new(
                "EXTRACT(ISOWEEK) is not supported",
                "DATE_TRUNC(day, ISOWEEK) is the Monday of the week",
            ));
        }
        let inner = self.moment(node, "EXTRACT")?;
        let timed = matches!(part, DatePart::Hour | DatePart::Minute | DatePart::Second);
        if timed && inner.column_type == ColumnType::Date {
            return Err(Refusal::new(
                "a date has no hour, minute or second",
                "EXTRACT them from a timestamp",
            ));
        }
        Ok(Expr::call(Function::DatePart(part), vec![inner], ColumnType::Int))
    }

    pub(super) fn moment(&mut self, node: &ast::Expr, place: &str) -> Result<Expr, Refusal> {
        let inner = self.bind(node)?;
        match inner.column_type {
            ColumnType::Date | ColumnType::Timestamp => Ok(inner),
            other => Err(Refusal::new(
                format!("{place} needs a date or timestamp, and `{node}` is of type {other}"),
                "CAST(… AS DATE)",
            )),
        }
    }

    /// A constant whole number from `least` up.
    pub(super) fn constant_count(
        &mut self,
        node: &ast::Expr,
        least: u32,
        place: &str,
    ) -> Result<u32, Refusal> {
        if let ExprKind::Literal(Value::Int(n)) = self.bind(node)?.kind
            && let Ok(n) = u32::try_from(n)
            && n >= least
        {
            return Ok(n);
        }
        Err(Refusal::new(
            format!("{place} needs a constant whole number of at least {least}, not `{node}`"),
            "SUBSTR(x, 1, 2) is the first two characters, RIGHT(x, 2) the last two",
        ))
    }

    pub(super) fn substr(
        &mut self,
        node: &ast::Expr,
        from: &ast::Expr,
        length: Option<&ast::Expr>,
    ) -> Result<Expr, Refusal> {
        let value = self.text(node, "SUBSTR")?;
        let start = self.constant_count(from, 1, "SUBSTR")?;
        let length = length.map(|e| self.constant_count(e, 0, "SUBSTR")).transpose()?;
        Ok(Expr::call(Function::Substr { start, length }, vec![value], ColumnType::String))
    }

    pub(super) fn function(&mut self, function: &ast::Function) -> Result<Expr, Refusal> {
        let name = function.name.to_string().replace('`', "").to_uppercase();
        let arguments = plain_arguments(function, &name)?;
        let float_call = |binder: &mut Self, f: Function, node: &ast::Expr| {
            let inner = binder.float(node, &name)?;
            Ok(Expr::call(f, vec![inner], ColumnType::Float))
        };
        let text_call = |binder: &mut Self, f: Function, node: &ast::Expr, result: ColumnType| {
            let inner = binder.text(node, &name)?;
            Ok(Expr::call(f, vec![inner], result))
        };
        match (name.as_str(), arguments.as_slice()) {
            ("ABS" | "SIGN", [x]) => {
                let inner = self.number(x, &name)?;
                let f = if name == "ABS" { Function::Abs } else { Function::Sign };
                let column_type = inner.column_type;
                Ok(Expr::call(f, vec![inner], column_type))
            }
            ("FLOOR", [x]) => float_call(self, Function::Floor, x),
            ("CEIL" | "CEILING", [x]) => float_call(self, Function::Ceil, x),
            ("ROUND", [x]) => float_call(self, Function::Round(0), x),
            ("ROUND", [x, digits]) => match self.bind(digits)?.kind {
                ExprKind::Literal(Value::Int(d)) if (-18..=18).contains(&d) => {
                    float_call(self, Function::Round(d as i8), x)
                }
                _ => Err(Refusal::new(
                    "ROUND needs a constant number of digits from -18 to 18",
                    "ROUND(x, 1)",
                )),
            },
            ("SQRT", [x]) => float_call(self, Function::Sqrt, x),
            ("LN", [x]) => float_call(self, Function::Ln, x),
            ("LOG10", [x]) => float_call(self, Function::Log10, x),
            ("EXP", [x]) => float_call(self, Function::Exp, x),
            ("POW" | "POWER", [x, y]) => self.arithmetic(BinaryOp::Power, &name, x, y),
            ("DIV", [x, y]) => self.arithmetic(BinaryOp::IntDiv, "DIV", x, y),
            ("MOD", [x, y]) => self.arithmetic(BinaryOp::Mod, "MOD", x, y),
            ("SAFE_DIVIDE" | "IEEE_DIVIDE", [x, y]) => self.arithmetic(BinaryOp::Div, &name, x, y),
            ("LOWER", [x]) => text_call(self, Function::Lower, x, ColumnType::String),
            ("UPPER", [x]) => text_call(self, Function::Upper, x, ColumnType::String),
            ("TRIM", [x]) => text_call(self, Function::Trim, x, ColumnType::String),
            ("LTRIM", [x]) => text_call(self, Function::LTrim, x, ColumnType::String),
            ("RTRIM", [x]) => text_call(self, Function::RTrim, x, ColumnType::String),
            ("LENGTH" | "CHAR_LENGTH" | "CHARACTER_LENGTH", [x]) => {
                text_call(self, Function::Length, x, ColumnType::Int)
            }
            ("SUBSTR" | "SUBSTRING", [x, from]) => self.substr(x, from, None),
            ("SUBSTR" | "SUBSTRING", [x, from, length]) => self.substr(x, from, Some(length)),
            ("LEFT", [x, n]) => {
                let length = Some(self.constant_count(n, 0, "LEFT")?);
                text_call(self, Function::Substr { start: 1, length }, x, ColumnType::String)
            }
            ("RIGHT", [x, n]) => {
                let length = self.constant_count(n, 0, "RIGHT")?;
                text_call(self, Function::Right(length), x, ColumnType::String)
            }
            ("STARTS_WITH" | "ENDS_WITH", [x, y]) => {
                let (x, y) = (self.text(x, &name)?, self.text(y, &name)?);
                let f =
                    if name == "STARTS_WITH" { Function::StartsWith } else { Function::EndsWith };
                Ok(Expr::call(f, vec![x, y], ColumnType::Bool))
            }
            ("CONCAT", [_, ..]) => {
                let texts = arguments.iter().map(|e| self.text(e, "CONCAT"));
                Ok(concat(texts.collect::<Result<_, _>>()?))
            }
            ("COALESCE", [_, ..]) | ("IFNULL", [_, _]) => {
                let bound = arguments.iter().map(|e| self.bind(e)).collect::<Result<_, _>>()?;
                let unified = unify_all(bound, &name)?;
                let column_type = unified[0].column_type;
                Ok(Expr::call(Function::Coalesce, unified, column_type))
            }
            ("NULLIF", [x, y]) => {
                let (x, y) = (self.bind(x)?, self.bind(y)?);
                let equal = compare(BinaryOp::Eq, x.clone(), y)?;
                let null = Expr { column_type: x.column_type, ..Expr::literal(Value::Null) };
                Ok(case_of(vec![equal], vec![null, x]))
            }
            ("IF", [condition, x, y]) => {
                let test = self.boolean(condition, "IF")?;
                let results = vec![self.bind(x)?, self.bind(y)?];
                Ok(case_of(vec![test], unify_all(results, "IF")?))
            }
            ("DATE", [x]) => {
                let inner = self.moment(x, "DATE")?;
                Ok(cast(inner, ColumnType::Date))
            }
            ("DATE_TRUNC" | "TIMESTAMP_TRUNC", [x, part]) => {
                let inner = self.moment(x, &name)?;
                let part = date_part(&part.to_string())?;
                let calendar = !matches!(part, DatePart::DayOfWeek | DatePart::DayOfYear);
                let timed = matches!(part, DatePart::Hour | DatePart::Minute | DatePart::Second);
                if !calendar || timed && inner.column_type == ColumnType::Date {
                    return Err(Refusal::new(
                        format!("{name} of a {} cannot go to that part", inner.column_type),
                        "YEAR, QUARTER, MONTH, ISOWEEK or DAY; HOUR, MINUTE, SECOND of timestamps",
                    ));
                }
                let column_type = inner.column_type;
                Ok(Expr::call(Function::DateTrunc(part), vec![inner], column_type))
            }
            _ => Err(unknown_function(&name, arguments.len())),
        }
    }
}

pub(super) fn unknown_function(name: &str, arguments: usize) -> Refusal {
    let hint = match name {
        "RAND" | "RANDOM" | "GENERATE_UUID" | "UUID" => {
            "a query must be a function of the data; noise is added by the engine"
        }
        "CURRENT_DATE" | "CURRENT_TIMESTAMP" | "NOW" => "write the date, as in DATE '2026-01-31'",
        _ if AGGREGATES.contains(&name) => {
            "aggregates stand in SELECT, HAVING and ORDER BY, not inside WHERE, GROUP BY or one another"
        }
        "MIN" | "MAX" | "APPROX_QUANTILES" | "PERCENTILE_DISC" | "QUANTILE" => {
            "PERCENTILE_CONT(x, 0.9), or MEDIAN(x); the least and greatest value are those of one record, and \
             quantiles near them, such as PERCENTILE_CONT(x, 0.99), say more of all"
        }
        "STDDEV" | "VARIANCE" | "ANY_VALUE" | "ARRAY_AGG" | "STRING_AGG" => {
            "the aggregates are COUNT, SUM, AVG, MEDIAN and PERCENTILE_CONT"
        }
        _ => {
            "the functions are ABS SIGN FLOOR CEIL ROUND SQRT LN LOG10 EXP POWER DIV MOD SAFE_DIVIDE \
              LOWER UPPER TRIM LTRIM RTRIM LENGTH SUBSTR LEFT RIGHT STARTS_WITH ENDS_WITH CONCAT \
              COALESCE IFNULL NULLIF IF EXTRACT DATE DATE_TRUNC TIMESTAMP_TRUNC CAST"
        }
    };
    Refusal::new(format!("the function {name} with {arguments} arguments is not supported"), hint)
}

/// The arguments of a call without named arguments, DISTINCT, OVER and the like.
pub(super) fn plain_arguments(
    function: &ast::Function,
    name: &str,
) -> Result<Vec<ast::Expr>, Refusal> {
    let odd = || {
        Refusal::new(
            format!("`{function}` is not supported"),
            format!("{name} takes plain arguments; windows, FILTER and DISTINCT are not supported"),
        )
    };
    if function.over.is_some() || function.filter.is_some() || function.null_treatment.is_some() {
        return Err(odd());
    }
    let list = match &function.args {
        ast::FunctionArguments::None => return Ok(Vec::new()),
        ast::FunctionArguments::List(list) => list,
        ast::FunctionArguments::Subquery(_) => return Err(odd()),
    };
    if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return Err(odd());
    }
    let plain = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => Ok(e.clone()),
        _ if AGGREGATES.contains(&name) => Err(unknown_function(name, list.args.len())),
        _ => Err(odd()),
    };
    list.args.iter().map(plain).collect()
}

pub(super) fn plain_rounding(field: &ast::CeilFloorKind) -> bool {
    matches!(field, ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime))
}
