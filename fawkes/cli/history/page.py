"""The page of a site beside its controller: `fawkes web` as a process of its own, started again when it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from fawkes.base.extras import require
from fawkes.base.units import SECOND_US, show_duration
from fawkes.config.settings.settings import SiteSettings
from fawkes.config.site.site import Site
from fawkes.core.state import backoff
from fawkes.core.values.model import Plain

_LOOK_S, _END_S = 1.0, 5.0


@contextmanager
def page_beside(site: Site, settings: SiteSettings, say: Callable[[str], None]) -> Iterator[dict[str, Plain]]:
    """Serve the page of a site with ``[web]`` until the end of the block; ``say`` gets lines for people.

    The block gets the page's address and, while no process serves it, how the last one ended; nothing without a page.
    """
    row: dict[str, Plain] = {}
    web, core, over = settings.web, settings.core, threading.Event()
    if web is None:
        yield row
        return
    require("[web] in fawkes.toml", "web")
    command = [sys.executable, "-m", "fawkes", "--quiet", "--site", os.fspath(site.root), "web", "--beside"]

    def wait_us(tries: int, lived_s: float) -> tuple[int, int]:
        tries = 1 if lived_s * SECOND_US > core.retry_max_us else tries + 1
        return tries, backoff.wait_us(core, tries)

    row |= {"url": web.url, "ended": ""}
    keeper = threading.Thread(target=keep, args=(command, wait_us, over, say, row), name="page", daemon=True)
    keeper.start()
    say(f"the page is served at {web.url}")
    try:
        yield row
    finally:
        over.set()
        keeper.join()


def keep(
    command: Sequence[str],
    wait_us: Callable[[int, float], tuple[int, int]],
    over: threading.Event,
    say: Callable[[str], None],
    row: dict[str, Plain],
) -> None:
    """Run a process until ``over``, and again when it ends; it ends with its standard input, so with this process too.

    ``row`` says under ``ended`` how it ended, until the next one is started.

    ``wait_us`` makes of the tries before and the life of the last one (s) the tries now and the wait before the next.
    """
    tries = 0
    while not over.is_set():
        began = time.monotonic()
        # In a session of its own: Ctrl-C is for the controller, which ends it.
        page = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        row["ended"] = ""
        with page:
            while page.poll() is None and not over.wait(_LOOK_S):
                pass
            page.stdin.close()  # type: ignore[union-attr]
            with suppress(subprocess.TimeoutExpired):
                page.wait(_END_S)
            page.kill()
        if not over.is_set():
            tries, us = wait_us(tries, time.monotonic() - began)
            row["ended"] = f"the page has ended (exit code {page.returncode}); it is started again"
            say(f"{row['ended']} in {show_duration(us)}")
            over.wait(us / SECOND_US)
