"""Workloads: many queries under one budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import hushtable as ht
from conftest import contract, visits

TEXT = """
epsilon = 50_000
delta = 1e-6

[[queries]]
name = "towns"
sql = "SELECT town, COUNT(*) AS n FROM visits GROUP BY town ORDER BY town"

[[queries]]
name = "all"
sql = "SELECT SUM(spent) AS spent FROM visits"
weight = 2
"""


def test_a_workload_is_quoted_and_released_as_one(engine: ht.Engine) -> None:
    ana = engine.analyst("ana")
    workload = ana.workload(text=TEXT)
    assert workload.names == ["towns", "all"] and "towns" in repr(workload)
    quote = workload.explain()
    assert quote.accounts[0]["charge"] == "epsilon = 50000, delta = 1e-6"
    assert "towns" in str(quote) and not quote.is_free
    released = workload.release()
    assert released.charges[0]["charged"] == "epsilon = 50000, delta = 1e-6"
    assert released.analyst == "ana" and not released.was_free
    towns, whole = released.tables["towns"], released.tables["all"]
    assert list(released.tables) == ["towns", "all"] and towns.name == "towns"
    # Noise is nothing beside this budget.
    assert towns.to_dicts() == [
        {"town": town, "n": 300} for town in ("Ashford", "Harbourton", "Millbrook")
    ]
    assert whole.to_dicts() == [{"spent": sum(n % 50 for n in range(900))}]
    assert towns.intervals().columns == ["town", "n", "n_low", "n_high"]
    assert towns.statement == released.statement and len(released.statement["parts"]) == 2
    for shown in (str(released), released._repr_html_()):
        assert "towns" in shown and "Harbourton" in shown and "left: " in shown
    # On record: for free, and the same.
    again = ana.workload(text=TEXT).release()
    assert again.was_free and again.tables["towns"].to_dicts() == towns.to_dicts()
    assert ana.workload(text=TEXT).explain().is_free


def test_the_command_releases_the_same(files: Path, command: Callable[..., str]) -> None:
    path = files.parent / "workload.toml"
    path.write_text(TEXT)
    released = ht.open(files).analyst("ana").workload(path).release()
    command("release", "--out", files.parent / "out", "--format", "json", path)
    for name, release in released.tables.items():
        rows = json.loads((files.parent / "out" / f"{name}.json").read_text())
        noisy = [{name: row[name] for name in release.columns} for row in rows]
        assert noisy == release.to_dicts()


def test_workloads_are_charged_as_a_whole_or_not_at_all(ledger: Path) -> None:
    rules = contract(ana=ht.Budget(epsilon=10, delta=1e-5), ben=ht.Budget(epsilon=10))
    engine = ht.Engine(rules, tables={"visits": visits()}, ledger=ledger)
    with pytest.raises(ht.BudgetExceeded):
        engine.analyst("ana").workload(text=TEXT).release()
    assert not engine.analyst("ana").workload(text=TEXT).explain().is_affordable
    with pytest.raises(ht.ContractError, match="the workload:11: query `all`") as raised:
        engine.analyst("ana").workload(text=TEXT.replace("SUM(spent)", "MAX(spent)")).release()
    assert raised.value.hint
    with pytest.raises(ht.ContractError, match="analyst") as unnamed:
        engine.analyst().workload(text=TEXT).release()
    assert unnamed.value.hint == 'give analyst = "NAME" at the top of the workload'
    assert "epsilon = 10" in str(engine.analyst("ana").budget())


def test_workloads_that_are_wrong(ana: ht.Analyst, tmp_path: Path) -> None:
    with pytest.raises(ht.ContractError, match="none.toml"):
        ana.workload(tmp_path / "none.toml")
    with pytest.raises(ht.ContractError, match="the workload:2") as raised:
        ana.workload(text=TEXT.replace("50_000", "-1"))
    assert raised.value.hint
    for wrong in ({}, {"path": "a.toml", "text": TEXT}):
        with pytest.raises(ht.ArgumentError, match="one of the two"):
            ana.workload(**wrong)
