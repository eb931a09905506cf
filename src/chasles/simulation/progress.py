"""A progress bar for long work, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec


def progress_bar(title: str, total: int, show: bool) -> Callable[[Iterable[int]], Iterable[int]]:
    """Return a function that passes an iterable through while a bar on the standard error stream follows it."""
    if not show or find_spec("rich") is None:
        return lambda items: items

    def follow(items: Iterable[int]) -> Iterator[int]:
        from rich.console import Console
        from rich.progress import track

        console = Console(stderr=True)  # a log gets the finished bar as one line, a terminal is left clean
        yield from track(items, description=title, total=total, console=console, transient=console.is_terminal)

    return follow


def somebody_looks() -> bool:
    """Whether the standard error stream is a terminal."""
    return sys.stderr.isatty()
