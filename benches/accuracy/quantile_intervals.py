"""How wide intervals around medians are, beside the errors of the medians themselves: rows for docs/benchmarks.md.

    python quantile_intervals.py FILE GROUP VALUE BOUND

FILE is a CSV with gzip; GROUP and VALUE are names of its columns, and values are clamped to 0 to BOUND, each row being a
unit. A released median and the reach of its interval are drawn from their laws, in floating point: those of
crates/mechanisms/src/quantile.rs and quantile/reaches.rs, each at half of epsilon. Of groups by their size, up to 30 each
and 300 draws in each: how often the interval at 95 % holds all exact medians; its mean width in parts of the width of the
central 95 % of the released medians, as the median group has it and as nine of ten groups have at most; and that width in
parts of what it is for medians that are drawn at the whole of epsilon.
"""

import csv
import gzip
import sys

import numpy as np

DRAWS, LEVEL, MOST_GROUPS = 300, 0.95, 30
SIZES = [30, 100, 300, 1_000, 3_000, 10_000, 1_000_000]


def values_of(file, group, value, bound):
    groups = {}
    with gzip.open(file, "rt") as rows:
        for row in csv.DictReader(rows):
            if row[value] not in ("", "0"):
                key = row[group][:2] if group == "area_fips" else row[group]
                groups.setdefault(key, []).append(max(0, min(int(float(row[value])), bound)))
    return [np.sort(np.array(values)) for values in groups.values()]


class Median:
    """Points near the median of values from 0 to a bound: half of the prior is even, half by octaves."""

    def __init__(self, values, rate, bound):
        self.bound, self.digits = bound, int(bound).bit_length()
        points, counts = np.unique(values, return_counts=True)
        to = np.concatenate([[0], np.cumsum(counts)])
        starts = np.concatenate([[0], np.column_stack([points, points + 1]).ravel()])
        ends = np.concatenate([np.column_stack([points, points + 1]).ravel(), [bound + 1]])
        # Gaps before, between and behind values have odd positions, values even ones.
        target = len(values) / 2
        gap = np.abs(to - target)
        tie = np.maximum(0, np.maximum(to[:-1] - target, target - to[1:]))
        away = np.concatenate([np.column_stack([gap[:-1], tie]).ravel(), gap[-1:]])
        weights = (self.before(ends) - self.before(starts)) * np.exp(-rate * away)
        self.starts, self.ends, self.share = starts, ends, np.cumsum(weights) / weights.sum()

    def before(self, x):
        """The weight of the points below x."""
        last = np.maximum(np.asarray(x, dtype=float) - 1, 1)
        octave = np.floor(np.log2(last)) + 1
        whole = octave + (last + 1 - 2 ** (octave - 1)) * 2.0 ** (1 - octave)
        by_octaves = np.where(np.asarray(x) <= 1, np.minimum(x, 1), whole) / (self.digits + 1)
        return 0.5 * np.asarray(x) / (self.bound + 1) + 0.5 * by_octaves

    def draw(self, random):
        cell = np.searchsorted(self.share, random.random())
        low, high = int(self.starts[cell]), int(self.ends[cell]) - 1
        rest = self.before(low) + random.random() * (self.before(high + 1) - self.before(low))
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.before(middle + 1) > rest else (middle + 1, high)
        return low


def candidates(bound):
    powers = [2**k for k in range(bound.bit_length())]
    below = {x for power in powers for x in (power, power + power // 2) if x < bound}
    return np.array([0, *sorted(below), bound])


def reach(values, point, rate, bound, random):
    distances = candidates(bound)
    weights = distances + 1.0
    before = np.cumsum(weights) - weights
    aim = max(0, np.log((before / weights).max() * LEVEL / (1 - LEVEL))) / rate
    low, high = np.maximum(point - distances, 0), np.minimum(point + distances, bound)
    target = len(values) / 2
    below = np.where(low <= 0, np.inf, target - np.searchsorted(values, low, "left"))
    above = np.where(high >= bound, np.inf, np.searchsorted(values, high, "right") - target)
    margin = np.minimum(below, above)
    last = np.concatenate([[-np.inf], margin[:-1]])
    off = np.maximum(0, np.maximum(last - aim, aim - margin))
    weights = weights * np.exp(-rate * off)
    drawn = np.searchsorted(np.cumsum(weights) / weights.sum(), random.random())
    return low[drawn], high[drawn]


def spread(points):
    return np.quantile(points, 0.975) - np.quantile(points, 0.025)


def main(file, group, value, bound):
    bound, random = int(bound), np.random.default_rng(1)
    groups = values_of(file, group, value, bound)
    for low, high in zip(SIZES, SIZES[1:]):
        of_size = [values for values in groups if low <= len(values) < high]
        random.shuffle(of_size)
        for epsilon in (0.5, 1.0, 2.0):
            held, times, beside = [], [], []
            for values in of_size[:MOST_GROUPS]:
                # A value more changes a rank distance by a half.
                shared, alone = Median(values, epsilon / 2, bound), Median(values, epsilon, bound)
                points = np.array([shared.draw(random) for _ in range(DRAWS)])
                ends = np.array([reach(values, p, epsilon / 2, bound, random) for p in points])
                n = len(values)
                held.append(np.mean((ends[:, 0] <= values[(n - 1) // 2]) & (ends[:, 1] >= values[n // 2])))
                if spread(points) > 0:
                    times.append(np.mean(ends[:, 1] - ends[:, 0]) / spread(points))
                    single = spread([alone.draw(random) for _ in range(DRAWS)])
                    beside.append(spread(points) / max(1, single))
            if times:
                print(
                    f"| {low:,} to {high - 1:,} | {epsilon} | {len(held)} | {np.mean(held):.4f} | {np.median(times):.2f} "
                    f"| {np.quantile(times, 0.9):.2f} | {np.median(beside):.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
