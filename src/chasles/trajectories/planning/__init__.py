"""Time-optimal and online motions, by optional packages."""
