"""Findings: rules have reasons, limits are those of their derivations, records are plain data."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import f, norm

import chasles
from chasles.base.findings import Finding, Rule, codes, of_weight, text
from chasles.identification.judgement import FRICTION_SIGN, WORSE_UNSEEN
from chasles.identification.logs.column_checks import TOO_FAST
from chasles.identification.logs.recording_faults import SPIKE

ROOT = Path(chasles.__file__).parent
FILES = [path for path in ROOT.rglob("*.py") if re.search(r"^\w+ = Rule\(", path.read_text("utf-8"), re.M)]


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_each_rule_has_a_code_a_reason_and_a_sentence(path: Path) -> None:
    module = import_module(".".join(("chasles", *path.relative_to(ROOT).with_suffix("").parts)))
    rules = [value for value in vars(module).values() if isinstance(value, Rule)]
    assert rules
    assert all(rule.because and rule.sentence and rule.code == rule.code.lower() for rule in rules)


def test_limits_are_those_of_their_derivations() -> None:
    assert pytest.approx(np.sqrt(f.ppf(0.999, 40, 40)), rel=0.01) == WORSE_UNSEEN.limit
    assert 1.0 / norm.sf(-FRICTION_SIGN.limit) > 3e6
    assert norm.logsf(SPIKE.limit * norm.ppf(0.995)) < -120.0 * np.log(10.0)
    assert np.degrees(1.0) == pytest.approx(TOO_FAST.limit**2)


def test_values_that_are_not_finite_are_beyond_each_limit() -> None:
    rule = Rule("code", 1.0, "because", "{value} beyond {limit}", "refusal")
    for value in (np.nan, np.inf):
        assert codes(rule.above(value)) == ["code"]
    assert codes(rule.below(np.nan)) == ["code"]
    assert rule.above(1.0) == rule.below(1.0) == ()


def test_records_are_plain_data_and_come_back() -> None:
    rule = Rule("code", 1.0, "because", "{joint} {value:g}", "caution")
    (found,) = rule.above(2.0, joint="{elbow}")
    record = json.loads(json.dumps(found.record))
    back = Finding.of_record(record)
    assert back.record == found.record
    assert of_weight([found, back], "note") == ()
    assert text([found, back]) == "{elbow} 2. {elbow} 2."
