"""Problems of a host, judged from what was seen of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import HostError
from fawkes.config.nodes.inventory import InventoryNode
from fawkes.live.hadoop.fitness import Fitness, HostSeen, Level, Problem, judge
from fawkes.live.nodes.ssh import ConnectionState, SshError
from fawkes.playbook import Facts
from fawkes.playbook.dist.compile.java import Java

GB = 1_000_000_000


def node(name: str, **changes: Any) -> InventoryNode:
    values: dict[str, Any] = {
        "name": name,
        "group": "g",
        "site": "s",
        "address": f"10.0.0.{name[-1]}",
        "data_address": f"10.0.0.{name[-1]}",
        "user": "hadoop",
        "port": 22,
        "key": Path("id"),
        "may_core": True,
        "cores": 2,
        "memory_bytes": 2 * GB,
        "disk_bytes": 10 * GB,
        "capacity": 1.0,
        "work_dir": "/srv/fawkes",
        "software_dir": "/srv/fawkes/dist",
        "java_home": None,
        "attributes": {},
    }
    return InventoryNode(**values | changes)


def seen(name: str = "node1", *more: tuple[str, str], of: InventoryNode | None = None, **facts: object) -> HostSeen:
    values = {"hostname": name, "user": "hadoop", "memory_kb": 8 * GB // 1024, "disk.free_kb": 40 * GB // 1024}
    values |= {"disk.total_kb": 80 * GB // 1024, "disk.write": "yes"}
    values |= {key.replace("__", "."): value for key, value in facts.items()}
    pairs = [(key, str(value)) for key, value in values.items()]
    return HostSeen(
        node=of or node(name),
        facts=Facts([*pairs, *more]),
        java=Java("/jvm", 17, "17.0.1"),
        clock_us=0,
        shell_us=5_000,
        lingers=True,
    )


def verdict(host: HostSeen, *others: HostSeen) -> Fitness:
    return judge([host, *others], "pool")[0]


def only(host: HostSeen, *others: HostSeen) -> Problem:
    (problem,) = verdict(host, *others).problems
    return problem


def test_a_host_without_a_fault_fits() -> None:
    fitness = verdict(seen())
    assert (fitness.result, fitness.fits, fitness.problems) == ("fits", True, ())


@pytest.mark.parametrize(
    ("state", "check", "showed_key"),
    [
        (ConnectionState.NAME_UNKNOWN, "ssh", False),
        (ConnectionState.NO_ANSWER, "ssh", False),
        (ConnectionState.REFUSED, "ssh", False),
        (ConnectionState.AUTH_REFUSED, "ssh", True),
        (ConnectionState.KEY_UNKNOWN, "key", True),
        (ConnectionState.KEY_CHANGED, "key", True),
    ],
)
def test_a_host_that_cannot_be_used_is_unreachable_for_its_own_reason(
    state: ConnectionState, check: str, showed_key: bool
) -> None:
    error = SshError("it says nothing", host="node1", state=state, hint="Switch it on")
    fitness = verdict(HostSeen(node=node("node1"), error=error))
    assert (fitness.result, fitness.fits, fitness.showed_key) == ("unreachable", False, showed_key)
    assert fitness.problems == (Problem(check, "it says nothing", "Switch it on"),)


def test_warnings_do_not_make_a_host_unfit() -> None:
    fitness = verdict(replace(seen(), clock_us=-90_000_000))
    assert (fitness.result, fitness.fits) == ("warnings", True)
    assert fitness.problems[0].what == "its clock is 1m30s behind this machine's"


def test_a_clock_may_be_a_second_off() -> None:
    assert not verdict(replace(seen(), clock_us=1_000_000)).problems


@pytest.mark.parametrize("hostname", ["node1", "node1.cluster.local", "NODE1"])
def test_a_host_may_call_itself_by_its_long_name(hostname: str) -> None:
    assert not verdict(seen(hostname=hostname)).problems


def test_a_host_with_another_name_is_told_apart_from_one_with_the_name_of_another() -> None:
    assert only(seen(hostname="login")).level is Level.WARNING
    swapped = only(seen("node1", hostname="node2"), seen("node2"))
    assert swapped.level is Level.BAD
    assert "the name of another node" in swapped.what


def test_two_nodes_that_are_one_machine() -> None:
    first = seen("node1", hostname="big", machine="boot pid:[1]")
    same = only(first, seen("node2", hostname="big", machine="boot pid:[1]"))
    assert (same.level, same.check) == (Level.BAD, "names")
    assert same.what.startswith("it is the same machine as node2")


def test_hosts_that_share_a_kernel_or_say_nothing_of_it_are_no_single_machine() -> None:
    assert not verdict(seen("node1", machine="boot pid:[1]"), seen("node2", machine="boot pid:[2]")).problems
    assert not verdict(seen("node1"), seen("node2")).problems


def test_the_reason_why_a_folder_cannot_be_written_decides_the_hint() -> None:
    denied = only(seen(disk__write="no", disk__why="Permission denied"))
    assert denied.hint == "As root there: install -d -o hadoop /srv/fawkes"
    immutable = only(seen(disk__write="no", disk__why="Operation not permitted"))
    assert immutable.what == "user 'hadoop' cannot write into /srv/fawkes: Operation not permitted"
    assert "lsattr -d" in immutable.hint


def test_a_node_without_bash_does_not_fit() -> None:
    assert only(seen("node1", ("missing", "bash"))).hint == "On Debian: apt-get install bash"


def test_a_name_service_that_does_not_answer_is_no_unknown_name() -> None:
    silent = (("name.node2-ib", ""), ("silent", "node2-ib"))
    problem = only(seen("node1", *silent), seen("node2", of=node("node2", data_address="node2-ib")))
    assert (problem.check, problem.level) == ("names", Level.BAD)
    assert problem.what == "its name service does not answer when asked for node2-ib"
    assert only(seen("node1", *silent), seen("node2")).level is Level.WARNING


def test_names_by_which_hadoop_speaks_must_be_known_everywhere() -> None:
    by_name = node("node2", data_address="node2-ib")
    problem = only(seen("node1", ("name.node2-ib", "")), seen("node2", of=by_name))
    assert (problem.check, problem.level) == ("names", Level.BAD)
    assert "node2-ib" in problem.what


def test_names_that_only_people_need_are_a_warning() -> None:
    problem = only(seen("node1", ("name.node2", ""), ("name.node3", "")), seen("node2"), seen("node3"))
    assert (problem.level, problem.what) == (Level.WARNING, "it cannot resolve the names node[2-3]")


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.1.1", "where no other host can reach it"),
        ("10.9.9.9", "it resolves node2 to 10.9.9.9; the other nodes resolve it to 10.0.0.2"),
    ],
)
def test_names_must_mean_the_same_everywhere(address: str, what: str) -> None:
    by_name = node("node2", data_address="node2")
    others = [seen("node2", ("name.node2", "10.0.0.2"), of=by_name), seen("node3", ("name.node2", "10.0.0.2"))]
    assert what in only(seen("node1", ("name.node2", address)), *others).what


def test_no_java() -> None:
    error = HostError("no Java was found", host="node1", hint="Install it")
    assert only(replace(seen(), java=None, java_error=error)) == Problem("java", "no Java was found", "Install it")


@pytest.mark.parametrize(
    ("facts", "what"),
    [
        ({"disk__free_kb": 100, "disk__write": "no"}, "the disk of /srv/fawkes is full: 102.4 KB free"),
        ({"disk__free_kb": 500_000}, "the disk of /srv/fawkes is full: 512.0 MB free"),
        ({"disk__write": "no"}, "user 'hadoop' cannot write into /srv/fawkes"),
        (
            {"disk__write": "no", "disk__why": "Read-only file system", "disk__mount": "/srv"},
            "/srv/fawkes is on a read-only file system (mounted on /srv)",
        ),
        (
            {"disk__write": "no", "disk__inodes": 1234, "disk__free_inodes": 0},
            "the file system of /srv/fawkes has too few inodes left: 0 of 1,234 are free",
        ),
        (
            {"disk__exec": "no", "disk__options": "rw,noexec,relatime", "disk__mount": "/srv"},
            "/srv/fawkes is on a file system that is mounted noexec (/srv): what jobs and daemons unpack there cannot "
            "run",
        ),
        (
            {"disk__exec": "no", "disk__options": "rw", "disk__why": "Operation not permitted"},
            "user 'hadoop' cannot run a program that lies in /srv/fawkes: Operation not permitted",
        ),
    ],
)
def test_a_disk_that_cannot_be_used(facts: dict[str, Any], what: str) -> None:
    problem = only(seen(**facts))
    assert (problem.check, problem.level, problem.what) == ("disk", Level.BAD, what)


def test_a_file_system_that_makes_inodes_as_it_needs_them_is_not_full() -> None:
    assert not verdict(seen(disk__inodes=0, disk__free_inodes=0)).problems


@pytest.mark.parametrize(
    ("data_address", "more", "what"),
    [
        ("203.0.113.7", (), "data_address 203.0.113.7 is on no interface of it (it has 10.0.0.1, fd00::1)"),
        (
            "node1-ib",
            (("name.node1-ib", "10.1.0.9"),),
            "data_address node1-ib (10.1.0.9) is on no interface of it (it has 10.0.0.1, fd00::1)",
        ),
    ],
)
def test_a_data_address_that_no_interface_has(data_address: str, more: tuple[tuple[str, str], ...], what: str) -> None:
    has = (("has", "127.0.0.1"), ("has", "10.0.0.1"), ("has", "fd000000000000000000000000000001"))
    host = seen("node1", *has, *more, of=node("node1", data_address=data_address))
    problem = only(replace(host, not_reached=OSError(101, "Network is unreachable")))
    assert (problem.check, problem.level, problem.what) == ("data", Level.BAD, what)


@pytest.mark.parametrize("data_address", ["10.0.0.1", "fd00::1", "node1-ib", "not-resolved"])
def test_a_data_address_that_an_interface_has(data_address: str) -> None:
    has = (("has", "10.0.0.1"), ("has", "fd000000000000000000000000000001"), ("has", "garbage"))
    host = seen("node1", *has, ("name.node1-ib", "fd00::1"), of=node("node1", data_address=data_address))
    assert not verdict(host).problems


@pytest.mark.parametrize(
    ("error", "level", "what"),
    [
        (OSError(113, "No route to host"), Level.BAD, "where masters will serve: No route to host"),
        (TimeoutError("timed out"), Level.WARNING, "where masters will serve: no answer"),
    ],
)
def test_a_data_address_that_this_machine_does_not_reach(error: OSError, level: Level, what: str) -> None:
    problem = only(replace(seen(), not_reached=error))
    assert (problem.check, problem.level) == ("data", level)
    assert what in problem.what


def test_nodes_without_a_route_to_each_other() -> None:
    problem = only(seen("node1", ("reach.10.0.0.2", "No route to host")), seen("node2", ("reach.10.0.0.1", "yes")))
    assert problem.what == "it does not reach data_address 10.0.0.2 of another node: No route to host"
    nowhere = seen("node2", ("has", "10.0.0.9"))
    assert not verdict(seen("node1", ("reach.10.0.0.2", "No route to host")), nowhere).problems


@pytest.mark.parametrize(("promised", "level"), [(True, Level.BAD), (False, Level.WARNING)])
def test_a_node_that_opens_no_connections_counts_where_masters_are_to_move(promised: bool, level: Level) -> None:
    (fitness,) = judge([replace(seen(), no_way="bash: not found")], "pool", promised=promised)
    ((check, found_level),) = [(problem.check, problem.level) for problem in fitness.problems]
    assert (check, found_level) == ("forward", level)


def test_a_disk_on_which_hdfs_stores_nothing_is_a_warning_for_a_core_node() -> None:
    problem = only(seen(of=node("node1", disk_bytes=700_000_000), disk__free_kb=700_000, disk__total_kb=710_000))
    assert (problem.check, problem.level) == ("disk", Level.WARNING)
    assert "HDFS stores nothing on less than 1.2 GB" in problem.what
    no_core = node("node1", disk_bytes=700_000_000, may_core=False)
    assert verdict(seen(of=no_core, disk__free_kb=700_000, disk__total_kb=710_000)).problems == ()


def test_less_disk_than_promised_is_a_warning_unless_a_mr_cluster_fills_it() -> None:
    free_kb = 5 * GB // 1024
    assert only(seen(disk__free_kb=free_kb)).level is Level.WARNING
    assert not verdict(seen(lease__pool="pool", lease__cluster="c-1", disk__free_kb=free_kb)).problems


def test_a_work_folder_that_a_group_can_change_is_a_warning() -> None:
    problem = only(seen(disk__group="staff"))
    assert (problem.level, problem.what) == (
        Level.WARNING,
        "members of the group 'staff' can change /srv/fawkes, and so who holds the node",
    )


def test_a_shared_work_folder() -> None:
    problem = only(replace(seen("node1"), sees=("node2", "node3")), seen("node2"), seen("node3"))
    assert problem.what == "it shares its work folder /srv/fawkes with node[2-3]"


def test_more_memory_promised_than_there_is() -> None:
    assert only(seen(memory_kb=1_000_000)).check == "memory"


def test_memory_for_a_journal_is_asked_for_where_a_second_name_node_is_to_be() -> None:
    """The node has 8 GB and offers 2 GB of them."""
    assert not judge([seen()], "pool")[0].problems
    assert not judge([seen()], "pool", standby_bytes=6 * GB)[0].problems
    ((problem,),) = [fitness.problems for fitness in judge([seen()], "pool", standby_bytes=6 * GB + 1)]
    assert (problem.check, problem.level) == ("memory", Level.WARNING)
    assert "6.0 GB of its memory are left" in problem.what
    transient = seen(of=replace(node("node1"), may_core=False))
    assert not judge([transient], "pool", standby_bytes=7 * GB)[0].problems


def test_ports_of_a_journal_count_where_a_second_name_node_is_to_be() -> None:
    listening = seen("node1", ("listen", "8480"), ("listen", "8485"))
    assert not judge([listening], "pool")[0].problems
    ((problem,),) = [fitness.problems for fitness in judge([listening], "pool", standby_bytes=1)]
    assert "8480 (journal web), 8485 (journal)" in problem.what


def test_ports_in_use_count_unless_a_mr_cluster_of_the_pool_runs_there() -> None:
    listening = (("listen", "8088"), ("listen", "9870"))
    assert "8088 (resourcemanager web), 9870 (namenode web)" in only(seen("node1", *listening)).what
    ours = seen("node1", *listening, ("left.7", "pool c-1 3 namenode"), lease__pool="pool", lease__cluster="c-1")
    assert not verdict(ours).problems


def test_what_another_pool_holds() -> None:
    problem = only(seen("node1", ("left.7", "other c-1 3 datanode"), lease__pool="other", lease__cluster="c-1"))
    assert (problem.check, problem.what) == ("left", "it belongs to the pool 'other'")


def test_the_lease_of_another_node() -> None:
    assert "belongs to node9" in only(seen(lease__pool="pool", lease__node="node9")).what


def test_a_damaged_lease() -> None:
    problem = only(seen(lease__damage="it is empty"))
    assert (problem.check, problem.what) == ("left", "the file /srv/fawkes/lease is not a valid lease: it is empty")


def test_processes_that_nobody_ended() -> None:
    left = (("left.7", "pool c-1 3 container"), ("left.8", "pool c-1 3 container"), ("left.9", "old c-2 1 datanode"))
    assert only(seen("node1", *left)).what == (
        "left behind there: 2 x container of c-1 of pool pool, datanode of c-2 of pool old"
    )


def test_missing_programs_name_their_packages() -> None:
    problem = only(seen("node1", ("missing", "flock"), ("missing", "setsid"), ("missing", "df")))
    assert (problem.what, problem.hint) == (
        "programs are missing: df, flock, setsid",
        "On Debian: apt-get install coreutils util-linux",
    )


def test_a_slow_login_shell_is_a_warning_and_a_logout_that_ends_all_is_not() -> None:
    assert only(replace(seen(), shell_us=2_500_000)).level is Level.WARNING
    problem = only(replace(seen(), lingers=False))
    assert (problem.level, "enable-linger hadoop" in problem.hint) == (Level.BAD, True)


def test_what_could_not_be_told_is_no_problem() -> None:
    assert not verdict(replace(seen(), clock_us=None, shell_us=None, lingers=None)).problems


def test_a_user_that_cannot_be_makes_a_host_unfit() -> None:
    fitness = verdict(replace(seen(), unfit_users={"alpha": "there is no user alpha"}))
    assert (fitness.result, fitness.problems[0].check, fitness.problems[0].what) == (
        "unfit",
        "users",
        "there is no user alpha",
    )
    assert "sudo" in fitness.problems[0].hint
