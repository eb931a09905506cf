"""The elementary functions of the WebAssembly target, measured in units in the last place against exact values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.engine.run_wasm import Loaded
from tests.engine.test_native_mathematics import CASES, SPECIAL, samples, ulp_error
from tests.thinning import paired

import chasles.engine as engine
from chasles.engine import Program, trace
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.wasm import lower

mpmath.mp.prec = 200
_NAMES = [*CASES, "sin", "cos", "sqrt", "absolute", "sign", "floor"]


def _power(x: engine.Scalar, y: engine.Scalar) -> engine.Scalar:
    return x**y


@pytest.fixture(scope="module")
def library() -> Loaded:
    programs: dict[str, Program] = {name: trace(getattr(engine, name), {"x": ()}, name=name) for name in _NAMES}
    for name in ("atan2", "minimum", "maximum"):
        programs[name] = trace(getattr(engine, name), {"y": (), "x": ()}, name=name)
    programs["power"] = trace(_power, {"x": (), "y": ()}, name="power")
    return Loaded(lower({name: Kernel(program) for name, program in programs.items()}))


@pytest.mark.parametrize("name", CASES)
def test_functions_are_accurate_to_four_units_in_the_last_place(library: Loaded, name: str) -> None:
    reference, ranges = CASES[name]
    x = samples(ranges)
    assert ulp_error(library.call(name, x)[0], reference(x.astype(np.longdouble))) <= 4.0


@pytest.mark.parametrize(("size", "name"), paired([1e-3, 0.8, 10.0, 1e3, 1e6], ["sin", "cos"]))
def test_sine_and_cosine_are_accurate_to_one_and_a_half_units(library: Loaded, name: str, size: float) -> None:
    x = np.random.default_rng(2).uniform(-size, size, 300_000)
    exact = getattr(np, name)(x.astype(np.longdouble))
    # Long double cannot tell the last bits of a result near zero after a large reduction: mpmath judges those below.
    clear = np.abs(exact) > 1e-3 if size > 1e3 else np.ones(x.shape, bool)
    assert ulp_error(library.call(name, x)[0][clear], exact[clear]) <= 1.5


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_near_their_zeros_and_at_huge_angles(library: Loaded, name: str) -> None:
    """Doubles nearest to multiples of π/2, where nearly all digits cancel, of every size that a double can have.

    The last three come closest of all to a multiple (Muller, Elementary Functions, 2006, section 11.3).
    """
    rng = np.random.default_rng(3)
    near_zeros = [float(mpmath.pi / 2 * int(k)) for k in rng.integers(1, 2**40, 2_000)]
    huge = rng.choice([-1.0, 1.0], 2_000) * 10.0 ** rng.uniform(5.5, 308.0, 2_000)
    worst = [6381956970095103.0 * 2.0**797, 5.3193726483265414e255, 2.0**1023]
    x = np.array([*near_zeros, *huge, *worst])
    exact = [getattr(mpmath, name)(mpmath.mpf(value)) for value in x]
    errors = [
        abs(mpmath.mpf(value) - truth) / float(np.spacing(abs(float(truth))))
        for value, truth in zip(library.call(name, x)[0], exact, strict=True)
    ]
    assert max(errors) <= 1.5


@pytest.mark.parametrize("name", _NAMES)
def test_special_values_are_those_of_numpy(library: Loaded, name: str) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(engine, name)(SPECIAL)
    computed = library.call(name, SPECIAL)[0]
    np.testing.assert_allclose(computed, expected, rtol=1e-15, atol=0.0)
    if name not in ("sign", "cos", "tan"):
        np.testing.assert_array_equal(np.signbit(computed[SPECIAL == 0]), np.signbit(expected[SPECIAL == 0]))


def test_special_values_of_functions_of_two_arguments(library: Loaded) -> None:
    y, x = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))
    for name in ("atan2", "minimum", "maximum"):
        np.testing.assert_allclose(library.call(name, y, x)[0], getattr(engine, name)(y, x), rtol=1e-15, atol=0.0)


def test_angle_of_a_point_in_every_octant(library: Loaded) -> None:
    rng = np.random.default_rng(4)
    y, x = rng.normal(size=(2, 300_000)) * 10.0 ** rng.uniform(-12, 12, (2, 300_000))
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    assert ulp_error(library.call("atan2", y, x)[0], exact) <= 4.0


@pytest.mark.parametrize(("sizes", "exponents"), [((-20, 20), 10.0), ((-0.3, 0.3), 1000.0), ((-300, 300), 1.02)])
def test_power_is_accurate(library: Loaded, sizes: tuple[float, float], exponents: float) -> None:
    rng = np.random.default_rng(5)
    x, y = 10.0 ** rng.uniform(*sizes, 100_000), rng.uniform(-exponents, exponents, 100_000)
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert ulp_error(library.call("power", x, y)[0], exact) <= 2.0


def test_special_powers_are_those_of_c(library: Loaded) -> None:
    numbers = [*SPECIAL, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e17, -1e17, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)]
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    computed = library.call("power", x, y)[0]
    np.testing.assert_allclose(computed, expected, rtol=1e-15, atol=0.0)
    clear = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(computed[clear]), np.signbit(expected[clear]))
