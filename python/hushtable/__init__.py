"""Hushtable answers SQL about people, firms and farms with differential privacy.

    import hushtable as ht

    engine = ht.open("hushtable.toml")
    ana = engine.analyst("ana")
    quote = ana.explain("SELECT town, COUNT(*) AS n FROM visits GROUP BY town")  # free
    release = ana.sql("SELECT town, COUNT(*) AS n FROM visits GROUP BY town")    # charged
    release.to_polars(); release.to_pandas(); release.to_arrow(); release.to_dicts()

Tables are files, or frames of pandas, Polars, pyarrow, DuckDB and others: see `Engine`. The pages
of the project's book have the SQL, the contract and the promise.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import assess, calc
from ._contract import Budget, Column, Contract, Defaults, Population, Table, Unit
from ._exceptions import (
    ArgumentError,
    BudgetExceeded,
    Closed,
    ContractError,
    DataError,
    HushtableError,
    HushtableWarning,
    InternalError,
    Interrupted,
    LedgerError,
    Refused,
    ResourceError,
    UnknownAnalyst,
)
from ._handing import Plot
from ._hushtable import (
    Analyst,
    Engine,
    Owner,
    Progress,
    Quote,
    Release,
    ReleasedTable,
    ReleasedWorkload,
    Report,
    Workload,
    __version__,
)
from ._types import Charge, Expression, Inspection, Question, QuotedAccount, Scalar

__all__ = [
    "Analyst",
    "ArgumentError",
    "Budget",
    "BudgetExceeded",
    "Charge",
    "Closed",
    "Column",
    "Contract",
    "ContractError",
    "DataError",
    "Defaults",
    "Engine",
    "Expression",
    "HushtableError",
    "HushtableWarning",
    "Inspection",
    "InternalError",
    "Interrupted",
    "LedgerError",
    "Owner",
    "Plot",
    "Population",
    "Progress",
    "Question",
    "Quote",
    "QuotedAccount",
    "Refused",
    "Release",
    "ReleasedTable",
    "ReleasedWorkload",
    "Report",
    "ResourceError",
    "Scalar",
    "Table",
    "Unit",
    "UnknownAnalyst",
    "Workload",
    "__version__",
    "assess",
    "calc",
    "open",
]


def open(
    contract: str | os.PathLike[str] | Contract = "hushtable.toml",
    *,
    tables: Mapping[str, Any] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    memory: str | None = None,
    at_least_seconds: float = 0.0,
) -> Engine:
    """Opens a contract with its tables and its ledger; the arguments are those of `Engine`."""
    return Engine(
        contract,
        tables=tables,
        ledger=ledger,
        memory=memory,
        at_least_seconds=at_least_seconds,
    )
