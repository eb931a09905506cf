"""What a study varies, how its runs are drawn, and how they are simulated and judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chasles.errors import ArgumentError, UnknownNameError
from chasles.studies.checks import array_of, check_whole, ends, number, sample_rates

METHODS = ("latin-hypercube", "sobol", "random", "grid")
MOST_RUNS = 1_000_000
Range = tuple[float, float]


@dataclass(frozen=True)
class Factors:
    """What varies from run to run, each from its first to its second number.

    Attributes
    ----------
    payload
        Mass at the tool, kg, that no controller knows of.
    friction
        Friction of each joint, that no controller knows of, as a share of the joint's peak torque: the largest that
        the planned motion takes without friction and payload. Reached at the motion's top speed.
    model_error
        Largest relative error of masses, centres of mass, inertias and motor inertias: the robot's numbers are those
        of its description, each times its own random factor.
    rates
        Sample rates of the controllers, Hz. Each run has one of them.
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
    rates: tuple[float, ...] = (60.0, 125.0, 250.0, 500.0, 1000.0, 2000.0)
    payload_center: tuple[float, ...] = (0.0, 0.0, 0.0)
    payload_radius: float = 0.05
    viscous_share: float = 0.5
    coulomb_velocity: float = 0.05

    def __post_init__(self) -> None:
        set_fields(
            self,
            payload=ends(self.payload, "payload", 1e6),
            friction=ends(self.friction, "friction", 100.0),
            model_error=ends(self.model_error, "model_error", 0.9),
            rates=sample_rates(self.rates),
            payload_center=tuple(array_of(self.payload_center, (3,), "payload_center").tolist()),
            payload_radius=number(self.payload_radius, "payload_radius"),
            viscous_share=number(self.viscous_share, "viscous_share", most=1.0),
            coulomb_velocity=number(self.coulomb_velocity, "coulomb_velocity", above=0.0),
        )


@dataclass(frozen=True)
class Design:
    """How the runs are drawn.

    Attributes
    ----------
    method
        ``"latin-hypercube"``, ``"sobol"``, ``"random"``, or ``"grid"``: all combinations.
    runs
        Number of runs of each controller on each robot, shared by the sample rates, which all meet the same payloads,
        friction and errors. A grid has ``levels**3`` for each rate.
    seed
        Of all that is random. The same seed gives the same runs, and all controllers meet the same.
    levels
        Values of each factor in a grid.
    """

    method: str = "latin-hypercube"
    runs: int = 1000
    seed: int = 1987
    levels: int = 5

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("method of design", str(self.method), METHODS)
        check_whole(self.runs, "runs", 1, MOST_RUNS)
        check_whole(self.seed, "seed", 0, 2**63 - 1)
        check_whole(self.levels, "levels", 1, 50)


@dataclass(frozen=True)
class Execution:
    """How runs are simulated and judged.

    Attributes
    ----------
    rest
        Time simulated after the motion's end, s.
    step
        Longest step of the integrator (classical Runge–Kutta), s; friction may ask for shorter ones.
    delay
        Time from sampling to the torque's taking effect, in sample periods.
    torque_limits
        Whether the motors give no more than the robot's effort limits.
    lost_beyond
        A run is lost when a joint is farther than this from its reference, rad or m, or leaves the finite numbers.
    chunk
        Most runs that are simulated and stored together.
    """

    rest: float = 0.25
    step: float = 1e-3
    delay: float = 0.0
    torque_limits: bool = True
    lost_beyond: float = 1.0
    chunk: int = 500

    def __post_init__(self) -> None:
        if not isinstance(self.torque_limits, bool):
            raise ArgumentError(f"'torque_limits' must be true or false, not {self.torque_limits!r}")
        set_fields(
            self,
            rest=number(self.rest, "rest", most=60.0),
            delay=number(self.delay, "delay", most=10.0),
            step=number(self.step, "step", above=0.0, least=1e-6),
            lost_beyond=number(self.lost_beyond, "lost_beyond", above=0.0),
        )
        check_whole(self.chunk, "chunk", 1, 10_000)


def set_fields(record: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is made."""
    for name, value in values.items():
        object.__setattr__(record, name, value)
