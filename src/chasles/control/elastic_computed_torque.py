"""Computed torque of fourth order, for robots with elastic joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.elastic_joint_law import ElasticJointLaw, higher_derivatives, torque_derivatives
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.engine import Record
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory, Motion

Floats = NDArray[np.float64]

_SLOWER = 0.1  # of the frequency of laws of two poles, where gains are not designed by margins


class ElasticComputedTorque(ElasticJointLaw):
    """τ = B θ̈ + K (θ - q), where θ̈ is that of motors that give the links the fourth derivative v.

        v = q_ref'''' + 4ζω e''' + (2 + 4ζ²) ω² e'' + 4ζω³ e' + ω⁴ e

    For links M q̈ + n(q, q̇) = K (θ - q) behind springs K and motors B θ̈ + K (θ - q) = τ, the motors of a motion are at
    θ = q + K⁻¹ (M q̈ + n), and two more derivatives of the inverse dynamics give θ̈ for v. In continuous time each error
    of an exact model then obeys (s² + 2ζω s + ω²)² e = 0, above the resonance too. The law measures q, q̇, θ and θ̇; q̈
    and q''' follow from the springs' torques and their rates, not from differentiation.

    Source: Spong, "Modeling and control of elastic joint robots", Journal of Dynamic Systems, Measurement, and Control
    109, 1987; De Luca and Book, "Robots with flexible elements", Springer Handbook of Robotics (2016), section 11.1.

    Parameters
    ----------
    robot
        Model of the links, without the motors' inertia; see `chasles.ElasticJoints.of_robot`.
    stiffness, rotor_inertia
        K, N·m/rad, and B, kg·m², of the joints, positive, a scalar or one value per joint.
    frequency, damping
        ω, rad/s, and ζ, positive, a scalar or one value per joint. Sampling bounds ω above and below, for torques that
        cancel those of the springs are held: `tuned` finds the largest ω with a margin in the sampled loop, differenced
        velocities and declared errors of the stiffness included.

    Notes
    -----
    The springs' damping is not compensated; it damps further where it is small. Viscous friction of the links is
    compensated. Dry friction and friction of the load, which have no derivatives, are compensated at the reference
    velocity, as constants.

    Examples
    --------
    Joints with a resonance at 10 Hz, and a law twice as fast as usual laws of the links may be:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> law = ElasticComputedTorque(arm, stiffness=[800.0, 100.0], rotor_inertia=[0.3, 0.05], frequency=30.0)
    >>> joints = ch.ElasticJoints(arm, stiffness=[800.0, 100.0], rotor_inertia=[0.3, 0.05])
    >>> motion = ch.PointToPoint([0.0, 0.0], [0.5, 0.3], duration=0.6)
    >>> run = ch.simulate(ch.Plant(arm, elastic_joints=joints), law, motion, duration=1.0)
    >>> float(abs(run.error).max()) < 1e-2
    True
    """

    kind = "elastic-computed-torque"
    name = "computed torque of elastic joints"
    design_damping: ClassVar[float] = 1.0
    frequency: Array
    damping: Array

    def __init__(
        self,
        robot: Robot,
        *,
        stiffness: ArrayLike,
        rotor_inertia: ArrayLike,
        frequency: ArrayLike,
        damping: ArrayLike = 1.0,
    ) -> None:
        values = {"frequency": frequency, "damping": damping}
        super().__init__(robot, stiffness=stiffness, rotor_inertia=rotor_inertia, values=values, memory={})

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return frequency and damping of a design."""
        return {"frequency": design.attainable, "damping": design.damping}

    @classmethod
    def design(cls, robot: Robot, motion: JointTrajectory, period: float, settings: Mapping[str, Any]) -> PoleDesign:
        """Return the poles that settings ask for: two pairs, the jerk measured, and ω h at most 0.05 / ζ."""
        bound = _SLOWER * settings.get("damping_times_period", 1.0)
        return super().design(robot, motion, period, {**settings, "damping_times_period": bound})

    def schedule(self, times: Floats, motion: Motion) -> Record:
        """Return third and fourth derivatives of the reference, each (k, n), by a spline through its accelerations."""
        jerk, snap = higher_derivatives(times, motion)
        return Record(jerk=jerk, snap=snap)

    def settled_schedule(self, motion: Motion, period: float) -> Record:
        """Return derivatives of zero: accelerations stay as they are at each place."""
        return Record(jerk=np.zeros_like(motion.qdd), snap=np.zeros_like(motion.qdd))

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        if now.motors is None:
            raise ArgumentError(f"'{self.name}' needs the motor sides of elastic joints")
        q, qd, reference, motors = now.q, now.qd, now.reference, now.motors
        links = self.smooth
        first, second = torque_derivatives(links)
        still = np.zeros(self.robot.n)
        spring, rate = self.stiffness * (motors.q - q), self.stiffness * (motors.qd - qd)
        unforced = links.forward_dynamics(q, qd, still)
        qdd = links.forward_dynamics(q, qd, spring - self.dry_friction(q, reference.qd, spring))
        rest = first(q, qd, qdd, still)  # of the rate of the torques, without M q'''
        jerk = links.forward_dynamics(q, qd, rate - rest) - unforced
        w, z = self.frequency, self.damping
        v = now.schedule.snap + 4.0 * z * w * (now.schedule.jerk - jerk)
        v = v + (2.0 + 4.0 * z * z) * w * w * (reference.qdd - qdd)
        v = v + 4.0 * z * w**3 * (reference.qd - qd) + w**4 * (reference.q - q)
        motor_acceleration = qdd + second(q, qd, qdd, jerk, v) / self.stiffness
        return self.rotor_inertia * motor_acceleration + spring

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, frequency={self.frequency.tolist()})"
