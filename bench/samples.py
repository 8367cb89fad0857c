"""What is said about samples."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """The samples, their median and range."""

    median: float
    low: float
    high: float
    samples: list[float]


def summarize(samples: Sequence[float]) -> Summary:
    return Summary(statistics.median(samples), min(samples), max(samples), list(samples))


@dataclass(frozen=True)
class Line:
    """y = intercept + slope * x, and how far the points are from it."""

    intercept: float
    slope: float
    largest_deviation: float  # of any point, as a share of the line's value there

    def at(self, x: float) -> float:
        return self.intercept + self.slope * x


def fit_line(xs: Sequence[float], ys: Sequence[float]) -> Line:
    """The line of least squares through at least two points."""
    slope, intercept = statistics.linear_regression(xs, ys)
    deviations = (abs(y / (intercept + slope * x) - 1) for x, y in zip(xs, ys))
    return Line(intercept, slope, max(deviations))
