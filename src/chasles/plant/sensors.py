"""What the controller sees: encoders with steps, noise and delay, and velocities measured or differentiated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine import floor
from chasles.errors import ArgumentError, UnknownNameError
from chasles.plant.effect import Effect, checked, joint_count, where_positive

VELOCITIES = ("measured", "differentiated")
SIDES = ("link", "motor")
#: Largest seed that a float holds exactly.
_LARGEST_SEED = 2.0**53


class Sensors(Effect):
    """Sensors of joint positions and velocities, read once at every call of the controller.

    A position is read as q + σ ξ, with ξ normally distributed and independent from joint to joint and call to call, and
    rounded to whole steps of the encoder. A velocity is measured in the same way by a sensor of its own, or
    differentiated from the positions read,

        v[k] = v[k-1] + T / (T + T_f) ((q[k] - q[k-1]) / T - v[k-1]),

    with the period T and the time constant T_f of a filter of first order (T_f = 0: the bare difference). What was read
    reaches the controller after the delay; before the first reading does, it sees the start extrapolated backwards.

    Parameters
    ----------
    robot
        A robot, or the number n of its joints.
    position_resolution
        Step of the encoder, rad; 0 for none. All numbers are one for all joints, or one for each, shape (n,).
    position_noise
        Standard deviation σ of the position, rad.
    velocity_resolution, velocity_noise
        The same of a measured velocity, rad/s.
    velocity
        ``"measured"`` or ``"differentiated"``.
    filter_time
        T_f, s.
    delay
        From reading to controller, s, a whole number of periods; for the time that the controller takes, see ``delay``
        of `chasles.simulate`.
    side
        Of elastic joints: ``"link"``, the joint itself, or ``"motor"``, the motor's angle divided by the gear ratio.
    seed
        Of the noise, a whole number. The same seed gives the same noise, whatever else changes; runs of a batch have
        the same noise unless their seeds are varied, ``vary={"sensors.seed": range(100)}``.

    Raises
    ------
    ArgumentError
        A number is impossible.
    UnknownNameError
        There is no such kind of velocity or side.

    Examples
    --------
    An encoder of 4096 steps and nothing else:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> sensors = ch.Sensors(arm, position_resolution=2.0 * np.pi / 4096, velocity="differentiated", filter_time=5e-3)
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> run = ch.simulate(ch.Plant(arm, sensors=sensors), ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
    >>> bool(abs(run.q_measured - run.q).max() <= np.pi / 4096)
    True
    """

    n: int

    def __init__(
        self,
        robot: Any,
        *,
        position_resolution: ArrayLike = 0.0,
        position_noise: ArrayLike = 0.0,
        velocity_resolution: ArrayLike = 0.0,
        velocity_noise: ArrayLike = 0.0,
        velocity: Literal["measured", "differentiated"] = "measured",
        filter_time: ArrayLike = 0.0,
        delay: float = 0.0,
        side: Literal["link", "motor"] = "link",
        seed: int = 0,
    ) -> None:
        if velocity not in VELOCITIES:
            raise UnknownNameError("kind of velocity", velocity, VELOCITIES)
        if side not in SIDES:
            raise UnknownNameError("side of a joint", side, SIDES)
        self.n = n = joint_count(robot)
        parameters = {
            "position_resolution": checked(position_resolution, (n,), "position_resolution", least=0.0),
            "position_noise": checked(position_noise, (n,), "position_noise", least=0.0),
        }
        if velocity == "measured":
            parameters["velocity_resolution"] = checked(velocity_resolution, (n,), "velocity_resolution", least=0.0)
            parameters["velocity_noise"] = checked(velocity_noise, (n,), "velocity_noise", least=0.0)
            if np.any(np.asarray(filter_time) != 0.0):
                raise ArgumentError("a measured velocity is not filtered: filter_time is for 'differentiated'")
        else:
            parameters["filter_time"] = checked(filter_time, (n,), "filter_time", least=0.0)
            if np.any(np.asarray(velocity_noise) != 0.0) or np.any(np.asarray(velocity_resolution) != 0.0):
                raise ArgumentError("a differentiated velocity has no noise and no resolution of its own")
        super().__init__("sensors", parameters)
        self.velocity = velocity
        self.side = side
        self.delay = float(checked(delay, (), "delay", least=0.0))
        self.seed = int(checked_seeds(seed))

    @property
    def noises(self) -> tuple[str, ...]:
        """Names of the parameters that are standard deviations of noise."""
        return tuple(name for name in ("position_noise", "velocity_noise") if name in self.parameters)

    def delay_periods(self, period: float) -> int:
        """The delay in whole periods."""
        count = round(self.delay / period)
        if abs(count * period - self.delay) > 1e-6 * period:
            raise ArgumentError(
                f"the delay of the sensors, {self.delay:g} s, must be a whole number of periods of {period:g} s"
            )
        return count

    def memory_size(self, period: float) -> int:
        """Numbers that they remember from call to call."""
        late = self.delay_periods(period)
        return (late + 2) * self.n if self.velocity == "differentiated" else 2 * late * self.n

    def initial_memory(self, q: Any, qd: Any, period: float) -> Any:
        """Memory (..., size) at a start with positions and velocities (..., n): what they would have read before."""
        late = self.delay_periods(period)
        past = [q - k * period * qd for k in range(late, 0, -1)]
        if self.velocity == "differentiated":
            return np.concatenate([*past, q - (late + 1) * period * qd, qd], axis=-1)
        return np.concatenate([*past, *[qd] * late, np.zeros((*np.shape(q)[:-1], 0))], axis=-1)

    def read(
        self, q: Any, qd: Any, noise: Mapping[str, Any], memory: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any, Any]:
        """Read positions and velocities once.

        Parameters
        ----------
        q, qd
            What is there, (n,).
        noise
            Numbers (n,) with the standard normal distribution for some of `noises`.
        memory
            (memory_size,).
        parameters
            As `parameters`.
        period
            Time from call to call, s.

        Returns
        -------
        q, qd, memory
            What the controller sees, and the memory for the next call.
        """
        n, late = self.n, self.delay_periods(period)
        position = _quantised(_noisy(q, "position_noise", noise, parameters), parameters["position_resolution"])
        positions = np.concatenate([memory[: late * n], position])
        seen = positions[:n]
        if self.velocity == "measured":
            velocity = _noisy(qd, "velocity_noise", noise, parameters)
            velocities = np.concatenate([memory[late * n :], _quantised(velocity, parameters["velocity_resolution"])])
            return seen, velocities[:n], np.concatenate([positions[n:], velocities[n:]])
        before, smooth = memory[late * n : (late + 1) * n], memory[(late + 1) * n :]
        share = period / (period + parameters["filter_time"])
        smooth = smooth + share * ((seen - before) / period - smooth)
        return seen, smooth, np.concatenate([positions[n:], seen, smooth])


def checked_seeds(seeds: Any) -> Any:
    """Seeds as whole numbers in an array of any shape, if they are such."""
    array = np.asarray(seeds, dtype=float)
    if not ((array >= 0.0) & (array < _LARGEST_SEED) & (array == np.floor(array))).all():
        raise ArgumentError("the seed of sensors must be a whole number, not negative")
    return array.astype(np.int64)


def _noisy(value: Any, name: str, noise: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    return value + parameters[name] * noise[name] if name in noise else value


def _quantised(value: Any, resolution: Any) -> Any:
    """The nearest whole number of steps."""
    step = where_positive(resolution, resolution, 1.0)
    return where_positive(resolution, step * floor(value / step + 0.5), value)
