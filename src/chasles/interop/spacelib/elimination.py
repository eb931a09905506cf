"""Section 6.2, header linear.h: the steps of Gauss–Jordan elimination from which `linear` is made.

Each takes one matrix H stored as idim×jdim, and returns it anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.sizes import matrix, real_array


@comparable
class SwappedColumns(NamedTuple):
    """Results of `swabc`.

    Attributes
    ----------
    H
        The matrix, shape (idim, jdim).
    vet
        Which unknown each column belongs to.
    """

    H: Array
    vet: NDArray[np.int64]


@comparable
class LargestElement(NamedTuple):
    """Results of `rmax`.

    Attributes
    ----------
    im, jm
        Row and column of the element; 0 and 0 where all elements are null or there are none.
    rv
        The element, with its sign.
    """

    im: int
    jm: int
    rv: float


def swabr(H: Array, idim: int, jdim: int, j2max: int, k: int, im: int) -> Array:
    """Swap the first j2max elements of the rows k and im.

    Examples
    --------
    >>> swabr([[1, 2, 3], [4, 5, 6]], 2, 3, 2, 0, 1)
    array([[4., 5., 3.],
           [1., 2., 6.]])
    """
    result = _stored(H, idim, jdim, "swabr", rows=(k, im), columns=(j2max - 1,)).copy()
    result[[k, im], :j2max] = result[[im, k], :j2max]
    return result


def swabc(H: Array, idim: int, jdim: int, imax: int, k: int, jm: int, vet: Array) -> SwappedColumns:
    """Swap the first imax elements of the columns k and jm, and the elements k and jm of the vector vet.

    Examples
    --------
    >>> swabc([[1, 2], [3, 4]], 2, 2, 2, 0, 1, [0, 1]).vet
    array([1, 0])
    """
    result = _stored(H, idim, jdim, "swabc", rows=(imax - 1,), columns=(k, jm)).copy()
    unknowns = np.array(vet, dtype=np.int64)
    if unknowns.ndim != 1 or unknowns.size <= max(k, jm):
        raise ArgumentError(
            f"swabc: vet has shape {unknowns.shape}, but must have an element for the columns {k}, {jm}"
        )
    result[:imax, [k, jm]] = result[:imax, [jm, k]]
    unknowns[[k, jm]] = unknowns[[jm, k]]
    return SwappedColumns(result, unknowns)


def normalr(H: Array, idim: int, jdim: int, j2max: int, k: int, rm: ArrayLike) -> Array:
    """Divide the first j2max elements of the row k by the pivot rm.

    Examples
    --------
    >>> normalr([[2, 4], [1, 1]], 2, 2, 2, 0, 2.0)
    array([[1., 2.],
           [1., 1.]])
    """
    result = _stored(H, idim, jdim, "normalr", rows=(k,), columns=(j2max - 1,)).copy()
    result[k, :j2max] = result[k, :j2max] / real_array(rm, "normalr", "rm") + 0.0  # no -0
    return result


def elimin(H: Array, idim: int, jdim: int, imax: int, j2max: int, k: int) -> Array:
    """Eliminate the column k from all of the first imax rows but the row k, whose element k is the pivot.

    From the other rows multiples of the row k are taken, so that their elements k vanish: they are exactly 0 here,
    where the original may leave a rounding error. The columns before k stay as they are; `linear` has eliminated them
    already.

    Examples
    --------
    >>> elimin([[2, 4, 6], [1, 1, 1]], 2, 3, 2, 3, 0)
    array([[ 2.,  4.,  6.],
           [ 0., -1., -2.]])
    """
    result = _stored(H, idim, jdim, "elimin", rows=(imax - 1, k), columns=(j2max - 1, k)).copy()
    others = [i for i in range(imax) if i != k]
    multiples = result[others, k] / result[k, k]
    result[others, k:j2max] -= np.multiply.outer(multiples, result[k, k:j2max])
    result[others, k] = 0.0
    return result


def rmax(H: Array, idim: int, jdim: int, imin: int, imax: int, jmin: int, jmax: int) -> LargestElement:
    """Find the element of largest absolute value in the rows imin … imax-1 and the columns jmin … jmax-1.

    The first of several is taken, row by row.

    Examples
    --------
    >>> rmax([[1, 2], [3, -4]], 2, 2, 0, 2, 0, 2)
    LargestElement(im=1, jm=1, rv=-4.0)
    """
    array = _stored(H, idim, jdim, "rmax", rows=(imin - 1, imax - 1), columns=(jmin - 1, jmax - 1))
    if imin > imax or jmin > jmax:
        raise ArgumentError(f"rmax: there are no rows from {imin} to {imax} or columns from {jmin} to {jmax}")
    part = np.abs(array[imin:imax, jmin:jmax])
    if not part.size:
        return LargestElement(0, 0, 0.0)
    i, j = divmod(int(np.argmax(part)), part.shape[1])
    if part[i, j] == 0.0:
        return LargestElement(0, 0, 0.0)
    return LargestElement(imin + i, jmin + j, float(array[imin + i, jmin + j]))


def _stored(H: Array, idim: int, jdim: int, routine: str, rows: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """Return H, once it is known to have the rows and columns (counted from 0; -1 for none) that a routine reaches."""
    array = matrix(H, idim, jdim, routine, "H")
    if array.ndim != 2:
        raise ArgumentError(f"{routine}: H must be one matrix, not of shape {array.shape}")
    if not (all(-1 <= i < idim for i in rows) and all(-1 <= j < jdim for j in columns)):
        raise ArgumentError(f"{routine}: H of {idim}×{jdim} has no rows {rows} or no columns {columns} (from 0)")
    return array
