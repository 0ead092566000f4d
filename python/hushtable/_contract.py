"""Contracts in code. They are checked when they are built, and print as TOML.

The settings and their meanings are those of the book's page "The contract". None means that a
setting is not given.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from ._exceptions import ArgumentError
from ._hushtable import check_contract
from ._scalars import plain

#: An exact decimal. A float stands for its shortest digits: 0.1 is one tenth.
Number = Union[int, float, decimal.Decimal, str]

#: A value of a column.
Key = Union[bool, int, float, decimal.Decimal, str, datetime.date, datetime.datetime]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """All that an analyst may ever spend on a population: `epsilon` or `rho`, and `delta`."""

    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """Settings of queries that do not say: privacy loss, limits per unit, noise, intervals."""

    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    max_groups_contributed: int | Literal["auto"] | None = None
    max_rows_per_group: int | Literal["auto"] | None = None
    max_rows_joined: int | None = None
    max_rows_contributed: int | None = None
    group_selection_strategy: str | None = None
    noise: str | None = None
    prefer: str | None = None
    intervals: Number | None = None
    simultaneous_intervals: bool | None = None


@dataclass(frozen=True)
class Column:
    """A column: its type ("bool", "int", "decimal(2)", "float", "string", "date", "timestamp"), and
    what is known of its values without looking at the data.

    `column` is its name in the file, where SQL is to have another one. `bounds` and `sum_bounds`
    are (least, greatest); others are clamped to them. `public_keys` are all the values that groups
    may have.
    """

    type: str
    _: dataclasses.KW_ONLY
    column: str | None = None
    max_bytes: int | None = None
    not_null: bool | None = None
    expression: str | None = None
    bounds: tuple[Number, Number] | Literal["auto"] | None = None
    sum_bounds: tuple[Number, Number] | None = None
    granularity: Number | None = None
    public_keys: Sequence[Key] | None = None
    known_keys: Sequence[Key] | None = None
    split: Number | Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Unit:
    """The units that a table holds: those of the population `of`, in the column `column` or
    `through` another table, as in {"column": "visit_id", "references": "visits.visit_id"}."""

    of: str
    column: str | None = None
    through: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Population:
    """A population of privacy units that several tables hold, with its budgets by analyst."""

    budgets: Mapping[str, Budget] | None = None
    defaults: Defaults | None = None
    neighbouring: Literal["add_remove", "replace"] | None = None
    formerly: Sequence[str] | None = None
    max_matches_per_row: int | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table. Without a `path`, its rows are a frame that `Engine` gets.

    `privacy_unit` is "row" or the column that names the units; or `unit` says which population's
    units it holds; or `public` says that it is about nobody. A column may be its type alone.
    """

    columns: Mapping[str, Column | str]
    path: str | None = None
    csv: Mapping[str, Any] | None = None
    privacy_unit: str | None = None
    unit: Unit | None = None
    public: bool | None = None
    unique: Sequence[str] | None = None
    formerly: Sequence[str] | None = None
    neighbouring: Literal["add_remove", "replace"] | None = None
    max_matches_per_row: int | None = None
    owner: str | None = None
    group_selection_by_pieces: bool | None = None
    defaults: Defaults | None = None
    budgets: Mapping[str, Budget] | None = None


@dataclass(frozen=True, kw_only=True)
class Contract:
    """A contract: who is protected, what may be asked, and how much may be learned.

    It is checked as a whole when it is built. `str(contract)` is its TOML, which can be the file
    `hushtable.toml`. Paths are relative to the current folder.

    Raises `ContractError` with the line of the TOML, the value, the allowed range and a hint.
    """

    tables: Mapping[str, Table]
    units: Mapping[str, Population] = field(default_factory=dict)
    ledger: str | None = None
    double_quotes: Literal["names", "texts"] | None = None
    retired: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_contract(
            self.to_toml(), {n for n, table in self.tables.items() if table.path is None}
        )

    def to_toml(self) -> str:
        """The contract as TOML."""
        settings = {
            "ledger": self.ledger,
            "double_quotes": self.double_quotes,
            "retired": self.retired,
        }
        lines = [
            f"{name} = {_value(value)}" for name, value in settings.items() if value is not None
        ]
        for name, population in self.units.items():
            lines += _section(f"units.{_name(name)}", _settings(population))
        for name, table in self.tables.items():
            lines += _section(f"tables.{_name(name)}", _settings(table))
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.to_toml()


def _settings(given: Any) -> dict[str, Any]:
    """The settings that are given, in their order."""
    all_of_it = ((f.name, getattr(given, f.name)) for f in dataclasses.fields(given))
    return {name: value for name, value in all_of_it if value is not None}


def _section(heading: str, settings: dict[str, Any]) -> list[str]:
    """A section, with the settings that have names of the user's as sections of their own."""
    lines = ["", f"[{heading}]"]
    nested = ("columns", "defaults", "budgets")
    for name, value in settings.items():
        if name not in nested:
            lines.append(f"{name} = {_value(value)}")
    for part in nested:
        if part in settings:
            value = settings[part]
            entries = _settings(value) if dataclasses.is_dataclass(value) else value
            lines += ["", f"[{heading}.{part}]"]
            for name, entry in entries.items():
                if part == "columns" and isinstance(entry, str):
                    entry = Column(entry)
                lines.append(f"{_name(name)} = {_value(entry)}")
    return lines


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    # TOML has JSON's escapes, except for those of half a character; DEL must be escaped, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if not isinstance(value, (Mapping, Sequence)) and not dataclasses.is_dataclass(value):
        value = plain("a value of a contract", value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ArgumentError(f"a contract has no number {value}", None, "leave it out")
        return repr(value)
    if isinstance(value, decimal.Decimal):
        return _text(format(value, "f"))
    if isinstance(value, (datetime.date, datetime.datetime)):
        return _text(value.isoformat())
    if dataclasses.is_dataclass(value):
        value = _settings(value)
    if isinstance(value, Mapping):
        entries = ", ".join(f"{_name(str(k))} = {_value(v)}" for k, v in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"a contract has no value of the type {type(value).__name__}")
