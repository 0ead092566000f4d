//! Which groups appear: known ones, least numbers, and strategies that look at units.

use std::fmt::Write as _;

use super::Fixture;

const CONTRACT: &str = r#"
[tables.tags]
path = "tags.csv"
privacy_unit = "post"
[tables.tags.columns]
post = { type = "int" }
tag = { type = "string" }
lang = { type = "string", known_keys = ["de", "en", "tlh"] }
known = { type = "bool", public_keys = [true, false], expression = "lang IN ('de', 'en')" }
[tables.tags.budgets]
ana = { epsilon = 1000, delta = 0.999 }

[tables.lines]
path = "lines.csv"
privacy_unit = "row"
[tables.lines.columns]
tag = { type = "string" }
[tables.lines.budgets]
ana = { epsilon = 1000, delta = 0.999 }
"#;

/// 3,000 posts. Each has the tags `a` to `d`, one of 60 that 50 posts share, and one of its own.
fn fixture() -> Fixture {
    let mut csv = "post,tag,lang\n".to_owned();
    for post in 0..3000 {
        let lang = ["de", "en", "fr", "it"][post % 4];
        for tag in ["a", "b", "c", "d"] {
            writeln!(csv, "{post},{tag},{lang}").unwrap();
        }
        writeln!(csv, "{post},t{},{lang}", post % 60).unwrap();
        writeln!(csv, "{post},own{post},{lang}").unwrap();
    }
    Fixture::new(CONTRACT, &[("tags.csv", &csv), ("lines.csv", &csv)])
}

fn tags(fixture: &Fixture, table: &str, options: &str) -> Vec<String> {
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-5{options}) tag \
         FROM {table} GROUP BY tag"
    );
    fixture.rows(&sql).lines().map(str::to_owned).collect()
}

#[test]
fn strategies_that_look_at_units() {
    let fixture = fixture();
    let count = |strategy: &str| {
        let options =
            format!(", max_groups_contributed = 6, group_selection_strategy = {strategy}");
        let tags = tags(&fixture, "tags", &options);
        // Tags that everybody has appear; the tag of a single post does not.
        assert_eq!(tags.iter().filter(|t| ["a", "b", "c", "d"].contains(&t.as_str())).count(), 4);
        assert!(tags.iter().all(|t| !t.starts_with("own")), "{strategy}: {tags:?}");
        tags.len() - 4
    };
    // 50 posts weigh 50/sqrt(6) = 20.4 in one round, as much as the threshold; once the four tags
    // of all are gone, 50/sqrt(2) = 35. With counts the threshold is at 45.
    let (weighted, sips) = (count("WEIGHTED_GAUSSIAN"), count("SIPS"));
    assert!((15..58).contains(&weighted), "{weighted}");
    assert_eq!(sips, 60);
    // Once the four tags of all are certain, votes go to the shared tag or to the post's own.
    let votes = count("SINGLE_VOTE");
    assert!((54..=60).contains(&votes), "{votes}");
    let default = tags(&fixture, "tags", ", max_groups_contributed = 6");
    assert!((58..=64).contains(&default.len()), "{default:?}");
}

#[test]
fn they_work_on_rows_as_units_and_in_rho() {
    let fixture = fixture();
    for strategy in ["WEIGHTED_GAUSSIAN", "SIPS", "SINGLE_VOTE"] {
        let options = format!(", group_selection_strategy = {strategy}");
        // 50 rows, and thresholds of about 20 and noise of 4.
        assert_eq!(tags(&fixture, "lines", &options).len(), 64, "{strategy}");
    }
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-5, \
               max_groups_contributed = 6, group_selection_strategy = SIPS) tag, COUNT(*) AS n, \
               COUNT(DISTINCT post) AS posts FROM tags GROUP BY tag HAVING n > 1000";
    assert_eq!(
        fixture
            .rows(&sql.replace("max_groups", "max_rows_per_group = 1, max_groups"))
            .lines()
            .count(),
        4
    );
}

#[test]
fn least_numbers_of_units() {
    let fixture = fixture();
    for strategy in ["OPTIMAL", "TRUNCATED_GEOMETRIC", "LAPLACE_THRESHOLD", "SINGLE_VOTE"] {
        let ask = |least: u32| {
            let options = format!(
                ", group_selection_strategy = {strategy}, min_privacy_units_per_group = {least}"
            );
            tags(&fixture, "lines", &options).len()
        };
        assert_eq!(ask(10), 64, "{strategy}");
        assert_eq!(ask(49), 4, "{strategy}");
        assert_eq!(ask(4000), 0, "{strategy}");
    }
}

#[test]
fn known_groups_appear_beside_chosen_ones() {
    let fixture = fixture();
    let ask = |options: &str, rest: &str| {
        fixture.rows(&format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 30, delta = 1e-5, \
             max_groups_contributed = 1, max_rows_per_group = 1{options}) lang, \
             COUNT(DISTINCT post) AS n FROM tags {rest} GROUP BY lang"
        ))
    };
    // Klingon is known, and in no post.
    let all = "de|750\nen|750\nfr|750\nit|750\ntlh|0\n";
    for strategy in ["OPTIMAL", "TRUNCATED_GEOMETRIC", "LAPLACE_THRESHOLD", "WEIGHTED_GAUSSIAN"] {
        let named = format!(", group_selection_strategy = {strategy}");
        assert_eq!(ask(&named, ""), all, "{strategy}");
        // No row at all.
        assert_eq!(ask(&named, "WHERE post < 0"), "de|0\nen|0\ntlh|0\n", "{strategy}");
    }
    // Two posts of a language that nobody knew of, and of a known one.
    let few = "WHERE post IN (0, 4, 2, 6)";
    assert_eq!(ask(", group_selection_strategy = OPTIMAL", few), "de|2\nen|0\nfr|2\ntlh|0\n");
    assert_eq!(ask(", min_privacy_units_per_group = 3", few), "de|2\nen|0\ntlh|0\n");
    // The second threshold is for the known ones.
    assert_eq!(ask(", known_groups_threshold = 1", ""), all.replace("tlh|0\n", ""));
    assert_eq!(ask(", known_groups_threshold = 751", ""), "fr|750\nit|750\n");
    assert_eq!(ask(", known_groups_threshold = -5", ""), all);
}

#[test]
fn options_that_need_chosen_groups() {
    let fixture = fixture();
    let ask = |options: &str, key: &str| {
        let text = fixture.rows(&format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-5, \
             max_groups_contributed = 1, max_rows_per_group = 1, {options}) {key}, COUNT(*) AS n \
             FROM tags GROUP BY {key}"
        ));
        text.lines().next().unwrap().to_owned()
    };
    let shown = [
        ask("known_groups_threshold = 1", "tag"),
        ask("known_groups_threshold = 1", "known"),
        ask("min_privacy_units_per_group = 2", "known"),
        ask("known_groups_threshold = 1, group_selection_strategy = SIPS", "lang"),
        ask("known_groups_threshold = 1.5", "lang"),
        ask("min_privacy_units_per_group = 0", "lang"),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

const SALES: &str = r#"
[tables.sales]
path = "sales.csv"
privacy_unit = "who"
[tables.sales.columns]
who = { type = "int" }
town = { type = "string", known_keys = ["Aa"] }
shop = { type = "string" }
x = { type = "int", bounds = [0, 100], not_null = true }
y = { type = "int", bounds = [0, 10] }
[tables.sales.budgets]
ana = { epsilon = 1000, delta = 0.999 }
"#;

/// 40 shops: shop i has 10 (i + 1) buyers with two purchases each, of 30 and 50; `y` is missing in
/// every second shop.
fn sales() -> Fixture {
    let mut csv = "who,town,shop,x,y\n".to_owned();
    for shop in 0..40 {
        for buyer in 0..10 * (shop + 1) {
            let who = 1000 * shop + buyer;
            let y = if shop % 2 == 0 { "4" } else { "" };
            for x in [30, 50] {
                writeln!(csv, "{who},town{},s{shop:02},{x},{y}", shop / 2).unwrap();
            }
        }
    }
    Fixture::new(SALES, &[("sales.csv", &csv)])
}

fn ask(fixture: &Fixture, options: &str, select: &str) -> Vec<Vec<String>> {
    let text = fixture.rows(&format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-8, \
         max_groups_contributed = 1, group_selection_strategy = MEASURED_COUNT{options}) {select}"
    ));
    text.lines().map(|row| row.split('|').map(str::to_owned).collect()).collect()
}

#[test]
fn a_measured_count_chooses_the_groups_that_it_is_shown_with() {
    let fixture = sales();
    let two = ", max_rows_per_group = 2";
    let select = "shop, COUNT(*) AS n, SUM(x, contribution_bounds_per_row => (0, 100)) AS s, \
                  AVG(x) AS mean FROM sales GROUP BY shop";
    let shown = ask(&fixture, two, select);
    // With 2 rows of noise of scale 2, twice: some 2 + 2 ln(1e8 * 6) = 43 rows suffice, and shop 2
    // has 60.
    assert!((37..=39).contains(&shown.len()), "{shown:?}");
    for row in &shown {
        let shop: f64 = row[0][1..].parse().unwrap();
        let n: f64 = row[1].parse().unwrap();
        assert!(n >= 40.0 && (n - 20.0 * (shop + 1.0)).abs() < 25.0, "{row:?}");
        let (sum, mean): (f64, f64) = (row[2].parse().unwrap(), row[3].parse().unwrap());
        assert!((sum / n - mean).abs() < 3.0 && (mean - 40.0).abs() < 40.0, "{row:?}");
    }
    // A count by itself: its noise has scale 2.
    let alone = ask(&fixture, two, "shop, COUNT(*) AS n FROM sales GROUP BY shop");
    assert!((37..=39).contains(&alone.len()), "{alone:?}");
    // Of units, too.
    let units = ask(&fixture, "", "shop, COUNT(DISTINCT who) AS n FROM sales GROUP BY shop");
    assert!((37..=39).contains(&units.len()), "{units:?}");
    // By the values of a column where they alone are counted: shops without any are hidden.
    let values = ask(&fixture, two, "shop, AVG(y) AS mean FROM sales GROUP BY shop");
    assert!((18..=20).contains(&values.len()), "{values:?}");
    assert!(values.iter().all(|row| row[0][1..].parse::<u32>().unwrap() % 2 == 0));
    // Other numbers are measured as well, for groups that are shown.
    let more = ask(
        &fixture,
        &format!("{two}, intervals = 95"),
        "shop, COUNT(*) AS n, MEDIAN(x) AS m FROM sales GROUP BY shop",
    );
    assert!((30..=39).contains(&more.len()), "{more:?}");
}

#[test]
fn a_measured_count_respects_least_numbers_and_known_groups() {
    let fixture = sales();
    let two = ", max_rows_per_group = 2";
    let count = "shop, COUNT(*) AS n FROM sales GROUP BY shop";
    let least = |n: u32| format!("{two}, min_privacy_units_per_group = {n}");
    // 2 (n - 1) rows more are needed.
    let shown = ask(&fixture, &least(201), count);
    assert!((16..=19).contains(&shown.len()), "{}", shown.len());
    assert!(shown.iter().all(|row| row[0].as_str() >= "s20"));
    assert_eq!(ask(&fixture, &least(1000), count).len(), 0);
    // A known group of no row is shown with its noise.
    let known = ask(&fixture, two, "town, COUNT(*) AS n FROM sales GROUP BY town");
    assert_eq!(known[0][0], "Aa");
    assert!(known[0][1].parse::<i64>().unwrap().abs() < 60, "{known:?}");
    assert_eq!(known.len(), 21);
    // No row at all.
    let none = ask(&fixture, two, "town, COUNT(*) AS n FROM sales WHERE x < 0 GROUP BY town");
    assert_eq!((none.len(), none[0][0].as_str()), (1, "Aa"));
}

#[test]
fn what_no_measured_count_decides_is_refused() {
    let fixture = sales();
    let refused = |options: &str, select: &str| ask(&fixture, options, select).concat().join("|");
    let by = "FROM sales GROUP BY shop";
    insta::assert_snapshot!(
        [
            refused("", &format!("shop {by}")),
            refused(", max_rows_per_group = 2", &format!("shop, COUNTIF(x > 3) AS n {by}")),
            refused(
                ", max_rows_per_group = 2, group_selection_weight = 2",
                &format!("shop, COUNT(*) AS n {by}")
            ),
            refused(
                ", max_rows_per_group = 2, known_groups_threshold = 2",
                "town, COUNT(*) AS n FROM sales GROUP BY town"
            ),
        ]
        .join("\n")
    );
}
