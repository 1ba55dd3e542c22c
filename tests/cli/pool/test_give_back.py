"""Nodes of a Slurm allocation go back before its end, and nothing is discarded for that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import FawkesError, RefusedError, UserError
from fawkes.cli.asking.client import HungUpError
from fawkes.cli.pool.run import give_back, give_back_in_time
from fawkes.config.nodes.sources import SlurmAllocation
from fawkes.config.site.site import Site

START, END, LATE = 1_000.0, 2_800.0, 4_000.0


def played(
    answer: Callable[[float, bool], None], newest: Callable[[float], float | None] = lambda at_s: END
) -> tuple[list[tuple[float, bool]], list[str]]:
    """When the controller was asked, with or without force, and the lines for people; time passes while it sleeps.

    ``newest`` is what Slurm says about the end. An allocation that is never given back is left at LATE.
    """
    clock, asked = [0.0], list[tuple[float, bool]]()
    lines: list[str] = []

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= 60
        clock[0] += seconds
        if clock[0] > LATE:
            raise EOFError

    def ask(body: Mapping[str, Any]) -> Mapping[str, Any]:
        assert body == {"discard": False, "force": body["force"]}
        asked.append((clock[0], body["force"]))
        answer(clock[0], body["force"])
        return {}

    with pytest.MonkeyPatch.context() as patch, suppress(EOFError):
        patch.setattr(time, "time", lambda: clock[0])
        patch.setattr(time, "sleep", sleep)
        give_back(ask, lines.append, lambda: newest(clock[0]), END, END - START)  # type: ignore[arg-type,return-value]
    return asked, lines


def test_the_pool_is_released_in_time_and_jobs_are_cancelled_at_half_of_it() -> None:
    asked, lines = played(lambda at_s, force: None)
    assert asked == [(START, False), (1_900.0, True)]
    assert ["cancelling its jobs" in line for line in lines] == [False, True]


def test_a_refusal_is_said_and_asked_again_each_minute_also_after_the_end() -> None:
    def answer(at_s: float, force: bool) -> None:
        if not force or at_s < 3_000:
            raise RefusedError("c-1 has jobs")

    asked, lines = played(answer)
    assert asked[:3] == [(START, False), (1_060.0, False), (1_120.0, False)]
    assert [at_s for at_s, force in asked if force] == [1_900.0 + 60 * n for n in range(20)]
    assert lines[1] == "the pool is not released yet: c-1 has jobs"


def unknown(at_s: float) -> float:
    raise UserError("Slurm does not answer")


def no_process(at_s: float) -> float:
    raise BlockingIOError("no more processes")


@pytest.mark.parametrize(
    ("newest", "asked"),
    [
        (unknown, [(START, False), (1_900.0, True)]),
        (no_process, [(START, False), (1_900.0, True)]),
        (lambda at_s: None, []),
        (lambda at_s: END if at_s < 300 else 290.0, [(300.0, True)]),
        (lambda at_s: END if at_s < 300 else END + 600, [(1_600.0, False), (2_500.0, True)]),
    ],
)
def test_slurm_is_asked_each_minute_when_the_end_is(
    newest: Callable[[float], float | None], asked: list[tuple[float, bool]]
) -> None:
    """Slurm does not answer; it cannot be asked; no end any more; the allocation is cancelled; more time."""
    assert played(lambda at_s, force: None, newest)[0] == asked


def test_a_new_pool_needs_an_allocation_that_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: begun.append(thread.name))
    soon = SlurmAllocation("7", int(time.time()) + 600, 1_800_000_000)
    with pytest.raises(UserError, match=r"Slurm's job 7 ends at .*, within its give_back. Ask Slurm for more time"):
        give_back_in_time(Site(tmp_path), soon, lambda _: None)
    (tmp_path / "state").mkdir()
    give_back_in_time(Site(tmp_path), soon, lambda _: None)
    assert begun == ["give back"]


@pytest.mark.parametrize(("error", "times"), [(HungUpError("it ended"), 1), (FawkesError("no controller"), 51)])
def test_a_controller_that_ends_is_not_asked_again(error: FawkesError, times: int) -> None:
    def answer(at_s: float, force: bool) -> None:
        raise error

    assert len(played(answer)[0]) == times
