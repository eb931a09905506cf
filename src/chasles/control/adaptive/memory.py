"""A controller's memory, one vector, as named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the arrays that a memory consists of, in their order.

    Examples
    --------
    >>> layout = Layout({"estimate": (2,), "filter": (2, 2)})
    >>> layout.size, layout.names
    (6, ('estimate[0]', 'estimate[1]', 'filter[0, 0]', 'filter[0, 1]', 'filter[1, 0]', 'filter[1, 1]'))
    >>> layout.split(np.arange(6.0))["filter"]
    array([[2., 3.],
           [4., 5.]])
    """

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(prod(shape) for shape in self.shapes.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Name of every element: the array's, and its index."""
        return tuple(
            f"{name}[{', '.join(map(str, index))}]"
            for name, shape in self.shapes.items()
            for index in np.ndindex(shape)
        )

    def split(self, vector: Any) -> dict[str, Any]:
        """The arrays of a vector (size,)."""
        parts, first = {}, 0
        for name, shape in self.shapes.items():
            parts[name] = vector[first : first + prod(shape)].reshape(shape)
            first += prod(shape)
        return parts

    def join(self, parts: Mapping[str, Any]) -> Any:
        """The vector of the arrays."""
        return np.concatenate([np.asarray(parts[name]).reshape(-1) for name in self.shapes])


def triangle(count: int) -> tuple[int]:
    """Shape of what `packed` makes of a symmetric matrix."""
    return (count * (count + 1) // 2,)


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
