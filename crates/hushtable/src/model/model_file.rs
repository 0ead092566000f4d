//! The file of a finite model of partial knowledge: its structure, checked; its expressions, as
//! written.

use hushtable_numbers::Number;
use toml::de::DeValue;

use hushtable_contract::read::{ContractError, ContractText, Item, Section};
use hushtable_lang::{ColumnType, MAX_KEY_BYTES, MAX_SCALE, Value};

const VALUES: &str = "values = [0, 1], probabilities = [\"1/3\", \"2/3\"]; \
                      without probabilities all are equally likely";
const PARAMETERS: &str = "write [parameters], and in it name = { values = [0, 1] } for each";
const RECORDS: &str =
    "write [records], and in it name = \"an SQL expression over the parameters\" for each";
const ATTACKER: &str = "write [attacker] with target = \"a record\" and knows = [\"expressions \
                        over records and parameters\"]";
const MECHANISM: &str = "write [mechanism] with publishes = \"an SQL expression over the \
                         records\"";
const TABLE: &str = "table = [{ when = \"vote = 1\", publishes = { yes = \"3/4\", \
                     no = \"1/4\" } }, { publishes = { yes = \"1/4\", no = \"3/4\" } }]";
const NAMES: &str = "give each parameter, record and noise a name of its own, so that an \
                     expression says which it means";

/// A finite model of partial knowledge, as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The independent parameters.
    pub parameters: Vec<RandomVariable>,
    /// The records, by expressions over the parameters; `None` if every parameter is a record.
    pub records: Option<Vec<(String, WrittenText)>>,
    /// The records to protect, by name.
    pub targets: Vec<WrittenText>,
    /// Knowledge of the attacker, by expressions over records and parameters.
    pub knowledge: Vec<WrittenText>,
    /// The publication.
    pub publication: Publication,
}

/// Something random: a parameter, or the mechanism's noise.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomVariable {
    /// Its name in expressions.
    pub name: String,
    /// The type of its values.
    pub column_type: ColumnType,
    /// Its values, each once.
    pub values: Vec<Value>,
    /// Their probabilities, as written; `None` if all are equally likely.
    pub probabilities: Option<Vec<WrittenText>>,
    /// Where it is in the file.
    pub line: usize,
}

/// A text of the file, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenText {
    /// The text.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// A mechanism.
#[derive(Clone, Debug, PartialEq)]
pub enum Publication {
    /// Expressions over the records and the noise, published together.
    Expressions {
        /// At least one.
        written: Vec<WrittenText>,
        /// Random variables that only the mechanism sees.
        noise: Vec<RandomVariable>,
    },
    /// A table: the first row whose condition holds.
    Table(Vec<TableRow>),
}

/// Outputs and their probabilities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// A condition on the records; `None` holds always.
    pub when: Option<WrittenText>,
    /// Each output with its probability, as written.
    pub publishes: Vec<(String, WrittenText)>,
    /// Where it is in the file.
    pub line: usize,
}

impl ModelFile {
    /// Reads the text of a model; `file` is its name in errors.
    ///
    /// # Errors
    /// Whatever is wrong with its structure, with its line, value, allowed range and a hint.
    pub fn parse(text: &str, file: &str) -> Result<Self, ContractError> {
        let source = ContractText::new(text, file);
        let parsed = source.parse()?;
        let root = Section::root(source, parsed.get_ref(), parsed.span(), "the model");
        root.only(&["parameters", "records", "attacker", "mechanism"])?;
        let mut names = UsedNames::default();

        let item = root.required("parameters", PARAMETERS)?;
        let section = item.section("[parameters]", PARAMETERS)?;
        let parameters = variables(&section, &mut names)?;
        if parameters.is_empty() {
            return Err(item.error("the model has no parameter", PARAMETERS));
        }
        let records = root.get("records").map(|item| records(&item, &mut names)).transpose()?;
        let is_record = |name: &str| match &records {
            Some(records) => records.iter().any(|(record, _)| record == name),
            None => parameters.iter().any(|parameter| parameter.name == name),
        };

        let attacker = root.required("attacker", ATTACKER)?.section("[attacker]", ATTACKER)?;
        attacker.only(&["target", "knows"])?;
        let targets = texts(&attacker.required("target", ATTACKER)?, "a record", ATTACKER)?;
        if targets.is_empty() {
            return Err(attacker
                .required("target", ATTACKER)?
                .error("`target` is empty", ATTACKER));
        }
        for (item, target) in &targets {
            if !is_record(&target.text) {
                let hint = match &records {
                    Some(records) => listed(records.iter().map(|(name, _)| name)),
                    None => listed(parameters.iter().map(|parameter| &parameter.name)),
                };
                let what = format!("`target` = \"{}\" is not a record", target.text);
                return Err(item.error(what, format!("the records are {hint}")));
            }
        }
        let knowledge = match attacker.get("knows") {
            Some(item) => texts(&item, "an SQL expression", ATTACKER)?,
            None => Vec::new(),
        };

        let mechanism = root.required("mechanism", MECHANISM)?.section("[mechanism]", MECHANISM)?;
        let publication = publication(&mechanism, &mut names)?;
        let written = |(_, written)| written;
        Ok(Self {
            parameters,
            records,
            targets: targets.into_iter().map(written).collect(),
            knowledge: knowledge.into_iter().map(written).collect(),
            publication,
        })
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.cloned().collect::<Vec<_>>().join(", ")
}

/// Names that are taken, as SQL compares them.
#[derive(Default)]
struct UsedNames(Vec<String>);

impl UsedNames {
    fn take(&mut self, name: &str, item: &Item<'_, '_>) -> Result<(), ContractError> {
        if name.is_empty() {
            return Err(item.error("a name is empty", NAMES));
        }
        if self.0.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
            return Err(item.error(format!("the name `{name}` is taken already"), NAMES));
        }
        self.0.push(name.to_owned());
        Ok(())
    }
}

fn records(
    item: &Item<'_, '_>,
    names: &mut UsedNames,
) -> Result<Vec<(String, WrittenText)>, ContractError> {
    let mut records = Vec::new();
    for (name, item) in item.section("[records]", RECORDS)?.items() {
        names.take(name, &item)?;
        let text = item.text("an SQL expression", RECORDS)?;
        records.push((name.to_owned(), WrittenText { text: text.to_owned(), line: item.line() }));
    }
    if records.is_empty() {
        return Err(item.error("the model has no record", RECORDS));
    }
    Ok(records)
}

/// A text, or a list of texts.
fn texts<'a, 'i>(
    item: &Item<'a, 'i>,
    expected: &str,
    hint: &str,
) -> Result<Vec<(Item<'a, 'i>, WrittenText)>, ContractError> {
    let items = match item.value {
        DeValue::Array(_) => item.list(hint)?,
        _ => vec![item.clone()],
    };
    let written = |item: Item<'a, 'i>| {
        let text = item.text(expected, hint)?.to_owned();
        let line = item.line();
        Ok((item, WrittenText { text, line }))
    };
    items.into_iter().map(written).collect()
}

fn publication(
    mechanism: &Section<'_, '_>,
    names: &mut UsedNames,
) -> Result<Publication, ContractError> {
    mechanism.only(&["publishes", "noise", "table"])?;
    if let Some(table) = mechanism.get("table") {
        for other in ["publishes", "noise"] {
            if let Some(item) = mechanism.get(other) {
                return Err(item.error(
                    format!("the mechanism has both `{other}` and `table`"),
                    "keep publishes, perhaps with noise, or a table of outputs and probabilities",
                ));
            }
        }
        let rows = table.list(TABLE)?;
        if rows.is_empty() {
            return Err(table.error("`table` has no row", TABLE));
        }
        return rows.iter().map(row).collect::<Result<_, _>>().map(Publication::Table);
    }
    let item = mechanism.required("publishes", MECHANISM)?;
    let written: Vec<WrittenText> =
        texts(&item, "an SQL expression", MECHANISM)?.into_iter().map(|(_, text)| text).collect();
    if written.is_empty() {
        return Err(item.error("`publishes` is empty", MECHANISM));
    }
    let noise = match mechanism.get("noise") {
        Some(item) => variables(&item.section("[mechanism.noise]", VALUES)?, names)?,
        None => Vec::new(),
    };
    Ok(Publication::Expressions { written, noise })
}

fn row(item: &Item<'_, '_>) -> Result<TableRow, ContractError> {
    let section = item.section("a row of the table", TABLE)?;
    section.only(&["when", "publishes"])?;
    let when = match section.get("when") {
        Some(item) => {
            let text = item.text("a condition in SQL", TABLE)?.to_owned();
            Some(WrittenText { text, line: item.line() })
        }
        None => None,
    };
    let outputs = section.required("publishes", TABLE)?;
    let mut publishes = Vec::new();
    for (output, item) in outputs.section("a row of the table", TABLE)?.items() {
        let text = item.number_text("a probability", TABLE)?;
        publishes.push((output.to_owned(), WrittenText { text, line: item.line() }));
    }
    Ok(TableRow { when, publishes, line: item.line() })
}

fn variables(
    section: &Section<'_, '_>,
    names: &mut UsedNames,
) -> Result<Vec<RandomVariable>, ContractError> {
    let mut variables = Vec::new();
    for (name, item) in section.items() {
        names.take(name, &item)?;
        let label = format!("`{name}`");
        let settings = item.section(&label, VALUES)?;
        settings.only(&["values", "probabilities"])?;
        let (column_type, values) = values(&settings.required("values", VALUES)?)?;
        let probabilities = match settings.get("probabilities") {
            Some(item) => Some(probabilities(&item, values.len())?),
            None => None,
        };
        let line = item.line();
        variables.push(RandomVariable {
            name: name.to_owned(),
            column_type,
            values,
            probabilities,
            line,
        });
    }
    Ok(variables)
}

fn probabilities(item: &Item<'_, '_>, values: usize) -> Result<Vec<WrittenText>, ContractError> {
    let items = item.list(VALUES)?;
    if items.len() != values {
        return Err(item.error(
            format!("there are {} probabilities for {values} values", items.len()),
            VALUES,
        ));
    }
    items
        .iter()
        .map(|item| {
            let text = item.number_text("a probability", VALUES)?;
            Ok(WrittenText { text, line: item.line() })
        })
        .collect()
}

/// Values of one type: whole numbers, decimals, texts or booleans.
fn values(item: &Item<'_, '_>) -> Result<(ColumnType, Vec<Value>), ContractError> {
    let items = item.list(VALUES)?;
    let column_type = column_type(item, &items)?;
    let mut values: Vec<Value> = Vec::with_capacity(items.len());
    for item in &items {
        let text = match item.value {
            DeValue::Boolean(b) => b.to_string(),
            _ => item.number_text(&format!("a {column_type}"), VALUES)?,
        };
        let quoted = matches!(item.value, DeValue::String(_));
        let fits = quoted == (column_type == ColumnType::String) && text.len() <= MAX_KEY_BYTES;
        let value = Value::parse(&text, column_type).filter(|_| fits);
        let value = value.ok_or_else(|| item.wrong(&format!("a {column_type}"), VALUES))?;
        if values.contains(&value) {
            let what = format!("`values` lists {} twice", item.rendered());
            return Err(item.error(what, "list every value once, with all of its probability"));
        }
        values.push(value);
    }
    Ok((column_type, values))
}

fn column_type(item: &Item<'_, '_>, items: &[Item<'_, '_>]) -> Result<ColumnType, ContractError> {
    let first = items.first().ok_or_else(|| item.error("`values` is empty", VALUES))?;
    match first.value {
        DeValue::Boolean(_) => return Ok(ColumnType::Bool),
        DeValue::String(_) => return Ok(ColumnType::String),
        DeValue::Integer(_) | DeValue::Float(_) => {}
        _ => return Err(first.wrong("a number, a text, true or false", VALUES)),
    }
    let mut scale = 0;
    for item in items {
        let expected = format!("a number with at most {MAX_SCALE} decimal places");
        let text = item.number_text(&expected, VALUES)?;
        let number = Number::parse(&text).ok_or_else(|| item.wrong(&expected, VALUES))?;
        scale = scale.max(number.digits_and_scale().1);
    }
    let whole = scale == 0 && items.iter().all(|i| matches!(i.value, DeValue::Integer(_)));
    Ok(if whole { ColumnType::Int } else { ColumnType::Decimal { scale } })
}

#[cfg(test)]
mod tests;
