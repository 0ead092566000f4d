//! `assess model`, and the examples of the paper.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, command_in};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/partial-knowledge")
}

fn run(folder: &Path, line: &str) -> Run {
    let arguments: Vec<&str> =
        ["assess", "--verbose", "model"].into_iter().chain(line.split_whitespace()).collect();
    Run::of(command_in(folder, &arguments).output().unwrap())
}

/// The files of the examples, in order.
fn examples() -> Vec<String> {
    let names = fs::read_dir(folder()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    names
}

/// Result of an example.
struct Example {
    name: String,
    report: serde_json::Value,
}

impl Example {
    fn new(name: &str) -> Self {
        Self::at(name, "")
    }

    fn at(name: &str, flags: &str) -> Self {
        let line = format!("{name}.toml --format json {flags}");
        let text = run(&folder(), &line).success();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        Self { name: name.to_owned(), report: serde_json::from_str(&text).unwrap() }
    }

    fn guarantee(&self, definition: &str, index: usize) -> &serde_json::Value {
        let all = self.report["definitions"].as_array().unwrap();
        let entry = all.iter().find(|d| d["definition"] == definition).unwrap();
        &entry["guarantees"][index]
    }

    /// The epsilon at a delta of zero, or infinity.
    fn pure(&self, definition: &str) -> f64 {
        let epsilon = &self.guarantee(definition, 0)["epsilon"];
        if epsilon.is_null() { f64::INFINITY } else { epsilon.as_f64().unwrap() }
    }

    /// The delta at the first epsilon that was asked for.
    fn delta(&self, definition: &str) -> f64 {
        self.guarantee(definition, 1)["delta"].as_f64().unwrap()
    }

    #[track_caller]
    fn assert_pure(&self, definitions: &[(&str, f64)]) {
        for (definition, epsilon) in definitions {
            assert_eq!(self.pure(definition), *epsilon, "{} {definition}", self.name);
        }
    }

    #[track_caller]
    fn assert_acceptable(&self, acceptable: bool) {
        let value = &self.report["normalisations"][0]["acceptable"];
        assert_eq!(*value, acceptable, "{}: {}", self.name, self.report);
    }
}

const NONE: f64 = f64::INFINITY;

#[test]
fn model_texts_of_the_examples() {
    let names = examples();
    assert!(names.len() >= 9, "{names:?}");
    for example in 1..=9 {
        assert!(names.contains(&format!("example-{example}.toml")), "{example}: {names:?}");
    }
    let rendered: Vec<String> = names
        .iter()
        .map(|name| {
            let line = format!("{name} --epsilon 0.1 --delta 0.01");
            format!("> {line}\n{}", run(&folder(), &line).success())
        })
        .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

/// Every file is in the README's table, which says what it comes to.
#[test]
fn the_examples_are_as_in_their_readme() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for name in examples() {
        let link = format!("| [`{name}`]({name}) |");
        let row = readme.lines().find(|line| line.starts_with(&link));
        let row = row.unwrap_or_else(|| panic!("{name} is not in the README"));
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let example = Example::new(name.trim_end_matches(".toml"));
        let definitions = ["noiseless", "distributional", "causal", "inference-based"];
        for (definition, cell) in definitions.iter().zip(&cells[3..]) {
            let epsilon = example.pure(definition);
            let text = if epsilon == NONE { "none".to_owned() } else { epsilon.to_string() };
            assert_eq!(*cell, text, "{name}: {definition}");
        }
        let acceptable = example.report["normalisations"][0]["acceptable"] == true;
        assert_eq!(cells[7], if acceptable { "holds" } else { "fails" }, "{name}");
    }
}

/// PK Example 1: not noiseless, but distributional, and causal as far as one record bears on the
/// average; and whoever knows more is the weaker attacker, where Definition 8 does not hold.
#[test]
fn example_1_averages() {
    let example = Example::new("example-1");
    example.assert_pure(&[("noiseless", NONE), ("distributional", 0.0), ("causal", 0.0)]);
    example.assert_acceptable(true);
    let known = Example::new("example-1-mean-known");
    known.assert_pure(&[("noiseless", 0.0), ("causal", 0.0)]);
    known.assert_acceptable(false);
    let noise = Example::new("example-1-noise");
    noise.assert_pure(&[("noiseless", 0.0), ("causal", 0.0)]);
    noise.assert_acceptable(true);
}

/// PK Example 2: the identity is distributionally private on duplicates, and not causally. Nor,
/// against PK Proposition 1, does inference-based privacy find anything.
#[test]
fn example_2_duplicates() {
    let example = Example::new("example-2");
    example.assert_pure(&[("distributional", 0.0), ("causal", NONE), ("noiseless", NONE)]);
    example.assert_pure(&[("inference-based", 0.0)]);
    assert!(example.report.to_string().contains("Proposition 1 needs"), "{}", example.report);
}

/// PK Example 3: noiseless and not causal. And, against PK Proposition 4, Definition 8 holds.
#[test]
fn example_3_outliers() {
    let example = Example::new("example-3");
    example.assert_pure(&[("noiseless", 0.0), ("causal", NONE)]);
    example.assert_acceptable(true);
    assert!(example.report.to_string().contains("Proposition 4 has them equal"));
}

/// PK Example 4: "might be" noiseless, and is, modulo; it is never causal.
#[test]
fn example_4_sums() {
    let example = Example::new("example-4");
    example.assert_pure(&[("noiseless", 0.0), ("causal", NONE)]);
    let printed = Example::new("example-4-sum");
    printed.assert_pure(&[("noiseless", NONE), ("causal", NONE)]);
}

/// PK Example 5: causal at an epsilon of zero, and everything is published.
#[test]
fn example_5_triples() {
    let example = Example::new("example-5");
    example.assert_pure(&[("causal", 0.0), ("distributional", 0.0), ("noiseless", NONE)]);
}

/// PK Example 6: two acceptable models, and one that is not.
#[test]
fn example_6_pairs_of_voters() {
    let pairs = Example::new("example-6");
    pairs.assert_acceptable(true);
    let parameters = &pairs.report["normalisations"][0]["parameters"];
    assert_eq!(parameters["phi_0"], serde_json::json!(["first_pair"]));
    assert_eq!(parameters["known"], serde_json::json!(["second_pair"]));
    let agreement = Example::new("example-6-agreement");
    agreement.assert_acceptable(true);
    assert_eq!(agreement.report["normalisations"][0]["others_independent"], true);
    assert_eq!(agreement.pure("noiseless"), agreement.pure("causal"));
    let correlated = Example::new("example-6-correlated");
    correlated.assert_acceptable(false);
    let shared = &correlated.report["normalisations"][0]["parameters"]["shared"];
    assert_eq!(*shared, serde_json::json!(["first_pair"]));
}

/// PK Example 7: who plants votes learns the target's, who only sees them does not; both as `assess
/// threshold` has it.
#[test]
fn example_7_thresholds() {
    let example = Example::at("example-7", "--epsilon 0.1");
    let (active, passive) = (example.delta("active"), example.delta("passive"));
    assert!(active > 0.999, "{active}");
    assert!(passive > 0.0 && passive < 1e-18, "{passive}");
    assert_eq!(example.pure("active"), example.pure("passive"));
    let line = "assess threshold --release-above 3 --unknown 4@1e-7 --known 3@1e-7 --epsilon 0.1 \
                --format json";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let measured = Run::of(command_in(Path::new("."), &arguments).output().unwrap()).success();
    let measured: serde_json::Value = serde_json::from_str(&measured).unwrap();
    for (delta, key) in [(active, "delta_active"), (passive, "delta_passive")] {
        let other = measured["guarantees"][0][key].as_f64().unwrap();
        assert!((delta / other - 1.0).abs() < 1e-6, "{key}: {delta} {other}");
    }
}

/// PK Example 8: each query is private, up to the chance that all or none voted yes; both together
/// are not, and their dependence is not bounded.
#[test]
fn example_8_two_queries() {
    let all = Example::at("example-8-all", "--epsilon 1");
    let others = Example::at("example-8-others", "--epsilon 1");
    let both = Example::at("example-8", "--epsilon 1");
    assert!(all.delta("active") < 0.05, "{}", all.delta("active"));
    assert_eq!(others.pure("active"), 0.0);
    assert_eq!((both.delta("active"), both.delta("passive")), (1.0, 1.0));
    assert!(both.report["dependence"][0]["mu"].is_null(), "{}", both.report);
}

/// PK Example 9 has the counts (2c, 0)-bounded dependent, which is too little; 4c is enough.
#[test]
fn example_9_counts_over_time() {
    let example = Example::new("example-9");
    let mu = example.report["dependence"][0]["mu"].as_f64().unwrap();
    let c = (0.5f64 / 0.475).ln();
    assert!(mu > 2.9 * c && mu < 4.0 * c, "{}", mu / c);
}

const GOOD: &str = r#"[parameters]
a = { values = [0, 1], probabilities = ["1/3", "2/3"] }
b = { values = [0, 1] }
[attacker]
target = "a"
knows = "b"
[mechanism]
publishes = "a + b"
"#;

#[test]
fn model_refusals() {
    let folder = tempfile::tempdir().unwrap();
    let changed = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        GOOD.replace(from, to)
    };
    let bits =
        |most| -> String { (0..most).map(|i| format!("p{i} = {{ values = [0, 1] }}\n")).collect() };
    let (many, fewer) = (bits(17), bits(13));
    let long: String = (0..150).map(|i| format!("{i}, ")).collect();
    let table = |rows: &str| changed("publishes = \"a + b\"", &format!("table = [{rows}]"));
    let models = [
        changed("\"1/3\", \"2/3\"", "0.33, 0.67e0, 1"),
        changed("\"1/3\", \"2/3\"", "0.33, 0.66"),
        changed("\"1/3\", \"2/3\"", "\"1/3\", \"third\""),
        changed("\"1/3\", \"2/3\"", "1.5, -0.5"),
        changed("\"a + b\"", "\"a + c\""),
        changed("\"a + b\"", "\"a +\""),
        changed("\"a + b\"", "[\"a\", \"SUM(b)\"]"),
        changed("knows = \"b\"", "knows = [\"b\", \"nobody\"]"),
        changed("target = \"a\"", "target = \"c\""),
        changed("[attacker]", &format!("{many}[attacker]")),
        changed(
            "[attacker]",
            &format!("c = {{ values = [{long}] }}\nd = {{ values = [{long}] }}\n[attacker]"),
        )
        .replace("target = \"a\"", "target = \"c\""),
        changed("publishes", &format!("noise.n = {{ values = [{long}] }}\npublishes"))
            .replace("[attacker]", &format!("{fewer}[attacker]")),
        table("{ when = \"a = 1\", publishes = { yes = 1 } }"),
        table("{ when = \"a\", publishes = { yes = 1 } }"),
        table("{ publishes = { yes = 0.5, no = \"1/3\" } }"),
        table("{ publishes = { yes = \"half\", no = 0.5 } }"),
        "x".repeat(1_000_001),
    ];
    let mut refusals: Vec<String> = models
        .iter()
        .map(|text| {
            fs::write(folder.path().join("m.toml"), text).unwrap();
            run(folder.path(), "m.toml").refusal()
        })
        .collect();
    fs::write(folder.path().join("m.toml"), GOOD).unwrap();
    for line in [
        "none.toml",
        ".",
        "m.toml --epsilon -1",
        "m.toml --epsilon x",
        "m.toml --delta 0",
        "m.toml --delta 1",
        "m.toml --delta 1/3",
    ] {
        refusals.push(format!("> {line}\n{}", run(folder.path(), line).refusal()));
    }
    insta::assert_snapshot!(refusals.join("\n"));
}

/// Names and values that steer a terminal, a target that is not random, what is NULL, and amounts
/// at the ends of their ranges.
#[test]
fn odd_models_are_shown_well() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"[parameters]
a = { values = [1] }
b = { values = [0.5, 1.5, 2], probabilities = [0, 0.25, 0.75] }
"weird \u001b[2J name" = { values = ["x\ny", "`"] }
[attacker]
target = ["a", "b", "weird \u001b[2J name"]
knows = ["1", "b / 0"]
[mechanism]
publishes = ["b / 3", "NULL"]
"#;
    fs::write(folder.path().join("m.toml"), text).unwrap();
    let line = "m.toml --epsilon 1000000,0 --delta 0.999999999,1e-300";
    insta::assert_snapshot!(run(folder.path(), line).success());
}

/// With many outputs the linear programme is left out, and all else is there.
#[test]
fn too_large_a_programme_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let values: String = (0..800).map(|i| format!("{i}, ")).collect();
    let text = GOOD.replace("b = { values = [0, 1] }", &format!("b = {{ values = [{values}] }}"));
    fs::write(folder.path().join("m.toml"), text.replace("knows = \"b\"", "")).unwrap();
    let text = run(folder.path(), "m.toml --delta 0.01").success();
    insta::assert_snapshot!(text);
    let json = run(folder.path(), "m.toml --delta 0.01 --format json").success();
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["definitions"][1]["guarantees"], serde_json::json!([]));
    assert!(report["too_large"].as_str().unwrap().contains("linear programme"), "{json}");
}

/// Randomised response as noise and as a table, and a whole table of outputs for a target of two.
#[test]
fn noise_and_tables_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    let published = [
        "publishes = \"CASE WHEN honest THEN a ELSE 1 - a END\"\n\
         noise.honest = { values = [true, false], probabilities = [0.75, 0.25] }",
        "table = [{ when = \"a = 1\", publishes = { yes = \"3/4\", no = \"1/4\" } },\n\
         { publishes = { yes = 0.25, no = 0.75 } }]",
    ];
    for published in published {
        let text = GOOD.replace("publishes = \"a + b\"", published);
        fs::write(folder.path().join("m.toml"), text).unwrap();
        let text = run(folder.path(), "m.toml --epsilon 1 --format json").success();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let all = report["definitions"].as_array().unwrap();
        for definition in all {
            let name = definition["definition"].as_str().unwrap();
            let (pure, at_one) = (&definition["guarantees"][0], &definition["guarantees"][1]);
            let (epsilon, delta) = (pure["epsilon"].as_f64().unwrap(), &at_one["delta"]);
            match name {
                // Half of it: what is published is simulated by a coin between the two.
                "distributional" => assert!((epsilon - 2f64.ln()).abs() < 1e-6, "{text}"),
                "inference-based" => {}
                _ => {
                    assert_eq!(epsilon, 1.098_612_288_669, "{name}: {text}");
                    let exact = 0.75 - 1f64.exp() * 0.25;
                    assert!((delta.as_f64().unwrap() - exact).abs() < 1e-15, "{name}: {text}");
                }
            }
        }
    }
}
