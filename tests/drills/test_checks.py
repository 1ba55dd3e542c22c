"""The checks say what is wrong, and nothing when all is well."""

from __future__ import annotations

from dataclasses import replace

from drills.blocks import Blocks
from drills.checks import (
    MOST_LIVES,
    Circles,
    Copies,
    JobFacts,
    OwnerFacts,
    comes_to_rest,
    files_kept,
    jobs_once,
    loss_told,
    never_green,
    one_owner,
    restless,
    stuck,
)
from fawkes.core.state.state import evolve
from fawkes.core.values.decision import Decision, PutNode
from fawkes.core.values.events import Condition
from fawkes.core.values.model import ClusterId, JobId, JobLife, NodeId, NodeLife
from fawkes.core.values.sight import Stray
from tests.support.desk import Desk

A = ClusterId("a")
N1, N2, N3 = (NodeId(f"node0{number}") for number in (1, 2, 3))


def test_a_file_must_be_there_with_its_content() -> None:
    file = Copies(cluster=A, path="/words", wanted="x", found="x")
    assert files_kept([file]) == []
    (gone,) = files_kept([replace(file, found=None)])
    (changed,) = files_kept([replace(file, found="y")])
    assert (gone.check, gone.what) == ("data lost", "a: /words cannot be read")
    assert changed.what == "a: /words has changed"
    assert files_kept([replace(file, found=None, excused=True)]) == []


def test_a_file_that_was_acknowledged_is_there() -> None:
    acknowledged = {"/a": 1.0, "/b": 2.0}
    assert loss_told(acknowledged, {"/a", "/b"}, [], 0) == []
    (gone,) = loss_told(acknowledged, {"/a"}, [], 9)
    assert (gone.check, gone.what) == ("data lost", "/b was acknowledged at 2.0 and is not there")


def test_what_a_copy_lacked_must_be_told_and_nothing_older_may_be_lost() -> None:
    acknowledged = {"/a": 1.0, "/b": 2.0, "/c": 3.0}
    assert loss_told(acknowledged, {"/a"}, [(1.5, 4.0)], 2) == []
    (untold,) = loss_told(acknowledged, {"/a"}, [(1.5, 4.0)], 1)
    assert (untold.check, untold.what) == ("loss not told", "2 files are lost, 1 were told, such as /b")
    assert [f.check for f in loss_told(acknowledged, {"/a"}, [(2.5, 4.0)], 9)] == ["data lost"]


def test_a_job_must_run_once_and_its_output_be_right() -> None:
    job = JobFacts(job=JobId("j"), life=JobLife.SUCCEEDED, applications={1: 1, 2: 1}, succeeded=(2,), right=True)
    assert jobs_once([job]) == []
    assert [f.check for f in jobs_once([replace(job, applications={1: 2})])] == ["job ran twice"]
    assert [f.check for f in jobs_once([replace(job, succeeded=(1, 2))])] == ["job ran twice"]
    assert [f.check for f in jobs_once([replace(job, right=False)])] == ["output wrong"]
    assert jobs_once([replace(job, right=None)]) == []


def test_a_node_must_work_for_its_owner_alone() -> None:
    node = OwnerFacts(node=N1, life=NodeLife.SERVING, ledger=A, lease=A, working_for=(A,))
    assert one_owner([node]) == []
    assert len(one_owner([replace(node, working_for=(A, ClusterId("b")))])) == 1
    assert len(one_owner([replace(node, lease=ClusterId("b"))])) == 1
    assert len(one_owner([replace(node, ledger=None)])) == 2
    assert len(one_owner([replace(node, lease=None)])) == 1
    assert one_owner([replace(node, lease=None, life=NodeLife.EVACUATING)]) == []
    # What a lost node did is not known; what works there is wrong all the same.
    assert one_owner([replace(node, life=NodeLife.LOST, ledger=None, working_for=())]) == []


def lost_node() -> Desk:
    """An MR-cluster with a core node that does not answer."""
    desk = Desk(4)
    desk.up("a", 2)
    desk.see("node02", Condition.LOST, "no answer")
    return desk


def test_rest_is_when_nothing_is_under_way() -> None:
    desk = Desk(4)
    desk.up("a", 2)
    assert restless(desk.state) == []
    desk = lost_node()
    assert restless(desk.state) == [f"node02 is lost: {desk.node('node02').alert}"]


def test_no_job_waits_for_a_task_that_lost_its_container() -> None:
    desk = Desk(4)
    desk.up("a", 2)
    desk.sample(a={"strays": (Stray("attempt_1_1_m_1_0", N1),)})
    assert [f.what for f in comes_to_rest(desk.state)] == ["a waits for tasks without containers (attempt_1_1_m_1_0)"]
    desk.sample(a={})
    assert restless(desk.state) == []


def test_nobody_waits_for_a_lost_node_that_never_comes_back() -> None:
    desk = lost_node()
    assert restless(desk.state, {N2}) == []
    assert restless(desk.state, {NodeId("node01")}) == restless(desk.state)
    evolve(desk.state, desk.now_us, [PutNode(replace(desk.node("node02"), life=NodeLife.CLEANING))])
    assert restless(desk.state, {N2}) == restless(desk.state)


def test_what_waits_must_say_for_what() -> None:
    desk = lost_node()
    assert comes_to_rest(desk.state) == []
    evolve(desk.state, desk.now_us, [PutNode(replace(desk.node("node02"), alert=""))])
    assert [f.what for f in comes_to_rest(desk.state)] == ["node02 is lost"]


def test_what_waits_for_nothing_is_stuck() -> None:
    desk = lost_node()
    assert [f.what for f in stuck(desk.state, (), ())] == restless(desk.state)
    assert stuck(desk.state, (N2,), ()) == []
    assert stuck(desk.state, (), (A,)) == []


def test_missing_files_must_be_said() -> None:
    desk = Desk(4)
    desk.up("a", 2)
    assert never_green(desk.state, {A: []}) == []
    (failure,) = never_green(desk.state, {A: ["/words"]})
    assert failure.what == "a misses /words"
    assert never_green(lost_node().state, {A: ["/words"]}) == []


def test_a_file_is_lost_with_its_last_replica() -> None:
    blocks = Blocks()
    assert blocks.place(A, "/one", nodes=[N1, N2], replication=1, written=True)
    assert blocks.place(A, "/two", nodes=[N1, N2], replication=2, written=True)
    assert not blocks.place(A, "/none", nodes=[], replication=1, written=True)
    assert [file.path for file in blocks.wipe(N1, "a test")] == ["/one"]
    assert blocks.missing(A, live=[N1, N2]) == ["/one"]
    assert blocks.missing(A, live=[N1]) == ["/one", "/two"]


def test_a_file_is_copied_before_its_node_goes() -> None:
    blocks = Blocks()
    blocks.place(A, "/one", nodes=[N1], replication=1, written=True)
    blocks.copy(blocks.of(A)[0], into=[N2, N3])
    assert blocks.wipe(N1, "a test") == []
    assert blocks.missing(A, live=[N2, N3]) == []


def test_hdfs_replaces_replicas_that_are_away() -> None:
    blocks = Blocks()
    blocks.place(A, "/two", nodes=[N1, N2], replication=2, written=True)
    blocks.replicate(A, live=[N2, N3], into=[N2, N3])
    assert blocks.wipe(N1, "a test") == blocks.wipe(N2, "a test") == []
    blocks.forget(A)
    assert blocks.of(A) == []


def test_a_node_that_comes_and_goes_is_caught() -> None:
    desk, circles = lost_node(), Circles()
    node = desk.node("node02")
    lives = [(NodeLife.EVACUATING, NodeLife.CLEANING)[n % 2] for n in range(MOST_LIVES + 1)]
    verdicts = [circles.saw(Decision(changes=(PutNode(replace(node, life=life)),))) for life in lives]
    assert [bool(each) for each in verdicts] == [False] * MOST_LIVES + [True]
    assert circles.saw(Decision(changes=(PutNode(replace(node, life=lives[-1])),))) == []
