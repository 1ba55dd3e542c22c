"""The same small scenario live and offline; the live half was recorded on real Hadoop 3.5.0 in a lab.

To record it anew: ``python -m bench.deadlines --show order``, and its column "live" to live-order.json.
"""

from __future__ import annotations

import json
from pathlib import Path

from bench.order import ORDER, offline

LIVE = Path(__file__).parent / "live-order.json"


def test_jobs_are_admitted_started_and_dropped_in_the_order_that_real_hadoop_had() -> None:
    assert offline() == json.loads(LIVE.read_text(encoding="utf-8"))


def test_jobs_are_not_admitted_in_the_order_of_their_submission() -> None:
    result, submitted = offline(), [plan.name for plan in ORDER]
    assert sorted(result["admitted"] + result["dropped"]) == sorted(submitted)
    assert result["dropped"]
    assert result["admitted"] != [name for name in submitted if name in result["admitted"]]
