"""Streams as the part of Fawkes in each driver tells of them, by its metrics through the ResourceManager."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf
from typing import Any

from fawkes.core.values.sight import StreamSeen
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError, get_json

STREAM = "stream"
"""The tag of a Spark application whose driver tells of its batches."""
_GAUGE = "fawkes.streams.Stream.stream"
_COUNT, _NUMBER = r"(\d{1,15})", r"([0-9.E+-]{1,30})"
_FIGURES = re.compile(" ".join([*[_COUNT] * 5, _NUMBER, _COUNT, _COUNT, _NUMBER]))


def stream_seen(masters: MasterAddresses, application: str, deadline: Deadline) -> StreamSeen | None:
    """The stream of an application; None where its driver does not answer, or does not say."""
    url = f"{masters.resource_manager}/proxy/{application}/metrics/json/"
    try:
        return stream_of(get_json(url, deadline, key=masters.key))
    except UnreadableError:
        return None


def stream_of(document: Any) -> StreamSeen | None:
    """The stream by the metrics of a driver; None where these say nothing usable of one."""
    gauges = document.get("gauges") if isinstance(document, Mapping) else None
    texts = [
        str(gauge.get("value", ""))
        for name, gauge in (gauges.items() if isinstance(gauges, Mapping) else ())
        if str(name).endswith(_GAUGE) and isinstance(gauge, Mapping)
    ]
    match = _FIGURES.fullmatch(texts[0]) if len(texts) == 1 else None
    if match is None:
        return None
    wanted, executors, tasks, batch, rows, took_ms, since_ms = (int(match[place]) for place in (1, 2, 3, 4, 5, 7, 8))
    try:
        arrive, present = float(match[6]), float(match[9])
    except ValueError:
        return None
    if not (0 <= arrive < inf and 0 <= present < inf):
        return None
    return StreamSeen(
        wanted=wanted,
        executors=executors,
        tasks=tasks,
        batch=batch,
        rows=rows,
        arrive=arrive,
        took_us=took_ms * 1000,
        since_us=since_ms * 1000,
        present=present or None,
    )
