"""Base of laws whose gains follow from weights of deviations and torques, which `chasles.tune` finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chasles.control.knowledge import Knowledge
from chasles.control.linear_quadratic.along_motion import integral_count
from chasles.control.linear_quadratic.weights import Weights, rescaled, slopes_by_diagonal
from chasles.control.robot_controller import RobotController

Floats = NDArray[np.float64]


class WeightedRegulator(RobotController):
    """Base of regulators designed before the motion; the diagonals of Q and R are their design's values.

    Other diagonals leave the weights' correlations as they are: Q_ij / √(Q_ii Q_jj), and those of R.

    Attributes
    ----------
    weights
        Q and R.
    """

    knows = Knowledge(beforehand=True)
    weights: Weights

    @property
    def design_values(self) -> dict[str, Floats]:
        """Diagonals of the weights."""
        return {name: np.asarray(part.diagonal()) for name, part in self.weights._asdict().items()}

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return the same law with other values of `parameters` and of its design."""
        parts = self.weights._asdict()
        diagonals = {name: rescaled(parts[name], value) for name, value in values.items() if name in parts}
        if not diagonals:
            return super().with_values(values)
        others = {name: value for name, value in values.items() if name not in parts}
        return super().with_values(others | {"weights": self.weights._replace(**diagonals)})

    @property
    def takes_over(self) -> bool:
        """Whether the regulator has integral action."""
        return integral_count(self.weights) > 0

    @property
    def _weight_changes(self) -> Weights:
        """Derivatives of Q and R by the elements of both diagonals, one after the other: (p, m, m) and (p, n, n)."""
        by_Q, by_R = map(slopes_by_diagonal, self.weights)
        return Weights(
            np.concatenate([by_Q, np.zeros((len(by_R), *by_Q.shape[1:]))]),
            np.concatenate([np.zeros((len(by_Q), *by_R.shape[1:])), by_R]),
        )
