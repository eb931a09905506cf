"""Motions of a frame in space."""
