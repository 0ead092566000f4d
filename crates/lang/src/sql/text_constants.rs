//! Text constants: from what stands between their quotes to the text.
//!
//! As in GoogleSQL, a backslash begins an escape, and what is no escape is refused: a parser that
//! drops the backslash makes another pattern of `'^\d+$'`. Where double quotes are those of names,
//! a backslash is a character like others, as in PostgreSQL.

use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

use crate::error::Refusal;

/// Longest text that a hint repeats.
const MAX_IN_HINT: usize = 60;

/// Resolves doubled quotes and escapes, which the tokenizer has left as they are written;
/// `quoted_names` where backslashes are plain characters.
pub(super) fn resolve(tokens: &mut [TokenWithSpan], quoted_names: bool) -> Result<(), Refusal> {
    tokens.iter_mut().try_for_each(|token| resolve_one(token, quoted_names))
}

fn resolve_one(token: &mut TokenWithSpan, quoted_names: bool) -> Result<(), Refusal> {
    use Token as T;
    let start = token.span.start;
    match &mut token.token {
        T::SingleQuotedString(text) if quoted_names => *text = text.replace("''", "'"),
        T::DoubleQuotedString(text) if quoted_names => *text = text.replace("\"\"", "\""),
        T::SingleQuotedString(text) => *text = unescaped(text, "'", start)?,
        T::DoubleQuotedString(text) => *text = unescaped(text, "\"", start)?,
        T::TripleSingleQuotedString(text) => *text = unescaped(text, "'''", start)?,
        T::TripleDoubleQuotedString(text) => *text = unescaped(text, "\"\"\"", start)?,
        T::SingleQuotedRawStringLiteral(text) => *text = raw(text, "'", token.span)?,
        T::DoubleQuotedRawStringLiteral(text) => *text = raw(text, "\"", token.span)?,
        T::TripleSingleQuotedRawStringLiteral(text) => *text = raw(text, "'''", token.span)?,
        T::TripleDoubleQuotedRawStringLiteral(text) => *text = raw(text, "\"\"\"", token.span)?,
        // E'…', which the tokenizer has resolved.
        T::EscapedStringLiteral(text) => {
            token.token = T::SingleQuotedString(std::mem::take(text));
        }
        T::Word(word) if word.quote_style == Some('`') => {
            word.value = word.value.replace("``", "`");
        }
        _ => {}
    }
    Ok(())
}

/// A raw text: all of it but doubled quotes. In GoogleSQL a quote behind a backslash does not end
/// one, so a text that would end otherwise here is refused.
fn raw(text: &str, quotes: &str, span: Span) -> Result<String, Refusal> {
    let backslashes = text.len() - text.trim_end_matches('\\').len();
    if backslashes % 2 == 1 {
        return Err(Refusal::new(
            "a raw text ends with an odd number of backslashes",
            "write a plain text, in which \\\\ is a backslash and \\' a quote",
        )
        .at_span(span));
    }
    Ok(match quotes {
        "'" => text.replace("''", "'"),
        "\"" => text.replace("\"\"", "\""),
        _ => text.to_owned(),
    })
}

/// The text that is written between quotes, which begin at `start`.
fn unescaped(written: &str, quotes: &str, start: Location) -> Result<String, Refusal> {
    let single = (quotes.len() == 1).then(|| quotes.chars().next()).flatten();
    let mut text = String::with_capacity(written.len());
    let mut rest = written.chars();
    let mut location = Location { column: start.column + quotes.len() as u64, ..start };
    loop {
        let before = rest.as_str();
        let Some(c) = rest.next() else { return Ok(text) };
        match c {
            '\\' => match escape(&mut rest) {
                Some(c) => text.push(c),
                None => return Err(unknown(written, before, quotes, location)),
            },
            // The tokenizer ends a text at a quote that is not doubled.
            c if Some(c) == single => {
                rest.next();
                text.push(c);
            }
            c => text.push(c),
        }
        let length = before.len() - rest.as_str().len();
        for c in before.get(..length).unwrap_or_default().chars() {
            location = match c {
                '\n' => Location { line: location.line + 1, column: 1 },
                _ => Location { column: location.column + 1, ..location },
            };
        }
    }
}

/// The character that an escape of GoogleSQL stands for, from the text behind its backslash.
fn escape(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let first = rest.next()?;
    Some(match first {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '?' | '"' | '\'' | '`' => first,
        'x' | 'X' => digits(rest, 16, 2, 0)?,
        'u' => digits(rest, 16, 4, 0)?,
        'U' => digits(rest, 16, 8, 0)?,
        '0'..='3' => digits(rest, 8, 2, first.to_digit(8)?)?,
        _ => return None,
    })
}

/// The character of that number, whose next digits are read.
fn digits(rest: &mut std::str::Chars<'_>, base: u32, many: usize, first: u32) -> Option<char> {
    let number = (0..many).try_fold(first, |number, _| {
        number.checked_mul(base)?.checked_add(rest.next()?.to_digit(base)?)
    })?;
    char::from_u32(number)
}

/// Refuses what is no escape, from the backslash on.
fn unknown(written: &str, from: &str, quotes: &str, location: Location) -> Refusal {
    let mut excerpt: String = from.chars().take(2).collect();
    let numeric = matches!(from.chars().nth(1), Some('x' | 'X' | 'u' | 'U' | '0'..='7'));
    if numeric {
        let digits = from.chars().skip(2).take_while(char::is_ascii_hexdigit);
        let most = if from.starts_with("\\U") { 8 } else { 4 };
        excerpt.extend(digits.take(most));
    }
    let what = match numeric {
        true => format!("`{excerpt}` in a text is not the escape of a character"),
        false => format!("`{excerpt}` in a text is not an escape"),
    };
    let keeps = written.len() <= MAX_IN_HINT
        && !written.contains(['\'', '"', '\n'])
        && !written.ends_with('\\');
    let hint = match keeps {
        true => format!("r{quotes}{written}{quotes}, which keeps backslashes"),
        false => "r'…', which keeps backslashes".to_owned(),
    };
    let end = Location { column: location.column + excerpt.chars().count() as u64, ..location };
    Refusal::new(what, format!("{hint}; or \\\\ for a backslash, as in GoogleSQL"))
        .at_span(Span::new(location, end))
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Expr;

    use crate::error::Refusal;

    fn text(written: &str, quoted_names: bool) -> Result<String, Refusal> {
        match super::super::parse_expression(written, quoted_names)? {
            Expr::Value(value) => Ok(value.value.into_string().unwrap()),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn escapes_are_those_of_googlesql() {
        for (written, want) in [
            (r"'\a\b\f\n\r\t\v'", "\u{7}\u{8}\u{c}\n\r\t\u{b}"),
            (r#"'\\\?\"\'\`'"#, "\\?\"'`"),
            (r"'\101\377\x41\XeF'", "A\u{ff}A\u{ef}"),
            (r"'\u00e9\U0001F600'", "é😀"),
            (r"'it''s'", "it's"),
            (r#""it's ""so"" \\""#, "it's \"so\" \\"),
            (r"'''it's \''''", "it's '"),
            ("\"\"\"a\"b\\\"\"\"\"", "a\"b\""),
            (r"r'^\d+\.\\$'", r"^\d+\.\\$"),
            (r#"R"\d''""#, r"\d''"),
            (r"r'''\d'\w'''", r"\d'\w"),
            (r"r'it''s'", "it's"),
            ("''", ""),
        ] {
            assert_eq!(text(written, false).unwrap(), want, "{written}");
        }
    }

    #[test]
    fn other_backslashes_are_refused_where_they_stand() {
        for (written, what, column) in [
            (r"'^\d+$'", r"`\d` in a text is not an escape", 3),
            (r"'%\_%'", r"`\_` in a text is not an escape", 3),
            (r"'é\\\1'", r"`\1` in a text is not the escape of a character", 5),
            (r"'\x4'", r"`\x4` in a text is not the escape of a character", 2),
            (r"'\ud800'", r"`\ud800` in a text is not the escape of a character", 2),
            (r"'\U00110000'", r"`\U00110000` in a text is not the escape of a character", 2),
            (r"'\400'", r"`\400` in a text is not the escape of a character", 2),
            (r"'''a\w'''", r"`\w` in a text is not an escape", 5),
            (r#""\/""#, r"`\/` in a text is not an escape", 2),
            (r"r'\'", "a raw text ends with an odd number of backslashes", 1),
            (r"r'it\'", "a raw text ends with an odd number of backslashes", 1),
        ] {
            let refusal = text(written, false).unwrap_err();
            assert_eq!(refusal.what, what, "{written}");
            let at = refusal.within(written).range().unwrap().start;
            assert_eq!(written[..at].chars().count() + 1, column, "{written}");
        }
        let hint = text(r"'^\d+$'", false).unwrap_err().hint;
        assert!(hint.contains(r"r'^\d+$'"), "{hint}");
    }

    #[test]
    fn backslashes_are_plain_where_double_quotes_are_those_of_names() {
        for (written, want) in [
            (r"'^\d+$'", r"^\d+$"),
            (r"'\'", r"\"),
            (r"'it''s \'", r"it's \"),
            ("''''", "'"),
            ("'''a'''", "'a'"),
            (r"r'\d'", r"\d"),
            (r"E'\n\'\\'", "\n'\\"),
        ] {
            assert_eq!(text(written, true).unwrap(), want, "{written}");
        }
        let name = super::super::parse_expression(r#""a ""b"" \""#, true).unwrap();
        let Expr::Identifier(name) = name else { panic!("{name}") };
        assert_eq!(name.value, r#"a "b" \"#);
    }

    #[test]
    fn names_in_backticks_have_doubled_ones() {
        let name = super::super::parse_expression("`a``b`", false).unwrap();
        let Expr::Identifier(name) = name else { panic!("{name}") };
        assert_eq!(name.value, "a`b");
    }
}
