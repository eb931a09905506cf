"""Decentralised model-reference adaptive control: every joint learns its own gains, without a model of the robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.control.adaptive.adaptation import ContinuousLaw
from chasles.control.adaptive.tuning import model_reference_gains
from chasles.control.floating_base import deviation, has_motors, tracking_error
from chasles.control.knowledge import Knowledge
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, real, reals
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

TERMS = ("bias", "position", "velocity", "reference_position", "reference_velocity", "reference_acceleration")
"""Signals whose sum, each times its own gain, is a joint's torque: 1, e, e', q_ref, qd_ref and qdd_ref."""


class ModelReferenceAdaptive(ContinuousLaw):
    """tau = f + kp e + kd e' + c q_ref + b qd_ref + a qdd_ref in each joint, with gains that follow K' = alpha r phi.

    The error e = q_ref - q is to follow the reference model e'' + 2 damping_ratio frequency e' + frequency² e = 0. The
    signals phi are 1, e, e', q_ref, qd_ref and qdd_ref; r = p12 e + p22 e' is the weighted error, with P of the
    Lyapunov equation Aᵀ P + P A = -Q of the reference model. With ``proportional`` a term beta r phi is added to each
    gain K.

    In continuous time, for all alpha positive and decoupled joints of constant inertia J, J q'' + b q' + c q + f = tau,
    the function V = J (e, e') P (e, e')ᵀ + sum of (K - ideal)² / alpha never grows, and the error goes to zero. In an
    arm, coupling disturbs each joint; ``leakage``, K' = alpha r phi - leakage (K - initial), then keeps the gains
    bounded as long as the errors are.

    Source: Seraji, "Decentralized adaptive control of manipulators: theory, simulation, and experimentation", IEEE
    Trans. Robotics and Automation 5(2), 1989; leakage: Ioannou and Kokotovic, "Instability analysis and improvement of
    robustness of adaptive control", Automatica 20(5), 1984. It requires no model, only the number of joints; `tuned`
    takes its first gains and adaptation gains from a model.

    Parameters
    ----------
    robot
        Only the number of its joints is used.
    frequency
        Natural frequency of the reference model, rad/s, a scalar or one value per joint.
    damping_ratio
        Damping ratio of the reference model.
    adaptation
        Adaptation gain alpha, not negative, a scalar or an array that broadcasts to (6, n): one row for each of bias,
        position, velocity, reference_position, reference_velocity, reference_acceleration.
    proportional
        Proportional adaptation beta, shaped as ``adaptation``, in the units of alpha times s.
    weights
        Diagonal of Q in the Lyapunov equation: weights of e² and e'², 1/s³ and 1/s.
    initial
        Initial gains, shaped as ``adaptation``. For a joint of inertia J, J frequency² for position, 2 damping_ratio
        frequency J for velocity, and J for reference_acceleration follow the reference model exactly.
    leakage
        1/s, not negative.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.control.ModelReferenceAdaptive(ch.load("planar2r"), frequency=10.0, adaptation=100.0)
    >>> controller.memory_names[2:4]
    ('position[joint1]', 'position[joint2]')
    """

    name = "model-reference adaptive"
    kind = "model-reference-adaptive"
    knows = Knowledge("nothing", learns="six gains a joint", first_values="fit of the model's torques along the motion")
    is_linear = False
    design_damping = 0.65
    designs_joints_alone = True
    bounds: Mapping[str, Bound] = {
        **RobotController.bounds,
        "proportional": NOT_NEGATIVE,
        "leakage": NOT_NEGATIVE,
        "error_weights": POSITIVE,
    }
    adaptation: Array
    proportional: Array
    initial: Array
    error_weights: Array
    leakage: Array

    def __init__(
        self,
        robot: Robot,
        *,
        frequency: ArrayLike,
        damping_ratio: float = 1.0,
        adaptation: ArrayLike,
        proportional: ArrayLike = 0.0,
        weights: tuple[float, float] = (100.0, 1.0),
        initial: ArrayLike = 0.0,
        leakage: float = 0.0,
    ) -> None:
        n, omega = robot.n, reals(frequency, "frequency", (robot.n,), broadcast=True, above=0.0)
        ratio = real(damping_ratio, "damping_ratio", above=0.0)
        weight = reals(weights, "weights", (2,), above=0.0)
        of_position = weight[0] / (2.0 * omega**2)
        of_velocity = (weight[1] + 2.0 * of_position) / (4.0 * ratio * omega)
        rows = {"adaptation": adaptation, "proportional": proportional, "initial": initial}
        own = {name: reals(value, name, (len(TERMS), n), broadcast=True) for name, value in rows.items()}
        own["error_weights"] = np.array([of_position, of_velocity])
        own["leakage"] = np.array(real(leakage, "leakage"))
        for gain in ("adaptation", "proportional", "initial"):
            own[gain] = own[gain] * has_motors(robot)
        self._zero = Motion(robot.neutral, np.zeros(n), np.zeros(n))
        super().__init__(robot, own, {"gains": own["initial"]})

    @classmethod
    def gains(cls, design: PoleDesign, *, learning: float = 1.0) -> dict[str, Any]:
        """Return initial gains and speed of adaptation by `model_reference_gains`; the law itself uses no model."""
        return model_reference_gains(design, learning)

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the gains, each of the six for every joint."""
        return tuple(f"{term}[{joint}]" for term in TERMS for joint in self.robot.velocity_names)

    def flow(self, now: Now) -> tuple[Any, dict[str, Any]]:
        """Return torques, and rates of change of the gains."""
        K = now.memory.gains
        error, rate, _ = tracking_error(self.robot, now.q, now.qd, now.reference)
        wanted = deviation(self.robot, now.reference.q, self._zero)
        signals = np.array([np.ones(self.robot.n), error, rate, wanted, now.reference.qd, now.reference.qdd])
        of_position, of_velocity = self.error_weights
        driven = (of_position * error + of_velocity * rate) * signals
        tau = ((K + self.proportional * driven) * signals).sum(axis=0)
        change = self.adaptation * driven - self.leakage * (K - self.initial)
        return tau, {"gains": change}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r})"
