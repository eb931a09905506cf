"""What a constructor refuses, ``vary=`` refuses too, naming the parameter and the run."""

import numpy as np
import pytest

import chasles as ch
from chasles.control import adaptive
from chasles.errors import ArgumentError, ModelError

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
    "payloads.box": lambda **new: ch.PickedPayload("box", **{"mass": 1.0, "put_time": 0.5} | new),
    "contacts.floor": lambda **new: ch.ContactPlane(
        "floor", "tool", **{"point": [0, 0, -9.0], "normal": [0, 0, 1.0], "stiffness": 1e3} | new
    ),
}
SINGLE = {"friction", "motors", "elastic_joints", "sensors"}

LAWS = {
    "pd": lambda **new: ch.control.PD(ARM, **{"kp": 1.0, "kd": 1.0} | new),
    "pd-gravity": lambda **new: ch.PDGravity(ARM, **{"kp": 1.0, "kd": 1.0} | new),
    "pid": lambda **new: ch.control.PID(ARM, **{"kp": 1.0, "ki": 1.0, "kd": 1.0} | new),
    "computed torque": lambda **new: ch.ComputedTorque(ARM, **{"kp": 1.0, "kd": 1.0} | new),
    "nominal": lambda **new: ch.control.NominalTorque(ARM, **{"kp": 1.0, "kd": 1.0} | new),
    "sliding mode": lambda **new: ch.control.SlidingMode(ARM, **{"rate": 1.0, "reaching": 1.0, "layer": 0.1} | new),
    "slotine-li": lambda **new: adaptive.SlotineLi(ARM, **{"rate": 1.0, "damping": 1.0, "adaptation": 1.0} | new),
    "slotine-li, bounded": lambda **new: adaptive.SlotineLi(
        ARM, **{"rate": 1.0, "damping": 1.0, "adaptation": 1.0, "initial": 0.5, "lower": -1.0, "upper": 1.0} | new
    ),
    "composite": lambda **new: adaptive.CompositeAdaptive(
        ARM, **{"rate": 1.0, "damping": 1.0, "adaptation": 1.0, "bandwidth": 9.0, "forgetting": 1.0} | new
    ),
    "natural": lambda **new: adaptive.NaturalAdaptive(
        ARM.with_payload(1.0, inertia=np.eye(3)),
        **{"rate": 1.0, "damping": 1.0, "adaptation": 1.0, "bodies": "payload"} | new,
    ),
    "lee-chung": lambda **new: adaptive.LeeChung(ARM, **{"rate": 1.0, "torque_weight": 1.0} | new),
    "observer": lambda **new: ch.control.DisturbanceObserver(
        ch.ComputedTorque(ARM, **{"kp": 1.0, "kd": 1.0} | {k: v for k, v in new.items() if k in ("kp", "kd", "ki")}),
        **{"bandwidth": 9.0} | {k: v for k, v in new.items() if k not in ("kp", "kd", "ki")},
    ),
    "impedance": lambda **new: ch.control.Impedance(
        ARM, components=("x", "y"), **{"stiffness": 1.0, "damping": 1.0, "inertia": 1.0} | new
    ),
    "admittance": lambda **new: ch.control.Admittance(
        ARM, components=("x", "y"),
        **{"stiffness": 1.0, "damping": 1.0, "inertia": 1.0, "kp": 1.0, "kd": 1.0} | new,
    ),
    "operational space": lambda **new: ch.control.OperationalSpace(
        ARM, components=("x", "y"), **{"kp": 1.0, "kd": 1.0} | new
    ),
}  # fmt: skip


def refuses(make):
    try:
        make()
    except (ArgumentError, ModelError):
        return True
    return False


def ready(plant, law=HOLD, **vary):
    return ch.simulation.preparation.prepare(plant, law, REST, duration=0.01, period=0.01, delay=0.0, vary=vary)


def run_of_a_batch(nominal, value):
    """Three runs, the last of which has the value in its last element."""
    batch = np.repeat(np.asarray(nominal, dtype=float)[None], 3, axis=0)
    batch[2, ...] = value
    return batch


def agree(make, vary, name, parameter, nominal):
    checked = 0
    for value in SUSPECTS:
        with np.errstate(all="ignore"):
            whole = value if parameter in ("kp", "kd") else np.full(np.shape(nominal), value)
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
    law = ch.PythonLaw(lambda t, q, qd, reference, memory, own: (-own["k"] * q, memory), parameters={"k": 1.0})
    with pytest.raises(ArgumentError, match=r"vary\['controller.k'\] is nan in run 1"):
        ready(ARM, law, **{"controller.k": [1.0, np.nan]})
