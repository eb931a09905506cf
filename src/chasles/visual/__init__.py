"""Plots and self-contained HTML reports of runs; simple shapes for robots, drawn from their kinematics."""

from chasles.visual.vector_figures import to_matplotlib

__all__ = ["to_matplotlib"]
