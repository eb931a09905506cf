"""The command `chasles`."""

from __future__ import annotations

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
    from chasles.cli.application import application

    application()
