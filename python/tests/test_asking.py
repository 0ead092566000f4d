"""Quotes, releases, budgets, the owner's reports, and how they look."""

from __future__ import annotations

import asyncio
import html
import time
from pathlib import Path

import pyarrow as pa
import pytest

import hushtable as ht
from conftest import EXACT, contract, visits

COUNT = "SELECT town, COUNT(*) AS n FROM visits GROUP BY town ORDER BY town"


def test_a_quote_is_free(engine: ht.Engine, ana: ht.Analyst) -> None:
    quote = ana.explain(COUNT)
    assert "Protects" in quote.text and str(quote) == quote.text == repr(quote)
    assert "--verbose" not in quote.text and "quote.verbose" in quote.text
    assert len(quote.verbose) > len(quote.text)
    (account,) = quote.accounts
    assert account == {
        "population": "visits",
        "charge": "epsilon = 1, delta = 1e-6",
        "left": "epsilon = 1000000, delta = 0.001",
        "left_after": "epsilon = 999999, delta = 0.000999",
    }
    assert quote.is_affordable and not quote.is_free and quote.analyst == "ana"
    assert quote.to_dict()["accounts"][0]["suffices"] is True
    assert not engine.ledger.exists()


def test_a_release_is_charged_once(engine: ht.Engine, ana: ht.Analyst) -> None:
    release = ana.sql(COUNT)
    assert [row["town"] for row in release.to_dicts()] == ["Ashford", "Harbourton", "Millbrook"]
    assert release.charges == [
        {
            "population": "visits",
            "charged": "epsilon = 1, delta = 1e-6",
            "left": "epsilon = 999999, delta = 0.000999",
        }
    ]
    again = ana.sql(COUNT)
    assert again.was_free and again.charges[0]["charged"] is None
    assert again.to_dicts() == release.to_dicts()
    assert ana.explain(COUNT).is_free
    assert release.statement["analyst"] == "ana"
    assert "charged epsilon = 1, delta = 1e-6 to ana on visits" in str(release)
    (line,) = ana.budget().to_dict()
    assert line["spent"] == {"epsilon": 1, "delta": 1e-6} or "1" in str(line["spent"])
    assert "ana on visits" in str(ana.budget())
    assert engine.owner().ledger_check()["problems"] == []


def test_intervals_are_beside_the_values(ana: ht.Analyst) -> None:
    release = ana.sql(COUNT)
    for level in (None, 80, 99.9):
        table = release.intervals(level)
        assert table.columns == ["town", "n", "n_low", "n_high"]
        for row in table.to_dicts():
            assert row["n_low"] <= row["n"] <= row["n_high"]
    wide, narrow = release.intervals(99.9).to_dicts()[0], release.intervals(50).to_dicts()[0]
    assert wide["n_high"] - wide["n_low"] > narrow["n_high"] - narrow["n_low"]
    together = release.intervals(simultaneous=True).to_dicts()[0]
    alone = release.intervals().to_dicts()[0]
    assert together["n_high"] - together["n_low"] >= alone["n_high"] - alone["n_low"]
    with pytest.raises(ht.ArgumentError, match="from 50 to 99.9"):
        release.intervals(100)


def test_pages_show_intervals_charges_and_what_was_cut_off(ana: ht.Analyst) -> None:
    release = ana.sql(COUNT)
    page = release._repr_html_()
    row = release.intervals().to_dicts()[0]
    assert f"{row['n']} <small>({row['n_low']} to {row['n_high']})</small>" in page
    assert "charged epsilon = 1, delta = 1e-6 to ana on visits" in page
    assert release.cut_off and all(html.escape(text) in page for text in release.cut_off)
    quote = ana.explain(COUNT)
    assert quote.cut_off and "Cut off" in quote._repr_html_()
    assert "ana on visits" in ana.budget()._repr_html_()


def test_pages_escape_whatever_the_data_hold(ledger: Path) -> None:
    table = visits()
    evil = "<script>alert('x')</script>\u202e"
    towns = pa.array([evil] * len(table))
    table = table.set_column(1, "town", towns)
    ana = ht.Engine(contract(), tables={"visits": table}, ledger=ledger).analyst("ana")
    release = ana.sql(f"{EXACT} town AS `<b>`, COUNT(*) AS n FROM visits GROUP BY town")
    for page in (
        release._repr_html_(),
        ana.explain(
            f"{EXACT} COUNT(*) AS n FROM visits WHERE town = @town", params={"town": evil}
        )._repr_html_(),
        ana.budget()._repr_html_(),
        release.plot().svg,
    ):
        assert "<script" not in page and "<b>" not in page and "\u202e" not in page
    assert "\u202e" not in str(release)
    assert release.to_dicts()[0]["<b>"] == evil


def test_a_plot_is_of_vega_lite(ana: ht.Analyst) -> None:
    release = ana.sql(COUNT)
    plot = release.plot()
    assert plot["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    points = plot["layer"][-1]["data"]["values"]
    assert sorted(p["x"] for p in points) == sorted(row["n"] for row in release.to_dicts())
    assert plot.svg.startswith("<svg")
    bundle = plot._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == dict(plot)
    altair = pytest.importorskip("altair")
    assert isinstance(plot.to_altair(), altair.LayerChart)
    convert = pytest.importorskip("vl_convert")
    assert "Harbourton" in convert.vegalite_to_svg(dict(plot))
    with pytest.raises(ht.Refused, match="noisy numbers"):
        ana.sql(f"{EXACT} town FROM visits GROUP BY town").plot()


@pytest.mark.parametrize(
    "name", ["ends in \\", 'a" + datum.x + "', "a\nb", "a\u2028b", "a\u202eb", "a'b\\\""]
)
def test_plots_hold_names_of_every_kind(name: str, ana: ht.Analyst) -> None:
    convert = pytest.importorskip("vl_convert")
    columns = f"town AS `{name}`, COUNT(*) AS `n {name}`"
    release = ana.sql(f"{EXACT} {columns} FROM visits GROUP BY town")
    assert release.columns == [name, f"n {name}"]
    plot = release.plot()
    drawn = convert.vegalite_to_svg(dict(plot))
    escaped = "".join(c if c.isprintable() else {"\n": "\\n"}.get(c, f"\\u{{{ord(c):x}}}") for c in name)
    assert html.escape(escaped, quote=False) in html.escape(html.unescape(drawn), quote=False)
    assert "\u202e" not in plot.svg


def test_the_environment_sets_a_delay_and_a_limit(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seconds(at_least_seconds: float = 0) -> float:
        engine = ht.Engine(
            contract(),
            tables={"visits": visits()},
            ledger=ledger,
            at_least_seconds=at_least_seconds,
        )
        started = time.monotonic()
        engine.analyst("ana").explain(COUNT)
        return time.monotonic() - started

    monkeypatch.setenv("HUSHTABLE_AT_LEAST_SECONDS", "1")
    assert seconds() >= 1
    assert seconds(at_least_seconds=0.25) >= 1
    assert seconds(at_least_seconds=1.5) >= 1.5
    monkeypatch.setenv("HUSHTABLE_AT_LEAST_SECONDS", "soon")
    with pytest.raises(ht.Refused, match="HUSHTABLE_AT_LEAST_SECONDS = soon"):
        seconds()
    monkeypatch.delenv("HUSHTABLE_AT_LEAST_SECONDS")
    monkeypatch.setenv("HUSHTABLE_MEMORY", "much")
    with pytest.raises(ht.Refused, match="HUSHTABLE_MEMORY"):
        seconds()
    # The argument comes first.
    ht.Engine(contract(), tables={"visits": visits()}, ledger=ledger, memory="1GiB")


def test_questions_are_awaited(ana: ht.Analyst) -> None:
    async def ask() -> tuple[ht.Quote, ht.Release, ht.Release]:
        one = ana.sql_async(f"{EXACT} COUNT(*) AS n FROM visits")
        other = ana.sql_async(
            f"{EXACT} COUNT(*) AS n FROM visits WHERE spent > @x", params={"x": 24}
        )
        return await ana.explain_async(COUNT), await one, await other

    quote, one, other = asyncio.run(ask())
    assert not quote.is_free
    assert [r.to_dicts()[0]["n"] for r in (one, other)] == [900, 450]


def test_the_owner_sees_how_the_contract_fits(engine: ht.Engine) -> None:
    owner = engine.owner()
    assert owner.check("visits").to_dict()["tables"][0]["rows"] == 900
    assert "900" in str(owner.check())
    tuned = owner.tune(COUNT)
    assert tuned.to_dict() and "CONFIDENTIAL" in tuned.text.upper()
    audit = owner.audit(f"{EXACT} COUNT(*) AS n FROM visits", runs=2_000, units=1)
    assert audit.to_dict()["violation"] is False
    with pytest.raises(ValueError, match="runs = 1 is not valid"):
        owner.audit(COUNT, runs=1)
    with pytest.raises(ht.Refused):
        owner.policy(COUNT)
    assert owner.budgets().to_dict()[0]["analyst"] == "ana"
    with pytest.raises(ht.LedgerError):
        owner.ledger_check()


def test_the_ledger_is_copied(engine: ht.Engine, ana: ht.Analyst, tmp_path: Path) -> None:
    ana.sql(COUNT)
    found = engine.owner().ledger_backup(tmp_path / "copy.ledger")
    assert (found["charges"], found["releases"], found["problems"]) == (1, 1, [])
    with pytest.raises(ht.LedgerError):
        engine.owner().ledger_backup(tmp_path / "copy.ledger")


def test_records_lose_what_a_policy_says(ledger: Path) -> None:
    rules = ht.Contract(
        tables={
            "firms": ht.Table(
                privacy_unit="row",
                columns={"id": "int", "sales": ht.Column("int", split=1_000)},
                budgets={"ana": ht.Budget(rho=10, delta=1e-3)},
                defaults=ht.Defaults(rho=0.5, delta=1e-6),
            )
        }
    )
    firms = pa.table({"id": list(range(400)), "sales": [n * n for n in range(400)]})
    owner = ht.Engine(rules, tables={"firms": firms}, ledger=ledger).owner()
    sql = "SELECT SUM(sales) AS sales FROM firms"
    assert owner.policy(sql).to_dict()
    assert owner.fit(sql, target=0.5).to_dict()
    with pytest.raises(ValueError, match="target = 0"):
        owner.fit(sql, target=0)


def test_analysts_wait_for_the_delay(ledger: Path) -> None:
    delay = 0.5
    engine = ht.Engine(
        contract(), tables={"visits": visits()}, ledger=ledger, at_least_seconds=delay
    )
    ana = engine.analyst("ana")
    progress = ht.Progress()

    def refused() -> None:
        with pytest.raises(ht.Refused):
            ana.sql("SELECT id FROM visits")

    for ask in (
        lambda: ana.explain(COUNT),
        lambda: ana.sql(COUNT, progress=progress),
        lambda: ana.sql(COUNT),
        ana.budget,
        refused,
    ):
        started = time.monotonic()
        ask()
        assert time.monotonic() - started >= delay
    assert progress.done == 0
