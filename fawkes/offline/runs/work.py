"""Many runs: in this process, on several, or on a Dask cluster; those that a folder has already are not run again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from typing import Any, Protocol, TypeVar

from fawkes.base.errors import BrokenError, FawkesError, RefusedError, UserError
from fawkes.base.extras import require
from fawkes.base.version import __version__
from fawkes.offline.runs.code import code_digest
from fawkes.sim.engines import compile_now

#: runs for which the compiled model of Hadoop is made where it is not there yet
_MANY = 40
#: how long a scheduler of Dask may take to accept a connection
_CONNECT_S = 1.5
#: how long workers may take to come to their scheduler
_WORKERS_S = 10

#: errors of Dask when a worker or the scheduler is gone
_GONE = frozenset({"KilledWorker", "CommClosedError", "FutureCancelledError"})
#: words of a worker that cannot read what it is given; Dask makes a plain Exception of the error
_FOREIGN = ("No module named 'fawkes", "cannot import name", "Can't get attribute")
_SAME = "Install the same version on all workers"

Row = dict[str, Any]
Item = TypeVar("Item")
Kept = TypeVar("Kept", contravariant=True)


class Runner(Protocol):
    """Does a task for each item and yields both as they are done; other processes get the task once, pickled."""

    def __call__(self, task: Callable[[Item], Row], items: Sequence[Item], /) -> Iterator[tuple[Item, Row]]:
        """Items and their rows, in any order."""


class RowFolder(Protocol[Kept]):
    """The place where rows are kept, each in a file of its own."""

    def row(self, item: Kept, /) -> Row | None:
        """The row of an item; None when it is not there, or not whole."""

    def keep(self, item: Kept, row: Row, /) -> None:
        """Store the row of an item, whole or not at all."""


def finish(
    task: Callable[[Item], Row],
    items: Sequence[Item],
    folder: RowFolder[Item],
    run: Runner,
    step: Callable[[str], None],
    *,
    prepare: Callable[[], None] = compile_now,
) -> list[Row]:
    """Do what the folder does not have yet; the rows of all items in their order.

    Each row is stored before the next one is waited for. ``step`` hears of each item that is done. ``prepare`` is
    called once before many items, for what each process would have to do for itself.
    """
    left = [item for item in items if folder.row(item) is None]
    if len(left) >= _MANY:
        # Half a minute once on a machine, that so many runs win back; else each process would do it for itself.
        prepare()
    for item, row in run(task, left) if left else ():
        folder.keep(item, row)
        step(str(item))
    return [_there(folder, item) for item in items]


def _there(folder: RowFolder[Item], item: Item) -> Row:
    row = folder.row(item)
    if row is None:
        raise BrokenError(f"the row of {item} is missing", where=str(getattr(folder, "folder", "")))
    return row


def in_this_process(task: Callable[[Item], Row], items: Sequence[Item], /) -> Iterator[tuple[Item, Row]]:
    """One after another."""
    for item in items:
        yield item, task(item)


def on_processes(count: int) -> Runner:
    """A runner on so many processes of this machine; what is under way at an interrupt is finished.

    FawkesError when one of them dies, such as of too little memory.
    """

    def run(task: Callable[[Item], Row], items: Sequence[Item], /) -> Iterator[tuple[Item, Row]]:
        with processes_for(min(count, len(items)), task) as pool:
            yield from _as_done(lambda item: pool.submit(_work, item), items)

    return run


def on_pool(pool: Executor, dask: str | None = None) -> Runner:
    """A runner on processes that stay from call to call; each run gets its task. ``dask`` is the address of theirs."""

    def run(task: Callable[[Item], Row], items: Sequence[Item], /) -> Iterator[tuple[Item, Row]]:
        try:
            for item, row in _as_done(lambda item: pool.submit(_call, task, item), items):
                yield item, row if dask is None else _same_code(row, dask)
        except Exception as error:
            if dask is None or not any(text in str(error) for text in _FOREIGN):
                raise
            raise RefusedError(f"a worker has another Fawkes, or none ({error})", where=dask, hint=_SAME) from None

    return run


def processes_for(count: int, task: Callable[[Any], Row] | None = None) -> ProcessPoolExecutor:
    """Processes of this machine; each has the task, and does it for each item that `_work` is submitted with."""
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin, (task,))


def _as_done(submit: Callable[[Item], Future[Row]], items: Iterable[Item]) -> Iterator[tuple[Item, Row]]:
    """Submit all items and yield each with its row as it is done; what has not begun at an error is not run.

    FawkesError when the process or the Dask worker that had an item is gone.
    """
    under_way = {submit(item): item for item in items}
    try:
        for future in as_completed(under_way):
            yield under_way[future], future.result()
    except BaseException as error:
        for future in under_way:
            future.cancel()
        # Those of Dask by their names, because it need not be installed.
        if isinstance(error, BrokenExecutor | CancelledError) or type(error).__name__ in _GONE:
            raise FawkesError(
                f"a process that ran a scenario is gone{f' ({error})' if str(error) else ''}",
                hint="Rows that were finished are kept: start the same again with a folder (--out). If memory was "
                'short, run fewer at the same time (--jobs). A script of yours needs `if __name__ == "__main__":`, '
                "or each process runs it anew",
            ) from None
        raise


_mine: list[Callable[[Any], Row]] = []


def _begin(task: Callable[[Any], Row] | None) -> None:
    """A process of the pool: leaves interrupts to the one that started it, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _mine[:] = [task] if task else []
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(item: Any) -> Row:
    return _mine[0](item)


def on_dask(address: str) -> Runner:
    """A runner on a Dask cluster that is there already; rows say the version that made them.

    UserError without the extra ``dask`` or without an answer; RefusedError when its workers have another Fawkes;
    FawkesError when they are gone.
    """
    require("`--dask`", "dask")

    def run(task: Callable[[Item], Row], items: Sequence[Item], /) -> Iterator[tuple[Item, Row]]:
        with dask_client(address) as client:
            shared = client.scatter([task], broadcast=True)[0]
            yield from on_pool(client.get_executor(pure=False), address)(shared, items)

    return run


def dask_client(address: str) -> Any:
    """A client of the Dask scheduler at an address; UserError without the extra ``dask`` or without an answer."""
    require("`--dask`", "dask")
    from distributed import Client
    from distributed.comm import get_address_host_port

    try:
        # The client would try again and again for all of its time, and then say nothing of the cause.
        socket.create_connection(get_address_host_port(address), timeout=_CONNECT_S).close()
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        hint = "Give the address of a Dask scheduler, such as tcp://host:8786"
        raise UserError(f"no answer from {address!r} ({error})", where="--dask", hint=hint) from None
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except TimeoutError:
        client.close()
        hint = f"Start some: `dask worker {address}`"
        raise UserError(f"the scheduler at {address!r} has no workers", where="--dask", hint=hint) from None
    return client


def _same_code(row: Row, address: str) -> Row:
    """The row of a Dask worker; RefusedError when the worker has another Fawkes."""
    made = (row["fawkes"], row.get("code", code_digest()))
    if made != (__version__, code_digest()):
        raise RefusedError(
            f"a worker has Fawkes {made[0]} (code {made[1]}), this is {__version__} (code {code_digest()})",
            where=address,
            hint=_SAME,
        )
    return row


def _call(task: Callable[[Item], Row], item: Item) -> Row:
    return task(item)
