"""Plain formulas between a rotation matrix and its quaternion (w, x, y, z) of any length."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import maximum, where
from chasles.engine.symbols import is_symbol
from chasles.geometry.elementary import Array


def quaternion_matrix(A: Array) -> Array:
    """Symmetric K (4, 4), linear in a matrix A (3, 3), with qᵀ K q = tr(R(q)ᵀ A) for every unit quaternion q.

    Of a rotation it is K = 4 q qᵀ - I with the rotation's own quaternion.
    """
    (a, b, c), (d, e, f), (g, h, i) = A
    return np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )


def quaternion_multiple(R: Array) -> Array:
    """Quaternion (4,) of a rotation (3, 3), multiplied by four times its component of largest magnitude.

    It is the row of 4 q qᵀ in which nothing cancels (Shepperd, Quaternion from rotation matrix, J. Guidance and Control
    1, 1978). Symbols cancel nothing: theirs is the row of w, which is null for half a turn alone.
    """
    of_w, of_x, of_y, of_z = np.eye(4) + quaternion_matrix(R)
    if is_symbol(of_w[0]) and not of_w[0].is_zero:
        return np.asarray(of_w)
    x, y, z = np.diag(R)
    of_vector = where(z > maximum(x, y), of_z, where(x > y, of_x, of_y))
    return np.asarray(where(x + y + z > maximum(maximum(x, y), z), of_w, of_vector))


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
