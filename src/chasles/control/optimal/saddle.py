"""Whether a stationary motion is a minimum, and where the cost goes down if it is not.

The recursion of `backward_pass` factors the reduced Hessian, the second derivatives by the torques with states
following and limits kept: it is positive definite if, and only if, the pivots S of all nodes are. Where the pivot of a
node has a negative eigenvalue, torques along its eigenvector there and the regulator's from then on lower the cost both
ways.

Source: Dunn and Bertsekas, Efficient dynamic programming implementations of Newton's method for unconstrained optimal
control problems (1989).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.backward_pass import Chain

Floats = NDArray[np.float64]
#: Eigenvalue of a pivot scaled to a diagonal of ones, below which it is negative beyond the rounding of large barriers.
_CLEARLY = 1e-7


def descent_both_ways(chain: Chain) -> Floats | None:
    """Return a change of a motion (N + 1, m + s) along which the cost has negative curvature; None if there is none.

    Parameters
    ----------
    chain
        The linear-quadratic model around the motion, with the second derivatives as they are.
    """
    N, m = chain.weights.shape[0], chain.dW.shape[1] - chain.costates.shape[1]
    F, P = chain.transitions()[..., :-1], chain.terminal[:-1, :-1]
    K = np.zeros((N, m, P.shape[0]))
    for k in range(N - 1, -1, -1):
        upper = np.triu(chain.weights[k, :-1, :-1])
        G = upper + np.triu(upper, 1).T + F[k].T @ P @ F[k]
        size = np.sqrt(np.maximum(np.abs(np.diagonal(G)[:m]), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(G[:m, :m] / np.outer(size, size))
        if values[0] < -_CLEARLY:
            return _motion(F, K, k, vectors[:, 0] / size)
        root = vectors / size[:, None]
        K[k] = (root / np.maximum(values, _CLEARLY)) @ root.T @ G[:m, m:]
        P = G[m:, m:] - G[:m, m:].T @ K[k]
    return None


def _motion(F: Floats, K: Floats, first: int, u: Floats) -> Floats:
    """Motion of the linear model (N + 1, m + s) from torques at one node, and the regulator's from the next one on."""
    (N, m, s), x = K.shape, np.zeros(K.shape[2])
    moves = np.zeros((N + 1, m + s))
    for k in range(first, N):
        moves[k] = np.concatenate([u if k == first else -K[k] @ x, x])
        x = F[k] @ moves[k]
    moves[N, m:] = x
    return moves
