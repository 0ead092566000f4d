//! The range of a number that an expression computes, where its structure tells it: whatever the
//! data, no value is outside.
//!
//! Rounding follows the engine's. An operation on floats that rounds correctly is monotone in each
//! operand, so the ends of the operands give the ends of the result; what rounds in other ways is
//! widened outwards. A value that does not fit its type is NULL, and NULL is in no range. No
//! promise rests on this: rows are clamped to a range anyway.

mod facts;

use hushtable_numbers::decimal::{LARGEST, round_quotient};
use hushtable_numbers::{MAX_LATTICE, Step};

use crate::expr::{BinaryOp, DatePart, Expr, ExprKind, Function, MatchUse};
use crate::types::{ColumnType, Value};

use self::facts::Scope;
pub use self::facts::{Fact, Facts};

/// 10^38: decimals have fewer digits.
const DECIMAL_LIMIT: i128 = LARGEST + 1;

/// Floats up to here are scaled and rounded without overflow.
const LARGEST_FLOAT: f64 = 1e280;

/// Least and greatest value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Always NULL.
    Nothing,
    /// Integers, or the digits of decimals at the expression's scale.
    Exact(i128, i128),
    /// Finite floats.
    Float(f64, f64),
}

/// A number rounded to that many digits after the point; before it, where they are negative. Halves
/// go away from zero. Ranges are right only for what is computed as they are.
pub fn rounded(x: f64, digits: i8) -> f64 {
    // A power of ten is exact, and a tenth is not.
    let factor = 10f64.powi(i32::from(digits.unsigned_abs()));
    if digits < 0 { (x / factor).round() * factor } else { (x * factor).round() / factor }
}

impl Range {
    /// The range of an expression of rows; `None` for what is no number. It is that of the type
    /// where the structure says no more.
    pub fn of(expr: &Expr) -> Option<Self> {
        Self::given(expr, &Facts::default())
    }

    /// The range of an expression, given facts about its columns. Of released columns, `None` where
    /// these and the structure do not tell it.
    pub fn given(expr: &Expr, facts: &Facts) -> Option<Self> {
        Self::at(expr, &Scope::of(facts))
    }

    /// The ranges of expressions of rows, given facts about their columns.
    pub fn all_given<'a>(
        exprs: impl Iterator<Item = &'a Expr>,
        facts: &'a Facts,
    ) -> Vec<Option<Self>> {
        let scope = Scope::of(facts);
        exprs.map(|expr| Self::at(expr, &scope)).collect()
    }

    /// The range of an expression where it stands.
    fn at<'a>(expr: &'a Expr, scope: &Scope<'a>) -> Option<Self> {
        let known = scope.whole(expr).or_else(|| Self::computed(expr, scope));
        known.or_else(|| Self::of_type(expr.column_type).filter(|_| !scope.facts.released))
    }

    fn computed<'a>(expr: &'a Expr, scope: &Scope<'a>) -> Option<Self> {
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
            ExprKind::Call(Function::Coalesce, all) => {
                Self::hull(all.iter().map(|e| Self::at(e, scope)))?
            }
            ExprKind::Call(Function::Length, of) => {
                Self::Exact(0, longest(of.first()?, scope)?.into())
            }
            ExprKind::Call(Function::Position, of) => {
                Self::Exact(0, longest(of.first()?, scope)?.into())
            }
            ExprKind::Call(Function::RangeBucket, of) => {
                Self::Exact(0, i128::try_from(of.len().checked_sub(1)?).ok()?)
            }
            ExprKind::Call(Function::WidthBucket, of) => match Self::at(of.get(3)?, scope)? {
                Self::Exact(_, buckets) => Self::Exact(0, buckets.checked_add(1)?),
                _ => return None,
            },
            ExprKind::Call(function @ (Function::Greatest | Function::Least), all) => {
                Self::extreme(*function, all, scope)?
            }
            ExprKind::Call(Function::DatePart(part), _) => Self::of_part(*part)?,
            ExprKind::Call(function, of) => Self::called(*function, of.first()?, scope)?,
            _ => return None,
        };
        range.fitting(expr.column_type)
    }

    /// All values that a type of numbers holds.
    fn of_type(column_type: ColumnType) -> Option<Self> {
        match column_type {
            ColumnType::Int => Some(Self::Exact(i64::MIN.into(), i64::MAX.into())),
            ColumnType::Decimal { .. } => Some(Self::Exact(1 - DECIMAL_LIMIT, DECIMAL_LIMIT - 1)),
            ColumnType::Float => Some(Self::Float(-f64::MAX, f64::MAX)),
            _ => None,
        }
    }

    /// The range, where it says more than the type: both its ends are nearer to zero.
    pub fn bounded(self, column_type: ColumnType) -> Option<Self> {
        let bounded = match (self, Self::of_type(column_type)?) {
            (Self::Exact(low, high), Self::Exact(least, most)) => low > least && high < most,
            (Self::Float(low, high), _) => low > -LARGEST_FLOAT && high < LARGEST_FLOAT,
            _ => false,
        };
        bounded.then_some(self)
    }

    /// The range of sums of one value of the range or more.
    pub fn of_sums(self, column_type: ColumnType) -> Option<Self> {
        Some(match (self, Self::of_type(column_type)?) {
            (Self::Exact(low, high), Self::Exact(least, most)) => {
                Self::Exact(if low < 0 { least } else { low }, if high > 0 { most } else { high })
            }
            (Self::Float(low, high), Self::Float(least, most)) => Self::Float(
                if low < 0.0 { least } else { low },
                if high > 0.0 { most } else { high },
            ),
            _ => Self::Nothing,
        })
    }

    /// The range of the product of a value with itself.
    fn squared(self) -> Option<Self> {
        match Self::arithmetic(BinaryOp::Mul, self, self)? {
            Self::Exact(low, high) => Some(Self::Exact(low.max(0), high)),
            Self::Float(low, high) => Some(Self::Float(low.max(0.0), high)),
            Self::Nothing => Some(Self::Nothing),
        }
    }

    /// The range of a value; `None` for what is no number.
    pub fn of_value(value: &Value) -> Option<Self> {
        Some(match *value {
            Value::Null => Self::Nothing,
            Value::Int(n) => Self::Exact(n.into(), n.into()),
            Value::Decimal { digits, .. } => Self::Exact(digits, digits),
            Value::Float(x) => Self::Float(x, x),
            _ => return None,
        })
    }

    /// The values that a type holds; the others are NULL.
    fn fitting(self, column_type: ColumnType) -> Option<Self> {
        let within = |low: i128, high: i128, least: i128, most: i128| {
            if high < least || low > most {
                Self::Nothing
            } else {
                Self::Exact(low.max(least), high.min(most))
            }
        };
        match (self, column_type) {
            (Self::Nothing, _) => Some(Self::Nothing),
            (Self::Exact(low, high), ColumnType::Int) => {
                Some(within(low, high, i64::MIN.into(), i64::MAX.into()))
            }
            (Self::Exact(low, high), ColumnType::Decimal { .. }) => {
                Some(within(low, high, 1 - DECIMAL_LIMIT, DECIMAL_LIMIT - 1))
            }
            (Self::Float(low, high), ColumnType::Float) => {
                (low.is_finite() && high.is_finite()).then_some(self)
            }
            _ => None,
        }
    }

    /// The smallest range that holds all ranges.
    pub fn hull(mut all: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        all.try_fold(Self::Nothing, |whole, next| {
            Some(match (whole, next?) {
                (Self::Nothing, other) | (other, Self::Nothing) => other,
                (Self::Exact(a, b), Self::Exact(c, d)) => Self::Exact(a.min(c), b.max(d)),
                (Self::Float(a, b), Self::Float(c, d)) => Self::Float(a.min(c), b.max(d)),
                _ => return None,
            })
        })
    }

    /// The range of the results that the facts allow.
    fn case<'a>(
        branches: &'a [(Expr, Expr)],
        otherwise: &'a Option<Box<Expr>>,
        scope: &Scope<'a>,
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

    /// The range of what both ranges hold; the nearest end of `self` where they have nothing in
    /// common.
    pub fn within(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact(a, b), Self::Exact(c, d)) if c <= d => {
                Self::Exact(a.clamp(c, d), b.clamp(c, d))
            }
            (Self::Float(a, b), Self::Float(c, d)) if c <= d => {
                Self::Float(a.clamp(c, d), b.clamp(c, d))
            }
            _ => self,
        }
    }

    /// The range of a quotient. A quotient by zero is NULL, so a whole divisor is one or more in
    /// size.
    fn quotient<'a>(left: &'a Expr, right: &'a Expr, scope: &Scope<'a>) -> Option<Self> {
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

    /// The greatest or least of values: no end is beyond those of the others.
    fn extreme<'a>(function: Function, all: &'a [Expr], scope: &Scope<'a>) -> Option<Self> {
        let pick =
            |a: i128, b: i128| if function == Function::Greatest { a.max(b) } else { a.min(b) };
        let float =
            |a: f64, b: f64| if function == Function::Greatest { a.max(b) } else { a.min(b) };
        let ranges = all.iter().map(|e| Self::at(e, scope)).collect::<Option<Vec<_>>>()?;
        ranges.into_iter().map(Some).reduce(|whole, next| {
            Some(match (whole?, next?) {
                (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
                (Self::Exact(a, b), Self::Exact(c, d)) => Self::Exact(pick(a, c), pick(b, d)),
                (Self::Float(a, b), Self::Float(c, d)) => Self::Float(float(a, c), float(b, d)),
                _ => return None,
            })
        })?
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
    fn remainder<'a>(left: &'a Expr, right: &'a Expr, scope: &Scope<'a>) -> Option<Self> {
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

    fn called<'a>(function: Function, operand: &'a Expr, scope: &Scope<'a>) -> Option<Self> {
        let one = match operand.column_type {
            ColumnType::Decimal { scale } => 10i128.pow(scale.into()),
            _ => 1,
        };
        let range = Self::at(operand, scope);
        if function == Function::Sign && range.is_none() {
            return match operand.column_type {
                ColumnType::Float => Some(Self::Float(-1.0, 1.0)),
                _ => Some(Self::Exact(-one, one)),
            };
        }
        Some(match (range?, function) {
            (Self::Nothing, _) => Self::Nothing,
            (Self::Exact(low, high), Function::Negate) => Self::Exact(-high, -low),
            (Self::Float(low, high), Function::Negate) => Self::Float(0.0 - high, 0.0 - low),
            (Self::Exact(low, high), Function::Abs) => {
                let least = if low <= 0 && high >= 0 { 0 } else { low.abs().min(high.abs()) };
                Self::Exact(least, low.abs().max(high.abs()))
            }
            (Self::Float(low, high), Function::Abs) => {
                let crosses = low <= 0.0 && high >= 0.0;
                let least = if crosses { 0.0 } else { low.abs().min(high.abs()) };
                Self::Float(least, low.abs().max(high.abs()))
            }
            (Self::Exact(low, high), Function::Sign) => {
                Self::Exact(low.signum() * one, high.signum() * one)
            }
            (Self::Float(low, high), Function::Sign) => {
                let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
                Self::Float(sign(low), sign(high))
            }
            (Self::Exact(low, high), Function::ToInt) => {
                Self::Exact(round_quotient(low, one), round_quotient(high, one))
            }
            (Self::Float(low, high), Function::ToInt) => {
                Self::Exact(low.round() as i128, high.round() as i128)
            }
            (Self::Float(low, high), Function::Floor) => Self::Float(low.floor(), high.floor()),
            (Self::Float(low, high), Function::Ceil) => Self::Float(low.ceil(), high.ceil()),
            (Self::Float(low, high), Function::Trunc) => {
                Self::Float(low.trunc() + 0.0, high.trunc() + 0.0)
            }
            (Self::Float(low, high), Function::Round(digits)) => {
                let factor = 10f64.powi(i32::from(digits));
                let most = low.abs().max(high.abs());
                if most.max(most * factor) > LARGEST_FLOAT {
                    return None;
                }
                Self::Float(rounded(low, digits), rounded(high, digits))
            }
            // Roots of what is below zero are NULL.
            (Self::Float(_, high), Function::Sqrt) if high < 0.0 => Self::Nothing,
            (Self::Float(low, high), Function::Sqrt) => {
                Self::Float(low.max(0.0).sqrt(), high.sqrt())
            }
            // Bounds of rows, for which nothing is given, do not rest on how libraries round.
            (Self::Float(low, high), Function::Exp) if scope.facts.released => {
                widened(low.exp(), high.exp())
            }
            // Logarithms of what is not above zero are NULL.
            (Self::Float(_, high), Function::Ln | Function::Log10)
                if scope.facts.released && high <= 0.0 =>
            {
                Self::Nothing
            }
            (Self::Float(low, high), Function::Ln) if scope.facts.released && low > 0.0 => {
                widened(low.ln(), high.ln())
            }
            (Self::Float(low, high), Function::Log10) if scope.facts.released && low > 0.0 => {
                widened(low.log10(), high.log10())
            }
            _ => return None,
        })
    }

    fn cast<'a>(inner: &'a Expr, to: ColumnType, scope: &Scope<'a>) -> Option<Self> {
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

    fn of_part(part: DatePart) -> Option<Self> {
        Some(match part {
            DatePart::Quarter => Self::Exact(1, 4),
            DatePart::Month => Self::Exact(1, 12),
            DatePart::Day => Self::Exact(1, 31),
            DatePart::DayOfWeek | DatePart::IsoDayOfWeek => Self::Exact(1, 7),
            DatePart::DayOfWeekFromZero => Self::Exact(0, 6),
            DatePart::Week => Self::Exact(0, 53),
            DatePart::IsoWeek => Self::Exact(1, 53),
            DatePart::DayOfYear => Self::Exact(1, 366),
            DatePart::Hour => Self::Exact(0, 23),
            DatePart::Minute | DatePart::Second => Self::Exact(0, 59),
            DatePart::Millisecond => Self::Exact(0, 999),
            DatePart::Microsecond => Self::Exact(0, 999_999),
            // A calendar of half a million years is no bound that anybody wants noise for.
            DatePart::Year | DatePart::IsoYear | DatePart::Epoch => return None,
        })
    }

    /// The range as floats: of whole numbers, and of decimals by their scale.
    pub fn to_f64(self, column_type: ColumnType) -> Option<(f64, f64)> {
        let one = match column_type {
            ColumnType::Decimal { scale } => 10f64.powi(scale.into()),
            _ => 1.0,
        };
        match self {
            Self::Nothing => None,
            Self::Exact(low, high) => Some((low as f64 / one, high as f64 / one)),
            Self::Float(low, high) => Some((low, high)),
        }
    }

    /// The size of lattice steps where none is declared.
    pub fn default_step(&self, column_type: ColumnType) -> Step {
        match (*self, column_type) {
            (Self::Float(low, high), _) => Step::for_floats(low.abs().max(high.abs())),
            (_, ColumnType::Decimal { scale }) => Step::Decimal(scale),
            _ => Step::Whole(1),
        }
    }

    /// The range in steps of the lattice, rounded outwards: it holds every value, rounded. `None`
    /// without any value, and beyond [`MAX_LATTICE`].
    pub fn in_steps(&self, step: Step, column_type: ColumnType) -> Option<(i64, i64)> {
        let (low, high) = match (*self, step, column_type) {
            (Self::Exact(low, high), Step::Whole(n), ColumnType::Int) => {
                outwards(low, high, n.into())
            }
            (Self::Exact(low, high), Step::Decimal(to), ColumnType::Decimal { scale }) => {
                outwards(low, high, 10i128.pow(scale.checked_sub(to)?.into()))
            }
            (Self::Float(low, high), Step::PowerOfTwo(exponent), ColumnType::Float) => {
                let size = 2f64.powi(exponent.into());
                ((low / size).floor() as i128, (high / size).ceil() as i128)
            }
            _ => return None,
        };
        let fits = |steps: i128| i64::try_from(steps).ok().filter(|n| n.abs() <= MAX_LATTICE);
        Some((fits(low)?, fits(high)?))
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
fn whole<'a>(expr: &'a Expr, scope: &Scope<'a>) -> Option<Range> {
    match &expr.kind {
        ExprKind::Cast(inner) if inner.column_type == ColumnType::Int => Range::at(inner, scope),
        _ => None,
    }
}

/// The range between two results of a function that is monotone, and that libraries compute to
/// within a few units in the last place.
fn widened(low: f64, high: f64) -> Range {
    let away = |x: f64| 4.0 * f64::EPSILON * x.abs() + f64::MIN_POSITIVE;
    Range::Float(low - away(low), high + away(high))
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

fn outwards(low: i128, high: i128, size: i128) -> (i128, i128) {
    (low.div_euclid(size), -(-high).div_euclid(size))
}

/// The most characters that a text can have, by its structure and by the bytes of its columns.
fn longest(text: &Expr, scope: &Scope<'_>) -> Option<u64> {
    let bytes = &scope.facts.text_bytes;
    let bytes = (!bytes.is_empty()).then(|| u64::try_from(text.most_bytes(bytes)).ok()).flatten();
    characters(text).into_iter().chain(bytes).min()
}

/// The most characters that a text can have, where its structure bounds them.
fn characters(text: &Expr) -> Option<u64> {
    let first = |of: &[Expr]| of.first().and_then(characters);
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
        ExprKind::Call(function, of) => match *function {
            Function::Substr { start, length } => {
                let rest = first(of).map(|all| all.saturating_sub(u64::from(start).max(1) - 1));
                at_most(length, rest)
            }
            Function::Right(length) => at_most(Some(length), first(of)),
            Function::Trim
            | Function::LTrim
            | Function::RTrim
            | Function::Reverse
            | Function::SplitPart { .. } => first(of),
            Function::Pad { length, .. } => Some(u64::from(length)),
            // One character becomes up to three.
            Function::Lower | Function::Upper | Function::InitCap => first(of)?.checked_mul(3),
            Function::Concat => {
                of.iter().map(characters).try_fold(0u64, |sum, next| sum.checked_add(next?))
            }
            Function::Coalesce => longest(&mut of.iter()),
            _ => None,
        },
        _ => None,
    }
}

fn at_most(length: Option<u32>, characters: Option<u64>) -> Option<u64> {
    match (length.map(u64::from), characters) {
        (Some(length), Some(characters)) => Some(length.min(characters)),
        (length, characters) => length.or(characters),
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn what_has_no_digits_to_round_away_stays() {
        for (x, digits, want) in [
            (f64::MAX, -2, f64::MAX),
            (-1e22, -3, -1e22),
            (1250.0, -2, 1300.0),
            (-1250.0, -2, -1300.0),
            (2.345, 1, 2.3),
            (2.5, 0, 3.0),
        ] {
            assert_eq!(rounded(x, digits), want, "{x} {digits}");
        }
    }
}
