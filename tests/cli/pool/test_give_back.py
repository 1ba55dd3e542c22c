"""Nodes of a Slurm allocation go back before its end, and nothing is discarded for that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import FawkesError, RefusedError, UserError
from fawkes.cli.asking.client import HungUpError
from fawkes.cli.pool.give_back import give_back, give_back_in_time
from fawkes.config.nodes.sources import Allocation
from fawkes.config.site.site import Site

START, END = 1_000.0, 2_800.0


def played(answer: Callable[[float, bool], None]) -> tuple[list[tuple[float, bool]], list[str]]:
    """When the controller was asked, with or without force, and the lines for people; time passes while it sleeps."""
    clock, asked = [0.0], list[tuple[float, bool]]()
    lines: list[str] = []

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    def ask(body: Mapping[str, Any]) -> Mapping[str, Any]:
        assert body == {"discard": False, "force": body["force"]}
        asked.append((clock[0], body["force"]))
        answer(clock[0], body["force"])
        return {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: clock[0])
        patch.setattr(time, "sleep", sleep)
        give_back(ask, lines.append, START, END)
    return asked, lines


def test_the_pool_is_released_in_time_and_jobs_are_cancelled_at_half_of_it() -> None:
    asked, lines = played(lambda at_s, force: None)
    assert asked == [(START, False), (1_900.0, True)]
    assert ["releasing the pool" in line for line in lines] == [True, True, False]


def test_a_refusal_is_said_and_asked_again_each_minute() -> None:
    def answer(at_s: float, force: bool) -> None:
        if not force or at_s < 2_500:
            raise RefusedError("c-1 has jobs")

    asked, lines = played(answer)
    assert asked[:3] == [(START, False), (1_060.0, False), (1_120.0, False)]
    assert [force for _, force in asked].count(True) == 11
    assert asked[-1][0] == 2_500
    assert lines[1] == "the pool is not released yet: c-1 has jobs"


def test_a_new_pool_needs_an_allocation_that_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: begun.append(thread.name))
    soon = Allocation("7", int(time.time()) + 600, 1_800_000_000)
    with pytest.raises(UserError, match=r"Slurm's job 7 ends at .*, within its give_back. Ask Slurm for more time"):
        give_back_in_time(Site(tmp_path), soon, lambda _: None)
    (tmp_path / "state").mkdir()
    give_back_in_time(Site(tmp_path), soon, lambda _: None)
    assert begun == ["give back"]


@pytest.mark.parametrize(("error", "times"), [(HungUpError("it ended"), 1), (FawkesError("no controller"), 30)])
def test_a_controller_that_ends_is_not_asked_again(error: FawkesError, times: int) -> None:
    def answer(at_s: float, force: bool) -> None:
        raise error

    assert len(played(answer)[0]) == times
