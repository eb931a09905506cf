"""`chasles cache`: the disk cache of compiled kernels."""

from __future__ import annotations

import os

import typer

from chasles.cli.options import JsonOption
from chasles.cli.output import say, show_json
from chasles.cli.usage import PlainCommand, PlainGroup

cache = typer.Typer(cls=PlainGroup, no_args_is_help=True, help="Show or clear the disk cache of compiled kernels.")


@cache.command(cls=PlainCommand)
def info(as_json: JsonOption = False) -> None:
    """Show the folder and the size of the cache.

    The environment variable CHASLES_CACHE_DIR sets the folder; with CHASLES_CACHE_DIR=none there is no cache.
    """
    from chasles.engine.kernels import cache as kernels

    held = kernels.info()
    if as_json:
        show_json(
            {"path": held.path and str(held.path), "entries": held.entries, "bytes": held.size, "usable": held.usable}
        )
        return
    if held.path is None:
        cache_is_on = os.environ.get("CHASLES_CACHE_DIR") != "none"
        reason = "This user has no home folder, so there is" if cache_is_on else "CHASLES_CACHE_DIR=none: there is"
        say(f"{reason} no cache. CHASLES_CACHE_DIR sets its folder.")
        return
    state = "" if held.usable else "\nNot in use: other users can write to its folder."
    say(f"{held.path}\n{held.entries} kernels, {held.size / 2**20:.1f} MiB{state}")


@cache.command(cls=PlainCommand)
def clear() -> None:
    """Remove all compiled kernels; each is compiled again on next use."""
    from chasles.engine.kernels import cache as kernels

    count, folder = kernels.clear(), kernels.directory()
    say(f"{count} kernels removed" + ("" if folder is None else f" from {folder}"))
