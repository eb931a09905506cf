"""The equations of motion of a plant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import Function
from chasles.engine.program.records import Record
from chasles.engine.program.scalar import Array
from chasles.model import Description
from chasles.robot.robot import Robot
from chasles.simulation.plant.environment import Acting, Environment, Instant
from chasles.simulation.plant.numbers import PlantNumbers, Values
from chasles.simulation.plant.plant import Plant
from chasles.simulation.plant.velocity_parts import VelocityParts, refuse_varied_loops


@dataclass(frozen=True, eq=False)
class Equations:
    """Right-hand side of a plant's equations of motion, as plain arithmetic that can be traced.

    Attributes
    ----------
    plant
        Plant whose motion is computed.
    varied
        Names of the plant's parameters that are arguments; all others are constants.
    rest_velocity
        Speed, rad/s or m/s, below which a joint counts as at rest, for integrators that need smooth friction: a
        direction of dry friction that jumps at rest becomes tanh(qd / rest_velocity). Default 0, not smoothed.
    """

    plant: Plant
    varied: tuple[str, ...]
    rest_velocity: float = 0.0

    @cached_property
    def numbers(self) -> PlantNumbers:
        """Parameters of the robot and of the effects."""
        return PlantNumbers(self.plant, self.varied, self.rest_velocity)

    @cached_property
    def environment(self) -> Environment:
        """What acts on the plant from outside."""
        return Environment(self.plant, self.tree, self.joints, self.numbers)

    @cached_property
    def robot(self) -> Robot:
        """Robot with a link per payload, and with the rotors of motors that do not vary."""
        description: Description = self.plant.robot.description
        for payload in self.plant.payloads.values():
            description = payload.attached(description)
        robot = Robot(description) if self.plant.payloads else self.plant.robot
        return robot.with_values(self.numbers.constants) if self.numbers.constants else robot

    @cached_property
    def tree(self) -> Robot:
        """Robot with its loops cut open, for what is known from the motion of all joints."""
        description = self.robot.description
        return Robot(description.replace(loops=(), independent=())) if description.loops else self.robot

    @cached_property
    def joints(self) -> VelocityParts:
        """Velocities of all joints in the state's parts."""
        refuse_varied_loops(self.plant.robot.description, self.varied)
        return VelocityParts(self.plant.robot)

    def velocities(self, x: Record) -> Array:
        """Return the velocities of all joints."""
        return self.joints.joined(x.qd, x.following)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the state's parts: joints, motor currents, motors behind elastic joints; size 0 where absent.

        The velocities of joints that loops make follow others are a part of their own.
        """
        plant, robot = self.plant, self.plant.robot
        return {
            "q": (robot.nq,),
            "qd": (robot.n,),
            "following": (len(self.joints.following),),
            "motors": (0 if plant.motors is None else plant.motors.state_size,),
            "elastic_joints": (0 if plant.elastic_joints is None else plant.elastic_joints.state_layout.size,),
        }

    @cached_property
    def is_rigid(self) -> bool:
        """Whether the plant is a robot alone, driven by the controller's torques."""
        plant = self.plant
        effects = (plant.friction, plant.motors, plant.elastic_joints, plant.payloads, plant.wrenches, plant.contacts)
        return not any(effects) and plant.base is None

    def derivative(
        self, x: Record, instant: Instant, command: Array, values: Values, *, friction_over: float = 0.0
    ) -> dict[str, Any]:
        """Return the rates of the state's parts under commanded torques (n,).

        With `friction_over` those of the velocities are the mean ones over a step of this length, s, whose joint
        friction is that at its end; see `Robot.forward_dynamics`.
        """
        rates = {"q": self.rates_of_positions(x), "motors": x.motors, "elastic_joints": x.elastic_joints}
        if self.is_rigid:
            return rates | self._accelerations(x, command, {}, instant, values, friction_over)
        motors, elastic = self.plant.motors, self.plant.elastic_joints
        torque = self.motor_torque(x, command, values) - self.friction(x, values)
        on_joints = torque
        if elastic is not None:
            numbers = self.numbers.of_elastic_joints(values)
            positions = self.plant.joint_positions(x.q)
            on_joints = elastic.torque(positions, x.qd, x.elastic_joints, numbers)
            rates["elastic_joints"] = elastic.derivative(x.elastic_joints, positions, x.qd, torque, numbers)
        if motors is not None and motors.state_size:
            rates["motors"] = motors.derivative(
                x.motors, self.motor_speed(x), command, self.numbers.of("motors", values)
            )
        acting = self.environment.acting(x, instant, values)
        return rates | self._accelerations(x, on_joints, acting, instant, values, friction_over)

    def _forward_dynamics(self, friction_over: float, **options: Any) -> Function:
        following = self.joints.following
        dynamics = self.robot.loops.constrained_accelerations if following else self.robot.forward_dynamics
        return dynamics.specialize(step=friction_over, **options)

    def rates_of_positions(self, x: Record) -> Array:
        """Return the rates of the configuration, which may have more elements than the velocities."""
        velocities = self.velocities(x)
        return velocities if self.tree.nq == self.tree.n else self.tree.configuration_rate(x.q, velocities)

    def with_new_rates(self, rates: Record, x: Record, x_next: Record) -> dict[str, Any]:
        """Return `rates` with those of all positions replaced by the ones at the velocities of `x_next`."""
        new = {**rates, "q": self.rates_of_positions(Record({**x_next, "q": x.q}))}
        joints = self.plant.elastic_joints
        if joints is not None:
            (_, speed), (_, acceleration) = joints.split(x_next.elastic_joints), joints.split(rates.elastic_joints)
            new["elastic_joints"] = joints.state_layout.join({"angle": speed, "speed": acceleration})
        return new

    def normalized(self, x: Record) -> dict[str, Any]:
        """Return the state with its quaternions, if any, normalized, and its loops closed."""
        robot = self.plant.robot
        if not self.joints.following:
            return {**x, "q": x.q if robot.nq == robot.n else robot.normalize(x.q)}
        q, velocities = robot.loops.closed_state(x.q, self.velocities(x))
        return {**x, "q": q, **self.joints.parts(velocities)}

    def motor_torque(self, x: Record, command: Array, values: Values) -> Any:
        """Return the motor torques (n,) on the joints; with elastic joints on the motor side."""
        if self.plant.motors is None:
            return command
        numbers = self.numbers.of("motors", values)
        return self.plant.motors.torque(x.motors, self.motor_speed(x), command, numbers)

    def motor_current(self, x: Record, command: Array, values: Values) -> Any:
        """Return the motor currents (n,), A."""
        assert self.plant.motors is not None
        numbers = self.numbers.of("motors", values)
        return self.plant.motors.current(x.motors, self.motor_speed(x), command, numbers)

    def friction(self, x: Record, values: Values) -> Any:
        """Return the torques (n,) of the friction effect, in the direction of motion."""
        if self.plant.friction is None:
            return np.zeros(self.plant.n)
        return self.plant.friction.torque(
            self.motor_position(x), self.motor_speed(x), self.numbers.of("friction", values)
        )

    def _accelerations(
        self,
        x: Record,
        tau: Array,
        acting: Mapping[str, Acting],
        instant: Instant,
        values: Values,
        friction_over: float,
    ) -> dict[str, Any]:
        """Return the rates of the parts of the state that are velocities, under torques (n,) on independent joints."""
        wrenches = self.environment.by_frame(acting)
        robot_values = self.numbers.of_robot(instant.clock, values)
        forces = self.joints.joined(tau, np.zeros(len(self.joints.following)))
        if self.environment.floating is not None:
            if friction_over:
                raise ArgumentError("'implicit-friction-euler' simulates no moving base: choose another integrator")
            # M qdd = tau - what the joints need for the base's motion alone.
            still = np.zeros(self.tree.n)
            needed = self.inverse_dynamics(x, still, wrenches, instant, values)[6:]
            if not self.joints.following:
                inverse = self.robot.inverse_mass_matrix.specialize(vary=tuple(robot_values))
                accelerating = self.transmitted(x, tau, robot_values) - self.transmitted(x, needed, robot_values)
                return self.joints.parts(inverse(x.q, *robot_values.values()) @ accelerating)
            if self.has_load_friction(robot_values):
                raise ArgumentError(
                    "load_friction beside joints that follow others is not simulated on a moving base: set it to 0"
                )
            alone = self.tree.inverse_dynamics.specialize(vary=tuple(robot_values))
            forces = forces - needed + alone(x.q, self.velocities(x), still, *robot_values.values())
            wrenches = {}
        dynamics = self._forward_dynamics(friction_over, vary=tuple(robot_values), wrenches=tuple(wrenches))
        given = (x.q, self.velocities(x), forces, *robot_values.values(), *wrenches.values())
        return self.joints.parts(dynamics(*given))

    def has_load_friction(self, names: Iterable[str]) -> bool:
        """Whether friction depends on what joints transmit, by the description or by a parameter that varies."""
        of_joints = any(joint.load_friction for joint in self.robot.description.joints)
        return of_joints or any(name.endswith(".load_friction") for name in names)

    def transmitted(self, x: Record, tau: Array, robot_values: Mapping[str, Any]) -> Any:
        """Return what joints transmit of the torques on all of them, beyond friction of the load, if there is any."""
        if not self.has_load_friction(robot_values):
            return tau
        transmitted = self.tree.transmitted_torque.specialize(vary=tuple(robot_values))
        return transmitted(x.q, self.velocities(x), tau, *robot_values.values())

    def inverse_dynamics(
        self, x: Record, accelerations: Array, wrenches: Mapping[str, Any], instant: Instant, values: Values
    ) -> Any:
        """Return the wrench on a moving base, about its origin in its axes, and the torques of all joints."""
        robot_values = self.numbers.of_robot(instant.clock, values)
        robot, q, velocities = self.environment.with_base(x, instant)
        rates = accelerations if instant.base is None else np.concatenate([instant.base.v_dot, accelerations])
        dynamics = robot.inverse_dynamics.specialize(vary=tuple(robot_values), wrenches=tuple(wrenches))
        return dynamics(q, velocities, rates, *robot_values.values(), *wrenches.values())

    def motor_position(self, x: Record) -> Array:
        """Return the motor positions (n,) divided by the gear ratio; joint positions where joints are rigid."""
        joints = self.plant.elastic_joints
        return self.plant.joint_positions(x.q) if joints is None else joints.split(x.elastic_joints)[0]

    def motor_speed(self, x: Record) -> Any:
        """Return the motor velocities (n,) divided by the gear ratio; joint velocities where joints are rigid."""
        joints = self.plant.elastic_joints
        return x.qd if joints is None else joints.split(x.elastic_joints)[1]
