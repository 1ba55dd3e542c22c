"""Settings that are read again while the controller runs: what has changed, and what needs a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum

from fawkes.base.units import show_duration
from fawkes.config.settings.core import GROUPS, WRITTEN
from fawkes.config.settings.keys import SettingsFile
from fawkes.config.settings.settings import SiteSettings
from fawkes.core.values.settings import Settings

RESTART = frozenset(
    {
        "sample_every_us",
        "heard_us",
        "quiet_us",
        "membership_us",
        "start_job_us",
        "standby_us",
        "retry_first_us",
        "retry_max_us",
    }
)
"""The settings of decisions that the live world has taken over when it started: new values count after a restart."""
OTHERS: Mapping[str, str] = {
    "ssh": "ssh",
    "keep_logs_bytes": "keep_logs",
    "keep_every_us": "keep_every",
    "keep": "keep_second_every, keep_edits or keep_image_rest",
    "access": "access",
    "playbooks": "playbooks",
    "kerberos": "kerberos",
    "hooks": "hooks",
    "web": "web",
    "quota": "quota",
    "quota_policy": "quota.policy",
}
"""The settings of the live world alone, with their keys in ``fawkes.toml``: all of them count after a restart."""


@dataclass(frozen=True, slots=True)
class Reread:
    """The ``settings`` that count from now on; ``changed`` says how they differ, a text for each key.

    ``restart`` are the keys that have changed and keep their old values until the next start.
    """

    settings: Settings
    changed: tuple[str, ...]
    restart: tuple[str, ...]


def reread(now: Settings, started: SiteSettings, new: SiteSettings) -> Reread:
    """The consequences of ``new`` settings for a controller that ``started`` with others and decides by ``now``."""
    kept = {name: getattr(now, name) for name in RESTART}
    if new.core.sample_every_us != now.sample_every_us:
        kept["stale_us"] = now.stale_us
    settings = replace(new.core, **kept)
    restart = [key_of(name) for name in sorted(RESTART) if getattr(now, name) != getattr(new.core, name)]
    restart += [key for name, key in OTHERS.items() if getattr(started, name) != getattr(new, name)]
    return Reread(settings, tuple(differences(now, settings)), tuple(restart))


def differences(old: Settings, new: Settings) -> list[str]:
    """The settings that differ, each as a text: its key in ``fawkes.toml``, the old value and the new one."""
    return [
        f"{key_of(name)}: {_shown(name, was)} -> {_shown(name, value)}"
        for name in (each.name for each in fields(Settings))
        if (was := getattr(old, name)) != (value := getattr(new, name))
    ]


def key_of(name: str) -> str:
    """The key of a setting of decisions in ``fawkes.toml``."""
    written = {"idle_us": "idle_time", "stale_us": "stale_samples"}.get(name) or WRITTEN.get(name, name)
    known = SettingsFile.model_fields.get(written)
    if known is not None:
        return known.alias or written
    for group in GROUPS:
        table = SettingsFile.model_fields[group].annotation
        inner = getattr(table, "model_fields", {}).get(written)
        if inner is not None:
            return f"{group}.{inner.alias or written}"
    return written


def _shown(name: str, value: object) -> str:
    if value is None:
        return "never" if name == "idle_us" else "unlimited"
    if name.endswith("_us") and isinstance(value, int):
        return show_duration(value)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"
