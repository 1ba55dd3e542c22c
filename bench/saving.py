"""A task of 64 MB is saved by CRIU and goes on: by the scripts of a container, and by plain commands, in one lab."""

from __future__ import annotations

import shlex
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from bench.figures import Figure, Say
from bench.hadoop import SETTINGS, controller
from bench.lab import PROJECT, lab_site
from fawkes.base.errors import FawkesError
from fawkes.cli.asking.client import Client
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterLife
from fawkes.live.lab import Lab
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.criu import debian
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.compile.compiled import TASKS, place_of
from fawkes.store.record import to_plain

_GROUP = "Saving tasks"
_CLUSTER = "bench"
_TIMES = 1.3
_LIMIT_S = 300.0
_SCRIPTS = Path(__file__).parent
_PROGRAM = """
import os, time
memory = os.urandom(64 << 20)
number = 0
while True:
    number += 1
    with open("ticks.new", "w") as file:
        file.write(str(number))
    os.replace("ticks.new", "ticks")
    time.sleep(0.02)
"""


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure on the controller's side of a lab of its own, with the HDFS of an MR-cluster of one node."""
    pieces.provide((*pieces.of_name("tasks"), *pieces.of_name("criu")))
    ours, bare = [], []
    cluster = f'min_nodes = 1\nreplication = 1\nclients = ["{CONTROLLER_ADDRESS}"]\n'
    with lab_site(1, SETTINGS, {_CLUSTER: cluster}, say) as (lab, site):
        folder = site.root.parent
        (folder / "count.py").write_text(_PROGRAM)
        with tarfile.open(debian.place_of(debian.CRIU)) as tar:
            tar.extractall(folder / "criu", filter="data")
        with controller(lab, site) as story:
            client = Client(site)
            client.post("request", {"spec": to_plain(site.cluster(_CLUSTER))})
            story.until("the MR-cluster", lambda: client.rows("clusters")[0]["state"] == ClusterLife.RUNNING.value)
            scripts = tuple(map(str, (TASKS.sources / "fawkes-task", debian.SCRIPT, place_of(TASKS))))
            for number in range(rounds):
                say(f"saving: round {number + 1} of {rounds}")
                ours.append(_times(lab, site, folder, "saving.sh", f"ours-{number}", scripts))
                bare.append(_times(lab, site, folder, "bare/saving.sh", f"bare-{number}"))
    return [
        Figure(
            group=_GROUP,
            what=what,
            unit="s",
            ours=[row[key] for row in ours],
            other=[row[key] for row in bare],
            than="criu and hdfs dfs",
            at_most_times=_TIMES if key == "all" else None,
        )
        for key, what in (
            ("all", "a task of 64 MB is saved in HDFS and goes on"),
            ("saved", "... of which until it is saved"),
            ("restored", "... of which until it goes on"),
        )
    ]


def _times(lab: Lab, site: Site, folder: Path, script: str, name: str, more: Sequence[str] = ()) -> dict[str, float]:
    """The seconds of one round of a script."""
    command = f"exec {sys.executable} {folder}/count.py"
    words = ("sh", str(_SCRIPTS / script), f"{folder}/{name}", f"{folder}/criu", command, f"/{name}", *more)
    env = shlex.join((sys.executable, "-m", "fawkes", "--site", str(site.root), "env", _CLUSTER))
    done = lab.exec(["sh", "-c", f'eval "$({env})"; {shlex.join(words)}'], cwd=PROJECT, timeout_s=_LIMIT_S)
    if done.returncode != 0:
        raise FawkesError(f"{script} failed: {done.stderr.strip()[-2000:]}")
    lines = (line.split() for line in done.stdout.splitlines())
    at = {row[0]: int(row[1]) / 1000 for row in lines if len(row) == 2}
    times = {"saved": at["saved"] - at["began"], "restored": at["restored"] - at["again"]}
    return {**times, "all": sum(times.values())}
