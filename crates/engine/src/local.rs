//! Reports that every record makes about itself, before anything is collected.

use std::collections::HashMap;

use datafusion::arrow::array::{ArrayRef, AsArray};
use hushtable_lang::bind_expression;
use hushtable_lang::{ColumnType, Refusal};
use hushtable_mechanisms::{RandomisedResponse, ResponseError};
use hushtable_noise::{Generator, Uniform};

use crate::batches::{each_batch, files_at};
use crate::error::EngineError;
use crate::eval::{Program, known};
use crate::progress::Progress;
use crate::runtime::heavy;

/// The value that a record keeps to itself.
#[derive(Clone, Debug)]
pub enum Secret {
    /// Which of the values its column has, as text.
    Column {
        /// The column.
        name: String,
        /// The values, each a category.
        values: Vec<String>,
        /// Whether there is one more category, for all other values and none; else such a record
        /// answers with any of the values, each with the same probability.
        other: bool,
    },
    /// Whether a condition in SQL holds for it: category 1 if so, 0 if not or NULL.
    Predicate(String),
}

impl Secret {
    /// The number of categories.
    pub fn categories(&self) -> usize {
        match self {
            Self::Column { values, other, .. } => values.len() + usize::from(*other),
            Self::Predicate(_) => 2,
        }
    }

    fn expression(&self) -> String {
        match self {
            Self::Column { name, .. } => format!("CAST(`{}` AS STRING)", name.replace('`', "\\`")),
            Self::Predicate(text) => text.clone(),
        }
    }

    /// The category of each row; `None` for one of no category.
    fn categories_of(&self, column: &ArrayRef) -> Result<Vec<Option<u32>>, EngineError> {
        match self {
            Self::Column { values, other, .. } => {
                let texts = column.as_string_view_opt().ok_or(EngineError::inconsistent(
                    "the values of a secret's column are not text",
                ))?;
                let indices: HashMap<&str, usize> =
                    values.iter().enumerate().rev().map(|(i, v)| (v.as_str(), i)).collect();
                let rest = other.then_some(values.len());
                let category = |text: Option<&str>| {
                    let index = text.and_then(|t| indices.get(t).copied()).or(rest)?;
                    u32::try_from(index).ok()
                };
                Ok(texts.iter().map(category).collect())
            }
            Self::Predicate(_) => {
                let holds = column.as_boolean_opt().ok_or(EngineError::inconsistent(
                    "a secret's condition is not true or false",
                ))?;
                let holds = known(holds);
                Ok(holds.iter().map(|b| Some(u32::from(b == Some(true)))).collect())
            }
        }
    }
}

/// The answers of all rows of some files, in their order, by randomised response: category numbers.
///
/// Each answer is differentially private by itself, at the mechanism's epsilon, for the row that
/// gives it.
///
/// # Errors
/// When a file cannot be read, the column is not there or the predicate is not SQL; when the
/// mechanism's categories are not those of the secret; when the operating system's generator fails.
pub async fn randomise(
    location: &str,
    secret: &Secret,
    mechanism: &RandomisedResponse,
    progress: &Progress,
) -> Result<Vec<u32>, EngineError> {
    let mut generator = Generator::from_os()?;
    if usize::try_from(mechanism.categories()) != Ok(secret.categories()) {
        return Err(EngineError::inconsistent(
            "a mechanism has another number of categories than its secret",
        ));
    }
    let (files, columns) = heavy(|| files_at(location))?;
    let bound = bind_expression(&secret.expression(), &columns)?;
    if matches!(secret, Secret::Predicate(_)) && bound.column_type != ColumnType::Bool {
        return Err(EngineError::Refused(Refusal::new(
            format!("--predicate needs a condition, not a value of type {}", bound.column_type),
            "compare it with something: --predicate \"CAST(age AS INT64) >= 18\"; columns of \
             CSV files are text",
        )));
    }
    let program = Program::new(&bound)?;
    let mut values = Vec::new();
    each_batch(&files, &columns, progress, |batch| {
        let column = program.evaluate(batch.columns(), batch.num_rows())?;
        values.extend(secret.categories_of(&column)?);
        Ok(())
    })
    .await?;
    let known: Vec<u32> = values.iter().map(|v| v.unwrap_or(0)).collect();
    let mut answers = vec![0; known.len()];
    mechanism.respond_all(&known, &mut answers, &mut generator).map_err(|error| match error {
        ResponseError::Entropy(error) => EngineError::Entropy(error),
        _ => EngineError::inconsistent("randomised response refused categories that were checked"),
    })?;
    let any = Uniform::below(u128::from(mechanism.categories()));
    let any = any.map_err(|_| EngineError::inconsistent("a mechanism has no categories"))?;
    for (answer, value) in answers.iter_mut().zip(&values) {
        if value.is_none() {
            let drawn = u32::try_from(any.sample(&mut generator)?);
            *answer = drawn.map_err(|_| {
                EngineError::inconsistent("a drawn category is not one of the mechanism's")
            })?;
        }
    }
    Ok(answers)
}
