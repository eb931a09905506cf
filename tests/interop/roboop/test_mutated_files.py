"""Files of ROBOOP's classes mutated at random: each ends in an error of the family, or in an object with finite values.

A mutant follows from its kind, a seed and its number; robot files are tried for `chasles.load` in tests/abuse too.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.abuse.test_mutated_files import EDGES, NONE, with_damaged_bytes, with_other_numbers, with_other_words
from tests.cpu_time import cpu_time_limit

from chasles import load
from chasles.base.errors import ChaslesError
from chasles.interop import roboop as rb
from chasles.interop.roboop.link_stewart import COLUMNS
from chasles.interop.roboop.stewart import PLATFORM
from chasles.model import ModelWarning, write

SEED = int(os.environ.get("CHASLES_MUTATION_SEED", "0"))
#: Counts that a reader must not take at their word.
HUGE = ["999999", "99999999", "2147483648", "4294967296", "18446744073709551616", "-1", "0", "1.5", "9" * 400]

CONTROLLERS = [
    "[CONTROLLER]\ntype: PROPORTIONAL_DERIVATIVE\ndof: 2\n\n[GAINS]\nKp_1: 25\nKp_2: 25.0\nKd_1: 7.0\nKd_2: 7e0\n",
    "[CONTROLLER]\ntype: RESOLVED_RATE_ACCELERATION\ndof: 6\n[GAINS]\nKvp: 50\nKpp: 700\nKvo: 50\nKpo: 700\n",
    "[CONTROLLER]\ntype: IMPEDANCE\ndof: 6\n[GAINS]\n"
    + "".join(f"{gain}_{i}: {value}\n" for i in (1, 2, 3) for gain, value in zip(
        ("Mp", "Dp", "Kp", "Mo", "Do", "Ko"), (1.0, 20.0, 300.0, 0.1, 2.0, 30.0), strict=True
    )),
]  # fmt: skip
TRAJECTORIES = [
    "# positions\nJOINT_SPACE\n2\n0\n0 0\n1\n1 0.5\n2\n0.5 1\n3\n0 0\n",
    "CARTESIAN_SPACE\n3\n0\n0 0 0\n1\n1 0.5 0.1\n2\n0.5 1 0.2\n3\n0 0 0.1\n",
    "0\nQ 1 0 0 0\n1\nQ 0.8 0.6 0 0\n2\nR 1 0 0 0 -1 0 0 0 -1\n4\nQ 0 0 0.6 0.8\n",
]
MATRICES = [
    "nb_iterations 2\nnb_vector 2\nnb_rows 2  nb_cols 1  positions\nnb_rows 1  nb_cols 3  place\n" + "-" * 33
    + "\n0.5\n1\n2 3 4\n\n0.75\n1.5\n-2 3e1 .4\n\n"
]  # fmt: skip


def stewart() -> str:
    """Return a configuration file with the platform of the manual."""
    angles, lines = np.deg2rad([-10, 10, 110, 130, 230, 250]), ["[platform]", "Joint: 1"]
    lines += [f"{key}: {value}" for key, value in zip(
        PLATFORM, [0, 0, -0.1, 1.0, 0.6, 0.8, 10, 0.12, 0.04, 0.5, 0.5, 0.5, 1.5, 0.5, 0.005, 5.44, 0.443], strict=True
    )]  # fmt: skip
    for leg, angle in enumerate(angles):
        inner = angles[leg - 1] + 0.3
        row = [3 * np.cos(angle), 3.0, 3 * np.sin(angle), np.cos(inner), np.sin(inner), -0.2]
        values = [*row, 3.358, 0.05, 4.237, 0.1406, 10.0, 12.5, 0.5, 0.35]
        lines += [f"[platform_LINK{leg + 1}]"]
        lines += [f"{key}: {value:g}" for key, value in zip(COLUMNS, values, strict=True)]
    return "\n".join(lines) + "\n"


def numbers_of_robot(file: Path) -> Iterator[object]:
    robot = rb.Robot(file, "stanford")
    yield [link.row for link in robot.links]


def numbers_of_controller(file: Path) -> Iterator[object]:
    chosen = rb.Control_Select(file)
    yield chosen.get_dof()
    for law in (chosen.pd, chosen.ctm, chosen.rra, chosen.impedance):
        yield from (value for value in vars(law).values() if isinstance(value, float | np.ndarray))


def numbers_of_trajectory(file: Path) -> Iterator[object]:
    rb.Trajectory_Select(file)
    for kind in (rb.Spl_path, rb.Spl_Quaternion):
        try:
            spline = kind(file)
        except ChaslesError:
            continue
        if isinstance(spline, rb.Spl_path):
            yield spline.p_pdot_pddot(spline.get_final_time())
        else:
            rotation, w = spline.quat_w(0.5)
            yield [rotation.s(), *rotation.v(), *w]


def numbers_of_matrices(file: Path) -> Iterator[object]:
    found, titles = rb.IO_matrix_file(file).read_all()
    assert len(found) == len(titles)
    yield from found


def numbers_of_stewart(file: Path) -> Iterator[object]:
    platform = rb.Stewart(file, "platform")
    yield from (platform.InvPosKine(), platform.get_pR(), platform.get_pIp())


Reader = Callable[[Path], Iterator[object]]
KINDS: dict[str, tuple[Reader, Callable[[], list[str]], int]] = {
    "robot": (numbers_of_robot, lambda: [write(load("stanford").description, "roboop")], 1500),
    "controller": (numbers_of_controller, lambda: CONTROLLERS, 2500),
    "trajectory": (numbers_of_trajectory, lambda: TRAJECTORIES, 2500),
    "matrices": (numbers_of_matrices, lambda: MATRICES, 2500),
    "stewart": (numbers_of_stewart, lambda: [stewart()], 1500),
}


def mutant(texts: list[str], kind: str, number: int) -> bytes:
    """Return one of the texts, changed in one to three ways, truncated, or binary."""
    rng = Random(f"roboop {kind} {SEED} {number}")
    text = rng.choice(texts)
    for _ in range(rng.choice([1, 1, 2, 3])):
        way = rng.randrange(12)
        if way < 6:
            text = with_other_numbers(text, rng, EDGES if way < 3 else NONE if way < 5 else HUGE)
        elif way < 8:
            text = with_other_words(text, rng)
        elif way == 8:
            return text.encode("utf-8", "replace")[: rng.randrange(len(text) + 1)]
        elif way == 9:
            return rng.randbytes(rng.choice([0, 1, 100, 5000]))
        elif text:
            return with_damaged_bytes(text, rng)
    return text.encode("utf-8", "replace")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_mutated_is_sound(kind: str, tmp_path: Path) -> None:
    reader, texts, _ = KINDS[kind]
    for text in texts():
        (tmp_path / "sound").write_text(text, encoding="utf-8")
        found = list(reader(tmp_path / "sound"))
        assert found
        assert all(np.all(np.isfinite(values)) for values in found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_mutants_are_refused_or_finite(kind: str, tmp_path: Path) -> None:
    reader, texts, count = KINDS[kind]
    sources, file, read = texts(), tmp_path / "mutant", 0
    for number in range(count):
        file.write_bytes(mutant(sources, kind, number))
        label, refusal = f"mutant({kind!r}, {SEED}, {number})", ""
        with cpu_time_limit(2.0, label), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", ModelWarning)
            try:
                found = list(reader(file))
                read += 1
            except ChaslesError as error:
                found, refusal = [], str(error)
            except Exception as error:
                raise AssertionError(f"{label}: {type(error).__name__}: {error}") from error
        assert all(np.all(np.isfinite(values)) for values in found), label
        assert len(refusal) < 2000, label
    assert count // 50 <= read < count
