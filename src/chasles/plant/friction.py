"""Joint friction beyond the robot's own: Stribeck's curve, and friction that depends on the joint's position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine import absolute, exp, sign, sin, tanh
from chasles.errors import ArgumentError
from chasles.plant.effect import Effect, checked, joint_count, where_positive


class Friction(Effect):
    """Friction of the joints, a static function of speed and position.

    At a speed v the torque

        F(q, v) = (Fc + (Fs - Fc) exp(-|v / vs|^δ)) · p(q) · direction(v) + Fv v

    opposes the motion: from breakaway Fs at rest down to Coulomb's Fc as a film of lubricant builds up (Stribeck's
    effect), and viscous above. Its dry part may vary along the joint's way, as gears' teeth, rotor poles and bent
    shafts make it, with

        p(q) = 1 + Σₖ aₖ sin(hₖ q + φₖ).

    The direction is sign(v), or tanh(v / v₀) with a smoothing velocity v₀ > 0. Friction of this kind never creates
    energy: F v >= 0. A static function of speed lets a joint creep under a load below breakaway, with at most v₀ or so;
    v₀ should be well below vs.

    It adds to the viscous and Coulomb friction of the robot's own description.

    Parameters
    ----------
    robot
        A robot, or the number n of its joints.
    viscous
        Fv, N m s/rad. All parameters are one number, or one for each joint; for sliding joints read m for rad, N for
        N m.
    coulomb
        Fc, N m.
    breakaway
        Fs, N m, at least Fc; default Fc, without a Stribeck effect.
    stribeck_velocity
        vs, rad/s: the speed at which the excess has fallen to 1/e.
    stribeck_exponent
        δ: 2 for a Gaussian curve, 1 for Tustin's exponential; Armstrong found values from 0.5 to 1, and large ones for
        good boundary lubricants.
    smoothing_velocity
        v₀, rad/s; with 0 the direction jumps at rest, which costs integrators their order there.
    position_amplitude
        aₖ, as shares of the dry friction: one for each joint, or of shape (n, k) for k harmonics; their sizes sum up to
        1 at most.
    position_harmonic
        hₖ, periods in a turn of the joint (rad/m for a sliding joint), of the amplitude's shape or one for all; 1 is
        once a turn, the gear ratio once a turn of the motor. Default 1, 2, …, k.
    position_phase
        φₖ, rad.

    Raises
    ------
    ArgumentError
        A number is negative or a shape does not fit.

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

    def __init__(
        self,
        robot: Any,
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
        parameters = {
            "viscous": checked(viscous, (n,), "viscous", least=0.0),
            "coulomb": checked(coulomb, (n,), "coulomb", least=0.0),
            "breakaway": checked(coulomb if breakaway is None else breakaway, (n,), "breakaway", least=0.0),
            "stribeck_velocity": checked(stribeck_velocity, (n,), "stribeck_velocity", positive=True),
            "stribeck_exponent": checked(stribeck_exponent, (n,), "stribeck_exponent", positive=True),
            "smoothing_velocity": checked(smoothing_velocity, (n,), "smoothing_velocity", least=0.0),
        }
        for name, value in (
            ("position_amplitude", position_amplitude),
            ("position_harmonic", harmonics),
            ("position_phase", position_phase),
        ):
            column = np.asarray(value, dtype=float)
            each = column[:, None] if column.shape == (n,) and np.ndim(position_amplitude) < 2 else column
            parameters[name] = checked(each, (n, count), name)
        if (parameters["breakaway"] < parameters["coulomb"]).any():
            raise ArgumentError("the breakaway friction must be at least the Coulomb friction")
        if (absolute(parameters["position_amplitude"]).sum(axis=-1) > 1.0).any():
            raise ArgumentError(
                "the sizes of position_amplitude must sum up to 1 at most for each joint, else friction would push"
            )
        super().__init__("friction", parameters)

    def torque(self, q: Any, qd: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        """Torques that oppose the motion.

        Parameters
        ----------
        q, qd
            Joint positions and velocities, shape (..., n), rad and rad/s.
        parameters
            Numbers of the formula by name; default the object's own.

        Returns
        -------
        ndarray
            Shape (..., n), N m, in the direction of the velocity: it stands on the left of the equation of motion.

        Examples
        --------
        Viscous friction that doubles the Coulomb friction at 4 rad/s:

        >>> Friction(1, coulomb=2.0, viscous=0.5).torque(np.zeros(1), np.array([4.0]))
        array([4.])
        """
        own = self.parameters if parameters is None else parameters
        excess = own["breakaway"] - own["coulomb"]
        speed = absolute(qd / own["stribeck_velocity"])
        dry = own["coulomb"] + excess * exp(-(speed ** own["stribeck_exponent"]))
        return dry * self._position_factor(q, own) * _direction(qd, own["smoothing_velocity"]) + own["viscous"] * qd

    @staticmethod
    def _position_factor(q: Any, own: Mapping[str, Any]) -> Any:
        """The dry friction at a position relative to its mean."""
        angle = own["position_harmonic"] * np.asarray(q)[..., None] + own["position_phase"]
        return 1.0 + (own["position_amplitude"] * sin(angle)).sum(axis=-1)


def _direction(qd: Any, smoothing_velocity: Any) -> Any:
    divisor = where_positive(smoothing_velocity, smoothing_velocity, 1.0)
    return where_positive(smoothing_velocity, tanh(qd / divisor), sign(qd))
