//! Types of the columns of CSV and JSON lines from some of their rows: for the owner of the data,
//! who asked to have it looked at.

use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use hushtable_contract::{CsvSettings, DateOrder, NumberFormat, TextFormat};
use hushtable_lang::{ColumnType, JsonKind, JsonValue};

use super::csv::CsvFile;
use super::json_lines::{JsonLinesFile, KeyIndices};
use super::open::ROWS_LOOKED_AT;
use super::parse::{ParsedField, TextParser};
use super::stored::Source;
use super::text_form::form;
use super::{DataFile, FileFormat, SourceError, file_schema};

/// Longer fields are text, whatever is in them.
const LONGEST: usize = 100;

/// Most digits after the point of a decimal that is proposed.
const MOST_DIGITS: usize = 6;

/// Texts that are proposed as NULL where all others of a column have a type.
const NULLS: [&str; 20] = [
    "NA", "N/A", "n/a", "n.a.", "#N/A", "NULL", "null", "None", "NaN", "nan", "NaT", "\\N", "-",
    "--", ".", "?", "k.A.", "k. A.", "k.a.", "#NV",
];

/// Those of them that are no text of a column of texts, either.
const NULLS_OF_TEXT: [&str; 10] =
    ["N/A", "n/a", "n.a.", "#N/A", "\\N", "-", "--", "k.A.", "k. A.", "#NV"];

/// At most one of so many values is not of the type that is proposed.
const ONE_OF_SO_MANY: usize = 20;

/// Most forms of values that are not of their column's type.
const MOST_FORMS: usize = 3;

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

/// Types and spellings that rows of a table suggest.
#[derive(Clone, Debug)]
pub struct SuggestedTypes {
    /// How many rows.
    pub rows: usize,
    /// How the files are written, where they are CSV.
    pub csv: Option<CsvSettings>,
    /// A type for each column, in the order of [`file_schema`].
    pub columns: Vec<ProposedType>,
}

/// A type that rows suggest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedType {
    /// The column.
    pub name: String,
    /// Its type: that of 95 % of the values.
    pub column_type: ColumnType,
    /// The decision about it that is left to the owner, if any.
    pub note: Option<&'static str>,
    /// How many values are not of that type. About the exact data.
    pub misfits: usize,
    /// Some of their forms: digits as 9, letters as a or A. About the exact data.
    pub forms: Vec<String>,
}

/// Looks at rows of a CSV table that is delimited and encoded as `csv` says, or of JSON lines, and
/// proposes its types and how its values are written. Texts in JSON are no numbers, whatever is in
/// them, as 007 and 7 may be two of them. The proposal follows from the data, and a single row can
/// change it.
///
/// # Errors
///
/// When the files cannot be read, or differ in their columns.
pub fn look_at(
    files: &[DataFile],
    csv: Option<&CsvSettings>,
) -> Result<SuggestedTypes, SourceError> {
    let Some(csv) = csv else {
        let Sample { rows, columns, .. } = Sample::of(files, None)?;
        let parser = TextParser::default();
        let columns = columns.iter().map(|column| column.proposed(&parser, &[])).collect();
        return Ok(SuggestedTypes { rows, csv: None, columns });
    };
    let internal = |_| SourceError::Internal { what: "a proposal for CSV was refused" };
    let encoded = |encoding: &'static Encoding, values| {
        let settings = CsvSettings::new(csv.delimiter(), csv.quote(), encoding.name(), values);
        settings.map_err(internal)
    };
    let mut sample = Sample::of(files, Some(csv))?;
    let mut encoding = csv.encoding();
    // A header line in ASCII does not tell. By far the most common encoding of those that the bytes
    // do not tell apart.
    if encoding == UTF_8 && sample.not_utf8 > sample.beyond_ascii {
        encoding = WINDOWS_1252;
        sample = Sample::of(files, Some(&encoded(encoding, TextFormat::default())?))?;
    }
    let (stored, folders) = sample.columns.split_at(sample.from_files);
    let (values, unclear) = format_of(stored).map_err(internal)?;
    let parser = TextParser::new(&values);
    let programs = TextParser::default();
    let stored = stored.iter().map(|column| column.proposed(&parser, &unclear));
    let folders = folders.iter().map(|column| column.proposed(&programs, &[]));
    let columns = stored.chain(folders).collect();
    let csv = Some(encoded(encoding, values)?);
    Ok(SuggestedTypes { rows: sample.rows, csv, columns })
}

/// Rows from the beginnings of all files.
struct Sample {
    rows: usize,
    columns: Vec<SampledTexts>,
    /// How many of the columns are in the files; the others are in the names of folders.
    from_files: usize,
    /// Fields that are not UTF-8.
    not_utf8: usize,
    /// Fields in UTF-8 with more than ASCII.
    beyond_ascii: usize,
}

impl Sample {
    fn of(files: &[DataFile], csv: Option<&CsvSettings>) -> Result<Self, SourceError> {
        let schema = file_schema(files, csv)?;
        let columns: Vec<SampledTexts> = schema
            .into_iter()
            .map(|column| SampledTexts { name: column.name, texts: Vec::new(), quoted: 0 })
            .collect();
        let from_files = columns.len() - files.first().map_or(0, |file| file.folders.len());
        let mut sample = Self { rows: 0, columns, from_files, not_utf8: 0, beyond_ascii: 0 };
        let settings = Arc::new(csv.cloned().unwrap_or_default());
        let each = (ROWS_LOOKED_AT / files.len().max(1)).max(1);
        for data in files {
            for value in &data.folders {
                let mut columns = sample.columns.iter_mut();
                let column = columns.find(|column| column.name == value.column);
                column.into_iter().for_each(|column| column.add(value.text.as_deref()));
            }
            match data.format {
                _ if sample.rows >= ROWS_LOOKED_AT => {}
                FileFormat::Csv { .. } => {
                    sample.add(&CsvFile::open(data, &settings, &[])?, each)?;
                }
                FileFormat::JsonLines { .. } => {
                    sample.add_json(&JsonLinesFile::open(data, &[])?, each)?;
                }
                FileFormat::Parquet | FileFormat::Arrow => {}
            }
        }
        Ok(sample)
    }

    /// Adds at most `most` rows of a file.
    fn add(&mut self, file: &CsvFile, most: usize) -> Result<(), SourceError> {
        let index_of = |column: &SampledTexts| {
            file.columns().iter().position(|stored| stored.name == column.name)
        };
        let from_files = self.columns.iter().take(self.from_files);
        let indices: Vec<Option<usize>> = from_files.map(index_of).collect();
        let mut records = file.records(&Arc::default())?;
        for _ in 0..most {
            let Some(record) = records.next()? else { break };
            self.rows += 1;
            for (column, index) in self.columns.iter_mut().zip(&indices) {
                let field = index.and_then(|index| record.field(index));
                match field.map(std::str::from_utf8) {
                    Some(Err(_)) => self.not_utf8 += 1,
                    Some(Ok(text)) if !text.is_ascii() => self.beyond_ascii += 1,
                    _ => {}
                }
                column.add(field);
            }
        }
        Ok(())
    }

    /// Adds at most `most` lines of a file.
    fn add_json(&mut self, file: &JsonLinesFile, most: usize) -> Result<(), SourceError> {
        let (from_files, _) = self.columns.split_at_mut(self.from_files);
        let names: Vec<String> = from_files.iter().map(|column| column.name.clone()).collect();
        let indices = KeyIndices::of(names.iter().map(String::as_str));
        let mut lines = file.lines(&Arc::default())?;
        for _ in 0..most {
            let Some(line) = lines.next()? else { break };
            self.rows += 1;
            let values = indices.values(line).unwrap_or_default();
            for (column, value) in from_files.iter_mut().zip(values) {
                value.into_iter().for_each(|value| column.add_json(value));
            }
        }
        Ok(())
    }
}

/// Some texts of a column.
struct SampledTexts {
    name: String,
    /// The texts that are not empty; `None` for fields that are too long or not text.
    texts: Vec<Option<String>>,
    /// How many of them are values that JSON has as texts.
    quoted: usize,
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

    fn add_json(&mut self, value: JsonValue<'_>) {
        match (value.kind(), value.text()) {
            (JsonKind::Null, _) => {}
            (JsonKind::Bool | JsonKind::Number, _) => self.add(Some(value.written())),
            (JsonKind::Text, Some(text)) => {
                let trimmed = text.trim_ascii();
                let is_value = !trimmed.is_empty() && !NULLS.contains(&trimmed);
                self.quoted += usize::from(is_value);
                self.add(Some(text.as_bytes()));
            }
            (JsonKind::Text | JsonKind::Array | JsonKind::Object, _) => self.texts.push(None),
        }
    }

    /// The texts that are not among those for NULL.
    fn values(&self) -> impl Iterator<Item = &str> + Clone {
        self.texts.iter().flatten().map(String::as_str).filter(|text| !NULLS.contains(text))
    }

    /// How many fields are not empty and not among those for NULL.
    fn count(&self) -> usize {
        self.texts.iter().filter(|text| text.is_none()).count() + self.values().count()
    }

    /// The values that the parser reads as that type.
    fn fitting(&self, parser: &TextParser, to: ColumnType) -> impl Iterator<Item = &str> + Clone {
        self.values().filter(move |text| fits(parser, text, to))
    }

    /// How many values the parser reads as that type; 0 where too many are of another one, after
    /// which no more are parsed.
    fn typed(&self, parser: &TextParser, to: ColumnType) -> usize {
        let all = self.count();
        let mut misfits = all - self.values().count();
        for text in self.values() {
            misfits += usize::from(!fits(parser, text, to));
            if too_many(misfits, all) {
                return 0;
            }
        }
        all - misfits
    }

    fn proposed(&self, parser: &TextParser, unclear: &[Unclear]) -> ProposedType {
        let (column_type, note) = self.type_and_note(parser, unclear);
        let mut proposed = ProposedType {
            name: self.name.clone(),
            column_type,
            note,
            misfits: 0,
            forms: Vec::new(),
        };
        if column_type == ColumnType::String {
            return proposed;
        }
        proposed.misfits = self.count() - self.fitting(parser, column_type).count();
        for text in self.values() {
            if proposed.forms.len() < MOST_FORMS && !fits(parser, text, column_type) {
                let form = form(text.as_bytes());
                if !proposed.forms.contains(&form) {
                    proposed.forms.push(form);
                }
            }
        }
        proposed
    }

    fn type_and_note(
        &self,
        parser: &TextParser,
        unclear: &[Unclear],
    ) -> (ColumnType, Option<&'static str>) {
        if self.values().next().is_none() {
            let note = self.texts.is_empty().then_some("no value in the rows looked at");
            return (ColumnType::String, note);
        }
        for (readings, note) in unclear {
            if self.reads_differently(readings) {
                return (ColumnType::String, Some(note));
            }
        }
        let quoted = too_many(self.quoted, self.count());
        let letters = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
        let mut bools = self.fitting(parser, ColumnType::Bool);
        if !quoted && self.typed(parser, ColumnType::Bool) > 0 && bools.all(letters) {
            return (ColumnType::Bool, None);
        }
        let code = |text: &str| {
            text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
        };
        if self.values().any(code) {
            return (ColumnType::String, Some("codes with a zero in front"));
        }
        let decimal = parser.format().numbers().decimal();
        let numbers = self.fitting(parser, ColumnType::Float);
        let digits = numbers.clone().map(|text| digits_after(text, decimal)).max().unwrap_or(0);
        let scale = u8::try_from(digits.min(MOST_DIGITS)).unwrap_or(0);
        let exponent = numbers.clone().any(|text| text.contains(['e', 'E']));
        let fixed = digits <= MOST_DIGITS && !exponent;
        let moments = self.fitting(parser, ColumnType::Timestamp);
        let with_time = moments.clone().filter(|text| text.contains(':')).count();
        let timed = with_time * ONE_OF_SO_MANY > moments.count();
        // Eight digits in a text may be a code.
        let digits_alone = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let dated = !quoted || !self.fitting(parser, ColumnType::Date).any(digits_alone);
        let candidates = [
            (!quoted, ColumnType::Int),
            (!quoted && fixed && scale > 0, ColumnType::Decimal { scale }),
            (!quoted, ColumnType::Float),
            (dated && !timed, ColumnType::Date),
            (dated && timed, ColumnType::Timestamp),
        ];
        // The type of the most values, and of several the plainest.
        let mut best = (0, ColumnType::String);
        for (_, to) in candidates.into_iter().filter(|(may, _)| *may) {
            let typed = self.typed(parser, to);
            if typed > best.0 {
                best = (typed, to);
            }
        }
        (best.1, None)
    }

    /// Whether several of the parsers read the values, and not as the same ones.
    fn reads_differently(&self, parsers: &[TextParser]) -> bool {
        let values: Vec<&str> = self.values().collect();
        let of = |parser| ColumnValues::of(&values, self.count(), parser);
        let mut readings = parsers.iter().filter_map(of);
        let first = readings.next();
        readings.any(|other| first.as_ref().is_some_and(|first| first.differs_from(&other)))
    }
}

/// Whether the parser reads a text as that type.
fn fits(parser: &TextParser, text: &str, to: ColumnType) -> bool {
    matches!(parser.fit(Some(text.as_bytes()), to), ParsedField::Value(()))
}

/// Whether so many values of other types are too many for a column of one type.
fn too_many(misfits: usize, all: usize) -> bool {
    misfits * ONE_OF_SO_MANY > all
}

/// The values of a column; `None` for those that are not read.
enum ColumnValues {
    Numbers(Vec<Option<f64>>),
    Instants(Vec<Option<i64>>),
}

impl ColumnValues {
    fn of(values: &[&str], count: usize, parser: &TextParser) -> Option<Self> {
        fn most<T>(
            values: &[&str],
            count: usize,
            parse: impl Fn(&[u8]) -> ParsedField<T>,
        ) -> Option<Vec<Option<T>>> {
            let value = |text: &&str| match parse(text.as_bytes()) {
                ParsedField::Value(value) => Some(value),
                _ => None,
            };
            let all: Vec<Option<T>> = values.iter().map(value).collect();
            let fitting = all.iter().flatten().count();
            (fitting > 0 && !too_many(count.saturating_sub(fitting), count)).then_some(all)
        }
        most(values, count, |text| parser.float(Some(text))).map(Self::Numbers).or_else(|| {
            most(values, count, |text| parser.timestamp(Some(text))).map(Self::Instants)
        })
    }

    /// Whether a text has another value in the other reading.
    fn differs_from(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(one: &[Option<T>], other: &[Option<T>]) -> bool {
            one.iter().zip(other).any(|pair| matches!(pair, (Some(a), Some(b)) if a != b))
        }
        match (self, other) {
            (Self::Numbers(one), Self::Numbers(other)) => differ(one, other),
            (Self::Instants(one), Self::Instants(other)) => differ(one, other),
            _ => true,
        }
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
    let numeric = || columns.iter().filter(|column| column.typed(&parser, ColumnType::Float) > 0);
    let has =
        |column: &SampledTexts, sign: &str| column.texts.iter().flatten().any(|t| t.contains(sign));
    let used = currency.into_iter().filter(|sign| numeric().any(|column| has(column, sign)));
    let (decimal, thousands) = (numbers.numbers().decimal(), numbers.numbers().thousands());
    let numbers = NumberFormat::new(decimal, thousands, used.collect())?;
    let typed = TextFormat::new(Vec::new(), numbers.clone(), dates.dates())?;
    let parser = TextParser::new(&typed);
    let is_text =
        |column: &SampledTexts| column.type_and_note(&parser, &unclear).0 == ColumnType::String;
    let with_types: Vec<_> = columns.iter().map(|column| (column, is_text(column))).collect();
    let null = NULLS.into_iter().filter(|null| {
        with_types.iter().any(|(column, is_text)| {
            (!is_text || NULLS_OF_TEXT.contains(null))
                && column.texts.iter().flatten().any(|text| text == null)
        })
    });
    let null = null.map(str::to_owned).collect();
    Ok((TextFormat::new(null, numbers, dates.dates())?, unclear))
}

/// The first of the formats that reads the most values of columns of that type. If another one is
/// as good and reads other values, the first of all, and those between which it is open.
fn most_typed(
    columns: &[SampledTexts],
    formats: &[TextFormat],
    to: ColumnType,
) -> (TextFormat, Vec<TextParser>) {
    let parsers: Vec<TextParser> = formats.iter().map(TextParser::new).collect();
    let typed = |parser: &TextParser| columns.iter().map(|c| c.typed(parser, to)).sum::<usize>();
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
