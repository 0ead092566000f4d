//! Values that earlier parts release, in expressions of later ones.

use hushtable_lang::{
    ColumnType, EarlierRows, Expr, ExprKind, KeyedValues, MAX_KEY_BYTES, Refusal, Value,
};

use super::ReleasedColumn;
use crate::bind::PrivateQuery;
use crate::bind::released_tables::MAX_OUTPUTS;

/// Lists of released values in a query: each is held in memory once more.
const MAX_LISTS: usize = 16;

/// Released values of an earlier part, for one that reads them.
#[derive(Clone, Debug, PartialEq)]
pub enum ReleasedValues {
    /// The value in its one row.
    One(Value),
    /// The values in all of its rows.
    All(Vec<Value>),
}

impl PrivateQuery {
    /// Changes all expressions of the query.
    fn with_expressions(mut self, change: &mut dyn FnMut(&mut Expr)) -> Result<Self, Refusal> {
        self.relation = self.relation.with_expressions(change)?;
        let measured = self.measurements.iter_mut().flat_map(|m| m.measure.expressions_mut());
        let automatic = self.automatic.bounds.iter_mut().map(|sum| &mut sum.of);
        let all = self
            .filter
            .iter_mut()
            .chain(self.keys.iter_mut().map(|key| &mut key.expr))
            .chain(measured)
            .chain(automatic)
            .chain(self.outputs.iter_mut().map(|o| &mut o.expr))
            .chain(&mut self.having)
            .chain(self.order_by.iter_mut().map(|o| &mut o.expr));
        all.for_each(|expr| expr.change(change));
        Ok(self)
    }

    /// Numbers the released values that the query reads in the order in which it names them, and
    /// gives where they come from: so the query is the same in every statement.
    pub(super) fn numbered(self) -> Result<(Self, Vec<ReleasedColumn>), Refusal> {
        let mut reads: Vec<ReleasedColumn> = Vec::new();
        let mut lists = 0;
        let mut number = |index: &mut usize, all: bool| {
            let read =
                ReleasedColumn { part: *index / MAX_OUTPUTS, column: *index % MAX_OUTPUTS, all };
            *index = reads.iter().position(|earlier| *earlier == read).unwrap_or_else(|| {
                reads.push(read);
                reads.len() - 1
            });
        };
        let query = self.with_expressions(&mut |expr| match &mut expr.kind {
            ExprKind::Released(index) => number(index, false),
            ExprKind::Among(_, EarlierRows::Released(indices) | EarlierRows::Values(indices)) => {
                lists += 1;
                indices.iter_mut().for_each(|index| number(index, true));
            }
            ExprKind::ValueAt(_, KeyedValues::Released { keys, value }) => {
                lists += 1;
                keys.iter_mut().chain([value]).for_each(|index| number(index, true));
            }
            ExprKind::Among(_, EarlierRows::Empty(index) | EarlierRows::AnyNull(index)) => {
                number(index, true);
            }
            _ => {}
        })?;
        if lists > MAX_LISTS {
            return Err(Refusal::new(
                format!(
                    "a query looks up released values in {lists} places; at most {MAX_LISTS} are \
                     allowed"
                ),
                "write keys that are released already as constants: x IN ('a', 'b'); of a joined \
                 release, name a column once in a sub-query: FROM (SELECT v.x, r.y FROM v JOIN r \
                 …)",
            ));
        }
        Ok((query, reads))
    }

    /// The query with released values in the place of their placeholders. A value that its
    /// placeholder's type does not hold is NULL. Sensitivity and cost were computed with the
    /// placeholders, and do not change.
    ///
    /// # Errors
    /// When a value is missing.
    pub fn with_released(self, values: &[ReleasedValues]) -> Result<Self, Refusal> {
        let mut missing = false;
        let query = self.with_expressions(&mut |expr| match &mut expr.kind {
            ExprKind::Released(index) => match values.get(*index) {
                Some(ReleasedValues::One(value)) => {
                    expr.kind = ExprKind::Literal(fitting(value, expr.column_type));
                }
                _ => missing = true,
            },
            ExprKind::Among(keys, rows) => match shown(keys, rows, values) {
                Some(kind) => expr.kind = kind,
                None => missing = true,
            },
            ExprKind::ValueAt(keys, KeyedValues::Released { keys: columns, value }) => {
                match keyed(keys, columns, (*value, expr.column_type), values) {
                    Some(of) => expr.kind = ExprKind::ValueAt(std::mem::take(keys), of),
                    None => missing = true,
                }
            }
            _ => {}
        })?;
        if missing {
            return Err(Refusal::fault("a released value is missing"));
        }
        Ok(query)
    }
}

/// The lookup of keys among earlier rows, once these are released. `None` where a value is missing.
fn shown(keys: &[Expr], rows: &EarlierRows, values: &[ReleasedValues]) -> Option<ExprKind> {
    let column = |index: usize, key: &Expr| column(values, index, key.column_type);
    let truth = |truth: bool| Some(ExprKind::Literal(Value::Bool(truth)));
    let columns = match rows {
        EarlierRows::Shown(columns) => columns.clone(),
        EarlierRows::Released(indices) => indices
            .iter()
            .zip(keys)
            .map(|(index, key)| Some(column(*index, key)?.collect()))
            .collect::<Option<_>>()?,
        EarlierRows::Values(indices) => known_keys(keys, indices, None, values)?.0,
        EarlierRows::Empty(index) => {
            return truth(column(*index, keys.first()?)?.len() == 0);
        }
        EarlierRows::AnyNull(index) => {
            return truth(column(*index, keys.first()?)?.any(|value| value == Value::Null));
        }
    };
    Some(ExprKind::Among(keys.to_vec(), EarlierRows::Shown(columns)))
}

/// The values by the keys of their rows, once these are released. `None` where one is missing.
fn keyed(
    keys: &[Expr],
    columns: &[usize],
    value: (usize, ColumnType),
    values: &[ReleasedValues],
) -> Option<KeyedValues> {
    let (keys, values) = known_keys(keys, columns, Some(value), values)?;
    Some(KeyedValues::Shown { keys, values })
}

/// The released keys of the rows in which none is NULL, column by column, and a value of each.
fn known_keys(
    keys: &[Expr],
    columns: &[usize],
    value: Option<(usize, ColumnType)>,
    values: &[ReleasedValues],
) -> Option<(Vec<Vec<Value>>, Vec<Value>)> {
    let of_keys = columns.iter().zip(keys);
    let of_keys =
        of_keys.map(|(index, key)| Some(column(values, *index, key.column_type)?.collect()));
    let mut known = of_keys.collect::<Option<Vec<Vec<Value>>>>()?;
    let mut shown = match value {
        Some((index, column_type)) => column(values, index, column_type)?.collect(),
        None => Vec::new(),
    };
    let rows = known.first()?.len();
    let is_known =
        |row: &usize| known.iter().all(|key| key.get(*row).is_some_and(|v| *v != Value::Null));
    let kept: Vec<usize> = (0..rows).filter(is_known).collect();
    for column in known.iter_mut().chain([&mut shown]) {
        *column = kept.iter().filter_map(|row| column.get(*row).cloned()).collect();
    }
    Some((known, shown))
}

/// All values of a released column, in its type.
fn column(
    values: &[ReleasedValues],
    index: usize,
    column_type: ColumnType,
) -> Option<impl ExactSizeIterator<Item = Value> + '_> {
    match values.get(index)? {
        ReleasedValues::All(all) => Some(all.iter().map(move |v| fitting(v, column_type))),
        ReleasedValues::One(_) => None,
    }
}

fn fitting(value: &Value, column_type: ColumnType) -> Value {
    let fits = value.column_type() == Some(column_type)
        && match value {
            Value::String(text) => text.len() <= MAX_KEY_BYTES,
            Value::Float(x) => x.is_finite(),
            _ => true,
        };
    if fits { value.clone() } else { Value::Null }
}
