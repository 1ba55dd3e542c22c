"""The process in which policies answer: ``python -m fawkes.offline.answering MEMORY_BYTES SECONDS``.

It reads questions from standard input until its end and writes an answer for each. Its memory is limited. A call that
takes more time on a processor ends the process, which writes the lines at which the call stood to standard error: no
code of Python could do that while a single step lasts.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import resource
import signal
import struct
import sys
from dataclasses import fields
from typing import Any, BinaryIO

from fawkes.admission import compile_admission
from fawkes.core.admitting import Admission, Queue
from fawkes.core.model import Sample
from fawkes.core.weights import Measure
from fawkes.core.window import Window
from fawkes.errors import ConfigError, cut
from fawkes.policy import compile_policy
from fawkes.units import show_bytes, show_time

SAMPLED = tuple(field.name for field in fields(Sample))
"""The order in which the values of a sample come."""
HEADER = struct.Struct("!Q")
MOST_ANSWER_BYTES = 16 * 1024 * 1024
"""Of one answer with what the policy remembers: more would make the ledger as large at each tick."""
_LONGEST = 1000


def write(to: BinaryIO, value: object) -> None:
    """A value with its length before it."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    to.write(HEADER.pack(len(data)) + data)
    to.flush()


def read(source: BinaryIO) -> Any:
    """The next value; EOFError when there is none any more."""
    head = source.read(HEADER.size)
    if len(head) < HEADER.size:
        raise EOFError
    data = source.read(HEADER.unpack(head)[0])
    return pickle.loads(data)  # noqa: S301 - from our own process


def named(window: Window) -> str:
    """The window of a question, for an error."""
    first, last = show_time(window.samples[0].at_us), show_time(window.samples[-1].at_us)
    return f"for the window of {len(window.samples)} samples of {window.cluster} from {first} to {last}"


def asked(function: str, what: object) -> str:
    """The question to an admission policy, for an error."""
    about = f"a queue of {len(what.jobs)} jobs" if isinstance(what, Queue) else "a job"
    return f"in {function}() about {about}"


def main(memory_bytes: int, time_s: float) -> None:
    """Answer until there is no further question."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The line is written by the handler itself, which then lets the signal end the process.
    faulthandler.register(signal.SIGPROF, file=sys.stderr, all_threads=False, chain=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most, allowed = _own_bytes() + memory_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]
    most = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    measures: dict[int, Measure] = {}
    admissions: dict[int, Admission] = {}
    while True:
        try:
            question = read(questions)
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, time_s)
        try:
            answer = _answer(measures, admissions, question, memory_bytes)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(HEADER.pack(len(answer)) + answer)
        answers.flush()


def _own_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as figures:
        return int(figures.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _sample(values: tuple[Any, ...]) -> Sample:
    return Sample(**dict(zip(SAMPLED, values, strict=True)))


def _answer(
    measures: dict[int, Measure], admissions: dict[int, Admission], question: tuple[Any, ...], memory_bytes: int
) -> bytes:
    kind, key, *values = question
    where = ""
    try:
        if kind == "load":
            measures[key] = compile_policy(*values)
            return pickle.dumps(("loaded",))
        if kind == "load-admission":
            admissions[key] = compile_admission(*values)
            return pickle.dumps(("loaded", admissions[key].needs_work))
        if kind == "consult":
            function, what, memory = values
            where = f" {asked(function, what)}"
            return _within(pickle.dumps(("answered", getattr(admissions[key], function)(what, memory))))
        cluster, samples, before, memory = values
        window = Window(cluster, tuple(map(_sample, samples)), None if before is None else _sample(before))
        where = f" {named(window)}"
        return _within(pickle.dumps(("answered", measures[key](window, memory)), pickle.HIGHEST_PROTOCOL))
    except ConfigError as error:
        return pickle.dumps(("wrong", error.what, error.file, error.key, error.hint))
    except MemoryError as error:
        needed = f"needs more than {show_bytes(memory_bytes)}{where}"
        return pickle.dumps(("raised", "MemoryError", needed, getattr(error, "__notes__", [])))
    except Exception as error:
        notes = getattr(error, "__notes__", [])
        return pickle.dumps(("raised", type(error).__name__, cut(str(error), _LONGEST), notes))


def _within(answer: bytes) -> bytes:
    if len(answer) > MOST_ANSWER_BYTES:
        raise ValueError(f"remembers {show_bytes(len(answer))}; the most is {show_bytes(MOST_ANSWER_BYTES)}")
    return answer


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
