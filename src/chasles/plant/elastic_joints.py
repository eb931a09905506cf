"""Joints with a spring between motor and link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine.scalar import boxed
from chasles.errors import ArgumentError
from chasles.plant.effect import Effect, checked, joint_count

if TYPE_CHECKING:
    from chasles.robot import Robot


class ElasticJoints(Effect):
    """A spring and a damper in every joint, between the motor with its gear and the link.

    With the motors' angles θ, turned by the gear to the joints' side, the robot obeys

        M(q) q̈ + c(q, q̇) + g(q) = K (θ - q) + D (θ̇ - q̇) + Jᵀ w
        B θ̈ + K (θ - q) + D (θ̇ - q̇) = τ.

    Harmonic drives and long belts yield like this. The torque of the motor and the encoder on its shaft are on one
    side of the spring, and the tool on the other: they are not collocated, which limits the gains of any controller.
    As K grows the joints become rigid, with M + B for the mass matrix.

    The motor inertia of the robot's own description stays on the links' side of the spring. To move it to the motors'
    side, where it mostly belongs, use `of_robot`.

    Parameters
    ----------
    robot
        A robot, or the number n of its joints.
    stiffness
        K, N m/rad. All numbers are one for all joints, or one for each; for sliding joints read m for rad, N for N m.
    damping
        D, N m s/rad.
    rotor_inertia
        B, kg m², at the joint: N² times the inertia at the motor's shaft behind a gear of N. Above zero.

    Raises
    ------
    ArgumentError
        A number is impossible: the message says which.

    Notes
    -----
    Spong, "Modeling and control of elastic joint robots", Journal of Dynamic Systems, Measurement, and Control 109,
    1987: the rotors' kinetic energy is that of their own spin alone, as it is behind large gear ratios.

    Examples
    --------
    >>> joints = ElasticJoints(1, stiffness=1000.0, rotor_inertia=0.2)
    >>> joints.torque(np.array([0.5]), np.zeros(1), np.array([0.51, 0.0])).round(12)
    array([10.])
    """

    n: int

    def __init__(self, robot: Any, *, stiffness: ArrayLike, rotor_inertia: ArrayLike, damping: ArrayLike = 0.0) -> None:
        self.n = n = joint_count(robot)
        parameters = {
            "stiffness": checked(stiffness, (n,), "stiffness", positive=True),
            "damping": checked(damping, (n,), "damping", least=0.0),
            "rotor_inertia": checked(rotor_inertia, (n,), "rotor_inertia", positive=True),
        }
        super().__init__("elastic_joints", parameters)

    @classmethod
    def of_robot(cls, robot: Robot, *, stiffness: ArrayLike, damping: ArrayLike = 0.0) -> tuple[Robot, Self]:
        """Move the motors of a robot to the other side of springs.

        Returns
        -------
        robot
            The same without motor inertia at its joints.
        elastic_joints
            With that inertia on the motors' side.

        Raises
        ------
        ArgumentError
            A joint has no motor inertia, or one that another joint drives has some.

        Examples
        --------
        >>> import chasles as ch
        >>> links, joints = ElasticJoints.of_robot(ch.load("puma560"), stiffness=1e4)
        >>> joints.parameters["rotor_inertia"].round(3)
        array([0.784, 2.325, 0.577, 0.191, 0.171, 0.194])
        """
        described = {joint.name: joint for joint in robot.description.joints}
        own = {name: joint.gear_ratio**2 * joint.motor_inertia for name, joint in described.items()}
        missing = [name for name in robot.joint_names if own[name] == 0.0]
        extra = [name for name, inertia in own.items() if inertia and name not in robot.joint_names]
        if missing or extra:
            raise ArgumentError(
                f"every joint that moves by itself, and no other, needs a motor inertia; of robot '{robot.name}' "
                f"without: {', '.join(missing) or 'none'}; other joints with: {', '.join(extra) or 'none'}"
            )
        links = robot.with_values({f"joints.{name}.motor_inertia": 0.0 for name in robot.joint_names})
        inertia = [own[name] for name in robot.joint_names]
        return links, cls(robot, stiffness=stiffness, damping=damping, rotor_inertia=inertia)

    @property
    def state_size(self) -> int:
        """Numbers in the state: the motors' angles θ and speeds θ̇, 2 n."""
        return 2 * self.n

    def initial_state(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike = 0.0) -> NDArray[np.float64]:
        """State (..., 2 n) in which the springs carry the torques tau (..., n) and stretch no further.

        >>> ElasticJoints(1, stiffness=1000.0, rotor_inertia=0.2).initial_state([0.5], [0.1], [10.0])
        array([0.51, 0.1 ])
        """
        angles = np.asarray(q, dtype=float) + np.asarray(tau, dtype=float) / self.parameters["stiffness"]
        return np.concatenate(np.broadcast_arrays(angles, np.asarray(qd, dtype=float)), axis=-1)

    def torque(self, q: Any, qd: Any, state: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Torques of springs and dampers on the links.

        Parameters
        ----------
        q, qd
            Positions and velocities of the links, shape (..., n), rad and rad/s.
        state
            Angles and speeds of the motors, shape (..., 2 n), rad and rad/s.
        parameters
            Numbers of the formula by name; default the object's own.

        Returns
        -------
        ndarray
            Shape (..., n), N m; their opposite acts on the motors.
        """
        own = self.parameters if parameters is None else parameters
        angle, speed = self.split(state)
        return own["stiffness"] * (angle - q) + own["damping"] * (speed - qd)

    def derivative(
        self, state: Any, q: Any, qd: Any, motor_torque: Any, parameters: Mapping[str, Any] | None = None
    ) -> Any:
        """Rates of the state, shape (..., 2 n).

        Parameters
        ----------
        state, q, qd, parameters
            As for `torque`.
        motor_torque
            Torques on the motors' side, less friction there, shape (..., n), N m.
        """
        own = self.parameters if parameters is None else parameters
        _, speed = self.split(state)
        acceleration = (motor_torque - self.torque(q, qd, state, own)) / own["rotor_inertia"]
        return np.concatenate([speed, acceleration], axis=-1)

    def elastic_energy(self, q: Any, state: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Energy in the springs, shape (..., n), J; arguments as for `torque`."""
        own = self.parameters if parameters is None else parameters
        angle, _ = self.split(state)
        return 0.5 * own["stiffness"] * (angle - q) ** 2

    def rotor_energy(self, state: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Kinetic energy of the motors, shape (..., n), J; arguments as for `torque`."""
        own = self.parameters if parameters is None else parameters
        _, speed = self.split(state)
        return 0.5 * own["rotor_inertia"] * speed**2

    def loss(self, qd: Any, state: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Power lost in the dampers, shape (..., n), W; arguments as for `torque`."""
        own = self.parameters if parameters is None else parameters
        _, speed = self.split(state)
        return own["damping"] * (speed - qd) ** 2

    def split(self, state: Any) -> tuple[Any, Any]:
        """Angles and speeds of the motors, each of shape (..., n)."""
        array = boxed(state)
        return array[..., : self.n], array[..., self.n :]
