"""Masters that move and die on a lab with real Hadoop: how long HDFS, YARN and a client's put are away.

Three times on one MR-cluster: a planned move, the loss of the masters' host, and the loss again with a million files.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, Say
from bench.hadoop import GROUP, Story, controller
from bench.lab import PROJECT, lab_site, run_inside, until
from bench.namespace import enlarge_file
from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client
from fawkes.config.site.site import Site
from fawkes.live.lab import Lab, LabSpec
from fawkes.live.lab.inside.wiring import wiring_of
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.store.record import to_plain
from fawkes.store.sqlite import LedgerReader

FILES = 1_000_000
_NAME = "alpha"
_HOSTS = 3
_SETTINGS = (
    'preset = "demo"\nperiod = "10s"\nsample_every = "2s"\nidle_time = "10h"\n'
    '[patience]\nsilent = "5s"\nmasters_lost = "5s"\n'
)
_CLUSTER = f'min_nodes = 3\nreplication = 2\nclients = ["{CONTROLLER_ADDRESS}"]\n[heap]\nnamenode = "1GB"\n'
_NN = f"/srv/fawkes/clusters/{_NAME}/nn/current"
_PID = f"/srv/fawkes/clusters/{_NAME}/run/namenode.pid"
_KEPT_S, _YARN_S, _PUT_S = 15.0, 20.0, 30.0
_BYTES_A_SECOND = 50_000_000
_LIMIT_S = 300.0


@dataclass(frozen=True, slots=True)
class Away:
    """Seconds from the decision on: until the move has ended, HDFS takes writes, YARN has its nodes, a put ends."""

    moved: float
    hdfs: float
    yarn: float
    put: float


def figures(say: Say, files: int = FILES) -> list[Figure]:
    """Measure on a lab of its own, once."""
    with lab_site(_HOSTS, _SETTINGS, {_NAME: _CLUSTER}, say) as (lab, site):
        return _Bench(lab, site, say).run(files)


class _Bench:
    def __init__(self, lab: Lab, site: Site, say: Say) -> None:
        self._lab, self._site, self._say = lab, site, say
        self._addresses = {host.name: host.address for host in wiring_of(LabSpec(hosts=_HOSTS)).nodes}

    def run(self, files: int) -> list[Figure]:
        with controller(self._lab, self._site) as story:
            client = Client(self._site)
            client.post("pause", {"reason": "bench"})
            client.post("request", {"spec": to_plain(self._site.cluster(_NAME))})
            story.until("the MR-cluster", lambda: self._row(client)["state"] == "running")
            self._copied(story, 0)
            self._say("masters: a planned move")
            planned = self._away(
                client, story, lambda: client.post("move-masters", {"cluster": _NAME}), self._on(client)
            )
            old = self._on(client)
            self._say("masters: their host is lost")
            lost = self._away(client, story, lambda: self._lab.kill(old), old)
            self._lab.start(old)
            story.until("the old host", lambda: self._serving(client) == _HOSTS)
            master = self._on(client)
            shell = (
                f'eval "$({self._fawkes("env", _NAME)})"; hdfs dfsadmin -safemode enter && hdfs dfsadmin -saveNamespace'
            )
            self._exec("sh", "-c", shell)
        self._say(f"masters: {files} files more")
        size = self._enlarge(master, files)
        began = time.monotonic()
        with controller(self._lab, self._site) as story:
            client = Client(self._site)
            self._copied(story, size)
            kept = time.monotonic() - began
            # Killed as they were, they may have gone to another node.
            story.until("masters that answer", lambda: self._files(self._on(client)) >= files)
            master = self._on(client)
            self._say(f"masters: their host is lost again ({master})")
            large = self._away(client, story, lambda: self._lab.kill(master), master)
        return _table(planned, lost, large, kept, size, files)

    def _away(self, client: Client, story: Story, begin: Callable[[], object], old: str) -> Away:
        before = len(self._reasons("masters-moved"))
        with self._probe() as lines:
            time.sleep(1.0)
            begin()
            story.until("the move", lambda: len(self._reasons("masters-moved")) > before)
            new = self._addresses[self._on(client)]
            decided, moved = self._reasons("masters-move")[-1], self._reasons("masters-moved")[-1]
            assert self._addresses[old] != new
            first: dict[str, float] = {}

            def all_there() -> bool:
                for line in lines.read_text().splitlines():
                    at, what, where, value = line.split()
                    whole = what != "nodes" or int(value) >= _HOSTS - 1
                    late = float(at) > (first.get("write", float("inf")) if what == "put" else decided)
                    if late and whole and (where == new or what == "put"):
                        first.setdefault(what, float(at))
                return first.keys() >= {"write", "nodes", "put"}

            until("HDFS, YARN and a put", all_there)
        away = Away(moved - decided, first["write"] - decided, first["nodes"] - decided, first["put"] - decided)
        self._say(f"masters: {away}")
        return away

    @contextmanager
    def _probe(self) -> Iterator[Path]:
        """The file in which a line stands for each answer; a put is begun again and again with the present address."""
        key = (self._site.state_dir / "keys" / _NAME).read_text().strip()
        lines, data = self._site.root / "probe.txt", self._site.root / "put.txt"
        data.write_text("some words\n")
        put = (
            f'while :; do eval "$({self._fawkes("env", _NAME)})" && hdfs dfs -put -f {data} /put && '
            'echo "$(date +%s.%N) put - 1"; sleep 0.2; done'
        )
        with lines.open("w") as out:
            ask = [sys.executable, "-m", "bench.masters_probe", key, *self._addresses.values()]
            commands: list[Sequence[str]] = [ask, ["timeout", "600", "bash", "-c", put]]
            started = [
                self._lab.popen(c, cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
                for c in commands
            ]
            try:
                yield lines
            finally:
                for process in started:
                    process.terminate()
                for process in started:
                    process.wait(_LIMIT_S)

    def _enlarge(self, master: str, files: int) -> int:
        """Kill the NameNode, and give it an image with more files; the bytes of that."""
        ssh = self._ssh(master)
        name = self._exec(*ssh, f"kill -9 $(cut -d' ' -f1 {_PID}); cd {_NN}; ls fsimage_* | grep -v md5 | tail -n 1")
        image = self._site.root / name.strip()
        with image.open("wb") as out:
            self._pipe([*ssh, f"cat {_NN}/{image.name}"], stdout=out)
        size = enlarge_file(image, files)
        for each in (image, image.with_name(f"{image.name}.md5")):
            with each.open("rb") as source:
                self._pipe([*ssh, f"cat >{_NN}/{each.name}"], stdin=source)
        return size

    def _copied(self, story: Story, least: int) -> None:
        kept = self._site.state_dir / "kept" / _NAME
        story.until(
            "a copy",
            lambda: (kept / "note").exists() and any(p.stat().st_size >= least for p in kept.glob("nn/fsimage_*[0-9]")),
        )

    def _reasons(self, code: str) -> list[float]:
        with closing(LedgerReader(self._site.state_dir)) as reader:
            return [
                entry.event.at_us / SECOND_US
                for entry in reader.entries()
                for reason in entry.decision.reasons
                if reason.code == code
            ]

    def _row(self, client: Client) -> dict[str, object]:
        return client.rows("clusters", cluster=_NAME)[0]

    def _on(self, client: Client) -> str:
        return str(self._row(client)["masters_on"])

    def _serving(self, client: Client) -> int:
        return sum(row["state"] == "serving" for row in client.rows("nodes"))

    def _files(self, master: str) -> int:
        key = (self._site.state_dir / "keys" / _NAME).read_text().strip()
        url = f"http://{self._addresses[master]}:9870/jmx?qry=Hadoop:service=NameNode,name=FSNamesystem"
        code = (
            "import json, sys, urllib.request as u; from fawkes.live.wire.rest import key_headers as k; "
            "r = u.Request(sys.argv[1], headers=k(sys.argv[2])); "
            "print(json.load(u.urlopen(r, timeout=5))['beans'][0]['FilesTotal'])"
        )
        done = self._lab.exec([sys.executable, "-c", code, url, key], cwd=PROJECT, timeout_s=60)
        return int(done.stdout) if done.returncode == 0 else 0

    def _fawkes(self, *words: str) -> str:
        return shlex.join([sys.executable, "-m", "fawkes", "--site", str(self._site.root), *words])

    def _ssh(self, host: str) -> list[str]:
        return ["ssh", "-F", str(self._site.root / "ssh_config"), "-o", "BatchMode=yes", host]

    def _exec(self, *command: str) -> str:
        return run_inside(self._lab, *command, limit_s=_LIMIT_S)

    def _pipe(self, command: Sequence[str], **streams: object) -> None:
        process = self._lab.popen(command, **{"stdin": subprocess.DEVNULL, **streams})
        if process.wait(_LIMIT_S) != 0:
            raise FawkesError(f"{command[-1]} failed")


def _table(planned: Away, lost: Away, large: Away, kept: float, size: int, files: int) -> list[Figure]:
    def line(what: str, value: float, at_most: float | None = None) -> Figure:
        return Figure(group=GROUP, what=what, unit="s", ours=[value], at_most=at_most)

    image_s = _KEPT_S + size / _BYTES_A_SECOND
    figures: list[Figure] = []
    cases = (
        ("a planned move of masters", planned, _KEPT_S),
        ("masters on a lost host, from a kept copy", lost, _KEPT_S),
        (f"the same with {files:,} files (an image of {size / 1e6:.0f} MB)", large, image_s),
    )
    for what, away, hdfs_s in cases:
        figures.append(line(f"{what}: from the decision until HDFS takes writes", away.hdfs, hdfs_s))
        figures.append(line("... until YARN has its NodeManagers", away.yarn, _YARN_S if away is not large else None))
        figures.append(line("... until a client's put has ended", away.put, _PUT_S if away is not large else None))
        figures.append(line("... until the move has ended", away.moved))
    figures.append(line(f"a controller's start, until it has copied an image of {size / 1e6:.0f} MB", kept))
    return figures
