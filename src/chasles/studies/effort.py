"""Time that a study took."""

from __future__ import annotations

from typing import NamedTuple


class Effort(NamedTuple):
    """Time that a study took.

    Attributes
    ----------
    processor_time
        Sum over the processes of all workers, compiling included, s.
    wall_time
        From start to end, s.
    """

    processor_time: float = 0.0
    wall_time: float = 0.0

    def __str__(self) -> str:
        """Return both times.

        >>> str(Effort(120.4, 65.0))
        '65.0 s (120.4 s of processor time)'
        """
        return f"{self.wall_time:.1f} s ({self.processor_time:.1f} s of processor time)"


NO_EFFORT = Effort()
