"""A site folder: where each file of a site is. Imports nothing heavy, so that `--help` stays fast."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from pathlib import Path

if typing.TYPE_CHECKING:
    from fawkes.config.nodes.inventory import Inventory
    from fawkes.config.settings.settings import SiteSettings
    from fawkes.core.values.model import ClusterSpec


@dataclass(frozen=True)
class Site:
    """The files of one site, read when asked for; ConfigError when one is missing or wrong."""

    root: Path

    @property
    def settings_file(self) -> Path:
        """``fawkes.toml``."""
        return self.root / "fawkes.toml"

    @property
    def inventory_file(self) -> Path:
        """``inventory.toml``."""
        return self.root / "inventory.toml"

    @property
    def clusters_dir(self) -> Path:
        """The folder of MR-cluster files."""
        return self.root / "clusters"

    @property
    def state_dir(self) -> Path:
        """The folder of the ledger, the lock and the controller's socket."""
        return self.root / "state"

    @property
    def control_dir(self) -> Path:
        """The folder of the controller's socket when the site lets other users ask (``[access]``)."""
        return self.root / "control"

    @property
    def profiles_dir(self) -> Path:
        """The folder of profiles of Spark applications."""
        return self.root / "profiles"

    def inventory(self, *, need_keys: bool = True) -> Inventory:
        """The pool; see `fawkes.config.nodes.inventory.load_inventory`."""
        from fawkes.config.nodes.inventory import load_inventory

        return load_inventory(self.inventory_file, need_keys=need_keys)

    def settings(self, *, preset: str | None = None, policy: str | None = None) -> SiteSettings:
        """The settings; ``preset`` and ``policy`` of the command line win over the file."""
        from fawkes.config.settings.settings import load_settings

        return load_settings(self.settings_file, preset=preset, policy=policy)

    def settings_line(self, *, preset: str | None = None) -> str:
        """The place where the settings come from, in a sentence; ``preset`` is that of the command line."""
        from fawkes.config.settings.settings import preset_of

        return preset_of(self.settings_file, preset)

    def cluster(self, name: str) -> ClusterSpec:
        """The MR-cluster of that name, or in the file at that path; UserError lists the names there are."""
        from fawkes.config.clusters.clusters import load_cluster

        return load_cluster(self.cluster_file(name), self.inventory())

    def cluster_file(self, name: str) -> Path:
        """The file of that name in clusters/, or at that path; UserError lists the names there are."""
        if "/" in name or name.endswith(".toml"):
            return Path(name)
        files = {path.stem: path for path in sorted(self.clusters_dir.glob("*.toml"))}
        if name in files:
            return files[name]
        from fawkes.base.errors import UserError
        from fawkes.config.files.loader import did_you_mean

        hint = did_you_mean(name, files, kind="there are") or "`fawkes init` writes an example"
        raise UserError(f"there is no MR-cluster file {name!r}", where=str(self.clusters_dir), hint=hint)
