//! From the file of a model to its definitions, with what its numbers stand for.

mod model_file;

use std::collections::HashMap;
use std::path::Path;

use hushtable_engine::{GeneratedColumn, NumberedColumn};
use hushtable_knowledge::model::{
    Definitions, FiniteLaw, Fraction, Mechanism, Model, ModelError, Witness, Worlds,
};
use hushtable_lang::Refusal;

pub use self::model_file::{ModelFile, Publication, RandomVariable, TableRow, WrittenText};
use crate::Error;

/// Largest file that is read, in bytes.
const MOST_BYTES: u64 = 1_000_000;
/// Most evaluations of what is published.
const MOST_ROWS: usize = 2_000_000;

/// The guarantees of a model, and names for what it has.
pub struct ModelDescription {
    /// The guarantees of the model.
    pub definitions: Definitions,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Names of the records, and how their values read.
    pub records: Vec<(String, Vec<String>)>,
    knowledge: Vec<String>,
    outputs: Vec<String>,
}

/// The refusal of a model that is too large, or met a fault of the program.
pub fn refused(file: &str, error: &ModelError) -> Refusal {
    match error {
        ModelError::Large { .. } => Refusal::new(
            format!("the model `{file}` is too large: {error}"),
            "leave out parameters, or replace many by one: the number of others who voted yes \
             says as much as their votes",
        ),
        _ => Refusal::new(
            format!("cannot assess the model `{file}`: {error}"),
            "this is a fault in Hushtable: please report the model",
        ),
    }
}

impl ModelDescription {
    /// Reads a model's file.
    ///
    /// # Errors
    /// When it cannot be read, is wrong, or is too large.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        let cannot = |reason: &dyn std::fmt::Display| {
            Refusal::new(
                format!("cannot read the model `{file}`: {reason}"),
                "see docs/model.md for how to write a model, and examples/partial-knowledge for \
                 nine of them",
            )
        };
        let size = std::fs::metadata(path).map_err(|e| cannot(&e))?.len();
        if size > MOST_BYTES {
            let much = format!("it has {size} bytes; at most {MOST_BYTES} are allowed");
            return Err(cannot(&much).into());
        }
        let text = std::fs::read_to_string(path).map_err(|e| cannot(&e))?;
        let parsed = ModelFile::parse(&text, &file)
            .map_err(|e| Refusal::new(format!("{}:{}: {}", e.file, e.line, e.what), e.hint))?;
        Reader { file }.described(&parsed)
    }

    /// Where it is worst, in words.
    pub fn worst(&self, witness: &Witness) -> String {
        let (name, values) = &self.records[witness.target];
        let text = |value: u32| values.get(value as usize).map_or("", String::as_str);
        let mut words = match (witness.value, witness.other) {
            (Some(value), Some(other)) => format!("{name} = {} or {}", text(value), text(other)),
            (Some(value), None) => format!("{name} = {}", text(value)),
            (None, Some(other)) => format!("{name} as it is or made {}", text(other)),
            (None, None) => name.clone(),
        };
        if let Some(output) = witness.output {
            let output = self.outputs.get(output as usize).map_or("", String::as_str);
            words.push_str(&format!(", after {output}"));
        }
        let known = witness.knowledge.and_then(|known| self.knowledge.get(known as usize));
        if let Some(known) = known.filter(|known| !known.is_empty()) {
            words.push_str(&format!(", knowing {known}"));
        }
        words
    }
}

/// Reads one file.
struct Reader {
    file: String,
}

/// Tuples by numbers, in the order in which they come first.
#[derive(Default)]
struct Tuples {
    numbers: HashMap<Vec<u32>, u32>,
}

impl Tuples {
    fn number(&mut self, tuple: Vec<u32>) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(tuple).or_insert(next)
    }

    /// How the tuples read.
    fn texts(&self, text: impl Fn(&[u32]) -> String) -> Vec<String> {
        let mut texts = vec![String::new(); self.numbers.len()];
        for (tuple, number) in &self.numbers {
            if let Some(slot) = texts.get_mut(*number as usize) {
                *slot = text(tuple);
            }
        }
        texts
    }
}

impl Reader {
    fn refused(&self, error: &ModelError) -> Refusal {
        refused(&self.file, error)
    }

    fn wrong(&self, line: usize, what: &str, hint: &str) -> Refusal {
        Refusal::new(format!("{}:{line}: {what}", self.file), hint)
    }

    /// An expression's values.
    fn evaluate(
        &self,
        name: &str,
        written: &WrittenText,
        columns: &[GeneratedColumn],
        rows: usize,
    ) -> Result<GeneratedColumn, Error> {
        GeneratedColumn::evaluate(name, &written.text, columns, rows).map_err(|error| match error {
            Error::Refused(refusal) => {
                self.wrong(written.line, &refusal.what, &refusal.hint).into()
            }
            other => other,
        })
    }

    fn fraction(&self, written: &WrittenText) -> Result<Fraction, Refusal> {
        written.text.parse().map_err(|error: ModelError| {
            self.wrong(written.line, &error.to_string(), "for example 0.25, 1e-7 or \"1/3\"")
        })
    }

    fn law(
        &self,
        line: usize,
        name: &str,
        probabilities: &[WrittenText],
    ) -> Result<FiniteLaw, Refusal> {
        let exact = probabilities.iter().map(|written| self.fraction(written));
        let exact: Vec<Fraction> = exact.collect::<Result<_, _>>()?;
        FiniteLaw::new(&exact).map_err(|error| {
            let what = format!("{name}: {error}");
            self.wrong(
                line,
                &what,
                "write thirds as \"1/3\": decimals of thirds do not add up to 1",
            )
        })
    }

    fn worlds(&self, variables: &[RandomVariable]) -> Result<Worlds, Refusal> {
        let law = |variable: &RandomVariable| match &variable.probabilities {
            Some(all) => self.law(variable.line, &format!("`{}`", variable.name), all),
            None => FiniteLaw::uniform(variable.values.len()).map_err(|e| self.refused(&e)),
        };
        let laws = variables.iter().map(law).collect::<Result<_, _>>()?;
        Worlds::new(laws).map_err(|e| self.refused(&e))
    }

    fn described(&self, parsed: &ModelFile) -> Result<ModelDescription, Error> {
        let worlds = self.worlds(&parsed.parameters)?;
        let rows = worlds.count();
        let parameters = columns(&parsed.parameters, |parameter| {
            (0..rows).map(|world| worlds.choice(world, parameter)).collect()
        })?;
        let mut records = match &parsed.records {
            None => parameters.clone(),
            Some(written) => written
                .iter()
                .map(|(name, written)| self.evaluate(name, written, &parameters, rows))
                .collect::<Result<_, _>>()?,
        };
        let numbered: Vec<NumberedColumn> =
            records.iter().map(GeneratedColumn::numbered).collect::<Result<_, _>>()?;
        let mut targets: Vec<usize> = Vec::new();
        for target in &parsed.targets {
            let index = records.iter().position(|record| record.name == target.text);
            targets.extend(index.filter(|index| !targets.contains(index)));
        }
        if parsed.records.is_some() {
            records.extend(parameters);
        }
        let (knowledge, known) = self.knowledge(&parsed.knowledge, &records, rows)?;
        let values: Vec<Vec<u32>> = numbered.iter().map(|record| record.numbers.clone()).collect();
        let model =
            Model::new(worlds, &values, knowledge, &targets).map_err(|e| self.refused(&e))?;
        let (definitions, outputs) = match &parsed.publication {
            Publication::Expressions { written, noise } => {
                self.expressions(&model, &numbered, written, noise)?
            }
            Publication::Table(table) => self.table(&model, &numbered, table)?,
        };
        Ok(ModelDescription {
            definitions,
            parameters: parsed.parameters.iter().map(|p| p.name.clone()).collect(),
            records: numbered.into_iter().map(|r| (r.distinct.name, r.texts)).collect(),
            knowledge: known,
            outputs,
        })
    }

    /// The attacker's knowledge in each world, and its words.
    fn knowledge(
        &self,
        written: &[WrittenText],
        columns: &[GeneratedColumn],
        rows: usize,
    ) -> Result<(Vec<u32>, Vec<String>), Error> {
        let mut known = Vec::new();
        for written in written {
            known.push(self.evaluate("known", written, columns, rows)?.numbered()?);
        }
        let mut tuples = Tuples::default();
        let tuple = |row: usize| known.iter().map(|column| column.numbers[row]).collect();
        let numbers = (0..rows).map(|row| tuples.number(tuple(row))).collect();
        let texts = tuples.texts(|tuple| {
            let each = written.iter().zip(&known).zip(tuple);
            let each = each.map(|((written, column), value)| {
                format!("{} = {}", written.text, column.texts[*value as usize])
            });
            each.collect::<Vec<_>>().join(", ")
        });
        Ok((numbers, texts))
    }

    fn expressions(
        &self,
        model: &Model,
        records: &[NumberedColumn],
        written: &[WrittenText],
        noise: &[RandomVariable],
    ) -> Result<(Definitions, Vec<String>), Error> {
        let chances = self.worlds(noise)?;
        let each = chances.count();
        let rows = model.databases().len().saturating_mul(each);
        if rows > MOST_ROWS {
            let large = ModelError::Large {
                what: "databases times values of the noise",
                size: rows.to_string(),
                most: MOST_ROWS,
            };
            return Err(self.refused(&large).into());
        }
        let mut scope = databases(model, records, each)?;
        scope.extend(columns(noise, |variable| {
            (0..rows).map(|row| chances.choice(row % each, variable)).collect()
        })?);
        let mut published = Vec::new();
        for expression in written {
            published.push(self.evaluate("published", expression, &scope, rows)?.numbered()?);
        }
        let (mut before, mut all) = (Tuples::default(), Tuples::default());
        let (mut numbers, mut split) = (Vec::with_capacity(rows), Vec::new());
        for row in 0..rows {
            let tuple: Vec<u32> = published.iter().map(|column| column.numbers[row]).collect();
            let last = tuple.last().copied().unwrap_or_default();
            let first = before.number(tuple[..tuple.len() - 1].to_vec());
            let number = all.number(tuple);
            if number as usize == split.len() {
                split.push([first, last]);
            }
            numbers.push(number);
        }
        let texts = all.texts(|tuple| {
            let texts =
                tuple.iter().zip(&published).map(|(n, column)| column.texts[*n as usize].as_str());
            let texts: Vec<&str> = texts.collect();
            if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(", ")) }
        });
        let mechanism =
            Mechanism::with_noise(model, &chances, &numbers).map_err(|e| self.refused(&e))?;
        let split = (written.len() > 1).then_some(split.as_slice());
        let definitions =
            Definitions::new(model, &mechanism, split).map_err(|e| self.refused(&e))?;
        Ok((definitions, texts))
    }

    fn table(
        &self,
        model: &Model,
        records: &[NumberedColumn],
        table: &[TableRow],
    ) -> Result<(Definitions, Vec<String>), Error> {
        let count = model.databases().len();
        let scope = databases(model, records, 1)?;
        let mut outputs: Vec<String> = Vec::new();
        // For each row where it holds, and its law.
        let mut rows = Vec::new();
        for row in table {
            let holds = match &row.when {
                None => vec![true; count],
                Some(when) => {
                    let holds = self.evaluate("when", when, &scope, count)?.holds();
                    holds.ok_or_else(|| {
                        let what = format!("`when` = \"{}\" is not a condition", when.text);
                        self.wrong(when.line, &what, "compare it with something, as in vote = 1")
                    })?
                }
            };
            let written: Vec<WrittenText> = row.publishes.iter().map(|(_, p)| p.clone()).collect();
            self.law(row.line, "a row of the table", &written)?;
            let mut law = Vec::new();
            for (output, written) in &row.publishes {
                let index = outputs.iter().position(|name| name == output).unwrap_or_else(|| {
                    outputs.push(output.clone());
                    outputs.len() - 1
                });
                law.push((u32::try_from(index).unwrap_or(u32::MAX), self.fraction(written)?));
            }
            rows.push((holds, law));
        }
        let mut laws = Vec::with_capacity(count);
        for (index, database) in model.databases().iter().enumerate() {
            let Some((_, law)) = rows.iter().find(|(holds, _)| holds[index]) else {
                let line = table.last().map_or(1, |row| row.line);
                let values = records.iter().zip(database).map(|(record, value)| {
                    format!("{} = {}", record.distinct.name, record.texts[*value as usize])
                });
                let values: Vec<String> = values.collect();
                let what = format!("no row of the table holds where {}", values.join(", "));
                let hint = "add a last row without `when` for all other databases, also for \
                            those that only a change of the target makes";
                return Err(self.wrong(line, &what, hint).into());
            };
            laws.push(law.clone());
        }
        let mechanism = Mechanism::table(model, &laws).map_err(|e| self.refused(&e))?;
        let definitions =
            Definitions::new(model, &mechanism, None).map_err(|e| self.refused(&e))?;
        Ok((definitions, outputs))
    }
}

/// A column for each variable, with the values at the places that `choices` has for it.
fn columns(
    variables: &[RandomVariable],
    choices: impl Fn(usize) -> Vec<usize>,
) -> Result<Vec<GeneratedColumn>, Error> {
    let column = |(index, variable): (usize, &RandomVariable)| {
        let values = GeneratedColumn::new(&variable.name, variable.column_type, &variable.values)?;
        let choices = choices(index).into_iter().map(|c| u32::try_from(c).unwrap_or(u32::MAX));
        values.take(&choices.collect::<Vec<_>>())
    };
    variables.iter().enumerate().map(column).collect()
}

/// The records of all databases, each database `times` times.
fn databases(
    model: &Model,
    records: &[NumberedColumn],
    times: usize,
) -> Result<Vec<GeneratedColumn>, Error> {
    let column = |(index, record): (usize, &NumberedColumn)| {
        let values = model.databases().iter().map(|database| database[index]);
        let values: Vec<u32> = values.flat_map(|v| std::iter::repeat_n(v, times)).collect();
        record.distinct.take(&values)
    };
    records.iter().enumerate().map(column).collect()
}
