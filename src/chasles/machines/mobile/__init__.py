"""Wheeled robots: the motion of a base from its wheels, odometry, and arms on bases."""
