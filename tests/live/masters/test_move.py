"""Moves of masters on nodes that are folders of this machine: real scripts, sleeping daemons, a server that answers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from fawkes.base.errors import HostError
from fawkes.core.values.effects import LookAtMasters, MoveMasters
from fawkes.live.clusters.given import Given
from fawkes.live.edits import edit_log, stamps
from fawkes.live.hadoop.doors import LIST
from fawkes.live.kerberos.keytab import TicketError, is_of_site
from fawkes.live.masters.succession import GoneError, StayError, UntouchedError
from playbooks import hadoop, moving
from playbooks import lease as leases
from tests.live.fake_hdfs import rpc
from tests.live.fake_hdfs import running as running_hdfs
from tests.live.masters_server import HISTORY, JMX, NODE_LIST, Answer, Server, clear, missing, says
from tests.live.masters_site import DATA, EDITS, LAST, NODES, OLD, ORIGIN, THIRD, TO, C
from tests.live.move_site import APPLICATION, MISSING, SEGMENT, Site
from tests.live.played import NoTicket

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path, one_server: Server) -> Iterator[Site]:
    clear(one_server)
    site = Site(tmp_path, one_server)
    try:
        yield site
    finally:
        site.end()


def gone(site: Site, **served: Any) -> None:
    """The old masters' node is off, and there is a copy; the new masters serve what is ``served``."""
    site.silent = {OLD}
    site.copies.take()
    site.fleet.off = {OLD}
    site.serves(TO, THIRD, **served)


@pytest.mark.nightly
def test_a_look_tells_what_is_there_and_changes_nothing(site: Site) -> None:
    site.silent = {OLD}
    before = sorted(path for at in NODES for path in (site.folder / at).rglob("*"))
    assert site.look() == {
        "old": "stopped",
        "image": True,
        "copied_us": None,
        "txid": None,
        "copy_at": None,
        "reached": [TO, THIRD],
        "applications": None,
    }
    assert sorted(path for at in NODES for path in (site.folder / at).rglob("*")) == before
    site.copies.take(copied_us=11)
    site.start(OLD)
    facts = site.look()
    assert (facts["old"], facts["copied_us"], facts["txid"], facts["copy_at"]) == ("runs", 11, LAST, "controller")
    site.fleet.off = {OLD, THIRD}
    facts = site.look()
    assert (facts["old"], facts["image"], facts["reached"]) == ("silent", None, [TO])


@pytest.mark.nightly
def test_a_look_at_masters_that_answer(site: Site) -> None:
    site.serves(*NODES, applications=({"id": APPLICATION, "state": "RUNNING", "name": "n", "user": "u"},))
    facts = site.look()
    assert facts["old"] == "answers"
    assert facts["applications"] == [{"id": APPLICATION, "name": "n", "user": "u"}]


@pytest.mark.nightly
def test_a_look_needs_the_node_that_would_get_the_masters(site: Site) -> None:
    site.fleet.off = {TO}
    with pytest.raises(HostError, match=r"node02: it does not answer, so it cannot run .* with --to: node03"):
        site.look()


@pytest.mark.nightly
def test_a_look_after_a_move_that_was_given_up_lets_others_go_on(site: Site) -> None:
    site.clusters.begin_move(C, TO)
    site.serves(*NODES)
    assert site.look()["old"] == "answers"
    assert (site.cluster().master, site.clusters.moving(C)) == (OLD, None)


@pytest.mark.nightly
def test_a_person_who_looks_changes_nothing_of_a_move(site: Site) -> None:
    """Else the old masters of a pair would be made active beside the new ones."""
    site.clusters.begin_move(C, TO)
    site.serves(*NODES)
    site.copies.given.put(C, Given(4, TO, 1))
    assert site.mover.look(LookAtMasters(C, 4, OLD, TO))["old"] == "answers"
    assert site.clusters.moving(C) == TO
    assert site.copies.given.has(C, Given(4, TO, 1))


@pytest.mark.nightly
def test_masters_that_answer_are_not_replaced(site: Site) -> None:
    site.serves(*NODES)
    site.copies.take()
    site.start(OLD)
    with pytest.raises(StayError, match="c-1: its masters answer, so they stay where they are"):
        site.move()
    assert site.masters_on(OLD) == {"namenode", "resourcemanager"}
    assert not (site.root(TO) / "nn").exists()
    assert (site.cluster().master, site.clusters.moving(C)) == (OLD, None)


@pytest.mark.parametrize("planned", [False, True])
def test_masters_that_could_not_be_asked_are_not_stopped(site: Site, planned: bool) -> None:
    site.serves(*NODES)
    site.copies.take()
    site.start(OLD)
    site.setup.key = NoTicket()
    facts = site.look()
    assert (facts["old"], facts["applications"]) == ("unknown", None)
    with pytest.raises(UntouchedError, match="it is not known whether its masters still run") as caught:
        site.move(planned=planned)
    assert is_of_site(caught.value)
    assert site.masters_on(OLD) == {"namenode", "resourcemanager"}
    site.fleet.off = {OLD}
    assert site.look()["old"] == "unknown", "a node that is off may be only cut off"


def test_without_a_keytab_no_masters_are_stopped(site: Site) -> None:
    """They could be started nowhere. A move that is planned is called off before it begins."""
    site.serves(*NODES)
    site.copies.take()
    site.start(OLD)
    site.setup.no_keytab = True
    why = "keytabs/c-1.keytab: other users can read this keytab"
    with pytest.raises(TicketError, match=why):
        site.look()
    with pytest.raises(StayError, match=f"c-1: its masters stay on node01: {why}"):
        site.move(planned=True)
    site.silent = {OLD}
    with pytest.raises(UntouchedError, match=why) as caught:
        site.move()
    assert is_of_site(caught.value)
    assert site.masters_on(OLD) == {"namenode", "resourcemanager"}
    assert (site.cluster().master, site.clusters.moving(C)) == (OLD, TO)


def test_while_the_kdc_is_away_no_masters_go_anywhere(site: Site) -> None:
    """The controller's own ticket is good, but masters could log in nowhere: what only the old disk has is not lost."""
    site.serves(*NODES)
    site.copies.take()
    site.start(OLD)
    site.setup.no_kdc = True
    why = "keytabs/c-1.keytab: the KDC gave no ticket: Cannot contact any KDC"
    assert site.look()["no_login"] == why
    with pytest.raises(StayError, match=f"c-1: its masters stay on node01: {why}"):
        site.move(planned=True)
    assert site.masters_on(OLD) == {"namenode", "resourcemanager"}
    site.ground.run(OLD, moving.stop(site.lease(OLD)), "stopping")
    site.silent, site.fleet.off = {OLD}, {OLD}
    with pytest.raises(UntouchedError, match=why) as caught:
        site.move()
    assert is_of_site(caught.value)
    assert not (site.root(TO) / "nn").exists()
    site.setup.no_kdc = False
    assert site.move()["reached"] == [TO, THIRD]


def test_a_kdc_that_goes_away_while_the_data_is_brought_over_ends_the_try(site: Site) -> None:
    gone(site)
    place = site.copies.place

    def end_kdc(*given: Any) -> None:
        place(*given)
        site.setup.no_kdc = True

    site.copies.place = end_kdc  # type: ignore[method-assign, assignment]
    with pytest.raises(UntouchedError, match="the KDC gave no ticket"):
        site.move()
    assert not site.masters_on(TO)
    assert not site.copies.given.has(C, Given(5, TO, 1))


def test_a_keytab_that_goes_away_meanwhile_does_not_keep_the_masters_from_starting_again(site: Site) -> None:
    site.serves(*NODES)
    site.start(OLD)
    site.copies.fails = True
    before = {at: (site.root(at) / "conf" / "core-site.xml") for at in NODES}
    place = site.copies.place

    def take_keytab(*given: Any) -> None:
        site.setup.no_keytab = True
        place(*given)

    site.copies.place = take_keytab  # type: ignore[method-assign, assignment]
    with pytest.raises(StayError, match="its masters stay on node01: its disk is full"):
        site.move(planned=True)
    assert site.masters_on(OLD) == {"namenode", "resourcemanager"}
    assert all(path.read_text() == OLD for path in before.values())


def test_masters_that_do_not_run_by_the_word_of_their_node_need_no_ticket(site: Site) -> None:
    site.setup.key = NoTicket()
    assert site.look()["old"] == "stopped"


def test_stopped_masters_lose_nothing(site: Site) -> None:
    """Their node answers: what they have on disk is brought over, and set aside."""
    site.silent = {OLD}
    site.start(OLD)
    site.serves(*NODES)
    facts = site.move()
    assert (facts["copied_us"], facts["txid"], facts["reached"]) == (None, LAST, list(NODES))
    assert (site.root(TO) / "nn" / "current" / SEGMENT).read_bytes() == EDITS
    assert not (site.root(OLD) / "nn").exists()
    assert (site.root(OLD) / "nn.before-1" / "current" / SEGMENT).read_bytes() == EDITS
    assert (site.cluster().master, site.clusters.moving(C)) == (TO, None)
    for at in NODES:
        assert (site.root(at) / "conf" / "core-site.xml").read_text() == TO
        assert (site.root(at) / "run" / "nodemanager.follows").read_text() == f"{TO}\n"
    assert (site.root(TO) / "members" / "version").read_text() == "5\n"


@pytest.mark.nightly
def test_what_a_copy_may_lack_gets_no_numbers_of_lost_blocks(site: Site) -> None:
    site.silent = {OLD}
    site.copies.take(copied_us=23)
    site.fleet.off = {OLD}
    site.serves(TO, THIRD, files=MISSING)
    facts = site.move()
    assert (facts["copied_us"], facts["reached"]) == (23, [TO, THIRD])
    assert (facts["missing"], facts["missing_files"]) == (["/data/a"], 1)
    log = (site.root(TO) / "nn" / "current" / SEGMENT).read_bytes()
    assert log.startswith(EDITS)
    assert edit_log.operations(log[edit_log.HEADER_BYTES :], 0).last == LAST + 2
    # Former masters that nobody could stop are on no list of addresses.
    for at in (TO, THIRD):
        assert (site.root(at) / "conf" / LIST).read_text() == "node02\nnode03\n"
    assert site.cluster().shut_out == {OLD}
    assert site.setup.doors_list(site.cluster()) == "node02\nnode03\n"


def test_masters_move_from_the_copy_while_the_disk_of_the_old_ones_is_away(site: Site) -> None:
    """Nothing is made on the bare mount point: the disk may come back."""
    site.silent = {OLD}
    site.copies.take(copied_us=23)
    work = Path(site.ground.nodes[OLD].work_dir)
    site.ground.place_of = {OLD: f"{work} on {work}", TO: "", THIRD: ""}.__getitem__
    work.rename(site.folder / "unmounted")
    site.serves(TO, THIRD)
    look = site.look()
    assert (look["old"], look["image"]) == ("stopped", None)
    facts = site.move()
    assert (facts["copied_us"], facts["reached"]) == (23, [TO, THIRD])
    assert site.cluster().shut_out == {OLD}
    assert not work.exists()
    (site.folder / "unmounted").rename(work)


@pytest.mark.nightly
def test_what_a_copy_lacks_is_told_by_its_traces(site: Site) -> None:
    """A block that the copy does not know lies on node02; a task had written it, and the old NameNode's log is lost."""
    site.silent = {OLD}
    site.copies.take(copied_us=23)
    stamp = stamps.after(stamps.stamps_of((DATA / "fsimage-3.5.0").read_bytes()), EDITS[8:]).generation
    finalized = site.root(TO) / "dn" / "current" / ORIGIN.block_pool / "current" / "finalized"
    finalized.mkdir(parents=True)
    for number, its in ((11, stamp), (12, stamp + 1)):
        (finalized / f"blk_{number}").write_bytes(b"12345")
        (finalized / f"blk_{number}_{its}.meta").write_bytes(b"")
    task = APPLICATION.replace("application", "DFSClient_attempt")
    (site.root(TO) / "logs" / "datanode.log").write_text(
        f"src: /node03:9, dest: /node02:9866, bytes: 5, op: HDFS_WRITE, cliID: {task}_m_000000_0_1_1, offset: 0, "
        f"blockid: {ORIGIN.block_pool}:blk_12_{stamp + 1}, duration(ns): 5\n"
    )
    site.fleet.off = {OLD}
    site.serves(TO, THIRD, applications=({"id": APPLICATION, "state": "FINISHED", "name": "sort", "user": "ann"},))
    facts = site.move()
    assert (facts["lost_blocks"], facts["lost_bytes"], facts["lost_unlisted"]) == (1, 5, [OLD])
    (writer,) = cast(list[dict[str, Any]], facts["lost_writers"])
    assert (writer["application"], writer["name"], writer["user"], writer["blocks"]) == (APPLICATION, "sort", "ann", 1)
    # A try that goes on after a crash knows as much.
    site.ground.run(TO, moving.stop(site.lease(TO)), "stopping")
    assert site.move()["lost_writers"] == facts["lost_writers"]


@pytest.mark.nightly
def test_safe_mode_ends_before_yarn_and_the_history_are_waited_for(site: Site) -> None:
    """Blocks are missing, so that HDFS does not leave it by itself, and others wait for HDFS when they start."""
    gone(site, files=MISSING)
    free = dict(site.server.answers)
    site.serves(TO, THIRD, safe="on")
    for path in (JMX, NODE_LIST, "/ws/v1/history/info"):
        locked = site.server.answers[path] if path == JMX else missing
        site.server.answers[path] = _once(site.folder / "hdfs-open", free[path], locked)
    assert site.move()["reached"] == [TO, THIRD]


def test_workers_that_end_while_their_masters_move_are_started_again(site: Site) -> None:
    """Not only after the time that a member has to come back: their node knows that they have ended."""
    gone(site)
    ended: dict[str, str] = {}

    def pids() -> dict[str, str]:
        script = hadoop.status(site.ground.folders(THIRD, C), ["datanode", "nodemanager"])
        return site.ground.look(THIRD, script)[0].under("pid")

    def known_once_back(path: str, then: Answer) -> Answer:
        def answer(handler: Any, query: Any) -> None:
            if not ended:
                ended.update(pids())
                subprocess.run(["kill", "-9", *ended.values()], check=True)
            then(handler, query) if pids().keys() == ended.keys() else before[path](handler, query)

        return answer

    back = dict(site.server.answers)
    site.serves(TO)
    before = dict(site.server.answers)
    site.server.answers |= {path: known_once_back(path, back[path]) for path in (JMX, NODE_LIST)}
    facts = site.reach(MoveMasters(C, 5, OLD, TO, planned=False, rejoin_us=20_000_000))
    assert facts["reached"] == [TO, THIRD]
    assert set(ended) == {"datanode", "nodemanager"}
    assert not set(ended.values()) & set(pids().values())


def _once(file: Path, then: Answer, before: Answer) -> Answer:
    """An answer that changes once a file is there."""
    return lambda handler, query: (then if file.exists() else before)(handler, query)


def test_a_lost_disk_is_replaced_by_the_copy(site: Site) -> None:
    site.silent = {OLD}
    site.copies.take()
    shutil.rmtree(site.folder / OLD)
    site.serves(*NODES)
    facts = site.move()
    assert (facts["copied_us"], facts["reached"]) == (7, list(NODES))


def test_a_move_that_was_cut_off_goes_on_with_what_it_has_begun(site: Site) -> None:
    """Its NameNode may have taken files: nothing is put in the place of its data."""
    gone(site)
    site.move()
    written = site.root(TO) / "nn" / "current" / "edits_inprogress_0000000000000000099"
    written.write_text("files that the new NameNode has taken")
    site.ground.run(TO, moving.stop(site.lease(TO)), "stopping")
    site.copies.fails = True
    facts = site.move()
    assert (facts["copied_us"], facts["txid"]) == (7, LAST)
    assert written.exists()


@pytest.mark.nightly
def test_the_data_of_an_earlier_move_is_not_that_of_this_one(site: Site) -> None:
    gone(site)
    site.move(version=5)
    site.ground.run(TO, moving.stop(site.lease(TO)), "stopping")
    site.copies.fails = True
    with pytest.raises(UntouchedError, match="its disk is full"):
        site.move(version=8)


@pytest.mark.nightly
def test_a_move_that_fails_before_its_point_of_no_return_says_so(site: Site) -> None:
    """The core may then look at the old masters again, and take the copy for as young as it was."""
    site.silent = {OLD}
    site.serves(*NODES)
    site.copies.fails = True
    with pytest.raises(UntouchedError, match="its disk is full") as full:
        site.move()
    site.copies.damaged = True
    with pytest.raises(UntouchedError, match="node01: its edits are damaged") as damaged:
        site.move()
    assert (full.value.unreadable, damaged.value.unreadable) == (False, True)
    assert not (site.root(TO) / "nn").exists()
    # Then the copy is taken, although the image of the old masters is there.
    site.copies.fails = False
    facts = site.move(from_copy=True)
    assert (facts["copied_us"], site.cluster().master) == (7, TO)
    assert (site.root(OLD) / "nn.before-1" / "current" / SEGMENT).read_bytes() == EDITS


def test_a_disk_that_may_not_have_everything_is_taken_along_and_the_loss_is_told(site: Site) -> None:
    site.silent = {OLD}
    site.serves(*NODES)
    site.copies.take(copied_us=3)
    facts = site.move(from_copy=True)
    assert (facts["copied_us"], site.copies.topped, site.cluster().master) == (3, 1, TO)


@pytest.mark.nightly
def test_a_move_that_fails_later_does_not_say_that_nothing_was_begun(site: Site) -> None:
    gone(site)
    site.move()
    site.ground.run(TO, moving.stop(site.lease(TO)), "stopping")
    site.fleet.off = {OLD, TO}
    with pytest.raises(HostError, match="node02: it does not answer"):
        site.move()


def test_a_planned_move_that_fails_leaves_the_masters_at_work(site: Site) -> None:
    site.serves(*NODES)
    site.start(OLD)
    site.copies.fails = True
    with pytest.raises(StayError, match="c-1: its masters stay on node01: its disk is full"):
        site.move(planned=True)
    assert site.masters_on(OLD) == {"namenode", "resourcemanager"}
    assert (site.root(OLD) / "nn" / "current" / SEGMENT).read_bytes() == EDITS
    assert (site.root(THIRD) / "conf" / "core-site.xml").read_text() == OLD
    # The move is called off, and may be asked for again.
    assert site.clusters.moving(C) is None
    site.copies.fails = False
    facts = site.move(planned=True)
    assert (facts["copied_us"], site.cluster().master) == (None, TO)


@pytest.mark.nightly
def test_a_planned_move_of_masters_that_are_silent_by_then(site: Site) -> None:
    site.silent = {OLD}
    site.fleet.off = {OLD}
    site.copies.take()
    with pytest.raises(
        StayError, match="node01: it does not answer, so its masters cannot be moved without loss"
    ) as error:
        site.move(planned=True)
    assert error.value.facts == {"alive": True, "silent": True}
    assert (site.cluster().master, site.clusters.moving(C)) == (OLD, None)


def begun(site: Site, *, planned: bool) -> None:
    """The controller ends right after the point of no return: the new NameNode may take files from then on."""
    mark = site.root(TO) / "nn" / moving.MARK
    effect = MoveMasters(C, 5, OLD, TO, planned)
    assert site.mover.reach(effect, lambda: not mark.exists()) is None
    assert mark.exists()
    site.ground.run(TO, hadoop.stop(site.lease(TO), list(hadoop.DAEMONS)), "its host is killed")


@pytest.mark.nightly
@pytest.mark.parametrize("taken", [False, True], ids=["without a lease", "with a new lease"])
@pytest.mark.parametrize("planned", [False, True], ids=["lost", "planned"])
def test_a_new_disk_that_was_lost_is_not_filled_again(site: Site, planned: bool, taken: bool) -> None:
    """Its NameNode may have taken files: what the old one had would pass for everything."""
    site.serves(*NODES)
    site.silent = set() if planned else {OLD}
    site.start(OLD)
    begun(site, planned=planned)
    site.silent = {OLD, TO}
    shutil.rmtree(site.folder / TO)
    if taken:
        site.ground.run(TO, leases.take(site.lease(TO)), "it comes back")
    with pytest.raises(GoneError, match="node02: it was given the masters of c-1, and their data is gone"):
        site.move(planned=planned)
    assert not (site.root(TO) / "nn").exists()
    assert (site.root(OLD) / "nn" / "current" / SEGMENT).read_bytes() == EDITS


@pytest.mark.nightly
def test_a_new_disk_that_does_not_answer_says_nothing(site: Site) -> None:
    site.serves(*NODES)
    site.start(OLD)
    begun(site, planned=True)
    site.silent = {OLD, TO}
    current = site.root(TO) / "nn" / "current"
    shutil.rmtree(current)
    (current / "VERSION").mkdir(parents=True)
    with pytest.raises(
        HostError, match="node02: its disk does not tell whether it has the data of its masters"
    ) as error:
        site.move(planned=True)
    assert not isinstance(error.value, GoneError)


@pytest.mark.nightly
def test_a_new_disk_that_was_lost_before_anything_began_is_filled(site: Site) -> None:
    site.serves(*NODES)
    site.start(OLD)
    site.look()
    shutil.rmtree(site.folder / TO)
    facts = site.move(planned=True)
    assert (facts["copied_us"], site.cluster().master) == (None, TO)


@pytest.mark.nightly
def test_masters_that_were_stopped_for_a_node_that_is_gone_begin_again(site: Site) -> None:
    """The controller ended between the stop of the old masters and the point of no return."""
    site.look()
    site.silent = {OLD}
    site.fleet.off = {TO}
    with pytest.raises(StayError, match="c-1: node02 does not answer, so its masters stay on node01") as error:
        site.move(planned=True)
    assert error.value.facts == {"alive": True}
    assert site.masters_on(OLD) == {"namenode", "resourcemanager"}
    assert (site.cluster().master, site.clusters.moving(C)) == (OLD, None)


@pytest.mark.nightly
@pytest.mark.parametrize("planned", [False, True], ids=["lost", "planned"])
@pytest.mark.parametrize("lost", [False, True], ids=["off", "with an empty disk"])
def test_without_a_note_nobody_knows_what_a_node_that_is_gone_was_given(site: Site, planned: bool, lost: bool) -> None:
    """An earlier Fawkes began the move, or somebody deleted the notes: new masters may have taken files there."""
    site.silent = {OLD}
    site.copies.take()
    if lost:
        shutil.rmtree(site.folder / TO)
    else:
        site.fleet.off = {TO}
    with pytest.raises(HostError, match="node02: it does not answer, so it cannot run the masters of c-1"):
        site.move(planned=planned)
    assert (site.masters_on(OLD), site.clusters.moving(C)) == (set(), TO)
    assert not (site.root(TO) / "nn").exists()
    site.fleet.off = set()
    site.ground.run(TO, leases.take(site.lease(TO)), "it comes back")


@pytest.mark.nightly
def test_a_node_that_was_found_without_masters_is_noted(site: Site) -> None:
    site.serves(*NODES)
    site.silent = {OLD}
    site.copies.fails = True
    with pytest.raises(UntouchedError, match="its disk is full"):
        site.move()
    site.silent = {OLD, TO}
    site.fleet.off = {TO}
    with pytest.raises(UntouchedError, match="node02: it does not answer"):
        site.move()


@pytest.mark.nightly
def test_nothing_was_begun_on_a_node_that_is_gone(site: Site) -> None:
    site.look()
    site.silent = {OLD}
    site.copies.take()
    site.fleet.off = {TO}
    with pytest.raises(UntouchedError, match="node02: it does not answer"):
        site.move()
    site.fleet.off = {TO, OLD}
    with pytest.raises(StayError, match="node01: it does not answer, so its masters cannot be moved") as error:
        site.move(planned=True)
    assert error.value.facts == {"alive": True, "silent": True}


@pytest.mark.nightly
def test_applications_end_unless_their_history_says_that_they_succeeded(site: Site) -> None:
    site.silent = {OLD}
    other = APPLICATION.replace("0001", "0002")
    ended = APPLICATION.replace("0001", "0003")
    ours = {"applicationTags": "fawkes-j-1-1"}
    site.serves(
        *NODES,
        applications=(
            {"id": APPLICATION, "state": "RUNNING", "applicationType": "MAPREDUCE", "user": "u", **ours},
            {"id": other, "state": "ACCEPTED", "name": "theirs", "user": "alice"},
            {"id": ended, "state": "FINISHED", "finalStatus": "SUCCEEDED", **ours},
        ),
    )
    name = APPLICATION.replace("application", "job")
    site.server.answers[f"{HISTORY}/{name}"] = says({"job": {"state": "SUCCEEDED"}})
    facts = site.move()
    assert set(cast(list[str], facts["finished"])) == {ended, APPLICATION}
    assert facts["ended"] == [{"id": other, "name": "theirs", "user": "alice"}]


@pytest.mark.nightly
@pytest.mark.parametrize("listens", [True, False])
def test_files_that_ended_applications_were_writing_are_closed(site: Site, listens: bool) -> None:
    site.silent = {OLD}
    theirs = f"/staging/u/.staging/{APPLICATION.replace('application', 'job')}/events"
    opened = "".join(
        f"{path} 5 bytes, replicated: replication=1, 1 block(s), OPENFORWRITE:  OK\n"
        f"0. BP-1:blk_{n}_1 len=5 Live_repl=1  [10.0.0.1:9866(LIVE)]\n\n"
        for n, path in enumerate((theirs, "/user/ann/notes"))
    )
    running = {"id": APPLICATION, "state": "RUNNING", "applicationType": "MAPREDUCE", "user": "u"}
    site.serves(*NODES, applications=(running,), files=opened)
    with running_hdfs() as hdfs, rpc(hdfs) as port:
        for path in (theirs, "/user/ann/notes"):
            hdfs.put(path, b"12345")
            hdfs.tree[path].being_written = True
        site.fleet.forwards[8020] = port if listens else 0
        facts = site.move()
        assert hdfs.recovered == [theirs] * listens
    assert site.closed == [(TO, theirs)] * listens
    assert facts["open"] == ([] if listens else [theirs]) + ["/user/ann/notes"], "what is open is told"


@pytest.mark.nightly
def test_a_node_that_is_let_in_again(site: Site) -> None:
    site.clusters.end_move(C, TO, [OLD])
    assert site.clusters.let_in(C, OLD)
    assert not site.clusters.let_in(C, OLD)
    assert not site.cluster().shut_out
