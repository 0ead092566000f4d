//! `hushtable randomize` and `hushtable estimate`: reports that need no trusted collector.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use futures::executor::block_on;
use hushtable::mechanisms::{MechanismError, RandomisedResponse};
use hushtable::output::PendingFile;
use hushtable::privacy::{Epsilon, normal_quantile};
use hushtable::{Progress, Secret, Workers, randomise};

use crate::arguments::{EstimateArguments, RandomizeArguments, ResponseArguments, TextOrJson};
use crate::delayed_effects;
use crate::failure::Failure;
use crate::given_numbers::{amount, real, refuse};
use crate::progress::watched;
use crate::render::local::{EstimatedValue, json, text};
use crate::stdio;

/// The heading of reports.
const HEADING: &str = "report";

/// Most values that a report may have.
const MOST_VALUES: usize = 100_000;

pub(crate) fn randomize(arguments: &RandomizeArguments) -> Result<(), Failure> {
    let names = names(&arguments.response)?;
    let mechanism = mechanism(&arguments.response, names.len())?;
    let output = arguments.output.as_deref().map(PendingFile::replacing).transpose()?;
    let secret = match (&arguments.column, &arguments.predicate) {
        (Some(name), _) => Secret::Column {
            name: name.clone(),
            values: arguments.response.values.clone(),
            other: arguments.response.other.is_some(),
        },
        (None, predicate) => Secret::Predicate(predicate.clone().unwrap_or_default()),
    };
    let (workers, progress) = (Workers::new()?, Progress::default());
    let answers = watched("reading", &progress, || {
        block_on(randomise(&workers, &arguments.file, &secret, &mechanism, &progress))
    })?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |field: &str| writer.write_record([field]).map_err(unwritten);
    write(HEADING)?;
    for answer in answers {
        write(names.get(answer as usize).map_or("", String::as_str))?;
    }
    let bytes = writer.into_inner().map_err(|e| unwritten(e.into_error().into()))?;
    match output {
        Some(output) => delayed_effects::write(output, bytes),
        None => stdio::print(&bytes),
    }
}

pub(crate) fn estimate(arguments: &EstimateArguments) -> Result<(), Failure> {
    let names = names(&arguments.response)?;
    let mechanism = mechanism(&arguments.response, names.len())?;
    let range = "a number above 0 and below 1";
    let level = real("level", &arguments.level, 1e-9..=1.0 - 1e-9, range, "0.95")?;
    let counts = counts(&arguments.file, &arguments.column, &names)?;
    let reports = counts.iter().sum();
    let estimates = mechanism
        .estimate(&counts)
        .map_err(|e| Failure::new(e.to_string(), "use fewer reports"))?;
    // A sum of many independent reports is nearly normal.
    let deviations = normal_quantile((1.0 - level) / 2.0);
    let estimated =
        names.into_iter().zip(counts).zip(estimates).map(|((value, count), estimate)| {
            let half_width = deviations * estimate.standard_error;
            EstimatedValue { value, reports: count, estimate, half_width }
        });
    let estimated: Vec<EstimatedValue> = estimated.collect();
    let rendered = match arguments.format {
        TextOrJson::Text => {
            text(reports, &estimated, &arguments.response.epsilon, &arguments.level)
        }
        TextOrJson::Json => json(reports, &estimated, level)?,
    };
    stdio::print(rendered.as_bytes())
}

/// The possible reports: the values and the other, or true and false.
fn names(arguments: &ResponseArguments) -> Result<Vec<String>, Failure> {
    let mut names = arguments.values.clone();
    names.extend(arguments.other.clone());
    if names.is_empty() {
        return Ok(vec!["false".to_owned(), "true".to_owned()]);
    }
    let list = names.join(",");
    if names.len() < 2 || names.len() > MOST_VALUES {
        let range = format!("a list of 2 to {MOST_VALUES} values, with --other counted");
        return Err(refuse("values", list, &range, "yes,no"));
    }
    let mut sorted = names.clone();
    sorted.sort();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(refuse("values", &twice[0], "a list of different values", "yes,no"));
    }
    Ok(names)
}

fn mechanism(arguments: &ResponseArguments, names: usize) -> Result<RandomisedResponse, Failure> {
    let epsilon: Epsilon = amount("epsilon", &arguments.epsilon, "1")?;
    let categories = u32::try_from(names).unwrap_or(u32::MAX);
    RandomisedResponse::new(epsilon, categories).map_err(|error| match error {
        MechanismError::NoBudget(_) => {
            refuse("epsilon", &arguments.epsilon, "a number above 0, at most 1000000", "1")
        }
        other => Failure::new(other.to_string(), "list more values"),
    })
}

/// How many reports have each name.
fn counts(path: &Path, column: &str, names: &[String]) -> Result<Vec<u64>, Failure> {
    let unread = |e: csv::Error| {
        Failure::new(
            format!("cannot read the reports in `{}`: {e}", path.display()),
            "give a CSV file that `hushtable randomize` wrote",
        )
    };
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path).map_err(|e| unread(e.into()))?)
    };
    let mut reader = csv::Reader::from_reader(source);
    let headings = reader.headers().map_err(unread)?.clone();
    let Some(index) = headings.iter().position(|heading| heading == column) else {
        return Err(Failure::new(
            format!("`{}` has no column `{column}`", path.display()),
            format!(
                "name one with --column; the columns are {}",
                headings.iter().collect::<Vec<_>>().join(", ")
            ),
        ));
    };
    let indices: std::collections::HashMap<&str, usize> =
        names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let mut counts = vec![0; names.len()];
    for (line, record) in reader.records().enumerate() {
        let record = record.map_err(unread)?;
        let report = record.get(index).unwrap_or_default();
        match indices.get(report).and_then(|&i| counts.get_mut(i)) {
            Some(count) => *count += 1,
            None => {
                return Err(Failure::new(
                    format!(
                        "report {} of `{}` is `{report}`, which is not one of the values",
                        line + 1,
                        path.display()
                    ),
                    "give the --values and --other that the reports were made with, or neither \
                     for true and false",
                ));
            }
        }
    }
    Ok(counts)
}

fn unwritten(error: csv::Error) -> Failure {
    Failure::new(format!("cannot write the reports: {error}"), "free some memory")
}
