"""What the bare scripts need: the same files, flags and job as Fawkes, from Fawkes's own `live.setup`.

Run inside of the lab: ``python -m bench.bare.plan SITE FOLDER``. Writes FOLDER/HOST.tar for each host.
"""

from __future__ import annotations

import io
import shlex
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.hadoop import CORE, GROWN, MASTER, bare_spec, job_spec
from fawkes.config.clusters.details import JobDetails
from fawkes.config.site.site import Site
from fawkes.core.values.effects import Deploy, Goal, Member, StartJob
from fawkes.core.values.model import NodeId, Role
from fawkes.live.hadoop.doors import LIST, DoorKeys, Doors
from fawkes.live.hadoop.releases import Releases
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import Clusters, LiveCluster
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.live.nodes.playbooks import hadoop
from fawkes.live.nodes.ssh import HostAddress
from fawkes.playbook import Folders
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.compile.compiled import DOORS

_COMMAND_S = 60.0


def write(site: Path, folder: Path) -> None:
    """Everything for one deployment and one growth."""
    inventory = Site(site).inventory()
    addresses = {n.name: HostAddress.of(n) for n in inventory.nodes}
    with Fleet(addresses, inventory.known_hosts) as fleet:
        ground = Ground(
            inventory.nodes, ControllerIdentity("bare", 1, "bare"), fleet, command_s=_COMMAND_S, threads=len(addresses)
        )
        cached = Releases(lambda piece: pieces.provide([piece]), print, wait_us=lambda tries: 0, now_us=lambda: 0)
        doors = Doors(DoorKeys(folder / "keys"), lambda: cached.jar(DOORS))
        setup = Setup(ground, fleet, cached, doors)
        plan = _Plan(site, ground, setup)
        for node in CORE:
            _tar(folder / f"{node}.tar", plan.of_core(NodeId(node)))
        for node in GROWN:
            _tar(folder / f"{node}.tar", plan.of_transient(NodeId(node)))
        (folder / "yarn.include").write_text(_lines(ground.addresses(map(NodeId, (*CORE, *GROWN)))))
        (folder / "user").write_text(ground.nodes[NodeId(MASTER)].user)


class _Plan:
    def __init__(self, site: Path, ground: Ground, setup: Setup) -> None:
        self._ground = ground
        self._setup = setup
        spec = bare_spec(site)
        # All hosts are members for the masters' policy from the start, so that growing needs one refresh, not three.
        everybody = {NodeId(n): Member(Goal.SERVING, Role.CORE, 1) for n in (*CORE, *GROWN)}
        few = {n: member for n, member in everybody.items() if n in CORE}
        clusters = Clusters()
        self._cluster = clusters.deploying(Deploy(spec.id, 1, spec, few, NodeId(MASTER)))
        self._open = clusters.deploying(Deploy(spec.id, 1, spec, everybody, NodeId(MASTER)))

    def of_core(self, node: NodeId) -> dict[str, str | bytes]:
        """The files of a core node, below the MR-cluster's folder there."""
        cluster, setup = self._cluster, self._setup
        daemons = setup.daemons(cluster, node, Role.CORE)
        files = {
            **self._conf(node, Role.CORE),
            "start.sh": self._starts(node, [d for d in daemons if d.name != "namenode"]),
        }
        if node != MASTER:
            return files
        policy = setup.policy(self._open)
        data = self._ground.addresses(map(NodeId, CORE))
        members = hadoop.members_files(hadoop.Members(version=1, data=data, compute=data))
        return {
            **files,
            **{f"members/{name}": text for name, text in members.items()},
            "conf/hadoop-policy.xml": policy,
            "start-namenode.sh": self._starts(node, [d for d in daemons if d.name == "namenode"]),
            "format.sh": self._command(node, setup.format_argv(cluster)),
            "refresh.sh": self._command(node, setup.refresh_argv(cluster, "yarn")),
            **self._job(cluster),
        }

    def of_transient(self, node: NodeId) -> dict[str, str | bytes]:
        """The files of a transient node."""
        daemons = self._setup.daemons(self._cluster, node, Role.TRANSIENT)
        return {**self._conf(node, Role.TRANSIENT), "start.sh": self._starts(node, daemons)}

    def _conf(self, node: NodeId, role: Role) -> dict[str, str | bytes]:
        texts = {**self._setup.files(self._cluster, node, role), LIST: self._setup.doors_list(self._open)}
        folders = self._folders(node)
        private = shlex.join(map(str, (folders.dn, folders.dn_input, folders.jobs)))
        prepare = f"mkdir -p {shlex.join(map(str, folders.all()))} && chmod 700 {private}\n"
        return {"prepare.sh": prepare, **{f"conf/{name}": text for name, text in texts.items()}}

    def _job(self, cluster: LiveCluster) -> dict[str, str]:
        spec = job_spec(cluster.id, "job")
        effect = StartJob(spec.id, cluster.id, 1, spec)
        command = self._setup.job_command(cluster, effect, JobDetails.of(spec.details))
        folder = f"jobs/{spec.id}.1/conf"
        start = self._start(NodeId(MASTER), "job", command.argv, command.env)
        return {"job.sh": start, **{f"{folder}/{name}": text for name, text in command.conf.items()}}

    def _starts(self, node: NodeId, daemons: Sequence[hadoop.Daemon]) -> str:
        return "".join(self._start(node, d.name, d.argv, d.env) for d in daemons)

    def _start(self, node: NodeId, name: str, argv: Sequence[str], env: Mapping[str, str]) -> str:
        log = shlex.quote(str(self._folders(node).logs / f"{name}.out"))
        return f"setsid {self._line(node, argv, env)} </dev/null >{log} 2>&1 &\n"

    def _command(self, node: NodeId, argv: Sequence[str]) -> str:
        env = self._setup.environment(self._cluster, node)
        return f"{self._line(node, argv, env)} </dev/null >/dev/null 2>&1\n"

    def _line(self, node: NodeId, argv: Sequence[str], env: Mapping[str, str]) -> str:
        marks = self._ground.lease(node, self._cluster.id, 1).marks("bare")
        words = [f"{key}={value}" for key, value in {**env, **marks}.items()]
        return f'env -i "PATH=$PATH" "HOME=$HOME" "USER=$(id -un)" {shlex.join([*words, *argv])}'

    def _folders(self, node: NodeId) -> Folders:
        return self._ground.folders(node, self._cluster.id)


def _lines(words: Sequence[str]) -> str:
    return "".join(f"{word}\n" for word in words)


def _tar(path: Path, files: Mapping[str, str | bytes]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, text in sorted(files.items()):
            data = text if isinstance(text, bytes) else text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
