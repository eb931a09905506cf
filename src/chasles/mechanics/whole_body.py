"""The robot as a whole: its momentum, the inertia that is felt at a frame, and the balance of powers."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.geometry.reference_frames import ReferenceFrame
from chasles.mechanics.computation import Array, Out, Vary, Wrenches, computes
from chasles.mechanics.described import Described


class WholeBody(Described):
    """What can be computed of a robot as a whole; a part of `Robot`.

    Momenta and powers are those of all moving links; the links of a fixed base have none.
    """

    @computes(algorithms.centroidal_momentum_matrix, outputs=["A"])
    def centroidal_momentum_matrix(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Matrix that takes velocities to the momentum about the centre of mass: ``centroidal_momentum_matrix(q)``.

        Parameters
        ----------
        q
            Configuration, shape (..., nq).

        Returns
        -------
        A
            Shape (..., 6, n): ``A @ qd`` is `centroidal_momentum`. NaN for a robot without mass.

        Examples
        --------
        Stretched out, with its 15 kg centred at 0.375 m, the arm turns about its first joint:

        >>> import chasles as ch
        >>> ch.load("planar2r").centroidal_momentum_matrix([0.0, 0.0])[4].round(6)  # 15 · 0.375 kg m/s along y
        array([5.625, 0.625])
        """

    @computes(algorithms.centroidal_momentum, outputs=["momentum"])
    def centroidal_momentum(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Angular momentum about the centre of mass, and linear momentum: ``centroidal_momentum(q, qd)``.

        Parameters
        ----------
        q, qd
            Configuration, shape (..., nq), and velocity, shape (..., n).

        Returns
        -------
        momentum
            Shape (..., 6), in world axes, kg m²/s and kg m/s. NaN for a robot without mass.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("planar2r").centroidal_momentum([0.0, 0.0], [2.0, 0.0])[4].round(6)
        np.float64(11.25)
        """

    @computes(algorithms.centroidal_momentum_rate, outputs=["momentum_rate"])
    def centroidal_momentum_rate(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> Array:
        """Rate of change of the momentum about the centre of mass: ``centroidal_momentum_rate(q, qd, qdd)``.

        Parameters
        ----------
        q, qd, qdd
            Configuration, shape (..., nq), velocity and acceleration, shape (..., n).

        Returns
        -------
        momentum_rate
            Shape (..., 6), in world axes, N m and N: the sum of all forces from outside, gravity and the forces of the
            base on the first joints included, about the centre of mass. NaN for a robot without mass.

        Examples
        --------
        Its centre at 0.375 m is accelerated towards the first joint with 2² · 0.375 m/s²:

        >>> import chasles as ch
        >>> ch.load("planar2r").centroidal_momentum_rate([0.0, 0.0], [2.0, 0.0], [0.0, 0.0])[3].round(6)
        np.float64(-22.5)
        """

    @computes(algorithms.operational_space_inertia, outputs=["Lambda"])
    def operational_space_inertia(
        self, q: ArrayLike, *, frame: ReferenceFrame, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> Array:
        """Inertia felt at a frame: ``operational_space_inertia(q, frame=..., target="tool")``.

        Parameters
        ----------
        q
            Configuration, shape (..., nq).
        frame, target
            As for `jacobian`, and with its errors.

        Returns
        -------
        Lambda
            Shape (..., 6, 6), symmetric: (J M⁻¹ Jᵀ)⁻¹, kg m², kg m, kg. Where the frame cannot be moved in some
            direction it does not exist; its elements are then not finite, or as large as rounding leaves them (see
            `operational_space_mobility`).

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm, q = ch.load("ur5"), [0.0, -1.0, 1.0, 0.5, 1.0, 0.0]
        >>> Lambda = arm.operational_space_inertia(q, frame="world-aligned")
        >>> bool(np.allclose(Lambda @ arm.operational_space_mobility(q, frame="world-aligned"), np.eye(6)))
        True
        """

    @computes(algorithms.operational_space_mobility, outputs=["mobility"])
    def operational_space_mobility(
        self, q: ArrayLike, *, frame: ReferenceFrame, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> Array:
        """Acceleration of a frame per unit wrench on it: ``operational_space_mobility(q, frame=..., target="tool")``.

        Parameters
        ----------
        q
            Configuration, shape (..., nq).
        frame, target
            As for `jacobian`, and with its errors.

        Returns
        -------
        mobility
            Shape (..., 6, 6), symmetric: J M⁻¹ Jᵀ, which exists for every robot and configuration; singular where the
            frame cannot be moved in some direction.

        Examples
        --------
        A force along the stretched arm does not move its tool; one across does.

        >>> import chasles as ch
        >>> ch.load("planar2r").operational_space_mobility([0.0, 0.0], frame="world-aligned")[3:5, 3:5].round(4)
        array([[0.    , 0.    ],
               [0.    , 0.6545]])
        """

    @computes(algorithms.power_balance, outputs=algorithms.PowerBalance)
    def power_balance(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> algorithms.PowerBalance:
        """Where the work of motors and environment goes: ``power_balance(q, qd, tau)``.

        Parameters
        ----------
        q, qd, tau
            Configuration, shape (..., nq), velocity and torques, shape (..., n).
        wrenches
            Keyword: forces of the environment on the robot, by frame; see `RobotFunction`.

        Returns
        -------
        motors, environment, kinetic, potential, friction
            Shape (...), W: work of torques and of wrenches per time, rates of change of the energies, and heat of
            friction; motors + environment = kinetic + potential + friction.

        Examples
        --------
        The arm falls from the level at 2 rad/s: its weight of 5.625 kg m gives up 5.625 · 9.80621 · 2 W.

        >>> import chasles as ch
        >>> motors, environment, kinetic, potential, friction = ch.load("planar2r").power_balance(
        ...     [0.0, 0.0], [-2.0, 0.0], [0.0, 0.0]
        ... )
        >>> round(float(potential), 5), round(float(kinetic), 5)
        (-110.31986, 110.31986)
        """
