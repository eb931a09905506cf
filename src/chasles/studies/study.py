"""`Study`: a study's definition with what is done with it."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

from chasles.studies.definition import Definition
from chasles.studies.results import StudyResults
from chasles.studies.running import run as run_study
from chasles.studies.toml import read_study


@dataclass(frozen=True)
class Study(Definition):
    """Comparison of controllers on the same robots, motions and unknowns, over many runs.

    Attributes
    ----------
    robots, controllers
        Robots and control laws to compare.
    factors
        Unknown conditions, and the sample rates.
    design
        Sampling of the runs.
    execution
        Simulation of the runs.
    tuning
        Search for the gains of each controller on training draws; None to use the controllers' settings.
    title, description
        Title and description in reports.
    source
        TOML text from which the study was read, if any.

    Examples
    --------
    >>> from chasles import studies
    >>> study = studies.Study(
    ...     robots=(studies.StudyRobot.of("planar2r", goal=[1.0, 0.5], duration=0.5),),
    ...     controllers=(studies.StudyController("computed torque", "computed-torque", {"frequency": 20.0}),),
    ...     factors=studies.Factors(rates=(250.0,)),
    ...     design=studies.Design(runs=8),
    ... )
    >>> results = study.run()
    >>> results.summaries()[0].lost
    0.0
    """

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Self:
        """Read a study from a TOML file.

        Raises
        ------
        ArgumentError, UnknownNameError
            The message names the file, the table and the key.
        """
        return read_study(cls, Path(path))

    def run(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        workers: int | None = None,
        scheduler: Any = None,
        progress: bool | None = None,
    ) -> StudyResults:
        """Simulate all runs that are not yet in the folder.

        Parameters
        ----------
        folder
            Folder in which results are stored, chunk by chunk. An interrupted study continues from there. Runs affected
            by a change of the definition, the robots or Chasles itself are simulated again.
        workers
            Number of processes on this machine. By default this process does all work and spreads the runs of each part
            over all cores. Several processes also share the compilation, which takes most of the time in a first run. A
            script that uses them needs ``if __name__ == "__main__":``.
        scheduler
            Address of a Dask scheduler, or a `distributed.Client`, whose workers simulate the runs.
        progress
            Whether to show a progress bar; by default on a terminal.

        Raises
        ------
        ArgumentError
            If the folder cannot be written, or the scheduler cannot be reached.
        """
        return run_study(self, folder, workers=workers, scheduler=scheduler, progress=progress)
