"""External wrenches as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import trace
from chasles.engine.identity import identity, identity_as_it_acts
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import choice, reals
from chasles.simulation.plant.effect import Effect

Axes = Literal["frame", "world"]
AXES = ("frame", "world")
#: Times that differ by less than this, relative to themselves, are the same.
_ROUNDING = 1e-12


class ExternalWrench(Effect):
    """Wrench (m, f) on a frame of the robot, as a function of time.

    Parameters
    ----------
    name
        Name in parameters: ``"wrenches.NAME.…"``.
    function
        ``function(t, parameters) -> (6,)``, in N·m and N about the frame's origin. It is compiled with the plant if it
        can be traced; otherwise it is evaluated at the controller's calls and interpolated linearly in between.
    times, samples
        Wrenches (k, 6) at increasing times (k,), s, in place of a function. They are interpolated linearly, are zero
        outside, and are evaluated at the controller's calls.
    frame
        Frame or link on which the wrench acts; default the tool.
    axes
        Axes of the components: ``"frame"``, which rotate with the frame, or ``"world"``.
    parameters
        Parameters of the function that can be varied, by name. Samples have one, the factor ``"scale"``.
    switch_times
        Times at which the function jumps, s. Variable-step integrators restart there; fixed-step integrators resolve
        jumps at the boundaries of their steps.

    Raises
    ------
    ArgumentError
        Both a function and samples are given, or neither, or a shape differs.

    Examples
    --------
    A push of 20 N along the world's x axis for a tenth of a second:

    >>> import chasles as ch
    >>> from chasles.engine import where
    >>> def push(t, parameters):
    ...     on = where((t >= 0.2) & (t < 0.3), 1.0, 0.0)
    ...     return np.array([0.0, 0.0, 0.0, parameters["force"] * on, 0.0, 0.0])
    >>> wrench = ch.ExternalWrench("push", push, axes="world", parameters={"force": 20.0}, switch_times=[0.2, 0.3])
    >>> arm = ch.load("planar2r")
    >>> hold = ch.PDGravity(arm, kp=400.0, kd=40.0)
    >>> rest = ch.PointToPoint([0.5, 0.5], [0.5, 0.5], duration=0.5)
    >>> run = ch.simulate(ch.Plant(arm, wrenches=[wrench]), hold, rest, vary={"wrenches.push.force": [0.0, 20.0]})
    >>> bool(abs(run.error[0]).max() < 1e-12), bool(abs(run.error[1, 199]).max() < 1e-12), float(run.time[199])
    (True, True, 0.199)
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Any, Mapping[str, Any]], Any] | None = None,
        *,
        times: ArrayLike | None = None,
        samples: ArrayLike | None = None,
        frame: str = "tool",
        axes: Axes = "frame",
        parameters: Mapping[str, ArrayLike] | None = None,
        switch_times: Sequence[float] = (),
    ) -> None:
        choice(axes, "axes of a wrench", AXES)
        if (function is None) == (samples is None) or (samples is None) != (times is None):
            raise ArgumentError(f"wrench '{name}' needs either a function, or times and samples")
        if samples is not None and parameters:
            raise ArgumentError(
                f"wrench '{name}' is made of samples, whose one parameter is 'scale'; leave parameters out"
            )
        given = {key: reals(value, f"parameters['{key}']") for key, value in (parameters or {}).items()}
        super().__init__(name, {"scale": np.ones(())} if samples is not None else given)
        self.function = function
        self.frame = frame
        self.axes: Axes = axes
        self._switches = [float(time) for time in reals(switch_times, "switch_times", ("k",))]
        if samples is not None and times is not None:
            self.times = reals(times, f"times of wrench '{name}'", ("k",))
            self.samples = reals(samples, f"samples of wrench '{name}'", (self.times.size, 6))
            if not self.times.size or (np.diff(self.times) <= 0.0).any():
                raise ArgumentError(f"the times of wrench '{name}' must increase, not {self.times.tolist()}")

    @cached_property
    def sampled(self) -> bool:
        """Whether the wrench is evaluated before the simulation, at the controller's calls."""
        if self.function is None:
            return True
        try:
            trace(self._flat, {"t": (), **{key: value.shape for key, value in self.parameters.items()}}, name="wrench")
        except ArgumentError:
            raise
        except Exception:  # a plain Python function may fail on traced values in any way
            return True
        return False

    @property
    def constant(self) -> NDArray[np.float64] | None:
        """The wrench (6,), if its function can be traced and does not depend on time; else None."""
        if self.sampled:
            return None
        inputs = {"t": (), **{key: value.shape for key, value in self.parameters.items()}}
        depends = 0 in trace(self._flat, inputs, name="wrench").reads(range(6))
        return None if depends else np.asarray(self.at(0.0, self.parameters), dtype=float)

    @property
    def digest(self) -> str:
        """Identity of the wrench: its values and the program of its function."""
        values = {name: value for name, value in vars(self).items() if name not in ("function", "sampled")}
        if self.function is None:
            return identity(values)
        inputs = {"t": (), **{name: value.shape for name, value in self.parameters.items()}}
        return identity((values, identity_as_it_acts(self.function, self._flat, inputs)))

    def at(self, t: Real, parameters: Mapping[str, Any]) -> Array:
        """Return the wrench (6,) of a function at a time."""
        if self.function is None:
            raise ArgumentError(f"wrench '{self.name}' is made of samples")
        wrench = np.asarray(self.function(t, parameters))
        if wrench.shape != (6,):
            raise ArgumentError(f"the function of wrench '{self.name}' returns shape {wrench.shape}; expected (6,)")
        return wrench

    def at_calls(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return wrenches (..., 6) at times (...), before they are scaled."""
        if self.function is None:
            first, last = self.times[0], self.times[-1]
            near = _ROUNDING * max(1.0, abs(first), abs(last))
            t = np.where((t >= first - near) & (t <= last + near), np.clip(t, first, last), t)
            columns = [np.interp(t, self.times, column, left=0.0, right=0.0) for column in self.samples.T]
            return np.stack(columns, axis=-1)
        flat = [np.asarray(self.at(float(time), self.parameters), dtype=float) for time in t.ravel()]
        return np.reshape(flat, (*t.shape, 6))

    def switch_times(self, parameters: Mapping[str, Any]) -> list[Any]:
        """Return the times at which the wrench jumps."""
        return self._switches

    def _flat(self, t: Real, *values: Array) -> Array:
        return self.at(t, dict(zip(self.parameters, values, strict=True)))
