//! Values of JSON texts at a path.
//!
//! A text is read once from its start to its end, without recursion and without a tree. All of it
//! is checked: a text that is not JSON has no values.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{JsonKind, JsonNesting, JsonPath, JsonScanner, JsonStep, JsonValue};

use super::counted::count;
use super::text_functions::{builder, texts};
use super::unexpected;

/// A path, and whether the text of arrays and objects is sought as well.
pub(super) struct JsonLookup {
    path: JsonPath,
    containers: bool,
}

impl JsonLookup {
    pub(super) fn new(path: &str, containers: bool) -> Result<Self, ArrowError> {
        let path = JsonPath::parse(path).ok_or_else(|| unexpected())?;
        Ok(Self { path, containers })
    }

    pub(super) fn applied(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let values = texts(array)?;
        let mut builder = builder(values.len());
        for text in values {
            let value = text.and_then(|text| {
                // Each byte is looked at, and is copied at most once.
                count(|| 4 * text.len());
                found(text, self.path.steps(), self.containers)
            });
            count(|| value.as_ref().map_or(0, |value| value.len() / 16));
            builder.append_option(value);
        }
        Ok(Arc::new(builder.finish()))
    }
}

/// The text of the value at the end of the path. `None` where there is none, where it is null, or
/// where `text` is not JSON.
fn found<'a>(text: &'a str, path: &[JsonStep], containers: bool) -> Option<Cow<'a, str>> {
    let mut scanner = JsonScanner::new(text.as_bytes());
    let mut open = JsonNesting::default();
    let mut search = PathSearch { rest: path, among: None, items: 0 };
    let read = |scanner: &JsonScanner<'_>| text.len() - scanner.rest().len();
    // Whether the next value is the one to which the steps up to here lead.
    let mut on_path = true;
    // Where the value with parts begins that is sought, and its depth.
    let mut sought = None;
    let mut value = None;
    loop {
        scanner.skip_blanks();
        let begin = read(&scanner);
        let is_sought = on_path && search.rest.is_empty();
        let kind = scanner.begin()?;
        if open.enter(kind)? {
            if is_sought {
                sought = Some((begin, open.depth()));
            }
            if on_path {
                search.enter(open.depth());
            }
            scanner.skip_blanks();
            let in_object = kind == JsonKind::Object;
            if scanner.rest().first() != Some(&closing(in_object)) {
                on_path = search.member(&mut scanner, in_object, open.depth())?;
                continue;
            }
        } else if is_sought && kind != JsonKind::Null {
            let written = text.get(begin..read(&scanner))?;
            value = match kind {
                JsonKind::Text => JsonValue::read(written.as_bytes())?.text(),
                _ => Some(Cow::Borrowed(written)),
            };
        }
        // After a value come the ends of those around it, then another member, or nothing.
        loop {
            scanner.skip_blanks();
            let Some(in_object) = open.in_object() else {
                return if scanner.rest().is_empty() { value } else { None };
            };
            if scanner.take(b',') {
                scanner.skip_blanks();
                on_path = search.member(&mut scanner, in_object, open.depth())?;
                break;
            }
            scanner.expect(closing(in_object))?;
            search.leave(open.depth());
            if let Some((begin, _)) = sought.take_if(|(_, depth)| *depth == open.depth())
                && containers
            {
                value = Some(Cow::Borrowed(text.get(begin..read(&scanner))?));
            }
            open.leave();
        }
    }
}

/// The bracket that ends an object or an array.
fn closing(in_object: bool) -> u8 {
    if in_object { b'}' } else { b']' }
}

/// The way along a path. The first member that fits a step is taken for good: of equal keys, the
/// first counts.
struct PathSearch<'a> {
    /// The steps that are not taken yet.
    rest: &'a [JsonStep],
    /// The depth of the members among which the next step leads.
    among: Option<usize>,
    /// How many of them are passed.
    items: usize,
}

impl PathSearch<'_> {
    /// Goes among the members of a container that the path leads to.
    fn enter(&mut self, depth: usize) {
        self.among = Some(depth);
        self.items = 0;
    }

    /// The end of a container: no step leads out of it.
    fn leave(&mut self, depth: usize) {
        self.among.take_if(|among| *among == depth);
    }

    /// Reads the start of a member up to its value. Whether the path leads to it.
    fn member(
        &mut self,
        scanner: &mut JsonScanner<'_>,
        in_object: bool,
        depth: usize,
    ) -> Option<bool> {
        let step = self.rest.first().filter(|_| self.among == Some(depth));
        let leads = if in_object {
            let key = scanner.key()?;
            match step {
                Some(JsonStep::Key(sought)) => key.text().is_some_and(|key| key == *sought),
                _ => false,
            }
        } else {
            let leads = matches!(step, Some(JsonStep::Item(item)) if *item == self.items);
            self.items += usize::from(step.is_some());
            leads
        };
        if leads {
            self.among = None;
            self.rest = self.rest.get(1..)?;
        }
        Some(leads)
    }
}

#[cfg(test)]
mod tests {
    use hushtable_lang::MAX_JSON_DEPTH;

    use super::*;

    fn at(text: &str, path: &str, containers: bool) -> Option<String> {
        let path = JsonPath::parse(path).unwrap();
        found(text, path.steps(), containers).map(Cow::into_owned)
    }

    #[test]
    fn values_are_found_at_their_path() {
        let text =
            r#" { "a" : { "b" : [ 10 , "x", [true], {"c": -1.50e+2} ] }, "" : null, "d":{} } "#;
        for (path, want) in [
            ("$.a.b[0]", Some("10")),
            ("$.a.b[1]", Some("x")),
            ("$.a.b[2][0]", Some("true")),
            ("$.a.b[3].c", Some("-1.50e+2")),
            ("$.a.b[4]", None),
            ("$.a.b.c", None),
            ("$.a[0]", None),
            ("$.b", None),
            ("$.\"\"", None),
            ("$.d.b", None),
            ("$.a.b[0].c", None),
            ("$", None),
        ] {
            assert_eq!(at(text, path, false).as_deref(), want, "{path}");
        }
        for (path, want) in [
            ("$", Some(text.trim())),
            ("$.a.b[2]", Some("[true]")),
            ("$.a.b[3]", Some("{\"c\": -1.50e+2}")),
            ("$.d", Some("{}")),
            ("$.\"\"", None),
        ] {
            assert_eq!(at(text, path, true).as_deref(), want, "{path}");
        }
        assert_eq!(at("5", "$", false).as_deref(), Some("5"));
        assert_eq!(at("\"\"", "$", false).as_deref(), Some(""));
    }

    #[test]
    fn of_equal_keys_the_first_counts() {
        for (text, path, want) in [
            (r#"{"a":1,"a":2}"#, "$.a", Some("1")),
            (r#"{"\u0061":1,"a":2}"#, "$.a", Some("1")),
            (r#"{"a":null,"a":2}"#, "$.a", None),
            (r#"{"a":{"c":1},"a":{"b":2}}"#, "$.a.b", None),
            (r#"{"a":[],"a":2}"#, "$.a", None),
            (r#"{"b":{"a":1},"a":2}"#, "$.a", Some("2")),
            (r#"[[1,2],3]"#, "$[1]", Some("3")),
            (r#"[{"a":[7]},[8,9]]"#, "$[1][1]", Some("9")),
        ] {
            assert_eq!(at(text, path, false).as_deref(), want, "{text} {path}");
        }
    }

    #[test]
    fn escapes_stand_for_characters() {
        for (text, want) in [
            (r#""\"\\\/\b\f\n\r\t""#, Some("\"\\/\u{8}\u{c}\n\r\t")),
            (r#""a\u00e9b\u65E5é""#, Some("aéb日é")),
            (r#""\ud83d\ude00!""#, Some("😀!")),
            (r#""\u0000""#, Some("\0")),
            (r#""\ud83d""#, None),
            (r#""\ud83dx""#, None),
            (r#""\ud83d\n""#, None),
            (r#""\ud83d\ud83d""#, None),
            (r#""\ude00""#, None),
            (r#""\u12g4""#, None),
            (r#""\u123""#, None),
            (r#""\x""#, None),
            (r#""\""#, None),
            ("\"\t\"", None),
        ] {
            assert_eq!(at(text, "$", false).as_deref(), want, "{text}");
        }
    }

    /// The value is there, but the text around it is none.
    #[test]
    fn a_text_that_is_not_json_has_no_values() {
        let deep = |levels: usize| {
            format!("{}{}", "[".repeat(levels), "]".repeat(levels)).replacen("[]", "[1]", 1)
        };
        assert_eq!(at(&deep(MAX_JSON_DEPTH), "$", true), Some(deep(MAX_JSON_DEPTH)));
        assert_eq!(
            at(&format!("[1,{}]", deep(MAX_JSON_DEPTH - 1)), "$[0]", true).as_deref(),
            Some("1")
        );
        let too_deep = format!("[1,{}]", deep(MAX_JSON_DEPTH));
        for text in [
            "",
            " ",
            "[1",
            "[1]]",
            "[1}",
            "[1,]",
            "[1 2]",
            "[1] x",
            "[1, 01]",
            "[1, 1.]",
            "[1, .5]",
            "[1, +1]",
            "[1, 1e]",
            "[1, -]",
            "[1, nul]",
            "[1, nulls]",
            "[1, NaN]",
            "[1, {\"a\"}]",
            "[1, {\"a\":}]",
            "[1, {a:1}]",
            "[1, {\"a\":1,}]",
            "[1, {,}]",
            "[1, 'a']",
            "\u{feff}[1]",
            "[1]\u{a0}",
            &too_deep,
        ] {
            assert_eq!(at(text, "$[0]", true), None, "{text}");
        }
    }
}
