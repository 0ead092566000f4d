//! Sub-queries that are one value for each row around them, as joins.
//!
//! `day = (SELECT MAX(w.day) FROM visits AS w WHERE w.pid = v.pid)` compares with a column of
//! `LEFT JOIN LATERAL (SELECT w.pid, MAX(w.day) … GROUP BY w.pid) ON w.pid = v.pid`, and a value
//! of a public table is a join with its one row. EXISTS and IN look up how many rows there are.
//! Whether units stay apart is checked of the join, as of any other.
//!
//! EXISTS and IN that WHERE joins by AND are semi-joins, and are left as they are. Nobody can write
//! LATERAL: it marks these tables, whose columns no name without a table finds.

use hushtable_contract::TableUnit;
use hushtable_lang::{Placed, Refusal};
use sqlparser::ast;

use super::lookup_table::{Looking, LookupTable, Role, tables_of};
use super::names_around::FromNames;
use super::splitter::{CteNames, RowsKind, Splitter};
use crate::bind::correlated::of_one_unit;
use crate::bind::select::default_name;
use crate::bind::syntax::query_of;

impl Splitter<'_> {
    /// Puts columns of joined tables in the place of the sub-queries that are values of rows, in
    /// SELECT, WHERE and GROUP BY.
    pub(super) fn look_up(
        &mut self,
        select: &mut ast::Select,
        names: &CteNames,
    ) -> Result<(), Refusal> {
        let table_of = |name: &str| {
            // A common table expression hides a table.
            self.contract.table(name).filter(|_| names.kind(name).is_none())
        };
        let is_public =
            |name: &str| table_of(name).is_some_and(|table| table.unit == TableUnit::Public);
        let columns_of = |name: &str| {
            let columns = table_of(name)?.columns.iter();
            Some(columns.map(|column| column.name.clone()).collect())
        };
        let unit_of = |name: &str| match &table_of(name)?.unit {
            TableUnit::Column(column) => Some(column.clone()),
            TableUnit::Row | TableUnit::Through { .. } | TableUnit::Public => None,
        };
        let around = select.from.iter().map(|from| FromNames::of([from], &columns_of)).collect();
        let mut looking = Looking {
            around,
            is_public: &is_public,
            columns_of: &columns_of,
            unit_of: &unit_of,
            tables: select.from.iter().map(|from| tables_of(from).cloned().collect()).collect(),
            found: Vec::new(),
            refusal: None,
        };
        for (position, item) in select.projection.iter_mut().enumerate() {
            put_in_item(item, position, &mut looking);
        }
        if let Some(node) = &mut select.selection {
            looking.put_in_terms(node);
        }
        if let ast::GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            keys.iter_mut().for_each(|key| looking.put_columns(key, Role::Value));
        }
        if let Some(refusal) = looking.refusal {
            return Err(refusal);
        }
        for table in looking.found {
            let item = table.item;
            let written = table.written.place();
            let join = self.lookup_join(table, names);
            let join = join.map_err(|refusal| match written {
                Some(span) => refusal.at_span(span),
                None => refusal,
            })?;
            // Behind all of its item, so that it can name any table of it.
            if let Some(from) = select.from.get_mut(item) {
                from.joins.push(join);
            }
        }
        Ok(())
    }

    /// The join with a table in which a value is looked up.
    fn lookup_join(&mut self, table: LookupTable, names: &CteNames) -> Result<ast::Join, Refusal> {
        let on = table.condition();
        let way_out = of_one_unit(&table.select, self.contract);
        let mut query = query_of(table.select);
        if self.query(&mut query, names, false)? != RowsKind::Rows {
            return Err(Refusal::new(
                "a sub-query has a value for each row around it, which follows from the rows of \
                 many units",
                way_out,
            ));
        }
        let relation = ast::TableFactor::Derived {
            lateral: true,
            subquery: Box::new(query),
            alias: Some(ast::TableAlias {
                explicit: true,
                name: ast::Ident::new(table.alias),
                columns: Vec::new(),
                at: None,
            }),
            sample: None,
        };
        let join_operator = ast::JoinOperator::LeftOuter(ast::JoinConstraint::On(on));
        Ok(ast::Join { relation, global: false, join_operator })
    }
}

/// Puts columns in an item of SELECT, which keeps the name that it has without them.
fn put_in_item(item: &mut ast::SelectItem, position: usize, looking: &mut Looking<'_>) {
    match item {
        ast::SelectItem::UnnamedExpr(node) => {
            let name = default_name(node, position);
            looking.put_columns(node, Role::Value);
            if default_name(node, position) != name {
                let (expr, alias) = (node.clone(), ast::Ident::new(name));
                *item = ast::SelectItem::ExprWithAlias { expr, alias };
            }
        }
        ast::SelectItem::ExprWithAlias { expr, alias: _ } => {
            looking.put_columns(expr, Role::Value);
        }
        ast::SelectItem::ExprWithAliases { expr: _, aliases: _ }
        | ast::SelectItem::QualifiedWildcard(_, _)
        | ast::SelectItem::Wildcard(_) => {}
    }
}
