from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import DeadlineError, FawkesError, RefusedError
from fawkes.base.units import SECOND_US
from fawkes.cli.asking.client import Client
from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.site.site import Site
from fawkes.config.workloads.workloads import WorkloadFile, load_workload
from fawkes.core.values.effects import Reply
from fawkes.core.values.events import Event
from fawkes.core.values.model import ClusterSpec, JobSpec, Plain, Reason
from fawkes.live.controller.control import ControlServer
from fawkes.store.record import to_plain
from fawkes.workload.playing.play import Posted, Until, play, with_data
from tests.config.support import pool

TEXT = """
[[generate]]
name = "book"
kind = "words"
size = "2KB"

[[cluster]]
id = "c-1"
min_nodes = 1
replication = 1
data = [{ from = "generated:book", to = "/in" }]

[[cluster]]
id = "c-2"
at = "30s"
min_nodes = 1
replication = 1

[[job]]
id = "early"
cluster = "c-2"
after = "start"
kind = "sleep"
maps = 1
map_time = "1s"
delay = "10s"

[[job]]
id = "batch"
cluster = "c-1"
kind = "sleep"
maps = 1
map_time = "1s"
count = 3
every = "5s"
delay = "2s"

[[job]]
id = "late"
cluster = "c-1"
after = "running"
kind = "sleep"
maps = 1
map_time = "1s"
delay = "3s"
"""


@pytest.fixture
def workload(tmp_path: Path) -> WorkloadFile:
    (tmp_path / "w.toml").write_text(TEXT)
    return load_workload(tmp_path / "w.toml", pool(tmp_path), site=tmp_path)


class SaidNoError(RefusedError):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.reason = Reason(code)


@dataclass
class Pool:
    """A controller and its time: MR-clusters run 20 s after their request, each job takes 10 s."""

    time_us: int = 1_000_000
    requested: dict[str, int] = field(default_factory=dict)
    submitted: dict[str, tuple[str, int]] = field(default_factory=dict)
    heard: list[tuple[float, str]] = field(default_factory=list)
    down: Callable[[int], bool] = lambda _: False
    lose_answer_of: set[str] = field(default_factory=set)
    never_ends: bool = False
    failed: str = ""

    def now_us(self) -> int:
        return self.time_us

    def sleep_us(self, us: int) -> None:
        self.time_us += us

    def at_s(self) -> float:
        return self.time_us / SECOND_US - 1

    def post(self, verb: str, body: Mapping[str, Any]) -> Mapping[str, Plain]:
        self._answer()
        spec = body["spec"]
        known: Mapping[str, object] = self.requested if verb == "request" else self.submitted
        if spec["id"] in known:
            raise SaidNoError("cluster-exists" if verb == "request" else "job-exists")
        self.heard.append((round(self.at_s(), 3), spec["id"]))
        if verb == "request":
            self.requested[spec["id"]] = self.time_us
        elif spec["cluster"] not in self.requested:
            raise SaidNoError("no-such-cluster")
        else:
            self.submitted[spec["id"]] = (spec["cluster"], self.time_us)
        if spec["id"] in self.lose_answer_of:
            self.lose_answer_of.discard(spec["id"])
            raise FawkesError("the controller hung up")
        return {}

    def rows(self, name: str, **only: str) -> list[dict[str, Any]]:
        self._answer()
        if name == "jobs":
            if "job" in only:
                ended = only["job"] in self.submitted and self._job(self.submitted[only["job"]][1]) == "succeeded"
                times = {"wait_s": 4.0, "run_s": 6.0} if ended else {}
                return [{"job": only["job"], **times}] if only["job"] in self.submitted else []
            return [{"job": job, "state": self._job(since)} for job, (_, since) in self.submitted.items()]
        rows = [{"cluster": cluster, "state": self._life(cluster), "failed": self.failed} for cluster in self.requested]
        return [row for row in rows if only.get("cluster", row["cluster"]) == row["cluster"]]

    def _answer(self) -> None:
        if self.down(self.time_us):
            raise FawkesError("no controller runs")

    def _job(self, since: int) -> str:
        return "running" if self.never_ends or self.time_us < since + 10 * SECOND_US else "succeeded"

    def _life(self, cluster: str) -> str:
        if self.failed:
            return "gone"
        if self.time_us < self.requested[cluster] + 20 * SECOND_US:
            return "loading"
        busy = [job for job, (of, since) in self.submitted.items() if of == cluster and self._job(since) == "running"]
        idle = self.time_us >= self.requested[cluster] + 60 * SECOND_US
        return "running" if busy or not idle else "gone"


def test_everything_is_asked_for_once_and_at_its_time(workload: WorkloadFile) -> None:
    pool_ = Pool()
    played = play(workload, pool_, clock=pool_)
    expected = [(0, "c-1"), (2, "batch-1"), (7, "batch-2"), (12, "batch-3"), (23, "late"), (30, "c-2"), (30, "early")]
    assert pool_.heard == expected
    assert [(post.name, post.tries) for post in played.posted] == [(name, 1) for _, name in expected]
    assert played.took_us == pytest.approx(90 * SECOND_US, abs=2 * SECOND_US)
    assert played.drift_us == 20 * SECOND_US  # `early` waited for its MR-cluster
    assert played.in_words() == "2 MR-clusters and 5 jobs were requested, at most 20s late"


@pytest.mark.parametrize(("until", "over_s"), [("gone", 90), ("ended", 41)])
def test_the_end(workload: WorkloadFile, until: Until, over_s: int) -> None:
    pool_ = Pool()
    played = play(workload, pool_, clock=pool_, until=until)
    assert played.took_us == pytest.approx(over_s * SECOND_US, abs=2 * SECOND_US)


def test_a_restart_of_the_controller_is_outlived(workload: WorkloadFile) -> None:
    pool_ = Pool()
    pool_.down = lambda now: 6 * SECOND_US < now < 40 * SECOND_US
    said: list[str] = []
    played = play(workload, pool_, clock=pool_, say=said.append)
    assert sorted(name for _, name in pool_.heard) == sorted(post.name for post in played.posted)
    assert len(pool_.heard) == 7
    assert "no controller runs: trying again" in said
    assert "the controller answers again" in said
    batch = next(post for post in played.posted if post.name == "batch-2")
    assert 30 * SECOND_US < batch.drift_us < 35 * SECOND_US


@pytest.mark.parametrize("name", ["c-1", "batch-2"])
def test_nothing_is_asked_for_twice_when_an_answer_is_lost(workload: WorkloadFile, name: str) -> None:
    pool_ = Pool(lose_answer_of={name})
    played = play(workload, pool_, clock=pool_)
    assert [heard for _, heard in pool_.heard].count(name) == 1
    assert {post.name: post.tries for post in played.posted}[name] == 2
    assert "1 of them more than once" in played.in_words()


def test_what_was_there_before_the_first_try_is_refused(workload: WorkloadFile) -> None:
    pool_ = Pool(requested={"c-1": 0})
    with pytest.raises(RefusedError, match="cluster-exists"):
        play(workload, pool_, clock=pool_)


def test_patience_ends(workload: WorkloadFile) -> None:
    pool_ = Pool(down=lambda now: True)
    with pytest.raises(FawkesError, match="no controller runs"):
        play(workload, pool_, clock=pool_, patience_us=5 * SECOND_US)
    assert pool_.at_s() == pytest.approx(5, abs=1)


def test_a_limit(workload: WorkloadFile) -> None:
    pool_ = Pool(never_ends=True)
    with pytest.raises(DeadlineError, match="w was not finished after 2m00s"):
        play(workload, pool_, clock=pool_, limit_us=120 * SECOND_US)


def test_a_mr_cluster_that_fails_before_its_jobs_are_submitted(workload: WorkloadFile) -> None:
    pool_ = Pool(failed="no node came up")
    with pytest.raises(FawkesError, match="4 of its jobs were submitted: no node came up") as caught:
        play(workload, pool_, clock=pool_)
    assert caught.value.where == "c-1"


def test_a_mr_cluster_may_arrive_after_another_runs(workload: WorkloadFile) -> None:
    first, second = workload.clusters
    pool_ = Pool()
    play(replace(workload, clusters=(first, replace(second, after="c-1"))), pool_, clock=pool_)
    assert (50, "c-2") in pool_.heard


def test_a_mr_cluster_that_never_runs_is_not_waited_for(workload: WorkloadFile) -> None:
    first, second = workload.clusters
    pool_ = Pool(failed="no node came up")
    with pytest.raises(FawkesError, match="it was gone before it ran: no node came up"):
        play(replace(workload, clusters=(first, replace(second, after="c-1")), jobs=()), pool_, clock=pool_)


def test_a_job_behind_others_comes_when_the_last_of_them_has_ended(workload: WorkloadFile) -> None:
    jobs = {str(job.spec.id): job for job in workload.jobs}
    late = replace(jobs["late"], behind=("batch-1", "batch-3"), think_us=5 * SECOND_US)
    pool_ = Pool()
    play(replace(workload, jobs=(jobs["batch-1"], jobs["batch-3"], late)), pool_, clock=pool_)
    ((at_s, _),) = [heard for heard in pool_.heard if heard[1] == "late"]
    # batch-3 comes at 12 s and takes 10; its end is seen at the next look.
    assert 27 <= at_s <= 28


def test_what_runs_already_is_not_requested(workload: WorkloadFile) -> None:
    pool_ = Pool(requested={"c-1": -30 * SECOND_US})
    only = replace(workload, clusters=(), jobs=tuple(job for job in workload.jobs if job.spec.cluster == "c-1"))
    play(only, pool_, clock=pool_, until="ended", there=["c-1"])
    assert pool_.heard == [(2, "batch-1"), (3, "late"), (7, "batch-2"), (12, "batch-3")]


def test_ready_is_when_all_mr_clusters_run(workload: WorkloadFile) -> None:
    pool_ = Pool()
    played = play(replace(workload, jobs=()), pool_, clock=pool_, until="ready")
    assert played.took_us == pytest.approx(50 * SECOND_US, abs=2 * SECOND_US)


def killed_after(notes: int, kept: dict[tuple[str, str], Posted]) -> Callable[[Posted], None]:
    """Keeps what is noted, as a journal does, until the player is killed with the last of so many notes."""
    heard = 0

    def note(posted: Posted) -> None:
        nonlocal heard
        kept[posted.verb, posted.name] = posted
        heard += 1
        if heard == notes:
            raise BrokenOffError

    return note


class BrokenOffError(Exception):
    pass


@pytest.mark.parametrize("notes", range(1, 16))
@pytest.mark.parametrize("arrived", [False, True])
def test_one_that_was_broken_off_goes_on_where_it_was(workload: WorkloadFile, notes: int, arrived: bool) -> None:
    """Killed at any note: before something was sent, before it was heard that it ``arrived``, or after that."""
    pool_ = Pool()
    kept: dict[tuple[str, str], Posted] = {}
    with pytest.raises(BrokenOffError):
        play(workload, pool_, clock=pool_, note=killed_after(notes, kept))
    open_ = [post for post in kept.values() if not post.tries]
    assert len(open_) <= 1
    if arrived:
        for post in open_:
            specs: list[ClusterSpec | JobSpec] = [
                *(it.spec for it in workload.clusters),
                *(it.spec for it in workload.jobs),
            ]
            (spec,) = [spec for spec in specs if spec.id == post.name]
            pool_.post(post.verb, {"spec": to_plain(spec)})
    pool_.time_us += 7 * SECOND_US
    played = play(workload, pool_, clock=pool_, earlier=list(kept.values()))
    names = [name for _, name in pool_.heard]
    assert sorted(names) == sorted(post.name for post in played.posted)
    assert len(names) == 7
    for before in open_:
        (after,) = [posted for posted in played.posted if posted.name == before.name]
        assert after.tries == 1
        assert after.at_us == before.at_us if arrived else after.at_us >= before.at_us
    # The times of those that had not come yet are as they were, counted from where it goes on.
    other = Pool()
    whole = {one.name: one.due_us for one in play(workload, other, clock=other).posted}
    assert {one.name: one.due_us for one in played.posted if one.name.startswith("batch")} == {
        name: due for name, due in whole.items() if name.startswith("batch")
    }


def test_a_refused_job_is_not_taken_for_ours_by_the_same_command(workload: WorkloadFile) -> None:
    only = replace(workload, clusters=(), jobs=workload.jobs[1:2])
    pool_ = Pool(requested={"c-1": 0}, submitted={str(only.jobs[0].spec.id): ("c-1", 0)})
    notes: list[Posted] = []
    for _ in range(2):
        with pytest.raises(RefusedError, match="job-exists"):
            play(only, pool_, clock=pool_, until="ended", there=["c-1"], earlier=notes, note=notes.append)


def test_the_journal_s_time_of_a_request_wins(workload: WorkloadFile) -> None:
    job = replace(workload.jobs[1], after="request", delay_us=10 * SECOND_US)
    pool_ = Pool(requested={"c-1": 1_000_000})
    earlier = [Posted("request", "c-1", 40 * SECOND_US, 40 * SECOND_US, 1)]
    only = replace(workload, clusters=(), jobs=(job,))
    played = play(only, pool_, clock=pool_, until="ended", there=["c-1"], earlier=earlier)
    assert played.posted[-1].due_us == 50 * SECOND_US


def test_jobs_behind_data_come_as_much_later_as_it_took_and_keep_their_distance(workload: WorkloadFile) -> None:
    """The MR-cluster runs 20 s after its request, its data takes 10 s (seen within a second)."""
    jobs = {str(job.spec.id): job for job in workload.jobs}
    data = replace(jobs["batch-1"], after="running", delay_us=0)
    behind = [
        replace(jobs[name], after="request", delay_us=at_s * SECOND_US, behind=("batch-1",))
        for name, at_s in (("batch-2", 5), ("batch-3", 25), ("late", 40))
    ]
    pool_ = Pool()
    only = replace(workload, clusters=workload.clusters[:1], jobs=(data, *behind))
    played = play(only, pool_, clock=pool_, until="ended", data=["batch-1"])
    posted = {post.name: post for post in played.posted}
    times_s = [posted[name].due_us / SECOND_US for name in ("batch-2", "batch-3", "late")]
    assert times_s == pytest.approx([15, 35, 50], abs=1)
    assert {name for name, post in posted.items() if post.drift_us > 5 * SECOND_US} == {"batch-2"}


def test_a_job_s_end_is_what_the_controller_says(workload: WorkloadFile) -> None:
    """Also in a run that goes on: what is noticed late comes late, and says so."""
    first, second = workload.jobs[1:3]
    second = replace(second, delay_us=0, behind=(str(first.spec.id),), think_us=2500)
    pool_ = Pool(requested={"c-1": 1_000_000}, submitted={str(first.spec.id): ("c-1", 1_000_000)}, time_us=31_000_000)
    earlier = [Posted("submit", str(first.spec.id), 0, 0, 1), Posted("runs", "c-1", 30_000_000, 30_000_000, 1)]
    only = replace(workload, clusters=(), jobs=(first, second))
    posted = play(only, pool_, clock=pool_, until="ended", there=["c-1"], earlier=earlier).posted[-1]
    assert (posted.due_us, round(posted.drift_us / SECOND_US)) == (10_002_500, 20)


def test_what_was_spent_before_counts_for_the_limit(workload: WorkloadFile) -> None:
    pool_ = Pool(never_ends=True)
    with pytest.raises(DeadlineError, match="after 2m00s"):
        play(workload, pool_, clock=pool_, limit_us=120 * SECOND_US, spent_us=100 * SECOND_US)
    assert pool_.at_s() <= 22


def test_generated_data_takes_the_place_of_its_name(workload: WorkloadFile, tmp_path: Path) -> None:
    ready = with_data(workload, tmp_path / "made")
    data = ClusterDetails.of(ready.clusters[0].spec.details).data
    assert [(data_set.source, data_set.to) for data_set in data] == [(str(tmp_path / "made" / "book" / "data"), "/in")]
    assert sum(path.stat().st_size for path in Path(data[0].source).iterdir()) == 2000


class Shop:
    """A controller behind a real socket that is started anew after each request, its answer lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        self.changing = threading.Lock()
        self.open()

    def open(self) -> None:
        queries = {"clusters": self.clusters, "jobs": self.jobs}
        self.server = ControlServer(self.folder, self.post, queries, lambda: 7, stop=lambda by: None)

    def post(self, event: Event) -> None:
        request: Any = event
        if request.spec.id not in self.names:
            self.names.append(request.spec.id)
            threading.Thread(target=self.again).start()
            return
        reply = Reply(request.ask, Reason("job-exists", {"job": request.spec.id}), {})
        threading.Thread(target=self.answer, args=(reply,)).start()

    def answer(self, reply: Reply) -> None:
        # A new server listens before it is here: who asks it at once must not be answered by the old one.
        with self.changing:
            self.server.reply(reply)

    def again(self) -> None:
        with self.changing:
            self.server.close()
            self.open()

    def clusters(self, parameters: Mapping[str, str]) -> Plain:
        life = "running" if len(self.names) < 7 else "gone"
        return [
            {"cluster": name, "state": life, "failed": ""}
            for name in self.names
            if name.startswith("c-") and parameters.get("cluster", name) == name
        ]

    def jobs(self, parameters: Mapping[str, str]) -> Plain:
        return [{"job": name, "state": "running"} for name in self.names if parameters.get("job") == name]


def test_on_a_real_socket_that_goes_away_under_every_request(workload: WorkloadFile, tmp_path: Path) -> None:
    class Fast:
        time_us = 0

        def now_us(self) -> int:
            return self.time_us

        def sleep_us(self, us: int) -> None:
            self.time_us += us

    site = tmp_path / "site"
    site.mkdir()
    (site / "inventory.toml").touch()
    shop = Shop(site / "state")
    try:
        ready = with_data(workload, tmp_path / "made")
        played = play(ready, Client(Site(site)), clock=Fast(), patience_us=10**12)
    finally:
        shop.server.close()
    assert sorted(shop.names) == sorted(post.name for post in played.posted)
    assert all(post.tries >= 2 for post in played.posted)
