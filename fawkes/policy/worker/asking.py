"""Asks workers: processes without rights, one for each file, that can be ended when a call takes too much."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fawkes.base.errors import ConfigError, FawkesError, cut
from fawkes.base.units import show_bytes
from fawkes.base.version import PACKAGE
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import Plain
from fawkes.policy.worker.answering import HEADER, LONGEST, MOST_ANSWER_BYTES, READY
from fawkes.policy.worker.contracts import CONTRACTS

_ROOT = str(PACKAGE.resolve().parent)
_LINE = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+) in')
#: nothing of the caller's environment, of its folder and of installed packages: a user's statistics.py would stand for
#: Python's own. The seed of hashes is fixed, so that sets have the same order everywhere
_FLAGS = ("-P", "-S", "-s", "-W", "ignore")
_ENVIRONMENT = {"PYTHONPATH": _ROOT, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
_MOST_PROCESSES = 8
_MOST_NOTES = 5
_MOST_WORDS_BYTES = 1 << 16
#: what a machine that is busy with other things may need for a second on a processor, and for anything at all
_SLOWNESS, _PATIENCE_S = 10, 60


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Bounds of one call of a policy: seconds on a processor, and bytes beyond what the interpreter has."""

    time_s: float = 10.0
    memory_bytes: int = 10**9

    @property
    def answered_s(self) -> float:
        """The time when a worker counts as silent: only code that went around its limit of time gets there."""
        return _SLOWNESS * self.time_s + _PATIENCE_S


USUAL = WorkerLimits()
"""Those where nobody gives others."""


class PolicyFile(NamedTuple):
    """A file that answers: what kind it is of, its text, and the site's parameters for it."""

    kind: str
    policy: PolicyText
    parameters: Mapping[str, Plain]

    @property
    def key(self) -> object:
        """The key that tells it from other files, without its checksum: a ledger may give any sum for any text."""
        return self.kind, self.policy.text, self.policy.origin, json.dumps(dict(self.parameters), sort_keys=True)


class _Worker:
    """One process and the one file that answers in it.

    ``known`` is what the file said of itself when it was loaded. The worker is ``broken`` while a question has no
    answer: one that comes later would be taken for that of the next question.
    """

    def __init__(self, bounds: WorkerLimits) -> None:
        self.broken = True
        self.known: Any = None
        self._bounds = bounds
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            [
                sys.executable,
                *_FLAGS,
                "-m",
                "fawkes.policy.worker.answering",
                str(bounds.memory_bytes),
                str(bounds.time_s),
            ],
            env=_ENVIRONMENT,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
        )
        self._to, self._from = _file(self._process.stdin), _file(self._process.stdout)
        os.set_blocking(self._to, False)
        first = self._received(time.monotonic() + bounds.answered_s)
        if first != READY:
            why = _texts(_decoded(first))[-1:] or ["it said nothing"]
            self.close()
            raise FawkesError(
                f"policies of your own cannot be run safely on this machine: {why[0]}",
                hint="Use a policy that came with Fawkes, or a Linux kernel with seccomp on x86_64 or aarch64",
            )
        self.broken = False

    def ask(self, *question: object) -> Any:
        """The answer as plain data; raises what the file raised, or _EndedError when the process has ended."""
        self.broken = True
        data = pickle.dumps(question, pickle.HIGHEST_PROTOCOL)
        deadline = time.monotonic() + self._bounds.answered_s
        try:
            self._send(HEADER.pack(len(data)) + data, deadline)
            said = _decoded(self._received(deadline))
        except (EOFError, OSError):
            raise _EndedError(self._process.wait(), self._last_words()) from None
        except _SilentError:
            self._process.kill()
            raise _EndedError(-signal.SIGPROF, "") from None
        self.broken = False
        match said:
            case ["loaded" | "answered", answer]:
                return answer
            case ["wrong", *words] if len(words) == 4:
                what, file, key, hint = (cut(str(word), LONGEST) for word in words)
                raise ConfigError(what, file=file, key=key, hint=hint)
            case ["raised", str(name), str(what), [*notes]]:
                raise _raised(name, what, notes)
        raise _NonsenseError("it answered something that no policy answers")

    def _send(self, data: bytes, deadline: float) -> None:
        rest = memoryview(data)
        while rest:
            _wait(self._to, select.POLLOUT, deadline)
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(self._to, rest) :]

    def _received(self, deadline: float) -> bytes:
        size = HEADER.unpack(self._exactly(HEADER.size, deadline))[0]
        if size > MOST_ANSWER_BYTES:
            raise _NonsenseError(f"it answered {show_bytes(size)}; the most is {show_bytes(MOST_ANSWER_BYTES)}")
        return self._exactly(size, deadline)

    def _exactly(self, count: int, deadline: float) -> bytes:
        """Exactly ``count`` bytes; EOFError when the process ends before."""
        got = bytearray()
        while len(got) < count:
            _wait(self._from, select.POLLIN, deadline)
            piece = os.read(self._from, min(count - len(got), 1 << 20))
            if not piece:
                raise EOFError
            got += piece
        return bytes(got)

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read(_MOST_WORDS_BYTES).decode(errors="replace")

    def close(self) -> None:
        """End the process."""
        self._errors.close()
        with self._process as process:
            process.kill()


class _EndedError(Exception):
    """The process has ended instead of answering: its status, and what it wrote of its last lines."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(status)
        self.status, self.words = status, words


class _SilentError(Exception):
    """No answer came in time."""


class RaisedError(Exception):
    """An error that a file raised: the name of its class, which does not exist here, and what it said."""

    @property
    def raised(self) -> str:
        """The name of the class."""
        return str(self.args[0])

    def __str__(self) -> str:
        return str(self.args[1])


class _NonsenseError(ValueError):
    """A message of a worker that is not an answer; shown as an error of its policy."""


def _file(stream: Any) -> int:
    return int(stream.fileno())


def _wait(file: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(file, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise _SilentError


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise _NonsenseError("it answered something that is not JSON") from None


def _texts(value: Any) -> list[str]:
    return [cut(str(each), LONGEST) for each in value] if isinstance(value, list) else []


def _raised(name: str, what: str, notes: list[Any]) -> RaisedError:
    error = RaisedError(name if name.isidentifier() else "Exception", cut(what, LONGEST))
    for note in notes[:_MOST_NOTES]:
        error.add_note(cut(str(note), LONGEST))
    return error


class _Workers(threading.local):
    """The workers of this thread, by bounds and file: two threads would take each other's answers."""

    def __init__(self) -> None:
        self._known: dict[object, _Worker] = {}

    def of(self, bounds: WorkerLimits, question: PolicyFile) -> _Worker:
        """The one in which the file answers, started when there is none that could; the oldest ends for it."""
        # A process that was forked off this one has the same pipes in its hands.
        key = os.getpid(), bounds, question.key
        worker = self._known.pop(key, None)
        if worker is not None and worker.broken:
            worker.close()
            worker = None
        if worker is None:
            while len(self._known) >= _MOST_PROCESSES:
                self._known.pop(next(iter(self._known))).close()
            worker = _Worker(bounds)
            try:
                worker.known = worker.ask("load", 0, question.kind, question.policy, dict(question.parameters))
            except BaseException:
                # One that is kept would take the same file the next time, with nothing in it.
                worker.close()
                raise
        self._known[key] = worker
        return worker


_workers = _Workers()


def load(question: PolicyFile, bounds: WorkerLimits) -> Any:
    """Load a file in its worker: what it says of itself, as plain data.

    ConfigError when it is not of its kind, or takes too much while it is loaded.
    """
    policy = question.policy
    try:
        return _workers.of(bounds, question).known
    except _EndedError as error:
        ended = _explained(error, policy.origin, bounds, "while it was loaded")
        line = "".join(getattr(ended, "__notes__", []))
        raise ConfigError(f"the policy {policy.name} {ended}", file=policy.origin, key=line) from None
    except _NonsenseError as error:
        raise ConfigError(f"the policy {policy.name} cannot be loaded: {error}", file=policy.origin) from None


def call(question: PolicyFile, bounds: WorkerLimits, function: str, arguments: tuple[Any, ...], where: str) -> Any:
    """The answer of a function of the file to arguments that were packed; raises what the function raises.

    A call that takes more than the bounds raises TimeoutError or MemoryError with its line; ``where`` says in it
    what the call was about.
    """
    try:
        answer = _workers.of(bounds, question).ask("ask", 0, function, arguments)
    except _EndedError as error:
        raise _explained(error, question.policy.origin, bounds, where) from None
    except RaisedError as error:
        if error.raised == "MemoryError":
            error.args = (error.raised, f"{error} {where}")
        raise
    try:
        return CONTRACTS[question.kind].opened(function, answer)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _NonsenseError("it answered something that no policy answers") from None


def _explained(ended: _EndedError, origin: str, bounds: WorkerLimits, where: str) -> Exception:
    error: Exception
    if ended.status == -signal.SIGPROF:
        error = TimeoutError(f"took more than {bounds.time_s:g} s on a processor {where}")
    else:
        bound = f"the bound is {show_bytes(bounds.memory_bytes)}"
        error = MemoryError(f"needs more memory than there is ({bound}; status {ended.status}) {where}")
    for match in _LINE.finditer(ended.words):
        if match["file"] == origin:
            error.add_note(f"line {match['line']}")
            break
    return error
