"""Verbs that wait, beside a controller that is killed, stopped or cut off: 0 only for what the ledger has."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest
from click.testing import Result

from fawkes.base.errors import DeadlineError, FawkesError
from fawkes.cli.asking.client import Client, HungUpError, SilentError, trouble
from fawkes.cli.asking.waiting import followed, wait_for, within
from fawkes.cli.clusters.restore import _wait
from fawkes.config.site.site import Site
from fawkes.core.values.events import Condition, ReleaseAsked
from fawkes.core.values.model import ClusterId, Facts, Plain
from fawkes.live.controller.endpoint import SOCKET
from fawkes.report import history
from fawkes.store.sqlite import LedgerReader
from tests.cli.conftest import Run
from tests.support.desk import Desk
from tests.support.silent_controller import Controller, controller, desk, once

pytestmark = pytest.mark.slow

Ready = Callable[[], Desk]


def running() -> Desk:
    """One MR-cluster that runs."""
    ready = desk()
    ready.up("a")
    return ready


def saving() -> Desk:
    """It is being released."""
    ready = running()
    ready.tell(ReleaseAsked(at_us=ready.now_us, cluster=ClusterId("a"), ask="release"))
    return ready


def retiring() -> Desk:
    """It has been saved."""
    ready = saving()
    ready.done("cluster:a")
    return ready


def gone() -> Desk:
    """It is gone, and its nodes are wiped."""
    ready = retiring()
    for node in ("node01", "node02"):
        ready.see(node, Condition.CLEAN)
    return ready


def deploying() -> Desk:
    """It has only been requested."""
    ready = desk()
    ready.request("a")
    return ready


def working() -> Desk:
    """A job of it waits for YARN."""
    ready = running()
    ready.submit("a", 1)
    return ready


STAGES: dict[str, Ready] = {each.__name__: each for each in (deploying, saving, retiring, running, working)}
DOWN = ("down", "--yes")
RELEASE = ("release", "a", "--yes", "--wait")
DRAIN = ("drain", "node01", "--reason", "fan", "--wait")
SUBMIT = ("submit", "a", "--id", "j", "--class", "org.x.M", "--wait")
CANCEL = ("cancel", "a-1", "--wait")


def asked(there: Controller) -> Callable[[], bool]:
    """True once the ledger has what the verb asks for, and not only what it looks up first."""
    with closing(LedgerReader(there.folder)) as ledger:
        before = ledger.last_seq()

    def has() -> bool:
        with closing(LedgerReader(there.folder)) as ledger:
            new = [event.event for event in ledger.entries(after=before)]
            wanted = [event for event in new if hasattr(event, "ask") and not getattr(event, "dry_run", False)]
            return bool(wanted) and (history.given_back_by(ledger) != "" or type(wanted[0]).__name__ != "DownAsked")

    return has


def faulty(run: Run, site: Path, stage: str, fault: str, words: tuple[str, ...]) -> Result:
    with controller(site, STAGES[stage]()) as there, once(asked(there), getattr(there, fault)):
        return run(*words)


@pytest.mark.parametrize(
    ("stage", "words", "left"),
    [
        ("saving", DOWN, ["a is saving: 2 nodes", "node[01-02] are serving in a"]),
        ("running", SUBMIT, ["the job j is starting"]),
        *(
            pytest.param(*case, marks=pytest.mark.drill)
            for case in (
                ("deploying", DOWN, ["a is retiring: 2 nodes, 0 jobs running, 0 waiting"]),
                ("retiring", DOWN, ["a is retiring", "node[01-02] are cleaning in a"]),
                ("running", RELEASE, ["a is saving: 2 nodes, 0 jobs running, 0 waiting"]),
                ("running", DRAIN, ["node01 is serving in a"]),
                ("working", CANCEL, ["the job a-1 is being cancelled"]),
            )
        ),
    ],
)
def test_a_killed_controller_is_exit_1_with_what_is_not_done(
    run: Run, site: Path, stage: str, words: tuple[str, ...], left: list[str]
) -> None:
    result = faulty(run, site, stage, "kill", words)
    assert result.exit_code == 1, result.stderr
    assert "by the ledger, this is not done:\n" in result.stderr
    for text in left:
        assert f"  {text}" in result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("fawkes: the controller ended before ")
    assert "Start it with `fawkes run`" in last
    assert "The controller has stopped" not in result.output
    assert ("by the ledger, the controller had accepted `fawkes down`" in result.stderr) == (words == DOWN)
    # Nobody is told to submit a job once more.
    assert ("repeat the command" in last) == (words == DRAIN)


@pytest.mark.parametrize(
    ("stage", "words", "fault"),
    [
        ("saving", DOWN, "pause"),
        ("running", SUBMIT, "cut"),
        pytest.param("saving", DOWN, "cut", marks=pytest.mark.drill),
        pytest.param("running", RELEASE, "pause", marks=pytest.mark.drill),
        pytest.param("running", SUBMIT, "pause", marks=pytest.mark.drill),
    ],
)
def test_a_controller_that_does_not_answer_is_exit_5(
    run: Run, site: Path, stage: str, words: tuple[str, ...], fault: str
) -> None:
    result = faulty(run, site, stage, fault, (*words, "--timeout", "500ms"))
    assert result.exit_code == 5, result.stderr
    assert "by the ledger, this is not done:\n" in result.stderr
    assert "the time limit ended before" in result.stderr
    assert "and the controller does not answer" in result.stderr


def test_without_a_limit_it_is_not_waited_for_without_end(site: Path) -> None:
    with controller(site, saving()) as there:
        there.cut()
        client = Client(Site(site))

        def look() -> bool | None:
            return None if client.rows("clusters") else True

        with pytest.raises(DeadlineError, match=r"the controller has not answered for .* before it was done"):
            wait_for(client, look, "it was done", silent_s=0.1)


def test_what_the_ledger_has_counts_also_when_nobody_answers(site: Path, run: Run) -> None:
    with controller(site, gone()) as there:
        there.kill()
        client = Client(Site(site))
        assert wait_for(client, lambda: client.rows("clusters", cluster="a")[0]["state"], "it was gone") == "gone"


@pytest.mark.drill
def test_a_controller_that_goes_on_is_waited_for(run: Run, site: Path) -> None:
    """It is stopped while it is asked to end, and goes on once the command has said so."""
    with controller(site, desk()) as there:
        there.pause()
        client = Client(Site(site))
        looks = iter([None, True])

        def look() -> bool | None:
            client.rows("clusters")
            answer = next(looks)
            if answer is None:
                there.go_on()
            return answer

        assert wait_for(client, look, "it was done") is True


def test_an_empty_pool_ends_by_the_ledger(run: Run, site: Path) -> None:
    with controller(site, desk()) as there:
        result = run(*DOWN)
        assert result.exit_code == 0, result.stderr
        assert "The controller has stopped: every node is wiped and free" in result.stdout
        there.process.join(60)
        assert there.process.exitcode == 0
    with closing(LedgerReader(site / "state")) as ledger:
        assert history.ended(ledger)
    # Whoever lost sight of it types it again, and a script that does so has what it wanted.
    again = run(*DOWN)
    assert again.exit_code == 0, again.stderr
    assert "ended with every node wiped and free. Nothing was done" in again.stdout
    assert run("down", "--keep").exit_code == 1


def test_a_controller_killed_before_the_end_of_an_empty_pool_is_no_end(run: Run, site: Path) -> None:
    """The ledger looks the same but for one thing: control was never ended."""
    with controller(site, retiring()) as there, once(asked(there), there.kill):
        assert run(*DOWN).exit_code == 1
    with closing(LedgerReader(site / "state")) as ledger:
        assert not history.ended(ledger)
    again = run(*DOWN)
    assert again.exit_code == 1
    assert "no controller is running" in again.stderr


def test_down_keep_waits_for_the_process(run: Run, site: Path) -> None:
    with controller(site, running()) as there:
        result = run("down", "--keep")
        assert result.exit_code == 0, result.stderr
        assert "1 MR-cluster keeps running without it" in result.stdout
        there.process.join(60)
        assert there.process.exitcode == 0


@pytest.mark.drill
def test_down_keep_beside_one_that_hangs(run: Run, site: Path) -> None:
    with controller(site, running()) as there:
        there.pause()
        result = run("down", "--keep")
    assert result.exit_code == 5
    assert "does not answer within 8 s, so it was asked for nothing" in result.stderr


@pytest.mark.drill
def test_a_second_down_beside_the_first(run: Run, site: Path) -> None:
    """Both follow the same end, and both learn of the death of the controller."""
    with controller(site, saving()) as there, once(asked(there), there.kill):
        first = run(*DOWN)
    assert first.exit_code == 1
    with controller(site) as there, once(lambda: there.steps() > 0, there.kill):
        # The wish to end is in the ledger: whoever asks again follows it.
        assert run(*DOWN).exit_code == 1


def test_a_full_disk_is_told_and_is_no_end(run: Run, site: Path) -> None:
    with controller(site, saving()) as there, once(asked(there), there.fill):
        result = run(*DOWN, "--timeout", "7s")
    assert result.exit_code == 5, result.stderr
    assert "NOTHING IS DECIDED: " in result.stderr
    assert "The controller continues" not in result.stderr


def test_a_ledger_that_cannot_be_read(site: Path) -> None:
    with controller(site, saving()) as there:
        there.kill()
        (site / "state" / "ledger.sqlite").rename(site / "moved")
        client = Client(Site(site))
        with pytest.raises(FawkesError, match="the controller ended before it was done") as caught:
            wait_for(client, lambda: client.rows("clusters") or None, "it was done")
    assert caught.value.exit_status == 1


@pytest.mark.drill
def test_a_restore_that_is_cut_short(site: Path) -> None:
    ready = desk()
    ready.up("a", 3)
    with controller(site, ready) as there:
        client = Client(Site(site))
        master = client.rows("clusters", cluster="a")[0]["masters_on"]
        client.post("move-masters", {"cluster": "a", "to": None, "now": True})
        assert client.rows("clusters", cluster="a")[0]["masters_moving"]
        there.kill()
        with pytest.raises(FawkesError, match=f"the controller ended before the masters of a served on {master}"):
            _wait(client, "a", master, None)


def test_a_loop_that_stands_still_is_told() -> None:
    assert trouble({"trouble": "", "event": "Sampled", "event_s": 0.4}) == ""
    assert trouble({}) == ""
    assert trouble({"trouble": "", "event": "Sampled", "event_s": 163.2}) == (
        "NOTHING IS DECIDED: the controller has worked on one event (Sampled) for 2m43s"
    )
    assert trouble({"trouble": "/x: the disk is full", "event": "Woke", "event_s": 99.0}) == (
        "NOTHING IS DECIDED: /x: the disk is full"
    )


# --- reading verbs beside a controller that hangs -------------------------------------------------------------------

READING = (["status"], ["nodes"], ["jobs"], ["explain", "--cluster", "a"], ["events"], ["events", "--verify"])


@pytest.mark.parametrize(
    ("fault", "verbs"),
    [("cut", READING), pytest.param("pause", READING, marks=pytest.mark.drill), ("pause", READING[:1])],
    ids=["cut", "stopped, all", "stopped"],
)
def test_reading_verbs_say_it_first_and_end_with_4(
    run: Run, site: Path, fault: str, verbs: tuple[list[str], ...]
) -> None:
    with controller(site, running()) as there:
        assert run("status").exit_code == 0
        getattr(there, fault)()
        for words in verbs:
            result = run(*words)
            assert result.exit_code == 4, (words, result.output)
            first = result.stdout.splitlines()[0]
            assert first.startswith("THE CONTROLLER DOES NOT ANSWER"), words
            assert f"process {there.pid} on " in first
            assert "last sign of life 20" in first
            assert "What follows is as of 20" in first
            if words == ["status"]:
                assert "4 nodes: 2 held, 2 free, 0 out of service\n" in result.stdout
        answered = run("status", "-o", "json")
        assert answered.exit_code == 4
        assert answered.stderr.startswith("THE CONTROLLER DOES NOT ANSWER")
        plain = json.loads(answered.stdout)
        assert plain["rows"][0]["cluster"] == "a"
        assert plain["pool"]["unanswered"].startswith("THE CONTROLLER DOES NOT ANSWER")
        assert plain["pool"]["silent"] == 0


def test_reading_verbs_beside_a_full_disk_say_it_first_and_end_with_4(run: Run, site: Path) -> None:
    with controller(site, running()) as there:
        there.fill()
        for words in READING[:5]:
            result = run(*words)
            assert result.exit_code == 4, (words, result.output)
            first = result.stdout.splitlines()[0]
            assert first.startswith("NOTHING IS DECIDED: "), words
            assert "What follows is as of 20" in first
            assert result.stdout.count("NOTHING IS DECIDED") == 1
        pool = json.loads(run("status", "-o", "json").stdout)["pool"]
        assert pool["trouble"]
        assert pool["unanswered"].startswith(f"NOTHING IS DECIDED: {pool['trouble']} (process {there.pid} on ")


def test_a_request_that_nobody_answered_is_followed_where_somebody_waits(site: Path) -> None:
    """The controller died between the step in its ledger and the answer."""
    client = Client(Site(site))
    with followed(client, waits=True):
        raise HungUpError("it hung up")
    with pytest.raises(HungUpError), followed(client, waits=False):
        raise HungUpError("it hung up")


def test_a_controller_killed_before_down_asks_it_has_done_nothing(
    run: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = Client.post

    def ends(self: Client, verb: str, body: Mapping[str, Plain], **how: bool) -> Facts:
        there.kill()
        return post(self, verb, body, **how)

    with controller(site, running()) as there:
        monkeypatch.setattr(Client, "post", ends)
        result = run(*DOWN)
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert "the controller ended before `fawkes down` asked it to release anything: nothing was done" in last
    assert "then type `fawkes down` again" in last


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_connection_that_ends_without_an_answer_is_told_without_names_of_python(
    method: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "state").mkdir(exist_ok=True)
    monkeypatch.chdir(site / "state")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(SOCKET)
        server.listen()
        Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        with pytest.raises(HungUpError, match="the controller ended the connection without an answer") as told:
            Client(Site(site), timeout_s=1.0).passed(method, "/x", None, {})
    assert "Remote" not in str(told.value)
    assert ("It may have done what it was asked for" in str(told.value.hint)) == (method == "POST")


def test_a_controller_that_runs_and_hangs_up_is_not_waited_for(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fawkes.cli.asking.waiting._CLOSING_S", 0.0)
    with (
        controller(site, running()) as there,
        pytest.raises(HungUpError),
        followed(Client(Site(there.folder.parent)), waits=True),
    ):
        raise HungUpError("it hung up")


def test_an_answer_is_waited_for_no_longer_than_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller may have stored what it was asked for, and hang before it answers; the wait has what is left."""
    client = Client(Site(tmp_path))
    clock_s = 100.0
    monkeypatch.setattr("fawkes.cli.asking.waiting.monotonic", lambda: clock_s)
    with within(client, 2_500_000) as left_us:
        assert client.timeout_s == 2.5
        clock_s = 102.25
        raise SilentError("the controller did not answer")
    assert client.timeout_s == 120.0
    assert left_us() == 250_000
    clock_s = 110.0
    assert left_us() == 0
    with pytest.raises(SilentError), within(client, None):
        raise SilentError("the controller did not answer")
