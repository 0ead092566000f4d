"""The command, Python, threads and processes share one ledger."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import hushtable as ht
from conftest import EXACT, contract, visits

SQL = f"{EXACT} town, COUNT(*) AS n, SUM(spent) AS spent FROM visits GROUP BY town ORDER BY town"
NOISY = "SELECT town, COUNT(*) AS n, SUM(spent) AS spent FROM visits GROUP BY town ORDER BY town"


def test_the_command_and_python_give_the_same(files: Path, command: Callable[..., str]) -> None:
    """Values without noise, charges and quotes are the same for both, each with a ledger of its
    own, so that neither has the other's answer."""
    ana = ht.open(files, ledger=files.parent / "python.ledger").analyst("ana")
    for sql in (SQL, NOISY):
        quote = json.loads(command("explain", "--format", "json", "--contract", files, sql))
        assert quote == ana.explain(sql).to_dict()
    release = ana.sql(SQL)
    statement = files.parent / "statement.json"
    text = command(
        "query",
        "--format",
        "json",
        "--intervals",
        "--statement",
        statement,
        "--contract",
        files,
        SQL,
    )
    assert json.loads(text) == release.intervals().to_dicts()

    def timeless(statement: object) -> object:
        """A statement without what differs from release to release."""
        if isinstance(statement, dict):
            fresh = ("released_at", "charged_at", "charge", "ledger", "charge_id")
            return {k: timeless(v) for k, v in statement.items() if k not in fresh}
        return [timeless(v) for v in statement] if isinstance(statement, list) else statement

    assert timeless(json.loads(statement.read_text())) == timeless(release.statement)
    budget = json.loads(command("budget", "--format", "json", "--contract", files))
    for line in (budget, python := ana.budget().to_dict()):
        for charge in line[0]["charges"]:
            charge.pop("charged_at")
    assert budget == python


def test_an_answer_of_one_is_on_record_for_the_other(
    files: Path, command: Callable[..., str]
) -> None:
    ana = ht.open(files).analyst("ana")
    of_command = json.loads(command("query", "--format", "json", "--contract", files, NOISY))
    release = ana.sql(NOISY)
    assert release.was_free
    assert release.intervals().to_dicts() == of_command
    other = NOISY.replace("COUNT(*)", "COUNT(DISTINCT id)")
    of_python = ana.sql(other)
    text = command("query", "--format", "json", "--contract", files, other)
    assert json.loads(text) == of_python.intervals().to_dicts()
    assert len(ana.budget().to_dict()[0]["charges"]) == 2


ASK = """
import sys, hushtable as ht
ana = ht.open(sys.argv[1]).analyst("ana")
paid = refused = 0
for n in range(6):
    try:
        release = ana.sql("SELECT COUNT(*) AS n FROM visits WHERE spent <> @n",
                          params={"n": int(sys.argv[2]) * 100 + n})
        paid += not release.was_free
    except ht.BudgetExceeded:
        refused += 1
print(paid, refused)
"""


def test_processes_never_spend_more_than_there_is(files: Path) -> None:
    files.write_text(files.read_text().replace("epsilon = 1000000", "epsilon = 7"))
    words = [sys.executable, "-c", ASK, str(files)]
    running = [
        subprocess.Popen([*words, str(n)], stdout=subprocess.PIPE, text=True) for n in range(4)
    ]
    counts = []
    for process in running:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        counts.append([int(word) for word in out.split()])
    assert sum(paid for paid, _ in counts) == 7, counts
    assert sum(refused for _, refused in counts) == 4 * 6 - 7, counts
    engine = ht.open(files)
    assert engine.owner().ledger_check()["charges"] == 7
    assert re.search(r"left +epsilon = 0,", str(engine.analyst("ana").budget()))


def test_threads_share_an_engine(ana: ht.Analyst) -> None:
    answers: dict[int, object] = {}

    def ask(n: int) -> None:
        sql = f"{EXACT} COUNT(*) AS n FROM visits WHERE spent = @n"
        answers[n] = ana.sql(sql, params={"n": n}).to_dicts()[0]["n"]

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: 18 for n in range(8)}


def test_other_threads_of_python_go_on(ledger: Path) -> None:
    big = ht.Engine(contract(), tables={"visits": visits(600_000)}, ledger=ledger)
    progress, steps, seen = ht.Progress(), 0, set[float]()
    asking = threading.Thread(
        target=lambda: big.analyst("ana").sql(NOISY, progress=progress), daemon=True
    )
    asking.start()
    while asking.is_alive():
        steps += 1
        seen.add(progress.done)
        asking.join(0.001)
    assert steps > 5 and progress.done == 1 and progress.answered == progress.parts == 1
