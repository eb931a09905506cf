"""Immutable records that hold arrays: equality, hash and pickling by content."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np

from chasles.base.errors import ModelError, nearest


def shortened(value: object) -> str:
    """Return the repr of a value, cut so that a hostile one cannot flood a message."""
    try:
        text = repr(value[:80]) if isinstance(value, (str, bytes)) else repr(value)
    except ValueError:  # Python writes no integer of more than 4300 digits
        text = "an integer of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


def check_keys(table: Any, known: Iterable[str], what: str) -> None:
    """Raise a ModelError unless `table` is a mapping whose keys are all `known`."""
    names = list(known)
    if not isinstance(table, Mapping):
        raise ModelError(f"{what} must be a table with keys {', '.join(names)}, not {shortened(table)}")
    for key in table:
        if key not in names:
            close = nearest(str(key)[:80], names)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise ModelError(f"{what} has no key {shortened(key)}.{hint} Known: {', '.join(names)}")


def plain(value: object) -> Any:
    """Return a record, array or container as nested tuples of Python scalars."""
    if isinstance(value, DescriptionRecord):
        return (type(value).__name__, *(plain(getattr(value, name)) for name in value.compared_names()))
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    if isinstance(value, Mapping):
        return tuple((key, plain(value[key])) for key in sorted(value))
    return value


class DescriptionRecord:
    """Base of the frozen dataclasses of a description: compared, hashed and pickled by their fields."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @classmethod
    @functools.cache
    def field_names(cls) -> tuple[str, ...]:
        """Names of the fields, in order."""
        return tuple(field.name for field in dataclasses.fields(cls))

    @classmethod
    @functools.cache
    def compared_names(cls) -> tuple[str, ...]:
        """Names of the fields that decide whether records are equal."""
        return tuple(field.name for field in dataclasses.fields(cls) if field.compare)

    def replace(self, **changes: Any) -> Self:
        """Make a copy with some fields changed, checked like a new one."""
        return dataclasses.replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal, arrays element by element."""
        if type(other) is not type(self):
            return False
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.compared_names())
        return all(mine is theirs or plain(mine) == plain(theirs) for mine, theirs in pairs)  # copies share most fields

    def __hash__(self) -> int:
        """Hash of all fields."""
        return hash(plain(self))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without anything cached."""
        return {name: getattr(self, name) for name in self.field_names()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the fields; NumPy unpickles arrays writable."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)

    def _set(self, **fields: Any) -> None:
        """Set fields of a frozen dataclass while it is constructed."""
        self.__dict__.update(fields)


class ArgumentRecord(DescriptionRecord):
    """A record whose fields are the arguments of a function: ``function(**record)``."""

    def keys(self) -> tuple[str, ...]:
        """Names of the fields."""
        return self.field_names()

    def __getitem__(self, name: str) -> Any:
        """Return a field by its name."""
        return getattr(self, name)


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Put the file or element `where` in front of the message of a ModelError that is raised inside."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None
