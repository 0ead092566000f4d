//! The leaf of a query: what is released, apart from what is computed from it.
//!
//! Two queries with equal leaves, at equal mechanisms, have one release: names, expressions over
//! aggregates, HAVING, ORDER BY and LIMIT are computed from released values, at no cost.

use hushtable_lang::bind_expr::balanced;
use hushtable_lang::{Expr, ExprKind, Value};
use serde::Serialize;
use serde_json::Error;

use super::rowset::conjuncts;
use super::{Classes, Measure, Measurement, PrivateQuery};

/// A query's leaf in canonical form: conditions, keys and measurements in one order, whatever the
/// order in which the query names them.
#[derive(Debug)]
pub struct Leaf {
    query: PrivateQuery,
    /// Of each key of the leaf, its position in the query.
    keys: Vec<usize>,
    /// Of each measurement of the leaf, its position in the query.
    measurements: Vec<usize>,
}

impl Leaf {
    /// The leaf of a query.
    ///
    /// # Errors
    /// When the query cannot be serialised, which binding excludes.
    pub fn of(query: &PrivateQuery) -> Result<Self, Error> {
        let mut query = query.released_part();
        // `a AND b` and `b AND a` are one question: charged twice, they would give two draws of one
        // table.
        query.filter = canonical(query.filter.take())?;
        let keys = sort_by_bytes(&mut query.keys)?;
        for measurement in &mut query.measurements {
            // The key that tells a group's class, by its position in the leaf.
            if let Some(key) = classes_mut(measurement).and_then(|classes| classes.key.as_mut()) {
                *key = position(&keys, *key)?;
            }
        }
        let measurements = sort_by_bytes(&mut query.measurements)?;
        Ok(Self { query, keys, measurements })
    }

    /// One item for each measurement of the query, in the order of the leaf.
    ///
    /// # Errors
    /// When there is not one for each.
    pub fn in_order<'a, T>(
        &'a self,
        of_query: &'a [T],
    ) -> Result<impl Iterator<Item = &'a T>, Error> {
        if of_query.len() != self.measurements.len() {
            return Err(incomplete("a measurement"));
        }
        Ok(self.measurements.iter().filter_map(|&at| of_query.get(at)))
    }

    /// The position in the leaf of a measurement of the query.
    pub fn position(&self, measurement: usize) -> Result<usize, Error> {
        position(&self.measurements, measurement)
    }

    /// The query in canonical form.
    pub fn into_query(self) -> PrivateQuery {
        self.query
    }

    fn measurement_texts(&self) -> Result<Vec<String>, Error> {
        self.query.measurements.iter().map(serde_json::to_string).collect()
    }

    /// The leaf's bytes without its measurements.
    fn without_measurements(&self) -> Result<String, Error> {
        let mut query = self.query.clone();
        query.measurements.clear();
        Ok(numbered(&serde_json::to_string(&query)?))
    }
}

impl PrivateQuery {
    /// The bytes of its leaf: with the same mechanisms, equal bytes have one release.
    pub(crate) fn leaf_bytes(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(&Leaf::of(self).ok()?.into_query()).ok()
    }

    /// The positions of its measurements in an order that no other order of its keys or
    /// measurements changes.
    ///
    /// # Errors
    /// When they cannot be serialised, which binding excludes.
    pub fn measurement_order(&self) -> Result<Vec<usize>, Error> {
        if self.measurements.len() < 2 {
            return Ok((0..self.measurements.len()).collect());
        }
        // Not by the leaf: its keys may have long lists, and every plan of mechanisms asks.
        let mut measurements = self.measurements.clone();
        for measurement in &mut measurements {
            measurement.name.clear();
            if let Some(classes) = classes_mut(measurement) {
                classes.key = None;
            }
        }
        sort_by_bytes(&mut measurements)
    }

    /// The columns of a release that are the keys and, after them, the measurements of this query.
    /// The release has keys and measurements in the order of `released`, the query that it was made
    /// for. `None` where that query released something else.
    ///
    /// # Errors
    /// When a query cannot be serialised, which binding excludes.
    pub fn columns_in(&self, released: &Self) -> Result<Option<Vec<usize>>, Error> {
        let (leaf, other) = (Leaf::of(self)?, Leaf::of(released)?);
        // Rows, keys, limits or losses differ: that release is about something else.
        if leaf.without_measurements()? != other.without_measurements()? {
            return Ok(None);
        }
        let (leaf_texts, other_texts) = (leaf.measurement_texts()?, other.measurement_texts()?);
        let mut columns = Vec::with_capacity(leaf.keys.len() + leaf.measurements.len());
        for key in 0..leaf.keys.len() {
            let at = position(&leaf.keys, key)?;
            columns.push(*other.keys.get(at).ok_or_else(|| incomplete("a key"))?);
        }
        for measurement in 0..leaf.measurements.len() {
            let text = leaf_texts.get(leaf.position(measurement)?);
            let at = other_texts.iter().position(|other| Some(other) == text);
            let Some(at) = at else { return Ok(None) };
            let at = other.measurements.get(at).ok_or_else(|| incomplete("a measurement"))?;
            columns.push(other.keys.len() + at);
        }
        Ok(Some(columns))
    }

    /// Whether what is shown of its release, or decides what is, reads a measurement.
    pub fn reads_measurement(&self, measurement: usize) -> bool {
        let column = self.keys.len() + measurement;
        let outputs = self.outputs.iter().map(|output| &output.expr);
        let order = self.order_by.iter().map(|order| &order.expr);
        let mut reads = false;
        for expr in outputs.chain(order).chain(&self.having) {
            expr.visit_columns(&mut |other| reads |= other == column);
        }
        reads
    }

    /// The bytes of its leaf without its measurements. Where they are equal, at equal losses, the
    /// release of one query may hold all that another one asks for.
    ///
    /// # Errors
    /// When the query cannot be serialised, which binding excludes.
    pub fn family_bytes(&self) -> Result<Vec<u8>, Error> {
        Ok(Leaf::of(self)?.without_measurements()?.into_bytes())
    }

    /// This query with the measurements of `released`, which was made for more, in their order: it
    /// asks for that release, and shows a part of it. `None` where that release lacks something
    /// that this query asks for.
    ///
    /// # Errors
    /// When a query cannot be serialised, which binding excludes.
    pub fn with_measurements_of(&self, released: &Self) -> Result<Option<Self>, Error> {
        let Some(columns) = self.columns_in(released)? else { return Ok(None) };
        let keys = self.keys.len();
        let mut learnt = self.learnt.clone();
        learnt.extend(released.learnt.iter().filter(|l| !self.learnt.contains(l)).cloned());
        let measurements = released.measurements.clone();
        let mut whole = Self { measurements, learnt, ..self.clone() };
        for measurement in &mut whole.measurements {
            // The key that tells a group's class, by its position in this query.
            if let Some(key) = classes_mut(measurement).and_then(|classes| classes.key.as_mut()) {
                let at = columns.iter().take(keys).position(|column| *column == *key);
                *key = at.ok_or_else(|| incomplete("a key"))?;
            }
        }
        // Positions in a list of as many columns as this query releases.
        let moved = |column: usize| match columns.get(column) {
            Some(&new) if column >= keys => new,
            _ => column,
        };
        let outputs = whole.outputs.iter_mut().map(|output| &mut output.expr);
        let order = whole.order_by.iter_mut().map(|order| &mut order.expr);
        for expr in outputs.chain(order).chain(whole.having.as_mut()) {
            expr.replace_columns(&|column| ExprKind::Column(moved(column)));
        }
        Ok(Some(whole))
    }
}

fn classes_mut(measurement: &mut Measurement) -> Option<&mut Classes> {
    match &mut measurement.measure {
        Measure::PerRecordSum(sum) => sum.thresholds.classes.as_mut(),
        _ => None,
    }
}

/// Sorts by the bytes of each, and gives the position that each had.
fn sort_by_bytes<T: Serialize>(all: &mut Vec<T>) -> Result<Vec<usize>, Error> {
    let texts = all.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let mut each: Vec<_> = texts.into_iter().zip(all.drain(..)).enumerate().collect();
    each.sort_by(|(_, (a, _)), (_, (b, _))| a.cmp(b));
    let (positions, each): (Vec<usize>, Vec<(String, T)>) = each.into_iter().unzip();
    all.extend(each.into_iter().map(|(_, item)| item));
    Ok(positions)
}

/// The position after sorting of what was at position `of` before.
fn position(positions: &[usize], of: usize) -> Result<usize, Error> {
    positions
        .iter()
        .position(|original| *original == of)
        .ok_or_else(|| incomplete("a key or measurement"))
}

fn incomplete(what: &str) -> Error {
    serde::ser::Error::custom(format!("the leaf of a query has lost {what}"))
}

/// Conditions that must all hold: each once, in one order, without those that always do.
fn canonical(filter: Option<Expr>) -> Result<Option<Expr>, Error> {
    let mut all = filter.map_or_else(Vec::new, conjuncts);
    all.retain(|expr| expr.kind != ExprKind::Literal(Value::Bool(true)));
    sort_by_bytes(&mut all)?;
    // A condition that is there twice keeps the same rows.
    all.dedup();
    Ok((!all.is_empty()).then(|| balanced(all, &Expr::and)))
}

/// JSON with the numbers of populations, in the order in which they appear, in place of their
/// names.
pub fn numbered(json: &str) -> String {
    // A quotation mark within a text is escaped, so this is nowhere but where a field begins.
    const FIELD: &str = "\"population\":\"";
    let mut fields = json.split(FIELD);
    let mut out = fields.next().unwrap_or_default().to_owned();
    let mut names: Vec<&str> = Vec::new();
    for field in fields {
        let mut escaped = false;
        let end = field.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let (name, rest) = field.split_at(end.unwrap_or(field.len()));
        let number = names.iter().position(|known| *known == name).unwrap_or(names.len());
        if number == names.len() {
            names.push(name);
        }
        out += FIELD;
        out += &number.to_string();
        out += rest;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_populations_become_numbers() {
        let odd = ["a\"b\\", "p\\\",\"population\":\"q", "a\"b\\"];
        let all = odd.map(|name| serde_json::json!({ "population": name, "n": name }));
        let text = serde_json::to_string(&all).unwrap();
        let actual: Vec<serde_json::Value> = serde_json::from_str(&numbered(&text)).unwrap();
        let expected = odd.iter().zip(["0", "1", "0"]);
        let expected =
            expected.map(|(n, number)| serde_json::json!({ "population": number, "n": n }));
        assert_eq!(actual, expected.collect::<Vec<_>>());
        assert_eq!(numbered("[]"), "[]");
    }
}
