"""Adaptive control of Slotine and Li: inertial parameters are found while the robot follows its motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.control.adaptive.adaptation import ContinuousLaw, estimate_bounds, projected, projected_rate
from chasles.control.adaptive.tuning import adaptation_gains
from chasles.control.adaptive.unknowns import Unknowns
from chasles.control.floating_base import NONLINEAR_IN_PARAMETERS
from chasles.control.knowledge import Knowledge
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController, gains
from chasles.control.sliding_variable import friction_moved
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NUMBER, Bound, Relation, reals
from chasles.robot.robot import Robot


class SlotineLi(ContinuousLaw):
    """tau = Y(q, qd, qd_r, qdd_r) theta - Kd s, theta' = -Gamma Yᵀ s.

    With e = q_ref - q: qd_r = qd_ref + rate e, s = qd - qd_r, and Y theta = M qdd_r + C qd_r + g + friction evaluated
    with the estimate theta. In continuous time and within the torque limits, the energy-like V = sᵀ M s / 2 + (theta -
    true)ᵀ Gamma⁻¹ (theta - true) / 2 never grows, V' = -sᵀ Kd s, so the tracking error goes to zero whatever the true
    values of the unknown parameters are, within lower and upper. The estimates stay bounded, and converge to the true
    parameters if the motion excites all of them.

    In the sampled law, model friction is evaluated at the reference velocity qd_r instead of the measured one, where
    its compensation would be a positive feedback. This removes further energy.

    Source: Slotine and Li, "On the adaptive control of robot manipulators", Int. J. Robotics Research 6(3), 1987. It
    requires the robot's geometry and gravity; inertias and friction are learned.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    rate
        Decay rate, 1/s, a scalar or one value per joint: on s = 0 errors decay as exp(-rate t).
    damping
        Kd, N·m·s/rad (N·s/m), a scalar or one value per joint.
    adaptation
        Gamma, a scalar or one value per unknown parameter, in the parameter's unit squared per J.
    unknown
        The unknown parameters: ``"base"``, ``"all"``, ``"payload"`` or names; see `chasles.control.adaptive.unknowns`.
        All other parameters are taken from the model.
    initial
        Initial estimates, shape (m,); default the model's.
    lower, upper
        Bounds on the estimates, a scalar or one value per parameter; default unbounded.

    Attributes
    ----------
    parameter_names
        Names of the unknown parameters, whose estimates are the controller's memory.

    Examples
    --------
    The mass and first moment of the second link are unknown, as with an unknown payload:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> controller = ch.control.SlotineLi(arm, rate=20.0, damping=40.0, adaptation=5.0, unknown=["link2.m", "link2.mx"])
    >>> controller.parameter_names, controller.memory.estimate
    (('link2.m', 'link2.mx'), array([ 5.   , -0.625]))
    """

    name = "Slotine-Li"
    kind = "slotine-li"
    knows = Knowledge("geometry, gravity", learns="inertias, friction", first_values="the model's")
    is_linear = False
    design_damping = 0.65
    rate: Array
    damping: Array
    adaptation: Array
    lower: Array | None = None
    upper: Array | None = None
    bounds: Mapping[str, Bound] = {**RobotController.bounds, "lower": NUMBER, "upper": NUMBER}
    refuses_free_joints = NONLINEAR_IN_PARAMETERS

    def __init__(
        self,
        robot: Robot,
        *,
        rate: ArrayLike,
        damping: ArrayLike,
        adaptation: ArrayLike,
        unknown: str | Sequence[str] = "base",
        initial: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        self.unknowns = Unknowns.of(robot, unknown)
        count = len(self.unknowns)
        first = self.unknowns.values if initial is None else initial
        start = reals(first, "initial", (count,), broadcast=True)
        own = gains(robot.n, rate=rate, damping=damping) | gains(count, adaptation=adaptation)
        self._first = start
        self.unknown = unknown
        super().__init__(robot, own | estimate_bounds(lower, upper, count), {"estimate": start})

    def relations(self, parameters: Mapping[str, Any]) -> list[Relation]:
        """The first estimates are between their bounds."""
        lower, upper = (parameters.get(name, np.array(edge)) for name, edge in (("lower", -np.inf), ("upper", np.inf)))
        inside = (lower <= self._first) & (self._first <= upper)
        return [Relation(inside.all(axis=-1), "the first estimates are not between lower and upper")]

    @classmethod
    def gains(
        cls, design: PoleDesign, *, learning: float = 1.0, unknown: str | Sequence[str] = "base"
    ) -> dict[str, Any]:
        """Return gains by `adaptation_gains`; ``learning`` scales the adaptation gains."""
        return adaptation_gains(design, learning, unknown) | {"unknown": unknown}

    def matching_memory(self, robot: Robot) -> Mapping[str, Any]:
        """Return a robot's values of the unknown parameters."""
        return {"estimate": Unknowns.of(robot, self.unknown).values}

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the unknown parameters."""
        return self.unknowns.names

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements: the unknown parameters."""
        return self.unknowns.names

    def flow(self, now: Now) -> tuple[Any, dict[str, Any]]:
        """Return torques, and rates of change of the estimates."""
        estimate = now.memory.estimate
        tau, tracking = self.unknowns.tracking(now, estimate, self.rate, self.damping)
        return tau, {"estimate": projected_rate(estimate, -self.adaptation * tracking, self.lower, self.upper)}

    def law(self, now: Now) -> Any:
        """Return the torques of the law, with the model's friction at the reference velocity."""
        tau = super().law(now)
        tau = tau + friction_moved(self.robot, now.q, now.qd, now.reference, self.rate, tau, self.damping)
        now.memory.estimate = projected(now.memory.estimate, self.lower, self.upper)
        return tau

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, {len(self.unknowns)} unknown parameters)"
