//! How the text of a CSV table is written: the settings of `csv` in a contract.

use std::fmt;

use encoding_rs::Encoding;
use hushtable_lang::{DEFAULT_TEXT_BYTES, MAX_STRING_BYTES};
use serde::{Deserialize, Serialize, Serializer};
use toml::de::DeValue;

use super::read::{ContractError, Item, Section};

const HINT: &str = "csv = { delimiter = \";\", decimal = \",\", dates = \"DMY\" }";

const MAX_BYTES: &str = "max_bytes = 4096: a field in quotes ends at the first line end after this \
                         many bytes, for columns that are not declared as string";

/// Most texts that `null` or `currency` may list.
const MAX_TEXTS: usize = 100;

/// How the CSV files of a table are written. Part of a question's identity: another setting may
/// give other values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenCsv")]
pub struct CsvSettings {
    delimiter: char,
    quote: Option<char>,
    #[serde(serialize_with = "by_name")]
    encoding: &'static Encoding,
    max_bytes: usize,
    #[serde(flatten)]
    values: TextFormat,
}

/// The settings as they are serialised, before they are checked.
#[derive(Deserialize)]
struct WrittenCsv {
    delimiter: char,
    quote: Option<char>,
    encoding: String,
    max_bytes: usize,
    null: Vec<String>,
    decimal: char,
    thousands: Option<char>,
    currency: Vec<String>,
    dates: Option<DateOrder>,
}

impl TryFrom<WrittenCsv> for CsvSettings {
    type Error = CsvSettingError;

    fn try_from(written: WrittenCsv) -> Result<Self, CsvSettingError> {
        let WrittenCsv { delimiter, quote, encoding, max_bytes, null, .. } = written;
        let numbers = NumberFormat::new(written.decimal, written.thousands, written.currency)?;
        let values = TextFormat::new(null, numbers, written.dates)?;
        Self::new(delimiter, quote, &encoding, values)?.with_max_bytes(max_bytes)
    }
}

/// How values are written as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TextFormat {
    null: Vec<String>,
    #[serde(flatten)]
    numbers: NumberFormat,
    dates: Option<DateOrder>,
}

/// How numbers are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NumberFormat {
    decimal: char,
    thousands: Option<char>,
    currency: Vec<String>,
}

/// The order of day, month and year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DateOrder {
    /// 31.12.2024, as in Europe.
    #[serde(rename = "DMY")]
    DayMonthYear,
    /// 12/31/2024, as in the United States.
    #[serde(rename = "MDY")]
    MonthDayYear,
    /// 2024/12/31.
    #[serde(rename = "YMD")]
    YearMonthDay,
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n  hint: {hint}")]
pub struct CsvSettingError {
    /// Its key in the contract.
    setting: &'static str,
    what: String,
    hint: &'static str,
}

fn by_name<S: Serializer>(encoding: &&'static Encoding, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(encoding.name())
}

fn wrong<T>(
    setting: &'static str,
    what: impl Into<String>,
    hint: &'static str,
) -> Result<T, CsvSettingError> {
    Err(CsvSettingError { setting, what: what.into(), hint })
}

/// A character as the contract has it.
fn quoted(c: char) -> String {
    format!("{:?}", c.to_string())
}

impl Default for CsvSettings {
    /// Commas, double quotes, UTF-8.
    fn default() -> Self {
        Self {
            delimiter: ',',
            quote: Some('"'),
            encoding: encoding_rs::UTF_8,
            max_bytes: DEFAULT_TEXT_BYTES,
            values: TextFormat::default(),
        }
    }
}

impl Default for NumberFormat {
    /// A decimal point and nothing else.
    fn default() -> Self {
        Self { decimal: '.', thousands: None, currency: Vec::new() }
    }
}

impl CsvSettings {
    /// Files with these characters between and around fields, in the encoding of that name.
    ///
    /// # Errors
    /// When a character cannot separate or quote fields, two of them are the same, the encoding is
    /// not known, or a number could not be written in such a file.
    pub fn new(
        delimiter: char,
        quote: Option<char>,
        encoding: &str,
        values: TextFormat,
    ) -> Result<Self, CsvSettingError> {
        let separates = |c: char| c == '\t' || c == ' ' || c.is_ascii_punctuation();
        if !separates(delimiter) || ['"', '+', '-'].contains(&delimiter) {
            return wrong(
                "delimiter",
                format!("`delimiter` = {} cannot separate fields", quoted(delimiter)),
                "use one of , ; | : a tab (\"\\t\"), a space, or another ASCII sign but \" + -",
            );
        }
        if let Some(quote) = quote {
            if !quote.is_ascii_punctuation() || ['+', '-'].contains(&quote) {
                return wrong(
                    "quote",
                    format!("`quote` = {} cannot enclose fields", quoted(quote)),
                    "quote = \"'\", or quote = \"\" where fields are never quoted",
                );
            }
            let NumberFormat { decimal, thousands, .. } = &values.numbers;
            if quote == delimiter || quote == *decimal || Some(quote) == *thousands {
                return wrong(
                    "quote",
                    format!(
                        "`quote` = {} is also the character of `{}`",
                        quoted(quote),
                        match quote {
                            q if q == delimiter => "delimiter",
                            q if q == *decimal => "decimal",
                            _ => "thousands",
                        }
                    ),
                    "quote = \"\" where fields are never quoted",
                );
            }
        } else {
            // In quotes, a field may hold the delimiter.
            let NumberFormat { decimal, thousands, .. } = &values.numbers;
            let conflict = match delimiter {
                d if d == *decimal => Some("decimal"),
                d if Some(d) == *thousands => Some("thousands"),
                _ => None,
            };
            if let Some(setting) = conflict {
                return wrong(
                    setting,
                    format!(
                        "`{setting}` = {} is also the delimiter, and fields are never quoted",
                        quoted(delimiter)
                    ),
                    "set `delimiter` or `quote` as in the file: such a number would be two \
                     fields",
                );
            }
        }
        let hint = "use a name of the WHATWG Encoding Standard, such as utf-8, windows-1252, \
                    iso-8859-15, macintosh, shift_jis, utf-16le; ISO-2022-JP is not read";
        // In ISO-2022-JP, one value can change how all after it are read.
        let unread = [encoding_rs::REPLACEMENT, encoding_rs::ISO_2022_JP];
        let Some(encoding) =
            Encoding::for_label(encoding.as_bytes()).filter(|found| !unread.contains(found))
        else {
            return wrong(
                "encoding",
                format!("`encoding` = {encoding:?} is not a supported encoding"),
                hint,
            );
        };
        Ok(Self { delimiter, quote, encoding, max_bytes: DEFAULT_TEXT_BYTES, values })
    }

    /// The settings with another limit of the fields of columns that are no declared text.
    ///
    /// # Errors
    /// When a field may have no byte, or more than any text.
    pub fn with_max_bytes(self, max_bytes: usize) -> Result<Self, CsvSettingError> {
        if !(1..=MAX_STRING_BYTES).contains(&max_bytes) {
            return wrong(
                "max_bytes",
                format!(
                    "`max_bytes` = {max_bytes} is not a whole number from 1 to {MAX_STRING_BYTES}"
                ),
                MAX_BYTES,
            );
        }
        Ok(Self { max_bytes, ..self })
    }

    /// Most bytes of a field in quotes, of a column that the contract does not declare as text: at
    /// the first line end after them, the field and its row end. Those of texts have the
    /// `max_bytes` of their column.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// The character that separates fields.
    pub fn delimiter(&self) -> char {
        self.delimiter
    }

    /// The character that may stand around a field, and twice within it; `None` if nothing does.
    pub fn quote(&self) -> Option<char> {
        self.quote
    }

    /// The encoding of files that have no byte order mark.
    pub fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// How values are written.
    pub fn values(&self) -> &TextFormat {
        &self.values
    }

    /// Whether these are the settings of a table that says nothing.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl TextFormat {
    /// Values where `null` are the texts for NULL, besides the empty one.
    ///
    /// # Errors
    /// When there are too many texts for NULL.
    pub fn new(
        null: Vec<String>,
        numbers: NumberFormat,
        dates: Option<DateOrder>,
    ) -> Result<Self, CsvSettingError> {
        if null.len() > MAX_TEXTS {
            return wrong(
                "null",
                format!("`null` lists {} texts; at most {MAX_TEXTS} are allowed", null.len()),
                "null = [\"NA\", \"-\"]",
            );
        }
        Ok(Self { null, numbers, dates })
    }

    /// The texts that stand for NULL, besides the empty one.
    pub fn null(&self) -> &[String] {
        &self.null
    }

    /// How numbers are written.
    pub fn numbers(&self) -> &NumberFormat {
        &self.numbers
    }

    /// The order of day, month and year, besides ISO 8601.
    pub fn dates(&self) -> Option<DateOrder> {
        self.dates
    }
}

impl NumberFormat {
    /// Numbers with these separators and currency signs.
    ///
    /// # Errors
    /// When a separator is none that numbers have, both are the same, or a currency sign could be a
    /// part of the number.
    pub fn new(
        decimal: char,
        thousands: Option<char>,
        currency: Vec<String>,
    ) -> Result<Self, CsvSettingError> {
        if !['.', ','].contains(&decimal) {
            return wrong(
                "decimal",
                format!("`decimal` = {} is not a decimal separator", quoted(decimal)),
                "decimal = \",\" or decimal = \".\", the default",
            );
        }
        if let Some(thousands) = thousands {
            let hint =
                "thousands = \".\", \",\", \"'\", \"_\" or \" \"; leave it out where there is none";
            if !['.', ',', '\'', '_', ' '].contains(&thousands) {
                return wrong(
                    "thousands",
                    format!("`thousands` = {} is not a separator of thousands", quoted(thousands)),
                    hint,
                );
            }
            if thousands == decimal {
                return wrong(
                    "thousands",
                    format!("`thousands` = {} is also the decimal separator", quoted(thousands)),
                    "1.234,56 has thousands = \".\" and decimal = \",\"; \
                     1,234.56 has thousands = \",\"",
                );
            }
        }
        if currency.len() > MAX_TEXTS {
            return wrong(
                "currency",
                format!(
                    "`currency` lists {} signs; at most {MAX_TEXTS} are allowed",
                    currency.len()
                ),
                "currency = [\"€\", \"EUR\"]",
            );
        }
        let of_numbers = |c: char| c.is_numeric() || c == '+' || c == '-';
        let sign = |text: &str| {
            text.trim() == text && !text.contains(of_numbers) && text.contains(char_of_sign)
        };
        if let Some(other) = currency.iter().find(|text| !sign(text)) {
            return wrong(
                "currency",
                format!("`currency` lists {other:?}, which is not a currency sign"),
                "currency = [\"€\", \"EUR\", \"kr.\"]: no digits, no + and -, no blanks around",
            );
        }
        Ok(Self { decimal, thousands, currency })
    }

    /// The character before the fraction.
    pub fn decimal(&self) -> char {
        self.decimal
    }

    /// The character between groups of three digits; a space stands for no-break spaces, too, and
    /// an apostrophe for the typographic one.
    pub fn thousands(&self) -> Option<char> {
        self.thousands
    }

    /// The signs; a number may have one of them, before or after it.
    pub fn currency(&self) -> &[String] {
        &self.currency
    }
}

/// A character that no number has.
fn char_of_sign(c: char) -> bool {
    !c.is_whitespace() && !['.', ',', '\'', '_', 'e', 'E'].contains(&c)
}

impl DateOrder {
    const ALL: [Self; 3] = [Self::DayMonthYear, Self::MonthDayYear, Self::YearMonthDay];

    /// The order of that name in a contract.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.to_string() == name)
    }
}

impl fmt::Display for DateOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DayMonthYear => "DMY",
            Self::MonthDayYear => "MDY",
            Self::YearMonthDay => "YMD",
        })
    }
}

/// The settings of `csv`.
pub(super) fn csv(item: &Item<'_, '_>) -> Result<CsvSettings, ContractError> {
    let section = item.section("`csv`", HINT)?;
    section.only(&[
        "delimiter",
        "quote",
        "encoding",
        "max_bytes",
        "null",
        "decimal",
        "thousands",
        "currency",
        "dates",
    ])?;
    let at = |error: CsvSettingError| {
        let CsvSettingError { setting, what, hint } = error;
        section.get(setting).unwrap_or_else(|| item.clone()).error(what, hint)
    };
    let decimal = character(&section, "decimal", "decimal = \",\"")?.flatten().unwrap_or('.');
    let thousands = character(&section, "thousands", "thousands = \".\"")?.flatten();
    let currency = texts(&section, "currency", "currency = [\"€\", \"EUR\"]")?;
    let numbers = NumberFormat::new(decimal, thousands, currency).map_err(at)?;
    let null = texts(&section, "null", "null = [\"NA\", \"-\"]")?;
    let hint = "\"DMY\" (31.12.2024), \"MDY\" (12/31/2024) or \"YMD\" (2024/12/31); ISO dates \
                (2024-12-31) are always read";
    let order = |item: Item<'_, '_>| {
        let name = item.text("an order of day, month and year", hint)?;
        DateOrder::from_name(name)
            .ok_or_else(|| item.wrong("an order of day, month and year", hint))
    };
    let dates = section.get("dates").map(order).transpose()?;
    let values = TextFormat::new(null, numbers, dates).map_err(at)?;
    let delimiter = character(&section, "delimiter", "delimiter = \";\"")?.flatten().unwrap_or(',');
    let quote = character(&section, "quote", "quote = \"'\"")?.unwrap_or(Some('"'));
    let hint = "encoding = \"windows-1252\"";
    let encoding = section.get("encoding").map(|i| i.text("a name", hint)).transpose()?;
    let settings =
        CsvSettings::new(delimiter, quote, encoding.unwrap_or("utf-8"), values).map_err(at)?;
    let Some(item) = section.get("max_bytes") else { return Ok(settings) };
    let most = item.count(1, MAX_STRING_BYTES as u32, MAX_BYTES)?;
    let most = usize::try_from(most).map_err(|_| item.wrong("a number of bytes", MAX_BYTES))?;
    settings.with_max_bytes(most).map_err(at)
}

/// One character, or `None` within where the text is empty, as only `quote` may be.
fn character(
    section: &Section<'_, '_>,
    key: &str,
    hint: &str,
) -> Result<Option<Option<char>>, ContractError> {
    let Some(item) = section.get(key) else { return Ok(None) };
    if key == "quote" && matches!(item.value, DeValue::String(s) if s.is_empty()) {
        return Ok(Some(None));
    }
    let mut characters = item.text("one character", hint)?.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) => Ok(Some(Some(one))),
        _ => Err(item.wrong("one character", hint)),
    }
}

/// A list of texts.
fn texts(section: &Section<'_, '_>, key: &str, hint: &str) -> Result<Vec<String>, ContractError> {
    let Some(item) = section.get(key) else { return Ok(Vec::new()) };
    let mut texts = Vec::new();
    for item in item.list(hint)? {
        match item.value {
            DeValue::String(text) => texts.push(text.to_string()),
            _ => return Err(item.wrong("a text", hint)),
        }
    }
    Ok(texts)
}
