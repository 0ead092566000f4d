//! Small models at random, and their definitions once more, by brute force in floating point.

use std::collections::{BTreeMap, BTreeSet};

use hushtable_knowledge::model::{Definitions, FiniteLaw, Fraction, Mechanism, Model, Worlds};
use hushtable_privacy::Epsilon;
use proptest::prelude::*;

pub(crate) const OUTPUTS: u32 = 4;

/// A model with whole weights. The mechanism's law is one of `laws`, by the database.
#[derive(Clone, Debug)]
pub(crate) struct Small {
    pub(crate) weights: Vec<Vec<u32>>,
    pub(crate) records: Vec<Vec<u32>>,
    pub(crate) knowledge: Vec<u32>,
    pub(crate) laws: Vec<Vec<u32>>,
    pub(crate) target: usize,
}

type Output = BTreeMap<u32, f64>;

fn fractions(weights: &[u32]) -> Vec<Fraction> {
    let sum: u32 = weights.iter().sum();
    weights.iter().map(|w| format!("{w}/{sum}").parse().unwrap()).collect()
}

impl Small {
    pub(crate) fn worlds(&self) -> Worlds {
        let laws = self.weights.iter().map(|weights| FiniteLaw::new(&fractions(weights)).unwrap());
        Worlds::new(laws.collect()).unwrap()
    }

    pub(crate) fn model(&self) -> Model {
        Model::new(self.worlds(), &self.records, self.knowledge.clone(), &[self.target]).unwrap()
    }

    pub(crate) fn definitions(&self) -> Definitions {
        self.with_split(None)
    }

    /// Where outputs are pairs.
    pub(crate) fn split_definitions(&self, split: &[[u32; 2]]) -> Definitions {
        self.with_split(Some(split))
    }

    fn with_split(&self, split: Option<&[[u32; 2]]>) -> Definitions {
        let model = self.model();
        let table: Vec<Vec<(u32, Fraction)>> = model
            .databases()
            .iter()
            .map(|database| (0..OUTPUTS).zip(fractions(self.law(database))).collect())
            .collect();
        let mechanism = Mechanism::table(&model, &table).unwrap();
        Definitions::new(&model, &mechanism, split).unwrap()
    }

    fn law(&self, database: &[u32]) -> &[u32] {
        let number = database.iter().fold(0, |all, value| all * 3 + *value as usize);
        &self.laws[number % self.laws.len()]
    }

    /// Of the worlds: probability, database, knowledge.
    fn all(&self) -> Vec<(f64, Vec<u32>, u32)> {
        let worlds = self.worlds();
        (0..worlds.count())
            .map(|world| {
                let chance = |(parameter, weights): (usize, &Vec<u32>)| {
                    let sum: u32 = weights.iter().sum();
                    f64::from(weights[worlds.choice(world, parameter)]) / f64::from(sum)
                };
                let p = self.weights.iter().enumerate().map(chance).product();
                let database = self.records.iter().map(|values| values[world]).collect();
                (p, database, self.knowledge[world])
            })
            .filter(|(p, ..)| *p > 0.0)
            .collect()
    }

    pub(crate) fn values(&self) -> BTreeSet<u32> {
        self.all().iter().map(|(_, database, _)| database[self.target]).collect()
    }

    pub(crate) fn known(&self) -> BTreeSet<u32> {
        self.all().iter().map(|(.., knowledge)| *knowledge).collect()
    }

    /// P[condition], and the weights of what is then published, after a change of the database.
    fn published(
        &self,
        condition: impl Fn(&[u32], u32) -> bool,
        change: Option<u32>,
    ) -> (f64, Output) {
        let (mut sum, mut output) = (0.0, Output::new());
        for (p, mut database, knowledge) in self.all() {
            if !condition(&database, knowledge) {
                continue;
            }
            sum += p;
            if let Some(value) = change {
                database[self.target] = value;
            }
            let law = self.law(&database);
            let total: u32 = law.iter().sum();
            for (o, w) in (0..).zip(law) {
                if *w > 0 {
                    *output.entry(o).or_default() += p * f64::from(*w) / f64::from(total);
                }
            }
        }
        (sum, output)
    }

    fn given(&self, value: u32, knowledge: u32, change: Option<u32>) -> Option<Output> {
        let here = |database: &[u32], b| database[self.target] == value && b == knowledge;
        let (sum, output) = self.published(here, change);
        (sum > 0.0).then(|| output.into_iter().map(|(o, w)| (o, w / sum)).collect())
    }

    pub(crate) fn noiseless(&self, epsilon: f64) -> f64 {
        let mut worst = 0.0f64;
        self.each_pair(|a, b, knowledge| {
            let (one, other) =
                (self.given(a, knowledge, None).unwrap(), self.given(b, knowledge, None).unwrap());
            worst = worst.max(hockey_stick(&one, &other, epsilon));
        });
        worst
    }

    pub(crate) fn causal(&self, epsilon: f64) -> f64 {
        let mut worst = 0.0f64;
        self.each_pair(|a, b, knowledge| {
            let one = self.given(a, knowledge, None).unwrap();
            let other = self.given(a, knowledge, Some(b)).unwrap();
            let both = hockey_stick(&one, &other, epsilon).max(hockey_stick(&other, &one, epsilon));
            worst = worst.max(both);
        });
        worst
    }

    pub(crate) fn passive(&self, epsilon: f64) -> f64 {
        let mut means: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        self.each_pair(|a, b, knowledge| {
            let (one, other) =
                (self.given(a, knowledge, None).unwrap(), self.given(b, knowledge, None).unwrap());
            let has = |database: &[u32]| database[self.target] == a;
            let (joint, _) = self.published(|d, k| has(d) && k == knowledge, None);
            let (alone, _) = self.published(|d, _| has(d), None);
            *means.entry((a, b)).or_default() +=
                joint / alone * hockey_stick(&one, &other, epsilon);
        });
        means.into_values().fold(0.0, f64::max)
    }

    pub(crate) fn inference(&self, epsilon: f64) -> f64 {
        let mut worst = 0.0f64;
        for knowledge in self.known() {
            for b in self.values() {
                for t in 0..OUTPUTS {
                    let law = |change: Option<u32>| -> Option<Output> {
                        let weight = |value: u32| {
                            let here = |d: &[u32], k| d[self.target] == value && k == knowledge;
                            let (_, output) = self.published(here, change);
                            output.get(&t).copied().unwrap_or(0.0)
                        };
                        let all: Output = self.values().iter().map(|v| (*v, weight(*v))).collect();
                        let sum: f64 = all.values().sum();
                        (sum > 0.0).then(|| all.into_iter().map(|(v, w)| (v, w / sum)).collect())
                    };
                    let (Some(one), Some(other)) = (law(None), law(Some(b))) else { continue };
                    worst = worst
                        .max(hockey_stick(&one, &other, epsilon))
                        .max(hockey_stick(&other, &one, epsilon));
                }
            }
        }
        worst
    }

    /// Whether just what can be published at all can be with the target having any value, and after
    /// a change to any value.
    pub(crate) fn same_outputs(&self) -> bool {
        self.known().iter().all(|knowledge| {
            let here = |change, value: Option<u32>| {
                let has_value = |d: &[u32]| value.is_none_or(|value| d[self.target] == value);
                let (_, output) = self.published(|d, k| k == *knowledge && has_value(d), change);
                output.into_keys().collect::<BTreeSet<u32>>()
            };
            let all = here(None, None);
            self.values().iter().all(|b| here(Some(*b), None) == all && here(None, Some(*b)) == all)
        })
    }

    /// The model in which a function of what is published is published (PK Proposition 5).
    pub(crate) fn after(&self, image: [u32; OUTPUTS as usize]) -> Self {
        let merged = |law: &Vec<u32>| {
            let mut all = vec![0; law.len()];
            law.iter().zip(image).for_each(|(weight, output)| all[output as usize] += weight);
            all
        };
        Self { laws: self.laws.iter().map(merged).collect(), ..self.clone() }
    }

    /// The model in which this mechanism runs with probability `share`/8, and else that of the
    /// other one.
    pub(crate) fn mixed_with(&self, other: &Self, share: u32) -> Self {
        let mixed = |number: usize| {
            let (one, two) =
                (&self.laws[number % self.laws.len()], &other.laws[number % other.laws.len()]);
            let (sum, other_sum): (u32, u32) = (one.iter().sum(), two.iter().sum());
            one.iter()
                .zip(two)
                .map(|(p, q)| p * other_sum * share + q * sum * (8 - share))
                .collect()
        };
        Self { laws: (0..27).map(mixed).collect(), ..self.clone() }
    }

    /// PK Definition 14: whether, for any two things that the attacker may know, outputs can be
    /// renamed so that each has the same probability under the one as under the other, whatever the
    /// target's value is. That is so if and only if the outputs' columns of probabilities, one for
    /// each value, are the same except for their order.
    pub(crate) fn reducible(&self) -> bool {
        let columns = |knowledge: u32| -> Option<Vec<Vec<i64>>> {
            let laws: Option<Vec<Output>> =
                self.values().iter().map(|value| self.given(*value, knowledge, None)).collect();
            let laws = laws?;
            let rounded = |law: &Output, o: u32| (law.get(&o).unwrap_or(&0.0) * 1e9).round() as i64;
            let mut columns: Vec<Vec<i64>> =
                (0..OUTPUTS).map(|o| laws.iter().map(|law| rounded(law, o)).collect()).collect();
            columns.sort();
            Some(columns)
        };
        let mut all = self.known().into_iter().map(columns);
        let first = all.next().flatten();
        first.is_some() && all.all(|other| other == first)
    }

    /// The largest ln P\[S\]/Q\[S\] of any event S, for two possible databases that differ in the
    /// target alone.
    pub(crate) fn most_telling_event(&self) -> f64 {
        let all = self.all();
        let law = |database: &[u32]| {
            let law = self.law(database);
            let total: u32 = law.iter().sum();
            law.iter().map(|w| f64::from(*w) / f64::from(total)).collect::<Vec<f64>>()
        };
        let mut worst = 0.0f64;
        for (_, one, known) in &all {
            for (_, other, _) in all.iter().filter(|(.., also_known)| also_known == known) {
                let (one, other) = (law(one), law(other));
                for event in 1..1u32 << OUTPUTS {
                    let chance = |law: &[f64]| -> f64 {
                        (0..).zip(law).filter(|(o, _)| event >> o & 1 == 1).map(|(_, p)| p).sum()
                    };
                    if chance(&one) > 0.0 {
                        worst = worst.max((chance(&one) / chance(&other)).ln());
                    }
                }
            }
        }
        worst
    }

    /// The model for an attacker who knows all records but the target.
    pub(crate) fn fully_known(self) -> Self {
        let others = |world: usize| {
            let rest = (0..self.records.len()).filter(|record| *record != self.target);
            rest.fold(0, |all, record| all * 3 + self.records[record][world])
        };
        let knowledge = (0..self.knowledge.len()).map(others).collect();
        Self { knowledge, ..self }
    }

    /// Differential privacy (PK Definition 2) of databases that are possible.
    pub(crate) fn differential(&self, epsilon: f64) -> f64 {
        let all = self.all();
        let output = |database: &[u32]| -> Output {
            let law = self.law(database);
            let total: u32 = law.iter().sum();
            (0..).zip(law.iter().map(|w| f64::from(*w) / f64::from(total))).collect()
        };
        let mut worst = 0.0f64;
        for (_, one, known) in &all {
            for (_, other, also_known) in &all {
                if known == also_known {
                    worst = worst.max(hockey_stick(&output(one), &output(other), epsilon));
                }
            }
        }
        worst
    }

    /// Calls `visit` with two values of the target, in either order, and knowledge that is
    /// compatible with both.
    fn each_pair(&self, mut visit: impl FnMut(u32, u32, u32)) {
        for knowledge in self.known() {
            for a in self.values() {
                for b in self.values() {
                    let possible = |v| self.given(v, knowledge, None).is_some();
                    if a != b && possible(a) && possible(b) {
                        visit(a, b, knowledge);
                    }
                }
            }
        }
    }
}

pub(crate) fn hockey_stick(one: &Output, other: &Output, epsilon: f64) -> f64 {
    let other = |key| other.get(key).copied().unwrap_or(0.0);
    one.iter().map(|(key, p)| (p - epsilon.exp() * other(key)).max(0.0)).sum()
}

pub(crate) fn epsilon(value: f64) -> Epsilon {
    Epsilon::from_f64_up(value).unwrap()
}

pub(crate) fn fraction(text: &str) -> Fraction {
    text.parse().unwrap()
}

/// Laws of what is published.
pub(crate) fn laws() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let published =
        prop::collection::vec(prop_oneof![1 => Just(0u32), 2 => 1..6u32], OUTPUTS as usize)
            .prop_filter("something is published", |w| w.iter().sum::<u32>() > 0);
    prop::collection::vec(published, 1..=27)
}

/// Three votes, each with a probability of its own, of which the last are known; what is published
/// of their number is a function of it.
pub(crate) fn referendum(
    weights: Vec<[u32; 2]>,
    known: usize,
    published: [usize; OUTPUTS as usize],
) -> Small {
    let mut small = Small {
        weights: weights.iter().map(|w| w.to_vec()).collect(),
        records: Vec::new(),
        knowledge: Vec::new(),
        laws: (0..27usize)
            .map(|database| {
                let ones: usize = [1, 3, 9].iter().map(|power| database / power % 3).sum();
                (0..OUTPUTS as usize).map(|o| u32::from(o == published[ones.min(3)])).collect()
            })
            .collect(),
        target: 0,
    };
    let worlds = small.worlds();
    let column = |record| (0..worlds.count()).map(|w| worlds.choice(w, record) as u32).collect();
    small.records = (0..3).map(column).collect();
    let known_values = |world: usize| {
        (3 - known..3).fold(0, |all, record| all * 2 + worlds.choice(world, record) as u32)
    };
    small.knowledge = (0..worlds.count()).map(known_values).collect();
    small
}

/// A function of some of the parameters, by a table.
fn function(values: u32) -> impl Strategy<Value = (Vec<u32>, u8)> {
    (
        prop::collection::vec(0..values, 27),
        prop_oneof![1 => 0..8u8, 2 => prop::sample::select(vec![1, 2, 4])],
    )
}

fn tabulated(worlds: &Worlds, (table, mask): &(Vec<u32>, u8)) -> Vec<u32> {
    let row = |world: usize| {
        (0..worlds.parameters())
            .filter(|parameter| mask >> parameter & 1 == 1)
            .fold(0, |all, parameter| all * 3 + worlds.choice(world, parameter))
    };
    (0..worlds.count()).map(|world| table[row(world)]).collect()
}

/// Models of up to three parameters, of up to three values each, and of two or three records.
pub(crate) fn small() -> impl Strategy<Value = Small> {
    let weight = prop_oneof![1 => Just(0u32), 6 => 1..8u32];
    let law = prop::collection::vec(weight.clone(), 2..=3)
        .prop_filter("some value is possible", |w| w.iter().sum::<u32>() > 0);
    (
        prop::collection::vec(law, 1..=3),
        prop::collection::vec(function(3), 2..=3),
        prop_oneof![function(1), function(2), function(3)],
        laws(),
    )
        .prop_map(|(weights, records, knowledge, laws)| {
            let mut small =
                Small { weights, records: Vec::new(), knowledge: Vec::new(), laws, target: 0 };
            let worlds = small.worlds();
            small.records = records.iter().map(|function| tabulated(&worlds, function)).collect();
            small.knowledge = tabulated(&worlds, &knowledge);
            small
        })
}
