"""Former masters that nobody could stop: a controller that is started again goes on to keep them out."""

from __future__ import annotations

from dataclasses import replace

from fawkes.config.clusters.details import ClusterDetails
from fawkes.core.state.state import evolve
from fawkes.core.values.decision import PutCluster, PutNode
from fawkes.core.values.model import NodeLife
from fawkes.live.nodes.clusters import Clusters
from tests.support.desk import Desk
from tests.support.masters import NEW, OLD, THIRD, A, cluster, look, lost, moved, up


def taken_over(desk: Desk) -> frozenset[str]:
    """The nodes that a new run of the controller shuts out."""
    clusters = Clusters()
    clusters.adopt(desk.state)
    cluster = clusters.get(A)
    assert cluster is not None
    return frozenset(cluster.shut_out)


def test_a_silent_former_masters_node_stays_shut_out_over_a_restart_until_it_is_back() -> None:
    desk = up(4)
    spec = replace(cluster(desk).spec, details=ClusterDetails().plain())
    evolve(desk.state, desk.now_us, [PutCluster(replace(cluster(desk), spec=spec))])
    lost(desk)
    look(desk)
    moved(desk, copied_us=5, reached=[NEW, THIRD])
    assert taken_over(desk) == {OLD}
    evolve(desk.state, desk.now_us, [PutNode(replace(desk.node(OLD), life=NodeLife.SERVING))])
    assert taken_over(desk) == frozenset()
