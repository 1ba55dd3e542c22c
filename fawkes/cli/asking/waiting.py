"""Waiting for an end that the ledger has: also when the controller is killed, stopped or cut off meanwhile.

While the controller answers it is asked. Once it does not, the same question goes to the ledger: what is done there is
done, and all else is named, with the next command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from time import monotonic, sleep
from typing import Any, Generic, TypeVar

from fawkes.base.errors import DeadlineError, FawkesError, UserError
from fawkes.base.units import SECOND_US, show_duration
from fawkes.cli.asking.acting import ENDED, GONE, standing
from fawkes.cli.asking.client import ALIVE_S, Client, HungUpError, NoControllerError, SilentError, trouble
from fawkes.cli.show.show import note, warn

T = TypeVar("T")
Row = dict[str, Any]

#: how long a controller that runs may be silent before nobody waits for it any more
SILENT_S = 45.0
#: how often the controller is asked whether its ledger and its loop are well
_TROUBLE_EVERY_S = 5.0
#: a controller that ends well closes its socket, and then takes a moment to let go of the ledger
_CLOSING_S = 3.0
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 1.0
_AGAIN = "Start it with `fawkes run`, then repeat the command"


def wait_for(
    client: Client,
    look: Callable[[], T | None],
    what: str,
    *,
    limit_us: int | None = None,
    ends: bool = False,
    then: str = _AGAIN,
    goes_on: str = "",
    silent_s: float = SILENT_S,
) -> T:
    """The answer of ``look`` as soon as it has one; with ``ends`` not before the controller has ended.

    Nothing is taken back when the limit passes or the user interrupts: the controller goes on. ``goes_on`` tells the
    latter so, with the commands that show it and take it back. ``look`` asks the client alone, so that it can be asked
    by the ledger too.

    FawkesError (exit 1) when the controller has ended before, with ``then`` as the next step; DeadlineError (exit 5)
    after ``limit_us``, and when a controller that runs is silent for ``silent_s``. Both list what is not done.
    """
    wait = _Wait(client, look, what, then, ends)
    end_s = None if limit_us is None else monotonic() + limit_us / SECOND_US
    pause_s, silent_since_s, patient_s = _FIRST_PAUSE_S, None, client.timeout_s
    try:
        while True:
            left_s = ALIVE_S if end_s is None else max(1.0, min(ALIVE_S, end_s - monotonic()))
            client.timeout_s = left_s
            try:
                seen = wait.answer()
                silent_since_s = None
            except (NoControllerError, HungUpError, SilentError) as error:
                silent_since_s = silent_since_s or monotonic()
                seen = wait.by_ledger(error, monotonic() - silent_since_s)
            if seen is not None:
                return seen
            if end_s is not None and monotonic() >= end_s:
                raise wait.too_long(silent_since_s)
            if silent_since_s is not None and monotonic() - silent_since_s >= silent_s:
                raise wait.silent(silent_since_s)
            sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(*filter(None, [goes_on])) from None
    finally:
        client.timeout_s = patient_s


@contextmanager
def within(client: Client, limit_us: int | None) -> Iterator[Callable[[], int | None]]:
    """Gives the rest of a time limit, in microseconds; an answer is waited for no longer than that.

    The wait that follows has what is left, and tells by the ledger what came of the request. SilentError where there
    is no limit.
    """
    patient_s, began_s = client.timeout_s, monotonic()

    def left_us() -> int | None:
        return None if limit_us is None else max(0, limit_us - round((monotonic() - began_s) * SECOND_US))

    try:
        client.timeout_s = patient_s if limit_us is None else max(1.0, min(patient_s, limit_us / SECOND_US))
        yield left_us
    except SilentError:
        if limit_us is None:
            raise
    finally:
        client.timeout_s = patient_s


@contextmanager
def followed(client: Client, waits: bool) -> Iterator[None]:
    """Watch a request: if the controller ends before its answer, the wait tells what came of it.

    HungUpError where nobody waits, and from a controller that still runs: nobody knows then what there is to wait for.
    """
    try:
        yield
    except HungUpError:
        end_s = monotonic() + _CLOSING_S
        while waits and (runs := _runs(client)) and monotonic() < end_s:
            sleep(_FIRST_PAUSE_S)
        if not waits or runs is not False:
            raise


def over(client: Client, look: Callable[[], T | None]) -> T | None:
    """The answer of ``look`` by the ledger, if no controller runs; None where one may run, or the ledger has none."""
    if _runs(client) is not False:
        return None
    with _stored(client) as (_, unknown):
        return None if unknown else look()


class _Wait(Generic[T]):
    """One thing that is waited for, what is known of it, and what was said about the controller."""

    def __init__(self, client: Client, look: Callable[[], T | None], what: str, then: str, ends: bool) -> None:
        self._client, self._look, self._what, self._then, self._ends = client, look, what, then, ends
        self._trouble = ""
        self._next_s = 0.0
        self._seen: T | None = None
        self._rows: list[Row] = []
        self._unknown = ""

    def answer(self) -> T | None:
        """The answer by the controller; None while it has none."""
        self._seen = self._look()
        if self._seen is not None and not self._ends:
            return self._seen
        if self._ends or monotonic() >= self._next_s:
            self._next_s = monotonic() + _TROUBLE_EVERY_S
            self._tell(trouble(self._client.alive()))
        return None

    def by_ledger(self, error: FawkesError, silent_s: float) -> T | None:
        """The answer by the ledger while the controller is silent; FawkesError when it has ended before."""
        # First, so that what is read after it is final where it says that nobody writes any more.
        runs = _runs(self._client)
        over = not runs if runs is not None else isinstance(error, NoControllerError)
        self._unknown = ""
        with _stored(self._client) as (rows, unknown):
            self._unknown = unknown
            if not unknown:
                self._rows = rows
                self._seen = self._look()
        if self._seen is not None and (over or not self._ends):
            return self._seen
        if over:
            self._list()
            raise FawkesError(f"the controller ended before {self._what}", hint=self._then)
        if silent_s >= _CLOSING_S:
            self._tell("the controller does not answer; still waiting for it")
        return None

    def too_long(self, silent_since_s: float | None) -> DeadlineError:
        """The limit has passed."""
        what = f"the time limit ended before {self._what}"
        if silent_since_s is not None:
            return self._gave_up(f"{what}, and the controller does not answer")
        if self._trouble:
            return DeadlineError(f"{what}: {self._trouble}", hint="`fawkes status` shows its progress")
        return DeadlineError(what, hint="The controller continues with it; `fawkes status` shows its progress")

    def silent(self, since_s: float) -> DeadlineError:
        """A controller that runs and says nothing is not waited for."""
        took = show_duration(round((monotonic() - since_s) * SECOND_US))
        return self._gave_up(f"the controller has not answered for {took}, before {self._what}")

    def _gave_up(self, what: str) -> DeadlineError:
        self._list()
        return DeadlineError(what, hint=f"`fawkes status` names its process: end it if it hangs. {self._then}")

    def _list(self) -> None:
        """Say what is not done, as far as anybody knows."""
        if self._unknown:
            warn(f"what is done is not known, because the ledger cannot be read: {self._unknown}")
            return
        if self._seen is not None:
            warn("by the ledger all of it is done, but the process of the controller has not ended")
            return
        warn("by the ledger, this is not done:")
        for line in not_done(self._rows) or ["the controller never ended its control of the pool"]:
            warn(f"  {line}")

    def _tell(self, text: str) -> None:
        """Say what is wrong with the controller if that is news, and that it is over."""
        if text != self._trouble:
            warn(text or "the controller decides again")
        self._trouble = text


def _runs(client: Client) -> bool | None:
    """True if a controller holds the site's state folder; None if this user may not see that."""
    from fawkes.store.lock import holder

    try:
        return holder(client.site.state_dir) is not None
    except OSError:
        return None


@contextmanager
def _stored(client: Client) -> Iterator[tuple[list[Row], str]]:
    """Lets the ledger answer the client's questions; the rows that it gives out, and why it cannot if it cannot."""
    from fawkes.live.controller.answers import answers
    from fawkes.store.remembered import remembered
    from fawkes.store.sqlite import LedgerReader

    folder = client.site.state_dir
    try:
        with closing(LedgerReader(folder)) as ledger:
            state, _ = remembered(ledger)
    except (FawkesError, OSError) as error:
        yield [], str(error)
        return
    queries = answers(state, lambda: LedgerReader(folder))
    given: list[Row] = []

    def answer(name: str, parameters: Mapping[str, str]) -> Any:
        if name not in queries:
            raise UserError(f"only a controller can say /{name}", hint=_AGAIN)
        rows: Any = queries[name](parameters)
        if isinstance(rows, list):
            given.extend(rows)
        return rows

    client.stored = answer
    try:
        yield given, ""
    finally:
        client.stored = None


def not_done(rows: list[Row]) -> list[str]:
    """Lines for people about the rows of MR-clusters, jobs and nodes that have not come to their end."""
    from fawkes.report.words.facts import fold, how_it_stands

    lines = [standing(row) for row in rows if "jobs_queued" in row and row["state"] != GONE]
    left = [row for row in rows if "job" in row and row["state"] not in ENDED]
    lines += [f"the job {row['job']} {how_it_stands(row['state'])}" for row in left]
    nodes: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if "node" in row and row["state"] not in ("free", "out"):
            nodes.setdefault((row["state"], row["cluster"] or ""), []).append(row["node"])
    for (state, cluster), names in nodes.items():
        lines.append(f"{fold(names)} {'is' if len(names) == 1 else 'are'} {state}{cluster and f' in {cluster}'}")
    return lines


def wait_for_clusters(
    client: Client,
    names: Sequence[str],
    done: Callable[[Mapping[str, Any]], bool],
    what: str,
    limit_us: int | None,
    then: str,
    goes_on: str,
) -> None:
    """Wait until ``done`` holds for each MR-cluster; each step and each alert is told on stderr.

    ``then`` is what to do when the controller ends before, ``goes_on`` what is told to who interrupts; see `wait_for`.
    """
    known: dict[str, tuple[str, str]] = {}

    def look() -> bool | None:
        open_ones = 0
        for name in names:
            row = _known(client.rows("clusters", cluster=name), name)
            tell_change(known, name, row)
            open_ones += not done(row)
        return None if open_ones else True

    wait_for(client, look, what, limit_us=limit_us, then=then, goes_on=goes_on)


def tell_change(known: dict[str, tuple[str, str]], name: str, row: Mapping[str, Any]) -> None:
    """Say how something stands if that is news; ``told`` remembers what was said."""
    now = (row["state"], row.get("alert", ""))
    if known.get(name) != now:
        known[name] = now
        note(f"{name}: {now[0]}" + (f" ({now[1]})" if now[1] else ""))


def wait_for_jobs(
    client: Client, names: Sequence[str], limit_us: int | None, goes_on: str = ""
) -> list[dict[str, Any]]:
    """The rows of the jobs once all have ended, however; each step is told on stderr.

    Errors are those of `wait_for`.
    """
    known: dict[str, tuple[str, str]] = {}

    def look() -> list[dict[str, Any]] | None:
        rows = [_known(client.rows("jobs", job=name), name) for name in names]
        for name, row in zip(names, rows, strict=True):
            tell_change(known, name, row)
        return rows if all(row["state"] in ENDED for row in rows) else None

    # Never the same command again: it would submit the job once more.
    then = "Start it with `fawkes run`: it goes on with them, and `fawkes jobs` shows how they end"
    going = f"What was submitted goes on: `fawkes jobs` shows it, `fawkes cancel {' '.join(names)}` ends it"
    return wait_for(client, look, "all jobs had ended", limit_us=limit_us, then=then, goes_on=goes_on or going)


def _known(rows: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """The one row; without it somebody exchanged the ledger under a controller that was asked before."""
    if not rows:
        raise FawkesError(f"the controller no longer knows {name!r}", hint="`fawkes events` shows what happened")
    return rows[0]
