"""The stage of a demo: a site folder of its own, a lab, and a controller in it; all of it ends with the demo."""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fawkes.base.errors import DeadlineError, FawkesError, RefusedError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client, HungUpError, NoControllerError, SilentError
from fawkes.cli.asking.waiting import wait_for
from fawkes.config.site.site import Site
from fawkes.core.values.model import ClusterLife
from fawkes.live import lab as labs
from fawkes.live.lab import Lab, LabSpec
from fawkes.report.history import clusters
from fawkes.store.sqlite import LedgerReader
from fawkes.workload.playing.play import Say
from fawkes.workload.playing.story import points

MARK = ".fawkes-demo"
CONTROLLER_LOG = "controller.log"

_FAWKES = (sys.executable, "-m", "fawkes")
_READY_S = 60.0
_STOP_S = 10.0
_STORY_US = 60 * SECOND_US
_LOOK_S = 0.05
_LAST_LINES = 5


@contextlib.contextmanager
def own_folder(folder: Path) -> Iterator[Path]:
    """An empty site folder for one demo at a time; what an earlier demo left in it, and of its lab, goes.

    RefusedError when another demo is using it, or when it has somebody else's files: those are not touched.
    """
    folder = folder.expanduser().absolute()
    mark = folder / MARK
    if folder.exists() and not mark.exists() and any(folder.iterdir()):
        raise RefusedError(
            "this folder is not empty and is not from a demo, so it was not touched",
            where=str(folder),
            hint="Name another: fawkes demo --site DIR",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with mark.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RefusedError(
                "another demo is running in this folder", where=str(folder), hint="fawkes demo --site DIR"
            ) from None
        labs.down(labs.name_of_site(folder))
        _clear(folder)
        yield folder


def _clear(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != MARK:
            entry.unlink()
    # In a checkout the results are nobody's changes.
    (folder / ".gitignore").write_text("*\n")


@contextlib.contextmanager
def lab_of(spec: LabSpec, say: Say, *, keep: bool = False) -> Iterator[Lab]:
    """A lab that is taken down at the end, however this process ends, unless ``keep``; with it goes the controller.

    FawkesError when it does not go down.
    """
    if keep:
        yield labs.up(spec, tell=say)
        return
    # Who waits for the end of this process takes the lab down in any case: one way, which every run tries out. It has
    # a session of its own, for what ends a whole group, as Ctrl-C does, must not end it.
    wait_and_do = 'cat >/dev/null; exec "$@"'
    command = ["/bin/sh", "-c", wait_and_do, "sh", *_FAWKES, "lab", "down", "--name", spec.name]
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, start_new_session=True, **streams) as guard:
        try:
            yield labs.up(spec, tell=say)
        finally:
            _, said = guard.communicate()
    if guard.returncode != 0:
        raise FawkesError(f"the lab did not go down: {said.strip()}", hint=f"fawkes lab down --name {spec.name}")


@contextlib.contextmanager
def controller_of(lab: Lab, site: Site, *, keep: bool = False, crash: bool = False) -> Iterator[Client]:
    """`fawkes run` inside the lab, once it answers; stopped at the end if it still runs, unless ``keep``.

    With ``crash`` it is killed (SIGKILL) and not stopped. FawkesError with the end of its log when it ends before it
    answers.
    """
    log = site.root / CONTROLLER_LOG
    command = [*_FAWKES, "--site", str(site.root), "run", "-v"]
    with log.open("ab") as out:
        process = lab.popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    try:
        client = Client(site)
        _wait_until_it_answers(client, process, log)
        yield client
    finally:
        if crash:
            process.kill()
            process.wait()
        elif not keep:
            _stop(process)


def _wait_until_it_answers(client: Client, process: subprocess.Popen[Any], log: Path) -> None:
    limit = time.monotonic() + _READY_S
    while True:
        # One that was just killed may still take the question, and end before it answers.
        with contextlib.suppress(NoControllerError, HungUpError, SilentError):
            # It listens a moment before it knows its pool.
            if client.rows("nodes"):
                return
        if process.poll() is not None:
            raise FawkesError(f"the controller ended at once: {last_lines(log)}", where=str(log))
        if time.monotonic() > limit:
            raise DeadlineError(f"the controller did not answer within {_READY_S:.0f} s", where=str(log))
        time.sleep(_LOOK_S)


def last_lines(log: Path) -> str:
    """The end of a log, in one line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:]) or "it wrote nothing"


def _stop(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for_story(site: Site, client: Client, *, limit_us: int = _STORY_US) -> None:
    """Return as soon as the ledger has all points of the story, or every MR-cluster is gone.

    DeadlineError after ``limit_us``; its default is longer than an idle MR-cluster stays in the demo.
    """

    def over() -> bool | None:
        with contextlib.closing(LedgerReader(site.state_dir)) as ledger:
            story = points(ledger.entries())
            # Before the third MR-cluster is asked for there are no points yet.
            happened = bool(story) and all(point.happened for point in story)
            return True if happened or all(cluster.life is ClusterLife.GONE for cluster in clusters(ledger)) else None

    wait_for(client, over, "the last point of the story", limit_us=limit_us)


def take_down(site: Site) -> float:
    """`fawkes down`: every node wiped, the controller stopped; the seconds it took. FawkesError when it fails."""
    began = time.monotonic()
    command = [*_FAWKES, "--site", str(site.root), "down", "--yes", "--timeout", "120s"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FawkesError(f"`fawkes down` ended with {done.returncode}: {done.stderr.strip()}", where=str(site.root))
    return time.monotonic() - began


def write_settings(site: Site, settings: Mapping[str, Any], origin: str) -> None:
    """fawkes.toml with these keys, which come from ``origin``."""
    lines = [f"# From {origin}", *_toml(settings)]
    site.settings_file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(table: Mapping[str, Any], name: str = "") -> Iterator[str]:
    for key, value in table.items():
        if not isinstance(value, Mapping):
            # JSON's text, numbers, booleans and lists are TOML's as well.
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            inner = f"{name}.{key}" if name else key
            yield f"\n[{inner}]"
            yield from _toml(value, inner)
