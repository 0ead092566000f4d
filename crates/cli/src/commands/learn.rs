//! `hushtable learn`.

use futures::executor::block_on;
use hushtable::privacy::{Epsilon, Loss, Rho};
use hushtable::query::LearntColumns;
use hushtable::{AnswerStep, Charges, Engine, Progress, Purpose};

use super::{charges, engine, within};
use crate::arguments::{LearnArguments, TextOrJson};
use crate::failure::Failure;
use crate::given_numbers::amount;
use crate::progress::watched;
use crate::render::{learnt, quoted};
use crate::stdio;

pub(crate) fn run(arguments: &LearnArguments) -> Result<(), Failure> {
    let loss = loss(arguments)?;
    let columns = match (arguments.all, arguments.columns.as_slice()) {
        (true, _) => LearntColumns::All,
        (false, []) => LearntColumns::Automatic,
        (false, names) => LearntColumns::Named(names.to_vec()),
    };
    let engine = within(engine(&arguments.contract.path())?, &arguments.memory)?;
    let analyst = engine.analyst(arguments.analyst().as_deref());
    let progress = Progress::default();
    let purpose = if arguments.explain.is_some() { Purpose::Quote } else { Purpose::Answer };
    let table = arguments.table.as_str();
    let plan = block_on(analyst.plan_learning(table, &columns, loss, purpose, &progress))?;
    if let Some(format) = arguments.explain {
        return stdio::print(quoted::in_format(&plan.quoted()?, format, false)?.as_bytes());
    }
    let mut releasing = plan.release(str::to_owned)?;
    watched("reading", &progress, || -> Result<_, Failure> {
        while let Some(step) = block_on(releasing.next()) {
            if let AnswerStep::Charged(charges) = step? {
                stdio::note(&account_of(&charges, &engine));
            }
        }
        Ok(())
    })?;
    let bounds = block_on(analyst.learnt(table))?;
    let text = match arguments.format {
        TextOrJson::Text => learnt::text(&bounds),
        TextOrJson::Json => learnt::json(&bounds)?,
    };
    stdio::print(text.as_bytes())
}

fn loss(arguments: &LearnArguments) -> Result<Option<Loss>, Failure> {
    Ok(match (&arguments.epsilon, &arguments.rho) {
        (Some(text), _) => Some(Loss::pure(amount::<Epsilon>("epsilon", text, "0.1")?)),
        (None, Some(text)) => Some(Loss::concentrated(amount::<Rho>("rho", text, "0.005")?)),
        (None, None) => None,
    })
}

/// The charges, and the rest of each budget.
fn account_of(charges: &Charges, engine: &Engine) -> String {
    let mut out = charges::created(charges, engine);
    let why_free = if charges.resumed > 0 { "paid before: " } else { "on record: " };
    for account in &charges.accounts {
        out += &charges::of_account(charges, account, "", why_free);
    }
    out
}
