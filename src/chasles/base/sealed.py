"""Objects that never change: an assignment, or a misspelt member of a user's subclass, is an error that says so."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from functools import lru_cache
from typing import TYPE_CHECKING

from chasles.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    ChaslesError,
    UnknownArgumentError,
    UnknownNameError,
    nearest,
)

_UNDER_CONSTRUCTION = "_under_construction"
#: Members this similar to one of the base class (0 to 1) are taken for misspellings of it.
_SIMILAR = 0.8


class SealedError(ChaslesError, AttributeError):
    """An attribute of a sealed object was assigned or deleted; the message says how to make another object."""


class CheckedMembers(ABCMeta):
    """Metaclass of bases for users' classes: an object of a class with a misspelt or missing member cannot be made."""

    if not TYPE_CHECKING:  # type checkers read the constructor of the class itself

        def __call__(cls, *args, **keywords):
            """Make an object, and examine its class if that is a user's."""
            if cls.__abstractmethods__:
                _require_known_members(cls, ())
            try:
                instance = cls._construct(*args, **keywords)
            except TypeError as error:
                if isinstance(error, ChaslesError) or (refusal := _misfit(cls, args, keywords)) is None:
                    raise
                raise refusal from None
            if isinstance(instance, cls) and not _is_ours(cls):
                _require_known_members(cls, tuple(instance.__dict__))
            return instance

        def _construct(cls, *args, **keywords):
            return super().__call__(*args, **keywords)

        @property
        def __signature__(cls):
            signature = inspect.signature(cls.__init__)
            return signature.replace(parameters=tuple(signature.parameters.values())[1:])


class _SealedClass(CheckedMembers):
    """Seals an object when its construction, with the constructors of all its classes, is over."""

    if not TYPE_CHECKING:

        def _construct(cls, *args, **keywords):
            instance = cls.__new__(cls, *args, **keywords)
            if isinstance(instance, cls):
                instance.__dict__[_UNDER_CONSTRUCTION] = True
                instance.__init__(*args, **keywords)
                del instance.__dict__[_UNDER_CONSTRUCTION]
            return instance


def _misfit(
    cls: type, args: tuple[object, ...], keywords: dict[str, object]
) -> ArgumentError | UnknownNameError | None:
    """Return the message on arguments that a class does not take, or None if it takes them."""
    parameters = inspect.signature(cls).parameters
    try:
        inspect.signature(cls).bind(*args, **keywords)
    except TypeError as reason:
        unknown = next((name for name in keywords if name not in parameters), None)
        if unknown is not None:
            return UnknownArgumentError(f"argument of {cls.__name__}", unknown, parameters)
        return ArgumentTypeError(f"{cls.__name__}({', '.join(parameters)}): {reason}")
    return None


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


@lru_cache(maxsize=256)
def _require_known_members(cls: type, assigned: tuple[str, ...]) -> None:
    """Raise `ArgumentError` if a user's class misspells a member of the class of ours that it extends, or lacks one."""
    users_classes = [kind for kind in cls.__mro__ if not _is_ours(kind) and kind is not object]
    ours = [kind for kind in cls.__mro__ if _is_ours(kind)]
    base = next(iter(ours), Sealed)
    annotated = {name for kind in ours for name in inspect.get_annotations(kind)}
    defined = set(assigned).union(*map(vars, users_classes))
    _require_no_misspelling(cls, base, defined, annotated, _names_in_constructors(ours))
    missing = sorted(name for name in annotated - defined if not name.startswith("_") and not hasattr(cls, name))
    if missing and not getattr(cls, "__abstractmethods__", ()):
        raise ArgumentError(f"{cls.__name__} does not define {', '.join(missing)}, as a {base.__name__} must")


def _names_in_constructors(kinds: list[type]) -> set[str]:
    """Names that the constructors of classes use, among them those of the attributes that they assign."""
    constructors = [vars(kind)["__init__"] for kind in kinds if inspect.isfunction(vars(kind).get("__init__"))]
    return {name for constructor in constructors for name in constructor.__code__.co_names}


def _require_no_misspelling(
    cls: type, base: type, defined: set[str], annotated: set[str], assigned_by_us: set[str]
) -> None:
    """Raise `ArgumentError` if a class defines a name that is nearly that of a member of the base."""
    declared = {name for name in annotated.union(dir(base)) if not name.startswith("_")}
    for name in sorted(defined - declared - assigned_by_us):
        close = [] if name.startswith("_") else nearest(name, declared - defined, similarity=_SIMILAR)
        if close:
            raise ArgumentError(
                f"{cls.__name__} defines '{name}'; did you mean '{close[0]}'? Members of {base.__name__}: "
                f"{', '.join(sorted(declared))}"
            )


class Sealed(metaclass=_SealedClass):
    """Base of objects whose attributes are assigned in ``__init__`` and never afterwards.

    A subclass is written as any class; so is a subclass of a user's. A dataclass is declared with
    ``@dataclass(eq=False)`` or, if it compares by its fields, ``@dataclass(unsafe_hash=True)``: ``frozen=True`` brings
    an ``__setattr__`` of its own, whose message says less. What is computed on demand is a
    `chasles.base.cached.cached_property`. Copies and pickles are sealed too.

    A user's subclass is examined when an object of it is made: a public member whose name is nearly that of a member of
    the base, and a member without a default that is not defined, are errors.

    The message proposes the method ``with_<name>`` if there is one, or the constructor's parameter of that name. A
    class that knows more overrides `_how_to_change`.

    Examples
    --------
    >>> class Gain(Sealed):
    ...     def __init__(self, kp):
    ...         self.kp = kp
    >>> Gain(3.0).kp = 4.0
    Traceback (most recent call last):
        ...
    chasles.base.sealed.SealedError: a Gain never changes, so its kp cannot be assigned; make another one: Gain(kp=…)
    >>> Gain(3.0).kpp = 4.0
    Traceback (most recent call last):
        ...
    chasles.base.sealed.SealedError: a Gain never changes and has no attribute 'kpp'; did you mean 'kp'?
    """

    if not TYPE_CHECKING:  # with this method type checkers would accept the assignment of any attribute

        def __setattr__(self, name, value):
            if _UNDER_CONSTRUCTION not in self.__dict__:
                raise SealedError(self._refusal(name))
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if _UNDER_CONSTRUCTION not in self.__dict__:
            raise SealedError(self._refusal(name))
        object.__delattr__(self, name)

    def _how_to_change(self, name: str) -> str | None:
        """Return the code that makes an object with another value of this attribute, if there is a way."""
        if hasattr(type(self), f"with_{name}"):
            return f"use with_{name}(…), which returns another {type(self).__name__}"
        if name in inspect.signature(type(self)).parameters:
            return f"make another one: {type(self).__name__}({name}=…)"
        return None

    def _refusal(self, name: str) -> str:
        kind = type(self).__name__
        sealed = f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind} never changes"
        instead = self._how_to_change(name)
        if instead or hasattr(self, name):
            return f"{sealed}, so its {name} cannot be assigned" + (f"; {instead}" if instead else "")
        close = nearest(name, [known for known in dir(self) if not known.startswith("_")])
        return f"{sealed} and has no attribute '{name}'" + (f"; did you mean '{close[0]}'?" if close else "")
