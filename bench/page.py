"""The page: a week of 1,000 nodes in a browser; and a controller beside which it is asked 500 times a second."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from bench.figures import Figure, Say, figures_of, peak_mb
from fawkes.base.catalog import Catalog
from fawkes.base.units import SECOND_US
from fawkes.config.site.site import Site
from fawkes.core.values.decision import PutNode
from fawkes.core.values.events import Woke
from fawkes.offline.scenarios.plan import with_demands
from fawkes.offline.scenarios.read import plan_named
from fawkes.offline.scenarios.scenario import simulate
from fawkes.report import history
from fawkes.store.sqlite import Ledger, LedgerReader
from tests.report.web.browser import Browser, browser, there

GROUP = "The page"
_HEAD = """limit = "30d"
pool = { nodes = 1000 }
settings = { preset = "steady", policy = "TD", idle_time = "30d" }
"""
_CLUSTER = """[[cluster]]
id = "c-{number:02}"
min_nodes = 20
[[load]]
cluster = "c-{number:02}"
apps = ["WC"]
jobs = {{ "{size}GB" = 168 }}
arrivals = "average"
per_hour = 1
"""
_INVENTORY = """pool = "bench"
ssh = { port = 9, allow_root = true }
[[group]]
name = "rack1"
nodes = "localhost"
site = "here"
cores = 1
memory = "1GB"
disk = "1GB"
work_dir = "/srv/fawkes"
software_dir = "/srv/fawkes/dist"
user = "root"
"""
_TOKEN = "bench-" * 4
_PERIOD_S, _RATE, _SPAN_S, _REST_S = 2, 500, 20, 30
_UPDATES, _THREADS = 20, 10
#: when each drawing was on the screen: at the second frame after it
_WATCH = """window.drawn = [];
new MutationObserver(() => requestAnimationFrame(() => requestAnimationFrame(() => window.drawn.push(
  [Number(document.body.dataset.seq), performance.now(), document.querySelectorAll(".node, figure").length]))))
  .observe(document, { subtree: true, attributes: true, attributeFilter: ["data-seq"] });"""
_UPDATE = """const drawn = window.drawn.find(([seq]) => seq >= %d)[1];
const asks = performance.getEntriesByName(location.origin + "/api/state").map((each) => each.startTime);
return [asks.filter((at) => at < drawn).at(-1), drawn, performance.timeOrigin];"""
#: what, unit, key of the values, target
_FIGURES = (
    ("a week of 1,000 nodes and 10 MR-clusters: from opening the page until it is drawn", "ms", "first_ms", 1000),
    ("an update of it: from asking until it is drawn", "ms", "update_ms", 100),
    ("... from the step in the ledger until it is drawn", "ms", "after_ms", None),
    ("from the start of `fawkes web` until it has the rows of now", "s", "rows_s", None),
    ("... processor time until it has read the week", "s", "read_s", None),
    ("peak memory of its process", "MB", "peak_mb", 150),
    ("an empty pool at rest: the controller's share of a core", "%", "controller_percent", 2),
    ("... the page's share", "%", "page_percent", 2),
    ("500 requests a second for 20 s: how late the controller's ticks are", "ms", "late_ms", 100),
    ("... requests that were answered", "1/s", "answered", None),
    ("... 99 of 100 of them within", "ms", "p99_ms", None),
)


def figures(rounds: int, say: Say) -> list[Figure]:
    """Make a week once and open it ``rounds`` times; then the controller, once."""
    values: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="fawkes-bench-") as folder:
        say("page: a simulated week of 1,000 nodes, some minutes")
        write_week(Path(folder))
        for _ in range(rounds):
            say("page: the week in a browser")
            for key, some in week(Path(folder)).items():
                values.setdefault(key, []).extend(some)
    with tempfile.TemporaryDirectory(prefix="fawkes-bench-") as folder:
        say("page: beside a controller")
        values |= beside(Path(folder))
    return figures_of(GROUP, ((what, unit, values[key], most) for what, unit, key, most in _FIGURES if key in values))


def write_week(folder: Path) -> None:
    """The ledger of a simulated week."""
    file = folder / "week.toml"
    file.write_text(_HEAD + "".join(_CLUSTER.format(number=n, size=400 + 100 * n) for n in range(1, 11)))
    catalog = Catalog(site=folder)
    plan = plan_named(Site(folder), catalog, file)
    with closing(Ledger(Site(folder).state_dir, durable=False)) as ledger:
        simulate(with_demands(plan.scenario(catalog), plan.demands), ledger)


def week(folder: Path) -> Mapping[str, Sequence[float]]:
    """The costs of the page of a week: until it is there, in a browser, and when steps are added."""
    began, values = time.perf_counter(), dict[str, Sequence[float]]()
    command = [sys.executable, "-m", "fawkes", "--quiet", "web", "--run", str(folder), "--port", "0", "--no-key"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
        try:
            assert page.stdout is not None
            url = page.stdout.readline().strip()
            port = int(url.rstrip("/").rpartition(":")[2])
            for key, name, every_s in (("pool", "rows_s", 0.1), ("seq", "read_s", 2.0)):
                while key not in json.loads(_get(_opened(port), "/api/state")):
                    time.sleep(every_s)
                values[name] = [time.perf_counter() - began]
            values["read_s"] = [_busy_s(page.pid)]
            if there():
                with browser() as window:
                    values |= _watched(window, url, Site(folder).state_dir)
            return {**values, "peak_mb": [peak_mb(page.pid)]}
        finally:
            page.terminate()


def _watched(window: Browser, url: str, state: Path) -> Mapping[str, Sequence[float]]:
    window.watch(_WATCH)
    window.open(url)
    _, first_ms, shown = window.until("window.drawn.at(-1)")
    assert shown == 1000 + 10 * 4
    with closing(LedgerReader(state)) as reader:
        last = reader.entries(reader.last_seq() - 5000)
        moves = [each for each in last if any(isinstance(change, PutNode) for change in each.decision.changes)]
        at_us = history.last_us(reader)
    updates, after = [], []
    with closing(Ledger(state, durable=False)) as ledger:
        for entry in moves[-_UPDATES:]:
            stored_ms = time.time() * 1000
            seq = ledger.append(replace(entry.event, at_us=at_us), entry.decision)
            window.until(f"window.drawn.at(-1)[0] >= {seq}")
            asked_ms, drawn_ms, origin_ms = window.run(_UPDATE % seq)
            updates.append(drawn_ms - asked_ms)
            after.append(origin_ms + drawn_ms - stored_ms)
    return {"first_ms": [first_ms], "update_ms": updates, "after_ms": after}


def beside(folder: Path) -> Mapping[str, list[float]]:
    """A real controller with a page, at rest and while the page is asked, and how late its ticks are then."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "inventory.toml").write_text(_INVENTORY)
    (folder / "tokens").write_text(f"bench operator {_TOKEN}\n")
    (folder / "tokens").chmod(0o600)
    table = f'period = "{_PERIOD_S}s"\nsample_every = "1s"\n[web]\ntokens = "tokens"\naddress = "127.0.0.1:{port}"\n'
    (folder / "fawkes.toml").write_text(table)
    command = [sys.executable, "-m", "fawkes", "--site", str(folder), "run"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
        try:
            while not _answers(port):
                assert run.poll() is None
            marks = (str(folder).encode(), b"--beside")
            words = {each.parent.name: each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline")}
            pids = [run.pid, *(int(pid) for pid, text in words.items() if all(mark in text for mark in marks))]
            before = [_busy_s(pid) for pid in pids]
            time.sleep(_REST_S)
            controller, page = (100 * (_busy_s(pid) - was) / _REST_S for pid, was in zip(pids, before, strict=True))
            began_us = time.time_ns() // 1000
            times = sorted(_answer_times(port))
        finally:
            run.terminate()
    with closing(LedgerReader(folder / "state")) as reader:
        ticks = [entry.event.at_us for entry in reader.entries(kinds=[Woke.__name__])]
    half_us = _PERIOD_S * SECOND_US // 2
    late = [((at - ticks[0] + half_us) % (2 * half_us) - half_us) / 1000 for at in ticks if at > began_us]
    assert len(late) >= _SPAN_S / _PERIOD_S - 1
    measured = {"controller_percent": controller, "page_percent": page, "answered": len(times) / _SPAN_S}
    slow = 1000 * times[len(times) * 99 // 100]
    return {"late_ms": late, **{key: [value] for key, value in {**measured, "p99_ms": slow}.items()}}


def _answer_times(port: int) -> list[float]:
    """The times (s) of the answers to so many requests a second; each tenth goes on to the controller."""
    times: list[float] = []
    each_s = _THREADS / _RATE
    begin = time.perf_counter() + each_s

    def ask(thread: int) -> None:
        connection = _opened(port)
        path = "/metrics" if thread % 2 else "/api/state" if thread else "/api/nodes"
        for number in range(round(_SPAN_S / each_s)):
            time.sleep(max(0.0, begin + (number + thread / _THREADS) * each_s - time.perf_counter()))
            began = time.perf_counter()
            if began > begin + _SPAN_S:
                break
            _get(connection, path)
            times.append(time.perf_counter() - began)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def _answers(port: int) -> bool:
    with suppress(OSError, AssertionError):
        return bool(_get(_opened(port), "/metrics"))
    time.sleep(0.1)
    return False


def _opened(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def _get(connection: http.client.HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"authorization": f"Bearer {_TOKEN}"})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == http.client.OK, (path, answer.status, text)
    return text


def _busy_s(pid: int) -> float:
    """Seconds of the processor that a process has taken."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
