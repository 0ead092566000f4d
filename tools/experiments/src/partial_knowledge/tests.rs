use std::collections::BTreeMap;
use std::path::Path;

use hushtable_knowledge::{
    Count, CountAboveWithin, CountWithin, Histogram, Probability, Profile, least_epsilon,
};

use super::counting::{between, figure_2, figure_3};
use super::noise::{figure_5, figure_6};
use super::printed::{Theorem3, theorem_4};
use super::thresholds::figure_4;
use crate::Figure;

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn worst(theorem: Theorem3, epsilon: f64) -> f64 {
    let bounds = between(theorem.lambda).unwrap();
    CountWithin::new(theorem.others, bounds, None).unwrap().worst(epsilon).delta
}

fn all_of(others: u64, p: f64) -> Count {
    let unknown = Profile::new([(others, Probability::new(p).unwrap())]).unwrap();
    Count::new(&unknown, None).unwrap()
}

/// The value in `count` significant digits.
fn digits(value: f64, count: i32) -> String {
    let after = |places: i32| usize::try_from(places).unwrap();
    if value >= 0.01 {
        return format!("{value:.*}", after(count - 1 - value.log10().floor() as i32));
    }
    format!("{value:.*e}", after(count - 1))
}

/// Every number on the page is computed again.
#[test]
fn the_page_on_the_printed_bound_is_right() {
    let mut page = document("printed-bound.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut is_there = |text: String| {
        assert!(page.contains(&text), "not on the page: {text}");
        page = page.replace(&text, "");
    };
    let theorem = Theorem3 { others: 999, lambda: 0.05 };
    let lambda = Probability::new(0.05).unwrap();
    let blanket = Histogram::new(999, lambda, lambda).unwrap();
    let within = CountWithin::new(999, between(0.05).unwrap(), None).unwrap().worst(1.0);
    assert!([2, 997].contains(&within.records_at_lower), "{within:?}");
    for (what, delta, places) in [
        ("P[X/Y >= 1] |", theorem.printed(1.0), 2),
        ("| with e^epsilon |", theorem.with_exponential(1.0), 2),
        ("target, too, X and Y independent |", theorem.independent(1.0), 2),
        ("of the same blanket |", theorem.joint(1.0), 2),
        ("`assess histogram` |", blanket.delta(1.0), 2),
        ("the closed form as printed |", theorem.printed_closed(1.0).unwrap(), 2),
        ("the closed form with ln(2/delta) |", theorem.closed(1.0).unwrap(), 2),
        ("have probability 0.05 |", all_of(999, 0.05).delta(1.0), 3),
        ("997 at 0.05: `assess count` |", within.delta, 3),
        ("it has", theorem.printed(8.0), 2),
        ("is a one has a chance of", 0.95f64.powi(999), 2),
    ] {
        is_there(format!("{what} {}", digits(delta, places)));
    }
    let half = Theorem3 { lambda: 0.5, ..theorem };
    for (what, delta) in [
        ("lambda and the target, X and Y independent |", half.independent(0.3)),
        ("of the same blanket |", half.joint(0.3)),
        ("fair coins |", all_of(999, 0.5).delta(0.3)),
    ] {
        is_there(format!("{what} {}", digits(delta, 2)));
    }
    let steep = Theorem3 { lambda: 0.45, ..theorem };
    let printed = least_epsilon(1e-5, |e| steep.with_exponential(e)).unwrap();
    let exact = CountWithin::new(999, between(0.45).unwrap(), None).unwrap().epsilon(1e-5).unwrap();
    is_there(format!("its epsilon is {}, where", digits(printed, 2)));
    is_there(format!("the worst case is {}.", digits(exact, 2)));
    is_there("at delta = 1e-10".to_owned());

    let powers = page.match_indices("e-").map(|(at, _)| &page[at.saturating_sub(4)..]);
    let left: Vec<&str> = powers.filter(|t| t.contains("e-") && digit_before(t)).collect();
    assert!(left.is_empty(), "{left:?}");
    // And the shorter table has the same ones.
    let assess = document("assess.md");
    for number in ["6.6e-12", "8.47e-9", "8.73e-9", "1.6e-7"] {
        assert!(document("printed-bound.md").contains(number) && assess.contains(number));
    }
}

/// Whether the first `e-` comes after a digit.
fn digit_before(text: &str) -> bool {
    text.split("e-").next().is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()))
}

/// The words about the figures, on the page.
#[test]
fn the_page_tells_what_the_figures_show() {
    for (n, low, high) in [(1000, 0.3, 0.9), (10_000, 0.1, 0.4)] {
        let theorem = Theorem3 { others: n - 1, lambda: 0.05 };
        assert!(theorem.with_exponential(low) > worst(theorem, low), "{n}");
        assert!(theorem.with_exponential(high) < 1e-2 * worst(theorem, high), "{n}");
    }
    let threshold = 30;
    let (epsilon, delta) = theorem_4(1000, 0.005, threshold).unwrap();
    let bounds = hushtable_knowledge::ProbabilityRange::new(
        Probability::ZERO,
        Probability::new(0.005).unwrap(),
    );
    let exact = CountAboveWithin::new(threshold, 999, 0, bounds.unwrap()).unwrap().delta(epsilon);
    assert!(exact.active <= delta && delta <= 2.0 * exact.active);

    let theorem = Theorem3 { others: 99_999, lambda: 0.05 };
    let exact = CountWithin::new(99_999, between(0.05).unwrap(), None).unwrap().epsilon(1e-10);
    let times = theorem.closed_epsilon(1e-10).unwrap() / exact.unwrap();
    assert!((2.9..3.5).contains(&times), "{times}");
}

/// The numbers of a column, by those of the first; cells without one are left out.
fn column(figure: &Figure, name: &str) -> BTreeMap<String, f64> {
    let index = figure.columns.iter().position(|c| c == name).unwrap();
    let cells = figure.rows.iter().filter(|row| !row[index].is_empty());
    cells.map(|row| (row[0].clone(), row[index].parse().unwrap())).collect()
}

fn is_below(figure: &Figure, lower: &str, upper: &str) {
    let (below, above) = (column(figure, lower), column(figure, upper));
    let both: Vec<&String> = below.keys().filter(|x| above.contains_key(*x)).collect();
    assert!(!both.is_empty(), "{lower} {upper}");
    for x in both {
        assert!(below[x] <= above[x] * 1.00001, "{}: {lower} {upper} at {x}", figure.name);
    }
}

#[test]
fn figures_have_their_curves_in_order() {
    let two = figure_2(1000, 1.0).unwrap();
    let rising = ["case_1", "worst_case", "blanket", "theorem_3_repaired", "closed_form_repaired"];
    rising.windows(2).for_each(|pair| is_below(&two, pair[0], pair[1]));
    is_below(&two, "case_2", "worst_case");
    is_below(&two, "case_1", "proposition_7_case_1");
    is_below(&two, "case_2", "proposition_7_case_2");
    assert!(column(&two, "proposition_7_case_2").values().all(|delta| *delta > 1e-3));
    let [worst, printed] = ["worst_case", "theorem_3_with_exponential"].map(|c| column(&two, c));
    assert!(printed["1"] < worst["1"] && printed["0.1"] > worst["0.1"]);

    let three = figure_3(&[100, 1000]).unwrap();
    is_below(&three, "worst_case_n1000", "worst_case_n100");
    is_below(&three, "theorem_3_with_exponential_n1000", "worst_case_n1000");

    let four = figure_4(1000, 6..=40).unwrap();
    is_below(&four, "all_at_most_probable", "worst_case");
    is_below(&four, "worst_case", "theorem_4_delta");
    is_below(&four, "theorem_4_delta", "theorem_4_epsilon");

    let five = figure_5(8000).unwrap();
    is_below(&five, "worst_case_with_noise", "worst_case");
    is_below(&five, "worst_case_with_noise", "closed_form_repaired_or_noise");
    is_below(&five, "worst_case", "closed_form_repaired");

    let six = figure_6(1000).unwrap();
    is_below(&six, "worst_case_geometric_0.75", "worst_case_geometric_0.5");
    is_below(&six, "worst_case_geometric_0.5", "worst_case");
    is_below(&six, "worst_case_geometric_0.75", "geometric_0.75_alone");
    is_below(&six, "worst_case", "theorem_3_repaired");

    for figure in [two, three, four, five, six] {
        assert!(figure.rows.iter().all(|row| row.len() == figure.columns.len()));
        assert_eq!(figure.chart.series.len() + 1, figure.columns.len());
        assert!(figure.chart.draw(hushtable_plot::ImageFormat::Svg).is_ok());
    }
}
