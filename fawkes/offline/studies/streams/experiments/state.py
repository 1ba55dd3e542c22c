"""4.4.1 and 4.4.3: keys that move when a holder comes, and traffic over the network by placement. No runs."""

from __future__ import annotations

import pandas as pd

from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.pictures import bars
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement
from fawkes.offline.studies.streams import fixed
from fawkes.offline.studies.streams.experiments.experiment import StreamStudy
from fawkes.offline.studies.streams.placement import Channel, Topology, Worker, by_channel, place, round_robin
from fawkes.offline.studies.streams.play import moved_share

_TOPOLOGY = Topology(
    {"source": (2, 1.0), "parse": (6, 1.0), "rules": (6, 1.0), "alerts": (2, 1.0)},
    {("source", "parse"): 1000, ("parse", "rules"): 800, ("rules", "alerts"): 100},
)


def _moved(holders: int, *, modulo: bool) -> float:
    """The part of the keys that moves when one holder is added."""
    if modulo:
        return sum(key % holders != key % (holders + 1) for key in range(fixed.KEYS)) / fixed.KEYS
    return moved_share(holders, holders + 1)


def _keys(study: StreamStudy) -> Finding:
    parts = {holders: _moved(holders, modulo=study.model == "modulo") * (holders + 1) for holders in range(1, 12)}
    text = f"{min(parts.values()):.2f} to {max(parts.values()):.2f} times 1/(n+1)"
    return text, all(1 / fixed.KEYS_OFF <= each <= fixed.KEYS_OFF for each in parts.values())


def _sums(nodes: int) -> dict[str, dict[Channel, float]]:
    workers = [Worker(f"w{node}-{at}", f"n{node}", 12 // nodes, 24.0) for node in range(nodes) for at in range(2)]
    cores = {worker.node: 24.0 for worker in workers}
    placements = {"by traffic": place(_TOPOLOGY, workers, cores), "round robin": round_robin(_TOPOLOGY, workers)}
    return {name: by_channel(_TOPOLOGY, placement) for name, placement in placements.items()}


def _network(study: StreamStudy) -> Finding:
    ours, theirs = (sums[Channel.NETWORK] for sums in _sums(1 if study.model == "one-node" else fixed.NODES).values())
    return f"{ours:.0f} against {theirs:.0f} records/s", ours < theirs


def _table(_study: StreamStudy) -> pd.DataFrame:
    """Records a second by class of channel."""
    return pd.DataFrame(
        {"placement": name, **{channel.name.lower(): round(rate) for channel, rate in sums.items()}}
        for name, sums in _sums(fixed.NODES).items()
    )


STATE = Experiment(
    statements=(
        Statement("4-keys", "4.4.1", "a new holder takes about its share of the keys (within 2 times)", _keys,
                  "keys by the remainder of a division", ("modulo",)),
        Statement("4-network", "4.4.3", "placement by traffic sends less over the network than round robin", _network,
                  "a pool of one node", ("one-node",)),
    ),
    exhibits=(
        Exhibit("4-placement", "Traffic by class of channel", "16 tasks on three nodes with two workers each.", ("4-",),
                _table, bars("placement", ("process", "node", "network"), "records/s")),
    ),
)  # fmt: skip
