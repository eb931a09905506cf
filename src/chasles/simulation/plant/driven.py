"""A plant's motors, springs and friction as drives of optimal control, and what of a plant has no smooth program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.optimal.drives import Beginning, Drives, Load
from chasles.control.optimal.residuals import Residual
from chasles.engine import exp
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot
from chasles.simulation.plant.elastic_joints import ElasticJoints
from chasles.simulation.plant.friction import Friction
from chasles.simulation.plant.motors import Motors
from chasles.simulation.plant.payloads import PickedPayload
from chasles.simulation.plant.wrenches import Axes, ExternalWrench

Floats = NDArray[np.float64]


class ConstantWrench(NamedTuple):
    """External wrench (m, f), (6,), on a frame of the robot, in the frame's or in world axes."""

    frame: str
    axes: Axes
    wrench: Floats


@dataclass(frozen=True, eq=False)
class PlantDrives(Drives):
    """Motors, springs and friction of a plant; its states are currents, and angles and speeds of motors behind springs.

    Over a step the command is held, and a motor has its mean speed, q̇ + h q̈ / 2. With it the current is exact,

        i(t) = i∞ + (i - i∞) exp(-t / T),

    and the torque on the joint is its mean. Of this torque back-EMF and viscous friction take d per speed, which is
    d h / 2 more inertia: with C = B + d h / 2 behind springs. Springs take the mean of begin and end. With their torque
    half way of a step without accelerations, s₀ = K (δ + h δ̇ / 2) + D δ̇ for a deflection δ, and with
    κ = (1 - σ) h² K / 2 + h D / 2, it is s₀ + κ (θ̈ - q̈). Of C θ̈ = τ - s₀ - κ (θ̈ - q̈) follows

        τ on the joint = s₀ + κ / (C + κ) (τ - s₀) - κ C / (C + κ) q̈:

    a share of the motor's inertia goes with the joint, and all of it as K grows. So none of these is too stiff for a
    step. Dry friction is that at its beginning.

    Attributes
    ----------
    nominal
        Robot whose weight the drives carry at the start.
    servos
        Motors without limits, or None.
    springs, rotor_inertia
        Elastic joints with the inertia on the motor side, (n,), kg·m², or None.
    friction
        Friction, on the motor side of springs, or None.
    wrenches
        External wrenches.
    commands, velocities, waiting
        Largest commands and velocities, (n,), and the delay; see `Drives`.
    """

    nominal: Robot
    servos: Motors | None
    springs: ElasticJoints | None
    rotor_inertia: Floats
    friction: Friction | None
    wrenches: tuple[ConstantWrench, ...]
    commands: Floats
    velocities: Floats
    waiting: float

    @property
    def are_ideal(self) -> bool:
        """Whether torques on the joints are the commands, at once."""
        return not any((self.servos, self.springs, self.friction, self.wrenches, self.waiting))

    @property
    def delay(self) -> float:
        """Time, s, by which a command is sent before it acts."""
        return self.waiting

    @property
    def _currents(self) -> int:
        return 0 if self.servos is None else self.servos.state_size

    @property
    def count(self) -> int:
        """Number of states."""
        return self._currents + (0 if self.springs is None else self.springs.state_layout.size)

    @property
    def largest_commands(self) -> Floats:
        """Largest command of each joint that the drives follow."""
        return self.commands

    @property
    def largest_velocities(self) -> Floats:
        """Largest velocity of each joint that the drives allow."""
        return self.velocities

    def at_start(self, q: Array, qd: Array, holding: Array) -> Array:
        """States as simulations begin with them: the drives carry the weight of the nominal robot."""
        return self.along(q, qd, np.asarray(self.nominal.gravity_torque(q)))

    def along(self, q: Array, qd: Array, tau: Array) -> Array:
        """States that go with a motion."""
        parts = [np.zeros((*np.shape(q)[:-1], 0))]
        if self.servos is not None and self._currents:
            parts.append(self.servos.initial_state(tau))
        if self.springs is not None:
            parts.append(self.springs.initial_state(q, qd, tau))
        return np.concatenate(parts, axis=-1)

    def named(self, states: Array) -> dict[str, Array]:
        """States by the names that records of simulations have."""
        named = {"current": states[..., : self._currents]} if self._currents else {}
        if self.springs is not None:
            named["motor_position"], named["motor_velocity"] = self.springs.split(states[..., self._currents :])
        return named

    def measured(self, K: Floats) -> Floats:
        """Gains of the motors' sides of springs, as those of positions and velocities."""
        if self.springs is None:
            return super().measured(K)
        return K[..., self._currents :]

    def _outside(self, q: Array) -> Any:
        """Torques of external wrenches on the joints, (..., n), or 0."""
        torque: Any = 0.0
        for frame, axes, wrench in self.wrenches:
            J = self.nominal.jacobian(q, frame="body" if axes == "frame" else "world-aligned", target=frame)
            torque = torque + wrench @ J
        return torque

    def _motor_side(self, begin: Beginning) -> tuple[Array, Array]:
        """Positions and velocities of the motors, divided by the gear ratio."""
        if self.springs is None:
            return begin.q, begin.qd
        return self.springs.split(begin.states[..., self._currents :])

    def _driving(self, begin: Beginning, current: Array, position: Array, speed: Array) -> Array:
        """Torques of the motors less friction."""
        command = self.of_motors(begin.command)
        torque = command if self.servos is None else self.servos.torque(current, speed, command)
        return np.asarray(torque if self.friction is None else torque - self.friction.torque(position, speed))

    def torque(self, begin: Beginning) -> Array:
        """Torques on the joints at an instant."""
        position, speed = self._motor_side(begin)
        current, behind = begin.states[..., : self._currents], begin.states[..., self._currents :]
        if self.springs is None:
            return np.asarray(self._driving(begin, current, position, speed) + self._outside(begin.q))
        return np.asarray(self.springs.torque(begin.q, begin.qd, behind) + self._outside(begin.q))

    def rates(self, begin: Beginning) -> Array:
        """Rates of the states at an instant."""
        position, speed = self._motor_side(begin)
        current, behind = begin.states[..., : self._currents], begin.states[..., self._currents :]
        parts = [current]
        if self.servos is not None and self._currents:
            parts[0] = np.asarray(self.servos.derivative(current, speed, self.of_motors(begin.command)))
        if self.springs is not None:
            torque = self._driving(begin, current, position, speed)
            values = {**self.springs.parameters, "rotor_inertia": self.rotor_inertia}
            parts.append(self.springs.derivative(behind, begin.q, begin.qd, torque, values))
        return np.concatenate(parts, axis=-1)

    @property
    def _time_constants(self) -> Floats:
        """Time constants of the currents, s; 1 of those that follow at once, which do not change."""
        assert self.servos is not None
        values = self.servos.parameters
        if self.servos.mode == "torque":
            return np.where(values["time_constant"] > 0.0, values["time_constant"], 1.0)
        return np.where(values["inductance"] > 0.0, values["inductance"] / values["resistance"], 1.0)

    @property
    def _back_emf(self) -> Floats:
        """Current that a motor loses per speed once it has settled, (n,), A·s/rad; none where drives make up for it."""
        assert self.servos is not None
        if self.servos.mode == "torque" or self.servos.compensate_back_emf:
            return np.zeros(len(self.motors))
        values = self.servos.parameters
        return np.asarray(values["back_emf_constant"] * values["gear_ratio"] / values["resistance"])

    def _settled(self, span: Any) -> tuple[Any, Any]:
        """Shares by which currents, which are states, have settled at the end of a step, and in the mean of it."""
        lag = self._time_constants
        settled = 1.0 - exp(-span / lag)
        return settled, 1.0 - settled * lag / span

    def _motor_over(self, begin: Beginning) -> tuple[Array, Any]:
        """Mean torques of the motors over a step without accelerations, less friction; and inertia C - B or d h / 2."""
        position, speed = self._motor_side(begin)
        current = begin.states[..., : self._currents]
        damping: Any = 0.0
        if self.servos is not None:
            mean: Any = 1.0
            if self._currents:
                mean = self._settled(begin.span)[1]
                current = current + mean * self._way(begin)
                mean = np.where(self._lags, mean, 1.0)
            values = self.servos.parameters
            damping = mean * values["gear_ratio"] * values["torque_constant"] * self._back_emf
        if self.friction is not None:
            damping = damping + self.friction.parameters["viscous"]
        half_way = position + 0.5 * begin.span * speed
        return self._driving(begin, current, half_way, speed), 0.5 * begin.span * damping

    @property
    def _is_damped(self) -> bool:
        """Whether torques of the motors less friction depend on speeds in proportion."""
        viscous = self.friction is not None and bool(self.friction.parameters["viscous"].any())
        return viscous or (self.servos is not None and bool(self._back_emf.any()))

    @property
    def _lags(self) -> NDArray[np.bool_]:
        """Whether each current is a state, (n,)."""
        assert self.servos is not None
        name = "time_constant" if self.servos.mode == "torque" else "inductance"
        return np.asarray(self.servos.parameters[name] > 0.0)

    def _way(self, begin: Beginning) -> Array:
        """What currents that are states have still to go at the speed at the beginning, (..., n); 0 of the others."""
        assert self.servos is not None
        current, speed = begin.states[..., : self._currents], self._motor_side(begin)[1]
        return np.asarray(self._time_constants * self.servos.derivative(current, speed, self.of_motors(begin.command)))

    def _currents_after(self, begin: Beginning, acceleration: Array) -> Array:
        """Currents after a step with accelerations of the motors."""
        current = begin.states[..., : self._currents]
        if self.servos is None or not self._currents:
            return current
        lost = 0.5 * begin.span * np.where(self._lags, self._back_emf, 0.0) * acceleration
        return np.asarray(current + self._settled(begin.span)[0] * (self._way(begin) - lost))

    def _spring_over(self, begin: Beginning) -> tuple[Array, Array]:
        """Torques s₀ of springs half way of a step without accelerations, and κ."""
        assert self.springs is not None
        K, D = (self.springs.parameters[name] for name in ("stiffness", "damping"))
        angle, speed = self._motor_side(begin)
        h, rate = begin.span, speed - begin.qd
        torque = K * (angle - begin.q + 0.5 * h * rate) + D * rate
        return torque, 0.5 * ((1.0 - begin.drift) * h * h * K + h * D)

    def load(self, begin: Beginning) -> Load:
        """Torques on the joints over a step."""
        torque, more = self._motor_over(begin)
        outside = self._outside(begin.q + 0.5 * begin.span * begin.qd)
        if self.springs is None:
            return Load(torque + outside, more + 0.0 * torque if self._is_damped else None)
        spring, kappa = self._spring_over(begin)
        inertia = self.rotor_inertia + more
        share = kappa / (inertia + kappa)
        return Load(spring + share * (torque - spring) + outside, share * inertia)

    def after(self, begin: Beginning, qdd: Array) -> Array:
        """States after a step."""
        if self.springs is None:
            return self._currents_after(begin, qdd)
        (torque, more), (spring, kappa) = self._motor_over(begin), self._spring_over(begin)
        acceleration = (torque - spring + kappa * qdd) / (self.rotor_inertia + more + kappa)
        (angle, speed), h = self._motor_side(begin), begin.span
        following = [angle + h * speed + (1.0 - begin.drift) * h * h * acceleration, speed + h * acceleration]
        return np.concatenate([self._currents_after(begin, acceleration), *following], axis=-1)


def without_limits(motors: Motors) -> Motors:
    """Return motors that have no limits of voltage, current and torque."""
    limits: dict[str, Any] = dict.fromkeys(("max_voltage", "max_torque", "max_current"), np.inf)
    return Motors(
        motors.n, **{**motors.parameters, **limits}, mode=motors.mode, compensate_back_emf=motors.compensate_back_emf
    )


def largest_commands(motors: Motors) -> Floats:
    """Largest commands that motors follow whatever their speed, (n,), N·m."""
    values = motors.parameters
    by_current = np.abs(values["gear_ratio"]) * values["torque_constant"] * values["max_current"]
    return np.minimum(values["max_torque"], by_current)


def voltage_reserve(motors: Motors, speed: str) -> list[Residual]:
    """What is left of the limits of voltages, as a share of them, at the motor speeds that residuals know by a name."""
    most = motors.parameters["max_voltage"]
    limited = np.flatnonzero(np.isfinite(most))
    if not limited.size:
        return []
    free = without_limits(motors)

    def reserve(speed: Array, tau: Array, *current: Array) -> Array:
        state = current[0] if current else np.zeros(0)
        share = (np.asarray(free.voltage(state, speed, tau)) / most)[limited]
        return np.concatenate([1.0 - share, 1.0 + share])

    return [Residual(reserve, arguments=(speed, "tau", *(["current"] if motors.state_size else [])))]


def with_payloads(robot: Robot, payloads: Mapping[str, PickedPayload], duration: float) -> Robot:
    """Return a robot that carries payloads for a duration, s.

    Raises
    ------
    ArgumentError
        A payload is picked up or put down within it.
    """
    description = robot.description
    carried: dict[str, Any] = {}
    for payload in payloads.values():
        pick, put = (float(payload.parameters[name]) for name in ("pick_time", "put_time"))
        if 0.0 < pick < duration or 0.0 < put < duration:
            raise ArgumentError(
                f"payload '{payload.name}' is picked up or put down during the motion; plan the motions before and "
                "after one by one, with the payload or without"
            )
        description = payload.attached(description)
        carried |= payload.carried(0.5 * duration, payload.parameters)
    return Robot(description).with_values(carried) if carried else robot


def constant_wrenches(wrenches: Mapping[str, ExternalWrench], tool: str) -> tuple[ConstantWrench, ...]:
    """Return external wrenches that stay the same.

    Raises
    ------
    ArgumentError
        A wrench changes with time.
    """
    constant: list[ConstantWrench] = []
    for effect in wrenches.values():
        values = effect.constant
        if values is None:
            raise ArgumentError(
                f"external wrench '{effect.name}' changes with time, and no motion can be optimised beside it; leave "
                "it out, or give a function whose wrench stays the same"
            )
        constant.append(ConstantWrench(tool if effect.frame == "tool" else effect.frame, effect.axes, values))
    return tuple(constant)


def require_smooth_friction(friction: Friction) -> None:
    """Raise `ArgumentError` for friction that jumps, or whose slope does, at rest."""
    values = friction.parameters
    dry = np.maximum(values["coulomb"], values["breakaway"]) > 0.0
    if (dry & (values["smoothing_velocity"] == 0.0)).any():
        raise ArgumentError(
            "the plant's friction jumps at rest, and no motion can be optimised across a jump; give "
            "Friction(smoothing_velocity=0.1), rad/s"
        )
    if ((values["breakaway"] > values["coulomb"]) & (values["stribeck_exponent"] < 2.0)).any():
        raise ArgumentError(
            "the plant's friction has a Stribeck exponent below 2, with a curve that has a corner at rest; give "
            "Friction(stribeck_exponent=2.0)"
        )


def refuse(effects: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` for effects that no smooth program has, by what they are called."""
    instead = {
        "base": "its base moves; leave base out",
        "timing": "jitter and lost samples are drawn; leave timing out, and simulate the plan's law with it",
        "contacts": (
            "it touches planes by stiff contacts; leave contacts out, and say in keep= when a point is on a plane "
            "(PhasedContact)"
        ),
        "backlash": "its springs have backlash; give ElasticJoints(backlash=0.0)",
    }
    for name, effect in effects.items():
        if effect:
            raise ArgumentError(f"the plant has what no motion can be optimised across: {instead[name]}")
