//! Queries about rows that belong to units of two populations.

use hushtable_contract::{MAX_ROWS, NoiseKind};
use hushtable_lang::Refusal;
use hushtable_mechanisms::{TiedRows, ValueSpan};
use hushtable_privacy::{Contribution, RowsBeside};

use super::{Clamps, Groups, Measure, Measurement, PrivateQuery};
use crate::relation::Relation;
use crate::warning::{Warning, WarningCode};

/// Refuses groups that are chosen privately, where rows belong to two populations: a unit of the
/// one that is bounded beside may change how many of the others' units a group has by more than
/// one.
pub(super) fn check_groups(relation: &Relation, groups: Groups) -> Result<(), Refusal> {
    let (Some(beside), Groups::Private { .. }) = (relation.beside(), groups) else {
        return Ok(());
    };
    let population = relation.protection().population().unwrap_or_default();
    Err(Refusal::new(
        format!(
            "the query is about rows of both `{population}` and `{}`, but its groups are not \
             public",
            beside.population
        ),
        "GROUP BY columns with public_keys in the contract, which may be computed ones",
    ))
}

/// How far one row of a further population's unit moves what is measured, in steps: the l1
/// distance, and the square of the l2 distance.
#[derive(Clone, Copy)]
struct Moves {
    apart: u128,
    apart_squared: u128,
}

impl PrivateQuery {
    /// The populations whose budgets pay, the one that the query bounds first.
    pub fn populations(&self) -> impl Iterator<Item = &str> {
        let beside = self.relation.beside().map(|beside| beside.population.as_str());
        [self.population.as_str()].into_iter().chain(beside)
    }

    /// Whether a unit that the query bounds keeps all of its groups, whatever the data: there are
    /// no more than it may have. Then a row that comes or goes moves its own group alone.
    pub fn keeps_all_groups(&self) -> bool {
        match self.groups {
            Groups::Single => true,
            // No condition enforces the values of keys that the query names.
            Groups::Public => {
                let most = self.max_groups_contributed as usize;
                self.keys.iter().all(|key| !key.by_query)
                    && self.listed_groups().is_some_and(|groups| groups <= most)
            }
            Groups::Private { .. } => false,
        }
    }

    /// How far one row of a further population's unit moves a measurement.
    ///
    /// Proof: `theorems/queries.md#two-populations`.
    fn moves(&self, of: &Measurement) -> Moves {
        let (low, high) = (i128::from(of.low), i128::from(of.high));
        let within = |value: i64| i128::from(value).max(low).min(high).unsigned_abs();
        let whole = low.unsigned_abs().max(high.unsigned_abs());
        // Where the unit has others in the group, and where it has none.
        let (among, alone) = match &of.measure {
            Measure::Units => (1, 1),
            Measure::Rows | Measure::Values(_) => (1, within(1)),
            Measure::SumOfRows { low, high, clamps, rows, .. } => {
                let width = i128::from(*low).abs_diff((*high).into());
                let among = match clamps {
                    Clamps::Rows => width,
                    // From the mean of c rows to that of c - 1.
                    Clamps::Mean => {
                        let one = (*low).max(high.saturating_neg()).max(0).unsigned_abs();
                        width.saturating_mul((*rows).into()).saturating_add(one.into())
                    }
                };
                (among, within(*low).max(within(*high)))
            }
            Measure::ClampedSum(_)
            | Measure::PerRecordSum(_)
            | Measure::Distinct { .. }
            | Measure::Quantile { .. } => (low.abs_diff(high), whole),
        };
        let squared = |apart: u128| apart.saturating_mul(apart);
        let row = among.max(alone);
        if self.keeps_all_groups() {
            return Moves { apart: row, apart_squared: squared(row) };
        }
        // The unit may leave the row's group, and enter another one in its place.
        Moves {
            apart: row.max(alone.saturating_add(whole)),
            apart_squared: squared(row).max(squared(alone).saturating_add(squared(whole))),
        }
    }

    /// The rows of a further population's unit in the sums of a measurement.
    pub(super) fn rows_beside(&self, of: &Measurement) -> Option<RowsBeside> {
        let most = self.relation.beside()?.rows;
        let Moves { apart, apart_squared } = self.moves(of);
        Some(RowsBeside { most, apart, apart_squared })
    }

    /// The rows of a further population's unit in a sum that is measured together with others.
    pub fn tied_rows(&self, of: &Measurement, span: ValueSpan) -> Option<TiedRows> {
        let most = self.relation.beside()?.rows;
        let [gone, come] = self.exchanged(of, span.rows);
        Some(TiedRows { most, gone, come })
    }

    /// How many of the rows that count one row can take out of what is measured together, and how
    /// many can come in, where a unit has at most that many in a group.
    fn exchanged(&self, of: &Measurement, rows: u32) -> [u32; 2] {
        match of.measure {
            Measure::SumOfRows { clamps: Clamps::Mean, .. } => [rows, rows],
            _ if self.keeps_all_groups() => [1, 1],
            _ => [1, rows],
        }
    }

    /// The most rows of a unit of a further population with which it can move no measurement
    /// farther than a unit that the query bounds, so that they cost no noise; at least one.
    pub fn most_rows_beside(&self) -> u32 {
        let is_gaussian = self.loss.rho().is_some() || self.noise == Some(NoiseKind::Gaussian);
        let relation = self.neighbouring;
        let fits = |bounded: Contribution, moves: Moves| match is_gaussian {
            true => bounded.most_beside_squared(moves.apart_squared, relation),
            false => bounded.most_beside(moves.apart, relation),
        };
        // Counts and what is counted may be measured together.
        let tied = |m: &Measurement| m.has_bounds() || matches!(m.measure, Measure::Values(_));
        let ties = self.measurements.len() > 1 && self.measurements.iter().any(tied);
        let of = |measurement: &Measurement| {
            let bounded = Contribution { beside: None, ..self.contribution(measurement) };
            let apart = fits(bounded, self.moves(measurement));
            if !ties {
                return apart;
            }
            let rows = match measurement.measure {
                Measure::SumOfRows { rows, .. } => rows,
                Measure::Rows | Measure::Values(_) => {
                    u32::try_from(measurement.high).unwrap_or(u32::MAX)
                }
                _ => 1,
            };
            let [gone, come] = self.exchanged(measurement, rows).map(u128::from);
            let moves = Moves { apart: gone + come, apart_squared: gone * gone + come * come };
            let bounded =
                Contribution { single_group: false, low: 0, high: rows.into(), ..bounded };
            apart.min(fits(bounded, moves))
        };
        let most = self.measurements.iter().map(of).min().unwrap_or(1);
        u32::try_from(most).unwrap_or(MAX_ROWS).clamp(1, MAX_ROWS)
    }

    /// The query with its further population bounded, where it has one: to that many rows of a
    /// unit, or to as many as cost no noise.
    pub(super) fn bounded_beside(mut self, rows: Option<u32>) -> Result<Self, Refusal> {
        if self.relation.beside().is_none() {
            return Ok(self);
        }
        self.check_beside()?;
        let rows = rows.unwrap_or_else(|| self.most_rows_beside());
        self.relation = self.relation.with_rows_beside(rows)?;
        if let Some(beside) = self.relation.beside()
            && self.relation.chooses_before_conditions()
        {
            self.warnings.push(Warning::new(
                WarningCode::ChosenBeforeJoin,
                format!(
                    "{rows} rows of one unit of `{}` are chosen before the join with `{}`, so that \
                     rows that find no partner there, or that a later condition leaves out, take \
                     the places of others",
                    beside.population, self.population
                ),
                format!(
                    "put conditions on columns of tables of `{}` alone, where that can be; or use \
                     a larger max_rows_contributed, which may need more noise",
                    beside.population
                ),
            ));
        }
        Ok(self)
    }

    /// The query with another limit on the rows of a further population's unit.
    ///
    /// # Errors
    /// Those of [`Relation::new`].
    pub fn with_rows_beside(self, rows: u32) -> Result<Self, Refusal> {
        let relation = self.relation.clone().with_rows_beside(rows)?;
        Ok(Self { relation, ..self })
    }

    /// Refuses a query about two populations that is not bounded for both. Its noise is made for
    /// as many rows of a unit as its relation has, whatever their number.
    pub fn check_beside(&self) -> Result<(), Refusal> {
        let Some(beside) = self.relation.beside() else { return Ok(()) };
        check_groups(&self.relation, self.groups)?;
        let is_sum = |measure: &Measure| match measure {
            Measure::Units
            | Measure::Rows
            | Measure::Values(_)
            | Measure::ClampedSum(_)
            | Measure::SumOfRows { .. } => true,
            Measure::PerRecordSum(_) | Measure::Distinct { .. } | Measure::Quantile { .. } => false,
        };
        match self.measurements.iter().find(|m| !is_sum(&m.measure)) {
            Some(other) => Err(Refusal::new(
                format!(
                    "the query is about rows of both `{}` and `{}`, but the {} is not bounded for \
                     both",
                    self.population, beside.population, other.name
                ),
                "use COUNT, SUM or AVG",
            )),
            None => Ok(()),
        }
    }
}
