"""Every robot of example-robot-data, all computations, against Pinocchio at random states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from tests.oracles.example_robots import example, example_files
from tests.oracles.pinocchio_comparison import Comparison, Pair

from chasles.base.errors import ModelError
from chasles.model import from_urdf, shipped_path

FILES = example_files()

TOLERANCE = 1e-10
STATES = 20
#: Files that hold no robot that Chasles or Pinocchio could take, and the reason.
NO_ROBOT = {
    "alex_psyonic_hands.urdf": "joint 'Left_index_q2' mimics the joint 'index_q1', which does not exist",
    "ur3.urdf": "there is no link",
}
#: Files without moving joints, with which Pinocchio crashes.
NO_JOINTS = {"quadrotor_base.urdf", "iris_simple.urdf"}
ROBOTS = [path for path in FILES if path.name not in NO_ROBOT.keys() | NO_JOINTS]
#: Files with inertias that no body can have; read with check=False, and equations hold for them all the same.
UNPHYSICAL = {
    "romeo_laas_small.urdf": "link 'body': a principal moment of inertia is negative",
}
#: Small robots with mimic and continuous joints and with friction, and the frames of the Jacobians. All others are
#: behind `slow`, and these as well, with more states.
SAMPLE = {
    "panda_description/urdf/panda.urdf": ["panda_hand", "panda_leftfinger", "panda_rightfinger"],
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf": None,
    "finger_edu_description/robots/finger_edu.urdf": None,
}
#: The same with a free base.
FREE_SAMPLE = {
    "quadrotor_base.urdf": None,
    "solo_description/robots/solo.urdf": ["FL_FOOT"],
}
#: Quantities that are compared; four of them need the inverse of the mass matrix.
QUANTITIES = 27
#: Robots with fewer degrees of freedom run the code of users; that of others is compiled in the quick way of tests.
COMPILED_AS_FOR_USERS = 10
#: Larger robots run on NumPy, whose operations are the same, but for the longest: LLVM would take minutes for them all.
MOST_COMPILED = 20
#: Humanoids on which machine code of free bases is as long as any.
LONGEST_FREE = {"g1_29dof_rev_1_0.urdf", "talos_reduced.urdf"}
#: Robots with more frames than this have the Jacobians of at most as many of them compared, evenly spread.
MOST_FRAMES = 12


def bases() -> Iterator[ParameterSet]:
    """Every robot with its base fixed; with a free base that of each folder with the shortest file, and the longest."""
    shortest = {min(files, key=lambda path: path.stat().st_size) for files in _folders().values()}
    for path in ROBOTS:
        name = f"{path.parent.parent.name}-{path.stem}"
        yield pytest.param(path, False, id=f"{name}-fixed")
        if path in shortest or path.name in LONGEST_FREE:
            yield pytest.param(path, True, id=f"{name}-free")


def _folders() -> dict[Path, list[Path]]:
    folders: dict[Path, list[Path]] = {}
    for path in ROBOTS:
        folders.setdefault(path.parent, []).append(path)
    return folders


def worst_of(comparisons: list[Comparison]) -> Comparison:
    return max(comparisons, key=lambda comparison: comparison.error)


@pytest.mark.parametrize("name", SAMPLE, ids=lambda name: Path(name).stem)
def test_sample_of_robots(name: str) -> None:
    pair = Pair.from_urdf(example(name), count=5)
    for comparison in pair.comparisons(SAMPLE[name]):
        assert comparison.within(TOLERANCE), (comparison.name, comparison.error)


@pytest.mark.parametrize("name", FREE_SAMPLE, ids=lambda name: Path(name).stem)
def test_sample_of_robots_with_a_free_base(name: str) -> None:
    pair = Pair.from_urdf(example(name), count=5, free=True)
    for comparison in pair.comparisons(FREE_SAMPLE[name]):
        assert comparison.within(TOLERANCE), (comparison.name, comparison.error)


@pytest.mark.parametrize("name", [pytest.param("panda", marks=pytest.mark.slow), "iiwa14"])  # a panda is in the sample
def test_shipped_robots(name: str) -> None:
    pair = Pair.from_urdf(shipped_path(name), count=5, check=True)
    for comparison in pair.comparisons([pair.robot.description.link_names[-1]]):
        assert comparison.within(TOLERANCE), (comparison.name, comparison.error)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "free"), list(bases()))
def test_every_robot(
    path: Path, free: bool, record_property: pytest.RecordProperty, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair.from_urdf(path, STATES, free=free)
    if pair.robot.n > MOST_COMPILED and path.name not in LONGEST_FREE:
        monkeypatch.setenv("CHASLES_JIT", "0")
    if pair.robot.n < COMPILED_AS_FOR_USERS:
        monkeypatch.setenv("CHASLES_QUICK_CODE", "0")
    links = pair.robot.description.link_names[1 if free else 0 :]
    frames = links[:: -(-len(links) // MOST_FRAMES)]
    comparisons = list(pair.comparisons(frames))
    worst = worst_of(comparisons)
    record_property("worst", f"{worst.error:.1e} ({worst.name})")
    assert all(comparison.within(TOLERANCE) for comparison in comparisons), worst.name
    quantities = {comparison.name.split(",")[0] for comparison in comparisons}
    assert len(quantities) == QUANTITIES - (0 if pair.is_invertible else 4), sorted(quantities)


@pytest.mark.filterwarnings("ignore::chasles.model.inertia.ModelWarning")
def test_every_file_is_read_or_refused_for_a_known_reason() -> None:
    refused: dict[str, str] = {}
    for path in FILES:
        try:
            assert (from_urdf(path).n == 0) == (path.name in NO_JOINTS)
        except ModelError as error:
            refused[path.name] = str(error)
    known = NO_ROBOT | UNPHYSICAL
    assert refused.keys() == known.keys()
    for name, message in refused.items():
        assert known[name] in message
        assert name in message
