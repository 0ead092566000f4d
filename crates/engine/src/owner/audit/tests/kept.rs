//! True mechanisms pass, and what is compared is what it says.

use std::collections::BTreeMap;

use datafusion::arrow::array::AsArray;

use super::*;

/// (units, sums) by town.
type Towns = BTreeMap<String, (u64, Vec<i128>)>;

fn by_town(table: &ComparedTable) -> Towns {
    let towns = table.keys[0].as_string_view().iter().map(|t| t.unwrap().to_owned());
    let group = |g: usize| table.counted.measured.iter().map(|m| m.sums().unwrap()[g]).collect();
    towns.enumerate().map(|(g, town)| (town, (table.counted.units[g], group(g)))).collect()
}

const BY_TOWN: &str = "town, COUNT(DISTINCT person) AS n, SUM(days) AS d FROM visits GROUP BY town";

#[test]
fn a_neighbour_is_the_table_without_the_heaviest_unit() {
    let folder = folder();
    let sql = sql("epsilon = 1, delta = 1e-3, max_groups_contributed = 4", BY_TOWN);
    let tables = tables(&folder, &sql).0;
    let names: Vec<&str> =
        tables.iter().map(|(_, comparison)| comparison.names[1].as_str()).collect();
    assert_eq!(
        names,
        [
            "the table without the heaviest unit",
            "the table without unit number 2 by weight",
            "the table without the unit with the smallest groups"
        ]
    );
    let ([whole, without], _) = &tables[0];
    assert_eq!(by_town(whole)["own"], (1, vec![1, 4]));
    std::fs::write(folder.path().join("visits.csv"), data(Some(HEAVY))).unwrap();
    let ([other, _], _) = &super::tables(&folder, &sql).0[0];
    assert_eq!(by_town(without), by_town(other));
    assert!(!by_town(without).contains_key("own"));
    // A unit alone in two towns is more alone than one alone in one town and with others in three.
    let ([_, alone], _) = &tables[2];
    assert!(!by_town(alone).contains_key("far") && by_town(alone).contains_key("own"));
}

#[test]
fn replaced_units_are_as_unlike_as_can_be() {
    let folder = folder();
    for (table, one) in [("exchanged", "unit"), ("exchanged_rows", "row")] {
        let sql = sql("epsilon = 1", &format!("SUM(days) AS d FROM {table}"));
        let ([first, second], comparison) = tables(&folder, &sql).0.swap_remove(0);
        assert_eq!(
            comparison.names,
            [
                format!("the table without the heaviest {one}"),
                format!("the table without the {one} that adds the least")
            ]
        );
        // 4 days of the one, and what the least is: -2 of a person, -1 of a row.
        let least = if one == "unit" { -2 } else { -1 };
        let sum = |table: &ComparedTable| table.counted.measured[0].sums().unwrap()[0];
        assert_eq!(sum(&second) - sum(&first), 4 - least);
    }
}

#[test]
fn a_row_is_taken_out_of_its_group() {
    let folder = folder();
    let by_town = |t: &ComparedTable| by_town(t);
    let sql = sql(
        "epsilon = 1, delta = 1e-3",
        "town, COUNT(*) AS n, SUM(days) AS d FROM rows GROUP BY town",
    );
    let tables = tables(&folder, &sql).0;
    let ([whole, without], _) = &tables[0];
    let (whole, without) = (by_town(whole), by_town(without));
    let changed: Vec<&String> =
        whole.keys().filter(|town| whole.get(*town) != without.get(*town)).collect();
    assert_eq!(changed.len(), 1);
    // Its 9 days count as 4.
    let (units, sums) = &whole[changed[0]];
    let left = without.get(changed[0]).cloned().unwrap_or((0, vec![0, 0]));
    assert_eq!(left, (units - 1, vec![sums[0] - 1, sums[1] - 4]));
    assert!(left.0 > 0 || !without.contains_key(changed[0]));
}

#[test]
fn the_bound_is_nearly_reached() {
    let folder = folder();
    let count = "COUNT(DISTINCT person) AS n FROM visits";
    let report = audit(&folder, &sql("epsilon = 1", count), 100_000, 1);
    assert!(!report.violation);
    assert!(report.epsilon_at_least > 0.9, "{report:#?}");
    // All that a unit may add: 4 days in 2 groups.
    let sum = "shop, SUM(days) AS d FROM visits GROUP BY shop";
    let report = audit(&folder, &sql("epsilon = 1, max_groups_contributed = 1", sum), 100_000, 2);
    assert!(!report.violation && report.epsilon_at_least > 0.9, "{report:#?}");
    // A Gaussian shows its delta as well: the analytic epsilon is 4.38 at 1e-5, 0.93 at 0.15.
    let rho = AuditOptions { delta: Some("0.15".parse().unwrap()), ..options(100_000) };
    let report = folder
        .session()
        .audit_with(&sql("rho = 0.5", count), &rho, &Progress::default(), &mut generators(3))
        .wait()
        .unwrap();
    assert!(!report.violation, "{report:#?}");
    assert!(report.epsilon_at_least > 0.8 * report.promised.epsilon, "{report:#?}");
}

#[test]
fn a_unit_that_is_alone_shows_delta() {
    let folder = folder();
    let ask = "epsilon = 1, delta = 0.05, max_groups_contributed = 1, \
               group_selection_strategy = OPTIMAL";
    let report = audit(&folder, &sql(ask, "town FROM visits GROUP BY town"), 40_000, 4);
    assert!(!report.violation, "{report:#?}");
    // The event of a group that appears for one table only: nearly delta, never above it.
    let strict = AuditOptions { units: 1, ..options(40_000) };
    let mut generators = generators(5);
    let tables = tables(&folder, &sql(ask, "town FROM visits GROUP BY town"));
    let quote = quote(&folder, &sql(ask, "town FROM visits GROUP BY town"));
    let promised = EpsilonAt { delta: 0.03, epsilon: 1.0 };
    let bar = Bar { promised, more: 0.03, options: &strict };
    let comparisons =
        audited(&quote, &[], tables, &bar, &mut generators, &ReadProgress::default()).unwrap();
    let most = comparisons.iter().map(|c| c.epsilon_at_least).fold(0.0, f64::max);
    // At a delta below the promised one, the promise does not hold, and that is found.
    assert!(most > 1.0, "{comparisons:#?}");
}

/// Each passes except for a probability of 1e-6.
#[test]
fn every_strategy_passes() {
    let folder = folder();
    let strategies = [
        "OPTIMAL",
        "TRUNCATED_GEOMETRIC",
        "LAPLACE_THRESHOLD",
        "GAUSSIAN_THRESHOLD",
        "WEIGHTED_GAUSSIAN",
        "SIPS",
        "SINGLE_VOTE",
        "MEASURED_COUNT",
    ];
    let mut seed = 100;
    for strategy in strategies {
        let mut most = 0.0f64;
        for (loss, table) in [
            ("epsilon = 2, delta = 0.02, max_groups_contributed = 4", "visits"),
            ("rho = 0.5, delta = 0.01, max_groups_contributed = 3", "visits"),
            ("epsilon = 2, delta = 0.02, max_groups_contributed = 2", "exchanged"),
            ("epsilon = 2, delta = 0.02", "rows"),
            ("rho = 0.5, delta = 0.02", "exchanged_rows"),
        ] {
            seed += 1;
            let ask = format!("{loss}, group_selection_strategy = {strategy}");
            let select = format!("town, SUM(days) AS d FROM {table} GROUP BY town");
            let select = match table {
                // It needs a count of rows.
                _ if strategy == "MEASURED_COUNT" => select.replace("SUM", "COUNT(*) AS n, SUM"),
                "visits" => select.replace("SUM", "COUNT(DISTINCT person) AS n, SUM"),
                _ => select,
            };
            let ask = match (strategy, table) {
                ("MEASURED_COUNT", "visits" | "exchanged") => {
                    format!("{ask}, max_rows_per_group = 3")
                }
                _ => ask,
            };
            let report = audit(&folder, &sql(&ask, &select), 5_000, seed);
            let what = format!("{strategy} {loss} {table}: {report:#?}");
            assert!(!report.violation, "{what}");
            assert!(!report.comparisons.is_empty(), "{what}");
            most = most.max(report.epsilon_at_least);
        }
        // The sums of the heaviest unit are seen, whatever is shown.
        assert!(most > 0.2, "{strategy}: {most}");
    }
}

#[test]
fn groups_that_always_appear_pass() {
    let folder = folder();
    for (seed, loss, table) in [
        (11, "epsilon = 1", "visits"),
        (12, "rho = 0.2", "visits"),
        (13, "epsilon = 1", "exchanged"),
        (14, "epsilon = 1", "rows"),
        (15, "rho = 0.2", "exchanged_rows"),
    ] {
        let select = format!("SUM(days) AS d, COUNT(days) AS n FROM {table}");
        let ask = match table {
            "visits" | "exchanged" => format!("{loss}, max_rows_per_group = 3"),
            _ => loss.to_owned(),
        };
        let report = audit(&folder, &sql(&ask, &select), 20_000, seed);
        assert!(!report.violation, "{report:#?}");
        assert!(report.epsilon_at_least > 0.15, "{table}: {report:#?}");
    }
}

/// Deciles that are drawn together, in one group and in several, under every relation; and what
/// distinguishes the tables is seen.
#[test]
fn joint_quantiles_pass() {
    let folder = folder();
    for (seed, loss, table, more, least) in [
        (151, "epsilon = 4", "visits", "", 0.2),
        (152, "rho = 1", "visits", "shop, ", 0.03),
        (153, "epsilon = 4", "exchanged", "", 0.2),
        (154, "epsilon = 4", "rows", "", 0.4),
        (155, "rho = 1", "exchanged_rows", "", 0.4),
    ] {
        let by = more.trim_end_matches(", ");
        let group = if by.is_empty() { String::new() } else { format!(" GROUP BY {by}") };
        let of = |p: &str| format!("PERCENTILE_CONT({SPREAD}, {p})");
        let all = ["0.1", "0.3", "0.5", "0.7", "0.9"].map(of).join(", ");
        let select = format!("{more}{all} FROM {table} WHERE person < 150{group}");
        let ask = match table {
            "visits" | "exchanged" => {
                format!("{loss}, max_rows_per_group = 2, max_groups_contributed = 2")
            }
            _ => loss.to_owned(),
        };
        let report = audit(&folder, &sql(&ask, &select), 20_000, seed);
        assert!(!report.violation, "{report:#?}");
        assert!(report.epsilon_at_least > least, "{table} {loss}: {report:#?}");
    }
}

/// Where only a quantile is requested, whoever has the largest values is the heaviest.
#[test]
fn units_are_weighed_by_the_values_of_quantiles() {
    let folder = folder();
    let options = "epsilon = 1, max_rows_per_group = 2, max_groups_contributed = 1";
    let sql = sql(options, &format!("MEDIAN({SPREAD}) AS m FROM visits WHERE person < 150"));
    let ([whole, without], _) = &tables(&folder, &sql).0[0];
    let largest = |table: &ComparedTable| {
        let values = table.counted.measured[0].values().unwrap();
        (values.of(0).last().copied(), values.of(0).len())
    };
    assert_eq!((largest(whole), largest(without)), ((Some(100), 122), (Some(59), 120)));
}

/// Medians of rows and of units, in one group and in several, under every relation; and what
/// distinguishes the tables is seen.
#[test]
fn quantiles_pass() {
    let folder = folder();
    for (seed, loss, table, more, least) in [
        (51, "epsilon = 2", "visits", "", 0.25),
        (52, "rho = 0.5", "visits", "", 0.4),
        (53, "epsilon = 2", "exchanged", "", 0.2),
        (54, "epsilon = 2", "rows", "", 0.4),
        (55, "rho = 0.5", "exchanged_rows", "", 0.6),
        (56, "epsilon = 2", "visits", "shop, ", 0.03),
        (57, "epsilon = 8, delta = 0.001", "rows", "town, ", 1.5),
    ] {
        let by = more.trim_end_matches(", ");
        let group = if by.is_empty() { String::new() } else { format!(" GROUP BY {by}") };
        let select = format!(
            "{more}MEDIAN({SPREAD}) AS m, PERCENTILE_CONT({SPREAD}, 0.9) AS h FROM {table} \
             WHERE person < 150{group}"
        );
        let ask = match table {
            "visits" | "exchanged" => {
                format!("{loss}, max_rows_per_group = 2, max_groups_contributed = 2")
            }
            _ => loss.to_owned(),
        };
        let report = audit(&folder, &sql(&ask, &select), 20_000, seed);
        assert!(!report.violation, "{report:#?}");
        assert!(report.epsilon_at_least > least, "{table} {loss}: {report:#?}");
    }
}

#[test]
fn a_table_without_units_is_compared_with_nothing() {
    let folder = folder();
    let select = "COUNT(DISTINCT person) AS n FROM visits WHERE days > 1000";
    let report = audit(&folder, &sql("epsilon = 1", select), 1_000, 6);
    assert!(report.comparisons.is_empty() && !report.violation);
    assert_eq!(report.epsilon_at_least, 0.0);
}

#[test]
fn options_have_ranges() {
    let folder = folder();
    let good = options(1_000);
    let delta = Some("0.1".parse().unwrap());
    for wrong in [
        AuditOptions { runs: 999, ..good },
        AuditOptions { runs: 100_000_001, ..good },
        AuditOptions { units: 0, ..good },
        AuditOptions { confidence: f64::NAN, ..good },
        AuditOptions { confidence: 1.0, ..good },
        AuditOptions { delta, ..good },
    ] {
        let sql = sql("epsilon = 1", "COUNT(DISTINCT person) AS n FROM visits");
        let refused = folder.session().audit(&sql, &wrong, &Progress::default()).wait();
        assert!(matches!(refused, Err(EngineError::Refused(_))), "{wrong:?}");
    }
    assert!(!folder.session().ledger_path().exists());
}
