"""Python's database interface, DB-API 2.0 (PEP 249), for tools that know no other.

    import hushtable.dbapi

    with hushtable.dbapi.connect("hushtable.toml", analyst="ana") as connection:
        cursor = connection.cursor()
        sql = "SELECT COUNT(*) AS n FROM visits WHERE town = %(town)s"
        cursor.execute(sql, {"town": "Ashford"})
        cursor.fetchall(), cursor.release.charges

`pandas.read_sql(sql, connection)` and `polars.read_database(sql, connection)` work with it. Every
`execute` is charged, unless its answer is on record, and cannot be taken back: there are no
transactions, `commit` and `rollback` do nothing. Look at the price first, with
`cursor.explain(sql)`.
"""

from __future__ import annotations

import datetime
import decimal
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, Union

from . import _exceptions
from ._contract import Contract
from ._hushtable import Analyst, Engine, Quote, Release
from ._types import Scalar

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"

#: Threads may share the module and connections.
threadsafety = 2

#: `%(name)s` with a dict and `%s` with a sequence; `%%` is a percent sign where there are any.
paramstyle = "pyformat"

Parameters = Union[Mapping[str, Scalar], Sequence[Scalar]]


class Warning(_exceptions.HushtableWarning):  # noqa: A001
    """A warning about a question. The answer stands."""


class Error(_exceptions.HushtableError):
    """The base of the exceptions of this module, with `what`, `place` and `hint`. Its cause is the
    exception of the package."""


class InterfaceError(Error):
    """The interface is used in another way than it is made for."""


class DatabaseError(Error):
    """The base of the exceptions about questions."""


class DataError(DatabaseError):
    """The data cannot be read. A charge that was made stays, and pays for the same question."""


class OperationalError(DatabaseError):
    """The budget does not suffice, or the ledger, memory or the engine is not there."""


class IntegrityError(DatabaseError):
    """Never raised: nothing can be written."""


class InternalError(DatabaseError):
    """A fault in Hushtable: please report it, without data."""


class ProgrammingError(DatabaseError):
    """The question is refused, or the contract or an argument is wrong. Nothing was charged."""


class NotSupportedError(DatabaseError):
    """Not supported, for a reason that the text has."""


#: Classes of the package and those of this interface, the narrower first.
_CLASSES: list[tuple[type[_exceptions.HushtableError], type[DatabaseError]]] = [
    (_exceptions.BudgetExceeded, OperationalError),
    (_exceptions.Refused, ProgrammingError),
    (_exceptions.ArgumentError, ProgrammingError),
    (_exceptions.ContractError, ProgrammingError),
    (_exceptions.DataError, DataError),
    (_exceptions.InternalError, InternalError),
    (_exceptions.HushtableError, OperationalError),
]


def _raise(error: _exceptions.HushtableError) -> NoReturn:
    found = next(ours for theirs, ours in _CLASSES if isinstance(error, theirs))
    raise found(error.what, error.place, error.hint) from error


class _Type:
    """A type object of the interface: equal to the types of Python that it stands for."""

    def __init__(self, name: str, *types: type) -> None:
        self._name = name
        self._types = types

    def __eq__(self, other: object) -> bool:
        return other is self or other in self._types

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"hushtable.dbapi.{self._name}"


STRING = _Type("STRING", str)
BINARY = _Type("BINARY", bytes)
NUMBER = _Type("NUMBER", int, float, decimal.Decimal, bool)
DATETIME = _Type("DATETIME", datetime.date, datetime.datetime)
ROWID = _Type("ROWID")

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802
    """The local date of a number of seconds since 1970."""
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802
    """The local time of day of a number of seconds since 1970."""
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802
    """The local time of a number of seconds since 1970."""
    return datetime.datetime(*time.localtime(ticks)[:6])


def connect(
    contract: str | os.PathLike[str] | Contract | Engine = "hushtable.toml",
    *,
    analyst: str | None = None,
    tables: Mapping[str, Any] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    memory: str | None = None,
    at_least_seconds: float = 0.0,
) -> Connection:
    """A connection of an analyst, to a contract with its tables and its ledger, as `hushtable.open`
    has them, or to an engine that is open, which stays open when the connection is closed. Without
    `analyst`, each question is asked by the one who has a budget for it.

    Raises `ProgrammingError` when the contract cannot be read or is wrong.
    """
    try:
        if isinstance(contract, Engine):
            return Connection(contract.analyst(analyst), None)
        engine = Engine(
            contract,
            tables=tables,
            ledger=ledger,
            memory=memory,
            at_least_seconds=at_least_seconds,
        )
        return Connection(engine.analyst(analyst), engine)
    except _exceptions.HushtableError as error:
        _raise(error)


class Connection:
    """An analyst's connection, from `connect`. As a context manager, it closes at the end."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    #: Every charge is on disk before its data are read.
    autocommit = True

    def __init__(self, analyst: Analyst, engine: Engine | None) -> None:
        self._analyst: Analyst | None = analyst
        self._engine = engine

    @property
    def analyst(self) -> Analyst:
        """The analyst who asks. Raises `ProgrammingError` after `close`."""
        if self._analyst is None:
            raise ProgrammingError("the connection was closed", None, "connect again")
        return self._analyst

    def close(self) -> None:
        """Closes the connection, with its engine where `connect` opened it. Closing it again does
        nothing."""
        self._analyst = None
        if self._engine is not None:
            self._engine.close()

    def commit(self) -> None:
        """Does nothing: whatever was answered is charged and on record."""
        _ = self.analyst

    def rollback(self) -> None:
        """Does nothing: no transaction is open, and a charge cannot be taken back."""
        _ = self.analyst

    def cursor(self) -> Cursor:
        """A cursor, which asks questions and hands out rows."""
        _ = self.analyst
        return Cursor(self)

    def __enter__(self) -> Connection:
        _ = self.analyst
        return self

    def __exit__(self, *_details: object) -> None:
        self.close()


class Cursor:
    """Asks questions and hands out their rows, from `Connection.cursor`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        #: The number of rows that `fetchmany` hands out.
        self.arraysize = 1
        #: The last answer, with its intervals, charges and statement; None before the first.
        self.release: Release | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0
        self._is_closed = False

    @property
    def description(self) -> list[tuple[str, type | None, None, None, None, None, None]] | None:
        """The columns of the last answer: the name, and the type of its values in Python, which is
        equal to one of this module's type objects; None where all are NULL."""
        if self.release is None:
            return None
        kinds = [
            next((type(row[index]) for row in self._rows if row[index] is not None), None)
            for index in range(len(self.release.columns))
        ]
        nothing = (None, None, None, None, None)
        return [(name, kind, *nothing) for name, kind in zip(self.release.columns, kinds)]

    @property
    def rowcount(self) -> int:
        """The number of rows of the last answer; -1 before the first."""
        return -1 if self.release is None else len(self._rows)

    def execute(self, operation: str, parameters: Parameters | None = None) -> Cursor:
        """Asks a question, which is charged unless its answer is on record, and returns the cursor.
        `parameters` has a value for each `%(name)s`, or for each `%s` in their order; `@name` has
        one from a dict, too.

        Raises `ProgrammingError` when the question is refused, `OperationalError` when the budget
        does not suffice, `DataError` when the data cannot be read.
        """
        analyst, (sql, params) = self._analyst(), _converted(operation, parameters)
        self.release, self._rows, self._next = None, [], 0
        try:
            release = analyst.sql(sql, params=params)
        except _exceptions.HushtableError as error:
            _raise(error)
        self._rows = [tuple(row.values()) for row in release.to_dicts()]
        self.release = release
        return self

    def explain(self, operation: str, parameters: Parameters | None = None) -> Quote:
        """The quote of a question, which is free: what it promises and would cost."""
        analyst, (sql, params) = self._analyst(), _converted(operation, parameters)
        try:
            return analyst.explain(sql, params=params)
        except _exceptions.HushtableError as error:
            _raise(error)

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> NoReturn:
        """Raises `NotSupportedError`: each question has a price and an answer of its own."""
        what = "executemany is not supported: each question has a price and an answer of its own"
        raise NotSupportedError(what, None, "call execute for each of them, or group by a column")

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next `size` rows (`arraysize` without it), or as many as there are."""
        end = self._next + (self.arraysize if size is None else size)
        rows = self._answered()[self._next : end]
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        rows = self._answered()[self._next :]
        self._next += len(rows)
        return rows

    def close(self) -> None:
        """Closes the cursor. Closing it again does nothing."""
        self._is_closed = True

    def setinputsizes(self, sizes: object) -> None:
        """Does nothing: values have the types of Python."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: all rows are in memory."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchone, None)

    def __enter__(self) -> Cursor:
        self._analyst()
        return self

    def __exit__(self, *_details: object) -> None:
        self.close()

    def _analyst(self) -> Analyst:
        if self._is_closed:
            raise ProgrammingError("the cursor was closed", None, "use connection.cursor()")
        return self.connection.analyst

    def _answered(self) -> list[tuple[Any, ...]]:
        self._analyst()
        if self.release is None:
            raise InterfaceError("there is no answer yet", None, "call execute first")
        return self._rows


#: Text in quotes, placeholders, and what else begins with a percent sign.
_TOKENS = re.compile(r"""'[^']*'|"[^"]*"|%\(([^()]*)\)s|%s|%%|%""")


def _converted(
    operation: str, parameters: Parameters | None
) -> tuple[str, dict[str, Scalar] | None]:
    """The SQL with `@name` for each placeholder, and the values by their names."""
    if not parameters:
        return operation, None
    if isinstance(parameters, (str, bytes)):
        raise ProgrammingError("the parameters are a text", None, "give a dict or a list of values")
    named = dict(parameters) if isinstance(parameters, Mapping) else {}
    values = [] if isinstance(parameters, Mapping) else list(parameters)
    count = 0

    def converted(found: re.Match[str]) -> str:
        nonlocal count
        token = found.group()
        if token[0] in "'\"":
            if "%" in token.replace("%%", ""):
                what = "a placeholder or a single % is inside quotes"
                raise ProgrammingError(what, None, "leave the quotes out, or write %% for %")
            return token.replace("%%", "%")
        if token == "%%":
            return "%"
        if token == "%s" and values:
            count += 1
            return f"@parameter_{count}"
        if token not in ("%s", "%") and found.group(1) in named:
            return f"@{found.group(1)}"
        what = f"the placeholder {token} has no value"
        raise ProgrammingError(what, None, "give %(name)s with a dict, %s with a list, %% for %")

    sql = _TOKENS.sub(converted, operation)
    if values and count != len(values):
        what = f"{len(values)} values are given for {count} placeholders"
        raise ProgrammingError(what, None, "write %s where each value is to stand")
    return sql, named or {f"parameter_{n}": value for n, value in enumerate(values, 1)}
