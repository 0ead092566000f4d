//! Operators, IN, LIKE and CASE.

use sqlparser::ast::{self, BinaryOperator};

use super::common_types::{
    balanced, case_of, cast, compare, concat, negate_if, scale_of, unify, unify_all,
};
use super::foreign_calls::interval_compared;
use super::json_access::json_alone;
use super::literals::text;
use super::mixed_types::{ComparisonSyntax, compared_with};
use super::placeholder::{ReleasedField, comparable, of_column, released_column};
use super::{Binder, Resolve, number_of};
use crate::error::Refusal;
use crate::expr::{BinaryOp, EarlierRows, Expr, ExprKind, MatchUse};
use crate::functions::Function;
use crate::types::{ColumnType, MAX_SCALE, Value};

impl<R: Resolve> Binder<'_, R> {
    pub(super) fn is_bool(
        &mut self,
        node: &ast::Expr,
        value: bool,
        negated: bool,
    ) -> Result<Expr, Refusal> {
        let inner = self.boolean(node, "IS")?;
        let inner = negate_if(!value, inner);
        let otherwise = Expr::literal(Value::Bool(false));
        let known = Expr::call(Function::Coalesce, vec![inner, otherwise], ColumnType::Bool);
        Ok(negate_if(negated, known))
    }

    pub(super) fn binary(
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
            let terms = self.chain(left, right, op, name)?;
            return Ok(balanced(terms, &|l, r| Expr::binary(op, l, r, ColumnType::Bool)));
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
        if let Some(compared) = compared {
            if let Some(refusal) = interval_compared(left, op, right) {
                return Err(refusal);
            }
            let (left_value, right_value) = (self.bind(left)?, self.bind(right)?);
            let sides = [(left, &left_value), (right, &right_value)];
            compared_with(left, &left_value, &sides[1..], ComparisonSyntax::Operator(op))?;
            compared_with(right, &right_value, &sides[..1], ComparisonSyntax::Reversed(op))?;
            return compare(compared, left_value, right_value);
        }
        match op {
            BinaryOperator::Plus | BinaryOperator::Minus => {
                let minus = *op == BinaryOperator::Minus;
                if let Some(moved) = self.date_arithmetic(left, minus, right)? {
                    return Ok(moved);
                }
                let both = (self.bind(left)?, self.bind(right)?);
                if let Some(days) = Self::days(&both.0, minus, &both.1)? {
                    return Ok(days);
                }
                let (op, name) = if minus { (BinaryOp::Sub, "-") } else { (BinaryOp::Add, "+") };
                let both = (number_of(both.0, left, name)?, number_of(both.1, right, name)?);
                let (left, right) = unify(both.0, both.1, name)?;
                let column_type = left.column_type;
                Ok(Expr::binary(op, left, right, column_type))
            }
            BinaryOperator::PGRegexMatch => {
                self.matching("~", left, right, MatchUse::Contains, false)
            }
            BinaryOperator::PGRegexIMatch => {
                self.matching("~*", left, right, MatchUse::Contains, true)
            }
            BinaryOperator::PGRegexNotMatch => {
                let matched = self.matching("!~", left, right, MatchUse::Contains, false)?;
                Ok(negate_if(true, matched))
            }
            BinaryOperator::PGRegexNotIMatch => {
                let matched = self.matching("!~*", left, right, MatchUse::Contains, true)?;
                Ok(negate_if(true, matched))
            }
            BinaryOperator::PGLikeMatch => self.like(left, right, false),
            BinaryOperator::PGILikeMatch => self.like(left, right, true),
            BinaryOperator::PGNotLikeMatch => Ok(negate_if(true, self.like(left, right, false)?)),
            BinaryOperator::PGNotILikeMatch => Ok(negate_if(true, self.like(left, right, true)?)),
            BinaryOperator::Multiply => self.arithmetic(BinaryOp::Mul, "*", left, right),
            BinaryOperator::Divide => self.arithmetic(BinaryOp::Div, "/", left, right),
            BinaryOperator::DuckIntegerDivide => {
                self.arithmetic(BinaryOp::IntDiv, "//", left, right)
            }
            BinaryOperator::Custom(_) => self.arithmetic(BinaryOp::Power, "**", left, right),
            BinaryOperator::Modulo => self.arithmetic(BinaryOp::Mod, "%", left, right),
            BinaryOperator::StringConcat => {
                Ok(concat(vec![self.text(left, "||")?, self.text(right, "||")?]))
            }
            BinaryOperator::LongArrow => self.json_text(left, right),
            BinaryOperator::Arrow => Err(json_alone(left, right)),
            other => Err(Refusal::new(
                format!("the operator `{other}` is not supported"),
                "use = <> < <= > >= + - * / // % ** || ->> AND OR NOT",
            )),
        }
    }

    /// The terms of a chain of ANDs or of ORs, however long it is.
    fn chain(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        op: BinaryOp,
        name: &str,
    ) -> Result<Vec<Expr>, Refusal> {
        // The parser nests to the left and statements are balanced, so the chain is walked here and
        // not recursed into.
        let mut waiting = vec![right, left];
        let mut terms = Vec::new();
        while let Some(node) = waiting.pop() {
            match node {
                ast::Expr::BinaryOp { left, op: inner_op, right }
                    if matches!(
                        (inner_op, op),
                        (BinaryOperator::And, BinaryOp::And) | (BinaryOperator::Or, BinaryOp::Or)
                    ) =>
                {
                    waiting.extend([right.as_ref(), left.as_ref()]);
                }
                node => terms.push(self.boolean(node, name)?),
            }
        }
        Ok(terms)
    }

    pub(super) fn arithmetic(
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
            BinaryOp::Mod
                if [&left, &right].iter().any(|side| scale_of(side.column_type) > 0)
                    && ![&left, &right]
                        .iter()
                        .any(|side| side.column_type == ColumnType::Float) =>
            {
                let (left, right) = unify(left, right, name)?;
                let column_type = left.column_type;
                Ok(Expr::binary(op, left, right, column_type))
            }
            BinaryOp::IntDiv | BinaryOp::Mod => {
                for side in [&left, &right] {
                    if side.column_type != ColumnType::Int {
                        return Err(Refusal::new(
                            format!("{name} needs integers, not {}", side.column_type),
                            match op {
                                BinaryOp::Mod => "x - y * FLOOR(x / y)",
                                _ => "FLOOR(x / y), or / for a quotient with a fraction",
                            },
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
                                "a product of decimals would need {scale} decimal places; \
                                 at most {MAX_SCALE} are kept"
                            ),
                            "CAST(x AS FLOAT64) * y",
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

    /// Whether two values differ, where NULL is a value like any other.
    pub(super) fn distinct(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Expr, Refusal> {
        let (left, right) = (self.bind(left)?, self.bind(right)?);
        let null = |e: Expr| Expr::new(ExprKind::IsNull(Box::new(e)), ColumnType::Bool);
        for (one, other) in [(&left, &right), (&right, &left)] {
            if one.is_null_literal() {
                return Ok(negate_if(true, null(other.clone())));
            }
        }
        let both_null = null(left.clone()).and(null(right.clone()));
        let equal = compare(BinaryOp::Eq, left, right)?;
        let unknown = Expr::literal(Value::Bool(false));
        let equal = Expr::call(Function::Coalesce, vec![equal, unknown], ColumnType::Bool);
        let same = Expr::binary(BinaryOp::Or, equal, both_null, ColumnType::Bool);
        Ok(negate_if(true, same))
    }

    pub(super) fn in_list(
        &mut self,
        node: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
    ) -> Result<Expr, Refusal> {
        let value = self.bind(node)?;
        if let Some((column, column_type)) = released_column(list) {
            return among_released(value, column, column_type);
        }
        let mut constants = Vec::with_capacity(list.len());
        let mut alternatives: Vec<Expr> = Vec::new();
        let items = list.iter().map(|item| Ok((item, self.bind(item)?)));
        let items = items.collect::<Result<Vec<_>, Refusal>>()?;
        let others: Vec<_> = items.iter().map(|(item, bound)| (*item, bound)).collect();
        compared_with(node, &value, &others, ComparisonSyntax::In)?;
        for (_, item) in items {
            if item.is_null_literal() && negated {
                return Err(Refusal::new(
                    "NOT IN of a list with NULL is never true: nothing would be kept",
                    "leave NULL out: NOT IN leaves out rows without a value anyway; add OR x IS \
                     NULL where they are meant, too",
                ));
            }
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
            alternatives.push(equal);
        }
        if !constants.is_empty() || alternatives.is_empty() {
            let listed = ExprKind::InList(Box::new(value), constants);
            alternatives.push(Expr::new(listed, ColumnType::Bool));
        }
        Ok(balanced(alternatives, &|l, r| Expr::binary(BinaryOp::Or, l, r, ColumnType::Bool)))
    }

    /// LIKE with ESCAPE: rewrites the pattern so that a backslash is the escape character.
    pub(super) fn like_escaped(
        &mut self,
        value: &ast::Expr,
        pattern: &ast::Expr,
        escape: &ast::Value,
        any_case: bool,
    ) -> Result<Expr, Refusal> {
        let form =
            "x LIKE '10!%' ESCAPE '!' is '10%' itself; without ESCAPE, a backslash does the same";
        let mut of = text(escape).unwrap_or_default().chars();
        let (Some(escape), None) = (of.next(), of.next()) else {
            return Err(Refusal::new(format!("ESCAPE {escape} is not one character"), form));
        };
        let ExprKind::Literal(Value::String(written)) = self.bind(pattern)?.kind else {
            return self.like(value, pattern, any_case);
        };
        let mut plain = String::with_capacity(written.len());
        let mut rest = written.chars();
        while let Some(c) = rest.next() {
            let itself = match c {
                c if c == escape => rest.next().ok_or_else(|| {
                    Refusal::new(format!("the pattern '{written}' ends with its ESCAPE"), form)
                        .at(pattern)
                })?,
                '%' | '_' => {
                    plain.push(c);
                    continue;
                }
                c => c,
            };
            if matches!(itself, '%' | '_' | '\\') {
                plain.push('\\');
            }
            plain.push(itself);
        }
        let pattern = ast::Expr::value(ast::Value::SingleQuotedString(plain));
        self.like(value, &pattern, any_case)
    }

    /// LIKE, or ILIKE with `any_case`.
    pub(super) fn like(
        &mut self,
        value: &ast::Expr,
        pattern: &ast::Expr,
        any_case: bool,
    ) -> Result<Expr, Refusal> {
        let name = if any_case { "ILIKE" } else { "LIKE" };
        let value = self.text(value, name)?;
        let ExprKind::Literal(Value::String(pattern)) = self.bind(pattern)?.kind else {
            return Err(Refusal::new(
                format!("{name} needs a constant pattern"),
                format!("x {name} 'A%', or STARTS_WITH(x, y)"),
            ));
        };
        let kind = if any_case && !pattern.is_ascii() {
            // Letters beyond ASCII have cases of different lengths.
            let value = Expr::call(Function::Lower, vec![value], ColumnType::String);
            ExprKind::Like {
                value: Box::new(value),
                pattern: pattern.to_lowercase(),
                any_case: false,
            }
        } else {
            ExprKind::Like { value: Box::new(value), pattern, any_case }
        };
        Ok(Expr::new(kind, ColumnType::Bool))
    }

    pub(super) fn case(
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
}

/// IN of a released column, with SQL's three truths: false where the column has no rows, else
/// NULL where the value is NULL, and where it is not there but a NULL is.
fn among_released(value: Expr, column: usize, column_type: ColumnType) -> Result<Expr, Refusal> {
    let value = comparable(value, ReleasedField { number: column, column_type }, "IN")?;
    let empty = of_column(EarlierRows::Empty(column), column_type);
    let any_null = of_column(EarlierRows::AnyNull(column), column_type);
    let missing = Expr::new(ExprKind::IsNull(Box::new(value.clone())), ColumnType::Bool);
    let there = ExprKind::Among(vec![value], EarlierRows::Values(vec![column]));
    let there = Expr::new(there, ColumnType::Bool);
    let tests = vec![empty, missing, there, any_null];
    let [no, yes] = [Value::Bool(false), Value::Bool(true)];
    let results = [no.clone(), Value::Null, yes, Value::Null, no];
    Ok(case_of(tests, results.map(Expr::literal).to_vec()))
}
