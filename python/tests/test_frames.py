"""Frames of every library come in, and releases go out to every library."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import narwhals
import numpy as np
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


@pytest.mark.parametrize("column", ["id", "spent", "day", "town"])
def test_rows_that_change_later_change_nothing(column: str, ledger: Path) -> None:
    frame = visits().to_pandas().astype({"town": "category"})
    frame["day"] = np.datetime64("2024-02-29T00:00:00", "us")
    rules = contract()
    table = rules.tables["visits"]
    columns = {**table.columns, "day": "timestamp"}
    rules = ht.Contract(tables={"visits": dataclasses.replace(table, columns=columns)})
    engine = ht.Engine(rules, tables={"visits": frame}, ledger=ledger)
    before = engine.owner().check("visits").to_dict()
    # In place, in the memory that pandas hands over.
    if column == "town":
        codes = frame["town"].cat.codes.array  # not a copy of pandas' own
        values = frame["town"]._values._codes
        values.flags.writeable = True
        values[:] = 99
        assert len(codes) == len(frame)
    else:
        array = frame[column].to_numpy()
        array.flags.writeable = True
        array[:] = array[0] if column == "id" else array[::-1].copy()
        if column in ("spent", "day"):
            array[: len(array) // 2] = array.dtype.type(0) if column == "spent" else array[0] + 9
    assert engine.owner().check("visits").to_dict() == before
    sql = f"{EXACT} town, day, COUNT(DISTINCT id) AS ids, SUM(spent) AS spent FROM visits "
    sql += "GROUP BY town, day ORDER BY town"
    rows = engine.analyst("ana").sql(sql).to_dicts()
    fresh = visits().to_pandas().astype({"town": "category"})
    fresh["day"] = np.datetime64("2024-02-29T00:00:00", "us")
    assert [row["ids"] for row in rows] == [100] * 3
    assert sum(row["spent"] for row in rows) == fresh["spent"].sum()
    assert {row["day"] for row in rows} == {datetime.datetime(2024, 2, 29)}
    # Known by the rows as they were.
    again = ht.Engine(rules, tables={"visits": fresh}, ledger=ledger).analyst("ana").sql(sql)
    assert again.was_free


def test_frames_live_no_longer_than_their_caller_needs(ledger: Path) -> None:
    before = pa.total_allocated_bytes()
    table = visits(300_000)
    size = table.nbytes
    engine = ht.Engine(contract(), tables={"visits": table}, ledger=ledger)
    del table
    assert pa.total_allocated_bytes() - before < size / 10
    n = engine.analyst("ana").sql(f"{EXACT} COUNT(*) AS n FROM visits").to_dicts()
    assert n == [{"n": 300_000}]


def test_columns_that_no_query_reads(ledger: Path) -> None:
    table = visits()
    rows = len(table)
    lists = pa.array([[n] for n in range(rows)])
    codes = pa.array(["a"] * rows).dictionary_encode()
    more: dict[str, Any] = {"lists": lists, "codes": codes}
    if hasattr(pa, "string_view"):
        text = "a text that is too long for a view " * 2
        more["views"] = pa.array([text] * rows, pa.string_view())
    for name, array in more.items():
        table = table.append_column(name, array)
    engine = ht.Engine(contract(), tables={"visits": table}, ledger=ledger)
    assert engine.analyst("ana").sql(f"{EXACT} COUNT(*) AS n FROM visits").to_dicts() == [
        {"n": rows}
    ]


@pytest.mark.skipif(not hasattr(pa.ChunkedArray, "__arrow_c_stream__"), reason="of pyarrow 16")
def test_rows_that_are_null_as_a_whole_are_refused(ledger: Path) -> None:
    kind = pa.struct([("id", pa.int64()), ("town", pa.string()), ("spent", pa.int64())])
    rows: list[Any] = visits().to_pylist()
    whole = pa.chunked_array([pa.array(rows, kind)])
    ht.Engine(contract(), tables={"visits": whole}, ledger=ledger)
    part = pa.chunked_array([pa.array([*rows, None], kind)])
    with pytest.raises(ht.DataError, match="cannot be read as Arrow"):
        ht.Engine(contract(), tables={"visits": part}, ledger=ledger)


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
    assert count("spent >= @least", least=np.float64(24.5)) == 450
    assert count("spent >= @least", least=np.array(25)) == 450
    assert count("(spent >= 25) = @upper", upper=np.bool_(True)) == 450
    assert count("DATE_ADD(@day, INTERVAL spent DAY) >= DATE '2024-03-25'", day=np.datetime64(day))
    for same in (
        pd.Timestamp(moment),
        np.datetime64("2024-03-01T00:30:00", "ns"),
        np.datetime64("2024-03-01T00:30:00", "s"),
    ):
        assert (
            count(
                "TIMESTAMP_ADD(@moment, INTERVAL spent DAY) >= TIMESTAMP '2024-03-26 00:30:00'",
                moment=same,
            )
            == 450
        )
    for no_time in (pd.NaT, np.datetime64("NaT")):
        with pytest.raises(ValueError, match="least is not a time"):
            count("spent >= @least", least=no_time)
    for fine in (pd.Timestamp(1), np.datetime64(1, "ns")):
        with pytest.raises(ValueError, match="least has nanoseconds"):
            count("spent >= @least", least=fine)
    for other in (
        np.array([25]),
        pd.Series([25]),
        pl.Series([25]),
        np.timedelta64(1, "ns"),
        np.longdouble(1),
    ):
        with pytest.raises(TypeError, match="the parameter least is a"):
            count("spent >= @least", least=other)
    with pytest.raises(ValueError, match="least is not finite"):
        count("spent >= @least", least=np.float32("nan"))
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
    # Offsets that fall.
    bad = pa.StringArray.from_buffers(
        2, pa.py_buffer(b"\0\0\0\0\5\0\0\0\2\0\0\0"), pa.py_buffer(b"abcde")
    )
    table = pa.table({"id": [1, 2], "town": bad, "spent": [1, 2]})
    with pytest.raises(ht.DataError, match="cannot be read as Arrow"):
        ht.Engine(contract(), tables={"visits": table}, ledger=ledger)
    assert not ledger.exists()


class Raising:
    """A frame whose package raises when it is read."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise self.error


def test_ctrl_c_is_no_fault_of_a_frame(ledger: Path) -> None:
    for error in (KeyboardInterrupt(), MemoryError(), SystemExit(3)):
        with pytest.raises(type(error)):
            ht.Engine(contract(), tables={"visits": Raising(error)}, ledger=ledger)
    with pytest.raises(ht.DataError) as raised:
        ht.Engine(contract(), tables={"visits": Raising(ImportError("pyarrow"))}, ledger=ledger)
    assert raised.value.hint == "pip install pyarrow"


def test_lazy_frames_that_fail_quote_no_value(ledger: Path) -> None:
    lazy = pl.DataFrame({"id": ["Ada Lovelace"]}).lazy().with_columns(pl.col("id").cast(pl.Int64))
    with pytest.raises(ht.DataError, match="cannot be computed") as raised:
        ht.Engine(contract(), tables={"visits": lazy}, ledger=ledger)
    error = raised.value
    assert "Ada" not in str(error) and error.__cause__ is None and error.__context__ is None
