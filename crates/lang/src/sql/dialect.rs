//! GoogleSQL for the parser, without its second attempts.

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Interval, ObjectName, Subscript, Value,
};
use sqlparser::dialect::{BigQueryDialect, Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Word};

use super::double_operators::POWER;

/// Most patterns of LIKE ANY.
const MAX_PATTERNS: usize = 100;
/// Most characters of what is matched with each of them.
const MAX_MATCHED: usize = 200;

/// GoogleSQL, in which every word has one meaning where it stands.
///
/// The parser tries a word in several ways (as a type before a literal, as a form of its own such
/// as CAST, as a name), and each failed attempt has parsed all that is nested in it: the work
/// doubles with every level. Here the word and the token after it decide, so that a text is parsed
/// once.
#[derive(Debug)]
pub(super) struct GoogleSql {
    base: BigQueryDialect,
    /// How many more expressions may begin. A text needs one for each of its tokens at most, so
    /// this ends only what the parser would try over and over.
    attempts: Cell<usize>,
    /// Double quotes are those of names, and backslashes plain characters, as in PostgreSQL.
    quoted_names: bool,
}

impl GoogleSql {
    pub(super) fn new(attempts: usize, quoted_names: bool) -> Self {
        Self { base: BigQueryDialect, attempts: Cell::new(attempts), quoted_names }
    }

    /// Whether double quotes are those of names.
    pub(super) fn quoted_names(&self) -> bool {
        self.quoted_names
    }

    /// The precedence of powers: between signs and products.
    fn powers(&self) -> u8 {
        self.prec_value(Precedence::MulDivModOp) + 1
    }

    #[cfg(test)]
    pub(super) fn attempts_left(&self) -> usize {
        self.attempts.get()
    }
}

impl Dialect for GoogleSql {
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let Some(left) = self.attempts.get().checked_sub(1) else {
            return Some(Err(ParserError::RecursionLimitExceeded));
        };
        self.attempts.set(left);
        let Token::Word(word) = &parser.peek_token_ref().token else { return None };
        match meaning(word, &parser.peek_nth_token_ref(1).token) {
            Meaning::Form => None,
            Meaning::Interval => {
                parser.advance_token();
                Some(interval(parser))
            }
            Meaning::Position => {
                let word = word.clone();
                Some(position(parser, &word, self.prec_value(Precedence::Between)))
            }
            Meaning::Name => {
                let word = word.clone();
                Some(name(parser, &word))
            }
        }
    }

    /// Powers are computed before products. Arrows into JSON are computed before comparisons and
    /// with `||` from left to right, as in PostgreSQL.
    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::CustomBinaryOperator(operator) if operator == POWER => Some(Ok(self.powers())),
            Token::Arrow | Token::LongArrow => Some(Ok(self.prec_value(Precedence::MulDivModOp))),
            _ => None,
        }
    }

    /// The parser takes all that follows IS DISTINCT FROM for its right side, also behind AND and
    /// OR, and knows no LIKE ALL.
    fn parse_infix(
        &self,
        parser: &mut Parser,
        left: &Expr,
        _: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let is_word = |at: usize, keyword: Keyword| {
            matches!(
                &parser.peek_nth_token_ref(at).token,
                Token::Word(word) if word.keyword == keyword
            )
        };
        let operator = match &parser.peek_token_ref().token {
            Token::DuckIntDiv => {
                let precedence = self.prec_value(Precedence::MulDivModOp);
                Some((BinaryOperator::DuckIntegerDivide, precedence))
            }
            Token::CustomBinaryOperator(operator) if operator == POWER => {
                Some((BinaryOperator::Custom(operator.clone()), self.powers()))
            }
            _ => None,
        };
        if let Some((op, precedence)) = operator {
            parser.advance_token();
            let left = Box::new(left.clone());
            let right = parser.parse_subexpr(precedence);
            return Some(right.map(|right| Expr::BinaryOp { left, op, right: Box::new(right) }));
        }
        let any_case = is_word(0, Keyword::ILIKE);
        let all = is_word(1, Keyword::ALL);
        let quantified = all || is_word(1, Keyword::ANY) || is_word(1, Keyword::SOME);
        if (any_case || is_word(0, Keyword::LIKE))
            && quantified
            && parser.peek_nth_token_ref(2).token == Token::LParen
        {
            (0..3).for_each(|_| parser.advance_token());
            return Some(like_each(parser, left, any_case, all));
        }
        let negated = is_word(1, Keyword::NOT);
        let words = if negated { 4 } else { 3 };
        if !is_word(0, Keyword::IS)
            || !is_word(words - 2, Keyword::DISTINCT)
            || !is_word(words - 1, Keyword::FROM)
        {
            return None;
        }
        (0..words).for_each(|_| parser.advance_token());
        let left = Box::new(left.clone());
        Some(parser.parse_subexpr(self.prec_value(Precedence::Is)).map(|right| {
            let right = Box::new(right);
            if negated {
                Expr::IsNotDistinctFrom(left, right)
            } else {
                Expr::IsDistinctFrom(left, right)
            }
        }))
    }

    /// Words that begin a form are nothing else if the form is wrong.
    fn is_reserved_for_identifier(&self, _: Keyword) -> bool {
        true
    }

    /// Reads EXCLUDE, which is EXCEPT in other engines.
    fn supports_select_wildcard_exclude(&self) -> bool {
        true
    }

    /// The parser and the tokeniser ask for BigQuery's dialect in places.
    fn dialect(&self) -> TypeId {
        self.base.dialect()
    }

    fn is_delimited_identifier_start(&self, c: char) -> bool {
        self.base.is_delimited_identifier_start(c)
    }

    fn is_identifier_start(&self, c: char) -> bool {
        self.base.is_identifier_start(c)
    }

    fn is_identifier_part(&self, c: char) -> bool {
        self.base.is_identifier_part(c)
    }

    fn is_column_alias(&self, word: &Keyword, parser: &mut Parser) -> bool {
        self.base.is_column_alias(word, parser)
    }

    fn supports_projection_trailing_commas(&self) -> bool {
        self.base.supports_projection_trailing_commas()
    }

    fn supports_triple_quoted_string(&self) -> bool {
        !self.quoted_names
    }

    fn supports_string_literal_backslash_escape(&self) -> bool {
        !self.quoted_names
    }

    /// E'…', in which backslashes begin escapes.
    fn supports_string_escape_constant(&self) -> bool {
        self.quoted_names
    }

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        self.base.supports_window_function_null_treatment_arg()
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        self.base.supports_window_clause_named_window_reference()
    }

    fn supports_select_wildcard_except(&self) -> bool {
        self.base.supports_select_wildcard_except()
    }

    fn supports_select_wildcard_replace(&self) -> bool {
        self.base.supports_select_wildcard_replace()
    }

    fn supports_select_expr_star(&self) -> bool {
        self.base.supports_select_expr_star()
    }

    fn supports_group_by_expr(&self) -> bool {
        self.base.supports_group_by_expr()
    }

    /// GROUP BY a, b WITH ROLLUP, as in MySQL.
    fn supports_group_by_with_modifier(&self) -> bool {
        true
    }

    fn supports_struct_literal(&self) -> bool {
        self.base.supports_struct_literal()
    }

    fn supports_table_versioning(&self) -> bool {
        self.base.supports_table_versioning()
    }

    fn supports_pipe_operator(&self) -> bool {
        self.base.supports_pipe_operator()
    }

    fn supports_comma_separated_trim(&self) -> bool {
        self.base.supports_comma_separated_trim()
    }

    fn require_interval_qualifier(&self) -> bool {
        self.base.require_interval_qualifier()
    }

    /// LIMIT 20, 10, as in MySQL.
    fn supports_limit_comma(&self) -> bool {
        true
    }

    /// COUNT(*) FILTER (WHERE …), as in standard SQL.
    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }
}

/// The role of a word at the start of an expression.
enum Meaning {
    /// The start of a form that the parser knows, or of a literal.
    Form,
    Interval,
    /// POSITION(x IN y).
    Position,
    /// A name of a column or function.
    Name,
}

fn meaning(word: &Word, next: &Token) -> Meaning {
    let is_form = match word.keyword {
        Keyword::INTERVAL => return Meaning::Interval,
        Keyword::POSITION if *next == Token::LParen => return Meaning::Position,
        Keyword::CASE
        | Keyword::NOT
        | Keyword::NULL
        | Keyword::TRUE
        | Keyword::FALSE
        | Keyword::EXISTS
        | Keyword::STRUCT
        | Keyword::CURRENT_DATE
        | Keyword::CURRENT_TIME
        | Keyword::CURRENT_TIMESTAMP
        | Keyword::LOCALTIME
        | Keyword::LOCALTIMESTAMP => true,
        Keyword::ARRAY => matches!(next, Token::LBracket | Token::LParen | Token::Lt),
        // Elsewhere these are names: of floors, of casts.
        Keyword::CAST
        | Keyword::TRY_CAST
        | Keyword::SAFE_CAST
        | Keyword::CONVERT
        | Keyword::EXTRACT
        | Keyword::CEIL
        | Keyword::FLOOR
        | Keyword::SUBSTR
        | Keyword::SUBSTRING
        | Keyword::OVERLAY
        | Keyword::TRIM => *next == Token::LParen,
        _ => false,
    };
    // A literal such as DATE '2026-01-31'.
    if is_form || text(next).is_some() { Meaning::Form } else { Meaning::Name }
}

/// The text of a text constant.
fn text(token: &Token) -> Option<&String> {
    match token {
        Token::SingleQuotedString(text)
        | Token::DoubleQuotedString(text)
        | Token::TripleSingleQuotedString(text)
        | Token::TripleDoubleQuotedString(text)
        | Token::SingleQuotedRawStringLiteral(text)
        | Token::DoubleQuotedRawStringLiteral(text)
        | Token::TripleSingleQuotedRawStringLiteral(text)
        | Token::TripleDoubleQuotedRawStringLiteral(text) => Some(text),
        _ => None,
    }
}

/// A column or a call of a function, with its path.
fn name(parser: &mut Parser, first: &Word) -> Result<Expr, ParserError> {
    let mut path = vec![first.to_ident(parser.next_token().span)];
    while parser.peek_token_ref().token == Token::Period
        && matches!(parser.peek_nth_token_ref(1).token, Token::Word(_))
    {
        parser.advance_token();
        path.push(parser.parse_identifier()?);
    }
    if parser.peek_token_ref().token == Token::LParen {
        let called = parser.parse_function(ObjectName::from(path))?;
        return element(parser, called);
    }
    Ok(match <[_; 1]>::try_from(path) {
        Ok([only]) => Expr::Identifier(only),
        Err(path) => Expr::CompoundIdentifier(path),
    })
}

/// An element of what a function gives, as in f(x)[OFFSET(1)].
fn element(parser: &mut Parser, of: Expr) -> Result<Expr, ParserError> {
    if !parser.consume_token(&Token::LBracket) {
        return Ok(of);
    }
    let index = parser.parse_expr()?;
    parser.expect_token(&Token::RBracket)?;
    let access_chain = vec![AccessExpr::Subscript(Subscript::Index { index })];
    Ok(Expr::CompoundFieldAccess { root: Box::new(of), access_chain })
}

/// LIKE ANY (…) and LIKE ALL (…) after the bracket: a chain of LIKE.
fn like_each(
    parser: &mut Parser,
    value: &Expr,
    any_case: bool,
    all: bool,
) -> Result<Expr, ParserError> {
    let patterns = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    if patterns.len() > MAX_PATTERNS {
        let many = format!("LIKE ANY and LIKE ALL take at most {MAX_PATTERNS} patterns");
        return Err(ParserError::ParserError(many));
    }
    // It is written out for each pattern, and a chain of chains would grow without end.
    if value.to_string().len() > MAX_MATCHED {
        let long = format!(
            "what stands before LIKE ANY and LIKE ALL takes at most {MAX_MATCHED} characters; \
             give it a name in a sub-query"
        );
        return Err(ParserError::ParserError(long));
    }
    let like = |pattern: Expr| {
        let (expr, pattern) = (Box::new(value.clone()), Box::new(pattern));
        match any_case {
            true => Expr::ILike { negated: false, any: false, expr, pattern, escape_char: None },
            false => Expr::Like { negated: false, any: false, expr, pattern, escape_char: None },
        }
    };
    let op = if all { BinaryOperator::And } else { BinaryOperator::Or };
    let joined = |left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: op.clone(),
        right: Box::new(right),
    };
    let chain = patterns.into_iter().map(like).reduce(joined);
    chain
        .map(|chain| Expr::Nested(Box::new(chain)))
        .ok_or_else(|| ParserError::ParserError("LIKE ANY and LIKE ALL need a pattern".to_owned()))
}

/// Parses what follows the word INTERVAL. A text alone has its parts in it, as in INTERVAL '30
/// days'.
fn interval(parser: &mut Parser) -> Result<Expr, ParserError> {
    if let Some(text) = text(&parser.peek_token_ref().token).cloned() {
        let span = parser.next_token().span;
        if !parser.next_token_is_temporal_unit() {
            return Ok(Expr::Interval(Interval {
                value: Box::new(Expr::Value(Value::SingleQuotedString(text).with_span(span))),
                leading_field: None,
                leading_precision: None,
                last_field: None,
                fractional_seconds_precision: None,
            }));
        }
        parser.prev_token();
    }
    parser.parse_interval()
}

/// POSITION(x IN y); other calls of that name are calls. `x` ends before IN.
fn position(parser: &mut Parser, first: &Word, before_in: u8) -> Result<Expr, ParserError> {
    let name = first.to_ident(parser.next_token().span);
    parser.expect_token(&Token::LParen)?;
    let mut operands = Vec::new();
    if parser.peek_token_ref().token != Token::RParen {
        operands.push(parser.parse_subexpr(before_in)?);
        if let Some(needle) = operands.pop_if(|_| parser.parse_keyword(Keyword::IN)) {
            let text = parser.parse_expr()?;
            parser.expect_token(&Token::RParen)?;
            return Ok(Expr::Position { expr: Box::new(needle), r#in: Box::new(text) });
        }
        while parser.consume_token(&Token::Comma) {
            operands.push(parser.parse_expr()?);
        }
    }
    parser.expect_token(&Token::RParen)?;
    let operand = |e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e));
    let list = FunctionArgumentList {
        duplicate_treatment: None,
        args: operands.into_iter().map(operand).collect(),
        clauses: Vec::new(),
    };
    Ok(Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }))
}
