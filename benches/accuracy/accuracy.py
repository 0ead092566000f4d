#!/usr/bin/env python3
"""Accuracy at equal privacy: what Hushtable's defaults show of made-up data, beside other tools.

    accuracy.py BINARY FOLDER [--repeat N] > table.md

Needs numpy, pyarrow, pandas and duckdb. Data are made once in FOLDER (some 100 MB). Tables are bounded
before they are asked, so that a tool has nothing to bound and errors are those of noise:

- W1: events of 100,000 users and 10,000 items; users by item, for users with at most K items.
- W2: rows, sum and mean of values from 0 to 100 by item, for users with at most 4 items and 2 rows of each, as a
  newcomer asks, and where the contract says that no value is missing (not_null). Errors are those of the 100 largest
  items, or of those of them that are shown: who shows more groups shows smaller ones, too.
- W3: establishments, employees (to 1,000) and payroll (to 10,000,000) by 50 states and 20 sectors, public.
- W4: the count, the sum of employees and the median of payroll of all establishments; SmartNoise has no median.

W1, W2 and W4 are asked at epsilon = 1, with delta = 1e-8 where groups are chosen; W3 at rho = 1. Figures of
other tools, at the same privacy, are in peers.csv beside this file: each ran the same workloads, on data from
the same laws. The noise of a public group does not depend on the data. The best known mechanisms on paper are
in paper.py.
"""

import argparse
import csv
import pathlib
import shutil
import subprocess
import sys
import tempfile

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import paper

STATES = [f"{state:02d}" for state in range(1, 51)]
SECTORS = "11 21 22 23 31 42 44 48 51 52 53 54 55 56 61 62 71 72 81 92".split()
GROUPS = (1, 4, 16, 64)
# Items of W2 whose errors are looked at.
LARGEST = 100


def events(path):
    """A million rows: items by a Zipf law with exponent 1.2, activity and values log-normal."""
    rows, users, items = 1_000_000, 100_000, 10_000
    random = np.random.default_rng([20261121, ord("S")])
    share = np.cumsum(np.arange(1, items + 1, dtype=np.float64) ** -1.2)
    share /= share[-1]
    names = random.permutation(items).astype(np.int32)
    activity = np.cumsum(random.lognormal(0.0, 1.0, users))
    activity /= activity[-1]
    more = np.searchsorted(activity, random.random(rows - users)).astype(np.int32)
    user = np.concatenate([np.arange(users, dtype=np.int32), more])
    random.shuffle(user)
    rank = np.minimum(np.searchsorted(share, random.random(rows)), items - 1)
    value = np.round(np.minimum(random.lognormal(2.5, 1.4, rows), 1e6), 2)
    item = pa.array([f"item_{i:07d}" for i in range(items)]).take(pa.array(names[rank]))
    table = pa.table({"user_id": pa.array(user.astype(np.int64)), "item": item, "value": value})
    pq.write_table(table, path)


def establishments(path):
    """A million rows: employees by a Pareto law with exponent 1.1, payroll log-normal by employee."""
    rows = 1_000_000
    random = np.random.default_rng([20261121, rows])
    state = pa.array(STATES).take(pa.array(random.integers(0, 50, rows)))
    weight = random.lognormal(0.0, 0.8, 20)
    sector = pa.array(SECTORS).take(pa.array(random.choice(20, rows, p=weight / weight.sum())))
    employees = np.minimum(random.pareto(1.1, rows) + 1, 500_000).astype(np.int64)
    payroll = np.round(random.lognormal(10.7, 0.6, rows) * employees, 2)
    columns = {"state": state, "sector": sector, "employees": employees, "payroll": payroll}
    pq.write_table(pa.table(columns), path)


def prepare(folder):
    """Data and exact answers, where they are not there yet."""
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    events(folder / "events.parquet")
    establishments(folder / "establishments.parquet")
    db = duckdb.connect()
    db.execute("SELECT setseed(0.25)")

    def save(sql, name):
        db.execute(f"COPY ({sql}) TO '{folder / name}' (FORMAT parquet)")

    source = f"'{folder / 'events.parquet'}'"
    db.execute(
        f"""CREATE TABLE ranked AS SELECT *, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY z) AS r
            FROM (SELECT user_id, item, random() AS z FROM (SELECT DISTINCT user_id, item FROM {source}))"""
    )
    for most in GROUPS:
        save(f"SELECT user_id, item FROM ranked WHERE r <= {most}", f"w1_{most}.parquet")
    save(
        f"""SELECT user_id, item, LEAST(GREATEST(value, 0), 100) AS value FROM
            (SELECT e.user_id, e.item, e.value, ROW_NUMBER() OVER (PARTITION BY e.user_id, e.item ORDER BY e.z) AS q
             FROM (SELECT *, random() AS z FROM {source}) e JOIN (SELECT user_id, item FROM ranked WHERE r <= 4) USING (user_id, item)) WHERE q <= 2""",
        "w2.parquet",
    )
    # A contract has one table for a file.
    shutil.copy(folder / "w2.parquet", folder / "w2_never_null.parquet")
    (folder / "done").touch()


def contract(folder):
    bounds = 'value = { type = "float", bounds = [0, 100]'
    tables = {f"w1_{most}": "" for most in GROUPS}
    tables["w2"] = bounds + " }\n"
    tables["w2_never_null"] = bounds + ", not_null = true }\n"
    text = 'ledger = "accuracy.ledger"\n'
    for name, value in tables.items():
        text += f"""[tables.{name}]
path = "{folder / name}.parquet"
privacy_unit = "user_id"
[tables.{name}.columns]
user_id = {{ type = "int" }}
item = {{ type = "string" }}
{value}[tables.{name}.budgets]
me = {{ rho = 100000, delta = 0.01 }}
"""
    return text + f"""[tables.firms]
path = "{folder}/establishments.parquet"
privacy_unit = "row"
[tables.firms.columns]
state = {{ type = "string", public_keys = {STATES} }}
sector = {{ type = "string", public_keys = {SECTORS} }}
employees = {{ type = "int", bounds = [0, 1000] }}
payroll = {{ type = "float", bounds = [0, 10_000_000] }}
[tables.firms.budgets]
me = {{ rho = 100000, delta = 0.01 }}
"""


def workloads(folder):
    """Names, queries, exact answers by key, and the keys."""
    for most in GROUPS:
        yield (
            f"W1, {most} items",
            f"epsilon = 1, delta = 1e-8, max_groups_contributed = {most}, max_rows_per_group = 1",
            f"item, COUNT(DISTINCT user_id) AS n FROM w1_{most} GROUP BY item",
            f"SELECT item, COUNT(*) AS n FROM '{folder}/w1_{most}.parquet' GROUP BY item",
            ["item"],
        )
    for name, table, prefer in (
        ("W2", "w2", ""),
        ("W2 never NULL", "w2_never_null", ""),
        ("W2 with GROUPS", "w2", ", prefer = GROUPS"),
    ):
        yield (
            name,
            f"epsilon = 1, delta = 1e-8, max_groups_contributed = 4, max_rows_per_group = 2{prefer}",
            f"item, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS mean FROM {table} GROUP BY item",
            f"SELECT item, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS mean FROM '{folder}/w2.parquet' GROUP BY item",
            ["item"],
        )
    firms = f"FROM '{folder}/establishments.parquet'"
    yield (
        "W3",
        "rho = 1",
        "state, sector, COUNT(*) AS n, SUM(employees) AS s, SUM(payroll) AS pay FROM firms GROUP BY state, sector",
        f"SELECT state, sector, COUNT(*) AS n, SUM(LEAST(employees, 1000)) AS s, "
        f"SUM(LEAST(payroll, 1e7)) AS pay {firms} GROUP BY ALL",
        ["state", "sector"],
    )
    yield (
        "W4",
        "epsilon = 1",
        "COUNT(*) AS n, SUM(employees) AS s, MEDIAN(payroll) AS median FROM firms",
        f"SELECT COUNT(*) AS n, SUM(LEAST(employees, 1000)) AS s, MEDIAN(payroll) AS median {firms}",
        [],
    )
    yield (
        "W4 without a median",
        "epsilon = 1",
        "COUNT(*) AS n, SUM(employees) AS s FROM firms",
        f"SELECT COUNT(*) AS n, SUM(LEAST(employees, 1000)) AS s {firms}",
        [],
    )


def ask(binary, folder, options, select):
    """A release by a ledger of its own."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "c.toml").write_text(contract(folder))
        sql = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {select}"
        out = place / "out.csv"
        command = [binary, "query", "--contract", place / "c.toml", "--output", out, "--format", "csv", sql]
        subprocess.run(command, check=True, capture_output=True)
        return pd.read_csv(out, dtype={"state": str, "sector": str, "item": str})


def errors(released, exact, keys):
    """Root mean squared errors of what is released."""
    if keys:
        both = released.merge(exact, on=keys, suffixes=("", "_exact"))
    else:
        both = pd.concat([released, exact.add_suffix("_exact")], axis=1)
    numbers = [column for column in exact.columns if column not in keys]
    square = lambda column: np.sqrt(np.nanmean((both[column] - both[f"{column}_exact"]) ** 2))
    return {"groups": len(released)} | {column: square(column) for column in numbers}


def overall(runs):
    """Means over runs: of groups, and of squared errors."""
    runs = pd.DataFrame(runs)
    return {c: runs[c].mean() if c == "groups" else np.sqrt((runs[c] ** 2).mean()) for c in runs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="workloads whose names begin with this")
    given = parser.parse_args()
    folder = given.folder.resolve()
    prepare(folder)
    others = paper.rows(folder, GROUPS, LARGEST)
    others = list(csv.DictReader((pathlib.Path(__file__).parent / "peers.csv").open())) + others
    columns = ["groups", "n", "s", "mean", "pay", "median"]
    print("| workload | tool | groups shown | count | sum | mean | payroll | median |")
    print("| --- " * (2 + len(columns)) + "|")
    shown = lambda x: "" if x in (None, "") or pd.isna(float(x)) else f"{float(x):,.4g}"
    for name, options, select, exact, keys in workloads(folder):
        if not name.startswith(given.only):
            continue
        exact = duckdb.sql(exact).df()
        # The error of one number needs more runs than that of many.
        runs = given.repeat if keys else 10 * given.repeat
        released = [ask(given.binary.resolve(), folder, options, select) for _ in range(runs)]
        own = overall([errors(own, exact, keys) for own in released])
        if name.startswith("W2"):
            print(f"{name}, all items that are shown: {own}", file=sys.stderr)
            largest = exact.nlargest(LARGEST, "n")
            own |= overall([errors(own, largest, keys) for own in released]) | {"groups": own["groups"]}
        rows = [("Hushtable", own)] + [(row["tool"], row) for row in others if row["workload"] == name]
        for tool, row in rows:
            print(f"| {name} | {tool} | " + " | ".join(shown(row.get(c)) for c in columns) + " |", flush=True)


if __name__ == "__main__":
    main()
