from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.playbook import Exit, Lease
from playbooks import hadoop, moving
from playbooks import lease as leases
from playbooks.hadoop import Daemon
from tests.playbooks.conftest import ok, sh
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow


def runs(name: str, follows: str = "") -> Daemon:
    return Daemon(name, ["/bin/sleep", "60"], {}, follows)


def image_of(lease: Lease, *, cluster_id: str = "", content: bytes = b"image") -> Path:
    """A NameNode's folder with an image, its checksum and edits."""
    current = Path(lease.folders.nn) / "current"
    current.mkdir(parents=True)
    (current / "VERSION").write_text(f"namespaceID=1\nclusterID={cluster_id or moving.cluster_id(lease)}\n")
    (current / "fsimage_0000000000000000000").write_bytes(b"image")
    digest = hashlib.md5(content).hexdigest()
    (current / "fsimage_0000000000000000000.md5").write_text(f"{digest} *fsimage_0000000000000000000\n")
    (current / "edits_inprogress_0000000000000000001").write_bytes(b"12345678")
    return current


def test_an_image_counts_when_it_is_whole_and_of_this_mr_cluster(lease: Lease) -> None:
    assert ok(moving.look(lease))["image"] == "no"
    current = image_of(lease)
    assert ok(moving.look(lease))["image"] == ok(moving.image(lease))["image"] == "yes"
    (current / "fsimage_0000000000000000000").write_bytes(b"imagE")
    assert ok(moving.look(lease))["image"] == ok(moving.image(lease))["image"] == "no"


def test_the_image_of_another_mr_cluster_is_none(lease: Lease) -> None:
    image_of(lease, cluster_id="elsewhere-alpha")
    assert ok(moving.look(lease))["image"] == "no"


def test_an_older_image_counts_when_the_newest_is_damaged(lease: Lease) -> None:
    current = image_of(lease)
    (current / "fsimage_0000000000000000009").write_bytes(b"damaged")
    (current / "fsimage_0000000000000000009.md5").write_text(f"{'0' * 32} *fsimage_0000000000000000009\n")
    assert ok(moving.look(lease))["image"] == "yes"


def test_masters_are_found_and_stopped_after_the_disk_was_emptied(lease: Lease) -> None:
    ok(hadoop.start(lease, [runs("namenode"), runs("resourcemanager"), runs("datanode")]))
    data = ok(hadoop.status(lease.folders, ["datanode"]))["pid.datanode"]
    subprocess.run(["rm", "-rf", str(lease.work_dir)], check=True)
    facts = ok(moving.look(lease))
    assert set(facts.under("process")) == {"namenode", "resourcemanager"}
    # The disk may only be away; nobody knows until there is a folder again.
    assert "image" not in facts
    # The lease went with the disk: without one nothing is stopped.
    assert sh(moving.stop(lease)).exit == Exit.NOT_TAKEN
    ok(leases.take(lease))
    assert ok(moving.look(lease))["image"] == "no"
    assert ok(moving.stop(lease))["stopped"] == "2"
    assert not ok(moving.look(lease)).under("process")
    assert Path(f"/proc/{data}").exists()
    assert ok(moving.stop(lease))["stopped"] == "0"


def test_a_look_for_daemons_tells_that_another_node_answers(lease: Lease) -> None:
    """Two addresses of the inventory are swapped: that its daemons do not run here says nothing of a node."""
    ok(hadoop.start(lease, [runs("datanode")]))
    here = ok(moving.running(lease, ["datanode"]))
    assert (set(here.under("process")), "other" in here) == ({"datanode"}, False)
    assert ok(moving.running(replace(lease, node="elsewhere"), ["datanode"]))["other"] == lease.node


def test_a_history_server_that_does_not_end_holds_no_move_up(lease: Lease) -> None:
    """While it starts it waits for HDFS, and ends only then."""
    starts = Daemon("historyserver", ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"], {}, "")
    ok(hadoop.start(lease, [starts, runs("namenode")]))
    ok(moving.stop(lease, grace_s=3600))
    assert not ok(moving.look(lease)).under("process")


def test_clients_of_jobs_end_with_the_masters_and_begin_no_more(lease: Lease) -> None:
    from playbooks import job

    ok(job.start(lease, "works", 1, ["/bin/sleep", "60"]))
    (Path(lease.folders.jobs) / "waits.1").mkdir()
    ok(job.start(lease, "ended", 1, ["/bin/true"]))
    wait_for(lambda: ok(job.look(lease.folders, "ended", 1))["state"] == "finished" or None)
    ok(moving.stop(lease))
    works, waits = (ok(job.look(lease.folders, name, 1)) for name in ("works", "waits"))
    assert works["state"] in ("finished", "lost")
    assert (works["displaced"], waits["displaced"], waits["exit"]) == ("yes", "yes", "143")
    assert not {"cancelled"} & {*works, *waits}, "nobody cancelled them"
    assert "displaced" not in ok(job.look(lease.folders, "ended", 1))
    assert ok(job.start(lease, "waits", 1, ["/bin/true"]))["started"] == "no"


def test_data_of_former_masters_is_set_aside_and_never_removed(lease: Lease) -> None:
    current = image_of(lease)
    (Path(lease.folders.rm_state) / "state").write_text("applications")
    (Path(lease.folders.members) / "version").write_text("7\n")
    ok(hadoop.start(lease, [runs("namenode")]))
    root = current.parent.parent
    assert set(ok(moving.retire(lease)).all("aside")) == {
        str(root / f"{name}.before-1") for name in ("nn", "rm-state", "members")
    }
    assert not ok(moving.look(lease)).under("process")
    assert (root / "nn.before-1/current/edits_inprogress_0000000000000000001").read_bytes() == b"12345678"
    assert (root / "rm-state.before-1/state").read_text() == "applications"
    assert list((root / "members").iterdir()) == list((root / "rm-state").iterdir()) == []
    assert ok(moving.retire(lease)).all("aside") == ()
    image_of(lease)
    assert ok(moving.retire(lease)).all("aside") == (str(root / "nn.before-2"),)
    assert (root / "nn.before-1/current/VERSION").exists()


def test_edits_are_appended_once_however_often_that_is_asked_for(lease: Lease) -> None:
    current = image_of(lease)
    name = "edits_inprogress_0000000000000000001"
    script = moving.arrived(lease, {"from": "node02", "txid": 5}, [moving.ends_with(name, 8, 8, b"more\0")])
    for _ in range(2):
        assert ok(script)["moved"] == "yes"
        assert (current / name).read_bytes() == b"12345678more\0"
    assert ok(moving.look(lease)).under("moved") == {"from": "node02", "txid": "5"}
    (current / name).write_bytes(b"123456789")
    assert sh(script).exit == Exit.NOT_EMPTY


def test_a_segment_of_edits_is_made_where_there_is_none(lease: Lease) -> None:
    current = image_of(lease)
    name = "edits_inprogress_0000000000000000006"
    ok(moving.arrived(lease, {"from": "node02"}, [moving.ends_with(name, 0, 0, b"head")]))
    assert (current / name).read_bytes() == b"head"


def test_an_image_ends_otherwise_and_has_its_checksum(lease: Lease) -> None:
    current = image_of(lease)
    name = "fsimage_0000000000000000000"
    (current / name).write_bytes(b"HDFSIMG1 the old end")
    script = moving.arrived(lease, {"from": "node02"}, [moving.ends_with(name, 20, 8, b" another end\0")])
    for _ in range(2):
        ok(script)
        assert (current / name).read_bytes() == b"HDFSIMG1 another end\0"
        checksum = hashlib.md5(b"HDFSIMG1 another end\0", usedforsecurity=False).hexdigest()
        assert (current / f"{name}.md5").read_text() == f"{checksum} *{name}\n"


def test_nothing_is_noted_below_masters_that_run(lease: Lease) -> None:
    image_of(lease)
    ok(hadoop.start(lease, [runs("namenode")]))
    assert sh(moving.arrived(lease, {"from": "node02"})).exit == Exit.NOT_EMPTY
    assert not ok(moving.look(lease)).under("moved")


def pid_of(lease: Lease, name: str) -> int | None:
    return ok(hadoop.status(lease.folders, [name])).number(f"pid.{name}")


def test_a_worker_of_other_masters_is_started_again_and_its_containers_end(lease: Lease) -> None:
    ok(hadoop.start(lease, [runs("nodemanager", "10.0.0.1"), runs("datanode", "10.0.0.1"), runs("namenode")]))
    before = {name: pid_of(lease, name) for name in ("nodemanager", "datanode", "namenode")}
    work = Path(lease.folders.nm_local) / "container"
    work.mkdir()
    container = subprocess.Popen(["/bin/sleep", "60"], cwd=work)
    again = ok(hadoop.start(lease, [runs("nodemanager", "10.0.0.1"), runs("datanode", "10.0.0.1")]))
    assert set(again.under("daemon").values()) == {"running"}
    assert container.poll() is None

    ok(moving.following(lease, ["datanode"], "10.0.0.2"))
    ended = ok(hadoop.start(lease, [runs("nodemanager", "10.0.0.2"), runs("datanode", "10.0.0.2"), runs("namenode")]))
    assert ended.under("daemon") == {"nodemanager": "started", "datanode": "running", "namenode": "running"}
    assert container.wait(20) != 0
    assert pid_of(lease, "nodemanager") != before["nodemanager"]
    assert (pid_of(lease, "datanode"), pid_of(lease, "namenode")) == (before["datanode"], before["namenode"])


def test_containers_of_a_dead_node_manager_end_before_it_works_for_other_masters(lease: Lease) -> None:
    work = Path(lease.folders.nm_local) / "container"
    work.mkdir()
    ok(hadoop.start(lease, [runs("nodemanager", "10.0.0.1")]))
    ok(hadoop.stop(lease, ["nodemanager"]))
    container = subprocess.Popen(["/bin/sleep", "60"], cwd=work)
    ok(hadoop.start(lease, [runs("nodemanager", "10.0.0.2")]))
    assert container.wait(20) != 0


def test_only_daemons_that_run_are_noted_as_following(lease: Lease) -> None:
    ok(hadoop.start(lease, [runs("datanode", "10.0.0.1")]))
    assert ok(moving.following(lease, ["datanode", "nodemanager"], "10.0.0.2")).all("following") == ("datanode",)


def test_a_former_masters_node_of_the_journal_stops_its_masters_and_keeps_what_they_wrote(lease: Lease) -> None:
    current = image_of(lease)
    ok(hadoop.start(lease, [runs(name) for name in ("journalnode", "namenode", "resourcemanager")]))
    assert ok(moving.demote(lease, second=True, grace_s=0.2))["stopped"] == "1"
    running = ok(hadoop.status(lease.folders, ["journalnode", "namenode", "resourcemanager"])).under("daemon")
    assert running == {"journalnode": "running", "namenode": "running", "resourcemanager": "absent"}
    assert ok(moving.demote(lease, second=False, grace_s=0.2))["stopped"] == "1"
    running = ok(hadoop.status(lease.folders, ["journalnode", "namenode"])).under("daemon")
    assert running == {"journalnode": "running", "namenode": "absent"}
    assert current.exists()


def test_a_node_outside_of_the_journal_keeps_no_part_of_it_at_work(lease: Lease) -> None:
    written = Path(lease.folders.journal) / "c" / "current"
    written.mkdir(parents=True)
    (written / "VERSION").write_text("x")
    ok(hadoop.start(lease, [runs("journalnode")]))
    facts = ok(moving.retire(lease, grace_s=0.2))
    assert facts["stopped"] == "1"
    assert str(Path(f"{lease.folders.journal}.before-1")) in facts.all("aside")
    assert Path(f"{lease.folders.journal}.before-1", "c", "current", "VERSION").read_text() == "x"
