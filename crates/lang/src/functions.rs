//! Scalar functions: one table with the names, signature, cost and range of each.
//!
//! The table is in `entries`; here is what its entries are made of. Beside it, the engine has a
//! kernel for each function, and there is nothing else to add.

mod entries;
mod foreign_names;

use std::collections::BTreeSet;

pub use self::entries::Function;
use self::entries::{FORMS, WRITTEN};
pub(crate) use self::foreign_names::hint_for;
use crate::number_range::Range;
use crate::types::ColumnType;

/// A new text: it is copied, at 16 bytes an operation, into a buffer of its own.
pub(crate) const NEW_TEXT: u64 = 30;
/// Bytes that are compared or copied by one operation.
pub(crate) const AT_ONCE: u64 = 16;
/// A value that is taken from one of two columns, as a condition says: a row can end a run of
/// values from one and begin a run from the other.
pub(crate) const CHOSEN: u64 = 40;
/// A byte of text that is hashed.
pub(crate) const HASHED: u64 = 2;
/// A character to upper or lower case, for each of its bytes.
const CASED: u64 = 8;
/// A character whose case depends on where it stands in a word, for each of its bytes.
const WORDED: u64 = 16;
/// A byte of text that is searched for another.
const SEARCHED: u64 = 2;
/// A byte of JSON, which is checked, and copied where it is of a key or value that is sought.
const JSON_READ: u64 = 8;
/// A byte of text that is searched for every occurrence of another: each byte can be one.
const FOUND: u64 = 6;

/// A form of SQL that calls a function: its names and its signature.
pub(crate) struct Form {
    /// The names, our own first.
    pub(crate) names: &'static [&'static str],
    /// A call that works, perhaps with words that say what it `is`.
    pub(crate) example: &'static str,
    /// The signature; `None` for a form that the binder has code for.
    pub(crate) signature: Option<Signature>,
}

/// The arguments of a function, and the type of its results.
pub(crate) struct Signature {
    takes: &'static [Takes],
    /// How many of the last arguments may be left out.
    optional: usize,
    /// Whether there may be more arguments like the last.
    repeated: bool,
    /// Type of the results; `None` for that of the first operand.
    pub(crate) gives: Option<ColumnType>,
    /// The function with what is constant in it.
    pub(crate) function: fn(Constants<'_>) -> Option<Function>,
}

/// An argument of a function.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// A value; all such arguments have one type.
    Value,
    /// A number.
    Number,
    /// A number, as a float.
    Float,
    /// A whole number.
    Whole,
    /// A text.
    Text,
    /// A constant text.
    ConstantText,
    /// A constant text that is not empty; a space where it is left out.
    Filling,
    /// A constant whole number that fits, and what errors call it. It is no operand.
    Constant(fn(i64) -> bool, &'static str),
}

/// A whole number from zero up, in 32 bits.
const COUNT: Takes = Takes::Constant(|n| u32::try_from(n).is_ok(), "whole number of at least 0");

/// The constants of a call, in their order; those that are left out are none.
#[derive(Clone, Copy)]
pub(crate) struct Constants<'a>(pub(crate) &'a [i64]);

impl Constants<'_> {
    fn get<T: TryFrom<i64>>(self, index: usize) -> Option<T> {
        T::try_from(*self.0.get(index)?).ok()
    }
}

impl Form {
    const fn new(
        names: &'static [&'static str],
        example: &'static str,
        takes: &'static [Takes],
        gives: Option<ColumnType>,
        function: fn(Constants<'_>) -> Option<Function>,
    ) -> Self {
        let signature = Signature { takes, optional: 0, repeated: false, gives, function };
        Self { names, example, signature: Some(signature) }
    }

    /// A form that the binder has code for.
    const fn written(names: &'static [&'static str], example: &'static str) -> Self {
        Self { names, example, signature: None }
    }

    /// The call of the example, without what it is.
    fn example_call(&self) -> &'static str {
        self.example.split_once(" is ").map_or(self.example, |(call, _)| call)
    }

    /// The form with so many last arguments that may be left out.
    const fn optional(mut self, arguments: usize) -> Self {
        if let Some(signature) = &mut self.signature {
            signature.optional = arguments;
        }
        self
    }

    /// The form with any number of arguments like the last.
    const fn repeated(mut self) -> Self {
        if let Some(signature) = &mut self.signature {
            signature.repeated = true;
        }
        self
    }
}

impl Signature {
    /// The kinds of that many arguments, and of those that are left out; `None` where the function
    /// does not take so many.
    pub(crate) fn for_arguments(&self, count: usize) -> Option<Vec<Takes>> {
        let most = if self.repeated { usize::MAX } else { self.takes.len() };
        if count > most || count + self.optional < self.takes.len() {
            return None;
        }
        let more = count.saturating_sub(self.takes.len());
        Some(
            self.takes
                .iter()
                .chain(self.takes.last().into_iter().cycle().take(more))
                .copied()
                .collect(),
        )
    }
}

/// The forms of SQL with that name.
pub(crate) fn forms(name: &str) -> impl Iterator<Item = &'static Form> {
    FORMS.iter().chain(WRITTEN).filter(move |form| form.names.contains(&name))
}

/// The first names of all scalar functions that a query may call, in the table's order.
pub(crate) fn scalar_names() -> impl Iterator<Item = &'static str> {
    let mut listed = BTreeSet::new();
    all_names()
        .filter(move |(name, is_primary)| *is_primary && listed.insert(*name))
        .map(|(name, _)| name)
}

/// Names of scalar functions, and whether each is the first of its function.
pub(crate) fn all_names() -> impl Iterator<Item = (&'static str, bool)> {
    let names = |form: &'static Form| form.names.iter().enumerate();
    FORMS.iter().chain(WRITTEN).flat_map(names).map(|(index, name)| (*name, index == 0))
}

/// The texts that a function is called with, by their most bytes.
pub(crate) struct Texts<'a> {
    /// The most bytes of each operand; none of those that are no texts.
    pub(crate) bytes: &'a [usize],
    /// The most bytes of the result, for the cost.
    pub(crate) result: usize,
    /// The second operand, where it is a constant text.
    pub(crate) constant: Option<&'a str>,
}

impl Texts<'_> {
    fn operands(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn first(&self) -> usize {
        self.bytes.first().copied().unwrap_or(0)
    }

    fn longest(&self) -> u64 {
        self.bytes.iter().max().map_or(0, |most| *most as u64)
    }

    fn shortest(&self) -> u64 {
        self.bytes.iter().min().map_or(0, |least| *least as u64)
    }

    fn all(&self) -> u64 {
        self.bytes.iter().map(|bytes| *bytes as u64).sum()
    }

    /// The cost of a byte, where each character is looked up among those of an operand.
    fn looked_up(&self, among: usize) -> u64 {
        let bytes = self.bytes.get(among).copied().unwrap_or(0);
        4 + 2 * u64::from((bytes + 1).ilog2())
    }

    /// The cost of writing the result.
    fn new_text(&self) -> u64 {
        NEW_TEXT + self.result as u64 / AT_ONCE
    }
}

/// The operands of a function, for the range of its results.
pub(crate) struct Operands<'a> {
    /// Their types.
    pub(crate) types: Vec<ColumnType>,
    /// The range of an operand.
    pub(crate) range: &'a dyn Fn(usize) -> Option<Range>,
    /// The most characters of an operand that is a text.
    pub(crate) characters: &'a dyn Fn(usize) -> Option<u64>,
    /// Whether they are computed from released values.
    pub(crate) released: bool,
}

impl Operands<'_> {
    fn first(&self) -> Option<Range> {
        (self.range)(0)
    }

    fn ranges(&self) -> impl Iterator<Item = Option<Range>> {
        (0..self.types.len()).map(|index| (self.range)(index))
    }

    /// One in digits of the first operand's type.
    fn one(&self) -> i128 {
        match self.types.first() {
            Some(ColumnType::Decimal { scale }) => 10i128.pow((*scale).into()),
            _ => 1,
        }
    }

    /// NULL of what is always NULL; nothing else is known.
    fn unknown(&self) -> Option<Range> {
        self.first().filter(|range| *range == Range::Nothing)
    }

    /// Numbers of characters of the first operand.
    fn up_to_length(&self) -> Option<Range> {
        Some(Range::Exact(0, (self.characters)(0)?.into()))
    }
}

/// Where a function is NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Nulls {
    /// Perhaps for any operands.
    Possible,
    /// Where an operand is.
    WhereOneIs,
    /// Where all operands are.
    WhereAllAre,
}

/// Most bytes of that many characters.
fn bytes_of(characters: u32) -> usize {
    usize::try_from(characters).unwrap_or(usize::MAX).saturating_mul(4)
}

/// The fewer characters, where one of both is known.
fn at_most(length: Option<u32>, characters: Option<u64>) -> Option<u64> {
    match (length.map(u64::from), characters) {
        (Some(length), Some(characters)) => Some(length.min(characters)),
        (length, characters) => length.or(characters),
    }
}

/// The most characters of the longest text.
fn longest(all: &[Option<u64>]) -> Option<u64> {
    all.iter().try_fold(0, |most: u64, next| Some(most.max((*next)?)))
}

/// Calls that work of all functions in the table: `x` may be of any type, `y` is a float, `n` a
/// whole number, `day` a date and `moment` a timestamp.
pub fn function_examples() -> impl Iterator<Item = &'static str> {
    FORMS.iter().chain(WRITTEN).map(Form::example_call)
}

#[cfg(test)]
mod tests;
