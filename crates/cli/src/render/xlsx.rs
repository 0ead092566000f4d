//! Results as Excel files: a sheet with the table, and one with its notes.
//!
//! Numbers are numbers where a 64-bit float has all of their digits, and text otherwise. Texts are
//! texts, whatever they begin with: none is a formula. The same result has the same bytes.

mod zip;

use hushtable::QuestionQuote;
use hushtable::arrow::record_batch::RecordBatch;
use hushtable::query::GroupsExplanation;

use super::cannot_show;
use super::cell::{ResultCell, month_start, rows};
use super::grid::visible;
use super::json;
use super::number::number;
use crate::failure::Failure;
use zip::archive;

/// Most rows of a sheet, without the one of the headings.
const MOST_ROWS: u64 = 1_048_575;

/// Most characters of a cell.
const MOST_CHARACTERS: usize = 32_767;

/// Refuses a table before it is charged that no sheet can hold, as far as its size is public: that
/// of groups of public keys is.
pub(crate) fn check(quoted: &QuestionQuote) -> Result<(), Failure> {
    let groups = quoted.parts.iter().map(|part| match part.explanation.groups {
        GroupsExplanation::Public { groups, .. } => groups as u64,
        _ => 0,
    });
    match groups.max() {
        Some(groups) if groups > MOST_ROWS => Err(Failure::new(
            format!(
                "the answer has {} groups, but an Excel sheet has at most {} rows below its \
                 headings",
                number(groups as f64),
                number(MOST_ROWS as f64)
            ),
            "give --format csv or parquet, or group by fewer keys",
        )),
        _ => Ok(()),
    }
}

/// An Excel file.
pub(crate) fn xlsx(batch: &RecordBatch, notes: &str) -> Result<Vec<u8>, Failure> {
    if batch.num_rows() as u64 > MOST_ROWS {
        return Err(on_record(format!(
            "the answer has {} rows, but an Excel sheet has at most {} below its headings",
            number(batch.num_rows() as f64),
            number(MOST_ROWS as f64)
        )));
    }
    let rows = rows(batch)?;
    let is_long = |cell: &ResultCell<'_>| match cell {
        ResultCell::Text(text) => text.chars().count() > MOST_CHARACTERS,
        _ => false,
    };
    if rows.iter().flatten().any(is_long) {
        return Err(on_record(format!(
            "a text of the answer has more than {MOST_CHARACTERS} characters, which no cell of \
             Excel holds"
        )));
    }
    archive(&files(batch, &rows, notes)).map_err(|_| cannot_show("column"))
}

/// A failure after the charge, which loses nothing.
fn on_record(what: String) -> Failure {
    Failure::new(what, "ask again with --format csv or parquet: the answer is on record, and free")
}

/// The names of files that are the same for all, by their names.
const TYPES: &str = "[Content_Types].xml";
const RELATIONS: &str = "_rels/.rels";
const BOOK: &str = "xl/workbook.xml";
const BOOK_RELATIONS: &str = "xl/_rels/workbook.xml.rels";
const STYLES: &str = "xl/styles.xml";

/// The beginning of every file.
const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OF_PACKAGES: &str = "http://schemas.openxmlformats.org/package/2006";
const OF_DOCUMENTS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const KINDS: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/// Styles of cells, by their indices in the file of styles.
const BOLD: u8 = 1;
const DATE: u8 = 2;
const TIMESTAMP: u8 = 3;

/// The first day that all programs number alike: 1 March 1900.
const FIRST_DAY: i64 = -25_508;
/// The number of 1 January 1970.
const DAY_1970: i64 = 25_569;

/// The files of the archive, by their names.
fn files(batch: &RecordBatch, rows: &[Vec<ResultCell<'_>>], notes: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = notes.lines().filter(|line| !line.is_empty()).collect();
    let mut sheets = vec![("result", table_sheet(batch, rows))];
    if !lines.is_empty() {
        let lines = lines.iter().zip(1..).map(|(line, row)| {
            format!("<row r=\"{row}\">{}</row>", text_cell(&reference(0, row), line, 0))
        });
        sheets.push(("notes", sheet("", &lines.collect::<String>())));
    }
    let (mut types, mut named, mut relations) = (String::new(), String::new(), String::new());
    for (number, (name, _)) in (1..).zip(&sheets) {
        types += &format!(
            "<Override PartName=\"/xl/worksheets/sheet{number}.xml\" \
             ContentType=\"{KINDS}.worksheet+xml\"/>"
        );
        named += &format!("<sheet name=\"{name}\" sheetId=\"{number}\" r:id=\"rId{number}\"/>");
        relations += &relation(number, "worksheet", &format!("worksheets/sheet{number}.xml"));
    }
    relations += &relation(sheets.len() + 1, "styles", "styles.xml");
    let mut files = vec![
        (
            TYPES.to_owned(),
            format!(
                "{XML}<Types xmlns=\"{OF_PACKAGES}/content-types\">\
                 <Default Extension=\"rels\" \
                 ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
                 <Default Extension=\"xml\" ContentType=\"application/xml\"/>\
                 <Override PartName=\"/{BOOK}\" ContentType=\"{KINDS}.sheet.main+xml\"/>\
                 <Override PartName=\"/{STYLES}\" ContentType=\"{KINDS}.styles+xml\"/>\
                 {types}</Types>"
            ),
        ),
        (RELATIONS.to_owned(), related(&relation(1, "officeDocument", BOOK))),
        (
            BOOK.to_owned(),
            format!(
                "{XML}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OF_DOCUMENTS}\">\
                 <sheets>{named}</sheets></workbook>"
            ),
        ),
        (BOOK_RELATIONS.to_owned(), related(&relations)),
        (STYLES.to_owned(), styles()),
    ];
    for (number, (_, text)) in (1..).zip(sheets) {
        files.push((format!("xl/worksheets/sheet{number}.xml"), text));
    }
    files
}

fn relation(number: usize, kind: &str, target: &str) -> String {
    format!("<Relationship Id=\"rId{number}\" Type=\"{OF_DOCUMENTS}/{kind}\" Target=\"{target}\"/>")
}

fn related(relations: &str) -> String {
    format!("{XML}<Relationships xmlns=\"{OF_PACKAGES}/relationships\">{relations}</Relationships>")
}

fn styles() -> String {
    let cell = |number_format: u16, font: u8| {
        format!(
            "<xf numFmtId=\"{number_format}\" fontId=\"{font}\" fillId=\"0\" borderId=\"0\" \
             xfId=\"0\" applyNumberFormat=\"1\" applyFont=\"1\"/>"
        )
    };
    let cells = [cell(0, 0), cell(0, 1), cell(164, 0), cell(165, 0)].concat();
    let font = "<sz val=\"11\"/><name val=\"Calibri\"/>";
    format!(
        "{XML}<styleSheet xmlns=\"{MAIN}\"><numFmts count=\"2\">\
         <numFmt numFmtId=\"164\" formatCode=\"yyyy\\-mm\\-dd\"/>\
         <numFmt numFmtId=\"165\" formatCode=\"yyyy\\-mm\\-dd\\ hh:mm:ss\"/></numFmts>\
         <fonts count=\"2\"><font>{font}</font><font><b/>{font}</font></fonts>\
         <fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill>\
         <fill><patternFill patternType=\"gray125\"/></fill></fills>\
         <borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>\
         <cellStyleXfs count=\"1\">\
         <xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>\
         <cellXfs count=\"4\">{cells}</cellXfs>\
         <cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/>\
         </cellStyles></styleSheet>"
    )
}

/// The sheet of a table: its headings stay where they are when it is scrolled.
fn table_sheet(batch: &RecordBatch, rows: &[Vec<ResultCell<'_>>]) -> String {
    let schema = batch.schema();
    let mut out = String::from("<row r=\"1\">");
    for (column, field) in schema.fields().iter().enumerate() {
        let name: String = visible(field.name()).chars().take(MOST_CHARACTERS).collect();
        out += &text_cell(&reference(column, 1), &name, BOLD);
    }
    out += "</row>";
    for (row, cells) in (2..).zip(rows) {
        out += &format!("<row r=\"{row}\">");
        for (column, cell) in cells.iter().enumerate() {
            out += &of_cell(&reference(column, row), cell);
        }
        out += "</row>";
    }
    let views = "<sheetViews><sheetView workbookViewId=\"0\"><pane ySplit=\"1\" \
                 topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/></sheetView>\
                 </sheetViews>";
    sheet(views, &out)
}

fn sheet(views: &str, rows: &str) -> String {
    format!("{XML}<worksheet xmlns=\"{MAIN}\">{views}<sheetData>{rows}</sheetData></worksheet>")
}

/// The name of a cell: `A1`. Columns are counted from 0.
fn reference(column: usize, row: u32) -> String {
    let mut letters = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    let letters: String = letters.into_iter().rev().collect();
    format!("{letters}{row}")
}

fn of_cell(at: &str, cell: &ResultCell<'_>) -> String {
    match cell {
        ResultCell::Null => String::new(),
        ResultCell::Bool(value) => format!("<c r=\"{at}\" t=\"b\"><v>{}</v></c>", u8::from(*value)),
        ResultCell::Float(value) if value.is_finite() => {
            format!("<c r=\"{at}\"><v>{value:e}</v></c>")
        }
        ResultCell::Float(value) => text_cell(at, &value.to_string(), 0),
        // As JSON has them: text where a float would lose digits.
        ResultCell::Int(_) | ResultCell::Decimal(_) => match json::value(cell) {
            text if text.starts_with('"') => text_cell(at, text.trim_matches('"'), 0),
            number => format!("<c r=\"{at}\"><v>{number}</v></c>"),
        },
        ResultCell::Text(text) => text_cell(at, text, 0),
        ResultCell::Moment(text) => match moment(text) {
            Some((days, style)) => format!("<c r=\"{at}\" s=\"{style}\"><v>{days}</v></c>"),
            None => text_cell(at, text, 0),
        },
    }
}

fn text_cell(at: &str, text: &str, style: u8) -> String {
    format!(
        "<c r=\"{at}\" s=\"{style}\" t=\"inlineStr\"><is>\
         <t xml:space=\"preserve\">{}</t></is></c>",
        escaped(text)
    )
}

/// Text in XML. Characters that XML does not have are written as `_x001B_`, and so is the
/// underscore of a text that looks like that.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (index, c) in text.char_indices() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '_' if text[index..].starts_with("_x") => out += "_x005F_",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out += &format!("_x{:04X}_", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// A moment as Excel counts days, and its style; to the second.
fn moment(text: &str) -> Option<(String, u8)> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let numbers = |text: &str, by: char| -> Option<[i64; 3]> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let all = text.split(by).map(|text| text.parse().ok().filter(|_| digits(text)));
        all.collect::<Option<Vec<i64>>>()?.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let days = month_start(12 * year + month - 1) + day - 1;
    if days < FIRST_DAY || year > 9999 {
        return None;
    }
    let days = days + DAY_1970;
    let Some(time) = time else { return Some((days.to_string(), DATE)) };
    let [hour, minute, second] = numbers(time, ':')?;
    let seconds = 3_600 * hour + 60 * minute + second;
    Some(((days as f64 + seconds as f64 / 86_400.0).to_string(), TIMESTAMP))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hushtable::arrow::array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
        StringViewArray, TimestampMicrosecondArray,
    };

    use super::*;

    fn table() -> RecordBatch {
        let decimals = Decimal128Array::from(vec![Some(1_234), None, Some(10i128.pow(17))]);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("town", Arc::new(StringViewArray::from(vec![Some("=1+1"), None, Some("a\u{1b}b")]))),
            ("n", Arc::new(Int64Array::from(vec![1, -5, i64::MAX]))),
            ("s", Arc::new(decimals.with_precision_and_scale(30, 2).unwrap())),
            ("f", Arc::new(Float64Array::from(vec![0.1, f64::INFINITY, -2.5]))),
            ("b", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("d", Arc::new(Date32Array::from(vec![19_782, -30_000, 0]))),
            ("t", Arc::new(TimestampMicrosecondArray::from(vec![0, 1, 86_399_000_000]))),
        ];
        let columns = columns.into_iter().map(|(name, column)| (name, column, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    #[test]
    fn the_same_result_has_the_same_bytes() {
        let bytes = xlsx(&table(), "\nintervals: none\n").unwrap();
        assert!(bytes.starts_with(b"PK"), "{:?}", &bytes[..4]);
        assert_eq!(bytes, xlsx(&table(), "\nintervals: none\n").unwrap());
        let name = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
        assert!(name("xl/worksheets/sheet2.xml"));
        let without = xlsx(&table(), "").unwrap();
        assert!(without.len() < bytes.len());
    }

    #[test]
    fn cells_are_what_excel_reads() {
        let batch = table();
        let files = files(&batch, &rows(&batch).unwrap(), "\nintervals: none\n");
        let named = |name: &str| files.iter().find(|(file, _)| file == name).unwrap().1.clone();
        let sheet = named("xl/worksheets/sheet1.xml");
        insta::assert_snapshot!(sheet.replace("<row", "\n<row").replace("<c ", "\n  <c "));
        assert!(named("xl/worksheets/sheet2.xml").contains("intervals: none"));
        assert_eq!(reference(0, 1) + &reference(25, 2) + &reference(26, 3), "A1Z2AA3");
        assert_eq!(reference(16_383, 1), "XFD1");
        assert_eq!(escaped("a_b <&> _x0041_\r"), "a_b &lt;&amp;&gt; _x005F_x0041__x000D_");
    }

    #[test]
    fn moments_that_excel_knows() {
        for (text, known) in [
            ("2024-02-29", Some(("45351", DATE))),
            ("1900-03-01", Some(("61", DATE))),
            ("2024-02-29T12:00:00", Some(("45351.5", TIMESTAMP))),
            ("2024-02-29T12:34:56.000001", None),
            ("1900-02-28", None),
            ("+10000-01-01", None),
            ("-0001-12-31", None),
        ] {
            let known = known.map(|(days, style)| (days.to_owned(), style));
            assert_eq!(moment(text), known, "{text}");
        }
    }

    #[test]
    fn what_no_sheet_holds_is_on_record() {
        let long = "x".repeat(MOST_CHARACTERS + 1);
        let column: ArrayRef = Arc::new(StringViewArray::from(vec![long.as_str()]));
        let table = RecordBatch::try_from_iter([("town", column)]).unwrap();
        let failure = xlsx(&table, "").unwrap_err().to_string();
        assert!(failure.contains("the answer is on record"), "{failure}");
        let rows = MOST_ROWS as usize + 1;
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1; rows]));
        let table = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let failure = xlsx(&table, "").unwrap_err().to_string();
        assert!(failure.contains("1,048,576 rows"), "{failure}");
    }
}
