"""The plant: a robot with the effects that distinguish it from rigid bodies under ideal torques."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.base.sealed import Sealed
from chasles.control.optimal.drives import DrivenRobot
from chasles.control.optimal.parameters import Parameters
from chasles.control.optimal.residuals import Residual
from chasles.engine.program.scalar import Array
from chasles.engine.validators import real, truth
from chasles.robot.robot import Robot
from chasles.simulation.plant.base_motion import BaseMotion
from chasles.simulation.plant.contacts import ContactPlane
from chasles.simulation.plant.driven import (
    PlantDrives,
    constant_wrenches,
    largest_commands,
    refuse,
    require_smooth_friction,
    voltage_reserve,
    with_payloads,
    without_limits,
)
from chasles.simulation.plant.effect import Effect
from chasles.simulation.plant.elastic_joints import ElasticJoints
from chasles.simulation.plant.friction import Friction
from chasles.simulation.plant.motors import Motors
from chasles.simulation.plant.payloads import PickedPayload
from chasles.simulation.plant.sensors import Sensors
from chasles.simulation.plant.timing_faults import TimingFaults
from chasles.simulation.plant.wrenches import ExternalWrench


class Plant(Sealed):
    """System under control: a robot with optional effects.

    The robot obeys the equation of motion of rigid bodies (see `Robot`). A plant without effects behaves like its
    robot, and `chasles.simulate` takes either. Every value of an effect can be varied from run to run, under the name
    that `parameters` lists.

    Parameters
    ----------
    robot
        Links and joints, with the payload, friction and motor inertia of the robot's description.
    friction
        Joint friction, added to the robot's own. With elastic joints it acts on the motor side.
    motors
        Motors, gears and drives between commanded and actual joint torques; default ideal torques.
    elastic_joints
        Springs between motors and joints; default rigid joints. Rotor inertias of `motors` then act on the motor side.
    payloads
        Bodies that are picked up and put down during the motion.
    wrenches
        External wrenches as functions of time.
    contacts
        Planes of the environment that frames of the robot touch.
    sensors
        Sensors of the controller; default ideal measurements.
    base
        Prescribed motion of the robot's base; default at rest.
    delay
        Delay from a call of the control law to the effect of its torque, s, for computation and transmission: a
        fraction of a period or several. The first torque acts from the start, as if the law had been running before.
    timing
        Jitter and lost samples between law and drives; default none.
    effort_limits
        Whether the torques of the law are limited to the effort limits of the robot's description; a limit of 0 is
        ignored.
    velocity_limits
        Whether the drives stop accelerating a joint at the velocity limits of the description. Loads, and the remainder
        of a period, may still carry a joint beyond. A limit of 0 is ignored.

    Raises
    ------
    ArgumentError
        An effect has the wrong type or number of joints, or two effects have the same name.
    UnknownNameError
        An effect acts on a frame that the robot does not have.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> plant = ch.Plant(arm, friction=ch.Friction(arm, coulomb=[2.0, 0.5], viscous=0.1))
    >>> plant
    <Plant 'planar2r': friction>
    >>> plant.parameters["friction.coulomb"]
    (2,)
    """

    def __init__(
        self,
        robot: Robot,
        *,
        friction: Friction | None = None,
        motors: Motors | None = None,
        elastic_joints: ElasticJoints | None = None,
        payloads: Iterable[PickedPayload] = (),
        wrenches: Iterable[ExternalWrench] = (),
        contacts: Iterable[ContactPlane] = (),
        sensors: Sensors | None = None,
        base: BaseMotion | None = None,
        delay: float = 0.0,
        timing: TimingFaults | None = None,
        effort_limits: bool = True,
        velocity_limits: bool = False,
    ) -> None:
        if not isinstance(robot, Robot):
            raise ArgumentError(f"robot must be a Robot, not {robot!r}")
        self.robot = robot
        self.friction = _of_kind(friction, Friction, "friction")
        self.motors = _of_kind(motors, Motors, "motors")
        self.elastic_joints = _of_kind(elastic_joints, ElasticJoints, "elastic_joints")
        self.sensors = _of_kind(sensors, Sensors, "sensors")
        self.payloads: Mapping[str, PickedPayload] = _by_name(payloads, PickedPayload, "payloads")
        self.wrenches: Mapping[str, ExternalWrench] = _by_name(wrenches, ExternalWrench, "wrenches")
        self.contacts: Mapping[str, ContactPlane] = _by_name(contacts, ContactPlane, "contacts")
        self.base = _of_kind(base, BaseMotion, "base")
        self.timing = _of_kind(timing, TimingFaults, "timing")
        self.delay = real(delay, "delay", at_least=0.0)
        self.effort_limits = truth(effort_limits, "effort_limits")
        self.velocity_limits = truth(velocity_limits, "velocity_limits")
        self._require_fitting_effects()
        self._require_drives_of_joints()

    def _require_fitting_effects(self) -> None:
        """Raise if an effect does not fit the robot's joints or frames, or another effect."""
        robot = self.robot
        for name, effect in self.effects.items():
            if effect.n not in (None, robot.n):
                raise ArgumentError(f"{name} is made for {effect.n} joints, but robot '{robot.name}' has {robot.n}")
            if effect.frame not in ("tool", *robot.frame_names):
                raise UnknownNameError(f"frame for {name}", effect.frame, robot.frame_names)
        if self.sensors is not None and self.sensors.side != "link" and self.elastic_joints is None:
            raise ArgumentError(
                f"sensors with side='{self.sensors.side}' need elastic_joints: a rigid joint has one side only"
            )
        unsupported = [
            *(("friction", "sensors") if self.joint_coordinates is None else ()),
            *(("motors", "elastic_joints") if self.driven_joints is None else ()),
        ]
        for name in unsupported:
            if name in self.effects:
                raise ArgumentError(
                    f"robot '{robot.name}' has joints with several degrees of freedom, which {name} do not support"
                )

    def _require_drives_of_joints(self) -> None:
        """Raise if motors or elastic joints are given for motors that drive several joints, or a dependent one."""
        if self.motors is None and self.elastic_joints is None:
            return
        description = self.robot.description
        if description.has_coupled_drives:
            raise ArgumentError(
                f"motors and elastic_joints act on one joint each, but robot '{self.name}' has coupled drives "
                "(drive_coupling): its description has their rotors and friction; leave the effects out"
            )
        elsewhere = set(description.actuated_indices) - set(description.independent_indices)
        if elsewhere:
            names = [description.joint_velocity_names[index] for index in sorted(elsewhere)]
            raise ArgumentError(
                f"motors and elastic_joints act on independent joints, but robot '{self.name}' has motors at "
                f"{', '.join(names)}; choose independent velocities at all of its motors"
            )

    @cached_property
    def joint_coordinates(self) -> list[int] | None:
        """Index in q of the coordinate that belongs to each velocity; None with quaternions.

        With loops the velocities are those of the independent joints, on which friction, motors and sensors act.
        """
        description = self.robot.description
        coordinates = [description.coordinate_of_velocity[index] for index in description.independent_indices]
        known = [place for place in coordinates if place is not None]
        return known if len(known) == len(coordinates) else None

    @cached_property
    def driven_joints(self) -> tuple[str, ...] | None:
        """Name of the joint that belongs to each velocity; None if one has several degrees of freedom."""
        description = self.robot.description
        names = {description.starts[joint.name][1]: joint.name for joint in description.coordinates}
        single = [
            names[index]
            for index in description.independent_indices
            if index in names and len(description.joint(names[index]).velocity_names) == 1
        ]
        return tuple(single) if len(single) == self.robot.n else None

    def joint_positions(self, q: Array) -> Array:
        """Return the positions (..., n) that belong to the velocities, from configurations (..., nq)."""
        coordinates = self.joint_coordinates
        return q if coordinates is None or self.robot.nq == self.robot.n else q[..., coordinates]

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.robot.name

    @property
    def n(self) -> int:
        """Number of joint velocities and torques."""
        return self.robot.n

    @cached_property
    def effects(self) -> Mapping[str, Effect]:
        """Effects by the prefix of their parameters' names."""
        single = {
            "friction": self.friction,
            "motors": self.motors,
            "elastic_joints": self.elastic_joints,
            "sensors": self.sensors,
            "base": self.base,
            "timing": self.timing,
        }
        effects = {name: effect for name, effect in single.items() if effect is not None}
        return effects | {**self.payloads, **self.wrenches, **self.contacts}

    @cached_property
    def drawn(self) -> Mapping[str, Sensors | TimingFaults]:
        """Effects with a seed of their own, by the prefix of their parameters' names."""
        drawn = {"sensors": self.sensors, "timing": self.timing}
        return {name: effect for name, effect in drawn.items() if effect is not None}

    @cached_property
    def values(self) -> Mapping[str, NDArray[np.float64]]:
        """Parameter values of all effects, by full name."""
        return {f"{name}.{key}": value for name, e in self.effects.items() for key, value in e.parameters.items()}

    @cached_property
    def parameters(self) -> Mapping[str, tuple[int, ...]]:
        """Names and shapes of the parameters of robot and effects that simulations can vary."""
        shapes = {name: value.shape for name, value in self.values.items()}
        shapes |= {f"{name}.seed": () for name, effect in self.drawn.items()}
        of_robot = self.robot.parameters
        if self.base is not None:  # its trajectory stands in place of the robot's own
            of_robot = {name: shape for name, shape in of_robot.items() if not name.startswith("base.")}
        return {**of_robot, **shapes}

    def with_drives(
        self,
        *,
        delay: float | None = None,
        effort_limits: bool | None = None,
        velocity_limits: bool | None = None,
        elastic_joints: ElasticJoints | None = None,
    ) -> Plant:
        """Return a copy with other drive settings; settings that are not given stay unchanged.

        Parameters
        ----------
        delay, effort_limits, velocity_limits, elastic_joints
            See the class.

        Examples
        --------
        >>> import chasles as ch
        >>> plant = ch.Plant(ch.load("planar2r"), delay=1e-3)
        >>> plant.with_drives(delay=2e-3).delay
        0.002
        """
        changes: dict[str, Any] = {"delay": delay, "elastic_joints": elastic_joints}
        changes |= {"effort_limits": effort_limits, "velocity_limits": velocity_limits}
        return self._changed(**{name: value for name, value in changes.items() if value is not None})

    def without_rounding(self) -> Plant:
        """Return a copy whose sensors do not round what they read."""
        return self if self.sensors is None else self._changed(sensors=self.sensors.without_rounding())

    def _changed(self, **changes: Any) -> Plant:
        own = {
            "friction": self.friction,
            "motors": self.motors,
            "elastic_joints": self.elastic_joints,
            "payloads": self.payloads.values(),
            "wrenches": self.wrenches.values(),
            "contacts": self.contacts.values(),
            "sensors": self.sensors,
            "base": self.base,
            "timing": self.timing,
            "delay": self.delay,
            "effort_limits": self.effort_limits,
            "velocity_limits": self.velocity_limits,
        }
        return Plant(self.robot, **{**own, **changes})

    def driven(self, duration: float) -> DrivenRobot:
        """Return the plant as `chasles.OptimalControl` sees it over a duration, s.

        Raises
        ------
        ArgumentError
            It has an effect that no smooth program has; the message says what to leave out.
        """
        motors, elastic, friction = self.motors, self.elastic_joints, self.friction
        backlash = elastic is not None and bool(elastic.parameters["backlash"].any())
        moving = {"base": self.base is not None, "timing": self.timing is not None}
        refuse({**moving, "contacts": self.contacts, "backlash": backlash})
        wrenches = constant_wrenches(self.wrenches, self.robot.description.tool)
        robot = with_payloads(self.robot, self.payloads, duration)
        commands, velocities = (
            np.where(is_kept & (limits > 0.0), limits, np.inf)
            for is_kept, limits in (
                (self.effort_limits, self.robot.effort_limits),
                (self.velocity_limits, self.robot.velocity_limits),
            )
        )
        if not any((motors, elastic, friction, wrenches, self.delay)) and np.isinf([commands, velocities]).all():
            return DrivenRobot(robot)
        if self.robot.nq != self.robot.n and any((motors, elastic, friction, wrenches)):
            raise ArgumentError(
                f"robot '{self.name}' has quaternions or loops, with which optimal control takes no motors, elastic "
                "joints, friction and wrenches of a plant; leave them out"
            )
        if friction is not None:
            require_smooth_friction(friction)
        rotors = np.zeros(self.n) if motors is None else motors.reflected_inertia()
        if elastic is not None:
            rotors = rotors + elastic.parameters["rotor_inertia"]
        elif rotors.any():
            robot = robot.with_values(Parameters(robot).with_inertia({}, rotors))
        keep: list[Residual] = []
        if motors is not None:
            commands = np.minimum(commands, largest_commands(motors))
            keep = voltage_reserve(motors, "qd" if elastic is None else "motor_velocity")
        servos = None if motors is None else without_limits(motors)

        limits = commands, velocities

        def drives(driven: NDArray[np.bool_]) -> PlantDrives:
            return PlantDrives(driven, self.robot, servos, elastic, rotors, friction, wrenches, *limits, self.delay)

        return DrivenRobot(robot, drives, keep)

    @property
    def is_robot(self) -> bool:
        """Whether the plant is a robot without effects."""
        return not self.effects

    @property
    def summary(self) -> str:
        """Names of the effects, with the times at which payloads are picked up and put down; empty without effects."""
        return "; ".join(
            f"{name} from {effect.parameters['pick_time']:g} s to {effect.parameters['put_time']:g} s"
            if isinstance(effect, PickedPayload)
            else name.replace("_", " ")
            for name, effect in self.effects.items()
        )

    def __repr__(self) -> str:
        return f"<Plant '{self.name}': {', '.join(self.effects) or 'no effects'}>"


def as_plant(plant: Robot | Plant) -> Plant:
    """Return a plant; a robot becomes a plant without effects.

    Raises
    ------
    ArgumentError
        `plant` is neither a Robot nor a Plant.
    """
    if isinstance(plant, Plant):
        return plant
    if isinstance(plant, Robot):
        return Plant(plant)
    raise ArgumentError(f"plant must be a Robot or a Plant, not {plant!r}")


def _of_kind(effect: object, kind: type, name: str) -> Any:
    if effect is not None and not isinstance(effect, kind):
        raise ArgumentError(f"{name} must be a {kind.__name__}, not {effect!r}")
    return effect


def _by_name(effects: Iterable[Effect], kind: type, name: str) -> dict[str, Any]:
    """Return effects of one kind by the prefix of their parameters' names."""
    listed: list[Any] = [effects] if isinstance(effects, kind) else list(effects)
    for effect in listed:
        _of_kind(effect, kind, name)
    named = {f"{name}.{effect.name.removeprefix(name + '.')}": effect for effect in listed}
    if len(named) < len(listed):
        raise ArgumentError(f"two of the {name} have the same name: {[effect.name for effect in listed]}")
    return named
