//! Losses of establishments and firms (PR Figure 5).

use hushtable_plot::{Series, Style};
use hushtable_privacy::group_loss;

use super::cells::{LEVELS, code_at, sizes};
use super::chart::{curve, distribution, distributions};
use super::made_up::Establishment;
use super::schemes::{Budget, Scheme, splitting};
use crate::distribution::Distribution;
use crate::figure::{columns, digits};
use crate::{ExperimentError, Figure};

/// The budget, that of the paper's figure.
const BUDGET: &str = "1";

/// The losses of some units, each at its place.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    /// The paper's policy, by whole pieces.
    pub(super) split: Vec<f64>,
    /// Ours: what the noise protects.
    pub(super) exact: Vec<f64>,
    /// Their losses in these very cells (PR (9)).
    pub(super) realised: Vec<f64>,
}

/// The loss of every establishment, by row.
pub(super) fn of_establishments(
    rows: &[Establishment],
    scheme: Scheme,
) -> Result<Losses, ExperimentError> {
    let budget = Budget::evenly(BUDGET.parse()?);
    let policy = scheme.policy(budget.measures())?;
    let values = |row: &Establishment| sizes(row).map(|size| size as f64);
    Ok(Losses {
        split: rows.iter().map(|row| policy.split(&values(row))).collect(),
        exact: rows.iter().map(|row| policy.exact(&values(row))).collect(),
        realised: (0..rows.len())
            .map(|row| realised(rows, scheme, budget.each(), &[row]))
            .collect(),
    })
}

/// The rows of every firm, each firm's by county and code.
pub(super) fn firms(rows: &[Establishment]) -> Vec<Vec<usize>> {
    let count = rows.iter().map(|row| row.owner as usize + 1).max().unwrap_or(0);
    let mut firms = vec![Vec::new(); count];
    for (index, row) in rows.iter().enumerate() {
        firms[row.owner as usize].push(index);
    }
    firms
}

/// The loss of every firm, from the losses of its establishments: (sum of sqrt P)^2. Its real loss
/// is less where its establishments are in different cells: only in one cell do they move a sum
/// together.
pub(super) fn of_firms(
    rows: &[Establishment],
    firms: &[Vec<usize>],
    scheme: Scheme,
    single: &Losses,
) -> Result<Losses, ExperimentError> {
    let each = Budget::evenly(BUDGET.parse()?).each();
    let group = |losses: &[f64]| {
        firms.iter().map(|firm| group_loss(firm.iter().map(|row| losses[*row]))).collect()
    };
    Ok(Losses {
        split: group(&single.split),
        exact: group(&single.exact),
        realised: firms.iter().map(|firm| realised(rows, scheme, each, firm)).collect(),
    })
}

/// The sum over the cells that the firm is in of (what it moves the sum by)^2 / (2 sigma^2).
fn realised(rows: &[Establishment], scheme: Scheme, each: f64, firm: &[usize]) -> f64 {
    let mut loss = 0.0;
    for level in LEVELS {
        let cell = |row: &usize| (rows[*row].county, code_at(rows[*row].naics, level));
        for together in firm.chunk_by(|a, b| cell(a) == cell(b)) {
            let count = together.len() as f64;
            let mut moved = [0i64; 3];
            for row in together {
                for (sum, size) in moved.iter_mut().zip(sizes(&rows[*row])) {
                    *sum += size;
                }
            }
            let ratios = moved.iter().zip(scheme.thresholds).map(|(m, t)| *m as f64 / t as f64);
            loss += each * (count * count + ratios.map(|ratio| ratio * ratio).sum::<f64>());
        }
    }
    loss
}

/// PR Figure 5: a chart for each way to split, by establishment and by firm.
pub(super) fn figures(rows: &[Establishment]) -> Result<Vec<Figure>, ExperimentError> {
    let firms = firms(rows);
    let mut all = Vec::new();
    for scheme in splitting() {
        let single = of_establishments(rows, scheme)?;
        let joint = of_firms(rows, &firms, scheme, &single)?;
        // The loss of its firm, for every establishment: never less than its own.
        let theirs = rows.iter().map(|row| joint.split[row.owner as usize]).collect();
        let of = |losses: Losses| {
            vec![
                ("policy (split)", losses.split, Style::Line),
                ("policy (exact)", losses.exact, Style::Line),
                ("realised", losses.realised, Style::Dashed),
            ]
        };
        all.push(figure(scheme, "establishment", of(single)));
        let mut joint = of(joint);
        joint.push(("policy (split), share of establishments", theirs, Style::Dashed));
        all.push(figure(scheme, "firm", joint));
    }
    Ok(all)
}

fn figure(scheme: Scheme, unit: &str, of: Vec<(&str, Vec<f64>, Style)>) -> Figure {
    let (mut drawn, mut rows): (Vec<Series>, Vec<Vec<String>>) = Default::default();
    for (loss, values, style) in of {
        let curve = curve(&Distribution::new(values));
        drawn.push(distribution(loss, style, &curve, [1e-6, 1e12]));
        rows.extend(curve.into_iter().map(|(value, share)| {
            let names = [scheme.name, unit, loss].map(str::to_owned);
            names.into_iter().chain([digits(share), digits(value)]).collect()
        }));
    }
    Figure {
        name: format!("establishments-losses-{}-{unit}", scheme.name),
        chart: distributions(
            format!(
                "Splitting, {}: losses by {unit} (synthetic), a budget of {BUDGET}",
                scheme.name
            ),
            "privacy loss, in rho",
            &format!("share of {unit}s"),
            drawn,
        ),
        columns: columns(&["splitting", "unit", "loss", "share", "rho"]),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two establishments of a firm, at the thresholds of the moderate scheme: by their exact
    /// policy each loses 1 and both lose 4. In one cell of every level they do lose 4, in cells of
    /// their own 2, and where their industries part at the fifth digit 3 levels of 4 and 2 of 2, of
    /// five.
    #[test]
    fn what_a_firm_loses_depends_on_its_cells() {
        let scheme = splitting().nth(1).unwrap();
        let [employees, pay, pay_quarter] = scheme.thresholds;
        let at =
            |county, naics| Establishment { county, naics, owner: 0, employees, pay, pay_quarter };
        for (other, expected) in
            [(at(1, 111_111), 4.0), (at(2, 111_111), 2.0), (at(1, 111_121), 3.2)]
        {
            let rows = [at(1, 111_111), other];
            let single = of_establishments(&rows, scheme).unwrap();
            let joint = of_firms(&rows, &firms(&rows), scheme, &single).unwrap();
            let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
            assert!(single.realised.iter().all(|loss| near(*loss, 1.0)), "{single:?}");
            assert!(near(joint.realised[0], expected), "{other:?}: {joint:?}");
            assert!(near(joint.exact[0], 4.0) && near(joint.split[0], 4.0), "{joint:?}");
        }
    }
}
