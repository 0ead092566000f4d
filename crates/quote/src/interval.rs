//! Intervals around released values: from the laws of the noise, at no cost.
//!
//! An interval holds the value *without noise* with at least the stated probability: of the same
//! bounded contributions, computed by the same expression, where it has a value then. No interval
//! includes what bounds cut off.
//!
//! A measurement has the quantiles of its own law. For an expression over k measurements, each gets
//! an interval that misses with a k-th of the probability; all of them hold together with at least
//! the stated probability, however the noises depend on each other. The range of the expression
//! over all of them ([`Range`]) then holds its value. Ratios of sums have sharper intervals
//! ([`linear`]).

mod linear;
mod measured;
mod plane;
mod variance;

use std::collections::HashSet;

use hushtable_contract::IntervalRequest;
use hushtable_lang::range::{Fact, Facts, Range};
use hushtable_lang::{ColumnType, Expr, ExprKind, Value};
use hushtable_mechanisms::{Selection, ShowReason};
use hushtable_plan::{Groups, Key, Measure, Measurement, PrivateQuery};

use self::linear::{CombinedNoise, FEW_HALVINGS, HALVINGS, LastPlane, LinearRatio, Term};
use self::measured::{Group, MeasurementAtLevel, share};
use self::variance::{ReleasedSums, Variance};
use crate::consistent::AdjustedNoise;
use crate::measurement_noise::Noise;
use crate::quote::Quote;

/// The intervals of a release, ready to be computed row by row.
pub struct Intervals<'a> {
    query: &'a PrivateQuery,
    outputs: Vec<PlannedInterval<'a>>,
    /// The parts of outputs that are of keys and constants alone.
    known: Vec<Expr>,
    /// Bounds of quotients of measurements.
    quotients: Vec<(usize, usize, Range)>,
    /// Whether a row's keys tell if its group is known without the data.
    listed: bool,
    reads_keys: bool,
}

enum PlannedInterval<'a> {
    Exact,
    Without(NoInterval),
    With {
        /// Over the measurements and, after them, the known parts.
        expr: Expr,
        /// The measurements that it reads.
        measured: Vec<(usize, MeasurementAtLevel<'a>)>,
        sharper: Option<Box<Sharper<'a>>>,
    },
}

/// A number with a sharper interval than its measurements give it.
enum Sharp {
    /// A ratio of sums.
    Ratio(Expr),
    /// A variance of sums, and its type.
    Variance(Box<Variance>, ColumnType),
}

/// Which sums are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownSums {
    /// Released ones: the interval is of exact values.
    Released,
    /// Exact ones: the interval is of released values.
    Exact,
}

/// An expression around a ratio of sums, or a variance.
struct Sharper<'a> {
    sharp: Sharp,
    /// The expression, in which that is the column of the first measurement that it reads.
    around: Expr,
    /// The measurements that it reads.
    noise: Vec<(usize, CombinedNoise<'a>)>,
    /// The probability with which its interval may miss.
    outside: f64,
    /// The index of the count by which groups are chosen, if it shares its noise, and the
    /// count from which on groups are as good as always seen: the interval is for those.
    seen_anyway: Option<(usize, i128)>,
    planes: LastPlane,
}

/// The part of the probability of a miss that is left to the ranges of measurements where there is
/// a sharper interval: they bound it, and replace it where it is unbounded.
const FOR_RANGES: f64 = 0.1;

/// Whether an output has intervals, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalCoverage {
    /// None, as it has no noise: it is made of group keys alone.
    Exact,
    /// One in each row that allows it.
    Interval,
    /// None.
    Without(NoInterval),
}

/// Why an output with noise has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// A quantile is among its values.
    Quantile,
    /// The interval of a quantile among its values was drawn at a lower level.
    LevelOfQuantile,
    /// The output is not a number.
    NoNumber,
    /// SQL around private parts computes it from several released values.
    Around,
}

impl NoInterval {
    /// A sentence without its subject.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Quantile => {
                "is a quantile: its noise says how many values lie in between, \
                 not how far apart they are; OPTIONS (quantile_intervals = 95) draws its interval \
                 as well"
            }
            Self::LevelOfQuantile => {
                "is a quantile whose interval was drawn at a lower level than this one takes"
            }
            Self::NoNumber => "is no number",
            Self::Around => "is computed from several released values",
        }
    }
}

/// A released row.
#[derive(Clone, Copy, Debug)]
pub struct ReleasedRow<'a> {
    /// Its keys, if [`Intervals::reads_keys`].
    pub keys: &'a [Value],
    /// The released value of each measurement, in steps of its lattice; where it is adjusted, a
    /// whole number near that.
    pub steps: &'a [i128],
    /// The rests of adjusted values beside whole numbers; empty where there are none.
    pub rest: &'a [f64],
    /// The values of [`Intervals::known`].
    pub known: &'a [Value],
}

impl<'a> Intervals<'a> {
    /// The intervals of a release. `groups` counts the released rows, shown or not, among which the
    /// intervals hold all at once if that is requested.
    pub fn new(quote: &'a Quote, options: IntervalRequest, groups: u64) -> Self {
        Self::adjusted(quote, options, groups, &[])
    }

    /// The intervals of a release that is adjusted to others. `noises` has the noise of each
    /// measurement that is adjusted.
    pub fn adjusted(
        quote: &'a Quote,
        options: IntervalRequest,
        groups: u64,
        noises: &[Option<AdjustedNoise>],
    ) -> Self {
        let query = quote.query();
        let (keys, measurements) = (query.keys().len(), query.measurements().len());
        let mut known = Vec::new();
        let read: Vec<Vec<usize>> =
            query.outputs().iter().map(|o| measurements_of(&o.expr, keys)).collect();
        let mut all: Vec<usize> = read.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let mut plan = |(expr, read): (&Expr, &Vec<usize>)| {
            if read.is_empty() {
                return PlannedInterval::Exact;
            }
            if !expr.column_type.is_numeric() {
                return PlannedInterval::Without(NoInterval::NoNumber);
            }
            let mut expr = expr.clone();
            set_apart(&mut expr, keys, measurements, &mut known);
            let mut outside = options.level.outside();
            let noise = |index: &usize| noises.get(*index).and_then(Option::as_ref);
            let sharper =
                match options.simultaneous || read.iter().any(|index| noise(index).is_some()) {
                    true => None,
                    false => Sharper::of(&expr, quote, (1.0 - FOR_RANGES) * outside).map(Box::new),
                };
            if sharper.is_some() {
                outside *= FOR_RANGES;
            }
            // All intervals of one draw hold together.
            let draws = |indexes: &[usize]| {
                let draws = indexes.iter().map(|&index| draw_of(quote, index).unwrap_or(index));
                draws.collect::<HashSet<_>>().len() as f64
            };
            let together = match options.simultaneous {
                true => draws(&all) * groups.max(1) as f64,
                false => draws(read),
            };
            let level = 1.0 - outside / together;
            let measured_at = |&index: &usize| {
                let (measurement, noise) =
                    (query.measurements().get(index)?, quote.noise().get(index)?);
                if let Some(adjusted) = noises.get(index).and_then(Option::as_ref) {
                    return Some((
                        index,
                        MeasurementAtLevel::adjusted(measurement, adjusted, level)?,
                    ));
                }
                if noise.is_quantile() {
                    let reach = reach_of(query, measurement)?;
                    let drawn = match query.measurements().get(reach)?.measure {
                        Measure::Quantile { reach, .. } => reach?.outside(),
                        _ => return None,
                    };
                    let suffices = drawn <= (1.0 - level) * (1.0 + 1e-9);
                    let measured =
                        suffices.then(|| MeasurementAtLevel::around(measurement, reach, level))?;
                    return Some((index, measured));
                }
                let chosen = (quote.selection(), quote.deciding_count());
                Some((index, MeasurementAtLevel::new(measurement, noise, chosen, level, index)?))
            };
            match read.iter().map(measured_at).collect() {
                Some(measured) => PlannedInterval::With { expr, measured, sharper },
                None if read.iter().any(|index| noise(index).is_some()) => {
                    PlannedInterval::Without(NoInterval::Around)
                }
                None => {
                    let has_interval = |&index: &usize| {
                        let measurement = query.measurements().get(index);
                        measurement
                            .is_some_and(|measurement| reach_of(query, measurement).is_some())
                    };
                    PlannedInterval::Without(match read.iter().any(has_interval) {
                        true => NoInterval::LevelOfQuantile,
                        false => NoInterval::Quantile,
                    })
                }
            }
        };
        let outputs: Vec<_> =
            query.outputs().iter().map(|o| &o.expr).zip(&read).map(&mut plan).collect();
        let listed = |key: &Key| key.public.is_some() || key.known.is_some();
        let listed =
            matches!(query.groups(), Groups::Private { .. }) && query.keys().iter().all(listed);
        let by_class = |p: &PlannedInterval<'_>| match p {
            PlannedInterval::With { measured, .. } => {
                measured.iter().any(|(_, m)| m.key().is_some())
            }
            _ => false,
        };
        let reads_keys = listed || outputs.iter().any(by_class);
        let mut quotients = Vec::new();
        for (a, one) in query.measurements().iter().enumerate() {
            for (b, whole) in query.measurements().iter().enumerate() {
                let adjusted = |index: usize| noises.get(index).and_then(Option::as_ref);
                if [a, b].into_iter().filter_map(adjusted).all(AdjustedNoise::fits) {
                    quotients.extend(share(one, whole).map(|range| (a, b, range)));
                }
            }
        }
        Self { query, outputs, known, quotients, listed, reads_keys }
    }

    /// Whether each output has intervals, and why not.
    pub fn covered(&self) -> impl Iterator<Item = IntervalCoverage> {
        self.outputs.iter().map(|planned| match planned {
            PlannedInterval::Exact => IntervalCoverage::Exact,
            PlannedInterval::Without(why) => IntervalCoverage::Without(*why),
            PlannedInterval::With { .. } => IntervalCoverage::Interval,
        })
    }

    /// Expressions over the keys whose values the intervals depend on.
    pub fn known(&self) -> &[Expr] {
        &self.known
    }

    /// Whether the intervals depend on the keys themselves, too.
    pub fn reads_keys(&self) -> bool {
        self.reads_keys
    }

    /// The interval of each output in a row, with the output's type; `None` where there is none.
    pub fn of(&self, row: &ReleasedRow<'_>) -> Vec<Option<(Value, Value)>> {
        let group = self.group(row.keys);
        let known: Vec<Fact> = row.known.iter().map(fact).collect();
        let interval = |planned: &PlannedInterval<'_>| {
            let PlannedInterval::With { expr, measured, sharper } = planned else { return None };
            let mut columns = vec![Fact::Unknown; self.query.measurements().len()];
            for (index, measured) in measured {
                let class = self.class(*index, measured, row.keys);
                let rest = row.rest.get(*index).copied().unwrap_or(0.0);
                let released = (*row.steps.get(*index)?, rest, row.steps);
                let range = measured.range(released, class, group)?;
                *columns.get_mut(*index)? = Fact::Range(range);
            }
            columns.extend(&known);
            let facts = Facts::released(columns, self.quotients.clone());
            let range = Range::given(expr, &facts);
            let sharp = sharper
                .as_ref()
                .and_then(|sharper| sharper.range(self.query, row.steps, group, facts));
            let range = match (sharp, range) {
                (Some(sharp), Some(range)) => sharp.within(range),
                (sharp, range) => sharp.or(range)?,
            };
            ends(range, expr.column_type)
        };
        self.outputs.iter().map(interval).collect()
    }

    /// How far the released value of an output is from the exact one, which follows from these
    /// exact sums: it is farther away no more often than an interval may miss. Of groups that are
    /// chosen, for those that are often seen. `None` where it can be any distance away.
    ///
    /// *Proof.* Each measurement is released within a range of its exact value
    /// ([`MeasurementAtLevel`]), all of them except for the probability of a miss; the released
    /// output is then within the range of the expression over these ranges. For a ratio see
    /// [`LinearRatio::interval`]: within it, there is a value.
    pub(crate) fn distance(&self, output: usize, exact: &ReleasedRow<'_>) -> Option<f64> {
        let PlannedInterval::With { expr, measured, sharper } = self.outputs.get(output)? else {
            return None;
        };
        let (point, middle) = self.at(expr, measured, exact)?;
        let facts = |columns: Vec<Fact>| Facts::released(columns, Vec::new());
        let ends = |range: Range| range.to_f64(expr.column_type);
        let away = |range: Range| {
            let (low, high) = ends(range)?;
            let away = (high - middle).max(middle - low);
            away.is_finite().then_some(away)
        };
        match sharper {
            // Where the denominator may be zero there may be no value, which is at no distance.
            Some(sharper) => {
                let sums = (exact.steps, KnownSums::Exact);
                away(sharper.range_around(self.query, sums, facts(point), FEW_HALVINGS)?)
            }
            None => {
                let mut around = point;
                for (index, measured) in measured {
                    let class = self.class(*index, measured, exact.keys);
                    let released = measured.released(*exact.steps.get(*index)?, class)?;
                    *around.get_mut(*index)? = Fact::Range(released);
                }
                away(Range::given(expr, &facts(around))?)
            }
        }
    }

    /// The exact value of an output, which follows from these exact sums.
    pub(crate) fn exact(&self, output: usize, exact: &ReleasedRow<'_>) -> Option<f64> {
        let PlannedInterval::With { expr, measured, .. } = self.outputs.get(output)? else {
            return None;
        };
        Some(self.at(expr, measured, exact)?.1)
    }

    /// The columns of an expression at these sums, and its value there.
    fn at(
        &self,
        expr: &Expr,
        measured: &[(usize, MeasurementAtLevel<'_>)],
        sums: &ReleasedRow<'_>,
    ) -> Option<(Vec<Fact>, f64)> {
        let mut point = vec![Fact::Unknown; self.query.measurements().len()];
        for (index, measured) in measured {
            *point.get_mut(*index)? = Fact::Range(measured.exact(*sums.steps.get(*index)?)?);
        }
        point.extend(sums.known.iter().map(fact));
        let range = Range::given(expr, &Facts::released(point.clone(), Vec::new()))?;
        let (low, high) = range.to_f64(expr.column_type)?;
        Some((point, f64::midpoint(low, high)))
    }

    /// The index of a row's class among those of a measurement; the last is for all others.
    fn class(&self, index: usize, measured: &MeasurementAtLevel<'_>, keys: &[Value]) -> usize {
        let value = measured.key().and_then(|key| keys.get(key));
        let per_record = self.query.measurements().get(index).and_then(|m| m.measure.per_record());
        let classes =
            per_record.and_then(|sum| sum.thresholds.by_key()).map(|(_, classes)| &classes.values);
        match (value, classes) {
            (Some(value), Some(classes)) => {
                classes.iter().position(|(listed, _)| listed == value).unwrap_or(classes.len())
            }
            _ => 0,
        }
    }

    fn group(&self, keys: &[Value]) -> Group {
        let Groups::Private { least, known_threshold, .. } = self.query.groups() else {
            return Group { seen: ShowReason::Known(None), least: 0 };
        };
        let among = |(key, value): (&Key, &Value)| {
            let listed = key.public.as_deref().or(key.known.as_deref());
            listed.is_some_and(|values| values.contains(value))
        };
        if self.listed && self.query.keys().iter().zip(keys).all(among) {
            return Group { seen: ShowReason::Known(known_threshold), least: 0 };
        }
        // Only a group with a unit can be chosen.
        Group { seen: ShowReason::Selected, least: least.into() }
    }
}

impl<'a> Sharper<'a> {
    /// The ratio of two or more measurements, or the variance, that an expression computes from, if
    /// it is one, and they have noise of their own.
    fn of(expr: &Expr, quote: &'a Quote, outside: f64) -> Option<Self> {
        let measurements = quote.query().measurements().len();
        let mut around = expr.clone();
        let (sharp, taken) = match take_ratio(&mut around, measurements) {
            Some(ratio) => (Sharp::Ratio(ratio.clone()), ratio),
            None => {
                around.clone_from(expr);
                let taken = take_variance(&mut around, measurements)?;
                let variance = Box::new(Variance::of(&taken)?);
                (Sharp::Variance(variance, taken.column_type), taken)
            }
        };
        let noise =
            |index: usize| Some((index, CombinedNoise::new(index, quote.noise().get(index)?)?));
        let all = measurements_of(&taken, 0).into_iter().filter(|&index| index < measurements);
        let noise: Vec<_> = all.map(noise).collect::<Option<_>>()?;
        let shares = noise.iter().any(|&(index, _)| quote.is_drawn_to_choose(index));
        let chosen = quote.selection().zip(quote.deciding_count()).filter(|_| shares);
        let (seen_anyway, outside) = match chosen {
            // As for a sum that is measured with the count: where it only seems to be seen anyway,
            // the ranges of the parts miss with less than what is left.
            Some((selection, count)) => {
                let from = selection.seen_anyway_from(0.5 * outside)?;
                (Some((count, from)), outside * Selection::SEEN_ANYWAY)
            }
            None => (None, outside),
        };
        let planes = LastPlane::default();
        (noise.len() > 1).then_some(Self { sharp, around, noise, outside, seen_anyway, planes })
    }

    /// The range of the expression; `None` where that of the ratio is unbounded.
    fn range(
        &self,
        query: &PrivateQuery,
        steps: &[i128],
        group: Group,
        facts: Facts,
    ) -> Option<Range> {
        if let Some((count, from)) = self.seen_anyway
            && group.seen == ShowReason::Selected
            && *steps.get(count)? < from
        {
            return None;
        }
        self.range_around(query, (steps, KnownSums::Released), facts, HALVINGS)
    }

    /// The range of the expression around these values, whichever groups are seen.
    fn range_around(
        &self,
        query: &PrivateQuery,
        (steps, which): (&[i128], KnownSums),
        mut facts: Facts,
        halvings: u32,
    ) -> Option<Range> {
        let measurements = query.measurements().len();
        let mut terms = Vec::with_capacity(self.noise.len());
        for (index, noise) in &self.noise {
            let step = query.measurements().get(*index)?.step.to_f64();
            let value = *steps.get(*index)? as f64 * step;
            terms.push(Term { index: *index, value, step, noise });
        }
        let (outside, planes) = (self.outside, &self.planes);
        let given = ReleasedSums { terms: &terms, outside, halvings, planes };
        let ((low, high), column_type) = match &self.sharp {
            Sharp::Ratio(expr) => {
                let ratio = LinearRatio::of(expr, measurements, &facts)?;
                (ratio.interval(&terms, outside, halvings, planes)?, expr.column_type)
            }
            Sharp::Variance(variance, column_type) => {
                let ends = match which {
                    KnownSums::Released => variance.interval((measurements, &facts), given)?,
                    KnownSums::Exact => variance.around_exact((measurements, &facts), given)?,
                };
                (ends, *column_type)
            }
        };
        let exact = |scale: u8| {
            let one = 10f64.powi(scale.into());
            Range::Exact((low * one).ceil() as i128, (high * one).floor() as i128)
        };
        let range = match column_type {
            ColumnType::Int => exact(0),
            ColumnType::Decimal { scale } => exact(scale),
            _ => Range::Float(low, high),
        };
        *facts.columns.get_mut(self.noise.first()?.0)? = Fact::Range(range);
        Range::given(&self.around, &facts)
    }
}

/// The index of the measurement that pays for the interval around a quantile.
fn draw_of(quote: &Quote, quantile: usize) -> Option<usize> {
    let query = quote.query();
    match quote.noise().get(reach_of(query, query.measurements().get(quantile)?)?)? {
        Noise::Reach(reach) => Some(reach.first),
        _ => None,
    }
}

/// The index of the measurement that says how far the interval around a quantile reaches.
fn reach_of(query: &PrivateQuery, quantile: &Measurement) -> Option<usize> {
    query.measurements().iter().position(|measurement| measurement.is_reach_of(quantile))
}

/// Takes the ratio out of an expression that computes from nothing else: its column is that of the
/// first measurement that it reads.
fn take_ratio(expr: &mut Expr, measurements: usize) -> Option<Expr> {
    // Any values will do to tell the form.
    let mut facts = Facts::released(vec![Fact::Unknown; measurements], Vec::new());
    expr.visit(&mut |e| {
        if let ExprKind::Column(index) = e.kind
            && index >= measurements
        {
            let one = match e.column_type {
                ColumnType::Float => Fact::Range(Range::Float(1.0, 1.0)),
                ColumnType::Int | ColumnType::Decimal { .. } => Fact::Range(Range::Exact(1, 1)),
                _ => Fact::Unknown,
            };
            facts.columns.resize(facts.columns.len().max(index + 1), Fact::Unknown);
            facts.columns[index] = one;
        }
    });
    take(expr, measurements, &|e| LinearRatio::of(e, measurements, &facts).is_some())
}

/// Takes the variance out of an expression, in the same way.
fn take_variance(expr: &mut Expr, measurements: usize) -> Option<Expr> {
    take(expr, measurements, &|e| Variance::of(e).is_some())
}

fn take(expr: &mut Expr, measurements: usize, is_sharp: &impl Fn(&Expr) -> bool) -> Option<Expr> {
    let read = |e: &Expr| measurements_of(e, 0).into_iter().find(|&index| index < measurements);
    if is_sharp(expr) {
        let column = Expr::column(read(expr)?, expr.column_type);
        return Some(std::mem::replace(expr, column));
    }
    if let ExprKind::Case(branches, None) = &expr.kind {
        // Where the condition is not true there is no value.
        let [(_, result)] = branches.as_slice() else { return None };
        let result = result.clone();
        *expr = result;
        return take(expr, measurements, is_sharp);
    }
    let mut reading = 0;
    expr.each_operand(&mut |operand| reading += usize::from(read(operand).is_some()));
    let mut taken = None;
    expr.each_operand_mut(&mut |operand| {
        if reading == 1 && read(operand).is_some() {
            taken = take(operand, measurements, is_sharp);
        }
    });
    taken
}

/// The measurements that an expression over released columns reads, each once.
fn measurements_of(expr: &Expr, keys: usize) -> Vec<usize> {
    let mut indexes = Vec::new();
    expr.visit_columns(&mut |column| {
        if let Some(index) = column.checked_sub(keys)
            && !indexes.contains(&index)
        {
            indexes.push(index);
        }
    });
    indexes
}

/// Replaces what is computed from keys alone by columns after those of the measurements, and
/// numbers the measurements' columns from zero.
fn set_apart(expr: &mut Expr, keys: usize, measurements: usize, known: &mut Vec<Expr>) {
    if matches!(expr.kind, ExprKind::Literal(_)) {
        return;
    }
    if let ExprKind::Column(column) = &mut expr.kind
        && *column >= keys
    {
        *column -= keys;
        return;
    }
    if measurements_of(expr, keys).is_empty() {
        let index = known.iter().position(|other| other == expr).unwrap_or_else(|| {
            known.push(expr.clone());
            known.len() - 1
        });
        expr.kind = ExprKind::Column(measurements + index);
        return;
    }
    expr.each_operand_mut(&mut |e| set_apart(e, keys, measurements, known));
}

/// A known value as a fact about a column.
fn fact(value: &Value) -> Fact {
    match value {
        Value::Bool(truth) => Fact::Truth(Some(*truth)),
        _ => Range::of_value(value).map_or(Fact::Unknown, Fact::Range),
    }
}

/// A known operand: its value, or its interval.
#[derive(Clone, Debug, PartialEq)]
pub enum KnownOperand {
    /// Its value.
    Value(Value),
    /// Numbers that it is between.
    Between(Value, Value),
}

/// The interval of a number that an expression computes from its columns. It holds the value if
/// each of them is as is known; `None` where there is none.
pub fn interval_over(expr: &Expr, operands: &[KnownOperand]) -> Option<(Value, Value)> {
    let known = |operand: &KnownOperand| match operand {
        KnownOperand::Value(value) => Some(fact(value)),
        KnownOperand::Between(low, high) => match (Range::of_value(low)?, Range::of_value(high)?) {
            (Range::Exact(low, _), Range::Exact(_, high)) => {
                Some(Fact::Range(Range::Exact(low, high)))
            }
            (Range::Float(low, _), Range::Float(_, high)) => {
                Some(Fact::Range(Range::Float(low, high)))
            }
            _ => None,
        },
    };
    let columns = operands.iter().map(known).collect::<Option<_>>()?;
    let facts = Facts { columns, released: true, ..Facts::default() };
    let range = Range::given(expr, &facts)?;
    ends(range, expr.column_type)
}

/// The ends of a range, as values.
fn ends(range: Range, column_type: ColumnType) -> Option<(Value, Value)> {
    match (range, column_type) {
        (Range::Exact(low, high), ColumnType::Int) => {
            Some((Value::Int(i64::try_from(low).ok()?), Value::Int(i64::try_from(high).ok()?)))
        }
        (Range::Exact(low, high), ColumnType::Decimal { scale }) => {
            let end = |digits| Value::Decimal { digits, scale };
            Some((end(low), end(high)))
        }
        (Range::Float(low, high), ColumnType::Float) => {
            Some((Value::Float(low), Value::Float(high)))
        }
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
