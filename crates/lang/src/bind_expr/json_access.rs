//! Values of JSON texts: JSON_VALUE, `->` and `->>`.

use sqlparser::ast::{self, BinaryOperator};

use super::literals::integer;
use super::{Binder, Resolve};
use crate::error::Refusal;
use crate::expr::{Expr, ExprKind};
use crate::functions::Function;
use crate::json::MAX_JSON_DEPTH;
use crate::json_path::{JsonPath, JsonStep};
use crate::types::{ColumnType, Value, text_as_sql};

impl<R: Resolve> Binder<'_, R> {
    /// A function of a JSON text and a path; `None` of other arguments.
    pub(super) fn json_function(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        containers: bool,
    ) -> Result<Option<Expr>, Refusal> {
        let (x, path) = match arguments {
            [x] => (x, JsonPath::new(Vec::new())),
            [x, path] => (x, Some(self.json_path(name, path)?)),
            _ => return Ok(None),
        };
        let Some(path) = path else { return Ok(None) };
        Ok(Some(at_path(self.text(x, name)?, &path, containers)))
    }

    /// The path that a constant is.
    fn json_path(&mut self, name: &str, node: &ast::Expr) -> Result<JsonPath, Refusal> {
        let ExprKind::Literal(Value::String(text)) = self.bind(node)?.kind else {
            let what = format!("{name} needs a constant path, not `{node}`");
            return Err(Refusal::new(what, format!("{name}(x, '$.a')")).at(node));
        };
        JsonPath::parse(&text).ok_or_else(|| no_path(&text).at(node))
    }

    /// The text of the value to which `->>` leads, after any number of `->`.
    pub(super) fn json_text(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Expr, Refusal> {
        // The parser nests to the left, so the chain is walked and not recursed into.
        let (mut root, mut nodes) = (left, vec![right]);
        loop {
            match root {
                ast::Expr::BinaryOp { left, op: BinaryOperator::Arrow, right } => {
                    nodes.push(right);
                    root = left;
                }
                ast::Expr::Nested(inner) if is_json(inner) => root = inner,
                _ => break,
            }
        }
        let too_long = || {
            Refusal::new(
                format!("a path into JSON has more than {MAX_JSON_DEPTH} steps"),
                format!("JSON is read up to {MAX_JSON_DEPTH} levels deep: use fewer ->"),
            )
            .nowhere()
        };
        if nodes.len() > MAX_JSON_DEPTH {
            return Err(too_long());
        }
        let mut steps = Vec::new();
        for node in nodes.iter().rev() {
            steps.extend(self.json_steps(node)?);
        }
        let path = JsonPath::new(steps).ok_or_else(too_long)?;
        Ok(at_path(self.text(root, "->>")?, &path, true))
    }

    /// The steps of what stands to the right of an arrow: a key, the number of an item or a path.
    fn json_steps(&mut self, node: &ast::Expr) -> Result<Vec<JsonStep>, Refusal> {
        let bound = self.bind(node)?;
        if let Some(number) = integer(&bound) {
            let item = usize::try_from(number).map_err(|_| {
                let what = format!("the item {number} would count from the end of an array");
                Refusal::new(what, "items count from 0, as in x ->> 0").at(node)
            })?;
            return Ok(vec![JsonStep::Item(item)]);
        }
        let ExprKind::Literal(Value::String(text)) = bound.kind else {
            return Err(Refusal::new(
                format!("`{node}` is not a constant key, number of an item or path"),
                "x ->> 'key', x ->> 0 or x ->> '$.a[0]'; (x ->> 'key')::INT64 for a number",
            )
            .at(node));
        };
        if text.starts_with('$') {
            let path = JsonPath::parse(&text).ok_or_else(|| no_path(&text).at(node))?;
            return Ok(path.into_steps());
        }
        if text.starts_with('/') {
            let what = format!("'{text}' is a pointer for DuckDB and a key for PostgreSQL");
            let key = JsonPath::new(vec![JsonStep::Key(text)]);
            let key = key.as_ref().map(quoted).unwrap_or_default();
            let hint = format!("{key} for the key; '$.a[0]' is a path");
            return Err(Refusal::new(what, hint).at(node));
        }
        Ok(vec![JsonStep::Key(text)])
    }
}

/// Refuses `->` where no `->>` follows.
pub(super) fn json_alone(left: &ast::Expr, right: &ast::Expr) -> Refusal {
    Refusal::new(
        format!("`{left} -> {right}` is JSON, which no column has as its type"),
        format!("{left} ->> {right} is the text there"),
    )
}

fn is_json(node: &ast::Expr) -> bool {
    match node {
        ast::Expr::BinaryOp { left: _, op, right: _ } => *op == BinaryOperator::Arrow,
        ast::Expr::Nested(inner) => is_json(inner),
        _ => false,
    }
}

/// The text of the value at a path. The path is written in one way, however the query has it.
fn at_path(text: Expr, path: &JsonPath, containers: bool) -> Expr {
    let path = Expr::literal(Value::String(path.to_string()));
    Expr::call(Function::JsonText { containers }, vec![text, path], ColumnType::String)
}

fn quoted(path: &JsonPath) -> String {
    text_as_sql(&path.to_string())
}

/// Refuses a text that is no path.
fn no_path(text: &str) -> Refusal {
    let hint = match JsonPath::meant_by(text) {
        Some(meant) => quoted(&meant),
        None => "a path leads to one value by keys and by numbers of items from 0, as in \
                 '$.a.\"b c\"[0]'"
            .to_owned(),
    };
    Refusal::new(format!("'{text}' is not a path into JSON"), hint)
}
