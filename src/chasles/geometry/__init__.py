"""Geometry of rigid motion: formulas for one sample, made functions over batches that are compiled when first called.

Lengths are in m, angles in rad; `T_ab` and `R_ab` map coordinates in b to a; twists (omega, v) and wrenches (m, f) have
their angular part first; quaternions are (w, x, y, z). Leading axes of arguments are batches.

>>> import chasles as ch
>>> T = ch.geometry.exp_pose([[0.0, 0.0, 0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]])
>>> ch.geometry.log_pose(T).round(12) + 0.0
array([[0. , 0. , 0.5, 1. , 0. , 0. ],
       [0. , 0. , 0. , 1. , 2. , 3. ]])
"""

from chasles.geometry.batched import UNIT_QUATERNION, UNIT_VECTOR, Batched, Kind, batched
from chasles.geometry.dynamic_equation import DynamicSolution, solve_dynamic_equation
from chasles.geometry.euler_angles import (
    EULER_SEQUENCES,
    EulerAngles,
    euler_angle_solutions,
    euler_angles_from_rotation,
    other_euler_angles,
    rotation_from_euler_angles,
)
from chasles.geometry.euler_rates import (
    EulerAccelerations,
    EulerRates,
    angular_acceleration_from_euler_accelerations,
    angular_velocity_from_euler_rates,
    euler_accelerations_from_angular_acceleration,
    euler_product_matrix,
    euler_rate_matrix,
    euler_rates_from_angular_velocity,
    inverse_euler_rate_matrix,
)
from chasles.geometry.exponential_jacobians import (
    inverse_left_jacobian_pose,
    inverse_left_jacobian_rotation,
    inverse_right_jacobian_pose,
    inverse_right_jacobian_rotation,
    left_jacobian_pose,
    left_jacobian_rotation,
    left_jacobian_rotation_rate,
    right_jacobian_pose,
    right_jacobian_rotation,
    right_jacobian_rotation_rate,
)
from chasles.geometry.hybrid_dynamics import HybridDynamics, hybrid_dynamics
from chasles.geometry.inertias import (
    MassProperties,
    add_mass_properties,
    mass_properties_from_spatial_inertia,
    parallel_axes,
    spatial_inertia,
    transform_mass_properties,
    transform_spatial_inertia,
)
from chasles.geometry.lines import (
    Line,
    LineIntersection,
    LinePair,
    LineProjection,
    intersect_lines,
    line_through_points,
    project_point_on_line,
)
from chasles.geometry.matrix_dynamics import (
    action_matrix_from_acceleration,
    gravity_matrix,
    momentum_matrix_from_velocity,
    pseudo_scalar_product,
    skew_operator,
    trace_form,
)
from chasles.geometry.planes import (
    LinePlaneIntersection,
    LinePlanePair,
    PlaneIntersection,
    PlanePair,
    PlaneProjection,
    distance_to_plane,
    intersect_line_and_plane,
    intersect_planes,
    plane_from_point_and_normal,
    plane_through_points,
    project_point_on_plane,
)
from chasles.geometry.points import (
    angle_at_point,
    distance_between_points,
    midpoint,
    pose_from_three_points,
    pose_from_two_vectors,
    rotation_from_three_points,
    rotation_from_two_vectors,
    weighted_point,
)
from chasles.geometry.pose_interpolation import PoseMotion, interpolate_pose, interpolate_pose_motion
from chasles.geometry.projections import (
    POSE,
    ROTATION,
    mean_rotation,
    pose_distance,
    project_pose,
    project_rotation,
    random_rotation,
    rotation_distance,
)
from chasles.geometry.pseudo_inertias import (
    inertial_parameters_from_pseudo_inertia,
    is_physically_consistent,
    log_cholesky_from_pseudo_inertia,
    mass_properties_from_pseudo_inertia,
    nearest_physically_consistent,
    pseudo_inertia,
    pseudo_inertia_from_inertial_parameters,
    pseudo_inertia_from_log_cholesky,
    pseudo_inertia_from_spatial_inertia,
    spatial_inertia_from_pseudo_inertia,
    transform_pseudo_inertia,
)
from chasles.geometry.quaternion_interpolation import (
    QuaternionMotion,
    slerp_quaternion,
    slerp_quaternion_motion,
    squad_control_quaternion,
    squad_quaternion,
    squad_quaternion_motion,
)
from chasles.geometry.quaternion_rates import (
    angular_acceleration_from_quaternion_acceleration,
    angular_velocity_from_quaternion_rate,
    integrate_quaternion,
    quaternion_acceleration_from_angular_acceleration,
    quaternion_rate_from_angular_velocity,
    quaternion_rate_matrix,
)
from chasles.geometry.quaternion_rotations import (
    angle_between_quaternions,
    axis_angle_from_quaternion,
    quaternion_angle,
    quaternion_from_axis_angle,
    quaternion_from_rotation,
    quaternion_from_rotation_vector,
    relative_quaternion,
    rotate_by_quaternion,
    rotation_from_quaternion,
    rotation_vector_from_quaternion,
)
from chasles.geometry.quaternion_spline import QuaternionSpline
from chasles.geometry.quaternions import (
    canonical_quaternion,
    conjugate_quaternion,
    exp_quaternion,
    inverse_quaternion,
    log_quaternion,
    multiply_quaternions,
    normalize_quaternion,
    power_quaternion,
)
from chasles.geometry.rigid_body_dynamics import kinetic_energy, momentum, newton_euler_wrench
from chasles.geometry.rigid_body_matrices import (
    acceleration_matrix,
    acceleration_matrix_from_rate,
    action_matrix,
    classical_acceleration_from_acceleration_matrix,
    compose_acceleration_matrices,
    displacement_matrix,
    momentum_from_momentum_matrix,
    momentum_matrix,
    transform_action_matrix,
    transform_motion_matrix,
    twist_from_velocity_matrix,
    velocity_matrix,
    velocity_matrix_rate,
    wrench_from_action_matrix,
)
from chasles.geometry.rigid_motions import (
    compose_poses,
    exp_pose,
    inverse_pose,
    log_pose,
    pose,
    relative_pose,
    relative_twist,
    rotation_of,
    transform_point,
    transform_points,
    translation_of,
)
from chasles.geometry.rotations import (
    AxisAngle,
    angle_between_rotations,
    axis_angle_from_rotation,
    compose_rotations,
    exp_rotation,
    inverse_rotation,
    log_rotation,
    relative_rotation,
    rotate,
    rotation_angle,
    rotation_from_axis_angle,
    rotation_x,
    rotation_y,
    rotation_z,
)
from chasles.geometry.scipy_conversion import (
    pose_from_scipy,
    pose_to_scipy,
    quaternion_from_scipy,
    quaternion_to_scipy,
    rotation_from_scipy,
    rotation_to_scipy,
)
from chasles.geometry.screw_matrices import (
    MotionMatrices,
    joint_motion_matrices,
    joint_screw_matrix,
    screw_from_velocity_matrix,
    unit_screw_matrix,
    velocity_matrix_from_screw,
)
from chasles.geometry.screws import (
    Screw,
    adjoint,
    pose_from_screw,
    screw_axis,
    screw_from_pose,
    screw_from_twist,
    twist_cross,
    twist_cross_matrix,
    twist_from_screw,
)
from chasles.geometry.spatial_vectors import (
    classical_from_spatial_acceleration,
    compose_classical_accelerations,
    compose_spatial_accelerations,
    coriolis_acceleration,
    point_acceleration,
    point_velocity,
    power,
    spatial_from_classical_acceleration,
    transform_classical_acceleration,
    transform_twist,
    transform_wrench,
    wrench_cross,
    wrench_from_force,
)
from chasles.geometry.vectors import angle_between, cross, dot, norm, normalize, skew, vee

# fmt: off
__all__ = [
    "EULER_SEQUENCES", "POSE", "ROTATION", "UNIT_QUATERNION", "UNIT_VECTOR", "AxisAngle", "Batched", "DynamicSolution",
    "EulerAccelerations", "EulerAngles", "EulerRates", "HybridDynamics", "Kind", "Line", "LineIntersection", "LinePair",
    "LinePlaneIntersection", "LinePlanePair", "LineProjection", "MassProperties", "MotionMatrices", "PlaneIntersection",
    "PlanePair", "PlaneProjection", "PoseMotion", "QuaternionMotion", "QuaternionSpline", "Screw",
    "acceleration_matrix", "acceleration_matrix_from_rate", "action_matrix", "action_matrix_from_acceleration",
    "add_mass_properties", "adjoint", "angle_at_point", "angle_between", "angle_between_quaternions",
    "angle_between_rotations", "angular_acceleration_from_euler_accelerations",
    "angular_acceleration_from_quaternion_acceleration", "angular_velocity_from_euler_rates",
    "angular_velocity_from_quaternion_rate", "axis_angle_from_quaternion", "axis_angle_from_rotation", "batched",
    "canonical_quaternion", "classical_acceleration_from_acceleration_matrix", "classical_from_spatial_acceleration",
    "compose_acceleration_matrices", "compose_classical_accelerations", "compose_poses", "compose_rotations",
    "compose_spatial_accelerations", "conjugate_quaternion", "coriolis_acceleration", "cross", "displacement_matrix",
    "distance_between_points", "distance_to_plane", "dot", "euler_accelerations_from_angular_acceleration",
    "euler_angle_solutions", "euler_angles_from_rotation", "euler_product_matrix", "euler_rate_matrix",
    "euler_rates_from_angular_velocity", "exp_pose", "exp_quaternion", "exp_rotation", "gravity_matrix",
    "hybrid_dynamics", "inertial_parameters_from_pseudo_inertia", "integrate_quaternion", "interpolate_pose",
    "interpolate_pose_motion", "intersect_line_and_plane", "intersect_lines", "intersect_planes",
    "inverse_euler_rate_matrix", "inverse_left_jacobian_pose", "inverse_left_jacobian_rotation", "inverse_pose",
    "inverse_quaternion", "inverse_right_jacobian_pose", "inverse_right_jacobian_rotation", "inverse_rotation",
    "is_physically_consistent", "joint_motion_matrices", "joint_screw_matrix", "kinetic_energy", "left_jacobian_pose",
    "left_jacobian_rotation", "left_jacobian_rotation_rate", "line_through_points", "log_cholesky_from_pseudo_inertia",
    "log_pose", "log_quaternion", "log_rotation", "mass_properties_from_pseudo_inertia",
    "mass_properties_from_spatial_inertia", "mean_rotation", "midpoint", "momentum", "momentum_from_momentum_matrix",
    "momentum_matrix", "momentum_matrix_from_velocity", "multiply_quaternions", "nearest_physically_consistent",
    "newton_euler_wrench", "norm", "normalize", "normalize_quaternion", "other_euler_angles", "parallel_axes",
    "plane_from_point_and_normal", "plane_through_points", "point_acceleration", "point_velocity", "pose",
    "pose_distance", "pose_from_scipy", "pose_from_screw", "pose_from_three_points", "pose_from_two_vectors",
    "pose_to_scipy", "power", "power_quaternion", "project_point_on_line", "project_point_on_plane", "project_pose",
    "project_rotation", "pseudo_inertia", "pseudo_inertia_from_inertial_parameters", "pseudo_inertia_from_log_cholesky",
    "pseudo_inertia_from_spatial_inertia", "pseudo_scalar_product", "quaternion_acceleration_from_angular_acceleration",
    "quaternion_angle", "quaternion_from_axis_angle", "quaternion_from_rotation", "quaternion_from_rotation_vector",
    "quaternion_from_scipy", "quaternion_rate_from_angular_velocity", "quaternion_rate_matrix", "quaternion_to_scipy",
    "random_rotation", "relative_pose", "relative_quaternion", "relative_rotation", "relative_twist",
    "right_jacobian_pose", "right_jacobian_rotation", "right_jacobian_rotation_rate", "rotate", "rotate_by_quaternion",
    "rotation_angle", "rotation_distance", "rotation_from_axis_angle", "rotation_from_euler_angles",
    "rotation_from_quaternion", "rotation_from_scipy", "rotation_from_three_points", "rotation_from_two_vectors",
    "rotation_of", "rotation_to_scipy", "rotation_vector_from_quaternion", "rotation_x", "rotation_y", "rotation_z",
    "screw_axis", "screw_from_pose", "screw_from_twist", "screw_from_velocity_matrix", "skew", "skew_operator",
    "slerp_quaternion", "slerp_quaternion_motion", "solve_dynamic_equation", "spatial_from_classical_acceleration",
    "spatial_inertia", "spatial_inertia_from_pseudo_inertia", "squad_control_quaternion", "squad_quaternion",
    "squad_quaternion_motion", "trace_form", "transform_action_matrix", "transform_classical_acceleration",
    "transform_mass_properties", "transform_motion_matrix", "transform_point", "transform_points",
    "transform_pseudo_inertia", "transform_spatial_inertia", "transform_twist", "transform_wrench", "translation_of",
    "twist_cross", "twist_cross_matrix", "twist_from_screw", "twist_from_velocity_matrix", "unit_screw_matrix", "vee",
    "velocity_matrix", "velocity_matrix_from_screw", "velocity_matrix_rate", "weighted_point", "wrench_cross",
    "wrench_from_action_matrix", "wrench_from_force",
]
# fmt: on
