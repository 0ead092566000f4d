"""Python's database interface."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import hushtable as ht
from conftest import EXACT, TOWNS, contract, visits
from hushtable import dbapi

COUNT = f"{EXACT} town, COUNT(*) AS n FROM visits GROUP BY town ORDER BY town"


@pytest.fixture
def connection(engine: ht.Engine) -> dbapi.Connection:
    return dbapi.connect(engine, analyst="ana")


def test_rows_are_fetched(connection: dbapi.Connection) -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "pyformat")
    cursor = connection.cursor()
    assert (cursor.description, cursor.rowcount) == (None, -1)
    with pytest.raises(dbapi.InterfaceError, match="no answer yet"):
        cursor.fetchone()
    assert not cursor.explain(COUNT).is_free
    rows = [(town, 300) for town in TOWNS]
    assert cursor.execute(COUNT).fetchall() == rows
    assert cursor.rowcount == 3 and cursor.fetchone() is None and cursor.fetchall() == []
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["town", "n"]
    assert cursor.description[0][1] == dbapi.STRING and cursor.description[1][1] == dbapi.NUMBER
    assert cursor.description[1][1] != dbapi.DATETIME
    assert list(cursor.execute(COUNT)) == rows
    cursor.execute(COUNT)
    assert cursor.release is not None and cursor.release.was_free
    assert [cursor.fetchone(), cursor.fetchmany(), cursor.fetchmany(5)] == [
        rows[0],
        rows[1:2],
        rows[2:],
    ]
    connection.commit()
    connection.rollback()


@pytest.mark.parametrize(
    ("where", "parameters", "count"),
    [
        ("town = %(town)s AND spent >= %(least)s", {"town": "Ashford", "least": 0}, 300),
        ("town = %s AND spent >= %s", ["Ashford", 0], 300),
        ("town = %s", ("Millbrook",), 300),
        ("town = @town", {"town": "Ashford"}, 300),
        ("town LIKE 'Ash%%' AND spent < %(most)s", {"most": 50}, 300),
        ("town LIKE %(like)s", {"like": "Ash%"}, 300),
        ("town LIKE 'Ash%'", None, 300),
        ("town LIKE 'Ash%'", {}, 300),
    ],
)
def test_parameters_stand_for_values(
    connection: dbapi.Connection, where: str, parameters: Any, count: int
) -> None:
    sql = f"{EXACT} COUNT(*) AS n FROM visits WHERE {where}"
    assert connection.cursor().execute(sql, parameters).fetchall() == [(count,)]


@pytest.mark.parametrize(
    ("where", "parameters"),
    [
        ("town = %(city)s", {"town": "Ashford"}),
        ("town = '%(town)s'", {"town": "Ashford"}),
        ("town LIKE 'A%' AND town = %s", ["Ashford"]),
        ("town = %s", ["Ashford", "Millbrook"]),
        ("town = %s AND town = %s", ["Ashford"]),
        ("town = %s", {"town": "Ashford"}),
        ("town = %(town)s", ["Ashford"]),
        ("town = %s", "Ashford"),
    ],
)
def test_parameters_that_do_not_fit(
    connection: dbapi.Connection, where: str, parameters: Any
) -> None:
    with pytest.raises(dbapi.ProgrammingError) as raised:
        connection.cursor().execute(f"{EXACT} COUNT(*) FROM visits WHERE {where}", parameters)
    assert raised.value.hint


def test_errors_are_those_of_the_interface(ledger: Path) -> None:
    rules = contract(ana=ht.Budget(epsilon=1))
    with dbapi.connect(rules, tables={"visits": visits()}, ledger=ledger) as connection:
        cursor = connection.cursor()
        with pytest.raises(dbapi.ProgrammingError) as raised:
            cursor.execute("SELECT twon, COUNT(*) FROM visits GROUP BY twon")
        assert raised.value.place and raised.value.hint
        assert isinstance(raised.value.__cause__, ht.Refused)
        assert isinstance(raised.value, connection.Error)
        with pytest.raises(dbapi.OperationalError) as exceeded:
            cursor.execute(f"{EXACT} SUM(spent) AS s FROM visits")
        assert isinstance(exceeded.value.__cause__, ht.BudgetExceeded)
        with pytest.raises(dbapi.NotSupportedError, match="executemany"):
            cursor.executemany("SELECT 1", [])
    for use in (connection.cursor, connection.commit, lambda: cursor.execute(COUNT)):
        with pytest.raises(dbapi.ProgrammingError, match="the connection was closed"):
            use()
    connection.close()
    with pytest.raises(dbapi.ProgrammingError, match="none.toml"):
        dbapi.connect("none.toml")


def test_an_engine_that_is_given_stays_open(engine: ht.Engine) -> None:
    with dbapi.connect(engine) as connection, connection.cursor() as cursor:
        assert len(cursor.execute(COUNT).fetchall()) == 3
    with pytest.raises(dbapi.ProgrammingError, match="the cursor was closed"):
        cursor.fetchall()
    assert not engine.closed


def test_pandas_reads_answers(connection: dbapi.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        # pandas tests SQLAlchemy alone, and says so.
        warnings.filterwarnings("ignore", "pandas only supports SQLAlchemy")
        frame = pandas.read_sql(COUNT, connection)
        sql = f"{EXACT} COUNT(*) AS n FROM visits WHERE town = %(town)s"
        one = pandas.read_sql(sql, connection, params={"town": "Ashford"})
    assert list(frame["town"]) == TOWNS and list(frame["n"]) == [300, 300, 300]
    assert list(one["n"]) == [300]


def test_polars_reads_answers(connection: dbapi.Connection) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.read_database(COUNT, connection)
    assert frame.to_dicts() == [{"town": town, "n": 300} for town in TOWNS]
