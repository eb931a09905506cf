"""What checks of joint trajectories find, as numbers, sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.base.cached import cached_property
from chasles.base.errors import import_extra
from chasles.trajectories.motion import Floats
from chasles.trajectories.trajectory import batch_dims

if TYPE_CHECKING:
    import xarray

Quantity = Literal["position", "velocity", "acceleration", "jerk", "torque", "torque rate", "power"]
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
_SUFFIXES = {"position": "", "velocity": "/s", "acceleration": "/s²", "jerk": "/s³", "torque": "", "torque rate": "/s"}
_LISTED = 20


class Peak(NamedTuple):
    """Largest magnitudes and the times (s) at which they occur, each (*batch, n)."""

    largest: Floats
    time: Floats


@dataclass(frozen=True, eq=False)
class PeakReport:
    """Largest magnitudes of each joint's motion; see `chasles.trajectories.checks.peaks`.

    Attributes
    ----------
    position, velocity, acceleration, jerk
        Magnitudes ``largest`` in rad, rad/s, rad/s², rad/s³ (m, … for prismatic joints) and their ``time`` in s, each
        of shape (*batch, n).
    """

    position: Peak
    velocity: Peak
    acceleration: Peak
    jerk: Peak

    def to_dataset(self) -> xarray.Dataset:
        """Magnitudes and times as an `xarray.Dataset` over (trajectory, quantity, joint).

        Where positions hold quaternions, the rates have fewer elements, and NaN fills their rows.
        """
        parts = [getattr(self, name) for name in QUANTITIES[:4]]
        dims = [*batch_dims(parts[0].largest.shape[:-1]), "quantity", "joint"]
        count = max(part.largest.shape[-1] for part in parts)
        stacked = {
            field: np.stack([_widened(getattr(part, field), count) for part in parts], axis=-2)
            for field in Peak._fields
        }
        table: xarray.Dataset = import_extra("xarray", "data", "a table of peaks").Dataset(
            {
                "largest": (dims, stacked["largest"], {"long_name": "largest magnitude"}),
                "time": (dims, stacked["time"], {"units": "s", "long_name": "time of the largest magnitude"}),
            },
            coords={"quantity": list(QUANTITIES[:4]), "joint": np.arange(count)},
        )
        return table

    def __repr__(self) -> str:
        return f"<PeakReport of {self.position.largest.shape[-1]} joints>"

    def __str__(self) -> str:
        *batch, n = self.position.largest.shape
        widened = {name: [_widened(part, n) for part in getattr(self, name)] for name in QUANTITIES[:4]}
        if 0 in batch:
            return "no trajectories"
        which = f", the largest of {int(np.prod(batch))} trajectories" if batch else ""
        lines = [f"largest magnitudes{which}, with their times in s"]
        names = QUANTITIES[:4]
        lines.append("joint" + "".join(f"{name:>26}" for name in names))
        for joint in range(n):
            cells = []
            for name in names:
                largest, time = (np.ravel(part[..., joint]) for part in widened[name])
                k = int(np.argmax(largest))
                cells.append(f"{largest[k]:14.5g} at {time[k]:8.4g}")
            lines.append(f"{joint:5}" + "".join(cells))
        return "\n".join(lines)


@dataclass(frozen=True)
class Violation:
    """An interval in which a joint breaks a limit.

    Attributes
    ----------
    quantity
        ``"position"``, ``"velocity"``, ``"acceleration"``, ``"jerk"``, ``"torque"``, ``"torque rate"`` or
        ``"power"``.
    joint
        Name of the joint.
    start, end
        Interval of the violation, s.
    time
        Time of the largest violation, s.
    value, limit
        Value and limit of the quantity at that time, in `unit`. A value is infinite where a lower derivative jumps.
    unit
        "rad", "m/s", "N m", …
    trajectory
        Index of the trajectory in a batch; () for one.
    """

    quantity: Quantity
    joint: str
    start: float
    end: float
    time: float
    value: float
    limit: float
    unit: str
    trajectory: tuple[int, ...] = ()

    @property
    def excess(self) -> float:
        """By how much the value lies beyond the limit, in `unit`."""
        return abs(self.value - self.limit)

    @property
    def sentence(self) -> str:
        """Return the violation as a sentence."""
        which = f"trajectory {', '.join(map(str, self.trajectory))}: " if self.trajectory else ""
        side = "above" if self.value > self.limit else "below"
        when = f", from {self.start:.6g} to {self.end:.6g} s" if self.end > self.start else ""
        return (
            f"{which}{self.quantity} of {self.joint}: {self.value:.4g} {self.unit} at {self.time:.6g} s, "
            f"{self.excess:.3g} {side} the limit {self.limit:.4g} {self.unit}{when}"
        )


@dataclass(frozen=True, eq=False)
class CheckReport:
    """Violations of a robot's limits by a trajectory, and its margins to all limits.

    Attributes
    ----------
    robot
        Name of the robot.
    joint_names
        Names of its joints.
    units
        "rad" or "m" for each joint.
    lower, upper
        Limits of each quantity, shape (quantity, n) in the order of `QUANTITIES`; infinite without a limit.
    margin
        Smallest distance from a limit, negative where it is broken, shape (*batch, quantity, n); infinite without a
        limit.
    time
        Time of the smallest margin, s, the same shape; NaN without a limit.
    step
        Largest step between the samples, s, before they were refined.
    broken
        Intervals in which limits are broken, as a structured array with the fields trajectory (index into the
        flattened batch), row (quantity number times n plus joint number), side (1 or -1), start, end, time and value.
    """

    robot: str
    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    lower: Floats
    upper: Floats
    margin: Floats
    time: Floats
    step: float
    broken: NDArray[np.void]

    @property
    def ok(self) -> bool:
        """Whether no trajectory breaks a limit."""
        return not len(self.broken)

    @property
    def passed(self) -> NDArray[np.bool_]:
        """Which trajectories of a batch break no limit, shape (*batch)."""
        batch = self.margin.shape[:-2]
        passed = np.ones(batch, dtype=bool)
        passed.ravel()[self.broken["trajectory"]] = False
        return passed

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """All intervals in which a limit is broken, in the order of trajectories and of time."""
        return tuple(self._violations())

    @property
    def share(self) -> Floats:
        """Used fraction of the limits, shape (*batch, quantity, n).

        0 half way between the lower and the upper limit, 1 at one of them; NaN where not both are finite.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            half = 0.5 * (self.upper - self.lower)
            return np.where(np.isfinite(half), 1.0 - self.margin / half, np.nan)

    def _repr_html_(self) -> str:
        return str(verbs.to_html(self))

    def _violations(self, most: int | None = None) -> Iterator[Violation]:
        batch, n = self.margin.shape[:-2], len(self.joint_names)
        for one in self.broken[:most]:
            quantity, joint = divmod(int(one["row"]), n)
            limits = self.upper if one["side"] > 0 else self.lower
            yield Violation(
                QUANTITIES[quantity],
                self.joint_names[joint],
                start=float(one["start"]),
                end=float(one["end"]),
                time=float(one["time"]),
                value=float(one["value"]),
                limit=float(limits[quantity, joint]),
                unit=_unit(QUANTITIES[quantity], self.units[joint]),
                trajectory=tuple(int(k) for k in np.unravel_index(one["trajectory"], batch)) if batch else (),
            )

    def to_dataset(self) -> xarray.Dataset:
        """Margins over (trajectory, quantity, joint), and the violations, as an `xarray.Dataset`."""
        batch = self.margin.shape[:-2]
        dims = [*batch_dims(batch), "quantity", "joint"]
        n = len(self.joint_names)
        quantity, joint = np.divmod(self.broken["row"], n)
        data: dict[str, Any] = {
            "margin": (dims, self.margin, {"long_name": "smallest distance from a limit"}),
            "time": (dims, self.time, {"units": "s", "long_name": "time of the smallest distance"}),
            "share": (dims, self.share, {"units": "1", "long_name": "used share of the limit"}),
            "lower": (dims[-2:], self.lower, {"long_name": "lower limit"}),
            "upper": (dims[-2:], self.upper, {"long_name": "upper limit"}),
            "ok": (dims[:-2], self.passed),
            "violation_quantity": ("violation", np.array(QUANTITIES)[quantity]),
            "violation_joint": ("violation", np.array(self.joint_names)[joint]),
        }
        indices = np.unravel_index(self.broken["trajectory"], batch) if batch else ()
        for name, index in zip(batch_dims(batch), indices, strict=True):
            data[f"violation_{name}"] = ("violation", index)
        for field in ("start", "end", "time", "value"):
            data[f"violation_{field}"] = ("violation", self.broken[field])
        table: xarray.Dataset = import_extra("xarray", "data", "a table of limits").Dataset(
            data,
            coords={
                "quantity": list(QUANTITIES),
                "joint": list(self.joint_names),
                "unit": (
                    ("quantity", "joint"),
                    [[_unit(quantity, unit) for unit in self.units] for quantity in QUANTITIES],
                ),
            },
            attrs={"robot": self.robot, "step": self.step},
        )
        return table

    def __repr__(self) -> str:
        return f"<CheckReport: {str(self).splitlines()[0]}>"

    def __str__(self) -> str:
        sampled = f"sampled every {1e3 * self.step:.3g} ms and refined"
        if self.broken.size:
            passed = self.passed
            of = f" by {int((~passed).sum())} of {passed.size} trajectories" if passed.ndim else ""
            count = f"{len(self.broken)} violation{'s' if len(self.broken) > 1 else ''}"
            lines = [f"{count} of the limits of robot '{self.robot}'{of} ({sampled})"]
            lines += [f"  {violation.sentence}" for violation in self._violations(_LISTED)]
            if len(self.broken) > _LISTED:
                lines.append(f"  … and {len(self.broken) - _LISTED} more")
            return "\n".join(lines)
        lines = [f"within the limits of robot '{self.robot}' ({sampled})"]
        lines += [f"  {self._closest(k)}" for k in range(len(QUANTITIES))]
        return "\n".join(lines)

    def _closest(self, k: int) -> str:
        """Where a quantity comes closest to its limits."""
        margin = self.margin[..., k, :]
        if not np.isfinite(margin).any():
            return f"{QUANTITIES[k]}: no limits"
        share = self.share[..., k, :]
        shared = bool(np.isfinite(share).any())
        place = np.unravel_index(np.nanargmax(share) if shared else np.argmin(margin), margin.shape)
        joint = int(place[-1])
        size = f"{100.0 * share[place]:.1f} % used, " if shared else ""
        unit = _unit(QUANTITIES[k], self.units[joint])
        which = f" of trajectory {', '.join(str(int(i)) for i in place[:-1])}" if len(place) > 1 else ""
        left, time = max(float(margin[place]), 0.0), self.time[..., k, :][place]
        return f"{QUANTITIES[k]}: {size}{left:.4g} {unit} left, {self.joint_names[joint]}{which} at {time:.6g} s"


def _widened(values: Floats, count: int) -> Floats:
    """Values (..., n) as (..., count), NaN at the end."""
    missing = np.full((*values.shape[:-1], count - values.shape[-1]), np.nan)
    return np.concatenate([values, missing], axis=-1)


def _unit(quantity: str, unit: str) -> str:
    if quantity == "power":
        return "W"
    effort = "N" if unit == "m" else "N m"
    return (effort if quantity.startswith("torque") else unit) + _SUFFIXES[quantity]
