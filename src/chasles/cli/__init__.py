"""The command `chasles`."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib.util import find_spec

from chasles.base.errors import how_to_install

#: Errors of writing to a stream, which names no file.
_FAILED_WRITES = (errno.EPIPE, errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF)


def main() -> None:
    """Run the command line; without its packages, say in one line how to get them."""
    missing = [package for package in ("typer", "rich") if find_spec(package) is None]
    if missing:
        needed = " and ".join(f"'{package}'" for package in missing)
        print(f"Error: the command line needs {needed}; {how_to_install('cli')}", file=sys.stderr)
        raise SystemExit(2)
    _prepare_streams()
    try:
        try:
            from chasles.cli.application import application

            application()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:  # while a command imports what it needs
        raise SystemExit(130) from None
    except OSError as error:
        if error.filename is not None or error.errno not in _FAILED_WRITES:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left when it exits
        if error.errno != errno.EPIPE:
            print(f"Error: the standard output cannot be written: {error.strerror}", file=sys.stderr)
        raise SystemExit(1) from None


def _prepare_streams() -> None:
    """Give streams that the caller has closed a place to write to, and streams in ASCII a way to write ° and ²."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
