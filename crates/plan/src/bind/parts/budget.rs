//! Shares of a statement's budget for its parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use hushtable_contract::Defaults;
use hushtable_lang::sql::{PrivacyClause, QueryOption};
use hushtable_lang::{ColumnType, Refusal};
use hushtable_privacy::{Delta, Loss};
use sqlparser::tokenizer::{Location, Span};

use super::consistent_levels::{Consistent, ConsistentLevel, LevelWishes};
use super::level_shares::LevelShares;
use super::open_limits::OpenLimits;
use super::{Part, ReleasedColumn};
use crate::bind::options::{MAX_WEIGHT, Options, count, truth};
use crate::bind::view::View;
use crate::bind::{Groups, Measurement, PrivateQuery};

/// Where a statement's budget comes from.
#[derive(Clone, Copy)]
pub(super) enum Paying<'a> {
    /// From its OPTIONS, or the contract's defaults.
    Statement,
    /// From its OPTIONS, or the contract's defaults, with these options in place of its own: to
    /// compare quotes, for owners.
    Trial(&'a [QueryOption]),
    /// From a workload, which gives it a share.
    Share(WorkloadShare<'a>),
}

/// The terms of a workload's query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkloadShare<'a> {
    /// Its share of the budget.
    pub(crate) loss: Loss,
    /// The workload's defaults, before the contract's.
    pub(crate) defaults: &'a Defaults,
    /// Whether it has a clipping report where it does not say.
    pub(crate) clipping_report: bool,
}

/// The option that asks for a row of all groups that are not shown.
const OTHER_ROW: &str = "other_row";
/// The option that asks for a report on what limits cut off.
const CLIPPING_REPORT: &str = "clipping_report";

/// A tenth of the weight of a part with weight one, where some parts serve others.
const TENTH: u32 = 60;
/// The weight of the histograms of a part with one group. Its noise is small beside what a wrong
/// bound costs: half as much again finds a third fewer units.
const OF_ONE_GROUP: u32 = 90;

/// The option that asks for levels that fit each other.
const CONSISTENT: &str = "consistent";
/// The option that says what is least in their split of the budget.
const LEVEL_SHARES: &str = "level_shares";

/// The OPTIONS of a statement's SELECTs.
pub(super) struct Clauses<'a> {
    all: &'a [PrivacyClause],
    /// Where the outermost SELECT stands, whose options hold for the whole statement.
    outermost: Option<Location>,
    paying: Paying<'a>,
    /// Which clauses belong to a part, or to what nothing reads.
    used: Vec<bool>,
}

/// Budget and bounds of a part.
pub(super) struct PartTerms {
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
    /// The budget of the SELECT at this location, and its number of levels.
    Select { select: Location, levels: usize },
}

/// The role of a part among those of its SELECT.
#[derive(Clone, Copy)]
pub(super) struct PartRole {
    /// How many parts the SELECT has.
    pub(super) of: usize,
    /// Whether it is the row of all groups that are not shown.
    pub(super) is_other: bool,
}

impl PartRole {
    /// The only part of a SELECT.
    pub(super) const ONLY: Self = Self { of: 1, is_other: false };
}

impl Pot {
    /// Whether parts with equal shares of both cost the same.
    fn same_as(self, other: Self) -> bool {
        let alone = |pot| matches!(pot, Self::Select { levels: 1, .. });
        self == other || (alone(self) && alone(other))
    }
}

impl<'a> Clauses<'a> {
    pub(super) fn new(
        all: &'a [PrivacyClause],
        outermost: Option<Location>,
        paying: Paying<'a>,
        unread: &[Location],
    ) -> Self {
        let used = all.iter().map(|clause| unread.contains(&clause.select)).collect();
        Self { all, outermost, paying, used }
    }

    fn at(&self, select: Option<Location>) -> Option<usize> {
        self.all.iter().position(|clause| Some(clause.select) == select)
    }

    /// Whether the SELECT that stands there asks for a row of all groups that are not shown.
    pub(super) fn other_row(&self, select: Location) -> Result<bool, Refusal> {
        Ok(self.asks(OTHER_ROW, Some(select))?.unwrap_or(false))
    }

    /// Whether the SELECT that stands there, or the whole statement, asks for clipping reports.
    pub(super) fn clipping_report(&self, select: Location) -> Result<bool, Refusal> {
        let report = match self.asks(CLIPPING_REPORT, Some(select))? {
            None => self.asks(CLIPPING_REPORT, self.outermost)?,
            value => value,
        };
        Ok(report.unwrap_or(match self.paying {
            Paying::Share(share) => share.clipping_report,
            Paying::Statement | Paying::Trial(_) => false,
        }))
    }

    /// An option of the SELECT that stands there.
    fn option(&self, name: &str, select: Option<Location>) -> Option<&QueryOption> {
        let clause = self.at(select)?;
        self.all[clause].options.iter().find(|option| option.name == name)
    }

    /// The value of an option that is true or false, at the SELECT that stands there.
    fn asks(&self, name: &str, select: Option<Location>) -> Result<Option<bool>, Refusal> {
        self.option(name, select)
            .map(|option| truth(option).map_err(|refusal| refusal.at_span(option.span)))
            .transpose()
    }

    /// The span of an option that asks for clipping reports.
    pub(super) fn report_span(&self) -> Option<Span> {
        let all = self.all.iter().flat_map(|clause| &clause.options);
        let is_report = |option: &&QueryOption| {
            option.name == CLIPPING_REPORT && option.value.eq_ignore_ascii_case("true")
        };
        all.filter(is_report).map(|option| option.span).next()
    }

    /// Whether the SELECT that stands there asks for levels that fit each other, and if so, how.
    pub(super) fn consistent(&self, select: Location) -> Result<Option<LevelWishes>, Refusal> {
        let named = self.option(LEVEL_SHARES, Some(select));
        let shares = named.map(level_shares).transpose()?.unwrap_or_default();
        let fitting = self.non_negative(select)?;
        match (named, fitting) {
            (Some(option), None) => Err(Refusal::new(
                format!("{LEVEL_SHARES} = {} is for levels that fit each other", option.value),
                "write consistent = true beside it, or leave it out",
            )
            .at_span(option.span)),
            _ => Ok(fitting.map(|non_negative| LevelWishes { non_negative, shares })),
        }
    }

    /// Whether the SELECT that stands there asks for levels that fit each other, and if so, whether
    /// they are not to be below zero.
    fn non_negative(&self, select: Location) -> Result<Option<bool>, Refusal> {
        let requested = self.option(CONSISTENT, Some(select));
        match requested.map(|option| (option, option.value.to_ascii_lowercase())) {
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
        role: PartRole,
        view: &View,
    ) -> Result<PartTerms, Refusal> {
        let index = self.at(Some(select));
        if let Some(index) = index {
            self.used[index] = true;
        }
        let outermost = Some(select) == self.outermost;
        let options = |clause: Option<usize>| {
            clause.map_or_else(Vec::new, |clause| self.all[clause].options.clone())
        };
        let mut given = options(index);
        let weight = given.iter().position(|option| option.name == "weight");
        let weight = weight.map(|at| given.remove(at));
        let weight = weight.map(|option| count(&option, MAX_WEIGHT)).transpose()?;
        let part_options = [OTHER_ROW, CLIPPING_REPORT, CONSISTENT, LEVEL_SHARES];
        given.retain(|option| !part_options.contains(&option.name.as_str()));
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
                let name = option.name.as_str();
                let is_for_others =
                    name == "max_rows_contributed" && view.relation.beside().is_none();
                let is_paid = pays_itself && budget(name);
                Defaults::NAMES.contains(&name)
                    && !is_for_others
                    && !is_paid
                    && !named(name, &given)
            });
            let inherited: Vec<QueryOption> = inherited.collect();
            given.extend(inherited);
        }
        let mut options = match self.paying {
            Paying::Statement => Options::read(&given, view, view.defaults())?,
            Paying::Trial(options) => {
                given.retain(|original| options.iter().all(|option| option.name != original.name));
                given.extend_from_slice(options);
                Options::read(&given, view, view.defaults())?
            }
            Paying::Share(WorkloadShare { loss, defaults, .. }) => {
                Options::read_part(&given, view, &of_workload(loss, defaults, view.defaults()))?
            }
        };
        let levels = role.of;
        options.of_levels = levels > 1;
        let pot = if pays_itself { Pot::Select { select, levels } } else { Pot::Statement };
        let weight = weight.filter(|_| !role.is_other).unwrap_or(1);
        Ok(PartTerms { options, pot, weight })
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

/// The aim of a split of the budget over levels.
fn level_shares(option: &QueryOption) -> Result<LevelShares, Refusal> {
    LevelShares::named(&option.value).ok_or_else(|| {
        Refusal::new(
            format!("{LEVEL_SHARES} = {} is not LARGEST, SUM or EVEN", option.value),
            format!("{LEVEL_SHARES} = SUM"),
        )
        .at_span(option.span)
    })
}

fn of_workload(share: Loss, workload: &Defaults, contract: &Defaults) -> Defaults {
    let (epsilon, rho) = match share {
        Loss::Approximate { epsilon, .. } => (Some(epsilon), None),
        Loss::Concentrated { rho, .. } => (None, Some(rho)),
    };
    Defaults {
        epsilon,
        rho,
        delta: Some(share.delta()),
        max_groups_contributed: workload.max_groups_contributed.or(contract.max_groups_contributed),
        max_rows_per_group: workload.max_rows_per_group.or(contract.max_rows_per_group),
        max_rows_joined: workload.max_rows_joined.or(contract.max_rows_joined),
        max_rows_contributed: contract.max_rows_contributed,
        group_selection_strategy: workload
            .group_selection_strategy
            .or(contract.group_selection_strategy),
        intervals: workload.intervals.or(contract.intervals),
        simultaneous_intervals: workload.simultaneous_intervals.or(contract.simultaneous_intervals),
        noise: workload.noise.or(contract.noise),
        prefer: workload.prefer.or(contract.prefer),
    }
}

/// A part before its share of the budget is known.
pub(super) struct DraftPart {
    pub(super) name: String,
    pub(super) sql: String,
    pub(super) query: PrivateQuery,
    pub(super) reads: Vec<ReleasedColumn>,
    pub(super) pot: Pot,
    pub(super) weight: u32,
    /// All that is in the pot, with all of its delta.
    pub(super) whole: Option<Loss>,
    /// The parts that it is the clipping report of; empty for other parts.
    pub(super) report_of: Vec<usize>,
    /// The histograms from which its limits are chosen, which stand before it.
    pub(super) limits_from: Vec<usize>,
    /// Whether it is such a histogram.
    pub(super) is_histogram: bool,
    /// Its clauses with what they are bound over, where some of its limits are to be chosen.
    pub(super) open: Option<Arc<OpenLimits>>,
}

impl DraftPart {
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
            open: None,
        }
    }

    /// The names and types of its released columns.
    pub(super) fn columns(&self) -> Vec<(String, ColumnType)> {
        let outputs = self.query.outputs.iter();
        outputs.map(|output| (output.name.clone(), output.expr.column_type)).collect()
    }

    /// The columns of its release that show its keys, if all of them are shown: no two rows have
    /// the same keys. None where it has one row at most.
    pub(super) fn unique(&self) -> Option<Vec<usize>> {
        if self.query.groups == Groups::Single || self.query.limit == Some(1) {
            return Some(Vec::new());
        }
        let outputs = &self.query.outputs;
        let shown = |key| outputs.iter().position(|output| output.expr.is_column(key));
        (0..self.query.keys.len()).map(shown).collect()
    }

    /// Whether it serves another part, and the statement does not ask for it.
    fn is_for_another(&self) -> bool {
        !self.report_of.is_empty() || self.is_histogram
    }

    /// The weight of the histograms from which its limits are chosen.
    fn for_histograms(&self) -> u32 {
        match self.query.groups {
            _ if self.limits_from.is_empty() => 0,
            Groups::Single => OF_ONE_GROUP,
            _ => TENTH,
        }
    }

    fn chooses(&self) -> bool {
        matches!(self.query.groups, Groups::Private { .. })
    }

    /// The key of the part's release; `None` for a part that serves another, or that another one
    /// serves.
    fn release_key(&self, population: Option<usize>, is_reported: bool) -> Option<ReleaseKey> {
        if self.is_for_another() || is_reported || self.open.is_some() {
            return None;
        }
        let query = self.query.clone().with_loss(self.query.loss.nothing());
        let measurements = query.unnamed().measurements;
        // Separate budgets of SELECTs are interchangeable where they are equally large.
        let pot = (!matches!(self.pot, Pot::Select { levels: 1, .. })).then_some(self.pot);
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

    /// Whether it asks the same as another draft, on the same terms.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        let text = |draft: &Self| serde_json::to_vec(&draft.query).ok();
        !self.is_for_another()
            && !other.is_for_another()
            && self.weight == other.weight
            && self.pot.same_as(other.pot)
            && self.reads == other.reads
            && self.columns() == other.columns()
            && text(self).is_some_and(|bytes| text(other) == Some(bytes))
    }
}

/// Everything that parts with one release have in common.
#[derive(PartialEq)]
struct ReleaseKey {
    pot: Option<Pot>,
    population: Option<usize>,
    whole: Option<Loss>,
    weight: u32,
    reads: Vec<ReleasedColumn>,
    wishes: String,
    leaf: Vec<u8>,
    /// In the query's order, in which they share a budget.
    measurements: Vec<Measurement>,
}

/// The parts that the statement uses, with their shares of their pots: epsilon or rho by weight
/// among all of its parts, and delta by weight among those of them that choose groups privately.
/// The shares add up to the whole exactly. Parts with one release have one share. Levels that fit
/// each other split what they have together so that the adjusted numbers have the least noise.
pub(super) fn shared(
    drafts: Vec<DraftPart>,
    used: &[usize],
    consistent: &[Consistent],
) -> Result<Vec<Part>, Refusal> {
    let mut needed = vec![false; drafts.len()];
    used.iter().for_each(|&part| needed[part] = true);
    for (index, draft) in drafts.iter().enumerate().rev() {
        if needed[index] {
            draft.reads.iter().for_each(|read| needed[read.part] = true);
            draft.limits_from.iter().for_each(|&part| needed[part] = true);
        }
    }
    for (index, draft) in drafts.iter().enumerate() {
        if !draft.report_of.is_empty() {
            needed[index] = draft.report_of.iter().any(|&of| needed[of]);
        }
    }
    // The index of each part among those that are left.
    let index = |part: usize| needed[..part].iter().filter(|needed| **needed).count();
    let mut parts: Vec<DraftPart> = Vec::new();
    for (at, mut draft) in drafts.into_iter().enumerate() {
        if needed[at] {
            draft.reads.iter_mut().for_each(|read| read.part = index(read.part));
            draft.report_of.retain(|&of| needed[of]);
            draft.report_of.iter_mut().for_each(|of| *of = index(*of));
            draft.limits_from.iter_mut().for_each(|from| *from = index(*from));
            parts.push(draft);
        }
    }
    // Populations that a part has in common pay from one pot.
    let mut linked: Vec<BTreeSet<String>> = Vec::new();
    for part in &parts {
        let mut populations: BTreeSet<String> =
            part.query.populations().map(str::to_owned).collect();
        let apart = |others: &BTreeSet<String>| others.is_disjoint(&populations);
        let (apart, common) = linked.drain(..).partition::<Vec<_>, _>(apart);
        common.into_iter().for_each(|others| populations.extend(others));
        linked = apart;
        linked.push(populations);
    }
    let linked_to = |part: &DraftPart| {
        let population = &part.query.population;
        linked.iter().position(|populations| populations.contains(population))
    };
    let from = |part: &DraftPart| (part.pot, linked_to(part));
    let same_as = one_release(&parts, linked_to);
    let mut pots: Vec<(Pot, Option<usize>)> = Vec::new();
    for (part, same_as) in parts.iter().zip(&same_as) {
        if same_as.is_none() && !pots.contains(&from(part)) {
            pots.push(from(part));
        }
    }
    let requested = parts
        .iter()
        .zip(&same_as)
        .filter(|(part, same_as)| !part.is_for_another() && same_as.is_none());
    let alone = requested.count() == 1;
    let part_weights: Vec<u32> = (0..parts.len())
        .map(|at| if same_as[at].is_some() { 0 } else { share_of(&parts, at) })
        .collect();
    for pot in pots {
        let weights = |counts: fn(&DraftPart) -> bool| -> Vec<u32> {
            let weighted = parts.iter().zip(&part_weights);
            weighted
                .map(|(p, weight)| if from(p) == pot && counts(p) { *weight } else { 0 })
                .collect()
        };
        let Some(whole) = parts.iter().find(|part| from(part) == pot).and_then(|part| part.whole)
        else {
            continue;
        };
        let losses = whole.split(&weights(|_| true));
        let deltas = whole.delta().split(&weights(DraftPart::chooses));
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
    for levels in consistent {
        share_levels(levels, &mut parts, &same_as);
    }
    for (at, same_as) in same_as.iter().enumerate() {
        if let Some(first) = *same_as {
            let first = parts[first].query.clone();
            let query = parts[at].query.clone();
            parts[at].query = query.at_the_price_of(&first);
        }
    }
    let mut questions = parts.iter().filter(|part| !part.is_for_another());
    if let (true, Some(DraftPart { weight: 2.., .. })) = (alone, questions.next()) {
        return Err(Refusal::new(
            "weight is a share of a statement's budget, but the statement has only one part",
            "leave it out",
        ));
    }
    let part = |(draft, same_as): (DraftPart, Option<usize>)| {
        let is_weighed = draft.pot == Pot::Statement && !draft.is_for_another();
        let DraftPart { name, sql, query, reads, weight, report_of, .. } = draft;
        let DraftPart { limits_from, is_histogram, open, .. } = draft;
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
            open,
        }
    };
    Ok(parts.into_iter().zip(same_as).map(part).collect())
}

/// Splits the budget of levels that fit each other. Where another part pays for one of them, or its
/// limits are chosen later, shares stay even.
fn share_levels(levels: &Consistent, parts: &mut [DraftPart], same_as: &[Option<usize>]) {
    let mut left: Vec<Option<&mut PrivateQuery>> = parts.iter().map(|_| None).collect();
    let mut names = Vec::with_capacity(parts.len());
    for ((slot, part), same_as) in left.iter_mut().zip(parts).zip(same_as) {
        names.push(part.name.clone());
        if same_as.is_none() && part.open.is_none() && part.whole.is_some() {
            *slot = Some(&mut part.query);
        }
    }
    let query = |level: &ConsistentLevel| {
        let at = names.iter().position(|name| *name == level.part)?;
        left.get_mut(at)?.take()
    };
    if let Some(mut queries) = levels.levels.iter().map(query).collect::<Option<Vec<_>>>() {
        levels.share(&mut queries);
    }
}

/// For each part, the earlier one whose release it reuses in another form.
fn one_release(
    parts: &[DraftPart],
    population: impl Fn(&DraftPart) -> Option<usize>,
) -> Vec<Option<usize>> {
    let is_reported = |at: usize| parts.iter().any(|part| part.report_of.contains(&at));
    let key = |(at, part): (usize, &DraftPart)| part.release_key(population(part), is_reported(at));
    let keys: Vec<Option<ReleaseKey>> = parts.iter().enumerate().map(key).collect();
    let first =
        |at: usize| keys[..at].iter().position(|earlier| earlier.is_some() && *earlier == keys[at]);
    (0..parts.len()).map(first).collect()
}

/// The share of a part in its pot, relative to the others'. A clipping report takes a tenth of its
/// part's, and so do the histograms from which a part's limits are chosen, together; those of a
/// part with one group take 15 %.
fn share_of(parts: &[DraftPart], at: usize) -> u32 {
    let weight = |of: usize| parts.get(of).map_or(0, |part| part.weight);
    let Some(part) = parts.get(at) else { return 0 };
    if !parts.iter().any(DraftPart::is_for_another) {
        return weight(at);
    }
    if part.is_histogram {
        let uses_it = |of: &&DraftPart| of.limits_from.contains(&at) && !of.is_for_another();
        let share = |of: &DraftPart| {
            let histograms = u32::try_from(of.limits_from.len()).unwrap_or(u32::MAX);
            (of.for_histograms() * of.weight / histograms.max(1)).max(1)
        };
        return parts.iter().filter(uses_it).map(share).sum();
    }
    if !part.report_of.is_empty() {
        return part.report_of.iter().map(|&of| TENTH * weight(of)).sum();
    }
    let has_report = parts.iter().any(|part| part.report_of.contains(&at));
    let left = (10 - u32::from(has_report)) * TENTH - part.for_histograms();
    left * weight(at)
}
