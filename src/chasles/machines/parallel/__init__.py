"""Parallel platforms: the Stewart-Gough platform in closed form.

`StewartPlatform` (`stewart`, its data checked by `construction`) has `kinematics`, `legs` and `dynamics` as formulas
for one sample, `compiled`; Euler angles (`coordinates`), drives (`actuators`), `limits` and maps of the `workspace`;
and is a `robot` with loops, too. Forward kinematics (`forward`) finds the pose near a guess (`nearest_pose`) or all of
them (`all_poses`): paths from a `start_system` of the `study_equations` (`homotopy`) end in poses with a `certificate`.
"""
