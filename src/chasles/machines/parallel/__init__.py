"""Parallel platforms: the Stewart-Gough platform, its drives, poses, workspace and dynamics."""
