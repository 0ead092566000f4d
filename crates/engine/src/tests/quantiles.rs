//! Medians and other quantiles, from the file to what is released.

use hushtable_noise::TestSeed;
use hushtable_quote::Noise;

use super::{Fixture, Wait, exactly};
use crate::progress::Progress;

const CONTRACT: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
[tables.firms.columns]
county = { type = "string", public_keys = ["A", "B", "none"] }
town = { type = "string" }
state = { type = "string", known_keys = ["Z"] }
pay = { type = "decimal(2)", split = 100 }
jobs = { type = "int", bounds = [0, 50] }
load = { type = "float", bounds = [-10, 10], granularity = 0.25 }
ten = { type = "int", bounds = [0, 100], granularity = 10 }
[tables.firms.budgets]
ana = { rho = 1000000, delta = 0.999 }

[tables.people]
path = "people.csv"
privacy_unit = "person"
[tables.people.columns]
person = { type = "int" }
town = { type = "string" }
days = { type = "int", bounds = [0, 100] }
[tables.people.budgets]
ana = { epsilon = 1000000, delta = 0.9999999 }
"#;

const FIRMS: &str = "\
county,town,state,pay,jobs,load,ten
A,x,S,1000000.25,7,inf,14
A,x,S,-250.004,300,0.3,26
A,y,S,12.5,3,nan,15
B,y,T,7.25,,nan,
B,y,T,8,9223372036854775807,-0.5,1e30
B,x,T,9,-5,-inf,-3
";

fn fixture() -> Fixture {
    let mut people = "person,town,days\n".to_owned();
    for person in 0..9 {
        // Five days of each, one of them large; person 7 has a town more than may be kept.
        for days in [10, 11, 12, 13, 90] {
            people.push_str(&format!("{person},north,{}\n", days + person % 3));
        }
        for town in ["east", "west"] {
            people.push_str(&format!("7,{town},50\n"));
        }
    }
    Fixture::new(CONTRACT, &[("firms.csv", FIRMS), ("people.csv", &people)])
}

/// Points other than the exact quantile have a probability below e^-600.
fn ask(select: &str) -> String {
    let options = "rho = 200000, delta = 0.99, max_groups_contributed = 1";
    fixture().rows(&format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select}"))
}

#[test]
fn quantiles_are_exact_without_noise() {
    // A public group without any row has a point of the whole lattice; what it is says nothing.
    let rows =
        ask("county, MEDIAN(pay) AS p, MEDIAN(jobs) AS j, MEDIAN(load) AS l, MEDIAN(ten) AS t, \
                    PERCENTILE_CONT(jobs, 0.9) AS h FROM firms GROUP BY county");
    let lines: Vec<&str> = rows.lines().collect();
    // Infinities are as large as the range has it, NaN and NULL are no values, 14 and 15 round to
    // 10 and 20; of two values any point in between may be it.
    assert!(lines[0].starts_with("A|12.50|7|"), "{rows}");
    assert!(lines[0].ends_with("|20|50.0"), "{rows}");
    assert!(lines[1].starts_with("B|8.00|"), "{rows}");
    assert_eq!(lines.len(), 3);
    let load: f64 = lines[0].split('|').nth(3).unwrap().parse().unwrap();
    assert!((0.25..=10.0).contains(&load) && load % 0.25 == 0.0);
    // With conditions, computed values, and of the largest values that there can be.
    assert_eq!(ask("MEDIAN(jobs) AS m FROM firms WHERE county = 'A' AND jobs < 5"), "3\n");
    let doubled = "MEDIAN(jobs * 2, contribution_bounds_per_row => (0, 500)) AS m FROM firms \
                   WHERE county = 'A'";
    assert_eq!(ask(doubled), "14\n");
    assert_eq!(ask("MEDIAN(jobs) AS m FROM firms WHERE town = 'y' AND county = 'B'"), "50\n");
}

#[test]
fn groups_that_are_known_or_chosen_have_their_own() {
    let rows = ask("town, MEDIAN(pay) AS p, COUNT(*) AS n FROM firms GROUP BY town");
    assert_eq!(rows, "x|9.00|3\ny|8.00|3\n");
    // A known group that no row is in comes after those that are found.
    let rows = ask("state, MEDIAN(jobs) AS j FROM firms GROUP BY state");
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!(lines.len(), 3, "{rows}");
    assert_eq!(lines[0], "S|7");
    assert!(lines[1].starts_with("T|") && lines[2].starts_with("Z|"), "{rows}");
}

/// Five quantiles of the same values are drawn together: in their order, and where the values are.
#[test]
fn quantiles_that_are_drawn_together_are_in_order() {
    let fixture = fixture();
    let of = |p: &str| format!("PERCENTILE_CONT(days, {p})");
    let all = ["0.1", "0.3", "0.5", "0.7", "0.9"].map(of).join(", ");
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 4000, delta = 1e-6, \
         max_groups_contributed = 1, max_rows_per_group = 5) {all} FROM people WHERE town = 'north'"
    );
    let quote = fixture.session().check(&sql).unwrap().quote;
    assert!(quote.noise().iter().all(|noise| matches!(noise, Noise::Joint(_))));
    let values: Vec<f64> =
        fixture.rows(&sql).trim().split('|').map(|value| value.parse().unwrap()).collect();
    assert!(values.is_sorted(), "{values:?}");
    let ends = [(10.0, 12.0), (10.0, 13.0), (11.0, 14.0), (12.0, 15.0), (13.0, 92.0)];
    for (value, (low, high)) in values.iter().zip(ends) {
        assert!((low..=high).contains(value), "{values:?}");
    }
}

/// Up to that many rows of each unit count, whichever they are; and a unit counts in as many groups
/// as it may.
#[test]
fn units_have_so_many_rows() {
    let median = |options: &str| {
        let ask = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 100000, delta = 0.999, \
             max_groups_contributed = 1, {options}) MEDIAN(days) AS d FROM people \
             WHERE town = 'north'"
        );
        fixture().rows(&ask).trim().parse::<i64>().unwrap()
    };
    // All 45 values: 13 is the 23rd of them. One of each: any may be the middle, but not a 90.
    assert_eq!(median("max_rows_per_group = 5"), 13);
    assert_eq!(median("max_rows_per_group = 100"), 13);
    assert!((10..=15).contains(&median("max_rows_per_group = 1")));
    // Person 7 is in three towns, two of them its own.
    let all = fixture().rows(&exactly("town, MEDIAN(days) AS d FROM people GROUP BY town"));
    assert!(all.lines().filter(|line| line.ends_with("|50")).count() <= 2, "{all}");
}

/// Every draw of a query with a median is of the promised law: between the sixth and ninth of ten
/// values at rho = 0.125, as often as e^-(rank distance) and the weights of the points say. 400
/// draws, a false alarm with probability below 1e-8; at fixed seeds.
#[test]
fn released_medians_have_their_law() {
    let mut data = "county,town,state,pay,jobs,load,ten\n".to_owned();
    for jobs in [0, 5, 10, 15, 20, 25, 30, 35, 40, 50] {
        data.push_str(&format!("A,x,S,1,{jobs},0,0\n"));
    }
    let fixture =
        Fixture::new(CONTRACT, &[("firms.csv", &data), ("people.csv", "person,town,days\n")]);
    let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.125) MEDIAN(jobs) AS j FROM firms";
    let mut below = [0u32; 4];
    for seed in 0..400 {
        let _ = std::fs::remove_file(fixture.session().ledger_path());
        let mut generator = TestSeed(seed).generator();
        let answer =
            fixture.session().query_with(sql, None, &Progress::default(), &mut generator).wait();
        let value = super::shown(&answer.unwrap().0.table).trim().parse::<u32>().unwrap();
        for (count, most) in below.iter_mut().zip([10, 20, 25, 40]) {
            *count += u32::from(value <= most);
        }
    }
    // Points 0 to 50 with half of the weight even, half by octaves.
    let digits = |x: u32| (32 - x.leading_zeros()).max(1);
    let octaves: f64 = (0..=50).map(|x| f64::from(1u32 << (6 - digits(x)))).sum();
    let even = (octaves / 51.0).floor();
    let values = [0u32, 5, 10, 15, 20, 25, 30, 35, 40, 50];
    let weight = |x: u32| {
        let under = values.iter().filter(|v| **v < x).count() as f64;
        let to = values.iter().filter(|v| **v <= x).count() as f64;
        let distance = (under - 5.0).max(5.0 - to).max(0.0);
        (even + f64::from(1u32 << (6 - digits(x)))) * (-distance).exp()
    };
    let all: f64 = (0..=50).map(weight).sum();
    for (count, most) in below.into_iter().zip([10, 20, 25, 40]) {
        let p = (0..=most).map(weight).sum::<f64>() / all;
        let (mean, sd) = (400.0 * p, (400.0 * p * (1.0 - p)).sqrt());
        assert!((f64::from(count) - mean).abs() < 6.0 * sd, "{below:?}: {mean} up to {most}");
    }
}
