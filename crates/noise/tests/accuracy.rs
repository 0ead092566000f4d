//! The laws where doubles could lose digits: far tails, wide and narrow laws. Reference values by
//! the formulas of the documentation in 120-digit arithmetic (mpmath).
#![allow(
    clippy::excessive_precision,
    clippy::unreadable_literal,
    reason = "17 digits, as computed"
)]

use hushtable_noise::{
    DiscreteGaussian, DiscreteLaplace, Dyadic, ExponentialPolylogarithmic, Law, Ratio,
    RoundedGaussian, TruncatedDiscreteLaplace,
};

/// (mantissa, exponent, x, P[X = x], P[X >= x])
const GAUSSIAN: [(u64, i32, i128, f64, f64); 10] = [
    (1, -6, 1, 5.4520806035123961e-225, 5.4520806035123961e-225),
    (1, -1, 2, 1.3496113800582153e-3, 1.3498980316300945e-3),
    (1, 0, 8, 3.1899437194286759e-14, 3.1908916729108962e-14),
    (3, 0, 20, 3.6011812181154823e-11, 4.0160005838591178e-11),
    (10, 0, 0, 0.039877611676744923, 0.51993880583837246),
    (11, 0, -3, 0.034932327538377837, 0.62482648817415141),
    (100, 0, 2000, 5.5301314717313632e-90, 3.0439444825482884e-89),
    (1, 20, 5242880, 1.4178462169033526e-12, 2.8665228080314747e-7),
    (1, 70, -3541774862152233910272, 3.7539216221481408e-24, 0.99865010196836991),
    (
        18446744073709551615,
        36,
        2535301200456458802993406410752,
        4.2591362717350862e-32,
        0.022750131948179207,
    ),
];

/// (mantissa and exponent of sigma^2, x, P[X = x], P[X >= x])
const DISCRETE_GAUSSIAN: [(u64, i32, i128, f64, f64); 11] = [
    (1, -6, 2, 2.5722093726423497e-56, 2.5722093726423497e-56),
    (1, -2, 3, 1.1979455936033157e-8, 1.1979465897294959e-8),
    (1, 0, 8, 5.0522710565043321e-15, 5.0532991108041034e-15),
    (5, -1, -4, 0.010284844252703535, 0.99809684165816801),
    (100, 0, 0, 0.039894228040143268, 0.51994711402007163),
    (100, 0, 150, 5.5307095498444162e-51, 7.1033402534954908e-51),
    (4097, 0, 900, 7.3020232683085006e-46, 3.6859367835983892e-45),
    (16777217, 0, 40000, 1.9044811646768065e-25, 7.9162456540824451e-23),
    (1, 60, 5368709120, 1.384615446193421e-15, 2.8665157257150164e-7),
    (1, 80, -3298534883328, 4.0307426497183835e-15, 0.99865010196837192),
    (1, 100, 14073748835532800, 4.170171193229729e-50, 3.7325642988777342e-36),
];

/// (numerator, denominator, x, P[X = x], P[X >= x])
const LAPLACE: [(u128, u128, i128, f64, f64); 5] = [
    (1, 10, 20, 1.3837708748311004e-87, 1.383833700783919e-87),
    (1, 2, -7, 6.3328741297866009e-7, 0.99999990087934694),
    (7, 2, 1000, 1.1690252115297853e-125, 4.7038969838837408e-125),
    (1099511627776, 3, 35184372088832, 2.7709020233507694e-54, 1.0155463313687909e-42),
    (
        81129638414606681695789005144064,
        1,
        -1267650600228229401496703205376,
        6.0674277381480258e-33,
        0.5077517814972958,
    ),
];

/// (numerator, denominator, k, x, P[X = x], P[X >= x], variance)
const TRUNCATED: [(u128, u128, u64, i128, f64, f64, f64); 6] = [
    (1, 1, 3, 2, 0.06426165851049616, 0.087902201532087547, 1.2889856396640588),
    (7, 2, 30, -11, 6.1250079212526067e-3, 0.98156063461745411, 24.147775203247197),
    (1, 10, 5, 5, 1.9285747256992024e-22, 1.9285747256992024e-22, 9.0808104700950824e-5),
    (
        1099511627776,
        3,
        1000,
        999,
        4.9975012425745538e-4,
        9.995002485135472e-4,
        3.3366666643895187e5,
    ),
    (
        81129638414606681695789005144064,
        1,
        18446744073709551615,
        9223372036854775808,
        2.7105054312137611e-20,
        0.24999999999998579,
        1.1342745564030637e38,
    ),
    (1000, 1, 10000000, 5000, 3.36897321879497e-6, 3.370657986152131e-3, 1.9999998333333417e6),
];

/// (shape, offset, scale, x, P[X = x], P[X >= x], variance)
const POLYLOGARITHMIC: [(f64, f64, f64, i128, f64, f64, f64); 8] = [
    (1.0, ABOVE_E, 1.0, 0, 0.32381966768002167, 0.66190983384001084, 6.5447833259926259),
    (1.0, ABOVE_E, 1.0, -3, 0.042089881105273541, 0.94018491377482723, 6.5447833259926259),
    (1.0, ABOVE_E, 1.0, 100, 4.2331653509802759e-10, 5.3343002534117586e-9, 6.5447833259926259),
    (0.25, 3.0, 0.5, 7, 0.018781467147408608, 0.19670950149236957, 965.57993888387645),
    (
        0.25,
        3.0,
        0.5,
        1_000_000_000,
        2.2211895159409345e-51,
        2.276000905869237e-43,
        965.57993888387645,
    ),
    (64.0, 64.0, 100.0, 5000, 7.6584414717728712e-145, 1.4806497609560349e-143, 290.9838609264803),
    (
        2.0,
        10.0,
        1208925819614629174706176.0,
        9671406556917033397649408,
        7.988131546246044e-28,
        0.0015922670317483311,
        4.7703803366867846e+48,
    ),
    (2.5, 3.0, 1000.0, -2500, 1.2684809414821805e-5, 0.99139700786883044, 724441.75955797569),
];

/// The double above e.
const ABOVE_E: f64 = 2.718_281_828_459_045_5;

/// Allows the error that the documentation states.
fn close(name: &str, computed: f64, expected: f64, allowed: f64) {
    let error = (computed / expected - 1.0).abs();
    assert!(error <= allowed, "{name}: {computed:e}, should be {expected:e}, off by {error:e}");
}

#[test]
fn rounded_gaussian() {
    for (mantissa, exponent, x, pmf, tail) in GAUSSIAN {
        let law = RoundedGaussian::new(Dyadic::new(mantissa, exponent).unwrap());
        let name = format!("{law:?} at {x}");
        let z = x.max(0) as f64 / law.sigma().to_f64();
        if pmf > 1e-300 && z <= 20.0 {
            close(&name, law.pmf(x), pmf, 1e-12);
        }
        if tail > 1e-300 {
            close(&name, law.tail(x), tail, 1e-15 * (4.0 + 2.0 * z * z));
        }
    }
}

#[test]
fn discrete_gaussian() {
    for (mantissa, exponent, x, pmf, tail) in DISCRETE_GAUSSIAN {
        let law = DiscreteGaussian::new(Dyadic::new(mantissa, exponent).unwrap());
        let name = format!("{law:?} at {x}");
        let squares = (x as f64).powi(2) / law.sigma_squared().to_f64();
        close(&name, law.pmf(x), pmf, 1e-15 * (5.0 + squares));
        close(&name, law.tail(x), tail, 1e-14 * (1.0 + squares));
    }
}

#[test]
fn discrete_laplace() {
    for (numerator, denominator, x, pmf, tail) in LAPLACE {
        let law = DiscreteLaplace::new(Ratio::new(numerator, denominator).unwrap());
        let name = format!("{law:?} at {x}");
        let scales = x.unsigned_abs() as f64 / law.scale().to_f64();
        close(&name, law.pmf(x), pmf, 1e-15 * (2.0 + scales));
        close(&name, law.tail(x), tail, 1e-15 * (2.0 + scales));
    }
}

#[test]
fn truncated_discrete_laplace() {
    for (numerator, denominator, k, x, pmf, tail, variance) in TRUNCATED {
        let law = TruncatedDiscreteLaplace::new(Ratio::new(numerator, denominator).unwrap(), k);
        let name = format!("{law:?} at {x}");
        let scales = x.unsigned_abs() as f64 / law.scale().to_f64();
        close(&name, law.pmf(x), pmf, 1e-15 * (6.0 + scales));
        close(&name, law.tail(x), tail, 1e-15 * (6.0 + scales));
        close(&name, law.variance(), variance, 1e-13);
    }
}

#[test]
fn exponential_polylogarithmic() {
    for (shape, offset, scale, x, pmf, tail, variance) in POLYLOGARITHMIC {
        let [d, a, s] = [shape, offset, scale].map(|x| Dyadic::at_least(x).unwrap());
        let law = ExponentialPolylogarithmic::new(d, a, s).unwrap();
        let name = format!("{law:?} at {x}");
        close(&name, law.pmf(x), pmf, 1e-12 * (1.0 - pmf.ln()));
        close(&name, law.tail(x), tail, 1e-12 * (1.0 - tail.ln()));
        close(&name, law.variance(), variance, 1e-12);
    }
}
