"""Engines that are closed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import hushtable as ht
from conftest import contract, visits

COUNT = "SELECT COUNT(*) AS n FROM visits"


def test_what_is_closed_begins_nothing(engine: ht.Engine, ledger: Path) -> None:
    ana, owner = engine.analyst("ana"), engine.owner()
    quote, release = ana.explain(COUNT), ana.sql(COUNT)
    engine.close()
    engine.close()
    assert engine.closed and "closed" in repr(engine)
    uses: list[Callable[[], object]] = [
        lambda: ana.sql(COUNT),
        lambda: ana.explain(COUNT),
        lambda: ana.budget(),
        lambda: owner.check(),
        lambda: owner.budgets(),
        lambda: owner.ledger_check(),
        lambda: engine.analyst("ana"),
        lambda: engine.owner(),
        lambda: engine.ledger,
        lambda: engine.tables,
        lambda: engine.__enter__(),
    ]
    for use in uses:
        with pytest.raises(ht.Closed, match="the engine was closed") as raised:
            use()
        assert raised.value.hint and "hushtable.open" in raised.value.hint
    # What was handed out stays.
    assert "Protects" in str(quote) and len(release) == 1 and release.intervals()
    again = ht.Engine(contract(), tables={"visits": visits()}, ledger=ledger)
    assert again.analyst("ana").sql(COUNT).was_free


def test_a_block_closes_its_engine(ledger: Path) -> None:
    tables = {"visits": visits()}
    with ht.Engine(contract(), tables=tables, ledger=ledger) as engine:
        assert not engine.closed
        release = engine.analyst("ana").sql(COUNT)
    assert engine.closed and len(release) == 1
    with pytest.raises(KeyError), ht.Engine(contract(), tables=tables, ledger=ledger) as engine:
        raise KeyError
    assert engine.closed


def test_questions_that_are_begun_go_on(ledger: Path) -> None:
    engine = ht.Engine(contract(), tables={"visits": visits()}, ledger=ledger, at_least_seconds=0.5)
    releases: list[ht.Release] = []
    asking = threading.Thread(target=lambda: releases.append(engine.analyst("ana").sql(COUNT)))
    asking.start()
    asking.join(0.2)
    assert asking.is_alive()
    engine.close()
    asking.join(60)
    assert len(releases) == 1 and not releases[0].was_free
