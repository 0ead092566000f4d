//! Why a query was not paid for, in words.

use hushtable_errors::{ErrorText, Hint};
use hushtable_privacy::{Delta, Loss, affordable_epsilon};

use crate::Account;

/// A query that costs more than is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetExceeded {
    /// The analyst who asked.
    pub analyst: String,
    /// The population whose budget was to pay.
    pub population: String,
    /// How many questions were to be paid at once.
    pub questions: usize,
    /// Their loss in the currency in which it was asked.
    pub asked: Loss,
    /// Their loss in the currency of the budget.
    pub charged: Loss,
    /// The budget, unchanged by the refusal.
    pub account: Account,
}

/// Epsilon, rho or delta: a number for comparing, and its text.
struct LossAmount {
    name: &'static str,
    units: u64,
    text: String,
}

impl LossAmount {
    fn main(loss: Loss) -> Self {
        let text = match loss {
            Loss::Approximate { epsilon, .. } => epsilon.to_string(),
            Loss::Concentrated { rho, .. } => rho.to_string(),
        };
        Self { name: loss.parameter(), units: loss.units(), text }
    }

    fn delta(loss: Loss) -> Self {
        let delta: Delta = loss.delta();
        Self { name: "delta", units: delta.units(), text: delta.to_string() }
    }
}

impl BudgetExceeded {
    /// The most that may be asked, in the currency of the question.
    fn main_left(&self) -> LossAmount {
        match (self.asked, self.charged, self.account.left) {
            (
                Loss::Approximate { epsilon, .. },
                Loss::Concentrated { rho: cost, .. },
                Loss::Concentrated { rho, .. },
            ) => {
                LossAmount::main(Loss::pure(affordable_epsilon(epsilon, cost, rho, self.questions)))
            }
            (.., left) => LossAmount::main(left),
        }
    }

    fn reason(&self, amount_of: fn(Loss) -> LossAmount) -> String {
        let Account { total, spent, .. } = self.account;
        let (cost, asked) = (amount_of(self.charged), amount_of(self.asked));
        let costs = if self.questions == 1 { "it costs" } else { "they cost" };
        let of = match asked.name == cost.name {
            true => String::new(),
            false => format!(" (for {} = {})", asked.name, asked.text),
        };
        let (spent, total) = (amount_of(spent).text, amount_of(total).text);
        format!("{costs} {} = {}{of}, and {spent} of {total} is spent", cost.name, cost.text)
    }
}

impl Hint for BudgetExceeded {
    fn error_text(&self) -> ErrorText {
        let Account { total, spent, left } = self.account;
        let (analyst, population) = (&self.analyst, &self.population);
        let asked = match self.questions {
            1 => "this query".to_owned(),
            many => format!("these {many} queries together"),
        };
        let budget = format!("the budget of analyst `{analyst}` on `{population}`");

        let amounts = [
            (LossAmount::main as fn(Loss) -> LossAmount, self.main_left()),
            (LossAmount::delta as fn(Loss) -> LossAmount, LossAmount::delta(left)),
        ];
        let (mut advice, mut used_up) = (Vec::new(), None);
        let mut reasons = Vec::new();
        for (amount_of, most) in amounts {
            let (cost, spent, total) =
                (amount_of(self.charged), amount_of(spent), amount_of(total));
            // Amounts are at most 10^18 units, so the sum cannot overflow.
            if spent.units + cost.units <= total.units {
                continue;
            }
            reasons.push(self.reason(amount_of));
            if most.units > 0 {
                advice.push(format!("{} at most {}", most.name, most.text));
            } else if cost.name == "delta" && cost.units > 0 && spent.units <= total.units {
                advice.push("delta = 0".to_owned());
            } else {
                used_up = Some(cost.name);
            }
        }
        let reasons = match reasons.as_slice() {
            [] => String::new(),
            all => format!(": {}", all.join("; ")),
        };
        let hint = match used_up {
            None => format!(
                "ask with {}, or ask the owner of the data for a larger budget",
                advice.join(" and ")
            ),
            Some(name) => format!(
                "no {name} is left; questions answered before are still answered for free; for \
                 new ones, ask the owner of the data for a larger budget"
            ),
        };
        ErrorText::new(format!("{budget} does not allow {asked}{reasons}"), hint)
    }
}
