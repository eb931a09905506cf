"""One progress bar for long work, on the standard error stream."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


def is_watched() -> bool:
    """Return whether the standard error stream is a terminal."""
    return sys.stderr.isatty()


@contextmanager
def progress_bar(
    title: str, total: int, *, done: int = 0, unit: str = "", show: bool = True
) -> Iterator[Callable[[int], None]]:
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
    Callable[[int], None]
        Call it with the number of parts that have been finished.
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
        yield lambda parts: shown.update(task, advance=parts)


def with_progress(items: range, title: str, *, show: bool = True) -> Iterable[int]:
    """Pass a range through while a progress bar follows it."""
    with progress_bar(title, len(items), show=show) as advance:
        for item in items:
            yield item
            advance(1)


def _ignore(parts: int) -> None:
    """Show no progress."""
