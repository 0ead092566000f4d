//! Results of `assess differencing`.

use hushtable::knowledge::{
    BoundedCount, Combination, Differences, PublishedCount, RecoveredCount,
};

use super::assess::prose;
use super::grid::{Alignment, TextGrid, visible};
use super::json::object;
use super::number::number;
use hushtable::published::{BlockCells, CellKey, Tables};

/// Findings in text, unless `--all` is given.
const FEW: usize = 20;

/// Terms of an equation that are shown in text.
const FEW_TERMS: usize = 4;

const WORDS: &str = "Only published tables were read: whoever has them can find the same, \
    so this is no secret. An equation holds exactly, and a bound in every table that agrees \
    with all that is published. That nothing is found says nothing about further tables, \
    nor about what somebody knows besides.";

const OPEN: &str = " There may be values that no table has, and records of these; \
    with --complete there are none.";

const COMPLETE: &str = " There are no values but those that some table has.";

const CUT: &str = " The search was cut short, as there are too many combinations: \
    there may be more than what was found.";

/// Findings in a set of tables.
pub(crate) struct DifferencingReport {
    pub(crate) k: u64,
    pub(crate) tables: Tables,
    pub(crate) divided: BlockCells,
    pub(crate) findings: Differences,
    /// Whether there are no values but those of the tables.
    pub(crate) complete: bool,
    pub(crate) all: bool,
}

impl DifferencingReport {
    /// Combinations of at least one record, or of none if tables name the values. A single
    /// published zero is no finding.
    fn combinations(&self) -> impl Iterator<Item = &Combination> {
        self.findings.combinations.iter().filter(|combination| {
            combination.count > 0
                || (combination.terms.len() > 1
                    && self.divided.is_named(&self.tables, &combination.blocks))
        })
    }

    fn recovered(&self) -> impl Iterator<Item = &RecoveredCount> {
        self.findings.recovered.iter().filter(|entry| match entry.what {
            BoundedCount::Cell(_) => true,
            BoundedCount::Block(block) => {
                entry.count.high > 0 || self.divided.is_named(&self.tables, &[block])
            }
        })
    }

    fn who(&self, blocks: &[u32]) -> Option<String> {
        let keys = self.divided.keys(&self.tables, blocks)?;
        Some(self.tables.describe(&keys))
    }

    fn cell(&self, index: usize) -> String {
        self.tables.cells.get(index).map_or_else(String::new, |cell| {
            let table = self.tables.names.get(cell.table).map_or("", String::as_str);
            format!("{table}[{}]", self.tables.describe(&cell.keys))
        })
    }

    fn count(&self, index: usize) -> PublishedCount {
        self.tables.cells.get(index).map_or(PublishedCount::exact(0), |cell| cell.count)
    }

    /// On one line.
    pub(crate) fn json(&self) -> String {
        let text = |text: &str| serde_json::json!(text).to_string();
        let who = |blocks: &[u32]| self.who(blocks).map_or("null".to_owned(), |who| text(&who));
        let findings = self.combinations().map(|combination| {
            let terms = combination.terms.iter().map(|(cell, factor)| {
                let mut term = self.cell_json(*cell);
                term.push(("factor", factor.to_string()));
                term.push(("count", self.count(*cell).low.to_string()));
                object(term)
            });
            object([
                ("records", combination.count.to_string()),
                ("who", who(&combination.blocks)),
                ("terms", format!("[{}]", terms.collect::<Vec<_>>().join(","))),
            ])
        });
        let recovered = self.recovered().map(|entry| {
            let bounds = [
                ("at_least", entry.count.low.to_string()),
                ("at_most", entry.count.high.to_string()),
            ];
            let what = match entry.what {
                BoundedCount::Cell(index) => {
                    let mut what = self.cell_json(index);
                    what.push(("suppressed_at_most", self.count(index).high.to_string()));
                    what
                }
                BoundedCount::Block(block) => vec![("who", who(&[block]))],
            };
            object(what.into_iter().chain(bounds))
        });
        let fields = object([
            ("k", self.k.to_string()),
            ("all_combined", self.findings.all_combined.to_string()),
            ("all_bounded", self.findings.all_bounded.to_string()),
            ("combinations", format!("[{}]", findings.collect::<Vec<_>>().join(","))),
            ("recovered", format!("[{}]", recovered.collect::<Vec<_>>().join(","))),
            ("assumptions", text(&self.words())),
        ]);
        format!("{fields}\n")
    }

    fn cell_json(&self, index: usize) -> Vec<(&'static str, String)> {
        let Some(cell) = self.tables.cells.get(index) else { return Vec::new() };
        let table = self.tables.names.get(cell.table).map_or("", String::as_str);
        let keys = self.tables.columns.iter().zip(&cell.keys).filter_map(
            |(column, key): (_, &CellKey)| {
                Some((column.name.as_str(), serde_json::json!(column.said(key)?).to_string()))
            },
        );
        vec![("table", serde_json::json!(table).to_string()), ("keys", object(keys))]
    }

    /// For people.
    pub(crate) fn text(&self, verbose: bool) -> String {
        let cells = &self.tables.cells;
        let suppressed = cells.iter().filter(|cell| cell.count.low < cell.count.high).count();
        let combinations: Vec<&Combination> = self.combinations().collect();
        let somebody = combinations.iter().filter(|combination| combination.count > 0).count();
        let recovered: Vec<&RecoveredCount> = self.recovered().collect();
        let exactly = recovered.iter().filter(|entry| entry.count.low == entry.count.high).count();
        let mut facts = TextGrid::pairs();
        facts.push(["tables", &whole(self.tables.names.len())]);
        facts.push([
            "cells",
            &format!(
                "{} published, {} suppressed",
                whole(cells.len() - suppressed),
                whole(suppressed)
            ),
        ]);
        facts.push([
            "sets of fewer than k records",
            &format!(
                "{} of 1 to {}, {} of nobody",
                whole(somebody),
                self.k.saturating_sub(1),
                whole(combinations.len() - somebody)
            ),
        ]);
        facts.push([
            "other counts recovered",
            &format!(
                "{} exactly, {} within bounds",
                whole(exactly),
                whole(recovered.len() - exactly)
            ),
        ]);
        let ended = match (self.findings.all_combined, self.findings.all_bounded) {
            (true, true) => "complete",
            (false, true) => "complete for single cells, cut short for sets of several",
            (true, false) => "complete for combinations, cut short for bounds of suppressed cells",
            (false, false) => "cut short",
        };
        facts.push(["search", ended]);
        let mut out = format!("Differences of published tables, k = {}\n{}", self.k, facts.text(2));
        out += &self.combinations_text(&combinations);
        out += &self.recovered_text(&recovered);
        out.push('\n');
        out += &prose(&self.words(), verbose);
        out
    }

    fn few(&self, all: usize) -> usize {
        if self.all { all } else { FEW }
    }

    fn combinations_text(&self, combinations: &[&Combination]) -> String {
        if combinations.is_empty() {
            return String::new();
        }
        let headings = [
            ("records", Alignment::Right),
            ("who", Alignment::Left),
            ("shown by", Alignment::Left),
        ];
        let mut grid = TextGrid::new(headings).underlined();
        for combination in combinations.iter().take(self.few(combinations.len())) {
            let count = if combination.count == 0 {
                "nobody".to_owned()
            } else {
                combination.count.to_string()
            };
            let who = self.who(&combination.blocks).unwrap_or_else(|| "what is left".to_owned());
            grid.push([count, visible(&who), visible(&self.equation(combination))]);
        }
        format!("\n{}{}", grid.text(0), more(combinations.len(), self.few(combinations.len())))
    }

    fn equation(&self, combination: &Combination) -> String {
        if let [(index, 1)] = combination.terms.as_slice() {
            return format!("{}, as published", self.cell(*index));
        }
        let mut out = String::new();
        for (i, (index, factor)) in combination.terms.iter().take(FEW_TERMS).enumerate() {
            match (i, *factor < 0) {
                (0, false) => {}
                (0, true) => out.push('−'),
                (_, false) => out.push_str(" + "),
                (_, true) => out.push_str(" − "),
            }
            if factor.unsigned_abs() > 1 {
                out += &format!("{} × ", factor.unsigned_abs());
            }
            out += &format!("{} {}", self.count(*index).low, self.cell(*index));
        }
        if combination.terms.len() > FEW_TERMS {
            out += &format!(" … and {} more cells", combination.terms.len() - FEW_TERMS);
        }
        out
    }

    fn recovered_text(&self, entries: &[&RecoveredCount]) -> String {
        if entries.is_empty() {
            return String::new();
        }
        let headings =
            [("records", Alignment::Right), ("of", Alignment::Left), ("", Alignment::Left)];
        let mut grid = TextGrid::new(headings).underlined();
        for entry in entries.iter().take(self.few(entries.len())) {
            let count = match entry.count {
                PublishedCount { low: 0, high: 0 } => "nobody".to_owned(),
                PublishedCount { low, high } if low == high => low.to_string(),
                PublishedCount { low, high } => format!("{low} to {high}"),
            };
            let (what, was) = match entry.what {
                BoundedCount::Cell(cell) => {
                    (self.cell(cell), format!("suppressed as 0 to {}", self.count(cell).high))
                }
                BoundedCount::Block(block) => {
                    (self.who(&[block]).unwrap_or_default(), "in no cell alone".to_owned())
                }
            };
            grid.push([count, visible(&what), was]);
        }
        format!("\n{}{}", grid.text(0), more(entries.len(), self.few(entries.len())))
    }

    fn words(&self) -> String {
        let open = if self.complete { COMPLETE } else { OPEN };
        let complete = self.findings.all_combined && self.findings.all_bounded;
        format!("{WORDS}{open}{}", if complete { "" } else { CUT })
    }
}

fn more(all: usize, listed: usize) -> String {
    match all.saturating_sub(listed) {
        0 => String::new(),
        rest => format!("… and {} more; --all shows them\n", whole(rest)),
    }
}

fn whole(count: usize) -> String {
    number(count as f64)
}
