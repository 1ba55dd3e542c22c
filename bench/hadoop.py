"""Real Hadoop on a lab: Fawkes deploys and grows an MR-cluster beside a bare shell script that does the same."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bench.figures import Figure, Say
from bench.lab import PROJECT, lab_site, run_inside, until
from fawkes.base.errors import DeadlineError, FawkesError, UserError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client
from fawkes.config.jobs.jobs import job_of
from fawkes.config.site.site import Site
from fawkes.core.values.decision import PutJob
from fawkes.core.values.events import Condition, Done, NodeObserved, Requested, StandbySeen, news_of
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId, ClusterSpec, JobLife, JobSpec, JobState, Promise
from fawkes.engine.ports import Entry
from fawkes.live.lab import Lab, LabSpec
from fawkes.live.lab.inside.wiring import wiring_of
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.store.record import to_plain
from fawkes.store.sqlite import LedgerReader
from tests.support.kdc import SITE_TABLE, serving_realm

T = TypeVar("T")

CORE = ("node01", "node02", "node03")
GROWN = ("node04", "node05", "node06", "node07")
MASTER = CORE[0]

GROUP = "Real Hadoop"
_TIMES = 1.3
_TIMES_KERBEROS = 1.5
_BARE = "bare"
_SCRIPTS = Path(__file__).parent / "bare"
_LIMIT_S = 600.0
#: after a job: its history is written and its logs are gathered meanwhile
_REST_S = 4.0
#: EQ gives the only MR-cluster everything; a tick every ten seconds; what does nothing stays
SETTINGS = 'preset = "demo"\npolicy = "EQ"\nperiod = "10s"\nsample_every = "2s"\nidle_time = "10h"\n'


def figures(rounds: int, say: Say, *, grow: bool) -> list[Figure]:
    """Measure on a lab of its own; Fawkes and the script take turns on the same hosts."""
    if shutil.which("curl") is None or shutil.which("ssh") is None:
        raise UserError(
            "the bare script needs curl and the OpenSSH client",
            hint="On Debian, as root: apt-get install curl openssh-client",
        )
    # The script asks the masters with curl, which has no key.
    lines = {_BARE: f'clients = ["{CONTROLLER_ADDRESS}"]'}
    for number in range(rounds):
        lines |= {_ours(number): "", _standby(number): 'masters = "standby"'}
        lines[_kerberos(number)] = 'security = "kerberos"'
    clusters = {name: f"min_nodes = 3\nreplication = 2\n{line}\n" for name, line in lines.items()}
    hosts = len(CORE) + len(GROWN)
    say(f"hadoop: a lab of {hosts} hosts")
    with lab_site(hosts, SETTINGS + SITE_TABLE, clusters, say) as (lab, site):
        return _figures(_rounds(lab, site, rounds, say, grow=grow))


def bare_spec(site: Path) -> ClusterSpec:
    """The MR-cluster of the bare script."""
    return Site(site).cluster(_BARE)


def job_spec(cluster: ClusterId, name: str) -> JobSpec:
    """The first job: three maps that sleep for a second."""
    said = {"kind": "sleep", "maps": 3, "map_time": "1s", "reduces": 0}
    return job_of(said, cluster=cluster, file="the job of the bench", folder=Path(), default_id=name)


def job_states(entries: Iterable[Entry], job: str) -> list[JobState]:
    """What a job was, one after the other, by a ledger's entries."""
    changes = (change for entry in entries for change in entry.decision.changes)
    return [change.state for change in changes if isinstance(change, PutJob) and change.state.id == job]


Times = dict[str, float]


@dataclass(frozen=True)
class _Rounds:
    """What took how long, a row for each round."""

    ours: list[Times] = field(default_factory=list)
    standby: list[Times] = field(default_factory=list)
    kerberos: list[Times] = field(default_factory=list)
    bare: list[Times] = field(default_factory=list)


def _figures(rounds: _Rounds) -> list[Figure]:
    def figure(key: str, what: str, rows: Sequence[Times], at_most_times: float | None = None) -> Figure:
        return Figure(
            group=GROUP,
            what=what,
            unit="s",
            ours=[run[key] for run in rows],
            other=[run[key] for run in rounds.bare],
            than="bare script",
            at_most_times=at_most_times,
        )

    ours, kerberos = rounds.ours, rounds.kerberos
    figures = [
        figure("accepted", "an MR-cluster of 3, from the request to the first job accepted", ours, _TIMES),
        figure("ready", "... of which until all daemons serve", ours),
        figure("submitting", "... of which until the job is with YARN", ours),
        figure("accepted", "the same with Kerberos; the script's has none", kerberos, _TIMES_KERBEROS),
        figure("ready", "... of which until all daemons serve", kerberos),
    ]
    figures += [
        Figure(
            group=GROUP,
            what="the same with a second NameNode and a journal on the three nodes",
            unit="s",
            ours=[run["accepted"] for run in rounds.standby],
            other=[run["accepted"] for run in ours],
            than="with kept copies",
        ),
        Figure(
            group=GROUP,
            what="... until that NameNode can take over",
            unit="s",
            ours=[run["follows"] for run in rounds.standby],
        ),
    ]
    if "grown" in ours[0]:
        figures.append(figure("grown", "growing by 4 transient nodes at once, until all serve", ours, _TIMES))
        figures.append(figure("grown", "the same with Kerberos; the script's has none", kerberos, _TIMES_KERBEROS))
    return figures


def _rounds(lab: Lab, site: Site, rounds: int, say: Say, *, grow: bool) -> _Rounds:
    script = _Script(lab, site.root.parent / "bare")
    made = _Rounds()
    with serving_realm(site.root, map(_kerberos, range(rounds)), lab.popen):
        for number in range(rounds):
            turn = f"hadoop: round {number + 1} of {rounds}"
            say(f"{turn}, Fawkes")
            made.ours.append(_fawkes(lab, site, _ours(number), grow=grow))
            say(f"{turn}, Fawkes with a second NameNode")
            made.standby.append(_fawkes(lab, site, _standby(number), grow=False))
            say(f"{turn}, Fawkes with Kerberos")
            made.kerberos.append(_fawkes(lab, site, _kerberos(number), grow=grow))
            say(f"{turn}, bare script")
            made.bare.append(script.run(grow=grow))
    return made


def _ours(number: int) -> str:
    return f"bench-{number + 1}"


def _standby(number: int) -> str:
    return f"bench-standby-{number + 1}"


def _kerberos(number: int) -> str:
    return f"bench-kerberos-{number + 1}"


# --- the bare script


class _Script:
    """The scripts in bench/bare on the hosts of a lab; what they need is written once, by Fawkes's own code."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        self._folder = folder
        hosts = wiring_of(LabSpec(hosts=len(CORE) + len(GROWN))).nodes
        self._address = next(host.address for host in hosts if host.name == MASTER)
        self._root = f"/srv/fawkes/clusters/{_BARE}"
        folder.mkdir()
        kept = f"    ControlMaster auto\n    ControlPersist 600\n    ControlPath {folder}/c-%h\n    LogLevel ERROR\n"
        (folder / "ssh_config").write_text((lab.site / "ssh_config").read_text() + kept)
        self._exec(sys.executable, "-m", "bench.bare.plan", str(lab.site), str(folder))

    def run(self, *, grow: bool) -> Times:
        """Deploy, grow if asked, clean up; the seconds of each."""
        try:
            stamps = self._stamps("deploy.sh", self._root, MASTER, self._address, *CORE)
            spans_s = {
                "accepted": stamps["accepted"] - stamps["began"],
                "ready": stamps["ready"] - stamps["began"],
                "submitting": stamps["accepted"] - stamps["ready"],
            }
            until("the end of the bare script's job", lambda: "SUCCEEDED" in self._applications())
            if grow:
                time.sleep(_REST_S)
                total = str(len(CORE) + len(GROWN))
                stamps = self._stamps("grow.sh", self._root, MASTER, self._address, total, *GROWN)
                spans_s["grown"] = stamps["running"] - stamps["began"]
            return spans_s
        finally:
            self._sh("clean.sh", self._root, f"FAWKES_CLUSTER={_BARE}", *CORE, *GROWN)

    def _applications(self) -> str:
        return self._exec("curl", "-fsS", f"http://{self._address}:8088/ws/v1/cluster/apps?states=FINISHED,FAILED")

    def _stamps(self, *words: str) -> dict[str, float]:
        """What a script printed: names and times, in seconds since the epoch."""
        lines = (line.split() for line in self._sh(*words).splitlines())
        return {words[0]: int(words[1]) / 1000 for words in lines if len(words) == 2 and words[1].isdigit()}

    def _sh(self, script: str, *words: str) -> str:
        return self._exec("sh", str(_SCRIPTS / script), str(self._folder), *words)

    def _exec(self, *command: str) -> str:
        return run_inside(self._lab, *command, limit_s=_LIMIT_S)


# --- Fawkes


def _fawkes(lab: Lab, site: Site, name: str, *, grow: bool) -> Times:
    """The same by a controller that was just started; the MR-cluster is given back in the end."""
    with controller(lab, site) as story:
        client = Client(site)
        client.post("pause", {"reason": "bench"})
        spec = site.cluster(name)
        client.post("request", {"spec": to_plain(spec)})
        client.post("submit", {"spec": to_plain(job_spec(spec.id, f"{name}-job"))})
        story.until("the end of the first job", lambda: story.succeeded(name))
        requested, accepted = story.requested(name), story.accepted(name)
        ready = story.done(f"cluster:{name}")
        spans_s = {"accepted": accepted - requested, "ready": ready - requested, "submitting": accepted - ready}
        if spec.masters is Promise.STANDBY:
            spans_s["follows"] = story.until("its second NameNode", lambda: story.follows(name)) - requested
        if grow:
            time.sleep(_REST_S)
            client.post("resume", {})
            serving = story.until("four nodes to serve", lambda: story.serving(name))
            spans_s["grown"] = max(serving) - story.grew(name)
        client.post("release", {"cluster": name, "discard": True, "force": True})
        story.until("the end of the MR-cluster", lambda: gone(client, name))
        return spans_s


def gone(client: Client, name: str) -> bool:
    """Whether nothing is left of an MR-cluster, and every node is free."""
    nodes = client.rows("nodes")
    return all(row["state"] == "gone" for row in client.rows("clusters", cluster=name)) and all(
        row["state"] == "free" for row in nodes
    )


class Story:
    """The ledger of the site as it grows; times in seconds since the epoch."""

    def __init__(self, site: Site, log: Path, controller: subprocess.Popen[bytes]) -> None:
        self._site = site
        self._log = log
        self._controller = controller
        self._entries: list[Entry] = []

    @property
    def entries(self) -> Sequence[Entry]:
        """All steps up to the last look."""
        return self._entries

    def until(self, what: str, look: Callable[[], T | None]) -> T:
        """What ``look`` returns as soon as it is something true."""

        def alive() -> T | None:
            if self._controller.poll() is not None:
                raise FawkesError(f"the controller ended: {self._log.read_text()[-2000:]}")
            with closing(LedgerReader(self._site.state_dir)) as reader:
                self._entries += reader.entries(after=len(self._entries))
            return look()

        try:
            return until(what, alive)
        except DeadlineError as error:
            raise DeadlineError(f"{error.what}: {self._log.read_text()[-2000:]}") from None

    def requested(self, cluster: str) -> float:
        """When the MR-cluster was asked for."""
        return self._first(lambda e: isinstance(e.event, Requested) and e.event.spec.id == cluster)

    def done(self, key: str) -> float:
        """When an effect was first reached."""
        return self._first(lambda e: isinstance(e.event, Done) and e.event.effect == key)

    def follows(self, cluster: str) -> float | None:
        """When its second NameNode was first seen to be able to take over; None while it was not."""
        ready = (e.event for e in self._entries if isinstance(e.event, StandbySeen) and e.event.ready)
        return next((event.at_us / SECOND_US for event in ready if event.cluster == cluster), None)

    def accepted(self, cluster: str) -> float:
        """When YARN had the first job, by YARN's own word; FawkesError when it never had."""
        started_us = [job.started_us for job in self._of_job(cluster) if job.started_us is not None]
        if not started_us:
            raise FawkesError(f"nobody saw the job of {cluster} run")
        return started_us[0] / SECOND_US

    def succeeded(self, cluster: str) -> bool:
        """Whether the first job has ended well; FawkesError when it ended in another way."""
        lives = self._of_job(cluster)
        if not lives or lives[-1].life not in ENDED_JOBS:
            return False
        if lives[-1].life is not JobLife.SUCCEEDED:
            raise FawkesError(f"the job failed: {lives[-1].why}")
        return True

    def serving(self, cluster: str) -> list[float] | None:
        """When each of the nodes by which it grew was seen to serve; None until all were."""
        began = self._grow(cluster)
        if began is None:
            return None
        seen = {
            news.node: news.at_us / SECOND_US
            for entry in self._entries[began.seq :]
            for news in news_of(entry.event)
            if isinstance(news, NodeObserved) and news.condition is Condition.SERVING
        }
        return list(seen.values()) if len(seen) == len(GROWN) else None

    def grew(self, cluster: str) -> float:
        """When it was decided that it grows."""
        entry = self._grow(cluster)
        assert entry is not None
        return entry.event.at_us / SECOND_US

    def _grow(self, cluster: str) -> Entry | None:
        for entry in self._entries:
            grown = [r for r in entry.decision.reasons if r.code == "grow" and r.facts["cluster"] == cluster]
            if grown:
                if len(grown) != len(GROWN):
                    raise FawkesError(f"it grew by {len(grown)} nodes, not {len(GROWN)}")
                return entry
        return None

    def _of_job(self, cluster: str) -> list[JobState]:
        return job_states(self._entries, f"{cluster}-job")

    def _first(self, fits: Callable[[Entry], bool]) -> float:
        return next(entry.event.at_us for entry in self._entries if fits(entry)) / SECOND_US


@contextmanager
def controller(lab: Lab, site: Site) -> Iterator[Story]:
    """A controller in the lab, in charge; it is stopped in the end."""
    log = site.root / "controller.log"
    command = [sys.executable, "-m", "fawkes", "--site", str(site.root), "run"]
    with (
        log.open("wb") as errors,
        lab.popen(command, cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors) as process,
    ):
        try:
            story = Story(site, log, process)
            until("the controller", lambda: process.poll() is not None or " controls pool " in log.read_text())
            yield story
            process.send_signal(signal.SIGTERM)
            process.wait(_LIMIT_S)
        finally:
            process.kill()
