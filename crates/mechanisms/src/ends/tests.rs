//! Tests of [`super`], against enumerations of small tables.

use hushtable_noise::{Law, TestSeed};
use hushtable_privacy::Rho;

use super::*;

fn span(low: i64, high: i64, rows: u32) -> ValueSpan {
    ValueSpan { low, high, rows }
}

fn pure(epsilon: &str) -> Loss {
    Loss::pure(epsilon.parse().unwrap())
}

fn tied_sum(span: ValueSpan, share: Loss) -> TiedSum {
    TiedSum { span, share, values: None, beside: None }
}

/// A unit's rows in a group that count, those of them with a value, and their sum.
type Entry = (i128, i128, i128);

/// All that a unit can add to one group, with rows that have no value or without.
fn entries(span: ValueSpan, some_without: bool) -> Vec<Entry> {
    let mut all = vec![(0, 0, 0)];
    let mut last = all.clone();
    for _ in 0..span.rows {
        let more = |&(n, c, sum): &Entry| {
            let with = (span.low..=span.high).map(move |x| (n + 1, c + 1, sum + i128::from(x)));
            with.chain(some_without.then_some((n + 1, c, sum)))
        };
        last = last.iter().flat_map(more).collect();
        last.sort_unstable();
        last.dedup();
        all.extend(&last);
    }
    all
}

/// All that a unit can add to `cells` groups, of which it enters `groups` at most.
fn units(entries: &[Entry], groups: usize, cells: usize) -> Vec<Vec<Entry>> {
    let mut units = vec![vec![]];
    for _ in 0..cells {
        let grown = |unit: Vec<Entry>| {
            entries.iter().map(move |entry| [&unit[..], &[*entry]].concat()).collect::<Vec<_>>()
        };
        units = units.into_iter().flat_map(grown).collect();
        units.retain(|unit: &Vec<_>| unit.iter().filter(|(n, ..)| *n > 0).count() <= groups);
    }
    units
}

/// The numbers of one group that are measured.
fn of_entry(ends: &EndsMeasurement, (n, c, sum): Entry) -> Vec<i128> {
    ends.of_groups(&[n], &[vec![c]], &[sum]).concat()
}

fn spans() -> Vec<ValueSpan> {
    vec![
        span(0, 1, 1),
        span(0, 2, 2),
        span(-1, 1, 2),
        span(1, 3, 1),
        span(-3, -2, 2),
        span(-2, 1, 1),
    ]
}

/// The sensitivities are the largest distances of what any two neighbours add, seen from all ends.
#[test]
fn sensitivities_of_both_ends_are_the_worst_case_exactly() {
    for (span, values) in spans().into_iter().flat_map(|s| [(s, None), (s, Some(0))]) {
        let noise = Additive::laplace(
            contribution(span, 1, None).unwrap(),
            Neighbouring::AddRemove,
            "1".parse().unwrap(),
        );
        let ends = EndsMeasurement { span, noise: noise.unwrap(), values, weight: 1 };
        for (groups, cells) in [(1, 1), (1, 2), (2, 2)] {
            let ends_of_unit = |unit: &Vec<Entry>| -> Vec<i128> {
                unit.iter().flat_map(|&entry| of_entry(&ends, entry)).collect()
            };
            let entries = entries(span, values.is_some());
            let all = units(&entries, groups, cells);
            let all: Vec<Vec<i128>> = all.iter().map(ends_of_unit).collect();
            let length = all[0].len();
            for relation in [Neighbouring::AddRemove, Neighbouring::Replace] {
                let nothing = vec![vec![0; length]];
                let others = if relation == Neighbouring::AddRemove { &nothing } else { &all };
                let mut worst = (0, 0);
                for (one, other) in all.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
                    let apart = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b));
                    worst.0 = worst.0.max(apart.clone().sum::<u128>());
                    worst.1 = worst.1.max(apart.map(|d| d * d).sum::<u128>());
                }
                let c = contribution(span, u32::try_from(groups).unwrap(), None).unwrap();
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

/// The rows of a unit that count, in the order in which they are chosen: those with a value, and
/// all of them.
fn entry_of(rows: &[Option<i64>], most: u32) -> Entry {
    let values = rows.iter().flatten().take(most as usize);
    let (c, sum) = values.fold((0, 0), |(c, sum), x| (c + 1, sum + i128::from(*x)));
    (rows.len().min(most as usize) as i128, c, sum)
}

/// A row that goes moves all ends by no more than twice the width, and that far for some tables;
/// where a unit changes groups, or all of its rows in one, by as much as these add.
#[test]
fn rows_of_a_further_population_move_ends_as_far_as_is_said() {
    for (span, with_missing) in spans().into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let apart = |beside| contribution(span, 1, Some(beside)).unwrap().beside.unwrap();
        let one = "1".parse().unwrap();
        let noise = contribution(span, 1, None).unwrap();
        let noise = Additive::laplace(noise, Neighbouring::AddRemove, one).unwrap();
        let values = with_missing.then_some(0);
        let ends = EndsMeasurement { span, noise, values, weight: 1 };
        let distance = |one: Entry, other: Entry| {
            let (one, other) = (of_entry(&ends, one), of_entry(&ends, other));
            let apart = one.iter().zip(&other).map(|(a, b)| a.abs_diff(*b));
            (apart.clone().sum::<u128>(), apart.map(|d| d * d).sum::<u128>())
        };
        let further = |worst: (u128, u128), (l1, l2)| (worst.0.max(l1), worst.1.max(l2));
        // All lists of rows with one more than count, in all orders, and each row of them.
        let mut lists: Vec<Vec<Option<i64>>> = vec![vec![]];
        let mut worst = (0, 0);
        for _ in 0..=span.rows {
            let missing = with_missing.then_some(None);
            let rows: Vec<Option<i64>> = (span.low..=span.high).map(Some).chain(missing).collect();
            let grown = |list: &Vec<_>| rows.iter().map(|r| [&list[..], &[*r]].concat()).collect();
            lists = lists.iter().flat_map(|list| -> Vec<Vec<_>> { grown(list) }).collect();
            for (list, gone) in lists.iter().flat_map(|l| (0..l.len()).map(move |gone| (l, gone))) {
                let mut rest = list.clone();
                rest.remove(gone);
                let entries = (entry_of(list, span.rows), entry_of(&rest, span.rows));
                worst = further(worst, distance(entries.0, entries.1));
            }
        }
        let said = apart(TiedRows { most: 1, gone: 1, come: 1 });
        assert_eq!(worst, (said.apart, said.apart_squared), "{span:?} {with_missing}");
        // Any two sums of a unit in a group whose counts differ by one, and two groups.
        let entries = entries(span, with_missing);
        let (mut worst, mut of_one) = ((0, 0), (0, 0));
        for (one, other) in entries.iter().flat_map(|a| entries.iter().map(move |b| (*a, *b))) {
            if (one.0 - other.0).abs() <= 1 && (one.1 - other.1).abs() <= 1 {
                worst = further(worst, distance(one, other));
            }
            let (left, entered) = (distance(one, (0, 0, 0)), distance(other, (0, 0, 0)));
            let both = (left.0 + entered.0, left.1 + entered.1);
            worst = further(worst, both);
            if one.0 == 1 {
                of_one = further(of_one, both);
            }
        }
        let said = apart(TiedRows { most: 1, gone: span.rows, come: span.rows });
        assert_eq!(worst, (said.apart, said.apart_squared), "{span:?} {with_missing}");
        // One group is left that has one row.
        let said = apart(TiedRows { most: 1, gone: 1, come: span.rows });
        assert_eq!(of_one, (said.apart, said.apart_squared), "{span:?} {with_missing}");
        for most in [1u32, 2, 7] {
            let m = u128::from(most);
            let c = contribution(span, 2, Some(TiedRows { most, gone: 1, come: 1 })).unwrap();
            let width = span.width().unsigned_abs();
            let whole = width * u128::from(span.rows);
            let relation = Neighbouring::AddRemove;
            assert_eq!(c.l1(relation), (2 * whole).max(2 * m * width));
            let squares = (2 * whole * whole).max(2 * m * m * width * width);
            assert_eq!(c.l2_squared(relation), Some(squares));
        }
    }
}

/// The log-ratio of every output is within epsilon for all neighbours, and for some it is epsilon.
#[test]
fn no_output_tells_neighbours_apart_by_more_than_epsilon() {
    for (span, values) in spans().into_iter().flat_map(|s| [(s, None), (s, Some(0))]) {
        let sum = TiedSum { values, ..tied_sum(span, pure("0.7")) };
        let tied = TiedSums::new(&[sum], 1, Neighbouring::Replace).unwrap();
        let ends = tied.ends[0];
        let AdditiveLaw::DiscreteLaplace(law) = ends.noise.law() else { panic!("law") };
        let reach = 2 * i128::from(span.rows) * span.width();
        let mut largest: f64 = 0.0;
        let all = entries(span, values.is_some());
        for (one, other) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            // Ends are drawn apart, so that the largest ratio is the product of each one's.
            let (first, second) = (of_entry(&ends, *one), of_entry(&ends, *other));
            let of_end = |(a, b): (i128, i128)| {
                let ratio = |y: i128| (law.pmf(y - a) / law.pmf(y - b)).ln();
                (-reach..=reach).map(ratio).fold(f64::MIN, f64::max)
            };
            largest = largest.max(first.into_iter().zip(second).map(of_end).sum());
        }
        assert!((largest - 0.7).abs() < 1e-9, "{span:?}: {largest}");
    }
}

/// Where the noise is zero, counts and sums are the exact ones, near the ends of what fits, too.
#[test]
fn without_noise_numbers_are_exact() {
    let huge = 1 << 60;
    let wide = [span(-huge, huge, 1), span(huge - 1, huge, 1), span(0, 7, 3), span(-5, 1000, 1)];
    for columns in [[None; 4], [Some(0), Some(1), None, Some(0)]] {
        let sum = |(&span, values)| TiedSum { values, ..tied_sum(span, pure("1")) };
        let sums: Vec<TiedSum> = wide.iter().zip(columns).map(sum).collect();
        let mut tied = TiedSums::new(&sums, 1, Neighbouring::AddRemove).unwrap();
        for ends in &mut tied.ends {
            // So little noise is zero.
            let one =
                Contribution { groups: 1, single_group: false, low: 0, high: 1, beside: None };
            let loss = "1000".parse().unwrap();
            ends.noise = Additive::laplace(one, Neighbouring::AddRemove, loss).unwrap();
        }
        for n in [0i128, 1, 2, 99, 1 << 40, (1 << 62) + 1] {
            let values: Vec<i128> = vec![n, n / 2].into_iter().take(tied.columns()).collect();
            for quarters in [0, 1, 3, 4] {
                let sum = |(s, column): (&ValueSpan, Option<usize>)| {
                    let count = column.map_or(n, |column| values[column]);
                    vec![count * i128::from(s.low) + (count * s.width()) / 4 * quarters]
                };
                let exact = TiedNumbers {
                    counts: vec![n],
                    values: values.iter().map(|&c| vec![c]).collect(),
                    sums: wide.iter().zip(columns).map(sum).collect(),
                };
                assert!(tied.holds(&exact), "{n}");
                let mut released = exact.clone();
                tied.release(&mut TestSeed(1).generator(), &mut released).unwrap();
                assert_eq!(released, exact);
            }
        }
    }
    let sums: Vec<TiedSum> = wide.iter().map(|&s| tied_sum(s, pure("1"))).collect();
    let tied = TiedSums::new(&sums, 1, Neighbouring::AddRemove).unwrap();
    let holds = |n: i128, sums: &[i128]| {
        let sums = sums.iter().map(|&sum| vec![sum]).collect();
        tied.holds(&TiedNumbers { counts: vec![n], values: vec![], sums })
    };
    assert!(holds(1, &[0, huge as i128, 7, -5]));
    assert!(holds(1, &[huge as i128, huge as i128 - 1, 0, 1000]));
    assert!(!holds(1, &[0, huge as i128, 8, -5]) && !holds(1, &[0, huge as i128, 7, -6]));
    assert!(!holds(-1, &[0, 0, 0, 0]) && !holds(1, &[0, huge as i128, 7]));
    // No more values than rows, and those that there are within their range.
    let sum = TiedSum { values: Some(0), ..tied_sum(span(0, 7, 3), pure("1")) };
    let tied = TiedSums::new(&[sum], 1, Neighbouring::AddRemove).unwrap();
    for (n, c, sum, can_be) in [(3, 2, 14, true), (3, 2, 15, false), (2, 3, 4, false)] {
        let numbers = TiedNumbers { counts: vec![n], values: vec![vec![c]], sums: vec![vec![sum]] };
        assert_eq!(tied.holds(&numbers), can_be, "{n} {c} {sum}");
    }
}

/// Half of the difference and the middle times the count, to the nearest point.
#[test]
fn sums_are_rounded_to_the_nearest_point() {
    let noise = Additive::laplace(
        contribution(span(0, 1, 1), 1, None).unwrap(),
        Neighbouring::AddRemove,
        "1".parse().unwrap(),
    )
    .unwrap();
    for (low, high) in [(0, 3), (-7, 2), (5, 6), (-4, -1), (-2, 2)] {
        let ends = EndsMeasurement { span: span(low, high, 1), noise, values: None, weight: 1 };
        for (above, below) in (-30..30).flat_map(|a| (-30..30).map(move |b| (a, b))) {
            let count = (above + below) as f64 / (high - low) as f64;
            let want = 0.5 * (above - below) as f64 + 0.5 * (low + high) as f64 * count;
            let fixed = ends.fixed_count(above + below);
            assert!((fixed as f64 / 2f64.powi(32) - count).abs() < 1e-9);
            let got = ends.sum(above - below, fixed) as f64;
            assert!((got - want).abs() <= 0.5 + 1e-8, "{low} {high} {above} {below}: {got} {want}");
        }
    }
}

/// Releases of one group many times: means, deviations and widths are as stated.
fn check(tied: &TiedSums, count: i128, values: &[i128], sums: &[i128]) {
    const RUNS: usize = 40_000;
    let many = |numbers: &[i128]| numbers.iter().map(|&number| vec![number; RUNS]).collect();
    let mut numbers =
        TiedNumbers { counts: vec![count; RUNS], values: many(values), sums: many(sums) };
    tied.release(&mut TestSeed(11).generator(), &mut numbers).unwrap();
    let counts = std::iter::once((TiedRole::Count, count, &numbers.counts));
    let values = numbers.values.iter().zip(values).enumerate();
    let values = values.map(|(index, (drawn, &c))| (TiedRole::Values(index), c, drawn));
    let sums = numbers.sums.iter().zip(sums).enumerate();
    let sums = sums.map(|(index, (drawn, &sum))| (TiedRole::Sum(index), sum, drawn));
    for (role, exact, drawn) in counts.chain(values).chain(sums) {
        let errors: Vec<f64> = drawn.iter().map(|&y| (y - exact) as f64).collect();
        let mean = errors.iter().sum::<f64>() / RUNS as f64;
        let deviation = (errors.iter().map(|e| e * e).sum::<f64>() / RUNS as f64).sqrt();
        // Rounding adds a twelfth to the variance.
        let stated = tied.deviation(role).hypot((1.0f64 / 12.0).sqrt());
        assert!(mean.abs() < 6.0 * stated / (RUNS as f64).sqrt() + 0.05, "{role:?} {mean}");
        assert!((deviation / stated - 1.0).abs() < 0.05, "{role:?} {deviation} {stated}");
        for level in [0.5, 0.95, 0.999] {
            let width = tied.half_width(role, level, 1);
            let within = drawn.iter().filter(|y| (*y - exact).unsigned_abs() <= width).count();
            let share = within as f64 / RUNS as f64;
            let off = 6.0 * (level * (1.0 - level) / RUNS as f64).sqrt();
            assert!(share > level - off, "{role:?} {level}: {share}");
            // Wider by no more than half a step of each draw and of the result may hold.
            let steps = 1.0 + tied.draws(role).iter().map(|(times, _)| times.abs()).sum::<f64>();
            assert!(share < level + off + 0.01 + steps / stated, "{role:?} {level}: {share}");
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
                let sum = |index: usize, values| TiedSum {
                    values,
                    ..tied_sum(spans[index], shares[index])
                };
                let exact = [30 * i128::from(spans[0].high), 40 * i128::from(spans[1].low)];
                // Rows may have no value in none, one or both of the sums, of which both may be of
                // the same values.
                for (columns, values) in [
                    ([None, None], &[][..]),
                    ([Some(0), None], &[40]),
                    ([Some(0), Some(1)], &[30, 40]),
                    ([Some(0), Some(0)], &[40]),
                ] {
                    let all = [sum(0, columns[0]), sum(1, columns[1])];
                    let one = TiedSums::new(&all[..1], 3, relation).unwrap();
                    check(&one, 50, &values[..one.columns()], &exact[..1]);
                    let two = TiedSums::new(&all, 3, relation).unwrap();
                    check(&two, 50, values, &exact);
                }
            }
        }
    }
}

/// Against separate measurements at half of the budget each: theory section 8's figures.
#[test]
fn one_measurement_is_more_precise_than_two() {
    let relation = Neighbouring::AddRemove;
    let separate = |high: i64, half: Loss| {
        let c = Contribution { groups: 4, single_group: false, low: 0, high, beside: None };
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
        let tied = TiedSums::new(&[tied_sum(range, whole)], 4, relation).unwrap();
        let gain = separate(100, half) / tied.deviation(TiedRole::Count);
        assert!((gain - count).abs() < 0.001, "{gain}");
        let gain = separate(100_000_000, half) / tied.deviation(TiedRole::Sum(0));
        assert!((gain - sum).abs() < 0.001, "{gain}");
    }
}

/// The figures of rows without a value, of units with m rows: against the count of rows apart from
/// the others at a third of the budget.
#[test]
fn rows_without_a_value_cost_a_third_end() {
    let share = pure("0.01");
    let sum = TiedSum { values: Some(0), ..tied_sum(span(0, 100, 3), share) };
    let tied = TiedSums::new(&[sum], 1, Neighbouring::AddRemove).unwrap();
    // One end has a deviation of sqrt(2) m / epsilon, in counts.
    let end = 2f64.sqrt() * 3.0 / 0.01;
    for (role, want) in [
        (TiedRole::Count, 3f64.sqrt() * end),
        (TiedRole::Values(0), 2f64.sqrt() * end),
        (TiedRole::Sum(0), 100.0 * end),
    ] {
        assert!((tied.deviation(role) / want - 1.0).abs() < 1e-4, "{role:?}");
    }
}

/// No other weights give a count or a sum with less noise: the estimates are those of least
/// squares, found here from the normal equations.
#[test]
fn estimates_are_those_of_least_squares() {
    let shares = [pure("0.02"), pure("0.01"), pure("0.03"), pure("0.015")];
    let spans = [span(0, 100, 1), span(-40, 60, 1), span(5, 9, 1), span(0, 1, 1)];
    for columns in [[None; 4], [Some(0), Some(0), Some(1), None], [Some(0), None, None, None]] {
        let sum = |index: usize| TiedSum {
            values: columns[index],
            ..tied_sum(spans[index], shares[index])
        };
        let sums: Vec<TiedSum> = (0..4).map(sum).collect();
        let tied = TiedSums::new(&sums, 1, Neighbouring::AddRemove).unwrap();
        // Unknown are the count, the counts of values and the sums.
        let unknown = 1 + tied.columns() + 4;
        let mut information = vec![vec![0.0; unknown]; unknown];
        for (index, sum) in sums.iter().enumerate() {
            let (low, high) = (sum.span.low as f64, sum.span.high as f64);
            let counted = sum.values.map_or(0, |column| 1 + column);
            let of_sum = 1 + tied.columns() + index;
            let mut rows = vec![vec![0.0; unknown]; 2];
            rows[0][of_sum] = 1.0;
            rows[0][counted] = -low;
            rows[1][of_sum] = -1.0;
            rows[1][counted] = high;
            if sum.values.is_some() {
                let mut third = vec![0.0; unknown];
                third[0] = high - low;
                third[counted] = low - high;
                rows.push(third);
            }
            for row in rows {
                for (i, x) in row.iter().enumerate() {
                    for (j, y) in row.iter().enumerate() {
                        information[i][j] += x * y / tied.noise(index).unwrap().variance();
                    }
                }
            }
        }
        let least = inverse(information);
        let roles = std::iter::once(TiedRole::Count)
            .chain((0..tied.columns()).map(TiedRole::Values))
            .chain((0..4).map(TiedRole::Sum));
        for (index, role) in roles.enumerate() {
            let variance = tied.deviation(role).powi(2);
            assert!((variance / least[index][index] - 1.0).abs() < 1e-4, "{columns:?} {role:?}");
        }
    }
}

/// The inverse of a matrix, by elimination.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    for (index, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|column| f64::from(u8::from(column == index))));
    }
    for index in 0..size {
        let larger =
            |&a: &usize, &b: &usize| matrix[a][index].abs().total_cmp(&matrix[b][index].abs());
        let pivot = (index..size).max_by(larger).unwrap();
        matrix.swap(index, pivot);
        let row: Vec<f64> = matrix[index].iter().map(|x| x / matrix[index][index]).collect();
        for (other, rest) in matrix.iter_mut().enumerate() {
            let times = if other == index { 0.0 } else { rest[index] };
            rest.iter_mut().zip(&row).for_each(|(x, y)| *x -= times * y);
        }
        matrix[index] = row;
    }
    matrix.into_iter().map(|row| row[size..].to_vec()).collect()
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
    assert_eq!(
        TiedSums::new(&[tied_sum(wide, pure("1"))], 1, relation),
        Err(MechanismError::TooLarge)
    );
    let flat = span(3, 3, 1);
    assert_eq!(
        TiedSums::new(&[tied_sum(flat, pure("1"))], 1, relation),
        Err(MechanismError::NoSensitivity)
    );
    assert!(TiedSums::new(&[tied_sum(span(0, 1, 1), pure("0"))], 1, relation).is_err());
}
