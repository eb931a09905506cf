"""Tables of plain text or Markdown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Table:
    """A titled table with notes; cells are text."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """Append a row."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{self.title}: a row of {len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(cells)

    def text(self) -> str:
        """For a terminal."""
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        lines = [self.title, ""]
        for row in (self.columns, tuple("-" * width for width in widths), *self.rows):
            cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
            lines.append("  " + "  ".join(cells).rstrip())
        return "\n".join([*lines, "", *(f"  {note}" for note in self.notes)]) + "\n"

    def markdown(self) -> str:
        """For the README."""
        rule = ("---", *("---:" for _ in self.columns[1:]))
        lines = [f"| {' | '.join(row)} |" for row in (self.columns, rule, *self.rows)]
        return "\n".join([f"**{self.title}**", "", *lines, "", *(f"- {note}" for note in self.notes)]) + "\n"


def seconds(value: float) -> str:
    """A time with a readable unit and three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def ratio(value: float) -> str:
    """A ratio with three digits, or whole."""
    return f"{value:,.0f}x" if value >= 100 else f"{value:.3g}x"


def rate(value: float) -> str:
    """How many in a second, with three digits."""
    return f"{float(f'{value:.3g}'):,.0f}/s"


def percent(share: float) -> str:
    """A share of 10,000 to the last of them."""
    return f"{100.0 * share:.2f} %"


def at_least(required: float, measured: float, show: Callable[[float], str] = ratio) -> str:
    """Whether a ratio, or whatever is shown so, is reached."""
    verdict = "met" if measured >= required else "NOT MET"
    return f"{show(required)} required, {show(measured)} measured: {verdict}"


def at_most(allowed: float, measured: float, show: Callable[[float], str] = seconds) -> str:
    """Whether a time, or whatever is shown so, is kept."""
    verdict = "met" if measured <= allowed else "NOT MET"
    return f"{show(allowed)} allowed, {show(measured)} measured: {verdict}"
