"""Inertial parameters of a model that a controller estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import UnknownNameError
from chasles.control.now import Now
from chasles.control.sliding_variable import sliding
from chasles.engine.program.scalar import Array
from chasles.engine.validators import choice
from chasles.geometry import inertial_parameters_from_pseudo_inertia, pseudo_inertia
from chasles.mechanics.carried_bodies import carried_columns
from chasles.model import build_tree
from chasles.model.inertial_parameters import OF_BODY
from chasles.model.joint import POSITION_TORQUES
from chasles.robot.robot import Robot

CHOICES = ("base", "all", "payload")


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Parameters theta (m,) with which torques are ``known + Y theta``.

    Attributes
    ----------
    robot
        The model, which gives all other parameters.
    names
        Names of the parameters.
    values
        The model's values, shape (m,).
    columns
        Which of the robot's inertial parameters they change, shape (c,).
    to_columns
        How: shape (c, m); None if each is one of them.
    complete
        Whether torques depend on nothing else, so that the known part is zero. Friction of the load and torques of the
        position are known: those of the model.
    """

    robot: Robot
    names: tuple[str, ...]
    values: NDArray[np.float64]
    columns: NDArray[np.intp]
    to_columns: NDArray[np.float64] | None
    complete: bool

    @classmethod
    def of(cls, robot: Robot, which: str | Sequence[str]) -> Unknowns:
        """Choose parameters of a robot.

        Parameters
        ----------
        robot
            The model.
        which
            ``"base"``: the base parameters, which motions can identify. ``"all"``: all inertial and friction parameters
            that have an effect. ``"payload"``: mass, first moments and inertia of a body at the tool, about the tool's
            origin and in its axes. Or names of inertial parameters (`Robot.inertial.names`).

        Raises
        ------
        UnknownNameError
            The robot has no such parameter.

        Examples
        --------
        >>> import chasles as ch
        >>> Unknowns.of(ch.load("planar2r"), "payload").names[:4]
        ('payload.m', 'payload.mx', 'payload.my', 'payload.mz')
        """
        return _chosen(robot, which if isinstance(which, str) else tuple(which))

    @classmethod
    def _of(cls, robot: Robot, which: str | tuple[str, ...]) -> Self:
        """Choose parameters of a robot anew; see `of`."""
        if not isinstance(which, str):
            return cls._named(robot, which)
        if which == "payload":
            return cls._payload(robot)
        choice(which, "choice of unknown parameters", CHOICES)
        base, complete = robot.inertial.base(), not _has_further_torques(robot)
        if which == "base":
            return cls(robot, base.names, base.values, base.independent, None, complete)
        effective = np.flatnonzero(np.any(base.to_base != 0.0, axis=0))
        names = tuple(base.parameter_names[k] for k in effective)
        return cls(robot, names, robot.inertial.values[effective], effective, None, complete)

    @classmethod
    def _named(cls, robot: Robot, names: tuple[str, ...]) -> Self:
        inertial_names = robot.inertial.names
        for name in names:
            choice(name, "inertial parameter", inertial_names)
        columns = np.array([inertial_names.index(name) for name in names], dtype=np.intp)
        return cls(robot, names, robot.inertial.values[columns], columns, None, complete=False)

    @classmethod
    def _payload(cls, robot: Robot) -> Self:
        if build_tree(robot.description).frames[robot.description.tool].body < 0:
            raise UnknownNameError("choice of unknown parameters", "payload", ("base", "all"))
        columns, to_link = carried_columns(robot.description, robot.description.tool)
        payload = robot.description.payload
        moments = pseudo_inertia(payload.mass, payload.center_of_mass, payload.matrix)
        return cls(
            robot,
            tuple(f"payload.{name}" for name in OF_BODY),
            np.asarray(inertial_parameters_from_pseudo_inertia(moments), dtype=np.float64),
            columns,
            to_link,
            complete=False,
        )

    def __len__(self) -> int:
        return len(self.names)

    def columns_of(self, regressor: Array) -> Array:
        """The columns Y (n, m) that belong to theta, from a regressor (n, parameters) of the robot."""
        chosen = regressor[:, self.columns]
        return chosen if self.to_columns is None else chosen @ self.to_columns

    def torque(
        self, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array, estimate: Array
    ) -> tuple[Any, Any]:
        """Torques of `Regressors.passivity_torque` if theta is the estimate (m,), and the Y (n, m) of theta in them."""
        motion = (q, qd, qd_reference, qdd_reference)
        Y = self.columns_of(self.robot.regressors.passivity(*motion))
        if self.complete:
            return Y @ estimate, Y
        return self.robot.regressors.passivity_torque(*motion) + Y @ (estimate - self.values), Y

    def tracking(self, now: Now, estimate: Array, rate: Array, damping: Array) -> tuple[Any, Any]:
        """Torques of Slotine and Li's law for an estimate (m,), and the direction Yᵀ s that it gives to adaptation.

        The rate is that of `sliding`, the damping that of the sliding variable s.
        """
        s, qd_reference, qdd_reference = sliding(self.robot, now.q, now.qd, now.reference, rate)
        tau, Y = self.torque(now.q, now.qd, qd_reference, qdd_reference, estimate)
        return tau - damping * s, s @ Y


def _has_further_torques(robot: Robot) -> bool:
    """Whether a model has friction of the load or torques of the position, of which no inertial parameter tells."""
    return any(
        getattr(joint, name) for joint in robot.description.joints for name in ("load_friction", *POSITION_TORQUES)
    )


@lru_cache(maxsize=16)
def _chosen(robot: Robot, which: str | tuple[str, ...]) -> Unknowns:
    """Choose parameters once for the laws of a search, which are made anew for each frequency."""
    return Unknowns._of(robot, which)
