//! Why a query was not paid for, in words.

use std::fmt;

use hushtable_privacy::{Delta, Epsilon, Loss, Rho};

use crate::Account;

/// A query that costs more than is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Who asked.
    pub analyst: String,
    /// The table whose budget was to pay.
    pub table: String,
    /// How many questions were to be paid at once.
    pub questions: usize,
    /// Their loss in the currency in which it was asked.
    pub asked: Loss,
    /// The same in the currency of the budget.
    pub charged: Loss,
    /// The budget, unchanged by the refusal.
    pub account: Account,
}

/// Epsilon, rho or delta: a number for comparing, and its text.
struct Part {
    name: &'static str,
    units: u64,
    text: String,
}

impl Part {
    fn main(loss: Loss) -> Self {
        match loss {
            Loss::Approximate { epsilon, .. } => {
                Self { name: "epsilon", units: epsilon.units(), text: epsilon.to_string() }
            }
            Loss::Concentrated { rho, .. } => {
                Self { name: "rho", units: rho.units(), text: rho.to_string() }
            }
        }
    }

    fn delta(loss: Loss) -> Self {
        let delta: Delta = loss.delta();
        Self { name: "delta", units: delta.units(), text: delta.to_string() }
    }
}

impl Refusal {
    /// What may be asked at most, in the currency of the question.
    fn main_left(&self) -> Part {
        match (self.asked, self.account.left) {
            (Loss::Approximate { epsilon, .. }, Loss::Concentrated { rho, .. }) => {
                let most = match self.charged {
                    Loss::Concentrated { rho: cost, .. } if self.questions > 1 => {
                        largest_total(epsilon, cost, rho, self.questions)
                    }
                    _ => largest_epsilon(rho.units()),
                };
                Part::main(Loss::pure(most))
            }
            (_, left) => Part::main(left),
        }
    }

    fn write_reason(&self, f: &mut fmt::Formatter<'_>, part: fn(Loss) -> Part) -> fmt::Result {
        let Account { total, spent, .. } = self.account;
        let (cost, asked) = (part(self.charged), part(self.asked));
        let costs = if self.questions == 1 { "it costs" } else { "they cost" };
        write!(f, "{costs} {} = {}", cost.name, cost.text)?;
        if asked.name != cost.name {
            write!(f, " (for {} = {})", asked.name, asked.text)?;
        }
        write!(f, ", and {} of {} is spent", part(spent).text, part(total).text)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Account { total, spent, left } = self.account;
        let (analyst, table) = (&self.analyst, &self.table);
        let what = match self.questions {
            1 => "this query".to_owned(),
            many => format!("these {many} queries together"),
        };
        write!(f, "the budget of analyst {analyst:?} on table {table:?} does not allow {what}")?;

        let parts = [
            (Part::main as fn(Loss) -> Part, self.main_left()),
            (Part::delta as fn(Loss) -> Part, Part::delta(left)),
        ];
        let (mut advice, mut used_up) = (Vec::new(), None);
        let mut separator = ": ";
        for (part, most) in parts {
            let (cost, spent, total) = (part(self.charged), part(spent), part(total));
            // Amounts are at most 10^18 units, so the sum cannot overflow.
            if spent.units + cost.units <= total.units {
                continue;
            }
            f.write_str(separator)?;
            self.write_reason(f, part)?;
            separator = "; ";
            if most.units > 0 {
                advice.push(format!("{} at most {}", most.name, most.text));
            } else if cost.name == "delta" && cost.units > 0 && spent.units <= total.units {
                advice.push("delta = 0".to_owned());
            } else {
                used_up = Some(cost.name);
            }
        }
        match used_up {
            None => write!(
                f,
                "\n  hint: ask with {}, or ask the table's owner for a larger budget",
                advice.join(" and ")
            ),
            Some(name) => write!(
                f,
                "\n  hint: no {name} is left; questions answered before are still answered, free; \
                 for new ones, ask the table's owner for a larger budget"
            ),
        }
    }
}

/// The largest epsilon that costs at most so much rho: the largest with
/// `epsilon^2 <= 2 * rho * 10^12` in units, as [`Loss::in_rho`] rounds up.
fn largest_epsilon(rho_units: u64) -> Epsilon {
    let square = 2 * u128::from(Epsilon::units_per_one()) * u128::from(rho_units);
    // At most sqrt(2 * 10^30), which is far below the largest epsilon.
    u64::try_from(square.isqrt())
        .ok()
        .and_then(|units| Epsilon::from_units(units).ok())
        .unwrap_or(Epsilon::ZERO)
}

/// An epsilon for several questions together that costs at most `left`, where `epsilon` shared out in
/// the same way costs `cost`: costs grow with its square, but for a unit of rounding in each.
fn largest_total(epsilon: Epsilon, cost: Rho, left: Rho, questions: usize) -> Epsilon {
    let left = left.units().saturating_sub(questions as u64) as f64;
    let scale = (left / cost.units().max(1) as f64).sqrt() * (1.0 - 1e-9);
    Epsilon::from_f64_down(epsilon.to_f64() * scale).unwrap_or(Epsilon::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epsilon_for_several_fits() {
        for (whole, weights, left) in
            [("1", &[1u32, 1, 1][..], "0.1"), ("3.3", &[5, 1], "2"), ("0.01", &[1; 7], "1e-9")]
        {
            let cost = |epsilon: Epsilon| {
                let rhos = epsilon.split(weights).into_iter().map(|e| Loss::pure(e).in_rho());
                let sum = rhos.reduce(|a, b| a.unwrap().plus(b.unwrap())).unwrap().unwrap();
                let Loss::Concentrated { rho, .. } = sum else { panic!() };
                rho
            };
            let (asked, left): (Epsilon, Rho) = (whole.parse().unwrap(), left.parse().unwrap());
            let most = largest_total(asked, cost(asked), left, weights.len());
            assert!(cost(most) <= left, "{whole}");
            assert!(cost(most).to_f64() > 0.98 * left.to_f64(), "{whole}");
        }
    }

    #[test]
    fn the_epsilon_in_the_hint_is_the_largest_that_fits() {
        for units in [0, 1, 2, 499_999_999_999, 500_000_000_000, 10u64.pow(18)] {
            let most = largest_epsilon(units);
            let rho = |epsilon| match Loss::pure(epsilon).in_rho() {
                Ok(Loss::Concentrated { rho, .. }) => rho.units(),
                other => panic!("{other:?}"),
            };
            assert!(rho(most) <= units, "{units}");
            if units < 10u64.pow(18) {
                let next = Epsilon::from_units(most.units() + 1).unwrap();
                assert!(rho(next) > units, "{units}");
            }
        }
    }
}
