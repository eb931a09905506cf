"""The equations of motion of a plant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import Function
from chasles.engine.program.records import Record
from chasles.engine.program.scalar import Array, Real
from chasles.model import Description
from chasles.robot.robot import Robot
from chasles.simulation.plant.base_motion import PATH_SIZE, BaseState
from chasles.simulation.plant.effect import where_positive
from chasles.simulation.plant.payloads import PickedPayload
from chasles.simulation.plant.plant import Plant
from chasles.simulation.plant.velocity_parts import VelocityParts, refuse_varied_loops
from chasles.simulation.plant.wrenches import ExternalWrench

Values = Mapping[str, Any]


class Instant(NamedTuple):
    """Time and external conditions of the plant at one evaluation of its equations.

    Attributes
    ----------
    t
        Time, s.
    clock
        Time inside the present step, s, that decides which payloads are carried: they change between steps only.
    wrenches
        Sampled external wrenches, (w, 6), in the order of `Equations.sampled_wrenches`.
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
    def robot(self) -> Robot:
        """Robot with a link per payload, and with the rotors of motors that do not vary."""
        description: Description = self.plant.robot.description
        for payload in self.plant.payloads.values():
            description = payload.attached(description)
        robot = Robot(description) if self.plant.payloads else self.plant.robot
        changed = {} if not self._has_rotors or self._rotors_vary else self._rotor_values({})
        changed |= dict.fromkeys(self._jumping, self.rest_velocity)
        return robot.with_values(changed) if changed else robot

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
    def _jumping(self) -> tuple[str, ...]:
        """Names of the smoothing velocities to replace: those of joints whose own dry friction jumps at rest."""
        description = self.plant.robot.description
        joints = {f"joints.{name}": description.joint(name) for name in description.mimics}
        return tuple(
            f"{name}.coulomb_velocity"
            for name, joint in joints.items()
            if self.rest_velocity > 0.0
            and joint.coulomb_velocity == 0.0
            and (joint.coulomb_friction > 0.0 or f"{name}.coulomb_friction" in self.varied)
        )

    def _smoothed(self, velocity: Array) -> Array:
        """Return a smoothing velocity of dry friction; zero is replaced by `rest_velocity`."""
        return velocity if self.rest_velocity == 0.0 else where_positive(velocity, velocity, self.rest_velocity)

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
    def sampled_wrenches(self) -> tuple[str, ...]:
        """Names of the external wrenches that are evaluated before the simulation."""
        return tuple(name for name, wrench in self.plant.wrenches.items() if wrench.sampled)

    @cached_property
    def floating(self) -> Robot | None:
        """Robot on a free joint, if its base moves; loops are cut open."""
        return None if self.plant.base is None else Robot(self.plant.base.floating(self.tree.description))

    @cached_property
    def outside(self) -> dict[str, tuple[int, ...]]:
        """Shapes of each period's inputs that are evaluated beforehand: wrenches at both ends, path of the base."""
        path = (0 if self.plant.base is None else PATH_SIZE,)
        return {"wrenches": (2, len(self.sampled_wrenches), 6), "base": path}

    def instant(self, t: Real, offset: Real, period: float, outside: Any, clock: Real) -> Instant:
        """Return the conditions at an offset (s) after a call at t; sampled wrenches are interpolated linearly."""
        share = offset / period
        wrenches = (1.0 - share) * outside.wrenches[0] + share * outside.wrenches[1]
        base = None if self.plant.base is None else self.plant.base.state(outside.base, share, period)
        return Instant(t + offset, clock, wrenches, base)

    @cached_property
    def is_rigid(self) -> bool:
        """Whether the plant is a robot alone, driven by the controller's torques."""
        plant = self.plant
        effects = (plant.friction, plant.motors, plant.elastic_joints, plant.payloads, plant.wrenches, plant.contacts)
        return not any(effects) and plant.base is None

    def values_of(self, effect: str, values: Values) -> dict[str, Any]:
        """Return an effect's parameters by the effect's own names."""
        own = self.plant.effects[effect]
        full = {f"{effect}.{key}": key for key in own.parameters}
        chosen = own.replaced({key: values[name] for name, key in full.items() if name in values})
        if effect == "friction":
            chosen["smoothing_velocity"] = self._smoothed(chosen["smoothing_velocity"])
        return chosen

    def elastic_values(self, values: Values) -> dict[str, Any]:
        """Return the elastic joints' parameters, with the inertia of the motors' rotors added."""
        numbers, motors = self.values_of("elastic_joints", values), self.plant.motors
        if motors is not None:
            reflected = motors.reflected_inertia(self.values_of("motors", values))
            numbers["rotor_inertia"] = numbers["rotor_inertia"] + reflected
        return numbers

    def derivative(
        self, x: Record, instant: Instant, command: Array, values: Values, *, friction_over: float = 0.0
    ) -> dict[str, Any]:
        """Return the rates of the state's parts under commanded torques (n,).

        With `friction_over` those of the velocities are the mean ones over a step of this length, s, whose joint
        friction is that at its end; see `Robot.step_accelerations`.
        """
        rates = {"q": self.rates_of_positions(x), "motors": x.motors, "elastic_joints": x.elastic_joints}
        if self.is_rigid:
            return rates | self._accelerations(x, command, {}, instant, values, friction_over)
        motors, elastic = self.plant.motors, self.plant.elastic_joints
        torque = self.motor_torque(x, command, values) - self.friction(x, values)
        on_joints = torque
        if elastic is not None:
            numbers = self.elastic_values(values)
            positions = self.plant.joint_positions(x.q)
            on_joints = elastic.torque(positions, x.qd, x.elastic_joints, numbers)
            rates["elastic_joints"] = elastic.derivative(x.elastic_joints, positions, x.qd, torque, numbers)
        if motors is not None and motors.state_size:
            rates["motors"] = motors.derivative(
                x.motors, self.motor_speed(x), command, self.values_of("motors", values)
            )
        acting = self.environment(x, instant, values)
        return rates | self._accelerations(x, on_joints, acting, instant, values, friction_over)

    def _forward_dynamics(self, friction_over: float, **options: Any) -> Function:
        if self.joints.following:
            return self.robot.loops.constrained_accelerations.specialize(step=friction_over, **options)
        if friction_over == 0.0:
            return self.robot.forward_dynamics.specialize(**options)
        return self.robot.step_accelerations.specialize(step=friction_over, **options)

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
        numbers = self.values_of("motors", values)
        return self.plant.motors.torque(x.motors, self.motor_speed(x), command, numbers)

    def motor_current(self, x: Record, command: Array, values: Values) -> Any:
        """Return the motor currents (n,), A."""
        assert self.plant.motors is not None
        numbers = self.values_of("motors", values)
        return self.plant.motors.current(x.motors, self.motor_speed(x), command, numbers)

    def friction(self, x: Record, values: Values) -> Any:
        """Return the torques (n,) of the friction effect, in the direction of motion."""
        if self.plant.friction is None:
            return np.zeros(self.plant.n)
        return self.plant.friction.torque(
            self.motor_position(x), self.motor_speed(x), self.values_of("friction", values)
        )

    def environment(self, x: Record, instant: Instant, values: Values) -> dict[str, Acting]:
        """Return the external wrenches and those of contacts, by name."""
        acting: dict[str, Acting] = {}
        for name, wrench in self.plant.wrenches.items():
            given = self._given_wrench(name, instant, values)
            T, twist = self.motion(wrench.frame, x, instant)
            own, world = (given, rotated(T, given)) if wrench.axes == "frame" else (rotated(T, given, back=True), given)
            acting[name] = Acting(wrench.frame, own, world, T, twist)
        for name, contact in self.plant.contacts.items():
            T, twist = self.motion(contact.frame, x, instant)
            world = contact.wrench(T, twist, self.values_of(name, values))
            acting[name] = Acting(contact.frame, rotated(T, world, back=True), world, T, twist)
        return acting

    def switch_times(self, values: Values) -> list[Any]:
        """Return the times at which payloads change and wrenches jump in one run, s."""
        changing: dict[str, PickedPayload | ExternalWrench] = {**self.plant.payloads, **self.plant.wrenches}
        return [time for name, effect in changing.items() for time in effect.switch_times(self.values_of(name, values))]

    def _given_wrench(self, name: str, instant: Instant, values: Values) -> Any:
        wrench, numbers = self.plant.wrenches[name], self.values_of(name, values)
        if name not in self.sampled_wrenches:
            return wrench.at(instant.t, numbers)
        return numbers.get("scale", 1.0) * instant.wrenches[self.sampled_wrenches.index(name)]

    def motion(self, frame: str, x: Record, instant: Instant) -> tuple[Any, Any]:
        """Return the pose of a frame, and its twist in world axes."""
        robot, q, velocities = self.with_base(x, instant)
        T, J = robot.pose_and_jacobian.specialize(frame="world-aligned", target=frame)(q)
        return T, J @ velocities

    def with_base(self, x: Record, instant: Instant) -> tuple[Robot, Any, Any]:
        """Return the robot with its moving base, and positions and velocities of both; loops are cut open."""
        base, velocities = instant.base, self.velocities(x)
        if self.floating is None or base is None:
            return self.tree, x.q, velocities
        return self.floating, np.concatenate([base.q, x.q]), np.concatenate([base.v, velocities])

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
        wrenches = self.by_frame(acting)
        robot_values = self.robot_values(instant.clock, values)
        forces = self.joints.joined(tau, np.zeros(len(self.joints.following)))
        if self.floating is not None:
            if friction_over:
                raise ArgumentError("'implicit-friction-euler' simulates no moving base: choose another integrator")
            # M qdd = tau - what the joints need for the base's motion alone.
            still = np.zeros(self.tree.n)
            needed = self.inverse_dynamics(x, still, wrenches, instant, values)[6:]
            if not self.joints.following:
                inverse = self.robot.inverse_mass_matrix.specialize(vary=tuple(robot_values))
                return self.joints.parts(inverse(x.q, *robot_values.values()) @ (tau - needed))
            alone = self.tree.inverse_dynamics.specialize(vary=tuple(robot_values))
            forces = forces - needed + alone(x.q, self.velocities(x), still, *robot_values.values())
            wrenches = {}
        dynamics = self._forward_dynamics(friction_over, vary=tuple(robot_values), wrenches=tuple(wrenches))
        given = (x.q, self.velocities(x), forces, *robot_values.values(), *wrenches.values())
        return self.joints.parts(dynamics(*given))

    def inverse_dynamics(
        self, x: Record, accelerations: Array, wrenches: Mapping[str, Any], instant: Instant, values: Values
    ) -> Any:
        """Return the wrench on a moving base, about its origin in its axes, and the torques of all joints."""
        robot_values = self.robot_values(instant.clock, values)
        robot, q, velocities = self.with_base(x, instant)
        rates = accelerations if instant.base is None else np.concatenate([instant.base.v_dot, accelerations])
        dynamics = robot.inverse_dynamics.specialize(vary=tuple(robot_values), wrenches=tuple(wrenches))
        return dynamics(q, velocities, rates, *robot_values.values(), *wrenches.values())

    def by_frame(self, acting: Mapping[str, Acting]) -> dict[str, Any]:
        """Return the sum of the wrenches on each frame, in its axes."""
        wrenches: dict[str, Any] = {}
        for wrench in acting.values():
            frame = self.robot.description.tool if wrench.frame == "tool" else wrench.frame
            wrenches[frame] = wrenches[frame] + wrench.own if frame in wrenches else wrench.own
        return wrenches

    def motor_position(self, x: Record) -> Array:
        """Return the motor positions (n,) divided by the gear ratio; joint positions where joints are rigid."""
        joints = self.plant.elastic_joints
        return self.plant.joint_positions(x.q) if joints is None else joints.split(x.elastic_joints)[0]

    def motor_speed(self, x: Record) -> Any:
        """Return the motor velocities (n,) divided by the gear ratio; joint velocities where joints are rigid."""
        joints = self.plant.elastic_joints
        return x.qd if joints is None else joints.split(x.elastic_joints)[1]

    def robot_values(self, clock: Real, values: Values) -> dict[str, Any]:
        """Return the parameters of the robot that are not constants."""
        own = self.plant.robot.parameters if self.varied else {}
        chosen = {name: values[name] for name in self.varied if name in own}
        for name in chosen:
            if name.endswith(".coulomb_velocity"):
                chosen[name] = self._smoothed(chosen[name])
        for name, payload in self.plant.payloads.items():
            chosen |= payload.carried(clock, self.values_of(name, values))
        return chosen | self._rotor_values(values) if self._has_rotors and self._rotors_vary else chosen

    @cached_property
    def _has_rotors(self) -> bool:
        """Whether rotors add inertia to the joints; behind springs they add it to the elastic joints instead."""
        motors = self.plant.motors
        return (
            motors is not None
            and self.plant.elastic_joints is None
            and (bool(motors.parameters["rotor_inertia"].any()) or "motors.rotor_inertia" in self.varied)
        )

    @cached_property
    def _rotors_vary(self) -> bool:
        names = ["motors.rotor_inertia", "motors.gear_ratio"]
        names += [
            f"joints.{j}.{key}" for j in self.plant.driven_joints or () for key in ("motor_inertia", "gear_ratio")
        ]
        return any(name in self.varied for name in names)

    def _rotor_values(self, values: Values) -> dict[str, Any]:
        """Return the joints' motor inertias with the rotors added."""
        assert self.plant.motors is not None
        reflected = self.plant.motors.reflected_inertia(self.values_of("motors", values))
        chosen = {}
        for k, name in enumerate(self.plant.driven_joints or ()):
            joint = self.plant.robot.description.joint(name)
            own = values.get(f"joints.{name}.motor_inertia", joint.motor_inertia)
            ratio = values.get(f"joints.{name}.gear_ratio", joint.gear_ratio)
            chosen[f"joints.{name}.motor_inertia"] = own + reflected[k] / (ratio * ratio)
        return chosen


def rotated(T_world_frame: Array, wrench: Array, *, back: bool = False) -> Array:
    """Rotate a wrench from a frame's axes to world axes, or ``back``; its point stays the same."""
    R = T_world_frame[:3, :3].T if back else T_world_frame[:3, :3]
    return np.concatenate([R @ wrench[:3], R @ wrench[3:]])
