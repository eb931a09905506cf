"""The option ``--strict-skips`` of the gate."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

def test_of_a_package():
    pytest.importorskip("no_such_package")

@pytest.mark.skipif(True, reason="this machine has no moon: look elsewhere")
def test_of_a_machine():
    pass

@pytest.mark.xfail
def test_known():
    assert False
"""
CONFTEST = (Path(__file__).parents[1] / "conftest.py").read_text(encoding="utf-8")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_functions=TESTS, test_module='import pytest\npytest.importorskip("no_such_package")')
    pytester.makeini("[pytest]\nallowed_skips =\n    this machine has no moon")
    return pytester


def test_skips_pass_by_default(project: pytest.Pytester) -> None:
    project.runpytest_inprocess("-p", "no:xdist").assert_outcomes(skipped=3, xfailed=1)


def test_only_listed_skips_pass_when_strict(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("--strict-skips", "--continue-on-collection-errors", "-p", "no:xdist")
    result.assert_outcomes(skipped=1, xfailed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*test_of_a_package was skipped, * no such reason: could not import 'no_such_package'*"]
    )
    assert result.ret != 0
