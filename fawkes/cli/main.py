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
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from fawkes.base import extras
from fawkes.base.errors import ExitStatus, FawkesError
from fawkes.base.version import __version__
from fawkes.cli.show.visible import echo
from fawkes.config.site.site import Site

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

INTERRUPTED = 130
CUT_OFF = 141
"""The shells' code of a program whose reader went away."""


@dataclass(frozen=True)
class Verb:
    """The place where a verb is implemented (``module:attribute``) and its line in `fawkes --help`."""

    where: str
    help: str


VERBS = {
    "demo": Verb("fawkes.cli.local.demo:demo", "Balance three real Hadoop clusters on this machine."),
    "init": Verb("fawkes.cli.pool.init:init", "Write commented example files for a new site."),
    "lab": Verb("fawkes.cli.local.lab:lab", "Hosts on this machine, for trials and tests."),
    "dist": Verb("fawkes.cli.local.dist:dist", "Get, list and check Hadoop releases."),
    "check": Verb("fawkes.cli.pool.check:check", "Check that nodes are ready: SSH, names, Java, clock, disk, ports."),
    "run": Verb("fawkes.cli.pool.run:run", "Run the controller: deploy MR-clusters and keep them balanced."),
    "adopt": Verb("fawkes.cli.pool.adopt:adopt", "Make a new ledger for a pool whose state folder is lost."),
    "request": Verb("fawkes.cli.clusters.request:request", "Request an MR-cluster."),
    "release": Verb(
        "fawkes.cli.clusters.release:release", "Release an MR-cluster: save its outputs, then free its nodes."
    ),
    "submit": Verb("fawkes.cli.jobs.submit:submit", "Put a job into the queue of an MR-cluster."),
    "profile": Verb("fawkes.cli.jobs.profile:profile", "Profile Spark applications: their stages, for quotas."),
    "cancel": Verb("fawkes.cli.jobs.cancel:cancel", "Cancel a job, waiting or running."),
    "status": Verb(
        "fawkes.cli.clusters.status:status", "Show MR-clusters, their shares and weights, and the last move."
    ),
    "nodes": Verb("fawkes.cli.pool.nodes:nodes", "Show each node: owner, role, state, since when and why."),
    "jobs": Verb("fawkes.cli.jobs.jobs:jobs", "Show each job: state, times, slowdown, logs of failures."),
    "events": Verb("fawkes.cli.history.events:events", "Show the events and decisions in the ledger."),
    "explain": Verb("fawkes.cli.history.explain:explain", "Explain why a node moved, or why none did."),
    "plan": Verb("fawkes.cli.history.explain:plan", "Show what the next tick would do, and why."),
    "env": Verb("fawkes.cli.clusters.env:env", "Print exports for using `hadoop` and `yarn` on an MR-cluster."),
    "config": Verb("fawkes.cli.clusters.config:config", "Show the configuration of a node, and what differs there."),
    "logs": Verb("fawkes.cli.clusters.logs:logs", "Show logs of daemons and jobs."),
    "pause": Verb("fawkes.cli.pool.pause:pause", "Stop all voluntary moves, with a reason."),
    "resume": Verb("fawkes.cli.pool.pause:resume", "Allow voluntary moves again."),
    "hold": Verb("fawkes.cli.clusters.hold:hold", "Keep balancing away from a node or an MR-cluster for a while."),
    "unhold": Verb("fawkes.cli.clusters.hold:unhold", "End a hold."),
    "grow": Verb("fawkes.cli.clusters.grow:grow", "Give an MR-cluster nodes by hand."),
    "shrink": Verb("fawkes.cli.clusters.grow:shrink", "Take nodes of an MR-cluster by hand."),
    "drain": Verb("fawkes.cli.pool.drain:drain", "Take a node out of service, with a reason."),
    "undrain": Verb("fawkes.cli.pool.drain:undrain", "Put a node back into service."),
    "move-masters": Verb(
        "fawkes.cli.clusters.move_masters:move_masters", "Move the masters of an MR-cluster to another node."
    ),
    "reload": Verb("fawkes.cli.pool.reload:reload", "Read the settings again, without a restart."),
    "retry": Verb("fawkes.cli.pool.retry:retry", "Retry a failed node or MR-cluster at once, after a repair."),
    "restore": Verb(
        "fawkes.cli.clusters.restore:restore", "Bring an MR-cluster back from the kept copy of its masters' data."
    ),
    "down": Verb("fawkes.cli.pool.down:down", "Stop for good: release all MR-clusters, end the controller."),
    "policies": Verb("fawkes.cli.pool.policies:policies", "List the policies of all kinds and where each comes from."),
    "web": Verb("fawkes.cli.history.web:web", "Serve a page with the pool and its moves, and /metrics."),
    "verify": Verb("fawkes.cli.history.verify:verify", "Decide all steps of a ledger again and compare."),
    "replay": Verb("fawkes.cli.offline.replay:replay", "Run a workload or trace on real Hadoop, at its jobs' times."),
    "simulate": Verb(
        "fawkes.cli.offline.simulate:simulate", "Simulate a scenario, with the same code that decides live."
    ),
    "compare": Verb(
        "fawkes.cli.offline.compare:compare", "Compare policies and settings on the same workloads, offline."
    ),
    "record": Verb("fawkes.cli.history.record:record", "Write a span of the live ledger to a folder for offline runs."),
    "whatif": Verb("fawkes.cli.offline.whatif:whatif", "Simulate a recorded span under other policies and settings."),
    "workload": Verb("fawkes.cli.workload.workload:workload", "Show, convert and change workloads and traces."),
    "calibrate": Verb("fawkes.cli.offline.calibrate:calibrate", "Fit the simulator's constants to recorded runs."),
    "deadlines": Verb("fawkes.cli.offline.deadlines:deadlines", "Run a trace with deadlines on a flat pool of CPUs."),
    "interference": Verb(
        "fawkes.cli.offline.interference:interference", "Simulate frameworks that share a cloud by resource offers."
    ),
    "analyse": Verb("fawkes.cli.offline.analyse:analyse", "Count evictions and preemptions in logs of task events."),
    "paper": Verb("fawkes.cli.offline.paper:paper", "Simulate every table and figure of the paper, and judge them."),
    "man": Verb("fawkes.cli.man:man", "Write the manual pages of all commands."),
}


class ProgramGroup(click.Group):
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
        """Find a command as click does, with a suggestion for a verb that does not exist."""
        if args and args[0] not in self.verbs and not args[0].startswith("-") and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(args[0], self.verbs, n=1)
            advice = f"Did you mean {near[0]!r}?" if near else "`fawkes --help` lists the verbs."
            raise click.UsageError(f"No such verb {args[0]!r}. {advice}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Verbs and options that begin with what was typed: no import."""
        from click.shell_completion import CompletionItem

        verbs = [
            CompletionItem(name, help=verb.help) for name, verb in self.verbs.items() if name.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their lines from the table: no import."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """The result of the verb; `ExitStatus.PARTIAL` if it did what it could beside a controller that is silent."""
        result = super().invoke(ctx)
        # Imported late, as all that a verb needs: `fawkes --help` stays fast.
        from fawkes.cli.asking.ledger import SILENT

        return result or (ExitStatus.PARTIAL if SILENT in ctx.meta else None)

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command line and exit; a verb may return an ExitStatus (None is DONE)."""
        extra.pop("standalone_mode", None)
        # Python has none for a descriptor that was closed before the start (>&-).
        sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - as long as the process
        sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
        stdout = sys.stdout
        if isinstance(stdout, TextIOWrapper):
            # A terminal that is not UTF-8 shows an escape for what it does not know, as stderr does, and all the rest.
            stdout.reconfigure(errors="backslashreplace")
        try:
            result = super().main(args, prog_name or "fawkes", standalone_mode=False, **extra)
            sys.stdout.flush()
        except click.ClickException as error:
            _placed(error, self).show()
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt) as error:
            # click turns the one into the other. `fawkes.cli.asking.waiting` has put into it what goes on.
            cause = error.__cause__ if isinstance(error, click.Abort) else error
            _say(". ".join(["interrupted", *map(str, cause.args if isinstance(cause, KeyboardInterrupt) else ())]))
            sys.exit(INTERRUPTED)
        except FawkesError as error:
            _say(str(error), error)
            sys.exit(error.exit_status)
        except SystemExit as error:
            # When a reader has gone away click puts another, quiet stdout in place, and ends as after a failure.
            sys.exit(error.code if sys.stdout is stdout else CUT_OFF)
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
        raise FawkesError(f"this version of Fawkes has no verb {name!r}", hint="`fawkes --version` shows the version")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return command


def _placed(error: click.ClickException, program: click.Command) -> click.ClickException:
    """The error, with a hint where a verb got an option that only the program has, such as `--quiet`."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None or error.ctx.command is program:
        return error
    if not any(error.option_name in parameter.opts for parameter in program.params):
        return error
    message = f"{error.message} It goes before the verb, right behind `fawkes`."
    return click.NoSuchOption(error.option_name, message, ctx=error.ctx)


def _say(text: str, error: BaseException | None = None) -> None:
    """One message on stderr, with the traceback only for those who debug Fawkes."""
    if error is not None and os.environ.get("FAWKES_DEBUG") == "1":
        traceback.print_exception(error)
    echo(f"fawkes: {text}", err=True)


def _system_error(error: OSError) -> int:
    """Say what the system refused, such as a full disk; a reader that went away needs no message."""
    if error.errno == errno.EPIPE:
        # Without this the interpreter's own flush at exit complains once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CUT_OFF
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


@click.group(cls=ProgramGroup, verbs=VERBS, context_settings=CONTEXT)
@click.option(
    "--site",
    default=".",
    show_default="the current folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with fawkes.toml, inventory.toml and clusters/.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notes on standard error; errors are shown.")
@click.version_option(__version__, prog_name="fawkes")
@click.pass_context
def cli(ctx: click.Context, site: Path, quiet: bool) -> None:
    """Balance several MapReduce clusters on one pool of nodes.

    Each option can also be set by the environment: FAWKES_SITE, FAWKES_RUN_SHADOW and so on.
    """
    ctx.obj = Site(site)


def main() -> NoReturn:
    """The entry of the program."""
    cli.main()
