//! Finite models against brute force, and against what the paper proves of the definitions.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

mod finite;

use finite::{OUTPUTS, Small, epsilon, fraction, laws, referendum, small};
use hushtable_knowledge::model::{
    Definition, Definitions, FiniteLaw, Fraction, Mechanism, Model, ModelError, Parameters, Worlds,
};
use proptest::prelude::*;

fn delta(definitions: &Definitions, definition: Definition, at: f64) -> f64 {
    definitions.delta(definition, epsilon(at)).unwrap().amount
}

/// The least epsilon; infinity if there is none.
fn least(definitions: &Definitions, definition: Definition, delta: &Fraction) -> f64 {
    let amount = definitions.epsilon(definition, delta).unwrap().amount;
    amount.map_or(f64::INFINITY, |epsilon| epsilon.to_f64())
}

fn near(exact: f64, brute: f64) -> Result<(), TestCaseError> {
    prop_assert!(exact >= brute - 1e-12 && exact <= brute + 1e-9, "{exact:e} is not {brute:e}");
    Ok(())
}

/// In the last of 12 decimal places, or where neither is finite.
fn same(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= 2e-12 * one.max(1.0)
}

const PURE: &str = "0";

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    #[test]
    fn definitions_are_as_by_brute_force(model in small(), at in 0.0..3.0f64) {
        let exact = model.definitions();
        let at = epsilon(at).to_f64();
        near(delta(&exact, Definition::Noiseless, at), model.noiseless(at))?;
        near(delta(&exact, Definition::Active, at), model.noiseless(at))?;
        near(delta(&exact, Definition::Causal, at), model.causal(at))?;
        near(delta(&exact, Definition::Passive, at), model.passive(at))?;
        near(delta(&exact, Definition::InferenceBased, at), model.inference(at))?;
    }

    /// L Theorem 2.2: no event tells more than some single output. Against an attacker who knows
    /// all others, as differential privacy has it.
    #[test]
    fn no_event_tells_more_than_the_worst_output(model in small()) {
        let model = model.fully_known();
        let exact = least(&model.definitions(), Definition::Noiseless, &fraction(PURE));
        let worst = model.most_telling_event();
        prop_assert!(same(exact, worst) || (exact - worst).abs() < 1e-9, "{exact} {worst}");
    }

    /// PK Proposition 5: a function of what is published tells no more of it, and neither does a
    /// choice among two mechanisms by chance.
    #[test]
    fn functions_and_mixtures_tell_no_more(
        model in small(),
        image in prop::array::uniform4(0..OUTPUTS),
        other in laws(),
        share in 0..=8u32,
        at in 0.0..3.0f64,
    ) {
        let (all, processed) = (model.definitions(), model.after(image).definitions());
        let second = Small { laws: other, ..model.clone() };
        let mixed = model.mixed_with(&second, share).definitions();
        let second = second.definitions();
        for definition in [Definition::Active, Definition::Passive] {
            let (whole, also) = (delta(&all, definition, at), delta(&second, definition, at));
            prop_assert!(delta(&processed, definition, at) <= whole + 1e-15, "{definition:?}");
            let share = f64::from(share) / 8.0;
            let most = share * whole + (1.0 - share) * also;
            prop_assert!(most <= whole.max(also) + 1e-15);
            prop_assert!(delta(&mixed, definition, at) <= most + 1e-14, "{definition:?}");
        }
    }

    /// PK Definition 14 and Theorem 2: where outputs can be renamed from any knowledge to any
    /// other, active attackers learn no more than passive ones.
    #[test]
    fn reducible_mechanisms_tell_both_attackers_the_same(model in small(), at in 0.0..3.0f64) {
        if model.reducible() {
            let exact = model.definitions();
            let (active, passive) =
                (delta(&exact, Definition::Active, at), delta(&exact, Definition::Passive, at));
            prop_assert!((active - passive).abs() <= 1e-14, "{active} {passive}");
        }
    }

    /// PK Proposition 6, by Definition 14: counts are reducible whatever is known of fixed records,
    /// as those can be taken off; above a threshold they are not (Example 7).
    #[test]
    fn counts_are_reducible_and_thresholds_are_not(
        weights in prop::collection::vec(prop::array::uniform2(1..9u32), 3),
        known in 1..=2usize,
    ) {
        let count = referendum(weights.clone(), known, [0, 1, 2, 3]);
        prop_assert!(count.reducible());
        let above_one = referendum(weights, known, [0, 0, 2, 3]);
        prop_assert!(!above_one.reducible());
    }

    #[test]
    fn epsilons_are_the_least(
        model in small(),
        target in prop::sample::select(vec!["0", "0.01", "1/7", "0.4"]),
    ) {
        let exact = model.definitions();
        let (target, allowed) = (fraction(target), target);
        let allowed: f64 = match allowed { "1/7" => 1.0 / 7.0, other => other.parse().unwrap() };
        for definition in Definition::ALL {
            let amount = least(&exact, definition, &target);
            if amount.is_finite() {
                let reached = delta(&exact, definition, amount);
                // The search may return another simulator there.
                let slack = if definition == Definition::Distributional { 1e-6 } else { 0.0 };
                let slack = if allowed > 0.0 { slack } else { 0.0 };
                prop_assert!(
                    reached <= allowed * (1.0 + 1e-15) + slack,
                    "{definition:?} {reached:e}"
                );
            }
            // The linear programmes are left out where it is about the last digits. Epsilons are
            // rounded up to the next of 12 decimals.
            if definition != Definition::Distributional && amount > 1e-6 {
                let below = amount.min(100.0) * (1.0 - 1e-9) - 2e-12;
                prop_assert!(delta(&exact, definition, below) > allowed, "{definition:?} {amount}");
            }
        }
    }

    /// And the best simulator of a large epsilon is no worse than that of a smaller.
    #[test]
    fn deltas_fall(
        model in small(),
        at in 0.0..3.0f64,
        more in prop::sample::select(vec![0.5, 5.0, 20.0, 1e5]),
    ) {
        let exact = model.definitions();
        for definition in Definition::ALL {
            let slack = if definition == Definition::Distributional { 1e-6 } else { 0.0 };
            let (near, far) = (delta(&exact, definition, at), delta(&exact, definition, at + more));
            prop_assert!(far <= near + slack, "{definition:?} {near} {far}");
        }
    }

    /// PK Theorem 1.
    #[test]
    fn active_attackers_learn_more(model in small(), at in 0.0..3.0f64) {
        let exact = model.definitions();
        let (active, passive) =
            (delta(&exact, Definition::Active, at), delta(&exact, Definition::Passive, at));
        prop_assert!(passive <= active, "{passive} {active}");
        let (active, passive) = (
            least(&exact, Definition::Active, &fraction(PURE)),
            least(&exact, Definition::Passive, &fraction(PURE)),
        );
        prop_assert!(same(active, passive), "{active} {passive}");
    }

    /// PK Proposition 2, as it holds: of the others being independent of the target's record.
    #[test]
    fn without_dependence_noiseless_is_causal(model in small(), at in 0.0..3.0f64) {
        let exact = model.definitions();
        prop_assume!(exact.normalisations()[0].others_independent);
        let (noiseless, causal) =
            (delta(&exact, Definition::Noiseless, at), delta(&exact, Definition::Causal, at));
        prop_assert!((noiseless - causal).abs() <= 1e-14, "{noiseless} {causal}");
        let (noiseless, causal) = (
            least(&exact, Definition::Noiseless, &fraction(PURE)),
            least(&exact, Definition::Causal, &fraction(PURE)),
        );
        prop_assert!(same(noiseless, causal), "{noiseless} {causal}");
    }

    /// After PK Definition 12: where all records but the target are known, active partial knowledge
    /// is differential privacy, and so is causal privacy.
    #[test]
    fn full_knowledge_is_differential_privacy(model in small(), at in 0.0..3.0f64) {
        let model = model.fully_known();
        let exact = model.definitions();
        let at = epsilon(at).to_f64();
        let differential = model.differential(at);
        near(delta(&exact, Definition::Active, at), differential)?;
        near(delta(&exact, Definition::Causal, at), differential)?;
        prop_assert!(delta(&exact, Definition::Passive, at) <= differential + 1e-9);
    }

    /// PK Proposition 1, as it holds.
    #[test]
    fn inference_is_within_a_factor_of_causal(model in small()) {
        let exact = model.definitions();
        let causal = least(&exact, Definition::Causal, &fraction(PURE));
        let inference = least(&exact, Definition::InferenceBased, &fraction(PURE));
        let compatible = exact.normalisations()[0].compatible;
        if compatible {
            prop_assert!(inference <= 2.0 * causal + 1e-11, "{inference} {causal}");
        }
        if compatible && model.same_outputs() {
            prop_assert!(causal <= 2.0 * inference + 1e-11, "{inference} {causal}");
        }
    }

    /// PK section 2.2: a simulator may substitute any value for the target.
    #[test]
    fn causal_privacy_is_distributional(model in small(), at in 0.0..3.0f64) {
        let exact = model.definitions();
        prop_assume!(exact.normalisations()[0].compatible);
        let (simulated, causal) = (
            delta(&exact, Definition::Distributional, at),
            delta(&exact, Definition::Causal, at),
        );
        prop_assert!(simulated <= causal, "{simulated} {causal}");
    }

    /// If an attacker knows nothing, what is published given any one value is a simulator, which is
    /// found by the linear programme only.
    #[test]
    fn noiseless_privacy_without_knowledge_is_distributional(model in small(), at in 0.0..2.0f64) {
        let model = Small { knowledge: vec![0; model.knowledge.len()], ..model };
        let exact = model.definitions();
        let pure = fraction(PURE);
        let (simulated, noiseless) = (
            least(&exact, Definition::Distributional, &pure),
            least(&exact, Definition::Noiseless, &pure),
        );
        prop_assert!(simulated <= noiseless + 1e-6, "{simulated} {noiseless}");
        let (simulated, noiseless) = (
            delta(&exact, Definition::Distributional, at),
            delta(&exact, Definition::Noiseless, at),
        );
        prop_assert!(simulated <= noiseless + 1e-6, "{simulated} {noiseless}");
        // Two laws that are each near a third are near each other.
        let distributional = least(&exact, Definition::Distributional, &pure);
        if exact.normalisations()[0].others_independent {
            let noiseless = least(&exact, Definition::Noiseless, &pure);
            prop_assert!(noiseless <= 2.0 * distributional + 1e-11, "{noiseless} {distributional}");
        }
    }

    /// PK Definition 8.
    #[test]
    fn acceptable_parameters_are_acceptable(model in small()) {
        let exact = model.definitions();
        let normalisation = &exact.normalisations()[0];
        if let Parameters::Acceptable { phi_0, known } = &normalisation.parameters {
            prop_assert!(normalisation.acceptable);
            prop_assert!(phi_0.iter().all(|p| !known.contains(p)));
        }
        if normalisation.acceptable {
            prop_assert!(normalisation.knowledge_independent);
        }
        if normalisation.knowledge_independent {
            prop_assert!(normalisation.compatible);
        }
    }

    /// PK Proposition 3: whoever knows more parameters learns more. The target is the first
    /// parameter.
    #[test]
    fn more_knowledge_is_more_power(
        model in small().prop_filter("a parameter beside the target", |m| m.weights.len() > 1),
        at in 0.0..3.0f64,
        half in any::<bool>(),
    ) {
        let worlds = model.worlds();
        let choice = |world: usize, parameter: usize| worlds.choice(world, parameter) as u32;
        let mut records = vec![(0..worlds.count()).map(|w| choice(w, 0)).collect::<Vec<u32>>()];
        records.extend(model.records.iter().skip(1).cloned());
        let knows = |most: usize| -> Vec<u32> {
            let all = |world| (1..most).fold(0, |all, p| all * 3 + choice(world, p));
            (0..worlds.count()).map(all).collect()
        };
        let with = |knowledge| Small { records: records.clone(), knowledge, ..model.clone() };
        let more = with(knows(worlds.parameters())).definitions();
        let less = with(knows(if half { worlds.parameters() - 1 } else { 1 })).definitions();
        prop_assert!(more.normalisations()[0].knowledge_independent);
        prop_assert!(less.normalisations()[0].knowledge_independent);
        for definition in [Definition::Active, Definition::Passive] {
            let (much, little) = (delta(&more, definition, at), delta(&less, definition, at));
            prop_assert!(little <= much + 1e-14, "{definition:?} {little} {much}");
        }
    }

    /// One class, two outputs: the best simulator is a probability, searched for on a grid.
    #[test]
    fn the_best_simulator_is_found(
        odds in prop::collection::vec(1..20u32, 2..=3),
        at in 0.0..1.0f64,
    ) {
        let values = odds.len();
        let model = Small {
            weights: vec![vec![1; values]],
            records: vec![(0..values as u32).collect()],
            knowledge: vec![0; values],
            laws: odds.iter().map(|w| vec![*w, 20 - w, 0, 0]).collect(),
            target: 0,
        };
        let exact = model.definitions();
        let ps: Vec<f64> = odds.iter().map(|w| f64::from(*w) / 20.0).collect();
        let loss = |p: f64, q: f64| (p / q).ln().abs().max(((1.0 - p) / (1.0 - q)).ln().abs());
        let x = epsilon(at).to_f64().exp();
        let miss = |p: f64, q: f64| {
            let (one, other) = (p - x * q, q - x * p);
            let (two, three) = (1.0 - p - x * (1.0 - q), 1.0 - q - x * (1.0 - p));
            one.max(0.0).max(other.max(0.0)).max(two.max(0.0)).max(three.max(0.0))
        };
        let grid = |score: &dyn Fn(f64, f64) -> f64| {
            (1..20_000)
                .map(|q| f64::from(q) / 20_000.0)
                .map(|q| ps.iter().map(|p| score(*p, q)).fold(0.0, f64::max))
                .fold(f64::INFINITY, f64::min)
        };
        let pure = least(&exact, Definition::Distributional, &fraction(PURE));
        let best = grid(&loss);
        prop_assert!(pure <= best + 1e-7 && pure >= best - 2e-3, "{pure} {best}");
        let computed = delta(&exact, Definition::Distributional, at);
        let best = grid(&miss);
        prop_assert!(computed <= best + 1e-7 && computed >= best - 2e-4, "{computed} {best}");
    }
}

/// The attacker knows the first record of a pair, which is one parameter and does not tell what it
/// is. If the second record agrees with the first equally often whatever that is, agreement is a
/// parameter that would do; if not, none would.
#[test]
fn other_parameters_may_be_acceptable() {
    for (weights, acceptable) in [(vec![9, 1, 1, 9], true), (vec![9, 1, 2, 8], false)] {
        let model = Small {
            weights: vec![vec![1, 1], weights],
            records: vec![
                vec![0, 0, 0, 0, 1, 1, 1, 1],
                vec![0, 0, 1, 1, 0, 0, 1, 1],
                vec![0, 1, 0, 1, 0, 1, 0, 1],
            ],
            knowledge: vec![0, 0, 1, 1, 0, 0, 1, 1],
            laws: vec![vec![1, 1, 0, 0]],
            target: 0,
        };
        let exact = model.definitions();
        let normalisation = &exact.normalisations()[0];
        assert_eq!(normalisation.parameters, Parameters::Vague(vec![1]));
        assert_eq!(normalisation.acceptable, acceptable);
        assert!(normalisation.knowledge_independent);
    }
}

/// Functions of one parameter of two equally likely values: records, and the law of each database.
fn two_values(records: Vec<Vec<u32>>, laws: Vec<Vec<u32>>) -> Small {
    Small { weights: vec![vec![1, 1]], records, knowledge: vec![0; 2], laws, target: 0 }
}

/// Against PK Proposition 4: a record and its duplicate, and whether they are alike. There is an
/// acceptable normalisation (the one parameter is phi_0, and nothing is known), and noiseless
/// privacy is perfect.
#[test]
fn acceptable_and_still_not_causal() {
    let (alike, apart) = (vec![1, 0, 0, 0], vec![0, 1, 0, 0]);
    let laws = vec![alike.clone(), apart.clone(), apart.clone(), apart, alike];
    let exact = two_values(vec![vec![0, 1], vec![0, 1]], laws).definitions();
    let normalisation = &exact.normalisations()[0];
    assert_eq!(normalisation.parameters, Parameters::Acceptable { phi_0: vec![0], known: vec![] });
    assert!(normalisation.acceptable && !normalisation.others_independent);
    let pure = fraction(PURE);
    assert_eq!(least(&exact, Definition::Noiseless, &pure), 0.0);
    assert_eq!(least(&exact, Definition::Causal, &pure), f64::INFINITY);
    assert_eq!(delta(&exact, Definition::Causal, 3.0), 1.0);
}

/// Against PK Proposition 1: a record and its duplicate, both published. An output with two values
/// is not possible without a change, and Definition 6 looks at none that is not possible both ways.
#[test]
fn inferences_do_not_bound_causal_privacy() {
    let output = |index: usize| (0..4).map(|o| u32::from(o == index)).collect();
    let laws: Vec<Vec<u32>> = vec![output(0), output(1), output(0), output(2), output(3)];
    let exact = two_values(vec![vec![0, 1], vec![0, 1]], laws).definitions();
    let pure = fraction(PURE);
    assert_eq!(least(&exact, Definition::InferenceBased, &pure), 0.0);
    assert_eq!(least(&exact, Definition::Distributional, &pure), 0.0);
    assert_eq!(least(&exact, Definition::Causal, &pure), f64::INFINITY);
}

/// Against the other half of PK Proposition 1: the attacker knows that the target is not 2, and
/// only there is anything published. No change within what is known shows; one to 2 does, which
/// Definition 6 looks at and Definition 5 does not.
#[test]
fn causal_privacy_does_not_bound_inferences() {
    let output = |index: usize| (0..4).map(|o| u32::from(o == index)).collect();
    // By 3 target + other: the other, where the target is 2.
    let laws: Vec<Vec<u32>> = [0, 0, 0, 0, 0, 0, 0, 1, 1].map(output).to_vec();
    let model = Small {
        weights: vec![vec![1, 1, 1]],
        records: vec![vec![0, 1, 2], vec![0, 1, 0]],
        knowledge: vec![0, 0, 1],
        laws,
        target: 0,
    };
    let exact = model.definitions();
    assert!(!exact.normalisations()[0].compatible);
    let pure = fraction(PURE);
    assert_eq!(least(&exact, Definition::Causal, &pure), 0.0);
    assert_eq!(least(&exact, Definition::InferenceBased, &pure), f64::INFINITY);
}

/// Definition 14 is enough and not needed (the paper calls it necessary): under the second
/// knowledge one output is two of equal meaning, which no renaming makes one again.
#[test]
fn both_attackers_may_learn_the_same_without_reducibility() {
    let model = Small {
        weights: vec![vec![1, 1], vec![1, 1]],
        records: vec![vec![0, 1, 0, 1], vec![0, 0, 1, 1]],
        knowledge: vec![0, 0, 1, 1],
        // By 3 target + known.
        laws: vec![
            vec![4, 2, 0, 0],
            vec![2, 2, 2, 0],
            vec![1, 0, 0, 0],
            vec![2, 4, 0, 0],
            vec![1, 1, 4, 0],
        ],
        target: 0,
    };
    assert!(!model.reducible());
    let exact = model.definitions();
    for at in [0.0, 0.1, 0.3, 0.5, 0.69, 0.7, 1.0] {
        let (active, passive) =
            (delta(&exact, Definition::Active, at), delta(&exact, Definition::Passive, at));
        assert!((active - passive).abs() < 1e-14, "{at}: {active} {passive}");
        assert_eq!(active > 0.0, at < std::f64::consts::LN_2, "{at}");
    }
}

/// L Theorem 2.2 for densities is printed without e^epsilon. Then it holds where both laws are the
/// same, and nowhere else: of the lecture's own die, which is ln 2-private, each value has an
/// output that is likelier than under the other.
#[test]
fn pointwise_ratios_need_their_factor() {
    let die = two_values(
        vec![vec![0, 1], vec![0, 0]],
        vec![vec![4, 2, 0, 0], vec![1, 0, 0, 0], vec![1, 0, 0, 0], vec![2, 4, 0, 0]],
    );
    assert!((die.most_telling_event() - std::f64::consts::LN_2).abs() < 1e-15);
    let epsilon = least(&die.definitions(), Definition::Noiseless, &fraction(PURE));
    assert!(same(epsilon, std::f64::consts::LN_2), "{epsilon}");
    let (one, other) = (&die.laws[0], &die.laws[3]);
    assert!(one[0] > other[0] && one[1] < other[1]);
}

/// PK Example 5 with two triples whose values may be alike: the mechanism corrects a value that is
/// there once by one that is there twice, and a change from one triple's value to the other's makes
/// neither.
#[test]
fn corrections_do_not_undo_every_change() {
    let worlds =
        Worlds::new(vec![FiniteLaw::uniform(2).unwrap(), FiniteLaw::uniform(2).unwrap()]).unwrap();
    let records: Vec<Vec<u32>> = (0..6)
        .map(|record| (0..4).map(|world| worlds.choice(world, record / 3) as u32).collect())
        .collect();
    let model = Model::new(worlds, &records, vec![0; 4], &[0]).unwrap();
    let mut outputs: Vec<Vec<u32>> = Vec::new();
    let mut numbers = Vec::new();
    for database in model.databases() {
        let times = |value: u32| database.iter().filter(|record| **record == value).count();
        let once = (0..2).find(|value| times(*value) == 1);
        let twice = (0..2).find(|value| times(*value) == 2);
        let corrected = |value: &u32| twice.filter(|_| Some(*value) == once).unwrap_or(*value);
        let output: Vec<u32> = database.iter().map(corrected).collect();
        let index = outputs.iter().position(|other| *other == output).unwrap_or_else(|| {
            outputs.push(output);
            outputs.len() - 1
        });
        numbers.push(index as u32);
    }
    let none = Worlds::new(Vec::new()).unwrap();
    let mechanism = Mechanism::with_noise(&model, &none, &numbers).unwrap();
    let exact = Definitions::new(&model, &mechanism, None).unwrap();
    assert_eq!(least(&exact, Definition::Causal, &fraction(PURE)), f64::INFINITY);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    /// PK Theorem 6 with mu once: outputs of two bits, the first before the second.
    #[test]
    fn outputs_add_up_with_their_dependence(
        model in small(),
        deltas in prop::sample::select(vec![
            ["0", "0", "0"],
            ["0.1", "0.05", "0"],
            ["0.01", "0.1", "0.02"],
        ]),
    ) {
        let of = |model: &Small, merged_bit: Option<u32>| {
            let merged = |law: &Vec<u32>| match merged_bit {
                Some(bit) => {
                    let one = |value| {
                        (0..4).filter(|o| o >> bit & 1 == value).map(|o| law[o as usize]).sum()
                    };
                    vec![one(0), one(1), 0, 0]
                }
                None => law.clone(),
            };
            Small { laws: model.laws.iter().map(merged).collect(), ..model.clone() }
        };
        let [first, second, nu] = deltas.map(fraction);
        let one = least(&of(&model, Some(1)).definitions(), Definition::Active, &first);
        let two = least(&of(&model, Some(0)).definitions(), Definition::Active, &second);
        let both = model.split_definitions(&[[0, 0], [0, 1], [1, 0], [1, 1]]);
        let mu = both.dependence(&nu).unwrap().amount.map_or(f64::INFINITY, |mu| mu.to_f64());
        let together = one + two + mu;
        prop_assume!(together.is_finite());
        let allowed: f64 = deltas.iter().map(|text| text.parse::<f64>().unwrap()).sum();
        let joint = delta(&both, Definition::Active, together);
        prop_assert!(joint <= allowed + 1e-12, "{joint} {allowed}");
    }
}

#[test]
fn wrong_and_large_models_are_refused() {
    let law = |values| FiniteLaw::uniform(values).unwrap();
    let message = |error: ModelError| error.to_string();
    let large = Worlds::new(vec![law(10), law(100), law(101)]).unwrap_err();
    assert_eq!(
        message(large),
        "combinations of the parameters' values: 101000; at most 100000 are allowed"
    );
    assert!(Worlds::new(vec![law(2); 200]).is_err());
    let worlds = || Worlds::new(vec![law(2)]).unwrap();
    let model = |records: &[Vec<u32>], knowledge: Vec<u32>, targets: &[usize]| {
        Model::new(worlds(), records, knowledge, targets).map(|_| ()).unwrap_err()
    };
    for wrong in [
        model(&[vec![0]], vec![0, 0], &[0]),
        model(&[vec![0, 1]], vec![0], &[0]),
        model(&[vec![0, 1]], vec![0, 0], &[1]),
        model(&[vec![0, 1]], vec![0, 0], &[]),
    ] {
        assert_eq!(wrong, ModelError::Inconsistent);
    }
    // Each of 300 values of the target with each of 100 of another record, and every change of it.
    let square = |outputs: u32| {
        let worlds = Worlds::new(vec![law(300), law(100)]).unwrap();
        let column = |parameter| -> Vec<u32> {
            (0..worlds.count()).map(|w| worlds.choice(w, parameter) as u32).collect()
        };
        let records = [column(0), column(1)];
        let count = worlds.count();
        // As many values as requested: the rest is one.
        let first = records[0].iter().map(|value| (*value).min(outputs)).collect();
        Model::new(worlds, &[first, records[1].clone()], vec![0; count], &[0])
    };
    assert_eq!(
        message(square(300).unwrap_err()),
        "databases times values of the target: 9000000; at most 5000000 are allowed"
    );
    let model = square(29).unwrap();
    let none = Worlds::new(Vec::new()).unwrap();
    let outputs = vec![0; model.databases().len()];
    assert!(Mechanism::with_noise(&model, &none, &outputs[1..]).is_err());
    let noise = Worlds::new(vec![law(60)]).unwrap();
    let outputs: Vec<u32> = (0..60).cycle().take(outputs.len() * 60).collect();
    let mechanism = Mechanism::with_noise(&model, &noise, &outputs).unwrap();
    let refused = Definitions::new(&model, &mechanism, None).unwrap_err();
    assert_eq!(
        message(refused),
        "databases times values of the target times outputs: 5400000; at most 5000000 are allowed"
    );
}
