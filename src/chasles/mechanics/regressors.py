"""Regressors of a robot: torques, momenta and energies as products with the inertial parameters."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described
from chasles.mechanics.results import EnergyRegressors


class Regressors(Described):
    """What inertial and friction parameters contribute to motion; a part of `Robot`.

    The columns belong to `Robot.inertial_parameter_names`, whose order `chasles.model.inertial_parameters` explains.
    """

    @computes(algorithms.torque_regressor, outputs=["Y"])
    def torque_regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> Array:
        """Matrix that takes inertial parameters to joint torques: ``torque_regressor(q, qd, qdd)``.

        Parameters
        ----------
        q, qd, qdd
            As for `inverse_dynamics`.

        Returns
        -------
        Y
            Shape (..., n, parameters): ``Y @ robot.inertial_parameters`` is the torque of `inverse_dynamics` without
            forces of the environment. Coulomb friction enters with the sign or, if the joint has a
            ``coulomb_velocity``, with its smooth form.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm = ch.load("planar2r")
        >>> q, qd, qdd = [0.3, -0.5], [1.0, 2.0], [0.5, -0.2]
        >>> Y = arm.torque_regressor(q, qd, qdd)
        >>> Y.shape, bool(np.allclose(Y @ arm.inertial_parameters, arm.inverse_dynamics(q, qd, qdd)))
        ((2, 26), True)
        """

    @computes(algorithms.momentum_regressor, outputs=["Y"])
    def momentum_regressor(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Matrix that takes inertial parameters to the momenta M qd of the coordinates: ``momentum_regressor(q, qd)``.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.

        Returns
        -------
        Y
            Shape (..., n, parameters): ``Y @ robot.inertial_parameters`` is ``M(q) @ qd``, in kg m²/s (kg m/s for
            sliding joints).

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm, q, qd = ch.load("planar2r"), [0.3, -0.5], [1.0, 2.0]
        >>> momenta = arm.momentum_regressor(q, qd) @ arm.inertial_parameters
        >>> bool(np.allclose(momenta, arm.mass_matrix(q) @ qd))
        True
        """

    @computes(algorithms.energy_regressor, outputs=EnergyRegressors)
    def energy_regressor(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> EnergyRegressors:
        """Vectors that give the energies from inertial parameters: ``energy_regressor(q, qd)``.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.

        Returns
        -------
        kinetic, potential
            Shape (..., parameters) each: their products with ``robot.inertial_parameters`` are `kinetic_energy` and
            `potential_energy`, in J.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, q, qd = ch.load("planar2r"), [0.3, -0.5], [1.0, 2.0]
        >>> kinetic, potential = arm.energy_regressor(q, qd)
        >>> bool(abs(potential @ arm.inertial_parameters - arm.potential_energy(q)) < 1e-9)
        True
        """
