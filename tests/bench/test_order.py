"""The same small scenario live and offline; the live half was recorded on real Hadoop in a lab."""

from __future__ import annotations

from bench.order import ORDER, offline


def test_jobs_are_not_admitted_in_the_order_of_their_submission() -> None:
    found, submitted = offline(), [plan.name for plan in ORDER]
    assert sorted(found["admitted"] + found["dropped"]) == sorted(submitted)
    assert found["dropped"]
    assert found["admitted"] != [name for name in submitted if name in found["admitted"]]
