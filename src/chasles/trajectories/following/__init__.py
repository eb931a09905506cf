"""Joint motions that follow a motion in space."""
