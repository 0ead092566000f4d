"""`calc` and `assess`: the figures of the command, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import hushtable as ht
from hushtable import assess, calc

#: Calls, each with the words of the command.
CALCULATIONS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: calc.selection(epsilon=1, delta=1e-6, units=[1, 10, 20]),
        "selection --epsilon 1 --delta 1e-6 --units 1,10,20",
    ),
    (
        lambda: calc.selection(
            epsilon=Decimal("0.3"), delta=1e-9, units=50, strategy="laplace", max_groups=3
        ),
        "selection --epsilon 0.3 --delta 1e-9 --units 50 --strategy laplace --max-groups 3",
    ),
    (lambda: calc.convert(rho=0.5, delta=1e-6), "convert --rho 0.5 --delta 1e-6"),
    (lambda: calc.convert(rho=0.5, epsilon=5), "convert --rho 0.5 --epsilon 5"),
    (lambda: calc.convert(epsilon=1, delta=1e-6), "convert --epsilon 1 --delta 1e-6"),
    (lambda: calc.convert(epsilon=1), "convert --epsilon 1"),
    (lambda: calc.convert(rho=0.5), "convert --rho 0.5"),
    (
        lambda: calc.noise("gaussian", sigma_squared=20, epsilon=1),
        "noise --mechanism gaussian --sigma-squared 20 --epsilon 1",
    ),
    (
        lambda: calc.noise("discrete-gaussian", sigma_squared=20, sensitivity=2, epsilon=1),
        "noise --mechanism discrete-gaussian --sigma-squared 20 --sensitivity 2 --epsilon 1",
    ),
    (
        lambda: calc.noise("discrete-laplace", scale=3.5, values=60),
        "noise --mechanism discrete-laplace --scale 3.5 --values 60",
    ),
    (lambda: calc.quantile(rho=0.1, percentile=0.9), "quantile --rho 0.1 --percentile 0.9"),
    (
        lambda: calc.quantile(epsilon=1, max_groups=3, max_rows=2, points=100),
        "quantile --epsilon 1 --max-groups 3 --max-rows 2 --points 100",
    ),
    (
        lambda: calc.compose(
            [calc.Event("gaussian", 0.5, times=10), calc.Event("approx", (0.1, 1e-8), times=3)],
            delta=1e-6,
        ),
        "compose --event gaussian:0.5x10 --event approx:0.1,1e-8x3 --delta 1e-6",
    ),
    (
        lambda: calc.compose([calc.Event("zcdp", 0.05)], epsilon=4),
        "compose --event zcdp:0.05 --epsilon 4",
    ),
]

ASSESSMENTS: list[tuple[Callable[[], assess.Assessment], str]] = [
    (
        lambda: assess.count(unknown=[(500, 0.1), (300, 0.5)], epsilon=[0.1, 0.5]),
        "count --unknown 500@0.1 --unknown 300@0.5 --epsilon 0.1,0.5",
    ),
    (
        lambda: assess.count(others=10_000, between=(0.05, 0.95), known=9000, delta=1e-6),
        "count --others 10000 --between 0.05..0.95 --known 9000 --delta 1e-6",
    ),
    (
        lambda: assess.count(unknown=[(99, 0.05)], noise=("geometric", 0.5), epsilon=0.1),
        "count --unknown 99@0.05 --noise geometric:0.5 --epsilon 0.1",
    ),
    (
        lambda: assess.histogram(others=10_000, options=4, at_least=0.05, delta=1e-9),
        "histogram --others 10000 --options 4 --at-least 0.05 --delta 1e-9",
    ),
    (
        lambda: assess.threshold(
            release_above=6, unknown=[(199, 0.01)], known=[(12, 0.01)], epsilon=0.1
        ),
        "threshold --release-above 6 --unknown 199@0.01 --known 12@0.01 --epsilon 0.1",
    ),
    (
        lambda: assess.threshold(
            release_above=9, others=1000, between=(0, 0.002), known=20, delta=1e-3
        ),
        "threshold --release-above 9 --others 1000 --at-most 0.002 --known 20 --delta 1e-3",
    ),
    (
        lambda: assess.k_anonymity(
            k=10,
            others=1000,
            values={"common": (0.3, 0.6), "rare": (0, 0.001)},
            absent=(0.2, 0.5),
            epsilon=1,
        ),
        "k-anonymity --k 10 --others 1000 --value common=0.3..0.6 --value rare=0..0.001 "
        "--absent 0.2..0.5 --epsilon 1",
    ),
    (
        lambda: assess.compose([(0.1, 1e-9), (0.2, 1e-9)], independent=True),
        "compose --release 0.1,1e-9 --release 0.2,1e-9 --independent",
    ),
    (
        lambda: assess.compose([(0.1, 1e-9), (0.2, 1e-9)], dependence=(0.05, 1e-10)),
        "compose --release 0.1,1e-9 --release 0.2,1e-9 --dependence 0.05,1e-10",
    ),
    (
        lambda: assess.compose([(0.1, 1e-9), (0.1, 1e-9)], temporal=0.01),
        "compose --release 0.1,1e-9 --release 0.1,1e-9 --temporal 0.01",
    ),
]


@pytest.mark.parametrize(("call", "words"), CALCULATIONS)
def test_calculations_are_those_of_the_command(
    call: Callable[[], Any], words: str, command: Callable[..., str]
) -> None:
    printed = json.loads(command("calc", *words.split(), "--format", "json"))
    found = dataclasses.asdict(call())
    if "keep" in printed:
        sizes = printed.pop("keep")
        printed["probabilities"] = {size["units"]: size["probability"] for size in sizes}
    for name, value in printed.items():
        if name.endswith("_if_gaussian"):
            name = "if_gaussian"
        if name != "values":
            assert found[name] == value, name


@pytest.mark.parametrize(("call", "words"), ASSESSMENTS)
def test_assessments_are_those_of_the_command(
    call: Callable[[], assess.Assessment], words: str, command: Callable[..., str]
) -> None:
    printed = json.loads(command("assess", *words.split(), "--format", "json"))
    assert dataclasses.asdict(call()) == {"pairs": [], **printed}


#: Calls with a number that is not in its range, or with arguments that exclude each other.
WRONG: list[Callable[[], object]] = [
    lambda: calc.selection(epsilon=0, delta=1e-6, units=1),
    lambda: calc.selection(epsilon=1, delta=1, units=1),
    lambda: calc.selection(epsilon=1, delta=1e-6, units=[]),
    lambda: calc.selection(epsilon=1, delta=1e-6, units=-1),
    lambda: calc.selection(epsilon=1, delta=1e-6, units=1, max_groups=0),
    lambda: calc.selection(epsilon=1, delta=1e-18, units=1, max_groups=3, strategy="laplace"),
    lambda: calc.selection(epsilon=float("nan"), delta=1e-6, units=1),
    lambda: calc.convert(),
    lambda: calc.convert(delta=1e-6),
    lambda: calc.convert(rho=1, epsilon=1, delta=1e-6),
    lambda: calc.convert(rho=1, delta=0),
    lambda: calc.convert(rho=1e6, delta=1e-6),
    lambda: calc.noise("gaussian", sigma_squared=20),
    lambda: calc.noise("gaussian", scale=1, epsilon=1),
    lambda: calc.noise("gaussian", sigma_squared=1e20, epsilon=1),
    lambda: calc.noise("discrete-laplace", scale=1e-9),
    lambda: calc.quantile(),
    lambda: calc.quantile(epsilon=1, rho=1),
    lambda: calc.quantile(rho=0.1, percentile=1),
    lambda: calc.quantile(rho=0.1, max_groups=0),
    lambda: calc.compose([], delta=1e-6),
    lambda: calc.compose([calc.Event("gaussian", 0.5)]),
    lambda: calc.compose([calc.Event("gaussian", (0.5, 1))], delta=1e-6),
    lambda: calc.compose([calc.Event("gaussian", 0.5, times=0)], delta=1e-6),
    lambda: calc.compose([calc.Event("gaussian", 9e5, times=10**9)], delta=1e-6),
    lambda: assess.count(epsilon=1),
    lambda: assess.count(unknown=[(500, 0.1)]),
    lambda: assess.count(unknown=[(500, 0.1)], epsilon=1, delta=1e-6),
    lambda: assess.count(unknown=[(500, 1.1)], epsilon=1),
    lambda: assess.count(unknown=[(0, 0.1)], epsilon=1),
    lambda: assess.count(unknown=[], epsilon=1),
    lambda: assess.count(others=10, epsilon=1),
    lambda: assess.count(others=10, between=(0.9, 0.1), epsilon=1),
    lambda: assess.count(others=10, between=(0.1, 0.9), known=10, epsilon=1),
    lambda: assess.count(unknown=[(500, 0.1)], noise=("geometric", 2), epsilon=1),
    lambda: assess.histogram(others=10, at_least=[0.1, 0.2], options=3, epsilon=1),
    lambda: assess.histogram(others=10, at_least=0.9, options=4, epsilon=1),
    lambda: assess.threshold(release_above=-1, unknown=[(9, 0.1)], epsilon=1),
    lambda: assess.threshold(release_above=6, others=9, between=(0, 1), known=9, epsilon=1),
    lambda: assess.threshold(
        release_above=6, unknown=[(9, 0.1), (8, 0.2)], known=5, epsilon=1
    ),
    lambda: assess.k_anonymity(k=0, others=9, values={"a": (0, 1), "b": (0, 1)}, epsilon=1),
    lambda: assess.k_anonymity(k=2, others=9, values={}, epsilon=1),
    lambda: assess.compose([(0.1, 1e-9), (0.2, 1e-9)]),
    lambda: assess.compose([(0.1, 2)], independent=True),
    lambda: assess.compose([(0.1, 0)], independent=True, temporal=1),
]


@pytest.mark.parametrize("call", WRONG)
def test_what_is_refused_has_an_example_that_works(call: Callable[[], object]) -> None:
    with pytest.raises(ht.ArgumentError) as raised:
        call()
    hint = raised.value.hint
    assert hint is not None and hint.startswith("for example ht.")
    assert not re.search(r"--\w", str(raised.value)), raised.value
    assert "-groups" not in raised.value.what
    eval(hint.removeprefix("for example "), {"ht": ht})


def test_words_are_those_of_the_command() -> None:
    wrong: Any = "cauchy"
    for call in (
        lambda: calc.selection(epsilon=1, delta=1e-6, units=1, strategy=wrong),
        lambda: calc.noise(wrong, sigma_squared=1, epsilon=1),
        lambda: calc.compose([calc.Event(wrong, 1)], delta=1e-6),
        lambda: assess.count(unknown=[(9, 0.1)], noise=(wrong, 1), epsilon=1),
    ):
        with pytest.raises(ht.ArgumentError, match="is not valid") as raised:
            call()
        assert raised.value.hint and "use one of" in raised.value.hint


def test_values_of_other_types_are_no_numbers() -> None:
    for wrong in ("1", True, None, [1], Fraction(1, 2)):
        with pytest.raises((TypeError, ht.ArgumentError)):
            calc.selection(epsilon=wrong, delta=1e-6, units=1)  # type: ignore[arg-type]
    np = pytest.importorskip("numpy")
    same = calc.selection(epsilon=np.float64(1), delta=1e-6, units=np.array([1, 10, 20]))
    assert same == calc.selection(epsilon=1, delta=1e-6, units=[1, 10, 20])
