//! Lines about charges and what is left of budgets.

use hushtable::{AccountCharge, Charges, Engine};

use crate::render::grid::visible;

/// Says that the ledger's file is new; empty where it is not.
pub(super) fn created(charges: &Charges, engine: &Engine) -> String {
    if !charges.ledger_created {
        return String::new();
    }
    format!(
        "created the ledger {}; it records spent budget, so back it up\n",
        engine.ledger_path().display()
    )
}

/// The charge to an account and the rest of its budget; `for_what` ends the charge, and `why_free`
/// says why there is none.
pub(super) fn of_account(
    charges: &Charges,
    AccountCharge { population, charged, per_record, account }: &AccountCharge,
    for_what: &str,
    why_free: &str,
) -> String {
    let whom = format!("to {} on {}", visible(&charges.analyst), visible(population));
    let left = account.left;
    match charged {
        Some(charged) => {
            // Where sums are not clamped, larger records may lose more.
            let of_whom = if *per_record { ", for a record at the thresholds," } else { "" };
            format!("charged {charged}{of_whom} {whom}{for_what}; left: {left}\n")
        }
        None => format!("{why_free}no charge {whom}; left: {left}\n"),
    }
}
