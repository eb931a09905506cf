"""Direct-current motors with gears and drives, which turn torque commands into joint torques."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import clip
from chasles.engine.program.scalar import Array, Real, boxed
from chasles.engine.validators import FINITE, NOT_NEGATIVE, POSITIVE, Bound, Relation, choice, reals_or_traced
from chasles.robot.robot import Robot
from chasles.simulation.plant.effect import Effect, joint_count, where_positive

MODES = ("torque", "voltage")


class Motors(Effect):
    """Direct-current motor with gear and drive at every joint.

    With the voltage u, the current i and the joint velocity v

        L di/dt + R i + ke N v = u,        tau = N kt i,        |u| <= u_max,

    and the rotor adds N² J to the inertia of its joint. A brushless motor under field-oriented control obeys the same
    equations in its quadrature axis. The drive converts the controller's command, a joint torque tau*, into a current
    i* = tau* / (N kt), limits it to the largest torque and current, and then, by mode,

    ``"torque"``
        controls the current, di/dt = (i* - i) / T with the time constant T of the current loop, within the limits of
        the voltage. With T = 0 the current follows instantly (L is neglected), within

            (-u_max - ke N v) / R <= i <= (u_max - ke N v) / R,

        the torque-speed line of the motor's data sheet;
    ``"voltage"``
        has no current sensor and sets u = R i*, plus ke N v if it compensates the back-EMF, within the limits of the
        voltage. The current follows with the electrical time constant L / R; with L = 0 instantly. The torque and
        current limits apply to i*, not to i.

    The drive converts with the nominal values given here. A simulation that varies them changes the motor, not the
    drive's conversion.

    Parameters
    ----------
    robot
        Robot, or its number of joints n.
    resistance
        Resistance R, Ω. Each parameter is a scalar for all joints, or one value per joint, shape (n,).
    inductance
        Inductance L, H.
    torque_constant
        Torque constant kt, N·m/A at the motor shaft (linear motors N/A).
    back_emf_constant
        Back-EMF constant ke, V·s/rad at the motor shaft; default kt, the value without electromagnetic losses in SI
        units.
    gear_ratio
        Gear ratio N, motor revolutions per joint revolution (prismatic joints rad/m). May be negative.
    rotor_inertia
        Rotor inertia J, kg·m², at the motor shaft. It adds to the ``motor_inertia`` of the robot's description: specify
        it in one place only.
    max_voltage
        Voltage limit u_max, V; default unlimited.
    max_torque
        Torque limit of the drive at the joint, N·m; default unlimited.
    max_current
        Current limit of the drive, A; default unlimited.
    time_constant
        Time constant T of the current loop, s; only in mode ``"torque"``.
    mode
        Drive mode: ``"torque"`` or ``"voltage"``.
    compensate_back_emf
        Whether the drive adds the back-EMF to its voltage; only in mode ``"voltage"``.

    Raises
    ------
    ArgumentError
        A value is out of bounds, or contradicts the mode; the message names it.
    UnknownNameError
        The mode does not exist.

    Notes
    -----
    Spong, Hutchinson and Vidyasagar, Robot Modeling and Control, section "Actuator dynamics"; Lynch and Park, Modern
    Robotics, section 8.9, "Actuation, gearing, and friction".

    Examples
    --------
    A motor with the no-load speed 24 V / 0.05 V·s/rad = 480 rad/s runs at half that speed behind a gear of ratio 100.
    It can give half its stall torque of 100 · 0.05 N·m/A · 24 V / 1.2 Ω, whatever the command:

    >>> motors = Motors(1, resistance=1.2, torque_constant=0.05, gear_ratio=100.0, max_voltage=24.0)
    >>> motors.torque(motors.initial_state(), np.array([2.4]), np.array([1000.0]))
    array([50.])
    """

    n: int
    bounds: Mapping[str, Bound] = {
        "resistance": NOT_NEGATIVE,
        "inductance": NOT_NEGATIVE,
        "torque_constant": POSITIVE,
        "back_emf_constant": NOT_NEGATIVE,
        "gear_ratio": FINITE,
        "rotor_inertia": NOT_NEGATIVE,
        "max_voltage": Bound(above=0.0, infinite=True),
        "max_torque": Bound(above=0.0, infinite=True),
        "max_current": Bound(above=0.0, infinite=True),
        "time_constant": NOT_NEGATIVE,
    }

    def __init__(
        self,
        robot: Robot | int,
        *,
        resistance: ArrayLike = 0.0,
        inductance: ArrayLike = 0.0,
        torque_constant: ArrayLike = 1.0,
        back_emf_constant: ArrayLike | None = None,
        gear_ratio: ArrayLike = 1.0,
        rotor_inertia: ArrayLike = 0.0,
        max_voltage: ArrayLike = np.inf,
        max_torque: ArrayLike = np.inf,
        max_current: ArrayLike = np.inf,
        time_constant: ArrayLike = 0.0,
        mode: str = "torque",
        compensate_back_emf: bool = False,
    ) -> None:
        choice(mode, "mode of motors", MODES)
        self.n = n = joint_count(robot)
        self.mode = mode
        self.compensate_back_emf = bool(compensate_back_emf)
        constant = torque_constant if back_emf_constant is None else back_emf_constant
        parameters = self.for_joints(
            n,
            resistance=resistance,
            inductance=inductance,
            torque_constant=torque_constant,
            back_emf_constant=constant,
            gear_ratio=gear_ratio,
            rotor_inertia=rotor_inertia,
            max_voltage=max_voltage,
            max_torque=max_torque,
            max_current=max_current,
            time_constant=time_constant,
        )
        if mode == "torque" and compensate_back_emf:
            raise ArgumentError("mode='torque' always compensates the back-EMF; leave compensate_back_emf out")
        super().__init__("motors", parameters)

    def relations(self, parameters: Mapping[str, Any]) -> list[Relation]:
        """Requirements of gear, drive and mode on the values."""
        values, driven = parameters, self.mode == "voltage"
        limited = np.isfinite(values["max_voltage"]) | driven
        return [
            Relation((values["gear_ratio"] != 0.0).all(axis=-1), "gear_ratio must not be zero"),
            Relation(
                (~limited | (values["resistance"] > 0.0)).all(axis=-1),
                "resistance is zero; with mode='voltage' or a max_voltage it must be positive",
            ),
            Relation(
                (values["time_constant"] == 0.0).all(axis=-1) | (not driven),
                "time_constant is of the current loop, which mode='voltage' does not have; leave it out",
            ),
        ]

    @property
    def state_size(self) -> int:
        """Size of the state: n motor currents, or 0 if all follow instantly."""
        return self.n if self._lags(self.parameters).any() else 0

    def initial_state(self, tau: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return currents (state_size,) at the start, A: zero, or those that give the torques tau (n,), N·m."""
        if self.state_size == 0 or tau is None:
            return np.zeros(self.state_size)
        values = self.parameters
        return np.asarray(reals_or_traced(tau, "tau") / (values["gear_ratio"] * values["torque_constant"]))

    def reflected_inertia(self, parameters: Mapping[str, Any] | None = None) -> Array:
        """Return the inertia (n,) that the rotors add at their joints, kg·m²: N² J.

        >>> Motors(1, gear_ratio=100.0, rotor_inertia=2e-5).reflected_inertia()
        array([0.2])
        """
        values = self.parameters if parameters is None else parameters
        return values["gear_ratio"] * values["gear_ratio"] * values["rotor_inertia"]

    def torque(
        self, state: Array, joint_speed: Array, command: Array, parameters: Mapping[str, Any] | None = None
    ) -> Real:
        """Return the torques of the motors at their joints.

        Parameters
        ----------
        state
            Currents, shape (..., state_size), A.
        joint_speed
            Joint velocities, shape (..., n), rad/s.
        command
            Commanded joint torques, shape (..., n), N·m.
        parameters
            Values by name; default `parameters` of this object.

        Returns
        -------
        ndarray
            Shape (..., n), N·m.
        """
        values = self.parameters if parameters is None else parameters
        return values["gear_ratio"] * values["torque_constant"] * self.current(state, joint_speed, command, values)

    def current(
        self, state: Array, joint_speed: Array, command: Array, parameters: Mapping[str, Any] | None = None
    ) -> Real:
        """Return motor currents, shape (..., n), A; arguments as for `torque`."""
        values = self.parameters if parameters is None else parameters
        at_once = self._current_at_once(joint_speed, command, values)
        if self.state_size == 0:
            return at_once
        current = np.asarray(state)
        if self.mode == "torque":
            # Without inductance the lag is that of the drive, and the voltage bounds the current itself.
            current = where_positive(values["inductance"], current, self._reachable(current, joint_speed, values))
        return where_positive(self._lags(values), current, at_once)

    def voltage(
        self, state: Array, joint_speed: Array, command: Array, parameters: Mapping[str, Any] | None = None
    ) -> Real:
        """Return motor voltages, shape (..., n), V; arguments as for `torque`."""
        values = self.parameters if parameters is None else parameters
        back_emf = values["back_emf_constant"] * values["gear_ratio"] * joint_speed
        if self.mode == "voltage":
            return self._driven_voltage(joint_speed, command, values)
        current = self.current(state, joint_speed, command, values)
        resistive = values["resistance"] * current + back_emf
        if self.state_size == 0:
            return resistive
        inductive = values["inductance"] * self._rate_of_current_loop(current, command, values)
        wanted = resistive + where_positive(values["time_constant"], inductive, 0.0)
        return _bounded(wanted, values["max_voltage"])

    def derivative(
        self, state: Array, joint_speed: Array, command: Array, parameters: Mapping[str, Any] | None = None
    ) -> Real:
        """Return the rates of the currents, shape (..., state_size), A/s; arguments as for `torque`."""
        values = self.parameters if parameters is None else parameters
        if self.state_size == 0:
            return np.zeros_like(np.asarray(joint_speed)[..., :0])
        current = np.asarray(state)
        inductance = where_positive(values["inductance"], values["inductance"], 1.0)
        back_emf = values["back_emf_constant"] * values["gear_ratio"] * joint_speed
        voltage = self.voltage(state, joint_speed, command, values)
        electrical = (voltage - values["resistance"] * current - back_emf) / inductance
        if self.mode == "voltage":
            return where_positive(values["inductance"], electrical, 0.0 * current)
        loop = self._rate_of_current_loop(current, command, values)
        return where_positive(self._lags(values), where_positive(values["inductance"], electrical, loop), 0.0 * current)

    def electrical_power(
        self, state: Array, joint_speed: Array, command: Array, parameters: Mapping[str, Any] | None = None
    ) -> Real:
        """Return the electrical power u i into the motors, shape (..., n), W; arguments as for `torque`.

        It becomes mechanical power tau v, heat (see `loss`) and magnetic energy (see `magnetic_energy`).
        """
        values = self.parameters if parameters is None else parameters
        return self.voltage(state, joint_speed, command, values) * self.current(state, joint_speed, command, values)

    def loss(
        self, state: Array, joint_speed: Array, command: Array, parameters: Mapping[str, Any] | None = None
    ) -> Real:
        """Return the power lost in the motors, shape (..., n), W: R i² + (ke - kt) N v i; arguments as for `torque`."""
        values = self.parameters if parameters is None else parameters
        current = self.current(state, joint_speed, command, values)
        difference = (values["back_emf_constant"] - values["torque_constant"]) * values["gear_ratio"]
        return (values["resistance"] * current + difference * joint_speed) * current

    def magnetic_energy(self, state: Array, parameters: Mapping[str, Any] | None = None) -> Real:
        """Return the energy L i² / 2 of windings whose current is a state, shape (..., n), J; 0 for the others."""
        values = self.parameters if parameters is None else parameters
        if self.state_size == 0:
            return np.zeros(self.n)
        return where_positive(self._lags(values), 0.5 * values["inductance"] * np.asarray(state) ** 2, 0.0)

    def fastest_rate(self, parameters: Mapping[str, Any] | None = None) -> float:
        """Return the rate of the fastest current, 1/s, which limits explicit integrators' steps; 0 without state."""
        values = self.parameters if parameters is None else parameters
        lags = self._lags(values)
        slow = np.where(lags > 0.0, lags, np.inf)
        return float(np.max(1.0 / slow)) if self.mode == "torque" else float(np.max(values["resistance"] / slow))

    def _lags(self, values: Mapping[str, Any]) -> Any:
        """Return the time constant, or in mode "voltage" the inductance: the current is a state if it is positive."""
        return values["time_constant"] if self.mode == "torque" else values["inductance"]

    def _wanted_current(self, command: Array, values: Mapping[str, Any]) -> Real:
        rated = self.parameters["gear_ratio"] * self.parameters["torque_constant"]
        return _bounded(_bounded(command, values["max_torque"]) / rated, values["max_current"])

    def _current_at_once(self, joint_speed: Array, command: Array, values: Mapping[str, Any]) -> Real:
        if self.mode == "torque":
            return self._reachable(self._wanted_current(command, values), joint_speed, values)
        back_emf = values["back_emf_constant"] * values["gear_ratio"] * joint_speed
        return (self._driven_voltage(joint_speed, command, values) - back_emf) / values["resistance"]

    @staticmethod
    def _reachable(current: Real, joint_speed: Array, values: Mapping[str, Any]) -> Real:
        """Return the current within the bounds that the voltage can sustain."""
        if _is_infinite(values["max_voltage"]):
            return current
        back_emf = values["back_emf_constant"] * values["gear_ratio"] * joint_speed
        resistance = where_positive(values["resistance"], values["resistance"], 1.0)
        lowest = (-values["max_voltage"] - back_emf) / resistance
        highest = (values["max_voltage"] - back_emf) / resistance
        return clip(current, lowest, highest)

    def _driven_voltage(self, joint_speed: Array, command: Array, values: Mapping[str, Any]) -> Real:
        rated = self.parameters
        voltage = rated["resistance"] * self._wanted_current(command, values)
        if self.compensate_back_emf:
            voltage = voltage + rated["back_emf_constant"] * rated["gear_ratio"] * joint_speed
        return _bounded(voltage, values["max_voltage"])

    def _rate_of_current_loop(self, current: Real, command: Array, values: Mapping[str, Any]) -> Real:
        lag = where_positive(values["time_constant"], values["time_constant"], 1.0)
        return (self._wanted_current(command, values) - current) / lag


def _bounded(x: Array, bound: Array) -> Real:
    return x if _is_infinite(bound) else clip(x, -bound, bound)


def _is_infinite(bound: object) -> bool:
    """Whether all bounds are known to be infinite."""
    array = boxed(bound)
    return array.dtype != object and bool(np.isinf(array).all())
