"""An MR-cluster whose masters' host is gone, on a site where nothing takes over by itself: `fawkes restore`.

Where the tests run as root it has a Unix user of its own, and its nodes have control groups.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from fawkes.core.values.model import ClusterLife, JobLife
from tests.support.own_group import own_group
from tests.support.site import RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

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
USER = "alpha" if os.geteuid() == 0 else ""
GROUPS = bool(USER) and (group := own_group()) is not None and os.access(group, os.W_OK)
CLUSTER = f"""
{f'run_as = "{USER}"' if USER else ""}
min_nodes = 2
replication = 2
block_size = "1MiB"
data = [{{ from = "words", to = "/words" }}]
"""
FILES = 3
#: a client that says who it is, and leaves a file and a process that sheds all marks
HIDES = """
id -un
echo secret >/tmp/left
env -i setsid /bin/sh -c 'cd /; trap "" TERM; exec sleep 4242' </dev/null >/dev/null 2>&1 &
sleep 0.5
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    folder = tmp_path_factory.mktemp("restore") / "lab"
    users = (USER,) if USER else ()
    with real_site(folder, 2, SETTINGS, users=users, control_groups=GROUPS) as site:
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


@pytest.mark.skipif(not USER, reason="only root can become another user on the hosts of a lab")
def test_what_jobs_of_its_own_user_leave_does_not_outlive_a_release(site: RealSite) -> None:
    site.heal()
    site.fawkes("submit", "alpha", site.job("maps", 'kind = "sleep"\nmaps = 1\nmap_time = "1s"\nreduces = 0\n'))
    site.fawkes("submit", "alpha", "--id", "hides", "--script", HIDES)
    assert [job.life for job in site.until_ended("maps", "hides")] == [JobLife.SUCCEEDED] * 2, site.story()
    master = site.ledger.clusters["alpha"].master
    assert master is not None
    assert site.on(master, "cat /srv/fawkes/clusters/alpha/jobs/hides.1/stdout").split() == [USER]
    assert len(site.on(master, "pgrep -fx 'sleep 4242'").split()) == 1
    if GROUPS:
        # What the controller reads as that user runs outside of the group, for a moment each time.
        shown = f"for pid in $(pgrep -u {USER}); do sed -n s/^0:://p /proc/$pid/cgroup; done 2>/dev/null || :"
        site.until(
            "daemons and jobs to be seen in the group alone",
            lambda: {path.rpartition(":")[2] for path in site.on(master, shown).split()} == {"alpha"},
        )

    site.fawkes("release", "alpha", "--discard-data", "--yes")
    site.until_life(ClusterLife.GONE, "alpha")
    site.until_settled()

    assert {host: site.on(host, f"pgrep -u {USER} || :") for host in site.hosts} == dict.fromkeys(site.hosts, "")
    # What the pool has there as long as a controller rules it.
    ours = {f"/srv/fawkes{name}" for name in ("", "/.lock", "/lease", "/beat", "/.beat.new")}
    changed = {host: now ^ site.bare[host] for host, now in site.files().items()}
    assert [(host, row) for host in changed for row in changed[host] if row.split(" ", 3)[3] not in ours] == []
    assert any(reason.facts["node"] == master for reason in site.ledger.reasons("left-behind"))
