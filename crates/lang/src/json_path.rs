//! Paths into JSON: `$.a."b c"[0]`.

use std::fmt::{self, Display, Formatter};

use crate::json::MAX_JSON_DEPTH;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonStep {
    /// To the value of a key of an object.
    Key(String),
    /// To an item of an array, from 0.
    Item(usize),
}

/// The way from a JSON value to one within it. It is displayed as it is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath(Vec<JsonStep>);

/// How keys may be written that stand in a path without quotes.
#[derive(Clone, Copy, PartialEq)]
enum PlainKeys {
    /// Of letters, digits, `_` and `-`.
    Words,
    /// Of any characters up to the next step.
    Anything,
}

impl JsonPath {
    /// A path of these steps; `None` of more than there are in JSON that is read.
    pub fn new(steps: Vec<JsonStep>) -> Option<Self> {
        (steps.len() <= MAX_JSON_DEPTH).then_some(Self(steps))
    }

    /// The path that a text is: `$` with steps such as `.key`, `."key"`, `['key']` and `[0]`.
    pub fn parse(text: &str) -> Option<Self> {
        parsed(text, PlainKeys::Words).and_then(Self::new)
    }

    /// The path that is meant by a text that is none: its keys lack quotes, or its start.
    pub(crate) fn meant_by(text: &str) -> Option<Self> {
        let starts: &[&str] = if text.starts_with('$') { &[""] } else { &["$", "$."] };
        let meant = |start| parsed(&format!("{start}{text}"), PlainKeys::Anything);
        starts.iter().find_map(meant).and_then(Self::new)
    }

    /// Its steps.
    pub fn steps(&self) -> &[JsonStep] {
        &self.0
    }

    /// Its steps, to be continued.
    pub(crate) fn into_steps(self) -> Vec<JsonStep> {
        self.0
    }
}

impl Display for JsonPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.0 {
            match step {
                JsonStep::Key(key) if is_plain(key) => write!(f, ".{key}")?,
                JsonStep::Key(key) => {
                    write!(f, ".\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))?;
                }
                JsonStep::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

/// Whether a key needs no quotes.
fn is_plain(key: &str) -> bool {
    let is_of_words = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !key.is_empty() && key.chars().all(is_of_words)
}

fn parsed(text: &str, plain_keys: PlainKeys) -> Option<Vec<JsonStep>> {
    let mut rest = text.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step;
        (step, rest) = match rest.strip_prefix('.') {
            Some(quoted) if quoted.starts_with('"') => quoted_key(quoted)?,
            Some(key) => {
                let end = key.find(['.', '[']).unwrap_or(key.len());
                let (key, rest) = key.split_at_checked(end)?;
                let is_key = match plain_keys {
                    PlainKeys::Words => is_plain(key),
                    PlainKeys::Anything => !key.is_empty() && !key.contains(['*', '\'', '"']),
                };
                (is_key.then(|| JsonStep::Key(key.to_owned()))?, rest)
            }
            None => {
                let inner = rest.strip_prefix('[')?;
                let (step, rest) = match inner.starts_with(['\'', '"']) {
                    true => quoted_key(inner)?,
                    false => {
                        let (item, rest) = inner.split_at_checked(inner.find(']')?)?;
                        let digits = item.bytes().all(|byte| byte.is_ascii_digit());
                        (JsonStep::Item(digits.then(|| item.parse().ok())??), rest)
                    }
                };
                (step, rest.strip_prefix(']')?)
            }
        };
        steps.push(step);
    }
    Some(steps)
}

/// A key in quotes, in which a backslash stands before quotes and backslashes.
fn quoted_key(text: &str) -> Option<(JsonStep, &str)> {
    let mut characters = text.chars();
    let quote = characters.next()?;
    let mut key = String::new();
    loop {
        match characters.next()? {
            '\\' => key.push(characters.next().filter(|c| ['\\', '"', '\''].contains(c))?),
            c if c == quote => return Some((JsonStep::Key(key), characters.as_str())),
            c => key.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are_written() {
        for (text, want) in [
            ("$", "$"),
            ("$.a.b[0]", "$.a.b[0]"),
            ("$['a']", "$.a"),
            ("$[\"a b\"][12].é", "$.\"a b\"[12].é"),
            (r#"$."a.b"."\"\\""#, r#"$."a.b"."\"\\""#),
            ("$.\"\"", "$.\"\""),
            ("$.0", "$.0"),
        ] {
            let path = JsonPath::parse(text).unwrap();
            assert_eq!(path.to_string(), want);
            assert_eq!(JsonPath::parse(want), Some(path));
        }
    }

    #[test]
    fn other_texts_are_no_paths() {
        for (text, meant) in [
            ("", Some("$")),
            ("a", Some("$.a")),
            ("a b.c[1]", Some("$.\"a b\".c[1]")),
            ("[0]", Some("$[0]")),
            ("$a", None),
            ("$.a b", Some("$.\"a b\"")),
            ("$.", None),
            ("$..a", None),
            ("$.*", None),
            ("$[*]", None),
            ("$[-1]", None),
            ("$[+1]", None),
            ("$[]", None),
            ("$[1", None),
            ("$[99999999999999999999]", None),
            ("$.\"a", None),
            (r#"$."\a""#, None),
            ("$['a'", None),
        ] {
            assert_eq!(JsonPath::parse(text), None, "{text}");
            let found = JsonPath::meant_by(text).map(|path| path.to_string());
            assert_eq!(found.as_deref(), meant, "{text}");
        }
        let long = |steps: usize| JsonPath::parse(&format!("${}", "[0]".repeat(steps)));
        assert!(long(MAX_JSON_DEPTH).is_some() && long(MAX_JSON_DEPTH + 1).is_none());
    }
}
