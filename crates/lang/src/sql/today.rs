//! CURRENT_DATE: a constant of a query, the day (UTC) on which it is read.
//!
//! The day stands in the query from then on, and is part of the question: tomorrow the same text is
//! another question.

use std::time::{SystemTime, UNIX_EPOCH};

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is_word;
use crate::types::Value;

/// The tokens with a date literal for each CURRENT_DATE, CURRENT_DATE() and TODAY().
pub(super) fn put_in(tokens: Vec<TokenWithSpan>, day: Option<&str>) -> Vec<TokenWithSpan> {
    match day {
        Some(day) => with_day(tokens, day),
        None => tokens,
    }
}

fn with_day(tokens: Vec<TokenWithSpan>, day: &str) -> Vec<TokenWithSpan> {
    let called = |at: usize| {
        let token = |at: usize| tokens.get(at).map(|t| &t.token);
        token(at + 1) == Some(&Token::LParen) && token(at + 2) == Some(&Token::RParen)
    };
    // After AS and in a path it is a name.
    let named = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before)).map(|t| &t.token);
        before.is_some_and(|before| match before {
            Token::Period => true,
            Token::Word(word) => word.keyword == Keyword::AS,
            _ => false,
        })
    };
    let mut rewritten = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let is_day =
            is_word(Some(token), "CURRENT_DATE") || is_word(Some(token), "TODAY") && called(at);
        if !is_day || named(at) {
            rewritten.push(token.clone());
            at += 1;
            continue;
        }
        let literal = [Token::make_keyword("DATE"), Token::SingleQuotedString(day.to_owned())];
        rewritten.extend(literal.map(|literal| TokenWithSpan::new(literal, token.span)));
        at += if called(at) { 3 } else { 1 };
    }
    rewritten
}

/// The day of now, if the clock is within the calendar.
pub fn today() -> Option<String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let days = i32::try_from(since.as_secs() / 86_400).ok()?;
    Some(Value::Date(days).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> String {
        let dialect = super::super::dialect(false);
        let tokens = super::super::tokens(text, &dialect, |e| panic!("{e}")).unwrap();
        let tokens = with_day(tokens, "2026-01-31");
        tokens.iter().map(|t| t.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_day_stands_where_it_is_asked_for() {
        assert_eq!(
            rewritten("SELECT current_date, CURRENT_DATE() - 1, TODAY() FROM t"),
            "SELECT DATE '2026-01-31' , DATE '2026-01-31' - 1 , DATE '2026-01-31' FROM t"
        );
        let names = "SELECT t . current_date AS current_date , today , 'CURRENT_DATE' , \
                     `current_date` FROM t";
        assert_eq!(rewritten(names), names);
    }

    #[test]
    fn today_is_a_date() {
        let day = today().unwrap();
        assert!(day.len() == 10 && day.as_str() > "2025-01-01", "{day}");
    }
}
