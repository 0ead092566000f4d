use hushtable_contract::{DateOrder, NumberFormat, TextFormat};
use hushtable_engine::ProposedType;

use super::*;

fn column(name: &str, column_type: Option<ColumnType>, file_type: &str) -> FileColumn {
    FileColumn { name: name.to_owned(), column_type, file_type: file_type.to_owned() }
}

fn sample() -> Vec<DraftTable> {
    let visits = DraftTable::new(
        "shop/visits.parquet",
        "visits.parquet".to_owned(),
        vec![
            column("customer_id", Some(ColumnType::Int), "int32"),
            column("amount paid", Some(ColumnType::Decimal { scale: 2 }), "decimal(12, 2)"),
            column("seen", Some(ColumnType::Timestamp), "timestamp(ms, UTC)"),
            column("tags \"all\"\n", None, "list"),
        ],
        &[],
    );
    let claims = DraftTable::new(
        "claims/*.csv.gz",
        "claims/*.csv.gz".to_owned(),
        vec![
            column("größe", Some(ColumnType::String), "text"),
            column("", Some(ColumnType::String), "text"),
            column("year", Some(ColumnType::String), "folder"),
        ],
        std::slice::from_ref(&visits),
    );
    let csv = CsvSettings::new(';', Some('"'), "windows-1252", TextFormat::default()).unwrap();
    vec![visits, claims.text(csv)]
}

#[test]
fn drafts_read_as_expected() {
    insta::assert_snapshot!("draft", contract(&sample(), None));
    insta::assert_snapshot!("draft_of_one", contract(&sample()[..1], None));
}

#[test]
fn drafts_from_rows_say_so() {
    let columns =
        ["id", "amount", "day"].map(|name| column(name, Some(ColumnType::String), "text"));
    let table = DraftTable::new("x.csv", "x.csv".to_owned(), columns.to_vec(), &[]);
    let numbers = NumberFormat::new(',', Some('.'), vec!["€".to_owned(), "\\".to_owned()]).unwrap();
    let null = vec!["NA".to_owned(), "\"".to_owned()];
    let values = TextFormat::new(null, numbers, Some(DateOrder::DayMonthYear)).unwrap();
    let csv = CsvSettings::new('\t', Some('"'), "utf-8", values).unwrap();
    let types = [ColumnType::String, ColumnType::Decimal { scale: 2 }, ColumnType::Date];
    let proposed = columns.iter().zip(types).map(|(column, column_type)| ProposedType {
        name: column.name.clone(),
        column_type,
        note: (column.name == "id").then_some("codes with a zero in front"),
        misfits: usize::from(column.name == "day"),
        forms: (column.name == "day").then_some("a.A.".to_owned()).into_iter().collect(),
    });
    let found = SuggestedTypes { rows: 1234, csv: Some(csv.clone()), columns: proposed.collect() };
    let draft = Draft { tables: vec![table.looked_at(found)] };
    let text = draft.text();
    insta::assert_snapshot!("looked_at", text);
    // Nothing of them is in the draft, which analysts may see.
    let misfits = draft.misfits();
    assert_eq!((misfits.len(), misfits[0].column.as_str(), misfits[0].values), (1, "day", 1));
    assert!(!text.contains("a.A.") && !text.contains("1234"), "{text}");
    // The contract reads what is proposed.
    let decided = text.replace("\"TODO: a column, or row\"", "\"id\"").replace(
        "analyst = \"TODO: { epsilon = …, delta = … }, under the analyst's name\"",
        "ana = { rho = 1 }",
    );
    let contract = hushtable_contract::Contract::parse(&decided, "hushtable.toml").unwrap();
    assert_eq!(contract.tables["x"].csv, Some(csv));
}

/// Columns are keys, and types are proposed only where the owner asks for a look.
#[test]
fn drafts_of_json_lines_read_keys_and_values_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (1..100).map(|n| format!("{{\"id\":\"{n:03}\",\"paid\":{n}.25,\"n\":{n}}}\n"));
    let path = folder.path().join("visits.jsonl");
    let odd = "{\"id\":\"100\",\"Alice Smith\":1}\n".to_owned();
    std::fs::write(&path, rows.chain([odd]).collect::<String>()).unwrap();
    let locations = [path.to_str().unwrap().to_owned()];
    let text = |look| Draft::of(&locations, Path::new(""), look).unwrap().text();
    let (unseen, looked) = (text(false), text(true));
    for (text, expected) in [
        (&unseen, "[tables.visits]\n"),
        (&unseen, "keys of JSON were read, and no value"),
        (&unseen, "# They are keys that two or more of the first rows have:"),
        (&unseen, "\nid = { type = \"string\" }\npaid = { type = \"string\" }\nn = { type"),
        (&looked, "\n# The types below: proposed from the first rows, as the owner asked with\n"),
        (&looked, "\nid = { type = \"string\" }        # codes with a zero in front\n"),
        (&looked, "\npaid = { type = \"decimal(2)\" }\nn = { type = \"int\" }\n"),
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    // A key of one row can be about one person.
    let hidden = |text: &&String| text.contains("csv = ") || text.contains("Alice");
    assert!(![&unseen, &looked].iter().any(hidden));
    for empty in ["", "[{\"id\":1}]\n", "{\"a\":1}\n{\"b\":1}\n"] {
        std::fs::write(&path, empty).unwrap();
        let error = Draft::of(&locations, Path::new(""), false).unwrap_err().to_string();
        assert!(error.contains("no key is on two of the first lines"), "{error}");
    }
}

#[test]
fn drafts_are_toml_and_wait_for_their_owner() {
    let text = contract(&sample(), None);
    toml::from_str::<toml::Table>(&text).unwrap();
    let error = hushtable_contract::Contract::parse(&text, "hushtable.toml").unwrap_err();
    assert_eq!(all_todos(&error.what), ["analyst", "unit"]);
    let one = contract(&sample()[..1], None);
    let error = hushtable_contract::Contract::parse(&one, "hushtable.toml").unwrap_err();
    assert_eq!(all_todos(&error.what), ["privacy_unit", "analyst"]);
}

/// The settings that an error says are to be decided.
fn all_todos(what: &str) -> Vec<&str> {
    let all = what.split_once("still to be decided by the owner of the data: ").unwrap().1;
    all.split('`').skip(1).step_by(2).collect()
}

#[test]
fn tables_get_names_that_sql_knows() {
    for (location, name) in [
        ("visits.csv", "visits"),
        ("data/visits.2024.csv.gz", "visits_2024"),
        ("claims/*.parquet", "claims"),
        ("claims/", "claims"),
        ("a/**/*.pq", "a"),
        ("part-*.CSV.ZST", "part"),
        ("visits.jsonl", "visits"),
        ("visits.ndjson.gz", "visits"),
        ("2024.csv", "table_2024"),
        ("Order.csv", "table_Order"),
        ("./*.csv", "data"),
        ("日本.csv", "data"),
        ("my visits (new).csv", "my_visits_new"),
    ] {
        assert_eq!(table_name(location), name, "{location}");
    }
    let first = DraftTable::new("a/x.csv", String::new(), Vec::new(), &[]);
    let second = DraftTable::new("b/X.csv", String::new(), Vec::new(), &[first]);
    assert_eq!(second.name, "X_2");
}

#[test]
fn keys_survive_toml() {
    for name in ["a", "a-b_1", "a b", "", "\"", "\\", "a.b", "ä", "\u{7f}\u{0}\n", "日本"] {
        let table: toml::Table = toml::from_str(&format!("{} = 1", key(name))).unwrap();
        assert!(table.contains_key(name), "{name:?}");
    }
}

#[test]
fn locations_are_relative_to_the_contract() {
    for (folder, location, seen) in [
        ("", "a/b.csv", "a/b.csv"),
        (".", "a/*.csv", "a/*.csv"),
        ("a", "a/b.csv", "b.csv"),
        ("a", "a", "."),
        ("x/y", "a/b.csv", "../../a/b.csv"),
        ("x/y", "x/z/*.csv", "../z/*.csv"),
        ("x", "/data/b.csv", "/data/b.csv"),
    ] {
        assert_eq!(seen_from(Path::new(folder), location), seen, "{folder} {location}");
    }
}
