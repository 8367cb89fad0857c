"""A line chart as SVG text: points and lines of several series over two linear axes from 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 50, 60  # margins
TICKS = 6  # about as many on an axis
POINT_RADIUS = 4
LEGEND_STEP = 18
COLORS = ("#1f6fb4", "#d1602b", "#3a8f3a", "#8a4fb0")  # apart in lightness too
FONT = "font-family='sans-serif' font-size='13'"


@dataclass(frozen=True)
class Series:
    """Points in any order are joined from left to right."""

    name: str
    points: list[tuple[float, float]]
    has_points: bool = True  # False: a line only, such as a fit


def nice_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that `span` has about TICKS steps."""
    raw = span / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)


def ticks(largest: float) -> list[float]:
    """From 0 to the first that isn't below `largest`."""
    largest = largest if largest > 0 else 1.0
    step = nice_step(largest)
    return [i * step for i in range(math.ceil(largest / step - 1e-9) + 1)]


@dataclass(frozen=True)
class _Axes:
    """Maps values to places in the picture."""

    x_ticks: list[float]
    y_ticks: list[float]

    def x(self, value: float) -> float:
        return LEFT + value / self.x_ticks[-1] * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - value / self.y_ticks[-1] * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'"
    return f"<text {place} {FONT} fill='#222'{more}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    place = f"x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'"
    return f"<line {place} stroke='{color}'/>"


def _grid(axes: _Axes, x_label: str, y_label: str) -> list[str]:
    parts = []
    for value in axes.x_ticks:
        x = axes.x(value)
        parts.append(_line(x, axes.y(0), x, axes.y(0) + 5, "#222"))
        parts.append(_text(x, axes.y(0) + 20, f"{value:g}", "middle"))
    for value in axes.y_ticks:
        y = axes.y(value)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, "#ddd"))
        parts.append(_text(LEFT - 8, y + 4, f"{value:g}", "end"))
    parts.append(_line(LEFT, axes.y(0), WIDTH - RIGHT, axes.y(0), "#222"))
    parts.append(_line(LEFT, axes.y(0), LEFT, TOP, "#222"))
    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text(middle_x, HEIGHT - 15, x_label, "middle"))
    turn = f" transform='rotate(-90 20 {middle_y:.1f})'"
    return [*parts, _text(20, middle_y, y_label, "middle", turn)]


def _drawn(axes: _Axes, series: Series, index: int) -> list[str]:
    color = COLORS[index % len(COLORS)]
    places = [(axes.x(x), axes.y(y)) for x, y in sorted(series.points)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dash = "" if series.has_points else " stroke-dasharray='6 4'"
    parts = [f"<polyline points='{path}' fill='none' stroke='{color}' stroke-width='2'{dash}/>"]
    if series.has_points:
        circle = f"r='{POINT_RADIUS}' fill='{color}'"
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' {circle}/>" for x, y in places]
    y = HEIGHT - BOTTOM - 14 - index * LEGEND_STEP  # lower right: curves that rise leave it free
    place = f"x='{WIDTH - RIGHT - 12}' y='{y - 9}'"
    parts.append(f"<rect {place} width='10' height='10' fill='{color}'/>")
    return [*parts, _text(WIDTH - RIGHT - 18, y, series.name, "end")]


def line_chart(title: str, x_label: str, y_label: str, series: list[Series]) -> str:
    """The picture; values must be finite and not negative."""
    points = [point for one in series for point in one.points]
    if not points or not all(math.isfinite(v) and v >= 0 for point in points for v in point):
        raise ValueError("a chart needs points, all finite and not negative")
    axes = _Axes(ticks(max(x for x, _ in points)), ticks(max(y for _, y in points)))
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' "
        f"aria-label={quoteattr(title)}>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
        _text(WIDTH / 2, 28, title, "middle", " font-weight='bold'"),
        *_grid(axes, x_label, y_label),
    ]
    for i, one in enumerate(series):
        parts += _drawn(axes, one, i)
    return "\n".join([*parts, "</svg>"]) + "\n"
