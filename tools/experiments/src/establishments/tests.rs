//! The paper's words about its figures, on a small synthetic economy: 60,000 establishments in 100
//! counties.

use std::sync::LazyLock;

use hushtable_numbers::search::last;
use hushtable_privacy::normal_tail;

use super::cells::{LEVELS, MEASURES, Measure, SIZES, judged, sizes};
use super::errors::{BUDGETS, Errors};
use super::goals::{GOALS, WorkloadNeeds, needs};
use super::losses::{Losses, firms, of_establishments, of_firms};
use super::made_up::{Establishment, Size, generate};
use super::schemes::{Kind, SCHEMES, splitting};
use super::suppression::{Node, State, suppress};
use super::{baselines, errors, figures_of};
use crate::distribution::Distribution;

const SMALL: Size = Size { rows: 60_000, counties: 100 };

static ROWS: LazyLock<Vec<Establishment>> = LazyLock::new(|| generate(SMALL, 7));
static NODES: LazyLock<Vec<Node>> = LazyLock::new(|| suppress(&ROWS));
static ERRORS: LazyLock<Vec<Errors>> = LazyLock::new(|| errors::errors(&ROWS, &NODES, 7).unwrap());
static NEEDS: LazyLock<Vec<WorkloadNeeds>> = LazyLock::new(|| needs(&ROWS));

/// PR Table 8: the shares of establishments up to the splitting thresholds, in the paper's
/// synthetic data and in ours, within five points (and one at the upper end).
#[test]
fn sizes_are_as_skewed_as_the_papers() {
    let shares = [[0.97, 0.99, 0.99], [0.66, 0.79, 0.8], [0.47, 0.5, 0.5]];
    for (scheme, shares) in splitting().zip(shares) {
        for (measure, share) in SIZES.into_iter().zip(shares) {
            let threshold = scheme.threshold(measure);
            let up_to = ROWS.iter().filter(|row| measure.of(row) <= threshold).count();
            let up_to = up_to as f64 / ROWS.len() as f64;
            let tolerance = if share > 0.9 { 0.01 } else { 0.05 };
            assert!((up_to - share).abs() <= tolerance, "{measure:?}: {up_to}, paper {share}");
        }
    }
}

fn median(method: &str, rho: Option<&str>, level: u32, measure: Measure) -> f64 {
    let of = |e: &&Errors| {
        e.method == method && e.rho == rho && e.level == level && e.measure == measure
    };
    ERRORS.iter().find(of).unwrap().errors.quantile(0.5)
}

/// PR Figure 3: the errors of counts are the same either way; those of sums are far smaller where
/// records are split as in the moderate and the median scheme than under any top-coding, at every
/// level. Where thresholds are as large as those of a top-coding (the conservative scheme), they
/// are not: then the noise is as large, and only the bias goes.
#[test]
fn splitting_has_far_smaller_errors_at_every_level() {
    for level in LEVELS {
        let count = |label: &str| median(label, Some("1"), level, Measure::Establishments);
        for scheme in SCHEMES {
            assert!(count(&scheme.label()) < 0.02, "{}", scheme.label());
        }
        for measure in SIZES {
            let of = |kind: Kind, name: &str| {
                let scheme = SCHEMES.iter().find(|s| s.kind == kind && s.name == name).unwrap();
                median(&scheme.label(), Some("1"), level, measure)
            };
            let top_coding = ["conservative", "moderate", "aggressive"]
                .map(|name| of(Kind::TopCoding, name))
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            assert!(top_coding > 0.05, "{measure:?} at {level}: {top_coding}");
            for name in ["moderate", "median"] {
                let splitting = of(Kind::Splitting, name);
                assert!(splitting * 5.0 < top_coding, "{measure:?} at {level}: {splitting}");
                assert!(splitting < 0.05);
            }
            if measure != Measure::Employees {
                let conservative = of(Kind::Splitting, "conservative");
                assert!(conservative > 0.05 && conservative < 2.0 * top_coding);
            }
        }
    }
}

/// Ten times the budget, noise smaller by sqrt(10): of errors without bias the median follows.
#[test]
fn errors_fall_with_the_budget() {
    for scheme in splitting() {
        for measure in MEASURES {
            let [low, middle, high] =
                BUDGETS.map(|rho| median(&scheme.label(), Some(rho), 2, measure));
            assert!(low > middle && middle > high, "{} {measure:?}", scheme.label());
        }
    }
}

/// The errors of split sums are those of the noise that the policy is charged for: the number of
/// answers within a goal against the sum of their probabilities. 54 of them, each within five
/// standard deviations: a false alarm for 3 seeds of 100,000.
#[test]
fn errors_of_split_sums_are_those_of_the_noise() {
    let cells = judged(&ROWS, errors::LEAST);
    assert!(cells.len() > 250, "{}", cells.len());
    for scheme in splitting() {
        for (measure, rho) in SIZES.into_iter().flat_map(|m| BUDGETS.map(|rho| (m, rho))) {
            // A twentieth of the budget for each measure at each level.
            let sigma = scheme.threshold(measure) as f64
                / (2.0 * rho.parse::<f64>().unwrap() / 20.0).sqrt();
            for goal in errors::GOALS {
                let found: f64 = ERRORS
                    .iter()
                    .filter(|e| {
                        e.method == scheme.label() && e.measure == measure && e.rho == Some(rho)
                    })
                    .map(|e| {
                        let of_level = cells.iter().filter(|cell| cell.level == e.level).count();
                        e.share_within(goal) * of_level as f64
                    })
                    .sum();
                let (mut expected, mut variance) = (0.0, 0.0);
                for cell in &cells {
                    let truth = cell.total(&ROWS, |row| measure.of(row)) as f64;
                    // Released numbers are whole: half of one more on each side.
                    let within = 1.0 - 2.0 * normal_tail(((goal * truth).floor() + 0.5) / sigma);
                    expected += within;
                    variance += within * (1.0 - within);
                }
                let off = (found - expected).abs();
                assert!(off <= 5.0 * variance.sqrt() + 1e-6, "{found}, expected {expected}");
            }
        }
    }
}

/// PR Figure 4: establishments lose less the smaller the thresholds are, and less for wider goals.
/// It is the paper's whole pieces that make the difference: by the exact policy there is none.
/// Top-coding needs far more, or never gets there.
#[test]
fn smaller_thresholds_need_smaller_policies_for_most() {
    let needed = |kind: Kind, name: &str, goal: f64| {
        let of =
            |n: &&WorkloadNeeds| n.scheme.kind == kind && n.scheme.name == name && n.goal == goal;
        NEEDS.iter().find(of).unwrap()
    };
    for goal in GOALS {
        let [conservative, moderate, median] = ["conservative", "moderate", "median"].map(|name| {
            let [split, exact] = needed(Kind::Splitting, name, goal).losses(&ROWS).unwrap();
            [split.quantile(0.5), exact.quantile(0.5), split.quantile(0.99)]
        });
        assert!(conservative[0] > moderate[0] && moderate[0] > median[0], "{conservative:?}");
        // By the exact policy all three are the same: the goal decides the noise, and the noise the
        // loss.
        assert!((conservative[1] / moderate[1] - 1.0).abs() < 1e-9, "{conservative:?}");
        assert!((conservative[1] / median[1] - 1.0).abs() < 1e-9, "{median:?}");
        assert!(conservative[2] > moderate[2] && moderate[2] > median[2], "{conservative:?}");
        let least = needed(Kind::Splitting, "conservative", goal).minimum();
        for name in ["conservative", "moderate", "aggressive"] {
            let top_coding = needed(Kind::TopCoding, name, goal);
            assert!(top_coding.minimum() > 10.0 * least, "{name}, {goal}");
            assert!(top_coding.minimum_evenly() > 10.0 * least, "{name}, {goal}");
        }
    }
    for scheme in SCHEMES {
        let of = |goal: f64| needed(scheme.kind, scheme.name, goal).minimum();
        assert!(of(0.05) >= of(0.1) && of(0.1) >= of(0.2), "{}", scheme.label());
    }
}

/// Under the least policy 95 % of the queries of every measure at every level reach the goal, each
/// in 95 of 100 draws; and with a little less, they do not.
#[test]
fn the_least_policy_is_enough_and_no_more() {
    let cells = judged(&ROWS, errors::LEAST);
    for n in NEEDS.iter().filter(|n| n.scheme.kind == Kind::Splitting) {
        let mut by_hand = 0.0;
        for measure in MEASURES {
            for level in LEVELS {
                let errors: Vec<f64> = cells
                    .iter()
                    .filter(|cell| cell.level == level)
                    .map(|cell| cell.total(&ROWS, |row| measure.of(row)) as f64)
                    .collect();
                let reached = |sigma: f64| {
                    let within = |truth: &&f64| 2.0 * normal_tail(n.goal * **truth / sigma) <= 0.05;
                    errors.iter().filter(within).count() as f64 >= 0.95 * errors.len() as f64
                };
                let sigma = last(0.0, 1e9, 80, reached);
                let ratio = n.scheme.threshold(measure) as f64 / sigma;
                by_hand += 0.5 * ratio * ratio;
            }
        }
        assert!((n.minimum() / by_hand - 1.0).abs() < 1e-9, "{} {by_hand}", n.minimum());
    }
}

fn ratio(losses: &Losses) -> f64 {
    let each = losses.realised.iter().zip(&losses.split).map(|(realised, split)| realised / split);
    Distribution::new(each.collect()).quantile(0.5)
}

/// PR Figure 5: realised losses are below the policy's, for most establishments far below, and the
/// gap (as a ratio) closes as thresholds fall. The exact policy has no gap.
#[test]
fn realised_losses_are_below_the_policy() {
    let mut last = 0.0;
    for scheme in splitting() {
        let losses = of_establishments(&ROWS, scheme).unwrap();
        for ((split, exact), realised) in
            losses.split.iter().zip(&losses.exact).zip(&losses.realised)
        {
            assert!(realised <= exact && exact <= split);
            assert!(*exact <= realised * (1.0 + 1e-9));
        }
        let ratio = ratio(&losses);
        assert!(ratio > last && ratio < 0.6, "{}: {ratio}", scheme.name);
        last = ratio;
    }
}

/// PR Figure 5, firms. A firm loses no less than each of its establishments, so that the
/// distribution over establishments of what their firms lose is below that of their own losses
/// everywhere. Over firms it is so at the upper end only, as most firms are small and alone.
#[test]
fn firms_lose_more_than_their_establishments() {
    let firms = firms(&ROWS);
    let alone = firms.iter().filter(|firm| firm.len() == 1).count();
    assert!(alone * 2 > ROWS.len() && alone < firms.len(), "{alone} of {}", firms.len());
    for scheme in splitting() {
        let single = of_establishments(&ROWS, scheme).unwrap();
        let joint = of_firms(&ROWS, &firms, scheme, &single).unwrap();
        for (row, single_loss) in ROWS.iter().zip(&single.split) {
            assert!(joint.split[row.owner as usize] >= single_loss * (1.0 - 1e-12));
        }
        for ((split, exact), realised) in joint.split.iter().zip(&joint.exact).zip(&joint.realised)
        {
            assert!(*realised <= exact * (1.0 + 1e-12) && exact <= split);
        }
        let [single_loss, theirs] =
            [&single.split, &joint.split].map(|all| Distribution::new(all.clone()));
        for share in [0.99, 0.999, 1.0] {
            assert!(
                theirs.quantile(share) > single_loss.quantile(share),
                "{} at {share}",
                scheme.name
            );
        }
        // Cells keep a firm's establishments apart: what is realised is far less than the policy of
        // the firm with most establishments.
        let (largest, _) = firms.iter().enumerate().max_by_key(|(_, firm)| firm.len()).unwrap();
        assert!(joint.realised[largest] * 2.0 < joint.exact[largest]);
    }
}

/// Suppression hides more at finer levels, mostly cells of little pay; multiplicative noise hides
/// nothing.
#[test]
fn agencies_methods_do_what_they_do() {
    let all = baselines::suppressed(&ROWS, &NODES);
    for pair in all.windows(2) {
        assert!(pair[0].pay <= pair[1].pay && pair[0].primary <= pair[1].primary);
    }
    for s in &all {
        assert!(s.cells > 0 && s.establishments < s.pay, "{s:?}");
        assert!(s.pay < s.primary + s.complementary, "{s:?}");
    }
    assert!(all[4].complementary > 0.01 && all[4].primary > 0.5);
    let hidden = NODES.iter().filter(|n| n.level == 6 && n.state != State::Published).count();
    let share = all[4].primary + all[4].complementary;
    assert!((share * all[4].cells as f64 - hidden as f64).abs() < 1e-6);
    for level in LEVELS {
        for measure in SIZES {
            let noisy = median(&errors::multiplicative(), None, level, measure);
            assert!((0.001..0.05).contains(&noisy), "{noisy}");
            assert_eq!(median(&errors::suppression(), None, level, measure), 0.0);
        }
        let counts = median(&errors::multiplicative(), None, level, Measure::Establishments);
        assert_eq!(counts, 0.0);
    }
}

#[test]
fn figures_have_charts_and_numbers_and_come_from_the_seed() {
    let size = Size { rows: 20_000, counties: 30 };
    let all = figures_of(size, 3).unwrap();
    let mut names: Vec<&str> = all.iter().map(|f| f.name.as_str()).collect();
    for figure in &all {
        assert!(figure.name.starts_with("establishments-"));
        assert!(
            figure.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        );
        assert!(!figure.rows.is_empty(), "{}", figure.name);
        assert!(figure.rows.iter().all(|row| row.len() == figure.columns.len()), "{}", figure.name);
        assert!(figure.chart.title.contains("synthetic"), "{}", figure.name);
        let points = |s: &hushtable_plot::Series| s.points.len();
        assert!(figure.chart.series.iter().map(points).sum::<usize>() > 4, "{}", figure.name);
    }
    // Agencies' methods never stand without a word on what they promise.
    for series in all.iter().flat_map(|f| &f.chart.series) {
        let agencies = series.name.contains("EZS") || series.name.contains("p %");
        assert!(!agencies || series.name.contains("no formal guarantee"), "{}", series.name);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    let again = figures_of(size, 3).unwrap();
    assert!(all.iter().zip(&again).all(|(a, b)| a.rows == b.rows && a.chart == b.chart));
    assert_ne!(all[1].rows, figures_of(size, 4).unwrap()[1].rows);
}

#[test]
fn sizes_are_in_the_order_of_the_measures() {
    for row in ROWS.iter().take(100) {
        assert_eq!(sizes(row), [row.employees, row.pay, row.pay_quarter]);
        assert!(row.pay >= 1 && row.pay_quarter <= row.pay && row.employees >= 0);
    }
}
