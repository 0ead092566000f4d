//! Words of `assess` beside its numbers: their meaning, and the assumptions that they rest on.

use hushtable::knowledge::ProbabilityRange;

use super::number::number;

pub(crate) const NO_BUDGET: &str = "It is a measured risk and no privacy budget: \
    an attacker who knows more learns more, and it adds up neither with a budget nor, by itself, \
    with other releases about the same records (see `assess compose`).";

pub(crate) const FORGONE: &str = " To make it less work, a few of them are taken to be known as \
    well, so that delta is above that of the worst case.";

pub(crate) const NOISE: &str = " The noise alone protects against every attacker, \
    even one who knows all others; together with what the attacker does not know it does more, \
    as the first delta or epsilon says.";

pub(crate) const BLANKET: &str = "It is a bound, taken for the two options with the smallest \
    least probabilities: the attacker learns of each record what goes beyond them, \
    and may see all other counts.";

pub(crate) const TWO_OPTIONS: &str = " With two options and a public total, \
    `assess count --between` has the exact worst case, which is less.";

pub(crate) const ABSENT: &str = " Nothing tells how many are absent.";

pub(crate) const PUBLIC_TOTAL: &str = " The total may be public.";

pub(crate) const UNPROTECTED: &str = " A pair without protection is mostly a rare value beside a \
    common one: where the total is public, what is missing from it is the count that was dropped.";

pub(crate) const INDEPENDENT: &str = "It rests on their being about records that have nothing to \
    do with each other, so that epsilons and deltas add up.";

pub(crate) const DEPENDENT: &str = "It rests on the bound of their dependence: after the first, \
    each adds mu to epsilon and nu to delta.";

pub(crate) const TEMPORAL: &str = "It rests on the others being independent of each other, \
    and on their values before changing the probabilities of their values after by a factor of at \
    most e^c: the second adds 4c to epsilon.";

pub(crate) const TEMPORAL_MANY: &str = "It rests on the others being independent of each \
    other and changing from one time to the next with the same probabilities, \
    which depend on nothing before but the last value, and on it by a factor of at most e^c; \
    each release after the first adds 4c to epsilon.";

/// Meaning of a guarantee to whoever sees `what`.
pub(crate) fn meaning(what: &str) -> String {
    format!(
        "Whoever sees {what} can tell the target's values apart no better than under (epsilon, \
         delta)-differential privacy: their odds change by a factor of at most e^epsilon, except \
         for outcomes that add up to delta."
    )
}

pub(crate) fn together(releases: usize) -> String {
    format!(
        "Whoever sees all {releases} releases can tell the target's values apart no better than \
         under (epsilon, delta)-differential privacy."
    )
}

/// Records with given probabilities.
pub(crate) fn unknown(records: u64) -> String {
    format!(
        "It rests on what the attacker does not know: {} other records, \
         independent of each other and of the target, and counted with the given probabilities as \
         far as the attacker can tell.",
        number(records as f64)
    )
}

/// Records with bounded probabilities.
pub(crate) fn within(records: u64, between: ProbabilityRange) -> String {
    format!(
        "It rests on what the attacker does not know: {} other records, \
         independent of each other and of the target, and counted with probabilities from {} to {} \
         as far as the attacker can tell; the worst of all such probabilities are taken.",
        number(records as f64),
        between.low(),
        between.high()
    )
}

/// Records of several options.
pub(crate) fn options(records: u64, options: usize) -> String {
    format!(
        "It rests on what the attacker does not know: {} other records, \
         independent of each other and of the target, each of which has any of {options} options \
         with the given least probabilities, as far as the attacker can tell.",
        number(records as f64)
    )
}

pub(crate) fn k_anonymity(records: u64, k: u64) -> String {
    format!(
        "It rests on what the attacker does not know: none of {} other records, which are \
         independent of each other and of the target and have each value with a probability within \
         its bounds, as far as the attacker can tell. Counts below {} are dropped, and how values \
         are grouped must not depend on the data. An attacker who can plant records undoes this.",
        number(records as f64),
        number(k as f64)
    )
}

/// Known records that make no difference.
pub(crate) fn known_shift(known: u64) -> String {
    match known {
        0 => String::new(),
        _ => format!(
            " Of the {} that are known it makes no difference what they are, \
             nor whether the attacker planted them: what they add can be taken off again.",
            number(known as f64)
        ),
    }
}

/// Known records that raise a count to its threshold.
pub(crate) fn known_threshold(known: u64) -> String {
    match known {
        0 => String::new(),
        _ => format!(
            " The passive attacker happens to know {0} more records, \
             and delta is the mean over what they may be; the active one planted these {0}, to \
             lift the count to where it tells most, and the delta that comes first is that one's.",
            number(known as f64)
        ),
    }
}
