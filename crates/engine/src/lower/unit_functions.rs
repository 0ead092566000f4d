//! Aggregates of a unit's rows as DataFusion's functions.
//!
//! They are total, and the same in every order of the rows.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};
use hushtable_plan::SortedAggregate;

use super::sorted::GroupedValues;
use super::sums::{GroupedSums, RunningWindow, SumOutput};
use super::whole_groups::{WholeGroups, WholeGroupsAccumulator, unplanned};

/// An aggregate that DataFusion has no total function for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum UnitFunction {
    /// SUM of integers, decimals or floats, of their own type; NULL where it overflows.
    Sum,
    /// AVG of integers, decimals or floats, as a float.
    Average,
    /// One that looks at all values together.
    Sorted(SortedAggregate),
}

impl UnitFunction {
    const ALL: [Self; 12] = [
        Self::Sum,
        Self::Average,
        Self::Sorted(SortedAggregate::CountDistinct),
        Self::Sorted(SortedAggregate::SumDistinct),
        Self::Sorted(SortedAggregate::AverageDistinct),
        Self::Sorted(SortedAggregate::Median),
        Self::Sorted(SortedAggregate::SampleVariance),
        Self::Sorted(SortedAggregate::PopulationVariance),
        Self::Sorted(SortedAggregate::SampleDeviation),
        Self::Sorted(SortedAggregate::PopulationDeviation),
        Self::Sorted(SortedAggregate::ArgMin),
        Self::Sorted(SortedAggregate::ArgMax),
    ];

    /// Its name in plans.
    fn name(self) -> &'static str {
        match self {
            Self::Sum => "total_sum",
            Self::Average => "total_average",
            Self::Sorted(SortedAggregate::CountDistinct) => "total_count_distinct",
            Self::Sorted(SortedAggregate::SumDistinct) => "total_sum_distinct",
            Self::Sorted(SortedAggregate::AverageDistinct) => "total_average_distinct",
            Self::Sorted(SortedAggregate::Median) => "total_median",
            Self::Sorted(SortedAggregate::SampleVariance) => "total_sample_variance",
            Self::Sorted(SortedAggregate::PopulationVariance) => "total_population_variance",
            Self::Sorted(SortedAggregate::SampleDeviation) => "total_sample_deviation",
            Self::Sorted(SortedAggregate::PopulationDeviation) => "total_population_deviation",
            Self::Sorted(SortedAggregate::ArgMin) => "total_arg_min",
            Self::Sorted(SortedAggregate::ArgMax) => "total_arg_max",
        }
    }

    /// The function for DataFusion's operators.
    pub(super) fn of_plans(self) -> Arc<AggregateUDF> {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(NamedFunction { function: self, signature }))
    }
}

/// One of these functions, by its name in plans.
pub(crate) fn unit_function(name: &str) -> Option<Arc<AggregateUDF>> {
    UnitFunction::ALL.into_iter().find(|of| of.name() == name).map(UnitFunction::of_plans)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NamedFunction {
    function: UnitFunction,
    signature: Signature,
}

impl AggregateUDFImpl for NamedFunction {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        use SortedAggregate as S;
        match self.function {
            UnitFunction::Sorted(S::CountDistinct) => Ok(DataType::Int64),
            UnitFunction::Sum | UnitFunction::Sorted(S::SumDistinct | S::ArgMin | S::ArgMax) => {
                types.first().cloned().ok_or_else(unplanned)
            }
            _ => Ok(DataType::Float64),
        }
    }

    /// For windows: rows come in the window's order, which is the same whatever the arrival.
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let mean = match self.function {
            UnitFunction::Sum => false,
            UnitFunction::Average => true,
            // Windows have none of these.
            UnitFunction::Sorted(_) => return Err(unplanned()),
        };
        Ok(Box::new(RunningWindow::new(SumOutput::of_one(mean, &types(&args))?)))
    }

    fn state_fields(&self, _: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        // Nothing is merged.
        Ok(Vec::new())
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let types = types(&args);
        Ok(match self.function {
            UnitFunction::Sum => whole(GroupedSums::new(SumOutput::of_one(false, &types)?)),
            UnitFunction::Average => whole(GroupedSums::new(SumOutput::of_one(true, &types)?)),
            UnitFunction::Sorted(aggregate) => whole(GroupedValues::new(aggregate, types)?),
        })
    }
}

fn types(args: &AccumulatorArgs<'_>) -> Vec<DataType> {
    args.expr_fields.iter().map(|field| field.data_type().clone()).collect()
}

fn whole(groups: impl WholeGroups) -> Box<dyn GroupsAccumulator> {
    Box::new(WholeGroupsAccumulator(groups))
}
