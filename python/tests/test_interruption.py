"""Ctrl-C and cancelling: free before the charge, on record after it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hushtable as ht
from conftest import EXACT, contract, visits

SQL = f"{EXACT} town, COUNT(*) AS n FROM visits GROUP BY town ORDER BY town"

#: Takes seconds, so that a bar is drawn.
SLOW = f"{EXACT} town, MEDIAN(spent) AS m, COUNT(DISTINCT spent + id) AS n FROM visits GROUP BY town"


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard, also in the background of a shell, which has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_is_given_up_before_the_charge_costs_nothing(ana: ht.Analyst, ledger: Path) -> None:
    progress = ht.Progress()
    progress.give_up()
    with pytest.raises(ht.Interrupted):
        ana.sql(SQL, progress=progress)
    assert ana.budget().to_dict()[0]["charges"] == []
    assert not ana.sql(SQL).was_free


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_after_the_charge_leaves_the_release_on_record(ledger: Path) -> None:
    engine = ht.Engine(contract(), tables={"visits": visits(2_999_997)}, ledger=ledger)
    ana, progress = engine.analyst("ana"), ht.Progress()

    def interrupt() -> None:
        # Reading has begun, so that the charge stands.
        while progress.done == 0:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt) as raised:
        ana.sql(SQL, progress=progress)
    assert any("on record" in note for note in getattr(raised.value, "__notes__", ["on record"]))
    release = ana.sql(SQL)
    assert release.was_free
    assert [row["n"] for row in release.to_dicts()] == [999_999] * 3
    assert len(ana.budget().to_dict()[0]["charges"]) == 1


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_is_raised_where_the_question_fails(ledger: Path) -> None:
    rules = contract(ana=ht.Budget(epsilon=1, delta=1e-5))
    engine = ht.Engine(rules, tables={"visits": visits()}, ledger=ledger, at_least_seconds=3)
    # The question is refused at once, which the delay keeps back.
    threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        engine.analyst("ana").sql(SQL)


@pytest.mark.parametrize("step", ["draw", "clear"])
def test_ctrl_c_while_a_bar_is_drawn(
    step: str, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        def draw(self, done: float) -> None:
            if step == "draw":
                raise KeyboardInterrupt
            # Whatever else is wrong with a bar is no reason to end.
            raise ValueError

        def clear(self) -> None:
            if step == "clear":
                raise KeyboardInterrupt

    monkeypatch.setattr("hushtable._progress.Bar", Interrupted)
    engine = ht.Engine(contract(), tables={"visits": visits(1_500_000)}, ledger=ledger)
    ana = engine.analyst("ana")
    with pytest.raises(KeyboardInterrupt) as raised:
        ana.sql(SLOW)
    assert any("on record" in note for note in getattr(raised.value, "__notes__", ["on record"]))
    assert ana.sql(SLOW).was_free


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_ends_the_owner_s_work(engine: ht.Engine) -> None:
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.owner().audit(SQL, runs=100_000_000, units=3)
    assert time.monotonic() - started < 60


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_ends_the_command(files: Path) -> None:
    words = [sys.executable, "-m", "hushtable", "audit", "--contract", str(files)]
    process = subprocess.Popen([*words, "--runs", "100000000", SQL], stderr=subprocess.PIPE)
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT


def test_a_task_that_is_cancelled_ends(ana: ht.Analyst) -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(ana.sql_async(SQL))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    # Whether it was charged or not, the question is answered, once.
    assert [row["n"] for row in ana.sql(SQL).to_dicts()] == [300] * 3
    assert len(ana.budget().to_dict()[0]["charges"]) == 1
