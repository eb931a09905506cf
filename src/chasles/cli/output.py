"""Output of the commands, with tables of tracking errors: results to standard output, all else to standard error."""

from __future__ import annotations

import json
import math
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from chasles.base.errors import ArgumentError
from chasles.base.writing import path_to_write
from chasles.visual.encoding import shown_unit
from chasles.visual.summary import position_name, tracking_summary

if TYPE_CHECKING:
    import xarray

_UNBOUNDED_WIDTH = 10_000  # columns; wider than any table
_PIPED_WIDTH = 160  # columns of tables without a terminal; wide enough to cut nothing
_PROSE_WIDTH = 80  # columns of sentences without a terminal
_LARGE = 1e8  # numbers from here on have exponents
_NEGLIGIBLE = 1e-3  # errors in mrad and mm, and angles in degrees, that are not worth their digits

errors = Console(stderr=True)


def results() -> Console:
    """Return a console for results; a new one each time, because standard output may have been redirected."""
    return Console() if sys.stdout.isatty() else Console(width=_PIPED_WIDTH)


def say(text: str) -> None:
    """Print plain text without wrapping or markup."""
    results().print(text, markup=False, highlight=False, soft_wrap=True)


def say_wrapped(text: str) -> None:
    """Print a sentence or a list in lines that fit; names and paths are not broken."""
    console = results()
    say(_wrapped(text, console.width if console.is_terminal else _PROSE_WIDTH))


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as a plain paragraph."""
    text = _wrapped(f"Warning: {with_options(message)}", errors.width if errors.is_terminal else _PROSE_WIDTH)
    errors.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)


#: What messages advise to write in Python, and the options that say it to a command.
_OPTIONS = {
    "pass tool=…": "pass --tool FRAME",
    "check=False skips": "--no-check skips",
    "robot.with_motor_inertia": "--set motor_inertia=VALUE",
}


def with_options(message: object) -> str:
    """Return a message with the options of commands in place of the arguments of Python's functions.

    >>> with_options("its mass is negative (check=False skips this check)")
    'its mass is negative (--no-check skips this check)'
    """
    text = str(message)
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text


def require_writable(path: Path | None, endings: tuple[str, ...]) -> None:
    """Raise `ArgumentError` for a path that ends otherwise or cannot be written; call it before long work."""
    if path is not None and ((path_to_write(path, endings) and path.is_dir()) or not path.parent.is_dir()):
        reason = "it is a folder" if path.is_dir() else f"its folder does not exist; create '{path.parent}' first"
        raise ArgumentError(f"{path} cannot be written: {reason}")


def show_json(data: object) -> None:
    """Print data as JSON; values that are not finite become null."""
    print(json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False))


class StackingTable(Table):
    """Table that lists its rows as blocks where the console is too narrow for its columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render columns if they fit, otherwise one block per row."""
        width_on_one_line = Measurement.get(console, options.update_width(_UNBOUNDED_WIDTH), self).maximum
        if width_on_one_line <= options.max_width or not self.row_count:
            yield from super().__rich_console__(console, options)
            return
        if self.title:
            yield self.title
        width = options.max_width if console.is_terminal else min(options.max_width, _PROSE_WIDTH)
        for names, *values in zip(*(column.cells for column in self.columns), strict=True):
            yield Text.assemble((str(names), "bold"))
            for column, cell in zip(self.columns[1:], values, strict=True):
                head = f"  {column.header}: "
                yield Text.assemble((head, "dim"), _wrapped(head + str(cell), width).removeprefix(head))


def table(title: str, *columns: str) -> Table:
    """Return an empty table; a leading ">" marks a column of numbers, aligned to the right."""
    stacking = StackingTable(
        title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for column in columns:
        numeric = column.startswith(">")
        header = Text(column.removeprefix(">"))
        stacking.add_column(header, justify="right" if numeric else "left", header_style="dim", no_wrap=numeric)
    return stacking


def add_row(to: Table, *cells: str) -> None:
    """Add a row of plain text, because names from files may look like markup."""
    to.add_row(*(Text(cell) for cell in cells))


def number(value: float, digits: int = 4) -> str:
    """Return a number as text for a table; a dash if it is not finite.

    >>> number(11459.2), number(2.5e-5), number(float("inf"))
    ('11,459', '2.5e-05', '–')
    """
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if 10.0**digits <= abs(value) < _LARGE else f"{value:.{digits}g}"


def _plain(data: object) -> Any:
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, np.ndarray):
        return _plain(data.tolist())
    if isinstance(data, (float, np.floating)):
        return float(data) if np.isfinite(data) else None
    return data


def joint_table(run: xarray.Dataset, title: str = "Tracking") -> Table:
    """Return a table of errors and efforts with one row per joint."""
    joint_rows = table(title, "joint", ">RMS error", ">peak error", ">peak effort")
    for row in tracking_summary(run):
        add_row(
            joint_rows,
            position_name(row.joint),
            error_text(row.rms_error, row.unit),
            error_text(row.peak_error, row.unit),
            f"{number(row.peak_effort)} {shown_unit(row.effort_unit)}",
        )
    return joint_rows


def error_text(value: float, unit: str) -> str:
    """Return an error as text, without exponents: in mrad with degrees, or in mm.

    >>> error_text(2.59, "rad"), error_text(0.00159, "rad"), error_text(1e-9, "m")
    ('2,590 mrad (148°)', '1.59 mrad (0.091°)', '< 0.001 mm')
    """
    if not math.isfinite(value):
        return "–"
    size = _significant(1e3 * value, 3)
    if unit == "m":
        return f"{size} mm"
    return f"{size} mrad" if size.startswith("<") else f"{size} mrad ({angle_text(value)})"


def angle_text(value: float) -> str:
    """Return an angle, rad, in degrees, without exponents."""
    degrees = math.degrees(value)
    return f"{_significant(degrees, 3 if degrees >= 10.0 else 2)}°"


def _significant(value: float, digits: int) -> str:
    """Format a positive number with a number of digits and separated thousands, or as the bound that it is below."""
    if value < _NEGLIGIBLE:
        return "0" if value == 0.0 else f"< {_NEGLIGIBLE:g}"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10.0**digits else f"{rounded:g}"
