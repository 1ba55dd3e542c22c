"""Hadoop's configuration with Kerberos: the settings that it adds, and those that nobody can take away."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import UserError
from fawkes.config.clusters.clusters import ClusterTable
from fawkes.config.clusters.owned_keys import why_owned
from fawkes.core.values.model import Role
from fawkes.live.hadoop.hadoop_conf import NodeConf, files, settings
from fawkes.live.hadoop.hadoop_ha import Trio
from fawkes.live.kerberos.hadoop_kerberos import Secured, auth_to_local
from fawkes.playbook import Folders

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
USERS = st.from_regex(r"[a-z_][a-z0-9_-]{0,12}", fullmatch=True)
REALMS = st.from_regex(r"[A-Z][A-Z0-9.-]{0,12}", fullmatch=True)
_RULE = re.compile(r"RULE:\[(\d):([^\]]*)\]\(([^)]*)\)s/([^/]*)/([^/]*)/")


def mapped(rules: str, principal: str) -> str | None:
    """The user that Hadoop makes of a principal: its rules as `KerberosName` reads and applies them."""
    name, realm = principal.split("@")
    parts = [realm, *name.split("/")]
    for line in rules.splitlines():
        rule = _RULE.fullmatch(line)
        assert rule is not None, f"Hadoop cannot read {line!r}"
        count, form, match, pattern, to = rule.groups()
        if len(parts) - 1 != int(count):
            continue
        base = re.sub(r"\$(\d)", lambda at: parts[int(at[1])], form)
        if re.fullmatch(match, base):
            return re.sub(pattern, to, base, count=1)
    return None


def conf(**changes: object) -> NodeConf:
    values: dict[str, object] = {
        "folders": Folders(work_dir=PurePosixPath("/srv/fawkes"), cluster="alpha"),
        "role": Role.CORE,
        "master": "10.0.0.1",
        "address": "10.0.0.2",
        "user": "hadoop",
        "core_count": 2,
        "replication": 2,
        "block_size_bytes": 1 << 20,
        "memory_mb": 2048,
        "vcores": 2,
        "java_home": "/java",
        "hadoop_home": "/hadoop",
        "task_class_path": ["lib/*"],
        "kerberos": Secured(realm="EXAMPLE.ORG", cluster="alpha", users=["alice"]),
    }
    return NodeConf(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.slow
@given(NAMES, NAMES, USERS, USERS, REALMS, REALMS)
def test_only_the_clusters_own_principal_and_its_users_pass(
    cluster: str, other: str, alice: str, bob: str, realm: str, foreign: str
) -> None:
    daemons = "hadoop-daemon"
    rules = auth_to_local(Secured(realm=realm, cluster=cluster, users=[alice]), daemons)
    assert mapped(rules, f"hadoop/{cluster}@{realm}") == daemons
    assert mapped(rules, f"{alice}@{realm}") == alice
    if other != cluster:
        assert mapped(rules, f"hadoop/{other}@{realm}") is None
    if bob != alice:
        assert mapped(rules, f"{bob}@{realm}") is None
    if foreign != realm:
        assert mapped(rules, f"hadoop/{cluster}@{foreign}") is None
        assert mapped(rules, f"{alice}@{foreign}") is None
    assert mapped(rules, f"HTTP/{cluster}@{realm}") is None
    assert mapped(rules, f"{alice}/admin@{realm}") is None


def test_a_dot_of_the_realm_stands_for_itself() -> None:
    rules = auth_to_local(Secured(realm="EXAMPLE.ORG", cluster="alpha", users=["alice"]), "hadoop")
    assert mapped(rules, "alice@EXAMPLEXORG") is None


def test_nobody_becomes_the_superuser_by_name() -> None:
    with pytest.raises(UserError, match=r"kerberos_users.*'hadoop' is the user of the daemons"):
        auth_to_local(Secured(realm="EXAMPLE.ORG", cluster="alpha", users=["alice", "hadoop"]), "hadoop")


@pytest.mark.parametrize(
    ("site", "key"),
    [
        ("mapred-site", "mapreduce.admin.map.child.java.opts"),
        ("core-site", "hadoop.security.authentication"),
        ("core-site", "hadoop.security.auth_to_local"),
        ("core-site", "hadoop.rpc.protection"),
        ("hdfs-site", "dfs.data.transfer.protection"),
        ("hdfs-site", "dfs.http.policy"),
        ("yarn-site", "yarn.nodemanager.keytab"),
    ],
)
def test_no_override_takes_kerberos_away(site: str, key: str) -> None:
    with pytest.raises(UserError, match=f"{site}: {key} cannot be overridden"):
        settings(conf(overrides=[{site: {key: "simple"}}]))


def test_no_key_of_kerberos_can_be_overridden_in_the_file_of_an_mr_cluster() -> None:
    with_kerberos, without = settings(conf()), settings(conf(kerberos=None))
    added = {
        key
        for site, values in with_kerberos.items()
        for key, value in values.items()
        if without[site].get(key) != value
    }
    class_paths = {"mapreduce.application.classpath", "yarn.application.classpath"}
    assert len(added) > 30
    assert {key for key in added - class_paths if why_owned(key) is None} == set()


def test_daemons_find_their_keys_and_speak_privately() -> None:
    sites = settings(conf())
    keytab = "/srv/fawkes/clusters/alpha/conf/fawkes.keytab"
    for site, name in (
        ("hdfs-site", "dfs.namenode.keytab.file"),
        ("hdfs-site", "dfs.datanode.keytab.file"),
        ("yarn-site", "yarn.resourcemanager.keytab"),
        ("yarn-site", "yarn.nodemanager.keytab"),
        ("mapred-site", "mapreduce.jobhistory.keytab"),
    ):
        assert sites[site][name] == keytab
    assert sites["core-site"]["hadoop.rpc.protection"] == "privacy"
    assert sites["hdfs-site"]["dfs.data.transfer.protection"] == "privacy"
    assert sites["hdfs-site"]["dfs.http.policy"] == "HTTPS_ONLY"
    assert "ignore.secure.ports.for.testing" not in str(sites)


def test_callers_meet_the_door_before_the_login() -> None:
    first, second = settings(conf())["core-site"]["hadoop.http.filter.initializers"].split(",")
    assert (first, second.rsplit(".", 1)[1]) == ("fawkes.doors.WebDoor", "AuthenticationFilterInitializer")


def test_application_masters_keep_their_door_keepers() -> None:
    plain = settings(conf(kerberos=None))["mapred-site"]["yarn.app.mapreduce.am.admin-command-opts"]
    assert settings(conf())["mapred-site"]["yarn.app.mapreduce.am.admin-command-opts"].startswith(f"{plain} ")


def test_tasks_find_our_reader_before_that_of_hadoop() -> None:
    for kerberos, first in ((Secured(realm="EXAMPLE.ORG", cluster="alpha"), True), (None, False)):
        path = settings(conf(kerberos=kerberos))["mapred-site"]["mapreduce.application.classpath"].split(",")
        ours = "$HADOOP_CONF_DIR/fawkes-secure-io.jar"
        assert (ours in path) is first
        assert not first or path.index(ours) < path.index("$HADOOP_COMMON_HOME/lib/*")


def test_an_own_class_path_does_not_lose_what_containers_need() -> None:
    own = {"mapred-site": {"mapreduce.application.classpath": "/site/lib/*"}}
    path = settings(conf(overrides=[own]))["mapred-site"]["mapreduce.application.classpath"].split(",")
    assert path == ["$HADOOP_CONF_DIR/fawkes-doors.jar", "$HADOOP_CONF_DIR/fawkes-secure-io.jar", "/site/lib/*"]


def test_all_parts_of_a_journal_log_in_and_speak_https_on_the_ports_of_http() -> None:
    trio = Trio(name="alpha", addresses={"node01": "10.0.0.1", "node02": "10.0.0.2", "node03": "10.0.0.3"})
    hdfs = settings(conf(trio=trio))["hdfs-site"]
    assert hdfs["dfs.journalnode.kerberos.principal"] == "hadoop/alpha@EXAMPLE.ORG"
    assert hdfs["dfs.journalnode.kerberos.internal.spnego.principal"] == "HTTP/alpha@EXAMPLE.ORG"
    assert hdfs["dfs.journalnode.keytab.file"] == hdfs["dfs.namenode.keytab.file"]
    for kind in ("namenode", "journalnode"):
        plain = {key: value for key, value in hdfs.items() if key.startswith(f"dfs.{kind}.http-address")}
        assert plain
        assert plain.items() <= {k.replace("https", "http"): v for k, v in hdfs.items() if "https" in k}.items()
    # With a name for each NameNode this one would name another of them on two of the three nodes.
    assert "dfs.namenode.https-address" not in hdfs


def test_clients_on_nodes_trust_the_certificate_of_their_mr_cluster() -> None:
    texts = files(conf())
    keystore = "<value>/srv/fawkes/clusters/alpha/conf/tls.p12</value>"
    assert keystore in texts["ssl-server.xml"]
    assert keystore in texts["ssl-client.xml"]
    assert "keystore" not in texts["ssl-client.xml"]


def test_without_kerberos_nothing_of_it_is_written() -> None:
    texts = files(conf(kerberos=None))
    assert not [name for name in texts if name.startswith("ssl-")]
    assert "kerberos" not in "".join(texts.values()).lower()
    assert ClusterTable.model_fields["security"].default == "none"
