"""Plants of a study: the robot with the effects that the factors name, and the values of each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import choice
from chasles.simulation.plant import (
    ElasticJoints,
    ExternalWrench,
    Friction,
    Motors,
    PickedPayload,
    Plant,
    Sensors,
    TimingFaults,
)
from chasles.studies.bench import StudiedRobot, friction_values, has_dry_friction, loaded_torque, payload_values
from chasles.studies.settings import Factors

Floats = NDArray[np.float64]

#: Torque at rest of a motor whose speed is limited, in units of the largest torque of the loaded motion.
STALL_TORQUE = 4.0
#: Inertia of the rotors behind elastic joints, in units of the joint's mean inertia along the motion.
ROTOR_SHARE = 0.25
#: Damping ratio of a link that swings on its own elastic joint.
JOINT_DAMPING = 0.02
_LEAST_STEP = 1e-9  # of encoders, rad or m


def plant_of(factors: Factors, studied: StudiedRobot, reads_motors: bool = False) -> Plant:
    """Return the robot with the effects that the factors name, and encoders on the sides of joints that a law reads."""
    n, acting = studied.model.n, factors.ranges
    friction = motors = elastic_joints = sensors = None
    if has_dry_friction(factors):
        friction = Friction(n, smoothing_velocity=factors.coulomb_velocity, position_amplitude=np.zeros((n, 1)))
    if {"motor_lag", "motor_torque", "motor_speed"} & set(acting):
        limited = "motor_speed" in acting
        motors = Motors(n, resistance=float(limited), time_constant=1e-3 * ("motor_lag" in acting))
    if "resonance" in acting:
        elastic_joints = ElasticJoints(n, stiffness=1.0, rotor_inertia=1.0)
    if "encoder_step" in acting or elastic_joints is not None:
        sensors = Sensors(
            n,
            velocity="differentiated" if "encoder_step" in acting else "measured",
            side="link" if elastic_joints is None else "both" if reads_motors else "motor",
        )
    payloads = []
    if "picked_payload" in acting:
        pick, put = (share * float(studied.motion.duration) for share in factors.carried)
        payloads.append(PickedPayload("picked", 1.0, pick_time=pick, put_time=put))
    wrenches = []
    if "tip_force" in acting:
        wrenches.append(ExternalWrench("tip", _pure_force, axes="world", parameters={"force": np.zeros(3)}))
    timing = TimingFaults() if factors.has_timing_faults else None
    plant = Plant(
        studied.model,
        friction=friction,
        motors=motors,
        elastic_joints=elastic_joints,
        sensors=sensors,
        payloads=payloads,
        wrenches=wrenches,
        timing=timing,
    )
    for name in factors.plant:
        choice(name, "parameter of the plant", plant.parameters)
    return plant


def values_of(
    factors: Factors, studied: StudiedRobot, unknowns: Mapping[str, Floats], step: float, period: float
) -> dict[str, Floats]:
    """Return parameters of the plant for each run, as ``vary=`` takes them, but for the errors of the model.

    Parameters
    ----------
    factors, studied
        Factors and bench.
    unknowns
        Values of each unknown, shape (runs,).
    step
        Longest step of the integrator, s.
    period
        Sample period, s.
    """
    n = studied.model.n
    values = payload_values(factors, studied, unknowns) | friction_values(factors, studied, unknowns)
    if "picked_payload" in unknowns:
        values["payloads.picked.mass"] = unknowns["picked_payload"] * studied.rated_payload
    if "tip_force" in unknowns:
        direction = np.array(factors.tip_direction) / np.linalg.norm(factors.tip_direction)
        values["wrenches.tip.force"] = unknowns["tip_force"][:, None] * direction
    if "motor_lag" in unknowns:
        values["motors.time_constant"] = _each_joint(np.maximum(unknowns["motor_lag"], 0.5 * step), np.ones(n))
    if "motor_torque" in unknowns or "motor_speed" in unknowns:
        torque = loaded_torque(factors, studied, unknowns)
        torque[torque == 0.0] = 1.0
    speed = np.where(studied.top_speed > 0.0, studied.top_speed, 1.0)
    if "motor_torque" in unknowns:
        values["motors.max_current"] = unknowns["motor_torque"][:, None] * torque
    if "motor_speed" in unknowns:
        # With a motor constant of 1 the voltage is the speed without load, and voltage / resistance the torque at rest.
        values["motors.max_voltage"] = _each_joint(unknowns["motor_speed"], speed)
        values["motors.resistance"] = values["motors.max_voltage"] / (STALL_TORQUE * torque)
    if "resonance" in unknowns:
        springs = _springs(2.0 * np.pi * unknowns["resonance"][:, None], studied.inertia)
        values |= {f"elastic_joints.{name}": value for name, value in springs.items()}
    if "encoder_step" in unknowns:
        values["sensors.position_resolution"] = _each_joint(
            np.maximum(unknowns["encoder_step"], _LEAST_STEP), np.ones(n)
        )
    if "jitter" in unknowns:
        values["timing.jitter"] = unknowns["jitter"] * period
    if "lost_samples" in unknowns:
        values["timing.lost"] = unknowns["lost_samples"]
    return values | _other_parameters(factors, studied, unknowns, step)


def nominal_springs(factors: Factors, studied: StudiedRobot) -> ElasticJoints | None:
    """Return elastic joints of the mean stiffness in the range of the resonance; None for rigid joints."""
    if factors.resonance is None:
        return None
    rate = 2.0 * np.pi * np.array(factors.resonance)
    return ElasticJoints(studied.model, **_springs(np.sqrt((rate**2).mean()), studied.inertia))


def _springs(rate: Floats, inertia: Floats) -> dict[str, Floats]:
    """Parameters of elastic joints on which links of these inertias swing at a rate, rad/s, shape (n,) or (runs, n)."""
    rotors = np.broadcast_to(ROTOR_SHARE * inertia, np.broadcast_shapes(np.shape(rate), inertia.shape)).copy()
    return {
        "stiffness": rate**2 * inertia,
        "damping": 2.0 * JOINT_DAMPING * rate * inertia,
        "rotor_inertia": rotors,
    }


def fastest_effect(factors: Factors, studied: StudiedRobot, step: float) -> float:
    """Return the rate, 1/s, at which the fastest motor or elastic joint of the study acts; friction is not counted."""
    rates = [0.0]
    if "motor_lag" in factors.ranges:
        rates.append(1.0 / max(factors.motor_lag[0], 0.5 * step))
    if factors.resonance is not None:
        # The rotor between a clamped link and the spring swings faster than the link by this; coupling adds the rest.
        matrices = studied.model.mass_matrix(studied.motion(np.linspace(0.0, studied.motion.duration, 5)).q)
        coupling = np.linalg.eigvals(np.linalg.solve(matrices, np.diag(studied.inertia))).real.max()
        rates.append(2.0 * np.pi * factors.resonance[1] * float(np.sqrt(coupling + 1.0 / ROTOR_SHARE)))
    return max(rates)


def _pure_force(t: Real, parameters: Mapping[str, Any]) -> Array:
    """Wrench (6,) of a constant force (3,) without moment."""
    return np.concatenate([np.zeros(3), parameters["force"]])


def _other_parameters(
    factors: Factors, studied: StudiedRobot, unknowns: Mapping[str, Floats], step: float
) -> dict[str, Floats]:
    """Return the parameters that are drawn under their own names; all entries of an array have the value drawn."""
    if not factors.plant:
        return {}
    shapes = plant_of(factors, studied).parameters
    return {
        name: np.multiply.outer(unknowns[name], np.ones(shapes[name])) if shapes[name] else unknowns[name]
        for name in factors.plant
    }


def _each_joint(values: Floats, scale: Floats) -> Floats:
    return np.asarray(values[:, None] * scale)
