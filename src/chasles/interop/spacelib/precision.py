"""Section 3.11: the machine's precision."""

from __future__ import annotations

import numpy as np


def dzerom() -> float:
    """Precision of a double: the smallest power of two e with 1 + e different from 1.

    Examples
    --------
    >>> dzerom()
    2.220446049250313e-16
    """
    return float(np.finfo(np.float64).eps)


def fzerom() -> float:
    """Precision of a single-precision number: the smallest power of two e with 1 + e different from 1.

    Examples
    --------
    >>> fzerom()
    1.1920928955078125e-07
    """
    return float(np.finfo(np.float32).eps)


def zerom() -> float:
    """Precision of SpaceLib's type `real`, which is double here.

    Examples
    --------
    >>> zerom() == dzerom()
    True
    """
    return dzerom()
