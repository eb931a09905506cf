"""Logs of real robots that Chasles brings, for trials and documentation."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from chasles.engine.validators import choice

SHIPPED = ("ur10",)
"""Names of the logs; sources and licences are in the folder ``logs`` beside this file."""


def shipped_log(name: str) -> Path:
    """Return the file of a log that Chasles brings.

    Parameters
    ----------
    name
        ``"ur10"``: 27 s of an exciting motion of a UR10 at 31 Hz (Automatic Control Group, UNISA; BSD-3-Clause), which
        goes with ``chasles.load("ur10")``.

    Examples
    --------
    >>> import chasles as ch
    >>> ch.Log(ch.load("ur10"), shipped_log("ur10"))
    <Log of 'ur10': 861 samples, 27.52 s, 6 joints>
    """
    return Path(str(files("chasles.identification.logs") / f"{choice(name, 'log', SHIPPED)}.csv"))
