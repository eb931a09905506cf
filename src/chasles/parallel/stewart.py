"""`StewartPlatform`: a body on six legs whose lengths place it in space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import choice, real, reals
from chasles.cached import cached_property
from chasles.errors import ArgumentError, ArgumentTypeError
from chasles.geometry import quaternion_from_rotation
from chasles.geometry.elementary import Array, pose
from chasles.geometry.projections import pose_distance, random_rotation
from chasles.parallel import dynamics, kinematics
from chasles.parallel.compiled import compiled
from chasles.parallel.coordinates import PlatformCoordinates
from chasles.parallel.dynamics import Architecture, Mechanism
from chasles.parallel.elimination import solve
from chasles.parallel.forward import PoseSet, PoseSolution, every_pose, nearest_pose
from chasles.parallel.kinematics import Geometry
from chasles.parallel.legs import Leg
from chasles.parallel.limits import Limits, Margins, PoseCheck, make_limits, margins
from chasles.parallel.robot import stewart_description
from chasles.parallel.singularities import SingularityMeasure, singularity
from chasles.robot import Robot
from chasles.sealed import Sealed

_ARCHITECTURES = ("UPS", "SPU", "SPS")
#: Joints closer than this, relative to the size of their body, are one point.
_COINCIDENT = 1e-9
_ROTATION_TOLERANCE = 1e-6


class StewartPlatform(Sealed):
    """A Stewart-Gough platform: a moving platform on six legs of variable length.

    Poses are those of the platform's frame in the base frame, T_base_platform (..., 4, 4). Twists (omega, v) and their
    rates are world-aligned: v is the velocity of the platform's origin, components are in base axes. Wrenches (m, f)
    are about the platform's origin in base axes. All computations take any leading batch axes; each is a
    `chasles.engine.Function` with its program, derivatives and exports.

    Parameters
    ----------
    base
        Centres of the base joints in the base frame, (6, 3), m.
    platform
        Centres of the platform joints in the platform frame, (6, 3), m. Leg i connects base[i] and platform[i].
    legs
        Masses of the legs: one `Leg` for all, or six; default massless.
    mass
        Mass of the platform with its load, kg; default 0: kinematics only.
    center_of_mass
        Its centre of mass in the platform frame, (3,), m.
    inertia
        Its rotational inertia about the centre of mass in platform axes, (3, 3), or (3,) for a diagonal one, kg·m².
    architecture
        Joints of a leg from base to platform: ``"UPS"`` (universal, prismatic, spherical), ``"SPU"`` or ``"SPS"``.
    axes
        First axes of the universal joints, fixed in the base (UPS) or in the platform (SPU), (6, 3); default
        perpendicular to the leg and to the base's or platform's normal at `home`.
    home
        Reference pose, (4, 4): default guess of `forward_kinematics`. Default: platform parallel to the base and above
        it by the base's radius.
    leg_limits
        Smallest and largest leg length, (2,) or (6, 2), m; default none.
    joint_limits
        Largest angle of a leg from its direction at `home`, seen from the base and from the platform, (2,), rad;
        default none.
    leg_diameter
        Diameter of the legs, m, for the distance between them.
    gravity
        Acceleration of gravity in base axes, (3,), m/s².
    name
        Name for messages and pictures.

    Raises
    ------
    ArgumentError
        A value has a wrong shape or sign or is not finite; two legs coincide; the joints of the base or of the platform
        lie on a line or in a point.

    Examples
    --------
    >>> import chasles as ch, numpy as np
    >>> angles = np.deg2rad([-10, 10, 110, 130, 230, 250])
    >>> base = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)
    >>> stewart = ch.parallel.StewartPlatform(base, 0.6 * np.roll(base, 1, axis=0), mass=10.0, inertia=(1.0, 1.0, 2.0))
    >>> T = np.eye(4)
    >>> T[:3, 3] = [0.1, 0.0, 0.9]
    >>> lengths = stewart.leg_lengths(T)
    >>> found = stewart.forward_kinematics(lengths)
    >>> bool(found.success), bool(np.allclose(found.T, T))
    (True, True)
    """

    def __init__(
        self,
        base: ArrayLike,
        platform: ArrayLike,
        *,
        legs: Leg | Sequence[Leg] = Leg(),  # noqa: B008  (never changes)
        mass: float = 0.0,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        architecture: Architecture = "UPS",
        axes: ArrayLike | None = None,
        home: ArrayLike | None = None,
        leg_limits: ArrayLike = (0.0, np.inf),
        joint_limits: ArrayLike = (np.pi, np.pi),
        leg_diameter: float = 0.0,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        name: str = "stewart platform",
    ) -> None:
        self.name = str(name)
        self.base = _frozen(reals(base, "base", (6, 3)))
        self.platform = _frozen(reals(platform, "platform", (6, 3)))
        self._require_distinct_joints()
        self.legs = _six_legs(legs)
        self.mass = real(mass, "mass", at_least=0.0)
        self.center_of_mass = _frozen(reals(center_of_mass, "center_of_mass", (3,)))
        self.inertia = _frozen(_inertia(inertia))
        self.architecture = choice(architecture, "architecture of the legs", _ARCHITECTURES)
        self.home = _frozen(self._default_home() if home is None else _one_pose(home))
        self.axes = _frozen(self._default_axes() if axes is None else _unit_vectors(axes))
        self.leg_limits = _frozen(_limits(leg_limits))
        self.joint_limits = _frozen(reals(joint_limits, "joint_limits", (2,), broadcast=True, above=0.0, at_most=np.pi))
        self.leg_diameter = real(leg_diameter, "leg_diameter", at_least=0.0)
        self.gravity = _frozen(reals(gravity, "gravity", (3,)))

    @property
    def geometry(self) -> Geometry:
        """Centres of the joints of base and platform."""
        return Geometry(self.base, self.platform)

    @cached_property
    def mechanism(self) -> Mechanism:
        """What the equations of motion are written for."""
        return Mechanism(
            self.geometry, self.architecture, self.axes, self.legs, self.mass, self.center_of_mass, self.inertia,
            self.gravity, self.home,
        )  # fmt: skip

    @cached_property
    def size(self) -> float:
        """Characteristic length, m: the mean distance of the platform's joints from their centroid.

        Rotations are compared with translations in this unit.
        """
        return _radius(self.platform)

    @cached_property
    def is_architecturally_singular(self) -> bool:
        """Whether the Jacobian is singular at every pose, as that of similar regular hexagons is.

        It is examined at eight random poses.
        """
        T = np.tile(np.eye(4), (8, 1, 1))
        rng = np.random.default_rng(1)
        T[:, :3, :3] = random_rotation(rng, (8,))
        T[:, :3, 3] = self.base.mean(axis=0) + rng.normal(size=(8, 3)) * (_radius(self.base) + self.size)
        J = np.array([kinematics.jacobian(self.geometry, pose) for pose in T])
        return bool(np.all(singularity(J, self.size).dexterity <= 1e-11))

    # Kinematics

    @compiled(T=(4, 4))
    def leg_lengths(self, T: Array) -> Array:
        """Leg lengths (..., 6), m, at poses T (..., 4, 4): the inverse kinematics."""
        return kinematics.leg_lengths(self.geometry, T)

    @compiled(T=(4, 4))
    def jacobian(self, T: Array) -> Array:
        """Matrix (..., 6, 6) from the platform's twist to the rates of the legs.

        Its rows (r x n, n) are the Plücker coordinates of the legs' axes about the platform's origin; it is singular
        where six of them depend on each other.
        """
        return kinematics.jacobian(self.geometry, T)

    @compiled(T=(4, 4), twist=(6,))
    def leg_rates(self, T: Array, twist: Array) -> Array:
        """Rates of the leg lengths (..., 6), m/s, for a twist of the platform."""
        return kinematics.leg_rates(self.geometry, T, twist)

    @compiled(T=(4, 4), twist=(6,), acceleration=(6,))
    def leg_accelerations(self, T: Array, twist: Array, acceleration: Array) -> Array:
        """Accelerations of the leg lengths (..., 6), m/s², for a twist of the platform and its rate."""
        return kinematics.leg_accelerations(self.geometry, T, twist, acceleration)

    @compiled(T=(4, 4), rates=(6,))
    def twist_from_leg_rates(self, T: Array, rates: Array) -> Array:
        """Twist of the platform (..., 6) for rates of the legs; infinite or NaN at singular poses."""
        return solve(kinematics.jacobian(self.geometry, T), rates)

    @compiled(T=(4, 4), twist=(6,), leg_accelerations=(6,))
    def acceleration_from_leg_accelerations(self, T: Array, twist: Array, leg_accelerations: Array) -> Array:
        """Rate of the platform's twist (..., 6) for accelerations of the legs; infinite or NaN at singular poses."""
        remaining = leg_accelerations - kinematics.leg_accelerations(self.geometry, T, twist, np.zeros(6))
        return solve(kinematics.jacobian(self.geometry, T), remaining)

    @overload
    def forward_kinematics(
        self, lengths: ArrayLike, guess: ArrayLike | None = ..., *, select: Literal["nearest"] = ...,
        tolerance: float | None = ..., max_iterations: int = ...,
    ) -> PoseSolution: ...  # fmt: skip
    @overload
    def forward_kinematics(self, lengths: ArrayLike, *, select: Literal["all"]) -> PoseSet: ...
    def forward_kinematics(
        self,
        lengths: ArrayLike,
        guess: ArrayLike | None = None,
        *,
        select: Literal["nearest", "all"] = "nearest",
        tolerance: float | None = None,
        max_iterations: int = 50,
    ) -> PoseSolution | PoseSet:
        """Find the pose for leg lengths near a guess, or all poses.

        The pose near a guess is the one that damped Newton steps reach. All poses are found by following 40 complex
        paths; each is proven, and the result says whether one can be missing.

        Parameters
        ----------
        lengths
            Leg lengths, (..., 6), m.
        guess
            Poses to start from, (..., 4, 4); default `home`. A rotation part that is slightly off is orthonormalised.
        tolerance
            Largest error of a leg length, m; default 1e-12 times the sum of size and leg lengths.
        max_iterations
            Most steps.

        select
            ``"nearest"`` or ``"all"``; the other arguments are those of ``"nearest"``.

        Returns
        -------
        PoseSolution or PoseSet
            The pose with `success`, `residual`, `iterations` and `status`; failures keep the pose at which the search
            ended. Or the poses with `count`, `certified`, `error_bound` and `complete`.

        Raises
        ------
        ArgumentError
            Arguments have wrong shapes, or the tolerance is not positive; or all poses are wanted of a platform that is
            architecturally singular. Lengths that are NaN, negative or out of reach are no errors: the status says so.

        Notes
        -----
        Raghavan, The Stewart platform of general geometry has 40 configurations, Journal of Mechanical Design 115
        (1993); Dietmaier, The Stewart-Gough platform of general geometry can have 40 real postures (1998).

        Examples
        --------
        >>> import chasles as ch, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> stewart = ch.parallel.StewartPlatform(rng.normal(size=(6, 3)), rng.normal(size=(6, 3)))
        >>> poses = stewart.forward_kinematics(stewart.leg_lengths(np.eye(4)), select="all")
        >>> poses.count, bool(poses.complete), bool(poses.certified.all()), bool(poses.residual.max() < 1e-12)
        (..., True, True, True)
        """
        if choice(select, "selection", ("nearest", "all")) == "all":
            if self.is_architecturally_singular:
                raise ArgumentError(
                    f"{self.name}: the platform is architecturally singular: its legs' axes are dependent in every "
                    "pose, so it can move with its legs locked and leg lengths do not determine its poses; change base "
                    "or platform"
                )
            return every_pose(self.geometry, lengths)
        start = self.home if guess is None else guess
        return nearest_pose(self.geometry, self.size, lengths, start, tolerance, max_iterations)

    # Limits and singularities

    @cached_property
    def limits(self) -> Limits:
        """What limits the poses."""
        return make_limits(self.geometry, self.home, self.leg_limits, self.joint_limits, self.leg_diameter)

    @compiled(result=Margins, T=(4, 4))
    def margins(self, T: Array) -> Margins:
        """Distances of poses from their limits, negative beyond them; see `chasles.parallel.limits.Margins`."""
        return margins(self.geometry, self.limits, T)

    def check(self, T: ArrayLike) -> PoseCheck:
        """Examine whether poses (..., 4, 4) keep the limits of legs and joints, and whether legs meet anything.

        Returns
        -------
        PoseCheck
            With `ok`, `margins` and sentences for what is broken.
        """
        return PoseCheck(self.margins(T))

    def singularity(self, T: ArrayLike) -> SingularityMeasure:
        """Measure how far poses (..., 4, 4) are from singular ones, and which twist is free there."""
        return singularity(np.asarray(self.jacobian(T)), self.size)

    # Dynamics

    @compiled(T=(4, 4), wrench=(6,))
    def leg_forces(self, T: Array, wrench: Array) -> Array:
        """Forces of the actuators (..., 6), N, that together exert a wrench on the platform: Jᵀ f = wrench.

        A force is positive if it lengthens the leg. Forces that hold the platform against an external wrench w are
        ``leg_forces(T, -w)`` on top of `inverse_dynamics`.
        """
        return dynamics.leg_forces_for_wrench(self.geometry, T, wrench)

    @compiled(T=(4, 4), twist=(6,), acceleration=(6,))
    def required_wrench(self, T: Array, twist: Array, acceleration: Array) -> Array:
        """Wrench on the platform (..., 6), N·m and N, that moves platform and legs; it is regular at every pose."""
        return dynamics.required_wrench(self.mechanism, T, twist, acceleration)

    @compiled(T=(4, 4), twist=(6,), acceleration=(6,))
    def inverse_dynamics(self, T: Array, twist: Array, acceleration: Array) -> Array:
        """Forces of the actuators (..., 6), N, for a motion: Jᵀ f = required wrench."""
        return dynamics.inverse_dynamics(self.mechanism, T, twist, acceleration)

    @compiled(T=(4, 4))
    def mass_matrix(self, T: Array) -> Array:
        """Mass matrix of platform and legs (..., 6, 6): the kinetic energy is twistᵀ M twist / 2."""
        return dynamics.mass_matrix(self.mechanism, T)

    @compiled(T=(4, 4), twist=(6,))
    def bias_wrench(self, T: Array, twist: Array) -> Array:
        """Wrench (..., 6) of centrifugal, Coriolis and gravity forces."""
        return dynamics.bias_wrench(self.mechanism, T, twist)

    @compiled(T=(4, 4), twist=(6,), forces=(6,))
    def forward_dynamics(self, T: Array, twist: Array, forces: Array) -> Array:
        """Rate of the platform's twist (..., 6) under forces of the actuators (..., 6), N."""
        dynamics.require_mass(self.mechanism)
        return dynamics.forward_dynamics(self.mechanism, T, twist, forces)

    @compiled(T=(4, 4), twist=(6,))
    def kinetic_energy(self, T: Array, twist: Array) -> Any:
        """Kinetic energy of platform and legs (...), J."""
        return dynamics.kinetic_energy(self.mechanism, T, twist)

    @compiled(T=(4, 4))
    def potential_energy(self, T: Array) -> Any:
        """Potential energy of platform and legs (...), J, zero for mass at the base's origin."""
        return dynamics.potential_energy(self.mechanism, T)

    def coordinates(self, sequence: str = "ZXZ") -> PlatformCoordinates:
        """Return the platform in coordinates (x, y, z, α, β, γ) with the angles of a sequence, ROBOOP's by default."""
        return PlatformCoordinates(self.mechanism, sequence)

    def robot(self, *, independent: Literal["platform", "legs"] = "platform") -> Robot:
        """Return the platform as a robot with loops, on which everything that takes a `Robot` works.

        Its configuration holds the platform's quaternion and position and the joints of the legs; its motors are the
        legs. The closed forms of this class are faster.

        Parameters
        ----------
        independent
            Velocities of the robot: those of the ``"platform"``, angular and linear in its own axes, with the spins of
            the legs where they are SPS; or those of the ``"legs"``, which fail at singular poses.

        Raises
        ------
        ModelError
            Masses or inertias are such that no robot can have them.
        """
        choice(independent, "choice of independent velocities", ("platform", "legs"))
        return Robot(stewart_description(self.mechanism, self.leg_limits, self.name, independent))

    def robot_configuration(self, robot: Robot, T: ArrayLike) -> NDArray[np.float64]:
        """Return configurations (..., nq) of `robot` at poses (..., 4, 4), by closing its loops.

        NaN where the loops cannot be closed from the home pose.
        """
        poses = np.asarray(T, dtype=np.float64)
        q = np.empty((*poses.shape[:-2], robot.nq))
        q[...] = robot.home
        q[..., :4] = quaternion_from_rotation(poses[..., :3, :3])
        q[..., 4:7] = poses[..., :3, 3]
        return np.asarray(robot.normalize(q))

    # Construction

    def _require_distinct_joints(self) -> None:
        for joints, of_body in ((self.base, "base"), (self.platform, "platform")):
            spread = np.linalg.svd(joints - joints.mean(axis=0), compute_uv=False)
            if not spread[1] > _COINCIDENT * spread[0]:
                shape = "on a line" if spread[0] > _COINCIDENT * np.abs(joints).max() else "in one point"
                raise ArgumentError(
                    f"{of_body}: all joints lie {shape}, so the legs cannot hold the platform; give at least three "
                    "joints that span a triangle"
                )
        near_base, near_platform = (
            np.linalg.norm(joints[:, None] - joints, axis=-1) <= _COINCIDENT * _radius(joints)
            for joints in (self.base, self.platform)
        )
        for i, j in np.argwhere(np.triu(near_base & near_platform, 1)):
            raise ArgumentError(
                f"legs {i} and {j} connect the same two points, base {self.base[i]} and platform {self.platform[i]}; "
                "six different legs are needed"
            )

    def _default_home(self) -> NDArray[np.float64]:
        height = np.array([0.0, 0.0, _radius(self.base)])
        return pose(np.eye(3), self.base.mean(axis=0) + height - self.platform.mean(axis=0))

    def _default_axes(self) -> NDArray[np.float64]:
        """First axes of the universal joints: perpendicular to the leg at home and to the normal of their body."""
        legs = kinematics.leg_vectors(self.geometry, self.home)
        joints = self.base
        if self.architecture == "SPU":
            legs, joints = legs @ self.home[:3, :3], self.platform
        normal = np.linalg.svd(joints - joints.mean(axis=0))[2][2]
        length = np.linalg.norm(legs, axis=1, keepdims=True)
        if not np.all(length > _COINCIDENT * self.size):
            raise ArgumentError(
                f"leg {int(np.argmin(length))} has no length at the home pose; give another home= or axes= of the "
                "universal joints"
            )
        directions = legs / length
        tangent = np.cross(normal, directions)
        along_normal = np.linalg.norm(tangent, axis=1) < 1e-3
        helper = np.linalg.svd(joints - joints.mean(axis=0))[2][0]
        tangent[along_normal] = np.cross(helper, directions[along_normal])
        return np.asarray(tangent / np.linalg.norm(tangent, axis=1, keepdims=True))

    def __repr__(self) -> str:
        kind = f"{len(_distinct(self.base))}-{len(_distinct(self.platform))}"
        return f"<StewartPlatform '{self.name}': {kind}, legs {self.architecture}, platform {self.mass:g} kg>"


def _distinct(joints: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.unique(np.round(joints / (_COINCIDENT * _radius(joints))), axis=0)


def _radius(joints: NDArray[np.float64]) -> float:
    """Mean distance of points from their centroid."""
    return float(np.linalg.norm(joints - joints.mean(axis=0), axis=1).mean())


def _frozen(values: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.asarray(values, dtype=np.float64)
    values.flags.writeable = False
    return values


def _six_legs(legs: Leg | Sequence[Leg]) -> tuple[Leg, ...]:
    six = (legs,) * 6 if isinstance(legs, Leg) else tuple(legs)
    if len(six) != 6:
        raise ArgumentError(f"legs has {len(six)} legs; give one Leg for all, or six")
    for leg in six:
        if not isinstance(leg, Leg):
            raise ArgumentTypeError(f"legs must hold Leg objects, not {type(leg).__name__}")
    return six


def _inertia(inertia: ArrayLike) -> NDArray[np.float64]:
    values = reals(inertia, "inertia")
    matrix = np.diag(values) if values.shape == (3,) else reals(values, "inertia", (3, 3))
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-12 * np.abs(matrix).max(initial=0.0)):
        raise ArgumentError("inertia is not symmetric; give the full matrix about the centre of mass")
    least = np.linalg.eigvalsh(matrix)[0]
    if least < -1e-12 * np.abs(matrix).max(initial=0.0):
        raise ArgumentError(f"inertia has the negative principal moment {least:g} kg·m²")
    return matrix


def _one_pose(home: ArrayLike) -> NDArray[np.float64]:
    T = reals(home, "home", (4, 4))
    distance = float(pose_distance(T))
    if not distance <= _ROTATION_TOLERANCE:
        raise ArgumentError(f"home is not a pose: it is {distance:.3g} away from one")
    return T


def _unit_vectors(axes: ArrayLike) -> NDArray[np.float64]:
    vectors = reals(axes, "axes", (6, 3))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(lengths > 0.0):
        raise ArgumentError(f"axes[{int(np.argmin(lengths))}] is zero; it must be the direction of a joint axis")
    return np.asarray(vectors / lengths)


def _limits(leg_limits: ArrayLike) -> NDArray[np.float64]:
    limits = reals(leg_limits, "leg_limits", infinite=True, at_least=0.0)
    if limits.shape not in ((2,), (6, 2)):
        raise ArgumentError(
            f"leg_limits has shape {limits.shape}; expected (2,) or (6, 2): smallest and largest length"
        )
    limits = np.broadcast_to(limits, (6, 2)).copy()
    for leg, (low, high) in enumerate(limits):
        if not low < high:
            raise ArgumentError(f"leg_limits of leg {leg} are ({low:g}, {high:g}); the first must be the smaller one")
    return limits
