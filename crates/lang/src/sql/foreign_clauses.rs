//! Clauses and operators of other engines that the parser would not know, refused by name.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Whitespace};

use super::{FORM, is_word};
use crate::error::Refusal;
use crate::json_path::{JsonPath, JsonStep};
use crate::types::text_as_sql;

/// Refuses `#>` and `#>>`, which begin a comment here. `tokens` are those of the text with its
/// blanks and comments.
pub(super) fn check_comments(tokens: &[TokenWithSpan]) -> Result<(), Refusal> {
    let mut before: Option<&TokenWithSpan> = None;
    for token in tokens {
        let Token::Whitespace(blank) = &token.token else {
            before = Some(token);
            continue;
        };
        if let Whitespace::SingleLineComment { comment, prefix } = blank
            && prefix == "#"
            && let Some(before) =
                before.filter(|before| before.span.end.line == token.span.start.line)
            && let Some(path) = comment.strip_prefix(">>").or_else(|| comment.strip_prefix('>'))
            && let Some(path) = path.trim_start().strip_prefix('\'')
            && let Some((path, _)) = path.split_once('\'')
        {
            let keys = path.trim_start_matches('{').trim_end_matches('}').split(',').map(str::trim);
            let steps = keys.map(|key| match key.parse() {
                Ok(item) => JsonStep::Item(item),
                Err(_) => JsonStep::Key(key.trim_matches('"').to_owned()),
            });
            let path = JsonPath::new(steps.collect());
            let path =
                path.map_or_else(|| "'$.a'".to_owned(), |path| text_as_sql(&path.to_string()));
            let column = match &before.token {
                Token::Word(word) => word.to_string(),
                _ => "x".to_owned(),
            };
            let operator = if comment.starts_with(">>") { "#>>" } else { "#>" };
            return Err(Refusal::new(
                format!("the operator `{operator}` is not supported: # begins a comment"),
                format!("{column} ->> {path}"),
            )
            .at_span(token.span));
        }
    }
    Ok(())
}

/// Refuses clauses by the words that they are made of. `tokens` are without blanks and comments.
pub(super) fn check_clauses(tokens: &[TokenWithSpan]) -> Result<(), Refusal> {
    // For each open bracket, whether GROUP BY has been met in it.
    let mut grouped = vec![false];
    for (at, token) in tokens.iter().enumerate() {
        let word = |ahead: usize, word: &str| is_word(tokens.get(at + ahead), word);
        match &token.token {
            Token::LParen => grouped.push(false),
            Token::RParen => {
                grouped.pop();
            }
            Token::Word(first) if first.quote_style.is_none() => match first.keyword {
                Keyword::GROUP if word(1, "BY") => set(&mut grouped, true),
                Keyword::SELECT => set(&mut grouped, false),
                Keyword::WHERE if grouped.last() == Some(&true) => {
                    return Err(Refusal::new(
                        "WHERE stands behind GROUP BY",
                        "put WHERE before GROUP BY for conditions on rows; HAVING is for \
                         conditions on groups",
                    )
                    .at_span(token.span));
                }
                Keyword::LIMIT if word(2, "PERCENT") => {
                    let number =
                        tokens.get(at + 1).map_or_else(String::new, |n| n.token.to_string());
                    return Err(Refusal::new(
                        "LIMIT with PERCENT is not supported: a LIMIT is a number of rows",
                        format!("LIMIT {number}"),
                    )
                    .at_span(span(tokens, at, 3)));
                }
                Keyword::EXCLUDE
                    if word(1, "CURRENT") && word(2, "ROW")
                        || word(1, "GROUP")
                        || word(1, "TIES")
                        || word(1, "NO") && word(2, "OTHERS") =>
                {
                    return Err(excluded(tokens, at));
                }
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}

fn set(grouped: &mut [bool], value: bool) {
    if let Some(last) = grouped.last_mut() {
        *last = value;
    }
}

/// Refuses EXCLUDE in the frame of a window.
fn excluded(tokens: &[TokenWithSpan], at: usize) -> Refusal {
    let second = tokens.get(at + 1).map_or_else(String::new, |word| word.token.to_string());
    let second = second.to_uppercase();
    let (words, length, hint) = match second.as_str() {
        "CURRENT" => (
            "CURRENT ROW",
            3,
            "leave it out, and take the row's value off: SUM(x) OVER (…) - x, and COUNT(x) \
             OVER (…) - 1",
        ),
        "NO" => ("NO OTHERS", 3, "leave it out: a frame has all of its rows without it"),
        "GROUP" => ("GROUP", 2, "leave it out: a frame has all of its rows"),
        _ => ("TIES", 2, "leave it out: a frame has all of its rows"),
    };
    let what = format!("EXCLUDE {words} in the frame of a window is not supported");
    Refusal::new(what, hint).at_span(span(tokens, at, length))
}

/// Refuses another statement than SELECT, which begins with this word.
pub(super) fn other_statement(verb: &str, tokens: &[TokenWithSpan]) -> Refusal {
    let what = format!("{verb} is not supported: only SELECT is");
    let hint = match verb {
        "PIVOT" => pivot(tokens).unwrap_or_else(|| {
            "SELECT * FROM (SELECT a, k FROM t) PIVOT (COUNT(*) FOR k IN ('x', 'y'))".to_owned()
        }),
        "UNPIVOT" => {
            "SELECT 'a' AS name, a AS value FROM t UNION ALL SELECT 'b', b FROM t".to_owned()
        }
        _ => FORM.to_owned(),
    };
    Refusal::new(what, hint)
}

/// `PIVOT t ON k USING COUNT(*) GROUP BY a` as PIVOT in FROM.
fn pivot(tokens: &[TokenWithSpan]) -> Option<String> {
    let find = |word: &str| tokens.iter().position(|token| is_word(Some(token), word));
    let written = |from: usize, to: usize| {
        let pieces = tokens.get(from..to).unwrap_or_default();
        let mut text = String::new();
        for (index, piece) in pieces.iter().enumerate() {
            let apart = index > 0
                && pieces.get(index - 1).is_some_and(|last| last.span.end != piece.span.start);
            text.push_str(if apart { " " } else { "" });
            text.push_str(&piece.token.to_string());
        }
        text
    };
    let (on, using) = (find("ON")?, find("USING")?);
    let group = find("GROUP");
    let is_end = |token: &TokenWithSpan| matches!(token.token, Token::EOF | Token::SemiColon);
    let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    let table = written(1, on);
    let by = written(on + 1, using);
    let aggregate = written(using + 1, group.unwrap_or(end));
    let keys = group.map(|group| format!("{}, ", written(group + 2, end)));
    let is_name = |text: &str| !text.is_empty() && !text.contains([' ', ',', '(']);
    (is_name(&table) && is_name(&by) && aggregate == "COUNT(*)").then(|| {
        format!(
            "SELECT * FROM (SELECT {}{by} FROM {table}) PIVOT ({aggregate} FOR {by} IN ('a', \
             'b')), with its values for 'a' and 'b'",
            keys.unwrap_or_default()
        )
    })
}

fn span(tokens: &[TokenWithSpan], at: usize, length: usize) -> Span {
    Span::union_iter(tokens.iter().skip(at).take(length).map(|token| token.span))
}
