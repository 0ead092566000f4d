//! Suppression by the p % rule, as statistical agencies have used it. It has no formal guarantee.
//!
//! *Primary.* A cell is sensitive if its second largest firm, who knows what it pays itself, could
//! tell the largest firm's pay to within p %: if what all others pay is less than p % of what the
//! largest pays. A cell of one or two firms is always sensitive.
//!
//! *Complementary.* Totals are published, too, and the difference of a total and its published
//! parts is what the suppressed ones sum up to. Codes branch as a tree, so what can be told is
//! exactly this: for each published total, the sum of the suppressed cells of six digits under it
//! that no published cell between them holds. Further cells are suppressed until no such sum is
//! sensitive itself.
//!
//! Each county is by itself. Totals over counties are not part of the workload; an agency that
//! publishes them has to suppress more. Counts of establishments are published as they are.

use std::ops::Range;

use super::cells::{LEVELS, code_at};
use super::made_up::Establishment;

/// p, as a share. Agencies keep theirs secret; this one is ours.
pub(super) const P: f64 = 0.1;

/// The state of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Published,
    /// Sensitive itself.
    Primary,
    /// Suppressed for the sake of others.
    Complementary,
}

/// A cell of a county, or the county itself (level 0).
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) level: u32,
    pub(super) rows: Range<usize>,
    pub(super) state: State,
    pay: i64,
    children: Vec<usize>,
}

/// The p % rule on what firms pay, in any order and with repetitions.
fn missing(mut contributions: Vec<(u32, i64)>) -> Option<f64> {
    contributions.sort_unstable();
    let (mut first, mut second, mut total) = (0i64, 0i64, 0i64);
    for firm in contributions.chunk_by(|a, b| a.0 == b.0) {
        let pay: i64 = firm.iter().map(|(_, pay)| pay).sum();
        total += pay;
        if pay > first {
            (first, second) = (pay, first);
        } else if pay > second {
            second = pay;
        }
    }
    let missing = P * first as f64 - (total - first - second) as f64;
    (missing > 0.0).then_some(missing)
}

/// The cells of one county's rows, parents before their children, with what happens to them.
struct County<'a> {
    rows: &'a [Establishment],
    nodes: Vec<Node>,
}

impl<'a> County<'a> {
    fn new(rows: &'a [Establishment], range: Range<usize>) -> Self {
        let mut county = Self { rows, nodes: Vec::new() };
        county.push(0, range);
        county
    }

    /// A cell and all cells in it.
    fn push(&mut self, level: u32, range: Range<usize>) -> usize {
        let at = self.nodes.len();
        let pay = self.rows[range.clone()].iter().map(|row| row.pay).sum();
        let sensitive = missing(self.contributions(&range).collect()).is_some();
        let state = if sensitive { State::Primary } else { State::Published };
        self.nodes.push(Node { level, rows: range.clone(), state, pay, children: Vec::new() });
        if let Some(finer) = LEVELS.into_iter().find(|l| *l > level) {
            let rows = self.rows;
            let mut start = range.start;
            let same = |a: &Establishment, b: &Establishment| {
                code_at(a.naics, finer) == code_at(b.naics, finer)
            };
            for run in rows[range].chunk_by(same) {
                let child = self.push(finer, start..start + run.len());
                self.nodes[at].children.push(child);
                start += run.len();
            }
        }
        at
    }

    fn contributions(&self, range: &Range<usize>) -> impl Iterator<Item = (u32, i64)> {
        self.rows[range.clone()].iter().map(|row| (row.owner, row.pay))
    }

    fn published(&self, node: usize) -> bool {
        self.nodes[node].state == State::Published
    }

    /// The cells under a cell by way of suppressed ones only: the suppressed cells of six digits,
    /// and the published cells beside them.
    fn beneath(&self, node: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut open, mut hidden, mut beside) = (vec![node], Vec::new(), Vec::new());
        while let Some(at) = open.pop() {
            for child in &self.nodes[at].children {
                if self.published(*child) {
                    beside.push(*child);
                } else if self.nodes[*child].children.is_empty() {
                    hidden.push(*child);
                } else {
                    open.push(*child);
                }
            }
        }
        (hidden, beside)
    }

    /// The amount that the sum of the suppressed cells under a total lacks to be safe.
    fn lacking(&self, hidden: &[usize]) -> Option<f64> {
        let ranges = hidden.iter().map(|leaf| &self.nodes[*leaf].rows);
        missing(ranges.flat_map(|range| self.contributions(range)).collect())
    }

    /// Suppresses more under every published total, from small totals to large ones: what is
    /// suppressed for a total joins what was under the suppressed cell, so that smaller totals stay
    /// safe.
    fn complement(&mut self) {
        // Children come after their parents.
        for total in (0..self.nodes.len()).rev() {
            while self.published(total) {
                let (hidden, beside) = self.beneath(total);
                let Some(lacking) = self.lacking(&hidden) else { break };
                if !self.hide_one(beside, lacking) {
                    break;
                }
            }
        }
    }

    /// Suppresses the smallest of these cells that pays enough, or the largest; in a cell that has
    /// nothing suppressed in it (and so could be added up again) also one of its children, and so
    /// on.
    fn hide_one(&mut self, among: Vec<usize>, lacking: f64) -> bool {
        let mut among = among;
        let mut hidden = false;
        loop {
            let pay = |node: &usize| self.nodes[*node].pay;
            let enough =
                among.iter().filter(|node| pay(node) as f64 >= lacking).min_by_key(|n| pay(n));
            let Some(chosen) = enough.or(among.iter().max_by_key(|n| pay(n))).copied() else {
                return hidden;
            };
            self.nodes[chosen].state = State::Complementary;
            hidden = true;
            let (inside, beside) = self.beneath(chosen);
            if !inside.is_empty() || self.nodes[chosen].children.is_empty() {
                return true;
            }
            among = beside;
        }
    }
}

/// Every cell and county, with what happens to it.
pub(super) fn suppress(rows: &[Establishment]) -> Vec<Node> {
    let mut start = 0;
    let mut all = Vec::new();
    for run in rows.chunk_by(|a, b| a.county == b.county) {
        let mut county = County::new(rows, start..start + run.len());
        county.complement();
        all.extend(county.nodes);
        start += run.len();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{Size, generate};
    use super::*;

    fn row(naics: u32, owner: u32, pay: i64) -> Establishment {
        Establishment { county: 1, naics, owner, employees: 1, pay, pay_quarter: 0 }
    }

    #[test]
    fn the_rule_by_hand() {
        // The others pay 9 of 100: the second largest knows the largest to within 9 %.
        assert!(missing(vec![(1, 100), (2, 50), (3, 9)]).is_some());
        assert!(missing(vec![(1, 100), (2, 50), (3, 10)]).is_none());
        // Two establishments of one firm are one contribution.
        assert!(missing(vec![(1, 50), (2, 50), (1, 50), (3, 9)]).is_some());
        assert!(missing(vec![(1, 50), (2, 60), (4, 50), (3, 9)]).is_none());
        assert!(missing(vec![(1, 1), (2, 1)]).is_some());
        assert!(missing(Vec::new()).is_none());
    }

    /// One sensitive industry of three: its total would give it away, and so would the next total.
    #[test]
    fn a_second_cell_goes_with_the_first() {
        let mut rows: Vec<Establishment> = vec![row(111_111, 0, 1_000)];
        rows.extend((0..20).map(|i| row(111_112, 10 + i, 30)));
        rows.extend((0..20).map(|i| row(111_113, 40 + i, 50)));
        rows.extend((0..20).map(|i| row(222_220, 80 + i, 50)));
        let nodes = suppress(&rows);
        let state = |level: u32, start: usize| {
            nodes.iter().find(|n| n.level == level && n.rows.start == start).unwrap().state
        };
        assert_eq!(state(6, 0), State::Primary);
        // 600 of 20 firms are enough for 10 % of 1,000, and less than 1,000 of 20 others.
        assert_eq!(state(6, 1), State::Complementary);
        assert_eq!(state(6, 21), State::Published);
        for level in [0, 2, 3, 4, 5] {
            assert_eq!(state(level, 0), State::Published);
        }
    }

    /// All that can be told from what is published, and that no cell is suppressed alone.
    #[test]
    fn nothing_that_can_be_told_is_sensitive() {
        let rows = generate(Size { rows: 20_000, counties: 60 }, 5);
        let nodes = suppress(&rows);
        // The fate of the cell of each level that a row is in; level 0 is its county.
        let mut states = vec![[State::Published; 7]; rows.len()];
        for node in &nodes {
            for row in node.rows.clone() {
                states[row][node.level as usize] = node.state;
            }
        }
        let mut totals = 0;
        for node in nodes.iter().filter(|n| n.state == State::Published && n.level < 6) {
            // The rest of a total after everything published in it.
            let finer = LEVELS.iter().filter(|level| **level > node.level);
            let covered = |row: &usize| {
                finer.clone().any(|level| states[*row][*level as usize] == State::Published)
            };
            let rest: Vec<usize> = node.rows.clone().filter(|row| !covered(row)).collect();
            let paid = rest.iter().map(|row| (rows[*row].owner, rows[*row].pay)).collect();
            assert_eq!(missing(paid), None, "{node:?}");
            totals += usize::from(!rest.is_empty());
        }
        assert!(totals > 100, "{totals}");
        for state in [State::Published, State::Primary, State::Complementary] {
            assert!(nodes.iter().filter(|n| n.state == state).count() > 100, "{state:?}");
        }
        // No suppressed cell can be added up from its children.
        for node in nodes.iter().filter(|n| n.state != State::Published && n.level < 6) {
            let finer = LEVELS.iter().find(|level| **level > node.level).unwrap();
            let below = &states[node.rows.clone()];
            assert!(below.iter().any(|row| row[*finer as usize] != State::Published), "{node:?}");
        }
        // Every sensitive cell is suppressed.
        for node in nodes.iter().filter(|n| n.state == State::Published) {
            let paid = rows[node.rows.clone()].iter().map(|row| (row.owner, row.pay)).collect();
            assert_eq!(missing(paid), None);
        }
    }
}
