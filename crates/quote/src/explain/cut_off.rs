//! Rows and values that bounds cut off: no interval holds them.

use hushtable_lang::Expr;
use hushtable_plan::{Clamps, Groups, Known, Measure, Measurement, PrivateQuery};

/// The kinds of rows and values that a query leaves out or changes before it adds noise, each in a
/// few words.
pub(super) fn cut_off(query: &PrivateQuery) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |text: String| {
        if !all.contains(&text) {
            all.push(text);
        }
    };
    if let Some(beside) = query.relation().beside() {
        add(format!("rows of one unit of {} beyond {}", beside.population, beside.rows));
        let owner = query.population();
        add(format!("further rows of {owner} that agree in what the join compares"));
    }
    if let Some(rows) = query.relation().max_rows_joined() {
        let unit = query.unit_name();
        add(format!("rows of one {unit} on a side of a join beyond {rows}"));
    }
    // Where a unit has one row at most, no limit on its rows cuts anything off.
    let has_rows = |unit: &usize| {
        let unit =
            query.columns().get(*unit).map(|(_, column_type)| Expr::column(*unit, *column_type));
        !query.relation().has_one(unit.iter())
    };
    let unit = query.unit().filter(has_rows).map(|_| query.unit_name());
    if query.keys().iter().any(|key| key.public.is_some() && !key.by_query) {
        add("rows whose keys are not among the public ones".to_owned());
    }
    let one_group =
        query.groups() == Groups::Single || query.relation().has_one_of_a_unit([].iter());
    if let (Some(unit), false) = (unit, one_group) {
        let most = query.max_groups_contributed();
        add(format!("groups of one {unit} beyond {most}"));
    }
    if let (Some(unit), true) = (unit, query.rows_as_units()) {
        add(format!("rows of one {unit} in a group beyond 1 (count of rows)"));
    }
    // Without the contract, whose word is enforced by nothing but the bounds.
    let mut known = Known::of(query.relation(), None);
    known.assume(query.filter().map_or(&[], std::slice::from_ref));
    let keys = query.keys().iter().map(|key| &key.expr);
    let unit = unit.filter(|_| !query.relation().has_one_of_a_unit(keys));
    // A release may have measured more than the query shows.
    let shown = query.measurements().iter().enumerate();
    for (_, measurement) in shown.filter(|(index, _)| query.reads_measurement(*index)) {
        of_measurement(measurement, unit, &known).into_iter().for_each(&mut add);
    }
    all
}

fn of_measurement(measurement: &Measurement, unit: Option<&str>, known: &Known) -> Vec<String> {
    let (step, name) = (measurement.step.to_f64(), &measurement.name);
    let beyond = |low: i64, high: i64| {
        format!("beyond {} to {} ({name})", low as f64 * step, high as f64 * step)
    };
    let rows = |rows: i64| {
        unit.map(|unit| format!("rows of one {unit} in a group beyond {rows} ({name})"))
    };
    // Bounds that follow from an expression's structure change no value.
    let changes = |of: &Expr, low: i64, high: i64| {
        let known = known.range(of).and_then(|r| r.in_steps(measurement.step, of.column_type));
        known.is_none_or(|(least, most)| least < low || most > high)
    };
    match &measurement.measure {
        Measure::Units => Vec::new(),
        Measure::Rows | Measure::Values(_) => rows(measurement.high).into_iter().collect(),
        Measure::PerRecordSum(_) | Measure::Quantile { end: Some(_), .. } => Vec::new(),
        Measure::ClampedSum(of) => match unit {
            Some(unit) => {
                let (low, high) = (measurement.low, measurement.high);
                vec![format!("the sum of the rows of one {unit} in a group {}", beyond(low, high))]
            }
            None if changes(of, measurement.low, measurement.high) => {
                vec![format!("values {}", beyond(measurement.low, measurement.high))]
            }
            None => Vec::new(),
        },
        Measure::SumOfRows { of, low, high, clamps, rows: most } => {
            let what = match clamps {
                Clamps::Rows => "values",
                Clamps::Mean => "means of a unit's values in a group",
            };
            let values =
                changes(of, *low, *high).then(|| format!("{what} {}", beyond(*low, *high)));
            values.into_iter().chain(rows((*most).into())).collect()
        }
        Measure::Distinct { values, .. } => unit
            .map(|unit| {
                format!("different values of one {unit} in a group beyond {values} ({name})")
            })
            .into_iter()
            .collect(),
        Measure::Quantile { of, rows: most, .. } => {
            let (low, high) = (measurement.low, measurement.high);
            let values = changes(of, low, high).then(|| format!("values {}", beyond(low, high)));
            values.into_iter().chain(rows((*most).into())).collect()
        }
    }
}
