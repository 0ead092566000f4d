//! Intervals around released values: from the laws of the noise, at no cost.
//!
//! An interval holds the value *without noise* with at least the stated probability: of the same
//! bounded contributions, computed by the same expression, where it has a value then. What bounds
//! cut off is in none.
//!
//! A measurement has the quantiles of its own law. An expression over k measurements has, of each,
//! an interval that misses with a k-th of the probability. All of them hold together with at least
//! the stated probability, whatever the noises have to do with each other. The range of the
//! expression over all of them ([`Range`]) then holds its value. Ratios of sums have sharper
//! intervals ([`linear`]).

mod linear;
mod measured;

use hushtable_mechanisms::{QuantileSide, Seen, Selection};

use self::linear::{Combined, FEW_HALVINGS, HALVINGS, Ratio, Term};
use self::measured::{Group, Measured, share};
use crate::bind::{Groups, Key, Measure, Measurement, PrivateQuery, QuantileEnd};
use crate::consistent::AdjustedNoise;
use crate::expr::{Expr, ExprKind};
use crate::intervals_wanted::{IntervalsWanted, Level};
use crate::quote::Quote;
use crate::range::{Fact, Facts, Range};
use crate::types::{ColumnType, Value};

/// The intervals of a release, ready to be computed row by row.
pub struct Intervals<'a> {
    query: &'a PrivateQuery,
    outputs: Vec<Planned<'a>>,
    /// The parts of outputs that are of keys and constants alone.
    known: Vec<Expr>,
    /// Bounds of quotients of measurements.
    quotients: Vec<(usize, usize, Range)>,
    /// Whether a row's keys tell if its group is known without the data.
    listed: bool,
    reads_keys: bool,
}

enum Planned<'a> {
    Exact,
    Without(NoInterval),
    With {
        /// Over the measurements and, after them, what is known.
        expr: Expr,
        /// The measurements that it reads.
        measured: Vec<(usize, Measured<'a>)>,
        sharper: Option<Box<Sharper<'a>>>,
    },
}

/// An expression around a ratio of sums.
struct Sharper<'a> {
    ratio: Expr,
    /// The expression, in which the ratio is the column of the first measurement that it reads.
    around: Expr,
    /// The measurements that the ratio reads.
    noise: Vec<(usize, Combined<'a>)>,
    /// The probability with which the ratio's interval may miss.
    outside: f64,
    /// The place of the count by which groups are chosen, where the ratio shares its noise, and the
    /// count from which on it is as if they were seen anyway: the interval is for those.
    seen_anyway: Option<(usize, i128)>,
}

/// The part of the probability of a miss that is left to the ranges of measurements where there is
/// a sharper interval: they bound it, and take its place where it is unbounded.
const FOR_RANGES: f64 = 0.1;

/// Whether an output has intervals, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered {
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
    /// The intervals of a release. `groups` counts the rows among which the intervals are to hold
    /// all at once, where that is wanted: those that were released, shown or not.
    pub fn new(quote: &'a Quote, wanted: IntervalsWanted, groups: u64) -> Self {
        Self::adjusted(quote, wanted, groups, &[])
    }

    /// The intervals of a release that is adjusted to others: `noises` has the noise of each
    /// measurement then, where it is adjusted.
    pub fn adjusted(
        quote: &'a Quote,
        wanted: IntervalsWanted,
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
                return Planned::Exact;
            }
            if !expr.column_type.is_numeric() {
                return Planned::Without(NoInterval::NoNumber);
            }
            let mut expr = expr.clone();
            set_apart(&mut expr, keys, measurements, &mut known);
            let mut outside = wanted.level.outside();
            let noise = |place: &usize| noises.get(*place).and_then(Option::as_ref);
            let sharper = match wanted.simultaneous || read.iter().any(|own| noise(own).is_some()) {
                true => None,
                false => Sharper::of(&expr, quote, (1.0 - FOR_RANGES) * outside).map(Box::new),
            };
            if sharper.is_some() {
                outside *= FOR_RANGES;
            }
            let together = match wanted.simultaneous {
                true => all.len() as f64 * groups.max(1) as f64,
                false => read.len() as f64,
            };
            let level = 1.0 - outside / together;
            let own = |&place: &usize| {
                let (measurement, noise) =
                    (query.measurements().get(place)?, quote.noise().get(place)?);
                if let Some(adjusted) = noises.get(place).and_then(Option::as_ref) {
                    return Some((place, Measured::adjusted(measurement, adjusted, level)?));
                }
                if noise.is_quantile() {
                    // A level that is lower than that of the ends is kept, too.
                    let (ends, drawn) = ends_of(query, measurement)?;
                    let suffices = drawn.outside() <= (1.0 - level) * (1.0 + 1e-9);
                    let own = suffices.then(|| Measured::between(measurement, ends, level))?;
                    return Some((place, own));
                }
                let chosen = (quote.selection(), quote.deciding_count());
                Some((place, Measured::new(measurement, noise, chosen, level, place)?))
            };
            match read.iter().map(own).collect() {
                Some(measured) => Planned::With { expr, measured, sharper },
                None if read.iter().any(|own| noise(own).is_some()) => {
                    Planned::Without(NoInterval::Around)
                }
                None => {
                    let drawn = |&place: &usize| {
                        let own = query.measurements().get(place);
                        own.is_some_and(|own| ends_of(query, own).is_some())
                    };
                    Planned::Without(match read.iter().any(drawn) {
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
        let by_class = |p: &Planned<'_>| match p {
            Planned::With { measured, .. } => measured.iter().any(|(_, m)| m.key().is_some()),
            _ => false,
        };
        let reads_keys = listed || outputs.iter().any(by_class);
        let mut quotients = Vec::new();
        for (a, part) in query.measurements().iter().enumerate() {
            for (b, whole) in query.measurements().iter().enumerate() {
                let adjusted = |place: usize| noises.get(place).and_then(Option::as_ref);
                if [a, b].into_iter().filter_map(adjusted).all(AdjustedNoise::fits) {
                    quotients.extend(share(part, whole).map(|range| (a, b, range)));
                }
            }
        }
        Self { query, outputs, known, quotients, listed, reads_keys }
    }

    /// Whether each output has intervals, and why not.
    pub fn covered(&self) -> impl Iterator<Item = Covered> {
        self.outputs.iter().map(|planned| match planned {
            Planned::Exact => Covered::Exact,
            Planned::Without(why) => Covered::Without(*why),
            Planned::With { .. } => Covered::Interval,
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
        let interval = |planned: &Planned<'_>| {
            let Planned::With { expr, measured, sharper } = planned else { return None };
            let mut columns = vec![Fact::Unknown; self.query.measurements().len()];
            for (place, measured) in measured {
                let class = self.class(*place, measured, row.keys);
                let rest = row.rest.get(*place).copied().unwrap_or(0.0);
                let released = (*row.steps.get(*place)?, rest, row.steps);
                let range = measured.range(released, class, group)?;
                *columns.get_mut(*place)? = Fact::Range(range);
            }
            columns.extend(&known);
            let facts = Facts::released(columns, self.quotients.clone());
            let range = Range::given(expr, &facts);
            let sharp =
                sharper.as_ref().and_then(|own| own.range(self.query, row.steps, group, facts));
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
    /// *Proof.* Each measurement is released within a range of its exact value ([`Measured`]), all
    /// of them but for the probability of a miss; the released output is then within the range of
    /// the expression over these ranges. For a ratio see [`Ratio::interval`]: within it, there is a
    /// value.
    pub(crate) fn distance(&self, output: usize, exact: &ReleasedRow<'_>) -> Option<f64> {
        let Planned::With { expr, measured, sharper } = self.outputs.get(output)? else {
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
            Some(own) => {
                let range = own.ratio_around(self.query, exact.steps, facts(point), FEW_HALVINGS);
                away(range?)
            }
            None => {
                let mut around = point;
                for (place, own) in measured {
                    let class = self.class(*place, own, exact.keys);
                    let released = own.released(*exact.steps.get(*place)?, class)?;
                    *around.get_mut(*place)? = Fact::Range(released);
                }
                away(Range::given(expr, &facts(around))?)
            }
        }
    }

    /// The exact value of an output, which follows from these exact sums.
    pub(crate) fn exact(&self, output: usize, exact: &ReleasedRow<'_>) -> Option<f64> {
        let Planned::With { expr, measured, .. } = self.outputs.get(output)? else { return None };
        Some(self.at(expr, measured, exact)?.1)
    }

    /// The columns of an expression at these sums, and its value there.
    fn at(
        &self,
        expr: &Expr,
        measured: &[(usize, Measured<'_>)],
        sums: &ReleasedRow<'_>,
    ) -> Option<(Vec<Fact>, f64)> {
        let mut point = vec![Fact::Unknown; self.query.measurements().len()];
        for (place, own) in measured {
            *point.get_mut(*place)? = Fact::Range(own.exact(*sums.steps.get(*place)?)?);
        }
        point.extend(sums.known.iter().map(fact));
        let range = Range::given(expr, &Facts::released(point.clone(), Vec::new()))?;
        let (low, high) = range.to_f64(expr.column_type)?;
        Some((point, f64::midpoint(low, high)))
    }

    /// The place of a row's class among those of a measurement, the last for all others.
    fn class(&self, place: usize, measured: &Measured<'_>, keys: &[Value]) -> usize {
        let value = measured.key().and_then(|key| keys.get(key));
        let own = self.query.measurements().get(place).and_then(|m| m.measure.per_record());
        let classes =
            own.and_then(|sum| sum.thresholds.by_key()).map(|(_, classes)| &classes.values);
        match (value, classes) {
            (Some(value), Some(classes)) => {
                classes.iter().position(|(own, _)| own == value).unwrap_or(classes.len())
            }
            _ => 0,
        }
    }

    fn group(&self, keys: &[Value]) -> Group {
        let Groups::Private { least, known_threshold, .. } = self.query.groups() else {
            return Group { seen: Seen::Known(None), least: 0 };
        };
        let among = |(key, value): (&Key, &Value)| {
            let listed = key.public.as_deref().or(key.known.as_deref());
            listed.is_some_and(|values| values.contains(value))
        };
        if self.listed && self.query.keys().iter().zip(keys).all(among) {
            return Group { seen: Seen::Known(known_threshold), least: 0 };
        }
        // Only a group with a unit can be chosen.
        Group { seen: Seen::Selected, least: least.into() }
    }
}

impl<'a> Sharper<'a> {
    /// The ratio of two or more measurements that an expression computes from, if it is one, and
    /// they have noise of their own.
    fn of(expr: &Expr, quote: &'a Quote, outside: f64) -> Option<Self> {
        let measurements = quote.query().measurements().len();
        let mut around = expr.clone();
        let ratio = take_ratio(&mut around, measurements)?;
        let noise = |place: usize| Some((place, Combined::new(place, quote.noise().get(place)?)?));
        let all = measurements_of(&ratio, 0).into_iter().filter(|&place| place < measurements);
        let noise: Vec<_> = all.map(noise).collect::<Option<_>>()?;
        let shares = noise.iter().any(|&(place, _)| quote.is_drawn_to_choose(place));
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
        (noise.len() > 1).then_some(Self { ratio, around, noise, outside, seen_anyway })
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
            && group.seen == Seen::Selected
            && *steps.get(count)? < from
        {
            return None;
        }
        self.ratio_around(query, steps, facts, HALVINGS)
    }

    /// The range of the expression around these values, whichever groups are seen.
    fn ratio_around(
        &self,
        query: &PrivateQuery,
        steps: &[i128],
        mut facts: Facts,
        halvings: u32,
    ) -> Option<Range> {
        let ratio = Ratio::of(&self.ratio, query.measurements().len(), &facts)?;
        let mut terms = Vec::with_capacity(self.noise.len());
        for (place, noise) in &self.noise {
            let step = query.measurements().get(*place)?.step.to_f64();
            let value = *steps.get(*place)? as f64 * step;
            terms.push(Term { place: *place, value, step, noise });
        }
        let (low, high) = ratio.interval(&terms, self.outside, halvings)?;
        let exact = |scale: u8| {
            let one = 10f64.powi(scale.into());
            Range::Exact((low * one).ceil() as i128, (high * one).floor() as i128)
        };
        let range = match self.ratio.column_type {
            ColumnType::Int => exact(0),
            ColumnType::Decimal { scale } => exact(scale),
            _ => Range::Float(low, high),
        };
        *facts.columns.get_mut(self.noise.first()?.0)? = Fact::Range(range);
        Range::given(&self.around, &facts)
    }
}

/// The places of the ends that are drawn around a quantile, and their level.
fn ends_of(query: &PrivateQuery, quantile: &Measurement) -> Option<([usize; 2], Level)> {
    let found = |wanted: QuantileSide| {
        let mut all = query.measurements().iter().enumerate();
        all.find_map(|(place, own)| match own.measure {
            Measure::Quantile { end: Some(QuantileEnd { side, level }), .. } if side == wanted => {
                own.is_end_of(quantile).then_some((place, level))
            }
            _ => None,
        })
    };
    let ((low, level), (high, _)) = (found(QuantileSide::Low)?, found(QuantileSide::High)?);
    Some(([low, high], level))
}

/// Takes the ratio out of an expression that computes from nothing else: its column is that of the
/// first measurement that it reads.
fn take_ratio(expr: &mut Expr, measurements: usize) -> Option<Expr> {
    let read = |e: &Expr| measurements_of(e, 0).into_iter().find(|&place| place < measurements);
    // Any values do to see the form.
    let mut facts = Facts::released(vec![Fact::Unknown; measurements], Vec::new());
    expr.visit(&mut |e| {
        if let ExprKind::Column(place) = e.kind
            && place >= measurements
        {
            let one = match e.column_type {
                ColumnType::Float => Fact::Range(Range::Float(1.0, 1.0)),
                ColumnType::Int | ColumnType::Decimal { .. } => Fact::Range(Range::Exact(1, 1)),
                _ => Fact::Unknown,
            };
            facts.columns.resize(facts.columns.len().max(place + 1), Fact::Unknown);
            facts.columns[place] = one;
        }
    });
    if Ratio::of(expr, measurements, &facts).is_some() {
        let column = Expr::column(read(expr)?, expr.column_type);
        return Some(std::mem::replace(expr, column));
    }
    if let ExprKind::Case(branches, None) = &expr.kind {
        // Where the condition is not true there is no value.
        let [(_, result)] = branches.as_slice() else { return None };
        let result = result.clone();
        *expr = result;
        return take_ratio(expr, measurements);
    }
    let mut reading = 0;
    expr.each_operand(&mut |operand| reading += usize::from(read(operand).is_some()));
    let mut taken = None;
    expr.each_operand_mut(&mut |operand| {
        if reading == 1 && read(operand).is_some() {
            taken = take_ratio(operand, measurements);
        }
    });
    taken
}

/// The measurements that an expression over released columns reads, each once.
fn measurements_of(expr: &Expr, keys: usize) -> Vec<usize> {
    let mut read = Vec::new();
    expr.visit_columns(&mut |column| {
        if let Some(place) = column.checked_sub(keys)
            && !read.contains(&place)
        {
            read.push(place);
        }
    });
    read
}

/// Puts columns in the place of what is made of keys alone, after those of the measurements; and
/// these at their own places.
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
        let place = known.iter().position(|own| own == expr).unwrap_or_else(|| {
            known.push(expr.clone());
            known.len() - 1
        });
        expr.kind = ExprKind::Column(measurements + place);
        return;
    }
    expr.each_operand_mut(&mut |e| set_apart(e, keys, measurements, known));
}

/// The fact about a column that one value is.
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
