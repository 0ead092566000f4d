//! Variances, standard deviations, covariances and correlations, from counts and bounded sums.
//!
//! Values are taken from the middle of their bounds, so that sums of squares are as small as the
//! bounds allow. Everything is computed from released sums: a variance is one of three noisy
//! numbers, and costs as much as they do.

use hushtable_lang::bind_expr::{cast, where_true};
use hushtable_lang::range::Range;
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Function, Refusal, Value};
use sqlparser::ast;

use super::Clamps;
use super::call_arguments::{Arguments, needs_numbers};
use super::collected::Aggregates;
use super::row_bounds::RowBounds;

/// A value of rows, from the middle of its bounds, and clamped to them.
struct CentredValue {
    expr: Expr,
    /// Half of the width of its bounds.
    half: f64,
}

/// How the names of these aggregates begin and end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MomentKind {
    Variance,
    Deviation,
    Covariance,
    Correlation,
}

fn kind(name: &str) -> (MomentKind, bool) {
    let kind = match name {
        "CORR" => MomentKind::Correlation,
        _ if name.starts_with("COVAR") => MomentKind::Covariance,
        _ if name.starts_with("STDDEV") => MomentKind::Deviation,
        _ => MomentKind::Variance,
    };
    (kind, !name.ends_with("_POP"))
}

impl Aggregates<'_> {
    /// VARIANCE, STDDEV, COVAR_POP, CORR and their variants.
    pub(super) fn moment(
        &mut self,
        function: &ast::Function,
        name: &str,
        arguments: &Arguments,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let (kind, of_sample) = kind(name);
        let first = self.operand(arguments, function)?;
        let second = self.second(arguments)?;
        let context = (function, arguments, keys);
        let x = self.centred(function, &first, arguments.row_bounds, arguments)?;
        let Some(second) = second else {
            // Rows without a value are NULL in each of the sums.
            let count = self.values(first, context)?;
            let (sum, squares) = (self.sum_within(&x, context)?, self.product(&x, &x, context)?);
            let variance = within_pairs(&count, (&sum, &sum), squares);
            let variance = not_below_zero(variance);
            let variance = if of_sample { of_a_sample(variance, &count) } else { variance };
            return Ok(match kind {
                MomentKind::Deviation => call(Function::Sqrt, variance),
                _ => variance,
            });
        };
        let y = self.centred(function, &second, arguments.second_bounds, arguments)?;
        // Only rows with both values count.
        let all = self.table.is_never_null(&first) && self.table.is_never_null(&second);
        let both = present(&first).and(present(&second));
        let operand = if all { first.clone() } else { where_true(both.clone(), None) };
        let count = self.values(operand, context)?;
        let only = |centred: &CentredValue| CentredValue {
            expr: match all {
                true => centred.expr.clone(),
                false => where_true(both.clone(), Some(centred.expr.clone())),
            },
            half: centred.half,
        };
        let (only_x, only_y) = (only(&x), only(&y));
        let (sum_x, sum_y) =
            (self.sum_within(&only_x, context)?, self.sum_within(&only_y, context)?);
        let products = self.product(&x, &y, context)?;
        let covariance = within_pairs(&count, (&sum_x, &sum_y), products);
        if kind == MomentKind::Covariance {
            return Ok(if of_sample { of_a_sample(covariance, &count) } else { covariance });
        }
        let squares_x = self.product(&only_x, &only_x, context)?;
        let squares_y = self.product(&only_y, &only_y, context)?;
        let variance = |sum, squares| within_pairs(&count, (sum, sum), squares);
        let both = arithmetic(
            BinaryOp::Mul,
            not_below_zero(variance(&sum_x, squares_x)),
            not_below_zero(variance(&sum_y, squares_y)),
        );
        // Division by zero is NULL: nothing correlates with a constant.
        let ratio = arithmetic(BinaryOp::Div, covariance, call(Function::Sqrt, both));
        let most = |x, y| Expr::call(Function::Least, vec![x, y], ColumnType::Float);
        let least = |x, y| Expr::call(Function::Greatest, vec![x, y], ColumnType::Float);
        Ok(least(most(ratio, float(1.0)), float(-1.0)))
    }

    /// The second operand of COVAR_POP and CORR, where there is one.
    fn second(&self, arguments: &Arguments) -> Result<Option<Expr>, Refusal> {
        arguments.second.as_ref().map(|node| self.row(node)).transpose()
    }

    /// A value from the middle of its bounds: those of the query, the contract's, or those that its
    /// structure tells.
    fn centred(
        &mut self,
        function: &ast::Function,
        operand: &Expr,
        given: Option<(hushtable_numbers::Number, hushtable_numbers::Number)>,
        arguments: &Arguments,
    ) -> Result<CentredValue, Refusal> {
        if !operand.column_type.is_numeric() {
            return Err(needs_numbers(function, operand.column_type));
        }
        let declared = self.table.bounded_column(operand).and_then(|c| c.bounds);
        let numbers = given.or(declared).or_else(|| self.learnt(operand, 1));
        let numbers = numbers.map(|(low, high)| (low.to_f64(), high.to_f64()));
        let known = || match RowBounds::of(operand, arguments, self.table) {
            Some(RowBounds::Known(range)) => range.to_f64(operand.column_type),
            _ => None,
        };
        let within = numbers.or_else(known).or_else(|| {
            let (low, high) = self.automatic_bounds(operand, true)?;
            Some((low.to_f64(), high.to_f64()))
        });
        let Some((low, high)) = within else {
            return Err(Refusal::new(
                format!(
                    "`{function}` has no bounds on the value of each row of `{}`",
                    self.name_of(operand)
                ),
                "contribution_bounds_per_row => (0, 100), for two operands ((0, 100), (0, 1)), \
                 or bounds of the column in the contract; choose them without looking at the data, \
                 or write bounds = AUTO in OPTIONS",
            ));
        };
        let half = high / 2.0 - low / 2.0;
        if half <= 0.0 {
            return Err(Refusal::new(
                format!("the bounds ({low}, {high}) of `{function}` allow one value only"),
                "contribution_bounds_per_row => (0, 100)",
            ));
        }
        let x = cast(operand.clone(), ColumnType::Float);
        let from_middle = arithmetic(BinaryOp::Sub, x, float(low / 2.0 + high / 2.0));
        let clamped = vec![from_middle, float(half)];
        let clamped = Expr::call(Function::Least, clamped, ColumnType::Float);
        let clamped = vec![clamped, float(-half)];
        let expr = Expr::call(Function::Greatest, clamped, ColumnType::Float);
        let expr = if self.table.is_never_null(operand) { expr.or_zero() } else { expr };
        Ok(CentredValue { expr, half })
    }

    /// The number of rows with a value.
    fn values(&mut self, of: Expr, (_, arguments, keys): CallContext<'_>) -> Result<Expr, Refusal> {
        let bounds = self.count_bounds(None, "COUNT")?;
        let count = self.row_count(Some(of), bounds, arguments.weight);
        let count = self.add_measurement(count, keys)?;
        Ok(cast(count, ColumnType::Float))
    }

    fn sum_within(&mut self, x: &CentredValue, context: CallContext<'_>) -> Result<Expr, Refusal> {
        let (function, arguments, keys) = context;
        let range = RowBounds::Known(Range::Float(-x.half, x.half));
        let of = (arguments.weight, keys);
        let sum = self.sum_of_rows(function, x.expr.clone(), (&range, Clamps::Rows), of)?;
        Ok(cast(sum, ColumnType::Float))
    }

    /// The sum of products, or of squares.
    fn product(
        &mut self,
        x: &CentredValue,
        y: &CentredValue,
        (function, arguments, keys): CallContext<'_>,
    ) -> Result<Expr, Refusal> {
        let most = x.half * y.half;
        let square = x.expr == y.expr;
        let range = Range::Float(if square { 0.0 } else { -most }, most);
        let product = arithmetic(BinaryOp::Mul, x.expr.clone(), y.expr.clone());
        let of = (arguments.weight, keys);
        let sum =
            self.sum_of_rows(function, product, (&RowBounds::Known(range), Clamps::Rows), of)?;
        Ok(cast(sum, ColumnType::Float))
    }
}

/// The call, its arguments, and how many keys there are.
type CallContext<'a> = (&'a ast::Function, &'a Arguments, usize);

/// The mean of products less the product of means, of what was released; NULL where no row counts.
fn within_pairs(count: &Expr, (x, y): (&Expr, &Expr), products: Expr) -> Expr {
    let mean = |of: Expr| arithmetic(BinaryOp::Div, of, count.clone());
    let means = arithmetic(BinaryOp::Mul, mean(x.clone()), mean(y.clone()));
    let spread = arithmetic(BinaryOp::Sub, mean(products), means);
    where_above(count, 0.0, spread)
}

/// Of the population that a sample stands for; NULL for a single row.
fn of_a_sample(of: Expr, count: &Expr) -> Expr {
    let others = arithmetic(BinaryOp::Sub, count.clone(), float(1.0));
    let more = arithmetic(BinaryOp::Div, count.clone(), others);
    where_above(count, 1.0, arithmetic(BinaryOp::Mul, of, more))
}

fn where_above(count: &Expr, least: f64, value: Expr) -> Expr {
    let above = Expr::binary(BinaryOp::Gt, count.clone(), float(least), ColumnType::Bool);
    where_true(above, Some(value))
}

/// Noise can bring a variance below zero.
fn not_below_zero(variance: Expr) -> Expr {
    Expr::call(Function::Greatest, vec![variance, float(0.0)], ColumnType::Float)
}

fn present(of: &Expr) -> Expr {
    let null = Expr::new(ExprKind::IsNull(Box::new(of.clone())), ColumnType::Bool);
    Expr::new(ExprKind::Not(Box::new(null)), ColumnType::Bool)
}

fn float(x: f64) -> Expr {
    // Minus zero is zero, as in the data.
    Expr::literal(Value::Float(x + 0.0))
}

fn arithmetic(op: BinaryOp, x: Expr, y: Expr) -> Expr {
    Expr::binary(op, x, y, ColumnType::Float)
}

fn call(function: Function, x: Expr) -> Expr {
    Expr::call(function, vec![x], ColumnType::Float)
}
