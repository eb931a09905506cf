"""Coupled drives: motors that turn with several joints, as those of many wrists.

A motor that sits before a joint and drives a joint behind it also turns when the first one moves. Each joint has one
motor; its rate, at the joint side of the reduction, is that of the joint and shares of the rates of others: C q̇ for
all motors. See Craig, Introduction to Robotics (3rd ed., 2005), section 3.6, Actuator space, joint space, and Cartesian
space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ModelError
from chasles.model.joint import Joint
from chasles.model.record import shortened

WORST_CONDITION = 1e6
"""Condition number of C beyond which some torques of joints need motor torques a million times as large."""


def check_couplings(joints: Sequence[Joint], mimics: Mapping[str, tuple[str, float, float]]) -> None:
    """Refuse drives that are coupled to joints that cannot be.

    Raises
    ------
    ModelError
        A coupled joint, or one that its drive is coupled to, does not exist, is fixed, has several degrees of freedom,
        or mimics another or is mimicked.
    """
    by_name = {joint.name: joint for joint in joints}
    followed = {leader for name, (leader, _, _) in mimics.items() if leader != name}
    for joint in joints:
        for name in (joint.name, *(other for other, _ in joint.drive_coupling)) if joint.drive_coupling else ():
            other, why = by_name.get(name), ""
            if other is None:
                why = "does not exist"
            elif not other.moves:
                why = "is fixed"
            elif other.mimic is not None:
                why = "mimics another joint"
            elif name in followed:
                why = "is mimicked by another joint"
            elif len(other.freedoms) != 1:
                why = f"is {other.kind}"
            if why:
                raise ModelError(
                    f"the drive_coupling of joint {shortened(joint.name)} cannot be: joint {shortened(name)} {why}"
                )
        if any(name == joint.name for name, _ in joint.drive_coupling):
            raise ModelError(
                f"the drive_coupling of joint {shortened(joint.name)} names the joint itself, whose share is always 1: "
                "scale with gear_ratio"
            )


def coupling_matrix(joints: Sequence[Joint], names: Sequence[str]) -> NDArray[np.float64]:
    """Return C (n, n), the motors' rates per unit of velocities (n,) of these names, at the joint side of reductions.

    Raises
    ------
    ModelError
        Some torques of joints cannot be given by any torques of motors.
    """
    C = np.eye(len(names))
    for joint in joints:
        for name, share in joint.drive_coupling:
            C[names.index(joint.name), names.index(name)] = share
    if not np.linalg.cond(C) <= WORST_CONDITION:
        raise ModelError(
            "the drive_coupling of the joints leaves torques that no motors give: the matrix of motor rates per joint "
            f"rate has the condition number {np.linalg.cond(C):.1g}, beyond {WORST_CONDITION:.0e}"
        )
    return C


def couplings_left(joints: Iterable[Joint]) -> tuple[Joint, ...]:
    """Return joints whose drives are coupled to none that is gone or fixed, and so adds nothing to a motor's rate.

    Raises
    ------
    ModelError
        A joint was fixed whose motor still turns with others.
    """
    listed = tuple(joints)
    moving = {joint.name for joint in listed if joint.moves}
    return tuple(
        joint.replace(drive_coupling=[pair for pair in joint.drive_coupling if pair[0] in moving])
        if joint.drive_coupling
        else joint
        for joint in listed
    )


def require_motor_at_rest(joint: Joint, fixed: Iterable[str]) -> None:
    """Refuse to fix a joint whose motor turns with joints that are not `fixed` too.

    Raises
    ------
    ModelError
        The motor would go on turning, with its inertia and friction, and no joint would have it.
    """
    at_rest = set(fixed)
    others = [shortened(name) for name, _ in joint.drive_coupling if name not in at_rest]
    if others:
        raise ModelError(
            f"joint {shortened(joint.name)} cannot be fixed: its motor turns with {', '.join(others)} too "
            "(drive_coupling); fix these as well, or uncouple the drives first: with_drive_coupling(np.eye(n))"
        )
