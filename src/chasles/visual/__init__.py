"""Plots and self-contained HTML reports of runs; simple shapes for robots, drawn from their kinematics."""
