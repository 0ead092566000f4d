//! Reactions of readers, so that inputs that were taken alike can be told from others.

/// The way in which a reader took an input, without what the input says itself. Inputs with one
/// reaction were taken alike, as far as can be seen without counters in the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reaction(String);

/// Most characters of a text that count.
const MOST: usize = 100;

impl Reaction {
    /// The reaction in a text: the words of its first line before all quotes, and after them. A
    /// quoted text may hold quotes.
    pub(crate) fn of(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let quotes = ['`', '"'];
        let before = line.split(quotes).next().unwrap_or_default();
        let after = line.rsplit(quotes).next().filter(|_| line.contains(quotes));
        let words = before.chars().chain(after.unwrap_or_default().chars());
        Self(words.filter(|c| c.is_alphabetic() || *c == ' ').take(MOST).collect())
    }

    /// This reaction, and a further one to the same input.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.push('\n');
        self.0.push_str(&other.0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reactions_leave_out_what_inputs_say() {
        let one = Reaction::of("no column `town 1`, `a` in line 12\n  hint: `x`");
        assert_eq!(one, Reaction::of("no column `n`i` in line 3"));
        assert_ne!(one, Reaction::of("no table `n` in line 3"));
        assert_ne!(one, one.clone().and(Reaction::of("later")));
    }
}
