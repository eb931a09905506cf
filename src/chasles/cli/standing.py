"""Robots of the command line that stand on the ground: feet, the ground below them, and a plant with both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.cli.values import numbers
from chasles.engine.validators import choice
from chasles.geometry.elementary import pose
from chasles.model import Frame
from chasles.robot.robot import Robot
from chasles.simulation.plant import ContactPlane, Plant

_SINK = 1e-3  # m, by which the robot's weight presses its feet into the ground
_DAMPING = 0.7  # of the robot's bouncing, as a ratio
_FRICTION, _SLIP_VELOCITY = 0.8, 0.01
_LEVEL = 5e-3  # m, by which the heights of feet may differ


@dataclass(frozen=True)
class GroundStance:
    """A robot with named points of its feet, which stand on level ground at a configuration.

    Attributes
    ----------
    robot
        Robot with a frame at each point.
    points
        Names of these frames.
    height
        Height of the ground, m.
    """

    robot: Robot
    points: tuple[str, ...]
    height: float

    @classmethod
    def of(cls, robot: Robot, texts: Sequence[str], q: NDArray[np.float64]) -> GroundStance:
        """Read feet: each the name of a frame, or ``NAME=LENGTHxWIDTH`` for the corners of a sole around its origin."""
        frames, points = [], []
        for text in texts:
            name, sole, sizes = text.partition("=")
            choice(name, "frame", [*robot.frame_names, "tool"])
            if not sole:
                points.append(name)
                continue
            extent = numbers(sizes.replace("x", " "), f"--contact {name}")
            if len(extent) != 2 or min(extent) <= 0.0:
                raise ArgumentError(f"--contact: expected NAME or NAME=LENGTHxWIDTH in metres, not '{text}'")
            corners = [(x * extent[0] / 2, y * extent[1] / 2, 0.0) for x in (-1, 1) for y in (-1, 1)]
            corner_names = [f"{name} corner {k + 1}" for k in range(4)]
            foot = robot.description.frame(name)
            frames += [
                Frame(corner, foot.link, foot.T_link_frame @ pose(np.eye(3), np.array(at)))
                for corner, at in zip(corner_names, corners, strict=True)
            ]
            points += corner_names
        if frames:
            description = robot.description
            robot = Robot(description.replace(frames=(*description.frames, *frames)))
        heights = np.array([robot.forward_kinematics(q, target=name)[2, 3] for name in points])
        if np.ptp(heights) > _LEVEL:
            above = points[int(np.argmax(heights))]
            raise ArgumentError(
                f"--contact: at the start '{above}' is {np.ptp(heights):.3g} m above the lowest foot; give --start a "
                "configuration in which all feet are level"
            )
        return cls(robot, tuple(points), float(heights.min()))

    def plant(self, robot: Robot) -> Plant:
        """Springy ground with friction under a robot, of a stiffness that carries its weight at a depth of 1 mm."""
        mass = robot.description.mass
        weight = -float(robot.description.gravity[2]) * mass
        if weight <= 0.0:
            raise ArgumentError(f"--contact: gravity does not press robot '{robot.name}' onto the ground below it")
        stiffness = weight / (_SINK * len(self.points))
        ground = {
            "point": [0.0, 0.0, self.height + _SINK],
            "normal": [0.0, 0.0, 1.0],
            "stiffness": stiffness,
            "damping": 2.0 * _DAMPING * np.sqrt(stiffness * mass / len(self.points)),
            "friction_coefficient": _FRICTION,
            "slip_velocity": _SLIP_VELOCITY,
        }
        return Plant(robot, contacts=[ContactPlane(name, name, **ground) for name in self.points])
