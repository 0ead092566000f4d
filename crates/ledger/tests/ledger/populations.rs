//! Another name, or other units, are no fresh budget.

use hushtable_ledger::{
    LedgerError, Location, NamedPopulation, Outcome, Populations, Request, Units, check_budget,
};
use insta::assert_snapshot;

use crate::support::{ChargeOne, Kind, answer, loss, pay, release, request, spent, with_each_kind};

/// A population's name, its tables with their units, and its former names.
type DeclaredPopulation<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

/// A contract of populations, each with its tables' units and its former names.
fn contract(all: &[DeclaredPopulation<'_>], retired: &[&str]) -> Populations {
    let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let named = all.iter().map(|(name, tables, formerly)| {
        let units = tables.iter().map(|(table, unit)| ((*table).to_owned(), (*unit).to_owned()));
        let (units, section) = (Units(units.collect()), format!("[units.{name}]"));
        ((*name).to_owned(), NamedPopulation { units, formerly: texts(formerly), section })
    });
    Populations::new(named.collect(), texts(retired))
}

fn of(population: &str, question: u64) -> Request {
    Request { population: population.to_owned(), ..request(question, "epsilon 0.25", "epsilon 1") }
}

/// The refusal of each way to a charge under a contract; they all say the same.
fn refusal(location: &Location, populations: &Populations, population: &str) -> Option<String> {
    let mut ledger = location.open(populations.clone()).unwrap();
    let limit = loss("epsilon 1");
    let account = ("alice", population);
    let least = loss("epsilon 0.25");
    let check = check_budget(Some(&*ledger), account, &[least], least, limit).err();
    let look = location.open_read_only(populations.clone()).unwrap().unwrap();
    let texts = [
        ledger.charge(&of(population, 90)).err(),
        ledger.charge_all(&[of(population, 91)]).err(),
        // Nor is an answer on record given.
        ledger.charge(&of(population, 1)).err(),
        check,
        look.check_populations().err(),
    ];
    let mut texts: Vec<Option<String>> = texts
        .into_iter()
        .map(|error| match error {
            None => None,
            Some(error @ LedgerError::PopulationsDiffer(_)) => Some(error.to_string()),
            Some(error) => panic!("{error}"),
        })
        .collect();
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:#?}");
    texts.remove(0)
}

/// Alice's charges under a contract, without a new one.
fn spent_under(location: &Location, populations: Populations, population: &str) -> String {
    let ledger = location.open_read_only(populations).unwrap().unwrap();
    ledger.account("alice", population, loss("epsilon 1")).unwrap().spent.to_string()
}

fn a_population_under_another_name_is_refused_until_the_contract_says_so(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let charge = pay(&mut *ledger, &request(1, "epsilon 0.25", "epsilon 1"));
    answer(&mut *ledger, charge, &release(1));
    drop(ledger);
    let visits: &[(&str, &str)] = &[("visits", "visits.customer")];
    // In other letter case, with the same units, and with nothing in common; another population
    // of the same contract is refused, too.
    let upper = contract(&[("VISITS", &[("VISITS", "VISITS.customer")], &[])], &[]);
    let person = contract(&[("person", visits, &[])], &[]);
    let firms = contract(&[("firms", &[("firms", "rows of firms")], &[])], &[]);
    let both = contract(&[("firms", &[("firms", "firms.id")], &[]), ("person", visits, &[])], &[]);
    assert_snapshot!("other_letter_case", refusal(&location, &upper, "VISITS").unwrap());
    assert_snapshot!("another_name", refusal(&location, &person, "person").unwrap());
    assert_snapshot!("nothing_in_common", refusal(&location, &firms, "firms").unwrap());
    assert_eq!(refusal(&location, &both, "firms"), refusal(&location, &person, "person"));

    // The account goes on, with what is on record.
    let person = contract(&[("person", visits, &["visits"])], &[]);
    let mut ledger = location.open(person.clone()).unwrap();
    assert!(matches!(ledger.charge(&of("person", 1)), Ok(Outcome::Stored(_))));
    let _charge = pay(&mut *ledger, &of("person", 2));
    assert_eq!(spent_under(&location, person.clone(), "person"), "epsilon = 0.5");
    // And under a third name all of it, if it has both.
    let human = |formerly| contract(&[("human", visits, formerly)], &[]);
    assert!(
        refusal(&location, &human(&["person"]), "human").unwrap().contains("charges on `visits`")
    );
    assert_eq!(spent_under(&location, human(&["person", "visits"]), "human"), "epsilon = 0.5");
    assert!(refusal(&location, &person, "person").is_none());
    // Or it is closed: others have a budget of their own.
    let retired = contract(&[("firms", &[("firms", "firms.id")], &[])], &["visits", "person"]);
    assert_eq!(refusal(&location, &retired, "firms"), None);
    assert_eq!(spent_under(&location, retired, "firms"), "epsilon = 0.75");
}

/// The check is a part of the charge: an open connection sees what others have charged since.
fn charges_of_another_process_are_looked_at(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let visits: &[(&str, &str)] = &[("visits", "visits.customer")];
    let person = contract(&[("person", visits, &["visits"])], &[]);
    let _charge = pay(&mut *ledger, &request(1, "epsilon 0.25", "epsilon 1"));
    let mut other = location.open(person).unwrap();
    let _charge = pay(&mut *ledger, &request(2, "epsilon 0.25", "epsilon 1"));
    let _charge = pay(&mut *other, &of("person", 3));
    let account = other.account("alice", "person", loss("epsilon 1")).unwrap();
    assert_eq!(account.spent, loss("epsilon 0.75"));
    let error = ledger.charge(&request(4, "epsilon 0.25", "epsilon 1")).unwrap_err();
    assert!(matches!(error, LedgerError::PopulationsDiffer(_)), "{error}");
}

fn other_units_under_the_same_name_are_refused_until_the_contract_says_so(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    drop(pay(&mut *ledger, &request(1, "epsilon 0.25", "epsilon 1")));
    assert_eq!(spent(&*ledger, "epsilon 1"), loss("epsilon 0.25"));
    drop(ledger);
    let now = |unit, formerly| contract(&[("visits", &[("visits", unit)], formerly)], &[]);
    assert_snapshot!(
        "another_unit_column",
        refusal(&location, &now("visits.person", &[]), "visits").unwrap()
    );
    assert_snapshot!(
        "rows_as_units",
        refusal(&location, &now("rows of visits", &["calls"]), "visits").unwrap()
    );
    let person = now("visits.person", &["visits.customer"]);
    assert_eq!(refusal(&location, &person, "visits"), None);
    assert_eq!(spent_under(&location, person.clone(), "visits"), "epsilon = 0.75");
    // Going back needs the word, too: charges have protected others since.
    assert!(refusal(&location, &now("visits.customer", &[]), "visits").is_some());
    // A new name for the population hides no other unit.
    let renamed = |formerly| contract(&[("p", &[("visits", "visits.household")], formerly)], &[]);
    let text = refusal(&location, &renamed(&["visits"]), "p").unwrap();
    assert!(text.contains("were `visits.customer` and `visits.person`"), "{text}");
    assert_eq!(
        refusal(&location, &renamed(&["visits", "visits.customer", "visits.person"]), "p"),
        None
    );
}

fn further_tables_need_no_word_and_other_paths_to_the_unit_do(kind: Kind) {
    let (_folder, location) = kind.new_location();
    let people = ("people", "people.id");
    let visits = ("visits", "visits.person_id");
    let bills = ("bills", "bills.visit_id references visits.visit_id");
    let person = |tables: &[(&str, &str)]| contract(&[("person", tables, &[])], &[]);
    let _charge = pay(&mut *location.open(person(&[people, visits])).unwrap(), &of("person", 1));
    for tables in [&[people, visits, bills][..], &[visits, bills], &[people], &[]] {
        assert_eq!(misfit(&location, &person(tables)), None, "{tables:?}");
    }
    let _charge = pay(&mut *location.open(person(&[visits, bills])).unwrap(), &of("person", 2));
    let by_other = ("bills", "bills.payer_id references people.id");
    for tables in [
        &[people, visits, by_other][..],
        &[people, ("visits", "visits.doctor_id")],
        &[("visits", "rows of visits")],
        // Nothing is there of what was charged for.
        &[("humans", "humans.id")],
    ] {
        assert!(misfit(&location, &person(tables)).is_some(), "{tables:?}");
    }
    assert_snapshot!(
        "no_table_in_common",
        misfit(&location, &person(&[("humans", "humans.id")])).unwrap()
    );
    let humans = contract(&[("person", &[("humans", "humans.id")], &["people.id"])], &[]);
    assert_eq!(misfit(&location, &humans), None);
}

fn a_table_that_moves_to_another_population_takes_no_fresh_budget(kind: Kind) {
    let (_folder, location) = kind.new_location();
    let [a, b, c, d] = [
        ("a", "a.id"),
        ("b", "b.id"),
        ("c", "c.id references a.id"),
        ("d", "d.id references b.id"),
    ];
    let p_and_q =
        |p: &[(&str, &str)], q: &[(&str, &str)]| contract(&[("p", p, &[]), ("q", q, &[])], &[]);
    let charged = p_and_q(&[a, c], &[b, d]);
    let _charge = pay(&mut *location.open(charged.clone()).unwrap(), &of("p", 1));
    assert_eq!(misfit(&location, &charged), None);
    // To one that was never charged: one table, all of them, and by another column.
    assert_snapshot!("moved_table", misfit(&location, &p_and_q(&[a], &[b, c, d])).unwrap());
    for moved in [p_and_q(&[], &[a, c]), p_and_q(&[a], &[("c", "c.other"), b, d])] {
        assert!(misfit(&location, &moved).is_some(), "{moved:?}");
    }
    let spelt =
        contract(&[("p", &[a], &[]), ("q", &[("C", "C.id references a.id"), b, d], &[])], &[]);
    assert!(misfit(&location, &spelt).unwrap().contains("`c` is"));
    // A population whose tables were not charged for gives and takes as it likes.
    assert_eq!(misfit(&location, &p_and_q(&[a, c, d], &[b])), None);
    // Both exchange tables, and names.
    let _charge = pay(&mut *location.open(charged).unwrap(), &of("q", 2));
    let swapped = misfit(&location, &p_and_q(&[a, d], &[b, c])).unwrap();
    assert!(swapped.contains("`c` is") && swapped.contains("`d` is"), "{swapped}");
    assert!(misfit(&location, &p_and_q(&[b, d], &[a, c])).is_some());
    // A closed account closes no table that holds the same units for others.
    let other = |c: (&str, &str)| contract(&[("q", &[b, d, c], &[])], &["p"]);
    assert_snapshot!("retired_table", misfit(&location, &other(c)).unwrap());
    assert_eq!(misfit(&location, &other(("c", "c.doctor"))), None);
    // The ways out: one population that has both accounts, and another name for the table.
    let one = contract(&[("q", &[a, b, c, d], &["p"])], &[]);
    assert_eq!(misfit(&location, &one), None);
    assert_eq!(spent_under(&location, one, "q"), "epsilon = 0.5");
    let renamed = p_and_q(&[a], &[b, ("others", "others.id references b.id"), d]);
    assert_eq!(misfit(&location, &renamed), None);
}

/// Whether a contract fits the ledger, without a question.
fn misfit(location: &Location, populations: &Populations) -> Option<String> {
    let ledger = location.open_read_only(populations.clone()).unwrap().unwrap();
    ledger.check_populations().err().map(|error| error.to_string())
}

fn a_population_that_no_contract_names_is_not_charged(kind: Kind) {
    let (_folder, _location, mut ledger) = kind.new_ledger();
    let error = ledger.charge(&of("nobody", 1)).unwrap_err();
    assert!(matches!(error, LedgerError::UnknownPopulation { .. }), "{error}");
    assert!(ledger.charge_all(&[of("visits", 1), of("nobody", 2)]).is_err());
    assert_eq!(ledger.charges().unwrap(), []);
}

fn the_record_has_the_units_and_both_names(kind: Kind) {
    let (_folder, location, mut ledger) = kind.new_ledger();
    let _charge = pay(&mut *ledger, &request(1, "epsilon 0.25", "epsilon 1"));
    let person = contract(&[("person", &[("visits", "visits.customer")], &["visits"])], &[]);
    let ledger = location.open_read_only(person).unwrap().unwrap();
    let charges = ledger.charges().unwrap();
    assert_eq!((charges[0].table.as_str(), charges[0].account.as_str()), ("visits", "person"));
    let units = [("visits".to_owned(), "visits.customer".to_owned())];
    assert_eq!(charges[0].units, Units(units.into()));
}

with_each_kind! {
    a_population_under_another_name_is_refused_until_the_contract_says_so,
    charges_of_another_process_are_looked_at,
    other_units_under_the_same_name_are_refused_until_the_contract_says_so,
    further_tables_need_no_word_and_other_paths_to_the_unit_do,
    a_table_that_moves_to_another_population_takes_no_fresh_budget,
    a_population_that_no_contract_names_is_not_charged,
    the_record_has_the_units_and_both_names,
}
