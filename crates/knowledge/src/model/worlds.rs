//! All combinations of the parameters' values, and the databases that they give.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::error::ModelError;
use super::fraction::FiniteLaw;

/// Most combinations of values that are enumerated.
pub const MOST_WORLDS: usize = 100_000;

/// Most databases that a mechanism answers for.
pub const MOST_DATABASES: usize = 500_000;

/// Most databases times values and outputs that are enumerated.
pub const MOST_STEPS: usize = 5_000_000;

/// Refuses more than [`MOST_STEPS`].
pub(super) fn check_steps(what: &'static str, steps: usize) -> Result<(), ModelError> {
    if steps <= MOST_STEPS {
        return Ok(());
    }
    Err(ModelError::Large { what, size: steps.to_string(), most: MOST_STEPS })
}

/// Independent parameters and all combinations of their values, the last parameter's value changing
/// fastest.
#[derive(Clone, Debug)]
pub struct Worlds {
    laws: Vec<FiniteLaw>,
    count: usize,
}

impl Worlds {
    /// All combinations of the values of parameters with these laws.
    ///
    /// # Errors
    /// If there are more than [`MOST_WORLDS`].
    pub fn new(laws: Vec<FiniteLaw>) -> Result<Self, ModelError> {
        let count: BigUint = laws.iter().map(|law| BigUint::from(law.values())).product();
        match usize::try_from(&count) {
            Ok(count) if count <= MOST_WORLDS => Ok(Self { laws, count }),
            _ => Err(ModelError::Large {
                what: "combinations of the parameters' values",
                size: count.to_string(),
                most: MOST_WORLDS,
            }),
        }
    }

    /// The number of combinations.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of parameters.
    pub fn parameters(&self) -> usize {
        self.laws.len()
    }

    /// Which of its values a parameter has in a world.
    pub fn choice(&self, world: usize, parameter: usize) -> usize {
        let values = self.laws.get(parameter).map_or(1, FiniteLaw::values);
        world / self.stride(parameter) % values
    }

    /// By how much a parameter's next value moves a world's number.
    pub(super) fn stride(&self, parameter: usize) -> usize {
        self.laws.iter().skip(parameter + 1).map(FiniteLaw::values).product()
    }

    /// The first value of a parameter that is possible.
    pub(super) fn first_possible(&self, parameter: usize) -> usize {
        let law = self.laws.get(parameter);
        law.and_then(|law| law.weights.iter().position(|w| !w.is_zero())).unwrap_or(0)
    }

    /// How many values of a parameter are possible.
    pub(super) fn possible(&self, parameter: usize) -> usize {
        let law = self.laws.get(parameter);
        law.map_or(1, |law| law.weights.iter().filter(|w| !w.is_zero()).count())
    }

    /// The weight of a world, out of [`Self::total`].
    pub(super) fn weight(&self, world: usize) -> BigUint {
        let mut weight = BigUint::one();
        let mut rest = world;
        for law in self.laws.iter().rev() {
            weight *= &law.weights[rest % law.values()];
            rest /= law.values();
        }
        weight
    }

    pub(super) fn total(&self) -> BigUint {
        self.laws.iter().map(|law| &law.total).product()
    }
}

/// Records and what an attacker knows of them, as functions of independent parameters (PK
/// Definition 7).
///
/// Values are numbers: the caller knows what they stand for.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) worlds: Worlds,
    /// For each world the number of its database, or `None` if it is impossible.
    pub(super) database_of: Vec<Option<usize>>,
    pub(super) knowledge_of: Vec<u32>,
    pub(super) targets: Vec<ProtectedRecord>,
    databases: Vec<Vec<u32>>,
    indices: HashMap<Vec<u32>, usize>,
}

/// A record whose value is to be protected.
#[derive(Clone, Debug)]
pub(super) struct ProtectedRecord {
    /// Its index among the records.
    pub(super) record: usize,
    /// The values that it has with a probability above zero.
    pub(super) values: BTreeSet<u32>,
    /// By what the attacker knows and the target's value: the databases.
    pub(super) cases: BTreeMap<(u32, u32), Case>,
    /// All that the attacker may know.
    pub(super) knowledge: BTreeSet<u32>,
}

/// All databases in which the attacker knows one thing and the target has one value.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    pub(super) databases: BTreeMap<usize, BigUint>,
    pub(super) weight: BigUint,
}

impl Model {
    /// A model whose `records` have these values, record by record and world by world, whose
    /// attacker knows `knowledge` in each world, and of which `targets` are to be protected.
    ///
    /// # Errors
    /// Unless there is a target, every target is a record, and all tables have an entry for each
    /// world.
    pub fn new(
        worlds: Worlds,
        records: &[Vec<u32>],
        knowledge: Vec<u32>,
        targets: &[usize],
    ) -> Result<Self, ModelError> {
        let fits = records.iter().all(|values| values.len() == worlds.count)
            && knowledge.len() == worlds.count
            && !targets.is_empty()
            && targets.iter().all(|target| *target < records.len());
        if !fits {
            return Err(ModelError::Inconsistent);
        }
        let mut model = Self {
            database_of: Vec::with_capacity(worlds.count),
            knowledge_of: knowledge,
            targets: Vec::new(),
            databases: Vec::new(),
            indices: HashMap::new(),
            worlds,
        };
        let mut weights = Vec::with_capacity(model.worlds.count);
        for world in 0..model.worlds.count {
            let weight = model.worlds.weight(world);
            let database = (!weight.is_zero())
                .then(|| model.intern(records.iter().map(|values| values[world]).collect()));
            model.database_of.push(database);
            weights.push(weight);
        }
        for record in targets {
            model.protect(*record, &weights)?;
        }
        Ok(model)
    }

    /// The index of a database, which is stored if it is new.
    fn intern(&mut self, database: Vec<u32>) -> usize {
        if let Some(index) = self.indices.get(&database) {
            return *index;
        }
        let index = self.databases.len();
        self.indices.insert(database.clone(), index);
        self.databases.push(database);
        index
    }

    fn protect(&mut self, record: usize, weights: &[BigUint]) -> Result<(), ModelError> {
        let mut cases: BTreeMap<(u32, u32), Case> = BTreeMap::new();
        for (world, weight) in weights.iter().enumerate() {
            let Some(database) = self.database_of[world] else { continue };
            let key = (self.knowledge_of[world], self.databases[database][record]);
            let case = cases.entry(key).or_default();
            case.weight += weight;
            *case.databases.entry(database).or_default() += weight;
        }
        let values: BTreeSet<u32> = cases.keys().map(|(_, value)| *value).collect();
        // Databases that exist only after a change.
        let real: BTreeSet<usize> =
            cases.values().flat_map(|case| case.databases.keys().copied()).collect();
        let steps = real.len().saturating_mul(values.len());
        check_steps("databases times values of the target", steps)?;
        for database in real {
            for value in &values {
                let mut changed = self.databases[database].clone();
                changed[record] = *value;
                self.intern(changed);
            }
            if self.databases.len() > MOST_DATABASES {
                return Err(ModelError::Large {
                    what: "databases, with those that a change of a target makes",
                    size: format!("over {MOST_DATABASES}"),
                    most: MOST_DATABASES,
                });
            }
        }
        let knowledge = cases.keys().map(|(knowledge, _)| *knowledge).collect();
        self.targets.push(ProtectedRecord { record, values, cases, knowledge });
        Ok(())
    }

    /// The databases that a mechanism has to answer for, each by its records' values: those that
    /// are possible, and those that a change of a target makes of them.
    pub fn databases(&self) -> &[Vec<u32>] {
        &self.databases
    }

    /// The database with a record's value replaced.
    pub(super) fn changed(&self, database: usize, record: usize, value: u32) -> Option<usize> {
        let mut changed = self.databases.get(database)?.clone();
        *changed.get_mut(record)? = value;
        self.indices.get(&changed).copied()
    }

    /// All records but one.
    pub(super) fn without(&self, database: usize, record: usize) -> Vec<u32> {
        let mut rest = self.databases.get(database).cloned().unwrap_or_default();
        if record < rest.len() {
            rest.remove(record);
        }
        rest
    }
}
