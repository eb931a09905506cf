"""Direct-current motors with gears and drives: what becomes of the torque that a controller asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine import clip
from chasles.engine.scalar import boxed
from chasles.errors import ArgumentError, UnknownNameError
from chasles.plant.effect import Effect, checked, joint_count, where_positive

MODES = ("torque", "voltage")


class Motors(Effect):
    """A direct-current motor, its gear and its drive at every joint.

    With the voltage u, the current i and the joint's speed v

        L di/dt + R i + ke N v = u,        tau = N kt i,        |u| <= u_max,

    and the rotor adds N² J to the inertia of its joint. A brushless motor under field-oriented control obeys the same
    equations in its quadrature axis. What the controller asks for, a torque at the joint, goes to a drive that turns it
    into a current i* = tau* / (N kt), within its limits of torque and current, and then, by mode:

    ``"torque"``
        The drive controls the current: di/dt = (i* - i) / T with the time constant T of its loop, as far as the voltage
        reaches. With T = 0 the current follows at once (L is then neglected), within

            (-u_max - ke N v) / R <= i <= (u_max - ke N v) / R,

        the line of torque and speed of the motor's data sheet.
    ``"voltage"``
        The drive has no sensor of current and sets u = R i*, plus ke N v if it compensates the back-EMF, within the
        limits of the voltage. The current follows with the electrical time constant L / R; with L = 0 at once. The
        limits of torque and current hold for i*, not for i.

    A drive converts with the numbers that are given here. If a simulation varies them, the drive does not know.

    Parameters
    ----------
    robot
        A robot, or the number n of its joints.
    resistance
        R, Ω. All numbers are one for all joints, or one for each, shape (n,).
    inductance
        L, H.
    torque_constant
        kt, N m/A at the motor's shaft (N/A of a linear motor).
    back_emf_constant
        ke, V s/rad at the motor's shaft; default kt, to which it is equal in SI units where no energy is lost.
    gear_ratio
        N, motor turns per joint turn (for sliding joints rad/m). May be negative.
    rotor_inertia
        J, kg m², at the motor's shaft. It adds to the ``motor_inertia`` of the robot's own description; do not give it
        twice.
    max_voltage
        u_max, V.
    max_torque
        Largest torque at the joint that the drive asks of the motor, N m.
    max_current
        Largest current that the drive asks for, A.
    time_constant
        T of the current loop, s; only in mode ``"torque"``.
    mode
        ``"torque"`` or ``"voltage"``.
    compensate_back_emf
        Whether the drive adds the back-EMF to its voltage; only in mode ``"voltage"``.

    Raises
    ------
    ArgumentError
        A number is impossible: the message says which.
    UnknownNameError
        There is no such mode.

    Notes
    -----
    Spong, Hutchinson and Vidyasagar, Robot Modeling and Control, section "Actuator dynamics"; Lynch and Park, Modern
    Robotics, section 8.9, "Actuation, gearing, and friction".

    Examples
    --------
    A motor that turns freely at 24 V / 0.05 V s/rad = 480 rad/s, here at half that speed behind a gear of 100. It has
    half its stall torque of 100 · 0.05 N m/A · 24 V / 1.2 Ω left, whatever is asked for:

    >>> motors = Motors(1, resistance=1.2, torque_constant=0.05, gear_ratio=100.0, max_voltage=24.0)
    >>> motors.torque(motors.initial_state(), np.array([2.4]), np.array([1000.0]))
    array([50.])
    """

    n: int

    def __init__(
        self,
        robot: Any,
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
        if mode not in MODES:
            raise UnknownNameError("mode of motors", mode, MODES)
        self.n = n = joint_count(robot)
        self.mode = mode
        self.compensate_back_emf = bool(compensate_back_emf)
        constant = torque_constant if back_emf_constant is None else back_emf_constant
        parameters = {
            "resistance": checked(resistance, (n,), "resistance", least=0.0),
            "inductance": checked(inductance, (n,), "inductance", least=0.0),
            "torque_constant": checked(torque_constant, (n,), "torque_constant", positive=True),
            "back_emf_constant": checked(constant, (n,), "back_emf_constant", least=0.0),
            "gear_ratio": checked(gear_ratio, (n,), "gear_ratio"),
            "rotor_inertia": checked(rotor_inertia, (n,), "rotor_inertia", least=0.0),
            "max_voltage": checked(max_voltage, (n,), "max_voltage", positive=True, infinite=True),
            "max_torque": checked(max_torque, (n,), "max_torque", positive=True, infinite=True),
            "max_current": checked(max_current, (n,), "max_current", positive=True, infinite=True),
            "time_constant": checked(time_constant, (n,), "time_constant", least=0.0),
        }
        if (parameters["gear_ratio"] == 0.0).any():
            raise ArgumentError("a gear_ratio must not be zero")
        limited = np.isfinite(parameters["max_voltage"]) | (mode == "voltage")
        if (limited & (parameters["resistance"] == 0.0)).any():
            raise ArgumentError("motors in mode 'voltage', and those with a max_voltage, need a resistance above zero")
        if mode == "voltage" and parameters["time_constant"].any():
            raise ArgumentError("motors in mode 'voltage' have no current loop, hence no time_constant")
        if mode == "torque" and compensate_back_emf:
            raise ArgumentError("motors in mode 'torque' always compensate the back-EMF: leave compensate_back_emf out")
        super().__init__("motors", parameters)

    @property
    def state_size(self) -> int:
        """Numbers in the state: the motors' currents (n), or none if all follow at once."""
        return self.n if self._lags(self.parameters).any() else 0

    def initial_state(self, tau: ArrayLike | None = None) -> NDArray[np.float64]:
        """Currents (state_size,) at the start, A: none, or those that give the torques tau (n,), N m."""
        if self.state_size == 0 or tau is None:
            return np.zeros(self.state_size)
        own = self.parameters
        return np.asarray(tau, dtype=float) / (own["gear_ratio"] * own["torque_constant"])

    def reflected_inertia(self, parameters: Mapping[str, Any] | None = None) -> Any:
        """Inertia (n,) that the rotors add at their joints, kg m²: N² J.

        >>> Motors(1, gear_ratio=100.0, rotor_inertia=2e-5).reflected_inertia()
        array([0.2])
        """
        own = self.parameters if parameters is None else parameters
        return own["gear_ratio"] * own["gear_ratio"] * own["rotor_inertia"]

    def torque(self, state: Any, joint_speed: Any, command: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Torques of the motors at their joints.

        Parameters
        ----------
        state
            Currents, shape (..., state_size), A.
        joint_speed
            Shape (..., n), rad/s.
        command
            Torques that the controller asks for, shape (..., n), N m.
        parameters
            Numbers of the formulas by name; default the object's own.

        Returns
        -------
        ndarray
            Shape (..., n), N m.
        """
        own = self.parameters if parameters is None else parameters
        return own["gear_ratio"] * own["torque_constant"] * self.current(state, joint_speed, command, own)

    def current(self, state: Any, joint_speed: Any, command: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Currents of the motors, shape (..., n), A; arguments as for `torque`."""
        own = self.parameters if parameters is None else parameters
        at_once = self._current_at_once(joint_speed, command, own)
        if self.state_size == 0:
            return at_once
        current = np.asarray(state)
        if self.mode == "torque":
            # A lag without inductance is of the drive alone: the voltage bounds the current itself.
            current = where_positive(own["inductance"], current, self._reachable(current, joint_speed, own))
        return where_positive(self._lags(own), current, at_once)

    def voltage(self, state: Any, joint_speed: Any, command: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Voltages at the motors, shape (..., n), V; arguments as for `torque`."""
        own = self.parameters if parameters is None else parameters
        back_emf = own["back_emf_constant"] * own["gear_ratio"] * joint_speed
        if self.mode == "voltage":
            return self._driven_voltage(joint_speed, command, own)
        current = self.current(state, joint_speed, command, own)
        resistive = own["resistance"] * current + back_emf
        if self.state_size == 0:
            return resistive
        inductive = own["inductance"] * self._rate_of_current_loop(current, command, own)
        wanted = resistive + where_positive(own["time_constant"], inductive, 0.0)
        return _bounded(wanted, own["max_voltage"])

    def derivative(
        self, state: Any, joint_speed: Any, command: Any, parameters: Mapping[str, Any] | None = None
    ) -> Any:
        """Rates of the currents, shape (..., state_size), A/s; arguments as for `torque`."""
        own = self.parameters if parameters is None else parameters
        if self.state_size == 0:
            return np.zeros_like(np.asarray(joint_speed)[..., :0])
        current = np.asarray(state)
        inductance = where_positive(own["inductance"], own["inductance"], 1.0)
        back_emf = own["back_emf_constant"] * own["gear_ratio"] * joint_speed
        voltage = self.voltage(state, joint_speed, command, own)
        electrical = (voltage - own["resistance"] * current - back_emf) / inductance
        if self.mode == "voltage":
            return where_positive(own["inductance"], electrical, 0.0 * current)
        loop = self._rate_of_current_loop(current, command, own)
        return where_positive(self._lags(own), where_positive(own["inductance"], electrical, loop), 0.0 * current)

    def electrical_power(
        self, state: Any, joint_speed: Any, command: Any, parameters: Mapping[str, Any] | None = None
    ) -> Any:
        """Power u i that flows from the drives into the motors, shape (..., n), W; arguments as for `torque`.

        It becomes mechanical power tau v, a loss (see `loss`) and magnetic energy (see `magnetic_energy`).
        """
        own = self.parameters if parameters is None else parameters
        return self.voltage(state, joint_speed, command, own) * self.current(state, joint_speed, command, own)

    def loss(self, state: Any, joint_speed: Any, command: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Power lost in the motors, shape (..., n), W: R i² + (ke - kt) N v i; arguments as for `torque`."""
        own = self.parameters if parameters is None else parameters
        current = self.current(state, joint_speed, command, own)
        difference = (own["back_emf_constant"] - own["torque_constant"]) * own["gear_ratio"]
        return (own["resistance"] * current + difference * joint_speed) * current

    def magnetic_energy(self, state: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Energy L i² / 2 in the windings whose current is a state, shape (..., n), J; 0 for the others."""
        own = self.parameters if parameters is None else parameters
        if self.state_size == 0:
            return np.zeros(self.n)
        return where_positive(self._lags(own), 0.5 * own["inductance"] * np.asarray(state) ** 2, 0.0)

    def fastest_rate(self, parameters: Mapping[str, Any] | None = None) -> float:
        """Rate of the fastest current, 1/s: what limits the steps of explicit integrators; 0 without a state."""
        own = self.parameters if parameters is None else parameters
        lags = self._lags(own)
        slow = np.where(lags > 0.0, lags, np.inf)
        return float(np.max(1.0 / slow)) if self.mode == "torque" else float(np.max(own["resistance"] / slow))

    def _lags(self, own: Mapping[str, Any]) -> Any:
        """What makes each current a state where it is positive: the time constant, or in mode "voltage" inductance."""
        return own["time_constant"] if self.mode == "torque" else own["inductance"]

    def _wanted_current(self, command: Any, own: Mapping[str, Any]) -> Any:
        rated = self.parameters["gear_ratio"] * self.parameters["torque_constant"]
        return _bounded(_bounded(command, own["max_torque"]) / rated, own["max_current"])

    def _current_at_once(self, joint_speed: Any, command: Any, own: Mapping[str, Any]) -> Any:
        if self.mode == "torque":
            return self._reachable(self._wanted_current(command, own), joint_speed, own)
        back_emf = own["back_emf_constant"] * own["gear_ratio"] * joint_speed
        return (self._driven_voltage(joint_speed, command, own) - back_emf) / own["resistance"]

    @staticmethod
    def _reachable(current: Any, joint_speed: Any, own: Mapping[str, Any]) -> Any:
        """The current as far as the voltage lets it stay constant."""
        if _is_infinite(own["max_voltage"]):
            return current
        back_emf = own["back_emf_constant"] * own["gear_ratio"] * joint_speed
        resistance = where_positive(own["resistance"], own["resistance"], 1.0)
        lowest = (-own["max_voltage"] - back_emf) / resistance
        highest = (own["max_voltage"] - back_emf) / resistance
        return clip(current, lowest, highest)

    def _driven_voltage(self, joint_speed: Any, command: Any, own: Mapping[str, Any]) -> Any:
        rated = self.parameters
        voltage = rated["resistance"] * self._wanted_current(command, own)
        if self.compensate_back_emf:
            voltage = voltage + rated["back_emf_constant"] * rated["gear_ratio"] * joint_speed
        return _bounded(voltage, own["max_voltage"])

    def _rate_of_current_loop(self, current: Any, command: Any, own: Mapping[str, Any]) -> Any:
        lag = where_positive(own["time_constant"], own["time_constant"], 1.0)
        return (self._wanted_current(command, own) - current) / lag


def _bounded(x: Any, bound: Any) -> Any:
    return x if _is_infinite(bound) else clip(x, -bound, bound)


def _is_infinite(bound: Any) -> bool:
    """Whether all bounds are known to be none."""
    array = boxed(bound)
    return array.dtype != object and bool(np.isinf(array).all())
