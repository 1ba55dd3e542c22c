"""The first beginning of a journal and of a second NameNode on a node."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.playbook import Exit, Lease, Script
from playbooks import hadoop, standby
from playbooks.hadoop import Daemon
from tests.playbooks.conftest import ok, sh


def journal_of(lease: Lease) -> Path:
    """The folder of a JournalNode with a journal."""
    current = Path(lease.folders.journal) / "alpha" / "current"
    current.mkdir(parents=True)
    (current / "VERSION").write_text("namespaceID=1\n")
    return current


SITE = """<configuration>
  <property>
    <name>dfs.namenode.shared.edits.dir</name>
    <value>qjournal://a:8485;b:8485;c:8485/alpha</value>
  </property>
</configuration>
"""


def test_a_node_says_for_which_journal_it_was_configured(lease: Lease) -> None:
    assert "edits" not in ok(standby.own_edits(lease.folders))
    ok(hadoop.configure(lease, {"hdfs-site.xml": "<configuration/>\n"}))
    assert "edits" not in ok(standby.own_edits(lease.folders))
    ok(hadoop.configure(lease, {"hdfs-site.xml": SITE}))
    assert ok(standby.own_edits(lease.folders))["edits"] == "qjournal://a:8485;b:8485;c:8485/alpha"


def test_a_node_says_what_its_namenode_has_on_its_own_disk(lease: Lease) -> None:
    assert ok(standby.own_edits(lease.folders)).under("file") == {}
    current = Path(lease.folders.nn / "current")
    current.mkdir(parents=True)
    for name in ("fsimage_02", "fsimage_02.md5", "edits_inprogress_03", "VERSION", "seen_txid"):
        (current / name).write_text("abc")
    assert ok(standby.own_edits(lease.folders)).under("file") == {
        "fsimage_02": "3",
        "fsimage_02.md5": "3",
        "edits_inprogress_03": "3",
    }


@pytest.mark.slow
def test_a_journal_without_a_namenode_is_renamed_and_never_deleted(lease: Lease) -> None:
    journal_of(lease)
    ok(hadoop.start(lease, [Daemon("journalnode", ["/bin/sleep", "60"])]))
    assert ok(standby.look(lease.folders, "alpha")).under("journal") == {}
    assert "journal" in ok(standby.look(lease.folders, "alpha"))
    assert ok(standby.begin_afresh(lease))["aside"] == f"{lease.folders.journal}.before-1"
    facts = ok(standby.look(lease.folders, "alpha"))
    assert ("journal" in facts, facts["journalnode"]) == (False, "absent")
    assert Path(f"{lease.folders.journal}.before-1", "alpha", "current", "VERSION").exists()
    assert "aside" not in ok(standby.begin_afresh(lease))


#: stands in for the NameNode: writes an image into the folder that it is told
_BOOTSTRAP = """
for word; do case $word in -Ddfs.namenode.name.dir=file://*) to=${word#*file://} ;; esac; done
[ "$MODE" != fails ] || { echo "java.io.IOException: the first one does not answer"; exit 1; }
mkdir -p "$to/current" && echo image >"$to/current/VERSION"
"""


def bootstrap(lease: Lease, mode: str = "") -> Script:
    argv = ["sh", "-c", _BOOTSTRAP, "namenode", "-bootstrapStandby", "-nonInteractive"]
    return hadoop.bootstrap_namenode(lease, argv, {"MODE": mode})


def test_a_second_namenode_gets_its_image_once_and_whole(lease: Lease) -> None:
    failed = sh(bootstrap(lease, "fails"))
    assert failed.exit == 1
    assert not Path(lease.folders.nn).exists()
    assert ok(bootstrap(lease))["image"] == "yes"
    assert ok(bootstrap(lease, "fails"))["image"] == "already"
    assert not list(Path(lease.folders.root).glob("nn.new*"))


@pytest.mark.slow
def test_nothing_is_brought_into_a_folder_with_something_else_or_under_a_namenode(lease: Lease) -> None:
    ok(hadoop.start(lease, [Daemon("namenode", ["/bin/sleep", "60"])]))
    assert sh(bootstrap(lease)).exit == Exit.NOT_EMPTY
    ok(standby.stop(lease, ["namenode"], grace_s=0.2))
    Path(lease.folders.nn).mkdir()
    Path(lease.folders.nn, "somebody's").write_text("x")
    assert sh(bootstrap(lease)).exit == Exit.NOT_EMPTY
    assert Path(lease.folders.nn, "somebody's").exists()


def test_a_segment_that_is_in_the_journal_twice_is_kept_once(lease: Lease) -> None:
    current = Path(lease.folders.journal / "c-1" / "current")
    current.mkdir(parents=True)
    there = ["edits_01-04", "edits_inprogress_01", "edits_inprogress_05", "edits_inprogress_01.stale-7", "VERSION"]
    for name in there:
        (current / name).write_text(name)
    aside = ok(standby.tidy_journal(lease, "c-1"))["aside"]
    assert aside.startswith("edits_inprogress_01.stale-")
    assert {path.name for path in current.iterdir()} == {*there, aside} - {"edits_inprogress_01"}
    assert (current / aside).read_text() == "edits_inprogress_01"
    assert "aside" not in ok(standby.tidy_journal(lease, "c-1"))


def test_a_node_without_a_journal_is_tidy(lease: Lease) -> None:
    assert "aside" not in ok(standby.tidy_journal(lease, "c-1"))
