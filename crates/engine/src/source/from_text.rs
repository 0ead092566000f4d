//! From fields of text to arrays.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::array::builder::{
    BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder,
    StringViewBuilder, TimestampMicrosecondBuilder,
};
use datafusion::arrow::error::ArrowError;
use hushtable_query::ColumnType;

use super::convert::{Target, decimals};
use super::parse::{Parsed, TextParser};

/// Collects fields of text into an array of a column's type.
pub(crate) struct TextColumn {
    values: Values,
    parser: Arc<TextParser>,
}

enum Values {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Decimal(Decimal128Builder, u8),
    /// Whole numbers of up to 38 digits.
    Wide(Decimal128Builder),
    Float(Float64Builder),
    String(StringViewBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

impl TextColumn {
    pub(super) fn new(to: Target, parser: &Arc<TextParser>, rows: usize) -> Self {
        let values = match to {
            Target::Wide => Values::Wide(Decimal128Builder::with_capacity(rows)),
            Target::Value(ColumnType::Bool) => Values::Bool(BooleanBuilder::with_capacity(rows)),
            Target::Value(ColumnType::Int) => Values::Int(Int64Builder::with_capacity(rows)),
            Target::Value(ColumnType::Decimal { scale }) => {
                Values::Decimal(Decimal128Builder::with_capacity(rows), scale)
            }
            Target::Value(ColumnType::Float) => Values::Float(Float64Builder::with_capacity(rows)),
            Target::Value(ColumnType::String) => {
                Values::String(StringViewBuilder::with_capacity(rows))
            }
            Target::Value(ColumnType::Date) => Values::Date(Date32Builder::with_capacity(rows)),
            Target::Value(ColumnType::Timestamp) => {
                Values::Timestamp(TimestampMicrosecondBuilder::with_capacity(rows))
            }
        };
        Self { values, parser: Arc::clone(parser) }
    }

    /// Appends a field, or NULL if there is none or it is not a value of the column. Says which.
    pub(super) fn push(&mut self, field: Option<&[u8]>) -> Parsed<()> {
        let parser = &self.parser;
        match &mut self.values {
            Values::Bool(out) => parser.bool(field).give(|v| out.append_option(v)),
            Values::Int(out) => parser.int(field).give(|v| out.append_option(v)),
            Values::Decimal(out, scale) => {
                parser.decimal(field, *scale).give(|v| out.append_option(v))
            }
            Values::Wide(out) => parser.wide(field).give(|v| out.append_option(v)),
            Values::Float(out) => parser.float(field).give(|v| out.append_option(v)),
            Values::String(out) => parser.string(field).give(|v| out.append_option(v)),
            Values::Date(out) => parser.date(field).give(|v| out.append_option(v)),
            Values::Timestamp(out) => parser.timestamp(field).give(|v| out.append_option(v)),
        }
    }

    /// The values so far; the column is empty afterwards.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match &mut self.values {
            Values::Bool(out) => Arc::new(out.finish()),
            Values::Int(out) => Arc::new(out.finish()),
            Values::Decimal(out, scale) => decimals(out.finish(), *scale)?,
            Values::Wide(out) => decimals(out.finish(), 0)?,
            Values::Float(out) => Arc::new(out.finish()),
            Values::String(out) => Arc::new(out.finish()),
            Values::Date(out) => Arc::new(out.finish()),
            Values::Timestamp(out) => Arc::new(out.finish()),
        })
    }
}
