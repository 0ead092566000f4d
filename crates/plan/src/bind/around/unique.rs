//! Columns whose values no two rows of a node share, as far as its form says.
//!
//! A sub-query that is one value must have one row at most. That follows from what groups are, from
//! LIMIT 1, and from equalities that leave one value for each key.

use std::collections::BTreeSet;

use hushtable_lang::{BinaryOp, Expr, ExprKind};

use super::tree::{Join, JoinSides, Node, Operand, Scalar, SetOperation};

type Columns = BTreeSet<usize>;

/// Most sets of columns that are followed.
const MAX_SETS: usize = 16;

/// Facts about the rows of a node that follow from its form.
#[derive(Clone, Default)]
struct NodeFacts {
    /// Sets of columns: no two rows have the same values in all columns of one. With an empty one
    /// there is one row at most.
    unique: Vec<Columns>,
    /// Columns that have the same value in all rows.
    fixed: Columns,
    /// Columns that equal each other in each row.
    pairs: Vec<(usize, usize)>,
}

impl Node {
    /// Whether it has one row at most, as its form says; in a sub-query, for each row outside.
    pub(super) fn has_one_row(&self) -> bool {
        self.facts().has_one_row()
    }

    fn facts(&self) -> NodeFacts {
        match self {
            Self::One => NodeFacts::one_row(),
            Self::Released { unique, .. } => match unique {
                Some(columns) => NodeFacts::default().with(columns.iter().copied().collect()),
                None => NodeFacts::default(),
            },
            Self::Filter(input, condition) => {
                let (mut facts, equal) = (input.facts(), Equalities::of(condition));
                facts.fix(&equal);
                facts
            }
            Self::Project(input, columns) => {
                let input = input.facts();
                let shown = |column: &usize| {
                    columns.iter().position(|shown| shown.as_column() == Some(*column))
                };
                let set = |set: &Columns| set.iter().map(shown).collect::<Option<Columns>>();
                NodeFacts {
                    unique: input.unique.iter().filter_map(set).collect(),
                    fixed: input.fixed.iter().filter_map(shown).collect(),
                    pairs: input
                        .pairs
                        .iter()
                        .filter_map(|(one, other)| Some((shown(one)?, shown(other)?)))
                        .collect(),
                }
            }
            Self::Join(join) => of_join(join),
            Self::Set(set) => {
                let whole = (0..set.columns.len()).collect();
                match set.operation {
                    SetOperation::UnionAll => NodeFacts::default(),
                    SetOperation::Union => NodeFacts::default().with(whole),
                    SetOperation::Except | SetOperation::Intersect => set.left.facts().with(whole),
                }
            }
            Self::Distinct(input) => input.facts().with((0..input.width()).collect()),
            Self::Aggregate { levels: Some(_), .. } => NodeFacts::default(),
            Self::Aggregate { input, keys, levels: None, .. } => {
                let input = input.facts();
                let is_fixed = |key: &Scalar| match key.as_column() {
                    Some(column) => input.fixed.contains(&column),
                    None => is_outside(key),
                };
                let keys = keys.iter().enumerate();
                let fixed: Columns =
                    keys.clone().filter(|(_, key)| is_fixed(key)).map(|(index, _)| index).collect();
                let others = keys.map(|(index, _)| index).filter(|index| !fixed.contains(index));
                NodeFacts { unique: vec![others.collect()], fixed, pairs: Vec::new() }
            }
            Self::Window(input, _) | Self::Sort(input, _) => input.facts(),
            Self::Limit { input, limit, .. } => match limit {
                Some(0 | 1) => NodeFacts::one_row(),
                _ => input.facts(),
            },
        }
    }
}

fn of_join(join: &Join) -> NodeFacts {
    let width = join.left.width();
    let (left, mut right) = (join.left.facts(), join.right.facts());
    let moved = |columns: &Columns| columns.iter().map(|column| column + width).collect();
    right = NodeFacts {
        unique: right.unique.iter().map(moved).collect(),
        fixed: moved(&right.fixed),
        pairs: right.pairs.iter().map(|(one, other)| (one + width, other + width)).collect(),
    };
    let equal = join.on.as_ref().map(Equalities::of).unwrap_or_default();
    // Whether each row of one side meets one row of the other at most.
    let meets_one = |facts: &NodeFacts, is_beside: &dyn Fn(usize) -> bool| {
        let pairs = equal.pairs.iter().flat_map(|&(one, other)| [(one, other), (other, one)]);
        let by_pairs = pairs.filter(|(_, other)| is_beside(*other)).map(|(one, _)| one);
        let known: Columns = by_pairs.chain(equal.fixed.iter().copied()).collect();
        facts.unique.iter().any(|set| set.is_subset(&known))
    };
    let of_left = matches!(join.kind, JoinSides::Inner | JoinSides::Left);
    let of_right = matches!(join.kind, JoinSides::Inner | JoinSides::Right);
    let mut facts = NodeFacts::default();
    if of_left && meets_one(&right, &|column| column < width) {
        facts.unique.extend(left.unique.iter().cloned());
    }
    if of_right && meets_one(&left, &|column| column >= width) {
        facts.unique.extend(right.unique.iter().cloned());
    }
    if of_left || of_right {
        let both = left.unique.iter().flat_map(|one| right.unique.iter().map(move |o| one | o));
        facts.unique.extend(both);
        facts.unique.truncate(MAX_SETS);
    }
    if of_left {
        facts.fixed.extend(left.fixed);
        facts.pairs.extend(left.pairs);
    }
    if of_right {
        facts.fixed.extend(right.fixed);
        facts.pairs.extend(right.pairs);
    }
    if join.kind == JoinSides::Inner {
        facts.fix(&equal);
    }
    facts
}

impl NodeFacts {
    fn one_row() -> Self {
        Self::default().with(Columns::new())
    }

    fn has_one_row(&self) -> bool {
        self.unique.iter().any(BTreeSet::is_empty)
    }

    fn with(mut self, columns: Columns) -> Self {
        self.unique.push(&columns - &self.fixed);
        self
    }

    /// Of the rows for which equalities hold.
    fn fix(&mut self, equal: &Equalities) {
        self.fixed.extend(&equal.fixed);
        self.pairs.extend(&equal.pairs);
        // Each round fixes a column or is the last.
        for _ in 0..=self.pairs.len() {
            for (one, other) in &self.pairs {
                if self.fixed.contains(one) || self.fixed.contains(other) {
                    self.fixed.extend([one, other]);
                }
            }
        }
        for set in &mut self.unique {
            set.retain(|column| !self.fixed.contains(column));
        }
    }
}

/// The equalities that a condition asks.
#[derive(Default)]
struct Equalities {
    /// Of columns of its input with each other.
    pairs: Vec<(usize, usize)>,
    /// The columns that equal what is the same for all rows.
    fixed: Columns,
}

impl Equalities {
    fn of(condition: &Scalar) -> Self {
        let Scalar { expr, operands } = condition;
        let (mut equal, mut conjuncts) = (Self::default(), vec![expr]);
        while let Some(conjunct) = conjuncts.pop() {
            match &conjunct.kind {
                ExprKind::Binary(BinaryOp::And, left, right) => {
                    conjuncts.extend([left.as_ref(), right.as_ref()]);
                }
                ExprKind::Binary(BinaryOp::Eq, left, right) => {
                    let column = |side: &Expr| match side.kind {
                        ExprKind::Column(operand) => match operands.get(operand) {
                            Some(Operand::Column(column)) => Some(*column),
                            _ => None,
                        },
                        _ => None,
                    };
                    match (column(left), column(right)) {
                        (Some(one), Some(other)) => equal.pairs.push((one, other)),
                        (Some(one), None) if is_constant(right, operands) => {
                            equal.fixed.insert(one);
                        }
                        (None, Some(other)) if is_constant(left, operands) => {
                            equal.fixed.insert(other);
                        }
                        _ => {}
                    }
                }
                ExprKind::IsNull(value) => {
                    if let ExprKind::Column(operand) = value.kind
                        && let Some(Operand::Column(column)) = operands.get(operand)
                    {
                        equal.fixed.insert(*column);
                    }
                }
                _ => {}
            }
        }
        equal
    }
}

/// Whether an expression is the same for all rows of the input.
fn is_outside(scalar: &Scalar) -> bool {
    is_constant(&scalar.expr, &scalar.operands)
}

fn is_constant(expr: &Expr, operands: &[Operand]) -> bool {
    let from_outside = |node: &Node| node.outer_columns().iter().all(|(level, _)| *level > 0);
    let mut is_constant = true;
    expr.visit_columns(&mut |operand| {
        is_constant &= match operands.get(operand) {
            Some(Operand::Outer { .. }) => true,
            Some(Operand::Value(node) | Operand::Exists(node)) => from_outside(node),
            Some(Operand::Among(value, node)) => is_outside(value) && from_outside(node),
            Some(Operand::Column(_)) | None => false,
        };
    });
    is_constant
}
