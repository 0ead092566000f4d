//! `assess`.

use std::path::Path;

use crate::support::{Run, command_in};

fn assess(line: &str) -> Run {
    let arguments: Vec<&str> =
        ["assess", "--verbose"].into_iter().chain(line.split_whitespace()).collect();
    Run::of(command_in(Path::new("."), &arguments).output().unwrap())
}

fn json(line: &str) -> serde_json::Value {
    let text = assess(&format!("{line} --format json")).success();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

const RIGHT: [&str; 24] = [
    "count --unknown 99@0.5 --epsilon 0.1,0.5,1",
    "count --unknown 50@0.1 --unknown 30@0.5 --unknown 19@0.9 --known 7 --delta 0.01,1e-6,1e-20",
    "count --unknown 200000@0.1 --unknown 300000@0.2 --epsilon 0.01,0.05",
    "count --unknown 99@0.05 --noise geometric:0.5 --epsilon 0.1,1",
    "count --unknown 99@0.05 --noise discrete-laplace:2 --delta 1e-3,1e-300",
    "count --unknown 99@0.05 --noise discrete-gaussian:4 --epsilon 0.5",
    "count --others 99 --between 0.05..0.95 --epsilon 0.1,0.5,1",
    "count --others 10000 --between 0.05..0.95 --known 9000 --delta 1e-6",
    "count --others 20000 --between 0.3..0.6 --epsilon 0.08",
    "count --others 50 --between 0..1 --epsilon 1",
    "count --others 99 --between 0.05..0.95 --noise geometric:0.75 --epsilon 0.1",
    "histogram --others 10000 --at-least 0.3,0.2,0.01 --epsilon 0.1,0.5",
    "histogram --others 10000 --options 4 --at-least 0.05 --known 5000 --delta 1e-9",
    "histogram --others 99 --at-least 0.05,0.05 --epsilon 0.5",
    "threshold --release-above 6 --unknown 199@0.01 --epsilon 0.001,0.1,1",
    "threshold --release-above 6 --unknown 199@0.01 --known 12 --epsilon 0.1",
    "threshold --release-above 9 --unknown 99@0.01 --unknown 9@0.1 --known 3@0.01 --known 2@0.1 \
     --delta 1e-3,1e-6",
    "threshold --release-above 9 --others 1000 --at-most 0.002 --known 5 --epsilon 0.1",
    "k-anonymity --k 10 --others 1000 --value common=0.3..0.6 --value rare=0..0.001 --absent \
     0.2..0.5 --epsilon 0.1,1",
    "k-anonymity --k 10 --others 1000 --value a=0.3..0.6 --value b=0.4..0.7 --value rare=0..0.001 \
     --delta 1e-3",
    "k-anonymity --k 10 --others 1000 --value a=0.3..0.6 --value rare=0..0.001 --absent 0.2..0.5 \
     --delta 1e-9",
    "compose --release 0.1,1e-9 --release 0.2,1e-9 --release 0.3,0 --independent",
    "compose --release 0.1,1e-9 --release 0.2,1e-9 --dependence 0.05,1e-10",
    "compose --release 0.1,1e-9 --release 0.1,1e-9 --release 0.1,1e-9 --temporal 0.01",
];

#[test]
fn assess_texts() {
    let rendered: Vec<String> =
        RIGHT.iter().map(|line| format!("> {line}\n{}", assess(line).success())).collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

/// Without the words, which are those of the texts.
#[test]
fn assess_json() {
    let rendered: Vec<String> = RIGHT
        .iter()
        .map(|line| {
            let text = assess(&format!("{line} --format json")).success();
            let (numbers, words) = text.split_once(",\"assumptions\":").unwrap();
            assert!(words.len() > 200, "{words}");
            format!("> {line}\n{numbers}")
        })
        .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn assess_refuses_wrong_values() {
    let rendered: Vec<String> = [
        "count --unknown 99@1.5 --epsilon 1",
        "count --unknown 99@-0.5 --epsilon 1",
        "count --unknown 99@nan --epsilon 1",
        "count --unknown 99@inf --epsilon 1",
        "count --unknown 0@0.5 --epsilon 1",
        "count --unknown -3@0.5 --epsilon 1",
        "count --unknown 1.5@0.5 --epsilon 1",
        "count --unknown 99 --epsilon 1",
        "count --unknown 600000000@0.5 --unknown 600000000@0.4 --epsilon 1",
        "count --unknown 99@0.5 --epsilon -1",
        "count --unknown 99@0.5 --epsilon nan",
        "count --unknown 99@0.5 --epsilon 1,two",
        "count --unknown 99@0.5 --delta 0",
        "count --unknown 99@0.5 --delta 1",
        "count --unknown 99@0.5 --delta inf",
        "count --unknown 99@0.5 --known -1 --epsilon 1",
        "count --others 0 --between 0.1..0.2 --epsilon 1",
        "count --others 20000000 --between 0.1..0.2 --epsilon 1",
        "count --others 99 --between 0.5..0.4 --epsilon 1",
        "count --others 99 --between -0.1..0.4 --epsilon 1",
        "count --others 99 --between 0.1..nan --epsilon 1",
        "count --others 99 --between 0.1 --epsilon 1",
        "count --others 99 --between 0.1..0.2 --known 99 --epsilon 1",
        "count --others 99 --between 0.1..0.2 --known 100 --epsilon 1",
        "count --unknown 9@0.5 --noise geometric:1 --epsilon 1",
        "count --unknown 9@0.5 --noise geometric:0 --epsilon 1",
        "count --unknown 9@0.5 --noise discrete-laplace:-1 --epsilon 1",
        "count --unknown 9@0.5 --noise discrete-gaussian:1e9 --epsilon 1",
        "count --unknown 9@0.5 --noise discrete-gaussian:nan --epsilon 1",
        "count --unknown 9@0.5 --noise laplace:1 --epsilon 1",
        "count --unknown 9@0.5 --noise geometric --epsilon 1",
        "histogram --others 99 --at-least 0.5 --epsilon 1",
        "histogram --others 99 --options 1 --at-least 0.5 --epsilon 1",
        "histogram --others 99 --options 3 --at-least 0.5,0.2 --epsilon 1",
        "histogram --others 99 --at-least 0.6,0.6 --epsilon 1",
        "histogram --others 99 --at-least 0.6,x --epsilon 1",
        "histogram --others 99 --options 2 --at-least 0.1 --known 99 --epsilon 1",
        "threshold --release-above 200 --unknown 199@0.01 --epsilon 1",
        "threshold --release-above -1 --unknown 199@0.01 --epsilon 1",
        "threshold --release-above 6 --unknown 199@0.01 --known 0@0.1 --epsilon 1",
        "threshold --release-above 6 --unknown 99@0.01 --unknown 9@0.1 --known 3 --epsilon 1",
        "threshold --release-above 6 --others 100 --at-most 2 --epsilon 1",
        "threshold --release-above 6 --others 100 --at-most 0.1 --known 101 --epsilon 1",
        "threshold --release-above 6 --others 2000 --at-most 0.1 --known 600 --epsilon 1",
        "threshold --release-above 101 --others 100 --at-most 0.1 --epsilon 1",
        "threshold --release-above 6 --others 100 --at-most 0.1 --known 3@0.1 --epsilon 1",
        "k-anonymity --k 0 --others 100 --value a=0.1..0.5 --value b=0.1..0.9 --epsilon 1",
        "k-anonymity --k 102 --others 100 --value a=0.1..0.5 --value b=0.1..0.9 --epsilon 1",
        "k-anonymity --k 5 --others 100 --value a=0.1..0.5 --epsilon 1",
        "k-anonymity --k 5 --others 100 --value a=0.1..0.5 --value a=0.1..0.9 --epsilon 1",
        "k-anonymity --k 5 --others 100 --value a=0.1..0.5 --value b=0.1..0.2 --epsilon 1",
        "k-anonymity --k 5 --others 100 --value a=0.8..0.9 --value b=0.7..0.8 --epsilon 1",
        "k-anonymity --k 5 --others 100 --value a=0.8..0.5 --value b=0.7..0.8 --epsilon 1",
        "k-anonymity --k 5 --others 100 --value 0.1..0.5 --value b=0.7..0.8 --epsilon 1",
        "k-anonymity --k 5 --others 100 --value a=0.1..0.5 --absent x --epsilon 1",
        "compose --release 0.1,1e-9 --release 0.1,1e-9",
        "compose --release 0.1 --release 0.1,1e-9 --independent",
        "compose --release -1,1e-9 --independent",
        "compose --release 0.1,nan --independent",
        "compose --release 0.1,2 --independent",
        "compose --release 0.1,0 --release 0.1,0 --dependence 0.1,2",
        "compose --release 0.1,0 --release 0.1,0 --dependence inf",
        "compose --release 0.1,0 --release 0.1,0 --temporal -1",
        "compose --release 0.1,0 --release 0.1,0 --temporal 300000",
        "compose --release 600000,0 --release 600000,0 --independent",
    ]
    .iter()
    .map(|line| format!("> {line}\n{}", assess(line).refusal()))
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn assess_with_wrong_flags_is_wrong_usage() {
    let rendered: Vec<String> = [
        "count --unknown 99@0.5",
        "count --unknown 99@0.5 --epsilon 1 --delta 1e-6",
        "count --epsilon 1",
        "count --others 99 --epsilon 1",
        "count --others 99 --unknown 99@0.5 --epsilon 1",
        "threshold --release-above 6 --others 99 --at-most 0.1 --between 0..1 --epsilon 1",
        "threshold --release-above 6 --others 99 --at-most 0.1 --known 1 --known 2 --epsilon 1",
        "histogram --others 99 --epsilon 1",
        "compose --release 0.1,0 --independent --temporal 1",
    ]
    .iter()
    .map(|line| {
        let run = assess(line);
        assert_eq!(run.code, Some(2), "{line}: {run:?}");
        assert!(run.stdout.is_empty(), "{run:?}");
        format!("> {line}\n{}", run.stderr)
    })
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

/// The values of the vectors, through the command.
#[test]
fn assess_is_as_in_the_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../knowledge/tests/data/partial_knowledge.json");
    let all: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let number = |value: &serde_json::Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let group = |value: &serde_json::Value| format!("{}@{}", value["count"], text(&value["p"]));
    let unknown = |case: &serde_json::Value| -> String {
        let groups = case["unknown_records"].as_array().unwrap();
        groups.iter().map(|g| format!(" --unknown {}", group(g))).collect()
    };
    let mut compared = 0;
    let mut check = |case: &serde_json::Value, line: &str, keys: &[&str]| {
        for row in case["values"].as_array().unwrap() {
            let got = json(&format!("{line} --epsilon {}", text(&row["epsilon"])));
            for key in keys {
                let want = number(&row[key]);
                // The noise of these was cut off; without that they are zero.
                let want = if want < 1e-30 { 0.0 } else { want };
                let got = got["guarantees"][0][key].as_f64().unwrap();
                assert!(got >= want && got <= want * (1.0 + 1e-9), "{line} {row}: {got}");
                compared += 1;
            }
        }
    };
    for case in all["count_profile"].as_array().unwrap() {
        check(case, &format!("count{}", unknown(case)), &["delta"]);
    }
    for case in all["count_worst_case"].as_array().unwrap() {
        let bounds = format!("{}..{}", text(&case["lower"]), text(&case["upper"]));
        let line = format!("count --others {} --between {bounds}", case["unknown_others"]);
        check(case, &line, &["delta"]);
    }
    for case in all["threshold"].as_array().unwrap() {
        let above = &case["released_iff_count_greater_than"];
        check(case, &format!("threshold --release-above {above}{}", unknown(case)), &["delta"]);
    }
    for case in all["threshold_passive"].as_array().unwrap() {
        let above = &case["released_iff_count_greater_than"];
        let known = group(&case["known_records"]);
        let line = format!("threshold --release-above {above}{} --known {known}", unknown(case));
        check(case, &line, &["delta_passive", "delta_active"]);
    }
    for case in all["blanket"].as_array().unwrap() {
        let (gamma, q) = (number(&case["gamma"]), number(&case["q"]));
        let lower = format!("{},{}", gamma * q, gamma * (1.0 - q));
        let line = format!("histogram --others {} --at-least {lower}", case["unknown_others"]);
        check(case, &line, &["delta"]);
    }
    for case in all["nested_geometric"].as_array().unwrap() {
        let noise = text(&case["two_sided_geometric_p"]);
        check(case, &format!("count{} --noise geometric:{noise}", unknown(case)), &["delta"]);
    }
    assert_eq!(compared, 10 + 7 + 6 + 12 + 5 + 5);
}

/// Without --verbose, numbers come with one sentence, which no report is without.
#[test]
fn assumptions_are_behind_verbose() {
    let line = "count --unknown 500@0.1 --epsilon 0.5";
    let words = line.split_whitespace();
    let arguments: Vec<&str> = ["assess"].into_iter().chain(words).collect();
    let brief = Run::of(command_in(Path::new("."), &arguments).output().unwrap()).success();
    let verbose = assess(line).success();
    let numbers = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(numbers(&brief), numbers(&verbose));
    assert!(brief.contains("no privacy budget") && brief.contains("--verbose"), "{brief}");
    assert!(brief.lines().count() < 7 && verbose.contains("500 other records"), "{brief}");
}
