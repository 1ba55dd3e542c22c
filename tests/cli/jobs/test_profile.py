"""`fawkes profile`, and jobs that use profiles: what is kept, what people see, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fawkes.config.clusters.details import JobDetails
from tests.cli.conftest import Run, World, job
from tests.config.jobs.test_events import DATA, application, events, log_of

LOG = DATA / "pagerank.events"
SPARK = 'kind = "spark"\npython = "a.py"\n'


@pytest.fixture
def jobfile(site: Path) -> Path:
    (site / "a.py").touch()
    (site / "pages.toml").write_text(f'{SPARK}profile = "pages"\ndeadline = "5m"\n')
    return site / "pages.toml"


def test_a_run_is_submitted_waited_for_and_kept(loaded: World, run: Run, site: Path, jobfile: Path) -> None:
    loaded.log_pieces = [log_of([application("Start", 1_795_824_881_000), *events()]).decode()]
    began = loaded.post

    def ending(event: object) -> None:
        began(event)  # type: ignore[arg-type]
        for name in loaded.jobs:
            facts = {"submitted": "2026-11-28T00:14:35.229Z", "wait_s": 5.25, "run_s": 105.862}
            loaded.later(name, job(name, state="succeeded", application="application_1_0007", **facts))

    assert loaded.server is not None
    loaded.server._post = ending
    done = run("profile", "run", str(jobfile), "--cluster", "c-1", "-o", "json")

    assert done.exit_code == 0, done.stderr
    assert loaded.asked == [{"cluster": "c-1", "application": "application_1_0007"}]
    (event,) = loaded.events
    details = JobDetails.of(event.spec.details)
    assert event.spec.id.startswith("pages-")
    # Without what the file says for runs under quotas: the profile is not there yet.
    assert (details.profile, event.spec.deadline_us) == (None, None)
    said = json.loads(done.stdout)
    assert (said["profile"], said["profile_version"], len(said["rows"])) == ("pages", 1, 3)
    # YARN saw it from 1 s before its first stage to 2 s after its last one.
    assert (said["rows"][0]["idle_s"], said["end_s"]) == (1.0, 2.0)
    assert (site / "profiles/pages/1.json").is_file()


def test_a_run_that_fails_makes_no_profile(loaded: World, run: Run, site: Path, jobfile: Path) -> None:
    began = loaded.post

    def ending(event: object) -> None:
        began(event)  # type: ignore[arg-type]
        for name in loaded.jobs:
            loaded.later(name, job(name, state="failed", why="no rows"))

    assert loaded.server is not None
    loaded.server._post = ending
    done = run("profile", "run", str(jobfile), "--cluster", "c-1")
    assert done.exit_code == 1
    assert "no rows" in done.stderr
    assert list((site / "profiles/pages").iterdir()) == []


def test_profiles_are_made_from_a_log_listed_shown_and_exported(run: Run, site: Path, tmp_path: Path) -> None:
    rolled = tmp_path / "eventlog_v2_application_1_0007_1"
    rolled.mkdir()
    lines = LOG.read_bytes().splitlines(keepends=True)
    (rolled / "events_1_application_1_0007_1").write_bytes(b"".join(lines[:5]))
    (rolled / "events_2_application_1_0007_1").write_bytes(b"".join(lines[5:]))
    assert run("profile", "make", "pages", "--from", str(LOG)).exit_code == 0
    assert run("profile", "make", "pages", "--from", str(rolled)).exit_code == 0
    (site / "profiles/broken").mkdir()
    (site / "profiles/broken/1.json").write_text("{}")

    broken, pages = json.loads(run("profile", "list", "-o", "json").stdout)["rows"]
    assert (pages["profile_version"], pages["versions"], pages["stages"]) == (2, [1, 2], 3)
    assert "1.json: name: is None" in broken["why"]
    shown = [run("profile", "show", name, "-o", "csv").stdout for name in ("pages", "pages:1")]
    assert shown[0] == shown[1]
    assert shown[0].startswith(
        "stage,idle_s,duration_s,tasks,records_read,records_written,rate,parents\n0 partitionBy at "
    )
    assert run("profile", "export", "pages", str(tmp_path / "out.json")).exit_code == 0
    assert json.loads((tmp_path / "out.json").read_text())["version"] == 2
    assert run("profile", "export", "pages", str(tmp_path / "out.json")).exit_code == 6


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("profile show pages", 2, "profiles/pages: there is no profile 'pages'. Make it with `fawkes profile run"),
        ("profile make pages --from {site}/inventory.toml", 2, "inventory.toml: line 2: is not an event of Spark"),
        ("profile make pages --from {site}/none", 2, "there is no such file"),
        ("profile make pages --from {site}/clusters", 2, "has no event log"),
        ("profile make a/b --from {site}/inventory.toml", 2, "'a/b' is not a profile"),
        ("profile run {site}/clusters/c-1.toml --cluster c-1", 2, "kind: is missing"),
        ("profile run {site}/jar.toml --cluster c-1", 2, "is not a job of kind 'spark'"),
        ("profile run {site}/two.toml --cluster c-1", 2, "has several jobs"),
        ("submit c-1 {site}/pages.toml", 2, "profile: {site}/profiles/pages: there is no profile 'pages'"),
    ],
)
def test_what_cannot_be_is_refused_with_the_next_command(
    run: Run, site: Path, jobfile: Path, words: str, code: int, says: str
) -> None:
    (site / "jar.toml").write_text('kind = "script"\ncommand = "true"\n')
    (site / "two.toml").write_text(f"[[job]]\n{SPARK}[[job]]\n{SPARK}")
    done = run(*words.format(site=site).split())
    assert (done.exit_code, done.exception is None or isinstance(done.exception, SystemExit)) == (code, True)
    assert says.format(site=site) in done.stderr


@pytest.mark.parametrize(("deadline", "nodes", "says"), [("5m", 4, ""), ("1s", 4, "looks too early"), ("5m", None, "")])
def test_a_deadline_that_is_too_early_is_said_and_blocks_nothing(
    loaded: World, run: Run, jobfile: Path, deadline: str, nodes: int | None, says: str
) -> None:
    run("profile", "make", "pages", "--from", str(LOG))
    loaded.clusters["c-1"]["max_nodes"] = nodes
    jobfile.write_text(jobfile.read_text().replace("5m", deadline))
    done = run("submit", "c-1", str(jobfile))
    assert done.exit_code == 0, done.stderr
    assert says in done.stderr
    assert ("early" in done.stderr) is bool(says)
