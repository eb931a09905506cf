"""`Robot`: a description together with everything that can be computed of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles import model
from chasles.cached import cached_property
from chasles.model import Description
from chasles.robot.configurations import Configurations
from chasles.robot.copies import Copies
from chasles.robot.dynamics import Dynamics
from chasles.robot.formats import Formats
from chasles.robot.kinematics import Kinematics
from chasles.robot.parameters import InertialParameters
from chasles.robot.reference_dynamics import ReferenceDynamics
from chasles.robot.regressors import Regressors
from chasles.robot.whole_body import WholeBody

if TYPE_CHECKING:
    from chasles.inverse_kinematics import InverseKinematics


class Robot(
    Configurations, Kinematics, Dynamics, Regressors, ReferenceDynamics, InertialParameters, WholeBody, Copies, Formats
):
    """A robot: immutable description and compiled mechanics.

    Every computation is an attribute that is called like a NumPy ufunc: arguments of shape (..., n), and configurations
    of shape (..., nq), with any leading batch axes, ``out=``, ``vary=`` for parameters that take other values than the
    description's, and, where forces of the environment take part, ``wrenches=`` (see `RobotFunction`). The equation of
    motion is

        M(q) qdd + c(q, qd) + g(q) + friction(qd) + armature qdd = tau + Jᵀ w.

    Joint positions are in rad (m for sliding joints), torques in N m (N). The world frame is the fixed base frame. For
    most robots nq is n; see `chasles.robot.configurations` for those with quaternions.

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

    def __init__(self, description: Description) -> None:
        if not isinstance(description, Description):
            raise TypeError(
                f"Robot takes a Description, not {description!r}; robots by name or file: chasles.load(...)"
            )
        self.description = description

    @cached_property
    def inverse_kinematics(self) -> InverseKinematics:
        """Joint positions for poses of a frame; see `chasles.inverse_kinematics.InverseKinematics`."""
        from chasles.inverse_kinematics import InverseKinematics  # stands on this module

        return InverseKinematics(self)

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.description.name

    @property
    def n(self) -> int:
        """Number of degrees of freedom: the length of qd, qdd and tau."""
        return self.description.nv

    @property
    def nv(self) -> int:
        """Number of velocities: `n`."""
        return self.description.nv

    @property
    def nq(self) -> int:
        """Number of coordinates: the length of q; more than `n` where joints have quaternions."""
        return self.description.nq

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints, in the order of q."""
        return self.description.joint_names

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the elements of q; see `chasles.model.Description`."""
        return self.description.coordinate_names

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the elements of qd and tau."""
        return self.description.velocity_names

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the elements of q: "rad", "m", or nothing for those of quaternions."""
        return self.description.coordinate_units

    @property
    def velocity_units(self) -> tuple[str, ...]:
        """Units of the elements of qd: "rad/s" or "m/s"."""
        return self.description.velocity_units

    @property
    def effort_units(self) -> tuple[str, ...]:
        """Units of the elements of tau: "N m" or "N"."""
        return self.description.effort_units

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links and frames."""
        return self.description.frame_names

    @property
    def home(self) -> NDArray[np.float64]:
        """Default configuration, shape (nq,)."""
        return self.description.home

    @property
    def lower_limits(self) -> NDArray[np.float64]:
        """Lowest joint positions, shape (nq,), rad or m; -inf where there is none."""
        return self.description.lower_limits

    @property
    def upper_limits(self) -> NDArray[np.float64]:
        """Highest joint positions, shape (nq,), rad or m; inf where there is none."""
        return self.description.upper_limits

    @property
    def velocity_limits(self) -> NDArray[np.float64]:
        """Highest joint speeds, shape (n,), rad/s or m/s; inf where there is none."""
        return self.description.velocity_limits

    @property
    def effort_limits(self) -> NDArray[np.float64]:
        """Highest joint torques, shape (n,), N m or N; inf where there is none."""
        return self.description.effort_limits

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the parameters that ``vary=`` and `with_values` take."""
        return model.parameter_shapes(self.description)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.description == other.description

    def __hash__(self) -> int:
        return hash(self.description)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.description,)

    def __repr__(self) -> str:
        joints = len(self.joint_names)
        freedoms = "" if joints == self.n else f" with {self.n} freedoms"
        return f"<Robot '{self.name}': {joints} joints{freedoms}, {len(self.description.links)} links>"


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
