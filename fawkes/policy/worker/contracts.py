"""Contracts of the kinds of files that answer in workers: how each is compiled, and how questions and answers travel.

A question comes from us and is pickled. An answer comes from a process that ran somebody else's code: it is JSON, and
is read as data alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import Any

from fawkes.base.errors import cut
from fawkes.core.fairness.weights import MINIMUM, Minimum, plain_copy
from fawkes.core.preemption.values import Choice
from fawkes.core.quota.values import Portion
from fawkes.core.state.admitting import Verdict
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import Plain, Sample
from fawkes.core.values.settings import Settings
from fawkes.core.values.window import Window
from fawkes.policy import compile_policy
from fawkes.policy.admission import compile_admission
from fawkes.policy.preemption import compile_preemption
from fawkes.policy.quota import compile_quota

_LONGEST = 200
#: of an object in memory: another one in every process
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_SAMPLED = tuple(field.name for field in fields(Sample))
#: half the time of a question would go into pickling samples as objects
_values = attrgetter(*_SAMPLED)

Functions = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class Contract:
    """A kind of file: ``compiled`` and ``sealed`` run in the worker, ``opened`` at the asker's.

    ``compiled`` gives the functions of a file by name, and what it says of itself (ConfigError when it is none of this
    kind). ``unpacked`` gives the arguments of a question, ``sealed`` an answer as plain data. ``opened`` gives the
    answer behind plain data (ValueError, TypeError or KeyError when it is none).
    """

    compiled: Callable[[PolicyText, dict[str, Any]], tuple[Functions, Plain]]
    unpacked: Callable[..., tuple[Any, ...]]
    sealed: Callable[[str, Any], Plain]
    opened: Callable[[str, Any], Any]


class Shown:
    """A value of a policy that no answer can be: known by what it looks like."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _shown(value: object) -> str:
    """The look of a policy's value that no answer can be, the same in every process."""
    return cut(without_addresses(repr(value)), _LONGEST)


def without_addresses(text: str) -> str:
    """The text of an error without the places of objects in memory: a replay would differ in them."""
    return _ADDRESS.sub("", text)


def packed(window: Window, memory: Plain) -> tuple[Any, ...]:
    """The question of a weighting policy, as it travels."""
    before = None if window.before is None else _values(window.before)
    return window.cluster, [_values(sample) for sample in window.samples], before, memory


def _window(cluster: Any, samples: Any, before: Any, memory: Plain) -> tuple[Window, Plain]:
    return Window(cluster, tuple(map(_sample, samples)), None if before is None else _sample(before)), memory


def _sample(values: tuple[Any, ...]) -> Sample:
    return Sample(**dict(zip(_SAMPLED, values, strict=True)))


def _sealed(_function: str, answer: tuple[Any, Plain]) -> Plain:
    y, memory = answer
    kept = None if memory is None else plain_copy(memory)
    if y is None:
        return ["unknown", None, kept]
    if isinstance(y, Minimum):
        return ["minimum", None, kept]
    if isinstance(y, int | float) and not isinstance(y, bool):
        return ["number", y, kept]
    return ["other", _shown(y), kept]


def _opened(_function: str, plain: Any) -> tuple[Any, Plain]:
    kind, value, memory = plain
    match kind:
        case "unknown":
            return None, memory
        case "minimum":
            return MINIMUM, memory
        case "number" if isinstance(value, int | float):
            return value, memory
        case "other":
            return Shown(cut(str(value), _LONGEST)), memory
    raise ValueError(f"{kind!r} is no kind of answer")


def _weighting(policy: PolicyText, parameters: dict[str, Any]) -> tuple[Functions, Plain]:
    return {"measure": compile_policy(policy, Settings(policy_parameters=parameters))}, None


def _admission(policy: PolicyText, parameters: dict[str, Any]) -> tuple[Functions, Plain]:
    admission = compile_admission(policy, parameters)
    return {"admit": admission.admit, "learn": admission.learn, "late": admission.late}, admission.needs_work


def _sealed_admission(function: str, answer: Any) -> Plain:
    if function == "admit":
        if not isinstance(answer, list | tuple):
            return _shown(answer)
        return [_sealed_verdict(each) for each in answer]
    return plain_copy(answer)


def _sealed_verdict(verdict: object) -> Plain:
    if not isinstance(verdict, Verdict):
        return _shown(verdict)
    values = (verdict.job, verdict.cpus, verdict.drop, verdict.asked)
    return [each if isinstance(each, str | int) else _shown(each) for each in values] + [
        {
            str(name): value if isinstance(value, str | int | float) else _shown(value)
            for name, value in verdict.why.items()
        }
    ]


def _opened_admission(function: str, plain: Any) -> Any:
    if function != "admit":
        return plain
    return [_opened_verdict(each) for each in plain] if isinstance(plain, list) else Shown(cut(str(plain), _LONGEST))


def _opened_verdict(plain: Any) -> Any:
    if isinstance(plain, str):
        return Shown(cut(plain, _LONGEST))
    job, cpus, drop, wanted, why = plain
    if not isinstance(job, str) or not isinstance(drop, bool) or not isinstance(why, dict):
        raise ValueError("is no verdict")
    return Verdict(job, cpus=cpus, drop=drop, asked=wanted, why=why)


def _quota(policy: PolicyText, _parameters: dict[str, Any]) -> tuple[Functions, Plain]:
    return {"divide": compile_quota(policy)}, None


def _sealed_list(seal: Callable[[object], Plain], _function: str, answer: Any) -> Plain:
    return [seal(each) for each in answer] if isinstance(answer, list | tuple) else _shown(answer)


def _opened_list(form: Callable[..., object], _function: str, plain: Any) -> Any:
    if isinstance(plain, str):
        return Shown(plain)
    return [Shown(each) if isinstance(each, str) else form(*each) for each in plain]


def _sealed_portion(portion: object) -> Plain:
    if not isinstance(portion, Portion):
        return _shown(portion)
    values = (portion.first, portion.weight, portion.most)
    return [each if each is None or isinstance(each, int | float) else _shown(each) for each in values]


def _preemption(policy: PolicyText, _parameters: dict[str, Any]) -> tuple[Functions, Plain]:
    return {"preempt": compile_preemption(policy)}, None


def _sealed_choice(choice: object) -> Plain:
    if not isinstance(choice, Choice):
        return _shown(choice)
    times = (choice.below_s, choice.first)
    action = choice.action if isinstance(choice.action, str) else _shown(choice.action)
    return [action] + [each if each is None or isinstance(each, int | float) else _shown(each) for each in times]


WEIGHTING, ADMISSION, QUOTA, PREEMPTION = "weighting", "admission", "quota", "preemption"
CONTRACTS: Mapping[str, Contract] = {
    WEIGHTING: Contract(
        compiled=_weighting,
        unpacked=_window,
        sealed=_sealed,
        opened=_opened,
    ),
    ADMISSION: Contract(
        compiled=_admission,
        unpacked=lambda what, memory: (what, memory),
        sealed=_sealed_admission,
        opened=_opened_admission,
    ),
    QUOTA: Contract(
        compiled=_quota,
        unpacked=lambda claims: (claims,),
        sealed=partial(_sealed_list, _sealed_portion),
        opened=partial(_opened_list, Portion),
    ),
    PREEMPTION: Contract(
        compiled=_preemption,
        unpacked=lambda victims: (victims,),
        sealed=partial(_sealed_list, _sealed_choice),
        opened=partial(_opened_list, Choice),
    ),
}
"""All kinds by name."""
