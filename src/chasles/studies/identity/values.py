"""Digests of values: of numbers and containers, of functions with all that they refer to, of classes and instances."""

from __future__ import annotations

import builtins
import copyreg
import functools
import hashlib
import logging
import struct
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from chasles.errors import ArgumentError
from chasles.studies.identity.libraries import exported, exported_module, library_of
from chasles.studies.identity.outside import READING_METHODS, hidden_state, outside_source
from chasles.studies.identity.references import attribute_names, contents, references


class UnidentifiedError(ArgumentError):
    """A value cannot be told from others by its content; the message says which, and why."""


def digest_of(value: Any, name: str) -> str:
    """Digest of a value by its content; equal in every process and for every copy.

    Functions count with their code (line and file names excepted), default values, closures, attributes, and the
    globals, functions and classes that they refer to, these in the same way. So do the classes of objects. Objects of
    libraries count by name, with the library's name and version. All other objects count by what pickling would save.

    Parameters
    ----------
    value
        The value.
    name
        What error messages call it.

    Raises
    ------
    UnidentifiedError
        If its content does not say what it computes: an open file, a generator, random numbers, the clock, ….

    Examples
    --------
    >>> def scaled(gain):
    ...     return lambda x: gain * x
    >>> digest_of(scaled(2.0), "law") == digest_of(scaled(2.0), "law")
    True
    >>> digest_of(scaled(2.0), "law") == digest_of(scaled(3.0), "law")
    False
    """
    walk = _Walk(name)
    try:
        return walk.digest(value).hex()
    except RecursionError:
        raise UnidentifiedError(f"{name} is nested too deeply to be told by its content") from None


#: How `object.__reduce_ex__` makes an object without calling its `__init__`.
_NEW: Any = copyreg.__newobj__  # type: ignore[attr-defined]
#: Flags of code that say how it runs; those of ``from __future__ import`` have done their work.
_MEANING = 0xFFF
#: Flag of classes that are not part of the interpreter (Py_TPFLAGS_HEAPTYPE).
_MADE_BY_A_PROGRAM = 1 << 9
#: Entries of a class that say nothing of what it computes, or repeat what other entries say.
_NO_CONTENT = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__match_args__", "__slots__"),
    *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__annotations_dict__"),
    *("__static_attributes__", "__firstlineno__", "__abstractmethods__", "_abc_impl"),
    *("__dataclass_fields__", "__dataclass_params__", "__orig_bases__", "__parameters__", "__type_params__"),
}
#: Methods that make, copy and show objects: they have done their work where there is an object.
_OF_MAKING = {
    *("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__del__", "__repr__", "__str__"),
    *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__"),
}


class _Walk:
    """One walk through a value and all that it refers to.

    References may lead back to what is still being digested: such a one counts by how many steps back it leads. What
    is complete keeps its digest, so that nothing is digested twice and it does not matter whether two equal parts are
    one object or two. Parts of a circle are complete when all of the circle is.
    """

    def __init__(self, name: str) -> None:
        self._path = [name]
        self._open: dict[int, int] = {}
        self._complete: dict[int, bytes] = {}
        self._alive: list[Any] = []  # objects that are known by their place in memory must stay there
        self._count = 0
        self._lowest = 0

    def digest(self, value: Any) -> bytes:
        """Digest of a value."""
        plain = _plain(value)
        if plain is not None:
            return plain
        return self._once(value, id(value), lambda: self._content(value))

    def _once(self, value: Any, key: int, content: Callable[[], bytes]) -> bytes:
        if key in self._complete:
            return self._complete[key]
        if key in self._open:
            self._lowest = min(self._lowest, self._open[key])
            return _joined("back", self._count - self._open[key])
        self._alive.append(value)
        own, outer = self._count, self._lowest
        self._open[key], self._count, self._lowest = own, own + 1, own
        try:
            result = content()
        except BaseException:
            self._leave(own)
            self._count, self._lowest = own, outer
            raise
        if self._lowest == own:  # nothing in it leads to what is around it
            self._leave(own)
            self._complete[key] = result
            self._count = own + 1
        self._lowest = min(self._lowest, outer)
        return result

    def _leave(self, first: int) -> None:
        self._open = {key: number for key, number in self._open.items() if number < first}

    @contextmanager
    def _at(self, place: str) -> Iterator[None]:
        self._path.append(place)
        try:
            yield
        finally:
            self._path.pop()

    def _refuse(self, reason: str) -> UnidentifiedError:
        return UnidentifiedError(f"{' → '.join(self._path)} is {reason}")

    def _within(self, place: str, value: Any) -> bytes:
        """Digest of a part, whose place a message names."""
        with self._at(place):
            return self.digest(value)

    def _content(self, value: Any) -> bytes:
        hidden = hidden_state(value)
        if hidden is not None:
            raise self._refuse(hidden)
        if isinstance(value, type):
            return self._class(value)
        handler = _HANDLERS.get(type(value))
        if handler is not None:
            return handler(self, value)
        if isinstance(value, types.ModuleType):
            return self._module(value)
        return self._object(value)

    def _items(self, value: Any) -> bytes:
        return _joined(type(value).__name__, *(self._within(f"[{k}]", item) for k, item in enumerate(value)))

    def _set(self, value: Any) -> bytes:
        """Elements in the order of their digests: that of the set changes from process to process."""
        digests = []
        for item in value:
            alone = _Walk(" → ".join(self._path))  # its digest must not depend on the elements before it
            digests.append(alone.digest(item))
        return _joined(type(value).__name__, *sorted(digests))

    def _mapping(self, value: Any) -> bytes:
        parts = [part for key, item in value.items() for part in (self.digest(key), self._within(f"[{key!r}]", item))]
        return _joined("mapping", *parts)

    def _function(self, value: Any) -> bytes:
        known = exported(value, value.__module__, value.__qualname__)
        if known is not None:
            return self._library(known)
        with self._at(f"function {value.__name__}"):
            library = library_of(value.__module__)
            parts = [self._code(value.__code__), self._named(value.__dict__)]
            if library is None:
                if attribute_names(value.__code__) & READING_METHODS:
                    raise self._refuse("reading a file, which is no part of the study")
                taken = references(value.__code__, value.__globals__, vars(builtins))
                parts += [self._within(name, found) for name, found in taken]
            else:  # a function inside one of the library's: its globals are the library's
                parts.append(_joined(library))
            parts += [self.digest(value.__defaults__), self.digest(value.__kwdefaults__)]
            cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
            parts += [self._within(name, cell) for name, cell in cells]
        return _joined("function", *parts)

    def _cell(self, value: Any) -> bytes:
        try:
            content = value.cell_contents
        except ValueError:
            return _joined("empty")
        return self.digest(content)

    def _code(self, value: Any) -> bytes:
        flags = value.co_flags & _MEANING
        shape = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, flags)
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        constants = (self.digest(constant) for constant in value.co_consts)
        return _joined("code", *shape, repr(names), value.co_code, value.co_exceptiontable, *constants)

    def _module(self, value: Any) -> bytes:
        known = exported_module(value)
        if known is not None:
            return self._library(known)
        return _joined("module", self._named(contents(value)))

    def _library(self, known: str) -> bytes:
        """An object of a library, by its name."""
        source = outside_source(known.partition(": ")[2])
        if source is not None:
            raise self._refuse(f"taken from {source}, which is no part of the study")
        return _joined("library", known)

    def _class(self, value: Any, *, made: bool = False) -> bytes:
        """A class.

        Parameters
        ----------
        value
            The class.
        made
            Whether its objects are not made any more: they are all there.
        """
        known = exported(value, value.__module__, value.__qualname__)
        if known is not None or not value.__flags__ & _MADE_BY_A_PROGRAM:
            return self._library(known or f"Python: {value.__module__}.{value.__qualname__}")
        members = {name: member for name, member in sorted(vars(value).items()) if name not in _NO_CONTENT}
        slots = (types.MemberDescriptorType, types.GetSetDescriptorType)
        parts = [self.digest(type(value)), *(self._within("base", base) for base in value.__bases__)]
        for name, member in members.items():
            if isinstance(member, slots):
                parts.append(_joined(name))
            elif made and name in _OF_MAKING:
                parts.append(_joined(name, self._if_possible(member)))
            else:
                parts.append(_joined(name, self._within(f"class {value.__name__}, {name}", member)))
        return _joined("class", *parts)

    def _if_possible(self, value: Any) -> bytes:
        try:
            return self.digest(value)
        except UnidentifiedError:
            return b""

    def _method(self, value: Any) -> bytes:
        return _joined("method", self.digest(value.__func__), self._within("self", value.__self__))

    def _builtin(self, value: Any) -> bytes:
        """A function written in C, or a method of an object: then with the object."""
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            module = value.__module__ if owner is None else owner.__name__
            return self._exported(value, module, value.__qualname__)
        if isinstance(owner, type) and (known := exported(owner, owner.__module__, owner.__qualname__)):
            return self._library(f"{known}.{value.__name__}")
        return _joined("method", value.__name__, self.digest(owner))

    def _descriptor(self, value: Any) -> bytes:
        return _joined("method", value.__name__, self.digest(value.__objclass__))

    def _exported(self, value: Any, module: str | None, name: str | None) -> bytes:
        known = exported(value, module, name)
        if known is None:
            raise self._refuse(f"compiled code of type {type(value).__name__}, which cannot be looked into")
        return self._library(known)

    def _property(self, value: Any) -> bytes:
        return _joined("property", self.digest(value.fget), self.digest(value.fset), self.digest(value.fdel))

    def _wrapped(self, value: Any) -> bytes:
        """A function that a decorator has wrapped and that computes the same."""
        return _joined(type(value).__name__, self.digest(value.__wrapped__))

    def _underlying(self, value: Any) -> bytes:
        return _joined(type(value).__name__, self.digest(value.__func__))

    def _cached_property(self, value: Any) -> bytes:
        return _joined("cached_property", self.digest(value.func))

    def _array(self, value: Any) -> bytes:
        if value.dtype.hasobject:
            return _joined("array", repr((value.shape, value.dtype)), self.digest(value.tolist()))
        return _joined("array", repr((value.shape, value.dtype)), value.tobytes())

    def _object(self, value: Any) -> bytes:
        """An object by its class and what pickling would save of it."""
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return _joined("number", str(value.dtype), value.tobytes())
        reduced = self._reduced(value)
        if isinstance(reduced, str):  # known by its name alone
            return self._exported(value, getattr(value, "__module__", None), reduced)
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        kind = type(value)
        if make is _NEW and arguments[0] is kind:
            maker = self._once(kind, -id(kind), lambda: self._class(kind, made=True))
            arguments = arguments[1:]
        else:
            maker = self.digest(make)
        return _joined(
            "object",
            maker,
            self.digest(tuple(arguments)),
            self._state(kind, state),
            self.digest(None if items is None else list(items)),
            self.digest(None if pairs is None else [tuple(pair) for pair in pairs]),
            self._left_out(value, state),
        )

    def _left_out(self, value: Any, state: Any) -> bytes:
        """Attributes that pickling leaves out of an object of the user's own, as far as they have a content."""
        if library_of(type(value).__module__) is not None:
            return b""
        attributes = state[0] if isinstance(state, tuple) else state
        saved = attributes if isinstance(attributes, dict) else {}
        left = {name: item for name, item in sorted(getattr(value, "__dict__", {}).items()) if name not in saved}
        return _joined("left out", *(part for name, item in left.items() for part in (name, self._if_possible(item))))

    def _reduced(self, value: Any) -> Any:
        try:
            special = copyreg.dispatch_table.get(type(value))
            return special(value) if special is not None else value.__reduce_ex__(4)
        except Exception as error:
            raise self._refuse(f"of type {type(value).__name__}, whose content is not known: {error}") from None

    def _state(self, kind: type, state: Any) -> bytes:
        """Attributes by name, without those that are computed from the others."""
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):  # with slots
            return _joined("slots", self._state(kind, state[0]), self._state(kind, state[1]))
        if type(state) is not dict or not all(type(key) is str for key in state):
            return self.digest(state)
        cached = functools.cached_property
        return self._named(
            {key: item for key, item in state.items() if not isinstance(getattr(kind, key, None), cached)}
        )

    def _named(self, values: Mapping[str, Any]) -> bytes:
        """Values by name, in the order of the names."""
        parts = (part for name in sorted(values) for part in (name, self._within(name, values[name])))
        return _joined("named", *parts)


def _plain(value: Any) -> bytes | None:
    """Digest of a plain value; None for others."""
    if value is None or value is ... or value is NotImplemented or type(value) in (bool, int, range, complex):
        return _joined(type(value).__name__, repr(value))
    if type(value) is float:
        return _joined("float", struct.pack("<d", value))
    if type(value) is str:
        return _joined("str", value)
    if type(value) in (bytes, bytearray):
        return _joined(type(value).__name__, bytes(value))
    if isinstance(value, logging.Logger):
        return _joined("logger")  # it writes and computes nothing
    return None


def _joined(*parts: bytes | str | int) -> bytes:
    """Digest of parts in a row; no two different rows run together."""
    total = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        total.update(f"{type(part).__name__} {len(data)} ".encode() + data)
    return total.digest()


_HANDLERS: dict[type, Callable[[_Walk, Any], bytes]] = {
    **dict.fromkeys((tuple, list), _Walk._items),
    **dict.fromkeys((set, frozenset), _Walk._set),
    **dict.fromkeys((dict, types.MappingProxyType), _Walk._mapping),
    np.ndarray: _Walk._array,
    types.FunctionType: _Walk._function,
    types.CellType: _Walk._cell,
    types.CodeType: _Walk._code,
    types.MethodType: _Walk._method,
    types.BuiltinFunctionType: _Walk._builtin,
    types.MethodWrapperType: _Walk._builtin,
    **dict.fromkeys(
        (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType), _Walk._descriptor
    ),
    **dict.fromkeys((types.MemberDescriptorType, types.GetSetDescriptorType), _Walk._descriptor),
    property: _Walk._property,
    functools._lru_cache_wrapper: _Walk._wrapped,
    functools.cached_property: _Walk._cached_property,
    **dict.fromkeys((staticmethod, classmethod), _Walk._underlying),
}
