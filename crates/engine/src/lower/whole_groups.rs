//! Groups of a unit's rows. All rows of a unit meet in one operator, so that nothing is merged.

use std::fmt;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use crate::invariant::Invariant;

#[track_caller]
pub(super) fn unplanned() -> DataFusionError {
    Invariant::new("an aggregate met a type or a mode that it is not planned for").into()
}

/// Groups of which all rows come to one place.
pub(super) trait WholeGroups: fmt::Debug + Send + 'static {
    /// Adds rows: their values, each of the row's group.
    fn add(&mut self, values: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()>;

    /// The results of the first groups, which are forgotten; the others count from zero again.
    fn results(&mut self, emit_to: EmitTo) -> Result<ArrayRef>;

    /// The bytes in use.
    fn bytes(&self) -> usize;
}

/// The accumulator of such groups for DataFusion.
#[derive(Debug)]
pub(super) struct WholeGroupsAccumulator<G>(pub(super) G);

impl<G: WholeGroups> GroupsAccumulator for WholeGroupsAccumulator<G> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        if filter.is_some() || values.iter().any(|column| column.len() != groups.len()) {
            return Err(unplanned());
        }
        self.0.add(values, groups, total_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.results(emit_to)
    }

    fn state(&mut self, _: EmitTo) -> Result<Vec<ArrayRef>> {
        Err(unplanned())
    }

    fn convert_to_state(&self, _: &[ArrayRef], _: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        Err(unplanned())
    }

    fn merge_batch(&mut self, _: &[ArrayRef], _: &[usize], _: usize) -> Result<()> {
        Err(unplanned())
    }

    fn size(&self) -> usize {
        self.0.bytes()
    }
}
