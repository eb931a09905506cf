"""`Robot`: a description together with everything that can be computed of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles import algorithms, model
from chasles.model import Description, Tree
from chasles.robot.computation import OneOf, computes

REFERENCE_FRAMES = OneOf(("space", "body", "world-aligned"))


def _tool(description: Description) -> str:
    return description.tool


class Robot:
    """A robot: immutable description and compiled mechanics.

    Every computation is an attribute that is called like a NumPy ufunc: arguments of shape (..., n) with any leading
    batch axes, ``out=``, and ``vary=`` for parameters that take other values than the description's (see
    `RobotFunction`). The equation of motion is

        M(q) qdd + c(q, qd) + g(q) + friction(qd) + armature qdd = tau + Jᵀ w.

    Joint positions are in rad (m for sliding joints), torques in N m (N). The world frame is the fixed base frame.

    Parameters
    ----------
    description
        What the robot is; see also `load`, `from_dh`, `from_screws`, `from_urdf` and `from_toml`.

    Examples
    --------
    >>> import chasles as ch
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

    @classmethod
    def from_dh(cls, *args: Any, **keywords: Any) -> Self:
        """Robot of Denavit–Hartenberg parameters; see `chasles.model.from_dh`."""
        return cls(model.from_dh(*args, **keywords))

    @classmethod
    def from_screws(cls, *args: Any, **keywords: Any) -> Self:
        """Robot of screw axes at the home position; see `chasles.model.from_screws`."""
        return cls(model.from_screws(*args, **keywords))

    @classmethod
    def from_urdf(cls, path: str | Path, **keywords: Any) -> Self:
        """Robot of a URDF file; see `chasles.model.from_urdf`."""
        return cls(model.from_urdf(path, **keywords))

    @classmethod
    def from_toml(cls, path: str | Path, **keywords: Any) -> Self:
        """Robot of a TOML file; see `chasles.model.from_toml`."""
        return cls(model.from_toml(path, **keywords))

    def to_toml(self) -> str:
        """Text of a TOML file from which the same robot can be read."""
        return model.to_toml(self.description)

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.description.name

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.description.n

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the coordinates' joints, in the order of q."""
        return self.description.joint_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links and frames."""
        return self.description.frame_names

    @property
    def home(self) -> NDArray[np.float64]:
        """Default configuration, shape (n,)."""
        return self.description.home

    @property
    def lower_limits(self) -> NDArray[np.float64]:
        """Lowest joint positions, shape (n,), rad or m; -inf where there is none."""
        return self.description.lower_limits

    @property
    def upper_limits(self) -> NDArray[np.float64]:
        """Highest joint positions, shape (n,), rad or m; inf where there is none."""
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

    def with_payload(
        self, mass: float, center_of_mass: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None
    ) -> Self:
        """Copy that carries a body at its tool; see `chasles.model.Description.with_payload`."""
        return type(self)(self.description.with_payload(mass, center_of_mass, inertia))

    def with_friction(self, **friction: Any) -> Self:
        """Copy with other joint friction; see `chasles.model.Description.with_friction`."""
        return type(self)(self.description.with_friction(**friction))

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """Copy under another acceleration of gravity, shape (3,), m/s², in the world frame."""
        return type(self)(self.description.with_gravity(gravity))

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Copy with other values of named parameters (see `parameters`)."""
        return type(self)(self.description.with_values(values))

    @computes("q", outputs=["T_world_frame"], target=_tool)
    @staticmethod
    def forward_kinematics(tree: Tree, q: Any, target: str) -> Any:
        """Pose of a frame, shape (..., 4, 4), in the world: ``forward_kinematics(q, target="tool")``.

        ``target`` is the name of a link or frame; default ``"tool"``, which every robot has.
        """
        return algorithms.forward_kinematics(tree, q, target)

    @computes("q", outputs=["T_world_frames"])
    @staticmethod
    def frame_poses(tree: Tree, q: Any) -> Any:
        """Poses of all links and frames in the order of `frame_names`, shape (..., frames, 4, 4), in the world."""
        return algorithms.all_frames(tree, q)

    @computes("q", outputs=["J"], frame=REFERENCE_FRAMES, target=_tool)
    @staticmethod
    def jacobian(tree: Tree, q: Any, frame: str, target: str) -> Any:
        """Jacobian (..., 6, n), angular part first: ``jacobian(q, frame="body", target="tool")``.

        Multiplied by qd it gives the twist (ω, v) of ``target``: with ``frame="space"`` in world axes and of the point
        of the body that passes the world's origin; with ``"body"`` in the axes and of the origin of the target; with
        ``"world-aligned"`` of the target's origin in world axes.
        """
        return algorithms.jacobian(tree, q, target, frame)

    @computes("q", "qd", outputs=["Jdot"], frame=REFERENCE_FRAMES, target=_tool)
    @staticmethod
    def jacobian_derivative(tree: Tree, q: Any, qd: Any, frame: str, target: str) -> Any:
        """Time derivative (..., 6, n) of `jacobian` along the motion (q, qd)."""
        return algorithms.jacobian_derivative(tree, q, qd, target, frame)

    @computes("q", outputs=["T_world_frame", "J"], frame=REFERENCE_FRAMES, target=_tool)
    @staticmethod
    def pose_and_jacobian(tree: Tree, q: Any, frame: str, target: str) -> Any:
        """`forward_kinematics` and `jacobian` in one call, which costs little more than either."""
        return algorithms.pose_and_jacobian(tree, q, target, frame)

    @computes("q", outputs=["p_world_center"])
    @staticmethod
    def center_of_mass(tree: Tree, q: Any) -> Any:
        """Centre of mass of all moving links (..., 3) in the world, in m."""
        return algorithms.center_of_mass(tree, q)

    @computes("q", "qd", "qdd", outputs=["tau"], wrenches=True)
    @staticmethod
    def inverse_dynamics(tree: Tree, q: Any, qd: Any, qdd: Any, wrenches: Any) -> Any:
        """Joint torques (..., n) of a motion, with friction, armature and ``wrenches=`` of the environment."""
        return algorithms.inverse_dynamics(tree, q, qd, qdd, wrenches)

    @computes("q", "qd", "tau", outputs=["qdd"], wrenches=True)
    @staticmethod
    def forward_dynamics(tree: Tree, q: Any, qd: Any, tau: Any, wrenches: Any) -> Any:
        """Joint accelerations (..., n) under torques, with friction, armature and ``wrenches=`` of the environment."""
        return algorithms.forward_dynamics(tree, q, qd, tau, wrenches)

    @computes("q", outputs=["M"])
    @staticmethod
    def mass_matrix(tree: Tree, q: Any) -> Any:
        """Mass matrix (..., n, n), full and symmetric, with the armature on its diagonal."""
        return algorithms.mass_matrix(tree, q)

    @computes("q", outputs=["M_inverse"])
    @staticmethod
    def inverse_mass_matrix(tree: Tree, q: Any) -> Any:
        """Inverse of the mass matrix (..., n, n)."""
        return algorithms.inverse_mass_matrix(tree, q)

    @computes("q", "qd", outputs=["h"], wrenches=True)
    @staticmethod
    def bias(tree: Tree, q: Any, qd: Any, wrenches: Any) -> Any:
        """Torques (..., n) without accelerations: c(q, qd) + g(q) + friction(qd) - Jᵀ w."""
        return algorithms.bias(tree, q, qd, wrenches)

    @computes("q", outputs=["g"])
    @staticmethod
    def gravity_torque(tree: Tree, q: Any) -> Any:
        """Torques g(q) (..., n) that hold the robot against gravity."""
        return algorithms.gravity_torque(tree, q)

    @computes("q", "qd", outputs=["c"])
    @staticmethod
    def coriolis_vector(tree: Tree, q: Any, qd: Any) -> Any:
        """Centrifugal and Coriolis torques c(q, qd) (..., n), without gravity and friction."""
        return algorithms.coriolis_vector(tree, q, qd)

    @computes("q", "qd", outputs=["C"])
    @staticmethod
    def coriolis_matrix(tree: Tree, q: Any, qd: Any) -> Any:
        """Matrix C(q, qd) (..., n, n) with C qd = c, for which dM/dt - 2 C is skew-symmetric."""
        return algorithms.coriolis_matrix(tree, q, qd)

    @computes("qd", outputs=["tau_friction"])
    @staticmethod
    def friction_torque(tree: Tree, qd: Any) -> Any:
        """Torques (..., n) that the joints' viscous and Coulomb friction take up."""
        return algorithms.friction_torque(tree, qd)

    @computes("q", "qd", outputs=["energy"])
    @staticmethod
    def kinetic_energy(tree: Tree, q: Any, qd: Any) -> Any:
        """Kinetic energy (...) in J, with that of the motors' rotors."""
        return algorithms.kinetic_energy(tree, q, qd)

    @computes("q", outputs=["energy"])
    @staticmethod
    def potential_energy(tree: Tree, q: Any) -> Any:
        """Potential energy of weight (...) in J, zero with all masses at the world's origin."""
        return algorithms.potential_energy(tree, q)

    @computes("q", "qd", "qdd", outputs=["dtau_dq", "dtau_dqd", "dtau_dqdd"], wrenches=True)
    @staticmethod
    def inverse_dynamics_derivatives(tree: Tree, q: Any, qd: Any, qdd: Any, wrenches: Any) -> Any:
        """Exact derivatives of `inverse_dynamics`: ∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ (the mass matrix), each (..., n, n)."""
        return algorithms.inverse_dynamics_derivatives(tree, q, qd, qdd, wrenches)

    @computes("q", "qd", "tau", outputs=["A", "B"], wrenches=True)
    @staticmethod
    def linearize(tree: Tree, q: Any, qd: Any, tau: Any, wrenches: Any) -> Any:
        """Exact A (..., 2n, 2n) and B (..., 2n, n) of ẋ = f(x, τ) with x = (q, q̇): δẋ = A δx + B δτ."""
        return algorithms.linearize(tree, q, qd, tau, wrenches)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.description == other.description

    def __hash__(self) -> int:
        return hash(self.description)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.description,)

    def __repr__(self) -> str:
        return f"<Robot '{self.name}': {self.n} joints, {len(self.description.links)} links>"


def load(name_or_path: str | Path, *, check: bool = True) -> Robot:
    """Load a robot: one of those that Chasles brings, by name, or a URDF or TOML file; see `chasles.model.load`.

    Examples
    --------
    >>> import chasles as ch
    >>> ch.load("panda").n
    7
    """
    return Robot(model.load(name_or_path, check=check))
