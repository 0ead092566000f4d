//! Groups that the query itself names: no row can have another value of the key.
//!
//! Conditions such as `town IN ('Ashford', 'Wick')` name them, and so do keys that are conditions
//! themselves, or a CASE of constants. All follows from the query's structure, so that who sees the
//! query knows the groups: they are public.

use std::cmp::Ordering;
use std::collections::HashSet;

use hushtable_contract::MAX_PUBLIC_KEYS;
use hushtable_lang::{BinaryOp, ColumnType, Expr, ExprKind, Function, Value};

use super::Key;
use crate::relation::{JoinKind, KnownValues, Operator, Relation};

/// Gives the keys that have no public values of the contract those that the query names, where
/// there are not too many groups then.
pub(super) fn name_groups(keys: &mut [Key], relation: &Relation, conditions: &[Expr]) {
    let mut known = KnownValues::of(relation, None);
    known.assume(conditions);
    let values = |key: &Key| match &key.public {
        Some(_) => None,
        None => values_of_key(&key.expr, relation, conditions, &known),
    };
    let named: Vec<Option<Vec<Value>>> = keys.iter().map(values).collect();
    let sizes = keys.iter().zip(&named).map(|(key, named)| {
        let listed = named.as_ref().or(key.public.as_ref()).or(key.known.as_ref());
        listed.map_or(1, Vec::len)
    });
    if sizes.fold(1, usize::saturating_mul) > MAX_PUBLIC_KEYS {
        return;
    }
    for (key, named) in keys.iter_mut().zip(named) {
        if named.is_some() {
            (key.public, key.by_query) = (named, true);
        }
    }
}

/// The values that a key can have, each once, in the order in which chosen groups are shown.
fn values_of_key(
    key: &Expr,
    relation: &Relation,
    conditions: &[Expr],
    known: &KnownValues,
) -> Option<Vec<Value>> {
    let mut values = None;
    // A condition; a column is named by nothing but its type.
    if key.column_type == ColumnType::Bool && !matches!(key.kind, ExprKind::Column(_)) {
        let mut truths = vec![Value::Bool(false), Value::Bool(true)];
        if !known.is_never_null(key) {
            truths.push(Value::Null);
        }
        values = Some(truths);
    }
    for condition in conditions {
        values = both(values, possible_values(condition, key));
    }
    let mut values = both(values, of_relation(relation, key))?;
    values.sort_by(order);
    let fits =
        |value: &Value| value.column_type().is_none_or(|value_type| value_type == key.column_type);
    (!values.is_empty() && values.iter().all(fits)).then_some(values)
}

/// The values that an expression over a relation's columns can have.
fn of_relation(relation: &Relation, expr: &Expr) -> Option<Vec<Value>> {
    let column = match expr.kind {
        ExprKind::Column(index) => Some(index),
        _ => None,
    };
    let below = match relation.operator() {
        Operator::Scan { .. } => None,
        Operator::Filter { input, condition } => {
            both(possible_values(condition, expr), of_relation(input, expr))
        }
        Operator::First { input, .. } | Operator::Take { input, .. } => of_relation(input, expr),
        Operator::Window { input, .. } => {
            reads_below(expr, input.fields().len()).then(|| of_relation(input, expr)).flatten()
        }
        Operator::Project { input, columns } => {
            column.and_then(|index| of_relation(input, &columns.get(index)?.expr))
        }
        Operator::Aggregate { input, keys, .. } => {
            column.and_then(|index| of_relation(input, &keys.get(index)?.expr))
        }
        Operator::UnionAll { inputs } => {
            let each = inputs.iter().map(|input| of_relation(input, expr));
            each.collect::<Option<Vec<_>>>().map(|all| once(all.into_iter().flatten()))
        }
        Operator::Join { kind, left, right, .. } => {
            let shift = left.fields().len();
            match column.and_then(|index| index.checked_sub(shift)) {
                Some(index) if *kind == JoinKind::Inner => {
                    of_relation(right, &Expr::column(index, expr.column_type))
                }
                Some(_) => None,
                None if reads_below(expr, shift) => of_relation(left, expr),
                None => None,
            }
        }
    };
    both(constants(expr), below)
}

/// Whether an expression reads no column from `width` on.
fn reads_below(expr: &Expr, width: usize) -> bool {
    let mut below = true;
    expr.visit_columns(&mut |column| below &= column < width);
    below
}

/// The values of an expression that has constant results only.
fn constants(expr: &Expr) -> Option<Vec<Value>> {
    match &expr.kind {
        ExprKind::Literal(value) => Some(vec![value.clone()]),
        ExprKind::Case(branches, otherwise) => {
            let mut all = match otherwise {
                Some(otherwise) => constants(otherwise)?,
                None => vec![Value::Null],
            };
            for (_, result) in branches.iter().rev() {
                all.splice(0..0, constants(result)?);
            }
            Some(once(all))
        }
        ExprKind::Call(Function::Coalesce, operands) => {
            let all = operands.iter().map(constants).collect::<Option<Vec<_>>>()?;
            let null = all.iter().all(|values| values.contains(&Value::Null));
            let present = all.into_iter().flatten().filter(|value| *value != Value::Null);
            Some(once(present.chain(null.then_some(Value::Null))))
        }
        _ => None,
    }
}

/// The values that an expression can have in a row for which the condition holds, where it says.
fn possible_values(condition: &Expr, expr: &Expr) -> Option<Vec<Value>> {
    match &condition.kind {
        _ if condition == expr => Some(vec![Value::Bool(true)]),
        ExprKind::Not(inner) if **inner == *expr => Some(vec![Value::Bool(false)]),
        ExprKind::Binary(BinaryOp::And, left, right) => {
            both(possible_values(left, expr), possible_values(right, expr))
        }
        _ => {
            let values = super::thresholds::possible_values(condition, expr)?;
            Some(once(values.into_iter().filter(|value| *value != Value::Null)))
        }
    }
}

/// The values that are in both lists, where there are two.
fn both(one: Option<Vec<Value>>, other: Option<Vec<Value>>) -> Option<Vec<Value>> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            let others: HashSet<String> = other.iter().map(name).collect();
            one.retain(|value| others.contains(&name(value)));
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

/// Values, each once, in their order.
fn once(values: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut seen = HashSet::new();
    values.into_iter().filter(|value| seen.insert(name(value))).collect()
}

/// The order of values of one type, NULL first.
fn order(one: &Value, other: &Value) -> Ordering {
    use Value as V;
    match (one, other) {
        (V::Bool(a), V::Bool(b)) => a.cmp(b),
        (V::Int(a), V::Int(b)) => a.cmp(b),
        (V::Decimal { digits: a, .. }, V::Decimal { digits: b, .. }) => a.cmp(b),
        (V::Float(a), V::Float(b)) => a.total_cmp(b),
        (V::String(a), V::String(b)) => a.cmp(b),
        (V::Date(a), V::Date(b)) => a.cmp(b),
        (V::Timestamp(a), V::Timestamp(b)) => a.cmp(b),
        (V::Null, _) if *other != V::Null => Ordering::Less,
        (_, V::Null) if *one != V::Null => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// A value as a key of a set.
fn name(value: &Value) -> String {
    format!("{value:?}")
}
