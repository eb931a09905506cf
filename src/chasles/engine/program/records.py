"""Records: named parts, nested to any depth, stored one after the other in a vector.

Kernels run on arrays. A state, a memory or a row of inputs has parts with names and shapes. A `Layout` states these
once and goes both ways, on numbers, on batches and inside a trace; `chasles.engine.trace` and `chasles.engine.Function`
use it for every argument and result that is a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from math import prod
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.program.scalar import boxed


class DataclassRecord(Protocol):
    """Instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


#: Shapes of a record's parts: a mapping, a named tuple or an instance of a dataclass whose values are shapes of arrays,
#: such as ``(3,)`` or ``()``, or shapes of further records.
Shapes: TypeAlias = "Mapping[str, Any] | tuple[Any, ...] | DataclassRecord"


class Record(Mapping[str, Any]):
    """Named parts, read as attributes or by name; parts that exist can be assigned.

    Examples
    --------
    >>> memory = Record(integral=np.zeros(2))
    >>> memory.integral += 0.5
    >>> memory["integral"]
    array([0.5, 0.5])
    >>> memory.integrall = 1.0
    Traceback (most recent call last):
    ...
    chasles.engine.program.records.UnknownPartError: there is no part 'integrall'. Did you mean 'integral'? ...
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        object.__setattr__(self, "_parts", {**(parts or {}), **named})

    def __getitem__(self, name: str) -> Any:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._parts[name]
        except KeyError:
            raise UnknownPartError("part", name, self._parts) from None

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._parts:
            raise UnknownPartError("part", name, self._parts)
        self._parts[name] = value

    def __reduce__(self) -> Any:
        return Record, (self._parts,)

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self.items())})"


#: Memory, state or schedule in the form that its law or effect states itself: an array, a `Record`, or nothing.
Memory: TypeAlias = Any

#: Names of methods of mappings, which a part of the same name would hide.
_TAKEN = frozenset(name for name in dir(Record) if not name.startswith("_"))


class UnknownPartError(UnknownNameError, AttributeError):
    """A record has no part of this name; the message lists those that it has."""


@dataclass(frozen=True)
class Layout:
    """Names and shapes of a record's parts, in their order in a vector.

    Parameters
    ----------
    shapes
        Shapes of the parts: a mapping, a named tuple or an instance of a dataclass, nested as deep as wanted. A single
        shape is the layout of one array.

    Examples
    --------
    >>> layout = Layout({"estimate": (2,), "filter": {"gain": (), "rows": (2, 2)}})
    >>> layout.size, layout.names[:4]
    (7, ('estimate[0]', 'estimate[1]', 'filter.gain', 'filter.rows[0, 0]'))
    >>> record = layout.split(np.arange(7.0))
    >>> record.filter.rows
    array([[3., 4.],
           [5., 6.]])
    >>> layout.join(record)
    array([0., 1., 2., 3., 4., 5., 6.])

    Leading axes are a batch:

    >>> layout.split(np.zeros((10, 7))).filter.rows.shape
    (10, 2, 2)
    """

    shapes: Shapes

    @classmethod
    def of(cls, record: object) -> Layout:
        """Return the layout of a record of arrays without batch axes.

        Examples
        --------
        >>> Layout.of({"integral": np.zeros(2), "started": 0.0}).leaves
        {'integral': (2,), 'started': ()}
        """
        return cls(_rebuilt(record, lambda path, value: np.shape(boxed(value))))

    def rows(self) -> Layout:
        """Return the layout of one row of arrays that have a row for each sample: their shapes without the first axis.

        >>> Layout.of({"K": np.zeros((100, 2, 4))}).rows().leaves
        {'K': (2, 4)}
        """
        return Layout(_rebuilt(self.shapes, lambda path, shape: shape[1:]))

    @cached_property
    def leaves(self) -> dict[str, tuple[int, ...]]:
        """Shape of each array, by its path: names joined by dots."""
        shapes: dict[str, tuple[int, ...]] = {}

        def note(path: str, shape: Any) -> Any:
            if path.rpartition(".")[2] in _TAKEN:
                raise ArgumentError(f"'{path}' cannot be the name of a part: it is a method of every record")
            if not isinstance(shape, tuple) or not all(isinstance(k, int | np.integer) and k >= 0 for k in shape):
                part = f"the shape of part '{path}'" if path else "a shape"
                raise ArgumentError(f"{part} must be a tuple such as (3,) or (), not {shape!r}")
            shapes[path] = tuple(int(k) for k in shape)
            return shape

        _rebuilt(self.shapes, note)
        return shapes

    @cached_property
    def size(self) -> int:
        """Length of the vector."""
        return sum(prod(shape) for shape in self.leaves.values())

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Slice of the vector for each part of the outermost record."""
        table, first = {}, 0
        for name, shapes in parts_of(self.shapes) if is_record(self.shapes) else []:
            size = Layout(shapes).size if is_record(shapes) else prod(shapes)
            table[name] = slice(first, first + size)
            first += size
        return table

    @property
    def names(self) -> tuple[str, ...]:
        """Name of every element: the path of its array, and its index in it."""
        return tuple(
            f"{path}[{', '.join(map(str, index))}]" if shape else path
            for path, shape in self.leaves.items()
            for index in np.ndindex(shape)
        )

    def split(self, vector: Any) -> Any:
        """Return the record of a vector (..., size): mappings as `Record`, other records in their own type.

        Raises
        ------
        ArgumentError
            The vector has another length.
        """
        array = np.asarray(vector)
        if array.ndim < 1 or array.shape[-1] != self.size:
            raise ArgumentError(f"a vector of {self._listed()} has shape (..., {self.size}), not {array.shape}")
        batch, first = array.shape[:-1], 0

        def part(path: str, shape: Any) -> Any:
            nonlocal first
            count = prod(shape)
            first += count
            if shape == ():
                return array[..., first - 1] if batch else array[first - 1]
            return array[..., first - count : first].reshape(*batch, *shape)

        return _rebuilt(self.shapes, part)

    def join(self, record: object) -> NDArray[Any]:
        """Return the vector (..., size) of a record; batch axes of its parts broadcast.

        Raises
        ------
        ArgumentError
            A part is missing or has another shape.
        UnknownNameError
            A part is not in the layout.
        """
        parts = [_fitting(path, value, shape) for path, value, shape in _paired("", self.shapes, record)]
        leads = [
            array.shape[: array.ndim - len(shape)] for array, shape in zip(parts, self.leaves.values(), strict=True)
        ]
        if parts and not any(leads):
            return np.concatenate([array.ravel() for array in parts])
        try:
            batch = np.broadcast_shapes(*leads)
        except ValueError:
            given = ", ".join(f"{path} {lead}" for path, lead in zip(self.leaves, leads, strict=True) if lead)
            raise ArgumentError(f"the batch axes of the parts do not broadcast: {given}") from None
        flat = [
            np.broadcast_to(array.reshape(*lead, prod(shape)), (*batch, prod(shape)))
            for array, lead, shape in zip(parts, leads, self.leaves.values(), strict=True)
        ]
        return np.concatenate(flat, axis=-1) if flat else np.zeros((*batch, 0))

    def _listed(self) -> str:
        return ", ".join(f"{path} {shape}" for path, shape in self.leaves.items()) or "nothing"


def is_record(value: object) -> bool:
    """Whether a value is a record: a mapping, a named tuple or an instance of a dataclass.

    >>> is_record({"q": (2,)}), is_record((2,))
    (True, False)
    """
    kind: type = type(value)
    return _is_kind_of_record(kind)


@lru_cache(maxsize=1024)  # asked of every part of every record
def _is_kind_of_record(kind: Any) -> bool:
    named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return named or issubclass(kind, Mapping) or is_dataclass(kind)


def parts_of(record: Any) -> list[tuple[str, Any]]:
    """Return names and values of the parts of the outermost record.

    >>> parts_of({"q": 1.0})
    [('q', 1.0)]
    """
    if isinstance(record, Mapping):
        return list(record.items())
    if isinstance(record, tuple):
        return list(zip(getattr(record, "_fields", ()), record, strict=True))
    return [(field.name, getattr(record, field.name)) for field in fields(record)]


def _rebuilt(record: Any, leaf: Callable[[str, Any], Any], path: str = "") -> Any:
    """Return a record of the same kind with each array replaced."""
    if not is_record(record):
        return leaf(path, record)
    parts = {name: _rebuilt(value, leaf, f"{path}.{name}" if path else str(name)) for name, value in parts_of(record)}
    return Record(parts) if isinstance(record, Mapping) else type(record)(**parts)


def _paired(path: str, shapes: Any, record: Any) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Path, value and shape of each array, in the order of the shapes."""
    if not is_record(shapes):
        yield path, record, shapes
        return
    if not is_record(record):
        names = ", ".join(name for name, _ in parts_of(shapes))
        raise ArgumentError(f"{f'part {path!r}' if path else 'it'} must be a mapping with the parts {names}")
    given, wanted = dict(parts_of(record)), dict(parts_of(shapes))
    for name in given:
        if name not in wanted:
            raise UnknownNameError(f"part of '{path}'" if path else "part", str(name), wanted)
    for name, part in wanted.items():
        if name not in given:
            raise ArgumentError(f"part '{name}'{f' of {path!r}' if path else ''} is missing")
        yield from _paired(f"{path}.{name}" if path else name, part, given[name])


def _fitting(path: str, value: object, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a part as an array (..., *shape)."""
    array = boxed(value)
    part = f"part '{path}'" if path else "the array"
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        raise ArgumentError(f"{part} has shape {array.shape}; expected {shape}")
    return array
