"""Dynamics of a robot: torques, accelerations, the terms of the equation of motion, energy and linearisation."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.mechanics.computation import Array, Out, Vary, Wrenches, computes
from chasles.mechanics.described import Described
from chasles.mechanics.results import Linearization, TorqueDerivatives


class Dynamics(Described):
    """What can be computed of a robot's motion under forces; a part of `Robot`, which gives the equation of motion.

    Configurations q, velocities qd, accelerations qdd and torques tau have the shape (..., n); for sliding joints read
    m for rad and N for N m.
    """

    @computes(algorithms.inverse_dynamics, outputs=["tau"])
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array:
        """Joint torques of a motion: ``inverse_dynamics(q, qd, qdd)``.

        Parameters
        ----------
        q, qd, qdd
            Joint positions, velocities and accelerations, shape (..., n), rad, rad/s, rad/s².
        wrenches
            Keyword: forces of the environment on the robot, by frame; see `RobotFunction`.

        Returns
        -------
        tau
            Shape (..., n), N m: M qdd + c + g + friction + armature qdd - Jᵀ w.

        Raises
        ------
        UnknownNameError
            If ``wrenches`` names a frame, or ``vary`` a parameter, that does not exist.

        Examples
        --------
        The arm at rest, stretched out level, with 10 N downward at the tool, 0.75 m and 0.25 m from its joints. To its
        weight of 5.625 kg m and 0.625 kg m times 9.80621 m/s² this adds 7.5 N m and 2.5 N m:

        >>> import chasles as ch
        >>> load = {"tool": [0.0, 0.0, 0.0, 0.0, -10.0, 0.0]}
        >>> ch.load("planar2r").inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], wrenches=load).round(5)
        array([62.65993,  8.62888])
        """

    @computes(algorithms.forward_dynamics, outputs=["qdd"])
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array:
        """Joint accelerations under torques: ``forward_dynamics(q, qd, tau)``, the inverse of `inverse_dynamics`.

        Parameters
        ----------
        q, qd, tau
            Joint positions, velocities and motor torques, shape (..., n), rad, rad/s, N m.
        wrenches
            As for `inverse_dynamics`, and with its errors.

        Returns
        -------
        qdd
            Shape (..., n), rad/s².

        Raises
        ------
        ArgumentError
            If a joint moves nothing that has mass or motor inertia.

        Examples
        --------
        Torques that hold the weight leave the arm at rest:

        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> q, qd = [0.3, 0.4], [0.0, 0.0]
        >>> bool(abs(arm.forward_dynamics(q, qd, arm.gravity_torque(q))).max() < 1e-12)
        True
        """

    @computes(algorithms.mass_matrix, outputs=["M"])
    def mass_matrix(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Mass matrix: ``mass_matrix(q)``.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad.

        Returns
        -------
        M
            Shape (..., n, n), kg m², full and symmetric, with the motors' armature on its diagonal.

        Examples
        --------
        Rods m₁ = 10 kg, l₁ = 0.5 m and m₂ = 5 kg, l₂ = 0.25 m at a right angle: M₂₂ = M₁₂ = m₂ l₂²/3 = 0.1042 and
        M₁₁ = m₁ l₁²/3 + m₂ l₁² + M₂₂ = 2.1875.

        >>> import chasles as ch
        >>> import numpy as np
        >>> ch.load("planar2r").mass_matrix([0.0, np.pi / 2]).round(4)
        array([[2.1875, 0.1042],
               [0.1042, 0.1042]])
        """

    @computes(algorithms.inverse_mass_matrix, outputs=["M_inverse"])
    def inverse_mass_matrix(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Inverse of the mass matrix: ``inverse_mass_matrix(q)``, the accelerations per unit torque.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad.

        Returns
        -------
        M_inverse
            Shape (..., n, n), 1/(kg m²), exactly symmetric.

        Raises
        ------
        ArgumentError
            If a joint moves nothing that has mass or motor inertia.

        Examples
        --------
        With the matrix [[21, 1], [1, 1]] · 5/48 of the example of `mass_matrix`:

        >>> import chasles as ch
        >>> import numpy as np
        >>> ch.load("planar2r").inverse_mass_matrix([0.0, np.pi / 2]).round(4)
        array([[ 0.48, -0.48],
               [-0.48, 10.08]])
        """

    @computes(algorithms.bias, outputs=["h"])
    def bias(
        self, q: ArrayLike, qd: ArrayLike, *, wrenches: Wrenches = None, vary: Vary = None, out: Out = None
    ) -> Array:
        """Torques of a motion without joint accelerations: ``bias(q, qd)``.

        Parameters
        ----------
        q, qd, wrenches
            As for `inverse_dynamics`, and with its errors.

        Returns
        -------
        h
            Shape (..., n), N m: c(q, qd) + g(q) + friction(qd) - Jᵀ w.

        Examples
        --------
        At rest it is the weight, here 5.625 kg m and 0.625 kg m times 9.80621 m/s²:

        >>> import chasles as ch
        >>> ch.load("planar2r").bias([0.0, 0.0], [0.0, 0.0]).round(5)
        array([55.15993,  6.12888])
        """

    @computes(algorithms.gravity_torque, outputs=["g"])
    def gravity_torque(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Torques that hold the robot against gravity: ``gravity_torque(q)``.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad.

        Returns
        -------
        g
            Shape (..., n), N m: the gradient of `potential_energy`.

        Examples
        --------
        Stretched out level: g₁ = (10 · 0.25 + 5 · 0.625) · 9.80621 and g₂ = 5 · 0.125 · 9.80621.

        >>> import chasles as ch
        >>> ch.load("planar2r").gravity_torque([0.0, 0.0]).round(5)
        array([55.15993,  6.12888])
        """

    @computes(algorithms.coriolis_vector, outputs=["c"])
    def coriolis_vector(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Centrifugal and Coriolis torques: ``coriolis_vector(q, qd)``, without gravity and friction.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.

        Returns
        -------
        c
            Shape (..., n), N m.

        Examples
        --------
        With h = m₂ l₁ l₂/2 sin q₂ = 0.3125: c₁ = -h (2 qd₁ qd₂ + qd₂²) and c₂ = h qd₁².

        >>> import chasles as ch
        >>> import numpy as np
        >>> ch.load("planar2r").coriolis_vector([0.0, np.pi / 2], [1.0, 2.0]).round(4)
        array([-2.5   ,  0.3125])
        """

    @computes(algorithms.coriolis_matrix, outputs=["C"])
    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Coriolis matrix of the Christoffel symbols: ``coriolis_matrix(q, qd)``.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.

        Returns
        -------
        C
            Shape (..., n, n), N m s: C qd is `coriolis_vector`, and dM/dt - 2 C is skew-symmetric.

        Examples
        --------
        With h = 0.3125 as in `coriolis_vector`: [[-h qd₂, -h (qd₁ + qd₂)], [h qd₁, 0]].

        >>> import chasles as ch
        >>> import numpy as np
        >>> ch.load("planar2r").coriolis_matrix([0.0, np.pi / 2], [1.0, 2.0]).round(4)
        array([[-0.625 , -0.9375],
               [ 0.3125,  0.    ]])
        """

    @computes(algorithms.friction_torque, outputs=["tau_friction"])
    def friction_torque(self, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Torques that the joints' viscous and Coulomb friction take up: ``friction_torque(qd)``.

        Parameters
        ----------
        qd
            Joint velocities, shape (..., n), rad/s.

        Returns
        -------
        tau_friction
            Shape (..., n), N m, in the direction of qd.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r").with_friction(viscous=0.5, coulomb=2.0)
        >>> arm.friction_torque([1.0, -4.0])  # 0.5 · 1 + 2 and -0.5 · 4 - 2
        array([ 2.5, -4. ])
        """

    @computes(algorithms.kinetic_energy, outputs=["energy"])
    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Kinetic energy of links and motor rotors: ``kinetic_energy(q, qd)``.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad, rad/s.

        Returns
        -------
        energy
            Shape (...), J: qdᵀ M(q) qd / 2.

        Examples
        --------
        >>> import chasles as ch
        >>> round(float(ch.load("planar2r").kinetic_energy([0.0, 0.0], [2.0, 0.0])), 6)  # 2² M₁₁ / 2, M₁₁ = 2.8125
        5.625
        """

    @computes(algorithms.potential_energy, outputs=["energy"])
    def potential_energy(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Potential energy of the moving links' weight: ``potential_energy(q)``.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad.

        Returns
        -------
        energy
            Shape (...), J, zero with all masses at the height of the world's origin.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> upright = ch.load("planar2r").potential_energy([np.pi / 2, 0.0])
        >>> round(float(upright), 5)  # (10 · 0.25 + 5 · 0.625) · 9.80621
        55.15993
        """

    @computes(algorithms.inverse_dynamics_derivatives, outputs=TorqueDerivatives)
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> TorqueDerivatives:
        """Exact derivatives of `inverse_dynamics`: ``inverse_dynamics_derivatives(q, qd, qdd)``.

        Parameters
        ----------
        q, qd, qdd, wrenches
            As for `inverse_dynamics`. Wrenches stay constant in the axes of their frames and turn with them.

        Returns
        -------
        dtau_dq, dtau_dqd, dtau_dqdd
            Each of shape (..., n, n), row i for the torque of joint i; the last is the mass matrix. The jump of Coulomb
            friction at rest is left out.

        Examples
        --------
        The arm hangs. Its weight pulls it back, with 5.625 kg m and 0.625 kg m times 9.80621 m/s² per rad:

        >>> import chasles as ch
        >>> import numpy as np
        >>> rest = [0.0, 0.0]
        >>> ch.load("planar2r").inverse_dynamics_derivatives([-np.pi / 2, 0.0], rest, rest)[0].round(5)
        array([[55.15993,  6.12888],
               [ 6.12888,  6.12888]])
        """

    @computes(algorithms.linearize, outputs=Linearization)
    def linearize(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Linearization:
        """Exact linear model of the dynamics: ``linearize(q, qd, tau)``, δẋ = A δx + B δτ with x = (q, q̇).

        Parameters
        ----------
        q, qd, tau, wrenches
            As for `forward_dynamics`: the state and the torques about which the model is linear.

        Returns
        -------
        A
            Shape (..., 2n, 2n).
        B
            Shape (..., 2n, n).

        Examples
        --------
        The lower rod is held level and the upper one balanced upright: it falls as a rod of length l = 0.25 m does,
        with 3g / (2l) = 6 · 9.80621 / s², however the lower rod tilts it.

        >>> import chasles as ch
        >>> import numpy as np
        >>> arm, q = ch.load("planar2r"), [0.0, np.pi / 2]
        >>> A, B = arm.linearize(q, [0.0, 0.0], arm.gravity_torque(q))
        >>> A[3, :2].round(5)
        array([58.83726, 58.83726])
        """
