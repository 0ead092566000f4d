//! Tests of [`super`], against enumerations of small tables.

use hushtable_noise::{Law, TestSeed};
use hushtable_privacy::Rho;

use super::*;

fn span(low: i64, high: i64, rows: u32) -> Span {
    Span { low, high, rows }
}

fn pure(epsilon: &str) -> Loss {
    Loss::pure(epsilon.parse().unwrap())
}

/// All that a unit can add to one group: its count, and the sum of as many values.
fn entries(span: Span) -> Vec<(i128, i128)> {
    let mut all = vec![(0, 0)];
    let mut last = all.clone();
    for _ in 0..span.rows {
        let more = |&(n, sum): &(i128, i128)| {
            (span.low..=span.high).map(move |x| (n + 1, sum + i128::from(x)))
        };
        last = last.iter().flat_map(more).collect();
        last.sort_unstable();
        last.dedup();
        all.extend(&last);
    }
    all
}

/// All that a unit can add to `cells` groups, of which it enters `groups` at most.
fn units(span: Span, groups: usize, cells: usize) -> Vec<Vec<(i128, i128)>> {
    let mut units = vec![vec![]];
    for _ in 0..cells {
        let grown = |unit: Vec<(i128, i128)>| {
            entries(span).into_iter().map(move |entry| [&unit[..], &[entry]].concat())
        };
        units = units.into_iter().flat_map(grown).collect();
        units.retain(|unit: &Vec<_>| unit.iter().filter(|(n, _)| *n > 0).count() <= groups);
    }
    units
}

fn spans() -> Vec<Span> {
    vec![
        span(0, 1, 1),
        span(0, 2, 2),
        span(-1, 1, 2),
        span(1, 3, 1),
        span(-3, -2, 2),
        span(-2, 1, 1),
    ]
}

/// The sensitivities are the largest distances of what any two neighbours add, seen from both ends.
#[test]
fn sensitivities_of_both_ends_are_the_worst_case_exactly() {
    for span in spans() {
        let noise = Additive::laplace(
            contribution(span, 1).unwrap(),
            Neighbouring::AddRemove,
            "1".parse().unwrap(),
        );
        let ends = Ends { span, noise: noise.unwrap() };
        for (groups, cells) in [(1, 1), (1, 2), (2, 2)] {
            let ends_of_unit = |unit: &Vec<(i128, i128)>| -> Vec<i128> {
                unit.iter().flat_map(|&(n, s)| <[i128; 2]>::from(ends.of(n, s))).collect()
            };
            let all: Vec<Vec<i128>> = units(span, groups, cells).iter().map(ends_of_unit).collect();
            for relation in [Neighbouring::AddRemove, Neighbouring::Replace] {
                let nothing = vec![vec![0; 2 * cells]];
                let others = if relation == Neighbouring::AddRemove { &nothing } else { &all };
                let mut worst = (0, 0);
                for (one, other) in all.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
                    let apart = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b));
                    worst.0 = worst.0.max(apart.clone().sum::<u128>());
                    worst.1 = worst.1.max(apart.map(|d| d * d).sum::<u128>());
                }
                let c = contribution(span, u32::try_from(groups).unwrap()).unwrap();
                // Two units of two groups each are furthest apart where they share none.
                let must_share = relation == Neighbouring::Replace && cells < 2 * groups;
                let (l1, l2) = (c.l1(relation), c.l2_squared(relation).unwrap());
                assert!(worst.0 <= l1 && worst.1 <= l2, "{span:?} {groups} {relation}");
                assert!(must_share || worst == (l1, l2), "{span:?} {groups} {cells} {relation}");
                // One row can be at either end, so that a shared group is no nearer.
                assert!(worst.0 == l1, "{span:?} {groups} {cells} {relation}");
            }
        }
    }
}

/// The log-ratio of every output is within epsilon for all neighbours, and for some it is epsilon.
#[test]
fn no_output_tells_neighbours_apart_by_more_than_epsilon() {
    for span in spans() {
        let tied = TiedSums::new(&[(span, pure("0.7"))], 1, Neighbouring::Replace).unwrap();
        let ends = tied.ends[0];
        let AdditiveLaw::DiscreteLaplace(law) = ends.noise.law() else { panic!("law") };
        let reach = 2 * i128::from(span.rows) * span.width();
        let mut largest: f64 = 0.0;
        let all = entries(span);
        for (one, other) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            let (first, second) = (ends.of(one.0, one.1), ends.of(other.0, other.1));
            for (y, z) in (-reach..=reach).flat_map(|y| (-reach..=reach).map(move |z| (y, z))) {
                let chance = |(a, b): (i128, i128)| law.pmf(y - a) * law.pmf(z - b);
                largest = largest.max((chance(first) / chance(second)).ln());
            }
        }
        assert!((largest - 0.7).abs() < 1e-9, "{span:?}: {largest}");
    }
}

/// Where the noise is zero, counts and sums are the exact ones, near the ends of what fits, too.
#[test]
fn without_noise_numbers_are_exact() {
    let huge = 1 << 60;
    let wide = [span(-huge, huge, 1), span(huge - 1, huge, 1), span(0, 7, 3), span(-5, 1000, 1)];
    let losses: Vec<(Span, Loss)> = wide.iter().map(|&s| (s, pure("1"))).collect();
    let tied = TiedSums::new(&losses, 1, Neighbouring::AddRemove).unwrap();
    for n in [0i128, 1, 2, 99, 1 << 40, (1 << 62) + 1] {
        for parts in [0, 1, 3, 4] {
            let sums: Vec<i128> =
                wide.iter().map(|s| n * i128::from(s.low) + (n * s.width()) / 4 * parts).collect();
            assert!(tied.holds(n, sums.iter().copied()), "{n}");
            let mut common = 0;
            for ((ends, &sum), &w) in tied.ends.iter().zip(&sums).zip(&tied.weights) {
                let (above, below) = ends.of(n, sum);
                common += ends.fixed_count(above, below) * i128::from(w);
                assert_eq!(ends.fixed_count(above, below), n << PLACES);
                assert_eq!(ends.sum(above - below, n << PLACES), sum);
            }
            let whole: i128 = tied.weights.iter().map(|&w| i128::from(w)).sum();
            assert_eq!(common / whole, n << PLACES);
        }
    }
    let none = |sums: &[i128]| tied.holds(1, sums.iter().copied());
    assert!(none(&[0, huge as i128, 7, -5]) && none(&[huge as i128, huge as i128 - 1, 0, 1000]));
    assert!(!none(&[0, huge as i128, 8, -5]) && !none(&[0, huge as i128, 7, -6]));
    assert!(!tied.holds(-1, [0, 0, 0, 0]));
}

/// Half of the difference and the middle times the count, to the nearest point.
#[test]
fn sums_are_rounded_to_the_nearest_point() {
    let noise = Additive::laplace(
        contribution(span(0, 1, 1), 1).unwrap(),
        Neighbouring::AddRemove,
        "1".parse().unwrap(),
    )
    .unwrap();
    for (low, high) in [(0, 3), (-7, 2), (5, 6), (-4, -1), (-2, 2)] {
        let ends = Ends { span: span(low, high, 1), noise };
        for (above, below) in (-30..30).flat_map(|a| (-30..30).map(move |b| (a, b))) {
            let count = (above + below) as f64 / (high - low) as f64;
            let want = 0.5 * (above - below) as f64 + 0.5 * (low + high) as f64 * count;
            let fixed = ends.fixed_count(above, below);
            assert!((fixed as f64 / 2f64.powi(32) - count).abs() < 1e-9);
            let got = ends.sum(above - below, fixed) as f64;
            assert!((got - want).abs() <= 0.5 + 1e-8, "{low} {high} {above} {below}: {got} {want}");
        }
    }
}

/// Releases of one group many times: means, deviations and widths are as stated.
fn check(tied: &TiedSums, count: i128, sums: &[i128]) {
    const RUNS: usize = 40_000;
    let mut counts = vec![count; RUNS];
    let mut released: Vec<Vec<i128>> = sums.iter().map(|&sum| vec![sum; RUNS]).collect();
    tied.release(&mut TestSeed(11).generator(), &mut counts, &mut released).unwrap();
    let parts = std::iter::once((TiedPart::Count, count, &counts));
    let sums = released.iter().zip(sums).enumerate();
    let sums = sums.map(|(index, (drawn, &sum))| (TiedPart::Sum(index), sum, drawn));
    for (part, exact, drawn) in parts.chain(sums) {
        let errors: Vec<f64> = drawn.iter().map(|&y| (y - exact) as f64).collect();
        let mean = errors.iter().sum::<f64>() / RUNS as f64;
        let deviation = (errors.iter().map(|e| e * e).sum::<f64>() / RUNS as f64).sqrt();
        // Rounding adds a twelfth to the variance.
        let stated = tied.deviation(part).hypot((1.0f64 / 12.0).sqrt());
        assert!(mean.abs() < 6.0 * stated / (RUNS as f64).sqrt() + 0.05, "{part:?} {mean}");
        assert!((deviation / stated - 1.0).abs() < 0.05, "{part:?} {deviation} {stated}");
        for level in [0.5, 0.95, 0.999] {
            let width = tied.half_width(part, level, 1);
            let within = drawn.iter().filter(|y| (*y - exact).unsigned_abs() <= width).count();
            let share = within as f64 / RUNS as f64;
            let off = 6.0 * (level * (1.0 - level) / RUNS as f64).sqrt();
            assert!(share > level - off, "{part:?} {level}: {share}");
            // Wider by no more than half a step of each draw and of the result may hold.
            let steps = 1.0 + tied.draws(part).iter().map(|(times, _)| times.abs()).sum::<f64>();
            assert!(share < level + off + 0.01 + steps / stated, "{part:?} {level}: {share}");
        }
    }
}

#[test]
fn noise_is_as_stated() {
    let rho: Rho = "0.05".parse().unwrap();
    for relation in [Neighbouring::AddRemove, Neighbouring::Replace] {
        for shares in [[pure("0.5"), pure("0.25")], [Loss::concentrated(rho); 2]] {
            for spans in [[span(0, 1000, 2), span(-300, 200, 2)], [span(0, 1, 1), span(40, 60, 1)]]
            {
                let losses = [(spans[0], shares[0]), (spans[1], shares[1])];
                let sums = [30 * i128::from(spans[0].high), 50 * i128::from(spans[1].low)];
                let one = TiedSums::new(&losses[..1], 3, relation).unwrap();
                check(&one, 50, &sums[..1]);
                let two = TiedSums::new(&losses, 3, relation).unwrap();
                check(&two, 50, &sums);
            }
        }
    }
}

/// Against separate measurements at half of the budget each: theory section 8's figures.
#[test]
fn one_measurement_is_more_precise_than_two() {
    let relation = Neighbouring::AddRemove;
    let separate = |high: i64, half: Loss| {
        let c = Contribution { groups: 4, single_group: false, low: 0, high };
        let noise = match half {
            Loss::Approximate { epsilon, .. } => Additive::laplace(c, relation, epsilon),
            Loss::Concentrated { rho, .. } => Additive::gaussian(c, relation, rho),
        };
        noise.unwrap().variance().sqrt()
    };
    let range = span(0, 1_000_000, 100);
    let rho = |text: &str| Loss::concentrated(text.parse().unwrap());
    for (whole, half, count, sum) in [
        (pure("0.1"), pure("0.05"), 2f64.sqrt(), 2.0),
        (rho("0.01"), rho("0.005"), 1.0, 2f64.sqrt()),
    ] {
        let tied = TiedSums::new(&[(range, whole)], 4, relation).unwrap();
        let gain = separate(100, half) / tied.deviation(TiedPart::Count);
        assert!((gain - count).abs() < 0.001, "{gain}");
        let gain = separate(100_000_000, half) / tied.deviation(TiedPart::Sum(0));
        assert!((gain - sum).abs() < 0.001, "{gain}");
    }
}

/// Widths of sums of Laplace variables, against closed forms.
#[test]
fn widths_of_sums_are_near_the_least() {
    for outside in [0.5, 0.05, 1e-3, 1e-9] {
        // P[|X + Y| > w] of two of scale one is (1 + w/2) e^-w.
        let w = laplace_width(&[1.0, 1.0], outside);
        let tail = |w: f64| (1.0 + 0.5 * w) * (-w).exp();
        assert!(tail(w) <= outside && tail(w - 0.02) > outside, "{outside} {w}");
        // Of scales a and b: (a^2 e^(-w/a) - b^2 e^(-w/b)) / (a^2 - b^2).
        for b in [0.5, 0.1, 0.009, 0.001, 1e-12] {
            let w = laplace_width(&[b, 1.0], outside);
            let tail = |w: f64| ((-w).exp() - b * b * (-w / b).exp()) / (1.0 - b * b);
            assert!(tail(w) <= outside && tail(w - 0.03) > outside, "{outside} {b} {w}");
        }
        assert_eq!(laplace_width(&[0.0, 2.0], outside), -2.0 * outside.ln());
        // Many are nearly normal: 0.3 % more outside than that is what is left of their tails.
        let many = [0.5, 1.0].repeat(50);
        let (near, normal) = (laplace_width(&many, outside), 125f64.sqrt());
        assert!(near > normal * normal_quantile(0.5 * outside));
        assert!(near < 1.1 * normal * (2.0 * (2.0 / outside).ln()).sqrt(), "{near}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let relation = Neighbouring::AddRemove;
    let wide = span(-(1 << 60), 1 << 60, 5);
    assert_eq!(TiedSums::new(&[(wide, pure("1"))], 1, relation), Err(MechanismError::TooLarge));
    let flat = span(3, 3, 1);
    assert_eq!(
        TiedSums::new(&[(flat, pure("1"))], 1, relation),
        Err(MechanismError::NoSensitivity)
    );
    assert!(TiedSums::new(&[(span(0, 1, 1), pure("0"))], 1, relation).is_err());
}
