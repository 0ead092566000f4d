//! All that one query promises, as text.

use hushtable::privacy::Neighbouring;
use hushtable::query::{
    ChoiceExplanation, Explanation, GroupSize, GroupsExplanation, KeepProbability,
    LimitExplanation, MechanismsExplanation, PrivateGroups, RunnerUp, Strategy, Usefulness,
};

use super::cut_off;
use super::grid::{Alignment, TextGrid, visible};
use super::learnt;
use super::measurements::{counted, measurements};
use super::mechanisms::compared;
use super::number::{number, probability};
use super::policy::policy;
use super::warnings::warned;

/// Everything that one query promises, without its budget.
pub(super) fn of_one_query(
    explanation: &Explanation,
    mechanisms: &[MechanismsExplanation],
    other_limits: &[LimitExplanation],
) -> String {
    let sections = [
        promise(explanation),
        groups(&explanation.groups),
        choice(&explanation.choice),
        measurements(&explanation.measurements),
        cut_off::of_one_query(explanation),
        limits(explanation, other_limits),
        policy(explanation.policy.as_ref()),
        compared(mechanisms),
        outputs(explanation),
        learnt_bounds(explanation),
        warned(&explanation.warnings),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|s| !s.is_empty()).collect();
    sections.join("\n")
}

fn promise(explanation: &Explanation) -> String {
    let (protected, neighbours) =
        unit_and_neighbours(&explanation.privacy_unit, explanation.neighbouring);
    let most = match (explanation.max_groups_contributed, &explanation.groups) {
        (_, GroupsExplanation::Single) => "all in one group".to_owned(),
        (1, _) => "in at most 1 group".to_owned(),
        (most, _) => format!("in at most {} groups", number(f64::from(most))),
    };
    let mut grid = TextGrid::pairs();
    let tables = explanation.tables.join(", ");
    grid.push([if explanation.tables.len() == 1 { "table" } else { "tables" }, &visible(&tables)]);
    if explanation.tables != [explanation.population.as_str()] {
        grid.push(["protects", &visible(&explanation.population)]);
    }
    grid.push(["one unit", &protected]);
    grid.push(["neighbouring tables", &neighbours]);
    grid.push(["one unit counts", &most]);
    if let Some(rows) = explanation.max_rows_joined {
        let rows = number(f64::from(rows));
        grid.push(["rows that are joined", &format!("at most {rows} of one unit on a side")]);
    }
    if let Some(beside) = &explanation.beside {
        let most = number(f64::from(beside.rows));
        grid.push(["and protects", &visible(&beside.population)]);
        grid.push(["one unit of it", &format!("counts in at most {most} rows")]);
    }
    if explanation.policy.is_some() {
        grid.push(["how much", "by its size: larger records may lose more, see below"]);
    }
    format!("What is protected\n{}", grid.text(2))
}

/// Descriptions of one unit, and of how neighbouring tables differ.
pub(super) fn unit_and_neighbours(unit: &str, neighbouring: Neighbouring) -> (String, String) {
    let whole_rows = unit == "row";
    let unit = visible(unit);
    let protected = if whole_rows {
        "each row by itself".to_owned()
    } else {
        format!("all rows with the same `{unit}` together")
    };
    let one = if whole_rows { "one row".to_owned() } else { format!("all rows of one `{unit}`") };
    let (relation, neighbours) = match neighbouring {
        Neighbouring::AddRemove => ("add_remove", format!("{one} more or less")),
        Neighbouring::Replace => {
            ("replace", format!("{one} exchanged for another's; how many there are is public"))
        }
    };
    (protected, format!("{neighbours} ({relation})"))
}

fn groups(groups: &GroupsExplanation) -> String {
    let mut grid = TextGrid::pairs();
    let mut appearing = String::new();
    match groups {
        GroupsExplanation::Single => {
            grid.push(["chosen", "there is one row, and it is always shown"])
        }
        GroupsExplanation::Public { groups, by_query: true } => {
            let text = match groups {
                1 => "the one group that it names is shown".to_owned(),
                many => format!("all {} groups that it names are shown", number(*many as f64)),
            };
            grid.push(["chosen", &format!("in the query: {text}, empty or not")]);
        }
        GroupsExplanation::Public { groups, by_query: false } => {
            let text = match groups {
                1 => "the one group of the public keys is shown".to_owned(),
                many => format!("all {} groups of the public keys are shown", number(*many as f64)),
            };
            grid.push(["chosen", &format!("in the contract: {text}, empty or not")]);
        }
        GroupsExplanation::Private(private) => {
            chosen_privately(private, &mut grid);
            let sizes = probabilities(&private.keep, private.units_for_half, private.sizes_in);
            appearing = format!("\n{sizes}");
        }
    }
    format!("Groups\n{}{appearing}", grid.text(2))
}

fn chosen_privately(private: &PrivateGroups, grid: &mut TextGrid) {
    let by = match private.sizes_in {
        GroupSize::Units => "",
        GroupSize::Pieces => ", after records are split into pieces",
        GroupSize::Rows => ", the noisy count of rows that is shown",
        GroupSize::Values => ", the noisy count of values that is shown",
    };
    grid.push(["chosen", &format!("privately, by {}{by}", private.strategy)]);
    grid.push(["privacy loss", &private.loss.to_string()]);
    if private.rounds.is_empty() {
        if let Some(threshold) = private.threshold {
            let what = if private.strategy.by_membership() { "weight" } else { "count" };
            let text = format!("{}, which the noisy {what} must reach", number(threshold));
            grid.push(["threshold", &text]);
        }
    } else {
        let many = private.rounds.len() > 1;
        for (index, round) in private.rounds.iter().enumerate() {
            let name = if many { format!("round {}", index + 1) } else { "threshold".to_owned() };
            let (sigma, threshold) = (number(round.sigma), number(round.threshold));
            let noise = format!("with noise of standard deviation {sigma}");
            grid.push([name.as_str(), &format!("a weight of {threshold}, {noise}")]);
        }
        grid.push(["weight of a unit", "in each of its groups 1 over the root of their number"]);
    }
    if private.strategy == Strategy::SingleVote {
        let text = "each unit has one, for that of its groups which needs it most";
        grid.push(["votes", text]);
    }
    if let Some(least) = private.min_units {
        grid.push(["least number of units", &number(least as f64)]);
    }
    if let Some(known) = private.known_groups {
        let rule = match private.known_groups_threshold {
            Some(t) => format!("shown if their noisy counts reach {}", number(t as f64)),
            None => "all shown".to_owned(),
        };
        grid.push(["known groups", &format!("{}, {rule}", number(known as f64))]);
    }
    if let Some(alone) = private.units_for_half_alone {
        let text = format!(
            "from {} units on, where the other groups of its units have appeared or have enough",
            number(alone as f64)
        );
        grid.push(["the same chance", &text]);
    }
}

/// How noise, strategy and split were chosen.
fn choice(choice: &ChoiceExplanation) -> String {
    let mut grid = TextGrid::pairs();
    grid.push(["noise", &choice.noise.to_string()]);
    if let Some(share) = choice.selection_share.filter(|share| *share < 1.0) {
        let text = format!("{} % of the budget", number((1000.0 * share).round() / 10.0));
        grid.push(["choosing groups", &text]);
    }
    if let Some(text) = of_use(choice.usefulness) {
        grid.push(["groups are of use", &text]);
    }
    if let Some(second) = choice.runner_up {
        let text = match of_use(second.usefulness) {
            Some(text) => format!("{}: {text}", mechanisms(&second)),
            None => mechanisms(&second),
        };
        grid.push(["second best", &text]);
    }
    format!("Choice of mechanisms\n{}", grid.text(2))
}

/// The bounds that are on record from an earlier question.
fn learnt_bounds(explanation: &Explanation) -> String {
    let lines = learnt::lines(&explanation.learnt_bounds);
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("Bounds on record\n{lines}")
}

/// Costs of other limits on the groups of a unit.
fn limits(explanation: &Explanation, limits: &[LimitExplanation]) -> String {
    if limits.len() < 2 {
        return String::new();
    }
    let mut columns = vec![
        ("max_groups_contributed".to_owned(), Alignment::Right),
        ("mechanisms".to_owned(), Alignment::Left),
        ("shown from".to_owned(), Alignment::Right),
    ];
    let numbered =
        (1..=explanation.measurements.len()).map(|n| (format!("#{n} 95 %"), Alignment::Right));
    columns.extend(numbered);
    let mut grid = TextGrid::new(columns);
    for limit in limits {
        let current = limit.max_groups_contributed == explanation.max_groups_contributed;
        let most = number(limit.max_groups_contributed.into());
        let noise = limit.noise.to_string();
        let mechanisms = limit.strategy.map_or(noise.clone(), |s| format!("{s}, {noise}"));
        let mut row = vec![
            if current { format!("{most} (now)") } else { most },
            mechanisms,
            limit.units_for_half.map_or_else(
                || "-".to_owned(),
                |size| format!("{} {}", number(size as f64), limit.sizes_in),
            ),
        ];
        let half =
            |half: &Option<f64>| half.map_or("by size".to_owned(), |w| format!("± {}", number(w)));
        row.extend(limit.half_widths_95.iter().map(half));
        grid.push(row);
    }
    format!(
        "Other limits on the groups of a unit\n{}  A larger limit cuts less off, with more noise: \
         how much it cuts off, the owner of the data sees.\n",
        grid.text(2)
    )
}

/// From which size on groups are of use, and why; nothing where nothing is measured.
fn of_use(usefulness: Usefulness) -> Option<String> {
    let units = |size: f64| number(size.ceil());
    let Usefulness { to_appear, to_be_precise, relative_error } = usefulness;
    let error = number(100.0 * relative_error);
    if to_be_precise <= 0.0 {
        return (to_appear > 0.0)
            .then(|| format!("from {} units on: they appear", units(to_appear)));
    }
    let precise = format!("noise is within {error} % of the largest values");
    Some(match to_appear > 0.0 {
        true => format!(
            "from {} units on: they appear from {} on, and {precise} from {} on",
            units(usefulness.size()),
            units(to_appear),
            units(to_be_precise)
        ),
        false => format!("from {} units on: {precise}", units(to_be_precise)),
    })
}

/// The second best mechanisms, by name.
pub(super) fn mechanisms(second: &RunnerUp) -> String {
    match second.strategy {
        Some(strategy) => format!("{strategy} with {} noise", second.noise),
        None => format!("{} noise", second.noise),
    }
}

/// How large a group has to be to appear.
fn probabilities(keep: &[KeepProbability], units_for_half: u64, size_unit: GroupSize) -> String {
    let mut sizes: Vec<(u64, Option<f64>)> =
        keep.iter().map(|entry| (entry.units, Some(entry.probability))).collect();
    if sizes.iter().all(|(units, _)| *units != units_for_half) {
        sizes.push((units_for_half, None));
    }
    sizes.sort_by_key(|(units, _)| *units);
    let mut grid = TextGrid::new([
        (format!("{size_unit} in a group"), Alignment::Right),
        ("it appears with probability".to_owned(), Alignment::Left),
    ]);
    for (units, known) in sizes {
        let mut text = known.map_or_else(|| "0.5 or more".to_owned(), probability);
        if units == units_for_half {
            text.push_str(" (smaller groups: less than 0.5)");
        }
        grid.push([number(units as f64), text]);
    }
    grid.text(2)
}

fn outputs(explanation: &Explanation) -> String {
    let mut grid = TextGrid::new([
        ("column", Alignment::Left),
        ("type", Alignment::Left),
        ("from", Alignment::Left),
        ("95 % within", Alignment::Right),
    ]);
    for output in &explanation.outputs {
        let from = match output.measurements.as_slice() {
            [] => "key".to_owned(),
            used => {
                let used: Vec<String> = used.iter().map(|i| format!("#{}", i + 1)).collect();
                used.join(", ")
            }
        };
        let between = output.values_between_95_even;
        let within = match (output.half_width_95, between, output.measurements.is_empty()) {
            (Some(half), ..) => format!("± {}", number(half)),
            (None, Some(between), _) => counted(between.ceil()),
            (None, None, true) => "exact".to_owned(),
            (None, None, false) => "as its parts".to_owned(),
        };
        grid.push([visible(&output.name), output.column_type.clone(), from, within]);
    }
    format!("What is shown\n{}", grid.text(2))
}
