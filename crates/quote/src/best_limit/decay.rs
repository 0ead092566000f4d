//! Reading a released histogram of sizes: how far its upper end is more than noise.

/// Sizes of units by octave, ascending, as released: the units of each, with noise.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Octaves {
    /// The sizes of each octave: above the first, at most the second.
    pub(super) ends: Vec<(f64, f64)>,
    /// The released numbers of units.
    pub(super) units: Vec<f64>,
    /// The standard deviation of their noise.
    pub(super) deviation: f64,
}

/// The noise that one of twenty octaves without units exceeds, in standard deviations of discrete
/// Laplace noise: ln(10)/sqrt(2).
const NEXT: f64 = 1.628;

/// The noise that one of five hundred octaves without units exceeds: an octave after a gap has to
/// hold more than that, as every octave too many doubles the noise of the answer.
const AFTER_GAP: f64 = 4.0;

/// The noise that hardly any octave without units exceeds: of fifty, one in four thousand
/// histograms has one.
const FAR: f64 = 8.5;

impl Octaves {
    /// The last octave with visibly some units; `None` where there is none.
    ///
    /// The search begins at the octave with the most units and goes up while octaves hold more than
    /// noise does one time in twenty, or after a gap of one octave seldom does. Octaves beyond a
    /// wider gap count where noise cannot explain them.
    pub(super) fn last(&self) -> Option<usize> {
        let exceeds = |octave: usize, times: f64| {
            self.units.get(octave).is_some_and(|units| *units > times * self.deviation)
        };
        let most = |best: usize, octave: usize| {
            if self.units.get(octave) > self.units.get(best) { octave } else { best }
        };
        let mode = (0..self.units.len()).reduce(most)?;
        if !exceeds(mode, FAR) {
            return None;
        }
        let mut last = mode;
        loop {
            let near = [(last + 2, AFTER_GAP), (last + 1, NEXT)];
            let next = near.into_iter().find(|&(octave, times)| exceeds(octave, times));
            let next = next.map(|(octave, _)| octave);
            let far = || (last + 1..self.units.len()).rev().find(|&octave| exceeds(octave, FAR));
            match next.or_else(far) {
                Some(octave) => last = octave,
                None => return Some(last),
            }
        }
    }

    /// Sizes with their numbers of units, up to the last visible octave: a few sizes stand for each
    /// octave.
    pub(super) fn sizes(&self, last: usize) -> Vec<(f64, f64)> {
        let octaves = self.ends.iter().zip(&self.units).take(last + 1);
        octaves.flat_map(|((low, high), units)| spread(*low, *high, units.max(0.0))).collect()
    }
}

/// The sizes that stand for an octave.
const SEGMENTS: i32 = 4;

/// The power with which larger sizes become fewer: that of many skewed tables.
const FALL: f64 = 1.5;

/// Units of an octave at the middles of its quarters, larger sizes being fewer.
fn spread(low: f64, high: f64, units: f64) -> impl Iterator<Item = (f64, f64)> {
    let middle = move |segment: i32| (f64::from(segment) + 0.5) / f64::from(SEGMENTS);
    let size =
        move |segment: i32| if low > 0.0 { low * (high / low).powf(middle(segment)) } else { high };
    let weight = move |segment: i32| 2f64.powf(-FALL * middle(segment));
    let all: f64 = (0..SEGMENTS).map(weight).sum();
    (0..SEGMENTS).map(move |segment| (size(segment), units * weight(segment) / all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octaves(units: &[f64]) -> Octaves {
        let ends = (0..units.len()).map(|i| (2f64.powi(i as i32), 2f64.powi(i as i32 + 1)));
        Octaves { ends: ends.collect(), units: units.to_vec(), deviation: 10.0 }
    }

    #[test]
    fn the_search_ends_where_noise_begins() {
        assert_eq!(octaves(&[0.0; 9]).last(), None);
        assert_eq!(octaves(&[3.0, 12.0, -20.0, 70.0, 11.0]).last(), None);
        assert_eq!(octaves(&[900.0, 400.0, 90.0, 17.0, 5.0, 15.0, 40.0]).last(), Some(3));
        // Over a gap of one octave, and over a wide one where noise cannot explain it.
        assert_eq!(octaves(&[900.0, 400.0, 3.0, 17.0, 5.0, 1.0, 16.0]).last(), Some(1));
        assert_eq!(octaves(&[900.0, 400.0, 3.0, 41.0, 5.0, 1.0, 16.0]).last(), Some(3));
        assert_eq!(octaves(&[900.0, 0.0, 3.0, 7.0, 5.0, 86.0, 17.0, 16.0, 0.0]).last(), Some(6));
    }

    #[test]
    fn an_octave_keeps_its_units_and_its_ends() {
        let sizes = octaves(&[100.0, -4.0, 50.0]).sizes(2);
        let units = |from: f64, to: f64| -> f64 {
            sizes.iter().filter(|(size, _)| *size > from && *size < to).map(|(_, n)| n).sum()
        };
        assert!((units(1.0, 2.0) - 100.0).abs() < 1e-9);
        assert!(units(2.0, 4.0) == 0.0 && (units(4.0, 8.0) - 50.0).abs() < 1e-9);
        assert!(sizes.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
