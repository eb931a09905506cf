"""Payload estimated sample by sample, while the robot moves: recursive least squares of the ten inertial parameters.

The equations are those of `chasles.identification.payload`; the recursion is that of adaptive control. Source: L.
Ljung, "System Identification: Theory for the User" (2nd ed., 1999), section 11.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.cached import cached_property
from chasles.control.adaptive.recursive_least_squares import Fitted, recursive_least_squares
from chasles.engine.function import Function, function
from chasles.engine.validators import real, reals
from chasles.identification.payload_columns import payload_frame, placement
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot


class RecursivePayload:
    """Recursive payload estimate, sample by sample: least squares with forgetting.

    Parameters
    ----------
    model
        Robot without the payload.
    forgetting
        Weight of a sample relative to the next, in (0, 1]; 1 for no forgetting.
    frame
        Frame that carries the payload; default the tool.
    deviation
        Prior standard deviation of the payload's parameters, in kg, kg·m and kg·m².

    Attributes
    ----------
    law
        Compiled step: ``(estimate, P, q, qd, qdd, tau) -> (estimate, P)``; ``law.to_c()`` is its C source and header.
    parameters, covariance
        Estimate and P, shapes (10,) and (10, 10).

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm = ch.load("panda")
    >>> loaded = arm.with_payload(1.0, [0.0, 0.0, 0.1])
    >>> online = RecursivePayload(arm)
    >>> for q, qd, qdd in np.random.default_rng(0).normal(size=(40, 3, 7)):
    ...     mass = online.update(q, qd, qdd, loaded.inverse_dynamics(q, qd, qdd))[0]
    >>> bool(abs(mass - 1.0) < 1e-3)
    True
    """

    def __init__(
        self, model: Robot, *, forgetting: float = 1.0, frame: str | None = None, deviation: float = 100.0
    ) -> None:
        self.model, self.frame = model, payload_frame(model, frame)
        self.forgetting = real(forgetting, "forgetting", above=0.0, at_most=1.0)
        self.parameters = np.zeros(10)
        self.covariance = real(deviation, "deviation", above=0.0) ** 2 * np.eye(10)

    @cached_property
    def law(self) -> Function:
        """Compiled step of the recursion."""
        robot, own, n = self.model, self.forgetting, self.model.n
        columns, to_link = placement(robot, self.frame)

        @function(
            estimate=(10,), P=(10, 10), q=(robot.nq,), qd=(n,), qdd=(n,), tau=(n,), outputs=["next_estimate", "next_P"]
        )
        def recursive_payload(estimate: Any, P: Any, q: Any, qd: Any, qdd: Any, tau: Any) -> Any:
            W = robot.regressors.torque(q, qd, qdd)[:, columns] @ to_link
            y = tau - robot.inverse_dynamics(q, qd, qdd)
            fitted = Fitted(estimate, P)
            for joint in range(n):
                forgetting = own if joint == 0 else 1.0
                fitted = recursive_least_squares(*fitted, W[joint], y[joint], forgetting=forgetting)
            return fitted

        return recursive_payload

    def update(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, effort: ArrayLike) -> FloatArray:
        """Update the estimate with one sample; return the ten parameters (see `Payload`), shape (10,)."""
        n = self.model.n
        sample = [reals(x, name, (n,)) for name, x in (("q", q), ("qd", qd), ("qdd", qdd), ("effort", effort))]
        self.parameters, self.covariance = map(np.asarray, self.law(self.parameters, self.covariance, *sample))
        return self.parameters
