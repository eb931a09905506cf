"""Result of an identification: parameters with intervals, a robot to go on with, and how well it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from chasles.base import verbs
from chasles.base.errors import UnknownNameError
from chasles.base.findings import Finding
from chasles.identification import archive
from chasles.identification.comparison import Prediction
from chasles.identification.drive_gains import DriveGains
from chasles.identification.equations import inertial_unknowns, with_drives_of
from chasles.identification.filtering import Signals, filtered_signals
from chasles.identification.friction import FrictionTerms
from chasles.identification.logs.acceptance import accepted_log
from chasles.identification.logs.log import Log
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot, independent_coordinates

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
        Whether the log determines the parameter: it at least halves the deviation that the prior leaves.
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


ERRORS = ("prior", "model", "expected", "noise", "largest", "resting")
"""Columns of errors on unseen data."""


class UnseenError(NamedTuple):
    """Errors of a joint on unseen data, NaN where there is none.

    Attributes
    ----------
    joint, unit
        Name of the joint, and unit of its effort.
    effort
        RMS effort while it moves.
    shares
        RMS errors of prior and model, the error expected from the fit, and the noise of the sensors, relative to it.
    largest, resting
        Largest error while it moves, and RMS error at rest.
    """

    joint: str
    unit: str
    effort: float
    shares: tuple[float, ...]
    largest: float
    resting: float


class IdentifiedParameters:
    """Parameters by name and files: what results of `identify` and `identify_from_wrenches` have in common."""

    parameters: tuple[Parameter, ...]

    def __getitem__(self, name: str) -> Parameter:
        """Parameter by name."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise UnknownNameError("identified parameter", name, [parameter.name for parameter in self.parameters])

    @property
    def determination(self) -> str:
        """How many of the parameters the log determines, in words."""
        known = sum(parameter.determined for parameter in self.parameters)
        return f"{known} of {len(self.parameters)} parameters determined"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write all of the identification, with its log, for `chasles.identification.load`; path ends in ``.npz``."""
        return archive.save(self, path)

    def report(self, path: str | PathLike[str], title: str = "Identification") -> Path:
        """Write a self-contained HTML page: measured and predicted efforts or wrenches, masses, parameters, advice."""
        written: Path = verbs.report(self, path, title)
        return written


@dataclass(frozen=True)
class Identification(IdentifiedParameters):
    """Identified model of a robot from a log; result of `chasles.identify`.

    Attributes
    ----------
    robot, model
        Prior model, and the identified one: bodies that can exist, rotors and friction, fitted to all data.
    log
        Log that was identified; several logs are joined.
    terms
        Friction terms, with the velocities of their transitions.
    names, values, covariance
        Names of all unknowns, their estimates and covariance, shapes (p,) and (p, p): ten parameters of each body,
        rotor inertias, and friction motor by motor. Only combinations of them can be told: see `parameters`.
    parameters
        Identifiable parameters, one by one, with intervals: base parameters and friction.
    condition
        Condition number of the textbook's observation matrix with columns of unit length.
    predictions
        Predictions by pairs of names: ``"prior"``, ``"least squares"`` (textbook) or ``"model"``, and ``"unseen"`` or
        ``"training"`` data. Each unseen sample is predicted by a fit to other parts of the log.
    noise
        Noise of the measured efforts below the cut-off frequency, shape (n,), N·m: no model can predict better.
    expected
        Expected RMS errors on the unseen data, while moving, from the residuals and the covariance of the fit, shape
        (n,), N·m. Larger errors indicate unmodelled effects.
    signals
        Filtered log.
    band
        Frequency below which predictions and their errors are, Hz.
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
    terms: FrictionTerms
    names: tuple[str, ...]
    values: FloatArray
    covariance: FloatArray
    parameters: tuple[Parameter, ...]
    condition: float
    predictions: Mapping[tuple[str, str], Prediction]
    noise: FloatArray
    expected: FloatArray
    signals: Signals
    band: float
    drive_gains: DriveGains | None
    outliers: FloatArray
    findings: tuple[Finding, ...] = ()

    @property
    def masses(self) -> dict[str, tuple[float, float]]:
        """Mass of each moving body in the prior and in the identified model, kg, by the name of its link."""
        values = zip(self.robot.inertial.names, self.robot.inertial.values, self.model.inertial.values, strict=True)
        return {name.removesuffix(".m"): (float(a), float(b)) for name, a, b in values if name.endswith(".m")}

    def predict(self, log: Any, cutoff: float | None = None) -> Prediction:
        """Predict the efforts of another log below a frequency, Hz; default `band`.

        Parameters
        ----------
        log
            `chasles.Log`, or a source that it reads.
        cutoff
            Frequency of the filters, Hz.
        """
        own = accepted_log(self.robot, log)
        signals = filtered_signals(own, self.band if cutoff is None else cutoff)
        tau = signals.filter(signals.torque(self.model))
        moving, gains = signals.moving & own.measured, self.drive_gains
        scale = np.where(gains.known, gains.values, 1.0) if own.currents and gains is not None else 1.0
        return Prediction(tau, signals.effort * scale, moving, signals.saturated, signals.time).at(signals.kept())

    def torque_deviation(self, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
        """Standard deviations of the predicted torques, from the covariance of the estimates, shape (k, n), N·m.

        Parameters
        ----------
        q, qd, qdd
            Configurations, shape (k, nq), velocities and accelerations, shapes (k, n).
        """
        robot, coupling = with_drives_of(self.log, self.robot), self.log.coupling
        unknowns = inertial_unknowns(robot)
        kept = (*range(10 * unknowns.bodies), *unknowns.rotors.tolist())
        columns = np.asarray(robot.regressors.torque(q, qd, qdd, columns=kept))
        load = np.asarray(
            np.linalg.solve(coupling.T, (columns @ self.values[: columns.shape[2]]).T).T, dtype=np.float64
        )
        positions = q[:, independent_coordinates(robot, "an identification")]
        of_motors = self.terms.columns(qd @ coupling.T, positions @ coupling.T, load)
        friction = np.einsum("kmi,mj->kjmi", of_motors, coupling).reshape(*qd.shape, -1)
        A = np.concatenate([columns, friction], axis=2)
        return np.asarray(np.sqrt(np.einsum("kjp,pr,kjr->kj", A, self.covariance, A, optimize=True)))

    def score(self, log: Any) -> float:
        """Share of the squared efforts of another log that the model explains: mean over its moving joints, at best 1.

        Parameters
        ----------
        log
            `chasles.Log`, or a source that it reads.
        """
        return float(1.0 - np.nanmean(self.predict(log).relative() ** 2))

    def unseen_errors(self) -> list[UnseenError]:
        """Return the errors of each joint on unseen data."""
        prior, model = (self.predictions[name, "unseen"] for name in ("prior", "model"))
        with np.errstate(invalid="ignore", divide="ignore"):
            size = model.rms() / model.relative()
            shares = (prior.relative(), model.relative(), self.expected / size, self.noise / size)
        columns = (size, *shares, model.largest(), model.rms("resting"))
        units = self.robot.description.effort_units
        rows = zip(self.robot.velocity_names, units, np.stack(columns, axis=1).tolist(), strict=True)
        return [UnseenError(name, unit, row[0], tuple(row[1:5]), row[5], row[6]) for name, unit, row in rows]

    def summary(self) -> str:
        """Return a text with the prediction error of each joint and the findings."""
        lines = [f"{'unseen data':<24}{'measured':>10}" + "".join(f"{title:>10}" for title in ERRORS)]
        for one, is_measured in zip(self.unseen_errors(), self.log.measured, strict=True):
            if not is_measured:
                lines.append(f"{one.joint:<24}{'not measured':>10}")
                continue
            shares = "".join(f"{share:>10.1%}" for share in one.shares)
            lines.append(f"{one.joint:<24}{one.effort:>10.3g}{shares}{one.largest:>10.3g}{one.resting:>10.3g}")
        lines.append(
            f"(below {self.band:.3g} Hz: RMS effort while moving; RMS errors relative to it; error expected from the "
            "fit; largest error, and RMS error at rest, as the effort)"
        )
        before, now = np.sum(list(self.masses.values()), axis=0)
        lines.append(f"moving mass {now:.3g} kg (prior {before:.3g} kg)")
        return "\n".join([*lines, *(f"{finding.rule.weight}: {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        worst = float(np.nanmax(self.predictions["model", "unseen"].relative()))
        return f"<Identification of '{self.robot.name}': {self.determination}, unseen torques to {worst:.1%} or better>"
