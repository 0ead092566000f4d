//! `//` and `**` as DuckDB has them: a quotient without its fraction and a power, from left to
//! right. GoogleSQL's tokens are single characters.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// The operator of powers.
pub(super) const POWER: &str = "**";

/// Joins two characters that stand side by side to one operator.
pub(super) fn join(tokens: &mut Vec<TokenWithSpan>) {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens.drain(..) {
        let last = joined.last_mut().filter(|last| last.span.end == token.span.start);
        let operator = match (last.as_ref().map(|last| &last.token), &token.token) {
            (Some(Token::Div), Token::Div) => Some(Token::DuckIntDiv),
            (Some(Token::Mul), Token::Mul) => Some(Token::CustomBinaryOperator(POWER.to_owned())),
            _ => None,
        };
        match (last, operator) {
            (Some(last), Some(operator)) => {
                last.token = operator;
                last.span = Span::new(last.span.start, token.span.end);
            }
            _ => joined.push(token),
        }
    }
    *tokens = joined;
}
