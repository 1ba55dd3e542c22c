"""The command tree: which verbs there are, and how each ends for whoever called it.

Each verb lives in its own module and is imported only when it is used, so that `fawkes --help` stays fast.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from fawkes import __version__, extras
from fawkes.config.site import Site
from fawkes.errors import ExitStatus, FawkesError

INTERRUPTED = 130


@dataclass(frozen=True)
class Verb:
    """Where a verb is implemented (``module:attribute``) and its line in `fawkes --help`."""

    where: str
    help: str


VERBS = {
    "demo": Verb("fawkes.cli.demo:demo", "Three real Hadoop clusters on this machine, balanced before your eyes."),
    "init": Verb("fawkes.cli.init:init", "Write commented example files for a new site."),
    "lab": Verb("fawkes.cli.lab:lab", "Hosts on this machine, for trying out and for tests."),
    "dist": Verb("fawkes.cli.dist:dist", "Get, check and spread Hadoop releases."),
    "check": Verb("fawkes.cli.check:check", "Look whether the nodes are fit: SSH, names, Java, clock, disk, ports."),
    "run": Verb("fawkes.cli.run:run", "The controller: deploy MR-clusters and keep them balanced."),
    "request": Verb("fawkes.cli.request:request", "Ask for an MR-cluster."),
    "release": Verb("fawkes.cli.release:release", "Give an MR-cluster back once its outputs are saved."),
    "submit": Verb("fawkes.cli.submit:submit", "Put a job into the queue of an MR-cluster."),
    "cancel": Verb("fawkes.cli.cancel:cancel", "Take a job back, waiting or running."),
    "status": Verb("fawkes.cli.status:status", "MR-clusters, their shares and weights, and the last move."),
    "nodes": Verb("fawkes.cli.nodes:nodes", "Each node: owner, role, state, since when and why."),
    "jobs": Verb("fawkes.cli.jobs:jobs", "Each job: state, times, slowdown, and the log of one that failed."),
    "events": Verb("fawkes.cli.events:events", "What happened and what was decided, as the ledger has it."),
    "explain": Verb("fawkes.cli.explain:explain", "Why a node moved, or why nothing did."),
    "env": Verb("fawkes.cli.env:env", "Exports that make `hadoop` and `yarn` work on an MR-cluster."),
    "logs": Verb("fawkes.cli.logs:logs", "Logs of daemons and jobs."),
    "pause": Verb("fawkes.cli.pause:pause", "Stop all voluntary moves, with a reason."),
    "resume": Verb("fawkes.cli.resume:resume", "Allow voluntary moves again."),
    "drain": Verb("fawkes.cli.drain:drain", "Take a node out of service, with a reason."),
    "undrain": Verb("fawkes.cli.undrain:undrain", "Put a node back into service."),
    "retry": Verb("fawkes.cli.retry:retry", "Try a failed node or MR-cluster again at once, after a repair."),
    "down": Verb("fawkes.cli.down:down", "Stop for good: lists the data at stake first."),
    "policies": Verb("fawkes.cli.policies:policies", "The weighting policies and where each comes from."),
    "verify": Verb("fawkes.cli.verify:verify", "Decide a ledger again and compare."),
    "replay": Verb("fawkes.cli.replay:replay", "Run the jobs of a workload or trace for real, at their times."),
    "simulate": Verb("fawkes.cli.simulate:simulate", "Run a scenario offline, decided by the code that decides live."),
    "compare": Verb("fawkes.cli.compare:compare", "Policies and settings on the same shaken workloads, offline."),
    "record": Verb("fawkes.cli.record:record", "A span of the live ledger as a folder for offline runs."),
    "whatif": Verb("fawkes.cli.whatif:whatif", "A recorded span under other policies and settings."),
    "workload": Verb("fawkes.cli.workload:workload", "Look at workloads and traces, convert and change them."),
    "calibrate": Verb("fawkes.cli.calibrate:calibrate", "The simulator's constants, fitted to recorded runs."),
    "paper": Verb("fawkes.cli.paper:paper", "Every table and figure of the paper, run offline and judged."),
}


class Program(click.Group):
    """A group whose verbs are imported late, and whose `main` maps every ending to message and exit code."""

    def __init__(self, *args: Any, verbs: Mapping[str, Verb], **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in the order in which a new user meets them."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, imported now; None when there is none of that name."""
        verb = self.verbs.get(cmd_name)
        return None if verb is None else _imported(cmd_name, verb)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with a suggestion for a verb that does not exist."""
        if args and args[0] not in self.verbs and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], self.verbs, n=1)
            advice = f"Did you mean {near[0]!r}?" if near else "`fawkes --help` lists the verbs."
            raise click.UsageError(f"No such verb {args[0]!r}. {advice}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their lines from the table: no import."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items()])

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command line and exit; a verb may return an ExitStatus (None is DONE)."""
        extra.pop("standalone_mode", None)
        try:
            result = super().main(args, prog_name or "fawkes", standalone_mode=False, **extra)
            sys.stdout.flush()
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            _say("interrupted")
            sys.exit(INTERRUPTED)
        except FawkesError as error:
            _say(str(error), error)
            sys.exit(error.exit_status)
        except OSError as error:
            sys.exit(_system_error(error))
        except MemoryError as error:
            _say("there is not enough memory for this. Give it less to do, or a machine with more memory", error)
            sys.exit(ExitStatus.FAILED)
        except ModuleNotFoundError as error:
            missing = extras.explained(error, "this command")
            _say(_defect(error) if missing is None else str(missing), error)
            sys.exit(ExitStatus.FAILED if missing is None else missing.exit_status)
        except Exception as error:
            _say(_defect(error), error)
            sys.exit(ExitStatus.FAILED)
        sys.exit(result if isinstance(result, int) else ExitStatus.DONE)


def _imported(name: str, verb: Verb) -> click.Command:
    module, _, attribute = verb.where.partition(":")
    if importlib.util.find_spec(module) is None:
        raise FawkesError(f"this version of Fawkes has no verb {name!r}", hint="`fawkes --version` tells which it is")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return command


def _say(text: str, error: BaseException | None = None) -> None:
    """One message on stderr, with the traceback only for those who debug Fawkes."""
    if error is not None and os.environ.get("FAWKES_DEBUG") == "1":
        traceback.print_exception(error)
    click.echo(f"fawkes: {text}", err=True)


def _system_error(error: OSError) -> int:
    """What the system refused, such as a full disk; a reader that went away needs no message."""
    if error.errno == errno.EPIPE:
        # Without this the interpreter's own flush at exit complains once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.FAILED
    what = error.strerror or str(error) or type(error).__name__
    _say(f"{error.filename}: {what}" if error.filename else what, error)
    return ExitStatus.FAILED


def _defect(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return (
        f"defect in Fawkes: {type(error).__name__}: {error}{at}. "
        "Please report it; FAWKES_DEBUG=1 shows where it comes from"
    )


CONTEXT = {"auto_envvar_prefix": "FAWKES", "help_option_names": ["-h", "--help"]}


@click.group(cls=Program, verbs=VERBS, context_settings=CONTEXT)
@click.option(
    "--site",
    default=".",
    show_default="the current folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with fawkes.toml, inventory.toml and clusters/.",
)
@click.version_option(__version__, prog_name="fawkes")
@click.pass_context
def cli(ctx: click.Context, site: Path) -> None:
    """Balance several MapReduce clusters on one pool of nodes.

    Each option can also be set by the environment: FAWKES_SITE, FAWKES_RUN_SHADOW and so on.
    """
    ctx.obj = Site(site)


def main() -> NoReturn:
    """The entry of the program."""
    cli.main()
