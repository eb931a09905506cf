"""ROBOOP's demonstration programs run, and print what is known of them; the page names everything that there is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from chasles.interop import roboop as rb
from chasles.interop.roboop import codes

ROOT = Path(__file__).parents[3]


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    runpy.run_path(str(ROOT / "examples" / "roboop" / f"{name}.py"))["main"]()
    lines = re.findall(r"^(\S.*): ([-\d.e+]+)$", capsys.readouterr().out, re.MULTILINE)
    return {label: float(value) for label, value in lines}


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    values = printed("demo", capsys)
    assert values["RR inverse kinematics error"] < 1e-6
    assert values["final error"] < 1e-2  # a linear law with two poles at 5/s in the heaviest direction


def test_demo_2dof_pd(capsys: pytest.CaptureFixture[str]) -> None:
    values = printed("demo_2dof_pd", capsys)
    assert 0.05 < values["largest error of joint 1"] < 1.0
    assert 0.05 < values["largest error of joint 2"] < 1.0


def test_rtest(capsys: pytest.CaptureFixture[str]) -> None:
    values = printed("rtest", capsys)
    assert values["comparisons"] == values["passed"] == 30.0


def test_bench(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "roboop" / "bench.py"))["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12
    assert all(float(number.replace(",", "")) > 0.0 for line in lines[1:] for number in line[38:].split())


def test_the_page_lists_every_name() -> None:
    page = (ROOT / "docs" / "roboop.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\w+", page))
    constants = {name for name in rb.__all__ if name.isupper() and name in vars(codes)}
    assert set(rb.__all__) - constants - {"Robot_basic"} <= named
    methods = {
        name
        for kind in (rb.Robot, rb.Quaternion, rb.Config, rb.IO_matrix_file)
        for name in vars(kind)
        if not name.startswith("_")
    }
    methods |= {name for name in vars(rb.Robot_basic) if not name.startswith("_")}
    kept_apart = {"model", "dof", "fix"} | set(vars(rb.Config)) | set(vars(rb.IO_matrix_file))
    families = {name for name in methods if name.startswith("get_available")}
    assert methods - kept_apart - families <= named
