"""In the gate (``--strict-skips``) a skipped test fails, unless its reason is listed in ``allowed_skips``.

A skip hides a missing package as well as what a machine cannot have: only the second may pass unseen.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from typing import Any

import pytest

import chasles as ch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--strict-skips", action="store_true", help="fail on skips that allowed_skips does not list")
    parser.addini("allowed_skips", "beginnings of reasons for which a test may be skipped", type="linelist")


def pytest_configure() -> None:
    """Import the packages, which may import files whose doctests are collected: pytest would execute these again."""
    for name in ch.__all__:
        getattr(ch, name)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector, and keep it from looking at them later: they live until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _strict((yield), item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _strict((yield), collector.config)


def _strict(report: Any, config: pytest.Config) -> Any:
    """Turn a skip that is not allowed into a failure; an expected failure is none."""
    if report.skipped and config.getoption("--strict-skips") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(tuple(config.getini("allowed_skips"))):
            report.outcome = "failed"
            report.longrepr = f"{report.nodeid} was skipped, and --strict-skips allows no such reason: {reason}"
    return report
