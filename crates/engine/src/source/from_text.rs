//! From fields of text to arrays.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::array::builder::{
    BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder,
    StringViewBuilder, TimestampMicrosecondBuilder,
};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::ColumnType;

use super::convert::{ReadType, decimals};
use super::parse::{ParsedField, TextParser};

/// Collects fields of text into an array of a column's type.
pub(crate) struct TextColumn {
    values: ColumnBuilder,
    parser: Arc<TextParser>,
}

enum ColumnBuilder {
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

impl ColumnBuilder {
    fn of(declared: ColumnType, rows: usize) -> Self {
        match declared {
            ColumnType::Bool => Self::Bool(BooleanBuilder::with_capacity(rows)),
            ColumnType::Int => Self::Int(Int64Builder::with_capacity(rows)),
            ColumnType::Decimal { scale } => {
                Self::Decimal(Decimal128Builder::with_capacity(rows), scale)
            }
            ColumnType::Float => Self::Float(Float64Builder::with_capacity(rows)),
            ColumnType::String => Self::String(StringViewBuilder::with_capacity(rows)),
            ColumnType::Date => Self::Date(Date32Builder::with_capacity(rows)),
            ColumnType::Timestamp => {
                Self::Timestamp(TimestampMicrosecondBuilder::with_capacity(rows))
            }
        }
    }
}

impl TextColumn {
    pub(super) fn new(to: ReadType, parser: &Arc<TextParser>, rows: usize) -> Self {
        let (values, parser) = match to {
            ReadType::Value(declared) => (ColumnBuilder::of(declared, rows), Arc::clone(parser)),
            ReadType::Identifier(declared) => {
                (ColumnBuilder::of(declared, rows), Arc::new(parser.exactly()))
            }
            ReadType::Wide => {
                let values = ColumnBuilder::Wide(Decimal128Builder::with_capacity(rows));
                (values, Arc::new(parser.exactly()))
            }
        };
        Self { values, parser }
    }

    /// Appends a field, or NULL if there is none or it is not a value of the column. Says which.
    pub(super) fn push(&mut self, field: Option<&[u8]>) -> ParsedField<()> {
        let parser = &self.parser;
        match &mut self.values {
            ColumnBuilder::Bool(out) => parser.bool(field).give(|v| out.append_option(v)),
            ColumnBuilder::Int(out) => parser.int(field).give(|v| out.append_option(v)),
            ColumnBuilder::Decimal(out, scale) => {
                parser.decimal(field, *scale).give(|v| out.append_option(v))
            }
            ColumnBuilder::Wide(out) => parser.wide(field).give(|v| out.append_option(v)),
            ColumnBuilder::Float(out) => parser.float(field).give(|v| out.append_option(v)),
            ColumnBuilder::String(out) => parser.string(field).give(|v| out.append_option(v)),
            ColumnBuilder::Date(out) => parser.date(field).give(|v| out.append_option(v)),
            ColumnBuilder::Timestamp(out) => parser.timestamp(field).give(|v| out.append_option(v)),
        }
    }

    /// The values so far; the column is empty afterwards.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match &mut self.values {
            ColumnBuilder::Bool(out) => Arc::new(out.finish()),
            ColumnBuilder::Int(out) => Arc::new(out.finish()),
            ColumnBuilder::Decimal(out, scale) => decimals(out.finish(), *scale)?,
            ColumnBuilder::Wide(out) => decimals(out.finish(), 0)?,
            ColumnBuilder::Float(out) => Arc::new(out.finish()),
            ColumnBuilder::String(out) => Arc::new(out.finish()),
            ColumnBuilder::Date(out) => Arc::new(out.finish()),
            ColumnBuilder::Timestamp(out) => Arc::new(out.finish()),
        })
    }
}
