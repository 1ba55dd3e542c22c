"""The rate at which the nodes of an MR-cluster save tasks: measured by its own saves, the setting until there are some.

A rate is memory by time, as a forecast reads it: so it has in it what no rate of bytes has, such as the start of a JVM,
programs that save less than their memory, increments, and images that are larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

from fawkes.base.units import SECOND_US
from fawkes.core.preemption.values import Device, Medium
from fawkes.core.state.draft import Draft
from fawkes.core.values.effects import PreemptTasks
from fawkes.core.values.model import ClusterId

_KEPT = 5


def device(draft: Draft, cluster: ClusterId) -> Device:
    """The way of each node of an MR-cluster to the store, by the median of the latest saves."""
    state = draft.cluster(cluster)
    measured = state.image_rates if state is not None else ()
    rate = sorted(measured)[(len(measured) - 1) // 2] if measured else draft.settings.image_bytes_s or None
    return Device(medium=Medium(write=rate, read=rate, network=inf))


def learn(draft: Draft, effect: PreemptTasks, left: Mapping[str, object]) -> None:
    """Note the rate of a node whose tasks have gone: the memory of those that were saved, by the time of the last one.

    Nothing is noted where none was saved, or where a memory or a time is not known.
    """
    memory, took_us = 0, 0
    for order in effect.orders:
        row = left.get(order.container)
        if not isinstance(row, list | tuple) or len(row) != 3 or row[0] != "saved":
            continue
        if order.memory is None or not isinstance(row[2], int):
            return
        memory, took_us = memory + order.memory, max(took_us, row[2])
    state = draft.cluster(effect.cluster)
    if state is not None and memory > 0 and took_us > 0:
        rate = max(1, memory * SECOND_US // took_us)
        draft.put_cluster(replace(state, image_rates=(*state.image_rates, rate)[-_KEPT:]))
