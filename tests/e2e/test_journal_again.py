"""The masters' node and another part of the journal are lost: masters come back by a copy, and get a journal again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes.core.values.model import JobLife, Standby
from tests.e2e.two_clusters import write_input
from tests.support.site import RealSite, differences, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

SETTINGS = """
preset = "demo"
sample_every = "2s"
idle_time = "never"
quarantine = "30s"
[patience]
silent = "10s"
masters_lost = "10s"
standby = "10s"
journal = "1m"
[timeouts]
membership = "20s"
"""
CLUSTER = """
min_nodes = 3
replication = 3
block_size = "1MiB"
masters = "standby"
data = [{ from = "words", to = "/words" }]
outputs = [{ path = "/output", save_to = "../saved/gamma" }]
"""
COUNT = 'kind = "jar"\njar = "examples"\nargs = ["wordcount", "/words/more", "/output/{id}"]\n'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    with real_site(tmp_path_factory.mktemp("again") / "lab", 3, SETTINGS) as site:
        write_input(site.root / "clusters")
        site.write("clusters/gamma.toml", CLUSTER)
        site.run()
        site.request("gamma")
        yield site


def standby_of(site: RealSite) -> Standby | None:
    return site.ledger.clusters["gamma"].standby


def ready(site: RealSite) -> bool:
    found = standby_of(site)
    return found is not None and found.ready


def took_s(site: RealSite, began: str, ended: str, after: int) -> float:
    """Seconds between the first reasons of two kinds."""
    times = [
        next(e.event.at_us for e in site.ledger.entries[after:] if any(r.code == code for r in e.decision.reasons))
        for code in (began, ended)
    ]
    return (times[1] - times[0]) / 1e6


def test_a_journal_that_was_given_up_begins_again_by_itself(site: RealSite) -> None:
    site.until("a second NameNode that follows", lambda: ready(site))
    known, master = standby_of(site), site.ledger.clusters["gamma"].master
    assert known is not None
    old, second = str(master), str(known.node)
    words, began = site.hdfs("gamma", "digests", "/words"), site.now()
    # One of three parts of the journal is left: nobody can take over, and a copy is taken.
    for node in (old, second):
        site.lab.kill(node)
    site.until("the masters to be lost", lambda: site.ledger.clusters["gamma"].moving is not None)
    site.lab.start(second)
    (moved,) = site.until("other masters", lambda: site.ledger.reasons("masters-moved", after=began))
    assert site.ledger.reasons("standby-given-up", after=began)
    site.lab.start(old)
    site.until("a new journal", lambda: site.ledger.reasons("journal-begun", after=began))
    site.until("a second NameNode that follows again", lambda: ready(site))
    print(f"journal {took_s(site, 'journal-begin', 'journal-begun', began):.1f} s after the start began")
    print(f"second NameNode {took_s(site, 'journal-begun', 'standby-armed', began):.1f} s after that")
    again, here = standby_of(site), site.ledger.clusters["gamma"].master
    assert again is not None
    assert (here, set(again.journal)) == (moved.facts["node"], set(known.journal))
    assert site.hdfs("gamma", "digests", "/words") == words
    site.fawkes("submit", "gamma", site.job("counts", COUNT))
    (job,) = site.until_ended("counts")
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), job.why
    site.until_settled()
    assert differences(site) == []


def test_then_a_takeover_loses_nothing_again(site: RealSite) -> None:
    site.until("a second NameNode that follows", lambda: ready(site))
    old, began = str(site.ledger.clusters["gamma"].master), site.now()
    words = site.hdfs("gamma", "digests", "/words")
    site.lab.kill(old)
    (moved,) = site.until("the takeover", lambda: site.ledger.reasons("masters-moved", after=began))
    assert (moved.facts.get("by_standby"), moved.facts["missing_files"]) == (True, 0)
    assert site.hdfs("gamma", "digests", "/words") == words
    site.lab.start(old)
    site.until_settled()
