"""Policies of a site, tried in a process of their own, which is ended when it takes too long."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection

from fawkes.admission import compile_admission
from fawkes.catalog import Found
from fawkes.core.events import PolicyText
from fawkes.core.settings import Settings
from fawkes.errors import ConfigError
from fawkes.policy import compile_policy, policy_text, probe

#: how long a policy may compute about a few windows before it is trusted: on a busy machine the clock says nothing
PROBE_CPU_S = 5.0
_PROBE_LIMIT_S = 120.0
_TOO_SLOW = "takes too long to answer"
_PARAMETERS = "admission_parameters"

Try = Callable[[PolicyText, Settings], None]
"""Compiles a policy and asks it for a few answers; ConfigError when these are of no use."""


def read_policy(found: Found, settings: Settings, *, probe_cpu_s: float = PROBE_CPU_S) -> PolicyText:
    """The weighting policy of a file, compiled and tried once."""
    text = policy_text(found.title, str(found.path), found.text())
    compile_policy(text, settings)
    wrong = _tried(_try_policy, text, settings, probe_cpu_s)
    if wrong is not None:
        hint = "The page `policies` says what a policy must answer"
        raise ConfigError(f"the policy {wrong[0]}", file=text.origin, hint=hint)
    return text


def read_admission(found: Found, settings: Settings, *, file: str, probe_cpu_s: float = PROBE_CPU_S) -> PolicyText:
    """The admission policy of a file, compiled and tried once; ``file`` has its parameters.

    ConfigError for a policy that must know the work of jobs, which is not known in a live pool.
    """
    text = policy_text(found.title, str(found.path), found.text())
    wrong = _tried(_try_admission, text, settings, probe_cpu_s)
    if wrong is not None:
        what, key, hint = wrong
        hint = hint or "The page `policies` says what a policy must answer"
        raise ConfigError(what, file=file if key.startswith(_PARAMETERS) else text.origin, key=key, hint=hint)
    if compile_admission(text, settings.admission_parameters).needs_work:
        raise ConfigError(
            f"{text.name} must know the work of each job beforehand, which is not known in a live pool",
            file=file,
            key="admission",
            hint="Choose another admission policy (`fawkes policies`); offline runs can use this one",
        )
    return text


def _try_policy(text: PolicyText, settings: Settings) -> None:
    probe(compile_policy(text, settings), text.origin)


def _try_admission(text: PolicyText, settings: Settings) -> None:
    compile_admission(text, settings.admission_parameters)


def _tried(attempt: Try, text: PolicyText, settings: Settings, cpu_s: float) -> tuple[str, str, str] | None:
    """What is wrong with a policy, the key of that, and what would be right; None for a good one."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(attempt, text, settings, theirs, cpu_s), daemon=True)
    process.start()
    theirs.close()
    wrong: tuple[str, str, str] | None = (_TOO_SLOW, "", "")
    try:
        if ours.poll(_PROBE_LIMIT_S):
            wrong = ours.recv()
    except EOFError:
        pass
    finally:
        process.kill()
    return wrong


def _answer(attempt: Try, text: PolicyText, settings: Settings, answer: Connection, cpu_s: float) -> None:
    """In the child: None for a good policy; the alarm ends a policy that computes for too long, and us."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        attempt(text, settings)
    except ConfigError as error:
        answer.send((error.what, error.key, error.hint))
    else:
        answer.send(None)
