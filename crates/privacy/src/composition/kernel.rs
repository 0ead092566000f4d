//! Laws of losses on a grid: never less private than the true ones.

use super::binomial::Binomial;
use super::kinds::{Lattice, ROUNDING, Responses};

/// Standard deviations of a Gaussian law beyond which nothing is put on the grid: the tail is below
/// 1e-20, both tails together twice that.
const FAR: f64 = 9.3;
const BEYOND_FAR: f64 = 2e-20;

/// Stretches of a Gaussian law over which a quadrature takes place, per standard deviation.
const STRETCHES: f64 = 64.0;

/// Relative error of the quadrature, of the moments and of the exponentials, generously: weights
/// are taken higher by that.
const MARGIN: f64 = 1e-12;

/// Nodes and weights of Gauss and Legendre's rule of 4 points on -1 ..= 1.
const NODES: [(f64, f64); 4] = [
    (-0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
    (-0.339_981_043_584_856_26, 0.652_145_154_862_546_1),
    (0.339_981_043_584_856_26, 0.652_145_154_862_546_1),
    (0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
];

/// Losses that are whole multiples of a step, and the tilt of the laws on them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LossGrid {
    pub(crate) step: f64,
    pub(crate) tilt: f64,
}

/// A law on a grid: weights e^(tilt L) P\[L\] divided by a moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LossKernel {
    /// The multiple that the first weight is at.
    pub(crate) first: i64,
    pub(crate) weights: Vec<f64>,
    /// Weight that is not there.
    pub(crate) left_out: f64,
    /// How many such laws compose.
    pub(crate) times: u64,
}

impl LossKernel {
    fn empty(grid: LossGrid, lowest: f64, highest: f64, times: u64) -> Self {
        let first = (lowest / grid.step).floor() as i64 - 1;
        let last = (highest / grid.step).ceil() as i64 + 2;
        Self { first, weights: vec![0.0; (last - first + 1).max(1) as usize], left_out: 0.0, times }
    }

    /// Puts `weight` (tilted) of the loss `loss` on the two grid points around it.
    ///
    /// The split keeps the likelihood ratio's mean: m at l between a and b becomes m_a + m_b = m
    /// with m_a e^-a + m_b e^-b = m e^-l. So the ratio is spread without changing its mean, and
    /// every expectation of a convex function of it, which delta at any epsilon is, grows or stays,
    /// also after composition, where independent ratios multiply. (It is the optimal such rounding:
    /// Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022, *Connect the dots*.) Rounding errors in
    /// the loss go up.
    fn put(&mut self, grid: LossGrid, loss: f64, weight: f64) {
        let LossGrid { step, tilt } = grid;
        let slack = 8.0 * ROUNDING * loss.abs();
        let mut below = (loss / step).floor();
        let mut over = (loss - below * step + slack).max(0.0);
        if over > step {
            // The quotient was rounded down.
            (below, over) = (below + 1.0, slack.min(step));
        }
        let under = step - over;
        // The shares of b and of a, each without cancellation.
        let up = (-over).exp_m1() / (-step).exp_m1();
        let down = (-over).exp() * (-under).exp_m1() / (-step).exp_m1();
        let weight = weight * (1.0 + MARGIN + 2.0 * tilt * slack);
        let index = below as i64 - self.first;
        if let Some([at_a, at_b]) = usize::try_from(index)
            .ok()
            .and_then(|index| self.weights.get_mut(index..index.checked_add(2)?))
        {
            *at_a += weight * down * (-tilt * over).exp();
            *at_b += weight * up * (tilt * under).exp();
        } else {
            self.left_out += weight;
        }
    }

    /// All Gaussian events together: at a tilt, the loss is normal with mean mu^2/2 + tilt mu^2 and
    /// variance mu^2. Each stretch between grid points is integrated by Gauss and Legendre's rule,
    /// whose error is 5.6e-10 w^8 times the eighth derivative over a stretch of width w, below
    /// 1e-13 of the weight for stretches of at most 1/64 of a standard deviation and up to 9.5 of
    /// them out.
    pub(crate) fn gaussian(mu_squared: f64, grid: LossGrid) -> Self {
        let (mu, centre) = (mu_squared.sqrt(), (0.5 + grid.tilt) * mu_squared);
        let (lowest, highest) = (centre - FAR * mu, centre + FAR * mu);
        let mut kernel = Self::empty(grid, lowest, highest, 1);
        let pieces = (grid.step / mu * STRETCHES).ceil().max(1.0);
        let width = grid.step / pieces;
        let scale = width / (2.0 * mu * (2.0 * std::f64::consts::PI).sqrt());
        let cells = ((lowest / grid.step).floor() as i64)..=((highest / grid.step).ceil() as i64);
        for cell in cells {
            let start = cell as f64 * grid.step;
            // Where cells are wide, most stretches are out of reach.
            let reach = |loss: f64| ((loss - start) / width).clamp(0.0, pieces);
            let (from, to) = (reach(lowest).floor() as u64, reach(highest).ceil() as u64);
            for piece in from..to {
                let middle = start + (piece as f64 + 0.5) * width;
                for (node, share) in NODES {
                    let loss = middle + 0.5 * node * width;
                    let z = (loss - centre) / mu;
                    kernel.put(grid, loss, scale * share * (-0.5 * z * z).exp());
                }
            }
        }
        kernel.left_out += BEYOND_FAR;
        kernel
    }

    /// All responses of one epsilon together: the law of their total loss is put on the grid.
    pub(crate) fn responses(responses: Responses, grid: LossGrid) -> Self {
        let Responses { epsilon, times } = responses;
        let law = Binomial::new(times, responses.ln_odds(grid.tilt));
        let loss = |less: u64| (times as f64 - 2.0 * less as f64) * epsilon;
        let last = law.first + law.weights.len() as u64 - 1;
        let mut kernel = Self::empty(grid, loss(last), loss(law.first), 1);
        for (less, weight) in (law.first..).zip(&law.weights) {
            kernel.put(grid, loss(less), *weight);
        }
        kernel.left_out += law.left_out;
        kernel
    }

    /// One discrete Gaussian event, of as many as there are: at a tilt, integers y with weights
    /// e^(-(y - tilt shift)^2/(2 sigma^2)), and losses shift (2y + shift)/(2 sigma^2).
    pub(crate) fn lattice(lattice: Lattice, grid: LossGrid) -> Self {
        let (s, shift) = (lattice.event.law().sigma_squared(), lattice.event.sensitivity() as f64);
        let (sigma, centre) = (s.sqrt(), grid.tilt * shift);
        let loss = |y: f64| shift * (2.0 * y + shift) / (2.0 * s);
        let (lowest, highest) =
            ((centre - FAR * sigma).floor() - 2.0, (centre + FAR * sigma).ceil() + 2.0);
        let mut kernel = Self::empty(grid, loss(lowest), loss(highest), lattice.times);
        let weight = |y: f64| (-(y - centre) * (y - centre) / (2.0 * s)).exp();
        let integers = || (0..=(highest - lowest) as u64).map(|i| lowest + i as f64);
        let total: f64 = integers().map(weight).sum();
        // A rounding for each term, and of exponents up to 50.
        let margin = 1.0 + ROUNDING * (200.0 + (highest - lowest) + centre.abs() / sigma * 40.0);
        for y in integers() {
            kernel.put(grid, loss(y), weight(y) * margin / total);
        }
        // Terms fall by e^-FAR or more in a standard deviation.
        kernel.left_out += BEYOND_FAR * (1.0 + 1.0 / sigma);
        kernel
    }

    /// Sum of the weights at a further tilt, about the loss `pivot`: of e^(further (L - pivot)).
    pub(crate) fn moment(&self, grid: LossGrid, further: f64, pivot: f64) -> f64 {
        let loss = |index: usize| (self.first + index as i64) as f64 * grid.step;
        let terms = self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        terms.map(|(index, weight)| weight * (further * (loss(index) - pivot)).exp()).sum()
    }

    /// The mean of the weights.
    pub(crate) fn mean(&self, grid: LossGrid) -> f64 {
        let total: f64 = self.weights.iter().sum();
        let first_moment: f64 =
            self.weights.iter().enumerate().map(|(index, weight)| index as f64 * weight).sum();
        (self.first as f64 + first_moment / total) * grid.step
    }

    /// How many weights are not zero.
    pub(crate) fn size(&self) -> usize {
        self.weights.iter().filter(|weight| **weight > 0.0).count()
    }

    /// The law of the sum of both losses, of one run each. All terms are positive, so each weight
    /// is off by a rounding for each term and two, relatively, and is taken higher by more.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut weights = vec![0.0; self.weights.len() + other.weights.len() - 1];
        let margin = 1.0 + 2.0 * ROUNDING * (other.size() as f64 + 4.0);
        for (index, factor) in other.weights.iter().enumerate().filter(|(_, f)| **f > 0.0) {
            for (sum, weight) in weights[index..].iter_mut().zip(&self.weights) {
                *sum += factor * margin * weight;
            }
        }
        Self {
            first: self.first + other.first,
            weights,
            left_out: self.left_out + other.left_out,
            times: 1,
        }
    }
}
