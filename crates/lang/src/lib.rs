//! The language of queries: types and values, expressions with their ranges and costs, text
//! patterns, and the door that SQL comes through. It knows columns by their names and types alone.

pub mod aggregate_names;
pub mod bind_expr;
mod call;
pub mod cost;
mod date_forms;
mod error;
mod expr;
mod like;
mod pattern;
mod place;
mod presence;
pub mod range;
pub mod sql;
mod types;

pub use bind_expr::{bind_expression, function_names};
pub use call::Call;
pub use cost::MAX_ROW_OPERATIONS;
pub use date_forms::{FormPiece, form_pieces};
pub use error::{Refusal, did_you_mean, similar};
pub use expr::{BinaryOp, DatePart, Expr, ExprKind, Function, MatchUse, Rows};
pub use like::like_parts;
pub use pattern::{GroupCache, Pattern, Prepared, TemplatePiece, looks_allowed, template};
pub use place::Placed;
pub use range::rounded;
pub use sql::{MAX_QUERY_BYTES, statement_end, with_parameters};
pub use types::{
    ColumnType, DEFAULT_TEXT_BYTES, MAX_KEY_BYTES, MAX_NUMBER_BYTES, MAX_SCALE, MAX_STRING_BYTES,
    Value, calendar_day, calendar_moment, text_as_sql,
};
