use super::*;

const GOOD: &str = r#"[parameters]
mu = { values = [-10, 10] }
share = { values = [0.5, 1, 2.25], probabilities = [0.1, "1/3", "17/30"] }
word = { values = ["a", "b"] }
[records]
first = "10 * mu"
[attacker]
target = "first"
knows = ["mu > 0", "word"]
[mechanism]
publishes = ["first", "first + coin"]
noise.coin = { values = [0, 1], probabilities = ["3/4", 0.25] }
"#;

#[test]
fn a_model_is_read_as_written() {
    let model = ModelFile::parse(GOOD, "m.toml").unwrap();
    assert_eq!(model.parameters.len(), 3);
    assert_eq!(model.parameters[0].values, [Value::Int(-10), Value::Int(10)]);
    assert_eq!(model.parameters[0].probabilities, None);
    let share = &model.parameters[1];
    assert_eq!(share.column_type, ColumnType::Decimal { scale: 2 });
    assert_eq!(share.values[1], Value::Decimal { digits: 100, scale: 2 });
    let texts: Vec<&str> =
        share.probabilities.as_ref().unwrap().iter().map(|p| p.text.as_str()).collect();
    assert_eq!(texts, ["0.1", "1/3", "17/30"]);
    assert_eq!(share.line, 3);
    let records = model.records.unwrap();
    assert_eq!(
        records,
        [("first".to_owned(), WrittenText { text: "10 * mu".to_owned(), line: 6 })]
    );
    assert_eq!(model.knowledge[1], WrittenText { text: "word".to_owned(), line: 9 });
    let Publication::Expressions { written, noise } = model.publication else { panic!() };
    assert_eq!((written.len(), noise.len()), (2, 1));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let changed = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        GOOD.replace(from, to)
    };
    let errors: Vec<String> = [
        String::new(),
        "[parameters".to_owned(),
        "[parameters]\n".to_owned(),
        changed("[parameters]", "[parameter]"),
        changed("[-10, 10]", "[]"),
        changed("[-10, 10]", "[-10, 10, -10]"),
        changed("[-10, 10]", "[-10, \"ten\"]"),
        changed("[-10, 10]", "[-10, true]"),
        changed("[-10, 10]", "[[1], 2]"),
        changed("[-10, 10]", "[nan, 2]"),
        changed("[-10, 10]", "[1e-30, 2]"),
        changed("[-10, 10]", "7"),
        changed("{ values = [-10, 10] }", "7"),
        changed("{ values = [-10, 10] }", "{ probabilities = [1] }"),
        changed("{ values = [-10, 10] }", "{ values = [1], chances = [1] }"),
        changed("[0.1, \"1/3\", \"17/30\"]", "[0.1, 0.9]"),
        changed("[0.1, \"1/3\", \"17/30\"]", "[0.1, true, 0.9]"),
        changed("first = \"10 * mu\"", "First = \"mu\"\nfirst = \"mu\""),
        changed("first = \"10 * mu\"", "MU = \"1\""),
        changed("first = \"10 * mu\"", "first = 10"),
        changed("first = \"10 * mu\"", ""),
        changed("target = \"first\"", "target = \"mu\""),
        changed("target = \"first\"", ""),
        changed("target = \"first\"", "target = 1"),
        changed("target = \"first\"", "target = []"),
        changed("\"word\"]", "3]"),
        changed("publishes = [\"first\", \"first + coin\"]", "publishes = []"),
        changed("publishes = [\"first\", \"first + coin\"]", ""),
        changed("coin =", "word ="),
        changed("noise.coin", "table = []\n[mechanism.noise]\ncoin"),
        GOOD.replace("publishes = [\"first\", \"first + coin\"]", "table = []")
            .replace("noise.coin", "#"),
        GOOD.replace("publishes = [\"first\", \"first + coin\"]", "table = [{ when = \"true\" }]")
            .replace("noise.coin", "#"),
        GOOD.replace(
            "publishes = [\"first\", \"first + coin\"]",
            "table = [{ publishes = { yes = true } }]",
        )
        .replace("noise.coin", "#"),
    ]
    .iter()
    .map(|text| ModelFile::parse(text, "m.toml").unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(errors.join("\n"));
}
