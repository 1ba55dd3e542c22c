"""``[quota]``: its defaults, its ranges, and keys that do not fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, UserError
from fawkes.config.settings.settings import SiteSettings, load_settings
from fawkes.core.quota.values import LIVE, QuotaRules


def settings(folder: Path, text: str) -> SiteSettings:
    (folder / "fawkes.toml").write_text(text)
    return load_settings(folder / "fawkes.toml")


def test_a_site_that_writes_nothing_has_the_parameters_of_the_paper(tmp_path: Path) -> None:
    read = settings(tmp_path, "")
    assert (read.quota, read.quota.parameters) == (QuotaRules(), LIVE)
    assert read.quota_policy is not None
    assert read.quota_policy.name == "edf_pure"


def test_keys_of_a_site(tmp_path: Path) -> None:
    read = settings(tmp_path, '[quota]\npolicy = "speed"\nalpha = 0.95\nperiod = "250ms"\nguard = "3s"\n')
    assert (read.quota.parameters.alpha, read.quota.parameters.period_s, read.quota.guard_us) == (0.95, 0.25, 3_000_000)
    assert read.quota_policy is not None
    assert read.quota_policy.name == "speed"


@pytest.mark.parametrize(
    ("line", "key", "words"),
    [
        ("alpha = 0", "quota.alpha", "0.01"),
        ("alpha = 1.5", "quota.alpha", "at most 1"),
        ("beta = -0.1", "quota.beta", "at least 0"),
        ("gamma = 2", "quota.gamma", "at most 1"),
        ("gamma = nan", "quota.gamma", ""),
        ("eta = 1", "quota.eta", "1.01"),
        ("pole = 1", "quota.pole", "0.99"),
        ("quantum = 17", "quota.quantum", "at least one core"),
        ("least = 0", "quota.least", "0.01"),
        ('period = "10ms"', "quota", "too short"),
        ('guard = "1s"', "quota", "at least 4 periods"),
        ("tau = 1", "quota.tau", ""),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(line: str, key: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, f"[quota]\n{line}\n")
    assert key in str(caught.value)
    assert words in f"{caught.value} {caught.value.hint}"


def test_a_policy_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nosuch"):
        settings(tmp_path, '[quota]\npolicy = "nosuch"\n')
