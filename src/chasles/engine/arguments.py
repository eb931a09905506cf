"""Arguments of compiled functions: arrays out of what a caller gives, and sentences about what does not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError, ArgumentTypeError, UnknownArgumentError
from chasles.engine.kernels.shapes import CoreArray
from chasles.engine.program.scalar import Traced

_LONGEST_SHOWN = 60


def as_array(argument: Any, usage: str, name: str) -> Any:
    """Return an argument as an array of real numbers.

    Traced scalars, and arrays of libraries that take NumPy's functions over (Dask's, for one), come back as they are.

    Parameters
    ----------
    argument
        A number, a list, an array or what turns into one: also an array of another library in main memory, whose
        memory is used (DLPack).
    usage, name
        How the function is called (empty where that is clear), and the argument's name, for messages.

    Raises
    ------
    ArgumentError
        If it is no array of real numbers, lies on an accelerator, is traced by another library, or has masked
        elements.
    """
    if type(argument) is np.ndarray:
        array = argument
    elif _stays(argument, usage, name):
        return argument
    else:
        array = _converted(argument, usage, name)
    if array.dtype.kind not in "fiub":
        return _of_other_elements(array, argument, usage, name)
    if array.dtype.itemsize > 8:  # long doubles, which ufuncs do not narrow by themselves
        return array.astype(np.float64)
    return array


def _stays(argument: Any, usage: str, name: str) -> bool:
    """Whether an argument is a traced scalar, or an array of a library that takes NumPy's functions over."""
    if isinstance(argument, Traced):
        return True
    kind = type(argument)
    if not hasattr(kind, "__array_ufunc__") or isinstance(argument, (np.ndarray, np.generic)) or _is_table(kind):
        return False
    if _library(argument) == "casadi" and kind.__name__ != "DM":  # whose symbols would take NumPy's functions
        raise ArgumentTypeError(f"{_called(usage, name)} is a symbol of CasADi{_function_for(argument)}")
    return True


def _converted(argument: Any, usage: str, name: str) -> np.ndarray[Any, Any]:
    """Return an array of what NumPy, or DLPack, turns into one."""
    if isinstance(argument, np.ndarray) and np.ma.is_masked(argument):
        raise ArgumentError(f"{_called(usage, name)} has masked elements; fill them first, as with {name}.filled(0.0)")
    try:
        array = np.asarray(argument)
        if array.dtype.kind == "O" and hasattr(argument, "__dlpack__") and not isinstance(argument, np.ndarray):
            array = np.from_dlpack(argument)  # on the same memory
    except ValueError:
        raise ArgumentError(f"{_called(usage, name)} is a ragged list; it must be an array of numbers") from None
    except (TypeError, RuntimeError, BufferError) as error:  # such as a tensor that lies on another device
        reason = f" does not turn into an array: {_first_sentence(error)}{_function_for(argument)}"
        raise ArgumentTypeError(_called(usage, name) + reason) from None
    return array


def _of_other_elements(array: np.ndarray[Any, Any], argument: Any, usage: str, name: str) -> np.ndarray[Any, Any]:
    """Return an array of elements that no NumPy number type holds as numbers, or raise."""
    if array.dtype.kind == "V" and array.dtype.names is None and np.can_cast(array.dtype, np.float32):  # bfloat16
        return array.astype(np.float32)
    numbers = _of_objects(array, usage, name) if array.dtype.kind == "O" else None
    if numbers is None:
        described = f"{shown(argument)}{_function_for(argument)}"
        raise ArgumentTypeError(f"{_called(usage, name)} must be an array of real numbers, not {described}")
    return numbers


def _library(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _first_sentence(error: Exception) -> str:
    """Return the first line of a message, in which its library says what is wrong."""
    return str(error).partition("\n")[0]


#: Names with which functions are exported to other libraries, by the packages of these.
_EXPORTS = {"jax": "to_jax", "jaxlib": "to_jax", "torch": "to_torch", "casadi": "to_casadi", "sympy": "to_sympy"}


def _function_for(argument: object) -> str:
    """Return advice on values of another library that it must see itself, as when it traces or differentiates."""
    export = _EXPORTS.get(_library(argument))
    return (
        f"; what another library traces or differentiates needs the function that {export}() returns" if export else ""
    )


def _of_objects(array: np.ndarray[Any, Any], usage: str, name: str) -> np.ndarray[Any, Any] | None:
    """Return an array of Python's numbers as doubles, one with traced scalars as it is, and None for other objects."""
    if any(isinstance(item, Traced) for item in array.ravel()):
        return array  # the caller traces it
    if not all(isinstance(item, int | float | np.integer | np.floating) for item in array.ravel()):
        return None
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise ArgumentError(f"{_called(usage, name)} holds a whole number too large for a double") from None


def in_order(
    usage: str,
    names: Sequence[str],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    defaults: Mapping[str, object],
) -> list[Any]:
    """Return positional and keyword arguments in the order of their names, or raise."""
    if len(arguments) > len(names):
        raise TypeError(f"{usage} takes {len(names)} arguments, not {len(arguments)}")
    given = dict(zip(names, arguments, strict=False))
    for name, value in named.items():
        if name not in names:
            raise UnknownArgumentError(f"argument of {usage}", name, [*names, "out"])
        if name in given:
            raise TypeError(f"{usage} is given {name} twice, by place and by name")
        given[name] = value
    given = {**defaults, **given}
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{usage} misses {', '.join(missing)}")
    return [given[name] for name in names]


def defaults_of(plain: Callable[..., object], names: list[str]) -> dict[str, object]:
    """Return the defaults that a plain function has for its arguments, whose places must be those of their names."""
    try:
        parameters = inspect.signature(plain).parameters
    except (TypeError, ValueError):  # some callables written in C have no signature
        return {}
    shared = [name for name in parameters if name in names]
    if shared != list(parameters)[: len(shared)] or shared != names[: len(shared)]:
        raise ArgumentError(
            f"{getattr(plain, '__name__', 'the function')} takes {', '.join(parameters)} in this order; "
            f"name the shapes in the same one, not {', '.join(names)}"
        )
    return {
        name: parameters[name].default for name in shared if parameters[name].default is not inspect.Parameter.empty
    }


def explained(
    error: Exception,
    usage: str,
    cores: Sequence[CoreArray],
    arguments: Sequence[Any],
    outputs: Sequence[CoreArray] = (),
    out: Any = None,
) -> Exception:
    """Return an `ArgumentError` that names the argument that does not fit, or the error itself if all do.

    ``outputs`` are the results of the function, ``out`` is what was given for them.
    """
    sizes: dict[str, tuple[str, int]] = {}
    batches: dict[str, tuple[int, ...]] = {}
    for core, argument in zip(cores, arguments, strict=True):
        shape = np.shape(argument)
        batches[core.name] = shape[: max(len(shape) - len(core.dims), 0)]
        if misfit := _misfit(shape, core, sizes):
            return ArgumentError(f"{usage}: {core.name} has shape {shape}{misfit}")
    try:
        common = np.broadcast_shapes(*batches.values())
    except ValueError:
        axes = ", ".join(f"{name} {batch}" for name, batch in batches.items() if batch)
        return ArgumentError(f"{usage}: the batch axes of the arguments do not broadcast: {axes}")
    for core, array in zip(outputs, out if isinstance(out, tuple) else (out,), strict=False):
        expected = (*common, *(sizes[dim][1] if isinstance(dim, str) else dim for dim in core.dims))
        if isinstance(array, np.ndarray) and array.shape != expected:
            name = f"out, for {core.name}," if isinstance(out, tuple) else "out"
            return ArgumentError(f"{usage}: {name} has shape {array.shape}; expected {expected}")
    return error if usage.split("(")[0] in str(error) else type(error)(f"{usage}: {error}")


def _misfit(shape: tuple[int, ...], core: CoreArray, sizes: dict[str, tuple[str, int]]) -> str:
    """Return why a shape does not fit an argument, or an empty text; note the sizes of named axes and who has them."""
    core_shape = shape[max(len(shape) - len(core.dims), 0) :]
    fits = len(core_shape) == len(core.dims)
    for dim, size in zip(core.dims, core_shape, strict=False):
        if isinstance(dim, int):
            fits &= dim == size
        elif sizes.setdefault(dim, (core.name, size))[1] != size:
            other, expected = sizes[dim]
            return f", which does not fit {expected} of {other}"
    if fits:
        return ""
    dims = ", ".join(["...", *map(str, core.dims)])
    transposed = "; is it transposed?" if _would_fit(shape[::-1], core) else ""
    return f"; expected ({dims}){transposed}"


def _would_fit(shape: tuple[int, ...], core: CoreArray) -> bool:
    core_shape = shape[len(shape) - len(core.dims) :] if len(shape) >= len(core.dims) else ()
    return bool(core_shape) and all(
        not isinstance(dim, int) or dim == size for dim, size in zip(core.dims, core_shape, strict=True)
    )


def _is_table(kind: type) -> bool:
    """Whether a type is one of pandas', whose functions would align rows by their labels."""
    return kind.__module__.partition(".")[0] == "pandas"


def _called(usage: str, name: str) -> str:
    return f"{usage}: {name}" if usage else name


def shown(value: object) -> str:
    """Return the repr of a value, cut so that a large one does not flood a message."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def undeclared_shapes(plain: object) -> ArgumentTypeError:
    """Return the message on a function that cannot be compiled without the shapes of its arguments."""
    names = list(inspect.signature(plain).parameters) if callable(plain) else []
    shapes = ", ".join(f"{name}=()" if k else f"{name}=(3,)" for k, name in enumerate(names or ["x", "k"]))
    return ArgumentTypeError(
        f"{getattr(plain, '__name__', 'the function')} needs the shapes of its arguments without batch axes: write "
        f"@chasles.function({shapes}) above it, with (3,) for vectors of three and () for numbers"
    )
