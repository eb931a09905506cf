"""What acts on a plant from outside: external wrenches, contacts, and the prescribed motion of its base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chasles.base.cached import cached_property
from chasles.engine.program.records import Record
from chasles.engine.program.scalar import Array, Real
from chasles.robot.robot import Robot
from chasles.simulation.plant.base_motion import PATH_SIZE, BaseState
from chasles.simulation.plant.numbers import PlantNumbers, Values
from chasles.simulation.plant.payloads import PickedPayload
from chasles.simulation.plant.plant import Plant
from chasles.simulation.plant.velocity_parts import VelocityParts
from chasles.simulation.plant.wrenches import ExternalWrench


class Instant(NamedTuple):
    """Time and external conditions of the plant at one evaluation of its equations.

    Attributes
    ----------
    t
        Time, s.
    clock
        Time inside the present step, s, that decides which payloads are carried: they change between steps only.
    wrenches
        Sampled external wrenches, (w, 6), in the order of `Environment.sampled_wrenches`.
    base
        State of a moving base; None for a base at rest.
    """

    t: Real
    clock: Real
    wrenches: Any
    base: BaseState | None


class Acting(NamedTuple):
    """Wrench of the environment on a frame, in the frame's and in world axes, with the frame's pose and twist."""

    frame: str
    own: Any
    world: Any
    T_world_frame: Array
    twist: Array


@dataclass(frozen=True, eq=False)
class Environment:
    """External wrenches, contacts and base motion of a plant, as plain arithmetic that can be traced.

    Attributes
    ----------
    plant
        Plant on which they act.
    tree
        Its robot with payloads, and with loops cut open.
    joints
        Velocities of all joints in the state's parts.
    numbers
        Parameters of the effects.
    """

    plant: Plant
    tree: Robot
    joints: VelocityParts
    numbers: PlantNumbers

    @cached_property
    def sampled_wrenches(self) -> tuple[str, ...]:
        """Names of the external wrenches that are evaluated before the simulation."""
        return tuple(name for name, wrench in self.plant.wrenches.items() if wrench.sampled)

    @cached_property
    def floating(self) -> Robot | None:
        """Robot on a free joint, if its base moves; loops are cut open."""
        return None if self.plant.base is None else Robot(self.plant.base.floating(self.tree.description))

    @cached_property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of each period's inputs that are evaluated beforehand: wrenches at both ends, path of the base."""
        path = (0 if self.plant.base is None else PATH_SIZE,)
        return {"wrenches": (2, len(self.sampled_wrenches), 6), "base": path}

    def instant(self, t: Real, offset: Real, period: float, outside: Any, clock: Real) -> Instant:
        """Return the conditions at an offset (s) after a call at t; sampled wrenches are interpolated linearly."""
        share = offset / period
        wrenches = (1.0 - share) * outside.wrenches[0] + share * outside.wrenches[1]
        base = None if self.plant.base is None else self.plant.base.state(outside.base, share, period)
        return Instant(t + offset, clock, wrenches, base)

    def acting(self, x: Record, instant: Instant, values: Values) -> dict[str, Acting]:
        """Return the external wrenches and those of contacts, by name."""
        acting: dict[str, Acting] = {}
        for name, wrench in self.plant.wrenches.items():
            given = self._given_wrench(name, instant, values)
            T, twist = self.motion(wrench.frame, x, instant)
            of_frame, world = (
                (given, rotated(T, given)) if wrench.axes == "frame" else (rotated(T, given, back=True), given)
            )
            acting[name] = Acting(wrench.frame, of_frame, world, T, twist)
        for name, contact in self.plant.contacts.items():
            T, twist = self.motion(contact.frame, x, instant)
            world = contact.wrench(T, twist, self.numbers.of(name, values))
            acting[name] = Acting(contact.frame, rotated(T, world, back=True), world, T, twist)
        return acting

    def switch_times(self, values: Values) -> list[Any]:
        """Return the times at which payloads change and wrenches jump in one run, s."""
        changing: dict[str, PickedPayload | ExternalWrench] = {**self.plant.payloads, **self.plant.wrenches}
        times = [effect.switch_times(self.numbers.of(name, values)) for name, effect in changing.items()]
        return [time for own in times for time in own]

    def motion(self, frame: str, x: Record, instant: Instant) -> tuple[Any, Any]:
        """Return the pose of a frame, and its twist in world axes."""
        robot, q, velocities = self.with_base(x, instant)
        T, J = robot.pose_and_jacobian.specialize(frame="world-aligned", target=frame)(q)
        return T, J @ velocities

    def with_base(self, x: Record, instant: Instant) -> tuple[Robot, Any, Any]:
        """Return the robot with its moving base, and positions and velocities of both; loops are cut open."""
        base, velocities = instant.base, self.joints.joined(x.qd, x.following)
        if self.floating is None or base is None:
            return self.tree, x.q, velocities
        return self.floating, np.concatenate([base.q, x.q]), np.concatenate([base.v, velocities])

    def by_frame(self, acting: Mapping[str, Acting]) -> dict[str, Any]:
        """Return the sum of the wrenches on each frame, in its axes."""
        wrenches: dict[str, Any] = {}
        for wrench in acting.values():
            frame = self.tree.description.tool if wrench.frame == "tool" else wrench.frame
            wrenches[frame] = wrenches[frame] + wrench.own if frame in wrenches else wrench.own
        return wrenches

    def _given_wrench(self, name: str, instant: Instant, values: Values) -> Any:
        wrench, numbers = self.plant.wrenches[name], self.numbers.of(name, values)
        if name not in self.sampled_wrenches:
            return wrench.at(instant.t, numbers)
        return numbers.get("scale", 1.0) * instant.wrenches[self.sampled_wrenches.index(name)]


def rotated(T_world_frame: Array, wrench: Array, *, back: bool = False) -> Array:
    """Rotate a wrench from a frame's axes to world axes, or ``back``; its point stays the same."""
    R = T_world_frame[:3, :3].T if back else T_world_frame[:3, :3]
    return np.concatenate([R @ wrench[:3], R @ wrench[3:]])
