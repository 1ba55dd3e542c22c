"""An MR-cluster with Kerberos, from request to release, and those who get nothing from it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fawkes.base.errors import ExitStatus
from fawkes.core.values.model import ClusterLife, JobLife, Role
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist.pins import DEFAULT_VERSION
from tests.support.kdc import REALM
from tests.support.realm import WORDS, Realm, realm_site

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

SETTINGS = """
preset = "demo"
period = "10s"
sample_every = "2s"
idle_time = "never"
deploy_attempts = 1
"""
CLUSTER = """
min_nodes = 2
max_nodes = 3
replication = 2
block_size = "1MiB"
max_running_jobs = 2
growth = "TR"
hadoop_version = "{version}"
security = "kerberos"
kerberos_users = ["alice"]
clients = ["{clients}"]
data = [{{ from = "words", to = "/words" }}]
outputs = [{{ path = "/output", save_to = "../saved" }}]
# On a machine with other work an ApplicationMaster may take longer to start than labs usually wait.
[hadoop.yarn-site]
"yarn.am.liveness-monitor.expiry-interval-ms" = "120000"
"""
JOB = """
kind = "jar"
jar = "examples"
args = ["wordcount", "/words", "/output/counted"]
[properties]
"mapreduce.job.reduces" = "2"
"""
OLDER = "3.4.2"
#: what web servers answer without a ticket; and with one that their MR-cluster has no rule for
NO_TICKET, NO_RULE = 401, 500


@pytest.fixture(scope="module", params=[DEFAULT_VERSION, pytest.param(OLDER, marks=pytest.mark.drill)])
def realm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with realm_site(tmp_path_factory.mktemp("kerberos") / "lab", 3, SETTINGS, request.param) as made:
        made.site.write("clusters/alpha.toml", CLUSTER.format(version=request.param, clients=CONTROLLER_ADDRESS))
        made.site.run()
        yield made


def test_1_what_is_wrong_is_told_before_any_node_is_touched(realm: Realm) -> None:
    site, keytab = realm.site, realm.site.root / "keytabs/alpha.keytab"
    keytab.chmod(0o644)
    for words in (["request", "alpha"], ["check"]):
        told = site.command(*words, code=ExitStatus.USAGE).stderr
        assert f"{keytab}: other users can read this keytab" in told
    keytab.chmod(0o600)
    beta = site.write("clusters/beta.toml", (site.root / "clusters/alpha.toml").read_text())
    told = site.command("request", "beta", code=ExitStatus.USAGE).stderr
    beta.unlink()
    assert "beta.keytab" in told
    assert "kadmin ktadd" in told
    realm.kdc.admin("modprinc", "-expire", "2020-01-01 00:00:00 UTC", "hadoop/alpha")
    told = site.command("request", "alpha", code=ExitStatus.FAILED).stderr
    realm.kdc.admin("modprinc", "-expire", "never", "hadoop/alpha")
    assert "expired" in told
    assert "kadmin modprinc -expire" in told
    assert not site.ledger.clusters
    assert f"the KDC gives tickets to hadoop/alpha@{REALM}" in realm.check().stderr


def test_2_its_own_job_and_that_of_a_user_with_a_ticket_have_reduces(realm: Realm) -> None:
    site = realm.site
    site.request("alpha")
    words = ("wordcount", "/words", "/output/hers")
    with ThreadPoolExecutor() as threads:
        hers = threads.submit(realm.client, "alice", "jar", realm.release.examples_jar, *words)
        site.fawkes("submit", "alpha", site.job("count", JOB))
        (job,) = site.until_ended("count")
    assert job.life is JobLife.SUCCEEDED, site.story()
    assert hers.result().returncode == 0, hers.result().stderr


def test_3_nobody_else_gets_anything_over_rpc(realm: Realm) -> None:
    # A client takes some seconds of a core; what the web servers answer to each of them is in the next test.
    commands = [
        ("nobody", "fs", "-ls", "/"),
        ("beta", "fs", "-ls", "/"),
        ("beta", "application", "-list"),
        ("alice", "rmadmin", "-refreshNodes"),
    ]
    with ThreadPoolExecutor(2) as threads:
        for words, refused in zip(commands, threads.map(lambda each: realm.client(*each), commands), strict=True):
            assert refused.returncode != 0, words
            assert "words" not in refused.stdout
            assert "application_" not in refused.stdout


def test_4_web_servers_want_a_ticket_of_a_user(realm: Realm) -> None:
    at = realm.master()
    urls = [
        f"https://{at}:9870/webhdfs/v1/words?op=LISTSTATUS",
        f"https://{at}:9870/jmx",
        f"https://{at}:9864/jmx",
        f"http://{at}:8088/ws/v1/cluster/apps",
        f"http://{at}:8042/ws/v1/node/info",
        f"http://{at}:19888/ws/v1/history/mapreduce/jobs",
    ]
    assert realm.ask("alice", *urls) == [200] * len(urls)
    assert realm.ask("nobody", *urls) == [NO_TICKET] * len(urls)
    for who in ("bob", "beta"):
        assert realm.ask(who, *urls) == [NO_RULE] * len(urls)
    root = f"https://{at}:9870/webhdfs/v1/?op=LISTSTATUS&user.name=root"
    assert realm.ask("nobody", root) == [NO_TICKET]


def test_5_it_grows_and_is_saved_and_wiped(realm: Realm) -> None:
    site = realm.site
    with site.demand("alpha"):
        (node,) = site.until_serving("alpha", Role.TRANSIENT, 1)
    site.until_settled()
    site.fawkes("release", "alpha", "--yes")
    site.until_life(ClusterLife.GONE, "alpha")
    saved = "".join(path.read_text() for path in (site.root / "saved/counted").glob("part-r-*"))
    assert saved == f"word\t{WORDS}\n"
    assert (site.root / "saved/hers/part-r-00000").read_text() == saved
    assert site.on_nodes()[node].clean
    assert "the command line on the master is used" not in site.log.read_text()


def test_6_the_next_one_of_its_name_is_deployed_by_the_same_controller(realm: Realm) -> None:
    """It has another certificate and another key."""
    site = realm.site
    path = site.root / "clusters/alpha.toml"
    path.write_text(path.read_text().replace('"../saved"', '"../again"'))
    site.request("alpha")
    site.fawkes("release", "alpha", "--yes")
    site.until_life(ClusterLife.GONE, "alpha")
