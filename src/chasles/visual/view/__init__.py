"""Robots to take by the hand: pages that compute poses, torques and inverse kinematics by themselves."""
