//! Rows and values that bounds cut off: no interval holds them.

use hushtable_lang::{BinaryOp, Expr, ExprKind, Function, Value};
use hushtable_plan::{Clamps, Groups, KnownValues, Measure, Measurement, PrivateQuery};

/// The kinds of rows and values that a query leaves out or changes before it adds noise, each in a
/// few words. In brackets is what it concerns, where that is not all.
pub(super) fn cut_off(query: &PrivateQuery) -> Vec<String> {
    let mut all = ConcernedLosses::default();
    if let Some(beside) = query.relation().beside() {
        all.add(format!("rows of one unit of {} beyond {}", beside.population, beside.rows));
        let owner = query.population();
        all.add(format!("further rows of {owner} that agree in what the join compares"));
    }
    if let Some(rows) = query.relation().max_rows_joined() {
        let unit = query.unit_name();
        all.add(format!("rows of one {unit} on a side of a join beyond {rows}"));
    }
    for table in query.relation().tables_to_match() {
        all.add_in("rows without a match in a public table", table);
    }
    // Where a unit has one row at most, no limit on its rows cuts anything off.
    let has_rows = |unit: &usize| {
        let unit =
            query.columns().get(*unit).map(|(_, column_type)| Expr::column(*unit, *column_type));
        !query.relation().has_one(unit.iter())
    };
    let unit = query.unit().filter(has_rows).map(|_| query.unit_name());
    for key in query.listed() {
        all.add_in("rows whose keys are not among the public ones", key);
    }
    let one_group =
        query.groups() == Groups::Single || query.relation().has_one_of_a_unit([].iter());
    if let (Some(unit), false) = (unit, one_group) {
        let most = query.max_groups_contributed();
        all.add(format!("groups of one {unit} beyond {most}"));
    }
    if let (Some(unit), true) = (unit, query.rows_as_units()) {
        all.add_in(&format!("rows of one {unit} in a group beyond 1"), "count of rows");
    }
    // Without the contract, whose word is enforced by nothing but the bounds.
    let mut known = KnownValues::of(query.relation(), None);
    known.assume(query.filter().map_or(&[], std::slice::from_ref));
    let keys = query.keys().iter().map(|key| &key.expr);
    let unit = unit.filter(|_| !query.relation().has_one_of_a_unit(keys));
    // A release may have measured more than the query shows.
    let shown = query.measurements().iter().enumerate();
    for (_, measurement) in shown.filter(|(index, _)| query.reads_measurement(*index)) {
        for loss in of_measurement(measurement, unit, &known) {
            all.add_in(&loss, &measurement.name);
        }
    }
    all.in_words()
}

/// Kinds of losses, each once, with what they concern: nothing where that is all.
#[derive(Default)]
struct ConcernedLosses(Vec<(String, Vec<String>)>);

impl ConcernedLosses {
    fn add(&mut self, loss: String) {
        self.0.push((loss, Vec::new()));
    }

    fn add_in(&mut self, loss: &str, of: &str) {
        match self.0.iter_mut().find(|(other, _)| other == loss) {
            Some((_, all)) if all.iter().any(|other| other == of) => {}
            Some((_, all)) => all.push(of.to_owned()),
            None => self.0.push((loss.to_owned(), vec![of.to_owned()])),
        }
    }

    fn in_words(self) -> Vec<String> {
        let words = |(loss, of): (String, Vec<String>)| match of.is_empty() {
            true => loss,
            false => format!("{loss} ({})", of.join(", ")),
        };
        self.0.into_iter().map(words).collect()
    }
}

/// The value that moments add up, which binding moves by the middle of its bounds and clamps, and
/// these bounds.
fn clamped_around_middle(of: &Expr) -> Option<(&Expr, f64, f64)> {
    let literal = |e: &Expr| match e.kind {
        ExprKind::Literal(Value::Float(x)) => Some(x),
        _ => None,
    };
    match &of.kind {
        ExprKind::Call(Function::Greatest, both) => {
            let [inner, _] = both.as_slice() else { return None };
            let ExprKind::Call(Function::Least, both) = &inner.kind else { return None };
            let [inner, half] = both.as_slice() else { return None };
            let half = literal(half)?;
            let ExprKind::Binary(BinaryOp::Sub, x, middle) = &inner.kind else { return None };
            let middle = literal(middle)?;
            Some((x, middle - half, middle + half))
        }
        // Where a value is missing, or another is.
        ExprKind::Call(Function::Coalesce, operands) => {
            operands.first().and_then(clamped_around_middle)
        }
        ExprKind::Case(branches, _) => {
            branches.first().and_then(|(_, result)| clamped_around_middle(result))
        }
        _ => None,
    }
}

/// The losses of one measurement.
fn of_measurement(
    measurement: &Measurement,
    unit: Option<&str>,
    known: &KnownValues,
) -> Vec<String> {
    let step = measurement.step.to_f64();
    let beyond =
        |low: i64, high: i64| format!("beyond {} to {}", low as f64 * step, high as f64 * step);
    let rows = |rows: i64| unit.map(|unit| format!("rows of one {unit} in a group beyond {rows}"));
    // Bounds that follow from an expression's structure change no value.
    let changes = |of: &Expr, low: i64, high: i64| {
        let known = known.range(of).and_then(|r| r.in_steps(measurement.step, of.column_type));
        known.is_none_or(|(least, most)| least < low || most > high)
    };
    match &measurement.measure {
        Measure::Units => Vec::new(),
        Measure::Rows | Measure::Values(_) => rows(measurement.high).into_iter().collect(),
        Measure::PerRecordSum(_) | Measure::Quantile { reach: Some(_), .. } => Vec::new(),
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
            let values = values.or_else(|| {
                let (of, low, high) = clamped_around_middle(of)?;
                let range = known.range(of).and_then(|range| range.to_f64(of.column_type));
                let fits = range.is_some_and(|(least, most)| low <= least && most <= high);
                (!fits).then(|| format!("{what} beyond {low} to {high}"))
            });
            values.into_iter().chain(rows((*most).into())).collect()
        }
        Measure::Distinct { values, .. } => unit
            .map(|unit| format!("different values of one {unit} in a group beyond {values}"))
            .into_iter()
            .collect(),
        Measure::Quantile { of, rows: most, .. } => {
            let (low, high) = (measurement.low, measurement.high);
            let values = changes(of, low, high).then(|| format!("values {}", beyond(low, high)));
            values.into_iter().chain(rows((*most).into())).collect()
        }
    }
}
