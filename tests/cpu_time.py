"""Limits of time that do not depend on what else the machine does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

#: CPU time of `_yardstick` on the machine for which limits are written, an idle AMD EPYC (Zen 5).
REFERENCE = 0.04


@contextmanager
def cpu_time_limit(seconds: float, what: str = "it") -> Iterator[None]:
    """Assert that a block takes at most so much CPU time of this process, on the reference machine.

    CPU time grows too where a core is shared or slow; what is over the limit is compared with a fixed piece of work
    done here and now.
    """
    start = time.process_time()
    yield
    spent = time.process_time() - start
    if spent >= seconds:
        slowness = max(1.0, _yardstick() / REFERENCE)
        message = f"{what} took {spent:.2f} s of CPU time on a machine {slowness:.1f} times slower"
        assert spent < seconds * slowness, message


def _yardstick() -> float:
    start = time.process_time()
    words = {str(k): k * k % 97 for k in range(200_000)}
    assert len(words) == 200_000
    return time.process_time() - start
