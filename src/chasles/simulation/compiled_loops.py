"""Compiled loops of the last simulations, so that the next one of the same kind neither traces nor loads anything."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from threading import Lock
from types import FunctionType
from typing import Any, cast

import numpy as np

from chasles.engine import Function
from chasles.model import Description
from chasles.robot import Robot
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.references import TangentReference, TracedReference

#: Loops that are kept; each holds its machine code, about a megabyte.
_KEPT = 16
_loops: OrderedDict[Hashable, tuple[dict[str, Function], Any]] = OrderedDict()
_lock = Lock()


class _NotFrozenError(Exception):
    """A value may change without notice."""


def compiled_function(loop: ClosedLoop, name: str, make: Callable[[ClosedLoop], Function] | None = None) -> Function:
    """Compiled function of a loop, from the last simulations if one was like this.

    What a loop computes depends on the values of all attributes of controller, reference and plant. They are compared
    one by one; where they hold what cannot be compared (a function of the user's, which may change with what it refers
    to), the loop is traced anew.

    Parameters
    ----------
    loop
        The loop.
    name
        Attribute of the loop that is the function, such as ``"scan"``, or the name of what ``make`` makes.
    make
        Makes a function of the loop that is none of its attributes.
    """
    found = getattr if make is None else (lambda loop, _: make(loop))
    try:
        key, kept = _key(loop)
    except (_NotFrozenError, RecursionError):
        return cast(Function, found(loop, name))
    with _lock:
        functions, _ = _loops.setdefault(key, ({}, kept))  # keeps alive what the key knows by its place in memory
        _loops.move_to_end(key)
        while len(_loops) > _KEPT:
            _loops.popitem(last=False)
    if name not in functions:
        functions[name] = found(loop, name)
    return functions[name]


def _key(loop: ClosedLoop) -> tuple[Hashable, list[Any]]:
    kept: list[Any] = []
    parts = [
        _frozen(loop.plant.robot, kept),
        *(_frozen(effect, kept) for effect in loop.plant.effects.items()),
        _frozen(loop.controller, kept),
        _frozen_reference(loop, kept),
        *(loop.varied, loop.period, loop.substeps, _frozen(loop.integrator, kept), loop.delay, loop.audit),
        *((name, _frozen(source.shapes, kept)) for name, source in loop.further.items()),
        *(loop.record_memory, loop.effort_limits, loop.velocity_limits, loop.estimates_errors),
    ]
    return tuple(parts), kept


def _frozen_reference(loop: ClosedLoop, kept: list[Any]) -> Hashable:
    """Sampled references differ in what they give, traced ones in their formula too."""
    reference, start = loop.reference, loop.reference.start_time
    if isinstance(reference, TangentReference):
        reference = reference.curve
    if isinstance(reference, TracedReference):
        return _frozen(reference.reference, kept), start
    return type(reference), _frozen(reference.shapes, kept), start


def _frozen(value: object, kept: list[Any]) -> Hashable:
    """A key that is equal for values that compute the same."""
    if value is None or isinstance(value, str | bytes | bool | int | float | slice):
        return type(value), value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, value.dtype.str, value.tobytes()
    library = str(getattr(value, "__module__", "")).startswith("chasles.")
    plain = isinstance(value, FunctionType) and library and value.__closure__ is None
    if plain or isinstance(value, Robot | Description | Function | type):
        kept.append(value)  # they never change
        return id(value)
    if isinstance(value, tuple | list):
        return type(value), tuple(_frozen(item, kept) for item in value)
    if isinstance(value, Mapping):
        return type(value), tuple((_frozen(key, kept), _frozen(item, kept)) for key, item in value.items())
    if type(value).__module__.startswith("chasles.") and hasattr(value, "__dict__"):
        # The classes of this library compute from their attributes alone.
        kept.append(type(value))
        return type(value), tuple((key, _frozen(item, kept)) for key, item in vars(value).items())
    raise _NotFrozenError
