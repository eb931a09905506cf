"""Samples of a log as they were read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.model.placement import FloatArray


class LoggedSignals(NamedTuple):
    """Samples at the joints in SI units: time (k,), positions, velocities and efforts (k, n); NaN where missing."""

    time: FloatArray
    q: FloatArray
    qd: FloatArray | None
    effort: FloatArray

    def rows(self, keep: NDArray[np.bool_]) -> LoggedSignals:
        """Some of the samples."""
        qd = None if self.qd is None else self.qd[keep]
        return LoggedSignals(self.time[keep], self.q[keep], qd, self.effort[keep])
