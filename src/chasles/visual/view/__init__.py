"""Interactive pages of robots that compute poses, torques and inverse kinematics by themselves."""
