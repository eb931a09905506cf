"""Robots with quaternions in their configuration: more coordinates than velocities."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.model import Description, Inertia, Joint, Link
from chasles.trajectories import Motion

MOMENTS = np.diag([0.02, 0.05, 0.06])


def floating_body() -> ch.Robot:
    """A rigid body that nothing holds."""
    body = Link("body", Inertia(2.0, [0.0, 0.0, 0.0], MOMENTS))
    joint = Joint("free", "free", "world", "body")
    return ch.Robot(Description("stone", links=(Link("world"), body), joints=(joint,)))


ROBOT = floating_body()


class Anything:
    """A reference that holds the first configuration."""

    duration = 1.0
    parameters: Any = MappingProxyType({})

    def motion(self, t: Any, parameters: Any) -> Motion:
        return Motion(ROBOT.home + 0.0 * t, np.zeros(6), np.zeros(6))


def free(now: ch.control.Now) -> Any:
    return 0.0 * now.qd


def euler_equations(omega: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Angular velocities in body axes of a torque-free body, by SciPy from Euler's equations."""
    inverse = np.linalg.inv(MOMENTS)
    found = solve_ivp(
        lambda _, w: inverse @ np.cross(MOMENTS @ w, w), (0.0, t[-1]), omega, t_eval=t, rtol=1e-12, atol=1e-13
    )
    return found.y.T


@pytest.mark.parametrize("integrator", ["rk4", "DOP853", "rodas5p"])
def test_a_thrown_body_tumbles_as_euler_says_and_falls(integrator: str) -> None:
    omega, velocity = np.array([0.1, 5.0, 0.05]), np.array([1.0, 0.0, 2.0])
    qd0 = np.concatenate([omega, velocity])
    run = ch.simulate(
        ROBOT,
        free,
        Anything(),
        start=ch.State(qd=qd0),
        period=2e-3,
        integrator="rk4" if integrator == "rk4" else ch.integrators.Within(integrator, rtol=1e-10, atol=1e-12),
    )
    t = run.time.values
    assert run.q.dims == ("time", "coordinate")
    assert run.qd.dims == run.error.dims == ("time", "joint")
    np.testing.assert_allclose(run.qd[:, :3], euler_equations(omega, t), atol=2e-7)
    poses = ROBOT.forward_kinematics(run.q.values, target="body")
    path = velocity * t[:, None] + 0.5 * np.array([0.0, 0.0, -9.81]) * t[:, None] ** 2
    np.testing.assert_allclose(poses[:, :3, 3], path, atol=1e-6)
    quaternions = run.q.values[:, [name.split(".")[-1] in ("qw", "qx", "qy", "qz") for name in ROBOT.coordinate_names]]
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=-1), 1.0, atol=1e-12)
    momentum = poses[:, :3, :3] @ (MOMENTS @ run.qd.values[:, :3].T).T[..., None]
    np.testing.assert_allclose(momentum[:, :, 0], np.tile(MOMENTS @ omega, (t.size, 1)), atol=1e-6)


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("semi-implicit-euler", 1), ("rk4", 4)])
def test_orders_hold_on_the_rotation_group(integrator: str, order: int) -> None:
    options: dict[str, Any] = {"start": ch.State(qd=[2.0, 4.0, -1.0, 0.0, 0.0, 0.0]), "duration": 0.5, "period": 0.05}
    exact = ch.simulate(ROBOT, free, Anything(), integrator=ch.integrators.Steps("rk4", 256), **options).q.values[-1]
    errors = []
    for substeps in (8, 16, 32):
        q = ch.simulate(
            ROBOT, free, Anything(), integrator=ch.integrators.Steps(integrator, substeps), **options
        ).q.values[-1]
        errors.append(float(np.linalg.norm(ROBOT.difference(exact, q))))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(np.abs(orders - order) < 0.3), orders


def test_the_error_is_the_way_from_the_configuration_to_the_reference() -> None:
    turn = Rotation.from_rotvec([0.0, 0.0, 0.4])
    start = ROBOT.integrate(ROBOT.home, np.array([0.0, 0.0, 0.4, 0.1, 0.0, 0.0]))
    run = ch.simulate(ROBOT, free, Anything(), start=start, duration=0.01)
    np.testing.assert_allclose(run.error[0, :3], -turn.as_rotvec(), atol=1e-12)


def test_energy_balances_and_batches_hold() -> None:
    rates = np.array([[0.1, 5.0, 0.05, 1.0, 0.0, 2.0], [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]])
    run = ch.simulate(ROBOT, free, Anything(), start=ch.State(qd=rates), record=ch.Recording(energies=True))
    total = run["energy.kinetic"] + run["energy.potential"]
    np.testing.assert_allclose(total, np.tile(total[:, :1], 1001), rtol=1e-9)
    single = ch.simulate(ROBOT, free, Anything(), start=ch.State(qd=rates[1]), record=ch.Recording(energies=True))
    np.testing.assert_array_equal(run.q[1], single.q)


def test_effects_on_joints_are_refused() -> None:
    with pytest.raises(ArgumentError, match="has joints with several degrees of freedom"):
        ch.Plant(ROBOT, friction=ch.Friction(6))
