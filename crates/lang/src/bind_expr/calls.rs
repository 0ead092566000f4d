//! Functions.

use sqlparser::ast;

use super::common_types::{case_of, compare, concat, unify_all};
use super::foreign_calls::{hint_for_call, items};
use super::literals::integer;
use super::{Binder, Resolve};
use crate::aggregate_names::AGGREGATES;
use crate::call::Call;
use crate::error::{Refusal, similar};
use crate::expr::{BinaryOp, Expr, ExprKind};
use crate::functions::{
    Constants, Form, Function, Signature, Takes, all_names, forms, hint_for, scalar_names,
};
use crate::types::{ColumnType, Value};

impl<R: Resolve> Binder<'_, R> {
    pub(super) fn function(&mut self, function: &ast::Function) -> Result<Expr, Refusal> {
        let name = function.name.to_string().replace('`', "").to_uppercase();
        let arguments = plain_arguments(function, &name)?;
        let arguments: Vec<&ast::Expr> = arguments.iter().collect();
        if forms(&name).next().is_none()
            && let Some(hint) = hint_for_call(&name, &arguments, &|name| self.scope.names(name))
        {
            let refusal = unsupported(&name, arguments.len(), hint);
            return Err(refusal.at(&ast::Expr::Function(function.clone())));
        }
        self.named(&name, &arguments)
    }

    /// A call of the function of that name, by the table of functions.
    pub(super) fn named(&mut self, name: &str, arguments: &[&ast::Expr]) -> Result<Expr, Refusal> {
        for form in forms(name) {
            let bound = match &form.signature {
                Some(signature) => self.called(name, form, signature, arguments)?,
                None => match form.names.first() {
                    Some(of_ours) => self.written(of_ours, name, arguments)?,
                    None => None,
                },
            };
            if let Some(expr) = bound {
                return Ok(expr);
            }
        }
        match (name, arguments) {
            ("MIN" | "MAX", [x]) => {
                let column_type = self.bind(x).ok().map(|of| of.column_type);
                Err(extreme(name, x, column_type))
            }
            _ => Err(unknown_function(name, arguments.len())),
        }
    }

    /// A call with a signature; `None` with another number of arguments.
    fn called(
        &mut self,
        name: &str,
        form: &Form,
        signature: &Signature,
        arguments: &[&ast::Expr],
    ) -> Result<Option<Expr>, Refusal> {
        let Some(takes) = signature.for_arguments(arguments.len()) else { return Ok(None) };
        let (mut operands, mut constants) = (Vec::new(), Vec::new());
        for (node, takes) in arguments.iter().zip(&takes) {
            match takes {
                Takes::Value => operands.push(self.bind(node)?),
                Takes::Number => operands.push(self.number(node, name)?),
                Takes::Float => operands.push(self.float(node, name)?),
                Takes::Whole => operands.push(self.whole_number(node, name, form.example)?),
                Takes::Text => operands.push(self.text(node, name)?),
                Takes::ConstantText => operands.push(self.constant_text(node, form.example)?),
                Takes::Filling => {
                    let filling = self.constant_text(node, form.example)?;
                    if filling == Expr::literal(Value::String(String::new())) {
                        let what = format!("{name} needs a text to fill with, not {node}");
                        return Err(Refusal::new(what, form.example));
                    }
                    operands.push(filling);
                }
                Takes::Constant(fits, what) => {
                    let n = integer(&self.bind(node)?).filter(|n| fits(*n));
                    constants.push(n.ok_or_else(|| {
                        let what = format!("{name} needs a constant {what}, not `{node}`");
                        Refusal::new(what, form.example)
                    })?);
                }
            }
        }
        if takes.len() > arguments.len() && matches!(takes.last(), Some(Takes::Filling)) {
            operands.push(Expr::literal(Value::String(" ".to_owned())));
        }
        if takes.iter().all(|takes| matches!(takes, Takes::Value)) {
            operands = unify_all(operands, name)?;
        }
        let first = operands.first().map(|e| e.column_type);
        let Some(column_type) = signature.gives.or(first) else { return Ok(None) };
        Ok((signature.function)(Constants(&constants)).map(|function| match function {
            Function::Concat => concat(operands),
            _ => Expr::call(function, operands, column_type),
        }))
    }

    /// A form that has code of its own: `of_ours` is our name of it, and `name` the query's.
    fn written(
        &mut self,
        of_ours: &str,
        name: &str,
        arguments: &[&ast::Expr],
    ) -> Result<Option<Expr>, Refusal> {
        Ok(Some(match (of_ours, arguments) {
            ("LOG", [x, base]) => {
                let (x, base) = (self.float(x, name)?, self.float(base, name)?);
                quotient(log(x), log(base))
            }
            ("LOG2", [x]) => {
                let x = self.float(x, name)?;
                quotient(log(x), log(Expr::literal(Value::Float(2.0))))
            }
            ("POWER", [x, y]) => self.arithmetic(BinaryOp::Power, name, x, y)?,
            ("DIV", [x, y]) => self.arithmetic(BinaryOp::IntDiv, name, x, y)?,
            ("MOD", [x, y]) => self.arithmetic(BinaryOp::Mod, name, x, y)?,
            ("SAFE_DIVIDE", [x, y]) => self.arithmetic(BinaryOp::Div, name, x, y)?,
            ("CONTAINS", [_, _]) => {
                let one = Expr::literal(Value::Int(1));
                compare(BinaryOp::Ge, self.named("STRPOS", arguments)?, one)?
            }
            ("NULLIF", [x, y]) => {
                let (x, y) = (self.bind(x)?, self.bind(y)?);
                let equal = compare(BinaryOp::Eq, x.clone(), y)?;
                let null = Expr { column_type: x.column_type, ..Expr::literal(Value::Null) };
                case_of(vec![equal], vec![null, x])
            }
            ("IF", [condition, x, y]) => {
                let test = self.boolean(condition, "IF")?;
                let results = vec![self.bind(x)?, self.bind(y)?];
                case_of(vec![test], unify_all(results, "IF")?)
            }
            ("WIDTH_BUCKET" | "RANGE_BUCKET", _) => return self.bucket(name, arguments),
            ("JSON_VALUE", _) => return self.json_function(name, arguments, false),
            ("JSON_EXTRACT_STRING", _) => return self.json_function(name, arguments, true),
            _ if of_ours.starts_with("REGEXP") => {
                return self.pattern_function(of_ours, name, arguments);
            }
            _ => return self.date_function(of_ours, name, arguments),
        }))
    }
}

impl<R: Resolve> Binder<'_, R> {
    /// An item of a divided text: SPLIT(x, '/')[OFFSET(0)], or SAFE_OFFSET, ORDINAL, SAFE_ORDINAL.
    pub(super) fn item(
        &mut self,
        root: &ast::Expr,
        chain: &[ast::AccessExpr],
    ) -> Result<Expr, Refusal> {
        let form = "SPLIT(x, '/')[SAFE_OFFSET(0)] is the part before the first /";
        let odd = |what: String| Refusal::new(what, form);
        if let Some(hint) = items(root, chain) {
            return Err(Refusal::new(format!("an item of `{root}` is not supported"), hint));
        }
        let (
            ast::Expr::Function(split),
            [ast::AccessExpr::Subscript(ast::Subscript::Index { index })],
        ) = (root, chain)
        else {
            return Err(odd(format!("an item of `{root}` is not supported")));
        };
        let name = split.name.to_string().to_uppercase();
        let arguments = plain_arguments(split, &name)?;
        let (x, by) = match (name.as_str(), arguments.as_slice()) {
            ("SPLIT", [x]) => (x, Expr::literal(Value::String(",".to_owned()))),
            ("SPLIT", [x, by]) => (x, self.constant_text(by, form)?),
            _ => return Err(odd(format!("an item of `{root}` is not supported"))),
        };
        let offset = match index {
            ast::Expr::Function(called) => {
                let first = match called.name.to_string().to_uppercase().as_str() {
                    "OFFSET" | "SAFE_OFFSET" => Some(0),
                    "ORDINAL" | "SAFE_ORDINAL" => Some(1),
                    _ => None,
                };
                match (first, plain_arguments(called, "OFFSET")?.as_slice()) {
                    (Some(first), [n]) => {
                        integer(&self.bind(n)?).and_then(|n| n.checked_sub(first))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        let number = offset.filter(|n| *n >= 0).and_then(|n| i32::try_from(n.checked_add(1)?).ok());
        let Some(number) = number else {
            return Err(odd(format!("[{index}] is not a constant place in the result of SPLIT")));
        };
        let operands = vec![self.text(x, "SPLIT")?, by];
        let split = Function::SplitPart { part: number, or_empty: false };
        Ok(Expr::call(split, operands, ColumnType::String))
    }

    /// A text that is a constant.
    fn constant_text(&mut self, node: &ast::Expr, form: &str) -> Result<Expr, Refusal> {
        let expr = self.bind(node)?;
        if matches!(expr.kind, ExprKind::Literal(Value::String(_))) {
            return Ok(expr);
        }
        Err(Refusal::new(format!("`{node}` is not a constant text"), form))
    }
}

fn log(x: Expr) -> Expr {
    Expr::call(Function::Ln, vec![x], ColumnType::Float)
}

fn quotient(x: Expr, y: Expr) -> Expr {
    Expr::binary(BinaryOp::Div, x, y, ColumnType::Float)
}

/// Refuses the least or the greatest value.
fn extreme(name: &str, of: &ast::Expr, column_type: Option<ColumnType>) -> Refusal {
    use ColumnType as T;
    let share = if name == "MIN" { "0.01" } else { "0.99" };
    let frequent = format!("GROUP BY {of} with COUNT(*) shows the values that are frequent");
    let hint = match column_type {
        None | Some(T::Int | T::Decimal { .. } | T::Float) => format!(
            "PERCENTILE_CONT({of}, {share}) for numbers, which all records decide; or {frequent}"
        ),
        Some(T::Date | T::Timestamp) => format!(
            "PERCENTILE_CONT(DATE_DIFF({of}, DATE '2000-01-01', DAY), {share}, \
             contribution_bounds_per_row => (-40000, 40000)), in days since then, which all \
             records decide; or GROUP BY EXTRACT(YEAR FROM {of}) with COUNT(*)"
        ),
        Some(T::Bool) => format!("COUNTIF({of}), which says how many there are"),
        Some(T::String) => frequent,
    };
    let what = "is the value of one record, and noise that hides it would leave nothing of it";
    Refusal::new(format!("{name}({of}) {what}"), hint)
}

/// Refuses the call of a function that there is not, or not with so many arguments.
pub(super) fn unknown_function(name: &str, arguments: usize) -> Refusal {
    let hint = if let Some(hint) = hint_for(name) {
        hint
    } else if AGGREGATES.contains(&name) {
        format!(
            "{name}(…) stands in SELECT, HAVING or ORDER BY; for its value beside that of each \
             row, a sub-query: (SELECT {name}(…) FROM …)"
        )
    } else if let Some(form) = forms(name).next() {
        form.example.to_owned()
    } else {
        let others = all_names().filter_map(|(name, is_primary)| (!is_primary).then_some(name));
        match similar(name, function_names()).or_else(|| similar(name, others)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "write it with functions that there are, which docs/functions.md lists; or \
                     compute it in a column of the file"
                .to_owned(),
        }
    };
    unsupported(name, arguments, hint)
}

/// The names of all functions that a query may call, aggregates among them.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    scalar_names().chain(AGGREGATES)
}

fn unsupported(name: &str, arguments: usize, hint: impl Into<String>) -> Refusal {
    let plural = if arguments == 1 { "" } else { "s" };
    let what = format!("the function {name} with {arguments} argument{plural} is not supported");
    Refusal::new(what, hint)
}

/// The refusal of a call whose name is none, but nearly one of these.
pub fn misspelt_function(function: &ast::Function, names: &[&'static str]) -> Option<Refusal> {
    let name = function.name.to_string().replace('`', "").to_uppercase();
    if function_names().any(|known| known == name) {
        return None;
    }
    let meant = similar(&name, names.iter().copied())?;
    Some(Refusal::new(format!("there is no function {name}"), format!("did you mean `{meant}`?")))
}

/// The arguments of a call without named arguments, DISTINCT, OVER and the like.
pub(super) fn plain_arguments(
    function: &ast::Function,
    name: &str,
) -> Result<Vec<ast::Expr>, Refusal> {
    let odd = || {
        let known: Vec<&str> = function_names().collect();
        misspelt_function(function, &known).unwrap_or_else(|| {
            let hint = match function.over {
                Some(_) => "give it a name in a sub-query: (SELECT …, RANK() OVER (PARTITION BY \
                            the unit ORDER BY x) AS r FROM …), and use the name around it"
                    .to_owned(),
                None => format!("{name} takes plain arguments, without FILTER and DISTINCT"),
            };
            Refusal::new(format!("`{function}` is not supported here"), hint)
        })
    };
    let call = Call::of(function).ok_or_else(odd)?;
    let Call { arguments, duplicates: None, filter: None, nulls: None, over: None, within: [] } =
        call
    else {
        return Err(odd());
    };
    let plain = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => Ok(e.clone()),
        _ if AGGREGATES.contains(&name) => Err(unknown_function(name, arguments.len())),
        _ => Err(odd()),
    };
    arguments.iter().map(plain).collect()
}

pub(super) fn plain_rounding(field: &ast::CeilFloorKind) -> bool {
    matches!(field, ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime))
}
