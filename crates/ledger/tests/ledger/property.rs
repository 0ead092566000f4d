//! Any sequence of charges, against a plain model of it.

use hushtable_ledger::{LedgerError, Outcome, Request};
use hushtable_privacy::{Delta, Epsilon, Loss, Rho};
use proptest::prelude::*;

use crate::support::{ChargeOne, Kind, answer, release, request};

fn any_loss() -> impl Strategy<Value = Loss> {
    // Multiples of a third of the limit are common, so that it is met exactly; odd amounts too.
    let amount = prop_oneof![
        4 => (0..4u64).prop_map(|thirds| thirds * 200_000_000_000),
        2 => 0..600_000_000_000u64,
        1 => Just(Epsilon::from_units(10u64.pow(18)).unwrap().units()),
    ];
    let delta =
        prop_oneof![3 => Just(0), 2 => 0..4 * 10u64.pow(11), 1 => Just(10u64.pow(18) - 1000)];
    (any::<bool>(), amount, delta).prop_map(|(rho, units, delta)| {
        let delta = Delta::from_units(delta).unwrap();
        if rho {
            Loss::Concentrated { rho: Rho::from_units(units).unwrap(), delta }
        } else {
            Loss::Approximate { epsilon: Epsilon::from_units(units).unwrap(), delta }
        }
    })
}

/// Amount and delta in units, and whether in rho.
fn amounts(loss: Loss) -> (u128, u128, bool) {
    let delta = u128::from(loss.delta().units());
    match loss {
        Loss::Approximate { epsilon, .. } => (epsilon.units().into(), delta, false),
        Loss::Concentrated { rho, .. } => (rho.units().into(), delta, true),
    }
}

/// The amounts of a loss in rho, in units of 10^-12.
fn in_rho(loss: Loss) -> (u128, u128) {
    match amounts(loss) {
        (rho, delta, true) => (rho, delta),
        (_, delta, false) => (amounts(loss.in_rho()).0, delta),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The ledger admits exactly what fits; spent is the exact sum of that, never above the
    /// limit; a refusal changes nothing; accounts do not mix.
    #[test]
    fn spent_is_the_exact_sum_and_never_above_the_limit(
        kind in prop_oneof![Just(Kind::File), Just(Kind::Memory)],
        rho_limit in any::<bool>(),
        steps in prop::collection::vec((any_loss(), 0..2usize, 0..12u64, any::<bool>()), 1..16),
    ) {
        let (_folder, _location, mut ledger) = kind.new_ledger();
        let limit = Loss::pure("0.6".parse().unwrap());
        let delta = "1e-6".parse().unwrap();
        let limit = match limit {
            Loss::Approximate { epsilon, .. } if !rho_limit => Loss::Approximate { epsilon, delta },
            _ => Loss::Concentrated { rho: "0.6".parse().unwrap(), delta },
        };
        let (max, max_delta, _) = amounts(limit);
        let mut sums = [(0, 0); 2];
        let mut released = std::collections::HashSet::<(usize, u64, i64)>::new();
        // A charge that is paid and neither drawn nor recorded is taken up again.
        let mut paid = std::collections::HashMap::<(usize, u64), i64>::new();
        for (loss, who, question, record) in steps {
            let analyst = ["alice", "bob"][who].to_owned();
            let events = vec![loss.into()];
            let asked = request(question, "rho 0", "rho 0");
            let request = Request { analyst, loss, events, limit, ..asked };
            let (units, delta) = if rho_limit {
                in_rho(loss)
            } else {
                let p = amounts(loss);
                (p.0, p.1)
            };
            let sum = (sums[who].0 + units, sums[who].1 + delta);
            let wrong_currency = amounts(loss).2 && !rho_limit;
            let fits = !wrong_currency && sum.0 <= max && sum.1 <= max_delta;
            let before = ledger.charges().unwrap();
            match ledger.charge(&request) {
                Ok(Outcome::Stored(stored)) => {
                    prop_assert!(released.contains(&(who, question, stored.charge_id)));
                    prop_assert_eq!(ledger.charges().unwrap(), before);
                }
                Ok(Outcome::Charged(charge)) => {
                    prop_assert!(!released.iter().any(|r| (r.0, r.1) == (who, question)));
                    match paid.remove(&(who, question)) {
                        Some(id) => prop_assert_eq!((charge.id(), charge.is_new()), (id, false)),
                        None => {
                            prop_assert!(fits, "{loss} admitted above {limit}: {sum:?}");
                            prop_assert_eq!(charge.id(), before.len() as i64 + 1);
                            prop_assert!(charge.is_new());
                            sums[who] = sum;
                        }
                    }
                    if !record {
                        paid.insert((who, question), charge.id());
                    } else {
                        let id = charge.id();
                        answer(&mut *ledger, charge, &release(id));
                        released.insert((who, question, id));
                    }
                }
                Err(error) => {
                    prop_assert!(!fits, "{loss} refused: {error}");
                    prop_assert_eq!(ledger.charges().unwrap(), before);
                    let expected = match &error {
                        LedgerError::RhoFromEpsilon { .. } => wrong_currency,
                        LedgerError::Exhausted(_) => !wrong_currency,
                        _ => false,
                    };
                    prop_assert!(expected, "{error}");
                }
            }
            for (who, analyst) in ["alice", "bob"].iter().enumerate() {
                let account = ledger.account(analyst, "visits", limit).unwrap();
                let (spent, delta, rho) = amounts(account.spent);
                prop_assert_eq!((spent, delta), sums[who]);
                prop_assert!(spent <= max && delta <= max_delta);
                prop_assert_eq!(rho, rho_limit);
                prop_assert_eq!(account.spent.plus(account.left), Ok(limit));
            }
        }
    }
}
