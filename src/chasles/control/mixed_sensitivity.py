"""Mixed sensitivity with a law of fixed structure: the largest weighted sensitivity along a motion is made least."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.disk_margin import largest_singular_value, scaled, singular_value_slopes
from chasles.control.frozen_law import FrozenLaw, LawFunction
from chasles.control.frozen_loops import FrozenLoops
from chasles.control.gain_box import GainBox
from chasles.control.sensitivity_bound import sensitivity_bound
from chasles.control.vertex_plants import Uncertainty, frozen_plants
from chasles.engine.validators import real, reals, whole_number
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]
Complex = NDArray[np.complexfloating[Any, Any]]
Indices = tuple[NDArray[np.intp], ...]
LawSlopes = tuple[Floats, Floats]
#: Function of frequencies (k,), rad/s, to weights (k,).
Weight = Callable[[Floats], Floats]

_PLACES = 5  # of the motion
_LARGEST, _VALUES = 8, 2  # loops at each frequency, and their singular values, that a step looks at
#: Of the steps: first radius of trust along each direction, in logarithms of the parameters, share of the expected
#: improvement of log γ that a step must bring, expected improvement that is not worth a step, and cost of the logarithm
#: of what a margin lacks.
_RADIUS, _SUFFICIENT, _PRECISION, _PENALTY = 0.5, 0.1, 1e-4, 100.0
_AIM = 1.0002  # of the margin


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
    law: Controller,
    motion: JointTrajectory,
    *,
    period: float,
    sensitivity: Weight,
    complementary: Weight | None = None,
    by: Sequence[str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    margin: float = 0.3,
    delay: float = 0.0,
    unknown: Uncertainty | None = None,
    starts: int = 3,
    iterations: int = 60,
    seed: int = 0,
) -> ShapedLaw:
    """Choose gains and filters of a law's structure that make γ least, subject to a disk margin.

    γ is the largest of w_S σ(S) and w_T σ(T) over frequencies from 0.3 rad/s up to half the sample rate, places of the
    motion and vertex plants, for the sampled loops frozen there with differentiated velocities, S and T at the torques,
    and σ the scaled largest singular value. ``bound`` of the result covers the frequencies between the grid's points.

    The minimum over a fixed structure is neither smooth nor convex. Each step is that of a linear program, in which the
    largest sensitivities have their exact slopes by the logarithms of the parameters, within a radius of trust. From
    each start, all joints' values of a parameter change by the same factor; from the best end, each by its own. The
    problem is that of Apkarian and Noll, "Nonsmooth H∞ synthesis", IEEE Transactions on Automatic Control 51(1), 2006;
    the steps are those of Madsen, "An algorithm for minimax solution of overdetermined systems of non-linear
    equations", IMA Journal of Applied Mathematics 16(3), 1975.

    Parameters
    ----------
    robot, motion
        Model of the plant, and planned motion.
    law
        Law whose gains and filters are the first start, such as a `LeadLagFilter` around a `ComputedTorque`.
    period
        Sample period, s.
    sensitivity, complementary
        Weights w_S and w_T, functions of frequencies (k,), rad/s; see `bandwidth_weight`. w_T defaults to 0.
    by
        Names of the law's parameters to find; default all whose values are positive and finite. Each joint has its own.
    bounds
        Lowest and highest value of parameters by name, both positive; see `chasles.tune`.
    margin
        Least disk margin.
    delay
        Delay of the torques, in sample periods.
    unknown
        Uncertainty of the model, which gives the vertex plants; default `Uncertainty()`.
    starts, seed
        Number of starts: the law's own parameters, then these times drawn factors up to e, and the seed of these.
    iterations
        Largest number of steps from each start.

    Raises
    ------
    ArgumentError
        From no start a law with the margin was found; or a parameter is not positive and has no bounds.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> law = ch.ComputedTorque(arm, kp=100.0, kd=20.0)
    >>> wanted = bandwidth_weight(2.0)
    >>> shaped = mixed_sensitivity(arm, law, motion, period=0.01, sensitivity=wanted, starts=1, iterations=10)
    >>> shaped.margin >= 0.3, shaped.value <= shaped.bound < 1.0
    (True, True)
    """
    least, step = real(margin, "margin", at_least=0.0, at_most=2.0), real(period, "period", above=0.0)
    count, most = whole_number(starts, "starts", 1, 1000), whole_number(iterations, "iterations", 1, 10**6)
    box = GainBox.of(law, by, bounds or {})
    loops = _Loops(robot, motion, box, step, delay, Uncertainty() if unknown is None else unknown)
    search = _Search(loops, (sensitivity, complementary), least)
    ends = [search.descend(x, box.together, most) for x in box.starting_points(count, seed)]
    attained = np.array([end.gamma if end.disk >= least else np.inf for end in ends])
    if not np.isfinite(attained).any():
        raise ArgumentError(
            f"no law with a disk margin of {least:g} was found from {count} starts: start from slower gains, or ask "
            "for less"
        )
    together = ends[int(np.argmin(attained))]
    alone = search.descend(together.x, np.eye(box.first.size), most)
    best = alone if alone.disk >= least and alone.gamma <= together.gamma else together
    bound = loops.bound(best.x, sensitivity, complementary)
    return ShapedLaw(box.law_at(best.x), box.gains(best.x), best.gamma, bound, best.disk, attained)


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


class _Loops:
    """Loops frozen along a motion, as functions of the logarithms of a law's parameters."""

    def __init__(
        self, robot: Robot, motion: JointTrajectory, box: GainBox, period: float, delay: float, unknown: Uncertainty
    ) -> None:
        self.box, self._motion, self.period = box, on_manifold(robot, motion), period
        self._times = float(motion.start_time) + np.linspace(0.0, motion.duration, _PLACES)
        places = self._motion(self._times)
        self.frozen = FrozenLoops(frozen_plants(robot, places, unknown), period, delay, float(motion.duration))
        self._rows = box.law.settled_schedule(places, period)
        self._function = LawFunction(box.law, self._rows)

    def law(self, x: Floats) -> FrozenLaw:
        """The law at the places of the motion."""
        return self._function.frozen(self.box.law_at(x), self._motion, self._times, self.period, self._rows)

    def bound(self, x: Floats, sensitivity: Weight, complementary: Weight | None) -> float:
        """Return an upper bound on γ at all frequencies."""

        def weights(angles: Floats) -> tuple[Floats, Floats]:
            frequency = angles / self.period
            return _weights(sensitivity, frequency), _weights(complementary, frequency)

        loops = self.frozen.sensitivity_loops(self.law(x))
        return sensitivity_bound(loops, self.frozen.frequency * self.period, weights)

    def slopes(self, x: Floats) -> LawSlopes:
        """Return derivatives J of the law's torques and memory at x, and those of J by the logarithms x."""
        law = self.box.law_at(x)
        J, dJ = self._function.slopes(self.box.names, law, self._motion, self._times, self.period, self._rows)
        return J, dJ * np.exp(x)[:, None, None, None]

    def pulled_back(self, slopes: LawSlopes, Y: Complex, chosen: Indices) -> Floats:
        """Return -Re tr(Y dF) for each parameter's logarithm, (k, p); see `FrozenLoops.law_adjoints`.

        The law is F = -(D + C R B) W, with the resolvent R = (z - A)⁻¹ of its memory and with W from positions to
        positions and velocities, so that dF = -[1, C R] dJ [W; R B W] for J = [D, C; B, A].
        """
        (J, dJ), (frequency, place, _) = slopes, chosen
        n, measured = Y.shape[-1], Y.shape[-2]
        states = 2 * measured
        C, B, A = J[place, :n, states:], J[place, n:, :states], J[place, n:, states:]
        z = np.exp(1j * self.frozen.frequency * self.period)[frequency, None, None]
        R = np.linalg.inv(z * np.eye(A.shape[-1]) - A)
        ones = np.broadcast_to(np.eye(measured), (len(z), measured, measured))
        W = np.concatenate([ones, (1.0 - 1.0 / z) / self.period * ones], axis=-2)
        left = np.concatenate([ones[:, :n, :n], C @ R], axis=-1)
        right = np.concatenate([W, R @ B @ W], axis=-2)
        products = (right @ Y @ left).real.mT
        pulled = np.empty((len(z), len(dJ)))
        for k in range(_PLACES):
            pulled[place == k] = np.tensordot(products[place == k], dJ[:, k], ((1, 2), (1, 2)))
        return pulled


class _Point(NamedTuple):
    """γ, infinite if a loop is unstable, and disk margin at the logarithms x, and the sensitivities there."""

    x: Floats
    gamma: float
    disk: float
    S: Complex


class _Search:
    """Steps to the least γ with a margin."""

    def __init__(self, loops: _Loops, weights: tuple[Weight | None, Weight | None], least: float) -> None:
        self._loops, self._least = loops, _AIM * least
        self._w_S, self._w_T = (_weights(weight, loops.frozen.frequency) for weight in weights)
        if not (self._w_S.any() or self._w_T.any()):
            raise ArgumentError("the weights are 0 at all frequencies")

    def descend(self, x: Floats, directions: Floats, iterations: int) -> _Point:
        """Return the point where steps from x along the columns of some directions end."""
        at, first = self._at(x), self._loops.box.first
        while not np.isfinite(at.gamma) and np.abs(x - first).max() > _PRECISION:
            x = 0.5 * (x + first)
            at = self._at(x)
        radius = np.full(directions.shape[1], _RADIUS)
        for _ in range(iterations if np.isfinite(at.gamma) else 0):
            step, promised = self._step(at, directions, radius)
            if promised < _PRECISION:
                break
            following = self._at(at.x + directions @ step)
            if (brought := self._merit(at) - self._merit(following)) > _SUFFICIENT * promised:
                at, radius = following, radius * (2.0 if brought > 0.7 * promised else 1.0)
            else:
                radius = np.where(self._too_far(at, following, directions, step), 0.3 * radius, radius)
        return at

    def _too_far(self, at: _Point, following: _Point, directions: Floats, step: Floats) -> NDArray[np.bool_]:
        """Return along which directions a step was too long: those that alone end where no loop is, or all."""
        every = np.ones(len(step), bool)
        if np.isfinite(following.gamma):
            return every
        alone = ~np.isfinite([self._at(at.x + part).gamma for part in (directions * step).T])
        return alone if alone.any() else every

    def _at(self, x: Floats) -> _Point:
        loops, none = self._loops.frozen, np.empty(0, np.complex128)
        try:
            law = self._loops.law(x)
            S = loops.sensitivities(law)
        except np.linalg.LinAlgError:  # gains beyond all numbers
            return _Point(x, math.inf, 0.0, none)
        if not (np.isfinite(S).all() and loops.is_stable(law)):
            return _Point(x, math.inf, 0.0, none)
        eye = np.eye(S.shape[-1])
        weighted = [(w, M) for w, M in ((self._w_S, S), (self._w_T, eye - S)) if w.any()]
        gamma = max(largest_singular_value(_scaled(w, M)) for w, M in weighted)
        return _Point(x, gamma, 1.0 / largest_singular_value(scaled(S - 0.5 * eye)), S)

    def _merit(self, at: _Point) -> float:
        """Logarithm of γ, and that of a margin that is too small, which costs more."""
        if not np.isfinite(at.gamma):
            return math.inf
        return math.log(at.gamma) + _PENALTY * math.log(max(self._least / at.disk, 1.0))

    def _step(self, at: _Point, directions: Floats, radius: Floats) -> tuple[Floats, float]:
        """Return the step along the directions that is best by the slopes, and how much smaller it makes the merit."""
        eye, least = np.eye(at.S.shape[-1]), np.full_like(self._w_S, self._least)
        law_slopes = self._loops.slopes(at.x)
        rows, limits = [], []
        of_S, of_T, of_margin = (
            (self._w_S, at.S, 1.0, 0),
            (self._w_T, eye - at.S, -1.0, 0),
            (least, at.S - 0.5 * eye, 1.0, 1),
        )
        for w, M, sign, column in (of_S, of_T, of_margin):
            if w.any():
                value, slopes = self._slopes(at.S, law_slopes, w, M, sign)
                rows.append(np.concatenate([slopes @ directions, np.tile(-np.eye(2)[column], (len(value), 1))], axis=1))
                limits.append(-value)
        room = self._loops.box.limits - at.x[:, None]
        inside = [
            (max(room[along > 0.0, 0].max(), -most), min(room[along > 0.0, 1].min(), most))
            for along, most in zip(directions.T, radius, strict=True)
        ]
        cost = np.concatenate([np.zeros(len(inside)), [1.0, _PENALTY]])
        ends = [*inside, (None, None), (0.0, None)]
        best = linprog(cost, A_ub=np.concatenate(rows), b_ub=np.concatenate(limits), bounds=ends)
        return np.asarray(best.x[: len(inside)]), self._merit(at) - float(best.fun)

    def _slopes(self, S: Complex, law_slopes: LawSlopes, w: Floats, M: Complex, sign: float) -> tuple[Floats, Floats]:
        """Return logarithms (k,) of M's largest weighted sizes at each frequency and their slopes (k, p).

        M changes by a sign times dS.
        """
        size = np.abs(_scaled(w, M))
        bound = (size.sum(axis=-1).max(axis=-1) * size.sum(axis=-2).max(axis=-1)).reshape(len(w), -1)
        count = min(_LARGEST, bound.shape[1])
        largest = np.argpartition(-bound, count - 1, axis=1)[:, :count]
        frequency = np.repeat(np.arange(len(w)), count)
        chosen = tuple(
            part[w[frequency] > 0.0] for part in (frequency, *np.unravel_index(largest.ravel(), M.shape[1:3]))
        )
        values, dyads = singular_value_slopes(M[chosen])
        sizes, X = values[:, :_VALUES].ravel(), dyads[:, :_VALUES].reshape(-1, *M.shape[-2:])
        chosen = tuple(np.repeat(part, len(sizes) // len(values)) for part in chosen)
        Y = self._loops.frozen.law_adjoints(S[chosen], sign * X, chosen)
        return np.log(w[chosen[0]] * sizes), self._loops.pulled_back(law_slopes, Y, chosen) / sizes[:, None]


def _scaled(w: Floats, M: Complex) -> Complex:
    return np.asarray(w[:, None, None, None, None] * scaled(M))


def _weights(weight: Weight | None, frequency: Floats) -> Floats:
    """Values of a weight, finite and not negative."""
    if weight is None:
        return np.zeros(len(frequency))
    return reals(weight(frequency), "weight", (len(frequency),), at_least=0.0)
