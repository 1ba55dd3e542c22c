"""Settings that are read again: which keys count at once, which after a restart, and what is said of them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fawkes.config.settings.reload import OTHERS, RESTART, differences, key_of, reread
from fawkes.config.settings.settings import SiteSettings, load_settings
from fawkes.core.values.settings import Settings


def written(tmp_path: Path, text: str) -> SiteSettings:
    (tmp_path / "fawkes.toml").write_text(text)
    return load_settings(tmp_path / "fawkes.toml")


@pytest.mark.parametrize(
    ("text", "changed", "restart"),
    [
        ("", (), ()),
        ('period = "9m"', ("period: ", "tau: "), ()),
        ("max_moves = 0.3", ("max_moves: unlimited -> 30%",), ()),
        ('preemption = "kill"', ("preemption: adaptive -> kill",), ()),
        ('admission = "justice"', ("admission: fifo -> justice",), ()),
        ('sample_every = "5s"', (), ("sample_every",)),
        ('stale_samples = 9\nsample_every = "5s"', (), ("sample_every",)),
        ("stale_samples = 9", ("stale_samples: 30s -> 1m30s",), ()),
        ('[patience]\nheard = "20s"\nstuck = "9m"', ("patience.stuck: 3m00s -> 9m00s",), ("patience.heard",)),
        ("[ssh]\nfanout = 3", (), ("ssh",)),
        ('keep_logs = "1GB"', (), ("keep_logs",)),
        ('policy = "JD"', ("policy: TD -> JD",), ()),
    ],
)
def test_what_counts_at_once_and_what_after_a_restart(
    tmp_path: Path, text: str, changed: tuple[str, ...], restart: tuple[str, ...]
) -> None:
    before = written(tmp_path, "")
    news = reread(before.core, before, written(tmp_path, text))
    assert len(news.changed) == len(changed)
    assert all(text.startswith(start) for text, start in zip(news.changed, changed, strict=True))
    assert news.restart == restart
    assert tuple(differences(before.core, news.settings)) == news.changed


def test_settings_that_an_earlier_version_may_not_have_had_get_no_old_values() -> None:
    old = Settings(policy="JD", retire_undeclared=True, transient_leave_us=0)
    new = Settings(preemption="ADAPTIVE", copy_us=60_000_000, max_moves_fraction=None)
    known = [
        "policy: JD -> TD",
        "transient_leave: 0s -> 1h00m",
        "max_moves: 20% -> unlimited",
        "retire_undeclared: true -> false",
    ]
    later = "new since version 0.2.0, or not set there: patience.copy = 1m00s, preemption = adaptive"
    assert differences(old, new, "0.2.0") == [*known, later]
    assert "patience.copy: 0s -> 1m00s" in differences(old, new)


def test_every_setting_has_its_key_and_none_is_forgotten() -> None:
    names = {each.name for each in fields(Settings)}
    assert names >= RESTART
    assert {each.name for each in fields(SiteSettings)} == {*OTHERS, "core", "policy", "admission", "preemption"}
    keys: Any = [key_of(name) for name in sorted(names)]
    assert len(set(keys)) == len(keys)
    assert not [key for key in keys if key.endswith("_us")]
