//! Columns that SQL calls otherwise than their files do.

use super::{Fixture, Wait, exactly, json};
use crate::answer::Standing;
use crate::error::EngineError;
use crate::progress::Progress;

const CSV: &str =
    "Kunden-Nr.;Betrag (€);Ort;Land\n1;3,50;Ulm;DE\n2;4,25;Ulm;DE\n2;1,00;Bonn;DE\nx;9,00;Ulm;DE\n";

fn contract(customer: &str) -> String {
    format!(
        r#"
[units.customer]
budgets.ana = {{ epsilon = 1000000, delta = 0.999999 }}
[tables.sales]
path = "sales.csv"
csv = {{ delimiter = ";", decimal = "," }}
unit = {{ of = "customer", column = "customer" }}
[tables.sales.columns]
customer = {{ type = "int", column = "{customer}" }}
amount = {{ type = "decimal(2)", bounds = [0, 10], column = "Betrag (€)" }}
town = {{ type = "string", max_bytes = 4, column = "Ort" }}
"#
    )
}

const SQL: &str = "town, COUNT(*) AS n, SUM(amount) AS s FROM sales GROUP BY town ORDER BY town";

#[test]
fn sql_has_one_name_and_the_file_another() {
    let fixture = Fixture::new(&contract("Kunden-Nr."), &[("sales.csv", CSV)]);
    // The last row has no customer.
    assert_eq!(fixture.rows(&exactly(SQL)), "Bonn|1|1.00\nUlm|2|7.75\n");
    let check = fixture.session().check_data(Some("sales"), None, &Progress::default()).wait();
    let check = json(&check.unwrap()).to_string();
    assert!(check.contains("\"amount\"") && !check.contains("Betrag"), "{check}");
}

/// Another column of the file is another question, and a unit of another column is another unit.
#[test]
fn names_in_files_belong_to_questions_and_units() {
    let fixture = Fixture::new(&contract("Kunden-Nr."), &[("sales.csv", CSV)]);
    fixture.ask(&exactly(SQL), 1).unwrap();
    let standing = |fixture: &Fixture| {
        let explained = fixture.session().explain(&exactly(SQL), None).wait().unwrap();
        explained.parts[0].standing
    };
    assert_eq!(standing(&fixture), Standing::OnRecord);
    let text = contract("Kunden-Nr.").replace("\"Ort\"", "\"Land\"");
    std::fs::write(fixture.contract(), text).unwrap();
    assert_ne!(standing(&fixture), Standing::OnRecord);
    let unit = |customer: &str| {
        let text = contract(customer);
        std::fs::write(fixture.contract(), text).unwrap();
        let session = fixture.session();
        session.contract().tables["sales"].unit_text()
    };
    assert_eq!(unit("Kunden-Nr."), "sales.\"Kunden-Nr.\"");
    assert_ne!(unit("Ort."), unit("Kunden-Nr."));
}

/// Two tables of one file have the same units only where these are the same column of it.
#[test]
fn tables_of_one_file_have_one_unit() {
    let second = |customer: &str| {
        let second = contract(customer).replace("[tables.sales", "[tables.again");
        let (_, second) = second.split_once("[tables.again]").unwrap();
        format!("{}\n[tables.again]{second}", contract("Kunden-Nr."))
    };
    let asked = |customer: &str| {
        let fixture = Fixture::new(&second(customer), &[("sales.csv", CSV)]);
        fixture.ask(&exactly(SQL), 1).map(|_| ())
    };
    asked("Kunden-Nr.").unwrap();
    let error = asked("Kunde").unwrap_err();
    assert!(matches!(error, EngineError::SharedFile { .. }), "{error}");
}

#[test]
fn a_column_that_the_file_lacks_is_named_as_the_file_would() {
    let fixture = Fixture::new(&contract("Kunden-Nr"), &[("sales.csv", CSV)]);
    let error = fixture.ask(&exactly(SQL), 1).unwrap_err().to_string();
    assert!(error.contains("column `Kunden-Nr`"), "{error}");
}
