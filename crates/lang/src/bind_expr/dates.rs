//! Functions of dates and timestamps.

use chrono::DateTime;
use sqlparser::ast;

use super::common_types::{cast, negate};
use super::literals::{date_part, integer};
use super::{Binder, Resolve, number_of};
use crate::date_forms::{check_format, check_parsed, percent_form};
use crate::date_part::DatePart;
use crate::error::{Refusal, did_you_mean, similar};
use crate::expr::{Expr, ExprKind};
use crate::functions::Function;
use crate::types::{ColumnType, Value, calendar_month};

/// A span of time: a number of date parts of one kind.
type TimeSpan = (Expr, DatePart);

impl<R: Resolve> Binder<'_, R> {
    /// A function of dates; `None` if none has that name.
    pub(super) fn date_function(
        &mut self,
        of_ours: &str,
        name: &str,
        arguments: &[&ast::Expr],
    ) -> Result<Option<Expr>, Refusal> {
        Ok(Some(match (of_ours, arguments) {
            (
                "YEAR" | "QUARTER" | "MONTH" | "WEEK" | "DAY" | "DAYOFWEEK" | "DAYOFYEAR" | "HOUR"
                | "MINUTE" | "SECOND",
                [x],
            ) => self.extract(date_part(of_ours)?, x, name)?,
            ("WEEKOFYEAR", [x]) => self.extract(DatePart::IsoWeek, x, name)?,
            ("DATE_PART", [part, x]) => self.extract(text_part(part)?, x, name)?,
            ("DATE", [x]) => {
                let inner = self.bind(x)?;
                match inner.column_type {
                    ColumnType::String => cast(inner, ColumnType::Date),
                    _ => cast(self.moment_of(inner, x, "DATE")?, ColumnType::Date),
                }
            }
            ("DATE_TRUNC", [part @ ast::Expr::Value(_), x] | [x, part @ ast::Expr::Value(_)]) => {
                self.truncated(name, x, text_part(part)?)?
            }
            ("DATE_TRUNC", [x, part]) => self.truncated(name, x, date_part(&part.to_string())?)?,
            ("LAST_DAY", [x]) => {
                let day = cast(self.moment(x, name)?, ColumnType::Date);
                let month = Function::DateTrunc(DatePart::Month);
                let first = Expr::call(month, vec![day], ColumnType::Date);
                let one = |n| Expr::literal(Value::Int(n));
                let next = moved(first.clone(), (one(1), DatePart::Month));
                let last = moved(next, (one(-1), DatePart::Day));
                // No month follows that of the last day of all, which has 31 days.
                let of_all = moved(first, (one(30), DatePart::Day));
                Expr::call(Function::Coalesce, vec![last, of_all], ColumnType::Date)
            }
            ("TIME_BUCKET", [width, x]) => self.bucket_of(name, x, width, BucketOrigin::Monday)?,
            ("TIME_BUCKET", [width, x, origin]) => {
                self.bucket_of(name, x, width, BucketOrigin::Given(origin))?
            }
            ("TIMESTAMP_BUCKET", [x, width]) => {
                self.bucket_of(name, x, width, BucketOrigin::Sunday)?
            }
            ("TIMESTAMP_BUCKET", [x, width, origin]) => {
                self.bucket_of(name, x, width, BucketOrigin::Given(origin))?
            }
            ("DATE_ADD", [x, span]) => self.shifted(name, x, span, false)?,
            ("DATE_SUB", [x, span]) => self.shifted(name, x, span, true)?,
            // The form DATE_DIFF('day', start, end).
            (
                "DATE_DIFF" | "DATEDIFF" | "TIMESTAMP_DIFF",
                [part @ ast::Expr::Value(_), start, end],
            ) => self.difference(name, end, start, text_part(part)?)?,
            ("DATEDIFF", [part, start, end]) => {
                self.difference(name, end, start, date_part(&part.to_string())?)?
            }
            ("DATEDIFF", [end, start]) => self.difference(name, end, start, DatePart::Day)?,
            ("DATE_DIFF" | "TIMESTAMP_DIFF", [end, start, part]) => {
                self.difference(name, end, start, date_part(&part.to_string())?)?
            }
            ("DATE", [x, zone]) => cast(self.local_time(x, zone, name)?, ColumnType::Date),
            ("FORMAT_DATE", [form, x]) => self.formatted(name, x, form)?,
            ("STRFTIME", [form @ ast::Expr::Value(_), x] | [x, form]) => {
                self.formatted(name, x, form)?
            }
            ("TO_CHAR", [x, form @ ast::Expr::Value(_)]) => {
                let ExprKind::Literal(Value::String(form)) = self.bind(form)?.kind else {
                    return Ok(None);
                };
                self.formatted_as(name, x, &percent_form(&form)?)?
            }
            ("PARSE_DATE", [form, x]) => self.parsed(name, x, form, ColumnType::Date)?,
            ("PARSE_TIMESTAMP", [form, x]) => self.parsed(name, x, form, ColumnType::Timestamp)?,
            ("STRPTIME", [x, form]) => self.parsed(name, x, form, ColumnType::Timestamp)?,
            ("DAYNAME", [x]) => self.formatted_as(name, x, "%A")?,
            ("MONTHNAME", [x]) => self.formatted_as(name, x, "%B")?,
            _ => return Ok(None),
        }))
    }

    pub(super) fn extract(
        &mut self,
        part: DatePart,
        node: &ast::Expr,
        context: &str,
    ) -> Result<Expr, Refusal> {
        let inner = self.moment(node, context)?;
        if part.within_day() && inner.column_type == ColumnType::Date {
            return Err(Refusal::new(
                "a date has no hour, minute or second",
                "use a column of timestamps; CAST(x AS TIMESTAMP) is the midnight of a date",
            ));
        }
        Ok(Expr::call(Function::DatePart(part), vec![inner], ColumnType::Int))
    }

    /// A date or timestamp; a text constant is one if it is written as one.
    pub(super) fn moment(&mut self, node: &ast::Expr, context: &str) -> Result<Expr, Refusal> {
        let inner = self.bind(node)?;
        self.moment_of(inner, node, context)
    }

    fn moment_of(&self, expr: Expr, node: &ast::Expr, context: &str) -> Result<Expr, Refusal> {
        if let ExprKind::Literal(Value::String(text)) = &expr.kind {
            let types = [ColumnType::Date, ColumnType::Timestamp];
            let mut read = types.iter().filter_map(|of| Value::parse(text, *of));
            if let Some(value) = read.next() {
                return Ok(Expr::literal(value));
            }
        }
        match expr.column_type {
            ColumnType::Date | ColumnType::Timestamp => Ok(expr),
            other => {
                let hint = match other {
                    ColumnType::String => {
                        format!("CAST({node} AS DATE), or PARSE_DATE('%d.%m.%Y', {node})")
                    }
                    ColumnType::Bool => "use a column of dates or timestamps".to_owned(),
                    _ => format!(
                        "PARSE_DATE('%Y%m%d', CAST({node} AS STRING)) for numbers such as 20260131"
                    ),
                };
                let what = "needs a date or timestamp";
                let what = format!("{context} {what}; `{node}` is of type {other}");
                Err(Refusal::new(what, hint))
            }
        }
    }

    fn truncated(&mut self, name: &str, node: &ast::Expr, part: DatePart) -> Result<Expr, Refusal> {
        let inner = self.moment(node, name)?;
        let column_type = inner.column_type;
        let timed = part.within_day() && column_type == ColumnType::Date;
        if !part.is_span() || timed || part == DatePart::Microsecond {
            return Err(Refusal::new(
                format!("{name} does not take that part of a {column_type}"),
                "use YEAR, QUARTER, MONTH, WEEK, ISOWEEK or DAY; of timestamps also HOUR, \
                 MINUTE or SECOND",
            ));
        }
        Ok(Expr::call(Function::DateTrunc(part), vec![inner], column_type))
    }

    /// The time of a moment in a time zone that is a constant.
    pub(super) fn local_time(
        &mut self,
        node: &ast::Expr,
        zone: &ast::Expr,
        context: &str,
    ) -> Result<Expr, Refusal> {
        let moment = cast(self.moment(node, context)?, ColumnType::Timestamp);
        let bound = self.bind(zone)?;
        let ExprKind::Literal(Value::String(name)) = &bound.kind else {
            return Err(Refusal::new(
                format!("{context} needs a constant time zone, not `{zone}`"),
                "moment AT TIME ZONE 'Europe/Berlin'",
            ));
        };
        if name.parse::<chrono_tz::Tz>().is_err() {
            let names = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
            let hint = "use a name of the tz database, such as 'Europe/Berlin' or 'UTC'".to_owned();
            return Err(Refusal::new(
                format!("there is no time zone '{name}'"),
                did_you_mean(similar(name, names), hint),
            ));
        }
        Ok(Expr::call(Function::LocalTime, vec![moment, bound], ColumnType::Timestamp))
    }

    /// The start of the bucket that a date or timestamp is in.
    fn bucket_of(
        &mut self,
        name: &str,
        node: &ast::Expr,
        width: &ast::Expr,
        origin: BucketOrigin<'_>,
    ) -> Result<Expr, Refusal> {
        const DAY: i64 = 86_400_000_000;
        let odd = |what: String| Refusal::new(what, "TIME_BUCKET(INTERVAL 15 MINUTE, moment)");
        let no_width =
            || odd(format!("{name} needs a constant INTERVAL above zero, not `{width}`"));
        let ast::Expr::Interval(interval) = width else { return Err(no_width()) };
        let (of_months, micros) = self.constant_interval(interval)?.ok_or_else(no_width)?;
        let months = of_months != 0;
        if months && micros != 0 {
            return Err(odd(format!(
                "{name} takes months or shorter spans, but `{width}` has both"
            )));
        }
        let width_of = if months { of_months } else { micros };
        if width_of <= 0 {
            return Err(no_width());
        }
        let start = match origin {
            BucketOrigin::Monday => Value::Date(MONDAY),
            BucketOrigin::Sunday => Value::Date(SUNDAY),
            BucketOrigin::Given(node) => match self.moment(node, name)?.kind {
                ExprKind::Literal(value @ (Value::Date(_) | Value::Timestamp(_))) => value,
                _ => return Err(odd(format!("{name} needs a constant origin, not `{node}`"))),
            },
        };
        let start = match start {
            Value::Date(day) => i64::from(day) * DAY,
            Value::Timestamp(micros) => micros,
            _ => return Err(odd(format!("{name} needs an origin that is a date or timestamp"))),
        };
        let origin = match months {
            true => DateTime::from_timestamp_micros(start).map(|start| calendar_month(&start)),
            false => Some(start),
        };
        let origin = origin.ok_or_else(no_width)?;
        let moment = self.moment(node, name)?;
        // Buckets of parts of days make moments of dates.
        let of_days = months || (width_of % DAY == 0 && start % DAY == 0);
        let column_type = if of_days { moment.column_type } else { ColumnType::Timestamp };
        let bucket = Function::TimeBucket { months, width: width_of, origin };
        Ok(Expr::call(bucket, vec![cast(moment, column_type)], column_type))
    }

    fn shifted(
        &mut self,
        name: &str,
        node: &ast::Expr,
        span: &ast::Expr,
        back: bool,
    ) -> Result<Expr, Refusal> {
        let moment = self.moment(node, name)?;
        let spans = match span {
            ast::Expr::Interval(interval) => self.spans(interval)?,
            other => vec![(self.whole(other, name)?, DatePart::Day)],
        };
        Ok(self.moved_by(moment, spans, back))
    }

    /// A date or timestamp moved by spans, one after the other.
    pub(super) fn moved_by(&self, moment: Expr, spans: Vec<TimeSpan>, back: bool) -> Expr {
        spans.into_iter().fold(moment, |moment, (count, part)| {
            moved(moment, (if back { negate(count) } else { count }, part))
        })
    }

    /// The months and the microseconds of an INTERVAL; `None` where they are no constants of 64
    /// bits.
    ///
    /// # Errors
    /// Forms of INTERVAL that are not supported.
    pub fn constant_interval(
        &mut self,
        interval: &ast::Interval,
    ) -> Result<Option<(i64, i64)>, Refusal> {
        let (mut months, mut micros) = (0i64, 0i64);
        for (count, part) in self.spans(interval)? {
            let (of_part, sum) = match part {
                DatePart::Year => (Some(12), &mut months),
                DatePart::Quarter => (Some(3), &mut months),
                DatePart::Month => (Some(1), &mut months),
                part => (part.microseconds(), &mut micros),
            };
            let more = integer(&count).zip(of_part).and_then(|(count, of)| count.checked_mul(of));
            let Some(total) = more.and_then(|more| sum.checked_add(more)) else { return Ok(None) };
            *sum = total;
        }
        Ok(Some((months, micros)))
    }

    /// The spans of an INTERVAL.
    pub(super) fn spans(&mut self, interval: &ast::Interval) -> Result<Vec<TimeSpan>, Refusal> {
        let odd = || {
            Refusal::new(
                format!("`{interval}` is not supported"),
                "INTERVAL 30 DAY, or INTERVAL '1 month 2 days'",
            )
        };
        let plain = interval.leading_precision.is_none()
            && interval.last_field.is_none()
            && interval.fractional_seconds_precision.is_none();
        if !plain {
            return Err(odd());
        }
        let value = self.bind(&interval.value)?;
        let Some(field) = &interval.leading_field else {
            let ExprKind::Literal(Value::String(text)) = &value.kind else { return Err(odd()) };
            let words: Vec<&str> = text.split_whitespace().collect();
            let pairs = words.chunks(2).map(|pair| match pair {
                [count, part] => {
                    let count = count.parse().map_err(|_| odd())?;
                    Ok((Expr::literal(Value::Int(count)), span_part(part)?))
                }
                _ => Err(odd()),
            });
            let spans = pairs.collect::<Result<Vec<_>, _>>()?;
            return if spans.is_empty() { Err(odd()) } else { Ok(spans) };
        };
        let count = match &value.kind {
            ExprKind::Literal(Value::String(text)) => {
                Expr::literal(Value::Int(text.trim().parse().map_err(|_| odd())?))
            }
            _ if value.column_type == ColumnType::Int => value,
            _ => return Err(odd()),
        };
        Ok(vec![(count, span_part(&field.to_string())?)])
    }

    pub(super) fn whole_number(
        &mut self,
        node: &ast::Expr,
        context: &str,
        form: &str,
    ) -> Result<Expr, Refusal> {
        let expr = self.number(node, context)?;
        if expr.column_type == ColumnType::Int {
            return Ok(expr);
        }
        Err(Refusal::new(
            format!("{context} needs whole numbers; `{node}` is of type {}", expr.column_type),
            form,
        ))
    }

    /// A text read in a constant form.
    fn parsed(
        &mut self,
        name: &str,
        node: &ast::Expr,
        form: &ast::Expr,
        target: ColumnType,
    ) -> Result<Expr, Refusal> {
        let ExprKind::Literal(Value::String(form)) = self.bind(form)?.kind else {
            return Err(Refusal::new(
                format!("{name} needs a constant format"),
                format!("PARSE_DATE('%d.%m.%Y', {node})"),
            ));
        };
        check_parsed(&form, target)?;
        let form = Expr::literal(Value::String(form));
        let text = self.text(node, name)?;
        Ok(Expr::call(Function::DateParse, vec![text, form], target))
    }

    fn whole(&mut self, node: &ast::Expr, context: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        if let Ok(expr) = number_of(expr, node, context)
            && expr.column_type == ColumnType::Int
        {
            return Ok(expr);
        }
        Err(Refusal::new(
            format!("{context} needs an INTERVAL, or a whole number of days, not `{node}`"),
            "DATE_ADD(x, INTERVAL 30 DAY)",
        ))
    }

    fn difference(
        &mut self,
        name: &str,
        end: &ast::Expr,
        start: &ast::Expr,
        part: DatePart,
    ) -> Result<Expr, Refusal> {
        let (end, start) = (self.moment(end, name)?, self.moment(start, name)?);
        let dates = [&end, &start].iter().all(|e| e.column_type == ColumnType::Date);
        let whole = name == "TIMESTAMP_DIFF" && !dates;
        if !part.is_span() || dates && part.within_day() || whole && part.microseconds().is_none() {
            return Err(Refusal::new(
                format!("{name} does not count that part here"),
                "use YEAR, QUARTER, MONTH, WEEK, ISOWEEK or DAY; of timestamps also HOUR, \
                 MINUTE or SECOND",
            ));
        }
        Ok(difference(end, start, part, whole))
    }

    fn formatted(
        &mut self,
        name: &str,
        node: &ast::Expr,
        form: &ast::Expr,
    ) -> Result<Expr, Refusal> {
        let ExprKind::Literal(Value::String(form)) = self.bind(form)?.kind else {
            return Err(Refusal::new(
                format!("{name} needs a constant format"),
                format!("FORMAT_DATE('%Y-%m', {node})"),
            ));
        };
        self.formatted_as(name, node, &form)
    }

    fn formatted_as(&mut self, name: &str, node: &ast::Expr, form: &str) -> Result<Expr, Refusal> {
        let moment = self.moment(node, name)?;
        check_format(form, moment.column_type)?;
        let form = Expr::literal(Value::String(form.to_owned()));
        Ok(Expr::call(Function::DateFormat, vec![moment, form], ColumnType::String))
    }

    /// Dates with `+` and `-`: with an INTERVAL, with a number of days, and the days between two.
    /// `None` where neither side is one.
    pub(super) fn date_arithmetic(
        &mut self,
        left: &ast::Expr,
        minus: bool,
        right: &ast::Expr,
    ) -> Result<Option<Expr>, Refusal> {
        let operator = if minus { "-" } else { "+" };
        if let ast::Expr::Interval(interval) = right {
            let moment = self.moment(left, operator)?;
            let spans = self.spans(interval)?;
            return Ok(Some(self.moved_by(moment, spans, minus)));
        }
        if let (ast::Expr::Interval(interval), false) = (left, minus) {
            let spans = self.spans(interval)?;
            let moment = self.moment(right, operator)?;
            return Ok(Some(self.moved_by(moment, spans, false)));
        }
        Ok(None)
    }

    /// Arithmetic of dates where no operand is an INTERVAL; see
    /// [`date_arithmetic`](Self::date_arithmetic).
    pub(super) fn days(left: &Expr, minus: bool, right: &Expr) -> Result<Option<Expr>, Refusal> {
        use ColumnType as T;
        Ok(match (left.column_type, right.column_type) {
            (T::Date, T::Date) if minus => {
                Some(difference(left.clone(), right.clone(), DatePart::Day, false))
            }
            (T::Date | T::Timestamp, T::Date | T::Timestamp) if minus => {
                return Err(Refusal::new(
                    "the difference of timestamps needs a date part",
                    "TIMESTAMP_DIFF(x, y, SECOND), or DATE_DIFF(x, y, DAY)",
                ));
            }
            (T::Date, T::Int) if !right.is_null_literal() => {
                let count = if minus { negate(right.clone()) } else { right.clone() };
                Some(moved(left.clone(), (count, DatePart::Day)))
            }
            (T::Int, T::Date) if !minus && !left.is_null_literal() => {
                Some(moved(right.clone(), (left.clone(), DatePart::Day)))
            }
            _ => None,
        })
    }
}

/// The start of one of the buckets of time.
enum BucketOrigin<'a> {
    /// 2000-01-03, as in DuckDB and PostgreSQL's extensions; for months their first.
    Monday,
    /// 1950-01-01, as in GoogleSQL.
    Sunday,
    /// A constant.
    Given(&'a ast::Expr),
}

/// 2000-01-03 and 1950-01-01, in days since 1970.
const MONDAY: i32 = 10_959;
const SUNDAY: i32 = -7_305;

fn difference(end: Expr, start: Expr, part: DatePart, whole: bool) -> Expr {
    let dates = end.column_type == ColumnType::Date && start.column_type == ColumnType::Date;
    let of = if dates { ColumnType::Date } else { ColumnType::Timestamp };
    let both = vec![cast(end, of), cast(start, of)];
    Expr::call(Function::DateDiff { part, whole }, both, ColumnType::Int)
}

/// A date that is moved by hours is a timestamp.
fn moved(moment: Expr, (count, part): TimeSpan) -> Expr {
    let column_type = if part.within_day() { ColumnType::Timestamp } else { moment.column_type };
    let both = vec![cast(moment, column_type), count];
    Expr::call(Function::DateAdd(part), both, column_type)
}

fn span_part(name: &str) -> Result<DatePart, Refusal> {
    date_part(name).and_then(|part| match part {
        DatePart::IsoYear => Ok(DatePart::Year),
        DatePart::IsoWeek => Ok(DatePart::Week),
        part if part.is_span() => Ok(part),
        _ => Err(Refusal::new(
            format!("{} is not a span of time", name.to_uppercase()),
            "use YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE or SECOND",
        )),
    })
}

/// A part that is named by a text, as in PostgreSQL, where weeks start on Monday.
fn text_part(node: &ast::Expr) -> Result<DatePart, Refusal> {
    let text = match node {
        ast::Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    };
    let text = text.ok_or_else(|| {
        Refusal::new(format!("`{node}` is not a date part"), "DATE_TRUNC('month', day)")
    })?;
    Ok(match date_part(&text)? {
        DatePart::Week => DatePart::IsoWeek,
        part => part,
    })
}
