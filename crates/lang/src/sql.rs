//! From text to the syntax tree: lifts the differential privacy clause out, parses the rest.

mod dialect;
mod double_operators;
mod foreign_clauses;
mod named_parameters;
mod quantified;
mod text_constants;
mod today;
pub use today::today;
mod token_limits;

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

use self::dialect::GoogleSql;
use crate::error::Refusal;

pub use self::named_parameters::with_parameters;

/// Longest query or expression, in bytes.
pub const MAX_QUERY_BYTES: usize = 65_536;
/// Deepest nesting of a query's syntax.
const MAX_NESTING: usize = 60;

const FORM: &str = "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6) \
                    key, COUNT(*) FROM table GROUP BY key";

/// One `name = value` of the OPTIONS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryOption {
    /// The name as written.
    pub name: String,
    /// The value as written: a number, a name or a text without its quotes.
    pub value: String,
    /// Where it stands.
    pub span: Span,
}

/// A query before it is checked.
#[derive(Debug)]
pub struct ParsedQuery {
    /// The clauses WITH DIFFERENTIAL_PRIVACY.
    pub clauses: Vec<PrivacyClause>,
    /// The query, without these clauses.
    pub query: ast::Query,
}

/// `WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]` of one SELECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivacyClause {
    /// Where its SELECT stands.
    pub select: Location,
    /// The options in parentheses.
    pub options: Vec<QueryOption>,
}

/// Where the first statement of a text ends: behind its `;`, which no text, name or comment holds.
/// `None` while it is not complete. `quoted_names` where double quotes are those of names.
pub fn statement_end(text: &str, quoted_names: bool) -> Option<usize> {
    let mut tokens = Vec::new();
    // The tokens before a text that does not end yet are there anyway.
    let _ =
        Tokenizer::new(&dialect(quoted_names), text).tokenize_with_location_into_buf(&mut tokens);
    let end = tokens.iter().find(|token| token.token == Token::SemiColon)?.span.end;
    let line_at = |n: usize| text.split_inclusive('\n').take(n).map(str::len).sum::<usize>();
    let start = line_at(usize::try_from(end.line.checked_sub(1)?).ok()?);
    let before = usize::try_from(end.column.checked_sub(1)?).ok()?;
    let line = text.get(start..)?;
    Some(start + line.chars().take(before).map(char::len_utf8).sum::<usize>())
}

/// Where a SELECT stands in the text.
pub fn select_at(select: &ast::Select) -> Location {
    select.select_token.0.span.start
}

/// Parses a query; `quoted_names` where double quotes are those of names and backslashes plain
/// characters, as in PostgreSQL. Its CURRENT_DATE is `day`.
pub fn parse(text: &str, quoted_names: bool, day: Option<&str>) -> Result<ParsedQuery, Refusal> {
    if text.len() > MAX_QUERY_BYTES {
        return Err(Refusal::new(
            format!("the query has {} bytes; at most {MAX_QUERY_BYTES} are allowed", text.len()),
            "move long lists of values into the contract's public_keys",
        ));
    }
    let dialect = dialect(quoted_names);
    let not_sql = |error| syntax_error(error, "not valid SQL", FORM);
    let tokens = today::put_in(tokens(text, &dialect, not_sql)?, day);
    let (clauses, tokens) = lift_clauses(tokens)?;
    token_limits::check(&tokens)?;
    only_select(&tokens)?;
    foreign_clauses::check_clauses(&tokens)?;
    let mut parser = parser(&dialect, tokens);
    while parser.consume_token(&Token::SemiColon) {}
    let mut query = parser.parse_query().map_err(not_sql)?;
    if parser.consume_token(&Token::SemiColon) {
        while parser.consume_token(&Token::SemiColon) {}
        if parser.peek_token_ref().token != Token::EOF {
            return Err(one_select());
        }
    }
    if parser.peek_token_ref().token != Token::EOF {
        return parser.expected_ref("the end", parser.peek_token_ref()).map_err(not_sql);
    }
    quantified::as_memberships(&mut query);
    Ok(ParsedQuery { clauses, query: *query })
}

/// Makes a text in double quotes a name.
fn name_in_quotes(token: &mut TokenWithSpan) {
    if let Token::DoubleQuotedString(name) = &token.token {
        token.token = Token::make_word(name, Some('`'));
    }
}

/// Parses a lone expression, as in a contract.
pub fn parse_expression(text: &str, quoted_names: bool) -> Result<ast::Expr, Refusal> {
    if text.len() > MAX_QUERY_BYTES {
        return Err(Refusal::new(
            format!(
                "the expression has {} bytes; at most {MAX_QUERY_BYTES} are allowed",
                text.len()
            ),
            "split it over several computed columns",
        ));
    }
    let dialect = dialect(quoted_names);
    let not_sql =
        |error| syntax_error(error, "not an SQL expression", "for example DIV(naics, 10000)");
    let tokens = tokens(text, &dialect, not_sql)?;
    token_limits::check(&tokens)?;
    let mut parser = parser(&dialect, tokens);
    let expression = parser.parse_expr().map_err(not_sql)?;
    parser.expect_token(&Token::EOF).map_err(not_sql)?;
    Ok(expression)
}

fn dialect(quoted_names: bool) -> GoogleSql {
    GoogleSql::new(token_limits::MAX_WORK, quoted_names)
}

/// The tokens, without blanks and comments.
fn tokens(
    text: &str,
    dialect: &GoogleSql,
    not_sql: impl Fn(ParserError) -> Refusal,
) -> Result<Vec<TokenWithSpan>, Refusal> {
    let mut tokenizer = Tokenizer::new(dialect, text).with_unescape(false);
    let mut tokens = tokenizer.tokenize_with_location().map_err(|e| not_sql(e.into()))?;
    foreign_clauses::check_comments(&tokens)?;
    tokens.retain(|t| !matches!(t.token, Token::Whitespace(_)));
    double_operators::join(&mut tokens);
    text_constants::resolve(&mut tokens, dialect.quoted_names())?;
    if dialect.quoted_names() {
        tokens.iter_mut().for_each(name_in_quotes);
    }
    Ok(tokens)
}

fn parser(dialect: &GoogleSql, tokens: Vec<TokenWithSpan>) -> Parser<'_> {
    Parser::new(dialect).with_recursion_limit(MAX_NESTING).with_tokens_with_locations(tokens)
}

/// Refuses other statements by their first word.
fn only_select(tokens: &[TokenWithSpan]) -> Result<(), Refusal> {
    let before = tokens.iter().take_while(|token| token.token == Token::SemiColon).count();
    match tokens.get(before).map(|first| &first.token) {
        None | Some(Token::EOF) => Err(one_select()),
        Some(Token::Word(word))
            if !matches!(word.keyword, Keyword::NoKeyword | Keyword::SELECT | Keyword::WITH) =>
        {
            let tokens = tokens.get(before..).unwrap_or_default();
            Err(foreign_clauses::other_statement(&word.value.to_uppercase(), tokens))
        }
        _ => Ok(()),
    }
}

fn one_select() -> Refusal {
    Refusal::new("a query must be exactly one SELECT", FORM)
}

fn nested_too_deep() -> Refusal {
    Refusal::new(
        format!("the SQL is nested more than {MAX_NESTING} deep"),
        "use IN (…) for long chains of OR, and computed columns in the contract for long formulas",
    )
}

fn syntax_error(error: ParserError, what: &str, hint: &str) -> Refusal {
    match error {
        ParserError::RecursionLimitExceeded => nested_too_deep(),
        other => {
            let text = other.to_string();
            let text = text.strip_prefix("sql parser error: ").unwrap_or(&text);
            let refusal = Refusal::new(format!("{what}: {text}"), hint);
            match location_of(text) {
                Some(location) => refusal.at_span(token_limits::one(location)),
                None => refusal,
            }
        }
    }
}

/// The location that the parser's message ends with: it gives none otherwise.
fn location_of(message: &str) -> Option<Location> {
    let (_, position) = message.rsplit_once(" at Line: ")?;
    let (line, column) = position.split_once(", Column: ")?;
    Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })
}

/// Takes every `WITH DIFFERENTIAL_PRIVACY [OPTIONS (…)]` out of the tokens.
fn lift_clauses(
    tokens: Vec<TokenWithSpan>,
) -> Result<(Vec<PrivacyClause>, Vec<TokenWithSpan>), Refusal> {
    let (mut clauses, mut rest) = (Vec::new(), Vec::with_capacity(tokens.len()));
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if !is_word(Some(token), "WITH") || !is_word(tokens.get(at + 1), "DIFFERENTIAL_PRIVACY") {
            rest.push(token.clone());
            at += 1;
            continue;
        }
        let select = rest.last().filter(|token| is_keyword(Some(token), Keyword::SELECT));
        let Some(select) = select.map(|token| token.span.start) else {
            return Err(Refusal::new("WITH DIFFERENTIAL_PRIVACY must follow SELECT", FORM));
        };
        let mut reader = OptionReader { tokens: &tokens, at: at + 2 };
        let options = if is_word(tokens.get(reader.at), "OPTIONS") {
            reader.at += 1;
            reader.options()?
        } else {
            Vec::new()
        };
        at = reader.at;
        clauses.push(PrivacyClause { select, options });
    }
    Ok((clauses, rest))
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

    fn refuse<T>(&self, found: &Token, expected: &str) -> Result<T, Refusal> {
        let rendered =
            if *found == Token::EOF { "the end".to_owned() } else { format!("`{found}`") };
        let previous = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        Err(Refusal::new(
            format!("OPTIONS has {rendered} where {expected} should be"),
            "OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = 3)",
        )
        .at_span(previous.map_or(Span::empty(), |token| token.span)))
    }

    fn options(&mut self) -> Result<Vec<QueryOption>, Refusal> {
        match self.next() {
            Token::LParen => {}
            other => return self.refuse(&other, "`(`"),
        }
        let mut options: Vec<QueryOption> = Vec::new();
        loop {
            let from = self.at;
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
            let spans = self.tokens.get(from..self.at).unwrap_or_default().iter();
            let span = Span::union_iter(spans.map(|token| token.span));
            if options.iter().any(|o| o.name == name) {
                return Err(Refusal::new(
                    format!("the option `{name}` is given twice"),
                    "give every option once",
                )
                .at_span(span));
            }
            options.push(QueryOption { name, value, span });
            match self.next() {
                Token::Comma => {}
                Token::RParen => return Ok(options),
                other => return self.refuse(&other, "`,` or `)`"),
            }
        }
    }
}

#[cfg(test)]
mod tests;
