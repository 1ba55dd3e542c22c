"""MR-clusters as requests to the controller give them: checked as those of files are, by the same keys and bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fawkes.config.clusters.clusters import ClusterTable, check_table
from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.clusters.owned_keys import OLD_NAMES
from fawkes.config.files.loader import Faults, check, did_you_mean
from fawkes.config.settings.core import GROWTH
from fawkes.core.values.model import ClusterSpec


def refuse_unsound_cluster(spec: ClusterSpec, file: str) -> None:
    """ConfigError for what no file of an MR-cluster could say, by its key there; ``file`` is for the errors.

    Nothing of the pool is looked at, and no folder: whoever asks may not be allowed to read it.
    """
    details, faults = ClusterDetails.of(spec.details), Faults(file)
    known = ClusterDetails.__dataclass_fields__
    for key in sorted(spec.details.keys() - known):
        faults.add("is unknown", f"spec.details.{key}", did_you_mean(key, known))
    data = [(f"data[#{number}].from", each.source) for number, each in enumerate(details.data, 1) if each.local]
    outputs = enumerate(details.outputs, 1)
    saved = [(f"outputs[#{number}].save_to", each.save_to) for number, each in outputs if each.local]
    for key, place in data + saved:
        if not place.startswith("/"):
            faults.add(f"{place!r} is neither an absolute path nor a URL", key, "Begin it with '/'")
    for table in (details.hadoop, *details.roles.values()):
        for site, key in ((site, key) for site, keys in table.items() for key in keys if key in OLD_NAMES):
            faults.add(f"{key!r} is an old name", f"hadoop.{site}", f"Write {OLD_NAMES[key]!r}")
    faults.refuse()
    check_table(check(ClusterTable, _said(spec, details), file=file), (), Path("/"), faults)
    faults.refuse()


def _said(spec: ClusterSpec, details: ClusterDetails) -> dict[str, Any]:
    """The MR-cluster as keys of a file; what is empty is not there."""
    growths = {role: name for name, role in GROWTH.items()}
    said: dict[str, Any] = {
        **{key: getattr(spec, key) for key in ("id", "max_nodes")},
        **{key: getattr(details, key) for key in ("title", "run_as", "hadoop_version", "release_dir", "security")},
        **{key: list(getattr(details, key)) for key in ("scratch", "clients", "software", "kerberos_users")},
        "growth": growths.get(spec.growth, spec.growth) if spec.growth else None,
        "data": [
            {"from": each.source, "to": each.to} | ({"size": f"{each.size_bytes}B"} if each.size_bytes else {})
            for each in details.data
        ],
        "outputs": [{"path": each.path, "save_to": each.save_to} for each in details.outputs],
        "heap": {daemon: f"{size}B" for daemon, size in details.heap_bytes.items()},
        "hadoop": details.hadoop,
        "role": {role: {"hadoop": sites} for role, sites in details.roles.items()},
    }
    return {key: value for key, value in said.items() if value} | {
        "min_nodes": spec.min_nodes,
        "replication": spec.replication,
        "max_running_jobs": spec.max_running_jobs,
        "block_size": f"{details.block_size_bytes}B",
        "leftovers": details.leftovers,
        "masters": spec.masters.value,
    }
