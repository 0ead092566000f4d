//! Every refusal of a contract, word for word, and what a good one says.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod common;

use std::fmt::Write as _;

use hushtable_contract::{Contract, DateOrder, TableUnit};

/// The error of the contract with one piece of text exchanged for another.
fn errors(changes: &[(&str, &str)]) -> String {
    let mut report = String::new();
    for (old, new) in changes {
        assert_eq!(common::CONTRACT.matches(old).count(), 1, "{old}");
        let text = common::CONTRACT.replacen(old, new, 1);
        let error = match Contract::parse(&text, "hushtable.toml") {
            Ok(_) => "ACCEPTED".to_owned(),
            Err(error) => error.to_string(),
        };
        writeln!(report, "{old}  =>  {new}\n-> {error}\n").unwrap();
    }
    report
}

#[test]
fn wrong_contracts() {
    insta::assert_snapshot!(errors(&[
        ("ledger = \"test.ledger\"", "ledger = 3"),
        ("ledger = \"test.ledger\"", "ledger = \"a\"\nledgers = \"b\""),
        ("ledger = \"test.ledger\"", "ledger = "),
        ("path = \"posts.parquet\"", ""),
        ("path = \"posts.parquet\"", "path = \"TODO\""),
        ("privacy_unit = \"author\"", ""),
        ("privacy_unit = \"author\"", "privacy_unit = \"TODO: row, or a column\""),
        ("privacy_unit = \"author\"", "privacy_unit = \"user\""),
        ("privacy_unit = \"author\"", "privacy_unit = \"year\""),
        ("privacy_unit = \"author\"", "privacy_unit = 1"),
        ("author = { type = \"int\" }", "author = { type = \"float\" }"),
        ("author = { type = \"int\" }", "author = { type = \"bool\" }"),
        ("neighbouring = \"replace\"", "neighbouring = \"swap\""),
        ("neighbouring = \"replace\"", "unique = [\"county\"]"),
        ("author = { type = \"int\" }", "author = { type = \"integer\" }"),
        ("author = { type = \"int\" }", "author = { }"),
        ("author = { type = \"int\" }", "author = \"int\""),
        ("author = { type = \"int\" }", "author = { type = \"int\", bound = 1 }"),
        ("bounds = [-10, 100]", "bounds = [100, -10]"),
        ("bounds = [-10, 100]", "bounds = [100]"),
        ("bounds = [-10, 100]", "bounds = [0, nan]"),
        ("bounds = [-10, 100]", "bounds = [0, \"TODO\"]"),
        ("forum = { type = \"string\" }", "forum = { type = \"string\", bounds = [0, 1] }"),
        ("forum = { type = \"string\" }", "forum = { type = \"string\", column = \"\" }"),
        ("forum = { type = \"string\" }", "forum = { type = \"string\", column = \"price\" }"),
        ("\"fr\"] }", "\"fr\"], column = \"language\" }"),
        ("forum = { type = \"string\" }", "forum = { type = \"string\", max_bytes = 0 }"),
        ("forum = { type = \"string\" }", "forum = { type = \"string\", max_bytes = 65537 }"),
        ("author = { type = \"int\" }", "author = { type = \"int\", max_bytes = 8 }"),
        ("\"fr\"] }", "\"fr\"], max_bytes = 1 }"),
        (
            "forum = { type = \"string\" }",
            "forum = { type = \"string\", expression = \"UPPER(UPPER(UPPER(lang)))\" }",
        ),
        ("granularity = 0.0625", "granularity = 0.1"),
        ("granularity = 0.0625", "granularity = 0"),
        ("public_keys = [\"de\", \"en\", \"fr\"]", "public_keys = []"),
        ("public_keys = [\"de\", \"en\", \"fr\"]", "known_keys = [\"de\", \"de\"]"),
        ("public_keys = [\"de\", \"en\", \"fr\"]", "split = 10"),
        ("public_keys = [\"de\", \"en\", \"fr\"]", "public_keys = [\"de\"], known_keys = [\"en\"]"),
        ("public_keys = [\"de\", \"en\", \"fr\"]", "public_keys = [\"de\", \"de\"]"),
        ("public_keys = [\"de\", \"en\", \"fr\"]", "public_keys = [1]"),
        ("public_keys = [false, true]", "public_keys = [0, 1]"),
        ("EXTRACT(YEAR FROM posted)", "EXTRACT(YEAR FROM price)"),
        ("EXTRACT(YEAR FROM posted)", "DATE_TRUNC(posted, YEAR)"),
        ("EXTRACT(YEAR FROM posted)", "posted +"),
        ("EXTRACT(YEAR FROM posted)", "score"),
        ("EXTRACT(YEAR FROM posted)", "year + 1"),
        (
            "public_keys = [2024, 2025] }",
            "public_keys = [2024, 2025] }\n\
             twin = { type = \"int\", expression = \"extract(YEAR from posted)\" }",
        ),
        ("{ epsilon = 3, delta = 1e-5 }", "{ epsilon = 3, rho = 1 }"),
        ("{ epsilon = 3, delta = 1e-5 }", "{ delta = 1e-5 }"),
        ("{ epsilon = 3, delta = 1e-5 }", "{ epsilon = -3 }"),
        ("{ epsilon = 3, delta = 1e-5 }", "{ epsilon = 3, delta = 1 }"),
        ("{ epsilon = 3, delta = 1e-5 }", "3"),
        ("ana = { rho = 1.5 }", ""),
        ("rho = 0.1\ndelta = 1e-6", "rho = 0.1\nepsilon = 1"),
        ("rho = 0.1\ndelta = 1e-6", "rho = 0.1\nmax_groups_contributed = 0"),
        ("rho = 0.1\ndelta = 1e-6", "rho = 0.1\ngroup_selection_strategy = \"BEST\""),
    ]));
    let csv = |settings: &str| format!("neighbouring = \"replace\"\ncsv = {settings}");
    let settings = [
        "3",
        "{ delimiters = \";\" }",
        "{ delimiter = \"\" }",
        "{ delimiter = \";;\" }",
        "{ delimiter = \"x\" }",
        "{ delimiter = \"\\n\" }",
        "{ delimiter = \"\\\"\" }",
        "{ quote = \"«\" }",
        "{ quote = \",\" }",
        "{ quote = \"'\", thousands = \"'\" }",
        "{ encoding = \"latin-42\" }",
        "{ encoding = \"iso-2022-jp\" }",
        "{ encoding = \"TODO\" }",
        "{ null = \"NA\" }",
        "{ null = [1] }",
        "{ decimal = \"'\" }",
        "{ decimal = 1 }",
        "{ thousands = \".\" }",
        "{ decimal = \",\", thousands = \",\" }",
        "{ thousands = \"\" }",
        "{ thousands = \"x\" }",
        "{ decimal = \",\", quote = \"\" }",
        "{ delimiter = \";\", thousands = \".\", decimal = \",\", quote = \";\" }",
        "{ delimiter = \".\", quote = \"\" }",
        "{ currency = [\"5\"] }",
        "{ currency = [\" €\"] }",
        "{ currency = [\"\"] }",
        "{ currency = [\".\"] }",
        "{ dates = \"DDMMYY\" }",
        "{ max_bytes = 0 }",
        "{ max_bytes = 65537 }",
    ];
    let lines: Vec<String> = settings.iter().map(|settings| csv(settings)).collect();
    let changes: Vec<(&str, &str)> =
        lines.iter().map(|line| ("neighbouring = \"replace\"", line.as_str())).collect();
    insta::assert_snapshot!("wrong_csv_settings", errors(&changes));
    insta::assert_snapshot!("empty", Contract::parse("", "hushtable.toml").unwrap_err());
}

/// Names that people would take for one, in every alphabet.
#[test]
fn names_that_differ_in_letter_case_or_spaces_alone_are_refused() {
    let budget = "bo = { rho = 0.5, delta = 1e-5 }";
    let other = |name: &str| format!("{budget}\n{name} = {{ epsilon = 1 }}");
    let (upper, spaces) = (other("Ana"), other("\" a  n\u{a0}a \""));
    let greek = other("\"ΓΆΜΜΑ\" = { epsilon = 1 }\n\"γάμμα\"");
    let elsewhere = "ANA = { rho = 1.5 }";
    insta::assert_snapshot!(errors(&[
        (budget, &upper),
        (budget, &spaces),
        (budget, &greek),
        ("ana = { rho = 1.5 }", elsewhere),
        ("[tables.loans.budgets]", "[tables.loans.budgets]\n[tables.\"LO ANS\"]"),
        ("[tables.loans.budgets]", "[tables.loans.budgets]\n[tables.Posts]"),
    ]));
    let others = other("anna");
    let text = common::CONTRACT.replacen(budget, &others, 1);
    assert_eq!(
        Contract::parse(&text, "hushtable.toml").unwrap().populations["posts"].budgets.len(),
        3
    );
}

#[test]
fn a_good_contract_is_read_exactly() {
    let contract = common::contract();
    assert_eq!(contract.ledger, "test.ledger");
    let posts = contract.table("POSTS").unwrap();
    assert_eq!(posts.unit, TableUnit::Column("author".to_owned()));
    assert_eq!(
        contract.populations["posts"].budgets["ana"].to_string(),
        "epsilon = 3, delta = 1e-5"
    );
    let (low, high) = posts.column("price").unwrap().bounds.unwrap();
    assert_eq!((low.to_string(), high.to_string()), ("0".to_owned(), "99.99".to_owned()));
    assert!(posts.column("year").unwrap().expression.is_some());
    assert_eq!(posts.stored_columns().len(), 9);
}

#[test]
fn csv_settings_are_read_and_belong_to_the_question() {
    let with = |settings: &str| {
        let line = format!("neighbouring = \"replace\"\n{settings}");
        let text = common::CONTRACT.replacen("neighbouring = \"replace\"", &line, 1);
        Contract::parse(&text, "hushtable.toml").unwrap()
    };
    let all = "csv = { delimiter = \";\", quote = \"'\", encoding = \"latin1\", null = [\"\", \
               \"NA\"], decimal = \",\", thousands = \".\", currency = [\"€\", \"kr.\"], \
               dates = \"DMY\" }";
    let contract = with(all);
    let csv = contract.tables["loans"].csv.as_ref().unwrap();
    assert_eq!((csv.delimiter(), csv.quote()), (';', Some('\'')));
    // The standard's name for it, as browsers have it.
    assert_eq!(csv.encoding().name(), "windows-1252");
    let numbers = csv.values().numbers();
    assert_eq!((numbers.decimal(), numbers.thousands()), (',', Some('.')));
    assert_eq!(numbers.currency(), ["€", "kr."]);
    assert_eq!(csv.values().null(), ["", "NA"]);
    assert_eq!(csv.values().dates(), Some(DateOrder::DayMonthYear));
    // A field in quotes may hold the delimiter.
    for csv in
        ["csv = { thousands = \",\" }", "csv = { decimal = \",\" }", "csv = { quote = \"\" }"]
    {
        with(csv);
    }

    let question = |settings: &str| {
        let query = hushtable_plan::bind(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.1) COUNT(*) AS n FROM loans",
            &with(settings),
        );
        serde_json::to_string(&query.unwrap()).unwrap()
    };
    let mut questions: Vec<String> = [
        "",
        all,
        "csv = { decimal = \",\" }",
        "csv = { quote = \"\" }",
        "csv = { encoding = \"latin1\" }",
        "csv = { null = [\"NA\"] }",
        "csv = { dates = \"DMY\" }",
        "csv = { dates = \"MDY\" }",
        "csv = { currency = [\"$\"] }",
        "csv = { thousands = \",\" }",
        "csv = { delimiter = \"|\" }",
        "csv = { max_bytes = 64 }",
    ]
    .map(question)
    .to_vec();
    let all = questions.len();
    questions.sort();
    questions.dedup();
    assert_eq!(questions.len(), all);
}

#[test]
fn unique_keys_are_columns_of_public_tables() {
    let with = |unique: &str| {
        let text = format!(
            "{}\n[tables.towns]\npath = \"towns.csv\"\npublic = true\n{unique}\n\
             [tables.towns.columns]\ntown = {{ type = \"string\" }}\n\
             upper = {{ type = \"string\", expression = \"UPPER(town)\" }}\n",
            common::CONTRACT
        );
        Contract::parse(&text, "hushtable.toml")
    };
    assert_eq!(with("unique = [\"town\"]").unwrap().tables["towns"].unique, ["town"]);
    assert!(with("").unwrap().tables["towns"].unique.is_empty());
    let mut report = String::new();
    for unique in [
        "unique = true",
        "unique = []",
        "unique = [1]",
        "unique = [\"city\"]",
        "unique = [\"upper\"]",
        "unique = [\"town\", \"town\"]",
    ] {
        writeln!(report, "{unique}\n-> {}\n", with(unique).unwrap_err()).unwrap();
    }
    insta::assert_snapshot!(report);
}

/// Types in which two values of the files can become one name no unit, and no row that others refer
/// to.
#[test]
fn columns_that_tell_units_apart_are_known_and_of_types_that_can() {
    let contract = |visit: &str| {
        let text = format!(
            "units.person.budgets.ana = {{ epsilon = 1 }}\n\
             [tables.people]\npath = 'people.csv'\n\
             unit = {{ of = 'person', column = 'id' }}\n\
             columns = {{ id = {{ type = 'string' }}, born = {{ type = 'date' }} }}\n\
             [tables.visits]\npath = 'visits.csv'\n\
             unit = {{ of = 'person', column = 'person' }}\n\
             columns = {{ person = {{ type = 'int' }}, visit = {{ type = '{visit}' }} }}\n\
             [tables.claims]\npath = 'claims.csv'\n\
             unit = {{ of = 'person', \
             through = {{ column = 'of', references = 'visits.visit' }} }}\n\
             columns = {{ of = {{ type = '{visit}' }}, euros = {{ type = 'float' }} }}\n"
        );
        Contract::parse(&text, "hushtable.toml")
    };
    for allowed in ["int", "decimal(2)", "string", "date", "timestamp"] {
        let contract = contract(allowed).unwrap();
        let columns = |table: &str| {
            let columns = contract.identifying(&contract.tables[table]);
            columns.into_iter().collect::<Vec<_>>().join(", ")
        };
        assert_eq!(columns("people"), "id");
        assert_eq!(columns("visits"), "person, visit");
        assert_eq!(columns("claims"), "of");
    }
    let refused = ["float", "bool"].map(|other| contract(other).unwrap_err().to_string());
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn former_names_are_of_one_account_and_not_in_use() {
    let formerly =
        |table: &str, names: &str| format!("privacy_unit = \"{table}\"\nformerly = {names}");
    let posts = |names| formerly("author", names);
    let retired = |names: &str| format!("ledger = \"test.ledger\"\nretired = {names}");
    let both = "neighbouring = \"replace\"\nformerly = [\"members\"]";
    let lines = [
        ("privacy_unit = \"author\"", posts("3")),
        ("privacy_unit = \"author\"", posts("[]")),
        ("privacy_unit = \"author\"", posts("[3]")),
        ("privacy_unit = \"author\"", posts("[\"TODO\"]")),
        ("privacy_unit = \"author\"", posts("[\"users\", \"users\"]")),
        ("privacy_unit = \"author\"", posts("[\"posts\"]")),
        ("privacy_unit = \"author\"", posts("[\"users\", \"loans\"]")),
        ("privacy_unit = \"author\"", posts("[\"posts.author\"]")),
        ("ledger = \"test.ledger\"", retired("[]")),
        ("ledger = \"test.ledger\"", retired("\"posts\"")),
        ("ledger = \"test.ledger\"", retired("[\"posts\"]")),
        ("ledger = \"test.ledger\"", retired("[\"users\", \"users\"]")),
    ];
    let changes: Vec<(&str, &str)> = lines.iter().map(|(old, new)| (*old, new.as_str())).collect();
    let mut report = errors(&changes);
    // In two places.
    for (first, second) in [
        (
            ("privacy_unit = \"author\"", posts("[\"members\"]")),
            ("neighbouring = \"replace\"", both),
        ),
        (
            ("ledger = \"test.ledger\"", retired("[\"members\"]")),
            ("neighbouring = \"replace\"", both),
        ),
    ] {
        let text = common::CONTRACT.replacen(first.0, &first.1, 1).replacen(second.0, second.1, 1);
        let error = Contract::parse(&text, "hushtable.toml").unwrap_err();
        writeln!(report, "{}, {}\n-> {error}\n", first.1, second.1).unwrap();
    }
    insta::assert_snapshot!(report);
}

#[test]
fn former_names_are_read_and_units_have_texts() {
    let text = "retired = [\"staff\"]\n\
                [units.person]\nformerly = [\"t\", \"t.customer_id\"]\nbudgets.ana.epsilon = 1\n\
                [tables.T]\npath = \"t.csv\"\nunit = { of = \"person\", column = \"id\" }\n\
                columns = { id.type = \"int\", visit.type = \"int\" }\n\
                [tables.bills]\npath = \"b.csv\"\ncolumns.visit.type = \"int\"\n\
                unit = { of = \"person\", through = { column = \"visit\", \
                references = \"T.visit\" } }\n\
                [tables.rows]\npath = \"r.csv\"\nprivacy_unit = \"row\"\nformerly = [\"lines\"]\n\
                columns = {}\nbudgets.ana.epsilon = 1\n\
                [tables.towns]\npath = \"o.csv\"\npublic = true\ncolumns = {}\n";
    let contract = Contract::parse(text, "hushtable.toml").unwrap();
    assert_eq!(contract.retired, ["staff"]);
    let (person, rows) = (&contract.populations["person"], &contract.populations["rows"]);
    assert_eq!(person.formerly, ["t", "t.customer_id"]);
    assert_eq!(
        (person.section.as_str(), rows.section.as_str()),
        ("[units.person]", "[tables.rows]")
    );
    let units = |text: &[(&str, &str)]| {
        text.iter().map(|(table, unit)| ((*table).to_owned(), (*unit).to_owned())).collect()
    };
    let of_person = units(&[("T", "T.id"), ("bills", "bills.visit references T.visit")]);
    assert_eq!(contract.units_of(person), of_person);
    assert_eq!(contract.units_of(rows), units(&[("rows", "rows of rows")]));
    // Where a table is of a population, the population's names stand there; a public one has none.
    for (old, new) in [
        ("column = \"id\" }", "column = \"id\" }\nformerly = [\"x\"]"),
        ("public = true", "public = true\nformerly = [\"x\"]"),
    ] {
        let error = Contract::parse(&text.replacen(old, new, 1), "hushtable.toml").unwrap_err();
        assert!(error.what.contains("not a population of its own"), "{error}");
    }
}
