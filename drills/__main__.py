"""`python -m drills sim|standby|late|real|masters|replay|every-step|table|doors|handover`: faults by seed, doors."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from drills.journal import Journal
from drills.loss import LossPlan, loss_plan_of
from drills.plan import Plan, late_plan_of, plan_of, standby_plan_of
from drills.result import Result, Tried
from drills.table import FIGURES, Line, figures, head, lines, summary
from fawkes.base.errors import ExitStatus, FawkesError
from fawkes.base.units import SECOND_US
from fawkes.engine.ports import Entry

_FOLDER = Path("build/drills")
#: a failure is shown at once; how things go on is said this often
_EVERY = 500
#: so many failures of a drill are shown
_SHOWN = 12
_WORLDS = {
    "sim": "in the simulator",
    "standby": "in the simulator, where each MR-cluster has a second NameNode",
    "late": "in the simulator, where news are old when they come",
    "real": "on real Hadoop",
    "masters": "on real Hadoop, where the masters' host loses its disk in each phase",
}
_SIMULATED = ("sim", "standby", "late")
#: reasons that come all the time and explain nothing
_QUIET = frozenset({"tick", "job-queued"})


def main() -> int:
    """Exit 0; 1 when a drill failed."""
    asked = _arguments()
    # Whoever is asked to end closes its lab first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return int(asked.run(asked))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where this one stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return ExitStatus.DONE
    except FawkesError as error:
        print(error, file=sys.stderr)
        return error.exit_status


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m drills", description=__doc__)
    parser.add_argument("--folder", type=Path, default=_FOLDER, help=f"where the journal is ({_FOLDER})")
    verbs = parser.add_subparsers(required=True)
    for world, where in _WORLDS.items():
        verb = verbs.add_parser(world, help=f"play seeds {where}")
        verb.add_argument("--seeds", type=_seeds, required=True, metavar="A-B", help="such as 0-99, or 0-5,12-17")
        verb.add_argument("--again", action="store_true", help="also seeds that the journal has")
        verb.set_defaults(run=_play, world=world)
    again = verbs.add_parser("replay", help="play one seed again, and tell its story")
    again.add_argument("seed", type=int)
    again.add_argument("--world", choices=tuple(_WORLDS), default="sim")
    again.set_defaults(run=_replay)
    steps = verbs.add_parser("every-step", help="kill the simulated controller after every step of three stories")
    steps.add_argument("--every", type=int, default=1, metavar="N", help="after every N-th step (1)")
    steps.set_defaults(run=_every_step)
    doors = verbs.add_parser("doors", help="try every port of two MR-clusters on real Hadoop from four places")
    doors.add_argument("--kerberos", action="store_true", help="both MR-clusters want tickets")
    doors.add_argument("--standby", action="store_true", help="one of them has a second NameNode and a journal")
    doors.set_defaults(run=_doors)
    handover = verbs.add_parser(
        "handover", help="a hostile job on real Hadoop, and what the next owner of its node finds"
    )
    handover.set_defaults(run=_handover)
    verbs.add_parser("table", help="what was tried and what was lost").set_defaults(run=_table)
    return parser.parse_args()


def _seeds(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        try:
            seeds = range(int(first), int(last or first) + 1)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{part!r} is not a range of seeds: write one such as 0-99") from None
        if not seeds:
            raise argparse.ArgumentTypeError(f"{part!r} has no seeds: the second number is below the first")
        found += seeds
    return found


def _plan(world: str, seed: int) -> Plan:
    return {"standby": standby_plan_of, "late": late_plan_of}.get(world, plan_of)(seed)


@contextmanager
def _player(world: str, folder: Path) -> Iterator[Callable[[int], Result]]:
    """Whoever plays seeds in a world."""
    if world == "masters":
        from drills.masters import player as of_masters

        with of_masters(folder) as play:
            yield lambda seed: play(loss_plan_of(seed))
    elif world == "real":
        from drills.real import player as of_real

        real = of_real(folder)
        yield lambda seed: real(plan_of(seed))
    else:
        from drills.simulated import play as simulated

        yield lambda seed: simulated(_plan(world, seed), name=world)


def _play(asked: argparse.Namespace) -> int:
    journal = Journal(asked.folder)
    done = set() if asked.again else journal.done(asked.world)
    wanted = [seed for seed in asked.seeds if seed not in done]
    failed = 0
    with _player(asked.world, asked.folder) as play:
        for count, seed in enumerate(wanted, 1):
            result = play(seed)
            journal.add(result)
            failed += bool(result.failures)
            if result.failures:
                _show_failure(result)
            if asked.world not in _SIMULATED or count % _EVERY == 0:
                print(f"{asked.world}: {count:,} of {len(wanted):,} seeds, {failed} failed", file=sys.stderr)
    print(summary([row for row in journal.rows() if row["seed"] in asked.seeds], asked.world))
    return ExitStatus.FAILED if failed else ExitStatus.DONE


def _show_failure(result: Result) -> None:
    print(f"seed {result.seed} failed; play it again: python -m drills replay {result.seed} --world {result.world}")
    for failure in result.failures[:_SHOWN]:
        print(f"  {failure.check}: {failure.what}")
    if more := result.failures[_SHOWN:]:
        print(f"  and {len(more)} more, which the journal has")


def _replay(asked: argparse.Namespace) -> int:
    if asked.world in _SIMULATED:
        from drills.simulated import Drill

        plan = _plan(asked.world, asked.seed)
        _show_plan(plan)
        drill = Drill(plan, asked.world)
        result = drill.run()
        _tell(drill.store.entries(), result.tried)
    else:
        _show_plan(loss_plan_of(asked.seed) if asked.world == "masters" else plan_of(asked.seed))
        with _player(asked.world, asked.folder) as play:
            result = play(asked.seed)
    for tried in result.tried:
        struck = "never struck" if tried.at_s is None else f"struck {tried.node or 'it'} at {tried.at_s:.1f} s"
        print(f"{tried.fault}: {struck}")
    for name, value in result.figures.items():
        print(f"{name}: {value:.1f}")
    if result.failures:
        _show_failure(result)
    else:
        print(f"seed {asked.seed}: nothing was lost")
    return ExitStatus.FAILED if result.failures else ExitStatus.DONE


def _show_plan(plan: Plan | LossPlan) -> None:
    story = plan.story
    print(f"seed {plan.seed}: {story.hosts} hosts")
    for each in (*story.clusters, *story.jobs, *story.drains, *plan.faults):
        print(f"  {each}")


def _tell(entries: Iterable[Entry], tried: Iterable[Tried]) -> None:
    """Print each step that had a reason, and each fault when it struck."""
    faults = sorted((each for each in tried if each.at_s is not None), key=lambda each: each.at_s or 0.0)
    for entry in entries:
        at_s = entry.event.at_us / SECOND_US
        while faults and (faults[0].at_s or 0.0) <= at_s:
            fault = faults.pop(0)
            print(f"{fault.at_s:9.3f}       ** {fault.fault.row[0]}: {fault.node or 'the controller'}")
        for reason in entry.decision.reasons:
            if reason.code not in _QUIET:
                facts = " ".join(f"{key}={value}" for key, value in reason.facts.items() if value not in ("", None))
                print(f"{at_s:9.3f} {entry.seq:5d} {reason.code}: {facts}")


def _every_step(asked: argparse.Namespace) -> int:
    from drills.every_step import SEEDS, every_step

    count = failed = 0
    for fault, result in (played for seed in SEEDS for played in every_step(seed, asked.every)):
        count += 1
        if result.failures:
            failed += 1
            print(f"story of seed {result.seed}, {fault}:")
            print("\n".join(f"  {each.check}: {each.what}" for each in result.failures))
    print(f"sim: the controller died in {count:,} ways, one for each step and way: {failed} failed")
    return ExitStatus.FAILED if failed else ExitStatus.DONE


def _doors(asked: argparse.Namespace) -> int:
    from drills.doors import play, rows, summary
    from fawkes.core.values.model import Promise

    kinds = [name for name in ("kerberos", "standby") if getattr(asked, name)]
    folder = asked.folder / "-".join(("doors", *kinds, "site"))
    shutil.rmtree(folder, ignore_errors=True)
    promise = Promise.STANDBY if asked.standby else Promise.KEPT
    tried = play(folder, kerberos=asked.kerberos, promise=promise)
    print("\n".join((*rows(tried), "", *summary(tried))))
    wrong = [one for one in tried if one.holes]
    for one in wrong:
        print(f"{one.door.host}:{one.door.port} ({one.door.daemon}) is wrong for: {', '.join(one.holes)}")
    print(f"doors: {len(tried)} ports, {len(wrong)} wrong")
    return ExitStatus.FAILED if wrong else ExitStatus.DONE


def _handover(asked: argparse.Namespace) -> int:
    from drills.handover import BARE, GROUPED, KNOWN, OWN_USER, PROCESS, STEALS, play, rows

    folder = asked.folder / "handover-site"
    shutil.rmtree(folder, ignore_errors=True)
    played = {way: play(folder / name, way) for name, way in (("bare", BARE), ("groups", GROUPED), ("own", OWN_USER))}
    print("\n".join(rows(played)))
    for way, handover in played.items():
        print(f"{way.title}: reported: {'; '.join(handover.reasons) or 'nothing'}")
    own, grouped = played[OWN_USER], played[GROUPED]
    wrong = [name for name, found in own.found.items() if (found or own.there[name]) and name not in KNOWN]
    wrong += [f"{name} ({GROUPED.title})" for name in (PROCESS, STEALS) if grouped.found[name] or grouped.there[name]]
    print(f"handover: {len(own.found)} traces, {len(wrong)} are still there: {', '.join(wrong) or 'none'}")
    return ExitStatus.FAILED if wrong else ExitStatus.DONE


def _table(asked: argparse.Namespace) -> int:
    rows = Journal(asked.folder).rows()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    for world in _WORLDS:
        if any(row["world"] == world for row in rows):
            _print_table(console, lines(rows, world), world)
            _print_figures(console, figures(row for row in rows if row["world"] == world))
            console.print(summary(rows, world), "")
    if not rows:
        print(f"the journal in {asked.folder} is empty: run `python -m drills sim --seeds 0-199` first")
    return ExitStatus.DONE


def _print_table(console: Console, found: Iterable[Line], world: str) -> None:
    table = Table(*head(world), title=world, title_justify="left", box=None, pad_edge=False)
    for line in found:
        table.add_row(*line.cells(), style="red" if line.failed else None)
    console.print(table)


def _print_figures(console: Console, found: Sequence[Sequence[str]]) -> None:
    """Figures of single drills."""
    if found:
        table = Table(*found[0], caption=FIGURES, caption_justify="left", box=None, pad_edge=False)
        for row in found[1:]:
            table.add_row(*row)
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())
