"""`PlanningError`, the import of optional packages that plan, and the check of the limits they take."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ChaslesError, import_extra
from chasles.engine.validators import reals


class PlanningError(ChaslesError, RuntimeError):
    """The requested motion does not exist; the message says where and why."""


def planner(package: str, purpose: str) -> Any:
    """Import an optional package.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    with warnings.catch_warnings():  # what its own code is warned about does not concern the caller
        warnings.simplefilter("ignore")
        return import_extra(package, "planning", purpose)


def positive_limits(values: ArrayLike, n: int, name: str) -> NDArray[np.float64]:
    """Return the positive limit of each joint from one for all or one for each, infinite where there is none."""
    return reals(values, name, (n,), broadcast=True, above=0, infinite=True)
