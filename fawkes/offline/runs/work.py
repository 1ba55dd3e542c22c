"""Many runs: in this process, on several, or on a Dask cluster; those that a folder has already are not run again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, Protocol, TypeVar

from fawkes.base.errors import BrokenError, RefusedError, UserError
from fawkes.base.extras import require
from fawkes.base.version import __version__
from fawkes.offline.runs.code import code_digest
from fawkes.sim.engines import compile_now

#: runs for which the compiled model of Hadoop is made where it is not there yet
_MANY = 40
#: how long a scheduler of Dask may take to accept a connection
_CONNECT_S = 1.5

Row = dict[str, Any]
Item = TypeVar("Item")
Kept = TypeVar("Kept", contravariant=True)


class Runner(Protocol):
    """Does a task for each item and yields both as they are done; other processes get the task once, pickled."""

    def __call__(self, task: Callable[[Item], Row], items: Sequence[Item], /) -> Iterator[tuple[Item, Row]]:
        """Items and their rows, in any order."""


class RowFolder(Protocol[Kept]):
    """Where rows are kept, each in a file of its own."""

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
    """A runner on so many processes of this machine; what is under way at an interrupt is finished."""

    def run(task: Callable[[Item], Row], items: Sequence[Item], /) -> Iterator[tuple[Item, Row]]:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(count, len(items)), context, _begin, (task,)) as pool:
            under_way = {pool.submit(_work, item): item for item in items}
            try:
                for future in as_completed(under_way):
                    yield under_way[future], future.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    return run


_mine: list[Callable[[Any], Row]] = []


def _begin(task: Callable[[Any], Row]) -> None:
    """A process of the pool: leaves interrupts to the one that started it, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _mine[:] = [task]
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

    UserError without the extra ``dask`` or without an answer; RefusedError when its workers have another Fawkes.
    """
    require("`--dask`", "dask")
    from distributed import Client
    from distributed import as_completed as completed
    from distributed.comm import get_address_host_port

    def run(task: Callable[[Item], Row], items: Sequence[Item], /) -> Iterator[tuple[Item, Row]]:
        try:
            # The client would try again and again for all of its time, and then say nothing of the cause.
            socket.create_connection(get_address_host_port(address), timeout=_CONNECT_S).close()
            client = Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            hint = "Give the address of a Dask scheduler, such as tcp://host:8786"
            raise UserError(f"no answer from {address!r} ({error})", where="--dask", hint=hint) from None
        with client:
            shared = client.scatter([task], broadcast=True)[0]
            under_way = {client.submit(_call, shared, item, pure=False): item for item in items}
            for future in completed(list(under_way)):
                row: Row = future.result()
                made = (row["fawkes"], row.get("code", code_digest()))
                if made != (__version__, code_digest()):
                    raise RefusedError(
                        f"a worker has Fawkes {made[0]} (code {made[1]}), this is {__version__} (code {code_digest()})",
                        where=address,
                        hint="Install the same version on all workers",
                    )
                yield under_way[future], row

    return run


def _call(task: Callable[[Item], Row], item: Item) -> Row:
    return task(item)
