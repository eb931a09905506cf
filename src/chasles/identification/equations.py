"""Equations of motion of a log, linear in what is unknown: bodies, rotors and friction of the motors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.identification.closed_configurations import coupling_of_motors
from chasles.identification.filtering import Signals
from chasles.identification.friction import FrictionTerms
from chasles.identification.logs.log import Log
from chasles.mechanics.base_parameters import BaseParameters, expressions
from chasles.model import build_tree
from chasles.model.joint import POSITION_TORQUES
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot


@dataclass(frozen=True)
class InertialUnknowns:
    """Ten parameters of each body and the rotor inertia of each motor, and the combinations of them that act.

    Attributes
    ----------
    bodies
        Number of bodies.
    rotors
        Indices of the rotor inertias among the robot's inertial parameters, shape (n,).
    names, expressions
        Names of the combinations, and these as text; see `Robot.inertial.base`.
    independent
        Columns of the parameters that they are named after, shape (base,).
    to_base
        Shape (base, 10 bodies + n).
    """

    bodies: int
    rotors: NDArray[np.intp]
    names: tuple[str, ...]
    expressions: tuple[str, ...]
    independent: NDArray[np.intp]
    to_base: FloatArray

    def of(self, robot: Robot) -> FloatArray:
        """Parameters of a robot, shape (10 bodies + n,)."""
        values = robot.inertial.values
        return np.concatenate([values[: 10 * self.bodies], values[self.rotors]])


def with_drives_of(log: Log, robot: Robot) -> Robot:
    """Robot whose drives are coupled as those of a log."""
    if np.array_equal(coupling_of_motors(robot), log.coupling):
        return robot
    motors, coupling = robot.description.independent_indices, robot.description.drive_coupling.copy()
    coupling[np.ix_(motors, motors)] = log.coupling
    return robot.with_drive_coupling(coupling)


def inertial_unknowns(robot: Robot) -> InertialUnknowns:
    """Inertial unknowns of a robot.

    Raises
    ------
    ArgumentError
        If joints mimic others, or the motors of a robot with loops are not those of its independent joints.
    """
    description = robot.description
    bodies = len(build_tree(description).carriers)
    names, motors = robot.inertial.names, np.array(description.independent_indices)
    rotors = np.arange(10 * bodies + 2, len(names), 3, dtype=np.intp)
    if description.loops:
        _require_motors_of_independent_joints(robot)
        rotors = rotors[motors]
    if len(rotors) != robot.n:
        raise ArgumentError(
            f"robot '{robot.name}' has {len(rotors)} moving joints and {robot.n} independent ones: identify needs a "
            "motor for each; lock the others with robot.edit.lock"
        )
    base = None if description.loops else robot.inertial.base()
    return _unknowns(robot, bodies, rotors, base)


def body_unknowns(robot: Robot) -> InertialUnknowns:
    """Inertial unknowns of a robot's bodies alone: all that acts on a free base."""
    return _unknowns(robot, len(build_tree(robot.description).carriers), np.zeros(0, dtype=np.intp))


def _unknowns(
    robot: Robot, bodies: int, rotors: NDArray[np.intp], base: BaseParameters | None = None
) -> InertialUnknowns:
    names = robot.inertial.names
    used = np.concatenate([np.arange(10 * bodies), rotors])
    base = robot.inertial.base(columns=used) if base is None else base
    kept = np.isin(base.independent, used)
    independent, matrix = np.searchsorted(used, base.independent[kept]), base.to_base[np.ix_(kept, used)]
    own = [names[k] for k in used]
    named = tuple(own[k] for k in independent)
    return InertialUnknowns(bodies, rotors, named, expressions(matrix, independent.tolist(), own), independent, matrix)


def _require_motors_of_independent_joints(robot: Robot) -> None:
    """Refuse robots with loops whose motors are at other joints, or turn with joints without motors."""
    description = robot.description
    motors, independent = set(description.actuated_indices), list(description.independent_indices)
    if motors != set(independent):
        names = ", ".join(description.joint_velocity_names[index] for index in sorted(motors))
        raise ArgumentError(
            f"identify needs robots with one motor for each degree of freedom, but robot '{robot.name}' has motors at "
            f"{names} and moves with {', '.join(robot.velocity_names)}: name as many joints in actuated= as there are "
            "degrees of freedom, and the same in independent="
        )
    passive = np.setdiff1d(np.arange(len(description.joint_velocity_names)), independent)
    if description.drive_coupling[independent][:, passive].any():
        raise ArgumentError(
            f"motors of robot '{robot.name}' turn with joints that have no motor (drive_coupling): identify couples "
            "drives of independent joints only"
        )


def passive_joints(robot: Robot) -> Robot | None:
    """Robot without masses and motors, with friction, rotors and springs of the passive joints; None without any.

    A robot with loops has passive joints. What they lose comes to the motors much as the motors' own friction does, so
    it is known or zero, and not identified.
    """
    description = robot.description
    if not description.loops:
        return None
    values, motors = robot.inertial.values, list(description.independent_indices)
    losses = values[-3 * len(description.joint_velocity_names) :].reshape(-1, 3)
    values[: -losses.size], losses[motors] = 0.0, 0.0
    passive = [joint for joint in description.coordinates if joint.name not in robot.velocity_names]
    if not losses.any() and not any(getattr(joint, name) for joint in passive for name in POSITION_TORQUES):
        return None
    none = {name: dict.fromkeys(_with_parameter(robot, name), 0.0) for name in POSITION_TORQUES}
    return robot.with_friction(**none).inertial.with_values(values, check=False)


def _with_parameter(robot: Robot, name: str) -> list[str]:
    """Independent joints that can have this parameter."""
    return [joint for joint in robot.velocity_names if name in robot.description.joint(joint).parameters]


class TorqueEquations:
    """Columns and efforts of filtered signals: effort ≈ columns @ unknowns.

    Parameters
    ----------
    robot
        Robot; only its geometry counts, and how its drives are coupled: rotors turn and friction acts at the motors.
    inertial
        Unknowns besides friction.
    signals
        Filtered log.

    Attributes
    ----------
    columns
        Filtered columns of the inertial unknowns at the kept samples, shape (k, n, inertial).
    passive
        Filtered torques of the prior's passive joints (see `passive_joints`), shape (k, n).
    effort
        Filtered efforts without these, shape (k, n).
    moving, saturated
        Shapes (k, n).
    time
        Times of the kept samples, shape (k,), s.
    segments
        Slices of the kept samples without gaps.
    """

    def __init__(self, robot: Robot, inertial: InertialUnknowns, signals: Signals) -> None:
        self.inertial, self.signals, self.coupling = inertial, signals, coupling_of_motors(robot)
        self.motor_rates = signals.qd @ self.coupling.T
        self._angles = signals.q @ self.coupling.T
        self.kept = signals.kept()
        columns = (*range(10 * inertial.bodies), *inertial.rotors.tolist())
        self._raw = np.asarray(robot.regressors.torque(signals.configuration, signals.qd, signals.qdd, columns=columns))
        self.columns = signals.filter(self._raw)[self.kept]
        self.passive = self._passive_torque(robot)
        self.effort, self.time = signals.effort[self.kept] - self.passive, signals.time[self.kept]
        self.moving, self.saturated = signals.moving[self.kept], signals.saturated[self.kept]
        self.segments = signals.kept_segments()

    @property
    def base_columns(self) -> FloatArray:
        """Filtered columns of the base parameters at the kept samples, shape (k, n, base)."""
        return self.columns[:, :, self.inertial.independent]

    def load(self, inertial: FloatArray) -> FloatArray:
        """Torques that the motors transmit without friction at all samples of the signals, shape (samples, n)."""
        return np.asarray(np.linalg.solve(self.coupling.T, (self._raw @ inertial).T).T)

    def friction(self, terms: FrictionTerms, load: FloatArray) -> FloatArray:
        """Filtered columns of the motors' friction at the kept samples, shape (k, n, n × columns), motor by motor."""
        return self._at_joints(terms.columns(self.motor_rates, self._angles, load))

    def transition_slopes(self, terms: FrictionTerms, coulomb: FloatArray) -> FloatArray:
        """Filtered derivatives of the torques by the logarithms of the motors' transitions.

        Parameters
        ----------
        terms
            Friction terms.
        coulomb
            Dry friction of the transitions, shape (n, transitions).

        Returns
        -------
        ndarray
            Shape (k, n, n × transitions), motor by motor.
        """
        ratio = self.motor_rates[..., None] / terms.transitions
        return self._at_joints(-coulomb * ratio / np.cosh(np.minimum(np.abs(ratio), 50.0)) ** 2)

    def _passive_torque(self, robot: Robot) -> FloatArray:
        passive, signals = passive_joints(robot), self.signals
        if passive is None:
            return np.zeros((len(self.kept), robot.n))
        return signals.filter(signals.torque(passive))[self.kept]

    def _at_joints(self, at_motors: FloatArray) -> FloatArray:
        filtered = self.signals.filter(at_motors)[self.kept]
        return np.asarray(np.einsum("kmi,mj->kjmi", filtered, self.coupling).reshape(*self.effort.shape, -1))

    def held_out(self, part: int, parts: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Samples to fit and samples to predict where one of equal parts of each recording is held out, shapes (k,).

        Those within a period of the cut-off frequency around an inner border are in neither: the filter mixes them.
        """
        reach = 1.0 / self.signals.cutoff.frequency if self.signals.is_filtered else 0.0
        fitted, predicted = np.zeros(len(self.time), dtype=bool), np.zeros(len(self.time), dtype=bool)
        for recording in self.signals.recordings:
            own = (self.kept >= recording.start) & (self.kept < recording.stop)
            times = self.signals.time[recording]
            start, stop = (times[0] + share / parts * (times[-1] - times[0]) for share in (part, part + 1))
            near = (np.abs(self.time - start) < reach) & (part > 0) | (np.abs(self.time - stop) < reach) & (
                part + 1 < parts
            )
            inside = (self.time >= start) & (self.time <= stop)
            fitted |= own & ~inside & ~near
            predicted |= own & inside & ~near
        return fitted, predicted
