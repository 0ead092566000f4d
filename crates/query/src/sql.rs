//! From text to the syntax tree: lifts the differential privacy clause out, parses the rest.

use sqlparser::ast;
use sqlparser::dialect::BigQueryDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::error::Refusal;

/// Longest query, in bytes.
const MAX_QUERY_BYTES: usize = 65_536;
/// Deepest nesting of a query's syntax.
const MAX_NESTING: usize = 60;

const FORM: &str = "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) \
                    key, COUNT(*) FROM table GROUP BY key";

/// One `name = value` of the OPTIONS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryOption {
    pub(crate) name: String,
    /// The value as written: a number, a name or a text without its quotes.
    pub(crate) value: String,
}

/// A query before it is checked.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Whether it says WITH DIFFERENTIAL_PRIVACY.
    pub(crate) private: bool,
    pub(crate) options: Vec<QueryOption>,
    pub(crate) query: ast::Query,
}

pub(crate) fn parse(text: &str) -> Result<Parsed, Refusal> {
    if text.len() > MAX_QUERY_BYTES {
        return Err(Refusal::new(
            format!("the query has {} bytes; at most {MAX_QUERY_BYTES} are read", text.len()),
            "move long lists of values into the contract's public_keys",
        ));
    }
    let dialect = BigQueryDialect {};
    let tokens = Tokenizer::new(&dialect, text)
        .tokenize_with_location()
        .map_err(|e| Refusal::new(format!("not valid SQL: {e}"), FORM))?;
    let (lifted, tokens) = lift_options(tokens)?;
    let (private, options) = (lifted.is_some(), lifted.unwrap_or_default());
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(MAX_NESTING).with_tokens_with_locations(tokens);
    let mut statements = parser.parse_statements().map_err(not_sql)?;
    let statement = statements.pop().filter(|_| statements.is_empty());
    match statement {
        Some(ast::Statement::Query(query)) => Ok(Parsed { private, options, query: *query }),
        Some(other) => {
            let text = other.to_string();
            let verb = text.split_whitespace().next().unwrap_or("that").to_uppercase();
            Err(Refusal::new(format!("{verb} is not supported: only SELECT is"), FORM))
        }
        None => Err(Refusal::new("exactly one SELECT is answered at a time", FORM)),
    }
}

/// Parses a lone expression, as in a contract.
pub(crate) fn parse_expression(text: &str) -> Result<ast::Expr, Refusal> {
    let dialect = BigQueryDialect {};
    let hint = "for example DIV(naics, 10000)";
    let not_sql = |e: ParserError| Refusal::new(format!("not an SQL expression: {e}"), hint);
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(MAX_NESTING)
        .try_with_sql(text)
        .map_err(not_sql)?;
    let expression = parser.parse_expr().map_err(not_sql)?;
    parser.expect_token(&Token::EOF).map_err(not_sql)?;
    Ok(expression)
}

fn not_sql(error: ParserError) -> Refusal {
    match error {
        ParserError::RecursionLimitExceeded => Refusal::new(
            format!("the query is nested more than {MAX_NESTING} deep"),
            "use IN (…) for long chains of OR",
        ),
        other => {
            let text = other.to_string();
            let text = text.strip_prefix("sql parser error: ").unwrap_or(&text).to_owned();
            Refusal::new(format!("not valid SQL: {text}"), FORM)
        }
    }
}

/// Takes `WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]` out of the tokens, if it is there.
fn lift_options(
    tokens: Vec<TokenWithSpan>,
) -> Result<(Option<Vec<QueryOption>>, Vec<TokenWithSpan>), Refusal> {
    let tokens: Vec<_> =
        tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
    let is_clause = |at: usize| {
        is_word(tokens.get(at), "WITH") && is_word(tokens.get(at + 1), "DIFFERENTIAL_PRIVACY")
    };
    let places: Vec<usize> = (0..tokens.len()).filter(|&at| is_clause(at)).collect();
    let &[start] = places.as_slice() else {
        return if places.is_empty() {
            Ok((None, tokens))
        } else {
            Err(Refusal::new(
                "WITH DIFFERENTIAL_PRIVACY stands more than once",
                "one SELECT is answered at a time; subqueries are not supported",
            ))
        };
    };
    if start == 0 || !is_keyword(tokens.get(start - 1), Keyword::SELECT) {
        return Err(Refusal::new("WITH DIFFERENTIAL_PRIVACY must follow SELECT", FORM));
    }
    let mut reader = OptionReader { tokens: &tokens, at: start + 2 };
    let options = if is_word(tokens.get(reader.at), "OPTIONS") {
        reader.at += 1;
        reader.options()?
    } else {
        Vec::new()
    };
    let end = reader.at;
    let rest = tokens[..start].iter().chain(&tokens[end..]).cloned().collect();
    Ok((Some(options), rest))
}

fn is_word(token: Option<&TokenWithSpan>, word: &str) -> bool {
    matches!(token.map(|t| &t.token),
        Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

fn is_keyword(token: Option<&TokenWithSpan>, keyword: Keyword) -> bool {
    matches!(token.map(|t| &t.token), Some(Token::Word(w)) if w.keyword == keyword)
}

/// Reads `( name = value, … )`.
struct OptionReader<'a> {
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl OptionReader<'_> {
    fn next(&mut self) -> Token {
        let token = self.tokens.get(self.at).map_or(Token::EOF, |t| t.token.clone());
        self.at += 1;
        token
    }

    fn refuse<T>(&self, found: &Token, wanted: &str) -> Result<T, Refusal> {
        let shown = if *found == Token::EOF { "the end".to_owned() } else { format!("`{found}`") };
        Err(Refusal::new(
            format!("in OPTIONS, {shown} stands where {wanted} should be"),
            "OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = 3)",
        ))
    }

    fn options(&mut self) -> Result<Vec<QueryOption>, Refusal> {
        match self.next() {
            Token::LParen => {}
            other => return self.refuse(&other, "`(`"),
        }
        let mut options: Vec<QueryOption> = Vec::new();
        loop {
            let name = match self.next() {
                Token::RParen if options.is_empty() => return Ok(options),
                Token::Word(word) => word.value.to_lowercase(),
                other => return self.refuse(&other, "an option's name"),
            };
            match self.next() {
                Token::Eq => {}
                other => return self.refuse(&other, "`=`"),
            }
            let value = match self.next() {
                Token::Minus => format!("-{}", self.next()),
                Token::Plus => self.next().to_string(),
                Token::Number(text, _) => text,
                Token::Word(word) => word.value,
                Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => text,
                other => return self.refuse(&other, "a value"),
            };
            if options.iter().any(|o| o.name == name) {
                return Err(Refusal::new(
                    format!("the option `{name}` is given twice"),
                    "give every option once",
                ));
            }
            options.push(QueryOption { name, value });
            match self.next() {
                Token::Comma => {}
                Token::RParen => return Ok(options),
                other => return self.refuse(&other, "`,` or `)`"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clause_is_lifted_out() {
        let parsed = parse(
            "select WITH differential_privacy OPTIONS (epsilon=1.5, Delta = 1e-5, \
             privacy_unit_column = `user id`, group_selection_strategy = 'OPTIMAL') k, COUNT(*) \
             FROM t GROUP BY k;",
        )
        .unwrap();
        let options: Vec<_> =
            parsed.options.iter().map(|o| (o.name.as_str(), o.value.as_str())).collect();
        assert_eq!(
            options,
            [
                ("epsilon", "1.5"),
                ("delta", "1e-5"),
                ("privacy_unit_column", "user id"),
                ("group_selection_strategy", "OPTIMAL"),
            ]
        );
        assert_eq!(parsed.query.to_string(), "SELECT k, COUNT(*) FROM t GROUP BY k");
    }

    #[test]
    fn without_a_clause_or_options() {
        assert!(parse("SELECT 1 FROM t").unwrap().options.is_empty());
        assert!(parse("SELECT WITH DIFFERENTIAL_PRIVACY 1 FROM t").unwrap().options.is_empty());
        let empty = parse("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS () 1 FROM t").unwrap();
        assert!(empty.options.is_empty());
    }

    #[test]
    fn what_is_not_one_select_is_refused() {
        for (text, part) in [
            ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon 1) 1 FROM t", "where `=`"),
            ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon=1", "the end"),
            ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (a=1, a=2) 1 FROM t", "twice"),
            ("DELETE FROM t WHERE true", "DELETE"),
            ("SELECT 1; SELECT 2", "exactly one"),
            ("", "exactly one"),
            ("SELEC 1", "not valid SQL"),
            ("SELECT 'a", "not valid SQL"),
        ] {
            let refusal = parse(text).unwrap_err();
            assert!(refusal.what.contains(part), "{text}: {}", refusal.what);
        }
        let deep = format!("SELECT {}1{} FROM t", "(".repeat(500), ")".repeat(500));
        assert!(parse(&deep).unwrap_err().what.contains("nested"));
    }
}
