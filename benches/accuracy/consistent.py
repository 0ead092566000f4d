#!/usr/bin/env python3
"""Accuracy of tables whose levels fit each other, level by level, beside the same levels without that.

    consistent.py BINARY DATA FOLDER [--repeat N] > tables.md

Needs nothing but Python. Rows are written once to FOLDER. DATA has two public files of the U.S. government:

- qcew2016_county_sector_private.csv.gz: establishments by county and sector, of which one row each is made for
  New England: 6 states, county numbers 001 to 031 and 20 sectors, 1,920 cells.
- ppp2020_georgia_partial.csv.gz: loans, of which Georgia's are asked by county and sector, with their sums up to
  150,000 dollars.

W3 is made up: a million establishments by 50 states and 20 sectors. All are asked at epsilon = 1, which all
levels share. Each row of a table is a level: its cells, the root mean squared errors of released and of adjusted
values, the mean width of their 95 % intervals, and the share of intervals that hold the exact value. The second
table has the mean error of cells with an exact value of 5 at most, and of all others.
"""

import argparse
import csv
import gzip
import math
import pathlib
import random
import subprocess
import tempfile
from collections import defaultdict

NEW_ENGLAND = {"09", "23", "25", "33", "44", "50"}
SECTORS = "11 21 22 23 31 42 44 48 51 52 53 54 55 56 61 62 71 72 81 92".split()
STATES = [f"{state:02d}" for state in range(1, 51)]
WAYS = ("FALSE", "TRUE", "NON_NEGATIVE")


def establishments(data):
    """One row for each establishment of New England."""
    with gzip.open(data / "qcew2016_county_sector_private.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            state, county, sector = row["area_fips"][:2], row["area_fips"][2:], row["industry"][:2]
            if row["agglvl"] == "74" and state in NEW_ENGLAND and county != "999" and sector in SECTORS:
                yield from [(state, county, sector)] * int(row["estab"])


def loans(data):
    """Loans of Georgia."""
    same = {"32": "31", "33": "31", "45": "44", "49": "48"}
    with gzip.open(data / "ppp2020_georgia_partial.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            sector = same.get(row["NAICS"][:2], row["NAICS"][:2])
            if sector in SECTORS and row["FIPS"].startswith("13"):
                yield row["FIPS"], sector, min(int(float(row["Amount"])), 150_000)


def made_up(_):
    """Establishments as in accuracy.py: a law of sectors, states alike."""
    own = random.Random(20261121)
    weights = [own.lognormvariate(0.0, 0.8) for _ in SECTORS]
    sectors = own.choices(SECTORS, weights, k=1_000_000)
    for sector in sectors:
        yield own.choice(STATES), sector


TABLES = {
    "Establishments of New England": (
        establishments,
        ["state", "county", "sector"],
        "GROUPING SETS ((state, county, sector), (state, county), (state, sector), (state), (sector), ())",
        {"county": [f"{number:03d}" for number in range(1, 32, 2)], "state": sorted(NEW_ENGLAND)},
    ),
    "Loans of Georgia": (loans, ["county", "sector", "amount"], "CUBE (county, sector)", {}),
    "W3": (made_up, ["state", "sector"], "CUBE (state, sector)", {"state": STATES}),
}


def contract(path, columns, listed):
    text = f'ledger = "own.ledger"\n[tables.t]\npath = "{path}"\nprivacy_unit = "row"\n[tables.t.columns]\n'
    for column in columns:
        if column == "amount":
            text += 'amount = { type = "int", bounds = [0, 150000], not_null = true }\n'
        else:
            text += f'{column} = {{ type = "string", public_keys = {listed[column]} }}\n'
    return text + "[tables.t.budgets]\nme = { epsilon = 1 }\n"


def ask(binary, text, sql):
    """A release by a ledger of its own."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "c.toml").write_text(text)
        out = place / "out.csv"
        command = [binary, "query", "--contract", place / "c.toml", "--output", out, "--format", "csv"]
        subprocess.run([*command, "--intervals", sql], check=True, capture_output=True)
        with out.open() as file:
            return list(csv.DictReader(file))


class Errors:
    """Sums over cells and releases."""

    def __init__(self):
        self.many = self.squares = self.width = self.held = 0
        self.small, self.large = [0, 0.0], [0, 0.0]

    def add(self, value, low, high, exact):
        self.many += 1
        self.squares += (value - exact) ** 2
        self.width += high - low
        self.held += low <= exact <= high
        side = self.small if exact <= 5 else self.large
        side[0] += 1
        side[1] += value - exact


def measured(binary, path, columns, sets, listed, repeat):
    """Errors by level, number and way."""
    keys = [column for column in columns if column != "amount"]
    numbers = ["n", "s"] if "amount" in columns else ["n"]
    exact = defaultdict(lambda: [0, 0])
    with path.open() as file:
        for row in csv.DictReader(file):
            for places in range(2 ** len(keys)):
                cell = tuple(row[key] if places >> at & 1 else "" for at, key in enumerate(keys))
                exact[cell][0] += 1
                exact[cell][1] += int(row.get("amount", 0))
    shown = "COUNT(*) AS n" + (", SUM(amount) AS s" if "amount" in columns else "")
    all_errors = defaultdict(Errors)
    for way in WAYS:
        shares = "" if way == "FALSE" else ", level_shares = EVEN"
        sql = (
            f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, consistent = {way}{shares}) "
            f"{', '.join(keys)}, {shown} FROM t GROUP BY {sets}"
        )
        for _ in range(repeat):
            for row in ask(binary, contract(path, columns, listed), sql):
                cell = tuple(row[key] for key in keys)
                level = ", ".join(key for key, value in zip(keys, cell) if value) or "all"
                for place, number in enumerate(numbers):
                    value, low, high = (float(row[number + end]) for end in ("", "_low", "_high"))
                    all_errors[level, number, way].add(value, low, high, exact[cell][place])
    return all_errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=20)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    errors = {}
    for place, (name, (rows, columns, sets, listed)) in enumerate(TABLES.items()):
        path = given.folder.resolve() / f"table_{place}.csv"
        if not path.exists():
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(rows(given.data))
        listed = {"sector": SECTORS} | listed
        if name.startswith("Loans"):
            with path.open() as file:
                listed["county"] = sorted({row["county"] for row in csv.DictReader(file)})
        errors[name] = measured(given.binary.resolve(), path, columns, sets, listed, given.repeat)
    show = lambda x: f"{x:,.4g}" if abs(x) < 10_000 else f"{x:,.0f}"
    rms = lambda own: math.sqrt(own.squares / own.many)
    print("| table | level | cells | number | error, released | adjusted | not below zero | width, released | adjusted | held |")
    print("| --- " * 10 + "|")
    for name, table in errors.items():
        for (level, number, way), own in table.items():
            if way == "FALSE":
                fits, cut = (table[level, number, other] for other in WAYS[1:])
                cells = [name, level, f"{own.many // given.repeat:,}", {"n": "count", "s": "sum"}[number]]
                cells += [show(x) for x in (rms(own), rms(fits), rms(cut))]
                cells += [show(each.width / each.many) for each in (own, fits)]
                print("| " + " | ".join([*cells, f"{100 * fits.held / fits.many:.1f} %"]) + " |")
    print("\n| table | level | number | small, `TRUE` | small, `NON_NEGATIVE` | others, `TRUE` | others, `NON_NEGATIVE` |")
    print("| --- " * 7 + "|")
    mean = lambda side: f"{side[1] / side[0]:+,.3g}" if side[0] else ""
    for name, table in errors.items():
        for (level, number, way), own in table.items():
            if way == "TRUE":
                cut = table[level, number, "NON_NEGATIVE"]
                sides = (own.small, cut.small, own.large, cut.large)
                print(f"| {name} | {level} | {number} | " + " | ".join(mean(side) for side in sides) + " |")


if __name__ == "__main__":
    main()
