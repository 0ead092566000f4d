//! Names of queries, and what stands in braces.

use super::WorkloadLevel;

/// Longest name of a query, in bytes: with an extension, a file's name everywhere.
const MAX_NAME_BYTES: usize = 100;
/// Names that other files of a workload's folder have.
const TAKEN: [&str; 1] = ["statement"];

/// A piece of a text with braces.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NamePiece {
    Text(String),
    Level(String),
}

/// A text in which `{name}` stands for a column of that level, and `{{` and `}}` for braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<NamePiece>);

impl Template {
    /// # Errors
    /// The fault, where a brace is alone or holds no name.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else {
                let inner = from.strip_prefix('{').and_then(|inner| inner.split_once('}'));
                let Some((name, after)) = inner.filter(|(name, _)| is_identifier(name)) else {
                    let excerpt: String = from.chars().take(20).collect();
                    return Err(format!("`{excerpt}` is not a level's name in braces"));
                };
                pieces.push(NamePiece::Text(std::mem::take(&mut plain)));
                pieces.push(NamePiece::Level(name.to_owned()));
                rest = after;
            }
        }
        plain.push_str(rest);
        pieces.push(NamePiece::Text(plain));
        Ok(Self(pieces))
    }

    /// The levels, each once, in the order in which they first stand here.
    pub(super) fn levels(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for piece in &self.0 {
            if let NamePiece::Level(name) = piece
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        names
    }

    /// The text with a column in place of every level; an unknown level becomes nothing.
    pub(super) fn fill(&self, chosen: &[(&str, &str)]) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            NamePiece::Text(text) => text,
            NamePiece::Level(name) => {
                chosen.iter().find(|(level, _)| level == name).map_or("", |(_, column)| column)
            }
        });
        pieces.collect()
    }
}

/// All ways to choose a column for each level: the last level's changes fastest.
pub(super) fn choices<'a>(levels: &[&'a WorkloadLevel]) -> Vec<Vec<(&'a str, &'a str)>> {
    let mut rows: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
    for level in levels {
        rows = rows
            .into_iter()
            .flat_map(|row| {
                level.columns.iter().map(move |(column, _)| {
                    let mut next = row.clone();
                    next.push((level.name.as_str(), column.as_str()));
                    next
                })
            })
            .collect();
    }
    rows
}

/// Whether a text is a plain name: of a level, or of a column that needs no quotes in SQL.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Why a query cannot have that name, if it cannot.
pub(super) fn wrong_name(name: &str) -> Option<String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Some(format!("is not 1 to {MAX_NAME_BYTES} characters long"));
    }
    if name.starts_with(['.', '-']) || !name.bytes().all(fits) {
        return Some("is not the name of a file".to_owned());
    }
    let taken = TAKEN.iter().any(|taken| name.eq_ignore_ascii_case(taken));
    taken.then(|| "is taken by the workload's statement".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        Template::parse(text).unwrap().fill(&[("a", "x"), ("b", "y")])
    }

    #[test]
    fn braces_stand_for_columns() {
        assert_eq!(filled("{a}_{b}, {a}"), "x_y, x");
        assert_eq!(filled("no braces"), "no braces");
        assert_eq!(filled("'{{a}}' = {a} || '{{'"), "'{a}' = x || '{'");
        assert_eq!(Template::parse("{b}{a}{b}").unwrap().levels(), ["b", "a"]);
        for wrong in ["{", "}", "{a", "a}", "{}", "{ a }", "{a b}", "{1}", "{a-b}", "{a;b}"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_names_of_files() {
        for good in ["a", "state_naics2", "2022-Q1.final", "_x", "A".repeat(100).as_str()] {
            assert_eq!(wrong_name(good), None, "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            ".a",
            "-a",
            "a b",
            "a\n",
            "é",
            "statement",
            "Statement",
        ] {
            assert!(wrong_name(bad).is_some(), "{bad}");
        }
        assert!(wrong_name(&"a".repeat(101)).is_some());
    }
}
