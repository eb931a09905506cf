"""Configurations of a robot: the way from one to another, rates, neutral and random ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles import algorithms
from chasles.algorithms import loop_configurations
from chasles.engine.validators import real
from chasles.mechanics.closing import closing_search
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described

_REACHES = (0.6, 0.48, 0.38, 0.3)
"""Sizes of random displacements from home, tried one after the other, rad and shares of the robot's size."""


class Configurations(Described):
    """Operations on configurations q, shape (..., nq), and displacements v, shape (..., n); a part of `Mechanics`.

    For joints with one degree of freedom these are sums and differences. A spherical joint has a unit quaternion w, x,
    y, z in q and an angular velocity in v; a free joint has a quaternion and a position in q, and in v the angular
    velocity and the velocity of the body that it moves, in its axes.
    """

    @computes(algorithms.integrate, closed=loop_configurations.integrate, outputs=["q_next"])
    def integrate(self, q: ArrayLike, v: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.difference, closed=loop_configurations.difference, outputs=["v"])
    def difference(self, q0: ArrayLike, q1: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.configuration_rate, closed=loop_configurations.configuration_rate, outputs=["q_rate"])
    def configuration_rate(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.normalize, closed=loop_configurations.normalize, outputs=["q_unit"])
    def normalize(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @property
    def neutral(self) -> NDArray[np.float64]:
        """Configuration with all coordinates zero and identity orientation of spherical and free joints, shape (nq,).

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("planar2r").neutral
        array([0., 0.])
        """
        q = np.zeros(self.description.nq)
        for start in self._quaternions:
            q[start] = 1.0
        return q

    def random_configuration(
        self, seed: int | np.random.Generator, shape: tuple[int, ...] = (), *, reach: float = 1.0
    ) -> NDArray[np.float64]:
        """Draw configurations at random.

        Positions are uniform within their limits. Without limits, angles are uniform in [-π, π] and translations in
        [-reach, reach]; with one limit, within twice that distance of it. Orientations are uniform over all rotations.
        With loops, the closed configurations that searches from there find; these may be beyond the limits.

        Parameters
        ----------
        seed
            Seed of NumPy's default generator, or a generator.
        shape
            Shape of the batch.
        reach
            Bound of translations without limits, m.

        Returns
        -------
        ndarray
            Shape (*shape, nq).

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("panda")
        >>> q = arm.random_configuration(0, (1000,))
        >>> q.shape, bool(((q >= arm.lower_limits) & (q <= arm.upper_limits)).all())
        ((1000, 7), True)
        """
        reach = real(reach, "reach", at_least=0.0)
        generator = np.random.default_rng(seed)
        lower, upper = self.description.lower_limits, self.description.upper_limits
        beyond = np.where(self._turns, np.pi, reach)
        low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * beyond, -beyond))
        high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2.0 * beyond, beyond))
        q = generator.uniform(low, high, (*shape, self.description.nq))
        for start in self._quaternions:
            quaternion = generator.normal(size=(*shape, 4))
            q[..., start : start + 4] = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
        return q if not self.description.loops else self._closed(q, generator)

    def _closed(self, guesses: Array, generator: np.random.Generator) -> Array:
        """Closed configurations from guesses; where a guess leads to none, from home and a random displacement."""
        search = closing_search(self.description)
        closings = search.close(guesses.reshape(-1, self.description.nq))
        q, left = closings.q, np.flatnonzero(~closings.closed)
        scale = algorithms.column_scales(search.tree, algorithms.tree_size(search.tree))
        for reach in _REACHES:
            displacements = reach * generator.normal(size=(len(left), search.tree.n)) * scale
            again = search.close(search.displaced(self.home, displacements))
            q[left] = np.where(again.closed[:, None], again.q, self.home)
            left = left[~again.closed]
        return q.reshape(guesses.shape)

    @property
    def _quaternions(self) -> list[int]:
        """Indices at which the quaternions start in q."""
        description = self.description
        return [description.starts[joint.name][0] for joint in description.coordinates if joint.has_quaternion]

    @property
    def _turns(self) -> NDArray[np.bool_]:
        """Whether each coordinate is an angle; coordinates of free joints are not."""
        turns: list[bool] = []
        for joint in self.description.coordinates:
            if joint.has_quaternion:
                turns += [False] * len(joint.coordinate_names)
            else:
                by_velocity = sorted(joint.freedoms, key=lambda freedom: freedom.velocity)
                turns += [freedom.angular == 1.0 for freedom in by_velocity]
        return np.array(turns, dtype=bool)
