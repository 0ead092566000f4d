//! The discrete Fourier transform, with an error bound that is a theorem.
//!
//! A library's transform is faster, but picks its algorithm by length and processor, and promises
//! no bound. This is the plain one of radix 2, of which Higham (*Accuracy and Stability of
//! Numerical Algorithms*, 2nd edition, Theorem 24.2) proves: if the roots of unity are off by at
//! most mu, the result of length n is off by at most t eta/(1 - t eta) of itself, both in the root
//! of the sum of squares, with t = log2 n, eta = mu + gamma_4 (sqrt 2 + mu) and gamma_4 = 4u/(1 -
//! 4u), u = 2^-53.

use std::f64::consts::PI;

use super::kinds::ROUNDING;

/// Of transforms of one length, a power of two.
#[derive(Clone, Debug)]
pub(crate) struct Fourier {
    /// cos and -sin of 2 pi k / n for k below n/2.
    roots: Vec<(f64, f64)>,
    levels: u32,
}

impl Fourier {
    /// For sequences of length 2^`levels`, `levels` from 2 to 30.
    pub(crate) fn new(levels: u32) -> Self {
        let half = 1usize << (levels - 1);
        Self { roots: (0..half).map(|k| root(k, half)).collect(), levels }
    }

    /// The length.
    pub(crate) fn len(&self) -> usize {
        2 * self.roots.len()
    }

    /// Higham's bound, relative in the root of the sum of squares.
    ///
    /// Roots: an angle of at most pi/4 is off by two roundings, 1.6 u; its sine and cosine by one
    /// unit in the last place each, 2u at most, together less than 3u. So mu < 5u and eta < 11u.
    pub(crate) fn error(&self) -> f64 {
        12.0 * ROUNDING * f64::from(self.levels)
    }

    /// Transforms real and imaginary parts in place: y_j = sum of x_k e^(-2 pi i jk/n). The inverse
    /// is the same with the two exchanged, divided by n.
    pub(crate) fn transform(&self, re: &mut [f64], im: &mut [f64]) {
        let n = self.len();
        for i in 0..n {
            let j = i.reverse_bits() >> (usize::BITS - self.levels);
            if i < j {
                re.swap(i, j);
                im.swap(i, j);
            }
        }
        let mut half = 1;
        while half < n {
            let stride = self.roots.len() / half;
            for (re, im) in re.chunks_exact_mut(2 * half).zip(im.chunks_exact_mut(2 * half)) {
                let (re_low, re_high) = re.split_at_mut(half);
                let (im_low, im_high) = im.split_at_mut(half);
                let low = re_low.iter_mut().zip(im_low);
                let high = re_high.iter_mut().zip(im_high);
                let roots = self.roots.iter().step_by(stride);
                for (((a, b), (c, d)), &(cos, sin)) in low.zip(high).zip(roots) {
                    let (x, y) = (*c * cos - *d * sin, *c * sin + *d * cos);
                    (*c, *d) = (*a - x, *b - y);
                    (*a, *b) = (*a + x, *b + y);
                }
            }
            half *= 2;
        }
    }
}

/// e^(-pi i k / half) for k below half, from the angle's distance to the nearest axis.
fn root(k: usize, half: usize) -> (f64, f64) {
    let angle = |k: usize| PI * (k as f64 / half as f64);
    let quarter = half / 2;
    if 4 * k <= half {
        let (sin, cos) = libm::sincos(angle(k));
        (cos, -sin)
    } else if 4 * k <= 3 * half {
        // Around the imaginary axis: cos = sin(pi/2 - angle).
        let from = k.abs_diff(quarter);
        let (sin, cos) = libm::sincos(angle(from));
        (if k <= quarter { sin } else { -sin }, -cos)
    } else {
        let (sin, cos) = libm::sincos(angle(half - k));
        (-cos, -sin)
    }
}

#[cfg(test)]
mod tests {
    use hushtable_testkit::Dice;

    use super::*;

    /// Sums the definition, with angles reduced in integers.
    fn plain(re: &[f64], im: &[f64]) -> Vec<(f64, f64)> {
        let n = re.len();
        let term = |j: usize, k: usize| {
            let (sin, cos) = (2.0 * PI * ((j * k % n) as f64 / n as f64)).sin_cos();
            (re[k] * cos + im[k] * sin, im[k] * cos - re[k] * sin)
        };
        (0..n)
            .map(|j| (0..n).map(|k| term(j, k)).fold((0.0, 0.0), |s, t| (s.0 + t.0, s.1 + t.1)))
            .collect()
    }

    #[test]
    fn the_transform_is_the_sum() {
        for levels in [2, 3, 6, 10] {
            let fourier = Fourier::new(levels);
            let n = fourier.len();
            let re: Vec<f64> = (0..n).map(|k| ((k * k + 3) % 17) as f64 / 17.0).collect();
            let im: Vec<f64> = (0..n).map(|k| ((5 * k + 1) % 13) as f64 / 13.0 - 0.5).collect();
            let want = plain(&re, &im);
            let (mut got_re, mut got_im) = (re.clone(), im.clone());
            fourier.transform(&mut got_re, &mut got_im);
            for (j, (a, b)) in want.iter().enumerate() {
                assert!((got_re[j] - a).abs() + (got_im[j] - b).abs() < 1e-12 * n as f64);
            }
            fourier.transform(&mut got_im, &mut got_re);
            for k in 0..n {
                let (a, b) = (got_re[k] / n as f64, got_im[k] / n as f64);
                assert!((a - re[k]).abs() < 1e-14 && (b - im[k]).abs() < 1e-14);
            }
        }
    }

    /// There and back, the error is below twice the bound; and it is not far below, so that the
    /// bound is about this transform.
    #[test]
    fn the_error_is_below_the_bound() {
        let fourier = Fourier::new(16);
        let n = fourier.len();
        let mut dice = Dice::new(1);
        let whole: Vec<f64> = (0..n).map(|_| dice.uniform()).collect();
        let (mut re, mut im) = (whole.clone(), vec![0.0; n]);
        fourier.transform(&mut re, &mut im);
        fourier.transform(&mut im, &mut re);
        let off = |(a, b): (&f64, &f64)| (a / n as f64 - b) * (a / n as f64 - b);
        let error: f64 = re.iter().zip(&whole).map(off).sum::<f64>()
            + im.iter().map(|a| a / n as f64 * (a / n as f64)).sum::<f64>();
        let size: f64 = whole.iter().map(|a| a * a).sum();
        let relative = (error / size).sqrt();
        assert!(relative < 2.0 * fourier.error(), "{relative}");
        assert!(relative > 1e-3 * fourier.error(), "{relative}");
    }

    #[test]
    fn roots_are_exact_on_the_axes() {
        let roots = Fourier::new(5).roots;
        assert_eq!(roots[0], (1.0, 0.0));
        assert_eq!(roots[8], (0.0, -1.0));
        for (k, &(cos, sin)) in roots.iter().enumerate() {
            let angle = PI * k as f64 / 16.0;
            assert!((cos - angle.cos()).abs() < 1e-15 && (sin + angle.sin()).abs() < 1e-15, "{k}");
        }
    }
}
