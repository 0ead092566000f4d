use super::*;

/// The numbers of a column.
fn column(figure: &Figure, name: &str) -> Vec<f64> {
    let index = figure.columns.iter().position(|c| c == name).unwrap();
    figure.rows.iter().map(|row| row[index].parse().unwrap()).collect()
}

/// PS 3.4: the optimal strategy is never below the other, and by far above it where epsilon is
/// small.
#[test]
fn optimal_selection_is_above_laplace_thresholds() {
    for (epsilon, delta, most, gain) in [("1", DELTA, 26, 1.3), ("0.1", "1e-10", 500, 1.9)] {
        let figure = figure_1(epsilon, delta, most).unwrap();
        let (optimal, laplace) = (column(&figure, "optimal"), column(&figure, "laplace"));
        let ratios = optimal.iter().zip(&laplace).skip(1).map(|(o, l)| o / l);
        assert!(ratios.clone().all(|ratio| ratio >= 1.0 - 1e-6));
        let most = ratios.fold(0.0, f64::max);
        assert!(most > gain, "{epsilon}: {most}");
        assert_eq!((optimal[0], laplace[0]), (0.0, 0.0));
        assert!(optimal.last().unwrap() > &0.999);
    }
}

/// PS 3.4: gains are large where epsilon is small, and none to speak of above 1.
#[test]
fn gains_fall_with_epsilon() {
    let figure = figure_2(&[0.01, 0.1, 1.0, 3.0]).unwrap();
    assert_eq!(column(&figure, "optimal_50_percent"), [623.0, 86.0, 12.0, 5.0]);
    let laplace = column(&figure, "laplace_50_percent");
    assert_eq!(laplace, [1083.0, 110.0, 12.0, 5.0]);
    for name in ["optimal", "laplace"] {
        let of = |percent: &str| column(&figure, &format!("{name}_{percent}_percent"));
        let (low, middle, high) = (of("5"), of("50"), of("95"));
        assert!(low.iter().zip(&middle).zip(&high).all(|((l, m), h)| l <= m && m <= h));
    }
}

/// PS 3.4: at one epsilon the midpoints are as far apart at every delta.
#[test]
fn the_interval_between_midpoints_is_the_same_at_every_delta() {
    let figure = figure_3("0.1", &[1e-12, 1e-9, 1e-6, 1e-4]).unwrap();
    let (optimal, laplace) =
        (column(&figure, "optimal_50_percent"), column(&figure, "laplace_50_percent"));
    let apart: Vec<f64> = optimal.iter().zip(&laplace).map(|(o, l)| l - o).collect();
    let (least, most) = apart.iter().fold((f64::INFINITY, 0f64), |(l, m), &a| (l.min(a), m.max(a)));
    assert!(most - least <= 1.0 && least > 10.0, "{apart:?}");
}

/// PS 5: dividing the budget is better for up to three groups, Gaussian noise for more; and the
/// engine's own strategies are never worse than the paper's of the same kind.
#[test]
fn strategies_cross_at_three_groups() {
    let groups = [1, 2, 3, 4, 5, 10];
    let figure = figure_4(&groups).unwrap();
    let of = |name: &str| column(&figure, name);
    let (optimal, gaussian) = (of("paper_optimal"), of("paper_gaussian"));
    for ((&groups, optimal), gaussian) in groups.iter().zip(&optimal).zip(&gaussian) {
        assert_eq!(groups <= 3, optimal <= gaussian, "{groups}: {optimal} {gaussian}");
    }
    for (ours, paper) in [
        ("optimal", "paper_optimal"),
        ("laplace_threshold", "paper_laplace"),
        ("gaussian_threshold", "paper_gaussian"),
        ("weighted_gaussian", "paper_gaussian"),
    ] {
        let pairs = of(ours).into_iter().zip(of(paper));
        assert!(
            pairs.clone().all(|(ours, paper)| ours <= paper),
            "{ours}: {:?}",
            pairs.collect::<Vec<_>>()
        );
    }
}

/// Policy Gaussian needs as many units as SIPS or votes do, or hardly fewer.
#[test]
fn policy_gaussian_finds_hardly_more() {
    let figure = figure_4(&[1, 4, 20, 100]).unwrap();
    let of = |name: &str| column(&figure, name);
    assert_eq!(of("policy_gaussian"), [17.0, 47.0, 119.0, 287.0]);
    assert_eq!(of("policy_gaussian_others_shown"), [17.0, 18.0, 19.0, 20.0]);
    for others in ["", "_others_shown"] {
        let named = |name: &str| of(&format!("{name}{others}"));
        let (sips, votes) = (named("sips"), named("single_vote"));
        let best = sips.iter().zip(&votes).map(|(sips, votes)| sips.min(*votes));
        for (policy, best) in named("policy_gaussian").iter().zip(best) {
            assert!(*policy >= 0.96 * best, "{policy} {best}");
        }
    }
}
