"""Mixed sensitivity with a law of fixed structure: the largest weighted sensitivity along a motion is made least."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.disk_margin import scaled
from chasles.control.frozen_law import FrozenLaw, LawFunction
from chasles.control.frozen_loops import FrozenLoops
from chasles.control.sensitivity_bound import sensitivity_bound
from chasles.control.vertex_plants import Uncertainty, frozen_plants
from chasles.engine.validators import real, reals, whole_number
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]
#: Function of frequencies (k,), rad/s, to weights (k,).
Weight = Callable[[Floats], Floats]

_PLACES = 5  # of the motion
_SPREAD = 0.5  # standard deviation of the logarithms of further starts
_UNSTABLE, _SHORT = 1e3, 10.0  # values in place of the logarithm of γ: above all of those, and in order
_PRECISION = 1e-3  # of the logarithms


class ShapedLaw(NamedTuple):
    """A law whose parameters make the weighted sensitivities small.

    Attributes
    ----------
    law
        The law.
    parameters
        Its parameters by name.
    value
        γ, the largest weighted sensitivity: the weights are met if it is at most 1.
    bound
        Upper bound on the weighted sensitivities at all frequencies, those between the grid's included, for weights
        that are monotone between two of them; infinite where poles are too near the unit circle.
    margin
        Least disk margin over places and plants.
    attained
        γ from each start, infinite where the margin was not found: close values say that the minimum is likely global.
    """

    law: Controller
    parameters: dict[str, Floats]
    value: float
    bound: float
    margin: float
    attained: Floats


def mixed_sensitivity(
    robot: Robot,
    motion: JointTrajectory,
    make: Callable[..., Controller],
    start: Mapping[str, ArrayLike],
    *,
    period: float,
    sensitivity: Weight,
    complementary: Weight | None = None,
    margin: float = 0.3,
    delay: float = 0.0,
    unknown: Uncertainty | None = None,
    starts: int = 3,
    evaluations: int = 300,
) -> ShapedLaw:
    """Choose gains and filters of a law's structure that make γ least, subject to a disk margin.

    γ is the largest of w_S σ(S) and w_T σ(T) over frequencies from 0.3 rad/s up to half the sample rate, places of the
    motion and vertex plants, for the sampled loops frozen there with differentiated velocities, S and T at the torques,
    and σ the scaled largest singular value. ``bound`` of the result covers the frequencies between the grid's points.
    The minimum over a fixed structure is neither smooth nor convex: Nelder and Mead's method runs on the logarithms of
    the parameters from several starts. The problem is that of Apkarian and Noll, "Nonsmooth H∞ synthesis", IEEE
    Transactions on Automatic Control 51(1), 2006; the optimiser is SciPy's.

    Parameters
    ----------
    robot, motion
        Model of the plant, and planned motion.
    make
        Function of the parameters by name to the law: gains, and frequencies and widths of filters.
    start
        First values of the parameters, positive, scalars or arrays; every element is free.
    period
        Sample period, s.
    sensitivity, complementary
        Weights w_S and w_T, functions of frequencies (k,), rad/s; see `bandwidth_weight`. w_T defaults to 0.
    margin
        Least disk margin.
    delay
        Delay of the torques, in sample periods.
    unknown
        Uncertainty of the model, which gives the vertex plants; default `Uncertainty()`.
    starts, evaluations
        Number of starts, the given one among them, and of evaluations from each.

    Raises
    ------
    ArgumentError
        From no start a law with the margin was found; or a parameter is not positive.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> shaped = mixed_sensitivity(
    ...     arm,
    ...     motion,
    ...     lambda kp, kd: ch.ComputedTorque(arm, kp=kp, kd=kd),
    ...     {"kp": 100.0, "kd": 20.0},
    ...     period=0.01,
    ...     sensitivity=bandwidth_weight(2.0),
    ...     starts=1,
    ...     evaluations=40,
    ... )
    >>> shaped.margin >= 0.3, shaped.value <= shaped.bound < 1.0
    (True, True)
    """
    least, step = real(margin, "margin", at_least=0.0, at_most=2.0), real(period, "period", above=0.0)
    count, most = whole_number(starts, "starts", 1, 1000), whole_number(evaluations, "evaluations", 10, 10**6)
    values = {name: reals(value, name, above=0.0) for name, value in start.items()}
    first = np.log(np.concatenate([np.ravel(value) for value in values.values()]))
    bench = _Bench(robot, motion, step, delay, Uncertainty() if unknown is None else unknown)
    weights = _weights(sensitivity, bench.loops.frequency), _weights(complementary, bench.loops.frequency)

    def named(x: Floats) -> dict[str, Floats]:
        parts = np.split(np.exp(x), np.cumsum([value.size for value in values.values()])[:-1])
        return {n: part.reshape(value.shape) for (n, value), part in zip(values.items(), parts, strict=True)}

    def objective(x: Floats) -> float:
        gamma, disk = bench.judged(make(**named(x)), *weights)
        if not disk > 0.0:
            return _UNSTABLE + float(np.linalg.norm(x - first))
        return math.log(gamma) if disk >= least else _SHORT + 10.0 * (least - disk)

    rng = np.random.default_rng(0)
    points = [first, *(first + _SPREAD * rng.normal(size=(count - 1, len(first))))]
    options = {"maxfev": most, "xatol": _PRECISION, "fatol": _PRECISION, "adaptive": len(first) > 4}
    minima = []
    for point in points:
        simplex = np.vstack([point, point + 0.5 * np.eye(len(first))])
        minima.append(minimize(objective, point, method="Nelder-Mead", options={**options, "initial_simplex": simplex}))
    best = min(minima, key=lambda result: float(result.fun))
    if not best.fun < _SHORT:
        raise ArgumentError(
            f"no law with a disk margin of {least:g} was found from {count} starts: start from slower gains, or ask "
            "for less"
        )
    law = make(**named(best.x))
    gamma, disk = bench.judged(law, *weights)
    attained = np.array([math.exp(result.fun) if result.fun < _SHORT else np.inf for result in minima])
    bound = bench.bound(law, sensitivity, complementary)
    return ShapedLaw(law, named(best.x), gamma, bound, disk, attained)


def bandwidth_weight(frequency: float, peak: float = 2.0, order: int = 1) -> Weight:
    """Return w_S(ω) = (|iω / peak^(1/order) + ω_B| / ω)^order: S may be (ω / ω_B)^order, and no higher than the peak.

    The order 1 can be met by velocity feedback alone where there is no gravity; order 2 asks for stiffness too.

    Source: Skogestad and Postlethwaite, Multivariable Feedback Control (2005), section 2.8.2.

    Examples
    --------
    >>> bandwidth_weight(10.0)(np.array([0.1, 1000.0])).round(3)
    array([100.001,   0.5  ])
    """
    corner, power = real(frequency, "frequency", above=0.0), whole_number(order, "order", 1, 10)
    top = real(peak, "peak", above=1.0) ** (1.0 / power)
    return lambda w: (np.hypot(w / top, corner) / w) ** power


class _Bench:
    """Frozen loops along a motion, on which laws are judged."""

    def __init__(
        self, robot: Robot, motion: JointTrajectory, period: float, delay: float, unknown: Uncertainty
    ) -> None:
        self._motion, self._period = on_manifold(robot, motion), period
        self._times = float(motion.start_time) + np.linspace(0.0, motion.duration, _PLACES)
        self._places = self._motion(self._times)
        plants = frozen_plants(robot, self._places, unknown)
        self.loops = FrozenLoops(plants, period, delay, float(motion.duration))
        self._function: LawFunction | None = None

    def _frozen(self, law: Controller) -> FrozenLaw:
        rows = law.settled_schedule(self._places, self._period)
        if self._function is None or not self._function.takes(law, rows):
            self._function = LawFunction(law, rows)
        return self._function.frozen(law, self._motion, self._times, self._period, rows)

    def bound(self, law: Controller, sensitivity: Weight, complementary: Weight | None) -> float:
        """Return an upper bound on γ at all frequencies."""

        def weights(angles: Floats) -> tuple[Floats, Floats]:
            frequency = angles / self._period
            return _weights(sensitivity, frequency), _weights(complementary, frequency)

        loops = self.loops.sensitivity_loops(self._frozen(law))
        return sensitivity_bound(loops, self.loops.frequency * self._period, weights)

    def judged(self, law: Controller, w_S: Floats, w_T: Floats) -> tuple[float, float]:
        """Return γ and the disk margin of a law; 0 if a loop is unstable."""
        frozen = self._frozen(law)
        disk = self.loops.disk(frozen)
        if not (disk > 0.0 and self.loops.is_stable(frozen)):
            return math.inf, 0.0
        S = self.loops.sensitivities(frozen)
        sizes = [_sizes(S), _sizes(np.eye(S.shape[-1]) - S) if w_T.any() else np.zeros(len(S))]
        return float(max((w_S * sizes[0]).max(), (w_T * sizes[1]).max())), disk


def _sizes(M: Any) -> Floats:
    """Largest scaled singular value at each frequency, over places and plants."""
    return np.asarray(np.linalg.norm(scaled(M), 2, axis=(-2, -1)).max(axis=(1, 2)))


def _weights(weight: Weight | None, frequency: Floats) -> Floats:
    """Values of a weight, finite and not negative."""
    if weight is None:
        return np.zeros(len(frequency))
    return reals(weight(frequency), "weight", (len(frequency),), at_least=0.0)
