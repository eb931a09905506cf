"""Gains by one rule for every kind of controller: the same bandwidth, as far as the sample period allows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from chasles.control import PoleDesign
from chasles.control.adaptive import (
    adaptation_gains,
    model_reference_gains,
    natural_gains,
    perturbation_gains,
)
from chasles.control.floating_base import has_motors
from chasles.control.linear_quadratic import filtered_regulator_gains, regulator_gains
from chasles.control.pole_design import SampledGains
from chasles.control.robust import sliding_gains
from chasles.studies.sampled_loops import (
    filtered,
    observed,
    regulator,
    sampled_poles,
    state_feedback,
)


@dataclass(frozen=True)
class LawDesign(PoleDesign):
    """Poles that all controllers of a study are to have in common, and what single laws are free to choose besides.

    Attributes
    ----------
    observer
        Bandwidth of a disturbance observer, as a multiple of the frequency.
    reaching
        Rate at which Lee and Chung's law reaches its line, as a multiple of the frequency.
    learning
        Factor of the adaptation gains.
    disturbance
        Unknown torques that a Kalman filter expects, as a share of each joint's peak torque.
    """

    observer: float = 1.0
    reaching: float = 10.0
    learning: float = 1.0
    disturbance: float = 0.2


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


def attained(rule: Rule, design: LawDesign, delay: float = 0.0, given: Mapping[str, Any] | None = None) -> Attained:
    """Return the poles that a rule designs for, and those of the sampled loop with a delay, in sample periods.

    Parameters
    ----------
    rule, design
        Rule for the gains, and what it designs.
    delay
        Delay from sampling to the torque's effect.
    given
        Further settings of the law, such as the ``delay`` that it knows and the noise that its filter expects.

    Examples
    --------
    Without delay the sampled poles are those of the design; at 60 Hz a period of delay makes them oscillate:

    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> attained(error_equation, LawDesign(arm, motion, 1 / 30)).frequency
    15.0
    >>> design = LawDesign(arm, motion, 1 / 60, integral=1.0)
    >>> [round(value, 2) for value in attained(error_equation, design).slowest]
    [20.0, 1.0]
    >>> attained(error_equation, design, delay=1.0).slowest[1] < 0.2
    True
    """
    alone = rule in _OF_SINGLE_JOINTS
    frequency = design.attainable_alone if alone else design.attainable
    gains, is_nonlinear = _unit_gains(rule, design, frequency), rule in _NOT_LINEAR
    return Attained(
        design.frequency,
        frequency,
        1.0 if rule is double_pole else design.damping,
        design.integral * frequency,
        math.nan if is_nonlinear else gains.kp + design.period * gains.ki,
        () if is_nonlinear else _sampled(rule, design, frequency, delay, given or {}),
    )


def _unit_gains(rule: Rule, design: LawDesign, frequency: float) -> SampledGains:
    """Gains of a law of state feedback on a unit mass."""
    return SampledGains(frequency**2, 2.0 * frequency, 0.0) if rule is double_pole else design.gains(frequency)


def _sampled(
    rule: Rule, design: LawDesign, frequency: float, delay: float, given: Mapping[str, Any]
) -> tuple[complex, ...]:
    """Poles of the sampled loop of a linear law; of several joints, those of the slowest."""
    known = float(given.get("delay", 0.0))
    if rule is observed_error_equation:
        laws = [observed(design, frequency, design.observer * frequency)]
    elif rule is quadratic_weights_and_noise:
        laws = filtered(design, frequency, known, {**rule(design), **given})
    else:
        gains = _unit_gains(rule, design, frequency)
        laws = [regulator(design, frequency, known) if known else state_feedback(gains, design.period)]
    found = [sampled_poles(call, memory, design.period, delay) for call, memory in laws]
    return tuple(max(found, key=lambda poles: float(poles[0].real)).tolist())


Rule = Callable[[LawDesign], dict[str, Any]]


def stiffness(design: LawDesign) -> dict[str, Any]:
    """Each joint as if it turned alone; free joints have no motor."""
    gains = design.gains(design.attainable_alone)
    inertia = design.inertia * has_motors(design.model)
    return {"kp": inertia * gains.kp, "kd": inertia * gains.kd}


def stiffness_with_integral(design: LawDesign) -> dict[str, Any]:
    """Each joint as if it turned alone; free joints have no motor."""
    ki = design.gains(design.attainable_alone).ki
    return stiffness(design) | {"ki": design.inertia * has_motors(design.model) * ki}


def error_equation(design: LawDesign) -> dict[str, Any]:
    """The error of every joint obeys the equation of a unit mass."""
    return design.gains(design.attainable)._asdict()


def frame_error_equation(design: LawDesign) -> dict[str, Any]:
    """The error of a frame obeys the equation of a unit mass."""
    gains = design.gains(design.attainable)
    return {"kp": gains.kp, "kd": gains.kd}


def double_pole(design: LawDesign) -> dict[str, Any]:
    """The errors of all tasks obey e'' + 2 w e' + w² e = 0 but for the hold: their poles are not placed exactly."""
    return {"gain": design.attainable}


def quadratic_weights(design: LawDesign) -> dict[str, Any]:
    """Weights of `chasles.control.TimeVaryingRegulator.tuned`: the regulator of the mean mass matrix has the poles."""
    return regulator_gains(design)


def quadratic_weights_at_each_sample(design: LawDesign) -> dict[str, Any]:
    """The same weights; the stationary regulator of A(k) and B(k) is solved anew at each sample."""
    return quadratic_weights(design) | {"update_period": design.period}


def quadratic_weights_midway(design: LawDesign) -> dict[str, Any]:
    """The same weights; one K for the pose in the middle of the motion."""
    middle = design.motion(0.5 * design.motion.duration).q
    return quadratic_weights(design) | {"q": middle, "period": design.period}


def quadratic_weights_and_noise(design: LawDesign) -> dict[str, Any]:
    """Weights and noise of `chasles.control.linear_quadratic.LinearQuadraticGaussian.tuned`."""
    return filtered_regulator_gains(design, design.disturbance)


def observed_error_equation(design: LawDesign) -> dict[str, Any]:
    """The error of every joint obeys the equation of a unit mass; the observer is a multiple as fast."""
    gains = design.gains(design.attainable)
    return {"kp": gains.kp, "kd": gains.kd, "bandwidth": design.observer * design.attainable}


def perturbation_weights(design: LawDesign) -> dict[str, Any]:
    """Weights of `chasles.control.LeeChung.tuned`."""
    return perturbation_gains(design, design.reaching)


def adaptation(design: LawDesign) -> dict[str, Any]:
    """Gains of `chasles.control.SlotineLi.tuned`."""
    return adaptation_gains(design, design.learning)


def composite_adaptation(design: LawDesign) -> dict[str, Any]:
    """Gains of `chasles.control.CompositeAdaptive.tuned`: the estimates also follow the filtered prediction error."""
    return adaptation(design) | {"bandwidth": design.attainable}


def model_reference(design: LawDesign) -> dict[str, Any]:
    """Gains of `chasles.control.ModelReferenceAdaptive.tuned`."""
    return model_reference_gains(design, design.learning)


def natural_adaptation(design: LawDesign) -> dict[str, Any]:
    """Gains of `chasles.control.NaturalAdaptive.tuned`: the last link is unknown."""
    return natural_gains(design, design.learning)


def sliding(design: LawDesign) -> dict[str, Any]:
    """Gains of `chasles.control.SlidingMode.tuned`."""
    return sliding_gains(design)


#: Rules that treat each joint as if the others were locked, which leaves less room to the frequency.
_OF_SINGLE_JOINTS = (stiffness, stiffness_with_integral, model_reference)
#: Rules of laws whose poles depend on what they learn, or on the size of the error.
_NOT_LINEAR = (
    adaptation,
    composite_adaptation,
    perturbation_weights,
    model_reference,
    natural_adaptation,
    sliding,
)
