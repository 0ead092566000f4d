//! `hushtable budget`.

use futures::executor::block_on;
use hushtable::privacy::Delta;

use super::engine;
use crate::arguments::{BudgetArguments, TextOrJson};
use crate::failure::Failure;
use crate::given_numbers::amount;
use crate::render::budget;
use crate::stdio;

pub(crate) fn run(arguments: &BudgetArguments) -> Result<(), Failure> {
    let delta = arguments.delta.as_ref().map(|text| amount::<Delta>("delta", text, "1e-6"));
    let owner = engine(&arguments.contract.path())?.owner();
    let lines = block_on(owner.budgets(delta.transpose()?))?;
    let others = block_on(owner.other_accounts())?;
    let text = match arguments.format {
        TextOrJson::Text => budget::text(&lines, &others),
        TextOrJson::Json => budget::json(&lines, &others)?,
    };
    stdio::print(text.as_bytes())?;
    if let Err(error) = block_on(owner.check_populations()) {
        stdio::note(&Failure::from(error).warning());
    }
    Ok(())
}
