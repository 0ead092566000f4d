"""Questions as expressions of ibis. The oldest packages are tested without it."""

from __future__ import annotations

from typing import Any

import pytest

import hushtable as ht
from conftest import contract, visits

ibis: Any = pytest.importorskip("ibis")


def test_a_table_has_the_contracts_columns_and_no_rows(ana: ht.Analyst) -> None:
    table = ana.table("Visits")
    assert table.get_name() == "Visits"
    assert dict(table.schema()) == {
        "id": ibis.dtype("int64"),
        "town": ibis.dtype("string"),
        "spent": ibis.dtype("int64"),
    }
    with pytest.raises(ht.Refused, match="there is no table `visit`\n  hint: did you mean `visits`"):
        ana.table("visit")


def test_every_type_of_a_contract_is_one_of_ibis(ledger: Any) -> None:
    types = ["bool", "int", "decimal(2)", "float", "string", "date", "timestamp"]
    columns = {f"c{index}": of for index, of in enumerate(types)}
    budgets = {"ana": ht.Budget(epsilon=1)}
    table = ht.Table(
        privacy_unit="id", path="none.csv", columns={"id": "int", **columns}, budgets=budgets
    )
    engine = ht.Engine(ht.Contract(tables={"all": table}), ledger=ledger)
    schema = engine.analyst("ana").table("all").schema()
    kinds = [str(schema[name]).partition("(6)")[0] for name in columns]
    wanted = ["boolean", "int64", "decimal(38, 2)", "float64", "string", "date", "timestamp"]
    assert kinds == wanted


def test_an_expression_is_the_question_of_its_sql(ana: ht.Analyst) -> None:
    visits = ana.table("visits")
    towns = visits.group_by("town").aggregate(n=visits.count(), spent=visits.spent.sum())
    question = towns.filter(towns.n > 3).order_by(ibis.desc("spent"), "town").limit(2)
    assert ana.explain(question).is_affordable
    release = ana.sql(question)
    assert len(release.to_dicts()) == 2 and set(release.to_dicts()[0]) == {"town", "n", "spent"}
    # Names, order and limits are computed from the release, however they are asked for.
    again = ana.sql("SELECT town, COUNT(*) AS c, SUM(spent) AS s FROM visits GROUP BY town")
    assert again.was_free and len(again.to_dicts()) == 3


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.count(),
        lambda t: t.id.nunique(),
        lambda t: t.filter(t.spent.between(5, 20)).group_by("town").aggregate(n=lambda u: u.count()),
        lambda t: t.mutate(big=t.spent > 25).group_by("big").aggregate(n=lambda u: u.count()),
        lambda t: t.group_by("town").aggregate(m=t.spent.mean(), s=t.spent.std()),
        lambda t: t.group_by("town").aggregate(m=t.spent.sum(where=t.spent > 3)),
        lambda t: t.drop("spent").group_by("town").aggregate(n=lambda u: u.count()),
        lambda t: t.mutate(up=t.town.upper()).group_by("up").aggregate(n=lambda u: u.count()),
        lambda t: t.filter(t.town.isin(["Ashford", "Millbrook"])).count(),
        lambda t: t.filter(t.town.like("A%")).count(),
        lambda t: t.town.value_counts(),
        lambda t: t.group_by("id").aggregate(x=t.spent.sum()).filter(lambda u: u.x > 9).count(),
    ],
)
def test_expressions_are_answered(ana: ht.Analyst, ask: Any) -> None:
    assert ana.explain(ask(ana.table("visits"))).text


def test_parameters_and_owners_take_expressions(engine: ht.Engine, ana: ht.Analyst) -> None:
    visits = ana.table("visits")
    report = engine.owner().tune(visits.group_by("town").aggregate(n=visits.count()))
    assert "CONFIDENTIAL" in str(report)


def test_other_objects_are_no_questions(ana: ht.Analyst) -> None:
    for question in (7, None, b"SELECT 1", visits()):
        with pytest.raises(TypeError, match="SQL in a str, or an expression of ibis"):
            ana.sql(question)  # type: ignore[arg-type]


def test_what_ibis_cannot_say_is_refused(ana: ht.Analyst) -> None:
    with pytest.raises(ht.Refused, match="ibis has no SQL for this") as refused:
        ana.explain(ana.table("visits").spent.median())
    assert refused.value.hint == "ask it as SQL"
    assert not ana.budget().to_dict()[0]["charges"]


def test_a_table_of_another_engine_is_refused() -> None:
    engine = ht.Engine(contract(), tables={"visits": visits()}, ledger="unused.ledger")
    other = ibis.table({"id": "int64"}, name="elsewhere")
    with pytest.raises(ht.Refused, match="there is no table `elsewhere`"):
        engine.analyst("ana").explain(other.count())
