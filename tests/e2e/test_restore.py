"""An MR-cluster whose masters' host is gone, on a site where nothing takes over by itself: `fawkes restore`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.site import RealSite, real_site

pytestmark = pytest.mark.hadoop

SETTINGS = """
preset = "demo"
sample_every = "2s"
idle_time = "never"
[patience]
silent = "5s"
masters_lost = "0s"
[timeouts]
membership = "20s"
"""
CLUSTER = """
min_nodes = 2
replication = 2
block_size = "1MiB"
data = [{ from = "words", to = "/words" }]
"""
FILES = 3


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    with real_site(tmp_path_factory.mktemp("restore") / "lab", 2, SETTINGS) as site:
        for n in range(FILES):
            site.write(f"clusters/words/part-{n}", f"word{n} " * 200_000)
        site.write("clusters/alpha.toml", CLUSTER)
        site.run()
        site.request("alpha")
        yield site


def test_an_mr_cluster_comes_back_on_its_other_core_node(site: RealSite) -> None:
    before = site.hdfs("alpha", "digests", "/words")
    old = site.ledger.clusters["alpha"].master
    assert old is not None
    (other,) = set(site.hosts) - {old}
    refused = site.command("restore", "alpha", "--yes", code=6)
    assert "The masters of alpha answer" in refused.stderr

    # The copy is made after the load.
    now = site.now()
    site.until("a copy", lambda: " old; a second copy goes to" in site.fawkes("status", "alpha"))
    site.fawkes("pause", "--reason", "a moment for the next copy")
    site.until("some more steps", lambda: site.now() > now + 3)
    site.lab.kill(old)
    site.until("the loss", lambda: site.node(old).life == "lost")

    shown = site.command("restore", "alpha", "--dry-run", "-o", "json")
    rows = {row["fate"]: row for row in json.loads(shown.stdout)["rows"]}
    assert (rows["short"]["files"], rows["unknown"]["files"]) == (0, 0), shown
    assert rows["whole"]["files"] >= FILES
    assert f"blocks on {old} were not counted" in shown.stderr
    assert site.ledger.clusters["alpha"].master == old, "nothing was begun"
    assert "restore" not in site.on(other, "ls /srv/fawkes/clusters/alpha")

    site.fawkes("restore", "alpha", "--yes")

    def restored() -> bool:
        cluster = site.ledger.clusters["alpha"]
        return cluster.master == other and cluster.moving is None

    site.until("masters on the other node", restored)
    assert site.hdfs("alpha", "digests", "/words") == before
    assert site.ledger.reasons("masters-moved")
