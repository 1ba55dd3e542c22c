"""Settings that are read again while the controller runs: what has changed, and what needs a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum

from fawkes.base.units import show_duration
from fawkes.base.version import __version__
from fawkes.config.settings.core import GROUPS, WRITTEN
from fawkes.config.settings.keys import FIFO, SettingsFile
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


def differences(old: Settings, new: Settings, before: str = __version__) -> list[str]:
    """The settings that differ, each as a text: its key in ``fawkes.toml``, the old value and the new one.

    ``before`` is the version of Fawkes that stored the ``old`` ones. A ledger has no empty values that are defaults, so
    that of another version's nobody knows which of these it had: they are one text, without old values.
    """
    texts, unknown, empty = list[str](), list[str](), Settings()
    for name in (each.name for each in fields(Settings)):
        was, value = getattr(old, name), getattr(new, name)
        if was == value:
            continue
        if before != __version__ and not was and was == getattr(empty, name):
            unknown.append(f"{key_of(name)} = {_shown(name, value)}")
        else:
            texts.append(f"{key_of(name)}: {_shown(name, was)} -> {_shown(name, value)}")
    return [*texts, f"new since version {before}, or not set there: {', '.join(unknown)}"] if unknown else texts


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
    if isinstance(value, bool) or name in ("admission", "preemption"):
        # Files have these names in small letters; no admission policy at all is its default there.
        return str(value).lower() or (FIFO if name == "admission" else "none")
    if isinstance(value, float):
        return f"{value * 100:g}%" if name == "max_moves_fraction" else f"{value:g}"
    return str(value) or "none"
