from __future__ import annotations

import math
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog, Origin
from fawkes.base.errors import ExitStatus, UserError
from fawkes.base.units import SECOND_US
from fawkes.config.settings.presets import PRESETS
from fawkes.config.settings.settings import SiteSettings, load_settings
from fawkes.config.site.site import Site
from fawkes.core.clusters.keeping import KeepRules
from fawkes.core.values.model import Role
from fawkes.core.values.settings import Discrimination, Settings
from tests.config.support import Bad, assert_refused, cases, refusals, write

ROOT = Path(__file__).parents[3]


def settings(folder: Path, text: str) -> SiteSettings:
    return load_settings(write(folder, "fawkes.toml", text), catalog=catalog(folder))


def catalog(folder: Path) -> Catalog:
    return Catalog(site=folder, bundled=ROOT)


def test_without_a_file_the_preset_steady_holds(tmp_path: Path) -> None:
    read = load_settings(tmp_path / "fawkes.toml", catalog=catalog(tmp_path))
    assert read.core == Settings(
        preset="steady",
        policy="TD",
        preemption="ADAPTIVE",
        image_bytes_s=20_000_000,
        moves_must_pay=True,
        clock_jump_us=60 * SECOND_US,
        away_us=600 * SECOND_US,
        masters_lost_us=120 * SECOND_US,
        copy_gap_us=60 * SECOND_US,
        copy_us=60 * SECOND_US,
        standby_us=30 * SECOND_US,
        journal_us=600 * SECOND_US,
        follow_us=60 * SECOND_US,
        rejoin_us=90 * SECOND_US,
        unusable_us=4 * SECOND_US,
        late_us=30 * SECOND_US,
        close_us=10 * SECOND_US,
        period_us=60 * SECOND_US,
        sample_every_us=10 * SECOND_US,
        release_us=2 * SECOND_US,
        tau=9.0,
        discrimination=Discrimination.REDUCIBLE,
        growth=Role.TRANSIENT,
        transient_leave_us=3600 * SECOND_US,
        transient_core_leave_us=3600 * SECOND_US,
        evacuate_us=4 * 3600 * SECOND_US,
        spare_masters=True,
        prefer_site=True,
        confirmations=2,
        settle_after_grow_us=0,
        settle_after_shrink_us=0,
        max_moves_fraction=None,
        max_moves_window_us=600 * SECOND_US,
        idle_us=4 * 3600 * SECOND_US,
        stale_us=30 * SECOND_US,
        join_us=300 * SECOND_US,
        clean_us=120 * SECOND_US,
        deploy_us=600 * SECOND_US,
        deploy_attempts=3,
        membership_us=60 * SECOND_US,
        transfer_us=86400 * SECOND_US,
        start_job_us=120 * SECOND_US,
        quarantine_us=1800 * SECOND_US,
        join_attempts=2,
        missing_us=20 * SECOND_US,
        silent_us=30 * SECOND_US,
        takeover_us=2 * SECOND_US,
        doubt_us=20 * SECOND_US,
        held_us=15 * SECOND_US,
        heard_us=10 * SECOND_US,
        quiet_us=60 * SECOND_US,
        stuck_us=180 * SECOND_US,
        retry_first_us=2 * SECOND_US,
        retry_max_us=30 * SECOND_US,
        retire_undeclared=False,
        halt_lost_fraction=0.45,
    )
    assert (read.ssh.fanout, read.ssh.connect_timeout_us) == (32, 10 * SECOND_US)
    assert (read.ssh.command_timeout_us, read.ssh.answer_s) == (300 * SECOND_US, 10.0)
    assert read.share_error == 0.05
    assert (read.policy.path, read.policy.origin) == (ROOT / "policies/weighting/td.py", Origin.BUNDLED)


def test_the_preset_paper_is_the_method_of_the_paper(tmp_path: Path) -> None:
    paper = settings(tmp_path, 'preset = "paper"').core
    assert (paper.period_us, paper.tau, paper.discrimination) == (60 * SECOND_US, 10.0, Discrimination.RAW)
    assert (paper.transient_leave_us, paper.transient_core_leave_us) == (0, 0)
    assert (paper.confirmations, paper.settle_after_grow_us, paper.settle_after_shrink_us) == (1, 0, 0)
    assert (paper.max_moves_fraction, paper.prefer_site, paper.spare_masters) == (None, False, False)
    assert paper.idle_us == paper.period_us


def test_the_preset_demo_is_the_paper_with_a_short_period_and_the_same_share_error(tmp_path: Path) -> None:
    demo, paper = settings(tmp_path, 'preset = "demo"'), settings(tmp_path, 'preset = "paper"')
    assert demo.core.period_us == 20 * SECOND_US
    assert demo.core.tau == pytest.approx(10 / 9)
    assert demo.share_error == pytest.approx(paper.share_error)
    assert demo.core.idle_us == demo.core.period_us


def test_a_site_says_when_more_is_made_of_the_copies_of_masters(tmp_path: Path) -> None:
    assert settings(tmp_path, "").keep == KeepRules()
    text = 'keep_second_every = "1m"\nkeep_edits = "1MB"\nkeep_image_rest = "1h"'
    assert settings(tmp_path, text).keep == KeepRules(
        second_every_us=60 * SECOND_US, edits_bytes=1_000_000, image_rest_us=3600 * SECOND_US
    )


@pytest.mark.parametrize(
    ("text", "tau"),
    [
        ('preset = "paper"\nperiod = "120s"', 40.0),
        ('preset = "paper"\nperiod = "120s"\ntau = 10', 10.0),
        ('preset = "paper"\nshare_error = 0.1', 36.0),
        ('period = "60s"', 9.0),
        ("tau = 7.5", 7.5),
        ("tau = 0", 0.0),
        ('share_error = 0.1\nperiod = "20s"', 4.0),
    ],
)
def test_a_preset_keeps_its_share_error_when_only_the_period_changes(text: str, tau: float, tmp_path: Path) -> None:
    read = settings(tmp_path, text)
    assert read.core.tau == pytest.approx(tau)
    assert read.share_error == pytest.approx(math.sqrt(tau) / (read.core.period_us / SECOND_US))


def test_keys_override_the_preset(tmp_path: Path) -> None:
    text = """
preset = "paper"
policy = "RU"
growth = "TC"
max_moves = "5%"
idle_time = "never"
transient_leave = "90s"
stale_samples = 4
sample_every = "5s"
join_attempts = 5
retire_undeclared = true
[policy_parameters]
psi = 1
[timeouts]
join = "1m"
[patience]
heard = "4s"
[retries]
longest = "5m"
[ssh]
fanout = 8
"""
    read = settings(tmp_path, text)
    core = read.core
    assert (core.policy, core.policy_parameters, core.growth) == ("RU", {"psi": 1.0}, Role.TRANSIENT_CORE)
    assert isinstance(core.policy_parameters["psi"], int), "a whole number stays one: a policy may count by it"
    assert (core.max_moves_fraction, core.idle_us, core.transient_leave_us) == (0.05, None, 90 * SECOND_US)
    assert (core.stale_us, core.join_us, core.clean_us) == (20 * SECOND_US, 60 * SECOND_US, 120 * SECOND_US)
    assert (core.join_attempts, core.retire_undeclared) == (5, True)
    assert (core.heard_us, core.missing_us) == (4 * SECOND_US, 20 * SECOND_US)
    assert (core.retry_first_us, core.retry_max_us) == (2 * SECOND_US, 300 * SECOND_US)
    assert (read.ssh.fanout, read.ssh.connect_timeout_us) == (8, 10 * SECOND_US)


@pytest.mark.parametrize("share", ['"20%"', "0.2"])
def test_a_budget_is_a_percentage_or_a_fraction(share: str, tmp_path: Path) -> None:
    assert settings(tmp_path, f"max_moves = {share}").core.max_moves_fraction == 0.2


def test_an_admission_policy_is_found_by_its_name_and_has_parameters(tmp_path: Path) -> None:
    read = settings(
        tmp_path,
        """
admission = "justice"
learn_from_pool = true
admit_unkept = true

[admission_parameters]
kill_threshold = 0
correction = "none"
""",
    )
    core = read.core
    assert read.admission is not None
    assert (read.admission.path, core.admission) == (ROOT / "policies/admission/justice.py", "JUSTICE")
    assert core.admission_parameters == {"kill_threshold": 0, "correction": "none"}
    assert (core.learn_from_pool, core.admit_unkept) == (True, True)


@pytest.mark.parametrize("text", ["", 'admission = "fifo"', 'admission = "FIFO"'])
def test_fifo_is_the_queue_of_fawkes_and_no_policy(text: str, tmp_path: Path) -> None:
    read = settings(tmp_path, text)
    assert (read.admission, read.core.admission) == (None, "")


def test_a_site_may_have_a_fifo_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "policies/admission/fifo.py", "NAME = 'FIFO'")
    policy = settings(tmp_path, 'admission = "fifo"').admission
    assert policy is not None
    assert policy.origin is Origin.SITE


@cases(
    typo=Bad("preset = steady", "line 1, column 10", "not valid TOML"),
    unknown_preset=Bad('preset = "stedy"', "preset", "there is no preset 'stedy'", "Did you mean 'steady'?"),
    preset_list=Bad('preset = ["steady"]', "preset", "there is no preset"),
    unknown_key=Bad('perod = "1m"', "perod", "unknown key 'perod'", "Did you mean 'period'?"),
    unknown_timeout=Bad('[timeouts]\njoyn = "1m"', "timeouts.joyn", "unknown key", "Did you mean 'join'?"),
    unknown_policy=Bad('policy = "TX"', "policy", "there is no policy 'TX'", "Known: "),
    near_policy=Bad('policy = "non"', "policy", "there is no policy 'non'", "Did you mean 'none'?"),
    missing_policy_file=Bad('policy = "mine/x.py"', "policy", "is not a file", "path of a policy"),
    policy_number=Bad("policy = 3.10", "policy", "3.1 is a number, not text"),
    no_unit=Bad("period = 90", "period", "90 has no unit", '"90s"'),
    wrong_unit=Bad('period = "90x"', "period", "'90x' is not a duration: write a number and a unit"),
    negative=Bad('period = "-5s"', "period", "'-5s' is not a duration"),
    zero_period=Bad('period = "0s"', "period", "too little"),
    short_period=Bad('period = "500ms"\nsample_every = "200ms"', "period", "500ms is too short", "one second"),
    tiny_period=Bad('period = "1ms"', "period", "1ms is too short", "one second"),
    few_for_tiny=Bad('period = "1ms"', "period", "samples every 10s are too few for a period of 1ms"),
    short_samples=Bad('sample_every = "10ms"', "sample_every", "too short", "one second"),
    few_samples=Bad('sample_every = "5m"', "sample_every", "too few for a period of 1m00s", "at least one sample"),
    few_samples_of_preset=Bad('period = "5s"', "period", "samples every 10s are too few"),
    two_thresholds=Bad("tau = 1\nshare_error = 0.1", "tau", "both given", "sqrt(tau) / T"),
    negative_tau=Bad("tau = -1", "tau", "-1 is too small"),
    tau_nan=Bad("tau = nan", "tau", "nan is wrong"),
    error_above_one=Bad("share_error = 5", "share_error", "5 is too large"),
    wrong_growth=Bad('growth = "T"', "growth", "'T' is none of 'TR' or 'TC'", "Did you mean 'TR'?"),
    wrong_measure=Bad('discrimination = "var"', "discrimination", "'var' is none of", "raw"),
    moves_text=Bad('max_moves = "many"', "max_moves", "'many' is no share", '"20%"'),
    moves_above=Bad('max_moves = "200%"', "max_moves", "'200%' is no share"),
    moves_true=Bad("max_moves = true", "max_moves", "True is no share"),
    moves_percent=Bad('max_moves = "x%"', "max_moves", "'x%' is no share"),
    idle_number=Bad("idle_time = 4", "idle_time", "4 is no duration", '"never"'),
    no_idle_time=Bad('idle_time = "0s"', "idle_time", "too little"),
    idle_word=Bad('idle_time = "long"', "idle_time", "'long' is not a duration"),
    leave_word=Bad('transient_leave = "now"', "transient_leave", "'now' is not a duration"),
    no_confirmation=Bad("confirmations = 0", "confirmations", "0 is too small"),
    parameter_text=Bad('[policy_parameters]\npsi = "0.5"', "policy_parameters.psi", "'0.5' is text, not a number"),
    unknown_admission=Bad('admission = "justise"', "admission", "no admission policy 'justise'", "'justice'?"),
    missing_admission=Bad('admission = "x.py"', "admission", "is not a file", "admission policy"),
    admission_list=Bad(
        'admission = "justice"\n[admission_parameters]\nwindow = [3]',
        "admission_parameters.window",
        "[3] is not a number, text or a truth value",
        '"mean"',
    ),
    admission_nan=Bad(
        'admission = "justice"\n[admission_parameters]\nalpha = nan', "admission_parameters.alpha", "nan is too large"
    ),
    fifo_parameters=Bad("[admission_parameters]\nwindow = 3", "admission_parameters", "no effect", '"justice"'),
    fifo_unkept=Bad('admission = "fifo"\nadmit_unkept = true', "admit_unkept", "has no effect with admission"),
    learns=Bad('learn_from_pool = "pool"', "learn_from_pool", "'pool' is text"),
    fanout=Bad("[ssh]\nfanout = 0", "ssh.fanout", "0 is too small"),
    table_expected=Bad("ssh = 3", "ssh", "3 is a whole number, not a table"),
    connecting=Bad('[ssh]\nconnect_timeout = "10m"', "ssh.connect_timeout", "longer than command_timeout"),
    heard=Bad('[patience]\nheard = "1s"', "patience.heard", "1s is shorter than the 3s between", "count as safe"),
    waits=Bad('[retries]\nfirst = "1h"', "retries.first", "first is longer than longest", "longest longer"),
    no_patience=Bad('[patience]\nsilent = "0s"', "patience.silent", "too little"),
    undeclared=Bad('retire_undeclared = "yes"', "retire_undeclared", "'yes' is text"),
    halt=Bad("halt_if_unreachable = 45", "halt_if_unreachable", "45 is too large"),
)
def test_settings_that_are_wrong_are_refused(bad: Bad, tmp_path: Path) -> None:
    path = write(tmp_path, "fawkes.toml", bad.text)
    assert_refused(bad, path, lambda: load_settings(path, catalog=catalog(tmp_path)))


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "fawkes.toml", 'period = 90\ngrowth = "T"\nx = 1\n[ssh]\nfanot = 3')
    keys = {error.key for error in refusals(lambda: load_settings(path, catalog=catalog(tmp_path)))}
    assert keys == {"period", "growth", "x", "ssh.fanot"}


def test_the_command_line_wins(tmp_path: Path) -> None:
    path = write(tmp_path, "fawkes.toml", 'preset = "paper"\npolicy = "JD"\nperiod = "30s"')
    read = load_settings(path, catalog=catalog(tmp_path), preset="demo", policy="eq")
    assert (read.core.preset, read.core.policy, read.core.period_us) == ("demo", "EQ", 30 * SECOND_US)


def test_a_policy_of_the_command_line_that_is_unknown_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_settings(tmp_path / "fawkes.toml", catalog=catalog(tmp_path), policy="TX")
    assert str(caught.value).startswith("--policy: there is no policy 'TX'")
    assert caught.value.exit_status is ExitStatus.USAGE


def test_a_policy_file_beside_the_settings_is_found_by_its_path(tmp_path: Path) -> None:
    path = write(tmp_path, "mine/own.py", "NAME = 'own'")
    policy = settings(tmp_path, 'policy = "mine/own.py"').policy
    assert (policy.name, policy.path, policy.origin) == ("own", path, Origin.GIVEN)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_value_of_a_preset_has_a_source(name: str) -> None:
    assert all(value.source for value in PRESETS[name].values())


@pytest.mark.parametrize(
    ("text", "given", "line"),
    [
        (None, None, "settings: preset steady, because there is no fawkes.toml"),
        ("", None, "settings: preset steady, because fawkes.toml is empty"),
        ("# nothing", None, "settings: preset steady, because fawkes.toml is empty"),
        ('period = "90s"', None, "settings: preset steady, because fawkes.toml names none"),
        ('preset = "demo"', None, "settings: preset demo, as fawkes.toml says"),
        ('preset = "demo"', "paper", "settings: preset paper, as --preset says"),
    ],
)
def test_the_preset_that_counts_is_told(tmp_path: Path, text: str | None, given: str | None, line: str) -> None:
    if text is not None:
        (tmp_path / "fawkes.toml").write_text(text)
    assert Site(tmp_path).settings_line(preset=given) == line
