"""Solutions of inverse kinematics: configurations, with status and residual."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.engine import Layout
from chasles.engine.program.scalar import Count, Quantity, Verdict

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from chasles.base.verbs import Shown, ViewOptions
    from chasles.mechanics import Mechanics

Select = Literal["first", "nearest", "best", "all"]
SELECTIONS = ("first", "nearest", "best", "all")


class Status(IntEnum):
    """Outcomes of the search for one target."""

    SOLVED = 0
    NOT_FOUND = 1
    OUT_OF_REACH = 2
    INVALID_TARGET = 3
    NO_FURTHER = 4

    @property
    def sentence(self) -> str:
        """The status in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Status.SOLVED: "solved, and confirmed by forward kinematics",
    Status.NOT_FOUND: "no configuration within the limits was found that reaches the target; q comes closest",
    Status.OUT_OF_REACH: "the target lies farther away than the stretched robot reaches; q comes closest",
    Status.INVALID_TARGET: "the target is not a pose: it has NaN, infinities, or a part that is no rotation matrix",
    Status.NO_FURTHER: "rows without a solution, because others of the batch have more",
}


class Row(NamedTuple):
    """A solution for one target as programs give it: one number after the other, in this order."""

    q: Any
    angle: Any
    distance: Any
    limit_margin: Any
    status: Any
    iterations: Any
    restarts: Any
    branch: Any
    infinite: Any

    @classmethod
    def layout(cls, n: int) -> Layout:
        """Layout of the row of n joints in a vector."""
        return Layout(cls((n,), *((),) * _NUMBERS))


#: Numbers in a row after the configuration, and their places counted from the end.
_NUMBERS = len(Row._fields) - 1
_ANGLE, _DISTANCE, _MARGIN, _STATUS, _ITERATIONS, _RESTARTS, _BRANCH, _INFINITE = range(-_NUMBERS, 0)


_DECIMALS = 12  # of the text: what is less is rounding
#: Difference of a joint, rad or m, by which two solutions are different ones.
_DIFFERENT = 1e-3


class PoseResidual(NamedTuple):
    """Difference between the pose of a solution and its target, in the components selected by the task.

    Attributes
    ----------
    distance
        Shape (...), m.
    angle
        Shape (...), rad.
    """

    distance: Quantity
    angle: Quantity


class Solution:
    """Configurations, one for each target, with the leading axes of the targets.

    Attributes
    ----------
    rows
        Values of each solution, shape (..., n + 8), as the compiled programs return them; see `Row`. The other
        attributes read from these rows.
    several
        Whether the last axis of the batch holds several solutions of one target.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> solution = arm.inverse_kinematics(arm.forward_kinematics([0.1, 0.2, 0.3, -1.5, 0.1, 1.8, 0.5]))
    >>> bool(solution.success), solution.residual.distance < 1e-6
    (True, np.True_)
    >>> print(solution)
    solved after ... iterations: q = [...]
    """

    __slots__ = ("rows", "several")

    def __init__(self, rows: NDArray[np.float64], several: bool = False) -> None:
        self.rows = rows
        self.several = several

    @property
    def q(self) -> NDArray[np.float64]:
        """Joint positions, shape (..., n), rad (m for prismatic joints): the solution, or the closest configuration.

        NaN where the target is invalid.
        """
        return self.rows[..., :-_NUMBERS]

    @property
    def success(self) -> Verdict:
        """Whether forward kinematics at q confirms the target within the tolerance and the limits hold, (...)."""
        return np.equal(self.rows[..., _STATUS], Status.SOLVED)

    @property
    def residual(self) -> PoseResidual:
        """Distance (m) and angle (rad) between the pose at q and the target."""
        return PoseResidual(self.rows[..., _DISTANCE], self.rows[..., _ANGLE])

    @property
    def limit_margin(self) -> Quantity:
        """Smallest distance of a joint to a limit, (...), rad (m for prismatic joints); inf without limits."""
        return self.rows[..., _MARGIN]

    @property
    def status(self) -> Count:
        """`Status` code of each target, (...)."""
        return _integers(self.rows[..., _STATUS])

    @property
    def iterations(self) -> Count:
        """Number of steps of the search, over all starts, (...); 0 for a closed form."""
        return _integers(self.rows[..., _ITERATIONS])

    @property
    def restarts(self) -> Count:
        """Number of starts after the first, (...)."""
        return _integers(self.rows[..., _RESTARTS])

    @property
    def branch(self) -> Count:
        """Index of the closed form's branch in `InverseKinematics.branches`, (...); -1 without a closed form."""
        return _integers(self.rows[..., _BRANCH])

    @property
    def infinite(self) -> Verdict:
        """Whether the solution is one of infinitely many at a singular pose, (...); false without a closed form."""
        return self.rows[..., _INFINITE] > 0.0

    def __getitem__(self, index: object) -> Solution:
        """Return the solutions of some of the targets."""
        whole = index if isinstance(index, tuple) else (index,)
        batch = whole if any(part is Ellipsis for part in whole) else (*whole, ...)
        rows = self.rows[(*batch, slice(None))]
        leading = len(whole) < self.rows.ndim - 1 and not any(part is Ellipsis for part in whole)
        return Solution(rows, self.several and leading)

    def filled_by(self, solve: Callable[[NDArray[np.bool_]], Solution]) -> Solution:
        """Return these solutions with failures replaced by others for the same targets; invalid ones stay."""
        status = self.rows[..., _STATUS]
        failed = np.asarray((status != Status.SOLVED) & (status != Status.INVALID_TARGET))
        if not failed.any():
            return self
        rows = self.rows.copy()
        rows[failed] = solve(failed).rows
        return Solution(rows)

    def best(self, select: Select, q_near: NDArray[np.float64]) -> Solution:
        """Return the best solution for each target, from those along the last axis of the batch.

        Successes are preferred to failures. Successes are compared by the Euclidean distance from ``q_near``
        (``"nearest"``) or by the distance from the joint limits (``"best"``), failures by the remaining error.
        """
        if select == "nearest":
            apart = self.q - q_near[..., None, :]
            largest = np.abs(apart).max(axis=(-2, -1), keepdims=True, initial=1.0)  # squares must not overflow
            penalty = np.linalg.norm(apart / largest, axis=-1)
        else:
            penalty = -self.limit_margin
        left = self.residual.distance + self.residual.angle
        rank = np.lexsort((np.where(self.success, penalty, left), np.logical_not(self.success)), axis=-1)[..., :1]
        rows: NDArray[np.float64] = np.take_along_axis(self.rows, rank[..., None], axis=-2).squeeze(-2)
        for spent in (_ITERATIONS, _RESTARTS):
            rows[..., spent] = self.rows[..., spent].sum(axis=-1)
        return Solution(rows)

    def distinct(self, turning: NDArray[np.bool_]) -> Solution:
        """Return the distinct solutions of each target, from those along the last axis of the batch.

        Solutions are distinct if any joint differs by more than 1e-3 rad (m). They are in the order found. The number
        of rows is that of the target with the most solutions, at least one; missing rows are NaN with the status
        `NO_FURTHER`. A target without a solution keeps the closest configuration.

        Parameters
        ----------
        turning
            Joints without limits for which a full revolution is the identity, (n,): compared modulo full revolutions.
        """
        starts, batch = self.rows.shape[-2], self.rows.shape[:-2]
        kept: list[list[NDArray[np.float64]]] = []
        for rows in self.rows.reshape(-1, starts, self.rows.shape[-1]):
            different: list[NDArray[np.float64]] = []
            for row in rows[rows[:, _STATUS] == Status.SOLVED]:
                apart = np.abs([other[:-_NUMBERS] - row[:-_NUMBERS] for other in different])
                if different:
                    apart = np.where(turning, np.abs(np.remainder(apart + np.pi, 2.0 * np.pi) - np.pi), apart)
                if not different or apart.max(axis=-1).min() > _DIFFERENT:
                    different.append(row)
            left = rows[:, _DISTANCE] + rows[:, _ANGLE]
            kept.append(different or [rows[int(np.argmin(np.where(np.isnan(left), np.inf, left)))]])
        most = max(map(len, kept), default=1)
        padding = np.full(self.rows.shape[-1], np.nan)
        padding[[_STATUS, _ITERATIONS, _RESTARTS, _BRANCH, _INFINITE]] = Status.NO_FURTHER, 0.0, 0.0, -1.0, 0.0
        filled = [rows + [padding] * (most - len(rows)) for rows in kept]
        return Solution(np.reshape(filled, (*batch, most, self.rows.shape[-1])), several=True)

    @overload
    def view(self, robot: Mechanics, *, path: str | PathLike[str], **options: Unpack[ViewOptions]) -> Path: ...
    @overload
    def view(self, robot: Mechanics, *, path: None = None, **options: Unpack[ViewOptions]) -> Shown: ...
    def view(
        self, robot: Mechanics, *, path: str | PathLike[str] | None = None, **options: Unpack[ViewOptions]
    ) -> Path | Shown:
        """Show the configurations on an interactive page, live or in the file ``path``.

        The first is solid, up to 16 others are translucent; see `chasles.view`.
        """
        return verbs.view(robot, self, path=path, **options)

    def __str__(self) -> str:
        if self.rows.ndim == 1:
            spent = f"after {self.iterations} iterations" if self.iterations else "by a closed form"
            q = f"[{', '.join(f'{round(float(value), _DECIMALS) + 0.0:.4g}' for value in self.q)}]"
            if self.success:
                return f"solved {spent}: q = {q}"
            return f"not solved: {Status(int(self.status)).sentence}: q = {q}"
        success, status = np.atleast_1d(self.success), np.atleast_1d(self.status)
        mean = np.mean(self.iterations) if success.size else 0.0
        if self.several:
            targets = success.reshape(-1, success.shape[-1]).any(axis=-1)
            counted = f"{success.sum()} solution{'s' if success.sum() != 1 else ''}"
            if targets.size > 1:
                counted += f" of {targets.sum()} of {targets.size} targets"
        else:
            counted = f"{success.sum()} of {success.size} targets solved"
        spent = f"after {mean:.1f} iterations on average" if np.any(self.iterations) else "by a closed form"
        lines = [f"{counted}, {spent}"]
        for kind in Status:
            count = int((status == kind).sum())
            if count and kind is not Status.SOLVED:
                lines.append(f"{count}: {kind.sentence}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return verbs.to_html(self)

    def __repr__(self) -> str:
        return f"<Solution: {str(self).splitlines()[0]}>"


def all_true(conditions: Any) -> bool:
    """Return whether all conditions hold; for a single one much faster than its method ``all``."""
    return bool(conditions.all() if conditions.ndim else conditions)


def _integers(values: NDArray[np.float64]) -> Count:
    """Numbers of an array of floats, or a single float, as integers."""
    return values.astype(np.int64) if values.ndim else int(values)
