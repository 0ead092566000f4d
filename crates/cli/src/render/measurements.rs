//! Measurements, as text.

use hushtable::query::{
    Clamps, MAX_LATTICE, MeasurementExplanation, PerRowExplanation, QuantileExplanation,
    ReachExplanation, SimultaneousInterval,
};

use super::grid::{Alignment, TextGrid, visible};
use super::mechanisms::interval;
use super::number::{at_most, number};
use super::policy::MOST_CLASSES;

/// All measurements, with notes on some.
pub(super) fn measurements(measurements: &[MeasurementExplanation]) -> String {
    if measurements.is_empty() {
        return String::new();
    }
    let mut grid = TextGrid::new([
        ("#", Alignment::Right),
        ("what", Alignment::Left),
        ("noise", Alignment::Left),
        ("one unit adds", Alignment::Right),
        ("in steps of", Alignment::Right),
        ("noise scale", Alignment::Right),
        ("95 % within", Alignment::Right),
        ("privacy loss", Alignment::Left),
    ]);
    for (i, m) in measurements.iter().enumerate() {
        let (low, high) = m.bounds;
        grid.push([
            (i + 1).to_string(),
            visible(&m.name),
            mechanism(m),
            match (m.split_threshold, m.quantile, m.per_row) {
                (Some(threshold), ..) => format!("any, split at {}", number(threshold)),
                (_, Some(quantile), _) => values(quantile.rows_per_unit, m),
                (.., Some(per_row)) => rows(per_row),
                _ => format!("{} to {}", number(low), number(high)),
            },
            number(m.granularity),
            scale(m),
            near(m),
            paid(m),
        ]);
        for class in m.by_class.iter().take(MOST_CLASSES) {
            let name = class.class.as_deref().map_or_else(|| "others".to_owned(), visible);
            let (scale, half) = (number(class.noise_scale), within(class.half_width_95));
            let mut row = vec![String::new(), format!("  in {name}")];
            row.extend([String::new(), String::new(), String::new()]);
            row.extend([scale, half, String::new()]);
            grid.push(row);
        }
    }
    let notes: String = measurements
        .iter()
        .enumerate()
        .flat_map(|(i, m)| {
            let notes = note(m).into_iter().chain(at_once(m)).chain(nearer_sum_bound(m));
            notes.map(move |note| format!("  #{}: {note}\n", i + 1))
        })
        .collect();
    format!("What is measured in each group\n{}{notes}", grid.text(2))
}

/// Note on a measurement: its interval as a formula, or how near a quantile is.
fn note(m: &MeasurementExplanation) -> Option<String> {
    let likely = |quantile: QuantileExplanation| {
        let near =
            nearness(quantile.rate, quantile.values_between_95_even, quantile.values_between_95);
        match quantile.levels {
            Some(levels) => {
                format!("drawn with others in {levels} levels; given those before, {near}")
            }
            None => near,
        }
    };
    m.interval_95.map(interval).or(m.quantile.map(likely)).or(m.reach.map(around))
}

/// How far the worst of many groups may be off.
fn at_once(m: &MeasurementExplanation) -> Option<String> {
    let all = &m.simultaneous_95;
    let list = |of: &dyn Fn(&SimultaneousInterval) -> String| {
        all.iter().map(of).collect::<Vec<_>>().join(", ")
    };
    let groups = list(&|s| number(s.groups as f64));
    let widths = list(&|s| format!("± {}", number(s.half_width)));
    let groups = if all.len() == 1 { format!("all {groups}") } else { groups };
    (!all.is_empty()).then(|| format!("{groups} groups at once: 95 % within {widths}"))
}

/// The bound of a unit's sum from which on bounds of rows have less noise.
fn nearer_sum_bound(m: &MeasurementExplanation) -> Option<String> {
    let bound = at_most(m.nearer_sum_bound?);
    let rows = number(m.per_row?.rows.into());
    Some(format!(
        "its noise hides {rows} rows of a unit; if they add up to less than {bound}, bounds of \
         their sum have less: contribution_bounds_per_group in the query, or sum_bounds in the \
         contract"
    ))
}

/// How near a quantile x is to the exact one.
pub(super) fn nearness(rate: f64, even: f64, worst: f64) -> String {
    format!(
        "x is {} times less likely for each of the group's values between it and the exact \
         quantile; 95 % of the time there are no more than {} where values are evenly spread, \
         and {} whatever they are",
        times(rate),
        number(even.ceil()),
        number(worst.ceil())
    )
}

/// e^rate, also where that is no float.
fn times(rate: f64) -> String {
    let times = rate.exp();
    if times.is_finite() { number(times) } else { format!("e^{}", number(rate)) }
}

/// The loss of a measurement, or what has paid for it.
fn paid(m: &MeasurementExplanation) -> String {
    match m.loss {
        Some(loss) => loss.to_string(),
        None if m.quantile.is_some() => "paid by the first".to_owned(),
        None if m.mechanism.starts_with("joint") => "paid by its sums".to_owned(),
        None => "paid by the selection".to_owned(),
    }
}

/// Description of the values that a unit adds to a quantile.
fn values(rows: u32, m: &MeasurementExplanation) -> String {
    let (low, high) = m.bounds;
    let rows = counted(f64::from(rows));
    // Where there are no bounds, all that the lattice has.
    let all = high / m.granularity >= MAX_LATTICE as f64;
    if all { rows } else { format!("{rows} from {} to {}", number(low), number(high)) }
}

/// How an interval around a quantile is drawn.
fn around(reach: ReachExplanation) -> String {
    let (level, away) = (number(reach.level), counted(reach.values_aimed_at.ceil()));
    let together = match reach.intervals {
        1 => "it holds the quantile".to_owned(),
        many => format!("the {many} that are drawn together hold all of their quantiles"),
    };
    format!(
        "drawn so that its nearer end is about {away} from the quantile, or at the end of the \
         range: {together} in at least {level} % of releases"
    )
}

/// The contribution of a unit to a sum whose rows, or their mean, are bounded.
fn rows(per_row: PerRowExplanation) -> String {
    let PerRowExplanation { bounds: (low, high), clamps, rows } = per_row;
    let what = if rows == 1 { "1 row".to_owned() } else { format!("{} rows", number(rows.into())) };
    let mean = if clamps == Clamps::Mean && rows > 1 { "mean " } else { "" };
    format!("{what} of {mean}{} to {}", number(low), number(high))
}

/// The scale of the noise, where that is what there is.
pub(super) fn scale(m: &MeasurementExplanation) -> String {
    m.noise_scale.map_or_else(|| "-".to_owned(), number)
}

/// How near a released value is to the exact one.
pub(super) fn near(m: &MeasurementExplanation) -> String {
    let values = |q: QuantileExplanation| counted(q.values_between_95_even.ceil());
    if let Some(reach) = m.reach {
        return counted(reach.values_aimed_at.ceil());
    }
    m.quantile.map_or_else(|| within(m.half_width_95), values)
}

/// A number of values, as text.
pub(super) fn counted(values: f64) -> String {
    format!("{} {}", number(values), if values == 1.0 { "value" } else { "values" })
}

/// How far a released value may be from the exact one.
pub(super) fn within(half_width: Option<f64>) -> String {
    half_width.map_or_else(|| "by its size".to_owned(), |half| format!("± {}", number(half)))
}

pub(super) fn mechanism(measurement: &MeasurementExplanation) -> String {
    match (measurement.mechanism.as_str(), measurement.loss) {
        ("joint_laplace", _) => "Laplace, sum and count together".to_owned(),
        ("joint_gaussian", _) => "Gaussian, sum and count together".to_owned(),
        ("joint_exponential", _) => "exponential, quantiles together".to_owned(),
        ("interval_exponential", _) => "exponential, around quantiles".to_owned(),
        (_, None) => "of the selection".to_owned(),
        ("discrete_laplace", _) => "discrete Laplace".to_owned(),
        ("rounded_gaussian", _) => "rounded Gaussian".to_owned(),
        ("log", _) => "Gaussian on its logarithm".to_owned(),
        ("sqrt", _) => "Gaussian on its root".to_owned(),
        ("exponential", _) => "exponential mechanism".to_owned(),
        ("exponential_polylogarithmic", _) => "exponential polylogarithmic".to_owned(),
        (other, _) => visible(other),
    }
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn likelihoods_are_told_at_every_rate() {
        for (rate, text) in
            [(0.0, "1"), (2f64.ln(), "2"), (700.0, "1.01e304"), (2000.5, "e^2,000.5")]
        {
            assert_eq!(times(rate), text);
        }
    }
}
