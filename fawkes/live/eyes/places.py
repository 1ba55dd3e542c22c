"""The part of an MR-cluster's set-up that eyes need; `hadoop.setup.Setup` is the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.wire.masters import MasterAddresses


class Addresses(Protocol):
    """The addresses of the masters of MR-clusters."""

    def masters(self, cluster: LiveCluster) -> MasterAddresses:
        """The addresses at which the masters answer."""


class Places(Addresses, Protocol):
    """Addresses, and the settings that say what lies where in HDFS."""

    def settings(self, cluster: LiveCluster) -> Mapping[str, Mapping[str, str]]:
        """The settings of the master, by file and key."""
