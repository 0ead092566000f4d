use super::*;

const CSV: &str = "unit,word\n0,a\n1,a\n1,b\n0,a\n2,b\n12,c\n";

fn budget() -> KeyBudget {
    KeyBudget { epsilon: "1".parse().unwrap(), delta: "1e-5".parse().unwrap() }
}

/// Units in one to three of 4,000 groups, the smaller the more often.
fn made_up(units: usize) -> Pairs {
    let mut draws = Draws::new(1);
    let mut pairs = Pairs::default();
    for _ in 0..units {
        let many = (draws.uniform() * 3.0).ceil() as usize;
        let group = |draws: &mut Draws| (4000f64.powf(draws.uniform()) - 1.0) as u32;
        let mut groups: Vec<u32> = (0..many).map(|_| group(&mut draws)).collect();
        groups.sort_unstable();
        groups.dedup();
        unit_group_pairs::shuffle(&mut groups, &mut draws);
        pairs.push(&groups);
    }
    pairs
}

#[test]
fn pairs_are_read_once_and_limited() {
    let all = Pairs::read(CSV.as_bytes(), 1, 9, 1).unwrap();
    assert_eq!((all.sizes(), all.len(), all.unit_count()), (&[2, 2, 1][..], 5, 4));
    assert_eq!(all.units().map(<[u32]>::len).collect::<Vec<_>>(), [1, 2, 1, 1]);
    assert_eq!(all.unit(2), [1]);
    // Ten numbers are one unit, which is in one group at most.
    let together = Pairs::read(CSV.as_bytes(), 10, 1, 1).unwrap();
    assert_eq!((together.len(), together.unit_count()), (2, 2));
    assert!(matches!(Pairs::read(&b"unit,word\nx,a\n"[..], 1, 1, 1), Err(PairError::Row(1))));
}

/// Where nothing has more than enough, adaptive degrees are divided weights; and the chances of
/// these are those of the engine's own strategy in expectation.
#[test]
fn without_an_excess_adaptive_degrees_are_divided_weights() {
    let pairs = made_up(40);
    let rounds = Rounds::new(budget(), 20, Strategy::WeightedGaussian, &[1.0]).unwrap();
    let mut divided = vec![0.0; pairs.sizes().len()];
    for unit in pairs.units() {
        unit.iter().for_each(|&g| divided[g as usize] += (unit.len() as f64).sqrt().recip());
    }
    let expected = chances(&divided, rounds.last());
    let adaptive = adaptive_degree::one_round(&pairs, &rounds);
    assert!(expected.iter().zip(&adaptive).all(|(left, right)| (left - right).abs() < 1e-9));
    let ours = budget().selection(Strategy::WeightedGaussian, 20).unwrap().rounds();
    let (sigma, threshold) = rounds.last();
    assert!((sigma / ours[0].0 - 1.0).abs() < 1e-9 && (threshold / ours[0].1 - 1.0).abs() < 0.01);
}

/// Of a table whose units are in few groups, votes show the most and hide the fewest pairs; nothing
/// shows more than the bound.
#[test]
fn votes_show_the_most_where_units_are_in_few_groups() {
    let pairs = made_up(20_000);
    let all = compare(&pairs, budget(), 100, 1).unwrap();
    let of = |name: &str| all.iter().find(|(other, _)| other == name).unwrap().1;
    let (votes, bound) = (of("SINGLE_VOTE"), of("bound for all"));
    for (name, shown) in &all {
        assert!(shown.groups <= bound.groups, "{name}: {shown:?}");
        let is_best = shown.groups > votes.groups || shown.missing < votes.missing;
        assert!(!is_best || name == "bound for all", "{name}: {shown:?} {votes:?}");
    }
}
