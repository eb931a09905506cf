"""Resolved-acceleration control: computed torque for the motion of a frame."""

from __future__ import annotations

from typing import Any

from chasles.control.cartesian_controller import AcceleratedFrame, frame_gains
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign


class ResolvedAcceleration(AcceleratedFrame):
    """tau = ID(q, qd, J⁺ (a - J' qd)), with the frame acceleration a that makes the error decay.

    With an exact model the position error obeys e'' + kd e' + kp e = 0. There are two laws for the orientation.
    ``"quaternion"`` is α = α_ref + kd (ω_ref - ω) + kp e with twice the vector part of the quaternion, e = 2 sin(θ/2)
    axis, which is bounded. ``"logarithm"`` gives the rotation vector e of R_ref Rᵀ the linear equation of the position,
    at every angle below half a turn. The inverse J⁺ is damped near singular configurations: joint accelerations stay
    bounded, at the cost of a tracking error. Redundant joint motion is damped.

    A floating base moves in reaction to the joints; J and J' qd are then those of the actuated joints, as for space
    manipulators (Umetani and Yoshida, 1989).

    It requires the robot's kinematics and full dynamics. Sources: Luh, Walker and Paul, "Resolved-acceleration control
    of mechanical manipulators" (1980), with half of the sine of the angle between the axes as the orientation error;
    Caccavale, Natale, Siciliano and Villani, "Resolved-acceleration control of robot manipulators: a critical review
    with experiments" (1998), for the errors used here.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd
        Gains in 1/s² and 1/s, not negative, a scalar or one value per world axis.
    kp_orientation, kd_orientation
        Gains of the orientation, in the same units; default the position gains.
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
        """Return gains that give the frame error the dynamics of a unit mass."""
        return frame_gains(design)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        frame, a = self.frame_acceleration(now)
        return self.accelerating(now, frame, a)
