"""Names of other libraries are answered with ours, which exist."""

from __future__ import annotations

import pickle
import re
from operator import attrgetter
from pathlib import Path

import pytest

import chasles as ch
from chasles.mechanics.other_names import LIBRARIES

PAGE = Path(__file__).parents[2] / "docs" / "other-libraries.md"
NAMES = [(name, ours) for names in LIBRARIES.values() for name, ours in names.items()]


@pytest.mark.parametrize(("name", "ours"), NAMES, ids=[name for name, _ in NAMES])
def test_an_old_name_is_answered_with_one_that_exists(name: str, ours: str) -> None:
    arm = ch.load("planar2r")
    with pytest.raises(AttributeError, match=re.escape(ours)):
        getattr(arm, name)
    words = re.findall(r"[A-Za-z_][\w.]*(?=\()", ours) or re.findall(r"[a-z_.]+", re.sub(r"[,:] .*| and ", " ", ours))
    assert words
    for word in words:
        resolved = attrgetter(word.removeprefix("chasles."))(ch if word.startswith("chasles.") else arm)
        assert resolved is not None, word


def test_the_front_door_answers_too() -> None:
    with pytest.raises(
        AttributeError, match=r"'chasles' has no attribute 'jtraj'; 'jtraj' of Robotics Toolbox .* is ch"
    ):
        _ = ch.jtraj  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_old_names_are_those_of_the_libraries() -> None:
    """Every name in the tables of the libraries that are installed here exists there."""
    import mujoco
    import pinocchio
    import roboticstoolbox
    import spatialmath.base

    robot = roboticstoolbox.models.DH.Puma560()
    model = pinocchio.Model()
    there = {
        "Pinocchio": [pinocchio, model, model.createData()],
        "MuJoCo": [mujoco, mujoco.MjData, mujoco.MjModel],
        "Robotics Toolbox for Python": [robot, roboticstoolbox, spatialmath.base],
    }
    for library, places in there.items():
        missing = [name for name in LIBRARIES[library] if not any(hasattr(place, name) for place in places)]
        assert not missing, library


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rotx", "'rotx' of Robotics Toolbox for Python is chasles.geometry.rotation_x(angle) here"),
        ("rpy2r", "'rpy2r' of Robotics Toolbox for Python is chasles.geometry.rotation_from_euler_angles("),
        ("mju_mulPose", "'mju_mulPose' of MuJoCo is chasles.geometry.compose_poses(a, b) here"),
        ("log_posee", "did you mean 'log_pose'?"),
    ],
)
def test_geometry_answers_too(name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"module 'chasles.geometry' has no attribute '{name}'; {said}")):
        getattr(ch.geometry, name)


def test_misspelt_names_are_corrected_and_private_ones_are_plain() -> None:
    arm = ch.load("planar2r")
    with pytest.raises(AttributeError, match=r"no attribute 'mass_matrx'; did you mean 'mass_matrix'\?"):
        _ = arm.mass_matrx  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute '_private'$"):
        _ = arm._private  # type: ignore[attr-defined]
    assert not hasattr(arm, "fkine")
    assert pickle.loads(pickle.dumps(arm)) == arm


def test_the_page_lists_every_name() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, _ in NAMES:
        assert f"| `{name}` |" in text
