"""What a study varies, how its runs are drawn, and how they are simulated and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice, reals
from chasles.studies.checks import (
    check_distinct,
    distinct_numbers,
    ends,
    number,
    positive_ends,
    sample_rates,
    shortened,
    whole,
)

#: Where a law's velocity comes from: the plant's own, differences of encoder positions, plain or behind a filter, a
#: Kalman filter, or an observer of the momenta.
VELOCITIES = ("measured", "differenced", "filtered", "kalman", "momentum")
METHODS = ("latin-hypercube", "sobol", "random", "grid")
MOST_RUNS = 1_000_000
Range = tuple[float, float]

#: Bounds of the ranges that have 0 for no effect.
_LARGEST = {
    "payload": 1e6,
    "friction": 100.0,
    "model_error": 0.9,
    "picked_payload": 1e6,
    "static_friction": 100.0,
    "position_friction": 1.0,
    "motor_lag": 10.0,
    "encoder_step": 10.0,
    "tip_force": 1e6,
    "jitter": 1.0,
    "lost_samples": 1.0,
}
#: Unknowns with names of their own: meaning, factor to the unit in which they are shown, and that unit.
UNKNOWNS = {
    "payload": ("payload", 1.0, "kg"),
    "friction": ("friction", 100.0, "% of the peak torque"),
    "model_error": ("model error", 100.0, "%"),
    "picked_payload": ("payload picked up on the way", 1.0, "kg"),
    "static_friction": ("breakaway beyond Coulomb friction", 100.0, "%"),
    "position_friction": ("friction that changes along the way", 100.0, "%"),
    "motor_lag": ("motor lag", 1e3, "ms"),
    "motor_torque": ("motor torque limit", 1.0, "× the loaded peak torque"),
    "motor_speed": ("motor speed limit", 1.0, "× the top speed"),
    "encoder_step": ("encoder resolution", 1e3, "mrad"),
    "resonance": ("resonance", 1.0, "Hz"),
    "tip_force": ("force at the tip", 1.0, "N"),
    "jitter": ("jitter of the torques", 100.0, "% of a sample period"),
    "lost_samples": ("lost samples", 100.0, "%"),
}


def shown_unknown(name: str) -> tuple[str, float, str]:
    """Return meaning, factor and unit with which an unknown is shown; a parameter of the plant goes by its own name."""
    return UNKNOWNS.get(name, (name, 1.0, ""))


@dataclass(frozen=True)
class Factors:
    """Factors that vary from run to run. A range is a pair of lowest and highest value.

    Effects without a range, or with a range that ends at 0, are not simulated. Joint quantities are relative to each
    joint's peak torque, top speed and mean inertia in the planned motion, without friction and payload.

    Attributes
    ----------
    payload
        Mass at the tool, in units of each robot's rated payload; kg for robots that state none.
    friction
        Friction of each joint at the motion's top speed, as a fraction of the joint's peak torque.
    model_error
        Largest relative error of masses, centres of mass, inertias and motor inertias: each value of the description is
        multiplied by its own random factor.
    picked_payload
        Additional mass at the tool, in the same units, picked up and put down during the motion: see `carried`.
    static_friction
        Breakaway torque in excess of Coulomb friction, as a fraction of Coulomb friction.
    position_friction
        Fraction of the dry friction that varies with joint position, with one period per revolution; at most 1.
    motor_lag
        Time constant with which torques follow commands, s. Values below half an integrator step are raised to it.
    motor_torque
        Largest torque of the motors (their current limit), in units of the largest torque that the planned motion takes
        with the run's payload and friction; None for no limit.
    motor_speed
        No-load speed of the motors, in units of the top speed; None for no limit. The available torque falls linearly
        from four times the same largest torque at rest to zero at this speed.
    encoder_step
        Resolution of the position encoders, rad or m. With it, velocities are estimated from positions: see
        `velocities`.
    resonance
        Frequency, Hz, at which each link oscillates on the elasticity of its joint; None for rigid joints. Encoders are
        then on the motor side, and rotors with a quarter of the joint's inertia are added there. Laws of elastic joints
        have encoders on both sides; they know the rotors, and the mean stiffness in the range.
    tip_force
        Constant force at the tool along `tip_direction`, N.
    jitter
        Largest further delay of a torque, in sample periods, uniformly distributed from 0 at each call; it ends in the
        period in which the delay ends.
    lost_samples
        Probability that the torque of a call does not arrive.
    plant
        Ranges of other plant parameters, by name in `chasles.Plant.parameters`. All entries of an array, such as
        ``elastic_joints.backlash``, get the same drawn value.
    rates
        Sample rates of the controllers, Hz. Each run has one of them.
    delays
        Delays from sampling to the effect of the torque, in sample periods. Each run has one of them.
    velocities
        Sources of the velocities of all laws, by name of `VELOCITIES`: several make a controller of each law and
        source. Empty: ``"filtered"`` with encoders of a resolution, otherwise ``"measured"``.
    carried
        Times at which the picked payload is picked up and put down, as fractions of the motion's duration.
    tip_direction
        Direction of the tip force in world axes.
    payload_center
        Centre of the payload in the tool's frame, m.
    payload_radius
        Radius of the payload, a solid ball, m.
    viscous_share
        Viscous fraction of the friction; the rest is Coulomb friction.
    coulomb_velocity
        Speed over which Coulomb friction changes its sign, rad/s or m/s.
    """

    payload: Range = (0.0, 5.0)
    friction: Range = (0.0, 0.5)
    model_error: Range = (0.0, 0.2)
    picked_payload: Range = (0.0, 0.0)
    static_friction: Range = (0.0, 0.0)
    position_friction: Range = (0.0, 0.0)
    motor_lag: Range = (0.0, 0.0)
    motor_torque: Range | None = None
    motor_speed: Range | None = None
    encoder_step: Range = (0.0, 0.0)
    resonance: Range | None = None
    tip_force: Range = (0.0, 0.0)
    jitter: Range = (0.0, 0.0)
    lost_samples: Range = (0.0, 0.0)
    plant: Mapping[str, Range] = field(default_factory=dict, hash=False)
    rates: tuple[float, ...] = (60.0, 125.0, 250.0, 500.0, 1000.0, 2000.0)
    delays: tuple[float, ...] = (0.0,)
    velocities: tuple[str, ...] = ()
    carried: Range = (0.25, 0.75)
    tip_direction: tuple[float, ...] = (1.0, 0.0, 0.0)
    payload_center: tuple[float, ...] = (0.0, 0.0, 0.0)
    payload_radius: float = 0.05
    viscous_share: float = 0.5
    coulomb_velocity: float = 0.05

    def __post_init__(self) -> None:
        plant = self.plant
        if not isinstance(plant, Mapping):
            raise ArgumentError(f"'plant' must be a table of parameters and ranges, not {shortened(plant)}")
        optional = {name: getattr(self, name) for name in ("motor_torque", "motor_speed", "resonance")}
        set_fields(
            self,
            **{name: ends(getattr(self, name), name, largest) for name, largest in _LARGEST.items()},
            **{name: None if value is None else positive_ends(value, name) for name, value in optional.items()},
            plant={str(name): ends(value, str(name), 1e9, -1e9) for name, value in plant.items()},
            rates=sample_rates(self.rates),
            delays=distinct_numbers(self.delays, "delays", "delays in sample periods", at_least=0.0, at_most=10.0),
            velocities=_sources(self.velocities),
            carried=ends(self.carried, "carried", 1.0),
            tip_direction=tuple(reals(self.tip_direction, "'tip_direction'", (3,)).tolist()),
            payload_center=tuple(reals(self.payload_center, "'payload_center'", (3,)).tolist()),
            payload_radius=number(self.payload_radius, "payload_radius"),
            viscous_share=number(self.viscous_share, "viscous_share", at_most=1.0),
            coulomb_velocity=number(self.coulomb_velocity, "coulomb_velocity", above=0.0),
        )
        if not self.carried[0] < self.carried[1]:
            raise ArgumentError("'carried' must be two different shares of the motion")
        if not any(self.tip_direction):
            raise ArgumentError("'tip_direction' must not be zero")
        latest = max(self.jitter[1] + delay % 1.0 for delay in self.delays)
        if latest > 1.0 + 1e-9:
            raise ArgumentError(
                f"'jitter' and the delay's part of a period end {latest:g} periods after a call's torque should have "
                "left: together they must not exceed 1, or torques would arrive out of order"
            )

    @property
    def ranges(self) -> dict[str, Range]:
        """Ranges of all active unknowns, by name, in a fixed order."""
        stated = {name: getattr(self, name) for name in UNKNOWNS}
        acting = {name: ends for name, ends in stated.items() if ends is not None and ends[1] > 0.0}
        always = {name: stated[name] for name in ("payload", "friction", "model_error")}
        return always | acting | dict(self.plant)

    @property
    def velocity(self) -> str:
        """Source of the velocities of laws that do not state another."""
        if self.velocities:
            return self.velocities[0]
        return "filtered" if self.encoder_step[1] > 0.0 else "measured"

    @property
    def has_timing_faults(self) -> bool:
        """Whether torques come late by chance, or not at all."""
        return self.jitter[1] > 0.0 or self.lost_samples[1] > 0.0

    def of_friction_only(self) -> Factors:
        """Return factors without dry friction effects other than Coulomb friction and without other effects."""
        return Factors(friction=self.friction, viscous_share=self.viscous_share, coulomb_velocity=self.coulomb_velocity)

    @property
    def cells(self) -> list[tuple[float, float]]:
        """All pairs of rate and delay; each run belongs to one."""
        return [(rate, delay) for rate in self.rates for delay in self.delays]


@dataclass(frozen=True)
class Design:
    """Number and draws of the runs.

    Attributes
    ----------
    method
        Sampling method: ``"latin-hypercube"``, ``"sobol"``, ``"random"``, or ``"grid"`` for all combinations.
    runs
        Number of runs of each controller on each robot, divided among the pairs of rate and delay. All runs have
        different unknowns, and the unknowns of each pair cover their ranges. A grid has all combinations of levels for
        each pair.
    seed
        Seed of all random draws. The same seed gives the same runs, and all controllers are tested on the same draws.
    levels
        Number of values of each factor in a grid.
    """

    method: str = "latin-hypercube"
    runs: int = 1000
    seed: int = 1987
    levels: int = 5

    def __post_init__(self) -> None:
        choice(self.method, "method of design", METHODS)
        set_fields(
            self,
            runs=whole(self.runs, "runs", 1, MOST_RUNS),
            seed=whole(self.seed, "seed", 0, 2**63 - 1),
            levels=whole(self.levels, "levels", 1, 50),
        )


@dataclass(frozen=True)
class Execution:
    """Simulation and evaluation of the runs.

    Attributes
    ----------
    rest
        Time simulated after the motion's end, s.
    step
        Longest step of the integrator (classical Runge–Kutta), s; friction may require shorter steps.
    torque_limits
        Limits of motor torques: True for the effort limits of the robot's description, False for none, or a number of
        times the largest torque of each joint in the planned motion with the largest payload and friction.
    lost_beyond
        Largest joint error, rad or m, beyond which a run is lost. A run that diverges is lost as well.
    chunk
        Largest number of runs that are simulated and stored together.
    """

    rest: float = 0.25
    step: float = 1e-3
    torque_limits: bool | float = True
    lost_beyond: float = 1.0
    chunk: int = 500

    def __post_init__(self) -> None:
        set_fields(
            self,
            torque_limits=_limits(self.torque_limits),
            rest=number(self.rest, "rest", at_most=60.0),
            step=number(self.step, "step", at_least=1e-6),
            lost_beyond=number(self.lost_beyond, "lost_beyond", above=0.0),
            chunk=whole(self.chunk, "chunk", 1, 10_000),
        )


def _limits(value: object) -> bool | float:
    """Return whether torques are limited, or the factor of limits that are relative to the loaded motion."""
    return value if isinstance(value, bool) else number(value, "torque_limits", above=0.0)


#: Settings of a controller's rule that a search may change, in the order of its tables.
KNOBS = ("frequency", "damping", "integral", "observer", "reaching", "learning", "filter", "velocity_filter")
#: Bound on damping times period that leaves a search free.
UNBOUNDED = 1e6


@dataclass(frozen=True)
class Tuning:
    """Gains of each controller at their best, for each robot, rate and delay; see `chasles.studies.tuning`.

    Settings are searched; from the best, gradients lead to gains of each joint, or to the weights that gains follow
    from. All controllers have the same budget, training draws and ranges. The training draws differ from those of the
    study.

    Attributes
    ----------
    evaluations
        Number of candidates for each controller, robot, rate and delay.
    iterations
        Largest number of iterations of the descents by gradients from the best of them and from the study's own
        settings; 0 for none.
    draws
        Number of runs on which each candidate is tested and gradients are taken.
    seed
        Seed of the training draws; it must differ from the design's.
    frequency
        Range of the natural frequency, rad/s; it ends at the Nyquist frequency of each rate.
    damping
        Range of the damping ratio; at least 1/√2, the lowest that regulators can have.
    integral
        Range of the third pole as a fraction of the frequency, for controllers with integral action.
    observer, reaching, learning, filter
        Ranges of settings of particular tuning rules; see `gains` of the laws.
    velocity_filter
        Range of the time constant of velocity estimates, in sample periods.
    """

    evaluations: int = 40
    iterations: int = 40
    draws: int = 40
    seed: int = 1
    frequency: Range = (2.0, 300.0)
    damping: Range = (0.71, 2.0)
    integral: Range = (0.1, 2.0)
    observer: Range = (0.1, 10.0)
    reaching: Range = (1.0, 100.0)
    learning: Range = (0.01, 100.0)
    filter: Range = (1.0, 100.0)
    velocity_filter: Range = (0.1, 5.0)

    def __post_init__(self) -> None:
        whole(self.evaluations, "evaluations", 8, 10_000)
        whole(self.iterations, "iterations", 0, 10_000)
        whole(self.draws, "draws", 4, 10_000)
        whole(self.seed, "seed", 0, 2**63 - 1)
        set_fields(self, **{name: positive_ends(getattr(self, name), name) for name in KNOBS})

    @property
    def design(self) -> Design:
        """Design of the training draws."""
        return Design(runs=self.draws, seed=self.seed)


def _sources(value: object) -> tuple[str, ...]:
    """Return distinct sources of velocities, of a list or of one name."""
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else (value,)
    for name in names:
        choice(name, "source of velocities", VELOCITIES)
    check_distinct(names, "'velocities' has twice")
    return tuple(str(name) for name in names)


def set_fields(record: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is made."""
    for name, value in values.items():
        object.__setattr__(record, name, value)
