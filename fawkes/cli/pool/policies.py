"""`fawkes policies`: the weighting, admission, quota and preemption policies, and where each comes from."""

from __future__ import annotations

from typing import Any

import click

from fawkes.base.catalog import Catalog, CatalogFile, Kind
from fawkes.cli.show.show import output_option, show
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site


@click.command()
@output_option
@click.pass_obj
def policies(site: Site, output: str) -> None:
    """List the policies: a name, the kind, what it does, and where it comes from.

    A weighting policy (`policy` in fawkes.toml) says how many nodes each MR-cluster gets. An admission policy
    (`admission`) says which jobs begin, and with how many CPUs. A quota policy divides the cores of a node among
    executors. A preemption policy says which tasks are killed or checkpointed. A policy in the site's policies/ folder,
    or in its policies/admission/, policies/quota/ or policies/preemption/ folder, hides one of the same name that came
    with Fawkes. No policy is run.
    """
    catalog = Catalog(site=site.root)
    kinds = {
        "weighting": Kind.POLICY,
        "admission": Kind.ADMISSION,
        "quota": Kind.QUOTA,
        "preemption": Kind.PREEMPTION,
    }
    rows = [_row(policy_file, name) for name, kind in kinds.items() for policy_file in catalog.all(kind)]
    show(rows, TABLES["policies"], output)


def _row(policy_file: CatalogFile, kind: str) -> dict[str, Any]:
    return {
        "policy": policy_file.name,
        "kind": kind,
        "summary": _summary(policy_file),
        "origin": policy_file.origin.value,
        "file": str(policy_file.path),
        "hides": [str(path) for path in policy_file.hides],
    }


def _summary(policy_file: CatalogFile) -> str | None:
    """The first line of a policy's own text; its code is not run for that."""
    import ast

    try:
        text = ast.get_docstring(ast.parse(policy_file.text()))
    except (SyntaxError, ValueError) as error:
        return f"CANNOT BE READ: {error}"
    return text.splitlines()[0] if text else None
