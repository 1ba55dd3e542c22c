"""The masters' disk is lost with replication 1, right after users wrote: what is gone is named, or at least counted."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from fawkes.live.edits.stamps import LEAP
from tests.support.site import RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

SETTINGS = """
preset = "demo"
sample_every = "2s"
idle_time = "never"
[patience]
silent = "5s"
masters_lost = "5s"
[timeouts]
membership = "20s"
"""
CLUSTER = """
min_nodes = 3
replication = 1
block_size = "1MiB"
"""
BLOCK_BYTES = 1 << 20


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    with real_site(tmp_path_factory.mktemp("lost-disk") / "lab", 3, SETTINGS) as site:
        site.write("clusters/alpha.toml", CLUSTER)
        site.run()
        site.request("alpha")
        yield site


@contextmanager
def stopped(site: RealSite) -> Iterator[None]:
    """The controller's processes stand still meanwhile, so that nothing is copied."""
    assert site.controller is not None
    processes = _family(site.controller.pid)
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def _family(process: int) -> list[int]:
    """A process and all that it has started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(one for child in children for one in _family(int(child)))]


def test_what_the_disk_and_the_copy_lacked_is_told(site: RealSite) -> None:
    old = site.ledger.clusters["alpha"].master
    assert old is not None
    others = sorted(set(site.hosts) - {old})
    for host in site.hosts:
        site.hdfs("alpha", "write", f"/kept/on-{host}", f"{host}:9864", str(BLOCK_BYTES), "1")
    assert site.hdfs("alpha", "places", "/kept") == {
        f"/kept/on-{host}": [[address]] for host, address in site.hosts.items()
    }
    now = site.now()
    site.until("a copy", lambda: " old; a second copy goes to" in site.fawkes("status", "alpha"))
    site.fawkes("pause", "--reason", "a moment for the next copy")
    site.until("some more steps", lambda: site.now() > now + 3)

    with stopped(site):
        site.hdfs("alpha", "write", "/late", f"{others[0]}:9864", str(3 * BLOCK_BYTES), "1")
        site.on(old, "rm -rf /srv/fawkes/clusters /srv/fawkes/lease 2>/dev/null || :")
        site.lab.kill(old)
        site.lab.start(old)

    (moved,) = site.until("other masters", lambda: site.ledger.reasons("masters-moved", after=now))
    assert moved.facts["instead_of"] == old
    assert moved.facts["missing"] == [f"/kept/on-{old}"]
    (lost,) = site.ledger.reasons("writes-lost", after=now)
    assert (lost.facts["blocks"], lost.facts["total_bytes"], lost.facts["jobs"]) == (3, 3 * BLOCK_BYTES, [])
    # The DataNode wrote for a client of WebHDFS.
    (writer,) = cast(list[dict[str, object]], lost.facts["writers"])
    assert (writer["host"], writer["blocks"]) == (others[0], 3)
    assert "/late" not in site.hdfs("alpha", "sizes", "/")

    # No number of a lost block is given out again.
    site.hdfs("alpha", "write", "/after", f"{others[0]}:9864", "1000", "1")
    found = site.on(others[0], "find /srv/fawkes/clusters/alpha/dn* -name 'blk_*.meta'").split()
    block, stamp = max(tuple(map(int, name.removesuffix(".meta").split("_")[-2:])) for name in found)
    assert min(stamp, block - (1 << 30)) > LEAP

    assert "writes of its last seconds may be lost: 3 blocks (3.1 MB)" in site.fawkes("status", "alpha")
    told = site.fawkes("explain", "--cluster", "alpha")
    assert f"no node that answers has all blocks of: /kept/on-{old}" in told
    assert f"3 blocks (3.1 MB) by clients on {others[0]}" in told
    site.fawkes("retry", "alpha")
    site.until("the end of the alert", lambda: not site.ledger.clusters["alpha"].alert.startswith("writes"))
