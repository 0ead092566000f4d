//! Errors: why a release cannot be assessed, and which one could be.

/// Why a release was not assessed. Each says the range that would do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum KnowledgeError {
    /// Not a probability.
    #[error("probability = {0} is not valid: it must be a number from 0 to 1")]
    Probability(f64),
    /// Bounds in the wrong order.
    #[error(
        "the lower bound {low} is above the upper bound {high}: give LO..HI with LO at most HI"
    )]
    Interval {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
    /// No records are unknown, or more than can be computed with.
    #[error("{0} unknown records are not valid: their number must be from 1 to 1000000000")]
    Records(u64),
    /// No records are unknown, or more than can be computed with in bounds.
    #[error(
        "{0} unknown records are not valid: within bounds, their number must be from 1 to \
         10000000; treating others as known can only make delta larger"
    )]
    Within(u64),
    /// More known records than are computed with.
    #[error("{given} known records are not valid: their number must be at most {most} here")]
    Known {
        /// The value given.
        given: u64,
        /// The limit.
        most: u64,
    },
    /// A threshold that no count passes.
    #[error(
        "a threshold of {threshold} is not valid: with {records} records, it must be below \
         {records}, or nothing is ever released"
    )]
    Threshold {
        /// Counts above it are released.
        threshold: u64,
        /// All records: unknown, known, and the target's.
        records: u64,
    },
    /// A k below one, or above the number of records.
    #[error("k = {k} is not valid: with {records} records, it must be from 1 to {records}")]
    K {
        /// The least count that is released.
        k: u64,
        /// All records: unknown, and the target's.
        records: u64,
    },
    /// Fewer than two values, or more than are computed with.
    #[error(
        "number of values = {0} is not valid: it must be at least 2, and at most 20 in a \
         k-anonymous table"
    )]
    Values(usize),
    /// Lower bounds that do not fit into one.
    #[error("the lower bounds add up to {0}: the sum must be at most 1")]
    LowerBounds(f64),
    /// A value that cannot happen, as the others need all the probability there is.
    #[error("the upper bounds add up to {0}: the sum must be at least 1")]
    UpperBounds(f64),
    /// Noise outside what is computed with.
    #[error("{what} = {given} is not valid: it must be a number from {range}")]
    Noise {
        /// The parameter.
        what: &'static str,
        /// The value given.
        given: f64,
        /// The limit.
        range: &'static str,
    },
    /// Too many operations.
    #[error(
        "this takes about {0:e} multiplications; at most 3e10 are allowed: there are too many \
         different probabilities for the number of records"
    )]
    Work(f64),
    /// An amount of privacy loss that is none.
    #[error("{what} = {given} is not valid: it must be a number {range}")]
    Amount {
        /// Which.
        what: &'static str,
        /// The value given.
        given: f64,
        /// The limit.
        range: &'static str,
    },
    /// A cell that is none, or overlaps another one of its level.
    #[error(
        "cell {index} is not valid: its blocks must exist, be in ascending order and belong to \
         no other cell of its level, and its least count must be at most its largest"
    )]
    Cell {
        /// Its index, from 0.
        index: usize,
    },
    /// Published counts that no table has.
    #[error("the published counts contradict each other: no table has all of them")]
    Contradiction {
        /// The contradicting cells, by their indices, if they are known.
        cells: Vec<usize>,
    },
    /// More pairs of classes than are compared.
    #[error("the tables have {pairs} pairs of classes; at most {most} are compared")]
    Classes {
        /// The number of pairs.
        pairs: usize,
        /// The limit.
        most: usize,
    },
    /// Generalised values that nearly all overlap each other.
    #[error("more than {most} pairs of classes of one table can hold the same person")]
    Overlaps {
        /// The limit.
        most: usize,
    },
    /// Releases whose dependence is not bounded.
    #[error(
        "releases without noise do not add up by themselves: the count of all and the count of \
         all but one person may each reveal little, but their difference is that person's record"
    )]
    Unbounded,
}
