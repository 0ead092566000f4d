//! Pieces of SQL in two spellings that mean the same: ours, and DuckDB's.
//!
//! Differences on purpose are written out here and in the forms of
//! [`expressions`](crate::random_expressions): a comparison of answers then needs no exceptions.

/// A piece of SQL.
#[derive(Clone, Debug)]
pub struct Sql {
    /// As this engine takes it.
    pub ours: String,
    /// As DuckDB takes it.
    pub theirs: String,
}

/// Types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Conditions.
    Truth,
    /// Whole numbers of 64 bits.
    Whole,
    /// Floats of 64 bits.
    Real,
    /// Decimals with two decimal places.
    Money,
    /// Text.
    Words,
    /// Days.
    Day,
    /// Microseconds.
    Moment,
}

impl Sql {
    /// A piece that both engines spell alike.
    pub fn alike(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ours: text.clone(), theirs: text }
    }

    /// A piece with two spellings.
    pub fn two(ours: impl Into<String>, theirs: impl Into<String>) -> Self {
        Self { ours: ours.into(), theirs: theirs.into() }
    }
}

/// Two templates with pieces in the places of `{0}`, `{1}` and so on.
pub fn form(ours: &str, theirs: &str, pieces: &[&Sql]) -> Sql {
    Sql {
        ours: filled(ours, pieces, |piece| &piece.ours),
        theirs: filled(theirs, pieces, |piece| &piece.theirs),
    }
}

/// One template for both.
pub fn same(template: &str, pieces: &[&Sql]) -> Sql {
    form(template, template, pieces)
}

fn filled<'a>(template: &str, pieces: &[&'a Sql], of: impl Fn(&'a Sql) -> &'a str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        match after.split_once('}').and_then(|(n, end)| Some((n.parse::<usize>().ok()?, end))) {
            Some((index, end)) if index < pieces.len() => {
                text.push_str(of(pieces[index]));
                rest = end;
            }
            _ => {
                text.push('{');
                rest = after;
            }
        }
    }
    text + rest
}

/// How text constants of ours are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// With escapes, as in GoogleSQL.
    Escaped,
    /// As raw texts where these can be: `r'…'`.
    Raw,
    /// As in PostgreSQL, where the contract says `double_quotes = "names"`.
    Plain,
}

/// A text constant.
pub fn text(value: &str, quoting: Quoting) -> Sql {
    let theirs = format!("'{}'", value.replace('\'', "''"));
    let raw = !value.contains(['\'', '\n']) && !value.ends_with('\\');
    let ours = match quoting {
        Quoting::Raw if raw => format!("r'{value}'"),
        Quoting::Plain => theirs.clone(),
        Quoting::Escaped | Quoting::Raw => {
            let escaped = value.replace('\\', "\\\\").replace('\'', "\\'");
            format!("'{}'", escaped.replace('\n', "\\n"))
        }
    };
    Sql::two(ours, theirs)
}

/// A constant whole number.
pub fn whole(value: i64) -> Sql {
    let ours = if value == i64::MIN {
        "(-9223372036854775807 - 1)".to_owned()
    } else if value < 0 {
        format!("({value})")
    } else {
        value.to_string()
    };
    Sql::two(ours, format!("CAST('{value}' AS BIGINT)"))
}

/// A decimal of theirs that has as many digits as ours; NULL where it has more.
pub fn their_money(of: &str) -> String {
    format!("TRY_CAST(TRY({of}) AS DECIMAL(38, 2))")
}

/// Names of columns and of sub-queries, each used once in a statement.
#[derive(Debug, Default)]
pub struct Names(usize);

impl Names {
    /// A name that begins with a letter.
    pub fn next(&mut self, letter: &str) -> String {
        self.0 += 1;
        format!("{letter}{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_once() {
        let (a, b) = (Sql::two("{1}", "x"), Sql::alike("b"));
        let both = form("{0} + {1} {z} {9}", "f({1}, {0})", &[&a, &b]);
        assert_eq!((both.ours.as_str(), both.theirs.as_str()), ("{1} + b {z} {9}", "f(b, x)"));
    }

    #[test]
    fn constants_are_escaped_for_each_engine() {
        let it = text("it's \\", Quoting::Raw);
        assert_eq!((it.ours.as_str(), it.theirs.as_str()), ("'it\\'s \\\\'", "'it''s \\'"));
        assert_eq!(text("\\d", Quoting::Raw).ours, "r'\\d'");
        assert_eq!(text("it's \\d", Quoting::Plain).ours, "'it''s \\d'");
        assert_eq!(whole(i64::MIN).ours, "(-9223372036854775807 - 1)");
        assert_eq!(whole(-3).theirs, "CAST('-3' AS BIGINT)");
    }
}
