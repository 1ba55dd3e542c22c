"""All that a file in `policies/` may import, and how such a file becomes a policy.

Files in `policies/admission/`, `policies/quota/` and `policies/preemption/` are described in `fawkes.policy.admission`,
`fawkes.policy.quota` and `fawkes.policy.preemption`. A file in `policies/weighting/` has a
docstring, a ``NAME`` and ``measure(window, ...)``, which answers y_i of eq. 4 for one MR-cluster: a finite number of at
least 0, `MINIMUM` (it stays at its minimum), or None (cannot tell: it stays as it is). Keyword parameters with defaults
can be set by the site (``policy_parameters``). A policy that needs memory takes ``memory`` as its second parameter,
None at first, and returns ``(y, memory)`` with the memory as plain data.

What a text may not say is checked here, for people's mistakes and for the same answers everywhere. It keeps nobody
out: a policy that did not come with Fawkes runs in a process without rights (`fawkes.policy.worker`).
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import math
import statistics
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, cast

from fawkes.base.errors import ConfigError
from fawkes.core.fairness.weights import MINIMUM, Measure, Minimum, in_words, measure_all
from fawkes.core.preemption.values import Choice, Victim
from fawkes.core.quota.values import Claim, Portion
from fawkes.core.state.admitting import (
    Ask,
    Done,
    Job,
    Memory,
    Queue,
    Verdict,
    by_request,
    fill,
    max_cpus,
    queue_factor,
    whole_cpus,
)
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import ClusterId, Plain, Sample
from fawkes.core.values.settings import Settings
from fawkes.core.values.window import Window

__all__ = [
    "MINIMUM",
    "Ask",
    "Choice",
    "Claim",
    "Done",
    "Job",
    "Loaded",
    "Memory",
    "Minimum",
    "Portion",
    "Queue",
    "Sample",
    "Verdict",
    "Victim",
    "Window",
    "by_request",
    "compile_policy",
    "fill",
    "load_policy",
    "max_cpus",
    "parameters_in",
    "policy_text",
    "probe",
    "queue_factor",
    "whole_cpus",
]

#: how many steps of the interpreter a policy may take for one answer; more is taken for an endless loop
MOST_STEPS = 200_000
#: the builtins that a policy may use. Not among them: what reads or writes anything, what differs from one process to
#: the next (hash, id), and iter(), with which a single call can last for ever
_BUILTINS = (
    abs, all, any, bool, callable, dict, divmod, enumerate, filter, float, frozenset, int, isinstance, len, list,
    map, max, min, next, pow, range, repr, reversed, round, set, sorted, str, sum, tuple, zip,
    ArithmeticError, AssertionError, Exception, IndexError, KeyError, LookupError, OverflowError, RuntimeError,
    StopIteration, TypeError, ValueError, ZeroDivisionError,
)  # fmt: skip
_GIVEN = {each.__name__: each for each in _BUILTINS}
#: what a policy may import, and what it finds there
_MODULES = {
    "fawkes.policy": SimpleNamespace(
        MINIMUM=MINIMUM,
        Ask=Ask,
        Choice=Choice,
        Claim=Claim,
        Done=Done,
        Job=Job,
        Minimum=Minimum,
        Memory=Memory,
        Portion=Portion,
        Queue=Queue,
        Sample=Sample,
        Verdict=Verdict,
        Victim=Victim,
        Window=Window,
        by_request=by_request,
        fill=fill,
        max_cpus=max_cpus,
        queue_factor=queue_factor,
        whole_cpus=whole_cpus,
    ),
    "math": SimpleNamespace(**{name: each for name, each in vars(math).items() if not name.startswith("_")}),
    "statistics": SimpleNamespace(
        **{name: getattr(statistics, name) for name in statistics.__all__ if name != "NormalDist"}
    ),
    "__future__": SimpleNamespace(annotations=None),
}


class _Endless(BaseException):
    """Too many steps were taken; no Exception, so that a policy cannot catch it and go on."""


def policy_text(name: str, origin: str, text: str) -> PolicyText:
    """A policy as the ledger stores it."""
    return PolicyText(name, origin, text, hashlib.sha256(text.encode()).hexdigest())


def compile_policy(policy: PolicyText, settings: Settings, *, own: bool = False) -> Measure:
    """The policy of a file's text, with the site's parameters, in this process: in a worker, or ``own``.

    ConfigError names the file and the line for a syntax error, an import or a name that is not allowed, a missing
    ``NAME`` or ``measure``, and an unknown parameter.
    """
    loaded = load_policy(policy, ("measure",), 'A policy has NAME = "..." and def measure(window): ...', own=own)
    measure = loaded.functions["measure"]
    return _call(loaded, measure, _parameters(policy, measure, settings.policy_parameters))


@dataclass(frozen=True)
class Loaded:
    """The checked text of a policy file. ``values`` and ``functions`` are what it defines, to be looked at alone.

    ``own``: it came with Fawkes, keeps nothing in its globals, and needs no count of its steps.
    """

    policy: PolicyText
    code: CodeType
    values: Mapping[str, Any]
    functions: Mapping[str, Callable[..., Any]]
    own: bool = False

    def call(self, function: str, given: tuple[Any, ...], named: Mapping[str, Any], more_steps: int = 0) -> Any:
        """The answer of a function of the file, called in a fresh module.

        Whatever it raises has a note with its line; TimeoutError when it takes more than `MOST_STEPS` steps and those.
        """
        try:
            if self.own:
                return self.functions[function](*given, **named)
            with _bounded(self.policy.origin, MOST_STEPS + more_steps):
                return _module(self.policy, self.code)[function](*given, **named)
        except Exception as error:
            _note_line(error, error, self.policy.origin)
            raise


def load_policy(policy: PolicyText, functions: tuple[str, ...], example: str, *, own: bool = False) -> Loaded:
    """The file behind a text, checked; ConfigError names the line, or what it lacks, with an ``example``."""
    tree = _parse(policy)
    _check(policy, tree)
    code = compile(tree, policy.origin, "exec")
    try:
        with _bounded(policy.origin):
            module = _module(policy, code)
    except Exception as error:
        _note_line(error, error, policy.origin)
        what = f"the policy cannot be loaded: {type(error).__name__}: {error}"
        raise ConfigError(what, file=policy.origin, key="".join(getattr(error, "__notes__", [])[:1])) from error
    defined = {name: module[name] for name in functions if callable(module.get(name))}
    if len(defined) < len(functions) or not isinstance(module.get("NAME"), str):
        raise ConfigError("this file is not a policy", file=policy.origin, hint=example)
    return Loaded(policy, code, module, defined, own)


def _module(policy: PolicyText, code: CodeType) -> dict[str, Any]:
    """The definitions of the file, made anew: nothing that a policy kept in its globals is there the next time."""
    given = {"__import__": _import, "__build_class__": builtins.__build_class__}
    module: dict[str, Any] = {"__name__": f"fawkes_policy_{policy.name}", "__builtins__": {**_GIVEN, **given}}
    exec(code, module)  # noqa: S102 - the one place where a policy file runs
    return module


def _import(name: str, *_: object) -> SimpleNamespace:
    return _MODULES[name]


def _parse(policy: PolicyText) -> ast.Module:
    try:
        return ast.parse(policy.text, policy.origin)
    except SyntaxError as error:
        raise ConfigError(f"{error.msg}", file=policy.origin, key=f"line {error.lineno}") from error


def _check(policy: PolicyText, tree: ast.Module) -> None:
    for node in ast.walk(tree):
        wrong = _forbidden(node)
        if wrong:
            what, hint = wrong
            raise ConfigError(what, file=policy.origin, key=f"line {cast(ast.expr, node).lineno}", hint=hint)


_NUMBER_ONLY = "A policy computes a number from its window and nothing else."
_IMPORTS = "A policy may import math, statistics, and from fawkes.policy: " + ", ".join(vars(_MODULES["fawkes.policy"]))


def _forbidden(node: ast.AST) -> tuple[str, str] | None:
    """The forbidden part of a policy's syntax node, and what is allowed instead; None when nothing is forbidden."""
    match node:
        case ast.Import(names=names):
            bad = [alias.name for alias in names if alias.name not in ("math", "statistics")]
            return (f"imports {bad[0]!r}", _IMPORTS) if bad else None
        case ast.ImportFrom(module=module, names=names):
            allowed = vars(_MODULES.get(module or "", SimpleNamespace()))
            bad = [f"{module or '.'}.{alias.name}" for alias in names if alias.name not in allowed]
            return (f"imports {bad[0]!r}", _IMPORTS) if bad else None
        case ast.Name(id=name) if name.startswith("__") or (hasattr(builtins, name) and name not in _GIVEN):
            return f"uses {name!r}", _NUMBER_ONLY
        case ast.Attribute(attr=name) if name.startswith("__"):
            return f"uses {name!r}", _NUMBER_ONLY
        case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
            return f"changes {name!r} of something", "A policy remembers values only in its parameter `memory`."
        case ast.ExceptHandler(type=None):
            return "catches everything", "Name the exceptions; otherwise an endless loop could not be stopped."
        case ast.Try(finalbody=[_, *_]):
            return "has a `finally`", "An endless loop inside it could not be stopped."
    return None


def settable(policy: PolicyText, function: Callable[..., Any]) -> list[str]:
    """The parameters of a function that a site can set; ConfigError when its ``memory`` would get something else."""
    parameters = inspect.signature(function).parameters
    if "memory" in parameters and [*parameters].index("memory") != 1:
        hint = "Write it directly after the first one: the memory is given to the second parameter"
        raise ConfigError("`memory` is not the second parameter", file=policy.origin, key=function.__name__, hint=hint)
    return [name for name, each in parameters.items() if name != "memory" and each.default is not each.empty]


def _parameters(
    policy: PolicyText, measure: Callable[..., Any], given: Mapping[str, int | float]
) -> dict[str, int | float]:
    known = settable(policy, measure)
    for name in given:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ConfigError(
                f"policy {policy.name} has no parameter {name!r}",
                file=policy.origin,
                key=f"policy_parameters.{name}",
                hint=f"It has: {listed}.",
            )
    return dict(given)


def _call(loaded: Loaded, measure: Callable[..., Any], parameters: dict[str, int | float]) -> Measure:
    remembers = "memory" in inspect.signature(measure).parameters

    def ask(window: Window, memory: Plain) -> tuple[float | Minimum | None, Plain]:
        if remembers:
            answer, kept = loaded.call("measure", (window, memory), parameters)
            return answer, kept
        return loaded.call("measure", (window,), parameters), None

    return ask


def _note_line(error: Exception, raised: BaseException, origin: str) -> None:
    """Add a note to an error: the innermost line of the policy's file that ``raised`` came through, if there is one."""
    frames = traceback.extract_tb(raised.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == origin), None)
    if line:
        error.add_note(f"line {line}")


@contextmanager
def _bounded(origin: str, most_steps: int = MOST_STEPS) -> Iterator[None]:
    """Stop a policy that takes too many steps: counted, not timed, so that a replay stops at the same step.

    TimeoutError then, with a note that names the line. Steps, because ``while True: pass`` executes no second line.
    """
    left = most_steps

    def count(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        nonlocal left
        if event == "call":
            if frame.f_code.co_filename != origin:
                return None
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        left -= 1
        if left < 0:
            raise _Endless
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    except _Endless as endless:
        error = TimeoutError(f"more than {most_steps} steps for one answer")
        _note_line(error, endless, origin)
        raise error from None
    finally:
        sys.settrace(before)


def try_out(answer: Callable[[Any], object], questions: Iterable[Any], origin: str) -> None:
    """Ask a policy a few questions before it is trusted; ConfigError with what it raises."""
    for question in questions:
        try:
            answer(question)
        except Exception as error:
            raise ConfigError(f"this policy fails: {in_words(error)}", file=origin) from error


def probe(measure: Measure, origin: str) -> None:
    """Ask a policy about a few windows before it is trusted; ConfigError when it raises or answers nonsense."""
    idle = Sample(
        at_us=0,
        jobs_waiting=0,
        jobs_running=0,
        tasks_waiting=0,
        tasks_running=0,
        bytes_waiting=0,
        slots_used=0,
        slots_total=8,
        output_bytes=0,
        storage_bytes=10**12,
        jobs_done=0,
        tasks_done=0,
        job_slowdown=0.0,
    )
    busy = Sample(
        at_us=1,
        jobs_waiting=3,
        jobs_running=2,
        tasks_waiting=300,
        tasks_running=8,
        bytes_waiting=10**11,
        slots_used=8,
        slots_total=8,
        output_bytes=10**10,
        storage_bytes=10**12,
        jobs_done=7,
        tasks_done=900,
        job_slowdown=2.5,
    )
    name = ClusterId("probe")
    windows = [Window(name, samples) for samples in ((idle,), (busy,), (idle, busy), (Sample(at_us=2),))]
    for window in (*windows, Window(name, (busy,), before=idle)):
        failed = measure_all(measure, {name: window}, {}).failed.removeprefix(f"{name}: ")
        if failed:
            raise ConfigError(
                f"the policy gave no usable answer: {failed}",
                file=origin,
                hint="It should answer a finite number of at least 0, MINIMUM or None.",
            )


@contextmanager
def parameters_in(file: str) -> Iterator[None]:
    """Errors about the site's parameters of a policy name the ``file`` that has them."""
    try:
        yield
    except ConfigError as error:
        if not error.key.startswith(("policy_parameters", "admission_parameters")):
            raise
        raise ConfigError(error.what, file=file, key=error.key, hint=error.hint) from None
