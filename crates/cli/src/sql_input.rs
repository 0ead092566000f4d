//! The SQL that a command takes: as text, from a file or from standard input.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use hushtable::query::{Contract, MAX_QUERY_BYTES, with_parameters};

use crate::arguments::{SqlArguments, SqlMoreArguments};
use crate::failure::Failure;

/// The query that a command takes over tables of a contract, with the values of its parameters.
pub(crate) fn query(arguments: &SqlArguments, contract: &Contract) -> Result<String, Failure> {
    let text = optional_query(arguments.sql.as_deref(), &arguments.more, contract)?;
    // The command line needs one of them.
    text.ok_or_else(|| Failure::new("no query given", "give it as text, or --file query.sql"))
}

/// The query as it was given, or from a file; with the values of its parameters.
pub(crate) fn optional_query(
    given: Option<&str>,
    more: &SqlMoreArguments,
    contract: &Contract,
) -> Result<Option<String>, Failure> {
    let text = match (given, &more.file) {
        (Some(_), Some(file)) => {
            return Err(Failure::new(
                format!("the query is given both as text and as --file `{}`", file.display()),
                "keep one of them",
            ));
        }
        // A comment at its start came with a blank before it.
        (Some(given), None) => sql(given.trim_start())?,
        (None, Some(file)) if file == Path::new("-") => sql("-")?,
        (None, Some(file)) => {
            let source = format!("`{}`", file.display());
            let input = File::open(file).map_err(|e| cannot_read(&source, &e))?;
            read_query(input, &source)?
        }
        (None, None) => match more.parameters.first() {
            Some(parameter) => {
                return Err(Failure::new(
                    format!("--param {parameter} needs a query, but none is given"),
                    "give the query as text, or --file query.sql",
                ));
            }
            None => return Ok(None),
        },
    };
    let pair = |parameter: &String| match parameter.split_once('=') {
        Some((name, value)) => Ok((name.trim_start_matches('@').to_owned(), value.to_owned())),
        None => Err(Failure::new(
            format!("--param {parameter} has no value"),
            format!("--param {parameter}=18"),
        )),
    };
    let parameters = more.parameters.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    let text = with_parameters(&text, &parameters, contract.quoted_names);
    text.map(Some).map_err(Failure::from)
}

/// The query as it was given, or from standard input for `-`.
pub(crate) fn sql(given: &str) -> Result<String, Failure> {
    if given == "-" {
        read_query(io::stdin().lock(), &"standard input")
    } else {
        Ok(given.to_owned())
    }
}

/// Reads a query, and no more than a query may have.
fn read_query(input: impl Read, source: &dyn Display) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let one_more = MAX_QUERY_BYTES as u64 + 1;
    input.take(one_more).read_to_end(&mut bytes).map_err(|e| cannot_read(source, &e))?;
    if bytes.len() > MAX_QUERY_BYTES {
        return Err(Failure::new(
            format!("the query has more than {MAX_QUERY_BYTES} bytes; the rest is not read"),
            "move long lists of values into the contract's public_keys",
        ));
    }
    String::from_utf8(bytes).map_err(|e| cannot_read(source, &e.utf8_error()))
}

fn cannot_read(source: &dyn Display, reason: &dyn Display) -> Failure {
    Failure::new(
        format!("cannot read the query from {source}: {reason}"),
        "give it as text in UTF-8, for example `hushtable query --file query.sql`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_stops_at_the_limit() {
        let longest = vec![b' '; MAX_QUERY_BYTES];
        let read_query = |input: &mut dyn Read| super::read_query(input, &"a test");
        assert_eq!(read_query(&mut longest.as_slice()).unwrap().len(), MAX_QUERY_BYTES);
        // Input without an end.
        let refusal = read_query(&mut io::repeat(b' ')).unwrap_err().to_string();
        assert!(refusal.contains("more than 65536 bytes"), "{refusal}");
        assert!(read_query(&mut &b"\xff"[..]).is_err());
    }
}
