//! `hushtable assess table`.

use futures::executor::block_on;
use hushtable::knowledge::{GroupCounts, Knows, Probability, ProbabilityRange};
use hushtable::privacy::Epsilon;
use hushtable::{GroupSizes, Progress, Workers, group_sizes};
use hushtable_plot::Chart;

use super::parse::{MOST, delta, interval, refused};
use super::plot::{self, DeltaCurve};
use crate::arguments::AssessTableArguments;
use crate::failure::Failure;
use crate::given_numbers::{amount, refuse, whole};
use crate::progress::watched;
use crate::render::assess_table::{AssessedGroup, TableReport};
use crate::sql_input;

const EXAMPLE: &str = "--unknown 0.8 --between 0.05..0.95 --epsilon 0.5 --delta 1e-6";

pub(super) fn report(given: &AssessTableArguments) -> Result<TableReport, Failure> {
    let knows = knows(given)?;
    let between: ProbabilityRange = interval("between", &given.between, "0.05..0.95")?;
    let epsilon: Epsilon = amount("epsilon", &given.epsilon, "0.5")?;
    let delta = delta(&given.delta)
        .map_err(|_| refuse("delta", &given.delta, "a number from 1e-300 to below 1", "1e-6"))?;
    let release = sql_input::sql(&given.release)?;
    let (workers, progress) = (Workers::new()?, Progress::default());
    let table = watched("reading", &progress, || {
        block_on(group_sizes(&workers, &given.file, &release, &progress))
    })?;
    possible(&table)?;
    let mut groups = GroupCounts::new(knows, between, epsilon.to_f64(), delta)
        .map_err(|error| refused(&error, EXAMPLE))?;
    let above = table.release.above;
    let nobody = groups.group(0, above);
    let mut assessed: Vec<AssessedGroup> = table
        .sizes
        .iter()
        .enumerate()
        .map(|(row, &size)| AssessedGroup { row, size, risk: groups.group(size, above) })
        .collect();
    // Failing ones first, of these those that would be published, the smallest at the top.
    let published = |size: u64| above.is_none_or(|above| size > above);
    assessed.sort_by_key(|g| (g.risk.passes, !published(g.size), g.size, g.row));
    let all = assessed.iter().map(|group| group.risk.threshold).chain([nobody.threshold]);
    let least: Option<Vec<u64>> = all.collect();
    Ok(TableReport {
        file: given.file.clone(),
        keys: table.keys,
        above,
        groups: assessed,
        nobody,
        epsilon,
        delta,
        enough: groups.enough(),
        least: least.and_then(|all| all.into_iter().max()),
        least_for_any: groups.threshold_for_any(),
        knows,
        between,
        all: given.all,
    })
}

/// delta at epsilon for the smallest, the middle and the largest group that would be published,
/// with the target's epsilon marked.
pub(super) fn chart(report: &TableReport) -> Chart {
    let above = report.above;
    let published = report.groups.iter().filter(|g| above.is_none_or(|above| g.size > above));
    let mut published: Vec<&AssessedGroup> = published.collect();
    published.sort_by_key(|group| group.size);
    let mut curves = Vec::new();
    let mut marks = Vec::new();
    let mut drawn: Vec<u64> = Vec::new();
    let indices = [0, published.len() / 2, published.len().saturating_sub(1)];
    for (index, name) in indices.into_iter().zip(["the smallest", "the middle", "the largest"]) {
        let Some(group) = published.get(index).filter(|group| !drawn.contains(&group.size)) else {
            continue;
        };
        let (size, knows, between) = (group.size, report.knows, report.between);
        drawn.push(size);
        marks.push(vec![(report.epsilon.to_f64(), group.risk.delta)]);
        curves.push(DeltaCurve::plain(&format!("{name} group, of {size}"), move |epsilon| {
            // A delta of 1 is met by all, so that no threshold is searched for.
            let groups = GroupCounts::new(knows, between, epsilon, 1.0);
            groups.map_or(1.0, |mut groups| groups.group(size, above).delta)
        }));
    }
    let title = "CONFIDENTIAL: what the table may give away, a measured risk, no privacy budget";
    plot::drawn(title.to_owned(), &curves, marks)
}

fn knows(given: &AssessTableArguments) -> Result<Knows, Failure> {
    if let Some(known) = &given.known {
        return whole("known", known, 0..=MOST, "5").map(Knows::AtMost);
    }
    let text = given.unknown.as_deref().unwrap_or_default();
    let range = "a share from 0.0 to 1.0, with a decimal point, or a whole number of records from \
                 1 to 1000000000";
    let refuse = || refuse("unknown", text, range, "0.8");
    if text.contains('.') {
        let share = text.trim().parse().map_err(|_| refuse())?;
        return Probability::new(share).map(Knows::AllButShare).map_err(|_| refuse());
    }
    whole("unknown", text, 1..=MOST, "50").map(Knows::AllBut).map_err(|_| refuse())
}

/// Whether there is anything to assess.
fn possible(table: &GroupSizes) -> Result<(), Failure> {
    if table.sizes.iter().all(|size| *size == 0) {
        return Err(Failure::new(
            "no record counts: the table is empty, or none meets the condition in WHERE",
            "check WHERE; columns of CSV files are text, so cast them: WHERE CAST(age AS INT64) \
             >= 18",
        ));
    }
    match table.release.above {
        Some(above) if above >= table.records() => Err(Failure::new(
            format!(
                "HAVING COUNT(*) > {above} publishes nothing: at most that many records of the \
                 table count"
            ),
            "lower the threshold, as in HAVING COUNT(*) > 10",
        )),
        _ => Ok(()),
    }
}
