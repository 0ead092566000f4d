//! Stairs above the exponential-polylogarithmic curve: cells that grow with the distance from zero.
//!
//! The curve is f(k) = e^(-d (ln^2 y - ln^2 a)) for y = k/s + a. Cell j holds the integers k with a
//! r^j <= y < a r^(j+1), where r = 1 + 2^-b: so ln y grows by the same Delta = ln r from cell to
//! cell, the heights h_j = f at the lower end of cell j fall like those of a Gaussian curve, and
//! few cells reach far out. With n_j integers in cell j, the shares are n_j h_(j+1), where a point
//! is under the curve wherever it is, and n_j (h_j - h_(j+1)), where it is under the curve with
//! probability (f(k) - h_(j+1)) / (h_j - h_(j+1)).

use hushtable_numbers::{Bracket, Enclosure};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use crate::generator::Words;
use crate::shares::Shares;
use crate::{Dyadic, EntropyError, enclosure};

/// A draw beyond the table comes about once in 2^80 times, and uses edges of more bits.
const TABLE: u32 = 80;

/// Bits after the point of the positions of cells.
const FINE: u32 = 24;

/// An exact number n / 2^s.
#[derive(Debug, Clone)]
struct BinaryFraction {
    n: BigUint,
    s: u32,
}

impl From<Dyadic> for BinaryFraction {
    fn from(number: Dyadic) -> Self {
        let (n, s) = number.over_power();
        Self { n: BigUint::from(n), s }
    }
}

/// The curve, and how its cells grow.
#[derive(Debug, Clone)]
pub(crate) struct CellCurve {
    /// d.
    shape: BinaryFraction,
    /// a.
    offset: BinaryFraction,
    /// s.
    scale: BinaryFraction,
    /// b: the cells grow by 1 + 2^-b.
    growth: u32,
}

/// An entry of the list of cells.
struct CurveCell {
    /// Its least integer, that of the next cell if it has none.
    start: BigUint,
    /// Where it begins among the reals, s a (r^j - 1), in units of 2^-FINE and rounded down.
    position: BigUint,
    /// h_(j+1) / h_j.
    ratio: Bracket,
}

/// The cells as far as they hold all but a share of the whole.
pub(crate) struct CellList {
    /// The cells, and the next one.
    cells: Vec<CurveCell>,
    /// The sums that the edges between the shares are; the last one is that of all shares listed.
    pub(crate) edges: Vec<Bracket>,
    /// The sum of all shares.
    pub(crate) total: Bracket,
}

impl CellCurve {
    /// The curve with these d, a and s.
    pub(crate) fn new(shape: Dyadic, offset: Dyadic, scale: Dyadic) -> Self {
        // f falls by about e^(-2 d ln a Delta) within the first cells, by 1 part in 64 for a = e:
        // so about one in some thousand draws is compared with an enclosure.
        let steep = shape.to_f64().log2().ceil().max(0.0) as u32;
        Self { shape: shape.into(), offset: offset.into(), scale: scale.into(), growth: 7 + steep }
    }

    /// Makes the table with cells that grow by 1 + 2^-growth.
    #[cfg(test)]
    pub(crate) fn growing(self, growth: u32) -> Self {
        Self { growth, ..self }
    }

    /// ln a, Delta, and d.
    fn constants(&self, bits: u32) -> (Bracket, Bracket, Bracket) {
        let one = BigUint::one();
        let ln_a = Bracket::ln(&self.offset.n, &(&one << self.offset.s), bits);
        let power = &one << self.growth;
        let delta = Bracket::ln(&(&power + 1u32), &power, bits);
        let d = Bracket::ratio(&self.shape.n, &(&one << self.shape.s), bits);
        (ln_a, delta, d)
    }

    /// All cells but those that hold less than 2^-bits of the whole.
    pub(crate) fn list(&self, bits: u32) -> CellList {
        let inner = 2 * bits + 96;
        let one = BigUint::one() << inner;
        let (ln_a, delta, d) = self.constants(inner);
        // h_(j+1) / h_j = e^(-d Delta (2 ln a + (2j + 1) Delta)).
        let first = ln_a.plus(&ln_a).plus(&delta).times(&delta).times(&d);
        let mut ratio = first.exp_of_minus();
        let fall = delta.plus(&delta).times(&delta).times(&d).exp_of_minus();
        let mut height = Bracket::whole(1, inner);
        let mut sum = Bracket::whole(0, inner);
        let (mut cells, mut edges) = (Vec::new(), Vec::new());
        let mut walk = CellWalk::new(self);
        let (mut start, mut position) = walk.begin();
        loop {
            walk.step();
            let (end, end_position) = walk.begin();
            let count = &end - &start;
            let next = height.times(&ratio);
            edges.push(sum.clone());
            edges.push(sum.plus(&next.scaled(&count)));
            sum = sum.plus(&height.scaled(&count));
            cells.push(CurveCell { start, position, ratio: ratio.clone() });
            (start, position) = (end, end_position);
            ratio = ratio.times(&fall);
            height = next;
            // The cells that follow have at most w, w r, w r^2, .. integers, for the w of the next
            // one, and the ratios of heights do not grow.
            let grown = walk.times_ratio(&ratio.high);
            if grown < one {
                let rest = ((walk.width() * &height.high) << inner) / (&one - grown) + 1u32;
                if rest <= &sum.low >> bits {
                    edges.push(sum.clone());
                    let mut total = sum;
                    total.high += rest;
                    cells.push(CurveCell { start, position, ratio });
                    return CellList { cells, edges, total };
                }
            }
        }
    }

    /// The share of all U between `known` and `known + 1` in units of 2^-bits, if it is one.
    pub(crate) fn locate(&self, known: &BigUint, bits: u32) -> Option<u64> {
        let CellList { edges, total, .. } = self.list(bits);
        let low = (known * &total.low) >> bits;
        let high = ((known + 1u32) * &total.high) >> bits;
        let above = edges.partition_point(|edge| edge.high <= low);
        let share = above.checked_sub(1)?;
        // Strictly: `high` was rounded down.
        let decided = high < edges.get(above)?.low;
        decided.then_some(share as u64)
    }

    /// The least integer of a cell, saturating.
    fn start(&self, cell: u64) -> u128 {
        CellWalk::at(self, cell).begin().0.to_u128().unwrap_or(u128::MAX)
    }
}

/// Where the cells begin, one after the other.
struct CellWalk<'a> {
    curve: &'a CellCurve,
    /// s a, without its power of two.
    unit: BigUint,
    /// r^j 2^(bj).
    power: BigUint,
    /// b j.
    shift: u64,
}

impl<'a> CellWalk<'a> {
    fn new(curve: &'a CellCurve) -> Self {
        let unit = &curve.scale.n * &curve.offset.n;
        Self { curve, unit, power: BigUint::one(), shift: 0 }
    }

    fn at(curve: &'a CellCurve, cell: u64) -> Self {
        let mut walk = Self::new(curve);
        let base = (BigUint::one() << curve.growth) + 1u32;
        walk.power = base.pow(u32::try_from(cell).unwrap_or(u32::MAX));
        walk.shift = u64::from(curve.growth) * cell;
        walk
    }

    fn step(&mut self) {
        self.power = (&self.power << self.curve.growth) + &self.power;
        self.shift += u64::from(self.curve.growth);
    }

    /// Bits after the point of s a r^j.
    fn point(&self) -> u64 {
        u64::from(self.curve.scale.s) + u64::from(self.curve.offset.s) + self.shift
    }

    /// ceil(s a (r^j - 1)), the least integer of the cell, and floor(s a (r^j - 1) 2^FINE).
    fn begin(&self) -> (BigUint, BigUint) {
        let start = &self.unit * (&self.power - (BigUint::one() << self.shift));
        let floor = &start >> self.point();
        let exact = (&floor << self.point()) == start;
        (if exact { floor } else { floor + 1u32 }, (start << FINE) >> self.point())
    }

    /// No fewer than the cell's integers: s a r^j (r - 1) + 1, rounded up.
    fn width(&self) -> BigUint {
        ((&self.unit * &self.power) >> (self.point() + u64::from(self.curve.growth))) + 2u32
    }

    /// r times a number, rounded up.
    fn times_ratio(&self, number: &BigUint) -> BigUint {
        number + (number >> self.curve.growth) + 1u32
    }
}

/// The cells, with a table of their shares.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pub(crate) curve: CellCurve,
    pub(crate) shares: Shares,
    /// The least integers of the cells listed and of the next one.
    starts: Vec<u128>,
    squeezes: Vec<Squeeze>,
}

/// Bounds of the curve within a cell. It is convex there: below its chord, and above the chord of
/// the next cell, prolonged.
#[derive(Debug, Clone, Copy)]
struct Squeeze {
    /// Where the cell ends, in units of 2^-FINE and rounded down.
    end: u128,
    /// Its width, in the same units, rounded down.
    width: u128,
    /// The slope of the next cell's chord over that of the cell's own, in units of 2^-32, rounded
    /// down.
    slope: u64,
}

impl Cells {
    pub(crate) fn new(curve: CellCurve) -> Self {
        let CellList { cells, edges, total } = curve.list(TABLE);
        let mut slack = 1;
        let mut bounds = Vec::with_capacity(edges.len());
        for edge in &edges {
            let low = ((&edge.low << 64u32) / &total.high).to_u64().unwrap_or(u64::MAX);
            let high = ((&edge.high << 64u32) / &total.low).to_u128().unwrap_or(u128::MAX);
            slack = slack.max(high + 1 - u128::from(low));
            bounds.push(low);
        }
        let slack = u64::try_from(slack).unwrap_or(u64::MAX);
        let saturated = |number: &BigUint| number.to_u128().unwrap_or(u128::MAX);
        let starts = cells.iter().map(|cell| saturated(&cell.start)).collect();
        let one = Bracket::whole(1, 2 * TABLE + 96);
        let squeezes = cells.windows(2).filter_map(|pair| {
            let [cell, next] = pair else { return None };
            // (h_(j+1) - h_(j+2)) / (r (h_j - h_(j+1))), over h_j.
            let fall = cell.ratio.times(&one.minus(&next.ratio)).low << (32 + curve.growth);
            let cell_fall = one.minus(&cell.ratio).high * ((BigUint::one() << curve.growth) + 1u32);
            let slope = if cell_fall.is_zero() { BigUint::zero() } else { fall / cell_fall };
            Some(Squeeze {
                end: saturated(&next.position),
                width: (saturated(&next.position) - saturated(&cell.position)).saturating_sub(1),
                slope: slope.to_u64().unwrap_or(0),
            })
        });
        let squeezes = squeezes.collect();
        Self { shares: Shares { edges: bounds, slack }, starts, squeezes, curve }
    }

    /// The first integer of a cell and how many there are; `None` for cells beyond 2^126.
    pub(crate) fn span(&self, cell: u64) -> Option<(u128, u128)> {
        let listed = |cell: u64| self.starts.get(usize::try_from(cell).ok()?).copied();
        let start = |cell: u64| listed(cell).unwrap_or_else(|| self.curve.start(cell));
        let (start, end) = (start(cell), start(cell + 1));
        (end <= 1 << 126).then_some((start, end - start))
    }

    /// True with probability (f(k) - h_(j+1)) / (h_j - h_(j+1)), for a k of cell j.
    #[cold]
    pub(crate) fn under<W: Words>(
        &self,
        words: &mut W,
        cell: u64,
        k: u128,
    ) -> Result<bool, EntropyError> {
        let (low, high) = self.squeeze(cell, k);
        let spare = 64 - W::BITS;
        let event = Under { curve: &self.curve, cell, k };
        enclosure::enclosed(words, (low >> spare, high >> spare), &event)
    }
}

impl Cells {
    /// Bounds of that probability in units of 2^-64, the upper one less one.
    pub(crate) fn squeeze(&self, cell: u64, k: u128) -> (u64, u64) {
        let squeeze = usize::try_from(cell).ok().and_then(|cell| self.squeezes.get(cell));
        squeeze.map_or((0, u64::MAX), |squeeze| squeeze.bounds(k))
    }

    /// The probability to 64 bits.
    #[cfg(test)]
    pub(crate) fn enclose_under(&self, cell: u64, k: u128) -> (BigUint, BigUint) {
        Under { curve: &self.curve, cell, k }.enclose(64)
    }
}

impl Squeeze {
    /// Bounds of the probability in units of 2^-64, the upper one less one.
    fn bounds(&self, k: u128) -> (u64, u64) {
        if k >= 1 << (126 - FINE) || self.end == u128::MAX || self.width == 0 {
            return (0, u64::MAX);
        }
        // The rest of the cell, between `left` and `left + 1`, over its width, between `width` and
        // `width + 2`: by numbers of at most 62 bits.
        let left = self.end.saturating_sub(k << FINE);
        let shift = (self.width.ilog2() + 2).saturating_sub(62);
        let (left_low, left_high) = (left >> shift, (left >> shift) + 2);
        let (width_low, width_high) = (self.width >> shift, (self.width >> shift) + 3);
        let high = ((left_high << 64) / width_low.max(1)).min(u128::from(u64::MAX));
        let low = ((left_low << 64) / width_high).min(u128::from(u64::MAX));
        (((low * u128::from(self.slope)) >> 32) as u64, high as u64)
    }
}

/// Event that a point in the upper share of a cell is under the curve.
struct Under<'a> {
    curve: &'a CellCurve,
    cell: u64,
    k: u128,
}

impl Enclosure for Under<'_> {
    fn enclose(&self, bits: u32) -> (BigUint, BigUint) {
        let inner = bits + 96;
        let CellCurve { scale, offset, .. } = self.curve;
        let (ln_a, delta, d) = self.curve.constants(inner);
        let foot = ln_a.plus(&delta.scaled(&BigUint::from(self.cell)));
        // y = k/s + a, over s_n 2^(a_s).
        let numerator = (BigUint::from(self.k) << (scale.s + offset.s)) + &offset.n * &scale.n;
        let y = Bracket::ln(&numerator, &(&scale.n << offset.s), inner);
        // f(k) / h_j and h_(j+1) / h_j.
        let height = y.minus(&foot).times(&y.plus(&foot)).times(&d).exp_of_minus();
        let next = foot.plus(&foot).plus(&delta).times(&delta).times(&d).exp_of_minus();
        let one = Bracket::whole(1, inner);
        match height.minus(&next).divided_by(&one.minus(&next)) {
            Some(share) => {
                let share = share.rescaled(bits);
                (share.low, share.high)
            }
            None => (BigUint::zero(), BigUint::one() << bits),
        }
    }
}
