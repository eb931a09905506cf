"""Composite adaptation: parameters are estimated from the tracking error and from the torques at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from chasles.arguments import POSITIVE, Bound, real
from chasles.control.adaptive.adaptation import projected, projected_rate
from chasles.control.adaptive.recursive_least_squares import packed, recursive_least_squares, unpacked
from chasles.control.adaptive.slotine_li import SlotineLi
from chasles.control.pole_design import PoleDesign
from chasles.control.sliding_variable import friction_moved
from chasles.engine import Record, exp, sqrt, where
from chasles.engine.scalar import Array, Real
from chasles.errors import ArgumentError
from chasles.robot import Robot
from chasles.trajectories import JointTrajectory, Motion


class CompositeAdaptive(SlotineLi):
    """tau = Y theta - Kd s, theta' = -P (Yᵀ s + prediction Wᵀ (W theta - y)).

    The law of `SlotineLi`, whose estimates are also driven by an error of prediction: y are the torques after a filter
    a / (p + a), and W is the regressor after the same filter. Written with momenta it needs no accelerations. P is
    constant, P = Gamma, or obeys P' = f P - prediction P Wᵀ W P with the bounded-gain forgetting
    f = forgetting (1 - tr(Gamma⁻¹ P) / (m gain_limit)). Then V = sᵀ M s / 2 + (theta - true)ᵀ P⁻¹ (theta - true) / 2
    has V' = -sᵀ Kd s - prediction |W theta - y|² / 2 - f (theta - true)ᵀ P⁻¹ (theta - true) / 2, and on motions that
    excite all unknown parameters these converge exponentially.

    Source: Slotine and Li, "Composite adaptive control of robot manipulators", Automatica 25(4), 1989. It needs to know
    what `SlotineLi` does, and the torques that act: motors that saturate teach it wrong parameters.

    Parameters
    ----------
    robot, rate, damping, adaptation, unknown, initial, lower, upper
        As for `SlotineLi`. Bounds need the constant P: without ``forgetting``.
    bandwidth
        a of the filter, 1/s.
    prediction
        Weight of the error of prediction against that of tracking, 1/W.
    forgetting
        In 1/s; None for a constant P. An m x m matrix P costs 1.5 n m² multiplications a period: it is for some ten
        parameters, as those of a payload.
    gain_limit
        Largest size of P, in multiples of its initial one.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> controller = ch.control.CompositeAdaptive(arm, rate=20.0, damping=40.0, adaptation=5.0, bandwidth=50.0)
    """

    name = "composite adaptive"
    bounds: Mapping[str, Bound] = {
        **SlotineLi.bounds,
        **dict.fromkeys(("bandwidth", "prediction", "forgetting", "gain_limit"), POSITIVE),
    }

    def __init__(
        self,
        robot: Robot,
        *,
        rate: ArrayLike,
        damping: ArrayLike,
        adaptation: ArrayLike,
        bandwidth: float,
        prediction: float = 1.0,
        forgetting: float | None = None,
        gain_limit: float = 10.0,
        unknown: str | Sequence[str] = "base",
        initial: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            robot,
            rate=rate,
            damping=damping,
            adaptation=adaptation,
            unknown=unknown,
            initial=initial,
            lower=lower,
            upper=upper,
        )
        if forgetting is not None and (lower is not None or upper is not None):
            raise ArgumentError("estimates with bounds need a constant gain: give lower and upper, or forgetting")
        further = {"bandwidth": bandwidth, "prediction": prediction}
        if forgetting is not None:
            further |= {"forgetting": forgetting, "gain_limit": gain_limit}
        own = {name: np.array(real(value, name)) for name, value in further.items()}
        self.parameters = {**self.parameters, **own}
        self.check_parameters(self.parameters)
        n, m = robot.n, len(self.unknowns)
        start = {"estimate": self.initial_state, "filter": np.zeros((n, m)), "torque_filter": np.zeros(n)}
        start["started"] = np.zeros(())
        if forgetting is not None:
            start["gain"] = packed(np.eye(m))
        self.initial_state = start

    @classmethod
    def tuned(
        cls,
        robot: Robot,
        motion: JointTrajectory,
        period: float,
        *,
        frequency: float = 20.0,
        damping: float = 1.0,
        learning: float = 1.0,
        unknown: str | Sequence[str] = "base",
        **further: Any,
    ) -> Self:
        """Return the law with gains for a motion and a sample period; its filter has the designed frequency.

        Parameters are those of `SlotineLi.tuned`.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
        >>> float(ch.control.CompositeAdaptive.tuned(arm, motion, period=0.001).parameters["bandwidth"])
        20.0
        """
        attainable = PoleDesign(robot, motion, period, frequency, damping).attainable
        own: dict[str, Any] = {"frequency": frequency, "damping": damping, "learning": learning, "unknown": unknown}
        return super().tuned(robot, motion, period, **(own | {"bandwidth": attainable} | further))

    @property
    def memory_names(self) -> tuple[str, ...]:
        """The unknown parameters, and then filters and gain."""
        return (*self.unknowns.names, *self.memory_layout.names[len(self.unknowns) :])

    def flow(
        self, t: Real, q: Array, qd: Array, reference: Motion, state: Record, parameters: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """Torques, and rates of change of estimates, filters and gain."""
        tau, tracking = self.unknowns.tracking(q, qd, reference, state.estimate, parameters)
        a, weight = parameters["bandwidth"], parameters["prediction"]
        signals = self._signals(q, qd, a)
        W = signals.direct - state.filter
        y = state.torque_filter - signals.known_direct
        error = W @ (state.estimate - self._origin) - y
        direction = tracking + weight * (W.T @ error)
        rates = {
            "filter": a * (signals.filtered - state.filter),
            "torque_filter": a * (tau + signals.known_filtered - state.torque_filter),
            "started": 0.0,
        }
        if "gain" in state:
            m, scale = len(self.unknowns), sqrt(parameters["adaptation"])
            P, V = unpacked(state.gain, m), scale * W
            P_V = P @ V.T
            rates["estimate"] = -(scale * (P @ (scale * direction)))
            rates["gain"] = packed(self._forgetting(P, parameters) * P - weight * (P_V @ P_V.T))
        else:
            rate = -parameters["adaptation"] * direction
            rates["estimate"] = projected_rate(state.estimate, rate, parameters)
        return tau, Record(rates)

    def law(
        self,
        t: Real,
        q: Array,
        qd: Array,
        reference: Motion,
        state: Record,
        parameters: Mapping[str, Any],
        period: float,
    ) -> tuple[Any, Any]:
        """Torques of the law, and the memory one period later.

        The filters are exact for torques that are held and signals that change linearly in a period; every joint's
        error of prediction is a sample of recursive least squares, which is stable at every period. At the first call
        the filters begin with signals that have been constant.
        """
        tau, tracking = self.unknowns.tracking(q, qd, reference, state.estimate, parameters)
        tau = tau + friction_moved(self.robot, q, qd, reference, parameters["rate"])
        a, scale = parameters["bandwidth"], sqrt(parameters["adaptation"])
        decay = exp(-a * period)
        mean = (1.0 - decay) / (a * period)
        now, before = 1.0 - mean, mean - decay
        signals = self._signals(q, qd, a)
        started = state.started > 0.5
        filtered = where(started, now * signals.filtered + state.filter, signals.direct)
        torque = where(started, now * signals.known_filtered + state.torque_filter, signals.known_direct)
        W, V = signals.direct - filtered, scale * (signals.direct - filtered)
        missed = torque - signals.known_direct - W @ (state.estimate - self._origin)
        m, weight = len(self.unknowns), period * parameters["prediction"]
        P = unpacked(state.gain, m) if "gain" in state else None
        step = -period * (scale * tracking if P is None else P @ (scale * tracking))
        correction: Any = np.zeros(m)
        for row, innovation in zip(V, missed, strict=True):
            if P is None:
                share = weight / (1.0 + weight * (row @ row))
                correction = correction + share * (innovation - row @ correction) * row
            else:
                correction, P = recursive_least_squares(correction, P, row, innovation, weight=weight)
        following = {
            "estimate": projected(state.estimate + scale * (step + correction), parameters),
            "filter": decay * filtered + before * signals.filtered,
            "torque_filter": decay * torque + before * signals.known_filtered + (1.0 - decay) * tau,
            "started": 1.0,
        }
        if P is not None:
            following["gain"] = packed((1.0 + period * self._forgetting(P, parameters)) * P)
        return tau, Record(following)

    @property
    def _origin(self) -> Any:
        """Estimates with which the known part alone predicts the torques."""
        return 0.0 if self.unknowns.complete else self.unknowns.values

    def _signals(self, q: Array, qd: Array, a: Array) -> _Signals:
        """What the filters see: momenta P theta + p and drifts D theta + d, with tau = (P theta + p)' - D theta - d."""
        P = self.unknowns.columns_of(self.robot.momentum_regressor(q, qd))
        D = self.unknowns.columns_of(self.robot.momentum_drift_regressor(q, qd))
        nothing = np.zeros(self.robot.n)
        p, d = (nothing, nothing) if self.unknowns.complete else self.robot.momentum_and_drift(q, qd)
        return _Signals(a * P, a * P + D, a * p, a * p + d)

    def _forgetting(self, P: Array, parameters: Mapping[str, Any]) -> Real:
        """Forgetting that fades as the gain P, in units of Gamma, reaches its bound."""
        size = sum(P[k, k] for k in range(len(P)))
        return parameters["forgetting"] * (1.0 - size / (len(P) * parameters["gain_limit"]))


class _Signals(NamedTuple):
    """Filtered by a / (p + a), the derivative of x is a x - a / (p + a) (a x): a direct part and one to be filtered."""

    direct: Any
    filtered: Any
    known_direct: Any
    known_filtered: Any
