"""The way from a site's settings to those of decisions: keys of the same name are the same, the rest is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from fawkes.config.settings.keys import SettingsFile
from fawkes.core.values.model import Role
from fawkes.core.values.settings import Discrimination, Settings

GROWTH = {"TR": Role.TRANSIENT, "TC": Role.TRANSIENT_CORE}
#: tables of ``fawkes.toml`` whose keys are settings of decisions
GROUPS = ("timeouts", "patience", "retries")
WRITTEN: Mapping[str, str] = {
    "evacuate_us": "evacuate_alert_us",
    "spare_masters": "spare_application_masters",
    "max_moves_fraction": "max_moves",
    "retry_first_us": "first_us",
    "retry_max_us": "longest_us",
    "halt_lost_fraction": "halt_if_unreachable",
}
"""The settings of decisions whose keys have another name in ``fawkes.toml``."""


def core_of(table: SettingsFile, tau: float, titles: Mapping[str, str]) -> Settings:
    """The settings of decisions that a checked file says; ``titles`` are those of its policies, by their keys."""
    written = dict(table)
    for group in GROUPS:
        written |= dict(written[group])
    written |= {
        **titles,
        "tau": tau,
        "discrimination": Discrimination(table.discrimination),
        "growth": GROWTH[table.growth],
        "idle_us": _idle_us(table),
        "stale_us": table.stale_samples * table.sample_every_us,
    }
    return Settings(**{each.name: written[WRITTEN.get(each.name, each.name)] for each in fields(Settings)})


def _idle_us(table: SettingsFile) -> int | None:
    if isinstance(table.idle_time, int):
        return table.idle_time
    return table.period_us if table.idle_time == "period" else None
