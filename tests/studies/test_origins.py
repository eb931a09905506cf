"""Stored results are of exactly what is asked for: whatever is changed is simulated anew, and nothing else."""

from __future__ import annotations

import sys
import textwrap
import types
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies import tiny_studies
from tests.studies.tiny_studies import TOML, own, pd_of_a_variable, tiny

import chasles as ch
from chasles import studies
from chasles.base.errors import ArgumentError
from chasles.studies import origin
from chasles.studies.experiment import controller_of, parts
from chasles.studies.origin import Origins, origin_of
from chasles.studies.running import UnidentifiedWarning

#: Ways to make a controller of the stiffness <K>: each is the text of a module with a function `make`.
WAYS = {
    "closure": """
        def factory(kp):
            def inner(model, motion, period): return ch.PDGravity(model, kp=kp, kd=20.0)
            return inner
        make = factory(<K>)
    """,
    "lambda with a closure": """
        def factory(kp): return lambda model, motion, period: ch.PDGravity(model, kp=kp, kd=20.0)
        make = factory(<K>)
    """,
    "default of a lambda": """
        make = lambda model, motion, period, kp=<K>: ch.PDGravity(model, kp=kp, kd=20.0)
    """,
    "global": """
        KP = <K>
        def make(model, motion, period): return ch.PDGravity(model, kp=KP, kd=20.0)
    """,
    "helper": """
        def kp(): return <K>
        def make(model, motion, period): return ch.PDGravity(model, kp=kp(), kd=20.0)
    """,
    "attribute": """
        class Make:
            def __init__(self, kp): self.kp = kp
            def __call__(self, model, motion, period): return ch.PDGravity(model, kp=self.kp, kd=20.0)
        make = Make(<K>)
    """,
    "partial": """
        from functools import partial
        def factory(model, motion, period, kp): return ch.PDGravity(model, kp=kp, kd=20.0)
        make = partial(factory, kp=<K>)
    """,
    "file": """
        import pathlib
        pathlib.Path("gain.txt").write_text("<K>")
        def make(model, motion, period):
            return ch.PDGravity(model, kp=float(pathlib.Path("gain.txt").read_text()), kd=20.0)
    """,
    "class of its own": """
        class Own(ch.PDGravity):
            more = <K>
            def law(self, now):
                return super().law(now) + self.more * (now.reference.q - now.q)
        def make(model, motion, period): return Own(model, kp=1.0, kd=20.0)
    """,
    "plain function": """
        def make(model, motion, period):
            return lambda now: <K> * (now.reference.q - now.q) - 20.0 * now.qd
    """,
    "law that calls a helper": """
        def stiffness(error): return <K> * error
        def law(now): return stiffness(now.reference.q - now.q) - 20.0 * now.qd
        def make(model, motion, period): return law
    """,
    "object shared by all": """
        law = ch.PythonLaw(lambda now: KP * (now.reference.q - now.q) - 20.0 * now.qd)
        KP = <K>
        def make(model, motion, period): return law
    """,
}


def maker(text: str, kp: float = 200.0) -> Callable[..., Any]:
    made: Any = types.ModuleType("module_of_a_test")
    made.ch, made.np = ch, np
    exec(textwrap.dedent(text).replace("<K>", repr(kp)), vars(made))
    function: Callable[..., Any] = made.make
    return function


def with_controller(make: Callable[..., Any]) -> studies.Study:
    choice = studies.StudyController("own", make)
    return tiny(controllers=(choice,), rates=(250.0,), runs=2, payload=1.0, rest=0.0)


def errors(results: studies.results.StudyResults) -> list[float]:
    return results.of_pair("arm", "own")["rms_error"].tolist()


@pytest.mark.parametrize("way", WAYS)
def test_another_gain_is_simulated_anew_wherever_it_is_held(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = with_controller(maker(WAYS[way], 200.0)).run("results")
    again = with_controller(maker(WAYS[way], 200.0)).run("results")
    assert (first.computed, again.computed) == (1, 0)
    assert errors(again) == errors(first)
    other = with_controller(maker(WAYS[way], 90.0)).run("results")
    assert other.computed == 1
    assert errors(other) == errors(with_controller(maker(WAYS[way], 90.0)).run())
    assert errors(other) != errors(first)


def test_a_variable_that_changes_between_two_runs_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = with_controller(pd_of_a_variable)
    assert study.run(tmp_path).computed == 1
    monkeypatch.setattr(tiny_studies, "KP", 300.0)
    assert study.run(tmp_path).computed == 1
    monkeypatch.setattr(tiny_studies, "KP", 900.0)
    assert study.run(tmp_path).computed == 0


def test_only_what_a_change_concerns_is_simulated_anew(tmp_path: Path) -> None:
    study = tiny()
    study.run(tmp_path)
    assert study.replace(title="another title", description="other words").run(tmp_path).computed == 0
    gains = studies.StudyController("PD", "pd-gravity", {"kp": [800.0, 80.0], "kd": [80.0, 9.0]})
    assert study.replace(controllers=(study.controllers[0], gains)).run(tmp_path).computed == 2
    other = studies.StudyRobot.of("planar2r", start=[0.0, 0.0], goal=[0.6, -0.4], duration=0.31, title="arm")
    assert study.replace(robots=(other,)).run(tmp_path).computed == 4


@pytest.mark.parametrize(
    "change",
    [
        *({"payload": (0.0, 4.0)}, {"friction": 0.1}, {"model_error": 0.1}, {"payload_center": (0.0, 0.0, 0.1)}),
        *({"payload_radius": 0.06}, {"viscous_share": 0.4}, {"coulomb_velocity": 0.06}),
        *({"seed": 4}, {"runs": 14}, {"method": "random"}, {"method": "grid", "levels": 3}),
        *({"picked_payload": 1.0}, {"static_friction": 0.1}, {"position_friction": 0.1}, {"motor_lag": 0.01}),
        *({"motor_torque": 2.0}, {"motor_speed": 2.0}, {"encoder_step": 1e-4}, {"resonance": 10.0}, {"tip_force": 1.0}),
        *({"delays": 0.5}, {"carried": (0.2, 0.75)}, {"tip_direction": (0.0, 1.0, 0.0)}, {"plant": {"gravity": 1.0}}),
        *({"rest": 0.04}, {"step": 5e-4}, {"torque_limits": False}, {"lost_beyond": 0.9}, {"chunk": 5}),
        *({"tuning": studies.Tuning()}, {"velocities": "kalman"}, {"jitter": 0.5}, {"lost_samples": 0.1}),
    ],
    ids=str,
)
def test_every_setting_counts(change: dict[str, Any]) -> None:
    study = tiny()
    other = study.replace(**change)
    own, others = ({origin_of(s, part, None).digest for part in parts(s)} for s in (study, other))
    assert not own & others
    assert own == {origin_of(tiny(), part, None).digest for part in parts(tiny())}


def test_every_attribute_of_a_study_is_tried_above() -> None:
    tried = {*("payload", "friction", "model_error", "payload_center", "payload_radius", "viscous_share"), "seed"}
    tried |= {*("coulomb_velocity", "runs", "method", "levels", "rest", "step", "torque_limits"), "chunk"}
    tried |= {"picked_payload", "static_friction", "position_friction", "motor_lag", "motor_torque", "motor_speed"}
    tried |= {"encoder_step", "resonance", "tip_force", "delays", "carried", "tip_direction", "plant"}
    tried |= {"lost_beyond", "rates", "velocities", "jitter", "lost_samples"}  # rates: each part has one
    records = (studies.Factors, studies.Design, studies.Execution)
    assert tried == {name for record in records for name in record.__dataclass_fields__}


@pytest.mark.parametrize(
    "changed",
    [
        lambda arm: arm.with_payload(0.5),
        lambda arm: arm.with_friction(viscous=0.1),
        lambda arm: arm.with_values({"links.link2.mass": 5.001}),
        lambda arm: ch.Robot(arm.description.replace(gravity=np.array([0.0, 0.0, -9.8]))),
    ],
)
def test_robots_count_by_their_content(changed: Callable[[ch.Robot], ch.Robot]) -> None:
    arm = ch.load("planar2r")

    def study(robot: Any) -> studies.Study:
        moving = studies.StudyRobot.of(robot, start=[0.0, 0.0], goal=[0.6, -0.4], duration=0.3, title="arm")
        return tiny(robots=(moving,))

    part = parts(study(arm))[0]
    assert origin_of(study(arm), part, None) == origin_of(study("planar2r"), part, None)
    assert origin_of(study(changed(arm)), part, None) != origin_of(study(arm), part, None)


def test_robots_of_files_count_by_content_and_not_by_place(tmp_path: Path) -> None:
    text = ch.model.write(ch.load("planar2r").description, "toml")
    for folder, content in (("here", text), ("there", text), ("elsewhere", text.replace("10.0", "10.5"))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "arm.toml").write_text(content)
        (tmp_path / folder / "study.toml").write_text(TOML.replace("planar2r", "arm.toml"))
    here, there, elsewhere = (studies.load(tmp_path / name / "study.toml") for name in ("here", "there", "elsewhere"))
    assert here.run(tmp_path / "results").computed == 2
    assert there.run(tmp_path / "results").computed == 0
    assert elsewhere.run(tmp_path / "results").computed == 2


@pytest.mark.parametrize("name", sorted(origin.environment()))
def test_results_of_other_versions_are_not_taken_up(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = tiny(rates=(250.0,), runs=2)
    assert study.run(tmp_path).computed == 2
    other = origin.environment() | {name: "another"}
    monkeypatch.setattr(origin, "environment", lambda: other)
    assert study.run(tmp_path).computed == 2


def test_results_of_an_older_format_are_not_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = tiny(rates=(250.0,), runs=2)
    monkeypatch.setattr(origin, "_FORMAT", 1)
    assert study.run(tmp_path).computed == 2
    old = set(tmp_path.glob("*.npz"))
    monkeypatch.undo()
    assert study.run(tmp_path).computed == 2
    # Not even under the name of a result of today.
    new = sorted(set(tmp_path.glob("*.npz")) - old)
    for path, source in zip(new, sorted(old), strict=True):
        path.write_bytes(source.read_bytes())
    with pytest.warns(studies.DamagedResultsWarning):
        assert study.run(tmp_path).computed == 2


@pytest.mark.parametrize(
    "law", ["np.random.uniform(10, 20) * (now.reference.q - now.q)", "[9.0 if x < 1.0 else 0.0 for x in now.q]"]
)
def test_what_nothing_identifies_is_computed_again_and_a_message_says_so(law: str, tmp_path: Path) -> None:
    study = with_controller(maker(f"def make(*_): return lambda now: {law}"))
    said = (
        rf"results of controller 'own' are not kept in {tmp_path}, .* again: .*(draws random numbers|cannot be traced)"
    )
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ch.simulation.UncompiledWarning)
            with pytest.warns(UnidentifiedWarning, match=said):
                results = study.run(tmp_path)
        assert results.computed == 1
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.parametrize(
    "text",
    [
        "def make(model, motion, period): return ch.PDGravity(model, kp=np.random.uniform(100, 200), kd=20.0)",
        "made = []\n"
        "def make(model, motion, period):\n"
        "    made.append(1)\n"
        "    return ch.PDGravity(model, kp=100.0 + len(made), kd=20.0)",
    ],
)
def test_a_controller_that_is_another_one_every_time_is_not_stored(text: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="controller 'own' is another one every time it is made"):
        with_controller(maker(text)).run(tmp_path)
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.slow
def test_a_worker_that_makes_another_controller_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It imports the module anew and finds the value there, not the one that was set since."""
    study = tiny(controllers=(studies.StudyController("own", pd_of_a_variable),), chunk=1, runs=4)
    monkeypatch.setattr(tiny_studies, "KP", 300.0)
    with pytest.raises(studies.WorkerError, match=r"made another controller 'own' .* functools\.partial"):
        study.run(workers=2)


def test_a_worker_with_other_versions_is_found_out() -> None:
    study = tiny()
    part = parts(study)[0]
    own = origin_of(study, part, None)
    other = replace(own, environment=tuple((name, "1.0" if name == "NumPy" else v) for name, v in own.environment))
    with pytest.raises(studies.WorkerError, match=rf"another NumPy .*: 1\.0 instead of {np.__version__}"):
        Origins(study).check(part, other)


def test_what_is_bound_with_partial_reaches_workers_as_it_is() -> None:
    study = tiny(controllers=(own(900.0),), rates=(250.0,))
    part = parts(study)[0]
    other = tiny(controllers=(own(901.0),), rates=(250.0,))
    digests = [origin_of(s, part, controller_of(s, part)).digest for s in (study, other, study)]
    assert digests[0] == digests[2] != digests[1]


def test_functions_that_other_processes_cannot_import_are_refused_at_once() -> None:
    study = with_controller(maker(WAYS["closure"])).replace(chunk=1)
    with pytest.raises(ArgumentError, match=r"cannot be sent to other processes .* workers=1"):
        study.run(workers=2)
    assert "module_of_a_test" not in sys.modules
