"""The best known mechanisms on paper for the workloads of accuracy.py: rows for its table.

Noise is in floating point, for figures only. Groups and errors of W1 and W2 are means of draws on the same bounded data;
those of W3 and W4 are computed.

- W1: noisy counts that also choose the groups. Laplace noise of scale k/epsilon with the threshold 1 + k/epsilon ln(k/2
  delta), or Gaussian noise at delta/2 by the analytic Gaussian mechanism (Balle & Wang 2018) with a threshold for the other
  half; whichever has the smaller error.
- W2: the sums of x and of 100 - x under Laplace noise, which is the K-norm mechanism (Hardt & Talwar 2010) of a count and a
  sum. Their total chooses the groups: nothing is spent on that.
- W3: Gaussian noise on counts and on sums of what a row has above half of its bound, with the shares of rho that make the sum
  of the relative variances the least.
- W4: as W2, with two thirds of epsilon; a third is left for the median, where there is one.
"""

import math

import duckdb
import numpy as np

EPSILON, DELTA, RHO = 1.0, 1e-8, 1.0
DRAWS = 40


def tail(x):
    return 0.5 * math.erfc(x / math.sqrt(2))


def where(rises, low, high):
    """Where a function that rises crosses zero."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    return high


def gaussian(epsilon, delta):
    """The least standard deviation for a distance of one."""
    exact = lambda s: tail(epsilon * s - 0.5 / s) - math.exp(epsilon) * tail(epsilon * s + 0.5 / s)
    return where(lambda s: delta - exact(s), 1e-3, 1e3)


def rmse(x):
    return float(np.sqrt(np.mean(np.square(x))))


def means(draw):
    return np.mean([draw() for _ in range(DRAWS)], axis=0)


def of_counts(folder, most, random):
    """W1: groups shown, and the error of their counts."""
    count = duckdb.sql(f"SELECT COUNT(*) AS n FROM '{folder}/w1_{most}.parquet' GROUP BY item").fetchnumpy()["n"]
    laplace, sigma = most / EPSILON, gaussian(EPSILON, DELTA / 2) * math.sqrt(most)
    if math.sqrt(2) * laplace < sigma:
        name, noise = "Laplace threshold", lambda: random.laplace(0, laplace, len(count))
        threshold = 1 + laplace * math.log(most / (2 * DELTA))
    else:
        name, noise = "Gaussian threshold", lambda: random.normal(0, sigma, len(count))
        threshold = 1 + sigma * where(lambda x: DELTA / 2 / most - tail(x), 0, 40)

    def draw():
        error = noise()
        kept = count + error >= threshold
        return kept.sum(), rmse(error[kept])

    groups, error = means(draw)
    return {"workload": f"W1, {most} items", "tool": f"on paper: {name}", "groups": groups, "n": error}


def of_ends(folder, largest, random):
    """W2: groups shown, and the errors of the largest items."""
    exact = duckdb.sql(
        f"SELECT COUNT(*) AS n, SUM(value) AS s FROM '{folder}/w2.parquet' GROUP BY item ORDER BY n DESC"
    ).fetchnumpy()
    groups, rows, bound = 4, 2, 100
    count, total, scale = exact["n"], exact["s"], groups * rows / EPSILON
    # P[the sum of both noises > x] is (1/2 + x/4b) exp(-x/b).
    one = lambda x: (0.5 + x / (4 * scale)) * math.exp(-x / scale)
    threshold = rows + where(lambda x: DELTA / groups - one(x), 0, 1e4)

    def draw():
        above = total / bound + random.laplace(0, scale, len(count))
        below = count - total / bound + random.laplace(0, scale, len(count))
        n, s = above + below, bound * above
        mean = np.clip(s / np.maximum(n, 1), 0, bound)
        errors = [n - count, s - total, mean - total / count]
        return [(n >= threshold).sum()] + [rmse(error[:largest]) for error in errors]

    shown, n, s, mean = means(draw)
    tool = "on paper: K-norm, whose total chooses"
    return {"workload": "W2", "tool": tool, "groups": shown, "n": n, "s": s, "mean": mean}


def of_halves():
    """W3: standard deviations."""
    # Variances are 1/(2 rho) of the share for the count, and a quarter of that and of the count's for each sum.
    count, sums = math.sqrt(1 + 2 / 4), 1 / 2
    whole = count + 2 * sums
    variance = lambda share: 1 / (2 * RHO * share)
    n = variance(count / whole)
    relative = math.sqrt(n / 4 + variance(sums / whole) / 4)
    row = {"workload": "W3", "tool": "on paper: Gaussian, centred", "groups": 1000}
    return row | {"n": math.sqrt(n), "s": 1000 * relative, "pay": 1e7 * relative}


def of_total(name, share):
    """W4: standard deviations."""
    a = math.exp(-EPSILON * share)
    one = math.sqrt(2 * a) / (1 - a)
    row = {"workload": name, "tool": "on paper: K-norm", "groups": 1}
    return row | {"n": math.sqrt(2) * one, "s": 1000 * math.sqrt(2) / (EPSILON * share)}


def rows(folder, groups, largest):
    random = np.random.default_rng(14)
    single = [of_halves(), of_total("W4", 2 / 3), of_total("W4 without a median", 1)]
    return [of_counts(folder, most, random) for most in groups] + [of_ends(folder, largest, random)] + single
