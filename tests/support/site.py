"""A site on a lab with a real controller, as users and the hosts see it: commands, the ledger, masters, nodes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fawkes.base.errors import UserError
from fawkes.config.site.site import Site
from fawkes.core.deciding.invariants import broken
from fawkes.core.state.state import State, evolve
from fawkes.core.values.decision import PutCluster, PutJob
from fawkes.core.values.lifecycle import ENDED_JOBS, MOVING
from fawkes.core.values.model import (
    ClusterId,
    ClusterLife,
    ClusterState,
    JobId,
    JobState,
    NodeId,
    NodeLife,
    NodeState,
    Reason,
    Role,
)
from fawkes.core.values.tags import tag_of
from fawkes.engine.ports import Entry
from fawkes.live.lab import Lab, LabSpec, up
from fawkes.store.sqlite import LedgerReader

T = TypeVar("T")

PROJECT = Path(__file__).parents[2]
FAWKES = (sys.executable, "-m", "fawkes")
#: generous: the machine may be busy with other things; nothing that works takes half of it
LIMIT_S = 300.0
#: the jobs that an MR-cluster of these tests may run at once (max_running_jobs)
BLOCKERS = 2
_LOOK_EVERY_S = 0.2
_NODE_FACTS = r"""
while IFS='=' read -r key value; do echo "lease.$key $value"; done </srv/fawkes/lease 2>/dev/null
for folder in /srv/fawkes/clusters/* /srv/fawkes/trash; do [ ! -e "$folder" ] || echo "folder ${folder##*/}"; done
for file in $(grep -lz '^FAWKES_CLUSTER=' /proc/[0-9]*/environ 2>/dev/null); do
    name=$(tr '\0' '\n' 2>/dev/null <"$file" | sed -n 's/^FAWKES_CLUSTER=//p')
    [ -z "$name" ] || echo "process $name"
done
:
"""
# All that a host can write to, by its own mounts: kind, mode, owner and path. Releases are on a disk of all hosts.
_FILES = r"""
awk '$4 ~ /^rw(,|$)/ && $3 !~ /^(proc|sysfs|devpts|cgroup2?)$/ { print $2 }' /proc/self/mounts | sort -u |
    grep -vx /srv/dist | while read -r mount; do find "$mount" -xdev -printf '%y %m %u %p\n'; done
:
"""


@dataclass(frozen=True)
class OnNode:
    """Traces of Fawkes on a node: its lease, folders of MR-clusters, MR-clusters that have processes."""

    lease: Mapping[str, str]
    folders: frozenset[str]
    processes: frozenset[str]

    @property
    def clean(self) -> bool:
        """True if nothing of any MR-cluster is there."""
        return not self.folders and not self.processes and not self.lease.get("cluster")


@dataclass
class Ledger:
    """The ledger of a site as it grows; each step is checked for every invariant when it is read."""

    folder: Path
    entries: list[Entry] = field(default_factory=list)
    state: State = field(default_factory=State)
    clusters: dict[str, ClusterState] = field(default_factory=dict)
    jobs: dict[str, JobState] = field(default_factory=dict)

    def catch_up(self) -> None:
        """Read what was stored since the last time."""
        try:
            reader = LedgerReader(self.folder)
        except UserError:
            return
        with closing(reader):
            for entry in reader.entries(after=len(self.entries)):
                evolve(self.state, entry.event.at_us, entry.decision.changes)
                # On real time a timer goes off a moment after its time, and something else may come in between.
                wrong = [what for what in broken(self.state) if not what.endswith(" has passed")]
                assert not wrong, (entry, wrong)
                self.entries.append(entry)
                for change in entry.decision.changes:
                    if isinstance(change, PutCluster):
                        self.clusters[change.state.id] = change.state
                    elif isinstance(change, PutJob):
                        self.jobs[change.state.id] = change.state

    def reasons(self, *codes: str, after: int = 0) -> list[Reason]:
        """The reasons with these codes, of the steps after number ``after``."""
        return [r for entry in self.entries[after:] for r in entry.decision.reasons if r.code in codes]


class RealSite:
    """A lab, its site folder and at most one controller. As a context manager it ends both, whatever happened."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.root = lab.site
        self.site = Site(lab.site)
        self.log = lab.site / "controller.log"
        self.ledger = Ledger(self.site.state_dir)
        self.hosts = {row.host: row.address for row in lab.status()}
        self.controller: subprocess.Popen[Any] | None = None
        #: of MR-clusters with Kerberos: how `inside` logs in, see `tests.support.inside`
        self.logins: dict[str, Mapping[str, str]] = {}
        self._queues = 0
        #: what the hosts had before the first controller came
        self.bare = self.files()

    def __enter__(self) -> RealSite:
        return self

    def __exit__(self, *_: object) -> None:
        if self.controller is not None:
            self.controller.kill()
            self.controller.wait()

    def heal(self) -> None:
        """Make good what a test left that failed in the middle: hosts, cables, the controller, operators, jobs."""
        for host in self.lab.status():
            if host.state == "paused":
                self.lab.resume(host.host)
            if host.state == "off":
                self.lab.start(host.host)
            if host.network != "ok":
                self.lab.mend(host.host)
        if self.controller is None or self.controller.poll() is not None:
            self.controller = None
            self.run()
        self.ledger.catch_up()
        if self.state.paused:
            self.fawkes("resume")
        if self.state.jobs:
            self.fawkes("cancel", *sorted(self.state.jobs, key=lambda job: -self.state.jobs[job].order), "--wait")
        kept_out = [name for name, node in self.state.nodes.items() if node.keep_out and node.back_us is None]
        if kept_out:
            self.fawkes("undrain", ",".join(kept_out))

    # --- files and commands

    def write(self, name: str, text: str) -> Path:
        """Write a file of the site folder."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def fawkes(self, *words: str | Path, code: int = 0, env: Mapping[str, str] | None = None) -> str:
        """Run a command from outside of the lab; its standard output. It must end with ``code``."""
        return self.command(*words, code=code, env=env).stdout

    def command(
        self, *words: str | Path, code: int = 0, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The same with all of its output."""
        done = self.try_command(*words, env=env)
        assert done.returncode == code, f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def try_command(self, *words: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """The same, however it ends."""
        return subprocess.run(
            [*FAWKES, "--site", str(self.root), *map(str, words)],
            env={**os.environ, **(env or {})},
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    def rows(self, *words: str | Path) -> list[dict[str, Any]]:
        """The rows that a command prints with ``-o json``."""
        listed: list[dict[str, Any]] = json.loads(self.fawkes(*words, "-o", "json"))["rows"]
        return listed

    # --- the controller

    def run(self, *words: str | Path, within: Sequence[str] = ()) -> None:
        """Start the controller, by a program that runs it if one is named, and wait until it is in charge."""
        assert self.controller is None, "a controller runs already"
        began = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.controller = self.lab.popen(
                [*within, *FAWKES, "--site", str(self.root), "run", "-v", *map(str, words)],
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.until("the controller's first word", lambda: b" controls pool " in self.log.read_bytes()[began:])

    def kill(self) -> None:
        """End the controller as a power failure does."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask the controller to stop; its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        assert self.controller is not None
        self.controller.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait until the controller ends by itself; its exit code."""
        assert self.controller is not None
        code = self.controller.wait(LIMIT_S)
        self.controller = None
        self.ledger.catch_up()
        return code

    # --- the ledger

    def until(self, what: str, condition: Callable[[], T | None], *, limit_s: float = LIMIT_S) -> T:
        """The result of ``condition`` as soon as that is something true; the ledger is up to date when it is asked."""
        limit = time.monotonic() + limit_s
        while True:
            self.ledger.catch_up()
            result = condition()
            if result:
                return result
            if self.controller is not None and self.controller.poll() is not None:
                raise AssertionError(f"the controller ended while it was waited for {what}\n{self.story()}")
            if time.monotonic() > limit:
                raise AssertionError(f"waited {limit_s:.0f} s for {what}\n{self.story()}")
            time.sleep(_LOOK_EVERY_S)

    def story(self) -> str:
        """How things stand, for whoever reads the failure of a test."""
        state = self.ledger.state
        lines = [f"{c}: {s.life} alert={s.alert!r} failed={s.failed!r}" for c, s in self.ledger.clusters.items()]
        lines += [f"{n}: {s.life} {s.owner} {s.role} {s.alert}" for n, s in sorted(state.nodes.items())]
        lines += [f"{j}: {s.life} attempt {s.attempt} {s.why}" for j, s in self.ledger.jobs.items()]
        lines += [str(r) for entry in self.ledger.entries[-60:] for r in entry.decision.reasons if r.code != "tick"]
        log = self.log.read_text(errors="replace").splitlines()[-60:] if self.log.exists() else []
        return "\n".join([*lines, "--- log", *log])

    @property
    def state(self) -> State:
        """The state as of the last look."""
        return self.ledger.state

    def now(self) -> int:
        """The number of the last step."""
        self.ledger.catch_up()
        return len(self.ledger.entries)

    def node(self, name: str) -> NodeState:
        """A node as of the last look."""
        return self.state.nodes[NodeId(name)]

    def nodes_of(self, cluster: str) -> list[NodeState]:
        """The nodes of an MR-cluster as of the last look, by name."""
        return [self.state.nodes[n] for n in sorted(self.state.nodes_of(ClusterId(cluster)))]

    def request(self, *names: str) -> None:
        """Ask for MR-clusters by their files, and wait until they run."""
        self.fawkes("request", *names)
        self.until_life(ClusterLife.RUNNING, *names)

    def until_life(self, life: ClusterLife, *clusters: str) -> None:
        """Wait until MR-clusters are in a stage of their lives; one that failed is no use to wait for."""

        def reached() -> bool:
            states = [self.ledger.clusters.get(c) for c in clusters]
            for each in states:
                assert each is None or life is ClusterLife.GONE or not each.failed, self.story()
            return all(each is not None and each.life is life for each in states)

        self.until(f"{life} of {', '.join(clusters)}", reached)

    def until_ended(self, *jobs: str, limit_s: float = LIMIT_S) -> list[JobState]:
        """Wait until jobs have ended, however: for each as long as the limit after the one before it has ended."""

        def ended(job: str) -> bool:
            state = self.ledger.jobs.get(job)
            return state is not None and state.life in ENDED_JOBS

        for job in jobs:
            self.until(f"the end of {job}", partial(ended, job), limit_s=limit_s)
        return [self.ledger.jobs[job] for job in jobs]

    def serving(self, cluster: str, role: Role) -> list[str]:
        """The nodes that serve an MR-cluster in a role, as of the last look."""
        return [n.node.id for n in self.nodes_of(cluster) if n.role is role and n.life is NodeLife.SERVING]

    def until_serving(self, cluster: str, role: Role, count: int) -> list[str]:
        """Wait until that many nodes serve an MR-cluster in a role, and no others are on their way to it."""

        def there() -> list[str] | None:
            nodes = self.serving(cluster, role)
            mine = [n for n in self.nodes_of(cluster) if n.role is role]
            return nodes if len(nodes) == count == len(mine) else None

        return self.until(f"{count} {role} nodes of {cluster}", there)

    def until_settled(self) -> None:
        """Wait until no node is on its way."""
        self.until("all moves to end", lambda: all(n.life not in MOVING for n in self.state.nodes.values()))

    # --- demand

    def job(self, name: str, text: str) -> Path:
        """Write the file of a job of that name, or of several with names of their own."""
        own = "" if "[[job]]" in text else f'id = "{name}"\n'
        return self.write(f"jobs/{name}.toml", own + text)

    @contextmanager
    def demand(self, cluster: str) -> Iterator[None]:
        """While the block lasts an MR-cluster has a long queue: scripts that only wait, and more behind them."""
        self._queues += 1
        waiting = [f"waits-{self._queues}-{n}" for n in range(BLOCKERS)]
        ballast = f"ballast-{self._queues}"
        rows = [f'[[job]]\nid = "{name}"\nkind = "script"\ncommand = "sleep 100000"\n' for name in waiting]
        rows.append(f'[[job]]\nid = "{ballast}"\nkind = "script"\ncommand = "true"\ntasks = 1000\n')
        self.fawkes("submit", cluster, self.job(ballast, "\n".join(rows)))
        try:
            yield
        finally:
            # What is behind them first: else it would run.
            self.fawkes("cancel", ballast, *reversed(waiting), "--wait")

    # --- what is real

    def inside(self, cluster: str, *words: str) -> Any:
        """The answer of a command of `tests.support.inside`, with the key of an MR-cluster if one is named."""
        key = self.key(cluster) if cluster else ""
        command = [sys.executable, "-m", "tests.support.inside", key, *words]
        done = self.lab.exec(command, cwd=PROJECT, timeout_s=LIMIT_S)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def key(self, cluster: str) -> str:
        """The argument for `tests.support.inside`: the MR-cluster's key, and how to get a ticket where it wants one."""
        key = (self.site.state_dir / "keys" / cluster).read_text().strip()
        login = self.logins.get(cluster)
        return key if login is None else json.dumps({**login, "cluster": cluster, "key": key})

    def master(self, cluster: str) -> str:
        """The address of an MR-cluster's masters."""
        node = self.ledger.clusters[cluster].master
        assert node is not None
        return self.hosts[node]

    def yarn(self, cluster: str, path: str) -> Any:
        """The ResourceManager's answer to ``/ws/v1/cluster/PATH``."""
        return self.inside(cluster, "get", f"http://{self.master(cluster)}:8088/ws/v1/cluster/{path}")

    def history(self, cluster: str, path: str) -> Any:
        """The JobHistory server's answer to ``/ws/v1/history/mapreduce/PATH``."""
        return self.inside(cluster, "get", f"http://{self.master(cluster)}:19888/ws/v1/history/mapreduce/{path}")

    def applications(self, cluster: str, job: str, attempt: int = 1) -> list[dict[str, Any]]:
        """The applications of an attempt of a job, as the ResourceManager knows them."""
        listed = self.yarn(cluster, f"apps?applicationTags={tag_of(JobId(job), attempt)}")["apps"]
        rows: list[dict[str, Any]] = listed["app"] if listed else []
        return rows

    def hdfs(self, cluster: str, command: str, *words: str) -> Any:
        """The answer of a command of `tests.support.inside` about the HDFS of an MR-cluster."""
        user = str(self.ledger.clusters[cluster].spec.details.get("run_as") or "root")
        scheme = "https" if cluster in self.logins else "http"
        return self.inside(cluster, command, f"{scheme}://{self.master(cluster)}:9870", user, *words)

    def on(self, host: str, script: str) -> str:
        """The output of a script on a host where it must succeed."""
        ssh = ["ssh", "-F", str(self.root / "ssh_config"), "-o", "BatchMode=yes", "-o", "ConnectTimeout=30"]
        done = self.lab.exec([*ssh, host, "/bin/sh -s"], input=script, timeout_s=LIMIT_S)
        assert done.returncode == 0, f"{host}: {done.stderr}"
        return done.stdout

    def files(self) -> dict[str, frozenset[str]]:
        """All that lies on the file systems of each host that it can write to, whoever has put it there."""
        with ThreadPoolExecutor(max_workers=len(self.hosts)) as pool:
            texts = pool.map(lambda host: self.on(host, _FILES), self.hosts)
            return {host: frozenset(text.splitlines()) for host, text in zip(self.hosts, texts, strict=True)}

    def on_nodes(self, nodes: Sequence[str] = ()) -> dict[str, OnNode]:
        """Traces of Fawkes on these nodes, by default on all."""
        names = list(nodes or self.hosts)
        with ThreadPoolExecutor(max_workers=len(names)) as pool:
            return dict(zip(names, pool.map(lambda host: _on_node(self.on(host, _NODE_FACTS)), names), strict=True))


def differences(site: RealSite) -> list[str]:
    """Where the leases on the nodes, what is on them, and the ledger say different things."""
    differing = []
    for name, there in site.on_nodes().items():
        state, lease = site.node(name), there.lease
        owner = state.owner or ""
        if lease.get("cluster", "") != owner:
            differing.append(f"{name}: the ledger says {owner!r}, the lease {lease}")
        elif owner and lease.get("generation") != str(state.generation):
            differing.append(f"{name}: generation {state.generation}, the lease {lease}")
        if not owner and not there.clean:
            differing.append(f"{name}: is nobody's and has {there}")
        if {*there.folders, *there.processes} - {owner}:
            differing.append(f"{name}: is {owner!r}'s and has {there}")
    return differing


def _on_node(text: str) -> OnNode:
    lease: dict[str, str] = {}
    by_key: dict[str, set[str]] = {"folder": set(), "process": set()}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key.startswith("lease."):
            lease[key.removeprefix("lease.")] = value
        else:
            by_key[key].add(value)
    return OnNode(lease, frozenset(by_key["folder"]), frozenset(by_key["process"]))


@contextmanager
def real_site(
    folder: Path,
    hosts: int,
    settings: str,
    *,
    memory_mb: int = 1500,
    users: tuple[str, ...] = (),
    control_groups: bool = False,
    disk_mb: int | None = None,
    jump_hosts: int = 0,
) -> Iterator[RealSite]:
    """A lab with a site folder; both end with the block."""
    spec = LabSpec(
        hosts=hosts,
        site=folder,
        nodemanager_memory_bytes=memory_mb * 1_000_000,
        disk_bytes=None if disk_mb is None else disk_mb * 1_000_000,
        users=users,
        control_groups=control_groups,
        jump_hosts=jump_hosts,
    )
    with up(spec) as lab, RealSite(lab) as site:
        site.write("fawkes.toml", settings)
        yield site
