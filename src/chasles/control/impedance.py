"""Impedance control: the frame answers the environment like a mass on a spring and a damper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.cartesian_controller import CartesianController, TaskOptions
from chasles.control.compliance import (
    Axes,
    compliance_wrench,
    moved,
    offset,
    require_axes,
    spring_wrench,
    world_wrench,
)
from chasles.control.floating_base import ReducedDynamics, is_floating
from chasles.control.now import Now
from chasles.control.pose_feedback import OrientationError, require_orientation_error
from chasles.control.task_space import TaskMotion, felt_inertia, force_for
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, reals
from chasles.robot.robot import Robot
from chasles.trajectories.motion import PoseMotion

#: Bounds of the parameters of `compliant_gains`.
COMPLIANT = {
    f"{prefix}{name}": bound
    for prefix in ("", "rotational_")
    for name, bound in (("stiffness", NOT_NEGATIVE), ("damping", NOT_NEGATIVE), ("inertia", POSITIVE))
}


class Impedance(CartesianController):
    """B x'' + D x' + K x = f for the offset x of the frame from its reference, in position and orientation.

    f is the wrench that the environment exerts on the frame. There are two forms:

    - ``inertia=None``: B is the arm's natural inertia, and no force is measured. The torques are ``g + M qdd_d + C(q,
      qd) qd_d - Jᵀ (D x' + K x) - kn (M - Jᵀ Λ J) qd``, with the joint motion of the reference, qd_d = J⁺ twist_ref.
      With the reference at rest and no nullspace_stiffness, only the work of f can increase the energy of motion and
      springs, ``qdᵀ M qd / 2 + U``, in continuous time and within the torque limits. This holds for every arm in every
      configuration, including singular ones: the arm is stable in contact with every passive environment.
    - a given ``inertia``, B constant: the wrench is measured and cancelled, and the torques are ``ID(q, qd, J⁺ (a - J'
      qd)) - Jᵀ f``. The equation of the position is then linear. A value of B far from the arm's natural inertia
      requires a good model, a fast loop and a good sensor.

    At rest K x = f. All quantities are expressed along the axes of the reference or of the world. The orientation
    offset is a rotation S, whose springs store an energy: ``"quaternion"``, 2 vᵀ K v of the quaternion's vector part,
    smooth at all angles, whose moment is K sin θ about a principal axis; or ``"logarithm"``, rᵀ K r / 2 of the rotation
    vector, whose moment is K θ up to half a turn. Derived from an energy, the moments have the right sign and strength
    at every angle.

    On a floating base without a given inertia, B is the inertia Λ of `OperationalSpace`; the base moves in reaction to
    the joints and f.

    It requires gravity, mass matrix and Coriolis terms; with a given inertia, the full dynamic model. Sources: Hogan,
    "Impedance control: an approach to manipulation" (1985); Caccavale, Natale, Siciliano and Villani, "Six-DOF
    impedance control based on angle/axis representations" (1999).

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    stiffness, damping
        Translational stiffness and damping, N/m and N·s/m, not negative, a scalar or one value per axis.
    rotational_stiffness, rotational_damping
        Rotational stiffness and damping, N·m/rad and N·m·s/rad; required if the orientation is controlled.
    inertia, rotational_inertia
        Desired inertia in kg and kg·m², positive; default the arm's natural inertia. If given, the plant measures the
        wrench at the frame.
    axes
        Frame along whose axes the values above are given: ``"reference"`` or ``"world"``.
    orientation_error
        ``"quaternion"`` or ``"logarithm"``.
    **task
        ``target``, ``components``, ``nullspace_damping`` (kn), ``nullspace_stiffness``, ``posture``, ``threshold``,
        ``largest_damping``: see `CartesianController`.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> soft = {"stiffness": 400.0, "damping": 80.0, "rotational_stiffness": 30.0, "rotational_damping": 6.0}
    >>> controller = ch.control.Impedance(arm, **soft)
    >>> shaped = ch.control.Impedance(arm, **soft, inertia=4.0, rotational_inertia=0.3)
    """

    name = "impedance"
    kind = "impedance"
    bounds: Mapping[str, Bound] = {**CartesianController.bounds, **COMPLIANT}

    def __init__(
        self,
        robot: Robot,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike,
        rotational_stiffness: ArrayLike | None = None,
        rotational_damping: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        rotational_inertia: ArrayLike | None = None,
        axes: Axes = "reference",
        orientation_error: OrientationError = "quaternion",
        **task: Unpack[TaskOptions],
    ) -> None:
        require_orientation_error(orientation_error)
        require_axes(axes)
        self.orientation_error: OrientationError = orientation_error
        self.axes: Axes = axes
        self.shapes_inertia = inertia is not None
        coefficients = {
            "stiffness": stiffness,
            "damping": damping,
            "rotational_stiffness": rotational_stiffness,
            "rotational_damping": rotational_damping,
        }
        if self.shapes_inertia:
            coefficients |= {"inertia": inertia, "rotational_inertia": rotational_inertia}
        elif rotational_inertia is not None:
            raise ArgumentError("rotational_inertia, kg·m², needs inertia, kg, as well")
        gains = compliant_gains(task.get("components"), **coefficients)
        super().__init__(robot, gains, **task)
        if self.shapes_inertia:
            self.measured_wrench = self.target

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        frame, desired = self.task.motion(now.q, now.qd), self.wanted(now.reference)
        away = offset(frame.pose, frame.twist, desired, self.axes)
        push = spring_wrench(away, gains6(self.parameters, "stiffness"), self.orientation_error)
        push = push - gains6(self.parameters, "damping") * away.velocity
        if not self.shapes_inertia:
            return self._own_inertia(now, frame, desired, push)
        wrench = measured_in_world(frame.pose, now)
        felt = push + compliance_wrench(wrench, desired, self.axes)
        a = moved(desired, away, felt / gains6(self.parameters, "inertia"), self.axes).acceleration
        return self.accelerating(now, frame, a, wrench)

    def _own_inertia(self, now: Now, frame: TaskMotion, desired: PoseMotion, push: Array) -> NDArray[Any]:
        """Torques that leave the arm its inertia.

        C(q, a) b = (c(q, a + b) - c(q, a - b)) / 4, with c(q, v) = C(q, v) v.
        """
        q, qd, idle = now.q, now.qd, self.idle(now)
        J = self.task.select(frame.J)
        force = self.task.select(world_wrench(push, desired, self.axes))
        if is_floating(self.robot):
            reduced = ReducedDynamics.at(self.robot, q, qd)
            missing = self.task.select(desired.acceleration - frame.drift) - reduced.drift(J)
            J, idle = reduced.jacobian(J), idle[reduced.motors]
            return reduced.torques(idle, J.T @ (force + force_for(self.task, reduced.M, J, missing - J @ idle)))
        still = np.zeros(self.robot.n)
        qd_d = self.task.inverted(J, self.task.select(desired.twist), still)
        Jdot = self.robot.jacobian_derivative(q, qd, frame="world-aligned", target=self.target)
        bend = self.task.select(np.asarray(Jdot) @ qd_d)
        qdd_d = self.task.inverted(J, self.task.select(desired.acceleration) - bend, still)
        carried = self.robot.coriolis_vector(q, qd + qd_d) - self.robot.coriolis_vector(q, qd - qd_d)
        Lambda, _ = felt_inertia(self.robot.mass_matrix(q), J, self.task.damping(J))
        force = force - Lambda @ (J @ idle)
        return np.asarray(self.robot.inverse_dynamics(q, still, qdd_d + idle) + 0.25 * carried + J.T @ force)


def gains6(parameters: Mapping[str, Any], name: str) -> Any:
    """Numbers (6,) of a frame, angular part first, from those of its orientation and its position."""
    return np.concatenate([parameters[f"rotational_{name}"], parameters[name]])


def compliant_gains(
    components: Sequence[str] | None, **coefficients: ArrayLike | None
) -> dict[str, NDArray[np.float64]]:
    """Return stiffness, damping and inertia, (3,) each, as they are given for position and orientation.

    Raises
    ------
    ArgumentError
        If one is missing although the orientation is controlled, negative, or an inertia is zero.
    """
    turns = components is None or any(name.startswith("r") for name in components)
    gains = {}
    for name, value in coefficients.items():
        if value is None and turns:
            raise ArgumentError(
                f"{name} is missing: the orientation is controlled too; give it, or control positions only with "
                "components=('x', 'y', 'z')"
            )
        without = 1.0 if name.endswith("inertia") else 0.0
        coefficient = without if value is None else value
        gains[name] = reals(coefficient, name, (3,), broadcast=True, bound=COMPLIANT[name])
    return gains


def measured_in_world(T: Array, now: Now) -> Any:
    """Measured wrench (6,) of the environment on the frame, in world axes, about its origin."""
    wrench, R = np.asarray(now.wrench), T[:3, :3]
    return np.concatenate([R @ wrench[:3], R @ wrench[3:]])
