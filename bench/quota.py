"""CPU quotas on nodes: how soon they are in force, what they cost a node, and how near the real share is.

The containers are shells with the marks of an MR-cluster and the id of a container; nothing of Hadoop runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from bench.figures import Figure, Say
from bench.lab import measured_inside
from fawkes.base.errors import FawkesError
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterId, NodeId
from fawkes.live.lab import LabSpec, up
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import ControllerIdentity, Ground
from fawkes.live.nodes.playbooks import lease, node
from fawkes.live.nodes.quotas import InForce, Limit, NodeQuotas
from fawkes.live.nodes.ssh import HostAddress
from fawkes.playbook import Lease, Script, reading

HOSTS = 8
CONTAINERS = 3
GROUP = f"CPU quotas: {CONTAINERS} containers on each node"
_MEMORY_BYTES = 64_000_000
_IN_FORCE_MS, _PERCENT, _OFF_CORES = 150.0, 1.0, 0.05
_PERIOD_S, _COST_S, _SHARE_S, _SETTLE_S = 0.5, 60.0, 10.0, 1.0
_SHARES = (25, 50, 100)
_DEADLINE_S = 30.0
_CLUSTER = ClusterId("bench")


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure on a lab of its own."""
    with TemporaryDirectory(prefix="fb-") as folder:
        spec = LabSpec(
            hosts=HOSTS, site=Path(folder) / "lab", nodemanager_memory_bytes=_MEMORY_BYTES, control_groups=True
        )
        say(f"quota: a lab of {HOSTS} hosts")
        with up(spec, tell=say) as lab:
            measured = measured_inside(lab, "bench.quota", str(rounds))
    late = sorted(measured["in force"])[max(0, -(-rounds * 95 // 100) - 1)]
    what = f"from a decision until all quotas of {HOSTS} hosts are read back"
    cost = f"processor of a node, {1 / _PERIOD_S:.0f} settings a second for {_COST_S:.0f} s, with the guard"
    return [
        Figure(group=GROUP, what=what, unit="ms", ours=measured["in force"]),
        Figure(group=GROUP, what=f"{what}: 95 % of the rounds", unit="ms", ours=[late], at_most=_IN_FORCE_MS),
        Figure(
            group=GROUP,
            what=cost,
            unit="% of a core",
            ours=measured["cost"],
            other=measured["nothing"],
            than="scripts that do nothing",
            at_most=_PERCENT,
        ),
        *(
            Figure(
                group=GROUP,
                what=f"a busy container under {hundredths / 100:g} core: off by",
                unit="cores",
                ours=measured[f"off {hundredths}"],
                at_most=_OFF_CORES,
            )
            for hundredths in _SHARES
        ),
    ]


# --- inside of the lab

# Processes that ended count with the parent that has waited for them.
_SUM = """ | awk '{{ sub(/^.*\\) /, ""); n += {fields} }} END {{ print "@ticks=" n }}'"""
_ALL_TICKS = "cat /proc/[0-9]*/stat 2>/dev/null" + _SUM.format(fields="$12 + $13 + $14 + $15")
_BUSY = "while :; do :; done & while :; do :; done"
_IDLE = "sleep 4242 & wait"


def _container(number: int) -> str:
    return f"container_1_0001_01_{number:06d}"


class _Nodes:
    """The hosts of a lab as a controller has them, with containers."""

    def __init__(self, site: Path) -> None:
        inventory = Site(site).inventory()
        addresses = {host.name: HostAddress.of(host) for host in inventory.nodes}
        self.fleet = Fleet(addresses, inventory.known_hosts, fanout=HOSTS)
        identity = ControllerIdentity(inventory.pool, 1, "bench")
        self._ground = Ground(inventory.nodes, identity, self.fleet, command_s=_DEADLINE_S, threads=HOSTS)
        self.names = [NodeId(host.name) for host in inventory.nodes]
        self.quotas = NodeQuotas(self._ground)
        for name in self.names:
            right = self._right(name)
            self._ground.run(name, lease.take(right), "taking it")
            self._ground.run(name, node.prepare(right), "making its folders")

    def _right(self, name: NodeId) -> Lease:
        return self._ground.lease(name, _CLUSTER, 1)

    def start(self, name: NodeId, container: str, program: str) -> None:
        """Start a container that does no more than ``program``."""
        marks = {**self._right(name).marks("nodemanager"), "CONTAINER_ID": container}
        words = [f"{key}={value}" for key, value in marks.items()]
        script = reading("env {words} setsid sh -c {program} >/dev/null 2>&1 &", words=words, program=program)
        self._ground.run(name, script, "starting a container")

    def limit(self, names: list[NodeId], hundredths: Mapping[str, int]) -> float:
        """Milliseconds until these quotas are in force on all of these nodes; FawkesError if they are not."""
        began = monotonic()
        answers = self.quotas.set(dict.fromkeys(names, (_CLUSTER, 1, hundredths)), _DEADLINE_S)
        took = (monotonic() - began) * 1000
        for name, answer in answers.items():
            if not isinstance(answer, InForce):
                raise answer
            for container, wanted in hundredths.items():
                there = answer.containers[container]
                if (there.limit, there.hundredths) != (Limit.LIMITED, wanted):
                    raise FawkesError(f"{container}: {there}, not {wanted}", where=name)
        return took

    def again(self, name: NodeId, number: int) -> None:
        """Set other quotas of the idle containers of one node."""
        self.limit([name], {_container(each): 25 + number % 50 for each in range(CONTAINERS)})

    def ticks(self, name: NodeId, script: str) -> tuple[float, float]:
        """Hundredths of a second of processor time as a script reports them, and when."""
        facts = self.fleet.run(name, Script(script), _DEADLINE_S).check("reading processor times")
        return float(facts["ticks"]), monotonic()


def _in_force(nodes: _Nodes, rounds: int) -> list[float]:
    quotas = {_container(number): 20 for number in range(CONTAINERS)}
    nodes.limit(nodes.names, quotas)  # groups and guards are made once
    took = []
    for number in range(rounds):
        sleep(_PERIOD_S)
        took.append(nodes.limit(nodes.names, dict.fromkeys(quotas, 25 + number)))
    return took


def _cost(nodes: _Nodes, act: Callable[[NodeId, int], object]) -> float:
    """Percent of a core that an act, twice a second and each time with another number, takes on a node."""
    name = nodes.names[0]
    began, since = nodes.ticks(name, _ALL_TICKS)
    for number in range(round(_COST_S / _PERIOD_S)):
        act(name, number)
        sleep(max(0.0, since + (number + 1) * _PERIOD_S - monotonic()))
    ended, until = nodes.ticks(name, _ALL_TICKS)
    return (ended - began) / (until - since)


def _off(nodes: _Nodes, hundredths: int) -> float:
    """The difference between a quota and the cores that a container with two busy processes gets."""
    name, container = nodes.names[1], _container(CONTAINERS)
    pids = f"grep -lzx CONTAINER_ID={container} /proc/[0-9]*/environ 2>/dev/null | sed 's,environ,stat,'"
    times = f"cat $({pids})" + _SUM.format(fields="$12 + $13")
    nodes.limit([name], {container: hundredths})
    sleep(_SETTLE_S)
    began, since = nodes.ticks(name, times)
    while monotonic() < since + _SHARE_S:
        nodes.limit([name], {container: hundredths})
        sleep(_PERIOD_S)
    ended, until = nodes.ticks(name, times)
    return abs((ended - began) / (until - since) - hundredths) / 100


def _measure(site: Path, rounds: int) -> dict[str, list[float]]:
    nodes = _Nodes(site)
    with nodes.fleet, closing(nodes.quotas):
        for name in nodes.names:
            for number in range(CONTAINERS):
                nodes.start(name, _container(number), _IDLE)
        sleep(_SETTLE_S)
        measured = {"in force": _in_force(nodes, rounds)}
        print("quota: what it costs a node", file=sys.stderr, flush=True)
        measured["nothing"] = [_cost(nodes, lambda name, _: nodes.fleet.run(name, Script(":"), _DEADLINE_S))]
        measured["cost"] = [_cost(nodes, nodes.again)]
        nodes.start(nodes.names[1], _container(CONTAINERS), _BUSY)
        for hundredths in _SHARES:
            print(f"quota: the share under {hundredths / 100:g} core", file=sys.stderr, flush=True)
            measured[f"off {hundredths}"] = [_off(nodes, hundredths)]
    return measured


if __name__ == "__main__":
    json.dump(_measure(Path(sys.argv[1]), int(sys.argv[2])), sys.stdout)
