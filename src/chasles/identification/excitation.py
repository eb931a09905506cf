"""`excite`: motions whose log tells a robot's parameters apart.

The motion of each joint is a Fourier series (Swevers et al., "Optimal robot excitation and identification", IEEE Trans.
Robotics and Automation 13(5), 1997). Its coefficients minimise first -log det WᵀW of the observation matrix W
(Calafiore, Indri & Bona, "Robot dynamic calibration: optimal excitation trajectories and experimental parameter
estimation", J. Robotic Systems 18(2), 2001), then log cond W (Gautier & Khalil, "Exciting trajectories for the
identification of base inertial parameters of robots", Int. J. Robotics Research 11(4), 1992), with smooth penalties
beyond the limits. Gradients are exact: the derivative of either by W, carried through the traced regressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space
from scipy.optimize import minimize

from chasles.arguments import choice, real, reals, whole_number
from chasles.engine.function import function
from chasles.errors import ArgumentError
from chasles.identification.fourier import FourierMotion
from chasles.mechanics.base_parameters import BaseParameters
from chasles.robot import Robot, require_plain_coordinates

FloatArray = NDArray[np.float64]

CRITERIA = ("condition", "determinant")
SAMPLES_PER_HARMONIC = 10
"""Samples of the motion in a period of its highest harmonic."""
MARGIN = 0.95
"""Share of the limits that the optimisation uses."""
PENALTY = 300.0
DEFAULT_ACCELERATION_TIME = 0.25
"""Without acceleration limits, joints may reach their speed limit in this time, s."""
DEFAULT_SPEED = 2.0
"""Speed limit of joints without one, rad/s."""
DEFAULT_RANGE = np.pi
"""Largest way from home of joints without limits, rad."""
STRICTER = (10.0, 100.0)
"""Factors on the penalties, one after another, while the optimum is beyond a limit."""
SHRINKING, LONGEST_SHRINKING = 0.93, 60
"""Factor on the amplitudes while the motion is still beyond a limit, and its largest number of repetitions."""
CENTERS = 1000
"""Configurations that are tried as centres of a motion that regions bound."""
SMOOTH_SIGN = 0.05
"""Rate, relative to the speed limit, at which Coulomb friction turns in the observation matrix."""


@dataclass(frozen=True)
class HalfSpace:
    """Region that a link's point must stay in: normal · p <= distance, in the world frame.

    Attributes
    ----------
    frame
        Name of the frame whose origin p is held there.
    normal
        Shape (3,).
    distance
        m.
    """

    frame: str
    normal: tuple[float, float, float]
    distance: float


@dataclass(frozen=True)
class Excitation:
    """Planned motion; made by `chasles.excite`.

    Attributes
    ----------
    robot
        Robot that is to move.
    motion
        Motion within all limits, a `FourierMotion`.
    condition
        Condition number of its observation matrix.
    base
        Base parameters that are the matrix's columns.
    accuracy
        Standard error of each base parameter relative to that of the whole, for torque noise of 1 N·m at each sample of
        the motion, shape (base,).
    """

    robot: Robot
    motion: FourierMotion
    condition: float
    base: BaseParameters
    accuracy: FloatArray

    @property
    def start(self) -> FloatArray:
        """Configuration where the motion starts and ends, shape (n,)."""
        return np.asarray(self.motion(0.0).q)

    def __repr__(self) -> str:
        return f"<Excitation of '{self.robot.name}': {self.motion!r}, condition number {self.condition:.3g}>"


def excite(
    robot: Robot,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    repetitions: int = 1,
    criterion: str = "condition",
    acceleration_limits: ArrayLike | None = None,
    jerk_limits: ArrayLike | None = None,
    regions: Sequence[HalfSpace] = (),
    complement: Sequence[FourierMotion] = (),
    starts: int = 3,
    iterations: int = 300,
    seed: int = 0,
) -> Excitation:
    """Plan a periodic motion that excites a robot's base parameters, within all its limits.

    Parameters
    ----------
    robot
        Robot that is to move. Its position, velocity and effort limits hold; where it has none, π from home and 2
        rad/s.
    period
        Duration of one period, s.
    harmonics
        Number of harmonics, at least 3.
    repetitions
        Number of periods of the motion that is handed out. Averages over periods lessen noise.
    criterion
        ``"condition"``: condition number of the observation matrix; ``"determinant"``: determinant of WᵀW (D-optimal).
    acceleration_limits, jerk_limits
        One number or shape (n,), rad/s², rad/s³. Default: the speed limit in 0.25 s; no limit.
    regions
        Half-spaces that origins of frames must stay in, such as the one above a table.
    complement
        Motions that are logged as well: the plan supplies what they lack.
    starts
        Number of random starts; the best result is taken.
    iterations
        Largest number of iterations from each start, for each of the two stages.
    seed
        Seed of the random starts.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or no start satisfies limits and regions.

    Examples
    --------
    >>> import chasles as ch
    >>> plan = ch.excite(ch.load("planar2r"), period=5.0, starts=1)
    >>> plan.motion.check(plan.robot).ok, plan.condition < 100.0
    (True, True)
    """
    choice(criterion, "criterion", CRITERIA)
    problem = _Problem(
        robot,
        real(period, "period", above=0.0),
        whole_number(harmonics, "harmonics", 3, 50),
        acceleration_limits,
        jerk_limits,
        regions,
        complement,
    )
    rng = np.random.default_rng(seed)
    best: tuple[float, FloatArray] | None = None
    most = whole_number(iterations, "iterations", 1, 100_000)
    for _ in range(whole_number(starts, "starts", 1, 1000)):
        found = problem.optimized(problem.random_start(rng), criterion, most)
        if found is not None:
            score = problem.condition(found) if criterion == "condition" else -problem.log_determinant(found)
            if best is None or score < best[0]:
                best = score, found
    if best is None:
        raise ArgumentError(
            f"no motion of robot '{robot.name}' within limits and regions was found from {starts} starts; try more "
            "starts, a "
            "longer period, or wider regions"
        )
    motion = problem.motion(best[1], whole_number(repetitions, "repetitions", 1, 1000))
    W = problem.observation(best[1])
    spread = np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    return Excitation(robot, motion, problem.condition(best[1]), problem.base, spread)


class _Problem:
    """Variables, observation matrix, criteria and penalties of one planning problem."""

    def __init__(
        self, robot: Robot, period: float, harmonics: int, acceleration: ArrayLike | None, jerk: ArrayLike | None,
        regions: Sequence[HalfSpace], complement: Sequence[FourierMotion],
    ) -> None:  # fmt: skip
        n = robot.n
        require_plain_coordinates(robot, "excite")
        self.robot, self.period, self.harmonics, self.regions = robot, period, harmonics, tuple(regions)
        lower = np.where(np.isfinite(robot.lower_limits), robot.lower_limits, robot.home - DEFAULT_RANGE)
        upper = np.where(np.isfinite(robot.upper_limits), robot.upper_limits, robot.home + DEFAULT_RANGE)
        self.middle, self.half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        self.speed = np.where(np.isfinite(robot.velocity_limits), robot.velocity_limits, DEFAULT_SPEED)
        self.acceleration = self.speed / DEFAULT_ACCELERATION_TIME
        if acceleration is not None:
            self.acceleration = reals(acceleration, "acceleration_limits", (n,), broadcast=True, above=0.0)
        self.jerk = np.full(n, np.inf)
        if jerk is not None:
            self.jerk = reals(jerk, "jerk_limits", (n,), broadcast=True, above=0.0)
        self.effort = robot.effort_limits
        self.weight = 1.0
        self.smooth = robot.with_friction(coulomb_velocity=np.maximum(SMOOTH_SIGN * self.speed, 1e-3))
        self.base = self.smooth.base_parameters()
        time = np.linspace(0.0, period, SAMPLES_PER_HARMONIC * harmonics, endpoint=False)
        self.bases = _bases(time, period, harmonics)
        self.fixed = [self._matrix(*_at(motion, time)) for motion in complement]
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
        for _ in range(CENTERS):
            x[:, 0] = rng.uniform(-1.0, 1.0, self.robot.n) * room
            if self._stays_inside((self.middle + x[:, 0])[None]):
                break
        return x

    def motion(self, x: FloatArray, repetitions: int = 1) -> FourierMotion:
        """Motion of coefficients."""
        coefficients = x[:, 1:] @ _resting(self.harmonics).T
        sines, cosines = coefficients[:, : self.harmonics], coefficients[:, self.harmonics :]
        return FourierMotion(self.middle + x[:, 0], sines, cosines, period=self.period, repetitions=repetitions)

    def observation(self, x: FloatArray) -> FloatArray:
        """Observation matrix, shape (rows, base), with the motions that it complements."""
        W = self._matrix(*self._states(x)[:3])
        return np.concatenate([W, *self.fixed]).reshape(-1, len(self.base))

    def condition(self, x: FloatArray) -> float:
        """Condition number of the observation matrix."""
        return float(np.linalg.cond(self.observation(x)))

    def log_determinant(self, x: FloatArray) -> float:
        """Half the logarithm of det WᵀW."""
        return float(np.sum(np.log(np.linalg.svd(self.observation(x), compute_uv=False))))

    def optimized(self, x: FloatArray, criterion: str, iterations: int) -> FloatArray | None:
        """Coefficients of a local optimum within all limits, or None."""
        stages = ("determinant", "condition") if criterion == "condition" else ("determinant",)
        for stage in stages:
            x = self._descended(x, stage, iterations)
        for self.weight in STRICTER:
            if self._is_allowed(x):
                break
            x = self._descended(x, stages[-1], iterations // 3)
        self.weight = 1.0
        for _ in range(LONGEST_SHRINKING):
            if self._is_allowed(x):
                return x
            x = np.concatenate([x[:, :1], SHRINKING * x[:, 1:]], axis=1)
        return None

    def _descended(self, x: FloatArray, stage: str, iterations: int) -> FloatArray:
        options = {"maxiter": max(iterations, 1)}
        result = minimize(self._cost, x.ravel(), (stage,), method="L-BFGS-B", jac=True, options=options)
        return np.asarray(result.x.reshape(x.shape), dtype=np.float64)

    def _states(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        q, qd, qdd, jerk = (basis @ x[:, 1:].T for basis in self.bases)
        return self.middle + x[:, 0] + q, qd, qdd, jerk

    def _matrix(self, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
        return np.asarray(self.base.columns(self.smooth.torque_regressor(q, qd, qdd)))

    def _cost(self, flat: FloatArray, stage: str) -> tuple[float, FloatArray]:
        """Criterion plus penalties, and its gradient."""
        n = self.robot.n
        x = flat.reshape(n, -1)
        q, qd, qdd, jerk = self._states(x)
        Y = self._matrix(q, qd, qdd)
        W = np.concatenate([Y, *self.fixed]).reshape(-1, len(self.base))
        Q, R = np.linalg.qr(W)
        if stage == "determinant":
            diagonal = np.maximum(np.abs(np.diag(R)), 1e-12)
            cost = -float(np.sum(np.log(diagonal)))
            by_W = -Q @ np.linalg.inv(R + 1e-12 * np.eye(len(R))).T
        else:
            U, sizes, Vt = np.linalg.svd(R)
            least = max(float(sizes[-1]), 1e-12)
            cost = 10.0 * float(np.log(sizes[0] / least))
            by_W = 10.0 * Q @ (np.outer(U[:, 0], Vt[0]) / sizes[0] - np.outer(U[:, -1], Vt[-1]) / least)
        G = by_W.reshape(-1, n, len(self.base))[: len(q)].copy()
        by_state = [np.zeros_like(q) for _ in range(4)]
        limits = ((q - self.middle, self.half), (qd, self.speed), (qdd, self.acceleration), (jerk, self.jerk))
        for order, (values, limit) in enumerate(limits):
            amount, slope = _beyond(values, limit)
            cost += self.weight * amount
            by_state[order] += self.weight * slope
        tau = Y @ self.base.values
        amount, slope = _beyond(tau, self.effort)
        cost += self.weight * amount
        G += self.weight * slope[:, :, None] * self.base.values
        for region in self.regions:
            amount, slope = self._outside(q, region)
            cost += self.weight * amount
            by_state[0] += self.weight * slope
        through = np.asarray(self._gradient(np.hstack([q, qd, qdd]), G))
        for order in range(3):
            by_state[order] += through[:, order * n : (order + 1) * n]
        gradient = np.empty_like(x)
        gradient[:, 0] = by_state[0].sum(axis=0)
        gradient[:, 1:] = sum(by_state[order].T @ self.bases[order] for order in range(4))
        return cost, gradient.ravel()

    def _outside(self, q: FloatArray, region: HalfSpace) -> tuple[float, FloatArray]:
        normal = np.asarray(region.normal, dtype=np.float64)
        p = np.asarray(self.robot.forward_kinematics(q, target=region.frame))[:, :3, 3]
        J = np.asarray(self.robot.jacobian(q, frame="world-aligned", target=region.frame))[:, 3:]
        over = np.maximum(p @ normal - region.distance + 0.01, 0.0)
        return PENALTY * 10.0 * float(np.sum(over**2)), 2.0 * PENALTY * 10.0 * over[:, None] * (normal @ J)

    def _is_allowed(self, x: FloatArray) -> bool:
        motion = self.motion(x)
        torque = np.where(np.isfinite(self.effort), self.effort, 1e300)
        report = motion.check(
            self.robot, self.period / (60.0 * self.harmonics), velocity=self.speed, acceleration=self.acceleration,
            jerk=None if np.isinf(self.jerk).all() else self.jerk, torque=torque,
        )  # fmt: skip
        if not report.ok or (np.abs(self._states(x)[0] - self.middle) > self.half).any():
            return False
        return self._stays_inside(np.asarray(motion(np.linspace(0.0, self.period, 40 * self.harmonics)).q))

    def _stays_inside(self, q: FloatArray) -> bool:
        for region in self.regions:
            p = np.asarray(self.robot.forward_kinematics(q, target=region.frame))[:, :3, 3]
            if (p @ np.asarray(region.normal) > region.distance).any():
                return False
        return True


def _beyond(values: FloatArray, limit: FloatArray) -> tuple[float, FloatArray]:
    """Penalty of values beyond ±limit, and its slope by the values."""
    finite = np.isfinite(limit) & (limit > 0.0)
    size = np.where(finite, MARGIN * limit, np.inf)
    over = np.maximum(np.abs(values) / size - 1.0, 0.0)
    slope = 2.0 * PENALTY * over * np.sign(values) / np.where(finite, size, 1.0)
    return PENALTY * float(np.sum(over**2)), slope


def _resting(harmonics: int) -> FloatArray:
    """Orthonormal basis of sine and cosine coefficients with zero velocity and acceleration at the ends."""
    order = np.arange(1, harmonics + 1)
    at_rest = np.zeros((2, 2 * harmonics))
    at_rest[0, :harmonics], at_rest[1, harmonics:] = order, order**2
    return np.asarray(null_space(at_rest))


def _bases(time: FloatArray, period: float, harmonics: int) -> list[FloatArray]:
    """Positions, velocities, accelerations and jerks of each basis motion at times, shapes (k, variables)."""
    rate = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    s, c = np.sin(time[:, None] * rate), np.cos(time[:, None] * rate)
    rows = ((s, c), (rate * c, -rate * s), (-(rate**2) * s, -(rate**2) * c), (-(rate**3) * c, rate**3 * s))
    return [np.hstack(pair) @ _resting(harmonics) for pair in rows]


def _at(motion: FourierMotion, time: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    own = motion(time / time[-1] * motion.knots[-1])
    return own.q, own.qd, own.qdd


def _regressor_gradient(robot: Robot, base: BaseParameters) -> Any:
    """Compiled gradient of Σ G ∘ Y by (q, qd, qdd): (3n,), (n, base) -> (3n,)."""
    n = robot.n

    @function(x=(3 * n,), G=(n, len(base)))
    def weighed(x: Any, G: Any) -> Any:
        Y = robot.torque_regressor(x[:n], x[n : 2 * n], x[2 * n :])
        return (G * Y[:, base.independent]).sum()

    return weighed.jacobian(wrt="x")
