"""What `--set NAME=VALUE` sets: the plant, with the names that simulations vary, and the law."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.cli.values import joint_values, not_negative, numbers
from chasles.control.laws import laws
from chasles.engine.validators import real
from chasles.robot.robot import Robot
from chasles.simulation.plant.elastic_joints import ElasticJoints
from chasles.simulation.plant.plant import Plant
from chasles.studies.controllers import KINDS, settings_of

#: Settings of the plant that are no parameters of its robot, with what they mean and their defaults.
PLANT_SETTINGS = {
    "payload.mass": "mass at the tool, unknown to the law, kg",
    "friction.viscous": "viscous friction of the joints, unknown to the law, N·m·s/rad",
    "friction.coulomb": "Coulomb friction of the joints, unknown to the law, N·m",
    "motor_inertia": "rotor inertia at each joint, known to the law, kg·m²",
    "gravity": "acceleration of gravity, known to the law, such as 0,0,-9.81; m/s²",
    "delay": "time from sampling to the torque's effect, s [default: 0]",
    "effort_limits": "whether the robot's effort limits hold [default: true]",
    "velocity_limits": "whether drives give no torque beyond the velocity limits [default: false]",
}
_GAINS = ("kp", "kd", "ki")
_STIFF_FREQUENCY = 60.0  # rad/s, of laws that compensate inertia and coupling by feedback alone
_FEEDBACK_ALONE = ("pd", "pd-gravity", "pid")
_SMOOTHING = 0.01  # rad/s or m/s over which Coulomb friction changes its sign
_LISTS = "`chasles laws` and `chasles parameters ROBOT` list the names"


@dataclass(frozen=True)
class Settings:
    """Texts of the settings by name.

    Attributes
    ----------
    kind
        Kind of the law.
    law, plant
        Texts by the names of the law's settings, and of the plant's.
    """

    kind: str
    law: dict[str, str]
    plant: dict[str, str]

    @classmethod
    def of(cls, texts: Sequence[str], kind: str) -> Settings:
        """Read settings; those of the law may have the prefix ``controller.`` by which they are varied."""
        known = settings_of(kind)
        law: dict[str, str] = {}
        plant: dict[str, str] = {}
        for text in texts:
            name, equals, value = (part.strip() for part in text.partition("="))
            if not (name and equals and value):
                raise ArgumentError(f"--set: expected NAME=VALUE, not '{text}'; {_LISTS}")
            bare_name = name.removeprefix("controller.")
            if bare_name not in known and name not in PLANT_SETTINGS and ("." not in name or bare_name != name):
                raise UnknownNameError("setting", name, [*known, *PLANT_SETTINGS], of=f"law '{kind}'")
            settings, key = (law, bare_name) if bare_name in known else (plant, name)
            if key in settings:
                raise ArgumentError(f"--set: '{key}' is given twice")
            settings[key] = value
        return cls(kind, law, plant)

    def known_robot(self, robot: Robot) -> Robot:
        """Return the robot as the law models it, with the set gravity and reflected rotor inertia."""
        if "gravity" in self.plant:
            robot = robot.with_gravity(_numbers_of("gravity", self.plant["gravity"], (3,)))
        if "motor_inertia" not in self.plant:
            return robot
        inertia = self._of_joints("motor_inertia", robot)
        velocities = {
            joint.name: robot.description.velocity_places(joint.name) for joint in robot.description.coordinates
        }
        return robot.with_motor_inertia(
            {
                name: float(inertia[indices.start])
                for name, indices in velocities.items()
                if indices.stop - indices.start == 1
            }
        )

    def real_robot(self, model: Robot) -> Robot:
        """Return the robot with the payload and the friction that the law does not model."""
        robot = model
        if "payload.mass" in self.plant:
            (mass,) = numbers(self.plant["payload.mass"], "--set payload.mass")
            if real(mass, "--set payload.mass", at_least=0.0):
                robot = robot.with_payload(mass)
        if "friction.viscous" in self.plant:
            robot = robot.with_friction(viscous=self._of_joints("friction.viscous", model))
        if "friction.coulomb" in self.plant:
            friction = self._of_joints("friction.coulomb", model)
            robot = robot.with_friction(coulomb=friction, coulomb_velocity=_SMOOTHING)
        return robot

    def drives(self, plant: Plant) -> Plant:
        """Return the plant with the delay and the limits of its drives, and the elastic joints that the law knows."""
        limits = {name: self._truth(name) for name in ("effort_limits", "velocity_limits") if name in self.plant}
        delay = None
        if "delay" in self.plant:
            (delay,) = _numbers_of("delay", self.plant["delay"], (1,))
        return plant.with_drives(delay=delay, elastic_joints=self._elastic_joints(plant), **limits)

    def _elastic_joints(self, plant: Plant) -> ElasticJoints | None:
        if not laws()[self.kind].measures_motors:
            return None
        if not {"stiffness", "rotor_inertia"} <= set(self.law):
            raise ArgumentError(
                f"law '{self.kind}' is one of elastic joints: give --set stiffness=…, N·m/rad, and --set "
                "rotor_inertia=…, kg·m²"
            )
        springs = {name: parsed_setting(self.law[name]) for name in ("stiffness", "rotor_inertia")}
        return ElasticJoints(plant.robot, **springs)

    def constants(self, plant: Plant, varied: Collection[str]) -> dict[str, NDArray[np.float64]]:
        """Return values of other parameters of the plant, in their shapes; what varies can have no single value."""
        values = {}
        for name in (*self.plant, *(f"controller.{name}" for name in self.law)):
            if name in varied:
                raise ArgumentError(f"--set and --vary both give '{name}'; leave one of them out")
        for name, text in self.plant.items():
            if name not in PLANT_SETTINGS:
                if name not in plant.parameters:
                    raise UnknownNameError("parameter", name, [*PLANT_SETTINGS, *plant.parameters], of="this plant")
                values[name] = _numbers_of(name, text, plant.parameters[name])
        return values

    def tuning(self, targets: Sequence[str], model: Robot) -> dict[str, Any]:
        """Return the settings of the law; gains that are missing are left to the rule of studies."""
        known = settings_of(self.kind)
        settings = {name: self._law_setting(name, text, model) for name, text in self.law.items()}
        if targets:
            settings |= _targets(self.kind, targets, known)
        if self.kind in _FEEDBACK_ALONE:
            settings.setdefault("frequency", _STIFF_FREQUENCY)
        if "kp" in settings and "kd" in known and "kd" not in settings:  # critical damping
            alone = np.asarray(model.mass_matrix(model.home)).diagonal() if self.kind in _FEEDBACK_ALONE else 1.0
            settings["kd"] = 2.0 * np.sqrt(np.asarray(settings["kp"]) * alone)
        return settings

    def _law_setting(self, name: str, text: str, model: Robot) -> Any:
        if name not in _GAINS:
            return parsed_setting(text)
        option = f"--set {name}"
        values = _axis_values(text, option) if "target" in settings_of(self.kind) else joint_values(text, option, model)
        return not_negative(values, option)

    def _of_joints(self, name: str, robot: Robot) -> NDArray[np.float64]:
        option = f"--set {name}"
        return not_negative(joint_values(self.plant[name], option, robot), option)

    def _truth(self, name: str) -> bool:
        value = parsed_setting(self.plant[name])
        if not isinstance(value, bool):
            raise ArgumentError(f"--set {name}: expected true or false, not '{self.plant[name]}'")
        return value


def _numbers_of(name: str, text: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return numbers in a shape."""
    values, count = numbers(text, f"--set {name}"), int(np.prod(shape))
    if len(values) != count:
        raise ArgumentError(f"--set {name}: expected {count} number{'s' if count > 1 else ''}, not {len(values)}")
    return np.array(values).reshape(shape)


def _axis_values(text: str, option: str) -> NDArray[np.float64]:
    """Return a gain of a frame: a scalar for all axes, or one value per world axis."""
    values = numbers(text, option)
    if len(values) not in (1, 3):
        raise ArgumentError(f"{option}: {len(values)} numbers for the 3 axes of a frame; give 1 or 3")
    return np.array(values)


def _targets(kind: str, targets: Sequence[str], known: tuple[str, ...]) -> dict[str, Any]:
    """Return the setting of a law that names the frames it moves."""
    if "targets" in known:
        return {"targets": list(targets)}
    if "target" not in known:
        able = ", ".join(name for name in KINDS if moves_frames(name))
        raise ArgumentError(f"--target: {kind} moves joints, not frames; laws of frames: {able}")
    if len(targets) > 1:
        raise ArgumentError(f"--target: {kind} moves one frame, not {len(targets)}; whole-body-torque moves several")
    return {"target": targets[0]}


def moves_frames(kind: str) -> bool:
    """Whether a law leads frames, not joints, to their reference."""
    return bool({"target", "targets"} & set(settings_of(kind)))


def parsed_setting(text: str) -> Any:
    """Return the value of a setting: truth, number or text, or several numbers or texts."""
    if text in ("true", "false"):
        return text == "true"
    items = [part.strip() for part in text.split(",")]
    try:
        values = [float(part) for part in items]
    except ValueError:
        return text if len(items) == 1 else items
    return values[0] if len(values) == 1 else values
