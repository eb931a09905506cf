"""The equations of motion of a plant: how its state changes, and where its energy goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from chasles.engine import Function, trace
from chasles.model import Description
from chasles.plant.payloads import PickedPayload
from chasles.plant.plant import Plant
from chasles.plant.wrenches import ExternalWrench
from chasles.robot import Robot

Values = Mapping[str, Any]


class Instant(NamedTuple):
    """What the plant feels besides its own state.

    Attributes
    ----------
    t
        Time, s.
    clock
        A time inside the present step, s, which decides what is carried: so that no step sees a payload come or go.
    sampled
        Wrenches at the time that are evaluated beforehand, (6 w,), in the order of `Equations.sampled_wrenches`.
    """

    t: Any
    clock: Any
    sampled: Any


class Acting(NamedTuple):
    """A wrench of the environment on a frame: its components in the frame's and in world axes, pose and twist."""

    frame: str
    own: Any
    world: Any
    T_world_frame: Any
    twist: Any


@dataclass(frozen=True, eq=False)
class Equations:
    """Right-hand side of a plant's equations of motion, as plain arithmetic that can be traced.

    Attributes
    ----------
    plant
        Whose motion it is.
    varied
        Names of the plant's parameters that are arguments; all others are constants.
    audit
        Whether powers are integrated along with the state.
    """

    plant: Plant
    varied: tuple[str, ...]
    audit: bool

    @cached_property
    def robot(self) -> Robot:
        """The robot with a link for each payload, and with the rotors of the motors where these do not vary."""
        description: Description = self.plant.robot.description
        for payload in self.plant.payloads.values():
            description = payload.attached(description)
        robot = Robot(description) if self.plant.payloads else self.plant.robot
        return robot if not self._has_rotors or self._rotors_vary else robot.with_values(self._rotor_values({}))

    @cached_property
    def layout(self) -> dict[str, slice]:
        """Where the parts of the state are."""
        plant, robot = self.plant, self.plant.robot
        sizes = {"q": robot.nq, "qd": robot.n}
        if plant.motors is not None and plant.motors.state_size:
            sizes["motors"] = plant.motors.state_size
        if plant.elastic_joints is not None:
            sizes["elastic_joints"] = plant.elastic_joints.state_size
        if self.audit:
            sizes["audit"] = len(self.audited)
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @cached_property
    def size(self) -> int:
        """Numbers in the state."""
        return int(max(part.stop for part in self.layout.values()))

    @cached_property
    def audited(self) -> tuple[str, ...]:
        """Names of the energies that are integrated: works of what drives the robot, losses, and electrical ones."""
        plant = self.plant
        works = ["motors", *plant.wrenches, *(["payloads"] if plant.payloads else [])]
        losses = ["robot_friction"]
        losses += [name for name in ("friction", "elastic_joints") if getattr(plant, name) is not None]
        losses += plant.contacts
        electrical = ["electrical.work", "electrical.loss"] if plant.motors is not None else []
        return (*(f"work.{name}" for name in works), *(f"loss.{name}" for name in losses), *electrical)

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """Names of the energies that the plant stores."""
        effects = [name for name in ("elastic_joints", "motors") if getattr(self.plant, name) is not None]
        return tuple(f"energy.{name}" for name in ("kinetic", "potential", *effects, *self.plant.contacts))

    @cached_property
    def sampled_wrenches(self) -> tuple[str, ...]:
        """Names of the external wrenches that are evaluated beforehand."""
        return tuple(name for name, wrench in self.plant.wrenches.items() if wrench.sampled)

    @cached_property
    def is_rigid(self) -> bool:
        """Whether it is a robot alone, whose torques are those of the controller."""
        plant = self.plant
        effects = (plant.friction, plant.motors, plant.elastic_joints, plant.payloads, plant.wrenches, plant.contacts)
        return not any(effects) and plant.base is None and not self.audit

    def numbers(self, effect: str, values: Values) -> dict[str, Any]:
        """Parameters of an effect, by the effect's own names."""
        own = self.plant.effects[effect].parameters
        return {key: values.get(f"{effect}.{key}", nominal) for key, nominal in own.items()}

    def elastic_numbers(self, values: Values) -> dict[str, Any]:
        """Parameters of the elastic joints, whose rotors have the inertia of the motors' too."""
        numbers, motors = self.numbers("elastic_joints", values), self.plant.motors
        if motors is not None:
            reflected = motors.reflected_inertia(self.numbers("motors", values))
            numbers["rotor_inertia"] = numbers["rotor_inertia"] + reflected
        return numbers

    def part(self, x: Any, name: str) -> Any:
        """A part of the state; empty where there is none."""
        return x[..., self.layout[name]] if name in self.layout else x[..., :0]

    def derivative(self, x: Any, instant: Instant, command: Any, values: Values) -> Any:
        """Rates of the state (size,) under the torques that the controller commands (n,)."""
        q, qd = self.part(x, "q"), self.part(x, "qd")
        rates = [self.rates_of_positions(q, qd)]
        if self.is_rigid:
            robot_values = self._robot_values(instant.clock, values)
            accelerations = self.robot.forward_dynamics.specialize(vary=tuple(robot_values))
            return np.concatenate([*rates, accelerations(q, qd, command, *robot_values.values())])
        acting = self.environment(x, instant, values)
        torque = self.motor_torque(x, command, values) - self.friction(x, values)
        on_joints = self._spring_torque(x, values) if self.plant.elastic_joints is not None else torque
        rates.append(self._accelerations(q, qd, on_joints, acting, instant, values))
        if "motors" in self.layout and self.plant.motors is not None:
            numbers = self.numbers("motors", values)
            rates.append(self.plant.motors.derivative(self.part(x, "motors"), self._motor_speed(x), command, numbers))
        if self.plant.elastic_joints is not None:
            numbers = self.elastic_numbers(values)
            rates.append(self.plant.elastic_joints.derivative(self.part(x, "elastic_joints"), q, qd, torque, numbers))
        if self.audit:
            rates.append(np.array(self._powers(x, command, acting, instant, values)))
        return np.concatenate(rates)

    def rates_of_positions(self, q: Any, qd: Any) -> Any:
        """Rates of the numbers of the configuration, of which there may be more than velocities."""
        robot = self.plant.robot
        return qd if robot.nq == robot.n else robot.configuration_rate(q, qd)

    def with_new_rates(self, dx: Any, x: Any, x_next: Any) -> Any:
        """The derivative with the rates of all positions at the velocities of another state."""
        rates = [self.rates_of_positions(self.part(x, "q"), self.part(x_next, "qd")), dx[self.layout["qd"].start :]]
        whole = np.concatenate(rates)
        if self.plant.elastic_joints is None:
            return whole
        start, n = self.layout["elastic_joints"].start, self.plant.n
        return np.concatenate([whole[:start], x_next[start + n : start + 2 * n], whole[start + n :]])

    def normalized(self, x: Any) -> Any:
        """The state with unit quaternions, where its configuration has some."""
        robot = self.plant.robot
        if robot.nq == robot.n:
            return x
        return np.concatenate([robot.normalize(self.part(x, "q")), x[self.layout["qd"].start :]])

    def motor_torque(self, x: Any, command: Any, values: Values) -> Any:
        """Torques (n,) of the motors on the joints, or on the motors' side of elastic ones."""
        if self.plant.motors is None:
            return command
        numbers = self.numbers("motors", values)
        return self.plant.motors.torque(self.part(x, "motors"), self._motor_speed(x), command, numbers)

    def motor_current(self, x: Any, command: Any, values: Values) -> Any:
        """Currents (n,) of the motors, A."""
        assert self.plant.motors is not None
        numbers = self.numbers("motors", values)
        return self.plant.motors.current(self.part(x, "motors"), self._motor_speed(x), command, numbers)

    def friction(self, x: Any, values: Values) -> Any:
        """Torques (n,) of the friction effect, in the direction of motion."""
        if self.plant.friction is None:
            return np.zeros(self.plant.n)
        return self.plant.friction.torque(
            self._motor_position(x), self._motor_speed(x), self.numbers("friction", values)
        )

    def environment(self, x: Any, instant: Instant, values: Values) -> dict[str, Acting]:
        """Wrenches of contacts and from outside, by name."""
        acting: dict[str, Acting] = {}
        q, qd = self.part(x, "q"), self.part(x, "qd")
        for name, wrench in self.plant.wrenches.items():
            given = self._given_wrench(name, instant, values)
            T, twist = self._motion(wrench.frame, q, qd)
            own, world = (given, turned(T, given)) if wrench.axes == "frame" else (turned(T, given, back=True), given)
            acting[name] = Acting(wrench.frame, own, world, T, twist)
        for name, contact in self.plant.contacts.items():
            T, twist = self._motion(contact.frame, q, qd)
            world = contact.wrench(T, twist, self.numbers(name, values))
            acting[name] = Acting(contact.frame, turned(T, world, back=True), world, T, twist)
        return acting

    def energies(self, x: Any, clock: Any, values: Values) -> list[Any]:
        """Stored energies, J, in the order of `stored`."""
        q, qd = self.part(x, "q"), self.part(x, "qd")
        robot_values = self._robot_values(clock, values)
        kinetic = self.robot.kinetic_energy.specialize(vary=tuple(robot_values))(q, qd, *robot_values.values())
        potential = self.robot.potential_energy.specialize(vary=tuple(robot_values))(q, *robot_values.values())
        energies = [kinetic, potential]
        if self.plant.elastic_joints is not None:
            numbers, state = self.elastic_numbers(values), self.part(x, "elastic_joints")
            energies[0] = kinetic + self.plant.elastic_joints.rotor_energy(state, numbers).sum()
            energies.append(self.plant.elastic_joints.elastic_energy(q, state, numbers).sum())
        if self.plant.motors is not None:
            currents, numbers = self.part(x, "motors"), self.numbers("motors", values)
            energies.append(self.plant.motors.magnetic_energy(currents, numbers).sum())
        for name, contact in self.plant.contacts.items():
            T, _ = self._motion(contact.frame, q, qd)
            energies.append(contact.elastic_energy(T, self.numbers(name, values)))
        return energies

    def after_events(self, x: Any, before: Any, clock: Any, values: Values) -> Any:
        """The state as a new step begins: the energy of payloads that came or went since the last goes to the audit."""
        if not (self.audit and self.plant.payloads):
            return x
        change = sum(self.energies(x, clock, values)) - sum(self.energies(x, before, values))
        place = self.layout["audit"].start + self.audited.index("work.payloads")
        return np.concatenate([x[:place], [x[place] + change], x[place + 1 :]])

    def switch_times(self, values: Values) -> list[float]:
        """Times at which payloads come and go and wrenches jump, s, for one run."""
        changing: dict[str, PickedPayload | ExternalWrench] = {**self.plant.payloads, **self.plant.wrenches}
        return [time for name, effect in changing.items() for time in effect.switch_times(self.numbers(name, values))]

    def _given_wrench(self, name: str, instant: Instant, values: Values) -> Any:
        wrench, numbers = self.plant.wrenches[name], self.numbers(name, values)
        if name not in self.sampled_wrenches:
            return wrench.at(instant.t, numbers)
        first = 6 * self.sampled_wrenches.index(name)
        return numbers.get("scale", 1.0) * instant.sampled[first : first + 6]

    def _motion(self, frame: str, q: Any, qd: Any) -> tuple[Any, Any]:
        """Pose of a frame, and its twist in world axes."""
        T, J = self.plant.robot.pose_and_jacobian.specialize(frame="world-aligned", target=frame)(q)
        return T, J @ qd

    def _accelerations(
        self, q: Any, qd: Any, tau: Any, acting: Mapping[str, Acting], instant: Instant, values: Values
    ) -> Any:
        wrenches: dict[str, Any] = {}
        for wrench in acting.values():
            frame = self.robot.description.tool if wrench.frame == "tool" else wrench.frame
            wrenches[frame] = wrenches[frame] + wrench.own if frame in wrenches else wrench.own
        robot_values = self._robot_values(instant.clock, values)
        dynamics = self.robot.forward_dynamics.specialize(vary=tuple(robot_values), wrenches=tuple(wrenches))
        return dynamics(q, qd, tau, *robot_values.values(), *wrenches.values())

    def _powers(
        self, x: Any, command: Any, acting: Mapping[str, Acting], instant: Instant, values: Values
    ) -> list[Any]:
        """Powers, W, in the order of `audited`; payloads change energy only at events."""
        plant, qd, speed = self.plant, self.part(x, "qd"), self._motor_speed(x)
        robot_values = self._robot_values(instant.clock, values)
        own_friction = self.robot.friction_torque.specialize(vary=tuple(robot_values))
        powers = {
            "work.motors": self.motor_torque(x, command, values) @ speed,
            "work.payloads": 0.0,
            "loss.robot_friction": own_friction(qd, *robot_values.values()) @ qd,
            "loss.friction": self.friction(x, values) @ speed,
        }
        powers |= {f"work.{name}": acting[name].world @ acting[name].twist for name in plant.wrenches}
        for name, contact in plant.contacts.items():
            powers[f"loss.{name}"] = contact.loss(
                acting[name].T_world_frame, acting[name].twist, self.numbers(name, values)
            )
        if plant.elastic_joints is not None:
            numbers = self.elastic_numbers(values)
            powers["loss.elastic_joints"] = plant.elastic_joints.loss(qd, self.part(x, "elastic_joints"), numbers).sum()
        if plant.motors is not None:
            electrical = (self.part(x, "motors"), speed, command, self.numbers("motors", values))
            powers["electrical.work"] = plant.motors.electrical_power(*electrical).sum()
            powers["electrical.loss"] = plant.motors.loss(*electrical).sum()
        return [powers[name] for name in self.audited]

    def _spring_torque(self, x: Any, values: Values) -> Any:
        assert self.plant.elastic_joints is not None
        numbers, state = self.elastic_numbers(values), self.part(x, "elastic_joints")
        return self.plant.elastic_joints.torque(self.part(x, "q"), self.part(x, "qd"), state, numbers)

    def _motor_position(self, x: Any) -> Any:
        joints = self.plant.elastic_joints
        return self.part(x, "q") if joints is None else joints.split(self.part(x, "elastic_joints"))[0]

    def _motor_speed(self, x: Any) -> Any:
        joints = self.plant.elastic_joints
        return self.part(x, "qd") if joints is None else joints.split(self.part(x, "elastic_joints"))[1]

    def _robot_values(self, clock: Any, values: Values) -> dict[str, Any]:
        """Parameters of the robot that are not constants."""
        own = self.plant.robot.parameters if self.varied else {}
        chosen = {name: values[name] for name in self.varied if name in own}
        for name, payload in self.plant.payloads.items():
            chosen |= payload.carried(clock, self.numbers(name, values))
        return chosen | self._rotor_values(values) if self._has_rotors and self._rotors_vary else chosen

    @cached_property
    def _has_rotors(self) -> bool:
        """Whether motors add inertia to the joints themselves; that behind springs is of the elastic joints."""
        motors = self.plant.motors
        return (
            motors is not None
            and self.plant.elastic_joints is None
            and (bool(motors.parameters["rotor_inertia"].any()) or "motors.rotor_inertia" in self.varied)
        )

    @cached_property
    def _rotors_vary(self) -> bool:
        names = ["motors.rotor_inertia", "motors.gear_ratio"]
        names += [f"joints.{j}.{key}" for j in self.plant.robot.joint_names for key in ("motor_inertia", "gear_ratio")]
        return any(name in self.varied for name in names)

    def _rotor_values(self, values: Values) -> dict[str, Any]:
        """Motor inertias of the joints with the rotors of the motors."""
        assert self.plant.motors is not None
        reflected = self.plant.motors.reflected_inertia(self.numbers("motors", values))
        chosen = {}
        for k, name in enumerate(self.plant.robot.joint_names):
            joint = self.plant.robot.description.joint(name)
            own = values.get(f"joints.{name}.motor_inertia", joint.motor_inertia)
            ratio = values.get(f"joints.{name}.gear_ratio", joint.gear_ratio)
            chosen[f"joints.{name}.motor_inertia"] = own + reflected[k] / (ratio * ratio)
        return chosen


def turned(T_world_frame: Any, wrench: Any, *, back: bool = False) -> Any:
    """A wrench in world axes from one in a frame's axes, or ``back``; about the same point."""
    R = T_world_frame[:3, :3].T if back else T_world_frame[:3, :3]
    return np.concatenate([R @ wrench[:3], R @ wrench[3:]])


def derivative_function(equations: Equations, shapes: Mapping[str, Sequence[int]]) -> Function:
    """The right-hand side as one function: (x, t, clock, sampled, command, *values) -> rates of the state."""
    sampled = 6 * len(equations.sampled_wrenches)

    def derivative(x: Any, t: Any, clock: Any, *arguments: Any) -> Any:
        outside, (command, *values) = (arguments[0], arguments[1:]) if sampled else (np.zeros(0), arguments)
        named = dict(zip(shapes, values, strict=True))
        return equations.derivative(x, Instant(t, clock, outside), command, named)

    inputs: dict[str, tuple[int, ...]] = {"x": (equations.size,), "t": (), "clock": ()}
    inputs |= {"sampled": (sampled,)} if sampled else {}
    inputs |= {"command": (equations.plant.n,)} | {name: tuple(shape) for name, shape in shapes.items()}
    return Function(trace(derivative, inputs, name="plant_derivative", outputs=["rates"]))
