"""Gains of adaptive laws from a model, a motion and a sample period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control.adaptive.unknowns import Unknowns
from chasles.control.floating_base import deviation
from chasles.control.pole_design import PoleDesign
from chasles.engine.validators import real
from chasles.geometry import inertial_parameters_from_pseudo_inertia, pseudo_inertia_from_inertial_parameters
from chasles.model.inertial_parameters import OF_BODY
from chasles.trajectories import Motion

Floats = NDArray[np.float64]

_UNITS = np.array([pseudo_inertia_from_inertial_parameters.formula(unit) for unit in np.eye(10)])
DUALS = np.linalg.solve(np.einsum("kij,lij->kl", _UNITS, _UNITS), _UNITS.reshape(10, 16))
"""Symmetric matrices L_k with tr(L_k J) the k-th inertial parameter of the body of pseudo-inertia J, as rows."""

_EXPECTED = 0.1  # of a joint's range of motion: errors that adaptation reckons with
_LEAST_SHARE = 1e-3  # of a pseudo-inertia's trace, in each direction
_PAYLOAD_SHARE = 0.2  # of the moved mass, the largest payload that natural adaptation expects
_PAYLOAD_RADIUS = 0.1  # m
_FIRST_SHARE = 0.25  # of that payload in the first estimates


def adaptation_gains(
    design: PoleDesign, learning: float = 1.0, unknown: str | Sequence[str] = "base"
) -> dict[str, Any]:
    """Return rate, damping and adaptation of `SlotineLi`: no pole of errors and estimates is faster than designed.

    Errors decay to s = 0 and along it at ω, the frequency that the sample period leaves to gains of single joints. Near
    s = 0, M s' = Y (theta - true) - Kd s and theta' = -Gamma Yᵀ s. With Gamma_k = w² / (m c_k), where c_k is the mean
    of Y_kᵀ M⁻¹ Y_k, all m parameters together give s the polynomial s² + ω s + w². It is critically damped for w = ω /
    2, the default; ``learning`` multiplies w². The estimates then act like the integral of a PID law with the poles
    -ω, -ω/2 and -ω/2. Designs with margins take w = ω / 4.

    Parameters
    ----------
    design
        Poles, model, motion and period.
    learning
        Factor on all adaptation gains.
    unknown
        Unknown parameters, as `SlotineLi` takes them.
    """
    unknowns = Unknowns.of(design.model, unknown)
    key = unknown if isinstance(unknown, str) else tuple(unknown)
    if key not in design.excitations:
        design.excitations[key] = excitation(design, unknowns)
    felt = np.diagonal(design.excitations[key])
    known = felt > 0.0
    frequency = design.attainable_alone
    swing = learning * min((0.5 * frequency) ** 2, design.swing(frequency))
    gain = np.where(known, swing / (max(known.sum(), 1) * np.where(known, felt, 1.0)), 0.0)
    return {"rate": frequency, "damping": frequency * design.inertia, "adaptation": gain}


def perturbation_gains(design: PoleDesign, reaching: float = 10.0) -> dict[str, Any]:
    """Return rate, torque weight and initial pose of `LeeChung`, with identification of a constant disturbance.

    Errors decay at the designed frequency along s = qd error + frequency * q error = 0, which is reached ``reaching``
    times as fast. The torque weight is a tenth of the value for each joint moving alone, since coupling adds inertia.
    """
    frequency = design.attainable
    share = min(reaching * frequency * design.period, 1.0)  # of s that a period takes away
    weight = 0.1 / (design.inertia**2 * share)
    start = design.motion(design.times[0]).q
    return {"rate": frequency, "torque_weight": weight, "offset": True, "initial_pose": start}


def model_reference_gains(design: PoleDesign, learning: float = 1.0) -> dict[str, Any]:
    """Return reference model, first gains, adaptation and weights of `ModelReferenceAdaptive`.

    The initial gains of 1, q_ref, qd_ref and qdd_ref are a least-squares fit of the model's torques along the motion.
    The initial gains of the errors place the designed poles for each joint alone. The weights of the Lyapunov equation
    make the weighted error r = e' + ζ ω e. Near r = 0, J r' = -Σ (K - ideal) φ. With alpha = w² J / (m φ²) for each of
    the m signals, φ² its mean square, all gains together make r oscillate at the frequency w, which is that of
    `PoleDesign.swing`. Errors are expected to be a tenth of the joint's range of motion.
    """
    planned = design.motion(design.times)
    frequency, (kp, kd, _) = design.attainable_alone, design.gains(design.attainable_alone)
    torque = design.model.inverse_dynamics(planned.q, planned.qd, planned.qdd)
    start = Motion(design.model.neutral, np.zeros(design.model.n), np.zeros(design.model.n))
    wanted = np.array([deviation(design.model, q, start) for q in planned.q])
    signals = np.stack([np.ones_like(torque), wanted, planned.qd, planned.qdd])
    range_of = _EXPECTED * np.ptp(wanted, axis=0)
    errors = np.stack([range_of, frequency * range_of])
    fitted = np.stack([np.linalg.lstsq(signals[..., k].T, torque[:, k])[0] for k in range(design.model.n)], axis=-1)
    of_errors = design.inertia * np.array([[kp], [kd]])
    square = np.concatenate([(signals[:1] ** 2).mean(axis=1), errors**2, (signals[1:] ** 2).mean(axis=1)])
    known = square > 0.0
    share = learning * design.swing(frequency) / np.maximum(known.sum(axis=0), 1)
    zeta = design.damping
    return {
        "frequency": frequency,
        "damping_ratio": zeta,
        "adaptation": np.where(known, share * design.inertia / np.where(known, square, 1.0), 0.0),
        "weights": (2.0 * zeta * frequency**3, 2.0 * zeta * frequency),
        "initial": np.concatenate([fitted[:1], of_errors, fitted[1:]]),
    }


def natural_gains(
    design: PoleDesign,
    learning: float = 1.0,
    bodies: str | Sequence[str] | None = None,
    payload: float | None = None,
) -> dict[str, Any]:
    """Return rate, damping, adaptation, bodies and initial estimates of `NaturalAdaptive`.

    Errors decay along s = 0 at the designed frequency, and to it at the one for each joint alone. The estimates of a
    body follow s by J' = -adaptation J L J, in parameters theta' = -adaptation G Yᵀ s; adaptation = w² / (m mean
    trace(Y G Yᵀ M⁻¹)) for m bodies makes s oscillate at w, which is that of `PoleDesign.swing`.
    G grows with the square of J, so it is computed for the heaviest body expected: the link at the tool
    with the payload. The initial estimates are the model's, the link at the tool with a quarter of that payload. Each
    eigenvalue of their pseudo-inertia is raised to at least a thousandth of its trace, because the pseudo-inertia of an
    ideal rod is singular.

    Parameters
    ----------
    design
        Poles, model, motion and period.
    learning
        Factor on the adaptation gains.
    bodies
        Unknown bodies, as `NaturalAdaptive` takes them; default the link at the tool.
    payload
        Largest mass expected at the tool, kg, a ball of 0.1 m; default a fifth of the robot's moved mass.
    """
    model = design.model
    at_tool = Unknowns.of(model, "payload")
    link = model.inertial.names[at_tool.columns[0]].rpartition(".")[0]
    named = [link] if bodies is None else [bodies] if isinstance(bodies, str) else list(bodies)
    moved = sum(model.inertial.values[:: len(OF_BODY)][: len(model.inertial.names) // len(OF_BODY)])
    mass = _PAYLOAD_SHARE * float(moved) if payload is None else real(payload, "payload", at_least=0.0)
    ball = mass * inertial_parameters_from_pseudo_inertia(np.diag([*3 * [0.2 * _PAYLOAD_RADIUS**2], 1.0]))
    further = {"payload": ball, link: ball if at_tool.to_columns is None else at_tool.to_columns @ ball}
    which = "payload" if bodies == "payload" else [f"{body}.{name}" for body in named for name in OF_BODY]
    unknowns = Unknowns.of(model, which)
    felt = excitation(design, unknowns)
    start, strength = [], []
    for k, (body, values) in enumerate(zip(named, unknowns.values.reshape(-1, 10), strict=True)):
        more = further.get(body, np.zeros(10))
        start.append(_possible(pseudo_inertia_from_inertial_parameters(values + _FIRST_SHARE * more)))
        J = _possible(pseudo_inertia_from_inertial_parameters(values + more))
        moved_by_units = J @ DUALS.reshape(10, 4, 4) @ J
        G = inertial_parameters_from_pseudo_inertia(moved_by_units)
        strength.append(float((G * felt[10 * k : 10 * k + 10, 10 * k : 10 * k + 10]).sum()))
    swing, size = learning * design.swing(design.attainable_alone), np.array(strength)
    return {
        "rate": design.attainable,
        "damping": design.attainable_alone * design.inertia,
        "adaptation": np.where(size > 0.0, swing / (len(size) * np.where(size > 0.0, size, 1.0)), 0.0),
        "bodies": "payload" if bodies == "payload" else named,
        "initial": inertial_parameters_from_pseudo_inertia(np.array(start)).ravel(),
    }


def _possible(J: Floats) -> Floats:
    """Return the pseudo-inertia of a body with mass in all directions, near the given one."""
    size, axes = np.linalg.eigh(J)
    return np.asarray(axes * np.maximum(size, _LEAST_SHARE * np.trace(J)) @ axes.T)


def excitation(design: PoleDesign, unknowns: Unknowns) -> Floats:
    """Return the mean (m, m) of Yᵀ M⁻¹ Y over the motion, and over states as fast as it all around."""
    planned = design.motion(design.times)
    spread = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *planned.qd.shape))
    around = [share * np.abs(part).max(axis=0) for share, part in zip(spread, (planned.qd, planned.qdd), strict=True)]
    total: Any = 0.0
    for qd, qdd in ((planned.qd, planned.qdd), around):
        Y = design.model.regressors.passivity(planned.q, qd, qd, qdd)
        Y = Y[..., unknowns.columns] if unknowns.to_columns is None else Y[..., unknowns.columns] @ unknowns.to_columns
        total = total + (np.swapaxes(Y, -1, -2) @ np.linalg.solve(design.mass_matrices, Y)).mean(axis=0)
    return 0.5 * np.asarray(total)
