"""What is known of a value while an algorithm is traced."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_number_zero(value: Any) -> bool:
    """Whether a value is the number zero; a traced one never is.

    Examples
    --------
    >>> is_number_zero(0.0), is_number_zero(1e-300)
    (True, False)
    """
    return isinstance(value, (int, float, np.number)) and value == 0
