//! The table of scalar functions.
//!
//! An entry has, in this order:
//! - the function with what is constant in it, as plans are encoded;
//! - `name`: how errors and explanations call it, if not as its first form does;
//! - `sql`: the forms that call it;
//! - `cost`: the most operations of one row, by the texts that it is called with;
//! - `bytes` and `characters`: the most that a text has which it gives. Without them, as many bytes
//!   as the first operand has, and any number of characters;
//! - `range`: that of the numbers which it gives. Without it, it is not known;
//! - `nulls`: where it is NULL. Without it, that is possible everywhere.

use serde::{Deserialize, Serialize};

use super::Takes::{Constant, ConstantText, Filling, Float, Number, Text, Value as Any, Whole};
use super::{
    AT_ONCE, CASED, CHOSEN, COUNT, FOUND, Form, HASHED, JSON_READ, Nulls, Operands, SEARCHED,
    Texts, WORDED, at_most, bytes_of, longest,
};
use crate::date_forms::form_bytes;
use crate::date_part::DatePart;
use crate::number_range::Range;
use crate::types::{ColumnType, MAX_KEY_BYTES, MAX_STRING_BYTES};

/// Most characters that LPAD and RPAD make.
const MAX_PADDED: i64 = 200;

const BOOL: Option<ColumnType> = Some(ColumnType::Bool);
const INT: Option<ColumnType> = Some(ColumnType::Int);
const FLOAT: Option<ColumnType> = Some(ColumnType::Float);
const TEXT: Option<ColumnType> = Some(ColumnType::String);
/// The type of the first operand.
const SAME: Option<ColumnType> = None;

/// The first character of a part, from 1, or backwards from -1.
const FROM: super::Takes = Constant(
    |n| n != 0 && u32::try_from(n.unsigned_abs()).is_ok(),
    "whole number from 1, or backwards from -1",
);

macro_rules! functions {
    (@given $default:expr) => { $default };
    (@given $default:expr, $given:expr) => { $given };
    ($(
        $(#[$doc:meta])*
        $function:ident $(($parameter:ident: $type:ty))?
        $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* })? => {
            $(name: $name:expr,)?
            sql: [$($form:expr),*],
            cost: |$texts:ident| $cost:expr,
            $(bytes: |$lengths:ident| $bytes:expr,)?
            $(characters: |$counts:ident| $characters:expr,)?
            $(range: |$operands:ident| $range:expr,)?
            $(nulls: $nulls:expr,)?
        }
    )*) => {
        /// Functions, with what is constant in them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Function {
            $(
                $(#[$doc])*
                $function $(($type))? $({ $($(#[$field_doc])* $field: $field_type,)* })?,
            )*
        }

        /// The forms of SQL that call a function of the table.
        pub(super) static FORMS: &[Form] = &[$($($form,)*)*];

        // An entry need not use all that is constant in its function.
        #[allow(unused_variables)]
        impl Function {
            /// Its name in SQL.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$function $(($parameter))? $({ $($field,)* })? => {
                        let forms: &[Form] = const { &[$($form,)*] };
                        let first = forms.first().and_then(|form| form.names.first());
                        functions!(@given first.copied().unwrap_or_default() $(, $name)?)
                    })*
                }
            }

            /// The most operations that it takes for one row.
            pub(crate) fn operations(self, of: &Texts<'_>) -> u64 {
                match self {
                    $(Self::$function $(($parameter))? $({ $($field,)* })? => {
                        let $texts = of;
                        $cost
                    })*
                }
            }

            /// The most bytes of a text that it gives.
            pub(crate) fn most_bytes(self, of: &Texts<'_>) -> usize {
                match self {
                    $(Self::$function $(($parameter))? $({ $($field,)* })? => {
                        $(let $lengths = of;)?
                        functions!(@given of.first() $(, $bytes)?)
                    })*
                }
            }

            /// The most characters of a text that it gives, by those of its operands, where their
            /// structure bounds them.
            pub(crate) fn most_characters(self, of: &[Option<u64>]) -> Option<u64> {
                match self {
                    $(Self::$function $(($parameter))? $({ $($field,)* })? => {
                        $(let $counts = of;)?
                        functions!(@given None $(, $characters)?)
                    })*
                }
            }

            /// The range of numbers that it gives.
            pub(crate) fn range(self, of: &Operands<'_>) -> Option<Range> {
                match self {
                    $(Self::$function $(($parameter))? $({ $($field,)* })? => {
                        $(let $operands = of;)?
                        functions!(@given of.unknown() $(, $range)?)
                    })*
                }
            }

            /// Where it is NULL.
            pub(crate) fn nulls(self) -> Nulls {
                match self {
                    $(Self::$function $(($parameter))? $({ $($field,)* })? => {
                        functions!(@given Nulls::Possible $(, $nulls)?)
                    })*
                }
            }
        }
    };
}

functions! {
    /// Minus the number.
    Negate => {
        name: "-",
        sql: [],
        cost: |of| 5,
        range: |of| Some(of.first()?.negated()),
    }
    /// Absolute value.
    Abs => {
        sql: [Form::new(&["ABS"], "ABS(x)", &[Number], SAME, |_| Some(Function::Abs))],
        cost: |of| 5,
        range: |of| Some(of.first()?.absolute()),
    }
    /// -1, 0 or 1.
    Sign => {
        sql: [Form::new(&["SIGN"], "SIGN(x)", &[Number], SAME, |_| Some(Function::Sign))],
        cost: |of| 5,
        range: |of| match (of.first(), of.types.first()) {
            (Some(range), _) => Some(range.sign(of.one())),
            (None, Some(ColumnType::Float)) => Some(Range::Float(-1.0, 1.0)),
            (None, _) => Some(Range::Exact(-of.one(), of.one())),
        },
        nulls: Nulls::WhereOneIs,
    }
    /// Greatest whole float at or below.
    Floor => {
        sql: [Form::new(&["FLOOR"], "FLOOR(x)", &[Float], FLOAT, |_| Some(Function::Floor))],
        cost: |of| 10,
        range: |of| of.first()?.rising(f64::floor),
    }
    /// Least whole float at or above.
    Ceil => {
        sql: [Form::new(
            &["CEIL", "CEILING"],
            "CEIL(x)",
            &[Float],
            FLOAT,
            |_| Some(Function::Ceil),
        )],
        cost: |of| 10,
        range: |of| of.first()?.rising(f64::ceil),
    }
    /// Float rounded to that many digits after the point, halves away from zero.
    Round(digits: i8) => {
        sql: [Form::new(
            &["ROUND"],
            "ROUND(x, 1)",
            &[Float, Constant(|n| (-18..=18).contains(&n), "number of digits from -18 to 18")],
            FLOAT,
            |of| Some(Function::Round(of.get(0).unwrap_or(0))),
        )
        .optional(1)],
        // A power of ten is computed.
        cost: |of| 60,
        range: |of| of.first()?.rounded(digits),
    }
    /// Number rounded to an integer, halves away from zero.
    ToInt => {
        name: "CAST",
        sql: [],
        cost: |of| 10,
        range: |of| Some(of.first()?.to_whole(of.one())),
    }
    /// Float without its fraction.
    Trunc => {
        sql: [Form::new(
            &["TRUNC", "TRUNCATE"],
            "TRUNC(x)",
            &[Float],
            FLOAT,
            |_| Some(Function::Trunc),
        )],
        cost: |of| 10,
        range: |of| of.first()?.rising(f64::trunc),
    }
    /// Square root of a float.
    Sqrt => {
        sql: [Form::new(&["SQRT"], "SQRT(x)", &[Float], FLOAT, |_| Some(Function::Sqrt))],
        cost: |of| 50,
        range: |of| of.first()?.square_root(),
    }
    /// Natural logarithm of a float.
    Ln => {
        sql: [Form::new(&["LN", "LOG"], "LN(x)", &[Float], FLOAT, |_| Some(Function::Ln))],
        // Results near zero are dearest.
        cost: |of| 90,
        // Bounds of rows, for which nothing is given, do not rest on how libraries round.
        range: |of| if of.released { of.first()?.logarithm(f64::ln) } else { of.unknown() },
    }
    /// Decimal logarithm of a float.
    Log10 => {
        sql: [Form::new(&["LOG10"], "LOG10(x)", &[Float], FLOAT, |_| Some(Function::Log10))],
        cost: |of| 90,
        range: |of| if of.released { of.first()?.logarithm(f64::log10) } else { of.unknown() },
    }
    /// Exponential of a float.
    Exp => {
        sql: [Form::new(&["EXP"], "EXP(x)", &[Float], FLOAT, |_| Some(Function::Exp))],
        cost: |of| 90,
        range: |of| if of.released { of.first()?.rising_nearly(f64::exp) } else { of.unknown() },
    }
    /// Greatest argument; NULL if one is NULL.
    Greatest => {
        sql: [Form::new(
            &["GREATEST"],
            "GREATEST(x, y)",
            &[Any],
            SAME,
            |_| Some(Function::Greatest),
        ).repeated()],
        cost: |of| (20 + CHOSEN + of.longest() / AT_ONCE) * of.operands(),
        bytes: |of| of.longest() as usize,
        range: |of| Range::extreme(of.ranges(), true),
        nulls: Nulls::WhereOneIs,
    }
    /// Least argument; NULL if one is NULL.
    Least => {
        sql: [Form::new(
            &["LEAST"],
            "LEAST(x, y)",
            &[Any],
            SAME,
            |_| Some(Function::Least),
        ).repeated()],
        cost: |of| (20 + CHOSEN + of.longest() / AT_ONCE) * of.operands(),
        bytes: |of| of.longest() as usize,
        range: |of| Range::extreme(of.ranges(), false),
        nulls: Nulls::WhereOneIs,
    }
    /// The first argument that is not NULL.
    Coalesce => {
        sql: [
            Form::new(
                &["COALESCE"],
                "COALESCE(x, y)",
                &[Any],
                SAME,
                |_| Some(Function::Coalesce),
            ).repeated(),
            Form::new(
                &["IFNULL", "NVL"],
                "IFNULL(x, y)",
                &[Any, Any],
                SAME,
                |_| Some(Function::Coalesce),
            )
        ],
        cost: |of| CHOSEN * of.operands(),
        bytes: |of| of.longest() as usize,
        characters: |of| longest(of),
        range: |of| Range::hull(of.ranges()),
        nulls: Nulls::WhereAllAre,
    }
    /// Which of the buckets between two constant bounds a float is in: 0 below, 1 to n within, n +
    /// 1 from the upper bound up. The operands are the float, the bounds and n.
    WidthBucket => {
        sql: [Form::written(&["WIDTH_BUCKET"], "WIDTH_BUCKET(x, 0, 200000, 20)")],
        cost: |of| 20,
        range: |of| match (of.range)(3)? {
            Range::Exact(_, buckets) => Some(Range::Exact(0, buckets.checked_add(1)?)),
            _ => None,
        },
    }
    /// How many of the ascending constants are not above the first argument.
    RangeBucket => {
        sql: [Form::written(&["RANGE_BUCKET"], "RANGE_BUCKET(x, [0, 10, 100])")],
        cost: |of| (5 + of.shortest() / AT_ONCE) * of.operands(),
        range: |of| Some(Range::Exact(0, i128::try_from(of.types.len().checked_sub(1)?).ok()?)),
    }
    /// Lower case.
    Lower => {
        sql: [Form::new(&["LOWER"], "LOWER(x)", &[Text], TEXT, |_| Some(Function::Lower))],
        cost: |of| CASED * of.longest() + of.new_text(),
        bytes: |of| (3 * of.first()).min(MAX_STRING_BYTES),
        // One character becomes up to three.
        characters: |of| (*of.first()?)?.checked_mul(3),
    }
    /// Upper case.
    Upper => {
        sql: [Form::new(&["UPPER"], "UPPER(x)", &[Text], TEXT, |_| Some(Function::Upper))],
        cost: |of| CASED * of.longest() + of.new_text(),
        bytes: |of| (3 * of.first()).min(MAX_STRING_BYTES),
        characters: |of| (*of.first()?)?.checked_mul(3),
    }
    /// Each word with its first letter in upper case and the others in lower case.
    InitCap => {
        sql: [Form::new(&["INITCAP"], "INITCAP(x)", &[Text], TEXT, |_| Some(Function::InitCap))],
        cost: |of| WORDED * of.longest() + of.new_text(),
        bytes: |of| (3 * of.first()).min(MAX_STRING_BYTES),
        characters: |of| (*of.first()?)?.checked_mul(3),
    }
    /// Without white space at both ends.
    Trim => {
        sql: [Form::new(&["TRIM"], "TRIM(x)", &[Text], TEXT, |_| Some(Function::Trim))],
        cost: |of| of.longest() + of.new_text(),
        characters: |of| *of.first()?,
    }
    /// Without white space at the start.
    LTrim => {
        sql: [Form::new(&["LTRIM"], "LTRIM(x)", &[Text], TEXT, |_| Some(Function::LTrim))],
        cost: |of| of.longest() + of.new_text(),
        characters: |of| *of.first()?,
    }
    /// Without white space at the end.
    RTrim => {
        sql: [Form::new(&["RTRIM"], "RTRIM(x)", &[Text], TEXT, |_| Some(Function::RTrim))],
        cost: |of| of.longest() + of.new_text(),
        characters: |of| *of.first()?,
    }
    /// Without any of some constant characters at its ends.
    TrimOf {
        /// Whether they are taken from the start.
        left: bool,
        /// Whether they are taken from the end.
        right: bool,
    } => {
        name: if left && right { "TRIM" } else if left { "LTRIM" } else { "RTRIM" },
        sql: [
            Form::new(&["TRIM", "BTRIM"], "TRIM(x, '0 ')", &[Text, ConstantText], TEXT, |_| {
                Some(Function::TrimOf { left: true, right: true })
            }),
            Form::new(&["LTRIM"], "LTRIM(x, '0')", &[Text, ConstantText], TEXT, |_| {
                Some(Function::TrimOf { left: true, right: false })
            }),
            Form::new(&["RTRIM"], "RTRIM(x, '.')", &[Text, ConstantText], TEXT, |_| {
                Some(Function::TrimOf { left: false, right: true })
            })
        ],
        cost: |of| of.looked_up(1) * of.first() as u64 + of.new_text(),
        characters: |of| *of.first()?,
    }
    /// The characters in reverse.
    Reverse => {
        sql: [Form::new(&["REVERSE"], "REVERSE(x)", &[Text], TEXT, |_| Some(Function::Reverse))],
        cost: |of| of.longest() + of.new_text(),
        characters: |of| *of.first()?,
    }
    /// Number of characters.
    Length => {
        sql: [Form::new(
            &["LENGTH", "CHAR_LENGTH", "CHARACTER_LENGTH", "STRLEN"],
            "LENGTH(x)",
            &[Text],
            INT,
            |_| Some(Function::Length),
        )],
        cost: |of| 5 + 2 * of.longest() / AT_ONCE,
        range: |of| of.up_to_length(),
    }
    /// Characters from `start` (1 is the first), at most `length` of them.
    Substr {
        /// First character, from 1.
        start: u32,
        /// Most characters.
        length: Option<u32>,
    } => {
        sql: [
            Form::new(
                &["SUBSTR", "SUBSTRING"],
                "SUBSTR(x, 1, 2) is the first two characters, RIGHT(x, 2) the last two",
                &[Text, FROM, COUNT],
                TEXT,
                |of| {
                    let (from, length) = (of.get::<i64>(0)?, of.get(1));
                    let start = u32::try_from(from.unsigned_abs()).ok()?;
                    Some(match from > 0 {
                        true => Function::Substr { start, length },
                        false => Function::FromEnd { start, length },
                    })
                },
            )
            .optional(1),
            Form::new(
                &["LEFT"],
                "LEFT(x, 2) is the first two characters, RIGHT(x, 2) the last two",
                &[Text, COUNT],
                TEXT,
                |of| Some(Function::Substr { start: 1, length: Some(of.get(0)?) }),
            )
        ],
        cost: |of| {
            let to = u64::from(start) + u64::from(length.unwrap_or(0));
            of.longest().min(to) + of.new_text()
        },
        bytes: |of| length.map_or(of.first(), |length| of.first().min(bytes_of(length))),
        characters: |of| {
            let rest = |all: u64| all.saturating_sub(u64::from(start).max(1) - 1);
            at_most(length, (*of.first()?).map(rest))
        },
    }
    /// Characters from `start` (1 is the last), at most `length` of them; from the first where
    /// there are not so many.
    FromEnd {
        /// First character, from the end.
        start: u32,
        /// Most characters.
        length: Option<u32>,
    } => {
        name: "SUBSTR",
        sql: [],
        cost: |of| {
            let read = u64::from(start) + u64::from(length.unwrap_or(0));
            of.longest().min(read) + of.longest() / AT_ONCE + of.new_text()
        },
        bytes: |of| of.first().min(bytes_of(start.min(length.unwrap_or(start)))),
        characters: |of| at_most(Some(start.min(length.unwrap_or(start))), *of.first()?),
    }
    /// The given number of last characters.
    Right(length: u32) => {
        sql: [Form::new(
            &["RIGHT"],
            "RIGHT(x, 2) is the last two characters, SUBSTR(x, 1, 2) the first two",
            &[Text, COUNT],
            TEXT,
            |of| Some(Function::Right(of.get(0)?)),
        )],
        cost: |of| of.longest().min(u64::from(length)) + of.new_text(),
        bytes: |of| of.first().min(bytes_of(length)),
        characters: |of| at_most(Some(length), *of.first()?),
    }
    /// The first text cut or filled to that many characters with the second, a constant.
    Pad {
        /// Number of characters.
        length: u32,
        /// Whether the filling stands before the text.
        left: bool,
    } => {
        name: if left { "LPAD" } else { "RPAD" },
        sql: [
            Form::new(&["LPAD"], "LPAD(x, 5, '0')", PADDED, TEXT, |of| {
                Some(Function::Pad { length: of.get(0)?, left: true })
            })
            .optional(1),
            Form::new(&["RPAD"], "RPAD(x, 5, '.')", PADDED, TEXT, |of| {
                Some(Function::Pad { length: of.get(0)?, left: false })
            })
            .optional(1)
        ],
        cost: |of| {
            let length = u64::from(length);
            of.longest().min(4 * length) + 2 * length + of.new_text()
        },
        bytes: |of| bytes_of(length),
        characters: |of| Some(u64::from(length)),
    }
    /// Position of the second text in the first, from 1; 0 where it does not occur.
    Position => {
        sql: [Form::new(
            &["STRPOS", "INSTR"],
            "STRPOS(x, 'a')",
            &[Text, Text],
            INT,
            |_| Some(Function::Position),
        )],
        // Two-way search takes a bounded number of looks at each byte.
        cost: |of| 30 + SEARCHED * of.all(),
        range: |of| of.up_to_length(),
    }
    /// Whether the first text starts with the second.
    StartsWith => {
        sql: [Form::new(
            &["STARTS_WITH"],
            "STARTS_WITH(x, 'a')",
            &[Text, Text],
            BOOL,
            |_| Some(Function::StartsWith),
        )],
        cost: |of| 10 + of.shortest() / AT_ONCE,
    }
    /// Whether the first text ends with the second.
    EndsWith => {
        sql: [Form::new(
            &["ENDS_WITH"],
            "ENDS_WITH(x, 'a')",
            &[Text, Text],
            BOOL,
            |_| Some(Function::EndsWith),
        )],
        cost: |of| 10 + of.shortest() / AT_ONCE,
    }
    /// The first text with every occurrence of a constant replaced by another.
    Replace => {
        sql: [Form::new(
            &["REPLACE"],
            "REPLACE(x, '-', '')",
            &[Text, ConstantText, ConstantText],
            TEXT,
            |_| Some(Function::Replace),
        )],
        cost: |of| 30 + FOUND * of.all() + of.new_text(),
        bytes: |of| {
            let (text, from, to) = (of.first(), of.bytes.get(1), of.bytes.get(2));
            match (from, to) {
                (Some(&from), Some(&to)) if to > from && from > 0 => {
                    text.saturating_add(text / from * (to - from)).min(MAX_STRING_BYTES)
                }
                _ => text,
            }
        },
    }
    /// The first text with each character that is in one constant replaced by the one at its place
    /// in another; left out where there is none.
    Translate => {
        sql: [Form::new(
            &["TRANSLATE"],
            "TRANSLATE(x, 'áé.', 'ae')",
            &[Text, ConstantText, ConstantText],
            TEXT,
            |_| Some(Function::Translate),
        )],
        cost: |of| (of.looked_up(1) + 4) * of.first() as u64 + of.new_text(),
        bytes: |of| {
            // One byte can become a character of the second constant.
            let most = of.bytes.get(2).map_or(1, |bytes| (*bytes).clamp(1, 4));
            (of.first() * most).min(MAX_STRING_BYTES)
        },
        characters: |of| *of.first()?,
    }
    /// A part of the first text, which a constant divides.
    SplitPart {
        /// From 1, or backwards from -1.
        part: i32,
        /// Whether the text is empty where there is no such part; otherwise it is NULL.
        or_empty: bool,
    } => {
        sql: [
            Form::new(
                &["SPLIT_PART"],
                "SPLIT_PART(x, '/', 1) is the part before the first /",
                &[
                    Text,
                    ConstantText,
                    Constant(
                        |n| n != 0 && i32::try_from(n).is_ok_and(|n| n != i32::MIN),
                        "number of a part, from 1, or backwards from -1",
                    ),
                ],
                TEXT,
                |of| Some(Function::SplitPart { part: of.get(0)?, or_empty: true }),
            ),
            Form::written(
                &["SPLIT"],
                "SPLIT(x, '/')[SAFE_OFFSET(0)] is the part before the first /",
            )
        ],
        cost: |of| 30 + FOUND * of.all() + of.new_text(),
        characters: |of| *of.first()?,
    }
    /// The text of the value that a JSON text has at a constant path.
    JsonText {
        /// Whether the text of an array or object is given; otherwise it is NULL.
        containers: bool,
    } => {
        sql: [
            Form::written(&["JSON_VALUE", "JSON_EXTRACT_SCALAR"], "JSON_VALUE(x, '$.a.b[0]')"),
            Form::written(
                &["JSON_EXTRACT_STRING", "GET_JSON_OBJECT"],
                "JSON_EXTRACT_STRING(x, '$.a')",
            )
        ],
        cost: |of| 30 + JSON_READ * of.first() as u64 + of.new_text(),
        characters: |of| *of.first()?,
    }
    /// The texts, one after the other.
    Concat => {
        name: "||",
        sql: [Form::new(
            &["CONCAT"],
            "CONCAT(x, '!')",
            &[Text],
            TEXT,
            |_| Some(Function::Concat),
        ).repeated()],
        cost: |of| 5 * of.operands() + of.new_text(),
        bytes: |of| of.bytes.iter().sum::<usize>().min(MAX_KEY_BYTES),
        characters: |of| of.iter().try_fold(0u64, |sum, next| sum.checked_add((*next)?)),
    }
    /// The texts after the first that are not NULL, with the first between them.
    ConcatWith => {
        sql: [Form::new(&["CONCAT_WS"], "CONCAT_WS(', ', x, x)", &[Text, Text], TEXT, |_| {
            Some(Function::ConcatWith)
        })
        .repeated()],
        cost: |of| 10 * of.operands() + of.new_text(),
        bytes: |of| {
            let between = of.first().saturating_mul(of.bytes.len().saturating_sub(2));
            let texts = of.bytes.iter().skip(1).sum::<usize>();
            texts.saturating_add(between).min(MAX_KEY_BYTES)
        },
        characters: |of| {
            let (first, texts) = of.split_first()?;
            let between = (*first)?.checked_mul(texts.len().checked_sub(1)? as u64)?;
            texts.iter().try_fold(between, |sum, next| sum.checked_add((*next)?))
        },
    }
    /// A whole number for each value, to tell values apart: of texts, of decimals and of several
    /// values together by a hash of 64 bits. NULL for text over
    /// [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES), and where one of several is NULL. It has no name
    /// in SQL.
    Code => {
        name: "COUNT(DISTINCT)",
        sql: [],
        cost: |of| {
            let each = |bytes: &usize| 30 + HASHED * (*bytes).min(MAX_KEY_BYTES) as u64;
            let together = if of.operands() > 1 { 8 * HASHED * of.operands() } else { 0 };
            of.bytes.iter().map(each).sum::<u64>() + together
        },
    }
    /// A part of a date or timestamp as an integer.
    DatePart(part: DatePart) => {
        sql: [
            Form::written(&["EXTRACT"], "EXTRACT(YEAR FROM day)"),
            Form::written(&["YEAR"], "YEAR(day)"),
            Form::written(&["QUARTER"], "QUARTER(day)"),
            Form::written(&["MONTH"], "MONTH(day)"),
            Form::written(&["WEEK"], "WEEK(day)"),
            Form::written(&["WEEKOFYEAR"], "WEEKOFYEAR(day)"),
            Form::written(&["DAY", "DAYOFMONTH"], "DAY(day)"),
            Form::written(&["DAYOFWEEK"], "DAYOFWEEK(day)"),
            Form::written(&["DAYOFYEAR"], "DAYOFYEAR(day)"),
            Form::written(&["HOUR"], "HOUR(moment)"),
            Form::written(&["MINUTE"], "MINUTE(moment)"),
            Form::written(&["SECOND"], "SECOND(moment)"),
            Form::written(&["DATE_PART"], "DATE_PART('year', day)")
        ],
        cost: |of| 30,
        range: |of| Range::of_part(part),
    }
    /// The start of the part that a date or timestamp is in.
    DateTrunc(part: DatePart) => {
        sql: [
            Form::written(
                &["DATE_TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC"],
                "DATE_TRUNC(day, MONTH)",
            ),
            Form::written(&["LAST_DAY"], "LAST_DAY(day)")
        ],
        cost: |of| 45,
    }
    /// A date or timestamp moved by that many of the part.
    DateAdd(part: DatePart) => {
        sql: [
            Form::written(
                &["DATE_ADD", "TIMESTAMP_ADD", "DATETIME_ADD"],
                "DATE_ADD(day, INTERVAL 30 DAY)",
            ),
            Form::written(
                &["DATE_SUB", "TIMESTAMP_SUB", "DATETIME_SUB"],
                "DATE_SUB(day, INTERVAL 30 DAY)",
            )
        ],
        cost: |of| 60,
    }
    /// The start of the bucket that a date or timestamp is in. Buckets are of one width, and one
    /// of them begins at the origin.
    TimeBucket {
        /// Whether buckets are of months; otherwise they are of microseconds.
        months: bool,
        /// How many of them a bucket has.
        width: i64,
        /// The origin, in months of the calendar or in microseconds since 1970.
        origin: i64,
    } => {
        sql: [
            Form::written(
                &["TIME_BUCKET", "DATE_BIN"],
                "TIME_BUCKET(INTERVAL 15 MINUTE, moment)",
            ),
            Form::written(
                &["TIMESTAMP_BUCKET", "DATETIME_BUCKET", "DATE_BUCKET"],
                "TIMESTAMP_BUCKET(moment, INTERVAL 15 MINUTE)",
            )
        ],
        cost: |of| 60,
    }
    /// The time that clocks show in a constant time zone.
    LocalTime => {
        name: "AT TIME ZONE",
        sql: [],
        cost: |of| 150,
    }
    /// From the second date or timestamp to the first, in that part.
    DateDiff {
        /// The part that is counted.
        part: DatePart,
        /// Whether whole spans are counted; otherwise the boundaries between.
        whole: bool,
    } => {
        sql: [
            Form::written(
                &["DATE_DIFF", "DATETIME_DIFF"],
                "DATE_DIFF(day, DATE '2026-01-31', MONTH)",
            ),
            Form::written(
                &["TIMESTAMP_DIFF"],
                "TIMESTAMP_DIFF(moment, TIMESTAMP '2026-01-31', HOUR)",
            ),
            Form::written(&["DATEDIFF"], "DATEDIFF(day, DATE '2026-01-31')")
        ],
        cost: |of| 60,
    }
    /// A date or timestamp written in a constant form.
    DateFormat => {
        sql: [
            Form::written(
                &["FORMAT_DATE", "FORMAT_TIMESTAMP", "FORMAT_DATETIME"],
                "FORMAT_DATE('%Y-%m', day)",
            ),
            Form::written(&["STRFTIME"], "STRFTIME(day, '%Y-%m')"),
            Form::written(&["TO_CHAR"], "TO_CHAR(day, 'YYYY-MM')"),
            Form::written(&["DAYNAME"], "DAYNAME(day)"),
            Form::written(&["MONTHNAME"], "MONTHNAME(day)")
        ],
        cost: |of| 30 + 5 * of.result as u64 + of.new_text(),
        bytes: |of| of.constant.map_or(0, form_bytes),
    }
    /// A date or timestamp that a text is in a constant form.
    DateParse => {
        sql: [
            Form::written(&["PARSE_DATE"], "PARSE_DATE('%d.%m.%Y', x)"),
            Form::written(&["PARSE_TIMESTAMP", "PARSE_DATETIME"], "PARSE_TIMESTAMP('%F %T', x)"),
            Form::written(&["STRPTIME"], "STRPTIME(x, '%Y-%m-%d')")
        ],
        // Each piece of the form looks at a bounded number of bytes.
        cost: |of| of.constant.map_or(0, |form| 40 + 5 * form_bytes(form) as u64),
    }
    /// The date of a year, a month and a day.
    MakeDate => {
        name: "DATE",
        sql: [
            Form::new(
                &["MAKE_DATE", "DATE_FROM_PARTS", "DATEFROMPARTS", "DATE"],
                "DATE(2026, 1, 31)",
                &[Whole, Whole, Whole],
                Some(ColumnType::Date),
                |_| Some(Function::MakeDate),
            ),
            Form::written(&["DATE"], "DATE(moment)")
        ],
        cost: |of| 40,
    }
}

/// The arguments of LPAD and RPAD.
const PADDED: &[super::Takes] =
    &[Text, Constant(|n| (0..=MAX_PADDED).contains(&n), "length of at most 200"), Filling];

/// Forms that the binder writes with operators and with functions of the table.
pub(super) static WRITTEN: &[Form] = &[
    Form::written(&["LOG"], "LOG(x, 10)"),
    Form::written(&["LOG2"], "LOG2(x)"),
    Form::written(&["POWER", "POW"], "POWER(x, 2)"),
    Form::written(&["DIV"], "DIV(n, 2)"),
    Form::written(&["MOD"], "MOD(n, 2)"),
    Form::written(&["SAFE_DIVIDE", "IEEE_DIVIDE"], "SAFE_DIVIDE(x, y)"),
    Form::written(&["NULLIF"], "NULLIF(x, y)"),
    Form::written(&["IF", "IIF", "IFF"], "IF(x > 0, x, y)"),
    Form::written(&["CONTAINS"], "CONTAINS(x, 'a')"),
    Form::written(&["POSITION"], "POSITION('a' IN x)"),
    Form::written(
        &["REGEXP_CONTAINS", "REGEXP_LIKE", "REGEXP_MATCHES"],
        "REGEXP_CONTAINS(x, r'flu|covid')",
    ),
    Form::written(&["REGEXP_EXTRACT", "REGEXP_SUBSTR"], "REGEXP_EXTRACT(x, r'^([^@]+)@')"),
    Form::written(&["REGEXP_COUNT"], "REGEXP_COUNT(x, r'[0-9]')"),
    Form::written(&["REGEXP_REPLACE"], r"REGEXP_REPLACE(x, r'([0-9]+) EUR', r'\1')"),
    Form::written(&["CAST", "SAFE_CAST", "TRY_CAST"], "CAST(x AS INT64)"),
];
