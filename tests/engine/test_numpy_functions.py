"""NumPy's functions of traced values: what they give of numbers, or a sentence that names them, and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import overrides

import chasles as ch
from chasles.base.errors import ChaslesError, TraceError
from chasles.engine import trace

VALUES = {
    "x": np.array([0.3, -0.6, 0.8]),
    "y": np.array([-0.7, 0.4, 0.5]),
    "A": np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]),
    "s": np.float64(0.4),
}
SHAPES = {name: np.shape(value) for name, value in VALUES.items()}
Call = Callable[[Any, Any, Any, Any, Any], Any]
#: Ways of calling a function f of vectors x and y, a matrix A and a number s.
CALLS: dict[str, Call] = {
    "x": lambda f, x, y, A, s: f(x),
    "s": lambda f, x, y, A, s: f(s),
    "A": lambda f, x, y, A, s: f(A),
    "x, y": lambda f, x, y, A, s: f(x, y),
    "x, s": lambda f, x, y, A, s: f(x, s) if isinstance(f, np.ufunc) else f(x, 2.0),
    "0.1, x": lambda f, x, y, A, s: f(0.1, x),
    "A, x": lambda f, x, y, A, s: f(A, x),
    "A, A": lambda f, x, y, A, s: f(A, A),
    "A, 1": lambda f, x, y, A, s: f(A, 1),
    "A, axis": lambda f, x, y, A, s: f(A, axis=0),
    "x, -0.5, 0.5": lambda f, x, y, A, s: f(x, -0.5, 0.5),
    "x, x, y": lambda f, x, y, A, s: f(x, x, y),
    "(x, y)": lambda f, x, y, A, s: f((x, y)),
    "condition, x, y": lambda f, x, y, A, s: f(x > y, x, y),
    "condition": lambda f, x, y, A, s: f(x > y),
    "numbers, x": lambda f, x, y, A, s: f(np.array([1.0, 2.0, 4.1]), x),
    "text": lambda f, x, y, A, s: f("ij,j->i", A, x),
}
#: Functions that write to files or into their arguments, or that read the memory of their arguments.
LEFT_OUT = {"save", "savez", "savez_compressed", "savetxt", "copyto", "fill_diagonal", "put", "place", "putmask"}
LEFT_OUT |= {"frombuffer"}
LEFT_OUT |= {"eigh"}  # eigenvectors of either sign are right: linear/test_symmetric_eigenvalues


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for ufunc in overrides.get_overridable_numpy_ufuncs():
        yield ufunc.__name__, ufunc
    for function in overrides.get_overridable_numpy_array_functions():
        if function.__name__ not in LEFT_OUT:
            yield f"{function.__module__}.{function.__name__}".removeprefix("numpy."), function


FUNCTIONS = dict(sorted(functions(), key=lambda pair: pair[0]))


def numbers(result: Any) -> list[np.ndarray] | None:
    """Return the arrays of numbers that a call gave, or None if it gave anything else."""
    parts = result if isinstance(result, tuple) else (result,)
    arrays = [np.asarray(part) for part in parts if isinstance(part, np.ndarray | np.number | float)]
    if len(arrays) != len(parts) or not arrays or not all(array.dtype.kind == "f" for array in arrays):
        return None
    return arrays


def outcomes(function: Callable[..., Any], change: Callable[[Any], Any]) -> list[str]:
    """Return what is wrong with calls of a function on traced values, of those that it takes on numbers."""
    wrong = []
    for name, call in CALLS.items():
        try:
            expected = numbers(call(function, *map(np.copy, VALUES.values())))
        except Exception:
            continue
        if expected is None:
            continue
        try:
            program = trace(lambda *given, call=call: call(function, *map(change, given)), SHAPES)
        except ChaslesError:
            continue
        except Exception as error:
            wrong.append(f"({name}): {type(error).__name__}: {error}")
            continue
        flat = np.concatenate([value.ravel() for value in VALUES.values()])
        found = np.array(program.replay(list(flat)))
        truth = np.concatenate([array.ravel() for array in expected])
        if [a.shape for a in program.outputs] != [a.shape for a in expected]:
            wrong.append(f"({name}): shapes {[a.shape for a in program.outputs]} for {[a.shape for a in expected]}")
        elif not np.allclose(found, truth, rtol=1e-12, atol=1e-12, equal_nan=True):
            wrong.append(f"({name}): {found} for {truth}")
    return wrong


def remade(value: Any) -> Any:
    """Return the same values in an array of the caller's own."""
    return np.array(value.tolist()) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("change", [lambda value: value, remade], ids=["arguments", "own arrays"])
@pytest.mark.filterwarnings("ignore")
def test_every_function_gives_the_right_value_or_says_that_it_does_not_know_traced_values(change: Any) -> None:
    assert len(FUNCTIONS) > 300
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        wrong = {name: found for name, function in FUNCTIONS.items() if (found := outcomes(function, change))}
    assert not wrong


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y, A, s: np.clip(x, -0.5, 0.5),
        lambda x, y, A, s: np.clip(A @ x, None, s),
        lambda x, y, A, s: x.clip(-0.5, s),
        lambda x, y, A, s: np.maximum(0.0, np.minimum(x, y)),
        lambda x, y, A, s: np.where((x > 0.0) & (y < 0.5), x, -y),
        lambda x, y, A, s: np.where(s > 0.0, A, 2.0 * A),
        lambda x, y, A, s: np.linalg.norm(x),
        lambda x, y, A, s: np.linalg.norm(A, axis=1),
        lambda x, y, A, s: np.linalg.norm(A),
        lambda x, y, A, s: np.linalg.det(A),
        lambda x, y, A, s: np.linalg.solve(A, x) + np.linalg.solve(A, np.eye(3))[0],
        lambda x, y, A, s: np.linalg.inv(np.stack([np.stack([x[0], 1.0]), np.stack([0.0, s])])) @ y[:2],
        lambda x, y, A, s: np.linalg.inv(A - 2.0 * np.eye(3)) @ y,
        lambda x, y, A, s: np.cross(x, y) + np.sign(x) * np.abs(y),
        lambda x, y, A, s: np.max(x) - x.min(),
        lambda x, y, A, s: np.max(A, axis=1),
        lambda x, y, A, s: np.mean(A, axis=0) + np.sum(x) + x.mean(),
        lambda x, y, A, s: np.hypot(x, y) + np.square(x) + np.deg2rad(y),
        lambda x, y, A, s: np.concatenate([x, np.ceil(y), np.diff(x)]),
        lambda x, y, A, s: np.where(np.all(np.abs(x) < 1.0), x @ y, s),
        lambda x, y, A, s: np.einsum("ij,j", A, x) + np.outer(x, y)[0],
    ],
)
@pytest.mark.parametrize(
    "values", [VALUES, {name: -value for name, value in VALUES.items()}], ids=["given", "negative"]
)
def test_formulas_with_numpys_functions_compile_to_what_they_give_of_numbers(
    formula: Callable[..., Any], values: dict[str, Any]
) -> None:
    np.testing.assert_allclose(ch.function(**SHAPES)(formula)(*values.values()), formula(*values.values()), rtol=1e-14)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (lambda x, y, A, s: np.linalg.pinv(A), r"np\.linalg\.pinv knows no .*np\.linalg\.solve"),
        (lambda x, y, A, s: np.linalg.eigvals(A), r"np\.linalg\.eigvals knows no"),
        (lambda x, y, A, s: np.sort(x), r"np\.sort knows no .*minimum and maximum"),
        (lambda x, y, A, s: np.argmax(x), r"np\.argmax knows no .*where"),
        (lambda x, y, A, s: np.round(x), r"np\.(round|around) knows no .*floor\(x \+ 0\.5\)"),
        (lambda x, y, A, s: np.interp(s, [0.0, 1.0], [2.0, 3.0]), r"np\.interp knows no .*each interval"),
        (lambda x, y, A, s: np.interp(x, [0.0, 1.0, 2.0], [2.0, 3.0, 4.0]), r"np\.interp knows no .*each interval"),
        (lambda x, y, A, s: np.isnan(x), r"np\.isnan knows no .*x != x"),
        (lambda x, y, A, s: np.linalg.norm(x, 1), r"np\.linalg\.norm knows no .*order 1"),
        (lambda x, y, A, s: np.where(x), r"np\.where knows no"),
        (lambda x, y, A, s: np.any(x), r"np\.any knows no .*compare the values"),
        (lambda x, y, A, s: np.linalg.inv(np.array([[x[0], 1.0], [0.0, s]])), r"np\.linalg\.inv knows no .*np\.stack"),
        (lambda x, y, A, s: np.rint(np.array([x[0], 1.0])), r"np\.rint knows no|rint"),
        (lambda x, y, A, s: np.zeros(3).__iadd__(x), r"np\.add knows no"),
    ],
)
def test_what_is_refused_is_named_with_what_to_write(formula: Callable[..., Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        trace(formula, SHAPES)


def test_mistakes_that_have_nothing_to_do_with_traced_values_are_told_as_numpy_does() -> None:
    with pytest.raises(ValueError, match="could not be broadcast") as raised:
        trace(lambda x, y, A, s: x + np.zeros(2), SHAPES)
    assert not isinstance(raised.value, TraceError)
    with pytest.raises(np.linalg.LinAlgError):
        trace(lambda x, y, A, s: x + np.linalg.inv(np.zeros((3, 3))) @ x, SHAPES)
    with pytest.raises(ZeroDivisionError):
        trace(lambda x, y, A, s: x + 1 // 0, SHAPES)


@pytest.mark.parametrize("point", [(3e200, 4e200), (3e-200, 4e-200), (0.0, 0.0), (0.0, -2.0), (-5.0, 12.0)])
def test_the_hypotenuse_neither_overflows_nor_vanishes(point: tuple[float, float]) -> None:
    program = trace(lambda x, y: np.hypot(x, y), {"x": (), "y": ()}, name="hypotenuse")
    assert program.replay(list(point)) == pytest.approx([np.hypot(*point)], rel=4e-16, abs=0.0)
