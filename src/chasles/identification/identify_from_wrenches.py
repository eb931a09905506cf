"""`identify_from_wrenches`: bodies of a robot with a free base, from its motion and the external wrenches on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError, ArgumentTypeError, warn
from chasles.base.findings import Finding, Rule, of_weight
from chasles.engine.validators import real, truth
from chasles.identification.bodies_rotors_and_friction import Minimum, References, minimum
from chasles.identification.equations import InertialUnknowns, body_unknowns
from chasles.identification.estimation import PASSES, reference_bodies, row_weights
from chasles.identification.filtering import LEAST_SAMPLES
from chasles.identification.identify import IdentificationWarning
from chasles.identification.intervals import Combinations, intervals_of_minimum
from chasles.identification.logs.acceptance import refuse
from chasles.identification.logs.wrench_log import WrenchLog, require_free_base
from chasles.identification.preparation import GO_ON, require_rows
from chasles.identification.regression import WeightedFit, robust_deviations
from chasles.identification.wrench_equations import WrenchEquations, cutoff_of
from chasles.identification.wrench_identification import WrenchIdentification, predicted
from chasles.model import has_masses
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

PRECISE = 1e-6
"""Least deviation of the errors, of the wrench: no sensor is better, and double precision bears its square."""
PLACED = 0.05
"""Deviation of a plate's place, m, that is looked for: larger mistakes are seen, too."""
SURVEYED = 2e-3
"""Shift of a plate, m, below which it is as well placed as plates are surveyed."""
NO_WRENCH = Rule(
    "no-wrench", 1e-9, "rounding of the world's axes into those of the base",
    "the measured wrenches are zero or constant throughout, so they tell no mass: look at the plates' columns",
    "refusal",
)  # fmt: skip
UNEXPLAINED = Rule(
    "unexplained-wrenches", 1.0, "a constant would explain as much",
    "bodies do not explain the measured {kind}: the errors are {value:.0%} of their variation. A wrench is missing, "
    "is not in the world's axes or not about its place, or the clocks of the motion and of the plates differ",
    "refusal",
)  # fmt: skip
PLATE_MOVED = Rule(
    "plate-moved", 5.0, "one of a million logs without a mistake has such a coordinate",
    "the wrench at {place} fits better if it acts at {better} ± {error:.2g} m ({value:.0f} standard deviations): check "
    "the origin of the plate, or of its moments, in the world of the motion capture", "caution",
)  # fmt: skip


class _Fit(NamedTuple):
    """Minimum of the convex problem, and residuals, weights (k, 6) and deviations (6,) of its rows."""

    minimum: Minimum
    residuals: FloatArray
    weights: FloatArray
    deviations: FloatArray


def identify_from_wrenches(
    robot: Robot, log: WrenchLog | Sequence[WrenchLog], *, cutoff: float | None = None, check: bool = True
) -> WrenchIdentification:
    """Identify the bodies of a robot with a free base from measured wrenches, without joint torques.

    The base has no motor, so the external wrenches alone move it, and its six equations of motion hold the base
    parameters of the whole tree. Friction and rotors of the joints are not in them. Bodies that can exist are the
    minimum of the same convex problem as for `identify`, and resemble the prior's where the logs say nothing.

    Parameters
    ----------
    robot
        Prior model with a free base; see `Robot.with_free_base`. A robot without masses gets those of
        `chasles.model.with_nominal_bodies` as a prior.
    log
        `WrenchLog`, or a list of logs.
    cutoff
        Cut-off frequency of the filters, Hz. Default: chosen from the spectra of the motion.
    check
        Whether to raise an error for logs that contradict the robot. With False these refusals are among the findings.

    Returns
    -------
    WrenchIdentification
        Base parameters with intervals, and the robot ``model`` with identified bodies.

    Raises
    ------
    IdentificationError
        If the logs are too short, or bodies do not explain the wrenches.
    ArgumentError
        If nothing moves, or a log is of another robot.

    Warns
    -----
    IdentificationWarning
        If the wrenches fit better with a plate at another place.

    Notes
    -----
    G. Venture, K. Ayusawa & Y. Nakamura, "Identification of base parameters for legged systems from their base link
    dynamics" (ICRA 2009); K. Ayusawa, G. Venture & Y. Nakamura, "Identifiability and identification of inertial
    parameters using the underactuated base-link dynamics for legged multibody systems" (Int. J. Robotics Research
    33(3), 2014).

    Examples
    --------
    An arm on a base that is shaken, not turned, so that the base's axes are the world's:

    >>> import chasles as ch
    >>> robot = ch.load("planar2r").with_free_base()
    >>> t = np.arange(0.0, 10.0, 0.01)
    >>> rates = np.array([0.0, 0.0, 0.0, 1.1, 2.3, 3.1, 3.7, 2.6])
    >>> v, a = 0.3 * rates * np.cos(t[:, None] * rates), -0.3 * rates**2 * np.sin(t[:, None] * rates)
    >>> q = robot.integrate(robot.home, 0.3 * np.sin(t[:, None] * rates))
    >>> heavier = robot.with_payload(1.0, frame="link0")
    >>> wrench = heavier.inverse_dynamics(q, v, a)[:, :6]
    >>> found = identify_from_wrenches(robot, WrenchLog(robot, t, q, {"link0": wrench}))
    >>> bool(abs(found.mass[0] - robot.description.mass - 1.0) < 1e-3)
    True
    """
    if not isinstance(robot, Robot):
        raise ArgumentTypeError(f"identify_from_wrenches takes a robot first, not {type(robot).__name__}")
    truth(check, "check")
    require_free_base(robot)
    logs = _logs_of(robot, log)
    if not has_masses(robot.description):
        robot = robot.edit.nominal_bodies()
    chosen = cutoff_of(logs, None if cutoff is None else real(cutoff, "cutoff", above=0.0))
    unknowns = body_unknowns(robot)
    equations = WrenchEquations(robot, unknowns, logs, chosen)
    require_rows(equations.wrench.size, len(unknowns.names), chosen.frequency)
    refuse(NO_WRENCH.below(float(np.ptp(equations.wrench, axis=0).max())))
    fit = _fit(robot, unknowns, equations)
    findings = (*_moved_places(equations, fit), *_unexplained(equations, fit.residuals))
    if check:
        refuse(findings, GO_ON)
    if doubts := of_weight(findings, "caution"):
        warn("; ".join(map(str, doubts)), IdentificationWarning)
    told = Combinations(unknowns.names, unknowns.expressions, unknowns.to_base)
    values = fit.minimum.unknowns
    A = equations.columns @ fit.minimum.motions
    weighted = WeightedFit(values, fit.residuals, fit.deviations, np.sqrt(fit.weights), fit.minimum.hessian)
    parameters, covariance = intervals_of_minimum(
        unknowns, unknowns.of(robot), told, fit.minimum, A, weighted, equations.segments, np.zeros((len(values), 0))
    )
    all_values = robot.inertial.values
    all_values[: len(values)] = values
    model = robot.inertial.with_values(all_values, check=False)
    return WrenchIdentification(
        robot, model, unknowns, values, covariance, parameters, predicted(equations, values), equations.signals.noise,
        chosen, findings,
    )  # fmt: skip


def _logs_of(robot: Robot, log: WrenchLog | Sequence[WrenchLog]) -> list[WrenchLog]:
    logs = [log] if isinstance(log, WrenchLog) else list(log)
    if not logs or not all(isinstance(one, WrenchLog) for one in logs):
        raise ArgumentTypeError(
            "identify_from_wrenches takes a WrenchLog, or a list of them: WrenchLog(robot, time, q, wrenches)"
        )
    for one in logs:
        if one.robot.velocity_names != robot.velocity_names:
            raise ArgumentError(f"the log is of robot '{one.robot.name}', whose joints are not those of '{robot.name}'")
        if len(one.time) < LEAST_SAMPLES:
            raise ArgumentError(f"a log has {len(one.time)} samples; identification needs at least {LEAST_SAMPLES}")
    return logs


def _fit(robot: Robot, unknowns: InertialUnknowns, equations: WrenchEquations) -> _Fit:
    """Solve the convex problem a few times, with the weights that the residuals before led to.

    The first are those of least squares of the base parameters.
    """
    A, y = equations.columns, equations.wrench
    nothing = np.zeros(0, dtype=np.intp)
    L = np.linalg.cholesky(reference_bodies(robot, unknowns.bodies, only_ends=True))
    references = References(np.asarray(L), nothing, np.zeros(0), nothing, np.zeros(0))
    used = np.ones(y.shape, dtype=bool)
    base = A[:, :, unknowns.independent]
    sizes = np.linalg.norm(base.reshape(y.size, -1), axis=0) + 1e-300
    scale = 1.0 / np.maximum(y.std(axis=0), 1e-9 * y.std())
    rows = (base / sizes * scale[:, None]).reshape(y.size, -1)
    least_squares = np.linalg.lstsq(rows, (y * scale).ravel(), rcond=1e-12)[0] / sizes
    residuals, point = y - base @ least_squares, None
    least = PRECISE * np.sqrt(np.mean(y**2, axis=0))
    for _ in range(PASSES):
        deviations = np.maximum(robust_deviations(residuals, used, y), least)
        weights = row_weights(residuals, deviations, used)
        weighted = (A * np.sqrt(weights)[..., None]).reshape(y.size, -1)
        found = minimum(weighted.T @ weighted, weighted.T @ (y * np.sqrt(weights)).ravel(), references, point)
        residuals, point = y - A @ found.unknowns, found.point
    return _Fit(found, residuals, weights, np.maximum(robust_deviations(residuals, used, y), least))


def _moved_places(equations: WrenchEquations, fit: _Fit) -> tuple[Finding, ...]:
    """The point of the world that explains most of the errors if it moves (Gauss-Newton beside the bodies).

    Errors of its coordinates are those that the remaining residuals of the moments tell.
    """
    root = np.sqrt(fit.weights)[..., None]
    others = (equations.columns @ fit.minimum.motions * root).reshape(fit.residuals.size, -1)
    right = (fit.residuals * root[..., 0]).ravel()
    most, findings = 0.0, tuple[Finding, ...]()
    for place, slopes in equations.shifts.items():
        columns = -(slopes * root).reshape(right.size, 3)
        taken = np.linalg.solve(fit.minimum.hessian, others.T @ columns)
        information = columns.T @ columns - (columns.T @ others) @ taken + np.eye(3) / PLACED**2
        shift = np.linalg.solve(information, columns.T @ right)
        left = (right - (columns - others @ taken) @ shift).reshape(-1, 6)[:, :3]
        share = np.linalg.norm(left) / np.linalg.norm(right.reshape(-1, 6)[:, :3])
        error = share * np.sqrt(np.diag(np.linalg.inv(information)))
        gain, k = float(shift @ information @ shift), int(np.argmax(np.abs(shift) / error))
        if gain > most and np.linalg.norm(shift) > SURVEYED:
            here, there = ("({:.3f}, {:.3f}, {:.3f})".format(*point) for point in (place, np.add(place, shift)))
            most = gain
            findings = PLATE_MOVED.above(abs(shift[k]) / error[k], place=here, better=there, error=2.0 * error[k])
    return findings


def _unexplained(equations: WrenchEquations, residuals: FloatArray) -> tuple[Finding, ...]:
    """Moments or forces whose variation the bodies do not explain."""
    varying = equations.wrench - equations.wrench.mean(axis=0)
    findings: tuple[Finding, ...] = ()
    for kind, rows in (("moments", slice(0, 3)), ("forces", slice(3, 6))):
        share = np.linalg.norm(residuals[:, rows]) / np.linalg.norm(varying[:, rows])
        findings += UNEXPLAINED.above(float(share), kind=kind)
    return findings
