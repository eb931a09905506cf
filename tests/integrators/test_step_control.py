"""Control of the steps' lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.engine import sin
from chasles.integrators import StepControl
from chasles.integrators.step_control import first_step


def factor(control: StepControl, error: float, before: float = 1.0, calm: bool = True, order: int = 4) -> float:
    return float(control.factor(error, before, error <= 1.0, calm, order))


def test_the_elementary_control_aims_at_the_tolerance() -> None:
    """An error of a tenth of the tolerance allows steps longer by the (order + 1)th root of ten."""
    plain = StepControl(beta=(1.0, 0.0), safety=0.9)
    assert factor(plain, 0.1, order=4) == pytest.approx(0.9 * 10.0 ** (1 / 5))
    assert factor(plain, 10.0, order=2) == pytest.approx(0.9 * 10.0 ** (-1 / 3))
    assert factor(plain, 1e-30) == plain.grow
    assert factor(plain, 1e30) == plain.shrink


def test_the_formula_is_soederlinds() -> None:
    control = StepControl(beta=(0.6, -0.2), safety=0.8)
    assert factor(control, 0.5, before=0.1) == pytest.approx(0.8 * 0.5 ** (-0.6 / 5) * 0.1 ** (0.2 / 5))


def test_what_is_no_number_shrinks_and_after_a_rejection_nothing_grows() -> None:
    control = StepControl()
    assert factor(control, np.nan) == control.shrink
    assert factor(control, np.inf) == control.shrink
    assert factor(control, 1e-6, calm=False) == 1.0
    assert factor(control, 1e-6) > 1.0


@pytest.mark.parametrize("wrong", [{"safety": 1.0}, {"shrink": 0.0}, {"grow": 1.0}])
def test_impossible_bounds_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match="between 0 and 1, and grow above 1"):
        StepControl(**wrong)


def test_the_first_step_suits_the_rates() -> None:
    """Rates 1e6 times as fast take steps 1e6 times as short; a solution at rest takes a finite one."""

    def length(rate: float) -> float:
        def f(t: Any, y: Any) -> Any:
            return rate * np.array([y[1], -y[0]])

        return float(first_step(f, 0.0, np.array([1.0, 0.0]), 1e9, 1e-6, np.full(2, 1e-9), 5))

    assert length(1e6) == pytest.approx(1e-6 * length(1.0), rel=1e-3)
    assert 1e-4 < length(1.0) < 0.1
    resting = first_step(lambda t, y: 0.0 * y, 0.0, np.zeros(1), -2.0, 1e-6, np.full(1, 1e-9), 5)
    assert -2.0 <= float(resting) < 0.0


@pytest.mark.parametrize("method", ["bogacki-shampine", "dormand-prince", "rodas5p"])
def test_the_error_follows_the_tolerance(method: str) -> None:
    """A pendulum over three swings: a tenth of the tolerance brings about a tenth of the error."""

    def pendulum(t: Any, y: Any) -> Any:
        return [y[1], -sin(y[0])]

    exact = ch.integrate(
        pendulum, [2.0, 0.0], [0.0, 20.0], integrator=ch.integrators.Within("rodas5p", rtol=1e-12, atol=1e-13)
    ).y[-1]
    errors, steps = [], []
    for tolerance in (1e-4, 1e-6, 1e-8):
        run = ch.integrate(
            pendulum, [2.0, 0.0], [0.0, 20.0], integrator=ch.integrators.Within(method, rtol=tolerance, atol=tolerance)
        )
        errors.append(float(np.abs(run.y[-1] - exact).max()))
        steps.append(int(run.steps))
    assert np.all(np.array(errors) < 200.0 * np.array([1e-4, 1e-6, 1e-8])), errors
    assert errors[2] < 0.05 * errors[1] < 0.05**2 * errors[0] * 20.0, errors
    assert steps == sorted(steps)


def test_every_component_keeps_its_tolerance_whatever_stands_beside_it() -> None:
    """A mean over components would be diluted by ninety that do not move."""

    def swinging(t: Any, y: Any) -> Any:
        return np.concatenate([[y[1], -sin(y[0])], 0.0 * y[2:]])

    alone = ch.integrate(
        swinging, [2.0, 0.0], [0.0, 5.0], integrator=ch.integrators.Within("dormand-prince", rtol=1e-6, atol=1e-9)
    )
    beside = ch.integrate(
        swinging,
        np.concatenate([[2.0, 0.0], np.ones(90)]),
        [0.0, 5.0],
        integrator=ch.integrators.Within("dormand-prince", rtol=1e-6, atol=1e-9),
    )
    assert int(alone.rejections) == int(beside.rejections)
    # The first step is taken by a mean, as in the book.
    assert abs(int(alone.steps) - int(beside.steps)) <= 2
