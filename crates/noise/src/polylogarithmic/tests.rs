//! Tests of the exponential-polylogarithmic law.

use num_traits::ToPrimitive;

use super::*;
use crate::TestSeed;
use crate::generator::Words;
use crate::script::{Script, enumerate};

/// The double above e.
const ABOVE_E: f64 = 2.718_281_828_459_045_5;

fn law(shape: f64, offset: f64, scale: f64) -> ExponentialPolylogarithmic {
    let [shape, offset, scale] = [shape, offset, scale].map(|x| Dyadic::at_least(x).unwrap());
    ExponentialPolylogarithmic::new(shape, offset, scale).unwrap()
}

/// The law with cells that grow by 1 + 2^-growth: few and large ones, in which many positions must
/// be tested.
fn few(shape: f64, offset: f64, scale: f64, growth: u32) -> ExponentialPolylogarithmic {
    let law = law(shape, offset, scale);
    let curve = CellCurve::new(law.shape, law.offset, law.scale).growing(growth);
    assert!(law.cells.set(Cells::new(curve)).is_ok());
    law
}

/// From a law that is nearly always 0 to the widest, and the ends of all ranges.
fn all() -> Vec<ExponentialPolylogarithmic> {
    [
        (1.0, ABOVE_E, 1.0),
        (1.0, ABOVE_E, 0.1),
        (0.25, ABOVE_E, 0.3),
        (2.5, 3.0, 7.7),
        (64.0, ABOVE_E, 40.0),
        (64.0, 64.0, 100.0),
        (0.25, 64.0, 2f64.powi(80)),
        (0.25, ABOVE_E, 2f64.powi(80)),
        (1.0, ABOVE_E, 1e6),
        (64.0, 64.0, 2f64.powi(-20)),
    ]
    .map(|(d, a, s)| law(d, a, s))
    .to_vec()
}

/// All bit strings, with words of several sizes.
#[test]
fn enumerated() {
    for (d, a, s) in
        [(1.0, ABOVE_E, 1.0), (1.0, ABOVE_E, 0.1), (0.25, ABOVE_E, 0.3), (2.5, 3.0, 7.7)]
    {
        let law = law(d, a, s);
        enumerate::<1, _>(16, |w| law.draw(w)).assert_below(0.9, |x| law.pmf(*x));
        enumerate::<3, _>(5, |w| law.draw(w)).assert_below(0.9, |x| law.pmf(*x));
    }
    for (law, allowed) in [(few(1.0, ABOVE_E, 4.0, 0), 0.99), (few(2.5, 3.0, 7.7, 2), 0.99)] {
        enumerate::<1, _>(12, |w| law.draw(w)).assert_below(allowed, |x| law.pmf(*x));
        enumerate::<2, _>(5, |w| law.draw(w)).assert_below(allowed, |x| law.pmf(*x));
    }
}

/// Whether points of the upper shares are under the curve, by all bit strings: the squeezes and the
/// enclosures against the formula.
#[test]
fn points_under_the_curve_enumerated() {
    let (mut between, mut tight) = (0, 0);
    for law in all() {
        let curve = |x: f64| law.weight(x);
        for cell in [0u64, 1, 5, 40, 100, 300] {
            let Some((start, count)) = law.cells().span(cell) else { continue };
            if count == 0 {
                continue;
            }
            let (d, a, s) = (law.shape.to_f64(), law.offset.to_f64(), law.scale.to_f64());
            // Heights at the ends of the cell; it is s a (r^j - 1) where f is e^(-d(..)).
            let delta = (2f64.powi(-(7 + d.log2().ceil().max(0.0) as i32))).ln_1p();
            let at = |j: f64| s * a * (j * delta).exp_m1();
            let (high, low) = (curve(at(cell as f64)), curve(at(cell as f64 + 1.0)));
            for k in [start, start + count / 3, start + count - 1] {
                let p = (curve(k as f64) - low) / (high - low);
                assert!((-1e-6..=1.0 + 1e-6).contains(&p), "{law:?} {cell} {k} {p}");
                between += u32::from((0.01..0.99).contains(&p));
                let (low, high) = law.cells().enclose_under(cell, k);
                let float = low.to_f64().unwrap() / 2f64.powi(64);
                assert!((float - p).abs() < 1e-6, "{law:?} {cell} {k}: {float} {p}");
                assert!(&high - &low <= BigUint::from(2u32));
                let (sure, open) = law.cells().squeeze(cell, k);
                assert!(BigUint::from(sure) <= high, "{law:?} {cell} {k}");
                assert!(BigUint::from(open) + 1u32 >= low, "{law:?} {cell} {k}");
                // A tenth or less of those next to the curve stays open.
                tight += u32::from(open - sure < u64::MAX / 10);
                for (length, words) in [(1, 8.0), (2, 64.0)] {
                    let outcomes = enumerate::<3, _>(length, |w| law.cells().under(w, cell, k));
                    let yes = outcomes.mass.get(&true).copied().unwrap_or(0.0);
                    let no = outcomes.mass.get(&false).copied().unwrap_or(0.0);
                    // The formula's differences have an error of their own.
                    assert!(yes <= p + 1e-6 && no <= 1.0 - p + 1e-6, "{law:?} {cell} {k} {p}");
                    assert!(outcomes.undecided <= 3.0 / words || s < 0.1, "{law:?} {cell} {k}");
                }
            }
        }
    }
    assert!(between > 30 && tight > 60, "{between} {tight}");
}

/// The proof of the table's error bound, checked against edges of more bits.
#[test]
fn the_true_edges_are_within_the_slack() {
    for law in all() {
        let exact = law.cells().curve.list(160);
        let shares = &law.cells().shares;
        assert!(shares.edges.is_sorted() && shares.edges[0] == 0);
        assert!(shares.slack <= 2 && shares.edges.len() < 8000, "{}", shares.edges.len());
        assert!(*shares.edges.last().unwrap() >= u64::MAX - 1);
        for (edge, exact_edge) in shares.edges.iter().zip(&exact.edges) {
            let low = (&exact_edge.low << 64u32) / &exact.total.high;
            let high = (&exact_edge.high << 64u32) / &exact.total.low;
            assert!(BigUint::from(*edge) <= low, "{law:?}");
            assert!(high < BigUint::from(*edge) + shares.slack, "{law:?}");
        }
    }
}

/// The shares are those of the formula: what the cells hold, and how much of it is under the curve.
#[test]
fn cells_hold_the_mass_of_the_curve() {
    for law in all() {
        let list = law.cells().curve.list(80);
        let total = list.total.low.to_f64().unwrap();
        // The share of draws that are not drawn anew, over the sum of all f to both sides of zero.
        let under = 1.0 + law.sum(1.0, 0);
        let one = 2f64.powi(2 * 80 + 96);
        let accepted = under / (total / one);
        assert!(accepted > 0.9 && accepted <= 1.0 + 1e-12, "{law:?}: {accepted}");
        for cell in [0u64, 1, 7, 50] {
            let (start, count) = law.cells().span(cell).unwrap();
            let index = cell as usize * 2;
            let share = (&list.edges[index + 2].low - &list.edges[index].low).to_f64().unwrap();
            let sure = (&list.edges[index + 1].low - &list.edges[index].low).to_f64().unwrap();
            // Between the integers' curve and count times the curve at the first of them.
            let most = count as f64 * one;
            assert!(share <= most * law.weight((start as f64 - 1.0).max(0.0)) * (1.0 + 1e-12));
            assert!(share >= most * law.weight(start as f64) * (1.0 - 1e-12), "{law:?} {cell}");
            let last = start as f64 + count as f64;
            assert!(sure <= most * law.weight(last - 1.0) * (1.0 + 1e-9), "{law:?} {cell}");
            assert!(sure >= most * law.weight(last) * (1.0 - 1e-9), "{law:?} {cell}");
        }
    }
}

/// The forced exact path: U begins with the words of an edge, and further words decide on the right
/// side.
#[test]
fn at_an_edge_further_words_decide() {
    for law in [law(1.0, ABOVE_E, 1e6), law(64.0, ABOVE_E, 4e6)] {
        let exact = law.cells().curve.list(256);
        for share in [1usize, 2, 101, 300] {
            let edge = (&exact.edges[share].low << 192u32) / &exact.total.low;
            for (value, expected) in [(&edge - 8u32, share - 1), (&edge + 8u32, share)] {
                let mut words = (value >> 1u32).to_u64_digits();
                words.resize(3, 0);
                words.reverse();
                let run = |words: &[u64]| {
                    let mut script = Script::<64>::new(words);
                    let locate = |known: &BigUint, bits| law.cells().curve.locate(known, bits);
                    (law.cells().shares.draw(&mut script, locate).ok(), script.used())
                };
                assert_eq!(run(&words), (Some((false, expected as u64)), 3), "{law:?} {share}");
                assert_eq!(run(&words[..2]), (None, 2));
            }
        }
    }
}

/// A forced draw from beyond the table, and one from beyond all integers of 126 bits.
#[test]
fn the_far_tail_is_drawn() {
    let law = law(0.25, ABOVE_E, 2f64.powi(80));
    let listed = law.cells().shares.edges.len() / 2;
    // All ones: U is above every edge until words differ.
    let run = |ones: usize, last: u64| {
        let mut words = vec![u64::MAX >> 1];
        words.extend(vec![u64::MAX; ones]);
        words.push(last);
        // The position in the cell, and a height of zero.
        words.extend([0; 8]);
        law.draw(&mut Script::<64>::new(&words)).unwrap()
    };
    let far = run(1, 0);
    assert!(far > 1 << 100 && far < 1 << 126, "{far}");
    let (start, _) = law.cells().span(listed as u64).unwrap();
    assert!(far as u128 >= start);
    assert_eq!(run(12, 0), i128::MAX);
}

/// Each value's frequency in 400,000 draws (3,000 with few cells, which take longer) within six
/// standard deviations: a false alarm has probability 2e-9 for each of 366.
#[test]
fn frequencies() {
    let laws = [
        (law(1.0, ABOVE_E, 1.0), 400_000),
        (law(0.25, ABOVE_E, 2.0), 400_000),
        (law(5.0, 3.0, 30.0), 400_000),
        (few(1.0, ABOVE_E, 4.0, 0), 3_000),
        (few(5.0, 3.0, 30.0, 2), 3_000),
        (few(0.25, 10.0, 1.0, 1), 3_000),
    ];
    for (seed, (law, count)) in laws.into_iter().enumerate() {
        let mut draws = vec![0; count];
        law.fill(&mut TestSeed(seed as u64 + 70).generator(), &mut draws).unwrap();
        let mut counts = [0.0; 61];
        for draw in &draws {
            if let Some(count) = usize::try_from(draw + 30).ok().and_then(|i| counts.get_mut(i)) {
                *count += 1.0;
            }
        }
        for (i, count) in counts.iter().enumerate() {
            let expected = draws.len() as f64 * law.pmf(i as i128 - 30);
            assert!((count - expected).abs() < 6.0 * expected.sqrt().max(1.0), "{law:?} {i}");
        }
    }
}

/// How often the exact comparison of heights is needed, in words: rarely.
#[test]
fn enclosures_are_rare() {
    struct Counting(crate::Generator, u64);
    impl Words for Counting {
        const BITS: u32 = 64;
        fn word(&mut self) -> Result<u64, EntropyError> {
            self.1 += 1;
            self.0.word()
        }
    }
    for law in [law(1.0, ABOVE_E, 1.0), law(1.0, ABOVE_E, 1e9), law(64.0, 64.0, 1e9)] {
        let mut words = Counting(TestSeed(4).generator(), 0);
        for _ in 0..20_000 {
            law.draw(&mut words).unwrap();
        }
        // Two words, and a few more for those that are tested or drawn anew.
        assert!(words.1 < 46_000, "{law:?}: {}", words.1);
    }
}

/// The mass adds up to 1 and to the tails, and the variance is the sum that it should be.
#[test]
fn pmf_sums_to_tail() {
    for (d, a, s) in [(1.0, ABOVE_E, 1.0), (3.0, 3.0, 0.2), (2.0, 10.0, 50.0), (64.0, 3.0, 500.0)] {
        let law = law(d, a, s);
        let reach = 400_000;
        let (mut sum, mut variance) = (law.tail(reach + 1), 0.0);
        for x in (-reach..=reach).rev() {
            sum += law.pmf(x);
            variance += (x as f64).powi(2) * law.pmf(x);
            if x % 40_000 == 1 || x.abs() < 5 || x == 1000 {
                let tail = law.tail(x);
                assert!(
                    (sum / tail - 1.0).abs() < 1e-11 || tail < 1e-200,
                    "{law:?} {x}: {sum} {tail}"
                );
            }
        }
        // Terms beyond add next to nothing.
        assert!((variance / law.variance() - 1.0).abs() < 1e-7, "{law:?}");
    }
}

#[test]
fn parameters_are_in_range() {
    let new = |d: f64, a: f64, s: f64| {
        let [d, a, s] = [d, a, s].map(|x| Dyadic::at_least(x).unwrap());
        ExponentialPolylogarithmic::new(d, a, s).map(|_| ())
    };
    let refused = Err(ParameterError::PolylogarithmicOutOfRange);
    assert_eq!(new(0.25, ABOVE_E, 2f64.powi(-20)), Ok(()));
    assert_eq!(new(64.0, 64.0, 2f64.powi(80)), Ok(()));
    // The double nearest to e is below it.
    assert_eq!(new(1.0, std::f64::consts::E, 1.0), refused);
    assert_eq!(new(0.249, 3.0, 1.0), refused);
    assert_eq!(new(64.1, 3.0, 1.0), refused);
    assert_eq!(new(1.0, 64.1, 1.0), refused);
    assert_eq!(new(1.0, 3.0, 2f64.powi(81)), refused);
    let exact = |n| Dyadic::new(n, -62).unwrap();
    let one = Dyadic::new(1, 0).unwrap();
    assert!(ExponentialPolylogarithmic::new(one, exact(E), one).is_ok());
    assert!(ExponentialPolylogarithmic::new(one, exact(E - 1), one).is_err());
}

/// Extreme parameters draw: nothing overflows (this profile checks overflow).
#[test]
fn extreme_parameters() {
    let mut generator = TestSeed(9).generator();
    let mut draws = [1; 5000];
    let narrow = law(64.0, 64.0, 2f64.powi(-20));
    narrow.fill(&mut generator, &mut draws).unwrap();
    assert!(draws.iter().all(|x| *x == 0));
    law(0.25, 64.0, 2f64.powi(80)).fill(&mut generator, &mut draws).unwrap();
    assert!(draws.iter().all(|x| x.unsigned_abs() < 1 << 120));
    assert!(draws.iter().any(|x| x.unsigned_abs() > 1 << 90));
}
