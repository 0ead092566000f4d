//! Workloads: what is refused, how levels expand, how the budget is shared, what a record may lose.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of a test")]

use std::fmt::Write as _;

use hushtable_contract::{Contract, ContractError};
use hushtable_lang::Refusal;
use hushtable_plan::Workload;
use hushtable_privacy::{Composition, Delta, Loss, Rho};
use hushtable_quote::{Explanation, JointExplanation, Quote, QuotedLevels};
use hushtable_testkit::near;
use proptest::prelude::*;
use serde_json::Value;

const CONTRACT: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
group_selection_by_pieces = true
[tables.firms.columns]
state = { type = "string" }
county = { type = "string" }
naics2 = { type = "string", public_keys = ["11", "23"] }
naics3 = { type = "string" }
pay = { type = "decimal(2)", split = 5_000_000 }
jobs = { type = "int", split = 50, granularity = 5 }
twice = { type = "int", split = 100, expression = "jobs * 2" }
thrice = { type = "int", split = 100, expression = "jobs * 3" }
fees = { type = "int", split = { by = "state", default = 10, values = { GA = 40, FL = 5 } } }
loan = { type = "int", bounds = [0, 1000] }
[tables.firms.defaults]
max_groups_contributed = 7
[tables.firms.budgets]
ana = { rho = 2, delta = 1e-6 }

[tables.people]
path = "people.csv"
privacy_unit = "row"
[tables.people.columns]
town = { type = "string" }
[tables.people.budgets]
ana = { rho = 2, delta = 1e-6 }
"#;

fn priced(workload: &Workload, contract: &Contract) -> Result<Vec<Quote>, ContractError> {
    let priced =
        workload.queries.iter().zip(workload.bind(contract)?).map(|(query, (bound, _))| {
            Quote::new(bound).map_err(|refusal| workload.error(query, &refusal.what, &refusal.hint))
        });
    priced.collect()
}

const WORKLOAD: &str = concat!(
    r#"analyst = "ana"
rho = 1
delta = 1e-6

[defaults]
max_groups_contributed = 1

[levels]
geography = ["state", "county"]
industry = ["naics2", "naics3"]

[[queries]]
name = "{geography}_{industry}"
sql = """
SELECT {geography}, {industry}, SUM(pay) AS pay, SUM(jobs) AS jobs, COUNT(*) AS n
FROM firms GROUP BY {geography}, {industry}"""

[[queries]]
name = "{industry}"
sql = "SELECT {industry}, SUM(pay) AS pay, AVG(loan) AS mean "#,
    r#"FROM firms WHERE state = '{{x}}' GROUP BY {industry}"
weight = 3

[[queries]]
name = "all"
file = "all.sql"
"#,
);

fn sql_file(path: &str) -> Result<String, String> {
    match path {
        "all.sql" => Ok("SELECT COUNT(*) AS n, SUM(loan) AS loans FROM firms".to_owned()),
        _ => Err("no such file".to_owned()),
    }
}

fn contract() -> Contract {
    Contract::parse(CONTRACT, "hushtable.toml").unwrap()
}

fn parse(text: &str) -> Workload {
    Workload::parse(text, "workload.toml", &sql_file).unwrap()
}

/// A workload of these queries, each the list of what it measures; under a rho of 3.
fn of_queries(queries: &[(u32, &str)]) -> Workload {
    let mut text = "rho = 3\ndelta = 1e-6\ndefaults.max_groups_contributed = 1\n".to_owned();
    for (i, (weight, sql)) in queries.iter().enumerate() {
        writeln!(text, "[[queries]]\nname = \"q{i}\"\nsql = \"{sql}\"\nweight = {weight}").unwrap();
    }
    parse(&text)
}

/// The explanation of the workload, and of each of its queries, as programs see them.
fn explained(workload: &Workload) -> (Value, Vec<Value>) {
    let contract = contract();
    let table = contract.table("firms").unwrap();
    let quotes = priced(workload, &contract).unwrap();
    let each: Vec<Explanation> = quotes.iter().map(Explanation::new).collect();
    let names = workload.queries.iter().map(|q| q.name.as_str());
    let parts: Vec<(&str, &Quote, &Explanation)> = names
        .zip(&quotes)
        .zip(&each)
        .map(|((name, quote), explanation)| (name, quote, explanation))
        .collect();
    let whole = JointExplanation::new(&parts, Some(table)).unwrap();
    let json = |value: &Explanation| serde_json::to_value(value).unwrap();
    (serde_json::to_value(&whole).unwrap(), each.iter().map(json).collect())
}

/// The levels of quantiles that are drawn together depend on each other, and so are not composed as
/// draws that are fixed in advance.
#[test]
fn levels_of_quantiles_are_composed_adaptively() {
    // Four levels of a quarter each.
    let quantile = |sixteenths: u32| format!("PERCENTILE_CONT(loan, 0.{:04})", sixteenths * 625);
    let quantiles: Vec<String> = (1..16).map(quantile).collect();
    let workload = parse(&format!(
        "epsilon = 1\n[[queries]]\nname = \"q\"\nsql = \"SELECT {} FROM firms\"\n",
        quantiles.join(", ")
    ));
    let mut all = Composition::default();
    for event in priced(&workload, &contract()).unwrap()[0].events() {
        all.add(&event, 1).unwrap();
    }
    let delta = "1e-5".parse().unwrap();
    let (adaptive, fixed) = (all.epsilon_at(delta), all.clone().in_advance().epsilon_at(delta));
    assert!(fixed < adaptive, "{fixed:?} {adaptive:?}");
    let epsilon = explained(&workload).0["total_as_epsilon"][0]["epsilon"].as_f64().unwrap();
    assert_eq!(epsilon, adaptive.unwrap().to_f64());
}

/// Each population pays for its own queries, which share the whole of the budget by weight.
#[test]
fn populations_have_a_budget_each() {
    let workload = of_queries(&[
        (1, "SELECT COUNT(*) AS n FROM firms"),
        (2, "SELECT COUNT(*) AS n FROM people"),
        (3, "SELECT state, SUM(loan) AS s FROM firms GROUP BY state"),
        (1, "SELECT town, COUNT(*) AS n FROM people GROUP BY town"),
    ]);
    let quotes = priced(&workload, &contract()).unwrap();
    let priced: Vec<_> = quotes
        .iter()
        .map(|quote| (quote.query().population(), quote.query().loss().to_string()))
        .collect();
    let expected = [
        ("firms", "rho = 0.75"),
        ("people", "rho = 2"),
        ("firms", "rho = 2.25, delta = 1e-6"),
        ("people", "rho = 1, delta = 1e-6"),
    ];
    assert_eq!(priced, expected.map(|(population, loss)| (population, loss.to_owned())));
}

#[test]
fn wrong_workloads() {
    let mut errors = String::new();
    for (old, new) in [
        ("rho = 1", "rho = 1\nepsilon = 1"),
        ("rho = 1\n", ""),
        ("rho = 1\n", "rho = -1\n"),
        ("rho = 1\n", "rho = 1e-12\n"),
        ("rho = 1\n", "epsilon = 1\n"),
        ("delta = 1e-6\n", ""),
        ("delta = 1e-6\n", "delta = 1e-18\n"),
        ("analyst = \"ana\"", "analyst = 3"),
        ("analyst = \"ana\"", "contracts = \"x\""),
        ("analyst = \"ana\"", "clipping_report = 3"),
        ("max_groups_contributed = 1", "epsilon = 1"),
        ("max_groups_contributed = 1", "max_groups_contributed = 0"),
        ("\"state\", \"county\"", "\"state\", \"region\""),
        ("\"state\", \"county\"", "\"state\", \"state\""),
        ("\"state\", \"county\"", "\"state\", \"1 OR 1=1\""),
        ("\"state\", \"county\"", ""),
        ("geography = ", "\"a b\" = "),
        ("geography = ", "place = "),
        ("name = \"all\"", "name = \"../all\""),
        ("name = \"all\"", "name = \"statement\""),
        ("name = \"all\"", "name = \"naics2\""),
        ("name = \"all\"", "name = \"NAICS2\""),
        ("name = \"all\"", "name = \"{geography}\""),
        ("name = \"all\"", "name = \"a{\""),
        ("name = \"all\"", ""),
        ("file = \"all.sql\"", "file = \"no.sql\""),
        ("file = \"all.sql\"", ""),
        ("file = \"all.sql\"", "file = \"all.sql\"\nsql = \"SELECT\""),
        ("file = \"all.sql\"", "sql = \"SELECT COUNT(*) FROM nowhere\""),
        ("file = \"all.sql\"", "sql = \"SELECT SUM(state) FROM firms\""),
        (
            "file = \"all.sql\"",
            "sql = \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) COUNT(*) FROM firms\"",
        ),
        (
            "file = \"all.sql\"",
            "sql = \"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = 1e-9) COUNT(*) FROM firms\"",
        ),
        (
            "file = \"all.sql\"",
            "sql = \"SELECT naics2, SUM(pay) pay, \
             AVG(loan) mean from firms f where state='{{x}}' group by 1\"",
        ),
        ("name = \"{industry}\"", "name = \"industries\""),
        ("weight = 3", "weight = 0"),
        ("weight = 3", "weight = 1001"),
        ("weight = 3", "wieght = 3"),
    ] {
        assert_eq!(WORKLOAD.matches(old).count(), 1, "{old}");
        let text = WORKLOAD.replacen(old, new, 1);
        let error = Workload::parse(&text, "workload.toml", &sql_file)
            .and_then(|workload| priced(&workload, &contract()));
        let error = error.map_or_else(|e| e.to_string(), |_| "ACCEPTED".to_owned());
        writeln!(errors, "{old}  =>  {new}\n-> {error}\n").unwrap();
    }
    for text in ["", "rho = 1", "rho = 1\nqueries = []", "rho = 1\nqueries = 3"] {
        let error = Workload::parse(text, "workload.toml", &sql_file).unwrap_err();
        writeln!(errors, "{text:?}\n-> {error}\n").unwrap();
    }
    insta::assert_snapshot!(errors);
}

/// Two levels of a table.
const LEVELS: &str = r#"rho = 1
delta = 1e-6
consistent = true
[defaults]
max_groups_contributed = 1
[[queries]]
name = "all"
sql = "SELECT COUNT(*) AS n, SUM(loan) AS s FROM firms"
[[queries]]
name = "sectors"
sql = "SELECT naics2, COUNT(*) AS n, SUM(loan) AS s FROM firms GROUP BY naics2"
"#;

fn fitting(text: &str) -> Result<String, ContractError> {
    let workload = Workload::parse(text, "workload.toml", &sql_file)?;
    let quotes = priced(&workload, &contract())?;
    let statement = workload.statement(&contract())?;
    let Some(consistent) = statement.consistent.first() else {
        return Ok("NOT ADJUSTED".to_owned());
    };
    let quotes: Vec<&Quote> = quotes.iter().collect();
    let measured = QuotedLevels::new(consistent, &quotes).measurements();
    let error =
        |refusal: Refusal| workload.error(&workload.queries[0], &refusal.what, &refusal.hint);
    measured.map(|_| format!("{consistent:?}")).map_err(error)
}

#[test]
fn tables_that_are_no_levels_are_refused_by_name() {
    let mut outcomes = String::new();
    for (old, new) in [
        ("rho = 1", "rho = 1"),
        ("consistent = true", "consistent = \"non_negative\""),
        ("consistent = true", "consistent = false"),
        ("consistent = true", "consistent = true\nlevel_shares = \"sum\""),
        ("consistent = true", "consistent = true\nlevel_shares = \"most\""),
        ("consistent = true", "level_shares = \"even\""),
        ("consistent = true", "consistent = \"yes\""),
        ("consistent = true", "consistent = 1"),
        ("GROUP BY naics2", "WHERE loan > 3 GROUP BY naics2"),
        ("FROM firms GROUP", "FROM firms f WHERE naics2 = '11' GROUP"),
        ("GROUP BY naics2", "GROUP BY naics2 HAVING n > 5"),
        ("GROUP BY naics2", "GROUP BY naics2 LIMIT 1"),
        ("naics2, COUNT(*) AS n, SUM(loan) AS s", "naics2, COUNT(*) AS n"),
        ("SELECT COUNT(*) AS n, SUM(loan) AS s", "SELECT COUNT(*) AS n"),
        ("SELECT COUNT(*) AS n, SUM(loan) AS s", "SELECT MEDIAN(loan) AS m"),
        (
            "SELECT naics2, COUNT(*) AS n, SUM(loan) AS s FROM firms GROUP BY naics2",
            "SELECT SUM(loan) AS s, COUNT(*) AS m FROM firms",
        ),
        (
            "SUM(loan) AS s FROM firms GROUP BY naics2",
            "SUM(loan, contribution_bounds_per_group => (0, 9)) AS s FROM firms GROUP BY naics2",
        ),
        (
            "[[queries]]\nname = \"all\"\n\
             sql = \"SELECT COUNT(*) AS n, SUM(loan) AS s FROM firms\"\n",
            "",
        ),
    ] {
        assert_eq!(LEVELS.matches(old).count(), 1, "{old}");
        let outcome =
            fitting(&LEVELS.replacen(old, new, 1)).unwrap_or_else(|error| error.to_string());
        writeln!(outcomes, "{old}  =>  {new}\n-> {outcome}\n").unwrap();
    }
    insta::assert_snapshot!(outcomes);
}

/// Rows whose values are not listed at one level are in none; the order of conditions, and lists of
/// keys themselves, make no other rows.
#[test]
fn levels_are_about_the_rows_that_are_listed() {
    let filter = |text: &str| {
        let quotes = priced(&parse(text), &contract()).unwrap();
        serde_json::to_string(quotes[0].query().filter().unwrap()).unwrap()
    };
    assert!(filter(LEVELS).contains("\"23\""));
    let text = LEVELS.replace("FROM firms\"", "FROM firms WHERE loan > 3 AND state = 'GA'\"");
    let text = text.replace("FROM firms G", "FROM firms WHERE state = 'GA' AND 3 < loan G");
    let outcome = fitting(&text).map_err(|error| error.to_string());
    assert!(outcome.is_ok() || outcome.unwrap_err().contains("other rows"));
    let text = LEVELS.replace("FROM firms\"", "FROM firms WHERE loan > 3 AND state = 'GA'\"");
    let text = text.replace("FROM firms G", "FROM firms WHERE state = 'GA' AND loan > 3 G");
    fitting(&text).unwrap();
}

/// The total is of listed rows only, and says so, though it has no key.
#[test]
fn levels_say_which_rows_are_in_none() {
    let cut = |text: &str| {
        let quotes = priced(&parse(text), &contract()).unwrap();
        quotes.iter().map(|q| Explanation::new(q).intervals.not_in_them).collect::<Vec<_>>()
    };
    let unlisted = "rows whose keys are not among the public ones (naics2)".to_owned();
    let each = cut(LEVELS);
    assert!(each.iter().all(|cut| cut.contains(&unlisted)), "{each:?}");
    let each = cut(&LEVELS.replace("consistent = true", "consistent = false"));
    assert!(!each[0].contains(&unlisted) && each[1].contains(&unlisted), "{each:?}");
}

/// A report has a tenth of its query's share, whatever that is, and is about the same rows.
#[test]
fn reports_are_paid_from_the_share_of_their_query() {
    for text in [LEVELS, &LEVELS.replace("consistent = true\n", "")] {
        let plain = parse(text);
        let reported = parse(&text.replace("rho = 1\n", "rho = 1\nclipping_report = true\n"));
        let (plain, reported) =
            (plain.bind(&contract()).unwrap(), reported.bind(&contract()).unwrap());
        for ((whole, none), (query, report)) in plain.into_iter().zip(reported) {
            let report = report.unwrap();
            assert!(none.is_none());
            assert_eq!(query.loss().plus(report.loss()).unwrap(), whole.loss());
            let tenth = whole.loss().rho().unwrap().to_f64() / 10.0;
            assert!(near(report.loss().rho().unwrap().to_f64(), tenth));
            // Rows that are left out of a query are left out of its report.
            let rows = serde_json::to_string(report.relation()).unwrap();
            let filter = query.filter().map(|filter| serde_json::to_string(filter).unwrap());
            assert!(filter.is_none_or(|filter| rows.contains(&filter)), "{rows}");
        }
    }
}

#[test]
fn too_many_queries_are_refused_before_they_are_made() {
    let columns: Vec<String> = (0..40).map(|i| format!("\"c{i}\"")).collect();
    let list = columns.join(", ");
    let text = format!(
        "rho = 1\n[levels]\na = [{list}]\nb = [{list}]\nc = [{list}]\n\
         [[queries]]\nname = \"{{a}}{{b}}{{c}}\"\nsql = \"{{a}}{{b}}{{c}}\""
    );
    let error = Workload::parse(&text, "w.toml", &sql_file).unwrap_err();
    assert!(error.what.contains("more than 1000 queries"), "{error}");
    let many = "[[queries]]\nname = \"{a}{b}\"\nsql = \"{a}{b}\"\n";
    let text = format!("rho = 1\n[levels]\na = [{list}]\nb = [\"x\", \"y\"]\n{}", many.repeat(13));
    assert!(
        Workload::parse(&text, "w.toml", &sql_file).unwrap_err().what.contains("more than 1000")
    );
}

#[test]
fn levels_expand_over_the_product() {
    let workload = parse(WORKLOAD);
    let names: Vec<&str> = workload.queries.iter().map(|q| q.name.as_str()).collect();
    let want = ["state_naics2", "state_naics3", "county_naics2", "county_naics3"];
    assert_eq!(names, [&want[..], &["naics2", "naics3", "all"]].concat());
    assert_eq!(
        workload.queries[3].sql,
        "SELECT county, naics3, SUM(pay) AS pay, SUM(jobs) AS jobs, COUNT(*) AS n\n\
         FROM firms GROUP BY county, naics3"
    );
    assert!(workload.queries[5].sql.ends_with("WHERE state = '{x}' GROUP BY naics3"));
    let lines: Vec<usize> = workload.queries.iter().map(|q| q.line).collect();
    assert_eq!(lines, [14, 14, 14, 14, 20, 20, 25]);
    assert_eq!(
        (workload.contract.as_str(), workload.analyst.as_deref()),
        ("hushtable.toml", Some("ana"))
    );
}

#[test]
fn shares_add_up_and_delta_goes_to_those_who_use_it() {
    let workload = parse(WORKLOAD);
    let quotes = priced(&workload, &contract()).unwrap();
    let sum = |loss: fn(Loss) -> u64| quotes.iter().map(|q| loss(q.query().loss())).sum::<u64>();
    let rho = |loss: Loss| match loss {
        Loss::Concentrated { rho, .. } => rho.units(),
        Loss::Approximate { .. } => panic!("{loss}"),
    };
    assert_eq!(sum(rho), Rho::units_per_one());
    assert_eq!(sum(|loss| loss.delta().units()), "1e-6".parse::<Delta>().unwrap().units());
    // Weights 1, 1, 1, 1, 3, 3, 1. Keys of `naics2` are public, and `all` has no groups.
    let first = Rho::units_per_one() / 11;
    assert_eq!(rho(quotes[0].query().loss()), first + 1);
    assert_eq!(rho(quotes[5].query().loss()), 3 * Rho::units_per_one() / 11);
    let deltas: Vec<bool> = quotes.iter().map(|q| q.total().delta().is_zero()).collect();
    assert_eq!(deltas, [false, false, false, false, true, false, true]);
    // The workload's defaults come before the contract's, and a query's options before both.
    assert!(quotes.iter().all(|q| q.query().max_groups_contributed() == 1));
    let sql =
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) COUNT(*) FROM firms";
    assert_eq!(priced(&of_queries(&[(1, sql)]), &contract()).unwrap().len(), 1);
}

#[test]
fn what_a_workload_promises() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&explained(&parse(WORKLOAD)).0).unwrap());
    // In epsilon, nothing depends on a record's size.
    let text = WORKLOAD.replace("rho = 1", "epsilon = 1").replace("SUM(pay) AS pay, ", "");
    let text = text.replace("SUM(jobs) AS jobs, ", "");
    let (whole, _) = explained(&parse(&text));
    assert_eq!(whole["total"]["epsilon"], 1.0);
    assert!(whole["policy"].is_null());
}

/// A record: its state, and its values by column.
struct Firm<'a> {
    state: &'a str,
    values: [(&'a str, f64); 5],
}

impl Firm<'_> {
    fn value(&self, column: &str) -> f64 {
        self.values.iter().find(|(name, _)| *name == column).unwrap().1
    }

    /// The thresholds that it meets in a term: that of the noise, and that at which it is split.
    fn thresholds(&self, term: &Value) -> [f64; 2] {
        let largest = term["threshold"].as_f64().unwrap();
        let classes = &term["classes"];
        if classes.is_null() {
            return [largest; 2];
        }
        assert_eq!(classes["by"], "state");
        let listed = classes["listed"].as_array().unwrap();
        let threshold = listed.iter().find(|class| class["value"] == self.state);
        let threshold =
            threshold.map_or(&classes["default"], |class| &class["threshold"]).as_f64().unwrap();
        [if classes["noise_by_class"] == true { threshold } else { largest }, threshold]
    }

    /// rho (value / threshold)^2, and the number of pieces.
    fn loses(&self, term: &Value, column: &str) -> (f64, f64) {
        let [noise, split_at] = self.thresholds(term);
        let value = self.value(column).abs();
        let pieces = (value / split_at).ceil().max(1.0);
        let growth = &term["growth"];
        if growth.is_null() {
            let ratio = value / noise;
            return (term["rho"].as_f64().unwrap() * ratio * ratio, pieces);
        }
        assert_eq!(growth["mechanism"], "LOG");
        let number = |name: &str| growth[name].as_f64().unwrap();
        ((value / number("offset")).ln_1p().powi(2) / number("deviation").powi(2) / 2.0, pieces)
    }

    /// The record's loss by one query, from the JSON of its explanation and the columns that it
    /// sums: exactly, and by whole pieces.
    fn by_query(&self, explanation: &Value, columns: &[&str]) -> [f64; 2] {
        let policy = &explanation["policy"];
        if policy.is_null() {
            return [explanation["total"]["rho"].as_f64().unwrap(); 2];
        }
        let terms = policy["terms"].as_array().unwrap();
        assert_eq!(terms.len(), columns.len());
        let each: Vec<(f64, f64)> =
            terms.iter().zip(columns).map(|(term, column)| self.loses(term, column)).collect();
        let most = each.iter().map(|(_, pieces)| *pieces).fold(1.0, f64::max);
        let sums: f64 = terms.iter().map(|term| term["rho"].as_f64().unwrap()).sum();
        let choice = policy["rho_pieces"].as_f64().unwrap_or(0.0);
        let constant = policy["rho_constant"].as_f64().unwrap();
        let exact = constant + choice * most * most + each.iter().map(|(rho, _)| rho).sum::<f64>();
        [exact, constant + (choice + sums) * most * most]
    }

    /// Its loss by a workload, from the JSON of its policy alone.
    fn by_workload(&self, policy: &Value) -> [f64; 2] {
        let terms = policy["terms"].as_array().unwrap();
        let each: Vec<(f64, f64)> =
            terms.iter().map(|term| self.loses(term, term["column"].as_str().unwrap())).collect();
        let constant = policy["rho_constant"].as_f64().unwrap();
        let [mut exact, mut split] = [constant; 2];
        exact += each.iter().map(|(rho, _)| rho).sum::<f64>();
        for pieces in policy["pieces"].as_array().unwrap() {
            let term_indexes = pieces["terms"].as_array().unwrap().iter();
            let most =
                term_indexes.map(|i| each[i.as_u64().unwrap() as usize].1).fold(1.0, f64::max);
            exact += pieces["rho_choice"].as_f64().unwrap_or(0.0) * most * most;
            split += pieces["rho"].as_f64().unwrap() * most * most;
        }
        [exact, split]
    }
}

/// Columns, and the sizes of values to try.
const SUMS: [(&str, f64); 5] =
    [("pay", 5e6), ("jobs", 50.0), ("twice", 100.0), ("thrice", 100.0), ("fees", 10.0)];

const FORMS: [&str; 5] = [
    "SELECT {} FROM firms WHERE loan > {i}",
    "SELECT state, {} FROM firms WHERE loan > {i} GROUP BY state",
    "SELECT naics2, {} FROM firms WHERE state = 'GA' AND loan > {i} GROUP BY naics2",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_by = PIECES) county, {} FROM firms \
     WHERE loan > {i} GROUP BY county",
    "SELECT SUM(pay, mechanism => 'LOG'), {} FROM firms WHERE loan > {i}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    /// PR Lemma 4.2: what the statement's function says of a record is the sum of what the queries'
    /// own functions say of it, exactly and by whole pieces.
    #[test]
    fn the_policy_of_a_workload_is_the_sum_of_its_queries(
        // Which of the sums each query has, in which form, and its weight.
        queries in proptest::collection::vec((0usize..32, 0usize..5, 1u32..3), 1..7),
        values in proptest::collection::vec(-4.0f64..4.0, 5),
        state in proptest::sample::select(vec!["GA", "FL", "TX"]),
    ) {
        let mut firm = Firm { state, values: SUMS };
        for ((_, value), times) in firm.values.iter_mut().zip(&values) {
            *value *= times;
        }
        let mut list: Vec<(u32, String)> = Vec::new();
        let mut columns: Vec<Vec<&str>> = Vec::new();
        for (i, &(chosen, form, weight)) in queries.iter().enumerate() {
            let selected: Vec<&str> = SUMS
                .iter()
                .enumerate()
                // Groups by pieces are for queries that split.
                .filter(|(bit, _)| chosen >> bit & 1 == 1 || form == 3 && *bit == 0)
                .map(|(_, (column, _))| *column)
                .collect();
            let mut selected = selected;
            let sum = |column: &&str| format!("SUM({column})");
            let sums: Vec<String> = selected.iter().map(sum).collect();
            let measured = [&sums[..], &["COUNT(*)".to_owned()]].concat().join(", ");
            let sql = FORMS[form].replace("{}", &measured).replace("{i}", &i.to_string());
            list.push((weight, sql));
            if form == 4 {
                selected.insert(0, "pay");
            }
            columns.push(selected);
        }
        let list: Vec<(u32, &str)> = list.iter().map(|(w, sql)| (*w, sql.as_str())).collect();
        let (whole, parts) = explained(&of_queries(&list));
        let policy = &whole["policy"];
        if policy.is_null() {
            prop_assert!(columns.iter().all(Vec::is_empty));
            prop_assert!(near(whole["total"]["rho"].as_f64().unwrap(), 3.0));
            return Ok(());
        }
        let mut want = [0.0; 2];
        for (part, columns) in parts.iter().zip(&columns) {
            let losses = firm.by_query(part, columns);
            want = [want[0] + losses[0], want[1] + losses[1]];
        }
        let got = firm.by_workload(policy);
        prop_assert!(near(got[0], want[0]) && near(got[1], want[1]), "{got:?} {want:?}");
        // Terms that differ in nothing but their rho are one.
        let terms = policy["terms"].as_array().unwrap();
        for (i, term) in terms.iter().enumerate() {
            for other in &terms[..i] {
                let keys = ["column", "threshold", "classes", "growth"];
                let same = keys.iter().all(|key| term[*key] == other[*key]);
                // But one mechanism twice is not that with another rho.
                prop_assert!(!same || !term["growth"].is_null(), "{policy:#}");
            }
        }
        for (index, example) in policy["examples"].as_array().unwrap().iter().enumerate() {
            let sum = |name: &str| {
                let loss = |part: &Value| match part["policy"].is_null() {
                    true => part["total"]["rho"].as_f64().unwrap(),
                    false => part["policy"]["examples"][index][name].as_f64().unwrap(),
                };
                parts.iter().map(loss).sum::<f64>()
            };
            for name in ["exact", "split"] {
                let (got, want) = (example[name].as_f64().unwrap(), sum(name));
                prop_assert!(got >= want && near(got, want), "{name} {index}");
            }
            // At the thresholds it is the whole budget.
            if example["multiple"] == 1.0 {
                prop_assert!(near(example["exact"].as_f64().unwrap(), 3.0), "{example}");
            }
        }
    }
}
