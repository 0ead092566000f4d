//! The columns of a table, in one pass over its rows.

use std::collections::{BTreeSet, HashMap, HashSet};

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion::error::DataFusionError;
use hushtable_contract::{Column, Table, TableUnit};
use hushtable_lang::{ColumnType, Value};

use super::forms::{FormCounter, Forms};
use super::report::{ColumnCheck, KeysCheck, RangeCheck, Spread, TableCheck};
use super::spread;
use crate::bound::CountHistogram;
use crate::classes::ClassLookup;
use crate::error::EngineError;
use crate::eval::{Program, at_most};
use crate::feed::rows_at_once;
use crate::intern::Interner;
use crate::intern::too_many;
use crate::progress::Progress;
use crate::sketch::SignedSketch;
use crate::source::parse::{ParsedField, TextParser};
use crate::source::text_form::form;
use crate::source::{Misfit, OddRow, ReadRequest, Sink, TableData, observe};

/// Shares whose quantiles are reported.
const QUANTILES: [f64; 7] = [0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0];

/// Reads the table once.
///
/// # Errors
/// When a file cannot be read, or there is too little memory.
pub(super) fn read(
    table: &Table,
    identifying: &BTreeSet<&str>,
    data: &TableData,
    progress: &Progress,
) -> Result<TableCheck, EngineError> {
    let stored = table.stored_columns();
    let unit = match &table.unit {
        TableUnit::Row | TableUnit::Through { .. } | TableUnit::Public => None,
        TableUnit::Column(name) => {
            Some(stored.iter().position(|(stored_name, _)| stored_name == name).ok_or(
                EngineError::inconsistent(
                    "the column of units is not among a table's stored columns",
                ),
            )?)
        }
    };
    let mut rows = CheckedRows {
        columns: table
            .columns
            .iter()
            .map(|c| CheckedColumn::of(c, table))
            .collect::<Result<_, _>>()?,
        stored: Vec::new(),
        rows: 0,
        ragged: 0,
        unclosed: 0,
        not_objects: 0,
        unit: unit.map(|column| RowsPerUnit {
            column,
            interner: None,
            rows: Vec::new(),
            without: 0,
        }),
        parser: TextParser::new(table.csv.clone().unwrap_or_default().values()),
        failed: None,
    };
    let stored_columns = rows.columns.iter().enumerate().filter(|(_, c)| c.program.is_none());
    rows.stored = stored_columns.map(|(index, _)| index).collect();
    let in_file = |name: &str| table.name_in_file(name).to_owned();
    let stored = stored.into_iter().map(|(name, column_type)| (in_file(&name), column_type));
    let stored: Vec<_> = stored.collect();
    let of_unit = unit.and_then(|column| stored.get(column)).cloned();
    for column in &mut rows.columns {
        column.identifying = identifying.contains(column.name.as_str());
    }
    let texts = rows.columns.iter().filter(|column| column.column_type == ColumnType::String);
    let request = ReadRequest {
        columns: stored,
        unit: of_unit,
        csv: table.csv.clone(),
        rows: false,
        identifying: identifying.iter().map(|&name| in_file(name)).collect(),
        text_bytes: texts.map(|column| (in_file(&column.name), column.max_bytes)).collect(),
    };
    let read = observe(data, &request, &progress.reading(), &mut rows);
    if let Some(error) = rows.failed {
        return Err(error);
    }
    read?;
    let mut of_units = CountHistogram::default();
    let units = rows.unit.as_ref();
    let counts = units.iter().flat_map(|units| &units.rows).filter(|rows| **rows > 0);
    counts.for_each(|&rows| of_units.add(rows));
    Ok(TableCheck {
        table: table.name.clone(),
        files: data.files().len(),
        rows: rows.rows,
        ragged_rows: rows.ragged,
        unclosed_quotes: rows.unclosed,
        lines_not_objects: rows.not_objects,
        privacy_unit: match &table.unit {
            TableUnit::Row => "row".to_owned(),
            TableUnit::Column(name) => name.clone(),
            TableUnit::Through { column, table, references } => {
                format!("{column}, through {table}.{references}")
            }
            TableUnit::Public => "none: the table is public".to_owned(),
        },
        units: match table.unit {
            TableUnit::Row => Some(rows.rows),
            TableUnit::Column(_) => Some(of_units.all()),
            // Unknown from the table alone.
            TableUnit::Through { .. } | TableUnit::Public => None,
        },
        rows_without_unit: units.map_or(0, |units| units.without),
        rows_per_unit: units.map(|_| spread(&of_units)),
        columns: rows.columns.into_iter().map(CheckedColumn::finish).collect(),
        query: None,
        advice: Vec::new(),
    })
}

/// Counts of the rows so far.
struct CheckedRows {
    columns: Vec<CheckedColumn>,
    /// The indices of the stored columns among all.
    stored: Vec<usize>,
    rows: u64,
    /// Rows of CSV files with more or fewer fields than their header line.
    ragged: u64,
    /// Rows of CSV files with a field in quotes that do not end.
    unclosed: u64,
    /// Lines of JSON lines that are no object.
    not_objects: u64,
    unit: Option<RowsPerUnit>,
    parser: TextParser,
    failed: Option<EngineError>,
}

/// The rows of each unit.
struct RowsPerUnit {
    /// The unit's index among the stored columns.
    column: usize,
    interner: Option<Interner>,
    rows: Vec<u64>,
    /// Rows that have no unit.
    without: u64,
}

impl RowsPerUnit {
    /// The number of each row's unit, if it has one.
    fn add(&mut self, unit: &ArrayRef) -> Result<Vec<Option<u32>>, DataFusionError> {
        let columns = std::slice::from_ref(unit);
        let interner = match &mut self.interner {
            Some(interner) => interner,
            none => none.insert(Interner::new(columns)?),
        };
        let ids = interner.intern(columns)?.to_vec();
        self.rows.resize(interner.len(), 0);
        let mut numbers = Vec::with_capacity(ids.len());
        for (row, id) in ids.into_iter().enumerate() {
            if unit.is_null(row) {
                self.without += 1;
                numbers.push(None);
                continue;
            }
            if let Some(rows) = self.rows.get_mut(id) {
                *rows += 1;
            }
            numbers.push(Some(u32::try_from(id).map_err(|_| too_many())?));
        }
        Ok(numbers)
    }
}

impl Sink for CheckedRows {
    fn batch(&mut self, columns: Vec<ArrayRef>, rows: usize) -> bool {
        let added = self.add(&columns, rows);
        self.failed = added.err();
        self.failed.is_none()
    }

    fn misfit(&mut self, column: usize, what: Misfit<'_>) {
        // Units come last, and are what the values of their column are to a query.
        let column = match &self.unit {
            Some(units) if column == units.column => return,
            Some(units) if column == self.stored.len() => units.column,
            _ => column,
        };
        let index = self.stored.get(column);
        if let Some(column) = index.and_then(|&index| self.columns.get_mut(index)) {
            column.misfits += 1;
            column.forms.add(match what {
                Misfit::Text(text) if column.is_inexact(text, &self.parser) => {
                    column.inexact += 1;
                    form(text)
                }
                Misfit::Text(text) => form(text),
                Misfit::Unclosed => "text in quotes without an end".to_owned(),
                Misfit::NaN => "NaN".to_owned(),
                Misfit::OutOfRange => "beyond the range of the type".to_owned(),
            });
        }
    }

    fn odd_row(&mut self, what: OddRow) {
        match what {
            OddRow::Ragged => self.ragged += 1,
            OddRow::Unclosed => self.unclosed += 1,
            OddRow::NotAnObject => self.not_objects += 1,
        }
    }
}

impl CheckedRows {
    /// The stored columns as queries see them: text that is too long does not fit.
    fn fitting(&mut self, stored: &[ArrayRef]) -> Result<Vec<ArrayRef>, EngineError> {
        let mut fitting = Vec::with_capacity(stored.len());
        for (values, &index) in stored.iter().zip(&self.stored) {
            let column = self.columns.get_mut(index).ok_or(EngineError::inconsistent(
                "a stored column is not among the checked columns",
            ))?;
            let within = at_most(values, column.max_bytes)?;
            for _ in values.null_count()..within.null_count() {
                column.misfits += 1;
                column.forms.add(format!("text of more than {} bytes", column.max_bytes));
            }
            fitting.push(within);
        }
        Ok(fitting)
    }

    fn add(&mut self, read: &[ArrayRef], rows: usize) -> Result<(), EngineError> {
        self.rows += rows as u64;
        let (stored, of_unit) = read
            .split_at_checked(self.stored.len())
            .ok_or(EngineError::inconsistent("fewer columns were read than a table stores"))?;
        let stored = &self.fitting(stored)?[..];
        let units = match &mut self.unit {
            Some(units) => {
                let column = of_unit
                    .first()
                    .ok_or(EngineError::inconsistent("the column of units was not read"))?;
                let index = self.stored.get(units.column).copied();
                let declared = index.and_then(|index| self.columns.get_mut(index));
                let declared = declared.ok_or(EngineError::inconsistent(
                    "a stored column is not among the checked columns",
                ))?;
                let column = &at_most(column, declared.max_bytes)?;
                // Counted as units, which may be too large for their column's values.
                let values = stored.get(units.column).ok_or(EngineError::inconsistent(
                    "the column of units is not among a table's stored columns",
                ))?;
                let lost = values.null_count().saturating_sub(column.null_count());
                declared.beyond += lost as u64;
                Some(units.add(column)?)
            }
            None => None,
        };
        let mut of_stored = stored.iter();
        for column in &mut self.columns {
            let Some(program) = &column.program else {
                let values = of_stored.next().ok_or(EngineError::inconsistent(
                    "fewer columns were read than a table stores",
                ))?;
                column.counts.add(values, units.as_deref())?;
                continue;
            };
            let (step, mut from) = (rows_at_once(stored, rows, 1), 0);
            while from < rows {
                let length = step.min(rows - from);
                let slices: Vec<ArrayRef> = stored.iter().map(|c| c.slice(from, length)).collect();
                let units = units.as_ref().and_then(|units| units.get(from..from + length));
                column.counts.add(&program.evaluate(&slices, length)?, units)?;
                from += length;
            }
        }
        Ok(())
    }
}

/// A column that is checked.
struct CheckedColumn {
    name: String,
    column_type: ColumnType,
    /// Most bytes of a text of the column.
    max_bytes: usize,
    /// Where it is computed from others.
    program: Option<Program>,
    /// Whether it identifies units, or rows that other tables refer to.
    identifying: bool,
    misfits: u64,
    /// Misfits that would be values if the column identified nothing.
    inexact: u64,
    /// Units that are too large for the column's values.
    beyond: u64,
    forms: FormCounter,
    counts: ValueCounts,
}

/// Counts of the values of a column.
struct ValueCounts {
    nulls: u64,
    range: Option<CheckedRange>,
    keys: Option<ListedKeys>,
}

impl CheckedColumn {
    fn of(column: &Column, table: &Table) -> Result<Self, EngineError> {
        let named = |name: &Option<String>| name.as_ref() == Some(&column.name);
        let is_unit = matches!(&table.unit, TableUnit::Column(unit) if *unit == column.name);
        let identifies = is_unit || named(&table.owner);
        let listed = column.public_keys.as_ref().or(column.known_keys.as_ref());
        let keys = listed.map(|values| {
            let per_unit = table.unit != TableUnit::Row && column.public_keys.is_some();
            ListedKeys::of(values, column, per_unit)
        });
        let bounded = column.bounds.is_some() || column.sum_bounds.is_some();
        let measured = bounded || column.split.is_some();
        let plain = listed.is_none() && !identifies;
        let range =
            (column.column_type.is_numeric() && (measured || plain)).then(|| CheckedRange {
                bounds: column.bounds.map(|(low, high)| (low.to_f64(), high.to_f64())),
                below: 0,
                above: 0,
                values: SignedSketch::new(),
                extremes: None,
            });
        Ok(Self {
            name: column.name.clone(),
            column_type: column.column_type,
            max_bytes: column.max_bytes,
            program: column.expression.as_ref().map(Program::new).transpose()?,
            identifying: false,
            misfits: 0,
            inexact: 0,
            beyond: 0,
            forms: FormCounter::default(),
            counts: ValueCounts { nulls: 0, range, keys: keys.transpose()? },
        })
    }

    /// Whether a text that does not fit is another way to write a value that could be a unit's.
    fn is_inexact(&self, text: &[u8], parser: &TextParser) -> bool {
        let value = || match self.column_type {
            ColumnType::Int => matches!(parser.wide(Some(text)), ParsedField::Value(_)),
            other => matches!(parser.fit(Some(text), other), ParsedField::Value(())),
        };
        self.identifying && value()
    }

    fn finish(self) -> ColumnCheck {
        let ValueCounts { nulls, range, keys } = self.counts;
        ColumnCheck {
            name: self.name,
            column_type: self.column_type.to_string(),
            computed: self.program.is_some(),
            nulls: nulls.saturating_sub(self.misfits + self.beyond),
            do_not_fit: self.misfits,
            written_otherwise: self.inexact,
            forms: self.forms.finish(),
            range: range.map(CheckedRange::finish),
            keys: keys.map(ListedKeys::finish),
        }
    }
}

impl ValueCounts {
    fn add(&mut self, values: &ArrayRef, units: Option<&[Option<u32>]>) -> Result<(), EngineError> {
        self.nulls += values.null_count() as u64;
        if let Some(range) = &mut self.range {
            range.add(values);
        }
        match &mut self.keys {
            Some(keys) => keys.add(values, units),
            None => Ok(()),
        }
    }
}

/// The values of a column of numbers.
struct CheckedRange {
    bounds: Option<(f64, f64)>,
    below: u64,
    above: u64,
    values: SignedSketch,
    /// The least and the greatest value.
    extremes: Option<(f64, f64)>,
}

impl CheckedRange {
    fn add(&mut self, values: &ArrayRef) {
        match values.data_type() {
            DataType::Int64 => {
                values
                    .as_primitive::<Int64Type>()
                    .iter()
                    .flatten()
                    .for_each(|n| self.one(n as f64));
            }
            DataType::Decimal128(_, scale) => {
                let factor = 10f64.powi(i32::from(*scale));
                let decimals = values.as_primitive::<Decimal128Type>();
                decimals.iter().flatten().for_each(|n| self.one(n as f64 / factor));
            }
            DataType::Float64 => {
                values.as_primitive::<Float64Type>().iter().flatten().for_each(|x| self.one(x));
            }
            _ => {}
        }
    }

    fn one(&mut self, value: f64) {
        if let Some((low, high)) = self.bounds {
            self.below += u64::from(value < low);
            self.above += u64::from(value > high);
        }
        self.values.add(value);
        let (least, most) = self.extremes.unwrap_or((value, value));
        self.extremes = Some((least.min(value), most.max(value)));
    }

    fn finish(self) -> RangeCheck {
        let at = |share: f64| match share {
            0.0 => self.extremes.map(|(least, _)| least),
            1.0 => self.extremes.map(|(_, most)| most),
            share => self.values.at(share),
        };
        let quantiles = QUANTILES.iter().filter_map(|&s| Some((s, at(s)?)));
        RangeCheck {
            bounds: self.bounds,
            below: self.below,
            above: self.above,
            quantiles: quantiles.collect(),
        }
    }
}

/// The values of a column whose keys are listed.
struct ListedKeys {
    public: bool,
    listed: Vec<String>,
    index: KeyIndex,
    rows: Vec<u64>,
    not_listed: u64,
    /// The listed texts, in lower case and without spaces around them.
    plain: HashSet<String>,
    nearly: u64,
    forms: FormCounter,
    /// The listed values of each unit, where they are to be counted.
    pairs: Option<HashSet<(u32, u32)>>,
}

/// The index of a value among those listed.
enum KeyIndex {
    Floats(HashMap<u64, usize>),
    Others(ClassLookup),
}

fn plain(text: &str) -> String {
    text.trim().to_lowercase()
}

impl ListedKeys {
    fn of(values: &[Value], column: &Column, per_unit: bool) -> Result<Self, EngineError> {
        let floats = values.iter().enumerate().filter_map(|(index, value)| match value {
            Value::Float(x) => Some((x.to_bits(), index)),
            _ => None,
        });
        let texts = values.iter().filter_map(|value| match value {
            Value::String(text) => Some(plain(text)),
            _ => None,
        });
        Ok(Self {
            public: column.public_keys.is_some(),
            listed: values.iter().map(Value::to_string).collect(),
            index: match column.column_type {
                ColumnType::Float => KeyIndex::Floats(floats.collect()),
                other => KeyIndex::Others(ClassLookup::new(values.iter(), other)?),
            },
            rows: vec![0; values.len()],
            not_listed: 0,
            plain: texts.collect(),
            nearly: 0,
            forms: FormCounter::default(),
            pairs: per_unit.then(HashSet::new),
        })
    }

    fn add(&mut self, values: &ArrayRef, units: Option<&[Option<u32>]>) -> Result<(), EngineError> {
        let indices: Vec<usize> = match &self.index {
            KeyIndex::Others(lookup) => lookup.indices(values)?,
            KeyIndex::Floats(indices) => {
                let values = values.as_primitive::<Float64Type>();
                let index = |x: Option<f64>| x.and_then(|x| indices.get(&x.to_bits()).copied());
                values.iter().map(|x| index(x).unwrap_or(self.rows.len())).collect()
            }
        };
        let texts = values.as_string_view_opt();
        for (row, index) in indices.into_iter().enumerate() {
            if values.is_null(row) {
                continue;
            }
            let Some(rows) = self.rows.get_mut(index) else {
                self.not_listed += 1;
                if let Some(texts) = texts {
                    let text = texts.value(row);
                    self.nearly += u64::from(self.plain.contains(&plain(text)));
                    self.forms.add(form(text.as_bytes()));
                }
                continue;
            };
            *rows += 1;
            let unit = units.and_then(|units| units.get(row).copied().flatten());
            if let (Some(pairs), Some(unit)) = (&mut self.pairs, unit) {
                pairs.insert((unit, u32::try_from(index).map_err(|_| too_many())?));
            }
        }
        Ok(())
    }

    fn finish(self) -> KeysCheck {
        let without = self.listed.iter().zip(&self.rows).filter(|(_, rows)| **rows == 0);
        KeysCheck {
            public: self.public,
            listed: self.listed.len(),
            rows_listed: self.rows.iter().sum(),
            rows_not_listed: self.not_listed,
            rows_nearly_listed: self.nearly,
            forms: self.forms.finish(),
            without_rows: without.map(|(name, _)| name.clone()).collect(),
            per_unit: self.pairs.map(|pairs| per_unit(&pairs)),
        }
    }
}

/// How many values the units have that have any.
fn per_unit(pairs: &HashSet<(u32, u32)>) -> Spread {
    let mut values: HashMap<u32, u64> = HashMap::new();
    pairs.iter().for_each(|(unit, _)| *values.entry(*unit).or_default() += 1);
    let mut all = CountHistogram::default();
    values.into_values().for_each(|n| all.add(n));
    spread(&all)
}

impl Forms {
    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.most_frequent.is_empty()
    }
}
