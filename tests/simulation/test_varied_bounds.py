"""What a constructor refuses, ``vary=`` refuses too, naming the parameter and the run."""

from operator import attrgetter

import numpy as np
import pytest
import xarray
from tests.thinning import paired

import chasles as ch
from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.control import adaptive
from chasles.inverse_kinematics import PostureTask
from chasles.mechanics import computations
from chasles.simulation.preparation import Setup, prepare

ARM = ch.load("planar2r")
REST = ch.PointToPoint([0.1, 0.1], [0.1, 0.1], duration=0.01)
HOLD = ch.PDGravity(ARM, kp=400.0, kd=40.0)
#: Values that some parameter or other refuses.
SUSPECTS = (-3.0, -1e-6, 0.0, 1e-300, 0.7, 2.0, 1e10, 1e30, np.inf, -np.inf, np.nan)

EFFECTS = {
    "friction": lambda **new: ch.Friction(
        ARM, **{"viscous": 1.0, "coulomb": 1.0, "breakaway": 2.0, "smoothing_velocity": 0.01} | new
    ),
    "motors": lambda **new: ch.Motors(
        ARM, **{"resistance": 1.0, "torque_constant": 0.1, "gear_ratio": 50.0, "max_voltage": 48.0} | new
    ),
    "motors, voltage": lambda **new: ch.Motors(ARM, **{"resistance": 1.0, "mode": "voltage"} | new),
    "elastic_joints": lambda **new: ch.ElasticJoints(ARM, **{"stiffness": 1e3, "rotor_inertia": 0.1} | new),
    "sensors": lambda **new: ch.Sensors(ARM, **new),
    "sensors, differentiated": lambda **new: ch.Sensors(ARM, velocity="differentiated", **new),
    "wrenches.push": lambda **new: ch.ExternalWrench(
        "push", lambda t, own: np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]) * own["force"], parameters={"force": 2.0} | new
    ),
    "wrenches.record": lambda scale=1.0: ch.ExternalWrench("record", times=[0.0, 1.0], samples=np.full((2, 6), scale)),
    "payloads.box": lambda **new: ch.PickedPayload("box", **{"mass": 1.0, "put_time": 0.5} | new),
    "contacts.floor": lambda **new: ch.ContactPlane(
        "floor", "tool", **{"point": [0, 0, -9.0], "normal": [0, 0, 1.0], "stiffness": 1e3} | new
    ),
}
SINGLE = {"friction", "motors", "elastic_joints", "sensors"}


def bounded(new):
    return adaptive.SlotineLi(
        ARM, **{"rate": 1.0, "damping": 1.0, "adaptation": 1.0, "initial": 0.5, "lower": -1.0, "upper": 1.0} | new
    )


def inner(new):
    return {name.removeprefix("inner."): value for name, value in new.items() if name.startswith("inner.")}


def but_inner(new):
    return {name: value for name, value in new.items() if not name.startswith("inner.")}


LAWS = {
    "pd": lambda **new: ch.control.PD(ARM, **{"kp": 1.0, "kd": 1.0} | new),
    "pd-gravity": lambda **new: ch.PDGravity(ARM, **{"kp": 1.0, "kd": 1.0} | new),
    "pid": lambda **new: ch.control.PID(ARM, **{"kp": 1.0, "ki": 1.0, "kd": 1.0} | new),
    "computed torque": lambda **new: ch.ComputedTorque(ARM, **{"kp": 1.0, "kd": 1.0} | new),
    "nominal": lambda **new: ch.control.NominalTorque(ARM, **{"kp": 1.0, "kd": 1.0} | new),
    "sliding mode": lambda **new: ch.control.SlidingMode(ARM, **{"rate": 1.0, "reaching": 1.0, "layer": 0.1} | new),
    "slotine-li": lambda **new: adaptive.SlotineLi(ARM, **{"rate": 1.0, "damping": 1.0, "adaptation": 1.0} | new),
    "slotine-li, bounded": lambda **new: bounded(new),
    "composite": lambda **new: adaptive.CompositeAdaptive(
        ARM, **{"rate": 1.0, "damping": 1.0, "adaptation": 1.0, "bandwidth": 9.0, "forgetting": 1.0} | new
    ),
    "natural": lambda **new: adaptive.NaturalAdaptive(
        ARM.with_payload(1.0, inertia=np.eye(3)),
        **{"rate": 1.0, "damping": 1.0, "adaptation": 1.0, "bodies": "payload"} | new,
    ),
    "lee-chung": lambda **new: adaptive.LeeChung(ARM, **{"rate": 1.0, "torque_weight": 1.0} | new),
    "observer": lambda **new: ch.control.DisturbanceObserver(
        ARM, ch.ComputedTorque(ARM, **{"kp": 1.0, "kd": 1.0} | inner(new)), **{"bandwidth": 9.0} | but_inner(new)
    ),
    "impedance": lambda **new: ch.control.Impedance(
        ARM, components=("x", "y"), **{"stiffness": 1.0, "damping": 1.0, "inertia": 1.0} | new
    ),
    "admittance": lambda **new: ch.control.Admittance(
        ARM, components=("x", "y"),
        **{"stiffness": 1.0, "damping": 1.0, "inertia": 1.0, "kp": 1.0, "kd": 1.0} | new,
    ),
    "resolved acceleration": lambda **new: ch.control.ResolvedAcceleration(
        ARM, components=("x", "y"), **{"kp": 1.0, "kd": 1.0} | new
    ),
    "hybrid force-motion": lambda force=1.0, **new: ch.control.HybridForceMotion(
        ARM, {"y": np.sum(force)}, components=("x", "y"),
        **{"kp": 1.0, "kd": 1.0, "kf": 1.0, "kfi": 1.0, "force_damping": 1.0} | new,
    ),
    "closed-loop kinematics": lambda **new: ch.control.ClosedLoopKinematics(
        ARM, bounded(inner(new)), components=("x", "y"), **but_inner(new)
    ),
    "observer of slotine-li": lambda **new: ch.control.DisturbanceObserver(
        ARM, bounded(inner(new)), **{"bandwidth": 9.0} | but_inner(new)
    ),
    "model reference": lambda **new: adaptive.ModelReferenceAdaptive(
        ARM, **{"frequency": 9.0, "adaptation": 1.0} | new
    ),
    "whole body": lambda **new: ch.control.WholeBodyTorque(
        ARM, ch.control.Stance([PostureTask([0.0, 0.0], cost=1.0)]), **new
    ),
    "a user's law": lambda k=1.0: ch.PythonLaw(own_law(k)),
    "operational space": lambda **new: ch.control.OperationalSpace(
        ARM, components=("x", "y"), **{"kp": 1.0, "kd": 1.0} | new
    ),
}  # fmt: skip


def own_law(gain):
    def law(now, *, k=gain):
        return -k * now.q

    return law


def refuses(make):
    try:
        make()
    except (ArgumentError, ModelError):
        return True
    return False


def ready(plant, law=HOLD, **vary):
    return prepare(Setup(plant, law, REST, duration=0.01, period=0.01), vary)


def run_of_a_batch(nominal, value):
    """Three runs, the last of which has the value in its last element."""
    batch = np.repeat(np.asarray(nominal, dtype=float)[None], 3, axis=0)
    batch[2, ...] = value
    return batch


def agree(make, vary, name, parameter, nominal):
    checked = 0
    for value in SUSPECTS:
        with np.errstate(all="ignore"):
            whole = value if parameter in ("kp", "kd", "gain") else np.full(np.shape(nominal), value)
            wanted = refuses(lambda whole=whole: make(**{parameter: whole}))
        if wanted:
            with pytest.raises(ArgumentError) as caught:
                vary({name: run_of_a_batch(nominal, value)})
            assert name in str(caught.value), value
            assert "run 2" in str(caught.value), value
            checked += 1
        else:
            vary({name: run_of_a_batch(nominal, value)})
    return checked


@pytest.fixture(autouse=True)
def untraced(monkeypatch):
    """Arguments are checked before anything is compiled."""
    monkeypatch.setattr(ch.simulation.preparation, "_traced", lambda loop: None)
    monkeypatch.setattr(ch.simulation.preparation, "initial_state", lambda loop, *rest: np.zeros((1, loop.layout.size)))
    monkeypatch.setattr(ch.simulation.preparation, "is_stiff", lambda *arguments: False)


@pytest.mark.parametrize("title", EFFECTS)
def test_effects(title):
    make, kind = EFFECTS[title], title.partition(",")[0]
    owner = kind.partition(".")[0]
    effect = make()
    plant = ch.Plant(ARM, **{owner: effect if owner in SINGLE else [effect]})
    for parameter, nominal in effect.parameters.items():
        checked = agree(
            make, lambda given: ready(plant, **given), f"{kind}.{parameter}", parameter, nominal
        )  # fmt: skip
        assert checked >= 1, parameter


@pytest.mark.parametrize("title", LAWS)
def test_laws(title):
    law = LAWS[title]()
    settable = [name for name in law.parameters if name not in ("error_weights", "state_weight")]
    for parameter in settable:
        checked = agree(
            LAWS[title], lambda given: ready(ARM, law, **given), f"controller.{parameter}", parameter,
            law.parameters[parameter],
        )  # fmt: skip
        assert checked >= 1, parameter


@pytest.mark.parametrize("name", ch.load("planar2r").parameters)
def test_robots(name):
    nominal = ch.model.parameters.parameter_value(ARM.description, name)
    assert agree(
        lambda **new: ARM.with_values({name: new["value"]}), lambda given: ready(ARM, **given), name, "value", nominal
    )


@pytest.mark.parametrize("name", ch.load("planar2r").parameters)
def test_single_computations(name):
    nominal = ch.model.parameters.parameter_value(ARM.description, name)
    q = [0.3, -0.5]
    assert agree(
        lambda **new: ARM.with_values({name: new["value"]}),
        lambda given: ARM.potential_energy(q, vary=given), name, "value", nominal,
    )  # fmt: skip


COMPUTATIONS = computations()


@pytest.mark.parametrize(("name", "robot"), paired(COMPUTATIONS, ["ur5", "stewart", "scara"]))
def test_all_computations(robot, name):
    model = ch.load(robot)
    rest = [np.zeros(2)] * len(COMPUTATIONS[name].inputs)  # values are refused before shapes are looked at
    joint = next(joint.name for joint in model.description.joints if joint.moves)
    for given, said in (
        ({"payload.mass": -3.0}, r"vary\['payload.mass'\] is -3.0; it must be at least 0"),
        ({f"joints.{joint}.viscous_friction": [0.0, -1.0]}, "viscous_friction.* is -1.0 in run 1; it must be at least"),
        ({"payload.mass": 1.0, "gravity": [0.0, np.nan, -9.81]}, r"vary\['gravity'\]\[1\] is nan; it must be finite"),
        ({"payload.inertia": np.diag([1.0, 1.0, -1.0])}, "principal moment of inertia is negative"),
    ):
        with pytest.raises(ArgumentError, match=said):
            attrgetter(name)(model)(*rest, vary=given)


def test_arrays_of_other_libraries_are_held_to_the_bounds():
    masses = xarray.DataArray([1.0, -3.0], dims="payload")
    with pytest.raises(ArgumentError, match=r"payload.mass.* is -3.0 in run 1"):
        ARM.gravity_torque([0.0, 0.0], vary={"payload.mass": masses})
    held = ch.function(m=())(lambda m: ARM.gravity_torque([0.0, 0.0], vary={"payload.mass": m}))
    np.testing.assert_array_equal(held(2.0), ARM.gravity_torque([0.0, 0.0], vary={"payload.mass": 2.0}))


def test_relations_between_parameters():
    worn = ch.Plant(ARM, friction=ch.Friction(ARM, coulomb=1.0, breakaway=2.0))
    with pytest.raises(ArgumentError, match=r"friction.coulomb.*breakaway must be at least coulomb.*run 1"):
        ready(worn, **{"friction.coulomb": [[1.0, 1.0], [1.0, 3.0]]})
    ready(worn, **{"friction.coulomb": [[1.0, 1.0], [1.0, 3.0]], "friction.breakaway": [4.0, 4.0]})
    box = ch.Plant(ARM, payloads=[ch.PickedPayload("box", 1.0, pick_time=0.1, put_time=0.2)])
    with pytest.raises(ArgumentError, match=r"payloads.box.pick_time.*box.*put_time must be later.*run 2"):
        ready(box, **{"payloads.box.pick_time": [0.0, 0.1, 0.3]})
    with pytest.raises(ArgumentError, match=r"links.link2.inertia.*symmetric.*run 1"):
        ready(ARM, **{"links.link2.inertia": [np.eye(3), np.triu(np.ones((3, 3)))]})


def test_references_and_laws_of_users():
    with pytest.raises(ArgumentError, match=r"vary\['reference.duration'\] is -1.0 in run 1"):
        ready(ARM, **{"reference.duration": [1.0, -1.0]})
    with pytest.raises(ArgumentError, match=r"vary\['reference.goal'\]\[1\] is inf in run 0"):
        ready(ARM, **{"reference.goal": [[0.0, np.inf]]})
    law = ch.PythonLaw(lambda now, *, k=1.0: -k * now.q)
    with pytest.raises(ArgumentError, match=r"vary\['controller.k'\] is nan in run 1"):
        ready(ARM, law, **{"controller.k": [1.0, np.nan]})


def test_base_motions_replace_the_placement_of_the_base():
    line = ch.StraightLine(np.eye(4), np.eye(4), duration=0.01)
    moved = ch.Plant(ARM, base=ch.BaseMotion(line))
    with pytest.raises(UnknownNameError, match=r"'base.position'"):
        ready(moved, **{"base.position": [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]})
    ready(moved, **{"payload.mass": [0.0, 1.0]})
