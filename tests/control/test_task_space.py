"""Resolved acceleration and operational space: errors, redundancy, singular poses, components, wrong models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.control.calls import called
from tests.control.sampled_loop import at_rest, simulate
from tests.thinning import paired

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.control import OperationalSpace, ResolvedAcceleration
from chasles.control.task_space import TaskSpace
from chasles.geometry import log_rotation, pose
from chasles.trajectories.motion import Motion, PoseMotion

LAWS = [ResolvedAcceleration, OperationalSpace]
PLANAR = {"components": ("x", "y")}


def frictionless(name: str) -> ch.Robot:
    return ch.load(name).with_friction(coulomb=0.0, viscous=0.0)


def bent(arm: ch.Robot) -> np.ndarray:
    """A configuration that is far from singular."""
    return {"planar2r": np.array([0.2, 1.2]), "puma560": np.array([0.3, 0.6, -0.4, 0.5, 0.9, 0.2])}.get(
        arm.name, np.array(arm.home)
    )


def along(path: Any) -> Any:
    return lambda t: path.motion(t, path.parameters)


def decay(kp: float, kd: float, times: np.ndarray) -> np.ndarray:
    """Solution of e'' + kd e' + kp e = 0 from (1, 0)."""
    A = np.array([[0.0, 1.0], [-kp, -kd]])
    return np.array([scipy.linalg.expm(A * t)[0, 0] for t in times])


@pytest.mark.parametrize(("law", "name"), paired(LAWS, ["planar2r", "puma560", "panda"]))
def test_the_errors_obey_their_linear_equation(name: str, law: Any) -> None:
    """Along a moving reference, from an offset in position and, for arms that can, of 40° in orientation."""
    arm, kp, kd = frictionless(name), 60.0, 13.0
    T0 = arm.forward_kinematics(bent(arm))
    way, turn = np.array([0.03, -0.05, 0.02]), np.radians(40.0) * np.array([0.6, 0.0, 0.8])
    if name == "planar2r":
        way, turn = np.array([0.03, -0.05, 0.0]), np.zeros(3)
    start = pose(Rotation.from_rotvec(turn).as_matrix() @ T0[:3, :3], T0[:3, 3] + way)
    end = start.copy()
    end[:3, 3] += [-0.05, 0.08, 0.0]
    line = ch.StraightLine(start, end, duration=1.0)
    options: dict[str, Any] = PLANAR if name == "planar2r" else {}
    controller = law(arm, kp=kp, kd=kd, orientation_error="logarithm", **options)
    run = simulate(arm, controller, along(line), duration=1.0, period=2e-5, q0=bent(arm), save_every=2500)
    T, wanted, unit = arm.forward_kinematics(run.q), line(run.t).pose, decay(kp, kd, run.t)[:, None]
    np.testing.assert_allclose(wanted[:, :3, 3] - T[:, :3, 3], unit * way, atol=2e-5)
    if turn.any():
        error = log_rotation(wanted[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2))
        np.testing.assert_allclose(error, unit * turn, atol=2e-5)


@pytest.mark.parametrize("law", LAWS)
def test_the_quaternion_law_comes_back_from_a_large_angle(law: Any) -> None:
    arm = frictionless("puma560")
    T = arm.forward_kinematics(bent(arm))
    T[:3, :3] = Rotation.from_rotvec([0.0, 0.0, 2.5]).as_matrix() @ T[:3, :3]
    controller = law(arm, kp=60.0, kd=16.0)
    run = simulate(arm, controller, at_rest(T), duration=4.0, period=1e-3, q0=bent(arm), save_every=10)
    np.testing.assert_allclose(arm.forward_kinematics(run.q[-1]), T, atol=1e-6)


def test_without_redundant_joints_both_laws_are_the_same() -> None:
    arm, rng = ch.load("puma560"), np.random.default_rng(1)
    resolved, operational = (law(arm, kp=50.0, kd=15.0) for law in LAWS)
    for k in range(10):
        q, qd = (bent(arm) if k < 5 else SINGULAR["puma560"]) + 0.2 * rng.normal(size=6), rng.normal(size=6)
        q[4] = q[4] if k < 5 else 0.05  # the wrist is almost straight, and inverses are damped
        reference = Motion(bent(arm), *rng.normal(size=(2, 6)))
        torques = [called(law, q, qd, reference)[0] for law in (resolved, operational)]
        np.testing.assert_allclose(*torques, rtol=1e-8, atol=1e-8 if k < 5 else 1e-4)


@pytest.mark.parametrize("name", ["planar2r", "puma560", "panda"])
def test_the_dynamics_at_the_frame(name: str) -> None:
    """Khatib's formulas with NumPy's inverses; and Lambda a + mu + p is what forces F do to the tool."""
    arm, rng = frictionless(name), np.random.default_rng(2)
    options: dict[str, Any] = PLANAR if name == "planar2r" else {}
    controller = OperationalSpace(arm, kp=1.0, kd=1.0, **options)
    rows = [3, 4] if options else list(range(6))
    q, qd = bent(arm), rng.normal(size=arm.n)
    found = controller.dynamics(q, qd)
    M, J = arm.mass_matrix(q), arm.jacobian(q, frame="world-aligned")[rows]
    Jdot = arm.jacobian_derivative(q, qd, frame="world-aligned")[rows]
    Lambda = np.linalg.inv(J @ np.linalg.inv(M) @ J.T)
    J_bar = np.linalg.inv(M) @ J.T @ Lambda
    np.testing.assert_allclose(found.Lambda, Lambda, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.J_bar, J_bar, atol=1e-10)
    np.testing.assert_allclose(found.p, J_bar.T @ arm.gravity_torque(q), atol=1e-9)
    np.testing.assert_allclose(found.mu, J_bar.T @ arm.coriolis_vector(q, qd) - Lambda @ Jdot @ qd, atol=1e-9)
    F = rng.normal(size=len(rows))
    a = J @ arm.forward_dynamics(q, qd, J.T @ F) + Jdot @ qd
    np.testing.assert_allclose(found.Lambda @ a + found.mu + found.p, F, atol=1e-9)
    batch = controller.dynamics(np.tile(q, (2, 3, 1)), qd)
    np.testing.assert_array_equal(batch.Lambda, np.tile(found.Lambda, (2, 3, 1, 1)))


def test_idle_torques_do_not_accelerate_the_frame_and_resolved_ones_cost_more_energy() -> None:
    arm, rng = frictionless("panda"), np.random.default_rng(3)
    q, qd = bent(arm), rng.normal(size=7)
    frame = arm.forward_kinematics(q)
    J, Jdot = (
        arm.jacobian(q, frame="world-aligned"),
        arm.jacobian_derivative(q, qd, frame="world-aligned"),
    )
    wanted = PoseMotion(frame, J @ qd, rng.normal(size=6))
    accelerations = {}
    for law in LAWS:
        for damping in (0.0, 50.0):
            controller = law(arm, kp=50.0, kd=15.0, nullspace_damping=damping)
            tau, _ = called(controller, q, qd, wanted)
            qdd = arm.forward_dynamics(q, qd, tau)
            np.testing.assert_allclose(J @ qdd + Jdot @ qd, wanted.acceleration, atol=1e-9)
            accelerations[law, damping] = qdd
    M = arm.mass_matrix(q)
    cost = {law: accelerations[law, 0.0] @ M @ accelerations[law, 0.0] for law in LAWS}
    length = {law: np.linalg.norm(accelerations[law, 0.0]) for law in LAWS}
    assert cost[OperationalSpace] < 0.9999 * cost[ResolvedAcceleration]  # acceleration energy
    assert length[ResolvedAcceleration] < 0.9999 * length[OperationalSpace]  # least joint accelerations


@pytest.mark.parametrize("law", LAWS)
def test_free_motion_of_redundant_joints_dies_out_and_goes_to_the_posture(law: Any) -> None:
    """Self-motion of a seven-joint arm while its tool stands still; left alone it goes on."""
    arm = frictionless("panda")
    q, T = bent(arm), arm.forward_kinematics(bent(arm))
    self_motion = scipy.linalg.null_space(arm.jacobian(q, frame="world-aligned"))[:, 0]
    speeds, distances = {}, {}
    for damping, stiffness in ((0.0, 0.0), (10.0, 0.0), (10.0, 40.0)):
        posture = q + 0.2 * self_motion
        controller = law(
            arm, kp=400.0, kd=40.0, nullspace_damping=damping, nullspace_stiffness=stiffness, posture=posture
        )
        start = {"q0": q, "qd0": -0.3 * self_motion}
        run = simulate(arm, controller, at_rest(T), duration=2.0, period=1e-3, save_every=20, **start)
        np.testing.assert_allclose(arm.forward_kinematics(run.q), np.broadcast_to(T, (len(run.t), 4, 4)), atol=2e-3)
        speeds[damping, stiffness] = np.linalg.norm(run.qd[-1])
        distances[stiffness] = abs(self_motion @ (run.q[-1] - posture))
    assert speeds[0.0, 0.0] > 0.1
    assert speeds[10.0, 0.0] < 1e-6
    assert distances[40.0] < 0.02 < distances[0.0]


@given(st.integers(0, 10_000), st.floats(0.0, 0.1))
@settings(max_examples=100)
def test_the_damped_inverse_never_enlarges_more_than_it_says(seed: int, smallest: float) -> None:
    rng = np.random.default_rng(seed)
    k, n = rng.integers(1, 7), 7
    U, V = np.linalg.qr(rng.normal(size=(k, k)))[0], np.linalg.qr(rng.normal(size=(n, n)))[0][:, :k]
    values = np.sort(rng.uniform(0.0, 0.2, k))
    values[0] = smallest * rng.integers(0, 2)
    J = U @ np.diag(values) @ V.T
    task = TaskSpace(ch.load("panda"), threshold=0.05, largest_damping=0.03)
    wanted = rng.normal(size=k)
    rates = task.inverted(J, wanted, np.zeros(n))
    assert np.linalg.norm(rates) <= max(2**0.5 / 0.05, 1 / (2**0.5 * 0.03)) * np.linalg.norm(wanted) * (1 + 1e-9)
    if values.min() > 0.05 * np.sqrt(k):
        np.testing.assert_allclose(J @ rates, wanted, atol=1e-10)


SINGULAR = {
    "planar2r": np.zeros(2),  # stretched out
    "puma560": np.array([0.3, 0.6, -0.4, 0.5, 0.0, 0.2]),  # wrist axes in line
    "panda": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),  # stretched up
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_joint_accelerations_are_bounded_near_singular_poses(name: str, law: Any) -> None:
    """max(√2 / threshold, 1 / (√2 largest_damping)) per commanded acceleration; √cond(M) times for redundant joints."""
    arm, rng = frictionless(name), np.random.default_rng(0)
    threshold, damping = 0.05, 0.08
    law = law(arm, kp=0.0, kd=0.0, threshold=threshold, largest_damping=damping)
    bound = max(np.sqrt(2.0) / threshold, 1.0 / (np.sqrt(2.0) * damping))
    largest = 0.0
    for distance in np.geomspace(1e-6, 0.5, 40):
        q = SINGULAR[name] + distance * rng.normal(size=arm.n)
        J = arm.jacobian(q, frame="world-aligned")
        wanted = np.linalg.svd(J)[0][:, -1]  # the direction that the joints move least
        T, still = arm.forward_kinematics(q), np.zeros(arm.n)
        tau, _ = called(law, q, still, PoseMotion(T, np.zeros(6), wanted))
        gain = np.linalg.norm(arm.forward_dynamics(q, still, tau))
        spread = np.sqrt(np.linalg.cond(arm.mass_matrix(q))) if isinstance(law, OperationalSpace) and arm.n > 6 else 1.0
        assert gain <= bound * spread * (1.0 + 1e-6)
        largest = max(largest, gain / (bound * spread))
    assert largest > 0.02


@pytest.mark.parametrize(("law", "name"), paired(LAWS, list(SINGULAR)))
def test_a_singular_pose_stays_bounded(name: str, law: Any) -> None:
    """Starting in it, driven through it, and pulled beyond the reach."""
    arm, q = frictionless(name), SINGULAR[name]
    options: dict[str, Any] = PLANAR if name == "planar2r" else {}
    controller = law(arm, kp=40.0, kd=13.0, **options)
    J = arm.jacobian(q, frame="world-aligned")[controller.task.rows]
    assert np.linalg.svd(J)[1][-1] < 1e-10
    T = arm.forward_kinematics(q)
    for way in ([-0.1, 0.05, 0.0], [0.3, 0.0, 0.0], [0.0, 0.0, 0.4 * (arm.n > 2)]):
        goal = T.copy()
        goal[:3, 3] += way
        run = simulate(arm, controller, at_rest(goal), duration=4.0, period=1e-3, q0=q, save_every=4)
        assert np.isfinite(run.q).all()
        assert np.abs(run.qd).max() < 40.0
        assert np.abs(run.qd[-1]).max() < 1.0


@pytest.mark.parametrize("law", LAWS)
def test_a_line_through_the_wrist_singularity_is_followed_with_a_small_delay(law: Any) -> None:
    """The fifth joint of a PUMA goes through zero: without damping J would be singular on the way."""
    arm = frictionless("puma560")
    q0, q1 = np.array([0.0, 0.7, -0.5, 0.3, 0.4, 0.0]), np.array([0.0, 0.7, -0.5, 0.3, -0.4, 0.0])
    screw = ch.ScrewMotion(arm.forward_kinematics(q0), arm.forward_kinematics(q1), duration=2.0)
    controller = law(arm, kp=400.0, kd=40.0)
    run = simulate(arm, controller, along(screw), duration=3.0, period=1e-3, q0=q0, save_every=5)
    off = np.abs(arm.forward_kinematics(run.q) - screw(run.t).pose).max(axis=(-2, -1))
    assert off.max() < 0.1
    assert off[-1] < 1e-3
    assert np.abs(run.qd).max() < 10.0


@pytest.mark.parametrize("law", LAWS)
def test_position_alone_leaves_the_orientation_free(law: Any) -> None:
    arm = frictionless("panda")
    goal = arm.forward_kinematics(bent(arm))
    goal[:3, 3] += [0.05, -0.08, 0.04]
    goal[:3, :3] = np.diag([1.0, -1.0, -1.0]) @ goal[:3, :3]
    controller = law(arm, kp=100.0, kd=20.0, components=("x", "y", "z"))
    run = simulate(arm, controller, at_rest(goal), duration=3.0, period=1e-3, q0=bent(arm), save_every=10)
    np.testing.assert_allclose(arm.forward_kinematics(run.q[-1])[:3, 3], goal[:3, 3], atol=1e-6)
    assert np.abs(run.qd[-1]).max() < 1e-3


@pytest.mark.parametrize(("law", "payload"), paired(LAWS, [1.0, 5.0]))
def test_a_wrong_model_degrades_but_stays_stable(law: Any, payload: float) -> None:
    arm = frictionless("panda")
    goal = arm.forward_kinematics(bent(arm))
    goal[:3, 3] += [0.1, 0.1, -0.1]
    controller = law(arm, kp=400.0, kd=40.0, nullspace_stiffness=20.0)
    off = []
    for plant in (arm, arm.with_payload(payload)):
        run = simulate(plant, controller, at_rest(goal), duration=6.0, period=1e-3, q0=bent(arm), save_every=10)
        assert np.abs(run.qd[-1]).max() < 1e-2
        off.append(np.linalg.norm(plant.forward_kinematics(run.q[-1])[:3, 3] - goal[:3, 3]))
    assert off[0] < 1e-5 < off[1] < 0.3


@pytest.mark.parametrize("law", LAWS)
def test_what_a_robot_cannot_do_is_named(law: Any) -> None:
    arm = ch.load("planar2r")
    with pytest.raises(ArgumentError, match=r"only 2 of them; give components=\('x', 'y'\)"):
        law(arm, kp=1.0, kd=1.0)
    with pytest.raises(ArgumentError, match="cannot move the components x, z"):
        law(arm, kp=1.0, kd=1.0, components=("x", "z"))
    with pytest.raises(ChaslesError, match="component 'w'"):
        law(arm, kp=1.0, kd=1.0, components=("x", "w"))
    for wrong in ((), ("x", "x")):
        with pytest.raises(ArgumentError, match="each once"):
            law(arm, kp=1.0, kd=1.0, components=wrong)
    with pytest.raises(ChaslesError, match="nose"):
        law(arm, kp=1.0, kd=1.0, components=("x", "y"), target="nose")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"kp": -1.0}, r"kp\[0\] is -1.0; it must be at least 0"),
        ({"kd": np.nan}, r"kd\[0\] is nan; it must be finite"),
        ({"kp": [1.0, 2.0]}, r"kp has shape \(2,\); expected \(3,\) or one number"),
        ({"kp_orientation": -1.0}, r"kp_orientation\[0\] is"),
        ({"kd_orientation": [np.inf, 0.0, 0.0]}, r"kd_orientation\[0\] is inf"),
        ({"threshold": 0.0}, "threshold is 0.0; it must be positive"),
        ({"largest_damping": -1.0}, "largest_damping is -1.0; it must"),
        ({"nullspace_damping": [1.0, 2.0]}, r"nullspace_damping has shape \(2,\); expected one number"),
        ({"nullspace_stiffness": -2.0}, "nullspace_stiffness is -2.0; it must"),
        ({"posture": [0.0, 1.0]}, r"posture has shape \(2,\); expected \(7,\)"),
        ({"posture": "up"}, "posture must be an array of real numbers"),
    ],
)
def test_bad_gains_are_named(law: Any, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ArgumentError, match=named):
        law(ch.load("panda"), **{"kp": 1.0, "kd": 1.0, **wrong})
