"""Dynamics of a robot: torques, accelerations, the terms of the equation of motion, energy and linearisation."""

from __future__ import annotations

from typing import Any

from chasles import algorithms
from chasles.model import Description, Tree
from chasles.robot.computation import computes


class Dynamics:
    """What can be computed of a robot's motion under forces; a part of `Robot`, which gives the equation of motion.

    Configurations q, velocities qd, accelerations qdd and torques tau have the shape (..., n); for sliding joints read
    m for rad and N for N m.
    """

    description: Description

    @computes("q", "qd", "qdd", outputs=["tau"], wrenches=True)
    @staticmethod
    def inverse_dynamics(tree: Tree, q: Any, qd: Any, qdd: Any, wrenches: Any) -> Any:
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
        return algorithms.inverse_dynamics(tree, q, qd, qdd, wrenches)

    @computes("q", "qd", "tau", outputs=["qdd"], wrenches=True)
    @staticmethod
    def forward_dynamics(tree: Tree, q: Any, qd: Any, tau: Any, wrenches: Any) -> Any:
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
        return algorithms.forward_dynamics(tree, q, qd, tau, wrenches)

    @computes("q", outputs=["M"])
    @staticmethod
    def mass_matrix(tree: Tree, q: Any) -> Any:
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
        return algorithms.mass_matrix(tree, q)

    @computes("q", outputs=["M_inverse"])
    @staticmethod
    def inverse_mass_matrix(tree: Tree, q: Any) -> Any:
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
        return algorithms.inverse_mass_matrix(tree, q)

    @computes("q", "qd", outputs=["h"], wrenches=True)
    @staticmethod
    def bias(tree: Tree, q: Any, qd: Any, wrenches: Any) -> Any:
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
        return algorithms.bias(tree, q, qd, wrenches)

    @computes("q", outputs=["g"])
    @staticmethod
    def gravity_torque(tree: Tree, q: Any) -> Any:
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
        return algorithms.gravity_torque(tree, q)

    @computes("q", "qd", outputs=["c"])
    @staticmethod
    def coriolis_vector(tree: Tree, q: Any, qd: Any) -> Any:
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
        return algorithms.coriolis_vector(tree, q, qd)

    @computes("q", "qd", outputs=["C"])
    @staticmethod
    def coriolis_matrix(tree: Tree, q: Any, qd: Any) -> Any:
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
        return algorithms.coriolis_matrix(tree, q, qd)

    @computes("qd", outputs=["tau_friction"])
    @staticmethod
    def friction_torque(tree: Tree, qd: Any) -> Any:
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
        return algorithms.friction_torque(tree, qd)

    @computes("q", "qd", outputs=["energy"])
    @staticmethod
    def kinetic_energy(tree: Tree, q: Any, qd: Any) -> Any:
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
        return algorithms.kinetic_energy(tree, q, qd)

    @computes("q", outputs=["energy"])
    @staticmethod
    def potential_energy(tree: Tree, q: Any) -> Any:
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
        return algorithms.potential_energy(tree, q)

    @computes("q", "qd", "qdd", outputs=["dtau_dq", "dtau_dqd", "dtau_dqdd"], wrenches=True)
    @staticmethod
    def inverse_dynamics_derivatives(tree: Tree, q: Any, qd: Any, qdd: Any, wrenches: Any) -> Any:
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
        return algorithms.inverse_dynamics_derivatives(tree, q, qd, qdd, wrenches)

    @computes("q", "qd", "tau", outputs=["A", "B"], wrenches=True)
    @staticmethod
    def linearize(tree: Tree, q: Any, qd: Any, tau: Any, wrenches: Any) -> Any:
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
        return algorithms.linearize(tree, q, qd, tau, wrenches)
