"""Policies asked in a process of their own, so that one call can be ended that takes too much time or memory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, cast

import fawkes
from fawkes.admission import compile_admission
from fawkes.catalog import Kind, bundled_dir
from fawkes.core.admitting import Admission, Done, Job, Memory, Queue, Verdict
from fawkes.core.events import PolicyText
from fawkes.core.model import Plain
from fawkes.core.settings import Settings
from fawkes.core.weights import Measure, Minimum
from fawkes.core.window import Window
from fawkes.errors import ConfigError
from fawkes.offline.answering import SAMPLED, asked, named, read, write
from fawkes.units import show_bytes

#: half the time of a question would go into pickling samples as objects
_values = attrgetter(*SAMPLED)
_ROOT = str(Path(fawkes.__file__).resolve().parents[1])
_LINE = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+) in')


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one call of a policy may take: seconds on a processor, and bytes beyond what the interpreter has."""

    time_s: float = 10.0
    memory_bytes: int = 10**9


USUAL = Bounds()
"""Those of a scenario that gives none."""


class _Answering:
    """The process that answers within some bounds, and the policies that it knows already.

    It is ``broken`` while a question has no answer: one that comes later would be taken for that of the next question.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.broken = False
        self._known: dict[object, int] = {}
        self._admissions: dict[object, tuple[int, bool]] = {}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            # Not with the working folder among its paths: a user's statistics.py would stand for Python's own.
            [sys.executable, "-P", "-m", "fawkes.offline.answering", str(bounds.memory_bytes), str(bounds.time_s)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )

    def load(self, key: object, policy: PolicyText, settings: Settings) -> None:
        """Make a policy known; ConfigError when it is none."""
        if key not in self._known:
            self._ask("load", len(self._known), policy, settings)
            self._known[key] = len(self._known)

    def load_admission(self, key: object, policy: PolicyText, parameters: Mapping[str, Plain]) -> bool:
        """Make an admission policy known; whether it must know the work of jobs. ConfigError when it is none."""
        if key not in self._admissions:
            number = len(self._admissions)
            self._admissions[key] = number, self._ask("load-admission", number, policy, dict(parameters))
        return self._admissions[key][1]

    def consult(self, key: object, function: str, what: object, memory: Memory) -> Any:
        """What a function of a known admission policy answers; raises what it raises."""
        return self._ask("consult", self._admissions[key][0], function, what, memory)

    def answer(self, key: object, window: Window, memory: Plain) -> tuple[float | Minimum | None, Plain]:
        """What a known policy answers; raises what it raises."""
        samples = [_values(sample) for sample in window.samples]
        before = None if window.before is None else _values(window.before)
        number = self._known[key]
        answer: tuple[float | Minimum | None, Plain] = self._ask("ask", number, window.cluster, samples, before, memory)
        return answer

    def _ask(self, *question: object) -> Any:
        self.broken = True
        try:
            write(cast(BinaryIO, self._process.stdin), question)
            kind, *values = read(cast(BinaryIO, self._process.stdout))
        except (EOFError, OSError):
            raise _EndedError(self._process.wait(), self._last_words()) from None
        self.broken = False
        if kind == "wrong":
            what, file, key, hint = values
            raise ConfigError(what, file=file, key=key, hint=hint)
        if kind == "raised":
            name, what, notes = values
            error: Exception = type(name, (Exception,), {})(what)
            for note in notes:
                error.add_note(note)
            raise error
        return values[0] if values else None

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

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


class _Processes(threading.local):
    """The processes of this thread by their bounds: two threads would take each other's answers."""

    def __init__(self) -> None:
        self.by_bounds: dict[Bounds, _Answering] = {}

    def of(self, bounds: Bounds) -> _Answering:
        """The one that answers, started when there is none that could."""
        found = self.by_bounds.get(bounds)
        if found is None or found.broken:
            if found is not None:
                found.close()
            found = self.by_bounds[bounds] = _Answering(bounds)
        return found


_processes = _Processes()


def bounded(bounds: Bounds) -> Callable[[PolicyText, Settings], Measure]:
    """Makes policies callable as `fawkes.policy.compile_policy` does, with the same answers, within bounds.

    A call that takes more raises TimeoutError or MemoryError with the line of the policy, and names the window.
    """

    def load(policy: PolicyText, settings: Settings) -> Measure:
        key = (policy.sha256, policy.origin, tuple(sorted(settings.policy_parameters.items())))

        def measure(window: Window, memory: Plain) -> tuple[float | Minimum | None, Plain]:
            process = _processes.of(bounds)
            try:
                process.load(key, policy, settings)
                return process.answer(key, window, memory)
            except _EndedError as error:
                raise _explained(error, policy.origin, bounds, named(window)) from None

        try:
            _processes.of(bounds).load(key, policy, settings)
        except _EndedError as error:
            raise _not_loaded(error, policy, bounds) from None
        return measure

    return load


@dataclass(frozen=True, slots=True)
class _Consulted:
    """An `Admission` that answers in the process of its bounds."""

    policy: PolicyText
    parameters: Mapping[str, Plain]
    bounds: Bounds
    needs_work: bool = False

    def admit(self, queue: Queue, memory: Memory) -> Sequence[Verdict]:
        return self._ask("admit", queue, memory)  # type: ignore[no-any-return]

    def learn(self, done: Done, memory: Memory) -> Memory:
        return self._ask("learn", done, memory)

    def late(self, job: Job, memory: Memory) -> bool:
        return bool(self._ask("late", job, memory))

    def _ask(self, function: str, what: Queue | Done | Job, memory: Memory) -> Any:
        process = _processes.of(self.bounds)
        try:
            process.load_admission(self.key, self.policy, self.parameters)
            return process.consult(self.key, function, what, memory)
        except _EndedError as error:
            raise _explained(error, self.policy.origin, self.bounds, asked(function, what)) from None

    @property
    def key(self) -> object:
        """By what the process knows it."""
        return self.policy.sha256, self.policy.origin, repr(sorted(self.parameters.items()))


def bounded_admission(bounds: Bounds) -> Callable[[PolicyText, Mapping[str, Plain]], Admission]:
    """Makes admission policies callable as `fawkes.admission.compile_admission` does, with the same answers.

    Those that came with Fawkes answer in this process, all others within bounds, as weighting policies do.
    """

    def load(policy: PolicyText, parameters: Mapping[str, Plain]) -> Admission:
        if Path(policy.origin).resolve().parent == (bundled_dir(Kind.ADMISSION) / Kind.ADMISSION.value).resolve():
            return compile_admission(policy, parameters)
        found = _Consulted(policy, parameters, bounds)
        try:
            needs_work = _processes.of(bounds).load_admission(found.key, policy, parameters)
        except _EndedError as error:
            raise _not_loaded(error, policy, bounds) from None
        return _Consulted(policy, parameters, bounds, needs_work)

    return load


def _not_loaded(ended: _EndedError, policy: PolicyText, bounds: Bounds) -> ConfigError:
    error = _explained(ended, policy.origin, bounds, "while it was loaded")
    line = "".join(getattr(error, "__notes__", []))
    return ConfigError(f"the policy {policy.name} {error}", file=policy.origin, key=line)


def _explained(ended: _EndedError, origin: str, bounds: Bounds, where: str) -> Exception:
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
