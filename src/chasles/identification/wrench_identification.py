"""Result of an identification from external wrenches: bodies with intervals, a robot to go on with, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chasles.base.findings import Finding
from chasles.identification.comparison import Prediction
from chasles.identification.equations import InertialUnknowns
from chasles.identification.filtering import Cutoff
from chasles.identification.identification import NORMAL_QUANTILE, IdentifiedParameters, Parameter
from chasles.identification.logs.wrench_log import WrenchLog
from chasles.identification.wrench_equations import WrenchEquations
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

ROWS = {"mx": "N·m", "my": "N·m", "mz": "N·m", "fx": "N", "fy": "N", "fz": "N"}
"""Components of a wrench, and their units."""


@dataclass(frozen=True)
class WrenchIdentification(IdentifiedParameters):
    """Identified bodies of a robot with a free base; result of `identify_from_wrenches`.

    Attributes
    ----------
    robot, model
        Prior model, and the same with identified bodies; its rotors and friction are those of the prior.
    unknowns
        What was identified.
    values, covariance
        Ten parameters of each body, shape (10 bodies,), and their covariance. Only combinations of them can be told.
    parameters
        Base parameters with intervals.
    training
        Predicted external wrenches (m, f), in the world's axes about the mean place of the base, beside those that the
        model was fitted to.
    noise
        Noise of the measured wrenches below the cut-off frequency, shape (6,), N·m and N.
    cutoff
        Filter.
    findings
        Notes, cautions and, with ``check=False``, refusals.
    """

    robot: Robot
    model: Robot
    unknowns: InertialUnknowns
    values: FloatArray
    covariance: FloatArray
    parameters: tuple[Parameter, ...]
    training: Prediction
    noise: FloatArray
    cutoff: Cutoff
    findings: tuple[Finding, ...] = ()

    @property
    def masses(self) -> dict[str, tuple[float, float]]:
        """Mass of each body in the prior and in the identified model, kg, by the name of its link."""
        names = [name.removesuffix(".m") for name in self.robot.inertial.names[: len(self.values) : 10]]
        pairs = zip(self.unknowns.of(self.robot)[::10].tolist(), self.values[::10].tolist(), strict=True)
        return dict(zip(names, pairs, strict=True))

    @property
    def mass(self) -> tuple[float, float]:
        """Mass of all bodies and its standard error, kg."""
        row = np.zeros(len(self.values))
        row[::10] = 1.0
        return float(row @ self.values), float(np.sqrt(row @ self.covariance @ row))

    def predict(self, log: WrenchLog | Sequence[WrenchLog]) -> Prediction:
        """Predict the external wrenches in other logs, below the cut-off frequency of the fit.

        Parameters
        ----------
        log
            Log or logs of the same robot.
        """
        logs = [log] if isinstance(log, WrenchLog) else list(log)
        return predicted(WrenchEquations(self.robot, self.unknowns, logs, self.cutoff), self.values)

    def score(self, log: WrenchLog | Sequence[WrenchLog]) -> float:
        """Share of the squared wrenches of other logs that the model explains: mean over the components, at best 1.

        Parameters
        ----------
        log
            Log or logs of the same robot.
        """
        return float(1.0 - np.mean(self.predict(log).relative() ** 2))

    def summary(self) -> str:
        """Return a text with the error of each component of the wrench, the mass, and the findings."""
        lines = [f"{'external wrench':<24}{'measured':>10}{'model':>10}{'noise':>10}"]
        sizes = np.sqrt(np.mean(self.training.measured**2, axis=0))
        rows = zip(ROWS.items(), sizes, self.training.relative(), self.noise / sizes, strict=True)
        for (name, unit), size, error, noise in rows:
            lines.append(f"{f'{name}, {unit}':<24}{size:>10.3g}{error:>10.1%}{noise:>10.1%}")
        mass, deviation = self.mass
        lines.append(f"mass {mass:.4g} ± {NORMAL_QUANTILE * deviation:.2g} kg (95 %); {self.determination}")
        return "\n".join([*lines, *(f"{finding.rule.weight}: {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        return (
            f"<WrenchIdentification of '{self.robot.name}': {self.determination}, "
            f"wrenches to {float(self.training.relative().max()):.1%} or better>"
        )


def predicted(equations: WrenchEquations, values: FloatArray) -> Prediction:
    """Return external wrenches that parameters of the bodies predict, beside the measured ones."""
    measured = equations.wrench
    everywhere = np.ones(measured.shape, dtype=bool)
    return Prediction(equations.columns @ values, measured, everywhere, None, equations.time)
