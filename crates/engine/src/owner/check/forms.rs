//! The forms of values: where they have digits, letters and signs, but not which.

use std::collections::HashMap;

use serde::Serialize;

/// Most different forms that are counted. Those that come after them are counted together.
const MOST: usize = 1000;

/// Most forms that are reported.
const MOST_REPORTED: usize = 10;

/// The most frequent forms of some values. About the exact data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forms {
    /// The most frequent ones first.
    pub most_frequent: Vec<FormCount>,
    /// How many values have other forms.
    pub others: u64,
}

/// A form, and how many values have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FormCount {
    /// Digits as 9, letters as a or A, other signs as they are: `99.99.9999`.
    pub form: String,
    /// How many values have it.
    pub values: u64,
}

/// Counts forms, in bounded memory.
#[derive(Default)]
pub(super) struct FormCounter {
    counts: HashMap<String, u64>,
    others: u64,
}

impl FormCounter {
    pub(super) fn add(&mut self, form: String) {
        if let Some(count) = self.counts.get_mut(&form) {
            *count += 1;
        } else if self.counts.len() < MOST {
            self.counts.insert(form, 1);
        } else {
            self.others += 1;
        }
    }

    pub(super) fn finish(self) -> Forms {
        let mut all: Vec<FormCount> =
            self.counts.into_iter().map(|(form, values)| FormCount { form, values }).collect();
        all.sort_by(|a, b| b.values.cmp(&a.values).then_with(|| a.form.cmp(&b.form)));
        let rest: u64 = all.iter().skip(MOST_REPORTED).map(|count| count.values).sum();
        all.truncate(MOST_REPORTED);
        Forms { most_frequent: all, others: self.others + rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_forms_are_shown_and_all_are_counted() {
        let mut counter = FormCounter::default();
        for n in 0..5000u32 {
            // A form of its own for each length, and one that is frequent.
            counter.add("a".repeat(n as usize));
            counter.add("9".to_owned());
        }
        let forms = counter.finish();
        assert_eq!(forms.most_frequent.len(), MOST_REPORTED);
        assert_eq!(forms.most_frequent[0], FormCount { form: "9".to_owned(), values: 5000 });
        let visible: u64 = forms.most_frequent.iter().map(|count| count.values).sum();
        assert_eq!(visible + forms.others, 10_000);
    }
}
