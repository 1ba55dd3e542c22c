"""Algorithm 2, and the accounts of waste."""

from __future__ import annotations

from math import inf

import pytest

from fawkes.core.preemption.resume import Image, Resume, Way, resume
from fawkes.core.preemption.values import Device, Medium
from fawkes.core.preemption.waste import Waste
from tests.core.preemption.support import MB, RATE

IMAGE = Image(1000 * MB, "a")


def place(node: str, queue_s: float | None = 0.0, network: float | None = 10 * RATE) -> tuple[str, Device]:
    return node, Device(medium=Medium(write=RATE, read=RATE, network=network), queue_s=queue_s)


@pytest.mark.parametrize(
    ("image", "places", "answer"),
    [
        (None, [place("a")], Resume(Way.RESTART)),
        (IMAGE, [place("a", 10.0), place("b", 9.0)], Resume(Way.LOCAL, "a", 20.0)),
        (IMAGE, [place("b", 9.0), place("a", 10.0)], Resume(Way.LOCAL, "a", 20.0)),
        (IMAGE, [place("a", 10.0), place("b", 8.9)], Resume(Way.REMOTE, "b", 19.9)),
        (IMAGE, [place("a", inf), place("b", 8.0), place("c", 7.0)], Resume(Way.REMOTE, "c", 18.0)),
        (IMAGE, [place("c", 5.0), place("b", 5.0)], Resume(Way.REMOTE, "b", 16.0)),
        (IMAGE, [place("b", 5.0), place("c", 5.0, network=20 * RATE)], Resume(Way.REMOTE, "c", 15.5)),
        (IMAGE, [place("b", 5.0, network=None), place("c", 5.0)], Resume(Way.REMOTE, "c", 16.0)),
        (IMAGE, [place("a", inf), place("b", inf)], Resume(Way.WAIT)),
        (IMAGE, [], Resume(Way.WAIT)),
        (IMAGE, [place("a", None), place("b", 300.0)], Resume(Way.REMOTE, "b", 311.0)),
        (IMAGE, [place("a", None), place("b", None)], Resume(Way.LOCAL, "a", None)),
        (Image(None, "a"), [place("a"), place("b")], Resume(Way.LOCAL, "a", None)),
        (Image(1000 * MB, None), [place("a")], Resume(Way.REMOTE, "a", 11.0)),
    ],
)
def test_where_a_task_goes_on(image: Image | None, places: list[tuple[str, Device]], answer: Resume) -> None:
    """K5: a tie goes to the node with the image; what is not known is taken only if nothing else is free."""
    given = resume(image, dict(places))
    assert (given.way, given.node) == (answer.way, answer.node)
    assert given.overhead_s == (None if answer.overhead_s is None else pytest.approx(answer.overhead_s))


def test_used_time_is_wasted_and_useful_time() -> None:
    """K18."""
    waste = Waste(killed_s=1, dumping_s=2, useful_s=16) + Waste(restoring_s=4, waiting_s=8, killed_s=1)
    assert (waste.overhead_s, waste.wasted_s, waste.used_s) == (14, 16, 32)
    assert (waste.of_used(), waste.of_capacity(4, 16)) == (0.5, 0.25)
    assert (Waste().of_used(), Waste().of_capacity(0, 9)) == (None, None)
