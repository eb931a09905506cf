"""Motion of a wheeled base in the plane: odometry, a car's rates, and a tracking control law.

A configuration is (φ, x, y): heading, rad, and position in the world, m. A planar twist is (ω, v_x, v_y) in the axes of
the base, rad/s and m/s. Lynch & Park, Modern Robotics, chapter 13.
"""

from __future__ import annotations

import numpy as np

from chasles.engine import absolute, cos, sin, tan
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.quotients import cosine_quotient, sine_quotient


@batched(twist=(3,))
def planar_displacement(twist: Array) -> Array:
    """Return the displacement of a base that moves with a constant twist for unit time (13.35).

    Parameters
    ----------
    twist
        Planar twist (ω, v_x, v_y) in the axes of the base, times the time, shape (..., 3), rad and m.

    Returns
    -------
    ndarray
        Rotation and translation (Δφ, Δx, Δy) in the axes that the base had before, shape (..., 3).

    Examples
    --------
    A quarter of a circle with a radius of 1 m:

    >>> planar_displacement([np.pi / 2, np.pi / 2, 0.0]).round(12)
    array([1.57079633, 1.        , 1.        ])
    """
    turn, x, y = twist
    along, across = sine_quotient(turn * turn), turn * cosine_quotient(turn * turn)
    return np.array([turn, along * x - across * y, across * x + along * y])


@batched(configuration=(3,), twist=(3,), time=())
def moved(configuration: Array, twist: Array, time: Array) -> Array:
    """Return the exact configuration of a base after a motion with a constant twist.

    Parameters
    ----------
    configuration
        Heading and position (φ, x, y) at the start, shape (..., 3), rad and m.
    twist
        Planar twist (ω, v_x, v_y) in the axes of the base, shape (..., 3), rad/s and m/s.
    time
        Duration, s.

    Returns
    -------
    ndarray
        Heading and position afterwards, shape (..., 3). The heading counts full turns.

    Examples
    --------
    >>> moved([np.pi / 2, 1.0, 0.0], [0.0, 0.5, 0.0], 2.0).round(12)
    array([1.57079633, 1.        , 1.        ])
    """
    phi, x, y = configuration
    turn, ahead, aside = planar_displacement(np.array([component * time for component in twist]))
    c, s = cos(phi), sin(phi)
    return np.array([phi + turn, x + c * ahead - s * aside, y + s * ahead + c * aside])


@batched(configuration=(3,), speed=(), steering=(), wheelbase=())
def car_rates(configuration: Array, speed: Array, steering: Array, wheelbase: Array) -> Array:
    """Return the rates of the configuration of a car that does not slip sideways (13.3.2).

    The reference point is midway between the rear wheels.

    Parameters
    ----------
    configuration
        Heading and position (φ, x, y), shape (..., 3), rad and m.
    speed
        Forward speed of the reference point, m/s.
    steering
        Angle of the front wheels, positive to the left, rad.
    wheelbase
        Distance between the axles, m.

    Returns
    -------
    ndarray
        Rates (φ̇, ẋ, ẏ), shape (..., 3).

    Examples
    --------
    >>> car_rates([0.0, 0.0, 0.0], 2.0, np.arctan(0.5), 2.5)
    array([0.4, 2. , 0. ])
    """
    phi = configuration[0]
    return np.array([speed * tan(steering) / wheelbase, speed * cos(phi), speed * sin(phi)])


@batched(configuration=(3,), reference=(3,), command=(2,), gains=(3,))
def tracking_command(configuration: Array, reference: Array, command: Array, gains: Array) -> Array:
    """Return the forward speed and turning rate for a unicycle to follow a reference unicycle (13.31).

    The errors go to zero if the reference keeps moving and its heading differs from the base's by less than 90°.

    Parameters
    ----------
    configuration, reference
        Headings and positions (φ, x, y) of the base and of the reference, shape (..., 3), rad and m.
    command
        Forward speed and turning rate (v, ω) of the reference, shape (..., 2), m/s and rad/s.
    gains
        Positive gains (k1, k2, k3) of the errors along, across and in the heading, shape (..., 3).

    Returns
    -------
    ndarray
        Forward speed and turning rate (v, ω) of the base, shape (..., 2), m/s and rad/s.

    Examples
    --------
    On the reference, its own command:

    >>> tracking_command([0.3, 1.0, 2.0], [0.3, 1.0, 2.0], [0.5, 0.1], [1.0, 2.0, 2.0])
    array([0.5, 0.1])
    """
    phi_reference = reference[0]
    c, s = cos(phi_reference), sin(phi_reference)
    dx, dy = configuration[1] - reference[1], configuration[2] - reference[2]
    heading, along, across = configuration[0] - phi_reference, c * dx + s * dy, -s * dx + c * dy
    v, omega = command
    k1, k2, k3 = gains
    return np.array(
        [
            (v - k1 * absolute(v) * (along + across * tan(heading))) / cos(heading),
            omega - (k2 * v * across + k3 * absolute(v) * tan(heading)) * cos(heading) * cos(heading),
        ]
    )
