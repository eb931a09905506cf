"""Printing of matrices and vectors of any size in the layout of SpaceLib's MATLAB version."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from chasles.base.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.printing import element_text
from chasles.interop.spacelib.sizes import matrix, real_array


def fprintm(out: TextIO, string: str, M: Array) -> None:
    r"""Print a comment and a matrix, or a vector as one row, to a file; each element as ``%7.4f``, with a tab.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> fprintm(file, "W", [[0.0, -1.0]])
    >>> file.getvalue()
    '\n W \n\n  0.0000\t -1.0000\t\n'
    """
    out.write(_commented(string, _rows(M, "fprintm")))


def printm(string: str, M: Array) -> None:
    r"""Print a comment and a matrix or vector to standard output: `fprintm`.

    Examples
    --------
    >>> printm("q", [0.5, 1.0])
    <BLANKLINE>
     q
    <BLANKLINE>
      0.5000   1.0000
    """
    sys.stdout.write(_commented(string, _rows(M, "printm")))


def prmat(grpout: TextIO, string: str, M: Array) -> None:
    """Print a position matrix to a file for the graphics post-processor GRP_MAN: its X and Y axes and its origin.

    Examples
    --------
    >>> import io
    >>> from chasles.interop.spacelib import UNIT4
    >>> file = io.StringIO()
    >>> prmat(file, "Link 1", UNIT4)
    >>> len(file.getvalue().splitlines())
    6
    """
    m = matrix(M, 4, 4, "prmat", "M")
    if m.ndim != 2:
        raise ArgumentError(f"prmat: it prints one matrix, not a batch of shape {m.shape}")
    grpout.write(_commented(string, m[:3, [0, 1, 3]].T))


def _rows(M: Array, routine: str) -> Array:
    array = real_array(M)
    if array.ndim not in (1, 2):
        raise ArgumentError(f"{routine}: it prints one matrix or vector, not an array of shape {array.shape}")
    return array.reshape(-1, array.shape[-1])


def _commented(comment: str, rows: Array) -> str:
    return f"\n {comment} \n\n" + "".join(_line(row) for row in rows)


def _line(row: Iterable[Any]) -> str:
    return "".join(f" {element_text(x, 7, 4)}\t" for x in row) + "\n"
