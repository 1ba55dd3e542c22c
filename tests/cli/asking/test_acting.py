"""Requests, releases and jobs: the commands against a controller that answers over the real socket."""

from __future__ import annotations

import json
import os
import pwd
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from fawkes.base.errors import RefusedError, UserError
from fawkes.cli.asking.acting import fate
from fawkes.cli.asking.client import Client, SilentError
from fawkes.cli.history.web import passed
from fawkes.cli.main import cli
from fawkes.config.settings.tokens import Token
from fawkes.config.site.site import Site
from fawkes.core.values.events import CancelAsked, ResumeAsked
from fawkes.core.values.model import Promise, Reason
from fawkes.live.controller.control import ControlServer
from fawkes.live.controller.endpoint import MOST_BODY_BYTES, reachable
from tests.cli.conftest import INVENTORY, Run, World, job, output

# --- no controller, refusals, names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("request", "c-1"),
        ("release", "c-1", "--yes"),
        ("submit", "c-1", "--class", "org.example.Main"),
        ("cancel", "j-1"),
        ("pause", "--reason", "r"),
        ("resume",),
        ("drain", "node01", "--reason", "r"),
        ("undrain", "node01"),
        ("retry", "node01"),
        ("restore", "c-1", "--yes"),
        ("move-masters", "c-1"),
        ("down", "--yes"),
        ("env", "c-1"),
        ("logs", "c-1"),
    ],
)
def test_without_a_controller_each_says_how_to_start_one(run: Run, site: Path, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.exit_code == 1
    assert result.stderr == f"fawkes: no controller is running for the site {site}. Start it with `fawkes run`\n"
    assert result.stdout == ""


@pytest.fixture(params=["there is no command", "nothing is called"])
def older(site: Path, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """The requests to a controller that heeds neither dry runs nor roles: 0.2.0, or 0.1.0, in its own words."""
    deeds: list[str] = []

    class Older(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200, {})

        def do_POST(self) -> None:
            verb = urlsplit(self.path).path.strip("/")
            if verb in ("resume", "stop"):
                deeds.append(verb)
                self.answer(200, {"refused": None, "facts": {}})
            else:
                what = f"{request.param} /{verb}"
                self.answer(400, {"error": {"exit": 2, "what": what, "where": "", "hint": ""}})

        def answer(self, status: int, body: object) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, template: str, *args: Any) -> None:
            pass

        def address_string(self) -> str:
            return ""

    (site / "state").mkdir(exist_ok=True)
    with ThreadingUnixStreamServer(os.fspath(site / "state" / "control.sock"), Older) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield deeds
        server.shutdown()
        serving.join()


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_older_controller_is_asked_for_nothing_but_its_end(site: Path, older: list[str], dry_run: bool) -> None:
    client = Client(Site(site))
    with pytest.raises(RefusedError, match="of another version than this command"):
        client.post("resume", {}, dry_run=dry_run)
    with pytest.raises(RefusedError, match="was asked for nothing"):
        client.post("stop", {}, dry_run=True)
    assert passed(Site(site), "POST", "/resume", b"{}", Token("vera", "viewer"))[0] == 403
    assert passed(Site(site), "POST", "/stop", b"{}", Token("vera", "viewer"))[0] == 403
    assert older == []
    client.post("stop", {})
    assert older == ["stop"]


def test_a_text_that_is_not_utf_8_is_refused_by_its_key(site: Path) -> None:
    """The shell hands bytes of another encoding on as they are."""
    with pytest.raises(UserError, match=r"^reason: this is not UTF-8\. Write it in UTF-8"):
        Client(Site(site)).post("drain", {"node": "node01", "reason": os.fsdecode(b"roh \xfc")})


def test_the_socket_of_a_dead_controller_is_no_controller(run: Run, site: Path, world: World) -> None:
    assert world.server is not None
    os.link(site / "state" / "control.sock", site / "state" / "left")
    world.server.close()
    os.rename(site / "state" / "left", site / "state" / "control.sock")
    result = run("resume")
    assert (result.exit_code, "no controller is running" in result.stderr) == (1, True)


def test_a_controller_that_nobody_gets_in_to_is_silent(site: Path) -> None:
    """It takes no connection, and so many wait that the kernel refuses one more at once."""
    (site / "state").mkdir()
    with ExitStack() as stack, reachable(site / "state") as address:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(address)
        server.listen(0)
        with suppress(BlockingIOError):
            while True:
                waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(address)
        with pytest.raises(SilentError, match="did not answer within 5 s"):
            Client(Site(site), timeout_s=5.0).get("clusters")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can pretend to be somebody else")
def test_somebody_else_who_listens_there_is_not_believed(run: Run, site: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(site / "control.sock"))
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            other.listen()
        finally:
            os.seteuid(0)
        (site / "state").mkdir()
        os.rename(site / "control.sock", site / "state" / "control.sock")
        result = run("env", "c-1")
    assert result.exit_code == 6
    assert "nobody answers instead of this site's controller" in result.stderr


def test_a_folder_that_is_no_site(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["--site", str(tmp_path / "elsewhere"), "resume"])
    assert result.exit_code == 2
    assert "not a site folder" in result.stderr
    assert "--site" in result.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("release c1 --yes", "Did you mean 'c-1'?"),
        ("move-masters c1", "Did you mean 'c-1'?"),
        ("cancel j-9", "there is no job 'j-9'"),
        ("request c-1 c-1", "the MR-cluster 'c-1' is named twice"),
        ("drain node[01-99] --reason r", "no node node[06-99]"),
        ("drain node[ --reason r", "no node set"),
        ("retry node1", "there is neither a node nor an MR-cluster 'node1'. Did you mean 'node01'?"),
        ("retry c1", "there is neither a node nor an MR-cluster 'c1'. Did you mean 'c-1'?"),
        ("retry zzz", "there is neither a node nor an MR-cluster 'zzz'. `fawkes nodes` and `fawkes status`"),
    ],
)
def test_a_name_that_is_not_there_is_exit_2(run: Run, loaded: World, words: str, says: str) -> None:
    result = run(*words.split())
    assert (result.exit_code, loaded.events) == (2, [])
    assert says in result.stderr


@pytest.mark.parametrize(
    ("words", "refuse", "says"),
    [
        (
            "drain node01 --reason fan",
            Reason("master-node", {"node": "node01", "cluster": "c-1"}),
            "node01 runs the masters of c-1 and cannot leave",
        ),
        (
            "retry node01",
            Reason("nothing-to-retry", {"subject": "node01"}),
            "node01 has nothing to retry; `fawkes status` shows its state",
        ),
        (
            "move-masters c-1 --to node09",
            Reason("no-such-master", {"cluster": "c-1", "node": "node09", "able": ["node02"]}),
            "not one of its journal: the masters of c-1 can go to node02",
        ),
        (
            "request c-1",
            Reason("cluster-exists", {"cluster": "c-1", "minimum": 3, "able": 4}),
            "There is already an MR-cluster c-1, and nothing of it is changed. What its file says now counts for the "
            "next one: release this one first (`fawkes release c-1`)",
        ),
    ],
)
def test_a_refusal_of_the_core_is_exit_6_with_its_facts(
    run: Run, loaded: World, words: str, refuse: Reason, says: str
) -> None:
    loaded.refuse = refuse
    result = run(*words.split())
    assert (result.exit_code, result.stdout) == (6, "")
    assert says in result.stderr


def test_a_long_path_of_the_site(tmp_path: Path) -> None:
    site = tmp_path / ("deep" * 30)
    site.mkdir()
    (site / "inventory.toml").write_text(INVENTORY)
    world = World()
    world.server = ControlServer(site / "state", world.post, world.queries(), lambda: 7, stop=world.stop)
    try:
        assert CliRunner().invoke(cli, ["--site", str(site), "resume"]).exit_code == 0
    finally:
        world.server.close()
    assert isinstance(world.events[0], ResumeAsked)


def test_the_reason_why_nothing_was_sent_gets_through(site: Path, world: World) -> None:
    with pytest.raises(UserError, match="is too long"):
        Client(Site(site)).post("pause", {"reason": "x" * (MOST_BODY_BYTES + 1)})


# --- request --------------------------------------------------------------------------------------------------------


def test_request_by_name_and_by_file(run: Run, site: Path, world: World) -> None:
    (site / "other.toml").write_text('min_nodes = 3\ndeploy = "first-job"\n')
    result = run("request", "c-1", str(site / "other.toml"))
    assert result.exit_code == 0
    first, second = world.events
    assert (first.spec.id, first.spec.min_nodes, first.spec.replication) == ("c-1", 2, 2)
    assert first.spec.details["hadoop_version"]
    assert (second.spec.id, second.spec.deploy_on_first_job) == ("other", True)
    assert "c-1 is requested: 2 core nodes. Follow it with `fawkes status --watch`" in result.stdout
    assert "with its first job: `fawkes submit other ...`" in result.stdout


def test_request_refuses_a_missing_release_with_the_command_to_type(run: Run, world: World) -> None:
    world.releases["releases"] = ["doors"]
    for words in (["request", "c-1", "--no-fetch"], ["request", "c-1"]):
        # The controller's cache is not that of this command: it cannot be filled from here.
        result = run(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            "fawkes: /var/cache/fawkes/dist: the controller's cache lacks Hadoop 3.5.0, so nothing was done. "
            "Run `fawkes dist get 3.5.0` as the user that runs the controller, then try again\n"
        )
    assert world.events == []


def test_request_fetches_a_missing_release_into_the_cache_that_it_shares(
    run: Run, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    world.releases = {"folder": str(tmp_path / "cache" / "dist"), "releases": [], "acts": True}
    result = run("request", "c-1")
    # It goes as far as Maven, which this PATH does not have.
    assert result.exit_code == 1
    assert "the cache lacks Hadoop 3.5.0 and the door keepers of the daemons: fetching it once" in result.stderr
    assert "Maven is not installed" in result.stderr
    assert world.events == []


def test_request_fetches_nothing_for_a_controller_in_shadow_mode(run: Run, world: World) -> None:
    world.releases |= {"releases": [], "acts": False}
    world.refuse = Reason("shadow", {"asked": "Requested"})
    result = run("request", "c-1")
    assert result.exit_code == 6
    assert "start `fawkes run` without --shadow" in result.stderr


def test_request_needs_no_release_of_the_cache_when_the_site_has_one(run: Run, site: Path, world: World) -> None:
    world.releases["releases"] = ["doors"]
    (site / "own.toml").write_text('min_nodes = 2\nreplication = 2\nrelease_dir = "/opt/hadoop"\n')
    assert run("request", str(site / "own.toml")).exit_code == 0


@pytest.mark.slow
def test_request_waits_until_it_runs_and_tells_each_step(run: Run, world: World) -> None:
    world.later("c-1", {"state": "deploying"}, {"state": "loading"}, {"state": "running"})
    result = run("request", "c-1", "--wait", "-o", "json")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[1:] == ["c-1: waiting", "c-1: deploying", "c-1: loading", "c-1: running"]
    assert json.loads(result.stdout)["rows"][0]["state"] == "running"


def test_request_that_waits_for_one_that_fails_is_a_failure(run: Run, world: World) -> None:
    world.later("c-1", {"state": "retiring", "failed": "node01 has no Java"})
    result = run("request", "c-1", "--wait")
    assert result.exit_code == 1
    assert "c-1: node01 has no Java" in result.stderr


def test_request_that_waits_too_long_says_that_it_goes_on(run: Run, world: World) -> None:
    result = run("request", "c-1", "--wait", "--timeout", "10ms")
    assert result.exit_code == 5
    assert "The controller continues with it" in result.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("min_nodes = 9", "9 core nodes are more than the pool"),
        ("min_nodes = 2\nmax_node = 3", "max_nodes"),
        ("min_nodes = ", "is not valid TOML"),
        ('min_nodes = 2\nreplication = 2\nmasters = "standby"', "masters: 'standby' needs 3 core nodes"),
        ('min_nodes = 2\nreplication = 1\n[[data]]\nfrom = "gone"\nto = "/in"', "there is no folder"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_sent(
    run: Run, site: Path, world: World, text: str, says: str
) -> None:
    (site / "bad.toml").write_text(text)
    result = run("request", "c-1", str(site / "bad.toml"))
    assert result.exit_code == 2
    assert says in result.stderr
    assert "bad.toml" in result.stderr
    assert world.events == []


def test_a_second_name_node_is_part_of_the_request(run: Run, site: Path, world: World) -> None:
    (site / "clusters/c-1.toml").write_text('min_nodes = 3\nmasters = "standby"\n')
    result = run("request", "c-1")
    assert "c-1 is requested: 3 core nodes, with a second NameNode. Follow it" in result.stdout
    assert world.events[0].spec.masters is Promise.STANDBY


def test_a_dry_run_of_request_needs_no_controller(run: Run) -> None:
    result = run("request", "c-1", "--dry-run", "-o", "json")
    assert result.exit_code == 0
    row = json.loads(result.stdout)["rows"][0]
    assert (row["min_nodes"], row["promise"]) == (2, "kept")
    assert "dry run: nothing is done" in result.stderr


# --- release --------------------------------------------------------------------------------------------------------


def test_release_lists_what_is_at_stake_and_wants_the_name(run: Run, loaded: World) -> None:
    result = run("release", "c-1", answers="c-1\n")
    assert result.exit_code == 0
    assert "/out  1.5 GB  will be saved to /keep/out before any node is released" in result.stderr
    assert "/tmp  of unknown size  must be discarded with --discard-data, or copied away first: other" in result.stderr
    release = loaded.events[0]
    assert (release.cluster, release.discard, release.force) == ("c-1", False, False)


@pytest.mark.parametrize("typed", ["c-2\n", "yes\n", "\n", ""])
def test_release_does_nothing_for_another_word(run: Run, loaded: World, typed: str) -> None:
    result = run("release", "c-1", answers=typed)
    assert result.exit_code == 6
    assert "nothing was done" in result.stderr
    assert loaded.events == []


@pytest.mark.slow
def test_release_with_stdin_closed_is_refused(site: Path, loaded: World) -> None:
    command = f"exec {sys.executable} -m fawkes --site {site} release c-1 <&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 6
    assert "Without a terminal, add --yes" in done.stderr
    assert loaded.events == []


def test_release_that_gives_data_up_says_so(run: Run, loaded: World) -> None:
    result = run("release", "c-1", "--discard-data", "--force", "--yes")
    assert result.exit_code == 0
    assert "/out  1.5 GB  WILL BE LOST\n" in result.stderr
    assert "/tmp  of unknown size  WILL BE LOST: other data there is not known" in result.stderr
    assert (loaded.events[0].discard, loaded.events[0].force) == (True, True)


def test_release_lists_what_nobody_declared(run: Run, loaded: World) -> None:
    loaded.outputs = [output("c-1", "/user/alice", save_to="", files=1), output("c-1", "/user/x", save_to="", owner="")]
    result = run("release", "c-1", "--yes")
    why = "must be discarded with --discard-data, or copied away first: it is in no declared output folder"
    assert f"  /user/alice  1.5 GB  1 file of alice  {why}" in result.stderr
    assert f"  /user/x  1.5 GB  3 files  {why}" in result.stderr


def test_release_waits_until_it_is_gone_and_tells_alerts(run: Run, loaded: World) -> None:
    loaded.later(
        "c-1", {"state": "saving", "alert": "/keep is full"}, {"state": "retiring", "alert": ""}, {"state": "gone"}
    )
    result = run("release", "c-1", "--yes", "--wait")
    assert result.exit_code == 0
    assert "c-1: saving (/keep is full)\nc-1: retiring\nc-1: gone\n" in result.stderr


def test_a_dry_run_of_release_only_lists_and_asks(run: Run, loaded: World) -> None:
    result = run("release", "c-1", "--dry-run", "-o", "csv")
    assert result.stdout.splitlines()[1] == (
        "c-1,/out,1500000000,3,alice,/keep/out,will be saved to /keep/out before any node is released"
    )
    assert [event.dry_run for event in loaded.events] == [True]


# --- submit and cancel ----------------------------------------------------------------------------------------------


def test_submit_a_jar_with_arguments(run: Run, site: Path, loaded: World) -> None:
    (site / "app.jar").write_bytes(b"PK")
    result = run(
        *("submit", "c-1", "--jar", str(site / "app.jar"), "--class", "org.example.Main", "-D", "a.b=c=d"),
        *("--retries", "2", "--time-limit", "2h", "--reference-time", "90s", "--", "-x", "/in", "/out"),
    )
    assert result.exit_code == 0, result.stderr
    spec = loaded.events[0].spec
    assert spec.id.startswith("app-")
    assert spec.id in result.stdout
    assert (spec.retries, spec.time_limit_us, spec.reference_us) == (2, 7_200_000_000, 90_000_000)
    details = spec.details
    assert (details["kind"], details["jar"]) == ("jar", str(site / "app.jar"))
    assert (details["main_class"], details["args"]) == ("org.example.Main", ["-x", "/in", "/out"])
    assert details["properties"] == {"a.b": "c=d"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--jar", "examples", "--", "wordcount"), {"kind": "jar", "release_jar": "examples", "args": ["wordcount"]}),
        (("--class", "org.x.Sleep", "a"), {"kind": "class", "main_class": "org.x.Sleep", "args": ["a"]}),
        (
            ("--mapper", "cat", "--reducer", "wc", "--input", "/in", "--output-folder", "/out"),
            {"kind": "streaming", "mapper": "cat", "reducer": "wc", "inputs": ["/in"], "output": "/out"},
        ),
        (("--script", "pig -f x.pig"), {"kind": "script", "command": "pig -f x.pig"}),
        (("--python", __file__, "--", "/in"), {"kind": "spark", "python": os.path.realpath(__file__), "args": ["/in"]}),
    ],
)
def test_submit_each_kind(run: Run, loaded: World, words: tuple[str, ...], expected: dict[str, Any]) -> None:
    result = run("submit", "c-1", "--id", "j-1", *words)
    assert result.exit_code == 0, result.stderr
    details = loaded.events[0].spec.details
    assert {key: details[key] for key in expected} == expected


def test_submit_a_file_gives_it_a_new_name_each_time(run: Run, site: Path, loaded: World) -> None:
    (site / "Nightly Sort.toml").write_text('kind = "class"\nclass = "org.x.Sort"\nretries = 1\n')
    for _ in range(2):
        assert run("submit", "c-1", str(site / "Nightly Sort.toml"), "--retries", "3").exit_code == 0
    first, second = (event.spec for event in loaded.events)
    assert first.id.startswith("nightly-sort-")
    assert first.id != second.id
    assert first.retries == 3


def test_submit_a_file_with_a_name_only_once(run: Run, site: Path, loaded: World) -> None:
    (site / "j.toml").write_text('id = "once"\nkind = "class"\nclass = "org.x.Sort"\n')
    loaded.jobs["once"] = job("once", state="succeeded")
    result = run("submit", "c-1", str(site / "j.toml"))
    assert result.exit_code == 2
    assert "there is a job 'once' already (succeeded)" in result.stderr
    assert loaded.events == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--jar", "/no/such.jar"), "there is no file '/no/such.jar'"),
        (("--python", "/no/such.py"), "there is no file '/no/such.py'"),
        (("--python", __file__, "-D", "spark.yarn.queue=x"), "spark.yarn.queue cannot be given"),
        (("--class", "org.x.M", "--file", "/no/such.txt"), "there is no file '/no/such.txt'"),
        (("--class", "org.x.M", "-D", "novalue"), "is no KEY=VALUE"),
        (("--class", "org.x.M", "--id", "A B"), "the command line: id: 'A B' cannot be a name here"),
        (("--class", "org.x.M", "--time-limit", "5"), "is not a duration"),
        (("--class", "org.x.M", "--deadline", "0s"), "the command line: deadline: 0 is too little"),
        (("--class", "org.x.M", "--deadline", "-5m"), "the command line: deadline: '-5m' is not a duration"),
        (("--class", "org.x.M", "--deadline", "999d"), "the command line: deadline: 999d is too large"),
        (("--script", "x", "--jar", "examples"), "means nothing for a job of kind 'script'"),
        (("--mapper", "cat"), "is missing"),
        (("/no/such.toml",), "there is no such file"),
        ((), "neither a job file nor a program"),
        (("a.toml", "b.toml"), "2 job files"),
    ],
)
def test_a_wrong_job_is_refused_before_anything_is_sent(
    run: Run, loaded: World, words: tuple[str, ...], says: str
) -> None:
    result = run("submit", "c-1", *words)
    assert result.exit_code == 2, result.stderr
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert loaded.events == []


def test_a_missing_jar_is_told_without_a_controller(run: Run) -> None:
    assert run("submit", "c-1", "--jar", "/no/such.jar").exit_code == 2


def test_submit_waits_for_the_end(run: Run, loaded: World) -> None:
    loaded.later("j-1", {"state": "running"}, {"state": "succeeded", "run_s": 4.2})
    result = run("submit", "c-1", "--id", "j-1", "--class", "org.x.M", "--wait", "-o", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rows"][0]["run_s"] == 4.2
    assert result.stderr.splitlines()[-1] == "j-1: succeeded"


def test_a_job_that_was_waited_for_and_fails_is_a_failure(run: Run, loaded: World) -> None:
    loaded.later("j-1", {"state": "failed", "why": "exit code 3", "log": "/srv/j-1/stderr"})
    result = run("submit", "c-1", "--id", "j-1", "--class", "org.x.M", "--wait")
    assert result.exit_code == 1
    assert "j-1: the job failed: exit code 3. Its log: /srv/j-1/stderr" in result.stderr


def test_a_job_that_was_waited_for_and_is_dropped_is_a_failure(run: Run, loaded: World) -> None:
    loaded.later("j-1", {"state": "dropped", "why": "its deadline cannot be met", "log": ""})
    result = run("submit", "c-1", "--id", "j-1", "--class", "org.x.M", "--deadline", "20m", "--tasks", "4", "--wait")
    assert result.exit_code == 1
    assert "j-1: the job was dropped: its deadline cannot be met. `fawkes explain --job j-1`" in result.stderr


def test_submit_with_a_deadline(run: Run, loaded: World) -> None:
    result = run("submit", "c-1", "--id", "j-1", "--class", "org.x.M", "--deadline", "20m", "--tasks", "4")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (loaded.events[0].spec.deadline_us, loaded.events[0].spec.unkept) == (1_200_000_000, "")


def test_a_deadline_without_tasks_is_taken_with_a_warning(run: Run, loaded: World) -> None:
    result = run("submit", "c-1", "--id", "j-1", "--class", "org.x.M", "--deadline", "20m")
    assert result.exit_code == 0
    assert "the number of tasks of j-1 is not known: it counts as 1 task" in result.stderr
    assert "Give `tasks` (--tasks)" in result.stderr
    assert loaded.events[0].spec.tasks_estimated


def test_a_dry_run_of_submit_needs_no_controller(run: Run) -> None:
    result = run("submit", "c-1", "--id", "j-1", "--class", "org.x.M", "--dry-run", "-o", "json")
    assert json.loads(result.stdout)["rows"][0]["details"]["main_class"] == "org.x.M"


def test_a_dry_run_of_submit_looks_where_the_job_would_go(run: Run, loaded: World) -> None:
    loaded.jobs = {"j-1": job("j-1")}
    for words, says in (
        (("c-1", "--id", "j-1"), "there is a job 'j-1' already (queued)"),
        (("c-9", "--id", "j-2"), "there is no MR-cluster 'c-9'"),
    ):
        result = run("submit", *words, "--class", "org.x.M", "--dry-run")
        assert result.exit_code == 2
        assert says in result.stderr
        assert (result.stdout, "dry run" in result.stderr) == ("", False), "a refusal stands alone"
    assert loaded.events == []


def test_cancel_tells_what_the_job_was_doing(run: Run, loaded: World) -> None:
    loaded.jobs = {"j-1": job("j-1"), "j-2": job("j-2", state="running")}
    result = run("cancel", "j-1", "j-2")
    assert result.exit_code == 0
    assert result.stdout == "j-1 is out of the queue\nj-2 was running and is being cancelled\n"
    assert [type(event) for event in loaded.events] == [CancelAsked, CancelAsked]


def test_cancel_goes_on_after_one_that_cannot_be(run: Run, loaded: World) -> None:
    loaded.jobs = {"j-1": job("j-1", state="failed"), "j-2": job("j-2")}
    result = run("cancel", "j-1", "j-2", "j-3")
    assert result.exit_code == 4
    assert "1 ok, 2 failed" in result.stderr
    assert [event.job for event in loaded.events] == ["j-2"]


def test_an_output_without_files_is_not_said_to_be_saved() -> None:
    row = {"saved": True, "save_to": "/save/a", "files": 0, "bytes": 0}
    assert [fate({**row, "files": files}, False) for files in (0, 2)] == ["has no files", "is saved in /save/a"]
