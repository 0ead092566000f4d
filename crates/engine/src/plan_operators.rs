//! The parts that operators of plans have in common.

use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::ExecutionPlan;

use crate::invariant::Invariant;

/// The methods of [`ExecutionPlan`] that follow from a field `input`, whose rows the operator
/// passes on or leaves out.
macro_rules! passes_rows {
    () => {
        fn properties(&self) -> &std::sync::Arc<datafusion::physical_plan::PlanProperties> {
            self.input.properties()
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            vec![&self.input]
        }

        fn maintains_input_order(&self) -> Vec<bool> {
            vec![true]
        }

        fn benefits_from_input_partitioning(&self) -> Vec<bool> {
            vec![false]
        }

        crate::plan_operators::has_no_expressions!();
    };
}

/// The method of [`ExecutionPlan`] for an operator without expressions of DataFusion.
macro_rules! has_no_expressions {
    () => {
        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_plan::PhysicalExpr>,
            ) -> datafusion::error::Result<
                datafusion::common::tree_node::TreeNodeRecursion,
            >,
        ) -> datafusion::error::Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }
    };
}

/// Shows an operator by its name alone, in plans as in messages.
macro_rules! shown_by_name {
    ($operator:ident) => {
        impl std::fmt::Debug for $operator {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($operator))
            }
        }

        impl datafusion::physical_plan::DisplayAs for $operator {
            fn fmt_as(
                &self,
                _: datafusion::physical_plan::DisplayFormatType,
                f: &mut std::fmt::Formatter<'_>,
            ) -> std::fmt::Result {
                f.write_str(stringify!($operator))
            }
        }
    };
}

pub(crate) use {has_no_expressions, passes_rows, shown_by_name};

/// The one child of an operator.
pub(crate) fn only_child(children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    let [input] = <[_; 1]>::try_from(children).map_err(|_| {
        DataFusionError::from(Invariant::new("an operator of one input was given others"))
    })?;
    Ok(input)
}
