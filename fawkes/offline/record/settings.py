"""Settings of a ledger as the keys of ``fawkes.toml`` that give them again."""

from __future__ import annotations

from typing import Any

from fawkes.config.settings.settings import GROWTH
from fawkes.core.values.model import Role
from fawkes.core.values.settings import Settings
from fawkes.offline.record.toml import duration, size

CODES = {role: code for code, role in GROWTH.items()}


def settings_table(settings: Settings, policy: str, admission: str = "") -> dict[str, Any]:
    """Every key that decides, none left to the preset; ``policy`` and ``admission`` are the paths of their files.

    Without an admission policy the table has no keys of one.
    """
    return {
        "preset": settings.preset,
        "policy": policy,
        "policy_parameters": dict(settings.policy_parameters),
        **(_admission(settings, admission) if admission else {}),
        "period": duration(settings.period_us),
        "sample_every": duration(settings.sample_every_us),
        "discrimination": str(settings.discrimination),
        "tau": settings.tau,
        "growth": code_of(settings.growth),
        "transient_leave": duration(settings.transient_leave_us),
        "transient_core_leave": duration(settings.transient_core_leave_us),
        "evacuate_alert": duration(settings.evacuate_us),
        "spare_application_masters": settings.spare_masters,
        "prefer_site": settings.prefer_site,
        "confirmations": settings.confirmations,
        "settle_after_grow": duration(settings.settle_after_grow_us),
        "settle_after_shrink": duration(settings.settle_after_shrink_us),
        "max_moves": "unlimited" if settings.max_moves_fraction is None else settings.max_moves_fraction,
        "max_moves_window": duration(settings.max_moves_window_us),
        "moves_must_pay": settings.moves_must_pay,
        "shared_cores": settings.shared_cores,
        # 0 is no limit, and no size that the key takes.
        **({"site_link": size(settings.site_link_bytes_s)} if settings.site_link_bytes_s else {}),
        "idle_time": "never" if settings.idle_us is None else duration(settings.idle_us),
        "stale_samples": max(1, settings.stale_us // settings.sample_every_us),
        "halt_if_unreachable": settings.halt_lost_fraction,
        "quarantine": duration(settings.quarantine_us),
        "deploy_attempts": settings.deploy_attempts,
        "join_attempts": settings.join_attempts,
        "retire_undeclared": settings.retire_undeclared,
        "timeouts": {
            "join": duration(settings.join_us),
            "clean": duration(settings.clean_us),
            "deploy": duration(settings.deploy_us),
            "membership": duration(settings.membership_us),
            "transfer": duration(settings.transfer_us),
            "start_job": duration(settings.start_job_us),
        },
        "patience": {
            "missing": duration(settings.missing_us),
            "silent": duration(settings.silent_us),
            "takeover": duration(settings.takeover_us or settings.silent_us),
            "doubt": duration(settings.doubt_us),
            "held": duration(settings.held_us),
            "heard": duration(settings.heard_us),
            "quiet": duration(settings.quiet_us),
            "stuck": duration(settings.stuck_us),
            "clock_jump": duration(settings.clock_jump_us),
            "away": duration(settings.away_us),
            "masters_lost": duration(settings.masters_lost_us),
            "copy_gap": duration(settings.copy_gap_us),
            "copy": duration(settings.copy_us),
            "standby": duration(settings.standby_us),
            "journal": duration(settings.journal_us),
            "follow": duration(settings.follow_us),
            "rejoin": duration(settings.rejoin_us),
            "unusable": duration(settings.unusable_us),
            "late": duration(settings.late_us),
            "close": duration(settings.close_us),
        },
        "retries": {
            "first": duration(settings.retry_first_us),
            "longest": duration(settings.retry_max_us),
        },
    }


def _admission(settings: Settings, admission: str) -> dict[str, Any]:
    return {
        "admission": admission,
        "admission_parameters": dict(settings.admission_parameters),
        "learn_from_pool": settings.learn_from_pool,
        "admit_unkept": settings.admit_unkept,
    }


def code_of(role: Role) -> str:
    """TR or TC."""
    return CODES[role]
