"""`Robot`: a robot's mechanics together with its inverse kinematics; what users hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chasles import model
from chasles.cached import cached_property
from chasles.mechanics import BaseParameters, Mechanics, RobotFunction, require_plain_coordinates

if TYPE_CHECKING:
    from chasles.inverse_kinematics import InverseKinematics

__all__ = ["BaseParameters", "Robot", "RobotFunction", "load", "require_plain_coordinates"]


class Robot(Mechanics):
    """A robot: immutable description and compiled mechanics.

    Every computation is an attribute that is called like a NumPy ufunc: arguments of shape (..., n), and configurations
    of shape (..., nq), with any leading batch axes, ``out=``, ``vary=`` for parameters that take other values than the
    description's, and, where forces of the environment take part, ``wrenches=`` (see `RobotFunction`). The equation of
    motion is

        M(q) qdd + c(q, qd) + g(q) + friction(qd) + armature qdd = tau + Jᵀ w.

    Joint positions are in rad (m for sliding joints), torques in N m (N). The world frame is the fixed base frame. For
    most robots nq is n; see `chasles.mechanics.configurations` for those with quaternions.

    Parameters
    ----------
    description
        What the robot is; see also `load`, `from_dh`, `from_screws`, `from_urdf`, `from_toml` and `from_spacelib`.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm = ch.load("planar2r")
    >>> arm.forward_kinematics([0.0, np.pi / 2])[:3, 3].round(3)
    array([0.5 , 0.25, 0.  ])
    """

    @cached_property
    def inverse_kinematics(self) -> InverseKinematics:
        """Joint positions for poses of a frame; see `chasles.inverse_kinematics.InverseKinematics`."""
        from chasles.inverse_kinematics import InverseKinematics  # loaded by those who need it

        return InverseKinematics(self)


def load(name_or_path: str | Path, *, check: bool = True) -> Robot:
    """Load a robot: one of those that Chasles brings, by name, or a URDF, MJCF, TOML or SpaceLib file.

    See `chasles.model.load`.

    Examples
    --------
    >>> import chasles as ch
    >>> ch.load("panda").n
    7
    """
    return Robot(model.load(name_or_path, check=check))
