"""Studies small enough for tests."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import chasles as ch
from chasles import studies


def tiny(**changes: Any) -> studies.Study:
    """Two controllers on Mazure's arm, 12 runs each, at two rates."""
    study = studies.Study(
        robots=(studies.StudyRobot.of("planar2r", start=[0.0, 0.0], goal=[0.6, -0.4], duration=0.3, title="arm"),),
        controllers=(
            studies.StudyController("computed torque", "computed-torque", {"frequency": 20.0}),
            studies.StudyController("PD", "pd-gravity", {"kp": [800.0, 80.0], "kd": [80.0, 8.0]}),
        ),
        factors=studies.Factors(rates=(125.0, 250.0)),
        design=studies.Design(runs=12, seed=3),
        execution=studies.Execution(rest=0.05),
        title="a tiny study",
    )
    return study.replace(**changes)


def stored(folder: Path) -> list[Path]:
    """Results in a folder. Files that are still being written are none; `Path.glob` matches their hidden names too."""
    return sorted(folder.glob("[!.]*.npz"))


def stiff_pd(model: ch.Robot, motion: Any, period: float, kp: float = 900.0) -> ch.PDGravity:
    """A controller of the tests' own."""
    return ch.PDGravity(model, kp=kp, kd=0.1 * kp)


KP = 900.0  # which a test changes after this module was imported


def pd_of_a_variable(model: ch.Robot, motion: Any, period: float) -> ch.PDGravity:
    return ch.PDGravity(model, kp=KP, kd=90.0)


def own(kp: float) -> studies.StudyController:
    return studies.StudyController("own", partial(stiff_pd, kp=kp))


TOML = """
[study]
title = "from a file"
[design]
runs = 8
[factors]
rates = [100, 200]
[[robots]]
robot = "planar2r"
title = "arm"
goal = [0.6, -0.4]
duration = 0.3
[[controllers]]
kind = "computed-torque"
title = "CT"
"""
