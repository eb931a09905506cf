"""Configurations of a robot: the way from one to another, rates, neutral and random ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles import algorithms
from chasles.errors import ArgumentError
from chasles.mechanics.computation import Array, Out, Vary, computes
from chasles.mechanics.described import Described


class Configurations(Described):
    """What can be done with configurations q, shape (..., nq), and displacements v, shape (..., nv); a part of `Robot`.

    For joints with one freedom these are sums and differences. A spherical joint has a unit quaternion w, x, y, z in q
    and an angular velocity in v; a free joint has a quaternion and a position in q, and in v the angular velocity and
    the velocity of the body that it moves, in its axes.
    """

    @computes(algorithms.integrate, outputs=["q_next"])
    def integrate(self, q: ArrayLike, v: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.difference, outputs=["v"])
    def difference(self, q0: ArrayLike, q1: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.configuration_rate, outputs=["q_rate"])
    def configuration_rate(self, q: ArrayLike, qd: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.normalize, outputs=["q_unit"])
    def normalize(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @property
    def neutral(self) -> NDArray[np.float64]:
        """Configuration with all coordinates zero and no turn of spherical and free joints, shape (nq,).

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
        """Configurations drawn at random.

        Uniform within the limits; turns without limits uniform in [-pi, pi], quaternions uniform over all orientations,
        slides without limits uniform in [-reach, reach] (with one limit, within twice the reach of it).

        Parameters
        ----------
        seed
            Of NumPy's default generator, or a generator.
        shape
            Of the batch.
        reach
            For positions without limits, m.

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
        if not (np.isfinite(reach) and reach >= 0.0):
            raise ArgumentError(f"the reach must be a length in m, not {reach}")
        generator = np.random.default_rng(seed)
        lower, upper = self.description.lower_limits, self.description.upper_limits
        beyond = np.where(self._turns, np.pi, reach)
        low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0 * beyond, -beyond))
        high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2.0 * beyond, beyond))
        q = generator.uniform(low, high, (*shape, self.description.nq))
        for start in self._quaternions:
            quaternion = generator.normal(size=(*shape, 4))
            q[..., start : start + 4] = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
        return q

    @property
    def _quaternions(self) -> list[int]:
        """Where the quaternions start in q."""
        description = self.description
        return [description.starts[joint.name][0] for joint in description.coordinates if joint.has_quaternion]

    @property
    def _turns(self) -> NDArray[np.bool_]:
        """Which coordinates are angles; of free joints none counts."""
        turns: list[bool] = []
        for joint in self.description.coordinates:
            if joint.has_quaternion:
                turns += [False] * len(joint.coordinate_names)
            else:
                by_velocity = sorted(joint.freedoms, key=lambda freedom: freedom.velocity)
                turns += [freedom.angular == 1.0 for freedom in by_velocity]
        return np.array(turns, dtype=bool)
