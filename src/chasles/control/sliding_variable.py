"""The sliding variable of passivity-based and sliding-mode control: a mixture of velocity and position error."""

from __future__ import annotations

from typing import Any, NamedTuple

from chasles.trajectories import Motion


class Sliding(NamedTuple):
    """What the laws of Slotine and Li are made of, each (n,).

    ``variable`` is s = qd - qd_r, with the reference velocity qd_r = qd_ref + rate (q_ref - q) and its derivative
    qdd_r. Where s = 0 every joint's error e obeys e' = -rate e.
    """

    variable: Any
    qd_reference: Any
    qdd_reference: Any


def sliding(q: Any, qd: Any, reference: Motion, rate: Any) -> Sliding:
    """Sliding variable and reference velocity of a measured state.

    Parameters
    ----------
    q, qd
        Measured joint positions and velocities, (n,).
    reference
        The planned motion now.
    rate
        In 1/s, one number or (n,).

    Examples
    --------
    >>> import numpy as np
    >>> planned = Motion(np.array([1.0]), np.array([0.5]), np.array([0.0]))
    >>> sliding(np.array([0.9]), np.array([0.5]), planned, 10.0).variable.round(12)  # 0.5 - (0.5 + 10 * 0.1)
    array([-1.])
    """
    qd_reference = reference.qd + rate * (reference.q - q)
    return Sliding(qd - qd_reference, qd_reference, reference.qdd + rate * (reference.qd - qd))
