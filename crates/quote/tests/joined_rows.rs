//! The rows that joins make of one row, and what it adds by them.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_contract::Contract;
use hushtable_lang::Refusal;
use hushtable_plan::{
    MAX_ADDED_OPERATIONS, Most, Operator, PrivateQuery, PublicRows, Relation, bind,
};
use hushtable_quote::Quote;
use serde_json::Value as Json;

const CONTRACT: &str = r#"
[units.person]
budgets.ana = { epsilon = 9, delta = 1e-5 }
defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 3, max_rows_per_group = 5 }

[tables.people]
path = "people.csv"
unit = { of = "person", column = "id" }
columns = { id = { type = "int" }, w = { type = "int" }, town = { type = "string" } }

[tables.visits]
path = "visits.csv"
unit = { of = "person", column = "id" }
[tables.visits.columns]
id = { type = "int" }
no = { type = "int" }
day = { type = "int" }
town = { type = "string" }

[tables.claims]
path = "claims.csv"
unit = { of = "person", through = { column = "no", references = "visits.no" } }
columns = { no = { type = "int" }, cost = { type = "int" } }

[tables.towns]
path = "towns.csv"
public = true
unique = ["town"]
columns = { town = { type = "string" }, size = { type = "int" }, region = { type = "string" } }

[tables.p]
path = "p.csv"
public = true
columns = { age = { type = "int" }, town = { type = "string" } }
"#;

fn contract() -> Contract {
    Contract::parse(CONTRACT, "hushtable.toml").unwrap()
}

fn bind_from(from: &str) -> Result<PrivateQuery, Refusal> {
    bind(&format!("SELECT COUNT(*) AS n FROM {from}"), &contract())
}

/// The numbers of the public joins, where `count` says how many rows agree.
fn numbers(query: &PrivateQuery, count: &dyn Fn(&PublicRows) -> u64) -> Vec<(String, u64)> {
    let joins = query.public_joins(&contract());
    joins.into_iter().map(|join| (join.name, join.most.value(count))).collect()
}

/// Expressions of which only values tell that they are equal in all rows are counted by these;
/// where a side reads no table, or both read the same, nothing is joined: all rows of the public
/// table are counted, and two protected tables cannot meet.
#[test]
fn an_equality_within_one_table_joins_nothing() {
    let all = vec![("`p`".to_owned(), 7)];
    let count = |rows: &PublicRows| {
        assert!(!rows.keys.iter().any(|key| key.reads_columns()), "{rows:?}");
        7
    };
    for on in [
        "1 = 1",
        "a.w = 1",
        "p.age = 1",
        "a.w = a.id",
        "MOD(p.age, 1) = 0",
        "p.age = p.age",
        "a.w + p.age = 5",
        "a.w + p.age = a.w",
        "TRUE",
        "a.w BETWEEN p.age AND p.age + 10",
    ] {
        for kind in ["JOIN", "LEFT JOIN"] {
            let query = bind_from(&format!("people a {kind} p ON {on}")).unwrap();
            assert_eq!(numbers(&query, &count), all, "{on}");
            query.check_row(&numbers(&query, &|_| 1001), 1000).unwrap_err();
            let both =
                bind_from(&format!("people a {kind} people p ON {}", on.replace("age", "w")));
            let refusal = both.unwrap_err().what;
            assert_eq!(refusal, "a join has no equality between its sides", "{on}");
        }
        let query = bind_from(&format!("people a, p WHERE {on}")).unwrap();
        assert_eq!(numbers(&query, &count), all, "{on}");
        bind_from(&format!("people a WHERE EXISTS (SELECT 1 FROM p WHERE {on})")).unwrap();
        // Two public tables could make pairs without end.
        let public = format!("(SELECT q.age FROM p AS q CROSS JOIN p) AS p JOIN people a ON {on}");
        bind_from(&public).unwrap_err();
    }
    bind_from("people a JOIN p ON MOD(p.age, 1) = MOD(a.w, 1)").unwrap();
    bind_from("people a CROSS JOIN people p").unwrap_err();
}

#[test]
fn rows_of_public_tables_multiply() {
    let join = |i: usize| format!(" JOIN p p{i} ON MOD(p{i}.age, 1) = MOD(a.w, 1)");
    let from = |joins: usize| format!("people a{}", (0..joins).map(join).collect::<String>());
    let query = bind_from(&from(3)).unwrap();
    let joins = numbers(&query, &|_| 1000);
    let first = ("`p` by an expression of age".to_owned(), 1000);
    assert_eq!(joins, vec![first; 3]);
    insta::assert_snapshot!(query.check_row(&joins, 1000).unwrap_err());
    // Ten of ten of ten are a thousand.
    let added = query.check_row(&numbers(&query, &|_| 10), 1000).unwrap();
    assert_eq!((added.matches, added.rows), (1000, 1000));
    let refusal = query.check_row(&numbers(&query, &|_| 11), 1000).unwrap_err();
    assert!(refusal.what.starts_with("one row could meet 1331 rows"), "{refusal}");
    query.check_row(&numbers(&query, &|_| 10), 999).unwrap_err();
    // One join of a thousand rows is accepted, with little to compute of each.
    let query = bind_from(&from(1)).unwrap();
    query.check_row(&numbers(&query, &|_| 1000), 1000).unwrap();
    query.check_row(&numbers(&query, &|_| 1001), 1000).unwrap_err();
    let long: Vec<String> = (0..50).map(|i| format!("a.w = {i}")).collect();
    let long = format!("SELECT COUNTIF({}) AS n FROM {}", long.join(" OR "), from(1));
    let long = bind(&long, &contract()).unwrap();
    insta::assert_snapshot!(long.check_row(&numbers(&long, &|_| 1000), 1000).unwrap_err());
    // An empty table has no partner, and a row stays one row at least.
    let left = bind_from("people a LEFT JOIN p ON p.age = a.w").unwrap();
    assert_eq!(left.check_row(&numbers(&left, &|_| 0), 1000).unwrap().rows, 1);
}

/// Rows of which only the existence matters are looked at, and repeat nothing.
#[test]
fn memberships_repeat_no_row() {
    let query = bind_from("people a WHERE a.town IN (SELECT town FROM p)").unwrap();
    assert_eq!(numbers(&query, &|_| 1000), []);
    assert_eq!(query.check_row(&[], 1000).unwrap().rows, 1);
    let exists = "EXISTS (SELECT 1 FROM p WHERE p.town = a.town AND p.age > a.w)";
    let query = bind_from(&format!("people a WHERE {exists} AND NOT {exists}")).unwrap();
    let joins = numbers(&query, &|_| 900);
    assert_eq!(joins.len(), 2);
    let added = query.check_row(&joins, 1000).unwrap();
    assert_eq!((added.matches, added.rows), (900, 1));
    query.check_row(&numbers(&query, &|_| 1001), 1000).unwrap_err();
}

/// The numbers that are counted: the rows of a table behind its filters, by what the join compares,
/// written out over the table's columns.
#[test]
fn public_rows_are_counted_by_what_is_compared() {
    let rows = |query: &PrivateQuery| -> Vec<(usize, bool)> {
        let mut all = Vec::new();
        for join in query.public_joins(&contract()) {
            join.most.each(&mut |rows: &PublicRows| {
                let filtered = matches!(rows.rows.operator(), Operator::Filter { .. });
                all.push((rows.keys.len(), filtered));
                let counts = rows.counts().unwrap();
                assert_eq!(counts.fields().last().unwrap().name, "rows");
            });
        }
        all
    };
    let most = |from: &str, count: u64| {
        let query = bind_from(from).unwrap();
        (rows(&query), numbers(&query, &|_| count).into_iter().map(|(_, n)| n).collect::<Vec<_>>())
    };
    // The contract and the operators know these.
    let known = vec![1];
    assert_eq!(most("people a JOIN towns t ON t.town = a.town", 7), (vec![], known.clone()));
    let grouped = "(SELECT town, MAX(age) AS age FROM p GROUP BY town)";
    assert_eq!(most(&format!("people a JOIN {grouped} g ON g.town = a.town"), 7), (vec![], known));
    // Of a group's other values, as many rows as agree in them.
    let unfiltered = |keys| vec![(keys, false)];
    let by_age = format!("people a JOIN {grouped} g ON g.age = a.w");
    assert_eq!(most(&by_age, 7), (unfiltered(0), vec![7]));
    assert_eq!(most("people a JOIN p ON p.town = a.town", 7), (unfiltered(1), vec![7]));
    let two = "people a JOIN p ON p.town = a.town AND p.age = a.w";
    assert_eq!(most(two, 7), (unfiltered(2), vec![7]));
    let filtered = "people a JOIN (SELECT town AS t, age + 1 AS old FROM p WHERE age > 90) q \
                    ON q.t = a.town AND q.old = a.w";
    assert_eq!(most(filtered, 7), (vec![(2, true)], vec![7]));
    let union = "(SELECT town FROM p UNION ALL SELECT town FROM p)";
    let both = vec![(1, false), (1, false)];
    assert_eq!(most(&format!("people a JOIN {union} q ON q.town = a.town"), 7), (both, vec![14]));
    // A pair of public rows: of each row one town, or of each region's towns their rows.
    let pairs = "(SELECT p.age, t.region FROM p JOIN towns t ON t.town = p.town)";
    let by_age = format!("people a JOIN {pairs} q ON q.age = a.w");
    assert_eq!(most(&by_age, 7).1, [7]);
    let by_region = format!("people a JOIN {pairs} q ON q.region = a.town");
    assert_eq!(most(&by_region, 7).1, [49]);
    let left = "(SELECT p.age, q.town FROM p LEFT JOIN p q ON q.town = p.town)";
    assert_eq!(most(&format!("people a JOIN {left} q ON q.age = a.w"), 7).1, [56]);
}

/// Long chains of joins are looked at once.
#[test]
fn chains_of_joins_take_no_longer_with_each_join() {
    let chain = |of: &str, on: &dyn Fn(usize) -> String| -> String {
        (1..40).map(|i| format!(" JOIN {of} x{i} ON {}", on(i))).collect()
    };
    let public = chain("p", &|i| format!("x{i}.town = x0.town"));
    let from = format!("people a JOIN (SELECT x0.age FROM p x0{public}) q ON q.age = a.w");
    let query = bind_from(&from).unwrap();
    assert_eq!(numbers(&query, &|_| 1)[0].1, 1);
    let refusal = query.check_row(&numbers(&query, &|_| 2), 1000).unwrap_err();
    assert!(refusal.what.starts_with("one row could meet 1099511627776 rows"), "{refusal}");
    let protected = chain("visits", &|i| format!("x{i}.id = x0.id"));
    let query = bind_from(&format!("visits x0{protected}")).unwrap();
    assert_eq!(query.relation().max_rows_joined(), Some(1));
    query.check_row(&[], 1000).unwrap();
}

#[test]
fn each_row_of_a_unit_meets_few_others() {
    let rows = |from: &str| bind_from(from).unwrap().relation().max_rows_joined();
    // One of both sides has one row of a unit.
    let grouped = "(SELECT id, COUNT(*) AS n FROM visits GROUP BY id)";
    for from in [
        "visits v".to_owned(),
        format!("visits v JOIN {grouped} g ON g.id = v.id"),
        format!("{grouped} g LEFT JOIN visits v ON g.id = v.id"),
        "visits v JOIN claims c ON c.no = v.no".to_owned(),
        "visits v WHERE v.id IN (SELECT id FROM people)".to_owned(),
        "visits v JOIN towns t ON t.town = v.town".to_owned(),
    ] {
        assert_eq!(rows(&from), None, "{from}");
    }
    let self_join = |n: usize| {
        let join = |i: usize| format!(" JOIN visits v{i} ON v{i}.id = v.id");
        format!("visits v{}", (0..n).map(join).collect::<String>())
    };
    let all: Vec<u32> = (1..5).map(|n| rows(&self_join(n)).unwrap()).collect();
    insta::assert_debug_snapshot!(all);
    let exists =
        "visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.id = v.id AND w.day > v.day)";
    assert!(rows(exists).is_some());
    // A dearer condition leaves fewer rows.
    let terms: Vec<String> = (0..60).map(|i| format!("v.day > v0.day + {i}")).collect();
    let dear = format!("{} WHERE {}", self_join(1), terms.join(" OR "));
    assert!(rows(&dear).unwrap() < all[0]);
    for from in (1..5).map(self_join).chain([dear, exists.to_owned()]) {
        let query = bind_from(&from).unwrap();
        let added = query.check_row(&[], 1000).unwrap();
        assert!(added.operations <= MAX_ADDED_OPERATIONS, "{from}: {added:?}");
        // There is no slack to speak of.
        let limit = query.relation().max_rows_joined().unwrap();
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_joined = {}) COUNT(*) FROM {from}",
            4 * limit
        );
        bind(&sql, &contract()).unwrap().check_row(&[], 1000).unwrap_err();
    }
}

/// Where the contract says that each unit has one row in a table, joins with it lose none of the
/// others.
#[test]
fn tables_with_one_row_of_each_unit_limit_nothing() {
    let text = CONTRACT.replace("[tables.people]", "[tables.people]\nunique = [\"id\"]");
    let single = Contract::parse(&text, "hushtable.toml").unwrap();
    let limit = |contract: &Contract, from: &str| {
        let query = bind(&format!("SELECT COUNT(*) AS n FROM {from}"), contract).unwrap();
        query.check_row(&[], 1000).unwrap();
        query.relation().max_rows_joined()
    };
    let visits = "people p JOIN visits v ON v.id = p.id";
    let towns = "people p JOIN towns t ON t.town = p.town JOIN visits v ON v.id = p.id";
    let some = "(SELECT id AS who, w FROM people WHERE w > 1) p LEFT JOIN visits v ON v.id = p.who";
    for from in [visits, some] {
        assert_eq!(limit(&single, from), None, "{from}");
        assert!(limit(&contract(), from).is_some(), "{from}");
    }
    let query = bind(&format!("SELECT COUNT(*) AS n FROM {towns}"), &single).unwrap();
    assert_eq!(query.relation().max_rows_joined(), None);
    let chain = |visits: &str| format!("{visits} JOIN visits w ON w.id = v.id");
    assert_eq!(limit(&single, &chain(visits)), limit(&contract(), &chain("visits v")));
    // The column of the unit, and no other.
    for (unique, what) in [
        ("[\"w\"]", "other columns than its unit"),
        ("[\"id\", \"w\"]", "other columns than its unit"),
    ] {
        let text =
            CONTRACT.replace("[tables.people]", &format!("[tables.people]\nunique = {unique}"));
        let error = Contract::parse(&text, "hushtable.toml").unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let text = CONTRACT.replace("[tables.claims]", "[tables.claims]\nunique = [\"no\"]");
    assert!(Contract::parse(&text, "hushtable.toml").is_err());
}

#[test]
fn the_limit_on_joined_rows_can_be_named() {
    let from = "visits v JOIN visits w ON w.id = v.id";
    let sql = |rows: u32| {
        format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_joined = {rows}) COUNT(*) \
             FROM {from}"
        )
    };
    let query = bind(&sql(20), &contract()).unwrap();
    assert_eq!(query.relation().max_rows_joined(), Some(20));
    let quote = Quote::new(query).unwrap();
    let explained = hushtable_quote::Explanation::new(&quote);
    assert_eq!(explained.max_rows_joined, Some(20));
    let cut = &explained.intervals.not_in_them;
    assert!(cut.contains(&"rows of one v.id on a side of a join beyond 20".to_owned()), "{cut:?}");
    // It is a part of the question.
    let text = |rows| serde_json::to_string(&bind(&sql(rows), &contract()).unwrap()).unwrap();
    assert_ne!(text(20), text(21));
    // The contract's default, and the query's own.
    let stated = CONTRACT.replace("max_rows_per_group = 5", "max_rows_joined = 30");
    let stated = Contract::parse(&stated, "hushtable.toml").unwrap();
    let distinct = format!("SELECT COUNT(DISTINCT v.id) FROM {from}");
    let rows = |sql: &str| bind(sql, &stated).unwrap().relation().max_rows_joined();
    assert_eq!(
        (rows(&distinct), rows(&sql(20).replace("COUNT(*)", "COUNT(DISTINCT v.id)"))),
        (Some(30), Some(20))
    );
    // A row then meets more than it may, and the refusal names what would do.
    let query = bind(&sql(100_000), &contract()).unwrap();
    insta::assert_snapshot!(query.check_row(&[], 1000).unwrap_err());
    for bad in ["0", "1000001", "AUTO"] {
        let bad = sql(1).replace("max_rows_joined = 1", &format!("max_rows_joined = {bad}"));
        assert!(bind(&bad, &contract()).unwrap_err().what.contains("max_rows_joined"), "{bad}");
    }
}

/// A limit that is taken out of a query is missed.
#[test]
fn queries_that_are_read_back_have_their_limits() {
    let query = bind_from("visits v JOIN visits w ON w.id = v.id AND w.day > v.day").unwrap();
    let mut json = serde_json::to_value(&query).unwrap();
    Quote::new(serde_json::from_value(json.clone()).unwrap()).unwrap();
    fn without(json: &mut Json) {
        match json {
            Json::Object(fields) => {
                fields.remove("max_rows");
                fields.values_mut().for_each(without);
            }
            Json::Array(all) => all.iter_mut().for_each(without),
            _ => {}
        }
    }
    without(&mut json);
    let changed: PrivateQuery = serde_json::from_value(json).unwrap();
    let refusal = Quote::new(changed.clone()).unwrap_err();
    assert!(refusal.what.contains("without a limit"), "{refusal}");
    changed.check_row(&[], 1000).unwrap_err();
}

#[test]
fn limits_of_the_contract_are_checked() {
    for (setting, what) in [
        ("max_matches_per_row = 0", "max_matches_per_row"),
        ("max_matches_per_row = 1000001", "max_matches_per_row"),
        ("defaults.max_rows_joined = 0", "max_rows_joined"),
    ] {
        let text = CONTRACT.replace(
            "defaults = { epsilon = 1, delta = 1e-6, max_groups_contributed = 3, \
             max_rows_per_group = 5 }",
            setting,
        );
        assert_ne!(text, CONTRACT);
        let error = Contract::parse(&text, "hushtable.toml").unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let text = CONTRACT.replace("budgets.ana", "max_matches_per_row = 50\nbudgets.ana");
    let contract = Contract::parse(&text, "hushtable.toml").unwrap();
    assert_eq!(contract.populations["person"].max_matches_per_row, 50);
    assert_eq!(self::contract().populations["person"].max_matches_per_row, 1000);
}

#[test]
fn numbers_of_rows_do_not_overflow() {
    let all = Most::Product(vec![Most::Known(u64::MAX), Most::Known(2)]);
    let sum = Most::Sum(vec![all.clone(), Most::Known(1)]);
    assert_eq!((all.value(&|_| 0), sum.value(&|_| 0)), (u64::MAX, u64::MAX));
    let read: Result<Relation, _> = serde_json::from_str("{}");
    assert!(read.is_err());
}
