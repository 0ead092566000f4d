//! Names of measurements and expressions for readers.

use hushtable_lang::{ColumnType, Expr, ExprKind, Function};
use hushtable_mechanisms::{Percentile, RecordMechanism};

use super::{Measure, Measurement};

/// Name of the measurement for readers.
pub(super) fn describe(measurement: &Measurement, stored: &[(String, ColumnType)]) -> String {
    let what = value_of(measurement, stored);
    match measurement.measure {
        Measure::Quantile { reach: Some(_), .. } => format!("interval around the {what}"),
        _ => what,
    }
}

/// Name of the values that a measurement is of.
fn value_of(measurement: &Measurement, stored: &[(String, ColumnType)]) -> String {
    match &measurement.measure {
        Measure::Units => "count of privacy units".to_owned(),
        Measure::Rows => "count of rows".to_owned(),
        Measure::Values(expr) => format!("count of {}", short(expr, stored)),
        Measure::SumOfRows { of, .. } => format!("sum of {}", short(of, stored)),
        Measure::Distinct { of, .. } => match &of.kind {
            ExprKind::Call(Function::Code, several) if several.len() > 1 => {
                let names: Vec<String> = several.iter().map(|e| short(e, stored)).collect();
                format!("count of different combinations of {}", names.join(" and "))
            }
            _ => format!("count of different {}", short(of, stored)),
        },
        Measure::ClampedSum(expr) => format!("sum of {}", short(expr, stored)),
        Measure::PerRecordSum(sum) if sum.mechanism == RecordMechanism::default() => {
            format!("sum of {}", short(&sum.of, stored))
        }
        Measure::PerRecordSum(sum) => {
            format!("sum of {} by {}", short(&sum.of, stored), sum.mechanism)
        }
        Measure::Quantile { of, percentile, .. } if *percentile == Percentile::MEDIAN => {
            format!("median of {}", short(of, stored))
        }
        Measure::Quantile { of, percentile, .. } => {
            format!("{percentile} quantile of {}", short(of, stored))
        }
    }
}

/// The expression in a few words.
pub(super) fn short(expr: &Expr, stored: &[(String, ColumnType)]) -> String {
    match &expr.kind {
        ExprKind::Column(i) => stored.get(*i).map_or("?", |(name, _)| name).to_owned(),
        // Zero stands in for what the contract promises not to be there.
        ExprKind::Call(Function::ToInt | Function::Code | Function::Coalesce, inner)
            if inner
                .iter()
                .skip(1)
                .all(|e| matches!(&e.kind, ExprKind::Literal(v) if v.is_zero())) =>
        {
            inner.first().map_or_else(|| "?".to_owned(), |e| short(e, stored))
        }
        _ => {
            let mut names = Vec::new();
            expr.visit_columns(&mut |i| {
                if let Some((name, _)) = stored.get(i)
                    && !names.contains(name)
                {
                    names.push(name.clone());
                }
            });
            if names.is_empty() {
                let mut released = false;
                expr.visit(&mut |e| {
                    released |= matches!(
                        e.kind,
                        ExprKind::Released(_) | ExprKind::Among(..) | ExprKind::ValueAt(..)
                    )
                });
                let name = if released { "a released value" } else { "a constant" };
                return name.to_owned();
            }
            format!("an expression of {}", names.join(", "))
        }
    }
}
