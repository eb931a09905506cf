"""What planners by optional packages share: their error, and the check of their input."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError, ChaslesError, MissingExtraError


class PlanningError(ChaslesError, RuntimeError):
    """There is no motion as asked for; the message says where and why."""


def planner(package: str, purpose: str) -> Any:
    """Import an optional package.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        with warnings.catch_warnings():  # what its own code is warned about does not concern the caller
            warnings.simplefilter("ignore")
            return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(package, "planning", purpose) from error


def each_joint(values: ArrayLike, n: int, name: str, *, infinite: bool = False) -> NDArray[np.float64]:
    """Return one number for each joint from one for all or one for each.

    Parameters
    ----------
    values
        A number, or an array of shape (n,).
    n
        Number of joints.
    name
        What error messages call it.
    infinite
        Whether infinity is allowed.

    Raises
    ------
    ArgumentError
        If it has another shape or is not finite; the message says which joint.

    Examples
    --------
    >>> each_joint(2.0, 3, "the acceleration limit")
    array([2., 2., 2.])
    """
    try:
        array = np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), (n,)))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be one number or {n}, one for each joint") from None
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    if bad.any():
        joint = int(np.argmax(bad))
        raise ArgumentError(f"{name} of joint {joint} is {array[joint]}")
    return array


def positive_limits(values: ArrayLike, n: int, name: str) -> NDArray[np.float64]:
    """Return positive limits, infinite where there is none, as `each_joint` does."""
    array = each_joint(values, n, f"the {name} limit", infinite=True)
    if (array <= 0.0).any():
        joint = int(np.argmax(array <= 0.0))
        raise ArgumentError(f"the {name} limit of joint {joint} must be positive, not {array[joint]}")
    return array
