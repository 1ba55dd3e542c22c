"""Transfers at shared rates: data that comes, goes and leaves nodes, and daemons that start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from fawkes.core.values.effects import ArmStandby, Deploy, Effect, Host, Load, Save
from fawkes.core.values.model import ClusterId
from fawkes.sim.events.preempting import Preempting
from fawkes.sim.events.steps import Copied, Delays, Deploys, Follows, Leaves
from fawkes.sim.hadoop.constants import Constants
from fawkes.sim.hadoop.model import Cluster, Copying, Model


@dataclass(slots=True)
class Transfers:
    """The transfers of a world that are ``under_way``, and the MR-clusters whose daemons start for the first time."""

    model: Model
    constants: Constants
    delays: Delays
    clusters: dict[ClusterId, Cluster]
    under_way: dict[Copied, Copying] = field(default_factory=dict)
    coming: dict[ClusterId, Cluster] = field(default_factory=dict)

    @property
    def tasks(self) -> Preempting:
        """The tasks that have to go: their images are transfers, too."""
        return Preempting(self.clusters, self.constants)

    def takes(self, effect: Effect | Follows) -> bool:
        """Begin an effect, or a second NameNode, that takes the time of shared rates; False: it takes a given time."""
        match effect:
            case Load() | Save() if self.copies_bytes(effect.cluster):
                self.begin(self.clusters[effect.cluster], effect)
            case Host() if self._starts_daemons(effect):
                self.begin(self.clusters[effect.cluster], effect)
            case ArmStandby() | Follows() if self._daemons_compute and effect.cluster in self.clusters:
                self.begin(self.clusters[effect.cluster], effect)
            case Deploy() if self._daemons_compute and effect.cluster not in self.clusters:
                self.coming[effect.cluster] = self._new_cluster(effect)
                self.begin(self.coming[effect.cluster], Deploys(effect))
            case _:
                return False
        return True

    def copies_bytes(self, cluster: ClusterId) -> bool:
        """True if copies take the time that rates give, instead of a given one."""
        return self.constants.storage_bytes_s < inf and cluster in self.clusters

    @property
    def _daemons_compute(self) -> bool:
        """True if daemons that start take their part of cores that all share, instead of a given time."""
        return self.constants.shared_cores and self.constants.join_cpu_us > 0

    def _starts_daemons(self, effect: Host) -> bool:
        return effect.role is not None and self._daemons_compute and effect.cluster in self.clusters

    def begin(self, cluster: Cluster, of: Copied) -> None:
        """Begin a transfer, unless it is under way."""
        if of in self.under_way:
            return
        match of:
            case Load():
                self.under_way[of] = cluster.load(of)
            case Save():
                self.stop(of.cluster)
                self.under_way[of] = cluster.save(of)
            case Leaves():
                self.under_way[of] = cluster.evacuate(of.node, of)
            case Host():
                self.under_way[of] = cluster.start_daemons(self.delays.join_us, of)
            case Deploys():
                count = len(of.effect.members)
                self.under_way[of] = cluster.start_daemons(self.delays.of(of.effect), of, deploys=count)
            case ArmStandby():
                self.under_way[of] = cluster.start_daemons(self.delays.of(of), of)
            case Follows():
                self.under_way[of] = cluster.start_daemons(self.delays.arm_us, of)

    def stop(self, cluster: ClusterId) -> Sequence[Load | Save]:
        """End the loads and saves of an MR-cluster where they are; which those were."""
        stopped = [of for of in self.under_way if isinstance(of, Load | Save) and of.cluster == cluster]
        for of in stopped:
            self.model.drop(self.under_way.pop(of))
        return stopped

    def stop_deployment(self, cluster: ClusterId) -> None:
        """Nothing of an MR-cluster comes up."""
        for of in [of for of in self.under_way if isinstance(of, Deploys) and of.cluster == cluster]:
            self.model.drop(self.under_way.pop(of))
        self.coming.pop(cluster, None)

    def deployed(self, effect: Deploy) -> Cluster:
        """The MR-cluster that a deployment has made."""
        return self.coming.pop(effect.cluster) if effect.cluster in self.coming else self._new_cluster(effect)

    def _new_cluster(self, effect: Deploy) -> Cluster:
        data = effect.spec.details.get("data", ())
        sizes = (
            [row.get("size_bytes") for row in data if isinstance(row, Mapping)] if isinstance(data, Sequence) else []
        )
        data_bytes = sum(size for size in sizes if isinstance(size, int))
        return self.model.cluster(
            effect.cluster,
            replication=effect.spec.replication,
            data_bytes=data_bytes,
            standby=effect.standby is not None,
        )
