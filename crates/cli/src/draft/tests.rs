use super::*;

fn column(name: &str, column_type: Option<ColumnType>, file_type: &str) -> FileColumn {
    FileColumn { name: name.to_owned(), column_type, file_type: file_type.to_owned() }
}

fn sample() -> Vec<DraftTable> {
    let visits = DraftTable::new(
        "shop/visits.parquet",
        "visits.parquet".to_owned(),
        false,
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
        true,
        vec![
            column("größe", Some(ColumnType::String), "text"),
            column("", Some(ColumnType::String), "text"),
        ],
        std::slice::from_ref(&visits),
    );
    vec![visits, claims]
}

#[test]
fn drafts_read_as_expected() {
    insta::assert_snapshot!("draft", contract(&sample()));
}

#[test]
fn drafts_are_toml_and_wait_for_their_owner() {
    let text = contract(&sample());
    toml::from_str::<toml::Table>(&text).unwrap();
    let error = hushtable_query::Contract::parse(&text, "hushtable.toml").unwrap_err();
    assert_eq!(error.what, "`privacy_unit` is still to be decided by the owner of the data");
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
        ("2024.csv", "table_2024"),
        ("Order.csv", "table_Order"),
        ("./*.csv", "data"),
        ("日本.csv", "data"),
        ("my visits (new).csv", "my_visits_new"),
    ] {
        assert_eq!(table_name(location), name, "{location}");
    }
    let first = DraftTable::new("a/x.csv", String::new(), true, Vec::new(), &[]);
    let second = DraftTable::new("b/X.csv", String::new(), true, Vec::new(), &[first]);
    assert_eq!(second.name, "X_2");
}

#[test]
fn keys_survive_toml() {
    for name in ["a", "a-b_1", "a b", "", "\"", "\\", "a.b", "ä", "\u{7f}\u{0}\n", "日本"] {
        let table: toml::Table = toml::from_str(&format!("{} = 1", key(name))).unwrap();
        assert!(table.contains_key(name), "{name:?}");
    }
}
