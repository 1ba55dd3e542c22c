"""`fawkes explain`: why a node moved, or why nothing did, and what became of a job; `fawkes plan`: what comes next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.errors import UserError
from fawkes.base.units import clock
from fawkes.cli.asking import completion
from fawkes.cli.asking.client import Client, NoControllerError
from fawkes.cli.asking.ledger import ledger_of
from fawkes.cli.asking.parsed import Parsed
from fawkes.cli.show.show import CSV, JSON, JSON_VERSION, note, output_option, say, show
from fawkes.cli.show.tables import TABLES
from fawkes.cli.show.visible import echo
from fawkes.config.site.site import Site
from fawkes.core.values.model import JobState, Reason

if TYPE_CHECKING:
    from fawkes.report.tables.explain_quota import Courses
    from fawkes.store.base import Reader


def _tick(text: str) -> int:
    """The number of a tick; who names a node or an MR-cluster instead is told the option for it."""
    try:
        return int(text)
    except ValueError:
        what = f"{text!r} is not the number of a tick."
        raise ValueError(f"{what} For a node or an MR-cluster: --node {text}, --cluster {text}") from None


@click.command()
@click.argument("tick", required=False, type=Parsed("integer", _tick))
@click.option("--node", help="The latest move of this node, step by step.", shell_complete=completion.nodes)
@click.option(
    "--cluster", help="The state of this MR-cluster and its latest events.", shell_complete=completion.clusters
)
@click.option("--job", help="Every step of this job, with the numbers behind it.", shell_complete=completion.jobs)
@click.option("--last", is_flag=True, help="The latest tick that moved nodes.")
@output_option
@click.pass_obj
def explain(
    site: Site, tick: int | None, node: str | None, cluster: str | None, job: str | None, last: bool, output: str
) -> None:
    """Explain TICK, by default the latest one: what was measured, the weights, the discrimination against
    the threshold, the verdict, and which nodes moved or were refused.

    --job shows why a job was let in, waits, or was dropped: the fraction, the correction, the factor for its time in
    the queue, the CPUs that it asks for and those that are free. The numbers of a job that waits are the newest. A job
    under quotas shows its stages, how far they are and should be, and the cores that it requested and got.
    """
    from fawkes.report.tables import explain as why
    from fawkes.report.tables.explain_job import explain_job

    given = sum((tick is not None, node is not None, cluster is not None, job is not None, last))
    if given > 1:
        raise click.UsageError("Give one of TICK, --node, --cluster, --job and --last.")
    with ledger_of(site) as ledger:
        if job is not None:
            explanation = explain_job(ledger, job, lambda state: _waits_now(ledger, state), _courses(site, ledger, job))
        elif node is not None:
            explanation = why.explain_node(ledger, node)
        elif cluster is not None:
            explanation = why.explain_cluster(ledger, cluster)
        else:
            explanation = why.explain_last(ledger) if last else why.explain_tick(ledger, tick)
        write(why.as_plain(explanation), output)


def _courses(site: Site, ledger: Reader, job: str) -> Courses:
    """The course of a job under quotas; empty where none was recorded."""
    from fawkes.report.history import span
    from fawkes.store.quotas import QuotaReader

    with closing(QuotaReader(site.state_dir)) as reader:
        return reader.courses(job, *span(ledger, job))


def _waits_now(ledger: Reader, job: JobState) -> Reason | None:
    """The admission policy's reason for a waiting job now. The ledger does not keep what it said each time."""
    from fawkes.core.fairness.weights import in_words
    from fawkes.core.jobs.deadlines import waits_now
    from fawkes.policy.worker.policies import load_admission
    from fawkes.report.history import started_before
    from fawkes.store.remembered import remembered

    started = started_before(ledger, ledger.last_seq())
    if started is None or started.admission is None:
        return None
    try:
        admission = load_admission(started.admission, started.settings.admission_parameters)
    except Exception as error:
        note(f"the newest numbers of {job.id} are not known: {in_words(error)}")
        return None
    return waits_now(remembered(ledger)[0], job, admission)


@click.command()
@output_option
@click.pass_obj
def plan(site: Site, output: str) -> None:
    """Show what the next tick would do, and why: weights, discrimination, verdict, nodes that would move or stay.

    The controller answers by the code that decides at the tick, on its state and readings of this moment. Nothing is
    decided or stored. When no controller runs, the answer is for the state in the ledger.
    """
    try:
        answer: Any = Client(site).get("plan")
    except NoControllerError:
        answer = _from_ledger(site)
    write(answer, output)


def _from_ledger(site: Site) -> Any:
    from fawkes.core.deciding.pool import foresee
    from fawkes.policy.worker.policies import load_weighting
    from fawkes.report.history import started_before
    from fawkes.report.tables.explain import as_plain, explain_plan
    from fawkes.store.remembered import remembered

    with ledger_of(site, now=True) as ledger:
        started = started_before(ledger, ledger.last_seq())
        if started is None:
            raise UserError("there is nothing to plan: no controller has run yet", hint="Start it with `fawkes run`")
        state = remembered(ledger)[0]
        return as_plain(explain_plan(foresee(state, load_weighting(started.policy, started.settings)), state))


def write(plain: Mapping[str, Any], output: str) -> None:
    """Write an explanation (`as_plain`) for people or for programs."""
    if output == JSON:
        click.echo(json.dumps({"version": JSON_VERSION, **plain}, indent=2, allow_nan=False))
    elif output == CSV:
        show(plain["lines"], TABLES["explain, lines"], output)
    else:
        echo(plain["title"])
        for line in plain["lines"]:
            time = f"{clock(line['time'])}  " if line["time"] is not None else ""
            say(f"  {time}{line['text']}", "    ")
        if plain["figures"]:
            click.echo()
            show(plain["figures"], TABLES["explain"], output)
