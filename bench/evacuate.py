"""A transient-core node with data leaves: by Fawkes, and an equal one by HDFS alone, in the same lab."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import Figure, Say
from bench.hadoop import SETTINGS, Story, controller, gone
from bench.hdfs import OUTPUT
from bench.lab import run_inside
from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US, show_bytes
from fawkes.cli.asking.client import Client
from fawkes.config.site.site import Site
from fawkes.core.values.decision import PutNode
from fawkes.core.values.events import DrainAsked
from fawkes.core.values.model import NodeLife, Role
from fawkes.engine.ports import Entry
from fawkes.live.lab import Lab, LabSpec, up
from fawkes.live.lab.inside.wiring import wiring_of
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist.cache import cached
from fawkes.playbook.dist.pins import DEFAULT_VERSION, pin
from fawkes.store.record import to_plain

_GROUP = "Evacuation"
_HOSTS = 5
_CORE = 3
_TIMES = 1.1
_LIMIT_S = 1800.0
#: on the node, on those that take it over, and again while HDFS still removes the last round
_ROOM = 3
_EXCLUDE = "/srv/fawkes/clusters/{cluster}/members/dfs.exclude"


def figures(rounds: int, gigabytes: float, say: Say) -> list[Figure]:
    """Measure on a lab of its own; UserError when its disk has too little room."""
    cached(pin(DEFAULT_VERSION))
    size = round(gigabytes * 1e9)
    with TemporaryDirectory(prefix="fawkes-bench-") as folder:
        free = shutil.disk_usage(folder).free
        if free < _ROOM * size:
            raise UserError(
                f"{show_bytes(free)} are free, and {show_bytes(_ROOM * size)} are needed for nodes with "
                f"{show_bytes(size)} each",
                where=folder,
                hint="Give --gigabytes a smaller number",
            )
        say(f"evacuate: a lab of {_HOSTS} hosts, {show_bytes(size)} on the node")
        with up(LabSpec(hosts=_HOSTS, site=Path(folder) / "lab"), tell=say) as lab:
            site = Site(lab.site)
            site.settings_file.write_text(SETTINGS)
            site.clusters_dir.mkdir()
            runs = [_Round(lab, site, f"evacuate-{number + 1}", size, say).run() for number in range(rounds)]
    subject = f"a transient-core node with {show_bytes(size)} leaves"
    return [
        Figure(
            group=_GROUP,
            what=f"{subject}, until its DataNode may stop",
            unit="s",
            ours=[run["safe"] for run in runs],
            other=[run["left"] for run in runs],
            than="HDFS's own decommission",
            at_most_times=_TIMES,
        ),
        Figure(group=_GROUP, what=f"{subject}, until it is clean", unit="s", ours=[run["clean"] for run in runs]),
    ]


class _Round:
    """One MR-cluster with two transient-core nodes, of which one after the other leaves."""

    def __init__(self, lab: Lab, site: Site, cluster: str, size: int, say: Say) -> None:
        self._lab = lab
        self._site = site
        self._cluster = cluster
        self._size = size
        self._say = say
        self._address = {host.name: host.address for host in wiring_of(LabSpec(hosts=_HOSTS)).nodes}
        self._master = ""

    def run(self) -> dict[str, float]:
        """Seconds: ``safe`` and ``clean`` by Fawkes, ``left`` by HDFS alone."""
        (self._site.clusters_dir / f"{self._cluster}.toml").write_text(
            f'min_nodes = {_CORE}\nreplication = 2\ngrowth = "TC"\nclients = ["{CONTROLLER_ADDRESS}"]\n'
            f'outputs = [{{ path = "{OUTPUT}", save_to = "../saved/{self._cluster}" }}]\n'
        )
        with controller(self._lab, self._site) as story:
            client = Client(self._site)
            client.post("request", {"spec": to_plain(self._site.cluster(self._cluster))})
            ours, theirs = story.until("two transient-core nodes to serve", lambda: self._grown(client))
            self._master = next(row["node"] for row in client.rows("nodes") if row["master"])
            client.post("pause", {"reason": "bench"})
            spans_s = self._by_fawkes(client, story, ours)
            self._hdfs("clear", theirs)
            client.post("undrain", {"node": ours})
            client.post("resume", {})
            story.until(f"{ours} to serve again", lambda: self._grown(client))
            client.post("pause", {"reason": "bench"})
            self._hdfs("fill", theirs, str(self._size))
        # Now nobody but HDFS itself acts: the MR-cluster goes on without a controller.
        spans_s["left"] = self._by_hdfs(theirs)
        with controller(self._lab, self._site) as story:
            client = Client(self._site)
            client.post("release", {"cluster": self._cluster, "discard": True, "force": True})
            story.until("the end of the MR-cluster", lambda: gone(client, self._cluster))
            client.post("resume", {})
        return spans_s

    def _grown(self, client: Client) -> list[str] | None:
        """The two transient-core nodes, once they serve."""
        serving = [row for row in client.rows("nodes") if row["state"] == NodeLife.SERVING.value]
        names = sorted(row["node"] for row in serving if row["role"] == Role.TRANSIENT_CORE.value)
        return names if len(names) == _HOSTS - _CORE else None

    def _by_fawkes(self, client: Client, story: Story, node: str) -> dict[str, float]:
        self._hdfs("fill", node, str(self._size))
        self._say(f"evacuate: {node} leaves by Fawkes")
        client.post("drain", {"node": node, "reason": "bench", "discard": False})
        began, safe, clean = story.until(f"{node} to be empty", lambda: left(story.entries, node))
        return {"safe": (safe - began) / SECOND_US, "clean": (clean - began) / SECOND_US}

    def _by_hdfs(self, node: str) -> float:
        self._say(f"evacuate: {node} leaves by HDFS alone")
        exclude = shlex.quote(_EXCLUDE.format(cluster=self._cluster))
        self._exec(
            *("ssh", "-F", str(self._site.root / "ssh_config"), self._master),
            f"echo {self._address[node]} >{exclude}.new && mv {exclude}.new {exclude}",
        )
        stamps = dict(line.split() for line in self._hdfs("leave", node).splitlines())
        return (int(stamps["left"]) - int(stamps["began"])) / 1000

    def _hdfs(self, what: str, node: str, *more: str) -> str:
        user = next(node.user for node in self._site.inventory().nodes if node.name == self._master)
        addresses = (self._address[self._master], self._address[node])
        return self._exec(sys.executable, "-m", "bench.hdfs", what, *addresses, user, *more)

    def _exec(self, *command: str) -> str:
        return run_inside(self._lab, *command, limit_s=_LIMIT_S)


def left(entries: Sequence[Entry], node: str) -> tuple[int, int, int] | None:
    """When (us) a node was last asked to leave, when its DataNode was allowed to stop, and when it was clean.

    None until it is.
    """
    began = safe = clean = None
    for entry in entries:
        at_us = entry.event.at_us
        if isinstance(entry.event, DrainAsked) and entry.event.node == node:
            began, safe, clean = at_us, None, None
        for change in entry.decision.changes:
            if began is None or not isinstance(change, PutNode) or change.state.node.id != node:
                continue
            if change.state.life is NodeLife.CLEANING:
                safe = safe or at_us
            elif safe is not None:
                clean = clean or at_us
    return None if began is None or safe is None or clean is None else (began, safe, clean)
