//! Statements of several private parts: all are planned before anything is charged, all are charged
//! at once, each is answered and put on record by itself, and the SQL around them is computed from
//! what is on record. A statement that was stopped takes up what it has paid for.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use hushtable_ledger::{Account, Fingerprint, Ledger, Outcome, Paid, Payment, cost};
use hushtable_noise::Generator;
use hushtable_privacy::Loss;
use hushtable_query::{
    Consistent, ConsistentLevel, Given, LimitExplained, MechanismsExplained, Part, Population,
    Quote, Read, ReleasedSizes, SqlStatement, Value,
};

use crate::answer::{Answering, Question, Standing, Timings};
use crate::around;
use crate::consistent;
use crate::error::EngineError;
use crate::exact::Scan;
use crate::intervals::Uncertainty;
use crate::one_query::{Answer, Behind};
use crate::record::{Recorded, Statement, decode, fingerprint};
use crate::release::ReleasedTable;
use crate::runtime::heavy;
use crate::session::{Progress, Session, payer};
use crate::source::Data;
use crate::source::convert::arrow_type;
use crate::statement_of_parts::{
    AccountCharge, AccountQuoted, ClippingReport, PartStated, PopulationTotal, StatementOfParts,
    StatementPartQuoted, StatementQuoted, statement,
};
use crate::traced::TracedResult;
use crate::value::value_at;
use crate::workload::begin;

/// A statement that has passed every check that does not need the ledger.
pub(crate) struct StatementPlan<'a> {
    session: &'a Session,
    sql: String,
    analyst: String,
    parts: Vec<Planned<'a>>,
    /// Its parts as they were bound, the SQL around them and what is adjusted.
    statement: SqlStatement,
}

/// A part that is ready to be charged.
struct Planned<'a> {
    name: String,
    weight: Option<u32>,
    reads: Vec<Read>,
    /// The parts whose clipping report it is.
    report_of: Vec<usize>,
    /// The parts from which its limits are chosen.
    limits_from: Vec<usize>,
    /// Whether limits are chosen from it.
    is_histogram: bool,
    /// The earlier part whose release it shows in another way.
    same_as: Option<usize>,
    asked: Question,
    identity: Fingerprint,
    /// Where the rows of its tables are.
    data: Data,
    /// The populations that pay, with the analyst's limit on each; the one that the part bounds is
    /// first.
    payers: Vec<(&'a Population, Loss)>,
}

/// The payment of each population of a part.
#[derive(Debug)]
struct PaidPart {
    /// The one that the part bounds: its account has the release.
    first: Paid,
    /// A further one, whose account has a copy.
    beside: Vec<Paid>,
}

/// The release of a part.
struct Released {
    recorded: Recorded,
    table: ReleasedTable,
    statement: Statement,
    /// The part with the released values that it reads in their places.
    quote: Quote,
}

impl Session {
    /// Quotes a statement of any number of private parts; costs nothing, reads nothing of protected
    /// tables but their schemas, and changes no file.
    ///
    /// # Errors
    /// Those of [`explain`](Self::explain), and when the SQL around the parts cannot be run.
    pub async fn explain_parts(
        &self,
        sql: &str,
        analyst: Option<&str>,
    ) -> Result<StatementQuoted, EngineError> {
        let statement = heavy(|| SqlStatement::bind(sql, self.contract()))?;
        let plan = self.plan_statement(sql, statement, analyst).await?;
        heavy(|| plan.quoted())
    }

    /// Checks and prices all parts of a statement; looks whether the tables have what they read,
    /// and whether the SQL around them can be run.
    pub(crate) async fn plan_statement<'a>(
        &'a self,
        sql: &str,
        statement: SqlStatement,
        analyst: Option<&str>,
    ) -> Result<StatementPlan<'a>, EngineError> {
        let mut planned: Vec<Planned<'a>> = Vec::with_capacity(statement.parts.len());
        for part in statement.parts.clone() {
            let next = heavy(|| self.planned_part(part, (&planned, &statement), analyst))?;
            let progress = Progress::default();
            // The types of released values are known, and no schema depends on the values.
            let nothing: Vec<Given> = next.reads.iter().map(unknown).collect();
            let quote = next.asked.quote.clone().with_released(&nothing)?;
            Scan::plan(&quote, &next.data, &progress.0, self.memory()).await?;
            self.check_row(next.asked.quote.query(), &next.data).await?;
            if !next.limits_from.is_empty() {
                // Limits that are always possible are tried before anything is charged.
                heavy(|| next.smallest(self, (&statement, sql), planned.len()))?;
            }
            planned.push(next);
        }
        let analyst = planned
            .first()
            .ok_or(EngineError::inconsistent("a statement has no part"))?
            .asked
            .analyst
            .clone();
        if let Some(other) = planned.iter().find(|part| part.asked.analyst != analyst) {
            // Each population has one analyst, and they differ.
            return Err(EngineError::NoAnalyst {
                table: other.population()?.name.clone(),
                analysts: format!("{} and not of {analyst}", other.asked.analyst),
            });
        }
        if let Some(around) = &statement.around {
            let tables = planned.iter().map(|part| (part.name.clone(), schema(&part.asked.quote)));
            let mut tables: Vec<_> = tables.collect();
            for own in &statement.consistent {
                let quotes = quotes(own, &planned)?;
                own.measurements(&quotes).map_err(|refusal| refusal.within(sql))?;
                let names = own.levels.iter().map(|level| level.table.clone());
                tables.extend(names.zip(quotes.into_iter().map(schema)));
            }
            let checked = around::check(around, tables, self.memory()).await;
            checked.map_err(|error| match error {
                EngineError::Refused(refusal) => refusal.within(sql).into(),
                error => error,
            })?;
        }
        let sql = sql.to_owned();
        Ok(StatementPlan { session: self, sql, analyst, parts: planned, statement })
    }

    fn planned_part(
        &self,
        part: Part,
        (earlier, statement): (&[Planned<'_>], &SqlStatement),
        analyst: Option<&str>,
    ) -> Result<Planned<'_>, EngineError> {
        let Part { name, sql, weight, reads, query, report_of, limits_from, .. } = part;
        let Part { is_histogram, same_as, .. } = part;
        let (mut payers, mut names) = (Vec::new(), Vec::new());
        for population in self.populations(&query)? {
            let (name, limit) = payer(population, analyst)?;
            if let Some(first) = names.first().filter(|first| **first != name) {
                return Err(EngineError::NoAnalyst {
                    table: population.name.clone(),
                    analysts: format!("{name} and not of {first}"),
                });
            }
            names.push(name);
            payers.push((population, limit));
        }
        let analyst = names
            .into_iter()
            .next()
            .ok_or(EngineError::inconsistent("a part has no population that pays for it"))?;
        let quote = Quote::beside(query, earlier.iter().map(|part| &part.asked.quote))?;
        let data = self.own_data(quote.query())?;
        let mut asked = Question::of_part(&sql, analyst, quote, statement.parts.len())?;
        // Which values it will read is part of the question, and so are the files they come from.
        let mut all = data.clone();
        for &Read { part, column, .. } in &reads {
            let read = earlier.get(part).ok_or(EngineError::inconsistent(
                "a part reads another part that is not planned before it",
            ))?;
            let shown = read.asked.quote.query().shown_in(column);
            let shown = shown.map_err(|_| {
                EngineError::inconsistent("a column that a part reads cannot be written as JSON")
            })?;
            let both = format!("{} {} {shown}", asked.question, read.asked.question);
            asked.question = blake3::hash(both.as_bytes()).to_hex().to_string();
            all.extend(read.all_data(earlier)?);
        }
        for &from in &limits_from {
            let from = earlier.get(from).ok_or(EngineError::inconsistent(
                "a part takes its limits from another part that is not planned before it",
            ))?;
            // Which mechanisms it has follows from its wishes when its limits are known.
            let wishes = asked.quote.query().wishes();
            let both = format!("{} limits {} {wishes}", asked.question, from.asked.question);
            asked.question = blake3::hash(both.as_bytes()).to_hex().to_string();
        }
        let identity = fingerprint(&asked.analyst, &asked.question, &all)?;
        // Parts that were not expected to have one release may come to the same price.
        let one_release = earlier.iter().position(|own| own.identity == identity);
        if same_as.is_some() && one_release != same_as {
            return Err(EngineError::inconsistent(
                "a part and the part whose release it shares have different identities",
            ));
        }
        Ok(Planned {
            name,
            weight,
            reads,
            report_of,
            limits_from,
            is_histogram,
            same_as: one_release,
            asked,
            identity,
            data,
            payers,
        })
    }

    /// Answers a statement: charges all of its parts at once, answers them one by one, and runs the
    /// SQL around them.
    pub(crate) async fn answer_statement(
        &self,
        plan: StatementPlan<'_>,
        progress: &Progress,
        generator: &mut Generator,
    ) -> Result<(Answer, Timings), EngineError> {
        if progress.is_given_up() {
            return Err(EngineError::Interrupted);
        }
        let mut timings = Timings::default();
        let started = Instant::now();
        let (mut ledger, paid) = heavy(|| {
            let mut ledger = self.ledger_of(progress)?;
            let paid = plan.pay(&mut ledger)?;
            Ok::<_, EngineError>((ledger, paid))
        })?;
        let charged = plan.charged(&paid)?;
        let resumed = |paid: &PaidPart| matches!(&paid.first, Paid::Charged(own) if !own.is_new());
        let taken_up = paid.iter().flatten().any(resumed);
        timings.ledger = started.elapsed();
        let mut released: Vec<Released> = Vec::with_capacity(paid.len());
        for (place, (part, paid)) in plan.parts.iter().zip(paid).enumerate() {
            let mut own = Timings::default();
            let limited = heavy(|| plan.limited(place, &released))?;
            let mut answering = Answering { ledger: &mut ledger, generator };
            let asked = limited.as_ref().unwrap_or(&part.asked);
            let asked = part.given(asked, &released)?;
            let recorded = match (paid, part.same_as.and_then(|first| released.get(first))) {
                (Some(paid), _) => {
                    part.answered(&asked, (self, paid), &mut answering, progress, &mut own).await?
                }
                (None, Some(first)) => first.recorded.clone(),
                (None, None) => {
                    return Err(EngineError::inconsistent(
                        "a part is neither paid for nor the same as a released part",
                    ));
                }
            };
            let started = Instant::now();
            let next = heavy(|| Released::new(recorded, asked))?;
            own.showing += started.elapsed();
            released.push(next);
            timings = timings.and(own);
        }
        let started = Instant::now();
        let (table, uncertainty) = match &plan.statement.around {
            None => {
                let place = plan.last_asked()?;
                let last = released.get(place).ok_or(EngineError::inconsistent(
                    "the last part that is asked has no release",
                ))?;
                let uncertainty = Uncertainty::new(&last.quote, last.table.clone());
                (last.table.table.clone(), Behind::Release(Box::new(uncertainty)))
            }
            Some(around) => {
                let tables = plan.parts.iter().zip(&released);
                let tables = tables.map(|(part, own)| (part.name.clone(), own.table.table.clone()));
                let mut tables: Vec<_> = tables.collect();
                let own = |own: &Released| Uncertainty::new(&own.quote, own.table.clone());
                let mut behind: Vec<Uncertainty> = released.iter().map(own).collect();
                for own in &plan.statement.consistent {
                    let places = places(own, &plan.parts)?;
                    let of = |place: &usize| released.get(*place).map(|r| (&r.quote, &r.table));
                    let levels: Option<Vec<_>> = places.iter().map(of).collect();
                    let levels = levels.ok_or(EngineError::inconsistent(
                        "a level of a consistent table has no release",
                    ))?;
                    let adjusted = heavy(|| consistent::tables(own, &levels))?;
                    let names = own.levels.iter().map(|level| level.table.clone());
                    tables.extend(names.zip(adjusted.iter().map(|own| own.table().clone())));
                    behind.extend(adjusted);
                }
                let ran = around::run(around, tables, self.memory()).await?;
                let table = ran.table.clone();
                let traced = TracedResult::new(behind, around, ran);
                (table, Behind::Around(Box::new(traced)))
            }
        };
        timings.showing += started.elapsed();
        let answer = heavy(|| plan.answer(&ledger, charged, (table, uncertainty), released))?;
        Ok((Answer { taken_up, ..answer }, timings))
    }
}

impl Released {
    /// Answers the question of a part from a release.
    fn new(recorded: Recorded, asked: Question) -> Result<Self, EngineError> {
        let (table, statement) = recorded.answering(&asked)?;
        Ok(Self { recorded, table, statement, quote: asked.quote })
    }
}

impl Planned<'_> {
    /// The population that the part bounds.
    fn population(&self) -> Result<&Population, EngineError> {
        self.payers
            .first()
            .map(|(population, _)| *population)
            .ok_or(EngineError::inconsistent("a part has no population that pays for it"))
    }

    /// Its quote with the limits that follow from histograms in which nothing is to be seen.
    fn smallest(
        &self,
        session: &Session,
        (statement, sql): (&SqlStatement, &str),
        place: usize,
    ) -> Result<Quote, EngineError> {
        let nothing = vec![(ReleasedSizes::new(), 1.0); self.limits_from.len()];
        let limits = self.asked.quote.query().chosen_limits(&nothing)?;
        let quote = Quote::new(statement.with_limits(sql, place, &limits, session.contract())?)?;
        if !quote.total().is_within(self.asked.loss) {
            return Err(EngineError::inconsistent(
                "the chosen limits of a part cost more than was quoted for it",
            ));
        }
        Ok(quote)
    }

    fn is_paid_by(&self, population: &str) -> bool {
        self.payers.iter().any(|(own, _)| own.name == population)
    }

    /// The files that it and the parts before it that it reads are about.
    fn all_data(&self, earlier: &[Planned<'_>]) -> Result<Data, EngineError> {
        let mut all = self.data.clone();
        for read in &self.reads {
            all.extend(
                earlier
                    .get(read.part)
                    .ok_or(EngineError::inconsistent(
                        "a part reads another part that is not planned before it",
                    ))?
                    .all_data(earlier)?,
            );
        }
        Ok(all)
    }

    /// A question of the part with the released values that it reads.
    fn given(&self, asked: &Question, earlier: &[Released]) -> Result<Question, EngineError> {
        let mut values = Vec::with_capacity(self.reads.len());
        for read in &self.reads {
            let table = &earlier
                .get(read.part)
                .ok_or(EngineError::inconsistent(
                    "a part reads another part that is not released before it",
                ))?
                .table;
            values.push(given(&table.table, read)?);
        }
        Ok(asked.with_quote(asked.quote.clone().with_released(&values)?))
    }

    /// Gives the release on record for the part, or puts one there.
    async fn answered(
        &self,
        asked: &Question,
        (session, paid): (&Session, PaidPart),
        answering: &mut Answering<'_>,
        progress: &Progress,
        timings: &mut Timings,
    ) -> Result<Recorded, EngineError> {
        let PaidPart { first, beside } = paid;
        // A population that has the release must not see another draw of it: the first one has a
        // copy, though it has paid.
        let on_record = beside.iter().find_map(|paid| match paid {
            Paid::Stored(stored) => Some(stored.clone()),
            Paid::Charged(_) => None,
        });
        let unpaid = |paid| match paid {
            Paid::Charged(payment) => Some(payment),
            Paid::Stored(_) => None,
        };
        let others: Vec<Payment> = beside.into_iter().filter_map(unpaid).collect();
        let payment = match first {
            Paid::Stored(stored) => {
                heavy(|| answering.ledger.copy(&others, &stored.release))?;
                return decode(&stored.release);
            }
            Paid::Charged(payment) => match on_record {
                Some(stored) => {
                    let all: Vec<Payment> = [payment].into_iter().chain(others).collect();
                    heavy(|| answering.ledger.copy(&all, &stored.release))?;
                    return decode(&stored.release);
                }
                None => payment,
            },
        };
        let scan = Scan::plan(&asked.quote, &self.data, &progress.0, session.memory()).await?;
        let query = asked.quote.query();
        let begun =
            heavy(|| begin(session, query, &self.data, answering.ledger, (&payment, &others)))?;
        match begun {
            Outcome::Stored(stored) => {
                heavy(|| answering.ledger.copy(&others, &stored.release))?;
                decode(&stored.release)
            }
            Outcome::Charged(charge) => {
                let charge = (charge, others);
                answering.answer(asked, self.identity, charge, scan, timings).await
            }
        }
    }
}

/// Most parts of a statement whose mechanisms and limits are compared with others.
const MAX_COMPARED: usize = 3;

/// The places of the parts of each level.
fn places(own: &Consistent, parts: &[Planned<'_>]) -> Result<Vec<usize>, EngineError> {
    let place = |level: &ConsistentLevel| parts.iter().position(|part| part.name == level.part);
    own.levels
        .iter()
        .map(place)
        .collect::<Option<_>>()
        .ok_or(EngineError::inconsistent("a level of a consistent table has no part"))
}

/// The quotes of the parts of each level.
fn quotes<'a>(own: &Consistent, parts: &'a [Planned<'_>]) -> Result<Vec<&'a Quote>, EngineError> {
    let part = |place: usize| parts.get(place).map(|part| &part.asked.quote);
    let all = places(own, parts)?.into_iter().map(part).collect::<Option<_>>();
    all.ok_or(EngineError::inconsistent("a level of a consistent table has no part"))
}

/// The sizes of a released histogram with their numbers of units.
fn released_sizes(table: &RecordBatch) -> Result<ReleasedSizes, EngineError> {
    let column = |place| {
        table
            .columns()
            .get(place)
            .ok_or(EngineError::inconsistent("a released histogram has fewer than two columns"))
    };
    let (sizes, units) = (column(0)?, column(1)?);
    let row = |row| match (value_at(sizes, row), value_at(units, row)) {
        (Some(Value::Int(size)), Some(Value::Int(units))) => Ok((size, units as f64)),
        _ => Err(EngineError::inconsistent(
            "a released histogram has a size or a number of units that is not whole",
        )),
    };
    (0..table.num_rows()).map(row).collect()
}

/// Stand-in for values that are read before they are released.
fn unknown(read: &Read) -> Given {
    if read.all { Given::All(Vec::new()) } else { Given::One(Value::Null) }
}

/// Values that are read from a released table: a column, or its value in the one row, NULL where
/// there is no row.
pub(crate) fn given(table: &RecordBatch, read: &Read) -> Result<Given, EngineError> {
    let column = table.columns().get(read.column).ok_or(EngineError::inconsistent(
        "a part reads a column that the release before it does not have",
    ))?;
    let value = |row| {
        value_at(column, row)
            .ok_or(EngineError::inconsistent("a released column has no value in one of its rows"))
    };
    Ok(match table.num_rows() {
        rows if read.all => Given::All((0..rows).map(value).collect::<Result<_, _>>()?),
        0 => unknown(read),
        1 => Given::One(value(0)?),
        _ => {
            return Err(EngineError::inconsistent(
                "a part reads one value of a release that has several rows",
            ));
        }
    })
}

/// The columns that a query releases.
fn schema(quote: &Quote) -> SchemaRef {
    let outputs = quote.query().outputs().iter();
    let field = outputs.map(|o| Field::new(&o.name, arrow_type(o.expr.column_type), true));
    Arc::new(Schema::new(field.collect::<Vec<_>>()))
}

impl StatementPlan<'_> {
    /// The populations that pay, each once, with the analyst's limit on it.
    fn accounts(&self) -> Vec<(&str, Loss)> {
        let mut all: Vec<(&str, Loss)> = Vec::new();
        for part in &self.parts {
            for (population, limit) in &part.payers {
                let own = (population.name.as_str(), *limit);
                if !all.contains(&own) {
                    all.push(own);
                }
            }
        }
        all
    }

    /// The place of the last part that asks what the statement asks.
    fn last_asked(&self) -> Result<usize, EngineError> {
        let place = self.statement.parts.iter().rposition(Part::is_asked);
        place.ok_or(EngineError::inconsistent("no part of a statement is asked for"))
    }

    /// The question of a part with limits that follow from earlier releases; `None` where it has
    /// its own.
    fn limited(&self, place: usize, earlier: &[Released]) -> Result<Option<Question>, EngineError> {
        let part = self.parts.get(place).ok_or(EngineError::inconsistent(
            "a part that limits are chosen for is not in the statement",
        ))?;
        if part.limits_from.is_empty() {
            return Ok(None);
        }
        let histograms = part.limits_from.iter().map(|&from| {
            let own = earlier.get(from).ok_or(EngineError::inconsistent(
                "a part takes its limits from another part that is not released before it",
            ))?;
            let deviation = own.quote.deviation(0).ok_or(EngineError::inconsistent(
                "a histogram that limits are chosen by has no standard deviation",
            ))?;
            Ok((released_sizes(&own.table.table)?, deviation))
        });
        let histograms = histograms.collect::<Result<Vec<_>, EngineError>>()?;
        let mut limits = part.asked.quote.query().chosen_limits(&histograms)?;
        let contract = self.session.contract();
        let quote = loop {
            // Limits may be too large for what a sum or noise can be.
            match self
                .statement
                .with_limits(&self.sql, place, &limits, contract)
                .and_then(Quote::new)
            {
                Ok(quote) => break quote,
                Err(_) => match limits.smaller() {
                    Some(smaller) => limits = smaller,
                    None => {
                        break part.smallest(self.session, (&self.statement, &self.sql), place)?;
                    }
                },
            }
        };
        if !quote.total().is_within(part.asked.loss) {
            return Err(EngineError::inconsistent(
                "the chosen limits of a part cost more than was quoted for it",
            ));
        }
        Ok(Some(part.asked.with_limits(quote)))
    }

    fn name_of(&self, part: usize) -> Result<String, EngineError> {
        Ok(self
            .parts
            .get(part)
            .ok_or(EngineError::inconsistent(
                "a part names another part that is not in the statement",
            ))?
            .name
            .clone())
    }

    /// The names of the parts at these places.
    fn names_of(&self, places: &[usize]) -> Vec<String> {
        places.iter().filter_map(|&place| Some(self.parts.get(place)?.name.clone())).collect()
    }

    /// The values that a part reads, as people name them.
    fn names_read(&self, part: &Planned<'_>) -> Vec<String> {
        let name = |&Read { part, column, .. }: &Read| {
            let read = self.parts.get(part)?;
            let output = read.asked.quote.query().outputs().get(column)?;
            Some(format!("{}.{}", read.name, output.name))
        };
        part.reads.iter().filter_map(name).collect()
    }

    pub(crate) fn quoted(&self) -> Result<StatementQuoted, EngineError> {
        let ledger = self.session.ledger_for_looking()?;
        let mut parts = Vec::with_capacity(self.parts.len());
        // Each comparison calibrates the part some times more.
        let few = self.parts.len() <= MAX_COMPARED;
        for part in &self.parts {
            let (analyst, population) = (&self.analyst, &part.population()?.name);
            let standing = match &ledger {
                Some(ledger) => Standing::of(ledger, analyst, population, &part.identity)?,
                None => Standing::New,
            };
            let reads = self.names_read(part);
            let quote = &part.asked.quote;
            parts.push(StatementPartQuoted {
                name: part.name.clone(),
                sql: part.asked.sql.clone(),
                weight: part.weight,
                reads,
                report_of: self.names_of(&part.report_of),
                limits_from: self.names_of(&part.limits_from),
                is_histogram: part.is_histogram,
                same_as: part.same_as.map(|first| self.name_of(first)).transpose()?,
                automatic: part.asked.quote.query().automatic_limits(),
                explanation: part.asked.explanation.clone(),
                mechanisms: if few { MechanismsExplained::of(quote) } else { Vec::new() },
                limits: if few { LimitExplained::around(quote) } else { Vec::new() },
                standing,
            });
        }
        let mut accounts = Vec::new();
        for (population, limit) in self.accounts() {
            let (mut total, mut charge): (Option<Loss>, _) = (None, limit.nothing());
            let own = self.parts.iter().zip(&parts);
            let pays = |part: &Planned<'_>| part.same_as.is_none() && part.is_paid_by(population);
            for (part, quoted) in own.filter(|(part, _)| pays(part)) {
                let loss = part.asked.quote.total();
                let sum = total.map_or(Ok(loss), |sum| sum.plus(loss));
                total = Some(sum.map_err(|_| {
                    EngineError::inconsistent(
                        "the losses of the parts to one population have no sum",
                    )
                })?);
                if quoted.standing == Standing::New {
                    // A loss that the budget's currency cannot hold is shown as it is; the ledger
                    // would refuse it.
                    let own = cost(loss, &part.asked.quote.events(), limit).unwrap_or(loss);
                    charge = charge.plus(own).unwrap_or(own);
                }
            }
            let account = match &ledger {
                Some(ledger) => ledger.account(&self.analyst, population, limit)?,
                None => Account::untouched(limit),
            };
            let total = total.ok_or(EngineError::inconsistent(
                "a population that pays for a statement pays for none of its parts",
            ))?;
            accounts.push(AccountQuoted {
                population: population.to_owned(),
                total,
                account,
                charge,
            });
        }
        let around = self.statement.around.as_ref().map(|around| around.sql.clone());
        let mut consistent = Vec::new();
        for own in &self.statement.consistent {
            consistent.extend(own.precision(&quotes(own, &self.parts)?)?);
        }
        let analyst = self.analyst.clone();
        Ok(StatementQuoted { analyst, parts, around, consistent, accounts })
    }

    /// Charges what is not paid for: all parts, in one transaction.
    /// A part that shows the release of an earlier one pays nothing.
    fn pay(&self, ledger: &mut Ledger) -> Result<Vec<Option<PaidPart>>, EngineError> {
        let mut requests = Vec::new();
        for part in self.parts.iter().filter(|part| part.same_as.is_none()) {
            let request = |(population, limit): &(&Population, Loss)| {
                part.asked.request(&population.name, part.identity, *limit)
            };
            requests.extend(part.payers.iter().map(request));
        }
        // Charged for rows that are gone, nothing could be taken up again.
        for part in &self.parts {
            self.session.check_unchanged(part.asked.quote.query(), &part.data)?;
        }
        let mut paid = ledger.charge_all(&requests)?.into_iter();
        let each = self.parts.iter().map(|part| {
            if part.same_as.is_some() {
                return Ok(None);
            }
            let first = paid.next().ok_or(EngineError::inconsistent(
                "the ledger gave fewer receipts than there were requests",
            ))?;
            let others = part.payers.len().checked_sub(1);
            let others = others
                .ok_or(EngineError::inconsistent("a part has no population that pays for it"))?;
            let beside: Vec<Paid> = paid.by_ref().take(others).collect();
            if beside.len() != others {
                return Err(EngineError::inconsistent(
                    "the ledger gave fewer receipts than there were requests",
                ));
            }
            Ok(Some(PaidPart { first, beside }))
        });
        each.collect()
    }

    /// Adds up the charges to each population's account.
    fn charged(
        &self,
        paid: &[Option<PaidPart>],
    ) -> Result<Vec<(String, Loss, Option<Loss>)>, EngineError> {
        let mut all = Vec::new();
        for (population, limit) in self.accounts() {
            let mut sum: Option<Loss> = None;
            let paid = self.parts.iter().zip(paid);
            let paid = paid.filter_map(|(part, paid)| Some((part, paid.as_ref()?)));
            let paid = paid.flat_map(|(part, paid)| {
                let all = [&paid.first].into_iter().chain(&paid.beside);
                part.payers.iter().map(|(population, _)| &population.name).zip(all)
            });
            for (payer, paid) in paid {
                if let Paid::Charged(payment) = paid
                    && Payment::is_new(payment)
                    && payer == population
                {
                    let own = payment.charged();
                    let next = sum.map_or(Ok(own), |sum| sum.plus(own));
                    sum = Some(next.map_err(|_| {
                        EngineError::inconsistent("the new charges to one population have no sum")
                    })?);
                }
            }
            all.push((population.to_owned(), limit, sum));
        }
        Ok(all)
    }

    fn answer(
        &self,
        ledger: &Ledger,
        charged: Vec<(String, Loss, Option<Loss>)>,
        (table, uncertainty): (RecordBatch, Behind),
        released: Vec<Released>,
    ) -> Result<Answer, EngineError> {
        let wanted = self.parts.iter().find_map(|part| part.asked.quote.query().intervals());
        let mut charges = Vec::with_capacity(charged.len());
        for (population, limit, charged) in charged {
            let account = ledger.account(&self.analyst, &population, limit)?;
            charges.push(AccountCharge { population, charged, account });
        }
        let mut stated = Vec::with_capacity(released.len());
        let mut clipping = Vec::new();
        for (part, released) in self.parts.iter().zip(released) {
            let Released { statement, table, quote, .. } = released;
            let reads = self.names_read(part);
            let (name, weight) = (part.name.clone(), part.weight);
            let report_of = self.names_of(&part.report_of);
            if !report_of.is_empty() {
                let uncertainty = Uncertainty::new(&quote, table);
                clipping.push(ClippingReport::new(report_of.clone(), &uncertainty)?);
            }
            let (limits_from, is_histogram) = (self.names_of(&part.limits_from), part.is_histogram);
            let same_as = part.same_as.map(|first| self.name_of(first)).transpose()?;
            stated.push(PartStated {
                name,
                weight,
                reads,
                report_of,
                limits_from,
                is_histogram,
                same_as,
                statement,
            });
        }
        let last = stated.get(self.last_asked()?).ok_or(EngineError::inconsistent(
            "the last part that is asked is not in the statement",
        ))?;
        let last = last.statement.clone();
        let total =
            |own: AccountQuoted| PopulationTotal { population: own.population, total: own.total };
        let totals = self.quoted()?.accounts.into_iter().map(total).collect();
        let around = self.statement.around.as_ref().map(|around| around.sql.clone());
        let whole = StatementOfParts {
            clipping_reports: clipping,
            ..statement(self.analyst.clone(), self.sql.clone(), totals, stated, around)
        };
        let ledger_created = ledger.created();
        let mut charges = charges.into_iter();
        let AccountCharge { population, charged, account } =
            charges.next().ok_or(EngineError::inconsistent("a statement charges no population"))?;
        Ok(Answer {
            table,
            uncertainty,
            wanted,
            statement: last,
            parts: Some(whole),
            analyst: self.analyst.clone(),
            population,
            charged,
            taken_up: false,
            answered_before: None,
            account,
            others: charges.collect(),
            ledger_created,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
