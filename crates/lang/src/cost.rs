//! Bounds what one row can cost, from the structure of a query alone: an analyst who times a query
//! must not be able to see that a row is there by what the query makes of it.
//!
//! The unit is an operation: a nanosecond, or less, of the engine on the processors of today, with
//! the dearest values that there are for each function (`benches/row_cost.rs` measures them).
//! The cost of a text grows with its bytes. So the bytes of every text are bounded: by its column
//! (`max_bytes` in the contract), or by the expression that makes it.

use hushtable_numbers::search::least_whole;

use crate::error::Refusal;
use crate::expr::{BinaryOp, Expr, ExprKind, MatchUse};
use crate::functions::{AT_ONCE, CHOSEN, Function, HASHED, NEW_TEXT, Texts};
use crate::like::like_segments;
use crate::pattern::{Pattern, TemplatePiece, most_looks, template};
use crate::types::{ColumnType, MAX_KEY_BYTES, MAX_NUMBER_BYTES, MAX_STRING_BYTES, Value};

/// Most operations that one row can cost in all expressions of a query together.
pub const MAX_ROW_OPERATIONS: u64 = 12_000;

/// Any node of an expression: its room in a batch is allocated, filled and read. It costs more than
/// a nanosecond so that it also bounds the number of nodes, all of which start anew with the first
/// row of a batch.
const NODE: u64 = 4;
/// A byte of text that is read as a number, date or timestamp.
const READ: u64 = 3;

/// An expression of a query that is computed from every row, and where it stands.
pub struct RowExpression<'a> {
    /// Where it stands, for errors.
    pub clause: String,
    /// The expression.
    pub expr: &'a Expr,
    /// Most bytes of the columns that it is computed from.
    pub columns: Vec<usize>,
}

/// Refuses expressions of a query that together can cost more than one row may.
pub fn check(expressions: &[RowExpression<'_>]) -> Result<(), Refusal> {
    let all =
        expressions.iter().map(|expression| expression.expr.row_operations(&expression.columns));
    // A sum that wrapped round would let the dearest query through.
    let all = all.fold(0, u64::saturating_add);
    if all <= MAX_ROW_OPERATIONS {
        return Ok(());
    }
    let mut dearest: Option<(u64, &RowExpression<'_>, &Expr)> = None;
    for expression in expressions {
        expression.expr.visit(&mut |expr| {
            let cost = expr.node_operations(&expression.columns);
            if dearest.is_none_or(|(most, ..)| cost > most) {
                dearest = Some((cost, expression, expr));
            }
        });
    }
    let of_json = dearest.is_some_and(|(_, _, expr)| reads_json(expr));
    let dearest = dearest.map(|(cost, expression, expr)| {
        let text = expr.longest_operand(&expression.columns);
        let of = if text == 0 { String::new() } else { format!(" on text of up to {text} bytes") };
        format!(
            "; the dearest part: {cost} for {}{of}, in {}",
            operation_name(expr),
            expression.clause
        )
    });
    Err(Refusal::new(
        format!(
            "one row could cost {all} operations; at most {MAX_ROW_OPERATIONS} are allowed, so \
             that the time of a query does not show whether a row is there{}",
            dearest.unwrap_or_default()
        ),
        match of_json {
            // JSON that is cut is no JSON, and has NULL in the place of every value.
            true => shorter_json(expressions),
            false => "use SUBSTR(x, 1, 50) before other functions, LIKE with one `%`, several \
                      queries, or a smaller max_bytes of the text columns in the contract (64 is \
                      enough for most names)"
                .to_owned(),
        },
    ))
}

fn reads_json(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(Function::JsonText { .. }, _))
}

/// The ways out where texts are JSON.
fn shorter_json(expressions: &[RowExpression<'_>]) -> String {
    let fits = |most: usize| {
        let operations = expressions.iter().map(|expression| {
            let columns = expression.columns.iter().map(|bytes| *bytes.min(&most));
            expression.expr.row_operations(&columns.collect::<Vec<_>>())
        });
        operations.fold(0, u64::saturating_add) <= MAX_ROW_OPERATIONS
    };
    let mut paths = 0;
    for expression in expressions {
        expression.expr.visit(&mut |expr| paths += usize::from(reads_json(expr)));
    }
    let fewer = match paths {
        1 => "",
        _ => "read fewer paths into JSON in one query",
    };
    let longest = expressions.iter().flat_map(|expression| &expression.columns).max();
    // The first length that is too long, after the empty text.
    match longest.and_then(|longest| least_whole(0, 1, *longest, |bytes| !fits(bytes))) {
        Some(too_long) if too_long > 1 => format!(
            "{fewer}{}where the texts are that short, max_bytes = {} of their column in the \
             contract",
            if fewer.is_empty() { "" } else { "; or, " },
            too_long - 1
        ),
        _ => "compute it in a column of the file".to_owned(),
    }
}

impl Expr {
    /// The most operations that the expression can take for one row, where columns have at most
    /// `columns` bytes.
    pub fn row_operations(&self, columns: &[usize]) -> u64 {
        let mut all = 0u64;
        self.visit(&mut |e| all = all.saturating_add(e.node_operations(columns)));
        all
    }

    /// The most bytes of its value, if that is text.
    pub fn most_bytes(&self, columns: &[usize]) -> usize {
        if self.column_type != ColumnType::String {
            return 0;
        }
        match &self.kind {
            ExprKind::Column(index) => columns.get(*index).copied().unwrap_or(MAX_STRING_BYTES),
            ExprKind::Literal(Value::String(text)) => text.len(),
            // Longer text that is released is NULL here.
            ExprKind::Released(_) | ExprKind::ValueAt(..) => MAX_KEY_BYTES,
            // The longest branch counts, whichever is taken: the choice follows from the row.
            ExprKind::Case(branches, otherwise) => {
                let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
                results.map(|e| e.most_bytes(columns)).max().unwrap_or(0)
            }
            ExprKind::Cast(e) => match e.column_type {
                ColumnType::Bool => 5,
                ColumnType::Int => 20,
                // A sign, a point, and a digit before it.
                ColumnType::Decimal { .. } => 42,
                // A float is written without an exponent: 5e-324 has 326 digits.
                ColumnType::Float => 350,
                ColumnType::Date => 16,
                ColumnType::Timestamp => 32,
                ColumnType::String => e.most_bytes(columns),
            },
            ExprKind::Match { value, wanted: usage, .. } => match usage {
                MatchUse::Replace(_) => value.most_bytes(columns).max(MAX_KEY_BYTES),
                _ => value.most_bytes(columns),
            },
            ExprKind::Call(function, arguments) => {
                // However deep they are nested, one byte becomes three at most.
                let mut arguments = arguments;
                if let Function::Lower | Function::Upper = function {
                    while let [Self { kind: ExprKind::Call(inner, of), .. }] = arguments.as_slice()
                        && let Function::Lower | Function::Upper = inner
                    {
                        arguments = of;
                    }
                }
                function.most_bytes(&Texts {
                    bytes: &bytes_of(arguments, columns),
                    result: 0,
                    constant: constant_text(arguments),
                })
            }
            _ => 0,
        }
    }

    /// The most bytes of the texts that it is computed from.
    fn longest_operand(&self, columns: &[usize]) -> usize {
        let mut longest = 0;
        self.each_operand(&mut |e| longest = longest.max(e.most_bytes(columns)));
        longest
    }

    /// The most operations of the expression itself for one row, without those of its operands.
    fn node_operations(&self, columns: &[usize]) -> u64 {
        let bytes = |e: &Self| e.most_bytes(columns) as u64;
        NODE + match &self.kind {
            ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Released(_) => 0,
            ExprKind::Not(_) | ExprKind::IsNull(_) => 0,
            ExprKind::Binary(op, left, right) => match op {
                BinaryOp::And | BinaryOp::Or => 1,
                BinaryOp::Add | BinaryOp::Sub => 6,
                // Floats next to zero are dear.
                BinaryOp::Mul | BinaryOp::Div if self.column_type == ColumnType::Float => 50,
                BinaryOp::Mul | BinaryOp::Div | BinaryOp::IntDiv => 11,
                BinaryOp::Mod => 10,
                BinaryOp::Power => 70,
                // A comparison ends with the shorter text.
                _ => 3 + bytes(left).min(bytes(right)) / AT_ONCE,
            },
            ExprKind::Among(keys, _) => looked_up(keys, columns),
            ExprKind::ValueAt(keys, _) => {
                looked_up(keys, columns) + NEW_TEXT + self.most_bytes(columns) as u64 / AT_ONCE
            }
            ExprKind::InList(value, list) => {
                let texts = list.iter().map(|v| match v {
                    Value::String(text) => text.len() as u64,
                    _ => 0,
                });
                20 + bytes(value).min(texts.max().unwrap_or(0))
            }
            ExprKind::Like { value, pattern, .. } => like(pattern, bytes(value)),
            ExprKind::Match { value, pattern, wanted: usage } => {
                let new_text = NEW_TEXT + self.most_bytes(columns) as u64 / AT_ONCE;
                pattern_cost(pattern, usage, bytes(value), new_text)
            }
            // A branch that is not taken is computed, too.
            ExprKind::Case(branches, _) => CHOSEN * branches.len() as u64,
            ExprKind::Cast(value) => cast(value.column_type, self.column_type, bytes(value)),
            ExprKind::Call(function, arguments) => function.operations(&Texts {
                bytes: &bytes_of(arguments, columns),
                result: self.most_bytes(columns),
                constant: constant_text(arguments),
            }),
        }
    }
}

/// The cost of a row that is looked up by its keys.
fn looked_up(keys: &[Expr], columns: &[usize]) -> u64 {
    keys.iter().map(|key| 30 + HASHED * key.most_bytes(columns) as u64).sum()
}

/// The most bytes of each operand.
fn bytes_of(operands: &[Expr], columns: &[usize]) -> Vec<usize> {
    operands.iter().map(|e| e.most_bytes(columns)).collect()
}

/// The second operand, if it is a constant text.
fn constant_text(operands: &[Expr]) -> Option<&str> {
    match operands.get(1).map(|e| &e.kind) {
        Some(ExprKind::Literal(Value::String(text))) => Some(text),
        _ => None,
    }
}

/// The cost of a text of that many bytes: its ends are compared with the pattern's; what the
/// pattern has between two `%` is searched for, each byte in as many words of 64 bits as the
/// longest segment has.
fn like(pattern: &str, bytes: u64) -> u64 {
    let segments = like_segments(pattern);
    let ends = segments.first().map_or(0, Vec::len) + segments.last().map_or(0, Vec::len);
    let between = segments.get(1..segments.len().saturating_sub(1)).unwrap_or_default();
    let words = between.iter().map(|segment| segment.len().div_ceil(64)).max().unwrap_or(0);
    // A segment of several words needs room for its bits; several segments begin anew.
    let begun = 30 * between.len() as u64;
    10 + bytes.min(ends as u64) + begun + bytes * (words as u64) * if words > 1 { 2 } else { 1 }
}

/// The cost of a regular expression on a text of that many bytes.
fn pattern_cost(pattern: &Pattern, usage: &MatchUse, bytes: u64, new_text: u64) -> u64 {
    let look = pattern.per_byte();
    let all = look * most_looks(bytes);
    10 + match usage {
        MatchUse::Contains => (look + 1) * bytes,
        MatchUse::Count => all,
        // Once to its end and once to its beginning.
        MatchUse::Extract => {
            let groups = if pattern.groups() == 0 { 0 } else { pattern.per_grouped_byte() };
            (2 * look + 2 + groups) * bytes + new_text
        }
        MatchUse::Replace(with) => {
            let pieces = template(with).unwrap_or_default();
            let group = |piece: &TemplatePiece| matches!(piece, TemplatePiece::Group(1..));
            let groups = pieces.iter().filter(|piece| group(piece)).count() as u64;
            let grouped = if groups == 0 { 0 } else { groups * pattern.per_grouped_byte() };
            all + grouped * bytes + new_text
        }
    }
}

fn cast(from: ColumnType, to: ColumnType, bytes: u64) -> u64 {
    use ColumnType as T;
    match (from, to) {
        (T::String, T::String) => 0,
        (T::String, T::Bool | T::Int) => 30 + 2 * bytes.min(MAX_NUMBER_BYTES as u64),
        // Texts next to the middle of two floats are dearest.
        (T::String, T::Float) => 150 + 5 * bytes.min(MAX_NUMBER_BYTES as u64),
        (T::String, _) => 100 + READ * bytes.min(MAX_NUMBER_BYTES as u64),
        (T::Bool | T::Int, T::String) => 20,
        (T::Timestamp, T::String) => 400,
        (_, T::String) => 200,
        _ => 6,
    }
}

/// The name in SQL of what an expression does with its operands.
fn operation_name(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Like { pattern, any_case, .. } => {
            let name = if *any_case { "ILIKE" } else { "LIKE" };
            let mut excerpt: String = pattern.chars().take(30).collect();
            if excerpt.len() < pattern.len() {
                excerpt.push('…');
            }
            format!("{name} '{excerpt}'")
        }
        ExprKind::Match { wanted: usage, .. } => match usage {
            MatchUse::Contains => "REGEXP_CONTAINS".to_owned(),
            MatchUse::Count => "REGEXP_COUNT".to_owned(),
            MatchUse::Extract => "REGEXP_EXTRACT".to_owned(),
            MatchUse::Replace(_) => "REGEXP_REPLACE".to_owned(),
        },
        ExprKind::InList(..) | ExprKind::Among(..) => "IN".to_owned(),
        ExprKind::ValueAt(..) => "a value of a release".to_owned(),
        ExprKind::Case(..) => "CASE".to_owned(),
        ExprKind::Cast(_) => format!("a CAST to {}", expr.column_type),
        ExprKind::Call(function, _) => function.name().to_owned(),
        ExprKind::Binary(..) => "an operator".to_owned(),
        _ => "a column".to_owned(),
    }
}
