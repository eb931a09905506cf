"""Result of a kinematic calibration: corrected joints, how sure they are, and what they predict."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from chasles.base.findings import Finding
from chasles.engine.validators import reals
from chasles.identification.geometric_errors import ChainPlacements
from chasles.identification.identification import Parameter
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

ANGLES = ("r", "sine", "cosine", "compliance")
"""Beginnings of the names of errors that are angles."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibrated geometry of a robot; result of `chasles.calibrate`.

    Attributes
    ----------
    robot
        Robot with corrected joint placements.
    frame
        Frame that carries the marker.
    T_device_world, T_frame_marker
        Pose of the robot's world in the measuring device's axes, and of the marker in the frame, (4, 4).
    parameters
        Identified geometric errors, with standard errors: rotations (``joint2.rx``, rad) and translations
        (``joint2.x``, m) about and along the axes of each joint's frame, and of the device and the marker if unknown.
        Their `expression` lists the errors that cannot be separated from the named one. Further terms are
        ``joint2.compliance``, rad or m at the largest torque of the weight, ``joint2.sine`` and ``joint2.cosine``, rad.
    covariance
        Covariance of the parameters, shape (p, p): the Cramér-Rao bound for this noise.
    noise
        Standard deviations of the measurements: rotations, rad (0 if not measured), and lengths, m.
    before, after, left_out
        RMS residuals (rotations, lengths) with the nominal joints, with the corrected joints, and with each measurement
        predicted from all others.
    residuals
        Residuals after the calibration, (N, rows); NaN for outliers.
    outliers
        Indices of the measurements left out because they contradict the others.
    findings
        Notes and cautions, as `chasles.base.findings.Finding`.
    placements
        Joint placements and coefficients of further terms.
    """

    robot: Robot
    frame: str
    T_device_world: FloatArray
    T_frame_marker: FloatArray
    parameters: tuple[Parameter, ...]
    covariance: FloatArray
    noise: tuple[float, float]
    before: tuple[float, float]
    after: tuple[float, float]
    left_out: tuple[float, float]
    residuals: FloatArray
    outliers: tuple[int, ...]
    findings: tuple[Finding, ...]
    placements: ChainPlacements

    def configuration(self, q: ArrayLike) -> FloatArray:
        """Configurations in which the joints stand when their encoders show q, shape (N, n).

        They differ by the further terms that were calibrated: ``robot.forward_kinematics(configuration(q))`` is where
        the frame is.
        """
        shown = reals(q, "q", ("N", self.robot.nq))
        return self.placements.configuration(shown) if self.placements.terms else shown

    @property
    def compliance(self) -> dict[str, float]:
        """Compliances of the joints, rad/(N·m) (m/N), by name; empty if they were not calibrated."""
        own = self.placements
        values = dict(zip(own.coefficient_names, own.coefficients.tolist(), strict=True))
        largest = dict(zip(self.robot.velocity_names, own.largest_torques.tolist(), strict=True))
        wanted = [joint for joint in own.T_parent_joint if f"{joint}.compliance" in values]
        return {joint: values[f"{joint}.compliance"] / largest[joint] for joint in wanted}

    def summary(self) -> str:
        """Return a text with the quality of fit, the errors with 95 % intervals, and findings."""
        rows = [
            ("nominal", self.before),
            ("calibrated", self.after),
            ("each left out", self.left_out),
        ]
        lines = [f"{'RMS residual':<16}{'mm':>10}" + (f"{'mrad':>10}" if self.noise[0] else "")]
        for name, (turn, length) in rows:
            lines.append(f"{name:<16}{1e3 * length:>10.4f}" + (f"{1e3 * turn:>10.4f}" if self.noise[0] else ""))
        lines += ["", f"{'error':<24}{'value':>10}{'± 95 %':>10}"]
        for parameter in self.parameters:
            unit = "mrad" if parameter.name.rsplit(".", 1)[1].startswith(ANGLES) else "mm"
            half = 1e3 * parameter.half_width
            note = "" if parameter.determined else "  not determined"
            lines.append(f"{parameter.name:<24}{1e3 * parameter.value:>10.4f}{half:>10.4f} {unit}{note}")
        return "\n".join([*lines, *(f"\n{finding.rule.weight}: {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        return (
            f"<Calibration of '{self.robot.name}': {len(self.residuals)} measurements, "
            f"{1e3 * self.before[1]:.3g} mm RMS before, {1e3 * self.after[1]:.3g} mm after>"
        )
