//! Texts of a batch: whether they are UTF-8 is checked once for equal ones.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BinaryViewArray, UInt32Array};
use datafusion::arrow::compute::take;

/// Different texts of a batch that are found again. Others are checked in every row that has them.
const MOST: usize = 512;

/// Slots of the table that finds a text: at least half of them stay empty.
const SLOTS: usize = 2 * MOST;

/// No text.
const EMPTY: u32 = u32::MAX;

/// The texts, if all of them are UTF-8. A column with a dictionary has equal views for equal texts;
/// equal texts with different views count as different. A row with one more different text costs
/// one check more, however many there are.
pub(super) fn utf8_texts(bytes: &BinaryViewArray) -> Option<ArrayRef> {
    let random = RandomState::new();
    let (first, second) = (random.hash_one(0), random.hash_one(1));
    // A view is its length and a text of up to 12 bytes, or the place of a longer one.
    let slot_of = |view: u128| {
        let product = u128::from(view as u64 ^ first) * u128::from((view >> 64) as u64 ^ second);
        (product as u64 ^ (product >> 64) as u64) as usize % SLOTS
    };
    let mut slots = vec![EMPTY; SLOTS];
    // NULLs have the empty text.
    let mut different: Vec<u128> = vec![0];
    let mut index_of = |view: u128| {
        let mut slot = slot_of(view);
        loop {
            match slots[slot] {
                EMPTY => {
                    let index = different.len() as u32;
                    if different.len() < MOST {
                        slots[slot] = index;
                    }
                    different.push(view);
                    return index;
                }
                index if different[index as usize] == view => return index,
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    };
    let views = bytes.views().iter();
    let nulls = bytes.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
    let indices: Vec<u32> = match &nulls {
        None => views.map(|&view| index_of(view)).collect(),
        Some(nulls) => {
            let rows = views.zip(nulls.iter());
            rows.map(|(&view, valid)| if valid { index_of(view) } else { 0 }).collect()
        }
    };
    let indices = UInt32Array::new(indices.into(), nulls);
    let buffers: Arc<[_]> = bytes.data_buffers().into();
    let different = BinaryViewArray::try_new(different.into(), buffers, None).ok()?;
    take(&different.to_string_view().ok()?, &indices, None).ok()
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::buffer::NullBuffer;
    use datafusion::arrow::compute::concat;
    use hushtable_testkit::Dice;

    use super::*;

    /// Rows of `different` texts of all lengths, with NULLs, as if a dictionary had them.
    fn column(different: usize, rows: usize, dice: &mut Dice) -> BinaryViewArray {
        let texts = (0..different).map(|text| format!("{text:0width$}", width = text % 20));
        let dictionary: BinaryViewArray = texts.map(|text| Some(text.into_bytes())).collect();
        let rows = (0..rows).map(|row| match dice.below(9) {
            0 => None,
            _ if row < different => Some(row as u32),
            _ => Some(dice.below(different as u64) as u32),
        });
        let taken = take(&dictionary, &rows.collect::<UInt32Array>(), None).unwrap();
        taken.as_binary_view().clone()
    }

    #[test]
    fn texts_are_those_of_the_column() {
        let mut dice = Dice::new(5);
        for different in [1, 2, 7, 100, MOST - 2, MOST - 1, MOST, MOST + 1, 2_900] {
            let bytes = column(different, 3_000, &mut dice);
            for bytes in [bytes.clone(), bytes.slice(17, 900), bytes.slice(0, 0)] {
                let found = utf8_texts(&bytes).unwrap();
                assert_eq!(found.as_string_view(), &bytes.to_string_view().unwrap());
            }
        }
        let none: BinaryViewArray = [None::<&[u8]>; 3].into_iter().collect();
        assert_eq!(utf8_texts(&none).unwrap().null_count(), 3);
        // NULLs whose views lead nowhere, and texts of several buffers.
        let other = column(30, 100, &mut dice);
        let both = concat(&[&other, &column(40, 100, &mut dice)]).unwrap();
        let both = both.as_binary_view().clone();
        assert_eq!(utf8_texts(&both).unwrap().as_string_view(), &both.to_string_view().unwrap());
        let mut views = other.views().to_vec();
        let valid: Vec<bool> = (0..views.len()).map(|row| row % 3 > 0).collect();
        let nulls = NullBuffer::from(valid.clone());
        let kept = BinaryViewArray::new(views.clone().into(), other.data_buffers().to_vec(), None);
        views.iter_mut().zip(&valid).filter(|(_, valid)| !**valid).for_each(|(view, _)| *view = 5);
        let garbage =
            BinaryViewArray::new(views.into(), other.data_buffers().to_vec(), Some(nulls));
        let found = utf8_texts(&garbage).unwrap();
        for (row, valid) in valid.into_iter().enumerate() {
            let text = found.is_valid(row).then(|| found.as_string_view().value(row).as_bytes());
            assert_eq!(text, valid.then(|| kept.value(row)));
        }
    }

    #[test]
    fn other_bytes_are_left_alone() {
        let broken: BinaryViewArray =
            [Some(&b"ok"[..]), Some(&b"\xff"[..]), None].into_iter().collect();
        assert!(utf8_texts(&broken).is_none());
        let long = [b'a'; 40];
        let broken: BinaryViewArray =
            [Some(&long[..]), Some(&[&long[..], b"\xc3"].concat()[..])].into_iter().collect();
        assert!(utf8_texts(&broken).is_none());
    }
}
