//! `assess table` and `assess differencing`.

use std::path::Path;

use crate::support::{Run, command_in};

/// A folder with a file of people, and published tables.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        // Records in these numbers, and two who are not ill in a town of their own.
        let mut people = "town,age,ill\n".to_owned();
        for (town, age, ill, count) in [
            ("Wick", 30, "yes", 3),
            ("Ashford", 30, "yes", 40),
            ("Ashford", 70, "yes", 90),
            ("Millbrook", 30, "yes", 400),
            ("Millbrook", 70, "no", 60),
            ("Holm", 70, "no", 2),
        ] {
            people += &format!("{town},{age},{ill}\n").repeat(count);
        }
        folder.write("people.csv", &people);
        folder.write("empty.csv", "town,age,ill\n");
        folder.write("all.csv", "count\n100\n");
        folder.write("but_one.csv", "person,count\n!t,99\n");
        folder.write("by_region.csv", "region,age,n\nnorth,*,60\nsouth,*,48\n*,*,108\n");
        folder.write(
            "by_age.csv",
            "region,age,count\nnorth,0-17,20\nnorth,18-64,38\nsouth,0-17,22\nsouth,18-64,13\n\
             south,65+,13\n",
        );
        folder.write(
            "by_sex.csv",
            "\u{feff}sex,region,count\nf,north,33\nm,north,27\nf,south,30\nm,south,18\n",
        );
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn assess(&self, arguments: &[&str]) -> Run {
        let all: Vec<&str> =
            ["assess", "--verbose"].into_iter().chain(arguments.iter().copied()).collect();
        Run::of(command_in(self.0.path(), &all).output().unwrap())
    }

    fn table(&self, release: &str, more: &str) -> Run {
        let line = ["table", "people.csv", "--release", release];
        let more: Vec<&str> = more.split_whitespace().collect();
        self.assess(&[&line[..], &more].concat())
    }

    fn differencing(&self, line: &str) -> Run {
        let line: Vec<&str> = line.split_whitespace().collect();
        self.assess(&[&["differencing"][..], &line].concat())
    }
}

const BY_TOWN: &str =
    "SELECT town, COUNT(*) FROM t WHERE ill = 'yes' GROUP BY town HAVING COUNT(*) > 10";
const ASSUMED: &str = "--unknown 0.5 --between 0.2..0.8 --epsilon 1 --delta 1e-3";

#[test]
fn tables_are_assessed_group_by_group() {
    let folder = Folder::new();
    let by_age = "SELECT town, CAST(age AS INT64) >= 65 AS old, COUNT(*) AS n FROM people \
                  GROUP BY town, old HAVING 5 <= n";
    let rendered: Vec<String> = [
        (BY_TOWN, ASSUMED),
        (by_age, "--known 5 --between 0.2..0.8 --epsilon 1 --delta 1e-2"),
        (
            "SELECT town, COUNT(*) FROM t GROUP BY town",
            "--unknown 50 --between 0.3..0.6 --epsilon 0.8 \
          --delta 1e-2",
        ),
        ("SELECT COUNT(*) FROM t", ASSUMED),
        (BY_TOWN, "--unknown 1.0 --between 0..0.8 --epsilon 1 --delta 1e-3"),
    ]
    .iter()
    .map(|(release, assumed)| {
        let text = folder.table(release, assumed).success();
        assert!(text.starts_with("CONFIDENTIAL: "), "{text}");
        format!("> {release} {assumed}\n{text}")
    })
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn tables_are_assessed_for_programs() {
    let folder = Folder::new();
    let text = folder.table(BY_TOWN, &format!("{ASSUMED} --format json")).success();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["confidential"], true);
    assert_eq!(json["groups"].as_array().unwrap().len(), 3);
    let (numbers, words) = text.split_once(",\"assumptions\":").unwrap();
    assert!(words.len() > 500, "{words}");
    insta::assert_snapshot!(numbers);
    // Whatever passes is as `assess count` has it with as many unknown records.
    let largest = &json["groups"][2];
    assert_eq!((largest["passes"].as_bool(), largest["records"].as_u64()), (Some(true), Some(400)));
    let unknown = largest["unknown_at_least"].as_u64().unwrap().to_string();
    let line = ["count", "--others", &unknown, "--between", "0.2..0.8", "--epsilon", "1"];
    let count = folder.assess(&[&line[..], &["--format", "json"]].concat()).success();
    let count: serde_json::Value = serde_json::from_str(&count).unwrap();
    assert_eq!(count["guarantees"][0]["delta"], largest["delta"]);
}

/// All pass with the reported threshold; with one less, not.
#[test]
fn the_told_threshold_is_the_least() {
    let folder = Folder::new();
    let run = |above: u64| -> serde_json::Value {
        let release =
            format!("SELECT town, COUNT(*) FROM t GROUP BY town HAVING COUNT(*) > {above}");
        let text = folder.table(&release, &format!("{ASSUMED} --format json")).success();
        serde_json::from_str(&text).unwrap()
    };
    let first = run(10);
    assert_ne!(first["failing"], 0);
    let least = first["threshold_that_passes"].as_u64().unwrap();
    let passes = |json: &serde_json::Value| {
        json["failing"] == 0 && json["group_of_nobody"]["passes"] == true
    };
    assert!(passes(&run(least)));
    assert!(!passes(&run(least - 1)));
}

#[test]
fn many_groups_are_abridged() {
    let folder = Folder::new();
    let mut text = "k,x\n".to_owned();
    for group in 0..60 {
        text += &format!("{group},1\n").repeat(1 + group % 7);
    }
    folder.write("people.csv", &text);
    let release = "SELECT k, COUNT(*) FROM t GROUP BY k";
    let some = folder.table(release, ASSUMED).success();
    assert!(some.contains("… and 40 more groups, 40 of which fail; --all shows them"), "{some}");
    let all = folder.table(release, &format!("{ASSUMED} --all")).success();
    assert_eq!(all.matches("FAILS").count(), 60);
}

#[test]
fn what_is_no_release_of_counts_is_refused() {
    let folder = Folder::new();
    let rendered: Vec<String> = [
        ("SELEC 1", ASSUMED),
        ("SELECT town, SUM(age) FROM t GROUP BY town", ASSUMED),
        ("SELECT town, COUNT(DISTINCT age) FROM t GROUP BY town", ASSUMED),
        ("SELECT town, COUNT(age) FROM t GROUP BY town", ASSUMED),
        ("SELECT town FROM t GROUP BY town", ASSUMED),
        ("SELECT town, COUNT(*), COUNT(*) FROM t GROUP BY town", ASSUMED),
        ("SELECT age, COUNT(*) FROM t GROUP BY town", ASSUMED),
        ("SELECT * FROM t", ASSUMED),
        ("SELECT city, COUNT(*) FROM t GROUP BY city", ASSUMED),
        ("SELECT town, COUNT(*) FROM t JOIN u ON true GROUP BY town", ASSUMED),
        ("SELECT town, COUNT(*) FROM t, u GROUP BY town", ASSUMED),
        ("SELECT COUNT(*)", ASSUMED),
        ("SELECT town, COUNT(*) FROM t GROUP BY ROLLUP (town)", ASSUMED),
        ("SELECT town, COUNT(*) FROM t WHERE age GROUP BY town", ASSUMED),
        ("SELECT town, COUNT(*) FROM t GROUP BY town HAVING COUNT(*) < 10", ASSUMED),
        ("SELECT town, COUNT(*) FROM t GROUP BY town HAVING COUNT(*) > 2.5", ASSUMED),
        ("SELECT town, COUNT(*) FROM t GROUP BY town HAVING town > 'b'", ASSUMED),
        ("SELECT town, COUNT(*) FROM t GROUP BY town HAVING COUNT(*) > 5000000000", ASSUMED),
        ("SELECT town, COUNT(*) FROM t GROUP BY town HAVING COUNT(*) > 595", ASSUMED),
        ("SELECT town, COUNT(*) FROM t GROUP BY town ORDER BY 2", ASSUMED),
        ("SELECT town, COUNT(*) FROM t GROUP BY town LIMIT 3", ASSUMED),
        ("SELECT WITH DIFFERENTIAL_PRIVACY town, COUNT(*) FROM t GROUP BY town", ASSUMED),
        ("SELECT town, COUNT(*) FROM t WHERE town = 'x' GROUP BY town", ASSUMED),
        (BY_TOWN, "--unknown 1.5 --between 0.2..0.8 --epsilon 1 --delta 1e-3"),
        (BY_TOWN, "--unknown -3 --between 0.2..0.8 --epsilon 1 --delta 1e-3"),
        (BY_TOWN, "--unknown 0 --between 0.2..0.8 --epsilon 1 --delta 1e-3"),
        (BY_TOWN, "--unknown most --between 0.2..0.8 --epsilon 1 --delta 1e-3"),
        (BY_TOWN, "--known 0.5 --between 0.2..0.8 --epsilon 1 --delta 1e-3"),
        (BY_TOWN, "--unknown 0.5 --between 0.8..0.2 --epsilon 1 --delta 1e-3"),
        (BY_TOWN, "--unknown 0.5 --between 0.2 --epsilon 1 --delta 1e-3"),
        (BY_TOWN, "--unknown 0.5 --between 0.2..0.8 --epsilon -1 --delta 1e-3"),
        (BY_TOWN, "--unknown 0.5 --between 0.2..0.8 --epsilon 1 --delta 0"),
        (BY_TOWN, "--unknown 0.5 --between 0.2..0.8 --epsilon 1 --delta 2"),
    ]
    .iter()
    .map(|(release, assumed)| {
        format!("> {release} {assumed}\n{}", folder.table(release, assumed).refusal())
    })
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));

    let files: Vec<String> = ["nowhere.csv", "empty.csv", "people.txt"]
        .iter()
        .map(|file| {
            folder.write("people.txt", "town\n");
            let line = ["table", file, "--release", BY_TOWN];
            let assumed: Vec<&str> = ASSUMED.split_whitespace().collect();
            format!("> {file}\n{}", folder.assess(&[&line[..], &assumed].concat()).refusal())
        })
        .collect();
    insta::assert_snapshot!("files_that_cannot_be_assessed", files.join("\n"));
}

#[test]
fn a_target_and_an_attacker_are_needed() {
    let folder = Folder::new();
    let rendered: Vec<String> = [
        "--unknown 0.5 --between 0.2..0.8 --delta 1e-3",
        "--unknown 0.5 --between 0.2..0.8 --epsilon 1",
        "--unknown 0.5 --epsilon 1 --delta 1e-3",
        "--between 0.2..0.8 --epsilon 1 --delta 1e-3",
        "--unknown 0.5 --known 3 --between 0.2..0.8 --epsilon 1 --delta 1e-3",
    ]
    .iter()
    .map(|assumed| {
        let run = folder.table(BY_TOWN, assumed);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stdout.is_empty(), "{run:?}");
        format!("> {assumed}\n{}", run.stderr)
    })
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn differences_are_found() {
    let folder = Folder::new();
    folder.write("band.csv", "region,age,count\nnorth,0-17|65+,22\n");
    folder.write("counties.csv", "county,town,count\nKent,*,50\n*,Wick,47\n*,Holm,30\n*,*,90\n");
    folder.write("in_kent.csv", "county,town,count\nKent,Wick,47\n");
    let rendered: Vec<String> = [
        // A count of all, and of all but one.
        "all.csv but_one.csv --k 5",
        // Parts of a margin beyond its cells: with a missing cell, and where there are no other
        // values.
        "by_region.csv by_age.csv --k 5",
        "by_region.csv by_age.csv --k 5 --complete",
        "by_region.csv by_age.csv --k 5 --complete --suppressed-below 5",
        // Levels, and one condition more.
        "counties.csv in_kent.csv --k 5",
        "by_age.csv band.csv --k 5",
        // Nothing.
        "by_region.csv by_sex.csv --k 5 --complete",
        "by_sex.csv --k 18",
        "by_sex.csv --k 19 --count count",
    ]
    .iter()
    .map(|line| format!("> {line}\n{}", folder.differencing(line).success()))
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
    let nothing =
        folder.differencing("by_region.csv by_sex.csv --k 5 --complete --format json").success();
    assert!(nothing.starts_with(
        "{\"k\":5,\"all_combined\":true,\"all_bounded\":true,\"combinations\":[],\"recovered\":[],"
    ));
}

#[test]
fn differences_for_programs() {
    let folder = Folder::new();
    let line = "by_region.csv by_age.csv --k 5 --suppressed-below 5 --format json";
    let text = folder.differencing(line).success();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["all_combined"], &json["all_bounded"]), (&true.into(), &true.into()));
    let (findings, words) = text.split_once(",\"assumptions\":").unwrap();
    assert!(words.len() > 200, "{words}");
    insta::assert_snapshot!(findings);
}

#[test]
fn wrong_tables_are_refused() {
    let folder = Folder::new();
    folder.write("no_count.csv", "region,people\nnorth,3\n");
    folder.write("twice.csv", "region,count\nnorth,3\nnorth,4\n");
    folder.write("heading.csv", "region,region,count\nnorth,south,3\n");
    folder.write("noisy.csv", "region,count\nnorth,3.5\n");
    folder.write("negative.csv", "region,count\nnorth,-3\n");
    folder.write("hidden.csv", "region,count\nnorth,*\nsouth,\n");
    folder.write("rows.csv", "region,count\n");
    folder.write("short.csv", "region,count\nnorth\n");
    folder.write("more.csv", "region,age,count\nnorth,0-17,61\n");
    folder.write("other.csv", "count\n101\n");
    folder.write("rest.csv", "region,count\n!north|south,5\n");
    let wide: String = (0..200).map(|v| format!("{v},{v},{v},{v},1\n")).collect();
    folder.write("wide.csv", &format!("a,b,c,d,count\n{wide}"));
    let rendered: Vec<String> = [
        "nowhere.csv --k 5",
        "no_count.csv --k 5",
        "no_count.csv --k 5 --count persons",
        "twice.csv --k 5",
        "heading.csv --k 5",
        "noisy.csv --k 5",
        "negative.csv --k 5",
        "hidden.csv --k 5",
        "rows.csv --k 5",
        "short.csv --k 5",
        "wide.csv --k 5",
        "by_region.csv more.csv --k 5",
        "all.csv other.csv --k 5",
        "by_sex.csv rest.csv --k 5 --complete",
        "all.csv --k 0",
        "all.csv --k five",
        "all.csv --k 5 --suppressed-below 0",
    ]
    .iter()
    .map(|line| format!("> {line}\n{}", folder.differencing(line).refusal()))
    .collect();
    insta::assert_snapshot!(rendered.join("\n"));
    let missing =
        Run::of(command_in(Path::new("."), &["assess", "differencing"]).output().unwrap());
    assert_eq!(missing.code, Some(2), "{missing:?}");
}
