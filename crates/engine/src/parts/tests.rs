//! Statements of several parts: charged together, taken up again, the same when asked again; and
//! what the SQL around them can see.

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use hushtable_noise::TestSeed;

use super::*;
use crate::tests::{Place, Wait, shown};

const CONTRACT: &str = r#"
[units.person.defaults]
epsilon = 1
delta = 1e-6
max_groups_contributed = 1
max_rows_per_group = 1
[units.person.budgets]
ana = { epsilon = 2, delta = 1e-5 }
[units.firm.defaults]
max_rows_per_group = 1
[units.firm.budgets]
ana = { epsilon = 0.1 }
[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
[tables.people.columns]
id = { type = "int" }
town = { type = "string", public_keys = ["A", "B"] }
age = { type = "int", bounds = [0, 100] }
[tables.firms]
path = "firms.csv"
unit = { of = "firm", column = "id" }
[tables.firms.columns]
id = { type = "int" }
"#;

fn place() -> Place {
    let mut people = "id,town,age\n".to_owned();
    for person in 0..200 {
        people += &format!("{person},{},{}\n", ["A", "B"][person % 2], person % 90);
    }
    let firms = format!("id\n{}", "1\n2\n3\n".repeat(9));
    Place::new(CONTRACT, &[("people.csv", &people), ("firms.csv", &firms)])
}

fn ask(place: &Place, sql: &str, seed: u64) -> Result<Answer, String> {
    let mut generator = TestSeed(seed).generator();
    let (session, progress) = (place.session(), Progress::default());
    let answer = session.query_with(sql, None, &progress, &mut generator);
    let answer = answer.wait().map(|(answer, _)| answer);
    answer.map_err(|e| e.to_string().replace(place.path().to_str().unwrap(), "F"))
}

/// How many charges there are, how many of them have a release, and what is spent by population.
fn charges(place: &Place) -> (usize, usize, Vec<String>) {
    let session = place.session();
    let Some(ledger) = Ledger::open_read_only(&session.ledger_path()).unwrap() else {
        return (0, 0, Vec::new());
    };
    let charges = ledger.charges().unwrap();
    let spent = |(name, population): (&String, &Population)| {
        ledger.account("ana", name, population.budgets["ana"]).unwrap().spent.to_string()
    };
    let spent = session.contract().populations.iter().map(spent).collect();
    (charges.len(), charges.iter().filter(|c| c.released).count(), spent)
}

fn plan<'a>(session: &'a Session, sql: &str) -> StatementPlan<'a> {
    let statement = SqlStatement::bind(sql, session.contract()).unwrap();
    session.plan_statement(sql, statement, None).wait().unwrap()
}

const OLDER: &str = "SELECT town, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM people \
                     WHERE age > (SELECT AVG(age) FROM people) GROUP BY town";
const HALVES: [&str; 2] = ["epsilon = 0", "epsilon = 1"];

#[test]
fn asked_again_it_is_free_and_the_same() {
    let place = place();
    let first = ask(&place, OLDER, 1).unwrap();
    assert_eq!(first.charged.unwrap().to_string(), "epsilon = 1");
    assert_eq!(first.table.num_rows(), 2);
    assert_eq!(charges(&place), (2, 2, HALVES.map(str::to_owned).to_vec()));
    let again = ask(&place, OLDER, 2).unwrap();
    assert_eq!((again.charged, again.parts), (None, first.parts.clone()));
    assert_eq!(shown(&again.table), shown(&first.table));
    // Other SQL around the same parts is free.
    let other = OLDER.replace("RANK() OVER (ORDER BY COUNT(*) DESC)", "SUM(COUNT(*)) OVER ()");
    let other = ask(&place, &other, 3).unwrap();
    assert_eq!(other.charged, None);
    // Each part is a question by itself.
    let mean = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) AVG(age) FROM people";
    let mean = ask(&place, mean, 4).unwrap();
    assert_eq!(mean.charged, None);
    let parts = first.parts.unwrap().parts;
    assert_eq!(mean.statement, parts[0].statement);
    // What the later part has read is in its statement, and which part it came from in its question.
    let value = mean.table.column(0).as_primitive::<Float64Type>().value(0);
    let read = serde_json::to_string(&parts[1].statement.query.filter()).unwrap();
    assert!(read.contains(&value.to_string()), "{read}");
    let of_others = OLDER.replace("AVG(age) FROM people", "AVG(age) FROM people WHERE age > 1");
    assert_eq!(ask(&place, &of_others, 5).unwrap().charged.unwrap().to_string(), "epsilon = 1");
    assert_eq!(charges(&place).0, 4);
}

#[test]
fn all_parts_are_charged_or_none() {
    let place = place();
    // The second account cannot pay, and the first is not charged.
    let both = "SELECT (SELECT COUNT(*) FROM people) AS people, (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS \
                (epsilon = 0.2) COUNT(*) FROM firms) AS firms";
    let session = place.session();
    let planned = plan(&session, both);
    assert_eq!(planned.accounts().len(), 2);
    let error = planned.pay(&mut session.ledger().unwrap()).unwrap_err();
    assert!(error.to_string().contains("\"firm\""), "{error}");
    assert_eq!(charges(&place), (0, 0, vec!["epsilon = 0".to_owned(); 2]));
    let refused = ask(&place, both, 1).unwrap_err();
    let sum = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 3) * FROM (SELECT COUNT(*) AS n FROM \
               people), (SELECT AVG(age) AS m FROM people)";
    insta::assert_snapshot!(format!("{refused}\n\n{}", ask(&place, sum, 1).unwrap_err()));
    assert_eq!(charges(&place).0, 0);
    let paid = ask(&place, &both.replace("0.2", "0.1"), 1).unwrap();
    let told = |charged: Option<Loss>| charged.unwrap().to_string();
    assert_eq!(told(paid.charged), "epsilon = 1");
    assert_eq!(paid.others.len(), 1);
    assert_eq!(told(paid.others[0].charged), "epsilon = 0.1");
    assert_eq!(charges(&place).0, 2);
}

/// Everything up to the moment at which the first `answers` parts are on record, and the next one is
/// begun.
fn stopped(place: &Place, answers: usize) {
    let session = place.session();
    let planned = plan(&session, OLDER);
    let mut ledger = session.ledger().unwrap();
    let paid = planned.pay(&mut ledger).unwrap();
    let mut generator = TestSeed(7).generator();
    let mut released = Vec::new();
    for (at, (part, paid)) in planned.parts.iter().zip(paid).enumerate() {
        if at == answers {
            if let Paid::Charged(payment) = &paid {
                let query = part.asked.quote.query();
                let begun = begin(&session, query, &part.files, &mut ledger, payment).unwrap();
                assert!(matches!(begun, Outcome::Charged(_)));
            }
            return;
        }
        let mut answering = Answering { ledger: &mut ledger, generator: &mut generator };
        let (progress, mut timings) = (Progress::default(), Timings::default());
        let next =
            part.answered(&session, paid, &released, &mut answering, &progress, &mut timings);
        released.push(next.wait().unwrap());
    }
}

#[test]
fn stopped_after_each_step_it_goes_on() {
    let place = place();
    for answers in [0, 1] {
        stopped(&place, answers);
        assert_eq!(charges(&place), (2, answers, HALVES.map(str::to_owned).to_vec()));
    }
    let first = ask(&place, OLDER, 1).unwrap();
    assert_eq!(first.charged, None);
    assert_eq!(charges(&place), (2, 2, HALVES.map(str::to_owned).to_vec()));
    let again = ask(&place, OLDER, 2).unwrap();
    assert_eq!((again.parts, shown(&again.table)), (first.parts, shown(&first.table)));
}

#[test]
fn a_released_null_is_a_value() {
    let place = place();
    // The mean of a group that is not shown.
    let sql = "SELECT town, COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people HAVING \
               COUNT(*) < -1000) GROUP BY town";
    let answer = ask(&place, sql, 1).unwrap();
    assert_eq!(answer.table.num_rows(), 2);
    let counts = answer.table.column(1).as_primitive::<Int64Type>().clone();
    assert!(counts.iter().flatten().all(|n| n.abs() < 100), "{counts:?}");
}

fn one_table() -> Vec<(String, RecordBatch)> {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![3, 1, 2]));
    vec![("part_1".to_owned(), RecordBatch::try_from_iter([("n", column)]).unwrap())]
}

/// Even SQL that the walk through a statement would never make finds nothing but the parts.
#[test]
fn the_sql_around_sees_released_tables_only() {
    let place = place();
    let session = place.session();
    let around = |sql: &str| {
        let sql = format!("SELECT n + 1 AS n FROM (SELECT COUNT(*) AS n FROM people) -- {sql}");
        SqlStatement::bind(&sql, session.contract()).unwrap().around.unwrap()
    };
    let run = |sql: &str| {
        let mut around = around("");
        let ast::Statement::Query(query) =
            Parser::parse_sql(&GenericDialect {}, sql).unwrap().remove(0)
        else {
            panic!("{sql}");
        };
        around.query = *query;
        crate::around::run(&around, one_table(), session.memory()).wait()
    };
    use datafusion::sql::sqlparser::ast;
    assert_eq!(run("SELECT n FROM part_1 ORDER BY n").unwrap().num_rows(), 3);
    let file = place.path().join("people.csv");
    for sql in [
        "SELECT * FROM people",
        "SELECT * FROM firms",
        "SELECT * FROM part_2",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM information_schema.df_settings",
        &format!("SELECT * FROM '{}'", file.display()),
        &format!("SELECT * FROM \"{}\"", file.display()),
        "SELECT * FROM read_csv('people.csv')",
        "SELECT * FROM generate_series(1, 3)",
        "SELECT random() FROM part_1",
        "SELECT now() FROM part_1",
        "SELECT version() FROM part_1",
        "SELECT uuid() FROM part_1",
        "SELECT upper('a') FROM part_1",
        "SELECT n INTO people FROM part_1",
    ] {
        assert!(run(sql).is_err(), "{sql}");
    }
}

/// Functions are known by name: nothing is left to chance, to the clock or to files.
#[test]
fn what_cannot_be_computed_is_refused_before_the_charge() {
    let place = place();
    let mut refusals = String::new();
    for shown in [
        "FOO(n)",
        "RANDOM()",
        "CURRENT_TIMESTAMP",
        "READ_FILE('x')",
        "STRING_AGG(town)",
        "n + town",
        "SUM(town)",
        "LAG(n, town) OVER (ORDER BY n)",
        "(SELECT n FROM t WHERE t.n > o.n)",
        "n, COUNT(*)",
    ] {
        let sql = format!(
            "WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) SELECT {shown} FROM t o"
        );
        let refused = ask(&place, &sql, 1).map_or_else(|e| e, |_| "ACCEPTED".to_owned());
        refusals += &format!("{shown}\n-> {refused}\n\n");
    }
    insta::assert_snapshot!(refusals);
    assert_eq!(charges(&place).0, 0);
}
