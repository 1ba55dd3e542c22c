"""Shared parts of the tests of the lab: commands on hosts, waiting for a condition, traces that a lab could leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from uuid import uuid4

from pyroute2 import IPRoute

from fawkes.live.lab import Lab
from fawkes.playbook import Facts, Lease, Script, read_facts

LIMIT_S = 30.0
FAWKES = [sys.executable, "-m", "fawkes"]


def on_host(lab: Lab, host: str, script: str, *, connect_s: int = 10) -> subprocess.CompletedProcess[str]:
    """Run a script on a host by the OpenSSH client with the lab's own configuration."""
    ssh = ["ssh", "-F", str(lab.site / "ssh_config"), "-o", f"ConnectTimeout={connect_s}", "-o", "BatchMode=yes"]
    return lab.exec([*ssh, host, "/bin/sh -s"], input=script, timeout_s=LIMIT_S)


def tried(lab: Lab, host: str, script: Script) -> subprocess.CompletedProcess[str]:
    """Run a script of a playbook on a host, as the controller does."""
    return on_host(lab, host, "{\n" + script.text + "\n} </dev/null\n")


def ok(lab: Lab, host: str, script: Script) -> Facts:
    """The facts of a script of a playbook that must succeed."""
    done = tried(lab, host, script)
    assert done.returncode == 0, done
    return read_facts(done.stdout)


def lease(host: str, cluster: str = "first", generation: int = 1) -> Lease:
    """The right to change a host, in a work folder that nobody else has."""
    work = PurePosixPath(f"/srv/fawkes-{uuid4().hex[:8]}")
    return Lease(node=host, work_dir=work, pool="p", cluster=cluster, generation=generation, epoch=1, controller="c")


def output_of(lab: Lab, host: str, script: str) -> str:
    """The output of a script on a host where it must succeed."""
    done = on_host(lab, host, script)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def fawkes(
    *arguments: str | Path, env: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return subprocess.run(
        [*FAWKES, *map(str, arguments)],
        env={**os.environ, **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=2 * LIMIT_S,
        check=False,
    )


def traces(lab_name: str) -> list[str]:
    """The traces of a lab: processes that live among its mounts, mounts, cgroups."""
    traces_left = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mounted = lab_name in (process / "mountinfo").read_text()
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if mounted or f"/labs/{lab_name}/" in command:
            traces_left.append(f"process {process.name}: {command}")
    traces_left += [f"cgroup {folder}" for folder in Path("/sys/fs/cgroup").rglob(f"*{lab_name}*")]
    return traces_left


def links() -> set[str]:
    """The names of the machine's network links."""
    with IPRoute() as netlink:
        return {link.get_attr("IFLA_IFNAME") for link in netlink.get_links()}


def states_by_host(lab: Lab) -> list[set[str]]:
    """For each host that is on, in the order of their first processes: the states that its processes are in."""
    script = """
import json, os
hosts = {}
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    try:
        namespace = os.readlink(f"/proc/{pid}/ns/pid")
        state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
    except OSError:
        continue
    hosts.setdefault(namespace, set()).add(state)
hosts.pop(os.readlink("/proc/self/ns/pid"))
print(json.dumps([sorted(states) for states in hosts.values()]))
"""
    done = lab.exec([sys.executable, "-I", "-S", "-c", script], check=True)
    return [set(states) for states in json.loads(done.stdout)]
