"""Operating a pool: pause, drain, down, env, logs and policies against a controller with a few rows."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import FawkesError
from fawkes.core.values.events import MoveMastersAsked, PauseAsked, ResumeAsked, RetryAsked, UndrainAsked
from fawkes.core.values.model import Reason
from tests.cli.conftest import Run, World, cluster, job, node
from tests.support.programs import program
from tests.support.waiting import wait_for

# --- pause, drain, down ---------------------------------------------------------------------------------------------


def test_pause_needs_a_reason_and_names_the_way_back(run: Run, world: World) -> None:
    assert run("pause").exit_code == 2
    result = run("pause", "--reason", "benchmark until noon")
    assert "`fawkes resume`" in result.stdout
    assert run("resume").exit_code == 0
    first, second = world.events
    assert isinstance(first, PauseAsked)
    assert first.reason == "benchmark until noon"
    assert isinstance(second, ResumeAsked)


def test_drain_a_set_of_nodes_and_put_it_back(run: Run, world: World) -> None:
    world.nodes["node02"].update(state="serving", cluster="c-1", role="transient")
    result = run("drain", "node[01-02]", "--reason", "new fans")
    assert result.exit_code == 0
    assert "node01 goes out of service\n" in result.stdout
    assert "node02 leaves c-1, where it is transient, and then goes out of service" in result.stdout
    assert [(event.node, event.reason) for event in world.events] == [("node01", "new fans"), ("node02", "new fans")]
    run("undrain", "node01")
    assert isinstance(world.events[-1], UndrainAsked)


def test_drain_of_a_core_node_says_what_comes_first(run: Run, world: World) -> None:
    world.nodes["node02"].update(state="serving", cluster="c-1", role="core")
    result = run("drain", "node02", "--reason", "new fans")
    assert "node02 leaves c-1 once another core node has replaced it, and then goes out of service" in result.stdout


def test_drain_waits_until_the_node_is_out(run: Run, world: World) -> None:
    world.nodes["node02"].update(state="serving", cluster="c-1", role="transient-core")
    world.later("node02", {"state": "evacuating", "alert": "3 blocks are not safe"}, {"state": "out", "alert": ""})
    result = run("drain", "node02", "--reason", "new fans", "--wait")
    assert result.exit_code == 0
    assert "node02: evacuating (3 blocks are not safe)\nnode02: out\n" in result.stderr


def test_drain_does_not_wait_for_a_node_that_somebody_puts_back(run: Run, world: World) -> None:
    world.nodes["node02"].update(state="serving", cluster="c-1", role="core")
    world.later("node02", {"alert": "no other node can replace it"}, {"alert": "", "keep_out": ""})
    result = run("drain", "node[01-02]", "--reason", "new fans", "--wait")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == (
        "fawkes: node02 was put back into service meanwhile. "
        "`fawkes events` says by whom; `fawkes drain node02 --reason WHY` drains again"
    )


def test_a_dry_run_of_drain_shows_the_node(run: Run, world: World) -> None:
    result = run("drain", "node01", "--reason", "r", "--dry-run", "-o", "csv")
    assert result.stdout.splitlines() == ["node,state,cluster,role,keep_out", "node01,free,,,"]
    assert world.events == []


def downs(world: World) -> list[tuple[bool, bool, bool]]:
    """Each time that the end was asked for: whether that was a question only, and what was given up."""
    return [(event.dry_run, event.discard, event.force) for event in world.events]


def test_down_asks_first_and_follows_until_the_controller_ends(run: Run, site: Path, loaded: World) -> None:
    result = run("down", answers="pool-1\n")
    assert result.exit_code == 0, result.stderr
    assert downs(loaded) == [(True, False, False), (False, False, False)]
    assert (loaded.ended, loaded.stopped_by) == (True, [])
    assert "/tmp  of unknown size  must be discarded with --discard-data" in result.stderr
    assert "The controller has stopped: every node is wiped and free" in result.stdout
    wait_for(lambda: not (site / "state" / "control.sock").exists(), "the socket to go")


@pytest.mark.slow
def test_down_tells_each_step_and_waits_for_the_wiping(run: Run, loaded: World) -> None:
    loaded.clusters = {"c-1": cluster("c-1", state="deploying")}
    loaded.later("c-1", {}, {}, {"state": "retiring"}, {}, {"state": "gone"})
    loaded.nodes["node01"].update(state="cleaning")
    loaded.later("node01", {}, {}, {}, {}, {"state": "free"})
    result = run("down", "--yes")
    assert result.exit_code == 0, result.stderr
    assert "c-1: deploying\nc-1: retiring\n" in result.stderr


@pytest.mark.slow
def test_down_asks_again_when_the_controller_forgot_that_it_should_end(run: Run, loaded: World) -> None:
    loaded.clusters = {"c-1": cluster("c-1", state="saving")}
    loaded.later("c-1", {}, {"state": "gone"})
    loaded.nodes["node01"].update(state="cleaning")
    loaded.later("node01", {}, {}, {}, {"state": "free"})
    loaded.forgetful = True
    result = run("down", "--yes", "--timeout", "30s")
    assert result.exit_code == 0, result.stderr
    assert len(loaded.events) > 2


FOLDER = {"path": "/user/ann", "bytes": 5_000_000_000, "files": 3, "owner": "ann"}
UNDECLARED = Reason("undeclared-data", {"cluster": "c-2", "count": 1, "undeclared": [FOLDER]})
FOREIGN = Reason(
    "foreign-applications",
    {"cluster": "c-1", "count": 1, "applications": [{"id": "app_1", "name": "pi", "user": "ann"}]},
)


def test_down_lists_every_refusal_and_releases_nothing(run: Run, loaded: World) -> None:
    loaded.kept = [FOREIGN, UNDECLARED]
    result = run("down", "--yes")
    assert result.exit_code == 6
    assert "c-1: c-1 runs applications that are none of its jobs: app_1 (pi of ann)" in result.stderr
    assert "`fawkes release c-1 --force`" in result.stderr
    assert "/user/ann (5.0 GB, 3 files, of ann)" in result.stderr
    assert "`fawkes release c-2 --discard-data`" in result.stderr
    assert "c-1, c-2 must not be released: nothing was done" in result.stderr
    assert downs(loaded) == [(True, False, False)]


def test_a_dry_run_of_down_says_what_would_be_refused(run: Run, loaded: World) -> None:
    loaded.kept = [UNDECLARED]
    result = run("down", "--dry-run")
    assert result.exit_code == 6
    assert "c-2 must not be released: nothing was done" in result.stderr
    loaded.kept = []
    result = run("down", "--dry-run")
    assert result.exit_code == 0
    assert "would release every MR-cluster" in result.stderr
    assert all(event.dry_run for event in loaded.events)


def test_a_dry_run_of_release_says_what_would_be_refused(run: Run, loaded: World) -> None:
    loaded.refusals = {"c-2": UNDECLARED}
    refused = run("release", "c-2", "--dry-run")
    assert refused.exit_code == 6
    assert "c-2: must not be released: c-2 has data in HDFS" in refused.stderr
    result = run("release", "c-1", "--dry-run")
    assert result.exit_code == 0
    assert "`fawkes release c-1` would release it" in result.stderr
    assert all(event.dry_run for event in loaded.events)


@pytest.mark.parametrize(
    ("state", "options", "going"),
    [
        ("running", [], False),
        ("saving", [], True),
        ("saving", ["--discard-data"], False),
        ("saving", ["--force"], False),
        ("retiring", [], True),
        ("retiring", ["--discard-data"], True),
    ],
)
def test_a_dry_run_says_that_an_mr_cluster_goes_already(
    run: Run, loaded: World, state: str, options: list[str], going: bool
) -> None:
    loaded.clusters["c-1"].update(state=state)
    said = run("release", "c-1", "--dry-run", *options).stderr
    assert (f"c-1 is being released already: it is {state}" in said) == going
    assert ("would release it" in said) != going


def test_down_leaves_the_controller_to_wipe_a_lost_node(run: Run, loaded: World) -> None:
    loaded.nodes["node04"].update(state="lost", alert="does not answer since noon")
    result = run("down", "--yes")
    assert result.exit_code == 4
    assert "node04: does not answer since noon" in result.stderr
    assert not loaded.ended


def test_down_keep_stops_the_controller_only(run: Run, loaded: World) -> None:
    result = run("down", "--keep")
    assert result.exit_code == 0, result.stderr
    assert loaded.events == []
    assert len(loaded.stopped_by) == 1
    assert "2 MR-clusters keep running without it" in result.stdout


def test_down_wants_the_name_of_the_pool(run: Run, loaded: World) -> None:
    assert run("down", answers="yes\n").exit_code == 6
    assert all(event.dry_run for event in loaded.events)
    assert loaded.stopped_by == []


# --- what is held: retry, drain --discard-data, undrain ---------------------------------------------------------


def test_retry_of_a_node_of_several_and_of_an_mr_cluster(run: Run, loaded: World) -> None:
    loaded.facts = {"tried": 2}
    assert "node01 is retried now" in run("retry", "node01").stdout
    result = run("retry", "node[02-03]", "-o", "json")
    assert json.loads(result.stdout)["rows"] == [{"subject": "node02", "tried": 2}, {"subject": "node03", "tried": 2}]
    assert run("retry", "c-1").exit_code == 0
    assert [event.subject for event in loaded.events] == ["node01", "node02", "node03", "c-1"]
    assert all(isinstance(event, RetryAsked) for event in loaded.events)


def test_retry_of_an_mr_cluster_that_is_gone(run: Run, loaded: World) -> None:
    loaded.clusters["c-1"]["state"] = "gone"
    assert run("retry", "c-1").exit_code == 2


def test_masters_move_after_the_jobs_that_run(run: Run, loaded: World) -> None:
    loaded.facts = {"cluster": "c-1", "jobs": ["j-1", "j-2"]}
    result = run("move-masters", "c-1", "--to", "node02")
    assert result.stdout == (
        "The masters of c-1 go to node02 once these have ended: j-1, j-2. Follow it with `fawkes events --follow`\n"
    )
    result = run("move-masters", "c-1", "--now")
    assert "go to another core node now. These begin again afterwards: j-1, j-2." in result.stdout
    moves = [(event.cluster, event.to, event.now) for event in loaded.events]
    assert moves == [("c-1", "node02", False), ("c-1", None, True)]
    assert all(isinstance(event, MoveMastersAsked) for event in loaded.events)


def test_a_dry_run_of_retry_shows_how_it_stands(run: Run, loaded: World) -> None:
    loaded.nodes["node01"].update(state="lost", alert="no route to host")
    result = run("retry", "node01", "--dry-run", "-o", "csv")
    assert result.stdout.splitlines() == ["subject,state,alert", "node01,lost,no route to host"]
    assert loaded.events == []


def test_completion_knows_retry(run: Run) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fawkes"],
        env={**os.environ, "_FAWKES_COMPLETE": "bash_complete", "COMP_WORDS": "fawkes ret", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["plain,retry"]


@pytest.fixture
def held(loaded: World) -> World:
    """node02 is lost with data, node03 is held while it leaves."""
    at_risk = {"at_risk": ["/user/ann/x", "/user/ann/y"], "at_risk_files": 7, "missing": [], "missing_files": 0}
    loaded.nodes["node02"].update(state="lost", cluster="c-1", role="core", alert="its DataNode is dead")
    loaded.nodes["node03"].update(state="evacuating", cluster="c-1", role="transient-core", alert="/user", **at_risk)
    return loaded


def test_discarding_data_lists_it_and_wants_the_name(run: Run, held: World) -> None:
    result = run("drain", "node03", "--discard-data", "--reason", "dead disk", answers="node03\n")
    assert result.exit_code == 0, result.stderr
    assert "too few replicas on other nodes: /user/ann/x, /user/ann/y and 5 more" in result.stderr
    assert "Type 'node03' to continue" in result.stderr
    assert "node03 is wiped without a proof that its data is elsewhere" in result.stdout
    (drain,) = held.events
    assert (drain.node, drain.discard, drain.reason) == ("node03", True, "dead disk")


@pytest.mark.parametrize("typed", ["node02\n", "yes\n", "\n", ""])
def test_discarding_data_does_nothing_for_another_word(run: Run, held: World, typed: str) -> None:
    result = run("drain", "node03", "--discard-data", "--reason", "dead disk", answers=typed)
    assert result.exit_code == 6
    assert "nothing was done" in result.stderr
    assert held.events == []


def test_discarding_data_with_yes_does_not_ask(run: Run, held: World) -> None:
    result = run("drain", "node02", "--discard-data", "--reason", "dead disk", "--yes")
    assert result.exit_code == 0, result.stderr
    assert "node02 is lost: its DataNode is dead\n  which files are at risk is not known" in result.stderr
    assert held.events[0].discard is True


def test_discarding_data_of_a_node_that_holds_nothing_up_is_refused(run: Run, held: World) -> None:
    held.nodes["node04"].update(state="serving", cluster="c-1", role="core")
    for nodes in ("node01", "node04", "node[02,04]"):
        result = run("drain", nodes, "--discard-data", "--reason", "r", "--yes")
        assert result.exit_code == 6
        assert "no MR-cluster waits for data on it, so nothing was discarded" in result.stderr
    assert held.events == []


def test_a_drain_without_discard_gives_nothing_up(run: Run, held: World) -> None:
    result = run("drain", "node02", "--reason", "r")
    assert "node02 is lost: it goes out of service when it has been wiped and its data is proven" in result.stdout
    assert held.events[0].discard is False


def test_an_undrain_of_a_node_that_leaves_all_the_same_says_so(run: Run, held: World) -> None:
    held.facts = {"leaves": True, "life": "evacuating"}
    result = run("undrain", "node03")
    assert "node03 may serve again, but it still leaves c-1; it is free after that" in result.stdout
    held.facts = {"leaves": False, "life": "out"}
    assert "node01 is back in service" in run("undrain", "node01").stdout


# --- env, logs, policies --------------------------------------------------------------------------------------------


@pytest.fixture
def installed(loaded: World, tmp_path: Path) -> Path:
    """A release and a Java that say what they are called with."""
    root = tmp_path / "it's"
    for place, text in (("bin/hadoop", 'echo "$HADOOP_CONF_DIR $JAVA_HOME $*"'), ("java/bin/java", "true")):
        program(root / place, text)
    files = {"core-site.xml": "<configuration/>", "yarn-site.xml": "<configuration/>"}
    loaded.env = {"release_dir": str(root), "java_home": str(root / "java"), "files": files}
    return root


def test_env_makes_hadoop_work(run: Run, site: Path, installed: Path) -> None:
    result = run("env", "c-1")
    assert result.exit_code == 0, result.stderr
    folder = site / "state" / "env" / "c-1"
    done = subprocess.run(
        ["/bin/sh", "-c", 'eval "$1"; hadoop version', "sh", result.stdout], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f"{folder} {installed}/java version\n"
    assert (folder / "core-site.xml").read_text() == "<configuration/>"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder.parent, folder)] == [0o700] * 2


def test_env_makes_pig_and_spark_work_where_they_are(
    run: Run, site: Path, loaded: World, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    pig, home = tmp_path / "pig 1", tmp_path / "spark 1"
    for place, text in (("bin/spark-submit", 'echo "$SPARK_HOME $SPARK_CONF_DIR"'), ("python/lib/pyspark.zip", "")):
        program(home / place, text)
    (installed / "bin/hadoop").write_text('#!/bin/sh\necho "$HADOOP_CLASSPATH" "$@"\n')
    loaded.env |= {"pig": str(pig), "spark": str(home), "spark_history": "10.0.0.1:18080"}
    script = 'eval "$1"; spark-submit; pig -x mapreduce q.pig; echo "$PYTHONPATH $SPARK_HISTORY"'
    argv = ["/bin/sh", "-c", script, "sh", run("env", "c-1").stdout]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"]})
    assert done.stdout.splitlines() == [
        f"{home} {site}/state/env/c-1",
        f"{pig}/lib/* org.apache.pig.Main -x mapreduce q.pig",
        f"{home}/python/lib/pyspark.zip http://10.0.0.1:18080",
    ]


def test_env_without_spark_here_says_how_to_get_it(run: Run, loaded: World, installed: Path) -> None:
    loaded.env |= {"spark": "/opt/none"}
    result = run("env", "c-1")
    assert result.exit_code == 1
    assert "Run `fawkes dist get spark` as the user that runs the controller" in result.stderr


def test_env_replaces_what_is_old(run: Run, site: Path, loaded: World, installed: Path) -> None:
    run("env", "c-1")
    loaded.env["files"] = {"core-site.xml": "new"}
    run("env", "c-1")
    folder = site / "state" / "env" / "c-1"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"core-site.xml": "new"}


def test_env_for_csh(run: Run, loaded: World, tmp_path: Path) -> None:
    root = tmp_path / "really!"
    for place in ("bin/hadoop", "bin/java"):
        program(root / place, "")
    loaded.env = {"release_dir": str(root), "java_home": str(root), "files": {}}
    lines = run("env", "c-1", "--csh").stdout.splitlines()
    assert lines[0] == f"setenv JAVA_HOME '{tmp_path}/really\\!';"
    assert lines[-1] == f"setenv PATH '{tmp_path}/really\\!/bin':\"$PATH\";"


def test_env_without_the_release_here_says_how_to_get_it(run: Run, loaded: World, installed: Path) -> None:
    loaded.env["release_dir"] = "/opt/none"
    result = run("env", "c-1")
    assert result.exit_code == 1
    assert "/opt/none: the Hadoop release of this MR-cluster is not on this machine" in result.stderr
    assert result.stdout == ""


def test_env_never_writes_elsewhere(run: Run, site: Path, loaded: World, installed: Path) -> None:
    loaded.env["files"] = {"../../evil": "x"}
    assert run("env", "c-1").exit_code == 2
    assert not (site / "state" / "evil").exists()


def test_logs_come_under_their_names(run: Run, loaded: World) -> None:
    loaded.log_pieces = [
        {"node": "node01", "file": "namenode.log", "text": "one\n"},
        {"node": "node01", "file": "namenode.log", "text": "two\n"},
        {"node": "node02", "file": "datanode.log", "text": "three"},
    ]
    result = run("logs", "c-1", "--node", "node01", "--job", "j-1", "--lines", "5")
    assert result.stdout == "==> node01 namenode.log <==\none\ntwo\n\n==> node02 datanode.log <==\nthree\n"
    assert loaded.asked == [{"cluster": "c-1", "node": "node01", "job": "j-1", "lines": "5"}]
    lines = run("logs", "c-1", "-o", "json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == loaded.log_pieces


def test_logs_that_break_off_are_a_failure(run: Run, loaded: World) -> None:
    loaded.log_pieces = [
        {"node": "node01", "file": "a.log", "text": "one\n"},
        FawkesError("does not answer", where="node02", hint="Look at it"),
    ]
    result = run("logs", "c-1")
    assert result.exit_code == 1
    assert "one\n" in result.stdout
    assert "node02: does not answer. Look at it" in result.stderr


def test_policies_come_with_their_origin_and_are_not_run(run: Run, site: Path) -> None:
    (site / "policies").mkdir()
    (site / "policies" / "td.py").write_text('"""Mine.\n\nMore."""\nraise SystemExit(9)\n')
    (site / "policies" / "broken.py").write_text("def (:\n")
    listed = json.loads(run("policies", "-o", "json").stdout)["rows"]
    rows = {row["policy"].lower(): row for row in listed}
    assert (rows["td"]["origin"], rows["td"]["summary"]) == ("site", "Mine.")
    assert len(rows["td"]["hides"]) == 1
    assert rows["jd"]["origin"] == "bundled"
    assert rows["broken"]["summary"].startswith("CANNOT BE READ")


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (("pause", "--reason", "r"), {"voluntary_moves": "paused", "reason": "r"}),
        (("resume",), {"voluntary_moves": "allowed", "reason": ""}),
        (("drain", "node01", "--reason", "r"), node("node01", state="out", keep_out="r")),
        (("undrain", "node01"), node("node01")),
        (("retry", "node01"), {"subject": "node01", "tried": None}),
        (("move-masters", "c-1"), {"cluster": "c-1", "node": None, "waits_for": []}),
        (("release", "c-2", "--yes"), cluster("c-2", state="gone")),
        (("cancel", "j-1"), job("j-1")),
        (("down", "--keep"), node("node01")),
    ],
)
def test_with_o_json_stdout_has_rows_alone(
    run: Run, loaded: World, words: tuple[str, ...], row: dict[str, Any]
) -> None:
    loaded.jobs = {"j-1": job("j-1")}
    result = run(*words, "-o", "json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rows"][0] == row
    assert result.stderr


@pytest.mark.parametrize(
    "words", [("drain", "node01", "--reason", "r"), ("undrain", "node01"), ("retry", "node01"), ("cancel", "j-1")]
)
def test_a_dry_run_ends_as_the_verb_would(run: Run, loaded: World, words: tuple[str, ...]) -> None:
    loaded.jobs = {"j-1": job("j-1")}
    assert run(*words, "--dry-run").exit_code == 0
    loaded.refuse = Reason("not-drained", {"node": "node01"})
    refused = run(*words, "--dry-run")
    assert (refused.exit_code, "node01 is not out of service" in refused.stderr) == (6, True)
    assert (len(loaded.rehearsed), loaded.events) == (2, [])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "drain node[01-02] --reason r --wait",
            "The drain goes on: `fawkes nodes` shows it, `fawkes undrain node[01-02]` ends it",
        ),
        (
            "submit c-1 --id j --class org.x.M --jar examples --wait",
            "What was submitted goes on: `fawkes jobs` shows it, `fawkes cancel j` ends it",
        ),
        ("cancel j-1 --wait", "The controller goes on cancelling: `fawkes jobs` shows how they end"),
        (
            "release c-2 --yes --wait",
            "The release goes on and cannot be taken back: `fawkes status c-2` shows its state",
        ),
        (
            "request c-1 --wait",
            "What was requested goes on: `fawkes status` shows it, `fawkes release NAME` takes it back",
        ),
        (
            "down --yes",
            "The controller goes on and then stops, which cannot be taken back: `fawkes down` again follows it",
        ),
    ],
)
def test_who_interrupts_a_wait_is_told_what_goes_on(
    run: Run, loaded: World, monkeypatch: pytest.MonkeyPatch, words: str, says: str
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    loaded.jobs = {"j-1": job("j-1")}
    for name in ("node01", "c-2"):
        loaded.later(name, {}, {}, {}, {}, {})
    monkeypatch.setattr("fawkes.cli.asking.waiting.sleep", interrupted)
    result = run(*words.split())
    assert result.exit_code == 130, result.output
    assert result.stderr.splitlines()[-1] == f"fawkes: interrupted. {says}"
