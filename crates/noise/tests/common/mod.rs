//! The chi-square test of goodness of fit.

/// ln Gamma(a) is libm's; the regularised upper incomplete gamma function Q(a, x) by its series
/// below a + 1 and by Lentz's continued fraction above (Numerical Recipes, 6.2).
pub(crate) fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return 1.0 - front * sum;
    }
    let tiny = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut h = d;
    for i in 1..10_000 {
        let i = f64::from(i);
        let factor = -i * (i - a);
        b += 2.0;
        let below = factor * d + b;
        d = 1.0 / if below.abs() < tiny { tiny } else { below };
        let above = b + factor / c;
        c = if above.abs() < tiny { tiny } else { above };
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * h
}

/// The p-value of `counts` in cells of the given probabilities, which add up to 1. Cells in which
/// fewer than ten are expected are put together with their neighbours.
pub(crate) fn p_value(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    let total = counts.iter().sum::<u64>() as f64;
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "the cells hold {sum}");
    let mut cells: Vec<(f64, f64)> = Vec::new();
    for (count, probability) in counts.iter().zip(probabilities) {
        let (seen, expected) = (*count as f64, probability * total);
        match cells.last_mut() {
            Some(last) if last.1 < 10.0 => *last = (last.0 + seen, last.1 + expected),
            _ => cells.push((seen, expected)),
        }
    }
    // The last cell may be too thin as well.
    if let [.., before, last] = cells.as_mut_slice()
        && last.1 < 10.0
    {
        *before = (before.0 + last.0, before.1 + last.1);
        cells.pop();
    }
    let statistic: f64 =
        cells.iter().map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
    let freedom = cells.len() as f64 - 1.0;
    assert!(freedom >= 1.0, "a single cell tests nothing");
    upper_gamma(freedom / 2.0, statistic / 2.0)
}
