//! Tests of published microdata.

use hushtable_testkit::Dice;

use super::*;

fn owned<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// Rows of zip code, age, nationality and condition.
fn table(rows: &[([&str; 3], &str)]) -> Microdata {
    Microdata::new(3, rows.iter().map(|(quasi, condition)| (owned(*quasi), owned([*condition]), 1)))
}

/// The lecture's Figure 2.1.
fn figure_2_1() -> Microdata {
    let (young, old) = (["130**", "<30", "*"], ["130**", "≥40", "*"]);
    let thirties = ["130**", "3*", "*"];
    table(&[
        (young, "AIDS"),
        (young, "Heart Disease"),
        (young, "Viral Infection"),
        (young, "Viral Infection"),
        (old, "Cancer"),
        (old, "Heart Disease"),
        (old, "Viral Infection"),
        (old, "Viral Infection"),
        (thirties, "Cancer"),
        (thirties, "Cancer"),
        (thirties, "Cancer"),
        (thirties, "Cancer"),
    ])
}

/// The lecture's Figure 2.2.
fn figure_2_2() -> Microdata {
    let (young, old) = (["130**", "<35", "*"], ["130**", "≥35", "*"]);
    table(&[
        (young, "AIDS"),
        (young, "Tuberculosis"),
        (young, "Flu"),
        (young, "Tuberculosis"),
        (young, "Cancer"),
        (young, "Cancer"),
        (old, "Cancer"),
        (old, "Cancer"),
        (old, "Cancer"),
        (old, "Tuberculosis"),
        (old, "Viral Infection"),
        (old, "Viral Infection"),
    ])
}

fn texts(table: &Microdata, class: &EquivalenceClass) -> Vec<String> {
    table.keys(class).map(|key| key.text().to_owned()).collect()
}

/// Everybody in the thirties has cancer.
#[test]
fn one_class_of_figure_2_1_has_one_condition() {
    let (first, second) = (figure_2_1(), figure_2_2());
    assert_eq!((first.k(), first.records(), first.classes().len()), (Some(4), 12, 3));
    assert_eq!((second.k(), second.records(), second.classes().len()), (Some(6), 12, 2));
    assert_eq!((first.diversity(0), second.diversity(0)), (Some(1), Some(3)));
    let one: Vec<(Vec<String>, &str)> = first
        .classes()
        .iter()
        .filter_map(|class| Some((texts(&first, class), class.sensitive[0].only()?)))
        .collect();
    assert_eq!(one, [(owned(["130**", "3*", "*"]), "Cancer")]);
    assert!(second.classes().iter().all(|class| class.sensitive[0].only().is_none()));
    // Alice cannot have a broken leg.
    let alice = ["13012", "28", ""].map(GeneralisedValue::new);
    let possible = first.possible(&alice, 0).values.unwrap();
    assert_eq!(possible, BTreeSet::from(["AIDS", "Heart Disease", "Viral Infection"]));
}

/// Neither table alone tells what Alice has, who is 28 and lives in 13012, and both do together.
#[test]
fn figures_2_1_and_2_2_pin_down_one_condition() {
    let (first, second) = (figure_2_1(), figure_2_2());
    let alice = ["13012", "28", ""].map(GeneralisedValue::new);
    let (one, two) = (first.possible(&alice, 0), second.possible(&alice, 0));
    assert_eq!((one.classes, one.records, one.values.as_ref().unwrap().len()), (1, 4, 3));
    assert_eq!((two.classes, two.records, two.values.as_ref().unwrap().len()), (1, 6, 4));
    assert_eq!(one.in_both(&two), Some(BTreeSet::from(["AIDS".to_owned()])));

    let linkage = &linkages(&first, &second, &[0]).unwrap()[0];
    // <30 with <35; 3* with both; ≥40 with ≥35. Those of 3* have cancer anyway.
    assert_eq!((linkage.pairs, linkage.one_already, linkage.nobody), (4, 2, 0));
    assert_eq!((linkage.singling_out, linkage.narrowed), (1, 1));
    let pair = &linkage.singled_out[0];
    assert_eq!((pair.value.as_str(), pair.people), ("AIDS", 1));
    let [i, j] = pair.classes;
    assert_eq!(texts(&first, &first.classes()[i])[1], "<30");
    assert_eq!(texts(&second, &second.classes()[j])[1], "<35");
    // A bob of 40 has one of two.
    let bob = ["13012", "40", "*"].map(GeneralisedValue::new);
    let both = first.possible(&bob, 0).in_both(&second.possible(&bob, 0)).unwrap();
    assert_eq!(both.into_iter().collect::<Vec<_>>(), ["Cancer", "Viral Infection"]);
    // Nobody from elsewhere is in either.
    let carol = ["14012", "28", "*"].map(GeneralisedValue::new);
    assert_eq!((first.possible(&carol, 0).classes, second.possible(&carol, 0).classes), (0, 0));
}

#[test]
fn missing_values_may_be_any() {
    let rows = |conditions: &[&str]| {
        let rows = conditions
            .iter()
            .map(|condition| (owned(["1*"]), owned([*condition]), 2))
            .collect::<Vec<_>>();
        Microdata::new(1, rows)
    };
    let (hidden, plain) = (rows(&["flu", "*", ""]), rows(&["flu", "cold"]));
    let class = &hidden.classes()[0].sensitive[0];
    assert_eq!((class.only(), class.different(), class.missing), (None, 2, 4));
    let anybody = [GeneralisedValue::any()];
    let (one, two) = (hidden.possible(&anybody, 0), plain.possible(&anybody, 0));
    assert_eq!(one.values, None);
    let both = Some(BTreeSet::from(["cold".to_owned(), "flu".to_owned()]));
    assert_eq!((one.in_both(&two), two.in_both(&one)), (both.clone(), both));
    assert_eq!(one.in_both(&one), None);
    let linkage = &linkages(&hidden, &plain, &[0]).unwrap()[0];
    assert_eq!(
        (linkage.pairs, linkage.one_already, linkage.singling_out, linkage.nobody),
        (1, 0, 0, 0)
    );
    assert_eq!(linkages(&hidden, &rows(&["flu"]), &[0]).unwrap()[0].one_already, 1);
    assert_eq!(linkages(&plain, &rows(&["leg"]), &[0]).unwrap()[0].nobody, 1);
    // A table without rows has no k.
    assert_eq!((Microdata::new(1, []).k(), Microdata::new(1, []).diversity(0)), (None, None));
}

/// A person: two quasi-identifiers from 0 to 9, and a value.
type Person = ([u64; 2], &'static str);

/// A generalisation of some people at random: some columns in ranges, some in stars or sets; in
/// some tables people of one kind are generalised in different ways, so that classes overlap.
fn generalised(people: &[Person], overlapping: bool, dice: &mut Dice) -> Vec<Vec<String>> {
    let cut = [dice.below(9), dice.below(9)];
    let kind = [dice.below(4), dice.below(4)];
    people
        .iter()
        .map(|(quasi, _)| {
            (0..2)
                .map(|column| {
                    let (value, cut) = (quasi[column], cut[column]);
                    let kind = if overlapping { dice.below(5) } else { kind[column] };
                    match kind {
                        0 if value <= cut => format!("≤{cut}"),
                        0 => format!(">{cut}"),
                        1 => format!("{}-{}", value / 3 * 3, value / 3 * 3 + 2),
                        2 => format!("{}|{}", value / 2 * 2, value / 2 * 2 + 1),
                        3 => "*".to_owned(),
                        _ => value.to_string(),
                    }
                })
                .collect()
        })
        .collect()
}

/// Findings of two tables hold for everybody who is in both, against the people behind them. Where
/// classes do not overlap, the findings are complete.
#[test]
fn what_is_said_is_so_of_everybody() {
    let mut dice = Dice::new(5);
    let (mut single, mut some) = (0, 0);
    for round in 0..400 {
        let people: Vec<Person> = (0..dice.below(12) + 2)
            .map(|_| {
                let quasi = [dice.below(10), dice.below(10)];
                (quasi, dice.one(&["flu", "cold", "leg", "eye"]))
            })
            .collect();
        let overlapping = round % 2 == 1;
        let keys = [0, 1].map(|_| generalised(&people, overlapping, &mut dice));
        let tables = keys.each_ref().map(|keys| {
            let rows = keys.iter().zip(&people);
            Microdata::new(
                2,
                rows.map(|(keys, (_, condition))| (keys.clone(), owned([*condition]), 1)),
            )
        });
        // k, by counting.
        for (table, keys) in tables.iter().zip(&keys) {
            let alike = |person_keys: &Vec<String>| {
                keys.iter().filter(|key| *key == person_keys).count() as u64
            };
            assert_eq!(table.k(), keys.iter().map(alike).min());
        }
        let linkage = &linkages(&tables[0], &tables[1], &[0]).unwrap()[0];
        for (index, (quasi, condition)) in people.iter().enumerate() {
            let person = quasi.map(|value| GeneralisedValue::new(&value.to_string()));
            let possible = tables.each_ref().map(|table| table.possible(&person, 0));
            let both = possible[0].in_both(&possible[1]).unwrap();
            assert!(both.contains(*condition), "{people:?} {index}");
            // By hand: the values of all rows whose keys allow the person.
            for (possible, keys) in possible.iter().zip(&keys) {
                let allows = |keys: &[String]| {
                    keys.iter()
                        .zip(&person)
                        .all(|(key, value)| GeneralisedValue::new(key).meets(value))
                };
                let rows = keys.iter().zip(&people).filter(|(keys, _)| allows(keys));
                let values: BTreeSet<&str> =
                    rows.clone().map(|(_, (_, condition))| *condition).collect();
                assert_eq!(possible.values.as_ref(), Some(&values));
                assert_eq!(possible.records, rows.count() as u64);
            }
            let class = |table: usize| {
                let person_keys = &keys[table][index];
                let is = |class: &EquivalenceClass| texts(&tables[table], class) == *person_keys;
                tables[table].classes().iter().position(is).unwrap()
            };
            let pair = [class(0), class(1)];
            let finding = linkage.singled_out.iter().find(|finding| finding.classes == pair);
            assert!(
                finding.is_none_or(|finding| finding.value == *condition && finding.people >= 1),
                "{people:?}"
            );
            some += usize::from(finding.is_some());
            // If classes do not overlap, a finding names the pair wherever the person's value is
            // determined.
            let alone = possible.iter().any(|table| table.values.as_ref().unwrap().len() == 1);
            let determined = both.len() == 1 && !alone;
            assert!(overlapping || determined == finding.is_some(), "{people:?} {index}");
            single += usize::from(determined);
        }
    }
    assert!(single > 100 && some > 100, "{single} {some}");
}

#[test]
fn too_many_classes_are_refused() {
    let rows = |keys: std::ops::Range<u32>| {
        keys.map(|key| (vec![key.to_string()], owned(["x"]), 1)).collect::<Vec<_>>()
    };
    let many = Microdata::new(1, rows(0..10_001));
    let error = linkages(&many, &many, &[0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the tables have 100020001 pairs of classes; at most 100000000 \
        are compared"
    );
    let ranges = (0..2_100u32).map(|i| (vec![format!("{i}-9999")], owned(["x"]), 1));
    let nested = Microdata::new(1, ranges);
    let error = linkages(&nested, &nested, &[0]).unwrap_err();
    assert!(error.to_string().starts_with("more than 4000000 pairs of classes"), "{error}");
}
