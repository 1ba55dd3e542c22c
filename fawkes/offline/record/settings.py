"""Settings of a ledger as the keys of ``fawkes.toml`` that give them again."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from fawkes.config.settings.core import GROUPS, GROWTH, WRITTEN
from fawkes.config.settings.settings import SettingsFile
from fawkes.core.values.model import Role
from fawkes.core.values.settings import Settings
from fawkes.offline.record.toml import duration, size

CODES = {role: code for code, role in GROWTH.items()}
_DECIDING = {name: name for name in Settings.__dataclass_fields__} | {key: name for name, key in WRITTEN.items()}
_ADMISSION = ("admission", "admission_parameters", "learn_from_pool", "admit_unkept")


def settings_table(settings: Settings, policy: str, admission: str = "", preemption: str = "") -> dict[str, Any]:
    """Every key that decides, none left to the preset; the policies are the paths of their files.

    Without an admission policy, or a preemption policy, the table has no keys of it.
    """
    table = _table(SettingsFile, settings) | {
        "policy": policy,
        "discrimination": str(settings.discrimination),
        "growth": code_of(settings.growth),
        "max_moves": "unlimited" if settings.max_moves_fraction is None else settings.max_moves_fraction,
        "idle_time": "never" if settings.idle_us is None else duration(settings.idle_us),
        "stale_samples": max(1, settings.stale_us // settings.sample_every_us),
        "admission": admission,
        "preemption": preemption,
    }
    table["patience"]["takeover"] = duration(settings.takeover_us or settings.silent_us)
    # 0 is no limit, and no size that the key takes.
    table["site_link"] = size(settings.site_link_bytes_s)
    table["image_rate"] = size(settings.image_bytes_s)
    nothing = {"site_link": settings.site_link_bytes_s == 0, "image_rate": settings.image_bytes_s == 0}
    left_out = {*(key for key, is_nothing in nothing.items() if is_nothing), *(() if admission else _ADMISSION)}
    left_out |= set() if preemption else {"preemption"}
    return {key: value for key, value in table.items() if key not in left_out}


def _table(model: type[BaseModel], settings: Settings) -> dict[str, Any]:
    """The keys of a table of ``fawkes.toml`` that settings of decisions have, in its order, and their values."""
    table: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        if name in GROUPS:
            table[name] = _table(kind, settings)
        elif name in _DECIDING:
            value: Any = getattr(settings, _DECIDING[name])
            value = dict(value) if name.endswith("_parameters") else value
            table[field.alias or name] = duration(value) if name.endswith("_us") else value
    return table


def code_of(role: Role) -> str:
    """TR or TC."""
    return CODES[role]
