"""What a computation is, as one digest that every process finds for what computes the same.

Values, arrays and containers count by content. An object of the library counts by its class and its attributes, because
objects of the library compute from these alone; one that states how it is rebuilt, or a ``digest``, counts by that. A
function or a class of the library, NumPy or Python counts by its name.

Everything else is a user's. Its text does not tell what it will compute, so it counts by the program that it traces to:
constants, closures, globals and called functions are in the program as they act (`traced`). What cannot be traced may
state ``version = "1"``, which its owner changes with it. Otherwise it is unidentified: what needs it is computed again.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.program.program import Program
from chasles.engine.program.records import Shapes
from chasles.engine.program.tracing import trace

_DOUBLE, _LENGTH = struct.Struct("<d"), struct.Struct("<Q")
_LIBRARY = __name__.partition(".")[0]
#: Packages whose functions and classes are known by their names.
_NAMED = (_LIBRARY, "numpy", "builtins", "operator", "math")
#: What to do with what is unidentified.
ADVICE = 'give it version = "1", and another one whenever it computes something else'
_PLAIN = frozenset({bool, int, str, bytes, range, type(...)})
_MAPPINGS = (dict, OrderedDict, MappingProxyType)


class UnidentifiedError(ArgumentError):
    """The content of a value does not tell what it computes; the message says which value, and what to do."""


class _UntraceableError(UnidentifiedError):
    """Tracing failed."""


def identity(value: object, *, by_version: bool = True) -> str:
    """Return the digest of what a value is.

    Parameters
    ----------
    value
        The value: data, objects and functions of the library, and what users give a version.
    by_version
        Whether the ``version`` of a user's function, class or object is believed. Values that it holds (attributes,
        closures, defaults) count as well, as far as they can be identified.

    Raises
    ------
    UnidentifiedError
        A part of the value is a user's and has no version.

    Examples
    --------
    >>> identity({"kp": np.ones(2), "law": np.sin}) == identity({"kp": np.array([1.0, 1.0]), "law": np.sin})
    True
    >>> identity(np.random.default_rng())
    Traceback (most recent call last):
    ...
    chasles.engine.identity.UnidentifiedError: a Generator is not part of Chasles: ...
    """
    try:
        return hashlib.sha256(_Content(by_version).of(value)).hexdigest()
    except RecursionError:
        raise UnidentifiedError(f"{_name_of(value)} refers to itself") from None


def identity_as_it_acts(value: object, function: Callable[..., Any], inputs: Mapping[str, Shapes]) -> str:
    """Return the digest of a value whose one deed is a function: by content, else as `traced`, else by version.

    Raises
    ------
    UnidentifiedError
        A part of the value is a user's, the function cannot be traced and the part has no version; or the function
        gives another program each time.
    """
    try:
        return identity(value, by_version=False)
    except UnidentifiedError:
        pass
    try:
        return traced(function, inputs)
    except _UntraceableError as untraceable:
        try:
            return identity(value)
        except UnidentifiedError as error:
            raise UnidentifiedError(f"{error}, and {untraceable}; {ADVICE}") from None


def traced(function: Callable[..., Any], inputs: Mapping[str, Shapes]) -> str:
    """Return the digest of what a user's function computes: that of its program for inputs of these shapes.

    Raises
    ------
    UnidentifiedError
        The function cannot be traced, or gives another program each time (random numbers, the clock, a counter).

    Examples
    --------
    >>> gains = {"kp": 2.0}
    >>> before = traced(lambda x: gains["kp"] * x, {"x": (3,)})
    >>> before == traced(lambda y: (1.0 + 1.0) * y, {"x": (3,)})
    True
    >>> gains["kp"] = 3.0
    >>> before == traced(lambda x: gains["kp"] * x, {"x": (3,)})
    False
    """
    try:
        first, second = (trace(function, inputs, name="identified").digest for _ in range(2))
    except Exception as error:  # a user's function may fail on traced values in any way
        reason = f"{error}".partition("\n")[0] or type(error).__name__
        raise _UntraceableError(f"it cannot be traced ({reason})") from error
    if first != second:
        raise UnidentifiedError(
            "it computes something else each time it is traced: it draws random numbers, reads the clock, or counts"
        )
    return first


def _plain(value: Any, kind: type) -> bytes | None:
    """Return the content of a number, a text, bytes, None or an array of numbers; None for all else."""
    if kind is float:
        return b"float" + _DOUBLE.pack(value)
    if value is None or kind in _PLAIN:
        text = value if kind is bytes else repr(value).encode(errors="surrogatepass")
        return _packed(kind.__name__, text)
    if kind is complex:
        return _packed("complex", _DOUBLE.pack(value.real), _DOUBLE.pack(value.imag))
    if (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        dtype = value.dtype.str if value.dtype.names is None else repr(value.dtype)
        return _packed(f"array {dtype} {value.shape}", value.tobytes())
    return None


class _Content:
    """Content of values as bytes, which differ wherever values do."""

    def __init__(self, by_version: bool) -> None:
        self.by_version = by_version

    def of(self, value: Any) -> bytes:
        """Return the content of a value, or raise `UnidentifiedError`."""
        kind = type(value)
        content = _plain(value, kind)
        if content is not None:
            return content
        if isinstance(value, Enum):
            return _packed(self._name(kind), value.name.encode())
        if isinstance(value, tuple | list):
            return _packed(self._name(kind), *map(self.of, value))
        if kind in _MAPPINGS:
            return self._named("mapping", value.items())
        if kind is slice:
            return _packed("slice", *map(self.of, (value.start, value.stop, value.step)))
        if kind in (set, frozenset):
            return _packed("set", *sorted(map(self.of, value)))
        if isinstance(value, type | FunctionType | BuiltinFunctionType | np.ufunc):
            return _packed("named", self._name(value).encode())
        if not _is_ours(kind):
            return self._versioned(value)
        return self._object(value, kind)

    def _object(self, value: Any, kind: type) -> bytes:
        """Content of an object of the library."""
        name = self._name(kind)
        for one in kind.__mro__[:-1]:
            for member in vars(one).values():
                if type(member) is FunctionType and not _is_known(member.__module__):
                    raise UnidentifiedError(
                        f"{kind.__name__} has a method {member.__name__} that is not part of Chasles"
                    )
        if isinstance(value, Program):
            return _packed("program", value.digest.encode())  # whether it is traced already or not
        if hasattr(kind, "digest"):
            return _packed(name, value.digest.encode())
        if any("__reduce__" in vars(base) for base in kind.__mro__[:-1]):
            rebuilt = value.__reduce__()
            return _packed("named", self._name(value).encode()) if isinstance(rebuilt, str) else self.of(rebuilt)
        return self._named(name, _attributes(value))

    def _named(self, name: str, items: Iterable[tuple[Any, Any]]) -> bytes:
        return _packed(name, *(self.of(part) for item in items for part in item))

    def _name(self, thing: Any) -> str:
        """Return the name under which a known package has a class or a function, or the content of a user's version."""
        if isinstance(thing, np.ufunc):
            home, name = "numpy", thing.__name__
        else:
            home, name = thing.__module__ or "builtins", thing.__qualname__
        if home.partition(".")[0] not in _NAMED:
            return self._versioned(thing).hex()
        member: Any = sys.modules.get(home)
        for part in name.split("."):
            member = getattr(member, part, None)
        if member is not thing:
            raise UnidentifiedError(f"{name} is not what the module {home} calls so")
        return f"{home}.{name}"

    def _versioned(self, value: Any) -> bytes:
        """Content of what a user gives a version, with the values that it holds as far as these can be identified."""
        version = getattr(value, "version", None)
        if not isinstance(version, str):
            raise UnidentifiedError(
                f"{_name_of(value)} is not part of Chasles: its text does not tell what it computes"
            )
        if not self.by_version:
            raise UnidentifiedError(f"{_name_of(value)} is known by its version alone")
        owner = value if isinstance(value, type | FunctionType) else type(value)
        home = owner.__module__.replace("__mp_main__", "__main__")  # as worker processes call it
        return _packed(f"version {home}.{owner.__qualname__}", version.encode(), *self._held(value))

    def _held(self, value: Any) -> Iterator[bytes]:
        items: dict[str, Any] = {}
        if isinstance(value, FunctionType):
            cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
            items = {name: _enclosed(cell) for name, cell in cells}
            items |= {"defaults": value.__defaults__, "keywords": value.__kwdefaults__}
        for kind in reversed((value if isinstance(value, type) else type(value)).__mro__):
            if not isinstance(value, FunctionType) and not _is_ours(kind):
                items |= {name: part for name, part in vars(kind).items() if not name.startswith("__")}
        if not isinstance(value, type):
            items |= dict(_attributes(value))
        for name, part in sorted(items.items()):
            try:
                yield _packed(name, self.of(part))
            except (UnidentifiedError, RecursionError):
                continue  # the version stands for it


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Attributes that an object was made with, without those that are computed from others on demand."""
    kind = type(value)
    for one in kind.__mro__:
        slots = vars(one).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{one.__name__.lstrip('_')}{slot}" if slot.startswith("__") and not slot.endswith("__") else slot
            if slot not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)
    for name, part in getattr(value, "__dict__", {}).items():
        if not isinstance(getattr(kind, name, None), cached_property):
            yield name, part


def _enclosed(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _name_of(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    return name.rpartition("<locals>.")[2] if isinstance(name, str) else f"a {_name_of(type(value))}"


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == _LIBRARY


def _is_known(module: str | None) -> bool:
    """Whether a function of a module can be a method of the library's: dataclasses, for one, make some."""
    top = (module or "").partition(".")[0]
    return top == _LIBRARY or top in sys.stdlib_module_names


def _packed(kind: str, *parts: bytes) -> bytes:
    """Return parts in a row, each with its length, so that no two different rows are equal."""
    name = kind.encode(errors="surrogatepass")
    return b"".join([part for each in (name, *parts) for part in (_LENGTH.pack(len(each)), each)])
