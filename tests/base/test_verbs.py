"""Verbs: generic functions whose implementations higher packages register."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.base import verbs
from chasles.base.errors import ArgumentTypeError
from chasles.trajectories import JointTrajectory

MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)


def test_verbs_and_methods_give_the_same() -> None:
    arm = ch.load("planar2r")
    assert str(ch.check(arm, MOTION, velocity=1.0)) == str(MOTION.check(arm, velocity=1.0))
    np.testing.assert_array_equal(ch.peaks(MOTION).velocity.largest, MOTION.peaks().velocity.largest)
    assert ch.plot(arm, MOTION).to_json() == MOTION.plot(robot=arm).to_json()
    assert verbs.to_dataset(MOTION, 0.1).identical(MOTION.to_dataset(0.1))


def test_runs_are_plotted_and_reported_even_as_plain_datasets(tmp_path: Path) -> None:
    import xarray

    arm = ch.load("planar2r")
    run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), MOTION, record=ch.Recording(energies=True))
    plain = xarray.Dataset(run.data_vars, run.coords, run.attrs)
    assert ch.plot(plain).to_json() == run.plot().to_json()
    assert ch.plot(run.energy_audit()).layout.annotations[0].text == "<b>Work done on the plant</b> [J]"
    pages = ch.report(plain, tmp_path / "a.html"), run.report(tmp_path / "b.html")
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert ch.report({"one": run, "two": plain}, tmp_path / "c.html").read_text().count("<h2>") == 2


def test_a_users_trajectory_is_known_by_its_base() -> None:
    class Still(JointTrajectory):
        n = 2
        knots = np.array([0.0, 1.0])

        def derivatives(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
            return (np.zeros((*np.shape(t), 2)),) * 4

    assert ch.peaks(Still()).velocity.largest.tolist() == [0.0, 0.0]


def test_an_unknown_type_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ArgumentTypeError, match=r"plot does not know the type list; it takes: .*JointTrajectory"):
        ch.plot([1.0, 2.0])
    with pytest.raises(
        ArgumentTypeError,
        match="check does not know the types Robot and StraightLine; it takes: ",
    ):
        ch.check(ch.load("panda"), ch.StraightLine(np.eye(4), np.eye(4), duration=1.0))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda arm: ch.check(MOTION, arm),
            r"takes the Robot first: check\(Robot, PointToPoint, …\), not",
        ),
        (lambda arm: ch.plot(MOTION, 0.1, arm), "plot takes the Robot first"),
        (lambda arm: ch.plot(MOTION, robot=arm), "plot takes the Robot first"),
        (lambda arm: ch.movie(MOTION, "swing.gif", arm), "movie takes the Robot first"),
        (lambda arm: ch.view(MOTION, arm, path="swing.html"), "view takes the Robot first"),
        (lambda arm: ch.view(arm.inverse_kinematics(np.eye(4), mask="position"), arm), "view takes the Robot first"),
    ],
)
def test_the_other_order_of_robot_and_motion_is_refused_with_the_right_one(call, expected: str) -> None:
    with pytest.raises(ArgumentTypeError, match=expected):
        call(ch.load("planar2r"))


def test_the_nearest_pair_of_base_classes_is_chosen() -> None:
    @verbs.Verb
    def meet(*subjects: object) -> str: ...  # type: ignore[empty-body]

    class Quick(type(MOTION)):
        pass

    meet.register(ch.Robot)(lambda robot, much=1: f"robot {much}")
    meet.register(ch.Robot, JointTrajectory)(lambda robot, motion: "motion")
    meet.register(ch.Robot, type(MOTION))(lambda robot, motion: "point to point")
    quick, spline = Quick([0.0], [1.0], duration=1.0), ch.CubicSpline([0.0, 1.0], [[0.0], [1.0]])
    arm = ch.load("planar2r")
    assert [meet(arm), meet(arm, 2), meet(arm, spline), meet(arm, quick)] == [
        "robot 1",
        "robot 2",
        "motion",
        "point to point",
    ]


def test_the_stub_states_each_implementation() -> None:
    """Names and defaults of all arguments after the subjects are those of the functions that act."""
    import chasles.verbs

    stub = ast.parse(Path(chasles.verbs.__file__).with_suffix(".pyi").read_text())
    fields = {
        each.name: [field.target.id for field in each.body] for each in stub.body if isinstance(each, ast.ClassDef)
    }
    stated: dict[tuple[str, int], set[frozenset[str]]] = {}
    for call in (each for each in stub.body if isinstance(each, ast.FunctionDef)):
        options = fields[call.args.kwarg.annotation.slice.id] if call.args.kwarg else []
        names = [each.arg for each in (*call.args.args, *call.args.kwonlyargs)] + options
        stated.setdefault((call.name, len(call.args.posonlyargs)), set()).add(frozenset(names))
    for name in chasles.verbs.__all__:
        verb = getattr(verbs, name)
        for module in verb._modules:
            importlib.import_module(module)
        acting: dict[tuple[str, int], set[frozenset[str]]] = {}
        for kinds, function in verb._implementations.items():
            parameters = list(inspect.signature(function).parameters.values())[len(kinds) :]
            names = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
            options = [] if len(names) == len(parameters) else list(verbs.ViewOptions.__annotations__)
            acting.setdefault((name, len(kinds)), set()).add(frozenset(names + options))
        assert acting == {key: value for key, value in stated.items() if key[0] == name}


def test_each_module_that_registers_is_named_and_each_type_has_an_overload() -> None:
    """What `chasles/verbs.py` does not name is found only if something else has imported it."""
    import chasles.verbs

    source = Path(ch.__file__).parent
    stub = Path(chasles.verbs.__file__).with_suffix(".pyi").read_text()
    stated = {name: " ".join(re.findall(rf"def {name}\((.*?)/,", stub, re.S)) for name in chasles.verbs.__all__}
    for file in source.rglob("*.py"):
        text = file.read_text("utf-8")
        module = ".".join(("chasles", *file.relative_to(source).with_suffix("").parts))
        for name, kinds in re.findall(r"^@verbs\.(\w+)\.register\((.*)\)$", text, re.M):
            defines_type = f"\nclass {kinds.split(', ')[-1]}(" in text
            assert defines_type or module in getattr(verbs, name)._modules, f"name {module} in chasles/verbs.py"
            if name in stated and kinds not in ("str", "os.PathLike"):  # a file, by an alias
                missing = [kind for kind in kinds.split(", ") if kind.rpartition(".")[2] not in stated[name]]
                assert not missing, f"chasles/verbs.pyi: no overload of {name} takes {missing}"


def test_verbs_pickle_by_name() -> None:
    assert pickle.loads(pickle.dumps(ch.plot)) is ch.plot


def test_plotting_a_trajectory_imports_no_simulation() -> None:
    script = (
        "import sys, json, chasles as ch\n"
        "ch.PointToPoint([0.0], [1.0], duration=1.0).plot()\n"
        "print(json.dumps([name for name in sys.modules if name.startswith(('chasles.simulation', 'xarray'))]))"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == []
