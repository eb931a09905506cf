"""Elements of a MuJoCo model that change its motion and that no description can hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.formats.mjcf_model import BALL, FREE, disabled
from chasles.model.record import shortened

if TYPE_CHECKING:
    from mujoco import MjModel

#: More names than this help nobody in a message.
_LISTED = 6


def ignored(model: MjModel, taken: Collection[int]) -> list[str]:
    """Return one phrase for each kind of thing that is left out.

    Parameters
    ----------
    model
        A `mujoco.MjModel`.
    taken
        Numbers of the equality constraints that are part of the description.

    Raises
    ------
    ModelError
        The model has flexible bodies.
    """
    if model.nflex:
        raise ModelError("flexible bodies are not supported")
    names_by_phrase = {
        "springs of the joints": _names(model.joint, _springs(model)),
        "damping that is not linear, of the joints": _names(model.joint, _curved_damping(model)),
        "ranges of the ball joints": _names(model.joint, _ranges_of_balls(model)),
        "armature and friction of the free joints": _names(model.joint, _heavy_free_joints(model)),
        "gravity compensation of the bodies": _names(model.body, np.flatnonzero(model.body_gravcomp)),
        "motion of the mocap bodies": _names(model.body, np.flatnonzero(np.asarray(model.body_mocapid) >= 0)),
        "the tendons": _names(model.tendon, _tendons(model)),
        "forces and inertia that the actuators have by themselves": _names(model.actuator, _active_actuators(model)),
        "the equality constraints": _names(model.equality, _constraints(model, taken)),
    }
    phrases = [f"{what} {names}" for what, names in names_by_phrase.items() if names]
    if model.opt.density or model.opt.viscosity:
        phrases.append("the medium around it (density, viscosity, wind)")
    return phrases


def _names(element: Callable[[int], Any], numbers: Iterable[int]) -> str:
    names = [shortened(element(int(number)).name or f"number {int(number) + 1}") for number in numbers]
    shown = ", ".join(names[:_LISTED])
    return f"{shown} and {len(names) - _LISTED} others" if len(names) > _LISTED else shown


def _springs(model: MjModel) -> Iterable[int]:
    if disabled(model, "SPRING"):
        return ()
    stiff = np.asarray(model.jnt_stiffness) != 0.0
    return np.flatnonzero(stiff | _any_of(model, "jnt_stiffnesspoly", model.njnt))


def _curved_damping(model: MjModel) -> Iterable[int]:
    if disabled(model, "DAMPER"):
        return ()
    curved = _any_of(model, "dof_dampingpoly", model.nv)
    return sorted({int(model.dof_jntid[dof]) for dof in np.flatnonzero(curved)})


def _ranges_of_balls(model: MjModel) -> Iterator[int]:
    for joint in range(model.njnt):
        if int(model.jnt_type[joint]) == BALL and model.jnt_limited[joint] and not disabled(model, "LIMIT"):
            yield joint


def _heavy_free_joints(model: MjModel) -> Iterator[int]:
    """Free joints whose armature or dry friction acts along the axes of the world there, and along the body's here."""
    for joint in range(model.njnt):
        dof = int(model.jnt_dofadr[joint])
        if int(model.jnt_type[joint]) == FREE and (model.dof_armature[dof] or model.dof_frictionloss[dof]):
            yield joint


def _tendons(model: MjModel) -> Iterator[int]:
    properties = ("stiffness", "damping", "frictionloss", "armature", "limited", "stiffnesspoly", "dampingpoly")
    for tendon in range(model.ntendon):
        if any(np.any(getattr(model, f"tendon_{name}", np.zeros(model.ntendon))[tendon]) for name in properties):
            yield tendon


def _active_actuators(model: MjModel) -> Iterator[int]:
    properties = ("biasprm", "armature", "damping", "dampingpoly")
    count = len(model.actuator_trntype)
    for actuator in range(count):
        if any(np.any(getattr(model, f"actuator_{name}", np.zeros(count))[actuator]) for name in properties):
            yield actuator


def _constraints(model: MjModel, taken: Collection[int]) -> Iterator[int]:
    for constraint in range(model.neq):
        if model.eq_active0[constraint] and constraint not in taken and not disabled(model, "EQUALITY"):
            yield constraint


def _any_of(model: MjModel, name: str, count: int) -> Any:
    """Whether each row of an array of the model holds numbers; older versions of MuJoCo lack the array."""
    values = np.asarray(getattr(model, name, np.zeros((count, 1))))
    return values.reshape(count, -1).any(axis=1) if count else np.zeros(0, dtype=bool)
