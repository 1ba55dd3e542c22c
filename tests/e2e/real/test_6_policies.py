"""A policy of one's own on the live system, one that breaks, and a controller that only watches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes.core.values.effects import Reply
from fawkes.core.values.model import Reason, Role
from tests.support.site import RealSite

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

OWN = '''"""Nearly everything for beta."""

from fawkes.policy import Window

NAME = "BETA"


def measure(window: Window) -> float:
    """A constant for each."""
    return 9.0 if window.cluster == "beta" else 1.0
'''
# Two nodes of this lab offer more than the eight slots of the windows that policies are tried with.
BREAKS = '''"""Gives up."""

from fawkes.policy import Window

NAME = "BREAKS"


def measure(window: Window) -> float:
    """Works when it is tried, and not later."""
    return 1.0 / (window.mean("slots_total") == 8.0 or window.mean("slots_total") is None)
'''


@pytest.fixture
def restarted(site: RealSite) -> Iterator[RealSite]:
    """The site without a controller; afterwards with its own again."""
    with site.demand("alpha"):
        site.until_serving("alpha", Role.TRANSIENT, 4)
    site.until_settled()
    assert site.stop() == 0
    yield site
    if site.controller is not None:
        site.stop()
    site.run()


def ticks(site: RealSite, after: int, verdict: str) -> list[Reason]:
    return [r for r in site.ledger.reasons("tick", after=after) if r.facts["verdict"] == verdict]


def test_a_policy_in_a_file_of_ten_lines_drives_the_live_system(restarted: RealSite) -> None:
    path = restarted.write("beta.py", OWN)
    assert len(OWN.splitlines()) <= 15
    began = restarted.now()
    restarted.run("--policy", path)
    restarted.until_serving("beta", Role.TRANSIENT_CORE, 4)
    (tick, *_) = ticks(restarted, began, "unbalanced")
    assert tick.facts["policy"] == "BETA"
    assert "Policy BETA over the last 5 s;" in restarted.fawkes("explain", "--last"), "period of two_clusters.SETTINGS"
    assert tick.facts["clusters"]["beta"]["weight"] == pytest.approx(0.9)  # type: ignore[index]


@pytest.mark.drill
def test_a_policy_that_raises_leaves_the_shares_as_they_are(restarted: RealSite) -> None:
    path = restarted.write("breaks.py", BREAKS)
    began = restarted.now()
    restarted.run("--policy", path)
    (tick, *_) = restarted.until("a tick", lambda: ticks(restarted, began, "policy-failed"))
    assert "ZeroDivisionError" in str(tick.facts["failed"])
    assert "ZeroDivisionError" in restarted.fawkes("explain")
    assert restarted.ledger.reasons("grow", "shrink", after=began) == []
    assert len(restarted.serving("alpha", Role.TRANSIENT)) == 4


def test_a_controller_in_shadow_decides_and_does_nothing(restarted: RealSite) -> None:
    path = restarted.write("beta.py", OWN)
    began = restarted.now()
    before = restarted.on_nodes()
    restarted.run("--shadow", "--policy", path)
    restarted.until("a tick that would move nodes", lambda: ticks(restarted, began, "unbalanced"))
    restarted.until("one more tick", lambda: len(restarted.ledger.reasons("tick", after=began)) > 1)
    assert restarted.ledger.reasons("shrink", after=began)
    effects = [e for entry in restarted.ledger.entries[began:] for e in entry.decision.effects]
    assert {type(effect).__name__ for effect in effects if not isinstance(effect, Reply)} == {"WakeAt"}
    refused = restarted.command("pause", "--reason", "no", code=6)
    assert "shadow" in refused.stderr
    assert "it would do this, but nothing was done" in restarted.fawkes("explain", "--last")
    assert restarted.stop() == 0
    assert restarted.on_nodes() == before
    assert len(restarted.serving("alpha", Role.TRANSIENT)) == 4
