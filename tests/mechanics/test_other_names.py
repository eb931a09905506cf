"""Names of other libraries are answered with ours, which exist."""

from __future__ import annotations

import pickle
import re
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
    for word in re.findall(r"[a-z]\w+(?=\()|^[a-z_]+$|(?<=and )[a-z_]+$", ours):
        assert hasattr(ch if word == "simulate" else arm, word), word


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
