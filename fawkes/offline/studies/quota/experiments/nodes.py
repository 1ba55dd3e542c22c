"""Beyond the paper: a node that joins late, and one that is lost, while quotas hold the deadline (X8 to X10)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd

from fawkes.core.quota.nodes import share_nodes
from fawkes.offline.studies.quota import fixed
from fawkes.offline.studies.quota.cases import alone
from fawkes.offline.studies.quota.experiments.exact import CLAIMS
from fawkes.offline.studies.quota.experiments.experiment import QuotaStudy, within
from fawkes.offline.studies.quota.play import strategy
from fawkes.offline.studies.shared.page import Exhibit
from fawkes.offline.studies.shared.statements import Experiment, Finding, Statement

_APPS = ("group-by", "sort-by-key")
_BASE = {app: alone(app, 40, fixed.SEEDS[0]) for app in _APPS}
_JOINS = {app: replace(case, nodes=3, nodes_then=4, change_s=fixed.JOIN_S) for app, case in _BASE.items()}
_LOST = {app: replace(case, nodes=4, nodes_then=3, change_s=fixed.JOIN_S) for app, case in _BASE.items()}


def _nodes(name: str, least: int) -> dict[str, int]:
    """Nodes of three MR-clusters that request 10, 8 and 12 of 16, as the executors of Table 1 do with cores."""
    claims = [replace(claim, most=fixed.CORES, least=least) for claim in CLAIMS]
    return share_nodes(claims, fixed.CORES, strategy(name))


def _shares(study: QuotaStudy) -> Finding:
    """Each strategy on whole nodes; in the model `no-minimum` MR-clusters have none."""
    given = {name: _nodes(name, 0 if study.model else fixed.LEAST_NODES) for name in fixed.STRATEGIES}
    text = ", ".join(f"{name} {'/'.join(map(str, nodes.values()))}" for name, nodes in given.items())
    sums = all(sum(nodes.values()) == fixed.CORES for nodes in given.values())
    return text, sums and min(min(nodes.values()) for nodes in given.values()) >= fixed.LEAST_NODES


def _shares_table(_study: QuotaStudy) -> pd.DataFrame:
    """Nodes of each MR-cluster by strategy."""
    return pd.DataFrame({"strategy": name, **_nodes(name, fixed.LEAST_NODES)} for name in fixed.STRATEGIES)


def _table(study: QuotaStudy) -> pd.DataFrame:
    """Errors and cores with four nodes, with one that joins, and with one that is lost."""
    kinds = {"four nodes": _BASE, "the fourth joins at 20 s": _JOINS, "one is lost at 20 s": _LOST}
    return pd.DataFrame(
        {"application": app, "nodes": kind, "error": round(study.error(case), 2), "cores": round(study.cores(case), 1)}
        for kind, cases in kinds.items()
        for app, case in cases.items()
    )


_STAYS = "cores that stay as planned"

NODES = Experiment(
    statements=(
        Statement("10-joins", "X10", "three nodes make up for one that is on its way: errors within 2.5 %",
                  partial(within, cases=_JOINS.values(), most=fixed.NODES_OFF),
                  _STAYS, ("open-loop",), tuple(_JOINS.values())),
        Statement("10-lost", "X9", "three nodes take over the work of one that is lost: errors within 2.5 %",
                  partial(within, cases=_LOST.values(), most=fixed.NODES_OFF),
                  _STAYS, ("open-loop",), tuple(_LOST.values())),
        Statement("10-shares", "X13", "MR-clusters share nodes by the same strategies, all 16, each at least 2",
                  _shares, "MR-clusters without a minimum", ("no-minimum",)),
    ),
    exhibits=(
        Exhibit("10-nodes", "Nodes that come and go", "x1.4 of the time on four nodes; not in the paper. Tasks that "
                "have not begun are dealt anew, those of a lost node run again.", ("10-joins", "10-lost"), _table),
        Exhibit("10-shares", "Nodes that MR-clusters share",
                "Table 1 with nodes instead of cores, and a minimum of 2; not in the paper.", ("10-shares",),
                _shares_table),
    ),
    cases=tuple(_BASE.values()),
)  # fmt: skip
