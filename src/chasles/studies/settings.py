"""What a study varies, how its runs are drawn, and how they are simulated and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice, reals, truth
from chasles.studies.checks import (
    distinct_numbers,
    ends,
    number,
    positive_ends,
    sample_rates,
    shortened,
    whole,
)

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
    "motor_torque": ("motor torque limit", 1.0, "× the peak torque"),
    "motor_speed": ("motor speed limit", 1.0, "× the top speed"),
    "encoder_step": ("encoder resolution", 1e3, "mrad"),
    "resonance": ("resonance", 1.0, "Hz"),
    "tip_force": ("force at the tip", 1.0, "N"),
}


def shown_unknown(name: str) -> tuple[str, float, str]:
    """Return meaning, factor and unit with which an unknown is shown; a parameter of the plant goes by its own name."""
    return UNKNOWNS.get(name, (name, 1.0, ""))


@dataclass(frozen=True)
class Factors:
    """What varies from run to run. A range goes from its first to its second number.

    Effects whose range ends at 0, or is not given, are not simulated. Joint quantities are relative to the planned
    motion without friction and payload: to each joint's peak torque, top speed and mean inertia.

    Attributes
    ----------
    payload
        Mass at the tool, kg.
    friction
        Friction of each joint at the motion's top speed, as a share of the joint's peak torque.
    model_error
        Largest relative error of masses, centres of mass, inertias and motor inertias: the robot's numbers are those
        of its description, each times its own random factor.
    picked_payload
        Further mass at the tool, kg, picked up on the way and put down again: see `carried`.
    static_friction
        Breakaway torque beyond Coulomb friction, as a share of the latter.
    position_friction
        Share of the dry friction that changes along a joint's rotation, once a turn; at most 1.
    motor_lag
        Time constant with which torques follow commands, s. Values below half a step of the integrator count as that.
    motor_torque
        Largest torque of the motors (their current limit), in units of the peak torque; None for no limit.
    motor_speed
        Speed at which the motors' voltage leaves no torque, in units of the top speed; None for no limit. The torque
        falls linearly to there, from four times the peak torque at rest.
    encoder_step
        Resolution of the position encoders, rad or m. With it, velocities are differentiated positions, filtered over
        two sample periods.
    resonance
        Frequency, Hz, with which each link swings on the elasticity of its own joint; None for stiff joints. Encoders
        are then on the motors' side, behind whose springs rotors of a quarter of the joint's inertia are added.
    tip_force
        Constant force at the tool along `tip_direction`, N.
    plant
        Any other parameter of the plant by its name in `chasles.Plant.parameters`, with its range. All entries of an
        array, such as ``elastic_joints.backlash``, have the value that is drawn.
    rates
        Sample rates of the controllers, Hz. Each run has one of them.
    delays
        Delays from sampling to the torque's effect, in sample periods. Each run has one of them.
    carried
        When the picked payload is picked up and put down, as shares of the motion's duration.
    tip_direction
        Direction of the tip force in world axes.
    payload_center
        Centre of the payload in the tool's frame, m.
    payload_radius
        The payload is a solid ball of this radius, m.
    viscous_share
        Share of the friction that grows with speed; the rest is Coulomb friction.
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
    plant: Mapping[str, Range] = field(default_factory=dict)
    rates: tuple[float, ...] = (60.0, 125.0, 250.0, 500.0, 1000.0, 2000.0)
    delays: tuple[float, ...] = (0.0,)
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

    @property
    def ranges(self) -> dict[str, Range]:
        """Ranges of all unknowns that act, by name, in a fixed order."""
        given = {name: getattr(self, name) for name in UNKNOWNS}
        acting = {name: ends for name, ends in given.items() if ends is not None and ends[1] > 0.0}
        always = {name: given[name] for name in ("payload", "friction", "model_error")}
        return always | acting | dict(self.plant)

    def of_friction_only(self) -> Factors:
        """Return factors whose dry friction is Coulomb's and nothing else acts."""
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
        ``"latin-hypercube"``, ``"sobol"``, ``"random"``, or ``"grid"``: all combinations.
    runs
        Number of runs of each controller on each robot, shared by the pairs of rate and delay. No two runs have the
        same unknowns, and those of each pair fill their ranges. A grid has all combinations of levels for each pair.
    seed
        Seed of all that is random. The same seed gives the same runs, and all controllers meet the same.
    levels
        Values of each factor in a grid.
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
    """Simulation and judgement of the runs.

    Attributes
    ----------
    rest
        Time simulated after the motion's end, s.
    step
        Longest step of the integrator (classical Runge–Kutta), s; friction may ask for shorter ones.
    torque_limits
        Whether the motors give no more than the robot's effort limits.
    lost_beyond
        A run is lost when a joint is farther than this from its reference, rad or m, or leaves the finite numbers.
    chunk
        Most runs that are simulated and stored together.
    margins
        Whether the report shows the margins of each loop, from the linear models alone, beside what was lost.
    """

    rest: float = 0.25
    step: float = 1e-3
    torque_limits: bool = True
    lost_beyond: float = 1.0
    chunk: int = 500
    margins: bool = False

    def __post_init__(self) -> None:
        set_fields(
            self,
            torque_limits=truth(self.torque_limits, "'torque_limits'"),
            rest=number(self.rest, "rest", at_most=60.0),
            step=number(self.step, "step", at_least=1e-6),
            lost_beyond=number(self.lost_beyond, "lost_beyond", above=0.0),
            chunk=whole(self.chunk, "chunk", 1, 10_000),
            margins=truth(self.margins, "'margins'"),
        )


#: Settings of a controller's rule that a search may change, in the order of its tables.
KNOBS = ("frequency", "damping", "integral", "observer", "reaching", "learning", "disturbance")
#: Bound on damping times period that leaves a search free.
UNBOUNDED = 1e6


@dataclass(frozen=True)
class Tuning:
    """Search for the gains of each controller, for each robot, rate and delay; see `chasles.studies.tuning`.

    All controllers have the same budget, the same training draws and the same ranges. The draws of the search are not
    those of the study.

    Attributes
    ----------
    evaluations
        Candidates for each controller, robot, rate and delay.
    draws
        Runs on which each candidate is tried.
    seed
        Seed of the training draws; it must differ from the design's.
    frequency
        Range of the natural frequency, rad/s; it ends at the Nyquist frequency of each rate.
    damping
        Range of the damping ratio; at least 1/√2, which regulators have.
    integral
        Range of the third pole as a share of the frequency, for controllers with integral action.
    observer, reaching, learning, disturbance
        Ranges of settings that rules of single kinds have, see `gains` of their laws.
    """

    evaluations: int = 40
    draws: int = 40
    seed: int = 1
    frequency: Range = (2.0, 300.0)
    damping: Range = (0.71, 2.0)
    integral: Range = (0.1, 2.0)
    observer: Range = (0.1, 10.0)
    reaching: Range = (1.0, 100.0)
    learning: Range = (0.01, 100.0)
    disturbance: Range = (0.02, 5.0)

    def __post_init__(self) -> None:
        whole(self.evaluations, "evaluations", 8, 10_000)
        whole(self.draws, "draws", 4, 10_000)
        whole(self.seed, "seed", 0, 2**63 - 1)
        set_fields(self, **{name: positive_ends(getattr(self, name), name) for name in KNOBS})

    @property
    def design(self) -> Design:
        """Design of the training draws."""
        return Design(runs=self.draws, seed=self.seed)


def set_fields(record: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is made."""
    for name, value in values.items():
        object.__setattr__(record, name, value)
