//! Values that look random and are the same in every run.

/// A linear congruential generator: random enough for the values of tests.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Every seed has a sequence of its own.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// A number from 0 to `end` - 1.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 33) % end
    }

    /// One of some texts.
    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// A number above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / 2f64.powi(52)
    }

    /// Puts values into another order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for index in (1..values.len()).rev() {
            values.swap(index, self.below(index as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spread_and_the_same_again() {
        let faces = |seed: u64| -> Vec<u64> {
            let mut dice = Dice::new(seed);
            (0..6_000).map(|_| dice.below(6)).collect()
        };
        assert_eq!(faces(1), faces(1));
        assert_ne!(faces(1), faces(2));
        for face in 0..6 {
            let seen = faces(1).into_iter().filter(|thrown| *thrown == face).count();
            assert!((800..1_200).contains(&seen), "{face}: {seen}");
        }
        let mut dice = Dice::new(3);
        let mean = (0..10_000).map(|_| dice.uniform()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        let mut order: Vec<u64> = (0..100).collect();
        dice.shuffle(&mut order);
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
