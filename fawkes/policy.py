"""All that a file in `policies/` may import, and how such a file becomes a policy.

A policy file has a docstring, a ``NAME`` and ``measure(window, ...)``, which answers y_i of eq. 4 for one MR-cluster: a
finite number of at least 0, `MINIMUM` (it stays at its minimum), or None (cannot tell: it stays as it is). Keyword
parameters with defaults can be set by the site (``policy_parameters``). A policy that needs memory takes ``memory`` as
its second parameter, None at first, and returns ``(y, memory)`` with the memory as plain data.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, cast

from fawkes.core.events import PolicyText
from fawkes.core.model import ClusterId, Plain, Sample
from fawkes.core.settings import Settings
from fawkes.core.weights import MINIMUM, Measure, Minimum
from fawkes.core.window import Window
from fawkes.errors import ConfigError

__all__ = ["MINIMUM", "Minimum", "Sample", "Window", "compile_policy", "policy_text", "probe"]

#: what a policy file may import
ALLOWED_IMPORTS = frozenset({"fawkes.policy", "math", "statistics", "__future__"})
#: how many lines of its own a policy may execute for one answer; more is taken for an endless loop
MOST_LINES = 100_000
_FORBIDDEN_NAMES = frozenset(
    {"open", "exec", "eval", "compile", "__import__", "globals", "input", "breakpoint", "setattr", "delattr", "vars"}
)


def policy_text(name: str, origin: str, text: str) -> PolicyText:
    """A policy as the ledger stores it."""
    return PolicyText(name, origin, text, hashlib.sha256(text.encode()).hexdigest())


def compile_policy(policy: PolicyText, settings: Settings) -> Measure:
    """The policy of a file's text, with the site's parameters.

    ConfigError names the file and the line for a syntax error, an import or a name that is not allowed, a missing
    ``NAME`` or ``measure``, and an unknown parameter.
    """
    tree = _parse(policy)
    _check(policy, tree)
    module: dict[str, Any] = {"__name__": f"fawkes_policy_{policy.name}"}
    try:
        exec(compile(tree, policy.origin, "exec"), module)  # noqa: S102 - the one place where a policy file runs
    except Exception as error:
        raise ConfigError(
            f"the policy cannot be loaded: {type(error).__name__}: {error}", file=policy.origin
        ) from error
    measure = module.get("measure")
    if not callable(measure) or not isinstance(module.get("NAME"), str):
        raise ConfigError(
            "no policy", file=policy.origin, hint='A policy has NAME = "..." and def measure(window): ...'
        )
    return _call(policy, measure, _parameters(policy, measure, settings.policy_parameters))


def _parse(policy: PolicyText) -> ast.Module:
    try:
        return ast.parse(policy.text, policy.origin)
    except SyntaxError as error:
        raise ConfigError(f"{error.msg}", file=policy.origin, key=f"line {error.lineno}") from error


def _check(policy: PolicyText, tree: ast.Module) -> None:
    allowed = ", ".join(sorted(ALLOWED_IMPORTS - {"__future__"}))
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "."]
        for name in names:
            if name not in ALLOWED_IMPORTS:
                raise ConfigError(
                    f"imports {name!r}",
                    file=policy.origin,
                    key=f"line {cast(ast.stmt, node).lineno}",
                    hint=f"A policy may import {allowed}: it sees one window and nothing else.",
                )
        used = _forbidden(node)
        if used is not None:
            raise ConfigError(
                f"uses {used!r}",
                file=policy.origin,
                key=f"line {cast(ast.expr, node).lineno}",
                hint="A policy computes a number from its window and nothing else.",
            )


def _forbidden(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and node.id in _FORBIDDEN_NAMES:
        return node.id
    if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
        return node.attr
    return None


def _parameters(policy: PolicyText, measure: Callable[..., Any], given: Mapping[str, float]) -> dict[str, float]:
    known = [p.name for p in inspect.signature(measure).parameters.values() if p.default is not inspect.Parameter.empty]
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


def _call(policy: PolicyText, measure: Callable[..., Any], parameters: dict[str, float]) -> Measure:
    remembers = "memory" in inspect.signature(measure).parameters

    def ask(window: Window, memory: Plain) -> tuple[float | Minimum | None, Plain]:
        with _bounded(policy.origin):
            if remembers:
                answer, kept = measure(window, memory, **parameters)
                return answer, kept
            return measure(window, **parameters), None

    return ask


@contextmanager
def _bounded(origin: str) -> Iterator[None]:
    """Stop a policy that executes too many lines: counted, not timed, so that a replay stops at the same line."""
    left = MOST_LINES

    def count(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        nonlocal left
        if frame.f_code.co_filename != origin:
            return None
        left -= 1
        if left < 0:
            raise TimeoutError(f"more than {MOST_LINES} lines executed for one answer")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)


def probe(measure: Measure, origin: str) -> None:
    """Ask a policy about a few windows before it is trusted; ConfigError when it raises or answers nonsense.

    Run it where it can be abandoned after a time limit: a single call inside a policy may take for ever.
    """
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
    for samples in ((idle,), (busy,), (idle, busy), (Sample(at_us=2),)):
        try:
            answer, _ = measure(Window(ClusterId("probe"), samples), None)
        except Exception as error:
            raise ConfigError(f"the policy raised {type(error).__name__}: {error}", file=origin) from error
        number = isinstance(answer, (int, float)) and not isinstance(answer, bool)
        if not (answer is None or isinstance(answer, Minimum) or (number and 0 <= answer < float("inf"))):
            raise ConfigError(
                f"the policy answered {answer!r}",
                file=origin,
                hint="It should answer a finite number of at least 0, MINIMUM or None.",
            )
