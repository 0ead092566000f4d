//! Broken mechanisms, each of which must be caught, beside the true ones, which must not.

use hushtable_mechanisms::TruncatedGeometric;
use hushtable_noise::Law;

use super::pair::RunOutput;
use super::*;

/// The largest bound on epsilon at `delta`, of tables that were read for one query when the noise
/// is drawn for another.
fn bound(folder: &Fixture, read: &str, drawn: &str, delta: f64, runs: u64, seed: u64) -> f64 {
    let options = options(runs);
    let promised = EpsilonAt { delta, epsilon: 0.0 };
    let bar = Bar { promised, more: delta, options: &options };
    let (tables, quote) = (tables(folder, read), quote(folder, drawn));
    let names = vec!["x".to_owned(); quote.noise().len()];
    let progress = ReadProgress::default();
    let comparisons =
        audited(&quote, &names, tables, &bar, &mut generators(seed), &progress).unwrap();
    let most = comparisons.iter().map(|c| c.epsilon_at_least).fold(0.0, f64::max);
    println!("epsilon is at least {most}: {comparisons:?}");
    most
}

#[test]
fn half_the_noise_is_caught() {
    let folder = folder();
    let ask = |loss: &str| sql(loss, "COUNT(DISTINCT person) AS n FROM visits");
    let promised = ask("epsilon = 1");
    assert!(bound(&folder, &promised, &promised, 0.0, 40_000, 21) <= 1.0);
    // Twice the epsilon is half the scale.
    assert!(bound(&folder, &promised, &ask("epsilon = 2"), 0.0, 40_000, 22) > 1.5);
    // Four times the rho is half of sigma.
    let (promised, broken) = (ask("rho = 0.1"), ask("rho = 0.4"));
    let at = EpsilonAt::promised(&quote(&folder, &promised), 0.01);
    assert!(bound(&folder, &promised, &promised, at.delta, 40_000, 23) <= at.epsilon);
    assert!(bound(&folder, &promised, &broken, at.delta, 40_000, 24) > 1.1 * at.epsilon);
}

/// Noise for one step less than what a unit may add.
#[test]
fn sensitivity_off_by_one_is_caught() {
    let folder = folder();
    let ask = |high: u32| {
        let options = format!("epsilon = 1, max_rows_per_group = {high}");
        sql(&options, "COUNT(*) AS n FROM visits")
    };
    assert!(bound(&folder, &ask(3), &ask(3), 0.0, 40_000, 31) <= 1.0);
    assert!(bound(&folder, &ask(3), &ask(2), 0.0, 40_000, 32) > 1.2);
}

/// A quantile at a multiple of what was promised, of more rows of a unit than it is for, and for
/// one unit more or less where one is exchanged.
#[test]
fn broken_quantiles_are_caught() {
    let folder = folder();
    let median =
        |options: &str, table: &str| sql(options, &format!("MEDIAN({SPREAD}) AS p FROM {table}"));
    let promised = median("epsilon = 1", "rows");
    assert!(bound(&folder, &promised, &promised, 0.0, 40_000, 61) <= 1.0);
    assert!(bound(&folder, &promised, &median("epsilon = 4", "rows"), 0.0, 40_000, 62) > 1.2);
    let rows = |rows: u32| median(&format!("epsilon = 1, max_rows_per_group = {rows}"), "visits");
    assert!(bound(&folder, &rows(4), &rows(4), 0.0, 40_000, 63) <= 1.0);
    assert!(bound(&folder, &rows(4), &rows(1), 0.0, 40_000, 64) > 1.0);
}

/// Quantiles that are drawn together, at a multiple of what was promised.
#[test]
fn broken_joint_quantiles_are_caught() {
    let folder = folder();
    let quartiles = |options: &str| {
        let of = |p: &str| format!("PERCENTILE_CONT({SPREAD}, {p})");
        let all = ["0.25", "0.5", "0.75"].map(of).join(", ");
        sql(options, &format!("{all} FROM rows"))
    };
    let promised = quartiles("epsilon = 1");
    assert!(bound(&folder, &promised, &promised, 0.0, 40_000, 161) <= 1.0);
    assert!(bound(&folder, &promised, &quartiles("epsilon = 6"), 0.0, 40_000, 162) > 1.2);
}

/// A sum whose rows are bounded one by one, of more rows of a unit than its noise is for, or of
/// larger ones.
#[test]
fn broken_sums_of_rows_are_caught() {
    let folder = folder();
    let ask = |rows: u32, most: u32, table: &str| {
        sql(
            &format!("epsilon = 1, max_rows_per_group = {rows}"),
            &format!(
                "SUM(days, contribution_bounds_per_row => (-{most}, {most})) AS s FROM {table}"
            ),
        )
    };
    let visits = |rows: u32, most: u32| ask(rows, most, "visits");
    assert!(bound(&folder, &visits(4, 4), &visits(4, 4), 0.0, 40_000, 71) <= 1.0);
    assert!(bound(&folder, &visits(4, 4), &visits(3, 4), 0.0, 40_000, 72) > 1.1);
    assert!(bound(&folder, &visits(4, 4), &visits(4, 3), 0.0, 40_000, 73) > 1.1);
    // The sum and the count of a mean, each with half of the budget.
    let mean = |rows: u32| {
        let options = format!("epsilon = 1, max_rows_per_group = {rows}");
        sql(&options, "AVG(days, contribution_bounds_per_row => (-4, 4)) AS a FROM visits")
    };
    assert!(bound(&folder, &mean(4), &mean(4), 0.0, 40_000, 74) <= 1.0);
    assert!(bound(&folder, &mean(4), &mean(2), 0.0, 40_000, 75) > 1.2);
    let exchanged = ask(4, 4, "exchanged");
    assert!(bound(&folder, &exchanged, &exchanged, 0.0, 40_000, 76) <= 1.0);
    // One adds 16 and another -2, and the noise is for 16.
    assert!(bound(&folder, &exchanged, &visits(4, 4), 0.0, 40_000, 77) > 1.0);
}

/// Noise for one unit more or less, where one is exchanged for another.
#[test]
fn a_wrong_relation_is_caught() {
    let folder = folder();
    let ask = |table: &str| sql("epsilon = 1", &format!("SUM(days) AS n FROM {table}"));
    let (promised, broken) = (ask("exchanged"), ask("visits"));
    assert!(bound(&folder, &promised, &promised, 0.0, 40_000, 33) <= 1.0);
    assert!(bound(&folder, &promised, &broken, 0.0, 40_000, 34) > 1.1);
}

/// Twice as many groups of a unit as the noise is for.
#[test]
fn a_limit_of_groups_that_is_not_kept_is_caught() {
    let folder = folder();
    let ask = |groups: u32, loss: &str| {
        let options = format!("{loss}, max_groups_contributed = {groups}, max_rows_per_group = 1");
        sql(&options, "shop, COUNT(*) AS n, SUM(days) AS d FROM visits GROUP BY shop")
    };
    let laplace = "epsilon = 1";
    assert!(bound(&folder, &ask(1, laplace), &ask(1, laplace), 0.0, 40_000, 41) <= 1.0);
    assert!(bound(&folder, &ask(2, laplace), &ask(1, laplace), 0.0, 40_000, 42) > 1.5);
    let gaussian = "rho = 0.2";
    let at = EpsilonAt::promised(&quote(&folder, &ask(1, gaussian)), 0.01);
    let correct = bound(&folder, &ask(1, gaussian), &ask(1, gaussian), at.delta, 40_000, 43);
    assert!(correct <= at.epsilon);
    let broken = bound(&folder, &ask(2, gaussian), &ask(1, gaussian), at.delta, 100_000, 44);
    assert!(broken > at.epsilon, "{broken} {at:?}");
}

/// A threshold that releases noisy counts of k, and not only those above it.
#[test]
fn a_threshold_off_by_one_is_caught() {
    let folder = folder();
    let ask = sql(
        "epsilon = 1, delta = 0.02, max_groups_contributed = 1, \
         group_selection_strategy = TRUNCATED_GEOMETRIC",
        "town, COUNT(DISTINCT person) AS n FROM visits GROUP BY town",
    );
    let quote = quote(&folder, &ask);
    let mechanism = TruncatedGeometric::new("1".parse().unwrap(), "0.02".parse().unwrap()).unwrap();
    let threshold = i128::from(mechanism.threshold());
    assert_eq!(quote.selection().and_then(|s| s.threshold()), Some(threshold as f64 + 1.0));
    for (least, seed) in [(threshold + 1, 51), (threshold, 52)] {
        let mut most = 0.0f64;
        for ([one, other], _) in &tables(&folder, &ask).0 {
            let pair = TablePair::new(&quote, [one, other]).unwrap();
            let draw = |side: usize, generator: &mut Generator| {
                let mut output = RunOutput { groups: Vec::new(), sums: vec![Vec::new()] };
                for (at, group) in pair.differing.iter().enumerate() {
                    // The one measurement counts units.
                    let units = group.sums[0][side] as u64;
                    let noisy = i128::from(units) + mechanism.law().sample(generator)?;
                    if units > 0 && noisy >= least {
                        output.groups.push(at);
                        output.sums[0].push(noisy);
                    }
                }
                Ok(output)
            };
            let trial = AuditTrial {
                samplers: [&|g| draw(0, g), &|g| draw(1, g)],
                runs: 40_000,
                delta: 0.02,
                error: 1e-6,
            };
            let mut statistics = Statistics::new(&quote, pair.differing.clone());
            let progress = ReadProgress::default();
            let found = search(&trial, &mut statistics, &mut generators(seed), &progress).unwrap();
            println!("from {least}: {found:?}");
            most = most.max(found.epsilon);
        }
        assert_eq!(most > 1.0, least == threshold, "{least}: {most}");
    }
}
