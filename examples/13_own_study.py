"""Does integral action help computed torque against payloads and friction that it does not know of?

Lets two controllers make the same runs on a PUMA 560 and writes what is seen into an HTML report.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import chasles as ch
from chasles import studies


def computed_torque(model: ch.Robot, motion: Any, period: float, ki: float) -> ch.ComputedTorque:
    """Make a controller for the robot as described; of period and motion it needs to know nothing."""
    return ch.ComputedTorque(model, kp=400.0, kd=40.0, ki=ki)


def main(runs: int = 200, folder: str = "own_study") -> None:
    """Compare computed torque without and with integral action."""
    puma = studies.StudyRobot.of("puma560", goal=[0.9, 1.4, -2.4, 0.8, -0.2, 0.9], duration=1.0)
    study = studies.Study(
        title="Integral action against what the model does not say",
        robots=(puma,),
        controllers=(
            studies.StudyController("computed torque", partial(computed_torque, ki=0.0)),
            studies.StudyController("computed torque + integral", partial(computed_torque, ki=4000.0)),
        ),
        factors=studies.Factors(payload=(0.0, 2.5), friction=(0.0, 0.3), rates=(250.0, 1000.0)),
        design=studies.Design(runs=runs, seed=7),
    )
    results = study.run(folder)
    for row in results.summaries():
        print(f"median error at the end, {row.controller} [mrad]: {1e3 * row.final_error.median:.3f}")
    for finding in results.findings():
        print(finding)
    print(f"report: {results.report(f'{folder}/report.html')}")


if __name__ == "__main__":
    main()
