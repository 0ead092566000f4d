//! A row more for the side of a join that is put into tables, so that none of these is empty.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, stream};

use super::{SharedPlan, column};
use crate::plan_operators::{has_no_expressions, only_child, shown_by_name};

/// The value of the last column in rows of the input.
const OF_INPUT: i64 = 1;

/// Passes rows on, with one more in each partition, and with a column that tells them apart.
///
/// DataFusion does not read the rows that look up in a table where this is empty. So the first row
/// of a table would cost the time of all that look up, and the time of a query would show that it
/// is there. The column is one of the join's keys, and no row that looks up has the value of the
/// row that is added: it has no partner.
///
/// As there are two keys, the table is never an array by the key, which DataFusion chooses where
/// keys are close to each other: one row far from the others would change it.
pub(crate) struct ExtraRowExec {
    input: Arc<dyn ExecutionPlan>,
    /// The row that is added.
    extra: RecordBatch,
    properties: Arc<PlanProperties>,
}

impl ExtraRowExec {
    /// # Errors
    /// When there is no value of a column's type.
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let schema = input.schema();
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        let value = |of: &DataType| ScalarValue::new_default(of)?.to_array();
        let mut values =
            fields.iter().map(|field| value(field.data_type())).collect::<Result<Vec<_>>>()?;
        fields.push(Arc::new(Field::new("of_input", DataType::Int64, false)));
        values.push(Arc::new(Int64Array::from_value(OF_INPUT - 1, 1)));
        let extra = RecordBatch::try_new(Arc::new(Schema::new(fields)), values)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(extra.schema()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Ok(Self { input, extra, properties: Arc::new(properties) })
    }
}

/// The side of a join that looks up, with the column of [`ExtraRowExec`] behind the others.
pub(super) fn of_input(plan: SharedPlan) -> Result<SharedPlan> {
    let width = plan.schema().fields().len();
    let mut exprs: Vec<(Arc<dyn PhysicalExpr>, String)> =
        (0..width).map(|index| (column(&plan, index), index.to_string())).collect();
    exprs.push((lit(OF_INPUT), width.to_string()));
    Ok(Arc::new(ProjectionExec::try_new(exprs, plan)?))
}

shown_by_name!(ExtraRowExec);

impl ExecutionPlan for ExtraRowExec {
    fn name(&self) -> &'static str {
        "ExtraRowExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    has_no_expressions!();

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(only_child(children)?)?))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let schema = self.extra.schema();
        let with_column = {
            let schema = Arc::clone(&schema);
            move |batch: Result<RecordBatch>| {
                let batch = batch?;
                let of_input: ArrayRef =
                    Arc::new(Int64Array::from_value(OF_INPUT, batch.num_rows()));
                let columns = batch.columns().iter().cloned().chain([of_input]);
                Ok(RecordBatch::try_new(Arc::clone(&schema), columns.collect())?)
            }
        };
        let extra = stream::iter([Ok(self.extra.clone())]);
        let batches = input.map(with_column).chain(extra);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
