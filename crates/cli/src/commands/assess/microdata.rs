//! `hushtable assess microdata`.

use futures::executor::block_on;
use hushtable::knowledge::{GeneralisedValue, Linkage, linkages};
use hushtable::{MicrodataFile, Progress, Workers, read_microdata};

use crate::arguments::AssessMicrodataArguments;
use crate::failure::Failure;
use crate::progress::watched;
use crate::render::microdata::{MicrodataReport, Person};

pub(super) fn report(given: &AssessMicrodataArguments) -> Result<MicrodataReport, Failure> {
    let people: Vec<Person> =
        given.people.iter().map(|text| person(text, &given.quasi)).collect::<Result<_, _>>()?;
    let (workers, progress) = (Workers::new()?, Progress::default());
    let tables = watched("reading", &progress, || {
        block_on(read_microdata(&workers, &given.files, &given.quasi, &given.sensitive, &progress))
    })?;
    let linked = match tables.as_slice() {
        [one, other] if people.is_empty() => linked(one, other)?,
        _ => None,
    };
    Ok(MicrodataReport {
        quasi: given.quasi.clone(),
        sensitive: given.sensitive.clone(),
        tables,
        linked,
        people,
        all: given.all,
    })
}

/// The findings about two tables together, by the sensitive columns that both have.
fn linked(
    one: &MicrodataFile,
    other: &MicrodataFile,
) -> Result<Option<Vec<(usize, Linkage)>>, Failure> {
    let shared = one.has.iter().zip(&other.has).enumerate();
    let shared: Vec<usize> =
        shared.filter(|(_, (one, two))| **one && **two).map(|(column, _)| column).collect();
    if shared.is_empty() {
        return Err(Failure::new(
            "the tables have no sensitive column in common",
            "name a sensitive column that both have, or assess one table at a time",
        ));
    }
    let by_column = linkages(&one.table, &other.table, &shared).map_err(|error| {
        Failure::new(
            error.to_string(),
            "compare them for the people that you have in mind, as in --person age=28",
        )
    })?;
    Ok(Some(shared.into_iter().zip(by_column).collect()))
}

/// A person, as `NAME=VALUE,…`.
fn person(text: &str, quasi: &[String]) -> Result<Person, Failure> {
    let mut keys = vec![None; quasi.len()];
    let names = quasi.join(", ");
    for pair in text.split(',') {
        let wrong = |what: String| {
            Failure::new(
                format!("person = {text} is not valid: {what}"),
                format!("give NAME=VALUE with commas between, of the columns {names}"),
            )
        };
        let (name, value) =
            pair.split_once('=').ok_or_else(|| wrong(format!("`{pair}` has no =")))?;
        let index = quasi.iter().position(|column| column == name.trim()).ok_or_else(|| {
            wrong(format!("`{}` is not one of the quasi-identifiers", name.trim()))
        })?;
        if keys[index].replace(GeneralisedValue::new(value)).is_some() {
            return Err(wrong(format!("`{}` is given twice", name.trim())));
        }
    }
    Ok(Person {
        keys: keys.into_iter().map(|key| key.unwrap_or_else(GeneralisedValue::any)).collect(),
    })
}
