"""Sliding-mode control with a boundary layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.adaptive.unknowns import Unknowns
from chasles.control.floating_base import NONLINEAR_IN_PARAMETERS
from chasles.control.knowledge import Knowledge
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController, gains
from chasles.control.sliding_variable import friction_moved, sliding
from chasles.engine import absolute, sqrt, where
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, reals
from chasles.robot.robot import Robot


class SlidingMode(RobotController):
    """tau = M qdd_r + C qd_r + g + friction - gain M s / max(|s|, layer), with |s|² = sᵀ M s.

    With e = q_ref - q: qd_r = qd_ref + rate e and s = qd - qd_r. The gain is √(bᵀ |M⁻¹| b) + reaching layer for the
    bound b = |Y| uncertainty + disturbance on the model's torque errors. All joints share it through the inertia, so
    that one joint's correction does not drive another one out of its layer.

    Theorem. Let the torque errors d of the model stay within b, friction not fall with velocity, and λ be the largest
    eigenvalue of M⁻¹ M_true (1 for a model whose masses are exact). V = sᵀ M_true s / 2 falls at least at the rate
    reaching layer |s| wherever |s| > layer. Within √(2 λ V(0)) / (reaching layer) seconds s therefore arrives where
    sᵀ M_true s <= λ layer², and stays there: |s_i| <= layer √(λ (M_true⁻¹)_ii). The position error of each revolute or
    prismatic joint ends below the largest such |s_i| / rate; see `error_bound`.

    Proof. M_true s' + C_true s = d - gain M s / max(|s|, layer), and M_true' - 2 C_true is skew-symmetric, so that V' =
    sᵀ d - gain |s| outside the layer. By Cauchy and Schwarz sᵀ d <= |s| √(dᵀ M⁻¹ d) <= |s| √(bᵀ |M⁻¹| b). Friction adds
    -(qd - qd_r)ᵀ (friction(qd) - friction(qd_r)) <= 0. Where |s| <= layer, V <= λ layer² / 2. From s = -(e' + rate e)
    follows limsup |e| <= limsup |s_i| / rate.

    Torques are held between calls: the theorem holds to the extent that the layer is wide enough for gain period /
    layer to be well below 1. Torque limits must leave room for the gain.

    Source: Slotine and Li, Applied Nonlinear Control (1991), chapters 7, Sliding Control, and 9, whose V for robots
    this is; unit vector: Gutman, "Uncertain dynamical systems - a Lyapunov min-max approach" (1979), and Corless and
    Leitmann (1981) for the layer. It requires a model and bounds on its errors.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    rate
        1/s, a scalar or one value per joint.
    reaching
        1/s: outside the layer, |s| falls by at least reaching layer a second (for exact masses).
    layer
        Width of the layer in |s|, √J (√kg m/s), positive. For a joint of inertia J that moves alone it is layer / √J in
        rad/s. To avoid chattering, choose it wider than gain period.
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
    ...     arm, rate=20.0, reaching=10.0, layer=0.2, uncertain="payload", uncertainty=[2.0] + 9 * [0.0]
    ... )
    >>> controller.error_bound(arm, [[0.0, 0.5], [1.0, 1.0]]).round(4)  # rad, for the model's masses
    array([0.0086, 0.0439])
    """

    name = "sliding mode"
    kind = "sliding-mode"
    knows = Knowledge("full dynamics, bounds of its errors")
    is_linear = False
    design_damping = 1.0
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
        own = gains(robot.n, rate=rate)
        own |= {"reaching": reals(reaching, "reaching", ()), "layer": reals(layer, "layer", ())}
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
        tau = tau + friction_moved(self.robot, now.q, now.qd, now.reference, self.rate, tau)
        M, inverse = self.robot.mass_matrix(now.q), self.robot.inverse_mass_matrix(now.q)
        bound = absolute(Y) @ self.uncertainty + self.disturbance
        gain = sqrt(bound @ absolute(inverse) @ bound) + self.reaching * self.layer
        size = sqrt(s @ M @ s)
        return tau - gain / where(size > self.layer, size, self.layer) * (M @ s)

    def error_bound(self, plant: Robot, q: ArrayLike) -> NDArray[np.float64]:
        """Return the position error below which each joint ends by the theorem, (n,), rad (m).

        Parameters
        ----------
        plant
            Robot with the true masses.
        q
            Configurations along the motion, (..., nq); the largest bound of all of them counts.

        Raises
        ------
        ArgumentError
            A joint has the rate 0, so that its position error need not fall.
        """
        POSITIVE.check(self.rate, "rate")
        configurations = reals(q, "q", (..., self.robot.nq)).reshape(-1, self.robot.nq)
        true = plant.mass_matrix(configurations)
        heavier = np.linalg.eigvals(np.linalg.solve(self.robot.mass_matrix(configurations), true)).real.max()
        mobility = np.diagonal(np.linalg.inv(true), axis1=-2, axis2=-1).max(axis=0)
        return np.asarray(self.layer * np.sqrt(heavier * mobility) / self.rate)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, {len(self.unknowns)} uncertain parameters)"


#: Share of the planned torques by which the gain exceeds the bound: costs little and arrives in ten times 1 / w.
_REACHING = 0.1


def sliding_gains(
    design: PoleDesign, uncertainty: float = 0.2, disturbance: float = 1.0, uncertain: str | Sequence[str] = "base"
) -> dict[str, Any]:
    """Return rate, reaching rate, layer and bounds of `SlidingMode`.

    Within the layer the law damps s in all directions at the rate gain / layer, which the sample period limits to the
    designed frequency. The layer is therefore the largest gain along the motion divided by that frequency.

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
    bounds = {"uncertainty": uncertainty * np.abs(unknowns.values), "disturbance": disturbance * design.peak_torque}
    Y = design.model.regressors.passivity(planned.q, planned.qd, planned.qd, planned.qdd)[..., unknowns.columns]
    Y = Y if unknowns.to_columns is None else Y @ unknowns.to_columns
    mobility = np.abs(np.linalg.inv(design.mass_matrices))

    def largest(torque: NDArray[np.float64]) -> float:
        return float(np.sqrt(np.einsum("...i,...ij,...j->...", torque, mobility, torque)).max())

    reaching = _REACHING * largest(design.peak_torque)
    layer = (largest(np.abs(Y) @ bounds["uncertainty"] + bounds["disturbance"]) + reaching) / design.attainable
    return {"rate": design.attainable, "reaching": reaching / layer, "layer": layer, "uncertain": uncertain, **bounds}
