//! The worst case of records whose probabilities are known within bounds.

use crate::error::KnowledgeError;
use crate::integer_law::IntegerLaw;
use crate::probability::ProbabilityRange;

/// Records with probabilities in an interval. Vertex j has j of them at the lower bound and the
/// others at the upper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vertices {
    others: u64,
    between: ProbabilityRange,
    floor: f64,
    /// The number of vertices that are treated as one, less one.
    slack: u64,
}

/// The largest delta within bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstCase {
    /// The delta, rounded up.
    pub delta: f64,
    /// How many records are at the lower bound there, the others being at the upper.
    pub records_at_lower: u64,
    /// How many of the records were taken to be known as well, to make it less work. With zero,
    /// delta is that of the worst case; with more, it is above.
    pub forgone: u64,
}

/// Most records within bounds.
const MOST_WITHIN: u64 = 10_000_000;

/// Most weights of laws that are visited, over all vertices.
const VISITED: f64 = 5e7;

/// The vertices from `first` to `last`.
#[derive(Clone, Copy, Debug)]
struct VertexRange {
    first: u64,
    last: u64,
}

impl VertexRange {
    fn records(self) -> u64 {
        self.last - self.first
    }
}

impl Vertices {
    pub(crate) const EXACT: u64 = 10_000;

    /// # Errors
    /// Unless `others` is from 1 to 10,000,000.
    pub(crate) fn new(others: u64, between: ProbabilityRange) -> Result<Self, KnowledgeError> {
        if others == 0 || others > MOST_WITHIN {
            return Err(KnowledgeError::Within(others));
        }
        let slack = if others <= Self::EXACT { 0 } else { others.div_ceil(1000) };
        let variance = others as f64 * between.most_variance();
        let floor = if variance <= 2500.0 { 1e-290 } else { 1e-70 };
        Ok(Self { others, between, floor, slack })
    }

    /// For a visit of every vertex: as many are treated separately as take little work.
    pub(crate) fn for_visits(self) -> Self {
        let work = self.others as f64 * self.widest().weights.len() as f64;
        // Up to ten million records and a hundred thousand weights.
        Self { slack: (work / VISITED).floor() as u64, ..self }
    }

    pub(crate) fn floor(&self) -> f64 {
        self.floor
    }

    pub(crate) fn slack(&self) -> u64 {
        self.slack
    }

    /// A law as wide as any of a vertex.
    pub(crate) fn widest(&self) -> IntegerLaw {
        let (low, high) = (self.between.low(), self.between.high());
        let near = if self.between.most_variance() > low.variance().max(high.variance()) {
            crate::Probability::new(0.5).unwrap_or(low)
        } else if low.variance() > high.variance() {
            low
        } else {
            high
        };
        IntegerLaw::binomial(self.others, near, self.floor)
    }

    /// The laws at the first vertex and the last, with all records at one bound.
    pub(crate) fn ends(&self, start: &IntegerLaw) -> [IntegerLaw; 2] {
        let [low, high] = [self.between.low(), self.between.high()]
            .map(|p| IntegerLaw::binomial(self.others, p, self.floor));
        [start.plus(&low, self.floor), start.plus(&high, self.floor)]
    }

    /// The largest `delta` above `from` of the laws at all vertices, of the sum of the records and
    /// of `start`, and that law; `None` if all are at most `from`.
    ///
    /// A range of vertices has fewer records in common, those which are at the same bound at all of
    /// them. Its delta is at least that of each vertex, as an attacker who knows more learns no
    /// less; so a range below the best vertex so far is discarded (branch and bound).
    pub(crate) fn largest(
        &self,
        start: &IntegerLaw,
        from: f64,
        delta: impl Fn(&IntegerLaw) -> f64,
    ) -> Option<(WorstCase, IntegerLaw)> {
        let mut least = from;
        let mut worst = None;
        let all = VertexRange { first: 0, last: self.others };
        let mut open = vec![(delta(start), all, start.clone())];
        while let Some((bound, range, law)) = open.pop() {
            if bound <= least {
                continue;
            }
            if range.records() <= self.slack {
                least = bound;
                let (records_at_lower, forgone) = (range.first, range.records());
                worst = Some((WorstCase { delta: bound, records_at_lower, forgone }, law));
                continue;
            }
            let mut halves = self.halves(range, &law).map(|(range, law)| (delta(&law), range, law));
            // The more promising half is on top of the stack.
            if halves[0].0 > halves[1].0 {
                halves.reverse();
            }
            open.extend(halves);
        }
        worst
    }

    /// Calls `visit` with the law of every vertex, or, with many records, of every short range of
    /// vertices, and with the number of records that are missing from it.
    pub(crate) fn each(&self, mut visit: impl FnMut(u64, &IntegerLaw)) {
        let all = VertexRange { first: 0, last: self.others };
        let mut open = vec![(all, IntegerLaw::point(0))];
        while let Some((range, law)) = open.pop() {
            if range.records() <= self.slack {
                visit(range.records(), &law);
            } else {
                open.extend(self.halves(range, &law));
            }
        }
    }

    fn halves(&self, range: VertexRange, law: &IntegerLaw) -> [(VertexRange, IntegerLaw); 2] {
        let middle = range.first + range.records() / 2;
        let left = VertexRange { first: range.first, last: middle };
        let right = VertexRange { first: middle + 1, last: range.last };
        let more =
            |count: u64, p| law.plus(&IntegerLaw::binomial(count, p, self.floor), self.floor);
        [
            (left, more(range.last - middle, self.between.high())),
            (right, more(middle + 1 - range.first, self.between.low())),
        ]
    }
}
