//! Why a query was not accepted.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use hushtable_errors::{ErrorText, Hint};
use sqlparser::tokenizer::{Location, Span};

use crate::place::Placed;

/// Widest line of an excerpt.
const WIDTH: usize = 80;

/// A query that cannot be answered privately, or is not a query; says what would work instead.
///
/// Refusals follow from the SQL and the contract alone, so they show nothing of the data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  hint: {hint}")]
pub struct Refusal {
    /// The fault, by name.
    pub what: String,
    /// A way that works.
    pub hint: String,
    /// The way out for callers from code, where `hint` names options of the command.
    hint_in_code: Option<Box<str>>,
    place: Option<Box<Place>>,
}

/// The piece of SQL that a refusal is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// No piece of SQL is named.
    Nowhere,
    /// In the parser's lines and columns.
    Counted(Span),
    /// In bytes of the text.
    Found { sql: String, range: Range<usize> },
}

impl Refusal {
    /// A refusal: what is wrong, and what would work.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), hint_in_code: None, place: None }
    }

    /// A refusal of what can only be a fault of the program.
    pub fn fault(what: impl Into<String>) -> Self {
        Self::new(what, "this is a fault in Hushtable: please report the query, without data")
    }

    /// With another hint for programs, which call methods and have no options.
    #[must_use]
    pub fn in_code(self, hint: impl Into<String>) -> Self {
        Self { hint_in_code: Some(hint.into().into()), ..self }
    }

    /// Whether a piece of SQL has been named.
    pub(crate) fn is_placed(&self) -> bool {
        self.place.is_some()
    }

    /// Says which piece of SQL is meant, where nothing smaller within it has been named.
    #[cold]
    #[inline(never)]
    pub fn at<P: Placed + ?Sized>(self, node: &P) -> Self {
        match (&self.place, node.place()) {
            (None, Some(span)) => self.at_span(span),
            _ => self,
        }
    }

    /// Names the piece of SQL by its span.
    #[cold]
    #[inline(never)]
    pub fn at_span(mut self, span: Span) -> Self {
        if self.place.is_none() && span != Span::empty() {
            self.place = Some(Box::new(Place::Counted(span)));
        }
        self
    }

    /// Names no piece of SQL, as it would be too long.
    pub(crate) fn nowhere(mut self) -> Self {
        self.place = Some(Box::new(Place::Nowhere));
        self
    }

    /// Finds the piece in the text that was parsed.
    pub fn within(mut self, sql: &str) -> Self {
        if let Some(Place::Counted(span)) = self.place.as_deref()
            && let (Some(from), Some(to)) = (offset(sql, span.start), offset(sql, span.end))
            && from < to
        {
            let to = to + closing(sql.get(from..to), sql.get(to..));
            self.place = Some(Box::new(Place::Found { sql: sql.to_owned(), range: from..to }));
        }
        self
    }

    /// The piece of SQL that is refused, in bytes, where it is known.
    pub fn range(&self) -> Option<Range<usize>> {
        match self.place.as_deref()? {
            Place::Found { range, .. } => Some(range.clone()),
            Place::Nowhere | Place::Counted(_) => None,
        }
    }

    /// The lines of SQL with the refused piece underlined, where it is known.
    pub fn excerpt(&self) -> Option<String> {
        let Place::Found { sql, range } = self.place.as_deref()? else { return None };
        let annotation = AnnotationKind::Primary.span(range.clone());
        let snippet = Snippet::source(sql.as_str()).annotation(annotation);
        let report = [Group::with_level(Level::ERROR).element(snippet)];
        let rendered = Renderer::plain().term_width(WIDTH).render(&report);
        Some(rendered.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
    }
}

impl Hint for Refusal {
    fn error_text(&self) -> ErrorText {
        let place = self.excerpt();
        let hint_in_code = self.hint_in_code.as_deref().map(str::to_owned);
        ErrorText { place, hint_in_code, ..ErrorText::new(&self.what, &self.hint) }
    }
}

/// The byte offset of a location in a text.
fn offset(sql: &str, location: Location) -> Option<usize> {
    let (mut line, mut column) = (1, 1);
    for (offset, c) in sql.char_indices() {
        if (line, column) == (location.line, location.column) {
            return Some(offset);
        }
        (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    ((line, column) == (location.line, location.column)).then_some(sql.len())
}

/// Bytes up to the brackets that close those that are open in the piece: the parser's spans of
/// calls end before them.
fn closing(piece: Option<&str>, rest: Option<&str>) -> usize {
    let (Some(piece), Some(rest)) = (piece, rest) else { return 0 };
    let open = |text: &str| text.matches('(').count();
    let mut missing = open(piece).saturating_sub(piece.matches(')').count());
    let mut bytes = 0;
    for (at, c) in rest.char_indices() {
        if missing == 0 {
            break;
        }
        match c {
            '(' => missing += 1,
            ')' => {
                missing -= 1;
                bytes = at + 1;
            }
            _ => {}
        }
    }
    if missing == 0 { bytes } else { 0 }
}

/// The most similar of some names, if one is similar enough to be what was meant.
pub fn similar<'a>(target: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Distances take a time that grows with the square of the names.
    const MOST_BYTES: usize = 100;
    if target.len() > MOST_BYTES {
        return None;
    }
    let target = target.to_lowercase();
    let length = target.chars().count();
    let most = length / 3;
    let near = names.into_iter().filter_map(|name| {
        let other = name.to_lowercase();
        // Names are at least as far apart as their lengths, which are faster to compare.
        (other.chars().count().abs_diff(length) <= most)
            .then(|| (strsim::damerau_levenshtein(&target, &other), name))
    });
    // A name that exists was meant as it is.
    near.filter(|(distance, _)| (1..=most).contains(distance)).min().map(|(_, name)| name)
}

/// A hint that begins with the name that was probably meant.
pub fn did_you_mean(similar: Option<&str>, hint: impl Into<String>) -> String {
    match similar {
        Some(name) => format!("did you mean `{name}`? {}", hint.into()),
        None => hint.into(),
    }
}
