"""Kinematic calibration: the geometry of a robot from measured poses, positions or distances of a marker on it.

Gauss-Newton on small errors of the joints' placements, of the measuring device and of the marker together (B. W.
Mooring, Z. S. Roth & M. R. Driels, Fundamentals of Manipulator Calibration, Wiley 1991; J. M. Hollerbach, W. Khalil &
M. Gautier, "Model identification", Springer Handbook of Robotics, 2nd ed. 2016, section 6.2). Combinations that no
configuration tells apart are found by rank; errors that the given configurations hardly show stay near zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.algorithms import group_columns
from chasles.base.errors import ArgumentError, IdentificationError
from chasles.base.findings import Rule
from chasles.engine.validators import choice, reals
from chasles.geometry import exp_pose, inverse_pose, project_rotation
from chasles.identification.calibrated_geometry import ANGLES, Calibration
from chasles.identification.geometric_errors import TERMS, ChainPlacements, Term
from chasles.identification.geometric_fit import PLAUSIBLE, GeometricFit
from chasles.identification.identification import Parameter
from chasles.identification.measurements import Kind, MeasuringSetup
from chasles.mechanics.base_parameters import expressions as combinations
from chasles.model import has_masses
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot, require_plain_coordinates

SHAPES: dict[Kind, tuple[str | int, ...]] = {"pose": ("N", 4, 4), "position": ("N", 3), "distance": ("N",)}
UNDETERMINED = 0.5
"""Share of `PLAUSIBLE` above which the error that is left says that the measurements did not determine a parameter."""
LEFT_OUT = Rule(
    "outlying-measurements", 0.0, "4.5 deviations from what all others predict: by chance once in 150,000",
    "measurements {measurements} contradict the others and were left out", "caution",
)  # fmt: skip
NOT_DETERMINED = Rule(
    "undetermined-errors", 0.0, "the error that is left is half of what real robots have",
    "not determined: {names}; measure configurations in which the joints turn farther", "caution",
)  # fmt: skip
IMPLAUSIBLE = Rule(
    "implausible-errors", PLAUSIBLE, "the standard deviation of a joint's error before the measurements",
    "errors beyond {limit:g} rad or m, more than a real robot has: {names}", "caution",
)  # fmt: skip
NOTHING_GAINED = Rule(
    "calibration-without-gain", 1.645, "by chance once in 20, if nothing is gained",
    "the calibrated robot does not predict left-out measurements better than the nominal one ({value:.1f} standard "
    "errors): the robot is as its model says, or errs otherwise (terms=['compliance', 'eccentricity'])", "caution",
)  # fmt: skip
NO_TERMS_NEEDED = Rule(
    "terms-without-gain", 1.645, "by chance once in 20, if nothing is gained",
    "{terms} do not lower the errors of left-out measurements ({value:.1f} standard errors): leave them out", "caution",
)  # fmt: skip
OUTLYING = 4.5
"""Standard deviations beyond which a measurement is an outlier."""
MOST_OUTLIERS = 0.25
GENERIC_CONFIGURATIONS = 120
GENERIC_TWIST = (0.3, -0.5, 0.7, 0.21, -0.17, 0.13)
SUSPICIOUS, HOPELESS = 0.02, 0.1
"""Shares of the robot's size: a nominal robot that misses by more is questioned, or refused."""
UNITS = {"mm": 1e3, "cm": 1e2, "inch": 39.37}


def calibrate(
    robot: Robot,
    q: ArrayLike,
    measured: ArrayLike,
    *,
    kind: Literal["pose", "position", "distance"] | None = None,
    frame: str | None = None,
    device: ArrayLike | None = None,
    marker: ArrayLike | None = None,
    noise: tuple[float, float] | float | None = None,
    terms: Sequence[Term] = (),
) -> Calibration:
    """Calibrate the geometry of a robot from measurements of a marker that moves with it.

    Parameters
    ----------
    robot
        Nominal robot. The joints between its base and the frame are corrected.
    q
        Measured configurations, shape (N, nq).
    measured
        Poses of the marker in the device's axes, shape (N, 4, 4), its positions, (N, 3), m, or its distances from the
        device's origin, (N,), m.
    kind
        ``"pose"``, ``"position"`` or ``"distance"``; default: inferred from the shape.
    frame
        Frame that carries the marker; default the tool.
    device
        ``T_device_world``, pose of the robot's world in the measuring device's axes, (4, 4), if known exactly. Default:
        identified.
    marker
        ``T_frame_marker``, pose of the marker in the frame, (4, 4), if known exactly. Default: identified.
    noise
        Standard deviations of the measurements: (rad, m) for poses, m for others. Default: estimated from the
        residuals.
    terms
        Errors of the joints' coordinates besides those of their placements: ``"compliance"``, a deflection
        proportional to the torque of the robot's weight, and ``"eccentricity"`` of the encoders, a sine and a cosine of
        a revolute joint's angle. A finding says if they do not lower the errors of left-out measurements.

    Returns
    -------
    Calibration
        Robot with corrected joints, errors with intervals, and prediction errors of left-out measurements.

    Raises
    ------
    ArgumentError
        Wrong shapes, or a frame that no joint moves.
    IdentificationError
        Too few measurements, wrong units, or measurements that do not match the configurations or the robot; the
        message says what was found.

    Notes
    -----
    A calibrated robot usually has no closed-form inverse kinematics, because real axes do not intersect exactly. The
    numerical solution is then used.

    Examples
    --------
    A robot whose second link is 2 mm too long, measured in 40 configurations to 0.05 mm:

    >>> import chasles as ch
    >>> import numpy as np
    >>> arm, rng = ch.load("planar2r"), np.random.default_rng(0)
    >>> real = arm.with_values({"joints.joint2.position": [0.002, 0.0, 0.0]})
    >>> q = rng.uniform(-2.0, 2.0, (40, 2))
    >>> p = real.forward_kinematics(q)[:, :3, 3] + 5e-5 * rng.normal(size=(40, 3))
    >>> found = calibrate(arm, q, p, device=np.eye(4), marker=np.eye(4))
    >>> bool(abs(found.robot.forward_kinematics(q) - real.forward_kinematics(q)).max() < 1e-4)
    True
    >>> [f"{parameter.value:.4f}" for parameter in found.parameters if parameter.name == "joint2.x"]
    ['0.0020']
    """
    where = robot.description.frame(robot.description.tool if frame is None else frame).name
    configurations = reals(q, "q", ("N", robot.nq))
    setup = _setup(measured, kind, device, marker, len(configurations))
    asked = tuple(term for term in TERMS if term in [choice(own, "term of a calibration", TERMS) for own in terms])
    if asked:
        require_plain_coordinates(robot, "a calibration with further terms")
    if "compliance" in asked and not has_masses(robot.description):
        raise ArgumentError(f"robot '{robot.name}' has no masses: what bends its joints is not known")
    geometry = ChainPlacements.of(robot, where, asked)
    start = setup.explained(geometry.poses(configurations)[0])
    _refuse_units(geometry, setup, configurations)
    _refuse_nonsense(geometry, start, configurations)
    names, expressions, chosen = _choose(geometry, setup)
    rows, count = start.rows, len(configurations)
    if count * rows <= len(chosen):
        raise IdentificationError(
            f"{count} measurements are {count * rows} numbers for {len(chosen)} unknowns: measure at least "
            f"{2 * -(-len(chosen) // rows)} configurations that differ much, or give the device or the marker"
        )
    known = _known_deviations(noise, start)
    first = np.ones(rows) if known is None else known
    fit = GeometricFit(geometry, start, configurations, np.array(chosen), first, np.zeros(len(names)), np.ones(count))
    nominal = replace(fit, chosen=_without_joints(fit)).solved()
    fit = replace(fit, setup=nominal.setup).robust(known)
    z = np.sqrt(np.mean((fit.residuals() / fit.deviations) ** 2, axis=1))
    kept = z <= OUTLYING
    if np.mean(~kept) > MOST_OUTLIERS:
        kept[:] = True
    fit = replace(fit, weights=kept.astype(np.float64)).solved()
    if known is None:
        fit = replace(fit, deviations=fit.mean_deviations(fit.residuals()))
        fit = fit.solved()
    plain = nominal
    if asked:
        extra = set(geometry.coefficient_names)
        chosen_plain = np.array([k for k in chosen if names[k] not in extra])
        plain = replace(nominal, chosen=chosen_plain, weights=fit.weights, deviations=fit.deviations).solved()
    return _result(fit, nominal, plain, names, expressions, is_noise_known=known is not None)


def _setup(
    measured: ArrayLike, kind: str | None, device: ArrayLike | None, marker: ArrayLike | None, count: int
) -> MeasuringSetup:
    """Check the measurements and what is known about them."""
    values = reals(measured, "measured")
    if kind is None:
        by_axes = {1: "distance", 2: "position", 3: "pose"}
        if values.ndim not in by_axes:
            raise ArgumentError(f"measured has shape {values.shape}; expected (N, 4, 4), (N, 3) or (N,)")
        kind = by_axes[values.ndim]
    known: Kind = choice(kind, "kind of measurement", SHAPES)
    values = reals(measured, "measured", (count, *SHAPES[known][1:]))
    if known == "pose":
        values = _poses(values, "measured")
    given = [
        None if T is None else _poses(reals(T, name, (4, 4)), name)
        for T, name in ((device, "device"), (marker, "marker"))
    ]
    placed = [np.eye(4) if T is None else T for T in given]
    return MeasuringSetup(known, values, placed[0], placed[1], given[0] is not None, given[1] is not None)


def _poses(T: FloatArray, name: str) -> FloatArray:
    """Rigid motions, or an error that names the first matrix that is not one."""
    R = T[..., :3, :3]
    wrong = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-1, -2)) > 1e-3
    wrong |= (np.linalg.det(R) < 0.0) | (np.abs(T[..., 3, :] - (0.0, 0.0, 0.0, 1.0)).max(axis=-1) > 1e-9)
    if wrong.any():
        place = f"{name}[{int(np.flatnonzero(wrong)[0])}]" if T.ndim > 2 else name
        raise ArgumentError(f"{place} is not a rigid motion (a rotation and a position above 0 0 0 1)")
    T = T.copy()
    T[..., :3, :3] = project_rotation(R)
    return T


def _choose(geometry: ChainPlacements, setup: MeasuringSetup) -> tuple[tuple[str, ...], list[str], list[int]]:
    """Names of all errors, and of those that are estimated for themselves their expressions and numbers.

    The device and the marker, if they are unknown, come first: a turn of the first joint's frame is then one of the
    device. Of the joints' errors those follow that differ most from all before (QR with column pivoting).
    """
    from scipy.linalg import qr  # takes longer to import than the rest of the package

    of_device, of_marker = setup.names
    names = (*of_device, *geometry.names, *of_marker)
    # Nothing coincides by chance in random configurations; what would be measured there does not matter.
    q = np.asarray(geometry.robot.random_configuration(0, (GENERIC_CONFIGURATIONS,)))
    anywhere = exp_pose(GENERIC_TWIST)
    anything = replace(
        setup,
        measured=np.repeat(setup.measured[:1], len(q), axis=0),
        T_device_world=setup.T_device_world if setup.device_known else anywhere,
        T_frame_marker=setup.T_frame_marker if setup.marker_known else anywhere,
    )
    scale = np.concatenate([np.full(setup.turns, geometry.size), np.ones(3)])[-anything.rows :]
    Y = (anything.residuals(*geometry.poses(q)).columns * scale[:, None]).reshape(-1, len(names))
    outside = [*range(len(of_device)), *range(len(names) - len(of_marker), len(names))]
    basis = np.linalg.qr(Y[:, outside])[0]
    units = np.array([geometry.size if name.rsplit(".", 1)[1].startswith(ANGLES) else 1.0 for name in names])
    left = (Y - basis @ (basis.T @ Y)) / units
    left[:, outside] = 0.0
    further = [k for k, name in enumerate(names) if name in geometry.coefficient_names]
    order = qr(left, mode="r", pivoting=True)[1]
    placed = [k for k in order.tolist() if k not in outside and k not in further]
    preferred = [*outside, *placed, *further]
    grouping, _ = group_columns(Y, preferred, 1e-8)
    return names, list(combinations(grouping.matrix, grouping.independent, names)), list(grouping.independent)


def _gain(fit: GeometricFit, other: GeometricFit) -> float:
    """Mean decrease of squared errors of left-out measurements against another fit, in its standard errors."""
    kept = fit.weights > 0.0
    own, others = (np.sum((each.left_out()[kept] / fit.deviations) ** 2, axis=1) for each in (fit, other))
    lower = others - own
    return float(lower.mean() / max(float(lower.std(ddof=1)) / np.sqrt(len(lower)), 1e-300))


def _without_joints(fit: GeometricFit) -> NDArray[np.intp]:
    device, marker = map(len, fit.setup.names)
    joints = range(device, len(fit.errors) - marker)
    return np.array([k for k in fit.chosen if k not in joints], dtype=np.intp)


def _known_deviations(noise: tuple[float, float] | float | None, setup: MeasuringSetup) -> FloatArray | None:
    if noise is None:
        return None
    if setup.kind == "pose":
        turn, length = reals(noise, "noise", (2,), above=0.0)
        return np.repeat([turn, length], 3)
    return np.full(setup.rows, float(reals(noise, "noise", (), above=0.0)))


def _rms(geometry: ChainPlacements, setup: MeasuringSetup, q: FloatArray) -> float:
    """RMS residual with the best device and marker, m; angles count with the robot's size as their lever."""
    poses = geometry.poses(q)
    residuals = setup.explained(poses.T_world_frame).residuals(*poses).values
    residuals[:, : setup.turns] *= geometry.size
    return float(np.sqrt(np.mean(residuals**2)))


def _refuse_units(geometry: ChainPlacements, setup: MeasuringSetup, q: FloatArray) -> None:
    """Refuse lengths in another unit: the measured points lie as far apart as the model's."""
    if setup.kind == "distance":
        spread, expected = float(np.ptp(setup.measured)), 2.0 * geometry.size
    else:
        points = setup.measured[:, :3, 3] if setup.kind == "pose" else setup.measured
        spread = float(np.linalg.norm(points.std(axis=0)))
        expected = float(np.linalg.norm(geometry.poses(q)[0][:, :3, 3].std(axis=0)))
    if spread > 10.0 * max(expected, 1e-3):
        unit = min(UNITS, key=lambda name: abs(np.log(spread / max(expected, 1e-3) / UNITS[name])))
        raise IdentificationError(
            f"the measured points spread over {spread:.3g}, the robot's over {expected:.3g} m: are they in {unit}? "
            "Give lengths in m"
        )


def _refuse_nonsense(geometry: ChainPlacements, setup: MeasuringSetup, q: FloatArray) -> None:
    """Refuse measurements that no small errors explain, and say which mistake would explain them."""
    rms, size = _rms(geometry, setup, q), geometry.size
    if rms < SUSPICIOUS * size:
        return
    n = q.shape[1]
    mistakes: list[tuple[str, FloatArray, MeasuringSetup]] = [("q is in degrees", np.radians(q), setup)]
    if setup.kind == "pose":
        inverted = replace(setup, measured=np.asarray(inverse_pose(setup.measured)))
        mistakes.append(("the poses are those of the device seen from the marker", q, inverted))
    for k in range(n):
        flipped = q.copy()
        flipped[:, k] *= -1.0
        mistakes.append((f"coordinate {k} of q has the opposite sign", flipped, setup))
    for k in range(n - 1):
        swapped = q.copy()
        swapped[:, [k, k + 1]] = q[:, [k + 1, k]]
        mistakes.append((f"coordinates {k} and {k + 1} of q are swapped", swapped, setup))
    errors = [_rms(geometry, other, values) for _, values, other in mistakes]
    best = int(np.argmin(errors))
    if errors[best] < 0.2 * rms:
        raise IdentificationError(
            f"the nominal robot misses the measurements by {1e3 * rms:.3g} mm RMS; {mistakes[best][0]} would explain "
            f"them to {1e3 * errors[best]:.3g} mm"
        )
    if rms > HOPELESS * size:
        raise IdentificationError(
            f"the nominal robot misses the measurements by {1e3 * rms:.3g} mm RMS, {rms / size:.0%} of its size: "
            "another robot, frame or order of joints gave them"
        )


def _result(
    fit: GeometricFit,
    nominal: GeometricFit,
    plain: GeometricFit,
    names: tuple[str, ...],
    expressions: list[str],
    *,
    is_noise_known: bool,
) -> Calibration:
    covariance = fit.covariance()
    deviations = np.sqrt(np.diag(covariance))
    counted = int(np.sum(fit.weights > 0.0)) * fit.setup.rows
    freedom = np.inf if is_noise_known else float(max(counted - len(fit.chosen), 1))
    determined = deviations < UNDETERMINED * PLAUSIBLE
    parameters = tuple(
        Parameter(names[k], text, float(fit.errors[k]), float(error), 0.0, bool(sure), freedom)
        for k, text, error, sure in zip(fit.chosen, expressions, deviations, determined, strict=True)
    )
    kept = fit.weights > 0.0
    residuals = np.where(kept[:, None], fit.residuals(), np.nan)

    def rms(values: FloatArray) -> tuple[float, float]:
        turns = fit.setup.turns
        parts = (values[kept, :turns], values[kept, turns:])
        turn, length = (float(np.sqrt(np.mean(part**2))) if part.size else 0.0 for part in parts)
        return turn, length

    outliers = tuple(np.flatnonzero(~kept).tolist())
    open_ones = [parameter.name for parameter in parameters if not parameter.determined]
    joints = [p for p in parameters if p.name.split(".")[0] in fit.geometry.T_parent_joint]
    large = {p.name: p.value for p in joints if abs(p.value) > IMPLAUSIBLE.limit}
    findings = (
        *LEFT_OUT.above(len(outliers), measurements=", ".join(map(str, outliers))),
        *NOT_DETERMINED.above(len(open_ones), names=", ".join(open_ones)),
        *IMPLAUSIBLE.above(max(map(abs, large.values()), default=0.0), names=", ".join(large)),
        *NOTHING_GAINED.below(_gain(fit, nominal)),
        *(
            NO_TERMS_NEEDED.below(_gain(fit, plain), terms=" and ".join(fit.geometry.terms))
            if fit.geometry.terms
            else ()
        ),
    )
    turn, length = fit.deviations[0] if fit.setup.turns else 0.0, fit.deviations[-1]
    geometry = fit.geometry
    return Calibration(
        robot=geometry.corrected(),
        placements=geometry,
        frame=fit.geometry.frame,
        T_device_world=fit.setup.T_device_world,
        T_frame_marker=fit.setup.T_frame_marker,
        parameters=parameters,
        covariance=covariance,
        noise=(float(turn), float(length)),
        before=rms(nominal.residuals()),
        after=rms(fit.residuals()),
        left_out=rms(fit.left_out()),
        residuals=residuals,
        outliers=outliers,
        findings=findings,
    )
