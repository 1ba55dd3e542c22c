"""`python -m bench [PART ...]`: measure, print and write the table. See --help for the parts."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import machine
from bench.figures import HEAD, Figure, Say, cells, markdown
from fawkes.base.errors import ExitStatus, FawkesError

#: the parts in their order, and how many rounds each has
_ROUNDS = {
    "core": 5,
    "ledger": 3,
    "simulator": 3,
    "flat": 1,
    "preemption": 3,
    "analyser": 3,
    "sweep": 3,
    "readers": 3,
    "page": 1,
    "ssh": 5,
    "loop": 20,
    "quota": 20,
    "deploy": 3,
    "grow": 3,
    "evacuate": 1,
    "masters": 1,
    "standby": 1,
    "stranger": 1,
    "saving": 3,
}
PARTS = tuple(_ROUNDS)


def main() -> int:
    """Exit 0, or 1 when a part could not be measured (the others go on) and, with --strict, when a target is missed."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, _stop)
    errors = Console(stderr=True, highlight=False)
    say: Say = lambda text: errors.print(f"[dim]{text}[/]")  # noqa: E731
    began = machine.load()
    say(f"load average {began:.2f}" + ("" if began <= machine.BUSY else ": others are at work, read the ratios only"))
    figures: list[Figure] = []
    failed: list[str] = []
    for part in arguments.parts:
        try:
            figures += _measured(part, arguments, say)
        except KeyboardInterrupt:
            say("interrupted; everything was taken down")
            return 130
        except FawkesError as error:
            failed.append(f"{part}: {error}")
            errors.print(f"[red]{failed[-1]}[/]")
        facts = {**machine.facts(), "load average": f"{began:.2f} before, {machine.load():.2f} after"}
        if arguments.write is not None:
            arguments.write.write_text(_document(figures, failed, facts))
    _show(figures, facts, as_json=arguments.json)
    missed = [figure.what for figure in figures if figure.met is False]
    return ExitStatus.FAILED if failed or (arguments.strict and missed) else ExitStatus.DONE


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)} (all)")
    parser.add_argument("--rounds", type=_count, help="rounds of each measurement (5; with Hadoop 3)")
    parser.add_argument(
        "--gigabytes", type=_size, default=2.0, help="data on the node of which `evacuate` makes a figure (2)"
    )
    parser.add_argument("--json", action="store_true", help="print all rounds as JSON")
    parser.add_argument("--strict", action="store_true", help="end with 1 when a target is missed")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table as Markdown")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: choose from {', '.join(PARTS)}")
    parts = arguments.parts or list(PARTS)
    # Whoever measures growing has measured deploying by then.
    arguments.parts = [part for part in parts if part != "deploy" or "grow" not in parts]
    return arguments


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return number


def _size(text: str) -> float:
    size = float(text)
    if not 0.1 <= size <= 1000:
        raise argparse.ArgumentTypeError("it must be from 0.1 to 1000")
    return size


def _stop(number: int, frame: FrameType | None) -> None:
    """As Ctrl-C: labs are taken down on the way out."""
    raise KeyboardInterrupt


def _measured(part: str, arguments: argparse.Namespace, say: Say) -> list[Figure]:
    """The figures of a part; imported late, because a part needs only what it measures."""
    rounds: int = arguments.rounds or _ROUNDS[part]
    if part == "core":
        from bench import core, waiting

        return core.figures(rounds, say) + waiting.figures(rounds, say)
    if part in ("deploy", "grow"):
        from bench import hadoop

        return hadoop.figures(rounds, say, grow=part == "grow")
    if part == "evacuate":
        from bench import evacuate

        return evacuate.figures(rounds, arguments.gigabytes, say)
    if part == "masters":
        from bench import masters

        return masters.figures(say)
    figures: list[Figure] = import_module(f"bench.{part}").figures(rounds, say)
    return figures


def _show(figures: Sequence[Figure], facts: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        document: dict[str, Any] = {"machine": facts, "figures": [figure.plain() for figure in figures]}
        print(json.dumps(document, indent=2))
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 220)
    for group in dict.fromkeys(figure.group for figure in figures):
        table = Table(*HEAD, title=group, title_justify="left", box=None, pad_edge=False)
        for figure in figures:
            if figure.group == group:
                table.add_row(*cells(figure), style="red" if figure.met is False else None)
        console.print(table, "")
    for name, value in facts.items():
        console.print(f"{name}: {value}")


def _document(figures: Sequence[Figure], failed: Sequence[str], facts: dict[str, str]) -> str:
    how = (Path(__file__).parent / "how.md").read_text()
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts.items())
    not_measured = "".join(f"Not measured: {text}\n\n" for text in failed)
    return how.format(
        day=datetime.now(UTC).date().isoformat(),
        facts=f"| | |\n|---|---|\n{rows}",
        figures=markdown(figures) + not_measured,
    )


if __name__ == "__main__":
    sys.exit(main())
