//! From the syntax of an expression to a typed one.

use sqlparser::ast::{self, BinaryOperator, CastKind, UnaryOperator};

use crate::error::Refusal;
use crate::expr::{BinaryOp, DatePart, Expr, ExprKind, Function};
use crate::lattice::Number;
use crate::types::{ColumnType, MAX_KEY_BYTES, MAX_SCALE, Value};

/// Deepest nesting of an expression.
const MAX_DEPTH: u32 = 100;

/// What names, and other nodes that depend on the place, stand for.
pub(crate) trait Resolve {
    /// The expression that the node stands for here; `None` if it is an ordinary one.
    fn resolve(&mut self, node: &ast::Expr) -> Option<Result<Expr, Refusal>>;
}

/// Binds expressions in one scope.
pub(crate) struct Binder<'a, R> {
    scope: &'a mut R,
    depth: u32,
}

impl<'a, R: Resolve> Binder<'a, R> {
    pub(crate) fn new(scope: &'a mut R) -> Self {
        Self { scope, depth: 0 }
    }

    pub(crate) fn bind(&mut self, node: &ast::Expr) -> Result<Expr, Refusal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Refusal::new(
                format!("an expression is nested more than {MAX_DEPTH} deep"),
                "use IN (…) for long chains of OR",
            ));
        }
        let bound = match self.scope.resolve(node) {
            Some(resolved) => resolved,
            None => self.ordinary(node),
        };
        self.depth -= 1;
        bound
    }

    fn boxed(&mut self, node: &ast::Expr) -> Result<Box<Expr>, Refusal> {
        self.bind(node).map(Box::new)
    }

    fn boolean(&mut self, node: &ast::Expr, place: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        if expr.column_type == ColumnType::Bool {
            return Ok(expr);
        }
        Err(Refusal::new(
            format!("{place} needs a condition, and `{node}` is of type {}", expr.column_type),
            "compare it with something, as in x > 0",
        ))
    }

    fn text(&mut self, node: &ast::Expr, place: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        if expr.is_null_literal() {
            return Ok(Expr { column_type: ColumnType::String, ..expr });
        }
        if expr.column_type == ColumnType::String {
            return Ok(expr);
        }
        Err(Refusal::new(
            format!("{place} needs text, and `{node}` is of type {}", expr.column_type),
            "CAST(… AS STRING)",
        ))
    }

    fn number(&mut self, node: &ast::Expr, place: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        if expr.is_null_literal() {
            return Ok(Expr { column_type: ColumnType::Int, ..expr });
        }
        if expr.column_type.is_numeric() {
            return Ok(expr);
        }
        Err(Refusal::new(
            format!("{place} needs a number, and `{node}` is of type {}", expr.column_type),
            "CAST(… AS INT64) or CAST(… AS FLOAT64)",
        ))
    }

    fn float(&mut self, node: &ast::Expr, place: &str) -> Result<Expr, Refusal> {
        Ok(cast(self.number(node, place)?, ColumnType::Float))
    }

    fn ordinary(&mut self, node: &ast::Expr) -> Result<Expr, Refusal> {
        use ast::Expr as E;
        Ok(match node {
            E::Nested(inner) => self.bind(inner)?,
            E::Value(value) => Expr::literal(constant(&value.value)?),
            E::TypedString(typed) => typed_literal(typed)?,
            E::UnaryOp { op: UnaryOperator::Not, expr } => {
                let inner = self.boolean(expr, "NOT")?;
                Expr::new(ExprKind::Not(Box::new(inner)), ColumnType::Bool)
            }
            E::UnaryOp { op: UnaryOperator::Plus, expr } => self.number(expr, "+")?,
            E::UnaryOp { op: UnaryOperator::Minus, expr } => negate(self.number(expr, "-")?),
            E::BinaryOp { left, op, right } => self.binary(left, op, right)?,
            E::IsNull(inner) => Expr::new(ExprKind::IsNull(self.boxed(inner)?), ColumnType::Bool),
            E::IsNotNull(inner) => {
                let null = Expr::new(ExprKind::IsNull(self.boxed(inner)?), ColumnType::Bool);
                Expr::new(ExprKind::Not(Box::new(null)), ColumnType::Bool)
            }
            E::IsTrue(inner) => self.is_bool(inner, true, false)?,
            E::IsNotTrue(inner) => self.is_bool(inner, true, true)?,
            E::IsFalse(inner) => self.is_bool(inner, false, false)?,
            E::IsNotFalse(inner) => self.is_bool(inner, false, true)?,
            E::Between { expr, negated, low, high } => {
                let value = self.bind(expr)?;
                let (low, high) = (self.bind(low)?, self.bind(high)?);
                let from = compare(BinaryOp::Ge, value.clone(), low)?;
                let to = compare(BinaryOp::Le, value, high)?;
                negate_if(*negated, from.and(to))
            }
            E::InList { expr, list, negated } => negate_if(*negated, self.in_list(expr, list)?),
            E::Like { negated, any: false, expr, pattern, escape_char: None } => {
                negate_if(*negated, self.like(expr, pattern)?)
            }
            E::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())?
            }
            E::Cast {
                kind: CastKind::Cast | CastKind::SafeCast | CastKind::TryCast,
                expr,
                data_type,
                format: None,
                ..
            } => {
                let target = sql_type(data_type)?;
                let inner = self.bind(expr)?;
                checked_cast(inner, target)?
            }
            E::Extract { field, expr, .. } => {
                let part = date_part(&field.to_string())?;
                self.extract(part, expr)?
            }
            E::Floor { expr, field } if plain_rounding(field) => {
                let inner = self.float(expr, "FLOOR")?;
                Expr::call(Function::Floor, vec![inner], ColumnType::Float)
            }
            E::Ceil { expr, field } if plain_rounding(field) => {
                let inner = self.float(expr, "CEIL")?;
                Expr::call(Function::Ceil, vec![inner], ColumnType::Float)
            }
            E::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                self.substr(expr, from, substring_for.as_deref())?
            }
            E::Trim { trim_where, trim_what: None, expr, trim_characters: None } => {
                let function = match trim_where {
                    None | Some(ast::TrimWhereField::Both) => Function::Trim,
                    Some(ast::TrimWhereField::Leading) => Function::LTrim,
                    Some(ast::TrimWhereField::Trailing) => Function::RTrim,
                };
                Expr::call(function, vec![self.text(expr, "TRIM")?], ColumnType::String)
            }
            E::Function(function) => self.function(function)?,
            E::Subquery(_) | E::Exists { .. } | E::InSubquery { .. } => {
                return Err(Refusal::new(
                    "subqueries are not supported",
                    "ask for the parts one by one, or prepare the table in a file of its own",
                ));
            }
            other => {
                return Err(Refusal::new(
                    format!("`{other}` is not supported"),
                    "comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, CASE, CAST, + - * /, DIV, MOD \
                     and common functions of numbers, texts and dates are",
                ));
            }
        })
    }

    fn is_bool(&mut self, node: &ast::Expr, value: bool, negated: bool) -> Result<Expr, Refusal> {
        let inner = self.boolean(node, "IS")?;
        let inner = negate_if(!value, inner);
        let otherwise = Expr::literal(Value::Bool(false));
        let known = Expr::call(Function::Coalesce, vec![inner, otherwise], ColumnType::Bool);
        Ok(negate_if(negated, known))
    }

    fn binary(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
    ) -> Result<Expr, Refusal> {
        let logical = match op {
            BinaryOperator::And => Some((BinaryOp::And, "AND")),
            BinaryOperator::Or => Some((BinaryOp::Or, "OR")),
            _ => None,
        };
        if let Some((op, name)) = logical {
            let (left, right) = (self.boolean(left, name)?, self.boolean(right, name)?);
            return Ok(Expr::binary(op, left, right, ColumnType::Bool));
        }
        let compared = match op {
            BinaryOperator::Eq => Some(BinaryOp::Eq),
            BinaryOperator::NotEq => Some(BinaryOp::Ne),
            BinaryOperator::Lt => Some(BinaryOp::Lt),
            BinaryOperator::LtEq => Some(BinaryOp::Le),
            BinaryOperator::Gt => Some(BinaryOp::Gt),
            BinaryOperator::GtEq => Some(BinaryOp::Ge),
            _ => None,
        };
        if let Some(op) = compared {
            return compare(op, self.bind(left)?, self.bind(right)?);
        }
        match op {
            BinaryOperator::Plus => self.arithmetic(BinaryOp::Add, "+", left, right),
            BinaryOperator::Minus => self.arithmetic(BinaryOp::Sub, "-", left, right),
            BinaryOperator::Multiply => self.arithmetic(BinaryOp::Mul, "*", left, right),
            BinaryOperator::Divide => self.arithmetic(BinaryOp::Div, "/", left, right),
            BinaryOperator::Modulo => self.arithmetic(BinaryOp::Mod, "%", left, right),
            BinaryOperator::StringConcat => {
                let (left, right) = (self.text(left, "||")?, self.text(right, "||")?);
                Ok(Expr::call(Function::Concat, vec![left, right], ColumnType::String))
            }
            other => Err(Refusal::new(
                format!("the operator `{other}` is not supported"),
                "= <> < <= > >= + - * / % || AND OR NOT are",
            )),
        }
    }

    fn arithmetic(
        &mut self,
        op: BinaryOp,
        name: &str,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Expr, Refusal> {
        let (left, right) = (self.number(left, name)?, self.number(right, name)?);
        match op {
            BinaryOp::Div | BinaryOp::Power => {
                let (left, right) = (cast(left, ColumnType::Float), cast(right, ColumnType::Float));
                Ok(Expr::binary(op, left, right, ColumnType::Float))
            }
            BinaryOp::IntDiv | BinaryOp::Mod => {
                for side in [&left, &right] {
                    if side.column_type != ColumnType::Int {
                        return Err(Refusal::new(
                            format!("{name} needs integers, not {}", side.column_type),
                            "CAST(… AS INT64), or / for a quotient with a fraction",
                        ));
                    }
                }
                Ok(Expr::binary(op, left, right, ColumnType::Int))
            }
            BinaryOp::Mul => match (left.column_type, right.column_type) {
                (ColumnType::Float, _) | (_, ColumnType::Float) => {
                    let sides = (cast(left, ColumnType::Float), cast(right, ColumnType::Float));
                    Ok(Expr::binary(op, sides.0, sides.1, ColumnType::Float))
                }
                (ColumnType::Int, ColumnType::Int) => {
                    Ok(Expr::binary(op, left, right, ColumnType::Int))
                }
                (a, b) => {
                    let scale = scale_of(a) + scale_of(b);
                    if scale > MAX_SCALE {
                        return Err(Refusal::new(
                            format!(
                                "a product of decimals would need {scale} decimal places; at most {MAX_SCALE} are kept"
                            ),
                            "CAST(… AS FLOAT64) one of the factors",
                        ));
                    }
                    let left = cast(left, ColumnType::Decimal { scale: scale_of(a) });
                    let right = cast(right, ColumnType::Decimal { scale: scale_of(b) });
                    Ok(Expr::binary(op, left, right, ColumnType::Decimal { scale }))
                }
            },
            _ => {
                let (left, right) = unify(left, right, name)?;
                let column_type = left.column_type;
                Ok(Expr::binary(op, left, right, column_type))
            }
        }
    }

    fn in_list(&mut self, node: &ast::Expr, list: &[ast::Expr]) -> Result<Expr, Refusal> {
        let value = self.bind(node)?;
        let mut constants = Vec::with_capacity(list.len());
        let mut alternatives: Option<Expr> = None;
        for item in list {
            let item = self.bind(item)?;
            if item.is_null_literal() {
                return Err(Refusal::new(
                    "NULL in an IN list matches nothing",
                    "leave it out, and add OR x IS NULL where rows without a value are meant",
                ));
            }
            let equal = compare(BinaryOp::Eq, value.clone(), item)?;
            // A list of constants of the value's own type stays a list, which is fast.
            if let ExprKind::Binary(_, left, right) = &equal.kind
                && **left == value
                && let ExprKind::Literal(constant) = &right.kind
            {
                constants.push(constant.clone());
                continue;
            }
            alternatives = Some(match alternatives {
                None => equal,
                Some(e) => Expr::binary(BinaryOp::Or, e, equal, ColumnType::Bool),
            });
        }
        let listed = Expr::new(ExprKind::InList(Box::new(value), constants), ColumnType::Bool);
        Ok(match (alternatives, &listed.kind) {
            (Some(e), ExprKind::InList(_, constants)) if constants.is_empty() => e,
            (Some(e), _) => Expr::binary(BinaryOp::Or, listed, e, ColumnType::Bool),
            (None, _) => listed,
        })
    }

    fn like(&mut self, value: &ast::Expr, pattern: &ast::Expr) -> Result<Expr, Refusal> {
        let value = self.text(value, "LIKE")?;
        let ExprKind::Literal(Value::String(pattern)) = self.bind(pattern)?.kind else {
            return Err(Refusal::new(
                "LIKE needs a constant pattern",
                "for example name LIKE 'A%', or STARTS_WITH(name, other)",
            ));
        };
        Ok(Expr::new(ExprKind::Like { value: Box::new(value), pattern }, ColumnType::Bool))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Expr, Refusal> {
        let operand = operand.map(|e| self.bind(e)).transpose()?;
        let mut tests = Vec::new();
        let mut results = Vec::new();
        for branch in conditions {
            tests.push(match &operand {
                None => self.boolean(&branch.condition, "WHEN")?,
                Some(value) => {
                    let other = self.bind(&branch.condition)?;
                    compare(BinaryOp::Eq, value.clone(), other)?
                }
            });
            results.push(self.bind(&branch.result)?);
        }
        if let Some(e) = otherwise {
            results.push(self.bind(e)?);
        }
        Ok(case_of(tests, unify_all(results, "CASE")?))
    }

    fn extract(&mut self, part: DatePart, node: &ast::Expr) -> Result<Expr, Refusal> {
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

    fn moment(&mut self, node: &ast::Expr, place: &str) -> Result<Expr, Refusal> {
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
    fn constant_count(
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

    fn substr(
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

    fn function(&mut self, function: &ast::Function) -> Result<Expr, Refusal> {
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
            ("CONCAT", [first, rest @ ..]) => {
                let mut all = self.text(first, "CONCAT")?;
                for node in rest {
                    let next = self.text(node, "CONCAT")?;
                    all = Expr::call(Function::Concat, vec![all, next], ColumnType::String);
                }
                Ok(all)
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

fn unknown_function(name: &str, arguments: usize) -> Refusal {
    let hint = match name {
        "RAND" | "RANDOM" | "GENERATE_UUID" | "UUID" => {
            "a query must be a function of the data; noise is added by the engine"
        }
        "CURRENT_DATE" | "CURRENT_TIMESTAMP" | "NOW" => "write the date, as in DATE '2026-01-31'",
        "COUNT" | "SUM" | "AVG" => {
            "aggregates stand in SELECT, HAVING and ORDER BY, not inside WHERE, GROUP BY or one another"
        }
        "MIN" | "MAX" | "MEDIAN" | "STDDEV" | "VARIANCE" | "APPROX_QUANTILES" | "ANY_VALUE"
        | "ARRAY_AGG" | "STRING_AGG" => "the aggregates are COUNT, SUM and AVG",
        _ => {
            "the functions are ABS SIGN FLOOR CEIL ROUND SQRT LN LOG10 EXP POWER DIV MOD SAFE_DIVIDE \
              LOWER UPPER TRIM LTRIM RTRIM LENGTH SUBSTR LEFT RIGHT STARTS_WITH ENDS_WITH CONCAT \
              COALESCE IFNULL NULLIF IF EXTRACT DATE DATE_TRUNC TIMESTAMP_TRUNC CAST"
        }
    };
    Refusal::new(format!("the function {name} with {arguments} arguments is not supported"), hint)
}

/// The arguments of a call without named arguments, DISTINCT, OVER and the like.
fn plain_arguments(function: &ast::Function, name: &str) -> Result<Vec<ast::Expr>, Refusal> {
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
        _ if matches!(name, "COUNT" | "SUM" | "AVG") => {
            Err(unknown_function(name, list.args.len()))
        }
        _ => Err(odd()),
    };
    list.args.iter().map(plain).collect()
}

fn plain_rounding(field: &ast::CeilFloorKind) -> bool {
    matches!(field, ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime))
}

fn scale_of(column_type: ColumnType) -> u8 {
    match column_type {
        ColumnType::Decimal { scale } => scale,
        _ => 0,
    }
}

fn negate_if(negated: bool, expr: Expr) -> Expr {
    if negated { Expr::new(ExprKind::Not(Box::new(expr)), ColumnType::Bool) } else { expr }
}

/// Minus the number; constants stay constants.
fn negate(expr: Expr) -> Expr {
    let value = match &expr.kind {
        ExprKind::Literal(Value::Int(n)) => n.checked_neg().map(Value::Int),
        // Minus zero is zero, as in the data.
        ExprKind::Literal(Value::Float(x)) => Some(Value::Float(0.0 - x)),
        ExprKind::Literal(Value::Decimal { digits, scale }) => {
            Some(Value::Decimal { digits: -digits, scale: *scale })
        }
        _ => None,
    };
    match value {
        Some(value) => Expr::literal(value),
        None => {
            let column_type = expr.column_type;
            Expr::call(Function::Negate, vec![expr], column_type)
        }
    }
}

/// `tests` with one result each, and one result more for the rest where there is one.
fn case_of(tests: Vec<Expr>, mut results: Vec<Expr>) -> Expr {
    let otherwise = (results.len() > tests.len()).then(|| results.pop()).flatten().map(Box::new);
    let column_type = results.first().map_or(ColumnType::Bool, |e| e.column_type);
    let branches = tests.into_iter().zip(results).collect();
    Expr::new(ExprKind::Case(branches, otherwise), column_type)
}

fn compare(op: BinaryOp, left: Expr, right: Expr) -> Result<Expr, Refusal> {
    let (left, right) = unify(left, right, "a comparison")?;
    Ok(Expr::binary(op, left, right, ColumnType::Bool))
}

/// Both expressions in one type.
fn unify(left: Expr, right: Expr, place: &str) -> Result<(Expr, Expr), Refusal> {
    let mut both = unify_all(vec![left, right], place)?;
    match (both.pop(), both.pop()) {
        (Some(right), Some(left)) => Ok((left, right)),
        _ => Err(Refusal::new(format!("{place} needs two operands"), "write both")),
    }
}

fn unify_all(exprs: Vec<Expr>, place: &str) -> Result<Vec<Expr>, Refusal> {
    let mut common: Option<ColumnType> = None;
    for expr in exprs.iter().filter(|e| !e.is_null_literal()) {
        let is_text = |e: &Expr| matches!(e.kind, ExprKind::Literal(Value::String(_)));
        common = Some(match (common, expr.column_type) {
            (None, t) => t,
            (Some(a), b) if a == b => a,
            (Some(a), b) if a.is_numeric() && b.is_numeric() => {
                if a == ColumnType::Float || b == ColumnType::Float {
                    ColumnType::Float
                } else {
                    ColumnType::Decimal { scale: scale_of(a).max(scale_of(b)) }
                }
            }
            (Some(ColumnType::Date), ColumnType::Timestamp)
            | (Some(ColumnType::Timestamp), ColumnType::Date) => ColumnType::Timestamp,
            // A text constant beside a date is that date.
            (Some(a @ (ColumnType::Date | ColumnType::Timestamp)), _) if is_text(expr) => a,
            (Some(ColumnType::String), b @ (ColumnType::Date | ColumnType::Timestamp))
                if exprs.iter().all(|e| e.column_type != ColumnType::String || is_text(e)) =>
            {
                b
            }
            (Some(a), b) => {
                return Err(Refusal::new(
                    format!("{place} mixes {a} and {b}"),
                    format!("CAST one of them, as in CAST(x AS {})", sql_name(a)),
                ));
            }
        });
    }
    let common = common.unwrap_or(ColumnType::Bool);
    exprs
        .into_iter()
        .map(|expr| match &expr.kind {
            ExprKind::Literal(Value::String(text)) if common != ColumnType::String => {
                Value::parse(text, common).map(Expr::literal).ok_or_else(|| {
                    Refusal::new(format!("'{text}' is not a {common}"), "write it as '2026-01-31'")
                })
            }
            _ => Ok(cast(expr, common)),
        })
        .collect()
}

/// The expression in another type, where every such cast is defined; constants are cast here.
pub(crate) fn cast(expr: Expr, target: ColumnType) -> Expr {
    if expr.column_type == target {
        return expr;
    }
    let constant = match (&expr.kind, target) {
        (ExprKind::Literal(Value::Null), _) => Some(Value::Null),
        (ExprKind::Literal(Value::Int(n)), ColumnType::Float) => Some(Value::Float(*n as f64)),
        (ExprKind::Literal(Value::Int(n)), ColumnType::Decimal { scale }) => {
            let digits = i128::from(*n).checked_mul(10i128.pow(u32::from(scale)));
            digits.map(|digits| Value::Decimal { digits, scale })
        }
        (
            ExprKind::Literal(Value::Decimal { digits, scale }),
            ColumnType::Decimal { scale: to },
        ) if to >= *scale => {
            let digits = digits.checked_mul(10i128.pow(u32::from(to - scale)));
            digits.map(|digits| Value::Decimal { digits, scale: to })
        }
        (ExprKind::Literal(Value::Decimal { digits, scale }), ColumnType::Float) => {
            format!("{digits}e-{scale}").parse().ok().map(Value::Float)
        }
        _ => None,
    };
    match constant {
        Some(value) => Expr { column_type: target, ..Expr::literal(value) },
        None if target == ColumnType::Int
            && expr.column_type != ColumnType::String
            && expr.column_type.is_numeric() =>
        {
            // Halves away from zero, as in GoogleSQL; a plain cast would cut off.
            Expr::call(Function::ToInt, vec![expr], ColumnType::Int)
        }
        None => Expr::new(ExprKind::Cast(Box::new(expr)), target),
    }
}

fn checked_cast(expr: Expr, target: ColumnType) -> Result<Expr, Refusal> {
    use ColumnType as T;
    let from = expr.column_type;
    let allowed = expr.is_null_literal()
        || from == target
        || from == T::String
        || target == T::String
        || from.is_numeric() && target.is_numeric()
        || matches!(
            (from, target),
            (T::Bool, T::Int)
                | (T::Int, T::Bool)
                | (T::Date, T::Timestamp)
                | (T::Timestamp, T::Date)
        );
    if allowed {
        return Ok(cast(expr, target));
    }
    Err(Refusal::new(
        format!("{from} cannot be cast to {target}"),
        "cast to STRING first, or compare with a constant",
    ))
}

fn constant(value: &ast::Value) -> Result<Value, Refusal> {
    use ast::Value as V;
    let parsed = match value {
        V::Null => Some(Value::Null),
        V::Boolean(b) => Some(Value::Bool(*b)),
        V::SingleQuotedString(s) | V::DoubleQuotedString(s) => {
            if s.len() > MAX_KEY_BYTES {
                let size = s.len();
                return Err(Refusal::new(
                    format!(
                        "a text constant has {size} bytes; at most {MAX_KEY_BYTES} are allowed"
                    ),
                    "compare with a part of it: STARTS_WITH(x, 'the first words')",
                ));
            }
            Value::parse(s, ColumnType::String)
        }
        V::Number(text, _) => match text.parse::<i64>() {
            Ok(n) => Some(Value::Int(n)),
            Err(_) => match Number::parse(text) {
                Some(number) => {
                    let (digits, scale) = number.parts();
                    Some(Value::Decimal { digits, scale })
                }
                None => Value::parse(text, ColumnType::Float),
            },
        },
        _ => None,
    };
    parsed.ok_or_else(|| {
        Refusal::new(
            format!("the constant {value} is not supported"),
            "numbers, 'text', TRUE, FALSE, NULL, DATE '2026-01-31' and TIMESTAMP '2026-01-31 10:00:00' are",
        )
    })
}

fn typed_literal(typed: &ast::TypedString) -> Result<Expr, Refusal> {
    let target = sql_type(&typed.data_type)?;
    let text = match &typed.value.value {
        ast::Value::SingleQuotedString(s) | ast::Value::DoubleQuotedString(s) => s,
        other => return Err(Refusal::new(format!("`{other}` is not a text"), "DATE '2026-01-31'")),
    };
    Value::parse(text, target).map(Expr::literal).ok_or_else(|| {
        Refusal::new(
            format!("'{text}' is not a {target}"),
            "DATE '2026-01-31', TIMESTAMP '2026-01-31 10:00:00'",
        )
    })
}

fn sql_name(column_type: ColumnType) -> &'static str {
    match column_type {
        ColumnType::Bool => "BOOL",
        ColumnType::Int => "INT64",
        ColumnType::Decimal { .. } => "NUMERIC",
        ColumnType::Float => "FLOAT64",
        ColumnType::String => "STRING",
        ColumnType::Date => "DATE",
        ColumnType::Timestamp => "TIMESTAMP",
    }
}

fn sql_type(data_type: &ast::DataType) -> Result<ColumnType, Refusal> {
    use ast::{DataType as D, ExactNumberInfo as N};
    let decimal = |info: &N| match info {
        // GoogleSQL's NUMERIC keeps nine decimal places.
        N::None => Some(9),
        N::Precision(_) => Some(0),
        N::PrecisionAndScale(_, scale) => u8::try_from(*scale).ok().filter(|&s| s <= MAX_SCALE),
    };
    let found = match data_type {
        D::Bool | D::Boolean => Some(ColumnType::Bool),
        D::Int64 | D::BigInt(_) | D::Int(_) | D::Integer(_) | D::SmallInt(_) | D::TinyInt(_) => {
            Some(ColumnType::Int)
        }
        D::Float64 | D::Double(_) | D::DoublePrecision | D::Float(_) | D::Real => {
            Some(ColumnType::Float)
        }
        D::String(_) | D::Varchar(_) | D::Text | D::Char(_) => Some(ColumnType::String),
        D::Date => Some(ColumnType::Date),
        D::Timestamp(..) | D::Datetime(_) => Some(ColumnType::Timestamp),
        D::Numeric(info) | D::Decimal(info) => {
            decimal(info).map(|scale| ColumnType::Decimal { scale })
        }
        _ => None,
    };
    found.ok_or_else(|| {
        Refusal::new(
            format!("the type {data_type} is not supported"),
            "BOOL, INT64, NUMERIC(p, s), FLOAT64, STRING, DATE and TIMESTAMP are",
        )
    })
}

fn date_part(name: &str) -> Result<DatePart, Refusal> {
    Ok(match name.to_uppercase().as_str() {
        "YEAR" => DatePart::Year,
        "QUARTER" => DatePart::Quarter,
        "MONTH" => DatePart::Month,
        "ISOWEEK" => DatePart::IsoWeek,
        "DAY" => DatePart::Day,
        "DAYOFWEEK" => DatePart::DayOfWeek,
        "DAYOFYEAR" => DatePart::DayOfYear,
        "HOUR" => DatePart::Hour,
        "MINUTE" => DatePart::Minute,
        "SECOND" => DatePart::Second,
        other => {
            return Err(Refusal::new(
                format!("the date part {other} is not supported"),
                "YEAR, QUARTER, MONTH, ISOWEEK, DAY, DAYOFWEEK, DAYOFYEAR, HOUR, MINUTE, SECOND are",
            ));
        }
    })
}
