"""Quota policies as files: found by name, checked, the same answers in a worker, and named when they are wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import ConfigError
from fawkes.core.quota.supervisor import supervise
from fawkes.core.quota.values import Portion
from fawkes.policy import policy_text
from fawkes.policy.worker.policies import load_quota
from tests.core.quota.support import FOLDER, NAMES, table_1

PAGE = (Path(__file__).parents[2] / "docs" / "quotas.md").read_text("utf-8")
(EXAMPLE,) = (text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def divide" in text)
MINE = 'from fawkes.policy import Portion\nNAME = "MINE"\n'


def test_all_are_found_by_name_and_short() -> None:
    found = Catalog().all(Kind.QUOTA)
    assert tuple(policy.name for policy in found) == NAMES
    assert [policy.title for policy in found] == [name.upper() for name in NAMES]
    assert all(len(policy.text().splitlines()) <= 20 for policy in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_worker_gives_the_answers_of_the_same_process(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    here = load_quota(policy_text("HERE", "here.py", text))
    there = load_quota(policy_text("THERE", "there.py", text + "# not byte for byte ours\n"))
    assert list(there(table_1())) == list(here(table_1()))


@pytest.mark.slow
def test_portions_travel() -> None:
    text = f"{MINE}def divide(claims): return [Portion(first=2, most=c.most) for c in claims]"
    assert load_quota(policy_text("MINE", "mine.py", text))(table_1()) == [Portion(first=2, most=16)] * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "this file is not a policy"),
        ("def divide(claims): return 7", "answered 7 for 1 claims"),
        ("def divide(claims): return [7 for c in claims]", "answered 7 for probe-1"),
        ("def divide(claims): return [Portion(weight=-1) for c in claims]", "weight of the portion of probe-1 is -1"),
        ("def divide(claims): return [Portion(weight='x') for c in claims]", "is 'x'"),
        ("def divide(claims): return [Portion(first=c.left_s / 2) for c in claims]", "TypeError.*line 3"),
        ("def divide(claims):\n  while True: pass", "steps for one answer"),
        ("import os\ndef divide(claims): return []", "imports 'os'"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(body: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_quota(policy_text("MINE", "mine.py", f"{MINE}{body}\n"))
    assert "mine.py" in str(caught.value)


@pytest.mark.slow
def test_the_documented_policy_serves_the_oldest_first() -> None:
    oldest = load_quota(policy_text("OLDEST", "docs/quotas.md", EXAMPLE))
    claims = [replace(claim, submitted_s=9.0 - place) for place, claim in enumerate(table_1())]
    assert supervise(claims, 16, oldest, gamma=0, quantum=0.05) == {"A": 0, "B": 4, "C": 12}
