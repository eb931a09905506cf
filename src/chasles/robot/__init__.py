"""Robots: a description with everything that can be computed of it, by numbers or by symbols."""
