"""Logs that are accepted: of the robot's joints, with columns that agree with each other and with the robot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from chasles.base.errors import IdentificationError
from chasles.base.findings import Finding, Rule, of_weight
from chasles.identification.logs.log import Log
from chasles.robot.robot import Robot

OTHER_JOINTS = Rule(
    "other-joints", 0.0, "each joint has a column",
    "the log of robot '{log}' has {joints} joints, robot '{robot}' has {n}", "refusal",
)  # fmt: skip
NO_EFFORT = Rule(
    "no-effort", 0.0, "motion without torques tells no mass",
    "no effort varies in this log: torques or currents are needed", "refusal",
)  # fmt: skip


def accepted_log(robot: Robot, source: Any, *, check: bool = True, needs_effort: bool = True, advice: str = "") -> Log:
    """Return a log that something of a robot can be identified from.

    Parameters
    ----------
    robot
        Robot that moved.
    source
        `Log`, or a source that it reads.
    check
        Whether columns that contradict each other or the robot are refused.
    needs_effort
        Whether a log without torques or currents is refused.
    advice
        End of the message about contradictions.

    Raises
    ------
    IdentificationError
        If the log is refused; `findings` of the error has the codes.
    """
    log = source if isinstance(source, Log) else Log(robot, source)
    if log.n != robot.n:
        refuse(OTHER_JOINTS.told(log.n - robot.n, log=log.robot.name, joints=log.n, robot=robot.name, n=robot.n))
    if check:
        refuse(log.findings, advice)
    if needs_effort and not log.measured.any():
        refuse(NO_EFFORT.told(0.0))
    return log


def refuse(findings: Sequence[Finding], advice: str = "", *, doubts: Collection[str] = ()) -> None:
    """Raise `IdentificationError` if findings refuse the log.

    Parameters
    ----------
    findings
        Findings, of which refusals matter.
    advice
        End of the message.
    doubts
        Codes of findings that the message names, too: what the log may be instead.
    """
    refusals = of_weight(findings, "refusal")
    if refusals:
        named = (*refusals, *(finding for finding in findings if finding.rule.code in doubts))
        raise IdentificationError(f"{'; '.join(map(str, named))}{advice}", named)
