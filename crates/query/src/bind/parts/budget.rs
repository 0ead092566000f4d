//! Shares of a statement's budget for its parts.

use std::collections::BTreeSet;

use hushtable_privacy::{Delta, Loss};
use sqlparser::tokenizer::{Location, Span};

use super::{Part, Read};
use crate::bind::options::{MAX_WEIGHT, Options, count, truth};
use crate::bind::view::View;
use crate::bind::{Groups, Measurement, PrivateQuery};
use crate::contract::Defaults;
use crate::error::Refusal;
use crate::sql::{PrivacyClause, QueryOption};

/// Where a statement's budget comes from.
#[derive(Clone, Copy)]
pub(super) enum Paying<'a> {
    /// From its OPTIONS, or the contract's defaults.
    Own,
    /// From its OPTIONS, or the contract's defaults, with these options in place of its own: to
    /// compare quotes, for owners.
    Trial(&'a [QueryOption]),
    /// From a workload, which gives it that share, and these defaults before the contract's.
    Share(Loss, &'a Defaults),
}

/// The option that asks for a row of all groups that are not shown.
const OTHER_ROW: &str = "other_row";
/// The option that asks for a report on what limits cut off.
const CLIPPING_REPORT: &str = "clipping_report";

/// The weight of a tenth of a part of weight one, beside parts that are for another.
const TENTH: u32 = 60;

/// The option that asks for levels that fit each other.
const CONSISTENT: &str = "consistent";

/// The OPTIONS of a statement's SELECTs.
pub(super) struct Clauses<'a> {
    all: &'a [PrivacyClause],
    /// Where the outermost SELECT stands, whose options hold for the whole statement.
    outermost: Option<Location>,
    paying: Paying<'a>,
    /// Which clauses belong to a part.
    used: Vec<bool>,
}

/// Budget and bounds of a part.
pub(super) struct Terms {
    pub(super) options: Options,
    pub(super) pot: Pot,
    /// Its share of the pot, relative to the other parts'.
    pub(super) weight: u32,
}

/// The budget that a part has a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pot {
    /// The statement's, of the part's population.
    Statement,
    /// The budget of the SELECT at this place, and its number of levels.
    Own { select: Location, levels: usize },
}

/// Which of the parts of one SELECT a part is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// How many parts the SELECT has.
    pub(super) of: usize,
    /// Whether it is the row of all groups that are not shown.
    pub(super) is_other: bool,
}

impl Place {
    /// The only part of a SELECT.
    pub(super) const ONLY: Self = Self { of: 1, is_other: false };
}

impl Pot {
    /// Whether parts with equal shares of both cost the same.
    fn same_as(self, other: Self) -> bool {
        let alone = |pot| matches!(pot, Self::Own { levels: 1, .. });
        self == other || (alone(self) && alone(other))
    }
}

impl<'a> Clauses<'a> {
    pub(super) fn new(
        all: &'a [PrivacyClause],
        outermost: Option<Location>,
        paying: Paying<'a>,
    ) -> Self {
        Self { all, outermost, paying, used: vec![false; all.len()] }
    }

    fn at(&self, place: Option<Location>) -> Option<usize> {
        self.all.iter().position(|clause| Some(clause.select) == place)
    }

    /// Whether the SELECT that stands there asks for a row of all groups that are not shown.
    pub(super) fn other_row(&self, select: Location) -> Result<bool, Refusal> {
        Ok(self.asks(OTHER_ROW, Some(select))?.unwrap_or(false))
    }

    /// Whether the SELECT that stands there, or the whole statement, asks for clipping reports.
    pub(super) fn clipping_report(&self, select: Location) -> Result<bool, Refusal> {
        let asked = match self.asks(CLIPPING_REPORT, Some(select))? {
            None => self.asks(CLIPPING_REPORT, self.outermost)?,
            own => own,
        };
        Ok(asked.unwrap_or(false))
    }

    /// An option of the SELECT that stands there.
    fn option(&self, name: &str, select: Option<Location>) -> Option<&QueryOption> {
        let own = self.at(select)?;
        self.all[own].options.iter().find(|option| option.name == name)
    }

    /// The value of an option that is true or false, at the SELECT that stands there.
    fn asks(&self, name: &str, select: Option<Location>) -> Result<Option<bool>, Refusal> {
        self.option(name, select)
            .map(|option| truth(option).map_err(|refusal| refusal.at_span(option.span)))
            .transpose()
    }

    /// The place of an option that asks for clipping reports.
    pub(super) fn asked_for_reports(&self) -> Option<Span> {
        let all = self.all.iter().flat_map(|clause| &clause.options);
        let asked = |option: &&QueryOption| {
            option.name == CLIPPING_REPORT && option.value.eq_ignore_ascii_case("true")
        };
        all.filter(asked).map(|option| option.span).next()
    }

    /// Whether the SELECT that stands there asks for levels that fit each other, and if so, whether
    /// they are not to be below zero.
    pub(super) fn consistent(&self, select: Location) -> Result<Option<bool>, Refusal> {
        let asked = self.option(CONSISTENT, Some(select));
        match asked.map(|option| (option, option.value.to_ascii_lowercase())) {
            None => Ok(None),
            Some((_, value)) if value == "false" => Ok(None),
            Some((_, value)) if value == "true" => Ok(Some(false)),
            Some((_, value)) if value == "non_negative" => Ok(Some(true)),
            Some((option, _)) => Err(Refusal::new(
                format!("{CONSISTENT} = {} is not TRUE, NON_NEGATIVE or FALSE", option.value),
                format!("{CONSISTENT} = TRUE"),
            )
            .at_span(option.span)),
        }
    }

    /// The terms of the part whose SELECT stands there. A budget that it does not name is the whole
    /// of the statement's, until all parts are known.
    pub(super) fn terms(
        &mut self,
        select: Location,
        place: Place,
        view: &View,
    ) -> Result<Terms, Refusal> {
        let own = self.at(Some(select));
        if let Some(own) = own {
            self.used[own] = true;
        }
        let outermost = Some(select) == self.outermost;
        let options = |clause: Option<usize>| {
            clause.map_or_else(Vec::new, |clause| self.all[clause].options.clone())
        };
        let mut given = options(own);
        let weight = given.iter().position(|option| option.name == "weight");
        let weight = weight.map(|place| given.remove(place));
        let weight = weight.map(|option| count(&option, MAX_WEIGHT)).transpose()?;
        let own = [OTHER_ROW, CLIPPING_REPORT, CONSISTENT];
        given.retain(|option| !own.contains(&option.name.as_str()));
        let named = |name: &str, given: &[QueryOption]| given.iter().any(|o| o.name == name);
        let pays_itself = !outermost && (named("epsilon", &given) || named("rho", &given));
        if pays_itself && weight.is_some() {
            return Err(Refusal::new(
                "a part has both a weight and a budget of its own",
                "keep one of them: weight = 2 for a share of the statement's budget, or epsilon \
                 = 0.5 for a budget of its own",
            ));
        }
        if !outermost && !pays_itself && named("delta", &given) {
            return Err(Refusal::new(
                "a part has a delta of its own, but no epsilon or rho",
                "give epsilon and delta at the part, or both at the outermost SELECT",
            ));
        }
        if !outermost {
            let budget = |name: &str| matches!(name, "epsilon" | "rho" | "delta");
            let inherited = options(self.at(self.outermost)).into_iter().filter(|option| {
                Defaults::NAMES.contains(&option.name.as_str())
                    && !named(&option.name, &given)
                    && !(pays_itself && budget(&option.name))
            });
            let inherited: Vec<QueryOption> = inherited.collect();
            given.extend(inherited);
        }
        let mut options = match self.paying {
            Paying::Own => Options::read(&given, view, view.defaults())?,
            Paying::Trial(options) => {
                given.retain(|own| options.iter().all(|option| option.name != own.name));
                given.extend_from_slice(options);
                Options::read(&given, view, view.defaults())?
            }
            Paying::Share(share, defaults) => {
                Options::read_part(&given, view, &of_workload(share, defaults, view.defaults()))?
            }
        };
        let levels = place.of;
        options.of_levels = levels > 1;
        let pot = if pays_itself { Pot::Own { select, levels } } else { Pot::Statement };
        let weight = weight.filter(|_| !place.is_other).unwrap_or(1);
        Ok(Terms { options, pot, weight })
    }

    /// # Errors
    /// When OPTIONS stand where nothing is released, or name what only a part can have.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        for (clause, used) in self.all.iter().zip(&self.used) {
            if *used {
                continue;
            }
            if Some(clause.select) != self.outermost {
                return Err(Refusal::new(
                    "WITH DIFFERENTIAL_PRIVACY is in a SELECT that releases nothing by itself, \
                     or that nothing reads",
                    "write it after the outermost SELECT, for the whole statement; or after a \
                     SELECT that aggregates protected rows, and whose GROUP BY does not include \
                     their unit",
                ));
            }
            let of_whole = |o: &&QueryOption| {
                !Defaults::NAMES.contains(&o.name.as_str()) && o.name != CLIPPING_REPORT
            };
            let alone = clause.options.iter().find(of_whole);
            if let Some(QueryOption { name, .. }) = alone {
                return Err(Refusal::new(
                    format!(
                        "the option `{name}` is in the outermost SELECT, which is not a private \
                         part"
                    ),
                    format!(
                        "write {name} in the OPTIONS of a part; {} hold for the whole statement",
                        Defaults::NAMES.join(", ")
                    ),
                ));
            }
        }
        Ok(())
    }
}

fn of_workload(share: Loss, own: &Defaults, theirs: &Defaults) -> Defaults {
    let (epsilon, rho) = match share {
        Loss::Approximate { epsilon, .. } => (Some(epsilon), None),
        Loss::Concentrated { rho, .. } => (None, Some(rho)),
    };
    Defaults {
        epsilon,
        rho,
        delta: Some(share.delta()),
        max_groups_contributed: own.max_groups_contributed.or(theirs.max_groups_contributed),
        max_rows_per_group: own.max_rows_per_group.or(theirs.max_rows_per_group),
        max_rows_joined: own.max_rows_joined.or(theirs.max_rows_joined),
        group_selection_strategy: own.group_selection_strategy.or(theirs.group_selection_strategy),
        intervals: own.intervals.or(theirs.intervals),
        simultaneous_intervals: own.simultaneous_intervals.or(theirs.simultaneous_intervals),
        noise: own.noise.or(theirs.noise),
        prefer: own.prefer.or(theirs.prefer),
    }
}

/// A part before its share of the budget is known.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) sql: String,
    pub(super) query: PrivateQuery,
    pub(super) reads: Vec<Read>,
    pub(super) pot: Pot,
    pub(super) weight: u32,
    /// All that is in the pot, with all of its delta.
    pub(super) whole: Option<Loss>,
    /// The parts whose clipping report it is; none of a question.
    pub(super) report_of: Vec<usize>,
    /// The histograms from which its limits are chosen, which stand before it.
    pub(super) limits_from: Vec<usize>,
    /// Whether it is such a histogram.
    pub(super) is_histogram: bool,
    /// The query before its budget is known, where limits of it are to be chosen.
    pub(super) example: Option<Box<PrivateQuery>>,
}

impl Draft {
    /// A draft for this one, about the same rows and from the same pot.
    pub(super) fn beside(&self, name: String, sql: String, query: PrivateQuery) -> Self {
        Self {
            name,
            sql,
            query,
            reads: self.reads.clone(),
            pot: self.pot,
            weight: self.weight,
            whole: self.whole,
            report_of: Vec::new(),
            limits_from: Vec::new(),
            is_histogram: false,
            example: None,
        }
    }

    /// The names of its released columns.
    pub(super) fn columns(&self) -> Vec<String> {
        self.query.outputs.iter().map(|output| output.name.clone()).collect()
    }

    /// Whether it is for another part, and not asked by itself.
    fn is_for_another(&self) -> bool {
        !self.report_of.is_empty() || self.is_histogram
    }

    fn chooses(&self) -> bool {
        matches!(self.query.groups, Groups::Private { .. })
    }

    /// The key of the part's release; `None` for a part that is for another one, or that another
    /// one is for.
    fn release_key(&self, population: Option<usize>, is_reported: bool) -> Option<ReleaseKey> {
        if self.is_for_another() || is_reported || self.example.is_some() {
            return None;
        }
        let query = self.query.clone().with_loss(self.query.loss.nothing());
        let measurements = query.unnamed().measurements;
        // The budgets of SELECTs by themselves are alike where they are as large.
        let pot = (!matches!(self.pot, Pot::Own { levels: 1, .. })).then_some(self.pot);
        Some(ReleaseKey {
            pot,
            population,
            whole: self.whole,
            weight: self.weight,
            reads: self.reads.clone(),
            wishes: query.wishes(),
            leaf: query.leaf_bytes()?,
            measurements,
        })
    }

    /// Whether it asks the same as another one, at the same terms.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        let text = |draft: &Self| serde_json::to_vec(&draft.query).ok();
        !self.is_for_another()
            && !other.is_for_another()
            && self.weight == other.weight
            && self.pot.same_as(other.pot)
            && self.reads == other.reads
            && self.columns() == other.columns()
            && text(self).is_some_and(|own| text(other) == Some(own))
    }
}

/// Everything that parts with one release have in common.
#[derive(PartialEq)]
struct ReleaseKey {
    pot: Option<Pot>,
    population: Option<usize>,
    whole: Option<Loss>,
    weight: u32,
    reads: Vec<Read>,
    wishes: String,
    leaf: Vec<u8>,
    /// In the query's order, in which they share a budget.
    measurements: Vec<Measurement>,
}

/// The parts that the statement uses, with their shares of their pots: epsilon or rho by weight
/// among all of its parts, and delta by weight among those of them that choose groups privately.
/// The shares add up to the whole exactly. Parts with one release have one share.
pub(super) fn shared(drafts: Vec<Draft>, used: &[usize]) -> Result<Vec<Part>, Refusal> {
    let mut needed = vec![false; drafts.len()];
    used.iter().for_each(|&part| needed[part] = true);
    for (place, draft) in drafts.iter().enumerate().rev() {
        if needed[place] {
            draft.reads.iter().for_each(|read| needed[read.part] = true);
            draft.limits_from.iter().for_each(|&part| needed[part] = true);
        }
    }
    for (place, draft) in drafts.iter().enumerate() {
        if !draft.report_of.is_empty() {
            needed[place] = draft.report_of.iter().any(|&of| needed[of]);
        }
    }
    // Where each part stands among those that are left.
    let place = |part: usize| needed[..part].iter().filter(|needed| **needed).count();
    let mut parts: Vec<Draft> = Vec::new();
    for (at, mut draft) in drafts.into_iter().enumerate() {
        if needed[at] {
            draft.reads.iter_mut().for_each(|read| read.part = place(read.part));
            draft.report_of.retain(|&of| needed[of]);
            draft.report_of.iter_mut().for_each(|of| *of = place(*of));
            draft.limits_from.iter_mut().for_each(|from| *from = place(*from));
            parts.push(draft);
        }
    }
    // Populations that a part has in common pay from one pot.
    let mut linked: Vec<BTreeSet<String>> = Vec::new();
    for part in &parts {
        let mut own: BTreeSet<String> = part.query.populations().map(str::to_owned).collect();
        let apart = |others: &BTreeSet<String>| others.is_disjoint(&own);
        let (apart, common) = linked.drain(..).partition::<Vec<_>, _>(apart);
        common.into_iter().for_each(|others| own.extend(others));
        linked = apart;
        linked.push(own);
    }
    let linked_to = |part: &Draft| {
        let population = &part.query.population;
        linked.iter().position(|own| own.contains(population))
    };
    let from = |part: &Draft| (part.pot, linked_to(part));
    let same_as = one_release(&parts, linked_to);
    let mut pots: Vec<(Pot, Option<usize>)> = Vec::new();
    for (part, same_as) in parts.iter().zip(&same_as) {
        if same_as.is_none() && !pots.contains(&from(part)) {
            pots.push(from(part));
        }
    }
    let asked = parts
        .iter()
        .zip(&same_as)
        .filter(|(part, same_as)| !part.is_for_another() && same_as.is_none());
    let alone = asked.count() == 1;
    let own_weights: Vec<u32> = (0..parts.len())
        .map(|at| if same_as[at].is_some() { 0 } else { share_of(&parts, at) })
        .collect();
    for pot in pots {
        let weights = |counts: fn(&Draft) -> bool| -> Vec<u32> {
            let own = parts.iter().zip(&own_weights);
            own.map(|(p, weight)| if from(p) == pot && counts(p) { *weight } else { 0 }).collect()
        };
        let Some(whole) = parts.iter().find(|part| from(part) == pot).and_then(|part| part.whole)
        else {
            continue;
        };
        let losses = whole.split(&weights(|_| true));
        let deltas = whole.delta().split(&weights(Draft::chooses));
        let shares = losses.into_iter().zip(deltas);
        for ((part, same_as), (loss, delta)) in parts.iter_mut().zip(&same_as).zip(shares) {
            if from(part) != pot || same_as.is_some() {
                continue;
            }
            if part.chooses() && delta.is_zero() {
                return Err(Refusal::new(
                    format!("delta = {} is too small to be split over the parts", whole.delta()),
                    "use a larger delta, or fewer parts",
                ));
            }
            part.query.loss = loss.with_delta(if part.chooses() { delta } else { Delta::ZERO });
            // Among several parts, delta is for those that choose groups.
            if !alone || part.is_for_another() {
                part.query.noise_delta = Delta::ZERO;
            }
            part.query.settle_noise();
        }
    }
    for (at, same_as) in same_as.iter().enumerate() {
        if let Some(first) = *same_as {
            let first = parts[first].query.clone();
            let query = parts[at].query.clone();
            parts[at].query = query.at_the_price_of(&first);
        }
    }
    let mut questions = parts.iter().filter(|part| !part.is_for_another());
    if let (true, Some(Draft { weight: 2.., .. })) = (alone, questions.next()) {
        return Err(Refusal::new(
            "weight is a share of a statement's budget, but the statement has only one part",
            "leave it out",
        ));
    }
    let part = |(draft, same_as): (Draft, Option<usize>)| {
        let is_weighed = draft.pot == Pot::Statement && !draft.is_for_another();
        let Draft { name, sql, query, reads, weight, report_of, .. } = draft;
        let Draft { limits_from, is_histogram, example, .. } = draft;
        let weight = is_weighed.then_some(weight);
        Part {
            name,
            sql,
            weight,
            reads,
            query,
            report_of,
            limits_from,
            is_histogram,
            same_as,
            example,
        }
    };
    Ok(parts.into_iter().zip(same_as).map(part).collect())
}

/// Of each part, the earlier one whose release it shows in another way.
fn one_release(
    parts: &[Draft],
    population: impl Fn(&Draft) -> Option<usize>,
) -> Vec<Option<usize>> {
    let is_reported = |at: usize| parts.iter().any(|part| part.report_of.contains(&at));
    let key = |(at, part): (usize, &Draft)| part.release_key(population(part), is_reported(at));
    let keys: Vec<Option<ReleaseKey>> = parts.iter().enumerate().map(key).collect();
    let first = |at: usize| keys[..at].iter().position(|own| own.is_some() && *own == keys[at]);
    (0..parts.len()).map(first).collect()
}

/// The share of a part in its pot, relative to the others'. A clipping report takes a tenth of its
/// part's, and so do the histograms from which a part's limits are chosen, together.
fn share_of(parts: &[Draft], at: usize) -> u32 {
    let weight = |of: usize| parts.get(of).map_or(0, |part| part.weight);
    let Some(part) = parts.get(at) else { return 0 };
    if !parts.iter().any(Draft::is_for_another) {
        return weight(at);
    }
    if part.is_histogram {
        let own = |of: &&Draft| of.limits_from.contains(&at);
        let share = |of: &Draft| {
            let histograms = u32::try_from(of.limits_from.len()).unwrap_or(u32::MAX);
            (TENTH * of.weight / histograms.max(1)).max(1)
        };
        return parts.iter().filter(own).map(share).sum();
    }
    if !part.report_of.is_empty() {
        return part.report_of.iter().map(|&of| TENTH * weight(of)).sum();
    }
    let has_report = parts.iter().any(|part| part.report_of.contains(&at));
    let taken = u32::from(has_report) + u32::from(!part.limits_from.is_empty());
    (10 - taken) * TENTH * weight(at)
}
