"""Poles that the rules of laws design for, and what is left of them in the sampled loop with its delay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from chasles.control import DisturbanceObserver, LinearQuadraticGaussian, PoleDesign, WholeBodyFollowing
from chasles.control.pole_design import SampledGains
from chasles.control.robot_controller import RobotController, rule_settings
from chasles.studies.sampled_loops import filtered, observed, regulator, sampled_poles, state_feedback


class Attained(NamedTuple):
    """Poles assigned to a law by its design rule, for its model, and what is left of them with a delay.

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
        not linear.
    sampled
        Poles of the sampled loop on a unit mass, hold and delay included, 1/s, slowest first: log(z)/h for each
        eigenvalue z. Without delay those above, and those of an observer or filter. Empty for laws that are not linear.
    """

    wanted: float
    frequency: float
    damping: float
    integral: float
    stiffness: float
    sampled: tuple[complex, ...] = ()

    @property
    def is_lowered(self) -> bool:
        """Whether the sample period did not allow the frequency asked for."""
        return self.frequency < self.wanted * (1.0 - 1e-9)

    @property
    def slowest(self) -> tuple[float, float] | None:
        """Natural frequency, rad/s, and damping ratio (negative: unstable) of the slowest pole; None if not known."""
        if not self.sampled:
            return None
        frequency = abs(self.sampled[0])
        return frequency, -self.sampled[0].real / frequency if frequency else 0.0


def attained(
    law: type[RobotController], design: PoleDesign, delay: float = 0.0, given: Mapping[str, Any] = MappingProxyType({})
) -> Attained:
    """Return the poles that the rule of a law designs for, and those of the sampled loop with a delay.

    Parameters
    ----------
    law, design
        The law, and what its rule designs.
    delay
        Delay from sampling to the torque's effect, in sample periods.
    given
        Settings of the law: of its rule, the ``delay`` that it knows, the noise that its filter expects.

    Examples
    --------
    Without delay the sampled poles are those of the design; at 60 Hz a period of delay makes them oscillate:

    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> attained(ch.ComputedTorque, PoleDesign(arm, motion, 1 / 30)).frequency
    15.0
    >>> design = PoleDesign(arm, motion, 1 / 60, integral=1.0)
    >>> [round(value, 2) for value in attained(ch.ComputedTorque, design).slowest]
    [20.0, 1.0]
    >>> attained(ch.ComputedTorque, design, delay=1.0).slowest[1] < 0.2
    True
    """
    frequency = design.attainable_alone if law.designs_joints_alone else design.attainable
    gains = _unit_gains(law, design, frequency)
    return Attained(
        design.frequency,
        frequency,
        1.0 if law is WholeBodyFollowing else design.damping,
        design.integral * frequency,
        gains.kp + design.period * gains.ki if law.is_linear else math.nan,
        _sampled(law, design, frequency, delay, given) if law.is_linear else (),
    )


def _unit_gains(law: type[RobotController], design: PoleDesign, frequency: float) -> SampledGains:
    """Gains of a law of state feedback on a unit mass."""
    return SampledGains(frequency**2, 2.0 * frequency, 0.0) if law is WholeBodyFollowing else design.gains(frequency)


def _sampled(
    law: type[RobotController], design: PoleDesign, frequency: float, delay: float, given: Mapping[str, Any]
) -> tuple[complex, ...]:
    """Poles of the sampled loop of a linear law; of several joints, those of the slowest."""
    known_delay = float(given.get("delay", 0.0))
    if law is DisturbanceObserver:
        laws = [observed(design, frequency, given.get("observer", 1.0) * frequency)]
    elif law is LinearQuadraticGaussian:
        rule = {name: given[name] for name in rule_settings(law) if name in given}
        laws = filtered(design, frequency, known_delay, {**law.gains(design, **rule), **given})
    else:
        gains = _unit_gains(law, design, frequency)
        laws = [regulator(design, frequency, known_delay) if known_delay else state_feedback(gains, design.period)]
    candidates = [sampled_poles(call, memory, design.period, delay) for call, memory in laws]
    return tuple(max(candidates, key=lambda poles: float(poles[0].real)).tolist())
