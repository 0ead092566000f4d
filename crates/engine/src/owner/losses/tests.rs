use hushtable_mechanisms::RecordMechanism;
use hushtable_privacy::LossCurve;
use hushtable_quote::{MechanismComparison, SizeQuantile};
use hushtable_testkit::near;
use proptest::prelude::*;

use super::*;
use crate::tests::{Fixture, Wait};

const CONTRACT: &str = r#"
[tables.firms]
path = "firms.csv"
privacy_unit = "row"
group_selection_by_pieces = true
owner = "firm"
[tables.firms.columns]
id = { type = "int" }
firm = { type = "string" }
county = { type = "string" }
sector = { type = "string" }
pay = { type = "int", split = { by = "sector", default = 100, values = { mining = 1000 } } }
jobs = { type = "int", split = 5 }
age = { type = "int", bounds = [0, 10] }
[tables.firms.budgets]
ana = { rho = 100, delta = 1e-3 }
"#;

const DATA: &str = "\
id,firm,county,sector,pay,jobs,age
1,a,A,mining,3000,1,10
2,a,A,farms,90,4,5
3,b,B,farms,-250,-11,
4,,B,,50,1,20
5,,B,farms,,3,0
6,b,C,mining,1000,5,10
";

fn folder() -> Fixture {
    Fixture::new(CONTRACT, &[("firms.csv", DATA)])
}

/// Half of the budget for choosing groups.
const EVEN: &str = "group_selection_weight = 1";

fn report(rest: &str, by_group: bool) -> LossReport {
    let sql =
        format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6, {EVEN}) {rest}");
    let options = LossOptions { by_group, by_mechanism: false };
    folder().session().losses(&sql, options, &Progress::default()).wait().unwrap()
}

#[test]
fn every_record_loses_what_the_function_says() {
    // The noise of each sector is that of its own threshold.
    let rest = "sector, id, SUM(pay) AS p FROM firms WHERE county <> 'C' GROUP BY sector, id";
    let report = report(rest, true);
    assert_eq!((report.records, report.rho.to_f64()), (5, 1.0));
    // Half of rho is for choosing groups.
    let groups = report.groups.unwrap();
    for (id, ratio, pieces) in
        [("1", 3.0, 3.0), ("2", 0.9, 1.0), ("3", 2.5, 3.0), ("4", 0.5, 1.0), ("5", 0.0, 1.0)]
    {
        let entry = groups.iter().find(|g| g.keys[1].as_deref() == Some(id)).unwrap();
        let Losses { by_pieces, policy, realised } = &entry.losses;
        assert!(near(policy.largest, 0.5 + 0.5 * ratio * ratio), "{id} {policy:?}");
        assert!(near(by_pieces.largest, 0.5 + 0.5 * pieces * pieces), "{id} {by_pieces:?}");
        assert!(near(realised.largest, policy.largest), "{id} {realised:?}");
        assert_eq!(entry.records, 1);
    }
    // The largest first; NULL is a group.
    assert_eq!(groups[0].keys, [Some("mining".to_owned()), Some("1".to_owned())]);
    assert!(groups.iter().any(|g| g.keys[0].is_none()));
    assert_eq!(report.losses.policy.above_rho, 2);
    assert_eq!(report.losses.policy.share_above_rho, 0.4);
    // Owners: a has records 1 and 2, b has 3, and 4 and 5 are their own.
    let owners = report.owners.unwrap();
    assert_eq!((owners.owners, owners.column.as_str()), (4, "firm"));
    let roots = (0.5 + 0.5 * 9.0f64).sqrt() + (0.5 + 0.5 * 0.81f64).sqrt();
    assert!(near(owners.losses.policy.largest, roots * roots));
}

#[test]
fn sums_over_classes_have_the_noise_of_the_largest() {
    let report = report("SUM(pay) AS p, SUM(jobs) AS j, SUM(age) AS a FROM firms", true);
    let [all] = <[GroupLosses; 1]>::try_from(report.groups.unwrap()).unwrap();
    assert!(all.keys.is_empty() && all.records == 6);
    // Record 1: pay 3000 at 1000, jobs 1 at 5; record 3: pay 250 at 1000 in 3 pieces, jobs 11 at 5.
    let third = 1.0 / 3.0;
    let near = |got: f64, want: f64| (got / want - 1.0).abs() < 1e-9;
    assert!(near(report.losses.policy.largest, third * (9.0 + 0.04 + 1.0)));
    assert!(near(report.losses.by_pieces.largest, third * (9.0 + 9.0 + 1.0)));
    // The share that ages of less than 10 leave unused is not lost: record 5 has none of it.
    let realised = report.losses.realised.curve[0].0;
    assert!((realised / (third * 0.36) - 1.0).abs() < 1e-3, "{realised}");
}

/// A median costs every record its rho; the losses by the sums beside it follow each record.
#[test]
fn medians_cost_every_record_the_same() {
    let report = report("MEDIAN(pay) AS m, SUM(jobs) AS j, MEDIAN(age) AS a FROM firms", true);
    let third = 1.0 / 3.0;
    let close = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-9, "{got} {want}");
    // Record 3 has 11 jobs, in 3 pieces at 5.
    close(report.losses.policy.largest, third * (2.0 + 4.84));
    close(report.losses.realised.largest, third * (2.0 + 4.84));
    close(report.losses.by_pieces.largest, third * (2.0 + 9.0));
}

#[test]
fn a_fit_is_as_precise_as_it_is_to_be() {
    let options = FitOptions { target: 0.1, at: 0.5, probability: 0.95, least_records: 1 };
    let fit = |rest: &str, options: &FitOptions| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6, {EVEN}) {rest}"
        );
        folder().session().fit(&sql, options, &Progress::default()).wait()
    };
    let rest = "county, SUM(jobs) AS j FROM firms GROUP BY county";
    let report = fit(rest, &options).unwrap();
    // Counties have 5, -7 and 5 jobs: half of them, rounded up, is two.
    let [jobs] = <[FittedNoise; 1]>::try_from(report.measurements).unwrap();
    let sigma = 0.1 * 5.0 / 1.959_963_984_540_054;
    let query_sigma = 5.0;
    assert!((jobs.noise_times * query_sigma / sigma - 1.0).abs() < 1e-9, "{jobs:?}");
    assert!((jobs.rho.to_f64() * 2.0 * sigma * sigma / 25.0 - 1.0).abs() < 1e-9, "{jobs:?}");
    // The threshold that gives the same noise at the rho of 1/2 that it has.
    assert!((jobs.split.unwrap() - sigma).abs() < 1e-9);
    assert_eq!(report.rho_of_selection.unwrap().to_f64(), 0.5);
    assert!(near(report.rho.to_f64(), 0.5 + jobs.rho.to_f64()));
    // A record of 11 jobs.
    let want = 0.5 + 121.0 / (2.0 * sigma * sigma);
    assert!((report.losses.policy.largest / want - 1.0).abs() < 1e-9, "{want} {:?}", report.losses);
    // All groups of three records or more.
    let strict = FitOptions { at: 1.0, least_records: 3, ..options };
    let report = fit(rest, &strict).unwrap();
    assert_eq!(report.groups, 1);
    let times = report.measurements[0].noise_times;
    assert!((times * query_sigma * 1.959_963_984_540_054 / 0.7 - 1.0).abs() < 1e-9);
    // Each sector by its own threshold: farms have -160 at 100, mining 4000 at 1000, NULL 50 at
    // 100.
    let sectors = "sector, SUM(pay) AS p FROM firms GROUP BY sector";
    let all = FitOptions { at: 1.0, ..options };
    let times = fit(sectors, &all).unwrap().measurements[0].noise_times;
    assert!((times - 0.1 * 0.5 / 1.959_963_984_540_054).abs() < 1e-9, "{times}");
    // Public groups without records do not count, and NULL is no problem.
    let refused = [
        fit("SUM(jobs) AS j FROM firms WHERE id > 6", &options),
        fit(rest, &FitOptions { least_records: 4, ..options }),
        fit("county, COUNT(*) AS n FROM firms GROUP BY county", &options),
        fit("id, SUM(pay) AS p FROM firms GROUP BY id", &all),
    ];
    let refused = refused.map(|r| r.unwrap_err().to_string());
    insta::assert_snapshot!(refused.join("\n"));
}

/// Each mechanism by its own function: a record of 11 jobs, the largest, at a threshold of 5.
#[test]
fn mechanisms_are_compared_on_the_records() {
    let options = LossOptions { by_group: false, by_mechanism: true };
    let ask = |rho: &str| {
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = {rho}) SUM(jobs) AS j FROM firms"
        );
        let report = folder().session().losses(&sql, options, &Progress::default()).wait().unwrap();
        report.mechanisms.unwrap()
    };
    let all = ask("0.5");
    let rho = "0.5".parse().unwrap();
    let want = [
        LossCurve::gaussian(rho, 5.0).unwrap(),
        LossCurve::log(rho, 5.0, 5.0).unwrap(),
        LossCurve::sqrt(rho, 5.0, 5.0).unwrap(),
        LossCurve::exponential_polylogarithmic(rho, 5.0, 1.0, 2.718_281_828_459_045_5).unwrap(),
    ];
    let want = want.map(|growth| growth.loss(11.0));
    assert_eq!(all.len(), 4);
    for (one, want) in all.iter().zip(want) {
        assert!((one.policy.largest / want - 1.0).abs() < 1e-6, "{one:?} {want}");
    }
    // Where one cannot be drawn, it is left out: LOG at a small rho.
    let few: Vec<RecordMechanism> = ask("0.005").iter().map(|one| one.mechanism).collect();
    assert!(!few.contains(&RecordMechanism::Log) && few.contains(&RecordMechanism::Gaussian));
}

/// On the records: as many lose no more than the same by each mechanism, or groups in the middle
/// have the same standard error; and the report agrees with mechanisms built by hand.
#[test]
fn mechanisms_are_compared_at_equal_loss_and_at_equal_noise() {
    // 100 records, of 1 to 100 jobs, in five counties.
    let row = |jobs: u32| format!("{jobs},,C{},farms,1,{jobs},1\n", jobs % 5);
    let rows: String = (1..=100).map(row).collect();
    let data = format!("id,firm,county,sector,pay,jobs,age\n{rows}");
    let folder = Fixture::new(CONTRACT, &[("firms.csv", &data)]);
    let sql = format!(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5, delta = 1e-5, {EVEN}) county, \
         SUM(jobs, mechanism => 'SQRT') AS j FROM firms GROUP BY county"
    );
    let options = LossOptions { by_group: false, by_mechanism: true };
    let report = folder.session().losses(&sql, options, &Progress::default()).wait().unwrap();
    let [compared] = &report.compared.unwrap()[..] else { panic!("one sum") };
    let sizes = |all: &[SizeQuantile]| all.iter().map(|q| q.size).collect::<Vec<_>>();
    assert_eq!(sizes(&compared.values), [50.0, 90.0, 95.0, 99.0, 100.0]);
    // 1010, 970 and so on to 1050: each the sum of twenty numbers five apart.
    assert_eq!(sizes(&compared.sums), [970.0, 1010.0, 1050.0]);
    assert_eq!((compared.same_loss.size, compared.same_noise.size), (95.0, 1010.0));
    let sqrt = |all: &[MechanismComparison]| {
        all.iter().find(|one| one.mechanism == RecordMechanism::Sqrt).cloned().unwrap()
    };
    // Of rho = 0.5 half is for choosing groups. sqrt(1 + 95/5) - 1 over sqrt(2) - 1, squared, times
    // 0.25.
    let lost = 0.25 * ((20f64.sqrt() - 1.0) / (2f64.sqrt() - 1.0)).powi(2);
    for one in &compared.at_equal_loss {
        assert!((one.losses[2] / lost - 1.0).abs() < 1e-6, "{one:?} {lost}");
    }
    let error = sqrt(&compared.at_equal_loss).standard_errors[1];
    for one in &compared.at_equal_noise {
        assert!((one.standard_errors[1] / error - 1.0).abs() < 1e-6, "{one:?} {error}");
    }
    // The query's own is the same in both, and loses 0.25 at the threshold of 5.
    let noise = sqrt(&compared.at_equal_noise);
    for (a, b) in noise.losses.iter().zip(&sqrt(&compared.at_equal_loss).losses) {
        assert!((a / b - 1.0).abs() < 1e-6);
    }
    // Where 95 % of the values are zero, there is no loss to compare at.
    let zero = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.5) SUM(jobs) AS j FROM firms \
                WHERE jobs = 1000";
    let report = folder.session().losses(zero, options, &Progress::default()).wait().unwrap();
    assert!(report.compared.unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Policy >= realised for every record, and pieces >= policy.
    #[test]
    fn realised_is_never_above_the_policy(
        rows in proptest::collection::vec((-5000i64..5000, -60i64..60, -5i64..20, 0u8..3), 1..12),
        rest in prop_oneof![
            Just("sector, id, SUM(pay) AS p, SUM(age) AS a, COUNT(*) AS n FROM firms \
                  GROUP BY sector, id"),
            Just("id, SUM(pay) AS p, AVG(jobs) AS j FROM firms GROUP BY id"),
            Just("id, SUM(jobs) AS p, SUM(age) AS a FROM firms WHERE age > 0 GROUP BY id"),
        ],
        by in prop_oneof![Just("RECORDS"), Just("PIECES")],
    ) {
        let mut data = "id,firm,county,sector,pay,jobs,age\n".to_owned();
        for (id, (pay, jobs, age, sector)) in rows.iter().enumerate() {
            let sector = ["mining", "farms", ""][usize::from(*sector)];
            data += &format!("{id},f,A,{sector},{pay},{jobs},{age}\n");
        }
        let folder = Fixture::new(CONTRACT, &[("firms.csv", &data)]);
        let strategy = "group_selection_strategy = GAUSSIAN_THRESHOLD";
        let sql = format!(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1, delta = 1e-6, {strategy}, \
             group_selection_by = {by}) {rest}"
        );
        let options = LossOptions { by_group: true, by_mechanism: false };
        let report = folder.session().losses(&sql, options, &Progress::default()).wait().unwrap();
        for group in report.groups.unwrap() {
            let Losses { by_pieces, policy, realised } = group.losses;
            prop_assert_eq!(group.records, 1);
            prop_assert!(realised.largest <= policy.largest);
            prop_assert!(policy.largest <= by_pieces.largest);
            prop_assert!(realised.largest > 0.0);
        }
    }
}
