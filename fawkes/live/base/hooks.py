"""Hooks: a site's own executables that are run before a node joins, and told of wipes, alerts and moves.

Each gets one event as JSON on stdin, a small fixed environment, and a time limit; what it writes is cut. It runs in a
process group of its own, which is ended with it. Nobody waits for a hook but the node that joins.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from fawkes.base.errors import HostError
from fawkes.base.units import show_duration, show_time
from fawkes.core.state import alerts
from fawkes.core.state.state import State
from fawkes.core.values.decision import Decision, PutCluster, PutNode
from fawkes.core.values.events import Event
from fawkes.core.values.model import NodeId, Plain

FOLDER = "hooks"
"""The folder of a site with its hooks."""
BEFORE_JOIN, AFTER_WIPE, ALERT, MOVE = "before-join", "after-wipe", "alert", "move"
NAMES = (BEFORE_JOIN, AFTER_WIPE, ALERT, MOVE)
#: events that wait for their hook; later ones are dropped, and the log says so
_MOST_WAITING = 256
#: of what a hook writes, for the log
_MOST_KEPT_BYTES = 2_000
#: hooks of nodes that join at the same time
_SIDE_BY_SIDE = 8
_MOVES = frozenset({"grow", "shrink", "undrain", "shrink-to-admit", "shrink-to-replace", "takes-over", "core-leaves"})
_WIPED = frozenset({"freed", "out-of-service"})

#: runs the hook of nodes (with their generations) that are about to join an MR-cluster in a role
BeforeJoin = Callable[[str, Mapping[NodeId, int], str], None]
#: those of such nodes that are the MR-cluster's already, by their own word; an error of a node that does not say
Holders = Callable[[str, Mapping[NodeId, int]], Collection[NodeId]]

_log = logging.getLogger(__name__)


def no_hook(cluster: str, nodes: Mapping[NodeId, int], role: str) -> None:
    """Do nothing: without hooks nodes join at once."""


def no_holders(cluster: str, nodes: Mapping[NodeId, int]) -> Collection[NodeId]:
    """Every node is new."""
    return ()


class HookError(HostError):
    """A hook forbade a node to join: it ended with another code than 0, or not in time, or could not be started."""


class Hooks:
    """The hooks of a site; one that is not there, or not executable, is not run.

    ``wait`` is false for a site where no node waits for before-join. Used by any thread.
    """

    def __init__(self, folder: Path, limit_us: int, *, wait: bool = True) -> None:
        # A hook runs in it: a path from elsewhere would lead nowhere there.
        self._folder = folder.absolute()
        self._limit_s = limit_us / 1_000_000
        self._wait = wait
        self._queue: queue.Queue[tuple[str, Mapping[str, Plain]] | None] = queue.Queue(_MOST_WAITING)
        self._joined: dict[NodeId, int] = {}
        self._thread = threading.Thread(target=self._work, name="hooks", daemon=True)
        self._thread.start()

    def before_join(
        self, cluster: str, nodes: Mapping[NodeId, int], role: str, *, holders: Holders = no_holders
    ) -> None:
        """Run the hook for each of these nodes (with their generations) for which it was not run yet.

        Returns once all have ended well; HookError names the first node that must not join. Where nobody waits it
        returns at once. One that joined before is not asked again: a lost node that comes back may have the only
        copies of data, and a hook that fails must not keep it away.
        """
        new = {node: generation for node, generation in nodes.items() if self._joined.get(node) != generation}
        if new and self._path(BEFORE_JOIN):
            for node in holders(cluster, new):
                self._joined[node] = new.pop(node)
        events = {node: {"node": node, "cluster": cluster, "role": role, "generation": nodes[node]} for node in new}
        if not self._wait:
            for event in events.values():
                self.tell(BEFORE_JOIN, event)
        elif new and self._path(BEFORE_JOIN):
            with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
                whys = dict(zip(new, pool.map(lambda node: self._run(BEFORE_JOIN, events[node]), new), strict=True))
            self._joined |= {node: nodes[node] for node, why in whys.items() if not why}
            for node, why in whys.items():
                if why:
                    raise HookError(f"hooks/{BEFORE_JOIN} {why}", host=node, hint="Look at that hook of the site")
            return
        self._joined |= new

    def step(self, view: State, event: Event, decision: Decision) -> None:
        """Tell hooks of a step that was stored; ``view`` is the state before it. Returns at once."""
        at = show_time(event.at_us)
        moves = [
            {"code": reason.code, **{key: reason.facts.get(key) for key in ("node", "cluster", "role")}}
            for reason in decision.reasons
            if reason.code in _MOVES
        ]
        if moves:
            self.tell(MOVE, {"at": at, "moves": moves})
        for reason in decision.reasons:
            if reason.code in _WIPED:
                self.tell(AFTER_WIPE, {"at": at, "node": reason.facts.get("node"), "state": reason.code})
        for alert in _new_alerts(view, decision):
            self.tell(ALERT, {"at": at, **alert})

    def tell(self, name: str, event: Mapping[str, Plain]) -> None:
        """Put an event into the queue of its hook, if there is one; returns at once."""
        if self._path(name) is None:
            return
        try:
            self._queue.put_nowait((name, event))
        except queue.Full:
            _log.warning("hooks/%s is not told of %s: %s events wait already", name, event, _MOST_WAITING)

    def close(self) -> None:
        """Drop what waits; a hook that runs is ended by its time limit at the latest."""
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._queue.put(None)

    def _work(self) -> None:
        while (waiting := self._queue.get()) is not None:
            name, event = waiting
            if why := self._run(name, event):
                _log.warning("hooks/%s %s", name, why)

    def _path(self, name: str) -> Path | None:
        path = self._folder / name
        return path if path.is_file() and os.access(path, os.X_OK) else None

    def _run(self, name: str, event: Mapping[str, Plain]) -> str:
        """The reason why a hook did not do what it should; empty when it ended with 0."""
        path = self._path(name)
        if path is None:
            return ""
        with tempfile.TemporaryFile() as given:
            given.write(json.dumps({"hook": name, **event}, default=str).encode())
            given.seek(0)
            try:
                process = subprocess.Popen(
                    [path],
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd=self._folder,
                    env={"PATH": os.defpath + ":/usr/sbin:/sbin", "LANG": "C.UTF-8", "FAWKES_HOOK": name},
                    start_new_session=True,
                )
            except OSError as error:
                return f"cannot be started: {error.strerror or error}"
        try:
            return self._followed(process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _followed(self, process: subprocess.Popen[bytes]) -> str:
        """Read what it writes, keep the beginning, and wait for its end; its children may go on writing."""
        kept, until_s = b"", time.monotonic() + self._limit_s
        ended = os.pidfd_open(process.pid)
        try:
            # Not select(): a controller of a large pool has files with numbers that it does not take.
            sources = select.poll()
            for source in (ended, *([] if process.stdout is None else [process.stdout.fileno()])):
                sources.register(source, select.POLLIN)
            while (left_s := until_s - time.monotonic()) > 0:
                ready = [source for source, _ in sources.poll(left_s * 1000)]
                for source in ready:
                    if source == ended:
                        continue
                    piece = os.read(source, 65_536)
                    kept += piece[: _MOST_KEPT_BYTES - len(kept)]
                    if not piece:
                        sources.unregister(source)
                if ended in ready and len(ready) == 1:
                    code = process.wait()
                    words = kept.decode(errors="replace").strip()
                    return "" if code == 0 else f"ended with {code}" + (f": {words}" if words else "")
        finally:
            os.close(ended)
        return f"had not ended after {show_duration(round(self._limit_s * 1_000_000))}, and was killed"


def _new_alerts(view: State, decision: Decision) -> Iterator[dict[str, Plain]]:
    """The alerts of a decision that the state before it has not."""
    for change in decision.changes:
        if isinstance(change, PutNode):
            node = change.state
            old = view.nodes.get(node.node.id)
            if node.alert and (old is None or old.alert != node.alert):
                yield {"node": node.node.id, "cluster": node.owner, "kind": alerts.kind_of(node), "text": node.alert}
        elif isinstance(change, PutCluster):
            state = change.state
            known = view.clusters.get(state.id)
            had = {alert.text for alert in alerts.every(known)} if known is not None else set[str]()
            for alert in alerts.every(state):
                if alert.text not in had:
                    yield {"cluster": state.id, "kind": alert.about, "text": alert.text}
