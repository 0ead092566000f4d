//! The OPTIONS of a query, on top of the contract's defaults.

use std::fmt::Display;
use std::str::FromStr;

use hushtable_contract::{
    AUTO, Defaults, IntervalRequest, Level, MAX_GROUPS, MAX_ROWS, MAX_ROWS_JOINED, NoiseKind,
    Prefer, ReportFormat, UnitLimit,
};
use hushtable_lang::sql::QueryOption;
use hushtable_lang::{Refusal, did_you_mean, similar};
use hushtable_privacy::{AmountError, Delta, Epsilon, Loss, Rho};

use super::automatic_limits::ChosenLimits;
use super::limit_sources::{LimitSource, LimitSources};
use super::view::{QueryUnit, View};
use hushtable_mechanisms::Strategy;

const KNOWN: &str = "epsilon, rho, delta, privacy_unit_column, neighbouring, \
                     max_groups_contributed, max_rows_per_group, max_rows_joined, \
                     max_rows_contributed, bounds, group_selection_strategy, \
                     group_selection_by, group_selection_weight, weight, other_row, \
                     clipping_report, consistent, level_shares, noise, prefer, \
                     min_privacy_units_per_group, known_groups_threshold, intervals, \
                     simultaneous_intervals, quantile_intervals, report_format";

/// The names of all OPTIONS of a query.
pub fn option_names() -> impl Iterator<Item = &'static str> {
    KNOWN.split(", ")
}

/// Largest `min_privacy_units_per_group` and `known_groups_threshold`.
const MAX_UNITS: u32 = 1_000_000_000;

/// Largest weight of a part of the budget.
pub(super) const MAX_WEIGHT: u32 = 1000;

/// Options with the defaults filled in.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// Epsilon or rho, with the delta for choosing groups.
    pub(super) loss: Option<Loss>,
    pub(super) max_groups_contributed: Option<UnitLimit>,
    /// Whether bounds that are given nowhere are chosen privately.
    pub(super) automatic_bounds: bool,
    /// The limits that were chosen privately, where they have been.
    pub(super) chosen: ChosenLimits,
    pub(super) max_rows_per_group: Option<UnitLimit>,
    /// Most rows of a unit on a side of a join in which its rows can meet each other.
    pub(super) max_rows_joined: Option<u32>,
    /// Most rows of a unit of a further population, where rows belong to units of two.
    pub(super) max_rows_contributed: Option<u32>,
    /// Where these two come from.
    pub(super) limit_sources: LimitSources,
    pub(super) strategy: Option<Strategy>,
    pub(super) selection_weight: Option<u32>,
    /// The noise that the query names, which it has or is refused.
    pub(super) noise: Option<NoiseKind>,
    /// The contract's default, which a query has where it can.
    pub(super) usual_noise: Option<NoiseKind>,
    pub(super) prefer: Prefer,
    /// Whether the query names the delta. The contract's default is for choosing groups, and for
    /// noise only where that is to be Gaussian.
    pub(super) names_delta: bool,
    pub(super) least_units: u32,
    pub(super) known_groups_threshold: Option<i64>,
    /// Whether a record counts as often as it has pieces when groups are chosen.
    pub(super) by_pieces: bool,
    /// Whether they are those of a SELECT with several levels: what is said of choosing groups is
    /// about the levels that choose them.
    pub(super) of_levels: bool,
    /// The intervals that are wanted beside released values.
    pub(super) intervals: Option<IntervalRequest>,
    /// The level at which intervals around quantiles are drawn, where that is asked for.
    pub(super) quantile_intervals: Option<Level>,
}

impl Options {
    /// Of a query of a workload, whose budget is a share of the workload's.
    pub(super) fn read_part(
        given: &[QueryOption],
        table: &View,
        defaults: &Defaults,
    ) -> Result<Self, Refusal> {
        let budget = given.iter().find(|o| matches!(o.name.as_str(), "epsilon" | "rho" | "delta"));
        if let Some(QueryOption { name, value, span }) = budget {
            return Err(Refusal::new(
                format!("{name} = {value} is the query's own, and a workload has one budget"),
                format!(
                    "leave {name} out; weight = 2 beside the query's name gives it a larger share"
                ),
            )
            .at_span(*span));
        }
        Self::read(given, table, defaults)
    }

    pub(super) fn read(
        given: &[QueryOption],
        table: &View,
        defaults: &Defaults,
    ) -> Result<Self, Refusal> {
        let mut epsilon: Option<Epsilon> = None;
        let mut rho: Option<Rho> = None;
        let mut delta = defaults.delta;
        let (mut level, mut simultaneous) = (defaults.intervals, defaults.simultaneous_intervals);
        let mut report: Option<ReportFormat> = None;
        let mut options = Self {
            loss: None,
            max_groups_contributed: defaults.max_groups_contributed,
            automatic_bounds: false,
            chosen: ChosenLimits::default(),
            max_rows_per_group: defaults.max_rows_per_group,
            max_rows_joined: defaults.max_rows_joined,
            max_rows_contributed: table.max_rows_contributed,
            limit_sources: LimitSources {
                joined: LimitSource::of_default(defaults.max_rows_joined),
                contributed: LimitSource::of_default(table.max_rows_contributed),
            },
            strategy: defaults.group_selection_strategy,
            selection_weight: None,
            noise: None,
            usual_noise: defaults.noise,
            prefer: defaults.prefer.unwrap_or_default(),
            names_delta: given.iter().any(|option| option.name == "delta"),
            least_units: 1,
            known_groups_threshold: None,
            by_pieces: false,
            of_levels: false,
            intervals: None,
            quantile_intervals: None,
        };
        for option in given {
            let mut read = || {
                match option.name.as_str() {
                    "epsilon" => epsilon = Some(amount(option)?),
                    "rho" => rho = Some(amount(option)?),
                    "delta" => delta = Some(amount(option)?),
                    "max_groups_contributed" => {
                        options.max_groups_contributed = Some(unit_limit(option, MAX_GROUPS)?);
                    }
                    "bounds" if option.value.eq_ignore_ascii_case(AUTO) => {
                        options.automatic_bounds = true;
                    }
                    "bounds" => {
                        return Err(Refusal::new(
                            format!("bounds = {} is not AUTO", option.value),
                            "bounds = AUTO has them chosen privately; give your own beside the \
                             column: SUM(x, contribution_bounds_per_group => (0, 100))",
                        ));
                    }
                    "max_rows_per_group" => {
                        options.max_rows_per_group = Some(unit_limit(option, MAX_ROWS)?);
                    }
                    "max_rows_joined" => {
                        options.max_rows_joined = Some(count(option, MAX_ROWS_JOINED)?);
                        options.limit_sources.joined = LimitSource::Options;
                    }
                    "max_rows_contributed" => {
                        options.max_rows_contributed = Some(rows_contributed(option, table)?);
                        options.limit_sources.contributed = LimitSource::Options;
                    }
                    "group_selection_weight" => {
                        options.selection_weight = Some(count(option, MAX_WEIGHT)?)
                    }
                    "noise" => {
                        options.noise = Some(one_of(
                            option,
                            &NoiseKind::ALL,
                            "write noise = GAUSSIAN, with epsilon and delta; or leave it out",
                        )?);
                    }
                    "prefer" => {
                        options.prefer =
                            one_of(option, &Prefer::ALL, "write prefer = GROUPS, or leave it out")?;
                    }
                    "group_selection_strategy" => {
                        options.strategy =
                            Some(Strategy::from_name(&option.value).ok_or_else(|| {
                                Refusal::new(
                                    format!(
                                        "group_selection_strategy = {} is not a strategy",
                                        option.value
                                    ),
                                    format!(
                                        "choose {}; leave it out to have the best one taken",
                                        Strategy::NAMES
                                    ),
                                )
                            })?);
                    }
                    "group_selection_by" => {
                        options.by_pieces = match option.value.to_uppercase().as_str() {
                            "RECORDS" => false,
                            "PIECES" if table.group_selection_by_pieces => true,
                            "PIECES" => {
                                return Err(Refusal::new(
                                    format!(
                                        "group_selection_by = PIECES is not allowed for `{}`",
                                        table.name
                                    ),
                                    "ask the owner of the data to allow it: \
                                     group_selection_by_pieces = true in the contract; large \
                                     records then make their groups appear, with every key of \
                                     the query",
                                ));
                            }
                            _ => {
                                return Err(Refusal::new(
                                    format!(
                                        "group_selection_by = {} is not RECORDS or PIECES",
                                        option.value
                                    ),
                                    "choose RECORDS, by which every record counts once when \
                                     groups are chosen, or PIECES, by which it counts as often \
                                     as it is split: large records then make their groups \
                                     appear, and lose more",
                                ));
                            }
                        };
                    }
                    "min_privacy_units_per_group" => {
                        options.least_units = count(option, MAX_UNITS)?
                    }
                    "known_groups_threshold" => {
                        options.known_groups_threshold = Some(threshold(option)?);
                    }
                    "intervals" => level = Some(option.value.parse()?),
                    "quantile_intervals" => {
                        options.quantile_intervals = Some(option.value.parse()?);
                    }
                    "simultaneous_intervals" => simultaneous = Some(truth(option)?),
                    "report_format" => {
                        let hint = "write report_format = INTERVALS, or leave it out";
                        report = Some(one_of(option, &ReportFormat::ALL, hint)?);
                    }
                    "privacy_unit_column" => same_unit(option, table)?,
                    "neighbouring" | "neighboring" => {
                        let declared = table.neighbouring.to_string();
                        if !option.value.eq_ignore_ascii_case(&declared) {
                            return Err(Refusal::new(
                                format!("neighbouring = {} is not the contract's", option.value),
                                format!(
                                    "leave it out: the contract of `{}` says {declared}",
                                    table.name
                                ),
                            ));
                        }
                    }
                    other => {
                        let known = KNOWN.split(", ").map(str::trim);
                        return Err(Refusal::new(
                            format!("there is no option `{other}`"),
                            did_you_mean(similar(other, known), format!("the options are {KNOWN}")),
                        ));
                    }
                }
                Ok(())
            };
            read().map_err(|refusal: Refusal| refusal.at_span(option.span))?;
        }
        if epsilon.is_some() && rho.is_some() {
            return Err(Refusal::new(
                "the query's budget is given both in epsilon and in rho",
                "keep one of them: epsilon buys Laplace noise, rho Gaussian noise",
            ));
        }
        if epsilon.is_none() && rho.is_none() {
            (epsilon, rho) = (defaults.epsilon, defaults.rho);
        }
        let simultaneous = simultaneous == Some(true);
        if report == Some(ReportFormat::Intervals) {
            level = level.or(Some(IntervalRequest::USUAL.level));
        }
        // An analyst sees everything that is paid for.
        level = level.or(options.quantile_intervals);
        if let Some(drawn) = options.quantile_intervals {
            let displayed = level.filter(|_| report != Some(ReportFormat::Values));
            if displayed.is_none_or(|displayed| displayed.percent() > drawn.percent()) {
                return Err(Refusal::new(
                    format!("quantile_intervals = {drawn} draws intervals that are not shown"),
                    format!("write intervals = {drawn}, or leave quantile_intervals out"),
                ));
            }
        }
        options.intervals = match level {
            _ if report == Some(ReportFormat::Values) => None,
            Some(level) => Some(IntervalRequest { level, simultaneous }),
            None if simultaneous => {
                Some(IntervalRequest { simultaneous, ..IntervalRequest::USUAL })
            }
            None => None,
        };
        let delta = delta.unwrap_or(Delta::ZERO);
        options.loss = match (epsilon, rho) {
            (Some(epsilon), _) => Some(Loss::Approximate { epsilon, delta }),
            (None, Some(rho)) => Some(Loss::Concentrated { rho, delta }),
            (None, None) => None,
        };
        Ok(options)
    }
}

/// The value that an option names, in any letter case.
fn one_of<T: Copy + Display>(option: &QueryOption, all: &[T], hint: &str) -> Result<T, Refusal> {
    let named = |value: &&T| value.to_string().eq_ignore_ascii_case(&option.value);
    all.iter().find(named).copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        let problem = format!("{} = {} is not {}", option.name, option.value, names.join(" or "));
        Refusal::new(problem, hint)
    })
}

fn amount<T: FromStr<Err = AmountError>>(option: &QueryOption) -> Result<T, Refusal> {
    option.value.parse().map_err(|e: AmountError| {
        Refusal::new(e.to_string(), "OPTIONS (epsilon = 1, delta = 1e-6) or OPTIONS (rho = 0.5)")
    })
}

fn unit_limit(option: &QueryOption, most: u32) -> Result<UnitLimit, Refusal> {
    if option.value.eq_ignore_ascii_case(AUTO) {
        return Ok(UnitLimit::Automatic);
    }
    count(option, most).map(UnitLimit::Most).map_err(|refusal| {
        Refusal::new(
            format!("{}, and not AUTO", refusal.what),
            format!("{} = 3; or AUTO, to have it chosen privately", option.name),
        )
    })
}

pub(super) fn count(option: &QueryOption, most: u32) -> Result<u32, Refusal> {
    match option.value.parse::<u32>() {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        _ => Err(Refusal::new(
            format!("{} = {} is not a whole number from 1 to {most}", option.name, option.value),
            format!("{} = 3", option.name),
        )),
    }
}

/// The most rows of a unit of a further population, for rows that belong to units of two.
fn rows_contributed(option: &QueryOption, table: &View) -> Result<u32, Refusal> {
    if table.relation.beside().is_none() {
        return Err(Refusal::new(
            format!(
                "max_rows_contributed = {} is for rows of two populations, but those of `{}` are \
                 of one",
                option.value, table.name
            ),
            "leave it out: max_groups_contributed and max_rows_per_group bound what a unit adds",
        ));
    }
    count(option, MAX_ROWS)
}

/// A threshold for noisy counts, which may be below zero.
fn threshold(option: &QueryOption) -> Result<i64, Refusal> {
    let most = i64::from(MAX_UNITS);
    match option.value.replace(' ', "").parse::<i64>() {
        Ok(n) if (-most..=most).contains(&n) => Ok(n),
        _ => Err(Refusal::new(
            format!(
                "{} = {} is not a whole number from -{most} to {most}",
                option.name, option.value
            ),
            format!("{} = 0", option.name),
        )),
    }
}

pub(super) fn truth(option: &QueryOption) -> Result<bool, Refusal> {
    match option.value.to_uppercase().as_str() {
        "TRUE" => Ok(true),
        "FALSE" => Ok(false),
        _ => Err(Refusal::new(
            format!("{} = {} is not TRUE or FALSE", option.name, option.value),
            format!("{} = TRUE", option.name),
        )),
    }
}

fn same_unit(option: &QueryOption, table: &View) -> Result<(), Refusal> {
    let unit = match &table.unit {
        QueryUnit::Row => "row",
        QueryUnit::Column(name) => name,
    };
    if option.value.eq_ignore_ascii_case(unit) {
        return Ok(());
    }
    Err(Refusal::new(
        format!("privacy_unit_column = {} is not the contract's privacy unit", option.value),
        format!("leave it out: the contract of `{}` protects {unit}", table.name),
    ))
}
