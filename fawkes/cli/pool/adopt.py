"""`fawkes adopt`: a new ledger for a pool whose state folder is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from fawkes.base.units import counted
from fawkes.cli.asking.acting import confirm
from fawkes.cli.show.show import warn
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterId

if TYPE_CHECKING:
    from fawkes.live.controller.adopt import Findings


@click.command()
@click.option("--yes", is_flag=True, help="Skip the question that asks to type the name of the pool.")
@click.option("--dry-run", is_flag=True, help="Only show what would be adopted and what is not known.")
@click.pass_obj
def adopt(site: Site, yes: bool, dry_run: bool) -> None:
    """Make a new ledger for a pool whose state folder is lost.

    Reads the leases of all nodes and the copies that MR-clusters keep there, shows what was found and what is not
    known, and asks you to type the name of the pool. Then the nodes refuse every earlier controller. Nothing is
    stopped or wiped. Start `fawkes run` afterwards.

    Refused (exit code 7) while another controller is at work.
    """
    import os
    import pwd
    from contextlib import closing

    from fawkes.live.controller.adopt import Adoption
    from fawkes.live.controller.check import fleet_of
    from fawkes.live.controller.plans import plan

    ready = plan(site, shadow=False)
    by = pwd.getpwuid(os.getuid()).pw_name
    with (
        closing(fleet_of(ready.inventory, ready.inventory.nodes, ready.settings.ssh)) as fleet,
        Adoption(ready, fleet) as adoption,
    ):
        findings = adoption.examine(by)
        for line in lines(findings, adoption.answers(findings)):
            warn(line)
        if dry_run:
            return
        confirm(ready.inventory.pool, what="This shuts every earlier controller of the pool out.", yes=yes)
        adoption.carry_out(findings)
    click.echo(f"Pool {ready.inventory.pool} is adopted: start `fawkes run` now")


def lines(findings: Findings, answers: Mapping[ClusterId, str]) -> Iterator[str]:
    """Lines for people on what was found and what is not known."""
    from fawkes.config.clusters.details import ClusterDetails
    from fawkes.config.files.nodeset import fold

    result = findings.outcome
    for name, kept in sorted(result.clusters.items()):
        nodes = [node for node, member in result.members.items() if member.cluster is kept]
        jobs = [job.job for job in result.jobs if job.cluster == name]
        outputs = [f"{output.path} to {output.save_to}" for output in ClusterDetails.of(kept.spec.details).outputs]
        yield f"{name}: adopted, with {counted(len(nodes), 'node')} ({fold(nodes)}), masters on {kept.master}"
        if kept.standby is not None:
            second = kept.standby.node or "no node"
            yield f"  its journal is on {fold(kept.standby.journal)}, its second NameNode on {second}"
        yield f"  {answers[name]}"
        yield f"  jobs: {', '.join(jobs) or 'none'}; outputs are saved from {', '.join(outputs) or 'none'}"
        silent = [node.node for node in findings.adopted.nodes if node.unknown and node.node in nodes]
        if silent:
            yield f"  {fold(silent)} do not answer; the kept copy names them, so they stay its nodes"
    for left, why in sorted(result.left.items()):
        yield f"{left}: NOT adopted: {why}. What runs there goes on, and its nodes are held out of service"
    for job in result.nameless:
        yield f"{job.cluster}: the declaration of job {job.job} is not known; its id stays taken"
    for node, why in sorted(result.out.items()):
        yield f"{node}: held out of service: {why}"
    free = [seen.node for seen in findings.adopted.nodes if seen.node not in {*result.members, *result.out}]
    yield f"free nodes: {fold(free) if free else 'none'}"
    yield "not known: jobs that waited in Fawkes's queue, MR-clusters that waited for nodes, and all earlier decisions"
