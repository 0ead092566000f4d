//! The clauses of a SELECT.

use std::collections::{HashMap, HashSet};

use hushtable_contract::{Contract, MAX_PUBLIC_KEYS, UnitLimit};
use hushtable_lang::aggregate_names::quantiles;
use hushtable_lang::bind_expr::{balanced, bind_row_expression, condition};
use hushtable_lang::{Expr, Refusal};
use hushtable_privacy::{Delta, Loss};
use sqlparser::ast;

use super::aliases::groups_by_name;
use super::automatic_limits::EXAMPLE_GROUPS;
use super::collected::Aggregates;
use super::conditions::{Conditions, check_public_keys};
use super::from::FromAndWhere;
use super::group_by::bound_keys;
use super::listed_groups::listed_groups;
use super::mentions::has_aggregate;
use super::named_groups::name_groups;
use super::one_to_one::innermost;
use super::options::Options;
use super::output_exprs::{OutputClause, OutputScope};
use super::released_tables::MAX_OUTPUTS;
use super::same_rows::listed_conditions;
use super::select::{default_name, limits, plain_clauses};
use super::single_rows::single_rows;
use super::two_populations::check_groups;
use super::view::{QueryUnit, View};
use super::{Automatic, Groups, Key, Measure, Measurement, Order, Output, PrivateQuery};
use crate::relation::Origin;
use crate::warning::{Warning, WarningCode};

/// The one SELECT of a query; every clause that is not supported is refused, by name.
pub(super) fn check(query: &ast::Query) -> Result<&ast::Select, Refusal> {
    let refuse =
        |what: &str, hint: &str| Err(Refusal::new(format!("{what} is not supported"), hint));
    if query.fetch.is_some() {
        return refuse("FETCH", "LIMIT 10");
    }
    let select = match query.body.as_ref() {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::SetOperation { op, left: _, right: _, set_quantifier: _ } => {
            return refuse(&op.to_string(), "ask in several queries");
        }
        _ => return refuse("a query that is not one SELECT", "SELECT … FROM table"),
    };
    plain_clauses(query, select)?;
    if !matches!(&select.distinct, None | Some(ast::Distinct::Distinct)) {
        return refuse("DISTINCT ON", "SELECT DISTINCT a, b");
    }
    if let Some(node) = &select.qualify {
        let refused =
            refuse("QUALIFY", "use HAVING for conditions on results; QUALIFY in a sub-query");
        return refused.map_err(|refusal| refusal.at(node));
    }
    Ok(select)
}

/// The rows that a query aggregates, and the conditions that are tested on each of them.
pub(super) fn view(
    selected: FromAndWhere,
    contract: &Contract,
) -> Result<(View, Vec<Expr>), Refusal> {
    let FromAndWhere { rows, rest, .. } = selected;
    // Conditions on one table alone stay with the query; others are part of the relation.
    let (rows, conditions) = rows.with_units()?.inlined(rest)?;
    Ok((View::new(rows, &conditions, contract)?, conditions))
}

pub(super) fn bind(
    query: &ast::Query,
    select: &ast::Select,
    table: &View,
    mut conditions: Vec<Expr>,
    options: &Options,
) -> Result<PrivateQuery, Refusal> {
    let limited = table.with_rows_joined(options.max_rows_joined)?;
    let table = limited.as_ref().unwrap_or(table);
    let stored = table.stored_columns();
    let mut row_conditions = Conditions::of_rows(table);

    for filter in &conditions {
        row_conditions.condition(filter);
    }
    let mut keys = group_keys(select, table)?;
    for filter in &conditions {
        check_public_keys(filter, table, &keys)?;
    }
    // Levels have keys of their own. Rules about which groups appear ask for a choice, and so does
    // a query for keys alone.
    if !options.of_levels && !selects(options) && has_aggregate(select) {
        name_groups(&mut keys, &table.relation, &conditions);
    }
    keys.iter().for_each(|key| row_conditions.value(&key.expr));
    let listed = listed_conditions(&keys, &stored);
    let (names, listed): (Vec<String>, Vec<Expr>) = listed.into_iter().unzip();
    conditions.extend(listed);
    let filter = (!conditions.is_empty()).then(|| balanced(conditions, &Expr::and));
    let groups = groups_of(&keys, options)?;
    check_groups(&table.relation, groups)?;

    let mut aggregates = Aggregates {
        table,
        options,
        stored: &stored,
        keys: &keys,
        filter: filter.as_ref(),
        measurements: Vec::new(),
        warnings: Vec::new(),
        rows_as_units: false,
        automatic_rows: false,
        automatic: Vec::new(),
        learnt: Vec::new(),
    };
    let outputs = outputs(select, &mut aggregates, &keys)?;
    if select.distinct.is_some() {
        distinct_rows(&outputs, keys.len())?;
    }
    aggregates.warnings.extend(hidden_aliases(select, table, &keys, &outputs));
    let aliases: Vec<(String, Expr)> =
        outputs.iter().map(|o| (o.name.clone(), o.expr.clone())).collect();
    let mut scope = OutputScope { aggregates: &mut aggregates, keys: &keys, select };
    let having = select.having.as_ref().map(|node| {
        let bound = scope.bind(node, OutputClause::Having(&aliases))?;
        condition(bound, node, "HAVING").map_err(|refusal| refusal.at(node))
    });
    let having = having.transpose()?;
    let order_by = order_by(query, &mut scope, &aliases)?;
    let (limit, offset) = limits(query)?;
    let Aggregates { measurements, mut warnings, rows_as_units, learnt, .. } = aggregates;
    let Aggregates { automatic_rows, automatic: bounds, .. } = aggregates;
    measurements.iter().for_each(|m| row_conditions.measure(&m.measure));
    let mut group_conditions = Conditions::of_groups(&keys, &measurements, &stored);
    having.iter().for_each(|condition| group_conditions.condition(condition));
    outputs.iter().for_each(|output| group_conditions.value(&output.expr));
    for warning in
        row_conditions.into_warnings().into_iter().chain(group_conditions.into_warnings())
    {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let by_pieces = options.by_pieces && matches!(groups, Groups::Private { .. });
    if by_pieces && measurements.iter().all(|m| m.measure.per_record().is_none()) {
        return Err(Refusal::new(
            "group_selection_by = PIECES counts the pieces of records, but the query has no sum \
             of a column with `split`",
            "write group_selection_by = RECORDS, or leave it out; or add a SUM of a column with \
             `split`",
        ));
    }

    let is_quantile = |m: &Measurement| matches!(m.measure, Measure::Quantile { .. });
    if let Some(level) = options.quantile_intervals
        && !measurements.iter().any(is_quantile)
    {
        return Err(Refusal::new(
            format!(
                "quantile_intervals = {level} draws intervals around quantiles, but the query has \
                 none"
            ),
            "leave it out: counts, sums and means have intervals at no cost; or add MEDIAN(x)",
        ));
    }
    if measurements.is_empty() && !matches!(groups, Groups::Private { .. }) {
        return Err(Refusal::new(
            "the query asks nothing of the data: it has no aggregate, and its groups are public",
            "add COUNT(*), SUM(x) or AVG(x)",
        ));
    }
    let (max_groups_contributed, example_groups) = max_groups(table, options, (&keys, groups))?;
    let query = PrivateQuery {
        population: table.population.name.clone(),
        relation: table.relation.clone(),
        unit: table.relation.protection().unit(),
        neighbouring: table.neighbouring,
        filter,
        max_groups_contributed,
        loss: budget(options, groups)?,
        noise: None,
        usual_noise: None,
        prefer: options.prefer,
        noise_delta: Delta::ZERO,
        intervals: options.intervals,
        limit_sources: options.limit_sources,
        warnings,
        listed: names,
        learnt,
        rows_as_units,
        automatic: Automatic {
            groups: example_groups,
            rows: automatic_rows && options.chosen.rows.is_none(),
            bounds: bounds.into_iter().skip(options.chosen.bounds.len()).collect(),
            of_reported: false,
        },
        usual_groups: options.chosen.usual_groups,
        columns: stored,
        column_bytes: table.relation.fields().iter().map(|f| f.max_bytes).collect(),
        keys,
        groups,
        measurements,
        outputs,
        having,
        order_by,
        limit,
        offset,
    };
    let query = query.with_rows_joined(options.max_rows_joined)?;
    query.check_cost()?;
    query.with_noise_of(options).bounded_beside(options.max_rows_contributed)
}

/// Refuses SELECT DISTINCT where it would make one row of several: rows that show all keys differ.
fn distinct_rows(outputs: &[Output], keys: usize) -> Result<(), Refusal> {
    if (0..keys).all(|key| outputs.iter().any(|output| output.expr.is_column(key))) {
        return Ok(());
    }
    Err(Refusal::new(
        "SELECT DISTINCT beside a GROUP BY whose keys are not all shown is not supported",
        "leave DISTINCT out, or show all keys of GROUP BY",
    ))
}

/// Warnings of keys that SELECT shows something else under the names of, as if GROUP BY meant that.
fn hidden_aliases(
    select: &ast::Select,
    table: &View,
    keys: &[Key],
    outputs: &[Output],
) -> Vec<Warning> {
    let hidden = |item: &ast::SelectItem| {
        let ast::SelectItem::ExprWithAlias { expr, alias } = item else { return None };
        if !table.scope.has(&alias.value) || !groups_by_name(select, &alias.value) {
            return None;
        }
        let column = ast::Expr::Identifier(alias.clone());
        let column = bind_row_expression(&column, &table.scope).ok()?;
        let key = keys.iter().position(|key| key.expr == column)?;
        let output = outputs.iter().find(|o| o.name.eq_ignore_ascii_case(&alias.value))?;
        (!output.expr.is_column(key)).then(|| {
            Warning::new(
                WarningCode::HiddenAlias,
                format!(
                    "GROUP BY {alias} groups by the column `{alias}`, and not by `{expr}`, which \
                     SELECT shows under that name"
                ),
                format!("to group by what is shown, write GROUP BY {expr}"),
            )
        })
    };
    select.projection.iter().filter_map(hidden).collect()
}

/// The keys with what the contract says of them.
fn group_keys(select: &ast::Select, table: &View) -> Result<Vec<Key>, Refusal> {
    let mut keys: Vec<Key> = Vec::new();
    for (node, expr) in bound_keys(select, &table.scope)? {
        let declared = table.column_of(&expr);
        // This only helps the user; the choice of groups is what protects.
        let inner = innermost(&expr);
        if table.is_unit(inner) {
            return Err(Refusal::new(
                format!("GROUP BY {node} would show the privacy units one by one"),
                format!(
                    "group by something that many units share; COUNT(DISTINCT {node}) counts them"
                ),
            )
            .at(node));
        }
        if let Some(Origin { table: of, column }) = table.leading_to_units(inner)
            && declared.is_none_or(|c| c.public_keys.is_none() && c.known_keys.is_none())
        {
            return Err(Refusal::new(
                format!(
                    "GROUP BY {column} would show the rows of `{of}` one by one: in the \
                     contract, {column} leads to their privacy units"
                ),
                "group by something that many units share",
            )
            .at(node));
        }
        let public = declared.and_then(|c| c.public_keys.clone());
        let known = declared.and_then(|c| c.known_keys.clone());
        keys.push(Key { expr, public, by_query: false, known });
    }
    Ok(keys)
}

/// Whether the query says which groups may appear.
fn selects(options: &Options) -> bool {
    options.least_units > 1 || options.known_groups_threshold.is_some()
}

fn groups_of(keys: &[Key], options: &Options) -> Result<Groups, Refusal> {
    let groups = chosen_how(keys, options)?;
    let selects = selects(options);
    if selects && !options.of_levels && !matches!(groups, Groups::Private { .. }) {
        return Err(Refusal::new(
            "min_privacy_units_per_group and known_groups_threshold are for groups that are \
             chosen privately, but here all groups are public",
            "use HAVING COUNT(DISTINCT unit) >= 5, on the noisy count",
        ));
    }
    if selects && options.by_pieces && matches!(groups, Groups::Private { .. }) {
        return Err(Refusal::new(
            "min_privacy_units_per_group and known_groups_threshold look at numbers of records, \
             but group_selection_by = PIECES looks at their pieces",
            "group_selection_by = RECORDS, or leave it out",
        ));
    }
    Ok(groups)
}

fn chosen_how(keys: &[Key], options: &Options) -> Result<Groups, Refusal> {
    if keys.is_empty() {
        return Ok(Groups::Single);
    }
    let listed = |key: &Key| key.public.as_ref().or(key.known.as_ref()).map(Vec::len);
    let sizes: Option<Vec<usize>> = keys.iter().map(listed).collect();
    let all = sizes.iter().flatten().copied().reduce(usize::saturating_mul).unwrap_or(0);
    if all > MAX_PUBLIC_KEYS {
        return Err(Refusal::new(
            format!(
                "the public and known keys make {all} groups; at most {MAX_PUBLIC_KEYS} are \
                 allowed"
            ),
            "group by fewer columns",
        ));
    }
    if keys.iter().all(|k| k.public.is_some()) {
        return Ok(Groups::Public);
    }
    if options.known_groups_threshold.is_some() && all == 0 {
        return Err(Refusal::new(
            "known_groups_threshold is set, but no group is known",
            "set known_keys of the columns in the contract: every column of GROUP BY needs \
             known or public keys",
        ));
    }
    Ok(Groups::Private {
        strategy: options.strategy,
        weight: options.selection_weight,
        least: options.least_units,
        known_threshold: options.known_groups_threshold,
        by_pieces: options.by_pieces,
    })
}

fn outputs(
    select: &ast::Select,
    aggregates: &mut Aggregates<'_>,
    keys: &[Key],
) -> Result<Vec<Output>, Refusal> {
    let mut scope = OutputScope { aggregates, keys, select };
    let mut outputs: Vec<Output> = Vec::new();
    // In lower case: the names that are taken, and how many have the same beginning.
    let (mut taken, mut copies) = (HashSet::new(), HashMap::new());
    for (position, item) in select.projection.iter().enumerate() {
        let (node, name) = match item {
            ast::SelectItem::UnnamedExpr(node) => (node, default_name(node, position)),
            ast::SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value.clone()),
            _ => {
                let refusal = single_rows(select, scope.aggregates.table, item);
                let refusal = refusal.unwrap_or_else(|| {
                    Refusal::new(
                        format!("`{item}` in SELECT is not supported"),
                        "name the group keys and aggregates to be shown; rows are never shown",
                    )
                });
                return Err(refusal.at(item));
            }
        };
        // A list has a column for each of its values.
        let columns = match quantiles(node) {
            Some(function) => {
                let buckets = scope.aggregates.buckets(function)?;
                let at = |index| scope.aggregates.quantile_of(function, index, keys.len());
                let all = (1..buckets).map(at).collect::<Result<Vec<_>, _>>()?;
                all.into_iter().zip(1..).map(|(e, index)| (format!("{name}_{index}"), e)).collect()
            }
            None => {
                let bound = scope.bind(node, OutputClause::Select(&name))?;
                vec![(name, bound)]
            }
        };
        for (name, expr) in columns {
            // Two columns of one name would be one key in JSON.
            let mut unique = name.clone();
            let copy = copies.entry(name.to_ascii_lowercase()).or_insert(1);
            while !taken.insert(unique.to_ascii_lowercase()) {
                *copy += 1;
                unique = format!("{name}_{copy}");
            }
            outputs.push(Output { name: unique, expr });
        }
        if outputs.len() > MAX_OUTPUTS {
            return Err(Refusal::new(
                format!("SELECT shows more than {MAX_OUTPUTS} columns"),
                "write several statements",
            )
            .at(item));
        }
    }
    if outputs.is_empty() {
        return Err(Refusal::new("SELECT shows nothing", "SELECT COUNT(*) FROM table"));
    }
    Ok(outputs)
}

fn order_by(
    query: &ast::Query,
    scope: &mut OutputScope<'_, '_>,
    outputs: &[(String, Expr)],
) -> Result<Vec<Order>, Refusal> {
    let Some(order) = &query.order_by else { return Ok(Vec::new()) };
    let ast::OrderByKind::Expressions(items) = &order.kind else {
        return Err(Refusal::new("ORDER BY ALL is not supported", "ORDER BY 1, 2"));
    };
    items
        .iter()
        .map(|item| {
            if item.with_fill.is_some() {
                return Err(Refusal::new("WITH FILL is not supported", "ORDER BY x DESC"));
            }
            let position = match &item.expr {
                ast::Expr::Value(v) => match &v.value {
                    ast::Value::Number(text, _) => text.parse::<usize>().ok(),
                    _ => None,
                },
                _ => None,
            };
            let expr = match position {
                Some(p) => p
                    .checked_sub(1)
                    .and_then(|p| outputs.get(p))
                    .map(|(_, expr)| expr.clone())
                    .ok_or_else(|| {
                        Refusal::new(
                            format!("ORDER BY {p} is not the position of a column in SELECT"),
                            "ORDER BY 1 is the first column",
                        )
                    })?,
                None => scope.bind(&item.expr, OutputClause::OrderBy(outputs))?,
            };
            let descending = item.options.asc == Some(false);
            // GoogleSQL: NULL is the least value.
            let nulls_first = item.options.nulls_first.unwrap_or(!descending);
            Ok(Order { expr, descending, nulls_first })
        })
        .collect()
}

/// All groups there can be. Rows of other keys than the public ones are left out, so no unit is in
/// more groups, and a larger limit would be noise for nothing.
fn all_groups(keys: &[Key], groups: Groups) -> u32 {
    match groups {
        Groups::Public => u32::try_from(listed_groups(keys)).unwrap_or(u32::MAX).max(1),
        _ => u32::MAX,
    }
}

/// An example of a limit: no more than there are groups.
fn example_of_groups(keys: &[Key], groups: Groups) -> u32 {
    EXAMPLE_GROUPS.min(all_groups(keys, groups))
}

/// The most groups of a unit, and whether that is an example of a limit that is to be chosen.
fn max_groups(
    table: &View,
    options: &Options,
    (keys, groups): (&[Key], Groups),
) -> Result<(u32, bool), Refusal> {
    // The rows of a unit of a second population follow from this limit, and may be of many owners.
    let all = if table.relation.beside().is_none() { all_groups(keys, groups) } else { u32::MAX };
    match (&table.unit, groups, options.max_groups_contributed) {
        // A row is in one group, and without GROUP BY there is only one.
        (QueryUnit::Row, ..) | (_, Groups::Single, _) => Ok((1, false)),
        _ if table.relation.has_one_of_a_unit([].iter()) => Ok((1, false)),
        (_, _, Some(UnitLimit::Most(most))) => Ok((most.min(all), false)),
        (_, _, Some(UnitLimit::Automatic)) => match options.chosen.groups {
            Some(most) => Ok((most.min(all), false)),
            None => Ok((example_of_groups(keys, groups), true)),
        },
        (QueryUnit::Column(unit), _, None) => Err(Refusal::new(
            format!("the query has no limit on the groups of one `{unit}`"),
            "max_groups_contributed = 3 in OPTIONS, or in the contract's defaults: more groups \
             keep more of the data and need more noise; AUTO has it chosen privately",
        )),
    }
}

fn budget(options: &Options, groups: Groups) -> Result<Loss, Refusal> {
    let Some(loss) = options.loss else {
        return Err(Refusal::new(
            "the query has no budget",
            "OPTIONS (epsilon = 1) or OPTIONS (rho = 0.5), or a default in the contract",
        ));
    };
    if matches!(groups, Groups::Private { .. }) {
        if loss.delta().is_zero() {
            return Err(Refusal::new(
                "choosing groups privately needs a delta above zero",
                "delta = 1e-6 in OPTIONS or in the contract's defaults: the probability that a \
                 group of one unit appears; or public_keys of the column in the contract",
            ));
        }
        return Ok(loss);
    }
    // Public groups and one group cost no delta.
    Ok(loss.without_delta())
}
