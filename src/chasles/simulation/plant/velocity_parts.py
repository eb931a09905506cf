"""Velocities of all joints of a plant's robot, in the state's parts: those of independent joints, and of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Array, traced_array
from chasles.engine.running.runner import holds_traced
from chasles.model import Description
from chasles.robot.robot import Robot


class VelocityParts:
    """How the velocities of all joints are made of the parts ``qd`` and ``following`` of a plant's state.

    With loops the independent velocities alone do not determine the motion at their dead centres. Without, all joints
    are independent, and ``following`` is empty.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    @cached_property
    def independent(self) -> list[int]:
        """Indices of the independent joint velocities."""
        return list(self._robot.description.independent_indices)

    @cached_property
    def following(self) -> list[int]:
        """Indices of the other ones."""
        return [k for k in range(len(self._robot.description.joint_velocity_names)) if k not in self.independent]

    def joined(self, independent: Array, following: Array) -> Array:
        """Values of all joints, from those of the independent and of the other ones."""
        if not self.following:
            return independent
        return np.concatenate([independent, following])[np.argsort([*self.independent, *self.following])]

    def parts(self, of_all_joints: Array) -> dict[str, Array]:
        """Parts of the state, from velocities or accelerations of all joints."""
        if not self.following:
            return {"qd": of_all_joints, "following": np.zeros(0)}
        return {"qd": of_all_joints[self.independent], "following": of_all_joints[self.following]}

    def at_start(self, q: Array, qd: Array, varied: Mapping[str, Any]) -> Array:
        """Velocities (..., k) of the joints that are not independent, from (..., nq) and (..., n).

        At a dead centre, where the independent velocities do not determine them, they are the smallest ones. Traced
        scalars are those of one sample.
        """
        if not self.following:
            return np.zeros(0)
        rows, count = list(self._robot.description.mobility.constraints), len(self.independent)
        J = np.asarray(self._robot.loops.constraints(q, vary=varied).J)[..., rows, :]
        chosen = np.broadcast_to(np.eye(J.shape[-1])[self.independent], (*J.shape[:-2], count, J.shape[-1]))
        rates = np.concatenate([J, chosen], axis=-2)
        if holds_traced([rates, qd]):
            wanted = np.concatenate([np.zeros(len(rows)), qd])
            return np.linalg.solve(traced_array(rates), traced_array(wanted))[self.following]
        inverse = np.linalg.pinv(rates, rcond=1e-9)
        velocities: Array = (inverse[..., -count:] @ qd[..., None])[..., 0]
        return velocities[..., self.following]


def refuse_varied_loops(description: Description, varied: Iterable[str]) -> None:
    """Raise ArgumentError if varied parameters move the ends of loops, which a simulation closes as described."""
    carriers = {joint.child: joint for joint in description.joints}

    def joints_below(link: str) -> set[str]:
        names = set()
        while link in carriers:
            names.add(carriers[link].name)
            link = carriers[link].parent
        return names

    owners: set[str] = set()
    for loop in description.loops:
        first, second = (joints_below(description.frame(end).link) for end in (loop.first, loop.second))
        owners |= {f"joints.{joint}" for joint in first ^ second}
        owners |= {f"frames.{end}" for end in (loop.first, loop.second)}
    for name in varied:
        owner, _, quantity = name.rpartition(".")
        if owner in owners and quantity.endswith(("position", "roll_pitch_yaw")):
            raise ArgumentError(
                f"'{name}' cannot vary in a simulation: it moves an end of a loop of robot '{description.name}', which "
                "is closed as the robot describes it; simulate one robot for each value (Robot.with_values)"
            )
