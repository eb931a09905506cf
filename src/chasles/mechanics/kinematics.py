"""Kinematics of a robot: poses, Jacobians and the centre of mass, without masses in motion."""

from __future__ import annotations

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.geometry.reference_frames import ReferenceFrame
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described
from chasles.mechanics.results import PoseAndJacobian


class Kinematics(Described):
    """What can be computed of a robot's geometry; a part of `Robot`, which says what all computations share."""

    @computes(algorithms.forward_kinematics, outputs=["T_world_frame"])
    def forward_kinematics(
        self, q: ArrayLike, *, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> Array:
        """Pose of a frame in the world: ``forward_kinematics(q, target="tool")``.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad (m for sliding joints).
        target
            Name of a link or frame, one of `frame_names`; default ``"tool"``, which every robot has.

        Returns
        -------
        T_world_frame
            Shape (..., 4, 4): axes of the frame in world axes, and its origin in m.

        Raises
        ------
        UnknownNameError
            If the robot has no such frame.

        Examples
        --------
        The upper rod, of 0.25 m, turned by a right angle against the lower one, of 0.5 m:

        >>> import chasles as ch
        >>> import numpy as np
        >>> ch.load("planar2r").forward_kinematics([0.0, np.pi / 2])[:3, 3]
        array([0.5 , 0.25, 0.  ])
        """

    @computes(algorithms.all_frames, outputs=["T_world_frames"])
    def frame_poses(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Poses of all links and frames in the world: ``frame_poses(q)``.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad (m for sliding joints).

        Returns
        -------
        T_world_frames
            Shape (..., frames, 4, 4), in the order of `frame_names`; origins in m.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> arm.frame_poses([0.0, 0.0])[arm.frame_names.index("tool"), :3, 3]  # stretched out: 0.5 m + 0.25 m
        array([0.75, 0.  , 0.  ])
        """

    @computes(algorithms.jacobian, outputs=["J"])
    def jacobian(
        self, q: ArrayLike, *, frame: ReferenceFrame, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> Array:
        """Jacobian of a frame, angular part first: ``jacobian(q, frame="body", target="tool")``.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad (m for sliding joints).
        frame
            In which frame the twist is seen; it must be given. ``"space"``: in world axes, of the point of the body
            that passes the world's origin. ``"body"``: in the axes and of the origin of the target.
            ``"world-aligned"``: in world axes, of the target's origin.
        target
            Name of a link or frame; default ``"tool"``.

        Returns
        -------
        J
            Shape (..., 6, n): J qd is the twist (ω, v) of the target, in rad/s and m/s.

        Raises
        ------
        TypeError
            If ``frame`` is missing.
        UnknownNameError
            If the target or the frame does not exist.

        Examples
        --------
        With the tool at (0.75, 0, 0), a unit turn of a joint moves it along y by its distance from that joint:

        >>> import chasles as ch
        >>> ch.load("planar2r").jacobian([0.0, 0.0], frame="world-aligned")[4]
        array([0.75, 0.25])
        """

    @computes(algorithms.jacobian_derivative, outputs=["Jdot"])
    def jacobian_derivative(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        frame: ReferenceFrame,
        target: str | None = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array:
        """Time derivative of `jacobian` along a motion: ``jacobian_derivative(q, qd, frame="body", target="tool")``.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad and rad/s (m and m/s).
        frame, target
            As for `jacobian`, and with its errors.

        Returns
        -------
        Jdot
            Shape (..., 6, n): J qdd + Jdot qd is the rate of change of the twist's components in that frame.

        Examples
        --------
        The stretched arm turns about its first joint at 2 rad/s. The tool's acceleration Jdot qd points to that joint,
        with 2² · 0.75 m/s²:

        >>> import chasles as ch
        >>> Jdot = ch.load("planar2r").jacobian_derivative([0.0, 0.0], [2.0, 0.0], frame="world-aligned")
        >>> (Jdot @ [2.0, 0.0])[3]
        np.float64(-3.0)
        """

    @computes(algorithms.pose_and_jacobian, outputs=PoseAndJacobian)
    def pose_and_jacobian(
        self, q: ArrayLike, *, frame: ReferenceFrame, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> PoseAndJacobian:
        """`forward_kinematics` and `jacobian` in one call, which costs little more than either.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad (m for sliding joints).
        frame, target
            As for `jacobian`, and with its errors.

        Returns
        -------
        T_world_frame
            Shape (..., 4, 4).
        J
            Shape (..., 6, n).

        Examples
        --------
        >>> import chasles as ch
        >>> T_world_tool, J = ch.load("planar2r").pose_and_jacobian([0.0, 0.0], frame="space")
        >>> T_world_tool[0, 3], J[2]  # the tool's x, and two axes along z
        (np.float64(0.75), array([1., 1.]))
        """

    @computes(algorithms.center_of_mass, outputs=["p_world_center"])
    def center_of_mass(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array:
        """Centre of mass of all moving links: ``center_of_mass(q)``.

        Parameters
        ----------
        q
            Joint positions, shape (..., n), rad (m for sliding joints).

        Returns
        -------
        p_world_center
            Shape (..., 3), in the world, m; NaN for a robot without mass.

        Examples
        --------
        Rods of 10 kg and 5 kg with centres at 0.25 m and 0.625 m: (10 · 0.25 + 5 · 0.625) / 15 = 0.375.

        >>> import chasles as ch
        >>> ch.load("planar2r").center_of_mass([0.0, 0.0])
        array([0.375, 0.   , 0.   ])
        """
