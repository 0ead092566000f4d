"""Exceptions: their classes, hints and places, and that they hold nothing of the data."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hushtable as ht
from conftest import contract, visits


def test_refusals_have_a_place_and_a_hint(ana: ht.Analyst) -> None:
    with pytest.raises(ht.Refused) as raised:
        ana.explain("SELECT town, COUNT(*) AS n\nFROM visits\nWHERE spend > 3 GROUP BY town")
    error = raised.value
    assert "spend" in error.what and error.hint is not None and "spent" in error.hint
    assert error.place is not None and "^^^^^" in error.place and "WHERE spend > 3" in error.place
    assert str(error) == f"{error.what}\n{error.place}\n  hint: {error.hint}"
    # Exceptions go to other processes.
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_command_says_the_same(files: Path) -> None:
    import subprocess
    import sys

    sql = "SELECT twon, COUNT(*) FROM visits GROUP BY twon"
    with pytest.raises(ht.Refused) as raised:
        ht.open(files).analyst("ana").sql(sql)
    words = [sys.executable, "-m", "hushtable", "query", "--contract", str(files), sql]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"error: {raised.value}\n"


def test_budgets_that_are_used_up(ledger: Path) -> None:
    engine = ht.Engine(
        contract(ana=ht.Budget(epsilon=1, delta=1e-5)), tables={"visits": visits()}, ledger=ledger
    )
    ana = engine.analyst("ana")
    ana.sql("SELECT COUNT(*) AS n FROM visits")
    with pytest.raises(ht.BudgetExceeded) as raised:
        ana.sql("SELECT COUNT(*) AS n FROM visits WHERE spent > 3")
    assert isinstance(raised.value, ht.Refused) and isinstance(raised.value, ht.HushtableError)
    assert raised.value.hint
    assert not ana.explain("SELECT COUNT(*) AS n FROM visits WHERE spent > 3").is_affordable


def test_analysts_who_are_not_named(engine: ht.Engine) -> None:
    with pytest.raises(ht.UnknownAnalyst, match="eve"):
        engine.analyst("eve").explain("SELECT COUNT(*) AS n FROM visits")
    # One analyst alone has a budget.
    assert engine.analyst().explain("SELECT COUNT(*) AS n FROM visits").analyst == "ana"


def test_contracts_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(ht.ContractError, match="cannot read the contract"):
        ht.open(tmp_path / "none.toml")
    with pytest.raises(ht.ContractError) as raised:
        ht.Contract(
            tables={"t": ht.Table(privacy_unit="id", columns={"id": "int", "x": "integer"})}
        )
    assert "integer" in str(raised.value) and raised.value.hint
    with pytest.raises(ht.ContractError, match="visit"):
        ht.Engine(contract(), tables={"visits": visits(), "visit": visits()})
    with pytest.raises(ht.ContractError):
        ht.Engine(contract())
    with pytest.raises(ht.ArgumentError, match="GiB|memory"):
        ht.Engine(contract(), tables={"visits": visits()}, memory="much")
    with pytest.raises(ValueError, match="at_least_seconds"):
        ht.Engine(contract(), tables={"visits": visits()}, at_least_seconds=-1)


def exceptions(frame: object) -> Iterator[tuple[str, Callable[[], object]]]:
    """Whatever raises an exception whose hint names options in the command."""
    count = "SELECT COUNT(*) AS n FROM visits"
    two = contract(ana=ht.Budget(epsilon=9), ben=ht.Budget(epsilon=9))
    rho = contract(ana=ht.Budget(rho=9, delta="1e-6"))
    tables = {"visits": frame}
    engine = ht.Engine(two, tables=tables, ledger="two.ledger")
    firm = ht.Table(
        privacy_unit="row",
        columns={"sales": ht.Column("int", split=1_000)},
        budgets={"ana": ht.Budget(rho=10, delta=1e-3)},
        defaults=ht.Defaults(rho=0.5, delta=1e-6),
    )
    firms = {"firms": pa.table({"sales": [n * n for n in range(400)]})}
    policy = ht.Engine(ht.Contract(tables={"firms": firm}), tables=firms, ledger="f.ledger").owner()
    sums = "SELECT SUM(sales) AS sales FROM firms"
    ana, owner = engine.analyst("ana"), ht.Engine(rho, tables=tables, ledger="rho.ledger").owner()
    yield "UnknownAnalyst", lambda: engine.analyst().sql(count)
    yield "UnknownAnalyst", lambda: engine.analyst("eve").sql(count)
    yield "ContractError", lambda: ht.open("none.toml")
    wrong: list[dict[str, ht.Scalar]] = [{}, {"most": 1, "@MOST": 2}, {"most": 1, "least": 2}]
    for params in wrong:
        yield "Refused", partial(ana.sql, count + " WHERE spent < @most", params=params)
    yield "Refused", lambda: engine.owner().audit(count, delta="1e-6", runs=1000)
    with_rho = count.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1)")
    yield "Refused", lambda: owner.audit(with_rho, delta=0, runs=1000)
    yield "ArgumentError", lambda: owner.audit(with_rho, delta=2, runs=1000)
    yield "ArgumentError", lambda: policy.fit(sums, target=0)
    yield "Refused", lambda: policy.fit(sums, target=0.05, least_records=1_000_000)
    yield "ArgumentError", lambda: ht.Engine(two, tables=tables, memory="much")
    small = ht.Engine(two, tables=tables, ledger="small.ledger", memory="1MiB")
    yield "ResourceError", lambda: small.analyst("ana").sql("SELECT SUM(spent) AS s FROM visits")


def test_hints_name_what_python_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hints = []
    for name, raises in exceptions(visits(300_000)):
        with pytest.raises(getattr(ht, name)) as raised:
            raises()
        error = raised.value
        assert type(error).__name__ == name, error
        assert error.hint, error
        assert not re.search(r"(^|[^-\w])--\w", str(error)), error
        hints.append(error.hint)
    for words in ("engine.analyst(", 'params={"most"', "least_records", "`delta`", "memory="):
        assert any(words in hint for hint in hints), (words, hints)


def bounded(low: Any, high: Any) -> ht.Contract:
    column = ht.Column("float", bounds=(low, high))
    budgets = {"ana": ht.Budget(epsilon=1, delta=1e-6)}
    table = ht.Table(privacy_unit="row", columns={"x": column}, budgets=budgets)
    return ht.Contract(tables={"t": table})


def test_contracts_print_as_toml() -> None:
    tomllib = pytest.importorskip("tomllib")
    rules = ht.Contract(
        ledger='Zoë\'s "own"\t\x7f\U0001f600.ledger',
        units={
            "person": ht.Population(
                budgets={"a na": ht.Budget(rho=0.1, delta="1e-9")},
                defaults=ht.Defaults(max_groups_contributed="auto"),
            )
        },
        tables={
            "visits": ht.Table(
                unit=ht.Unit(of="person", column="id"),
                columns={
                    "id": "int",
                    "day of visit": ht.Column("date", not_null=True),
                    "x": ht.Column("decimal(2)", bounds=(-1, 2.5), public_keys=[1, 2.25]),
                },
            )
        },
    )
    read = tomllib.loads(str(rules))
    assert read["ledger"] == rules.ledger
    assert read["units"]["person"]["budgets"] == {"a na": {"rho": 0.1, "delta": "1e-9"}}
    assert read["tables"]["visits"]["unit"] == {"of": "person", "column": "id"}
    assert read["tables"]["visits"]["columns"]["day of visit"] == {"type": "date", "not_null": True}
    assert read["tables"]["visits"]["columns"]["x"]["bounds"] == [-1, 2.5]
    np = pytest.importorskip("numpy")
    assert str(bounded(0, np.float64(2.5))) == str(bounded(0, 2.5))
    assert str(bounded(np.int64(0), np.float32(2.5))) == str(bounded(0, 2.5))
    with pytest.raises(TypeError, match="a value of a contract is a ndarray"):
        bounded(0, np.array([2.5]))
    with pytest.raises(ValueError, match="nan"):
        ht.Contract(
            tables={
                "t": ht.Table(
                    privacy_unit="row",
                    columns={"x": "int"},
                    budgets={"ana": ht.Budget(epsilon=float("nan"))},
                )
            }
        )


def test_data_that_cannot_be_read(files: Path) -> None:
    (files.parent / "visits.parquet").write_bytes(b"PAR1 no such thing PAR1")
    with pytest.raises(ht.DataError):
        ht.open(files).analyst("ana").sql("SELECT COUNT(*) AS n FROM visits")


def test_the_log_says_that_others_can_open_the_ledger(
    ana: ht.Analyst, ledger: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ana.sql("SELECT COUNT(*) AS n FROM visits")
    ledger.chmod(0o644)
    again = ht.Engine(contract(), tables={"visits": visits()}, ledger=ledger)
    # It is about the curator's file, and no warning for whoever asks.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.analyst("ana").sql("SELECT COUNT(*) AS n FROM visits")
    (record,) = caplog.records
    assert record.name == "hushtable" and record.levelname == "WARNING"
    assert "0644" in record.getMessage() and not record.getMessage().startswith("warning")


def test_warnings_are_those_of_python(ana: ht.Analyst) -> None:
    # Sums by a column with many values, whose groups are chosen privately: no warning here.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ana.sql("SELECT COUNT(*) AS n FROM visits")


def test_copies_of_a_process_are_refused(ana: ht.Analyst) -> None:
    import os

    if not hasattr(os, "fork"):
        pytest.skip("no copies of processes here")
    with warnings.catch_warnings():
        # Python 3.12 and later warn of every fork with threads.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            ana.explain("SELECT COUNT(*) AS n FROM visits")
        except ht.Closed as error:
            os._exit(7 if "another process" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_copies_of_a_process_drop_what_they_inherit(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    if not hasattr(os, "fork"):
        pytest.skip("no copies of processes here")
    script = tmp_path / "copies.py"
    script.write_text(COPIES)
    for what in ("engine", "ana", "owner", "release", "quote"):
        words = [sys.executable, "-W", "ignore", str(script), what, str(tmp_path / what)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (what, done.stderr)
        assert done.stdout == "0\n", what


COPIES = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import hushtable as ht
from conftest import contract, visits
what, ledger = sys.argv[1:]
engine = ht.Engine(contract(), tables={{"visits": visits()}}, ledger=ledger)
held = {{"engine": engine, "ana": engine.analyst("ana"), "owner": engine.owner()}}
held["quote"] = held["ana"].explain("SELECT COUNT(*) AS n FROM visits")
held["release"] = held["ana"].sql("SELECT COUNT(*) AS n FROM visits")
# Only one is left, so that it is the last to hold the engine.
last = held.pop(what)
del engine, held
child = os.fork()
if child == 0:
    # The new engine's threads may take the place of those that are not there.
    last = ht.Engine(contract(), tables={{"visits": visits()}}, ledger=ledger)
    assert last.analyst("ana").sql("SELECT COUNT(*) AS n FROM visits").was_free
    # As usual, and not by os._exit.
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
