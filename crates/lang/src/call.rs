//! Calls of functions, taken apart whole.

use sqlparser::ast;

/// A call in the usual form: a name, and arguments in brackets.
pub struct Call<'a> {
    /// The arguments; none where there are no brackets, as in `CURRENT_DATE`.
    pub arguments: &'a [ast::FunctionArg],
    /// DISTINCT or ALL before them.
    pub duplicates: Option<ast::DuplicateTreatment>,
    /// FILTER (WHERE …).
    pub filter: Option<&'a ast::Expr>,
    /// IGNORE NULLS or RESPECT NULLS.
    pub nulls: Option<&'a ast::NullTreatment>,
    /// OVER.
    pub over: Option<&'a ast::WindowType>,
    /// The order in WITHIN GROUP (ORDER BY …).
    pub within: &'a [ast::OrderByExpr],
}

impl<'a> Call<'a> {
    /// The clauses of a call. `None` for one that has others: a sub-query or clauses in its
    /// brackets, or a second list of arguments. All fields of the syntax are named, so that none of
    /// a new version of the parser is accepted in silence.
    pub fn of(function: &'a ast::Function) -> Option<Self> {
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
    fn a_call_with_other_clauses_is_refused() {
        for text in ["SUM(DISTINCT x)", "COUNT(*) FILTER (WHERE x > 1)", "RANK() OVER (ORDER BY x)"]
        {
            assert!(is_usual(text), "{text}");
        }
        for text in ["ANY_VALUE(x ORDER BY y)", "SUM(x ORDER BY y LIMIT 1)"] {
            assert!(!is_usual(text), "{text}");
        }
    }
}
