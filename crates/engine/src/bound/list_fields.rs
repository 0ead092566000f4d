//! Values of a few bits, side by side in words: as few bits as their ranges need.

/// Bits of a word.
const WORD: u32 = u64::BITS;

/// Where some bits are.
#[derive(Clone, Copy)]
struct BitField {
    word: usize,
    shift: u32,
    mask: u64,
}

impl BitField {
    fn of(self, words: &[u64]) -> u64 {
        (words[self.word] >> self.shift) & self.mask
    }
}

/// Where a value is that is kept one by one, and the bit that says whether there is one.
#[derive(Clone, Copy)]
pub(super) struct ListField {
    value: BitField,
    present: BitField,
    /// The range of values.
    low: i64,
    high: i64,
}

impl ListField {
    /// Puts a value into the words of a row without one, within the range.
    pub(super) fn set(&self, words: &mut [u64], value: i64) {
        let above = value.clamp(self.low, self.high).wrapping_sub(self.low).cast_unsigned();
        words[self.value.word] |= above << self.value.shift;
        words[self.present.word] |= 1 << self.present.shift;
    }

    /// The value of a row, if it has one.
    pub(super) fn of(&self, words: &[u64]) -> Option<i64> {
        let above = self.value.of(words).cast_signed();
        (self.present.of(words) == 1).then(|| above.wrapping_add(self.low))
    }
}

/// The fields of values in these ranges, and how many words they take; `whole` where values are to
/// stay as they are, beyond their ranges, too.
pub(super) fn list_fields(
    ranges: impl Iterator<Item = (i64, i64)>,
    whole: bool,
) -> (Vec<ListField>, usize) {
    let none = BitField { word: 0, shift: 0, mask: 0 };
    let field = |(low, high)| ListField { value: none, present: none, low, high };
    let ranges = ranges.map(|range| if whole { (i64::MIN, i64::MAX) } else { range });
    let mut fields: Vec<ListField> = ranges.map(field).collect();
    // The longest first, each into the first word with room for it.
    let mut free: Vec<u32> = Vec::new();
    let mut room = |bits: u32| {
        let word = free.iter().position(|&left| left >= bits).unwrap_or_else(|| {
            free.push(WORD);
            free.len() - 1
        });
        let mask = u64::MAX.checked_shr(WORD - bits).unwrap_or(0);
        // A value of no bits has no place of its own.
        let shift = if bits == 0 { 0 } else { WORD - free[word] };
        free[word] -= bits;
        BitField { word, shift, mask }
    };
    let bits = |field: &ListField| WORD - field.high.abs_diff(field.low).leading_zeros();
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by_key(|&field| std::cmp::Reverse(bits(&fields[field])));
    for field in order {
        fields[field].value = room(bits(&fields[field]));
    }
    fields.iter_mut().for_each(|field| field.present = room(1));
    (fields, free.len())
}

#[cfg(test)]
mod tests {
    use hushtable_testkit::Dice;

    use super::*;

    /// Values come out as they were, clamped, whatever stands beside them.
    #[test]
    fn values_of_a_few_bits_are_apart() {
        let mut dice = Dice::new(3);
        for turn in 0..2000 {
            let ends = |dice: &mut Dice| match dice.below(8) {
                0 => (i64::MIN, i64::MAX),
                1 => (-(1 << 62), 1 << 62),
                2 => (7, 7),
                _ => {
                    let low = dice.below(1 << 40) as i64 - (1 << 39);
                    (low, low + (dice.below(1 << 60) >> dice.below(60)) as i64)
                }
            };
            let ranges: Vec<(i64, i64)> = (0..dice.below(9)).map(|_| ends(&mut dice)).collect();
            let whole = turn % 3 == 0;
            let (fields, words) = list_fields(ranges.iter().copied(), whole);
            let mut row = vec![0; words];
            let values: Vec<Option<i64>> = ranges
                .iter()
                .map(|&(low, high)| match dice.below(6) {
                    0 => None,
                    1 => Some(i64::MIN),
                    2 => Some(i64::MAX),
                    3 => Some(low),
                    4 => Some(high),
                    _ => Some(low.midpoint(high)),
                })
                .collect();
            for (field, value) in fields.iter().zip(&values) {
                value.iter().for_each(|&value| field.set(&mut row, value));
            }
            for ((field, value), (low, high)) in fields.iter().zip(&values).zip(&ranges) {
                let want = value.map(|value| if whole { value } else { value.clamp(*low, *high) });
                assert_eq!(field.of(&row), want);
            }
        }
    }

    /// Query 1 of TPC-H: five values and their bits in two words.
    #[test]
    fn few_bits_take_few_words() {
        let highs = [5_000, 10_500_000, 1_050_000_000, 113_400_000_000, 10];
        assert_eq!(list_fields(highs.map(|high| (0, high)).into_iter(), false).1, 2);
        assert_eq!(list_fields(std::iter::empty(), false).1, 0);
        assert_eq!(list_fields(std::iter::once((5, 5)), false).1, 1);
    }
}
