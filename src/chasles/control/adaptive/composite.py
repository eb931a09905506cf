"""Composite adaptation: parameters are estimated from the tracking error and from the torques at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.control.adaptive.adaptation import projected, projected_rate
from chasles.control.adaptive.recursive_least_squares import packed, recursive_least_squares, unpacked
from chasles.control.adaptive.slotine_li import SlotineLi
from chasles.control.knowledge import Knowledge
from chasles.control.load_friction import load_friction
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.sliding_variable import friction_moved
from chasles.engine import Record, exp, sqrt, where
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import POSITIVE, Bound, real
from chasles.robot.robot import Robot


class CompositeAdaptive(SlotineLi):
    """tau = Y theta - Kd s, theta' = -P (Yᵀ s + prediction Wᵀ (W theta - y)).

    The law of `SlotineLi`, whose estimates are also driven by a prediction error: y are the torques after a filter a /
    (p + a), and W is the regressor after the same filter. Written with momenta it needs no accelerations. P is
    constant, P = Gamma, or obeys P' = f P - prediction P Wᵀ W P with the bounded-gain forgetting f = forgetting (1 -
    tr(Gamma⁻¹ P) / (m gain_limit)). Then V = sᵀ M s / 2 + (theta - true)ᵀ P⁻¹ (theta - true) / 2 has V' = -sᵀ Kd s -
    prediction |W theta - y|² / 2 - f (theta - true)ᵀ P⁻¹ (theta - true) / 2, and on motions that excite all unknown
    parameters these converge exponentially.

    Source: Slotine and Li, "Composite adaptive control of robot manipulators", Automatica 25(4), 1989. It requires the
    same knowledge as `SlotineLi` and the torques that act: saturated motors corrupt the estimates.

    Parameters
    ----------
    robot, rate, damping, adaptation, unknown, initial, lower, upper
        See `SlotineLi`. Bounds are supported for constant P only, that is, without ``forgetting``.
    bandwidth
        Filter bandwidth a, 1/s.
    prediction
        Weight of the prediction error relative to the tracking error, 1/W.
    forgetting
        Forgetting rate, 1/s; None for a constant P. The m x m matrix P costs 1.5 n m² multiplications per period, which
        suits about ten parameters, such as those of a payload.
    gain_limit
        Upper bound on the size of P, as a multiple of its initial size, at least 1.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> controller = ch.control.CompositeAdaptive(arm, rate=20.0, damping=40.0, adaptation=5.0, bandwidth=50.0)
    """

    name = "composite adaptive"
    kind = "composite-adaptive"
    knows = Knowledge("geometry, gravity", learns="inertias, friction", first_values="the model's")
    bandwidth: Array
    prediction: Array
    forgetting: Array
    gain_limit: Array
    bounds: Mapping[str, Bound] = {
        **SlotineLi.bounds,
        **dict.fromkeys(("bandwidth", "prediction", "forgetting"), POSITIVE),
        "gain_limit": Bound(at_least=1.0),
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
        self.varies = (*self.varies, *further)
        self.__dict__.update({name: np.array(real(value, name)) for name, value in further.items()})
        self.check_parameters(self.parameters)
        n, m = robot.n, len(self.unknowns)
        start = {**self.memory, "filter": np.zeros((n, m)), "torque_filter": np.zeros(n)}
        start["started"] = np.zeros(())
        if forgetting is not None:
            start["gain"] = packed(np.eye(m))
        self.memory = Record(start)

    @classmethod
    def gains(
        cls, design: PoleDesign, *, learning: float = 1.0, unknown: str | Sequence[str] = "base"
    ) -> dict[str, Any]:
        """Return gains of `SlotineLi`, and the designed frequency for the filter."""
        return super().gains(design, learning=learning, unknown=unknown) | {"bandwidth": design.attainable}

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the unknown parameters, followed by filters and gain."""
        return (*self.unknowns.names, *self.memory_layout.names[len(self.unknowns) :])

    def flow(self, now: Now) -> tuple[Any, dict[str, Any]]:
        """Return torques, and rates of change of estimates, filters and gain."""
        memory = now.memory
        tau, tracking = self.unknowns.tracking(now, memory.estimate, self.rate, self.damping)
        a, weight = self.bandwidth, self.prediction
        signals = self._signals(now.q, now.qd, a)
        W = signals.direct - memory.filter
        y = memory.torque_filter - signals.known_direct
        error = W @ (memory.estimate - self._origin) - y
        direction = tracking + weight * (W.T @ error)
        rates = {
            "filter": a * (signals.filtered - memory.filter),
            "torque_filter": a * (tau + signals.known_filtered - memory.torque_filter),
            "started": 0.0,
        }
        if "gain" in memory:
            m, scale = len(self.unknowns), sqrt(self.adaptation)
            P, V = unpacked(memory.gain, m), scale * W
            P_V = P @ V.T
            rates["estimate"] = -(scale * (P @ (scale * direction)))
            rates["gain"] = packed(self._forgetting(P) * P - weight * (P_V @ P_V.T))
        else:
            rate = -self.adaptation * direction
            rates["estimate"] = projected_rate(memory.estimate, rate, self.lower, self.upper)
        return tau, rates

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory holds estimates, filters and gain.

        The filters are exact for torques that are held and signals that change linearly in a period; every joint's
        prediction error is one sample of recursive least squares, which is stable at every period. The filters start as
        if all signals had been constant before the first call.
        """
        memory = now.memory
        tau, tracking = self.unknowns.tracking(now, memory.estimate, self.rate, self.damping)
        tau = tau + friction_moved(self.robot, now.q, now.qd, now.reference, self.rate, tau, self.damping)
        unloaded = tau - load_friction(self.robot, now.q, now.qd, tau)  # regressors know no friction of the load
        a, scale = self.bandwidth, sqrt(self.adaptation)
        decay = exp(-a * now.period)
        mean = (1.0 - decay) / (a * now.period)
        new, old = 1.0 - mean, mean - decay
        signals = self._signals(now.q, now.qd, a)
        started = memory.started > 0.5
        filtered = where(started, new * signals.filtered + memory.filter, signals.direct)
        torque = where(started, new * signals.known_filtered + memory.torque_filter, signals.known_direct)
        W, V = signals.direct - filtered, scale * (signals.direct - filtered)
        missed = torque - signals.known_direct - W @ (memory.estimate - self._origin)
        m, weight = len(self.unknowns), now.period * self.prediction
        P = unpacked(memory.gain, m) if "gain" in memory else None
        step = -now.period * (scale * tracking if P is None else P @ (scale * tracking))
        correction: Any = np.zeros(m)
        for row, innovation in zip(V, missed, strict=True):
            if P is None:
                share = weight / (1.0 + weight * (row @ row))
                correction = correction + share * (innovation - row @ correction) * row
            else:
                correction, P = recursive_least_squares(correction, P, row, innovation, weight=weight)
        memory.estimate = projected(memory.estimate + scale * (step + correction), self.lower, self.upper)
        memory.filter = decay * filtered + old * signals.filtered
        memory.torque_filter = decay * torque + old * signals.known_filtered + (1.0 - decay) * unloaded
        memory.started = 1.0
        if P is not None:
            memory.gain = packed((1.0 + now.period * self._forgetting(P)) * P)
        return tau

    @property
    def _origin(self) -> Any:
        """Estimates with which the known part alone predicts the torques."""
        return 0.0 if self.unknowns.complete else self.unknowns.values

    def _signals(self, q: Array, qd: Array, a: Array) -> _Signals:
        """What the filters see: momenta P theta + p and drifts D theta + d, with tau = (P theta + p)' - D theta - d."""
        P = self.unknowns.columns_of(self.robot.regressors.momentum(q, qd))
        D = self.unknowns.columns_of(self.robot.regressors.momentum_drift(q, qd))
        nothing = np.zeros(self.robot.n)
        p, d = (nothing, nothing) if self.unknowns.complete else self.robot.regressors.momentum_and_drift(q, qd)
        return _Signals(a * P, a * P + D, a * p, a * p + d)

    def _forgetting(self, P: Array) -> Real:
        """Forgetting that fades as the gain P, in units of Gamma, reaches its bound."""
        size = sum(P[k, k] for k in range(len(P)))
        return self.forgetting * (1.0 - size / (len(P) * self.gain_limit))


class _Signals(NamedTuple):
    """Filtered by a / (p + a), the derivative of x is a x - a / (p + a) (a x): a direct part and one to be filtered."""

    direct: Any
    filtered: Any
    known_direct: Any
    known_filtered: Any
