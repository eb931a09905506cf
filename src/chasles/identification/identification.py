"""Result of an identification: parameters with intervals, a robot to go on with, and how well it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from chasles.base import verbs
from chasles.base.errors import UnknownNameError
from chasles.base.findings import Finding
from chasles.identification.comparison import Prediction
from chasles.identification.drive_gains import DriveGains
from chasles.identification.equations import UnknownNames
from chasles.identification.filtering import Signals
from chasles.identification.friction import PERIODIC, friction_column, term_of
from chasles.identification.logs.log import Log
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

NORMAL_QUANTILE = 1.959964
"""95 % of a normal distribution lie within this many standard deviations."""


def student_quantile(freedom: float) -> float:
    """Half width, in standard errors, of a 95 % interval whose variance has this many degrees of freedom.

    >>> round(student_quantile(20.0), 3), round(student_quantile(np.inf), 3)
    (2.086, 1.96)
    """
    return float(stdtrit(freedom, 0.975)) if np.isfinite(freedom) else NORMAL_QUANTILE


@dataclass(frozen=True)
class Parameter:
    """One estimated parameter.

    Attributes
    ----------
    name, expression
        Name, and the linear combination that it stands for (see `Robot.inertial.base`).
    value, error
        Estimate and its standard error, SI units.
    prior
        Value of the prior model; NaN for terms that the prior lacks.
    determined
        Whether the log determines the parameter: its contribution to the torque uncertainty of moderate motions is
        below the residuals, or its value is at least twice its standard error.
    freedom
        Effective degrees of freedom of the error; default infinity, for a known variance.
    """

    name: str
    expression: str
    value: float
    error: float
    prior: float
    determined: bool
    freedom: float = np.inf

    @property
    def half_width(self) -> float:
        """Half of the 95 % confidence interval."""
        return student_quantile(self.freedom) * self.error

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval."""
        return self.value - self.half_width, self.value + self.half_width


@dataclass(frozen=True)
class Identification:
    """Identified model of a robot from a log; result of `chasles.identify`.

    Attributes
    ----------
    robot, model
        Prior model, and identified model. The identified model has physically possible bodies and, under this
        constraint, the most likely base parameters, viscous and Coulomb friction. Other friction terms are in
        `friction`.
    log
        Log that was identified.
    unknowns
        Names and order of the unknowns.
    values, covariance
        Least-squares estimates and their covariance, shapes (p,) and (p, p), in the order of ``unknowns.names``.
    model_values
        Values of the unknowns in `model`, with `friction`.
    v0
        Transition velocity of each joint's friction, shape (n,), rad/s.
    parameters
        Estimates one by one, with intervals.
    condition
        Condition number of the observation matrix with columns of unit length.
    predictions
        Predictions by pairs of names: ``"prior"``, ``"least squares"`` or ``"model"``, and ``"training"`` or
        ``"unseen"`` data.
    noise
        Noise of the measured efforts below the cut-off frequency, shape (n,), N·m: no model can predict better.
    expected
        Expected RMS errors on the unseen data, while moving, from the residuals and the covariance of the fit, shape
        (n,), N·m. Larger errors indicate unmodelled effects.
    signals
        Filtered training data.
    unseen
        Filtered unseen data.
    drive_gains
        Drive gains, if the log holds currents.
    outliers
        Fraction of each joint's samples with a residual beyond four standard deviations, shape (n,).
    findings
        Notes, cautions and, with ``check=False``, refusals, as `chasles.base.findings.Finding` with code, value, limit
        and sentence. `str` of a finding is its sentence.
    """

    robot: Robot
    model: Robot
    log: Log
    unknowns: UnknownNames
    values: FloatArray
    covariance: FloatArray
    model_values: FloatArray
    v0: FloatArray
    parameters: tuple[Parameter, ...]
    condition: float
    predictions: Mapping[tuple[str, str], Prediction]
    noise: FloatArray
    expected: FloatArray
    signals: Signals
    unseen: Signals
    drive_gains: DriveGains | None
    outliers: FloatArray
    findings: tuple[Finding, ...] = ()

    def __getitem__(self, name: str) -> Parameter:
        """Parameter by name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise UnknownNameError("identified parameter", name, [parameter.name for parameter in self.parameters])

    def friction(self, joint: str) -> dict[str, float]:
        """Friction of one joint: its terms (see `chasles.identification.friction`) and ``"v0"``."""
        joints = list(self.unknowns.terms)
        if joint not in joints:
            raise UnknownNameError("joint", joint, joints)
        place = joints.index(joint)
        values = self.model_values[self.unknowns.of_joint(place)]
        return dict(zip(self.unknowns.terms[joint], values.tolist(), strict=True)) | {"v0": float(self.v0[place])}

    def friction_torque(
        self, qd: ArrayLike, load: ArrayLike = 0.0, hours: float = 0.0, q: ArrayLike | None = None
    ) -> FloatArray:
        """Return friction torques at joint velocities, shape (..., n), N·m.

        Parameters
        ----------
        qd
            Shape (..., n), rad/s (m/s).
        load
            Transmitted joint torques without friction, for joints with a ``load`` term.
        hours
            Time after the end of the fitted part of the log, h, for joints with a ``drift`` term.
        q
            Joint positions, shape (..., n), for joints with ``position`` or ``ripple`` terms. Default: mean of these
            terms over a revolution.
        """
        rates = np.asarray(qd, dtype=np.float64) @ self.log.coupling.T
        loads = np.broadcast_to(np.asarray(load, dtype=np.float64), rates.shape)
        angles = np.zeros_like(rates) if q is None else np.asarray(q, dtype=np.float64) @ self.log.coupling.T
        rates, loads, angles = np.broadcast_arrays(rates, loads, angles)
        total = np.zeros(rates.shape)
        for k, (joint, term) in enumerate(self.unknowns.friction, len(self.unknowns.inertial)):
            if term != "rotor" and (q is not None or term_of(term) not in PERIODIC):
                own = (rates[..., joint], float(self.v0[joint]), loads[..., joint], hours, angles[..., joint])
                column = friction_column(term, *own)
                total += self.model_values[k] * column[..., None] * self.log.coupling[joint]
        return total

    def torque(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> FloatArray:
        """Return the torques of the identified model with all its friction terms, shape (..., n), N·m."""
        bare = self.model.with_friction(viscous=0.0, coulomb=0.0)
        load = np.asarray(bare.inverse_dynamics(q, qd, qdd))
        return load + self.friction_torque(qd, load, q=q)

    def summary(self) -> str:
        """Return a text with the prediction error of each joint and the findings."""
        unseen = {name: self.predictions[name, "unseen"] for name in ("prior", "model")}
        titles = ("prior", "model", "expected", "noise", "largest", "resting")
        head = f"{'unseen data':<24}{'measured':>10}" + "".join(f"{title:>10}" for title in titles)
        lines = [head]
        with np.errstate(invalid="ignore", divide="ignore"):
            size = unseen["model"].rms() / unseen["model"].relative()
            for k, name in enumerate(self.robot.velocity_names):
                if not self.log.measured[k]:
                    lines.append(f"{name:<24}{'not measured':>10}")
                    continue
                prior, model = unseen["prior"], unseen["model"]
                shares = (prior.relative()[k], model.relative()[k], self.expected[k] / size[k], self.noise[k] / size[k])
                lines.append(
                    f"{name:<24}{size[k]:>10.3g}"
                    + "".join(f"{share:>10.1%}" for share in shares)
                    + f"{model.largest()[k]:>10.3g}{model.relative('resting')[k]:>10.1%}"
                )
        lines.append(
            "(RMS effort while moving; RMS errors relative to it; RMS error expected from the fit; largest error)"
        )
        return "\n".join([*lines, *(f"{finding.rule.weight}: {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        worst = float(np.nanmax(self.predictions["model", "unseen"].relative()))
        determined = sum(parameter.determined for parameter in self.parameters)
        return (
            f"<Identification of '{self.robot.name}': {determined} of {len(self.parameters)} parameters determined, "
            f"unseen torques to {worst:.1%} or better>"
        )

    def report(self, path: str | PathLike[str], title: str = "Identification") -> Path:
        """Write a self-contained HTML page: measured and predicted efforts, residuals, parameters, friction, advice."""
        written: Path = verbs.report(self, path, title)
        return written
