"""What stands between commands and joint torques: nothing, integrators of rates, or motors and springs of a plant.

Drives have states e of their own, which are part of the state of a node, x = (p, q̇, e, s). A step needs of them how
they act while a command is held: the mean torque of the step, as far as it does not depend on the accelerations, an
inertia by which it falls with these, and the states at the end. So drives that are far faster than a step, such as a
motor's current or a stiff spring, may be taken exactly or implicitly, whatever the method does with the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]


class Beginning(NamedTuple):
    """Beginning of a step.

    Attributes
    ----------
    q, qd
        Positions of the joints, as coordinates, and velocities, (..., n).
    states
        States e of the drives, (..., count).
    command
        Command of each motor, (..., motors), held over the step.
    span
        Length of the step, s: one number, or (..., 1).
    drift
        Share σ of the step by which positions move before torques act: q⁺ = q + h q̇ + (1 - σ) h² q̈.
    """

    q: Array
    qd: Array
    states: Array
    command: Array
    span: Any
    drift: float


class Load(NamedTuple):
    """Torques on the joints over a step: ``torque`` less ``inertia`` times the accelerations, (..., n) each.

    Without an inertia it is None.
    """

    torque: Array
    inertia: Array | None = None


@dataclass(frozen=True)
class Drives:
    """Ideal drives: the torques of the joints are what is commanded.

    Other drives are subclasses. All arrays may have leading axes, and be of traced scalars.

    Attributes
    ----------
    motors
        Whether each joint has a motor, (n,).
    """

    motors: NDArray[np.bool_]

    @property
    def are_ideal(self) -> bool:
        """Whether torques on the joints are the commands, at once."""
        return True

    @property
    def delay(self) -> float:
        """Time, s, by which a command is sent before it acts: all commands here stand where they act."""
        return 0.0

    @property
    def count(self) -> int:
        """Number of states e."""
        return 0

    @property
    def by_rates(self) -> bool:
        """Whether the inputs are the rates of commands, which are states themselves."""
        return False

    @property
    def largest_commands(self) -> Floats:
        """Largest command of each joint that the drives follow, (n,), infinite where there is no limit."""
        return np.full(len(self.motors), np.inf)

    @property
    def largest_velocities(self) -> Floats:
        """Largest velocity of each joint that the drives allow, (n,)."""
        return np.full(len(self.motors), np.inf)

    @property
    def motor_count(self) -> int:
        """Number of motors."""
        return int(self.motors.sum())

    def of_motors(self, values: Array) -> Array:
        """Values of all joints (..., n), zero where there is no motor, from those of the motors."""
        return np.asarray(values @ np.eye(len(self.motors))[self.motors])

    def at_start(self, q: Array, qd: Array, holding: Array) -> Array:
        """States (..., count) at the start, where torques (..., n) hold the joints."""
        return self.along(q, qd, holding)

    def along(self, q: Array, qd: Array, tau: Array) -> Array:
        """States (..., count) that go with positions, velocities and torques (..., n) of a motion."""
        return np.zeros((*np.shape(q)[:-1], 0))

    def torque(self, begin: Beginning) -> Array:
        """Torques on the joints at an instant, (..., n)."""
        return self.of_motors(begin.command)

    def rates(self, begin: Beginning) -> Array:
        """Rates of the states at an instant, (..., count)."""
        return begin.states

    def load(self, begin: Beginning) -> Load:
        """Torques on the joints over a step."""
        return Load(self.torque(begin))

    def after(self, begin: Beginning, qdd: Array) -> Array:
        """States (..., count) after a step with accelerations (..., n)."""
        return begin.states

    def named(self, states: Array) -> dict[str, Array]:
        """States by the names under which residuals know them, (..., n) each."""
        return {}

    def measured(self, K: Floats) -> Floats:
        """What gains of the states, (..., count), add to those of positions and velocities, (..., 2n).

        A law measures these alone, and takes it that the drives follow them.
        """
        return np.zeros((*K.shape[:-1], 2 * len(self.motors)))


@dataclass(frozen=True)
class DrivesByRates(Drives):
    """Drives whose commands are states: their rates r are the inputs, and a step ends with τ⁺ = τ + h r.

    Attributes
    ----------
    driven
        The drives that are given these commands.
    """

    driven: Drives

    @property
    def are_ideal(self) -> bool:
        """Whether torques on the joints are the commands, at once."""
        return self.driven.are_ideal

    @property
    def delay(self) -> float:
        """Delay of the drives behind, s."""
        return self.driven.delay

    @property
    def count(self) -> int:
        """Number of states: commands, and those of the drives behind."""
        return self.motor_count + self.driven.count

    @property
    def by_rates(self) -> bool:
        """Whether the inputs are the rates of commands: yes."""
        return True

    @property
    def largest_commands(self) -> Floats:
        """Largest commands of the drives behind."""
        return self.driven.largest_commands

    @property
    def largest_velocities(self) -> Floats:
        """Largest velocities of the drives behind."""
        return self.driven.largest_velocities

    def _behind(self, begin: Beginning) -> Beginning:
        command, states = begin.states[..., : self.motor_count], begin.states[..., self.motor_count :]
        return begin._replace(states=states, command=command)

    def at_start(self, q: Array, qd: Array, holding: Array) -> Array:
        """Commands that hold the joints, and the states behind."""
        return np.concatenate([holding[..., self.motors], self.driven.at_start(q, qd, holding)], axis=-1)

    def along(self, q: Array, qd: Array, tau: Array) -> Array:
        """Torques of the motion as commands, and the states behind."""
        return np.concatenate([tau[..., self.motors], self.driven.along(q, qd, tau)], axis=-1)

    def torque(self, begin: Beginning) -> Array:
        """Torques on the joints at an instant, (..., n)."""
        return self.driven.torque(self._behind(begin))

    def rates(self, begin: Beginning) -> Array:
        """Rates of the states at an instant."""
        return np.concatenate([begin.command, self.driven.rates(self._behind(begin))], axis=-1)

    def load(self, begin: Beginning) -> Load:
        """Torques on the joints over a step."""
        return self.driven.load(self._behind(begin))

    def after(self, begin: Beginning, qdd: Array) -> Array:
        """States after a step."""
        behind = self._behind(begin)
        return np.concatenate([behind.command + begin.span * begin.command, self.driven.after(behind, qdd)], axis=-1)

    def named(self, states: Array) -> dict[str, Array]:
        """States of the drives behind by name."""
        return self.driven.named(states[..., self.motor_count :])

    def measured(self, K: Floats) -> Floats:
        """No gains: a law measures no commands, so these are NaN."""
        return np.full((*K.shape[:-1], 2 * len(self.motors)), np.nan)


@dataclass(frozen=True)
class DrivenRobot:
    """A plant as optimal control sees it.

    Attributes
    ----------
    robot
        Robot with all that it carries.
    drives
        Function that returns the drives of the joints that have motors, (n,).
    keep
        Residuals that must not be negative.
    """

    robot: Robot
    drives: Callable[[NDArray[np.bool_]], Drives] = Drives
    keep: Sequence[Any] = ()


@runtime_checkable
class Drivable(Protocol):
    """A plant: a robot with drives and other effects, such as `chasles.Plant`."""

    def driven(self, duration: float) -> DrivenRobot:
        """Return the plant as optimal control sees it over a duration, s.

        Raises
        ------
        ArgumentError
            It has an effect that no smooth program has.
        """
        ...


#: Names under which residuals know states of drives, and what a plant needs to have them.
STATES: Mapping[str, str] = {
    "current": "motors whose currents do not follow at once",
    "motor_position": "elastic joints",
    "motor_velocity": "elastic joints",
}
