//! The language of queries: types and values, expressions with their ranges and costs, text
//! patterns, and the door that SQL comes through. It knows columns by their names and types alone.

pub mod aggregate_names;
pub mod bind_expr;
mod call;
pub mod cost;
mod date_forms;
mod date_part;
mod error;
mod expr;
mod functions;
mod json;
mod json_path;
mod like;
mod number_range;
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
pub use date_part::DatePart;
pub use error::{Refusal, did_you_mean, similar};
pub use expr::{BinaryOp, EarlierRows, Expr, ExprKind, KeyedValues, MatchUse};
pub use functions::{Function, function_examples};
pub use json::{
    JsonKind, JsonMember, JsonMembers, JsonNesting, JsonScanner, JsonValue, MAX_JSON_DEPTH,
    NotAnObject,
};
pub use json_path::{JsonPath, JsonStep};
pub use like::like_segments;
pub use number_range::rounded;
pub use pattern::{GroupCache, Pattern, PreparedPatterns, TemplatePiece, looks_allowed, template};
pub use place::Placed;
pub use sql::{MAX_QUERY_BYTES, statement_end, with_parameters};
pub use types::{
    ColumnType, DEFAULT_TEXT_BYTES, MAX_KEY_BYTES, MAX_NUMBER_BYTES, MAX_SCALE, MAX_STRING_BYTES,
    Value, calendar_day, calendar_moment, calendar_month, text_as_sql,
};
