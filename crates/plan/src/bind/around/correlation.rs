//! The columns from outside that a sub-query reads, and the copies of it that are planned.

use hushtable_lang::{BinaryOp, ExprKind};

use super::tree::{Aggregate, Node, Operand, Scalar, Window};

impl Node {
    /// The columns from outside that it reads, each once, by the level and the column of
    /// [`Operand::Outer`]. A sub-query without any has the same rows wherever it stands.
    pub fn outer_columns(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        self.add_outer(&mut found);
        found
    }

    /// Whether it aggregates all of its rows as one of several levels.
    pub(super) fn has_total(&self) -> bool {
        let is_total = match self {
            Self::Aggregate { levels, .. } => levels.iter().flatten().any(Vec::is_empty),
            _ => false,
        };
        is_total || self.inputs().into_iter().any(Self::has_total)
    }

    fn add_outer(&self, found: &mut Vec<(usize, usize)>) {
        self.inputs().into_iter().for_each(|input| input.add_outer(found));
        self.scalars().into_iter().for_each(|scalar| scalar.add_outer(found));
    }

    /// The columns of all nodes of its plan, written out.
    pub(super) fn written_out(&self) -> usize {
        let inputs = self.inputs().into_iter().map(Self::written_out);
        let is_condition = matches!(self, Self::Filter(..));
        let scalars = self.scalars().into_iter().map(|scalar| {
            let again = scalar.planned_again(is_condition);
            let nodes = scalar.operands.iter().filter_map(Operand::node);
            nodes.map(Self::written_out).fold(again, usize::saturating_add)
        });
        inputs.chain(scalars).fold(self.width(), usize::saturating_add)
    }

    fn inputs(&self) -> Vec<&Self> {
        match self {
            Self::One | Self::Released { .. } => Vec::new(),
            Self::Filter(input, _)
            | Self::Project(input, _)
            | Self::Distinct(input)
            | Self::Window(input, _)
            | Self::Sort(input, _)
            | Self::Aggregate { input, .. }
            | Self::Limit { input, .. } => vec![input],
            Self::Join(join) => vec![&join.left, &join.right],
            Self::Set(set) => vec![&set.left, &set.right],
        }
    }

    /// The expressions that it computes of its input.
    fn scalars(&self) -> Vec<&Scalar> {
        match self {
            Self::One
            | Self::Released { .. }
            | Self::Distinct(_)
            | Self::Limit { .. }
            | Self::Set(_) => Vec::new(),
            Self::Filter(_, condition) => vec![condition],
            Self::Project(_, columns) => columns.iter().collect(),
            Self::Join(join) => join.on.iter().chain(&join.merged).collect(),
            Self::Aggregate { keys, aggregates, .. } => {
                keys.iter().chain(aggregates.iter().flat_map(Aggregate::scalars)).collect()
            }
            Self::Window(_, windows) => windows.iter().flat_map(Window::scalars).collect(),
            Self::Sort(_, by) => by.iter().map(|key| &key.value).collect(),
        }
    }
}

impl Scalar {
    fn add_outer(&self, found: &mut Vec<(usize, usize)>) {
        let mut add = |column: (usize, usize)| {
            if !found.contains(&column) {
                found.push(column);
            }
        };
        for operand in &self.operands {
            let node = match operand {
                Operand::Column(_) => continue,
                Operand::Outer { level, column } => {
                    add((*level, *column));
                    continue;
                }
                Operand::Value(node) | Operand::Exists(node) => node,
                Operand::Among(value, node) => {
                    let mut columns = Vec::new();
                    value.add_outer(&mut columns);
                    columns.into_iter().for_each(&mut add);
                    node
                }
            };
            // Those of the nearest level are columns of the input of this expression.
            for (level, column) in node.outer_columns() {
                if let Some(level) = level.checked_sub(1) {
                    add((level, column));
                }
            }
        }
    }
}

impl Scalar {
    /// In a condition, the operands of which it matters only whether they are true: AND and OR join
    /// them, and false in the place of NULL keeps the same rows.
    pub fn only_if_true(&self) -> Vec<usize> {
        let (mut joined, mut conditions) = (Vec::new(), vec![&self.expr]);
        let mut elsewhere = Vec::new();
        while let Some(condition) = conditions.pop() {
            match &condition.kind {
                ExprKind::Binary(BinaryOp::And | BinaryOp::Or, left, right) => {
                    conditions.extend([left.as_ref(), right.as_ref()]);
                }
                ExprKind::Column(operand) => joined.push(*operand),
                _ => condition.visit_columns(&mut |operand| elsewhere.push(operand)),
            }
        }
        joined.retain(|operand| !elsewhere.contains(operand));
        joined
    }

    /// The columns of sub-queries that are planned twice: those of IN, where it matters that it may
    /// be NULL.
    pub(super) fn planned_again(&self, is_condition: bool) -> usize {
        let once = if is_condition { self.only_if_true() } else { Vec::new() };
        let again = self.operands.iter().enumerate().filter_map(|(index, operand)| match operand {
            Operand::Among(_, node) if !once.contains(&index) => Some(node.written_out()),
            _ => None,
        });
        again.fold(0, usize::saturating_add)
    }
}

impl Operand {
    /// The sub-query that it is, if it is one.
    fn node(&self) -> Option<&Node> {
        match self {
            Self::Column(_) | Self::Outer { .. } => None,
            Self::Value(node) | Self::Exists(node) | Self::Among(_, node) => Some(node),
        }
    }
}

impl Aggregate {
    /// The expressions over rows that it reads.
    pub fn scalars(&self) -> impl Iterator<Item = &Scalar> {
        self.operands.iter().chain(&self.filter)
    }
}

impl Window {
    /// The expressions over rows that it reads.
    pub fn scalars(&self) -> impl Iterator<Item = &Scalar> {
        let order_by = self.order_by.iter().map(|key| &key.value);
        self.operands.iter().chain(&self.partition_by).chain(order_by)
    }
}
