"""How much curvature is added where the second derivatives leave a step without a minimum.

A shift times the identity: first none, then a share of the one that helped before, then more and more. Where costs
determine all positions, after two shifts second derivatives without the curvature of residuals, dynamics and
constraints (Gauss–Newton) take the place of the exact ones: they stay near to the motion where many shifts would not.

Source: Wächter and Biegler (2006), section 3.1, with the constants proposed there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import Function, trace

#: Shifts that are tried before the second derivatives of Gauss and Newton.
_SHIFTS = 2
_MOST_SWEEPS = 20
_FIRST_SHIFT, _SHIFT_UP, _SHIFT_UP_AGAIN, _SHIFT_DOWN, _LEAST_SHIFT = 1e-4, 100.0, 8.0, 1.0 / 3.0, 1e-12
_FINITE = np.finfo(np.float64).max


def _add(gain: Any, shift: Any, before: Any, failures: Any, sweeps: Any, may_fall_back: Any) -> tuple[Any, ...]:
    """Return what follows a backward pass: another one with more curvature, or the step.

    Parameters
    ----------
    gain
        Number that is NaN where the pass found no minimum.
    shift, before
        Shift of this pass, and the one that helped in an earlier iteration, 0 for none.
    failures, sweeps
        Numbers of passes of this iteration without a minimum, and of passes that were repeated in all.
    may_fall_back
        Whether Gauss and Newton's second derivatives may be taken: 0 no, 1 to be asked for, 2 yes.
    """
    fails = ~(np.abs(gain) <= _FINITE)
    would = fails & (failures == _SHIFTS) & (may_fall_back > 0.0)
    falls_back, asks = would & (may_fall_back > 1.0), would & (may_fall_back <= 1.0)
    gives_up = fails & ~would & (failures >= _MOST_SWEEPS)
    repeats = fails & ~would & ~gives_up
    first = np.where(before > 0.0, np.maximum(_LEAST_SHIFT, _SHIFT_DOWN * before), _FIRST_SHIFT)
    up = np.where(before > 0.0, _SHIFT_UP_AGAIN, _SHIFT_UP)
    more = np.where(shift > 0.0, up * shift, first)
    flags = (np.where(flag, 1.0, 0.0) for flag in (repeats, falls_back, asks, gives_up))
    helped = np.where(~fails & (shift > 0.0), shift, before)
    following = np.where(repeats, more, np.where(would, shift, 0.0))
    failures = np.where(repeats, failures + 1.0, np.where(would, failures, 0.0))
    return *flags, more - shift, following, helped, failures, np.where(repeats, sweeps + 1.0, sweeps)


#: What follows a backward pass.
add_curvature = Function(
    lambda: trace(
        _add,
        dict.fromkeys(("gain", "shift", "before", "failures", "sweeps", "may_fall_back"), ()),
        name="add_curvature",
        outputs=["repeats", "falls_back", "asks", "gives_up", "added", "shift", "before", "failures", "sweeps"],
    )
)
#: What follows where Gauss and Newton's second derivatives are taken.
fallen_back = Function(
    lambda: trace(
        lambda failures, sweeps: (0.0, failures + 1.0, sweeps + 1.0),
        {"failures": (), "sweeps": ()},
        name="fallen_back",
        outputs=["shift", "failures", "sweeps"],
    )
)
