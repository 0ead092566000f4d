//! Sums of one measure over groups, as the paper answers them: by splitting, or clamped.

use hushtable_noise::{Dyadic, Law, Rehearsal, RoundedGaussian};
use hushtable_privacy::{PolicyTerm, RecordPolicy, Rho, normal_quantile};

use crate::ExperimentError;
use crate::distribution::Distribution;

/// Records with one measure, in groups of one or more groupings.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    /// The size of one step of the lattice.
    step: f64,
    /// Each record's measure, in steps.
    values: Vec<u64>,
    /// The measures as numbers.
    distribution: Distribution,
    groupings: Vec<Grouping>,
}

/// Which group each record is in.
#[derive(Clone, Debug)]
struct Grouping {
    group: Vec<usize>,
    groups: usize,
}

/// How the sums are answered: all of them, at one threshold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// The loss of a record at the threshold by all sums.
    pub(crate) rho: Rho,
    /// The splitting threshold, or where values are clamped; not in steps.
    pub(crate) threshold: f64,
}

impl Sums {
    /// Records of these values, in steps of `step`, with the groups of each grouping from 0 up.
    pub(crate) fn new(step: f64, values: Vec<u64>, groupings: Vec<Vec<usize>>) -> Self {
        let distribution =
            Distribution::new(values.iter().map(|value| *value as f64 * step).collect());
        let groupings = groupings.into_iter().map(|group| {
            let groups = group.iter().max().map_or(0, |most| most + 1);
            Grouping { group, groups }
        });
        let groupings = groupings.collect();
        Self { step, values, distribution, groupings }
    }

    /// The sums of all groups in steps, grouping by grouping, with every value clamped to `most`.
    fn exact(&self, most: u64) -> Vec<Vec<u64>> {
        let of = |grouping: &Grouping| {
            let mut sums = vec![0; grouping.groups];
            for (value, &group) in self.values.iter().zip(&grouping.group) {
                sums[group] += (*value).min(most);
            }
            sums
        };
        self.groupings.iter().map(of).collect()
    }

    /// How many records there are.
    pub(crate) fn records(&self) -> usize {
        self.values.len()
    }

    /// The records' values.
    pub(crate) fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The loss of a record by all sums together, as a function of its value.
    ///
    /// # Distribution
    /// Unless the threshold is finite and above zero.
    pub(crate) fn policy(&self, setting: Setting) -> Result<Policy, ExperimentError> {
        let sum_count = self.groupings.len();
        let term = PolicyTerm::new(self.rho_of_each(setting), setting.threshold)?;
        Ok(Policy { sum_count, policy: RecordPolicy::new(Rho::ZERO, vec![term; sum_count]) })
    }

    /// A record is in one group of each grouping, so that groupings share the rho and their groups
    /// do not.
    fn rho_of_each(&self, setting: Setting) -> Rho {
        setting.rho.share(self.groupings.len() as u64)
    }

    /// The standard deviation of each sum's noise: T / sqrt(2 rho).
    fn deviation(&self, setting: Setting) -> f64 {
        setting.threshold / (2.0 * self.rho_of_each(setting).to_f64()).sqrt()
    }

    /// The absolute relative errors (PR equation 13) of that many releases of all sums that are not
    /// zero, with every value in full.
    ///
    /// # Distribution
    /// When the noise is too large or too small to be drawn.
    pub(crate) fn errors(
        &self,
        setting: Setting,
        releases: usize,
        noise: &mut Rehearsal,
    ) -> Result<Distribution, ExperimentError> {
        self.errors_of(&self.exact(u64::MAX), setting, releases, noise)
    }

    /// The errors of sums whose values are clamped to the threshold, so that no record
    /// loses more than rho.
    pub(crate) fn errors_clamped(
        &self,
        setting: Setting,
        releases: usize,
        noise: &mut Rehearsal,
    ) -> Result<Distribution, ExperimentError> {
        let most = (setting.threshold / self.step) as u64;
        self.errors_of(&self.exact(most), setting, releases, noise)
    }

    fn errors_of(
        &self,
        sums: &[Vec<u64>],
        setting: Setting,
        releases: usize,
        noise: &mut Rehearsal,
    ) -> Result<Distribution, ExperimentError> {
        let sigma = Dyadic::at_least(self.deviation(setting) / self.step)?;
        let law = RoundedGaussian::new(sigma);
        let mut errors = Vec::new();
        for (sums, truths) in sums.iter().zip(self.exact(u64::MAX)) {
            let mut draws = vec![0; sums.len()];
            for _ in 0..releases {
                law.rehearse(noise, &mut draws)?;
                let released = sums.iter().zip(&draws).map(|(&sum, draw)| i128::from(sum) + draw);
                for (released, &truth) in released.zip(&truths).filter(|(_, truth)| **truth > 0) {
                    let error = (released - i128::from(truth)).unsigned_abs();
                    errors.push(error as f64 / truth as f64);
                }
            }
        }
        Ok(Distribution::new(errors))
    }

    /// QueryRelErr(level) of every sum that is not zero, with every value in full, in rising order:
    /// what the relative error is below with this probability (PR equation 12). The noise is
    /// normal, so it is z sigma over the sum.
    pub(crate) fn relative_errors_at(&self, level: f64, setting: Setting) -> Distribution {
        let far = normal_quantile((1.0 - level) / 2.0) * self.deviation(setting) / self.step;
        let truths = self.exact(u64::MAX).into_iter().flatten().filter(|truth| *truth > 0);
        Distribution::new(truths.map(|truth| far / truth as f64).collect())
    }
}

/// The loss of a record by all sums together.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    sum_count: usize,
    policy: RecordPolicy,
}

impl Policy {
    /// By the paper's splitting into whole pieces.
    pub(crate) fn split(&self, value: f64) -> f64 {
        self.policy.split(&vec![value; self.sum_count])
    }

    /// By what the record moves the sums, which is the paper's realised loss.
    pub(crate) fn exact(&self, value: f64) -> f64 {
        self.policy.exact(&vec![value; self.sum_count])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six records in halves, in two groupings: 0, 1, 1 and 0, 1, 2, one of them of nothing.
    fn table() -> Sums {
        let values = vec![2, 4, 200, 6, 0, 8];
        Sums::new(0.5, values, vec![vec![0, 1, 1, 0, 1, 1], vec![0, 1, 1, 0, 2, 1]])
    }

    fn setting(rho: &str, threshold: f64) -> Setting {
        Setting { rho: rho.parse().unwrap(), threshold }
    }

    #[test]
    fn records_above_the_threshold_lose_more_than_rho() {
        let sums = table();
        let policy = sums.policy(setting("0.5", 3.0)).unwrap();
        for (value, pieces) in [(0.0, 1.0), (3.0, 1.0), (3.5, 2.0), (100.0, 34.0)] {
            let (split, exact): (f64, f64) = (policy.split(value), policy.exact(value));
            assert!((split - 0.5 * pieces * pieces).abs() < 1e-9, "{value}");
            assert!((exact - 0.5 * value * value / 9.0).abs() < 1e-9, "{value}");
            assert_eq!(exact > 0.5 * (1.0 + 1e-12), value > 3.0);
        }
        // 100 and 4 are above 3, and 3 is not.
        assert_eq!(sums.distribution().share_above(3.0), 2.0 / 6.0);
        assert_eq!(sums.distribution().share_above(100.0), 0.0);
        assert_eq!(
            [0.0, 0.5, 0.51, 1.0].map(|s| sums.distribution().quantile(s)),
            [0.0, 2.0, 3.0, 100.0]
        );
    }

    #[test]
    fn sums_are_exact_or_clamped() {
        assert_eq!(table().exact(u64::MAX), [vec![8, 212], vec![8, 212, 0]]);
        assert_eq!(table().exact(6), [vec![8, 16], vec![8, 16, 0]]);
        // With hardly any noise (sigma below 0.01 steps), what is left is the clamping: 8 of 8, 16
        // of 212, and nothing of the sum that is zero.
        let mut noise = Rehearsal::new(1);
        let clamped = table().errors_clamped(setting("1000000", 3.0), 2, &mut noise).unwrap();
        let lost = 196.0 / 212.0;
        assert_eq!(clamped.sorted(), [[0.0; 4], [lost; 4]].concat());
        let full = table().errors(setting("1000000", 3.0), 2, &mut noise).unwrap();
        assert_eq!(full.sorted(), [0.0; 8]);
    }

    /// A record is in two sums at half of rho each: sigma = T / sqrt(2 rho / 2) = T at rho = 1. The
    /// share of 40,000 errors within QueryRelErr has a standard deviation of 0.0011 at 95 of 100
    /// and of 0.0025 at the median: six of them.
    #[test]
    fn errors_have_the_law_of_the_noise() {
        let sums = Sums::new(0.01, vec![100_000], vec![vec![0], vec![0]]);
        let setting = setting("1", 50.0);
        let foreseen = sums.relative_errors_at(0.95, setting);
        assert!((foreseen.quantile(1.0) - 1.959964 * 50.0 / 1000.0).abs() < 1e-7);
        let errors = sums.errors(setting, 20_000, &mut Rehearsal::new(2)).unwrap();
        assert_eq!(errors.sorted().len(), 40_000);
        for (level, room) in [(0.5, 0.015), (0.95, 0.0066)] {
            let far = sums.relative_errors_at(level, setting).quantile(1.0);
            let within = 1.0 - errors.share_above(far);
            assert!((within - level).abs() < room, "{level}: {within}");
        }
    }
}
