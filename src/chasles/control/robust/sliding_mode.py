"""Sliding-mode control with a boundary layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.control.adaptive.unknowns import Unknowns
from chasles.control.floating_base import NONLINEAR_IN_PARAMETERS
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController, gains
from chasles.control.sliding_variable import friction_moved, sliding
from chasles.engine import absolute, clip
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, reals
from chasles.robot.robot import Robot


class SlidingMode(RobotController):
    """tau = M qdd_r + C qd_r + g + friction - k sat(s / layer), k = |Y| uncertainty + disturbance + reaching.

    With e = q_ref - q: qd_r = qd_ref + rate e and s = qd - qd_r. The gain k exceeds the model's torque error if every
    parameter error is within ``uncertainty`` and no unmodelled torque exceeds ``disturbance``. Then V = sᵀ M s / 2
    falls outside the layer, V' <= -reaching |s|₁, so s arrives within sqrt(2 V(0) largest eigenvalue of M) / reaching
    seconds. Within |s| <= layer the errors end below layer / rate.

    Source: Slotine and Li, Applied Nonlinear Control (1991), chapter 7, Sliding Control, with M ṡ in place of ṡ, as in
    their chapter 9 on the adaptive control of robots. It requires a model and bounds on its errors.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    rate
        1/s, a scalar or one value per joint.
    reaching
        Torque in excess of the uncertainty, N·m (N), a scalar or one value per joint.
    layer
        Half width of the layer in s, rad/s (m/s), a scalar or one value per joint. To avoid chattering of a joint of
        inertia J, choose it wider than k period / J.
    uncertainty
        Bounds on the errors of the uncertain parameters, a scalar or one value per parameter.
    uncertain
        Uncertain parameters: ``"base"``, ``"all"``, ``"payload"`` or names; see `chasles.control.adaptive.unknowns`.
    disturbance
        Bound on all other unmodelled torques, N·m (N), a scalar or one value per joint.

    Examples
    --------
    A payload of up to 2 kg at the tool's origin:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> controller = ch.control.SlidingMode(
    ...     arm, rate=20.0, reaching=5.0, layer=0.2, uncertain="payload", uncertainty=[2.0] + 9 * [0.0]
    ... )
    """

    name = "sliding mode"
    kind = "sliding-mode"
    is_linear = False
    rate: Array
    reaching: Array
    layer: Array
    uncertainty: Array
    disturbance: Array
    bounds: Mapping[str, Bound] = {
        **RobotController.bounds,
        "layer": POSITIVE,
        "uncertainty": NOT_NEGATIVE,
        "disturbance": NOT_NEGATIVE,
    }
    refuses_free_joints = NONLINEAR_IN_PARAMETERS

    def __init__(
        self,
        robot: Robot,
        *,
        rate: ArrayLike,
        reaching: ArrayLike,
        layer: ArrayLike,
        uncertainty: ArrayLike = 0.0,
        uncertain: str | Sequence[str] = "base",
        disturbance: ArrayLike = 0.0,
    ) -> None:
        self.unknowns = Unknowns.of(robot, uncertain)
        own = gains(robot.n, rate=rate, reaching=reaching)
        own["layer"] = reals(layer, "layer", (robot.n,), broadcast=True)
        own |= gains(len(self.unknowns), uncertainty=uncertainty) | gains(robot.n, disturbance=disturbance)
        super().__init__(robot, own)

    @classmethod
    def gains(
        cls,
        design: PoleDesign,
        *,
        uncertainty_share: float = 0.2,
        disturbance_share: float = 1.0,
        uncertain: str | Sequence[str] = "base",
    ) -> dict[str, Any]:
        """Return gains by `sliding_gains`: the layer is as narrow as held torques allow."""
        return sliding_gains(design, uncertainty_share, disturbance_share, uncertain)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the uncertain parameters."""
        return self.unknowns.names

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        s, qd_reference, qdd_reference = sliding(self.robot, now.q, now.qd, now.reference, self.rate)
        tau, Y = self.unknowns.torque(now.q, now.qd, qd_reference, qdd_reference, self.unknowns.values)
        tau = tau + friction_moved(self.robot, now.q, now.qd, now.reference, self.rate)
        k = absolute(Y) @ self.uncertainty + self.disturbance + self.reaching
        return tau - k * clip(s / self.layer, -1.0, 1.0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, {len(self.unknowns)} uncertain parameters)"


_REACHING = 0.1  # of the peak torque


def sliding_gains(
    design: PoleDesign, uncertainty: float = 0.2, disturbance: float = 1.0, uncertain: str | Sequence[str] = "base"
) -> dict[str, Any]:
    """Return rate, reaching torque, layer and bounds of `SlidingMode`.

    Within the layer the law damps s by k / layer. The sample period limits this damping to ω J, for the designed
    frequency and each joint's mean inertia; the layer is therefore the largest k along the motion divided by ω J.

    Parameters
    ----------
    design
        Poles, model, motion and period.
    uncertainty
        Relative error of the uncertain parameters.
    disturbance
        Bound on other unmodelled torques, as a fraction of each joint's peak torque in the planned motion.
    uncertain
        Uncertain parameters, as `SlidingMode` takes them.
    """
    planned, unknowns = design.motion(design.times), Unknowns.of(design.model, uncertain)
    peak = design.peak_torque
    bounds = {
        "uncertainty": uncertainty * np.abs(unknowns.values),
        "disturbance": disturbance * peak,
        "reaching": _REACHING * peak,
    }
    Y = design.model.regressors.passivity(planned.q, planned.qd, planned.qd, planned.qdd)[..., unknowns.columns]
    Y = Y if unknowns.to_columns is None else Y @ unknowns.to_columns
    k = (np.abs(Y) @ bounds["uncertainty"]).max(axis=0) + bounds["disturbance"] + bounds["reaching"]
    layer = k / (design.attainable_alone * design.inertia)
    return {"rate": design.attainable, "layer": layer, "uncertain": uncertain, **bounds}
