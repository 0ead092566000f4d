//! JSON text, read where it stands: what an object's members are, and what its texts say.
//!
//! As RFC 8259 has it, and nothing more lenient. There is no tree and no recursion: a value is a
//! piece of the text, and nesting is a number with a bit for each level. Bytes need not be UTF-8;
//! a text that is not UTF-8 has no characters.

use std::borrow::Cow;

/// Most arrays and objects within each other. Text that has more is not read, and no path has more
/// steps.
pub const MAX_JSON_DEPTH: usize = 128;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number, with any digits and exponent.
    Number,
    /// A text in quotes.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A value, as it is written in the text around it.
#[derive(Clone, Copy)]
pub struct JsonValue<'a> {
    kind: JsonKind,
    written: &'a [u8],
}

/// A member of an object: its key, which is a text, and its value.
pub type JsonMember<'a> = (JsonValue<'a>, JsonValue<'a>);

/// Text that is no JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnObject;

impl<'a> JsonValue<'a> {
    /// The value that a text is, with nothing but white space around it. `None` if it is none.
    pub fn read(text: &'a [u8]) -> Option<Self> {
        let mut scanner = JsonScanner::new(text);
        scanner.skip_blanks();
        let value = scanner.value(0)?;
        scanner.skip_blanks();
        scanner.rest.is_empty().then_some(value)
    }

    /// Its kind.
    pub fn kind(self) -> JsonKind {
        self.kind
    }

    /// Its text, with the quotes and escapes that it is written with.
    pub fn written(self) -> &'a [u8] {
        self.written
    }

    /// The characters of a text, without quotes and escapes. `None` for other kinds, where bytes
    /// are not UTF-8, and where a half of a surrogate pair stands alone, which is no character.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let within = self.written.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let mut rest = std::str::from_utf8(within).ok()?;
        let Some(mut escape) = rest.find('\\') else { return Some(Cow::Borrowed(rest)) };
        let mut said = String::with_capacity(rest.len());
        loop {
            let (plain, escaped) = rest.split_at_checked(escape)?;
            said.push_str(plain);
            let (character, after) = unescaped(escaped.strip_prefix('\\')?)?;
            said.push(character);
            rest = after;
            match rest.find('\\') {
                Some(next) => escape = next,
                None => break,
            }
        }
        said.push_str(rest);
        Some(Cow::Owned(said))
    }
}

/// The character of an escape, and the text behind it.
fn unescaped(escape: &str) -> Option<(char, &str)> {
    let mut rest = escape.chars();
    let character = match rest.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let (first, after) = code_unit(rest.as_str())?;
            rest = after.chars();
            if matches!(first, 0xd800..=0xdbff) {
                let (second, after) = code_unit(after.strip_prefix("\\u")?)?;
                rest = after.chars();
                char::decode_utf16([first, second]).next()?.ok()?
            } else {
                char::from_u32(first.into())?
            }
        }
        quoted => quoted,
    };
    Some((character, rest.as_str()))
}

/// Four hexadecimal digits, and the text behind them.
fn code_unit(text: &str) -> Option<(u16, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

/// The members of an object, in the order of the text. The last item is an error where the text is
/// not one object; the members before it are then those of no object.
pub struct JsonMembers<'a> {
    scanner: JsonScanner<'a>,
    state: MembersState,
}

enum MembersState {
    Start,
    BehindMember,
    End,
}

impl<'a> JsonMembers<'a> {
    /// The members of the object that a text is.
    pub fn of(text: &'a [u8]) -> Self {
        Self { scanner: JsonScanner::new(text), state: MembersState::Start }
    }

    /// The next member, or nothing behind the last; `None` where the text is no object.
    fn advance(&mut self) -> Option<Option<JsonMember<'a>>> {
        let scanner = &mut self.scanner;
        scanner.skip_blanks();
        let first = matches!(self.state, MembersState::Start);
        if first {
            scanner.expect(b'{')?;
            scanner.skip_blanks();
        }
        if scanner.take(b'}') {
            scanner.skip_blanks();
            return scanner.rest.is_empty().then_some(None);
        }
        if !first {
            scanner.expect(b',')?;
            scanner.skip_blanks();
        }
        let key = scanner.key()?;
        let member = (key, scanner.value(1)?);
        self.state = MembersState::BehindMember;
        Some(Some(member))
    }
}

impl<'a> Iterator for JsonMembers<'a> {
    type Item = Result<JsonMember<'a>, NotAnObject>;

    fn next(&mut self) -> Option<Self::Item> {
        if matches!(self.state, MembersState::End) {
            return None;
        }
        let next = self.advance();
        if !matches!(next, Some(Some(_))) {
            self.state = MembersState::End;
        }
        match next {
            Some(member) => member.map(Ok),
            None => Some(Err(NotAnObject)),
        }
    }
}

/// Goes through text from its start. Each reading is `None` where the text does not go on so.
pub struct JsonScanner<'a> {
    rest: &'a [u8],
}

impl<'a> JsonScanner<'a> {
    /// At the start of a text.
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// The text that was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// The bytes between `before`, the rest of some time ago, and the rest of now.
    fn since(&self, before: &'a [u8]) -> &'a [u8] {
        before.get(..before.len() - self.rest.len()).unwrap_or_default()
    }

    /// Reads white space, if there is any.
    pub fn skip_blanks(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Reads a byte if it is this one.
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.skip(usize::from(found));
        found
    }

    /// Reads this byte.
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    /// A whole value, with all that is in it, inside of `levels` arrays and objects.
    fn value(&mut self, levels: usize) -> Option<JsonValue<'a>> {
        let before = self.rest;
        let kind = self.begin()?;
        let mut nesting = JsonNesting { levels, ..JsonNesting::default() };
        let mut empty = nesting.enter(kind)?;
        while let Some(in_object) = nesting.in_object() {
            self.skip_blanks();
            if self.take(if in_object { b'}' } else { b']' }) {
                nesting.leave();
                empty = false;
                continue;
            }
            if !empty {
                self.expect(b',')?;
                self.skip_blanks();
            }
            if in_object {
                self.key()?;
            }
            empty = {
                let kind = self.begin()?;
                nesting.enter(kind)?
            };
        }
        Some(JsonValue { kind, written: self.since(before) })
    }

    /// Reads a value without parts, or the bracket that begins one with parts, and gives its kind.
    pub fn begin(&mut self) -> Option<JsonKind> {
        match self.rest.first()? {
            b'"' => self.quoted().map(|_| JsonKind::Text),
            b'{' => self.expect(b'{').map(|()| JsonKind::Object),
            b'[' => self.expect(b'[').map(|()| JsonKind::Array),
            b't' => self.word(b"true").map(|()| JsonKind::Bool),
            b'f' => self.word(b"false").map(|()| JsonKind::Bool),
            b'n' => self.word(b"null").map(|()| JsonKind::Null),
            _ => self.number().map(|()| JsonKind::Number),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    /// A member's key. Reads the colon behind it, too, and the blanks around that.
    pub fn key(&mut self) -> Option<JsonValue<'a>> {
        let written = self.quoted()?;
        self.skip_blanks();
        self.expect(b':')?;
        self.skip_blanks();
        Some(JsonValue { kind: JsonKind::Text, written })
    }

    /// A text with its quotes.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let before = self.rest;
        self.expect(b'"')?;
        loop {
            let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | ..b' ');
            self.skip(self.rest.iter().position(ends)?);
            match self.rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Some(self.since(before));
                }
                [b'\\', b'u', a, b, c, d, rest @ ..]
                    if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) =>
                {
                    self.rest = rest;
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => {
                    self.rest = rest
                }
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Some(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.skip(digits);
        (digits > 0).then_some(())
    }
}

/// The arrays and objects around a position in a text.
#[derive(Default)]
pub struct JsonNesting {
    /// The number of those around the value that is read.
    levels: usize,
    depth: usize,
    /// Whether each is an object, the innermost in the lowest bit.
    objects: u128,
}

const _: () = assert!(MAX_JSON_DEPTH == u128::BITS as usize);

impl JsonNesting {
    /// Begins a value, and says whether it has parts, none of which was read. `None` where there
    /// are too many levels.
    pub fn enter(&mut self, kind: JsonKind) -> Option<bool> {
        let in_object = match kind {
            JsonKind::Object => true,
            JsonKind::Array => false,
            _ => return Some(false),
        };
        if self.levels + self.depth >= MAX_JSON_DEPTH {
            return None;
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(in_object);
        Some(true)
    }

    /// Ends the innermost.
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.objects >>= 1;
    }

    /// How many there are.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the innermost is an object; `None` outside of all.
    pub fn in_object(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.objects & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;
    use serde_json::Value;

    use super::*;

    fn members(text: &str) -> Result<Vec<(String, String)>, NotAnObject> {
        let texts = |(key, value): JsonMember<'_>| {
            let value = String::from_utf8(value.written().to_vec()).unwrap();
            (key.text().unwrap().into_owned(), value)
        };
        JsonMembers::of(text.as_bytes()).map(|member| member.map(texts)).collect()
    }

    fn text(written: &str) -> Option<String> {
        JsonValue::read(written.as_bytes()).unwrap().text().map(Cow::into_owned)
    }

    #[test]
    fn members_are_those_of_the_text() {
        let found =
            members(" { \"a\" : 1.50 ,\"b\":[1, {\"a\": 2}] , \"a\":null, \"\":\"x\\n\"}\r");
        let pairs = [("a", "1.50"), ("b", "[1, {\"a\": 2}]"), ("a", "null"), ("", "\"x\\n\"")];
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found.unwrap(), pairs);
        assert_eq!(members("{}").unwrap(), []);
        for other in [
            "",
            " ",
            "1",
            "[]",
            "{",
            "}",
            "{]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "{a:1}",
            "{'a':1}",
            "{\"a\":1}}",
            "{\"a\":1}{}",
            "{\"a\":[1,]}",
            "{\"a\":[1}",
            "{\"a\":{]}",
            "{\"a\":01}",
            "{\"a\":+1}",
            "{\"a\":.5}",
            "{\"a\":1.}",
            "{\"a\":1e}",
            "{\"a\":-}",
            "{\"a\":NaN}",
            "{\"a\":True}",
            "{\"a\":nul}",
            "{\"a\":\"x}",
            "{\"a\":\"\t\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\\\":1}",
            "\u{a0}{}",
        ] {
            assert_eq!(members(other), Err(NotAnObject), "{other}");
        }
        // Nothing follows the error.
        assert_eq!(JsonMembers::of(b"{\"a\":1,\"b\"}").count(), 2);
    }

    /// A line has as many levels as a text within one.
    #[test]
    fn values_have_a_most_number_of_levels() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (levels, fits) in [(MAX_JSON_DEPTH, true), (MAX_JSON_DEPTH + 1, false)] {
            assert_eq!(JsonValue::read(nested(levels).as_bytes()).is_some(), fits);
            let object = format!("{{\"a\":1,\"b\":{}}}", nested(levels - 1));
            assert_eq!(members(&object).is_ok(), fits);
        }
    }

    #[test]
    fn texts_say_what_their_escapes_mean() {
        for (written, said) in [
            (r#""""#, Some("")),
            (r#""Kőszeg""#, Some("Kőszeg")),
            (r#""\"\\\/\b\f\n\r\t""#, Some("\"\\/\u{8}\u{c}\n\r\t")),
            (r#""\u0041\u00e9\u0000 \u20AC""#, Some("Aé\0 €")),
            (r#""a\ud83d\uDE00z""#, Some("a😀z")),
            (r#""\ud83d""#, None),
            (r#""\ud83dx""#, None),
            (r#""\ud83d\n""#, None),
            (r#""\ud83d\u0041""#, None),
            (r#""\ud83d\ud83d""#, None),
            (r#""\ude00""#, None),
            (r#""\\ud83d""#, Some("\\ud83d")),
            ("1", None),
            ("null", None),
            ("[\"x\"]", None),
        ] {
            assert_eq!(text(written).as_deref(), said, "{written}");
        }
        let not_utf8 = JsonValue::read(b"\"\xff\"").unwrap();
        assert!(not_utf8.kind() == JsonKind::Text && not_utf8.text().is_none());
        let mark = JsonMembers::of(b"{\"\xe9\":1}").next().unwrap().unwrap();
        assert!(mark.0.text().is_none());
    }

    #[test]
    fn nesting_has_an_end() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let deepest = MAX_JSON_DEPTH;
        assert!(JsonValue::read(nested(deepest).as_bytes()).is_some());
        assert!(JsonValue::read(nested(deepest + 1).as_bytes()).is_none());
        assert!(JsonValue::read(nested(1_000_000).as_bytes()).is_none());
        let mixed = "{\"a\":[".repeat(deepest / 2) + &"]}".repeat(deepest / 2);
        assert!(JsonValue::read(mixed.as_bytes()).is_some());
        assert!(JsonValue::read(mixed.replacen("]}", "}]", 1).as_bytes()).is_none());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 60, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// The value that ours are, built by `serde_json` from their parts alone.
    fn rebuilt(value: JsonValue<'_>) -> Value {
        match value.kind() {
            JsonKind::Text => Value::from(value.text().unwrap()),
            JsonKind::Object => {
                let members = JsonMembers::of(value.written()).map(Result::unwrap);
                let members = members.map(|(key, value)| (key.text().unwrap().into(), value));
                Value::Object(members.map(|(key, value)| (key, rebuilt(value))).collect())
            }
            _ => serde_json::from_slice(value.written()).unwrap(),
        }
    }

    proptest! {
        #[test]
        fn values_are_those_of_serde_json(value in value(), pretty: bool, ascii: bool) {
            let write = if pretty { serde_json::to_string_pretty } else { serde_json::to_string };
            let mut written = write(&value).unwrap();
            if ascii {
                let units = |c: char| match c {
                    ' '..='~' | '\n' => c.to_string(),
                    c => {
                        let unit = |unit: &mut u16| format!("\\u{unit:04x}");
                        c.encode_utf16(&mut [0; 2]).iter_mut().map(unit).collect()
                    }
                };
                written = written.chars().map(units).collect();
            }
            prop_assert_eq!(rebuilt(JsonValue::read(written.as_bytes()).unwrap()), value);
        }

        /// Text that is nearly JSON is JSON for both or for none.
        #[test]
        fn both_read_the_same_texts(
            value in value(),
            at in any::<prop::sample::Index>(),
            removed in 0_usize..3,
            put in "[]\\[{}\",:\\\\u0-9eE.+nt \\x00-]{0,3}",
        ) {
            let mut written = serde_json::to_vec(&value).unwrap();
            let from = at.index(written.len() + 1);
            let to = (from + removed).min(written.len());
            written.splice(from..to, put.bytes());
            let theirs = serde_json::from_slice::<IgnoredAny>(&written).is_ok();
            prop_assert_eq!(JsonValue::read(&written).is_some(), theirs);
            let object = JsonMembers::of(&written).all(|member| member.is_ok());
            let first = written.iter().find(|byte| !byte.is_ascii_whitespace());
            prop_assert_eq!(object, theirs && first == Some(&b'{'));
        }
    }
}
