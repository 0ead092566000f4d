//! `hushtable calc quantile`.

use clap::error::ErrorKind;
use hushtable::mechanisms::{Percentile, Quantile};
use hushtable::privacy::{Epsilon, Loss, Neighbouring, Rho};
use hushtable::query::{INTERVAL_LEVEL, MAX_LATTICE, Number};

use super::wrong_usage;
use crate::arguments::QuantileArguments;
use crate::failure::Failure;
use crate::given_numbers::{amount, refuse, whole};
use crate::render::calc::CalcReport;

const ONE_OF_TWO: &str = "a quantile needs one of '--epsilon <E>' and '--rho <R>'";

pub(super) fn report(arguments: &QuantileArguments) -> Result<CalcReport, Failure> {
    let loss = match (&arguments.epsilon, &arguments.rho) {
        (Some(epsilon), None) => Loss::pure(amount::<Epsilon>("epsilon", epsilon, "1")?),
        (None, Some(rho)) => Loss::concentrated(amount::<Rho>("rho", rho, "0.1")?),
        (Some(_), Some(_)) => {
            return Err(wrong_usage("quantile", ErrorKind::ArgumentConflict, ONE_OF_TWO));
        }
        (None, None) => {
            return Err(wrong_usage("quantile", ErrorKind::MissingRequiredArgument, ONE_OF_TWO));
        }
    };
    let decimal = Number::parse(&arguments.percentile).map(Number::digits_and_scale);
    let percentile = decimal.and_then(|(digits, scale)| Percentile::new(digits, scale));
    let percentile = percentile.ok_or_else(|| {
        let range = "a number above 0 and below 1 with at most 4 decimal places";
        refuse("percentile", &arguments.percentile, range, "0.9")
    })?;
    let groups = whole("max-groups", &arguments.max_groups, 1..=10_000, "3")?;
    let rows = whole("max-rows", &arguments.max_rows, 1..=1_000_000, "2")?;
    let points = whole("points", &arguments.points, 1..=MAX_LATTICE.unsigned_abs(), "1000000")?;
    let far = points.cast_signed() - 1;
    let quantile = Quantile::new(
        percentile,
        ((0, far), far),
        u32::try_from(rows).unwrap_or(u32::MAX),
        (u32::try_from(groups).unwrap_or(u32::MAX), false),
        Neighbouring::AddRemove,
        loss,
    );
    let quantile = quantile.map_err(|error| {
        Failure::new(
            format!("no quantile can be drawn at {loss}: {error}"),
            "for example `--rho 0.1` or `--epsilon 1`",
        )
    })?;
    Ok(CalcReport::Quantile {
        rate: quantile.rate(),
        even: quantile.rank_distance_even(INTERVAL_LEVEL),
        worst: quantile.rank_distance(INTERVAL_LEVEL),
    })
}
