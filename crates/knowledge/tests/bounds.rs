//! Refusals, large models, and the places where the printed theorem is wrong.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use hushtable_knowledge::{
    Count, CountAbove, CountAboveWithin, CountNoise, CountWithin, Histogram, KAnonymity,
    Probability, ProbabilityRange, Profile, Reason, Side, least_epsilon,
};

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn between(low: f64, high: f64) -> ProbabilityRange {
    ProbabilityRange::new(p(low), p(high)).unwrap()
}

/// theory section 7: with e^epsilon in it but else as printed, PK Theorem 3 has 6.6e-12 here.
#[test]
fn the_printed_theorem_is_below_the_truth() {
    let alike = Count::new(&Profile::new([(999, p(0.05))]).unwrap(), None).unwrap().delta(1.0);
    assert!((alike / 8.465_84e-9 - 1.0).abs() < 1e-6, "{alike:e}");
    let worst = CountWithin::new(999, between(0.05, 0.95), None).unwrap().worst(1.0).delta;
    assert!((worst / 8.728_849e-9 - 1.0).abs() < 1e-6, "{worst:e}");
    let blanket = Histogram::new(999, p(0.05), p(0.05)).unwrap().delta(1.0);
    assert!((blanket / 1.6e-7 - 1.0).abs() < 0.05, "{blanket:e}");
    assert!(6.6e-12 < alike && alike <= worst && worst <= blanket);
}

/// Computed apart, with 80 digits.
#[test]
fn tails_have_nine_digits_at_any_depth() {
    let profile = Profile::new([(300, p(0.1)), (400, p(0.37)), (300, p(0.8))]).unwrap();
    let count = Count::new(&profile, None).unwrap();
    for (epsilon, want) in [
        (0.0, 0.030_753_614_038_414_596),
        (0.25, 1.552_071_735_612_101e-5),
        (0.5, 1.620_499_892_970_659e-12),
        (0.8, 9.105_619_791_493_387e-26),
        (1.2, 1.458_805_479_974_557_3e-50),
        (2.0, 1.394_659_255_893_692e-115),
    ] {
        let got = count.delta(epsilon);
        assert!(got >= want && got <= want * (1.0 + 1e-10), "{epsilon}: {got:e}");
    }
    for (above, epsilon, want) in
        [(450, 0.1, 8.271_699_166_106_142e-4), (520, 0.3, 1.051_572_018_468_207_3e-15)]
    {
        let got = CountAbove::new(above, &profile, &Profile::none()).unwrap().delta(epsilon);
        assert!(got.active >= want && got.active <= want * (1.0 + 1e-10), "{above}: {got:?}");
        assert!((got.passive / want - 1.0).abs() < 1e-10);
    }
}

/// Probabilities next to certainty, and those that are certain.
#[test]
fn what_is_certain_protects_nobody() {
    let alone = Profile::new([(1000, p(0.0)), (1000, p(1.0))]).unwrap();
    assert_eq!(Count::new(&alone, None).unwrap().delta(1.0), 1.0);
    for tiny in [f64::MIN_POSITIVE, 1e-200, 1e-17, f64::EPSILON] {
        let near = Profile::new([(1000, p(tiny)), (1000, p(1.0 - tiny))]).unwrap();
        let delta = Count::new(&near, None).unwrap().delta(1.0);
        assert!(delta > 0.999_999 && delta <= 1.0, "{tiny}: {delta}");
    }
}

#[test]
fn deep_tails_are_exact() {
    // 100 groups that are nearly alike are nearly one, and 1e-30 is far below what a transform
    // could tell apart.
    let one = Count::new(&Profile::new([(100_000, p(0.3))]).unwrap(), None).unwrap();
    let near = Profile::new((0..100u32).map(|i| (1000, p(0.3 + f64::from(i) * 1e-15)))).unwrap();
    assert!(near.groups().len() > 90);
    let near = Count::new(&near, None).unwrap();
    for epsilon in [0.0, 0.02, 0.05, 0.07, 0.078] {
        let (one, near) = (one.delta(epsilon), near.delta(epsilon));
        assert!((near / one - 1.0).abs() < 1e-7, "{epsilon}: {one:e} {near:e}");
    }
    assert!(one.delta(0.078) < 1e-29, "{:e}", one.delta(0.078));
}

#[test]
fn bounds_for_many_are_above_and_near() {
    let within = CountWithin::new(20_000, between(0.3, 0.6), None).unwrap();
    let bound = within.worst(0.08);
    assert!(bound.forgone > 0);
    let mut reached = 0.0f64;
    for low in [0, 1, 100, 10_000, 19_999, 20_000u64] {
        let vertex = Profile::new(
            [(low, p(0.3)), (20_000 - low, p(0.6))].into_iter().filter(|(count, _)| *count > 0),
        );
        reached = reached.max(Count::new(&vertex.unwrap(), None).unwrap().delta(0.08));
    }
    assert!(bound.delta >= reached && bound.delta <= reached * 1.05, "{bound:?} {reached:e}");
    let exact = CountAboveWithin::new(20, 50_000, 2, between(0.0, 1e-4)).unwrap();
    assert_eq!(exact.forgone(), 0);
    assert!(exact.delta(0.1).passive < 1e-5);
}

#[test]
fn noise_and_uncertainty_together_are_below_each() {
    let profile = Profile::new([(300, p(0.1)), (200, p(0.4))]).unwrap();
    for noise in [
        CountNoise::geometric(0.5),
        CountNoise::discrete_laplace(3.0),
        CountNoise::discrete_gaussian(9.0),
    ] {
        let noise = noise.unwrap();
        let count = Count::new(&profile, Some(noise)).unwrap();
        let within = CountWithin::new(500, between(0.1, 0.4), Some(noise)).unwrap();
        for epsilon in [0.0, 0.1, 0.3, 0.6, 1.5] {
            let delta = count.delta(epsilon);
            assert!(delta <= noise.delta(epsilon) && delta <= count.delta_without_noise(epsilon));
            assert!(delta <= within.worst(epsilon).delta);
            assert!(within.worst(epsilon).delta <= within.worst_without_noise(epsilon).delta);
        }
    }
}

#[test]
fn rare_values_are_protected_by_absence_only() {
    let values = [between(0.0, 0.001), between(0.4, 0.6), between(0.3, 0.5)];
    let open = KAnonymity::new(10, 1000, &values, None).unwrap();
    let hidden = KAnonymity::new(10, 1000, &values, Some(between(0.1, 0.3))).unwrap();
    let pair = |table: &KAnonymity, a, b| table.pair(Side::Value(a), Side::Value(b), 1.0);
    assert_eq!(pair(&open, 0, 1).reason, Reason::Unprotected);
    assert_eq!(pair(&open, 0, 1).delta, 1.0);
    assert_eq!(pair(&open, 1, 2).reason, Reason::Spread);
    assert_eq!(pair(&hidden, 0, 1).reason, Reason::ThroughAbsent);
    assert!(pair(&hidden, 0, 1).delta < 1e-4);
    let absent = hidden.pair(Side::Value(0), Side::Absent, 1.0);
    assert_eq!(absent.reason, Reason::Rare);
    assert_eq!(hidden.pairs(1.0).len(), 6);
}

#[test]
fn epsilons_are_those_at_which_deltas_are_reached() {
    let count = Count::new(&Profile::new([(500, p(0.2))]).unwrap(), None).unwrap();
    for delta in [0.01, 1e-9, 1e-30] {
        let epsilon = least_epsilon(delta, |e| count.delta(e)).unwrap();
        assert!(count.delta(epsilon) <= delta && count.delta(epsilon * (1.0 - 1e-9)) > delta);
    }
    // Everyone may be counted: no epsilon takes that away.
    assert_eq!(least_epsilon(1e-60, |e| count.delta(e)), None);
    assert_eq!(least_epsilon(0.0, |e| count.delta(e)), None);
    assert_eq!(least_epsilon(f64::NAN, |e| count.delta(e)), None);
    let within = CountWithin::new(500, between(0.2, 0.2), None).unwrap();
    let both = (within.epsilon(1e-9).unwrap(), least_epsilon(1e-9, |e| count.delta(e)).unwrap());
    assert!((both.0 / both.1 - 1.0).abs() < 1e-9, "{both:?}");
    assert_eq!(within.epsilon(0.0), None);
}

#[test]
fn wrong_parameters_are_refused() {
    for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(Probability::new(wrong).is_err());
        assert!(CountNoise::geometric(wrong).is_err());
        assert!(CountNoise::discrete_gaussian(wrong.min(0.0)).is_err());
        assert!(CountNoise::discrete_laplace(wrong.min(0.0)).is_err());
    }
    assert!(CountNoise::discrete_gaussian(1e7).is_err());
    assert!(ProbabilityRange::new(p(0.5), p(0.4)).is_err());
    assert!(Profile::new([]).is_err());
    assert!(Profile::new([(0, p(0.5))]).is_err());
    assert!(Profile::new([(1_000_000_001, p(0.5))]).is_err());
    assert!(Profile::new([(u64::MAX, p(0.5)), (u64::MAX, p(0.4))]).is_err());
    assert!(CountWithin::new(0, between(0.1, 0.2), None).is_err());
    assert!(Histogram::new(0, p(0.1), p(0.1)).is_err());
    assert!(Histogram::new(9, p(0.6), p(0.6)).is_err());
    assert!(Histogram::of_values(9, &[p(0.1)]).is_err());
    assert!(Histogram::of_values(9, &[p(0.5), p(0.5), p(0.5)]).is_err());
    let ten = Profile::new([(10, p(0.5))]).unwrap();
    assert!(CountAbove::new(11, &ten, &Profile::none()).is_err());
    assert!(CountAbove::new(10, &ten, &Profile::none()).is_ok());
    assert!(CountAbove::new(u64::MAX, &ten, &ten).is_err());
    assert!(CountAboveWithin::new(3, 10, 501, between(0.0, 0.1)).is_err());
    assert!(CountAboveWithin::new(12, 10, 1, between(0.0, 0.1)).is_err());
    let half = between(0.3, 0.5);
    assert!(KAnonymity::new(0, 10, &[half, half], None).is_err());
    assert!(KAnonymity::new(12, 10, &[half, half], None).is_err());
    assert!(KAnonymity::new(3, 10, &[half], None).is_err());
    assert!(KAnonymity::new(3, 10, &[half, between(0.0, 0.1)], None).is_err());
    assert!(KAnonymity::new(3, 10, &[half, half, half, half], None).is_err());
    let count = Count::new(&ten, None).unwrap();
    assert!(count.delta(f64::NAN) >= 1.0 && count.delta(-1.0) >= 1.0);
    assert!(count.delta(f64::INFINITY) > 0.0 && count.delta(1e6) <= 0.001);
}
