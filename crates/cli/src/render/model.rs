//! Results of `assess model`.

use hushtable::knowledge::model::{Definition, Normalisation, Parameters};
use hushtable::privacy::Epsilon;

use super::assess::{EpsilonOrDelta, prose, wrapped};
use super::grid::{Alignment, TextGrid, visible};
use super::model_words as words;
use super::number::digits17;

/// Results of all definitions.
#[derive(Clone, Debug)]
pub(crate) struct ModelReport {
    pub(crate) headings: Vec<Heading>,
    pub(crate) rows: Vec<DefinitionRow>,
    /// Nu, as it was given and as a float, and the least mu of the last part's dependence on those
    /// before it.
    pub(crate) dependence: Vec<(String, f64, Option<Epsilon>)>,
    /// For each target its name.
    pub(crate) targets: Vec<(String, Normalisation)>,
    pub(crate) parameters: Vec<String>,
    /// Why simulators were not searched for.
    pub(crate) too_large: Option<String>,
}

/// The heading of a column: what it has for every definition.
#[derive(Clone, Debug)]
pub(crate) enum Heading {
    /// At a delta, as it was given, and as a float.
    EpsilonAt(String, f64),
    DeltaAt(Epsilon),
}

/// One definition's values, in the order of the headings; `None` where it was too large.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionRow {
    pub(crate) definition: Definition,
    pub(crate) values: Vec<Option<ModelAmount>>,
}

/// An epsilon or delta, and where it is reached.
#[derive(Clone, Debug)]
pub(crate) struct ModelAmount {
    pub(crate) amount: EpsilonOrDelta,
    pub(crate) worst: Option<String>,
}

impl ModelReport {
    /// For people.
    pub(crate) fn text(&self, verbose: bool) -> String {
        let texts = self.headings.iter().map(|heading| match heading {
            Heading::EpsilonAt(delta, _) => format!("epsilon at delta {delta}"),
            Heading::DeltaAt(epsilon) => format!("delta at epsilon {epsilon}"),
        });
        let headings = ["definition".to_owned()].into_iter().chain(texts);
        let headings = headings.chain(["worst, at delta 0".to_owned()]);
        let mut grid = TextGrid::new(headings.map(|name| (name, Alignment::Left))).underlined();
        for row in &self.rows {
            let (name, number) = words::name(row.definition);
            let mut cells = vec![format!("{name} ({number})")];
            cells.extend(row.values.iter().map(|value| match value {
                Some(value) => value.amount.text(),
                None => "too large".to_owned(),
            }));
            let worst = row.values.first().and_then(|value| value.as_ref()?.worst.clone());
            cells.push(visible(&worst.unwrap_or_default()));
            grid.push(cells);
        }
        let mut out = grid.text(0);
        if !verbose {
            for found in self.found() {
                out.push('\n');
                out.push_str(&wrapped(&visible(&found)));
            }
            out.push('\n');
            out.push_str(&prose("", false));
            return out;
        }
        out.push('\n');
        let mut meanings = TextGrid::pairs();
        for row in &self.rows {
            meanings.push([words::name(row.definition).0, words::meaning(row.definition)]);
        }
        out.push_str(&meanings.text(0));
        for paragraph in self.paragraphs() {
            out.push('\n');
            out.push_str(&wrapped(&visible(&paragraph)));
        }
        out
    }

    fn paragraphs(&self) -> Vec<String> {
        let mut all = self.found();
        all.insert(self.targets.len(), self.relations().join(" "));
        all.push(words::EXACT.to_owned());
        all
    }

    /// Findings beside the numbers.
    fn found(&self) -> Vec<String> {
        let targets = self.targets.iter();
        let mut all: Vec<String> = targets
            .map(|(name, normalisation)| {
                words::normalisation(name, normalisation, &self.parameters)
            })
            .collect();
        all.extend(self.dependence.iter().map(|(nu, _, mu)| {
            let mu = EpsilonOrDelta::Epsilon(*mu).text();
            format!(
                "The last part is (mu, {nu})-bounded dependent on those before it with mu = {mu} \
                     (Definition 18)."
            )
        }));
        all.extend(
            self.too_large.iter().map(|why| format!("No simulators were searched for: {why}.")),
        );
        all
    }

    /// The epsilon at a delta of zero; infinity if there is none, and `None` if it was not
    /// computed.
    fn pure(&self, definition: Definition) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.definition == definition)?;
        match row.values.first()?.as_ref()?.amount {
            EpsilonOrDelta::Epsilon(epsilon) => {
                Some(epsilon.map_or(f64::INFINITY, Epsilon::to_f64))
            }
            EpsilonOrDelta::Delta(_) => None,
        }
    }

    /// Implications of the paper that the results show.
    fn relations(&self) -> Vec<&'static str> {
        use Definition as D;
        let mut all = Vec::new();
        let normalisations = || self.targets.iter().map(|(_, normalisation)| normalisation);
        if normalisations().all(|normalisation| normalisation.others_independent) {
            all.push(words::SAME);
        } else if self.is_less(D::Noiseless, D::Causal) || self.is_less(D::Causal, D::Noiseless) {
            all.push(words::APART);
            if normalisations().all(|normalisation| normalisation.acceptable) {
                all.push(words::PROPOSITION_4);
            }
        }
        if !normalisations().all(|normalisation| normalisation.compatible) {
            all.push(words::INCOMPATIBLE);
        } else if self.is_less(D::Distributional, D::Causal) {
            all.push(words::SIMULATED);
        } else if self.too_large.is_none() {
            all.push(words::AS_SIMULATED);
        }
        if let (Some(causal), Some(inference)) =
            (self.pure(D::Causal), self.pure(D::InferenceBased))
        {
            // To the last of twelve decimal places.
            let twice = |one: f64, other: f64| one <= 2.0 * other + 1e-11;
            let within = twice(causal, inference) && twice(inference, causal);
            all.push(if within { words::WITHIN_TWO } else { words::NOT_WITHIN_TWO });
        }
        let less = self.is_less(D::Passive, D::Active);
        all.push(if less { words::PASSIVE } else { words::AS_PASSIVE });
        all
    }

    /// Whether anything that is asked of one definition is less than that of the other, by more
    /// than what a linear programme may leave.
    fn is_less(&self, one: Definition, other: Definition) -> bool {
        let row = |definition| self.rows.iter().find(move |row| row.definition == definition);
        let (Some(one), Some(other)) = (row(one), row(other)) else { return false };
        let size = |amount| match amount {
            EpsilonOrDelta::Epsilon(epsilon) => epsilon.map_or(f64::INFINITY, Epsilon::to_f64),
            EpsilonOrDelta::Delta(delta) => delta,
        };
        one.values.iter().zip(&other.values).any(|pair| match pair {
            (Some(one), Some(other)) => size(one.amount) < size(other.amount) * (1.0 - 1e-5),
            _ => false,
        })
    }

    /// On one line.
    pub(crate) fn json(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(|row| self.row_json(row)).collect();
        let targets: Vec<String> = self
            .targets
            .iter()
            .map(|(name, normalisation)| normalisation_json(name, normalisation, &self.parameters))
            .collect();
        let mut fields = vec![
            format!("\"definitions\":[{}]", rows.join(",")),
            format!("\"normalisations\":[{}]", targets.join(",")),
        ];
        if !self.dependence.is_empty() {
            let all = self.dependence.iter().map(|(_, nu, mu)| {
                format!(
                    "{{\"mu\":{},\"nu\":{}}}",
                    EpsilonOrDelta::Epsilon(*mu).json(),
                    digits17(*nu)
                )
            });
            fields.push(format!("\"dependence\":[{}]", all.collect::<Vec<_>>().join(",")));
        }
        if let Some(why) = &self.too_large {
            fields.push(format!("\"too_large\":{}", serde_json::json!(why)));
        }
        let mut words = self.relations();
        words.push(words::EXACT);
        fields.push(format!("\"remarks\":{}", serde_json::json!(words)));
        format!("{{{}}}\n", fields.join(","))
    }

    fn row_json(&self, row: &DefinitionRow) -> String {
        let (name, number) = words::name(row.definition);
        let values = self.headings.iter().zip(&row.values).filter_map(|(heading, value)| {
            let value = value.as_ref()?;
            let (epsilon, delta) = match heading {
                Heading::EpsilonAt(_, delta) => (value.amount.json(), digits17(*delta)),
                Heading::DeltaAt(epsilon) => (epsilon.to_string(), value.amount.json()),
            };
            let worst = serde_json::json!(value.worst);
            Some(format!("{{\"epsilon\":{epsilon},\"delta\":{delta},\"worst\":{worst}}}"))
        });
        let values = values.collect::<Vec<_>>().join(",");
        format!("{{\"definition\":\"{name}\",\"number\":{number},\"guarantees\":[{values}]}}")
    }
}

fn normalisation_json(target: &str, normalisation: &Normalisation, names: &[String]) -> String {
    let list = |indices: &[usize]| -> Vec<&str> {
        indices.iter().filter_map(|index| names.get(*index)).map(String::as_str).collect()
    };
    let parameters = match &normalisation.parameters {
        Parameters::Acceptable { phi_0, known } => {
            serde_json::json!({ "phi_0": list(phi_0), "known": list(known) })
        }
        Parameters::Shared(shared) => serde_json::json!({ "shared": list(shared) }),
        Parameters::Vague(known) => serde_json::json!({ "not_told_apart": list(known) }),
        Parameters::Merged => serde_json::json!({ "not_one_to_one": true }),
    };
    serde_json::json!({
        "target": target,
        "acceptable": normalisation.acceptable,
        "knowledge_independent": normalisation.knowledge_independent,
        "others_independent": normalisation.others_independent,
        "parameters": parameters,
    })
    .to_string()
}
