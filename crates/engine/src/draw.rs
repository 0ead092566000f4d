//! From exact integers to released ones: which groups appear, and their sums with noise.
//!
//! A release goes through here once, an audit many times: what is audited is what is released.

use std::collections::HashMap;

use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::compute::{concat, take};
use datafusion::error::DataFusionError;
use hushtable_lang::Value;
use hushtable_mechanisms::{Candidates, ChosenGroup, Memberships, TiedNumbers, TiedRole};
use hushtable_noise::{BatchError, Generator};
use hushtable_plan::{
    Groups, Key, Measurement, PrivateQuery, Thresholds, known_groups, public_groups,
};
use hushtable_quote::{Joint, Noise, QuantileReach, Quote, TiedMeasurement};

use crate::classes::ClassLookup;
use crate::error::EngineError;
use crate::eval::constant;
use crate::exact::ExactSums;
use crate::intern::{Interner, inconsistent};
use crate::measurements::ExactMeasurement;
use crate::value_lists::ValueLists;

/// The exact numbers of the groups that a query asks about, those without any row among them. No
/// Debug, Display or Serialize: what leaves it has noise.
pub(crate) struct CountedGroups {
    /// How many groups there are.
    pub(crate) groups: usize,
    /// Number of units of each, or of their pieces, where groups are chosen privately by that.
    pub(crate) units: Vec<u64>,
    /// Which of them are known without the data; shorter where the last ones are not.
    pub(crate) known: Vec<bool>,
    /// For each measurement, the sums or values of all groups.
    pub(crate) measured: Vec<ExactMeasurement>,
    /// For each measurement whose noise differs by class, the class of every group; empty for
    /// others.
    pub(crate) classes: Vec<Vec<usize>>,
    /// Which groups each unit is in, where the selection looks at it and units are not rows.
    pub(crate) members: Option<Memberships>,
}

/// Noisy numbers of all groups, shown or not, by measurement: of the count that chooses groups and
/// of what is drawn with it. No Debug, Display or Serialize: those of hidden groups stay here.
#[derive(Default)]
pub(crate) struct DrawnAhead(Vec<Option<Vec<i128>>>);

impl DrawnAhead {
    fn of(&self, measurement: usize) -> Option<&[i128]> {
        self.0.get(measurement)?.as_deref()
    }
}

impl CountedGroups {
    /// The groups of the query: its only one, the public ones, or those found and the known ones.
    /// Their keys come first, a column each; none where no row had a group.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn new(
        query: &PrivateQuery,
        exact: ExactSums,
    ) -> Result<(Vec<ArrayRef>, Self), EngineError> {
        let ExactSums { keys, units, pieces, measured, members } = exact;
        let found = units.len();
        if measured.iter().any(|measurement| measurement.groups() != found) {
            return Err(EngineError::inconsistent(
                "a measurement has another number of groups than were found",
            ));
        }
        let (keys, mut counted) = match query.groups() {
            Groups::Single => {
                if found != 1 {
                    return Err(EngineError::inconsistent(
                        "a query without GROUP BY has more or less than one group",
                    ));
                }
                let (units, known, classes) = (Vec::new(), Vec::new(), Vec::new());
                (Vec::new(), Self { groups: 1, units, known, measured, classes, members })
            }
            Groups::Public => {
                // The list comes from the query, not from the rows found: an absent group gets
                // noise like the others, or its absence would show.
                let listed = columns_of(query.keys(), &public_groups(query.keys()))?;
                let found = found_at(&listed, &keys)?;
                let rearranged = |m: &ExactMeasurement| m.rearranged(found.iter().copied());
                let measured = measured.iter().map(rearranged).collect::<Result<_, _>>()?;
                let (units, known, classes) = (Vec::new(), Vec::new(), Vec::new());
                let groups = found.len();
                (listed, Self { groups, units, known, measured, classes, members })
            }
            Groups::Private { .. } => {
                // Nothing is below zero. A count that is too large for 64 bits appears for certain.
                let size = |n: i128| match n {
                    ..0 => {
                        Err(EngineError::inconsistent("a group has fewer than no units or pieces"))
                    }
                    n => Ok(u64::try_from(n).unwrap_or(u64::MAX)),
                };
                let sizes: Vec<i128> = match pieces {
                    Some(pieces) => pieces,
                    None => units.into_iter().map(i128::from).collect(),
                };
                let mut units =
                    sizes.into_iter().map(size).collect::<Result<Vec<_>, EngineError>>()?;
                if units.len() != found {
                    return Err(EngineError::inconsistent(
                        "the pieces have another number of groups than were found",
                    ));
                }
                // Known groups without rows enter before the draw, so that they get noise like all
                // others.
                let (keys, known) = with_known(query.keys(), keys, &mut units)?;
                let (groups, classes) = (units.len(), Vec::new());
                let all = || (0..groups).map(|group| (group < found).then_some(group));
                let measured = match groups > found {
                    true => measured
                        .iter()
                        .map(|measurement| measurement.rearranged(all()))
                        .collect::<Result<_, _>>()?,
                    false => measured,
                };
                (keys, Self { groups, units, known, measured, classes, members })
            }
        };
        counted.classes = classes(query, &keys)?;
        Ok((keys, counted))
    }

    /// The groups that appear, and what was drawn for that.
    ///
    /// # Errors
    /// When the operating system's random generator fails.
    pub(crate) fn choose(
        &self,
        quote: &Quote,
        generator: &mut Generator,
    ) -> Result<(Vec<ChosenGroup>, DrawnAhead), EngineError> {
        let all =
            || (0..self.groups).map(|group| ChosenGroup { group, noisy_count: None }).collect();
        let Groups::Private { known_threshold, .. } = quote.query().groups() else {
            return Ok((all(), DrawnAhead::default()));
        };
        let mut ahead = DrawnAhead::default();
        let mut counts: &[i128] = &[];
        if let Some(index) = quote.deciding_count() {
            // It is drawn for all groups, with the sums that it is measured with.
            ahead.0 = self.measure_some(quote, &all(), generator, true)?;
            counts = ahead.of(index).ok_or(EngineError::inconsistent(
                "the count that decides about groups was not drawn",
            ))?;
            if counts.len() != self.units.len() {
                return Err(EngineError::inconsistent(
                    "the count that decides about groups has another number of groups",
                ));
            }
        }
        let Self { units, known, members, .. } = self;
        let population = Candidates { units, members: members.as_ref(), known, counts };
        let selection = quote
            .selection()
            .ok_or(EngineError::inconsistent("a query with private groups has no selection"))?;
        let mut chosen = selection.choose(&population, generator)?;
        if let Some(threshold) = known_threshold {
            let reaches = |c: &ChosenGroup| c.noisy_count.is_some_and(|n| n >= threshold.into());
            // The threshold looks at the noisy count, so that hiding a known group is
            // post-processing.
            chosen.retain(|c| known.get(c.group) != Some(&true) || reaches(c));
        }
        Ok((chosen, ahead))
    }

    /// Noisy sums, or points near the quantile, of the groups that appear, for each measurement:
    /// those that were drawn to choose them, and fresh ones.
    ///
    /// # Errors
    /// When the operating system's random generator fails.
    pub(crate) fn measure(
        &self,
        quote: &Quote,
        (chosen, ahead): (&[ChosenGroup], &DrawnAhead),
        generator: &mut Generator,
    ) -> Result<Vec<Vec<i128>>, EngineError> {
        // Numbers that chose the groups are not drawn again: a second draw of a count would cost a
        // second time.
        let drawn = self.measure_some(quote, chosen, generator, false)?;
        let both = drawn.into_iter().enumerate().map(|(index, drawn)| match ahead.of(index) {
            Some(of_groups) => {
                let exact_sums = chosen.iter().map(|c| of_groups.get(c.group).copied());
                exact_sums.collect::<Option<Vec<i128>>>()
            }
            None => drawn,
        });
        both.collect::<Option<_>>()
            .ok_or(EngineError::inconsistent("a measurement was not drawn for a chosen group"))
    }

    /// The numbers of these groups, for each measurement: with `to_choose` of the count that
    /// chooses groups and of what is drawn with it, or else of all others.
    fn measure_some(
        &self,
        quote: &Quote,
        chosen: &[ChosenGroup],
        generator: &mut Generator,
        to_choose: bool,
    ) -> Result<Vec<Option<Vec<i128>>>, EngineError> {
        if quote.noise().len() != self.measured.len() {
            return Err(EngineError::inconsistent(
                "a quote has noise for another number of measurements",
            ));
        }
        let unplaced =
            || EngineError::inconsistent("a measurement has no place for its noisy numbers");
        // Nothing comes out but what was drawn.
        let mut noisy: Vec<Option<Vec<i128>>> = vec![None; self.measured.len()];
        for (m, (noise, measured)) in quote.noise().iter().zip(&self.measured).enumerate() {
            // Each measurement is drawn in exactly one of both calls.
            if quote.is_drawn_to_choose(m) != to_choose {
                continue;
            }
            let exact = |c: &ChosenGroup| {
                measured.sum(c.group).ok_or_else(|| {
                    EngineError::inconsistent("a measurement has no sum for a chosen group")
                })
            };
            let drawn = match noise {
                Noise::Tied(tied) => {
                    // Sums and counts of values are drawn with the count of rows.
                    if tied.role == TiedRole::Count {
                        self.measure_tied(quote, (m, tied), chosen, generator, &mut noisy)?;
                    }
                    continue;
                }
                Noise::Joint(joint) => {
                    // Quantiles of the same values are drawn together, with the first.
                    if joint.pays() {
                        self.measure_joint(quote, (m, joint), chosen, generator, &mut noisy)?;
                    }
                    continue;
                }
                // Intervals are drawn around quantiles, below.
                Noise::Reach(_) => continue,
                // The charge of the selection covers this count, so it is shown as it was drawn.
                Noise::OfSelection => {
                    let counts = chosen.iter().map(|c| {
                        c.noisy_count.ok_or_else(|| {
                            EngineError::inconsistent("a chosen group has no noisy count")
                        })
                    });
                    counts.collect::<Result<_, _>>()?
                }
                Noise::Single(noise) => {
                    let mut sums = chosen.iter().map(exact).collect::<Result<Vec<i128>, _>>()?;
                    noise.release(generator, &mut sums)?;
                    sums
                }
                Noise::Quantile(quantile) => {
                    let values = self.values_of(m, chosen)?;
                    let point = |c: &ChosenGroup| {
                        let drawn = quantile.release(generator, values.of(c.group));
                        drawn.map(i128::from).map_err(|error| not_drawn(error))
                    };
                    chosen.iter().map(point).collect::<Result<_, _>>()?
                }
                Noise::ByClass(noise) => {
                    let mut drawn: Vec<Option<i128>> = vec![None; chosen.len()];
                    let of = self.classes.get(m).ok_or(EngineError::inconsistent(
                        "a measurement with noise by class has no classes",
                    ))?;
                    // One more than there are classes: the last one is of all values that no class
                    // lists.
                    let mut of_class: Vec<Vec<usize>> = vec![Vec::new(); noise.classes.len() + 1];
                    for (index, chosen) in chosen.iter().enumerate() {
                        let class = of.get(chosen.group).and_then(|&class| of_class.get_mut(class));
                        class
                            .ok_or(EngineError::inconsistent(
                                "a chosen group is in a class without noise",
                            ))?
                            .push(index);
                    }
                    for (indices, measuring) in of_class.into_iter().zip(noise.all()) {
                        let cells = indices.iter().filter_map(|&p| chosen.get(p));
                        let mut some = cells.map(exact).collect::<Result<Vec<i128>, _>>()?;
                        measuring.release(generator, &mut some)?;
                        for (index, noisy) in indices.into_iter().zip(some) {
                            if let Some(drawn) = drawn.get_mut(index) {
                                *drawn = Some(noisy);
                            }
                        }
                    }
                    let drawn: Option<Vec<i128>> = drawn.into_iter().collect();
                    drawn.ok_or(EngineError::inconsistent(
                        "a chosen group was left out of the noise by class",
                    ))?
                }
            };
            *noisy.get_mut(m).ok_or_else(unplaced)? = Some(drawn);
        }
        if !to_choose {
            for (m, noise) in quote.noise().iter().enumerate() {
                if let Noise::Reach(reach) = noise
                    && reach.pays()
                {
                    self.measure_reaches(quote, (m, reach), chosen, generator, &mut noisy)?;
                }
            }
        }
        Ok(noisy)
    }

    /// Draws a count, with index `count` among the measurements, and what is measured with it.
    fn measure_tied(
        &self,
        quote: &Quote,
        (count, tied): (usize, &TiedMeasurement),
        chosen: &[ChosenGroup],
        generator: &mut Generator,
        noisy: &mut [Option<Vec<i128>>],
    ) -> Result<(), EngineError> {
        let (mut columns, mut sums) = (Vec::new(), Vec::new());
        for (index, noise) in quote.noise().iter().enumerate() {
            match noise {
                Noise::Tied(other) if other.count == count => match other.role {
                    TiedRole::Count => {}
                    TiedRole::Values(column) => columns.push((column, index)),
                    TiedRole::Sum(sum) => sums.push((sum, index)),
                },
                _ => {}
            }
        }
        // The law pairs numbers with its own order, whatever the order of the measurements.
        columns.sort_unstable();
        sums.sort_unstable();
        if (columns.len(), sums.len()) != (tied.noise.columns(), tied.noise.sums()) {
            return Err(EngineError::inconsistent(
                "a count is drawn with other sums than its noise is made for",
            ));
        }
        let exact = |index: usize| {
            let measured = self.measured.get(index).ok_or_else(|| {
                EngineError::inconsistent("a quote has noise for another number of measurements")
            })?;
            let exact = chosen.iter().map(|c| {
                measured.sum(c.group).ok_or_else(|| {
                    EngineError::inconsistent("a measurement has no sum for a chosen group")
                })
            });
            exact.collect::<Result<Vec<i128>, EngineError>>()
        };
        let all = |indexes: &[(usize, usize)]| {
            indexes.iter().map(|&(_, index)| exact(index)).collect::<Result<Vec<_>, _>>()
        };
        let mut numbers =
            TiedNumbers { counts: exact(count)?, values: all(&columns)?, sums: all(&sums)? };
        // The sensitivity of all ends rests on this. If the bounder failed to clamp, a unit could
        // add more than the noise covers, and nothing later could notice.
        if !tied.noise.holds(&numbers) {
            return Err(EngineError::inconsistent(
                "numbers that are drawn with a count are outside the bounds that it allows",
            ));
        }
        tied.noise.release(generator, &mut numbers)?;
        let TiedNumbers { counts, values, sums: released } = numbers;
        let others = columns.into_iter().zip(values).chain(sums.into_iter().zip(released));
        let others = others.map(|((_, index), numbers)| (index, numbers));
        for (index, numbers) in std::iter::once((count, counts)).chain(others) {
            *noisy.get_mut(index).ok_or_else(|| {
                EngineError::inconsistent("a measurement has no place for its noisy numbers")
            })? = Some(numbers);
        }
        Ok(())
    }

    /// Bytes that numbers take which are drawn for all groups before they are chosen.
    pub(crate) fn ahead_bytes(&self, quote: &Quote) -> usize {
        let drawn = (0..quote.noise().len()).filter(|&m| quote.is_drawn_to_choose(m)).count();
        if drawn == 0 {
            return 0;
        }
        // All ends of a sum and its counts beside what is stored; vectors may have twice the room
        // that they need.
        let numbers = (drawn + 4).saturating_mul(size_of::<i128>());
        let bytes = 2 * numbers.saturating_add(size_of::<ChosenGroup>());
        self.groups.saturating_mul(bytes)
    }

    /// Bytes that joint draws take for a while: the fine values of a group and their digits.
    pub(crate) fn fine_bytes(&self, quote: &Quote) -> usize {
        let joint = quote.noise().iter().zip(&self.measured);
        let joint = joint.filter(|(noise, _)| matches!(noise, Noise::Joint(j) if j.pays()));
        let largest = joint.filter_map(|(_, measured)| {
            let values = measured.values()?;
            (0..values.groups()).map(|group| values.of(group).len()).max()
        });
        // An i128 and a third of a word for each.
        largest.max().unwrap_or(0).saturating_mul(19)
    }

    /// Draws all quantiles of the values whose first one is in place `first` of the measurements.
    fn measure_joint(
        &self,
        quote: &Quote,
        (first, joint): (usize, &Joint),
        chosen: &[ChosenGroup],
        generator: &mut Generator,
        noisy: &mut [Option<Vec<i128>>],
    ) -> Result<(), EngineError> {
        let values = self.values_of(first, chosen)?;
        let mut drawn = vec![Vec::with_capacity(chosen.len()); joint.draws.quantiles()];
        for group in chosen {
            let points = joint.draws.release(generator, values.of(group.group));
            for (drawn, point) in drawn.iter_mut().zip(points.map_err(|error| not_drawn(error))?) {
                drawn.push(i128::from(point));
            }
        }
        for (index, noise) in quote.noise().iter().enumerate() {
            let Noise::Joint(other) = noise else { continue };
            if other.first == first {
                let sums = drawn.get_mut(other.nth).map(std::mem::take).ok_or_else(|| {
                    EngineError::inconsistent(
                        "a quantile was not drawn with the others of its values",
                    )
                })?;
                *noisy.get_mut(index).ok_or_else(|| {
                    EngineError::inconsistent("a measurement has no place for its noisy numbers")
                })? = Some(sums);
            }
        }
        Ok(())
    }

    /// Draws how far the intervals around all quantiles of the same values reach, with index
    /// `first` among the measurements. The quantiles are drawn already.
    fn measure_reaches(
        &self,
        quote: &Quote,
        (first, reach): (usize, &QuantileReach),
        chosen: &[ChosenGroup],
        generator: &mut Generator,
        noisy: &mut [Option<Vec<i128>>],
    ) -> Result<(), EngineError> {
        let not_around =
            || EngineError::inconsistent("an interval has no quantile that it is drawn around");
        let values = self.values_of(first, chosen)?;
        let mut drawn = vec![Vec::with_capacity(chosen.len()); reach.draws.quantiles()];
        for (row, group) in chosen.iter().enumerate() {
            let point = |quantile: &usize| {
                let point = *noisy.get(*quantile)?.as_ref()?.get(row)?;
                i64::try_from(point).ok()
            };
            let points: Option<Vec<i64>> = reach.quantiles.iter().map(point).collect();
            let points = points.ok_or_else(not_around)?;
            let reaches = reach.draws.release(generator, values.of(group.group), &points);
            for (drawn, reach) in drawn.iter_mut().zip(reaches.map_err(|error| not_drawn(error))?) {
                drawn.push(i128::from(reach));
            }
        }
        for (index, noise) in quote.noise().iter().enumerate() {
            let Noise::Reach(other) = noise else { continue };
            if other.first == first {
                let reaches =
                    drawn.get_mut(other.nth).map(std::mem::take).ok_or_else(not_around)?;
                *noisy.get_mut(index).ok_or_else(not_around)? = Some(reaches);
            }
        }
        Ok(())
    }

    /// The values of the chosen groups that a measurement is of. All that is drawn together is of
    /// the same values, so that those of the first are enough.
    fn values_of(&self, first: usize, chosen: &[ChosenGroup]) -> Result<&ValueLists, EngineError> {
        let values = self.measured.get(first).and_then(ExactMeasurement::values);
        let values =
            values.ok_or(EngineError::inconsistent("a quantile has no values to be drawn from"))?;
        match chosen.iter().any(|c| c.group >= values.groups()) {
            true => Err(EngineError::inconsistent("a quantile has no values for a chosen group")),
            false => Ok(values),
        }
    }
}

/// An error of a draw near a quantile.
#[track_caller]
fn not_drawn(error: BatchError) -> EngineError {
    match error {
        BatchError::Entropy(error) => error.into(),
        BatchError::Parameter(_) => {
            EngineError::inconsistent("a quantile cannot be drawn with its parameters")
        }
    }
}

/// The class of every group, for each measurement whose noise differs by class: its place among the
/// classes, and after them all others.
fn classes(query: &PrivateQuery, keys: &[ArrayRef]) -> Result<Vec<Vec<usize>>, EngineError> {
    let of = |measurement: &Measurement| {
        let by_key = measurement.thresholds().and_then(Thresholds::by_key);
        let Some((key, classes)) = by_key else { return Ok(Vec::new()) };
        // No row had a group.
        let Some(key) = keys.get(key) else { return Ok(Vec::new()) };
        Ok(ClassLookup::of(classes)?.indices(key)?)
    };
    query.measurements().iter().map(of).collect()
}

/// Groups as columns of keys.
fn columns_of(keys: &[Key], groups: &[Vec<Value>]) -> Result<Vec<ArrayRef>, DataFusionError> {
    let column = |(index, key): (usize, &Key)| {
        let values = groups
            .iter()
            .map(|row| {
                let missing =
                    || inconsistent("a listed group has fewer values than there are keys");
                Ok(constant(row.get(index).ok_or_else(missing)?, key.expr.column_type)?)
            })
            .collect::<Result<Vec<_>, DataFusionError>>()?;
        let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
        Ok(concat(&values)?)
    };
    keys.iter().enumerate().map(column).collect()
}

/// The keys found and, after them, the known ones that were not, with no units; and which of all
/// are known.
fn with_known(
    keys: &[Key],
    found: Vec<ArrayRef>,
    units: &mut Vec<u64>,
) -> Result<(Vec<ArrayRef>, Vec<bool>), DataFusionError> {
    let groups = known_groups(keys);
    if groups.is_empty() {
        return Ok((found, Vec::new()));
    }
    let listed = columns_of(keys, &groups)?;
    if units.is_empty() {
        *units = vec![0; groups.len()];
        return Ok((listed, vec![true; groups.len()]));
    }
    let (mut interner, rows_of) = numbered(&found)?;
    let mut known = vec![false; units.len()];
    let mut absent: Vec<u64> = Vec::new();
    for (index, id) in interner.intern(&listed)?.iter().enumerate() {
        match rows_of.get(id).and_then(|&row| known.get_mut(row)) {
            Some(known) => *known = true,
            None => absent.push(index as u64),
        }
    }
    units.resize(units.len() + absent.len(), 0);
    known.resize(units.len(), true);
    let absent = UInt64Array::from(absent);
    let with_absent = |(found, listed): (&ArrayRef, &ArrayRef)| {
        Ok(concat(&[found.as_ref(), take(listed, &absent, None)?.as_ref()])?)
    };
    let all = found.iter().zip(&listed).map(with_absent).collect::<Result<_, DataFusionError>>()?;
    Ok((all, known))
}

/// Different keys, numbered, and the row of each number: they need not be in the order of the rows.
fn numbered(keys: &[ArrayRef]) -> Result<(Interner, HashMap<usize, usize>), DataFusionError> {
    let mut interner = Interner::new(keys)?;
    let ids = interner.intern(keys)?;
    let rows_of = ids.iter().enumerate().map(|(row, &id)| (id, row)).collect();
    Ok((interner, rows_of))
}

/// Where each of the public groups is among those found, if there.
pub(crate) fn found_at(
    listed: &[ArrayRef],
    found: &[ArrayRef],
) -> Result<Vec<Option<usize>>, DataFusionError> {
    let groups = listed.first().map_or(0, |c| c.len());
    let (mut interner, rows_of) = numbered(listed)?;
    let mut indices = vec![None; groups];
    if found.first().is_some_and(|k| !k.is_empty()) {
        for (at, id) in interner.intern(found)?.iter().enumerate() {
            // Rows with other keys were left out before they were counted.
            if let Some(index) = rows_of.get(id).and_then(|&row| indices.get_mut(row)) {
                *index = Some(at);
            }
        }
    }
    Ok(indices)
}
