//! The linear programmes whose solutions are simulators.
//!
//! They are solved in floating point by `microlp`. A solution is only a proposal: it is rounded to
//! fractions and then compared exactly (see [`super::simulator`]), so that no error here can make
//! an epsilon or delta too low.

use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, Solution, Variable};

/// The laws that a simulator must be close to, in floating point.
#[derive(Clone, Debug)]
pub(super) struct Programme {
    /// The number of classes that the simulator distinguishes.
    pub(super) classes: usize,
    /// The number of outputs.
    pub(super) outputs: usize,
    pub(super) cases: Vec<ProgrammeCase>,
    /// For each class the outputs that are possible in each case that the class is in.
    pub(super) allowed: Vec<Vec<usize>>,
}

/// One knowledge and value of the target.
#[derive(Clone, Debug)]
pub(super) struct ProgrammeCase {
    /// The classes' probabilities in it.
    pub(super) classes: Vec<(usize, f64)>,
    /// The outputs' probabilities, none of them zero.
    pub(super) law: Vec<(usize, f64)>,
}

/// For each class, outputs and their probabilities, nearly.
pub(super) type Proposal = Vec<Vec<(usize, f64)>>;

impl Programme {
    /// Variables times rows of the larger of the two.
    pub(super) fn size(&self) -> usize {
        let compared = self.cases.len() * self.outputs;
        let variables = self.classes * self.outputs + 2 * compared + 1;
        let rows = self.classes + 2 * compared + 2 * self.cases.len();
        variables.saturating_mul(rows)
    }

    /// The simulator whose probabilities are at least 1/`x` of the mechanism's, and at most z times
    /// them for the least z, with that z.
    pub(super) fn pure(&self, x: f64) -> Option<(Proposal, f64)> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let variables = self.simulator(&mut problem, &self.allowed);
        let z = problem.add_var(1.0, (0.0, f64::INFINITY));
        for case in &self.cases {
            for (output, p) in &case.law {
                let simulated = || {
                    let mut sum = LinearExpr::empty();
                    for (class, weight) in &case.classes {
                        if let Some((_, var)) = variables[*class].iter().find(|(o, _)| o == output)
                        {
                            sum.add(*var, weight / p);
                        }
                    }
                    sum
                };
                problem.add_constraint(simulated(), ComparisonOp::Ge, 1.0 / x);
                let mut most = simulated();
                most.add(z, -1.0);
                problem.add_constraint(most, ComparisonOp::Le, 0.0);
            }
        }
        let solution = solve(&problem)?;
        Some((proposal(&variables, &solution), solution.var_value(z)))
    }

    /// The simulator with the least delta at e^epsilon = `x`.
    pub(super) fn approximate(&self, x: f64) -> Option<Proposal> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let all: Vec<usize> = (0..self.outputs).collect();
        let variables = self.simulator(&mut problem, &vec![all; self.classes]);
        let delta = problem.add_var(1.0, (0.0, 1.0));
        for case in &self.cases {
            let (mut over, mut under) = (LinearExpr::empty(), LinearExpr::empty());
            let mut law = vec![0.0; self.outputs];
            case.law.iter().for_each(|(output, p)| law[*output] = *p);
            for (output, p) in law.into_iter().enumerate() {
                // over >= p - x q, under >= q - x p.
                let (more, less) =
                    (problem.add_var(0.0, (0.0, 1.0)), problem.add_var(0.0, (0.0, 1.0)));
                let (mut first, mut second) = (LinearExpr::empty(), LinearExpr::empty());
                first.add(more, 1.0);
                second.add(less, 1.0);
                for (class, weight) in &case.classes {
                    let variable = variables[*class][output].1;
                    first.add(variable, x * weight);
                    second.add(variable, -weight);
                }
                problem.add_constraint(first, ComparisonOp::Ge, p);
                problem.add_constraint(second, ComparisonOp::Ge, -x * p);
                over.add(more, 1.0);
                under.add(less, 1.0);
            }
            for mut sum in [over, under] {
                sum.add(delta, -1.0);
                problem.add_constraint(sum, ComparisonOp::Le, 0.0);
            }
        }
        Some(proposal(&variables, &solve(&problem)?))
    }

    /// A probability for each class and output, which add up to one in each class.
    fn simulator(
        &self,
        problem: &mut Problem,
        outputs: &[Vec<usize>],
    ) -> Vec<Vec<(usize, Variable)>> {
        let mut variables = Vec::with_capacity(self.classes);
        for outputs in outputs {
            let row: Vec<(usize, Variable)> =
                outputs.iter().map(|output| (*output, problem.add_var(0.0, (0.0, 1.0)))).collect();
            let mut sum = LinearExpr::empty();
            row.iter().for_each(|(_, variable)| sum.add(*variable, 1.0));
            problem.add_constraint(sum, ComparisonOp::Eq, 1.0);
            variables.push(row);
        }
        variables
    }
}

fn solve(problem: &Problem) -> Option<Solution> {
    problem.solve().ok()?.into_solution().ok()
}

fn proposal(variables: &[Vec<(usize, Variable)>], solution: &Solution) -> Proposal {
    let law = |row: &Vec<(usize, Variable)>| {
        row.iter().map(|(output, variable)| (*output, solution.var_value(*variable))).collect()
    };
    variables.iter().map(law).collect()
}
