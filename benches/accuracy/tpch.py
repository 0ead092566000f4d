#!/usr/bin/env python3
"""Mean absolute errors of ten totals over TPC-H at scale 1, epsilon = 0.8, beside the best fixed bounds.

    tpch.py BINARY FOLDER [--repeat N] [--only 3,12] > table.md

Needs duckdb and numpy. FOLDER has the tables as Parquet files (`tpchgen-cli parquet -s 1 --output-dir FOLDER`).

The totals are those that R2T (Dong, Fang, Yi, Tao, Machanavajjhala; SIGMOD 2022) was tried on, one for each of ten
queries of TPC-H, without groups. Units are orders in 12, suppliers in 11 and 20, customers in 3, 10 and 18. In 5, 7,
8 and 21 they are customers and suppliers, and both are protected.

- "AUTO": the query says `bounds = AUTO`, nothing else; it is of a number for each unit. Not for two populations.
- "fixed": with the limits that have the least error on these data, found by DuckDB and arithmetic from all rows. No
  analyst knows them; they show how much is lost by not knowing them, and what noise alone costs.
- "2x": with limits twice as large as those, as of somebody who guesses on the safe side.

Errors of R2T at the same epsilon, on the same tables, are from its authors' program.
"""

import argparse
import math
import pathlib
import subprocess
import tempfile

import duckdb
import numpy as np

EPSILON = 0.8
R2T = {"5": 3902, "8": 35087, "21": 39262, "7": 1324463}

DECIMAL = '{ type = "decimal(2)", not_null = true }'
COLUMNS = {
    "customer": {"c_custkey": "int", "c_nationkey": "int"},
    "supplier": {"s_suppkey": "int", "s_nationkey": "int"},
    "partsupp": {"ps_suppkey": "int", "ps_availqty": "int", "ps_supplycost": DECIMAL},
    "orders": {"o_orderkey": "int", "o_custkey": "int", "o_orderdate": "date"},
    "lineitem": {"l_orderkey": "int", "l_suppkey": "int", "l_quantity": DECIMAL, "l_extendedprice": DECIMAL,
                 "l_discount": DECIMAL},
}
# The unit of each table, for each set of units.
THROUGH = '{ column = "l_orderkey", references = "orders.o_orderkey" }'
UNITS = {
    "customers": {
        "customer": 'unit = { of = "customer", column = "c_custkey" }',
        "orders": 'unit = { of = "customer", column = "o_custkey" }',
        "lineitem": f'unit = {{ of = "customer", through = {THROUGH} }}',
    },
    "suppliers": {
        "supplier": 'unit = { of = "supplier", column = "s_suppkey" }',
        "partsupp": 'unit = { of = "supplier", column = "ps_suppkey" }',
        "lineitem": 'unit = { of = "supplier", column = "l_suppkey" }',
    },
    "orders": {
        "orders": 'unit = { of = "order", column = "o_orderkey" }',
        "lineitem": 'unit = { of = "order", column = "l_orderkey" }',
    },
}
UNITS["both"] = UNITS["customers"] | {"supplier": UNITS["suppliers"]["supplier"] + '\nunique = ["s_suppkey"]'}
POPULATIONS = {"customers": ["customer"], "suppliers": ["supplier"], "orders": ["order"],
               "both": ["customer", "supplier"]}

LINES = "lineitem JOIN orders ON l_orderkey = o_orderkey"
BOTH = LINES + " JOIN customer ON o_custkey = c_custkey JOIN supplier ON l_suppkey = s_suppkey"
VOLUME = "l_extendedprice * (1 - l_discount) / 1000"
STOCK = "ps_supplycost * ps_availqty / 1000000"
DATES = "o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'"
# Units, what is added up (1: rows are counted), the tables, the condition, and the unit's column.
TOTALS = {
    "3": ("customers", "1", LINES, "o_orderdate < DATE '1995-03-15'", "o_custkey"),
    "10": ("customers", "1", "orders", "TRUE", "o_custkey"),
    "11": ("suppliers", STOCK, "partsupp", "TRUE", "ps_suppkey"),
    "12": ("orders", "1", "lineitem", "TRUE", "l_orderkey"),
    "18": ("customers", "l_quantity", LINES, "TRUE", "o_custkey"),
    "20": ("suppliers", "1", "lineitem", "TRUE", "l_suppkey"),
    "5": ("both", "1", BOTH, "c_nationkey = s_nationkey", None),
    "7": ("both", VOLUME, BOTH, "TRUE", None),
    "8": ("both", "1", BOTH, DATES, None),
    "21": ("both", "1", BOTH, "TRUE", None),
}


def contract(folder, units):
    lines = ['ledger = "tpch.ledger"']
    for population in POPULATIONS[units]:
        lines += [f"[units.{population}]", "budgets.me = { epsilon = 100000, delta = 0.01 }"]
    for table, unit in UNITS[units].items():
        lines += [f"[tables.{table}]", f'path = "{folder / table}.parquet"', unit, f"[tables.{table}.columns]"]
        for name, kind in COLUMNS[table].items():
            lines.append(f"{name} = " + (kind if kind.startswith("{") else f'{{ type = "{kind}" }}'))
    return "\n".join(lines) + "\n"


def error(bias, scale):
    """The mean absolute error of what is too low by `bias` and has Laplace noise of `scale`."""
    return bias + scale * math.exp(-bias / scale)


def best(sums):
    """The bound of a unit's sum with the least error, and that error."""
    found = []
    for bound in np.unique(np.ceil(np.quantile(sums, 1 - np.geomspace(1e-6, 0.2, 400)))):
        bias = np.maximum(sums - bound, 0).sum()
        found.append((error(bias, bound / EPSILON), bound))
    return min(found)


def number(db, sql):
    return np.array(db.execute(sql).fetchnumpy()["x"], dtype=np.float64)


def limits(db, total):
    """The limits with the least error: of a unit, or of an owner and of rows of the other side; and that error."""
    _, value, tables, condition, column = TOTALS[total]
    aggregate = "COUNT(*)" if value == "1" else f"SUM({value})"
    if column:
        least, bound = best(number(db, f"SELECT {aggregate} AS x FROM {tables} WHERE {condition} GROUP BY {column}"))
        return {"bound": bound}, least
    # Suppliers own: a supplier moves the answer by its rows, a customer by `most` rows. Rows of customers are chosen by
    # conditions on their tables alone, before the join.
    before = condition if "o_orderdate" in condition else "TRUE"
    customers = number(db, f"SELECT COUNT(*) AS x FROM {LINES} WHERE {before} GROUP BY o_custkey")
    suppliers = number(db, f"SELECT COUNT(*) AS x FROM {BOTH} WHERE {condition} GROUP BY l_suppkey")
    row = 1 if value == "1" else math.ceil(number(db, f"SELECT MAX({VOLUME}) AS x FROM lineitem")[0])
    answer = number(db, f"SELECT {aggregate} AS x FROM {tables} WHERE {condition}")[0]
    lost = lambda rows, limit: answer * np.maximum(rows - limit, 0).sum() / rows.sum()
    tried = lambda rows: np.unique(np.ceil(np.quantile(rows, 1 - np.geomspace(1e-6, 0.2, 100))))
    found = []
    for bound in tried(suppliers):
        for most in tried(customers):
            bias = lost(suppliers, bound) + lost(customers, most)
            found.append((error(bias, max(bound, most) * row / EPSILON), bound, most))
    least, bound, most = min(found)
    return {"bound": bound, "most": most, "row": row}, least


def query(total, chosen, factor):
    """The query with limits that are `factor` times the best ones, or with AUTO."""
    _, value, tables, condition, column = TOTALS[total]
    where = "" if condition == "TRUE" else f" WHERE {condition}"
    options = f"epsilon = {EPSILON}"
    aggregate = "COUNT(*)" if value == "1" else f"SUM({value})"
    if factor is None:
        options += ", bounds = AUTO"
        # AUTO chooses bounds of a unit's number.
        tables, where = f"(SELECT {column}, {aggregate} AS c FROM {tables}{where} GROUP BY {column})", ""
        aggregate = "SUM(c)"
    else:
        bound = math.ceil(factor * chosen["bound"])
        if value == "1" or "most" in chosen:
            options += f", max_rows_per_group = {bound}"
        else:
            aggregate = f"SUM({value}, contribution_bounds_per_group => (0, {bound}))"
        if "most" in chosen:
            options += f", max_rows_contributed = {math.ceil(factor * chosen['most'])}"
            if value != "1":
                aggregate = f"SUM({value}, contribution_bounds_per_row => (0, {chosen['row']}))"
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) {aggregate} AS n FROM {tables}{where}"


def ask(binary, folder, units, sql):
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "c.toml").write_text(contract(folder, units))
        out = place / "out.csv"
        command = [binary, "query", "--contract", place / "c.toml", "--output", out, "--format", "csv", sql]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{sql}\n{done.stderr}")
        return float(out.read_text().split("\n")[1].split(",")[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--only", default=",".join(TOTALS))
    given = parser.parse_args()
    folder = given.folder.resolve()
    db = duckdb.connect()
    for table in COLUMNS:
        db.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder / table}.parquet')")
    print("| query | exact | best limits | by arithmetic | fixed | 2x | AUTO | AUTO / fixed | R2T |")
    print("| --- " * 9 + "|")
    for total in given.only.split(","):
        units, value, tables, condition, column = TOTALS[total]
        aggregate = "COUNT(*)" if value == "1" else f"SUM({value})"
        exact = number(db, f"SELECT {aggregate} AS x FROM {tables} WHERE {condition}")[0]
        chosen, least = limits(db, total)
        errors = {}
        for factor in (1, 2) if units == "both" else (1, 2, None):
            sql = query(total, chosen, factor)
            runs = [ask(given.binary.resolve(), folder, units, sql) for _ in range(given.repeat)]
            errors[factor] = np.abs(np.array(runs) - exact).mean()
        shown = ", ".join(f"{limit:,.0f}" for name, limit in chosen.items() if name != "row")
        cells = [total, f"{exact:,.0f}", shown, f"{least:,.4g}", f"{errors[1]:,.4g}", f"{errors[2]:,.4g}"]
        cells += [f"{errors[None]:,.4g}", f"{errors[None] / least:.2f}"] if None in errors else ["", ""]
        cells += [f"{R2T[total]:,}" if total in R2T else ""]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
