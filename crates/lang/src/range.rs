//! The range of a number that an expression computes, where its structure tells it: whatever the
//! data, no value is outside.
//!
//! Rounding follows the engine's. An operation on floats that rounds correctly is monotone in each
//! operand, so the ends of the operands give the ends of the result; what rounds in other ways is
//! widened outwards. A value that does not fit its type is NULL, and NULL is in no range. No
//! promise rests on this: rows are clamped to a range anyway.

mod facts;

use hushtable_numbers::decimal::round_quotient;

use crate::expr::{BinaryOp, Expr, ExprKind, MatchUse};
use crate::functions::Operands;
pub use crate::number_range::Range;
use crate::types::{ColumnType, Value};

use self::facts::FactScope;
pub use self::facts::{Fact, Facts};

impl Range {
    /// The range of an expression of rows; `None` for what is no number. It is that of the type
    /// where the structure says no more.
    pub fn of(expr: &Expr) -> Option<Self> {
        Self::given(expr, &Facts::default())
    }

    /// The range of an expression, given facts about its columns. Of released columns, `None` where
    /// these and the structure do not tell it.
    pub fn given(expr: &Expr, facts: &Facts) -> Option<Self> {
        Self::at(expr, &FactScope::of(facts))
    }

    /// The ranges of expressions of rows, given facts about their columns.
    pub fn all_given<'a>(
        exprs: impl Iterator<Item = &'a Expr>,
        facts: &'a Facts,
    ) -> Vec<Option<Self>> {
        let scope = FactScope::of(facts);
        exprs.map(|expr| Self::at(expr, &scope)).collect()
    }

    /// The range of an expression where it stands.
    fn at<'a>(expr: &'a Expr, scope: &FactScope<'a>) -> Option<Self> {
        let known = scope.whole(expr).or_else(|| Self::computed(expr, scope));
        known.or_else(|| Self::of_type(expr.column_type).filter(|_| !scope.facts.released))
    }

    fn computed<'a>(expr: &'a Expr, scope: &FactScope<'a>) -> Option<Self> {
        let range = match &expr.kind {
            ExprKind::Column(index) => scope.column(*index)?,
            ExprKind::Literal(value) => Self::of_value(value)?,
            ExprKind::Case(branches, otherwise) => Self::case(branches, otherwise, scope)?,
            ExprKind::Cast(inner) => Self::cast(inner, expr.column_type, scope)?,
            ExprKind::Binary(BinaryOp::Mod, left, right) => Self::remainder(left, right, scope)?,
            ExprKind::Binary(BinaryOp::Div, left, right) => Self::quotient(left, right, scope)?,
            ExprKind::Binary(BinaryOp::Mul, left, right) if left == right => {
                Self::at(left, scope)?.squared()?
            }
            ExprKind::Binary(BinaryOp::Power, left, right) => match right.kind {
                ExprKind::Literal(Value::Float(2.0)) => Self::at(left, scope)?.squared()?,
                _ => return None,
            },
            ExprKind::Binary(op, left, right) => {
                Self::arithmetic(*op, Self::at(left, scope)?, Self::at(right, scope)?)?
            }
            ExprKind::Call(function, of) => function.range(&Operands {
                types: of.iter().map(|e| e.column_type).collect(),
                range: &|index| Self::at(of.get(index)?, scope),
                characters: &|index| longest(of.get(index)?, scope),
                released: scope.facts.released,
            })?,
            _ => return None,
        };
        range.fitting(expr.column_type)
    }

    /// The range of the product of a value with itself.
    fn squared(self) -> Option<Self> {
        match Self::arithmetic(BinaryOp::Mul, self, self)? {
            Self::Exact(low, high) => Some(Self::Exact(low.max(0), high)),
            Self::Float(low, high) => Some(Self::Float(low.max(0.0), high)),
            Self::Nothing => Some(Self::Nothing),
        }
    }

    /// The range of the results that the facts allow.
    fn case<'a>(
        branches: &'a [(Expr, Expr)],
        otherwise: &'a Option<Box<Expr>>,
        scope: &FactScope<'a>,
    ) -> Option<Self> {
        let mut possible = Vec::new();
        let mut rest = scope.clone();
        for (test, result) in branches {
            let truth = rest.truth(test);
            if truth != Some(false) {
                possible.push(Self::at(result, &rest.where_true(test)));
            }
            if truth == Some(true) {
                return Self::hull(possible.into_iter());
            }
            rest.add_not_true(test);
        }
        possible.extend(otherwise.iter().map(|e| Self::at(e, &rest)));
        Self::hull(possible.into_iter())
    }

    /// The range of a quotient. A quotient by zero is NULL, so a whole divisor is one or more in
    /// size.
    fn quotient<'a>(left: &'a Expr, right: &'a Expr, scope: &FactScope<'a>) -> Option<Self> {
        let mut divisor = Self::at(right, scope)?;
        if let (Self::Float(low, high), Some(Self::Exact(..))) = (divisor, whole(right, scope)) {
            divisor = match (low, high) {
                (0.0, 0.0) => Self::Nothing,
                (0.0, high) => Self::Float(1.0, high),
                (low, 0.0) => Self::Float(low, -1.0),
                _ => divisor,
            };
        }
        let quotient = Self::arithmetic(BinaryOp::Div, Self::at(left, scope)?, divisor)?;
        Some(scope.quotient(left, right).map_or(quotient, |known| quotient.within(known)))
    }

    fn arithmetic(op: BinaryOp, left: Self, right: Self) -> Option<Self> {
        match (left, right) {
            (Self::Nothing, _) | (_, Self::Nothing) => Some(Self::Nothing),
            (Self::Exact(a, b), Self::Exact(c, d)) => {
                let corners = match op {
                    BinaryOp::Add => [a.checked_add(c), b.checked_add(d)].to_vec(),
                    BinaryOp::Sub => [a.checked_sub(d), b.checked_sub(c)].to_vec(),
                    BinaryOp::Mul => pairs([a, b], [c, d]).map(|(x, y)| x.checked_mul(y)).collect(),
                    BinaryOp::IntDiv => {
                        // Quotients are largest by the divisors that are nearest to zero.
                        let divisors = [c, d, -1, 1].into_iter();
                        let divisors = divisors.filter(|y| *y != 0 && (c..=d).contains(y));
                        let all = divisors.flat_map(|y| [a.checked_div(y), b.checked_div(y)]);
                        all.collect::<Vec<_>>()
                    }
                    _ => return None,
                };
                let corners: Vec<i128> = corners.into_iter().collect::<Option<_>>()?;
                Some(match (corners.iter().min(), corners.iter().max()) {
                    (Some(&low), Some(&high)) => Self::Exact(low, high),
                    // Only zero divides.
                    _ => Self::Nothing,
                })
            }
            (Self::Float(a, b), Self::Float(c, d)) => {
                let compute: fn(f64, f64) -> f64 = match op {
                    BinaryOp::Add => |x, y| x + y,
                    BinaryOp::Sub => |x, y| x - y,
                    BinaryOp::Mul => |x, y| x * y,
                    // A divisor near zero has any quotient.
                    BinaryOp::Div if c > 0.0 || d < 0.0 => |x, y| x / y,
                    _ => return None,
                };
                let corners = pairs([a, b], [c, d]).map(|(x, y)| compute(x, y));
                Some(floats(corners))
            }
            _ => None,
        }
    }

    /// A remainder has the dividend's sign, and is nearer to zero than both operands allow.
    fn remainder<'a>(left: &'a Expr, right: &'a Expr, scope: &FactScope<'a>) -> Option<Self> {
        let (low, high) = match Self::at(left, scope) {
            Some(Self::Nothing) => return Some(Self::Nothing),
            Some(Self::Exact(low, high)) => (low, high),
            _ => (i128::MIN, i128::MAX),
        };
        Some(match Self::at(right, scope)? {
            Self::Exact(c, d) => match c.abs().max(d.abs()) {
                0 => Self::Nothing,
                largest => {
                    let most = largest - 1;
                    Self::Exact(low.clamp(-most, 0), high.clamp(0, most))
                }
            },
            Self::Nothing => Self::Nothing,
            Self::Float(..) => return None,
        })
    }

    fn cast<'a>(inner: &'a Expr, to: ColumnType, scope: &FactScope<'a>) -> Option<Self> {
        let from = inner.column_type;
        if (from, to) == (ColumnType::Bool, ColumnType::Int) {
            return Some(Self::Exact(0, 1));
        }
        let scale = |column_type: ColumnType| match column_type {
            ColumnType::Int => Some(0u8),
            ColumnType::Decimal { scale } => Some(scale),
            _ => None,
        };
        Some(match (Self::at(inner, scope)?, scale(from), scale(to)) {
            (Self::Nothing, ..) => Self::Nothing,
            (Self::Exact(low, high), Some(from_scale), Some(to)) if to >= from_scale => {
                let factor = 10i128.pow((to - from_scale).into());
                Self::Exact(low.checked_mul(factor)?, high.checked_mul(factor)?)
            }
            (Self::Exact(low, high), Some(from_scale), Some(to)) => {
                let divisor = 10i128.pow((from_scale - to).into());
                Self::Exact(round_quotient(low, divisor), round_quotient(high, divisor))
            }
            (Self::Exact(low, high), Some(from_scale), None) if to == ColumnType::Float => {
                let one = 10i128.pow(from_scale.into());
                let exact = |n: i128| n % one == 0 && (n / one).abs() <= 1 << 53;
                let float = |n: i128| n as f64 / one as f64;
                Self::Float(
                    if exact(low) { float(low) } else { float(low).next_down().next_down() },
                    if exact(high) { float(high) } else { float(high).next_up().next_up() },
                )
            }
            (Self::Float(low, high), None, Some(to)) => {
                let factor = 10f64.powi(to.into());
                // A cast of floats to integers goes to the largest there are, beyond them.
                Self::Exact((low * factor).round() as i128, (high * factor).round() as i128)
            }
            _ => return None,
        })
    }

    /// Whether the comparison holds for no two values of the ranges, which are of one type.
    pub fn never(op: BinaryOp, left: Self, right: Self) -> bool {
        fn never<T: PartialOrd>(op: BinaryOp, (a, b): (T, T), (c, d): (T, T)) -> bool {
            match op {
                BinaryOp::Eq => b < c || d < a,
                BinaryOp::Ne => a == b && c == d && a == c,
                BinaryOp::Lt => a >= d,
                BinaryOp::Le => a > d,
                BinaryOp::Gt => b <= c,
                BinaryOp::Ge => b < c,
                _ => false,
            }
        }
        match (left, right) {
            (Self::Nothing, _) | (_, Self::Nothing) => true,
            (Self::Exact(a, b), Self::Exact(c, d)) => never(op, (a, b), (c, d)),
            (Self::Float(a, b), Self::Float(c, d)) => never(op, (a, b), (c, d)),
            _ => false,
        }
    }
}

/// The range of a number that a cast made a float of, where it is whole; `None` for others.
fn whole<'a>(expr: &'a Expr, scope: &FactScope<'a>) -> Option<Range> {
    match &expr.kind {
        ExprKind::Cast(inner) if inner.column_type == ColumnType::Int => Range::at(inner, scope),
        _ => None,
    }
}

fn pairs<T: Copy>(left: [T; 2], right: [T; 2]) -> impl Iterator<Item = (T, T)> {
    left.into_iter().flat_map(move |x| right.map(|y| (x, y)))
}

/// The range of these floats; an overflow is seen by its infinity.
fn floats(all: impl Iterator<Item = f64>) -> Range {
    let (low, high) =
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    Range::Float(low + 0.0, high + 0.0)
}

/// The most characters that a text can have, by its structure and by the bytes of its columns.
fn longest(text: &Expr, scope: &FactScope<'_>) -> Option<u64> {
    let bytes = &scope.facts.text_bytes;
    let bytes = (!bytes.is_empty()).then(|| u64::try_from(text.most_bytes(bytes)).ok()).flatten();
    characters(text).into_iter().chain(bytes).min()
}

/// The most characters that a text can have, where its structure bounds them.
fn characters(text: &Expr) -> Option<u64> {
    let longest = |all: &mut dyn Iterator<Item = &Expr>| {
        all.map(characters).try_fold(0, |most: u64, next| Some(most.max(next?)))
    };
    match &text.kind {
        ExprKind::Literal(Value::Null) => Some(0),
        ExprKind::Literal(Value::String(text)) => u64::try_from(text.chars().count()).ok(),
        ExprKind::Case(branches, otherwise) => {
            let results = branches.iter().map(|(_, result)| result);
            longest(&mut results.chain(otherwise.as_deref()))
        }
        ExprKind::Cast(inner) => match inner.column_type {
            ColumnType::Bool => Some(5),
            // -9223372036854775808.
            ColumnType::Int => Some(20),
            _ => None,
        },
        ExprKind::Match { value, wanted: MatchUse::Extract, .. } => characters(value),
        ExprKind::Call(function, of) => {
            function.most_characters(&of.iter().map(characters).collect::<Vec<_>>())
        }
        _ => None,
    }
}
