"""A release that the controller's cache lacks is refused before anything is admitted, with the command to type."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import FawkesError, UserError
from fawkes.config.clusters.details import ClusterDetails, JobDetails, Output
from fawkes.core.state.state import State
from fawkes.core.values.effects import Deploy, Effect, Host
from fawkes.core.values.events import Condition, Event, Failed, NodeObserved, PauseAsked, Requested, Submitted
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId, Role
from fawkes.live.hadoop.releases import MissingReleaseError, Releases, provide_needed, refuse_without_release, releases
from fawkes.playbook.dist import manifest
from fawkes.playbook.dist.cache import folder_of, is_there
from fawkes.playbook.dist.compile.compiled import COPIES, DOORS, SECURE_IO, JavaCode
from fawkes.playbook.dist.pieces import Piece, of_name
from fawkes.playbook.dist.pins import pin
from tests.live.played import give_hands, world_of
from tests.support.cached import make
from tests.support.desk import Desk


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))


FAR = (Output(path="/out", save_to="hdfs://far/out"),)


def requested(**details: Any) -> Requested:
    plain = ClusterDetails(**details).plain()
    return Requested(at_us=1, spec=ClusterSpec(id=ClusterId("c-1"), min_nodes=1, details=plain), by="ann", ask="q")


def submitted(kind: str) -> Submitted:
    details = JobDetails(kind=kind).plain()
    return Submitted(at_us=1, spec=JobSpec(id=JobId("j"), cluster=ClusterId("c-1"), details=details), by="ann", ask="q")


def test_a_missing_hadoop_is_refused_with_its_command(tmp_path: Path) -> None:
    make(DOORS)
    with pytest.raises(UserError) as refused:
        refuse_without_release(requested(hadoop_version="3.4.2"), State())
    assert refused.value.what == "the controller's cache lacks Hadoop 3.4.2, so nothing was done"
    assert refused.value.where == str(tmp_path / "dist")
    assert "`fawkes dist get 3.4.2`" in refused.value.hint


@pytest.mark.parametrize(
    ("details", "there", "lacking", "command"),
    [
        ({"hadoop_version": "3.5.0"}, (pin("3.5.0"),), DOORS, "3.5.0"),
        ({"release_dir": "/opt/hadoop"}, (), DOORS, "doors"),
        ({"hadoop_version": "3.5.0", "security": "kerberos"}, (pin("3.5.0"), DOORS), SECURE_IO, "3.5.0"),
        ({"release_dir": "/opt/hadoop", "security": "kerberos"}, (DOORS,), SECURE_IO, "kerberos"),
        ({"hadoop_version": "3.5.0", "outputs": FAR}, (pin("3.5.0"), DOORS), COPIES, "3.5.0"),
        ({"release_dir": "/opt/hadoop", "outputs": FAR}, (DOORS,), COPIES, "copies"),
    ],
)
def test_a_missing_jar_of_ours_is_refused_with_its_command(
    details: dict[str, Any], there: tuple[Piece, ...], lacking: JavaCode, command: str
) -> None:
    for piece in there:
        make(piece)
    with pytest.raises(UserError) as refused:
        refuse_without_release(requested(**details), State())
    assert refused.value.what == f"the controller's cache lacks {lacking.title}, so nothing was done"
    assert f"Run `fawkes dist get {command}` as the user" in refused.value.hint
    assert lacking in of_name(command)
    make(lacking)
    refuse_without_release(requested(**details), State())


@pytest.mark.parametrize(
    ("kind", "lacks"), [("pig", "lacks Pig"), ("tasks", "lacks the ApplicationMaster for jobs of tasks")]
)
def test_what_a_kind_of_jobs_lacks_is_refused_with_its_command(kind: str, lacks: str) -> None:
    with pytest.raises(UserError, match=lacks) as refused:
        refuse_without_release(submitted(kind), State())
    assert f"`fawkes dist get {kind}`" in refused.value.hint


@pytest.mark.parametrize(
    ("security", "kind", "what", "hint"),
    [
        ("", "spark", "the nodes of c-1 have no Spark", 'software = ["spark"]'),
        ("kerberos", "tasks", "tasks do not run with the Kerberos of c-1", "Name an MR-cluster without"),
    ],
)
def test_an_mr_cluster_takes_no_job_that_it_cannot_run(security: str, kind: str, what: str, hint: str) -> None:
    desk = Desk(3)
    desk.request("c-1", details=ClusterDetails(hadoop_version="3.5.0", security=security).plain())
    with pytest.raises(UserError, match=what) as refused:
        refuse_without_release(submitted(kind), desk.state)
    assert hint in refused.value.hint


def test_what_needs_nothing_of_the_cache_is_not_refused() -> None:
    refuse_without_release(submitted("sleep"), State())
    refuse_without_release(PauseAsked(at_us=1, reason="x", by="ann", ask="q"), State())


def test_a_job_that_would_deploy_its_cluster_is_refused_while_that_lacks_something() -> None:
    """Its MR-cluster would get nodes for it, and could not use them."""
    desk = Desk(3)
    desk.request("c-1", deploy_on_first_job=True, details=ClusterDetails(hadoop_version="3.5.0").plain())
    with pytest.raises(UserError, match="and the door keepers of the daemons"):
        refuse_without_release(submitted("sleep"), desk.state)
    desk = Desk(3)
    desk.up("c-1")
    refuse_without_release(submitted("sleep"), desk.state)


def test_an_empty_cache_has_no_releases(tmp_path: Path) -> None:
    # A folder of the right name is not yet a release.
    (tmp_path / "dist" / "hadoop-3.5.0").mkdir(parents=True)
    assert releases(acts=True) == {"folder": str(tmp_path / "dist"), "releases": [], "acts": True}


def test_after_an_upgrade_releases_are_fetched_once_each() -> None:
    desk = Desk(9)
    for name, version in (("a", "3.4.2"), ("b", "3.4.2"), ("c", "3.5.0")):
        desk.request(name, details=ClusterDetails(hadoop_version=version).plain())
    desk.request("d", 1, details=ClusterDetails(release_dir="/opt/hadoop").plain())
    said: list[str] = []
    fetched: list[str] = []

    def provide(wanted: Piece) -> None:
        fetched.append(wanted.title)
        if len(fetched) == 1:
            raise FawkesError("no network")

    provide_needed(desk.state, said.append, provide)
    assert fetched == ["Hadoop 3.4.2", DOORS.title, "Hadoop 3.5.0"]
    assert "no network. Run `fawkes dist get 3.4.2`" in said[1]
    assert len(said) == 4


HADOOP = pin("3.5.0")
DEADLINE_S = 30.0
WAIT_US = 1000


class Site:
    """A site whose Maven answers when the test lets it."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.said: list[str] = []
        self.fetched: list[str] = []
        self.fails = False
        self.now_us = 0
        self.releases = Releases(
            self.fetch, self.said.append, wait_us=lambda tries: tries * WAIT_US, now_us=lambda: self.now_us
        )

    def fetch(self, wanted: Piece) -> None:
        self.fetched.append(wanted.title)
        assert self.may_end.wait(DEADLINE_S)
        if self.fails:
            raise FawkesError("no network")
        make(wanted)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.may_end.set()
    site.releases.close()
    # A fetch that goes on, or has only just begun, would write into the cache of another test.
    for thread in threading.enumerate():
        if thread.name == "fetch":
            thread.join(DEADLINE_S)
            assert not thread.is_alive()


def test_a_release_that_is_there_is_fetched_by_nobody(site: Site) -> None:
    make(HADOOP)
    site.releases.need(HADOOP)
    site.releases.wait_for(HADOOP)
    assert site.fetched == []


@pytest.mark.slow
def test_a_release_that_was_lost_is_fetched_once_and_nobody_waits_who_does_not_want_to(site: Site) -> None:
    for _ in range(20):
        with pytest.raises(MissingReleaseError, match="which is being fetched"):
            site.releases.need(HADOOP)
    site.may_end.set()
    site.releases.wait_for(HADOOP)
    site.releases.need(HADOOP)
    assert site.fetched == ["Hadoop 3.5.0"]
    assert len(site.said) == 1


@pytest.mark.slow
def test_of_a_release_that_cannot_be_fetched_everybody_hears_why_until_it_is_there(site: Site) -> None:
    site.fails = True
    site.may_end.set()
    for ask in (site.releases.wait_for, site.releases.need, site.releases.wait_for):
        with pytest.raises(MissingReleaseError, match="no network") as missing:
            ask(HADOOP)
        assert "Run `fawkes dist get 3.5.0`" in missing.value.hint
    assert site.fetched == ["Hadoop 3.5.0"]
    assert "`fawkes dist get 3.5.0`" in site.said[1]
    make(HADOOP)
    site.releases.need(HADOOP)
    # It is lost again: that is news, and Fawkes tries again.
    (folder_of(HADOOP) / manifest.NAME).unlink()
    with pytest.raises(MissingReleaseError, match="no network"):
        site.releases.wait_for(HADOOP)
    assert len(site.fetched) == 2


@pytest.mark.slow
def test_a_release_that_could_not_be_fetched_is_fetched_again_after_ever_longer_waits(site: Site) -> None:
    site.fails = True
    site.may_end.set()
    for failures, wait_us in enumerate([0, WAIT_US, 2 * WAIT_US], 1):
        site.now_us += max(0, wait_us - 1)
        if wait_us:
            with pytest.raises(MissingReleaseError, match="no network"):
                site.releases.wait_for(HADOOP)
            assert len(site.fetched) == failures - 1
            site.now_us += 1
        with pytest.raises(MissingReleaseError, match="no network"):
            site.releases.wait_for(HADOOP)
        assert len(site.fetched) == failures
    assert len(site.said) == 2, "the administrator hears of it once"
    site.fails = False
    site.now_us += 3 * WAIT_US
    site.releases.wait_for(HADOOP)
    assert is_there(HADOOP)


def test_a_controller_that_ends_keeps_nobody_waiting(site: Site) -> None:
    with pytest.raises(MissingReleaseError):
        site.releases.need(HADOOP)
    site.releases.close()
    with pytest.raises(MissingReleaseError):
        site.releases.wait_for(HADOOP)


def event_of(effect: Effect, lacking: Any) -> Event | None:
    """The event that a world in which all hands are lacking posts for an effect."""
    world = world_of()
    give_hands(world, hosts=lacking, deployer=lacking)
    try:
        world.start([effect])
        return world.next_event()
    finally:
        world.close()


@pytest.mark.slow
def test_the_core_hears_that_it_is_not_the_nodes_fault(site: Site) -> None:
    class Lacking:
        def reach(self, effect: Host, current: object) -> Condition:
            site.releases.need(HADOOP)
            return Condition.SERVING

    event = event_of(Host(NodeId("n"), ClusterId("c-1"), Role.TRANSIENT, 1), Lacking())
    assert isinstance(event, NodeObserved)
    assert (event.condition, event.facts) == (Condition.FAILED, {"no_release": True})


@pytest.mark.parametrize("fails", [True, False])
def test_the_core_hears_of_a_deployment_that_its_release_cannot_be_fetched(site: Site, fails: bool) -> None:
    """One that is still being fetched is no reason to give the MR-cluster up."""
    site.fails = fails
    if fails:
        site.may_end.set()
    ask = site.releases.wait_for if fails else site.releases.need

    class Lacking:
        def deploy(self, effect: Deploy, current: object) -> None:
            ask(DOORS)

    spec = requested().spec
    event = event_of(Deploy(spec.id, 1, spec, {}, NodeId("n")), Lacking())
    assert isinstance(event, Failed)
    assert event.facts == ({"no_release": True} if fails else {})
