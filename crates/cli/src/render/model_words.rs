//! Words of `assess model` beside its numbers.

use hushtable::knowledge::model::{Definition, Normalisation, Parameters};

pub(crate) const EXACT: &str = "All numbers are exact, rounded up in their last place, and \
    rest on the model: they protect nobody whom it does not fit. \
    Those of distributional privacy are of the best simulator that was found, and never too low. \
    They are no privacy budget.";

/// A definition's name, with its number in the paper.
pub(crate) fn name(definition: Definition) -> (&'static str, u32) {
    match definition {
        Definition::Noiseless => ("noiseless", 3),
        Definition::Distributional => ("distributional", 4),
        Definition::Causal => ("causal", 5),
        Definition::InferenceBased => ("inference-based", 6),
        Definition::Active => ("active", 12),
        Definition::Passive => ("passive", 13),
    }
}

/// The two sides that a definition compares.
pub(crate) fn meaning(definition: Definition) -> &'static str {
    match definition {
        Definition::Noiseless => {
            "what is published if the target has one value or another, given what is known"
        }
        Definition::Distributional => {
            "what is published, or what can be made up from all records but the target"
        }
        Definition::Causal => {
            "what is published as it is, or after changing the target and nothing else"
        }
        Definition::InferenceBased => {
            "what is inferred of the target, with the target published as it is, or changed"
        }
        Definition::Active => "as noiseless: the attacker brings about the worst that can be known",
        Definition::Passive => "as noiseless, on average over what the attacker happens to know",
    }
}

/// Whether what is known and what is to be protected come apart.
pub(crate) fn normalisation(target: &str, result: &Normalisation, names: &[String]) -> String {
    let list = |indices: &[usize]| {
        let all = indices.iter().filter_map(|p| names.get(*p)).map(String::as_str);
        all.collect::<Vec<_>>().join(", ")
    };
    let why = match &result.parameters {
        Parameters::Acceptable { .. } => String::new(),
        Parameters::Shared(shared) => format!("both depend on {}", list(shared)),
        Parameters::Vague(known) => format!("what is known does not tell {} apart", list(known)),
        Parameters::Merged => {
            "more than one combination of parameters gives the same records and knowledge"
                .to_owned()
        }
    };
    match (&result.parameters, result.acceptable, result.knowledge_independent) {
        (Parameters::Acceptable { phi_0, .. }, ..) if phi_0.is_empty() => {
            format!(
                "Definition 8 holds for {target}, which is not random: there is nothing to protect."
            )
        }
        (Parameters::Acceptable { phi_0, known }, ..) if known.is_empty() => {
            format!(
                "Definition 8 holds for {target}: it is a function of {}, and nothing is known.",
                list(phi_0)
            )
        }
        (Parameters::Acceptable { phi_0, known }, ..) => format!(
            "Definition 8 holds for {target}: it is a function of {}, what is known is {}, \
             and these are independent.",
            list(phi_0),
            list(known)
        ),
        (_, true, _) => format!(
            "Definition 8 holds for {target}, by other parameters than those of the model ({why})."
        ),
        (_, false, true) => format!(
            "Definition 8 does not hold for {target} to the letter ({why}, and no other parameters \
             would do), but what is known is independent of {target}, which is what it is for."
        ),
        (_, false, false) => format!(
            "Definition 8 does not hold for {target}: the knowledge reveals something \
             about it before anything is published ({why}). An attacker who knows less may then \
             seem to learn more, and none of these numbers measures what the release gives away."
        ),
    }
}

pub(crate) const SAME: &str = "Noiseless and causal privacy are the same here, as the target tells \
    nothing of the other records to whoever has the knowledge (Proposition 2).";

pub(crate) const APART: &str = "Noiseless and causal privacy differ, \
    as the target reveals something about other records: a change of the target alone leaves them \
    as they were, and another value of the target does not.";

pub(crate) const PROPOSITION_4: &str = "Proposition 4 has them equal wherever Definition 8 holds: \
    it needs besides that the parameter of the target bears on no other record.";

pub(crate) const INCOMPATIBLE: &str = "Something that may be known rules out a value of the \
    target: where it does, nothing is compared, and one definition need not imply the next.";

pub(crate) const SIMULATED: &str = "Causal privacy implies distributional, which is less here: \
    a simulator may put any value in the target's place, and may do better.";

pub(crate) const AS_SIMULATED: &str = "Causal privacy implies distributional, \
    and nothing that was asked shows a simulator that does better than one that puts a value of \
    its own in the target's place.";

pub(crate) const WITHIN_TWO: &str = "Causal and inference-based epsilons at a delta of zero are \
    within a factor of 2 of each other (Proposition 1).";

pub(crate) const NOT_WITHIN_TWO: &str = "Causal and inference-based epsilons at a delta of zero \
    are not within a factor of 2 of each other: Proposition 1 needs that whatever is known and \
    published is possible with every value of the target.";

pub(crate) const PASSIVE: &str = "Passive attackers learn less than active ones; \
    at a delta of zero they learn the same (Theorem 1).";

pub(crate) const AS_PASSIVE: &str = "Passive attackers learn as much as active ones in all that \
    was asked; at a delta of zero they always do (Theorem 1).";
