"""What a budget buys, before there is a contract: `hushtable calc` as functions.

Nothing is charged and no data are read. A number is an int, a float, which stands for its shortest
digits, or a Decimal. Epsilon, delta and the cost in rho are rounded up. A number that is not in its
range raises `ArgumentError`, one of another type TypeError.

The page "Planning a release" of the project's book has the meaning of every number, and the file
THEOREMS.md of the repository the proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ._exceptions import ArgumentError
from ._words import Number, listed, one_of, option, result_of, text, word

__all__ = [
    "Conversion",
    "Event",
    "Noise",
    "Promise",
    "Quantile",
    "Selection",
    "compose",
    "convert",
    "noise",
    "quantile",
    "selection",
]

#: A way to choose groups.
Strategy = Literal[
    "optimal",
    "truncated-geometric",
    "laplace",
    "gaussian",
    "weighted-gaussian",
    "sips",
    "single-vote",
]

#: A law of noise.
Law = Literal["gaussian", "discrete-gaussian", "discrete-laplace"]

#: A kind of event.
Kind = Literal[
    "discrete-laplace", "gaussian", "discrete-gaussian", "bounded-range", "approx", "zcdp"
]


@dataclass(frozen=True)
class Selection:
    """A private choice of groups, from `selection`.

    `probabilities` has, for each number of units, the probability that a group of that size
    appears. `threshold` is the least noisy count or weight that is released; None where the
    strategy has none.
    """

    strategy: str
    epsilon: float
    delta: float
    threshold: float | None
    probabilities: Mapping[int, float]


@dataclass(frozen=True)
class Conversion:
    """Amounts that stand for each other, from `convert`; None for one that is not part of it.

    `if_gaussian` is the computed amount where all noise is Gaussian, which is no promise of a
    budget in rho; None where it is not computed.
    """

    rho: float | None
    epsilon: float | None
    delta: float | None
    if_gaussian: float | None


@dataclass(frozen=True)
class Noise:
    """What noise promises, from `noise`: epsilon and delta, and the variance in squared steps.

    With `values`, all of that many are within `half_width_95` steps of the exact ones, 95 % of the
    time.
    """

    epsilon: float
    delta: float
    variance: float
    half_width_95: int | None


@dataclass(frozen=True)
class Quantile:
    """How near a released quantile is to the exact one, from `quantile`.

    A point is e^rate times less likely for each of the group's values in between. 95 % of the time
    there are at most `values_between_95_even` values in between where they are spread evenly over
    the range, and `values_between_95` whatever they are.
    """

    rate: float
    values_between_95_even: float
    values_between_95: float


@dataclass(frozen=True)
class Promise:
    """The joint promise of events, from `compose`."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Event:
    """An event with a loss, which happens `times` times, from 1 to 1000000000.

    The kinds and their values:

    - "discrete-laplace": epsilon, also of any pure event
    - "gaussian": mu, the l2 sensitivity over sigma
    - "discrete-gaussian": sigma squared, and the sensitivity where it is not 1
    - "bounded-range": epsilon, and the number of draws in one query where it is not 1
    - "approx": epsilon, delta
    - "zcdp": rho, and a delta where it is not 0
    """

    kind: Kind
    values: Number | tuple[Number, ...]
    times: int = 1

    def _word(self) -> str:
        word("kind", self.kind, get_args(Kind))
        values = self.values if isinstance(self.values, tuple) else (self.values,)
        digits = ",".join(text("values", value) for value in values)
        return f"--event={self.kind}:{digits}x{text('times', self.times)}"


def selection(
    *,
    epsilon: Number,
    delta: Number,
    units: int | Iterable[int],
    strategy: Strategy | None = None,
    max_groups: int = 1,
) -> Selection:
    """The probability that a group of a given number of units appears.

    `epsilon` (above 0, at most 1000000) and `delta` (above 0, below 1) are for all groups of a unit
    together, of which it is in up to `max_groups` (1 to 1000000000). `units` has sizes of groups,
    from 0 to 2^53. Without a `strategy`, it is the one under which a group appears half of the time
    at the smallest size.

    Sources: Desfontaines, Voss, Gipson & Mandayam 2022; Gopi et al. 2020 for "weighted-gaussian";
    Swanberg, Desfontaines & Haney 2023 for "sips".
    """
    chosen = [] if strategy is None else [strategy]
    of_strategy = [f"--strategy={word('strategy', s, get_args(Strategy))}" for s in chosen]
    found = result_of(
        "ht.calc.selection(epsilon=1, delta=1e-6, units=[1, 10, 20])",
        ["calc", "selection", "--format=json"],
        option("epsilon", epsilon),
        option("delta", delta),
        listed("units", units),
        of_strategy,
        option("max_groups", max_groups),
    )
    keep = {size["units"]: size["probability"] for size in found.pop("keep")}
    return Selection(**found, probabilities=keep)


def convert(
    *, rho: Number | None = None, epsilon: Number | None = None, delta: Number | None = None
) -> Conversion:
    """Converts two of rho, epsilon and delta into the third, for any rho-zCDP mechanism.

    `epsilon` alone gives the rho that a pure epsilon costs, `rho` alone the largest pure epsilon
    that it pays for. `rho` and `epsilon` are from 0 to 1000000, `delta` from 0 to below 1. Epsilon,
    delta and the cost of a pure epsilon are rounded up; a rho that fits is rounded down.

    Sources: Canonne, Kamath & Steinke 2020, Proposition 12; Balle & Wang 2018 for `if_gaussian`.
    """
    given = {"rho": rho, "epsilon": epsilon, "delta": delta}
    example = "ht.calc.convert(rho=0.5, delta=1e-6)"
    count = sum(value is not None for value in given.values())
    if count not in (1, 2) or (count == 1 and delta is not None):
        what = "rho, epsilon and delta are converted two into the third, rho or epsilon also alone"
        raise ArgumentError(what, None, f"for example {example}")
    words = [option(name, value) for name, value in given.items()]
    found = result_of(example, ["calc", "convert", "--format=json"], *words)
    gaussian = [found.pop(name) for name in list(found) if name.endswith("_if_gaussian")]
    known = {name: None if value is None else float(value) for name, value in given.items()}
    return Conversion(**(known | found), if_gaussian=gaussian[0] if gaussian else None)


def noise(
    mechanism: Law,
    *,
    sigma_squared: Number | None = None,
    scale: Number | None = None,
    sensitivity: Number = 1,
    epsilon: Number | None = None,
    values: int | None = None,
) -> Noise:
    """What noise on an integer promises, and its variance, all in steps of the granularity.

    "gaussian" (a normal deviate, rounded: the noise of queries in rho) and "discrete-gaussian" take
    `sigma_squared` and give their delta at `epsilon`. "discrete-laplace" takes its `scale` (0.01 to
    2^40) and gives its epsilon, with a delta of 0. `sensitivity` is the most that one unit changes
    the values by: in l2 for a Gaussian, in l1 for a Laplace; from 1e-12 to 1e15, and a whole number
    up to 2^25 for "discrete-gaussian". Sigma squared is from 1e-12 to 2^80, for "discrete-gaussian"
    from 0.01 to 2^40. With `values`, from 1 to 1e12, also the error of the worst of that many.

    Sources: Balle & Wang 2018; Canonne, Kamath & Steinke 2020.
    """
    word("mechanism", mechanism, get_args(Law))
    if mechanism == "discrete-laplace":
        example = 'ht.calc.noise("discrete-laplace", scale=3.5)'
        fits = scale is not None and sigma_squared is None and epsilon is None
    else:
        example = f'ht.calc.noise("{mechanism}", sigma_squared=20, epsilon=1)'
        fits = scale is None and sigma_squared is not None and epsilon is not None
    if not fits:
        what = "a Gaussian has a sigma_squared and an epsilon, a discrete Laplace a scale alone"
        raise ArgumentError(what, None, f"for example {example}")
    found = result_of(
        example,
        ["calc", "noise", f"--mechanism={mechanism}", "--format=json"],
        option("sigma_squared", sigma_squared),
        option("scale", scale),
        option("sensitivity", sensitivity),
        option("epsilon", epsilon),
        option("values", values),
    )
    return Noise(
        epsilon=found["epsilon"] if epsilon is None else float(epsilon),
        delta=found.get("delta", 0.0),
        variance=found["variance"],
        half_width_95=found.get("half_width_95"),
    )


def quantile(
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    percentile: Number = 0.5,
    max_groups: int = 1,
    max_rows: int = 1,
    points: int = 1_000_000,
) -> Quantile:
    """How many values lie between a released median or percentile and the exact one.

    One of `epsilon` and `rho` is the price, for all groups of a unit together: it is in up to
    `max_groups` (1 to 10000), with up to `max_rows` rows (1 to 1000000) in each. `percentile` is
    above 0 and below 1, with at most four decimal places. The range has `points` steps of the
    granularity, from zero up.

    Sources: Smith 2011; Dong, Durfee & Rogers 2020 for the loss in rho.
    """
    example = "ht.calc.quantile(rho=0.1, percentile=0.9)"
    one_of(example, epsilon=epsilon, rho=rho)
    found = result_of(
        example,
        ["calc", "quantile", "--format=json"],
        option("epsilon", epsilon),
        option("rho", rho),
        option("percentile", percentile),
        option("max_groups", max_groups),
        option("max_rows", max_rows),
        option("points", points),
    )
    return Quantile(**found)


def compose(
    events: Iterable[Event], *, delta: Number | None = None, epsilon: Number | None = None
) -> Promise:
    """The joint promise of events whose losses are fixed in advance: the epsilon at `delta` (from 0
    to below 1), or the delta at `epsilon` (0 to 1000000). It is the tightest that is known to hold,
    rounded up.

    Sources: Dong, Roth & Su 2022; Zhu, Dong & Wang 2022; Doroshenko et al. 2022.
    """
    example = 'ht.calc.compose([ht.calc.Event("gaussian", 0.5, times=10)], delta=1e-6)'
    one_of(example, delta=delta, epsilon=epsilon)
    words = [event._word() for event in events]
    if not words:
        raise ArgumentError("there are no events", None, f"for example {example}")
    found = result_of(
        example,
        ["calc", "compose", "--format=json"],
        words,
        option("delta", delta),
        option("epsilon", epsilon),
    )
    known = {"delta": delta, "epsilon": epsilon}
    return Promise(**{name: float(v) for name, v in known.items() if v is not None}, **found)
