"""Named tuples of computations with several results, which unpack as plain tuples do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class PoseAndJacobian(NamedTuple):
    """Pose of a frame in the world, shape (..., 4, 4), and its Jacobian, shape (..., 6, n)."""

    T_world_frame: Array
    J: Array


class TorqueDerivatives(NamedTuple):
    """Derivatives of the joint torques by q, qd and qdd, each of shape (..., n, n)."""

    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array


class Linearization(NamedTuple):
    """Matrices of dx/dt = A x + B u for deviations x of (q, qd), shapes (..., 2n, 2n) and (..., 2n, n)."""

    A: Array
    B: Array


class EnergyRegressors(NamedTuple):
    """Regressors of the kinetic and the potential energy, each of shape (..., p)."""

    kinetic: Array
    potential: Array


class MomentumAndDrift(NamedTuple):
    """Generalised momentum M qd and its drift, each of shape (..., n)."""

    momentum: Array
    drift: Array
