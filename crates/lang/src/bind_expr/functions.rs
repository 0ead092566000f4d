//! Functions.

use sqlparser::ast;

use super::common_types::{case_of, compare, concat, unify_all};
use super::literals::integer;
use super::{Binder, Resolve};
use crate::aggregate_names::AGGREGATES;
use crate::call::Call;
use crate::error::{Refusal, similar};
use crate::expr::{BinaryOp, Expr, ExprKind, Function};
use crate::types::{ColumnType, Value};

/// Most characters that LPAD and RPAD make.
const MAX_PADDED: u32 = 200;

impl<R: Resolve> Binder<'_, R> {
    /// A constant whole number from `least` up.
    pub(super) fn constant_count(
        &mut self,
        node: &ast::Expr,
        least: u32,
        context: &str,
    ) -> Result<u32, Refusal> {
        if let Some(n) = integer(&self.bind(node)?)
            && let Ok(n) = u32::try_from(n)
            && n >= least
        {
            return Ok(n);
        }
        Err(Refusal::new(
            format!("{context} needs a constant whole number of at least {least}, not `{node}`"),
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
        if let Some(expr) = self.date_function(&name, &arguments)? {
            return Ok(expr);
        }
        if let Some(expr) = self.pattern_function(&name, &arguments)? {
            return Ok(expr);
        }
        if let Some(expr) = self.bucket(&name, &arguments)? {
            return Ok(expr);
        }
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
            ("TRUNC" | "TRUNCATE", [x]) => float_call(self, Function::Trunc, x),
            ("LN" | "LOG", [x]) => float_call(self, Function::Ln, x),
            ("LOG", [x, base]) => {
                let (x, base) = (self.float(x, &name)?, self.float(base, &name)?);
                Ok(quotient(log(x), log(base)))
            }
            ("LOG2", [x]) => {
                let x = self.float(x, &name)?;
                Ok(quotient(log(x), log(Expr::literal(Value::Float(2.0)))))
            }
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
            ("INITCAP", [x]) => text_call(self, Function::InitCap, x, ColumnType::String),
            ("REVERSE", [x]) => text_call(self, Function::Reverse, x, ColumnType::String),
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
            ("CONTAINS", [x, part]) => {
                let one = Expr::literal(Value::Int(1));
                compare(BinaryOp::Ge, self.position(x, part, &name)?, one)
            }
            ("STRPOS" | "INSTR", [x, part]) => self.position(x, part, &name),
            ("REPLACE", [x, from, to]) => {
                let operands = vec![
                    self.text(x, &name)?,
                    self.constant_text(from, "REPLACE(x, '-', '')")?,
                    self.constant_text(to, "REPLACE(x, '-', '')")?,
                ];
                Ok(Expr::call(Function::Replace, operands, ColumnType::String))
            }
            ("SPLIT_PART", [x, by, n]) => {
                let form = "SPLIT_PART(x, '/', 1) is the part before the first /";
                let operands = vec![self.text(x, &name)?, self.constant_text(by, form)?];
                let n = integer(&self.bind(n)?).and_then(|n| i32::try_from(n).ok());
                let n = n.filter(|n| *n != 0 && *n != i32::MIN).ok_or_else(|| {
                    Refusal::new("SPLIT_PART needs a constant number of a part, not 0", form)
                })?;
                let split = Function::SplitPart { part: n, or_empty: true };
                Ok(Expr::call(split, operands, ColumnType::String))
            }
            ("LPAD" | "RPAD", [x, n]) => self.padded(&name, x, n, None),
            ("LPAD" | "RPAD", [x, n, with]) => self.padded(&name, x, n, Some(with)),
            ("GREATEST" | "LEAST", [_, ..]) => {
                let bound = arguments.iter().map(|e| self.bind(e)).collect::<Result<_, _>>()?;
                let unified = unify_all(bound, &name)?;
                let column_type = unified[0].column_type;
                let f = if name == "GREATEST" { Function::Greatest } else { Function::Least };
                Ok(Expr::call(f, unified, column_type))
            }
            ("CONCAT", [_, ..]) => {
                let texts = arguments.iter().map(|e| self.text(e, "CONCAT"));
                Ok(concat(texts.collect::<Result<_, _>>()?))
            }
            ("COALESCE", [_, ..]) | ("IFNULL" | "NVL", [_, _]) => {
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
            ("MIN" | "MAX", [x]) => Err(extreme(&name, x)),
            ("IF" | "IIF" | "IFF", [condition, x, y]) => {
                let test = self.boolean(condition, "IF")?;
                let results = vec![self.bind(x)?, self.bind(y)?];
                Ok(case_of(vec![test], unify_all(results, "IF")?))
            }
            _ => Err(unknown_function(&name, arguments.len())),
        }
    }
}

impl<R: Resolve> Binder<'_, R> {
    /// A part of a text: SPLIT(x, '/')[OFFSET(0)], or SAFE_OFFSET, ORDINAL, SAFE_ORDINAL.
    pub(super) fn item(
        &mut self,
        root: &ast::Expr,
        chain: &[ast::AccessExpr],
    ) -> Result<Expr, Refusal> {
        let form = "SPLIT(x, '/')[SAFE_OFFSET(0)] is the part before the first /";
        let odd = |what: String| Refusal::new(what, form);
        let (
            ast::Expr::Function(split),
            [ast::AccessExpr::Subscript(ast::Subscript::Index { index })],
        ) = (root, chain)
        else {
            return Err(odd(format!("an item of `{root}` is not supported")));
        };
        let name = split.name.to_string().to_uppercase();
        let arguments = plain_arguments(split, &name)?;
        let (x, by) = match (name.as_str(), arguments.as_slice()) {
            ("SPLIT", [x]) => (x, Expr::literal(Value::String(",".to_owned()))),
            ("SPLIT", [x, by]) => (x, self.constant_text(by, form)?),
            _ => return Err(odd(format!("an item of `{root}` is not supported"))),
        };
        let offset = match index {
            ast::Expr::Function(called) => {
                let first = match called.name.to_string().to_uppercase().as_str() {
                    "OFFSET" | "SAFE_OFFSET" => Some(0),
                    "ORDINAL" | "SAFE_ORDINAL" => Some(1),
                    _ => None,
                };
                match (first, plain_arguments(called, "OFFSET")?.as_slice()) {
                    (Some(first), [n]) => {
                        integer(&self.bind(n)?).and_then(|n| n.checked_sub(first))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        let part = offset.filter(|n| *n >= 0).and_then(|n| i32::try_from(n.checked_add(1)?).ok());
        let Some(part) = part else {
            return Err(odd(format!("[{index}] is not a constant place in the result of SPLIT")));
        };
        let operands = vec![self.text(x, "SPLIT")?, by];
        let split = Function::SplitPart { part, or_empty: false };
        Ok(Expr::call(split, operands, ColumnType::String))
    }

    /// Where a text is in another.
    pub(super) fn position(
        &mut self,
        text: &ast::Expr,
        part: &ast::Expr,
        context: &str,
    ) -> Result<Expr, Refusal> {
        let both = vec![self.text(text, context)?, self.text(part, context)?];
        Ok(Expr::call(Function::Position, both, ColumnType::Int))
    }

    /// A text that is a constant.
    fn constant_text(&mut self, node: &ast::Expr, form: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        if matches!(expr.kind, ExprKind::Literal(Value::String(_))) {
            return Ok(expr);
        }
        Err(Refusal::new(format!("`{node}` is not a constant text"), form))
    }

    fn padded(
        &mut self,
        name: &str,
        text: &ast::Expr,
        length: &ast::Expr,
        with: Option<&ast::Expr>,
    ) -> Result<Expr, Refusal> {
        let form = "LPAD(x, 5, '0')";
        let text = self.text(text, name)?;
        let length = integer(&self.bind(length)?).and_then(|n| u32::try_from(n).ok());
        let with = match with {
            Some(with) => self.constant_text(with, form)?,
            None => Expr::literal(Value::String(" ".to_owned())),
        };
        let filled =
            !matches!(&with.kind, ExprKind::Literal(Value::String(padding)) if padding.is_empty());
        match length.filter(|n| filled && *n <= MAX_PADDED) {
            Some(length) => {
                let function = Function::Pad { length, left: name == "LPAD" };
                Ok(Expr::call(function, vec![text, with], ColumnType::String))
            }
            None => Err(Refusal::new(
                format!(
                    "{name} needs a constant length of at most {MAX_PADDED}, and a text to fill \
                     with"
                ),
                form,
            )),
        }
    }
}

fn log(x: Expr) -> Expr {
    Expr::call(Function::Ln, vec![x], ColumnType::Float)
}

fn quotient(x: Expr, y: Expr) -> Expr {
    Expr::binary(BinaryOp::Div, x, y, ColumnType::Float)
}

/// Refuses the least or the greatest value.
fn extreme(name: &str, of: &ast::Expr) -> Refusal {
    let share = if name == "MIN" { "0.01" } else { "0.99" };
    Refusal::new(
        format!(
            "{name}({of}) is the value of one record, and noise that hides it would leave \
             nothing of it"
        ),
        format!(
            "PERCENTILE_CONT({of}, {share}) for numbers, which all records decide; \
             GROUP BY {of} with COUNT(*) shows the values that are frequent"
        ),
    )
}

pub(super) fn unknown_function(name: &str, arguments: usize) -> Refusal {
    let hint = match name {
        "RAND" | "RANDOM" | "GENERATE_UUID" | "UUID" => {
            "leave it out: a query must be a function of the data, and the engine adds the noise"
        }
        "CURRENT_DATE" | "TODAY" => {
            "write a constant, as in DATE '2026-01-31': a contract holds on every day, and only \
             a query has a day on which it is asked"
        }
        "CURRENT_TIMESTAMP" | "CURRENT_DATETIME" | "NOW" | "GETDATE" => {
            "use CURRENT_DATE, or a constant, as in TIMESTAMP '2026-01-31 10:00:00'"
        }
        _ if AGGREGATES.contains(&name) => {
            "use aggregates in SELECT, HAVING and ORDER BY, not inside WHERE, GROUP BY or one \
             another"
        }
        "APPROX_QUANTILES" => {
            "APPROX_QUANTILES(x, 4)[OFFSET(1)] in an expression; alone in \
             SELECT it shows a column for each"
        }
        "QUANTILE" => "PERCENTILE_CONT(x, 0.9), or MEDIAN(x)",
        "SPLIT" => "SPLIT(x, '/')[SAFE_OFFSET(0)], one part of the text",
        "PARSE_NUMERIC" | "TO_NUMBER" => "CAST(x AS NUMERIC)",
        "TO_DATE" | "TO_TIMESTAMP" => "PARSE_DATE('%d.%m.%Y', x), or PARSE_TIMESTAMP",
        "TO_CHAR" => "FORMAT_DATE('%Y-%m', day), or CAST(x AS STRING)",
        "ANY_VALUE" | "ARRAY_AGG" | "STRING_AGG" | "MODE" => {
            "use GROUP BY x with COUNT(*), which shows frequent values: this would show values \
             of single records"
        }
        _ => return unknown(name, arguments),
    };
    unsupported(name, arguments, hint)
}

/// The functions that are not aggregates.
const FUNCTIONS: &str = "ABS SIGN FLOOR CEIL ROUND TRUNC SQRT LN LOG LOG2 LOG10 EXP POWER DIV \
             MOD SAFE_DIVIDE GREATEST LEAST WIDTH_BUCKET RANGE_BUCKET LOWER UPPER INITCAP TRIM \
             LTRIM RTRIM LENGTH SUBSTR LEFT RIGHT LPAD RPAD REVERSE STRPOS CONTAINS REPLACE \
             SPLIT SPLIT_PART STARTS_WITH ENDS_WITH REGEXP_CONTAINS REGEXP_EXTRACT REGEXP_REPLACE \
             REGEXP_COUNT CONCAT COALESCE IFNULL NULLIF IF EXTRACT YEAR MONTH DAY DATE DATE_TRUNC \
             DATE_ADD DATE_SUB DATE_DIFF LAST_DAY FORMAT_DATE PARSE_DATE CAST";

/// The names of all functions that a query may call, aggregates among them.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.split_whitespace().chain(AGGREGATES)
}

fn unknown(name: &str, arguments: usize) -> Refusal {
    let hint = match similar(name, function_names()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the functions are {FUNCTIONS}"),
    };
    unsupported(name, arguments, hint)
}

fn unsupported(name: &str, arguments: usize, hint: impl Into<String>) -> Refusal {
    let plural = if arguments == 1 { "" } else { "s" };
    let what = format!("the function {name} with {arguments} argument{plural} is not supported");
    Refusal::new(what, hint)
}

/// The refusal of a call whose name is none, but nearly one of these.
pub fn misspelt_function(function: &ast::Function, names: &[&'static str]) -> Option<Refusal> {
    let name = function.name.to_string().replace('`', "").to_uppercase();
    if function_names().any(|known| known == name) {
        return None;
    }
    let meant = similar(&name, names.iter().copied())?;
    Some(Refusal::new(format!("there is no function {name}"), format!("did you mean `{meant}`?")))
}

/// The arguments of a call without named arguments, DISTINCT, OVER and the like.
pub(super) fn plain_arguments(
    function: &ast::Function,
    name: &str,
) -> Result<Vec<ast::Expr>, Refusal> {
    let odd = || {
        let known: Vec<&str> = function_names().collect();
        misspelt_function(function, &known).unwrap_or_else(|| {
            Refusal::new(
                format!("`{function}` is not supported"),
                format!(
                    "{name} takes plain arguments; windows, FILTER and DISTINCT are not supported"
                ),
            )
        })
    };
    let call = Call::of(function).ok_or_else(odd)?;
    let Call { arguments, duplicates: None, filter: None, nulls: None, over: None, within: [] } =
        call
    else {
        return Err(odd());
    };
    let plain = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => Ok(e.clone()),
        _ if AGGREGATES.contains(&name) => Err(unknown_function(name, arguments.len())),
        _ => Err(odd()),
    };
    arguments.iter().map(plain).collect()
}

pub(super) fn plain_rounding(field: &ast::CeilFloorKind) -> bool {
    matches!(field, ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime))
}
