"""Sensors: encoders with resolution, noise and delay; velocities measured or differentiated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine import floor
from chasles.engine.program.records import Memory
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, Bound, choice, real, reals
from chasles.robot.robot import Robot
from chasles.simulation.plant.effect import Effect, joint_count, where_positive

VELOCITIES = ("measured", "differentiated")
SIDES = ("link", "motor", "both")
#: Largest seed that a float holds exactly.
_LARGEST_SEED = 2.0**53

#: Parameters that round what is read.
RESOLUTIONS = ("position_resolution", "velocity_resolution")


class Sensors(Effect):
    """Sensors of joint positions and velocities, read once per call of the controller.

    A position is read as q + σ ξ and rounded to whole encoder steps; the noise ξ is normally distributed, independent
    between joints and calls. A velocity is measured in the same way by a separate sensor, or differentiated from the
    position readings,

        v[k] = v[k-1] + T / (T + T_f) ((q[k] - q[k-1]) / T - v[k-1]),

    with the period T and the time constant T_f of a first-order filter (T_f = 0: plain difference). Readings reach the
    controller after the delay; until the first one arrives, the controller receives the initial state extrapolated
    backwards.

    Parameters
    ----------
    robot
        Robot, or its number of joints n.
    position_resolution
        Encoder step, rad; default 0, no rounding. Each parameter is a scalar for all joints, or one value per joint,
        (n,).
    position_noise
        Standard deviation σ of position readings, rad.
    velocity_resolution, velocity_noise
        Resolution and standard deviation of measured velocities, rad/s.
    velocity
        Source of velocities: ``"measured"`` or ``"differentiated"``.
    filter_time
        Time constant T_f of the filter for differentiated velocities, s.
    delay
        Time from reading to controller, s, a whole number of periods. The controller's own computing time is ``delay``
        of `chasles.simulate`.
    side
        Measured side of elastic joints: ``"link"``, the joint itself, ``"motor"``, the motor angle divided by the gear
        ratio, or ``"both"``: joints by these sensors and motors by further ones like them, for laws that measure both.
    seed
        Seed of the noise, an integer. Equal seeds give equal noise. All runs of a batch have the same noise unless the
        seed is varied: ``vary={"sensors.seed": range(100)}``.

    Raises
    ------
    ArgumentError
        A value is out of bounds, or contradicts `velocity`; the message names it.
    UnknownNameError
        The kind of velocity or the side does not exist.

    Examples
    --------
    An encoder with 4096 steps per revolution, otherwise ideal:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> sensors = ch.Sensors(arm, position_resolution=2.0 * np.pi / 4096, velocity="differentiated", filter_time=5e-3)
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> run = ch.simulate(ch.Plant(arm, sensors=sensors), ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
    >>> bool(abs(run.q_measured - run.q).max() <= np.pi / 4096)
    True
    """

    n: int
    bounds: Mapping[str, Bound] = {
        "position_resolution": NOT_NEGATIVE,
        "position_noise": NOT_NEGATIVE,
        "velocity_resolution": NOT_NEGATIVE,
        "velocity_noise": NOT_NEGATIVE,
        "filter_time": NOT_NEGATIVE,
    }

    def __init__(
        self,
        robot: Robot | int,
        *,
        position_resolution: ArrayLike = 0.0,
        position_noise: ArrayLike = 0.0,
        velocity_resolution: ArrayLike = 0.0,
        velocity_noise: ArrayLike = 0.0,
        velocity: Literal["measured", "differentiated"] = "measured",
        filter_time: ArrayLike = 0.0,
        delay: float = 0.0,
        side: Literal["link", "motor", "both"] = "link",
        seed: int = 0,
    ) -> None:
        choice(velocity, "kind of velocity", VELOCITIES)
        choice(side, "side of a joint", SIDES)
        self.n = n = joint_count(robot)
        parameters = self.for_joints(n, position_resolution=position_resolution, position_noise=position_noise)
        measured = self.for_joints(n, velocity_resolution=velocity_resolution, velocity_noise=velocity_noise)
        filtered = self.for_joints(n, filter_time=filter_time)
        if velocity == "measured":
            parameters |= measured
            if filtered["filter_time"].any():
                raise ArgumentError(
                    "filter_time is for velocity='differentiated'; measured velocities are not filtered"
                )
        else:
            parameters |= filtered
            if any(value.any() for value in measured.values()):
                raise ArgumentError(
                    "velocity_noise and velocity_resolution are for velocity='measured'; leave them out"
                )
        super().__init__("sensors", parameters)
        self.velocity = velocity
        self.side = side
        self.delay = real(delay, "delay", at_least=0.0)
        self.seed = int(checked_seeds(seed))

    @property
    def noises(self) -> tuple[str, ...]:
        """Names of the parameters that are standard deviations of noise, in the order of drawing."""
        return tuple(name for name in ("position_noise", "velocity_noise") if name in self.parameters)

    def without_rounding(self) -> Sensors:
        """Return a copy that does not round what it reads."""
        parameters: dict[str, Any] = {name: x for name, x in self.parameters.items() if name not in RESOLUTIONS}
        kinds: dict[str, Any] = {"velocity": self.velocity, "side": self.side}
        return Sensors(self.n, **parameters, **kinds, delay=self.delay, seed=self.seed)

    def delay_periods(self, period: float) -> int:
        """Return the delay as a number of periods."""
        count = round(self.delay / period)
        if abs(count * period - self.delay) > 1e-6 * period:
            raise ArgumentError(
                f"the sensors' delay of {self.delay:g} s is not a whole number of periods of {period:g} s"
            )
        return count

    @property
    def count(self) -> int:
        """Number m of positions that are read: those of the joints, or of joints and motors."""
        return 2 * self.n if self.side == "both" else self.n

    def sides(self, joints: Array, motors: Array) -> Array:
        """Return the positions or velocities (..., m) that are read, from those of joints and motors, each (..., n)."""
        if self.side == "both":
            return np.concatenate([joints, motors], axis=-1)
        return joints if self.side == "link" else motors

    def memory_shapes(self, period: float) -> dict[str, tuple[int, ...]]:
        """Return the parts of the memory between calls: delayed readings, oldest first, and filter states."""
        late, count = self.delay_periods(period), self.count
        if self.velocity == "differentiated":
            return {"positions": (late, count), "last": (count,), "smooth": (count,)}
        return {"positions": (late, count), "velocities": (late, count)}

    def initial_memory(self, q: Array, qd: Array, period: float) -> dict[str, Any]:
        """Return the memory at the start: readings extrapolated backwards from q and qd, (..., m)."""
        late = self.delay_periods(period)
        periods = np.arange(late, 0.0, -1.0)[:, None]
        positions = q[..., None, :] - periods * period * qd[..., None, :]
        if self.velocity == "differentiated":
            return {"positions": positions, "last": q - (late + 1) * period * qd, "smooth": qd}
        return {"positions": positions, "velocities": np.repeat(qd[..., None, :], late, axis=-2)}

    def read(
        self,
        q: Array,
        qd: Array,
        noise: Mapping[str, Any],
        memory: Memory,
        parameters: Mapping[str, Any],
        period: float,
    ) -> tuple[Any, Any, Any]:
        """Read positions and velocities once.

        Parameters
        ----------
        q, qd
            True positions and velocities, (m,); those of the joints first, where motors are read too.
        noise
            Samples (m,) of the standard normal distribution, for some of `noises`.
        memory
            Memory of the last call, a record of `memory_shapes`.
        parameters
            Values of `parameters`.
        period
            Time between two calls, s.

        Returns
        -------
        q, qd, memory
            Readings for the controller, and the memory for the next call.
        """
        if self.side == "both":
            parameters = {name: np.concatenate([value, value]) for name, value in parameters.items()}
        position = _quantised(_noisy(q, "position_noise", noise, parameters), parameters["position_resolution"])
        positions = np.concatenate([memory.positions, position[None]])
        seen = positions[0]
        if self.velocity == "measured":
            velocity = _noisy(qd, "velocity_noise", noise, parameters)
            velocity = _quantised(velocity, parameters["velocity_resolution"])
            velocities = np.concatenate([memory.velocities, velocity[None]])
            return seen, velocities[0], {"positions": positions[1:], "velocities": velocities[1:]}
        share = period / (period + parameters["filter_time"])
        smooth = memory.smooth + share * ((seen - memory.last) / period - memory.smooth)
        return seen, smooth, {"positions": positions[1:], "last": seen, "smooth": smooth}


def checked_seeds(seeds: object, owner: str = "sensors") -> Any:
    """Return seeds, an array of any shape, as whole numbers.

    >>> checked_seeds(0.5)
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: the seed of sensors is 0.5; it must be a whole number
    """
    array = reals(seeds, f"the seed of {owner}", at_least=0.0, at_most=_LARGEST_SEED)
    if (array != np.floor(array)).any():
        raise ArgumentError(f"the seed of {owner} is {array[array != np.floor(array)][0]}; it must be a whole number")
    return array.astype(np.int64)


def _noisy(value: Array, name: str, noise: Mapping[str, Any], parameters: Mapping[str, Any]) -> Array:
    return value + parameters[name] * noise[name] if name in noise else value


def _quantised(value: Array, resolution: Array) -> Array:
    """Round a value to whole steps; without a resolution return it as it is."""
    step = where_positive(resolution, resolution, 1.0)
    return where_positive(resolution, step * floor(value / step + 0.5), value)
