"""The documentation of computations is that of their algorithms, for batches and called on a robot."""

from __future__ import annotations

import inspect
import re
from operator import attrgetter

import pytest

import chasles as ch
from chasles import algorithms
from chasles.mechanics import computations

COMPUTATIONS = computations()


def parameters(doc: str) -> list[str]:
    section = doc.split("Parameters\n----------\n")[1].split("\n\n")[0]
    entries = [line for line in section.split("\n") if not line.startswith(" ")]
    return [name for entry in entries for name in entry.split(", ")]


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_every_argument_is_documented_and_batches_are(name: str) -> None:
    doc = COMPUTATIONS[name].__doc__ or ""
    assert sorted(parameters(doc)) == sorted(inspect.signature(attrgetter(name)(ch.load("planar2r"))).parameters)
    assert re.findall(r"\btree\b", doc.split("Examples\n")[1]) == []
    assert "Kinematic tree" not in doc
    stated = re.findall(r"[Ss]hape \(([^)]*)\)", doc)
    assert all(shape.startswith("...") for shape in stated)
    assert f"arm.{name}(" in doc


def test_the_algorithm_says_everything_that_the_method_says() -> None:
    method, algorithm = ch.Robot.jacobian.__doc__ or "", inspect.getdoc(algorithms.jacobian) or ""
    added = [line for line in method.split("\n") if line not in algorithm.split("\n")]
    assert len(added) < 15
    assert "must be given" in method
    assert inspect.getdoc(ch.load("planar2r").jacobian) == method


def test_there_are_as_many_as_before() -> None:
    assert len(COMPUTATIONS) == 49
