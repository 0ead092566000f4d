//! Numbers as the sum of two doubles, for products of many factors.

/// `high + low`, with `low` at most half a unit in the last place of `high`: about 104 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Double {
    pub(crate) high: f64,
    low: f64,
}

impl Double {
    pub(crate) const ONE: Self = Self { high: 1.0, low: 0.0 };

    /// 1 - `p`, exactly, for `p` in 0 ..= 1.
    pub(crate) fn complement(p: f64) -> Self {
        // Knuth's sum of two numbers.
        let high = 1.0 - p;
        let rounded = high - 1.0;
        Self { high, low: (1.0 - (high - rounded)) + (-p - rounded) }
    }

    /// `a` times `b`, exactly except for underflow.
    pub(crate) fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        let top = Self::product(self.high, other.high);
        let low = top.low + (self.high * other.low + self.low * other.high);
        Self::normal(top.high, low)
    }

    pub(crate) fn over(self, other: Self) -> Self {
        let high = self.high / other.high;
        let rest = (-high).mul_add(other.high, self.high);
        let low = (rest + (self.low - high * other.low)) / other.high;
        Self::normal(high, low)
    }

    fn normal(high: f64, low: f64) -> Self {
        let sum = high + low;
        Self { high: sum, low: low - (sum - high) }
    }
}

/// A sum that loses no digit (Neumaier).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NeumaierSum {
    sum: f64,
    lost: f64,
}

impl NeumaierSum {
    pub(crate) fn add(&mut self, term: f64) {
        let next = self.sum + term;
        self.lost +=
            if self.sum >= term { (self.sum - next) + term } else { (term - next) + self.sum };
        self.sum = next;
    }

    pub(crate) fn value(self) -> f64 {
        self.sum + self.lost
    }
}
