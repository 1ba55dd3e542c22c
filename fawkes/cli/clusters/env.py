"""`fawkes env`: make `hadoop`, `yarn`, `pig` and `spark-submit` work on an MR-cluster from this machine."""

from __future__ import annotations

import ipaddress
import os
import shlex
import shutil
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from fawkes.base.errors import FawkesError, UserError
from fawkes.cli.asking import completion
from fawkes.cli.asking.acting import the_cluster
from fawkes.cli.asking.client import Client
from fawkes.cli.show.show import warn
from fawkes.config.site.site import Site


@click.command()
@click.argument("cluster", metavar="CLUSTER", shell_complete=completion.clusters)
@click.option("--csh", is_flag=True, help="For csh and tcsh instead of sh, bash and zsh.")
@click.pass_obj
def env(site: Site, cluster: str, csh: bool) -> None:
    """Print exports that make `hadoop`, `hdfs`, `yarn`, `mapred` and `pig` work on CLUSTER.

    \b
      eval "$(fawkes env c-1)"
      hdfs dfs -ls /

    Where the MR-cluster has Spark, `spark-submit`, `pyspark` and `spark-shell` work as well, and Python finds
    `pyspark`. `pig` needs `fawkes dist get pig`. The client configuration is written to state/env/CLUSTER in the site's
    folder. The address of this machine must be in `clients` of the MR-cluster's file.
    """
    client = Client(site)
    the_cluster(client, cluster)
    answer = client.get("env", cluster=cluster)
    java_home = _java_home(answer["java_home"])
    release = _release(answer["release_dir"], cluster)
    pig = {"pig": _pig(answer["pig"])} if answer.get("pig") else {}
    folder = _written(site.state_dir.absolute() / "env" / cluster, {**answer["files"], **pig})
    variables = {
        "JAVA_HOME": java_home,
        "HADOOP_HOME": release,
        "HADOOP_CONF_DIR": os.fspath(folder),
        "YARN_CONF_DIR": os.fspath(folder),
    }
    programs = [f"{release}/bin"]
    if pig:
        (folder / "pig").chmod(0o700)
        programs.append(os.fspath(folder))
    if answer.get("spark"):
        variables |= _spark(Path(answer["spark"]), os.fspath(folder))
        variables["SPARK_HISTORY"] = f"http://{answer.get('spark_history', '')}"
        programs.append(f"{answer['spark']}/bin")
    # A controller of an earlier version does not say.
    if "doors" in answer and (why := _shut_out(answer["master"], answer["doors"])):
        warn(f"warning: {cluster} takes no connections from this machine ({why}): add it to `clients` in its file")
    click.echo(_csh(variables, ":".join(programs)) if csh else _sh(variables, ":".join(programs)))


def _shut_out(master: str, doors: Iterable[str]) -> str:
    """The address from which this machine reaches the masters, if their daemons take no connection from it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent: the kernel only says by which of its addresses it would go.
            probe.connect((master, 9))
        except OSError:
            return ""
        mine = probe.getsockname()[0]
    networks = (ipaddress.ip_network(door) for door in doors if door[0].isdigit())
    return "" if any(ipaddress.ip_address(mine) in network for network in networks) else mine


def _pig(folder: str) -> str:
    """The command `pig`: Hadoop's classes come first, and what tasks need beyond Hadoop's goes with each job."""
    from fawkes.playbook.dist.pig import DEFAULT_PIG, MAIN, PIG_PINS, pig_release

    pig = pig_release(PIG_PINS[DEFAULT_PIG], folder)
    shipped = ":".join(f"{folder}/{jar}" for jar in pig.shipped)
    return (
        "#!/bin/sh\n"
        f"export HADOOP_CLASSPATH={shlex.quote(f'{folder}/lib/*')}${{HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}}\n"
        f'export HADOOP_OPTS="${{HADOOP_OPTS-}} -Dpig.additional.jars={shipped}"\n'
        f'exec hadoop {MAIN} "$@"\n'
    )


def _spark(home: Path, conf_dir: str) -> dict[str, str]:
    """The variables of Spark's own commands, and of Python."""
    from fawkes.live.jobs.spark import environment

    if not os.access(home / "bin" / "spark-submit", os.X_OK):
        hint = "Run `fawkes dist get spark` as the user that runs the controller"
        raise FawkesError("the Spark of this MR-cluster is not on this machine", where=os.fspath(home), hint=hint)
    python = [*map(os.fspath, sorted((home / "python" / "lib").glob("*.zip"))), os.environ.get("PYTHONPATH", "")]
    return {**environment(os.fspath(home), conf_dir), "PYTHONPATH": ":".join(filter(None, python))}


def _release(folder: str | None, cluster: str) -> str:
    if folder and os.access(Path(folder) / "bin" / "hadoop", os.X_OK):
        return folder
    raise FawkesError(
        "the Hadoop release of this MR-cluster is not on this machine",
        where=folder or cluster,
        hint="Run `fawkes dist get`, or put the site's release into the same folder here",
    )


def _java_home(known: str | None) -> str:
    """The Java that the controller knows of, else that of this machine's environment."""
    java = shutil.which("java")
    candidates = [known, os.environ.get("JAVA_HOME"), java and os.fspath(Path(java).resolve().parent.parent)]
    for home in candidates:
        if home and os.access(Path(home) / "bin" / "java", os.X_OK):
            return home
    raise FawkesError("there is no Java on this machine", hint="Install one, or set JAVA_HOME to its folder")


def _written(folder: Path, files: Mapping[str, str]) -> Path:
    """The folder with exactly these files: a reader sees each one old or new, never half."""
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in files.items():
        if Path(name).name != name or name.startswith("."):
            raise UserError(f"the controller sent a configuration file with the name {name!r}", where=os.fspath(folder))
        half = folder / f".{name}.{os.getpid()}"
        half.touch(mode=0o600)
        half.write_text(text, encoding="utf-8")
        half.replace(folder / name)
    for old in folder.iterdir():
        if old.name not in files and not old.name.startswith("."):
            old.unlink()
    return folder


def _sh(variables: Mapping[str, str], program_dir: str) -> str:
    lines = [f"export {name}={shlex.quote(value)};" for name, value in variables.items()]
    return "\n".join([*lines, f'export PATH={shlex.quote(program_dir)}:"$PATH";'])


def _csh(variables: Mapping[str, str], program_dir: str) -> str:
    lines = [f"setenv {name} {_csh_quoted(value)};" for name, value in variables.items()]
    return "\n".join([*lines, f'setenv PATH {_csh_quoted(program_dir)}:"$PATH";'])


def _csh_quoted(value: Any) -> str:
    """Quotes for csh, in which `!` recalls history even inside single quotes."""
    return shlex.quote(value).replace("!", "\\!")
