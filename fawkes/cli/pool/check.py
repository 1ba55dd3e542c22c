"""`fawkes check`: are the nodes fit?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from shutil import disk_usage
from typing import TYPE_CHECKING, Any

import click

from fawkes.base.errors import ExitStatus, HostError, UserError
from fawkes.base.units import counted, show_bytes
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import confirm, node_names
from fawkes.cli.show.show import TABLE, note, output_option, progress, say, show, warn
from fawkes.cli.show.tables import TABLES
from fawkes.config.site.site import Site
from fawkes.core.clusters.keeping import LEFT_FREE_BYTES, fits
from fawkes.core.values.model import Promise

if TYPE_CHECKING:
    from fawkes.config.nodes.inventory import Inventory, InventoryNode
    from fawkes.live.hadoop.fitness import Fitness, HostSeen
    from fawkes.live.nodes.fleet import Fleet
    from fawkes.playbook.dist.pins import Pin


@click.command()
@click.argument("nodes", required=False, metavar="[NODES]", shell_complete=completion.nodes)
@click.option("--trust", is_flag=True, help="Show unknown host keys and accept them.")
@click.option("--yes", is_flag=True, help="With --trust: accept without asking.")
@output_option
@click.pass_obj
def check(site: Site, nodes: str | None, trust: bool, yes: bool, output: str) -> ExitStatus:
    """Check whether NODES, such as node[01-08], are ready for use; without NODES, the whole inventory.

    A jump host stands for the nodes behind it; --trust accepts its key alone.

    Checks SSH and host keys, names, data addresses and the ways to them, connections through a node, Java, clock, disk,
    memory, Hadoop's ports, remains of other pools, tools, the start of the login shell, whether processes survive the
    logout, and the users that MR-clusters run as. Also checks the keytabs of MR-clusters with Kerberos, and gets a
    ticket with each, and says where the controller's own disk has no room for copies of what masters know. Needs no
    controller and changes nothing. Exits with 0 if all hosts are ready, 4 if some are not, 1 if none is; warnings do
    not count.
    """
    from fawkes.config.site.users import group_lines, without_user
    from fawkes.live.controller.access import access_of
    from fawkes.live.controller.check import Examination, fleet_of
    from fawkes.live.hadoop.fitness import judge
    from fawkes.live.hadoop.own_code import open_to_others, own_code
    from fawkes.live.kerberos.kerberos import check_files
    from fawkes.live.nodes.playbooks import played, site_playbooks

    inventory, settings = site.inventory(), site.settings()
    access_of(settings.access, site.settings_file)
    if settings.web is not None:
        settings.web.check(site.settings_file)
    for line in (site.settings_line(), *inventory.notes, *own_code(site, settings), *open_to_others(site)):
        note(line)
    _tell_room(site)
    daemons = {node.user for node in inventory.nodes}
    for line in check_files(settings.kerberos, sorted(site.clusters_dir.glob("*.toml")), daemons):
        note(line)
    books = site_playbooks(settings.playbooks, site.root, site.settings_file)
    ssh = settings.ssh
    chosen, only = _chosen(inventory, nodes)
    hadoop = _hadoop(site)
    users, without = _users(site)
    promises = _promises(site)
    with played(books), fleet_of(inventory, chosen, ssh) as fleet:

        def look() -> list[HostSeen]:
            with progress("check", len(chosen)) as step:
                return Examination(fleet, chosen, hadoop, users, threads=ssh.fanout).look(step)

        seen = look()
        # What is behind a jump host shows its key when that of the jump host is accepted.
        while trust and _pin(fleet, seen, inventory, only, yes):
            seen = look()
    verdicts = judge(seen, inventory.pool, standby_bytes=_standby_bytes(promises), promised=bool(promises))
    _show(verdicts, output)
    if without:
        for line in (without_user(without), *group_lines(_groups(seen))):
            note(line)
    for line in (*_quota_lines(seen), *_criu_lines(seen)):
        note(line)
    fit = sum(verdict.fits for verdict in verdicts)
    note(f"{fit} of {counted(len(verdicts), 'host')} {'is' if 1 in (fit, len(verdicts)) else 'are'} ready")
    if fit == len(verdicts):
        return ExitStatus.DONE
    return ExitStatus.PARTIAL if fit else ExitStatus.FAILED


def _chosen(inventory: Inventory, nodes: str | None) -> tuple[list[InventoryNode], set[str]]:
    """The nodes to look at, and the hosts whose keys may be accepted; a jump host stands for the nodes behind it."""
    from fawkes.config.files.nodeset import fold

    ways = {node.name: node.jump.names if node.jump else () for node in inventory.nodes}
    jumps = {name for way in ways.values() for name in way}
    if nodes is None:
        return list(inventory.nodes), {*ways, *jumps}
    names = node_names(nodes)
    missing = [name for name in names if name not in ways and name not in jumps]
    if missing:
        also = f", and the jump hosts {fold(jumps)}" if jumps else ""
        raise UserError(f"the inventory has no node {fold(missing)}", hint=f"It has {fold(ways)}{also}")
    behind = [name for name, way in ways.items() if name not in names and not set(way).isdisjoint(names)]
    of = {node.name: node for node in inventory.nodes}
    chosen = [of[name] for name in (*names, *behind) if name in of]
    return chosen, {*names, *(jump for name in names if name in ways for jump in ways[name])}


def _hadoop(site: Site) -> list[Pin]:
    """The Hadoop versions of the MR-cluster files, or the default where there is none."""
    from fawkes.config.files.loader import read_toml
    from fawkes.playbook.dist.pins import DEFAULT_VERSION, pin

    versions: set[str] = set()
    for file in sorted(site.clusters_dir.glob("*.toml")):
        said = read_toml(file)
        if "release_dir" not in said:
            versions.add(str(said.get("hadoop_version", DEFAULT_VERSION)))
    return [pin(version) for version in sorted(versions or {DEFAULT_VERSION})]


def _tell_room(site: Site) -> None:
    """Warn where the controller's disk is too full for copies of what masters know."""
    folder = site.state_dir if site.state_dir.exists() else site.root
    free = disk_usage(folder).free
    if not fits(free, 0):
        least = show_bytes(LEFT_FREE_BYTES)
        warn(f"{folder}: {show_bytes(free)} are free; below {least} nothing that masters know is copied. Free some")


def _promises(site: Site) -> set[Promise]:
    """The promises of the MR-cluster files for the loss of masters."""
    from fawkes.config.files.loader import read_toml

    said = {str(read_toml(file).get("masters")) for file in sorted(site.clusters_dir.glob("*.toml"))}
    return {promise for promise in Promise if promise in said}


def _standby_bytes(promises: Collection[Promise]) -> int:
    """The memory (bytes) for the daemons of core nodes beside a second NameNode; 0 where none is."""
    from fawkes.live.lab.sizing import DAEMONS_OF_HOST_BYTES, JOURNAL_BYTES, MASTERS_BYTES

    return DAEMONS_OF_HOST_BYTES + MASTERS_BYTES + JOURNAL_BYTES if Promise.STANDBY in promises else 0


def _users(site: Site) -> tuple[list[str], list[str]]:
    """The Unix users that the MR-cluster files name, and the MR-clusters whose files name none."""
    from fawkes.config.site.users import users_of

    users = users_of(sorted(site.clusters_dir.glob("*.toml")))
    return sorted(filter(None, users.values())), sorted(file.stem for file, user in users.items() if not user)


def _groups(seen: Sequence[HostSeen]) -> dict[str, str]:
    """The reason why a lease gets no control group, for each host that says so; "" if it gets one."""
    return {host.node.name: host.no_group for host in seen if host.no_group is not None}


def _quota_lines(seen: Sequence[HostSeen]) -> list[str]:
    """Sentences on how hosts can limit the CPU time of containers; nothing on a host that does not say."""
    from fawkes.config.files.nodeset import fold

    ways: dict[tuple[str, str], list[str]] = {}
    for host in seen:
        if host.quota:
            ways.setdefault((host.quota, host.quota_why), []).append(host.node.name)
    lines = []
    for (quota, why), names in ways.items():
        what = f"{fold(names)} {'limits' if len(names) == 1 else 'limit'} the CPU time of containers"
        by = f"by control groups (cgroup {quota})" if quota != "stop" else "coarsely, by stopping and continuing them"
        lines.append(f"{what} {by}" + (f". For control groups, {why}" if why else ""))
    return lines


def _criu_lines(seen: Sequence[HostSeen]) -> list[str]:
    """Sentences on hosts where CRIU cannot save tasks; nothing on a host that does not say."""
    from fawkes.config.files.nodeset import fold

    reasons: dict[str, list[str]] = {}
    for host in seen:
        if host.criu == "no":
            reasons.setdefault(host.criu_why, []).append(host.node.name)
    return [f'{fold(names)} cannot save tasks with checkpoint = "criu": {why}' for why, names in reasons.items()]


def _pin(fleet: Fleet, seen: Sequence[HostSeen], inventory: Inventory, only: set[str], yes: bool) -> bool:
    """Accept the keys of ``only`` hosts that are not known yet, once somebody has looked at them; true if any was."""
    from fawkes.live.controller.check import unknown_keys

    keys = unknown_keys(fleet, seen)
    shown = {name: key for name, key in keys.items() if name in only and not isinstance(key, HostError)}
    if not shown:
        note("no more host keys to accept")
        return False
    for name, key in shown.items():
        warn(f"{name}  {fleet.address(name).address}  {key.get_name()} {key.fingerprint}")
    confirm("yes", what=f"These keys go into {inventory.known_hosts}. Are they those of your hosts?", yes=yes)
    for name, key in shown.items():
        fleet.trust(name, key)
        only.discard(name)  # a file whose faults keep a key unknown is not asked about again
    return True


def _show(verdicts: Sequence[Fitness], output: str) -> None:
    rows = [_row(verdict) for verdict in verdicts]
    if output != TABLE:
        show(rows, TABLES["check"], output)
        return
    show([_short(row) for row in rows], TABLES["check"], output)
    lines = _problems(verdicts)
    if lines:
        click.echo()
    for line in lines:
        say(line, "  ")


def _row(verdict: Fitness) -> dict[str, Any]:
    from fawkes.live.hadoop.fitness import CHECKS, free_bytes

    seen = verdict.seen
    worst: dict[str, str] = {}
    for problem in verdict.problems:
        worst[problem.check] = min(problem.level.value, worst.get(problem.check, problem.level.value))
    known = set(CHECKS) if seen.error is None else {"ssh", "key"} if verdict.showed_key else {"ssh"}
    return {
        "node": seen.node.name,
        "address": seen.node.address,
        "result": verdict.result,
        **{name: worst.get(name, "ok" if name in known else None) for name in CHECKS},
        "java_home": seen.java and seen.java.home,
        "java_version": seen.java and seen.java.major,
        "clock_us": seen.clock_us,
        "free_bytes": free_bytes(seen),
        "shell_us": seen.shell_us,
        "no_group": seen.no_group,
        "quota": seen.quota or None,
        "quota_why": seen.quota_why,
        "criu": seen.criu or None,
        "criu_why": seen.criu_why,
        "problems": [
            {"check": failing.check, "level": failing.level.value, "what": failing.what, "hint": failing.hint}
            for failing in verdict.problems
        ],
    }


def _problems(verdicts: Sequence[Fitness]) -> list[str]:
    """One line for each problem, with all hosts that have it."""
    from fawkes.config.files.nodeset import fold

    problems: dict[tuple[str, str, str], list[str]] = {}
    for verdict in verdicts:
        for problem in verdict.problems:
            level = "warning: " if problem.level.value == "warning" else ""
            text = (problem.check, f"{level}{problem.what}", problem.hint)
            problems.setdefault(text, []).append(verdict.seen.node.name)
    return [
        f"{fold(nodes)}: {check_}: {what}" + (f". {hint}" if hint else "")
        for (check_, what, hint), nodes in problems.items()
    ]


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """A row for a terminal: what there is instead of ``ok`` where that says more, and which checks to look at."""
    from fawkes.live.hadoop.fitness import CHECKS

    more = {
        "java": row["java_version"] and f"{row['java_version']}",
        "clock": row["clock_us"] is not None and f"{row['clock_us'] / 1e6:+.1f} s",
        "disk": row["free_bytes"] is not None and show_bytes(row["free_bytes"]),
    }
    marks = {"bad": "", "warning": " (warning)"}
    findings = ", ".join(f"{name}{marks[row[name]]}" for name in CHECKS if row[name] in marks)
    return row | {name: text for name, text in more.items() if text and row[name] == "ok"} | {"findings": findings}
