"""The process in which files of users answer: ``python -m fawkes.policy.worker.answering MEMORY_BYTES SECONDS``.

It gives up its rights before it reads the first question, and then reads questions from standard input until its end
and writes an answer for each. A call that takes more time on a processor ends the process, which writes the lines at
which the call stood to standard error: no code of Python could do that while a single step lasts.
"""

from __future__ import annotations

import faulthandler
import json
import pickle
import signal
import struct
import sys
import unicodedata  # noqa: F401 - what a text with \N{...} needs could not be imported any more
from typing import Any, BinaryIO

from fawkes.base.errors import ConfigError, cut
from fawkes.base.units import show_bytes
from fawkes.policy.worker.contracts import CONTRACTS, Functions, without_addresses
from fawkes.policy.worker.rights import NoCageError, give_up

HEADER = struct.Struct("!Q")
MOST_ANSWER_BYTES = 16 * 1024 * 1024
"""The size of one answer with what the policy remembers: more would make the ledger as large at each tick."""
LONGEST = 1000
"""The most letters of one message."""
READY = b"ready"
"""The first message of a worker: it has no rights any more."""
_MOST_WORDS_BYTES = 1 << 16


def read(source: BinaryIO) -> Any:
    """The next question; EOFError when there is none any more."""
    head = source.read(HEADER.size)
    if len(head) < HEADER.size:
        raise EOFError
    return pickle.loads(source.read(HEADER.unpack(head)[0]))  # noqa: S301 - from the process that started this one


def main(memory_bytes: int, time_s: float) -> None:
    """Answer until there is no further question."""
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The line is written by the handler itself, which then lets the signal end the process.
    faulthandler.register(signal.SIGPROF, file=sys.stderr, all_threads=False, chain=True)
    try:
        give_up(memory_bytes, written_bytes=_MOST_WORDS_BYTES)
    except NoCageError as error:
        _write(answers, _encoded("refused", str(error)))
        return
    _write(answers, READY)
    known: dict[int, tuple[str, Functions]] = {}
    while True:
        try:
            question = read(questions)
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, time_s)
        try:
            answer = _answer(known, question, memory_bytes)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        _write(answers, answer)


def _write(to: BinaryIO, data: bytes) -> None:
    to.write(HEADER.pack(len(data)) + data)
    to.flush()


def _answer(known: dict[int, tuple[str, Functions]], question: tuple[Any, ...], memory_bytes: int) -> bytes:
    verb, key, *values = question
    try:
        if verb == "load":
            kind, text, parameters = values
            functions, said = CONTRACTS[kind].compiled(text, parameters)
            known[key] = kind, functions
            return _encoded("loaded", said)
        function, arguments = values
        kind, functions = known[key]
        contract = CONTRACTS[kind]
        answered = functions[function](*contract.unpacked(*arguments))
        answer = _encoded("answered", contract.sealed(function, answered))
        if len(answer) > MOST_ANSWER_BYTES:
            raise ValueError(f"remembers {show_bytes(len(answer))}; the most is {show_bytes(MOST_ANSWER_BYTES)}")
    except ConfigError as error:
        return _encoded("wrong", without_addresses(error.what), error.file, error.key, error.hint)
    except MemoryError as error:
        notes = getattr(error, "__notes__", [])
        return _encoded("raised", "MemoryError", f"needs more than {show_bytes(memory_bytes)}", notes)
    except Exception as error:
        what, *notes = (without_addresses(str(each)) for each in (error, *getattr(error, "__notes__", [])))
        return _encoded("raised", type(error).__name__, cut(what, LONGEST), notes)
    return answer


def _encoded(*values: object) -> bytes:
    return json.dumps(values).encode()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
