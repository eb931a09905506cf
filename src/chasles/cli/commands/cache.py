"""`chasles cache`: the compiled kernels on disk."""

from __future__ import annotations

from typing import Annotated

import typer

from chasles.cli.output import say, show_json
from chasles.engine import cache as kernels

cache = typer.Typer(no_args_is_help=True, help="Show or empty the cache of compiled kernels.")


@cache.command()
def info(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show where the cache is and what it holds.

    The place can be chosen with the environment variable CHASLES_CACHE_DIR; CHASLES_CACHE=0 switches the cache off.
    """
    held = kernels.info()
    if as_json:
        show_json({"path": str(held.path), "entries": held.entries, "bytes": held.size, "usable": held.usable})
        return
    state = "" if held.usable else "\nIt is not used: it is switched off, or others than you can write to it."
    say(f"{held.path}\n{held.entries} kernels, {held.size / 2**20:.1f} MiB{state}")


@cache.command()
def clear() -> None:
    """Remove all compiled kernels; they are compiled again when they are needed."""
    count = kernels.clear()
    say(f"{count} kernels removed from {kernels.directory()}")
