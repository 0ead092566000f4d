//! Sums and counts of values that are measured together with the count of rows.

use std::sync::Arc;

use hushtable_mechanisms::{MechanismError, TiedRole, TiedSum, TiedSums, ValueSpan};
use hushtable_plan::{Measure, Measurement, PrivateQuery};
use hushtable_privacy::Loss;

/// Shares that every weight is divided into, so that a count's can be shared out.
const SHARES_OF_WEIGHT: u32 = 840;

/// A measurement that is one of those with a common noise.
#[derive(Clone, Debug)]
pub struct TiedMeasurement {
    /// The index of the count of rows among the measurements.
    pub count: usize,
    /// Of a sum, the index of the count of its values, where rows may have none.
    pub values: Option<usize>,
    /// Which of them it is.
    pub role: TiedRole,
    /// The noise of all of them.
    pub noise: Arc<TiedSums>,
}

/// Measurements that have their noise together, by their indexes.
pub(crate) struct Tie {
    /// The count of rows.
    count: usize,
    /// Counts of values, where rows may have none.
    columns: Vec<usize>,
    sums: Vec<SumOfTie>,
}

/// A sum of a tie, or a count of values as the sum of a one for each.
struct SumOfTie {
    index: usize,
    span: ValueSpan,
    /// The count of its values among the tie's.
    column: Option<usize>,
}

/// The most that a unit adds to a count of rows or of their values; `None` where it is not from
/// zero on.
fn most_of(count: &Measurement) -> Option<i64> {
    match count.measure {
        Measure::Units => Some(1),
        // A lower bound above zero would lift counts.
        Measure::Rows | Measure::Values(_) if count.low <= 0 => Some(count.high),
        _ => None,
    }
}

/// The range from c times the low to c times the high end of which, whatever the data, a unit with
/// c values in a group adds a sum, where c is clamped to `most`.
///
/// *Proof.* Where some of a unit's rows are added up, they are min(their number, `rows`), which is
/// what the count is clamped to, and each of them, or their mean, is clamped to the span. Where all
/// are added up and the sum is clamped, the count is at most one: it is one wherever there is a
/// value, and then the sum is within the span.
fn span_of(query: &PrivateQuery, most: i64, sum: &Measurement) -> Option<ValueSpan> {
    match sum.measure {
        Measure::ClampedSum(_) if most == 1 => {
            Some(ValueSpan { low: sum.low, high: sum.high, rows: 1 })
        }
        Measure::SumOfRows { low, high, rows, .. }
            // With another limit on rows the sum could have more rows than the count, beyond its
            // span.
            if most == i64::from(rows) && query.unit().is_some() =>
        {
            Some(ValueSpan { low, high, rows })
        }
        _ => None,
    }
}

/// The counts that others can be measured with, in this order of the measurements; those of units
/// only if the selection does not give them. With `with_missing`, counts and sums of some of the
/// rows go with the count of all.
///
/// *Proof* that the numbers of a unit are as [`TiedSums`] needs them. The count of rows clamps n
/// rows, and a count of values c of them, to the same most m, so that min(c, m) <= min(n, m). A
/// sum's values are those of rows where its expression is not NULL, or of all rows where its
/// structure tells that it never is: then a NULL is zero ([`Expr::is_never_null`]). So it goes with
/// the count of all rows if it is never NULL; else with that of all and that of its values; and
/// where nothing counts these, a row without one adds zero, so that the sum is that of all rows
/// within a range that zero is in. A count of values is the sum of a one for each.
///
/// [`Expr::is_never_null`]: crate::Expr::is_never_null
fn ties(
    (query, order): (&PrivateQuery, &[usize]),
    units_are_given: bool,
    with_missing: bool,
) -> Vec<Tie> {
    let all = query.measurements();
    let mut taken = vec![false; all.len()];
    // Each measurement is in one tie: its noise is drawn once.
    let mut take =
        |index: usize| taken.get_mut(index).is_some_and(|taken| !std::mem::replace(taken, true));
    // Counts of all rows come first: what has some of the rows is better measured with them.
    let of_all = |m: &Measurement| matches!(m.measure, Measure::Units | Measure::Rows);
    let (rows, values): (Vec<usize>, Vec<usize>) =
        order.iter().partition(|&&index| all.get(index).is_some_and(of_all));
    let mut ties = Vec::new();
    for &count in rows.iter().chain(&values) {
        let Some((measurement, most)) = all.get(count).and_then(|m| Some((m, most_of(m)?))) else {
            continue;
        };
        // The selection has drawn that count already; to measure it again would cost a second time.
        if units_are_given && measurement.measure == Measure::Units || !take(count) {
            continue;
        }
        let mut tie = Tie { count, columns: Vec::new(), sums: Vec::new() };
        for &index in order {
            let Some((of, span)) =
                all.get(index).and_then(|sum| sum.measure.operand().zip(span_of(query, most, sum)))
            else {
                continue;
            };
            let counts_values = |&at: &usize| {
                all.get(at).is_some_and(|values| {
                    most_of(values) == Some(most)
                        && matches!(&values.measure, Measure::Values(counted) if counted == of)
                })
            };
            let (span, column) = match &measurement.measure {
                Measure::Values(counted) if counted == of => (span, None),
                Measure::Values(_) => continue,
                _ if of.is_never_null() => (span, None),
                _ if !with_missing => continue,
                _ => match values.iter().copied().find(counts_values) {
                    Some(at) => (span, Some(at)),
                    None => {
                        (ValueSpan { low: span.low.min(0), high: span.high.max(0), ..span }, None)
                    }
                },
            };
            if span.low >= span.high || !take(index) {
                continue;
            }
            let column = column.map(|at| {
                tie.columns.iter().position(|other| *other == at).unwrap_or_else(|| {
                    // No other tie has it: a sum of the same values would have brought it there.
                    let free = take(at);
                    debug_assert!(free, "a count of values is in two ties");
                    tie.columns.push(at);
                    tie.columns.len() - 1
                })
            });
            tie.sums.push(SumOfTie { index, span, column });
        }
        if with_missing && of_all(measurement) {
            for &index in &values {
                let same = all.get(index).and_then(most_of) == Some(most);
                if let Some(rows) = u32::try_from(most).ok().filter(|_| same)
                    && take(index)
                {
                    let span = ValueSpan { low: 0, high: 1, rows };
                    tie.sums.push(SumOfTie { index, span, column: None });
                }
            }
        }
        if !tie.sums.is_empty() {
            ties.push(tie);
        }
    }
    ties
}

/// The weights of all measurements, where the counts of ties have handed theirs to their sums.
pub(crate) fn handed_over(weights: &[u32], ties: &[Tie]) -> Vec<u32> {
    let mut handed: Vec<u32> = weights.iter().map(|w| w.saturating_mul(SHARES_OF_WEIGHT)).collect();
    let mut hand = |count: usize, sums: &[&SumOfTie]| {
        let whole = handed.get_mut(count).map(std::mem::take).unwrap_or_default();
        let each = whole / sums.len().max(1) as u32;
        // The remainder goes to the first sum, so that the tie keeps all of its weight.
        let mut left = whole - each * sums.len() as u32;
        for sum in sums {
            if let Some(weight) = handed.get_mut(sum.index) {
                *weight += each + std::mem::take(&mut left);
            }
        }
    };
    for tie in ties {
        hand(tie.count, &tie.sums.iter().collect::<Vec<_>>());
        for (column, &count) in tie.columns.iter().enumerate() {
            let sums = tie.sums.iter().filter(|sum| sum.column == Some(column));
            hand(count, &sums.collect::<Vec<_>>());
        }
    }
    handed
}

/// The ties that are better than separate measurements: none of theirs has more noise, at the same
/// total cost. `apart` gives the deviation of a measurement's noise at its separate share.
///
/// The count at `decides` chooses the groups, and is measured with others only if the tail of what
/// they have in common can be computed.
pub(crate) fn better_ties(
    (query, order): (&PrivateQuery, &[usize]),
    (split, weights): (impl Fn(&[u32]) -> Vec<Loss>, &[u32]),
    (units_are_given, decides): (bool, Option<usize>),
    apart: impl Fn(&Measurement, Loss) -> Option<f64>,
) -> Vec<Tie> {
    let separate = split(weights);
    let separate = query.measurements().iter().zip(&separate);
    let separate: Vec<Option<f64>> = separate.map(|(m, share)| apart(m, *share)).collect();
    // Those that are better together, and by how much: the sum of the logarithms of their gains.
    let better = |mut ties: Vec<Tie>| {
        let common = split(&handed_over(weights, &ties));
        let mut gain = 0.0;
        ties.retain(|tie| {
            let gain_of_tie = tied_noise(query, tie, &common).ok().and_then(|noise| {
                if decides == Some(tie.count) && !noise.count_can_decide() {
                    return None;
                }
                let mut sum = 0.0;
                for (index, role) in tie.roles() {
                    let apart = separate.get(index).copied().flatten()?;
                    let together = noise.deviation(role);
                    // Equal deviations differ by the rounding of two draws in place of one, which
                    // must not decide.
                    if together > apart * 1.001 {
                        return None;
                    }
                    sum += (apart / together).ln();
                }
                Some(sum)
            });
            gain += gain_of_tie.unwrap_or(0.0);
            gain_of_tie.is_some()
        });
        (ties, gain)
    };
    let (plain, gain) = better(ties((query, order), units_are_given, false));
    let (with_missing, larger) = better(ties((query, order), units_are_given, true));
    if larger > gain + 1e-9 { with_missing } else { plain }
}

impl Tie {
    /// The measurements, and the role of each.
    fn roles(&self) -> impl Iterator<Item = (usize, TiedRole)> {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(column, &index)| (index, TiedRole::Values(column)));
        let sums = self.sums.iter().enumerate();
        let sums = sums.map(|(at, sum)| (sum.index, TiedRole::Sum(at)));
        std::iter::once((self.count, TiedRole::Count)).chain(columns).chain(sums)
    }
}

/// The noise of what is measured together, at the indexes of the query's measurements.
///
/// # Errors
/// When a share is too small to draw noise for.
pub(crate) fn tied(
    query: &PrivateQuery,
    ties: &[Tie],
    shares: &[Loss],
) -> Result<Vec<Option<TiedMeasurement>>, MechanismError> {
    let mut noises: Vec<Option<TiedMeasurement>> = vec![None; query.measurements().len()];
    for tie in ties {
        let noise = Arc::new(tied_noise(query, tie, shares)?);
        let mut put = |index: usize, role, values| {
            if let Some(entry) = noises.get_mut(index) {
                *entry = Some(TiedMeasurement {
                    count: tie.count,
                    values,
                    role,
                    noise: Arc::clone(&noise),
                });
            }
        };
        put(tie.count, TiedRole::Count, None);
        for (column, &index) in tie.columns.iter().enumerate() {
            put(index, TiedRole::Values(column), None);
        }
        for (at, sum) in tie.sums.iter().enumerate() {
            let values = sum.column.and_then(|column| tie.columns.get(column)).copied();
            put(sum.index, TiedRole::Sum(at), values);
        }
    }
    Ok(noises)
}

fn tied_noise(
    query: &PrivateQuery,
    tie: &Tie,
    shares: &[Loss],
) -> Result<TiedSums, MechanismError> {
    let sum = |sum: &SumOfTie| {
        let share = shares.get(sum.index).ok_or(MechanismError::NoBudget("epsilon"))?;
        let of = query.measurements().get(sum.index).ok_or(MechanismError::NoSensitivity)?;
        let beside = query.tied_rows(of, sum.span);
        Ok(TiedSum { span: sum.span, share: *share, values: sum.column, beside })
    };
    let sums = tie.sums.iter().map(sum).collect::<Result<Vec<_>, MechanismError>>()?;
    TiedSums::new(&sums, query.max_groups_contributed(), query.neighbouring())
}
