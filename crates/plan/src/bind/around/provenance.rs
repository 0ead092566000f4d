//! Where the values of a column come from: a property of the expressions of the tree.
//!
//! SELECT, joins and UNION ALL hand released values on as they are, and whatever computes anew from
//! several rows does not. So the interval of a value that is a released one is that one's.

use hushtable_lang::{ColumnType, Expr, ExprKind};

use super::tree::{Node, Operand, Scalar, SetOperation};

/// Where the values of a column come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins {
    /// The released columns: the index of the table among those that the SQL reads, and the column.
    pub from: Vec<(usize, usize)>,
    /// Whether each value is one of theirs as it is, or a constant.
    pub as_they_are: bool,
    /// Whether they also come from something that is not traced, such as several rows.
    pub unknown: bool,
}

/// How a column of the result can be followed back.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnTrace {
    /// Where its values come from.
    pub origins: Origins,
    /// The scalar expression that computes it from released values of one row.
    pub computed: Option<TracedExpression>,
}

/// A scalar expression over released values.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedExpression {
    /// The expression; its columns are the operands.
    pub expr: Expr,
    /// Where each operand comes from, and its type in the expression.
    pub operands: Vec<(Origins, ColumnType)>,
}

impl Origins {
    fn constant() -> Self {
        Self { from: Vec::new(), as_they_are: true, unknown: false }
    }

    fn unknown() -> Self {
        Self { from: Vec::new(), as_they_are: false, unknown: true }
    }

    /// Of what is computed from such a value.
    fn changed(self) -> Self {
        let as_they_are = self.from.is_empty() && !self.unknown;
        Self { as_they_are, ..self }
    }

    /// Of values of either, or what is computed from both.
    fn and(mut self, other: Self) -> Self {
        for column in other.from {
            if !self.from.contains(&column) {
                self.from.push(column);
            }
        }
        self.as_they_are &= other.as_they_are;
        self.unknown |= other.unknown;
        self
    }
}

impl Scalar {
    /// Where its values come from, by the origins of the input's columns.
    fn origins(&self, input: &[Origins]) -> Origins {
        let operand = |operand: &Operand| match operand {
            Operand::Column(index) => input.get(*index).cloned().unwrap_or_else(Origins::unknown),
            Operand::Outer { .. } | Operand::Value(_) | Operand::Exists(_) | Operand::Among(..) => {
                Origins::unknown()
            }
        };
        match (self.as_column(), self.operands.as_slice()) {
            (Some(_), [column]) => operand(column),
            (_, all) => all.iter().map(operand).fold(Origins::constant(), Origins::and).changed(),
        }
    }

    /// The expression over released values that it is, by the origins of the input's columns.
    fn traced(&self, input: &[ColumnTrace]) -> Option<TracedExpression> {
        let mut types = vec![ColumnType::Bool; self.operands.len()];
        self.expr.visit(&mut |node| {
            if let ExprKind::Column(operand) = node.kind
                && let Some(slot) = types.get_mut(operand)
            {
                *slot = node.column_type;
            }
        });
        let released = |(operand, column_type): (&Operand, ColumnType)| {
            let Operand::Column(index) = operand else { return None };
            let origins = &input.get(*index)?.origins;
            let is_released = origins.as_they_are && !origins.from.is_empty();
            is_released.then(|| (origins.clone(), column_type))
        };
        let operands = self.operands.iter().zip(types);
        let operands = operands.map(released).collect::<Option<Vec<_>>>()?;
        (!operands.is_empty()).then(|| TracedExpression { expr: self.expr.clone(), operands })
    }
}

impl Node {
    /// Where the values of each column come from.
    fn origins(&self) -> Vec<Origins> {
        match self {
            Self::One => Vec::new(),
            Self::Released { table, columns, .. } => (0..columns.len())
                .map(|column| Origins { from: vec![(*table, column)], ..Origins::constant() })
                .collect(),
            Self::Filter(input, _) | Self::Sort(input, _) | Self::Limit { input, .. } => {
                input.origins()
            }
            Self::Distinct(input) => input.origins().into_iter().map(Origins::changed).collect(),
            Self::Project(input, columns) => {
                let input = input.origins();
                columns.iter().map(|column| column.origins(&input)).collect()
            }
            Self::Join(join) => {
                let both = [join.left.origins(), join.right.origins()].concat();
                let merged = join.merged.iter().map(|column| column.origins(&both));
                both.iter().cloned().chain(merged).collect()
            }
            Self::Set(set) => {
                let both = set.left.origins().into_iter().zip(set.right.origins());
                let both = both.map(|(left, right)| left.and(right));
                match set.operation {
                    SetOperation::UnionAll => both.collect(),
                    _ => both.map(Origins::changed).collect(),
                }
            }
            Self::Aggregate { input, keys, aggregates, .. } => {
                let input = input.origins();
                let keys = keys.iter().map(|key| key.origins(&input).changed());
                keys.chain(aggregates.iter().map(|_| Origins::unknown())).collect()
            }
            Self::Window(input, windows) => {
                let windows = windows.iter().map(|_| Origins::unknown());
                input.origins().into_iter().chain(windows).collect()
            }
        }
    }

    /// How the columns of a result can be followed back: its expressions to their operands.
    pub(super) fn traced(&self) -> Vec<ColumnTrace> {
        match self {
            Self::Sort(input, _) | Self::Limit { input, .. } => input.traced(),
            Self::Project(input, columns) => {
                let input = input.traced();
                let origins: Vec<Origins> = input.iter().map(|c| c.origins.clone()).collect();
                let column = |column: &Scalar| match column.as_column() {
                    Some(index) if index < input.len() => input[index].clone(),
                    _ => ColumnTrace {
                        origins: column.origins(&origins),
                        computed: column.traced(&input),
                    },
                };
                columns.iter().map(column).collect()
            }
            _ => {
                let plain = |origins| ColumnTrace { origins, computed: None };
                self.origins().into_iter().map(plain).collect()
            }
        }
    }
}
