"""The place where the daemons of an MR-cluster listen."""

from __future__ import annotations

from dataclasses import dataclass

from fawkes.core.values.model import Role


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The place where daemons listen: Hadoop's usual ports, for a host runs for one MR-cluster only."""

    namenode: int = 8020
    namenode_web: int = 9870
    datanode: int = 9866
    datanode_ipc: int = 9867
    datanode_web: int = 9864
    resourcemanager: int = 8032
    scheduler: int = 8030
    tracker: int = 8031
    admin: int = 8033
    resourcemanager_web: int = 8088
    nodemanager: int = 8041
    localizer: int = 8040
    nodemanager_web: int = 8042
    shuffle: int = 13562
    history: int = 10020
    history_admin: int = 10033
    history_web: int = 19888
    journal: int = 8485
    journal_web: int = 8480

    @property
    def web(self) -> tuple[int, ...]:
        """The ports of web servers: these ask each caller for an address on the list, or for the key."""
        return (
            self.namenode_web, self.datanode_web, self.resourcemanager_web, self.nodemanager_web, self.history_web,
            self.journal_web,
        )  # fmt: skip

    def of(self, role: Role, *, master: bool, journal: bool = False) -> tuple[int, ...]:
        """The ports that a node of this role needs free; a node of the ``journal`` may have a NameNode as well."""
        ports = [self.nodemanager, self.localizer, self.nodemanager_web, self.shuffle]
        if role is not Role.TRANSIENT:
            ports += [self.datanode, self.datanode_ipc, self.datanode_web]
        if master or journal:
            ports += [self.namenode, self.namenode_web]
        if journal:
            ports += [self.journal, self.journal_web]
        if master:
            ports += [self.history, self.history_admin, self.history_web]
            ports += [self.resourcemanager, self.scheduler, self.tracker, self.admin, self.resourcemanager_web]
        return tuple(sorted(ports))
