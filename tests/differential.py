"""Compares the answers that the tool `differential` has written to a folder with DuckDB's.

    python differential.py FOLDER

Values are equal as numbers, floats to within one part in a billion: libraries compute EXP and the like
to the last digit or not. Rows are compared in their order. Nothing else is passed over: what differs on
purpose is written otherwise in DuckDB's spelling, by the tool.
"""

import datetime
import decimal
import json
import os
import re
import sys
import tempfile

import duckdb

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


def their_value(value):
    """A value of DuckDB's as ours are written: dates as days, timestamps as microseconds."""
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MICROSECOND
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days
    return value


def our_value(kind, text):
    if text is None:
        return None
    if kind in ("int", "date", "timestamp"):
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "decimal":
        return decimal.Decimal(text)
    return text == "true" if kind == "bool" else text


def equal(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, (bool, str)) or isinstance(theirs, (bool, str)):
        return type(ours) is type(theirs) and ours == theirs
    if isinstance(ours, float) or isinstance(theirs, float):
        ours, theirs = float(ours), float(theirs)
        return ours == theirs or abs(ours - theirs) <= 1e-9 * max(abs(ours), abs(theirs))
    return ours == theirs


def same(ours, theirs):
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(equal, a, b)) for a, b in zip(ours, theirs)
    )


def show(rows):
    lines = [f"    {row!r}" for row in rows[:12]]
    return "\n".join(lines + [f"    … {len(rows)} rows"] if len(rows) > 12 else lines or ["    no row"])


def page_differs(page):
    """What DuckDB answers otherwise than the page of differences says."""
    engine = duckdb.connect()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in re.findall(r"<!-- file: (\S+) -->\n```csv\n(.*?)```", page, re.DOTALL):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            table = name.removesuffix(".csv")
            engine.execute(f"CREATE TABLE {table} AS FROM read_csv('{path}', header = true)")
    differing, rows = [], re.findall(r"^\| `(.*?)` \|(.*)\|$", page, re.MULTILINE)
    for sql, cells in rows:
        says = cells.split("|")[-1].strip()
        if says == "-":
            continue
        try:
            found = engine.execute(sql if sql.startswith("SELECT ") else f"SELECT {sql}").fetchall()
            texts = ["NULL" if value is None else str(value) for (value,) in found]
            answer = ", ".join(text.removesuffix(".0") if "." not in says else text for text in texts)
        except duckdb.Error:
            answer = "error"
        if answer != says:
            differing.append(f"docs/differences.md: `{sql}` is {answer} in DuckDB, not {says}")
    return differing if len(rows) >= 35 else [f"docs/differences.md has {len(rows)} rows"]


def main(folder):
    page = os.path.join(os.path.dirname(__file__), "../docs/differences.md")
    differing = page_differs(open(page, encoding="utf-8").read())
    for line in differing:
        print(line)
    answers = [json.loads(line) for line in open(os.path.join(folder, "answers.jsonl"), encoding="utf-8")]
    os.chdir(folder)
    engine = duckdb.connect()
    engine.execute("SET threads = 1")
    engine.execute(open("theirs.sql", encoding="utf-8").read())
    refused, different, rows, reasons = 0, [], 0, {}
    for answer in answers:
        if answer["refused"] is not None:
            refused += 1
            reason = answer["refused"].split("\n")[0]
            reasons[reason] = reasons.get(reason, 0) + 1
            continue
        ours = [list(map(our_value, answer["types"], row)) for row in answer["rows"]]
        rows += len(ours)
        try:
            theirs = [list(map(their_value, row)) for row in engine.execute(answer["theirs"]).fetchall()]
        except duckdb.Error as error:
            theirs = [[f"error: {error}"]]
        if not same(ours, theirs):
            different.append((answer, ours, theirs))
    for answer, ours, theirs in different[:20]:
        seed, number = answer["seed"], answer["number"]
        print(f"\nstatement {number} of seed {seed} differs; again with")
        print(f"  tests/differential.sh --seed {seed} --only {number}")
        print(f"  ours: {answer['ours']}\n  theirs: {answer['theirs']}")
        print(f"  our rows:\n{show(ours)}\n  their rows:\n{show(theirs)}")
    answered = len(answers) - refused
    if os.environ.get("DIFFERENTIAL_REFUSALS"):
        for reason, times in sorted(reasons.items(), key=lambda own: -own[1]):
            print(f"{times:6} refused: {reason}")
    print(
        f"seed {answers[0]['seed']}: {len(answers)} statements, {refused} refused "
        f"({100 * refused / len(answers):.1f} %), {answered} answered with {rows} rows, "
        f"{answered - len(different)} equal, {len(different)} different"
    )
    return 1 if different or differing or not answered else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
