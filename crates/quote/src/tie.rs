//! Sums that are measured together with the count of their values.

use std::sync::Arc;

use hushtable_mechanisms::{MechanismError, Span, TiedPart, TiedSums};
use hushtable_plan::{Measure, Measurement, PrivateQuery};
use hushtable_privacy::Loss;

/// Parts that every weight is divided into, so that a count's can be shared out.
const PARTS: u32 = 840;

/// The part of a measurement in a common one.
#[derive(Clone, Debug)]
pub struct Tied {
    /// The index of the count among the measurements.
    pub count: usize,
    /// This part.
    pub part: TiedPart,
    /// The noise of all of them.
    pub noise: Arc<TiedSums>,
}

/// A count and the sums of the values that it counts.
pub(crate) struct Tie {
    count: usize,
    sums: Vec<(usize, Span)>,
}

/// Whether, whatever the data, a unit with a count of c in a group, as `count` counts, adds from c
/// times the low to c times the high end of the span that is given back, as `sum` adds up.
///
/// *Proof.* The sum's values are those of rows where its expression is not NULL, or of all rows
/// where its structure tells that it never is: then a NULL is zero ([`Expr::is_never_null`]). The
/// count is of the same rows: of those where the same expression is not NULL, or of all. Where some
/// of a unit's rows are added up, they are min(their number, `rows`), which is what the count is
/// clamped to, and each of them, or their mean, is clamped to the span. Where all are added up and
/// the sum is clamped, the count is at most one: it is one wherever there is a value, and then the
/// sum is within the span.
///
/// [`Expr::is_never_null`]: crate::Expr::is_never_null
fn span_of(query: &PrivateQuery, count: &Measurement, sum: &Measurement) -> Option<Span> {
    let of = sum.measure.operand()?;
    let same_rows = match &count.measure {
        // A row without a value would be in the count and not in the sum, and their ends would not
        // add up.
        Measure::Units | Measure::Rows => of.is_never_null(),
        Measure::Values(counted) => counted == of,
        _ => false,
    };
    // A lower bound above zero would lift counts.
    let most = if count.measure == Measure::Units { 1 } else { count.high };
    if !same_rows || count.low > 0 {
        return None;
    }
    let span = match sum.measure {
        Measure::ClampedSum(_) if most == 1 => Span { low: sum.low, high: sum.high, rows: 1 },
        Measure::SumOfRows { low, high, rows, .. }
            // With another limit on rows the sum could have more rows than the count, beyond its
            // span.
            if most == i64::from(rows) && query.unit().is_some() =>
        {
            Span { low, high, rows }
        }
        _ => return None,
    };
    (span.low < span.high).then_some(span)
}

/// The counts whose sums can be measured with them; of counts of units only if the selection does
/// not give them.
fn ties(query: &PrivateQuery, units_are_given: bool) -> Vec<Tie> {
    let mut taken = vec![false; query.measurements().len()];
    let mut ties = Vec::new();
    for (count, measurement) in query.measurements().iter().enumerate() {
        // The selection has drawn that count already; to measure it again would cost a second time.
        if units_are_given && measurement.measure == Measure::Units {
            continue;
        }
        let mut sums = Vec::new();
        for (index, sum) in query.measurements().iter().enumerate() {
            if let Some(span) = span_of(query, measurement, sum)
                // Each sum is in one tie: its noise is drawn once, with one count.
                && !std::mem::replace(&mut taken[index], true)
            {
                sums.push((index, span));
            }
        }
        if !sums.is_empty() {
            ties.push(Tie { count, sums });
        }
    }
    ties
}

/// The weights of all measurements, where the counts of ties have handed theirs to their sums.
pub(crate) fn handed_over(weights: &[u32], ties: &[Tie]) -> Vec<u32> {
    let mut handed: Vec<u32> = weights.iter().map(|w| w.saturating_mul(PARTS)).collect();
    for Tie { count, sums } in ties {
        let whole = handed.get_mut(*count).map(std::mem::take).unwrap_or_default();
        let each = whole / sums.len().max(1) as u32;
        // The remainder goes to the first sum, so that the tie keeps all of its weight.
        let mut left = whole - each * sums.len() as u32;
        for (index, _) in sums {
            if let Some(weight) = handed.get_mut(*index) {
                *weight += each + std::mem::take(&mut left);
            }
        }
    }
    handed
}

/// The counts that are better measured together with their sums than apart: then neither the count
/// nor any of its sums has more noise, at the same total cost. `apart` gives the deviation of a
/// measurement's noise at its separate share.
pub(crate) fn better_ties(
    query: &PrivateQuery,
    (loss, weights): (Loss, &[u32]),
    units_are_given: bool,
    apart: impl Fn(&Measurement, Loss) -> Option<f64>,
) -> Vec<Tie> {
    let mut ties = ties(query, units_are_given);
    if ties.is_empty() {
        return ties;
    }
    let (separate, common) = (loss.split(weights), loss.split(&handed_over(weights, &ties)));
    ties.retain(|tie| {
        let better = |part, index: usize, noise: &TiedSums| {
            let alone = query.measurements().get(index).zip(separate.get(index));
            let alone = alone.and_then(|(measurement, share)| apart(measurement, *share));
            // Equal deviations may differ in their last bits, and must not decide by them.
            alone.is_some_and(|apart| noise.deviation(part) <= apart * (1.0 + 1e-9))
        };
        let sums = |noise: &TiedSums| {
            let mut sums = tie.sums.iter().enumerate();
            sums.all(|(sum, (index, _))| better(TiedPart::Sum(sum), *index, noise))
        };
        tied_noise(query, tie, &common)
            .is_ok_and(|noise| better(TiedPart::Count, tie.count, &noise) && sums(&noise))
    });
    ties
}

/// The noise of what is measured together, at the indexes of the query's measurements.
///
/// # Errors
/// When a share is too small to draw noise for.
pub(crate) fn tied(
    query: &PrivateQuery,
    ties: &[Tie],
    shares: &[Loss],
) -> Result<Vec<Option<Tied>>, MechanismError> {
    let mut noises: Vec<Option<Tied>> = vec![None; query.measurements().len()];
    for tie in ties {
        let noise = Arc::new(tied_noise(query, tie, shares)?);
        let mut put = |index: usize, part| {
            if let Some(entry) = noises.get_mut(index) {
                let noise = Arc::clone(&noise);
                *entry = Some(Tied { count: tie.count, part, noise });
            }
        };
        put(tie.count, TiedPart::Count);
        for (sum, (index, _)) in tie.sums.iter().enumerate() {
            put(*index, TiedPart::Sum(sum));
        }
    }
    Ok(noises)
}

fn tied_noise(
    query: &PrivateQuery,
    tie: &Tie,
    shares: &[Loss],
) -> Result<TiedSums, MechanismError> {
    let share = |&(index, span): &(usize, Span)| {
        let share = shares.get(index).ok_or(MechanismError::NoBudget("epsilon"))?;
        Ok((span, *share))
    };
    let sums = tie.sums.iter().map(share).collect::<Result<Vec<_>, MechanismError>>()?;
    TiedSums::new(&sums, query.max_groups_contributed(), query.neighbouring())
}
