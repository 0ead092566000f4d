//! Results of `assess table`. About the exact data: every form of them says so.

use std::fmt::Write;

use hushtable::arrow::record_batch::RecordBatch;
use hushtable::knowledge::{GroupRisk, Knows, ProbabilityRange};
use hushtable::privacy::Epsilon;

use super::assess::prose;
use super::assess_words::NO_BUDGET;
use super::audit::CONFIDENTIAL;
use super::cell::rows;
use super::grid::{Alignment, TextGrid, visible};
use super::json::{object, value};
use super::number::{at_least, digits17, number};
use super::table::cell_text;
use crate::failure::Failure;

/// Groups in text, unless `--all` is given.
const FEW: usize = 20;

/// A table of counts, assessed before it is published.
pub(crate) struct TableReport {
    pub(crate) file: String,
    pub(crate) keys: RecordBatch,
    pub(crate) above: Option<u64>,
    /// In the order in which they are shown.
    pub(crate) groups: Vec<AssessedGroup>,
    /// A group that nobody is in.
    pub(crate) nobody: GroupRisk,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: f64,
    /// How many unknown records meet the target.
    pub(crate) enough: Option<u64>,
    /// The least threshold with which all groups pass, and those that nobody is in.
    pub(crate) least: Option<u64>,
    /// The least such threshold, whatever the sizes are.
    pub(crate) least_for_any: Option<u64>,
    pub(crate) knows: Knows,
    pub(crate) between: ProbabilityRange,
    pub(crate) all: bool,
}

/// One group.
pub(crate) struct AssessedGroup {
    /// Its row among the keys.
    pub(crate) row: usize,
    pub(crate) size: u64,
    pub(crate) risk: GroupRisk,
}

impl TableReport {
    fn published(&self, size: u64) -> bool {
        self.above.is_none_or(|above| size > above)
    }

    fn keyed(&self) -> bool {
        self.keys.num_columns() > 0
    }

    fn count(&self, predicate: impl Fn(&AssessedGroup) -> bool) -> usize {
        self.groups.iter().filter(|group| predicate(group)).count()
    }

    /// On one line.
    pub(crate) fn json(&self) -> Result<String, Failure> {
        let names: Vec<&str> =
            self.keys.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        let keys = rows(&self.keys)?;
        let mut groups = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let cells = keys.get(group.row).map(Vec::as_slice).unwrap_or_default();
            let keys = object(names.iter().zip(cells).map(|(name, cell)| (*name, value(cell))));
            let entry = [
                ("keys", keys),
                ("records", group.size.to_string()),
                ("published", self.published(group.size).to_string()),
            ];
            groups.push(object(entry.into_iter().chain(risk(&group.risk))));
        }
        let target =
            object([("epsilon", self.epsilon.to_string()), ("delta", digits17(self.delta))]);
        let mut fields = vec![
            ("confidential", "true".to_owned()),
            ("target", target),
            ("threshold", optional(self.above)),
            ("records", self.groups.iter().map(|group| group.size).sum::<u64>().to_string()),
            ("published", self.count(|group| self.published(group.size)).to_string()),
            ("suppressed", self.count(|group| !self.published(group.size)).to_string()),
            ("failing", self.count(|group| !group.risk.passes).to_string()),
            ("unknown_that_passes", optional(self.enough)),
            ("threshold_that_passes", optional(self.least)),
            ("threshold_that_passes_for_any_table", optional(self.least_for_any)),
            ("groups", format!("[{}]", groups.join(","))),
        ];
        if self.keyed() {
            fields.push(("group_of_nobody", object(risk(&self.nobody))));
        }
        fields.push(("assumptions", serde_json::json!(self.words()).to_string()));
        Ok(format!("{}\n", object(fields)))
    }

    /// For people: deltas are rounded up.
    pub(crate) fn text(&self, verbose: bool) -> Result<String, Failure> {
        let mut out = format!("{CONFIDENTIAL}\n\nExact counts of {}\n", visible(&self.file));
        out += &self.totals().text(2);
        out.push('\n');
        let listed = if self.all { self.groups.len() } else { FEW };
        out += &self.table(listed)?;
        let rest = self.groups.len().saturating_sub(listed);
        if rest > 0 {
            let failing = self.groups.iter().skip(listed).filter(|g| !g.risk.passes).count();
            let _ = writeln!(
                out,
                "… and {} more groups, {} of which fail; --all shows them",
                whole(rest as u64),
                whole(failing as u64)
            );
        }
        out.push('\n');
        out += &prose(&self.words(), verbose);
        Ok(out)
    }

    fn totals(&self) -> TextGrid {
        let mut grid = TextGrid::pairs();
        let records = self.groups.iter().map(|group| group.size).sum();
        grid.push(["records that count", &whole(records)]);
        let of = |predicate: &dyn Fn(&AssessedGroup) -> bool| whole(self.count(predicate) as u64);
        let (failed, published) =
            (|g: &AssessedGroup| !g.risk.passes, |g: &AssessedGroup| self.published(g.size));
        let suppressed = of(&|g| !published(g));
        let mut groups = format!("{} published", of(&published));
        if let Some(above) = self.above {
            let _ = write!(groups, ", {suppressed} suppressed (of {} or fewer)", whole(above));
        }
        grid.push(["groups", &groups]);
        let target =
            format!("at epsilon = {}, delta at most {}", self.epsilon, at_least(self.delta));
        grid.push(["target", &target]);
        let failing = format!(
            "{} published, {} suppressed",
            of(&|g| failed(g) && published(g)),
            of(&|g| failed(g) && !published(g))
        );
        grid.push(["groups that fail", &failing]);
        if self.keyed() {
            let verdict = if self.nobody.passes { "pass" } else { "fail" };
            let words = format!("{verdict}: delta = {}", at_least(self.nobody.delta));
            grid.push(["groups that nobody is in", &words]);
        }
        let enough = self
            .enough
            .map_or("no number of unknown records up to 1,000,000".to_owned(), |enough| {
                format!("{} unknown records beside the target's", whole(enough))
            });
        grid.push(["what is enough", &enough]);
        let having = |least: Option<u64>| {
            least.map_or("none would".to_owned(), |t| format!("HAVING COUNT(*) > {t}"))
        };
        if self.keyed() {
            grid.push(["all groups pass with", &having(self.least)]);
            grid.push(["and in any table with", &having(self.least_for_any)]);
        }
        grid
    }

    fn table(&self, most: usize) -> Result<String, Failure> {
        let names = self.keys.schema();
        let names = names.fields().iter().map(|field| (visible(field.name()), Alignment::Left));
        let measures = ["records", "published", "known", "unknown", "delta", "", "passes above"];
        let sides = [Alignment::Right, Alignment::Left, Alignment::Right, Alignment::Right];
        let sides = sides.into_iter().chain([Alignment::Left, Alignment::Left, Alignment::Right]);
        let measures = measures.into_iter().map(str::to_owned).zip(sides);
        let mut grid = TextGrid::new(names.chain(measures)).underlined();
        let keys = rows(&self.keys)?;
        for group in self.groups.iter().take(most) {
            let cells = keys.get(group.row).map(Vec::as_slice).unwrap_or_default();
            let risk = &group.risk;
            let measures = [
                whole(group.size),
                if self.published(group.size) { "yes" } else { "no" }.to_owned(),
                format!("≤ {}", whole(risk.known)),
                format!("≥ {}", whole(risk.unknown)),
                at_least(risk.delta),
                if risk.passes { "passes" } else { "FAILS" }.to_owned(),
                risk.threshold.map_or("none".to_owned(), whole),
            ];
            grid.push(cells.iter().map(cell_text).chain(measures));
        }
        Ok(grid.text(0))
    }

    fn words(&self) -> String {
        let known = match self.knows {
            Knows::AllButShare(share) => format!(
                "at least a share of {share} of the records that count in a group, \
                 rounded down to whole ones, is unknown to the attacker"
            ),
            Knows::AllBut(unknown) => format!(
                "at least {} of the records that count in a group, or all where there are not as \
                 many, are unknown to the attacker",
                whole(unknown)
            ),
            Knows::AtMost(known) => {
                format!(
                    "the attacker knows at most {} of the records that count in a group",
                    whole(known)
                )
            }
        };
        let threshold = match self.above {
            None => String::new(),
            Some(above) => format!(
                " With the threshold nothing of a group is published unless more than \
                 {} records count in it, so that more than {0} less the known ones are \
                 uncertain wherever anything is: `unknown` is the larger of the two. \
                 This holds whether the attacker happens to know records or planted them.",
                whole(above)
            ),
        };
        format!(
            "Whoever sees the table can tell whether the target counts in a group no \
             better than under (epsilon, delta)-differential privacy, by that group's \
             count or by its being missing. It rests on what the attacker does not know: \
             {known}; and each record that the attacker does not know, counting or not, \
             counts in the group with a probability from {} to {} as far as the attacker can tell, \
             independent of all others. One unknown record may be the target, and is not relied \
             on; how many records might have counted and do not is not relied on either. Hence \
             deltas are bounds above the worst such attacker.{threshold} A group passes if it is \
             large enough, or with a threshold that suppresses it; a threshold that was chosen by \
             this table's sizes tells a little of them, one that is enough for any table does not. \
             Several groups about the same record, or several tables, do not add up by themselves \
             (see `assess differencing` and `assess compose`). {NO_BUDGET}",
            self.between.low(),
            self.between.high()
        )
    }
}

fn whole(count: u64) -> String {
    number(count as f64)
}

fn optional(number: Option<u64>) -> String {
    number.map_or("null".to_owned(), |number| number.to_string())
}

fn risk(risk: &GroupRisk) -> [(&'static str, String); 5] {
    [
        ("known_at_most", risk.known.to_string()),
        ("unknown_at_least", risk.unknown.to_string()),
        ("delta", digits17(risk.delta)),
        ("passes", risk.passes.to_string()),
        ("threshold_that_passes", optional(risk.threshold)),
    ]
}
