"""Types of arguments and results, for those who check types."""

from __future__ import annotations

import datetime
import decimal
import pathlib
from typing import Any, Protocol, TypedDict, Union

#: A value of a parameter.
Scalar = Union[None, bool, int, float, decimal.Decimal, str, datetime.date, datetime.datetime]


class Expression(Protocol):
    """An expression of ibis."""

    def unbind(self) -> Any: ...
    def as_table(self) -> Any: ...


#: A question: SQL, or an expression of ibis.
Question = Union[str, Expression]


class Charge(TypedDict):
    """A budget that paid. Losses are such as "epsilon = 1, delta = 1e-6"."""

    population: str
    charged: str | None
    left: str


class QuotedAccount(TypedDict):
    """A budget that would pay. Losses are such as "epsilon = 1, delta = 1e-6"."""

    population: str
    charge: str
    left: str
    left_after: str | None


class Inspection(TypedDict):
    """The findings of a check of a ledger."""

    path: pathlib.Path
    charges: int
    releases: int
    problems: list[str]
    warnings: list[str]
