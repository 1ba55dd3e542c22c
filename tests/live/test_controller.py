from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.catalog import Found, Kind, Origin
from fawkes.errors import ConfigError
from fawkes.live import controller
from fawkes.worker.asking import Bounds
from tests.support.pools import settings

POLICY = """'''A policy of this test.'''
NAME = "own"
def measure(window):
    return {body}
"""


def found(folder: Path, body: str) -> Found:
    path = folder / "own.py"
    path.write_text(POLICY.format(body=body))
    return Found(Kind.POLICY, "own", path, Origin.GIVEN)


@pytest.mark.slow
def test_a_policy_that_answers_is_taken_with_its_text(tmp_path: Path) -> None:
    policy = controller.read_policy(found(tmp_path, "1.0"), settings())
    assert policy.text == (tmp_path / "own.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("sum(range(10 ** 15))", "took more than 0.5 s on a processor"),
        ("float('nan')", "answered nan"),
    ],
)
def test_a_policy_that_is_not_to_be_trusted_is_refused(tmp_path: Path, body: str, wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        controller.read_policy(found(tmp_path, body), settings(), bounds=Bounds(time_s=0.5))
