"""Code of the site that takes part in a run: lines for people, before anything is done with it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from fawkes.base.catalog import Kind, Origin
from fawkes.config.settings.settings import SiteSettings
from fawkes.config.site.site import Site
from fawkes.live.base.hooks import FOLDER as HOOKS
from fawkes.live.base.hooks import NAMES
from fawkes.live.nodes.playbooks import site_playbooks, unused
from fawkes.policy.worker.policies import is_own


def open_to_others(site: Site) -> Iterator[str]:
    """A line for each part of a site that says what the controller does, and that other users can change."""
    parts = (site.root, site.settings_file, site.inventory_file, site.root / Kind.POLICY.value, site.clusters_dir)
    for path in (*parts, site.root / HOOKS, *(site.root / HOOKS / name for name in NAMES)):
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            yield f"other users can change {path}, and so what this controller does: `chmod go-w {path}`, or `chown` it"


def own_code(site: Site, settings: SiteSettings) -> Iterator[str]:
    """A line for the weighting policy that did not come with Fawkes, and for each playbook of the site.

    Raises as `fawkes.live.nodes.playbooks.site_playbooks`.
    """
    policy = settings.policy
    if not is_own(policy.text()):
        hides = f", in the place of {policy.title} that came with Fawkes" if policy.hides else ""
        yield f"weighting policy: {policy.path}{hides}; it runs in a process without rights"
    elif policy.origin is not Origin.BUNDLED:
        yield f"weighting policy: {policy.path}, the same text as {policy.title} that came with Fawkes"
    for playbook in site_playbooks(settings.playbooks, site.root, site.settings_file):
        yield f"playbook {playbook.name}: {playbook.path}, in the place of the one that came with Fawkes"
    for place in unused(settings.playbooks, site.root):
        line = f'playbooks = ["{place.stem}"]'
        yield f"{os.fspath(place)} is not used: write {line} into fawkes.toml if it shall replace Fawkes's own"
