"""Settings of control laws from options of the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.cli.values import joint_values, not_negative, numbers
from chasles.robot.robot import Robot
from chasles.studies.controllers import KINDS, settings_of

_STIFF_FREQUENCY = 60.0  # rad/s, of laws that compensate inertia and coupling by feedback alone
_FEEDBACK_ALONE = ("pd", "pd-gravity", "pid")


def law_settings(
    kind: str, gains: dict[str, str], texts: list[str], targets: list[str], model: Robot
) -> dict[str, Any]:
    """Return the settings of a controller from options; gains that are missing are left to the rule of studies."""
    known = settings_of(kind)
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ArgumentError(f"--set: expected NAME=VALUE, not '{text}'; {kind} has the settings {', '.join(known)}")
        settings[name.strip()] = parsed_setting(value.strip())
    for name, text in gains.items():
        if name not in known:
            what = "integral action" if name == "ki" else f"gain {name}"
            raise ArgumentError(f"--{name}: {kind} has no {what}; its settings: {', '.join(known) or 'none'}")
        values = _frame_values(text, f"--{name}") if "target" in known else joint_values(text, f"--{name}", model)
        settings[name] = not_negative(values, f"--{name}")
    if targets:
        settings |= _targets(kind, targets, known)
    if kind in _FEEDBACK_ALONE:
        settings.setdefault("frequency", _STIFF_FREQUENCY)
    if "kp" in settings and "kd" in known and "kd" not in settings:  # critical damping
        alone = np.asarray(model.mass_matrix(model.home)).diagonal() if kind in _FEEDBACK_ALONE else 1.0
        settings["kd"] = 2.0 * np.sqrt(np.asarray(settings["kp"]) * alone)
    return settings


def _frame_values(text: str, option: str) -> NDArray[np.float64]:
    """Return a gain of a frame: one number for all axes, or one for each world axis."""
    values = numbers(text, option)
    if len(values) not in (1, 3):
        raise ArgumentError(f"{option}: {len(values)} numbers for the 3 axes of a frame; give 1 or 3")
    return np.array(values)


def _targets(kind: str, targets: list[str], known: tuple[str, ...]) -> dict[str, Any]:
    """Return the setting of a law that names the frames it moves."""
    if "targets" in known:
        return {"targets": targets}
    if "target" not in known:
        able = ", ".join(name for name in KINDS if {"target", "targets"} & set(settings_of(name)))
        raise ArgumentError(f"--target: {kind} moves joints, not frames; laws of frames: {able}")
    if len(targets) > 1:
        raise ArgumentError(f"--target: {kind} moves one frame, not {len(targets)}; whole-body-torque moves several")
    return {"target": targets[0]}


def frames_of_law(kind: str, targets: list[str]) -> list[str]:
    """Return the frames that a law moves; none of laws of joints."""
    return targets or (["tool"] if {"target", "targets"} & set(settings_of(kind)) else [])


def parsed_setting(text: str) -> Any:
    """Return the value of a setting: truth, number or text, or several numbers or texts."""
    if text in ("true", "false"):
        return text == "true"
    parts = [part.strip() for part in text.split(",")]
    try:
        values = [float(part) for part in parts]
    except ValueError:
        return text if len(parts) == 1 else parts
    return values[0] if len(values) == 1 else values
