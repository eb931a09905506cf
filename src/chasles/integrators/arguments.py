"""What `integrate` is called with: checks, and the batch flattened to runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine import Function, Layout, Program, trace
from chasles.engine.program.scalar import Array, Real
from chasles.integrators.adaptive import Problem
from chasles.integrators.integration import Floats

Parameters = Mapping[str, ArrayLike] | Sequence[ArrayLike]


@dataclass(frozen=True)
class GivenParameters:
    """Parameters of a right-hand side.

    Attributes
    ----------
    names, shapes, values
        Name, shape without batch axes and value of each.
    by_name
        Whether the function takes them as keywords.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    values: tuple[NDArray[np.float64], ...]
    by_name: bool


def checked_times(times: ArrayLike) -> Floats:
    """Return the times as an array, if they are in order."""
    try:
        wanted = np.asarray(times, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"times must be an array of numbers, not {times!r}") from None
    if wanted.ndim != 1 or wanted.size < 2:
        raise ArgumentError(f"times has shape {wanted.shape}; expected (K,) with at least two times")
    steps = np.diff(wanted)
    if not np.isfinite(wanted).all() or not ((steps > 0.0).all() or (steps < 0.0).all()):
        raise ArgumentError("times must be finite, and all increasing or all decreasing")
    return wanted


def checked_tolerances(rtol: SupportsFloat, atol: ArrayLike, n: int) -> tuple[float, Floats]:
    """Return the relative tolerance, and the absolute ones (n,)."""
    try:
        relative, absolute = float(rtol), np.broadcast_to(np.asarray(atol, dtype=float), (n,)).copy()
    except (TypeError, ValueError):
        expected = f"rtol must be a number, and atol a number or an array of shape ({n},)"
        raise ArgumentError(f"{expected}, not {rtol!r} and {atol!r}") from None
    if not (0.0 <= relative < 1.0 and (absolute >= 0.0).all() and np.isfinite(absolute).all()):
        raise ArgumentError(f"rtol must be from 0 to 1, and atol finite and not negative, not {rtol!r} and {atol!r}")
    if relative == 0.0 and not absolute.all():
        raise ArgumentError("rtol and atol are both 0 for a component of the state: no step is that accurate")
    return max(relative, 4.0 * float(np.finfo(float).eps)), absolute


def checked_count(name: str, value: object) -> int:
    """Return a number of steps."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ArgumentError(f"{name} must be a positive whole number, not {value!r}")
    return int(value)


def given_parameters(function: object, parameters: Parameters) -> GivenParameters:
    """Return the parameters in the order in which the function takes them, as arrays.

    Raises
    ------
    ArgumentError, UnknownNameError
        They are not those that a `chasles.Function` takes, have wrong shapes, or are no numbers.
    """
    if not callable(function):
        raise ArgumentError(f"function must be a function f(t, y, *parameters), not {function!r}")
    named = dict(parameters) if isinstance(parameters, Mapping) else None
    if isinstance(function, Function):
        further = function.program.inputs[2:]
        names, shapes = tuple(a.name for a in further), tuple(a.shape for a in further)
        if named is not None:
            for name in named:
                if name not in names:
                    raise UnknownNameError("argument of the function", name, names)
            parameters, named = [named[name] for name in names if name in named], None
        if len(parameters) != len(names):
            raise ArgumentError(
                f"the function takes {', '.join(names)} after t and y, not {len(parameters)} parameters"
            )
    else:
        names = tuple(named) if named is not None else tuple(f"parameters[{k}]" for k in range(len(parameters)))
        shapes = ((),) * len(names)
    given = list(named.values()) if named is not None else list(parameters)
    values = tuple(_value(*one) for one in zip(names, shapes, given, strict=True))
    return GivenParameters(names, shapes, values, named is not None)


def _value(name: str, shape: tuple[int, ...], value: object) -> NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"parameter {name} must be a number or an array, not {value!r}") from None
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        wanted = ", ".join(["...", *map(str, shape)])
        raise ArgumentError(f"parameter {name} has shape {array.shape}; expected ({wanted})")
    return array


def flattened(state: Floats, times: Floats, given: GivenParameters) -> tuple[Problem, tuple[int, ...]]:
    """Return the problem with its batch flattened, and the shape of the batch."""
    batches = [value.shape[: value.ndim - len(shape)] for value, shape in zip(given.values, given.shapes, strict=True)]
    try:
        batch = np.broadcast_shapes(state.shape[:-1], *batches)
    except ValueError:
        listing = ", ".join(f"{name} {shape}" for name, shape in zip(given.names, batches, strict=True))
        raise ArgumentError(f"batch axes do not broadcast: y0 {state.shape[:-1]}, {listing}") from None
    flat = np.broadcast_to(state, (*batch, state.shape[-1])).reshape(-1, state.shape[-1])
    shared = tuple(all(size == 1 for size in shape) for shape in batches)
    parameters = tuple(
        value.reshape(shape) if same else np.broadcast_to(value, (*batch, *shape)).reshape(-1, *shape)
        for value, shape, same in zip(given.values, given.shapes, shared, strict=True)
    )
    return Problem(flat, times, parameters, shared), batch


def rates_program(function: Callable[..., Any], layout: Layout, given: GivenParameters) -> Program:
    """Return the right-hand side as a program of (t, y, *parameters) with one output."""
    if isinstance(function, Function) and [a.shape for a in function.program.inputs[:2]] != [(), (layout.size,)]:
        usage = ", ".join(f"{a.name} {a.shape}" for a in function.program.inputs)
        raise ArgumentError(f"the function takes ({usage}); expected t () and y ({layout.size},) first, as y0 has")
    if isinstance(function, Function) and [a.shape for a in function.program.outputs] == [(layout.size,)]:
        return function.program

    def rates(t: Real, y: Array, *parameters: Real) -> Array:
        if given.by_name:
            returned = function(t, y, **dict(zip(given.names, parameters, strict=True)))
        else:
            returned = function(t, y, *parameters)
        try:
            return layout.join(returned)
        except ArgumentError as error:
            raise ArgumentError(f"the function must return the rates of the state, shaped as y0 is: {error}") from None

    name = str(getattr(function, "__name__", "function"))
    further = {f"parameters.{k}": shape for k, shape in enumerate(given.shapes)}
    inputs = {"t": (), "y": layout.shapes, **further}
    return trace(rates, inputs, name=name if name.isidentifier() else "rates", outputs=["rates"])


def state_layout(y0: Any) -> tuple[Layout, NDArray[np.float64]]:
    """Layout of a state, and its values (..., n) in one array.

    Raises
    ------
    ArgumentError
        It is not an array (..., n), or a mapping of such arrays, of finite numbers.

    Examples
    --------
    >>> layout, y = state_layout({"q": [0.1, 0.2], "qd": [1.0, 2.0]})
    >>> y, layout.split(y).qd
    (array([0.1, 0.2, 1. , 2. ]), array([1., 2.]))
    """
    if not isinstance(y0, Mapping):
        y = _checked(y0, "y0")
        return Layout(y.shape[-1:]), y
    arrays = {name: _checked(value, f"y0['{name}']") for name, value in y0.items()}
    layout = Layout({name: array.shape[-1:] for name, array in arrays.items()})
    return layout, layout.join(arrays)


def _checked(value: Any, what: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be an array of numbers, not {value!r}") from None
    if array.ndim < 1 or array.shape[-1] == 0:
        raise ArgumentError(f"{what} has shape {array.shape}; expected (..., n), of one number (1,)")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what} must be finite")
    return array
