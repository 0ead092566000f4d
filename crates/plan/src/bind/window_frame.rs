//! Frames of window functions.

use hushtable_lang::bind_expr::{Binder, RowScope};
use hushtable_lang::{ColumnType, Refusal};
use hushtable_numbers::decimal::WrittenDecimal;
use sqlparser::ast;
use sqlparser::ast::WindowFrameBound as Bound;
use sqlparser::ast::WindowFrameUnits as Units;

use crate::relation::{Distance, FrameEnd, RowFrame, WindowOrder};

/// Furthest end of a frame of rows.
const MAX_ROWS: i32 = 10_000;

/// The rows of a frame; `None` for those of the default frame.
pub(super) fn frame_of(
    frame: &ast::WindowFrame,
    order_by: &[WindowOrder],
    scope: &RowScope,
) -> Result<Option<RowFrame>, Refusal> {
    let end = frame.end_bound.as_ref().unwrap_or(&Bound::CurrentRow);
    let odd = || odd_frame(frame, end, order_by);
    let end_of = |bound: &Bound| match frame.units {
        Units::Rows if order_by.is_empty() => Err(odd()),
        Units::Rows => row_end(bound).ok_or_else(odd),
        Units::Range => value_end(bound, order_by, scope)?.ok_or_else(odd),
        Units::Groups => Err(odd()),
    };
    let starts_at_the_end = matches!(
        (&frame.start_bound, end),
        (Bound::Following(None), _) | (_, Bound::Preceding(None))
    );
    if starts_at_the_end {
        return Err(odd());
    }
    let rows = RowFrame { start: end_of(&frame.start_bound)?, end: end_of(end)? };
    if !rows.is_forward() {
        return Err(odd());
    }
    // Without an order all rows are peers.
    let by_default = order_by.is_empty()
        || matches!(rows, RowFrame { start: FrameEnd::Open, end: FrameEnd::Peers });
    Ok((!by_default).then_some(rows))
}

/// An end of a frame of rows; `None` where it is not supported.
fn row_end(bound: &Bound) -> Option<FrameEnd> {
    let (count, sign) = match bound {
        Bound::CurrentRow => return Some(FrameEnd::Rows(0)),
        Bound::Preceding(None) | Bound::Following(None) => return Some(FrameEnd::Open),
        Bound::Preceding(Some(count)) => (count, -1),
        Bound::Following(Some(count)) => (count, 1),
    };
    let count = count.to_string().parse::<i32>().ok()?;
    (0..=MAX_ROWS).contains(&count).then_some(FrameEnd::Rows(sign * count))
}

/// An end of a frame by the values that rows are ordered by; `None` where it is not supported.
fn value_end(
    bound: &Bound,
    order_by: &[WindowOrder],
    scope: &RowScope,
) -> Result<Option<FrameEnd>, Refusal> {
    let (distance, end): (_, fn(Distance) -> FrameEnd) = match bound {
        Bound::CurrentRow => return Ok(Some(FrameEnd::Peers)),
        Bound::Preceding(None) | Bound::Following(None) => return Ok(Some(FrameEnd::Open)),
        Bound::Preceding(Some(distance)) => (distance, FrameEnd::Before),
        Bound::Following(Some(distance)) => (distance, FrameEnd::After),
    };
    let [by] = order_by else { return Ok(None) };
    let distance = distance_of(distance, by.expr.column_type, scope)?;
    Ok(distance.filter(|distance| distance.fits(by.expr.column_type)).map(end))
}

/// A constant distance of values of a type. A number is of days, where the values are dates.
fn distance_of(
    node: &ast::Expr,
    column_type: ColumnType,
    mut scope: &RowScope,
) -> Result<Option<Distance>, Refusal> {
    if let ast::Expr::Interval(interval) = node {
        let span = Binder::new(&mut scope).constant_interval(interval)?;
        return Ok(span.and_then(|(months, micros)| Distance::of_time(months, micros)));
    }
    let text = node.to_string();
    let written = WrittenDecimal::read(&text).filter(|written| !written.is_negative());
    let digits = |scale: u8| {
        written.and_then(|written| i64::try_from(written.exactly(u32::from(scale))?).ok())
    };
    Ok(match column_type {
        ColumnType::Int => digits(0).map(Distance::Digits),
        ColumnType::Decimal { scale } => digits(scale).map(Distance::Digits),
        ColumnType::Float => written.and_then(|_| text.parse::<f64>().ok()).map(Distance::Float),
        ColumnType::Date => digits(0).and_then(|days| {
            Some(Distance::Time { months: 0, days: i32::try_from(days).ok()?, micros: 0 })
        }),
        ColumnType::Bool | ColumnType::String | ColumnType::Timestamp => None,
    })
}

/// The number of a constant distance, and its unit in the singular where it is an INTERVAL.
fn number_and_part(node: &ast::Expr) -> Option<(u32, Option<String>)> {
    let text = node.to_string().to_uppercase().replace('\'', "");
    match text.strip_prefix("INTERVAL ").map(|rest| rest.split_once(' ')) {
        None => Some((text.parse().ok()?, None)),
        Some(parts) => {
            let (number, part) = parts?;
            Some((number.parse().ok()?, Some(part.trim_end_matches('S').to_owned())))
        }
    }
}

/// The reason why a frame of distances between timestamps is refused, and the frame that is meant;
/// also of one that ends before it begins.
fn meant(frame: &ast::WindowFrame, end: &Bound, by: ColumnType) -> Option<(String, String)> {
    let mut reason = None;
    let mut corrected = |bound: &Bound| {
        let (Bound::Preceding(Some(node)) | Bound::Following(Some(node))) = bound else {
            return bound.to_string();
        };
        let side = if matches!(bound, Bound::Preceding(_)) { "PRECEDING" } else { "FOLLOWING" };
        let days = match number_and_part(node) {
            Some((days, None)) if by == ColumnType::Timestamp => {
                reason = Some(format!("the distance {days} of timestamps has no unit of time"));
                Some(days)
            }
            Some((number, Some(part))) if by == ColumnType::Timestamp => {
                let days = match part.as_str() {
                    "MONTH" => 30,
                    "QUARTER" => 91,
                    "YEAR" => 365,
                    _ => return bound.to_string(),
                };
                reason = Some(
                    "months differ in length: they are distances of dates, and not of timestamps"
                        .to_owned(),
                );
                number.checked_mul(days)
            }
            _ => None,
        };
        days.map_or_else(|| bound.to_string(), |days| format!("INTERVAL {days} DAY {side}"))
    };
    let (mut from, mut to) = (corrected(&frame.start_bound), corrected(end));
    let position = |bound: &Bound| match bound {
        Bound::Preceding(None) => i8::MIN,
        Bound::Preceding(Some(_)) => -1,
        Bound::CurrentRow => 0,
        Bound::Following(Some(_)) => 1,
        Bound::Following(None) => i8::MAX,
    };
    if position(&frame.start_bound) > position(end) {
        std::mem::swap(&mut from, &mut to);
        reason = Some("the frame ends before it begins".to_owned());
    }
    let frame = format!("{} BETWEEN {from} AND {to}", frame.units);
    reason.map(|reason| (reason, frame))
}

fn odd_frame(frame: &ast::WindowFrame, end: &Bound, order_by: &[WindowOrder]) -> Refusal {
    if let [by] = order_by
        && frame.units != Units::Groups
        && let Some((reason, meant)) = meant(frame, end, by.expr.column_type)
    {
        return Refusal::new(reason, meant);
    }
    let what = format!(
        "the frame `{} BETWEEN {} AND {end}` of a window is not supported",
        frame.units, frame.start_bound
    );
    let distance = match order_by {
        [by] => match by.expr.column_type {
            ColumnType::Int | ColumnType::Decimal { .. } | ColumnType::Float => Some("7"),
            ColumnType::Date => Some("INTERVAL 7 DAY"),
            ColumnType::Timestamp => Some("INTERVAL 36 HOUR"),
            ColumnType::Bool | ColumnType::String => None,
        },
        _ => None,
    };
    let rows = format!("ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, with at most {MAX_ROWS} rows");
    let hint = match distance {
        _ if order_by.is_empty() => format!("ORDER BY … {rows}"),
        Some(distance) => {
            format!("RANGE BETWEEN {distance} PRECEDING AND CURRENT ROW; or {rows}")
        }
        None => format!("{rows}; RANGE with distances needs one ORDER BY of a number or a date"),
    };
    Refusal::new(what, hint)
}
