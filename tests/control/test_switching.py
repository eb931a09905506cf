"""Switching: every pair of laws with integral action, loads that stay held, laws that cannot be set."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles import control
from chasles.base.errors import ArgumentError

ARM = ch.load("planar2r")
PERIOD, AT = 0.01, 0.355
REST = ch.PointToPoint([0.2, 0.3], [0.6, 0.0], 0.6)
STIFF = np.array([2.0, 0.05])


def observed(compensation: float = 1.0) -> Any:
    inner = control.ComputedTorque(ARM, kp=400.0, kd=40.0)
    return control.DisturbanceObserver(ARM, inner, bandwidth=15.0, compensation=compensation)


LAWS: dict[str, Any] = {
    "PID": control.PID(ARM, kp=400.0 * STIFF, ki=800.0 * STIFF, kd=40.0 * STIFF),
    "computed torque": control.ComputedTorque(ARM, kp=200.0, kd=30.0, ki=400.0),
    "feed-forward": control.ComputedTorque(ARM, kp=400.0, kd=40.0, ki=800.0, feedforward=True),
    "time-varying": control.TimeVaryingRegulator(ARM, integral_error=0.05),
    "scheduled": control.GainScheduledRegulator(ARM, update_period=0.05, integral_error=0.05),
    "regulator": control.LinearQuadraticRegulator(ARM, [0.4, 0.2], integral_error=0.05, period=PERIOD),
    "LQG": control.LinearQuadraticGaussian(ARM, integral_error=0.05),
    "observer": observed(),
    "filtered": control.LowPassFilter(ARM, control.ComputedTorque(ARM, kp=225.0, kd=30.0, ki=800.0), frequency=200.0),
}


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.pairwise([*LAWS, "PID", "LQG", "time-varying", "observer"]))
)
def test_the_torque_does_not_jump(first: str, second: str) -> None:
    """The first torque of the incoming law is the last of the other, with a payload that neither knows."""
    loaded = ARM.with_payload(0.2)
    law = control.Switching(ARM, LAWS[first], LAWS[second], when=lambda now: now.t > AT)
    run = ch.simulate(ch.Plant(loaded, effort_limits=False), law, REST, period=PERIOD)
    k = int(np.searchsorted(run.time.values, AT))
    np.testing.assert_allclose(run.tau[k], run.tau[k - 1], rtol=1e-8, atol=1e-8)
    alone = ch.simulate(ch.Plant(loaded, effort_limits=False), LAWS[first], REST, period=PERIOD)
    np.testing.assert_allclose(run.tau[:k], alone.tau[:k], rtol=1e-4)  # other steps of the integrator
    assert np.abs(run.error[k:]).max() < 0.4


def test_a_held_load_stays_where_it_is() -> None:
    """At rest the position does not notice a switch there and back; with empty integrals it does."""
    rest = ch.PointToPoint([0.2, 0.3], [0.2, 0.3], 0.1)
    stiff = control.ComputedTorque(ARM, kp=400.0, kd=40.0, ki=3000.0)
    soft = control.ComputedTorque(ARM, kp=100.0, kd=20.0, ki=200.0)
    law = control.Switching(ARM, stiff, soft, when=lambda now: (now.t > 3.0) & (now.t < 4.0))
    run = ch.simulate(ARM.with_payload(1.0), law, rest, duration=5.0, period=PERIOD)
    late = run.time.values > 2.9
    assert np.abs(run.error.values[late]).max() < 1e-3
    assert np.ptp(run.tau.values[late], axis=0).max() < 0.1
    empty = ch.simulate(ARM.with_payload(1.0), soft, rest, duration=1.0, period=PERIOD)
    assert np.abs(empty.error).max() > 0.03


def test_laws_that_cannot_be_set_fade_in_or_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'PD' cannot be set to the torques of another law.*give fade="):
        control.Switching(ARM, control.PD(ARM, kp=1.0, kd=1.0), LAWS["PID"], when=lambda now: now.t > AT)
    with pytest.raises(ArgumentError, match="'PD' has no integral"):
        control.PD(ARM, kp=1.0, kd=1.0).take_over(None, None)  # type: ignore[arg-type]
    assert not control.ComputedTorque(ARM, kp=1.0, kd=1.0, ki=[1.0, 0.0]).takes_over
    assert not observed(compensation=0.0).takes_over
    plain = control.ComputedTorque(ARM, kp=100.0, kd=20.0)
    law = control.Switching(ARM, LAWS["PID"], plain, when=lambda now: now.t > AT, fade=0.1)
    run = ch.simulate(ARM.with_payload(0.5), law, REST, period=PERIOD, record=ch.Recording(memory=True))
    k = int(np.searchsorted(run.time.values, AT))
    np.testing.assert_allclose(run.tau[k], run.tau[k - 1], atol=1e-9)
    step = run.memory.sel(element="step[0]").values
    np.testing.assert_allclose(step[k + 2 : k + 12], step[k + 1] * np.exp(-0.1 * np.arange(1, 11)), rtol=1e-9)


def test_a_switch_runs_outside_of_simulations_and_in_c() -> None:
    law = control.Switching(ARM, LAWS["LQG"], LAWS["PID"], when=lambda now: now.t > AT)
    run = ch.simulate(ARM, law, REST, period=PERIOD)
    online = control.OnlineLaw(law, REST, period=PERIOD)
    said = [online(t, q, qd) for t, q, qd in zip(run.time.values, run.q.values, run.qd.values, strict=True)]
    np.testing.assert_allclose(said, run.tau, atol=1e-9)
    assert "switch_step" in control.controller_to_c(law, REST, period=PERIOD, name="switch")[1]
