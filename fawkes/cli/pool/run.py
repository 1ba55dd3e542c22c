"""`fawkes run`: the controller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.base.units import SECOND_US
from fawkes.base.visible import visible
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import confirm
from fawkes.cli.asking.client import Client, HungUpError
from fawkes.cli.show.show import note, quiet, warn
from fawkes.config.nodes.slurm import end_of
from fawkes.config.nodes.sources import SlurmAllocation
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterLife, Facts, Plain


@click.command()
@click.option(
    "--shadow",
    is_flag=True,
    help="Shadow mode: measure and decide about the MR-clusters that are running, but change nothing.",
)
@click.option("--preset", help="Preset of settings instead of the one in fawkes.toml.")
@click.option(
    "--policy",
    help="Weighting policy, by name or path, instead of the one in fawkes.toml.",
    shell_complete=completion.policies,
)
@click.option("--take-over", is_flag=True, help="Take the pool over with a copied or moved state folder.")
@click.option("--yes", is_flag=True, help="With --take-over: skip the question that asks to type the pool's name.")
@click.option("-v", "--verbose", count=True, help="Log more to standard error; twice for everything.")
@click.pass_obj
def run(
    site: Site, shadow: bool, preset: str | None, policy: str | None, take_over: bool, yes: bool, verbose: int
) -> None:
    """Control the pool: deploy MR-clusters, run their jobs, keep them balanced.

    Stays in the foreground. When the controller stops (Ctrl-C, or `fawkes down --keep`), MR-clusters and jobs go on.
    When it starts again, it recovers them.

    In shadow mode (--shadow) the controller decides as usual and writes what it would do into the ledger, where
    `fawkes explain` shows it. It refuses `fawkes request` and all other commands that change something.

    In a Slurm allocation ([from] slurm = "allocation" in inventory.toml) the pool is released before the allocation
    ends, as `fawkes down` does. If jobs still run at half of the time that is left, they are cancelled. Data is not
    discarded.

    With [web] in fawkes.toml it starts `fawkes web` as a process of its own, which ends with the controller.

    A state folder that was copied or moved is refused, because the original may be in use. --take-over shuts the
    original out, after the name of the pool was typed. If the nodes know more than the ledger, use `fawkes adopt`.
    """
    if shadow and take_over:
        raise click.UsageError("--take-over changes nodes, and --shadow changes nothing. Use one of them.")
    import logging

    from fawkes.live.controller.controller import Controller
    from fawkes.live.controller.plans import plan

    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)

    class Visible(logging.Formatter):
        """Lines of a log repeat what nodes say. Their times are those of the ledger, which has no time zones."""

        converter = staticmethod(time.gmtime)

        def format(self, record: logging.LogRecord) -> str:
            return visible(super().format(record))

    handler = logging.StreamHandler()
    handler.setFormatter(Visible("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    for noisy in ("paramiko", "apscheduler", "urllib3", "hdfs"):
        logging.getLogger(noisy).setLevel(logging.DEBUG if verbose > 1 else logging.ERROR)
    ready = plan(site, shadow=shadow, preset=preset, policy=policy)
    if shadow:
        tell_shadow(site)
    if ready.inventory.allocation is not None and not shadow:
        give_back_in_time(site, ready.inventory.allocation, listener())
    from fawkes.cli.history.page import page_beside

    with page_beside(site, ready.settings, listener()) as page:
        Controller(ready, listener(), asking(ready.inventory.pool, yes=yes) if take_over else None, page).run()


def asking(pool: str, *, yes: bool) -> Callable[[str], None]:
    """A question for the pool's name before a take-over; it raises RefusedError if somebody types something else."""
    return lambda what: confirm(pool, what=what, yes=yes)


def listener() -> Callable[[str], None]:
    """A sink for the controller's lines about its progress: stderr, or nothing with `--quiet`; from any thread."""
    # Whether notes are wanted is known to the thread of the command alone, so it is asked here, once.
    silent = quiet()

    def say(line: str) -> None:
        # Who read it may have ended, or its disk be full: a controller that ended for that gave no node back.
        with suppress(OSError, ValueError):
            if not silent:
                warn(line)

    return say


def tell_shadow(site: Site) -> None:
    """Say on stderr what shadow mode is, and what to do on a site where it has nothing to watch."""
    note(
        "shadow mode: this controller measures and decides, and changes nothing. It refuses `fawkes request` and "
        "all other commands that change something. `fawkes explain` shows what it would do"
    )
    if not _has_clusters(site):
        note(
            "this site has no MR-cluster yet, so there is nothing to watch: stop with Ctrl-C, start `fawkes run` "
            "without --shadow, then `fawkes request NAME`"
        )


def _has_clusters(site: Site) -> bool:
    """True if the ledger of a site, if it has one, knows of an MR-cluster that is not gone."""
    from contextlib import closing

    from fawkes.report.history import clusters
    from fawkes.store.sqlite import LEDGER_FILE, LedgerReader

    if not (site.state_dir / LEDGER_FILE).exists():
        return False
    with closing(LedgerReader(site.state_dir)) as ledger:
        return any(state.life is not ClusterLife.GONE for state in clusters(ledger))


# --- The nodes of a Slurm allocation go back before it ends: `fawkes run` asks its own controller for `fawkes down`


_AGAIN_S = 60.0
Ask = Callable[[Mapping[str, Plain]], Facts]


def give_back_in_time(site: Site, allocation: SlurmAllocation, say: Callable[[str], None]) -> None:
    """Start the thread that asks for the end of the pool; it ends with the controller's process.

    UserError when Slurm does not say when the allocation ends, or when that is too soon for a pool that nobody has
    controlled yet: one that has been must still be released. ``say`` gets lines for people.
    """
    end_s, before_s = end_of(allocation), allocation.give_back_us / SECOND_US
    if end_s is None:
        say(f"Slurm's job {allocation.job} has no end: `fawkes down` gives its nodes back")
    else:
        start_s = end_s - before_s
        if start_s <= time.time() and not site.state_dir.exists():
            hint = "Ask Slurm for more time, or write a shorter give_back into [from]"
            raise UserError(f"Slurm's job {allocation.job} ends at {_clock(end_s)}, within its give_back", hint=hint)
        say(f"Slurm's job {allocation.job} ends at {_clock(end_s)}: the pool is released from {_clock(start_s)} on")
    # Not by the environment: that keeps the first end when somebody cancels the allocation, or gives it more time.
    newest = partial(end_of, replace(allocation, end_s=None))
    act = (partial(Client(site).post, "down"), say, newest, end_s, before_s)
    threading.Thread(target=give_back, args=act, name="give back", daemon=True).start()


def give_back(
    ask: Ask, say: Callable[[str], None], newest: Callable[[], int | None], end_s: float | None, before_s: float
) -> None:
    """Ask for the end of the pool from ``before_s`` before the end (Unix time) on, again each minute while refused.

    ``newest`` says each minute when the end is now; while it raises UserError or OSError, the end that was known last
    counts. From half of the time on, and when the allocation has been taken away, jobs are cancelled (``force``). Data
    is never discarded: a pool with data that is nobody's output stays, and ``say`` gets the refusal.
    """
    begun = agreed = None
    while agreed is not True:
        with suppress(UserError, OSError):
            end_s = newest()
        at_s, edges = time.time(), [] if end_s is None else [end_s - before_s, end_s - before_s / 2]
        if end_s is not None and at_s >= edges[0]:
            force = at_s >= edges[1]
            if force is not begun:
                ends = "ends" if at_s < end_s else "ended"
                jobs = ", and cancelling its jobs" if force else ""
                say(f"the allocation {ends} at {_clock(end_s)}: releasing the pool{jobs}")
                begun = force
            try:
                if force is not agreed:
                    ask({"discard": False, "force": force})
                    agreed = force
            except HungUpError:  # an empty pool ends before its answer is out
                return
            except FawkesError as error:
                say(f"the pool is not released yet: {error}")
        time.sleep(min([_AGAIN_S, *(max(1.0, edge - at_s) for edge in edges if edge > at_s)]))


def _clock(at_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at_s))
