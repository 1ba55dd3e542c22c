"""Streams by the metrics of their drivers; what is not said is not known."""

from __future__ import annotations

from typing import Any

import pytest

from fawkes.core.values.sight import StreamSeen
from fawkes.live.eyes.streams import stream_of

NAME = "application_1_1.driver.plugin.fawkes.streams.Stream.stream"


def gauges(text: object, name: str = NAME) -> dict[str, Any]:
    return {"gauges": {"application_1_1.driver.jvm.heap": {"value": 1}, name: {"value": text}}}


def test_a_driver_tells_of_its_executors_and_of_its_latest_batch() -> None:
    seen = StreamSeen(
        wanted=3, executors=2, batch=7, rows=120, arrive=1e-05, took_us=6_474_000, since_us=12_000
    )  # fmt: skip
    assert stream_of(gauges("3 2 7 120 1.0E-5 6474 12")) == seen


def test_before_the_first_batch_only_executors_are_known() -> None:
    assert stream_of(gauges("1 0 0 0 0 0 0")) == StreamSeen(wanted=1, executors=0)


@pytest.mark.parametrize(
    "answer",
    [
        None, [], {}, {"gauges": []}, {"gauges": {NAME: 7}}, gauges(None), gauges("3 2 7"), gauges("3 -2 7 1 1 1 1"),
        gauges("1 1 1 1 NaN 1 1"), gauges("1 1 1 1 1E999 1 1"), gauges("1 1 1 1 1.2.3 1 1"),
        gauges("3 2 7 1 1 1 1", "x"),
        {"gauges": {NAME: {"value": "1 1 1 1 1 1 1"}, f"b.{NAME}": {"value": "2 1 1 1 1 1 1"}}},
    ],
)  # fmt: skip
def test_anything_else_is_not_known(answer: Any) -> None:
    assert stream_of(answer) is None
