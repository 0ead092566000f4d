//! Products of Fourier transforms, with a bound of what they are off by.

use super::fourier::Fourier;
use super::kernel::LossKernel;
use super::kinds::ROUNDING;

/// Relative error of one product of complex numbers: sqrt 5 u (Brent, Percival & Zimmermann 2007,
/// *Error bounds on complex floating-point multiplication*), and some.
const PRODUCT: f64 = 3.0 * ROUNDING;

/// The transform of a convolution of kernels, and how far each of its values is from the true one.
#[derive(Clone, Debug)]
pub(crate) struct Spectrum {
    fourier: Fourier,
    /// Up to the middle: the rest is the conjugate, as kernels are real.
    re: Vec<f64>,
    im: Vec<f64>,
    off: Vec<f64>,
    /// The sum of all kernels' `first`, modulo the length.
    first: i64,
}

/// A convolution on a circle of 2^levels points.
#[derive(Clone, Debug)]
pub(crate) struct Circle {
    /// The weight at multiples that are equal modulo the length, from multiple zero on.
    pub(crate) weights: Vec<f64>,
    /// Bound of the root of the sum of squares of the weights' errors.
    pub(crate) error: f64,
}

impl Spectrum {
    /// Of nothing: the loss is zero.
    pub(crate) fn new(levels: u32) -> Self {
        let fourier = Fourier::new(levels);
        let half = fourier.len() / 2 + 1;
        Self { re: vec![1.0; half], im: vec![0.0; half], off: vec![0.0; half], first: 0, fourier }
    }

    /// Convolves with all runs of a kernel.
    ///
    /// Each value of the kernel's transform is off by at most the whole transform's error, E; its
    /// power k by k E m^(k-1), with m a bound of its size, and by 3ku of itself for k products.
    pub(crate) fn multiply(&mut self, kernel: &LossKernel) {
        let n = self.fourier.len();
        let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
        for (index, weight) in kernel.weights.iter().enumerate() {
            re[index % n] += weight;
        }
        let squares: f64 = re.iter().map(|w| w * w).sum();
        self.fourier.transform(&mut re, &mut im);
        // A kernel longer than the circle is added up on it, with a rounding each time.
        let laps = (kernel.weights.len() / n + 1) as f64;
        let size = (n as f64 * squares).sqrt();
        let off = (self.fourier.error() + laps * ROUNDING) * size * (1.0 + 1e-9);
        let times = kernel.times as f64;
        for j in 0..self.re.len() {
            let (x, y) = power((re[j], im[j]), kernel.times);
            let bound = re[j].hypot(im[j]) + off;
            let (less, whole) = (bound.powf(times - 1.0), bound.powf(times));
            let power_off = times * (off * less + PRODUCT * whole) * (1.0 + 1e-9);
            let (a, b) = (self.re[j], self.im[j]);
            let size = a.hypot(b);
            self.off[j] =
                (size * power_off + whole * self.off[j] + PRODUCT * size * whole) * (1.0 + 1e-9);
            (self.re[j], self.im[j]) = (a * x - b * y, a * y + b * x);
        }
        let n = n as i64;
        let runs = (kernel.times % n.unsigned_abs()) as i64;
        self.first = (self.first + kernel.first.rem_euclid(n) * runs) % n;
    }

    /// Back from the transform.
    pub(crate) fn circle(mut self) -> Circle {
        let n = self.fourier.len();
        // By Parseval's identity, errors here count by 1/sqrt n there.
        let inner = self.off.iter().skip(1).rev().skip(1).map(|off| 2.0 * off * off).sum::<f64>()
            + self.off[0] * self.off[0]
            + self.off[n / 2] * self.off[n / 2];
        for j in n / 2 + 1..n {
            self.re.push(self.re[n - j]);
            self.im.push(-self.im[n - j]);
        }
        self.fourier.transform(&mut self.im, &mut self.re);
        let scale = 1.0 / n as f64;
        let squares: f64 =
            self.re.iter().zip(&self.im).map(|(a, b)| (a * a + b * b) * scale * scale).sum();
        let error = (inner / n as f64).sqrt() + 2.0 * self.fourier.error() * squares.sqrt();
        let start = self.first as usize;
        let mut weights = vec![0.0; n];
        for (index, weight) in self.re.iter().enumerate() {
            // No true weight is negative.
            weights[(start + index) % n] = (weight * scale).max(0.0);
        }
        Circle { weights, error: error * (1.0 + 1e-9) }
    }
}

/// z^times for times >= 1, by squares: at most `times` products enter any factor.
fn power(z: (f64, f64), times: u64) -> (f64, f64) {
    let product = |a: (f64, f64), b: (f64, f64)| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
    let mut result = z;
    for bit in (0..times.ilog2()).rev() {
        result = product(result, result);
        if times >> bit & 1 == 1 {
            result = product(result, z);
        }
    }
    result
}
