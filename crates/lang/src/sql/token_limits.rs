//! Bounds on a text's tokens, so that parsing takes little time and little of the stack.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

use super::{MAX_NESTING, nested_too_deep};
use crate::error::Refusal;

/// Most tokens that the parser may look at, counting those that it looks at again.
pub(super) const MAX_WORK: usize = 100_000;

/// Most types in types: the parser descends into each without counting.
const MAX_NESTED_TYPES: usize = 16;

/// A bracket that is not closed yet.
struct OpenBracket {
    bracket: Token,
    location: Location,
    /// Brackets of the same kind that directly precede this one, and this one.
    run: usize,
    /// How often the parser may look at what is inside.
    visits: usize,
}

/// Refuses brackets that do not match or are nested too deep, and what the parser would try too
/// often.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<(), Refusal> {
    let mut open: Vec<OpenBracket> = Vec::new();
    // Outside of all brackets.
    let mut visits = 1;
    let mut work: usize = 0;
    let mut types = 0;
    let mut before = &Token::EOF;
    for (at, TokenWithSpan { token, span }) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map_or(&Token::EOF, |t| &t.token);
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                let outer = open.last();
                let run = outer.filter(|_| before == token).map_or(1, |outer| outer.run + 1);
                let visits = outer.map_or(visits, |outer| outer.visits);
                open.push(OpenBracket {
                    bracket: token.clone(),
                    location: span.start,
                    run,
                    visits,
                });
                if open.len() > MAX_NESTING {
                    return Err(nested_too_deep());
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                let opened = open.pop().ok_or_else(|| closes_nothing(token, span.start))?;
                if closing(&opened.bracket) != *token {
                    return Err(does_not_close(token, span.start, &opened));
                }
                // A field of an element is tried as an expression, and again as a name.
                if *token == Token::RBracket && *next == Token::Period {
                    let visits = open.last_mut().map_or(&mut visits, |outer| &mut outer.visits);
                    *visits = visits.saturating_mul(2);
                }
            }
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                // ((SELECT: whether this is a query or something joined with one is tried at each
                // `(`.
                Keyword::SELECT
                | Keyword::WITH
                | Keyword::FROM
                | Keyword::VALUES
                | Keyword::TABLE
                | Keyword::INSERT
                | Keyword::UPDATE
                | Keyword::DELETE
                | Keyword::MERGE
                    if *before == Token::LParen =>
                {
                    if let Some(innermost) = open.last_mut() {
                        innermost.visits = innermost.visits.saturating_mul(innermost.run);
                    }
                }
                Keyword::ARRAY | Keyword::STRUCT if *next == Token::Lt => types += 1,
                _ => {}
            },
            _ => {}
        }
        work = work.saturating_add(open.last().map_or(visits, |innermost| innermost.visits));
        before = token;
    }
    if let Some(opened) = open.last() {
        return Err(not_closed(opened));
    }
    if work > MAX_WORK {
        return Err(Refusal::new(
            "queries in doubled parentheses are nested too deep",
            "use one pair of parentheses around a query",
        ));
    }
    if types > MAX_NESTED_TYPES {
        return Err(Refusal::new(
            format!(
                "ARRAY< and STRUCT< appear {types} times; at most {MAX_NESTED_TYPES} are allowed"
            ),
            "use simple types: BOOL, INT64, NUMERIC, FLOAT64, STRING, DATE, TIMESTAMP",
        ));
    }
    Ok(())
}

fn closing(bracket: &Token) -> Token {
    match bracket {
        Token::LParen => Token::RParen,
        Token::LBracket => Token::RBracket,
        _ => Token::RBrace,
    }
}

fn at(location: Location) -> String {
    format!("line {}, column {}", location.line, location.column)
}

/// One character.
pub(super) fn one(location: Location) -> Span {
    Span::new(location, Location { column: location.column + 1, ..location })
}

fn not_closed(opened: &OpenBracket) -> Refusal {
    let (bracket, closing) = (&opened.bracket, closing(&opened.bracket));
    Refusal::new(
        format!("not valid SQL: the `{bracket}` at {} is never closed", at(opened.location)),
        format!("add the `{closing}` that belongs to it"),
    )
    .at_span(one(opened.location))
}

fn closes_nothing(token: &Token, location: Location) -> Refusal {
    Refusal::new(
        format!("not valid SQL: the `{token}` at {} closes nothing", at(location)),
        "remove it, or add the bracket that it should close",
    )
    .at_span(one(location))
}

fn does_not_close(token: &Token, location: Location, opened: &OpenBracket) -> Refusal {
    let (bracket, expected) = (&opened.bracket, closing(&opened.bracket));
    let (here, there) = (at(location), at(opened.location));
    Refusal::new(
        format!("not valid SQL: the `{token}` at {here} does not close the `{bracket}` at {there}"),
        format!("the `{bracket}` needs a `{expected}`"),
    )
    .at_span(one(location))
}
