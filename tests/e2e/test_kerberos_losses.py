"""An MR-cluster with Kerberos loses its masters' host, its controller, that controller's state folder and its keys.

Tickets live for a few minutes here, so daemons and controller need several of them.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from fawkes.core.values.model import ClusterLife, JobLife, NodeLife, Role
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.pins import DEFAULT_VERSION
from tests.support.realm import WORDS, Realm, realm_site
from tests.support.site import FAWKES, LIMIT_S, PROJECT, Ledger, RealSite, differences

pytestmark = [pytest.mark.hadoop, pytest.mark.drill]

SETTINGS = """
preset = "demo"
period = "10s"
sample_every = "2s"
idle_time = "never"
deploy_attempts = 1
keep_edits = "10KB"
keep_image_rest = "30s"
[patience]
silent = "5s"
masters_lost = "5s"
[timeouts]
membership = "30s"
"""
CLUSTER = f"""
min_nodes = 3
replication = 2
block_size = "1MiB"
max_running_jobs = 2
security = "kerberos"
kerberos_users = ["alice"]
clients = ["{CONTROLLER_ADDRESS}"]
data = [{{ from = "words", to = "/words" }}]
outputs = [{{ path = "/output", save_to = "../saved" }}]
[hadoop.yarn-site]
"yarn.am.liveness-monitor.expiry-interval-ms" = "120000"
"""
TICKETS_LIVE = "4min"
PIG = 'kind = "pig"\npig = "count.pig"\n'
SCRIPT = """
words = LOAD '/words' AS (word:chararray);
counts = FOREACH (GROUP words BY word) GENERATE group, COUNT(words);
STORE counts INTO '/output/pig';
"""
#: one map that takes its time, so that masters die under it
SLOW = """
kind = "streaming"
mapper = "sh -c 'sleep 25; cat'"
reducer = "wc -l"
input = "/words"
output = "/output/{id}"
"""
COUNT = 'kind = "jar"\njar = "examples"\nargs = ["wordcount", "/words", "/output/{id}"]\n'
DAEMONS = "grep -laz '^FAWKES_DAEMON=' /proc/[0-9]*/environ | cut -d / -f 3"
FILES = 400
MANY = f"""
mkdir many; cd many
for n in $(seq {FILES}); do head -c 100000 /dev/urandom >$n; done
hdfs dfs -mkdir /output/many && hdfs dfs -put * /output/many
"""


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    pieces.provide(pieces.of_name("pig"))
    folder = tmp_path_factory.mktemp("kerberos-losses") / "lab"
    with realm_site(folder, 3, SETTINGS, DEFAULT_VERSION) as made:
        made.kdc.admin("modprinc", "-maxlife", TICKETS_LIVE, "hadoop/alpha")
        made.site.write("clusters/alpha.toml", CLUSTER)
        made.site.run()
        made.site.request("alpha")
        yield made


def succeeds(site: RealSite, name: str, text: str) -> None:
    site.fawkes("submit", "alpha", site.job(name, text))
    (job,) = site.until_ended(name)
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), f"{job.why}\n{site.story()}"


def master_of(site: RealSite) -> str:
    return str(site.ledger.clusters["alpha"].master)


def can_list(realm: Realm) -> bool:
    """True if a user with a ticket gets an answer, by the configuration that `fawkes env` writes now."""
    shutil.rmtree(realm.site.root / "believing", ignore_errors=True)
    return "/words/part.txt" in realm.client("alice", "fs", "-ls", "/words").stdout


def test_1_a_script_of_pig_runs(realm: Realm) -> None:
    site = realm.site
    site.write("jobs/count.pig", SCRIPT)
    succeeds(site, "pig", PIG)
    assert "".join(site.hdfs("alpha", "read", "/output/pig").values()) == f"word\t{WORDS}\n"


def test_2_the_namenode_gets_new_images(realm: Realm) -> None:
    """Made on another node, which gets image and edits from the NameNode's web server, and gives the image back."""
    site = realm.site
    site.until("a new image", lambda: "an image was made for its NameNode" in site.log.read_text())
    assert "no new image for its NameNode" not in site.log.read_text()


def test_3_masters_that_are_lost_with_their_host_come_back_elsewhere(realm: Realm) -> None:
    """A job runs at that moment: it begins again, and its output is there once."""
    site = realm.site
    site.until("a copy", lambda: " old; a second copy goes to" in site.fawkes("status", "alpha"))
    old, before, began = master_of(site), site.hdfs("alpha", "digests", "/words"), site.now()
    site.fawkes("submit", "alpha", site.job("begins-again", SLOW))
    site.until("a task", lambda: containers(site) > 1)
    site.lab.kill(old)
    (moved,) = site.until("other masters", lambda: site.ledger.reasons("masters-moved", after=began))
    new = master_of(site)
    assert (moved.facts["instead_of"], moved.facts["node"], new == old) == (old, new, False)
    missing = cast(list[str], moved.facts["missing"])
    assert [path for path in missing if not path.startswith("/logs/")] == []
    assert site.hdfs("alpha", "digests", "/words") == before
    (job,) = site.until_ended("begins-again")
    assert (job.life, job.attempt, job.displaced) == (JobLife.SUCCEEDED, 2, 1), f"{job.why}\n{site.story()}"
    written = site.hdfs("alpha", "sizes", "/output/begins-again")
    assert {path.rpartition("/")[2] for path in written} == {"_SUCCESS", "part-00000"}
    assert can_list(realm)
    site.lab.start(old)
    site.until("the old node to be back", lambda: site.node(old).life is NodeLife.SERVING)
    site.until_settled()
    assert len(site.serving("alpha", Role.CORE)) == 3
    assert differences(site) == []
    succeeds(site, "after-loss", COUNT)


def containers(site: RealSite) -> int:
    return sum(int(node["numContainers"]) for node in site.yarn("alpha", "nodes")["nodes"]["node"])


def test_3_masters_that_work_are_not_stopped_while_the_kdc_gives_no_ticket(realm: Realm) -> None:
    """None could start, there or elsewhere, and those that run need none."""
    site = realm.site
    site.until("a copy", lambda: " old; a second copy goes to" in site.fawkes("status", "alpha"))
    old, before, began = master_of(site), daemons(site), site.now()
    with realm.kdc.hanging():
        site.fawkes("move-masters", "alpha", "--now")
        waits = site.until("a word of it", lambda: site.ledger.reasons("masters-wait", after=began))
        assert "KDC" in str(waits[0].facts["error"])
        assert daemons(site) == before
    (moved,) = site.until("other masters", lambda: site.ledger.reasons("masters-moved", after=began))
    assert (moved.facts["instead_of"], moved.facts["missing_files"]) == (old, 0)
    succeeds(site, "after-move", COUNT)


def test_4_a_lost_state_folder_is_adopted(realm: Realm) -> None:
    """Keys and certificate of the MR-cluster were in it; its daemons and a job go on."""
    site = realm.site
    before = site.hdfs("alpha", "digests", "/output")
    site.fawkes("submit", "alpha", "--id", "goes-on", "--script", "sleep 30; true")
    site.until("the job to run", lambda: site.ledger.jobs["goes-on"].life is JobLife.RUNNING)
    site.kill()
    there = {name: (one.folders, one.processes) for name, one in site.on_nodes().items()}
    shutil.rmtree(site.site.state_dir)
    adopted = site.lab.exec([*FAWKES, "--site", str(site.root), "adopt", "--yes"], cwd=PROJECT, timeout_s=LIMIT_S)
    assert adopted.returncode == 0, adopted.stderr
    print(adopted.stdout, adopted.stderr)
    site.ledger = Ledger(site.site.state_dir)
    site.run()
    assert {name: (one.folders, one.processes) for name, one in site.on_nodes().items()} == there
    (job,) = site.until_ended("goes-on")
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), f"{job.why}\n{site.story()}"
    succeeds(site, "after-adoption", COUNT)
    assert site.hdfs("alpha", "digests", "/output").items() >= before.items()
    assert can_list(realm)
    assert differences(site) == []


def test_5_a_renewed_keytab_is_taken_by_a_controller_that_starts(realm: Realm) -> None:
    """Jobs, the controller and users show tickets of the new keys to daemons that run on."""
    site, before = realm.site, daemons(realm.site)
    assert site.stop() == 0
    realm.kdc.admin("ktadd", "-k", str(site.root / "keytabs/alpha.keytab"), "hadoop/alpha", "HTTP/alpha")
    site.run()
    succeeds(site, "after-renewal", COUNT)
    assert can_list(realm)
    assert daemons(site) == before


def daemons(site: RealSite) -> set[str]:
    return {f"{host} {pid}" for host in site.hosts for pid in site.on(host, DAEMONS).split()}


def test_6_masters_that_nobody_moves_are_restored(realm: Realm) -> None:
    """The copy is read on another node by Hadoop's own programs, before anything is begun."""
    site = realm.site
    site.until("a copy", lambda: " old; a second copy goes to" in site.fawkes("status", "alpha"))
    assert site.stop() == 0
    settings = site.root / "fawkes.toml"
    settings.write_text(settings.read_text().replace('masters_lost = "5s"', 'masters_lost = "0s"'))
    site.run()
    old, before = master_of(site), site.hdfs("alpha", "digests", "/output/after-loss")
    site.lab.kill(old)
    site.until("the loss", lambda: site.node(old).life is NodeLife.LOST)
    site.fawkes("restore", "alpha", "--dry-run")
    site.fawkes("restore", "alpha", "--yes")
    site.until("masters on another node", lambda: master_of(site) != old and not site.ledger.clusters["alpha"].moving)
    assert site.hdfs("alpha", "digests", "/output/after-loss") == before
    site.lab.start(old)
    site.until("the old node to be back", lambda: site.node(old).life is NodeLife.SERVING)
    succeeds(site, "after-restore", COUNT)


def test_7_a_save_goes_on_whenever_its_controller_is_killed(realm: Realm) -> None:
    site = realm.site
    site.fawkes("submit", "alpha", "--id", "many", "--script", MANY)
    (job,) = site.until_ended("many")
    assert job.life is JobLife.SUCCEEDED, f"{job.why}\n{site.story()}"
    before = site.hdfs("alpha", "digests", "/output")
    site.fawkes("release", "alpha", "--yes")
    site.until("the first files", lambda: len(list((site.root / "saved").glob("many/*"))) > FILES // 4)
    site.kill()
    with ThreadPoolExecutor() as threads:
        frozen = threads.submit(site.hdfs, "alpha", "until_frozen", "/")
        site.run()
        frozen.result()
    site.kill()
    assert site.ledger.clusters["alpha"].life is ClusterLife.SAVING
    site.run()
    site.until_life(ClusterLife.GONE, "alpha")
    saved = {f"/output/{path.relative_to(site.root / 'saved')}": path for path in (site.root / "saved").rglob("*")}
    assert {name for name, path in saved.items() if path.is_file()} >= set(before)
    assert {name: hashlib.sha256(saved[name].read_bytes()).hexdigest() for name in before} == {
        name: both[1] for name, both in before.items()
    }
    assert all(one.clean for one in site.on_nodes().values())
