"""An MR-cluster with Kerberos and a second NameNode: it comes up, and loses nothing with its masters' host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes.core.values.model import ClusterLife, JobLife, NodeLife, Standby
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist.pins import DEFAULT_VERSION
from tests.support.kdc import REALM
from tests.support.realm import WORDS, Realm, realm_site
from tests.support.site import RealSite, differences

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

SETTINGS = """
preset = "demo"
period = "10s"
sample_every = "2s"
idle_time = "never"
deploy_attempts = 1
[timeouts]
membership = "60s"
"""
CLUSTER = f"""
min_nodes = 3
replication = 2
block_size = "1MiB"
masters = "standby"
security = "kerberos"
kerberos_users = ["alice"]
clients = ["{CONTROLLER_ADDRESS}"]
data = [{{ from = "words", to = "/words" }}]
outputs = [{{ path = "/output", save_to = "../saved" }}]
[hadoop.yarn-site]
"yarn.am.liveness-monitor.expiry-interval-ms" = "120000"
"""
COUNT = 'kind = "jar"\njar = "examples"\nargs = ["wordcount", "/words", "/output/{id}"]\n'
#: one map that takes its time, so that masters change under it
SLOW = """
kind = "streaming"
mapper = "sh -c 'sleep 40; cat'"
reducer = "wc -l"
input = "/words"
output = "/output/{id}"
"""
#: a client that knows nothing of a takeover, with a file of three blocks
PUT = f"""
export HADOOP_CONF_DIR=/srv/fawkes/clusters/alpha/conf
. $HADOOP_CONF_DIR/hadoop-env.sh
export KRB5PRINCIPAL=hadoop/alpha@{REALM} KRB5KEYTAB=$HADOOP_CONF_DIR/fawkes.keytab
export HADOOP_OPTS=-Djava.security.krb5.conf=$HADOOP_CONF_DIR/krb5.conf
head -c 3000000 /dev/zero >/tmp/put && "$HADOOP_HOME/bin/hdfs" dfs -put /tmp/put /output/put
"""


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with realm_site(tmp_path_factory.mktemp("kerberos-standby") / "lab", 3, SETTINGS, DEFAULT_VERSION) as made:
        made.site.write("clusters/alpha.toml", CLUSTER)
        made.site.run()
        made.site.request("alpha")
        yield made


def standby_of(site: RealSite) -> Standby:
    found = site.ledger.clusters["alpha"].standby
    assert found is not None
    return found


def test_1_a_second_namenode_follows_beside_jobs(realm: Realm) -> None:
    site = realm.site
    site.fawkes("submit", "alpha", site.job("counts", COUNT))
    (job,) = site.until_ended("counts")
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), f"{job.why}\n{site.story()}"
    site.until("a second NameNode that follows", lambda: standby_of(site).ready)
    assert "/words/part.txt" in realm.client("alice", "fs", "-ls", "/words").stdout


def test_2_it_takes_over_and_what_was_acknowledged_is_there(realm: Realm) -> None:
    """The masters' host loses its power and its disk under a running job, which goes on."""
    site, began = realm.site, realm.site.now()
    old, second = str(site.ledger.clusters["alpha"].master), str(standby_of(site).node)
    (third,) = {*standby_of(site).journal} - {old, second}
    before = site.hdfs("alpha", "digests", "/output/counts")
    site.fawkes("submit", "alpha", site.job("goes-on", SLOW))
    site.until("a task", lambda: any(int(a["runningContainers"]) > 1 for a in site.applications("alpha", "goes-on")))
    site.hdfs("alpha", "write", "/output/last", f"{site.hosts[third]}:9864", "1000", "2")
    site.on(old, "rm -rf /srv/fawkes/clusters /srv/fawkes/lease 2>/dev/null || :")
    site.lab.kill(old)
    site.on(third, PUT)
    (moved,) = site.until("the takeover", lambda: site.ledger.reasons("masters-moved", after=began))
    assert (moved.facts["node"], moved.facts["missing_files"]) == (second, 0)
    assert site.hdfs("alpha", "digests", "/output/counts") == before
    assert site.hdfs("alpha", "sizes", "/output").items() >= {"/output/last": 1000, "/output/put": 3_000_000}.items()
    (job,) = site.until_ended("goes-on")
    assert (job.life, job.attempt, job.displaced) == (JobLife.SUCCEEDED, 1, 0), f"{job.why}\n{site.story()}"
    # Users go on with the configuration that they have.
    assert "/words/part.txt" in realm.client("alice", "fs", "-ls", "/words").stdout
    site.lab.start(old)
    site.until("the old node to serve", lambda: site.node(old).life is NodeLife.SERVING)
    site.until("a second NameNode again", lambda: standby_of(site).ready and standby_of(site).node is not None)
    site.until_settled()
    assert differences(site) == []


def test_3_it_is_saved_and_wiped(realm: Realm) -> None:
    site = realm.site
    site.fawkes("release", "alpha", "--yes")
    site.until_life(ClusterLife.GONE, "alpha")
    assert "".join(path.read_text() for path in (site.root / "saved/counts").glob("part-r-*")) == f"word\t{WORDS}\n"
    assert all(one.clean for one in site.on_nodes().values())
