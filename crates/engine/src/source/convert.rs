//! Which types of a file can become which declared types: decided by types alone.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{ColumnType, MAX_SCALE};
use hushtable_numbers::decimal::MOST_DIGITS;

/// Digits of every decimal.
pub(crate) const MAX_DIGITS: u8 = MOST_DIGITS;

/// The type that a column is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadType {
    /// Values of a declared type.
    Value(ColumnType),
    /// Values of a declared type that tell units apart: no two values of a file become one.
    Identifier(ColumnType),
    /// Whole numbers of up to 38 digits, to tell the units of an `int` column apart.
    Wide,
}

impl ReadType {
    pub(super) fn arrow_type(self) -> DataType {
        match self {
            Self::Value(declared) | Self::Identifier(declared) => arrow_type(declared),
            Self::Wide => arrow_type(ColumnType::Decimal { scale: 0 }),
        }
    }
}

/// How a file stores a column, as far as conversion is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredType {
    /// Nothing but NULLs.
    Null,
    /// Bytes that should be UTF-8.
    Text,
    /// Booleans.
    Bool,
    /// Integers of any width.
    Int {
        /// Whether some are beyond 64 bits with a sign.
        unsigned_64: bool,
    },
    /// Decimals of any width; of big-endian bytes, too.
    Decimal {
        /// Digits after the point; fewer than none is possible.
        scale: i8,
    },
    /// Floats of any width.
    Float,
    /// Days, or milliseconds that stand for days.
    Date,
    /// Instants of any unit. Without a zone they are taken as UTC.
    Timestamp {
        /// Whether some may be between two microseconds.
        finer: bool,
    },
    /// A type that is not read.
    Other,
}

impl StoredType {
    pub(super) fn of(file_type: &DataType) -> Self {
        match file_type {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool,
            t if t.is_integer() => Self::Int { unsigned_64: *t == DataType::UInt64 },
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => Self::Decimal { scale: *scale },
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Date32 | DataType::Date64 => Self::Date,
            DataType::Timestamp(unit, _) => {
                Self::Timestamp { finer: *unit == TimeUnit::Nanosecond }
            }
            DataType::Dictionary(_, values) => Self::of(values),
            _ => Self::Other,
        }
    }

    /// The type to declare.
    pub(super) fn natural(self) -> Option<ColumnType> {
        Some(match self {
            Self::Null | Self::Text => ColumnType::String,
            Self::Bool => ColumnType::Bool,
            Self::Int { .. } => ColumnType::Int,
            // With more digits after the point than a declared decimal has, all but the last few
            // survive in a float.
            Self::Decimal { scale } => match u8::try_from(scale.max(0)) {
                Ok(scale) if scale <= MAX_SCALE => ColumnType::Decimal { scale },
                _ => ColumnType::Float,
            },
            Self::Float => ColumnType::Float,
            Self::Date => ColumnType::Date,
            Self::Timestamp { .. } => ColumnType::Timestamp,
            Self::Other => return None,
        })
    }

    /// Whether values that are read as `int` may be lost by it, and not by more digits.
    pub(super) fn may_exceed_int(self) -> bool {
        matches!(self, Self::Text | Self::Int { unsigned_64: true } | Self::Decimal { .. })
    }

    /// Whether values can become `declared` without a change that an owner would not expect.
    /// Otherwise a hint.
    pub(super) fn becomes(self, declared: ColumnType) -> Result<(), String> {
        use ColumnType as To;
        let fits = match (self, declared) {
            (Self::Null | Self::Text, _)
            | (Self::Bool, To::Bool | To::Int | To::String)
            | (
                Self::Int { .. },
                To::Bool | To::Int | To::Decimal { .. } | To::Float | To::String,
            )
            | (Self::Float, To::Float)
            | (Self::Decimal { .. }, To::Float)
            | (Self::Date | Self::Timestamp { .. }, To::Date | To::Timestamp) => true,
            // Fewer digits after the point would round.
            (Self::Decimal { scale }, To::Int) => scale <= 0,
            (Self::Decimal { scale }, To::Decimal { scale: to }) => i16::from(scale) <= to.into(),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(match self.natural() {
            Some(natural) => format!("declare it as `{natural}`"),
            None => "leave the column out of the contract, or store it as bool, int, decimal, \
                     float, string, date or timestamp"
                .to_owned(),
        })
    }

    /// Whether two different values stay different as `declared`. Text does by how it is read.
    fn stays_different(self, declared: ColumnType) -> bool {
        use ColumnType as To;
        match (self, declared) {
            (_, To::Float) | (Self::Float, _) => false,
            (Self::Int { .. }, To::Bool) | (Self::Timestamp { .. }, To::Date) => false,
            (Self::Timestamp { finer: true }, _) => false,
            // Where values would be rounded, they do not become the type at all.
            _ => self.becomes(declared).is_ok(),
        }
    }

    /// Whether values as `declared` can tell units apart. Otherwise a hint.
    pub(super) fn identifies(self, declared: ColumnType) -> Result<(), String> {
        if self.stays_different(declared) {
            return Ok(());
        }
        Err(match self.natural().filter(|natural| self.stays_different(*natural)) {
            Some(natural) => format!("declare it as `{natural}`"),
            None => "write it to the files as whole numbers or as text, and declare it as `int` \
                     or `string`"
                .to_owned(),
        })
    }
}

/// The type to declare for a column that is stored in these ways in different files.
pub(super) fn common(types: &[StoredType]) -> Option<ColumnType> {
    let known = || types.iter().copied().filter(|stored| *stored != StoredType::Null);
    if known().next().is_none() {
        return StoredType::Null.natural();
    }
    let candidates = known().filter_map(StoredType::natural);
    let wider = [ColumnType::Float, ColumnType::Timestamp, ColumnType::String];
    candidates.chain(wider).find(|to| {
        known().all(|stored| match (stored, *to) {
            // These are allowed where they are declared, but do not hold every value.
            (StoredType::Text, to) => to == ColumnType::String,
            (StoredType::Int { .. }, ColumnType::Bool)
            | (StoredType::Timestamp { .. }, ColumnType::Date) => false,
            _ => stored.becomes(*to).is_ok(),
        })
    })
}

/// The Arrow type of a declared one.
pub(crate) fn arrow_type(declared: ColumnType) -> DataType {
    match declared {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Int => DataType::Int64,
        ColumnType::Decimal { scale } => {
            DataType::Decimal128(MAX_DIGITS, i8::try_from(scale).unwrap_or(i8::MAX))
        }
        ColumnType::Float => DataType::Float64,
        ColumnType::String => DataType::Utf8View,
        ColumnType::Date => DataType::Date32,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// A column without a dictionary, with text as views of bytes; `None` for types that are not read.
pub(super) fn plain(column: &ArrayRef) -> Option<ArrayRef> {
    if let Some(dictionary) = column.as_any_dictionary_opt() {
        // By hand: Arrow's cast takes NULL among a dictionary's values for a text.
        return take(&plain(dictionary.values())?, dictionary.keys(), None).ok();
    }
    let to = match column.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::Utf8View => DataType::BinaryView,
        DataType::Utf8 | DataType::LargeUtf8 => {
            return cast(&cast(column, &DataType::Utf8View).ok()?, &DataType::BinaryView).ok();
        }
        _ => return Some(Arc::clone(column)),
    };
    cast(column, &to).ok()
}

/// A file's type in a few words.
pub(super) fn type_name(file_type: &DataType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match file_type {
        DataType::Boolean => "boolean".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string".to_owned(),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "binary".to_owned(),
        DataType::Date32 | DataType::Date64 => "date".to_owned(),
        DataType::Timestamp(u, None) => format!("timestamp({})", unit(u)),
        DataType::Timestamp(u, Some(zone)) => format!("timestamp({}, {zone})", unit(u)),
        DataType::Time32(_) | DataType::Time64(_) => "time".to_owned(),
        DataType::Duration(_) => "duration".to_owned(),
        DataType::Interval(_) => "interval".to_owned(),
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
        | DataType::Decimal256(digits, scale) => format!("decimal({digits}, {scale})"),
        DataType::Dictionary(_, values) => type_name(values),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        t if t.is_nested() => "list".to_owned(),
        // Null, the integers and the floats.
        t => t.to_string().to_ascii_lowercase(),
    }
}

/// Digits as decimals of that scale.
pub(crate) fn decimals(digits: Decimal128Array, scale: u8) -> Result<ArrayRef, ArrowError> {
    let scale = i8::try_from(scale).map_err(|_| unexpected())?;
    Ok(Arc::new(digits.with_precision_and_scale(MAX_DIGITS, scale)?))
}

pub(super) fn unexpected() -> ArrowError {
    ArrowError::CastError("a type that was not planned for".to_owned())
}
