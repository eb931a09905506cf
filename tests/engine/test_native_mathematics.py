"""The elementary functions of the native target, measured in units in the last place against exact values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.thinning import paired

import chasles.engine as engine
from chasles.engine import Function, trace

mpmath.mp.prec = 200

# Function, name in mpmath, NumPy's function in long double for many points, and the ranges tested.
CASES = {
    "exp": (np.exp, [(-745.0, 709.7), (-1.0, 1.0)]),
    "log": (np.log, [(1e-3, 1e3), (0.5, 2.0), (1e-320, 1e-300), (1e290, 1e308)]),
    "tan": (np.tan, [(-1.5, 1.5), (-1e6, 1e6)]),
    "asin": (np.arcsin, [(-1.0, 1.0), (0.999999, 1.0), (-1e-8, 1e-8)]),
    "acos": (np.arccos, [(-1.0, 1.0), (0.999999, 1.0), (-1.0, -0.999999)]),
    "atan": (np.arctan, [(-1.0, 1.0), (-100.0, 100.0), (1e10, 1e300)]),
    "sinh": (np.sinh, [(-1.0, 1.0), (-30.0, 30.0), (-710.0, 710.0)]),
    "cosh": (np.cosh, [(-1.0, 1.0), (-30.0, 30.0), (-710.0, 710.0)]),
    "tanh": (np.tanh, [(-1.0, 1.0), (-30.0, 30.0), (-1e-6, 1e-6)]),
}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 5e-324, 1e-310])


def compiled(name: str, dtype: str = "float64") -> Function:
    return Function(trace(getattr(engine, name), {"x": ()}, name=name), dtype=dtype)


def ulp_error(computed: np.ndarray, exact: np.ndarray) -> float:
    spacing = np.spacing(np.abs(exact).astype(computed.dtype)).astype(np.longdouble)
    return float(np.max(np.abs(computed.astype(np.longdouble) - exact) / spacing))


def samples(ranges: list[tuple[float, float]]) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.concatenate([rng.uniform(low, high, 100_000) for low, high in ranges])


@pytest.mark.parametrize("name", CASES)
def test_functions_are_accurate_to_four_units_in_the_last_place(name: str) -> None:
    reference, ranges = CASES[name]
    x = samples(ranges)
    assert ulp_error(compiled(name)(x), reference(x.astype(np.longdouble))) <= 4.0


@pytest.mark.parametrize(("size", "name"), paired([1e-3, 0.8, 10.0, 1e3, 1e6], ["sin", "cos"]))
def test_sine_and_cosine_are_accurate_to_one_and_a_half_units(name: str, size: float) -> None:
    x = np.random.default_rng(2).uniform(-size, size, 300_000)
    exact = getattr(np, name)(x.astype(np.longdouble))
    # Long double cannot tell the last bits of a result near zero after a large reduction: mpmath judges those below.
    clear = np.abs(exact) > 1e-3 if size > 1e3 else np.ones(x.shape, bool)
    assert ulp_error(compiled(name)(x)[clear], exact[clear]) <= 1.5


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_near_their_zeros(name: str) -> None:
    """The doubles nearest to multiples of π/2, where nearly all digits cancel in the reduction."""
    multiples = np.unique(np.random.default_rng(3).integers(1, 636_000, 3_000))
    x = np.array([float(mpmath.pi / 2 * int(k)) for k in multiples])
    x = x[x <= 1e6]
    exact = [getattr(mpmath, name)(mpmath.mpf(value)) for value in x]
    computed = compiled(name)(x)
    errors = [
        abs(mpmath.mpf(value) - truth) / float(np.spacing(abs(float(truth))))
        for value, truth in zip(computed, exact, strict=True)
    ]
    assert max(errors) <= 1.5


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles_are_right(name: str) -> None:
    x = np.concatenate([10.0 ** np.linspace(6.0, 308.0, 500), [1e22, 2.0**1023]])
    exact = np.array([float(getattr(mpmath, name)(mpmath.mpf(value))) for value in x])
    assert ulp_error(compiled(name)(x), exact.astype(np.longdouble)) <= 4.0


@pytest.mark.parametrize("name", [*CASES, "sin", "cos", "sqrt", "absolute", "sign", "floor"])
def test_special_values_are_those_of_numpy(name: str) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(engine, name)(SPECIAL)
    np.testing.assert_allclose(compiled(name)(SPECIAL), expected, rtol=1e-15, atol=0.0)


def test_special_values_of_functions_of_two_arguments() -> None:
    y, x = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))
    for name in ("atan2", "minimum", "maximum"):
        function = Function(trace(getattr(engine, name), {"y": (), "x": ()}, name=name))
        np.testing.assert_allclose(function(y, x), getattr(engine, name)(y, x), rtol=1e-15, atol=0.0)


def test_angle_of_a_point_in_every_octant() -> None:
    rng = np.random.default_rng(4)
    y, x = rng.normal(size=(2, 300_000)) * 10.0 ** rng.uniform(-12, 12, (2, 300_000))
    function = Function(trace(engine.atan2, {"y": (), "x": ()}, name="atan2"))
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    assert ulp_error(function(y, x), exact) <= 4.0


def test_power_is_accurate() -> None:
    rng = np.random.default_rng(5)
    x, y = 10.0 ** rng.uniform(-20, 20, 100_000), rng.uniform(-10, 10, 100_000)
    function = Function(trace(lambda x, y: x**y, {"x": (), "y": ()}, name="power"))
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert ulp_error(function(x, y), exact) <= 4.0


@pytest.mark.parametrize("name", [*CASES, "sin", "cos"])
def test_single_precision_is_accurate(name: str) -> None:
    low, high = {"log": (1e-3, 1e3), "asin": (-1, 1), "acos": (-1, 1)}.get(name, (-10.0, 10.0))
    x = np.random.default_rng(6).uniform(low, high, 100_000).astype(np.float32)
    result = compiled(name, "float32")(x)
    assert result.dtype == np.float32
    exact = getattr(engine, name)(x.astype(np.float64)).astype(np.longdouble)
    assert ulp_error(result, exact) <= 0.75


@pytest.mark.parametrize(("size", "name"), paired([1e-3, 0.8, 1e3, 1e6, 1e30], ["sin", "cos"]))
def test_single_sine_and_cosine_are_accurate_for_large_arguments(name: str, size: float) -> None:
    x = np.random.default_rng(7).uniform(-size, size, 300_000).astype(np.float32)
    near = (np.arange(1, 20_000) * (np.pi / 2)).astype(np.float32)  # the floats nearest to the zeros
    x = np.concatenate([x, near[near < size], np.array([0.0, -0.0], np.float32)])
    exact = getattr(np, name)(x.astype(np.longdouble))
    assert ulp_error(compiled(name, "float32")(x), exact) <= 1.0
    assert np.isnan(compiled(name, "float32")(np.array([np.inf, -np.inf, np.nan], np.float32))).all()


def test_nothing_warns_of_lanes_that_are_not_selected() -> None:
    sinc = Function(trace(lambda x: engine.where(x == 0.0, 1.0, engine.sin(x) / x), {"x": ()}, name="sinc"))
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(sinc(np.zeros(3)), np.ones(3))
