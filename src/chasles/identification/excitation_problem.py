"""The optimisation behind `chasles.excite`: criteria of the observation matrix, penalties beyond limits, gradients.

The coefficients of the motion minimise first -log det WᵀW of the observation matrix W (Calafiore, Indri & Bona, "Robot
dynamic calibration: optimal excitation trajectories and experimental parameter estimation", J. Robotic Systems 18(2),
2001), then a smoothed log cond W (Gautier & Khalil, "Exciting trajectories for the identification of base inertial
parameters of robots", Int. J. Robotics Research 11(4), 1992) or the standard errors of wanted parameters, with smooth
penalties beyond the limits. Gradients are exact: the derivative of the criterion by W, carried through the traced
regressor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from chasles.base.errors import ArgumentError
from chasles.distances import Clearance
from chasles.engine.function import function
from chasles.engine.validators import reals
from chasles.identification.equations import inertial_unknowns
from chasles.identification.fourier import FourierMotion, harmonics, resting
from chasles.identification.free_space import FreeSpace
from chasles.identification.joint_paths import TRANSMISSION, JointPaths
from chasles.identification.regions import Region
from chasles.mechanics.base_parameters import BaseParameters
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot
from chasles.trajectories.joint.trajectory import JointTrajectory

SAMPLES_PER_HARMONIC = 10
"""Samples of the motion in a period of its highest harmonic."""
MARGIN = 0.95
"""Share of the limits that the optimisation uses."""
PENALTY = 300.0
DEFAULT_ACCELERATION_TIME = 0.25
"""Without acceleration limits, joints may reach their speed limit in this time, s."""
DEFAULT_SPEED = 2.0
"""Speed limit of joints without one, rad/s."""
STRICTER = (10.0, 100.0)
"""Factors on the penalties, one after another, while the optimum is beyond a limit."""
SHRINKING, LONGEST_SHRINKING = 0.93, 60
"""Factor on the way from the start to the motion while it is still beyond a limit, and its largest number of
repetitions."""
CLEARANCE = 0.01
"""Distance from boundaries of free space at which the penalty begins, m."""
EVERY = 4
"""Samples of the path for one of the observation matrix."""
PATH_SAMPLES_PER_HARMONIC = EVERY * SAMPLES_PER_HARMONIC
"""Samples of the path in free space: joints of 2 rad/s and 1 m pass 10 cm between samples of the observation matrix."""
VERIFIED_SAMPLES_PER_HARMONIC = 100
"""Samples at which a plan's path in free space is verified."""
STEEPNESS = 3000.0
"""Penalty for 1 m² beyond a boundary of free space: 5 mm in ten samples cost 8 % of the condition number."""
OPENED = 100.0
"""Rise of the criterion where loops open: as much as a step that must be taken back, and no infinite one, in which a
line search sees no slope."""
SMOOTH_SIGN = 0.05
"""Rate, relative to the speed limit, at which Coulomb friction turns in the observation matrix."""


EXPONENTS = {"smooth condition": 6.0, "condition": 24.0}
"""Exponents p of the norms (Σ σᵖ)^(1/p) and (Σ σ⁻ᵖ)^(1/p) in place of the largest singular value and the reciprocal of
the smallest, which have kinks where two singular values meet: there quasi-Newton methods stop early. With p = 24 twenty
equal singular values count for 1.13."""
REMEMBERED = 40
"""Steps from which L-BFGS estimates the curvature: of some 60 coefficients most directions."""


class ExcitationProblem:
    """Variables, observation matrix, criteria and penalties of one planning problem.

    Parameters
    ----------
    robot, period, acceleration, jerk, regions, complement, clearance
        See `chasles.excite`.
    order
        Number of harmonics.
    wanted
        Indices of the base parameters that the criterion ``"parameters"`` is about.

    Attributes
    ----------
    broken
        Limit or region that the last motion broke, in words.
    """

    def __init__(
        self, robot: Robot, period: float, order: int, acceleration: ArrayLike | None = None,
        jerk: ArrayLike | None = None, regions: Sequence[Region] = (), complement: Sequence[JointTrajectory] = (),
        clearance: Clearance | None = None,
    ) -> None:  # fmt: skip
        n = robot.n
        self.robot, self.period, self.order = robot, period, order
        self._resting = resting(order)
        self.wanted: NDArray[np.intp] = np.arange(0)
        self.paths = JointPaths(robot)
        self.middle, self.half = self.paths.middle, self.paths.half
        self.space = FreeSpace(self.paths, regions, clearance)
        given = np.isfinite(robot.velocity_limits) & (robot.velocity_limits > 0.0)  # some files have 0 for unknown
        self.speed = np.where(given, robot.velocity_limits, DEFAULT_SPEED)
        self.acceleration = self.speed / DEFAULT_ACCELERATION_TIME
        if acceleration is not None:
            self.acceleration = reals(acceleration, "acceleration_limits", (n,), broadcast=True, above=0.0)
        self.jerk = np.full(n, np.inf)
        if jerk is not None:
            self.jerk = reals(jerk, "jerk_limits", (n,), broadcast=True, above=0.0)
        self.effort = np.where(robot.effort_limits > 0.0, robot.effort_limits, np.inf)
        self.broken = ""
        self.weight = 1.0
        self._last_path: FloatArray | None = None
        self._last_cost = 0.0
        self.smooth = _smoothed(robot, np.maximum(SMOOTH_SIGN * self.speed, 1e-3))
        self.base = self.smooth.inertial.base(columns=_motors_and_bodies(robot))
        time = np.linspace(0.0, period, SAMPLES_PER_HARMONIC * order, endpoint=False)
        self.bases = [columns @ self._resting for columns in harmonics(time, period, order)]
        self.path = harmonics(self._times(PATH_SAMPLES_PER_HARMONIC), period, order)[0] @ self._resting
        self.fixed = [self._observed(motion, time / period * motion.knots[-1]) for motion in complement]
        self._gradient = _regressor_gradient(self.smooth, self.base)

    def random_start(self, rng: np.random.Generator) -> FloatArray:
        """Random coefficients, shape (n, 1 + variables), within the limits of the joints."""
        x = rng.normal(size=(self.robot.n, 1 + self.bases[0].shape[1]))
        x[:, 0] = 0.0
        limits = (self.half, self.speed, self.acceleration, self.jerk)
        room = np.min(
            [limit / np.abs(basis @ x[:, 1:].T).max(axis=0) for basis, limit in zip(self.bases, limits, strict=True)],
            axis=0,
        )
        x[:, 1:] *= (MARGIN * rng.uniform(0.3, 0.9) * room)[:, None]
        share = 1.0 - np.abs(self.bases[0] @ x[:, 1:].T).max(axis=0) / self.half
        room = np.maximum(share, 0.0) * self.half
        free = self.space.free_configurations(rng, room)
        if not len(free):
            free = self.space.free_configurations(rng, self.half)
        if len(free):
            x[:, 0] = self.paths.independent(free[0]) - self.middle
        for _ in range(LONGEST_SHRINKING if self.paths.has_loops else 0):
            path = self._path(x)
            if path is not None and self.paths.transmission(path)[0].max() < TRANSMISSION:
                break
            x[:, 1:] *= SHRINKING
        return x

    def motion(self, x: FloatArray, repetitions: int = 1) -> FourierMotion:
        """Motion of coefficients."""
        sines, cosines = np.hsplit(x[:, 1:] @ self._resting.T, 2)
        return FourierMotion(self.middle + x[:, 0], sines, cosines, period=self.period, repetitions=repetitions)

    def observation(self, x: FloatArray) -> FloatArray:
        """Observation matrix, shape (rows, base), with the motions that it complements."""
        W = self._observed(self.motion(x), self._times(SAMPLES_PER_HARMONIC)[:-1])
        return np.concatenate([W, *self.fixed]).reshape(-1, len(self.base))

    def score(self, x: FloatArray, criterion: str) -> float:
        """Value of a criterion, less is better."""
        if criterion == "parameters":
            return float(np.sum(np.log(self.accuracy(x)[self.wanted])))
        return self.condition(x)

    def accuracy(self, x: FloatArray) -> FloatArray:
        """Standard error of each base parameter for torque noise of 1 N·m at each sample, shape (base,)."""
        W = self.observation(x)
        return np.asarray(np.sqrt(np.diag(np.linalg.inv(W.T @ W))))

    def condition(self, x: FloatArray) -> float:
        """Condition number of the observation matrix."""
        return float(np.linalg.cond(self.observation(x)))

    def nearest(self, x: FloatArray) -> float:
        """Smallest distance between bodies along the motion of coefficients, m; NaN if none are looked at."""
        q = np.asarray(self.paths.followed(self.motion(x))(self._times(VERIFIED_SAMPLES_PER_HARMONIC)).q)
        clearance = self.space.clearance
        return float(np.min(clearance(q))) if clearance is not None and clearance.pairs else math.nan

    def optimized(
        self, x: FloatArray, criterion: str, iterations: int, after_each: Callable[[], None] | None = None
    ) -> FloatArray | None:
        """Coefficients of a local optimum within all limits, or None.

        `after_each` is called after each iteration; it raises `StopIteration` to end the search where it is.
        """
        rest = np.hstack([x[:, :1], 0.0 * x[:, 1:]])
        for stage, share in stages_of(criterion):
            x = self._descended(x, stage, int(share * iterations), after_each)
        for self.weight in STRICTER:
            if self._is_allowed(x):
                break
            x = self._descended(x, stage, iterations // 3, after_each)
        self.weight = 1.0
        own_rest = np.hstack([x[:, :1], 0.0 * x[:, 1:]])
        if self._is_allowed(own_rest):
            rest = own_rest
        for _ in range(LONGEST_SHRINKING):
            if self._is_allowed(x):
                return x
            x = rest + SHRINKING * (x - rest)
        return None

    def _descended(
        self, x: FloatArray, stage: str, iterations: int, after_each: Callable[[], None] | None
    ) -> FloatArray:
        options = {"maxiter": max(iterations, 1), "maxcor": REMEMBERED}
        callback = None if after_each is None else lambda _: after_each()
        result = minimize(
            self._cost, x.ravel(), (stage,), method="L-BFGS-B", jac=True, callback=callback, options=options
        )
        return np.asarray(result.x.reshape(x.shape), dtype=np.float64)

    def _path(self, x: FloatArray) -> FloatArray | None:
        """Configurations at the samples of the path, shape (k, nq); None if loops open."""
        independent = np.asarray(self.middle + x[:, 0] + self.path @ x[:, 1:].T)
        if not self.paths.has_loops:
            return independent
        q = None if self._last_path is None else self.paths.moved(self._last_path, independent)
        if q is None:
            try:
                q = np.asarray(self.paths.followed(self.motion(x))(self._times(PATH_SAMPLES_PER_HARMONIC)).q)
            except ArgumentError:
                return None
        self._last_path = q
        return q

    def _observed(self, motion: JointTrajectory, time: FloatArray) -> FloatArray:
        return self._matrix(*self.paths.followed(motion)(time)[:3])

    def _matrix(self, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
        return np.asarray(self.base.columns(self.smooth.regressors.torque(q, qd, qdd)))

    def _cost(self, flat: FloatArray, stage: str) -> tuple[float, FloatArray]:
        """Criterion plus penalties, and its gradient."""
        n, nq = self.robot.n, self.robot.nq
        x = flat.reshape(n, -1)
        path = self._path(x)
        if path is None:
            return self._last_cost + OPENED, np.zeros_like(flat)
        q, (moved, qd, qdd, jerk) = path[:-1:EVERY], (basis @ x[:, 1:].T for basis in self.bases)
        Y = self._matrix(q, qd, qdd)
        W = np.concatenate([Y, *self.fixed]).reshape(-1, len(self.base))
        Q, R = np.linalg.qr(W)
        if stage == "determinant":
            diagonal = np.maximum(np.abs(np.diag(R)), 1e-12)
            cost = -float(np.sum(np.log(diagonal)))
            by_W = -Q @ np.linalg.inv(R + 1e-12 * np.eye(len(R))).T
        elif stage == "parameters":
            root = np.linalg.inv(R + 1e-12 * np.eye(len(R)))
            own = root[self.wanted]  # rows of the wanted parameters: their variances are the rows' squares
            variances = np.sum(own**2, axis=1)
            cost = 0.5 * float(np.sum(np.log(variances)))
            by_W = -Q @ own.T @ ((own / variances[:, None]) @ root.T)
        else:
            U, sizes, Vt = np.linalg.svd(R)
            sizes, p = np.maximum(sizes, 1e-12), EXPONENTS[stage]
            large, small = (sizes / sizes[0]) ** p, (sizes[-1] / sizes) ** p
            cost = 10.0 * float(np.log(sizes[0] / sizes[-1]) + np.log(large.sum() * small.sum()) / p)
            slopes = (large / large.sum() - small / small.sum()) / sizes
            by_W = 10.0 * Q @ (U * slopes) @ Vt
        G = by_W.reshape(-1, n, len(self.base))[: len(q)].copy()
        by_state = [np.zeros_like(qd) for _ in range(4)]
        limits = ((x[:, 0] + moved, self.half), (qd, self.speed), (qdd, self.acceleration), (jerk, self.jerk))
        for order, (values, limit) in enumerate(limits):
            amount, slope = _beyond(values, limit)
            cost += self.weight * amount
            by_state[order] += self.weight * slope
        tau = Y @ self.base.values
        amount, slope = _beyond(tau, self.effort)
        cost += self.weight * amount
        G += self.weight * slope[:, :, None] * self.base.values
        through = np.asarray(self._gradient(np.hstack([q, qd, qdd]), G))
        middle, half = self.paths.passive_ranges
        amount, slope = _beyond(q - middle, half)
        cost += self.weight * amount
        by_state[0] += self.paths.by_independent(q, through[:, :nq] + self.weight * slope)
        for order in (1, 2):
            by_state[order] += through[:, nq + (order - 1) * n : nq + order * n]
        gradient = np.empty_like(x)
        gradient[:, 0] = by_state[0].sum(axis=0)
        gradient[:, 1:] = sum(by_state[order].T @ self.bases[order] for order in range(4))
        for amount, slope in self._path_penalties(path):
            cost += self.weight * amount
            gradient[:, 0] += self.weight * slope.sum(axis=0)
            gradient[:, 1:] += self.weight * slope.T @ self.path
        self._last_cost = cost
        return cost, gradient.ravel()

    def _path_penalties(self, path: FloatArray) -> Iterator[tuple[float, FloatArray]]:
        """Penalties for leaving free space and for transmission, and their slopes by the independent joints (k, n)."""
        if self.space:
            amount, slope = self.space.penalty(path, CLEARANCE)
            yield STEEPNESS * amount, STEEPNESS * slope
        if self.paths.has_loops:
            transmission, rates = self.paths.transmission(path)
            amount, slope = _beyond(transmission[:, None], np.array([TRANSMISSION]))
            yield amount, self.paths.by_independent(path, slope * rates)

    def _is_allowed(self, x: FloatArray) -> bool:
        self.broken = ""
        try:
            motion = self.paths.followed(self.motion(x))
        except ArgumentError as error:
            self.broken = str(error)
            return False
        torque = np.where(np.isfinite(self.effort), self.effort, 1e300)
        step, jerk = self.period / (60.0 * self.order), None if np.isinf(self.jerk).all() else self.jerk
        reports = [
            motion.check(
                self.robot, step, velocity=self.speed, acceleration=self.acceleration, jerk=jerk, torque=torque
            )
        ]
        if self.paths.has_loops:  # where passive joints have limits of velocity
            reports.append(motion.check(self.robot, step, torque=torque))
        for report in reports:
            if not report.ok:
                self.broken = str(report).splitlines()[1].strip()
                return False
        if (np.abs(x[:, 0] + self.path @ x[:, 1:].T) > self.half).any():
            self.broken = "position limits"
            return False
        q = np.asarray(motion(self._times(VERIFIED_SAMPLES_PER_HARMONIC)).q)
        self.broken = self.space.broken(q) if self.space else ""
        if self.paths.has_loops and (most := float(self.paths.transmission(q)[0].max())) > TRANSMISSION:
            self.broken = f"the loops come near a singular configuration: transmission {most:.3g} times that at home"
        return not self.broken

    def _times(self, samples_per_harmonic: int) -> FloatArray:
        return np.linspace(0.0, self.period, samples_per_harmonic * self.order + 1)


def _motors_and_bodies(robot: Robot) -> list[int] | None:
    """Indices of the inertial parameters of a robot with loops that `identify` tells; None for all."""
    if not robot.description.loops:
        return None
    unknowns = inertial_unknowns(robot)
    of_motors = unknowns.rotors[:, None] + np.array([-2, -1, 0])  # viscous, Coulomb, rotor
    return [*range(10 * unknowns.bodies), *of_motors.ravel().tolist()]


def stages_of(criterion: str) -> tuple[tuple[str, float], ...]:
    """Criteria that the search minimises one after another, and the share of the iterations that each may take."""
    if criterion == "condition":
        return ("determinant", 1.0 / 3.0), ("smooth condition", 5.0 / 6.0), ("condition", 5.0 / 6.0)
    return ("determinant", 1.0), (criterion, 1.0)


def _beyond(values: FloatArray, limit: FloatArray) -> tuple[float, FloatArray]:
    """Penalty of values beyond ±limit, and its slope by the values."""
    finite = np.isfinite(limit) & (limit > 0.0)
    size = np.where(finite, MARGIN * limit, np.inf)
    over = np.maximum(np.abs(values) / size - 1.0, 0.0)
    slope = 2.0 * PENALTY * over * np.sign(values) / np.where(finite, size, 1.0)
    return PENALTY * float(np.sum(over**2)), slope


def _smoothed(robot: Robot, velocities: FloatArray) -> Robot:
    """Robot whose friction has these velocity scales (n,) where its direction jumps, and its own elsewhere."""
    joints = [robot.description.joint(name) for name in robot.velocity_names]
    scales = list(zip(joints, velocities.tolist(), strict=True))
    return robot.with_friction(
        coulomb_velocity={joint.name: scale for joint, scale in scales if not all(joint.coulomb_velocities)},
        load_velocity={joint.name: scale for joint, scale in scales if not joint.load_velocity},
    )


def _regressor_gradient(robot: Robot, base: BaseParameters) -> Any:
    """Compiled gradient of Σ G ∘ Y by (q, qd, qdd): (nq + 2n,), (n, base) -> (nq + 2n,)."""
    n, nq = robot.n, robot.nq

    @function(x=(nq + 2 * n,), G=(n, len(base)))
    def weighed(x: Any, G: Any) -> Any:
        Y = robot.regressors.torque(x[:nq], x[nq : nq + n], x[nq + n :])
        return (G * Y[:, base.independent]).sum()

    return weighed.jacobian(wrt="x")
