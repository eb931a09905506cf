"""Fast rigid motion: the automatic integrator controls its error, and ordinary robots keep theirs."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.model import Description, Inertia, Joint, Link
from chasles.simulation import StiffnessWarning

MOMENTS = np.array([0.02, 0.05, 0.06])
BODY = Inertia(1.0, np.zeros(3), np.diag(MOMENTS))
STONE = ch.Robot(
    Description(
        "stone",
        links=(Link("world"), Link("body", BODY)),
        joints=(Joint("free", "spherical", "world", "body"),),
        gravity=[0.0, 0.0, 0.0],
    )
)
SPIN = np.array([100.0, 1.0, 60.0])


def turning(duration: float, spin: np.ndarray) -> np.ndarray:
    """Angular velocity by Euler's equations, I ω' = I ω × ω."""
    found = solve_ivp(
        lambda t, w: np.cross(MOMENTS * w, w) / MOMENTS, (0.0, duration), spin, method="DOP853", rtol=1e-12, atol=1e-12
    )
    return found.y[:, -1]


def test_a_free_body_at_100_rad_per_s() -> None:
    run = ch.simulate(STONE, duration=1.0, period=0.01, qd0=SPIN)
    np.testing.assert_allclose(run.qd[-1], turning(1.0, SPIN), rtol=0, atol=1e-2)
    energy = 0.5 * (MOMENTS * run.qd.values**2).sum(axis=-1)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-4)
    assert run.attrs["integrator"] == "dormand-prince"


def test_only_fast_runs_of_a_batch_are_repeated() -> None:
    spins = np.array([SPIN, 0.01 * SPIN])
    both = ch.simulate(STONE, duration=0.5, period=0.01, qd0=spins)
    for k, spin in enumerate(spins):
        alone = ch.simulate(STONE, duration=0.5, period=0.01, qd0=spin)
        np.testing.assert_array_equal(both.q.values[k], alone.q.values)


def test_a_double_pendulum_in_steps_of_20_ms() -> None:
    arm = ch.load("planar2r")
    start = {"q0": [0.3, 0.5], "qd0": [5.0, 5.0], "duration": 1.0}
    run = ch.simulate(arm, period=0.02, **start)
    fine = ch.simulate(arm, period=0.02, substeps=100, **start)
    assert abs(run.q[-1].values - fine.q[-1].values).max() < 1e-4


def test_ordinary_motions_stay_as_they_are() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
    assert run.attrs["integrator"] == "rk4"


@pytest.mark.filterwarnings("ignore::chasles.simulation.UncompiledWarning")
def test_a_law_that_cannot_be_repeated_is_warned_of() -> None:
    def law(now):
        return np.array([float(value) * 0.0 for value in now.qd])

    with pytest.warns(StiffnessWarning, match=r"turns 1\.2 rad in a step of 0.01 s.*substeps=10"):
        ch.simulate(STONE, law, duration=0.05, period=0.01, qd0=SPIN)
