"""Shared by the tests: a contract in code, and rows of visits that are made up."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hushtable as ht

#: At this price noise is 0 except with a probability below 1e-40, so that values are exact.
EXACT = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 50000)"

TOWNS = ["Ashford", "Harbourton", "Millbrook"]


def visits(rows: int = 900) -> pa.Table:
    """A row for each of 300 units and more: row n is of unit n // 3, in one of three towns."""
    return pa.table(
        {
            "id": pa.array([n // 3 for n in range(rows)], pa.int64()),
            "town": pa.array([TOWNS[(n // 3) % 3] for n in range(rows)], pa.string()),
            "spent": pa.array([n % 50 for n in range(rows)], pa.int64()),
        }
    )


def contract(**budgets: ht.Budget) -> ht.Contract:
    table = ht.Table(
        privacy_unit="id",
        columns={"id": "int", "town": "string", "spent": ht.Column("int", bounds=(0, 49))},
        budgets=budgets or {"ana": ht.Budget(epsilon=1_000_000, delta=1e-3)},
        defaults=ht.Defaults(epsilon=1, delta=1e-6, max_groups_contributed=1, max_rows_per_group=3),
    )
    return ht.Contract(tables={"visits": table})


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


@pytest.fixture
def engine(ledger: Path) -> ht.Engine:
    return ht.Engine(contract(), tables={"visits": visits()}, ledger=ledger)


@pytest.fixture
def ana(engine: ht.Engine) -> ht.Analyst:
    return engine.analyst("ana")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The path of a contract whose rows are in a file, so that the command can ask, too."""
    import pyarrow.parquet as pq

    pq.write_table(visits(), tmp_path / "visits.parquet")
    text = (
        contract().to_toml().replace("[tables.visits]", '[tables.visits]\npath = "visits.parquet"')
    )
    (tmp_path / "hushtable.toml").write_text(text)
    return tmp_path / "hushtable.toml"


@pytest.fixture
def command() -> Callable[..., str]:
    """Runs the command in another process and returns its standard output."""

    def run(*arguments: Any) -> str:
        words = [sys.executable, "-m", "hushtable", *map(str, arguments)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HUSHTABLE_")}
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
