"""How well models predict measured efforts: errors of each joint, moving and resting apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.model.placement import FloatArray


@dataclass(frozen=True)
class Prediction:
    """Predicted and measured efforts for the samples of a log.

    Attributes
    ----------
    predicted, measured
        Shape (k, n), N·m.
    moving
        Whether each joint moved, shape (k, n).
    saturated
        Samples that are ignored because their effort saturated, shape (k, n); default none.
    time
        Times of the samples, shape (k,), s; default none.
    """

    predicted: FloatArray
    measured: FloatArray
    moving: NDArray[np.bool_]
    saturated: NDArray[np.bool_] | None = None
    time: FloatArray | None = None

    def at(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Prediction:
        """Return the prediction of some samples."""
        saturated = None if self.saturated is None else self.saturated[rows]
        time = None if self.time is None else self.time[rows]
        return Prediction(self.predicted[rows], self.measured[rows], self.moving[rows], saturated, time)

    def rms(self, which: str = "moving") -> FloatArray:
        """Return the RMS error of each joint, shape (n,), N·m; NaN where no sample is selected.

        Examples
        --------
        >>> p = Prediction(np.array([[1.0], [2.0]]), np.array([[1.0], [5.0]]), np.array([[True], [False]]))
        >>> p.rms("moving"), p.rms("resting")
        (array([0.]), array([3.]))
        """
        return np.sqrt(self._mean((self.predicted - self.measured) ** 2, which))

    def largest(self, which: str = "moving") -> FloatArray:
        """Return the largest absolute error of each joint, shape (n,), N·m."""
        error = np.where(self._rows(which), np.abs(self.predicted - self.measured), -np.inf).max(
            axis=0, initial=-np.inf
        )
        return np.where(np.isfinite(error), error, np.nan)

    def relative(self, which: str = "moving") -> FloatArray:
        """Return the RMS error relative to the RMS of the measured effort, shape (n,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.rms(which) / np.sqrt(self._mean(self.measured**2, which))

    def _rows(self, which: str) -> NDArray[np.bool_]:
        rows = {"moving": self.moving, "resting": ~self.moving, "all": np.ones_like(self.moving)}[which]
        return rows if self.saturated is None else rows & ~self.saturated

    def _mean(self, values: FloatArray, which: str) -> FloatArray:
        rows = self._rows(which)
        count = rows.sum(axis=0)
        return np.where(count > 0, np.where(rows, values, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)
