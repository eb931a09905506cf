"""Checks of joint motions against the limits of a robot."""
