//! The noise that tighter limits on the rows of a unit in joins would give.

use std::cmp::Reverse;

use hushtable_lang::{ColumnType, Expr};
use hushtable_plan::{LimitSource, Operator, PrivateQuery, Relation};
use serde::{Deserialize, Serialize};

use super::{explain_measurement, written};
use crate::quote::Quote;

/// The least share of the noise that a tighter limit must save to be named.
const SAVES: f64 = 0.05;

/// A limit on the rows of a unit in joins, and the noise of a measurement with it and with tighter
/// ones: the query is quoted again with each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JoinLimitExplanation {
    /// The option that sets it.
    pub option: String,
    /// Most rows of a unit.
    pub rows: u32,
    /// Where it comes from.
    pub from: LimitSource,
    /// The joins that it is about.
    pub joins: Vec<JoinExplanation>,
    /// The first measurement whose noise a tighter one lowers.
    pub measurement: String,
    /// Standard deviation of its noise, in the column's units.
    pub deviation: f64,
    /// Half-width of its 95 % interval, in the column's units; absent where it depends on the
    /// released value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width_95: Option<f64>,
    /// Tighter limits, each with at least 5 % less noise than the one before.
    pub tighter: Vec<TighterLimit>,
    /// The columns of units that a contract may call `unique`, as `people.id`, for the noise of one
    /// row; empty where that would not do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<String>,
}

/// The sides of a join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JoinExplanation {
    /// The tables of the left side.
    pub left: Vec<String>,
    /// The tables of the right side.
    pub right: Vec<String>,
    /// The condition, as it was understood.
    pub condition: String,
}

/// A limit and the noise with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TighterLimit {
    /// Most rows of a unit.
    pub rows: u32,
    /// Standard deviation of the noise, in the column's units.
    pub deviation: f64,
    /// Half-width of the 95 % interval, in the column's units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width_95: Option<f64>,
}

impl JoinLimitExplanation {
    /// The limits of a query that reach its noise: those of joins of two populations, and those of
    /// joins in which rows of one unit meet.
    pub(super) fn of(quote: &Quote) -> Vec<Self> {
        let query = quote.query();
        let sources = query.limit_sources();
        let joins = query.relation().limited_joins();
        let (of_two, of_one): (Vec<&Relation>, Vec<&Relation>) =
            joins.into_iter().partition(|join| join.beside().is_some());
        let beside = query.relation().beside().map(|beside| beside.rows);
        let contributed = beside.and_then(|rows| {
            let with = |rows| query.clone().with_rows_beside(rows).ok();
            let limit = ("max_rows_contributed", rows, sources.contributed);
            // With fewer rows than that there is no less noise.
            Self::with(quote, limit, &of_two, &[rows / 2, query.most_rows_beside()], &with)
        });
        let joined = query.relation().max_rows_joined().and_then(|rows| {
            let with = |rows| query.clone().with_max_rows_joined(rows).ok();
            let limit = ("max_rows_joined", rows, sources.joined);
            let limit = Self::with(quote, limit, &of_one, &[rows / 2, 1], &with)?;
            let to_one = limit.tighter.last().is_some_and(|last| last.rows == 1);
            let unique = if to_one { unique(&of_one) } else { Vec::new() };
            Some(Self { unique, ..limit })
        });
        contributed.into_iter().chain(joined).collect()
    }

    /// A limit of some joins; `None` where tighter ones give no less noise.
    fn with(
        quote: &Quote,
        (option, rows, from): (&str, u32, LimitSource),
        joins: &[&Relation],
        candidates: &[u32],
        with: &dyn Fn(u32) -> Option<PrivateQuery>,
    ) -> Option<Self> {
        let mut candidates = candidates.to_vec();
        candidates.sort_unstable_by_key(|&fewer| Reverse(fewer));
        candidates.dedup();
        candidates.retain(|fewer| (1..rows).contains(fewer));
        let again = |fewer: u32| Some((fewer, Quote::new(with(fewer)?).ok()?));
        let quoted: Vec<(u32, Quote)> = candidates.into_iter().filter_map(again).collect();
        let saves = |before: f64, after: f64| after < (1.0 - SAVES) * before;
        let index = (0..quote.query().measurements().len()).find(|&index| {
            quoted.iter().any(|(_, other)| {
                let both = quote.deviation(index).zip(other.deviation(index));
                both.is_some_and(|(before, after)| saves(before, after))
            })
        })?;
        let now = noise(quote, index, rows)?;
        let mut tighter: Vec<TighterLimit> = Vec::new();
        for (fewer, other) in &quoted {
            let least = tighter.last().unwrap_or(&now).deviation;
            let less = noise(other, index, *fewer);
            tighter.extend(less.filter(|less| saves(least, less.deviation)));
        }
        Some(Self {
            option: option.to_owned(),
            rows,
            from,
            joins: joins.iter().filter_map(|join| explain_join(join)).collect(),
            measurement: quote.query().measurements().get(index)?.name.clone(),
            deviation: now.deviation,
            half_width_95: now.half_width_95,
            tighter,
            unique: Vec::new(),
        })
    }

    /// A sentence.
    pub(super) fn in_words(&self, query: &PrivateQuery) -> String {
        let near = |limit: &TighterLimit| match limit.half_width_95 {
            Some(half) => format!("± {}", rounded(half)),
            None => format!("noise of standard deviation {}", rounded(limit.deviation)),
        };
        let joins: Vec<String> = self.joins.iter().map(JoinExplanation::in_words).collect();
        let from = match self.from {
            LimitSource::Computed => "computed, as none is set",
            LimitSource::Options => "set in OPTIONS",
            LimitSource::Defaults => "set among the defaults",
        };
        let others: Vec<String> = self
            .tighter
            .iter()
            .map(|limit| format!("{} with {}", near(limit), limit.rows))
            .collect();
        let unit = match query.relation().beside() {
            Some(beside) if self.option == "max_rows_contributed" => {
                format!("unit of {}", beside.population)
            }
            _ => query.unit_name().to_owned(),
        };
        let now = TighterLimit {
            rows: self.rows,
            deviation: self.deviation,
            half_width_95: self.half_width_95,
        };
        let unique = match self.unique.as_slice() {
            [] => String::new(),
            all => format!(
                "; where each has one row, `unique` in the contract ({}) gives the last and cuts \
                 nothing off",
                all.join(", ")
            ),
        };
        format!(
            "a tighter limit in the join of {}: the {} has {} with {} = {} ({from}), {}, and more \
             rows of one {unit} are cut off{unique}",
            joins.join(", and of "),
            self.measurement,
            near(&now),
            self.option,
            self.rows,
            others.join(", "),
        )
    }
}

impl JoinExplanation {
    fn in_words(&self) -> String {
        format!("{} with {} on {}", self.left.join(", "), self.right.join(", "), self.condition)
    }
}

/// The noise of a measurement at a limit.
fn noise(quote: &Quote, index: usize, rows: u32) -> Option<TighterLimit> {
    let measurement = quote.query().measurements().get(index)?;
    let noise = quote.noise().get(index)?;
    let step = measurement.step.to_f64();
    Some(TighterLimit {
        rows,
        deviation: quote.deviation(index)? * step,
        half_width_95: explain_measurement(measurement, noise, quote.selection(), &[])
            .half_width_95,
    })
}

fn explain_join(join: &Relation) -> Option<JoinExplanation> {
    let Operator::Join { left, right, on, condition, .. } = join.operator() else { return None };
    let tables = |side: &Relation| side.tables().into_iter().map(str::to_owned).collect();
    let (left_columns, right_columns) = (columns(left), columns(right));
    let equal = on.iter().map(|(l, r)| {
        let sql = |expr: &Expr, columns: &[_]| written::expression_sql(expr, columns);
        format!("{} = {}", sql(l, &left_columns), sql(r, &right_columns))
    });
    let both: Vec<_> = left_columns.iter().chain(&right_columns).cloned().collect();
    let rest = condition.as_ref().map(|rest| written::expression_sql(rest, &both));
    let condition: Vec<String> = equal.chain(rest).collect();
    Some(JoinExplanation {
        left: tables(left),
        right: tables(right),
        condition: condition.join(" AND "),
    })
}

/// The columns of a side, by their tables' names where they come from one.
fn columns(side: &Relation) -> Vec<(String, ColumnType)> {
    let named = side.fields().iter().map(|field| {
        let name = match &field.origin {
            Some(origin) => format!("{}.{}", origin.table, origin.column),
            None => field.name.clone(),
        };
        (name, field.column_type)
    });
    named.collect()
}

/// The units' columns of both tables of the one join that has a limit.
fn unique(joins: &[&Relation]) -> Vec<String> {
    let [join] = joins else { return Vec::new() };
    let Operator::Join { left, right, .. } = join.operator() else { return Vec::new() };
    let (Some(one), Some(other)) = (left.unit_of_one_table(), right.unit_of_one_table()) else {
        return Vec::new();
    };
    let mut all = vec![one, other];
    all.dedup();
    all.into_iter().map(|unit| format!("{}.{}", unit.table, unit.column)).collect()
}

/// A number with three digits that tell.
fn rounded(value: f64) -> String {
    let digits = 2 - value.abs().log10().floor().clamp(-6.0, 2.0) as i32;
    let text = format!("{value:.*}", usize::try_from(digits).unwrap_or(0));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
