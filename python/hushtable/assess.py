"""What a release without noise gives away to attackers who know only a part of the data:
`hushtable assess` as functions.

Nothing is charged and no data are read. **An assessment is no differential privacy**: it rests on
what an attacker does not know, and is never charged to a budget, added to one or compared with one.
`Assessment.assumptions` says in words what it rests on.

A number is an int, a float, which stands for its shortest digits, or a Decimal. `epsilon` (from 0
to 1000000) and `delta` (from 1e-300 to below 1) are a number or several: there is a delta at each
epsilon, or an epsilon at each delta. Both are rounded up. A number that is not in its range raises
`ArgumentError`, one of another type TypeError.

Source: Desfontaines, Mohammadi, Krahmer & Basin 2020, "Differential privacy with partial
knowledge", corrected where its bounds do not hold (theorems/partial-knowledge.md of the
repository). The page "Publish without noise" of the project's book has the meaning of every number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, get_args

from ._exceptions import ArgumentError
from ._words import Number, listed, one_of, option, result_of, text, word

__all__ = [
    "Assessment",
    "Guarantee",
    "Pair",
    "compose",
    "count",
    "histogram",
    "k_anonymity",
    "threshold",
]

#: A law of noise on a count: P of the two-sided geometric, with P[x] ~ P^|x|; the scale of the
#: discrete Laplace, which is the same law; sigma squared of the discrete Gaussian.
Law = Literal["geometric", "discrete-laplace", "discrete-gaussian"]


class _Guarantee(TypedDict):
    epsilon: float | None
    delta: float


class Guarantee(_Guarantee, total=False):
    """A point on the curve: except with probability `delta`, what is published changes an
    attacker's odds by a factor of at most e^epsilon. `epsilon` is None where none is enough.

    With noise, there are the same of the uncertainty and of the noise alone; with a threshold,
    those of passive attackers, who happen to know records, and of active ones, who planted them.
    """

    delta_without_noise: float
    delta_noise_alone: float
    epsilon_without_noise: float | None
    epsilon_noise_alone: float | None
    delta_passive: float
    delta_active: float
    epsilon_passive: float | None
    epsilon_active: float | None


class Pair(TypedDict):
    """How well it is hidden which of two values the target has, and why."""

    values: list[str]
    epsilon: float | None
    delta: float
    because: str


@dataclass(frozen=True)
class Assessment:
    """What a publication gives away.

    `exact` is False where the numbers are bounds above the worst case. `assumptions` says in words
    what they mean and rest on. `pairs` is empty, except with `k_anonymity`.
    """

    guarantees: list[Guarantee]
    exact: bool
    assumptions: str
    pairs: list[Pair]


def count(
    *,
    unknown: Iterable[tuple[int, Number]] | None = None,
    others: int | None = None,
    between: tuple[Number, Number] | None = None,
    known: int = 0,
    noise: tuple[Law, Number] | None = None,
    epsilon: Number | Iterable[Number] | None = None,
    delta: Number | Iterable[Number] | None = None,
) -> Assessment:
    """A count of records that is published exactly, or with `noise` as (law, value).

    The other records are given as a profile: `unknown` has (number, probability) of records that
    the attacker does not know, each counted with that probability. Or as `others`, the number of
    other records (1 to 1000000000), of which the attacker knows `known`, and each of the rest is
    counted with a probability within `between`. Within bounds delta is the worst case, exact up to
    10,000 unknown records.
    """
    example = "ht.assess.count(unknown=[(500, 0.1)], epsilon=[0.1])"
    return _assessed(
        example,
        ["assess", "count"],
        _others(example, unknown, others, between),
        option("known", known),
        [] if noise is None else [_noise(*noise)],
        _points(example, epsilon, delta),
    )


def histogram(
    *,
    others: int,
    at_least: Number | Iterable[Number],
    options: int | None = None,
    known: int = 0,
    epsilon: Number | Iterable[Number] | None = None,
    delta: Number | Iterable[Number] | None = None,
) -> Assessment:
    """The counts of several options, of which each record has one.

    `others` is the number of other records (1 to 1000000000), of which the attacker knows `known`.
    `at_least` has the least probability of each option for any unknown record; with `options` (2 to
    1000000), one for all of them. The numbers are a bound for the two options with the smallest.
    """
    example = "ht.assess.histogram(others=10_000, at_least=[0.3, 0.2, 0.01], epsilon=0.5)"
    return _assessed(
        example,
        ["assess", "histogram"],
        option("others", others),
        listed("at_least", at_least),
        option("options", options),
        option("known", known),
        _points(example, epsilon, delta),
    )


def threshold(
    *,
    release_above: int,
    unknown: Iterable[tuple[int, Number]] | None = None,
    others: int | None = None,
    between: tuple[Number, Number] | None = None,
    known: int | Iterable[tuple[int, Number]] = 0,
    epsilon: Number | Iterable[Number] | None = None,
    delta: Number | Iterable[Number] | None = None,
) -> Assessment:
    """A count that is published only if it is above `release_above` (0 to 1000000000).

    `unknown`, `others` and `between` as in `count`; for a largest probability P, `between` is (0,
    P). `known` is how many of `others` the attacker knows; beside `unknown`, (number, probability)
    of records that it knows in addition. `delta` of a guarantee is that of active attackers, which
    is the larger.
    """
    example = "ht.assess.threshold(release_above=6, unknown=[(199, 0.01)], epsilon=0.1)"
    if isinstance(known, Iterable):
        of_known = [_profile("known", group) for group in known]
    else:
        of_known = option("known", known)
    return _assessed(
        example,
        ["assess", "threshold"],
        option("release_above", release_above),
        _others(example, unknown, others, between),
        of_known,
        _points(example, epsilon, delta),
    )


def k_anonymity(
    *,
    k: int,
    others: int,
    values: Mapping[str, tuple[Number, Number]],
    absent: tuple[Number, Number] | None = None,
    epsilon: Number | Iterable[Number] | None = None,
    delta: Number | Iterable[Number] | None = None,
) -> Assessment:
    """The counts of several values, where counts below `k` are left out.

    `others` is the number of other records (1 to 1000000000), none of which the attacker knows.
    `values` has all values, each with bounds on the probability that any of the others has it;
    `absent` has those that it is not in the table, where nothing tells how many are not. The
    `pairs` of the result say for each pair of values how well it is hidden which the target has.
    """
    example = (
        'ht.assess.k_anonymity(k=10, others=1000, values={"a": (0.3, 0.6), "b": (0.4, 0.7)}, '
        "epsilon=1)"
    )
    return _assessed(
        example,
        ["assess", "k-anonymity"],
        option("k", k),
        option("others", others),
        [f"--value={name}={_between('values', bounds)}" for name, bounds in values.items()],
        [] if absent is None else [f"--absent={_between('absent', absent)}"],
        _points(example, epsilon, delta),
    )


def compose(
    releases: Iterable[tuple[Number, Number]],
    *,
    independent: bool = False,
    dependence: Number | tuple[Number, Number] | None = None,
    temporal: Number | None = None,
) -> Assessment:
    """Several releases about the same people: the guarantee of all of them together.

    `releases` has the (epsilon, delta) of each, as assessed. They add up only where what ties them
    together is bounded, by one of three: `independent`, they are about unrelated records;
    `dependence`, earlier releases add at most mu to the loss of each, except with probability nu,
    as (mu, nu) or mu alone; `temporal`, they are counts of the same records at successive times,
    where a record's value changes the probabilities of its next value by a factor of at most
    e^temporal. Without any of them they are refused.
    """
    example = "ht.assess.compose([(0.1, 1e-9), (0.2, 1e-9)], independent=True)"
    one_of(
        example,
        independent=True if independent else None,
        dependence=dependence,
        temporal=temporal,
    )
    bounds = dependence if isinstance(dependence, tuple) else (dependence,)
    tie = ",".join(text("dependence", bound) for bound in bounds if bound is not None)
    guarantees = [
        f"--release={text('epsilon', epsilon)},{text('delta', delta)}"
        for epsilon, delta in releases
    ]
    return _assessed(
        example,
        ["assess", "compose"],
        guarantees,
        ["--independent"] if independent else [],
        [f"--dependence={tie}"] if tie else [],
        option("temporal", temporal),
    )


def _assessed(example: str, *words: list[str]) -> Assessment:
    found: dict[str, Any] = {"pairs": []}
    found |= result_of(example, *words, ["--format=json"])
    return Assessment(**found)


def _points(
    example: str,
    epsilon: Number | Iterable[Number] | None,
    delta: Number | Iterable[Number] | None,
) -> list[str]:
    one_of(example, epsilon=epsilon, delta=delta)
    return listed("epsilon", epsilon) + listed("delta", delta)


def _others(
    example: str,
    unknown: Iterable[tuple[int, Number]] | None,
    others: int | None,
    between: tuple[Number, Number] | None,
) -> list[str]:
    if (unknown is None) == (others is None) or (others is None) != (between is None):
        what = "the other records are given by unknown, or by others together with between"
        raise ArgumentError(what, None, f"for example {example}")
    if unknown is not None:
        return [_profile("unknown", group) for group in unknown]
    bounds = [] if between is None else [f"--between={_between('between', between)}"]
    return option("others", others) + bounds


def _noise(law: Law, value: Number) -> str:
    return f"--noise={word('noise', law, get_args(Law))}:{text('noise', value)}"


def _profile(name: str, group: tuple[int, Number]) -> str:
    number, probability = group
    return f"--{name}={text(name, number)}@{text(name, probability)}"


def _between(name: str, bounds: tuple[Number, Number]) -> str:
    low, high = bounds
    return f"{text(name, low)}..{text(name, high)}"
