"""Symmetric matrices as parts of a memory: their upper triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def packed(matrix: Any) -> Any:
    """The upper triangle of a symmetric matrix, row by row.

    Examples
    --------
    >>> packed(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    return matrix[np.triu_indices(len(matrix))]


def unpacked(elements: Any, count: int) -> Any:
    """The symmetric matrix (count, count) of its upper triangle.

    Examples
    --------
    >>> unpacked(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    places: NDArray[np.intp] = np.empty((count, count), dtype=np.intp)
    rows, columns = np.triu_indices(count)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return elements[places]
