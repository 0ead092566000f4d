//! Reading a released histogram of contributions: where there are visibly units at all.
//!
//! Units may be spread over any number of neighbouring buckets, so that no bucket by itself shows
//! them. Sums of 1, 2, 4 and so on to 32 neighbours are looked at; each is judged by how seldom the
//! noise of so many buckets alone is as large.

/// Sizes of units on one side of zero, as released.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sizes {
    /// The ends of each bucket, ascending: above the first, at most the second.
    pub(super) ends: Vec<(f64, f64)>,
    /// The released number of units in each.
    pub(super) units: Vec<f64>,
    /// The scale of their noise, as that of Laplace noise: see [`laplace_scale`].
    pub(super) scale: f64,
}

/// Neighbouring buckets that hold more than noise would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BucketWindow {
    /// The first bucket.
    pub(super) start: usize,
    /// The bucket after the last.
    pub(super) end: usize,
    /// Minus the logarithm of a bound on the probability that noise alone is as large.
    pub(super) surprise: f64,
}

/// The surprise from which on units are visible. Some 1,200 windows of 206 buckets are looked at,
/// so that noise alone shows units in one of eighteen histograms at most: 1,200 exp(-10) = 0.054.
/// As windows overlap and the bound is not sharp, it is six of 10,000 (20,000 simulated).
const CLEAR: f64 = 10.0;

/// The widths of windows, in buckets.
const WIDTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// The widest windows that are averaged over: of wider ones, starts say little.
const NARROW: usize = 8;

impl BucketWindow {
    /// Whether noise hardly explains it.
    pub(super) fn is_clear(self) -> bool {
        self.surprise >= CLEAR
    }
}

impl Sizes {
    /// The clear window that begins at the largest sizes; without any, the one in the middle of
    /// what may be. `None` where no bucket has more than nothing.
    pub(super) fn visible(&self) -> Option<BucketWindow> {
        let windows = self.windows();
        let clear = windows.iter().filter(|window| window.is_clear());
        let clear =
            clear.max_by(|a, b| a.start.cmp(&b.start).then(a.surprise.total_cmp(&b.surprise)));
        clear.copied().or_else(|| middle(windows))
    }

    /// All windows with more than nothing in them.
    fn windows(&self) -> Vec<BucketWindow> {
        let windows = WIDTHS.iter().flat_map(|&width| {
            let sums = self.units.windows(width).map(|units| units.iter().sum::<f64>());
            sums.enumerate().map(move |(start, sum)| (start, width, sum / self.scale))
        });
        let seen = windows.filter(|(_, _, sum)| *sum > 0.0);
        let window = |(start, width, sum)| {
            let surprise = surprise(sum, width as f64);
            BucketWindow { start, end: start + width, surprise }
        };
        seen.map(window).collect()
    }
}

/// Of windows of which none is clear, one at the median of their starts: each counts for as much as
/// noise alone is unlikely to be as large. The bound is then about as often too small as too large,
/// and seldom far off in either way. Its surprise is the largest of all.
fn middle(mut windows: Vec<BucketWindow>) -> Option<BucketWindow> {
    let most = windows.iter().map(|window| window.surprise).reduce(f64::max)?;
    windows.retain(|window| window.end - window.start <= NARROW);
    windows.sort_by_key(|window| window.start);
    let weight = |window: &BucketWindow| (window.surprise - most).exp();
    let half = windows.iter().map(weight).sum::<f64>() / 2.0;
    let mut before = 0.0;
    let at = windows.iter().find(|window| {
        before += weight(window);
        before >= half
    })?;
    let beside = windows.iter().filter(|window| window.start == at.start);
    let best = beside.max_by(|a, b| a.surprise.total_cmp(&b.surprise))?;
    Some(BucketWindow { surprise: most, ..*best })
}

/// Minus the logarithm of Chernoff's bound on the probability that the sum of `number` independent
/// Laplace variables of scale one is at least `sum`: the largest t sum + number ln(1 - t^2).
fn surprise(sum: f64, number: f64) -> f64 {
    // t = (r - number) / sum, written so that nothing is left of no difference of large numbers.
    let both = number.hypot(sum) + number;
    sum * (sum / both) + number * (2.0 * number / both).ln()
}

/// The scale t of discrete Laplace noise, of probability proportional to e^(-|n| / t), with that
/// standard deviation. Its tail is that of Laplace noise of scale t, which the deviation over the
/// root of two is far below where most of the noise is zero. Sums of such noise are no larger:
/// with f(x) = cosh(x) - 1, a convex function of x^2, the moments E e^(sX) are 1 / (1 - f(s) /
/// f(1/t)), and those of Laplace noise 1 / (1 - s^2 t^2).
pub(super) fn laplace_scale(deviation: f64) -> f64 {
    // The variance is 2 a / (1 - a)^2 for a = e^(-1/t).
    let x = 1.0 / (deviation * deviation);
    let ratio = 1.0 / (1.0 + x + (2.0 * x + x * x).sqrt());
    // Where there is no noise to speak of, still above zero.
    (-1.0 / ratio.ln()).max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(sum of n Laplace variables >= x) in closed form for one and two of them.
    #[test]
    fn surprise_bounds_what_noise_does() {
        for x in [0.5f64, 1.0, 3.0, 10.0, 20.0] {
            let one = (-x).exp() / 2.0;
            let two = (-x).exp() * (2.0 + x) / 4.0;
            for (number, probability) in [(1.0, one), (2.0, two)] {
                let bound = (-surprise(x, number)).exp();
                // Never below, and at most by a factor that grows as slowly as x does.
                assert!(probability <= bound, "{x} {number}");
                assert!(
                    bound <= probability * (2.0 * std::f64::consts::E * (x + 2.0)),
                    "{x} {number}"
                );
            }
        }
        // Of hardly any noise, too.
        assert!(surprise(1e25, 1.0) > 9e24);
        // It is the largest over t.
        for (x, n) in [(2.0, 1.0), (30.0, 8.0), (100.0, 32.0)] {
            let at = |t: f64| t * x + n * (-t * t).ln_1p();
            let largest = (1..1000).map(|t| at(f64::from(t) / 1000.0)).fold(0.0, f64::max);
            assert!((surprise(x, n) - largest).abs() < 1e-3 * largest, "{x} {n}");
        }
    }

    fn sizes(units: &[f64]) -> Sizes {
        let ends = (0..units.len()).map(|i| (2f64.powi(i as i32), 2f64.powi(i as i32 + 1)));
        Sizes { ends: ends.collect(), units: units.to_vec(), scale: 10.0 }
    }

    #[test]
    fn units_are_visible_together_where_they_are_not_apart() {
        let mut units = vec![0.0; 60];
        assert_eq!(sizes(&units).visible(), None);
        units[20] = 60.0;
        let alone = sizes(&units).visible().unwrap();
        assert!(!alone.is_clear());
        assert_eq!((alone.start, alone.end), (20, 21));
        units[20..28].fill(60.0);
        // The window is clear that begins at the largest sizes.
        let together = sizes(&units).visible().unwrap();
        assert!(together.is_clear() && together.start > 20 && together.start < 28, "{together:?}");
        // One that is larger by far counts where noise cannot explain it.
        units[50] = 80.0;
        assert_eq!(sizes(&units).visible(), Some(together));
        units[50] = 160.0;
        assert_eq!(sizes(&units).visible().unwrap().start, 50);
    }

    #[test]
    fn the_scale_of_discrete_noise_is_that_of_its_tail() {
        for epsilon in [0.01, 0.1, 1.0, 4.0, 6.0, 8.0, 30.0f64] {
            let a = (-epsilon).exp();
            let deviation = (2.0 * a).sqrt() / (1.0 - a);
            let scale = laplace_scale(deviation);
            assert!((scale * epsilon - 1.0).abs() < 1e-9, "{epsilon}: {scale}");
        }
        assert!(laplace_scale(1e-200) >= 1e-9);
    }
}
