"""What must hold for the mechanics of closed chains: textbook machines, and random robots with random loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from tests.oracles.closed_machines import FRICTION, MACHINES, Y, at, bar, pivot, three_rrr

import chasles as ch
from chasles import algorithms as alg
from chasles.algorithms import closed_chain
from chasles.algorithms.loops import loop_jacobian_derivative
from chasles.base.errors import ArgumentError, ModelError
from chasles.mechanics import computations
from chasles.model import Description, Inertia, Joint, Link, build_tree, inertial_parameters, with_free_base, with_loop
from chasles.model.tree import Tree

KINDS = ("revolute", "prismatic", "universal", "spherical", "helical", "cylindrical", "planar")
LOOPS = ("spherical", "revolute", "universal", "rod", "planar", "fixed")


def random_placement(rng: np.random.Generator) -> np.ndarray:
    T = at(*rng.normal(size=3))
    T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    T[:3, 0] *= np.linalg.det(T[:3, :3])
    return T


def random_closed_robot(seed: int) -> Description:
    """Two branches of random joints, and a loop of each of two kinds that closes them where they stand."""
    rng = np.random.default_rng(seed)
    links, joints = [Link("base")], []
    for k in range(8):
        points = rng.normal(size=(6, 3))
        moments = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points - points.mean(axis=0))
        links.append(Link(f"body{k}", Inertia(6.0, points.mean(axis=0), moments)))
        kind = KINDS[(seed + k) % len(KINDS)]
        pitch = {"pitch": 0.2} if kind == "helical" else {}
        parent = links[max(0, k - 1 if k % 4 else k // 8)].name
        joints.append(
            Joint(
                f"j{k}", kind, parent, links[-1].name, random_placement(rng), random_placement(rng), **FRICTION, **pitch
            )  # type: ignore[arg-type]
        )
    tree = Description("random", tuple(links), tuple(joints), gravity=rng.normal(size=3))
    q = alg.normalize(build_tree(tree), rng.normal(size=tree.nq))
    tree = tree.replace(home=q)
    for number, (first, second) in enumerate((("body3", "body7"), ("body1", "body6"))):
        kind = LOOPS[(seed + 2 * number) % len(LOOPS)]
        tree = with_loop(
            tree, f"loop{number}", kind, first, second, T_first_joint=random_placement(rng), closed_at_home=True
        )  # type: ignore[arg-type]
    return with_free_base(tree) if seed % 3 == 2 else tree


QUICK = ("four-bar", "3-RRR", "leg", 1, 2)
CASES = [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in [*MACHINES, *range(6)]]


@cache
def made(case: str | int) -> tuple[Tree, np.ndarray]:
    """A robot and a closed configuration of it, away from home."""
    description = alg.assembled(MACHINES[case]() if isinstance(case, str) else random_closed_robot(case))
    tree = build_tree(description)
    rng = np.random.default_rng(5)
    q = of(tree, "integrate", description.home, 0.05 * rng.normal(size=len(tree.independent)))
    assert np.abs(alg.loop_constraints(tree, q).residual).max() < 1e-9
    return tree, q


ON_LOOPS = {one.algorithm.__name__: one.closed for one in computations().values()}


def of(tree: Tree, name: str, *arguments: np.ndarray, **options: object) -> np.ndarray:
    """Compute what is declared for robots with loops in place of an algorithm, uncompiled."""
    result: np.ndarray = ON_LOOPS[name](tree, *arguments, **options)
    return result


@pytest.fixture(params=CASES, ids=str)
def robot(request: pytest.FixtureRequest) -> tuple[Tree, np.ndarray, np.ndarray, np.ndarray]:
    tree, q = made(request.param)
    qd, qdd = np.random.default_rng(9).normal(size=(2, len(tree.independent)))
    return tree, q, qd, qdd


Robot = tuple[Tree, np.ndarray, np.ndarray, np.ndarray]
WRENCH = np.array([1.0, -2.0, 0.5, 3.0, 4.0, -1.0])


def along(
    tree: Tree, name: str, q: np.ndarray, v: np.ndarray, *arguments: np.ndarray, h: float = 1e-5, **options: object
) -> np.ndarray:
    """Derivative of a computation by differences along a motion."""
    ahead, behind = (of(tree, "integrate", q, s * v) for s in (h, -h))
    return (of(tree, name, ahead, *arguments, **options) - of(tree, name, behind, *arguments, **options)) / (2.0 * h)


def close(a: np.ndarray, b: np.ndarray, tolerance: float) -> None:
    scale = 1.0 + np.abs(b).max()
    assert np.abs(np.asarray(a) - np.asarray(b)).max() <= tolerance * scale


def test_friction_at_the_end_of_a_step(robot: Robot) -> None:
    """The linearised equation of the implicit step, with the slopes of all joints' friction by differences."""
    tree, q, qd, tau = robot
    step, h = 0.01, 1e-6
    mean = of(tree, "forward_dynamics", q, qd, tau, step=step)
    G = alg.velocity_map(tree, q)
    rates = G @ qd
    slope = (alg.friction_torque(tree, q, rates + h) - alg.friction_torque(tree, q, rates - h)) / (2.0 * h)
    later = slope * step * alg.joint_accelerations(tree, q, qd, mean)
    close(of(tree, "inverse_dynamics", q, qd, mean) + G.T @ later, tau, 1e-6)


def test_dynamics_are_those_with_the_loops_forces(robot: Robot) -> None:
    """Newton's equations of all joints with multipliers, solved at once in the least-squares sense."""
    tree, q, qd, qdd = robot
    frame = tree.bodies[-1].name
    wrenches = {frame: WRENCH}
    tau = of(tree, "inverse_dynamics", q, qd, qdd, wrenches=wrenches)
    close(of(tree, "forward_dynamics", q, qd, tau, wrenches=wrenches), qdd, 1e-8)
    G = alg.velocity_map(tree, q)
    J, u = alg.loop_constraints(tree, q).J, G @ qd
    close(J @ G, np.zeros_like(J @ G), 1e-10)
    free = np.zeros(tree.n)
    free[list(tree.independent)] = tau
    M, h = alg.mass_matrix(tree, q), alg.bias(tree, q, u, wrenches)
    system = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    right = np.concatenate([free - h, -loop_jacobian_derivative(tree, q, u) @ u])
    accelerations = np.linalg.lstsq(system, right)[0][: tree.n]
    close(accelerations[list(tree.independent)], qdd, 1e-8)


def test_terms_of_the_equation_of_motion(robot: Robot) -> None:
    tree, q, qd, qdd = robot
    M, C = of(tree, "mass_matrix", q), of(tree, "coriolis_matrix", q, qd)
    c, g = of(tree, "coriolis_vector", q, qd), of(tree, "gravity_torque", q)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    close(C @ qd, c, 1e-10)
    close(of(tree, "inverse_dynamics", q, qd, qdd) - of(tree, "bias", q, qd), M @ qdd, 1e-9)
    close(of(tree, "inverse_mass_matrix", q) @ M, np.eye(len(M)), 1e-8)
    close(along(tree, "mass_matrix", q, qd), C + C.T, 1e-6)
    close([along(tree, "potential_energy", q, v) for v in np.eye(len(M))], g, 1e-6)
    close(2.0 * of(tree, "kinetic_energy", q, qd), qd @ M @ qd, 1e-10)


@pytest.mark.parametrize("frame", ["space", "body", "world-aligned"])
def test_jacobians_and_their_rates(robot: Robot, frame: str) -> None:
    tree, q, qd, _ = robot
    target = tree.bodies[-1].name
    J = of(tree, "jacobian", q, target=target, frame=frame)
    if frame == "world-aligned":
        velocity = along(tree, "forward_kinematics", q, qd, target=target)[:3, 3]
        close(J[3:] @ qd, velocity, 1e-6)
    close(
        of(tree, "jacobian_derivative", q, qd, target=target, frame=frame),
        along(tree, "jacobian", q, qd, target=target, frame=frame),
        1e-6,
    )


def test_momenta(robot: Robot) -> None:
    tree, q, qd, qdd = robot
    h = 1e-5
    ahead, behind = (of(tree, "integrate", q, s * qd) for s in (h, -h))
    rate = of(tree, "centroidal_momentum", ahead, qd + h * qdd) - of(tree, "centroidal_momentum", behind, qd - h * qdd)
    close(of(tree, "centroidal_momentum_rate", q, qd, qdd), rate / (2.0 * h), 1e-6)
    close(of(tree, "centroidal_momentum_matrix", q) @ qd, of(tree, "centroidal_momentum", q, qd), 1e-12)
    momentum, drift = of(tree, "momentum_and_drift", q, qd)
    close(momentum, of(tree, "mass_matrix", q) @ qd, 1e-10)
    tau = of(tree, "inverse_dynamics", q, qd, qdd)
    rate = (
        of(tree, "momentum_and_drift", ahead, qd + h * qdd)[0] - of(tree, "momentum_and_drift", behind, qd - h * qdd)[0]
    )
    close(tau + drift, rate / (2.0 * h), 1e-6)


def test_regressors(robot: Robot) -> None:
    tree, q, qd, qdd = robot
    pi = inertial_parameters(tree)
    close(of(tree, "torque_regressor", q, qd, qdd) @ pi, of(tree, "inverse_dynamics", q, qd, qdd), 1e-10)
    momentum, drift = of(tree, "momentum_and_drift", q, qd)
    close(of(tree, "momentum_regressor", q, qd) @ pi, momentum, 1e-10)
    close(of(tree, "momentum_drift_regressor", q, qd) @ pi, drift, 1e-10)
    kinetic, potential = of(tree, "energy_regressor", q, qd)
    close(kinetic @ pi, of(tree, "kinetic_energy", q, qd), 1e-10)
    close(potential @ pi, of(tree, "potential_energy", q), 1e-10)
    reference, change = np.random.default_rng(3).normal(size=(2, len(qd)))
    torque = of(tree, "passivity_torque", q, qd, reference, change)
    expected = of(tree, "mass_matrix", q) @ change + of(tree, "coriolis_matrix", q, qd) @ reference
    friction = of(tree, "bias", q, qd) - of(tree, "coriolis_vector", q, qd)  # with the weight
    close(torque, expected + friction, 1e-9)
    close(of(tree, "passivity_regressor", q, qd, reference, change) @ pi, torque, 1e-9)


def test_the_inertia_felt_at_a_frame(robot: Robot) -> None:
    tree, q, _, _ = robot
    options = {"target": tree.bodies[-1].name, "frame": "body"}
    J, M = of(tree, "jacobian", q, **options), of(tree, "mass_matrix", q)
    close(closed_chain.operational_space_mobility(tree, q, **options), J @ np.linalg.solve(M, J.T), 1e-8)


@pytest.mark.parametrize(
    "case", ["four-bar", "leg", *(pytest.param(case, marks=pytest.mark.slow) for case in ("3-RRR", "palletiser", 1, 2))]
)
def test_derivatives_are_exact(case: str | int) -> None:
    tree, q = made(case)
    n, h = len(tree.independent), 1e-6
    qd, qdd = np.random.default_rng(2).normal(size=(2, n))
    wrenches = {tree.bodies[-1].name: WRENCH}
    by_q, by_qd, by_qdd = of(tree, "inverse_dynamics_derivatives", q, qd, qdd, wrenches=wrenches)
    close(by_qdd, of(tree, "mass_matrix", q), 1e-12)
    tau = of(tree, "inverse_dynamics", q, qd, qdd, wrenches=wrenches)
    A, B = of(tree, "linearize", q, qd, tau, wrenches=wrenches)
    close(B[n:] @ by_qdd, np.eye(n), 1e-8)
    for k, unit in enumerate(np.eye(n)):
        column = along(tree, "inverse_dynamics", q, unit, qd, qdd, wrenches=wrenches)
        close(by_q[:, k], column, 1e-6)
        rates = [of(tree, "inverse_dynamics", q, qd + s * unit, qdd, wrenches=wrenches) for s in (h, -h)]
        close(by_qd[:, k], (rates[0] - rates[1]) / (2.0 * h), 1e-6)
        close(A[n:, k], along(tree, "forward_dynamics", q, unit, qd, tau, wrenches=wrenches), 1e-5)


def test_loops_press_as_newton_says() -> None:
    """The pin of a four-bar carries what the rocker, cut free, needs for its motion."""
    robot = ch.Robot(MACHINES["four-bar"]()).with_friction(viscous=0.0, coulomb=0.0)
    q = np.array([robot.integrate(robot.home, [s]) for s in (0.0, 0.2, 0.4)])
    qd, qdd = np.array([[1.0], [-2.0], [3.0]]), np.array([[4.0], [5.0], [-6.0]])
    pin = robot.loops.forces(q, qd, qdd)[:, 0]
    rocker = ch.Robot(robot.description.replace(loops=(), independent=()))
    v = np.einsum("kij,kj->ki", robot.loops.velocity_map(q), qd)
    T = robot.forward_kinematics(q, target="rocker")
    tip = np.zeros((3, 6))
    force = np.einsum("kij,ki->kj", T[:, :3, :3], pin[:, 3:])
    tip[:, 3:], tip[:, :3] = force, np.cross([0.4, 0.0, 0.0], force)
    held = rocker.inverse_dynamics(q, v, robot.loops.joint_accelerations(q, qd, qdd), wrenches={"rocker": tip})
    assert held[:, 2] == pytest.approx(0.0, abs=1e-9)  # its joint is passive


def test_singularities_of_both_kinds_are_named() -> None:
    robot = ch.Robot(MACHINES["five-bar"]())
    assert str(robot.loops.singularities(robot.home, part="position")) == "the motors control the robot"
    # Leg 1 stretched out, upward: its tip at 0.7 m from motor 1 cannot move further.
    stretched = robot.loops.close([1.2, 0.0, 1.6, 0.3], hold=["motor1", "elbow1"])
    assert stretched.success
    report = robot.loops.singularities(stretched.q, part="position")
    along = np.array([np.cos(1.2), 0.0, np.sin(1.2)])
    assert (len(report.lost), len(report.uncontrolled)) == (1, 0)
    assert abs(report.lost[0, 3:] @ along) == pytest.approx(np.linalg.norm(report.lost[0]), rel=1e-6)
    # The lower bars in one line: with the motors locked, the tip moves across that line.
    half = 0.5 * np.sqrt(0.8**2)
    lean = np.arccos((half - 0.125) / 0.3)
    aligned = np.array([np.pi - lean, 0.0, lean, 0.0])
    aligned[1], aligned[3] = -aligned[0], np.pi - aligned[2]
    assert np.abs(robot.loops.constraints(aligned).residual).max() < 1e-12
    report = robot.loops.singularities(aligned, part="position")
    assert len(report.uncontrolled) == 1
    twist = report.uncontrolled[0]
    assert abs(twist[5]) > 0.1
    assert twist[3:5] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert "with all motors locked" in str(report)
    assert np.isnan(robot.loops.velocity_map(aligned)).any()


def test_compiled_calls_take_batches_parameters_and_become_c() -> None:
    robot = ch.Robot(MACHINES["palletiser"]())
    q = robot.integrate(robot.home, 0.1 * np.random.default_rng(0).normal(size=(5, 3)))
    qd, qdd = np.random.default_rng(1).normal(size=(2, 5, 3))
    tau = robot.inverse_dynamics(q, qd, qdd)
    tree = build_tree(robot.description)
    for k in range(5):
        assert tau[k] == pytest.approx(of(tree, "inverse_dynamics", q[k], qd[k], qdd[k]), rel=1e-12)
    assert robot.forward_dynamics(q, qd, tau) == pytest.approx(qdd, rel=1e-9)
    heavy = robot.with_values({"links.forearm.mass": 5.0})
    assert robot.inverse_dynamics(q, qd, qdd, vary={"links.forearm.mass": 5.0}) == pytest.approx(
        heavy.inverse_dynamics(q, qd, qdd), rel=1e-12
    )
    source, header = robot.forward_dynamics.to_c()
    assert "forward_dynamics" in header
    assert "sqrt(" in source


def test_base_parameters_reproduce_the_torques() -> None:
    robot = ch.Robot(MACHINES["four-bar"]())
    base = robot.inertial.base()
    q = robot.integrate(robot.home, [[0.1], [0.2], [0.5]])
    qd, qdd = np.random.default_rng(1).normal(size=(2, 3, 1))
    tau = base.columns(robot.regressors.torque(q, qd, qdd)) @ base.values
    assert tau == pytest.approx(robot.inverse_dynamics(q, qd, qdd), rel=1e-8)
    assert len(base) < len(robot.inertial.values)
    with pytest.raises(ArgumentError, match="loops couple"):
        robot.inertial.base("regrouping")


def test_random_configurations_are_closed() -> None:
    robot = ch.Robot(MACHINES["five-bar"]())
    q = robot.random_configuration(0, (6,))
    assert np.abs(robot.loops.constraints(q).residual).max() < 1e-9


def test_friction_loses_the_power_that_all_joints_lose() -> None:
    robot = ch.Robot(MACHINES["four-bar"]())
    loss = robot.friction_torque(robot.home, [1.0]) @ np.ones(1)
    motion = robot.loops.velocity_map(robot.home)[:, 0]
    assert loss == pytest.approx(robot.edit.without_loops().friction_torque(robot.home, motion) @ motion)


def test_redundant_motors_share_a_load_within_their_limits() -> None:
    """Six motors on three freedoms, beside DAQP; some loads are beyond them."""
    daqp = pytest.importorskip("daqp")
    robot = ch.Robot(three_rrr(6))
    rng = np.random.default_rng(4)
    q = robot.integrate(robot.home, 0.1 * rng.normal(size=(40, 3)))
    limits = rng.uniform(1.0, 3.0, 6)
    assert set(robot.velocity_names) <= set(robot.description.actuated)
    tau = robot.loops.generalized_forces(q, limits * rng.uniform(-1.4, 1.4, (40, 6)))
    forces = robot.loops.bounded_actuator_forces(q, tau, limits)
    B = robot.loops.velocity_map(q)[:, list(robot.description.actuated_indices)]
    kinds = np.array([0] * 6 + [5] * 3, dtype=np.int32)  # bounds, then equations
    for k in range(40):
        ends = np.concatenate([limits, tau[k]]), np.concatenate([-limits, tau[k]])
        best, _, flag, _ = daqp.solve(np.eye(6), np.zeros(6), B[k].T.copy(), *ends, kinds)
        assert (flag > 0) == np.isfinite(forces[k]).all()
        if flag > 0:
            assert forces[k] == pytest.approx(best, abs=1e-7)
    able = np.isfinite(forces).all(axis=-1)
    assert 5 < able.sum() < 40
    assert robot.loops.generalized_forces(q[able], forces[able]) == pytest.approx(tau[able], abs=1e-8)
    assert robot.loops.bounded_actuator_forces(q, tau, np.inf) == pytest.approx(
        robot.loops.actuator_forces(q, tau), rel=1e-9
    )
    with pytest.raises(ArgumentError, match="limits"):
        robot.loops.bounded_actuator_forces(q, tau, -1.0)


def test_base_parameters_of_a_linkage_are_found_from_its_motion() -> None:
    """Least squares over one motion of the motors, noise-free: what moves the torques is found, payload included."""
    robot = ch.Robot(MACHINES["five-bar"]()).with_friction(coulomb_velocity=0.2)
    loaded = robot.with_payload(1.5)
    base = loaded.inertial.base()
    way = robot.home[[0, 2]] + np.array([[0.0, 0.0], [0.3, -0.2], [-0.2, 0.3], [0.25, 0.2], [-0.3, -0.1], [0.0, 0.0]])
    motion = ch.ClosedMotion(robot, ch.QuinticSpline(0.4 * np.arange(6.0), way))
    q, qd, qdd, _ = motion.derivatives(np.linspace(0.0, 2.0, 400))
    W = base.columns(loaded.regressors.torque(q, qd, qdd)).reshape(-1, len(base))
    tau = loaded.inverse_dynamics(q, qd, qdd).ravel()
    found = np.linalg.lstsq(W, tau, rcond=None)[0]
    assert np.linalg.cond(W) < 1e5
    assert found == pytest.approx(base.values, rel=1e-6, abs=1e-7)
    blind = base.columns(robot.regressors.torque(q, qd, qdd)).reshape(-1, len(base)) @ robot.inertial.base().values
    assert np.abs(blind - tau).max() > 1.0


def watt() -> Description:
    """Watt's six-bar: a dyad on the coupler and the rocker of a four-bar, turned by one crank."""
    tree = Description(
        "Watt's six-bar",
        (
            *(Link("ground"), bar("crank", 0.2), bar("coupler", 0.5)),
            *(bar("rocker", 0.4), bar("arm", 0.35), bar("link", 0.3)),
        ),
        (
            pivot("motor", "ground", "crank"),
            pivot("j2", "crank", "coupler", 0.2),
            pivot("j3", "ground", "rocker", 0.6),
            pivot("j4", "coupler", "arm", 0.7),
            pivot("j5", "rocker", "link", 0.65),
        ),
        home=[0.8, -0.3, 1.7, 1.2, 0.9],
    )
    tree = with_loop(
        tree, "pin", "revolute", "coupler", "rocker", T_first_joint=at(0.5), T_second_joint=at(0.4), axis=Y
    )
    place = {"T_first_joint": at(0.35), "T_second_joint": at(0.3), "axis": Y}
    return with_loop(tree, "knee", "revolute", "arm", "link", **place, actuated=["motor"])


def dead_centre(robot: ch.Robot, joint: str) -> np.ndarray:
    """Configuration on the crank's way round at which another joint rests, by bisection."""
    index, q = robot.description.joint_velocity_names.index(joint), robot.home
    speeds, ways = [], []
    for _ in range(400):
        ways.append(q)
        speeds.append(float(robot.loops.velocity_map(q)[index, 0]))
        if len(speeds) > 1 and speeds[-1] * speeds[-2] < 0.0:
            break
        q = robot.integrate(q, [0.02])
    low, high = 0.0, 0.02
    for _ in range(60):
        middle = 0.5 * (low + high)
        here = robot.integrate(ways[-2], [middle])
        low, high = (middle, high) if robot.loops.velocity_map(here)[index, 0] * speeds[-2] > 0.0 else (low, middle)
    return np.asarray(robot.integrate(ways[-2], [low]))


@pytest.mark.parametrize(
    ("machine", "joint"),
    [(MACHINES["four-bar"], "swing"), (MACHINES["slider-crank"], "stroke"), (watt, "j3"), (watt, "j4")],
    ids=["four-bar", "slider-crank", "Watt j3", "Watt j4"],
)
def test_a_single_motor_loses_control_at_its_dead_centre(machine: Callable[[], Description], joint: str) -> None:
    by_crank = ch.Robot(machine())
    q = dead_centre(by_crank, joint)
    driven = ch.Robot(machine().replace(actuated=[joint], independent=["motor"]))
    found = driven.loops.singularities(q)
    assert len(found.uncontrolled) == 1
    assert "with all motors locked" in str(found)
    # The motion that goes on is that of the crank.
    motion, expected = found.uncontrolled_joints[0], by_crank.loops.velocity_map(q)[:, 0]
    assert motion / motion[0] == pytest.approx(expected / expected[0], abs=1e-6)
    for away in (0.05, -0.05):
        assert not driven.loops.singularities(by_crank.integrate(q, [away])).is_singular
    assert not by_crank.loops.singularities(q, part="position").uncontrolled.size


def test_motors_that_lose_everything_at_once_are_named() -> None:
    """Two slider-cranks, each driven by its slider and stretched out."""
    links, joints = [Link("ground")], []
    for side in "ab":
        links += [bar(f"crank_{side}", 0.1), bar(f"rod_{side}", 0.3), bar(f"piston_{side}", 0.05)]
        joints += [
            pivot(f"motor_{side}", "ground", f"crank_{side}"),
            pivot(f"knee_{side}", f"crank_{side}", f"rod_{side}", 0.1),
            Joint(f"stroke_{side}", "prismatic", "ground", f"piston_{side}", axis=[1.0, 0.0, 0.0], **FRICTION),
        ]
    pair = Description("pair", tuple(links), tuple(joints), home=[0.7, -1.0, 0.35] * 2)
    for side in "ab":
        ends = f"rod_{side}", f"piston_{side}"
        pair = with_loop(pair, f"pin_{side}", "revolute", *ends, T_first_joint=at(0.3), axis=Y)
    robot = ch.Robot(pair.replace(actuated=["stroke_a", "stroke_b"]))
    stretched, bent = [0.0, 0.0, 0.4], robot.home[:3]
    assert len(robot.loops.singularities([*stretched, *stretched]).uncontrolled) == 2
    assert len(robot.loops.singularities([*stretched, *bent]).uncontrolled) == 1
    assert len(robot.loops.singularities(robot.home).uncontrolled) == 0


def test_motors_are_independent_before_passive_joints() -> None:
    """However unlike their scales are: legs in metres beside angles."""
    robot = ch.load("stewart")
    assert robot.velocity_names == tuple(f"leg_{k}" for k in range(6))
    assert ch.Plant(robot, motors=ch.Motors(robot)).robot == robot


def scissor_lift() -> Description:
    """Two stages of crossed bars on a pin and a slider, which one push lifts."""
    lean, length = 0.6, 0.4
    tree = Description(
        "scissor lift",
        (Link("ground"), bar("a", length), bar("shoe", 0.05), *(bar(name, length) for name in "bcd")),
        (
            pivot("pin_a", "ground", "a"),
            Joint("push", "prismatic", "ground", "shoe", axis=[1.0, 0.0, 0.0], **FRICTION),
            pivot("pin_b", "shoe", "b"),
            pivot("pin_c", "a", "c", length),
            pivot("pin_d", "b", "d", length),
        ),
        home=[lean, length * np.cos(lean), np.pi - lean, np.pi - 2.0 * lean, 2.0 * lean - np.pi],
        tool="d",
    )
    middle = {"T_first_joint": at(0.5 * length), "T_second_joint": at(0.5 * length), "axis": Y}
    tree = with_loop(tree, "lower", "revolute", "a", "b", **middle)
    return with_loop(tree, "upper", "revolute", "c", "d", **middle, actuated=["push"])


@pytest.mark.parametrize(
    "machine",
    [
        *(
            pytest.param(made, id=name)
            for name, made in (("five-bar", MACHINES["five-bar"]), ("scissor", scissor_lift))
        ),
        *(
            pytest.param(made, id=name, marks=pytest.mark.slow)
            for name, made in [
                *((name, MACHINES[name]) for name in ("palletiser", "3-RRR", "Delta", "leg")),
                *((name, lambda name=name: ch.load(name).description) for name in ("delta", "stewart")),
                *((f"drawn {seed}", lambda seed=seed: random_closed_robot(seed)) for seed in (1, 2)),
            ]
        ),
    ],
)
def test_base_parameters_of_closed_chains_do_not_depend_on_the_seed(machine: Callable[[], Description]) -> None:
    robot = ch.Robot(machine())
    if not robot.description.mass:
        robot = robot.edit.nominal_bodies()
    first, second = (robot.inertial.base(seed=seed) for seed in (0, 7))
    assert first.names == second.names
    assert first.values == pytest.approx(second.values, rel=1e-6, abs=1e-8)
    assert max(first.condition, second.condition) < 1e6
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = robot.integrate(robot.home, 0.015 * rng.normal(size=robot.n))
        qd, qdd = rng.normal(size=(2, robot.n))
        tau = first.columns(robot.regressors.torque(q, qd, qdd)) @ first.values
        expected = robot.inverse_dynamics(q, qd, qdd)
        assert np.abs(tau - expected).max() <= 1e-8 * np.abs(expected).max()


def test_base_parameters_of_a_robot_with_a_singular_home_come_from_beside_it() -> None:
    """Stretched out, the slider of a slider-crank does not determine the crank's rate."""
    singular = MACHINES["slider-crank"]("stroke").replace(home=[0.0, 0.0, 0.4], independent=["stroke"])
    base = ch.Robot(singular).inertial.base()
    assert base.condition is not None
    assert base.condition < 1e6
    assert base.names == ch.Robot(singular.replace(home=[0.7, -1.0, 0.35])).inertial.base().names


@pytest.mark.slow
def test_base_parameters_that_motions_hardly_separate_are_refused() -> None:
    """A drawn machine whose motions show some combinations a billion times less than others."""
    robot = ch.Robot(random_closed_robot(0))
    with pytest.raises(ModelError, match="cannot be told apart"):
        robot.inertial.base()
    assert robot.inertial.base(tolerance=1e-4).condition < 1e8


def test_the_two_readings_of_a_universal_joint_are_one_assembly() -> None:
    """With its motors held a Delta's platform stands on one side of the arms or on the other."""
    robot = ch.Robot(MACHINES["Delta"]())
    q = robot.loops.assembly_modes(robot.home, hold=robot.description.actuated, tries=8)
    places = robot.forward_kinematics(q, target="platform")
    assert np.abs(robot.loops.constraints(q).residual).max() < 1e-9
    apart = np.abs(places[:, None] - places[None]).max(axis=(-2, -1))
    assert (apart[~np.eye(len(q), dtype=bool)] > 1e-6).all()
