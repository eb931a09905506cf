"""Resolved-acceleration control: computed torque for the motion of a frame."""

from __future__ import annotations

from typing import Any

from chasles.control.cartesian_controller import AcceleratedFrame, frame_gains
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign


class ResolvedAcceleration(AcceleratedFrame):
    """tau = ID(q, qd, J⁺ (a - J' qd)), a the acceleration of the frame with which its error decays.

    With an exact model the position's error obeys e'' + kd e' + kp e = 0. For the orientation there are two laws.
    ``"quaternion"`` is α = α_ref + kd (ω_ref - ω) + kp e with twice the vector part of the quaternion, e = 2 sin(θ/2)
    axis, which never grows too large. ``"logarithm"`` gives the rotation vector e of R_ref Rᵀ the linear equation of
    the position, at every angle below half a turn. The inverse J⁺ is damped near singular configurations, where joint
    accelerations stay bounded and the frame is late instead. Joints that are free to move are slowed down.

    On a floating base, which moves as the joints make it move, J and J' qd are those of the joints with motors, as for
    space manipulators (Umetani and Yoshida, 1989).

    It needs to know the robot's kinematics and whole dynamics. Sources: Luh, Walker and Paul, "Resolved-acceleration
    control of mechanical manipulators" (1980), with half of the sine of the angle between the axes as the orientation's
    error; Caccavale, Natale, Siciliano and Villani, "Resolved-acceleration control of robot manipulators: a critical
    review with experiments" (1998), for the errors used here.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd
        Gains in 1/s² and 1/s, not negative, one number or one for each world axis.
    kp_orientation, kd_orientation
        The same for the orientation; default those of the position.
    orientation_error
        ``"quaternion"`` or ``"logarithm"``.
    **task
        ``target``, ``components``, ``nullspace_damping``, ``nullspace_stiffness``, ``posture``, ``threshold``,
        ``largest_damping``: see `CartesianController`.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.control.ResolvedAcceleration(ch.load("panda"), kp=400.0, kd=40.0)
    >>> planar = ch.control.ResolvedAcceleration(ch.load("planar2r"), kp=400.0, kd=40.0, components=("x", "y"))
    """

    name = "resolved acceleration"
    kind = "resolved-acceleration"

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return gains with which the frame's error obeys the equation of a unit mass."""
        return frame_gains(design)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        frame, a = self.frame_acceleration(now)
        return self.accelerating(now, frame, a)
