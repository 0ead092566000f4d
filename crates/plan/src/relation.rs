//! Relations: the rows that a query works on before they are bounded, and who they belong to.
//!
//! A relation is a tree of operators over the contract's tables. Every operator keeps one promise,
//! *unit stability*: the rows of one privacy unit in its result are a function of that unit's rows
//! in its inputs and of public rows. So removing a unit from the data removes exactly its rows from
//! the relation, whatever the tree. Bounding what each unit adds to the groups, which comes after
//! the tree, then bounds what the unit can do to the answer. [`Relation::new`] is the one way to
//! make a node, for queries and for serialised relations alike, and refuses what is not stable.
//!
//! One join has rows of two populations: see [`Beside`].

mod aggregate;
mod beside;
mod fields;
mod frame;
mod join;
mod known;
mod meeting;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use hushtable_contract::CsvSettings;
use hushtable_lang::cost::RowExpression;
use hushtable_lang::{ColumnType, Expr, ExprKind, Refusal};
use serde::{Deserialize, Serialize};

pub use aggregate::{SortedAggregate, UnitAggregate, WindowFunction, WindowOrder, WindowedColumn};
pub use beside::Beside;
pub(crate) use fields::bytes_of;
pub use fields::{Field, NamedExpr, Origin};
pub use frame::{Distance, FrameEnd, RowFrame};
pub use known::KnownValues;

/// Most operators on top of each other.
const MAX_DEPTH: usize = 48;
/// Most operators of a relation.
const MAX_OPERATORS: usize = 200;
/// Most columns of an operator's result.
const MAX_COLUMNS: usize = 2_000;

/// A typed tree of operators that knows who its rows belong to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Operator", into = "Operator")]
pub struct Relation {
    operator: Box<Operator>,
    fields: Vec<Field>,
    protection: Protection,
    /// The columns that are the unit: the one that `protection` names, and those that are equal to
    /// it in every row.
    units: BTreeSet<usize>,
    beside: Option<Box<Beside>>,
    /// Columns in which no two rows agree, where the operators see to that.
    unique: Option<Vec<usize>>,
    /// Most rows of one unit, where the operators bound them.
    rows_of_a_unit: Option<u64>,
    depth: usize,
    operators: usize,
}

/// The units that the rows of a relation belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Nobody: the rows are public.
    Public,
    /// Every row is a privacy unit of its own, and none is there twice.
    Rows {
        /// Whose budget pays.
        population: String,
        /// Position of the column that tells rows apart by their positions in the files. Where rows
        /// are repeated it names the unit.
        row: usize,
    },
    /// The rows with one value in a column belong to one unit. Rows without one count for nothing.
    Unit {
        /// Whose budget pays.
        population: String,
        /// Position of the column.
        column: usize,
    },
    /// The rows belong to the units of the rows of another table that they refer to. Until they are
    /// joined with it, they may be filtered, projected and joined with public rows, and no more.
    Reference {
        /// Whose budget pays.
        population: String,
        /// Position of the referring column.
        column: usize,
        /// The column that it refers to.
        references: Origin,
    },
}

impl Protection {
    /// Whose budget pays; `None` for public rows.
    pub fn population(&self) -> Option<&str> {
        match self {
            Self::Public => None,
            Self::Rows { population, .. }
            | Self::Unit { population, .. }
            | Self::Reference { population, .. } => Some(population),
        }
    }

    /// Position of the column that names the unit.
    pub fn unit(&self) -> Option<usize> {
        match self {
            Self::Unit { column, .. } => Some(*column),
            Self::Public | Self::Rows { .. } | Self::Reference { .. } => None,
        }
    }

    /// Position of the column that tells units apart, whether or not rows may be repeated.
    pub fn identity(&self) -> Option<usize> {
        match self {
            Self::Unit { column, .. } | Self::Rows { row: column, .. } => Some(*column),
            Self::Public | Self::Reference { .. } => None,
        }
    }

    /// The protection of rows that may be there several times.
    fn repeated(&self) -> Self {
        match self {
            Self::Rows { population, row } => {
                Self::Unit { population: population.clone(), column: *row }
            }
            Self::Public | Self::Unit { .. } | Self::Reference { .. } => self.clone(),
        }
    }

    /// The protection of the same rows with renumbered columns; `None` if the naming column is
    /// gone.
    fn moved(&self, new_column: impl Fn(usize) -> Option<usize>) -> Option<Self> {
        Some(match self {
            Self::Public => self.clone(),
            Self::Rows { population, row } => {
                Self::Rows { population: population.clone(), row: new_column(*row)? }
            }
            Self::Unit { population, column } => {
                Self::Unit { population: population.clone(), column: new_column(*column)? }
            }
            Self::Reference { population, column, references } => Self::Reference {
                population: population.clone(),
                column: new_column(*column)?,
                references: references.clone(),
            },
        })
    }
}

/// Which rows a join has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinKind {
    /// All pairs that match.
    Inner,
    /// All pairs that match, and the left rows without a match, with NULLs at their right.
    Left,
    /// The left rows that have a match.
    Semi,
    /// The left rows that have none.
    Anti,
}

impl JoinKind {
    /// Whether the result has the right side's columns.
    pub fn shows_right(self) -> bool {
        matches!(self, Self::Inner | Self::Left)
    }
}

/// One node of a relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "each relation has its operator in a box")]
pub enum Operator {
    /// All rows of a table. Where each is a unit, a column that tells them apart stands behind
    /// those of the files.
    Scan {
        /// The table's name in the contract.
        table: String,
        /// The columns of its files, in the contract's order, by their names in SQL.
        columns: Vec<(String, ColumnType)>,
        /// Names in files, where they are others, by those in SQL.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        names_in_files: BTreeMap<String, String>,
        /// Most bytes of a text in each of them; longer text is NULL.
        column_bytes: Vec<usize>,
        /// How its CSV files are written, where the contract says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        csv: Option<CsvSettings>,
        /// The units that the rows belong to.
        protection: Protection,
    },
    /// The rows on which a condition holds.
    Filter {
        /// Where rows come from.
        input: Relation,
        /// A condition on them.
        condition: Expr,
    },
    /// One row for each row, with computed columns.
    Project {
        /// Where rows come from.
        input: Relation,
        /// The columns of the result.
        columns: Vec<NamedExpr>,
    },
    /// One row for each combination of some columns' values: the least by all columns. Of protected
    /// rows, the unit is among the columns.
    First {
        /// Where rows come from.
        input: Relation,
        /// Positions of the columns.
        keys: Vec<usize>,
    },
    /// Some rows of each unit: those with the least keyed hash of all columns that the query reads.
    /// None of those without a unit.
    Take {
        /// Where rows come from.
        input: Relation,
        /// Most rows of a unit.
        rows: u32,
    },
    /// Pairs of rows, or the rows that have or lack a partner.
    Join {
        /// Which of them.
        kind: JoinKind,
        /// The left side.
        left: Relation,
        /// The right side.
        right: Relation,
        /// Values that must be equal, the left side's and the right side's. NULL equals nothing.
        on: Vec<(Expr, Expr)>,
        /// A further condition on pairs, over the left side's columns followed by the right's.
        condition: Option<Expr>,
        /// Most rows of one unit on each side, where its rows can meet each other: those with the
        /// least keyed hash. See [`Relation::row_limits`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_rows: Option<u32>,
    },
    /// The rows of all inputs, which have columns of the same types.
    UnionAll {
        /// Where rows come from, at least one.
        inputs: Vec<Relation>,
    },
    /// One row for each combination of keys that a unit has.
    Aggregate {
        /// Where rows come from.
        input: Relation,
        /// The keys; one of them is the unit.
        keys: Vec<NamedExpr>,
        /// The aggregates of the rows of each combination.
        aggregates: Vec<(String, UnitAggregate)>,
    },
    /// The rows with values added that look at other rows of the same unit.
    Window {
        /// Where rows come from.
        input: Relation,
        /// The added columns.
        columns: Vec<WindowedColumn>,
    },
}

impl From<Relation> for Operator {
    fn from(relation: Relation) -> Self {
        *relation.operator
    }
}

impl TryFrom<Operator> for Relation {
    type Error = Refusal;

    fn try_from(operator: Operator) -> Result<Self, Refusal> {
        Self::new(operator)
    }
}

impl Relation {
    /// Checks a node: its expressions fit its inputs' columns, and it is unit-stable.
    ///
    /// # Errors
    /// A refusal that names what would not be private, or what does not fit.
    pub fn new(operator: Operator) -> Result<Self, Refusal> {
        let (fields, protection) = match &operator {
            Operator::Scan { table, columns, column_bytes, protection, .. } => {
                if columns.len() != column_bytes.len() {
                    return Err(misfit("a scan does not say how long its texts are"));
                }
                let mut fields = fields::scanned(table, columns, column_bytes);
                let named = match protection {
                    Protection::Public => true,
                    Protection::Rows { row, .. } => *row == fields.len(),
                    Protection::Unit { column, .. } | Protection::Reference { column, .. } => {
                        *column < fields.len()
                    }
                };
                if !named {
                    return Err(misfit("a scan names its unit by a column that it lacks"));
                }
                if matches!(protection, Protection::Rows { .. }) {
                    fields.push(Field::row());
                }
                (fields, protection.clone())
            }
            Operator::Filter { input, condition } => {
                fields::condition(condition, &input.fields)?;
                (input.fields.clone(), input.protection.clone())
            }
            Operator::Project { input, columns } => projected(input, columns)?,
            Operator::First { input, keys } => {
                let within_units = match &input.protection {
                    Protection::Public => true,
                    Protection::Unit { .. } => keys.iter().any(|key| input.units.contains(key)),
                    Protection::Rows { .. } | Protection::Reference { .. } => false,
                };
                if !within_units {
                    return Err(misfit("protected rows are chosen by their keys"));
                }
                if keys.is_empty() || keys.iter().any(|&key| key >= input.fields.len()) {
                    return Err(misfit("rows are chosen by a column that they lack"));
                }
                (input.fields.clone(), input.protection.clone())
            }
            Operator::Take { input, .. } => {
                if input.protection.unit().is_none() {
                    return Err(misfit("rows without a unit are taken by units"));
                }
                (input.fields.clone(), input.protection.clone())
            }
            Operator::Join { kind, left, right, on, condition, .. } => {
                join::checked(*kind, left, right, on, condition.as_ref())?
            }
            Operator::UnionAll { inputs } => union(inputs)?,
            Operator::Aggregate { input, keys, aggregates } => {
                aggregate::aggregated(input, keys, aggregates)?
            }
            Operator::Window { input, columns } => aggregate::windowed(input, columns)?,
        };
        let beside = beside::checked(&operator)?.map(Box::new);
        let inputs = inputs_of(&operator);
        let depth = 1 + inputs.iter().map(|i| i.depth).max().unwrap_or(0);
        let operators = 1 + inputs.iter().map(|i| i.operators).sum::<usize>();
        if depth > MAX_DEPTH || operators > MAX_OPERATORS || fields.len() > MAX_COLUMNS {
            return Err(Refusal::new(
                format!(
                    "the query's tables and sub-queries make {operators} operators, {depth} deep, \
                     with {} columns; at most {MAX_OPERATORS}, {MAX_DEPTH} and {MAX_COLUMNS} are \
                     allowed",
                    fields.len()
                ),
                "use fewer sub-queries and joins, and fewer columns in the contract's tables",
            ));
        }
        // These facts are derived again for every node, so that a relation read from a file cannot
        // claim more than its operators give.
        let unique = unique(&operator);
        let units = units::of(&operator, &protection);
        let operator = Box::new(operator);
        let rows_of_a_unit = None;
        let mut relation = Self {
            operator,
            fields,
            protection,
            units,
            beside,
            unique,
            rows_of_a_unit,
            depth,
            operators,
        };
        relation.rows_of_a_unit = relation.bounded_rows();
        if relation.rows_of_a_unit == Some(1) && relation.unique.is_none() {
            relation.unique = relation.protection.unit().map(|unit| vec![unit]);
        }
        Ok(relation)
    }

    /// The node itself.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// The columns of the result.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The units that the rows belong to.
    pub fn protection(&self) -> &Protection {
        &self.protection
    }

    /// The units of another population that have rows here, too.
    pub fn beside(&self) -> Option<&Beside> {
        self.beside.as_deref()
    }

    /// The relations that the node takes rows from.
    pub(crate) fn inputs(&self) -> Vec<&Self> {
        inputs_of(&self.operator)
    }

    /// Whether at most one row has given values of these expressions.
    pub fn has_one<'a>(&self, keys: impl Iterator<Item = &'a Expr> + Clone) -> bool {
        let is = |key: &Expr, column: usize| {
            key.is_column(column) || (self.units.contains(&column) && self.is_unit(key))
        };
        let has = |column: &usize| keys.clone().any(|key| is(key, *column));
        self.unique.as_ref().is_some_and(|unique| unique.iter().all(has))
    }

    /// Whether a unit has at most one row among those with given values of these expressions.
    pub fn has_one_of_a_unit<'a>(&self, of: impl Iterator<Item = &'a Expr>) -> bool {
        let Some(unit) = self.protection.unit() else { return false };
        let Some(field) = self.fields.get(unit) else { return false };
        let unit = Expr::column(unit, field.column_type);
        let mut all: Vec<&Expr> = of.collect();
        all.push(&unit);
        self.has_one(all.into_iter())
    }

    /// The contract's tables that are read, each once, in the order of their names.
    pub fn tables(&self) -> BTreeSet<&str> {
        let mut tables = BTreeSet::new();
        self.collect_tables(&mut tables);
        tables
    }

    /// The public tables that protected rows are joined with: rows without a match there are left
    /// out.
    pub fn tables_to_match(&self) -> BTreeSet<&str> {
        let mut tables = BTreeSet::new();
        self.collect_matched(&mut tables);
        tables
    }

    fn collect_matched<'a>(&'a self, tables: &mut BTreeSet<&'a str>) {
        let is_public = |side: &Self| side.protection == Protection::Public;
        if is_public(self) {
            return;
        }
        if let Operator::Join { kind: JoinKind::Inner, left, right, on, condition, .. } =
            self.operator()
            && (!on.is_empty() || condition.is_some())
        {
            let public = [left, right].into_iter().filter(|side| is_public(side));
            public.for_each(|side| side.collect_tables(tables));
        }
        self.inputs().into_iter().for_each(|input| input.collect_matched(tables));
    }

    /// The columns of tables that tell units apart here, or the rows that others refer to. No two
    /// values of the files may be one value there.
    pub fn identifying(&self) -> BTreeSet<Origin> {
        let mut columns = BTreeSet::new();
        self.collect_identifying(&mut columns);
        columns
    }

    /// The conditions that are computed while a join looks for partners: of those that keep rows
    /// without one, and of those that only ask whether there is one.
    pub(crate) fn match_conditions(&self) -> Vec<&Expr> {
        let mut conditions = Vec::new();
        if let Operator::Join { kind, condition: Some(condition), .. } = self.operator()
            && *kind != JoinKind::Inner
        {
            conditions.push(condition);
        }
        conditions.extend(inputs_of(self.operator()).into_iter().flat_map(Self::match_conditions));
        conditions
    }

    /// The number of columns, constants and operations in all that is computed from single rows.
    pub fn operations(&self) -> usize {
        self.row_expressions().iter().map(|expression| expression.expr.size().1).sum()
    }

    /// Everything that is computed from single rows, and where it stands.
    pub(crate) fn row_expressions(&self) -> Vec<RowExpression<'_>> {
        let mut expressions = Vec::new();
        self.collect_expressions(&mut expressions);
        expressions
    }

    fn collect_expressions<'a>(&'a self, expressions: &mut Vec<RowExpression<'a>>) {
        let mut add = |clause: &str, expr: &'a Expr, input: &[Field]| {
            let columns = fields::bytes_of(input);
            expressions.push(RowExpression { clause: clause.to_owned(), expr, columns });
        };
        match self.operator() {
            Operator::Scan { .. }
            | Operator::First { .. }
            | Operator::Take { .. }
            | Operator::UnionAll { .. } => {}
            Operator::Filter { input, condition } => add("WHERE", condition, &input.fields),
            Operator::Project { input, columns } => {
                for column in columns {
                    add("a sub-query's SELECT", &column.expr, &input.fields);
                }
            }
            Operator::Join { left, right, on, condition, .. } => {
                for (left_key, right_key) in on {
                    add("a join", left_key, &left.fields);
                    add("a join", right_key, &right.fields);
                }
                let both: Vec<Field> = left.fields.iter().chain(&right.fields).cloned().collect();
                if let Some(condition) = condition {
                    add("a join", condition, &both);
                }
            }
            Operator::Aggregate { input, keys, aggregates } => {
                let operands = aggregates.iter().flat_map(|(_, a)| a.operands());
                for expr in keys.iter().map(|key| &key.expr).chain(operands) {
                    add("a sub-query's GROUP BY", expr, &input.fields);
                }
            }
            Operator::Window { input, columns } => {
                for column in columns {
                    let order = column.order_by.iter().map(|o| &o.expr);
                    let read = column.partition_by.iter().chain(order);
                    for expr in read.chain(column.function.operands()) {
                        add("a window", expr, &input.fields);
                    }
                }
            }
        }
        for input in inputs_of(self.operator()) {
            input.collect_expressions(expressions);
        }
    }

    /// The relation with its expressions changed, checked anew.
    ///
    /// # Errors
    /// Those of [`Relation::new`].
    pub(crate) fn with_expressions(
        self,
        change: &mut dyn FnMut(&mut Expr),
    ) -> Result<Self, Refusal> {
        let mut operator = *self.operator;
        for expr in expressions_of(&mut operator) {
            expr.change(change);
        }
        let again = |input: &mut Self, change: &mut dyn FnMut(&mut Expr)| {
            *input = input.clone().with_expressions(change)?;
            Ok::<(), Refusal>(())
        };
        match &mut operator {
            Operator::Scan { .. } => {}
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::First { input, .. }
            | Operator::Take { input, .. }
            | Operator::Aggregate { input, .. }
            | Operator::Window { input, .. } => again(input, change)?,
            Operator::Join { left, right, .. } => {
                again(left, change)?;
                again(right, change)?;
            }
            Operator::UnionAll { inputs } => {
                inputs.iter_mut().try_for_each(|input| again(input, change))?;
            }
        }
        Self::new(operator)
    }

    fn collect_identifying(&self, origins: &mut BTreeSet<Origin>) {
        if let Operator::Scan { table, columns, protection, .. } = self.operator() {
            if let Protection::Unit { column, .. } | Protection::Reference { column, .. } =
                protection
                && let Some((name, _)) = columns.get(*column)
            {
                origins.insert(Origin { table: table.clone(), column: name.clone() });
            }
            if let Protection::Reference { references, .. } = protection {
                origins.insert(references.clone());
            }
        }
        for input in inputs_of(self.operator()) {
            input.collect_identifying(origins);
        }
    }

    fn collect_tables<'a>(&'a self, tables: &mut BTreeSet<&'a str>) {
        if let Operator::Scan { table, .. } = self.operator() {
            tables.insert(table);
        }
        for input in inputs_of(self.operator()) {
            input.collect_tables(tables);
        }
    }
}

/// The relations that a node takes rows from.
fn inputs_of(operator: &Operator) -> Vec<&Relation> {
    match operator {
        Operator::Scan { .. } => Vec::new(),
        Operator::Filter { input, .. }
        | Operator::Project { input, .. }
        | Operator::First { input, .. }
        | Operator::Take { input, .. }
        | Operator::Aggregate { input, .. }
        | Operator::Window { input, .. } => vec![input],
        Operator::Join { left, right, .. } => vec![left, right],
        Operator::UnionAll { inputs } => inputs.iter().collect(),
    }
}

/// Columns in which no two rows of the result agree.
fn unique(operator: &Operator) -> Option<Vec<usize>> {
    match operator {
        Operator::First { keys, .. } => Some(keys.clone()),
        Operator::Take { input, rows: 1 } => input.protection.unit().map(|unit| vec![unit]),
        Operator::Filter { input, .. } | Operator::Take { input, .. } => input.unique.clone(),
        Operator::Project { input, columns } => {
            let column = |key: &usize| columns.iter().position(|c| c.expr.is_column(*key));
            input.unique.as_ref()?.iter().map(column).collect()
        }
        Operator::Join { kind, left, .. } if !kind.shows_right() => left.unique.clone(),
        Operator::Window { input, .. } => input.unique.clone(),
        // The keys come first. A constant tells no rows apart.
        Operator::Aggregate { keys, .. } => {
            let tells = |index: &usize| {
                let key = keys.get(*index).map(|key| &key.expr.kind);
                !matches!(key, Some(ExprKind::Literal(_)))
            };
            Some((0..keys.len()).filter(tells).collect())
        }
        Operator::Scan { .. } | Operator::Join { .. } | Operator::UnionAll { .. } => None,
    }
}

/// The expressions of a node itself.
fn expressions_of(operator: &mut Operator) -> Vec<&mut Expr> {
    match operator {
        Operator::Scan { .. }
        | Operator::First { .. }
        | Operator::Take { .. }
        | Operator::UnionAll { .. } => Vec::new(),
        Operator::Filter { condition, .. } => vec![condition],
        Operator::Project { columns, .. } => columns.iter_mut().map(|c| &mut c.expr).collect(),
        Operator::Join { on, condition, .. } => {
            on.iter_mut().flat_map(|(l, r)| [l, r]).chain(condition).collect()
        }
        Operator::Aggregate { keys, aggregates, .. } => {
            let operands = aggregates.iter_mut().flat_map(|(_, a)| a.operands_mut());
            keys.iter_mut().map(|key| &mut key.expr).chain(operands).collect()
        }
        Operator::Window { columns, .. } => {
            let mut all = Vec::new();
            for column in columns {
                all.extend(&mut column.partition_by);
                all.extend(column.order_by.iter_mut().map(|o| &mut o.expr));
                all.extend(column.function.operands_mut());
            }
            all
        }
    }
}

/// A node that no query can have made: a serialised relation that was changed.
fn misfit(what: &str) -> Refusal {
    Refusal::new(what, "use a relation that this version of the engine wrote")
}

fn projected(input: &Relation, columns: &[NamedExpr]) -> Result<(Vec<Field>, Protection), Refusal> {
    let fields = columns
        .iter()
        .map(|column| fields::computed(column, &input.fields))
        .collect::<Result<Vec<_>, _>>()?;
    // The last one: a union puts the unit at the end of all its sides.
    let position = |named: usize| {
        let is = |column: &NamedExpr| column.expr.is_column(named) || input.is_unit(&column.expr);
        columns.iter().rposition(is)
    };
    let protection = input.protection.moved(position);
    Ok((fields, protection.ok_or_else(|| misfit("a projection loses the unit's column"))?))
}

/// Stable as each input is, where all name the unit in the same column.
fn union(inputs: &[Relation]) -> Result<(Vec<Field>, Protection), Refusal> {
    let first = inputs.first().ok_or_else(|| misfit("a union has no input"))?;
    // The last one: it is under no name on any side, where no other is the unit on all of them.
    let named = units::common(inputs).last().copied();
    let protection = first.protection.moved(|_| named);
    for other in inputs {
        let types = |r: &Relation| r.fields.iter().map(|f| f.column_type).collect::<Vec<_>>();
        if types(other) != types(first) {
            return Err(Refusal::new(
                "the sides of UNION ALL have columns of different numbers or types",
                "SELECT the same columns on all sides, with CAST where types differ",
            ));
        }
        // Rows of other units in the same column would be bounded as if they were these.
        if protection.is_none() || other.protection.moved(|_| named) != protection {
            return Err(Refusal::new(
                "the sides of UNION ALL do not protect the same units",
                "use tables of one population, each with the column of its privacy unit",
            ));
        }
        if matches!(other.protection, Protection::Reference { .. }) {
            return Err(misfit("a union of rows whose units are not known"));
        }
    }
    // The names are the first side's; a column of the result comes from no single table.
    let origin = |index: usize| {
        let origin = first.fields[index].origin.clone();
        origin.filter(|source| {
            inputs
                .iter()
                .all(|i| i.fields.get(index).and_then(|f| f.origin.as_ref()) == Some(source))
        })
    };
    let fields = first.fields.iter().enumerate();
    let longest = |index: usize| {
        // The longest of all sides, as costs are bounded by it.
        inputs.iter().filter_map(|i| i.fields.get(index)).map(|f| f.max_bytes).max().unwrap_or(0)
    };
    let fields = fields
        .map(|(i, field)| Field { origin: origin(i), max_bytes: longest(i), ..field.clone() })
        .collect();
    // A row may be in several sides.
    let protection = protection.ok_or_else(|| misfit("a union loses the unit's column"))?;
    Ok((fields, protection.repeated()))
}

#[cfg(test)]
mod tests;
