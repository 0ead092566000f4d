//! Tests of the mechanisms for sums that are not clamped.

use hushtable_noise::TestSeed;
use proptest::prelude::*;

use super::*;

fn rho(text: &str) -> Rho {
    text.parse().unwrap()
}

fn per_record(mechanism: RecordMechanism, threshold: u64, text: &str) -> PerRecord {
    PerRecord::new(mechanism, threshold, threshold, rho(text)).unwrap()
}

/// The loss by the law itself: between the laws of what is released for two sums.
fn realized(law: &PerRecord, one: i128, other: i128) -> f64 {
    let half_square = |steps: i128, sigma: f64| 0.5 * (steps as f64 / sigma).powi(2);
    match &law.noise {
        PerRecordNoise::Gaussian(noise) => half_square(one - other, noise.sigma().to_f64()),
        PerRecordNoise::Transformed(t) => {
            half_square(t.steps(one) - t.steps(other), t.noise().sigma().to_f64())
        }
        PerRecordNoise::Polylogarithmic(_) => unreachable!("by enumeration"),
    }
}

proptest! {
    /// On sums of any size and sign, with records of any size and sign.
    #[test]
    fn no_sum_loses_more_than_the_policy(
        sum in prop_oneof![-1000i128..1000, -(1i128 << 125)..1 << 125, Just(0)],
        value in prop_oneof![-1000i128..1000, -(1i128 << 62)..1 << 62],
        threshold in prop_oneof![1u64..1000, 1u64..1 << 60],
        offset in prop_oneof![1u64..1000, 1u64..1 << 60],
        thousandths in 30u32..100_000,
    ) {
        let rho = rho(&format!("{}.{:03}", thousandths / 1000, thousandths % 1000));
        for mechanism in [RecordMechanism::Gaussian, RecordMechanism::Log, RecordMechanism::Sqrt] {
            let Ok(law) = PerRecord::new(mechanism, threshold, offset, rho) else { continue };
            let policy = law.growth().loss(value as f64);
            let lost = realized(&law, sum, sum + value);
            prop_assert!(lost <= policy, "{mechanism} {lost} {policy}");
            // It is reached where nothing else is in the sum, except for the lattice.
            let alone = realized(&law, 0, value.abs());
            prop_assert!(alone <= policy);
            let coarse = (value.abs() as f64) < 1e-9 * offset as f64;
            prop_assert!(coarse || alone >= policy * (1.0 - 1e-4), "{mechanism} {alone} {policy}");
        }
    }
}

/// Exponential-polylogarithmic noise, by enumeration: no ratio of probabilities is above epsilon,
/// and no Rényi divergence above the rho.
#[test]
fn no_ratio_is_above_the_policy() {
    for (threshold, text) in [(1, "0.5"), (20, "0.5"), (300, "2"), (7, "0.02")] {
        let law = per_record(RecordMechanism::ExponentialPolylogarithmic, threshold, text);
        let PerRecordNoise::Polylogarithmic(noise) = &law.noise else { panic!("law") };
        let LossCurve::ExponentialPolylogarithmic { scale, .. } = law.growth() else { panic!() };
        let reach = (60.0 * scale) as i128 + 200;
        for value in [1i128, 2, threshold as i128, 5 * threshold as i128, 40 * threshold as i128] {
            let epsilon = law.growth().epsilon(value as f64).unwrap();
            let policy = law.growth().loss(value as f64);
            let mut sums = [0.0; 3];
            let orders = [1.5, 2.0, 8.0];
            let mut largest = 0.0f64;
            for k in -reach..=reach {
                let (p, q) = (noise.pmf(k), noise.pmf(k - value));
                largest = largest.max((p / q).ln().abs());
                for (sum, order) in sums.iter_mut().zip(orders) {
                    *sum += p * (p / q).powf(order - 1.0);
                }
            }
            assert!(largest <= epsilon * (1.0 + 1e-10), "{threshold} {value}: {largest} {epsilon}");
            // The largest ratio is at zero.
            assert!(largest >= epsilon * (1.0 - 1e-9), "{threshold} {value}");
            for (sum, order) in sums.into_iter().zip(orders) {
                let divergence = sum.ln() / (order - 1.0);
                assert!(divergence <= order * policy, "{threshold} {value} {order}");
            }
        }
        // At the threshold it is the requested rho.
        let loss = law.growth().loss(threshold as f64) / rho(text).to_f64();
        assert!((loss - 1.0).abs() < 1e-11 && law.loss() == Loss::concentrated(rho(text)));
    }
}

/// The mean of 200,000 estimates within six standard errors, and their squared distances within a
/// tenth of what is stated: false alarms have probability 2e-9 for each mean.
#[test]
fn estimates_are_unbiased_with_the_stated_error() {
    for (seed, mechanism) in RecordMechanism::ALL.into_iter().enumerate() {
        for (multiple, text) in [(0.0, "0.5"), (0.3, "2"), (50.0, "5"), (1e6, "1")] {
            let law = per_record(mechanism, 10_000, text);
            let sum = (10_000.0 * multiple) as i128;
            let mut values = vec![sum; 200_000];
            law.release(&mut TestSeed(seed as u64 + 30).generator(), &mut values).unwrap();
            let error = law.standard_error(sum as f64);
            let count = values.len() as f64;
            let mean = values.iter().map(|v| (v - sum) as f64).sum::<f64>() / count;
            let name = format!("{mechanism} {multiple} {text}");
            assert!(mean.abs() < 6.0 * error / count.sqrt(), "{name}: {mean} {error}");
            let squares = values.iter().map(|v| ((v - sum) as f64).powi(2)).sum::<f64>() / count;
            let ratio = (squares / (error * error)).sqrt();
            assert!((0.9..1.1).contains(&ratio), "{name}: {ratio}");
        }
    }
}

/// Intervals from the estimate alone cover the sum as often as stated: the share of 20,000 is above
/// 95 % less six standard deviations of 0.0015, and where the sum is far from zero below 95 % and
/// as much.
#[test]
fn intervals_cover_as_stated() {
    for (seed, mechanism) in RecordMechanism::ALL.into_iter().enumerate() {
        for (multiple, text) in [(0.0, "0.5"), (0.3, "0.1"), (3.0, "0.1"), (50.0, "5"), (1e6, "1")]
        {
            let law = per_record(mechanism, 1000, text);
            let sum = (1000.0 * multiple) as i128;
            let mut values = vec![sum; 20_000];
            law.release(&mut TestSeed(seed as u64 + 40).generator(), &mut values).unwrap();
            let width = law.half_width(0.95, 1);
            let covers = |v: &&i128| {
                let (low, high) = match width {
                    Some(width) => (**v as f64 - width, **v as f64 + width),
                    None => law.interval(**v, 0.95),
                };
                low <= sum as f64 && sum as f64 <= high
            };
            let share = values.iter().filter(covers).count() as f64 / 20_000.0;
            assert!(share > 0.941, "{mechanism} {multiple}: {share}");
            assert!(multiple < 50.0 || share < 0.959, "{mechanism} {multiple}: {share}");
            if let Some(width) = width {
                assert_eq!(law.interval(7, 0.95), (7.0 - width, 7.0 + width));
            }
        }
    }
}

/// Sums below zero count as zero where they are transformed.
#[test]
fn sums_below_zero_are_zero() {
    for mechanism in [RecordMechanism::Log, RecordMechanism::Sqrt] {
        let law = per_record(mechanism, 100, "1");
        let (mut below, mut zero) = (vec![-5000; 50], vec![0; 50]);
        law.release(&mut TestSeed(8).generator(), &mut below).unwrap();
        law.release(&mut TestSeed(8).generator(), &mut zero).unwrap();
        assert_eq!(below, zero);
    }
}

#[test]
fn mechanisms_at_the_same_error() {
    for mechanism in RecordMechanism::ALL {
        let law = per_record(mechanism, 1_000_000, "1");
        let (sum, a) = (3e7, 1e6);
        let error = law.standard_error(sum);
        let same = mechanism.growth_at_error(a, sum, error);
        for value in [1e5, 1e6, 1e9] {
            let (one, other) = (same.loss(value), law.growth().loss(value));
            assert!((one / other - 1.0).abs() < 1e-6, "{mechanism} {value}: {one} {other}");
        }
    }
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    use RecordMechanism::{ExponentialPolylogarithmic, Log, Sqrt};
    let new = |mechanism, threshold, text| {
        PerRecord::new(mechanism, threshold, threshold, rho(text)).map(|_| ()).unwrap_err()
    };
    assert_eq!(new(Log, 10, "0.007"), MechanismError::TooSkewed);
    assert_eq!(new(Sqrt, 10, "0"), MechanismError::NoBudget("rho"));
    assert!(matches!(new(Sqrt, 0, "1"), MechanismError::NoLossCurve("a splitting threshold")));
    assert!(matches!(new(ExponentialPolylogarithmic, 10, "900"), MechanismError::Scale(_)));
    let name = |text| RecordMechanism::from_name(text);
    assert_eq!(name("sqrt"), Some(Sqrt));
    assert_eq!(name("Exponential_Polylogarithmic"), Some(ExponentialPolylogarithmic));
    assert_eq!(name("laplace"), None);
}
