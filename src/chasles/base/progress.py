"""One progress bar for long work, on the standard error stream."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Moves a progress bar on."""

    def __call__(self, parts: int, title: str | None = None) -> None:
        """Count parts of the work as finished; a title says what is being done from now on."""
        ...


def is_watched() -> bool:
    """Return whether the standard error stream is a terminal."""
    return sys.stderr.isatty()


@contextmanager
def progress_bar(title: str, total: int, *, done: int = 0, unit: str = "", show: bool = True) -> Iterator[Advance]:
    """Show a progress bar while a block runs; without the package rich nothing is shown.

    Parameters
    ----------
    title
        Text before the bar.
    total, done
        Number of parts of the work, and of those finished before.
    unit
        Noun for the parts; by default they are not counted aloud.
    show
        Whether to show it.

    Yields
    ------
    Advance
        Call it with the number of parts that have been finished, and with another title where the work changes.
    """
    if not show:
        yield _ignore
        return
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        yield _ignore
        return
    counted: list[ProgressColumn] = [MofNCompleteColumn(), TextColumn(unit)] if unit else []
    columns = TextColumn("{task.description}", markup=False), BarColumn(), *counted
    console = Console(stderr=True)  # a log gets the finished bar as one line, a terminal is left clean
    times = TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, *times, console=console, transient=console.is_terminal) as shown:
        task = shown.add_task(title, total=total, completed=done)

        def advance(parts: int, title: str | None = None) -> None:
            shown.update(task, advance=parts, description=title)

        yield advance


def with_progress(items: range, title: str, *, show: bool = True) -> Iterable[int]:
    """Pass a range through while a progress bar follows it."""
    with progress_bar(title, len(items), show=show) as advance:
        for item in items:
            yield item
            advance(1)


def _ignore(parts: int, title: str | None = None) -> None:
    """Show no progress."""
