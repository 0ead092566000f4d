//! Calls of functions, taken apart whole.

use sqlparser::ast;

/// A call in the usual form: a name, and arguments in brackets.
pub(crate) struct Call<'a> {
    /// The arguments; none where there are no brackets, as in `CURRENT_DATE`.
    pub(crate) arguments: &'a [ast::FunctionArg],
    /// DISTINCT or ALL before them.
    pub(crate) duplicates: Option<ast::DuplicateTreatment>,
    /// FILTER (WHERE …).
    pub(crate) filter: Option<&'a ast::Expr>,
    /// IGNORE NULLS or RESPECT NULLS.
    pub(crate) nulls: Option<&'a ast::NullTreatment>,
    /// OVER.
    pub(crate) over: Option<&'a ast::WindowType>,
    /// The order in WITHIN GROUP (ORDER BY …).
    pub(crate) within: &'a [ast::OrderByExpr],
}

impl<'a> Call<'a> {
    /// The parts of a call. `None` for one that has others: a sub-query or clauses in its brackets,
    /// or a second list of arguments. All fields of the syntax are named, so that none of a new
    /// version of the parser is accepted in silence.
    pub(crate) fn of(function: &'a ast::Function) -> Option<Self> {
        let ast::Function {
            name: _,
            uses_odbc_syntax: false,
            parameters: ast::FunctionArguments::None,
            args,
            filter,
            null_treatment,
            over,
            within_group,
        } = function
        else {
            return None;
        };
        let (arguments, duplicates) = match args {
            ast::FunctionArguments::None => (&[][..], None),
            ast::FunctionArguments::Subquery(_) => return None,
            ast::FunctionArguments::List(list) => {
                let ast::FunctionArgumentList { duplicate_treatment, args, clauses } = list;
                if !clauses.is_empty() {
                    return None;
                }
                (args.as_slice(), *duplicate_treatment)
            }
        };
        let (filter, nulls) = (filter.as_deref(), null_treatment.as_ref());
        let (over, within) = (over.as_ref(), within_group.as_slice());
        Some(Self { arguments, duplicates, filter, nulls, over, within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse_expression;

    /// Whether a text is a call in the usual form.
    fn is_usual(text: &str) -> bool {
        match parse_expression(text, false).unwrap() {
            ast::Expr::Function(function) => Call::of(&function).is_some(),
            other => panic!("{other} is no call"),
        }
    }

    #[test]
    fn a_call_with_other_parts_is_refused() {
        for text in ["SUM(DISTINCT x)", "COUNT(*) FILTER (WHERE x > 1)", "RANK() OVER (ORDER BY x)"]
        {
            assert!(is_usual(text), "{text}");
        }
        for text in ["ANY_VALUE(x ORDER BY y)", "SUM(x ORDER BY y LIMIT 1)"] {
            assert!(!is_usual(text), "{text}");
        }
    }

    #[test]
    fn orders_of_groups_are_for_percentiles() {
        let contract = r#"
            [tables.t]
            path = "t.csv"
            privacy_unit = "row"
            [tables.t.columns]
            x = { type = "int", bounds = [0, 9] }
            [tables.t.defaults]
            epsilon = 1
            [tables.t.budgets]
            ana = { epsilon = 1 }
        "#;
        let contract = crate::Contract::parse(contract, "hushtable.toml").unwrap();
        assert!(crate::bind("SELECT SUM(x) FROM t", &contract).is_ok());
        for sum in ["SUM(x) WITHIN GROUP (ORDER BY x)", "SUM(ABS(x) WITHIN GROUP (ORDER BY x))"] {
            let refused = crate::bind(&format!("SELECT {sum} FROM t"), &contract);
            assert!(refused.unwrap_err().what.contains("is not supported"), "{sum}");
        }
    }
}
