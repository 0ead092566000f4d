//! Budgets and default settings of a contract.

use std::fmt::Display;
use std::str::FromStr;

use hushtable_privacy::{AmountError, Delta, Epsilon, Loss, Rho};

use super::read::{ContractError, Item, Section};
use super::{Defaults, UnitLimit};
use crate::interval_request::Level;
use crate::wishes::{NoiseKind, Prefer};
use hushtable_mechanisms::Strategy;

/// Most groups that a unit may be allowed to enter: what one unit can make the engine do grows with
/// its square.
pub const MAX_GROUPS: u32 = 10_000;
/// Most rows of a unit that may count in a group.
pub const MAX_ROWS: u32 = 1_000_000_000;
/// Most rows of a unit on a side of a join that a contract or a query may name.
pub const MAX_ROWS_JOINED: u32 = 1_000_000;

/// An epsilon, delta or rho as it is written.
fn amount<T: FromStr<Err = AmountError>>(item: &Item<'_, '_>) -> Result<T, ContractError> {
    let hint =
        format!("for example {} = {}", item.key, if item.key == "delta" { "1e-6" } else { "0.5" });
    let text = item.number_text("a number", &hint)?;
    text.parse().map_err(|e: AmountError| item.error(e.to_string(), hint))
}

pub(super) fn budget(item: &Item<'_, '_>) -> Result<Loss, ContractError> {
    let hint = "{ rho = 0.5, delta = 1e-6 } or { epsilon = 1.0, delta = 1e-6 }";
    let section = item.section("a budget", hint)?;
    section.only(&["epsilon", "rho", "delta"])?;
    let whose = format!("the budget of `{}`", item.key);
    loss(&section, &whose, |what| item.error(what, hint))
}

/// Epsilon or rho, and delta where it is given; `whose` is what errors call them.
pub fn loss(
    section: &Section<'_, '_>,
    whose: &str,
    fail: impl Fn(String) -> ContractError,
) -> Result<Loss, ContractError> {
    let delta: Delta = section.get("delta").map_or(Ok(Delta::ZERO), |i| amount(&i))?;
    match (section.get("epsilon"), section.get("rho")) {
        (Some(e), None) => {
            let epsilon: Epsilon = amount(&e)?;
            Ok(Loss::Approximate { epsilon, delta })
        }
        (None, Some(r)) => {
            let rho: Rho = amount(&r)?;
            Ok(Loss::Concentrated { rho, delta })
        }
        (Some(_), Some(_)) => Err(fail(format!("{whose} is given both in epsilon and in rho"))),
        (None, None) => Err(fail(format!("{whose} has neither epsilon nor rho"))),
    }
}

/// The level of intervals.
fn level(item: &Item<'_, '_>) -> Result<Level, ContractError> {
    let (expected, hint) = ("a percentage from 50 to 99.9", "intervals = 95");
    item.number_text(expected, hint)?.parse().map_err(|_| item.wrong(expected, hint))
}

/// Which of two values a text names, in any letter case.
fn one_of<T: Copy + Display>(item: &Item<'_, '_>, all: &[T]) -> Result<T, ContractError> {
    let names: Vec<String> = all.iter().map(|value| format!("\"{value}\"")).collect();
    let (expected, hint) = (names.join(" or "), "leave it out");
    let text = item.text(&expected, hint)?;
    let named = |value: &&T| value.to_string().eq_ignore_ascii_case(text);
    all.iter().find(named).copied().ok_or_else(|| item.wrong(&expected, hint))
}

/// Reads the options that hold where a query does not set them.
pub fn defaults(section: &Section<'_, '_>) -> Result<Defaults, ContractError> {
    section.only(&Defaults::NAMES)?;
    if let (Some(_), Some(rho)) = (section.get("epsilon"), section.get("rho")) {
        return Err(rho.error(
            "the defaults give the budget of a query both in epsilon and in rho",
            "keep one of them",
        ));
    }
    let strategy = section.get("group_selection_strategy").map(|item| {
        let hint = Strategy::NAMES;
        let name = item.text("a strategy", hint)?;
        Strategy::from_name(name).ok_or_else(|| item.wrong("a strategy", hint))
    });
    let noise = section.get("noise").map(|item| one_of(&item, &NoiseKind::ALL));
    let prefer = section.get("prefer").map(|item| one_of(&item, &Prefer::ALL));
    let groups = section.get("max_groups_contributed");
    let rows = section.get("max_rows_per_group");
    Ok(Defaults {
        epsilon: section.get("epsilon").map(|i| amount(&i)).transpose()?,
        rho: section.get("rho").map(|i| amount(&i)).transpose()?,
        delta: section.get("delta").map(|i| amount(&i)).transpose()?,
        max_groups_contributed: groups
            .map(|i| {
                if i.is_auto() {
                    return Ok(UnitLimit::Automatic);
                }
                let hint = "max_groups_contributed = 3: the most groups that one unit enters; or \
                            \"auto\", to have it chosen privately";
                i.count(1, MAX_GROUPS, hint).map(UnitLimit::Most)
            })
            .transpose()?,
        max_rows_per_group: rows
            .map(|i| {
                if i.is_auto() {
                    return Ok(UnitLimit::Automatic);
                }
                let hint = "max_rows_per_group = 5: the most rows of one unit that COUNT counts in \
                            a group; or \"auto\", to have it chosen privately";
                i.count(1, MAX_ROWS, hint).map(UnitLimit::Most)
            })
            .transpose()?,
        max_rows_joined: section
            .get("max_rows_joined")
            .map(|i| {
                let hint = "max_rows_joined = 50: the most rows of one unit on each side of a \
                            join in which its rows can meet each other";
                i.count(1, MAX_ROWS_JOINED, hint)
            })
            .transpose()?,
        max_rows_contributed: section
            .get("max_rows_contributed")
            .map(|i| {
                let hint = "max_rows_contributed = 20: the most rows of one unit in queries about \
                            rows of two populations";
                i.count(1, MAX_ROWS, hint)
            })
            .transpose()?,
        group_selection_strategy: strategy.transpose()?,
        noise: noise.transpose()?,
        prefer: prefer.transpose()?,
        intervals: section.get("intervals").map(|item| level(&item)).transpose()?,
        simultaneous_intervals: section
            .get("simultaneous_intervals")
            .map(|item| item.flag("simultaneous_intervals = true"))
            .transpose()?,
    })
}
