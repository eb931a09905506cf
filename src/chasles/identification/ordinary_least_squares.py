"""Ordinary least squares for base parameters: many samples, fast.

Each joint's torque depends on the bodies that it carries alone, so its rows of the regressor are computed without
their structural zeros, and the normal matrix is a sum over the joints, over blocks of samples that stay in the cache.
Where the columns are too alike for normal equations in double precision, the same rows go through a QR decomposition
block by block (TSQR; J. Demmel et al., "Communication-optimal parallel and sequential QR and LU factorizations", SIAM
J. Scientific Computing 34(1), 2012).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.linalg.blas import dsyrk

from chasles.base.errors import IdentificationError
from chasles.engine.function import Function, function
from chasles.engine.validators import reals
from chasles.mechanics.base_parameters import BaseParameters
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot, require_plain_coordinates

BLOCK = 250
"""Samples at a time: their rows stay in the cache."""
STRUCTURE_SAMPLES = 50
"""Random states that show which columns of a joint's rows are zero everywhere."""
WELL_CONDITIONED = 1e-10
"""Reciprocal condition number of the scaled normal matrix from which it is trusted: six digits are left."""
SINGULAR = 1e-11
"""Relative size of a diagonal element of R below which the samples do not determine all parameters."""


class BaseParameterFit:
    """Ordinary least squares of a robot's base parameters, compiled once for many data sets.

    All torques have the same weight and states are not filtered. For logs of real robots use `chasles.identify`, which
    filters, weights and validates.

    Parameters
    ----------
    robot
        Robot whose base parameters are estimated.

    Attributes
    ----------
    base
        Base parameters, with the names and order of the values.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> q, qd, qdd = np.random.default_rng(0).normal(size=(3, 1000, 2))
    >>> fit = BaseParameterFit(arm)
    >>> bool(np.allclose(fit(q, qd, qdd, arm.inverse_dynamics(q, qd, qdd)), fit.base.values))
    True
    """

    def __init__(self, robot: Robot) -> None:
        require_plain_coordinates(robot, "BaseParameterFit")
        self.robot = robot
        self.base: BaseParameters = robot.inertial.base()
        chosen = tuple(self.base.independent.tolist())
        rng = np.random.default_rng(0)
        states = rng.normal(size=(3, STRUCTURE_SAMPLES, robot.n))
        present = np.abs(np.asarray(robot.regressors.torque(*states, columns=chosen))).max(axis=0) > 0.0
        self._columns = [np.flatnonzero(row) for row in present]
        self._rows = self._compiled(chosen)

    def _compiled(self, chosen: tuple[int, ...]) -> Function:
        n, columns, robot = self.robot.n, self._columns, self.robot

        @function(q=(n,), qd=(n,), qdd=(n,))
        def rows(q: Any, qd: Any, qdd: Any) -> tuple[Any, ...]:
            Y = robot.regressors.torque(q, qd, qdd, columns=chosen)
            return tuple(Y[joint, own] for joint, own in enumerate(columns) if len(own))

        return rows

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike) -> FloatArray:
        """Return the values of the base parameters, shape (p,).

        Parameters
        ----------
        q, qd, qdd, tau
            States and torques, shapes (k, n), rad, rad/s, rad/s² and N·m.

        Raises
        ------
        ArgumentError
            If shapes do not fit or a number is not finite.
        IdentificationError
            If the samples do not determine all base parameters.
        """
        first = reals(q, "q", ("k", self.robot.n))
        state = [first, reals(qd, "qd", first.shape), reals(qdd, "qdd", first.shape)]
        torque = reals(tau, "tau", state[0].shape)
        found = self._by_normal_equations(state, torque)
        return self._by_qr(state, torque) if found is None else found

    def _blocks(self, state: list[FloatArray], torque: FloatArray) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """Joint, its rows without structural zeros, and its torques, block by block."""
        moved = [joint for joint, own in enumerate(self._columns) if len(own)]
        for start in range(0, len(torque), BLOCK):
            part = slice(start, start + BLOCK)
            blocks = self._rows(*(block[part] for block in state))
            for joint, rows in zip(moved, blocks if len(moved) > 1 else (blocks,), strict=True):
                yield joint, np.asarray(rows), torque[part, joint]

    def _by_normal_equations(self, state: list[FloatArray], torque: FloatArray) -> FloatArray | None:
        """Solution from YᵀY, or None where it loses too many digits."""
        p = len(self.base)
        grams = [np.zeros((len(own), len(own)), order="F") for own in self._columns]
        rights = [np.zeros(len(own)) for own in self._columns]
        for joint, rows, tau in self._blocks(state, torque):
            grams[joint] = dsyrk(1.0, rows.T, beta=1.0, c=grams[joint], overwrite_c=1)
            rights[joint] += tau @ rows
        total, right = np.zeros((p, p)), np.zeros(p)
        for own, gram, each in zip(self._columns, grams, rights, strict=True):
            total[np.ix_(own, own)] += gram
            right[own] += each
        total = np.triu(total) + np.triu(total, 1).T
        sizes = np.sqrt(np.diag(total))
        if not (sizes > 0.0).all():
            return None
        scaled = total / np.outer(sizes, sizes)
        eigenvalues = np.linalg.eigvalsh(scaled)
        if eigenvalues[0] < WELL_CONDITIONED * eigenvalues[-1]:
            return None
        try:
            return np.asarray(cho_solve(cho_factor(scaled), right / sizes) / sizes)
        except LinAlgError:
            return None

    def _by_qr(self, state: list[FloatArray], torque: FloatArray) -> FloatArray:
        p = len(self.base)
        R: FloatArray = np.zeros((0, p + 1))
        for joint, rows, tau in self._blocks(state, torque):
            wide = np.zeros((len(rows), p + 1))
            wide[:, self._columns[joint]], wide[:, p] = rows, tau
            R = np.asarray(np.linalg.qr(np.concatenate([R, wide]), mode="r"))
        sizes = np.linalg.norm(R[:, :p], axis=0)
        scaled = R[:p, :p] / np.where(sizes > 0.0, sizes, 1.0)
        weakest = np.abs(np.diag(scaled)) if scaled.shape == (p, p) else np.zeros(1)
        if len(weakest) < p or weakest.min() < SINGULAR:
            raise IdentificationError(
                f"{len(torque)} samples do not determine all {p} base parameters: some have no effect on their "
                "torques, or only together; plan a motion with chasles.excite"
            )
        return np.asarray(solve_triangular(scaled, R[:p, p]) / sizes)
