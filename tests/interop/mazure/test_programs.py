"""Mazure's programs against the library's own dynamics, closed forms, and the report's misprints."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.thinning import paired

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.interop import mazure
from chasles.interop.mazure import Arm, Misprint

ROBOTS = ["planar2r", "scara", "puma560", "stanford"]


def bare(name: str) -> ch.Robot:
    """Return a shipped robot without what the report's model leaves out."""
    robot = ch.load(name).with_friction(viscous=0.0, coulomb=0.0)
    motors = {f"joints.{joint}.motor_inertia": 0.0 for joint in robot.joint_names}
    return robot.with_values(motors)


def state(name: str, seed: int) -> tuple[ch.Robot, Arm, NDArray[np.float64]]:
    robot = bare(name)
    q, qd, qdd = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, robot.n))
    arm = Arm.of(robot)
    return robot, arm, mazure.MAKEQ(q, qd, qdd, arm)


@pytest.mark.parametrize(("name", "seed"), paired(ROBOTS, [0, 1]))
def test_torques_and_linear_model_are_the_librarys(name: str, seed: int) -> None:
    robot, arm, Q = state(name, seed)
    tau = robot.inverse_dynamics(*Q[:, 1:].T)
    result = mazure.LLLIN(Q, arm)
    np.testing.assert_allclose(mazure.NE(Q, arm).tau, tau, rtol=1e-11, atol=1e-11)
    for found, expected in zip(
        (result.K, result.C, result.M), robot.inverse_dynamics_derivatives(*Q[:, 1:].T), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    A, B = robot.linearize(Q[:, 1], Q[:, 2], tau)
    np.testing.assert_allclose(result.A, A, rtol=1e-8, atol=1e-8 * np.abs(A).max())
    np.testing.assert_allclose(result.B, B, rtol=1e-8, atol=1e-8 * np.abs(B).max())


def test_a_load_at_the_end_acts_by_the_jacobian() -> None:
    robot, arm, Q = state("puma560", 3)
    force, moment = np.array([3.0, -1.0, 2.0]), np.array([0.5, 0.2, -0.4])
    difference = mazure.NE(Q, arm, force, moment).tau - mazure.NE(Q, arm).tau
    J = robot.jacobian(Q[:, 1], frame="body")
    np.testing.assert_allclose(difference, J.T @ np.concatenate([moment, force]), rtol=1e-10, atol=1e-10)


def test_derivatives_of_a_loaded_prismatic_arm_are_differences() -> None:
    """The load's part of K, for which `linearize` has no counterpart, by complex-free central differences."""
    _, arm, Q = state("stanford", 5)
    force, moment, step = np.array([3.0, -1.0, 2.0]), np.array([0.5, 0.2, -0.4]), 1e-5
    K = mazure.LLLIN(Q, arm, force, moment).K
    for j in range(arm.n):
        shift = np.zeros_like(Q)
        shift[j, 1] = step
        ahead, behind = (mazure.NE(Q + sign * shift, arm, force, moment).tau for sign in (1.0, -1.0))
        np.testing.assert_allclose(K[:, j], (ahead - behind) / (2.0 * step), rtol=1e-6, atol=1e-6)


def test_gravity_as_printed_points_upwards() -> None:
    """Two rods held out horizontally: their weights times the distances of their centres."""
    Q = mazure.MAKEQ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    expected = 9.80621 * np.array([10.0 * 0.25 + 5.0 * 0.625, 5.0 * 0.125])
    np.testing.assert_allclose(mazure.NE(Q).tau, expected, rtol=1e-14)
    np.testing.assert_allclose(mazure.NE(Q, misprints=Misprint.GRAVITY).tau, -expected, rtol=1e-14)


def test_the_printed_k_lacks_a_term() -> None:
    """For one rod K = -m g l sin(q)/2, whatever its speed; the printed one adds a centrifugal term."""
    rod = Arm.of(
        ch.Robot.from_dh([{"a": 0.5, "mass": 10.0, "center_of_mass": [-0.25, 0.0, 0.0]}], gravity=(0.0, -9.81, 0.0))
    )
    Q = mazure.MAKEQ([0.7], [3.0], [2.0], rod)
    exact = -10.0 * 9.81 * 0.25 * np.sin(0.7)
    np.testing.assert_allclose(mazure.LLLIN(Q, rod).K, [[exact]], rtol=1e-13)
    # dω̇ x l + ω x (ω x dl) with dl = -l e_y, seen by the torque at l/2: m (l/2) (l ω²)
    printed = mazure.LLLIN(Q, rod, misprints=Misprint.LEVER).K
    np.testing.assert_allclose(printed, [[exact + 10.0 * 0.25 * 0.5 * 9.0]], rtol=1e-13)


def test_a_prismatic_joint_moves_the_centre_by_its_axis() -> None:
    """A turning slider: τ = m (d² q̈ + 2 d ḋ q̇), so ∂τ/∂d = 2 m (d q̈ + ḋ q̇); as printed it is lost."""
    rows = [
        {"alpha": -np.pi / 2},
        {"kind": "prismatic", "mass": 2.0, "inertia": [0.0, 0.0, 0.0]},
    ]
    arm = Arm.of(ch.Robot.from_dh(rows, gravity=(0.0, 0.0, 0.0), check=False))
    Q = mazure.MAKEQ([0.3, 0.4], [1.5, -0.5], [2.0, 1.0], arm)
    exact = mazure.LLLIN(Q, arm).K[0, 1]
    assert exact == pytest.approx(2.0 * 2.0 * (0.4 * 2.0 - 0.5 * 1.5), rel=1e-12)
    printed = mazure.LLLIN(Q, arm, misprints=Misprint.LEVER).K[0, 1]
    assert abs(printed - exact) > 0.4 * abs(exact)


@pytest.mark.parametrize(("name", "least"), [("planar2r", 0.0), ("scara", 0.0), ("puma560", 1e-3), ("stanford", 1e-3)])
def test_the_unrotated_term_matters_where_axes_are_not_parallel(name: str, least: float) -> None:
    _, arm, Q = state(name, 7)
    exact, printed = (mazure.NE(Q, arm, misprints=kind).tau for kind in (Misprint.NONE, Misprint.TRANSPORT))
    error = np.linalg.norm(printed - exact) / np.linalg.norm(exact)
    assert error > least if least else error < 1e-12


def test_the_arm_is_the_shipped_robot() -> None:
    shipped = Arm.of(ch.load("planar2r"))
    assert shipped.kind == mazure.ARM.kind
    for name in ("pp", "M", "rc", "I", "base_acceleration"):
        np.testing.assert_allclose(getattr(shipped, name), getattr(mazure.ARM, name), rtol=1e-14, atol=1e-16)


def test_costs_grow_linearly_and_the_library_needs_fewer() -> None:
    rows = {(row.program, row.n): row for n in (2, 3, 4) for row in mazure.operation_counts(n)}
    for program in ("NE", "inverse_dynamics"):
        counts = [rows[program, n].multiplications for n in (2, 3, 4)]
        assert counts[2] - counts[1] == counts[1] - counts[0]
        assert rows[program, 4].multiplications <= 150 * 4 - 48
    assert rows["inverse_dynamics", 4].multiplications < rows["NE", 4].multiplications
    assert rows["inverse_dynamics_derivatives", 4].additions < rows["LLLIN", 4].additions


def test_the_figure_holds_the_linear_model() -> None:
    robot = ch.load("planar2r")
    motion = ch.PointToPoint([-1.57, 0.0], [0.79, 1.57], 1.0)
    figure = mazure.plot_matrices(robot, motion, 0.1, ch.control.TimeVaryingRegulator(robot, integral_error=0.01))
    assert figure.layout.annotations[-1].text == "<b>K, integrals</b> [N·m/(rad·s)]"
    assert len(figure.data) == 6 * 4
    A, _ = robot.linearize(*motion(0.0)[:2], robot.inverse_dynamics(*motion(0.0)))
    drawn = np.frombuffer(base64.b64decode(figure.data[0].y["bdata"]), dtype="<f4")
    assert drawn[0] == pytest.approx(A[2, 0], rel=1e-6)


def test_bad_input_is_refused() -> None:
    Q = mazure.MAKEQ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ArgumentError, match=r"Q has shape \(1, 4\); expected \(2, 4\)"):
        mazure.NE(Q[:1])
    wrong = Q.copy()
    wrong[1, 0] = 0.0
    with pytest.raises(ArgumentError, match=r"Q\[1, 0\] is 0.0; joint 2 of the arm has the type 1"):
        mazure.LLLIN(wrong)
    with pytest.raises(ArgumentError, match=r"q has shape \(3,\)"):
        mazure.MAKEQ([0.0] * 3, [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ArgumentError, match="singular"):
        mazure.MAKEB(1, [1.0], [0.0], [0.0])
    with pytest.raises(ArgumentError, match="rows has shape"):
        mazure.MAKEA(2, [1.0], [0.0], [0.0])
    with pytest.raises(ArgumentError, match="a whole number from 1 to 12"):
        mazure.operation_counts(0)
    with pytest.raises(ArgumentError, match=r"joint .* is prismatic and its link has the length"):
        Arm.of(ch.Robot.from_dh([{"kind": "prismatic", "a": 0.1, "mass": 1.0}], check=False))
    with pytest.raises(ChaslesError):
        Arm.of(ch.load("panda").with_free_base())
