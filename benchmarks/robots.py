"""The robots that benchmarks use, and the error that says which peer is missing."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from tests.oracles.example_robots import example

from chasles.model import shipped_path

PANDA = shipped_path("panda")
PANDA_TOOL = "panda_hand_tcp"


class MissingPeerError(ImportError):
    """A package to compare with is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f'{package} is not installed; for the whole comparison: pip install ".[bench]"')


def talos() -> Path:
    """The humanoid Talos of example-robot-data, a URDF file."""
    return _example("talos_data/robots/talos_full_v2.urdf")


def anymal() -> Path:
    """The quadruped ANYmal C of example-robot-data, a URDF file."""
    return _example("anymal_c_simple_description/urdf/anymal.urdf")


def _example(name: str) -> Path:
    try:
        return example(name)
    except metadata.PackageNotFoundError:
        raise MissingPeerError("example-robot-data") from None
