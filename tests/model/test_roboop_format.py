"""ROBOOP's configuration files and initialisation matrices: what they say, the way back, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ModelError, UnknownNameError
from chasles.model import (
    from_dh,
    load,
    parse_toml,
    to_roboop,
    to_toml,
    with_friction,
    with_inertial_parameters,
    with_payload,
)
from chasles.model.formats.configuration import configuration_text, parse_configuration
from chasles.model.formats.roboop import (
    COLUMNS,
    RoboopTable,
    initialization_matrix,
    parse_roboop_table,
    roboop_description,
)
from chasles.model.formats.to_roboop import roboop_table, roboop_text

ARM = """# Two links, as people write them
[arm]  what follows the bracket is ignored
DH: 1
Fix: 0
dof :2
angle_in_degree:1
Motor: 1
Name: an arm with blanks # and a comment

[arm_LINK1]
joint_type: 0
theta: 30
d: 0.4
alpha: -90
theta_min: -170
theta_max: 170
joint_offset: 10
m: 2
cz: 0.1
Ixx: 0.02
Iyy: 0.02
Izz: 0.01
Im: 2e-4
Gr: -62.6111
B: 1.48e-3
Cf: 0.415
[arm_LINK2]
joint_type: 1
theta: -90
d: 0.25
d: 7
theta_min: 0.1
theta_max: 0.9
joint_offset: 5
m: 1
Ixx: 0.01
Iyy: 0.01
Izz: 0.01
immobile: 1"""


def test_a_file_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "arm.conf"
    path.write_text(ARM)  # no end of the last line
    with pytest.warns(ch.model.ModelWarning, match="limits of 'joint2' are equal, so inverse kinematics .* allow no"):
        arm = load(path)
    first, second = arm.joints
    assert np.rad2deg([first.limits.lower, first.limits.upper]) == pytest.approx([-170.0, 170.0])
    assert (second.kind, second.limits.lower, second.limits.upper) == ("prismatic", 0.25, 0.25)  # immobile
    assert arm.home == pytest.approx([np.pi / 6, 0.25])  # the first of two values of d counts
    assert first.viscous_friction == 62.6111**2 * 1.48e-3
    assert first.coulomb_friction == 62.6111 * 0.415
    T = ch.Robot(arm).forward_kinematics([0.3, 0.2])
    expected = np.eye(4)
    for theta, d, alpha in ((0.3 + np.deg2rad(10.0), 0.4, -np.pi / 2), (-np.pi / 2, 5.2, 0.0)):  # the offset is 5 m
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        expected = expected @ [[c, -s * ca, s * sa, 0], [s, c * ca, -c * sa, 0], [0, sa, ca, d], [0, 0, 0, 1]]
    np.testing.assert_allclose(T, expected, atol=1e-15)


def test_a_robot_without_motors_has_no_friction_of_them() -> None:
    for statement, friction in (("Motor: 1", 62.6111 * 0.415), ("Motor: 0", 0.0), ("", 62.6111 * 0.415)):
        table = parse_roboop_table(ARM.replace("Motor: 1", statement))
        assert roboop_description(table).joints[0].coulomb_friction == friction


def test_an_immobile_joint_stays_where_it_is_while_the_others_reach() -> None:
    table = roboop_table(load("puma560"))
    rows = table.matrix.copy()
    rows[3, COLUMNS.index("theta")], rows[3, COLUMNS.index("immobile")] = 0.4, 1.0
    arm = ch.Robot(roboop_description(RoboopTable(rows)))
    q = np.array([0.3, 0.9, -1.1, 0.4, 0.6, 0.2])
    for method in ("numeric", "closed form"):
        found = arm.inverse_kinematics(arm.forward_kinematics(q), q + 0.05, method=method)
        assert found.success
        np.testing.assert_allclose(found.q, q, atol=1e-5)
    assert not arm.inverse_kinematics(arm.forward_kinematics(q + 0.5 * np.eye(6)[3]), q).success
    assert roboop_table(arm.description).column("immobile").tolist() == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("standard", [True, False])
@pytest.mark.parametrize("name", ["puma560", "stanford", "scara", "ur5"])
def test_what_is_written_is_read_again(name: str, standard: bool) -> None:
    description = load(name).replace(frames=(), tool="")
    try:
        table = roboop_table(description, standard=standard)
    except ModelError as error:  # a base or tool that modified parameters cannot place
        assert not standard
        assert "no base" in str(error) or "cannot place its tool" in str(error)  # noqa: PT017
        return
    assert parse_roboop_table(roboop_text(table, "title")) == table
    again, rng = roboop_description(table), np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1.0, 1.0, size=(3, 10, description.n))
    ours, theirs = ch.Robot(description), ch.Robot(again)
    np.testing.assert_allclose(theirs.inverse_dynamics(q, qd, qdd), ours.inverse_dynamics(q, qd, qdd), rtol=1e-11)
    np.testing.assert_allclose(theirs.forward_kinematics(q), ours.forward_kinematics(q), atol=1e-14)
    assert again.home.tolist() == description.home.tolist()
    for joint, same in zip(description.joints, again.joints, strict=True):
        assert same.viscous_friction == pytest.approx(joint.viscous_friction, rel=5e-16)
        assert same.coulomb_friction == pytest.approx(joint.coulomb_friction, rel=5e-16)
    assert roboop_table(again, standard=standard) == table


def test_minimal_parameters_and_a_fixed_link_with_a_load() -> None:
    arm = ch.load("stanford")
    base = arm.inertial.base()
    minimal = with_inertial_parameters(load("stanford"), base.to_inertial @ base.values, check=False)
    table = parse_roboop_table(to_roboop(minimal, standard=False))
    assert (table.minimal, table.standard, table.dof) == (True, False, 6)
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 10, 6))
    read_again = ch.Robot(roboop_description(table))
    np.testing.assert_allclose(
        read_again.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), rtol=1e-10, atol=1e-11
    )
    turned = [[0, -1, 0, 0.0], [1, 0, 0, 0.2], [0, 0, 1, 0.1], [0, 0, 0, 1]]
    hand = with_payload(from_dh([{"a": 0.5, "mass": 1.0}], tool=turned), 2.0)
    table = parse_roboop_table(to_roboop(hand))
    assert table.has_fixed_link
    assert ch.Robot(roboop_description(table)).gravity_torque([0.3]) == pytest.approx(
        ch.Robot(hand).gravity_torque([0.3]), abs=1e-15
    )
    np.testing.assert_allclose(
        ch.Robot(roboop_description(table)).mass_matrix([0.3]), ch.Robot(hand).mass_matrix([0.3]), rtol=1e-15
    )


def test_the_matrices_of_the_manual_have_19_and_4_columns_or_23() -> None:
    arm, motor = np.arange(38.0).reshape(2, 19), np.arange(8.0).reshape(2, 4)
    whole = initialization_matrix(arm, motor)
    assert whole[:, :18].tolist() == arm[:, :18].tolist()
    assert whole[:, 18:22].tolist() == motor.tolist()
    assert whole[:, 22].tolist() == arm[:, 18].tolist()
    assert initialization_matrix(whole).tolist() == whole.tolist()
    for matrices in ((arm,), (whole, motor), (arm, motor[:1]), (arm, motor[:, :3])):
        with pytest.raises(ModelError, match="initialisation matrix"):
            initialization_matrix(*matrices)


def kinds(*values: float) -> np.ndarray:
    matrix = np.zeros((len(values), len(COLUMNS)))
    matrix[:, 0] = values
    return matrix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected one section of a robot, with its dof; found none"),
        ("[a]\ndof: 1\n[b]\ndof: 1", r"found \[a\], \[b\]; name the robot"),
        ("[a]\ndof: 1", r"section \[a_LINK1\] is missing"),
        ("[a]\ndof: 1\nFix: 1\n[a_LINK1]\nd: 1", r"section \[a_LINK2\] is missing: \[a\] has dof 1 and Fix"),
        ("[a]\ndof: 1.5", r"\[a\]: dof: expected a whole number, found 1.5"),
        ("[a]\ndof: 0", r"dof must be from 1 to 1000, not 0"),
        ("[a]\ndof: 1000000", r"dof must be from 1 to 1000"),
        ("[a]\ndof: 1\nDH: 2\n[a_LINK1]\nd: 1", r"\[a\]: DH: expected 0 or 1, found 2"),
        ("[a]\ndof: 1\n[a_LINK1]\nd: nan", r"\[a_LINK1\]: d: expected a number of at most 1e9, found 'nan'"),
        ("[a]\ndof: 1\n[a_LINK1]\nd: 1e400", r"d: expected a number"),
        ("[a]\ndof: 1\n[a_LINK1]\nd 1", r"line 4: expected \[section\] or key: value, found 'd 1'"),
        ("dof: 1", r"line 1: 'dof: 1' comes before the first \[section\]"),
        ("[a\ndof: 1", r"line 1: expected \[section\], found '\[a'"),
        ("[a]\ndof: 1\n[a_LINK1]\njoint_type: 3", r"link 1: joint_type must be 0 \(revolute\)"),
        ("[a]\ndof: 1\n[a_LINK1]\nimmobile: 0.5", r"link 1: immobile must be 0 or 1, not 0.5"),
    ],
)
def test_bad_files_are_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_roboop_table(text)


def test_a_robot_is_found_by_its_section() -> None:
    text = "[a]\ndof: 1\n[a_LINK1]\nd: 1\n[b]\ndof: 1\n[b_LINK1]\nd: 2\n"
    assert parse_roboop_table(text, "b").column("d").tolist() == [2.0]
    with pytest.raises(UnknownNameError, match="there is no section 'c'"):
        parse_roboop_table(text, "c")
    for rows in (kinds(2.0), kinds(2.0, 0.0)):
        with pytest.raises(ModelError, match="joint_type must be"):
            RoboopTable(rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arm: arm.with_gravity((0, 0, -1.62)), "gravity is"),
        (lambda arm: arm.replace(T_world_base=[[1, 0, 0, 0.1], *np.eye(4)[1:].tolist()]), "has no base"),
        (lambda arm: with_friction(arm, coulomb=1.0, coulomb_velocity=0.01), "coulomb_velocity must be 0"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(change, message: str) -> None:
    with pytest.raises(ModelError, match=f"has no file of ROBOOP: .*{message}"):
        to_roboop(change(load("stanford")))


def test_sections_come_back_as_they_are() -> None:
    sections = {"CONTROLLER": {"type": "IMPEDANCE", "dof": "6"}, "GAINS": {"Kp_1": "0.1"}, "empty": {"Stl": ""}}
    assert parse_configuration(configuration_text(sections, "two\nlines")) == sections
    assert parse_configuration(configuration_text(sections).replace("\n", "\r\n")) == sections
    for bad in ({"a]": {}}, {"": {}}, {"a": {"k:": "1"}}, {"a": {"k": "1 # 2"}}, {"a": {"k": "1\n2"}}):
        with pytest.raises(ModelError, match="cannot be written to a configuration file"):
            configuration_text(bad)


def test_comments_in_the_letters_of_1997_are_read(tmp_path: Path) -> None:
    text, file = to_roboop(load("puma560")), tmp_path / "puma560.conf"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    marked = load(file, check=False)
    file.write_bytes(b"# \xc9cole Polytechnique de Montr\xe9al\n" + text.encode())
    assert load(file, check=False) == marked


@pytest.mark.parametrize("form", ["links", "modified-dh"])
def test_minimal_parameters_survive_a_file(form: str, tmp_path: Path) -> None:
    """First moments without masses: the file says that they are minimal, and loads without check=False."""
    matrix = np.zeros((2, 23))
    matrix[:, [3, 9, 17]] = [[0.0, 0.7, 1.3], [0.5, 0.4, 0.2]]
    minimal = roboop_description(RoboopTable(matrix, standard=False, minimal=True))
    path = tmp_path / "arm.toml"
    path.write_text(to_toml(minimal, form))  # type: ignore[arg-type]
    q = np.array([[0.3, -0.8], [1.2, 2.0]])
    expected = ch.Robot(minimal).mass_matrix(q)
    assert np.abs(expected).min() > 0.1
    np.testing.assert_allclose(ch.load(path).mass_matrix(q), expected, rtol=1e-14)
    path.write_text(path.read_text().replace('= "minimal"', '= "physical"'))
    with pytest.raises(ModelError, match="first moment"):
        ch.load(path)
    path.write_text(path.read_text().replace('= "physical"', '= "few"'))
    with pytest.raises(ModelError, match="must be 'physical' or 'minimal'"):
        ch.load(path)


def test_a_modified_table_without_a_standard_file_is_told_the_way() -> None:
    arm = from_dh([{"alpha": 0.4, "a": 0.2, "d": 0.1}, {"a": 0.3, "alpha": 0.7}], convention="modified")
    with pytest.raises(ModelError, match="standard=False, or --to modified-roboop"):
        to_roboop(arm)
    assert not parse_roboop_table(to_roboop(arm, standard=False)).standard


@pytest.mark.parametrize("standard", [True, False])
def test_lengths_and_angles_come_back_to_the_last_bit(standard: bool) -> None:
    """Tables with 1 to 15 digits, with a fixed last link, through a description, and through a TOML file."""
    rng = np.random.default_rng(5)
    geometry = [COLUMNS.index(name) for name in ("theta", "d", "a", "alpha", "joint_offset")]
    for digits in range(1, 16):
        links = int(rng.integers(2, 6))
        matrix = np.zeros((links, 23))
        written = [float(f"{x:.{digits}g}") for x in rng.uniform(-1.5, 1.5, 5 * links)]
        matrix[:, geometry] = np.reshape(written, (links, 5))
        matrix[:, COLUMNS.index("alpha")] = np.where(rng.random(links) < 0.5, -np.pi / 2, matrix[:, 4])
        matrix[:, 0] = rng.integers(0, 2, links)
        matrix[-1, 0], matrix[-1, COLUMNS.index("joint_offset")] = 2, 0.0
        matrix[:, COLUMNS.index("Gr")] = 1.0
        robot = roboop_description(RoboopTable(matrix, standard))
        for description in (robot, parse_toml(to_toml(robot))):
            back = roboop_table(description, standard=standard).matrix
            assert np.array_equal(back[:, geometry], matrix[:, geometry])


def test_the_length_of_the_reports_puma_comes_back() -> None:
    matrix = np.zeros((2, 23))
    matrix[:, COLUMNS.index("alpha")] = np.pi / 2
    matrix[:, COLUMNS.index("d")] = [0.0, -0.4429]
    text = to_roboop(roboop_description(RoboopTable(matrix)))
    assert "-0.4429" in text.split()
