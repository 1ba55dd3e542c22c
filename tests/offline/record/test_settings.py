"""Settings of a ledger, written as keys of fawkes.toml, are the same settings again."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.config.settings.settings import settings_of
from fawkes.core.values.model import Role
from fawkes.core.values.settings import Discrimination, Settings
from fawkes.offline.record import toml
from fawkes.offline.record.scenario import settings_table
from tests.offline.support import CATALOG, ROOT

LONG = st.integers(10**6, 10**13)
HEARD = st.integers(3 * 10**6, 10**13)
SHARE = st.floats(0.01, 1)


PARAMETER = st.booleans() | st.integers(-(10**12), 10**12) | st.floats(-1e12, 1e12) | st.text('ab"\n', max_size=5)
PARAMETERS = st.dictionaries(st.text("ab-", min_size=1), PARAMETER, max_size=3)


@st.composite
def any_settings(draw: st.DrawFn) -> Settings:
    sample_us = draw(st.integers(10**6, 10**9))
    first_us, longest_us = sorted((draw(LONG), draw(LONG)))
    admits = draw(st.booleans())
    return Settings(
        preset=draw(st.sampled_from(["steady", "paper", "demo"])),
        policy="TD",
        period_us=sample_us * draw(st.integers(1, 20)),
        sample_every_us=sample_us,
        release_us=draw(st.integers(0, 10**12)),
        tau=draw(st.floats(0, 1e9)),
        discrimination=draw(st.sampled_from(Discrimination)),
        growth=draw(st.sampled_from([Role.TRANSIENT, Role.TRANSIENT_CORE])),
        transient_leave_us=draw(st.integers(0, 10**12)),
        transient_core_leave_us=draw(st.integers(0, 10**12)),
        evacuate_us=draw(LONG),
        spare_masters=draw(st.booleans()),
        prefer_site=draw(st.booleans()),
        confirmations=draw(st.integers(1, 9)),
        settle_after_grow_us=draw(st.integers(0, 10**12)),
        settle_after_shrink_us=draw(st.integers(0, 10**12)),
        max_moves_fraction=draw(st.none() | SHARE),
        max_moves_window_us=draw(LONG),
        idle_us=draw(st.none() | LONG),
        stale_us=sample_us * draw(st.integers(1, 9)),
        join_us=draw(LONG),
        clean_us=draw(LONG),
        deploy_us=draw(LONG),
        deploy_attempts=draw(st.integers(1, 9)),
        membership_us=draw(LONG),
        transfer_us=draw(LONG),
        start_job_us=draw(LONG),
        quarantine_us=draw(LONG),
        join_attempts=draw(st.integers(1, 9)),
        missing_us=draw(LONG),
        silent_us=draw(LONG),
        takeover_us=draw(LONG),
        doubt_us=draw(LONG),
        held_us=draw(LONG),
        heard_us=draw(HEARD),
        quiet_us=draw(LONG),
        stuck_us=draw(LONG),
        clock_jump_us=draw(st.one_of(st.just(0), LONG)),
        away_us=draw(st.one_of(st.just(0), LONG)),
        masters_lost_us=draw(st.one_of(st.just(0), LONG)),
        copy_gap_us=draw(st.one_of(st.just(0), LONG)),
        copy_us=draw(st.one_of(st.just(0), LONG)),
        standby_us=draw(st.one_of(st.just(0), LONG)),
        journal_us=draw(st.one_of(st.just(0), LONG)),
        follow_us=draw(LONG),
        rejoin_us=draw(LONG),
        unusable_us=draw(LONG),
        late_us=draw(LONG),
        close_us=draw(LONG),
        retry_first_us=first_us,
        retry_max_us=longest_us,
        retire_undeclared=draw(st.booleans()),
        moves_must_pay=draw(st.booleans()),
        shared_cores=draw(st.floats(0, 100)),
        site_link_bytes_s=draw(st.integers(0, 10**12)),
        halt_lost_fraction=draw(st.floats(0, 1)),
        image_bytes_s=draw(st.integers(1, 10**12)),
        # It is no key of a record: no simulated task is saved.
        preemption="ADAPTIVE",
        # Without an admission policy its keys have no effect, and are refused.
        admission="JUSTICE" if admits else "",
        admission_parameters=draw(PARAMETERS) if admits else {},
        learn_from_pool=admits and draw(st.booleans()),
        admit_unkept=admits and draw(st.booleans()),
    )


def test_without_an_admission_policy_there_is_no_key_of_one() -> None:
    assert not [key for key in settings_table(Settings(), "TD") if "admi" in key or "learn" in key]


@pytest.mark.slow
@given(any_settings())
def test_settings_come_back_from_their_keys(settings: Settings) -> None:
    said = tomllib.loads("\n".join(toml.table(settings_table(settings, "TD", settings.admission.lower()))))
    assert settings_of(said, file="x", base=ROOT, catalog=CATALOG).core == settings


def test_every_setting_is_drawn_above() -> None:
    """A setting that is not drawn would come back only because it has its default."""
    source = (Path(__file__)).read_text()
    missing = [each.name for each in fields(Settings) if f"{each.name}=" not in source]
    assert missing == ["policy_parameters"]
