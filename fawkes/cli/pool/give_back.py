"""The nodes of a Slurm allocation go back before it ends: `fawkes run` asks its own controller for `fawkes down`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from fawkes.base.errors import FawkesError, UserError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client, HungUpError
from fawkes.config.nodes.slurm import end_of
from fawkes.config.nodes.sources import Allocation
from fawkes.config.site.site import Site
from fawkes.core.values.model import Facts, Plain

_AGAIN_S = 60.0
Ask = Callable[[Mapping[str, Plain]], Facts]


def give_back_in_time(site: Site, allocation: Allocation, say: Callable[[str], None]) -> None:
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
    return time.strftime("%H:%M:%S", time.localtime(at_s))
