"""Attributes that are computed when they are first asked for, values of which those used last are kept, and spares."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class LastUsed(Generic[T]):
    """Values by key, of which those that were used last are kept.

    Parameters
    ----------
    size
        Number of values that are kept.

    Examples
    --------
    >>> kept = LastUsed(2)
    >>> [kept.setdefault(key, number) for key, number in (("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5))]
    [1, 2, 1, 4, 5]
    >>> len(kept)
    2
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def setdefault(self, key: str, value: T) -> T:
        """Return the value of a key; a key without one gets the given value."""
        with self._lock:
            kept = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            while len(self._values) > self.size:
                self._values.popitem(last=False)
        return kept

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)


class cached_property(functools.cached_property[T]):  # noqa: N801  (takes the place of Python's)
    """Python's `functools.cached_property` without a lock.

    Up to Python 3.11 that one holds a lock while it computes. A process that forks meanwhile leaves the lock held in
    the child for ever, and two threads wait for each other's objects. Here two threads may compute the same value, and
    both get that of the first.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self | T:
        """Return the value, computed now if it has not been before."""
        if instance is None:
            return self
        values = instance.__dict__
        name = self.attrname or self.func.__name__
        computed: T = values[name] if name in values else values.setdefault(name, self.func(instance))
        return computed


class Spares(Generic[T]):
    """Things of an owner that nobody uses at the moment; they go with it, and its copies have none.

    Examples
    --------
    >>> spares: Spares[list[int]] = Spares()
    >>> with spares.lent("short", list) as one:
    ...     one.append(1)
    >>> with spares.lent("short", list) as again, spares.lent("short", list) as other:
    ...     again, other
    ([1], [])
    """

    def __init__(self) -> None:
        self._by_key: dict[object, list[T]] = {}

    @contextmanager
    def lent(self, key: object, make: Callable[[], T]) -> Iterator[T]:
        """Lend a thing of a kind that was used before, or a new one."""
        spare = self._by_key.setdefault(key, [])
        try:
            thing = spare.pop()
        except IndexError:
            thing = make()
        try:
            yield thing
        finally:
            spare.append(thing)

    def __reduce__(self) -> tuple[type[Spares[T]], tuple[()]]:
        return type(self), ()
