"""Where a plant's energy comes from, where it stays and where it goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chasles.plant.equations import Acting, Equations, Instant
    from chasles.plant.plant import Plant


def audited(plant: Plant) -> tuple[str, ...]:
    """Names of the energies that are integrated: works of what drives the robot, losses, and electrical ones."""
    works = ["motors", *plant.wrenches, *(["payloads"] if plant.payloads else [])]
    works += ["base"] if plant.base is not None else []
    losses = ["robot_friction"]
    losses += [name for name in ("friction", "elastic_joints") if getattr(plant, name) is not None]
    losses += plant.contacts
    electrical = ["electrical.work", "electrical.loss"] if plant.motors is not None else []
    return (*(f"work.{name}" for name in works), *(f"loss.{name}" for name in losses), *electrical)


def stored(plant: Plant) -> tuple[str, ...]:
    """Names of the energies that the plant stores."""
    effects = [name for name in ("elastic_joints", "motors") if getattr(plant, name) is not None]
    return tuple(f"energy.{name}" for name in ("kinetic", "potential", *effects, *plant.contacts))


def energies(equations: Equations, x: Any, instant: Instant, values: Mapping[str, Any]) -> list[Any]:
    """Stored energies, J, in the order of `stored`."""
    plant, q, qd = equations.plant, equations.part(x, "q"), equations.part(x, "qd")
    varied = equations.robot_values(instant.clock, values)
    robot, whole_q, whole_qd = equations.whole(q, qd, instant)
    kinetic = robot.kinetic_energy.specialize(vary=tuple(varied))(whole_q, whole_qd, *varied.values())
    potential = robot.potential_energy.specialize(vary=tuple(varied))(whole_q, *varied.values())
    found = [kinetic, potential]
    if plant.elastic_joints is not None:
        numbers, state = equations.elastic_numbers(values), equations.part(x, "elastic_joints")
        found[0] = kinetic + plant.elastic_joints.rotor_energy(state, numbers).sum()
        found.append(plant.elastic_joints.elastic_energy(q, state, numbers).sum())
    if plant.motors is not None:
        currents, numbers = equations.part(x, "motors"), equations.numbers("motors", values)
        found.append(plant.motors.magnetic_energy(currents, numbers).sum())
    for name, contact in plant.contacts.items():
        T, _ = equations.motion(contact.frame, q, qd, instant)
        found.append(contact.elastic_energy(T, equations.numbers(name, values)))
    return found


def powers(
    equations: Equations,
    x: Any,
    command: Any,
    qdd: Any,
    acting: Mapping[str, Acting],
    instant: Instant,
    values: Mapping[str, Any],
) -> list[Any]:
    """Powers, W, in the order of `audited`; payloads change energy only at events."""
    plant, qd, speed = equations.plant, equations.part(x, "qd"), equations.motor_speed(x)
    varied = equations.robot_values(instant.clock, values)
    own_friction = equations.robot.friction_torque.specialize(vary=tuple(varied))
    found = {
        "work.motors": equations.motor_torque(x, command, values) @ speed,
        "work.payloads": 0.0,
        "loss.robot_friction": own_friction(qd, *varied.values()) @ qd,
        "loss.friction": equations.friction(x, values) @ speed,
    }
    found |= {f"work.{name}": acting[name].world @ acting[name].twist for name in plant.wrenches}
    for name, contact in plant.contacts.items():
        of_contact = (acting[name].T_world_frame, acting[name].twist, equations.numbers(name, values))
        found[f"loss.{name}"] = contact.loss(*of_contact)
    if plant.elastic_joints is not None:
        numbers, state = equations.elastic_numbers(values), equations.part(x, "elastic_joints")
        found["loss.elastic_joints"] = plant.elastic_joints.loss(qd, state, numbers).sum()
    if plant.motors is not None:
        electrical = (equations.part(x, "motors"), speed, command, equations.numbers("motors", values))
        found["electrical.work"] = plant.motors.electrical_power(*electrical).sum()
        found["electrical.loss"] = plant.motors.loss(*electrical).sum()
    if plant.base is not None:
        wrenches, q = equations.by_frame(acting), equations.part(x, "q")
        on_base = equations.inverse_dynamics(q, qd, qdd, wrenches, instant, values)[:6]
        found["work.base"] = on_base @ equations.base_state(instant).v
    return [found[name] for name in equations.audited]
