//! Values of JSON texts at a path.
//!
//! A text is read once from its start to its end, without recursion and without a tree. All of it
//! is checked: a text that is not JSON has no values.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{JsonPath, JsonStep, MAX_JSON_DEPTH};

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
        let (mut key, mut value) = (String::new(), String::new());
        for text in values {
            let found = text.and_then(|text| {
                value.clear();
                // Each byte is looked at, and is copied at most once.
                count(|| 4 * text.len());
                found(text, self.path.steps(), self.containers, &mut key, &mut value)
            });
            count(|| if found.is_some() { value.len() / 16 } else { 0 });
            builder.append_option(found.map(|()| value.as_str()));
        }
        Ok(Arc::new(builder.finish()))
    }
}

/// Writes the text of the value at the end of the path. `None` where there is none, where it is
/// null, or where `text` is not JSON. `key` is room for keys.
fn found(
    text: &str,
    path: &[JsonStep],
    containers: bool,
    key: &mut String,
    value: &mut String,
) -> Option<()> {
    let mut reader = JsonReader { text, at: 0 };
    let mut open = OpenContainers::default();
    let mut search = PathSearch { rest: path, among: None, items: 0 };
    // Whether the next value is the one to which the steps up to here lead.
    let mut on_path = true;
    // Where the value begins that is sought, and how many containers are open there.
    let mut sought = None;
    let mut is_found = None;
    loop {
        reader.skip_blanks();
        let begin = reader.at;
        let is_sought = on_path && search.rest.is_empty();
        match reader.peek()? {
            opening @ (b'{' | b'[') => {
                if is_sought {
                    sought = Some((begin, open.depth));
                }
                reader.at += 1;
                let kind =
                    if opening == b'{' { ContainerKind::Object } else { ContainerKind::Array };
                open.push(kind)?;
                if on_path {
                    search.enter(open.depth);
                }
                reader.skip_blanks();
                if reader.peek()? != kind.closing() {
                    on_path = search.member(&mut reader, kind, open.depth, key)?;
                    continue;
                }
            }
            b'"' => {
                reader.string(is_sought.then_some(&mut *value))?;
                if is_sought {
                    is_found = Some(());
                }
            }
            first => {
                let is_null = first == b'n';
                match first {
                    b'n' => reader.word("null")?,
                    b't' => reader.word("true")?,
                    b'f' => reader.word("false")?,
                    _ => reader.number()?,
                }
                if is_sought && !is_null {
                    value.push_str(text.get(begin..reader.at)?);
                    is_found = Some(());
                }
            }
        }
        // What follows a value: the ends of containers, then another member, or nothing.
        loop {
            reader.skip_blanks();
            let Some(kind) = open.last() else {
                return if reader.peek().is_none() { is_found } else { None };
            };
            if reader.peek()? == b',' {
                reader.at += 1;
                reader.skip_blanks();
                on_path = search.member(&mut reader, kind, open.depth, key)?;
                break;
            }
            reader.byte(kind.closing())?;
            search.leave(open.depth);
            open.pop();
            if let Some((begin, _)) = sought.take_if(|(_, depth)| *depth == open.depth)
                && containers
            {
                value.push_str(text.get(begin..reader.at)?);
                is_found = Some(());
            }
        }
    }
}

/// The kinds of values that have members.
#[derive(Clone, Copy, PartialEq)]
enum ContainerKind {
    Array,
    Object,
}

impl ContainerKind {
    fn closing(self) -> u8 {
        match self {
            Self::Array => b']',
            Self::Object => b'}',
        }
    }
}

/// The containers that are open, a bit for each. Their number is bounded, as it is by the size of
/// the bits.
#[derive(Default)]
struct OpenContainers {
    objects: u128,
    depth: usize,
}

const _: () = assert!(MAX_JSON_DEPTH == u128::BITS as usize);

impl OpenContainers {
    fn push(&mut self, kind: ContainerKind) -> Option<()> {
        self.objects = (self.objects << 1) | u128::from(kind == ContainerKind::Object);
        self.depth += 1;
        (self.depth <= MAX_JSON_DEPTH).then_some(())
    }

    fn pop(&mut self) {
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }

    fn last(&self) -> Option<ContainerKind> {
        let kind = if self.objects & 1 == 1 { ContainerKind::Object } else { ContainerKind::Array };
        (self.depth > 0).then_some(kind)
    }
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
        reader: &mut JsonReader<'_>,
        kind: ContainerKind,
        depth: usize,
        key: &mut String,
    ) -> Option<bool> {
        let step = self.rest.first().filter(|_| self.among == Some(depth));
        let leads = match kind {
            ContainerKind::Object => {
                let sought = match step {
                    Some(JsonStep::Key(sought)) => Some(sought),
                    _ => None,
                };
                key.clear();
                reader.string(sought.map(|_| &mut *key))?;
                reader.skip_blanks();
                reader.byte(b':')?;
                sought.is_some_and(|sought| sought == key)
            }
            ContainerKind::Array => {
                let leads = matches!(step, Some(JsonStep::Item(item)) if *item == self.items);
                self.items += usize::from(step.is_some());
                leads
            }
        };
        if leads {
            self.among = None;
            self.rest = self.rest.get(1..)?;
        }
        Some(leads)
    }
}

/// A place in a text. Reading is `None` where the text does not go on as JSON does.
struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        word.bytes().try_for_each(|byte| self.byte(byte))
    }

    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        self.byte(b'-').unwrap_or_default();
        match self.byte(b'0') {
            Some(()) => {}
            None => self.digits()?,
        }
        if self.byte(b'.').is_some() {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Reads a text in quotes; adds it without its escapes to what is given.
    fn string(&mut self, mut unescaped: Option<&mut String>) -> Option<()> {
        self.byte(b'"')?;
        let mut begin = self.at;
        loop {
            let byte = self.peek()?;
            if byte >= b' ' && byte != b'"' && byte != b'\\' {
                self.at += 1;
                continue;
            }
            if let Some(unescaped) = &mut unescaped {
                unescaped.push_str(self.text.get(begin..self.at)?);
            }
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => {
                    let character = self.escaped()?;
                    if let Some(unescaped) = &mut unescaped {
                        unescaped.push(character);
                    }
                }
                // Control characters are escaped in JSON.
                _ => return None,
            }
            begin = self.at;
        }
    }

    /// The character that an escape stands for, after its backslash.
    fn escaped(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => match self.hex()? {
                high @ 0xD800..0xDC00 => {
                    self.word("\\u")?;
                    let low = self.hex()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                    char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + low)?
                }
                // A lone low surrogate is no character.
                code => char::from_u32(code)?,
            },
            _ => return None,
        })
    }

    /// Four hexadecimal digits.
    fn hex(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |code, _| {
            let digit = char::from(self.peek()?).to_digit(16)?;
            self.at += 1;
            Some((code << 4) | digit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, path: &str, containers: bool) -> Option<String> {
        let path = JsonPath::parse(path).unwrap();
        let mut value = String::new();
        found(text, path.steps(), containers, &mut String::new(), &mut value).map(|()| value)
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
            "[1, \"\\ud800\"]",
            "[1, 'a']",
            "\u{feff}[1]",
            "[1]\u{a0}",
            &too_deep,
        ] {
            assert_eq!(at(text, "$[0]", true), None, "{text}");
        }
    }
}
