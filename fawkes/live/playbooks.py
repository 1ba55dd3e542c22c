"""The playbooks that the live world plays: files in ``playbooks/``, found as those of users are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fawkes.catalog import Catalog, Kind, load_module

if TYPE_CHECKING:
    from playbooks import hadoop, job, lease, node
else:
    _catalog = Catalog()
    lease, node, hadoop, job = (
        load_module(_catalog.find(Kind.PLAYBOOK, name)) for name in ("lease", "node", "hadoop", "job")
    )

__all__ = ["hadoop", "job", "lease", "node"]
