"""The way from a file in `policies/admission/` to an admission policy.

Such a file has a docstring, a ``NAME``, and three functions. ``admit(queue, memory)`` answers with verdicts on the jobs
of a queue. ``learn(done, memory)`` answers with what is remembered after a job has ended. ``late(job, memory)`` says
whether a job is ended when its deadline passes. Keyword parameters with defaults can be set by the site
(``admission_parameters``). The memory is None at first, then the plain data that ``learn`` returned. ``NEEDS_WORK =
True`` says that the policy must know the work of each job, which only offline runs can tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fawkes.base.errors import ConfigError
from fawkes.core.fairness.weights import in_words
from fawkes.core.state.admitting import Admission, Done, Job, Memory, Queue, Verdict, is_to_end
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import Plain
from fawkes.policy import Loaded, load_policy, settable

#: steps of the interpreter that a policy may take for each job of a queue, besides those for one answer
_STEPS_A_JOB = 2_000
_FUNCTIONS = ("admit", "learn", "late")
_EXAMPLE = 'An admission policy has NAME = "..." and def admit(queue, memory), learn(done, memory), late(job, memory).'
_DONE = Done(tasks=4, deadline_s=60.0, work_s=100.0, granted=2, total=8, met=True)


@dataclass(frozen=True)
class _Loaded:
    """An `Admission` from the text of a file; ``given`` are the parameters of each function."""

    module: Loaded
    needs_work: bool
    given: Mapping[str, Mapping[str, Plain]]

    def admit(self, queue: Queue, memory: Memory) -> Sequence[Verdict]:
        return self._call("admit", queue, memory, more_steps=_STEPS_A_JOB * len(queue.jobs))  # type: ignore[no-any-return]

    def learn(self, done: Done, memory: Memory) -> Memory:
        return self._call("learn", done, memory)

    def late(self, job: Job, memory: Memory) -> bool:
        return self._call("late", job, memory)  # type: ignore[no-any-return]

    def _call(self, function: str, what: object, memory: Memory, more_steps: int = 0) -> Any:
        return self.module.call(function, (what, memory), self.given[function], more_steps=more_steps)


def compile_admission(policy: PolicyText, parameters: Mapping[str, Plain], *, own: bool = False) -> Admission:
    """The admission policy of a file's text, with the site's parameters, in this process: in a worker, or ``own``.

    ConfigError names the file and the line for a syntax error, an import or a name that is not allowed, a missing
    ``NAME`` or function, an unknown parameter, and a policy that fails on a small queue.
    """
    module = load_policy(policy, _FUNCTIONS, _EXAMPLE, own=own)
    known = {name: settable(policy, module.functions[name]) for name in _FUNCTIONS}
    for name in parameters:
        if not any(name in names for names in known.values()):
            listed = ", ".join(sorted({each for names in known.values() for each in names})) or "none"
            raise ConfigError(
                f"policy {policy.name} has no parameter {name!r}",
                file=policy.origin,
                key=f"admission_parameters.{name}",
                hint=f"It has: {listed}.",
            )
    given = {
        function: {name: value for name, value in parameters.items() if name in names}
        for function, names in known.items()
    }
    admission = _Loaded(module, bool(module.values.get("NEEDS_WORK", False)), given)
    failed = _failure(admission)
    if failed:
        usual = _Loaded(module, admission.needs_work, {function: {} for function in _FUNCTIONS})
        key = "admission_parameters" if parameters and not _failure(usual) else ""
        # The error will name the file that has the parameters.
        failed += f" of {policy.origin}" if key and re.search(r", line \d+$", failed) else ""
        raise ConfigError(f"the policy {failed}", file=policy.origin, key=key)
    return admission


def _failure(admission: Admission) -> str:
    """The failure of the policy on a small queue before it is trusted; empty when it does not."""
    waiting = Job("probe-1", 4, 60.0, 0.0, work_s=100.0)
    running = Job("probe-2", 4, 60.0, 5.0, granted=2, work_s=100.0)
    memory: Memory = None
    try:
        for _ in range(3):
            admission.admit(Queue((waiting, running), total=8, free=6), memory)
            is_to_end(admission.late(running, memory))
            memory = admission.learn(_DONE, memory)
    except Exception as error:
        return f"raised {in_words(error)}"
    return ""
