"""All algorithms on a robot with every kind of joint: identities that hold whatever its numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from chasles import Robot
from chasles import algorithms as alg
from chasles.base.errors import ArgumentError
from chasles.model import Description, Inertia, Joint, Link, Tree, build_tree, inertial_parameters
from chasles.model.placement import homogeneous

KINDS = ("free", "spherical", "universal", "cylindrical", "planar", "helical", "spherical", "prismatic", "revolute")
#: Index of the parent link of each joint: a tree with branches.
PARENTS = (0, 1, 1, 2, 2, 3, 4, 6, 7)


def robot_of_all_kinds(seed: int) -> Robot:
    rng = np.random.default_rng(seed)

    def placement() -> Any:
        return homogeneous(Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))

    links, joints = [Link("world")], []
    for k, (kind, parent) in enumerate(zip(KINDS, PARENTS, strict=True), start=1):
        points, masses = rng.normal(size=(6, 3)), rng.uniform(0.2, 1.0, 6)
        center = masses @ points / masses.sum()
        moment = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points - center, strict=True))
        links.append(Link(f"link{k}", Inertia(masses.sum(), center, moment)))
        axis, other = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
        joints.append(
            Joint(
                f"joint{k}",
                kind,
                links[parent].name,
                links[k].name,
                placement(),
                placement(),
                axis,
                0.3 if kind == "helical" else 0.0,
                other,
                viscous_friction=rng.uniform(0.0, 0.5),
                coulomb_friction=rng.uniform(0.0, 0.5),
                coulomb_velocity=rng.uniform(0.2, 1.0),
                motor_inertia=rng.uniform(0.0, 0.2),
                gear_ratio=1.5,
            )
        )
    return Robot(Description("all kinds", tuple(links), tuple(joints), gravity=rng.normal(size=3) * 5))


ROBOTS = [robot_of_all_kinds(seed) for seed in range(3)]


def state(robot: Robot, seed: int = 0) -> tuple[Tree, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return build_tree(robot.description), robot.random_configuration(rng), *rng.normal(size=(2, robot.n))


def moved(tree: Tree, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray(alg.integrate(tree, q, v))


def central(function: Any, n: int, h: float = 1e-3) -> np.ndarray:
    """Derivatives by the n elements of a displacement, in error by O(h^6)."""
    columns = []
    for unit in np.eye(n):
        steps = [
            weight * (np.asarray(function(k * h * unit)) - np.asarray(function(-k * h * unit)))
            for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0))
        ]
        columns.append(sum(steps) / (60.0 * h))
    return np.stack(columns, axis=-1)


def relative(a: Any, b: Any) -> float:
    a, b = np.asarray(a), np.asarray(b)
    return float(np.abs(a - b).max() / np.abs(b).max())


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_dimensions(robot: Robot) -> None:
    assert (robot.nq, robot.n) == (7 + 4 + 2 + 2 + 3 + 1 + 4 + 1 + 1, 6 + 3 + 2 + 2 + 3 + 1 + 3 + 1 + 1)
    assert len(robot.coordinate_names) == robot.nq
    assert len(robot.velocity_names) == robot.n
    base = [f"joint1.{name}" for name in ("qw", "qx", "qy", "qz", "x", "y", "z")]
    assert robot.coordinate_names[:8] == (*base, "joint2.qw")


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_forward_undoes_inverse_dynamics(robot: Robot) -> None:
    tree, q, qd, qdd = state(robot)
    tau = alg.inverse_dynamics(tree, q, qd, qdd)
    for solve in (alg.accelerations_by_mass_matrix, alg.articulated_body_accelerations):
        np.testing.assert_allclose(solve(tree, q, qd, tau), qdd, rtol=0, atol=1e-9)


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_the_jacobian_is_the_derivative_of_the_pose(robot: Robot) -> None:
    tree, q, qd, _ = state(robot)
    slopes = central(lambda v: alg.forward_kinematics(tree, moved(tree, q, v), "link9"), tree.n)
    J = alg.jacobian(tree, q, "link9", "world-aligned")
    R = alg.forward_kinematics(tree, q, "link9")[:3, :3]
    turns = np.einsum("ijk,lj->ilk", slopes[:3, :3], R)
    assert relative(np.array([turns[2, 1], turns[0, 2], turns[1, 0]]), J[:3]) < 1e-11
    assert relative(slopes[:3, 3], J[3:]) < 1e-11
    for frame in ("space", "body", "world-aligned"):
        rate = central(lambda t, f=frame: alg.jacobian(tree, moved(tree, q, t[0] * qd), "link9", f), 1)[..., 0]
        assert relative(alg.jacobian_derivative(tree, q, qd, "link9", frame), rate) < 1e-10


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_the_coriolis_matrix(robot: Robot) -> None:
    tree, q, qd, _ = state(robot)
    C = alg.coriolis_matrix(tree, q, qd)
    assert relative(C @ qd, alg.coriolis_vector(tree, q, qd)) < 1e-12
    M_rate = central(lambda t: alg.mass_matrix(tree, moved(tree, q, t[0] * qd)), 1)[..., 0]
    skew = M_rate - 2.0 * C
    assert np.abs(skew + skew.T).max() < 1e-9 * np.abs(M_rate).max()


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_derivatives_of_inverse_dynamics(robot: Robot) -> None:
    tree, q, qd, qdd = state(robot)
    wrenches = {"link9": np.arange(1.0, 7.0), "link5": np.ones(6)}
    by_q, by_qd, by_qdd = alg.inverse_dynamics_derivatives(tree, q, qd, qdd, wrenches)
    expected_q = central(lambda v: alg.inverse_dynamics(tree, moved(tree, q, v), qd, qdd, wrenches), tree.n)
    expected_qd = central(lambda v: alg.inverse_dynamics(tree, q, qd + v, qdd, wrenches), tree.n)
    assert relative(by_q, expected_q) < 1e-10
    assert relative(by_qd, expected_qd) < 1e-10
    assert relative(by_qdd, alg.mass_matrix(tree, q)) < 1e-13


@pytest.mark.slow
def test_the_linear_model_is_that_of_the_motion() -> None:
    """The rate of a neighbour's displacement from the motion, from the rates of both configurations alone."""
    robot = ROBOTS[0]
    tree, q, qd, tau = state(robot)
    A, B = alg.linearize(tree, q, qd, tau)
    n, h = tree.n, 1e-3

    def rate(v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """d/dt of (difference(q, q'), qd' - qd) at the neighbour q' = integrate(q, v), qd' = qd + w."""

        def displacement(t: np.ndarray) -> Any:
            return alg.difference(tree, moved(tree, q, t[0] * qd), moved(tree, moved(tree, q, v), t[0] * (qd + w)))

        accelerations = alg.forward_dynamics(tree, moved(tree, q, v), qd + w, tau)
        return np.concatenate([central(displacement, 1, h)[:, 0], accelerations])

    slopes = central(lambda x: rate(x[:n], x[n:]), 2 * n, 3e-3)
    assert relative(A, slopes) < 1e-7
    by_tau = central(lambda u: alg.forward_dynamics(tree, q, qd, tau + u), n)
    assert relative(B[n:], by_tau) < 1e-9
    assert not B[:n].any()


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_regressors(robot: Robot) -> None:
    tree, q, qd, qdd = state(robot)
    pi = inertial_parameters(tree)
    assert len(robot.inertial.names) == len(pi) == 10 * 9 + 3 * robot.n
    assert relative(alg.torque_regressor(tree, q, qd, qdd) @ pi, alg.inverse_dynamics(tree, q, qd, qdd)) < 1e-12
    assert relative(alg.momentum_regressor(tree, q, qd) @ pi, alg.mass_matrix(tree, q) @ qd) < 1e-12
    kinetic, potential = alg.energy_regressor(tree, q, qd)
    assert relative(kinetic @ pi, alg.kinetic_energy(tree, q, qd)) < 1e-12
    assert relative(potential @ pi, alg.potential_energy(tree, q)) < 1e-12
    again = robot.inertial.with_values(pi)
    assert relative(again.inertial.values, pi) < 1e-13


def test_base_parameters_are_found_numerically() -> None:
    robot = ROBOTS[0]
    base = robot.inertial.base()
    tree, q, qd, qdd = state(robot, 5)
    Y = alg.torque_regressor(tree, q, qd, qdd)
    assert relative(base.columns(Y) @ base.values, alg.inverse_dynamics(tree, q, qd, qdd)) < 1e-9
    with pytest.raises(ArgumentError, match="one degree of freedom"):
        robot.inertial.base("regrouping")


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_momentum_about_the_center_of_mass(robot: Robot) -> None:
    tree, q, qd, qdd = state(robot)
    A = alg.centroidal_momentum_matrix(tree, q)
    mass = sum(float(body.mass) for body in tree.bodies)
    center_rate = central(lambda t: alg.center_of_mass(tree, moved(tree, q, t[0] * qd)), 1)[:, 0]
    assert relative(A[3:] @ qd, mass * center_rate) < 1e-11
    assert relative(alg.centroidal_momentum(tree, q, qd), A @ qd) < 1e-13
    A_rate = central(lambda t: alg.centroidal_momentum_matrix(tree, moved(tree, q, t[0] * qd)), 1)[..., 0]
    assert relative(alg.centroidal_momentum_rate(tree, q, qd, qdd), A @ qdd + A_rate @ qd) < 1e-10


def test_forces_inside_do_not_change_the_momentum() -> None:
    """In free fall the total force is the weight, and there is no moment about the centre of mass."""
    robot = ROBOTS[1]
    tree, q, qd, tau = state(robot)
    tau[:6] = alg.friction_torque(tree, q, qd)[:6]
    free = robot.with_values({"joints.joint1.motor_inertia": 0.0})
    qdd = alg.forward_dynamics(build_tree(free.description), q, qd, tau)
    rate = alg.centroidal_momentum_rate(tree, q, qd, qdd)
    mass = sum(float(body.mass) for body in tree.bodies)
    scale = np.abs(mass * tree.gravity).max()
    np.testing.assert_allclose(rate[:3], 0.0, atol=1e-9 * scale)
    np.testing.assert_allclose(rate[3:], mass * tree.gravity, atol=1e-9 * scale)


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_power_balance(robot: Robot) -> None:
    tree, q, qd, tau = state(robot)
    wrenches = {"link9": np.arange(1.0, 7.0), "link4": np.array([0.0, 1.0, 0.0, -2.0, 0.0, 3.0])}
    motors, environment, kinetic, potential, friction = alg.power_balance(tree, q, qd, tau, wrenches)
    assert motors + environment == pytest.approx(kinetic + potential + friction, rel=1e-10)
    assert friction > 0.0
    qdd = alg.forward_dynamics(tree, q, qd, tau, wrenches)

    def energies(t: np.ndarray) -> Any:
        there, rates = moved(tree, q, t[0] * qd), qd + t[0] * qdd
        return alg.kinetic_energy(tree, there, rates), alg.potential_energy(tree, there)

    slopes = central(energies, 1)[:, 0]
    assert slopes == pytest.approx([kinetic, potential], rel=1e-9)


@pytest.mark.parametrize("robot", ROBOTS, ids=range(3))
def test_operational_space(robot: Robot) -> None:
    """A wrench at a frame accelerates it by the mobility."""
    tree, q, still, tau = state(robot)
    still = 0.0 * still
    w = np.arange(1.0, 7.0)
    J = alg.jacobian(tree, q, "link9", "body")
    with_wrench = alg.forward_dynamics(tree, q, still, tau, {"link9": w})
    change = J @ (with_wrench - alg.forward_dynamics(tree, q, still, tau))
    mobility = alg.operational_space_mobility(tree, q, "link9", "body")
    assert relative(mobility @ w, change) < 1e-9
    assert np.array_equal(mobility, mobility.T)
    inertia = alg.operational_space_inertia(tree, q, "link9", "body")
    assert np.abs(inertia @ mobility - np.eye(6)).max() < 1e-9


@pytest.mark.parametrize("name", ["universal", "cylindrical", "planar"])
def test_a_joint_with_several_freedoms_is_a_chain_of_joints(name: str) -> None:
    """Separate joints with links without mass between them are the same robot."""
    rod = Inertia(2.0, [0.1, 0.2, -0.3], np.diag([0.2, 0.3, 0.25]))
    axis, second = np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0])
    whole = Joint("j", name, "wall", "rod", axis=axis, second_axis=second)
    parts = {
        "universal": [("revolute", axis), ("revolute", second)],
        "cylindrical": [("revolute", axis), ("prismatic", axis)],
        "planar": [("prismatic", f.direction) for f in whole.freedoms[:2]] + [("revolute", axis)],
    }[name]
    one = Robot(Description("one", (Link("wall"), Link("rod", rod)), (whole,)))
    names = ["wall", *(f"between{k}" for k in range(len(parts) - 1)), "rod"]
    links = tuple(Link(n, rod if n == "rod" else Inertia()) for n in names)
    joints = tuple(
        Joint(f"j{k}", kind, names[k], names[k + 1], axis=direction)  # type: ignore[arg-type]
        for k, (kind, direction) in enumerate(parts)
    )
    several = Robot(Description("several", links, joints))
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, one.n))
    assert one.n == one.nq == several.n
    for compute in (
        lambda r: r.forward_kinematics(q, target="rod"),
        lambda r: r.inverse_dynamics(q, qd, qdd),
        lambda r: r.forward_dynamics(q, qd, qdd),
        lambda r: r.coriolis_matrix(q, qd),
        lambda r: r.inverse_dynamics_derivatives(q, qd, qdd)[0],
    ):
        np.testing.assert_allclose(compute(one), compute(several), rtol=1e-13, atol=1e-13)


def test_quaternions_of_any_length_and_sign_are_one_orientation() -> None:
    robot = ROBOTS[0]
    _, q, qd, qdd = state(robot)
    other = q.copy()
    other[:4] *= -3.0
    np.testing.assert_allclose(robot.inverse_dynamics(other, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-11)
    batch = np.array([q, np.concatenate([np.zeros(4), q[4:]])])
    tau = robot.inverse_dynamics(batch, qd, qdd)
    assert np.isfinite(tau[0]).all()
    assert np.isnan(tau[1]).any()
