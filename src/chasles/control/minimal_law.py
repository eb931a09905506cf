"""The part of a law's memory that its measurements drive and its torques depend on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from chasles.control.linear_law import LinearLaw

Floats = NDArray[np.float64]

_DIGITS = 1e-7  # of a direction beside the strongest one: weaker ones change no margin by a digit that is shown


def minimal_law(D: Floats, B: Floats, along: Callable[[Floats], tuple[Floats, Floats]]) -> LinearLaw:
    """Return a law's minimal realisation, whose memory is what measurements drive and torques depend on.

    δm[k+1] = A δm + B δx, δu = C δm + D δx, of which A and C are known by their products with directions only. The
    reachable subspace is built from B and A, the observable part of it from its C and A, both by block Krylov
    sequences that are made orthogonal; a law of 500 values of memory may need 30 directions.

    Source: Antsaklis and Michel, Linear Systems (2006), section 6.2, Kalman's decomposition; Antoulas, Approximation of
    Large-Scale Dynamical Systems (2005), section 10.4, for the sequences.

    Parameters
    ----------
    D, B
        Derivatives of torques and memory by what is measured, (..., n, 2n) and (..., m, 2n), the memory in units in
        which changes of one are large.
    along
        Function of directions of the memory, (..., m, k), to C and A times them.

    Returns
    -------
    LinearLaw
        With the largest memory that one of the laws needs; directions that others do without are zero.

    Examples
    --------
    A memory of three values, of which measurements drive two and torques depend on two; both are true of one:

    >>> A, C = np.diag([0.5, 0.6, 0.7]), np.array([[1.0, 1.0, 0.0]])
    >>> law = minimal_law(np.zeros((1, 1)), np.array([[0.0], [1.0], [1.0]]), lambda part: (C @ part, A @ part))
    >>> law.A.round(12), (law.C @ law.B).round(12)
    (array([[0.6]]), array([[1.]]))
    """
    reachable, (C, driven) = _krylov(B, D.shape[-2], along)
    A = np.swapaxes(reachable, -1, -2) @ driven
    felt, (_, followed) = _krylov(
        np.swapaxes(C, -1, -2), 0, lambda part: (part[..., :0, :], np.swapaxes(A, -1, -2) @ part)
    )
    return LinearLaw(np.swapaxes(followed, -1, -2) @ felt, np.swapaxes(reachable @ felt, -1, -2) @ B, C @ felt, D)


def _krylov(
    first: Floats, outputs: int, along: Callable[[Floats], tuple[Floats, Floats]]
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return an orthonormal basis of the span of V, A V, A² V, …, and C and A times its vectors."""
    new, basis, images = first, first[..., :0], (np.zeros((*first.shape[:-2], outputs, 0)), first[..., :0])
    least = _DIGITS * np.abs(first).max(initial=0.0, axis=(-2, -1))[..., None]
    while min(new.shape[-2:]) > 0 and basis.shape[-1] < first.shape[-2]:
        for _ in range(2):  # once leaves rounding of what is subtracted
            new = new - basis @ (np.swapaxes(basis, -1, -2) @ new)
        vectors, sizes, _ = np.linalg.svd(new, full_matrices=False)
        kept = sizes > least
        some = kept.reshape(-1, kept.shape[-1]).any(axis=0)
        vectors = np.where(kept[..., None, :], vectors, 0.0)[..., some]
        if not vectors.shape[-1]:
            break
        further = along(vectors)
        basis = np.concatenate([basis, vectors], axis=-1)
        images = np.concatenate([images[0], further[0]], axis=-1), np.concatenate([images[1], further[1]], axis=-1)
        new, least = further[1], _DIGITS * np.maximum(1.0, np.abs(further[1]).max(axis=(-2, -1)))[..., None]
    return basis, images
