"""Natural adaptation: estimates of inertias that are at every instant those of possible bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.control.adaptive.adaptation import ContinuousLaw
from chasles.control.adaptive.tuning import DUALS, natural_gains
from chasles.control.adaptive.unknowns import Unknowns
from chasles.control.floating_base import NONLINEAR_IN_PARAMETERS
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import gains
from chasles.control.sliding_variable import friction_moved
from chasles.engine.program.scalar import Array
from chasles.engine.validators import reals
from chasles.geometry import inertial_parameters_from_pseudo_inertia, pseudo_inertia_from_inertial_parameters
from chasles.model.inertial_parameters import OF_BODY
from chasles.robot.robot import Robot


class NaturalAdaptive(ContinuousLaw):
    """tau = Y theta - Kd s, J' = -adaptation J L J for the pseudo-inertia J of every unknown body.

    Y, s and theta are those of `SlotineLi`; L is the symmetric matrix for which tr(L J) = sᵀ Y theta. J stays positive
    definite, so that the estimated masses and moments of inertia are always physical. V = sᵀ M s / 2 + the sum of D /
    adaptation never grows, with Bregman's divergence D = log(det J / det true) + tr(J⁻¹ true) - 4 between each body and
    the true one. The tracking error therefore goes to zero as with `SlotineLi`. A single gain serves parameters of all
    magnitudes and units, whatever the frames.

    Source: Lee, Kwon and Park, "A natural adaptive control law for robot manipulators", IEEE/RSJ Int. Conf. Intelligent
    Robots and Systems, 2018. It requires the same knowledge as `SlotineLi`, and friction.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    rate
        1/s, a scalar or one value per joint.
    damping
        Kd, N·m·s/rad (N·s/m), a scalar or one value per joint.
    adaptation
        1/J, a scalar or one value per unknown body.
    bodies
        ``"payload"``, or names of the links that joints move.
    initial
        Initial estimates, ten inertial parameters per body, shape (10 bodies,); default the model's.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda").with_payload(0.5, inertia=0.001 * np.eye(3))
    >>> controller = ch.control.NaturalAdaptive(arm, rate=20.0, damping=10.0, adaptation=0.1, bodies="payload")
    """

    name = "natural adaptive"
    kind = "natural-adaptive"
    is_linear = False
    rate: Array
    damping: Array
    adaptation: Array
    refuses_free_joints = NONLINEAR_IN_PARAMETERS

    def __init__(
        self,
        robot: Robot,
        *,
        rate: ArrayLike,
        damping: ArrayLike,
        adaptation: ArrayLike,
        bodies: str | Sequence[str],
        initial: ArrayLike | None = None,
    ) -> None:
        named = [bodies] if isinstance(bodies, str) else list(bodies)
        which = "payload" if bodies == "payload" else [f"{body}.{name}" for body in named for name in OF_BODY]
        self.unknowns = Unknowns.of(robot, which)
        start = reals(self.unknowns.values if initial is None else initial, "initial", (len(self.unknowns),))
        for body, J in zip(named, pseudo_inertia_from_inertial_parameters(start.reshape(-1, 10)), strict=True):
            if not np.linalg.eigvalsh(J)[0] > 1e-12 * np.trace(J):
                raise ArgumentError(
                    f"the first estimate of '{body}' is not that of a body with mass in all three directions; give "
                    "initial=, or a model with such a body (see Robot.inertial.nearest_consistent)"
                )
        own = gains(robot.n, rate=rate, damping=damping) | gains(len(named), adaptation=adaptation)
        super().__init__(robot, own, {"estimate": start})

    @classmethod
    def gains(
        cls,
        design: PoleDesign,
        *,
        learning: float = 1.0,
        bodies: str | Sequence[str] | None = None,
        payload: float | None = None,
    ) -> dict[str, Any]:
        """Return gains and initial estimates by `natural_gains` for unknown bodies and a payload, kg."""
        return natural_gains(design, learning, bodies, payload)

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements: the unknown parameters."""
        return self.unknowns.names

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the unknown parameters."""
        return self.unknowns.names

    def flow(self, now: Now) -> tuple[Any, dict[str, Any]]:
        """Return torques, and rates of change of the estimates."""
        tau, forces = self.unknowns.tracking(now, now.memory.estimate, self.rate, self.damping)
        rates = [-gain * (J @ L @ J) for J, L, gain in self._bodies(now.memory.estimate, forces)]
        return tau, {"estimate": _parameters(rates)}

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory holds the estimates.

        The step E J Eᵀ with E = 1 - period adaptation J L / 2 agrees with Euler's rule to first order, and keeps J
        positive definite for every step size.
        """
        tau, forces = self.unknowns.tracking(now, now.memory.estimate, self.rate, self.damping)
        tau = tau + friction_moved(self.robot, now.q, now.qd, now.reference, self.rate)
        following = []
        for J, L, gain in self._bodies(now.memory.estimate, forces):
            E = np.eye(4) - (0.5 * now.period * gain) * (J @ L)
            following.append(E @ J @ E.T)
        now.memory.estimate = _parameters(following)
        return tau

    def _bodies(self, estimate: Array, forces: Array) -> list[tuple[Any, Any, Any]]:
        """Pseudo-inertia J, the matrix L of what drives it, and the gain, of every body."""
        return [
            (
                pseudo_inertia_from_inertial_parameters.formula(estimate[10 * k : 10 * k + 10]),
                (forces[10 * k : 10 * k + 10] @ DUALS).reshape(4, 4),
                gain,
            )
            for k, gain in enumerate(self.adaptation)
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, {len(self.unknowns) // 10} unknown bodies)"


def _parameters(matrices: Sequence[Any]) -> Array:
    return np.concatenate([inertial_parameters_from_pseudo_inertia.formula(J) for J in matrices])
