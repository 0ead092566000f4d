//! Several releases without noise.

use hushtable_privacy::Epsilon;

use crate::error::KnowledgeError;
use crate::integer_law::UNIT;

/// The promise of one release against attackers who know only a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guarantee {
    /// Epsilon.
    pub epsilon: Epsilon,
    /// The delta at it.
    pub delta: f64,
}

impl Guarantee {
    /// The delta at another `epsilon`, rounded up: above the release's own epsilon its delta, and
    /// below it delta + (1 - delta) (e^E - e^epsilon)/(1 + e^E), where E is the release's own.
    ///
    /// That is the divergence of the worst pair of laws that a guarantee allows (Kairouz, Oh &
    /// Viswanath 2017, *The composition theorem for differential privacy*, Section 3.1): with delta
    /// apart, two outcomes whose odds change by e^E. `epsilon` >= 0; anything else gives 1.
    pub fn delta_at(&self, epsilon: f64) -> f64 {
        let stated = self.epsilon.to_f64();
        if epsilon.is_nan() || epsilon < 0.0 {
            1.0
        } else if epsilon >= stated {
            self.delta
        } else {
            let apart = -(epsilon - stated).exp_m1() / (1.0 + (-stated).exp());
            add_up(self.delta, (1.0 - self.delta) * apart * (1.0 + 8.0 * UNIT)).min(1.0)
        }
    }
}

/// How much more an attacker who has seen earlier releases learns from the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dependence {
    /// (mu, nu)-bounded (PK Definition 18): what earlier releases add to the loss of the next is at
    /// most mu, except for a probability of nu.
    Bounded {
        /// Mu.
        mu: Epsilon,
        /// Nu, from 0 to 1.
        nu: f64,
    },
    /// Counts of the same records at successive times, whose value at the next time is
    /// c-indistinguishable from what it would be without knowing the value before (PK Example 9).
    Temporal {
        /// The correlation c.
        c: Epsilon,
    },
}

impl Dependence {
    /// Releases about unrelated parts of the records (PK Proposition 9): (0, 0)-bounded.
    pub const NONE: Self = Self::Bounded { mu: Epsilon::ZERO, nu: 0.0 };

    /// The (mu, nu) that holds for each release given those before it.
    ///
    /// PK Example 9 has mu = 2c for counts at successive times. That is right for one other record,
    /// or if the target has changed its value at one of the two times only; with many others and a
    /// target that has changed at both, the loss can grow by up to 4c, and does by 3.7c with 16
    /// others. 4c holds: with the history of all others given, each of their odds is within e^(2c)
    /// of what they were, so that the ratio of neighbouring counts is (e_k/e_(k-1) of elementary
    /// symmetric polynomials rises in each of its variables and is homogeneous); and one of the
    /// others whose value before was another changes the law by e^(2c). With more than two times
    /// this needs that the transitions of all others are alike.
    ///
    /// # Errors
    /// Unless nu is from 0 to 1, and 4c at most 1,000,000.
    pub fn bound(self) -> Result<(Epsilon, f64), KnowledgeError> {
        match self {
            Self::Bounded { mu, nu } => {
                if (0.0..=1.0).contains(&nu) {
                    Ok((mu, nu))
                } else {
                    Err(KnowledgeError::Amount { what: "nu", given: nu, range: "from 0 to 1" })
                }
            }
            Self::Temporal { c } => {
                let four = c.checked_add(c).and_then(|two| two.checked_add(two));
                four.map(|mu| (mu, 0.0)).ok_or(KnowledgeError::Amount {
                    what: "c",
                    given: c.to_f64(),
                    range: "from 0 to 250000",
                })
            }
        }
    }

    /// The joint promise of `releases`: epsilons and deltas add up, and with every release after
    /// the first mu and nu (PK Theorem 6 with mu once: its own decomposition has the dependence
    /// once, where the statement has 2 mu). The delta is rounded up.
    ///
    /// # Errors
    /// If `dependence` is not given, as then nothing bounds it; unless all deltas and nu are from 0
    /// to 1, and the sum of epsilons at most 1,000,000.
    pub fn together(
        dependence: Option<Self>,
        releases: &[Guarantee],
    ) -> Result<Guarantee, KnowledgeError> {
        let (mu, nu) = dependence.ok_or(KnowledgeError::Unbounded)?.bound()?;
        let mut all = Guarantee { epsilon: Epsilon::ZERO, delta: 0.0 };
        for (index, release) in releases.iter().enumerate() {
            if !(0.0..=1.0).contains(&release.delta) {
                let (what, given) = ("delta", release.delta);
                return Err(KnowledgeError::Amount { what, given, range: "from 0 to 1" });
            }
            // The first release depends on none before it.
            let (mu, nu) = if index == 0 { (Epsilon::ZERO, 0.0) } else { (mu, nu) };
            let sum = all.epsilon.checked_add(release.epsilon).and_then(|e| e.checked_add(mu));
            all.epsilon = sum.ok_or(KnowledgeError::Amount {
                what: "epsilon of all",
                given: all.epsilon.to_f64() + release.epsilon.to_f64() + mu.to_f64(),
                range: "from 0 to 1000000",
            })?;
            all.delta = add_up(add_up(all.delta, release.delta), nu).min(1.0);
        }
        Ok(all)
    }
}

fn add_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Exact where the other is zero.
    if a == 0.0 || b == 0.0 { sum } else { sum.next_up() }
}
