//! Histograms without noise.

use crate::divergence::both;
use crate::double::NeumaierSum;
use crate::error::KnowledgeError;
use crate::integer_law::{IntegerLaw, UNIT};
use crate::probability::{MOST_RECORDS, Probability};

/// Most weights of laws, over all sizes of the blanket together.
const MOST_WEIGHTS: f64 = 4e6;

/// Counts of several values, of which an attacker knows for each unknown record, and for two values
/// a and b of the target, that its probability of having them is at least that.
///
/// The blanket argument of Balle et al. 2019, with the corrections of theory section 7 to PK
/// Corollary 1: with the sum of the two probabilities a record is in the *blanket*, where it is a
/// or b in their proportion, q to 1 - q. The attacker learns which records are, and what all others
/// have. B of them are in the blanket, and Bin(B, q) is compared with itself and one more; delta is
/// the mean over B, in the worse direction. It is a bound, whatever the other counts are, public or
/// not.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The blanket's size, by the probability of being so large or of being up to the next size.
    sizes: Vec<(f64, IntegerLaw)>,
    lost: f64,
    error: f64,
    exact: bool,
}

impl Histogram {
    /// `others` unknown records beside the target, with these lower bounds `a` and `b` of the
    /// probabilities of the two values. Smaller lower bounds give a larger delta, so that of more
    /// values the two with the smallest count.
    ///
    /// # Errors
    /// Unless `others` is from 1 to 1,000,000,000, and the bounds are at most 1 together.
    pub fn new(others: u64, a: Probability, b: Probability) -> Result<Self, KnowledgeError> {
        Self::with_weights(others, a, b, MOST_WEIGHTS)
    }

    /// The worst pair of several values with these lower bounds.
    ///
    /// # Errors
    /// As of [`Histogram::new`], and if there are fewer than two values.
    pub fn of_values(others: u64, lower: &[Probability]) -> Result<Self, KnowledgeError> {
        let mut ascending: Vec<Probability> = lower.to_vec();
        ascending.sort_by(|a, b| a.get().total_cmp(&b.get()));
        check_lower_bounds(lower)?;
        match ascending.as_slice() {
            [a, b, ..] => Self::new(others, *a, *b),
            _ => Err(KnowledgeError::Values(lower.len())),
        }
    }

    pub(crate) fn with_weights(
        others: u64,
        a: Probability,
        b: Probability,
        most: f64,
    ) -> Result<Self, KnowledgeError> {
        if others == 0 || others > MOST_RECORDS {
            return Err(KnowledgeError::Records(others));
        }
        check_lower_bounds(&[a, b])?;
        let total = (a.get() + b.get()).min(1.0);
        if a.get() <= 0.0 || b.get() <= 0.0 {
            // No blanket tells the two apart from what they are.
            let sizes = vec![(1.0, IntegerLaw::point(0))];
            return Ok(Self { sizes, lost: 0.0, error: 0.0, exact: true });
        }
        let blanket = IntegerLaw::binomial(others, Probability::new(total)?, FLOOR);
        let share = Probability::new((a.get() / (a.get() + b.get())).min(1.0))?;
        let width = IntegerLaw::binomial(u64::try_from(blanket.last()).unwrap_or(0), share, FLOOR);
        let laws = blanket.weights.len() as f64;
        // Every size in a cell is taken to be its smallest: an attacker who knows more learns no
        // less.
        let cell = (laws * width.weights.len() as f64 / most).ceil().clamp(1.0, laws) as usize;
        let mut sizes = Vec::new();
        for (i, chunk) in blanket.weights.chunks(cell).enumerate() {
            let mut sum = NeumaierSum::default();
            chunk.iter().for_each(|w| sum.add(*w));
            let size = u64::try_from(blanket.first).unwrap_or(0) + (i * cell) as u64;
            sizes.push((sum.value(), IntegerLaw::binomial(size, share, FLOOR)));
        }
        let error = blanket.error + 4.0 * UNIT;
        Ok(Self { sizes, lost: blanket.lost, error, exact: cell == 1 })
    }

    /// delta at `epsilon`, rounded up. `epsilon` >= 0; anything else gives 1.
    pub fn delta(&self, epsilon: f64) -> f64 {
        if epsilon.is_nan() || epsilon < 0.0 {
            return 1.0;
        }
        let mut sums = [NeumaierSum::default(); 2];
        for (weight, law) in &self.sizes {
            for (sum, delta) in sums.iter_mut().zip(both(law, epsilon)) {
                sum.add(weight * delta);
            }
        }
        let worst = sums[0].value().max(sums[1].value());
        // Never zero: weights that underflow are lost, and a delta of zero would promise too much.
        (worst * (1.0 + self.error + 8.0 * UNIT) + self.lost).clamp(f64::MIN_POSITIVE, 1.0)
    }

    /// Whether each size of the blanket counts as what it is; otherwise sizes near each other count
    /// as the smallest of them, to make it less work.
    pub fn exact(&self) -> bool {
        self.exact
    }
}

/// Weights below this are left out.
const FLOOR: f64 = 1e-290;

pub(crate) fn check_lower_bounds(lower: &[Probability]) -> Result<(), KnowledgeError> {
    let sum: f64 = lower.iter().map(|p| p.get()).sum();
    // Decimals that add up to one may not do so as doubles.
    if sum <= 1.0 + 1e-12 { Ok(()) } else { Err(KnowledgeError::LowerBounds(sum)) }
}
