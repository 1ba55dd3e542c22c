"""Doors and who gets in: the ports of real daemons and of a running job, from places that must get nothing.

The whole matrix is `python -m drills doors`.
"""

from __future__ import annotations

import pytest

from drills.doors import matrix
from fawkes.core.values.model import Role
from tests.support.site import RealSite

pytestmark = pytest.mark.hadoop

SLEEP = 'kind = "sleep"\nmaps = 2\nmap_time = "100s"\nreduces = 0\n'
KILL = """
curl -s -o /dev/null -w '%{http_code}' -m 20 -X PUT -H 'content-type: application/json' -d '{"state": "KILLED"}' \
    'http://MASTER:8088/ws/v1/cluster/apps/APPLICATION/state?user.name=root'
"""


def test_no_stranger_gets_an_answer_from_any_port(site: RealSite) -> None:
    """Neither does anybody kill a job over the web, from the MR-cluster's own nodes either; Fawkes does."""
    outside = next((name for name in site.hosts if site.node(name).owner is None), "")
    outside = outside or (site.serving("beta", Role.TRANSIENT_CORE) + site.serving("alpha", Role.TRANSIENT))[0]
    # A free node would be given to alpha, whose job waits, while the doors are tried.
    site.fawkes("drain", outside, "--reason", "a host of neither MR-cluster")
    site.until("a free host", lambda: site.node(outside).owner is None)
    site.fawkes("submit", "alpha", site.job("guarded", SLEEP))
    site.until("a running job", lambda: any(r["state"] == "RUNNING" for r in site.applications("alpha", "guarded")))

    tried = matrix(site, "alpha", "beta", outside)

    assert {one.door: one.holes for one in tried if one.holes} == {}
    assert {"applicationmaster", "datanode", "namenode", "nodemanager", "resourcemanager", "historyserver"} <= {
        one.door.daemon for one in tried
    }
    assert all(one.door.bound == site.hosts[one.door.host] for one in tried)
    (application,) = site.applications("alpha", "guarded")
    kill = KILL.replace("MASTER", site.master("alpha")).replace("APPLICATION", application["id"])
    assert site.on(site.serving("alpha", Role.CORE)[-1], kill) == "401"
    site.fawkes("cancel", "guarded", "--wait")
    assert site.applications("alpha", "guarded")[0]["state"] == "KILLED"


def test_an_address_that_the_file_does_not_name_needs_the_key(site: RealSite) -> None:
    web = f"http://{site.master('alpha')}:9870"
    curl = "curl -s -o /dev/null -w '%{http_code}' -m 20 -H 'X-Fawkes-Key: KEY' URL/conf".replace("URL", web)
    stranger = site.serving("beta", Role.CORE)[0]
    keys = [(site.site.state_dir / "keys" / name).read_text().strip() for name in ("alpha", "beta")]
    said = [site.on(stranger, curl.replace("KEY", key)) for key in keys]
    assert said == ["200", "403"]
    assert [oct(path.stat().st_mode & 0o777) for path in (site.site.state_dir / "keys").iterdir()] == ["0o600"] * 2


def test_the_list_follows_the_members(site: RealSite) -> None:
    lists = {
        node: site.on(node, "cat /srv/fawkes/clusters/alpha/conf/doors.list").split()
        for node in site.serving("alpha", Role.CORE)
    }
    assert list(lists.values()) == [sorted(site.hosts[n.node.id] for n in site.nodes_of("alpha"))] * len(lists)
