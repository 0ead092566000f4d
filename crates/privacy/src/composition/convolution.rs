//! The law of a composition's loss, by convolution on a grid.

use hushtable_numbers::search::valley;

use super::kernel::{LossGrid, LossKernel};
use super::kinds::{ComposingEvents, ROUNDING};
use super::spectrum::{Circle, Spectrum};
use super::tilted::TiltedLaw;

/// ln of the weight that may be outside the circle on either side.
const OUTSIDE: f64 = -42.0;

/// Shortest and longest circle, as powers of two.
const LEVELS: (u32, u32) = (8, 21);

/// Fewest and most grid points of a window, but where losses are on the grid.
const POINTS: (f64, f64) = (15_000.0, 1_000_000.0);

/// Grid points of a circle per root of the number of laws that are rounded: each rounding adds at
/// most a quarter of a squared step to the variance, and a circle is some 17 standard deviations
/// long, so that variances stay right to 1e-4.
const DENSITY: f64 = 850.0;

/// Most products for direct convolution.
const DIRECT: usize = 1 << 27;

/// Longest kernel, in steps.
const LONGEST: f64 = (1u64 << 22) as f64;

/// Losses around the mean, at a tilt, beyond which there is next to nothing, and the further tilts
/// by which that is seen.
#[derive(Clone, Copy, Debug)]
struct LossWindow {
    lowest: f64,
    highest: f64,
    down: f64,
    up: f64,
}

impl LossWindow {
    /// By Chernoff's bound, P\[L >= x\] <= e^(ln moment of t - t x) at the best further tilt t; but
    /// at none at which the moments of laws that are rounded up to a grid are much larger.
    fn of(events: &ComposingEvents, tilt: f64) -> Self {
        let here = events.ln_moment(tilt);
        let edge = |t: f64, sign: f64| (events.ln_moment(tilt + sign * t) - here - OUTSIDE) / t;
        let best = |sign: f64| valley(-25.0, 25.0, |ln| edge(ln.exp(), sign)).exp();
        let (down, up) = (best(-1.0), best(1.0));
        let width = edge(up, 1.0) + edge(down, -1.0);
        let most = 300.0 / width.max(longest(events) / LONGEST);
        let (down, up) = (down.min(most), up.min(most));
        Self { lowest: -edge(down, -1.0), highest: edge(up, 1.0), down, up }
    }
}

/// The law of all of `events` but what is known in rho only, at a tilt.
///
/// Errors, all of them on the safe side or bounded and added: kernels are rounded up
/// ([`LossKernel`]). Few laws of few losses are convolved directly, with positive terms only, so
/// that every weight has its own small relative error. Otherwise, by transform, what is outside the
/// circle comes back on its other side, and is added once more as a bound; and the transforms'
/// errors are [`TiltedLaw::error`].
pub(crate) fn tilted(events: &ComposingEvents, tilt: f64) -> TiltedLaw {
    with_work(events, tilt, DIRECT)
}

/// Convolves with at most `direct` products by the direct way.
pub(crate) fn with_work(events: &ComposingEvents, tilt: f64, direct: usize) -> TiltedLaw {
    let window = LossWindow::of(events, tilt);
    let width = window.highest - window.lowest;
    let step = step(events, tilt, width);
    // Where the step is larger than the window needs, the circle is merely too long.
    let levels = ((width / step + 8.0).log2().ceil().max(0.0) as u32).clamp(LEVELS.0, LEVELS.1);
    let grid = LossGrid { step, tilt };
    let mut all = Convolver::new(levels, grid, window, direct);
    if events.mu_squared > 0.0 {
        all.add(LossKernel::gaussian(events.mu_squared, grid));
    }
    for lattice in &events.lattices {
        all.add(LossKernel::lattice(*lattice, grid));
    }
    for responses in &events.responses {
        all.add(LossKernel::responses(*responses, grid));
    }
    let GridWeights { first, weights, error, left_out } = all.finish();
    let edge = |index: i64| index as f64 * step;
    let highest = edge(first + weights.len() as i64);
    TiltedLaw {
        tilt,
        ln_moment: events.ln_moment(tilt),
        slack: events.slack(tilt),
        lowest: edge(first),
        step,
        loss_slack: 8.0 * ROUNDING * edge(first).abs().max(highest.abs()),
        weights,
        error,
        left_out,
    }
}

/// The grid's step, for a window of that width.
fn step(events: &ComposingEvents, tilt: f64, width: f64) -> f64 {
    let lattices: f64 = events.lattices.iter().map(|l| l.times as f64).sum();
    let rounded = lattices + events.responses.len() as f64 + 1.0;
    let points = (DENSITY * rounded.sqrt()).max(tilt * width / 0.02).clamp(POINTS.0, POINTS.1);
    let step = (width / points).max(longest(events) / LONGEST);
    // Losses that are on the grid are not rounded.
    let common = events.common_step();
    if common >= step {
        common / (common / step).ceil()
    } else if common * POINTS.1 > width && common * LONGEST > longest(events) {
        common
    } else {
        step
    }
}

/// The longest kernel, about, in losses.
fn longest(events: &ComposingEvents) -> f64 {
    let responses = events.responses.iter().map(|r| {
        // At most some 25 standard deviations, of at most epsilon each.
        2.0 * r.epsilon * (r.times as f64).min(25.0 * (r.times as f64).sqrt())
    });
    let lattices = events.lattices.iter().map(|l| {
        let s = l.event.law().sigma_squared();
        l.event.sensitivity() as f64 * (20.0 * s.sqrt() + 6.0) / s
    });
    responses.chain(lattices).fold(20.0 * events.mu_squared.sqrt(), f64::max)
}

/// The numbers of all kernels together that Chernoff's bound needs.
#[derive(Clone, Copy, Debug, Default)]
struct ChernoffTerms {
    /// Sum of the means, and how far it may be off.
    mean: f64,
    mean_off: f64,
    /// ln of the moments about the mean at the window's further tilts, and of the whole weight.
    ln_down: f64,
    ln_up: f64,
    ln_total: f64,
}

impl ChernoffTerms {
    fn add(&mut self, kernel: &LossKernel, grid: LossGrid, window: LossWindow) {
        let times = kernel.times as f64;
        let mean = kernel.mean(grid);
        // A sum of up to 2^22 positive terms is right to 1e-9.
        let ln = |further: f64| times * (kernel.moment(grid, further, mean).ln() + 1e-9);
        self.mean += times * mean;
        self.mean_off += 8.0 * ROUNDING * times * mean.abs();
        self.ln_down += ln(-window.down);
        self.ln_up += ln(window.up);
        self.ln_total += ln(0.0).max(0.0);
    }

    /// Bound of the weight below and above the two losses.
    fn beyond(&self, window: LossWindow, lowest: f64, highest: f64) -> f64 {
        let above = self.ln_up - window.up * (highest - self.mean - self.mean_off);
        let below = self.ln_down - window.down * (self.mean - self.mean_off - lowest);
        above.exp() + below.exp()
    }
}

/// Weights at multiples of the grid's step, from `first` on.
struct GridWeights {
    first: i64,
    weights: Vec<f64>,
    error: f64,
    left_out: f64,
}

/// Convolves kernels: directly while that is little work, and by transform what they come to then.
struct Convolver {
    levels: u32,
    grid: LossGrid,
    window: LossWindow,
    sides: ChernoffTerms,
    left_out: f64,
    /// The segment that is convolved directly, and how many products that may still take.
    pending: Option<LossKernel>,
    products: usize,
    /// Everything before that, once it was too much.
    spectrum: Option<Spectrum>,
}

impl Convolver {
    fn new(levels: u32, grid: LossGrid, window: LossWindow, products: usize) -> Self {
        Self {
            levels,
            grid,
            window,
            sides: ChernoffTerms::default(),
            left_out: 0.0,
            pending: None,
            products,
            spectrum: None,
        }
    }

    fn add(&mut self, kernel: LossKernel) {
        self.sides.add(&kernel, self.grid, self.window);
        self.left_out += kernel.times as f64 * kernel.left_out;
        let once = LossKernel { times: 1, ..kernel };
        let size = once.size();
        // Powers grow with every factor.
        let runs = usize::try_from(kernel.times).unwrap_or(usize::MAX);
        let grown = runs.saturating_mul(once.weights.len());
        let work = size.saturating_mul(grown).saturating_mul(runs);
        if runs > 1
            && (self.spectrum.is_some() || work > self.products / 4 || grown > LONGEST as usize)
        {
            self.transform(&LossKernel { times: kernel.times, ..once });
            return;
        }
        for _ in 0..runs {
            match self.pending.take() {
                Some(pending) if self.is_little(&pending, &once, size) => {
                    self.products = self.products.saturating_sub(size * pending.weights.len());
                    self.pending = Some(pending.with(&once));
                }
                Some(pending) => {
                    self.transform(&pending);
                    self.pending = Some(once.clone());
                }
                None => self.pending = Some(once.clone()),
            }
        }
    }

    /// Whether to convolve directly: when nothing was transformed yet, up to a fixed number of
    /// products; later, while it is less than a transform.
    fn is_little(&self, pending: &LossKernel, kernel: &LossKernel, size: usize) -> bool {
        let length = pending.weights.len() + kernel.weights.len();
        let work = size * pending.weights.len();
        if self.spectrum.is_some() {
            let circle = 1usize << self.levels;
            length <= circle / 8 && work <= 4 * circle
        } else {
            length <= LONGEST as usize && work <= self.products
        }
    }

    fn transform(&mut self, kernel: &LossKernel) {
        self.spectrum.get_or_insert_with(|| Spectrum::new(self.levels)).multiply(kernel);
    }

    fn finish(mut self) -> GridWeights {
        let pending = self.pending.take();
        let left_out = self.left_out * self.sides.ln_total.exp();
        let spectrum = match (self.spectrum.take(), pending) {
            (None, None) => {
                return GridWeights { first: 0, weights: vec![1.0], error: 0.0, left_out };
            }
            (None, Some(LossKernel { first, weights, .. })) => {
                return GridWeights { first, weights, error: 0.0, left_out };
            }
            (Some(spectrum), None) => spectrum,
            (Some(mut spectrum), Some(pending)) => {
                spectrum.multiply(&pending);
                spectrum
            }
        };
        let Circle { mut weights, error } = spectrum.circle();
        let n = weights.len() as i64;
        let first = (self.window.lowest / self.grid.step).floor() as i64 - 1;
        let edge = |index: i64| index as f64 * self.grid.step;
        let beyond = self.sides.beyond(self.window, edge(first), edge(first + n - 1));
        weights.rotate_left(first.rem_euclid(n) as usize);
        GridWeights { first, weights, error, left_out: left_out + beyond }
    }
}
