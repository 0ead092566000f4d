"""The part of the package that is written in Rust. Use the package `hushtable`.

The docstrings are those of `crates/python`: `python python/tests/stubs.py` writes them here.
"""

from __future__ import annotations

import decimal
import os
import pathlib
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from ._contract import Contract
from ._handing import Plot
from ._types import Charge, Inspection, Question, QuotedAccount, Scalar

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = [
    "Analyst",
    "Engine",
    "Owner",
    "Progress",
    "Quote",
    "Release",
    "ReleasedTable",
    "ReleasedWorkload",
    "Report",
    "Workload",
    "__version__",
    "check_contract",
    "computed",
    "run_command",
]

__version__: str

@final
class Engine:
    """A contract with its tables and its ledger, open for any number of questions and threads.

    `contract` is the path of a TOML file, or a `hushtable.Contract`. `tables` has a frame for each
    table without a `path` in the contract: anything with Arrow's PyCapsule interface (pandas,
    Polars, pyarrow, DuckDB) or that narwhals reads. Rows are copied, and the ledger knows them by a
    hash of their names, types and values. `ledger` is the path of the ledger's file, in place of
    the contract's; another file begins with all budgets unspent. `memory` limits what all questions
    hold at once, as in "4GiB". With `at_least_seconds`, whatever an analyst gets comes after that
    time, or after it doubled as often as needed. The environment's HUSHTABLE_MEMORY is the limit
    without `memory`; of its HUSHTABLE_AT_LEAST_SECONDS and `at_least_seconds`, the longer holds.

    `with hushtable.open(…) as engine` closes it at the end.

    Whoever holds the frame or the engine is the curator of the data. Hand out `engine.analyst(…)`.

    Raises `ContractError` when the contract cannot be read or is wrong, `DataError` when a frame
    cannot be read.
    """

    def __new__(
        cls,
        contract: str | os.PathLike[str] | Contract,
        *,
        tables: Mapping[str, Any] | None = None,
        ledger: str | os.PathLike[str] | None = None,
        memory: str | None = None,
        at_least_seconds: float = 0.0,
    ) -> Engine: ...
    def analyst(self, name: str | None = None) -> Analyst:
        """The handle of an analyst, who asks and pays from a budget. Without a name, each question
        is asked by the one analyst who has a budget for it."""

    def owner(self) -> Owner:
        """The handle of the owner of the data. None of its results are for analysts."""

    def close(self) -> None:
        """Closes the engine with its analysts and its owner, which raise `Closed` from then on, and
        gives its memory and threads back. Questions that other threads have begun go on to their
        end; quotes and releases stay. Closing it again does nothing."""

    @property
    def closed(self) -> bool:
        """Whether the engine was closed."""

    def __enter__(self) -> Engine: ...
    def __exit__(self, *_details: object) -> None: ...
    @property
    def ledger(self) -> pathlib.Path:
        """The path of the ledger's file."""

    @property
    def tables(self) -> list[str]:
        """The names of the contract's tables, sorted."""

@final
class Analyst:
    """An analyst with budgets, from `Engine.analyst`.

    All that an analyst gets is charged, or does not depend on the data.
    """

    @property
    def name(self) -> str | None:
        """The analyst's name; None where each question finds the one who has a budget for it."""

    def table(self, name: str) -> Any:
        """A table of the contract as ibis knows it, which must be installed: names and types of its
        columns, and no rows. `explain`, `sql` and the owner's methods take what is asked of it.

        Raises `Refused` when there is no such table.
        """

    def explain(self, sql: Question, *, params: Mapping[str, Scalar] | None = None) -> Quote:
        """The quote of a question: what it promises, how precise its numbers would be, what it
        costs. Free; reads no value of protected tables and changes no file. A question is SQL, or
        an expression of ibis. `params` has a value for each `@name` in the SQL: None, bool, int,
        float, Decimal, str, date or datetime.

        Raises `Refused` when the question would be refused.
        """

    def sql(
        self,
        sql: Question,
        *,
        params: Mapping[str, Scalar] | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """The answer to a question, with noise. It is charged to the analyst's budget before any
        protected value is read, and put on record; asking the same question again is free and has
        the same answer. `params` as in `explain`; `progress` can be read from another thread.

        Ctrl-C before the charge costs nothing. After it the release is recorded first, so that the
        next call returns it.

        Raises `Refused`, or `BudgetExceeded` when the budget does not suffice: nothing is charged
        then. Raises `DataError` when the data cannot be read: a charge stays, and pays for the same
        question later.
        """

    def workload(
        self, path: str | os.PathLike[str] | None = None, *, text: str | None = None
    ) -> Workload:
        """The queries of a workload, which share one budget and are charged together or not at all:
        from its TOML file, or from its text, where `file`s are relative to the current folder. The
        engine's contract holds, whichever the workload names, and this analyst's name before the
        workload's.

        Raises `ContractError` when the file cannot be read or the workload is wrong,
        `ArgumentError` unless one of `path` and `text` is given.
        """

    def sql_async(
        self,
        sql: Question,
        *,
        params: Mapping[str, Scalar] | None = None,
        progress: Progress | None = None,
    ) -> Coroutine[Any, Any, Release]:
        """Awaits the answer that `sql` returns, while the event loop goes on. A task that is
        cancelled before the charge costs nothing; after it the release goes on record."""

    def explain_async(
        self, sql: Question, *, params: Mapping[str, Scalar] | None = None
    ) -> Coroutine[Any, Any, Quote]:
        """Awaits the quote that `explain` returns, while the event loop goes on."""

    def budget(self, delta: float | decimal.Decimal | str | None = None) -> Report:
        """The analyst's budgets: total, spent, left, each charge, and what all charges come to at
        `delta` (by default the budget's own, or 1e-6 where that is zero). Free; changes no file.

        Raises `LedgerError` when the ledger cannot be read.
        """

@final
class Owner:
    """The owner of the data, from `Engine.owner`.

    Its results are about the exact data and confidential: none of them are for analysts. Nothing is
    charged.
    """

    def check(
        self,
        table: str | None = None,
        sql: Question | None = None,
        *,
        params: Mapping[str, Scalar] | None = None,
    ) -> Report:
        """Looks at the values of a table, or of all tables, and at what a query makes of them: what
        is NULL, clamped or not of its declared type. CONFIDENTIAL.

        Raises `Refused` when there is no such table or the query is refused, `DataError` when the
        data cannot be read.
        """

    def audit(
        self,
        sql: Question,
        *,
        params: Mapping[str, Scalar] | None = None,
        runs: int = 200_000,
        units: int = 3,
        confidence: float = 0.999,
        delta: float | decimal.Decimal | str | None = None,
    ) -> Report:
        """Tries to break a query's promise on the data: draws `runs` releases with and without each
        of `units` units, and gives bounds on epsilon that hold with `confidence`, at `delta` (by
        default the query's). CONFIDENTIAL.

        Raises `Refused` when the query is refused, `ArgumentError` when a number is out of its
        range.
        """

    def tune(self, sql: Question, *, params: Mapping[str, Scalar] | None = None) -> Report:
        """The errors that a query would have at other limits, bounds, noise and prices, with noise,
        limits and hidden groups apart. CONFIDENTIAL.

        Raises `Refused` when the query is refused, `DataError` when the data cannot be read.
        """

    def policy(
        self,
        sql: Question,
        *,
        params: Mapping[str, Scalar] | None = None,
        by_group: bool = False,
        by_mechanism: bool = False,
    ) -> Report:
        """The losses of a table's records by a query whose sums are not clamped, in rho: by default
        as a distribution, and with `by_group` or `by_mechanism` for each of these. CONFIDENTIAL.

        Raises `Refused` when the query is refused or has no such sum.
        """

    def fit(
        self,
        sql: Question,
        *,
        target: float,
        params: Mapping[str, Scalar] | None = None,
        at: float = 0.95,
        probability: float = 0.95,
        least_records: int = 1,
    ) -> Report:
        """The smallest policy with which a share `at` of a query's groups has a relative error of
        at most `target` (0.05 for 5 %) with `probability`; groups of fewer than `least_records`
        records do not count. CONFIDENTIAL.

        Raises `Refused` when the query is refused or no noise is small enough, `ArgumentError` when
        a number is out of its range.
        """

    def budgets(self, delta: float | decimal.Decimal | str | None = None) -> Report:
        """Every budget of the contract with its charges, and accounts that the contract does not
        name. Only the queries of others are confidential.

        Raises `LedgerError` when the ledger cannot be read.
        """

    def ledger_check(self) -> Inspection:
        """Checks all of the ledger's file. Returns a dict: `path`, `charges` and `releases` as
        counts, `problems` and `warnings` as lists of str; no problems where the ledger is in order.

        Raises `LedgerError` when there is none, or it cannot be read.
        """

    def ledger_backup(self, file: str | os.PathLike[str]) -> Inspection:
        """Copies the ledger to a new file, as it is at one moment, and checks the copy. Returns
        what `ledger_check` does.

        Raises `LedgerError` when there is no ledger or the file is there.
        """

@final
class Quote:
    """The quote of a question or a workload: its promise, its precision and its price.

    `print(quote)` and notebooks show one page.
    """

    @property
    def text(self) -> str:
        """The quote in lines for people, on one page."""

    @property
    def verbose(self) -> str:
        """All mechanisms, losses and probabilities, in lines for people."""

    @property
    def analyst(self) -> str:
        """The analyst who would pay."""

    @property
    def accounts(self) -> list[QuotedAccount]:
        """The budgets that would pay, each a dict: `population`, `charge`, `left` and `left_after`
        as losses in str, such as "epsilon = 1, delta = 1e-6"; `left_after` is None where the budget
        does not suffice."""

    @property
    def is_free(self) -> bool:
        """Whether asking would charge nothing, as the answer is paid for or on record."""

    @property
    def is_affordable(self) -> bool:
        """Whether every budget suffices."""

    @property
    def cut_off(self) -> list[str]:
        """All that limits cut off, in words: no interval and no ± holds it."""

    def to_dict(self) -> dict[str, Any]:
        """Everything in the quote, as dicts, lists, numbers and str; the keys are those of
        `hushtable explain --format json`."""

    def _repr_html_(self) -> str: ...

@final
class Release:
    """A noisy table on record, from `Analyst.sql` or of a workload.

    It has Arrow's PyCapsule interface: `polars.DataFrame(release)`, `pyarrow.table(release)`,
    `pandas.DataFrame.from_arrow(release)` and DuckDB read it. Notebooks show it with its intervals,
    its charge and what limits cut off.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as the capsule of an Arrow stream."""

    def __arrow_c_schema__(self) -> object:
        """The table's columns as the capsule of an Arrow schema."""

    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]:
        """The names of the columns, in their order."""

    def to_arrow(self) -> pyarrow.Table:
        """The table as a `pyarrow.Table`. Needs pyarrow."""

    def to_polars(self) -> polars.DataFrame:
        """The table as a `polars.DataFrame`. Needs Polars."""

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a `pandas.DataFrame`. Needs pandas and pyarrow."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict for each row, of int, float, Decimal, str, bool, date, datetime and None. Needs no
        other package."""

    @property
    def name(self) -> str | None:
        """The name of the workload's query; None for the answer to a question in SQL."""

    def intervals(self, level: float | None = None, *, simultaneous: bool = False) -> ReleasedTable:
        """The table with the ends of an interval beside each noisy number: for `x`, `x_low` and
        `x_high`. `level` is in percent, from 50 to 99.9; by default that of the question or the
        contract, or 95. With `simultaneous`, all intervals hold at once with that probability. They
        are about the noise: what limits cut off (`cut_off`) is in none of them. Free."""

    @property
    def cut_off(self) -> list[str]:
        """All that limits cut off, in words: no interval holds it. Empty where nothing can be."""

    @property
    def statement(self) -> dict[str, Any]:
        """The statement of what was promised, mechanism by mechanism: the same dict as the file of
        `hushtable query --statement`."""

    @property
    def analyst(self) -> str:
        """The analyst who paid."""

    @property
    def charges(self) -> list[Charge]:
        """The budgets that paid, for all of a workload together; `charged` is None where all was
        paid for before."""

    @property
    def was_free(self) -> bool:
        """Whether nothing was charged, as the release was paid for or on record."""

    def plot(self, level: float | None = None) -> Plot:
        """A chart of the first column of noisy numbers, with a bar for each interval: a
        specification of Vega-Lite as a dict, which Jupyter shows. `to_altair()` makes a chart of
        Altair of it, and `svg` is the image that the command draws.

        Raises `Refused` when there is no such column.
        """

    def _repr_html_(self) -> str: ...

@final
class ReleasedTable:
    """A table with Arrow's PyCapsule interface, from `Release.intervals`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as the capsule of an Arrow stream."""

    def __arrow_c_schema__(self) -> object:
        """The table's columns as the capsule of an Arrow schema."""

    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]:
        """The names of the columns, in their order."""

    def to_arrow(self) -> pyarrow.Table:
        """The table as a `pyarrow.Table`. Needs pyarrow."""

    def to_polars(self) -> polars.DataFrame:
        """The table as a `polars.DataFrame`. Needs Polars."""

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a `pandas.DataFrame`. Needs pandas and pyarrow."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict for each row, of int, float, Decimal, str, bool, date, datetime and None."""

@final
class Workload:
    """The queries of a workload, from `Analyst.workload`. `explain` shows what they promise and
    cost together, `release` answers them."""

    @property
    def names(self) -> list[str]:
        """The names of the queries, in their order."""

    def explain(self) -> Quote:
        """The quote of all queries together. Free; reads no value of protected tables and changes
        no file.

        Raises `ContractError` when one of the queries would be refused, with its name and line.
        """

    def release(self, *, progress: Progress | None = None) -> ReleasedWorkload:
        """The answers to all queries, with noise, which are charged together before any protected
        value is read, and put on record. Stopped and released again, a workload is not charged
        again. `progress` can be read from another thread.

        Ctrl-C before the charge costs nothing. After it the releases are recorded first, so that
        the next call returns them.

        Raises `ContractError` when one of the queries is refused, `BudgetExceeded` when the budget
        does not suffice for all: nothing is charged then. Raises `DataError` when the data cannot
        be read: the charge stays, and pays for the same workload later.
        """

@final
class ReleasedWorkload:
    """The noisy tables of a workload, on record, with one statement and one charge."""

    @property
    def tables(self) -> dict[str, Release]:
        """The release of each query, by its name, in the workload's order."""

    @property
    def statement(self) -> dict[str, Any]:
        """The statement of what all queries together promise: the same dict as `statement.json` of
        `hushtable release`."""

    @property
    def analyst(self) -> str:
        """The analyst who paid."""

    @property
    def charges(self) -> list[Charge]:
        """The budgets that paid for all queries together, each a dict as in `Release.charges`."""

    @property
    def was_free(self) -> bool:
        """Whether nothing was charged, as all releases were paid for or on record."""

    def _repr_html_(self) -> str: ...

@final
class Report:
    """A report, as the command writes it.

    `print(report)` shows its text; `report.to_dict()` has everything in it; a notebook shows it as
    a block of text.
    """

    @property
    def text(self) -> str:
        """The report in lines for people."""

    def to_dict(self) -> Any:
        """Everything in the report, as dicts, lists, numbers and str; the keys are those of the
        command's `--format json`."""

    def _repr_html_(self) -> str: ...

@final
class Progress:
    """How far the answer to one question is.

    Give it to `Analyst.sql` and read it from another thread. It follows from the bytes that are
    stored and the number of private parts, and from nothing that is in the data.
    """

    def __new__(cls) -> Progress: ...
    @property
    def done(self) -> float:
        """The share that is done, from 0 to 1."""

    @property
    def parts(self) -> int:
        """The number of private parts; 0 before they are planned."""

    @property
    def answered(self) -> int:
        """The number of private parts that are answered."""

    def give_up(self) -> None:
        """Gives up what is not charged yet, which then costs nothing. A question that is charged
        goes on until its release is on record."""

def check_contract(text: str, provided: set[str]) -> None:
    """Checks the text of a contract, where the tables `provided` have their rows from the program.
    Raises `ContractError` with whatever is wrong."""

def computed(words: Sequence[str], example: str) -> str:
    """The JSON that `hushtable calc` or `hushtable assess` prints, from the words after
    `hushtable`. Raises `ArgumentError`, with `example` as the hint, when a number is not in its
    range."""

def run_command(arguments: Sequence[str]) -> int:
    """Runs the command `hushtable` in this process and returns its exit code."""
