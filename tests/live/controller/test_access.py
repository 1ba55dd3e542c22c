"""Access: by rank, by whose MR-cluster it is, and by whose files a request names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError, RefusedError, UserError
from fawkes.config.clusters.details import ClusterDetails, DataSet, JobDetails, Output
from fawkes.config.settings.keys import AccessTable
from fawkes.config.settings.settings import load_settings
from fawkes.core.values import events
from fawkes.core.values.decision import Decision, PutCluster
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId
from fawkes.engine.ports import Entry
from fawkes.live.controller.access import Access, Gate, Owners, Rank, access_of
from fawkes.live.controller.endpoint import Peer
from tests.support.desk import Desk
from tests.support.pools import agreed

OWN_UID = 500
VIEW, USE, RUN = 10, 20, 30
ACCESS = Access(viewers=frozenset({VIEW}), users=frozenset({USE}), operators=frozenset({RUN}))
ALICE, BOB = (Peer(1, uid, name, frozenset({USE})) for uid, name in ((1001, "alice"), (1002, "bob")))
VIEWER = Peer(1, 1003, "vera", frozenset({VIEW, 99}))
OPERATOR = Peer(1, 1004, "olaf", frozenset({RUN}))
NOBODY = Peer(1, 1005, "mallory", frozenset({99}))
OWN = Peer(1, OWN_UID, "fawkes")
ROOT = Peer(1, 0, "root")


def cluster(name: str, details: ClusterDetails | None = None, by: str = "alice") -> events.Requested:
    plain = {} if details is None else details.plain()
    return events.Requested(at_us=0, spec=ClusterSpec(id=ClusterId(name), min_nodes=1, details=plain), by=by)


def job(where: str, details: JobDetails | None = None) -> events.Submitted:
    plain = (details or JobDetails(kind="class")).plain()
    return events.Submitted(at_us=0, spec=JobSpec(id=JobId("j"), cluster=ClusterId(where), details=plain), by="x")


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Alice has an MR-cluster with a job in it, Bob another."""
    desk = Desk(10)
    desk.up("hers")
    desk.up("his")
    owners = Owners(lambda: [agreed("hers", "alice"), agreed("his", "bob")], desk.state)
    (tmp_path / "shared").mkdir()
    return Gate(ACCESS, owners, tmp_path / "shared", own_uid=lambda: OWN_UID)


def may(gate: Gate, peer: Peer, event: events.Event | None) -> bool:
    try:
        gate.act(peer, "verb", event)
    except RefusedError:
        return False
    return True


@pytest.mark.parametrize(
    ("peer", "rank"),
    [(VIEWER, Rank.VIEWER), (ALICE, Rank.USER), (OPERATOR, Rank.OPERATOR), (OWN, Rank.OPERATOR), (ROOT, Rank.OPERATOR)],
)
def test_ranks(gate: Gate, peer: Peer, rank: Rank) -> None:
    assert gate.rank(peer) is rank


@pytest.mark.slow
@given(groups=st.frozensets(st.integers(0, 40)))
def test_a_rank_is_never_more_than_a_group_says(groups: frozenset[int]) -> None:
    rank = ACCESS.rank(Peer(1, 1001, "x", groups), OWN_UID)
    allowed = {0: Rank.NOBODY, VIEW: Rank.VIEWER, USE: Rank.USER, RUN: Rank.OPERATOR}
    assert rank == max(level for group, level in allowed.items() if group == 0 or group in groups)


def test_a_stranger_is_not_listened_to_and_told_why(gate: Gate) -> None:
    with pytest.raises(RefusedError, match=r"mallory may not command .* groups in \[access\] of fawkes.toml"):
        gate.rank(NOBODY)
    closed = Gate(Access(), None, gate.shared, own_uid=lambda: OWN_UID)
    with pytest.raises(
        RefusedError, match=r"alice may not command .* Only root and the user that it runs as may do so$"
    ):
        closed.rank(ALICE)


NODE = NodeId("node01")
FOR_OPERATORS: list[events.Event | None] = [
    events.DownAsked(at_us=0),
    events.PauseAsked(at_us=0, reason="x"),
    events.ResumeAsked(at_us=0),
    events.DrainAsked(at_us=0, node=NODE, reason="x"),
    events.UndrainAsked(at_us=0, node=NODE),
    events.RetryAsked(at_us=0, subject="x"),
    None,
]


@pytest.mark.parametrize("event", FOR_OPERATORS, ids=lambda event: type(event).__name__)
def test_what_concerns_the_pool_is_for_operators(gate: Gate, event: events.Event | None) -> None:
    assert [may(gate, peer, event) for peer in (VIEWER, ALICE, OPERATOR, OWN, ROOT)] == [False, False, True, True, True]


@pytest.mark.parametrize(
    "event",
    [
        cluster("hers"),
        job("hers"),
        events.ReleaseAsked(at_us=0, cluster=ClusterId("hers")),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_user_acts_on_an_mr_cluster_of_his_own(gate: Gate, event: events.Event) -> None:
    assert [may(gate, peer, event) for peer in (VIEWER, ALICE, BOB, OPERATOR)] == [False, True, False, True]


def test_a_job_is_cancelled_by_whom_its_mr_cluster_belongs_to() -> None:
    desk = Desk(10)
    desk.up("hers")
    desk.submit("hers", 1)
    owners = Owners(lambda: [agreed("hers", "alice")], desk.state)
    gate = Gate(ACCESS, owners, Path("/nonexistent"), own_uid=lambda: OWN_UID)
    (known,) = desk.state.jobs
    event = events.CancelAsked(at_us=0, job=known)
    assert [may(gate, peer, event) for peer in (ALICE, BOB, VIEWER, OPERATOR)] == [True, False, False, True]
    assert not may(gate, ALICE, events.CancelAsked(at_us=0, job=JobId("unknown")))


def test_a_new_name_is_anybodys(gate: Gate) -> None:
    assert may(gate, BOB, cluster("new", by="bob"))


@pytest.mark.parametrize(
    ("query", "parameters", "allowed"),
    [
        ("clusters", {}, "vabo"),
        ("board", {"of": "jobs"}, "vabo"),
        ("jobs", {"cluster": "hers"}, "vabo"),
        ("logs", {"cluster": "hers"}, "ao"),
        ("env", {"cluster": "hers"}, "ao"),
        ("history", {"cluster": "his"}, "bo"),
        ("spark-events", {"cluster": "his"}, "bo"),
        ("at-stake", {}, "o"),
        ("something-new", {"cluster": "hers"}, "o"),
    ],
)
def test_who_may_look(gate: Gate, query: str, parameters: Mapping[str, str], allowed: str) -> None:
    def sees(peer: Peer) -> bool:
        try:
            gate.ask(peer, query, parameters)
        except RefusedError:
            return False
        return True

    who = {"v": VIEWER, "a": ALICE, "b": BOB, "o": OPERATOR}
    assert "".join(letter for letter, peer in who.items() if sees(peer)) == allowed


def test_a_user_names_no_file_that_only_the_controller_may_read(gate: Gate, tmp_path: Path) -> None:
    inside, outside = gate.shared / "x.jar", tmp_path / "secret"
    inside.touch()
    outside.touch()
    (gate.shared / "link").symlink_to(outside)
    (gate.shared / "alias").symlink_to(inside)
    (tmp_path / "alias").symlink_to(inside)
    for name, allowed in (
        (inside, True),
        (gate.shared / "alias", True),
        (tmp_path / "alias", False),
        (outside, False),
        (gate.shared / "link", False),
        (gate.shared / "../secret", False),
    ):
        for details in (
            JobDetails(kind="jar", jar=str(name)),
            JobDetails(kind="pig", pig=str(name)),
            JobDetails(kind="class", files=(str(name),)),
        ):
            assert may(gate, ALICE, job("hers", details)) is allowed, name
        assert may(gate, OPERATOR, job("hers", JobDetails(kind="jar", jar=str(name))))
        for wish in (
            ClusterDetails(hadoop_version="3.5.0", data=(DataSet(source=str(name), to="/in"),)),
            ClusterDetails(hadoop_version="3.5.0", outputs=(Output(path="/out", save_to=str(name)),)),
        ):
            assert may(gate, ALICE, cluster("hers", wish)) is allowed, name
    remote = ClusterDetails(
        hadoop_version="3.5.0",
        data=(DataSet(source="hdfs://nn/in", to="/in"),),
        outputs=(Output(path="/out", save_to="hdfs://nn/out"),),
    )
    assert may(gate, ALICE, cluster("hers", remote))


def test_an_output_goes_to_another_hdfs_only_where_a_job_copies_it(gate: Gate) -> None:
    """Whatever is no hdfs:// URL is a folder of the controller, and a user names it below shared/ or not at all."""
    for place in ("webhdfs://../../../../tmp/lib", "webhdfs://nn:9870/out", "hdfs:out", "HDFS://nn/out"):
        output = Output(path="/out", save_to=place)
        assert output.local
        assert not may(gate, ALICE, cluster("hers", ClusterDetails(hadoop_version="3.5.0", outputs=(output,))))


@pytest.mark.parametrize(
    ("details", "key", "allowed"),
    [
        ({"run_as": "games"}, "run_as", False),
        ({"run_as": "c-alice"}, "run_as", True),
        ({"data": (DataSet(source="webhdfs://evil:9870/x", to="/in"),)}, "webhdfs", False),
        ({"data": (DataSet(source="webhdfs://store@evil:9870/x", to="/in"),)}, "webhdfs", False),
        ({"data": (DataSet(source="webhdfs://Store:9870/x", to="/in"),)}, "webhdfs", True),
    ],
    ids=str,
)
def test_users_name_no_unix_user_and_no_host_that_the_site_does_not_list(
    gate: Gate, details: Mapping[str, Any], key: str, allowed: bool
) -> None:
    wish = cluster("hers", ClusterDetails(hadoop_version="3.5.0", **details))
    with pytest.raises(
        RefusedError, match=rf"{key}: alice may not name .* access.{key} of fawkes.toml lists \(nothing"
    ):
        gate.act(ALICE, "request", wish)
    assert may(gate, OPERATOR, wish)
    table = AccessTable.model_validate({"run_as": ["c-alice"], "webhdfs": ["STORE"]})
    listed = replace(ACCESS, **{each: getattr(access_of(table, Path("x")), each) for each in ("run_as", "webhdfs")})
    assert may(replace(gate, access=listed), ALICE, wish) is allowed


def test_owners_are_read_from_requests_that_were_agreed_to() -> None:
    desk = Desk(10)
    desk.up("c-1")
    first = next(entry for entry in desk.store.entries() if isinstance(entry.event, events.Requested))
    assert isinstance(first.event, events.Requested)
    entries = [
        Entry(1, replace(first.event, by="mallory"), Decision()),
        Entry(2, replace(first.event, by="alice"), first.decision),
    ]
    owners = Owners(lambda: entries, desk.state)
    assert any(isinstance(each, PutCluster) for each in first.decision.changes)
    assert (owners.of_cluster("c-1"), owners.of_cluster("c-2")) == ("alice", None)


def test_a_name_stays_with_the_user_who_had_it_first() -> None:
    """An operator who requests it again, before or after anybody has asked whose it is, owns nothing by that."""
    entries = [agreed("c-1", "alice"), agreed("c-1", "olaf")]
    owners = Owners(lambda: entries, Desk(10).state)
    assert owners.of_cluster("c-1") == "alice"
    entries += [agreed("c-2", "bob"), agreed("c-1", "olaf")]
    assert (owners.of_cluster("c-2"), owners.of_cluster("c-1")) == ("bob", "alice")


def test_a_group_that_does_not_exist_is_refused_with_file_and_key(tmp_path: Path) -> None:
    file = tmp_path / "fawkes.toml"
    with pytest.raises(ConfigError, match=r"toml: access.users: there is no group 'no-such-group' .*`groupadd"):
        access_of(AccessTable.model_validate({"users": "no-such-group"}), file)
    assert access_of(AccessTable(), file).open is False


@pytest.mark.parametrize("groups", ["7", "[7]", '["a b"]', '""', '["-x"]'])
def test_what_cannot_be_a_group_is_refused(tmp_path: Path, groups: str) -> None:
    file = tmp_path / "fawkes.toml"
    file.write_text(f"[access]\nviewers = {groups}\n")
    with pytest.raises(ConfigError, match=r"access\.viewers"):
        load_settings(file)


def test_groups_come_from_the_site_file(tmp_path: Path) -> None:
    file = tmp_path / "fawkes.toml"
    file.write_text('[access]\nviewers = "staff"\noperators = ["root", "adm"]\n')
    assert load_settings(file).access == AccessTable.model_validate(
        {"viewers": ["staff"], "operators": ["root", "adm"]}
    )


def test_the_controllers_own_user_is_the_one_that_runs_it() -> None:
    assert Gate(Access(), None, Path("/x")).rank(Peer(1, os.geteuid(), "me")) is Rank.OPERATOR


@pytest.mark.parametrize(("role", "rank"), [("viewer", Rank.VIEWER), ("user", Rank.USER), ("operator", Rank.OPERATOR)])
@pytest.mark.parametrize("page", [OWN, ROOT])
def test_the_holder_of_a_token_has_its_role_and_a_name_that_no_user_has(
    gate: Gate, page: Peer, role: str, rank: Rank
) -> None:
    holder = gate.holder(page, "alice", role)
    assert gate.rank(holder) is rank
    assert holder.name == "token alice"


@pytest.mark.parametrize("peer", [ALICE, VIEWER, OPERATOR, NOBODY])
def test_nobody_else_asks_for_the_holder_of_a_token(gate: Gate, peer: Peer) -> None:
    with pytest.raises(RefusedError, match="may not ask for the holder of a token"):
        gate.holder(peer, "alice", "operator")


@pytest.mark.parametrize(
    ("name", "role"),
    [("", "user"), ("Alice", "user"), ("a b", "user"), ("alice", ""), ("alice", "nobody"), ("alice", "OPERATOR")],
)
def test_what_is_no_holder_is_refused(gate: Gate, name: str, role: str) -> None:
    with pytest.raises(UserError, match="is not the holder of a token"):
        gate.holder(OWN, name, role)


def test_a_token_never_acts_on_what_belongs_to_the_user_of_its_name(gate: Gate) -> None:
    alice = gate.holder(OWN, "alice", "user")
    assert may(gate, ALICE, job("hers"))
    assert not may(gate, alice, job("hers"))
    assert may(gate, alice, cluster("new", by=alice.name))
    assert not may(gate, gate.holder(OWN, "alice", "viewer"), cluster("new"))
    assert not may(gate, alice, events.PauseAsked(at_us=0, reason="x"))
    assert may(gate, gate.holder(OWN, "olaf", "operator"), events.PauseAsked(at_us=0, reason="x"))
