"""Proof that the code in memory is that of the library's files, as they were before this process read them.

What a trace gives depends on the functions that run in it. A result that is kept for later processes must therefore
belong to files that can be named, and not to functions that a test or a user has replaced. Three steps prove it:

- Each package calls `watch` at the end of its ``__init__``. The modules that were imported since that file began are
  as their files made them: no other code ran in between. What the names in modules, classes and tables refer to, and
  the code of the functions, is remembered.
- `intact` compares all this with what is there now, by identity.
- `fingerprint` tells the files by place, size and times of change, and refuses files that changed after this process
  began: memory may then hold either text.

Replaced functions of NumPy or of Python itself are not noticed.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter, is_
from types import CellType, FunctionType, ModuleType

from chasles.cached import cached_property

_LIBRARY = f"{__name__.partition('.')[0]}."
#: Modules that no trace runs.
_ASIDE = (f"{__package__}.targets", f"{_LIBRARY}model.formats", f"{_LIBRARY}interop")
_BEGAN = time.time_ns()
#: The coarsest resolution of file systems' times, in ns.
_RESOLUTION = 2_000_000_000
_BUILTINS = frozenset(vars(builtins))
_CLOSURE = attrgetter("__closure__")
_PARTS = tuple(map(attrgetter, ("__code__", "__defaults__", "__kwdefaults__", "__closure__")))


class _Namespace:
    """Names with what they referred to: of a module, of a class, or entries of a table."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self._names = names
        # A module's file is a name in its package too, which a function of the same name may replace when it comes.
        kept = {name: value for name, value in names.items() if not _is_file_of(value, names)}
        self._keys = tuple(kept)
        self._values = tuple(kept.values())

    def is_unchanged(self) -> bool:
        """Whether the names refer to the same objects; a new name must not hide a builtin one."""
        if len(self._names) == len(self._keys):
            return all(map(is_, self._names.values(), self._values))
        hides = not _BUILTINS.isdisjoint(self._names.keys() - self._keys)
        return not hides and all(map(is_, map(self._names.get, self._keys), self._values))


def _is_file_of(value: object, names: Mapping[str, object]) -> bool:
    return isinstance(value, ModuleType) and value.__name__.rpartition(".")[0] == names.get("__name__")


class _Functions:
    """Functions with what they consist of."""

    def __init__(self, functions: Sequence[FunctionType]) -> None:
        self._functions = functions
        self._parts = tuple(self._now())

    def is_unchanged(self) -> bool:
        """Whether each has the code, the defaults and the enclosed values that it had."""
        return all(map(is_, self._now(), self._parts))

    def _now(self) -> Iterator[object]:
        every = self._functions
        closures = [closure for closure in map(_CLOSURE, every) if closure]
        return chain(*(map(part, every) for part in _PARTS), map(_enclosed, chain(*closures)))


def _enclosed(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


_watched: dict[str, list[_Namespace | _Functions]] = {}


def watch(package: str) -> None:
    """Remember the modules of the library that were imported since a package's ``__init__`` began to run.

    A module moves to the end of `sys.modules` once it has run, so these stand behind the package. It must be called at
    the end of the ``__init__``.
    """
    names = list(sys.modules)
    for name in names[names.index(package) :]:
        if name.startswith(_LIBRARY) and name not in _watched and not name.startswith(_ASIDE):
            _watched[name] = _content(sys.modules[name])


def _content(module: ModuleType) -> list[_Namespace | _Functions]:
    """What decides how a module computes."""
    names = [value for value in vars(module).values() if not isinstance(value, ModuleType)]
    own = [value for value in names if getattr(value, "__module__", None) == module.__name__]
    classes = [value for value in own if isinstance(value, type)]
    functions = [value for value in own if isinstance(value, FunctionType)]
    for thing in own:
        if hasattr(thing, "__dict__") and not isinstance(
            thing, FunctionType
        ):  # methods, and functions that objects hold
            functions += filter(None, map(_function, vars(thing).values()))
    tables = [value for value in names if isinstance(value, dict) and value is not vars(builtins)]
    spaces = [_Namespace(space) for space in (vars(module), *map(vars, classes), *tables)]
    return [*spaces, _Functions(functions)]


def _function(value: object) -> FunctionType | None:
    """The function that a method, a property or a decorated function runs."""
    if isinstance(value, FunctionType):
        return value
    if isinstance(value, staticmethod | classmethod):
        return _function(value.__func__)
    if isinstance(value, property):
        return _function(value.fget)
    return _function(value.func) if isinstance(value, cached_property) else None


def intact() -> bool:
    """Whether all that was remembered is there unchanged."""
    return all(part.is_unchanged() for parts in _watched.values() for part in parts)


def watches(module: str) -> bool:
    """Whether a module is one of those that are remembered."""
    return module in _watched


def is_watched(function: object) -> bool:
    """Whether a function is one that a watched module defines under its own name."""
    home, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    return home in _watched and vars(sys.modules[home]).get(name) is function


@cache
def fingerprint() -> str | None:
    """Return a hash that tells the files of all watched modules, or None if they cannot be told for certain."""
    facts: list[object] = [sys.version, sys.flags.optimize]
    for name in sorted(_watched):
        path = getattr(sys.modules[name], "__file__", None)
        try:
            status = os.stat(path or "")
        except OSError:
            return None
        if max(status.st_mtime_ns, status.st_ctime_ns) > _BEGAN - _RESOLUTION:
            return None
        facts.append((path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return hashlib.sha256(repr(facts).encode()).hexdigest()
