"""Elastic joints: a spring between motor and link, with play if the gear has backlash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import absolute, clip, maximum, minimum, sign
from chasles.engine.program.records import Layout
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, reals_or_traced
from chasles.simulation.plant.effect import Effect, joint_count, where_positive

if TYPE_CHECKING:
    from chasles.robot.robot import Robot


class ElasticJoints(Effect):
    """A spring and a damper in every joint, between the geared motor and the link.

    With the motor angles θ, divided by the gear ratio, the equations of motion are

        M(q) q̈ + c(q, q̇) + g(q) = K (θ - q) + D (θ̇ - q̇) + Jᵀ w
        B θ̈ + K (θ - q) + D (θ̇ - q̇) = τ.

    Harmonic drives and long belts are elastic in this way. Motor torque and motor encoder act on one side of the
    spring, the tool on the other: actuator and output are not collocated, which limits the gains of any controller.
    As K grows the joints become rigid and the mass matrix becomes M + B.

    With `backlash` β the teeth of motor and link touch only where |θ - q| exceeds β/2. The spring is then compressed by
    the excess δ = |θ - q| - β/2, and K δ + D δ̇ pushes the link away, but never pulls it; in between no torque is
    transmitted. The description's friction and the tool are on the link side of the gap; the friction of `Plant`, the
    motor and its inertia are on the motor side.

    The motor inertia of the robot's description stays on the link side of the spring. `of_robot` moves it to the motor
    side.

    Parameters
    ----------
    robot
        Robot, or its number of joints n.
    stiffness
        Stiffness K, N·m/rad (prismatic joints N/m). Each parameter is a scalar for all joints, or one value per joint,
        (n,).
    damping
        Damping D, N·m·s/rad.
    rotor_inertia
        Rotor inertia B, kg·m², reflected to the joint: inertia at the motor shaft times the gear ratio squared;
        positive.
    backlash
        Backlash β, rad (m): full width of the gap between motor and link at the joint. Default 0.

    Raises
    ------
    ArgumentError
        A value is out of bounds; the message names it.

    Notes
    -----
    Spong, "Modeling and control of elastic joint robots", Journal of Dynamic Systems, Measurement, and Control 109,
    1987. The kinetic energy of a rotor is that of its own spin alone, a good approximation for large gear ratios.
    Nordin, Galic' and Gutman, "New models for backlash and gear play", International Journal of Adaptive Control and
    Signal Processing 11(1), 1997: teeth push and never pull.

    Examples
    --------
    >>> joints = ElasticJoints(1, stiffness=1000.0, rotor_inertia=0.2)
    >>> joints.torque(np.array([0.5]), np.zeros(1), np.array([0.51, 0.0])).round(12)
    array([10.])
    >>> worn = ElasticJoints(1, stiffness=1000.0, rotor_inertia=0.2, backlash=0.004)
    >>> worn.torque(np.array([0.5]), np.zeros(1), np.array([0.51, 0.0])).round(12)
    array([8.])
    """

    n: int
    bounds: Mapping[str, Bound] = {
        "stiffness": POSITIVE,
        "damping": NOT_NEGATIVE,
        "rotor_inertia": POSITIVE,
        "backlash": NOT_NEGATIVE,
    }

    def __init__(
        self,
        robot: Robot | int,
        *,
        stiffness: ArrayLike,
        rotor_inertia: ArrayLike,
        damping: ArrayLike = 0.0,
        backlash: ArrayLike = 0.0,
    ) -> None:
        self.n = n = joint_count(robot)
        parameters = self.for_joints(
            n, stiffness=stiffness, damping=damping, rotor_inertia=rotor_inertia, backlash=backlash
        )
        super().__init__("elastic_joints", parameters)

    @classmethod
    def of_robot(
        cls, robot: Robot, *, stiffness: ArrayLike, damping: ArrayLike = 0.0, backlash: ArrayLike = 0.0
    ) -> tuple[Robot, Self]:
        """Split a robot into links without motor inertia and elastic joints with it.

        Returns
        -------
        robot
            Robot without motor inertia at its joints.
        elastic_joints
            Elastic joints with that inertia on the motor side.

        Raises
        ------
        ArgumentError
            A moving joint has no motor inertia, or a mimic joint has motor inertia.

        Examples
        --------
        >>> import chasles as ch
        >>> links, joints = ElasticJoints.of_robot(ch.load("puma560"), stiffness=1e4)
        >>> joints.parameters["rotor_inertia"].round(3)
        array([0.784, 2.325, 0.577, 0.191, 0.171, 0.194])
        """
        described = {joint.name: joint for joint in robot.description.joints}
        of_motors = {name: joint.gear_ratio**2 * joint.motor_inertia for name, joint in described.items()}
        missing = [name for name in robot.joint_names if of_motors[name] == 0.0]
        extra = [name for name, inertia in of_motors.items() if inertia and name not in robot.joint_names]
        if missing or extra:
            raise ArgumentError(
                f"robot '{robot.name}': each moving joint needs a motor inertia, and joints that follow another one "
                f"must have none; without: {', '.join(missing) or 'none'}; following, but with: "
                f"{', '.join(extra) or 'none'}"
            )
        links = robot.with_values({f"joints.{name}.motor_inertia": 0.0 for name in robot.joint_names})
        inertia = [of_motors[name] for name in robot.joint_names]
        return links, cls(robot, stiffness=stiffness, damping=damping, rotor_inertia=inertia, backlash=backlash)

    @cached_property
    def state_layout(self) -> Layout:
        """Parts of the state: motor angles θ and speeds θ̇, each (n,)."""
        return Layout({"angle": (self.n,), "speed": (self.n,)})

    def initial_state(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike = 0.0, parameters: Mapping[str, Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the state (..., 2 n) in which the springs carry the torques tau (..., n) at constant deflection.

        Unloaded joints with backlash are in the middle of their gap.

        >>> ElasticJoints(1, stiffness=1000.0, rotor_inertia=0.2).initial_state([0.5], [0.1], [10.0])
        array([0.51, 0.1 ])
        """
        values = self.parameters if parameters is None else parameters
        carried = reals_or_traced(tau, "tau")
        angle = reals_or_traced(q, "q") + carried / values["stiffness"] + 0.5 * values["backlash"] * sign(carried)
        return np.asarray(self.state_layout.join({"angle": angle, "speed": reals_or_traced(qd, "qd")}))

    def torque(self, q: Array, qd: Array, state: Array, parameters: Mapping[str, Any] | None = None) -> Array:
        """Return the torques of springs and dampers on the links.

        Parameters
        ----------
        q, qd
            Positions and velocities of the links, shape (..., n), rad and rad/s.
        state
            Motor angles and speeds, shape (..., 2 n), rad and rad/s.
        parameters
            Values by name; default `parameters` of this object.

        Returns
        -------
        ndarray
            Shape (..., n), N·m; the opposite torques act on the motors.
        """
        values = self.parameters if parameters is None else parameters
        _, speed = self.split(state)
        excess = self._excess(q, state, values)
        pushing = values["stiffness"] * excess + values["damping"] * (speed - qd)
        one_sided = where_positive(excess, maximum(pushing, 0.0), where_positive(-excess, minimum(pushing, 0.0), 0.0))
        return where_positive(values["backlash"], one_sided, pushing)

    def derivative(
        self, state: Array, q: Array, qd: Array, motor_torque: Array, parameters: Mapping[str, Any] | None = None
    ) -> Array:
        """Return the rates of the state, shape (..., 2 n).

        Parameters
        ----------
        state, q, qd, parameters
            See `torque`.
        motor_torque
            Torques on the motor side, minus friction there, shape (..., n), N·m.
        """
        values = self.parameters if parameters is None else parameters
        _, speed = self.split(state)
        acceleration = (motor_torque - self.torque(q, qd, state, values)) / values["rotor_inertia"]
        return self.state_layout.join({"angle": speed, "speed": acceleration})

    def elastic_energy(self, q: Array, state: Array, parameters: Mapping[str, Any] | None = None) -> Real:
        """Return the energy in the springs, shape (..., n), J; arguments as for `torque`."""
        values = self.parameters if parameters is None else parameters
        return 0.5 * values["stiffness"] * self._excess(q, state, values) ** 2

    def rotor_energy(self, state: Array, parameters: Mapping[str, Any] | None = None) -> Real:
        """Return the kinetic energy of the motors, shape (..., n), J; arguments as for `torque`."""
        values = self.parameters if parameters is None else parameters
        _, speed = self.split(state)
        return 0.5 * values["rotor_inertia"] * speed**2

    def loss(self, q: Array, qd: Array, state: Array, parameters: Mapping[str, Any] | None = None) -> Real:
        """Return the power lost in the dampers, shape (..., n), W; arguments as for `torque`.

        When teeth separate faster than the damped spring relaxes, its remaining energy is lost.
        """
        values = self.parameters if parameters is None else parameters
        _, speed = self.split(state)
        damped = values["damping"] * (speed - qd) ** 2
        left_behind = -values["stiffness"] * self._excess(q, state, values) * (speed - qd)
        touching = absolute(self.torque(q, qd, state, values))
        return where_positive(values["backlash"], where_positive(touching, damped, left_behind), damped)

    def _excess(self, q: Array, state: Array, values: Mapping[str, Any]) -> Array:
        """Return the deflection of the springs, (..., n): what the motor is ahead of the link beyond the gap."""
        deflection = self.split(state)[0] - q
        half = 0.5 * values["backlash"]
        return where_positive(half, deflection - clip(deflection, -half, half), deflection)

    def split(self, state: Array) -> tuple[Any, Any]:
        """Return motor angles and speeds, each (..., n)."""
        parts = self.state_layout.split(state)
        return parts.angle, parts.speed
