"""The verbs as users call them, `chasles.plot` and others, and the modules that implement them.

The stub beside this file states each call for type checkers and editors.
"""

from chasles.base import verbs
from chasles.base.verbs import check, movie, peaks, picture, plot, report, view

__all__ = ["check", "movie", "peaks", "picture", "plot", "report", "view"]

verbs.plot.implemented_in(
    "chasles.visual.trajectories", "chasles.visual.robot_plots", "chasles.visual.figures", "chasles.visual.energy",
    "chasles.visual.workspace", "chasles.visual.run_plots",
)  # fmt: skip
verbs.report.implemented_in("chasles.visual.report", "chasles.visual.identification", "chasles.studies.report")
verbs.to_html.implemented_in("chasles.visual.notebook")
verbs.picture.implemented_in("chasles.visual.movies")
verbs.movie.implemented_in("chasles.visual.movies", "chasles.visual.run_movie")
verbs.view.implemented_in("chasles.visual.view.views", "chasles.visual.view.run_view")
verbs.summary.implemented_in("chasles.visual.words")
verbs.check.implemented_in("chasles.trajectories.limits.checks", "chasles.model.robot_check")
verbs.peaks.implemented_in("chasles.trajectories.limits.checks")
verbs.to_dataset.implemented_in("chasles.trajectories.tables")
verbs.follow.implemented_in("chasles.trajectories.following.follow")
