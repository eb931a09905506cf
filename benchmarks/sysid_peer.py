"""mujoco.sysid on the logs of `benchmarks.identification`: output error of short simulations under measured torques.

Its extra is ``pip install "mujoco[sysid]"``. It changes a model until simulations that begin in measured states, and
are driven by measured torques, move as measured. The parameters are those that MuJoCo has: ten of each body, and rotor
inertia, damping and dry friction of each joint.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import numpy as np
from mujoco import sysid
from numpy.typing import NDArray

import chasles as ch
from chasles.identification import Signals

if not hasattr(sysid, "optimize"):
    raise ImportError("mujoco.sysid lacks packages of its extra")

#: Duration of a simulation, s: without feedback, longer ones leave the measured motion.
DURATION = 0.5
TIMESTEP = 0.004
#: 160 s of CPU time on the Panda's first half; a run of 39 left the squares of the 13th as they were, to four digits.
ITERATIONS = 15
#: Torque of each first rotor inertia, damping and dry friction, of the measured one, and their range.
FIRST_SHARE, LEAST, MOST = 0.1, 1e-4, 20.0
#: Rate at which dry friction turns, of the largest one: MuJoCo's has none, and torques at rest are not compared.
TRANSITION = 0.05


def predicted(fitted: Signals, unseen: Signals, measured: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Torques at the kept samples of unseen signals by the model that is identified from others, shape (k, n).

    MuJoCo's dry friction is a constraint, which has no torque of its own in inverse dynamics, so it is added.
    """
    if not measured.all():
        raise ValueError("simulations need the efforts of all joints")
    model = identified(fitted)
    dry = model.dof_frictionloss * np.tanh(unseen.qd / (TRANSITION * np.abs(fitted.qd).max(axis=0)))
    model.dof_frictionloss[:] = 0.0
    data, torques = mujoco.MjData(model), np.empty_like(unseen.q)
    for torque, data.qpos, data.qvel, data.qacc in zip(torques, unseen.q, unseen.qd, unseen.qdd, strict=True):
        mujoco.mj_inverse(model, data)
        torque[:] = data.qfrc_inverse
    return unseen.filter(torques + dry)[unseen.kept()]


def identified(signals: Signals) -> Any:
    """Compiled model whose bodies and joints mujoco.sysid finds in signals.

    It gets what `ch.identify` gets: filtered positions, velocities and efforts. Its residuals are positions and
    velocities.
    """
    arm = signals.robot
    spec = _specification(arm)
    model = spec.compile()
    sequences = [part for segment in signals.segments for part in _short(segment, signals.period)]
    states = np.concatenate([signals.q, signals.qd], axis=1)
    measured = sysid.ModelSequences(
        arm.name, spec, [str(part.start) for part in sequences],
        [sysid.create_initial_state(model, signals.q[part.start], signals.qd[part.start]) for part in sequences],
        [sysid.TimeSeries.from_control_names(_times(signals, part), signals.effort[part], model) for part in sequences],
        [sysid.TimeSeries.from_names(_times(signals, part), states[part], model) for part in sequences],
    )  # fmt: skip
    parameters = _parameters(spec, model, signals)
    scale = np.concatenate([signals.q.std(axis=0), signals.qd.std(axis=0)])

    def difference(_: Any, predicted: Any, recorded: Any, *others: Any, **more: Any) -> tuple[Any, Any, Any]:
        """Errors relative to the whole motion: by default they are so to the part, in which a joint may rest."""
        inside = sysid.apply_delayed_ts_window(recorded, predicted, 0.0, 0.0)
        there = predicted.resample(inside.times)
        return (inside.data - there.data) / scale, there, inside

    residuals = sysid.build_residual_fn(models_sequences=[measured], modify_residual=difference)
    found, _ = sysid.optimize(parameters, residuals, verbose=False, x_scale="jac", max_iters=ITERATIONS)
    return sysid.apply_param_modifiers(found, spec)


def _specification(arm: ch.Robot) -> Any:
    """Model of the arm alone, with motors, and sensors of positions and velocities."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        arm.save(path)
        text = path.read_text()
    shapeless = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)
    # A parameter of inertia must belong to the body that its joint moves, so links without joints are fused with it.
    options = '<mujoco><compiler fusestatic="true" balanceinertia="true"/></mujoco></robot>'
    fused = mujoco.MjSpec.from_string(shapeless.replace("</robot>", options))
    fused.compile()
    spec = mujoco.MjSpec.from_string(fused.to_xml())
    spec.option.timestep, spec.option.integrator = TIMESTEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for name in arm.joint_names:
        joint = spec.joint(name)
        joint.limited, joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE, mujoco.mjtLimited.mjLIMITED_FALSE
        motor = spec.add_actuator(name=f"{name} motor", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_motor()
    for quantity in (mujoco.mjtSensor.mjSENS_JOINTPOS, mujoco.mjtSensor.mjSENS_JOINTVEL):
        for name in arm.joint_names:
            spec.add_sensor(
                name=f"{name} {quantity.name}", type=quantity, objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=name
            )
    return spec


def _parameters(spec: Any, model: Any, signals: Signals) -> Any:
    """Ten numbers of each body with a mass that a joint moves, and three of each joint."""
    parameters = sysid.ParameterDict()
    for k in range(1, model.nbody):
        body = model.body(k)
        if body.mass[0] > 0.0 and body.weldid[0] > 0:
            parameters.add(
                sysid.body_inertia_param(spec, model, body.name, sysid.InertiaType.Pseudo, modifier=_set_inertia)
            )
    effort, rate, acceleration = (_root_mean_square(own) for own in (signals.effort, signals.qd, signals.qdd))
    for k, name in enumerate(signals.robot.joint_names):
        sizes = {"armature": effort / acceleration, "damping": effort / rate, "frictionloss": effort}
        for quantity, size in sizes.items():
            first = FIRST_SHARE * float(size[k])

            def set_it(changed: Any, own: Any, name: str = name, quantity: str = quantity) -> None:
                joint = changed.joint(name)
                joint.damping[0] = own.value[0] if quantity == "damping" else joint.damping[0]
                if quantity != "damping":
                    setattr(joint, quantity, own.value[0])

            parameters.add(sysid.Parameter(f"{name} {quantity}", first, LEAST * first, MOST * first, modifier=set_it))
    return parameters


def _set_inertia(spec: Any, own: Any) -> None:
    """Modify as mujoco.sysid does, but for axes that are not numbers, which the compiler of MuJoCo 4.0 refuses."""
    name = own.name.removesuffix("_inertia")
    sysid.apply_body_inertia(spec, name, own)
    spec.body(name).iquat = (1.0, 0.0, 0.0, 0.0)


def _short(segment: slice, period: float) -> list[slice]:
    """Parts of a segment that are simulated one by one."""
    count = max(2, round(DURATION / period))
    return [slice(start, start + count + 1) for start in range(segment.start, segment.stop - count, count)]


def _times(signals: Signals, part: slice) -> NDArray[np.float64]:
    return signals.time[part] - signals.time[part.start]


def _root_mean_square(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(np.mean(values**2, axis=0)) + 1e-9
