"""Plain formulas between a rotation matrix and its quaternion (w, x, y, z) of any length."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import maximum, where
from chasles.geometry.elementary import Array


def quaternion_multiple(R: Array) -> Array:
    """Quaternion (4,) of a rotation (3, 3), multiplied by four times its component of largest magnitude.

    Sums and differences of R's entries are the products 4 q qᵀ of the quaternion's components; this is the row of them
    in which nothing cancels (Shepperd, Quaternion from rotation matrix, J. Guidance and Control 1, 1978).
    """
    (a, b, c), (d, e, f), (g, h, i) = R
    wx, wy, wz = h - f, c - g, d - b
    xy, xz, yz = b + d, c + g, f + h
    rows = {
        "w": [1.0 + (a + e + i), wx, wy, wz],
        "x": [wx, 1.0 + (a - e - i), xy, xz],
        "y": [wy, xy, 1.0 + (e - a - i), yz],
        "z": [wz, xz, yz, 1.0 + (i - a - e)],
    }
    x_beats_y = a > e
    z_is_largest = i > maximum(a, e)
    w_is_largest = a + e + i > maximum(maximum(a, e), i)
    multiple = [
        where(w_is_largest, from_w, where(z_is_largest, from_z, where(x_beats_y, from_x, from_y)))
        for from_w, from_x, from_y, from_z in zip(*rows.values(), strict=True)
    ]
    return np.array(multiple)


def rotation_of_quaternion(q: Any) -> Array:
    """Rotation (3, 3) of a quaternion of any length but zero."""
    w, x, y, z = q
    k = 2.0 / (w * w + x * x + y * y + z * z)
    kx, ky, kz = k * x, k * y, k * z
    return np.array(
        [
            [1.0 - (ky * y + kz * z), kx * y - kz * w, kx * z + ky * w],
            [kx * y + kz * w, 1.0 - (kx * x + kz * z), ky * z - kx * w],
            [kx * z - ky * w, ky * z + kx * w, 1.0 - (kx * x + ky * y)],
        ]
    )
