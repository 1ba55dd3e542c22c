"""``python -m tests.report.web.pictures RUN`` draws docs/assets/web-*.png in Chromium from a run in the folder RUN.

The pool at work is that run, ended in its middle.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from fawkes.core.deciding.pool import decide
from fawkes.core.values.decision import Decision
from fawkes.core.values.events import Event
from fawkes.live.controller.control import ControlServer
from fawkes.store.remembered import remembered
from fawkes.store.sqlite import Ledger, LedgerReader
from tests.cli.history.test_web import OPERATOR, VIEWER
from tests.cli.history.test_web import served as acting
from tests.report.web.browser import Browser, browser
from tests.report.web.serving import served

OUT = Path(__file__).parents[3] / "docs" / "assets"
DESKTOP, PHONE = (1100, 1000), (400, 860)
_CARRIED = "document.querySelectorAll('#life li').length"


def main(run: Path) -> None:
    """Write all pictures."""
    with browser() as window, tempfile.TemporaryDirectory() as folder:
        site, middle = Path(folder), Path(folder) / "state"
        _half(run / "state", middle)
        with served(middle) as (url, _):
            _picture(window, url, "web-light", DESKTOP)
            _picture(window, url, "web-dark", DESKTOP, dark=True)
            _picture(window, url, "web-phone", PHONE)
            window.look_like(width=DESKTOP[0], height=600)
            window.run("document.querySelector('.node').click(); document.querySelector('#h-nodes').scrollIntoView()")
            window.until(_CARRIED)
            window.picture(OUT / "web-node.png")
        with _controlled(site) as url:
            _panel(window, url, "web-act", (DESKTOP[0], 520))
            _panel(window, url, "web-act-phone", PHONE, dark=True)
        with served(run / "state") as (url, _):
            _picture(window, url, "web-run", DESKTOP)


def _picture(window: Browser, url: str, name: str, size: tuple[int, int], *, dark: bool = False) -> None:
    window.look_like(width=size[0], height=size[1], dark=dark)
    window.open(url).until("document.body.dataset.seq")
    window.picture(OUT / f"{name}.png")


@contextmanager
def _controlled(site: Path) -> Iterator[str]:
    """The page with tokens of a ledger, and a controller that decides what it is asked and does nothing."""
    (site / "tokens").write_text(f"vera viewer {VIEWER}\nolaf operator {OPERATOR}\n")
    (site / "tokens").chmod(0o600)
    (site / "fawkes.toml").write_text('[web]\ntokens = "tokens"\n')
    with closing(Ledger(site / "state")) as ledger:
        state, _ = remembered(ledger)
    nothing: Any = None

    def rehearse(event: Event) -> Decision:
        return decide(state, event, nothing, None)

    server = ControlServer(site / "state", nothing, {}, lambda: state.now_us, stop=nothing, rehearse=rehearse)
    with closing(server), acting(site) as url:
        yield url


def _panel(window: Browser, url: str, name: str, size: tuple[int, int], *, dark: bool = False) -> None:
    """A node is to be drained: what the controller would do is shown."""
    window.look_like(width=size[0], height=size[1], dark=dark)
    window.open(f"{url}?key={VIEWER}").until("document.body.dataset.seq")
    node = window.run("return document.querySelector('.node.transient_core').dataset.node")
    window.panel(OPERATOR, "drain", node=node, reason="a new fan")
    window.run("document.querySelector('#h-act').scrollIntoView()")
    window.picture(OUT / f"{name}.png")


def _half(whole: Path, into: Path) -> None:
    """The first half of a run, by time."""
    reader, ledger = LedgerReader(whole), Ledger(into)
    entries = list(reader.entries())
    end_us = (entries[0].event.at_us + entries[-1].event.at_us) // 2
    for entry in entries:
        if entry.event.at_us <= end_us:
            ledger.append(entry.event, entry.decision)
    ledger.close()
    reader.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
