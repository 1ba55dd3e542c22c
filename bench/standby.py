"""A client that puts small files into an HDFS with a second NameNode, and loses the masters' host meanwhile.

One JVM of Hadoop's own client, with what Fawkes tells clients of the MR-cluster, as a user's program would be.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.figures import Figure, Say
from bench.hadoop import GROUP, SETTINGS, Story, controller
from bench.lab import PROJECT, lab_site, until
from fawkes.cli.asking.client import Client
from fawkes.config.site.site import Site
from fawkes.live.lab import Lab
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.store.record import to_plain

_NAME = "alpha"
_HOSTS = 5
_CLUSTER = (
    f'min_nodes = 4\nreplication = 2\nblock_size = "1MiB"\nmasters = "standby"\nclients = ["{CONTROLLER_ADDRESS}"]\n'
)
_OFF_S, _ANSWERS_S = 15.0, 8.0
#: puts that must have ended well before the loss, and after the takeover
_PUTS = 20
_EMPTY = "rm -rf /srv/fawkes/clusters /srv/fawkes/lease 2>/dev/null || :"


@dataclass(frozen=True, slots=True)
class Put:
    """A put that ended at a time in seconds; ``failed`` is what the client was told, empty when it ended well."""

    at_s: float
    failed: str = ""


def longest_gap_s(puts: Sequence[Put]) -> float:
    """The longest time between two acknowledged puts."""
    well = [put.at_s for put in puts if not put.failed]
    return max(after - before for before, after in pairwise(well))


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure on a lab of its own: the host is off, then it is back at once with an empty disk."""
    with lab_site(_HOSTS, SETTINGS, {_NAME: _CLUSTER}, say) as (lab, site):
        return _Bench(lab, site, say).run(rounds)


class _Bench:
    def __init__(self, lab: Lab, site: Site, say: Say) -> None:
        self._lab, self._say, self._site = lab, say, site
        self._client = Client(self._site)

    def run(self, rounds: int) -> list[Figure]:
        off, answers = [], []
        with controller(self._lab, self._site) as story:
            self._client.post("request", {"spec": to_plain(self._site.cluster(_NAME))})
            for _ in range(rounds):
                off.append(self._lost(story, "is off", self._lab.kill))
                answers.append(self._lost(story, "is back at once, and empty", self._empty_and_restart))
        return [
            *_lines("the masters' host is off", off, _OFF_S),
            *_lines("the masters' host is back at once, with an empty disk", answers, _ANSWERS_S),
        ]

    def _lost(self, story: Story, how: str, lose: Callable[[str], object]) -> list[Put]:
        """The puts around a loss of the masters' host; the MR-cluster is whole again afterwards."""
        story.until("a second NameNode that can take over, and a whole journal", self._ready)
        old, path = str(self._row()["masters_on"]), self._site.root / "puts.txt"
        with path.open("w") as out, self._lab.popen(self._command(), cwd=PROJECT, stdout=out) as client:
            try:
                until("puts before the loss", lambda: len(_read(path)) >= _PUTS)
                self._say(f"standby: the host of the masters {how} ({old})")
                lose(old)
                story.until("the takeover", lambda: self._row()["masters_on"] not in (old, None))
                there = len(_read(path))
                until("puts after the takeover", lambda: sum(not p.failed for p in _read(path)[there:]) >= _PUTS)
                # Before its end, which fails a put.
                puts = _read(path)
            finally:
                client.terminate()
        self._lab.start(old)
        self._say(f"standby: longest gap {longest_gap_s(puts):.1f} s; failed: {[p.failed for p in puts if p.failed]}")
        return puts

    def _empty_and_restart(self, host: str) -> None:
        ssh = ["ssh", "-F", str(self._site.root / "ssh_config"), "-o", "BatchMode=yes", host, _EMPTY]
        self._lab.exec(ssh, check=True)
        self._lab.kill(host)
        self._lab.start(host)

    def _ready(self) -> bool:
        """Also with a whole journal: else two hosts of it are lost at once."""
        rows = self._client.rows("board", of="standby")
        return any(row["takes_over"] and not row["error"] for row in rows)

    def _row(self) -> dict[str, object]:
        return self._client.rows("clusters", cluster=_NAME)[0]

    def _command(self) -> list[str]:
        env = shlex.join([sys.executable, "-m", "fawkes", "--site", str(self._site.root), "env", _NAME])
        java = f'java -cp "$(hdfs classpath)" {PROJECT / "bench" / "puts" / "Puts.java"} /puts 2>/dev/null'
        return ["bash", "-c", f'eval "$({env})" && exec {java}']


def _read(path: Path) -> list[Put]:
    rows = (line.split(" ", 2) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n"))
    return [Put(float(row[0]), row[2].strip() if row[1] == "failed" else "") for row in rows]


def _lines(what: str, rounds: Sequence[Sequence[Put]], at_most_s: float) -> list[Figure]:
    gaps, failed = map(longest_gap_s, rounds), [float(sum(bool(put.failed) for put in puts)) for puts in rounds]
    return [
        Figure(
            group=GROUP,
            what=f"a second NameNode, and {what}: a client's longest gap between two puts",
            unit="s",
            ours=list(gaps),
            at_most=at_most_s,
        ),
        Figure(group=GROUP, what="... puts that failed", unit="", ours=failed, at_most=0),
    ]
