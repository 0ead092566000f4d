//! Two tables about the same people, class by class.

use std::collections::HashMap;

use super::{EquivalenceClass, Microdata};
use crate::error::KnowledgeError;
use crate::generalised::GeneralisedValue;

/// Most pairs of classes that are compared.
const MOST_PAIRS: usize = 100_000_000;

/// Most pairs of overlapping classes of one table.
const MOST_OVERLAPS: usize = 4_000_000;

/// Most findings that are listed.
const MOST_LISTED: usize = 1_000_000;

/// The findings of two tables together about a sensitive column of those who are in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linkage {
    /// Pairs of classes, one of each table, that can hold the same person.
    pub pairs: u64,
    /// Pairs in which a class has one value already.
    pub one_already: u64,
    /// Pairs that leave one value, where each table alone leaves several. Those with the fewest
    /// people come first.
    pub singled_out: Vec<SingledOut>,
    /// The number of these, of which at most a million are listed.
    pub singling_out: u64,
    /// Pairs that leave several values, but fewer than each table alone.
    pub narrowed: u64,
    /// Pairs that leave no value: nobody can be in both.
    pub nobody: u64,
}

/// Two classes that leave one value together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingledOut {
    /// The class of the first table and that of the second, by their indices.
    pub classes: [usize; 2],
    /// The value.
    pub value: String,
    /// The most people that this can hold for: the rows with the value, in the table with fewer.
    pub people: u64,
}

/// Compares all classes of two tables that have the same quasi-identifiers, for each of some
/// sensitive columns.
///
/// # Errors
/// When there are too many classes.
pub fn linkages(
    one: &Microdata,
    other: &Microdata,
    columns: &[usize],
) -> Result<Vec<Linkage>, KnowledgeError> {
    let between = Overlaps::new(one, other)?;
    let companions = Overlaps::new(one, one)?.companions()?;
    let others = Overlaps::new(other, other)?.companions()?;
    let coded: Vec<CodedValues<'_>> =
        columns.iter().map(|column| CodedValues::new(one, other, *column)).collect();
    let mut linkages = vec![Linkage::default(); columns.len()];
    for (i, near) in companions.iter().enumerate() {
        for (j, others_near) in others.iter().enumerate().filter(|(j, _)| between.meet(i, *j)) {
            // All classes that a person in both may be in.
            let first = near.iter().copied().filter(|d| between.meet(*d, j)).chain([i]);
            let second = others_near.iter().copied().filter(|d| between.meet(i, *d)).chain([j]);
            let (first, second): (Vec<usize>, Vec<usize>) = (first.collect(), second.collect());
            for (linkage, coded) in linkages.iter_mut().zip(&coded) {
                coded.compare(linkage, [i, j], &first, &second);
            }
        }
    }
    for linkage in &mut linkages {
        linkage.singled_out.sort_by_key(|pair| (pair.people, pair.classes));
    }
    Ok(linkages)
}

/// Which classes of two tables can hold the same person, by their values.
struct Overlaps<'a> {
    one: &'a [EquivalenceClass],
    other: &'a [EquivalenceClass],
    /// By quasi-identifier: whether two values meet, by their numbers.
    grids: Vec<PairGrid>,
}

/// A bit for each pair of values, as there may be many.
struct PairGrid {
    words: usize,
    bits: Vec<u64>,
}

impl PairGrid {
    fn new(rows: &[GeneralisedValue], columns: &[GeneralisedValue]) -> Self {
        let words = columns.len().div_ceil(64);
        let word = |(row, word): (&GeneralisedValue, usize)| {
            let chunk = columns.iter().skip(word * 64).take(64).enumerate();
            chunk.fold(0, |bits, (bit, value)| bits | u64::from(row.meets(value)) << bit)
        };
        let bits = rows.iter().flat_map(|row| (0..words).map(move |w| (row, w))).map(word);
        Self { words, bits: bits.collect() }
    }

    fn has(&self, row: usize, column: usize) -> bool {
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 == 1
    }
}

impl<'a> Overlaps<'a> {
    fn new(one: &'a Microdata, other: &'a Microdata) -> Result<Self, KnowledgeError> {
        let pairs = one.classes.len().saturating_mul(other.classes.len());
        if pairs > MOST_PAIRS {
            return Err(KnowledgeError::Classes { pairs, most: MOST_PAIRS });
        }
        let values = one.values.iter().zip(&other.values);
        let grids = values.map(|(rows, columns)| PairGrid::new(rows, columns)).collect();
        Ok(Self { one: &one.classes, other: &other.classes, grids })
    }

    fn meet(&self, i: usize, j: usize) -> bool {
        let keys = self.one[i].keys.iter().zip(&self.other[j].keys);
        keys.zip(&self.grids).all(|((a, b), grid)| grid.has(*a, *b))
    }

    /// For each class of a table, the other classes that can hold the same person.
    fn companions(&self) -> Result<Vec<Vec<usize>>, KnowledgeError> {
        let mut all = 0;
        (0..self.one.len())
            .map(|i| {
                let overlapping = (0..self.other.len()).filter(|j| *j != i && self.meet(i, *j));
                let overlapping: Vec<usize> = overlapping.take(MOST_OVERLAPS).collect();
                all += overlapping.len();
                if all >= MOST_OVERLAPS {
                    return Err(KnowledgeError::Overlaps { most: MOST_OVERLAPS });
                }
                Ok(overlapping)
            })
            .collect()
    }
}

/// Values, by their numbers in rising order, with their rows.
type ValueRows = Vec<(usize, u64)>;

/// The values of a sensitive column in both tables as numbers.
struct CodedValues<'a> {
    values: Vec<&'a str>,
    /// By table and class: its values; `None` where some are missing.
    tables: [Vec<Option<ValueRows>>; 2],
}

impl<'a> CodedValues<'a> {
    fn new(one: &'a Microdata, other: &'a Microdata, column: usize) -> Self {
        let (mut numbers, mut values) = (HashMap::new(), Vec::new());
        let tables = [one, other].map(|table| {
            let mut coded = Vec::with_capacity(table.classes.len());
            for class in &table.classes {
                let counts = class.sensitive.get(column).filter(|counts| counts.missing == 0);
                coded.push(counts.map(|counts| {
                    let mut rows: Vec<(usize, u64)> = counts
                        .stated
                        .iter()
                        .map(|(value, rows)| {
                            let number = *numbers.entry(value.as_str()).or_insert_with(|| {
                                values.push(value.as_str());
                                values.len() - 1
                            });
                            (number, *rows)
                        })
                        .collect();
                    rows.sort_unstable();
                    rows
                }));
            }
            coded
        });
        Self { values, tables }
    }

    /// The values of some classes of a table, with their rows.
    fn of(&self, table: usize, classes: &[usize]) -> Option<ValueRows> {
        let mut all = ValueRows::new();
        for class in classes {
            all.extend(self.tables[table][*class].as_ref()?);
        }
        all.sort_unstable();
        all.dedup_by(|next, previous| {
            let same = next.0 == previous.0;
            if same {
                previous.1 += next.1;
            }
            same
        });
        Some(all)
    }

    fn compare(&self, linkage: &mut Linkage, pair: [usize; 2], first: &[usize], second: &[usize]) {
        linkage.pairs += 1;
        let (Some(first), Some(second)) = (self.of(0, first), self.of(1, second)) else {
            // Any value meets those of the other: it leaves as many as are there.
            let one =
                [self.of(0, first), self.of(1, second)].into_iter().flatten().any(|v| v.len() == 1);
            linkage.one_already += u64::from(one);
            return;
        };
        let rows: HashMap<usize, u64> = second.iter().copied().collect();
        let both: Vec<(usize, u64)> = first
            .iter()
            .filter_map(|(value, count)| Some((*value, *rows.get(value)?.min(count))))
            .collect();
        match both.as_slice() {
            [] => linkage.nobody += 1,
            _ if first.len() == 1 || second.len() == 1 => linkage.one_already += 1,
            [(value, people)] => {
                linkage.singling_out += 1;
                if linkage.singled_out.len() < MOST_LISTED {
                    let value = self.values.get(*value).copied().unwrap_or_default().to_owned();
                    linkage.singled_out.push(SingledOut { classes: pair, value, people: *people });
                }
            }
            several if several.len() < first.len().min(second.len()) => linkage.narrowed += 1,
            _ => {}
        }
    }
}
