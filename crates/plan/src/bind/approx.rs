//! APPROX_QUANTILES(x, n): the quantiles at 1/n, 2/n, … of a column.
//!
//! The least and the greatest value, which GoogleSQL lists as well, are those of one record.

use hushtable_lang::{Expr, ExprKind, Refusal, Value};
use sqlparser::ast;

use super::collected::Aggregates;

/// Most buckets that the values are divided into.
const MAX_BUCKETS: u32 = 100;

const FORM: &str = "APPROX_QUANTILES(x, 4)[OFFSET(1)] is the first quartile; alone in SELECT, \
                    APPROX_QUANTILES(x, 4) shows three columns";

impl Aggregates<'_> {
    /// How many buckets the call divides the values into.
    pub(super) fn buckets(&self, function: &ast::Function) -> Result<u32, Refusal> {
        let buckets = match &function.args {
            ast::FunctionArguments::List(list) => list.args.get(1),
            _ => None,
        };
        let buckets = match buckets {
            Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(node))) => self.small(node),
            _ => None,
        };
        buckets.filter(|n| (2..=MAX_BUCKETS).contains(n)).ok_or_else(|| {
            Refusal::new(
                format!("`{function}` needs a constant number of parts from 2 to {MAX_BUCKETS}"),
                FORM,
            )
        })
    }

    fn small(&self, node: &ast::Expr) -> Option<u32> {
        match self.row(node).ok()?.kind {
            ExprKind::Literal(Value::Int(n)) => u32::try_from(n).ok(),
            _ => None,
        }
    }

    /// The quantile at an index of the list, from 1 to one less than there are buckets.
    pub(super) fn quantile_of(
        &mut self,
        function: &ast::Function,
        index: u32,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let buckets = self.buckets(function)?;
        if !(1..buckets).contains(&index) {
            return Err(Refusal::new(
                format!("`{function}` at {index} is the value of one record"),
                format!("[OFFSET(1)] to [OFFSET({})]", buckets - 1),
            ));
        }
        // To four decimal places, which are all that quantiles are told apart by.
        let share = (2 * 10_000 * index + buckets) / (2 * buckets);
        let share = ast::Value::Number(format!("0.{share:04}"), false);
        let mut one = function.clone();
        if let ast::FunctionArguments::List(list) = &mut one.args
            && let Some(second) = list.args.get_mut(1)
        {
            let share = ast::Expr::Value(share.into());
            *second = ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(share));
        }
        let name = "PERCENTILE_DISC";
        let arguments = self.arguments(&one, name)?;
        self.quantile(function, name, &arguments, keys)
    }

    /// The quantile at [OFFSET(1)], [SAFE_OFFSET(1)], [ORDINAL(2)] or [SAFE_ORDINAL(2)].
    pub(super) fn quantile_in_list(
        &mut self,
        function: &ast::Function,
        index: &ast::Expr,
        keys: usize,
    ) -> Result<Expr, Refusal> {
        let odd = || Refusal::new(format!("`{function}[{index}]` is not supported"), FORM);
        let ast::Expr::Function(called) = index else { return Err(odd()) };
        let ast::FunctionArguments::List(list) = &called.args else { return Err(odd()) };
        let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(node))] = list.args.as_slice()
        else {
            return Err(odd());
        };
        let offset = self.small(node).ok_or_else(odd)?;
        let offset = match called.name.to_string().to_uppercase().as_str() {
            "OFFSET" | "SAFE_OFFSET" => offset,
            "ORDINAL" | "SAFE_ORDINAL" => offset.checked_sub(1).ok_or_else(odd)?,
            _ => return Err(odd()),
        };
        self.quantile_of(function, offset, keys)
    }
}
