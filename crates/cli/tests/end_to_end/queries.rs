//! `query` and `explain`.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::{COUNT_BY_PRODUCT, Run, Shop};

#[test]
fn a_query_in_a_pipe_prints_csv_and_says_what_it_cost() {
    let shop = Shop::new();
    let run = shop.run(&["query", COUNT_BY_PRODUCT]);
    assert!(run.stderr.contains("charged epsilon = 1 to ana on visits"), "{}", run.stderr);
    assert!(run.stderr.contains("left: epsilon = 2, delta = 0.001"), "{}", run.stderr);
    let csv = run.success();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().unwrap(), vec!["product", "visits"]);
    let mut products = Vec::new();
    for row in reader.records().map(Result::unwrap) {
        // 375 or so: the noise has scale 10.
        assert!((200..550).contains(&row[1].parse::<i64>().unwrap()), "{row:?}");
        products.push(row[0].to_owned());
    }
    products.sort();
    assert_eq!(products, ["bread", "coffee", "wine"]);
}

#[test]
fn the_same_question_is_free_and_has_the_same_answer() {
    let shop = Shop::new();
    let first = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    let again = shop.run(&["query", COUNT_BY_PRODUCT]);
    assert!(again.stderr.contains("on record since 20"), "{}", again.stderr);
    assert!(again.stderr.contains("left: epsilon = 2"), "{}", again.stderr);
    assert_eq!(again.success(), first);
    assert_eq!(shop.spent(), 1.0);
    // Another analyst is another account, and has none.
    let other = shop.run(&["query", "--analyst", "bo", COUNT_BY_PRODUCT]).refusal();
    assert!(other.contains("bo"), "{other}");
}

/// A page within 80 columns, of queries of every kind.
#[test]
fn explain_is_a_page() {
    let shop = Shop::new();
    let mut pages = String::new();
    for sql in [
        COUNT_BY_PRODUCT,
        "SELECT COUNT(DISTINCT customer) AS n FROM visits WHERE quantity > 3 AND product <> 'wine'",
        "SELECT quantity, COUNT(*) AS n, AVG(quantity, contribution_bounds_per_row => (0, 9)) \
         AS mean, MEDIAN(quantity, contribution_bounds_per_row => (0, 9)) AS m FROM visits \
         WHERE product IN ('Wine', 'bread') GROUP BY quantity",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 99) \
         100 * COUNTIF(quantity > 5) / COUNT(*) AS share FROM visits",
    ] {
        let page = shop.run(&["explain", sql]).success();
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        pages += &format!("{sql}\n\n{page}\n");
    }
    insta::assert_snapshot!("pages", pages);
    shop.assert_untouched();
}

/// Names below each other, each with a bar.
#[test]
fn a_release_is_drawn() {
    let shop = Shop::new();
    shop.run(&["query", "--plot", "n.svg", COUNT_BY_PRODUCT]).success();
    let svg = fs::read_to_string(shop.path("n.svg")).unwrap();
    for text in ["visits by product", "visits (bars: 95 %, noise only)", "coffee", "wine"] {
        assert!(svg.contains(text), "{text}");
    }
    let refused = shop.run(&["query", "--plot", "visits.csv", COUNT_BY_PRODUCT]).refusal();
    assert!(refused.contains("hint: "), "{refused}");
    assert_eq!(shop.spent(), 1.0);
}

/// They cost nothing, at any level, of a release on record.
#[test]
fn intervals_are_beside_values() {
    let shop = Shop::new();
    let plain = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    let ends = |arguments: &[&str]| -> Vec<[i64; 3]> {
        let run = shop.run(&[&["query"], arguments].concat());
        assert!(run.stderr.contains("intervals: noise only"), "{}", run.stderr);
        assert!(run.stderr.contains("on record since"), "{}", run.stderr);
        let csv = run.success();
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        assert_eq!(
            reader.headers().unwrap(),
            vec!["product", "visits", "visits_low", "visits_high"]
        );
        let row = |row: csv::StringRecord| [1, 2, 3].map(|column| row[column].parse().unwrap());
        reader.records().map(|r| row(r.unwrap())).collect()
    };
    let usual = ends(&["--intervals", COUNT_BY_PRODUCT]);
    let narrow = ends(&[COUNT_BY_PRODUCT, "--intervals", "50"]);
    let together = ends(&["--intervals", "95", "--simultaneous", COUNT_BY_PRODUCT]);
    for ((usual, narrow), together) in usual.iter().zip(narrow).zip(together) {
        let [n, low, high] = *usual;
        // The noise has scale 10: 95 % are within 30.
        assert!(n - low == high - n && (29..=31).contains(&(n - low)), "{usual:?}");
        assert!(low < narrow[1] && narrow[2] < high && together[1] < low && high < together[2]);
        assert!(plain.contains(&format!(",{n}\n")));
    }
    assert_eq!(shop.spent(), 1.0);
    let json = shop.run(&["query", "--format", "json", COUNT_BY_PRODUCT]).success();
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(rows[0]["visits_low"], usual[0][1]);
    let table =
        shop.run(&["query", "--format", "table", "--intervals", COUNT_BY_PRODUCT]).success();
    assert!(table.contains("intervals: noise only; each holds the value without noise with 95 %"));
    for level in ["49", "99.99"] {
        let refused = shop.run(&["query", "--intervals", level, COUNT_BY_PRODUCT]).refusal();
        assert!(refused.contains("is not a percentage from 50 to 99.9"), "{refused}");
    }
    // The query asks for them itself.
    let options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (intervals = 90) ";
    let asking = COUNT_BY_PRODUCT.replacen("SELECT ", options, 1);
    let csv = shop.run(&["query", &asking]).success();
    assert!(csv.starts_with("product,visits,visits_low,visits_high\n"), "{csv}");
    // Or no more than the columns, at the usual level.
    let named = asking.replace("intervals = 90", "report_format = INTERVALS");
    let beside = shop.run(&["query", "--intervals", COUNT_BY_PRODUCT]).success();
    assert_eq!(shop.run(&["query", &named]).success(), beside);
    let none = asking.replace("intervals = 90", "intervals = 90, report_format = 'values'");
    assert_eq!(shop.run(&["query", &none]).success(), plain);
    assert_eq!(shop.spent(), 1.0);
}

/// A part of its own, whose cost is shown before the charge, and whose shares stand below the
/// table.
#[test]
fn clipping_reports_stand_below_the_result() {
    let shop = Shop::new();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, \
               clipping_report = true, max_rows_per_group = 2) product, SUM(quantity, \
               contribution_bounds_per_group => (0, 3)) AS q FROM visits GROUP BY product";
    insta::assert_snapshot!("clipping quoted", shop.run(&["explain", sql]).success());
    shop.assert_untouched();
    let table = shop.run(&["query", "--format", "table", sql]).success();
    let (_, report) = table.split_once("clipping report: ").unwrap();
    assert!(
        report.contains("units in more than") && report.contains("part cut of the sum of quantity"),
        "{report}"
    );
    assert_eq!(shop.spent(), 1.0);
    let csv = shop.run(&["query", "--statement", "s.json", sql]);
    assert!(csv.stderr.contains(&format!("clipping report: {report}")), "{}", csv.stderr);
    assert!(csv.success().starts_with("product,q\n"));
    let statement: serde_json::Value =
        serde_json::from_slice(&fs::read(shop.path("s.json")).unwrap()).unwrap();
    let shares = statement["clipping_reports"][0]["shares"].as_array().unwrap();
    assert_eq!(shares.len(), 3);
    shop.run(&["query", "--output", "q.parquet", sql]).success();
    let parquet = fs::read(shop.path("q.parquet")).unwrap();
    assert!(String::from_utf8_lossy(&parquet).contains("hushtable.clipping_reports"));
    assert_eq!(shop.spent(), 1.0);
    let refused = shop.run(&["audit", sql]).refusal();
    assert!(refused.contains("check` shows the owner of the data what is cut off"), "{refused}");
}

/// Formats without room have a note file beside them, for tables with intervals and for charts.
#[test]
fn notes_stand_beside_files() {
    let shop = Shop::new();
    let note = |file: &str| fs::read_to_string(shop.path(&format!("{file}.notes.txt")));
    let ask = |more: &[&str]| shop.run(&[&["query", COUNT_BY_PRODUCT], more].concat()).success();
    ask(&["--intervals", "--output", "o.csv", "--plot", "p.svg"]);
    let text = note("o.csv").unwrap();
    insta::assert_snapshot!("notes of a table", text);
    assert_eq!(note("p.svg").unwrap().lines().skip(1).collect::<Vec<_>>(), {
        text.lines().skip(1).collect::<Vec<_>>()
    });
    // JSON has intervals always.
    ask(&["--output", "o.json"]);
    assert!(note("o.json").unwrap().starts_with("notes on o.json\nintervals: noise only"));
    // One that is about an older table goes; whatever else has its name stays.
    ask(&["--output", "o.csv"]);
    assert!(note("o.csv").is_err());
    fs::write(shop.path("o.csv.notes.txt"), "mine").unwrap();
    ask(&["--output", "o.csv"]);
    assert_eq!(note("o.csv").unwrap(), "mine");
    for format in ["html", "md", "parquet"] {
        let output = format!("o.{format}");
        ask(&["--intervals", "--output", &output]);
        assert!(note(&output).is_err());
        let bytes = fs::read(shop.path(&output)).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains("keys are not among the public ones"));
    }
    let name = "o.csv.notes.txt";
    let run = shop.run(&["query", COUNT_BY_PRODUCT, "--output", "o.csv", "--statement", name]);
    assert!(run.refusal().contains("the notes of --output and --statement both name"));
    assert_eq!(shop.spent(), 1.0);
}

#[test]
fn a_query_may_come_from_standard_input() {
    let shop = Shop::new();
    for arguments in [["query", "--analyst", "ana", "-"], ["query", "--analyst=ana", "--file", "-"]]
    {
        let mut child = shop
            .command(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(COUNT_BY_PRODUCT.as_bytes()).unwrap();
        let piped = Run::of(child.wait_with_output().unwrap()).success();
        assert_eq!(shop.run(&["query", COUNT_BY_PRODUCT]).success(), piped);
    }
}

#[test]
fn a_query_may_come_from_a_file_with_parameters() {
    let shop = Shop::new();
    let answer = shop.run(&["query", COUNT_BY_PRODUCT]).success();
    fs::write(shop.path("q.sql"), format!("-- all products\n{COUNT_BY_PRODUCT};\n")).unwrap();
    assert_eq!(shop.run(&["query", "--file", "q.sql"]).success(), answer);
    // A comment is no option.
    let commented = format!("-- all products\n{COUNT_BY_PRODUCT}");
    assert_eq!(shop.run(&["query", &commented, "--analyst", "ana"]).success(), answer);
    // A parameter is the constant that it stands for.
    let only = COUNT_BY_PRODUCT.replace(" FROM visits", " FROM visits WHERE town <> 'x'");
    let only = shop.run(&["query", &only]).success();
    let named = COUNT_BY_PRODUCT.replace(" FROM visits", " FROM visits WHERE town <> @town");
    assert_eq!(shop.run(&["query", "--param", "town=x", &named]).success(), only);
    assert_eq!(shop.spent(), 2.0);
    for (arguments, expected) in [
        (vec!["query", &named], "the parameter `@town` has no value"),
        (vec!["query", "--param", "town", &named], "--param town has no value"),
        (vec!["query", "--param", "city=x", &named], "no parameter `@city`"),
        (vec!["query", "--file", "none.sql"], "cannot read the query from `none.sql`"),
        (vec!["check", "--param", "town=x"], "needs a query, but none is given"),
    ] {
        let refusal = shop.run(&arguments).refusal();
        assert!(refusal.contains(expected), "{refusal}");
    }
}

/// Input without an end would never be read to it.
#[cfg(target_os = "linux")]
#[test]
fn reading_a_query_stops_at_its_limit() {
    let shop = Shop::new();
    let endless = fs::File::open("/dev/zero").unwrap();
    let output = shop.command(&["query", "-"]).stdin(endless).output().unwrap();
    let refusal = Run::of(output).refusal();
    assert!(refusal.contains("more than 65536 bytes"), "{refusal}");
    shop.assert_untouched();
}

#[test]
fn what_is_refused_costs_nothing_and_prints_nothing() {
    let shop = Shop::new();
    for (sql, expected) in [
        ("SELECT * FROM visits", "*"),
        ("SELEC 1", "not valid SQL"),
        ("SELECT town FROM nowhere GROUP BY town", "nowhere"),
        ("SELECT SUM(town) FROM visits", "town"),
        ("", "exactly one"),
    ] {
        let error = shop.run(&["query", sql]).refusal();
        assert!(error.contains(expected), "{sql}: {error}");
        shop.run(&["explain", sql]).refusal();
    }
    shop.assert_untouched();
}

#[test]
fn warnings_come_before_the_charge() {
    let shop = Shop::new();
    let odd = "SELECT product, COUNT(*) AS n FROM visits WHERE product IN ('Wine', 'bread') \
               GROUP BY product";
    let explained = shop.run(&["explain", "--verbose", odd]).success();
    let warning = "'Wine' is not among the public keys of `product`";
    assert!(
        explained.contains(&format!("Warnings\n  warning: {warning}\n    hint: ")),
        "{explained}"
    );
    shop.assert_untouched();
    let run = shop.run(&["query", odd, "--statement", "s.json", "--output", "o.csv"]);
    let (warned, charged) = (run.stderr.find(warning), run.stderr.find("charged"));
    assert!(warned.is_some() && warned < charged, "{}", run.stderr);
    assert!(run.stderr.starts_with("warning: "), "{}", run.stderr);
    run.success();
    let statement = fs::read_to_string(shop.path("s.json")).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
    assert_eq!(statement["parts"][0]["release"]["warnings"][0]["code"], "not_a_public_key");
    assert_eq!(statement["parts"][0]["release"]["warnings"][0]["what"], warning);
    // A query beyond the budget is refused first.
    let dear = odd.replace("SELECT ", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9) ");
    let refused = shop.run(&["query", &dear]).refusal();
    assert!(refused.starts_with("error: "), "{refused}");
    assert_eq!(shop.spent(), 1.0);
    // A refused query is not charged, either.
    for mistake in ["town = NULL", "\"town\" = 'Wick'", "product = 'Wine'"] {
        let sql = format!("SELECT product, COUNT(*) FROM visits WHERE {mistake} GROUP BY product");
        shop.run(&["query", &sql]).refusal();
    }
    assert_eq!(shop.spent(), 1.0);
}

/// Bounds per row, from the command line to the statement.
#[test]
fn rows_are_bounded_as_the_statement_says() {
    let shop = Shop::new();
    let sql = "SELECT AVG(IF(quantity >= 6, 1, 0)) AS high FROM visits";
    let explained = shop.run(&["explain", "--verbose", sql]).success();
    assert!(explained.contains("5 rows of 0 to 1"), "{explained}");
    let run = shop.run(&["query", sql, "--statement", "s.json"]);
    let answer = run.success();
    // A third of 1,500 rows, with a noise of scale 10 on both sum and count.
    let mean: f64 = answer.lines().nth(1).unwrap().parse().unwrap();
    assert!((0.2..0.47).contains(&mean), "{mean}");
    let statement = fs::read_to_string(shop.path("s.json")).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
    let sum = &statement["parts"][0]["release"]["measurements"][0];
    assert_eq!(sum["per_row"]["rows"], 5);
    assert_eq!(sum["per_row"]["bounds"][1], 1.0);
    assert_eq!(sum["bounds"][1], 5.0);
}

#[test]
fn more_than_the_budget_is_refused() {
    let shop = Shop::new();
    let ask = |epsilon: &str| {
        let options = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) ");
        shop.run(&["query", &COUNT_BY_PRODUCT.replace("SELECT ", &options)])
    };
    let error = ask("3.000001").refusal();
    assert!(error.contains("budget") && error.contains("at most 3"), "{error}");
    assert_eq!(shop.spent(), 0.0);
    ask("2.5").success();
    let error = ask("0.6").refusal();
    assert!(error.contains("at most 0.5"), "{error}");
    assert_eq!(shop.spent(), 2.5);
    ask("0.5").success();
    assert_eq!(shop.account()["left"]["epsilon"], 0.0);
    // Questions answered before are still answered.
    ask("2.5").success();
}

#[test]
fn a_contract_must_be_there_and_decided() {
    let shop = Shop::new();
    let error = shop.run(&["query", "--contract", "no.toml", COUNT_BY_PRODUCT]).refusal();
    assert!(error.contains("no.toml"), "{error}");
    let contract = fs::read_to_string(shop.path("hushtable.toml")).unwrap();
    let undecided = contract.replace("\"customer\"", "\"TODO: a column, or row\"");
    fs::write(shop.path("todo.toml"), undecided).unwrap();
    for command in ["query", "explain"] {
        let error = shop.run(&[command, "--contract", "todo.toml", COUNT_BY_PRODUCT]).refusal();
        assert!(error.contains("still to be decided by the owner"), "{error}");
    }
    shop.run(&["budget", "--contract", "todo.toml"]).refusal();
    shop.assert_untouched();
}

#[test]
fn explain_reads_no_data_and_writes_nothing() {
    let shop = Shop::new();
    let before = shop.run(&["explain", "--verbose", COUNT_BY_PRODUCT]).success();
    let mut garbage = b"customer,town,product,quantity\n".to_vec();
    garbage.extend(b"\xff\xfe\"\n,,,,,,,\n\0");
    fs::write(shop.path("visits.csv"), garbage).unwrap();
    assert_eq!(shop.run(&["explain", "--verbose", COUNT_BY_PRODUCT]).success(), before);
    assert_eq!(shop.files(), ["hushtable.toml", "visits.csv"]);
    for expected in
        ["ana", "visits", "customer", "epsilon = 1", "epsilon = 2", "The budget suffices"]
    {
        assert!(before.contains(expected), "{expected}: {before}");
    }
}

/// The noise with tighter limits on joined rows, in words and as data.
#[test]
fn explain_says_what_tighter_limits_of_joins_give() {
    let shop = Shop::new();
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_per_group = 5, max_rows_joined = \
               4) COUNT(*) AS n FROM visits AS v JOIN visits AS w ON w.customer = v.customer";
    let page = shop.run(&["explain", sql]).success();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "a tighter limit in the join of visits with visits on",
        "with max_rows_joined = 4 (set in OPTIONS)",
        "`unique` in the contract (visits.customer)",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let json = shop.run(&["explain", "--format", "json", sql]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let limit = &json["parts"][0]["explanation"]["join_limits"][0];
    assert_eq!((&limit["rows"], &limit["from"]), (&4.into(), &"options".into()), "{json}");
    let (now, one) = (&limit["deviation"], &limit["tighter"][0]);
    assert_eq!(one["rows"], 1);
    assert!(one["deviation"].as_f64().unwrap() < 0.3 * now.as_f64().unwrap(), "{json}");
}

#[test]
fn explain_knows_what_is_on_record_and_what_is_too_much() {
    let shop = Shop::new();
    shop.run(&["query", COUNT_BY_PRODUCT]).success();
    let json = shop.run(&["explain", "--format", "json", COUNT_BY_PRODUCT]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["parts"][0]["standing"], "on_record");
    assert_eq!(json["accounts"][0]["charge"]["epsilon"], 0.0);
    assert_eq!(json["accounts"][0]["left_after"]["epsilon"], 2.0);
    let much = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2.5) COUNT(*) FROM visits";
    let text = shop.run(&["explain", "--verbose", much]).success();
    assert!(text.contains("does not suffice"), "{text}");
    assert_eq!(shop.spent(), 1.0);
}

#[test]
fn values_of_any_kind_make_no_error() {
    let shop = Shop::new();
    let mut csv = fs::read(shop.path("visits.csv")).unwrap();
    csv.extend(b"\xff\xfe,\xff,bread,99999999999999999999999\nx,y,z\n\n,,,,,\n\"a\nb,1,2,3");
    fs::write(shop.path("visits.csv"), csv).unwrap();
    let by_town = "SELECT town, COUNT(DISTINCT customer) AS n, SUM(quantity) AS q FROM visits \
                   GROUP BY town ORDER BY n DESC";
    let text = shop.run(&["query", "--format", "table", by_town]).success();
    assert!(text.starts_with("town"), "{text}");
    assert!(text.contains("Ashford"), "{text}");
}

/// The plan is for the owner: it has the structure, no file and no size.
#[test]
fn explain_shows_the_plan() {
    let shop = Shop::new();
    let plan = shop.run(&["explain", "--plan", COUNT_BY_PRODUCT]).success();
    assert!(plan.starts_with("BoundExec: keys=1, accumulators="), "{plan}");
    assert!(plan.contains("SourceExec: columns=[") && plan.contains("Hash(["), "{plan}");
    assert!(!plan.contains("csv") && !plan.contains("bytes"), "{plan}");
    shop.assert_untouched();
}

#[test]
fn memory_has_a_limit() {
    let shop = Shop::new();
    for (arguments, setting) in [(&["--memory", "4 parsecs"][..], "1GiB"), (&[], "plenty")] {
        let mut all = vec!["query"];
        all.extend(arguments);
        all.push(COUNT_BY_PRODUCT);
        let run = shop.command(&all).env("HUSHTABLE_MEMORY", setting).output().unwrap();
        let error = Run::of(run).refusal();
        assert!(error.contains("is not an amount of memory of 1MiB or more"), "{error}");
        assert!(error.contains("hint: give a whole number and its unit, such as 512MiB or 4GiB"));
    }
    shop.assert_untouched();
    // The option comes first.
    let enough = ["query", "--memory", "1GiB", COUNT_BY_PRODUCT];
    let run = shop.command(&enough).env("HUSHTABLE_MEMORY", "plenty").output().unwrap();
    Run::of(run).success();
}

/// Written again, a file is other data: the question is new, and both messages say why.
#[test]
fn a_question_about_older_data_is_told_of() {
    const BEFORE: &str = "The same text was charged on 20";
    let shop = Shop::new();
    let new = shop.run(&["explain", COUNT_BY_PRODUCT]).success();
    assert!(!new.contains(BEFORE), "{new}");
    let first = shop.run(&["query", COUNT_BY_PRODUCT]);
    assert!(!first.stderr.contains(BEFORE), "{}", first.stderr);
    let visits = fs::read(shop.path("visits.csv")).unwrap();
    fs::write(shop.path("visits.csv"), [&visits[..], b"x,Ashford,wine,1\n"].concat()).unwrap();
    for explain in [&["explain"][..], &["explain", "--verbose"]] {
        let page = shop.run(&[explain, &[COUNT_BY_PRODUCT]].concat()).success();
        assert!(page.split_whitespace().collect::<Vec<_>>().join(" ").contains(BEFORE), "{page}");
    }
    let json = shop.run(&["explain", "--format", "json", COUNT_BY_PRODUCT]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["answered_before"].as_str().unwrap().starts_with("20"), "{json}");
    let again = shop.run(&["query", COUNT_BY_PRODUCT]);
    assert!(again.stderr.contains(BEFORE), "{}", again.stderr);
    assert_eq!(shop.spent(), 2.0);
}
