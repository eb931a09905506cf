"""Least squares behind kinematic calibration: Gauss-Newton on placements, robust weights, leave-one-out residuals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chasles.identification.geometric_errors import ChainPlacements
from chasles.identification.measurements import MeasuringSetup
from chasles.model.placement import FloatArray

PLAUSIBLE = 0.05
"""Standard deviation of a joint's error before the measurements, rad and m: what is not measured stays near zero."""
STEPS = 100
SMALLEST_STEP = 1e-12
HUBER = 2.0
"""Standard deviations beyond which a measurement's weight falls."""
LEAST_NOISE = 1e-12
"""Noise of exact measurements, rad and m; it keeps the weights finite."""


@dataclass(frozen=True, eq=False)
class GeometricFit:
    """Placements that explain measurements, and how sure they are.

    Attributes
    ----------
    geometry, setup
        Joints, and device and marker.
    q
        Configurations, (N, nq).
    chosen
        Numbers of the errors that are estimated, among those of the device, the joints and the marker in this order.
    deviations
        Standard deviations of the measurements' rows, (rows,).
    errors
        Sum of all steps, (errors,): how far the placements are from the first ones.
    weights
        Weight of each measurement, (N,).
    """

    geometry: ChainPlacements
    setup: MeasuringSetup
    q: FloatArray
    chosen: NDArray[np.intp]
    deviations: FloatArray
    errors: FloatArray
    weights: FloatArray

    @property
    def prior(self) -> FloatArray:
        """Inverse variances of the chosen errors before the measurements: joints are about as their model says."""
        device, marker = map(len, self.setup.names)
        joints = np.zeros(len(self.errors))
        joints[device : len(joints) - marker] = PLAUSIBLE**-2
        return joints[self.chosen]

    def equations(self) -> tuple[FloatArray, FloatArray]:
        """Columns (N, rows, chosen) and residuals (N, rows), both divided by the noise."""
        residuals = self.setup.residuals(*self.geometry.poses(self.q))
        return residuals.columns[:, :, self.chosen] / self.deviations[:, None], residuals.values / self.deviations

    def residuals(self) -> FloatArray:
        """Measured minus predicted, (N, rows)."""
        return self.equations()[1] * self.deviations

    def moved(self, step: FloatArray) -> GeometricFit:
        """Fit after a step of the chosen errors."""
        full = np.zeros(len(self.errors))
        full[self.chosen] = step
        device, marker = map(len, self.setup.names)
        joints = len(full) - marker
        return replace(
            self,
            geometry=self.geometry.moved(full[device:joints]),
            setup=self.setup.moved(full[:device], full[joints:]),
            errors=self.errors + full,
        )

    def solved(self) -> GeometricFit:
        """Fit with the least weighted squares (Levenberg-Marquardt)."""
        fit, damping = self, 1e-9
        A, r = fit.equations()
        cost = fit._cost(r)
        for _ in range(STEPS):
            normal, slope = fit._normal(A), np.einsum("n,nrk,nr->k", fit.weights, A, r)
            slope = slope - fit.prior * fit.errors[fit.chosen]
            scale = np.diag(normal)
            step = np.linalg.lstsq(normal + np.diag(damping * scale), slope)[0]
            trial = fit.moved(step)
            trial_A, trial_r = trial.equations()
            trial_cost = trial._cost(trial_r)
            if trial_cost <= cost * (1.0 + 1e-12):
                fit, A, r, damping = trial, trial_A, trial_r, max(damping / 10.0, 1e-12)
                if cost - trial_cost <= 1e-12 * cost or np.abs(step).max() < SMALLEST_STEP:
                    break
                cost = trial_cost
            else:
                damping *= 100.0
                if damping > 1e6:
                    break
        return fit

    def robust(self, known: FloatArray | None) -> GeometricFit:
        """Fit whose outliers count less, with the noise from the residuals unless it is known (Huber's weights)."""
        fit = self
        for _ in range(20):
            before = fit
            fit = fit.solved()
            residuals = fit.residuals()
            deviations = fit.median_deviations(residuals) if known is None else known
            z = np.sqrt(np.mean((residuals / deviations) ** 2, axis=1))
            fit = replace(fit, deviations=deviations, weights=np.minimum(1.0, HUBER / np.maximum(z, LEAST_NOISE)))
            if np.allclose(fit.weights, before.weights, atol=1e-3) and np.allclose(
                fit.deviations, before.deviations, 1e-3
            ):
                break
        return fit

    def median_deviations(self, residuals: FloatArray) -> FloatArray:
        """Noise of angles and lengths from the median of their residuals."""
        return self._by_kind(residuals, lambda r: 1.4826 * float(np.median(np.abs(r))))

    def mean_deviations(self, residuals: FloatArray) -> FloatArray:
        """Noise of angles and lengths from the mean square of the residuals of measurements that count."""
        return self._by_kind(residuals[self.weights > 0.0], lambda r: float(np.sqrt(np.mean(r * r))))

    def _by_kind(self, residuals: FloatArray, spread: Callable[[FloatArray], float]) -> FloatArray:
        turns, rows = self.setup.turns, residuals.shape[1]
        unknowns = len(self.chosen)
        freedom = np.sqrt(residuals.size / max(residuals.size - unknowns, 1))
        parts = [slice(0, turns), slice(turns, rows)] if turns else [slice(0, rows)]
        return np.concatenate(
            [np.full(part.stop - part.start, max(freedom * spread(residuals[:, part]), LEAST_NOISE)) for part in parts]
        )

    def covariance(self) -> FloatArray:
        """Covariance of the chosen errors."""
        return np.asarray(np.linalg.pinv(self._normal(self.equations()[0]), hermitian=True))

    def left_out(self) -> FloatArray:
        """Residuals of each measurement predicted from all others, (N, rows), to first order."""
        A, r = self.equations()
        leverage = np.einsum("nrk,kl,nsl->nrs", A, self.covariance(), A)
        return np.asarray(np.linalg.solve(np.eye(r.shape[1]) - leverage, r[:, :, None])[:, :, 0] * self.deviations)

    def _normal(self, A: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("n,nrk,nrl->kl", self.weights, A, A, optimize=True) + np.diag(self.prior))

    def _cost(self, r: FloatArray) -> float:
        return float(self.weights @ np.sum(r * r, axis=1) + self.prior @ self.errors[self.chosen] ** 2)
