"""One command on 64 hosts: Fawkes's fleet beside clush and Ansible, with new connections and with kept ones."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL, run
from tempfile import TemporaryDirectory
from time import monotonic

from bench.figures import Figure, Say
from bench.lab import measured_inside
from bench.tools import tools
from fawkes.config.site.site import Site
from fawkes.live.lab import LabSpec, up
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ssh import HostAddress, Result
from fawkes.playbook import Script

HOSTS = 64
GROUP = f"SSH: `true` on {HOSTS} hosts, fan-out {HOSTS}"
CHECK_GROUP = f"`fawkes check` of {HOSTS} hosts"
_MEMORY_BYTES = 64_000_000
_NEW_FASTER, _KEPT_FASTER = 3.0, 15.0
_DEADLINE_S = 120.0


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure on a lab of its own; each round measures everything, one after the other."""
    programs = tools(say)
    with TemporaryDirectory(prefix="fb-") as folder:
        spec = LabSpec(hosts=HOSTS, site=Path(folder) / "lab", nodemanager_memory_bytes=_MEMORY_BYTES)
        say(f"ssh: a lab of {HOSTS} hosts")
        with up(spec, tell=say) as lab:
            own = Path(folder) / "own"
            own.mkdir()
            times = measured_inside(lab, "bench.ssh", str(programs), str(own), str(rounds))

    def against(kind: str, other: str, than: str, faster: float) -> Figure:
        ours = times[f"fleet {kind}"]
        what = f"{kind} connections"
        return Figure(
            group=GROUP, what=what, unit="s", ours=ours, other=times[other], than=than, at_least_faster=faster
        )

    return [
        against("new", "clush new", "clush", _NEW_FASTER),
        against("new", "ansible new", "Ansible", _NEW_FASTER),
        against("kept", "clush new", "clush, which keeps none by itself", _KEPT_FASTER),
        against("kept", "clush kept", "clush, with ControlPersist set for it", _KEPT_FASTER),
        against("kept", "ansible kept", "Ansible, with its ControlPersist", _KEPT_FASTER),
        Figure(group=GROUP, what="new connections, a Python process of its own", unit="s", ours=times["process new"]),
        Figure(group=CHECK_GROUP, what="all hosts fit", unit="s", ours=times["check"]),
    ]


# --- inside of the lab


class _Others:
    """clush and Ansible on the hosts of a lab; ``folder`` is for their sockets and files."""

    def __init__(self, site: Path, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._config = site / "ssh_config"
        self._hosts = [f"node{i:02d}" for i in range(1, HOSTS + 1)]
        (folder / "inventory").write_text("\n".join(self._hosts) + "\n")
        (folder / "ansible.cfg").write_text(f"[defaults]\ninventory={folder}/inventory\nlocal_tmp={folder}/tmp\n")

    def clush(self, options: str = "") -> None:
        """`true` by clush, with further options for ssh."""
        words = ["-f", str(HOSTS), "-w", f"node[01-{HOSTS}]", "-o", f"-F {self._config} {options}", "true"]
        self._run(self._programs / "clush", *words)

    def ansible(self, options: str) -> None:
        """`true` by Ansible's raw module."""
        args = f"-F {self._config} {options}"
        environment = {"ANSIBLE_CONFIG": f"{self._folder}/ansible.cfg", "ANSIBLE_SSH_ARGS": args}
        environment |= {"ANSIBLE_HOME": str(self._folder), "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._folder)}
        self._run(self._programs / "ansible", "all", "-f", str(HOSTS), "-m", "raw", "-a", "true", **environment)

    def kept(self) -> str:
        """Options of ssh that keep connections."""
        return "-o ControlMaster=auto -o ControlPersist=600"

    def kept_by_clush(self) -> str:
        """The same with a place for the sockets, which Ansible chooses by itself; clush reads %% as %."""
        return f"{self.kept()} -o ControlPath={self._folder}/c-%%h"

    def _run(self, *command: Path | str, **environment: str) -> None:
        done = run(
            [str(word) for word in command],
            env={**os.environ, **environment},
            stdin=DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_DEADLINE_S,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


class _Ours:
    """Fawkes's fleet on the hosts of a lab."""

    def __init__(self, site: Path) -> None:
        inventory = Site(site).inventory()
        self._known_hosts = inventory.known_hosts
        self._addresses = {n.name: HostAddress.of(n) for n in inventory.nodes}

    def fleet(self) -> Fleet:
        """Without any connection yet."""
        return Fleet(self._addresses, self._known_hosts, fanout=HOSTS)

    def true(self, fleet: Fleet) -> None:
        """`true` on all hosts."""
        for node, outcome in fleet.run_many(self._addresses, Script("true"), _DEADLINE_S).items():
            if not isinstance(outcome, Result) or outcome.exit != 0:
                raise RuntimeError(f"{node}: {outcome}")

    def new(self) -> None:
        """The same from the first connection to the end of the last."""
        with self.fleet() as fresh:
            self.true(fresh)


def _measure(site: Path, programs: Path, folder: Path, rounds: int) -> dict[str, list[float]]:
    ours = _Ours(site)
    times: dict[str, list[float]] = {}

    def time(name: str, do: Callable[[], object]) -> None:
        began = monotonic()
        do()
        times.setdefault(name, []).append(monotonic() - began)

    with ours.fleet() as kept:
        others = _Others(site, programs, folder)
        myself = [sys.executable, "-m", "bench.ssh", str(site)]
        check = [sys.executable, "-m", "fawkes", "--site", str(site), "check"]
        others.clush(others.kept_by_clush())
        others.ansible(others.kept())
        ours.true(kept)
        for number in range(1, rounds + 1):
            print(f"ssh: round {number} of {rounds}", file=sys.stderr, flush=True)
            time("fleet new", ours.new)
            time("clush new", others.clush)
            time("ansible new", lambda: others.ansible("-o ControlMaster=no"))
            time("process new", lambda: run(myself, check=True, stdin=DEVNULL))
            time("check", lambda: run(check, check=True, stdin=DEVNULL, capture_output=True))
            time("fleet kept", lambda: ours.true(kept))
            time("clush kept", lambda: others.clush(others.kept_by_clush()))
            time("ansible kept", lambda: others.ansible(others.kept()))
    return times


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _Ours(Path(sys.argv[1])).new()
    else:
        site_folder, tools_folder, own_folder = map(Path, sys.argv[1:4])
        json.dump(_measure(site_folder, tools_folder, own_folder, int(sys.argv[4])), sys.stdout)
