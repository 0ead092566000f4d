//! Reading TOML with the position of every value, so that errors can point at it.

use std::ops::Range;

use hushtable_errors::{ErrorText, Hint};
use hushtable_numbers::Number;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::AUTO;

/// A contract, a workload or a model that cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}\n  hint: {hint}")]
pub struct ContractError {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The fault, with the value and the allowed range.
    pub what: String,
    /// A way that works.
    pub hint: String,
}

impl Hint for ContractError {
    fn error_text(&self) -> ErrorText {
        let Self { file, line, what, hint } = self;
        ErrorText::new(format!("{file}:{line}: {what}"), hint)
    }
}

/// Placeholder that `hushtable init` leaves for each choice that is the owner's.
const TODO: &str = "TODO";

/// The text being read.
#[derive(Clone, Copy)]
pub struct ContractText<'a> {
    text: &'a str,
    file: &'a str,
}

impl<'a> ContractText<'a> {
    /// A text, and the name of its file for errors.
    pub fn new(text: &'a str, file: &'a str) -> Self {
        Self { text, file }
    }

    /// An error at a place of the text.
    pub fn error(
        &self,
        span: &Range<usize>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> ContractError {
        ContractError {
            file: self.file.to_owned(),
            line: self.line(span),
            what: what.into(),
            hint: hint.into(),
        }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        1 + before.filter(|&&b| b == b'\n').count()
    }

    /// The text as TOML.
    ///
    /// # Errors
    /// Text that is no TOML.
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>, ContractError> {
        DeTable::parse(self.text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            self.error(
                &span,
                format!("not valid TOML: {}", e.message().replace('\n', " ")),
                "put text values in quotes, and set each key only once in its table",
            )
        })
    }
}

/// One table of the file, with the path of its keys.
pub struct Section<'a, 'i> {
    source: ContractText<'a>,
    table: &'a DeTable<'i>,
    span: Range<usize>,
    name: String,
}

/// One value of the file.
#[derive(Clone)]
pub struct Item<'a, 'i> {
    pub(crate) source: ContractText<'a>,
    pub(crate) key: String,
    /// Where the value is in the text.
    pub span: Range<usize>,
    /// The value.
    pub value: &'a DeValue<'i>,
}

impl<'a, 'i> Section<'a, 'i> {
    /// The whole file, which errors call `name`.
    pub fn root(
        source: ContractText<'a>,
        table: &'a DeTable<'i>,
        span: Range<usize>,
        name: &str,
    ) -> Self {
        Self { source, table, span, name: name.to_owned() }
    }

    /// An error at the table.
    pub fn error(&self, what: impl Into<String>, hint: impl Into<String>) -> ContractError {
        self.source.error(&self.span, what, hint)
    }

    /// Refuses a file in which its owner still has to decide several settings, and names them all.
    /// A single one is refused by the reader of that setting, which says how it is written.
    pub(crate) fn refuse_todos(&self) -> Result<(), ContractError> {
        let mut todos: Vec<(usize, &str, Range<usize>)> = Vec::new();
        let mut open = vec![self.table];
        while let Some(table) = open.pop() {
            for (key, value) in table.iter() {
                match value.get_ref() {
                    DeValue::Table(inner) => open.push(inner),
                    DeValue::String(text) if text.starts_with(TODO) => {
                        let span = value.span();
                        todos.push((self.source.line(&span), key.get_ref(), span));
                    }
                    _ => {}
                }
            }
        }
        todos.sort_unstable_by_key(|(line, ..)| *line);
        let [(_, _, first), _, ..] = todos.as_slice() else { return Ok(()) };
        let all: Vec<String> =
            todos.iter().map(|(line, key, _)| format!("`{key}` on line {line}")).collect();
        Err(self.source.error(
            first,
            format!(
                "{} settings are still to be decided by the owner of the data: {}",
                all.len(),
                all.join(", ")
            ),
            "replace each text that begins with TODO; it says what is meant",
        ))
    }

    /// Every key with its item.
    pub fn items(&self) -> impl Iterator<Item = (&'a str, Item<'a, 'i>)> {
        let source = self.source;
        self.table.iter().map(move |(key, value)| {
            let name: &'a str = key.get_ref();
            let item =
                Item { source, key: name.to_owned(), span: value.span(), value: value.get_ref() };
            (name, item)
        })
    }

    /// The value of a key, where it has one.
    pub fn get(&self, key: &str) -> Option<Item<'a, 'i>> {
        self.items().find(|(name, _)| *name == key).map(|(_, item)| item)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// Where it has none; `hint` says how to write it.
    pub fn required(&self, key: &str, hint: &str) -> Result<Item<'a, 'i>, ContractError> {
        self.get(key).ok_or_else(|| {
            self.source.error(&self.span, format!("{} has no `{key}`", self.name), hint)
        })
    }

    /// Refuses keys that mean nothing, which are mostly misspelt ones.
    pub fn only(&self, known: &[&str]) -> Result<(), ContractError> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                return Err(self.source.error(
                    &key.span(),
                    format!("`{name}` is not a setting of {}", self.name),
                    format!("the settings are {}", known.join(", ")),
                ));
            }
        }
        Ok(())
    }
}

impl<'a, 'i> Item<'a, 'i> {
    /// An error at the value.
    pub fn error(&self, what: impl Into<String>, hint: impl Into<String>) -> ContractError {
        self.source.error(&self.span, what, hint)
    }

    /// The line on which the value begins, from 1.
    pub fn line(&self) -> usize {
        self.source.line(&self.span)
    }

    /// The value as errors show it.
    pub fn rendered(&self) -> String {
        match self.value {
            DeValue::String(s) => format!("\"{s}\""),
            DeValue::Integer(i) => i.to_string(),
            DeValue::Float(f) => f.to_string(),
            DeValue::Boolean(b) => b.to_string(),
            DeValue::Datetime(d) => d.to_string(),
            DeValue::Array(_) => "[…]".to_owned(),
            DeValue::Table(_) => "{…}".to_owned(),
        }
    }

    fn refuse_todo(&self, hint: &str) -> Result<(), ContractError> {
        match self.value {
            DeValue::String(s) if s.starts_with(TODO) => Err(self.error(
                format!("`{}` is still to be decided by the owner of the data", self.key),
                hint,
            )),
            _ => Ok(()),
        }
    }

    /// The error of a value that is not what is `expected`.
    pub fn wrong(&self, expected: &str, hint: &str) -> ContractError {
        self.error(format!("`{}` = {} is not {expected}", self.key, self.rendered()), hint)
    }

    /// A text that is not empty.
    ///
    /// # Errors
    /// Other values, and choices that are left open.
    pub fn text(&self, expected: &str, hint: &str) -> Result<&'a str, ContractError> {
        self.refuse_todo(hint)?;
        match self.value {
            DeValue::String(s) if !s.is_empty() => Ok(s),
            _ => Err(self.wrong(expected, hint)),
        }
    }

    /// Whether it is the text "auto": a limit that is chosen privately.
    pub(crate) fn is_auto(&self) -> bool {
        matches!(self.value, DeValue::String(text) if text.eq_ignore_ascii_case(AUTO))
    }

    /// A number as it is written, so that decimals are exact.
    pub fn number_text(&self, expected: &str, hint: &str) -> Result<String, ContractError> {
        self.refuse_todo(hint)?;
        match self.value {
            DeValue::Integer(i) if i.radix() == 10 => Ok(i.as_str().to_owned()),
            DeValue::Float(f) => Ok(f.as_str().to_owned()),
            DeValue::String(s) => Ok(s.to_string()),
            _ => Err(self.wrong(expected, hint)),
        }
    }

    /// A number.
    pub(crate) fn number(&self, hint: &str) -> Result<Number, ContractError> {
        let text = self.number_text("a number", hint)?;
        Number::parse(&text).ok_or_else(|| {
            self.wrong("a number of at most 36 digits, at most 18 of them after the point", hint)
        })
    }

    /// A truth value.
    pub fn flag(&self, hint: &str) -> Result<bool, ContractError> {
        match self.value {
            toml::de::DeValue::Boolean(set) => Ok(*set),
            _ => Err(self.wrong("true or false", hint)),
        }
    }

    /// A whole number from `least` to `most`.
    ///
    /// # Errors
    /// Other values.
    pub fn count(&self, least: u32, most: u32, hint: &str) -> Result<u32, ContractError> {
        let expected = format!("a whole number from {least} to {most}");
        let text = self.number_text(&expected, hint)?;
        match text.parse::<u32>() {
            Ok(n) if (least..=most).contains(&n) => Ok(n),
            _ => Err(self.wrong(&expected, hint)),
        }
    }

    /// A list.
    ///
    /// # Errors
    /// Other values, and choices that are left open.
    pub fn list(&self, hint: &str) -> Result<Vec<Item<'a, 'i>>, ContractError> {
        self.refuse_todo(hint)?;
        match self.value {
            DeValue::Array(items) => Ok(items
                .iter()
                .map(|v| Item {
                    source: self.source,
                    key: self.key.clone(),
                    span: v.span(),
                    value: v.get_ref(),
                })
                .collect()),
            _ => Err(self.wrong("a list", hint)),
        }
    }

    /// The item as a table; `name` is what errors call it.
    pub fn section(&self, name: &str, hint: &str) -> Result<Section<'a, 'i>, ContractError> {
        self.refuse_todo(hint)?;
        match self.value {
            DeValue::Table(table) => Ok(Section {
                source: self.source,
                table,
                span: self.span.clone(),
                name: name.to_owned(),
            }),
            _ => Err(self.wrong("a table", hint)),
        }
    }
}
