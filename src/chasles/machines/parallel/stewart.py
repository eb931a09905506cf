"""`StewartPlatform`: a moving platform on six legs of variable length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.engine.linear.pivoted_elimination import solve
from chasles.engine.program.scalar import Real
from chasles.engine.validators import choice, real, reals
from chasles.geometry.elementary import Array
from chasles.geometry.projections import POSE, random_rotation
from chasles.machines.parallel import dynamics, kinematics
from chasles.machines.parallel.compiled import compiled
from chasles.machines.parallel.construction import (
    bounded,
    distinct_points,
    frozen,
    home_pose,
    limits_of_legs,
    radius,
    require_distinct_joints,
    rotational_inertia,
    six_legs,
    universal_axes,
)
from chasles.machines.parallel.coordinates import PlatformCoordinates
from chasles.machines.parallel.dynamics import Architecture, Mechanism
from chasles.machines.parallel.forward import PoseSet, PoseSolution, every_pose, nearest_pose
from chasles.machines.parallel.kinematics import JointCenters, SingularityMeasure, singularity
from chasles.machines.parallel.legs import Leg
from chasles.machines.parallel.limits import Margins, PoseCheck, PoseLimits, make_limits, margins
from chasles.machines.parallel.robot import configurations_at, stewart_description
from chasles.model.numbers import LARGEST_NUMBER
from chasles.robot.robot import Robot

_ARCHITECTURES = ("UPS", "SPU", "SPS")


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
        Centre of mass of the platform in the platform frame, (3,), m.
    inertia
        Rotational inertia about the centre of mass in platform axes, (3, 3), or (3,) for a diagonal matrix, kg·m².
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
        A value has a wrong shape or sign, or is not finite or beyond 1e9; two legs coincide; the joints of the base or
        of the platform lie on a line or in a point.

    Examples
    --------
    >>> import chasles as ch, numpy as np
    >>> angles = np.deg2rad([-10, 10, 110, 130, 230, 250])
    >>> base = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)
    >>> stewart = ch.machines.StewartPlatform(base, 0.6 * np.roll(base, 1, axis=0), mass=10.0, inertia=(1.0, 1.0, 2.0))
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
        self.base = frozen(bounded(base, "base", (6, 3)))
        self.platform = frozen(bounded(platform, "platform", (6, 3)))
        require_distinct_joints(self.geometry)
        self.legs = six_legs(legs)
        self.mass = real(mass, "mass", at_least=0.0, at_most=LARGEST_NUMBER)
        self.center_of_mass = frozen(bounded(center_of_mass, "center_of_mass", (3,)))
        self.inertia = frozen(rotational_inertia(inertia))
        self.architecture = choice(architecture, "architecture of the legs", _ARCHITECTURES)
        self.home = frozen(home_pose(self.geometry, home))
        self.axes = frozen(universal_axes(self.geometry, self.home, self.architecture, axes))
        self.leg_limits = frozen(limits_of_legs(leg_limits))
        self.joint_limits = frozen(reals(joint_limits, "joint_limits", (2,), broadcast=True, above=0.0, at_most=np.pi))
        self.leg_diameter = real(leg_diameter, "leg_diameter", at_least=0.0)
        self.gravity = frozen(bounded(gravity, "gravity", (3,)))

    @property
    def geometry(self) -> JointCenters:
        """Centres of the joints of base and platform."""
        return JointCenters(self.base, self.platform)

    @cached_property
    def mechanism(self) -> Mechanism:
        """Parameters of the equations of motion."""
        return Mechanism(
            self.geometry, self.architecture, self.axes, self.legs, self.mass, self.center_of_mass, self.inertia,
            self.gravity, self.home,
        )  # fmt: skip

    @cached_property
    def size(self) -> float:
        """Characteristic length, m: the mean distance of the platform's joints from their centroid.

        This length scales rotations for comparison with translations.
        """
        return radius(self.platform)

    @cached_property
    def is_architecturally_singular(self) -> bool:
        """Whether the Jacobian is singular at every pose, as for similar regular hexagons.

        The test uses eight random poses.
        """
        T = np.tile(np.eye(4), (8, 1, 1))
        rng = np.random.default_rng(1)
        T[:, :3, :3] = random_rotation(rng, (8,))
        T[:, :3, 3] = self.base.mean(axis=0) + rng.normal(size=(8, 3)) * (radius(self.base) + self.size)
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

        The rows (r x n, n) are the Plücker coordinates of the legs' axes about the platform's origin. The matrix is
        singular where the six are linearly dependent.
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

        The pose near a guess is found by damped Newton steps. All poses are found by following 40 complex paths; each
        pose is proven, and the result says whether any can be missing.

        Parameters
        ----------
        lengths
            Leg lengths, (..., 6), m.
        guess
            Initial poses, (..., 4, 4); default `home`. A slightly inaccurate rotation part is orthonormalised.
        tolerance
            Largest error of a leg length, m; default 1e-12 times the sum of size and leg lengths.
        max_iterations
            Largest number of steps.

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
            Arguments have wrong shapes, the tolerance is not positive, or all poses are requested for an
            architecturally singular platform. Lengths that are NaN, negative or out of reach raise no error: the status
            reports them.

        Notes
        -----
        Raghavan, The Stewart platform of general geometry has 40 configurations, Journal of Mechanical Design 115
        (1993); Dietmaier, The Stewart-Gough platform of general geometry can have 40 real postures (1998).

        Examples
        --------
        >>> import chasles as ch, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> stewart = ch.machines.StewartPlatform(rng.normal(size=(6, 3)), rng.normal(size=(6, 3)))
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
    def limits(self) -> PoseLimits:
        """Limits of the poses."""
        return make_limits(self.geometry, self.home, self.leg_limits, self.joint_limits, self.leg_diameter)

    @compiled(result=Margins, T=(4, 4))
    def margins(self, T: Array) -> Margins:
        """Distances of poses from their limits, negative beyond them; see `chasles.machines.Margins`."""
        return margins(self.geometry, self.limits, T)

    def check(self, T: ArrayLike) -> PoseCheck:
        """Check poses (..., 4, 4) against the limits of legs and joints, and for collisions of legs.

        The result has `ok`, `margins` and a sentence for each violated limit. Raises ArgumentError if T is not a pose.
        """
        POSE.check(T, "T")
        return PoseCheck(self.margins(T))

    def singularity(self, T: ArrayLike) -> SingularityMeasure:
        """Measure the distance of poses (..., 4, 4) from singular ones, and find the free twist there."""
        POSE.check(T, "T")
        return singularity(np.asarray(self.jacobian(T)), self.size)

    # Dynamics

    @compiled(T=(4, 4), wrench=(6,))
    def leg_forces(self, T: Array, wrench: Array) -> Array:
        """Forces of the actuators (..., 6), N, that exert a given wrench on the platform: Jᵀ f = wrench.

        A force is positive if it lengthens the leg. Forces that hold the platform against an external wrench w are
        ``leg_forces(T, -w)`` on top of `inverse_dynamics`.
        """
        return dynamics.leg_forces_for_wrench(self.geometry, T, wrench)

    @compiled(T=(4, 4), twist=(6,), acceleration=(6,))
    def required_wrench(self, T: Array, twist: Array, acceleration: Array) -> Array:
        """Wrench on the platform (..., 6), N·m and N, required to move platform and legs; finite at every pose."""
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
    def kinetic_energy(self, T: Array, twist: Array) -> Real:
        """Kinetic energy of platform and legs (...), J."""
        return dynamics.kinetic_energy(self.mechanism, T, twist)

    @compiled(T=(4, 4))
    def potential_energy(self, T: Array) -> Real:
        """Potential energy of platform and legs (...), J, zero for mass at the base's origin."""
        return dynamics.potential_energy(self.mechanism, T)

    def coordinates(self, sequence: str = "ZXZ") -> PlatformCoordinates:
        """Return the platform in coordinates (x, y, z, α, β, γ) with the angles of a sequence, ROBOOP's by default."""
        return PlatformCoordinates(self.mechanism, sequence)

    def robot(self, *, independent: Literal["platform", "legs"] = "platform") -> Robot:
        """Return the platform as a robot with loops, on which everything that takes a `Robot` works.

        The configuration holds the platform's quaternion and position and the joints of the legs; the legs are the
        motors. The closed forms of this class are faster.

        Parameters
        ----------
        independent
            Independent velocities of the robot: those of the ``"platform"``, angular and linear in its own axes, with
            the spins of SPS legs; or those of the ``"legs"``, which fail at singular poses.

        Raises
        ------
        ModelError
            Masses or inertias are invalid for a robot.
        """
        choice(independent, "choice of independent velocities", ("platform", "legs"))
        return Robot(stewart_description(self.mechanism, self.leg_limits, self.name, independent))

    def robot_configuration(self, robot: Robot, T: ArrayLike) -> NDArray[np.float64]:
        """Return configurations (..., nq) of `robot` at poses (..., 4, 4): the joints of the legs in closed form.

        Raises
        ------
        ArgumentError
            T is not an array of poses, or the robot is not that of this platform.
        """
        POSE.check(T, "T")
        return configurations_at(self.mechanism, robot, np.asarray(T, dtype=np.float64))

    def __repr__(self) -> str:
        kind = f"{distinct_points(self.base)}-{distinct_points(self.platform)}"
        return f"<StewartPlatform '{self.name}': {kind}, legs {self.architecture}, platform {self.mass:g} kg>"
