"""Output-error refinement: parameters of a plant from how its closed loop moved, delay and filters included.

The regressor needs accelerations and sees rigid joints only. Here the whole loop (reference, sampled controller, delay,
plant) is simulated instead and the parameters are changed until positions and torques agree with the log (R. Isermann &
M. Münchhof, Identification of Dynamic Systems, Springer 2011, chapter 9; A. Janot, P.-O. Vandanjon & M. Gautier, "A
generic instrumental variable approach for industrial robot identification", IEEE Trans. Control Systems Technology
22(1), 2014, which compares both). Sensitivities are exact derivatives of the simulated loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError, IdentificationError
from chasles.base.findings import Finding, Rule
from chasles.control import Controller
from chasles.engine.validators import real, reals, truth
from chasles.identification.filtering import filtered_signals
from chasles.identification.identification import Parameter
from chasles.identification.logs.acceptance import accepted_log
from chasles.identification.measured_torques import driven_by_log
from chasles.identification.output_error import (
    FreeParameters,
    OutputErrorFit,
    ReplayedLoop,
    fitted,
    root_mean_square,
    variation,
)
from chasles.identification.regression import WeightedFit, coloured_covariance
from chasles.integrators import Integrator, Steps, Within
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot
from chasles.simulation.integrators import AUTOMATIC
from chasles.simulation.plant import Plant
from chasles.simulation.plant.plant import as_plant

OUTPUTS = ("q", "tau")
STIFF = Steps("rodas5p")
"""Friction near rest acts faster than a period, so explicit steps would have to be much shorter."""
UNDETERMINED = 0.5
"""Share of its prior deviation that the error of a parameter stays below if the log determines it."""
EXACT = 1e-9
"""Share of an output's variation below which residuals are rounding, as those of a simulated log without noise."""
MISSED = Rule(
    "outputs-missed", 0.5, "a quarter of an output's squares",
    "not explained: {names}; something acts there that the plant does not have", "caution",
)  # fmt: skip
NOT_DETERMINED = Rule(
    "undetermined-parameters", 0.0, "the log leaves more than half of the deviation before it",
    "not determined by this log: {names}; they stay near their first values", "caution",
)  # fmt: skip
END_OF_DELAYS = Rule(
    "end-of-delays", np.nan, "a minimum at the end of a range may lie beyond",
    "the best delay, {value:.3g} ms, is the end of those tried", "caution",
)  # fmt: skip
FIRST_VALUES_KEPT = Rule(
    "first-values-kept", 1.0, "refined values are worth having if they predict a motion that they have not seen",
    "the refined values miss the positions of the unseen part by {value:.2f} times as much as the first values, so "
    "these are kept", "caution",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Refinement:
    """Plant parameters for which the simulated motion agrees with a log; result of `refine`.

    Attributes
    ----------
    values
        Values by name for ``vary=`` of `chasles.simulate`, whole arrays.
    parameters
        Estimates one by one (``"elastic_joints.stiffness[0]"``), with standard errors and initial values.
    delay
        Controller delay with the best fit, s.
    costs
        Weighted sum of squares by delay tried.
    before, training, unseen
        RMS residuals of the outputs, shape (outputs,): with the initial values, on the fitted part, and on the rest of
        the log.
    names
        Names of the outputs.
    findings
        Notes and cautions, as `chasles.base.findings.Finding`.
    """

    values: Mapping[str, FloatArray]
    parameters: tuple[Parameter, ...]
    delay: float
    costs: Mapping[float, float]
    before: FloatArray
    training: FloatArray
    unseen: FloatArray
    names: tuple[str, ...]
    findings: tuple[Finding, ...]

    def summary(self) -> str:
        """Return a text with parameters and 95 % intervals, residuals, delay and findings."""
        lines = [f"{'parameter':<34}{'before':>12}{'now':>12}{'± 95 %':>12}"]
        for p in self.parameters:
            note = "" if p.determined else "  not determined"
            lines.append(f"{p.name:<34}{p.prior:>12.5g}{p.value:>12.5g}{p.half_width:>12.2g}{note}")
        lines += ["", f"{'RMS residual':<34}{'before':>12}{'fitted':>12}{'unseen':>12}"]
        for name, *residuals in zip(self.names, self.before, self.training, self.unseen, strict=True):
            lines.append(f"{name:<34}" + "".join(f"{value:>12.4g}" for value in residuals))
        if len(self.costs) > 1:
            lines += ["", f"delay {1e3 * self.delay:.3g} ms, the best of {len(self.costs)}"]
        return "\n".join([*lines, *(f"\n{finding.rule.weight}: {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        return f"<Refinement of {', '.join(self.values)}: delay {1e3 * self.delay:.3g} ms>"


def refine(
    plant: Robot | Plant,
    law: Controller,
    motion: Any,
    log: Any,
    parameters: Sequence[str] | Mapping[str, float],
    *,
    period: float,
    delays: Sequence[float] = (),
    outputs: Sequence[str] = OUTPUTS,
    cutoff: float | None = None,
    training: float = 0.5,
    start_velocity: ArrayLike | None = None,
    integrator: str | Integrator | Steps | Within = AUTOMATIC,
) -> Refinement:
    """Refine plant parameters so that the simulated closed loop reproduces a log.

    It identifies effects outside the regressor of `identify`: joint elasticity, backlash, friction near rest, delays,
    motors. Start from the identified robot.

    Parameters
    ----------
    plant
        Robot, or plant with the effects to identify and initial parameter values.
    law, motion
        Control law and motion that drove the robot. The log begins with the motion, at the motion's initial velocity.
    log
        `chasles.Log`, or a source that it reads, with encoder positions and torques.
    parameters
        Names of the plant's parameters, as `chasles.simulate` varies them, or a mapping from the names to prior
        standard deviations: of the logarithm for positive parameters, of the value for others. Default: 1 for
        logarithms.
    period
        Time between two calls of the law, s.
    delays
        Delays to try, s; default that of the plant.
    outputs
        Compared outputs, from ``"q"`` and ``"tau"``. In a stiff closed loop the torques are most informative.
    cutoff
        Cut-off frequency of the filter for log and simulation, Hz; default: chosen from the log.
    training
        Fraction of the log, from its beginning, used for the fit; the rest is predicted.
    start_velocity
        Velocity at the beginning of the log, shape (n,); default that of the motion.
    integrator
        See `chasles.simulate`; not one of SciPy's. Steps whose length the error controls count as constant in the
        derivatives.

    Returns
    -------
    Refinement
        Values for ``vary=``, estimates with intervals, residuals of the fitted and of the unseen part.

    Raises
    ------
    ArgumentError, UnknownNameError
        An argument does not fit, or the law cannot be compiled.
    IdentificationError
        Columns contradict each other or the robot, the simulation with the initial values diverges, or no values
        explain the log.

    Examples
    --------
    The spring in the joint of a pendulum, from a motion under a PD controller:

    >>> import chasles as ch
    >>> import numpy as np
    >>> rod = {"a": 0.5, "mass": 2.0, "center_of_mass": [-0.25, 0.0, 0.0], "inertia": [0.0, 0.04, 0.04]}
    >>> arm = ch.Robot.from_dh([rod])
    >>> motion = ch.PointToPoint([0.0], [1.5], duration=1.0)
    >>> controller, encoders = ch.PDGravity(arm, kp=200.0, kd=10.0), ch.Sensors(arm, side="motor")
    >>> def plant(stiffness):
    ...     springs = ch.ElasticJoints(arm, stiffness=stiffness, rotor_inertia=0.05)
    ...     return ch.Plant(arm, elastic_joints=springs, sensors=encoders)
    >>> run = ch.simulate(plant(800.0), controller, motion, duration=2.0, period=0.002)
    >>> log = {"t": run.time.values, "q": run.q_measured.values, "tau": run.tau.values}
    >>> found = refine(plant(1000.0), controller, motion, log, ["elastic_joints.stiffness"], period=0.002)
    >>> bool(abs(found.values["elastic_joints.stiffness"][0] - 800.0) < 1.0)
    True
    """
    whole = as_plant(plant)
    measured = accepted_log(whole.robot, log, needs_effort="tau" in outputs)
    signals = filtered_signals(measured, cutoff)
    unknowns = FreeParameters.of(whole, parameters)
    chosen = [name for name in OUTPUTS if name in outputs]
    if not chosen or len(chosen) != len(tuple(outputs)):
        raise ArgumentError(f"outputs must be some of {', '.join(OUTPUTS)}, not {outputs!r}")
    share = real(training, "training", above=0.0, at_most=1.0)
    tried = reals(delays, "delays", (len(delays),), at_least=0.0).tolist() if len(delays) else [whole.delay]
    velocity = None if start_velocity is None else reals(start_velocity, "start_velocity", (whole.n,))
    loop = ReplayedLoop(
        whole, law, motion, measured, signals, unknowns, chosen, period, share, velocity, integrator
    )  # fmt: skip
    return _result(*_best(loop, tried))


def refine_from_torques(
    plant: Robot | Plant,
    log: Any,
    parameters: Sequence[str] | Mapping[str, float],
    *,
    commanded: bool = False,
    bandwidth: float | None = None,
    cutoff: float | None = None,
    training: float = 0.5,
    integrator: str | Integrator | Steps | Within = STIFF,
) -> Refinement:
    """Refine plant parameters so that the measured torques move the simulated robot as the log says.

    The controller that drove the robot need not be known. The plant is simulated under the measured torques, and a weak
    feedback to the measured positions keeps it near them (see `chasles.identification.measured_torques`). The positions
    are compared. In contrast to `identify`, no measured acceleration enters, so noise of the positions does not bias
    the parameters. Values that predict the unseen part of the log worse than the first ones are not taken.

    Parameters
    ----------
    plant
        Robot, such as the identified one, or plant with the effects to identify and initial parameter values.
    log
        `chasles.Log`, or a source that it reads, with positions and torques and without gaps.
    parameters
        See `refine`.
    commanded
        Whether each logged torque acts from its sample to the next, as the commands of a sampled controller do; else
        torques are measured at the samples.
    bandwidth
        Bandwidth of the feedback, Hz: what is older than its inverse is forgotten. Default: a third of the cut-off
        frequency, at least 2 Hz.
    cutoff, training
        See `refine`.
    integrator
        See `chasles.simulate`. By default steps of a fixed length for stiff plants, whose derivatives are exact.

    Returns
    -------
    Refinement
        Values for ``vary=``, estimates with intervals, residuals of the fitted and of the unseen part.

    Raises
    ------
    ArgumentError, UnknownNameError
        An argument does not fit, the log has gaps, or currents instead of torques.
    IdentificationError
        See `refine`.

    Examples
    --------
    A pendulum's mass and friction, from torques of a controller that is not told:

    >>> import chasles as ch
    >>> import numpy as np
    >>> rod = {"a": 0.5, "mass": 2.0, "center_of_mass": [-0.25, 0.0, 0.0], "inertia": [0.0, 0.04, 0.04]}
    >>> arm = ch.Robot.from_dh([rod], gravity=[0.0, -9.81, 0.0])
    >>> real = arm.with_values({"links.link1.mass": 2.5}).with_friction(viscous=0.3)
    >>> wave = ch.identification.FourierMotion([0.0], [[0.3, 0.2, -0.2]], [[-0.1, 0.2, 0.05]], period=4.0)
    >>> run = ch.simulate(real, ch.PDGravity(arm, kp=200.0, kd=20.0), wave, duration=8.0, period=0.004)
    >>> log = {"t": run.time.values, "q": run.q.values, "tau": run.tau.values}
    >>> guess = arm.with_friction(viscous=0.1)
    >>> names = ["links.link1.mass", "joints.joint1.viscous_friction"]
    >>> found = refine_from_torques(guess, log, names, commanded=True)
    >>> [round(float(value), 2) for value in found.values.values()]
    [2.5, 0.3]
    """
    whole = as_plant(plant)
    measured = accepted_log(whole.robot, log)
    signals = filtered_signals(measured, cutoff)
    share = real(training, "training", above=0.0, at_most=1.0)
    wanted = None if bandwidth is None else real(bandwidth, "bandwidth", above=0.0)
    law, motion, period = driven_by_log(whole.robot, measured, signals, wanted, commanded=truth(commanded, "commanded"))
    unknowns = FreeParameters.of(whole, parameters)
    loop = ReplayedLoop(whole, law, motion, measured, signals, unknowns, ["q"], period, share, None, integrator)
    solution, costs = _best(loop, [whole.delay])
    found, unseen = _result(solution, costs), root_mean_square(solution.before, ~solution.used)
    worse = FIRST_VALUES_KEPT.above(float(np.exp(np.mean(np.log(found.unseen / unseen)))))
    if np.isnan(unseen).any() or not worse:
        return found
    return replace(
        found, values=unknowns.values(unknowns.prior.mean), training=found.before, unseen=unseen,
        parameters=tuple(replace(own, value=own.prior) for own in found.parameters),
        findings=(*found.findings, *worse),
    )  # fmt: skip


def _best(loop: ReplayedLoop, delays: Sequence[float]) -> tuple[OutputErrorFit, dict[float, float]]:
    """Fit with the delay that fits best, and the cost of each delay."""
    tried = {delay: fitted(replace(loop, plant=loop.plant.with_drives(delay=delay))) for delay in delays}
    solutions = {delay: solution for delay, solution in tried.items() if solution is not None}
    if not solutions:
        raise IdentificationError(
            "the simulated loop diverges with the first values of the parameters: check controller, period and delay, "
            "or begin with values nearer to the robot's"
        )
    costs = {delay: solution.cost for delay, solution in solutions.items()}
    return solutions[min(costs, key=lambda delay: costs[delay])], costs


def _result(solution: OutputErrorFit, costs: Mapping[float, float]) -> Refinement:
    loop, fit, used = solution.loop, solution.fit, solution.used
    measured, names, prior = loop.measured, loop.names, loop.unknowns.prior
    training, unseen = root_mean_square(fit.residuals, used), root_mean_square(fit.residuals, ~used)
    shares = dict(zip(names, (training / variation(measured)).tolist(), strict=True))
    missed = [name for name, share in shares.items() if share > MISSED.limit]
    if len(missed) == len(names):
        raise IdentificationError(
            "no values of these parameters explain the log: all outputs are missed by more than "
            f"{MISSED.limit:.0%} of their variation. Are controller, reference and its beginning those of the log?"
        )
    rows = int(used[:, 0].sum())
    if (training > EXACT * variation(measured)).all():
        covariance = coloured_covariance(solution.A[:rows], _part(fit, rows), prior, (slice(0, rows),))
    else:  # residuals of rounding have no spectrum
        sizes = np.sqrt(np.diag(fit.information))
        covariance = np.linalg.pinv(fit.information / np.outer(sizes, sizes), hermitian=True) / np.outer(sizes, sizes)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    values, first = loop.unknowns.numbers(solution.x), loop.unknowns.numbers(prior.mean)
    determined = errors < UNDETERMINED * prior.deviation
    parameters = tuple(
        Parameter(name, name, float(value), float(error), float(start), bool(sure))
        for name, value, error, start, sure in zip(
            loop.unknowns.names,
            values,
            errors * np.where(loop.unknowns.is_log, values, 1.0),
            first,
            determined,
            strict=True,
        )
    )
    open_ones = [p.name for p in parameters if not p.determined]
    is_at_end = len(costs) > 2 and loop.plant.delay in (min(costs), max(costs))
    findings = (
        *MISSED.above(max(shares.values()), names=", ".join(missed)),
        *NOT_DETERMINED.above(len(open_ones), names=", ".join(open_ones)),
        *(END_OF_DELAYS.told(1e3 * loop.plant.delay) if is_at_end else ()),
    )
    return Refinement(
        values=loop.unknowns.values(solution.x),
        parameters=parameters,
        delay=loop.plant.delay,
        costs=costs,
        before=root_mean_square(solution.before, used),
        training=training,
        unseen=unseen,
        names=names,
        findings=findings,
    )


def _part(fit: WeightedFit, rows: int) -> WeightedFit:
    return replace(fit, residuals=fit.residuals[:rows], weights=fit.weights[:rows])
