"""What is known of an element while a program is traced."""

from __future__ import annotations

import numpy as np


def known_zero(value: object) -> bool:
    """Whether an element is known to be zero: a number, not a traced scalar.

    >>> known_zero(0.0), known_zero(1)
    (True, False)
    """
    return isinstance(value, int | float | np.number) and value == 0
