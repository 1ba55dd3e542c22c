"""Profiles of a site as files, and jobs that use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.jobs import load_jobs
from fawkes.config.jobs.profiles import every, infeasible, keep, load, ready, versions
from fawkes.core.quota.profile import ApplicationProfile, ProfiledStage, profile_of, stage_id
from fawkes.core.values.model import JobSpec
from tests.config.support import Bad, assert_refused, cases

FIRST = ProfiledStage(id="0 map at a.py:1", duration_s=10.0, tasks=8, records_read=0.0, records_written=100.0, rate=5.0)
SECOND = ProfiledStage(
    id="1 collect at a.py:2", duration_s=5.0, tasks=8, records_read=100.0, records_written=0.0, rate=10.0,
    parents=(FIRST.id,),
)  # fmt: skip
PROFILE = ApplicationProfile("sums", 1, (FIRST, SECOND))
JOB = 'id = "j"\nkind = "spark"\npython = "a.py"\n'


def submitted(folder: Path, text: str, *, site: bool = True) -> JobSpec:
    (folder / "a.py").touch()
    (folder / "j.toml").write_text(JOB + text)
    (spec,) = load_jobs(folder / "j.toml", "c", folder / "profiles" if site else None)
    return spec


def test_each_profile_that_is_kept_is_the_next_version(tmp_path: Path) -> None:
    assert [keep(tmp_path, PROFILE).version for _ in range(11)] == list(range(1, 12))
    assert (load(tmp_path, "sums").version, load(tmp_path, "sums:2").version) == (11, 2)
    assert load(tmp_path, "sums").stages == PROFILE.stages
    assert list(every(tmp_path)) == [("sums", list(range(1, 12)))]
    assert [path.name for path in (tmp_path / "sums").iterdir() if not path.name.endswith(".json")] == []


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("other", "there is no profile 'other'"),
        ("sums:2", "there is no version 2 of sums: it has 1"),
        ("sums:0", "'sums:0' is not a profile"),
        ("sums:", "'sums:' is not a profile"),
        ("../sums", "'../sums' is not a profile"),
        ("", "'' is not a profile"),
    ],
)
def test_a_reference_to_no_profile_is_refused(tmp_path: Path, reference: str, says: str) -> None:
    keep(tmp_path, PROFILE)
    with pytest.raises(UserError) as caught:
        load(tmp_path, reference)
    assert says in caught.value.what
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a profile"),
        ("<html>", "is not a profile"),
        ("[]", "is not a profile"),
        ("[" * 100_000, "is not a profile"),
        ('{"name": "sums", "version": 1, "stages": []}', "1.json: stages: this profile has no stages"),
        (json.dumps(PROFILE.plain()).replace('"rate": 5.0', '"rate": 0'), "1.json: stages.0.rate: is 0"),
        (json.dumps(PROFILE.plain()).replace('"rate": 5.0', '"rate": NaN'), "1.json: stages.0.rate"),
        (json.dumps(PROFILE.plain()).replace('"tasks": 8', '"tasks": 0'), "1.json: stages.0.tasks: is 0"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(tmp_path: Path, text: str, says: str) -> None:
    keep(tmp_path / "profiles", PROFILE)
    (tmp_path / "profiles/sums/1.json").write_text(text)
    with pytest.raises(UserError) as caught:
        load(tmp_path / "profiles", "sums")
    assert says in str(caught.value)
    assert caught.value.hint
    with pytest.raises(UserError, match=r"profile: .*1\.json"):
        submitted(tmp_path, 'profile = "sums"\ndeadline = "5m"\n')


def test_a_job_has_its_whole_profile_with_it(tmp_path: Path) -> None:
    keep(tmp_path / "profiles", PROFILE)
    spec = submitted(tmp_path, 'profile = "sums"\nprofile_size = 2.5\ndeadline = "5m"\n')
    details = JobDetails.of(json.loads(json.dumps(spec.details)))

    assert details.profile is not None
    assert profile_of(details.profile, "j") == PROFILE
    assert details.profile_size == 2.5
    assert "quotas" in spec.unkept
    plain = submitted(tmp_path, "")
    assert (JobDetails.of(plain.details).profile, plain.unkept) == (None, "")
    assert JobDetails.of({"kind": "spark", "profile": {}}).profile is None


DUE = 'profile = "sums"\ndeadline = "5m"\n'


@cases(
    no_deadline=Bad('profile = "sums"\n', "profile", "means nothing without a deadline", "Give `deadline`"),
    no_profile=Bad('profile_size = 2\ndeadline = "5m"\n', "profile_size", "means nothing without a profile"),
    unknown=Bad('profile = "sum"\ndeadline = "5m"\n', "profile", "there is no profile 'sum'", "fawkes profile run"),
    other_version=Bad('profile = "sums:3"\ndeadline = "5m"\n', "profile", "there is no version 3", "profile run"),
    not_a_name=Bad('profile = "a/b"\ndeadline = "5m"\n', "profile", "is not a profile", "NAME:3"),
    no_size=Bad(f"{DUE}profile_size = 0\n", "profile_size", "0"),
    cores=Bad(f'{DUE}properties = {{ "spark.executor.cores" = 2 }}\n', "properties", "each node has one executor"),
    counts=Bad(f'{DUE}properties = {{ "spark.executor.instances" = 2 }}\n', "properties", "each node has one executor"),
)  # fmt: skip
def test_what_a_job_says_wrong_about_its_profile_is_refused(tmp_path: Path, bad: Bad) -> None:
    keep(tmp_path / "profiles", PROFILE)
    assert_refused(bad, tmp_path / "j.toml", lambda: submitted(tmp_path, bad.text))


def test_only_a_site_has_profiles(tmp_path: Path) -> None:
    bad = Bad("", "profile", "only a site has profiles", "fawkes submit")
    assert_refused(bad, tmp_path / "j.toml", lambda: submitted(tmp_path, DUE, site=False))


@pytest.mark.parametrize(
    ("deadline_s", "size", "nodes", "cores", "says"),
    [
        # 30 s of work on 8 cores: 20 of them in the first stage.
        (60.0, 1.0, 4, 2, ""),
        (1.0, 1.0, 4, 2, "needs"),
        (60.0, 40.0, 4, 2, "needs"),
        (60.0, 1.0, None, 2, "nobody can say"),
        (60.0, 1.0, 4, None, "the cores of its nodes"),
    ],
)
def test_a_deadline_that_looks_too_early_is_warned_of(
    deadline_s: float, size: float, nodes: int | None, cores: int | None, says: str
) -> None:
    warning = infeasible(PROFILE, size, deadline_s, nodes, cores)
    assert says in warning
    assert bool(warning) is bool(says)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("reduceByKey at words.py:12", "3 reduceByKey at words.py:12"),
        ("reduceByKey at /yarn/container_1/words.py:12", "3 reduceByKey at words.py:12"),
        ("map at Main.scala:7", "3 map at Main.scala:7"),
        ("(no name)", "3 (no name)"),
    ],
)
def test_a_stage_has_the_same_id_in_each_container(name: str, shown: str) -> None:
    assert stage_id(3, name) == shown


def test_a_folder_that_cannot_be_made_is_said_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "profiles").touch()
    with pytest.raises(UserError, match="cannot be made") as caught:
        ready(tmp_path / "profiles", "sums")
    assert caught.value.hint


def test_versions_of_nothing_are_none(tmp_path: Path) -> None:
    assert versions(tmp_path, "x") == []
    assert list(every(tmp_path / "none")) == []
