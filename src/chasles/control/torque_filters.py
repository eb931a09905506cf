"""Notch, lead-lag and low-pass filters behind any law, discretised by Tustin's rule.

Each filter is H(s') = (b₂ s'² + b₁ s' + b₀) / (a₂ s'² + a₁ s' + a₀) with s' = s / ω and H(0) = 1. Tustin's rule with
prewarping, s' = (z - 1) / ((z + 1) tan(ω h / 2)), keeps gain and phase at ω exact for every period h below π / ω.
Sources: Franklin, Powell and Workman, Digital Control of Dynamic Systems (1998), section 6.1; Oppenheim and Schafer,
Discrete-Time Signal Processing (2010), section 6.3, for the transposed direct form II.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.now import Now
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine import sqrt, tan, where
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, reals
from chasles.robot.robot import Robot


class AnalogFilter(NamedTuple):
    """Filter in continuous time, each coefficient a scalar or (n,).

    Attributes
    ----------
    frequency
        ω, rad/s, at which the sampled filter is exact.
    numerator, denominator
        b and a, from s'² down to 1, of s' = s / ω.
    """

    frequency: Any
    numerator: tuple[Any, Any, Any]
    denominator: tuple[Any, Any, Any]


class TorqueFilter(RobotController):
    """Base of the filters: the torques of an inner law, each joint's filtered by itself.

    The filter begins in the steady state of the first torques, so that a robot at rest is not disturbed. It belongs to
    the loop: `chasles.control.loop_margins` and `chasles.control.loop_response` include it.

    Parameters
    ----------
    robot
        Robot whose joints are moved.
    inner
        Controller or function whose torques are filtered; its gains are ``inner.kp``, ….
    values
        Parameters of the filter by name, each (n,).
    """

    kind_of_filter: ClassVar[str]
    inner: Controller

    def __init__(self, robot: Robot, inner: Controller | Callable[..., Any], values: Mapping[str, ArrayLike]) -> None:
        law = as_controller(inner)
        filter_gains = {name: reals(value, name, (robot.n,), broadcast=True) for name, value in values.items()}
        states = {name: np.zeros(robot.n) for name in ("first", "second")}
        super().__init__(robot, filter_gains, {**states, "started": np.zeros(()), "inner": law.memory})
        self.inner = law
        self.name = f"{law.name} + {self.kind_of_filter}"
        self.reference_kind, self.follows_reference = law.reference_kind, law.follows_reference
        self.measured_wrench, self.traceable = law.measured_wrench, law.traceable

    @abstractmethod
    def analog(self) -> AnalogFilter:
        """Return the filter in continuous time for the present parameters, in traceable arithmetic."""

    def law(self, now: Now) -> Any:
        """Return the filtered torques; the memory is the state of the transposed direct form II."""
        memory = now.memory
        u = np.asarray(self.inner.law(now.of("inner")))
        (b0, b1, b2), (a1, a2) = sampled(self.analog(), now.period)
        running = memory.started > 0.5
        first = where(running, memory.first, (1.0 - b0) * u)
        second = where(running, memory.second, (b2 - a2) * u)
        y = b0 * u + first
        memory.first, memory.second = b1 * u - a1 * y + second, b2 * u - a2 * y
        memory.started = 1.0
        return y

    @property
    def takes_over(self) -> bool:
        """Whether the inner law does."""
        return self.inner.takes_over

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the inner law for the torques tau; the filter begins in their steady state."""
        self.inner.take_over(now.of("inner"), tau)

    def period_warning(self, period: float) -> str | None:
        """Return the warning of the inner law.

        Raises
        ------
        ArgumentError
            The filter's frequency is not below half the sample rate.
        """
        highest = float(np.max(self.analog().frequency))
        if not highest * period < math.pi:
            raise ArgumentError(
                f"a {self.kind_of_filter} at {highest:g} rad/s needs a period below π / {highest:g} = "
                f"{math.pi / highest:g} s, half the sample rate above its frequency; the period is {period:g} s"
            )
        return super().period_warning(period)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name).tolist()}" for name in self.varies)
        return f"{type(self).__name__}({self.inner!r}, {values})"


class NotchFilter(TorqueFilter):
    """(s² + 2 depth width ω s + ω²) / (s² + 2 width ω s + ω²): torques at ω are reduced to the share depth.

    For resonances that a law must not excite, such as those of elastic joints. Far from ω the gain is 1. Its phase lag
    below ω costs phase margin, the more the wider it is.

    Parameters
    ----------
    robot
        Robot whose joints are moved.
    inner
        Controller or function whose torques are filtered; its gains are ``inner.kp``, ….
    frequency
        ω, rad/s, positive and below π / period, a scalar or one value per joint.
    width
        Damping ratio of the denominator, positive, a scalar or one value per joint: for depth 0 the gain is below
        0.71 in a band of about 2 width ω.
    depth
        Gain at ω, from 0 to 1, a scalar or one value per joint; default 0.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> law = NotchFilter(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), frequency=80.0, width=0.5)
    >>> law.name, list(law.parameters)[:3]
    ('computed torque + notch filter', ['frequency', 'width', 'depth'])
    """

    kind_of_filter = "notch filter"
    frequency: Array
    width: Array
    depth: Array
    bounds: Mapping[str, Bound] = {"frequency": POSITIVE, "width": POSITIVE, "depth": Bound(at_least=0.0, at_most=1.0)}

    def __init__(
        self,
        robot: Robot,
        inner: Controller | Callable[..., Any],
        *,
        frequency: ArrayLike,
        width: ArrayLike = 0.5,
        depth: ArrayLike = 0.0,
    ) -> None:
        super().__init__(robot, inner, {"frequency": frequency, "width": width, "depth": depth})

    def analog(self) -> AnalogFilter:
        """Return the notch, exact at ω."""
        across = 2.0 * self.width
        return AnalogFilter(self.frequency, (1.0, self.depth * across, 1.0), (1.0, across, 1.0))


class LeadLagFilter(TorqueFilter):
    """(s / zero + 1) / (s / pole + 1): lead for zero < pole, lag for zero > pole.

    The gain is 1 at low and pole / zero at high frequencies. The phase is largest at √(zero pole), where it is
    asin((pole - zero) / (pole + zero)); there the sampled filter is exact.

    Parameters
    ----------
    robot
        Robot whose joints are moved.
    inner
        Controller or function whose torques are filtered; its gains are ``inner.kp``, ….
    zero, pole
        Corner frequencies, rad/s, positive, scalars or one value per joint; √(zero pole) below π / period.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> law = LeadLagFilter(arm, ch.control.PD(arm, kp=400.0, kd=10.0), zero=20.0, pole=80.0)  # 37° at 40 rad/s
    >>> law.name
    'PD + lead-lag filter'
    """

    kind_of_filter = "lead-lag filter"
    zero: Array
    pole: Array
    bounds: Mapping[str, Bound] = {"zero": POSITIVE, "pole": POSITIVE}

    def __init__(
        self, robot: Robot, inner: Controller | Callable[..., Any], *, zero: ArrayLike, pole: ArrayLike
    ) -> None:
        super().__init__(robot, inner, {"zero": zero, "pole": pole})

    def analog(self) -> AnalogFilter:
        """Return the filter, exact at the geometric mean of zero and pole."""
        middle = np.asarray(sqrt(self.zero * self.pole))
        return AnalogFilter(middle, (0.0, middle / self.zero, 1.0), (0.0, middle / self.pole, 1.0))


class LowPassFilter(TorqueFilter):
    """ω² / (s² + 2 damping ω s + ω²): torques far above ω fall by the square of the frequency.

    Parameters
    ----------
    robot
        Robot whose joints are moved.
    inner
        Controller or function whose torques are filtered; its gains are ``inner.kp``, ….
    frequency
        ω, rad/s, positive and below π / period, a scalar or one value per joint.
    damping
        Damping ratio, a scalar or one value per joint; default 1/√2, Butterworth's.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> law = LowPassFilter(arm, ch.ComputedTorque(arm, kp=100.0, kd=20.0), frequency=200.0)
    """

    kind_of_filter = "low-pass filter"
    frequency: Array
    damping: Array
    bounds: Mapping[str, Bound] = {"frequency": POSITIVE, "damping": NOT_NEGATIVE}

    def __init__(
        self,
        robot: Robot,
        inner: Controller | Callable[..., Any],
        *,
        frequency: ArrayLike,
        damping: ArrayLike = 0.5**0.5,
    ) -> None:
        super().__init__(robot, inner, {"frequency": frequency, "damping": damping})

    def analog(self) -> AnalogFilter:
        """Return the filter, exact at ω."""
        return AnalogFilter(self.frequency, (0.0, 0.0, 1.0), (1.0, 2.0 * self.damping, 1.0))


def sampled(analog: AnalogFilter, period: float) -> tuple[tuple[Any, Any, Any], tuple[Any, Any]]:
    """Return b₀, b₁, b₂ and a₁, a₂, each (n,), of (b₀ + b₁ z⁻¹ + b₂ z⁻²) / (1 + a₁ z⁻¹ + a₂ z⁻²), by Tustin's rule.

    They are NaN where the filter's frequency is not below half the sample rate. Filters of first order have b₂ = a₂ =
    0: the pole at z = -1 that Tustin's rule gives them, beside a zero, would never decay in the memory.

    Examples
    --------
    >>> sampled(AnalogFilter(10.0, (0.0, 0.0, 1.0), (0.0, 1.0, 1.0)), 0.01)[0][0].round(5)  # of 1 / (s / 10 + 1)
    array([0.04766])
    """
    halves = 0.5 * period * np.atleast_1d(analog.frequency)
    rate = np.array([1.0 / tan(where(half < 0.5 * math.pi, half, math.nan)) for half in halves])

    is_first_order = all(
        isinstance(part[0], float) and part[0] == 0.0 for part in (analog.numerator, analog.denominator)
    )

    def by_powers_of_z(second: Any, first: Any, constant: Any) -> tuple[Any, Any, Any]:
        if is_first_order:
            return constant + first * rate, constant - first * rate, 0.0 * rate
        squared, linear = second * rate * rate, first * rate
        return squared + linear + constant, 2.0 * (constant - squared), squared - linear + constant

    b, a = by_powers_of_z(*analog.numerator), by_powers_of_z(*analog.denominator)
    return (b[0] / a[0], b[1] / a[0], b[2] / a[0]), (a[1] / a[0], a[2] / a[0])
