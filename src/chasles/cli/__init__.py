"""The command `chasles`."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line; without its packages, say in one line how to get them."""
    missing = [package for package in ("typer", "rich") if find_spec(package) is None]
    if missing:
        needed = " and ".join(f"'{package}'" for package in missing)
        print(f"Error: the command line needs {needed}: pip install 'chasles[cli]'", file=sys.stderr)
        raise SystemExit(2)
    from chasles.cli.application import application

    application()
