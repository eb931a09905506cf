"""Equations of all poses of a Stewart-Gough platform with given leg lengths, in Study's coordinates.

A pose is a point (e, g) of seven-dimensional projective space: e is the quaternion of the rotation, and the pure
quaternion p = g e* / e·e is the displacement of platform joint 0 from base joint 0. With joints a_i and b_i relative to
these two, the constraint |p + R b_i - a_i|² = l_i² becomes

    leg 0:        g·g = l_0² e·e
    leg i > 0:    g·(e b_i - a_i e) - (a_i e)·(e b_i) + k_i e·e = 0,    2 k_i = |a_i|² + |b_i|² - l_i² + l_0²
    Study:        e·g = 0

These seven quadrics have 40 common points off e·e = 0 for a general platform (Ronga & Vust 1992; Wampler, Forward
displacement analysis of general six-in-parallel SPS (Stewart) platform manipulators using soma coordinates, Mechanism
and Machine Theory 31 (1996)). Products of quaternions and vectors are those of quaternions. The formulas take real and
complex elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.geometry.elementary import Array, cross

#: Most poses of a general platform, complex ones included.
POSES = 40


class Parameters(NamedTuple):
    """Geometry and leg lengths as the equations need them; the values may be complex."""

    a: Any
    """Base joints 1 to 5 relative to joint 0, (5, 3)."""
    b: Any
    """Platform joints 1 to 5 relative to joint 0, (5, 3)."""
    k: Any
    """Constants of the legs 1 to 5, (5,)."""
    square: Any
    """Squared length of leg 0."""


SHAPES = Parameters((5, 3), (5, 3), (5,), ())


def gradients(parameters: Parameters, x: Array) -> Array:
    """Gradients (7, 8) of the seven quadrics at x = (e, g); by Euler's theorem the quadrics are half J x."""
    e, g = x[:4], x[4:]
    rows = []
    for a, b, k in zip(parameters.a, parameters.b, parameters.k, strict=True):
        turned = right_product(e, b)
        of_e = left_product(a, g) - right_product(g, b) + 2.0 * left_product(a, turned) + 2.0 * k * e
        rows.append(np.concatenate([of_e, turned - left_product(a, e)]))
    rows.append(np.concatenate([-2.0 * parameters.square * e, 2.0 * g]))
    rows.append(np.concatenate([g, e]))
    return np.array(rows)


def rates(parameters: Parameters, changes: Parameters, x: Array) -> Array:
    """Derivatives (7,) of the quadrics at a fixed x along changes of the parameters."""
    e, g = x[:4], x[4:]
    values = []
    for a, b, a_dot, b_dot, k_dot in zip(parameters.a, parameters.b, changes.a, changes.b, changes.k, strict=True):
        turned, turned_dot = right_product(e, b), right_product(e, b_dot)
        carried, carried_dot = left_product(a, e), left_product(a_dot, e)
        values.append(
            dot(g, turned_dot - carried_dot) - dot(carried_dot, turned) - dot(carried, turned_dot) + k_dot * dot(e, e)
        )
    return np.array([*values, -changes.square * dot(e, e), 0.0 * values[0]])


def left_product(a: Array, q: Array) -> Array:
    """Quaternion a q, (4,), of a vector (3,) and a quaternion (4,)."""
    w, v = q[0], q[1:]
    return np.concatenate([[-dot(a, v)], w * a + cross(a, v)])


def right_product(q: Array, b: Array) -> Array:
    """Quaternion q b, (4,), of a quaternion (4,) and a vector (3,)."""
    w, v = q[0], q[1:]
    return np.concatenate([[-dot(v, b)], w * b + cross(v, b)])


def dot(a: Array, b: Array) -> Any:
    """Sum of products, without complex conjugation."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
