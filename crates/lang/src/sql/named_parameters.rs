//! Values for `@name`, so that a query is written once and run with many values.
//!
//! A value is a constant of the query from then on: it is part of the question, and recorded.

use hushtable_numbers::Number;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

use super::dialect;
use crate::error::Refusal;
use crate::types::{ColumnType, Value, text_as_sql};

/// The query with a constant in place of each `@name`. A value is typed by how it is written: a
/// number, a date, a timestamp, TRUE, FALSE or NULL; anything else is a text, and so is what stands
/// in quotes. `quoted_names` if double quotes enclose names.
///
/// # Errors
/// When a parameter has no value or two, or a value is not used.
pub fn with_parameters(
    text: &str,
    given: &[(String, String)],
    quoted_names: bool,
) -> Result<String, Refusal> {
    let hint = |name: &str| format!("--param {name}=value, once for each @{name} of the query");
    for (index, (name, _)) in given.iter().enumerate() {
        let same = |(other, _): &(String, String)| other.eq_ignore_ascii_case(name);
        if given.iter().take(index).any(same) {
            let what = format!("the parameter `@{name}` has two values");
            let in_code = format!("give one value of `{name}` in params");
            return Err(Refusal::new(what, hint(name)).in_code(in_code));
        }
    }
    let dialect = dialect(quoted_names);
    let Ok(tokens) = Tokenizer::new(&dialect, text).tokenize_with_location() else {
        // Errors are reported where the query is read.
        return Ok(text.to_owned());
    };
    let lines = LineStarts::of(text);
    let mut sql = String::with_capacity(text.len());
    let mut done = 0;
    let mut used = vec![false; given.len()];
    for (number, token) in tokens.iter().enumerate() {
        let Some((name, token_span)) = parameter(token, tokens.get(number + 1)) else { continue };
        let found = given.iter().position(|(other, _)| other.eq_ignore_ascii_case(name));
        let Some(index) = found else { continue };
        let (Some(start), Some(end)) = (lines.byte(token_span.start), lines.byte(token_span.end))
        else {
            continue;
        };
        if let (Some(before), Some((_, value)), Some(used)) =
            (text.get(done..start), given.get(index), used.get_mut(index))
        {
            sql.push_str(before);
            // Text that touches a constant would be read as a part of it: `1@x` is not 12.
            if sql.ends_with(touches) {
                sql.push(' ');
            }
            sql.push_str(&constant(value, quoted_names));
            if text.get(end..).is_some_and(|after| after.starts_with(touches)) {
                sql.push(' ');
            }
            *used = true;
            done = end;
        }
    }
    sql.push_str(text.get(done..).unwrap_or_default());
    match used.iter().position(|used| !used).and_then(|index| given.get(index)) {
        Some((name, _)) => Err(Refusal::new(
            format!("the query has no parameter `@{name}`"),
            "leave its value out, or write @name where it is to stand",
        )),
        None => Ok(sql),
    }
}

/// Whether a character next to a constant would be read with it.
fn touches(character: char) -> bool {
    character.is_alphanumeric() || "_.'\"`$&".contains(character)
}

/// The name of a parameter, without its `@`, and where the two are. `next` is the token after: in
/// `a<@x` the tokenizer takes `<@` for an operator.
fn parameter<'a>(
    token: &'a TokenWithSpan,
    next: Option<&'a TokenWithSpan>,
) -> Option<(&'a str, Span)> {
    let word = |token: &'a TokenWithSpan| match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.as_str()),
        _ => None,
    };
    if token.token == Token::ArrowAt {
        let next = next.filter(|next| next.span.start == token.span.end)?;
        let at = Location { column: token.span.start.column + 1, ..token.span.start };
        return Some((word(next)?, Span::new(at, next.span.end)));
    }
    let name = word(token)?.strip_prefix('@').filter(|name| !name.starts_with('@'))?;
    Some((name, token.span))
}

/// A value as a constant of SQL.
fn constant(value: &str, quoted_names: bool) -> String {
    let trimmed = value.trim();
    let keyword = ["TRUE", "FALSE", "NULL"].into_iter().find(|k| trimmed.eq_ignore_ascii_case(k));
    if let Some(keyword) = keyword {
        return keyword.to_owned();
    }
    let digits = trimmed.trim_start_matches(['-', '+']);
    let begins = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if begins && !trimmed.contains('_') {
        let float = || Value::parse(trimmed, ColumnType::Float).is_some();
        if Number::parse(trimmed).is_some() || float() {
            return if digits == trimmed { trimmed.to_owned() } else { format!("({trimmed})") };
        }
        for (of, name) in [(ColumnType::Date, "DATE"), (ColumnType::Timestamp, "TIMESTAMP")] {
            if Value::parse(trimmed, of).is_some() {
                return format!("{name} '{trimmed}'");
            }
        }
    }
    let quoted =
        ['\'', '"'].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let text = quoted.unwrap_or(value);
    match quoted_names {
        true => format!("'{}'", text.replace('\'', "''")),
        false => text_as_sql(text),
    }
}

/// Where the lines of a text begin.
struct LineStarts<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineStarts<'a> {
    fn of(text: &'a str) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: [0].into_iter().chain(after).collect() }
    }

    /// The byte offset of a location, whose lines and characters count from 1.
    fn byte(&self, location: Location) -> Option<usize> {
        let line = usize::try_from(location.line.checked_sub(1)?).ok()?;
        let column = usize::try_from(location.column.checked_sub(1)?).ok()?;
        let start = *self.starts.get(line)?;
        let rest = self.text.get(start..)?;
        let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
        ends.nth(column).map(|at| start + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, given: &[(&str, &str)]) -> Result<String, Refusal> {
        let given: Vec<(String, String)> =
            given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        with_parameters(text, &given, false)
    }

    #[test]
    fn values_are_typed_by_their_form() {
        for (value, want) in [
            ("18", "18"),
            ("-1.5", "(-1.5)"),
            ("1e3", "1e3"),
            ("2024-06-01", "DATE '2024-06-01'"),
            ("2024-06-01 10:00:00", "TIMESTAMP '2024-06-01 10:00:00'"),
            ("true", "TRUE"),
            ("Null", "NULL"),
            ("C01", "'C01'"),
            ("'18'", "'18'"),
            ("it's \\ so", "'it\\'s \\\\ so'"),
            (r"^\d+$", r"r'^\d+$'"),
            ("a\\", r"'a\\'"),
            ("' OR 1=1 --", "'\\' OR 1=1 --'"),
            ("1; DROP", "'1; DROP'"),
            ("", "''"),
            ("12_000", "'12_000'"),
        ] {
            let sql = with("SELECT @x", &[("x", value)]).unwrap();
            assert_eq!(sql, format!("SELECT {want}"), "{value}");
            assert!(crate::sql::parse(&format!("{sql} FROM t"), false, None).is_ok(), "{sql}");
        }
    }

    /// A value is the text that it was, whatever backslashes mean.
    #[test]
    fn values_keep_quotes_and_backslashes() {
        for quoted_names in [false, true] {
            for value in ["'", "\\", "a\\'b", "\\d+", "'''", "a\nb\\", "\"x\"", "é\r\t\\\""] {
                let given = [("x".to_owned(), format!("'{value}'"))];
                let sql = with_parameters("@x", &given, quoted_names).unwrap();
                let read = crate::sql::parse_expression(&sql, quoted_names).unwrap();
                let sqlparser::ast::Expr::Value(read) = read else { panic!("{sql}") };
                assert_eq!(read.value.into_string().unwrap(), value, "{sql}");
            }
        }
        // Where a text ends depends on what a backslash is.
        let given = [("x".to_owned(), "1".to_owned())];
        let sql = with_parameters(r"SELECT '\', @x", &given, true).unwrap();
        assert_eq!(sql, r"SELECT '\', 1");
    }

    #[test]
    fn values_stand_where_they_are_named() {
        let text = "-- @x é\nSELECT 'é @x', @X,\n  `@x`, é.@x2 + @x FROM t /* @x */";
        let want = "-- @x é\nSELECT 'é @x', 1,\n  `@x`, é.@x2 + 1 FROM t /* @x */";
        assert_eq!(with(text, &[("x", "1")]).unwrap(), want);
        assert_eq!(with(text, &[]).unwrap(), text);
    }

    #[test]
    fn values_stay_apart_from_what_touches_them() {
        let number = |text: &str| with(text, &[("x", "2")]).unwrap();
        assert_eq!(number("SELECT 1@x"), "SELECT 1 2");
        assert_eq!(number("SELECT (@x), 1+@x"), "SELECT (2), 1+2");
        assert_eq!(number("SELECT a<@x, a>@x, a<=@x"), "SELECT a<2, a>2, a<=2");
        let text = |text: &str| with(text, &[("x", "b")]).unwrap();
        assert_eq!(text("SELECT 'a'@x"), "SELECT 'a' 'b'");
        assert_eq!(text("SELECT @x'a'"), "SELECT 'b' 'a'");
    }

    #[test]
    fn values_that_nobody_asked_for_are_refused() {
        let refusal = with("SELECT @a", &[("a", "1"), ("b", "2")]).unwrap_err();
        assert_eq!(refusal.what, "the query has no parameter `@b`");
        let refusal = with("SELECT @a", &[("a", "1"), ("A", "2")]).unwrap_err();
        assert_eq!(refusal.what, "the parameter `@A` has two values");
    }
}
