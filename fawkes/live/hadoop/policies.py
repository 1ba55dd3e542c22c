"""Policies of a site, loaded and tried once as the controller will ask them: those of a user in a worker."""

from __future__ import annotations

from collections.abc import Callable

from fawkes.base.catalog import Found
from fawkes.base.errors import ConfigError
from fawkes.core.values.events import PolicyText
from fawkes.core.values.settings import Settings
from fawkes.policy.worker.asking import USUAL, WorkerLimits
from fawkes.policy.worker.policies import admission_loader, load_preemption, load_quota, loader, policy_text, probe

_PARAMETERS = "admission_parameters"
_PAGE = "The page `policies` says what a policy must answer"


def read_policy(policy_file: Found, settings: Settings, *, bounds: WorkerLimits = USUAL) -> PolicyText:
    """The weighting policy of a file; ConfigError when it cannot be loaded, or answers nothing of use."""
    text = policy_text(policy_file.title, str(policy_file.path), policy_file.text())
    try:
        probe(loader(bounds)(text, settings), text.origin)
    except ConfigError as error:
        raise ConfigError(error.what, file=error.file, key=error.key, hint=error.hint or _PAGE) from None
    return text


def read_admission(policy_file: Found, settings: Settings, *, file: str, bounds: WorkerLimits = USUAL) -> PolicyText:
    """The admission policy of a file; ``file`` has its parameters.

    ConfigError for one that cannot be loaded, and for one that must know the work of jobs: in a live pool nobody does.
    """
    text = policy_text(policy_file.title, str(policy_file.path), policy_file.text())
    try:
        loaded = admission_loader(bounds)(text, settings.admission_parameters)
    except ConfigError as error:
        where = file if error.key.startswith(_PARAMETERS) else text.origin
        raise ConfigError(error.what, file=where, key=error.key, hint=error.hint or _PAGE) from None
    if loaded.needs_work:
        raise ConfigError(
            f"{text.name} must know the work of each job beforehand, which is not known in a live pool",
            file=file,
            key="admission",
            hint="Choose another admission policy (`fawkes policies`); offline runs can use this one",
        )
    return text


def read_quota(policy_file: Found) -> PolicyText:
    """The quota policy of a file; ConfigError when it cannot be loaded, or answers nothing of use."""
    return _read(policy_file, load_quota)


def read_preemption(policy_file: Found) -> PolicyText:
    """The preemption policy of a file; ConfigError when it cannot be loaded, or answers nothing of use."""
    return _read(policy_file, load_preemption)


def _read(policy_file: Found, load: Callable[[PolicyText], object]) -> PolicyText:
    text = policy_text(policy_file.title, str(policy_file.path), policy_file.text())
    try:
        load(text)
    except ConfigError as error:
        raise ConfigError(error.what, file=error.file, key=error.key, hint=error.hint or _PAGE) from None
    return text
