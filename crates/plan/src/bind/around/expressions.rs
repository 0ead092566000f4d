//! Expressions of SQL around private parts.

use hushtable_lang::bind_expr::{
    Binder, Resolve, cast, condition, number_of, unify_all, where_true,
};
use hushtable_lang::{Call, ColumnType, Expr, ExprKind, Refusal, Value};
use sqlparser::ast;

use super::collective::{aggregate, is_collective, name_of, window};
use super::scope::ScopeView;
use super::tree::{
    Aggregate, AggregateFunction, Frame, FrameBound, FrameUnits, Node, Operand, Scalar, SortKey,
    Window, WindowCall,
};
use super::{NamedTables, PER_WINDOW, TreeWalk, unsupported};
use crate::bind::walk::{any, looks_around};

const AGGREGATES: &str = "use COUNT, COUNTIF, SUM, AVG, MIN, MAX, MEDIAN, STDDEV, STDDEV_POP, \
                          STDDEV_SAMP, VARIANCE, VAR_POP, VAR_SAMP, CORR, COVAR_POP, \
                          COVAR_SAMP, LOGICAL_AND or LOGICAL_OR";
const WINDOWS: &str = "use ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG, \
                       LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE or aggregates, OVER (PARTITION \
                       BY … ORDER BY …)";

const FILTERED_WINDOWS: &str = "put the condition inside: COUNTIF(x > 3) OVER (…), or SUM(IF(x > \
                                3, y, NULL)) OVER (…)";

/// Most scalar expressions of SQL around private parts.
const MAX_COMPUTED: usize = 300;
/// Most columns, aggregates, windows and sub-queries of one of them.
const MAX_OPERANDS: usize = 100;

/// The index of a SELECT's first window, until it is known how many columns stand before it.
const FIRST_WINDOW: usize = 1 << 20;

/// Aggregates and windows of a SELECT.
#[derive(Default)]
pub(super) struct CollectedCalls {
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) windows: Vec<Window>,
}

/// The functions of several rows that an expression may call.
pub(super) enum Several<'c> {
    /// None: it is over single rows.
    None,
    /// Aggregates, which are over the rows of groups.
    Aggregates(&'c mut CollectedCalls),
    /// Windows, too.
    Windows(&'c mut CollectedCalls),
}

impl Several<'_> {
    fn aggregates(&mut self) -> Option<&mut CollectedCalls> {
        match self {
            Self::None => None,
            Self::Aggregates(collected) | Self::Windows(collected) => Some(collected),
        }
    }

    fn again(&mut self) -> Several<'_> {
        match self {
            Self::None => Several::None,
            Self::Aggregates(collected) => Several::Aggregates(collected),
            Self::Windows(collected) => Several::Windows(collected),
        }
    }
}

/// Numbers the windows that an expression reads after so many columns.
pub(super) fn after(width: usize, mut scalar: Scalar) -> Scalar {
    for operand in &mut scalar.operands {
        match operand {
            Operand::Column(index) if *index >= FIRST_WINDOW => {
                *index = *index - FIRST_WINDOW + width;
            }
            Operand::Among(value, _) => **value = after(width, (**value).clone()),
            _ => {}
        }
    }
    scalar
}

/// Binds one expression.
struct ClauseBinder<'c, 'w, 'p> {
    walk: &'w mut TreeWalk<'p>,
    tables: &'c NamedTables,
    view: ScopeView<'c>,
    several: Several<'c>,
    operands: Vec<Operand>,
}

impl TreeWalk<'_> {
    /// An expression over the columns of a view.
    pub(super) fn scalar(
        &mut self,
        node: &ast::Expr,
        view: ScopeView<'_>,
        several: Several<'_>,
        tables: &NamedTables,
    ) -> Result<Scalar, Refusal> {
        let scalar = self.bound(node, view, several, tables)?;
        self.has(scalar.planned_again(false)).map_err(|refusal| refusal.at(node))?;
        Ok(scalar)
    }

    fn bound(
        &mut self,
        node: &ast::Expr,
        view: ScopeView<'_>,
        several: Several<'_>,
        tables: &NamedTables,
    ) -> Result<Scalar, Refusal> {
        let mut clause = ClauseBinder { walk: self, tables, view, several, operands: Vec::new() };
        let expr = Binder::new(&mut clause).bind(node)?;
        let scalar = Scalar { expr, operands: clause.operands };
        if !scalar.is_plain() && !self.computed.contains(&scalar.expr) {
            self.computed.push(scalar.expr.clone());
        }
        if scalar.operands.len() > MAX_OPERANDS || self.computed.len() > MAX_COMPUTED {
            return Err(Refusal::new(
                format!(
                    "the SQL around the private parts has more than {MAX_COMPUTED} expressions, \
                     or one of more than {MAX_OPERANDS} columns"
                ),
                "use fewer or shorter expressions",
            ));
        }
        Ok(scalar)
    }

    /// A condition over the columns of a view.
    pub(super) fn condition(
        &mut self,
        (node, clause): (&ast::Expr, &str),
        view: ScopeView<'_>,
        several: Several<'_>,
        tables: &NamedTables,
    ) -> Result<Scalar, Refusal> {
        let scalar = self.bound(node, view, several, tables)?;
        let keeps_rows = matches!(clause, "WHERE" | "HAVING" | "QUALIFY");
        self.has(scalar.planned_again(keeps_rows)).map_err(|refusal| refusal.at(node))?;
        let Scalar { expr, operands } = scalar;
        let expr = condition(expr, node, clause).map_err(|refusal| refusal.at(node))?;
        Ok(Scalar { expr, operands })
    }
}

impl Resolve for ClauseBinder<'_, '_, '_> {
    fn names(&self, name: &str) -> bool {
        self.view.names(name)
    }

    fn resolve(&mut self, node: &ast::Expr) -> Option<Result<Expr, Refusal>> {
        use ast::Expr as E;
        if let Some((operand, column_type)) = self.key(node) {
            return Some(Ok(self.operand(operand, column_type)));
        }
        let operand = match node {
            E::Identifier(name) => self.view.column(std::slice::from_ref(name)),
            E::CompoundIdentifier(path) => self.view.column(path),
            E::Subquery(query) => self.value(query),
            E::Exists { subquery, negated } => {
                let exists = self.query(subquery).map(|(node, _)| Operand::Exists(Box::new(node)));
                return Some(exists.map(|exists| self.negated(exists, *negated)));
            }
            E::InSubquery { expr, subquery, negated } => {
                let among = self.among(expr, subquery);
                return Some(among.map(|among| self.negated(among, *negated)));
            }
            E::Function(function) if is_collective(function) => {
                if let Some(bits) = grouping_bits(function) {
                    return Some(Binder::new(self).bind(&bits));
                }
                self.collective(function).map_err(|refusal| refusal.at(node))
            }
            _ => return None,
        };
        Some(operand.map(|(operand, column_type)| self.operand(operand, column_type)))
    }
}

impl<'c> ClauseBinder<'c, '_, '_> {
    /// The expression that is an operand.
    fn operand(&mut self, operand: Operand, column_type: ColumnType) -> Expr {
        let index = self.operands.iter().position(|other| *other == operand);
        let index = index.unwrap_or_else(|| {
            self.operands.push(operand);
            self.operands.len() - 1
        });
        Expr::column(index, column_type)
    }

    fn negated(&mut self, operand: Operand, negated: bool) -> Expr {
        let bound = self.operand(operand, ColumnType::Bool);
        match negated {
            true => Expr::new(ExprKind::Not(Box::new(bound)), ColumnType::Bool),
            false => bound,
        }
    }

    /// The key of the groups that an expression is, however it is written.
    fn key(&mut self, node: &ast::Expr) -> Option<(Operand, ColumnType)> {
        let keys = self.view.keys?;
        let found = |index: usize| (Operand::Column(index), keys[index].1.expr.column_type);
        if let Some(index) = keys.iter().position(|(written, _)| written == node) {
            return Some(found(index));
        }
        let is_several = |node: &ast::Expr| match node {
            ast::Expr::Function(function) => is_collective(function),
            other => looks_around(other),
        };
        let is_simple = matches!(
            node,
            ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) | ast::Expr::Value(_)
        );
        if is_simple || keys.iter().all(|(_, key)| key.is_plain()) || any(node, &is_several) {
            return None;
        }
        let before = self.walk.computed.len();
        let bound = self.walk.scalar(node, self.view.rows(), Several::None, self.tables);
        self.walk.computed.truncate(before);
        let bound = bound.ok()?;
        keys.iter().position(|(_, key)| *key == bound).map(found)
    }

    fn query(&mut self, query: &ast::Query) -> Result<(Node, Vec<ColumnType>), Refusal> {
        let (node, outputs) = self.walk.query(query, self.tables, Some(&self.view))?;
        if !node.outer_columns().is_empty() {
            // It is computed over the values of these columns, so the rows outside are there again.
            self.walk.has(self.view.written_out())?;
            check_levels(&node).map_err(|refusal| refusal.at(query))?;
        }
        Ok((node, outputs.into_iter().map(|column| column.column_type).collect()))
    }

    /// A sub-query with one column.
    fn column_of(&mut self, query: &ast::Query) -> Result<(Node, ColumnType), Refusal> {
        let (node, outputs) = self.query(query)?;
        match outputs.as_slice() {
            [column_type] => Ok((node, *column_type)),
            _ => Err(Refusal::new(
                format!("a sub-query in an expression shows {} columns", outputs.len()),
                "(SELECT MAX(n) FROM …), one column",
            )),
        }
    }

    fn value(&mut self, query: &ast::Query) -> Result<(Operand, ColumnType), Refusal> {
        let (node, column_type) = self.column_of(query)?;
        if !node.has_one_row() {
            return Err(several_rows(query));
        }
        Ok((Operand::Value(Box::new(node)), column_type))
    }

    fn among(&mut self, value: &ast::Expr, query: &ast::Query) -> Result<Operand, Refusal> {
        let mut value = self.scalar(value)?;
        let (node, column_type) = self.column_of(query)?;
        let both = vec![value.expr, Expr::column(0, column_type)];
        let mut both = unify_all(both, "IN")?.into_iter();
        let (Some(left), Some(right)) = (both.next(), both.next()) else {
            return Err(unsupported(query, "x IN (SELECT y FROM …)"));
        };
        value.expr = left;
        let column = Scalar { expr: right, operands: vec![Operand::Column(0)] };
        let node = match column.as_column() {
            Some(_) => node,
            None => Node::Project(Box::new(node), vec![column]),
        };
        Ok(Operand::Among(Box::new(value), Box::new(node)))
    }

    /// An expression that may call the same functions.
    fn scalar(&mut self, node: &ast::Expr) -> Result<Scalar, Refusal> {
        self.walk.scalar(node, self.view, self.several.again(), self.tables)
    }

    /// An aggregate or a window function.
    fn collective(&mut self, function: &ast::Function) -> Result<(Operand, ColumnType), Refusal> {
        let name = name_of(function);
        let over = function.over.is_some();
        let hint = match (over, function.filter.is_some()) {
            (true, true) => FILTERED_WINDOWS,
            (true, false) => WINDOWS,
            (false, _) => AGGREGATES,
        };
        let odd = || unsupported(function, hint);
        let aggregate = aggregate(&name);
        let (called, least, most) = match (aggregate, window(&name)) {
            (Some(run), _) => {
                let operands = match run {
                    AggregateFunction::Correlation
                    | AggregateFunction::Covariance
                    | AggregateFunction::CovariancePop => 2,
                    _ => 1,
                };
                (WindowCall::Aggregate(run), operands, operands)
            }
            (None, Some(window)) if over => window,
            _ => return Err(odd()),
        };
        let call = Call::of(function).ok_or_else(odd)?;
        let plain = call.within.is_empty()
            && (call.filter.is_none() || (aggregate.is_some() && !over))
            && (call.nulls.is_none() || aggregate.is_none());
        let distinct = call.duplicates == Some(ast::DuplicateTreatment::Distinct);
        if !plain || (distinct && (over || aggregate.is_none())) {
            return Err(odd());
        }
        if (over && !matches!(self.several, Several::Windows(_)))
            || matches!(self.several, Several::None)
        {
            return Err(Refusal::new(
                format!("`{function}` is computed from several rows, but here is one at a time"),
                "use HAVING for aggregates and QUALIFY for windows, or compute it in a sub-query",
            ));
        }
        let mut nodes = Vec::with_capacity(call.arguments.len());
        let mut all_rows = false;
        for argument in call.arguments {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)
                    if name == "COUNT" && !distinct =>
                {
                    all_rows = true;
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(node)) => nodes.push(node),
                _ => {
                    return Err(Refusal::new(
                        format!("`{function}` aggregates released values, which need no bounds"),
                        hint,
                    ));
                }
            }
        }
        let given = nodes.len() + usize::from(all_rows);
        if given < least || given > most {
            return Err(odd());
        }
        let Some(over) = &function.over else {
            let Some(run) = aggregate else { return Err(odd()) };
            return self.aggregate((run, &name), &nodes, distinct, call.filter);
        };
        let ast::WindowType::WindowSpec(spec) = over else {
            return Err(unsupported(function, "write OVER (…) where it is used"));
        };
        if called == WindowCall::Aggregate(AggregateFunction::Grouping(0)) {
            return Err(odd());
        }
        let mut operands = Vec::with_capacity(nodes.len());
        for node in &nodes {
            operands.push(self.of_groups(node)?);
        }
        let column_type = typed((called, &name), &mut operands, &nodes)?;
        let mut window = self.over(spec)?;
        let ignores_nulls = call.nulls == Some(&ast::NullTreatment::IgnoreNulls);
        window = Window { function: called, operands, ignores_nulls, column_type, ..window };
        let windows = self.several.aggregates().map(|collected| &mut collected.windows);
        let index = windows.map(|windows| position(windows, window)).ok_or_else(odd)?;
        Ok((Operand::Column(FIRST_WINDOW + index), column_type))
    }

    /// An expression over groups, for a window.
    fn of_groups(&mut self, node: &ast::Expr) -> Result<Scalar, Refusal> {
        let several = match self.several.aggregates() {
            None => Several::None,
            Some(collected) => Several::Aggregates(collected),
        };
        self.walk.scalar(node, self.view, several, self.tables)
    }

    fn aggregate(
        &mut self,
        (function, name): (AggregateFunction, &str),
        nodes: &[&ast::Expr],
        distinct: bool,
        filter: Option<&ast::Expr>,
    ) -> Result<(Operand, ColumnType), Refusal> {
        let rows = self.view.rows();
        let mut operands = Vec::with_capacity(nodes.len());
        for node in nodes {
            operands.push(self.walk.scalar(node, rows, Several::None, self.tables)?);
        }
        let filter = filter
            .map(|node| self.walk.condition((node, "FILTER"), rows, Several::None, self.tables))
            .transpose()?;
        let keys = self.view.keys.unwrap_or_default();
        let column_type = typed((WindowCall::Aggregate(function), name), &mut operands, nodes)?;
        let function = match (function, operands.first()) {
            (AggregateFunction::Grouping(_), Some(operand)) => {
                let key = keys.iter().position(|(_, key)| key == operand);
                operands = Vec::new();
                AggregateFunction::Grouping(key.ok_or_else(|| {
                    Refusal::new("GROUPING is of what is no key of GROUP BY", "GROUPING(a key)")
                })?)
            }
            (function, _) => function,
        };
        let aggregate = Aggregate { function, operands, distinct, filter, column_type };
        let all = self.several.aggregates().map(|collected| &mut collected.aggregates);
        let index = all.map(|all| position(all, aggregate));
        let index = index.ok_or_else(|| unsupported(name, AGGREGATES))?;
        Ok((Operand::Column(keys.len() + index), column_type))
    }

    /// A window without its function.
    fn over(&mut self, spec: &ast::WindowSpec) -> Result<Window, Refusal> {
        self.walk.has(PER_WINDOW)?;
        let ast::WindowSpec { window_name, partition_by, order_by, window_frame } = spec;
        if window_name.is_some() {
            return Err(unsupported(spec, "OVER (PARTITION BY … ORDER BY …)"));
        }
        let partition_by = partition_by.iter().map(|node| self.of_groups(node));
        let partition_by = partition_by.collect::<Result<_, _>>()?;
        let order_by =
            order_by.iter().map(|item| Ok(SortKey::of(self.of_groups(&item.expr)?, item.options)));
        let order_by = order_by.collect::<Result<Vec<_>, Refusal>>()?;
        let frame = window_frame.as_ref().map(|frame| {
            let bound = framed(frame, spec)?;
            check_frame(&bound, frame, &order_by)?;
            Ok::<_, Refusal>(bound)
        });
        let frame = frame.transpose()?;
        let is_number = |key: &SortKey| key.value.expr.column_type.is_numeric();
        if frame.as_ref().is_some_and(Frame::counts_values) && !order_by.iter().all(is_number) {
            return Err(Refusal::new(
                format!("`{spec}` counts back from values that are no numbers"),
                "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW, or order by a number",
            ));
        }
        Ok(Window {
            function: WindowCall::RowNumber,
            operands: Vec::new(),
            order_by,
            partition_by,
            frame,
            ignores_nulls: false,
            column_type: ColumnType::Int,
        })
    }
}

impl SortKey {
    /// A sort key that states where NULL goes: in GoogleSQL, NULL is the least value.
    pub(super) fn of(value: Scalar, options: ast::OrderByOptions) -> Self {
        let descending = options.asc == Some(false);
        Self { value, descending, nulls_first: options.nulls_first.unwrap_or(!descending) }
    }
}

/// Refuses a sub-query of several rows where one value is needed.
fn several_rows(query: &ast::Query) -> Refusal {
    let one = match (&query.order_by, &query.limit_clause) {
        (None, None) => "end it with ORDER BY 1 LIMIT 1",
        (Some(_), None) => "end it with LIMIT 1",
        (_, Some(_)) => "end it with LIMIT 1 in place of its LIMIT",
    };
    Refusal::new(
        format!("`({query})` may have several rows, but one value is needed here"),
        format!(
            "{one}, or show an aggregate in it, as MAX(x); where each row has one partner, an \
             equality for each key says so; for all rows, JOIN"
        ),
    )
    .at(query)
}

/// Refuses a level of all rows in a sub-query that reads columns from outside: it would have a row
/// where there is none to aggregate, but for no row outside in particular.
fn check_levels(node: &Node) -> Result<(), Refusal> {
    if !node.outer_columns().is_empty() && node.has_total() {
        return Err(Refusal::new(
            "a sub-query that reads columns from outside has a level of all rows",
            "GROUP BY its keys without ROLLUP, CUBE or (), or JOIN … GROUP BY ROLLUP (…)",
        ));
    }
    Ok(())
}

/// GROUPING of several keys by those of each: a bit for each key, the last one the lowest.
fn grouping_bits(function: &ast::Function) -> Option<ast::Expr> {
    let call = Call::of(function)?;
    if name_of(function) != "GROUPING" || function.over.is_some() || call.arguments.len() < 2 {
        return None;
    }
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let bit = |argument: &ast::FunctionArg| {
        let args = vec![argument.clone()];
        let list = ast::FunctionArgumentList { args, ..list.clone() };
        let args = ast::FunctionArguments::List(list);
        ast::Expr::Function(ast::Function { args, ..function.clone() })
    };
    let binary =
        |left, op, right| ast::Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) };
    let two = || ast::Expr::value(ast::Value::Number("2".to_owned(), false));
    let doubled = |bits| binary(bits, ast::BinaryOperator::Multiply, two());
    let bits = list.args.iter().map(bit);
    bits.reduce(|bits, bit| binary(doubled(bits), ast::BinaryOperator::Plus, bit))
}

/// The index of an item, which is added where it is new.
fn position<T: PartialEq>(all: &mut Vec<T>, item: T) -> usize {
    all.iter().position(|other| *other == item).unwrap_or_else(|| {
        all.push(item);
        all.len() - 1
    })
}

/// The type of a function's value. Its operands get the types that it takes.
fn typed(
    (function, name): (WindowCall, &str),
    operands: &mut [Scalar],
    nodes: &[&ast::Expr],
) -> Result<ColumnType, Refusal> {
    use AggregateFunction as A;
    use WindowCall as W;
    let first = operands.first().map_or(ColumnType::Int, |operand| operand.expr.column_type);
    let mut change = |to: &dyn Fn(Expr, &ast::Expr) -> Result<Expr, Refusal>| {
        for (operand, node) in operands.iter_mut().zip(nodes) {
            let expr = to(operand.expr.clone(), node).map_err(|refusal| refusal.at(*node))?;
            operand.expr = expr;
        }
        Ok::<_, Refusal>(())
    };
    Ok(match function {
        W::Aggregate(A::Count) if name == "COUNTIF" => {
            change(&|expr, node| Ok(where_true(condition(expr, node, name)?, None)))?;
            ColumnType::Int
        }
        W::Aggregate(A::Count | A::Grouping(_)) => ColumnType::Int,
        W::Aggregate(A::Sum | A::Median) => {
            change(&|expr, node| number_of(expr, node, name))?;
            operands.first().map_or(first, |operand| operand.expr.column_type)
        }
        W::Aggregate(A::All | A::Any) => {
            change(&|expr, node| condition(expr, node, name))?;
            ColumnType::Bool
        }
        W::Aggregate(A::Min | A::Max) | W::FirstValue | W::LastValue => first,
        W::NthValue => {
            constant(name, operands, nodes, 1)?;
            positive(name, operands, nodes, 1)?;
            first
        }
        W::Ntile => {
            constant(name, operands, nodes, 0)?;
            positive(name, operands, nodes, 0)?;
            ColumnType::Int
        }
        W::Aggregate(
            A::Mean
            | A::Stddev
            | A::StddevPop
            | A::Variance
            | A::VariancePop
            | A::Correlation
            | A::Covariance
            | A::CovariancePop,
        ) => {
            change(&|expr, node| Ok(cast(number_of(expr, node, name)?, ColumnType::Float)))?;
            ColumnType::Float
        }
        W::Lag | W::Lead => {
            constant(name, operands, nodes, 1)?;
            if let [value, _, otherwise] = operands {
                let both = vec![value.expr.clone(), otherwise.expr.clone()];
                let both: Result<[Expr; 2], _> = unify_all(both, name)?.try_into();
                if let Ok([left, right]) = both {
                    (value.expr, otherwise.expr) = (left, right);
                }
                return Ok(value.expr.column_type);
            }
            first
        }
        W::RowNumber | W::Rank | W::DenseRank => ColumnType::Int,
        W::PercentRank | W::CumeDist => ColumnType::Float,
    })
}

/// Refuses operands of a window function, from one on, that are no constants. The first of these
/// is a number of rows or buckets.
fn constant(
    name: &str,
    operands: &[Scalar],
    nodes: &[&ast::Expr],
    first: usize,
) -> Result<(), Refusal> {
    let all = operands.iter().zip(nodes).enumerate().skip(first);
    for (index, (operand, node)) in all {
        let what = match &operand.expr.kind {
            ExprKind::Literal(Value::Int(_)) => continue,
            ExprKind::Literal(_) if index > first => continue,
            _ if index > first => "constant",
            _ => "constant whole number",
        };
        let hint = "LAG(n, 1, 0), NTILE(4), NTH_VALUE(n, 2)";
        return Err(
            Refusal::new(format!("{name} needs a {what}; `{node}` is none"), hint).at(*node)
        );
    }
    Ok(())
}

/// Refuses a number of buckets or a position that is not 1 or more.
fn positive(
    name: &str,
    operands: &[Scalar],
    nodes: &[&ast::Expr],
    index: usize,
) -> Result<(), Refusal> {
    match (operands.get(index).map(|operand| &operand.expr.kind), nodes.get(index)) {
        (Some(ExprKind::Literal(Value::Int(number))), Some(node)) if *number < 1 => {
            let hint = if index == 0 { format!("{name}(4)") } else { format!("{name}(n, 2)") };
            Err(Refusal::new(format!("{name} counts from 1; `{node}` is below it"), hint).at(*node))
        }
        _ => Ok(()),
    }
}

/// Refuses a frame that has no rows, and one that counts from an order that is not there.
fn check_frame(
    frame: &Frame,
    written: &ast::WindowFrame,
    order_by: &[SortKey],
) -> Result<(), Refusal> {
    let distance = |bound: &FrameBound| match bound {
        FrameBound::Preceding(by) => by.map_or(i64::MIN, |by| -i64::from(by)),
        FrameBound::CurrentRow => 0,
        FrameBound::Following(by) => by.map_or(i64::MAX, i64::from),
    };
    let units = written.units;
    if distance(&frame.start) > distance(&frame.end) {
        let (start, end) = (&written.start_bound, written.end_bound.as_ref());
        let end = end.unwrap_or(&ast::WindowFrameBound::CurrentRow);
        return Err(Refusal::new(
            format!("a frame from {start} to {end} ends before it begins"),
            format!("{units} BETWEEN {end} AND {start}"),
        ));
    }
    if frame.units == FrameUnits::Groups && order_by.is_empty() {
        return Err(Refusal::new(
            "a frame of GROUPS needs an order: a group is the rows that are equal in it",
            "OVER (ORDER BY x GROUPS …), or ROWS in place of GROUPS",
        ));
    }
    if frame.counts_values() && order_by.len() != 1 {
        return Err(Refusal::new(
            format!(
                "a frame of RANGE with a distance counts from one value that rows are ordered by, \
                 but there are {}",
                order_by.len()
            ),
            "ORDER BY one number, or ROWS in place of RANGE",
        ));
    }
    Ok(())
}

/// The days of a frame from so many days before to the row.
fn days_before(frame: &ast::WindowFrame) -> Option<String> {
    use ast::WindowFrameBound::{CurrentRow, Preceding};
    let (Preceding(Some(by)), None | Some(CurrentRow)) = (&frame.start_bound, &frame.end_bound)
    else {
        return None;
    };
    let ast::Expr::Interval(interval) = by.as_ref() else { return None };
    let text = interval.to_string().to_uppercase().replace('\'', "");
    let mut words = text.strip_prefix("INTERVAL ")?.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some(days), Some("DAY" | "DAYS"), None) => days.parse::<u32>().ok().map(|d| d.to_string()),
        _ => None,
    }
}

fn framed(frame: &ast::WindowFrame, spec: &ast::WindowSpec) -> Result<Frame, Refusal> {
    let odd = || match days_before(frame) {
        Some(days) => unsupported(
            spec,
            &format!(
                "ROWS BETWEEN {days} PRECEDING AND CURRENT ROW counts rows, which are days where \
                 each day has one; a calendar as a public table in the part gives all of them"
            ),
        ),
        None => unsupported(spec, "ROWS BETWEEN 6 PRECEDING AND CURRENT ROW"),
    };
    let number = |by: &Option<Box<ast::Expr>>| match by {
        None => Ok(None),
        Some(by) => by.to_string().parse().map(Some).map_err(|_| odd()),
    };
    let bound = |bound: &ast::WindowFrameBound| {
        Ok::<_, Refusal>(match bound {
            ast::WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::WindowFrameBound::Preceding(by) => FrameBound::Preceding(number(by)?),
            ast::WindowFrameBound::Following(by) => FrameBound::Following(number(by)?),
        })
    };
    let units = match frame.units {
        ast::WindowFrameUnits::Rows => FrameUnits::Rows,
        ast::WindowFrameUnits::Range => FrameUnits::Range,
        ast::WindowFrameUnits::Groups => FrameUnits::Groups,
    };
    let start = bound(&frame.start_bound)?;
    let end = frame.end_bound.as_ref().map_or(Ok(FrameBound::CurrentRow), bound)?;
    if start == FrameBound::Following(None) || end == FrameBound::Preceding(None) {
        return Err(odd());
    }
    Ok(Frame { units, start, end })
}
