"""A site's files that are read again for a controller that works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fawkes.base.errors import ConfigError
from fawkes.cli.main import cli
from fawkes.config.nodes.inventory import inventory_node
from fawkes.config.site.site import Site
from fawkes.core.deciding.ruling import LeaseSeen
from fawkes.core.values.decision import PutNode
from fawkes.core.values.events import Event, Reloaded
from fawkes.core.values.model import ClusterId, NodeId, NodeLife
from fawkes.live.controller.control import ControlServer
from fawkes.live.controller.plans import (
    ControllerPlan,
    first_event,
    known_nodes,
    plan,
    refuse_other_places,
    reread_plan,
)
from fawkes.live.nodes.ground import ControllerIdentity
from tests.cli.conftest import INVENTORY
from tests.support.desk import Desk
from tests.support.pools import started


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    (tmp_path / "fawkes.toml").write_text("")
    return Site(tmp_path)


def working(begun: ControllerPlan) -> Desk:
    desk = Desk(2)
    nodes = first_event(begun, ControllerIdentity("pool", 1, "c"), 0).nodes
    desk.tell(started(how=begun.settings.core, policy=begun.policy, nodes=nodes, pool=begun.inventory.pool))
    return desk


def test_a_bad_file_names_file_and_key_and_changes_nothing(site: Site) -> None:
    begun = plan(site, shadow=False)
    desk = working(begun)
    site.settings_file.write_text('period = "soon"\n')
    with pytest.raises(ConfigError, match=r"fawkes.toml: period"):
        reread_plan(begun, desk.engine)
    assert desk.state.rules is not None
    assert desk.state.rules.settings == begun.settings.core


def test_what_has_changed_is_told_and_a_second_look_tells_nothing(site: Site) -> None:
    begun = plan(site, shadow=False)
    desk = working(begun)
    site.settings_file.write_text('confirmations = 5\npolicy = "JD"\n[ssh]\nfanout = 3\n')
    site.inventory_file.write_text(INVENTORY.replace("node[01-05]", "node[01-06]"))
    news = reread_plan(begun, desk.engine)
    assert news.changed == ("policy: TD -> JD", "confirmations: 2 -> 5", "inventory.toml: node06 is in the pool")
    assert news.restart == ("ssh",)
    desk.tell(replace(news, at_us=desk.now_us, by="ann"))
    assert desk.state.nodes[NodeId("node06")].life is NodeLife.FREE
    assert reread_plan(begun, desk.engine).changed == ()


def test_a_node_is_reached_as_it_was_while_an_mr_cluster_holds_it(site: Site) -> None:
    begun = plan(site, shadow=False)
    desk = working(begun)
    held, free = NodeId("node01"), NodeId("node02")
    desk.state.apply(PutNode(replace(desk.state.nodes[held], life=NodeLife.CLEANING, owner=ClusterId("c"))))
    more = '[node.node01]\naddress = "10.9.0.1"\n[node.node02]\naddress = "10.9.0.2"\n'
    site.inventory_file.write_text(INVENTORY.replace("node[01-05]", "node[01-04]") + more)
    news = reread_plan(begun, desk.engine)
    assert news.changed == ("inventory.toml: other facts of node02", "inventory.toml: node05 leaves the pool")
    assert news.restart == ("inventory.toml (node01)",)
    assert news.nodes is not None
    addresses = {node.id: node.details["address"] for node in news.nodes}
    assert addresses[held] == begun.inventory.node("node01").address
    assert addresses[free] == "10.9.0.2"
    listed = [inventory_node(node.details) for node in news.nodes]
    assert [node.name for node in known_nodes(listed[1:], desk.state)] == ["node02", "node03", "node04", "node01"]


def test_a_machine_that_is_held_gets_no_second_name(site: Site) -> None:
    """Its masters' word on one name once counted for the other: a node that served was taken for dead."""
    begun = plan(site, shadow=False)
    desk = working(begun)
    held = NodeId("node05")
    desk.state.apply(PutNode(replace(desk.state.nodes[held], life=NodeLife.SERVING, owner=ClusterId("c"))))
    address = begun.inventory.node("node05").address
    renamed = f'[node.node06]\naddress = "{address}"\n'
    site.inventory_file.write_text(INVENTORY.replace("node[01-05]", "node[01-04],node06") + renamed)
    with pytest.raises(ConfigError, match=rf"node06: has the address of node05 \({address}\), which is serving with c"):
        reread_plan(begun, desk.engine)
    desk.state.apply(PutNode(replace(desk.state.nodes[held], life=NodeLife.LOST, owner=None)))
    reread_plan(begun, desk.engine)
    listed = plan(site, shadow=False).inventory.nodes
    assert known_nodes(listed, desk.state) == list(listed)


def hold(desk: Desk, node: str, **more: Any) -> None:
    changes: dict[str, Any] = {"life": NodeLife.SERVING, "owner": ClusterId("c"), "generation": 7} | more
    desk.state.apply(PutNode(replace(desk.state.nodes[NodeId(node)], **changes)))


@pytest.mark.parametrize("more", [{}, {"life": NodeLife.LOST, "owner": None}])
@pytest.mark.parametrize(("key", "now"), [("work_dir", "/elsewhere"), ("user", "other")])
def test_a_node_that_is_held_keeps_its_work_folder_and_its_user(
    site: Site, key: str, now: str, more: dict[str, Any]
) -> None:
    """A wipe of the new folder once called a node free while all data lay in the old one."""
    begun = plan(site, shadow=False)
    desk = working(begun)
    site.inventory_file.write_text(INVENTORY + f'[node.node01]\n{key} = "{now}"\n')
    other = plan(site, shadow=False)
    refuse_other_places(other, desk.state, [])
    hold(desk, "node01", **more)
    was = getattr(begun.inventory.node("node01"), key)
    with pytest.raises(ConfigError, match=rf"node01.{key}: is '{now}', but .* holds the node with '{was}'") as refused:
        reread_plan(begun, desk.engine)
    assert f'Write {key} = "{was}" into [node.node01] until the node is free' in refused.value.hint
    with pytest.raises(ConfigError, match=rf"node01.{key}: is"):
        refuse_other_places(other, desk.state, [lease_of("c", 7)])


def lease_of(cluster: str, generation: int) -> LeaseSeen:
    return LeaseSeen(node=NodeId("node01"), epoch=1, controller="c", cluster=cluster, generation=generation)


@pytest.mark.parametrize("change", ['address = "10.9.9.9"', "port = 2222", 'data_address = "10.9.9.9"'])
@pytest.mark.parametrize("leases", [[], [lease_of("c", 6)], [lease_of("", 0)], [lease_of("other", 7)]])
def test_a_start_takes_another_machine_for_a_node_that_is_held_only_with_its_lease(
    site: Site, change: str, leases: list[LeaseSeen]
) -> None:
    """A controller once began a second set of daemons on the wrong machine, and called all nodes free in the end."""
    begun = plan(site, shadow=False)
    desk = working(begun)
    hold(desk, "node01")
    site.inventory_file.write_text(INVENTORY + f"[node.node01]\n{change}\n")
    assert reread_plan(begun, desk.engine).restart == ("inventory.toml (node01)",)
    other = plan(site, shadow=False)
    with pytest.raises(ConfigError, match=r"no lease there says that this is the same machine"):
        refuse_other_places(other, desk.state, leases)
    refuse_other_places(other, desk.state, [lease_of("c", 7)])
    hold(desk, "node01", life=NodeLife.FREE, owner=None)
    refuse_other_places(other, desk.state, leases)


@pytest.mark.parametrize(
    "change",
    [
        '[node.node01]\naddress = "{two}"\n[node.node02]\naddress = "{one}"\n',
        '[node.node01]\naddress = "10.9.9.9"\n[node.node06]\naddress = "{one}"\n',
    ],
)
def test_the_address_of_a_node_that_is_held_is_given_to_no_other(site: Site, change: str) -> None:
    begun = plan(site, shadow=False)
    desk = working(begun)
    hold(desk, "node01")
    one, two = (begun.inventory.node(name).address for name in ("node01", "node02"))
    site.inventory_file.write_text(INVENTORY.replace("[01-05]", "[01-06]") + change.format(one=one, two=two))
    with pytest.raises(ConfigError, match=rf"node0[26]: has the address of node01 \({one}\), .* serving with c"):
        reread_plan(begun, desk.engine)


def test_host_keys_of_another_file_count_after_a_restart(site: Site) -> None:
    begun = plan(site, shadow=False)
    desk = working(begun)
    site.inventory_file.write_text(INVENTORY.replace("[ssh]", '[ssh]\nknown_hosts = "other"'))
    assert reread_plan(begun, desk.engine).restart == ("inventory.toml (ssh.known_hosts)",)


def test_a_pool_that_holds_nodes_keeps_its_name(site: Site) -> None:
    """A controller once took the ledger over, and all nodes that the MR-clusters held refused it."""
    begun = plan(site, shadow=False)
    desk = working(begun)
    site.inventory_file.write_text(INVENTORY.replace("pool-1", "other"))
    reread_plan(begun, desk.engine)
    node = desk.state.nodes[NodeId("node01")]
    desk.state.apply(PutNode(replace(node, life=NodeLife.SERVING, owner=ClusterId("c"))))
    with pytest.raises(ConfigError, match=r"pool: is 'other', but the ledger in .*/state is that of 'pool-1'"):
        reread_plan(begun, desk.engine)


def test_the_text_of_a_policy_counts_as_a_change(site: Site) -> None:
    (site.root / "policies").mkdir()
    own = site.root / "policies" / "mine.py"
    own.write_text('NAME = "mine"\n\n\ndef measure(window):\n    return 1.0\n')
    site.settings_file.write_text('policy = "mine"\n')
    begun = plan(site, shadow=False)
    desk = working(begun)
    own.write_text('NAME = "mine"\n\n\ndef measure(window):\n    return 2.0\n')
    assert reread_plan(begun, desk.engine).changed == ("policy: the text of mine has changed",)


@pytest.fixture
def run(site: Site) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(cli, ["--site", str(site.root), *words])


def test_the_command_tells_the_news_and_a_dry_run_changes_nothing(site: Site, run: Callable[..., Result]) -> None:
    begun = plan(site, shadow=False)
    desk = working(begun)
    events: list[Event] = []

    def reread() -> Reloaded:
        return reread_plan(begun, desk.engine)

    server = ControlServer(site.state_dir, events.append, {}, lambda: desk.now_us, stop=lambda by: None, reread=reread)
    try:
        assert "no setting of decisions and no node has changed" in run("reload").stdout
        site.settings_file.write_text("confirmations = 5\n[ssh]\nfanout = 3\n")
        result = run("reload", "--dry-run")
        assert "confirmations: 2 -> 5" in result.stdout
        assert "only after a restart" in result.stdout
        assert events == []
        site.settings_file.write_text("confirmatons = 5\n")
        result = run("reload")
        assert (result.exit_code, "fawkes.toml: confirmatons" in result.stderr) == (2, True)
        assert events == []
    finally:
        server.close()
