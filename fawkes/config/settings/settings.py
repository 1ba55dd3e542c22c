"""``fawkes.toml``: what a site decides about deciding, as a preset with overriding keys."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Catalog, CatalogFile, Kind
from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US, duration_us, show_duration
from fawkes.config.files.loader import Faults, check, did_you_mean, read_toml
from fawkes.config.settings.core import core_of
from fawkes.config.settings.kerberos import KerberosSite
from fawkes.config.settings.keys import FIFO, NO_HOOKS, AccessTable, HooksTable, SettingsFile, SshLimits
from fawkes.config.settings.presets import PRESETS, Preset
from fawkes.config.settings.quota import RULES
from fawkes.config.settings.web import WebTable
from fawkes.core.clusters.keeping import KeepRules
from fawkes.core.quota.values import QuotaRules
from fawkes.core.values.settings import Settings

#: between two heartbeats of a DataNode, outside of a lab (`live/hadoop/hadoop_conf.py`)
_HEARTBEAT_US = 3 * SECOND_US


@dataclass(frozen=True)
class SiteSettings:
    """Checked settings: ``core`` for decisions, ``ssh`` for hands, ``policy`` and ``admission`` as they were found.

    ``keep_logs_bytes`` is the disk that the logs of wiped nodes may take, ``keep_every_us`` the time between two copies
    of the masters' data, ``keep`` when more is made of these, ``access`` who may use the socket, ``playbooks`` which
    ones of Fawkes the site replaces, ``kerberos`` its realm, ``web`` its page. Without ``admission`` jobs begin first
    come, first served. ``quota`` are the rules for quotas, ``quota_policy`` divides by them.
    """

    core: Settings
    ssh: SshLimits
    policy: CatalogFile
    keep_logs_bytes: int
    keep_every_us: int
    keep: KeepRules
    access: AccessTable
    playbooks: tuple[str, ...]
    admission: CatalogFile | None = None
    kerberos: KerberosSite | None = None
    hooks: HooksTable = NO_HOOKS
    web: WebTable | None = None
    quota: QuotaRules = RULES
    quota_policy: CatalogFile | None = None
    preemption: CatalogFile | None = None

    @property
    def share_error(self) -> float:
        """The threshold as root mean square error of the shares, sqrt(tau) / T (facts, section 2)."""
        return math.sqrt(self.core.tau) / (self.core.period_us / SECOND_US)


def load_settings(
    path: Path, *, catalog: Catalog | None = None, preset: str | None = None, policy: str | None = None
) -> SiteSettings:
    """The settings in a file, or those of preset ``steady`` when there is no such file.

    ``preset`` and ``policy`` come from the command line and win. ConfigError names file, key and value.
    """
    catalog = catalog or Catalog(site=path.parent)
    said = read_toml(path) if os.path.lexists(path) else {}
    if preset is not None:
        said["preset"] = preset
    if policy is None:
        return settings_of(said, file=str(path), base=path.parent, catalog=catalog)
    try:
        policy_file = catalog.find(Kind.POLICY, policy)
    except UserError as error:
        raise UserError(error.what, where="--policy", hint=error.hint) from None
    return settings_of(said, file=str(path), base=path.parent, catalog=catalog, policy=policy_file)


def preset_of(path: Path, given: str | None) -> str:
    """The preset that counts, in a sentence: that of the command line (``given``), of the file, or the default."""
    default = SettingsFile.model_fields["preset"].default
    if not os.path.lexists(path):
        name, why = default, f"because there is no {path.name}"
    else:
        said = read_toml(path)
        name = said.get("preset", default)
        why = f"as {path.name} says" if "preset" in said else f"because {path.name} names none"
        why = why if said else f"because {path.name} is empty"
    return f"settings: preset {name}, {why}" if given is None else f"settings: preset {given}, as --preset says"


def settings_of(
    said: Mapping[str, Any],
    *,
    file: str,
    base: Path,
    catalog: Catalog,
    key: str = "",
    policy: CatalogFile | None = None,
) -> SiteSettings:
    """The settings that a table says (``key`` is its place in ``file``); a policy's path is relative to ``base``."""
    faults = Faults(file, key)
    name = said.get("preset", "steady")
    if not isinstance(name, str) or name not in PRESETS:
        faults.add(f"there is no preset {name!r}", "preset", did_you_mean(str(name), PRESETS))
        faults.refuse()
    preset = PRESETS[name]
    table = check(SettingsFile, _merged(preset, said), file=file, key=key)
    _check_together(table, said, faults)
    faults.refuse()
    policy = policy or catalog.find(Kind.POLICY, table.policy, base=base, file=file, key=faults.place("policy"))
    admission = _admission(table, said, base, catalog, faults)
    faults.refuse()
    tau = _tau(table, preset if "tau" not in said else {})
    place = faults.place("preemption")
    preemption = catalog.find(Kind.PREEMPTION, table.preemption, base=base, file=file, key=place)
    titles = {"policy": policy.title, "admission": "" if admission is None else admission.title}
    core = core_of(table, tau, {**titles, "preemption": preemption.title})
    return SiteSettings(
        core,
        table.ssh,
        policy,
        table.keep_logs_bytes,
        table.keep_every_us,
        KeepRules(
            second_every_us=table.keep_second_every_us,
            edits_bytes=table.keep_edits_bytes,
            image_rest_us=table.keep_image_rest_us,
        ),
        table.access,
        tuple(table.playbooks),
        admission,
        None if table.kerberos is None else KerberosSite.of(table.kerberos, file, base),
        table.hooks,
        table.web,
        table.quota.rules(),
        catalog.find(Kind.QUOTA, table.quota.policy, base=base, file=file, key=faults.place("quota.policy")),
        preemption,
    )


def _admission(
    table: SettingsFile, said: Mapping[str, Any], base: Path, catalog: Catalog, faults: Faults
) -> CatalogFile | None:
    """The admission policy; None for the queue of Fawkes itself, which a file ``fifo`` of the site replaces."""
    place = faults.place("admission")
    policy_file = catalog.find(Kind.ADMISSION, table.admission, base=base, file=faults.file, key=place)
    if policy_file.name.casefold() != FIFO or not catalog.came_with_fawkes(policy_file):
        return policy_file
    for key in ("admission_parameters", "learn_from_pool", "admit_unkept"):
        if said.get(key):
            faults.add('has no effect with admission = "fifo"', key, 'Choose another policy, such as "justice"')
    return None


def _merged(preset: Preset, said: Mapping[str, Any]) -> dict[str, Any]:
    """The preset's values below what is written; tau and share_error are one choice."""
    merged: dict[str, Any] = {}
    for key, value in preset.items():
        table, _, name = key.rpartition(".")
        (merged.setdefault(table, {}) if table else merged)[name] = value.value
    if "tau" in said or "share_error" in said:
        merged = {key: value for key, value in merged.items() if key not in ("tau", "share_error")}
    for key, value in said.items():
        below = merged.get(key)
        merged[key] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _check_together(table: SettingsFile, said: Mapping[str, Any], faults: Faults) -> None:
    if "tau" in said and "share_error" in said:
        faults.add("tau and share_error are both given", "tau", "Give one: share_error is sqrt(tau) / T")
    for key, value in (("period", table.period_us), ("sample_every", table.sample_every_us)):
        if value < SECOND_US:
            faults.add(f"{_shown(value)} is too short", key, "Give one second or more")
    if table.sample_every_us > table.period_us:
        sample, period = _shown(table.sample_every_us), _shown(table.period_us)
        faults.add(
            f"samples every {sample} are too few for a period of {period}",
            "sample_every" if "sample_every" in said else "period",
            "Each period needs at least one sample: make sample_every shorter or period longer",
        )
    if table.patience.heard_us < _HEARTBEAT_US:
        faults.add(
            f"{_shown(table.patience.heard_us)} is shorter than the {show_duration(_HEARTBEAT_US)} between two "
            "heartbeats of a DataNode",
            "patience.heard",
            "No replica would ever count as safe: make it longer",
        )
    if table.retries.first_us > table.retries.longest_us:
        faults.add("first is longer than longest", "retries.first", "Make first shorter or longest longer")
    if table.ssh.connect_timeout_us > table.ssh.command_timeout_us:
        faults.add(
            "connect_timeout is longer than command_timeout",
            "ssh.connect_timeout",
            "A step includes its connection: make command_timeout longer",
        )


def _shown(us: int) -> str:
    """A duration of a message: below a second in milliseconds."""
    return f"{us / 1000:g}ms" if us < SECOND_US else show_duration(us)


def _tau(table: SettingsFile, preset: Preset) -> float:
    """The threshold in share^2 s^2; a preset's tau keeps its share error when only T is changed."""
    if table.tau is None:
        return ((table.share_error or 0.0) * table.period_us / SECOND_US) ** 2
    if "tau" not in preset:
        return table.tau
    return table.tau * (table.period_us / duration_us(str(preset["period"].value))) ** 2
