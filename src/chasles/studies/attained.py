"""Poles that the rules of laws design for."""

from __future__ import annotations

import math
from typing import NamedTuple

from chasles.control import PoleDesign, WholeBodyFollowing
from chasles.control.pole_design import SampledGains
from chasles.control.robot_controller import RobotController


class Attained(NamedTuple):
    """Poles assigned to a law by its design rule, for its model without gravity and without delay.

    Attributes
    ----------
    wanted
        Natural frequency asked for, rad/s.
    frequency
        Design natural frequency, rad/s; lower than requested if the sample period is too long.
    damping
        Damping ratio.
    integral
        Third pole, rad/s; 0 without integral action.
    stiffness
        Held torque per unit of error and inertia, 1/s²: the same for laws with the same poles. NaN for laws that are
        not linear, or of elastic joints.
    """

    wanted: float
    frequency: float
    damping: float
    integral: float
    stiffness: float

    @property
    def is_lowered(self) -> bool:
        """Whether the sample period did not allow the frequency asked for."""
        return self.frequency < self.wanted * (1.0 - 1e-9)


def attained(law: type[RobotController], design: PoleDesign) -> Attained:
    """Return the poles that the rule of a law designs for.

    Parameters
    ----------
    law, design
        The law, and what its rule designs.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> attained(ch.ComputedTorque, PoleDesign(arm, motion, 1 / 30)).frequency
    15.0
    """
    frequency = design.attainable_alone if law.designs_joints_alone else design.attainable
    gains = _unit_gains(law, design, frequency)
    return Attained(
        design.frequency,
        frequency,
        1.0 if law is WholeBodyFollowing else design.damping,
        design.integral * frequency,
        gains.kp + design.period * gains.ki if law.is_linear and not law.measures_motors else math.nan,
    )


def _unit_gains(law: type[RobotController], design: PoleDesign, frequency: float) -> SampledGains:
    """Gains of a law of state feedback on a unit mass."""
    return SampledGains(frequency**2, 2.0 * frequency, 0.0) if law is WholeBodyFollowing else design.gains(frequency)
