"""Contacts of chapter 12: wrenches, friction cones, form closure and force closure by linear programs.

The published library has no functions for this chapter. Wrenches are the book's: (m_z, f_x, f_y) in the plane, (m, f)
in space, of contacts on the body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals, whole_number

FloatArray = NDArray[np.float64]

_SMALL = 1e-9  # of a singular value relative to the largest, and of a normal's length


class Closure(NamedTuple):
    """Result of a test of closure.

    Attributes
    ----------
    closed
        Whether the contacts hold the body.
    coefficients
        Positive coefficients k with F k = 0 that prove it, shape (j,), the smallest being 1; None where there are none.
    """

    closed: bool
    coefficients: FloatArray | None


def contact_wrench(p: ArrayLike, n: ArrayLike) -> FloatArray:
    """Return the unit wrench of a frictionless contact at p with the normal n into the body.

    Parameters
    ----------
    p, n
        Position, m, and normal, which need not be a unit vector, shape (2,) in the plane or (3,) in space.

    Returns
    -------
    ndarray
        Shape (3,) or (6,).

    Examples
    --------
    >>> contact_wrench([1.0, 2.0], [0.0, 3.0])
    array([1., 0., 1.])
    """
    point, normal = _place(p, "p"), _place(n, "n")
    if point.shape != normal.shape:
        raise ArgumentError(f"p has shape {point.shape} and n {normal.shape}; both must be (2,) or both (3,)")
    length = float(np.linalg.norm(normal))
    if not length > _SMALL:
        raise ArgumentError(f"n has the length {length:g}; a contact needs a normal")
    return _wrench(point, normal / length)


def friction_cone(p: ArrayLike, n: ArrayLike, mu: float, edges: int = 4) -> FloatArray:
    """Return the wrenches of the edges of a contact's friction cone, as columns.

    Parameters
    ----------
    p, n
        See `contact_wrench`.
    mu
        Coefficient of friction.
    edges
        Edges of the pyramid within the cone in space, at least 3; in the plane there are always 2.

    Returns
    -------
    ndarray
        Shape (3, 2) or (6, edges).

    Examples
    --------
    >>> friction_cone([0.0, 0.0], [0.0, 1.0], 0.5)
    array([[ 0. ,  0. ],
           [-0.5,  0.5],
           [ 1. ,  1. ]])
    """
    friction = real(mu, "mu", at_least=0.0)
    count = whole_number(edges, "edges", 3, 1000)
    contact_wrench(p, n)
    point, normal = _place(p, "p"), _place(n, "n")
    normal = normal / np.linalg.norm(normal)
    if len(normal) == 2:
        across = np.array([-normal[1], normal[0]])
        directions = [normal + side * friction * across for side in (1.0, -1.0)]
    else:
        first = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
        first /= np.linalg.norm(first)
        second = np.cross(normal, first)
        turns = 2.0 * np.pi * np.arange(count) / count
        directions = [normal + friction * (np.cos(a) * first + np.sin(a) * second) for a in turns]
    return np.stack([_wrench(point, direction) for direction in directions], axis=-1)


def form_closure(F: ArrayLike) -> Closure:
    """Test whether frictionless contacts hold a body whatever acts on it: first-order form closure (12.1.7).

    The body is held if F has full rank and F k = 0 for some k > 0, a linear program.

    Parameters
    ----------
    F
        Wrenches of the contacts as columns, shape (3, j) in the plane or (6, j) in space.

    Examples
    --------
    The book's example of two fingers inside an object:

    >>> form_closure([[0, 0, -1, 2], [-1, 0, 1, 0], [0, -1, 0, 1]])
    Closure(closed=True, coefficients=array([2., 1., 2., 1.]))
    """
    from scipy.optimize import linprog

    wrenches = reals(F, "F", ("m", "j"))
    if wrenches.shape[0] not in (3, 6) or not wrenches.shape[1]:
        raise ArgumentError(f"F has shape {wrenches.shape}; expected (3, j) in the plane or (6, j) in space, j > 0")
    values = np.linalg.svd(wrenches, compute_uv=False)
    if len(values) < len(wrenches) or values[-1] <= _SMALL * values[0]:
        return Closure(False, None)
    scaled = wrenches / values[0]
    program = linprog(np.ones(wrenches.shape[1]), A_eq=scaled, b_eq=np.zeros(len(wrenches)), bounds=(1.0, None))
    return Closure(bool(program.success), np.asarray(program.x) + 0.0 if program.success else None)


def force_closure(cones: ArrayLike) -> Closure:
    """Test whether contacts with friction can resist any wrench: force closure (12.2.3).

    Parameters
    ----------
    cones
        Edges of the friction cones of all contacts as columns, shape (3, j) or (6, j): `friction_cone`, side by side.

    Examples
    --------
    Two fingers on opposite sides of a disk hold it if they have any friction:

    >>> contacts = ([-1.0, 0.0], [1.0, 0.0]), ([1.0, 0.0], [-1.0, 0.0])
    >>> [force_closure(np.hstack([friction_cone(p, n, mu) for p, n in contacts])).closed for mu in (0.1, 0.0)]
    [True, False]
    """
    return form_closure(cones)


def _place(values: ArrayLike, name: str) -> FloatArray:
    vector = reals(values, name, ("d",))
    if len(vector) not in (2, 3):
        raise ArgumentError(f"{name} has shape {vector.shape}; expected (2,) in the plane or (3,) in space")
    return vector


def _wrench(p: FloatArray, f: FloatArray) -> FloatArray:
    if len(p) == 2:
        return np.array([p[0] * f[1] - p[1] * f[0], *f])
    return np.concatenate([np.cross(p, f), f])
