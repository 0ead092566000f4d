"""Frames of every library come in, and releases go out to every library."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import narwhals
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hushtable as ht
from conftest import EXACT, contract, visits

SQL = (
    f"{EXACT} town, COUNT(*) AS n, SUM(spent) AS spent, "
    "AVG(spent) AS mean FROM visits GROUP BY town ORDER BY town"
)


FRAMES: dict[str, Callable[[Any], Any]] = {
    "pyarrow": lambda table: table,
    "pyarrow in chunks": lambda table: pa.concat_tables([table.slice(0, 7), table.slice(7)]),
    "a record batch": lambda table: table.combine_chunks().to_batches()[0],
    "a reader": lambda table: table.to_reader(max_chunksize=100),
    "pandas": lambda table: table.to_pandas(),
    "pandas with categories": lambda table: table.to_pandas().astype({"town": "category"}),
    "Polars": pl.DataFrame,
    "Polars with categories": lambda table: pl.DataFrame(table).cast({"town": pl.Categorical}),
    "DuckDB": duckdb.from_arrow,
    "narwhals": lambda table: narwhals.from_native(pl.DataFrame(table)),
    "a lazy frame of Polars": lambda table: pl.DataFrame(table).lazy(),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_library_give_the_same_answer(kind: str, ledger: Path) -> None:
    frame = FRAMES[kind](visits())
    engine = ht.Engine(contract(), tables={"visits": frame}, ledger=ledger)
    rows = engine.analyst("ana").sql(SQL).to_dicts()
    exact: dict[str, list[int]] = {}
    for row in visits().to_pylist():
        exact.setdefault(row["town"], []).append(row["spent"])
    assert [(r["town"], r["n"], r["spent"]) for r in rows] == [
        (town, len(all_of_it), sum(all_of_it)) for town, all_of_it in sorted(exact.items())
    ]
    for row in rows:
        assert row["mean"] == pytest.approx(row["spent"] / row["n"], abs=1e-6)


def test_rows_are_known_by_their_content(ledger: Path) -> None:
    first = ht.Engine(contract(), tables={"visits": visits()}, ledger=ledger)
    release = first.analyst("ana").sql(SQL)
    assert not release.was_free
    # Cut otherwise, and with another engine: the same rows.
    cut = FRAMES["pyarrow in chunks"](visits())
    again = ht.Engine(contract(), tables={"visits": cut}, ledger=ledger).analyst("ana").sql(SQL)
    assert again.was_free and again.to_dicts() == release.to_dicts()
    other = ht.Engine(contract(), tables={"visits": visits(903)}, ledger=ledger)
    assert not other.analyst("ana").sql(SQL).was_free


def test_rows_are_not_copied(ledger: Path) -> None:
    table = visits(300_000)
    before = pa.total_allocated_bytes()
    engine = ht.Engine(contract(), tables={"visits": table}, ledger=ledger)
    assert pa.total_allocated_bytes() - before < table.nbytes / 1000
    # The engine holds the arrays: they live as long as it does.
    del table
    assert pa.total_allocated_bytes() >= before
    n = engine.analyst("ana").sql(f"{EXACT} COUNT(*) AS n FROM visits").to_dicts()
    assert n == [{"n": 300_000}]


def test_releases_go_to_every_library(ana: ht.Analyst) -> None:
    release = ana.sql(SQL)
    rows = release.to_dicts()
    assert release.columns == ["town", "n", "spent", "mean"] and len(release) == 3
    assert release.to_arrow().to_pylist() == rows
    assert release.to_polars().to_dicts() == rows
    assert release.to_pandas().to_dict("records") == rows
    assert pa.table(release).to_pylist() == rows
    assert pl.DataFrame(release).to_dicts() == rows
    summed = duckdb.sql("SELECT SUM(n) FROM release")
    assert summed is not None and summed.fetchall() == [(900,)]
    schema = pa.table(release).schema
    assert pa.RecordBatchReader.from_stream(release).schema == schema
    # Another consumer's types are given where they can be.
    # Text is of the type that every reader of Arrow knows.
    assert schema.field("town").type == pa.string()
    wanted = schema.set(0, pa.field("town", pa.large_string()))
    assert pa.RecordBatchReader.from_stream(release, schema=wanted).schema == wanted


def test_values_of_every_type_come_as_those_of_python(tmp_path: Path, ledger: Path) -> None:
    day, moment = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30, 1, 250)
    rows = 60
    table = pa.table(
        {
            "id": list(range(rows)),
            "flag": [True] * rows,
            "day": [day] * rows,
            "moment": [moment] * rows,
            "price": pa.array([decimal.Decimal("1.25")] * rows, pa.decimal128(9, 2)),
            "share": [0.5] * rows,
            "name": ["Zoë's \U0001f600"] * rows,
        }
    )
    columns: dict[str, ht.Column | str] = {
        "id": "int",
        "flag": "bool",
        "day": "date",
        "moment": "timestamp",
        "price": ht.Column("decimal(2)", bounds=(0, 10)),
        "share": ht.Column("float", bounds=(0, 1)),
        "name": "string",
    }
    rules = ht.Contract(
        tables={
            "t": ht.Table(
                privacy_unit="row",
                columns=columns,
                budgets={"ana": ht.Budget(epsilon=1_000_000, delta=1e-3)},
                defaults=ht.Defaults(delta=1e-6, max_groups_contributed=1, max_rows_per_group=1),
            )
        }
    )
    ana = ht.Engine(rules, tables={"t": table}, ledger=ledger).analyst("ana")
    sql = (
        f"{EXACT} flag, day, moment, name, COUNT(*) AS n, SUM(price) AS total, "
        "SUM(share) AS shares FROM t GROUP BY flag, day, moment, name"
    )
    (row,) = ana.sql(sql).to_dicts()
    shares = row.pop("shares")
    assert shares == pytest.approx(30, abs=1e-3)
    assert row == {
        "flag": True,
        "day": day,
        "moment": moment,
        "name": "Zoë's \U0001f600",
        "n": rows,
        "total": decimal.Decimal("75.00"),
    }


def test_parameters_of_every_type(ana: ht.Analyst) -> None:
    def count(condition: str, **params: Any) -> Any:
        release = ana.sql(f"{EXACT} COUNT(*) AS n FROM visits WHERE {condition}", params=params)
        return release.to_dicts()[0]["n"]

    assert count("spent >= @least", least=25) == 450
    assert count("spent >= @least", least=pd.Series([25])[0]) == 450
    assert count("spent >= @least", least=24.5) == 450
    assert count("spent >= @least", least=decimal.Decimal("24.5")) == 450
    assert count("town = @town", town="Ashford") == 300
    assert count("town = @town", town="'O''Brien' \\ \"x\"") == 0
    assert count("(spent >= 25) = @upper", upper=True) == 450
    assert count("COALESCE(@nothing, spent) >= 25", nothing=None) == 450
    day = datetime.date(2024, 2, 29)
    assert count("DATE_ADD(@day, INTERVAL spent DAY) >= DATE '2024-03-25'", day=day) == 450
    moment = datetime.datetime(
        2024, 2, 29, 23, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=-1))
    )
    assert (
        count(
            "TIMESTAMP_ADD(@moment, INTERVAL spent DAY) >= TIMESTAMP '2024-03-26 00:30:00'",
            moment=moment,
        )
        == 450
    )
    with pytest.raises(ValueError, match="least is not finite"):
        count("spent >= @least", least=float("nan"))
    with pytest.raises(TypeError, match="least is a list"):
        count("spent >= @least", least=[25])
    with pytest.raises(ht.Refused, match="no parameter `@most`"):
        count("spent >= 25", most=25)


def test_frames_that_cannot_be_read_quote_no_value(ledger: Path) -> None:
    mixed = pd.DataFrame({"id": [1, 2], "town": ["Ada Lovelace", 17], "spent": [1, 2]})
    with pytest.raises(ht.DataError) as raised:
        ht.Engine(contract(), tables={"visits": mixed}, ledger=ledger)
    assert "Ada" not in str(raised.value) and raised.value.__cause__ is None
    with pytest.raises(TypeError, match="no Arrow interface"):
        ht.Engine(contract(), tables={"visits": [1, 2, 3]}, ledger=ledger)
    # Text that is not UTF-8, which Arrow does not check.
    bad = pa.StringArray.from_buffers(
        1, pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00"), pa.py_buffer(b"\xff\xfe")
    )
    table = pa.table({"id": [1], "town": bad, "spent": [1]})
    with pytest.raises(ht.DataError, match="cannot be read as Arrow"):
        ht.Engine(contract(), tables={"visits": table}, ledger=ledger)
    assert not ledger.exists()
