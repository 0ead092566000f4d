//! Types of CSV columns from some of their rows: for the owner of the data, who asked to have it
//! looked at.

use std::sync::Arc;

use hushtable_contract::{CsvSettings, DateOrder, NumberFormat, TextFormat};
use hushtable_lang::ColumnType;

use super::csv::CsvFile;
use super::parse::{ParsedField, TextParser};
use super::stored::Source;
use super::{DataFile, FileFormat, SourceError, file_schema};

/// Rows that are looked at, from the beginnings of all files.
const ROWS: usize = 10_000;

/// Longer fields are text, whatever is in them.
const LONGEST: usize = 100;

/// Most digits after the point of a decimal that is proposed.
const MOST_DIGITS: usize = 6;

/// Texts that are proposed as NULL where all others of a column have a type.
const NULLS: [&str; 12] =
    ["NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "NaN", "nan", "\\N", "-", "?"];

/// Currency signs that are proposed where numbers have them.
const CURRENCIES: [&str; 14] =
    ["$", "US$", "USD", "€", "EUR", "£", "GBP", "CHF", "¥", "kr.", "kr", "zł", "Kč", "₹"];

/// Separators of decimals and thousands, the plainest first.
const NUMBERS: [(char, Option<char>); 8] = [
    ('.', None),
    ('.', Some(',')),
    (',', None),
    (',', Some('.')),
    ('.', Some(' ')),
    (',', Some(' ')),
    ('.', Some('\'')),
    (',', Some('\'')),
];

/// Types and spellings that rows of a CSV table suggest.
#[derive(Clone, Debug)]
pub struct SuggestedTypes {
    /// How many rows.
    pub rows: usize,
    /// How the files are written.
    pub csv: CsvSettings,
    /// A type for each column, in the order of [`file_schema`].
    pub columns: Vec<ProposedType>,
}

/// A type that rows suggest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedType {
    /// The column.
    pub name: String,
    /// Its type.
    pub column_type: ColumnType,
    /// The decision about it that is left to the owner, if any.
    pub note: Option<&'static str>,
}

/// Looks at rows of a CSV table that is delimited and encoded as `csv` says, and proposes its types
/// and how its values are written. The proposal follows from the data, and a single row can change
/// it.
///
/// # Errors
///
/// When the files cannot be read, or differ in their columns.
pub fn look_at(files: &[DataFile], csv: &CsvSettings) -> Result<SuggestedTypes, SourceError> {
    let schema = file_schema(files, Some(csv))?;
    let mut columns: Vec<SampledTexts> = schema
        .into_iter()
        .map(|column| SampledTexts { name: column.name, texts: Vec::new() })
        .collect();
    let from_files = columns.len() - files.first().map_or(0, |file| file.folders.len());
    let settings = Arc::new(csv.clone());
    let each = (ROWS / files.len().max(1)).max(1);
    let mut rows = 0;
    for data in files {
        for value in &data.folders {
            let column = columns.iter_mut().find(|column| column.name == value.column);
            column.into_iter().for_each(|column| column.add(value.text.as_deref()));
        }
        if !matches!(data.format, FileFormat::Csv { .. }) || rows >= ROWS {
            continue;
        }
        let file = CsvFile::open(data, &settings, &[])?;
        let index_of = |column: &SampledTexts| {
            file.columns().iter().position(|stored| stored.name == column.name)
        };
        let indices: Vec<Option<usize>> = columns.iter().take(from_files).map(index_of).collect();
        let mut records = file.records(&Arc::default())?;
        for _ in 0..each {
            let Some(record) = records.next()? else { break };
            rows += 1;
            for (column, index) in columns.iter_mut().zip(&indices) {
                column.add(index.and_then(|index| record.field(index)));
            }
        }
    }
    let (stored, folders) = columns.split_at(from_files);
    let internal = |_| SourceError::Internal { what: "a proposal for CSV was refused" };
    let (values, unclear) = format_of(stored).map_err(internal)?;
    let parser = TextParser::new(&values);
    let programs = TextParser::default();
    let stored = stored.iter().map(|column| column.proposed(&parser, &unclear));
    let folders = folders.iter().map(|column| column.proposed(&programs, &[]));
    let columns = stored.chain(folders).collect();
    let csv = CsvSettings::new(csv.delimiter(), csv.quote(), csv.encoding().name(), values);
    Ok(SuggestedTypes { rows, csv: csv.map_err(internal)?, columns })
}

/// Some texts of a column.
struct SampledTexts {
    name: String,
    /// The texts that are not empty; `None` for fields that are too long or not text.
    texts: Vec<Option<String>>,
}

/// A part of how values are written that the rows leave open, and what to say of the columns.
type Unclear = (Vec<TextParser>, &'static str);

impl SampledTexts {
    fn add(&mut self, field: Option<&[u8]>) {
        let Some(field) = field else { return };
        let text = if field.len() > LONGEST { None } else { std::str::from_utf8(field).ok() };
        if text.is_none_or(|text| !text.trim_ascii().is_empty()) {
            self.texts.push(text.map(|text| text.trim_ascii().to_owned()));
        }
    }

    /// The texts that are not among those for NULL, if there are any and all are text.
    fn values(&self) -> Option<Vec<&str>> {
        let texts: Option<Vec<&str>> = self.texts.iter().map(Option::as_deref).collect();
        let values: Vec<&str> = texts?.into_iter().filter(|text| !NULLS.contains(text)).collect();
        (!values.is_empty()).then_some(values)
    }

    /// Whether the parser reads all values as that type, and there is one.
    fn all(&self, parser: &TextParser, to: ColumnType) -> bool {
        let fits =
            |text: &&str| matches!(parser.fit(Some(text.as_bytes()), to), ParsedField::Value(()));
        self.values().is_some_and(|values| values.iter().all(fits))
    }

    fn proposed(&self, parser: &TextParser, unclear: &[Unclear]) -> ProposedType {
        let (column_type, note) = self.type_and_note(parser, unclear);
        ProposedType { name: self.name.clone(), column_type, note }
    }

    fn type_and_note(
        &self,
        parser: &TextParser,
        unclear: &[Unclear],
    ) -> (ColumnType, Option<&'static str>) {
        let Some(values) = self.values() else {
            let note = self.texts.is_empty().then_some("no value in the rows looked at");
            return (ColumnType::String, note);
        };
        for (readings, note) in unclear {
            if self.reads_differently(readings) {
                return (ColumnType::String, Some(note));
            }
        }
        let letters = |text: &&str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
        if self.all(parser, ColumnType::Bool) && values.iter().all(letters) {
            return (ColumnType::Bool, None);
        }
        let code = |text: &&str| {
            text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
        };
        if values.iter().any(code) {
            return (ColumnType::String, Some("codes with a zero in front"));
        }
        let decimal = parser.format().numbers().decimal();
        let digits = values.iter().map(|text| digits_after(text, decimal)).max().unwrap_or(0);
        let scale = u8::try_from(digits.min(MOST_DIGITS)).unwrap_or(0);
        let exponent = values.iter().any(|text| text.contains(['e', 'E']));
        let fixed = digits <= MOST_DIGITS && !exponent;
        let timed = values.iter().any(|text| text.contains(':'));
        let candidates = [
            (true, ColumnType::Int),
            (fixed && scale > 0, ColumnType::Decimal { scale }),
            (true, ColumnType::Float),
            (!timed, ColumnType::Date),
            (timed, ColumnType::Timestamp),
        ];
        let fits = |(may, to): &(bool, ColumnType)| *may && self.all(parser, *to);
        (candidates.into_iter().find(fits).map_or(ColumnType::String, |(_, to)| to), None)
    }

    /// Whether several of the parsers read all values, and not as the same ones.
    fn reads_differently(&self, parsers: &[TextParser]) -> bool {
        let Some(values) = self.values() else { return false };
        let mut readings = parsers.iter().filter_map(|parser| ColumnValues::of(&values, parser));
        let first = readings.next();
        readings.any(|other| first.as_ref().is_some_and(|first| *first != other))
    }
}

/// All values of a column.
#[derive(PartialEq)]
enum ColumnValues {
    Numbers(Vec<f64>),
    Instants(Vec<i64>),
}

impl ColumnValues {
    fn of(values: &[&str], parser: &TextParser) -> Option<Self> {
        fn all<T>(values: &[&str], parse: impl Fn(&[u8]) -> ParsedField<T>) -> Option<Vec<T>> {
            let value = |text: &&str| match parse(text.as_bytes()) {
                ParsedField::Value(value) => Some(value),
                _ => None,
            };
            values.iter().map(value).collect()
        }
        all(values, |text| parser.float(Some(text)))
            .map(Self::Numbers)
            .or_else(|| all(values, |text| parser.timestamp(Some(text))).map(Self::Instants))
    }
}

/// Digits after the decimal separator.
fn digits_after(text: &str, decimal: char) -> usize {
    let (_, fraction) = text.split_once(decimal).unwrap_or_default();
    fraction.bytes().take_while(u8::is_ascii_digit).count()
}

/// How the columns' values are written, and what is left open.
fn format_of(
    columns: &[SampledTexts],
) -> Result<(TextFormat, Vec<Unclear>), hushtable_contract::CsvSettingError> {
    let texts = || columns.iter().flat_map(|column| column.texts.iter().flatten());
    let beside_digits = |sign: &&str| {
        texts().any(|text| {
            let unsigned = text.trim_start_matches(['-', '+', ' ']);
            text.contains(|c: char| c.is_ascii_digit())
                && (unsigned.starts_with(*sign) || text.ends_with(*sign))
        })
    };
    let currency: Vec<String> =
        CURRENCIES.into_iter().filter(beside_digits).map(str::to_owned).collect();
    let mut unclear = Vec::new();

    let numbers = |(decimal, thousands)| {
        NumberFormat::new(decimal, thousands, currency.clone())
            .and_then(|numbers| TextFormat::new(Vec::new(), numbers, None))
    };
    let formats = NUMBERS.into_iter().map(numbers).collect::<Result<Vec<_>, _>>()?;
    let (numbers, open) = most_typed(columns, &formats, ColumnType::Float);
    if !open.is_empty() {
        unclear.push((open, "decimals or thousands? set `decimal` or `thousands`, then the type"));
    }

    let orders = [
        None,
        Some(DateOrder::DayMonthYear),
        Some(DateOrder::MonthDayYear),
        Some(DateOrder::YearMonthDay),
    ];
    let dates = |order| TextFormat::new(Vec::new(), NumberFormat::default(), order);
    let formats = orders.into_iter().map(dates).collect::<Result<Vec<_>, _>>()?;
    let (dates, open) = most_typed(columns, &formats, ColumnType::Timestamp);
    if !open.is_empty() {
        unclear.push((open, "day or month first? set `dates`, then the type"));
    }

    // Signs that no number of a column has would only be noise in a contract.
    let parser = TextParser::new(&numbers);
    let numeric = || columns.iter().filter(|column| column.all(&parser, ColumnType::Float));
    let has =
        |column: &SampledTexts, sign: &str| column.texts.iter().flatten().any(|t| t.contains(sign));
    let used = currency.into_iter().filter(|sign| numeric().any(|column| has(column, sign)));
    let (decimal, thousands) = (numbers.numbers().decimal(), numbers.numbers().thousands());
    let numbers = NumberFormat::new(decimal, thousands, used.collect())?;
    let typed = TextFormat::new(Vec::new(), numbers.clone(), dates.dates())?;
    let parser = TextParser::new(&typed);
    let null = NULLS.into_iter().filter(|null| {
        columns.iter().any(|column| {
            let has = column.texts.iter().flatten().any(|text| text == null);
            has && column.type_and_note(&parser, &unclear).0 != ColumnType::String
        })
    });
    let null = null.map(str::to_owned).collect();
    Ok((TextFormat::new(null, numbers, dates.dates())?, unclear))
}

/// The first of the formats under which most columns are of that type. If another one is as good
/// and reads other values, the first of all, and those between which it is open.
fn most_typed(
    columns: &[SampledTexts],
    formats: &[TextFormat],
    to: ColumnType,
) -> (TextFormat, Vec<TextParser>) {
    let parsers: Vec<TextParser> = formats.iter().map(TextParser::new).collect();
    let typed = |parser: &TextParser| columns.iter().filter(|c| c.all(parser, to)).count();
    let counts: Vec<usize> = parsers.iter().map(typed).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let best = formats.iter().zip(&counts).find(|(_, count)| **count == most);
    let as_good: Vec<TextParser> =
        parsers.iter().zip(&counts).filter(|(_, n)| **n == most).map(|(p, _)| p.clone()).collect();
    if most > 0 && columns.iter().any(|column| column.reads_differently(&as_good)) {
        return (formats.first().cloned().unwrap_or_default(), as_good);
    }
    (best.map(|(format, _)| format.clone()).unwrap_or_default(), Vec::new())
}
