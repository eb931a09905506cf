"""Drive gains: torque of each joint for a unit of motor current.

Each joint's current is fitted by the torque of a model with known masses and by the joint's own friction; the gain is
the reciprocal of the model's coefficient. Gains are absolute as far as the masses of the model are right. With a second
log in which the robot carries a known payload, the model's masses need not be right: only the difference that the
payload makes counts. Source: M. Gautier & S. Briot, "Global identification of joint drive gains and dynamic parameters
of robots" (ASME J. Dynamic Systems 136(5), 2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.identification.equations import Equations, Unknowns
from chasles.identification.regression import Prior, coloured_covariance, weighted_fit

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class DriveGains:
    """Torque for a unit of current, and its standard error, shapes (n,), N·m/A.

    A gain whose error is not much smaller than itself cannot be told from this motion; `known` says which can.
    """

    values: FloatArray
    errors: FloatArray

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each gain is five standard errors from zero, shape (n,)."""
        return np.asarray(np.abs(self.values) > 5.0 * self.errors)


def gains_from_model(
    equations: Equations, unknowns: Unknowns, v0: FloatArray, inertial: FloatArray, measured: NDArray[np.bool_]
) -> DriveGains:
    """Gains with which currents fit the torques of known inertial parameters.

    Parameters
    ----------
    equations
        Equations with currents as efforts.
    unknowns
        Friction terms; their coefficients are in units of current here.
    v0
        Transition velocity of each joint's friction, rad/s.
    inertial
        Values of the inertial unknowns that are taken for true.
    measured
        Joints whose current was measured. The others get NaN.
    """
    n = len(measured)
    torque = equations.columns @ inertial
    friction = equations.friction(unknowns, v0, np.zeros_like(equations.motor_rates))
    values, errors = np.full(n, np.nan), np.full(n, np.nan)
    for joint in np.flatnonzero(measured):
        own = [k for k, (of, _) in enumerate(unknowns.friction) if of == joint]
        A = np.concatenate([torque[:, joint, None], friction[:, joint, own]], axis=1)[:, None, :]
        y = equations.effort[:, joint, None]
        sizes = 100.0 * (np.abs(y).max() + 1e-12) / (np.abs(A[:, 0]).max(axis=0) + 1e-12)
        prior = Prior(np.zeros(A.shape[2]), sizes)
        fit = weighted_fit(A, y, equations.moving[:, joint, None], prior, np.ones(1) * (y.std() + 1e-12))
        covariance = coloured_covariance(A, fit, prior, equations.segments)
        slope = fit.values[0]
        values[joint] = 1.0 / slope if slope else np.inf
        errors[joint] = np.sqrt(covariance[0, 0]) / slope**2 if slope else np.inf
    return DriveGains(values, errors)
