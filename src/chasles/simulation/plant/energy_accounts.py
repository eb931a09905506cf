"""Energy accounts of a plant: work done on it, energy stored in it, and losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.engine.program.records import Record
from chasles.engine.program.scalar import Array
from chasles.simulation.plant.environment import Instant
from chasles.simulation.plant.equations import Equations
from chasles.simulation.plant.numbers import Values


@dataclass(frozen=True, eq=False)
class EnergyAccounts:
    """Powers and energies of a plant, in plain arithmetic that can be traced.

    Attributes
    ----------
    equations
        The plant's equations of motion.
    """

    equations: Equations

    @cached_property
    def audited(self) -> tuple[str, ...]:
        """Names of the integrated energies: work on the robot, losses, and the motors' electrical work and losses."""
        plant = self.equations.plant
        works = ["motors", *plant.wrenches, *(["payloads"] if plant.payloads else [])]
        works += ["base"] if plant.base is not None else []
        single = {"friction": plant.friction, "elastic_joints": plant.elastic_joints}
        losses = ["robot_friction", *(name for name, effect in single.items() if effect is not None), *plant.contacts]
        electrical = ["electrical.work", "electrical.loss"] if plant.motors is not None else []
        return (*(f"work.{name}" for name in works), *(f"loss.{name}" for name in losses), *electrical)

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """Names of the stored energies."""
        plant = self.equations.plant
        single = {"elastic_joints": plant.elastic_joints, "motors": plant.motors}
        effects = [name for name, effect in single.items() if effect is not None]
        return tuple(f"energy.{name}" for name in ("kinetic", "potential", *effects, *plant.contacts))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the energies that are integrated with the state."""
        return dict.fromkeys(self.audited, ())

    def energies(self, x: Record, instant: Instant, values: Values) -> dict[str, Any]:
        """Return the stored energies, J, by the names of `stored`."""
        equations, plant = self.equations, self.equations.plant
        varied = equations.numbers.of_robot(instant.clock, values)
        robot, q, velocities = equations.environment.with_base(x, instant)
        stored = {
            "energy.kinetic": robot.kinetic_energy.specialize(vary=tuple(varied))(q, velocities, *varied.values()),
            "energy.potential": robot.potential_energy.specialize(vary=tuple(varied))(q, *varied.values()),
        }
        if plant.elastic_joints is not None:
            numbers = equations.numbers.of_elastic_joints(values)
            stored["energy.kinetic"] += plant.elastic_joints.rotor_energy(x.elastic_joints, numbers).sum()
            springs = plant.elastic_joints.elastic_energy(plant.joint_positions(x.q), x.elastic_joints, numbers)
            stored["energy.elastic_joints"] = springs.sum()
        if plant.motors is not None:
            windings = plant.motors.magnetic_energy(x.motors, equations.numbers.of("motors", values))
            stored["energy.motors"] = windings.sum()
        for name, contact in plant.contacts.items():
            T, _ = equations.environment.motion(contact.frame, x, instant)
            stored[f"energy.{name}"] = contact.elastic_energy(T, equations.numbers.of(name, values))
        return stored

    def powers(self, x: Record, rates: Record, instant: Instant, command: Array, values: Values) -> dict[str, Any]:
        """Return powers, W, by the names of `audited`; payloads change the energy at events only."""
        equations, plant = self.equations, self.equations.plant
        speed, acting = equations.motor_speed(x), equations.environment.acting(x, instant, values)
        varied = equations.numbers.of_robot(instant.clock, values)
        velocities, wrenches = equations.velocities(x), equations.environment.by_frame(acting)
        friction = equations.tree.loaded_friction_torque.specialize(vary=tuple(varied))
        forces = load = np.zeros(len(velocities))
        if instant.base is not None or equations.has_load_friction(varied):
            forces = equations.inverse_dynamics(x, equations.velocities(rates), wrenches, instant, values)
            load = equations.transmitted(x, forces[-len(velocities) :], varied)
        flows = {
            "work.motors": equations.motor_torque(x, command, values) @ speed,
            "work.payloads": 0.0,
            "loss.robot_friction": friction(x.q, velocities, load, *varied.values()) @ velocities,
            "loss.friction": equations.friction(x, values) @ speed,
        }
        flows |= {f"work.{name}": acting[name].world @ acting[name].twist for name in plant.wrenches}
        for name, contact in plant.contacts.items():
            of_contact = (acting[name].T_world_frame, acting[name].twist, equations.numbers.of(name, values))
            flows[f"loss.{name}"] = contact.loss(*of_contact)
        if plant.elastic_joints is not None:
            positions, numbers = plant.joint_positions(x.q), equations.numbers.of_elastic_joints(values)
            dampers = plant.elastic_joints.loss(positions, x.qd, x.elastic_joints, numbers)
            flows["loss.elastic_joints"] = dampers.sum()
        if plant.motors is not None:
            electrical = (x.motors, speed, command, equations.numbers.of("motors", values))
            flows["electrical.work"] = plant.motors.electrical_power(*electrical).sum()
            flows["electrical.loss"] = plant.motors.loss(*electrical).sum()
        if instant.base is not None:
            flows["work.base"] = forces[:6] @ instant.base.v
        return {name: flows[name] for name in self.audited}

    def after_events(self, x: Record, audit: Any, before: Record, instant: Instant, values: Values) -> dict[str, Any]:
        """Return the integrated energies at the start of a step, with the work of payloads since the last step."""
        if not self.equations.plant.payloads:
            return {**audit}
        now = sum(self.energies(x, instant, values).values())
        then = sum(self.energies(x, instant._replace(clock=before), values).values())
        return {**audit, "work.payloads": audit["work.payloads"] + (now - then)}
