"""Section 3.10: printing of matrices and vectors, in the layouts of the original program.

One matrix at a time. A matrix of symbols is printed too; its elements stand in the same columns where they fit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat, TextIO

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.sizes import matrix, real_array


def fprintm3(out: TextIO, s: str, A: Array) -> None:
    """Print a comment and a 3×3 matrix to a file, each element as ``%8.3f``.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> fprintm3(file, "Identity", np.eye(3))
    >>> file.getvalue().splitlines()[2:4]
    [' Identity ', '                1.000     0.000     0.000']
    """
    out.write(_commented_matrix(s, A, 3, "fprintm3"))


def fprintm4(out: TextIO, s: str, A: Array) -> None:
    """Print a comment and a 4×4 matrix to a file, each element as ``%8.3f``.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> fprintm4(file, "Identity", np.eye(4))
    >>> file.getvalue().splitlines()[3]
    '               1.000     0.000     0.000     0.000'
    """
    out.write(_commented_matrix(s, A, 4, "fprintm4"))


def fprintv(out: TextIO, s: str, v: Array, n: int | None = None) -> None:
    r"""Print a comment and the first n elements of a vector to a file; all of them where n is not given.

    The original sets its columns of eight characters side by side, so that numbers from 1000 up and from -100 down
    touch the one before. Here a number that fills its column has a space in front of it.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> fprintv(file, "Angles", [0.5, -1.0, 2.0], 2)
    >>> file.getvalue()
    '\n Angles \n      0.500  -1.000\n'
    """
    out.write(_commented_vector(s, v, "n", n, "fprintv"))


def prmat(grpout: TextIO, str: str, m: Array) -> None:
    """Print a position matrix to a file for the graphics post-processor GRP_MAN.

    After the comment come the X axis, the Y axis, an empty line in the place of the Z axis, and the origin.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> prmat(file, "Link 1", np.eye(4))
    >>> file.getvalue().splitlines()[1:4]
    ['Link 1', '   1.000    0.000    0.000 ', '   0.000    1.000    0.000 ']
    """
    x, y, _, origin = (_spaced(map(_text, column)) for column in _single(m, 4, "prmat")[:3].T)
    grpout.write(f"\n{str}\n{x}\n{y}\n\n{origin}\n\n\n")


def printm3(str: str, A: Array) -> None:
    """Print a comment and a 3×3 matrix to standard output: `fprintm3`.

    Examples
    --------
    >>> printm3("Identity", np.eye(3))
    <BLANKLINE>
    <BLANKLINE>
     Identity
                    1.000     0.000     0.000
                    0.000     1.000     0.000
                    0.000     0.000     1.000
    """
    sys.stdout.write(_commented_matrix(str, A, 3, "printm3"))


printm = printm3
"""Obsolete name of `printm3`."""


def printm4(str: str, A: Array) -> None:
    """Print a comment and a 4×4 matrix to standard output: `fprintm4`.

    Examples
    --------
    >>> printm4("Null", np.zeros((4, 4)))
    <BLANKLINE>
    <BLANKLINE>
     Null
                    0.000     0.000     0.000     0.000
                    0.000     0.000     0.000     0.000
                    0.000     0.000     0.000     0.000
                    0.000     0.000     0.000     0.000
    """
    sys.stdout.write(_commented_matrix(str, A, 4, "printm4"))


def printv(str: str, v: Array, dim: int | None = None) -> None:
    """Print a comment and the first `dim` elements of a vector to standard output: `fprintv`.

    Examples
    --------
    >>> printv("Angles", [0.5, -1.0])
    <BLANKLINE>
     Angles
          0.500  -1.000
    """
    sys.stdout.write(_commented_vector(str, v, "dim", dim, "printv"))


def printmat(
    s: str, A: Array, idim: int | None = None, jdim: int | None = None, imax: int | None = None, jmax: int | None = None
) -> None:
    """Print a comment and the upper-left imax×jmax part of an idim×jdim matrix to standard output.

    The manual's text has the two sizes the other way round, as a part of idim×jdim of a matrix of imax×jmax; the
    original program takes them as here, and as `linear` does. Where they are not given, all of A is printed.

    Examples
    --------
    >>> printmat("A", [[1, 2, 3], [4, 5, 6]], 2, 3, 2, 2)
    A
       1.000    2.000
       4.000    5.000
    """
    sys.stdout.write(_plain(s, _part(A, idim, jdim, imax, jmax, "printmat"), _text))


def iprintmat(
    s: str, A: Array, idim: int | None = None, jdim: int | None = None, imax: int | None = None, jmax: int | None = None
) -> None:
    """Print a comment and the upper-left imax×jmax part of an idim×jdim matrix of whole numbers; see `printmat`.

    Examples
    --------
    >>> iprintmat("ivet", [[3, 0, 2]])
    ivet
           3        0        2
    """
    part = _part(A, idim, jdim, imax, jmax, "iprintmat")
    if part.dtype == object or not np.all(np.isfinite(part)) or np.any(part != np.round(part)):
        raise ArgumentError("iprintmat: A must hold whole numbers")
    sys.stdout.write(_plain(s, part, lambda element: f"{int(element):8d}"))


def _single(A: Array, size: int, routine: str) -> Array:
    array = matrix(A, size, size, routine)
    if array.ndim != 2:
        raise ArgumentError(f"{routine}: it prints one matrix, not a batch of shape {array.shape}")
    return array


def _part(A: Array, idim: int | None, jdim: int | None, imax: int | None, jmax: int | None, routine: str) -> Array:
    array = matrix(A, idim, jdim, routine)
    if array.ndim != 2:
        raise ArgumentError(f"{routine}: it prints one matrix, not an array of shape {array.shape}")
    rows, columns = (
        size if requested is None else requested for requested, size in zip((imax, jmax), array.shape, strict=True)
    )
    if not (0 <= rows <= array.shape[0] and 0 <= columns <= array.shape[1]):
        raise ArgumentError(f"{routine}: a matrix of shape {array.shape} has no upper-left part of {rows}×{columns}")
    return array[:rows, :columns]


def element_text(element: SupportsFloat, width: int, decimals: int) -> str:
    """Return an element of a matrix as text: a number with decimals, a fraction or expression of SymPy as it is.

    Examples
    --------
    >>> element_text(1.5, 7, 4)
    ' 1.5000'
    """
    is_number = isinstance(element, float | int | np.number)
    if is_number or getattr(element, "is_Float", False) or getattr(element, "is_Integer", False):
        return f"{float(element):{width}.{decimals}f}"
    return f"{element!s:>{width}}"


def _text(element: SupportsFloat) -> str:
    return element_text(element, 8, 3)


def _commented_matrix(comment: str, A: Array, size: int, routine: str) -> str:
    indent = " " * (16 - size)  # as the original: 13 for 3×3, 12 for 4×4
    rows = "".join(indent + "  ".join(map(_text, row)) + "\n" for row in _single(A, size, routine))
    return f"\n\n {comment} \n{rows}\n"


def _commented_vector(comment: str, v: Array, name: str, count: int | None, routine: str) -> str:
    vector = real_array(v)
    if vector.ndim != 1:
        raise ArgumentError(f"{routine}: it prints one vector, not an array of shape {vector.shape}")
    if count is not None and not 0 <= count <= vector.size:
        raise ArgumentError(f"{routine}: {name} must be from 0 to {vector.size}, the size of v, not {count}")
    return f"\n {comment} \n   {_side_by_side(map(_text, vector[:count]))}\n"


def _plain(comment: str, array: Array, text: Callable[[Any], str]) -> str:
    return f"{comment}\n" + "".join(_spaced(map(text, row)) + "\n" for row in array)


def _side_by_side(texts: Iterable[str]) -> str:
    return "".join(text if text.startswith(" ") else f" {text}" for text in texts)


def _spaced(texts: Iterable[str]) -> str:
    return "".join(f"{text} " for text in texts)
