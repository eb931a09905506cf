"""Kinematics of a robot: poses, Jacobians and the centre of mass."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from chasles import algorithms
from chasles.algorithms import PoseAndJacobian, closed_chain
from chasles.geometry.elementary import ReferenceFrame
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described


class Kinematics(Described):
    """Computations of a robot's geometry; a part of `Mechanics`."""

    @computes(algorithms.forward_kinematics, closed=algorithms.forward_kinematics, outputs=["T_world_frame"])
    def forward_kinematics(
        self, q: ArrayLike, *, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> Array:
        """The default target is "tool", which every robot has."""

    @computes(algorithms.all_frames, closed=algorithms.all_frames, outputs=["T_world_frames"])
    def frame_poses(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.jacobian, closed=closed_chain.jacobian, outputs=["J"])
    def jacobian(
        self, q: ArrayLike, *, frame: ReferenceFrame, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> Array:
        """The reference frame must be given; the default target is "tool", which every robot has."""

    @computes(algorithms.frame_jacobians, closed=closed_chain.frame_jacobians, outputs=["J"])
    def frame_jacobians(
        self,
        q: ArrayLike,
        *,
        frame: ReferenceFrame,
        targets: Sequence[str] | None = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array:
        """The reference frame must be given; the default targets are all frames, in the order of `frame_names`."""

    @computes(algorithms.jacobian_derivative, closed=closed_chain.jacobian_derivative, outputs=["Jdot"])
    def jacobian_derivative(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        frame: ReferenceFrame,
        target: str | None = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array: ...

    @computes(algorithms.pose_and_jacobian, closed=closed_chain.pose_and_jacobian, outputs=PoseAndJacobian)
    def pose_and_jacobian(
        self, q: ArrayLike, *, frame: ReferenceFrame, target: str | None = None, vary: Vary = None, out: Out = None
    ) -> PoseAndJacobian: ...

    @computes(
        algorithms.center_of_mass, closed=algorithms.center_of_mass, outputs=["p_world_center"], needs_masses=True
    )
    def center_of_mass(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...
