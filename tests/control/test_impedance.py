"""Impedance and admittance: rest under a constant wrench, the linear equation, energy that never grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation
from tests.control.calls import called
from tests.control.sampled_loop import Record, at_rest, constant_wrench, simulate
from tests.thinning import paired

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.control import Admittance, CompliantFrame, Impedance
from chasles.control.controller import checked_memory
from chasles.engine import maximum
from chasles.geometry import log_rotation

STIFF, DAMP, MASS = np.array([300.0, 500.0, 400.0]), np.array([60.0, 90.0, 70.0]), np.array([3.0, 4.0, 5.0])
TURN_STIFF, TURN_DAMP, TURN_MASS = np.array([20.0, 30.0, 25.0]), np.array([4.0, 5.0, 4.0]), np.array([0.2, 0.3, 0.4])
SPRINGS: dict[str, Any] = {
    "stiffness": STIFF,
    "damping": DAMP,
    "rotational_stiffness": TURN_STIFF,
    "rotational_damping": TURN_DAMP,
}
SHAPED = SPRINGS | {"inertia": MASS, "rotational_inertia": TURN_MASS}
PLANAR: dict[str, Any] = {"stiffness": 300.0, "damping": 60.0, "components": ("x", "y"), "axes": "world"}


def frictionless(name: str) -> ch.Robot:
    return ch.load(name).with_friction(coulomb=0.0, viscous=0.0)


def bent(arm: ch.Robot) -> np.ndarray:
    return {"planar2r": np.array([0.2, 1.2]), "puma560": np.array([0.3, 0.6, -0.4, 0.5, 0.9, 0.2])}.get(
        arm.name, np.array(arm.home)
    )


def law(kind: str, arm: ch.Robot, **options: Any) -> Any:
    if kind == "own inertia":
        return Impedance(arm, **(SPRINGS | options))
    if kind == "shaped":
        return Impedance(arm, **(SHAPED | options))
    return Admittance(arm, kp=900.0, kd=60.0, **(SHAPED | options))


def offset(arm: ch.Robot, run: Record, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Way from the pose T and rotation vector from its orientation, both in its axes."""
    found = arm.forward_kinematics(run.q)
    R = T[:3, :3]
    return (found[:, :3, 3] - T[:3, 3]) @ R, log_rotation(R.T @ found[:, :3, :3])


@pytest.mark.parametrize(("kind", "name"), paired(["own inertia", "shaped", "admittance"], ["puma560", "panda"]))
def test_at_rest_a_constant_force_gives_its_share_of_the_stiffness(name: str, kind: str) -> None:
    arm = frictionless(name)
    T = arm.forward_kinematics(bent(arm))
    force = np.array([6.0, -9.0, 4.0])
    push = constant_wrench(np.concatenate([np.zeros(3), T[:3, :3] @ force]))
    run = simulate(
        arm, law(kind, arm), at_rest(T), duration=16.0, period=1e-3, q0=bent(arm), wrench=push, save_every=100
    )
    way, turn = offset(arm, run, T)
    np.testing.assert_allclose(way[-1], force / STIFF, atol=1e-6)
    np.testing.assert_allclose(turn[-1], 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "error"), paired(["own inertia", "shaped", "admittance"], ["quaternion", "logarithm"])
)
def test_at_rest_a_constant_moment_turns_the_frame_by_its_share(kind: str, error: str) -> None:
    """About a principal axis K sin θ = m with the quaternion, K θ = m with the logarithm; 0.4 rad."""
    arm = frictionless("puma560")
    T = arm.forward_kinematics(bent(arm))
    moment = np.array([0.0, 12.0, 0.0])
    push = constant_wrench(np.concatenate([T[:3, :3] @ moment, np.zeros(3)]))
    controller = law(kind, arm, orientation_error=error)
    run = simulate(arm, controller, at_rest(T), duration=16.0, period=1e-3, q0=bent(arm), wrench=push, save_every=100)
    way, turn = offset(arm, run, T)
    angle = np.arcsin(12.0 / 30.0) if error == "quaternion" else 12.0 / 30.0
    np.testing.assert_allclose(turn[-1], [0.0, angle, 0.0], atol=1e-6)
    np.testing.assert_allclose(way[-1], 0.0, atol=1e-6)


@pytest.mark.parametrize("kind", ["own inertia", "shaped", "admittance"])
def test_a_moment_of_a_millionth_does_not_turn_the_frame_around(kind: str) -> None:
    """With the sign of ROBOOP's rotational impedance the compliant frame runs away to 180°."""
    arm = frictionless("puma560")
    T = arm.forward_kinematics(bent(arm))
    push = constant_wrench([1e-6, 1e-6, 1e-6, 0.0, 0.0, 0.0])
    run = simulate(
        arm, law(kind, arm), at_rest(T), duration=20.0, period=1e-3, q0=bent(arm), wrench=push, save_every=100
    )
    _, turn = offset(arm, run, T)
    assert np.abs(turn).max() < 1e-6


@pytest.mark.parametrize(("kind", "axes"), paired(["shaped", "admittance"], ["reference", "world"]))
def test_a_shaped_impedance_obeys_its_linear_equation(kind: str, axes: str) -> None:
    """B x'' + D x' + K x = f after a step of the force, about a reference that moves: the exact solution by expm.

    The reference moves along a circle and turns with it; with axes of the reference even the observer turns.
    """
    arm = frictionless("panda")
    T = arm.forward_kinematics(bent(arm))
    circle = ch.Circle(T, T[:3, 3] - [0.0, 0.05, 0.0], [0.0, 0.0, 1.0], np.pi / 2, orientation="turning", duration=1.5)
    force = np.array([5.0, -8.0, 3.0])

    def push(t: Any, pose: Any, twist: Any) -> Any:
        R = circle.motion(t, circle.parameters).pose[:3, :3] if axes == "reference" else np.eye(3)
        return np.concatenate([np.zeros(3), R @ force])

    controller = law(kind, arm, axes=axes)
    run = simulate(
        arm,
        controller,
        lambda t: circle.motion(t, circle.parameters),
        duration=1.5,
        period=1e-4,
        q0=bent(arm),
        wrench=push,
        save_every=500,
    )
    wanted, found = circle(run.t).pose, arm.forward_kinematics(run.q)
    way = found[:, :3, 3] - wanted[:, :3, 3]
    if axes == "reference":
        way = np.einsum("kji,kj->ki", wanted[:, :3, :3], way)
    for k in range(3):
        A = np.array([[0.0, 1.0, 0.0], [-STIFF[k] / MASS[k], -DAMP[k] / MASS[k], force[k] / MASS[k]], [0.0, 0.0, 0.0]])
        expected = [scipy.linalg.expm(A * t)[0, 2] for t in run.t]
        np.testing.assert_allclose(way[:, k], expected, atol=2e-5)
    np.testing.assert_allclose(found[:, :3, :3], wanted[:, :3, :3], atol=5e-5)


@pytest.mark.parametrize("kind", ["shaped", "admittance"])
def test_turns_about_a_principal_axis_obey_the_linear_equation_too(kind: str) -> None:
    arm = frictionless("puma560")
    T = arm.forward_kinematics(bent(arm))
    push = constant_wrench(np.concatenate([T[:3, :3] @ [0.0, 0.0, 20.0], np.zeros(3)]))
    controller = law(kind, arm, orientation_error="logarithm")
    run = simulate(arm, controller, at_rest(T), duration=1.5, period=1e-4, q0=bent(arm), wrench=push, save_every=500)
    _, turn = offset(arm, run, T)
    A = np.array([[0.0, 1.0, 0.0], [-25.0 / 0.4, -4.0 / 0.4, 20.0 / 0.4], [0.0, 0.0, 0.0]])
    expected = [scipy.linalg.expm(A * t)[0, 2] for t in run.t]
    assert max(expected) > 0.8
    np.testing.assert_allclose(turn[:, 2], expected, atol=3e-4)
    np.testing.assert_allclose(turn[:, :2], 0.0, atol=1e-4)


@pytest.mark.parametrize(("name", "error"), paired(["planar2r", "puma560", "panda"], ["quaternion", "logarithm"]))
def test_the_energy_of_arm_and_springs_never_grows(name: str, error: str) -> None:
    """V = qd·M qd/2 + U from starts up to 170° off, some of them singular; the energy's formula is SciPy's."""
    arm = frictionless(name)
    T = arm.forward_kinematics(bent(arm))
    turn = np.radians(170.0) * np.array([0.6, 0.0, 0.8])
    if arm.n > 2:
        T[:3, :3] = T[:3, :3] @ Rotation.from_rotvec(turn).as_matrix()
    T[:3, 3] += [0.1, -0.1, 0.0]
    options = PLANAR if arm.n == 2 else {"nullspace_damping": 5.0}
    springs = PLANAR if arm.n == 2 else SPRINGS
    controller = Impedance(arm, **(springs | options), orientation_error=error)
    rng = np.random.default_rng(4)
    starts = np.vstack([bent(arm), 0.0 * bent(arm), bent(arm) + rng.uniform(-1.0, 1.0, (4, arm.n))])
    speeds = 0.5 * rng.normal(size=starts.shape)
    run = simulate(arm, controller, at_rest(T), duration=0.6, period=1e-5, q0=starts, qd0=speeds, save_every=100)
    found = arm.forward_kinematics(run.q)
    way = found[..., :3, 3] - T[:3, 3]
    U = 0.0
    if arm.n == 2:
        U = 150.0 * np.sum(way[..., :2] ** 2, axis=-1)
    else:
        R = T[:3, :3]
        spin = Rotation.from_matrix((R.T @ found[..., :3, :3]).reshape(-1, 3, 3))
        vector = 2.0 * spin.as_quat()[:, :3] if error == "quaternion" else spin.as_rotvec()
        U = 0.5 * (TURN_STIFF * vector**2).sum(-1).reshape(way.shape[:-1]) + 0.5 * (STIFF * (way @ R) ** 2).sum(-1)
    V = arm.kinetic_energy(run.q, run.qd) + U
    grown = np.diff(V, axis=-1)
    assert np.isfinite(V).all()
    assert grown.max() < 1e-4 * V.max(), (grown.max(), V.max())
    assert (V[:, -1] < 0.9 * V[:, 0]).all()


def test_own_inertia_follows_a_moving_reference_exactly() -> None:
    """Started on it, an arm without redundant joints stays: M qdd_d + C qd_d + g carries it along."""
    arm = frictionless("puma560")
    T = arm.forward_kinematics(bent(arm))
    circle = ch.Circle(T, T[:3, 3] - [0.0, 0.1, 0.0], [0.0, 0.0, 1.0], np.pi, orientation="turning", duration=1.0)
    off = []
    for period in (1e-3, 1e-4):
        run = simulate(
            arm,
            Impedance(arm, **SPRINGS),
            lambda t: circle.motion(t, circle.parameters),
            duration=1.0,
            period=period,
            q0=bent(arm),
            save_every=round(0.01 / period),
        )
        off.append(np.abs(arm.forward_kinematics(run.q) - circle(run.t).pose).max())
    assert off[1] < 2e-4
    assert off[1] < 0.2 * off[0]


def test_own_inertia_in_contact_with_a_stiff_wall_stays_stable() -> None:
    """A wall of 20 kN/m without damping, 3 cm in the way: the arm comes to rest where springs and wall balance."""
    arm = frictionless("panda")
    T = arm.forward_kinematics(bent(arm))
    wall = T[2, 3] - 0.05

    def contact(t: Any, pose: Any, twist: Any) -> Any:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, maximum(2e4 * (wall - pose[2, 3]), 0.0)])

    goal = T.copy()
    goal[2, 3] = wall - 0.03
    controller = Impedance(arm, **(SPRINGS | {"damping": 200.0}), axes="world")
    run = simulate(
        arm, controller, at_rest(goal), duration=6.0, period=5e-4, q0=bent(arm), wrench=contact, save_every=20
    )
    depth = wall - arm.forward_kinematics(run.q[-1])[2, 3]
    np.testing.assert_allclose(2e4 * depth, STIFF[2] * (0.03 - depth), rtol=1e-3)
    assert np.abs(run.qd[-1]).max() < 1e-3


@pytest.mark.parametrize("kind", ["own inertia", "shaped", "admittance"])
def test_a_wrong_model_degrades_but_stays_stable(kind: str) -> None:
    arm = frictionless("panda")
    plant = arm.with_payload(1.5)
    T = arm.forward_kinematics(bent(arm))
    run = simulate(
        plant,
        law(kind, arm, nullspace_stiffness=10.0),
        at_rest(T),
        duration=8.0,
        period=1e-3,
        q0=bent(arm),
        save_every=20,
    )
    assert np.abs(run.qd[-1]).max() < 0.02
    off = np.linalg.norm(arm.forward_kinematics(run.q[-1])[:3, 3] - T[:3, 3])
    assert 1e-4 < off < 0.1


@pytest.mark.parametrize("kind", ["own inertia", "shaped", "admittance"])
def test_planar_arms(kind: str) -> None:
    arm = frictionless("planar2r")
    T = arm.forward_kinematics(bent(arm))
    options = PLANAR if kind == "own inertia" else PLANAR | {"inertia": 4.0}
    controller = Admittance(arm, kp=900.0, kd=60.0, **options) if kind == "admittance" else Impedance(arm, **options)
    push = constant_wrench([0.0, 0.0, 0.0, 6.0, -3.0, 0.0])
    run = simulate(arm, controller, at_rest(T), duration=6.0, period=1e-3, q0=bent(arm), wrench=push, save_every=50)
    way = arm.forward_kinematics(run.q[-1])[:3, 3] - T[:3, 3]
    np.testing.assert_allclose(way, [0.02, -0.01, 0.0], atol=1e-6)


@pytest.mark.parametrize("kind", ["own inertia", "shaped", "admittance"])
def test_singular_poses_stay_bounded(kind: str) -> None:
    arm = frictionless("puma560")
    q = np.array([0.3, 0.6, -0.4, 0.5, 0.0, 0.2])  # wrist axes in line
    T = arm.forward_kinematics(q)
    push = constant_wrench([1.0, 1.0, -1.0, 10.0, 5.0, 5.0])
    run = simulate(arm, law(kind, arm), at_rest(T), duration=3.0, period=5e-4, q0=q, wrench=push, save_every=10)
    assert np.isfinite(run.q).all()
    assert np.abs(run.qd).max() < 30.0


def test_the_memory_of_admittance_keeps_a_rotation_and_its_energy() -> None:
    """Undamped springs swing on for 10,000 steps of the trapezoidal rule."""
    arm = ch.load("panda")
    T = arm.forward_kinematics(bent(arm))
    controller = Admittance(arm, kp=900.0, kd=60.0, **(SHAPED | {"damping": 0.0, "rotational_damping": 0.0}))
    state = checked_memory(controller.memory)
    state.offset[:], state.velocity[3:] = [0.02, -0.01, 0.03], [0.1, 0.0, -0.2]
    start = 0.5 * STIFF @ state.offset**2 + 0.5 * MASS @ state.velocity[3:] ** 2
    quiet = at_rest(T)(0.0)
    for _ in range(2000):
        _, state = called(controller, bent(arm), np.zeros(7), quiet, state, period=5e-3, wrench=np.zeros(6))
    energy = 0.5 * STIFF @ state.offset**2 + 0.5 * MASS @ state.velocity[3:] ** 2
    np.testing.assert_allclose(energy, start, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(state.quaternion), 1.0, atol=1e-14)


@pytest.mark.parametrize("h", [0.01, 1.0])
def test_energy_of_a_compliant_frame_never_grows_whatever_the_period(h: float) -> None:
    """Undamped springs, a thousand times as stiff about one axis as about another, start from large rotations."""
    rng, rest = np.random.default_rng(0), at_rest(np.eye(4))(0.0)
    for K in ([0.1, 10.0, 100.0], [100.0, 0.1, 1.0]):
        springs = {"rotational_stiffness": K, "rotational_damping": 0.0, "rotational_inertia": [0.01, 0.1, 0.03]}
        frame = CompliantFrame(stiffness=1.0, damping=0.0, inertia=1.0, **springs)
        state, energies = frame.at_rest(), []
        state.quaternion, state.velocity[:3] = Rotation.random(rng=rng).as_quat(scalar_first=True), rng.normal(size=3)
        state.quaternion = state.quaternion * np.sign(state.quaternion[0])
        for _ in range(100):
            spin = state.velocity[:3]
            energies.append(0.5 * spin**2 @ [0.01, 0.1, 0.03] + 2.0 * state.quaternion[1:] ** 2 @ K)
            state = frame.step(state, rest, np.zeros(6), h)
        assert np.diff(energies).max() < 1e-12 * energies[0]


@pytest.mark.parametrize("law", [Impedance, Admittance])
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"stiffness": -1.0}, r"stiffness\[0\] is -1.0; it must be at least 0"),
        ({"damping": [1.0, 2.0]}, r"damping has shape \(2,\); expected \(3,\) or one number"),
        ({"rotational_stiffness": None}, "rotational_stiffness is missing: the orientation is controlled"),
        ({"rotational_damping": np.nan}, r"rotational_damping\[0\] is nan"),
        ({"inertia": 0.0}, r"inertia\[0\] is 0.0; it must be positive"),
        ({"rotational_inertia": None}, "rotational_inertia is missing"),
        ({"axes": "tool"}, "Existing: reference, world"),
        ({"orientation_error": "euler"}, "Existing: quaternion, logarithm"),
    ],
)
def test_bad_gains_are_named(law: Any, wrong: dict[str, Any], named: str) -> None:
    loop = {"kp": 900.0, "kd": 60.0} if law is Admittance else {}
    with pytest.raises(ChaslesError, match=named):
        law(ch.load("panda"), **(SHAPED | loop | wrong))


def test_a_rotational_inertia_alone_is_refused() -> None:
    with pytest.raises(ArgumentError, match="rotational_inertia, kg·m², needs inertia"):
        Impedance(ch.load("panda"), **SPRINGS, rotational_inertia=1.0)


def test_only_those_that_need_it_measure_the_wrench() -> None:
    arm = ch.load("panda")
    assert Impedance(arm, **SPRINGS).measured_wrench is None
    assert Impedance(arm, **SHAPED).measured_wrench == "tool"
    assert law("admittance", arm).measured_wrench == "tool"
