"""Coordinates of configurations: as many numbers as there are degrees of freedom, near a configuration at each node.

Where a robot has quaternions or loops, a configuration q (nq,) has more elements than the robot has degrees of freedom.
Near a centre c it is given by n coordinates p: those of joints with one degree of freedom are their positions, and
those of spherical and free joints the displacement from the centre,

    q = c ⊞ (p - p_c),    p = p_c + (q ⊟ c),

by the exponential map. Motions are then vectors, and steps and costs have ordinary derivatives. The coordinates of a
rotation are those of less than half a turn from the centre. Source: Absil, Mahony and Sepulchre, Optimization
Algorithms on Matrix Manifolds (2008), section 4.1, for retractions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot
from chasles.trajectories.joint.tangent import coordinates_of_velocities

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Coordinates:
    """Coordinates p (..., n) of the configurations q (..., nq) of a robot, near centres c (..., nq).

    A robot without quaternions and loops has q = p; then there are no centres.

    Examples
    --------
    >>> import chasles as ch
    >>> coordinates = Coordinates(ch.load("planar2r").with_free_base())
    >>> centre = coordinates.robot.home
    >>> q = coordinates.configuration(np.array([0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.5, 0.6]), centre)
    >>> coordinates.of(q, centre).round(9)
    array([0. , 0. , 0.2, 0. , 0. , 0. , 0.5, 0.6])
    """

    robot: Robot

    @property
    def is_plain(self) -> bool:
        """Whether configurations are their own coordinates."""
        return self.robot.nq == self.robot.n

    @property
    def count(self) -> int:
        """Number of elements of the centres of a step, its own and the next one."""
        return 0 if self.is_plain else 2 * self.robot.nq

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Place in q that goes with each coordinate, (n,)."""
        return np.arange(self.robot.n) if self.is_plain else coordinates_of_velocities(self.robot)

    @cached_property
    def is_position(self) -> NDArray[np.bool_]:
        """Whether each coordinate is the position of a joint with one degree of freedom, (n,)."""
        description = self.robot.description
        quaternions = np.zeros(description.nq, dtype=bool)
        for joint in description.coordinates:
            if joint.has_quaternion:
                first = description.starts[joint.name][0]
                quaternions[first : first + len(joint.velocity_names) + 1] = True
        return ~quaternions[self.places]

    def of_centre(self, centre: Array) -> Array:
        """Coordinates of the centre itself; of a robot without quaternions and loops those of any configuration."""
        return np.asarray(centre[..., self.places] * self.is_position)

    def configuration(self, p: Array, *centre: Array) -> Array:
        """Return q."""
        if self.is_plain:
            return p
        q = np.asarray(self.robot.integrate(centre[0], p - self.of_centre(centre[0])))
        q[..., self.places[self.is_position]] = p[..., self.is_position]  # so that derivatives to these are known
        return q

    def of(self, q: Array, *centre: Array) -> Array:
        """Return p."""
        if self.is_plain:
            return q
        return np.asarray(self.robot.difference(centre[0], q)) + self.of_centre(centre[0])

    def moved(self, p: Array, displacement: Array, *centres: Array) -> Array:
        """Coordinates near a second centre after a displacement from p near a first one."""
        plain = p + displacement
        if self.is_position.all():
            return plain
        first, second = centres
        q = np.asarray(self.robot.integrate(self.configuration(p, first), displacement))
        return np.where(self.is_position, plain, self.of(q, second))

    def displacement(self, q: Array, p: Array, *centre: Array) -> Array:
        """Displacement (n,) from q to the configuration of p."""
        if self.is_position.all():
            return p - self.of_centre(q)
        return np.asarray(self.robot.difference(q, self.configuration(p, *centre)))

    def centres(self, instant: Array) -> tuple[Array, ...]:
        """Centres at a node and at the next one, from the data of the node; none where q = p."""
        nq = self.robot.nq
        return () if self.is_plain else (instant[..., -2 * nq : -nq], instant[..., -nq:])

    def of_nodes(self, q: Floats) -> Floats:
        """Centres of the steps (..., N + 1, count) from configurations at the nodes (..., N + 1, nq)."""
        following = np.concatenate([q[..., 1:, :], q[..., -1:, :]], axis=-2)
        return np.concatenate([q, following], axis=-1)[..., : self.count]
