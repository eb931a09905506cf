"""The command `chasles`."""

from __future__ import annotations

import io
import sys
from importlib.util import find_spec

from chasles.errors import how_to_install


def main() -> None:
    """Run the command line; without its packages, say in one line how to get them."""
    missing = [package for package in ("typer", "rich") if find_spec(package) is None]
    if missing:
        needed = " and ".join(f"'{package}'" for package in missing)
        print(f"Error: the command line needs {needed}; {how_to_install('cli')}", file=sys.stderr)
        raise SystemExit(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # ° and ² of a table must not end a command on an ASCII terminal
            stream.reconfigure(errors="replace")
    try:
        from chasles.cli.application import application

        application()
    except KeyboardInterrupt:  # while a command imports what it needs
        raise SystemExit(130) from None
