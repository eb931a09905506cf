"""Friction at the end of a step: the accelerations that it leaves, however stiff it is.

With the friction F(q, q̇) of the joints at the velocity at which a step of length h ends, accelerations a obey

    M(q) a + c(q, q̇) = τ - F(q, q̇ + h a).

By Newton's method each next a is that of the forward dynamics with h D added to the inertias of the joints and with the
friction F + D (q̇ - v), where D are the slopes of F at v, the last velocity at the end. It begins at rest, v = 0, where
friction is steepest. As friction only flattens with speed, the velocity of a joint grows from there without passing its
end; where coupling throws it to the other side, it goes on from rest. Such a step stops a joint where an explicit one
throws it back and forth.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section IV.8, for Newton's method in a
step; Studer, Numerics of Unilateral Contacts and Friction (2009), for friction at the end of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.control.optimal.parameters import Parameters
from chasles.engine import Function, jacobian, trace, where
from chasles.engine.function import inlined
from chasles.engine.program.scalar import Array

#: Iterations: of 4,000 drawn states of each of six arms of two and seven joints, with friction of 2 to 5 N·m over 2 to
#: 50 mrad/s and steps of 20 to 50 ms, twelve leave at most 1e-6 N·m of the equation.
_ITERATIONS = 12


@dataclass(frozen=True)
class ImplicitFriction:
    """Friction of a robot's joints at the end of steps.

    Attributes
    ----------
    parameters
        The robot, and the names of its parameters whose values are arguments.
    """

    parameters: Parameters

    @property
    def obstacle(self) -> str:
        """What makes the friction of a joint depend on more than its own velocity, or nothing."""
        description = self.parameters.robot.description
        obstacles = {
            "loops": bool(description.loops),
            "motors that drive several joints": description.has_coupled_drives,
            "friction of the load": any(joint.load_friction for joint in description.joints),
        }
        return next((reason for reason, is_so in obstacles.items() if is_so), "")

    def require_separate_joints(self) -> None:
        """Raise `ArgumentError` where the friction of a joint depends on more than its own velocity."""
        if self.obstacle:
            raise ArgumentError(
                f"robot '{self.parameters.robot.name}' has {self.obstacle}: implicit friction takes joints one by one; "
                "choose integrator='leapfrog', and smooth stiff friction over a higher coulomb_velocity"
            )

    def torque(self, q: Array, qd: Array, values: Mapping[str, Array]) -> Array:
        """Torques of friction, (..., n), in the direction of motion."""
        return np.asarray(inlined(self._torque, q, qd, *values.values()))

    def slopes(self, q: Array, qd: Array, values: Mapping[str, Array]) -> Array:
        """Derivatives of each joint's friction to its own velocity, (..., n)."""
        return np.asarray(inlined(self._slopes, q, qd, *values.values()))

    @cached_property
    def _torque(self) -> Function:
        return self.parameters.robot.friction_torque.specialize(vary=self.parameters.names)

    @cached_property
    def _slopes(self) -> Function:
        by_velocity = Function(jacobian(self._torque.program, wrt="qd"))
        shapes = {each.name: each.shape for each in self._torque.program.inputs}
        return Function(
            trace(lambda *a: np.diagonal(inlined(by_velocity, *a)), shapes, name="friction_slopes", outputs=["slopes"])
        )

    def solve(
        self, q: Array, qd: Array, tau: Array, inertia: Any, span: Any, values: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """Return torques and inertias (..., n) with which the forward dynamics at (q, q̇) give the accelerations.

        Parameters
        ----------
        q, qd
            Configuration (..., nq) and velocities (..., n).
        tau
            Torques without friction, (..., n).
        inertia
            Inertias of the joints beyond the robot's own, (..., n), or 0.
        span
            Length h of the step, s.
        values
            Values of the robot's parameters.
        """
        before, v = self.torque(q, qd, values), 0.0 * qd
        for count in range(_ITERATIONS + 1):
            slopes = self.slopes(q, v, values)
            late = tau + before - self.torque(q, v, values) + slopes * (v - qd)
            more = inertia + span * slopes
            if count < _ITERATIONS:
                names = self.parameters.with_inertia(values, more)
                dynamics = self.parameters.robot.forward_dynamics.specialize(vary=tuple(names))
                ahead = qd + span * np.asarray(inlined(dynamics, q, qd, late, *names.values()))
                v = where(ahead * v < 0.0, 0.0, ahead)
        return late, more
