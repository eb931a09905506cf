"""What a closed loop records at each sample: variables with labels, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chasles.base.cached import cached_property
from chasles.engine.program.records import Memory, Record
from chasles.engine.program.scalar import Array
from chasles.simulation.plant.energy_accounts import EnergyAccounts
from chasles.simulation.plant.environment import Acting, Instant
from chasles.simulation.plant.equations import Equations
from chasles.trajectories import Motion
from chasles.trajectories.motion import PoseMotion

#: Units of joint variables follow the joint: "position" and "displacement" rad or m, "velocity" these per second,
#: "effort" N·m or N.
JointUnits = Literal["position", "displacement", "velocity", "effort"]


@dataclass(frozen=True)
class Recording:
    """Samples and variables that a simulation records.

    Attributes
    ----------
    every
        Periods from one recorded sample to the next.
    energies
        Whether energies are integrated along with the state and recorded, J: work of the sources (``"work.motors"``,
        …), losses (``"loss.friction"``, …) and stored energies (``"energy.kinetic"``, …). The stored energies change by
        work minus losses, up to the integration error.
    memory
        Whether the memory of the control law is recorded: the variable ``memory`` with the axis ``element``, whose
        names are the law's ``memory_names``. It shows the estimates of adaptive laws.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> run = ch.simulate(arm, duration=1.0, record=ch.Recording(every=10, energies=True))
    >>> run.sizes["time"], "energy.kinetic" in run
    (101, True)
    """

    every: int = 1
    energies: bool = False
    memory: bool = False


@dataclass(frozen=True)
class Variable:
    """A recorded variable.

    Attributes
    ----------
    name
        Name of the variable.
    shape, dims
        Shape of one sample, and the names of its axes.
    units
        Unit, or the joint quantity that determines it.
    long_name
        Text in labels and tables.
    """

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    units: JointUnits | str
    long_name: str


def joint_variable(name: str, n: int, units: JointUnits | str, long_name: str) -> Variable:
    """Return a variable with one value per joint."""
    return Variable(name, (n,), ("joint",), units, long_name)


def position_axis(nq: int, n: int) -> str:
    """Return the name of the axis of positions: "coordinate" where a joint has more coordinates than velocities."""
    return "joint" if nq == n else "coordinate"


def memory_variable(size: int) -> Variable:
    """Return the variable of the controller's memory."""
    return Variable("memory", (size,), ("element",), "", "memory of the controller")


def energy_variable(name: str) -> Variable:
    """Return the variable of an energy, J, from its name, such as ``"work.motors"`` or ``"loss.friction"``."""
    kind, _, source = name.partition(".")
    words = {"work": "work of", "loss": "energy lost in", "energy": "energy:", "electrical": "electrical"}
    return Variable(name, (), (), "J", f"{words[kind]} {source.replace('_', ' ')}")


def reference_variables(nq: int, n: int, *, follows_frame: bool) -> list[Variable]:
    """Return the variables of a reference: its motion."""
    if follows_frame:
        return [
            Variable("pose_reference", (4, 4), ("row", "column"), "", "reference pose of the frame"),
            Variable("twist_reference", (6,), ("component",), "", "reference twist of the frame, angular part first"),
        ]
    return [
        Variable("q_reference", (nq,), (position_axis(nq, n),), "position", "reference joint position"),
        joint_variable("qd_reference", n, "velocity", "reference joint velocity"),
    ]


@dataclass(frozen=True)
class RecordedVariables:
    """Recorded quantities: the plant's state, torques, measurements, wrenches and energies, the reference, and memory.

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
    waiting_torques
        Number of torques that wait from one call to the next.
    """

    equations: Equations
    accounts: EnergyAccounts | None
    memory_size: int | None
    follows_frame: bool
    waiting_torques: int

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
        x: Record,
        demanded: Array,
        applied: Array,
        motion: Motion | PoseMotion,
        measured: tuple[Any, Any],
        memory: Memory,
        instant: Instant,
        wrenches: Mapping[str, Acting],
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
        return self.waiting_torques > 0 or self.equations.plant.motors is not None
