"""One order of arguments: the robot first, what is done to it next."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentTypeError

ROBOTS = ("robot", "plant", "description", "mechanics", "arm")
TYPES = ("Robot", "Mechanics", "Description", "Plant", "RobotOrPlant")
#: A sampled motion, whose columns a robot names; a chain that begins with its base; results.
OTHERS_FIRST = (
    "JointTrajectory.to_dataset",
    "JointTrajectory.plot",
    "MobileManipulator",
    "JointRates",
    "RobotFunction",
)
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=2.0)


def public_callables() -> Iterator[tuple[str, Callable[..., object]]]:
    packages = ["chasles", *(f"chasles.{found.name}" for found in pkgutil.iter_modules(ch.__path__) if found.ispkg)]
    for package in packages:
        if package in ("chasles.interop", "chasles.cli"):  # these speak other libraries' languages
            continue
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            member = getattr(module, name)
            if not callable(member) or not str(getattr(member, "__module__", "")).startswith("chasles"):
                continue
            yield name, member
            if inspect.isclass(member):
                methods = {key: value for key, value in vars(member).items() if inspect.isfunction(value)}
                yield from ((f"{name}.{key}", value) for key, value in methods.items() if not key.startswith("_"))


def is_robot(parameter: inspect.Parameter) -> bool:
    return parameter.name in ROBOTS and str(parameter.annotation).split(" ")[0].split("[")[0] in TYPES


def test_the_robot_is_the_first_argument_of_every_public_function() -> None:
    checked = 0
    for name, function in public_callables():
        if inspect.isclass(function) and issubclass(function, BaseException):
            continue
        parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
        if not any(map(is_robot, parameters)) or name in OTHERS_FIRST:
            continue
        assert is_robot(parameters[0]), f"{name}{inspect.signature(function)}"
        checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda arm: ch.time_optimal([arm.home, arm.home + 0.5], arm), r"time_optimal\(robot, path\).*is a list"),
        (lambda arm: ch.time_optimal(MOTION, arm), r"takes the robot first: .*is a PointToPoint"),
        (lambda arm: ch.model.from_srdf("arm.srdf", arm.description), r"comes first: from_srdf\(description, path\)"),
        (lambda arm: ch.model.parse_srdf("<robot/>", arm.description), r"comes first: parse_srdf\(description, text\)"),
        (lambda arm: ch.Log({"t": np.zeros(3)}, arm), r"Log takes the robot first: Log\(robot, source\).*is a dict"),
    ],
)
def test_the_other_order_is_refused_with_the_right_one(call: Callable[[ch.Robot], object], expected: str) -> None:
    with pytest.raises(ArgumentTypeError, match=expected):
        call(ch.load("planar2r"))
