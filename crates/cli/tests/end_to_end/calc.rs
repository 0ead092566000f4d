//! `calc`.

use std::path::Path;

use crate::support::{Run, command_in};

fn calc(line: &str) -> Run {
    let arguments: Vec<&str> = ["calc"].into_iter().chain(line.split_whitespace()).collect();
    Run::of(command_in(Path::new("."), &arguments).output().unwrap())
}

fn json(line: &str) -> serde_json::Value {
    let text = calc(&format!("{line} --format json")).success();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn vectors(name: &str) -> serde_json::Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn number(value: &serde_json::Value) -> f64 {
    value.as_str().unwrap().parse().unwrap()
}

const RIGHT: [&str; 34] = [
    "selection --epsilon 1 --delta 1e-5 --units 0,1,11,12,23",
    "selection --epsilon 1 --delta 1e-5 --units 1,11,12 --strategy truncated-geometric",
    "selection --epsilon 1 --delta 1e-5 --units 1,11,13 --strategy laplace",
    "selection --epsilon 1 --delta 1e-5 --units 1,20 --strategy gaussian --max-groups 3",
    "selection --epsilon 1 --delta 1e-5 --units 50 --max-groups 100",
    "convert --rho 0.5 --delta 1e-6",
    "convert --rho 0.5 --epsilon 5",
    "convert --epsilon 1 --delta 1e-6",
    "convert --rho 0 --epsilon 1",
    "convert --epsilon 1",
    "convert --rho 8",
    "noise --mechanism gaussian --sigma-squared 1 --epsilon 1",
    "noise --mechanism gaussian --sigma-squared 20 --sensitivity 1.5 --epsilon 1000",
    "noise --mechanism discrete-gaussian --sigma-squared 1 --epsilon 1",
    "noise --mechanism discrete-gaussian --sigma-squared 0.25 --sensitivity 2 --epsilon 3",
    "noise --mechanism discrete-laplace --scale 3.5 --sensitivity 2",
    "noise --mechanism discrete-laplace --scale 2 --values 1",
    "noise --mechanism discrete-laplace --scale 2 --values 20",
    "noise --mechanism discrete-gaussian --sigma-squared 100 --epsilon 1 --values 60",
    "noise --mechanism gaussian --sigma-squared 100 --epsilon 1 --values 1000000",
    "quantile --rho 0.125",
    "quantile --epsilon 1 --percentile 0.9 --max-groups 3 --max-rows 2 --points 100",
    "quantile --epsilon 1000 --points 1",
    "compose --event discrete-laplace:0.1x100 --delta 1e-6",
    "compose --event discrete-laplace:0.1x3 --delta 0",
    "compose --event bounded-range:0.1x100 --delta 1e-6",
    "compose --event bounded-range:10,100 --delta 1e-6",
    "compose --event gaussian:0.3x10 --epsilon 1",
    "compose --event discrete-gaussian:20 --epsilon 1",
    "compose --event discrete-gaussian:100,2x50 --delta 1e-6",
    "compose --event approx:0.1,1e-8x10 --epsilon 0.5",
    "compose --event approx:1,1e-6 --delta 1e-6",
    "compose --event zcdp:0.25x2 --delta 1e-6",
    "compose --event gaussian:0.5x4 --event discrete-laplace:0.1x20 --event approx:0.3,1e-8x2 \
     --event discrete-gaussian:50,2x4 --event zcdp:0.01,1e-9 --delta 1e-6",
];

#[test]
fn calc_texts() {
    let rendered: Vec<String> =
        RIGHT.iter().map(|line| format!("> {line}\n{}", calc(line).success())).collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn calc_json() {
    let rendered: Vec<String> = RIGHT
        .iter()
        .map(|line| format!("> {line}\n{}", calc(&format!("{line} --format json")).success()))
        .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn calc_refuses_wrong_values() {
    let rendered: Vec<String> = [
        "selection --epsilon 0 --delta 1e-5 --units 1",
        "selection --epsilon -1 --delta 1e-5 --units 1",
        "selection --epsilon 1 --delta 0 --units 1",
        "selection --epsilon 1 --delta 1 --units 1",
        "selection --epsilon 1 --delta x --units 1",
        "selection --epsilon 1 --delta 1e-5 --units 1,two",
        "selection --epsilon 1 --delta 1e-5 --units -3",
        "selection --epsilon 1 --delta 1e-5 --units 1 --max-groups 0",
        "selection --epsilon 1 --delta 1e-18 --units 1 --max-groups 3 --strategy optimal",
        "selection --epsilon 1 --delta 1e-18 --units 1 --max-groups 3 --strategy laplace",
        "convert --rho -1 --delta 1e-6",
        "convert --rho 0.5 --delta 0",
        "convert --rho 1000000 --delta 1e-6",
        "convert --rho 0.5 --epsilon 2000000",
        "convert --epsilon 1 --delta 0",
        "convert --epsilon 1 --delta 1e-19",
        "noise --mechanism gaussian --sigma-squared 0 --epsilon 1",
        "noise --mechanism gaussian --sigma-squared 1 --epsilon 1 --sensitivity 0",
        "noise --mechanism gaussian --sigma-squared inf --epsilon 1",
        "noise --mechanism gaussian --sigma-squared 1e20 --epsilon 1",
        "noise --mechanism discrete-gaussian --sigma-squared 0.001 --epsilon 1",
        "noise --mechanism discrete-gaussian --sigma-squared 2e12 --epsilon 1",
        "noise --mechanism discrete-gaussian --sigma-squared 1 --sensitivity 1.5 --epsilon 1",
        "noise --mechanism discrete-gaussian --sigma-squared 1 --epsilon nan",
        "noise --mechanism discrete-laplace --scale 0",
        "noise --mechanism discrete-laplace --scale 1e31",
        "noise --mechanism discrete-laplace --scale 1 --sensitivity -2",
        "noise --mechanism discrete-laplace --scale 1 --values 0",
        "quantile --rho 0",
        "compose --event bounded-range:1,0 --delta 1e-6",
        "compose --event bounded-range:1,2,3 --delta 1e-6",
        "quantile --epsilon -1",
        "quantile --epsilon 1e-12 --max-groups 10000 --max-rows 1000000",
        "quantile --rho 1 --percentile 1",
        "quantile --rho 1 --percentile 0.00001",
        "quantile --rho 1 --percentile median",
        "quantile --rho 1 --max-groups 0",
        "quantile --rho 1 --max-rows 1.5",
        "quantile --rho 1 --points 0",
        "quantile --rho 1 --points 2000000000000000000",
        "compose --event discrete-laplace:nan --delta 1e-6",
        "compose --event discrete-laplace:0 --delta 1e-6",
        "compose --event discrete-laplace:-0.1 --delta 1e-6",
        "compose --event gaussian:inf --delta 1e-6",
        "compose --event gaussian:0x3 --delta 1e-6",
        "compose --event gaussian:10001 --delta 1e-6",
        "compose --event discrete-gaussian:0.001 --delta 1e-6",
        "compose --event discrete-gaussian:nan --delta 1e-6",
        "compose --event discrete-gaussian:20,1.5 --delta 1e-6",
        "compose --event approx:0.1 --delta 1e-6",
        "compose --event approx:0.1,1 --delta 1e-6",
        "compose --event approx:0,0 --delta 1e-6",
        "compose --event approx:-1,1e-8 --delta 1e-6",
        "compose --event zcdp:0 --delta 1e-6",
        "compose --event zcdp:1,2,3 --delta 1e-6",
        "compose --event gaussian:0.5x0 --delta 1e-6",
        "compose --event gaussian:0.5x1.5 --delta 1e-6",
        "compose --event gaussian:0.5x --delta 1e-6",
        "compose --event gaussian:0.5x1000000001 --delta 1e-6",
        "compose --event gaussian:10000x2 --delta 1e-6",
        "compose --event zcdp:1x1000000000 --event zcdp:1 --delta 1e-6",
        "compose --event laplace:0.5 --delta 1e-6",
        "compose --event gaussian --delta 1e-6",
        "compose --event gaussian:0.5,1 --delta 1e-6",
        "compose --event gaussian:0.5 --delta 1",
        "compose --event gaussian:0.5 --delta -1",
        "compose --event gaussian:0.5 --delta 0",
        "compose --event gaussian:0.5 --epsilon nan",
        "compose --event gaussian:0.5 --epsilon -1",
        "compose --event approx:1,1e-6x2 --delta 1e-6",
    ]
    .iter()
    .map(|line| format!("> {line}\n{}", calc(line).refusal()))
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn calc_with_wrong_flags_is_wrong_usage() {
    let rendered: Vec<String> = [
        "selection --epsilon 1 --delta 1e-5",
        "selection --epsilon 1 --delta 1e-5 --units 1 --strategy best",
        "convert",
        "convert --delta 1e-6",
        "convert --rho 1 --epsilon 1 --delta 1e-6",
        "noise --mechanism gaussian --sigma-squared 1",
        "noise --mechanism discrete-gaussian --scale 1 --epsilon 1",
        "noise --mechanism discrete-laplace",
        "noise --mechanism discrete-laplace --scale 1 --epsilon 1",
        "compose --delta 1e-6",
        "compose --event gaussian:0.5",
        "compose --event gaussian:0.5 --delta 1e-6 --epsilon 1",
    ]
    .iter()
    .map(|line| {
        let run = calc(line);
        assert_eq!(run.code, Some(2), "{line}: {run:?}");
        assert!(run.stdout.is_empty(), "{run:?}");
        format!("> {line}\n{}", run.stderr)
    })
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

/// `laplace` is drawn on a lattice of 2^-30 units with a threshold rounded up to it, beside which
/// the vectors are of the continuous law.
#[test]
fn calc_selection_is_as_in_the_vectors() {
    let mut compared = 0;
    for case in vectors("mechanisms/tests/data/partition_selection.json").as_array().unwrap() {
        let (epsilon, delta) = (case["epsilon"].as_str().unwrap(), case["delta"].as_str().unwrap());
        let rows = case["keep"].as_array().unwrap();
        let units: Vec<String> = rows.iter().map(|row| row["n"].to_string()).collect();
        for (strategy, column, within) in [
            ("optimal", "optimal", 1e-11),
            ("truncated-geometric", "truncated_geometric", 1e-11),
            ("laplace", "laplace", 1e-9 + 4e-9 * epsilon.parse::<f64>().unwrap()),
        ] {
            let got = json(&format!(
                "selection --epsilon {epsilon} --delta {delta} --strategy {strategy} --units {}",
                units.join(",")
            ));
            assert_eq!(got["strategy"], strategy);
            assert_eq!(got["epsilon"].as_f64(), epsilon.parse().ok());
            assert_eq!(got["delta"].as_f64(), delta.parse().ok());
            match strategy {
                "optimal" => assert!(got["threshold"].is_null()),
                "truncated-geometric" => {
                    let k = case["truncated_geometric_k"].as_f64().unwrap();
                    assert_eq!(got["threshold"].as_f64(), Some(k + 1.0));
                }
                _ => assert!(got["threshold"].as_f64().unwrap() > 1.0),
            }
            for (row, keep) in rows.iter().zip(got["keep"].as_array().unwrap()) {
                assert_eq!(row["n"], keep["units"]);
                // Some values are not in the vectors.
                if row[column].is_null() {
                    continue;
                }
                let (want, got) = (number(&row[column]), keep["probability"].as_f64().unwrap());
                let what = format!("{epsilon} {delta} {strategy} {row}: {got}");
                assert!((got - want).abs() <= within * want, "{what}");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn calc_convert_is_as_in_the_vectors() {
    for row in vectors("privacy/tests/data/accounting.json")["zcdp_to_approx"].as_array().unwrap() {
        let (rho, delta) = (row["rho"].as_str().unwrap(), row["delta"].as_str().unwrap());
        let want = number(&row["epsilon_any_zcdp"]);
        let forth = json(&format!("convert --rho {rho} --delta {delta}"));
        let epsilon = forth["epsilon"].as_f64().unwrap();
        assert!(epsilon >= want && epsilon <= want * (1.0 + 1e-9), "{row}: {forth}");
        // Printed numbers can be given back, lead to the same rho, and are true.
        let back = json(&format!("convert --epsilon {} --delta {delta}", forth["epsilon"]));
        let (exact, got) = (rho.parse::<f64>().unwrap(), back["rho"].as_f64().unwrap());
        assert!(got >= exact && got <= exact * (1.0 + 1e-9), "{row}: {back}");
        let there = json(&format!("convert --rho {} --epsilon {}", back["rho"], forth["epsilon"]));
        assert!(there["delta"].as_f64().unwrap() <= delta.parse().unwrap(), "{row}: {there}");
    }
}

#[test]
fn calc_noise_is_as_in_the_vectors() {
    let accounting = vectors("privacy/tests/data/accounting.json");
    for row in accounting["discrete_gaussian_delta"].as_array().unwrap() {
        let got = json(&format!(
            "noise --mechanism discrete-gaussian --sigma-squared {} --sensitivity {} --epsilon {}",
            row["sigma_squared"].as_str().unwrap(),
            row["sensitivity"],
            row["epsilon"].as_str().unwrap()
        ));
        let (want, got) = (number(&row["delta"]), got["delta"].as_f64().unwrap());
        assert!(got >= want && got <= want * (1.0 + 1e-11), "{row}: {got}");
    }
    for row in accounting["gaussian_delta"].as_array().unwrap() {
        let got = json(&format!(
            "noise --mechanism gaussian --sigma-squared 1 --sensitivity {} --epsilon {}",
            row["sensitivity_over_sigma"].as_str().unwrap(),
            row["epsilon"].as_str().unwrap()
        ));
        let (want, got) = (number(&row["delta"]), got["delta"].as_f64().unwrap());
        assert!(got >= want && got <= want * (1.0 + 1e-8) + 1e-307, "{row}: {got}");
    }
    let noise = vectors("noise/tests/data/noise.json");
    for (law, line, parameter) in [
        ("discrete_gaussian", "discrete-gaussian --epsilon 1 --sigma-squared", "sigma_squared"),
        ("rounded_gaussian", "gaussian --epsilon 1 --sigma-squared", "sigma_squared"),
        ("discrete_laplace", "discrete-laplace --scale", "scale"),
    ] {
        for row in noise[law].as_array().unwrap() {
            let given = row[parameter].as_str().unwrap();
            let got = json(&format!("noise --mechanism {line} {given}"));
            let (want, variance) = (number(&row["variance"]), got["variance"].as_f64().unwrap());
            assert!((variance / want - 1.0).abs() < 2e-14, "{law} {row}: {got}");
            if law == "discrete_laplace" {
                let epsilon = got["epsilon"].as_f64().unwrap() * given.parse::<f64>().unwrap();
                assert!((epsilon - 1.0).abs() < 1e-15, "{row}: {got}");
            }
        }
    }
}

#[test]
fn calc_compose_is_as_in_the_vectors() {
    let accounting = vectors("privacy/tests/data/accounting.json");
    let above = |line: &str, field: &str, want: f64, within: f64| {
        let got = json(&format!("compose {line}"))[field].as_f64().unwrap();
        assert!(got >= want && got <= want * (1.0 + within), "{line}: {got} {want}");
    };
    for row in accounting["discrete_laplace_composition"].as_array().unwrap() {
        let (epsilon, delta) = (row["epsilon0"].as_str().unwrap(), row["delta"].as_str().unwrap());
        let line = format!("--event discrete-laplace:{epsilon}x{} --delta {delta}", row["k"]);
        above(&line, "epsilon", number(&row["epsilon"]), 1e-9);
    }
    for row in accounting["optimal_composition"].as_array().unwrap() {
        let (epsilon, delta) = (row["epsilon0"].as_str().unwrap(), row["delta0"].as_str().unwrap());
        let at = row["epsilon"].as_str().unwrap();
        let line = format!("--event approx:{epsilon},{delta}x{} --epsilon {at}", row["k"]);
        above(&line, "delta", number(&row["delta"]), 1e-9);
    }
    for row in accounting["gaussian_composition"].as_array().unwrap() {
        let events: Vec<String> = row["mu"]
            .as_array()
            .unwrap()
            .iter()
            .map(|mu| format!("--event gaussian:{}", mu.as_str().unwrap()))
            .collect();
        let line = format!("{} --epsilon {}", events.join(" "), row["epsilon"].as_str().unwrap());
        above(&line, "delta", number(&row["delta"]), 1e-9);
    }
    for row in accounting["discrete_gaussian_delta"].as_array().unwrap() {
        let (s, at) = (row["sigma_squared"].as_str().unwrap(), row["epsilon"].as_str().unwrap());
        let shift = &row["sensitivity"];
        let line = format!("--event discrete-gaussian:{s},{shift} --epsilon {at}");
        above(&line, "delta", number(&row["delta"]), 1e-9);
    }
    for row in accounting["zcdp_to_approx"].as_array().unwrap() {
        let (rho, delta) = (row["rho"].as_str().unwrap(), row["delta"].as_str().unwrap());
        let line = format!("--event zcdp:{rho} --delta {delta}");
        above(&line, "epsilon", number(&row["epsilon_any_zcdp"]), 1e-9);
    }
}
