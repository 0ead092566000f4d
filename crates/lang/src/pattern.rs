//! Regular expressions whose cost is known from the pattern alone.
//!
//! A pattern becomes two tables: one is followed from left to right and finds where the first match
//! ends, the other from right to left and finds where it begins. A byte takes one look at a table,
//! whatever the text. The tables are complete before a query is accepted; patterns whose tables
//! would be large are refused. Where a group is wanted, the match is read twice more
//! ([`group_finder`]).
//!
//! Words, digits and white space are those of ASCII, and so are the boundaries of words, as in
//! GoogleSQL.

mod ascii;
mod group_finder;
mod prepared;
mod state_table;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Anchored, MatchKind};
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Hir, Look};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::group_finder::GroupFinder;
pub use self::prepared::PreparedPatterns;
use self::prepared::{PER_AUTOMATON, PER_BYTE, PER_CLASS, PER_STATE, StepsLeft};
use self::state_table::StateTable;
use crate::error::Refusal;

/// Deepest nesting of a pattern.
const MAX_NESTING: u32 = 40;
/// Most bytes of the automaton that tables are built from.
const MAX_AUTOMATON: usize = 200_000;
/// Most groups of a pattern.
const MAX_GROUPS: usize = 9;

/// Assertions of ASCII that hold between the bytes of one character. A search would begin anew
/// after each, and take quadratic time.
const WITHIN_CHARACTERS: [Look; 3] =
    [Look::WordAsciiNegate, Look::WordStartHalfAscii, Look::WordEndHalfAscii];

/// A pattern that is ready for searches.
#[derive(Clone)]
pub struct Pattern(Arc<CompiledPattern>);

struct CompiledPattern {
    text: String,
    forward: StateTable,
    backward: StateTable,
    groups: usize,
    hir: Hir,
    /// Finds groups; set when they are first needed, `None` if its tables would be large.
    finder: OnceLock<Option<GroupFinder>>,
}

/// Scratch room for finding groups.
#[derive(Default)]
pub struct GroupCache(Vec<u16>);

/// Why a pattern cannot be used.
enum Odd {
    Syntax(String),
    Large,
    /// With the statement's other patterns.
    Many,
}

impl Odd {
    fn refusal(self, text: &str) -> Refusal {
        match self {
            Self::Syntax(why) => Refusal::new(
                format!("`{text}` is not a regular expression: {why}"),
                "for example r'^[A-Z]{2}[0-9]+$'; look-around and back references are \
                 not supported",
            ),
            Self::Large => Refusal::new(
                format!("the regular expression `{text}` is too large to be bounded in time"),
                "use smaller counts in {…}, or [a-z] in place of \\p{L}; or LIKE",
            ),
            Self::Many => Refusal::new(
                format!(
                    "the statement's regular expressions take more than {} steps to prepare, with \
                     this one: `{}`",
                    prepared::MAX_STEPS,
                    ShortenedText(text)
                ),
                "use fewer of them, smaller counts in {…}, or LIKE; or several statements",
            ),
        }
    }
}

/// The beginning of a text.
struct ShortenedText<'a>(&'a str);

impl fmt::Display for ShortenedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 60;
        match self.0.char_indices().nth(MOST) {
            None => f.write_str(self.0),
            Some((end, _)) => write!(f, "{}…", self.0.get(..end).unwrap_or_default()),
        }
    }
}

impl Pattern {
    /// Makes a pattern ready.
    ///
    /// # Errors
    /// When it is no regular expression, its tables would be large, or it takes too much with the
    /// statement's others.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let prepared = PreparedPatterns::current();
        if let Some(known) = prepared.known(text) {
            return Ok(known);
        }
        let mut work = prepared.work();
        let compiled = Self::compiled(text, &mut work);
        prepared.spend(&work);
        let pattern = Self(Arc::new(compiled.map_err(|odd| odd.refusal(text))?));
        prepared.keep(&pattern);
        Ok(pattern)
    }

    fn compiled(text: &str, work: &mut StepsLeft) -> Result<CompiledPattern, Odd> {
        work.take(PER_BYTE * text.len() as u64)?;
        let mut parser = ParserBuilder::new().nest_limit(MAX_NESTING).build();
        let mut syntax = parser.parse(text).map_err(|e| Odd::Syntax(e.kind().to_string()))?;
        // A class of Unicode is a list of hundreds of ranges, wherever it is written.
        work.take(PER_CLASS * ascii::only(&mut syntax))?;
        let mut translator = TranslatorBuilder::new().utf8(true).unicode(true).build();
        let hir = translator.translate(text, &syntax);
        let hir = hir.map_err(|e| Odd::Syntax(e.kind().to_string()))?;
        let looks = hir.properties().look_set();
        if WITHIN_CHARACTERS.iter().any(|&look| looks.contains(look)) {
            return Err(Odd::Syntax(
                "\\B, \\b{start-half} and \\b{end-half} are not supported".to_owned(),
            ));
        }
        let groups = hir.properties().explicit_captures_len();
        if groups > MAX_GROUPS {
            return Err(Odd::Syntax(format!(
                "it has {groups} groups; at most {MAX_GROUPS} are allowed"
            )));
        }
        let forward = automaton(&hir, false, false, work)?;
        let forward = StateTable::new(forward, MatchKind::LeftmostFirst, Anchored::No, work)?;
        let backward = automaton(&hir, true, false, work)?;
        let backward = StateTable::new(backward, MatchKind::All, Anchored::Yes, work)?;
        let finder = OnceLock::new();
        Ok(CompiledPattern { text: text.to_owned(), forward, backward, groups, hir, finder })
    }

    /// How it is written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// How many groups it has.
    pub fn groups(&self) -> usize {
        self.0.groups
    }

    /// Whether its groups can be found by small tables.
    pub fn finds_groups(&self) -> bool {
        self.finder().is_some()
    }

    fn finder(&self) -> Option<&GroupFinder> {
        let finder = || {
            let prepared = PreparedPatterns::current();
            let mut work = prepared.work();
            let nfa = automaton(&self.0.hir, false, true, &mut work).ok();
            let finder = nfa.and_then(|nfa| GroupFinder::new(&nfa, &mut work));
            prepared.spend(&work);
            finder
        };
        self.0.finder.get_or_init(finder).as_ref()
    }

    /// Cost of finding groups for each byte of a match, in operations.
    pub(crate) fn per_grouped_byte(&self) -> u64 {
        if self.finder().is_none_or(|finder| finder.bytes() <= 1 << 15) { 7 } else { 16 }
    }

    /// Cost of a look at a byte, in operations: more where the tables do not fit the first cache.
    pub(crate) fn per_byte(&self) -> u64 {
        if self.0.forward.bytes().max(self.0.backward.bytes()) <= 1 << 15 { 2 } else { 5 }
    }

    /// Whether the text has a match. Adds to `looks` how many bytes were looked at.
    pub fn is_in(&self, text: &str, looks: &mut usize) -> bool {
        self.0.forward.first(text.as_bytes(), 0, true, looks).is_some()
    }

    /// The first match from `from` on, which is the start of a character. Adds to `looks` how many
    /// bytes were looked at.
    pub fn find(&self, text: &str, from: usize, looks: &mut usize) -> Option<Range<usize>> {
        let mut from = from;
        loop {
            let end = self.0.forward.first(text.as_bytes(), from, false, looks)?;
            let start = self.0.backward.last(text.as_bytes(), from, end, looks)?;
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                return Some(start..end);
            }
            // Nothing was found, within a character.
            from = (end + 1..=text.len()).find(|&at| text.is_char_boundary(at))?;
        }
    }

    /// Where the group of that number is in a match; `None` if it took no part in it.
    pub fn group(
        &self,
        cache: &mut GroupCache,
        text: &str,
        span: Range<usize>,
        group: usize,
    ) -> Option<Range<usize>> {
        if group == 0 {
            return Some(span);
        }
        let slots = self.finder()?.find(text.as_bytes(), span, &mut cache.0)?;
        let slot = |slot: usize| slots.get(slot).copied().flatten();
        Some(slot(2 * group)?..slot(2 * group + 1)?)
    }
}

fn automaton(hir: &Hir, backward: bool, groups: bool, work: &mut StepsLeft) -> Result<NFA, Odd> {
    work.take(PER_AUTOMATON)?;
    let captures = if groups { WhichCaptures::All } else { WhichCaptures::None };
    let config = thompson::Config::new()
        .reverse(backward)
        .which_captures(captures)
        .nfa_size_limit(Some(MAX_AUTOMATON));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir);
    let nfa = nfa.map_err(|_| {
        // As much as it was allowed to take.
        work.spend(MAX_AUTOMATON as u64);
        Odd::Large
    })?;
    work.take(PER_STATE * nfa.states().len() as u64)?;
    Ok(nfa)
}

/// How many looks at its bytes a text may take when all matches are searched for: each search could
/// read to the end of the text. A text that takes more has no such result.
pub fn looks_allowed(bytes: usize) -> usize {
    3 * bytes + 64
}

/// The most looks that are taken before that limit is noticed.
pub(crate) fn most_looks(bytes: u64) -> u64 {
    5 * bytes + 64
}

impl From<prepared::UsedUp> for Odd {
    fn from(_: prepared::UsedUp) -> Self {
        Self::Many
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.text())
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(D::Error::custom)
    }
}

/// A piece of what replaces a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePiece {
    /// A text.
    Text(String),
    /// The match of a group; group 0 is the whole match.
    Group(usize),
}

/// The pieces of a replacement: `\1` is the first group, `\0` the match, `\\` a backslash. `None`
/// for other backslashes.
pub fn template(text: &str) -> Option<Vec<TemplatePiece>> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match characters.next()? {
            '\\' => plain.push('\\'),
            digit => {
                let group = usize::try_from(digit.to_digit(10)?).ok()?;
                if !plain.is_empty() {
                    pieces.push(TemplatePiece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(TemplatePiece::Group(group));
            }
        }
    }
    if !plain.is_empty() {
        pieces.push(TemplatePiece::Text(plain));
    }
    Some(pieces)
}

#[cfg(test)]
mod tests;
