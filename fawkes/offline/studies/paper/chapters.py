"""Chapters besides the paper's own: a line for each, with the module that makes its page.

Such a module has ``make(out, quick=..., pictures=..., run=..., say=...)``, which makes what is missing, writes the page
into ``out`` and returns the verdicts, and ``missing(out, quick=...)``, which says how many runs that takes.
"""

from __future__ import annotations

from collections.abc import Mapping

CHAPTERS: Mapping[str, str] = {
    "deadlines": "fawkes.offline.studies.deadlines.chapter",
    "preemption": "fawkes.offline.studies.preemption.chapter",
    "quota": "fawkes.offline.studies.quota.chapter",
    "streams": "fawkes.offline.studies.streams.chapter",
}
