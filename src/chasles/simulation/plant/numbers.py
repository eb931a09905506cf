"""Numbers of a plant: those of its robot and of its effects, as constants or as arguments of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.engine.program.scalar import Array, Real
from chasles.simulation.plant.effect import where_positive
from chasles.simulation.plant.plant import Plant

Values = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class PlantNumbers:
    """Parameters of a plant's robot and effects at an evaluation of its equations.

    Attributes
    ----------
    plant
        Plant whose parameters they are.
    varied
        Names of the plant's parameters that are arguments; all others are constants.
    rest_velocity
        Speed, rad/s or m/s, that replaces a smoothing velocity of zero of dry friction; 0 replaces none.
    """

    plant: Plant
    varied: tuple[str, ...]
    rest_velocity: float

    def of(self, effect: str, values: Values) -> dict[str, Any]:
        """Return an effect's parameters by the effect's own names."""
        part = self.plant.effects[effect]
        full = {f"{effect}.{key}": key for key in part.parameters}
        chosen = part.replaced({key: values[name] for name, key in full.items() if name in values})
        if effect == "friction":
            chosen["smoothing_velocity"] = self._smoothed(chosen["smoothing_velocity"])
        return chosen

    def of_elastic_joints(self, values: Values) -> dict[str, Any]:
        """Return the elastic joints' parameters, with the inertia of the motors' rotors added."""
        numbers, motors = self.of("elastic_joints", values), self.plant.motors
        if motors is not None:
            reflected = motors.reflected_inertia(self.of("motors", values))
            numbers["rotor_inertia"] = numbers["rotor_inertia"] + reflected
        return numbers

    def of_robot(self, clock: Real, values: Values) -> dict[str, Any]:
        """Return the parameters of the robot that are not constants, at a time inside a step, s."""
        known = self.plant.robot.parameters if self.varied else {}
        chosen = {name: values[name] for name in self.varied if name in known}
        for name in chosen:
            if name.endswith((".coulomb_velocity", ".load_velocity")):
                chosen[name] = self._smoothed(chosen[name])
        for name, payload in self.plant.payloads.items():
            chosen |= payload.carried(clock, self.of(name, values))
        return chosen | self._rotor_values(values) if self._has_rotors and self._rotors_vary else chosen

    @cached_property
    def constants(self) -> dict[str, Any]:
        """Parameters of the robot that are constants, but not those of its description."""
        rotors = self._rotor_values({}) if self._has_rotors and not self._rotors_vary else {}
        return rotors | self._smoothed_constants

    @cached_property
    def _smoothed_constants(self) -> dict[str, Any]:
        """Smoothing velocities by name, without zeros: those of joints whose own dry friction jumps at rest."""
        smoothed: dict[str, Any] = {}
        if self.rest_velocity > 0.0:
            for name in self.plant.robot.description.mimics:
                joint = self.plant.robot.description.joint(name)
                for kind in ("coulomb", "load"):
                    velocities = np.asarray(getattr(joint, f"{kind}_velocity"))
                    friction = f"{kind}_friction"
                    if not velocities.all() and (
                        getattr(joint, friction) or f"joints.{name}.{friction}" in self.varied
                    ):
                        smoothed[f"joints.{name}.{kind}_velocity"] = self._smoothed(velocities)[()]
        return smoothed

    def _smoothed(self, velocity: Array) -> Array:
        """Return a smoothing velocity of dry friction; zero is replaced by `rest_velocity`."""
        return velocity if self.rest_velocity == 0.0 else where_positive(velocity, velocity, self.rest_velocity)

    @cached_property
    def _has_rotors(self) -> bool:
        """Whether rotors add inertia to the joints; behind springs they add it to the elastic joints instead."""
        motors = self.plant.motors
        return (
            motors is not None
            and self.plant.elastic_joints is None
            and (bool(motors.parameters["rotor_inertia"].any()) or "motors.rotor_inertia" in self.varied)
        )

    @cached_property
    def _rotors_vary(self) -> bool:
        names = ["motors.rotor_inertia", "motors.gear_ratio"]
        names += [
            f"joints.{j}.{key}" for j in self.plant.driven_joints or () for key in ("motor_inertia", "gear_ratio")
        ]
        return any(name in self.varied for name in names)

    def _rotor_values(self, values: Values) -> dict[str, Any]:
        """Return the joints' motor inertias with the rotors added."""
        assert self.plant.motors is not None
        reflected = self.plant.motors.reflected_inertia(self.of("motors", values))
        chosen = {}
        for k, name in enumerate(self.plant.driven_joints or ()):
            joint = self.plant.robot.description.joint(name)
            rotor = values.get(f"joints.{name}.motor_inertia", joint.motor_inertia)
            ratio = values.get(f"joints.{name}.gear_ratio", joint.gear_ratio)
            chosen[f"joints.{name}.motor_inertia"] = rotor + reflected[k] / (ratio * ratio)
        return chosen
