"""Runs the programs of a file: all of them, or those named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable


def run(programs: dict[str, Callable[[], None]]) -> None:
    """Run programs, each after the first line of its docstring."""
    for name in sys.argv[1:] or programs:
        program = programs.get(name.upper())
        if program is None:
            raise SystemExit(f"there is no program {name} here; choose from {', '.join(programs)}")
        print(f"\n=== {(program.__doc__ or name).splitlines()[0]}")
        program()
