"""The nodes of a Slurm allocation go back before it ends: `fawkes run` asks its own controller for `fawkes down`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
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
    end_s = end_of(allocation)
    if end_s is None:
        say(f"Slurm's job {allocation.job} has no end: `fawkes down` gives its nodes back")
        return
    start_s = end_s - allocation.give_back_us / SECOND_US
    if start_s <= time.time() and not site.state_dir.exists():
        hint = "Ask Slurm for more time, or write a shorter give_back into [from]"
        raise UserError(f"Slurm's job {allocation.job} ends at {_clock(end_s)}, within its give_back", hint=hint)
    say(f"Slurm's job {allocation.job} ends at {_clock(end_s)}: the pool is released from {_clock(start_s)} on")
    ask = partial(Client(site).post, "down")
    threading.Thread(target=give_back, args=(ask, say, start_s, end_s), name="give back", daemon=True).start()


def give_back(ask: Ask, say: Callable[[str], None], start_s: float, end_s: float) -> None:
    """Ask for the end of the pool from ``start_s`` until ``end_s`` (Unix times), again each minute while it is refused.

    From half of this time on jobs are cancelled (``force``). Data is never discarded: a pool with data that is nobody's
    output stays, and ``say`` gets the refusal.
    """
    time.sleep(max(0.0, start_s - time.time()))
    half_s = (start_s + end_s) / 2
    agreed: set[bool] = set()
    while (at_s := time.time()) < end_s:
        force = at_s >= half_s
        if force not in agreed:
            say(f"the allocation ends at {_clock(end_s)}: releasing the pool{', and cancelling its jobs' * force}")
            try:
                ask({"discard": False, "force": force})
                agreed.add(force)
            except HungUpError:  # an empty pool ends before its answer is out
                return
            except FawkesError as error:
                say(f"the pool is not released yet: {error}")
        time.sleep(max(1.0, min(_AGAIN_S, (end_s if force else half_s) - at_s)))
    say("the allocation has ended")


def _clock(at_s: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at_s))
