"""Where the commands write: results to the standard output, everything else to the standard error stream."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from chasles.errors import ArgumentError

_UNBOUNDED_WIDTH = 10_000  # wider than any table
_PIPED_WIDTH = 160  # columns where there is no terminal to measure: wide enough to cut nothing

errors = Console(stderr=True)


def results() -> Console:
    """Console for results; made anew, because the standard output may have been redirected since."""
    return Console() if sys.stdout.isatty() else Console(width=_PIPED_WIDTH)


def say(text: str) -> None:
    """Print plain text as it is, long lines too."""
    results().print(text, markup=False, highlight=False, soft_wrap=True)


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as one plain line."""
    errors.print(f"Warning: {message}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def require_writable(path: Path | None) -> None:
    """Raise `ArgumentError` for a file that cannot be written, before long work whose result it is to hold."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        reason = "it is a folder" if path.is_dir() else "its folder does not exist"
        raise ArgumentError(f"{path} cannot be written: {reason}")


def show_json(data: Any) -> None:
    """Print data as JSON, with null for what is not finite."""
    print(json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False))


class StackingTable(Table):
    """A table that lists its rows one below the other where the console is too narrow for its columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the columns if they fit, or the rows as lists."""
        wanted = Measurement.get(console, options.update_width(_UNBOUNDED_WIDTH), self).maximum
        if wanted <= options.max_width or not self.row_count:
            yield from super().__rich_console__(console, options)
            return
        if self.title:
            yield self.title
        for names, *others in zip(*(column.cells for column in self.columns), strict=True):
            yield Text.assemble((str(names), "bold"))
            for column, cell in zip(self.columns[1:], others, strict=True):
                yield Text.assemble("  ", (f"{column.header}: ", "dim"), str(cell))


def table(title: str, *columns: str) -> Table:
    """Return an empty table; columns whose name starts with ">" hold numbers."""
    made = StackingTable(
        title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 3, 0, 0)
    )
    for column in columns:
        numeric = column.startswith(">")
        header = Text(column.removeprefix(">"))
        made.add_column(header, justify="right" if numeric else "left", header_style="dim", no_wrap=numeric)
    return made


def add_row(to: Table, *cells: str) -> None:
    """Add a row of plain text: names from files may look like markup."""
    to.add_row(*(Text(cell) for cell in cells))


def number(value: float, digits: int = 4) -> str:
    """Return a number for a table; a dash where there is none."""
    return f"{value:.{digits}g}" if np.isfinite(value) else "–"


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, np.ndarray):
        return _plain(data.tolist())
    if isinstance(data, (float, np.floating)):
        return float(data) if np.isfinite(data) else None
    return data
