"""A frame that gives way to forces as a mass on a spring and a damper: impedance alone, without a robot."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.sealed import Sealed
from chasles.control.compliance import Axes, Offset, compliance_wrench, moved, require_axes, spring_wrench
from chasles.control.impedance import compliant_gains, gains6
from chasles.control.pose_feedback import OrientationError, require_orientation_error
from chasles.engine import Record, maximum
from chasles.engine.program.records import Memory
from chasles.engine.program.scalar import Real
from chasles.engine.validators import reals
from chasles.geometry import exp_rotation, normalize_quaternion, quaternion_from_rotation, rotation_from_quaternion
from chasles.geometry.elementary import Array
from chasles.trajectories.motion import PoseMotion


class CompliantFrame(Sealed):
    """B x'' + D x' + K x = f for the offset x of a frame from its reference, in position and orientation.

    The equation is that of `Impedance` and `Admittance`. Here it is independent of a robot: `step` advances the frame's
    state by a period, and `motion` gives the frame's pose, twist and acceleration, for any robot, device or animation
    to track.

    Parameters
    ----------
    stiffness, damping, inertia
        Translational values, N/m, N·s/m and kg: a scalar or one value per axis; the inertia is positive.
    rotational_stiffness, rotational_damping, rotational_inertia
        Rotational values, N·m/rad, N·m·s/rad and kg·m².
    axes
        Frame along whose axes the values above are given: ``"reference"`` or ``"world"``.
    orientation_error
        ``"quaternion"`` or ``"logarithm"``, the rotational springs' energy; see `Impedance`.

    Examples
    --------
    >>> spring = CompliantFrame(
    ...     stiffness=100.0,
    ...     damping=40.0,
    ...     inertia=4.0,
    ...     rotational_stiffness=10.0,
    ...     rotational_damping=2.0,
    ...     rotational_inertia=0.1,
    ... )
    >>> at_rest = PoseMotion(np.eye(4), np.zeros(6), np.zeros(6))
    >>> state, push = spring.at_rest(), [0.0, 0.0, 0.0, 5.0, 0.0, 0.0]
    >>> for _ in range(2000):
    ...     state = spring.step(state, at_rest, push, 0.01)
    >>> spring.motion(state, at_rest, push).pose[:3, 3].round(6)  # 5 N on 100 N/m
    array([0.05, 0.  , 0.  ])
    """

    def __init__(
        self,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike,
        inertia: ArrayLike,
        rotational_stiffness: ArrayLike,
        rotational_damping: ArrayLike,
        rotational_inertia: ArrayLike,
        axes: Axes = "reference",
        orientation_error: OrientationError = "quaternion",
    ) -> None:
        require_orientation_error(orientation_error)
        require_axes(axes)
        self.axes: Axes = axes
        self.orientation_error: OrientationError = orientation_error
        self.gains = compliant_gains(
            None,
            stiffness=stiffness,
            damping=damping,
            inertia=inertia,
            rotational_stiffness=rotational_stiffness,
            rotational_damping=rotational_damping,
            rotational_inertia=rotational_inertia,
        )

    @staticmethod
    def at_rest() -> Record:
        """Return the state of a frame that coincides with its reference and moves with it."""
        return Record(offset=np.zeros(3), quaternion=np.array([1.0, 0.0, 0.0, 0.0]), velocity=np.zeros(6))

    def motion(self, state: Record, reference: PoseMotion, wrench: ArrayLike) -> PoseMotion:
        """Return the frame's pose (4, 4), twist (6,) and acceleration (6,) in world axes.

        Parameters
        ----------
        state
            State of the frame, from `at_rest` or `step`.
        reference
            Motion of the reference: pose, twist and acceleration in world axes.
        wrench
            Wrench (m, f) of the environment on the frame, (6,), in world axes about its origin, N·m and N.
        """
        away = offset_of(state)
        return moved(reference, away, self._acceleration(away, reference, wrench), self.axes)

    def step(self, state: Record, reference: PoseMotion, wrench: ArrayLike, period: float) -> Record:
        """Return the state after a period, s, from the reference and wrench at its start; see `motion`.

        Energy never grows by more than the work of the wrench, for every period; with ``"logarithm"`` if the rotational
        stiffness is the same about all axes.
        """
        away = offset_of(state)
        return stepped(away, self._acceleration(away, reference, wrench), self.gains, period)

    def _acceleration(self, away: Offset, reference: PoseMotion, wrench: ArrayLike) -> Array:
        force = compliance_wrench(reals(wrench, "wrench", (6,)), reference, self.axes)
        return compliant_acceleration(away, force, self.gains, self.orientation_error)


def offset_of(state: Memory) -> Offset:
    """Return the offset of a frame's state."""
    return Offset(state.offset, np.asarray(rotation_from_quaternion(state.quaternion)), state.velocity)


def compliant_acceleration(
    away: Offset, force: Array, gains: Mapping[str, Any], orientation_error: OrientationError
) -> Array:
    """Return x'' = (f - D x' - K x) / B, (6,), in the axes of the gains."""
    push = spring_wrench(away, gains6(gains, "stiffness"), orientation_error)
    return np.asarray((force + push - gains6(gains, "damping") * away.velocity) / gains6(gains, "inertia"))


def stepped(away: Offset, a: Array, gains: Mapping[str, Any], period: Real) -> Record:
    """State after a period: the trapezoidal rule, with the stiffest rotational spring for all rotations.

    With x⁺ = x + h (v + v⁺)/2 and B (v⁺ - v)/h = f - D (v + v⁺)/2 - K (x + x⁺)/2 the change of velocity is
    v⁺ - v = h (B a - h K v / 2) / (B + h D / 2 + h² K / 4). Energy never grows by more than the work of f if K bounds
    the second derivatives of the springs' energy U along every rotation. For ``"quaternion"`` U'' = 4 q'ᵀ K q' - |ω|²
    qᵀ K q with |q'| = |ω| / 2, and for ``"logarithm"`` with equal stiffness: the largest stiffness does.
    """
    B, D, K = (gains6(gains, name) for name in ("inertia", "damping", "stiffness"))
    K = np.concatenate([np.array(3 * [reduce(maximum, K[:3])]), K[3:]])
    v = away.velocity
    change = period * (B * a - 0.5 * period * K * v) / (B + 0.5 * period * D + 0.25 * period**2 * K)
    step = period * (v + 0.5 * change)
    S = np.asarray(exp_rotation(step[:3])) @ away.S
    quaternion = normalize_quaternion(quaternion_from_rotation(S))
    return Record(offset=away.x + step[3:], quaternion=np.asarray(quaternion), velocity=v + change)
