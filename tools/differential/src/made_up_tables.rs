//! Tables of made-up people, with NULLs in every column and values at the ends of their types.
//!
//! Each person has a twin with the same rows, so that every group has two units and appears.
//! Numbers of persons and visits differ by `TWIN` between twins.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use hushtable::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use hushtable::parquet::arrow::ArrowWriter;
use hushtable_testkit::Dice;

use crate::Failure;
use crate::pending::{Construct, pending};
use crate::random_expressions::TEXTS;

/// The difference between the numbers of twins.
const TWIN: i64 = 2_520_000;

/// The contract; each population's budgets come in the place of `# budgets`.
pub const CONTRACT: &str = r#"
[units.person]
# budgets

[units.person.defaults]
epsilon = 1000000
delta = 1e-6
group_selection_strategy = "LAPLACE_THRESHOLD"

[tables.people]
path = "people.parquet"
unit = { of = "person", column = "person_id" }

[tables.people.columns]
person_id = { type = "int" }
town = { type = "string", max_bytes = 24 }
name = { type = "string", max_bytes = 24 }
age = { type = "int" }
big = { type = "int" }
f = { type = "float" }
born = { type = "date" }
ok = { type = "bool" }
score = { type = "decimal(2)" }

[tables.visits]
path = "visits.parquet"
unit = { of = "person", column = "person_id" }

[tables.visits.columns]
visit_id = { type = "int" }
person_id = { type = "int" }
kind = { type = "string", max_bytes = 24 }
note = { type = "string", max_bytes = 24 }
minutes = { type = "int" }
day = { type = "date" }
came = { type = "timestamp" }
price = { type = "decimal(2)" }
w = { type = "float" }

[tables.claims]
path = "claims.parquet"
unit = { of = "person", through = { column = "visit_id", references = "visits.visit_id" } }

[tables.claims.columns]
visit_id = { type = "int" }
state = { type = "string", max_bytes = 24 }
amount = { type = "int" }

[tables.towns]
path = "towns.parquet"
public = true

[tables.towns.columns]
town = { type = "string", max_bytes = 24 }
region = { type = "string", max_bytes = 24 }
size = { type = "int" }

[tables.codes]
path = "codes.parquet"
public = true
unique = ["kind"]

[tables.codes.columns]
kind = { type = "string", max_bytes = 24 }
label = { type = "string", max_bytes = 24 }

[tables.loans]
path = "loans.parquet"
privacy_unit = "row"
# budgets

[tables.loans.columns]
sector = { type = "string", max_bytes = 24 }
jobs = { type = "int" }
rate = { type = "float" }
since = { type = "date" }
paid = { type = "timestamp" }

[tables.loans.defaults]
epsilon = 1000000
delta = 1e-6
group_selection_strategy = "LAPLACE_THRESHOLD"
"#;

/// The statements that DuckDB runs first: its views of the same files, and functions that mean what
/// ours do.
///
/// Values that our reading makes NULL are NULL in the views: NaN, and dates beyond the years 1 to
/// 9999.
pub fn their_schema() -> String {
    let mut sql = String::from(
        "CREATE VIEW people AS SELECT * REPLACE (as_real(f) AS f, as_day(born) AS born)
           FROM 'people.parquet';
         CREATE VIEW visits AS SELECT * REPLACE (as_real(w) AS w, as_day(day) AS day,
           as_moment(came) AS came)
           FROM 'visits.parquet';
         CREATE VIEW towns AS SELECT * FROM 'towns.parquet';
         CREATE VIEW codes AS SELECT * FROM 'codes.parquet';
         CREATE VIEW loans AS SELECT * REPLACE (as_real(rate) AS rate, as_day(since) AS since,
           as_moment(paid) AS paid) FROM 'loans.parquet';
         -- A row that refers to rows of two units counts for both.
         CREATE VIEW claims AS SELECT c.*, v.person_id AS of_person FROM 'claims.parquet' c
           JOIN (SELECT DISTINCT visit_id, person_id FROM visits WHERE person_id IS NOT NULL) v
           ON c.visit_id = v.visit_id;",
    );
    let finite = if pending(Construct::Infinity) { "NOT isnan(x)" } else { "isfinite(x)" };
    let (days, moments) = if pending(Construct::DateEnds) {
        ("TRUE", "TRUE")
    } else {
        (
            "x >= DATE '0001-01-01' AND x < DATE '10000-01-01'",
            "x >= TIMESTAMP '0001-01-01 00:00:00' AND x < TIMESTAMP '10000-01-01 00:00:00'",
        )
    };
    let white: String = (1..=0x3000u32)
        .filter_map(char::from_u32)
        .filter(|c| c.is_whitespace())
        .map(|c| format!(" || chr({})", u32::from(c)))
        .collect();
    let macros = format!(
        "CREATE MACRO as_real(x) AS CASE WHEN NOT isnan(x) THEN x + 0 END;
         -- Overflow is NULL, and minus zero is zero.
         CREATE MACRO fin(x) AS CASE WHEN {finite} THEN x + 0 END;
         CREATE MACRO quotient(x, y) AS CASE WHEN y <> 0 THEN fin(x / y) END;
         CREATE MACRO as_day(x) AS CASE WHEN {days} THEN CAST(x AS DATE) END;
         CREATE MACRO as_moment(x) AS CASE WHEN {moments} THEN x END;
         -- Halves away from zero.
         CREATE MACRO whole_of(x) AS TRY_CAST(round(x) AS BIGINT);
         CREATE MACRO blank() AS chr(32) || chr(9) || chr(10) || chr(12) || chr(13);
         CREATE MACRO white() AS ''{white};
         -- Digits alone are a whole number.
         CREATE MACRO whole_in(x) AS CASE WHEN regexp_full_match(trim(x, blank()), '[+-]?[0-9]+')
           THEN TRY_CAST(trim(x, blank()) AS BIGINT) END;
         CREATE MACRO real_in(x) AS fin(TRY_CAST(trim(x, blank()) AS DOUBLE));
         CREATE MACRO money_in(x) AS TRY_CAST(trim(x, blank()) AS DECIMAL(38, 2));
         CREATE MACRO day_in(x) AS
           CASE WHEN regexp_full_match(trim(x, blank()), '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}')
           THEN as_day(TRY_CAST(trim(x, blank()) AS DATE)) END;
         CREATE MACRO truth_of(x) AS
           CASE WHEN lower(trim(x, blank())) IN ('true', 't', 'yes', 'y', 'on', '1') THEN TRUE
           WHEN lower(trim(x, blank())) IN ('false', 'f', 'no', 'n', 'off', '0') THEN FALSE END;
         -- Characters, not what looks like one.
         CREATE MACRO backwards(x) AS
           array_to_string(list_reverse(regexp_extract_all(x, '(?s).')), '');
         CREATE MACRO monday(x) AS x - CAST(date_part('isodow', x) AS INTEGER);
         CREATE MACRO monday_weeks(x, y) AS
           date_diff('day', monday(CAST(x AS DATE)), monday(CAST(y AS DATE))) // 7;
         -- Weeks that begin on Sunday.
         CREATE MACRO sunday(x) AS x - CAST(date_part('dow', x) AS INTEGER);
         CREATE MACRO sunday_weeks(x, y) AS
           date_diff('day', sunday(CAST(x AS DATE)), sunday(CAST(y AS DATE))) // 7;
         "
    );
    sql.insert_str(0, &macros);
    sql
}

/// Writes the tables' files to a folder.
///
/// # Errors
/// When they cannot be written.
pub fn write(folder: &Path) -> Result<(), Failure> {
    let mut dice = Dice::new(7);
    let table = |name: &str, columns: Vec<(&str, ArrayRef)>| -> Result<(), Failure> {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )?;
        let file = File::create(folder.join(format!("{name}.parquet")))?;
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(())
    };

    let mut persons: Vec<Option<i64>> = (1..=24).map(Some).collect();
    persons.extend([Some(3), Some(7), None]);
    let rows = persons.len();
    table(
        "people",
        vec![
            ("person_id", twins(persons)),
            ("town", texts(&mut dice, rows, &TEXTS)),
            ("name", texts(&mut dice, rows, &TEXTS)),
            ("age", whole(&mut dice, rows, &[0, 1, 2, 3, 17, 18, 40, 41, 99])),
            ("big", whole(&mut dice, rows, &BIG)),
            ("f", reals(&mut dice, rows, &REALS)),
            ("born", days(&mut dice, rows)),
            ("ok", truths(&mut dice, rows)),
            ("score", money(&mut dice, rows)),
        ],
    )?;

    // Up to five visits of a person; one visit has two rows, and one is of two persons.
    let mut visits: Vec<(Option<i64>, Option<i64>)> = Vec::new();
    for person in 1..=26 {
        for _ in 0..dice.below(5) {
            visits.push((Some(100 + visits.len() as i64), Some(person)));
        }
    }
    visits[5].0 = visits[4].0;
    let (other, shared) = (visits.iter().position(|v| v.1 == Some(20)), visits[10].0);
    if let Some(other) = other {
        visits[other].0 = shared;
    }
    visits.extend([(None, Some(2)), (Some(190), None), (None, None)]);
    let rows = visits.len();
    table(
        "visits",
        vec![
            ("visit_id", twins(visits.iter().map(|v| v.0).collect())),
            ("person_id", twins(visits.iter().map(|v| v.1).collect())),
            ("kind", texts(&mut dice, rows, &["gp", "lab", "er", "GP", "", "a"])),
            ("note", texts(&mut dice, rows, &TEXTS)),
            ("minutes", whole(&mut dice, rows, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1])),
            ("day", days(&mut dice, rows)),
            ("came", moments(&mut dice, rows)),
            ("price", money(&mut dice, rows)),
            ("w", reals(&mut dice, rows, &[0.25, -0.5, 1.75, 3.0, 0.0, -8.0, 2.5])),
        ],
    )?;

    let claimed: Vec<Option<i64>> = (0..40)
        .map(|_| match dice.below(8) {
            0 => None,
            1 => Some(999),
            _ => Some(100 + dice.below(60) as i64),
        })
        .collect();
    let rows = claimed.len();
    table(
        "claims",
        vec![
            ("visit_id", twins(claimed)),
            ("state", texts(&mut dice, rows, &["open", "paid", "", "a"])),
            ("amount", whole(&mut dice, rows, &[-9, -1, 0, 1, 5, 9])),
        ],
    )?;

    let known = ["a", "ab", "é", "a", "10%", "日本", "", "a\\b", "gp", "straße"];
    let rows = known.len() + 1;
    let named = known.iter().map(|t| Some(*t)).chain([None]);
    table(
        "towns",
        vec![
            ("town", Arc::new(named.collect::<StringArray>())),
            ("region", once(texts(&mut dice, rows, &["north", "south", "Ab c"]), rows)),
            ("size", once(whole(&mut dice, rows, &[-3, 0, 2, 4, 7]), rows)),
        ],
    )?;
    let kinds = [Some("gp"), Some("lab"), Some(""), Some("a"), None];
    let labels = [Some("doctor"), None, Some("none"), Some("A"), Some("unknown")];
    table(
        "codes",
        vec![
            ("kind", Arc::new(StringArray::from(kinds.to_vec()))),
            ("label", Arc::new(StringArray::from(labels.to_vec()))),
        ],
    )?;
    table(
        "loans",
        vec![
            ("sector", texts(&mut dice, 30, &TEXTS)),
            ("jobs", whole(&mut dice, 30, &[-9, -2, 0, 3, 5, 8, 9])),
            ("rate", reals(&mut dice, 30, &REALS)),
            ("since", days(&mut dice, 30)),
            ("paid", moments(&mut dice, 30)),
        ],
    )
}

const BIG: [i64; 12] = [
    i64::MIN,
    i64::MAX,
    i64::MIN + 1,
    i64::MAX - 1,
    1 << 53,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    1 << 31,
    3_037_000_500,
    -3_037_000_500,
    0,
    -1,
];

const REALS: [f64; 17] = [
    0.0,
    -0.0,
    0.1,
    0.2,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    f64::NAN,
    9_007_199_254_740_993.0,
    // While infinities are pending, what can lead to them is left out.
    1e300,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
];

/// Values of each row, once for each twin; the second time by `twin`.
fn doubled<T: Clone>(rows: Vec<T>, twin: impl Fn(&T) -> T) -> Vec<T> {
    let others: Vec<T> = rows.iter().map(twin).collect();
    rows.into_iter().chain(others).collect()
}

/// Numbers that name persons or visits.
fn twins(numbers: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from(doubled(numbers, |n| n.map(|n| n + TWIN))))
}

/// The first `rows` of an array: rows of public tables have no twins.
fn once(array: ArrayRef, rows: usize) -> ArrayRef {
    array.slice(0, rows)
}

/// One of some values, or NULL, for each row.
fn some<T: Copy>(dice: &mut Dice, rows: usize, of: &[T]) -> Vec<Option<T>> {
    let row = |_| (dice.below(8) > 0).then(|| of[dice.below(of.len() as u64) as usize]);
    doubled((0..rows).map(row).collect(), Option::clone)
}

fn texts(dice: &mut Dice, rows: usize, of: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(some(dice, rows, of)))
}

fn whole(dice: &mut Dice, rows: usize, of: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(some(dice, rows, of)))
}

fn reals(dice: &mut Dice, rows: usize, of: &[f64]) -> ArrayRef {
    let most = if pending(Construct::Infinity) { of.len().min(11) } else { of.len() };
    let of = &of[..most];
    Arc::new(Float64Array::from(some(dice, rows, of)))
}

fn truths(dice: &mut Dice, rows: usize) -> ArrayRef {
    Arc::new(BooleanArray::from(some(dice, rows, &[true, false])))
}

fn money(dice: &mut Dice, rows: usize) -> ArrayRef {
    let digits = some(dice, rows, &[0i128, 5, -5, 50, 250, -250, 1234, 9999, -9999]);
    let array = Decimal128Array::from(digits)
        .with_data_type(hushtable::arrow::datatypes::DataType::Decimal128(18, 2));
    Arc::new(array)
}

/// Days since 1970.
const DAYS: [i32; 12] =
    [0, -1, 19_781, 19_782, 19_722, 19_723, 10_957, -25_567, 20_088, 20_089, 11_016, 3_287];

fn days(dice: &mut Dice, rows: usize) -> ArrayRef {
    let mut days = DAYS.to_vec();
    if !pending(Construct::DateEnds) {
        // The first and the last day, and those beside them, which are NULL.
        days.extend([-719_162, -719_163, 2_932_896, 2_932_897]);
    }
    Arc::new(Date32Array::from(some(dice, rows, &days)))
}

fn moments(dice: &mut Dice, rows: usize) -> ArrayRef {
    const DAY: i64 = 86_400_000_000;
    let mut moments: Vec<i64> = DAYS.iter().map(|day| i64::from(*day) * DAY).collect();
    moments.extend([-1, 1, 1_500_000, 19_781 * DAY + 86_399_999_999, 19_782 * DAY + 3_723_004_005]);
    if !pending(Construct::DateEnds) {
        moments.extend([-719_162 * DAY, -719_162 * DAY - 1, 2_932_897 * DAY - 1, 2_932_897 * DAY]);
    }
    Arc::new(TimestampMicrosecondArray::from(some(dice, rows, &moments)))
}
