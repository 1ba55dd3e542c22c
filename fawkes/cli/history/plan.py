"""`fawkes plan`: what the next tick would do."""

from __future__ import annotations

from typing import Any

import click

from fawkes.base.errors import UserError
from fawkes.cli.asking.client import Client, NoControllerError
from fawkes.cli.asking.ledger import ledger_of
from fawkes.cli.show.show import output_option
from fawkes.config.site.site import Site


@click.command()
@output_option
@click.pass_obj
def plan(site: Site, output: str) -> None:
    """Show what the next tick would do, and why: weights, discrimination, verdict, nodes that would move or stay.

    The controller answers by the code that decides at the tick, on its state and readings of this moment. Nothing is
    decided or stored. When no controller runs, the answer is for the state in the ledger.
    """
    from fawkes.cli.history.explain import write

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

    with ledger_of(site) as ledger:
        started = started_before(ledger, ledger.last_seq())
        if started is None:
            raise UserError("there is nothing to plan: no controller has run yet", hint="Start it with `fawkes run`")
        state = remembered(ledger)[0]
        return as_plain(explain_plan(foresee(state, load_weighting(started.policy, started.settings)), state))
