"""Wheeled bases: the linear map from a planar twist of the base to the speeds of its wheels, and back.

Lynch & Park, Modern Robotics, sections 13.2 and 13.4.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.engine.validators import real, reals
from chasles.machines.mobile.planar_motion import moved

FloatArray = NDArray[np.float64]


class WheeledBase(Sealed):
    """A base whose wheel speeds are linear in its planar twist: u = H V, with V = (ω, v_x, v_y) in the base's axes.

    Parameters
    ----------
    H
        Wheel speeds per unit of the twist, shape (m, 3): rad and 1/m.
    speed_limits
        Largest wheel speeds, one number or shape (m,), rad/s; default none.

    Raises
    ------
    ArgumentError
        A shape is wrong, a value is not finite, or H is zero, so that the wheels cannot move the base.

    Examples
    --------
    >>> base = WheeledBase.mecanum(half_length=0.235, half_width=0.15, radius=0.0475)
    >>> base.twist([10.0, 10.0, 10.0, 10.0]).round(12) + 0.0  # straight ahead, 10 rad/s · 0.0475 m
    array([0.   , 0.475, 0.   ])
    >>> base.wheel_speeds([0.0, 0.0, 0.475]).round(12)  # to the left
    array([-10.,  10., -10.,  10.])
    """

    def __init__(self, H: ArrayLike, *, speed_limits: ArrayLike = np.inf) -> None:
        self.H = reals(H, "H", ("wheels", 3))
        self.speed_limits = reals(
            speed_limits, "speed_limits", (len(self.H),), broadcast=True, above=0.0, infinite=True
        )
        if not self.H.any():
            raise ArgumentError("H is zero: no wheel moves when the base does")
        #: Twist per unit of the wheel speeds, (3, m): that which fits best where the wheels would have to slip.
        self.F = np.linalg.pinv(self.H)
        for array in (self.H, self.speed_limits, self.F):
            array.flags.writeable = False

    @classmethod
    def of_wheels(
        cls,
        positions: ArrayLike,
        driving_directions: ArrayLike,
        sliding_angles: ArrayLike = 0.0,
        *,
        radius: ArrayLike,
        speed_limits: ArrayLike = np.inf,
    ) -> Self:
        """Make a base with omniwheels or mecanum wheels (13.5).

        Parameters
        ----------
        positions
            Contact points in the base frame, shape (m, 2), m.
        driving_directions
            Directions β in which the wheels drive forward, from the x axis of the base, one or shape (m,), rad.
        sliding_angles
            Angles γ of the directions in which the rollers let a wheel slide, from the direction of the wheel's axle:
            0 for omniwheels, ±π/4 usually for mecanum wheels, rad.
        radius
            Wheel radii, one or shape (m,), m.
        speed_limits
            See the class.

        Examples
        --------
        Three omniwheels at 120°:

        >>> angles = np.radians([0.0, 120.0, 240.0])
        >>> positions = 0.2 * np.stack([np.cos(angles - np.pi / 2), np.sin(angles - np.pi / 2)], axis=-1)
        >>> base = WheeledBase.of_wheels(positions, angles, radius=0.05)
        >>> base.wheel_speeds([1.0, 0.0, 0.0]).round(12)
        array([4., 4., 4.])
        """
        points = reals(positions, "positions", ("wheels", 2))
        shape = (len(points),)
        beta = reals(driving_directions, "driving_directions", shape, broadcast=True)
        gamma = reals(sliding_angles, "sliding_angles", shape, broadcast=True)
        radii = reals(radius, "radius", shape, broadcast=True, above=0.0)
        if (np.abs(np.cos(gamma)) < 1e-9).any():
            raise ArgumentError("a sliding angle of 90° lets a wheel slide in the direction in which it drives")
        x, y = points.T
        rows = [x * np.sin(beta + gamma) - y * np.cos(beta + gamma), np.cos(beta + gamma), np.sin(beta + gamma)]
        return cls((np.stack(rows) / (radii * np.cos(gamma))).T, speed_limits=speed_limits)

    @classmethod
    def mecanum(cls, *, half_length: float, half_width: float, radius: float, speed_limits: ArrayLike = np.inf) -> Self:
        """Make a base with four mecanum wheels (13.10): front left, front right, rear right, rear left.

        Parameters
        ----------
        half_length, half_width
            Distances of the wheels from the centre of the base, forward and to the side, m.
        radius
            Wheel radius, m.
        speed_limits
            See the class.
        """
        length, width = real(half_length, "half_length", above=0.0), real(half_width, "half_width", above=0.0)
        positions = [[length, width], [length, -width], [-length, -width], [-length, width]]
        angles = np.radians([-45.0, 45.0, -45.0, 45.0])
        return cls.of_wheels(positions, 0.0, angles, radius=radius, speed_limits=speed_limits)

    @classmethod
    def differential(cls, *, half_track: float, radius: float, speed_limits: ArrayLike = np.inf) -> Self:
        """Make a base with two driven wheels on one axle, left and right, that does not slip sideways (13.14).

        Parameters
        ----------
        half_track
            Distance of each wheel from the middle of the axle, m.
        radius
            Wheel radius, m.
        speed_limits
            See the class.

        Examples
        --------
        >>> base = WheeledBase.differential(half_track=0.2, radius=0.1)
        >>> base.twist([-2.0, 2.0]).round(12)  # on the spot, to the left
        array([1., 0., 0.])
        """
        track, r = real(half_track, "half_track", above=0.0), real(radius, "radius", above=0.0)
        return cls([[-track / r, 1.0 / r, 0.0], [track / r, 1.0 / r, 0.0]], speed_limits=speed_limits)

    def wheel_speeds(self, twist: ArrayLike) -> FloatArray:
        """Return the wheel speeds (..., m), rad/s, for a planar twist (..., 3) of the base."""
        return reals(twist, "twist", (..., 3)) @ self.H.T

    def twist(self, wheel_speeds: ArrayLike) -> FloatArray:
        """Return the planar twist (..., 3) of the base for wheel speeds (..., m), rad/s.

        If the speeds are inconsistent, so that a wheel must slip, the twist is the best fit.
        """
        return reals(wheel_speeds, "wheel_speeds", (..., len(self.H))) @ self.F.T

    def odometry(self, configuration: ArrayLike, wheel_angles: ArrayLike) -> FloatArray:
        """Return the configuration of the base, (..., 3), after its wheels rotate, assuming constant speed (13.4).

        Parameters
        ----------
        configuration
            Heading and position (φ, x, y) before, shape (..., 3), rad and m.
        wheel_angles
            Rotation angles of the wheels, shape (..., m), rad.

        Examples
        --------
        >>> base = WheeledBase.differential(half_track=0.2, radius=0.1)
        >>> base.odometry([0.0, 1.0, 2.0], [5.0, 5.0]).round(12) + 0.0
        array([0. , 1.5, 2. ])
        """
        position: FloatArray = moved(configuration, self.twist(wheel_angles), 1.0)
        return position

    def __repr__(self) -> str:
        return f"WheeledBase(H={self.H.round(6).tolist()})"
