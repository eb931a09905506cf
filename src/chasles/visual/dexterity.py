"""The space in which a robot's tool moves, and the manipulability of position in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.inverse_kinematics.jacobians import singular_values
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]

_SAMPLES = 16
_NEGLIGIBLE = 1e-9  # share of the largest singular value at any configuration


class ToolSpace(NamedTuple):
    """What the positions of a tool fill: space, a surface or a curve.

    Attributes
    ----------
    dimensions
        Number of directions in which the tool can move at a regular configuration, 0 to 3.
    straight
        Whether these are the same everywhere, as for a plane or a straight line.
    """

    dimensions: int
    straight: bool

    @property
    def words(self) -> str:
        """Where the manipulability of position is taken, such as " in the plane"; nothing for all of space."""
        if self.dimensions == 2:
            return " in the plane" if self.straight else " on the surface"
        if self.dimensions == 1:
            return " along the line" if self.straight else " along the curve"
        return ""

    def manipulability(self, sigma: Floats) -> Floats:
        """Manipulability of position (...) from singular values (..., k) of Jacobians' linear rows, longest first.

        The product of as many singular values as there are dimensions: √det(J Jᵀ) in coordinates of that space
        (Yoshikawa, 1985).
        """
        product: Floats = sigma[..., : self.dimensions].prod(axis=-1)
        return product


def tool_space(robot: Robot) -> ToolSpace:
    """Return the space in which a robot's tool moves, found at random configurations.

    Examples
    --------
    >>> import chasles as ch
    >>> tool_space(ch.load("planar2r")), tool_space(ch.load("panda"))
    (ToolSpace(dimensions=2, straight=True), ToolSpace(dimensions=3, straight=True))
    """
    if robot.n == 0:
        return ToolSpace(0, True)
    q = robot.random_configuration(0, (_SAMPLES,))
    J = np.asarray(robot.jacobian(q, frame="world-aligned"))[:, 3:]
    J = J[np.isfinite(J).all(axis=(1, 2))]
    if len(J) == 0:
        return ToolSpace(min(3, robot.n), robot.n >= 3)
    sigma = singular_values(J)[1]
    negligible = _NEGLIGIBLE * float(sigma.max())
    together = singular_values(np.concatenate(list(J), axis=1))[1]
    dimensions = int((sigma > negligible).sum(axis=-1).max())
    return ToolSpace(dimensions, int((together > negligible).sum()) == dimensions)
