"""Payloads: mass, centre of mass and inertia of what a robot carries, from torques with it and a model without.

The torques that a payload adds are linear in its ten inertial parameters about the frame that carries it. Source: C.
Atkeson, C. An & J. Hollerbach, "Estimation of inertial parameters of manipulator loads and links" (Int. J. Robotics
Research 5(3), 1986); S. Traversaro, S. Brossette, A. Escande & F. Nori, "Identification of fully physical consistent
inertial parameters using optimization on manifolds" (IROS 2016) for bodies that can exist.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import IdentificationError
from chasles.base.findings import Finding, Rule
from chasles.engine.validators import reals
from chasles.geometry import (
    inertial_parameters_from_pseudo_inertia,
    nearest_physically_consistent,
    pseudo_inertia_from_inertial_parameters,
)
from chasles.identification.filtering import filtered_signals
from chasles.identification.identification import Identification, student_quantile
from chasles.identification.logs.acceptance import accepted_log, refuse
from chasles.identification.payload_columns import payload_frame, payload_regressor
from chasles.identification.regression import (
    Prior,
    coloured_covariance,
    degrees_of_freedom,
    error_model,
    least_covariance,
    weighted_fit,
)
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
WIDEST = np.array([1e3, *[1e3] * 3, *[1e3] * 6])
"""Deviations of the weak prior, in kg, kg·m and kg·m²."""
DETERMINED = 0.5
"""A mass whose error is beyond this share of it is not determined."""
THINNEST = 1e-6
"""Least second moment of a payload that can exist, relative to its trace."""
FEWEST_POSES = 3
SHRINKAGE = 3.0
"""Torques that the deviation of all joints counts for beside those of one joint."""
UNEXPLAINED = Rule(
    "unexplained-torques", 0.3, "a tenth of the squares of the payload's torques",
    "neither the model nor the payload explains torques of {value:.0%} of the payload's: the model without payload is "
    "wrong (friction, masses), and intervals cannot tell that. Identify the robot first", "caution",
)  # fmt: skip
STICTION = Rule(
    "stiction", 1.0, "above it the interval does not hold what stiction may hide",
    "stiction of the model, if it pulls the same way in all poses, shifts the mass by {shift:.2g} kg, {value:.1f} "
    "times half of its interval: approach each pose from both sides and take the mean", "caution",
)  # fmt: skip
CREEP = 1e6
"""Velocity, rad/s or m/s, at which dry friction has passed all transitions."""
NOT_A_PAYLOAD = Rule(
    "not-a-payload", 1.0, "more is unexplained than explained",
    "the torques that neither the model nor a payload explains are {value:.1f} times those of the payload found "
    "({mass:.3g} kg): the log is of another robot or has swapped columns or signs, or the model lacks friction. "
    "Identify the robot without payload first (chasles.identify)", "refusal",
)  # fmt: skip


@dataclass(frozen=True)
class Payload:
    """Estimated payload.

    Attributes
    ----------
    frame
        Frame that carries the payload; all values except `inertia` are about its origin and in its axes.
    parameters, covariance
        Estimates of mass (kg), first moments (kg·m) and moments of inertia about the frame's origin (kg·m²), shape
        (10,) or (4,) if gravity alone was used, and their covariance.
    bound
        Lowest covariance of any unbiased estimate from this log (Cramér-Rao).
    freedom
        Effective degrees of freedom of the mass's variance.
    findings
        Notes and cautions, as `chasles.base.findings.Finding`.
    """

    frame: str
    parameters: FloatArray
    covariance: FloatArray
    bound: FloatArray
    freedom: float = np.inf
    findings: tuple[Finding, ...] = ()

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return float(self.parameters[0])

    @property
    def mass_interval(self) -> tuple[float, float]:
        """95 % confidence interval of the mass, kg."""
        half = student_quantile(self.freedom) * float(np.sqrt(self.covariance[0, 0]))
        return self.mass - half, self.mass + half

    @property
    def center_of_mass(self) -> FloatArray:
        """Centre of mass in the frame, shape (3,), m."""
        return np.asarray(self.parameters[1:4] / self.mass)

    @property
    def center_error(self) -> FloatArray:
        """Standard error of the centre of mass, shape (3,), m."""
        slopes = np.hstack([-self.center_of_mass[:, None], np.eye(3)]) / self.mass
        return np.asarray(np.sqrt(np.diag(slopes @ self.covariance[:4, :4] @ slopes.T)))

    @property
    def inertia(self) -> FloatArray:
        """Inertia of a physically possible body about the centre of mass, in the frame's axes, (3, 3), kg·m²."""
        if len(self.parameters) == 4:
            return np.zeros((3, 3))
        J = np.asarray(pseudo_inertia_from_inertial_parameters(self.parameters))
        near = np.asarray(nearest_physically_consistent(J, THINNEST * max(float(np.trace(J[:3, :3])), 1e-9)))
        return _inertia_about_center(np.asarray(inertial_parameters_from_pseudo_inertia(near)))

    @property
    def inertia_error(self) -> FloatArray:
        """Standard errors of the inertia about the centre of mass, shape (3, 3), kg·m²; infinite from gravity alone."""
        if len(self.parameters) == 4:
            return np.full((3, 3), np.inf)
        steps = 1e-6 * np.diag(np.maximum(np.abs(self.parameters), 1e-3))
        slopes = np.stack(
            [
                (_inertia_about_center(self.parameters + step) - _inertia_about_center(self.parameters - step))
                / (2.0 * step.sum())
                for step in steps
            ],
            axis=-1,
        )
        return np.asarray(np.sqrt(np.einsum("abi,ij,abj->ab", slopes, self.covariance, slopes)))

    def attached(self, robot: Robot) -> Robot:
        """Return the robot with this payload."""
        return robot.with_payload(self.mass, self.center_of_mass, self.inertia, frame=self.frame)

    def summary(self) -> str:
        """Return a text with intervals."""
        low, high = self.mass_interval
        quantile = student_quantile(self.freedom)
        center, error = self.center_of_mass, quantile * self.center_error
        lines = [
            f"mass {self.mass:.4g} kg (95 %: {low:.4g} to {high:.4g})",
            f"centre of mass in '{self.frame}': "
            + ", ".join(_with_error(f"{c:.4g}", e, WIDEST[1] / self.mass) for c, e in zip(center, error, strict=True))
            + " m",
        ]
        if len(self.parameters) == 10:
            moments, half = np.diag(self.inertia), quantile * np.diag(self.inertia_error)
            texts = (_with_error(f"{x:.3g}", e, WIDEST[4]) for x, e in zip(moments, half, strict=True))
            lines.append(f"moments of inertia about it: {', '.join(texts)} kg·m²")
        share = np.sqrt(np.diag(self.bound) / np.diag(self.covariance))
        lines.append(f"least possible error of the mass: {share[0]:.0%} of this one (Cramér-Rao)")
        return "\n".join([*lines, *(f"{finding.rule.weight}: {finding}" for finding in self.findings)])


def identify_payload(
    model: Robot | Identification, log: Any, *, frame: str | None = None, cutoff: float | None = None
) -> Payload:
    """Identify a payload from a log with it and a model of the robot without it.

    Parameters
    ----------
    model
        Robot without the payload, or the result of `identify`.
    log
        `chasles.Log` of a motion with the payload, or a source that it reads.
    frame
        Frame that carries the payload; default the tool.
    cutoff
        Cut-off frequency of the filters, Hz; default: chosen from the log.

    Returns
    -------
    Payload
        Estimates with covariance and Cramér-Rao bound.

    Raises
    ------
    IdentificationError
        If columns contradict each other or the robot, or the log does not determine a positive mass.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm = ch.load("panda")
    >>> t = np.arange(0.0, 10.0, 0.01)
    >>> phase = t[:, None] * np.linspace(0.8, 2.0, 7)
    >>> q, qd, qdd = arm.home + 0.3 * np.sin(phase), None, None
    >>> rates = np.linspace(0.8, 2.0, 7)
    >>> qd, qdd = 0.3 * rates * np.cos(phase), -0.3 * rates**2 * np.sin(phase)
    >>> tau = arm.with_payload(1.5, [0.0, 0.02, 0.1]).inverse_dynamics(q, qd, qdd)
    >>> noise = 0.1 * np.random.default_rng(0).normal(size=tau.shape)
    >>> found = identify_payload(arm, {"t": t, "q": q, "tau": tau + noise})
    >>> bool(abs(found.mass - 1.5) < 0.02), bool(abs(found.center_of_mass[2] - 0.1) < 0.005)
    (True, True)
    """
    robot = model.model if isinstance(model, Identification) else model
    own = accepted_log(robot, log)
    where = payload_frame(robot, frame)
    signals = filtered_signals(own, cutoff)
    without = signals.torque(robot)
    kept = signals.kept()
    W = signals.filter(payload_regressor(robot, where, signals.configuration, signals.qd, signals.qdd))[kept]
    y = signals.effort[kept] - signals.filter(without)[kept]
    offsets = np.zeros((len(kept), robot.n, robot.n))
    offsets[:, range(robot.n), range(robot.n)] = 1.0
    A = np.concatenate([W, offsets], axis=2)
    prior = Prior(np.zeros(10 + robot.n), np.concatenate([WIDEST, np.abs(y).max() + np.ones(robot.n)]))
    used = own.measured & ~signals.saturated[kept]
    deviations = y.std(axis=0) + 1e-9
    for _ in range(4):
        fit = weighted_fit(A, y, used, prior, deviations)
        deviations = fit.deviations
    segments = signals.kept_segments()
    errors = error_model(A, fit, segments)
    covariance = coloured_covariance(A, fit, prior, segments, errors)[:10, :10]
    bound = least_covariance(A, fit, segments, errors)[:10, :10]
    freedom = float(degrees_of_freedom(A, fit, segments, errors)[0])
    found = _checked(Payload(where, fit.values[:10], covariance, bound, freedom))
    explained = W @ fit.values[:10]
    share = _unexplained(fit.residuals, explained, signals.noise, used)
    refuse(NOT_A_PAYLOAD.above(share, mass=float(fit.values[0])))
    return replace(found, findings=(*own.findings, *UNEXPLAINED.above(share)))


def payload_from_poses(
    model: Robot, q: ArrayLike, effort: ArrayLike, *, without: ArrayLike | None = None, frame: str | None = None
) -> Payload:
    """Estimate mass and centre of mass from torques at rest in a few poses.

    Parameters
    ----------
    model
        Robot without the payload.
    q, effort
        Configurations and torques at rest, shape (poses, n), N·m. Stiction is the main error: approach each pose from
        both sides and take the mean.
    without
        Torques in the same poses without the payload; the gravity of `model` is then not used.
    frame
        Frame that carries the payload; default the tool.

    Returns
    -------
    Payload
        Four parameters: mass and first moments.

    Raises
    ------
    IdentificationError
        If there are fewer than three poses or they do not determine a positive mass.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm = ch.load("panda")
    >>> q = arm.home + np.random.default_rng(0).uniform(-0.5, 0.5, (6, 7))
    >>> tau = arm.with_payload(2.0, [0.0, 0.0, 0.1]).gravity_torque(q)
    >>> payload_from_poses(arm, q, tau).mass.__round__(6)
    2.0
    """
    where = payload_frame(model, frame)
    poses = reals(q, "q", ("poses", model.n))
    tau = reals(effort, "effort", poses.shape)
    if len(poses) < FEWEST_POSES:
        raise IdentificationError(f"{len(poses)} poses were given; at least {FEWEST_POSES} different ones are needed")
    empty = np.asarray(model.gravity_torque(poses)) if without is None else reals(without, "without", poses.shape)
    rest = np.zeros_like(poses)
    W = payload_regressor(model, where, poses, rest, rest)[:, :, :4].reshape(-1, 4)
    y = (tau - empty).ravel()
    if np.linalg.cond(W / np.maximum(np.linalg.norm(W, axis=0), 1e-12)) > 1e6:
        raise IdentificationError("the poses hold the payload in nearly the same orientation: turn it between them")
    x, covariance, freedom = weighted_by_joint(W, y, poses.shape)
    found = _checked(Payload(where, x, covariance, covariance, freedom))
    shift = _shift_by_stiction(model, W, poses.shape)
    return replace(found, findings=STICTION.above(shift / (found.mass_interval[1] - found.mass), shift=shift))


def _shift_by_stiction(model: Robot, W: FloatArray, shape: tuple[int, ...]) -> float:
    """Change of the mass, kg, if dry friction held with all its strength in the same direction in each pose."""
    rest = np.zeros(shape[1])
    home = np.asarray(model.home)
    dry = np.asarray(model.loaded_friction_torque(home, rest + CREEP, rest))
    dry = dry - 0.5 * np.asarray(model.loaded_friction_torque(home, rest + 2.0 * CREEP, rest))
    mass = np.linalg.pinv(W)[0].reshape(shape)
    return float(2.0 * np.abs(mass.sum(axis=0)) @ np.abs(dry))


def weighted_by_joint(A: FloatArray, y: FloatArray, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray, float]:
    """Weighted least squares of rows (poses, joints), its covariance and the degrees of freedom of the first variance.

    Deviations of the joints are estimated, drawn towards their common one. As few residuals tell them badly, the
    covariance is one that holds whatever they are (HC3: J. MacKinnon & H. White, J. Econometrics 29(3), 1985).
    """
    deviations = np.full(shape[1], max(float(np.std(y)), 1e-300))
    for step in range(3):
        weights = np.tile(1.0 / deviations, shape[0])
        B, b = A * weights[:, None], y * weights
        N = np.linalg.inv(B.T @ B)
        x = N @ B.T @ b
        free = 1.0 - np.sum((B @ N) * B, axis=1)
        if step < 2:
            squares = ((y - A @ x) ** 2).reshape(shape)
            common = SHRINKAGE * float(squares.sum()) / (len(y) - A.shape[1])
            sums = squares.sum(axis=0) + common
            deviations = np.sqrt(sums / (free.reshape(shape).sum(axis=0) + SHRINKAGE)) + 1e-12 * float(np.abs(y).max())
    residuals = (b - B @ x) / np.maximum(free, 0.05)
    influence = (N @ B.T)[0] ** 2
    freedom = float(influence.sum() ** 2 / np.sum(influence**2))
    return x, np.asarray((N @ B.T * residuals**2) @ B @ N), max(freedom, 1.0)


def _unexplained(residuals: FloatArray, explained: FloatArray, noise: FloatArray, used: NDArray[np.bool_]) -> float:
    """Size of the residuals beyond the noise, relative to the torques explained, of all joints together."""
    counts = np.maximum(used.sum(axis=0), 1)
    left = np.sum(np.where(used, residuals, 0.0) ** 2, axis=0) / counts - noise**2
    size = np.sum(np.where(used, explained, 0.0) ** 2, axis=0) / counts
    return float(np.sqrt(np.maximum(left, 0.0).sum() / max(float(size.sum()), 1e-300)))


def _inertia_about_center(parameters: FloatArray) -> FloatArray:
    """Inertia about the centre of mass, shape (3, 3), of ten parameters about the frame's origin."""
    m, mx, my, mz, xx, xy, xz, yy, yz, zz = parameters.tolist()
    c = np.array([mx, my, mz]) / m
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.asarray(about_origin - m * ((c @ c) * np.eye(3) - np.outer(c, c)))


def _with_error(value: str, half: float, widest: float) -> str:
    """Value with its interval, or that only the weak prior tells it."""
    return f"{value} ± {half:.2g}" if half < 0.1 * widest else "not determined"


def _checked(found: Payload) -> Payload:
    error = float(np.sqrt(found.covariance[0, 0]))
    if not found.mass > 0.0 or error > DETERMINED * found.mass:
        raise IdentificationError(
            f"the log does not determine a payload: its mass comes out as {found.mass:.3g} ± "
            f"{student_quantile(found.freedom) * error:.2g} kg. "
            "Is something carried, does the model (with friction) fit the robot without it, and do its orientations "
            "vary?"
        )
    return found
