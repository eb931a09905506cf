"""Objects that do not change: an assignment to an attribute is an error that says how to make another object."""

from __future__ import annotations

import difflib
import inspect
from abc import ABCMeta
from typing import TYPE_CHECKING

from chasles.errors import ChaslesError

_UNDER_CONSTRUCTION = "_under_construction"


class SealedError(ChaslesError, AttributeError):
    """An attribute of a sealed object was assigned or deleted; the message says how to make another object."""


class _SealedClass(ABCMeta):
    """Seals an object when its construction, with the constructors of all its classes, is over."""

    if not TYPE_CHECKING:  # type checkers read the constructor of the class itself

        def __call__(cls, *args, **keywords):
            made = cls.__new__(cls, *args, **keywords)
            if isinstance(made, cls):
                made.__dict__[_UNDER_CONSTRUCTION] = True
                made.__init__(*args, **keywords)
                del made.__dict__[_UNDER_CONSTRUCTION]
            return made

        @property
        def __signature__(cls):
            signature = inspect.signature(cls.__init__)
            return signature.replace(parameters=tuple(signature.parameters.values())[1:])


class Sealed(metaclass=_SealedClass):
    """Base of objects whose attributes are assigned in ``__init__`` and never afterwards.

    A subclass is written as any class; so is a subclass of a user's. A dataclass is declared with
    ``@dataclass(eq=False)`` or, if it compares by its fields, ``@dataclass(unsafe_hash=True)``: ``frozen=True`` brings
    an ``__setattr__`` of its own, whose message says less. What is computed on demand is a
    `chasles.cached.cached_property`. Copies and pickles are sealed too.

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
    chasles.sealed.SealedError: a Gain never changes, so its kp cannot be assigned; make another one: Gain(kp=…)
    >>> Gain(3.0).kpp = 4.0
    Traceback (most recent call last):
        ...
    chasles.sealed.SealedError: a Gain never changes and has no attribute 'kpp'; did you mean 'kp'?
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
        """Return what to write for an object that differs in this attribute, if there is a way."""
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
        close = difflib.get_close_matches(name, [known for known in dir(self) if not known.startswith("_")], n=1)
        return f"{sealed} and has no attribute '{name}'" + (f"; did you mean '{close[0]}'?" if close else "")
