"""``python -m tests.report.web.pictures RUN`` draws docs/assets/web-*.png in Chromium from a run in the folder RUN.

The pool at work is that run, ended in its middle.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from fawkes.store.sqlite import Ledger, LedgerReader
from tests.report.web.browser import Browser, browser
from tests.report.web.serving import served

OUT = Path(__file__).parents[3] / "docs" / "assets"
DESKTOP, PHONE = (1100, 1000), (400, 860)
_CARRIED = "document.querySelectorAll('#life li').length"


def main(run: Path) -> None:
    """Write all pictures."""
    with browser() as window, tempfile.TemporaryDirectory() as middle:
        _half(run / "state", Path(middle))
        with served(Path(middle)) as (url, _):
            _picture(window, url, "web-light", DESKTOP)
            _picture(window, url, "web-dark", DESKTOP, dark=True)
            _picture(window, url, "web-phone", PHONE)
            window.look_like(width=DESKTOP[0], height=600)
            window.run("document.querySelector('.node').click(); document.querySelector('#h-nodes').scrollIntoView()")
            window.until(_CARRIED)
            window.picture(OUT / "web-node.png")
        with served(run / "state") as (url, _):
            _picture(window, url, "web-run", DESKTOP)


def _picture(window: Browser, url: str, name: str, size: tuple[int, int], *, dark: bool = False) -> None:
    window.look_like(width=size[0], height=size[1], dark=dark)
    window.open(url).until("document.body.dataset.seq")
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
