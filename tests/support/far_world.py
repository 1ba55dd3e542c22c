"""The live world of a lab, driven from outside of it: effects go in and events come out as lines of JSON.

Real nodes can only be reached from the controller's side of a lab, so the world lives in a process there (`main`), and
`FarWorld` is the same world for whoever is outside.
"""

from __future__ import annotations

import logging
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fawkes.base.errors import HeldUpError
from fawkes.config.site.site import Site
from fawkes.core.values.decision import Decision
from fawkes.core.values.effects import Effect
from fawkes.core.values.events import Event
from fawkes.live.controller.controller import Controller
from fawkes.live.controller.plans import plan
from fawkes.live.lab import Lab
from fawkes.store.record import decision_of, event_of, loads, text_of

PROJECT = Path(__file__).parents[2]


class FarWorld:
    """A World; `next_event` fails when nothing is heard for ``limit_s``."""

    def __init__(self, lab: Lab, limit_s: float) -> None:
        self._limit_s = limit_s
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self.log = lab.site / "world.log"
        with self.log.open("ab") as log:
            self._process: subprocess.Popen[Any] = lab.popen(
                [sys.executable, "-m", "tests.support.far_world", str(lab.site)],
                cwd=PROJECT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                bufsize=1,
            )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._events.put(event_of(loads(line)))
        self._events.put(None)

    def next_event(self) -> Event | None:
        """The next event; None when the world has ended."""
        try:
            return self._events.get(timeout=self._limit_s)
        except queue.Empty:
            raise AssertionError(f"nothing was heard for {self._limit_s:.0f} s\n{self.log.read_text()}") from None

    def wait_for_room(self, error: HeldUpError) -> bool:
        """The ledger is in memory."""
        raise error

    def start(self, effects: Iterable[Effect]) -> None:
        """Hand the effects over."""
        assert self._process.stdin is not None
        self._process.stdin.write(text_of(Decision(effects=tuple(effects))) + "\n")

    def close(self) -> None:
        """End the process; nodes stay as they are."""
        self._process.kill()
        self._process.communicate()


def main(folder: Path) -> None:
    """In the lab: a controller's world without its engine. Ends with its standard input."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    controller = Controller(plan(Site(folder), shadow=False), lambda line: print(line, file=sys.stderr))
    # An engine would decide what happens next; here whoever is outside does.
    _, world, _ = controller._build()

    def tell() -> None:
        while (event := world.next_event()) is not None:
            print(text_of(event), flush=True)

    threading.Thread(target=tell, daemon=True).start()
    for line in sys.stdin:
        world.start(decision_of(loads(line)).effects)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
