from __future__ import annotations

import dataclasses
import subprocess
import xml.etree.ElementTree as ET
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import UserError
from fawkes.config.clusters.owned_keys import FOLDERS, OLD_NAMES, why_owned
from fawkes.core.values.model import Role
from fawkes.live.hadoop.hadoop_conf import (
    DOOR_KEYS,
    DOORS_JAR,
    MEMBERSHIP_KEYS,
    SITES,
    NodeConf,
    TaskSizes,
    files,
    to_xml,
)
from fawkes.live.hadoop.hadoop_conf import settings as settings_of
from fawkes.live.hadoop.hadoop_ha import HA_KEYS, Trio, nameservice
from fawkes.live.hadoop.ports import Ports
from fawkes.playbook import Folders

CONF = NodeConf(
    folders=Folders(work_dir=PurePosixPath("/srv/fawkes"), cluster="alpha"),
    role=Role.CORE,
    master="10.0.0.1",
    address="10.0.0.2",
    user="hadoop",
    core_count=3,
    replication=2,
    block_size_bytes=8 << 20,
    memory_mb=2000,
    vcores=2,
    java_home="/usr/lib/jvm/java-17",
    hadoop_home="/srv/dist/hadoop-3.5.0",
    task_class_path=["lib/*"],
)
ROOT = "/srv/fawkes/clusters/alpha"


def read(text: str) -> dict[str, str]:
    return {row.findtext("name", ""): row.findtext("value", "") for row in ET.fromstring(text)}


def test_the_files_are_those_that_hadoop_reads_and_the_same_for_the_same_values() -> None:
    texts = files(CONF)
    assert set(texts) == {f"{site}.xml" for site in SITES} | {"log4j.properties", "hadoop-env.sh"}
    assert texts == files(dataclasses.replace(CONF))
    for site in SITES:
        values = read(texts[f"{site}.xml"])
        assert values == settings_of(CONF)[site]
        assert list(values) == sorted(values)
        assert all(values.values())


def test_no_folder_that_is_configured_can_be_overridden() -> None:
    """A folder that is written here one day must not be forgotten there: no wipe would find the other one."""
    both = [*settings_of(CONF).values(), *settings_of(STANDBY).values()]
    values = {key: value for site in both for key, value in site.items()}
    named = {key for key, value in values.items() if ROOT in value}
    assert {key for key in named if why_owned(key) is None} == set()
    assert named & FOLDERS


def test_no_address_and_port_that_is_configured_can_be_overridden() -> None:
    """Fawkes asks masters and nodes there: a key that is written here one day must not be forgotten there."""
    both = [*settings_of(CONF).values(), *settings_of(STANDBY).values()]
    values = {key: value for site in both for key, value in site.items()}
    places = ("10.0.0.", f"/{nameservice('alpha')}", str(Ports().shuffle))
    named = {key for key, value in values.items() if any(place in value for place in places)}
    assert len(named) > 20
    assert {key for key in named if why_owned(key) is None} == set()


def test_no_key_is_written_under_an_old_name_of_it() -> None:
    quick = dataclasses.replace(CONF, quick=True)
    both = [*settings_of(quick).values(), *settings_of(STANDBY).values()]
    written = {key for site in both for key in site}
    assert written & set(OLD_NAMES) == set()
    assert {name for name in OLD_NAMES.values() if name not in written and not why_owned(name)} == set()


def test_only_core_nodes_have_a_volume_for_input() -> None:
    volumes = {
        role: settings_of(dataclasses.replace(CONF, role=role))["hdfs-site"]["dfs.datanode.data.dir"] for role in Role
    }
    assert volumes == {
        Role.CORE: f"[DISK]file://{ROOT}/dn,[ARCHIVE]file://{ROOT}/dn-input",
        Role.TRANSIENT_CORE: f"[DISK]file://{ROOT}/dn",
        Role.TRANSIENT: f"[DISK]file://{ROOT}/dn",
    }


def test_busy_core_nodes_get_blocks_beside_idle_others() -> None:
    """A block on core nodes alone could not be written while both have more than twice the mean load."""
    assert settings_of(CONF)["hdfs-site"]["dfs.namenode.redundancy.considerLoad"] == "false"


def test_members_are_read_from_the_files_that_a_refresh_writes() -> None:
    sites = settings_of(CONF)
    assert sites["hdfs-site"]["dfs.hosts"] == f"{ROOT}/members/{Folders.DFS_INCLUDE}"
    assert sites["yarn-site"]["yarn.resourcemanager.nodes.exclude-path"].endswith(".xml")


def test_a_node_speaks_on_its_data_address_and_finds_its_masters() -> None:
    sites = settings_of(CONF)
    assert sites["core-site"]["fs.defaultFS"] == "hdfs://10.0.0.1:8020"
    assert sites["hdfs-site"]["dfs.datanode.hostname"] == "10.0.0.2"
    assert sites["yarn-site"]["yarn.nodemanager.address"] == "10.0.0.2:8041"
    assert sites["yarn-site"]["yarn.resourcemanager.resource-tracker.address"] == "10.0.0.1:8031"


def test_ports_can_be_others() -> None:
    texts = files(dataclasses.replace(CONF, ports=Ports(namenode=18020, nodemanager=18041)))
    assert read(texts["core-site.xml"])["fs.defaultFS"] == "hdfs://10.0.0.1:18020"
    assert read(texts["yarn-site.xml"])["yarn.nodemanager.address"] == "10.0.0.2:18041"


def test_the_ports_that_a_node_needs_grow_with_its_role() -> None:
    ports = Ports()
    transient, core = set(ports.of(Role.TRANSIENT, master=False)), set(ports.of(Role.CORE, master=False))
    master = set(ports.of(Role.CORE, master=True))
    second = set(ports.of(Role.CORE, master=False, journal=True))
    both = set(ports.of(Role.CORE, master=True, journal=True))
    assert transient < core < master < both == set(dataclasses.asdict(ports).values())
    assert core < second < both


@pytest.mark.parametrize("quick", [False, True])
def test_a_dead_node_is_noticed_within_about_a_minute(quick: bool) -> None:
    sites = settings_of(dataclasses.replace(CONF, quick=quick))
    hdfs = sites["hdfs-site"]
    recheck_s = int(hdfs["dfs.namenode.heartbeat.recheck-interval"]) / 1000
    assert 2 * recheck_s + 10 * int(hdfs["dfs.heartbeat.interval"]) <= 60
    assert int(sites["yarn-site"]["yarn.nm.liveness-monitor.expiry-interval-ms"]) <= 60_000
    assert int(sites["yarn-site"]["yarn.am.liveness-monitor.expiry-interval-ms"]) <= 120_000
    assert int(sites["yarn-site"]["yarn.client.nodemanager-connect.max-wait-ms"]) <= 60_000


def test_staging_never_asks_for_more_copies_than_there_are_core_nodes() -> None:
    for count in (1, 2, 12):
        mapred = settings_of(dataclasses.replace(CONF, core_count=count))["mapred-site"]
        assert mapred["mapreduce.client.submit.file.replication"] == str(count)


@pytest.mark.parametrize("memory_mb", [1000, 2000, 4096, 64_000])
@pytest.mark.parametrize("quick", [False, True])
def test_containers_fit_the_nodes_and_heaps_fit_the_containers(memory_mb: int, quick: bool) -> None:
    conf = dataclasses.replace(CONF, memory_mb=memory_mb, quick=quick)
    mapred = settings_of(conf)["mapred-site"]
    sizes = TaskSizes.for_nodes(memory_mb)
    assert sizes.master_mb + sizes.map_mb <= memory_mb
    for size, key in (
        (sizes.master_mb, "yarn.app.mapreduce.am.command-opts"),
        (sizes.map_mb, "mapreduce.map.java.opts"),
        (sizes.reduce_mb, "mapreduce.reduce.java.opts"),
    ):
        assert size % sizes.step_mb == 0
        assert f"-Xmx{max(size - 128, size * 3 // 4)}m" in mapred[key]
        assert "GC" not in mapred[key]
    assert 2 * int(mapred["mapreduce.task.io.sort.mb"]) < sizes.map_mb


def test_the_largest_container_is_that_of_the_largest_node() -> None:
    yarn = settings_of(dataclasses.replace(CONF, max_memory_mb=8000, max_vcores=16))["yarn-site"]
    assert yarn["yarn.nodemanager.resource.memory-mb"] == "2000"
    assert yarn["yarn.scheduler.maximum-allocation-mb"] == "8000"
    assert yarn["yarn.scheduler.maximum-allocation-vcores"] == "16"


def test_tasks_find_their_classes_wherever_the_release_lies_on_their_node() -> None:
    sites = settings_of(CONF)
    for path in (
        sites["yarn-site"]["yarn.application.classpath"],
        sites["mapred-site"]["mapreduce.application.classpath"],
    ):
        assert path == f"$HADOOP_CONF_DIR,$HADOOP_CONF_DIR/{DOORS_JAR},$HADOOP_COMMON_HOME/lib/*"
    assert "HADOOP_COMMON_HOME" in sites["yarn-site"]["yarn.nodemanager.env-whitelist"]


def test_commands_on_the_node_find_java_and_hadoop() -> None:
    text = files(dataclasses.replace(CONF, java_home="/opt/my java"))["hadoop-env.sh"]
    said = subprocess.run(
        ["/bin/sh", "-c", f'{text}echo "$JAVA_HOME,$HADOOP_HOME"'], capture_output=True, text=True, check=True
    )
    assert said.stdout == "/opt/my java,/srv/dist/hadoop-3.5.0\n"


def test_containers_carry_the_marks_by_which_a_wipe_finds_them() -> None:
    whitelist = settings_of(CONF)["yarn-site"]["yarn.nodemanager.env-whitelist"].split(",")
    assert {"FAWKES_POOL", "FAWKES_CLUSTER"} <= set(whitelist)


def test_the_masters_take_rpc_from_the_allowed_alone_and_workers_from_all() -> None:
    policy = settings_of(dataclasses.replace(CONF, allowed="10.0.0.2,10.0.0.3"))["hadoop-policy"]
    assert policy["security.client.protocol.hosts"] == "10.0.0.2,10.0.0.3"
    assert policy["security.resourcetracker.protocol.hosts"] == policy["security.client.protocol.hosts"]
    assert not any(key.startswith(("security.containermanagement", "security.job.task")) for key in policy)
    assert not any(key.endswith(".hosts") for key in settings_of(CONF)["hadoop-policy"])


def test_overrides_win_in_their_order() -> None:
    conf = dataclasses.replace(
        CONF,
        overrides=[
            {"hdfs-site": {"dfs.replication": "5", "my.key": "1"}, "yarn-site": {"yarn.acl.enable": "true"}},
            {"hdfs-site": {"my.key": "2"}},
        ],
    )
    sites = settings_of(conf)
    assert (sites["hdfs-site"]["dfs.replication"], sites["hdfs-site"]["my.key"]) == ("5", "2")
    assert sites["yarn-site"]["yarn.acl.enable"] == "true"


@pytest.mark.parametrize("key", sorted(MEMBERSHIP_KEYS))
def test_nobody_overrides_who_is_a_member(key: str) -> None:
    with pytest.raises(UserError, match="cannot be overridden"):
        files(dataclasses.replace(CONF, overrides=[{"hdfs-site": {key: "/elsewhere"}}]))


def test_an_unknown_file_is_refused() -> None:
    with pytest.raises(UserError, match="no configuration file 'hdfs'"):
        files(dataclasses.replace(CONF, overrides=[{"hdfs": {"a": "b"}}]))


# Line ends of XML are line feeds, whatever was written.
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1)


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(TEXT, TEXT))
def test_any_text_survives_the_way_through_xml(values: dict[str, str]) -> None:
    assert read(to_xml(values)) == values


def test_a_character_that_xml_cannot_hold_is_named() -> None:
    with pytest.raises(UserError, match=r"my\.key.*XML"):
        to_xml({"my.key": "a\x01b"})


TRIO = Trio(name="alpha", addresses={"n1": "10.0.0.1", "n2": "10.0.0.2", "n3": "10.0.0.3"})
STANDBY = dataclasses.replace(CONF, trio=TRIO, state_in_hdfs=True)


def test_with_a_journal_everybody_has_the_same_three_addresses_and_none_of_the_masters() -> None:
    of_masters = {"dfs.ha.namenode.id", "yarn.resourcemanager.ha.id"}
    sites = {at: settings_of(dataclasses.replace(STANDBY, address=f"10.0.0.{at}", master="10.0.0.1")) for at in (1, 4)}
    moved = settings_of(dataclasses.replace(STANDBY, address="10.0.0.4", master="10.0.0.3"))
    for site in ("core-site", "hdfs-site"):
        assert sites[4][site] == moved[site], "no move among the three changes what a worker reads"
    changed = {key for key, value in sites[4]["yarn-site"].items() if moved["yarn-site"][key] != value}
    assert changed == {"yarn.log.server.url"}, "the JobHistory server alone is known by its node"
    by_key = {key: sites[1][site].get(key) for site in ("hdfs-site", "yarn-site") for key in sites[1][site]}
    assert {key: by_key[key] for key in of_masters} == dict.fromkeys(of_masters, "n1")
    assert not of_masters & {key for site in sites[4].values() for key in site}


def test_with_a_journal_hdfs_has_a_name_and_masters_wait_to_be_made_active() -> None:
    sites = settings_of(STANDBY)
    hdfs, yarn = sites["hdfs-site"], sites["yarn-site"]
    assert sites["core-site"]["fs.defaultFS"] == "hdfs://alpha"
    assert hdfs["dfs.namenode.shared.edits.dir"] == "qjournal://10.0.0.1:8485;10.0.0.2:8485;10.0.0.3:8485/alpha"
    assert hdfs["dfs.namenode.rpc-address.alpha.n3"] == "10.0.0.3:8020"
    assert yarn["yarn.resourcemanager.webapp.address.n2"] == "10.0.0.2:8088"
    assert hdfs["dfs.ha.automatic-failover.enabled"] == yarn["yarn.resourcemanager.ha.automatic-failover.enabled"]
    assert hdfs["dfs.ha.automatic-failover.enabled"] == "false"
    assert yarn["yarn.resourcemanager.fs.state-store.uri"] == "hdfs://alpha/yarn-state"
    assert "dfs.namenode.rpc-address" not in hdfs, "a NameNode would listen there whatever its id is"


def test_an_mr_cluster_that_gave_up_its_journal_still_knows_its_applications() -> None:
    yarn = settings_of(dataclasses.replace(CONF, state_in_hdfs=True))["yarn-site"]
    assert yarn["yarn.resourcemanager.fs.state-store.uri"] == "hdfs://10.0.0.1:8020/yarn-state"
    assert "yarn.resourcemanager.ha.enabled" not in yarn


@pytest.mark.parametrize(
    ("cluster", "name"),
    [("alpha", "alpha"), ("c-1", "c-1"), ("a_b.c", "a-b-c"), ("2026", "mr-2026"), ("x_", "x"), ("7_", "mr-7")],
)
def test_the_name_in_hdfs_is_one_that_java_takes_for_a_host(cluster: str, name: str) -> None:
    assert nameservice(cluster) == name


@pytest.mark.parametrize(
    ("conf", "site", "key"),
    [
        *((STANDBY, "hdfs-site", key) for key in sorted(HA_KEYS)),
        *((CONF, "core-site", key) for key in sorted(DOOR_KEYS)),
    ],
)
def test_nobody_overrides_where_masters_are_or_opens_a_door(conf: NodeConf, site: str, key: str) -> None:
    assert any(key in values for values in settings_of(conf).values())
    assert why_owned(key)
    with pytest.raises(UserError, match=f"{key} cannot be overridden"):
        files(dataclasses.replace(CONF, overrides=[{site: {key: "none"}}]))


def test_every_daemon_listens_on_the_data_address_alone() -> None:
    sites = [*settings_of(CONF).values(), *settings_of(STANDBY).values()]
    assert not any("0.0.0.0" in value for site in sites for value in site.values())
    assert not any(key.endswith("bind-host") for site in sites for key in site)


def test_an_application_master_finds_its_door_keeper_on_any_class_path() -> None:
    own = {"mapred-site": {"mapreduce.application.classpath": "/opt/lib/*"}}
    value = settings_of(dataclasses.replace(CONF, overrides=[own]))["mapred-site"]["mapreduce.application.classpath"]
    assert value == f"$HADOOP_CONF_DIR/{DOORS_JAR},/opt/lib/*"
