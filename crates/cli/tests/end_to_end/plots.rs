//! `assess --plot`.

use std::fs;
use std::path::Path;

use crate::support::{COUNT_BY_PRODUCT, Run, Shop, command_in};

fn assess(folder: &Path, line: &str) -> Run {
    let arguments: Vec<&str> = ["assess"].into_iter().chain(line.split_whitespace()).collect();
    Run::of(command_in(folder, &arguments).output().unwrap())
}

/// The words on a chart.
fn words(svg: &str) -> Vec<String> {
    let texts = svg.split("<text ").skip(1).filter_map(|text| text.split(['>', '<']).nth(1));
    texts.map(|text| text.trim().to_owned()).collect()
}

#[test]
fn every_guarantee_has_a_curve() {
    let folder = tempfile::tempdir().unwrap();
    // With a word of the legend, how many curves there are, and how many dots: one for each
    // guarantee that has an epsilon, and one in the legend for each curve with any.
    let cases = [
        ("count --unknown 99@0.5 --epsilon 0.1,0.5,1", "this count", 1, 3 + 1),
        ("count --others 999 --between 0.05..0.95 --delta 1e-6", "this count", 1, 1 + 1),
        ("count --unknown 99@0.05 --noise geometric:0.5 --epsilon 0.1", "noise alone", 3, 3 + 3),
        // That nobody is counted has a probability of 0.006, which no epsilon takes away.
        (
            "count --unknown 99@0.05 --noise geometric:0.5 --delta 1e-3,1e-5",
            "uncertainty alone",
            3,
            4 + 2,
        ),
        ("histogram --others 9999 --options 4 --at-least 0.05 --delta 1e-9", "these counts", 1, 2),
        (
            "threshold --release-above 6 --unknown 199@0.01 --known 12 --epsilon 0.1",
            "passive attackers",
            2,
            2 + 2,
        ),
        (
            "k-anonymity --k 10 --others 1000 --value a=0.3..0.6 --value b=0..0.001 \
             --absent 0.2..0.5 --epsilon 0.1,1",
            "a or (absent)",
            4,
            2 + 1,
        ),
        ("compose --release 0.1,1e-9 --release 0.2,1e-9 --independent", "all together", 3, 1 + 1),
    ];
    for (line, word, curves, dots) in cases {
        let plain = assess(folder.path(), line).success();
        let run = assess(folder.path(), &format!("{line} --plot curve.svg"));
        assert_eq!(run.success(), plain, "{line}");
        let svg = fs::read_to_string(folder.path().join("curve.svg")).unwrap();
        let words = words(&svg);
        assert!(words.iter().any(|w| w.contains(word)), "{line}: {words:?}");
        assert!(words.iter().any(|w| w.contains("no privacy budget")), "{line}: {words:?}");
        let axis = |name: &str| words.iter().position(|word| word.starts_with(name));
        assert!(axis("epsilon: ").is_some(), "{words:?}");
        // The legend comes last.
        let named = words.len() - axis("delta: ").unwrap() - 1;
        assert_eq!(named, curves, "{line}: {words:?}");
        assert_eq!(svg.matches("<circle").count(), dots, "{line}");
    }
}

#[test]
fn a_curve_can_be_a_png_beside_json() {
    let folder = tempfile::tempdir().unwrap();
    let line = "count --unknown 99@0.5 --epsilon 0.5 --format json --plot c.PNG";
    let text = assess(folder.path(), line).success();
    assert!(text.starts_with("{\"guarantees\":"), "{text}");
    let bytes = fs::read(folder.path().join("c.PNG")).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 10_000, "{}", bytes.len());
}

#[test]
fn a_curve_is_refused_before_anything_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let refusals: Vec<String> = [
        "count --unknown 99@0.5 --epsilon 0.5 --plot curve.pdf",
        "count --unknown 99@0.5 --epsilon 0.5 --plot curve",
        "count --unknown 99@1.5 --epsilon 0.5 --plot -",
        "compose --release 0.1,0 --release 0.1,0 --plot no/such/curve.svg",
    ]
    .iter()
    .map(|line| format!("> {line}\n{}", assess(folder.path(), line).refusal()))
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    // Where nothing is given away, the curve is a line at zero.
    let nothing = "compose --release 0,0 --release 0,0 --independent --plot curve.svg";
    assess(folder.path(), nothing).success();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn models_and_tables_have_curves() {
    let folder = tempfile::tempdir().unwrap();
    let model = "[parameters]\na = { values = [0, 1] }\n\
                 b = { values = [0, 1] }\nc = { values = [0, 1] }\n\
                 [attacker]\ntarget = \"a\"\nknows = []\n[mechanism]\npublishes = \"a + b + c\"\n";
    fs::write(folder.path().join("sum.toml"), model).unwrap();
    let rows: String = (0..300).map(|i| format!("{}\n", ["x", "y", "y"][i % 3])).collect();
    fs::write(folder.path().join("people.csv"), format!("town\n{rows}")).unwrap();
    assess(folder.path(), "model sum.toml --epsilon 0.5,1 --plot model.svg").success();
    let svg = fs::read_to_string(folder.path().join("model.svg")).unwrap();
    let labels = words(&svg);
    for word in ["noiseless", "causal", "passive", "no privacy budget"] {
        assert!(labels.iter().any(|w| w.contains(word)), "{word}: {labels:?}");
    }
    // A sum modulo 2 gives nothing away: a line at zero.
    fs::write(folder.path().join("none.toml"), model.replace("a + b + c", "MOD(a + b + c, 2)"))
        .unwrap();
    assess(folder.path(), "model none.toml --epsilon 0.5 --plot none.svg").success();
    assert!(fs::read_to_string(folder.path().join("none.svg")).unwrap().contains("noiseless"));
    let command = [
        "assess",
        "table",
        "people.csv",
        "--known",
        "5",
        "--between",
        "0.2..0.8",
        "--epsilon",
        "0.5",
        "--delta",
        "1e-3",
        "--plot",
        "table.svg",
        "--release",
        "SELECT town, COUNT(*) FROM t GROUP BY town",
    ];
    Run::of(command_in(folder.path(), &command).output().unwrap()).success();
    let labels = words(&fs::read_to_string(folder.path().join("table.svg")).unwrap());
    for word in ["CONFIDENTIAL", "the smallest group, of 100", "the middle group, of 200"] {
        assert!(labels.iter().any(|w| w.contains(word)), "{word}: {labels:?}");
    }
}

/// After the charge a chart is no failure, whatever the answer is.
#[test]
fn an_answer_without_rows_has_a_chart_with_axes_alone() {
    let shop = Shop::new();
    let none = format!("{COUNT_BY_PRODUCT} HAVING COUNT(*) < -1000000");
    for (sql, note) in [
        (none.as_str(), "the chart has axes alone"),
        ("SELECT town FROM visits GROUP BY town", "the result has none"),
    ] {
        let run = shop.run(&["query", "--plot", "none.svg", sql]);
        assert!(run.stderr.contains(note), "{}", run.stderr);
        run.success();
        let svg = fs::read_to_string(shop.path("none.svg")).unwrap();
        assert!(words(&svg).iter().any(|word| word == "nothing to show"), "{svg}");
    }
}

#[test]
fn titles_and_units_are_chosen_and_totals_are_of_all() {
    // So many that all groups appear.
    let shop = Shop::with(5_000, "3");
    let sql = "SELECT town, product, COUNT(*) AS n FROM visits GROUP BY ROLLUP (town, product)";
    let words_of = |arguments: &[&str]| {
        shop.run(&[&["query", "--plot", "n.svg"], arguments, &[sql]].concat()).success();
        words(&fs::read_to_string(shop.path("n.svg")).unwrap())
    };
    let plain = words_of(&[]);
    for word in ["all", "Wick, all", "Ashford, bread"] {
        assert!(plain.iter().any(|other| other == word), "{word}: {plain:?}");
    }
    assert!(!plain.iter().any(|word| word.contains("NULL")), "{plain:?}");
    let chosen = words_of(&["--plot-title", "Visits <of> 2024", "--plot-unit", "EUR"]);
    for word in ["Visits &lt;of&gt; 2024", "n in EUR (bars: 95 %, noise only)"] {
        assert!(chosen.iter().any(|other| other == word), "{word}: {chosen:?}");
    }
    let refused = shop.run(&["query", "--plot-title", "x", sql]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}
