"""Shell completion: names of MR-clusters, nodes, jobs and policies of the site. Never an error, and no import that
takes long.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from fawkes.base.catalog import Catalog, Kind
from fawkes.base.errors import FawkesError
from fawkes.config.site.site import Site

_MOST = 500


def clusters(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """MR-clusters of the ledger that begin with what was typed."""
    return _named(ctx, "cluster", incomplete)


def nodes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Nodes of the ledger that begin with what was typed."""
    return _named(ctx, "node", incomplete)


def jobs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Jobs of the ledger that begin with what was typed, at most 500, the newest ones."""
    return _named(ctx, "job", incomplete)


def nodes_and_clusters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Nodes and MR-clusters that begin with what was typed."""
    return nodes(ctx, param, incomplete) + clusters(ctx, param, incomplete)


def policies(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Policies that begin with what was typed; of a list with commas, the last one is completed."""
    return _of_catalog(ctx, Kind.POLICY, incomplete)


def admissions(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The same for admission policies."""
    return _of_catalog(ctx, Kind.ADMISSION, incomplete)


def _of_catalog(ctx: click.Context, kind: Kind, incomplete: str) -> list[str]:
    before, comma, begun = incomplete.rpartition(",")
    try:
        policies = Catalog(site=_site(ctx).root).all(kind)
    except (FawkesError, OSError):
        return []
    titles = (policy.title for policy in policies)
    return [f"{before}{comma}{name}" for name in _beginning(titles, begun)]


def cluster_files(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The files in the site's clusters/ folder, without their suffix."""
    try:
        return _beginning((file.stem for file in _site(ctx).clusters_dir.glob("*.toml")), incomplete)
    except OSError:
        return []


def _named(ctx: click.Context, kind: str, incomplete: str) -> list[str]:
    from fawkes.store.names import names

    return _beginning(names(_site(ctx).state_dir, kind), incomplete)


def _beginning(names: Iterable[str], begun: str) -> list[str]:
    return sorted([name for name in names if name.startswith(begun)][:_MOST])


def _site(ctx: click.Context) -> Site:
    """The site of the command line that is typed: no verb has run, so nobody has made it yet."""
    return Site(Path(ctx.find_root().params.get("site") or os.environ.get("FAWKES_SITE", ".")))
