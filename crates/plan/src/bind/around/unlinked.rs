//! Tables in FROM that no equality joins: all pairs of their rows meet.
//!
//! How many rows a release has is not known before it is charged, so too many pairs are refused
//! only when they are computed. That several tables of any size are paired with each other can be
//! seen from the tree, and refused for free.

use std::ops::Range;

use hushtable_lang::{BinaryOp, Expr, ExprKind, Refusal};

use super::tree::{Node, Operand, Scalar};

/// Most tables in FROM that may have several rows and that no equality joins.
const MAX_UNLINKED: usize = 3;

/// Refuses a FROM of several tables whose rows all meet, with the condition of its WHERE.
pub(super) fn check_linked(from: &Node, condition: Option<&Scalar>) -> Result<(), Refusal> {
    let mut tables = FromTables::default();
    tables.add(from, 0);
    if tables.all.len() <= MAX_UNLINKED {
        return Ok(());
    }
    tables.link(condition, 0);
    let several = tables.all.iter().filter(|(_, node, _)| !node.has_one_row());
    let mut several: Vec<usize> = several.map(|(_, _, lead)| *lead).collect();
    several.sort_unstable();
    several.dedup();
    if several.len() <= MAX_UNLINKED {
        return Ok(());
    }
    Err(Refusal::new(
        format!(
            "FROM has {} tables of several rows that no equality joins; at most \
             {MAX_UNLINKED} are allowed, as all combinations of their rows are made",
            several.len()
        ),
        "JOIN … ON a.key = b.key, or aggregate tables to one row each before they are joined",
    ))
}

/// The tables of FROM.
#[derive(Default)]
struct FromTables<'t> {
    /// Each with its columns, and the index of the first one that equalities lead to.
    all: Vec<(Range<usize>, &'t Node, usize)>,
    /// The columns that USING computes of both sides of a FULL JOIN, with the tables that each is
    /// from.
    merged: Vec<(usize, Vec<usize>)>,
}

impl<'t> FromTables<'t> {
    /// Adds the tables of a join, whose columns begin with that index.
    fn add(&mut self, node: &'t Node, first: usize) {
        let Node::Join(join) = node else {
            let lead = self.all.len();
            self.all.push((first..first + node.width(), node, lead));
            return;
        };
        self.add(&join.left, first);
        self.add(&join.right, first + join.left.width());
        self.link(join.on.as_ref(), first);
        let pairs = join.left.width() + join.right.width();
        for (index, Scalar { expr, operands }) in join.merged.iter().enumerate() {
            let from = self.read_by(expr, operands, first);
            self.merged.push((first + pairs + index, from));
        }
    }

    /// Links tables by the equalities of a condition over columns that begin with that index.
    fn link(&mut self, condition: Option<&Scalar>, first: usize) {
        let Some(Scalar { expr, operands }) = condition else { return };
        let mut conjuncts = vec![expr];
        while let Some(conjunct) = conjuncts.pop() {
            let ExprKind::Binary(op, left, right) = &conjunct.kind else { continue };
            match op {
                BinaryOp::And => conjuncts.extend([left.as_ref(), right.as_ref()]),
                BinaryOp::Eq => {
                    let left = self.read_by(left, operands, first);
                    let right = self.read_by(right, operands, first);
                    let apart = left.iter().all(|table| !right.contains(table));
                    if !left.is_empty() && !right.is_empty() && apart {
                        self.lead([left, right].concat());
                    }
                }
                _ => {}
            }
        }
    }

    /// The tables whose columns an expression reads.
    fn read_by(&self, expr: &Expr, operands: &[Operand], first: usize) -> Vec<usize> {
        let mut read = Vec::new();
        expr.visit_columns(&mut |operand| {
            let Some(Operand::Column(column)) = operands.get(operand) else { return };
            let column = column + first;
            let table = self.all.iter().position(|(columns, ..)| columns.contains(&column));
            let merged = self.merged.iter().filter(|(merged, _)| *merged == column);
            for table in merged.flat_map(|(_, tables)| tables).copied().chain(table) {
                if !read.contains(&table) {
                    read.push(table);
                }
            }
        });
        read
    }

    /// Makes one group of the groups of these tables.
    fn lead(&mut self, tables: Vec<usize>) {
        let leads: Vec<usize> = tables.iter().map(|&table| self.all[table].2).collect();
        let Some(&first) = leads.iter().min() else { return };
        let members = self.all.iter_mut().filter(|(_, _, lead)| leads.contains(lead));
        members.for_each(|(_, _, lead)| *lead = first);
    }
}
