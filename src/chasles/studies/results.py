"""Results of a study: what its runs say, in sentences, tables and a report."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasles.base import verbs
from chasles.base.findings import Finding
from chasles.studies.run_results import RunResults
from chasles.studies.tables import dataset, markdown, text

if TYPE_CHECKING:
    import xarray


@verbs.Verb
def study_findings(results: object) -> Any:
    """Find what the results of a study show."""


study_findings.implemented_in("chasles.studies.findings")


class StudyResults(RunResults):
    """Results of `Study.run`: measures of every run, and what they say in sentences, tables and a report."""

    def __repr__(self) -> str:
        pairs = f"{len(self.values)} pairs of robot and controller"
        return f"<StudyResults of '{self.study.title}': {pairs}, {len(self.runs)} runs each>"

    def __str__(self) -> str:
        """Return median RMS error, lost and refused runs, margin and slowest pole of each robot and controller."""
        return f"{self!r}\n{text(self)}"

    def findings(self) -> tuple[Finding, ...]:
        """Find what the study shows, over all robots first; what is found on one has the fact ``robot``.

        Programs read ``finding.rule.code``, ``value`` and ``facts``; ``str(finding)`` is its sentence.
        """
        all_findings: tuple[Finding, ...] = study_findings(self)
        return all_findings

    def to_dataset(self) -> xarray.Dataset:
        """All numbers as an `xarray.Dataset` with the dimensions (robot, controller, run)."""
        return dataset(self)

    def markdown(self, robot: str) -> str:
        """Return a robot's cells as a table in Markdown: medians, lost runs, margins and poles at each rate and delay.

        Each cell has the median of the RMS joint error in mrad (mm) with its 95 % interval, the share of lost runs if
        there are any, and after a semicolon the least disk margin of the loop along the motion and its slowest pole.
        """
        return markdown(self, robot)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write one self-contained HTML page with findings, tables and curves.

        Raises
        ------
        MissingExtraError
            Plotly is not installed.
        ArgumentError
            The file cannot be written.
        """
        written: Path = verbs.report(self, path)
        return written
