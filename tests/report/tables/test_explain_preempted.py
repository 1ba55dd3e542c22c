"""The account of tasks that had to go, in the explanation of their job."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fawkes.base.units import SECOND_US
from fawkes.report.tables.explain import Line
from fawkes.report.tables.explain_job import preempted_lines


def went(
    how: str, run_s: int | None = 30, size: int | None = None, took_s: int | None = None, **more: object
) -> Mapping[str, object]:
    run_us, took_us = (None if time_s is None else time_s * SECOND_US for time_s in (run_s, took_s))
    return {"how": how, "run_us": run_us, "size_bytes": size, "took_us": took_us, **more}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], None),
        ([went("saved", size=2_000_000, took_s=3), went("saved", size=1_000_000, took_s=1)],
         "Tasks that had to go: 2. 2 saved 3.0 MB in 4s in all"),
        ([went("killed"), went("runs", 12, leaves=True)],
         "Tasks that had to go: 2. 2 ended without that, and lost 42s of work"),
        ([went("runs", leaves=False), went("runs", 12)],
         "Tasks that had to go: 2. 1 did not go and went on; of 1 nobody knows how they went"),
        ([went("runs", leaves=False), went("ended")], "Tasks that had to go: 2. 1 did not go and went on"),
        ([went("killed", 11, took_s=19, ordered="save")],
         "Tasks that had to go: 1. 1 ended without that, and lost 11s of work"),
        ([went("killed"), went("killed", None)],
         "Tasks that had to go: 2. 2 ended without that, and lost 30s of work and what 1 had done"),
        ([went("saved", size=1_000_000, took_s=1), went("gone"), went("unknown")],
         "Tasks that had to go: 3. 1 saved 1.0 MB in 1s in all; of 2 nobody knows how they went"),
        ([went("ended")], "Tasks that had to go: 1. All were done before"),
    ],
)  # fmt: skip
def test_what_was_saved_lost_and_is_not_known(rows: list[Mapping[str, object]], text: str | None) -> None:
    lines = [Line("", code="task-went", facts=facts) for facts in rows]
    assert [line.text for line in preempted_lines([*lines, Line("", code="other")])] == ([text] if text else [])
