//! From TOML to a workload.

use hushtable_contract::read::{ContractError, ContractText, Item, Section};
use hushtable_contract::{Defaults, defaults, loss};

use super::query_names::{Template, choices, is_identifier, wrong_name};
use super::{MAX_QUERIES, Workload, WorkloadLevel, WorkloadQuery};
use crate::bind::{LevelShares, LevelWishes};

/// Largest weight of a query.
const MAX_WEIGHT: u32 = 1000;

const QUERY: &str = "write [[queries]] with name = \"towns\" and sql = \"SELECT town, COUNT(*) \
                     …\"";

pub(super) fn workload(
    text: &str,
    file: &str,
    sql_file: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Workload, ContractError> {
    let source = ContractText::new(text, file);
    let parsed = source.parse()?;
    let root = Section::root(source, parsed.get_ref(), parsed.span(), "the workload");
    root.only(&[
        "contract",
        "analyst",
        "epsilon",
        "rho",
        "delta",
        "defaults",
        "clipping_report",
        "consistent",
        "level_shares",
        "levels",
        "queries",
    ])?;
    let contract = match root.get("contract") {
        Some(item) => item.text("a file name", "contract = \"hushtable.toml\"")?.to_owned(),
        None => "hushtable.toml".to_owned(),
    };
    let hint = "analyst = \"ana\": who pays, from the contract's budgets";
    let analyst = root.get("analyst").map(|item| item.text("an analyst", hint)).transpose()?;
    let loss = loss(&root, "the workload's budget", |what| {
        root.error(
            what,
            "give rho = 0.5 and delta = 1e-6 at the top, or epsilon: all queries share it",
        )
    })?;
    let defaults = match root.get("defaults") {
        None => Defaults::default(),
        Some(item) => {
            let section = item.section("the workload's defaults", "[defaults]")?;
            section.only(&[
                "max_groups_contributed",
                "max_rows_per_group",
                "max_rows_joined",
                "group_selection_strategy",
            ])?;
            defaults(&section)?
        }
    };
    let hint = "clipping_report = true: what limits cut off, at a tenth of each query's share";
    let clipping_report = root.get("clipping_report").map(|item| item.flag(hint)).transpose()?;
    let consistent = root.get("consistent").map_or(Ok(None), |item| consistent(&item))?;
    let shares =
        root.get("level_shares").map(|item| level_shares(&item, consistent)).transpose()?;
    let shares = shares.unwrap_or_default();
    let consistent = consistent.map(|non_negative| LevelWishes { non_negative, shares });
    let levels = root.get("levels").map_or(Ok(Vec::new()), |item| levels(&item))?;
    let listed = root.required("queries", QUERY)?;
    let mut queries: Vec<WorkloadQuery> = Vec::new();
    for item in listed.list(QUERY)? {
        queries.extend(query(&item, &levels, sql_file)?);
        if queries.len() > MAX_QUERIES {
            return Err(item.error(
                format!("the workload has more than {MAX_QUERIES} queries"),
                "write several workloads, each with a budget of its own",
            ));
        }
    }
    if queries.is_empty() {
        return Err(listed.error("the workload has no query", QUERY));
    }
    let workload = Workload {
        file: file.to_owned(),
        contract,
        analyst: analyst.map(str::to_owned),
        loss,
        defaults,
        clipping_report: clipping_report.unwrap_or(false),
        consistent,
        queries,
        levels,
    };
    one_name_each(&workload)?;
    Ok(workload)
}

/// Whether tables are to fit each other, and if so, whether numbers that cannot be negative are
/// kept from it.
fn consistent(item: &Item<'_, '_>) -> Result<Option<bool>, ContractError> {
    let hint = "consistent = true: all tables add up, at no cost";
    match item.flag(hint) {
        Ok(enabled) => Ok(enabled.then_some(false)),
        Err(_) => match item.text("true, false or \"non_negative\"", hint)? {
            "non_negative" => Ok(Some(true)),
            _ => Err(item.wrong("true, false or \"non_negative\"", hint)),
        },
    }
}

/// The aim of the split of the budget over tables that fit each other.
fn level_shares(
    item: &Item<'_, '_>,
    consistent: Option<bool>,
) -> Result<LevelShares, ContractError> {
    let hint = "level_shares = \"sum\": the sum of all variances is the least";
    let allowed = "\"largest\", \"sum\" or \"even\"";
    let shares = LevelShares::named(item.text(allowed, hint)?);
    let shares = shares.ok_or_else(|| item.wrong(allowed, hint))?;
    if consistent.is_none() {
        return Err(item.error(
            "level_shares is for tables that fit each other".to_owned(),
            "write consistent = true beside it, or leave it out",
        ));
    }
    Ok(shares)
}

fn levels(item: &Item<'_, '_>) -> Result<Vec<WorkloadLevel>, ContractError> {
    let hint = "write [levels] with geography = [\"state\", \"county\"]: names of columns";
    let mut levels = Vec::new();
    for (name, item) in item.section("the levels", hint)?.items() {
        if !is_identifier(name) {
            return Err(item.error(
                format!("`{name}` is not a plain name of a level"),
                "use letters, digits and _, so that it can stand in braces",
            ));
        }
        let mut columns: Vec<(String, usize)> = Vec::new();
        for item in item.list(hint)? {
            let column = item.text("the name of a column", hint)?;
            if !is_identifier(column) {
                return Err(item.wrong(
                    "the name of a column",
                    "use letters, digits and _; for anything else, declare a computed column in \
                     the contract",
                ));
            }
            if columns.iter().any(|(earlier, _)| earlier == column) {
                return Err(item.error(
                    format!("the level `{name}` lists `{column}` twice"),
                    "list every column once",
                ));
            }
            columns.push((column.to_owned(), item.line()));
        }
        if columns.is_empty() {
            return Err(item.error(format!("the level `{name}` lists no column"), hint));
        }
        levels.push(WorkloadLevel { name: name.to_owned(), columns });
    }
    Ok(levels)
}

/// One entry of the list: as many queries as there are ways to fill its braces.
fn query(
    item: &Item<'_, '_>,
    levels: &[WorkloadLevel],
    sql_file: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<WorkloadQuery>, ContractError> {
    let section = item.section("a query", QUERY)?;
    section.only(&["name", "sql", "file", "weight"])?;
    let name_item = section.required("name", QUERY)?;
    let name = name_item.text("a name", QUERY)?;
    let (sql_item, sql) = match (section.get("sql"), section.get("file")) {
        (Some(sql), None) => {
            let text = sql.text("a query", QUERY)?.to_owned();
            (sql, text)
        }
        (None, Some(file)) => {
            let path =
                file.text("a file name", "file = \"towns.sql\", relative to the workload")?;
            let text = sql_file(path).map_err(|reason| {
                file.error(
                    format!("cannot read the file `{path}` of query `{name}`: {reason}"),
                    "give a file of SQL in UTF-8, relative to the workload's folder",
                )
            })?;
            (file, text)
        }
        (Some(_), Some(file)) => {
            return Err(
                file.error(format!("query `{name}` has both sql and a file"), "keep one of them")
            );
        }
        (None, None) => {
            return Err(name_item.error(format!("query `{name}` has no sql"), QUERY));
        }
    };
    let weight = match section.get("weight") {
        Some(item) => item.count(1, MAX_WEIGHT, "weight = 2: twice the share of the others")?,
        None => 1,
    };
    let braces = "{level} stands for its columns; {{ and }} for braces";
    let names = Template::parse(name).map_err(|what| name_item.error(what, braces))?;
    let text = Template::parse(&sql)
        .map_err(|what| sql_item.error(format!("query `{name}`: {what}"), braces))?;
    let used = used_levels(&names, levels, &name_item)?;
    used_levels(&text, levels, &sql_item)?;
    let (in_name, in_sql) = (names.levels(), text.levels());
    let alone = |these: &[&str], others: &[&str], field: &str| {
        let level = these.iter().find(|level| !others.contains(level))?;
        Some(format!("query `{name}` has {{{level}}} in its {field} only"))
    };
    if let Some(what) = alone(&in_sql, &in_name, "sql").or(alone(&in_name, &in_sql, "name")) {
        return Err(name_item.error(
            what,
            "write every level in both, so that each query has a name and each name a query",
        ));
    }
    let count = used.iter().map(|level| level.columns.len()).try_fold(1, usize::checked_mul);
    if count.is_none_or(|count| count > MAX_QUERIES) {
        return Err(name_item.error(
            format!("query `{name}` stands for more than {MAX_QUERIES} queries"),
            "use fewer levels or columns, or several workloads",
        ));
    }
    let queries = choices(&used).into_iter().map(|chosen| {
        let name = names.fill(&chosen);
        match wrong_name(&name) {
            Some(why) => Err(name_item.error(
                format!("the name `{name}` of a query {why}"),
                "use letters, digits, _, - and ., as in counties_naics2: results go to files of \
                 that name",
            )),
            None => {
                Ok(WorkloadQuery { name, sql: text.fill(&chosen), weight, line: sql_item.line() })
            }
        }
    });
    queries.collect()
}

/// The levels of a text, in their order there.
fn used_levels<'a>(
    template: &Template,
    levels: &'a [WorkloadLevel],
    item: &Item<'_, '_>,
) -> Result<Vec<&'a WorkloadLevel>, ContractError> {
    let known: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
    let find = |name: &str| levels.iter().find(|level| level.name == name);
    let used = template.levels().into_iter().map(|name| {
        find(name).ok_or_else(|| {
            let hint = match known.as_slice() {
                [] => format!("write [levels] with {name} = [\"state\", \"county\"]"),
                known => format!("the levels are {}", known.join(", ")),
            };
            item.error(format!("there is no level `{name}`"), hint)
        })
    });
    used.collect()
}

/// Files of names that differ in letter case only are one file on some systems.
fn one_name_each(workload: &Workload) -> Result<(), ContractError> {
    for (index, query) in workload.queries.iter().enumerate() {
        let mut before = workload.queries.iter().take(index);
        if let Some(other) = before.find(|q| q.name.eq_ignore_ascii_case(&query.name)) {
            let what = format!("the query on line {} has the same name", other.line);
            return Err(workload.error(query, &what, "give every query a name of its own"));
        }
    }
    Ok(())
}
