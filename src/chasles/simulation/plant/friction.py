"""Joint friction beyond the robot's own: the Stribeck curve, and friction that depends on the joint position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine import absolute, exp, sign, sin, tanh
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, Relation, reals
from chasles.robot.robot import Robot
from chasles.simulation.plant.effect import Effect, joint_count, where_positive


class Friction(Effect):
    """Joint friction as a static function of velocity and position.

    At the velocity v, the torque

        F(q, v) = (Fc + (Fs - Fc) exp(-|v / vs|^δ)) · p(q) · direction(v) + Fv v

    opposes the motion. It falls from breakaway friction Fs at rest to Coulomb friction Fc as a lubricant film builds up
    (the Stribeck effect), and grows with viscous friction above. Gear teeth, rotor poles and bent shafts make the dry
    part depend on the position:

        p(q) = 1 + Σₖ aₖ sin(hₖ q + φₖ).

    The direction is sign(v), or tanh(v / v₀) with a smoothing velocity v₀ > 0. This friction never creates energy:
    F v >= 0. Under a load below breakaway, a joint with a smoothing velocity creeps at up to about v₀; choose v₀ well
    below vs.

    This friction adds to the viscous and Coulomb friction of the robot's description.

    Parameters
    ----------
    robot
        Robot, or its number of joints n.
    viscous
        Viscous friction Fv, N·m·s/rad (prismatic joints N·s/m). Each parameter is a scalar for all joints, or one value
        per joint, (n,).
    coulomb
        Coulomb friction Fc, N·m.
    breakaway
        Breakaway friction Fs, N·m, at least Fc; default Fc, no Stribeck effect.
    stribeck_velocity
        Stribeck velocity vs, rad/s, at which the excess Fs - Fc has fallen to 1/e.
    stribeck_exponent
        Exponent δ: 2 for a Gaussian curve, 1 for Tustin's exponential; Armstrong found values from 0.5 to 1, and large
        values for good boundary lubricants.
    smoothing_velocity
        Smoothing velocity v₀, rad/s. Default 0: the direction jumps at rest, where integrators lose their order.
    position_amplitude
        Amplitudes aₖ, relative to the dry friction: one per joint, or shape (n, k) for k harmonics. The absolute values
        of a joint sum to at most 1.
    position_harmonic
        Harmonics hₖ, periods per revolution of the joint (rad/m for prismatic joints), a scalar or in the amplitude's
        shape: 1 is once per joint revolution, the gear ratio once per motor revolution. Default 1, 2, …, k.
    position_phase
        Phases φₖ, rad.

    Raises
    ------
    ArgumentError
        A value is negative, or a shape differs.

    Notes
    -----
    Armstrong-Hélouvry, Dupont and Canudas de Wit, "A survey of models, analysis tools and compensation methods for the
    control of machines with friction", Automatica 30(7), 1994.

    Examples
    --------
    >>> friction = Friction(2, coulomb=2.0, breakaway=3.0, viscous=0.5, stribeck_velocity=0.1)
    >>> friction.torque(np.zeros(2), np.array([1e-6, -4.0])).round(4)
    array([ 3., -4.])
    """

    bounds: Mapping[str, Bound] = {
        "viscous": NOT_NEGATIVE,
        "coulomb": NOT_NEGATIVE,
        "breakaway": NOT_NEGATIVE,
        "stribeck_velocity": POSITIVE,
        "stribeck_exponent": POSITIVE,
        "smoothing_velocity": NOT_NEGATIVE,
    }

    def __init__(
        self,
        robot: Robot | int,
        *,
        viscous: ArrayLike = 0.0,
        coulomb: ArrayLike = 0.0,
        breakaway: ArrayLike | None = None,
        stribeck_velocity: ArrayLike = 0.1,
        stribeck_exponent: ArrayLike = 2.0,
        smoothing_velocity: ArrayLike = 0.0,
        position_amplitude: ArrayLike = 0.0,
        position_harmonic: ArrayLike | None = None,
        position_phase: ArrayLike = 0.0,
    ) -> None:
        self.n = n = joint_count(robot)
        count = np.shape(position_amplitude)[1] if np.ndim(position_amplitude) == 2 else 1
        harmonics = np.arange(1.0, count + 1.0) if position_harmonic is None else position_harmonic
        parameters = self.for_joints(
            n,
            viscous=viscous,
            coulomb=coulomb,
            breakaway=coulomb if breakaway is None else breakaway,
            stribeck_velocity=stribeck_velocity,
            stribeck_exponent=stribeck_exponent,
            smoothing_velocity=smoothing_velocity,
        )
        for name, value in (
            ("position_amplitude", position_amplitude),
            ("position_harmonic", harmonics),
            ("position_phase", position_phase),
        ):
            column = reals(value, name)
            if column.shape == (n,) and np.ndim(position_amplitude) < 2:
                column = column[:, None]
            parameters[name] = reals(column, name, (n, count), broadcast=True)
        self._breakaway_follows = breakaway is None
        super().__init__("friction", parameters)

    def replaced(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters with `values` replaced; breakaway friction that was not given equals `coulomb`."""
        chosen = super().replaced(values)
        if self._breakaway_follows and "breakaway" not in values:
            chosen["breakaway"] = chosen["coulomb"]
        return chosen

    def relations(self, parameters: Mapping[str, Any]) -> list[Relation]:
        """Require breakaway friction of at least Coulomb friction, and friction that never drives a joint."""
        values = parameters
        return [
            Relation((values["breakaway"] >= values["coulomb"]).all(axis=-1), "breakaway must be at least coulomb"),
            Relation(
                (absolute(values["position_amplitude"]).sum(axis=-1) <= 1.0).all(axis=-1),
                "position_amplitude: the absolute values of a joint must sum to at most 1; with more, friction would "
                "drive the joint",
            ),
        ]

    def torque(self, q: Array, qd: Array, parameters: Mapping[str, Any] | None = None) -> Any:
        """Return the friction torques.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad and rad/s.
        parameters
            Values by name; default `parameters` of this object.

        Returns
        -------
        ndarray
            Shape (..., n), N·m, in the direction of the velocity; it belongs on the left-hand side of the equation of
            motion.

        Examples
        --------
        Viscous friction that doubles the Coulomb friction at 4 rad/s:

        >>> Friction(1, coulomb=2.0, viscous=0.5).torque(np.zeros(1), np.array([4.0]))
        array([4.])
        """
        values = self.parameters if parameters is None else parameters
        excess = values["breakaway"] - values["coulomb"]
        speed = absolute(qd / values["stribeck_velocity"])
        dry = values["coulomb"] + excess * exp(-(speed ** values["stribeck_exponent"]))
        return (
            dry * self._position_factor(q, values) * _direction(qd, values["smoothing_velocity"])
            + values["viscous"] * qd
        )

    @staticmethod
    def _position_factor(q: Array, values: Mapping[str, Any]) -> Any:
        """Return the dry friction at a position, relative to its mean."""
        angle = values["position_harmonic"] * np.asarray(q)[..., None] + values["position_phase"]
        return 1.0 + (values["position_amplitude"] * sin(angle)).sum(axis=-1)


def _direction(qd: Array, smoothing_velocity: Array) -> Array:
    divisor = where_positive(smoothing_velocity, smoothing_velocity, 1.0)
    return where_positive(smoothing_velocity, tanh(qd / divisor), sign(qd))
