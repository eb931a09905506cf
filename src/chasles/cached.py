"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

import functools
from typing import Any, Self, TypeVar, overload

T = TypeVar("T")


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
        found: T = values[name] if name in values else values.setdefault(name, self.func(instance))
        return found
