"""What a closed loop records at each sample: variables with labels, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chasles.cached import cached_property
from chasles.plant.energy_accounts import EnergyAccounts
from chasles.plant.equations import Equations, Instant
from chasles.simulation.variables import (
    Variable,
    energy_variable,
    joint_variable,
    memory_variable,
    position_axis,
    reference_variables,
)
from chasles.trajectories import Motion
from chasles.trajectories.motion import PoseMotion


@dataclass(frozen=True)
class Recording:
    """What is recorded: the plant's state, torques, measurements, wrenches and energies, the reference, and memory.

    Attributes
    ----------
    equations
        Equations of the plant.
    accounts
        Energies that are recorded; None without an audit.
    memory_size
        Length of the controller's memory if that is recorded; else None.
    follows_frame
        Whether the reference is the motion of a frame rather than of joints.
    late
        Number of torques that wait from one call to the next.
    """

    equations: Equations
    accounts: EnergyAccounts | None
    memory_size: int | None
    follows_frame: bool
    late: int

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Variables in the order of `values`."""
        plant = self.equations.plant
        n, nq = plant.n, plant.robot.nq
        variables = [
            Variable("q", (nq,), (position_axis(nq, n),), "position", "joint position"),
            joint_variable("qd", n, "velocity", "joint velocity"),
            joint_variable("tau", n, "effort", "joint torque"),
            *reference_variables(nq, n, follows_frame=self.follows_frame),
        ]
        if self._other_torques:
            variables.append(joint_variable("tau_applied", n, "effort", "torque of the motor"))
        if plant.sensors is not None:
            axis = (position_axis(nq, n),)
            variables.append(Variable("q_measured", (nq,), axis, "position", "measured joint position"))
            variables.append(joint_variable("qd_measured", n, "velocity", "measured joint velocity"))
        if plant.motors is not None:
            variables.append(joint_variable("current", n, "A", "motor current"))
        if plant.elastic_joints is not None:
            variables.append(joint_variable("motor_position", n, "position", "motor position, on the joint's side"))
            variables.append(joint_variable("motor_velocity", n, "velocity", "motor velocity, on the joint's side"))
        for name in (*plant.wrenches, *plant.contacts):
            words = f"wrench on the robot: {name.partition('.')[2]}, moment and force in world axes"
            variables.append(Variable(name, (6,), ("component",), "N m, N", words))
        if self.memory_size is not None:
            variables.append(memory_variable(self.memory_size))
        if self.accounts is not None:
            variables += [energy_variable(name) for name in (*self.accounts.stored, *self.accounts.audited)]
        return tuple(variables)

    def values(
        self,
        x: Any,
        demanded: Any,
        applied: Any,
        motion: Motion | PoseMotion,
        measured: tuple[Any, Any],
        memory: Any,
        instant: Instant,
        wrenches: Any,
        values: Mapping[str, Any],
    ) -> list[Any]:
        """Values of the variables, numbers or traced scalars.

        Parameters
        ----------
        x
            State of the plant, a record.
        demanded, applied
            Torques that the controller asks for, and those that reach the motors now, (n,).
        motion
            Reference at this time.
        measured
            Positions and velocities that the sensors give.
        memory
            Memory of the controller before the call, a vector.
        instant
            Time and external inputs at this moment.
        wrenches
            Wrenches of the environment by name.
        values
            Values of the loop's parameters by name.
        """
        equations, plant = self.equations, self.equations.plant
        recorded = [x.q, x.qd, demanded, motion[0], motion[1]]
        if self._other_torques:
            recorded.append(equations.motor_torque(x, applied, values))
        if plant.sensors is not None:
            recorded += measured
        if plant.motors is not None:
            recorded.append(equations.motor_current(x, applied, values))
        if plant.elastic_joints is not None:
            recorded += plant.elastic_joints.split(x.elastic_joints)
        recorded += [wrenches[name].world for name in (*plant.wrenches, *plant.contacts)]
        if self.memory_size is not None:
            recorded.append(memory)
        if self.accounts is not None:
            stored = self.accounts.energies(x, instant, values)
            recorded += [*(stored[name] for name in self.accounts.stored), *x.audit.values()]
        return recorded

    @property
    def _other_torques(self) -> bool:
        """Whether the torques on the joints may be others than those that the controller asks for."""
        return self.late > 0 or self.equations.plant.motors is not None
