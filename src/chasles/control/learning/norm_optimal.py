"""The learning step Q (v + L e): norm-optimal L by Riccati sweeps, a filter Q without phase, and their contraction.

L e minimises ‖e - P Δv‖²_W + ‖Δv‖²_R over all Δv, for the map P of a `LiftedLoop`, so that

    L = (R + Pᵀ W P)⁻¹ Pᵀ W.

The inverse is a linear-quadratic problem along the motion: one Riccati recursion beforehand, then a sweep backward and
one forward for each e.

Sources: Amann, Owens and Rogers, "Iterative learning control for discrete-time systems with exponential rate of
convergence", IEE Proceedings D 143(2), 1996; Bristow, Tharayil and Alleyne, "A survey of iterative learning control",
IEEE Control Systems 26(3), 2006, for Q, the lifted map and monotone convergence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct
from scipy.sparse.linalg import LinearOperator, svds

from chasles.control.learning.lifted_loop import LiftedLoop, accumulated, times_each
from chasles.control.linear_model import transposed
from chasles.control.linear_quadratic.riccati import backward_riccati

Floats = NDArray[np.float64]

_FILTER_ORDER = 2  # of the Butterworth filter, which runs forward and backward
_PLACES = 9  # at which the loop's response at the cutoff is computed
_ACCURACY = 1e-3  # of contractions, relative


class NormOptimalStep:
    """One step of learning for a loop, up to a cutoff.

    Parameters
    ----------
    loop
        Loop of the model.
    angle
        Cutoff times period, rad.
    dead
        Number of last torques, and of first positions, that do not belong together for the delay.
    error_weight
        Diagonal of W, (n,).
    torque_weight
        R of each joint, relative to its W |P|² at the cutoff.
    """

    def __init__(self, loop: LiftedLoop, angle: float, dead: int, error_weight: Floats, torque_weight: float) -> None:
        self.loop, self.dead, self.angle = loop, dead, angle
        self.W = error_weight
        self.R = torque_weight * error_weight * _sizes(loop, angle) ** 2
        self._calls, n = len(loop.A) - dead, len(error_weight)
        Q = np.zeros(loop.A.shape[-1])
        Q[:n] = self.W
        self._K, P = backward_riccati(loop.A, loop.B, Q, self.R, Q, every_cost=True)
        self._closed = loop.A - loop.B @ self._K
        S = np.diag(self.R) + transposed(loop.B) @ P[1:] @ loop.B
        self._S_inverse: Floats = np.asarray(np.linalg.inv(S), dtype=np.float64)

    def learned(self, e: Floats) -> Floats:
        """Return L e, (N, n)."""
        return self._solved(self.loop.adjoint(self.W * e))

    def filtered(self, v: Floats) -> Floats:
        """Return Q v: each joint's torques, low-pass filtered without phase.

        The gain is 1 / (1 + (ω / cutoff)⁴), that of a Butterworth filter of order 2 that runs forward and backward.
        The torques are continued by reflection, so that Q is symmetric and constant torques pass.
        """
        acting = v[: self._calls]
        angles = np.pi * np.arange(self._calls) / self._calls
        gain = 1.0 / (1.0 + (angles / self.angle) ** (2 * _FILTER_ORDER))
        spectrum = gain[:, None] * dct(acting, axis=0, norm="ortho")
        return np.concatenate([idct(spectrum, axis=0, norm="ortho"), np.zeros((self.dead, v.shape[-1]))])

    def contraction(self, plant: LiftedLoop) -> float:
        """Return ‖Q (1 - L P')‖ in the norm of R, for a plant with the map P': below 1 torques converge."""
        shape, size = (len(self._K), len(self.R)), self._K.shape[0] * len(self.R)
        scale = np.sqrt(self.R)

        def step(x: Floats) -> Floats:
            v = self._cut(x.reshape(shape) / scale)
            return np.ravel(scale * self.filtered(v - self.learned(plant.positions(v))))

        def adjoint(y: Floats) -> Floats:
            v = self.filtered(scale * y.reshape(shape))
            learned = plant.adjoint(self.W * self.loop.positions(self._solved(v)))
            return np.ravel(self._cut(v - learned) / scale)

        operator = LinearOperator((size, size), matvec=step, rmatvec=adjoint, dtype=np.float64)
        start = np.random.default_rng(0).normal(size=size)
        return float(svds(operator, k=1, tol=_ACCURACY, v0=start, return_singular_vectors=False)[0])

    def _cut(self, v: Floats) -> Floats:
        """Return torques without those that act after the trial."""
        cut = v.copy()
        cut[self._calls :] = 0.0
        return cut

    def _solved(self, g: Floats) -> Floats:
        """Return (R + Pᵀ W P)⁻¹ g by a sweep backward for the linear part of the cost, and one forward."""
        transitions = transposed(self._closed)[::-1]
        driving = -times_each(transposed(self._K), g)[::-1]
        costates = np.concatenate([np.zeros((1, driving.shape[-1])), accumulated(transitions, driving)[:-1]])[::-1]
        wanted = times_each(self._S_inverse, g + times_each(transposed(self.loop.B), costates))
        states = accumulated(self._closed, times_each(self.loop.B, wanted))
        before = np.concatenate([np.zeros((1, states.shape[-1])), states[:-1]])
        return np.asarray(wanted - times_each(self._K, before))


def _sizes(loop: LiftedLoop, angle: float) -> Floats:
    """Return |P| of each joint alone at an angle on the unit circle, (n,): the root mean square over frozen loops.

    The first call differs from all others by its torque, which acts before it has arrived.
    """
    n = loop.B.shape[-1]
    chosen = np.unique(np.linspace(1, len(loop.A) - 1, _PLACES).round().astype(np.intp))
    states = np.linalg.solve(np.exp(1j * angle) * np.eye(loop.A.shape[-1]) - loop.A[chosen], loop.B[chosen])
    diagonal = np.diagonal(states[:, :n], axis1=-2, axis2=-1)
    return np.asarray(np.sqrt((np.abs(diagonal) ** 2).mean(axis=0)))
