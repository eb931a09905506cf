"""What adaptive and robust controllers ask of a robot: dynamics along a reference motion, and momenta."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described
from chasles.mechanics.results import MomentumAndDrift


class ReferenceDynamics(Described):
    """Torques for a reference motion beside the real one, momenta and their regressors; a part of `Robot`.

    The columns of regressors belong to `Robot.inertial_parameter_names`.
    """

    @computes(algorithms.passivity_torque, outputs=["tau"])
    def passivity_torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qd_reference: ArrayLike,
        qdd_reference: ArrayLike,
        *,
        vary: Vary = None,
        out: Out = None,
    ) -> Array:
        """M qdd_r + C(q, qd) qd_r + g + friction(qd): ``passivity_torque(q, qd, qd_reference, qdd_reference)``.

        C is the matrix of `coriolis_matrix`, for which dM/dt - 2 C is skew. This is the torque of passivity-based
        control; see `chasles.control.SlotineLi` and `chasles.control.SlidingMode`.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.
        qd_reference, qdd_reference
            Reference velocities and accelerations, shape (..., n), rad/s, rad/s².

        Returns
        -------
        tau
            Shape (..., n), N m (N for sliding joints). With ``qd_reference = qd`` it is `inverse_dynamics`.

        Notes
        -----
        See `chasles.algorithms.reference_motion`.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm = ch.load("planar2r")
        >>> q, qd, qd_r, qdd_r = [0.3, -0.5], [1.0, 2.0], [0.8, 1.9], [0.5, -0.2]
        >>> expected = arm.mass_matrix(q) @ qdd_r + arm.coriolis_matrix(q, qd) @ qd_r + arm.gravity_torque(q)
        >>> bool(np.allclose(arm.passivity_torque(q, qd, qd_r, qdd_r), expected))
        True
        """

    @computes(algorithms.passivity_regressor, outputs=["Y"])
    def passivity_regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qd_reference: ArrayLike,
        qdd_reference: ArrayLike,
        *,
        vary: Vary = None,
        out: Out = None,
    ) -> Array:
        """Matrix Y with ``Y @ inertial_parameters`` = `passivity_torque`, of the same arguments.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.
        qd_reference, qdd_reference
            Reference velocities and accelerations, shape (..., n), rad/s, rad/s².

        Returns
        -------
        Y
            Shape (..., n, parameters).

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm = ch.load("planar2r")
        >>> motion = [0.3, -0.5], [1.0, 2.0], [0.8, 1.9], [0.5, -0.2]
        >>> Y = arm.passivity_regressor(*motion)
        >>> bool(np.allclose(Y @ arm.inertial_parameters, arm.passivity_torque(*motion)))
        True
        """

    @computes(algorithms.momentum_and_drift, outputs=MomentumAndDrift)
    def momentum_and_drift(
        self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> MomentumAndDrift:
        """Momenta p = M qd, and drift = C(q, qd)ᵀ qd - g - friction, with p' = tau + Jᵀ w + drift.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.

        Returns
        -------
        momentum
            Shape (..., n), kg m²/s (kg m/s for sliding joints), armature included.
        drift
            Shape (..., n), N m (N): how fast the momenta change if no torques act.

        Notes
        -----
        See `chasles.algorithms.reference_motion`.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm, q, qd = ch.load("planar2r"), [0.3, -0.5], [1.0, 2.0]
        >>> momentum, drift = arm.momentum_and_drift(q, qd)
        >>> expected = arm.coriolis_matrix(q, qd).T @ qd - arm.gravity_torque(q)
        >>> bool(np.allclose(momentum, arm.mass_matrix(q) @ qd)), bool(np.allclose(drift, expected))
        (True, True)
        """

    @computes(algorithms.momentum_drift_regressor, outputs=["D"])
    def momentum_drift_regressor(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Matrix D with ``D @ inertial_parameters`` = the drift of `momentum_and_drift`, of the same arguments.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.

        Returns
        -------
        D
            Shape (..., n, parameters). With P of `momentum_regressor`, torques are ``(dP/dt - D) @ parameters``.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm, q, qd = ch.load("planar2r"), [0.3, -0.5], [1.0, 2.0]
        >>> D = arm.momentum_drift_regressor(q, qd)
        >>> bool(np.allclose(D @ arm.inertial_parameters, arm.momentum_and_drift(q, qd)[1]))
        True
        """
