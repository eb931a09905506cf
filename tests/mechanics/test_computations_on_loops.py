"""Every computation of `Robot` on closed chains, beside projections of the open tree's and differences along motions.

The map G of the independent velocities comes from the null space of differences of the loops' residuals, its rate from
differences along a closed motion. The table below must name all computations that `Robot` declares.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from tests.mechanics.test_closed_chains import random_closed_robot
from tests.oracles.closed_machines import MACHINES

import chasles as ch
from chasles import algorithms as alg
from chasles.mechanics import computations
from chasles.mechanics.computation import computes
from chasles.model import spanning_tree

QUICK = ("four-bar", 1)
CASES = [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in (*MACHINES, *range(5))]
COMPUTATIONS = computations()
#: Second derivatives take long to compile: one linkage, and one random machine with joints of most kinds.
SECOND_ORDER = ("inverse_dynamics_hessian", "quadratic_model")
#: "Stewart by pose" has all joints of these, so that of these only computations that most others call are compiled.
LEGS = ("Stewart 6-UPS", "Stewart 6-SPS")
OF_LEGS = ("jacobian", "inverse_dynamics", "forward_dynamics", "gravity_torque", "kinetic_energy")


def slope(function: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    """Derivative at zero by differences of the eighth order."""
    weights = 4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0
    return sum(w * (function(k * h) - function(-k * h)) for k, w in enumerate(weights, 1)) / h


class ClosedMotion:
    """A moving closed chain, its open tree, and how all joints move with the independent ones, by differences."""

    def __init__(self, case: str | int) -> None:
        machine = ch.Robot(MACHINES[case]() if isinstance(case, str) else random_closed_robot(case))
        rotating = [joint.name for joint in machine.description.joints if joint.kind in ("revolute", "continuous")]
        sprung = {name: 0.1 * k for k, name in enumerate(rotating, 1)}
        self.robot = machine.with_friction(torque_offset=sprung, torque_sine=sprung, torque_cosine=sprung)
        self.tree = spanning_tree(self.robot.description)
        self.open_robot = ch.Robot(self.robot.description.replace(loops=(), independent=()))
        self.independent = list(self.robot.description.independent_indices)
        self.n = len(self.independent)
        rng = np.random.default_rng(31)
        start = alg.integrate(self.tree, self.robot.home, 0.05 * rng.normal(size=self.tree.n))
        self.maps: dict[bytes, np.ndarray] = {}
        self.q = self.closed(start, self.independent).q
        self.qd, self.qdd, self.tau, self.qd_reference, self.qdd_reference = rng.normal(size=(5, self.n))
        self.load = self.weights = rng.normal(size=self.n)
        self.v = 0.01 * rng.normal(size=self.n)
        self.places = {np.zeros(self.n).tobytes(): self.q}
        self.q0, self.q1 = self.q, self.moved(self.v)
        self.actuator_forces = rng.normal(size=len(self.robot.description.actuated_indices))
        self.frame = "world-aligned"
        self.targets = tuple(link.name for link in self.robot.description.links[:0:-2])
        self.target = self.targets[0]

    def closed(self, start: np.ndarray, held: Sequence[int] = ()) -> alg.Closing:
        return alg.close_loops(self.tree, start, held, constraints=self.robot.loops.constraints)

    def velocity_map(self, q: np.ndarray) -> np.ndarray:
        """Motions of all joints that keep the loops closed, one for each unit of an independent velocity."""

        def residuals(s: float) -> np.ndarray:
            """One for each unit of a joint's velocity."""
            residual: np.ndarray = self.robot.loops.constraints(self.open_robot.integrate(q, s * units)).residual
            return residual

        units = np.eye(self.tree.n)
        if q.tobytes() not in self.maps:
            N = np.linalg.svd(slope(residuals, 1e-3).T)[2][self.tree.n - self.n :].T
            self.maps[q.tobytes()] = N @ np.linalg.inv(N[self.independent])
        return self.maps[q.tobytes()]

    @cached_property
    def G(self) -> np.ndarray:
        return self.velocity_map(self.q)

    @cached_property
    def joint_velocities(self) -> np.ndarray:
        return self.G @ self.qd

    def rate_of_joints(self, reference: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Rate of the joints' reference velocities G ν while the robot moves."""
        return self.G @ change + self.along(self.velocity_map) @ reference

    @cached_property
    def joint_forces(self) -> np.ndarray:
        """Forces in all joints, those that tau stands for."""
        forces = np.zeros(self.tree.n)
        forces[self.independent] = self.tau
        return forces

    @cached_property
    def joint_accelerations(self) -> np.ndarray:
        return self.rate_of_joints(self.qd, self.qdd)

    def moved(self, v: np.ndarray) -> np.ndarray:
        """Closed configuration after a displacement of the independent joints, the others by another search."""
        if v.tobytes() not in self.places:
            ahead = self.closed(alg.integrate(self.tree, self.q, self.velocity_map(self.q) @ v))
            assert ahead.is_closed
            for _ in range(20):  # the search above moves the independent joints too
                missing = v - alg.difference(self.tree, self.q, ahead.q)[self.independent]
                if np.abs(missing).max() < 1e-13:
                    break
                ahead = self.closed(alg.integrate(self.tree, ahead.q, self.velocity_map(ahead.q) @ missing))
            self.places[v.tobytes()] = ahead.q
        return self.places[v.tobytes()]

    def along(self, quantity: Callable[[np.ndarray], Any], direction: np.ndarray | None = None) -> np.ndarray:
        """Derivative along the motion, or along a direction of the independent joints."""
        v = self.qd if direction is None else direction
        return slope(lambda s: np.asarray(quantity(self.moved(s * v))), 5e-4)

    def open(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(alg, name)(self.tree, *arguments, **options)

    def joint_torques(self, velocities: np.ndarray, accelerations: np.ndarray) -> np.ndarray:
        return alg.inverse_dynamics(self.tree, self.q, velocities, accelerations)

    @cached_property
    def M(self) -> np.ndarray:
        return self.G.T @ self.open("mass_matrix", self.q) @ self.G

    @cached_property
    def still(self) -> np.ndarray:
        """Accelerations of all joints while the independent ones have none."""
        return self.rate_of_joints(self.qd, np.zeros(self.n))

    @cached_property
    def acceleration(self) -> np.ndarray:
        """What the torques cause, by Gauss' principle: the least departure from the free tree's accelerations."""
        load = self.joint_forces - self.joint_torques(self.joint_velocities, np.zeros(self.tree.n))
        half = np.linalg.cholesky(self.open("mass_matrix", self.q)).T
        free = np.linalg.solve(half.T, load)
        return np.linalg.lstsq(half @ self.G, free - half @ self.still)[0]

    def jacobian(self, q: np.ndarray, target: str | None = None) -> np.ndarray:
        J: np.ndarray = self.open("jacobian", q, target or self.target, self.frame) @ self.velocity_map(q)
        return J

    def declared(self, name: str, *arguments: np.ndarray) -> Any:
        """What the robot computes, for differences of results that are compared themselves."""
        return attrgetter(name)(self.robot)(*arguments)

    def derivatives(self, name: str, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of a function of q, qd and another argument by the displacement of q and by qd."""
        by_q = [self.along(lambda q: self.declared(name, q, self.qd, last), unit) for unit in np.eye(self.n)]
        by_qd = [
            slope(lambda s, unit=unit: self.declared(name, self.q, self.qd + s * unit, last), 1e-3)
            for unit in np.eye(self.n)
        ]
        return np.array(by_q).T, np.array(by_qd).T

    def transport(self) -> np.ndarray:
        """Rate of a small displacement between two robots with the same independent velocities."""

        def apart(q: np.ndarray, seconds: float) -> np.ndarray:
            ends = (alg.integrate(self.tree, p, seconds * self.velocity_map(p) @ self.qd) for p in (self.q, q))
            return alg.difference(self.tree, *ends)[self.independent]

        return np.array([self.along(lambda q: slope(lambda s: apart(q, s), 1e-3), unit) for unit in np.eye(self.n)]).T


def _linear_model(m: ClosedMotion) -> tuple[np.ndarray, np.ndarray]:
    by_q, by_qd = m.derivatives("forward_dynamics", m.tau)
    A = np.block([[m.transport(), np.eye(m.n)], [by_q, by_qd]])
    return A, np.vstack([np.zeros((m.n, m.n)), np.linalg.inv(m.M)])


def _rows_of_hessian(m: ClosedMotion, name: str, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Differences, by q and by qd, of the weighted derivatives to q, qd and another argument."""

    def gradient(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        by = m.declared(name, q, qd, last)
        rows = np.concatenate([part[m.n :] for part in by], axis=1) if name == "linearize" else np.hstack(by)
        return m.weights @ rows

    by_q = [m.along(lambda q: gradient(q, m.qd), unit) for unit in np.eye(m.n)]
    by_qd = [slope(lambda s, unit=unit: gradient(m.q, m.qd + s * unit), 1e-3) for unit in np.eye(m.n)]
    return np.array(by_q), np.array(by_qd)


def _along_displacements(by_q_q: np.ndarray) -> np.ndarray:
    """Mean of both orders, which differ between the velocities of a spherical joint."""
    return 0.5 * (by_q_q + by_q_q.T)


def _weighted_hessian(m: ClosedMotion) -> tuple[np.ndarray, ...]:
    n, (by_q, by_qd) = m.n, _rows_of_hessian(m, "inverse_dynamics_derivatives", m.qdd)
    return _along_displacements(by_q[:, :n]), *np.split(by_q[:, n:], 2, axis=1), *np.split(by_qd[:, n:], 2, axis=1)


def _quadratic_model(m: ClosedMotion) -> tuple[np.ndarray, ...]:
    n, (by_q, by_qd) = m.n, _rows_of_hessian(m, "linearize", m.tau)
    second = _along_displacements(by_q[:, :n]), *np.split(by_q[:, n:], 2, axis=1), *np.split(by_qd[:, n:], 2, axis=1)
    return m.acceleration, *m.declared("linearize", m.q, m.qd, m.tau), *second


def _over_a_step(m: ClosedMotion) -> np.ndarray:
    """Implicit friction: its slopes, times the step of 1 ms, act like armature of all joints."""
    u = m.joint_velocities
    slopes = slope(lambda s: m.open("friction_torque", m.q, u + s), 1e-4)
    added = 0.001 * slopes[:, None]
    load = m.tau - m.G.T @ m.joint_torques(u, m.still) - m.G.T @ (added[:, 0] * m.still)
    return np.linalg.solve(m.M + m.G.T @ (added * m.G), load)


def _momentum_rate(m: ClosedMotion) -> np.ndarray:
    as_configuration = m.along(lambda q: m.open("centroidal_momentum", q, m.velocity_map(q) @ m.qd))
    return as_configuration + m.open("centroidal_momentum_matrix", m.q) @ m.G @ m.qdd


def _drift(m: ClosedMotion) -> np.ndarray:
    """Rate of the momenta, less the torques, in a motion without acceleration of the independent joints."""
    rate = m.along(lambda q: m.velocity_map(q).T @ m.open("mass_matrix", q) @ m.velocity_map(q) @ m.qd)
    return rate - m.G.T @ m.joint_torques(m.joint_velocities, m.still)


def _torque_along(m: ClosedMotion) -> np.ndarray:
    """M q̈ᵣ + C q̇ᵣ with Gᵀ (C G + M Ġ), gravity and friction."""
    C = m.open("coriolis_matrix", m.q, m.joint_velocities)
    reference, change = m.G @ m.qd_reference, m.rate_of_joints(m.qd_reference, m.qdd_reference)
    inertial = m.open("mass_matrix", m.q) @ change + C @ reference
    friction = m.open("friction_torque", m.q, m.joint_velocities)
    return m.G.T @ (inertial + m.open("gravity_torque", m.q) + friction)


def _transmitted(m: ClosedMotion) -> np.ndarray:
    lost = m.open("friction_torque", m.q, m.joint_velocities) + m.open("position_torque", m.q)
    return m.tau - m.G.T @ lost


def _coriolis_matrix(m: ClosedMotion) -> np.ndarray:
    C = m.open("coriolis_matrix", m.q, m.joint_velocities) @ m.G
    return m.G.T @ (C + m.open("mass_matrix", m.q) @ m.along(m.velocity_map))


def _mobility_of_frame(m: ClosedMotion) -> np.ndarray:
    J = m.jacobian(m.q)
    return J @ np.linalg.solve(m.M, J.T)


def _motors(m: ClosedMotion) -> np.ndarray:
    """Rows of G of the motors."""
    return m.G[list(m.robot.description.actuated_indices)]


def _motor_forces(m: ClosedMotion) -> np.ndarray:
    """Smallest forces that act like tau, if any do."""
    forces, *_ = np.linalg.lstsq(_motors(m).T, m.tau)
    return np.where(np.allclose(_motors(m).T @ forces, m.tau), forces, np.nan)


EXPECTED: dict[str, Callable[[ClosedMotion], Any]] = {
    # Functions of the configuration.
    "forward_kinematics": lambda m: m.open("forward_kinematics", m.q, m.target),
    "frame_poses": lambda m: m.open("all_frames", m.q),
    "center_of_mass": lambda m: m.open("center_of_mass", m.q),
    "potential_energy": lambda m: m.open("potential_energy", m.q),
    "loops.constraints": lambda m: m.open("loop_constraints", m.q),
    "loops.constraint_wrenches": lambda m: m.open("constraint_wrenches", m.q),
    # Configurations and displacements.
    "integrate": lambda m: m.moved(m.v),
    "difference": lambda m: alg.difference(m.tree, m.q0, m.q1)[m.independent],
    "configuration_rate": lambda m: m.along(lambda q: q),
    "normalize": lambda m: m.q,
    # Velocities.
    "loops.velocity_map": lambda m: m.G,
    "jacobian": lambda m: m.jacobian(m.q),
    "frame_jacobians": lambda m: np.array([m.jacobian(m.q, target) for target in m.targets]),
    "pose_and_jacobian": lambda m: (m.open("forward_kinematics", m.q, m.target), m.jacobian(m.q)),
    "jacobian_derivative": lambda m: m.along(m.jacobian),
    "loops.joint_accelerations": lambda m: m.joint_accelerations,
    "loops.closed_state": lambda m: (m.q, m.joint_velocities),
    "centroidal.matrix": lambda m: m.open("centroidal_momentum_matrix", m.q) @ m.G,
    "centroidal.momentum": lambda m: m.open("centroidal_momentum", m.q, m.joint_velocities),
    "centroidal.rate": _momentum_rate,
    "kinetic_energy": lambda m: m.open("kinetic_energy", m.q, m.joint_velocities),
    # Forces.
    "loops.joint_torques": lambda m: m.joint_torques(m.joint_velocities, m.joint_accelerations),
    "inverse_dynamics": lambda m: m.G.T @ m.joint_torques(m.joint_velocities, m.joint_accelerations),
    "bias": lambda m: m.G.T @ m.joint_torques(m.joint_velocities, m.still),
    "gravity_torque": lambda m: [m.along(lambda q: m.open("potential_energy", q), unit) for unit in np.eye(m.n)],
    "friction_torque": lambda m: m.G.T @ m.open("friction_torque", m.q, m.joint_velocities),
    "loaded_friction_torque": lambda m: m.G.T @ m.open("friction_torque", m.q, m.joint_velocities),
    "position_torque": lambda m: m.G.T @ m.open("position_torque", m.q),
    "transmitted_torque": _transmitted,
    "coriolis_vector": lambda m: _coriolis_matrix(m) @ m.qd,
    "coriolis_matrix": _coriolis_matrix,
    "mass_matrix": lambda m: m.M,
    "inverse_mass_matrix": lambda m: np.linalg.inv(m.M),
    "forward_dynamics": lambda m: m.acceleration,
    "loops.constrained_accelerations": lambda m: m.G @ m.acceleration + m.still,
    "inverse_dynamics_derivatives": lambda m: (*m.derivatives("inverse_dynamics", m.qdd), m.M),
    "inverse_dynamics_hessian": _weighted_hessian,
    "linearize": _linear_model,
    "quadratic_model": _quadratic_model,
    "loops.actuator_forces": _motor_forces,
    "loops.generalized_forces": lambda m: _motors(m).T @ m.actuator_forces,
    # Regressors and reference motions.
    "regressors.torque": lambda m: m.G.T @ m.open("torque_regressor", m.q, m.joint_velocities, m.joint_accelerations),
    "regressors.momentum": lambda m: m.G.T @ m.open("momentum_regressor", m.q, m.joint_velocities),
    "regressors.energy": lambda m: m.open("energy_regressor", m.q, m.joint_velocities),
    "regressors.momentum_and_drift": lambda m: (m.M @ m.qd, _drift(m)),
    "regressors.passivity_torque": _torque_along,
}
"""What each computation is on a closed chain."""
REGRESSORS = {
    "regressors.passivity": "regressors.passivity_torque",
    "regressors.momentum_drift": "regressors.momentum_and_drift",
}
"""Regressors whose products with the parameters are those of other computations."""


@cache
def moving(case: str | int) -> ClosedMotion:
    return ClosedMotion(case)


def arguments_and_options(motion: ClosedMotion, name: str) -> tuple[list[np.ndarray], dict[str, Any]]:
    computation = COMPUTATIONS[name]
    arguments = [getattr(motion, argument) for argument in computation.inputs]
    return arguments, {option: getattr(motion, option) for option in computation.options if hasattr(motion, option)}


def compare(found: Any, expected: Any) -> None:
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for own, other in pairs:
        assert np.shape(own) == np.shape(other)
        np.testing.assert_allclose(own, other, rtol=0.0, atol=1e-6 * (1.0 + np.nanmax(np.abs(other), initial=0.0)))


def cases_and_computations() -> Iterator[ParameterSet]:
    """One of the quick cases for each computation in the default run, in turn; the small linkage takes the dearest."""
    for case in (*MACHINES, *range(5)):
        for k, name in enumerate(OF_LEGS if case in LEGS else EXPECTED):
            if name in SECOND_ORDER and case not in (QUICK[0], 0):
                continue
            dear = any(part in name for part in ("derivative", "hessian", "linear", "model"))
            turn = QUICK[0] if dear else QUICK[k % 2]
            yield pytest.param(case, name, marks=[] if case == turn else [pytest.mark.slow])


@pytest.mark.parametrize(("case", "name"), list(cases_and_computations()))
def test_a_computation_is_the_projection_of_the_trees(case: str | int, name: str) -> None:
    motion = moving(case)
    arguments, options = arguments_and_options(motion, name)
    compare(attrgetter(name)(motion.robot)(*arguments, **options), EXPECTED[name](motion))


@pytest.mark.parametrize("case", CASES)
def test_friction_at_the_end_of_a_step(case: str | int) -> None:
    motion = moving(case)
    found = motion.robot.forward_dynamics(motion.q, motion.qd, motion.tau, step=0.001)
    compare(found, _over_a_step(motion))


@pytest.mark.parametrize("case", QUICK)
@pytest.mark.parametrize(("name", "product"), REGRESSORS.items())
def test_a_regressor_and_position_torques_are_the_torque(case: str | int, name: str, product: str) -> None:
    motion = moving(case)
    arguments, options = arguments_and_options(motion, name)
    expected, position = EXPECTED[product](motion), EXPECTED["position_torque"](motion)
    found = attrgetter(name)(motion.robot)(*arguments, **options) @ motion.robot.inertial.values
    if product == "regressors.momentum_and_drift":
        compare(found - position, expected[1])
    else:
        compare(found + position, expected)


def test_the_inertia_at_a_frame_that_moves_freely() -> None:
    motion = moving("leg")
    arguments, options = arguments_and_options(motion, "operational_space_inertia")
    compare(motion.robot.operational_space_inertia(*arguments, **options), np.linalg.inv(_mobility_of_frame(motion)))


def test_no_computation_is_left_out() -> None:
    elsewhere = {"operational_space_inertia"}
    assert set(EXPECTED) | set(REGRESSORS) | elsewhere == set(COMPUTATIONS)


def test_a_declaration_must_say_what_it_is_on_loops() -> None:
    with pytest.raises(TypeError, match="closed"):
        computes(alg.jacobian, outputs=["J"])  # type: ignore[call-arg]
    for computation in COMPUTATIONS.values():
        own = list(inspect.signature(computation.closed).parameters)
        assert own == list(inspect.signature(computation.algorithm).parameters), computation.name
