"""Policies as engines call them: ours in this process, all others in workers without rights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.base.units import show_time
from fawkes.core.fairness.weights import Measure
from fawkes.core.preemption.values import Choose
from fawkes.core.quota.values import Divide
from fawkes.core.state.admitting import Admission, Done, Job, Memory, Queue, Verdict
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import Plain
from fawkes.core.values.settings import Settings
from fawkes.core.values.window import Window
from fawkes.policy import compile_policy, parameters_in, policy_text, probe
from fawkes.policy.admission import compile_admission
from fawkes.policy.preemption import compile_preemption
from fawkes.policy.quota import compile_quota
from fawkes.policy.worker.asking import USUAL, PolicyFile, WorkerLimits, call, load
from fawkes.policy.worker.contracts import ADMISSION, PREEMPTION, QUOTA, WEIGHTING, packed

__all__ = [
    "admission_loader",
    "is_own",
    "load_admission",
    "load_preemption",
    "load_quota",
    "load_weighting",
    "loader",
    "parameters_in",
    "policy_text",
    "probe",
]


def is_own(text: str) -> bool:
    """True if a text is, byte for byte, that of a policy that came with this Fawkes."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest() in _own()


@cache
def _own() -> frozenset[bytes]:
    folder = bundled_dir(Kind.POLICY) / Kind.POLICY.value
    return frozenset(hashlib.sha256(path.read_bytes()).digest() for path in folder.rglob("*.py"))


def loader(bounds: WorkerLimits) -> Callable[[PolicyText, Settings], Measure]:
    """Makes policies callable, within bounds for those that did not come with Fawkes.

    The answers are the same on both ways. A call that takes more than the bounds raises TimeoutError or MemoryError
    with the line of the policy, and names the window.
    """

    def load_within(policy: PolicyText, settings: Settings) -> Measure:
        if is_own(policy.text):
            return compile_policy(policy, settings, own=True)
        question = PolicyFile(WEIGHTING, policy, settings.policy_parameters)
        load(question, bounds)

        def measure(window: Window, memory: Plain) -> tuple[Any, Plain]:
            answer: tuple[Any, Plain] = call(question, bounds, "measure", packed(window, memory), _named(window))
            return answer

        return measure

    return load_within


load_weighting = loader(USUAL)
"""The policy of a stored text, for a controller and for everybody who decides a ledger again.

ConfigError names file and line of what is wrong with the text."""


@dataclass(frozen=True)
class _Apart:
    """An admission policy that answers in a worker."""

    question: PolicyFile
    bounds: WorkerLimits
    needs_work: bool

    def admit(self, queue: Queue, memory: Memory) -> Sequence[Verdict]:
        verdicts: Sequence[Verdict] = self._call("admit", queue, memory, f"for a queue of {len(queue.jobs)} jobs")
        return verdicts

    def learn(self, done: Done, memory: Memory) -> Memory:
        return self._call("learn", done, memory, f"for a job of {done.tasks} tasks that has ended")

    def late(self, job: Job, memory: Memory) -> bool:
        answer: bool = self._call("late", job, memory, f"for the job {job.id}, which is late")
        return answer

    def _call(self, function: str, what: object, memory: Memory, where: str) -> Any:
        return call(self.question, self.bounds, function, (what, memory), where)


def admission_loader(bounds: WorkerLimits) -> Callable[[PolicyText, Mapping[str, Plain]], Admission]:
    """Makes admission policies callable as `loader` does weighting policies."""

    def load_within(policy: PolicyText, parameters: Mapping[str, Plain]) -> Admission:
        if is_own(policy.text):
            return compile_admission(policy, parameters, own=True)
        question = PolicyFile(ADMISSION, policy, parameters)
        return _Apart(question, bounds, bool(load(question, bounds)))

    return load_within


load_admission = admission_loader(USUAL)
"""The admission policy of a stored text; as `load_weighting`."""


def load_quota(policy: PolicyText, bounds: WorkerLimits = USUAL) -> Divide:
    """The quota policy of a text, made callable as `loader` does weighting policies."""
    if is_own(policy.text):
        return compile_quota(policy, own=True)
    return _apart(PolicyFile(QUOTA, policy, {}), bounds, "divide", "claims")


def load_preemption(policy: PolicyText, bounds: WorkerLimits = USUAL) -> Choose:
    """The preemption policy of a text, made callable as `loader` does weighting policies."""
    if is_own(policy.text):
        return compile_preemption(policy, own=True)
    return _apart(PolicyFile(PREEMPTION, policy, {}), bounds, "preempt", "victims")


def _apart(question: PolicyFile, bounds: WorkerLimits, function: str, noun: str) -> Callable[[Sequence[Any]], Any]:
    """A policy of one function on a list, which answers in a worker."""
    load(question, bounds)
    return lambda values: call(question, bounds, function, (values,), f"for {len(values)} {noun}")


def _named(window: Window) -> str:
    """The window of a question, for an error."""
    first, last = show_time(window.samples[0].at_us), show_time(window.samples[-1].at_us)
    return f"for the window of {len(window.samples)} samples of {window.cluster} from {first} to {last}"
