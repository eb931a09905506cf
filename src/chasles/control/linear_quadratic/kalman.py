"""The Kalman filter: estimates of the state of a linear system from measurements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.linear_model import as_system, transposed
from chasles.control.linear_quadratic.algebraic_riccati import RegulatorError, discrete_riccati
from chasles.control.linear_quadratic.riccati import backward_riccati
from chasles.control.linear_quadratic.weights import weight_matrix
from chasles.engine.validators import doubles

Floats = NDArray[np.float64]


class FilterGains(NamedTuple):
    """Gains and error covariance of a Kalman filter at each step.

    Attributes
    ----------
    L
        Gains of the corrections x⁺ = x⁻ + L (y - C x⁻), shape (..., n, p).
    covariance
        Covariance of the error of x⁻, before the correction, shape (..., n, n).
    """

    L: Floats
    covariance: Floats


def stationary_kalman_gains(A: ArrayLike, C: ArrayLike, W: ArrayLike, V: ArrayLike) -> FilterGains:
    """Return the stationary filter gains for x[k+1] = A x[k] + w, y[k] = C x[k] + v.

    Parameters
    ----------
    A, C
        Shapes (..., n, n) and (..., p, n).
    W, V
        Covariances of w, (n, n), positive semidefinite, and of v, (p, p), positive definite; or diagonals, or scalars.

    Raises
    ------
    RegulatorError
        If the filter error would not decay, for example because a mode is not observable.

    Examples
    --------
    A random walk, measured as noisily as it walks: the golden ratio again.

    >>> gains = stationary_kalman_gains([[1.0]], [[1.0]], 1.0, 1.0)
    >>> gains.covariance.round(4), gains.L.round(4)
    (array([[1.618]]), array([[0.618]]))
    """
    A, C = _measured_system(A, C)
    W = weight_matrix(W, A.shape[-1], "W", definite=False)
    V = weight_matrix(V, C.shape[-2], "V", definite=True)
    try:
        covariance = discrete_riccati(transposed(A), transposed(C), W, V).P
    except RegulatorError as error:
        raise RegulatorError(
            f"no filter has a decaying error; for the dual regulator, whose inputs are the measurements: {error}"
        ) from error
    return FilterGains(_gains(covariance, C, V), covariance)


def kalman_gains(A: ArrayLike, C: ArrayLike, W: ArrayLike, V: ArrayLike, initial: ArrayLike) -> FilterGains:
    """Return the filter gains for x[k+1] = A[k] x[k] + w[k], y[k] = C x[k] + v[k] from an initial estimate.

    By duality the covariances are those of a backward Riccati recursion in reversed time; see `backward_riccati`.

    Parameters
    ----------
    A
        Linear model of every step, shape (..., S, n, n).
    C
        Shape (p, n), or (..., S, p, n) for one matrix per step.
    W
        Covariance of w, (n, n) or (..., S, n, n); or a diagonal, or a scalar.
    V
        Covariance of v, (p, p); or a diagonal, or a scalar.
    initial
        Covariance of the initial estimate's error, (n, n); or a diagonal, or a scalar.

    Returns
    -------
    FilterGains
        L (..., S, n, p) and covariances (..., S, n, n) of every step.

    Examples
    --------
    A constant, measured again and again: after k measurements the variance is 1/(1 + k).

    >>> kalman_gains(np.ones((4, 1, 1)), [[1.0]], 0.0, 1.0, 1.0).covariance.ravel().round(4)
    array([1.    , 0.5   , 0.3333, 0.25  ])
    """
    A, C = _measured_system(A, C)
    if A.ndim < 3 or not A.shape[-3]:
        raise ArgumentError(f"A must be given for every step, shape (..., S, n, n), not {A.shape}")
    C = np.broadcast_to(C, (*A.shape[:-2], *C.shape[-2:]))
    n = A.shape[-1]
    first = weight_matrix(initial, n, "initial", definite=False)
    V = weight_matrix(V, C.shape[-2], "V", definite=True)
    noise = doubles(W, "W")
    noise = noise[..., ::-1, :, :] if noise.ndim > 2 else weight_matrix(noise, n, "W", definite=False)
    P = backward_riccati(
        transposed(A)[..., ::-1, :, :], transposed(C)[..., ::-1, :, :], noise, V, first, every_cost=True
    ).P[..., :0:-1, :, :]
    return FilterGains(_gains(P, C, V), P)


def encoders(n: int) -> Floats:
    """C (n, 2n) of joint encoders: positions are measured, velocities are not.

    >>> encoders(2)
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.]])
    """
    return np.eye(n, 2 * n)


class KalmanFilter:
    """State estimate of x[k+1] = A x[k] + B u[k] + w, y[k] = C x[k] + v, step by step.

    Source: Kalman, "A New Approach to Linear Filtering and Prediction Problems" (1960); Anderson and Moore, Optimal
    Filtering. It is used inside `LinearQuadraticGaussian`; on its own it filters recorded data.

    Parameters
    ----------
    A, B
        Shapes (n, n) and (n, m) for a stationary filter; or (S, n, n) and (S, n, m), one model per step.
    C
        Shape (p, n).
    W, V
        Covariances of w and v: matrices, diagonals or scalars.
    initial
        Covariance of the initial estimate's error; required if A is given for every step, otherwise not allowed.

    Attributes
    ----------
    L
        Gains (n, p) or (S, n, p).
    covariance
        Covariance of the predictions' errors, (n, n) or (S, n, n).

    Examples
    --------
    The speed of a mass from its noisy positions:

    >>> A, B = np.array([[1.0, 0.01], [0.0, 1.0]]), np.array([[0.0], [0.01]])
    >>> filter = KalmanFilter(A, B, [[1.0, 0.0]], W=[0.0, 1e-4], V=1e-6)
    >>> x = np.zeros(2)
    >>> for k in range(200):  # it moves at 3 m/s, unknown to the filter
    ...     x = filter.predict(filter.correct(x, [3.0 * 0.01 * k]), [0.0])
    >>> x.round(3)
    array([6., 3.])
    """

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike,
        *,
        W: ArrayLike,
        V: ArrayLike,
        initial: ArrayLike | None = None,
    ) -> None:
        self.A, self.B = as_system(A, B)
        self.C = doubles(C, "C")
        if (self.A.ndim > 2) != (initial is not None):
            raise ArgumentError(
                "a filter along a motion, with A of every step, needs `initial`; a stationary one does not"
            )
        if initial is None:
            self.L, self.covariance = stationary_kalman_gains(self.A, self.C, W, V)
        else:
            self.L, self.covariance = kalman_gains(self.A, self.C, W, V, initial)

    def correct(self, x: ArrayLike, y: ArrayLike, k: int = 0) -> Floats:
        """Estimate after measuring y (..., p) at step k, from the prediction x (..., n)."""
        prediction = doubles(x, "x")
        L = self.L[k] if self.L.ndim > 2 else self.L
        return np.asarray(prediction + (doubles(y, "y") - prediction @ self.C.T) @ L.T)

    def predict(self, x: ArrayLike, u: ArrayLike, k: int = 0) -> Floats:
        """Prediction for step k + 1 from the estimate x (..., n) and the input u (..., m) of step k."""
        A, B = (self.A[k], self.B[k]) if self.A.ndim > 2 else (self.A, self.B)
        return np.asarray(doubles(x, "x") @ A.T + doubles(u, "u") @ B.T)


def _measured_system(A: ArrayLike, C: ArrayLike) -> tuple[Floats, Floats]:
    A, C = doubles(A, "A"), doubles(C, "C")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ArgumentError(f"A must have shape (..., n, n), not {A.shape}")
    if C.ndim < 2 or C.shape[-1] != A.shape[-1]:
        raise ArgumentError(f"C must have shape (..., p, {A.shape[-1]}), not {C.shape}")
    return A, C


def _gains(P: Floats, C: Floats, V: Floats) -> Floats:
    PC = P @ transposed(C)
    return transposed(np.linalg.solve(V + C @ PC, transposed(PC)))
