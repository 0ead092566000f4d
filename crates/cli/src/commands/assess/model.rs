//! `hushtable assess model`.

use std::rc::Rc;

use hushtable::knowledge::model::{Definition, Definitions, Fraction, ModelError, Witness};
use hushtable::model::{ModelDescription, refused};
use hushtable::privacy::Epsilon;
use hushtable_plot::Chart;

use super::plot::{self, DeltaCurve};
use crate::arguments::AssessModelArguments;
use crate::failure::Failure;
use crate::given_numbers::{amount, refuse};
use crate::render::assess::EpsilonOrDelta;
use crate::render::model::{DefinitionRow, Heading, ModelAmount, ModelReport};
use crate::render::model_words;

/// The guarantees of a model, and the same as curves.
pub(super) fn assess(given: &AssessModelArguments) -> Result<ModelResults, Failure> {
    let mut columns = vec![DefinitionColumn::EpsilonAt(Fraction::zero(), "0".to_owned(), 0.0)];
    for text in &given.delta {
        let (exact, near) = delta(text)?;
        columns.push(DefinitionColumn::EpsilonAt(exact, text.trim().to_owned(), near));
    }
    for text in &given.epsilon {
        columns.push(DefinitionColumn::DeltaAt(amount("epsilon", text, "0.1,0.5,1")?));
    }
    let described = Rc::new(ModelDescription::read(&given.file)?);
    let definitions = &described.definitions;
    let rows = Definition::ALL
        .into_iter()
        .map(|definition| {
            let values = columns.iter().map(|column| value(&described, column, definition));
            let values = values.collect::<Result<_, _>>();
            let values = values.map_err(|e| refused(&given.file.display().to_string(), &e))?;
            Ok(DefinitionRow { definition, values })
        })
        .collect::<Result<_, Failure>>()?;
    let too_large = definitions.epsilon(Definition::Distributional, &Fraction::zero()).err();
    let dependence = columns
        .iter()
        .filter_map(|column| match column {
            DefinitionColumn::EpsilonAt(nu, text, near) => {
                definitions.dependence(nu).map(|mu| (text.clone(), *near, mu.amount))
            }
            DefinitionColumn::DeltaAt(_) => None,
        })
        .collect();
    let targets = definitions
        .normalisations()
        .iter()
        .map(|normalisation| {
            (described.records[normalisation.target].0.clone(), normalisation.clone())
        })
        .collect();
    let report = ModelReport {
        headings: columns.iter().map(DefinitionColumn::heading).collect(),
        rows,
        dependence,
        targets,
        parameters: described.parameters.clone(),
        too_large: too_large.map(|error| error.to_string()),
    };
    Ok(ModelResults { report, columns, described })
}

/// The results of a model.
pub(super) struct ModelResults {
    pub(super) report: ModelReport,
    columns: Vec<DefinitionColumn>,
    described: Rc<ModelDescription>,
}

impl ModelResults {
    /// delta at epsilon for each definition, with the requested guarantees marked.
    pub(super) fn chart(&self) -> Chart {
        let curve = |(index, row): (usize, &DefinitionRow)| {
            let (described, definition) = (Rc::clone(&self.described), row.definition);
            let curve = DeltaCurve::plain(model_words::name(definition).0, move |epsilon| {
                // At a smaller epsilon, delta is no smaller. A programme that is too large is not
                // drawn.
                let epsilon = Epsilon::from_f64_down(epsilon);
                let guarantee =
                    epsilon.map(|epsilon| described.definitions.delta(definition, epsilon));
                guarantee.ok().and_then(Result::ok).map_or(f64::NAN, |guarantee| guarantee.amount)
            });
            // Definitions that come to the same lie on each other.
            if index % 2 == 1 { curve.dashed() } else { curve }
        };
        let mark = |(column, value): (&DefinitionColumn, &Option<ModelAmount>)| match (
            column,
            value.as_ref()?.amount,
        ) {
            (DefinitionColumn::EpsilonAt(_, _, delta), EpsilonOrDelta::Epsilon(Some(epsilon)))
                if *delta > 0.0 =>
            {
                Some((epsilon.to_f64(), *delta))
            }
            (DefinitionColumn::DeltaAt(epsilon), EpsilonOrDelta::Delta(delta)) => {
                Some((epsilon.to_f64(), delta))
            }
            _ => None,
        };
        let rows = &self.report.rows;
        let curves: Vec<DeltaCurve> = rows.iter().enumerate().map(curve).collect();
        let marks =
            rows.iter().map(|row| self.columns.iter().zip(&row.values).filter_map(mark).collect());
        let title = "What the model may give away: a measured risk, no privacy budget";
        plot::drawn(title.to_owned(), &curves, marks.collect())
    }
}

/// A column of the report: a number of every definition.
enum DefinitionColumn {
    /// At a delta, with how it was given and the float next to it.
    EpsilonAt(Fraction, String, f64),
    DeltaAt(Epsilon),
}

impl DefinitionColumn {
    fn heading(&self) -> Heading {
        match self {
            Self::EpsilonAt(_, text, near) => Heading::EpsilonAt(text.clone(), *near),
            Self::DeltaAt(epsilon) => Heading::DeltaAt(*epsilon),
        }
    }
}

fn value(
    described: &ModelDescription,
    column: &DefinitionColumn,
    definition: Definition,
) -> Result<Option<ModelAmount>, ModelError> {
    match evaluate(&described.definitions, column, definition) {
        Ok((amount, witness)) => {
            let worst = witness.map(|witness| described.worst(&witness));
            Ok(Some(ModelAmount { amount, worst }))
        }
        Err(ModelError::Large { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn evaluate(
    definitions: &Definitions,
    column: &DefinitionColumn,
    definition: Definition,
) -> Result<(EpsilonOrDelta, Option<Witness>), ModelError> {
    Ok(match column {
        DefinitionColumn::EpsilonAt(delta, ..) => {
            let guarantee = definitions.epsilon(definition, delta)?;
            (EpsilonOrDelta::Epsilon(guarantee.amount), guarantee.witness)
        }
        DefinitionColumn::DeltaAt(epsilon) => {
            let guarantee = definitions.delta(definition, *epsilon)?;
            (EpsilonOrDelta::Delta(guarantee.amount), guarantee.witness)
        }
    })
}

/// Parses a delta, exactly and as a float.
fn delta(text: &str) -> Result<(Fraction, f64), Failure> {
    let refuse = || refuse("delta", text, "a number from 1e-300 to below 1", "1e-9,1e-6");
    let near = text.trim().parse::<f64>().ok().filter(|d| (1e-300..1.0).contains(d));
    Ok((text.trim().parse().map_err(|_| refuse())?, near.ok_or_else(refuse)?))
}
